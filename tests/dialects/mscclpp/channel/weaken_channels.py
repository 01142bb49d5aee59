#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the tests of channels: builds them against headers that lack one of the orders that a channel promises, and
checks that the thread sanitizer reports them, as tests/litmus/weaken.py does for the device library.

usage: weaken_channels.py --list                                           names
       weaken_channels.py --build NAME SOURCE_ROOT OVERLAY COMPILER ARGS...   a program without NAME, which is of a file
                                                                           of the library
       weaken_channels.py --build-any PROGRAM SOURCE_ROOT OVERLAY COMPILER ARGS...   a program that lacks, each by
                                                                           request, what headers have for it
       weaken_channels.py --program NAME                                   whose program it is, and what to build it
                                                                           from: its "source", or its "object" where
                                                                           a file of the library is what changes
       weaken_channels.py --race PROGRAM NAME                              passes when PROGRAM is reported without NAME

What no program can show, on x86 and under a sanitizer that knows no fences and reports only races of plain accesses:
- FifoDeviceHandle::storeTrigger's fence between a trigger's words: both are atomic, x86 stores in order, and GPUs store
  them at once;
- Proxy's acquire of is_to_stop: an atomic load is to see an earlier atomic store, which x86 does not delay so long;
- Proxy's release and acquire of is_over: whoever starts or stops a proxy joins its thread first, which orders as much;
- the watcher's releases of limitNs and ended: kernels read nothing behind them;
- BulkBarrier, bulkFence and the waits for bulk stores: on the CPU device one thread copies and orders by itself."""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "litmus"))
from weaken import SWITCH, TRIES, lacking, part_of, weaken  # noqa: E402

RELEASE = "fence_release();"
GPU = "fence_gpu();"
FLAGS = "bool hasFlag(gshmem::detail::words2 seen, uint32_t flag)"
STORE = "int gshmemx_layer_copies_store(void *copies, uint64_t *word"
BY_STREAM = """struct copies *c = copies;
    if (c->is_cuda) {
        return gsh_layer_outcome(store_by_stream(c, word, value));
    }
"""
# name: header, [(function, text, its replacement)], program, its arguments. In the place of a header a file of the
# library, whose functions then stand in the program, too, and take the place of the library's; or a file of gshmem
# itself, of which the first function alone does.
WEAKENED = {
    "signal": ("semaphore_device.hpp", [("INLINE void signal()\n    {\n        /* Pairs", "gshmem::detail::" + RELEASE,
                                         ";")], "handles", ["put"]),
    "wait": ("watch_device.hpp", [("void waitWord(", "load_awaited(", "load_relaxed("),
                                  ("void waitWord(", "acquire_awaited();", ";")], "handles", ["put"]),
    "poll": ("semaphore_device.hpp", [("bool pollSignal(", "load_awaited(", "load_relaxed("),
                                      ("bool pollSignal(", "acquire_awaited();", ";")], "handles", ["poll"]),
    # By what connections tell semaphores and flushes, after their copies.
    "copies_store": ("runtime/api/layer_copies.c", [(STORE, BY_STREAM, "(void)copies;\n"),
                                                    (STORE, "__ATOMIC_RELEASE", "__ATOMIC_RELAXED")], "channels",
                     ["threads", "2"]),
    "flush_word": ("channel/port_channel.cc", [("void flush_position(", "__ATOMIC_RELEASE", "__ATOMIC_RELAXED")],
                   "channels", ["far-threads", "2"]),
    "host_wait": ("channel/semaphore.cc", [("bool Host2HostSemaphore::poll()", "__ATOMIC_ACQUIRE",
                                            "__ATOMIC_RELAXED")], "host", ["threads", "2"]),
    "memory_added": ("channel/port_channel.cc", [("MemoryId ProxyService::addMemory(", "memory_order_release",
                                                  "memory_order_relaxed")], "channels", ["late", "1"]),
    "memory_used": ("channel/port_channel.cc", [("const RegisteredMemory &memory(MemoryId id) const",
                                                 "memory_order_acquire", "memory_order_relaxed")], "channels",
                    ["late", "1"]),
    "semaphore_added": ("channel/port_channel.cc", [("SemaphoreId ProxyService::addSemaphore(",
                                                     "memory_order_release", "memory_order_relaxed")], "channels",
                        ["late", "1"]),
    "semaphore_used": ("channel/port_channel.cc", [("channel_entry &entry(SemaphoreId id)", "memory_order_acquire",
                                                    "memory_order_relaxed")], "channels", ["late", "1"]),
    "push": ("fifo_device.hpp", [("uint64_t pushIn(", "gshmem::detail::" + RELEASE, ";")], "handles", ["ports"]),
    "host_poll": ("channel/fifo.cc", [("bool Fifo::poll(ProxyTrigger &trigger)", "__ATOMIC_ACQUIRE",
                                       "__ATOMIC_RELAXED")], "fifo", []),
    "host_pop": ("channel/fifo.cc", [("void Fifo::pop()", "__ATOMIC_RELEASE", "__ATOMIC_RELAXED")], "fifo", []),
    "host_tail": ("channel/fifo.cc", [("uint64_t Fifo::tail() const", "__ATOMIC_ACQUIRE", "__ATOMIC_RELAXED")], "fifo",
                  []),
    "fifo_poll": ("fifo_device.hpp", [("bool poll(uint64_t position)", "gshmem::detail::load_acquire(",
                                        "gshmem::detail::load_relaxed(")], "fifo", []),
    "sync": ("fifo_device.hpp", [("void sync(", "detail::waitWord(", "detail::waitWord<true>(")], "fifo", []),
    "flush": ("port_channel_device.hpp", [("void awaitFlush(", "detail::waitWord(", "detail::waitWord<true>(")],
              "handles", ["ports"]),
    "syncer_arrive": ("concurrency_device.hpp", [("void sync(", GPU + "\n            reduce_add", "reduce_add")],
                      "handles", ["syncer"]),
    "syncer_leave": ("concurrency_device.hpp", [("void sync(", GPU + "\n            store_relaxed", "store_relaxed")],
                     "handles", ["syncer"]),
    "semaphore_acquire": ("concurrency_device.hpp", [("void acquire(", GPU, ";")], "handles", ["gate"]),
    "semaphore_release": ("concurrency_device.hpp", [("void release()", "gshmem::detail::" + GPU, ";")], "handles",
                          ["gate"]),
    "report": ("watch_device.hpp", [("uint64_t lookAround(", "store_release(", "store_relaxed(")], "fifo",
               ["room"]),
    "report_read": ("channel/watch.cc", [("bool look(entry &e)", "__ATOMIC_ACQUIRE", "__ATOMIC_RELAXED")], "fifo",
                    ["room"]),
    "packet_first": ("packet_device.hpp", [(FLAGS, "seen.low >> 32 == flag && ", "")], "handles", ["halves"]),
    "packet_second": ("packet_device.hpp", [(FLAGS, " && seen.high >> 32 == flag", "")], "handles", ["halves"]),
}

# A packet's words carry their flags instead of an order: the program sees by itself that one is taken too early.
SEEN_BY_PROGRAM = {"packet_first", "packet_second"}


def fail(text):
    sys.exit(f"weaken_channels.py: {text}")


def is_of_library(name):
    return WEAKENED[name][0].endswith((".cc", ".c"))


def overlay_of(root, overlay):
    """A copy of the dialect's headers."""
    folder = pathlib.Path(overlay)
    shutil.copytree(pathlib.Path(root) / "dialects/mscclpp/include/mscclpp", folder / "mscclpp", dirs_exist_ok=True)
    return folder


