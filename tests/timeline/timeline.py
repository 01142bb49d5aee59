#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job's timeline holds each call, wait and span that timeline.cu makes, on the host and in kernels, and each wait's
arrow comes from the PE whose signal ended it.

    timeline.py GSHMEMRUN GSHMEM-TRACE PROGRAM [--threads] [--far] [--gpus N]

With --gpus, there are N PEs on as many GPUs, whose clocks are known with an error that the file states: no arrow goes
back by more than that, and no kernel's slice is by more outside the time in which the host had the kernel run."""

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perfetto  # noqa: E402

PES = 3  # without --gpus
ROUNDS, BLOCKS, BYTES, INTS = 7, 3, 1000, 8  # as in timeline.cu
HOST = {"gshmem_putmem_signal": ROUNDS, "gshmem_signal_wait_until": ROUNDS, "gshmem_uint64_p": ROUNDS,
        "gshmem_uint64_wait_until": ROUNDS, "gshmem_getmem": ROUNDS, "gshmem_quiet": ROUNDS,
        "gshmem_uint64_atomic_add": ROUNDS, "gshmem_barrier_all": 3, "gshmem_malloc": 2, "gshmem_calloc": 2,
        "gshmem_free": 2, "rounds of the host": 1}
STREAM = {"gshmemx_putmem_signal_on_stream": 1, "gshmemx_signal_wait_until_on_stream": 1,
          "gshmemx_barrier_all_on_stream": 1}
# The host's slices of the same calls say how long it took to enqueue them.
HOST.update(STREAM)
KERNEL = {"gshmemx_putmem_signal_block": ROUNDS, "gshmem_signal_wait_until": ROUNDS, "gshmemx_signal_op": ROUNDS,
          "gshmem_uint64_wait_until": ROUNDS, "round": ROUNDS}


# In the first block, and in its second thread, which makes calls while the first one waits.
TOGETHER = {"gshmemx_int_sum_reduce_block": 1, "gshmemx_barrier_all_block": 1,
            "gshmem_signal_wait_until": ROUNDS + 1}
BESIDE = {"gshmemx_signal_op": ROUNDS + 1}
# What a far PE is asked for, at least: of a put with signal, say, the proxy and the network have a slice.
PROXY = {"put_signal": ROUNDS * (1 + BLOCKS) + 1, "atomic": ROUNDS * (2 + BLOCKS) + 1, "p": ROUNDS, "get": ROUNDS}


def expect(found, wanted, what):
    if found != wanted:
        sys.exit(f"timeline.py: {what}: {found}, not {wanted}")


def run(command, env, path):
    result = subprocess.run(command, env={**os.environ, **env}, timeout=300)
    expect(result.returncode, 0, "exit status")
    expect(sorted(p.name for p in path.parent.iterdir()), [path.name], "files")
    return perfetto.Trace(path)


def check_calls(trace, is_far):
    expect(sorted(trace.pe(p) for p in trace.processes), list(range(PES)), "processes")
    for process in trace.processes:
        tracks = collections.defaultdict(collections.Counter)
        for s in trace.slices:
            if s.process == process:
                tracks[s.track][s.name] += 1
                expect(s.begin <= s.end, True, f"time of {s.name}")
        far = [tracks.pop("proxy", {}), tracks.pop("network", {})]
        expect([bool(f) for f in far], [is_far, is_far], "tracks of the proxy and the network")
        for name, n in PROXY.items():
            expect(not is_far or far[0][name] >= n, True, f"the proxy's {name}: {far[0]}")
        expect(not is_far or far[1]["put_signal"] >= PROXY["put_signal"], True, f"the network's: {far[1]}")
        expect(tracks.pop("stream 0 (default)"), STREAM, "calls on the stream")
        host = [counts for track, counts in tracks.items() if not track.startswith("block")]
        expect(host, [HOST], f"calls of PE {trace.pe(process)}'s host")
        for block in range(BLOCKS):
            wanted = {**KERNEL, **(TOGETHER if block == 0 else {})}
            expect(tracks[f"block {block} thread 0"], wanted, f"calls of PE {trace.pe(process)}'s block {block}")
        expect(tracks.pop("block 0 thread 1"), BESIDE, "calls of a second thread")
        expect(len(tracks), 1 + BLOCKS, f"tracks of PE {trace.pe(process)}")


