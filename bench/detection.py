#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times recipes that train detectors, one thread, sample by sample: torchvision's v2 classes on PIL images with boxes,
labels and masks, albumentations (OpenCV) on the same pictures as arrays, and Motley's file of the recipe through
motley.Follow on these arrays. albumentations has neither zoom-out nor crops by IoU nor DETR's size crop: what its users
write instead takes their places (ALIKE), so its times are of like work, not of the same.

    PYTHONPATH=BUILD_DIR/bindings/python bench/detection.py [--rounds N] [--out FILE.json]

Run it by a Python with torchvision and, if it is to be timed too, albumentations 2.0.8. Times are of the process's CPU,
and the subjects alternate, so that a busy machine slows all of them alike; each ratio is the median of the rounds'
ratios. Without masks and with one for each of 7 boxes, pictures of 640x480. A minute or two with 5 rounds."""

import argparse
import functools
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

try:
    import albumentations as A
    import cv2
    from albumentations.pytorch import ToTensorV2
except ImportError:
    A = None

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


FLOATS = v2.PILToTensor(), v2.ToDtype(torch.float32, scale=True)
SANITIZED = v2.SanitizeBoundingBoxes(min_size=1)
FILL = {tv_tensors.Mask: 0, "others": (123, 117, 104)}
SIDES = list(range(480, 801, 32))


def ssd():
    return v2.Compose([
        v2.RandomPhotometricDistort(), v2.RandomZoomOut(fill=FILL), v2.RandomIoUCrop(), v2.RandomHorizontalFlip(),
        *FLOATS, SANITIZED,
    ])  # fmt: skip


def ssdlite():
    return v2.Compose([v2.RandomIoUCrop(), v2.RandomHorizontalFlip(), *FLOATS, SANITIZED])


def lsj():
    return v2.Compose([
        v2.ScaleJitter((1024, 1024), antialias=True), v2.RandomCrop((1024, 1024), pad_if_needed=True, fill=FILL),
        v2.RandomHorizontalFlip(), *FLOATS, SANITIZED,
    ])  # fmt: skip


def multiscale():
    sizes = v2.RandomShortestSize(SIDES, max_size=1333)
    return v2.Compose([sizes, v2.RandomHorizontalFlip(), *FLOATS, SANITIZED])


class SizeCrop(v2.Transform):
    """DETR's RandomSizeCrop, of v2's parts."""

    def make_params(self, inputs):
        height, width = v2._utils.query_size(inputs)
        w, h = (int(torch.randint(min(384, side), min(side, 600) + 1, ())) for side in (width, height))
        top, left = (int(torch.randint(0, most + 1, ())) for most in (height - h, width - w))
        return {"top": top, "left": left, "height": h, "width": w}

    def transform(self, inpt, params):
        return self._call_kernel(v2.functional.crop, inpt, **params)


def detr():
    sizes = v2.RandomShortestSize(SIDES, max_size=1333)
    cropped = v2.Compose([v2.RandomShortestSize([400, 500, 600]), SizeCrop(), sizes])
    return v2.Compose([
        v2.RandomHorizontalFlip(), v2.RandomChoice([sizes, cropped]), *FLOATS,
        v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]), SANITIZED,
    ])  # fmt: skip


def dfine():
    return v2.Compose([
        v2.RandomPhotometricDistort(p=0.5), v2.RandomZoomOut(fill=0), v2.RandomApply([v2.RandomIoUCrop()], p=0.8),
        SANITIZED, v2.RandomHorizontalFlip(), v2.Resize([640, 640]), *FLOATS, SANITIZED,
    ])  # fmt: skip


RECIPES = {"dfine_l": dfine, "tv_ssd": ssd, "tv_ssdlite": ssdlite, "tv_lsj": lsj, "tv_multiscale": multiscale}
RECIPES |= {"detr": detr}


def alike():
    """The recipes as albumentations has them."""
    distort = A.ColorJitter((0.875, 1.125), (0.5, 1.5), (0.5, 1.5), (-0.05, 0.05), p=0.5)
    zoom_out = A.CropAndPad(percent=(0, 1.5), keep_size=False, fill=(123, 117, 104), p=0.5)
    crop, flip = A.BBoxSafeRandomCrop(p=0.8), A.HorizontalFlip()
    sizes = A.SmallestMaxSize(SIDES)
    scale = A.RandomScale((0.16 - 1, 3.2 - 1), p=1)  # a side of 640 becomes 0.1 to 2 times 1024
    fixed = A.RandomCrop(1024, 1024, pad_if_needed=True, fill=(123, 117, 104))
    cropped = A.Sequential([A.SmallestMaxSize([400, 500, 600]), A.RandomCrop(384, 500), sizes], p=1)
    return {
        "dfine_l": [distort, zoom_out, crop, flip, A.Resize(640, 640)],
        "tv_ssd": [distort, zoom_out, crop, flip],
        "tv_ssdlite": [crop, flip],
        "tv_lsj": [scale, fixed, flip],
        "tv_multiscale": [sizes, flip],
        "detr": [flip, A.OneOf([sizes, cropped], p=1), A.Normalize()],
    }


def albumentations(name):
    """A call with one of our samples."""
    steps = alike()[name] + [A.ToFloat(255)] * (name != "detr") + [ToTensorV2()]
    boxes = A.BboxParams("pascal_voc", label_fields=["labels"], min_width=1, min_height=1)
    compose = A.Compose(steps, bbox_params=boxes)

    def call(sample):
        more = {"masks": sample["masks"]} if "masks" in sample else {}
        return compose(image=sample["image"], bboxes=sample["boxes"], labels=sample["labels"], **more)

    return call


def seconds(call):
    begin = time.process_time()
    call()
    return time.process_time() - begin


def each(call, samples):
    """Calls with one sample after the other. Results give their memory back, as in a loop that trains."""
    for sample in samples:
        call(sample)


def measure(name, masks, rounds):
    theirs, ours = samples(masks)
    labels = ("labels", "masks") if masks else ("labels",)
    following = {
        "boxes": motley.follow.Boxes(
            rule="torchvision", min_side=1, min_area=1, before_resize=name == "dfine_l", label_fields=labels
        )
    }
    if masks:
        following["masks"] = motley.follow.Mask()
    recipe, follow = RECIPES[name](), motley.Follow(motley.Transform(name, threads=1), following)
    ids = iter(range(1 << 30))
    subjects = {
        "torchvision": lambda: each(lambda sample: recipe(*sample), theirs),
        **({"albumentations": functools.partial(each, albumentations(name), ours)} if A else {}),
        "motley": lambda: each(lambda sample: follow(sample, sample_ids=next(ids), epoch=0), ours),
    }
    times = {name: [] for name in subjects}
    for _ in range(rounds + 1):  # the first one warms up
        for subject, call in subjects.items():
            times[subject].append(seconds(call) / PICTURES)
    row = {"recipe": name, "masks": BOXES if masks else 0}
    for subject, found in times.items():
        row[f"{subject}_ms"] = round(statistics.median(found[1:]) * 1e3, 2)
    for subject in times.keys() - {"motley"}:
        ratios = map(operator.truediv, times[subject][1:], times["motley"][1:])
        row[f"{subject}_times"] = round(statistics.median(ratios), 1)
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
    if A:
        cv2.setNumThreads(1)
        versions |= {"albumentations": A.__version__, "opencv": cv2.__version__}
    run = {**conditions(PYTHON_PATHS), **versions}
    run["rows"] = [measure(name, masks, options.rounds) for name in RECIPES for masks in (False, True)]
    out = options.out or ROOT / f"bench/results/{run['date']}-detection.json"
    out.write_text(json.dumps(run, indent=1) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
