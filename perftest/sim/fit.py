#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far the simulation's times are from those of real PEs, once its parameters are fitted to this machine.

    perftest/sim/fit.py [exchanges | scale] --measure=FILE [--pes=2,4,8] [--runs=5]  runs real PEs, adds to FILE
    perftest/sim/fit.py [exchanges | scale] --measured=FILE [--fit-to=2,8,32] [--set=NAME=NUMBER ...]

The first adds a line for each phase of each run to FILE: PEs, run, phase, ms of the slowest PE. `exchanges` are those
of start-up over TCP, among processes (exchanges.c). `scale` is the whole of perftest/scale, with processes that are
pretend nodes (GSHMEM_NODE_PES, or 1 to a node), over UCX's TCP.

The second takes the median of the runs, or with --least the least, finds the parameters (--fit) with which the
simulation comes nearest, and prints them, and both times of each phase. It fits to the numbers of PEs in --fit-to, or
to all; the others are predicted. All PEs share the machine's cores; --set fixes other parameters."""
import argparse
import collections
import concurrent.futures
import csv
import importlib.util
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

# The phases of a job, and how often the simulation does in one what is measured once.
PHASES = {"exchanges": {"links": 1, "barrier": 20, "vote": 10, "gather 8": 10, "gather 260": 10},
          "scale": {"init": 1, "team": 1, "malloc": 1, "barrier": 20, "free": 1, "finalize": 1}}
FIT = {"exchanges": ["tcp.cpu", "tcp.byte", "tcp.latency", "tcp.listen", "tcp.connect", "cpu.switch"],
       "scale": ["tcp.cpu", "cpu.open", "cpu.close", "far.cpu", "far.latency", "cpu.switch"]}
FAR_FROM_GOOD = 0.15


