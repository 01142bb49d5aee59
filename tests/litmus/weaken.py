#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the litmus suite: builds it against a device library that lacks one of its fences, group
synchronisations or acquires, and checks that the suite notices. The library's own text has no
switch for this: a changed copy of one header is found before the original.

usage: weaken.py --list HOW              names: all, or those noticed by race or violate below
       weaken.py --build NAME SOURCE_ROOT OVERLAY COMPILER ARGS...   a program without NAME
       weaken.py --build-any SOURCE_ROOT OVERLAY COMPILER ARGS...    one for the CPU device that lacks what is noticed
                                           by race, each by request
       weaken.py --race PROGRAM NAME       passes when the thread sanitizer reports that PROGRAM without NAME
       weaken.py --violate PROGRAM NAME    passes when PROGRAM sees a violation, on the CPU device
       weaken.py --show BUILD PES COUNT [NAME...]   GPUs: what each weakened program sees

After the words of --race and --violate come the launcher and its arguments."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

FENCE = "fence_acq_rel();"
RELEASE = "fence_release();"
JOIN = "void join_blocks(const Context &c, group_blocks g"
# On two nodes of two PEs: by way of the leaders, and straight to the partners.
FAR_SHAPES = "coll_small,coll_block,coll_bulk"


def acquire(function):
    """A wait's acquire is in its loads or, on GPUs that have it, in a fence after them."""
    return [(function, "load_awaited(", "load_relaxed("), (function, "acquire_awaited();", ";")]


def before(call, general="copy<"):
    """The group's synchronisation before a copy: in the usual way, and in the fallback."""
    return [(f"{call}_dispatch(const C", "g.sync();\n        copy_whole_vectors", "copy_whole_vectors"),
            (f"{call}_general(const C", f"g.sync();\n            {general}", general)]


def after(call):
    """The synchronisation after it."""
    end = "        poll_pause(source);\n    } else" if call == "get" else "    } else"
    return [(f"{call}_dispatch(const C", "g.sync();\n" + end, end.strip()),
            (f"{call}_general(const C", "bytes);\n            g.sync();", "bytes);")]


