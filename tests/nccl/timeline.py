#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NCCL's calls have their own names in the timeline: messages with their rank and bytes, what the stream carries out,
an arrow from each put with signal to the wait that it ended, and no call of gshmem's by which one was done.

    timeline.py GSHMEMRUN PROGRAM"""
import collections, pathlib, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "timeline"))
import perfetto

RANKS, COUNT, ROUNDS = 3, 1000, 3  # as in timeline.cu
STREAM = {"ncclSend and ncclRecv": ROUNDS, "ncclPutSignal": ROUNDS, "ncclWaitSignal": ROUNDS, "ncclBroadcast": 1,
          "ncclAllReduce": 1}


def expect(found, wanted, what):
    if found != wanted:
        sys.exit(f"timeline.py: {what}: {found}, not {wanted}")


def check_rank(trace, process):
    me = trace.pe(process)
    slices = [s for s in trace.slices if s.process == process]
    calls = collections.Counter(s.name for s in slices if s.track.startswith("stream"))
    expect(calls, STREAM, f"calls on the stream of rank {me}")
    host = collections.Counter(s.name for s in slices if not s.track.startswith("stream"))
    for name, n in (STREAM | {"ncclSend": ROUNDS, "ncclRecv": ROUNDS}).items():
        expect(host[name], n, f"the host's {name} of rank {me}")
    for s in slices:
        expect("on_stream" in s.name, False, s.name)
        if s.name in ("ncclSend", "ncclRecv"):
            peer = me + (1 if s.name == "ncclSend" else -1)
            expect(s.args, {"pe": peer % RANKS, "bytes": 4 * COUNT}, s.name)
            expect(s.category, "call" if s.name == "ncclSend" else "receive", s.name)
        elif s.name == "ncclPutSignal" and s.track.startswith("stream"):
            expect((s.args["pe"], s.args["bytes"]), ((me + 1) % RANKS, 4 * COUNT), s.name)
        elif s.name == "ncclWaitSignal" and s.track.startswith("stream"):
            expect((s.category, s.args["ended by"]), ("wait", (me - 1) % RANKS), s.name)
    # A receive's bytes are the sender's.
    expect(trace.counters[process, f"bytes to PE {(me + 1) % RANKS}"][-1][1], 2 * ROUNDS * 4 * COUNT, "bytes sent")


def main():
    launcher, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "job.pftrace"
        subprocess.run([launcher, "-n", str(RANKS), "--trace", path, program], check=True, timeout=300)
        trace = perfetto.Trace(path)
    expect(sorted(trace.pe(p) for p in trace.processes), list(range(RANKS)), "ranks")
    for process in trace.processes:
        check_rank(trace, process)
    expect(len(trace.arrows), RANKS * ROUNDS, "arrows")
    for arrow in trace.arrows:
        expect((trace.starts[arrow.flow].name, arrow.inside), ("ncclPutSignal", "ncclWaitSignal"), "an arrow")


main()
