#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes doc/ops.md, the table of operations, out of the library's own: op_table.py MOTLEY >doc/ops.md"""

import json
import subprocess
import sys


def span(op):
    if not op["values_max"]:
        return ""
    count = "" if op["values_max"] == 1 else f"; {op['values_min']} to {op['values_max']} values"
    count = ", whole" + count if op.get("whole") else count
    return f"{op['minimum']:g} to {op['maximum']:g}{count}" if "minimum" in op else count.lstrip("; ")


def main():
    ops = json.loads(subprocess.run([sys.argv[1], "ops", "--json"], check=True, capture_output=True).stdout)
    print("# The operations\n")
    print("Every operation of the table, as `motley ops --json` lists it; `tools/op_table.py` writes this page.")
    colours = ", ".join(f"`{op['name']}`" for op in ops if op["shape"] == "color")
    print(
        "\nImages of 2 or 4 channels have bands, unless the call says that the last one is alpha (`motley_batch.alpha`,"
        "\nPython's `alpha=True`, PIL images of modes LA and RGBA). Each band is worked on as a grey image. What needs"
        f"\nthree colours ({colours}, and the stages' hue and `to_rgb`) changes RGB only,"
        "\nwith or without alpha."
    )
    print("\n| op | what it does | range | unit | shape | equals | paper |\n|---|---|---|---|---|---|---|")
    for op in ops:
        cells = [
            f"`{op['name']}`",
            op["summary"],
            span(op),
            op["unit"],
            op["shape"],
            op["matches"],
            op.get("paper", ""),
        ]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
