#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times one transform of a script: torchvision's and timm's on PIL images, Motley's for them on the same images (its
class of the same name, timm's string, or fuse() of the transform), and Motley's policies on the same images as a batch
of arrays. One thread, called image by image. (compare_transforms.py times whole transforms.)

    PYTHONPATH=BUILD_DIR/bindings/python bench/dropins.py [--rounds N] [--out FILE.json]

Run it by the Python whose torchvision, timm and Pillow are to be measured: FILE keeps the runs of other versions beside
this one. Times are of the process's CPU, and the subjects alternate, so that a busy machine slows all of them alike;
each ratio is the median of the rounds' ratios. A call on an image of one pixel shows what a call costs beside the
pixels. bench/tables.py turns FILE into the tables of the documents. About two minutes with 9 rounds."""

import argparse
import itertools
import json
import operator
import pathlib
import random
import statistics
import time

import numpy
import PIL
import torch
import torchvision
from PIL import Image
from torchvision import transforms

import motley
import motley.torchvision
from compare_pillow import paint
from conditions import PYTHON_PATHS, ROOT, conditions

try:
    import timm
    from timm.data import auto_augment
except ImportError:
    timm = None

POLICIES = ["RandAugment", "TrivialAugmentWide", "AutoAugment"]
CONFIGS = ["rand-m9-mstd0.5-inc1", "v0r", "original", "3a", "augmix-m3-w3", "augmix-m3-w3-b1"]
CALLS = 2000  # on one pixel, in a round
KINDS = {"rand": "rand_augment_transform", "augmix": "augment_and_mix_transform"}  # else auto_augment_transform
PHOTO = 500, 375  # width and height of what RandomResizedCrop is given
CROPPING = [("RandomResizedCrop", {"size": 224})]
RECIPE = [
    ("RandomGrayscale", {"p": 1}),
    ("GaussianBlur", {"kernel_size": 9}),
    ("ColorJitter", {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4}),
    ("ColorJitter", {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}),
]


def policies():
    """name, theirs, ours, a stage for arrays"""
    for name in POLICIES:
        for interpolation in ("nearest", "bilinear"):
            keywords = {"interpolation": transforms.InterpolationMode(interpolation)}
            yield (
                f"{name}, {interpolation}",
                getattr(transforms, name)(**keywords),
                getattr(motley.torchvision, name)(**keywords),
                getattr(motley, name)(**keywords, threads=1),
            )


def larger_policies():
    """The same, for the larger images only."""
    yield "AugMix", transforms.AugMix(), motley.torchvision.AugMix(), motley.Transform("augmix", threads=1)
    for config in CONFIGS if timm else []:
        hparams = {"translate_const": 100, "img_mean": (124, 116, 104)}  # as timm.data.create_transform gives them
        kind = KINDS.get(config.split("-")[0], "auto_augment_transform")
        ours = motley.from_timm(config, hparams, threads=1)
        yield "timm " + config, or_as_it_is(getattr(auto_augment, kind)(config, dict(hparams))), ours, ours


def parts(listed):
    for name, keywords in listed:
        shown = ", ".join(f"{key}={value}" for key, value in keywords.items())
        transform = getattr(transforms, name)(**keywords)
        yield f"fuse({name}({shown}))", transform, motley.torchvision.fuse(transform), None


def or_as_it_is(transform):
    """timm posterizes to 0 bits at times, which Pillow refuses from 12 on: that costs timm nothing here."""

    def call(image):
        try:
            return transform(image)
        except ValueError:
            return image

    return call


def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def each(transform, images):
    for image in images:  # a result makes way for the next one, as a pipeline's do
        transform(image)


def measure(arrays, rounds, name, theirs, ours, stage):
    images, count = [Image.fromarray(array) for array in arrays], len(arrays)
    turns = []
    for turn in range(rounds + 1):
        works = [lambda: each(theirs, images), lambda: each(ours, images)]
        if stage:
            works.append(lambda: stage(arrays, sample_ids=range(turn * count, (turn + 1) * count), epoch=0))
        turns.append([seconds(work) for work in works])
    times = [[us * 1e6 / count for us in column] for column in zip(*turns[1:])]  # of each; the first turn warms up
    height, width = arrays[0].shape[:2]
    row = {"transform": name, "size": f"{width}x{height}", "images": count}
    for who, found in zip(("theirs", "dropin", "batch"), times):
        row[who + "_us"] = round(statistics.median(found), 1)
        if found is not times[0]:
            row[who + "_times"] = round(statistics.median(map(operator.truediv, times[0], found)), 2)
    print(row, flush=True)
    return row


def measure_calls(rounds):
    """Microseconds of a call on one pixel: the least of the rounds."""
    nothing = motley.Transform("motley: 1\nname: nothing\nbranches: [identity]\n", threads=1)
    dropin = motley.torchvision.RandAugment()
    array = numpy.zeros((1, 1, 3), numpy.uint8)
    images = {
        "NumPy array": array,
        "PIL image": Image.fromarray(array).copy(),
        "torch tensor": torch.zeros(3, 1, 1).byte(),
    }
    rows = []
    for kind, image in images.items():
        calls = {"stage": nothing, "op": lambda image: motley.ops.invert(image, threads=1)}
        if kind != "NumPy array":  # which torchvision's transforms do not take
            calls["dropin"] = dropin
        row = {"image": kind}
        for name, call in calls.items():
            times = [seconds(lambda: each(call, [image] * CALLS)) for _ in range(rounds + 1)]
            row[name + "_us"] = round(min(times) / CALLS * 1e6, 1)
        print(row, flush=True)
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    random.seed(1)
    run = {
        **conditions(PYTHON_PATHS),
        "torchvision": torchvision.__version__.split("+")[0],
        "pillow": PIL.__version__,
        "timm": timm.__version__ if timm else None,
        "rows": [],
    }
    photos = [numpy.ascontiguousarray(image[: PHOTO[1]]) for image in paint(PHOTO[0], 32)]
    groups = [
        (paint(224, 64), (policies(), larger_policies(), parts(RECIPE))),
        (photos, [parts(CROPPING)]),
        (paint(32, 512), [policies()]),
    ]
    for arrays, subjects in groups:
        run["rows"] += [measure(arrays, options.rounds, *subject) for subject in itertools.chain(*subjects)]
    run["calls"] = measure_calls(options.rounds)
    out = options.out or ROOT / f"bench/results/{run['date']}-dropins.json"
    runs = json.loads(out.read_text())["runs"] if out.exists() else []
    key = ("torchvision", "pillow")
    runs = [other for other in runs if [other[k] for k in key] != [run[k] for k in key]] + [run]
    runs.sort(key=lambda other: [int(part) for part in other["pillow"].split(".")], reverse=True)
    out.write_text(json.dumps({"runs": runs}, indent=1) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
