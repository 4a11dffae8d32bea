#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times recipes that train detectors, one thread, sample by sample: torchvision's v2 classes on PIL images with boxes,
labels and masks, and Motley's file of the same recipe through motley.Follow on the same pictures as arrays.

    PYTHONPATH=BUILD_DIR/bindings/python bench/detection.py [--rounds N] [--out FILE.json]

Run it by a Python with torchvision. Times are of the process's CPU, and the subjects alternate, so that a busy machine
slows all of them alike; each ratio is the median of the rounds' ratios. Without masks and with one for each of 7 boxes,
pictures of 640x480. About two minutes with 5 rounds."""

import argparse
import json
import operator
import pathlib
import statistics
import time

import numpy as np
import PIL
import torch
import torchvision
from compare_pillow import paint
from conditions import PYTHON_PATHS, ROOT, conditions
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

import motley

WIDTH, HEIGHT, BOXES, PICTURES = 640, 480, 7, 24


def samples(masks):
    """Pictures with boxes, labels and, if wanted, masks; as torchvision's classes take them, and as arrays."""
    random, theirs, ours = np.random.default_rng(1), [], []
    for image in (np.ascontiguousarray(image[:HEIGHT]) for image in paint(WIDTH, PICTURES)):
        corners = np.sort(random.random((BOXES, 2, 2)), 1) * [WIDTH, HEIGHT]
        boxes, labels = corners.reshape(-1, 4).astype(np.float32), np.arange(BOXES)
        planes = (random.random((BOXES, HEIGHT, WIDTH)) < 0.5).astype(np.uint8)
        sample = {"boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(HEIGHT, WIDTH))}
        sample["labels"] = torch.from_numpy(labels)
        own = {"image": image, "boxes": boxes, "labels": labels}
        if masks:
            sample["masks"], own["masks"] = tv_tensors.Mask(torch.from_numpy(planes)), planes
        theirs.append((Image.fromarray(image), sample))
        ours.append(own)
    return theirs, ours


def dfine():
    return v2.Compose([
        v2.RandomPhotometricDistort(p=0.5), v2.RandomZoomOut(fill=0), v2.RandomApply([v2.RandomIoUCrop()], p=0.8),
        v2.SanitizeBoundingBoxes(min_size=1), v2.RandomHorizontalFlip(), v2.Resize([640, 640]),
        v2.PILToTensor(), v2.ToDtype(torch.float32, scale=True), v2.SanitizeBoundingBoxes(min_size=1),
    ])  # fmt: skip


def seconds(call):
    begin = time.process_time()
    call()
    return time.process_time() - begin


def measure(masks, rounds):
    theirs, ours = samples(masks)
    labels = ("labels", "masks") if masks else ("labels",)
    following = {"boxes": motley.follow.Boxes(rule="torchvision", min_side=1, min_area=1, label_fields=labels)}
    if masks:
        following["masks"] = motley.follow.Mask()
    recipe, follow = dfine(), motley.Follow(motley.Transform("dfine_l", threads=1), following)
    ids = iter(range(1 << 30))
    subjects = {
        "torchvision": lambda: [recipe(*sample) for sample in theirs],
        "motley": lambda: [follow(sample, sample_ids=next(ids), epoch=0) for sample in ours],
    }
    times = {name: [] for name in subjects}
    for _ in range(rounds + 1):  # the first one warms up
        for name, call in subjects.items():
            times[name].append(seconds(call) / PICTURES)
    row = {"recipe": "dfine_l", "masks": BOXES if masks else 0}
    for name, found in times.items():
        row[f"{name}_ms"] = round(statistics.median(found[1:]) * 1e3, 2)
    row["times"] = round(statistics.median(map(operator.truediv, times["torchvision"][1:], times["motley"][1:])), 1)
    print(row, flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    versions = {"torchvision": torchvision.__version__.split("+")[0], "pillow": PIL.__version__}
    run = {**conditions(PYTHON_PATHS), **versions}
    run["rows"] = [measure(masks, options.rounds) for masks in (False, True)]
    out = options.out or ROOT / f"bench/results/{run['date']}-detection.json"
    out.write_text(json.dumps(run, indent=1) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
