#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranges that a program marks by NVTX are in the timeline, and a profiler's library keeps its place.

    nvtx.py GSHMEMRUN PROGRAM..."""

import collections
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perfetto  # noqa: E402

WANTED = {"outer": 3, "inner": 3, "registered": 1, "gshmem_barrier_all": 3}


def expect(found, wanted, what):
    if found != wanted:
        sys.exit(f"nvtx.py: {what}: {found}, not {wanted}")


def main():
    launcher, *programs = sys.argv[1:]
    environment = {k: v for k, v in os.environ.items() if k != "NVTX_INJECTION64_PATH"}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "job.pftrace"
        for program in programs:
            subprocess.run([launcher, "-n", "2", "--trace", path, program], check=True, timeout=300, env=environment)
            trace = perfetto.Trace(path)
            for process in trace.processes:
                tracks = collections.defaultdict(collections.Counter)
                for s in trace.slices:
                    if s.process == process:
                        tracks[s.track][s.name] += 1
                        expect(s.category in ("span", "collective"), True, f"the category of {s.name}")
                expect(tracks.pop("ranges"), {"started": 1}, "ranges that another thread ends")
                expect(list(tracks.values()), [WANTED], "ranges of the thread")
        kept = subprocess.run([launcher, "-n", "1", "--trace", path, "sh", "-c", "echo $NVTX_INJECTION64_PATH"],
                              check=True, timeout=300, capture_output=True, text=True,
                              env={**environment, "NVTX_INJECTION64_PATH": "profiler.so"}).stdout
        expect(kept.strip(), "profiler.so", "the library that NVTX opens")


main()