# name: header, [(function, text, its replacement)], shapes that may show it. In the function every
# occurrence of the text is replaced.
WEAKENED = {
    "fence": ("order.cuh", [("void fence(const Context &c)", "detail::" + FENCE, ";")],
              "message,message_test,message_free,warp_fence,block_fence,amo_put,amo_flag,put_fence,"
              "bulk_signal_warp,bulk_signal_block,get_64k_block"),
    "quiet": ("order.cuh", [("void quiet(const Context &c)", "detail::fence_seq_cst();", ";")],
              "store_buffering,message_quiet,put_quiet,bulk_quiet_block,chain_quiet"),
    "quiet_is_acq_rel": ("order.cuh", [("void quiet(const Context &c)", "fence_seq_cst();", FENCE)],
                         "store_buffering"),
    "put_signal": ("signal.cuh", [("void finish_put_signal(", RELEASE, ";")],
                   "signal_8,signal_1k,signal_64k,signal_8_each,signal_1k_each,signal_1k_warp,"
                   "signal_64k_warp,signal_1k_block,signal_64k_block,signal_odd,signal_odd_block"),
    "put_signal_sync": ("signal.cuh", [("void finish_put_signal(",
                                        "g.sync();\n    if (g.rank()", "if (g.rank()")],
                        "signal_1k_warp,signal_64k_warp,signal_1k_block,signal_64k_block,"
                        "signal_odd_block"),
    "put_signal_source": ("signal.cuh", [*before("put_signal", "spilled_during("),
                                         ("put_signal_dispatch(const C",
                                          "g.sync();\n        if (is_beside", "if (is_beside")],
                          "signal_8_block,signal_beside_block,signal_1k_block,signal_64k_block,"
                          "signal_odd_block"),
    "put_sync": ("rma.cuh", after("put"),
                 "put_fence,bulk_signal_warp,bulk_signal_block,bulk_quiet_block,chain_put_block"),
    "put_source": ("rma.cuh", [*before("put"),
                               ("put_dispatch(const C", "g.sync();\n        if (g.rank()",
                                "if (g.rank()")],
                   "bulk_signal_warp,bulk_signal_block,bulk_quiet_block,chain_put_block"),
    "get_sync": ("rma.cuh", after("get"),
                 "get_1k_warp,get_64k_warp,get_64k_block,get_odd_block"),
    "get_from_cache": ("copy.cuh", [("load_source(const Word *p)", "load_relaxed_word(p)",
                                     "load_plain(p)"),
                                    ("load_vector(const char *source", "load_relaxed_word(",
                                     "load_plain(")],
                       "get_8,get_1k_each,get_64k,get_1k_warp,get_64k_warp,get_64k_block"),
    "bulk_stores": ("bulk.cuh", [("void run_pieces(", "await_stores();", ";")],
                    "signal_64k,get_64k,get_64k_warp"),
    "bulk_proxy": ("bulk.cuh", [("uint32_t start_pieces(", "fence_proxy();", ";")],
                   "signal_64k,get_64k,get_64k_warp"),
    "barrier": ("sync.cuh", [("void fly_flags(", RELEASE, ";")],
                "barrier,barrier_warp,barrier_block,barrier_bulk"),
    "barrier_acquire": ("sync.cuh", acquire("void fly_flags("),
                        "barrier,barrier_warp,barrier_block,barrier_bulk"),
    "barrier_enter": ("sync.cuh", [("void sync_team(", "g.sync();\n    if", "if")],
                      "barrier_block,barrier_bulk"),
    "barrier_leave": ("sync.cuh", [("void sync_team(", "    g.sync();\n}", "}")],
                      "barrier_block,barrier_bulk"),
    "wait": ("wait.cuh", [("Type look_until(", "load_awaited(", "load_relaxed("),
                          ("Type wait_word(", "acquire_awaited();", ";")],
             "message,warp_fence,block_fence,put_fence,signal_8,signal_1k,signal_1k_block,"
             "signal_64k_block,get_64k_block"),
    "wait_all": ("wait.cuh", acquire("void wait_all(") + [("Type look_until(", "load_awaited(",
                                                           "load_relaxed(")], "message_all"),
    "test": ("wait.cuh", acquire("int test_all("), "message_test"),
    "coll_sync": ("coll/team.cuh", [("void exchange_flags(", FENCE, ";")], "coll_block,coll_grid"),
    "coll_sync_acquire": ("coll/team.cuh", acquire("await_flag(const coll_call<"), "coll_block,coll_grid"),
    "coll_sync_enter": ("coll/team.cuh", [("void sync(", "block_part();\n        b.sync();", "block_part();")],
                        "coll_block,coll_grid"),
    "coll_sync_leave": ("coll/team.cuh", [("void sync(", "        }\n        b.sync();", "        }")],
                        "coll_block,coll_grid"),
    "coll_near_enter": ("coll/team.cuh", [("void near_barrier(", "g.sync();\n    if", "if")], "coll_block"),
    "coll_near_leave": ("coll/team.cuh", [("void near_barrier(", "    }\n    g.sync();", "    }")], "coll_block"),
    "coll_join_arrive": ("coll/grid.cuh", [(JOIN, "fence_gpu();\n        if (atomic_add", "if (atomic_add")],
                         "coll_grid_small"),
    "coll_join_last": ("coll/grid.cuh", [(JOIN, "fence_gpu();\n            store_relaxed",
                                          "store_relaxed")], "coll_grid_small"),
    "coll_join_leave": ("coll/grid.cuh", [(JOIN, "load_awaited(", "load_relaxed("),
                                          (JOIN, "        fence_gpu();\n    }", "    }")],
                        "coll_grid_small"),
    "coll_far_tell": ("coll/far_step.cuh", [("void tell_near(", FENCE, ";")], FAR_SHAPES),
    "coll_far_await": ("coll/far_step.cuh", acquire("void await_step("), FAR_SHAPES),
    "coll_far_come": ("coll/far_step.cuh", [("void come_to_leader(", "g.sync();\n    if", "if"),
                                            ("void come_to_leader(", "    g.sync();\n}", "}")],
                      FAR_SHAPES),
    "coll_far_leave": ("coll/far_step.cuh", [("void set_steps(", "    g.sync();\n", "")], FAR_SHAPES),
    "coll_far_sync": ("coll/far_step.cuh", [("void sync_near(", "g.sync();\n    if", "if")], FAR_SHAPES),
    # By way of the model NIC, each PE on a node of its own; weaken_nic.py has the other orders of that route.
    "nic_overtaken": ("nic.cuh", [("void nic_fence_queue(", "if (n == load_acquire(&queue_at(c, index)->gpu_fenced))",
                                   "if (n != UINT64_MAX)")], "amo_put"),
    "lines_flag": ("coll/line.cuh", [("bool is_here(", "is = is && (", "is = is || (")], "whole_lines"),
    "lines_read": ("coll/lines_read.cuh", [("uint64_t exchange(", RELEASE, ";")], "read_source"),
    "lines_read_acquire": ("coll/lines_read.cuh", [("uint64_t exchange(", FENCE, ";")], "read_source"),
    "lines_read_enter": ("coll/lines_read.cuh", [("bool run(uint32_t", "            group_block().sync();\n", "")],
                         "read_source"),
    "lines_read_leave": ("coll/lines_read.cuh", [("uint64_t exchange(", "group_block().sync();", ";")], "read_source"),
    "pieces": ("coll/lines_pieces.cuh", [("void tell_count(", RELEASE, ";")], "pieces"),
    "pieces_acquire": ("coll/lines_pieces.cuh", acquire("void await_count("), "pieces"),
    "pieces_warp": ("coll/lines_pieces.cuh", [("void await_count(", "group_warp().sync();", ";")], "pieces"),
    "pieces_warp_tell": ("coll/lines_pieces.cuh", [("void tell_count(", "group_warp().sync();", ";")], "pieces"),
    "pieces_lock": ("coll/lines_pieces.cuh", [("bool agree(", "fence_gpu();", ";")], "pieces"),
    "pieces_help": ("coll/lines_pieces.cuh", [("bool await_agreed(", "fence_gpu();", ";")], "pieces"),
    "pieces_leave": ("coll/lines_pieces.cuh", [("void leave(", "fence_gpu();", ";")], "pieces"),
    "pieces_leave_sync": ("coll/lines_pieces.cuh", [("void leave(", "all_have_come() && ", "")], "pieces"),
    "signal_fetch": ("signal.cuh", [("uint64_t signal_fetch(", "detail::load_acquire(", "detail::load_relaxed(")],
                     "message_free,signal_64k_block"),
}

