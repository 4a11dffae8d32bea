#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Motley beside torchvision on Pillow images: the same images, the same machine, in turns, in one run.

    bench/compare_pillow.py BUILD_DIR [--rounds N] [--out FILE.json]

torchvision's transforms are called image by image, as a data set's __getitem__ does; with two threads, Motley runs
both in one context and torchvision in two worker processes, as a DataLoader has them. Then every op is timed against
memcpy by `motley bench`. Writes one JSON file; bench/tables.py turns it into the tables of the documents."""

import argparse
import ctypes
import json
import multiprocessing
import pathlib
import statistics
import subprocess
import time

import numpy
import PIL
import torch
import torchvision
from PIL import Image

from conditions import CPU_PATHS, ROOT, conditions, first_line

SIZES = [(224, 192), (32, 2048)]  # side, images
WARPS = ["shear_x", "shear_y", "translate_x", "translate_y", "rotate"]
CLOCKS = {1: time.process_time, 2: time.perf_counter}  # one thread: what others run meanwhile does not count
POLICIES = {
    "rand_augment": ("RandAugment(2, 9)", lambda: torchvision.transforms.RandAugment(2, 9)),
    "trivial_augment_wide": ("TrivialAugmentWide", torchvision.transforms.TrivialAugmentWide),
}


class Batch(ctypes.Structure):
    _fields_ = [
        ("count", ctypes.c_size_t),
        ("channels", ctypes.c_int32),
        ("dtype", ctypes.c_int),
        ("layout", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("width", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("image_stride", ctypes.c_int64),
        ("row_stride", ctypes.c_int64),
        ("pixel_stride", ctypes.c_int64),
        ("channel_stride", ctypes.c_int64),
        ("images", ctypes.c_void_p),
    ]


class Params(ctypes.Structure):
    """A params struct, which says its size: a library that knows more fields takes those as zero."""

    _fields_ = [("struct_size", ctypes.c_size_t)]

    def __init__(self, **fields):
        super().__init__(ctypes.sizeof(self), **fields)


class ContextParams(Params):
    _fields_ = [
        ("backend", ctypes.c_int),
        ("device", ctypes.c_int),
        ("threads", ctypes.c_int),
        ("allocate", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
    ]


class Samples(ctypes.Structure):
    _fields_ = [
        ("seed", ctypes.c_uint64),
        ("epoch", ctypes.c_uint32),
        ("first", ctypes.c_uint64),
        ("ids", ctypes.c_void_p),
        ("view", ctypes.c_uint32),
        ("views", ctypes.c_void_p),
    ]


class Output(ctypes.Structure):
    _fields_ = [("batch", Batch), ("mean", ctypes.c_float * 4), ("std", ctypes.c_float * 4)]


class ApplyParams(Params):
    _fields_ = [
        ("samples", Samples),
        ("stream", ctypes.c_void_p),
        ("counter", ctypes.c_void_p),
        ("output", Output),
        ("steps", ctypes.c_void_p),
        ("step_counts", ctypes.c_void_p),
    ]


class Motley:
    CPU = 1

    def __init__(self, library):
        self.library = ctypes.CDLL(str(library))

    def context(self, threads):
        context, params = ctypes.c_void_p(), ContextParams(backend=self.CPU, threads=threads)
        self.check(self.library.motley_context_create(ctypes.byref(params), ctypes.byref(context), None))
        return context

    def policy(self, name):
        policy = ctypes.c_void_p()
        self.check(self.library.motley_policy_builtin(name.encode(), ctypes.byref(policy), None))
        return policy

    def apply(self, context, policy, src, dst, epoch):
        count, height, width, channels = src.shape
        batches = [
            Batch(count=count, channels=channels, width=width, height=height, data=a.ctypes.data) for a in (src, dst)
        ]
        params = ApplyParams(samples=Samples(seed=1, epoch=epoch))
        self.check(
            self.library.motley_apply(
                context, policy, ctypes.byref(batches[0]), ctypes.byref(batches[1]), ctypes.byref(params), None
            )
        )

    @staticmethod
    def check(status):
        if status:
            raise SystemExit(f"compare_pillow.py: Motley returned status {status}")


def paint(side, count):
    """Smooth shapes with noise: statistics and tables see values like a photograph's."""
    rng = numpy.random.default_rng(7)
    y, x = numpy.mgrid[0:side, 0:side] / side
    images = numpy.empty((count, side, side, 3), numpy.uint8)
    for i in range(count):
        a, b, shift = rng.uniform(2, 9, 3)
        for c in range(3):
            level = 120 + 55 * (numpy.sin(a * x + shift + c) + numpy.cos(b * y - c)) + rng.normal(0, 6, (side, side))
            images[i, ..., c] = numpy.clip(level, 0, 255)
    return images


