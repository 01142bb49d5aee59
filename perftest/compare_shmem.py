#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs shmem.c with gshmem and with another OpenSHMEM, such as Open MPI's, on two PEs of this machine.

    perftest/compare_shmem.py --build=build [--oshcc=oshcc] [--oshrun="oshrun --oversubscribe"] [--passes=5]

Compiles it with the other one's wrapper. Each pass runs both, alternating which begins; a row's
figures are medians of the passes, its ratio the median of the passes' ratios. Exit status 1: some
row takes longer with gshmem."""

import argparse
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run(words, env=None, last=None):
    """Its output. If `last` is in it a failure is ignored: Debian's Open MPI 4.1 crashes in shmem_finalize."""
    done = subprocess.run(words, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=300)
    if done.returncode != 0 and (last is None or last not in done.stdout):
        sys.exit(f"{shlex.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def rows(text):
    """{(what, bytes): ns}; ignores lines that are not the program's."""
    found = {}
    for line in text.splitlines():
        words = line.rsplit(maxsplit=2)
        if len(words) == 3 and words[1].isdigit():
            found[words[0], int(words[1])] = float(words[2])
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--oshcc", default="oshcc")
    parser.add_argument("--oshrun", default="oshrun --oversubscribe")
    parser.add_argument("--passes", type=int, default=5)
    args = parser.parse_args()
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with tempfile.TemporaryDirectory() as folder:
        other = pathlib.Path(folder) / "shmem"
        run([args.oshcc, "-O2", HERE / "shmem.c", "-o", other])
        commands = {
            "gshmem": ([args.build / "gshmemrun", "-n", "2", args.build / "perftest/shmem"], {"GSHMEM_DEVICE": "cpu"}),
            "other": ([*shlex.split(args.oshrun), "-n", "2", other], root),
        }
        passes = []
        for i in range(args.passes):
            order = list(commands) if i % 2 == 0 else list(commands)[::-1]
            passes.append({side: rows(run(*commands[side], last="barrier_all" if side == "other" else None))
                           for side in order})
    model = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    version = run([args.oshrun.split()[0], "--version"], root).splitlines()[0]
    commit = (args.build / "perftest/commit").read_text().strip() if (args.build / "perftest/commit").exists() else "?"
    print(f"gshmem {commit} beside {version}; {model[0]}, {os.cpu_count()} CPUs, Linux {platform.release()}; "
          f"{args.passes} passes\n")
    print(f"{'call':<18} {'bytes':>8} {'gshmem ns':>11} {'other ns':>11} {'ratio':>7}")
    n_slower = 0
    for row in passes[0]["gshmem"]:
        ours, theirs = ([p[side][row] for p in passes] for side in ("gshmem", "other"))
        ratio = statistics.median(a / b for a, b in zip(ours, theirs))
        n_slower += ratio > 1
        print(f"{row[0]:<18} {row[1]:>8} {statistics.median(ours):>11.1f} {statistics.median(theirs):>11.1f} "
              f"{ratio:>7.2f}")
    sys.exit(1 if n_slower or not passes[0]["gshmem"] else 0)


main()
