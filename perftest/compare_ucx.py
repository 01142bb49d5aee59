#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares puts to far PEs with ucx_perftest, on the same machine, link and transport, in one run.

    perftest/compare_ucx.py --build=build [--networks=near,shm,tcp] [--passes=5] [--json=FILE]

Networks: "tcp", between two network namespaces; "shm", two processes over UCX's shared memory, with
memory that UCX has not allocated, as gshmem's heap is; "near", two processes with memory that UCX has
allocated, compared with what gshmem uses if it can: loads and stores. Every pass runs both sides of a
row in direct succession, alternating which begins, since a machine's state changes (on a virtual one
also the distance of its cores): a row's figures are medians of the passes, and its ratio the median
of the passes' ratios. Exit status 1: a target is missed."""

import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/net"))
import lab  # noqa: E402

PORT = 13571
SIZES = {"1 MiB": 1 << 20, "4 MiB": 4 << 20, "16 MiB": 16 << 20}
UCX_TLS = {"near": "shm,self", "shm": "shm,self", "tcp": "tcp,self"}
# name of a row: (figure, figure to compare with, factor, unit); a time may be at most the factor
# times the other, a rate at least
TARGETS = [("put latency, 8 B, one way", "lat", "ucx lat", 1.3, "us"),
           ("put rate, 8 B", "rate", "ucx rate", 0.7, "M/s")]
TARGETS += [(f"put bandwidth, {s}", f"bw {s}", f"ucx bw {s}", 0.85, "GB/s") for s in SIZES]
TARGETS += [("put latency, 8 B, one way, kernel beside host", "lat kernel", "lat", 1.5, "us"),
            ("put and quiet, 8 B, kernel beside host", "quiet kernel", "quiet", 1.5, "us")]


class Failed(Exception):
    pass


