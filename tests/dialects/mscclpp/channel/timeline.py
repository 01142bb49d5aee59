#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The timeline of a job has the calls of channels under MSCCL++'s names, in kernels and of the proxy that carries them
out, and each wait's arrow comes from the peer's signal: what timeline.cu does.

    timeline.py GSHMEMRUN PROGRAM"""

import collections
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "timeline"))
import perfetto  # noqa: E402

ROUNDS, BYTES = 5, 256  # as in timeline.cu
MEMORY, PORT, CONNECTION = "MemoryChannel::", "PortChannel::", "Connection::"
KERNEL = {MEMORY + "put": ROUNDS, MEMORY + "signal": ROUNDS, MEMORY + "wait": ROUNDS, PORT + "putWithSignal": ROUNDS,
          PORT + "wait": ROUNDS, PORT + "flush": ROUNDS}
PROXY = {CONNECTION + "write": ROUNDS, CONNECTION + "updateAndSync": ROUNDS, CONNECTION + "flush": ROUNDS}


def expect(found, wanted, what):
    if found != wanted:
        sys.exit(f"timeline.py: {what}: {found}, not {wanted}")


def check_calls(trace):
    for process in trace.processes:
        me, tracks = trace.pe(process), collections.defaultdict(collections.Counter)
        for s in trace.slices:
            if s.process != process or not s.name.startswith(("MemoryChannel::", "PortChannel::", "Connection::")):
                continue
            tracks["kernel" if s.track.startswith("block") else "host"][s.name] += 1
            if s.name in (MEMORY + "put", CONNECTION + "write"):
                expect((s.args["pe"], s.args["bytes"], s.args["at"]), (1 - me, BYTES, f"allocation 1 + {BYTES:#x}"),
                       s.name)
            elif s.name in (MEMORY + "signal", CONNECTION + "updateAndSync"):
                expect((s.args["pe"], s.args["word"]), (1 - me, "outside of the heap"), s.name)
        expect(tracks["kernel"], KERNEL, f"calls of PE {me}'s kernel")
        # how often the proxy flushes besides is its own affair
        expect({name: min(n, ROUNDS) for name, n in tracks["host"].items()}, PROXY, f"calls of PE {me}'s proxy")


def check_arrows(trace):
    expect(len(trace.arrows), 2 * 2 * ROUNDS, "arrows")
    for arrow in trace.arrows:
        start = trace.starts[arrow.flow]
        expect(trace.pe(start.process), 1 - trace.pe(arrow.process), "an arrow's beginning")
        expect(start.name, {MEMORY + "wait": MEMORY + "signal", PORT + "wait": CONNECTION + "updateAndSync"}[
            arrow.inside], "an arrow's call")


def main():
    launcher, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "job.pftrace"
        subprocess.run([launcher, "-n", "2", "--trace", path, program], check=True, timeout=300)
        trace = perfetto.Trace(path)
    check_calls(trace)
    check_arrows(trace)


main()
