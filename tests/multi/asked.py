#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that a job may be asked for its hang report at any time: a program that checks itself is right although
gshmem-info asks it from beginning to end, again and again. In the thread sanitizer's build no answer races with the
program's calls.

    asked.py GSHMEMRUN GSHMEM_INFO ARGUMENT...      ARGUMENT: of gshmemrun, the program and its own"""

import os
import signal
import subprocess
import sys


LEAST = 3  # answers; the program runs as often as it takes


def run(launcher, info, arguments):
    """The job's status, and how many answers it has given."""
    job = subprocess.Popen([launcher, *arguments], start_new_session=True)
    n_answers = 0
    try:
        while job.poll() is None:
            done = subprocess.run([info, "--job", str(job.pid), "--json"], capture_output=True, text=True)
            n_answers += done.returncode == 0 and '"answered"' in done.stdout
    finally:
        if job.returncode is None:
            os.killpg(job.pid, signal.SIGKILL)
    return job.returncode, n_answers


def main():
    launcher, info, *arguments = sys.argv[1:]
    status, total = 0, 0
    while status == 0 and total < LEAST:
        status, n_answers = run(launcher, info, arguments)
        total += n_answers
    print(f"status {status}, {total} answers")
    return 0 if status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
