#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times DINOv2's ten views of an image: Motley's policy `dinov2` beside the source's own transforms.

    PYTHONPATH=BUILD/bindings/python bench/views.py --cpu [--rounds N]     # one thread, processor time, in turns
    PYTHONPATH=BUILD/bindings/python bench/views.py [--only PART]          # on a GPU; four minutes with 16 cores
    bench/tables.py                                                        # puts the tables into doc/benchmarks.md

The source is facebookresearch/dinov2 @ b8931f7, dinov2/data/augmentations.py, on Pillow images of 500x375, which are
decoded. On the GPU there are three parts:

  views     256 images that are there to the f16 views: Motley's call, the same in a CUDA graph, torchvision v2 image by
            image, a copy of half the bytes that sources and views have; and the source in 16 workers of a DataLoader
  files     JPEG files to views by motley.torch.Prefetcher, without a model: the rate, and this process's CPU time
  step      a step of ViT-B/16 on 64 images: supervised on one 224x224 image a sample, and DINO's, the student on all
            ten views and the teacher on the large ones (without heads); on a batch that is there, and on those that a
            Prefetcher makes of JPEG files. Eager and as one CUDA graph, with CUDA's 8 hardware queues and with the 32
            of motley.torch.ask_for_queues(), each in a process of its own (--queues N: in this one); and eager with one
            image, which takes as long where the host is the bound. Less than three minutes

Writes bench/results/DATE-views.json, or DATE-views-cpu.json."""

import concurrent.futures
import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import PIL
import torch
import torchvision
from blocks import Captured, beside, in_blocks
from compare_gpu import PER_SAMPLE, images, measure, parse_arguments, write
from conditions import PYTHON_PATHS, conditions
from PIL import Image
from torchvision import transforms
from train import FILES, JPEG_SIDE, Meter, Pictures, alone, jpeg, painted

import motley
import motley.torch
from motley.torch.prefetch import QUEUES

ROOT = pathlib.Path(__file__).resolve().parent.parent
COUNT, WORKERS, STEP_BATCH = 256, 16, 64
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIZES = {"global_1": (1, 224), "global_2": (1, 224), "local": (8, 96)}
PARTS = "views", "files", "step"
QUEUE_COUNTS = 8, 32


def views_of(kinds, ends):
    """The source's three transforms, by torchvision's transforms of either kind; each with its count."""
    mode = transforms.InterpolationMode.BICUBIC
    jitter = kinds.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1)

    def view(size, scale, *rest):
        return kinds.Compose(
            [
                kinds.RandomResizedCrop(size, scale=scale, interpolation=mode),
                kinds.RandomHorizontalFlip(p=0.5),
                kinds.RandomApply([jitter], p=0.8),
                kinds.RandomGrayscale(p=0.2),
                *rest,
                *ends,
            ]
        )

    def blur(p):  # the source hands 1 - p to RandomApply: 1 is 0 there, 0.1 is 0.9
        return kinds.RandomApply([kinds.GaussianBlur(kernel_size=9, sigma=(0.1, 2.0))], p=1 - p)

    solarize = kinds.RandomSolarize(threshold=128, p=0.2)
    large, small = (0.32, 1.0), (0.05, 0.32)
    return [
        (view(224, large, blur(1.0)), 1),
        (view(224, large, blur(0.1), solarize), 1),
        (view(96, small, blur(0.5)), 8),
    ]


class Source:
    """An image's ten views, as the source's class makes them."""

    def __init__(self):
        self.views = views_of(transforms, [transforms.ToTensor(), transforms.Normalize(MEAN, STD)])

    def __call__(self, picture):
        return [view(picture) for view, count in self.views for _ in range(count)]


# ---- one thread ----


def on_cpu(args):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    arrays = painted(*JPEG_SIDE, args.images, numpy.asarray)
    pictures = [Image.fromarray(array) for array in arrays]
    source, ours = Source(), motley.Transform("dinov2", threads=1, seed=1)
    works = {
        "theirs_ms": lambda: [source(picture) for picture in pictures],
        "motley_pillow_ms": lambda: [ours(picture) for picture in pictures],
        "motley_arrays_ms": lambda: [ours(array) for array in arrays],
        "motley_batch_ms": lambda: ours(arrays),
    }

    def milliseconds(work):
        start = time.process_time()
        work()
        return (time.process_time() - start) / len(arrays) * 1e3

    turns = [{key: milliseconds(work) for key, work in works.items()} for _ in range(args.rounds + 1)][1:]
    row = {key: round(min(turn[key] for turn in turns), 4) for key in works}
    row["times_faster"] = round(statistics.median(t["theirs_ms"] / t["motley_pillow_ms"] for t in turns), 2)
    result = {
        **conditions(PYTHON_PATHS),
        "pillow": PIL.__version__,
        "torchvision": torchvision.__version__.split("+")[0],
        "size": "{}x{}".format(*JPEG_SIDE),
        "images": args.images,
        "rounds": args.rounds,
        "rows": [row],
    }
    out = args.out or ROOT / "bench/results" / f"{result['date']}-views-cpu.json"
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(row))


# ---- on the GPU ----


def dense():
    """256 images [3, height, width] on the device."""
    width, height = JPEG_SIDE
    return list(images(COUNT, width)[:, :, :height].contiguous())


def motley_cases(batch):
    """By a call, and the same in a graph, which has the GPU's time alone."""
    ours, every = motley.Transform("dinov2", seed=1, dtype="float16"), torch.stack(batch)
    out = {
        name: every.new_empty((count * COUNT, 3, size, size), dtype=torch.float16)
        for name, (count, size) in SIZES.items()
    }
    yield "Motley, a list of tensors", COUNT, lambda: lambda: ours(batch, out=out)
    yield "Motley, one tensor", COUNT, lambda: lambda: ours(every)
    hwc = motley.Transform("dinov2", seed=1, dtype="float16", layout="hwc", output_layout="chw")
    rows = [image.permute(1, 2, 0).contiguous() for image in batch]
    yield "Motley, a list of HWC tensors", COUNT, lambda: lambda: hwc(rows, out=out)

    def graph():
        by_id = {"sample_ids": range(COUNT), "epoch": 0}  # without ids each replay would draw the same
        ours(every, out=out, **by_id)
        torch.cuda.synchronize()
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            ours(every, out=out, **by_id)
        return captured.replay

    yield "Motley, in a CUDA graph", COUNT, graph
    half = (every.nbytes + sum(made.nbytes for made in out.values())) // 2
    one, other = (torch.empty(half, dtype=torch.uint8, device="cuda") for _ in range(2))
    yield "a copy", COUNT, lambda: lambda: other.copy_(one)


