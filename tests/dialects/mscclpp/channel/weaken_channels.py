#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the tests of channels: builds them against headers that lack one of the orders that a channel promises, and
checks that the thread sanitizer reports them, as tests/litmus/weaken.py does for the device library.

usage: weaken_channels.py --list                                           names
       weaken_channels.py --build NAME SOURCE_ROOT OVERLAY COMPILER ARGS...   a program without NAME
       weaken_channels.py --program NAME                                   whose program it is
       weaken_channels.py --race PROGRAM NAME                              passes when PROGRAM is reported"""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "litmus"))
from weaken import TRIES, weaken  # noqa: E402

RELEASE = "fence_release();"
GPU = "fence_gpu();"
# name: header, [(function, text, its replacement)], program, its arguments. In the place of a header a file of the
# library, whose functions then stand in the program, too, and take the place of the library's.
WEAKENED = {
    "signal": ("semaphore_device.hpp", [("INLINE void signal()\n    {\n        /* Pairs", "gshmem::detail::" + RELEASE,
                                         ";")], "handles", ["put"]),
    "wait": ("watch_device.hpp", [("void waitWord(", "load_awaited(", "load_relaxed("),
                                  ("void waitWord(", "acquire_awaited();", ";")], "handles", ["put"]),
    "poll": ("semaphore_device.hpp", [("bool pollSignal(", "load_awaited(", "load_relaxed("),
                                      ("bool pollSignal(", "acquire_awaited();", ";")], "handles", ["poll"]),
    "push": ("fifo_device.hpp", [("uint64_t push(", "gshmem::detail::" + RELEASE, ";")], "handles", ["ports"]),
    "host_poll": ("channel/fifo.cc", [("bool Fifo::poll(ProxyTrigger &trigger)", "__ATOMIC_ACQUIRE",
                                       "__ATOMIC_RELAXED")], "fifo", []),
    "host_pop": ("channel/fifo.cc", [("void Fifo::pop()", "__ATOMIC_RELEASE", "__ATOMIC_RELAXED")], "fifo", []),
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
}


def fail(text):
    sys.exit(f"weaken_channels.py: {text}")


def build(name, root, overlay, command):
    header, changes = WEAKENED[name][:2]
    folder = pathlib.Path(overlay)
    dialect = pathlib.Path(root) / "dialects/mscclpp"
    shutil.copytree(dialect / "include/mscclpp", folder / "mscclpp", dirs_exist_ok=True)
    is_source = header.endswith(".cc")
    text = (dialect / header if is_source else folder / "mscclpp" / header).read_text()
    for change in changes:
        text = weaken(text, *change)
    changed = folder / pathlib.Path(header).name if is_source else folder / "mscclpp" / header
    changed.write_text(text)
    first_option = next(i for i, word in enumerate(command) if word.startswith("-"))
    if is_source:
        # As the library is compiled: without device code.
        part = changed.with_suffix(".o")
        options = [word for word in command if word.startswith(("-std", "-O", "-g", "-f", "-I", "-D"))]
        failed = subprocess.call([*command[:first_option], f"-I{root}", *options, "-UGSHMEM_DEVICE_CODE",
                                  "-DGSHMEM_MSCCLPP_LIBRARY=1", "-c", "-o", part, changed])
        if failed:
            return failed
        command = command + [str(part)]
    return subprocess.call(command[:first_option] + [f"-I{folder}"] + command[first_option:])


def race(program, name):
    env = dict(os.environ, TSAN_OPTIONS="exitcode=66 halt_on_error=1 history_size=7")
    for _ in range(TRIES):
        done = subprocess.run([program, *WEAKENED[name][3]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", env=env)
        if "WARNING: ThreadSanitizer: data race" in done.stdout:
            return
    fail(f"nothing was reported without {name} in {TRIES} runs; the last one:\n{done.stdout}")


def main():
    match sys.argv[1:]:
        case ["--list"]:
            print("\n".join(WEAKENED))
        case ["--program", name]:
            print(WEAKENED[name][2])
        case ["--build", name, root, overlay, *command] if command:
            sys.exit(build(name, root, overlay, command))
        case ["--race", program, name]:
            race(program, name)
        case _:
            fail(__doc__)


main()