# What the thread sanitizer, which models no caches and no sequentially consistent fences, cannot
# notice, and what notices it instead.
NOTICED_BY = {"quiet_is_acq_rel": "violate", "nic_overtaken": "violate", "lines_flag": "violate",
              "get_from_cache": "GPU", "bulk_stores": "GPU", "bulk_proxy": "GPU"}


def fail(text):
    sys.exit(f"weaken.py: {text}")


def part_of(text, function):
    """Where the function's text begins and ends."""
    if text.count(function) != 1:
        fail(f"{function}: found {text.count(function)} times")
    start = text.index(function)
    line = text[text.rindex("\n", 0, start) + 1:]
    brace = "\n" + line[:len(line) - len(line.lstrip())] + "}\n"
    return start, text.index(brace, start) + len(brace)


def weaken(text, function, old, new):
    start, end = part_of(text, function)
    body = text[start:end]
    if old not in body:
        fail(f"{function}: has no {old!r}")
    return text[:start] + body.replace(old, new) + text[end:]


def compile_over(root, overlay, texts, more, command):
    """With {header: its text} in place of the library's."""
    folder = pathlib.Path(overlay)
    for part in ("device", "wire", "cpu"):  # headers include each other relative to their own folder
        shutil.copytree(pathlib.Path(root) / part, folder / part, dirs_exist_ok=True)
    for header, text in texts.items():
        (folder / "device" / header).write_text(text)
    # Before every other -I, for every #include "device/..." of every file.
    first_option = next(i for i, word in enumerate(command) if word.startswith("-"))
    return subprocess.call(command[:first_option] + [f"-I{folder}", *more] + command[first_option:])


def build(name, root, overlay, command):
    header, changes, shapes = WEAKENED[name]
    text = (pathlib.Path(root) / "device" / header).read_text()
    for change in changes:
        text = weaken(text, *change)
    more = [f'-DLITMUS_SHAPES="{shapes}"']  # no others are compiled
    return compile_over(root, overlay, {header: text}, more, command)


def noticed_by(how):
    return [n for n in WEAKENED if how in ("all", NOTICED_BY.get(n, "race"))]


# What a program that can lack several orders is compiled with: the number of the one that it lacks.
SWITCH = """#include <stdlib.h>
static const char *const test_request = getenv("TEST_LACKS");
static const int test_lacks = test_request ? atoi(test_request) : -1;
"""


