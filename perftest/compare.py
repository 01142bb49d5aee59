#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks built for two libraries in turn on the same devices, and reports where each is
faster: the ratio of every row, worst first; the targets met; curves with the hardware's limit.

    compare.py --build=build --pes=2                  # gshmem beside NVSHMEM
    compare.py --programs=coll --second=nccl          # its collectives beside NCCL's
    compare.py --load=comparison/comparison.json      # the same report again, without running
    compare.py --charts=results/NAME.csv --output=../docs/performance    # the charts of a kept table

Writes comparison.json and the charts to --output. Ratios are of times, the first library's to the
second's: below 1 the first is faster. Exit status 1: a program failed."""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import svg  # noqa: E402
import targets  # noqa: E402

PROGRAMS = ["latency", "bandwidth", "rate", "ping_pong", "sync", "host", "start", "wait"]
ON_REQUEST = ["coll"]  # takes as long as all the rest together
KEY = ("program", "operation", "group", "blocks", "mode", "bytes")


# ---- running ------------------------------------------------------------------------------------

def run_one(options, program, side, folder):
    """The program's JSON, or None if it failed."""
    build = pathlib.Path(options.build).resolve()
    result = pathlib.Path(folder) / "result.json"
    result.unlink(missing_ok=True)
    command = [build / "gshmemrun", "-n", str(options.pes),
               build / "perftest" / f"{program}_{side}", f"--json={result}", *options.rest]
    if options.quick:
        command.append("--quick")
    environment = dict(os.environ)
    if any(option.startswith("--lent=") for option in options.rest):  # else NVSHMEM leaves what it is given alone
        environment.setdefault("NVSHMEM_TMA_POLICY", "ENABLE")
    print("$", *command, flush=True)
    try:
        status = subprocess.run(command, env=environment, timeout=options.timeout, check=False).returncode
    except subprocess.TimeoutExpired:
        status = f"none within {options.timeout} s"
    except OSError as error:
        status = error
    if status != 0 or not result.is_file():
        print(f"compare: {program}_{side}: status {status}", file=sys.stderr, flush=True)
        return None
    return json.loads(result.read_text())


def run_all(options):
    """Runs every program of both sides, in turn; passes alternate which side begins."""
    runs, failures = [], []
    sides = [options.first, options.second]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.passes):
            for program in options.programs:
                order = [0, 1] if number % 2 == 0 else [1, 0]
                for side in order:
                    found = run_one(options, program, sides[side], folder)
                    if found is None:
                        failures.append(f"{program}_{sides[side]}, pass {number + 1}")
                    else:
                        runs.append({"pass": number + 1, "program": program, "side": side, **found})
    return {"sides": sides, "pes": options.pes, "runs": runs, "failures": failures}


# ---- comparing ----------------------------------------------------------------------------------

def collect(record):
    """key -> ([medians of each pass], the same of the other side), and key -> a row."""
    values, sample = {}, {}
    for run in record["runs"]:
        for found in run["rows"]:
            key = (run["program"], *(found[name] for name in KEY[1:]))
            values.setdefault(key, ([], []))[run["side"]].append(found["median"])
            sample[key] = found
    return values, sample


def compare_rows(record):
    """The rows that both have, worst for the first side first; the keys that only one has."""
    values, sample = collect(record)
    rows, alone = [], []
    for key, (first, second) in values.items():
        if not first or not second:
            alone.append(key)
            continue
        a, b = statistics.median(first), statistics.median(second)
        if a <= 0 or b <= 0:  # below the clock's resolution
            alone.append(key)
            continue
        ratios = sorted(x / y for x, y in zip(first, second) if y > 0)
        found = sample[key]
        row = dict(zip(KEY, key), unit=found["unit"], first=a, second=b, ratio=a / b,
                   least=ratios[0], most=ratios[-1])
        if found["gb_per_s"]:
            moved = found["gb_per_s"] * found["median"]
            row.update(first_gb_per_s=moved / a, second_gb_per_s=moved / b)
        rows.append(row)
    return sorted(rows, key=lambda r: -r["ratio"]), alone


def is_about(wanted, row):
    for name, value in wanted.items():
        if name == "operation":
            if row[name] not in value:
                return False
        elif name == "bytes":
            if not value[0] <= row[name] <= value[1]:
                return False
        elif row[name] != value:
            return False
    return True


def judge(target, rows):
    """The target and whether it was reached: "met", "not met" or "not measured"."""
    about = [r for r in rows if is_about(target["rows"], r)]
    if target["gb_per_s"]:
        about = [r for r in about if r["blocks"] in target["gb_per_s"]]
        reached = [r["first_gb_per_s"] / target["gb_per_s"][r["blocks"]] for r in about]
        worst, is_met, limit = min(reached, default=0), min(reached, default=0) >= 1, ">= 1"
    elif target["least"]:
        worst = min((1 / r["ratio"] for r in about), default=0)
        is_met, limit = worst >= target["least"], f">= {target['least']:g}"
    else:
        worst = max((r["ratio"] for r in about), default=0)
        is_met, limit = worst <= target["most"], f"<= {target['most']:g}"
    verdict = "not measured" if not about else "met" if is_met else "not met"
    return {"name": target["name"], "limit": limit, "rows": len(about), "worst": worst,
            "verdict": verdict}


