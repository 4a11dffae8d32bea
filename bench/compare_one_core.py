#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times calls that other libraries are fast at, beside Motley's: one image a call, one thread, in turns.

    PYTHONPATH=BUILD_DIR/bindings/python PYTHON bench/compare_one_core.py [--simd SIMD] [--rounds N] [--only TEXT]
        [--out FILE]

PYTHON has Pillow, torchvision, timm, albumentations and opencv-python-headless; SIMD is a Python with Pillow-SIMD (see
compare_resize.py, whose --peers it also is). Rows of a library that is missing are skipped, and the result names them.
The images of a row are the same for both, of 224x224, or 500x375 where they are resized. Transforms draw at random,
each library its own numbers, so a turn has 64 calls. Each time is the least of the rounds, the ratio the median of the
rounds' ratios. Writes one JSON file; bench/tables.py makes the table of doc/benchmarks.md of it. About two minutes."""

import argparse
import functools
import importlib
import json
import pathlib
import random
import statistics
import subprocess
import time

import numpy
import PIL
import torch
from compare_pillow import paint
from conditions import PYTHON_PATHS, ROOT, conditions
from PIL import Image, ImageOps

import motley

CALLS, IMAGES = 64, 4  # of a turn; so few images stay in the cache, as one that was just decoded does
MODULES = "torchvision", "timm", "albumentations", "cv2"


