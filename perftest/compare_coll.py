#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares collectives with those of other libraries: tables, kept results, and pictures.

    compare_coll.py --build=build [--hosts=h0:2,h1:2] [--passes=5] [--sizes=8,1K,...] [--json=FILE] [--beside=BUILD]
    compare_coll.py gshmem=coll_cuda.json NCCL=coll_nccl.json ...     # nothing runs: files that coll --json wrote
    compare_coll.py results/NAME-coll.csv                             # a table kept by --csv

--markdown=FILE keeps the table, --csv=FILE the medians, --charts=FOLDER a picture for each operation and group:
time by size, a line for each library. --operations=reduce,... chooses.

With --build it compares host calls with Open MPI's in one run. Both sides are perftest/coll.cu with the PEs that
--hosts says: coll_cpu by gshmemrun, coll_mpi by mpirun. Several hosts are network namespaces joined by TCP; PEs of one
host share memory. --beside names a build of another commit, which then runs as a third side. Every pass runs the
sides in direct succession, alternating which begins, since a machine's state changes: a row's figures are medians of
the passes, and its ratio the median of the passes' ratios. On a busy machine run all of it at a high priority, for
example with `chrt -r 1`. Exit status 1: a target is missed.

Of several files of one library (NCCL=a.json NCCL=b.json) the median of each row counts. Among the groups pictures show
calls of the host (host), of a block in a kernel (block), and on a stream (stream): there in a CUDA graph, or as
--mode says (graph, pipelined, single). What only one library does gets no picture."""

import argparse
import csv
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
import svg  # noqa: E402

OPERATIONS = "reduce,fcollect,alltoall,broadcast"
SIZES = "8,64,1K,4K,16K,64K,256K,1M,4M"
TARGET = 1.0  # of Open MPI's time
GROUPS = {"stream": "on a stream", "block": "by a block in a kernel", "host": "by the host"}
MODES = {"graph": ", in a graph", "pipelined": ", one after another", "single": ", host waits"}
KEY = ("operation", "group", "mode", "bytes")
# "wire" is the namespaces' interface; Open MPI is told to use no shared memory transports that it would not use by
# itself, and to yield while it waits, as gshmem does: here the hosts share their cores. On one host it has its own
# defaults, and yields if there are fewer cores than PEs.
CPU_ENV = {"GSHMEM_DEVICE": "cpu"}
TCP_ENV = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "wire"}
MPI_ENV = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MPI_WORDS = ["--mca", "plm_rsh_agent", f"{lab.AGENT} --shell", "--mca", "btl_tcp_if_include", "wire",
             "--mca", "oob_tcp_if_include", "wire", "--mca", "btl", "self,vader,tcp", "--mca", "pml", "ob1"]
MPI_YIELDS = ["--mca", "mpi_yield_when_idle", "1"]


class Failed(Exception):
    pass


def rows_of(report):
    """KEY -> us, of what coll wrote. A grid's blocks count as its mode."""
    return {(r["operation"], r["group"], str(r["blocks"]) if r["group"] == "grid" else r["mode"], r["bytes"]):
            r["median"] for r in report["rows"]}


