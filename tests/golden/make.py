# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/<op>.golden for every op of the table: small inputs, and what Pillow makes of them.

    tests/golden/make.py --library build/libmotley.so

The outputs come from the recipes in tests/pillow, never from the library, which is asked for the table of ops only. The
files are lines of text, each input and case followed by its raw samples (rows, pixels, channels) and a newline:

    motley-golden 1
    <what made it>
    input WIDTH HEIGHT CHANNELS
    case INPUT INTERPOLATION FILL FILL FILL FILL COUNT VALUE...      values as C99 hexadecimal floats

Pillow builds that fuse multiply-adds give other bytes: use a plain x86-64 build.
"""

import argparse
import os
import platform
import sys
import zlib

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "pillow"))

import numpy as np
import PIL

import images
import recipes
from library import Library

SIZES = [(19, 13, 3), (16, 11, 1), (12, 9, 4), (9, 7, 2), (1, 1, 3), (2, 3, 3), (3, 3, 3), (1, 17, 1)]
FILLS = [(0, 0, 0, 0), (128, 128, 128, 255), (1, 20, 255, 7)]
BIG = 8  # values for the first input and all interpolations; the others get SMALL each
SMALL = 3


def line(values):
    return np.array(values, np.uint8)[None, :, None]


# Inputs that each expose one rounding: a mean of A beside a B, a table that overflows, sums that round twice.
CANARIES = {
    "contrast": [
        (line([2, 12]), (1.2,)),
        (line([10, 50]), (1.45,)),
        (line([19, 69]), (1.72,)),
        (line([0, 20]), (0.1,)),
        (line([10] + [0] * 30), (1.9,)),
    ],
    "brightness": [(line(range(256)), (f,)) for f in (1.2, 1.45, 1.72, 0.1, 1.9)],
    "auto_contrast": [(line(range(1, 11)), ()), (line(range(19, 240)), ())],
    "equalize": [(line([7] * 509 + [200]), ()), (line([0] * 255 + [255]), ())],
    "affine": [(line(range(40)), (1.0, 0.0, recipes.TIE, 0.0, 1.0, 0.0))],
    "rotate": [(line(range(16)).reshape(4, 4, 1), (a,)) for a in (30.0, -30.0, 90.0, -90.0, 180.0, -1e-20)],
}


def spread(values, count):
    return values if len(values) <= count else [values[i * (len(values) - 1) // (count - 1)] for i in range(count)]


def cases_of(name, r):
    """(array, values, interpolation, fill), a few for every mode and interpolation"""
    _, published, draw = recipes.RECIPES[name]
    interpolations = range(3) if name in recipes.WARPS else [0]
    for number, (width, height, channels) in enumerate(SIZES):
        array = images.make(r, images.noise if number % 2 else images.sinusoid, width, height, channels)
        values = spread(published, BIG) if number == 0 else [published[i] for i in r.integers(0, len(published), SMALL)]
        if draw:
            values = values + [tuple(float(v) for v in draw(r, width, height))]
        for interpolation in interpolations:
            for value in dict.fromkeys(values):
                yield array, value, interpolation, FILLS[r.integers(len(FILLS))]
    for array, value in CANARIES.get(name, []):
        for interpolation in interpolations:
            yield array, value, interpolation, FILLS[1]


def write(name, path, made_by):
    r = np.random.default_rng(zlib.crc32(name.encode()))
    inputs, body = [], b""
    for array, values, interpolation, fill in cases_of(name, r):
        if not any(array is known for known in inputs):
            inputs.append(array)
        number = next(i for i, known in enumerate(inputs) if known is array)
        image = recipes.to_pil(array)
        recipe, resample = recipes.RECIPES[name][0], recipes.FILTERS[interpolation]
        out = recipes.to_array(recipe(image, values, resample, fill[: array.shape[2]]))
        words = [number, interpolation, *fill, len(values), *(float(v).hex() for v in values)]
        body += f"case {' '.join(str(w) for w in words)}\n".encode() + out.tobytes() + b"\n"
    head = f"motley-golden 1\n{made_by}\n".encode()
    for array in inputs:
        head += f"input {array.shape[1]} {array.shape[0]} {array.shape[2]}\n".encode() + array.tobytes() + b"\n"
    with open(path, "wb") as file:
        file.write(head + body)


def cpu_family():
    """As /proc/cpuinfo names it: libm and Pillow may compute by it."""
    try:
        fields = dict(map(str.strip, entry.split(":", 1)) for entry in open("/proc/cpuinfo") if ":" in entry)
    except OSError:
        return platform.processor()
    return f"{fields.get('vendor_id', '')} family {fields.get('cpu family', '')} model {fields.get('model', '')}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", required=True, help="path of libmotley.so, for its table of ops")
    parser.add_argument("--out", default=here)
    options = parser.parse_args()
    made_by = (
        f"Pillow {PIL.__version__}, NumPy {np.__version__}, Python {platform.python_version()}, "
        f"{' '.join(platform.libc_ver())}, {platform.machine()} {cpu_family()}"
    )
    for name in Library(os.path.abspath(options.library)).op_names:
        write(name, os.path.join(options.out, f"{name}.golden"), made_by)


if __name__ == "__main__":
    main()
