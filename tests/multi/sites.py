#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that the hang report knows the file and the line of each call of a program that is compiled with
GSHMEM_CALL_SITES. The program is started once for each comment of its source of the form

    /* NUMBER waits in CALL */

with that number; PE 0 of two then makes the call in the next three lines, which waits for ever. If it "waits for the
network in CALL", each PE is a node of its own, and PE 1 stops itself.

    sites.py GSHMEMRUN GSHMEM_INFO PROGRAM SOURCE"""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import hang

CASE = re.compile(r"\s*/\* (\d+) waits (for the network )?in ([\w: ]+) \*/")


def is_named(report, call, file, line):
    return any((wait["call"], wait["file"]) == (call, file) and wait["line"] in range(line, line + 3)
               for pe in report["pes"] for wait in pe.get("waits", []))


def run_case(launcher, info, program, file, line, found):
    """None, or what is wrong."""
    number, is_far, call = found.groups()
    environment = {**os.environ, **(hang.FAR_ENVIRONMENT if is_far else {})}
    job = subprocess.Popen([launcher, "-n", "2", program, number], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           start_new_session=True, env=environment)
    report, end, result = None, time.monotonic() + hang.LIMIT, None
    try:
        while time.monotonic() < end and job.poll() is None:
            report = hang.ask(info, job.pid) or report
            if report and is_named(report, call, file, line):
                break
        else:
            ended = "" if job.poll() is None else f", and the job has ended with status {job.poll()}"
            result = f"case {number}: no report says that {call} waits at {file}:{line}{ended}: {json.dumps(report)}"
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
        _, errors = job.communicate()
    return result and f"{result}\n{errors.decode()}"


def main():
    launcher, info, program, source = sys.argv[1:]
    file = pathlib.Path(source).name
    lines = pathlib.Path(source).read_text().splitlines()
    cases = [(i + 1, found) for i, line in enumerate(lines, 1) if (found := CASE.match(line))]
    if not cases or [int(found[1]) for _, found in cases] != list(range(1, len(cases) + 1)):
        sys.exit(f"{source}: the cases are not numbered from 1 on")
    with concurrent.futures.ThreadPoolExecutor(hang.AT_ONCE) as pool:
        wrong = [w for w in pool.map(lambda c: run_case(launcher, info, program, file, *c), cases) if w]
    print("\n".join(wrong) if wrong else f"{len(cases)} places named")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