def v2_case(batch):
    from torchvision.transforms import v2

    views = views_of(v2, [v2.ToDtype(torch.float16, scale=True), v2.Normalize(MEAN, STD)])

    def call():
        for image in batch[:PER_SAMPLE]:
            for view, count in views:
                for _ in range(count):
                    view(image)

    yield "torchvision v2, image by image", PER_SAMPLE, lambda: call


def in_workers(rows):
    pictures = painted(*JPEG_SIDE, 64, Image.fromarray)
    loader = torch.utils.data.DataLoader(Pictures(pictures, Source()), 16, num_workers=WORKERS)
    batches, count = iter(loader), 0
    for _ in range(3 * WORKERS):  # what workers made while others began is not counted
        next(batches)
    start, cpu = time.perf_counter(), -Meter.cpu_seconds()
    while count < 16 * WORKERS or time.perf_counter() - start < 4:
        next(batches)
        count += 16
    took, cpu = (time.perf_counter() - start) / count, (cpu + Meter.cpu_seconds()) / count
    rows.append(
        {
            "part": "views",
            "name": f"the source, {WORKERS} workers",
            "us": round(1e6 * took * COUNT, 1),
            "img_s": round(1 / took),
            "worker_ms": round(1e3 * cpu, 1),
        }
    )
    print(json.dumps(rows[-1]), flush=True)


def views_part(rows):
    in_workers(rows)
    batch = dense()
    for cases in (motley_cases, v2_case):
        for name, count, make in cases(batch):
            measure(rows, {"part": "views", "name": name}, make, count)


def prefetched(files, batch, dino=True, device="cuda"):
    loader = torch.utils.data.DataLoader(Pictures(files, lambda file: file), batch, collate_fn=motley.torch.list_images)
    how = {"seed": 1, "dtype": "bfloat16"}
    transform = motley.torch.Transform("dinov2" if dino else "torchvision_train", **how)
    return iter(motley.torch.Prefetcher(loader, transform, device))


def encoded():
    with concurrent.futures.ThreadPoolExecutor() as threads:
        return [
            torch.frombuffer(bytearray(file), dtype=torch.uint8)
            for file in painted(*JPEG_SIDE, FILES // 4, jpeg, threads.map)
        ]


def files_part(rows, files):
    rate, cpu = alone(prefetched(files, COUNT), COUNT, 3, torch.cuda.synchronize)
    rows.append(
        {
            "part": "files",
            "name": "JPEG files to views",
            "img_s": round(rate),
            "cpu_us": round(1e6 * cpu, 1),
            "cores": round(rate * cpu, 2),
        }
    )
    print(json.dumps(rows[-1]), flush=True)


class ViT(torch.nn.Module):
    """torchvision's ViT-B/16 of images of any size: its embedding of places is interpolated."""

    def __init__(self):
        super().__init__()
        self.vit = torchvision.models.vit_b_16()

    def forward(self, images):
        encoder, patches = self.vit.encoder, self.vit.conv_proj(images)
        first, grid = encoder.pos_embedding[:, :1], encoder.pos_embedding[:, 1:].unflatten(1, (14, 14))
        grid = torch.nn.functional.interpolate(grid.permute(0, 3, 1, 2), patches.shape[2:], mode="bicubic")
        tokens = patches.flatten(2).transpose(1, 2) + grid.flatten(2).transpose(1, 2)
        first = (self.vit.class_token + first).expand(len(images), -1, -1)
        return encoder.ln(encoder.layers(torch.cat([first, tokens], 1)))[:, 0]


class Step:
    """A step of training: DINO's on views, or supervised on a batch of images."""

    def __init__(self, dino):
        self.dino, self.student = dino, ViT().cuda()
        self.teacher = ViT().cuda().requires_grad_(False) if dino else None
        self.optimiser = torch.optim.AdamW(self.student.parameters(), lr=1e-4, fused=True, capturable=True)

    def __call__(self, made):
        large = torch.cat([made["global_1"], made["global_2"]]) if self.dino else made
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):  # a graph may hold no cached cast
            found = self.student(large)
            loss = found.square().mean()
            if self.dino:
                with torch.no_grad():
                    wanted = self.teacher(large).softmax(-1).mean(0)
                small = self.student(torch.cat(made["local"]))
                loss = -(wanted * torch.cat([found, small]).log_softmax(-1)).sum(-1).mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        if self.dino:
            with torch.no_grad():  # else each step's graph holds those of all steps before
                torch._foreach_lerp_(list(self.teacher.parameters()), list(self.student.parameters()), 0.004)


