#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Motley's operations beside albumentations' (OpenCV): one 224x224 RGB array a call, one thread, in turns.

    python3 -m venv VENV && VENV/bin/pip install albumentations==2.0.8 opencv-python-headless cffi
    PYTHONPATH=BUILD/bindings/python VENV/bin/python bench/compare_albumentations.py BUILD [--rounds N] [--out JSON]

Three times of each: albumentations' transform and the function of motley.ops, both as Python calls them on an array,
and the C library's call on one image, which is what remains without Python. The two libraries compute alike, not the
same: only Motley's bytes are Pillow's. Writes one JSON file, of which bench/tables.py makes the
table of doc/benchmarks.md."""

import argparse
import json
import pathlib
import subprocess
import time

import albumentations
import cv2
import numpy

import motley
from conditions import PYTHON_PATHS, ROOT, conditions

SIDE = 224
CALLS = 20  # a turn of each: their mean processor time; the least of all turns counts
JITTER = {"brightness": (1, 1), "contrast": (1, 1), "saturation": (1, 1), "hue": (0, 0)}
# op: (its value, what albumentations calls it). Named as there, with fixed parameters and p=1.
PAIRS = {
    "flip_lr": (None, albumentations.HorizontalFlip(p=1)),
    "flip_ud": (None, albumentations.VerticalFlip(p=1)),
    "invert": (None, albumentations.InvertImg(p=1)),
    "posterize": (4, albumentations.Posterize(num_bits=(4, 4), p=1)),
    "solarize": (128, albumentations.Solarize(threshold_range=(0.5, 0.5), p=1)),
    "grayscale": (None, albumentations.ToGray(p=1)),
    "desaturate": (0.5, albumentations.ColorJitter(**{**JITTER, "saturation": (0.5, 0.5)}, p=1)),
    "brightness": (1.3, albumentations.RandomBrightnessContrast((0.3, 0.3), (0, 0), p=1)),
    "contrast": (1.3, albumentations.ColorJitter(**{**JITTER, "contrast": (1.3, 1.3)}, p=1)),
    "color": (1.5, albumentations.ColorJitter(**{**JITTER, "saturation": (1.5, 1.5)}, p=1)),
    "equalize": (None, albumentations.Equalize(p=1)),
    "auto_contrast": (None, albumentations.AutoContrast(p=1)),
    "gaussian_blur": (2, albumentations.GaussianBlur(sigma_limit=(2, 2), blur_limit=(0, 0), p=1)),
}


def paint():
    """Smooth shapes with noise: statistics and tables see values like a photograph's."""
    y, x = numpy.mgrid[0:SIDE, 0:SIDE] / SIDE
    noise = numpy.random.default_rng(7).normal(0, 6, (3, SIDE, SIDE))
    planes = [120 + 55 * (numpy.sin(5 * x + c) + numpy.cos(4 * y - c)) + noise[c] for c in range(3)]
    return numpy.ascontiguousarray(numpy.clip(numpy.stack(planes, axis=-1), 0, 255).astype(numpy.uint8))


def microseconds(function):
    start = time.process_time()
    for _ in range(CALLS):
        function()
    return (time.process_time() - start) / CALLS * 1e6


def in_c(build, op, value):
    """The least of many runs of `motley bench` on one image."""
    named = op if value is None else f"{op}={value}"
    command = [
        build / "tools/motley",
        "bench",
        "--op",
        named,
        "--batch",
        "1",
        "--threads",
        "1",
        "--size",
        f"{SIDE}x{SIDE}",
        "--runs",
        "401",
        "--json",
    ]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(3)]
    return min(json.loads(text)["us_low"] for text in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    cv2.setNumThreads(1)
    image, rows = paint(), []
    for op, (value, transform) in PAIRS.items():
        function = getattr(motley.ops, op)
        turns = [
            (microseconds(lambda: transform(image=image)), microseconds(lambda: function(image, value, threads=1)))
            for _ in range(args.rounds + 1)
        ][1:]  # the first warms up
        theirs, ours = (round(min(turn), 2) for turn in zip(*turns))
        rows.append(
            {
                "op": op,
                "value": value,
                "transform": type(transform).__name__,
                "albumentations_us": theirs,
                "motley_us": ours,
                "c_us": in_c(args.build, op, value),
                "times_faster": round(theirs / ours, 2),
            }
        )
        print(
            "{op}: albumentations {albumentations_us} us, motley.ops {motley_us} us, in C {c_us} us".format(**rows[-1]),
            flush=True,
        )
    result = {
        **conditions(PYTHON_PATHS),
        "albumentations": albumentations.__version__,
        "opencv": cv2.__version__,
        "rounds": args.rounds,
        "rows": rows,
    }
    out = args.out or ROOT / "bench/results" / f"{result['date']}-albumentations.json"
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