class Sides:
    def __init__(self, options, net):
        self.options, self.net = options, net
        self.n_pes = sum(int(h.split(":")[1]) for h in options.hosts.split(","))
        self.is_one_host = "," not in options.hosts
        self.env = CPU_ENV if self.is_one_host else {**CPU_ENV, **TCP_ENV}
        self.calls = {"gshmem": lambda: self.gshmem(options.build), "Open MPI": self.mpi}
        if options.beside:
            self.calls["beside"] = lambda: self.gshmem(options.beside)

    def _run(self, words, env):
        """KEY -> us per host call."""
        o = self.options
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            words = [*words, f"--json={report.name}", f"--operations={o.operations}", f"--sizes={o.sizes}",
                     "--host", f"--repetitions={o.repetitions}", f"--rounds={o.rounds}"]
            done = subprocess.run(self.net.command(0, *words), env={**os.environ, **env}, timeout=600,
                                  capture_output=True, text=True)
            if done.returncode != 0:
                raise Failed(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
            return rows_of(json.load(open(report.name)))

    def gshmem(self, build):
        return self._run([build / "gshmemrun", "--hosts", self.options.hosts, "--agent", lab.AGENT,
                          build / "perftest/coll_cpu"], self.env)

    def mpi(self):
        words = ["mpirun", "--oversubscribe", "--host", self.options.hosts, "-n", str(self.n_pes)]
        words += [] if self.is_one_host else MPI_WORDS
        words += [] if self.is_one_host and self.n_pes <= os.cpu_count() else MPI_YIELDS
        for name in [*self.env, "LD_LIBRARY_PATH", *(n for n in os.environ if n.startswith("GSH_LAB_"))]:
            words += ["-x", name] if name in {**os.environ, **self.env} else []
        return self._run([*words, self.options.build / "perftest/coll_mpi"], {**self.env, **MPI_ENV})


def measure(sides, n_passes):
    """side -> KEY -> the figures of all passes."""
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
        row = {"operation": key[0], "bytes": key[-1], "gshmem": statistics.median(mine),
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


# ---- results of any libraries: {"about": [lines], "rows": {KEY: {library: us}}}; the first line goes into pictures

def medians(figures, about):
    rows = {}
    for name, found in figures.items():
        for key, values in found.items():
            rows.setdefault(key, {})[name] = statistics.median(values)
    return {"about": about, "rows": rows}


def read_reports(words):
    figures, about = {}, []
    for word in words:
        name, equals, path = word.partition("=")
        if not equals:
            raise Failed(f"{word}: expected NAME=FILE")
        try:
            report = json.loads(pathlib.Path(path).read_text())
            rows, header = rows_of(report), report["header"]
        except (ValueError, KeyError, TypeError) as e:
            raise Failed(f"{path}: not what coll --json writes: {e}") from e
        about = about or [f"{header['PEs']} PEs, {header['device']}"]
        library = "peer" if "peer" in header else "library"
        facts = (f"{k} {header[k]}" for k in (library, "commit", "device", "CUDA", "PEs", "link") if k in header)
        about.append(f"{name}: " + "; ".join(facts))
        for key, us in rows.items():
            figures.setdefault(name, {}).setdefault(key, []).append(us)
    return medians(figures, about)


def read_csv(path):
    lines = pathlib.Path(path).read_text().splitlines()
    about = [line[1:].strip() for line in lines if line.startswith("#")]
    rows = {}
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        key = (*(row.pop(name) for name in KEY[:-1]), int(row.pop("bytes")))
        rows[key] = {name: float(us) for name, us in row.items() if us}
    return {"about": about, "rows": rows}


def names_of(results):
    return list(dict.fromkeys(name for row in results["rows"].values() for name in row))


def write_csv(path, results):
    names = names_of(results)
    with open(path, "w", encoding="utf-8", newline="") as out:
        out.writelines(f"# {line}\n" for line in results["about"])
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*KEY, *names])
        for key, row in results["rows"].items():
            writer.writerow([*key, *(f"{row[name]:.6g}" if name in row else "" for name in names)])


def table_of_all(results):
    """Without rows that one library alone has. The ratio is that of the first library to the fastest other."""
    names = names_of(results)
    lines = [f"| call | group | mode | bytes | {' | '.join(names)} | ratio |", "|---" * (len(names) + 5) + "|"]
    for (operation, group, mode, size), row in results["rows"].items():
        others = [row[name] for name in names[1:] if name in row]
        if names[0] in row and others:
            cells = [f"{row[name]:.4g}" if name in row else "" for name in names]
            lines.append(f"| {operation} | {group} | {mode} | {size_name(size)} | {' | '.join(cells)} | "
                         f"{row[names[0]] / min(others):.2f} |")
    return "\n".join(lines)