def compile_over(folder, more, command):
    first_option = next(i for i, word in enumerate(command) if word.startswith("-"))
    return subprocess.call(command[:first_option] + [f"-I{folder}", *more] + command[first_option:])


def number_of(name):
    return list(WEAKENED).index(name)


def build_any(program, root, overlay, command):
    folder = overlay_of(root, overlay)
    for name, (header, changes, its_program, _) in WEAKENED.items():
        path = folder / "mscclpp" / header
        if its_program == program and not is_of_library(name):
            text = path.read_text()
            for function, old, new in changes:
                text = weaken(text, function, old, lacking(number_of(name), name, old, new))
            path.write_text(text)
    switch = folder / "test_lacks.h"
    switch.write_text(SWITCH)
    return compile_over(folder, ["-include", str(switch)], command)


def build(name, root, overlay, command):
    source, changes = WEAKENED[name][:2]
    folder = overlay_of(root, overlay)
    is_of_gshmem = source.endswith(".c")
    text = (pathlib.Path(root) / ("" if is_of_gshmem else "dialects/mscclpp") / source).read_text()
    for change in changes:
        text = weaken(text, *change)
    if is_of_gshmem:
        start, end = part_of(text, changes[0][0])
        text = '#include "runtime/layer.h"\n' + text[start:end]
    changed = folder / pathlib.Path(source).with_suffix(".cc").name
    changed.write_text(text)
    # As the library is compiled: without device code. The program's object is the usual one, so what is read is what
    # this part reads.
    part = changed.with_suffix(".o")
    at = command.index("-MD")
    depfile, command = command[at:at + 3], command[:at] + command[at + 3:]
    depfile += ["-MT", command[command.index("-o") + 1]]
    options = [word for word in command if word.startswith(("-std", "-O", "-g", "-f", "-I", "-D"))]
    first_option = next(i for i, word in enumerate(command) if word.startswith("-"))
    failed = subprocess.call([*command[:first_option], f"-I{root}", *options, "-UGSHMEM_DEVICE_CODE",
                              "-DGSHMEM_MSCCLPP_LIBRARY=1", *depfile, "-c", "-o", part, changed])
    return failed or compile_over(folder, [], command + [str(part)])


def race(program, name):
    env = dict(os.environ, TSAN_OPTIONS="exitcode=66 halt_on_error=1 history_size=7", TEST_LACKS=str(number_of(name)))
    for _ in range(TRIES):
        done = subprocess.run([program, *WEAKENED[name][3]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", env=env)
        if name in SEEN_BY_PROGRAM:
            is_seen = done.returncode == 1 and "in case" in done.stdout
        else:
            is_seen = "WARNING: ThreadSanitizer: data race" in done.stdout
        if is_seen:
            return
    fail(f"nothing was reported without {name} in {TRIES} runs; the last one:\n{done.stdout}")


def main():
    match sys.argv[1:]:
        case ["--list"]:
            print("\n".join(WEAKENED))
        case ["--program", name]:
            print(WEAKENED[name][2], "object" if is_of_library(name) else "source")
        case ["--build", name, root, overlay, *command] if command:
            sys.exit(build(name, root, overlay, command))
        case ["--build-any", program, root, overlay, *command] if command:
            sys.exit(build_any(program, root, overlay, command))
        case ["--race", program, name]:
            race(program, name)
        case _:
            fail(__doc__)


main()
