#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts to far PEs beside ucx_perftest, on the same machine, link and transport, in one run.

    perftest/compare_ucx.py --build=build [--networks=near,shm,tcp] [--passes=5] [--json=FILE]

Networks: "tcp", between two network namespaces; "shm", two processes over UCX's shared memory, with
memory that UCX has not allocated, as gshmem's heap is; "near", two processes with memory that UCX has
allocated, beside what gshmem does where it can: loads and stores. Every pass runs both sides, each
beginning with the other one; a row's figure is the median of the passes. Exit status 1: a target is
missed."""

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
# name of a row: (figure, against which figure, factor, unit); a time may be at most the factor times
# the other, a rate at least
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
    """Whether the process's network has a socket that listens on PORT."""
    try:
        tables = [pathlib.Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    except OSError:
        return False
    return any(line.split()[1].endswith(f":{PORT:04X}") and line.split()[3] == "0A"
               for table in tables for line in table.splitlines()[1:])


class Network:
    """Where both sides run: `net` is a lab with two hosts, None for processes of one."""

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
        """ucx_perftest's last line: median, average and overall times in us; MB/s and calls a second."""
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


def measure_ucx(network):
    slow = 10 if network.name == "tcp" else 1
    found = {"ucx lat": network.ucx("ucp_put_lat", 8, 20000 // slow)[0],
             "ucx rate": network.ucx("ucp_put_bw", 8, 500000 // slow)[6] / 1e6}
    for name, size in SIZES.items():
        found[f"ucx bw {name}"] = network.ucx("ucp_put_bw", size, max((1 << 31) // slow // size, 8))[4] / 1e3
    return found


def measure_gshmem(network):
    sizes = ",".join(["8", *map(str, SIZES.values())])
    found = {}
    names = {size: name for name, size in SIZES.items()}
    for r in network.gshmem("far_cpu", f"--sizes={sizes}", "--operations=put_bw"):
        key = "rate" if r["bytes"] == 8 else f"bw {names[r['bytes']]}"
        found[key] = 1 / r["median"] if r["bytes"] == 8 else r["bytes"] / r["median"] / 1e3
    for r in network.gshmem("far_cpu", "--sizes=8", "--operations=put_lat"):
        found["lat" if r["group"] == "host" else "lat kernel"] = r["median"]
    for r in network.gshmem("host_cpu", "--sizes=8", "--operations=put"):
        if r["mode"] == "single":
            found["quiet"] = r["median"]
    for r in network.gshmem("latency_cpu", "--sizes=8", "--operations=put", "--groups=thread"):
        found["quiet kernel"] = r["median"]
    return found


def measure(network, n_passes):
    """name -> the figures of all passes."""
    figures = {}
    for i in range(n_passes):
        for side in (measure_ucx, measure_gshmem)[::1 if i % 2 == 0 else -1]:
            for key, value in side(network).items():
                figures.setdefault(key, []).append(value)
        print(f"{network.name}: pass {i + 1} of {n_passes}", file=sys.stderr, flush=True)
    return figures


def judge(network, figures):
    rows = []
    for name, mine, other, factor, unit in TARGETS:
        a, b = statistics.median(figures[mine]), statistics.median(figures[other])
        is_time = unit == "us"
        rows.append({"network": network.name, "row": name, "unit": unit, "value": a, "beside": b,
                     "ratio": a / b, "target": f"{'<=' if is_time else '>='} {factor}",
                     "met": a / b <= factor if is_time else a / b >= factor})
    return rows


def print_rows(rows):
    print("| network | | gshmem | beside | | ratio | target | |\n|---|---|---|---|---|---|---|---|")
    for r in rows:
        print(f"| {r['network']} | {r['row']} | {r['value']:.3g} | {r['beside']:.3g} | {r['unit']} | "
              f"{r['ratio']:.2f} | {r['target']} | {'met' if r['met'] else 'NOT MET'} |")


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
    return 0 if all(r["met"] for r in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, lab.Unavailable, subprocess.TimeoutExpired) as e:
        sys.exit(f"compare_ucx: {e}")