def run(words, env):
    done = subprocess.run(words, env={**os.environ, **env}, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def is_listening(pid):
    """Whether a socket listens on PORT in the process's network."""
    try:
        tables = [pathlib.Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    except OSError:
        return False
    return any(line.split()[1].endswith(f":{PORT:04X}") and line.split()[3] == "0A"
               for table in tables for line in table.splitlines()[1:])


class Network:
    """Where both sides run: `net` is a lab with two hosts, or None for processes on one host."""

    def __init__(self, name, build, net):
        self.name, self.build, self.net = name, build, net
        self.env = {"UCX_TLS": UCX_TLS[name], "GSHMEM_DEVICE": "cpu"}
        if net:
            self.env["UCX_NET_DEVICES"] = "wire"
        elif name == "shm":
            self.env["GSHMEM_NODE_PES"] = "1"

    def _on(self, host, words):
        return self.net.command(host, *words) if self.net else words

    def ucx(self, test, size, count):
        """ucx_perftest's last line: median, average and overall times in us; MB/s and calls per second."""
        env = {**self.env, **({"UCX_ALLOC_PRIO": "mmap"} if self.name == "shm" else {})}
        words = ["ucx_perftest", "-p", str(PORT)]
        server = subprocess.Popen(self._on(0, words), env={**os.environ, **env},
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 20
            while not is_listening(server.pid):
                if server.poll() is not None or time.monotonic() > deadline:
                    raise Failed("ucx_perftest's server does not come up")
                time.sleep(0.01)
            text = run(self._on(1, words[:1] + ["10.0.0.1" if self.net else "127.0.0.1", *words[1:],
                                                "-t", test, "-s", str(size), "-n", str(count), "-w",
                                                str(max(count // 10, 2)), "-f"]), env)
            server.wait(timeout=60)
        finally:
            server.kill()
            server.wait()
        return [float(x) for x in text.splitlines()[-1].split()[1:]]

    def gshmem(self, program, *options):
        """The rows of a benchmark's report."""
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            start = ["--hosts", "h0:1,h1:1", "--agent", lab.AGENT] if self.net else ["-n", "2"]
            run(self._on(0, [self.build / "gshmemrun", *start, self.build / "perftest" / program,
                             f"--json={report.name}", *options]), self.env)
            return json.load(open(report.name))["rows"]


def ucx_latency(network, slow):
    return {"ucx lat": network.ucx("ucp_put_lat", 8, 20000 // slow)[0]}


def latency(network):
    rows = network.gshmem("far_cpu", "--sizes=8", "--operations=put_lat")
    return {"lat" if r["group"] == "host" else "lat kernel": r["median"] for r in rows}


def ucx_rate(network, slow):
    return {"ucx rate": network.ucx("ucp_put_bw", 8, 500000 // slow)[6] / 1e6}


def rate(network):
    return {"rate": 1 / network.gshmem("far_cpu", "--sizes=8", "--operations=put_bw")[0]["median"]}


def ucx_bandwidth(network, slow, name):
    count = max((1 << 31) // slow // SIZES[name], 8)
    return {f"ucx bw {name}": network.ucx("ucp_put_bw", SIZES[name], count)[4] / 1e3}


def bandwidth(network, name):
    row = network.gshmem("far_cpu", f"--sizes={SIZES[name]}", "--operations=put_bw")[0]
    return {f"bw {name}": SIZES[name] / row["median"] / 1e3}


def quiet(network):
    rows = network.gshmem("host_cpu", "--sizes=8", "--operations=put")
    return {"quiet": next(r["median"] for r in rows if r["mode"] == "single")}


def quiet_kernel(network):
    rows = network.gshmem("latency_cpu", "--sizes=8", "--operations=put", "--groups=thread")
    return {"quiet kernel": rows[0]["median"]}


def steps(network):
    """The comparisons, each as two functions that are called in direct succession."""
    slow = 10 if network.name == "tcp" else 1
    yield lambda: ucx_latency(network, slow), lambda: latency(network)
    yield lambda: ucx_rate(network, slow), lambda: rate(network)
    for name in SIZES:
        yield lambda name=name: ucx_bandwidth(network, slow, name), lambda name=name: bandwidth(network, name)
    yield lambda: quiet(network), lambda: quiet_kernel(network)


def measure(network, n_passes):
    """name -> the figures of all passes."""
    figures = {}
    for i in range(n_passes):
        for step in steps(network):
            for side in step[::1 if i % 2 == 0 else -1]:
                for key, value in side().items():
                    figures.setdefault(key, []).append(value)
        print(f"{network.name}: pass {i + 1} of {n_passes}", file=sys.stderr, flush=True)
    return figures


def judge(network, figures):
    rows = []
    for name, mine, other, factor, unit in TARGETS:
        a, b = statistics.median(figures[mine]), statistics.median(figures[other])
        ratios = [x / y for x, y in zip(figures[mine], figures[other])]
        ratio = statistics.median(ratios)
        is_time = unit == "us"
        rows.append({"network": network.name, "row": name, "unit": unit, "value": a, "beside": b,
                     "ratio": ratio, "least": min(ratios), "most": max(ratios),
                     "target": f"{'<=' if is_time else '>='} {factor}",
                     "met": ratio <= factor if is_time else ratio >= factor})
    return rows


def print_rows(rows):
    print("| network | | gshmem | beside | | ratio | of all passes | target | |\n"
          "|---|---|---|---|---|---|---|---|---|")
    for r in rows:
        print(f"| {r['network']} | {r['row']} | {r['value']:.3g} | {r['beside']:.3g} | {r['unit']} | "
              f"{r['ratio']:.2f} | {r['least']:.2f} to {r['most']:.2f} | {r['target']} | "
              f"{'met' if r['met'] else 'NOT MET'} |")


def header(options):
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    version = re.search(r"ersion:? (\S+)", run(["ucx_info", "-v"], {}))
    commit = options.build / "perftest/commit"
    return {"commit": commit.read_text().strip() if commit.exists() else "?",
            "CPU": f"{cpu.group(1) if cpu else platform.machine()}, {os.cpu_count()} cores",
            "kernel": platform.release(), "UCX": version.group(1) if version else "?",
            "load": " ".join(map(str, os.getloadavg())), "command": " ".join(sys.argv)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--networks", default="near,shm,tcp")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.build = options.build.resolve()
    chosen = options.networks.split(",")
    if "tcp" in chosen:
        lab.enter()
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    facts, rows, figures = header(options), [], {}
    for key, value in facts.items():
        print(f"{key}: {value}")
    print(flush=True)
    for name in chosen:
        net = lab.Lab(2) if name == "tcp" else None
        try:
            network = Network(name, options.build, net)
            figures[name] = measure(network, options.passes)
            rows += judge(network, figures[name])
        finally:
            if net:
                net.close()
    print_rows(rows)
    if options.json:
        options.json.write_text(json.dumps({**facts, "rows": rows, "figures": figures}, indent=1) + "\n")
    return 0 if rows and all(r["met"] for r in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, lab.Unavailable, subprocess.TimeoutExpired) as e:
        sys.exit(f"compare_ucx: {e}")
