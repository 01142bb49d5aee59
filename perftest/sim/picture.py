#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of simulated jobs: what grows with the number of PEs, and how.

    picture.py --sim=build/perftest/sim/sim --csv=FILE [--pes=8,64,512,...] [OPTION of sim ...]
    picture.py --charts=FOLDER FILE

The first runs a job of each size, and keeps what sim says of each phase. The second draws the phases' times, and the
bytes that a PE sends and has, over the number of PEs; both axes are logarithmic."""

import argparse
import csv
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import svg  # noqa: E402

LINES = ["solid", "dashed"]


def count_text(value):
    return f"{value / 1024:g} Ki" if value >= 1024 and value % 1024 == 0 else f"{value:g}"


def points_of(rows, phase, value):
    return [(int(row["pes"]), value(row)) for row in rows if phase in (None, row["phase"])]


def draw(rows, title, y_label, value):
    phases = list(dict.fromkeys(row["phase"] for row in rows))
    series = [{"name": phase, "colour": svg.COLOURS[i % len(svg.COLOURS)], "line": LINES[i // len(svg.COLOURS) % 2],
               "points": points_of(rows, phase, value)} for i, phase in enumerate(phases)]
    return svg.chart(title, y_label, series, "PEs", count_text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sim")
    parser.add_argument("--csv")
    parser.add_argument("--pes", default="8,64,512,4096,32768,100000")
    parser.add_argument("--charts")
    parser.add_argument("table", nargs="?")
    args, more = parser.parse_known_args()
    if args.sim:
        pathlib.Path(args.csv).unlink(missing_ok=True)
        for n in args.pes.split(","):
            subprocess.run([args.sim, "-n", n, f"--csv={args.csv}", *more], check=True, stdout=subprocess.DEVNULL)
    if args.charts:
        with open(args.table or args.csv, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        folder = pathlib.Path(args.charts)
        folder.mkdir(parents=True, exist_ok=True)
        pictures = {
            "sim-time.svg": ("Time of each phase", "us", lambda row: int(row["ns"]) / 1000),
            "sim-sent.svg": ("Sent by a PE, or by the rendezvous, in each phase", "KiB",
                             lambda row: int(row["sent_bytes"]) / 1024),
            "sim-memory.svg": ("Memory that a PE keeps, or has for a call, in each phase", "KiB",
                               lambda row: (int(row["kept_bytes"]) + int(row["call_bytes"])) / 1024),
        }
        for name, (title, y_label, value) in pictures.items():
            (folder / name).write_text(draw(rows, title, y_label, value), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