def check_arguments(trace):
    for s in trace.slices:
        me = trace.pe(s.process)
        if s.track in ("proxy", "network"):
            expect(s.category, "request" if s.track == "proxy" else "transfer", s.name)
            if s.name == "put_signal" and s.args["bytes"] == BYTES:  # others are of the reduction
                expect(s.args["pe"], (me + 1) % PES, s.name)
        elif s.category == "collective":
            expect((s.args["team"], s.args.get("bytes", 0)), (0, INTS * 4 if "reduce" in s.name else 0), s.name)
        elif s.name in STREAM and not s.track.startswith("stream"):
            expect(s.args, {}, s.name)
        elif "putmem_signal" in s.name:
            block = int(s.track.split()[1]) if s.track.startswith("block") else 0
            expect((s.args["pe"], s.args["bytes"]), ((me + 1) % PES, BYTES), s.name)
            expect(s.args["at"], f"allocation 1 + {BYTES * block:#x}", s.name)
            expect(s.args["word"].startswith("allocation 3 + 0x"), True, s.args["word"])
        elif s.category == "wait":
            expect(s.args["ended by"], (me - 1) % PES, s.name)


def check_arrows(trace):
    """Each wait has one, from the call before it in the ring, with the value that it saw."""
    waits = [s for s in trace.slices if s.category == "wait"]
    expect(len(waits), PES * (2 * ROUNDS * (1 + BLOCKS) + 2), "waits")
    expect(len(trace.arrows), len(waits), "arrows")
    for arrow in trace.arrows:
        start = trace.starts[arrow.flow]
        expect(trace.pe(start.process), (trace.pe(arrow.process) - 1) % PES, "an arrow's beginning")
        expect(arrow.name, f"signal of PE {trace.pe(start.process)}", "an arrow's name")
        slack = sum(trace.notes[process, "clock"]["error ns"] for process in (start.process, arrow.process))
        expect(start.begin <= arrow.ns + slack, True, "an arrow's direction")
        by_block = arrow.track.startswith("block")
        if arrow.track.startswith("stream"):
            expect((start.name, start.track), ("gshmemx_putmem_signal_on_stream", arrow.track), "an arrow to a stream")
            continue
        if start.track == "block 0 thread 1":
            expect((start.name, arrow.track), ("gshmemx_signal_op", "block 0 thread 0"), "an arrow within a block")
            continue
        expect(start.name, {("gshmem_signal_wait_until", True): "gshmemx_putmem_signal_block",
                            ("gshmem_uint64_wait_until", True): "gshmemx_signal_op",
                            ("gshmem_signal_wait_until", False): "gshmem_putmem_signal",
                            ("gshmem_uint64_wait_until", False): "gshmem_uint64_p"}[arrow.inside, by_block],
               "an arrow's call")
        if by_block:
            expect(start.track, arrow.track, "an arrow's block")
    ends = {(s.process, s.track, s.end): s for s in waits}
    for arrow in trace.arrows:
        wait, start = ends[arrow.process, arrow.track, arrow.ns], trace.starts[arrow.flow]
        if start.args["value"].startswith("= "):
            expect(wait.args["seen"], int(start.args["value"][2:]), "the signal's value")


def check_tool(tool, path):
    """gshmem-trace adds up the same."""
    svg = path.with_suffix(".svg")
    command = [tool, "--all", "--svg", svg, path]  # on a busy machine the put may be none of the longest calls
    text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    svg.unlink()
    lines = [line.split() for line in text.splitlines()]
    calls = [line[:3] for line in lines if line[:1] == ["gshmemx_putmem_signal_block"]]
    expect(calls, [["gshmemx_putmem_signal_block", "kernels", str(ROUNDS * BLOCKS)]] * PES, "the tool's calls")
    expect(sum("ended by" in line for line in text.splitlines()), 10, "the longest waits")
    sent = (ROUNDS * ((1 + BLOCKS) * BYTES + 16) + BYTES) / 1000
    read = ROUNDS * BYTES / 2000
    others = [sent, *[0] * (PES - 3), read] if PES > 2 else [sent + read]
    row = [word for kilobytes in others for word in ((f"{kilobytes:.1f}", "KB") if kilobytes else ("0", "B"))]
    expect(["PE", "0", "0", "B", *row] in lines, True, "the bytes of PE 0")


def check_clocks(trace, has_gpus):
    """What the file says of the error holds; how large it is depends on the machine and its load."""
    for process in trace.processes:
        clock = trace.notes[process, "clock"]
        error = clock["error ns"]
        if not has_gpus:
            expect(clock, {"error ns": 0, "ahead by ns": 0}, "clock")
        else:
            expect(error > 0, True, f"a GPU's clock: {clock}")
        own = [s for s in trace.slices if s.process == process]
        host = [s for s in own if not s.track.startswith(("block", "stream", "proxy", "network"))]
        barriers = sorted((s for s in host if s.name == "gshmem_barrier_all"), key=lambda s: s.begin)
        # The first kernel ran between the first two, the others until the host's rounds.
        begin, end = barriers[0].end, next(s.begin for s in host if s.name == "rounds of the host")
        for s in own:
            if s.track.startswith("block"):
                last = barriers[1].begin if s.name == "round" else end
                expect(begin - error <= s.begin and s.end <= last + error, True,
                       f"{s.name} of {s.track}, {s.begin} to {s.end}, within {begin} to {last} and {error} ns")


