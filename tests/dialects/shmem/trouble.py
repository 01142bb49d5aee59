#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What OpenSHMEM programs are told: mistakes end the job with a line that names the call as the program does,
cases that the standard defines print nothing, and the standard's environment variables work.

    trouble.py GSHMEMRUN PROGRAM PROGRAM_WITH_MORE_STATIC_DATA [--checks]"""

import os
import re
import subprocess
import sys

# name: (what is printed: a pattern, or None for no line of the library's; exit status, None for any failure;
# environment, how it starts). The program's case is the part before a blank.
CASES = {
    "before_init": (r"shmem_long_p: called before shmem_init", None, {}, "run"),
    "after_finalize": (r"shmem_quiet: called after shmem_finalize", None, {}, "run"),
    "invalid_team": (None, 0, {}, "run"),
    "set_beyond": (r"gshmem: PE \d: error: shmem_barrier: there is no active set of 3 PEs from PE 1 with stride 2\^0: "
                   r"the job has PEs 0 to 2", None, {}, "run"),
    "set_not_member": (r"PE 0: error: shmem_sync: this PE is not in the active set of 2 PEs", None, {}, "run"),
    "set_stride": (r"shmem_broadcast64: there is no active set of 2 PEs from PE 0 with stride 2\^40", None, {}, "run"),
    "set_negative": (r"shmem_long_sum_to_all: nreduce is -1", None, {}, "run"),
    "exits_failed": (r"PE 1: error: exited without shmem_finalize; ending the job", 3, {}, "run"),
    "static": (None, 0, {}, "run"),
    "static threads": (r"shmem_long_p: .* is not symmetric.*a global or static", None, {}, "threads"),
    "range threads": (r"PE 0: warning: the program's globals and statics are not symmetric: PEs are threads of one "
                      r"process", 0, {}, "threads"),
    "nothing differ": (r"bytes on PE \d|PE \d.*bytes", None, {}, "differ"),
    "nothing version": (r"OpenSHMEM 1\.\d: gshmem", 0, {"SHMEM_VERSION": "1"}, "run"),
    "nothing info": (r"(?s)SHMEM_SYMMETRIC_SIZE=64M\n.*GSHMEM_", 0,
                     {"SMA_INFO": "1", "SMA_SYMMETRIC_SIZE": "64M"}, "run"),
    "nothing debug": (r"gshmem: PE \d: info: ", 0, {"SHMEM_DEBUG": "1"}, "run"),
    "nothing size": (None, 0, {"SHMEM_SYMMETRIC_SIZE": "1.5g"}, "run"),
    "nothing bad_size": (r"gshmem: error: SHMEM_SYMMETRIC_SIZE=1\.5GB is not a number of bytes", None,
                         {"SHMEM_SYMMETRIC_SIZE": "1.5GB"}, "run"),
    "range size": (r"range %d\b" % (8 << 40), 0, {"SHMEM_SYMMETRIC_SIZE": "3.5T"}, "run"),
}
# Programs that end well without shmem_finalize, which is done for them; checking builds warn.
IMPLICIT = {
    "implicit_waits": "PE 1 still works\n",
    "implicit_exit": "",
    "implicit_forks": "",
    "implicit_twice": "",
    "implicit_start_pes": "",
}
CHECKS = {
    "lock_twice": (r"PE 0: error: shmem_set_lock: this thread already holds the lock at 0x[0-9a-f]+", None, {}, "run"),
    "sync_small": (r"shmem_barrier: pSync at 0x[0-9a-f]+ is not 32 symmetric longs, which this call needs", None, {},
                   "run"),
    "sync_stack": (r"shmem_barrier: pSync at 0x[0-9a-f]+ is not 32 symmetric longs", None, {}, "run"),
}


def run(gshmemrun, program, larger, name, case, has_checks):
    pattern, status, settings, start = case
    env = dict(os.environ, GSHMEM_WAIT_TIMEOUT="100", **settings)
    command = [program, name.split()[0]]
    if start == "differ":
        command = ["sh", "-c", 'if [ "$GSHMEM_RANK" = 1 ]; then exec "$0"; else exec "$1"; fi', larger, program]
    command = [gshmemrun, "-n", "3"] + (["--threads"] if start == "threads" else []) + command
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=300)
    ours = re.findall(r"(?m)^gshmem: .*(?:error|warning): .*", done.stdout)
    wrong = []
    if re.search(r"(?m)^shmem: ", done.stdout):
        wrong.append("a line with another prefix than gshmem")
    if done.returncode < 0 or (done.returncode != status if status is not None else done.returncode == 0):
        wrong.append(f"status {done.returncode}")
    if ours and (pattern is None or (name in IMPLICIT and not has_checks)):
        wrong.append("a line where none is wanted")
    if pattern is not None and not re.search(pattern, done.stdout):
        wrong.append(f"no line says /{pattern}/")
    if any(re.search(r"\bgshmemx?_\w+:", line) for line in ours):
        wrong.append("a call is named as the program does not")
    print(f"{name:24s} {'ok' if not wrong else 'FAILED: ' + ', '.join(wrong)}", flush=True)
    if wrong:
        print(done.stdout[-2000:])
    return bool(wrong)


def main():
    gshmemrun, program, larger = sys.argv[1:4]
    has_checks = "--checks" in sys.argv
    cases = dict(CASES, **(CHECKS if has_checks else {}))
    for name, said in IMPLICIT.items():
        warning = r"shmem: PE 1: warning: the program ends without shmem_finalize"
        cases[name] = (warning if has_checks else said or None, 0, {}, "run")
    failed = sum([run(gshmemrun, program, larger, name, case, has_checks) for name, case in cases.items()])
    sys.exit(f"{failed} of {len(cases)} cases failed" if failed else 0)


main()
