#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves copier_orders.cu: builds it against copies of the files of GIN's copier that can leave out each of their
orders by request, and checks that the thread sanitizer reports a race without it, and none with all of them, as
tests/litmus/weaken.py does for the device library. One program serves all.

usage: weaken_copier.py --list                                   names, and "nothing"
       weaken_copier.py --build SOURCE_ROOT OVERLAY CC... -- COMPILER ARGS...    CC compiles the copier's thread
       weaken_copier.py --race PROGRAM NAME                      passes when PROGRAM is reported without NAME; without
                                                                 nothing it must not be

Where an order keeps apart what is atomic, such as the number of units and the puts' number, the copies have marks
beside that: plain accesses, in the same place, which race if it is missing.

What no program can show here: the kernel's synchronisations of a block, which has one thread on the CPU device."""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "litmus"))
from weaken import TRIES, lacking, weaken  # noqa: E402

GIN, KERNEL, THREAD = ("dialects/nccl/include/nccl_device/gin_copy.h", "dialects/nccl/kernels/copier.cu",
                       "dialects/nccl/base/copier.c")
MAIN = "static void *copier_main("
FENCE = "detail::fence_gpu();"
LEFT = "detail::store_relaxed(&copies->left[i], units_of(c->bytes));"
SERVED = "detail::store_relaxed(&host->served, n_asked);"
GIVE = "detail::store_release(&slot->is_taken, 0u);"
# name: file, [(function, text, its replacement)], scene. Of the host's file a replacement is chosen whole.
WEAKENED = {
    "source": (GIN, [("uint32_t ask_for_help(", FENCE, ";")], "ask"),
    "number": (GIN, [("uint32_t ask_for_help(", "detail::fence_release();", ";")], "ask"),
    "take": (KERNEL, [("found take_from(", FENCE, ";")], "ask"),
    "look": (KERNEL, [("found find_units(", FENCE, ";")], "ask"),
    "end": (KERNEL, [("void leave(", "detail::store_release(", "detail::store_relaxed(")], "ask"),
    "asked": (THREAD, [(MAIN, "__atomic_load_n(&words->asked, __ATOMIC_ACQUIRE)",
                        "__atomic_load_n(&words->asked, __ATOMIC_RELAXED)")], "ask"),
    "ended": (THREAD, [(MAIN, "__atomic_load_n(&words->n_ended, __ATOMIC_ACQUIRE)",
                        "__atomic_load_n(&words->n_ended, __ATOMIC_RELAXED)")], "ask"),
    "helped": (KERNEL, [("__global__ void __launch_bounds__(threads)", FENCE, ";")], "joint"),
    "await": (GIN, [("size_t copy_jointly(", "detail::load_awaited(", "detail::load_relaxed("),
                    ("size_t copy_jointly(", "detail::acquire_awaited();", ";")], "joint"),
    "give": (GIN, [("size_t copy_jointly(", "detail::store_release(", "detail::store_relaxed(")], "joint"),
}
# In every copy: file, function, text, what takes its place. The last two let puts wait for the kernel.
MARKS = [
    (GIN, "uint32_t ask_for_help(", LEFT, f"mark_taken(i); {LEFT} mark_left();"),
    (GIN, "size_t copy_jointly(", GIVE, f"mark_used(i); {GIVE}"),
    (KERNEL, "found find_units(", "if (open.bits == 0 && is_last)\n            return f;",
     "if (open.bits == 0 && is_last) {\n            mark_looked(*n_asked);\n            return f;\n        }"),
    (KERNEL, "void leave(", SERVED, f"{SERVED} mark_served();"),
    (GIN, None, "constexpr int copy_looks = 12;", "constexpr int copy_looks = 1 << 20;"),
]
SWITCH = """#include <stdlib.h>
static int test_lacks = -1;
__attribute__((constructor)) static void test_read_request(void)
{
    const char *request = getenv("TEST_LACKS");
    test_lacks = request != NULL ? atoi(request) : -1;
}
"""


def fail(text):
    sys.exit(f"weaken_copier.py: {text}")


def put_mark(text, function, old, new):
    if function is not None:
        return weaken(text, function, old, new)
    if text.count(old) != 1:
        fail(f"found {text.count(old)} times: {old!r}")
    return text.replace(old, new)


def build(root, overlay, cc, command):
    folder = pathlib.Path(overlay)
    shutil.copytree(pathlib.Path(root) / "dialects/nccl", folder / "dialects/nccl", dirs_exist_ok=True)
    texts = {file: (pathlib.Path(root) / file).read_text() for file in (GIN, KERNEL, THREAD)}
    for file, *mark in MARKS:
        texts[file] = put_mark(texts[file], *mark)
    for number, (name, (file, changes, _)) in enumerate(WEAKENED.items()):
        for function, old, new in changes:
            by_request = f"(test_lacks == {number} ? {new} : {old})" if file == THREAD else \
                lacking(number, name, old, new)
            texts[file] = weaken(texts[file], function, old, by_request)
    for file, text in texts.items():
        (folder / file).write_text(text)
    switch = folder / "test_lacks.h"
    switch.write_text(SWITCH)
    more = [f"-I{folder}", f"-I{folder}/dialects/nccl/include", "-include", str(switch)]
    thread = folder / "copier.o"
    failed = subprocess.call([*cc, *more, f"-I{root}", "-c", "-o", str(thread), str(folder / THREAD)])
    first_option = next(i for i, word in enumerate(command) if word.startswith("-"))
    return failed or subprocess.call(command[:first_option] + more + command[first_option:] + [str(thread)])


def race(program, name):
    is_control = name == "nothing"
    request = "-1" if is_control else str(list(WEAKENED).index(name))
    env = dict(os.environ, TSAN_OPTIONS="exitcode=66 halt_on_error=1 history_size=7", TEST_LACKS=request)
    for scene in ["ask", "joint"] if is_control else [WEAKENED[name][2]] * TRIES:
        done = subprocess.run([program, scene], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", env=env)
        is_seen = "WARNING: ThreadSanitizer: data race" in done.stdout
        if is_control and (is_seen or done.returncode != 0):
            fail(f"{scene} with all orders:\n{done.stdout}")
        if is_seen:
            return
    if not is_control:
        fail(f"nothing was reported without {name} in {TRIES} runs; the last one:\n{done.stdout}")


def main():
    match sys.argv[1:]:
        case ["--list"]:
            print("\n".join(["nothing", *WEAKENED]))
        case ["--build", root, overlay, *rest] if "--" in rest:
            at = rest.index("--")
            sys.exit(build(root, overlay, rest[:at], rest[at + 1:]))
        case ["--race", program, name]:
            race(program, name)
        case _:
            fail(__doc__)


main()
