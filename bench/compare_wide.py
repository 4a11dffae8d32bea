#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times operations on one image, 224x224, of 13 bands of float32 and uint16 and of 9 of uint8, one thread, in turns
with torchvision v2, Kornia and albumentations, where these have the operation, and with a copy of the image.

    .venv-torch/bin/pip install --target PEERS --no-deps kornia kornia_rs albumentations==2.0.8 albucore==0.0.24 \\
        "stringzilla<4" simsimd pydantic pydantic_core typing-extensions annotated-types typing-inspection scipy
    PYTHONPATH=BUILD/bindings/python:PEERS .venv-torch/bin/python3 bench/compare_wide.py [--rounds N] [--out JSON]

torchvision takes 1 or 3 channels in some operations: it gets the bands as a batch of grey images, in all of them.
Kornia takes float32 of 0..1 alone, albumentations that and uint8, in HWC; the others work in CHW. Only Motley's and
torchvision's values are equal. Writes one JSON file, of which bench/tables.py makes the table of doc/benchmarks.md."""

import argparse
import json
import pathlib
import time
import warnings

import numpy
import torch
import torchvision
from torchvision.transforms.v2 import functional as F

import motley
from conditions import PYTHON_PATHS, ROOT, conditions
from motley import ops

warnings.simplefilter("ignore")  # of peers at their import
try:
    import kornia
    import kornia.geometry.transform as moves
    from kornia import enhance
except ImportError:
    kornia = None
try:
    import albumentations
    import cv2
except ImportError:
    albumentations = None

BANDS, BYTES, SIDE = 13, 9, 224
SCALES = {torch.float32: 1, torch.uint16: 65535, torch.uint8: 255}
NEAREST, BILINEAR = F.InterpolationMode.NEAREST, F.InterpolationMode.BILINEAR


def peers(x):
    """name: (Motley's call, torchvision's, Kornia's, albumentations') on the image; None: not there."""
    scale = SCALES[x.dtype]
    grey = x[:, None]
    floats = kornia is not None and scale == 1
    one, ours = x[None], {"threads": 1, "out": torch.empty_like(x)}
    angle = torch.tensor([30.0])
    hwc = numpy.ascontiguousarray(x.permute(1, 2, 0).numpy()) if x.dtype != torch.uint16 else None

    def theirs(make):
        if albumentations is None or hwc is None:
            return None
        transform = make(albumentations)
        return lambda: transform(image=hwc)

    return {
        "copy": (lambda: ours["out"].copy_(x), None, None, None),
        "flip_lr": (
            lambda: ops.flip_lr(x, **ours),
            lambda: F.horizontal_flip(grey),
            floats and (lambda: moves.hflip(one)),
            theirs(lambda a: a.HorizontalFlip(p=1)),
        ),
        "invert": (
            lambda: ops.invert(x, **ours),
            lambda: F.invert(grey),
            floats and (lambda: enhance.invert(one)),
            theirs(lambda a: a.InvertImg(p=1)),
        ),
        "brightness": (
            lambda: ops.brightness(x, 1.3, **ours),
            lambda: F.adjust_brightness(grey, 1.3),
            floats and (lambda: enhance.adjust_brightness(one, 0.3)),
            theirs(lambda a: a.RandomBrightnessContrast((0.3, 0.3), (0, 0), p=1)),
        ),
        "contrast": (
            lambda: ops.contrast(x, 1.3, **ours),
            lambda: F.adjust_contrast(grey, 1.3),
            floats and (lambda: enhance.adjust_contrast_with_mean_subtraction(one, 1.3)),
            theirs(lambda a: a.RandomBrightnessContrast((0, 0), (0.3, 0.3), p=1)),
        ),
        "solarize": (
            lambda: ops.solarize(x, 128, **ours),
            lambda: F.solarize(grey, 128 / 255 * scale),
            floats and (lambda: enhance.solarize(one, 0.5)),
            theirs(lambda a: a.Solarize(threshold_range=(0.5, 0.5), p=1)),
        ),
        "posterize": (
            lambda: ops.posterize(x, 4, **ours),
            lambda: F.posterize(grey, 4),
            floats and (lambda: enhance.posterize(one, 4)),
            None,
        ),
        "auto_contrast": (lambda: ops.auto_contrast(x, **ours), lambda: F.autocontrast(grey), None, None),
        "equalize": (
            lambda: ops.equalize(x, **ours),
            lambda: F.equalize(grey),
            floats and (lambda: enhance.equalize(one)),
            None,
        ),
        "sharpness": (
            lambda: ops.sharpness(x, 1.5, **ours),
            lambda: F.adjust_sharpness(grey, 1.5),
            floats and (lambda: enhance.sharpness(one, 1.5)),
            None,
        ),
        "rotate, nearest": (
            lambda: ops.rotate(x, 30, **ours),
            lambda: F.rotate(grey, 30, NEAREST),
            floats and (lambda: moves.rotate(one, angle, mode="nearest")),
            theirs(lambda a: a.Rotate((30, 30), interpolation=cv2.INTER_NEAREST, p=1)),
        ),
        "rotate, bilinear": (
            lambda: ops.rotate(x, 30, interpolation="bilinear", **ours),
            lambda: F.rotate(grey, 30, BILINEAR),
            floats and (lambda: moves.rotate(one, angle)),
            theirs(lambda a: a.Rotate((30, 30), interpolation=cv2.INTER_LINEAR, p=1)),
        ),
        "resize to 128, bilinear": (
            lambda: ops.resize(x, (128, 128), threads=1),
            lambda: F.resize(grey, [128, 128], BILINEAR, antialias=True),
            floats and (lambda: moves.resize(one, (128, 128), antialias=True)),
            None,
        ),
    }


def microseconds(function, calls):
    start = time.process_time()
    for _ in range(calls):
        function()
    return (time.process_time() - start) / calls * 1e6


def least(functions, rounds):
    """The least mean time of each over the rounds, in which they take turns; None where there is none."""
    times = []
    for _ in range(rounds + 1):  # the first warms up
        times.append([microseconds(each, 5) if each else None for each in functions])
    return [None if own[0] is None else round(min(own[1:]), 1) for own in zip(*times)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if albumentations:
        cv2.setNumThreads(1)
    rng, rows = numpy.random.default_rng(7), []
    floats = torch.from_numpy(rng.random((BANDS, SIDE, SIDE), dtype=numpy.float32))
    for x in floats, (floats * 65535).to(torch.uint16), (floats[:BYTES] * 255).to(torch.uint8):
        dtype = str(x.dtype).split(".")[-1]
        for name, functions in peers(x).items():
            us = dict(zip(("motley", "torchvision", "kornia", "albumentations"), least(functions, args.rounds)))
            rows.append({"dtype": dtype, "op": name, "us": us})
            print(dtype, name, us, flush=True)
    result = {
        **conditions(PYTHON_PATHS),
        "torch": torch.__version__,
        "torchvision": torchvision.__version__,
        "kornia": getattr(kornia, "__version__", None),
        "albumentations": getattr(albumentations, "__version__", None),
        "motley": motley.__version__,
        "image": f"{BANDS} x {SIDE}x{SIDE}, of uint8 {BYTES} x {SIDE}x{SIDE},",
        "rounds": args.rounds,
        "rows": rows,
    }
    out = args.out or ROOT / "bench/results" / f"{result['date']}-wide.json"
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
