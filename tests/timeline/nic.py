#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job's timeline counts the requests that kernels post to NICs by themselves: those of nic.cu.

    nic.py GSHMEMRUN PROGRAM [--threads]"""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perfetto  # noqa: E402

PUTS = 100  # as in nic.cu


def expect(found, wanted, what):
    if found != wanted:
        sys.exit(f"nic.py: {what}: {found}, not {wanted}")


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
        posted, outstanding = ([v for _, v in trace.counters[process, f"NIC requests {what}"]]
                               for what in ("posted", "outstanding"))
        expect(posted[-1:], [PUTS if trace.pe(process) == 0 else 0], f"posted by PE {trace.pe(process)}")
        expect(sorted(posted), posted, "posted")
        expect(len(outstanding), len(posted), "values")
        expect([o for o, p in zip(outstanding, posted) if not 0 <= o <= p], [], "outstanding")
        expect(outstanding[-1:], [0], "outstanding in the end")


main()