def check_counters(trace):
    for process in trace.processes:
        me = trace.pe(process)
        sent = trace.counters[process, f"bytes to PE {(me + 1) % PES}"]
        expect(sent[-1][1], ROUNDS * ((1 + BLOCKS) * BYTES + 8 + 8) + BYTES, "bytes sent")
        expect(sorted(v for _, v in sent), [v for _, v in sent], "bytes sent")
        heap = [v for _, v in trace.counters[process, "heap in use"]]
        both = (BLOCKS + 1) * BYTES
        expect(heap, [BLOCKS * BYTES, both, both + 128, both + 256, both + 128, both], "heap in use")
        expect((process, "events of kernels lost") in trace.notes, False, "a loss")


def check_outstanding(trace, is_far):
    for process in trace.processes:
        values = [v for _, v in sorted(trace.counters[process, "requests outstanding"], key=lambda c: c[0])]
        expect((values[-1:], min(values, default=0), max(values, default=0) > 0), ([0] if is_far else [], 0, is_far),
               "requests outstanding")


def check_death(launcher, program, path):
    """A PE that was killed leaves what it had done."""
    result = subprocess.run([launcher, "-n", str(PES), "--trace", path, program, "die"], timeout=300,
                            stderr=subprocess.DEVNULL)
    expect(result.returncode, 128 + 9, "exit status")
    trace = perfetto.Trace(path)
    process = next(p for p in trace.processes if trace.pe(p) == 1)
    expect(trace.processes[process].endswith("which ended early"), True, "its name")
    calls = collections.Counter(s.name for s in trace.slices if s.process == process and s.track[:5] != "block")
    expect(calls, {"gshmem_malloc": 2, "gshmem_calloc": 2, "gshmem_barrier_all": 2}, "its calls")


def check_mistakes(launcher, tool, program, path):
    """Each is said at once, and costs no file."""
    def refused(command, status, text, **env):
        result = subprocess.run(command, env={**os.environ, **env}, timeout=300, capture_output=True, text=True)
        expect((result.returncode, text in result.stderr), (status, True), f"{command}: {result.stderr}")

    folder, before = path.parent, path.read_bytes()
    nothing, picture = folder / "nothing", folder / "job.svg"
    refused([tool, "--merge", nothing], 1, f"there are no parts {nothing}.part.*")
    refused([tool, "--merge", path], 0, "the file stays as it is")
    refused([tool, "--svg", path, path], 1, "is no picture")
    subprocess.run([tool, path, "--svg", picture], check=True, stdout=subprocess.DEVNULL, timeout=300)
    refused([tool, "--svg", path, picture], 1, "is no picture")
    subprocess.run([tool, "--svg", picture, path], check=True, stdout=subprocess.DEVNULL, timeout=300)
    picture.unlink()
    refused([launcher, "-n", "1", "--trace", folder, program], 2, "Is a directory")
    refused([program], 1, "Is a directory", GSHMEM_TRACE=str(folder))
    expect(sorted(folder.iterdir()), [path], "files after mistakes")
    expect(path.read_bytes() == before, True, "the timeline as it was")


def main():
    global PES
    parser = argparse.ArgumentParser()
    for name in "launcher", "tool", "program":
        parser.add_argument(name)
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--far", action="store_true")
    parser.add_argument("--gpus", type=int, default=0)
    args = parser.parse_args()
    PES = args.gpus or PES
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "job.pftrace"
        command = [args.launcher, "-n", str(PES), "--trace", path]
        command += ["--threads"] if args.threads else []
        env = {"GSHMEM_NODE_PES": "1"} if args.far else {}
        trace = run([*command, args.program], env, path)
        check_calls(trace, args.far)
        check_outstanding(trace, args.far)
        check_arguments(trace)
        check_arrows(trace)
        check_counters(trace)
        check_tool(args.tool, path)
        check_clocks(trace, args.gpus > 0)
        # Without the launcher's option, and without a timeline.
        subprocess.run([args.launcher, "-n", str(PES), args.program], check=True, timeout=300)
        expect([p.name for p in path.parent.iterdir()], [path.name], "files of a job without a timeline")
        if not args.threads and not args.far and not args.gpus:
            check_mistakes(args.launcher, args.tool, args.program, path)
            check_death(args.launcher, args.program, path)


main()
