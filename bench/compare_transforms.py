#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times whole transforms beside torchvision's and timm's on Pillow images: one thread, processor time, in turns.

    PYTHONPATH=BUILD_DIR/bindings/python bench/compare_transforms.py [--rounds N] [--images N] [--out FILE.json]

Decoded images of 500x375 in, a normalised float32 batch of 224x224 out, stacked as a loader stacks it. Motley gets the
same images as Pillow images and as arrays. The evaluation row is compared value by value before it is timed; the
others draw at random, and tests/pillow/test_transform.py compares their values. Writes one JSON file; bench/tables.py
makes the table of doc/benchmarks.md of it."""

import argparse
import json
import pathlib
import time

import motley
import numpy
import PIL
import timm.data
import torch
import torchvision
from compare_pillow import paint
from motley._resize import order_of
from conditions import PYTHON_PATHS, ROOT, conditions
from PIL import Image
from torchvision import transforms

WIDTH, HEIGHT = 500, 375
ORDER = order_of(PIL.__version__)
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def torchvision_train(*policy):
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            *policy,
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )


def motley_train(policy=""):
    return (
        "motley: 1\nname: train\nstages:\n"
        f"  - random_resized_crop: {{size: 224, order: {ORDER}}}\n  - flip: {{horizontal: 0.5}}\n{policy}"
        f"  - output: {{mean: {list(MEAN)}, std: {list(STD)}}}\n"
    )


def motley_eval():
    return (
        f"motley: 1\nname: eval\nstages:\n  - resize: {{size: 256, order: {ORDER}}}\n  - center_crop: {{size: 224}}\n"
        f"  - output: {{mean: {list(MEAN)}, std: {list(STD)}}}\n"
    )


def cases():
    """Name, Motley's transform, the other library's and its name."""
    resize = transforms.Compose(
        [transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    )
    timm_auto = timm.data.create_transform(224, is_training=True, auto_augment="rand-m9-mstd0.5-inc1")
    return [
        ("resize, centre crop", motley_eval(), resize, "torchvision"),
        ("crop, flip", motley_train(), torchvision_train(), "torchvision"),
        (
            "crop, flip, RandAugment(2, 9)",
            motley_train("  - policy: rand_augment\n"),
            torchvision_train(transforms.RandAugment()),
            "torchvision",
        ),
        (
            "crop, flip, TrivialAugmentWide",
            motley_train("  - policy: trivial_augment_wide\n"),
            torchvision_train(transforms.TrivialAugmentWide()),
            "torchvision",
        ),
        (
            "crop, flip, colour jitter",
            motley_train("  - jitter: {brightness: 0.4, contrast: 0.4, saturation: 0.4}\n"),
            timm.data.create_transform(224, is_training=True),
            "timm",
        ),
        ("crop, flip, rand-m9-mstd0.5-inc1", motley_train("  - policy: timm_rand_m9_mstd05_inc1\n"), timm_auto, "timm"),
    ]


def milliseconds(work, images):
    start = time.process_time()
    work()
    return (time.process_time() - start) / images * 1e3


def measure(case, arrays, pictures, rounds):
    name, text, compose, library = case
    transform = motley.Transform(text, threads=1, seed=1)
    works = {
        "theirs_ms": lambda: torch.stack([compose(picture) for picture in pictures]).numpy(),
        "motley_pillow_ms": lambda: transform(pictures),
        "motley_arrays_ms": lambda: transform(arrays),
    }
    if name == "resize, centre crop":
        for key in ("motley_pillow_ms", "motley_arrays_ms"):
            if not numpy.array_equal(works[key](), works["theirs_ms"]()):
                raise SystemExit(f"compare_transforms.py: {name}: not the values of {library}")
    turns = [{key: milliseconds(work, len(arrays)) for key, work in works.items()} for _ in range(rounds + 1)][1:]
    row = {"transform": name, "library": library}
    row.update({key: round(min(turn[key] for turn in turns), 4) for key in works})
    print(row, flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    arrays = [numpy.ascontiguousarray(image[:HEIGHT]) for image in paint(WIDTH, args.images)]
    pictures = [Image.fromarray(array) for array in arrays]
    result = {
        **conditions(PYTHON_PATHS),
        "pillow": PIL.__version__,
        "torchvision": torchvision.__version__.split("+")[0],
        "timm": timm.__version__,
        "size": f"{WIDTH}x{HEIGHT}",
        "images": args.images,
        "rounds": args.rounds,
        "rows": [measure(case, arrays, pictures, args.rounds) for case in cases()],
    }
    out = args.out or ROOT / "bench/results" / f"{result['date']}-cpu-transforms.json"
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
