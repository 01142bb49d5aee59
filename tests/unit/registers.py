#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many registers ptxas gives the kernels of device_registers.cu: at most 48 to those that make one
call, at most 64, what each thread of 1024 can have, to those that make two or three in a loop. Passes
when each kernel is within its limit, with and without GSHMEM_NEAR_ONLY.

usage: registers.py SOURCE ARCH NVCC ARGS..."""

import os
import re
import subprocess
import sys
import tempfile

LIMITS = {"alone": 48, "mix": 64}
# Eight vectors in flight take 32 registers, and the signal that waits for them one more pair.
EXCEPT = {
    "alone_put_signal_thread": 50, "alone_put_signal_warp": 50,
    "alone_putmem_signal_thread": 50, "alone_putmem_signal_warp": 50,
    "mix_put_signal_thread_wait": 68, "mix_put_signal_warp_wait": 70,
}
EXCEPT_80 = {  # where ptxas needs some more for the same
    "alone_put_signal_thread": 54, "alone_put_signal_warp": 54,
    "alone_putmem_signal_thread": 58, "alone_putmem_signal_warp": 54,
    "alone_get_block": 50, "alone_getmem_block": 50, "alone_get128_block": 50,
    "alone_barrier_thread": 50, "alone_team_sync_thread": 50,
}
USED = re.compile(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", re.S)


def registers(source, arch, compiler):
    """{kernel: registers}"""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            compiler + ["-arch=" + arch, "-cubin", "-Xptxas", "-v", "-o", os.path.join(folder, "cubin"), source],
            capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return {name: int(n) for name, n in USED.findall(done.stderr)}


def main():
    source, arch, *compiler = sys.argv[1:]
    limits = {**EXCEPT, **(EXCEPT_80 if arch == "sm_80" else {})}
    n_wrong = 0
    for what, more in (("all peers", []), ("near peers only", ["-DGSHMEM_NEAR_ONLY"])):
        of = registers(source, arch, compiler + more)
        if not of:
            sys.exit("registers.py: ptxas names no kernel")
        for name, n in sorted(of.items()):
            limit = limits.get(name, LIMITS[name.split("_")[0]])
            if n > limit:
                n_wrong += 1
                print(f"{name}: {n} registers, may have {limit} ({what}, {arch})")
        print(f"{what}, {arch}: {len(of)} kernels, at most {max(of.values())} registers")
    sys.exit(1 if n_wrong else 0)


main()