def draw(results, operations, stream_mode):
    """File name -> SVG."""
    charts, names = {}, names_of(results)
    for operation in operations:
        for group, how in GROUPS.items():
            mode = stream_mode if group == "stream" else {"block": "kernel"}.get(group, group)
            found = {key[-1]: row for key, row in results["rows"].items() if key[:-1] == (operation, group, mode)}
            series = [{"name": name, "line": "solid", "colour": svg.COLOURS[i % len(svg.COLOURS)],
                       "points": [(size, row[name]) for size, row in found.items() if name in row]}
                      for i, name in enumerate(names)]
            if sum(len(one["points"]) > 1 for one in series) > 1:
                title = f"{operation} {how}{MODES[mode] if group == 'stream' else ''}: time by size"
                charts[f"coll-{operation}-{group}.svg"] = svg.chart(
                    f"{title} ({results['about'][0]})", "µs", series, "bytes that a PE gives to each other")
    return charts


def keep(options, results):
    if options.csv:
        write_csv(options.csv, results)
    if options.charts:
        options.charts.mkdir(parents=True, exist_ok=True)
        for name, drawn in draw(results, options.operations.split(","), options.mode).items():
            (options.charts / name).write_text(drawn)


# ---- command line

def first(pattern, text):
    found = re.search(pattern, text)
    return found.group(1) if found else "?"


def header(options):
    commit = options.build / "perftest/commit"
    cpu = first(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return {"commit": commit.read_text().strip() if commit.exists() else "?",
            "hosts": options.hosts + (", network namespaces joined by a bridge" if "," in options.hosts else ""),
            "CPU": f"{cpu}, {os.cpu_count()} cores",
            "kernel": platform.release(),
            "Open MPI": first(r"\(Open MPI\) (\S+)", subprocess.run(["mpirun", "--version"], capture_output=True,
                                                                     text=True).stdout),
            "load": " ".join(f"{x:.1f}" for x in os.getloadavg()),
            "scheduling": f"policy {os.sched_getscheduler(0)}, nice {os.nice(0)}",
            "passes": options.passes, "command": " ".join(sys.argv)}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*", help="NAME=FILE of coll --json, or one CSV, instead of a run")
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--beside", type=pathlib.Path)
    parser.add_argument("--hosts", default="h0:2,h1:2")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=10, help="samples of a row in a pass")
    parser.add_argument("--rounds", type=int, default=20, help="calls in a sample")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--operations", default=OPERATIONS)
    parser.add_argument("--mode", choices=MODES, default="graph", help="of calls on a stream, in pictures")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("--charts", type=pathlib.Path)
    options = parser.parse_args()
    if bool(options.build) == bool(options.results):
        parser.error("give --build, or files of results")
    return options


def report_on_files(options):
    if len(options.results) == 1 and "=" not in options.results[0]:
        results = read_csv(options.results[0])
    else:
        results = read_reports(options.results)
    text = "\n".join(f"{line}  " for line in results["about"]) + "\n\n" + table_of_all(results) + "\n"
    print(text)
    if options.markdown:
        options.markdown.write_text(text)
    keep(options, results)
    return 0


def main():
    options = parse()
    if options.results:
        return report_on_files(options)
    options.build = options.build.resolve()
    options.beside = options.beside.resolve() if options.beside else None
    lab.enter()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    facts = header(options)
    n_hosts = len(options.hosts.split(","))
    with lab.Lab(n_hosts) as net:
        sides = Sides(options, net)
        figures = measure(sides, options.passes)
    rows = judge(figures)
    text = "\n".join(f"{k}: {v}  " for k, v in facts.items()) + "\n\n" + table(rows) + "\n"
    print(text)
    if options.markdown:
        options.markdown.write_text(text)
    if options.json:
        options.json.write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n")
    where = "one host" if n_hosts == 1 else f"{n_hosts} hosts"
    keep(options, medians(figures, [f"{sides.n_pes} PEs of {where}, CPU", *(f"{k}: {v}" for k, v in facts.items())]))
    return 0 if rows and all(r["met"] for r in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, OSError, ValueError, lab.Unavailable, subprocess.TimeoutExpired) as e:
        sys.exit(f"compare_coll: {e}")
