#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that the hang report knows the file and the line of each call of a program that is compiled with
GSHMEM_CALL_SITES. The program is started once for each comment of its source of the form

    /* NUMBER waits in CALL */

with that number; PE 0 of two then makes the call in the next three lines, which waits for ever. If it "waits for the
network in CALL", each PE is a node of its own, and PE 1 stops itself.

    sites.py GSHMEMRUN GSHMEM_INFO PROGRAM SOURCE"""

import concurrent.futures
import os
import pathlib
import re
import sys

import hang

CASE = re.compile(r"\s*/\* (\d+) waits (for the network )?in ([\w: ]+) \*/")


def is_named(report, call, file, line):
    return any((wait["call"], wait["file"]) == (call, file) and wait["line"] in range(line, line + 3)
               for pe in report["pes"] for wait in pe.get("waits", []))


def run_case(launcher, info, program, file, line, found):
    """None, or what is wrong."""
    number, is_far, call = found.groups()
    wrong = hang.ask_until([launcher, "-n", "2", program, number], info,
                           lambda report: is_named(report, call, file, line),
                           {**os.environ, **(hang.far_environment(1) if is_far else {})})
    return wrong and f"case {number}: no report says that {call} waits at {file}:{line}: {wrong}"


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