def first(batch, count):
    """The first images of a batch, of each view."""
    if isinstance(batch, dict):
        return {name: first(view, count) for name, view in batch.items()}
    return tuple(first(view, count) for view in batch) if isinstance(batch, tuple) else batch[:count].clone()


def step_rows(name, step, fixed, feed, captured, finish=torch.cuda.synchronize, rounds=12, steps=8):
    """The rows of a model: `step` called with `fixed` and with what feed() gives next, eager and as captured(fixed)."""
    one = first(fixed, 1)
    for mode, run in (("eager", step), ("one CUDA graph", captured(fixed))):
        cases = {"fixed": lambda run=run: run(fixed), "fed": lambda run=run: run(feed())}
        if mode == "eager":
            cases["one image"] = lambda: step(one)
        times = in_blocks(cases, rounds, steps, finish)
        row = {"part": "step", "name": f"{name}, {mode}, {os.environ[QUEUES]} queues", **beside(times, "fed", "fixed")}
        row["img_s"] = round(STEP_BATCH / row["ms"] * 1e3)
        row["fed_img_s"] = round(STEP_BATCH / (row["ms"] + row["longer_ms"]) * 1e3)
        if mode == "eager":
            row["one_image_ms"] = round(1e3 * statistics.median(times["one image"]), 3)
        yield row


def step_part(rows, files):
    """With the queues that this process has."""
    for name, dino in (("ViT-B/16, supervised", False), ("ViT-B/16, DINO", True)):
        step, feed = Step(dino), prefetched(files, STEP_BATCH, dino)
        fixed = next(feed)[0]
        feed.close()  # nothing else may use CUDA while a graph is captured
        torch.cuda.synchronize()

        def captured(batch, step=step):
            return Captured(step, batch)

        feed = prefetched(files, STEP_BATCH, dino)
        made = step_rows(name, step, fixed, lambda feed=feed: next(feed)[0], captured, rounds=8 if dino else 12)
        for row in made:
            rows.append(row)
            print(json.dumps(row), flush=True)
        feed.close()
        del step, feed, made, captured, fixed
        gc.collect()
        torch.cuda.empty_cache()


def step_processes(rows, args):
    """A process for each number of queues, which CUDA reads when it begins."""
    for queues in QUEUE_COUNTS:
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "rows.json"
            command = [sys.executable, __file__, "--only", "step", "--queues", str(queues), "--out", str(out)]
            command += ["--commit", args.commit] if args.commit else []
            subprocess.run(command, check=True)
            rows += json.loads(out.read_text())["rows"]


def main():
    parser = parse_arguments(__doc__)
    parser.add_argument("--cpu", action="store_true", help="on one thread of the CPU")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--queues", type=int, help="CUDA's hardware queues, for --only step in this process")
    parser.add_argument("--images", type=int, default=16, help="on the CPU")
    parser.add_argument("--rounds", type=int, default=10, help="on the CPU")
    args = parser.parse_args()
    if args.cpu:
        return on_cpu(args)
    if args.queues:
        os.environ[QUEUES] = str(args.queues)
    elif args.only != "step":
        motley.torch.ask_for_queues()
    torch.manual_seed(1)
    sizes = {"size": "{}x{}".format(*JPEG_SIDE), "batch": COUNT, "step_batch": STEP_BATCH}
    files = None if args.only == "views" or (args.only == "step" and not args.queues) else encoded()
    rows = []
    for part, run in {
        "views": lambda: views_part(rows),
        "files": lambda: files_part(rows, files),
        "step": lambda: step_part(rows, files) if args.queues else step_processes(rows, args),
    }.items():
        if args.only in (None, part):
            run()
            write("views", rows, ["torch", "torchvision", "PIL"], args, **sizes)  # of each part when it is done


if __name__ == "__main__":
    main()
