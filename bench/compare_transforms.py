#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times whole transforms of scripts, before and after one line changed: one thread, processor time, in turns.

    PYTHONPATH=BUILD_DIR/bindings/python bench/compare_transforms.py [--rounds N] [--images N] [--out FILE.json]

Decoded images of 500x375 in, normalised float32 of 224x224 out. Theirs are torchvision's and timm's on Pillow images,
one by one; Motley's the same images one by one through fuse() of them, or timm's create_transform by motley.timm; and
the same as arrays in one call, which makes a batch. What draws nothing is compared value by
value before it is timed; tests/pillow/test_transform.py and the package's tests compare the others. Writes one JSON
file; bench/tables.py makes README's first figures and the tables of doc/benchmarks.md of it. About a minute."""

import argparse
import json
import pathlib
import time

import numpy
import PIL
import timm.data
import torch
import torchvision
from compare_pillow import paint
from conditions import PYTHON_PATHS, ROOT, conditions
from PIL import Image
from torchvision import transforms

import motley.timm
import motley.torchvision

WIDTH, HEIGHT = 500, 375
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
NOTHING_DRAWN = "resize, centre crop"


def torchvision_train(*policy):
    start = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()]
    return transforms.Compose([*start, *policy, transforms.ToTensor(), transforms.Normalize(MEAN, STD)])


def cases():
    """name, library, its transform, Motley's"""
    resize, crop = transforms.Resize(256), transforms.CenterCrop(224)
    for name, compose in [
        (NOTHING_DRAWN, transforms.Compose([resize, crop, transforms.ToTensor(), transforms.Normalize(MEAN, STD)])),
        ("crop, flip", torchvision_train()),
        ("crop, flip, RandAugment(2, 9)", torchvision_train(transforms.RandAugment())),
        ("crop, flip, TrivialAugmentWide", torchvision_train(transforms.TrivialAugmentWide())),
        ("crop, flip, colour jitter", torchvision_train(transforms.ColorJitter(0.4, 0.4, 0.4))),
    ]:
        yield name, "torchvision", compose, motley.torchvision.fuse(compose)
    for name, settings in [
        ("crop, flip, colour jitter", {}),
        ("crop, flip, rand-m9-mstd0.5-inc1", {"auto_augment": "rand-m9-mstd0.5-inc1"}),
    ]:
        makers = timm.data.create_transform, motley.timm.create_transform
        yield name, "timm", *(make(224, is_training=True, **settings) for make in makers)


def or_as_it_is(transform):
    """timm posterizes to 0 bits at times, which Pillow refuses from 12 on: then another draw is taken."""

    def call(image):
        while True:
            try:
                return transform(image)
            except ValueError:
                pass

    return call


def milliseconds(work, images):
    start = time.process_time()
    work()
    return (time.process_time() - start) / images * 1e3


def each(transform, pictures):
    for picture in pictures:  # a result makes way for the next one, as a pipeline's do
        transform(picture)


def measure(case, arrays, pictures, rounds):
    name, library, theirs, fused = case
    assert not fused.not_taken
    theirs = or_as_it_is(theirs)
    works = {
        "theirs_ms": lambda: each(theirs, pictures),
        "motley_fused_ms": lambda: each(fused, pictures),
        "motley_arrays_ms": lambda: fused.transform(arrays),
    }
    if name == NOTHING_DRAWN:
        wanted = torch.stack([*map(theirs, pictures)])
        for batch in torch.stack([*map(fused, pictures)]), torch.from_numpy(fused.transform(arrays)):
            if not torch.equal(wanted, batch):
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