worker_images = []  # what the two worker processes inherit


def transform_range(task):
    name, first, last = task
    transform = POLICIES[name][1]()
    for image in worker_images[first:last]:
        transform(image)


def seconds(work, clock=time.perf_counter):
    start = clock()
    work()
    return clock() - start


def compare(motley, side, count, rounds):
    global worker_images
    images = paint(side, count)
    worker_images = [Image.fromarray(image) for image in images]
    out = numpy.empty_like(images)
    results = []
    with multiprocessing.get_context("fork").Pool(2, torch.set_num_threads, (1,)) as pool:
        for name, (title, make) in POLICIES.items():
            transform, policy = make(), motley.policy(name)
            contexts = {threads: motley.context(threads) for threads in (1, 2)}
            times = {(who, threads): [] for who in ("pillow", "motley") for threads in (1, 2)}
            halves = [(name, 0, count // 2), (name, count // 2, count)]
            for r in range(rounds + 1):
                turn = {
                    ("pillow", 1): seconds(lambda: [transform(image) for image in worker_images], CLOCKS[1]),
                    ("pillow", 2): seconds(lambda: pool.map(transform_range, halves, 1)),
                }
                for threads, context in contexts.items():
                    turn["motley", threads] = statistics.median(
                        seconds(lambda: motley.apply(context, policy, images, out, 16 * r + k), CLOCKS[threads])
                        for k in range(9)
                    )
                if r > 0:  # the first round warms up
                    for key, value in turn.items():
                        times[key].append(value)
            for threads in (1, 2):
                pillow, ours = (numpy.array(times[who, threads]) / count * 1e6 for who in ("pillow", "motley"))
                results.append(
                    {
                        "policy": title,
                        "size": side,
                        "images": count,
                        "threads": threads,
                        "pillow_us": round(float(numpy.median(pillow)), 3),
                        "pillow_us_quartiles": [round(float(q), 3) for q in numpy.quantile(pillow, (0.25, 0.75))],
                        "motley_us": round(float(numpy.median(ours)), 3),
                        "motley_us_quartiles": [round(float(q), 3) for q in numpy.quantile(ours, (0.25, 0.75))],
                        "times_faster": round(float(numpy.median(pillow / ours)), 2),
                    }
                )
                print(
                    "{policy} {size}x{size}, {threads} thread(s): torchvision+Pillow {pillow_us:.1f} us an image, "
                    "Motley {motley_us:.2f} us, {times_faster:.1f} times faster".format(**results[-1]),
                    flush=True,
                )
    return results


def measure_ops(build, side, batch, *options):
    text = subprocess.run(
        [
            build / "tools/motley",
            "bench",
            "--json",
            "--threads",
            "1",
            "--size",
            f"{side}x{side}",
            "--batch",
            str(batch),
            "--runs",
            "21",
            *options,
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [json.loads(line) for line in text.splitlines()]


def measure_warps(build, side, batch):
    """The warps of the policies, interpolated."""
    rows = []
    for name in WARPS:
        for interpolation in ("bilinear", "bicubic"):
            (row,) = measure_ops(build, side, batch, "--op", name, "--interpolation", interpolation)
            rows.append({**row, "name": f"{name}, {interpolation}"})
    return rows


def describe(build):
    commands = json.loads((build / "compile_commands.json").read_text())
    compiler = next(word for word in commands[0]["command"].split() if "ccache" not in word)
    return {
        **conditions(CPU_PATHS),
        "cores": multiprocessing.cpu_count(),
        "compiler": first_line(compiler, "--version"),
        "torchvision": torchvision.__version__,
        "pillow": PIL.__version__,
        "torch": torch.__version__,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    result = describe(args.build)
    library = Motley(args.build / "libmotley.so")
    library.library.motley_version.restype = ctypes.c_char_p
    result["motley"] = library.library.motley_version().decode()
    result["compared"] = [row for side, count in SIZES for row in compare(library, side, count, args.rounds)]
    result["ops"] = [
        row
        for side, count in SIZES
        for row in measure_ops(args.build, side, count, "--op", "all") + measure_warps(args.build, side, count)
    ]
    out = args.out or ROOT / "bench/results" / f"{result['date']}-cpu.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