def scale():
    """perftest/scale.py."""
    name = pathlib.Path(__file__).resolve().parent.parent / "scale.py"
    spec = importlib.util.spec_from_file_location("scale", name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure_exchanges(options, n):
    made = subprocess.run([os.path.join(options.build, "perftest", "sim", "exchanges"), str(n), "1"], check=False,
                          stdout=subprocess.PIPE, text=True, timeout=options.limit)
    if made.returncode != 0:
        return None
    return {phase: float(ms) for _, _, phase, ms in csv.reader(made.stdout.splitlines())}


def measure_scale(options, n):
    os.environ.setdefault("GSHMEM_NODE_PES", "1")
    os.environ.setdefault("UCX_TLS", "tcp,self")
    row = scale().run(options.build, n, "processes", options.limit)
    return row and {phase: row[phase + " ms"] for phase in PHASES["scale"]}


def measure(options):
    of_job = {"exchanges": measure_exchanges, "scale": measure_scale}[options.job]
    with open(options.measure, "a", encoding="utf-8") as file:
        for run in range(options.runs):
            for n in options.pes:
                row = of_job(options, n)
                if row is None:
                    return 1
                file.writelines(f"{n},{run},{phase},{ms:.4f}\n" for phase, ms in row.items())
                file.flush()
    return 0


def read_measured(name, is_least):
    """{(PEs, phase): ms}"""
    values = collections.defaultdict(list)
    with open(name, newline="", encoding="utf-8") as file:
        for n, _, phase, ms in csv.reader(file):
            values[int(n), phase].append(float(ms))
    return {key: min(some) if is_least else statistics.median(some) for key, some in values.items()}


class Simulation:
    def __init__(self, options):
        self.command = [os.path.join(options.build, "perftest", "sim", "sim"), options.job]
        self.phases = PHASES[options.job]
        # one host, however many nodes it pretends to be
        fixed = {"node_pes": os.environ.get("GSHMEM_NODE_PES", "1"), "host_nodes": "1e6",
                 "cpu.cores": str(os.cpu_count())}
        fixed.update(setting.split("=", 1) for setting in options.set)
        self.command += [f"--set={name}={value}" for name, value in fixed.items()]

    def run(self, n, parameters):
        with tempfile.NamedTemporaryFile("r", prefix="sim", encoding="utf-8") as file:
            settings = [f"--set={name}={value:.6g}" for name, value in parameters.items()]
            subprocess.run([*self.command, "-n", str(n), f"--csv={file.name}", *settings], check=True,
                           stdout=subprocess.DEVNULL)
            ns = {row["phase"]: float(row["pe_ns"]) for row in csv.DictReader(file)}
        return {phase: ns[phase] / 1e6 / times for phase, times in self.phases.items()}

    def times(self, sizes, parameters):
        """{(PEs, phase): ms}"""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            rows = pool.map(lambda n: self.run(n, parameters), sizes)
        return {(n, phase): row[phase] for n, row in zip(sizes, rows) for phase in self.phases}

    def defaults(self, names):
        text = subprocess.run([*self.command[:1], "parameters", *self.command[2:]], check=True, text=True,
                              capture_output=True).stdout
        values = {words[0]: float(words[1]) for words in map(str.split, text.splitlines())}
        return {name: values[name] or (1 if name.endswith(".byte") else 1e5) for name in names}


def solve(rows, right):
    """The solution of a few linear equations."""
    n = len(right)
    m = [row[:] + [right[i]] for i, row in enumerate(rows)]
    for i in range(n):
        best = max(range(i, n), key=lambda j, i=i: abs(m[j][i]))
        m[i], m[best] = m[best], m[i]
        for j in range(n):
            if j != i:
                factor = m[j][i] / m[i][i]
                m[j] = [a - factor * b for a, b in zip(m[j], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


class Fit:
    """Levenberg and Marquardt's method, over the logarithms of parameters and of times."""

    def __init__(self, simulation, names, measured, sizes):
        self.simulation, self.names, self.sizes = simulation, names, sizes
        self.measured = {key: ms for key, ms in measured.items() if key[0] in sizes}

    def errors(self, logs):
        times = self.simulation.times(self.sizes, dict(zip(self.names, map(math.exp, logs))))
        return [math.log(times[key] / ms) for key, ms in self.measured.items()]

    def slopes(self, logs, errors):
        """For each parameter, what a change of it does to each error."""
        step, columns = 0.05, []
        for i in range(len(logs)):
            there = self.errors([value + step * (i == j) for j, value in enumerate(logs)])
            columns.append([(b - a) / step for a, b in zip(errors, there)])
        return columns

    def run(self, begin):
        """The best of what is found from a few points around `begin`: the times are no smooth functions."""
        logs = [math.log(begin[name]) for name in self.names]
        found = [self.descend([value + shift * (-1) ** (i * bit) for i, value in enumerate(logs)])
                 for shift in (0, 1, -1) for bit in (0, 1)]
        return dict(zip(self.names, map(math.exp, min(found)[1])))

    def descend(self, logs):
        """(sum of squares, logarithms)"""
        damping = 0.1
        errors = self.errors(logs)
        for _ in range(40):
            columns = self.slopes(logs, errors)
            right = [-sum(a * b for a, b in zip(column, errors)) for column in columns]
            square, before = sum(e * e for e in errors), logs
            while damping < 1e6:
                rows = [[sum(a * b for a, b in zip(p, q)) for q in columns] for p in columns]
                for i, row in enumerate(rows):
                    row[i] += damping * (row[i] + 1e-6)
                steps = [max(-1.5, min(1.5, step)) for step in solve(rows, right)]
                there = [value + step for value, step in zip(before, steps)]
                errors_there = self.errors(there)
                if sum(e * e for e in errors_there) < square:
                    logs, errors, damping = there, errors_there, damping / 5
                    break
                damping *= 4
            if square - sum(e * e for e in errors) < 1e-5 * square:
                break
        return sum(e * e for e in errors), logs


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def report(measured, simulated, sizes, fitted_to):
    phases = list(dict.fromkeys(phase for _, phase in simulated))
    print("\n| PEs | " + " | ".join(f"{phase}: measured | simulated | off" for phase in phases) + " |")
    print("|---" + "|---:" * 3 * len(phases) + "|")
    off = {key: simulated[key] / ms - 1 for key, ms in measured.items()}
    for n in sizes:
        cells = [f"{number(measured[n, p])} | {number(simulated[n, p])} | {off[n, p] * 100:+.0f} %" for p in phases]
        print(f"| {n}{'' if n in fitted_to else ' (predicted)'} | " + " | ".join(cells) + " |")
    print()
    for phase in phases:
        far = [n for n in sizes if abs(off[n, phase]) > FAR_FROM_GOOD]
        print(f"{phase}: {len(sizes) - len(far)} of {len(sizes)} within {FAR_FROM_GOOD * 100:.0f} %"
              + (f"; not with {', '.join(map(str, far))} PEs" if far else ""))


def numbers(text):
    return [int(n) for n in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", nargs="?", default="exchanges", choices=PHASES)
    parser.add_argument("--build", default="build")
    parser.add_argument("--measure", metavar="FILE")
    parser.add_argument("--measured", metavar="FILE")
    parser.add_argument("--pes", type=numbers, default=[2, 4, 8, 16, 32, 64, 128, 256, 512])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=120, help="seconds for each run")
    parser.add_argument("--least", action="store_true", help="take the least of the runs")
    parser.add_argument("--fit", type=lambda text: text.split(","), help="parameters, with commas")
    parser.add_argument("--fit-to", type=numbers, help="numbers of PEs, with commas")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=NUMBER")
    options = parser.parse_args()
    if options.measure:
        return measure(options)
    if not options.measured:
        parser.error("needs --measure or --measured")
    measured = read_measured(options.measured, options.least)
    sizes = sorted({n for n, _ in measured})
    fitted_to, names = options.fit_to or sizes, options.fit or FIT[options.job]
    simulation = Simulation(options)
    fitted = Fit(simulation, names, measured, fitted_to).run(simulation.defaults(names))
    print("\n".join(f"{name:15} {value:.4g}" for name, value in fitted.items()))
    report(measured, simulation.times(sizes, fitted), sizes, fitted_to)
    return 0


sys.exit(main())
