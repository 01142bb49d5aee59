#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves, for each collective and each wait of device code, near and on two pretend nodes, that the ranks that a dead
one leaves, which may have forked, go on: streams drain, calls return ncclRemoteError, and other
communicators work, among them what a shrink makes of those left, also if more die; that ranks may end without
destroying anything, and that no other's result is lost if one does so as soon as its own part is done; that one that
stays away ends the others with a line that names it and what was waited for; and that ranks that give up (abort,
revoke) go on: streams drain, and the processes end normally.
So do those of which one, or all but one, have made a call more than the others, when all end the communicator.
The others do not take a call that such a rank has given up for one that it has made: they wait until their limit.
If one may open too few files, start-up fails on all, with a line, and none waits.
A receive whose length differs from its send's ends the job with a line. A rank that makes a different collective gets
an error, or its neighbour does, and all hear of it; in checking builds it ends the job, as does a kernel that names
what is not there.

usage: trouble.py PROGRAM [--far] [--checks] [NAME...]
    --far: also on two nodes; --checks: PROGRAM is from a checking build; NAME: only cases that contain one"""

import concurrent.futures
import os
import re
import signal
import subprocess
import sys

POOL = 4
COLLECTIVES = ["allreduce", "reducescatter", "allgather", "reduce", "broadcast", "alltoall", "gather", "scatter",
               "sendrecv", "putsignal"]
DEVICE = ["lsa", "gin", "hybrid", "signal", "counter", "flush", "ll"]
# Ranks, and how many of them are a node: the last one of these may be alone on its node, or not.
FAR_NODES = [(2, 1), (3, 1), (3, 2), (8, 4), (8, 3)]
SMALL, LARGE = 16, {3: 1 << 18, 4: 1 << 16} # by the number of ranks
# How long a wait that is to be left for a death or by another's giving up may last: then the job has ended by an error.
WAIT_S = 60
# A far rank that does not answer for so long is taken for dead. Nothing waits for that here: connections of a process
# that ends close. But a busy machine may not let a rank run for the usual 8 s.
ANSWER_S = 60
# A job has so long, then for the reports of what its ranks wait for.
HANGS_S, REPORT_S = 200, 30
HANG_SIGNAL = signal.SIGUSR2 # GSHMEM_HANG_SIGNAL's default
# The line of a wait for rank N - 1, which stays away.
ABSENT = {
    "lsa": r"ncclLsaBarrierSession.* for PE {last}\b.*\(LSA barrier 1, rank {last}\)",
    "gin": r"ncclGinBarrierSession.* for PE {last}\b.*\(GIN barrier 1, rank {last}\)",
    "hybrid": r"nccl(Lsa|Gin)BarrierSession.* for PE {last}\b.*\((LSA|GIN) barrier 1, rank {last}\)",
    "signal": r"ncclGin::waitSignal.*\(signal 2 of context 0\)",
    "counter": r"ncclGin::waitCounter.*\(counter 1 of context 0\)",
    "ll": r"ncclLLA2ASession",
    "sendrecv": r"ncclSend or ncclRecv.*\(rank {last}\)",
    "putsignal": r"ncclWaitSignal\b.*\b{last}\b",
    "allreduce": r"PE {last}\b",
}


# How the ranks end if one dies, or ends early.
AFTER_DEATH = {
    "dead": lambda n: ["status 0"] * (n - 1) + ["signal 9"],
    "forked": lambda n: ["status 0"] * (n - 1) + ["signal 9"],
    "killed": lambda n: ["status 0"] * (n - 1) + ["signal 9"],
    "many": lambda n: ["status 0"] * (n - 1) + ["signal 9"],
    "shrunk": lambda n: ["status 0"] * max(n - 2, 1) + ["signal 9"] * min(n - 1, 2),
    "left": lambda n: ["status 0"] * n,
    "exits": lambda n: ["status 0"] * (n - 1) + ["status 7"],
    "done": lambda n: ["status 0"] * n,
    "ending": lambda n: ["status 0"] * (n - 1) + [f"signal {int(signal.SIGSYS)}"],
}
# If rank 0's second call differs: its value and the others'.
DIFFERS = {
    "count": ("count", "15", "16"),
    "type": ("the type", "ncclFloat32", "ncclInt32"),
    "op": ("the operator", "ncclMax", "ncclSum"),
    "root": ("root", "1", "0"),
    "kind": ("the call", "ncclAllGather", "ncclAllReduce"),
}
AHEAD = (r"gshmem: ncclComm(?:Finalize|Destroy): rank (\d) has made collectives that another rank has not, which has "
         r"ended the communicator: these collectives end without a result")
# The messages of checking builds.
ENDS = {"type": "ncclDataType_t", "op": "ncclRedOp_t", "window": "window of (send|recv)buff"}


# In kernels with checks: the argument, its value, and the highest that there is.
BOUNDS = {
    "lsapeer": ("ncclGetLsaPointer, lsaPeer", 3, 2),
    "lsaoffset": ("ncclGetLsaPointer, offset", 4 * 3 * SMALL + 4097, 4 * 3 * SMALL + 4096),
    "lsaindex": ("ncclLsaBarrierSession, index", 2, 1),
    "ginindex": ("ncclGinBarrierSession, index", 2, 1),
    "ginsignal": ("ncclGin, signal", r"(\d+)", r"(\d+)"),
    "gincounter": ("ncclGin, counter", 2, 1),
    "ginpeer": ("ncclGin, peer", 3, 2),
    "ginrange": ("ncclGin::put, dstOffset \\+ bytes", 4 * 3 * SMALL + 4100, 4 * 3 * SMALL + 4096),
}


def cases(has_far, has_checks):
    """The number of ranks, wait, trouble, count and ranks of each pretend node, 0 for one node, of each case."""
    for n, wait, how, count in plain_cases(has_far, has_checks):
        yield n, wait, how, count, 2 if n == 4 else 0
    for n, node_pes in FAR_NODES if has_far else []:
        for how in ["shrunk", "left", "killed", "exits", "done"]:
            yield n, "allreduce", how, SMALL, node_pes
    if has_far:
        yield 4, "allreduce", "many", SMALL, 2
        yield 3, "gin", "shrunk", LARGE[3], 1
        yield 3, "sendrecv", "shrunk", LARGE[3], 2


def plain_cases(has_far, has_checks):
    """The same without nodes: 4 ranks are two nodes, others one."""
    if has_checks:
        for what in ENDS:
            yield 3, what, "ends", SMALL
        for what in BOUNDS:
            yield 3, what, "bounds", SMALL
    else:
        for what in DIFFERS:
            yield 3, what, "differs", SMALL
    for n in [2, 3]:
        yield n, "allreduce", "parted", SMALL
    for n in [2, 3, 8]:
        for how in ["shrunk", "left", "killed", "exits", "ending"]:
            yield n, "allreduce", how, SMALL
    for wait in ["reduce", "reducetolast", "broadcast"]: # of two ranks one reads what the other has
        yield 2, wait, "dead", LARGE[3]
    for how in ["dead", "abort", "ahead"]: # in the middle of a broadcast that two ranks stream in pieces
        yield 2, "pieces", how, LARGE[3]
    yield 2, "reducetolast", "ahead", SMALL
    yield 3, "allreduce", "most", SMALL
    yield 8, "start", "few", SMALL
    yield 3, "allreduce", "forked", SMALL
    yield 3, "allreduce", "many", SMALL
    for wait in ["gin", "sendrecv", "reducescatter"]:
        yield 3, wait, "shrunk", LARGE[3]
    both = [3, 4] if has_far else [3]
    for n in both:
        for wait in COLLECTIVES:
            for count in [SMALL, LARGE[n]]:
                yield n, wait, "dead", count
        for wait in DEVICE:
            yield n, wait, "dead", SMALL
        for wait in ABSENT:
            yield n, wait, "absent", SMALL
        for how in ["abort", "revoke"]:
            for wait in [*DEVICE, "allreduce", "reducescatter", "alltoall", "sendrecv", "putsignal"]:
                if wait != "flush": # it does not wait for another rank's call
                    yield n, wait, how, SMALL
        for wait in ["allreduce", "reducescatter", "alltoall", "sendrecv", "putsignal"]:
            for count in [SMALL, LARGE[n]]:
                yield n, wait, "quit", count
        for wait in ["gin", "allreduce"]:
            yield n, wait, "shrink", LARGE[n]
            yield n, wait, "lone", SMALL
        yield n, "allreduce", "making", SMALL
    for n in both:
        for count in [SMALL, LARGE[n]]:
            yield n, "sendrecv", "lengths", count


def run_within(case, limit_s):
    n, wait, how, count, node_pes = case
    environment = {**os.environ, "GSHMEM_WAIT_TIMEOUT": str(limit_s), "GSHMEM_PROXY_TIMEOUT": str(ANSWER_S)}
    if wait == "pieces":
        environment["GSHMEM_COLLECTIVES"] = "pieces_above=0,read_above=1G"
    if node_pes:
        environment["GSHMEM_NODE_PES"] = str(node_pes)
    job = subprocess.Popen([sys.argv[1], str(n), wait, how, str(count)], env=environment, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        return job.communicate(timeout=HANGS_S)[0]
    except subprocess.TimeoutExpired:
        return "hangs: " + end_hung(job)


# Returns how each rank is.
def signal_ranks(job, number):
    rows = []
    try:
        with open(f"/proc/{job.pid}/task/{job.pid}/children") as children:
            pids = children.read().split()
        for pid in pids:
            with open(f"/proc/{pid}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            run_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            rows.append(f"process {pid}: state {fields[0]}, nice {fields[16]}, has run for {run_s:.2f} s")
            os.kill(int(pid), number)
    except OSError:
        rows.append("one has just ended")
    return rows


# What the ranks have written, how much each has run, and what it waits for.
def end_hung(job):
    rows = signal_ranks(job, HANG_SIGNAL)
    try:
        output = job.communicate(timeout=REPORT_S)[0]
    except subprocess.TimeoutExpired:
        signal_ranks(job, signal.SIGKILL)
        job.kill()
        output = job.communicate()[0]
    return "\n".join([f"load {os.getloadavg()[0]:.0f}", *rows, output])


def has_begun(case, output):
    n, _, how, *_ = case
    return output.count("started\n") == n and (how != "quit" or "given up\n" in output)


# The limit that ends an absent rank's peers also applies to start-up and to the wait that a rank gives up: a machine
# too busy for them needs a longer one.
def run(case):
    if case[2] not in ["absent", "quit"]:
        return run_within(case, WAIT_S)
    limit_s = 1
    output = run_within(case, limit_s)
    while limit_s < 16 and not has_begun(case, output):
        limit_s *= 2
        output = run_within(case, limit_s)
    return output


def faults(case, output):
    n, wait, how, count, _ = case
    last = n - 1
    ends = [end for _, end in sorted(re.findall(r"^rank (\d+): (.*)$", output, re.M))]
    has_ended = re.search(r"^after .* s$", output, re.M)
    lines = re.findall(r"^gshmem: .*$", output, re.M)
    remote = [line for line in lines if "another rank of the communicator has died or exited" in line]
    if output.startswith("hangs: ") or len(ends) != n or not has_ended:
        yield "did not end"
    elif how in AFTER_DEATH:
        if ends != AFTER_DEATH[how](n):
            yield f"not {AFTER_DEATH[how](n)}"
        if len(remote) != len(lines):
            yield "there is a line that is not about the death of a rank"
        if how in ["left", "killed", "ending", "many", "done"] and lines:
            yield "there is a line"
        if how == "exits" and len(lines) != last:
            yield "not one line for each other rank"
    elif how == "absent":
        if ends != ["status 1"] * n:
            yield "not all failed"
        # on several nodes a rank may wait for one that waits for the last
        line = ABSENT[wait].format(last=last if n == 3 else r"\d")
        if not re.search(line, output):
            yield f"no line like {line!r}"
    elif how == "quit":
        quitter = 0 if wait in ["sendrecv", "putsignal"] else n - 2
        if ends != ["status 1"] * quitter + ["status 0"] + ["status 1"] * (last - quitter):
            yield f"not all but rank {quitter} failed"
        if not re.search(r"error: .*: waited [\d.]+ s for", output):
            yield "no line about a wait"
        if "has made a call" in output or "trouble.cu:" in output:
            yield "a call ended that the rank has given up"
    elif how == "lengths":
        if ends != ["status 1"] * n:
            yield "not all failed"
        its = 4 * (SMALL if count > 1000 else count - 1)
        sender, receiver = n - 3, n - 2
        line = (rf"PE {receiver}: error: ncclRecv .*: the members' sizes differ: {4 * count} bytes on PE {receiver}, "
                rf"{its} on PE {sender}")
        if not re.search(line, output):
            yield f"no line like {line!r}"
    elif how == "differs":
        what, its, others = DIFFERS[wait]
        values = [rf"{its} on rank 0, {others} on rank 1", rf"{others} on rank 1, {its} on rank 0"]
        line = rf"gshmem: nccl\w+: collective 2 of the communicator: {what} is (?:{'|'.join(values)})\n"
        if ends != ["status 0"] * n:
            yield "not all ended normally"
        if len(re.findall(line, output)) != 1 or output.count("gshmem:") != 1:
            yield f"not one line like {line!r}"
        if not re.search(r"rank [01] is the second", output):
            yield "no call returned the error"
    elif how in ["ahead", "most"]:
        if ends != ["status 0"] * n:
            yield "not all ended normally"
        ahead = sorted(rank for line in lines for rank in re.findall(AHEAD, line))
        if ahead != ([str(rank) for rank in range(last)] if how == "most" else ["0"]) or len(lines) != len(ahead):
            yield f"not just a line like {AHEAD!r} of each rank that is ahead"
    elif how == "few":
        if ends != ["status 0"] * n:
            yield "not all failed alike, and then started"
        if not lines or not all(re.search("on PE 0: .*(open files|descriptor)", line) for line in lines):
            yield "not each line is about rank 0's limit"
    elif how == "ends":
        line = rf"PE 0: error: ncclAllReduce, {ENDS[wait]} .*: the members' values differ: \d+ on PE 0, \d+ on PE 1"
        if ends != ["status 1"] * n:
            yield "not all failed"
        if not re.search(line, output):
            yield f"no line like {line!r}"
    elif how == "bounds":
        what, value, most = BOUNDS[wait]
        line = rf"PE 0: error: {what} \(in a kernel.*: {value} is out of range: it is at least 0 and at most {most}\n"
        if ends != ["status 1"] * n:
            yield "not all failed"
        if len(re.findall(line, output)) != 1:
            yield f"not one line like {line!r}"
    else:
        if ends != ["status 0"] * n:
            yield "not all ended normally"
        if "PE " in output:
            yield "there is a line that names a PE"


def main():
    wrong = 0
    names = [a for a in sys.argv[2:] if not a.startswith("--")]
    all_cases = cases("--far" in sys.argv, "--checks" in sys.argv)
    chosen = [c for c in all_cases if not names or any(a in " ".join(map(str, c)) for a in names)]
    with concurrent.futures.ThreadPoolExecutor(POOL) as pool:
        for case, output in zip(chosen, pool.map(run, chosen)):
            for fault in faults(case, output):
                print(f"{' '.join(map(str, case))}: {fault}:\n{output}")
                wrong += 1
    print(f"{len(chosen)} cases, {wrong} faults")
    return wrong != 0 or not chosen


sys.exit(main())