# ---- telling ------------------------------------------------------------------------------------

def print_rows(record, rows, alone):
    first, second = record["sides"]
    print(f"\n{'program':10} {'operation':20} {'group':7} {'blocks':>6} {'mode':12} {'bytes':>10} "
          f"{first:>11} {second:>11} unit {'ratio':>7} {'least':>7} {'most':>7}")
    for r in rows:
        print(f"{r['program']:10} {r['operation']:20} {r['group']:7} {r['blocks']:6} "
              f"{r['mode']:12} {r['bytes']:10} {r['first']:11.3f} {r['second']:11.3f} "
              f"{r['unit']:4} {r['ratio']:7.3f} {r['least']:7.3f} {r['most']:7.3f}")
    slower = sum(r["ratio"] > 1 for r in rows)
    print(f"{len(rows)} rows, {slower} of them slower for {first}; {len(alone)} of one side only "
          "or below the clock's resolution")


def print_targets(judged):
    print(f"\n{'target':60} {'wanted':>9} {'worst':>8} {'rows':>5}")
    for j in judged:
        worst = f"{j['worst']:8.3f}" if j["rows"] else f"{'-':>8}"
        print(f"{j['name']:60} {j['limit']:>9} {worst} {j['rows']:5}  {j['verdict']}")
    met = sum(j["verdict"] == "met" for j in judged)
    measured = sum(j["verdict"] != "not measured" for j in judged)
    print(f"{met} of {measured} measured targets met, {len(judged) - measured} not measured")


# ---- charts -------------------------------------------------------------------------------------

# The meanings of the programs' suffixes.
NAMES = {"cuda": "gshmem", "cpu": "gshmem on the CPU", "nvshmem": "NVSHMEM", "nccl": "NCCL"}
TITLES = {
    "put": "A put and its quiet", "get": "A get", "put_nbi": "A put_nbi and its quiet",
    "one": "in one direction, with quiet", "one_stream": "in one direction, without waiting",
    "both": "in both directions, with quiet", "both_stream": "in both directions, without waiting",
    "put_signal": "A put with a signal", "put_on_stream": "A put on a stream",
    "get_on_stream": "A get on a stream", "put_signal_on_stream": "A put with a signal on a stream",
}
MODES = {"single": "host waits", "pipelined": "one after another", "graph": "in a graph"}


def read_csv(path):
    """A table of medians that perftest/results/ keeps: a record and its rows."""
    with open(path, encoding="utf-8") as lines:
        found = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    numbers = ("blocks", "bytes", "first", "second", "ratio")
    rows = [{name: float(value) if name in numbers else value for name, value in row.items() if value}
            for row in found]
    for row in rows:
        row.update(blocks=int(row["blocks"]), bytes=int(row["bytes"]))
        if row["program"] == "bandwidth":
            moved = row["bytes"] * (2 if row["mode"].startswith("both") else 1) / 1e3
            row.update(first_gb_per_s=moved / row["first"], second_gb_per_s=moved / row["second"])
    header = pathlib.Path(path).read_text().split("\n", 1)[0]
    return {"sides": ["cuda", "nvshmem"], "runs": [{"header": {"device": header}}]}, rows

def curves(record, rows, wanted, by, values):
    """Two curves, the second side's dashed, for each value of the field `by`."""
    out = []
    for index, value in enumerate(values):
        chosen = [r for r in rows if is_about({**wanted, by: value}, r)]
        text = f"{value} block{'s' * (value > 1)}" if by == "blocks" else MODES.get(value, value)
        for side, style in (("first", "solid"), ("second", "dashed")):
            field = side + "_gb_per_s" if by == "blocks" else side
            name = record["sides"][0 if side == "first" else 1]
            out.append({"name": f"{NAMES.get(name, name)}, {text}", "line": style,
                        "colour": svg.COLOURS[index % len(svg.COLOURS)],
                        "points": [(r["bytes"], r[field]) for r in chosen if field in r]})
    return out


def limit(name, points, colour="#888888"):
    return {"name": name, "line": "dotted", "colour": colour, "points": points}


def latency_limit(operation, sizes, flights=1):
    """The link's own time: the cost of one flight, plus the bytes at one multiprocessor's rate."""
    rate = targets.LOAD_GB_PER_S[1] if operation == "get" else targets.STORE_GB_PER_S[1]
    fixed = {"get": 0, "put": targets.STORE_FENCE_US[16]}.get(operation, targets.FLAG_ONE_WAY_US)
    return [(size, flights * (fixed + size / rate / 1e3)) for size in sizes]


