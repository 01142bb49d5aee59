#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares host collectives with Open MPI's, over TCP between network namespaces, in one run.

    perftest/compare_coll.py --build=build [--hosts=h0:2,h1:2] [--passes=5] [--json=FILE] [--markdown=FILE]
        [--beside=BUILD] [--sizes=8,1K,...] [--operations=reduce,...]

Both sides are perftest/coll.cu with the PEs that --hosts says: coll_cpu by gshmemrun, coll_mpi by
mpirun. --beside names a build of another commit, which then runs as a third side. Every pass runs
the sides in direct succession, alternating which begins, since a machine's state changes: a row's
figures are medians of the passes, and its ratio the median of the passes' ratios. On a busy machine
run all of it at a high priority, for example with `chrt -r 1`. Exit status 1: a target is missed."""

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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/net"))
import lab  # noqa: E402

OPERATIONS = "reduce,fcollect,alltoall,broadcast"
SIZES = "8,64,1K,4K,16K,64K,256K,1M,4M"
TARGET = 1.0  # of Open MPI's time
# "wire" is the namespaces' interface; Open MPI is told to use no shared memory transports that it would not use by
# itself, and to yield while it waits, as gshmem does: here the hosts share their cores.
GSHMEM_ENV = {"GSHMEM_DEVICE": "cpu", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "wire"}
MPI_ENV = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MPI_WORDS = ["--mca", "plm_rsh_agent", f"{lab.AGENT} --shell", "--mca", "btl_tcp_if_include", "wire",
             "--mca", "oob_tcp_if_include", "wire", "--mca", "btl", "self,vader,tcp", "--mca", "pml", "ob1",
             "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]


class Failed(Exception):
    pass


class Sides:
    def __init__(self, options, net):
        self.options, self.net = options, net
        self.n_pes = sum(int(h.split(":")[1]) for h in options.hosts.split(","))
        self.calls = {"gshmem": lambda: self.gshmem(options.build), "Open MPI": self.mpi}
        if options.beside:
            self.calls["beside"] = lambda: self.gshmem(options.beside)

    def _run(self, words, env):
        """(operation, bytes) -> us per host call."""
        o = self.options
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            words = [*words, f"--json={report.name}", f"--operations={o.operations}", f"--sizes={o.sizes}",
                     "--host", f"--repetitions={o.repetitions}", f"--rounds={o.rounds}"]
            done = subprocess.run(self.net.command(0, *words), env={**os.environ, **env}, timeout=600,
                                  capture_output=True, text=True)
            if done.returncode != 0:
                raise Failed(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
            rows = json.load(open(report.name))["rows"]
        return {(r["operation"], r["bytes"]): r["median"] for r in rows if r["group"] == "host"}

    def gshmem(self, build):
        return self._run([build / "gshmemrun", "--hosts", self.options.hosts, "--agent", lab.AGENT,
                          build / "perftest/coll_cpu"], GSHMEM_ENV)

    def mpi(self):
        words = ["mpirun", *MPI_WORDS, "--host", self.options.hosts, "-n", str(self.n_pes)]
        for name in [*GSHMEM_ENV, "LD_LIBRARY_PATH", *(n for n in os.environ if n.startswith("GSH_LAB_"))]:
            words += ["-x", name] if name in {**os.environ, **GSHMEM_ENV} else []
        return self._run([*words, self.options.build / "perftest/coll_mpi"], {**GSHMEM_ENV, **MPI_ENV})


def measure(sides, n_passes):
    """side -> (operation, bytes) -> the figures of all passes."""
    names, figures = list(sides.calls), {}
    for i in range(n_passes):
        for name in names[i % len(names):] + names[:i % len(names)]:
            for key, us in sides.calls[name]().items():
                figures.setdefault(name, {}).setdefault(key, []).append(us)
        print(f"pass {i + 1} of {n_passes}", file=sys.stderr, flush=True)
    return figures


def size_name(n):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if n >= unit and n % unit == 0:
            return f"{n // unit} {name}"
    return f"{n} B"


def judge(figures):
    rows = []
    for key, mine in figures["gshmem"].items():
        other = figures["Open MPI"][key]
        ratios = [a / b for a, b in zip(mine, other)]
        row = {"operation": key[0], "bytes": key[1], "gshmem": statistics.median(mine),
               "mpi": statistics.median(other), "ratio": statistics.median(ratios),
               "least": min(ratios), "most": max(ratios)}
        if "beside" in figures:
            row["beside"] = statistics.median(figures["beside"][key])
        row["met"] = row["ratio"] <= TARGET * 1.05
        rows.append(row)
    return rows


def table(rows):
    has_beside = rows and "beside" in rows[0]
    lines = [f"| | | gshmem, us | Open MPI, us | ratio | of all passes | {'beside, us | ' if has_beside else ''}|",
             "|---|---|---|---|---|---|---|" + ("---|" if has_beside else "")]
    for r in rows:
        beside = f" {r['beside']:.4g} |" if has_beside else ""
        lines.append(f"| {r['operation']} | {size_name(r['bytes'])} | {r['gshmem']:.4g} | {r['mpi']:.4g} | "
                     f"{r['ratio']:.2f} | {r['least']:.2f} to {r['most']:.2f} |{beside} "
                     f"{'met' if r['met'] else 'NOT MET'} |")
    return "\n".join(lines)


def first(pattern, text):
    found = re.search(pattern, text)
    return found.group(1) if found else "?"


def header(options):
    commit = options.build / "perftest/commit"
    cpu = first(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return {"commit": commit.read_text().strip() if commit.exists() else "?",
            "hosts": f"{options.hosts}, network namespaces joined by a bridge",
            "CPU": f"{cpu}, {os.cpu_count()} cores",
            "kernel": platform.release(),
            "Open MPI": first(r"\(Open MPI\) (\S+)", subprocess.run(["mpirun", "--version"], capture_output=True,
                                                                     text=True).stdout),
            "load": " ".join(f"{x:.1f}" for x in os.getloadavg()),
            "scheduling": f"policy {os.sched_getscheduler(0)}, nice {os.nice(0)}",
            "passes": options.passes, "command": " ".join(sys.argv)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--beside", type=pathlib.Path)
    parser.add_argument("--hosts", default="h0:2,h1:2")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=10, help="samples of a row in a pass")
    parser.add_argument("--rounds", type=int, default=20, help="calls in a sample")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--operations", default=OPERATIONS)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.beside = options.beside.resolve() if options.beside else None
    lab.enter()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    facts = header(options)
    with lab.Lab(len(options.hosts.split(","))) as net:
        rows = judge(measure(Sides(options, net), options.passes))
    text = "\n".join(f"{k}: {v}  " for k, v in facts.items()) + "\n\n" + table(rows) + "\n"
    print(text)
    if options.markdown:
        options.markdown.write_text(text)
    if options.json:
        options.json.write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n")
    return 0 if all(r["met"] for r in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, lab.Unavailable, subprocess.TimeoutExpired) as e:
        sys.exit(f"compare_coll: {e}")
