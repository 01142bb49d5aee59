#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves nic.cc: builds it against device headers and a model adapter that can leave out each of their orders by
request, and checks that the thread sanitizer reports a race in the order's scene without it, and none with it. One
program serves all: the library's own text has no switch for this, but the changed copies have.

usage: weaken_nic.py --build warps|threads SOURCE_ROOT OVERLAY CC... -- COMPILER ARGS...   CC compiles the model's files
       weaken_nic.py --race warps|threads PROGRAM    passes when each order is missed without it

What no program can show here:
- ring_doorbell's fence before gpu_rung also keeps gpu_ready behind the doorbell: the scene again shows it;
- nic_fence_queue's release: the thread has fenced since it reserved, when it published;
- the group's second synchronisation, after publishing: it keeps threads of a warp in one queue at a time, and orders no
  access;
- the model's fences between a doorbell and is_asleep: stores that pass later loads, which the sanitizer does not model;
- the model's release and acquire of a piece's generation: its reader is another process;
- what the model releases and acquires by words that it writes and reads whole, as the words of every route
  (base/copy.h)."""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from weaken import weaken  # noqa: E402

FENCE = "fence_acq_rel();"
GPU = "fence_gpu();"
HEAD = "uint64_t head = load_relaxed(&queue_at(c, i)->gpu_head);"
PLAIN_HEAD = "uint64_t head = shows(\"{0}\") ? load_plain(&queue_at(c, i)->gpu_head) : " \
             "load_relaxed(&queue_at(c, i)->gpu_head);"
LATER = "publish_later(const Context &c, uint32_t index"


def statement(text):
    return text, 'if (!lacks("{name}"))\n        ' + text


def load(address, awaited="load_acquire"):
    return f"{awaited}({address})", f'(lacks("{{name}}") ? load_relaxed({address}) : {awaited}({address}))'


def builtin(call, order):
    return call, f'(lacks("{{name}}") ? {call.replace(order, "__ATOMIC_RELAXED")} : {call})'


WORD = "uint64_t *p = word, old = __atomic_load_n(p, __ATOMIC_RELAXED);\n"
RELAXED_CHANGE = """        while (lacks("{name}"))
            if (__atomic_compare_exchange_n(p, &old, changed(c, old), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                return old;
"""

# name: file, function, (text, its replacement), scene. "{name}" is the name.
THREADS = {
    "entries": ("device/post.cuh", "bool publish_next(", statement(FENCE), "entries"),
    "record": ("device/post.cuh", "void ring_doorbell(", statement(FENCE), "record"),
    "rang": ("device/post.cuh", "void ring_doorbell(", statement(GPU), "rung"),
    "left": ("device/post.cuh", LATER, statement(GPU), "left"),
    "rings_for_others": ("device/post.cuh", LATER, statement(FENCE), "left"),
    "rung": ("device/post.cuh", LATER, load("&q->gpu_rung"), "rung"),
    "completed": ("device/post.cuh", "void await_completed(", load("word"), "completed"),
    "known": ("device/post.cuh", "void await_completed(", load("&q->gpu_done"), "known"),
    "raise_done": ("device/post.cuh", "void raise_done(", statement(GPU), "room_p"),
    "room_p": ("device/post.cuh", "uint64_t post_at_once(", load("&q->gpu_done", "load_before_stores"), "room_p"),
    "room": ("device/post.cuh", "uint64_t reserve_alone(", load("&q->gpu_done", "load_before_stores"), "room_put"),
    "list": ("device/post.cuh", "void list_queue(", statement(GPU), "list_quiet"),
    "list_quiet": ("device/nic.cuh", "void nic_await_all(", load("&nic_of(c)->gpu_used[number_of(c)]"), "list_quiet"),
    "list_fence": ("device/nic.cuh", "void nic_fence(", load("&nic_of(c)->gpu_used[number_of(c)]"), "list_fence"),
    "quiet": ("device/nic.cuh", "void nic_await_all(", load("&queue_at(c, i)->gpu_done"), "quiet"),
    "fence": ("device/nic.cuh", "void nic_fence(", load("&queue_at(c, i)->gpu_done"), "fence"),
    "fenced": ("device/nic.cuh", "void nic_fence_queue(", load("&queue_at(c, index)->gpu_fenced"), "fenced"),
    "cell_taken": ("device/post.cuh", "uint64_t *take_cell(", load("serving"), "cell"),
    "cell_given": ("device/post.cuh", "uint64_t post_for_value(",
                   ("    store_release(&nic_of(c)->", '    (lacks("{name}") ? &store_relaxed<uint64_t> : '
                    "&store_release<uint64_t>)(&nic_of(c)->"), "cell"),
    "model_doorbell": ("nic/model/queue.c", "bool gsh_model_take(",
                       builtin("__atomic_load_n(queue->doorbell, __ATOMIC_ACQUIRE)", "__ATOMIC_ACQUIRE"), "record"),
    "model_record": ("nic/model/queue.c", "static uint64_t end_of_record(",
                     builtin("__atomic_load_n(queue->record, __ATOMIC_ACQUIRE)", "__ATOMIC_ACQUIRE"), "ahead"),
    "model_consumed": ("nic/model/queue.c", "static void write_completion(",
                       builtin("__atomic_load_n(queue->consumed, __ATOMIC_ACQUIRE)", "__ATOMIC_ACQUIRE"), "consumed"),
    "model_completion": ("nic/model/queue.c", "static void write_completion(",
                         builtin("__atomic_store_n((uint32_t *)(void *)((uint8_t *)to + GSH_WQ_COMPLETION_LAST), "
                                 "last,\n                     __ATOMIC_RELEASE)", "__ATOMIC_RELEASE"), "completed"),
    "model_completed": ("nic/model/queue.c", "void gsh_model_complete(",
                        builtin("__atomic_store_n(&queue->completed, queue->completed + n, __ATOMIC_RELEASE)",
                                "__ATOMIC_RELEASE"), "idle"),
    "model_idle": ("nic/model/create.c", "static bool model_is_idle(",
                   ("gsh_load_acquire_u64(&queue->completed)", '(lacks("{name}") ? '
                    "__atomic_load_n(&queue->completed, __ATOMIC_RELAXED) : gsh_load_acquire_u64(&queue->completed))"),
                   "idle"),
    "model_state": ("nic/model/queue.c", "enum gsh_result gsh_model_set_state(",
                    builtin("__atomic_store_n(&queue->link->state, (uint32_t)state, __ATOMIC_RELEASE)",
                            "__ATOMIC_RELEASE"), "joined"),
    "model_answered": ("nic/model/execute.c", "static bool is_answered(",
                       builtin("__atomic_load_n(&its->state, __ATOMIC_ACQUIRE)", "__ATOMIC_ACQUIRE"), "joined"),
    "model_letter": ("nic/model/execute.c", "static bool send_letter(",
                     builtin("__atomic_store_n(&its->n_letters, n + 1, __ATOMIC_RELEASE)", "__ATOMIC_RELEASE"),
                     "letter"),
    "model_delivered": ("nic/model/round.c", "static void deliver_letters(",
                        builtin("__atomic_load_n(&queue->link->n_letters, __ATOMIC_ACQUIRE)", "__ATOMIC_ACQUIRE"),
                        "letter"),
    "model_atomic": ("nic/model/execute.c", "static uint64_t change_word(", (WORD, WORD + RELAXED_CHANGE), "atomic"),
}
# Of warps: their synchronisation before one thread publishes.
WARPS = {
    "warp": ("device/post.cuh", "void post_reserved(", ("    sync_group(b->group);\n    if",
                                                        '    if (!lacks("{name}"))\n        sync_group(b->group);\n'
                                                        "    if"), "warp_batch"),
    "warp_at_once": ("device/post.cuh", "uint64_t post_at_once(",
                     ("    if (!is_one)\n        sync_group(group);\n    if (rank == 0) {",
                      '    if (!is_one && !lacks("{name}"))\n        sync_group(group);\n    if (rank == 0) {'),
                     "warp_at_once"),
}
TABLES = {"threads": THREADS, "warps": WARPS}
# Atomic accesses that no one makes at the same time in the scene, shown as plain ones, so that what orders them is
# seen.
SHOWN = [
    ("device/post.cuh", "void ring_doorbell(", "store_relaxed(reinterpret_cast<uint32_t *>(to.record), ",
     '(shows("record") || shows("again") ? &store_plain<uint32_t> : &store_relaxed<uint32_t>)('
     "reinterpret_cast<uint32_t *>(to.record), "),
    ("device/post.cuh", "void ring_doorbell(", "store_relaxed(reinterpret_cast<uint64_t *>(to.doorbell), ",
     '(shows("rung") || shows("again") ? &store_plain<uint64_t> : &store_relaxed<uint64_t>)('
     "reinterpret_cast<uint64_t *>(to.doorbell), "),
    ("device/nic.cuh", "void nic_await_all(", HEAD, PLAIN_HEAD.format("list_quiet")),
    ("device/nic.cuh", "void nic_fence(", HEAD, PLAIN_HEAD.format("list_fence")),
]
RACE = "WARNING: ThreadSanitizer: data race"


def fail(text):
    sys.exit(f"weaken_nic.py: {text}")


def texts(root, table):
    """{file: its text}, with every order as a condition."""
    changed = {}
    for name, (file, function, (old, new), _) in table.items():
        text = changed.get(file) or (root / file).read_text()
        changed[file] = weaken(text, function, old, new.replace("{name}", name))
    for file, *change_of in SHOWN:
        changed[file] = weaken(changed.get(file) or (root / file).read_text(), *change_of)
    return changed


def build(which, root, overlay, cc, command):
    root, folder = pathlib.Path(root), pathlib.Path(overlay)
    for part in ("device", "wire", "cpu"):  # headers include each other relative to their own folder
        shutil.copytree(root / part, folder / part, dirs_exist_ok=True)
    objects = []
    for file, text in texts(root, TABLES[which]).items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".c":
            path.write_text("#include <stdbool.h>\nbool lacks(const char *name);\n" + text)
            objects.append(str(path.with_suffix(".o")))
            # calls of memcpy, which the sanitizer watches: what the compiler makes of them it does not
            failed = subprocess.call([*cc, "-fno-builtin", "-c", "-o", objects[-1], str(path)])
            if failed:
                sys.exit(failed)
        else:
            path.write_text('extern "C" bool lacks(const char *name), shows(const char *name);\n' + text)
    first_option = next(i for i, word in enumerate(command) if word.startswith("-"))
    sys.exit(subprocess.call([*command[:first_option], f"-I{folder}", *objects, *command[first_option:]]))


def run(program, *words):
    env = dict(os.environ, TSAN_OPTIONS="exitcode=66 halt_on_error=1 history_size=7")
    try:
        done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", env=env, timeout=250)
        return done.stdout, done.returncode
    except subprocess.TimeoutExpired as error:
        return str(error.stdout), -1


def race(which, program):
    table = TABLES[which]
    wrong = []
    output, status = run(program)
    if status != 0:
        fail(f"with all orders, status {status}:\n{output}")
    for name, (_, _, _, scene) in table.items():
        output, status = run(program, scene, name)
        if RACE not in output:
            wrong.append(f"{scene}: nothing was reported without {name}, status {status}\n{output}")
    print(f"{len(table)} orders, {len(wrong)} not missed")
    if wrong:
        fail("\n".join(wrong))


def main():
    match sys.argv[1:]:
        case ["--build", which, root, overlay, *rest] if "--" in rest:
            at = rest.index("--")
            build(which, root, overlay, rest[:at], rest[at + 1:])
        case ["--race", which, program]:
            race(which, program)
        case _:
            fail(__doc__)


if __name__ == "__main__":
    main()
