#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the cost of a job grows with the number of its PEs on one machine.

    perftest/scale.py --build=build [--most=1024] [--manners=processes,threads] [--limit=120]

Runs `scale` with 2, 4, 8, ... PEs. For each number of PEs, a row: the wall time of the slowest PE
and the CPU time of all PEs in each phase, then what a PE holds, as a mean. The last row fits an
exponent to each column's growth, between the upper half of the numbers: 1 is linear in the PEs.
It says how many seconds of CPU time the launcher took, too, as "run".

In a second run of processes the last PE dies once all have come: "report ms" is the time from then
until the launcher has ended, and "report lines" what has been printed."""
import argparse
import collections
import math
import os
import resource
import subprocess
import sys
import tempfile
import time

PHASES = ["init", "team", "malloc", "barrier", "free", "finalize"]
HELD = ["MiB", "virtual GiB", "tables KiB", "mappings", "descriptors", "threads"]


def command_of(build, n, manner, name):
    command = [os.path.join(build, "gshmemrun"), "-n", str(n)]
    command += ["--threads"] if manner == "threads" else []
    return command + [os.path.join(build, "perftest", "scale"), name]


def report(build, n, limit):
    """How long a job takes to end once a PE has died, in ms, and how many lines it prints."""
    with tempfile.NamedTemporaryFile("r", prefix="scale") as lines:
        try:
            made = subprocess.run(command_of(build, n, "processes", lines.name) + ["dies"], timeout=limit,
                                  stdout=subprocess.DEVNULL, check=False, stderr=subprocess.PIPE,
                                  env={"GSHMEM_DEVICE": "cpu", **os.environ})
        except subprocess.TimeoutExpired:
            print(f"{n} processes, of which one dies: more than {limit} s", file=sys.stderr)
            return None
        end = time.monotonic() * 1e3
        deaths = [float(line.split()[2]) for line in lines if line.split()[1] == "death"]
    if made.returncode == 0 or len(deaths) != 1:
        print(f"{n} processes, of which one dies: status {made.returncode}", file=sys.stderr)
        return None
    return {"report ms": end - deaths[0], "report lines": made.stderr.count(b"\n")}


def run(build, n, manner, limit):
    """The sums of one run; None if it failed."""
    with tempfile.NamedTemporaryFile("r", prefix="scale") as lines:
        command = command_of(build, n, manner, lines.name)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        try:
            made = subprocess.run(command, timeout=limit, stdout=subprocess.DEVNULL, check=False,
                                  stderr=subprocess.PIPE, env={"GSHMEM_DEVICE": "cpu", **os.environ})
        except subprocess.TimeoutExpired:
            print(f"{n} {manner}: more than {limit} s", file=sys.stderr)
            return None
        wall = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if made.returncode != 0:
            print(f"{n} {manner}: status {made.returncode}: {made.stderr.decode()[:1000]}", file=sys.stderr)
            return None
        return sum_up(lines, n, wall, sum(after[:2]) - sum(before[:2]))


def sum_up(lines, n, wall, cpu):
    row = collections.OrderedDict()
    wall_of, cpu_of, held = collections.Counter(), collections.Counter(), [0.0] * len(HELD)
    for line in lines:
        words = line.split()
        numbers = [float(x) for x in words[2:]]
        if words[1] == "held_first":
            scaled = [numbers[0] / 1024, numbers[1] / 1024, *numbers[2:]]
            held = [a + b for a, b in zip(held, scaled)]
        elif words[1] in PHASES:
            wall_of[words[1]] = max(wall_of[words[1]], numbers[0])
            cpu_of[words[1]] += numbers[1]
    for phase in PHASES:
        row[phase + " ms"] = wall_of[phase]
        row[phase + " CPU"] = cpu_of[phase]
    row["run s"], row["run CPU s"] = wall, cpu
    for name, value in zip(HELD, held):
        row[name] = value / n
    return row


def fit(ns, values):
    """The slope of the logarithms, by least squares."""
    points = [(math.log(n), math.log(v)) for n, v in zip(ns, values) if v > 0]
    if len(points) < 2:
        return 0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def write_number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def measure(options, manner):
    rows = {}
    n = 2
    while n <= options.most:
        row = run(options.build, n, manner, options.limit)
        death = report(options.build, n, options.limit) if row is not None and manner == "processes" else {}
        if row is None or death is None:
            break
        row.update(death)
        rows[n] = row
        n *= 2
    if not rows:
        return False
    names = list(next(iter(rows.values())))
    print(f"\n{manner}\n\n| PEs | " + " | ".join(names) + " |\n|---" + "|---:" * len(names) + "|")
    for pes, row in rows.items():
        print(f"| {pes} | " + " | ".join(write_number(row[name]) for name in names) + " |")
    upper = list(rows)[len(rows) // 2:]
    exponents = [fit(upper, [rows[pes][name] for pes in upper]) for name in names]
    print("| exponent | " + " | ".join(f"{exponent:.2f}" for exponent in exponents) + " |")
    sys.stdout.flush()
    return n > options.most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--most", type=int, default=1024, help="the largest number of PEs")
    parser.add_argument("--manners", default="processes,threads")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each run")
    options = parser.parse_args()
    results = [measure(options, manner) for manner in options.manners.split(",")]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
