#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job's timeline has the requests that kernels post to NICs by themselves, and counts them: those of nic.cu.

    nic.py GSHMEMRUN PROGRAM [--threads]"""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perfetto  # noqa: E402

PUTS, BYTES = 100, 8  # as in nic.cu


def expect(found, wanted, what):
    if found != wanted:
        sys.exit(f"nic.py: {what}: {found}, not {wanted}")


def check_slices(trace, process):
    """Each put is one slice of the NIC, from within the kernel's call to the end of its quiet at the latest."""
    def named(track, name):
        return [s for s in trace.slices if s.process == process and s.track == track and s.name == name]

    kernel = "block 0 thread 0"
    writes, puts, quiets = named("NIC", "WRITE"), named(kernel, "gshmem_putmem"), named(kernel, "gshmem_quiet")
    on_nic = [s for s in trace.slices if s.process == process and s.track == "NIC"]
    n = PUTS if trace.pe(process) == 0 else 0
    expect([len(s) for s in (on_nic, writes, puts, quiets)], [n] * 4, "slices of the NIC, puts and quiets")
    for write, put, quiet in zip(writes, puts, quiets):
        expect((write.args["pe"], write.args["bytes"]), (1, BYTES), "whom an entry concerns")
        expect(write.args["at"], put.args["at"], "where an entry writes")
        times = [put.begin, write.begin, put.end, quiet.begin, quiet.end]
        expect(sorted(times), times, "times of a put, its entry and its quiet")
        expect(write.begin <= write.end <= quiet.end, True, "an entry is done before its quiet")


def main():
    launcher, program, *threads = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "job.pftrace"
        env = {"GSHMEM_NODE_PES": "1", "GSHMEM_REMOTE": "nic", "GSHMEM_NIC": "model"}
        subprocess.run([launcher, "-n", "2", *threads, "--trace", path, program], check=True, timeout=300,
                       env={**os.environ, **env})
        trace = perfetto.Trace(path)
    expect(sorted(trace.pe(p) for p in trace.processes), [0, 1], "processes")
    for process in trace.processes:
        check_slices(trace, process)
        posted, outstanding = ([v for _, v in trace.counters[process, f"NIC requests {what}"]]
                               for what in ("posted", "outstanding"))
        expect(posted[-1:], [PUTS if trace.pe(process) == 0 else 0], f"posted by PE {trace.pe(process)}")
        expect(sorted(posted), posted, "posted")
        expect(len(outstanding), len(posted), "values")
        expect([o for o, p in zip(outstanding, posted) if not 0 <= o <= p], [], "outstanding")
        expect(outstanding[-1:], [0], "outstanding in the end")


main()
