#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where a CUDA function spills more registers than it may, by ptxas's report.

    NVCC_APPEND_FLAGS=-Xptxas=-v ninja -C BUILD | scripts/spills.py     the build's architectures
    scripts/spills.py --compile 75 86 120                               these: nvcc takes minutes for each

MOST has what may spill: bytes that a function loads back, at most, on any architecture. Those of the pixel loops are
before and behind a loop, or around a call in it; no innermost loop of the tile kernel has any. What is not in the table
may spill nothing."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORMATS = ["grey", "rgb", "planes", "rgba", "strided"]
FILES = [
    "kernels/cuda/breaks.cu",
    "kernels/cuda/interleave.cu",
    "kernels/cuda/mix.cu",
    "kernels/cuda/resize.cu",
    "kernels/cuda/resident_kernel.cu",
    "kernels/cuda/wide.cu",
    "dispatch/cuda/draw.cu",
    "dispatch/cuda/parts_draw.cu",
    "dispatch/cuda/transform_draw.cu",
    "followers/follow.cu",
]

MOST = {
    # pixels
    "tile_kernel": 44,  # around the functions that it calls, once for a tile; 44 on sm_75
    "interpolate_tile": 16,
    "interpolate_exactly": 32,
    "interpolate_lines": 52,  # bicubic, downwards: four weights and seven components of each channel
    "interpolate_nearly": 52,  # of planes, bicubic along both axes: in the loop
    "resident_kernel": 452,  # likewise, once for a pass
    "walk": 104,
    "walk_stencil": 80,
    "blur_lines": 84,
    "resize_kernel": 344,  # two of the 200 instructions of its loops over taps
    "resize_source_end": 68,
    "resize_with_fill": 408,  # as resize_kernel, of images that read the fill
    "fill_edge": 64,  # likewise, at a border of the fill
    "fill_last": 12,
    "store_tile_as": 8,  # sm_75, sm_86
    "load_word_before": 12,
    "fetch_tile": 4,  # sm_100
    "blur_kernel": 28,  # sm_100
    "plane_blur_kernel": 16,  # once for a plane
    "chains_kernel": 36,
    "wide_run_kernel": 396,  # around the functions that it calls, once for a task
    "wide_look_kernel": 572,  # what a task keeps for all of its bands
    "wide_resize_kernel": 152,  # likewise
    "wide_count_kernel": 88,  # likewise, on sm_100
    "wide_add": 24,  # sm_100, once for an item
    # draws and numbers, once for an image
    "draw_kernel": 28,
    "transform_draw_kernel": 364,
    "draw_places": 132,  # of an image whose places are drawn in turn
    "draw_stage": 128,
    "fill_other": 252,
    "order_images": 24,
    "wide_plan_kernel": 144,
    "planes_kernel": 64,  # of eight bytes an element, outside of its loops
}


def stem(mangled):
    """A function's own name, without its namespace and types."""
    begin = re.match(r"_ZL?(N?)", mangled)
    name, rest = mangled, mangled[begin.end() :] if begin else ""
    while length := re.match(r"L?(\d+)", rest):
        name = rest[length.end() :][: int(length[1])]
        rest = rest[length.end() + int(length[1]) :]
        if not begin[1]:
            break
    return name


def spills(report):
    """(architecture, function, bytes of spill loads) of each function in a report."""
    architecture = function = None
    for line in report:
        if found := re.search(r"Compiling entry function '\S+' for '(\w+)'", line):
            architecture = found[1]
        elif found := re.search(r"Function properties for (\S+)", line):
            function = stem(found[1])
        elif found := re.search(r"bytes spill stores, (\d+) bytes spill loads", line):
            yield architecture, function, int(found[1])


def compiled(architecture):
    """ptxas's reports of every kernel."""
    units = [(name, []) for name in FILES]
    units += [
        ("kernels/cuda/tile_kernel.cu", [f"-DMOT_FORMAT=MOT_FORMAT_{name.upper()}", f"-DMOT_FORMAT_NAME={name}"])
        for name in FORMATS
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, extra in units:
            done = subprocess.run(
                [
                    os.environ.get("NVCC", "nvcc"),
                    "-std=c++17",
                    "-O3",
                    "--fmad=false",
                    f"-arch=sm_{architecture}",
                    "-Xptxas=-v",
                    "-I",
                    ROOT,
                    "-I",
                    ROOT / "include",
                    *extra,
                    "-cubin",
                    "-o",
                    pathlib.Path(folder) / "cubin",
                    ROOT / name,
                ],
                stderr=subprocess.PIPE,
                text=True,
            )
            if done.returncode:
                sys.exit(done.stderr)
            yield from done.stderr.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", nargs="+", metavar="ARCHITECTURE", default=[])
    args = parser.parse_args()
    reports = [compiled(architecture) for architecture in args.compile] or [sys.stdin]
    functions, most, failures = 0, {}, 0
    for report in reports:
        for architecture, function, loaded in spills(report):
            functions += 1
            key = architecture, function
            most[key] = max(loaded, most.get(key, 0))
    for (architecture, function), loaded in most.items():
        if loaded > MOST.get(function, 0):
            failures += 1
            print(f"{architecture}: {function} spills {loaded} bytes, want at most {MOST.get(function, 0)}")
    if not functions:
        sys.exit("spills.py: no report of ptxas: compile with -Xptxas=-v")
    names = ", ".join(sorted({architecture for architecture, _ in most}))
    print(f"spills: {functions} functions of {names}: {failures} spill more than they may")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
