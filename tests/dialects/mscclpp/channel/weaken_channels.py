#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the tests of channels: builds them against headers that lack one of the orders that a channel promises, and
checks that the thread sanitizer reports them, as tests/litmus/weaken.py does for the device library.

usage: weaken_channels.py --list                                           names
       weaken_channels.py --build NAME SOURCE_ROOT OVERLAY COMPILER ARGS...   a program without NAME
       weaken_channels.py --program NAME                                   whose program it is, and what to build it
                                                                           from: its "source", or its "object" where
                                                                           a file of the library is what changes
       weaken_channels.py --race PROGRAM NAME                              passes when PROGRAM is reported

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
from weaken import TRIES, part_of, weaken  # noqa: E402

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
    "fifo_poll": ("fifo_device.hpp", [("bool poll(uint64_t position)", "load_acquire(", "load_relaxed(")], "fifo", []),
    "sync": ("fifo_device.hpp", [("void sync(", "waitWord(", "waitWord<true>(")], "fifo", []),
    "flush": ("port_channel_device.hpp", [("void awaitFlush(", "waitWord(", "waitWord<true>(")], "handles", ["ports"]),
    "syncer_arrive": ("concurrency_device.hpp", [("void sync(", GPU + "\n            reduce_add", "reduce_add")],
                      "handles", ["syncer"]),
    "syncer_leave": ("concurrency_device.hpp", [("void sync(", GPU + "\n            store_relaxed", "store_relaxed")],
                     "handles", ["syncer"]),
    "semaphore_acquire": ("concurrency_device.hpp", [("void acquire(", GPU, ";")], "handles", ["gate"]),
    "semaphore_release": ("concurrency_device.hpp", [("void release()", "gshmem::detail::" + GPU, ";")], "handles",
                          ["gate"]),
    "report": ("watch_device.hpp", [("uint64_t lookAround(", "store_release(&watch->state",
                                     "store_relaxed(&watch->state")], "fifo", ["room"]),
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


def build(name, root, overlay, command):
    header, changes = WEAKENED[name][:2]
    folder = pathlib.Path(overlay)
    dialect = pathlib.Path(root) / "dialects/mscclpp"
    shutil.copytree(dialect / "include/mscclpp", folder / "mscclpp", dirs_exist_ok=True)
    is_source = is_of_library(name)
    is_of_gshmem = header.endswith(".c")
    source = pathlib.Path(root) / header if is_of_gshmem else dialect / header
    text = (source if is_source else folder / "mscclpp" / header).read_text()
    for change in changes:
        text = weaken(text, *change)
    if is_of_gshmem:
        start, end = part_of(text, changes[0][0])
        text = '#include "runtime/layer.h"\n' + text[start:end]
    changed = folder / pathlib.Path(header).with_suffix(".cc").name if is_source else folder / "mscclpp" / header
    changed.write_text(text)
    first_option = next(i for i, word in enumerate(command) if word.startswith("-"))
    if is_source:
        # As the library is compiled: without device code. The program's object is the usual one, so what is read is
        # what this part reads.
        part = changed.with_suffix(".o")
        at = command.index("-MD")
        depfile, command = command[at:at + 3], command[:at] + command[at + 3:]
        depfile += ["-MT", command[command.index("-o") + 1]]
        options = [word for word in command if word.startswith(("-std", "-O", "-g", "-f", "-I", "-D"))]
        failed = subprocess.call([*command[:first_option], f"-I{root}", *options, "-UGSHMEM_DEVICE_CODE",
                                  "-DGSHMEM_MSCCLPP_LIBRARY=1", *depfile, "-c", "-o", part, changed])
        if failed:
            return failed
        command = command + [str(part)]
    return subprocess.call(command[:first_option] + [f"-I{folder}"] + command[first_option:])


def race(program, name):
    env = dict(os.environ, TSAN_OPTIONS="exitcode=66 halt_on_error=1 history_size=7")
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
        case ["--race", program, name]:
            race(program, name)
        case _:
            fail(__doc__)


main()
