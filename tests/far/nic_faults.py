#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Settings that the route by a NIC cannot have, faults that the model NIC injects, and a PE that is killed with entries
under way: each ends the job by one line that says what is wrong, and nothing hangs.

usage: nic_faults.py GSHMEMRUN PROGRAM ARGS..."""

import os
import re
import signal
import subprocess
import sys
import time

LIMIT_S = 200  # on a busy machine
FAILED = r"PE \d: error: the NIC's queue \d+ to PE \d, index \d+: [\w -]+ failed, syndrome "
OTHER = r"PE \d: error: init: %s is not the same on PE 1 as on PE 0"
# The program, with the settings in OF_PE_1 if it is PE 1.
OF_ONE = ["sh", "-c", '[ "$GSHMEM_RANK" != 1 ] || export $OF_PE_1; exec "$@"', "sh"]
# name: (threads or processes, environment, what a line must say; None: the program passes)
CASES = {
    "no such NIC": ("--threads", {"GSHMEM_NIC": "mlx6"}, r"GSHMEM_NIC=mlx6: there is no such NIC"),
    "beside others": ("--threads", {"GSHMEM_NIC": "mlx5_0, model"}, r"GSHMEM_NIC=mlx5_0, model: the model NIC cannot"),
    "one PE without": ("", {"OF_PE_1": "GSHMEM_NIC="}, OTHER % "GSHMEM_NIC"),
    "stripes of one": ("", {"OF_PE_1": "GSHMEM_NIC_STRIPES=2"}, OTHER % "GSHMEM_NIC_STRIPES"),
    "none named": ("--threads", {"GSHMEM_NIC": "", "GSHMEM_REMOTE": "nic"}, r"GSHMEM_REMOTE=nic: no NIC .* none"),
    "depth": ("--threads", {"GSHMEM_NIC_DEPTH": "300"}, r"GSHMEM_NIC_DEPTH=300 is not a power of two"),
    "queues": ("--threads", {"GSHMEM_NIC_QUEUES": "17"}, r"GSHMEM_NIC_QUEUES=17 is more than 16"),
    "stripes": ("--threads", {"GSHMEM_NIC_STRIPES": "5"}, r"GSHMEM_NIC_STRIPES=5 is more than 4, or than"),
    "settings": ("--threads", {"GSHMEM_NIC_MODEL": "seed=1,speed=2"}, r"GSHMEM_NIC_MODEL: 'speed=2' is none of"),
    "denied": ("--threads", {"GSHMEM_NIC_MODEL": "deny=1@50"}, FAILED + r"0x13 \(remote access error"),
    "lost": ("--threads", {"GSHMEM_NIC_MODEL": "lose=1@50"}, FAILED + r"0x15 \(retries exceeded"),
    "broken": ("--threads", {"GSHMEM_NIC_MODEL": "break=1@50"}, FAILED + r"0x02 \(local operation error"),
    "harmless": ("--threads", {"GSHMEM_NIC_MODEL": "delay=4,late_bell=3,twice=3,stale=3,seed=5"}, None),
    "AMOs by the proxy": ("--threads", {"GSHMEM_NIC_MODEL": "amos=0"}, None),
    "two NICs, and spaces": ("--threads", {"GSHMEM_NIC": " model ", "GSHMEM_NIC_STRIPES": "2"}, None),
    "one queue": ("--threads", {"GSHMEM_NIC_QUEUES": "1"}, None),
}


def start(mode, settings, command):
    launcher, program = command[0], command[1:]
    environment = {**os.environ, "GSHMEM_DEVICE": "cpu", "GSHMEM_NODE_PES": "1", "GSHMEM_NIC": "model",
                   "GSHMEM_REMOTE": "auto", "GSHMEM_WAIT_TIMEOUT": "100", "OF_PE_1": "", **settings}
    program = program if mode else [*OF_ONE, *program]
    return subprocess.Popen([launcher, "-n", "2", *([mode] if mode else []), *program], env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def judge(name, output, status, expected):
    """Whether it went as it should."""
    lines = [line for line in output.splitlines() if "error:" in line]
    if expected is None:
        good = status == 0 and not lines
    else:
        good = status != 0 and len(lines) == 1 and re.search(expected, lines[0])
    if not good:
        print(f"{name}: status {status}, expected {expected or 'success'}\n{output}")
    return bool(good)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:  # it has ended
        return []


def has_nic(pid):
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as file:
                if file.read().strip() == "gshmem-nic":
                    return True
    except OSError:  # it has ended
        pass
    return False


def finish(process):
    """What it prints until its end, which comes in time or is brought about."""
    try:
        return process.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0] + "it hangs\n"


def kill_one(command):
    """A PE is killed as soon as its NIC has a thread, and so entries under way."""
    process = start(None, {}, [*command, "--count=1000000"])
    end = time.monotonic() + LIMIT_S
    victim = None
    while victim is None and time.monotonic() < end and process.poll() is None:
        for pid in children(process.pid):
            victim = pid if has_nic(pid) else victim
    if victim is None:
        process.kill()
    else:
        os.kill(victim, signal.SIGKILL)
    output = finish(process)
    good = victim is not None and process.returncode > 0 and re.search(r"PE \d", output)
    if not good:
        print(f"killed: status {process.returncode}\n{output}")
    return bool(good)


def main():
    command = sys.argv[1:]
    n_wrong = 0
    for name, (mode, settings, expected) in CASES.items():
        process = start(mode, settings, [*command, "--count=30"])
        output = finish(process)
        n_wrong += not judge(name, output, process.returncode, expected)
    return n_wrong + (not kill_one(command))


sys.exit(1 if main() else 0)