def make_charts(record, rows):
    """File name -> SVG."""
    charts = {}
    sizes = sorted({r["bytes"] for r in rows if r["bytes"] > 0})
    has_limits = any("H200" in run["header"].get("device", "") for run in record["runs"])

    def add(name, title, y_label, series, limits):
        drawn = svg.chart(title, y_label, series + (limits if has_limits else []))
        if drawn:
            charts[name] = drawn

    groups = ["thread", "warp", "block"]
    for operation in ("put", "get", "put_nbi"):
        wanted = {"program": "latency", "operation": [operation]}
        add(f"latency-{operation}.svg", f"{TITLES[operation]}: time by size", "µs",
            curves(record, rows, wanted, "group", groups),
            [limit("limit of one multiprocessor", latency_limit(operation[:3], sizes))])
    for operation, table in (("put", targets.STORE_GB_PER_S), ("get", targets.LOAD_GB_PER_S)):
        for mode in ("one", "one_stream", "both", "both_stream"):
            wanted = {"program": "bandwidth", "operation": [operation], "mode": mode}
            counts = sorted({r["blocks"] for r in rows if is_about(wanted, r)})
            factor = 2 if mode.startswith("both") else 1
            limits = [limit(f"limit of {n} block{'s' * (n > 1)}",
                            [(s, factor * table[n]) for s in sizes],
                            svg.COLOURS[i % len(svg.COLOURS)])
                      for i, n in enumerate(counts) if n in table]
            add(f"bandwidth-{operation}-{mode}.svg", f"Bandwidth of {operation}s {TITLES[mode]}", "GB/s",
                curves(record, rows, wanted, "blocks", counts), limits)
    for operation in ("put", "put_signal"):
        wanted = {"program": "ping_pong", "operation": [operation]}
        add(f"ping_pong-{operation}.svg", f"{TITLES[operation]}: time there and back, by size", "µs",
            curves(record, rows, wanted, "group", groups),
            [limit("two flights", latency_limit("flag", sizes, 2))])
    engine = [(s, s / targets.COPY_ENGINE_GB_PER_S / 1e3) for s in sizes]
    for operation in ("put", "get", "put_on_stream", "get_on_stream", "put_signal_on_stream"):
        add(f"host-{operation}.svg", f"{TITLES[operation]}, called by the host: time by size", "µs",
            curves(record, rows, {"program": "host", "operation": [operation]}, "mode",
                   ["single", "pipelined", "graph"]), [limit("copy engine", engine)])
    for operation in sorted({r["operation"] for r in rows if r["program"] == "coll"}):
        wanted = {"program": "coll", "operation": [operation]}
        add(f"coll-{operation}.svg", f"{operation} in a kernel: time by size", "µs",
            curves(record, rows, wanted, "group", groups), [])
        add(f"coll-{operation}-stream.svg", f"{operation} on a stream: time by size", "µs",
            curves(record, rows, {**wanted, "group": "stream"}, "mode", ["single", "pipelined", "graph"]), [])
    return charts


# ---- command line -------------------------------------------------------------------------------

def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="folder that meson built in")
    parser.add_argument("--pes", type=int, default=2, help="how many PEs")
    parser.add_argument("--passes", type=int, default=3, help="how often both are run")
    parser.add_argument("--programs", type=lambda text: text.split(","), default=PROGRAMS,
                        help="comma-separated, of " + ",".join(PROGRAMS + ON_REQUEST))
    parser.add_argument("--first", default="cuda", help="the programs' suffix: cuda, cpu, nvshmem, for coll also nccl")
    parser.add_argument("--second", default="nvshmem")
    parser.add_argument("--output", default="comparison", help="folder of the results")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one program")
    parser.add_argument("--quick", action="store_true", help="does it work, not how fast it is")
    parser.add_argument("--load", help="report on this comparison.json instead of running")
    parser.add_argument("--charts", help="draw the charts of this CSV, and nothing else")
    parser.add_argument("rest", nargs="*", help="after --: options of the programs")
    options = parser.parse_args(arguments)
    unknown = [p for p in options.programs if p not in PROGRAMS + ON_REQUEST]
    if unknown:
        parser.error("no such program: " + ", ".join(unknown))
    if options.pes < 1 or options.passes < 1:
        parser.error("--pes and --passes are at least 1")
    return options


def main():
    options = parse(sys.argv[1:])
    if options.charts:
        output = pathlib.Path(options.output)
        output.mkdir(parents=True, exist_ok=True)
        for name, drawn in make_charts(*read_csv(options.charts)).items():
            (output / name).write_text(drawn)
        return 0
    if options.load:
        record = json.loads(pathlib.Path(options.load).read_text())
    else:
        record = run_all(options)
    rows, alone = compare_rows(record)
    judged = [judge(target, rows) for target in targets.TARGETS]
    record.update(comparison=rows, targets=judged)  # targets: for gshmem beside NVSHMEM on H200s
    print_rows(record, rows, alone)
    if record["sides"] == ["cuda", "nvshmem"]:
        print_targets(judged)
    output = pathlib.Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    charts = make_charts(record, rows)
    for name, drawn in charts.items():
        (output / name).write_text(drawn)
    (output / "comparison.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"\n{output}: comparison.json and {len(charts)} charts")
    for failure in record["failures"]:
        print(f"failed: {failure}")
    return 1 if record["failures"] or not rows else 0


sys.exit(main())
