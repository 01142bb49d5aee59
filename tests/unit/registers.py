#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many registers ptxas gives the kernels of device_registers.cu: at most 48 to those that make one
call, at most 64, the maximum with 1024 threads, to those that make two or three in a loop or, with
GSHMEM_NEAR_ONLY, a collective. Passes if each kernel is within its limit, with and without
GSHMEM_NEAR_ONLY; these, and the file's parts, are compiled in parallel. With -rdc=true a kernel gets as
many as the largest function that it may call, when device code is linked: at most 64, with the arena and
without. For the first of the architectures all kernels are compiled, for the others those whose limit is 64.

And how deep the stacks of kernels that post to a NIC are: ptxas must know it, since CUDA gives a kernel what
ptxas says. It takes calls through pointers of the same type for a recursion, and then counts without them.

usage: registers.py SOURCE ARCH,ARCH... NVCC ARGS..."""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

LIMITS = {"alone": 48, "mix": 64, "coll": 64}
LINKED = 64
# What a collective over far members keeps in registers adds up through six nested functions: its
# kernels are launched with fewer threads, or with launch bounds, at which ptxas spills.
FAR_COLL, FAR_COLL_MIX = 152, 200
# Eight vectors in flight take 32 registers, and the stack, where the signal waits for them, one more. A wait in a
# collective can answer a hang report and go on.
EXCEPT = {
    "alone_put_signal_thread": 50, "alone_put_signal_warp": 50,
    "alone_putmem_signal_thread": 50, "alone_putmem_signal_warp": 50,
    "alone_ctx_put_signal_warp": 58, "alone_ctx_get_block": 50, "alone_ibput": 50, "alone_ibget": 50,
    "coll_inscan_block": 66, "coll_mix_reduce_put": 76,
}
# Where ptxas 13.0 needs a few more for the same. For sm_100 the mix has 60 in a file of its own.
EXCEPT_OF = {
    "sm_80": {
        "alone_put_signal_thread": 54, "alone_put_signal_warp": 54,
        "alone_putmem_signal_thread": 58, "alone_putmem_signal_warp": 54,
        "alone_get_block": 50, "alone_getmem_block": 50, "alone_get128_block": 50,
        "alone_ctx_put_warp": 50,
        "alone_barrier_thread": 50, "alone_team_sync_thread": 50, "mix_put_signal_thread_wait": 66,
    },
    "sm_100": {"mix_put_signal_warp_wait": 66, "coll_inscan_block": 67},
}
STACK = (512, 4096)  # bytes; with less, calls have been left out
USED = re.compile(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", re.S)
STACK_OF = re.compile(r"Compiling entry function '(\w+)'.*?Used \d+ registers([^\n]*)", re.S)
CUMULATIVE = re.compile(r"(\d+) bytes cumulative stack")
USED_LINKED = re.compile(r"Function properties for '(\w+)':.*?used (\d+) registers", re.S)


def messages(source, arch, compiler):
    """What ptxas says of the kernels."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            compiler + ["-arch=" + arch, "-cubin", "-Xptxas", "-v", "-o", os.path.join(folder, "cubin"), source],
            capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stderr


def registers(source, arch, compiler):
    """{kernel: registers}"""
    return {name: int(n) for name, n in USED.findall(messages(source, arch, compiler))}


def stacks(source, arch, compiler):
    """{kernel: bytes}"""
    found = STACK_OF.findall(messages(source, arch, compiler))
    return {name: int(of.group(1)) if (of := CUMULATIVE.search(rest)) else 0 for name, rest in found}


def linked_registers(source, arch, compiler):
    """The same after device linking."""
    with tempfile.TemporaryDirectory() as folder:
        unit, linked = os.path.join(folder, "unit.o"), os.path.join(folder, "linked.o")
        for command in ([*compiler, "-rdc=true", "-c", "-o", unit, source],
                        [compiler[0], "-dlink", "-Xnvlink", "-v", "-o", linked, unit]):
            done = subprocess.run([*command, "-arch=" + arch], capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(done.stderr)
    return {name: int(n) for name, n in USED_LINKED.findall(done.stderr + done.stdout)}


def limit_of(name, arch, what):
    is_near_only = what == "near peers only"
    if what.startswith("linked"):
        return LINKED
    if name.startswith("coll") and not is_near_only:
        return FAR_COLL_MIX if "mix" in name else FAR_COLL
    limits = {**EXCEPT, **EXCEPT_OF.get(arch, {})}
    return limits.get(name, LIMITS[name.split("_")[0]])


def start(pool, source, arch, compiler, is_first):
    """{what: [registers of a part, to come]}"""
    few = [] if is_first else ["-DLOOPS"]
    parts = ["-DPART=1", "-DPART=2", "-DPART=3", "-DPART=5"] if is_first else ["-DPART=1", "-DPART=5"]
    modes = {"all peers": parts, "near peers only": ["-DGSHMEM_NEAR_ONLY"]}
    found = {what: [pool.submit(registers, source, arch, [*compiler, *few, part]) for part in parts]
             for what, parts in modes.items()}
    for what, more in {"linked": [], "linked, no arena": ["-DGSHMEM_ARENA_BYTES=0"]}.items():
        found[what] = [pool.submit(linked_registers, source, arch, [*compiler, "-DPART=4", *more])]
    return found


def main():
    source, archs, *compiler = sys.argv[1:]
    n_wrong = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        archs = archs.split(",")
        found = [(arch, start(pool, source, arch, compiler, i == 0)) for i, arch in enumerate(archs)]
        deep = pool.submit(stacks, source, archs[-1], [*compiler, "-DPART=6"])
        for arch, modes in found:
            for what, parts in modes.items():
                n_wrong += check(what, arch, parts)
        n_wrong += check_stacks(archs[-1], deep.result())
    sys.exit(1 if n_wrong else 0)


def check(what, arch, parts):
    """How many kernels have too many."""
    of, n_wrong = {}, 0
    for part in parts:
        if not part.result():
            sys.exit("registers.py: ptxas names no kernel")
        of.update(part.result())
    for name, n in sorted(of.items()):
        limit = limit_of(name, arch, what)
        if n > limit:
            n_wrong += 1
            print(f"{name}: {n} registers, may have {limit} ({what}, {arch})")
    print(f"{what}, {arch}: {len(of)} kernels, at most {max(of.values())} registers", flush=True)
    return n_wrong


def check_stacks(arch, of):
    """How many kernels have a stack of which ptxas does not know enough, or one that is too deep."""
    if not of:
        sys.exit("registers.py: ptxas names no kernel that posts to a NIC")
    wrong = {name: n for name, n in of.items() if not STACK[0] <= n <= STACK[1]}
    for name, n in sorted(wrong.items()):
        print(f"{name}: a stack of {n} bytes, expected {STACK[0]} to {STACK[1]} ({arch})")
    print(f"NIC, {arch}: {len(of)} kernels, stacks of at most {max(of.values())} bytes", flush=True)
    return len(wrong)


main()
