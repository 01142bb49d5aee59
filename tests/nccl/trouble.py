#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that a wait for a rank that does not come, in a kernel or a collective, ends the job with a line that
names the call, and in barriers the rank's PE; and that a rank that dies ends the others, who say which one it was.

usage: trouble.py GSHMEMRUN PROGRAM"""

import os
import re
import subprocess
import sys

N = 3
ABSENT = {
    "lsa": r"PE 2 has not arrived|ncclLsaBarrierSession.*PE 2",
    "gin": r"PE 2 has not arrived|ncclGinBarrierSession.*PE 2",
    "signal": r"ncclGin::waitSignal",
    "recv": r"ncclSend or ncclRecv",
}


def run(wait, how, limit):
    environment = dict(os.environ, GSHMEM_WAIT_TIMEOUT=limit)
    return subprocess.run([sys.argv[1], "-n", str(N), sys.argv[2], wait, how], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)


def main():
    wrong = 0
    for wait, how, limit, line in (
            [(wait, "absent", "1", line) for wait, line in ABSENT.items()]
            + [(wait, "dead", "50", r"PE 2\b.*(killed|signal|died|ended|lost)") for wait in [*ABSENT, "allreduce"]]):
        result = run(wait, how, limit)
        if result.returncode == 0 or not re.search(line, result.stdout):
            print(f"{wait}, {how}: status {result.returncode}, no line like {line!r} in:\n{result.stdout}")
            wrong += 1
    return wrong != 0


sys.exit(main())
