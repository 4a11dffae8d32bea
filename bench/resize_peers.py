#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pillow-SIMD and fast_image_resize for compare_resize.py and compare_one_core.py, which start this in a Python of
their own: one module cannot be Pillow and Pillow-SIMD at once.

Reads lines 'WIDTH HEIGHT OUT_WIDTH OUT_HEIGHT FILTER KIND CALLS', KIND being array or PIL, from standard input; FILTER
may also be smooth_more, which changes no size. Writes
{subject: microseconds of processor time a call} for each as a line of JSON, {} where nobody has the filter."""

import importlib.metadata
import json
import sys
import time

import cykooz_resizer
import numpy
from PIL import Image, ImageFilter

FILTERS = {"bilinear": "bilinear", "bicubic": "catmull_rom", "lanczos": "lanczos3", "box": "box"}  # their names


def versions():
    crates = importlib.metadata.distribution("cykooz-resizer").read_text("sboms/rust_lib.cyclonedx.json")
    parts = json.loads(crates)["components"]
    crate = next(part["version"] for part in parts if part["name"] == "fast_image_resize")
    return {"simd": importlib.metadata.version("pillow-simd"), "fast_image_resize": crate}


def subjects(width, height, out_width, out_height, name, kind):
    pixels = numpy.random.default_rng(7).integers(0, 256, (height, width, 3), numpy.uint8)
    picture, size = Image.fromarray(pixels), (out_width, out_height)
    if name == "smooth_more":
        return {"simd_us": lambda: picture.filter(ImageFilter.SMOOTH_MORE)}
    works, resizer = {}, cykooz_resizer.Resizer()
    if kind == "PIL":
        works["simd_us"] = lambda: picture.resize(size, getattr(Image.Resampling, name.upper()))
    how = cykooz_resizer.ResizeAlg.nearest()
    if name in FILTERS:
        how = cykooz_resizer.ResizeAlg.convolution(cykooz_resizer.FilterType[FILTERS[name]])
    elif name != "nearest":
        return works
    options = cykooz_resizer.ResizeOptions(how)
    if kind == "PIL":
        works["fir_us"] = lambda: resizer.resize_pil(picture, Image.new("RGB", size), options)
    else:
        rgb = cykooz_resizer.PixelType.U8x3
        source = cykooz_resizer.ImageData(width, height, rgb, pixels.tobytes())
        target = cykooz_resizer.ImageData(*size, rgb)
        works["fir_us"] = lambda: resizer.resize(source, target, options)
    return works


def main():
    made = {}
    print(json.dumps(versions()), flush=True)
    for line in sys.stdin:
        *case, calls = line.split()
        if made.get("case") != case:
            made = {"case": case, "works": subjects(*map(int, case[:4]), *case[4:])}
        times = {}
        for who, work in made["works"].items():
            start = time.process_time()
            for _ in range(int(calls)):
                work()
            times[who] = (time.process_time() - start) / int(calls) * 1e6
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