def found(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torchvision, timm, albumentations, cv2 = map(found, MODULES)
HPARAMS = {"translate_const": 100, "img_mean": (124, 116, 104)}  # as timm.data.create_transform gives them


def as_transform(stage):
    transform = motley.Transform('{"motley": 1, "name": "one", "stages": [%s]}' % stage, threads=1, seed=1)
    return lambda array: transform(array)


resize = functools.partial(motley.ops.resize, size=(224, 224), filter="nearest")
rotate = functools.partial(motley.ops.rotate, values=17.0)


def pillow_rows():
    """name, kind of Motley's images, size, what must be, theirs, ours"""
    nearest = Image.Resampling.NEAREST
    for name, size, must, theirs, ours in [
        ("nearest resize to 224", "photo", 1.2, lambda i: i.resize((224, 224), nearest), resize),
        ("rotate, nearest", "square", 6, lambda i: i.rotate(-17.0, nearest), rotate),
        ("equalize", "square", 5, ImageOps.equalize, motley.ops.equalize),
    ]:
        for kind in ("array", "PIL"):
            yield name, kind, size, must, theirs, functools.partial(ours, threads=1)


def torchvision_rows():
    from torchvision import transforms

    import motley.torchvision

    jitter = {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}
    for name, size, must, keywords in [
        ("RandomGrayscale", "square", 5, {"p": 1}),
        ("GaussianBlur", "square", 4, {"kernel_size": 9}),
        ("ColorJitter", "square", 5, jitter),
        ("RandomResizedCrop", "photo", 6, {"size": 224}),
        ("Resize", "photo", 1.2, {"size": (224, 224), "interpolation": transforms.InterpolationMode.NEAREST}),
    ]:
        shown = ", ".join(f"{key}={getattr(value, 'value', value)}" for key, value in keywords.items())
        transform = getattr(transforms, name)(**keywords)
        yield f"fuse({name}({shown}))", "PIL", size, must, transform, motley.torchvision.fuse(transform)


def timm_rows():
    from timm.data import auto_augment

    import motley.timm

    def or_as_it_is(transform, image):
        try:
            return transform(image)
        except ValueError:  # timm posterizes to 0 bits at times, which Pillow refuses: that costs timm nothing here
            return image

    for config in ("v0r", "original"):
        theirs = auto_augment.auto_augment_transform(config, dict(HPARAMS))
        yield config, "PIL", "square", 5, functools.partial(or_as_it_is, theirs), motley.from_timm(config, HPARAMS)
    how = {"input_size": 224, "is_training": True, "auto_augment": "rand-m9-mstd0.5-inc1"}
    theirs = functools.partial(or_as_it_is, timm.data.create_transform(**how))
    yield "create_transform", "PIL", "photo", 5, theirs, motley.timm.create_transform(**how)


def albumentations_rows():
    cv2.setNumThreads(1)
    blur = albumentations.GaussianBlur(blur_limit=(23, 23), sigma_limit=(0.1, 2.0), p=1)
    jitter = albumentations.ColorJitter((0.6, 1.4), (0.6, 1.4), (0.6, 1.4), (-0.1, 0.1), p=1)
    crop = albumentations.RandomResizedCrop(size=(224, 224), p=1)
    factors = ", ".join(f'"{name}": 0.4' for name in ("brightness", "contrast", "saturation"))
    for name, size, must, theirs, ours in [
        ("flip_ud", "square", 1, albumentations.VerticalFlip(p=1), None),
        ("invert", "square", 1, albumentations.InvertImg(p=1), None),
        ("grayscale", "square", 1, albumentations.ToGray(p=1), None),
        ("jitter with hue", "square", 0.5, jitter, '{"jitter": {%s, "hue": 0.1}}' % factors),
        ("kernel blur (23)", "square", 0.4, blur, '{"blur": {"kernel_size": 23, "sigma": [0.1, 2.0]}}'),
        ("random_resized_crop", "photo", 1, crop, '{"random_resized_crop": {"size": 224}}'),
    ]:
        ours = as_transform(ours) if ours else functools.partial(getattr(motley.ops, name), threads=1)
        yield name, "array", size, must, lambda array, t=theirs: t(image=array), ours


LIBRARIES = {
    "Pillow": (pillow_rows, [PIL]),
    "torchvision": (torchvision_rows, [torchvision]),
    "timm": (timm_rows, [timm]),
    "albumentations": (albumentations_rows, [albumentations, cv2]),
}


def microseconds(work, images):
    start = time.process_time()
    for _ in range(CALLS // IMAGES):
        for image in images:  # a result makes way for the next one, as a pipeline's do
            work(image)
    return (time.process_time() - start) / CALLS * 1e6


def measure(library, name, kind, must, rounds, theirs, ours):
    """theirs, ours: give the microseconds of a turn."""
    turns = [(theirs(), ours()) for _ in range(rounds + 1)][1:]  # the first warms up
    row = {"library": library, "row": name, "images": kind, "must": must}
    row.update({key: round(min(times), 2) for key, times in zip(("theirs_us", "motley_us"), zip(*turns))})
    row["times"] = round(statistics.median(before / after for before, after in turns), 3)
    print(row, flush=True)
    return row


def simd_row(images, rounds, simd):
    """Pillow-SIMD's version, and the row of smooth_more, which it has in a process of its own."""
    peers = pathlib.Path(__file__).parent / "resize_peers.py"
    with subprocess.Popen([simd, peers], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        version = json.loads(process.stdout.readline())["simd"]

        def theirs():
            print("224 224 224 224 smooth_more PIL", CALLS, file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())["simd_us"]

        ours = functools.partial(microseconds, functools.partial(motley.ops.smooth_more, threads=1), images)
        return version, measure("Pillow-SIMD", "smooth_more", "PIL", 1.5, rounds, theirs, ours)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--simd", type=pathlib.Path, help="the Python that has Pillow-SIMD")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="rows whose library and name contain this text")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    random.seed(1)
    square, photo = paint(224, IMAGES), [numpy.ascontiguousarray(image[:375]) for image in paint(500, IMAGES)]
    images = {("array", "square"): list(square), ("array", "photo"): photo}
    images.update({("PIL", size): list(map(Image.fromarray, images["array", size])) for size in ("square", "photo")})
    result = {**conditions(PYTHON_PATHS), "rounds": args.rounds, "rows": [], "skipped": [], "versions": {}}
    for library, (rows, modules) in LIBRARIES.items():
        if None in modules:
            result["skipped"].append(f"{library} (not installed)")
            continue
        result["versions"].update({module.__name__: module.__version__.split("+")[0] for module in modules})
        chosen = [row for row in rows() if args.only in f"{library} {row[0]}"]
        for name, kind, size, must, *works in chosen:
            kinds = "array" if library == "albumentations" else "PIL", kind
            turns = [functools.partial(microseconds, work, images[k, size]) for k, work in zip(kinds, works)]
            result["rows"].append(measure(library, name, kind, must, args.rounds, *turns))
    if args.simd is None:
        result["skipped"].append("Pillow-SIMD (no --simd)")
    elif args.only in "Pillow-SIMD smooth_more":
        result["versions"]["Pillow-SIMD"], row = simd_row(images["PIL", "square"], args.rounds, args.simd)
        result["rows"].append(row)
    print("skipped:", ", ".join(result["skipped"]) or "nothing")
    out = args.out or ROOT / "bench/results" / f"{result['date']}-one-core.json"
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