def lacking(number, name, old, new):
    """A text that is new where the program lacks that, else old: of a call, or of a statement or a condition that new
    lacks."""
    lacks = f"test_lacks == {number} /* {name} */"
    if old.endswith("(") and not old.endswith(new):
        return (f"([&](auto &&...given) {{ return {lacks} ? {new}given...) : {old}given...); }})(")
    head = os.path.commonprefix([old, new])
    end = "" if new == ";" else new[len(head):]
    left_out = old[len(head):len(old) - len(end)]
    if old.endswith(end) and left_out.strip().endswith((";", "}")):
        return f"{head}{{ if (!({lacks})) {{ {left_out} }} }} {end}"
    if old.endswith(end) and left_out.endswith(" && "):
        return f"{head}({lacks} || {left_out.removesuffix(' && ')}) && {end}"
    if old.endswith(end) and left_out.startswith(" && "):
        return f"{head} && ({lacks} || {left_out.removeprefix(' && ')}){end}"
    fail(f"{name}: neither a call nor a statement nor a condition is left out: {old!r}")


def build_any(root, overlay, command):
    texts = {}
    for number, name in enumerate(noticed_by("race")):
        header, changes, _ = WEAKENED[name]
        text = texts.get(header) or (pathlib.Path(root) / "device" / header).read_text()
        for function, old, new in changes:
            text = weaken(text, function, old, lacking(number, name, old, new))
        texts[header] = text
    switch = pathlib.Path(overlay) / "test_lacks.h"
    switch.parent.mkdir(parents=True, exist_ok=True)
    switch.write_text(SWITCH)
    return compile_over(root, overlay, texts, ["-include", str(switch)], command)


def shapes_of(name):
    return f"--shape={WEAKENED[name][2]}"


def violations(output):
    """{shape: (iterations, violations)} of a run's output."""
    row = re.compile(r"^(\w+) +(\d+) iterations on each of (\d+) PEs +(\d+) violations", re.M)
    return {m[1]: (int(m[2]) * int(m[3]), int(m[4])) for m in row.finditer(output)}


def run(command, env=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env=env)
    return done.stdout, done.returncode


# What else a run does, as with a lock that both sides take, may happen to order what nothing orders any more.
TRIES = 5


def race(program, name, launcher):
    env = dict(os.environ, TSAN_OPTIONS="exitcode=66 halt_on_error=1 history_size=7",
               TEST_LACKS=str(noticed_by("race").index(name)))
    for _ in range(TRIES):
        output, _ = run(launcher + [program, shapes_of(name)], env)
        if "WARNING: ThreadSanitizer: data race" in output:
            return
    fail(f"nothing was reported without {name} in {TRIES} runs; the last one:\n{output}")


def violate(program, name, launcher):
    if len(os.sched_getaffinity(0)) < 2:
        print("skipped: needs 2 processors")
        sys.exit(77)
    # On a busy machine the PEs rarely run at the same time, so it takes many tries. The model NIC's order is as bad as
    # allowed, and soon shows.
    for count in [10**3, 10**4, 10**6] + [10**7] * 60:
        output, _ = run(launcher + [program, shapes_of(name), f"--count={count}"])
        seen = violations(output)
        if not seen:
            fail(f"the program did not run:\n{output}")
        if any(bad for _, bad in seen.values()):
            print(seen)
            return
    fail(f"no violation was seen without {name}:\n{output}")


def show(build_dir, pes, count, names):
    build_dir = pathlib.Path(build_dir).resolve()
    n_broken = 0
    print(f"{'left out':20} {'shape':22} {'iterations':>12} {'violations':>12}")
    for name in names or WEAKENED:
        output, code = run([str(build_dir / "gshmemrun"), "-n", pes,
                            str(build_dir / "tests" / "litmus" / f"litmus_without_{name}_cuda"),
                            f"--count={count}", shapes_of(name)])
        seen = violations(output)
        for shape, (iterations, bad) in seen.items():
            print(f"{name:20} {shape:22} {iterations:12} {bad:12}", flush=True)
        if not seen or code not in (0, 1):
            print(f"{name:20} ended with {code}:\n{output}", flush=True)
            n_broken += 1
    if n_broken:
        fail(f"{n_broken} programs did not run")


def main():
    match sys.argv[1:]:
        case ["--list", how]:
            names = noticed_by(how)
            if not names:
                fail(f"nothing is noticed by {how}")
            print("\n".join(names))
        case ["--build", name, root, overlay, *command] if command:
            sys.exit(build(name, root, overlay, command))
        case ["--build-any", root, overlay, *command] if command:
            sys.exit(build_any(root, overlay, command))
        case ["--race", program, name, *launcher]:
            race(program, name, launcher)
        case ["--violate", program, name, *launcher]:
            violate(program, name, launcher)
        case ["--show", build_dir, pes, count, *names]:
            show(build_dir, pes, count, names)
        case _:
            fail(__doc__)


if __name__ == "__main__":  # others import weaken() and part_of()
    main()
