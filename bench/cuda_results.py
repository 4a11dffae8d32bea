#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs bench_cuda and writes bench/results/DATE-cuda.json; bench/tables.py makes the tables from it.

    bench/cuda_results.py BUILD [--set SET] [--lines FILE] [--out FILE]

BUILD is a build directory with CUDA. --set runs one set alone, into bench/results/DATE-cuda-SET.json. --lines takes
what bench_cuda printed on another machine instead of running it."""

import argparse
import datetime
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def git(*args):
    return subprocess.run(["git", "-C", ROOT, *args], capture_output=True, text=True, check=True).stdout.strip()


def shares(rows):
    """What following costs, as a share of the images alone: the rows of the set `followers`."""
    alone = {row["name"]: row["us"] for row in rows if row["set"] == "followers" and row["how"] == "call"}
    for row in rows:
        if row["set"] == "followers" and row["how"] in ("masks", "numbers"):
            what = "a mask of each image" if row["how"] == "masks" else "32 boxes and 64 points of each image"
            yield f"{row['name']}: {what} take {100 * (row['us'] / alone[row['name']] - 1):.0f} % more"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--set", default="all")
    parser.add_argument("--lines", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    command = [args.build / "bench" / "bench_cuda", "--set", args.set]
    text = (
        args.lines.read_text()
        if args.lines
        else subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    )
    head, *rows = (json.loads(line) for line in text.splitlines())
    date = datetime.date.today().isoformat()
    result = {
        "date": date,
        "commit": git("rev-parse", "--short=12", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--untracked-files=no")),
        **head,
        "rows": rows,
    }
    out = args.out or ROOT / "bench/results" / f"{date}-cuda{'' if args.set == 'all' else '-' + args.set}.json"
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    body = json.dumps({**result, "rows": None}, indent=1).replace("null", f"[\n{lines}\n ]")
    out.write_text(body + "\n")
    for line in shares(rows):
        print(line)


if __name__ == "__main__":
    main()
