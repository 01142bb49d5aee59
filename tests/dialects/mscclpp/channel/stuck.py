#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that waits in kernels end, with a line that says which: rank 0 of two waits for a signal, a packet, a port
channel's signal or a flush, and rank 1 has died, or does nothing until the time limit. The ranks are processes, near or
far, or PEs of a job, processes or threads.

usage: stuck.py near|far processes|hosts PROGRAM       without a job
       stuck.py near|far job LAUNCHER ARGS... PROGRAM
In a job the time limit is the job's, too, whose start may pass it: there rank 1 dies alone."""

import os
import re
import subprocess
import sys

DIED = ": its process has died or exited"
LATE = r": waited 0\.3 s"
# what rank 0 waits for: the line.
NEAR = {"signal": "PE 0, memory channel to rank 1, wait 2, seen 1",
        "packet": f"PE 0, memory channel to rank 1, packet with flag {0xabcd0000}, seen 0",
        "packets": f"PE 0, memory channel to rank 1, packet with flag {0xabcd0000}, seen 0"}
ANYWHERE = {"port": "PE 0, port channel to rank 1, wait 1, seen 0",
            "flush": "PE 0, port channel to rank 1, flush until done [0-9]+, seen [0-9]+"}
# The launcher may be first to find that a PE has gone, and a PE that is a thread says it itself.
ENDED = ("PE 1 died or exited without gshmem_finalize|PE 1.* was killed by signal 9|"
         "PE 1: error: ended its thread without gshmem_finalize")


def main():
    route, way, *command = sys.argv[1:]
    cases = NEAR | ANYWHERE if route == "near" else ANYWHERE
    n_failed = 0
    for what, line in cases.items():
        for is_silent in (False,) if way == "job" else (False, True):
            end = LATE if is_silent else ": the proxy has stopped: .+" if what == "flush" else DIED
            word = what + ("-silent" if is_silent else "")
            expected = line + end
            if way == "job":
                expected += "|" + ENDED
            run = [*command, "stuck", word, *([way, "2"] if way in ("processes", "hosts") else [])]
            env = dict(os.environ, GSHMEM_WAIT_TIMEOUT="300ms" if is_silent else "0")
            done = subprocess.run(run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  env=env, timeout=110)
            if done.returncode == 0 or not re.search(expected, done.stdout) or "has returned" in done.stdout:
                print(f"{word}: ended with {done.returncode}, without {expected!r}:\n{done.stdout}")
                n_failed += 1
    sys.exit(n_failed != 0)


main()
