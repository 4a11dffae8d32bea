#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times whole training steps: images per second of a model that is fed in different ways, in turns, in one run.

    bench/train.py [--out FILE.json]                   # on a GPU; about six minutes with 16 cores
    bench/train.py --models resnet50 --cases fixed,jpeg_gpu_motley,gpu_decode,gpu_transform    # what feeding costs: one
    bench/train.py ... --queues 8                      # with CUDA's default of hardware queues, in place of 32
    bench/train.py ... --graph                         # the step as one CUDA graph, in which the host has no part
    bench/train.py --quick --out FILE.json             # on anything, with numbers that mean nothing: does it run?

Every case trains the same model on the same random labels; a case is what stands before the model:

  fixed             one batch that is on the GPU already: what the model alone can do
  plain             u8 batches in pinned memory, copied and normalised, not augmented
  torchvision_pil   torchvision's RandAugment on Pillow images in the loader's workers, from arrays
  torchvision_gpu   u8 batches, torchvision's v2.RandAugment on the GPU: one draw for the whole batch
  motley_workers    Motley's RandAugment on the CPU in the loader's workers, on the arrays themselves
  motley_gpu        u8 batches, Motley as the stage on the GPU
  jpeg_torchvision  workers decode JPEG files, crop, flip, and run torchvision's RandAugment
  jpeg_motley       workers decode JPEG files, crop and flip; Motley as the stage on the GPU
  jpeg_gpu_motley   JPEG files decoded on the GPU by the Prefetcher, then Motley's whole transform; no workers
  gpu_decode        of that only the decoding: the model trains on one batch that is there
  gpu_transform     of that only the transform: of one batch of images that are decoded already
  dali_plain        DALI decodes on the GPU, crops, flips and normalises, without a policy
  dali_own          the same with DALI's own RandAugment
  dali_motley       DALI decodes on the GPU; Motley's whole transform as its operator, fn.motley.augment

All but DALI's feed the model through motley.torch.Prefetcher, so that copy and normalisation hide behind the model for
everyone. Cases without workers are timed in short blocks beside `fixed`, every round in another order: `longer_ms` is
the median of the differences within a round. Where the host is the bound, a step takes as long with two images as with
all: `two_image_ms` of `fixed`. jpeg_gpu_motley and DALI's are also timed without the model: this process's CPU time
stands where others have their workers', and the rate alone beside it. DALI's run where it is installed, the last where
its native operator was built. Without a GPU all of it runs on the CPU.
A run of some models keeps the rows of others in its file if the conditions are the same. bench/tables.py turns the
result into the table and the plot of doc/benchmarks.md."""

import argparse
import concurrent.futures
import contextlib
import datetime
import io
import itertools
import json
import math
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time

import numpy
import PIL
import torch
import torchvision
from blocks import Captured, beside, in_blocks
from PIL import Image
from torchvision import transforms
from torchvision.transforms import v2

import motley
import motley.torch

try:
    from motley.adapters import dali
except ImportError:
    dali = None
from motley.torch.prefetch import QUEUES

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
WHOLE = """motley: 1
name: whole
stages:
  - random_resized_crop: {{size: {side}}}
  - flip: {{horizontal: 0.5}}
  - policy: rand_augment
  - output: {{mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}}
"""
ENDLESS = 1 << 40  # samples of a loader that is never asked for its last one
PICTURES = 512  # different ones; enough that no cache of a worker's holds them decoded
FILES = 2048  # different JPEG files: 100 MB, more than the last cache of a processor holds
WITH_WORKERS = ("torchvision_pil", "motley_workers", "jpeg_torchvision", "jpeg_motley")
FROM_FILES = ("jpeg_gpu_motley", "dali_plain", "dali_own", "dali_motley")  # in this process
JPEG_SIDE = (500, 375)  # pixels: ImageNet's usual size


def painted(width, height, count, then, map=map):
    """A list of then(picture): smooth shapes with noise, so that statistics, tables and the JPEG decoder meet what
    photographs give them."""
    random = numpy.random.default_rng(7)
    y, x = (numpy.arange(n, dtype=numpy.float32) / max(width, height) for n in (height, width))
    noise = random.normal(0, 6, (height, width)).astype(numpy.float32)

    def paint(shape):
        a, b, shift = shape
        planes = [120 + 55 * (numpy.sin(a * x + shift + c) + numpy.cos(b * y - c)[:, None]) + noise for c in range(3)]
        return then(numpy.stack(planes, -1).clip(0, 255).astype(numpy.uint8))

    return list(map(paint, random.uniform(2, 9, (count, 3)).astype(numpy.float32)))


def jpeg(picture):
    data = io.BytesIO()
    Image.fromarray(picture).save(data, "JPEG", quality=90)
    return data.getvalue()


class Pictures(torch.utils.data.Dataset):
    """Endless (u8 tensor, label): picture i modulo their number, through `transform`."""

    def __init__(self, pictures, transform):
        self.pictures, self.transform = pictures, transform

    def __len__(self):
        return ENDLESS

    def __getitem__(self, i):
        return self.transform(self.pictures[i % len(self.pictures)]), i % 1000


def to_picture(array):
    return Image.fromarray(array)


def decode(data):
    return Image.open(io.BytesIO(data)).convert("RGB")


def to_tensor(picture):
    """The picture's bytes; in every case the batch is turned to CHW and made float on the GPU."""
    return torch.from_numpy(numpy.array(picture))


class Pinned:
    """A source that costs the CPU nothing: u8 batches that lie in pinned memory, over and over."""

    def __init__(self, arrays, batch, pin):
        images = torch.from_numpy(arrays)
        self.batches = []
        for first in range(0, len(arrays), batch):
            pair = images[first : first + batch], torch.arange(first, first + batch) % 1000
            self.batches.append(tuple(t.pin_memory() if pin else t for t in pair))

    def __iter__(self):
        return itertools.cycle(self.batches)


class Normalise(torch.nn.Module):
    """What Motley's stage does besides augmenting, in torch's own operations."""

    def __init__(self, device, dtype, augment=None):
        super().__init__()
        self.dtype, self.augment = dtype, augment
        self.scale = (1 / (255 * torch.tensor(STD, device=device))).to(dtype).view(1, 3, 1, 1)
        self.shift = (-torch.tensor(MEAN, device=device) / torch.tensor(STD, device=device)).to(dtype).view(1, 3, 1, 1)

    def forward(self, images):
        images = images.permute(0, 3, 1, 2)
        if self.augment:
            images = self.augment(images)
        return torch.addcmul(self.shift, images.to(self.dtype), self.scale).contiguous(
            memory_format=torch.channels_last
        )


class Cases:
    """The cases by name: each an iterator over (images, labels) on the device, and the processes that work for it."""

    def __init__(self, args, device, dtype):
        self.args, self.device = args, device
        count = 2 * args.batch if args.quick else PICTURES
        arrays = numpy.stack(painted(args.side, args.side, count, numpy.asarray))
        with concurrent.futures.ThreadPoolExecutor() as threads:
            jpegs = painted(*JPEG_SIDE, args.files, jpeg, threads.map)
        self.files = [torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in jpegs]
        self.recipe = WHOLE.format(side=args.side)
        self.whole = motley.Transform(
            self.recipe, dtype=str(dtype).removeprefix("torch."), output_layout="channels_last"
        )
        normalise = Normalise(device, dtype)
        motley_stage = motley.torch.Transform(
            motley.rand_augment(2, 9), mean=MEAN, std=STD, dtype=dtype, memory_format=torch.channels_last, layout="nhwc"
        ).to(device)
        on_cpu = motley.rand_augment(2, 9)
        crop = [decode, transforms.RandomResizedCrop(args.side), transforms.RandomHorizontalFlip()]
        pinned = Pinned(arrays, args.batch, device.type == "cuda")
        rand_augment = transforms.RandAugment(2, 9)
        self.make = {
            "fixed": lambda: itertools.repeat(next(iter(self.prefetch(pinned, normalise)))),
            "plain": lambda: self.prefetch(pinned, normalise),
            "torchvision_pil": lambda: self.workers(arrays, normalise, to_picture, rand_augment, to_tensor),
            "torchvision_gpu": lambda: self.prefetch(pinned, Normalise(device, dtype, v2.RandAugment(2, 9))),
            "motley_workers": lambda: self.workers(arrays, normalise, on_cpu, torch.from_numpy),
            "motley_gpu": lambda: self.prefetch(pinned, motley_stage),
            "jpeg_torchvision": lambda: self.workers(jpegs, normalise, *crop, rand_augment, to_tensor),
            "jpeg_motley": lambda: self.workers(jpegs, motley_stage, *crop, to_tensor),
            "jpeg_gpu_motley": lambda: self.from_files(self.transform()),
            "gpu_decode": self.decoding,
            "gpu_transform": self.transforming,
        }
        if dali is not None:
            self.make.update(dali_plain=lambda: self.pipeline(None), dali_own=lambda: self.pipeline("own"))
            with contextlib.suppress(motley.UnsupportedError):
                dali.load()
                self.make["dali_motley"] = lambda: self.pipeline("motley")

    def transform(self):
        return motley.torch.Transform(self.whole).to(self.device)

    def from_files(self, stage):
        loader = torch.utils.data.DataLoader(
            Pictures(self.files, lambda file: file), self.args.batch, collate_fn=motley.torch.list_images
        )
        return self.prefetch(loader, stage)

    def decoding(self):
        batch, _ = next(self.make["fixed"]())
        return self.from_files(lambda images: batch)

    def transforming(self):
        decoded = []

        def keep(images):
            decoded[:] = images

        next(self.from_files(keep))
        transform = self.transform()
        batch = torch.empty(0), torch.arange(self.args.batch)  # on the CPU: nothing of it waits for the model's stream
        return self.prefetch(itertools.repeat(batch), lambda empty: transform(decoded))

    def pipeline(self, policy):
        """(images, labels) of DALI: decoded, cropped, flipped, normalised; policy: None, DALI's 'own' or 'motley'."""
        from nvidia.dali import fn, pipeline_def, types
        from nvidia.dali.auto_aug import rand_augment
        from nvidia.dali.plugin.pytorch import DALIGenericIterator

        on_gpu, side = self.device.type == "cuda", self.args.side
        folder = tempfile.TemporaryDirectory()  # goes with the generator that this is
        names = [pathlib.Path(folder.name) / f"{i}.jpg" for i in range(len(self.files))]
        for name, file in zip(names, self.files):
            name.write_bytes(file.numpy().tobytes())
        dtype = types.FLOAT16 if on_gpu else types.FLOAT  # DALI has no bfloat16; autocast makes that of it
        mean, std = [255 * m for m in MEAN], [255 * d for d in STD]

        @pipeline_def(
            batch_size=self.args.batch,
            num_threads=self.args.dali_threads,
            enable_conditionals=True,
            device_id=(self.device.index or 0) if on_gpu else None,
        )
        def feed():
            files, labels = fn.readers.file(
                files=[str(name) for name in names],
                random_shuffle=True,
                name="files",
                labels=[i % 1000 for i in range(len(names))],
            )
            if policy == "motley":
                images = fn.decoders.image(files, device="mixed" if on_gpu else "cpu", output_type=types.RGB)
                whole = motley.Transform(self.recipe, dtype="float16" if on_gpu else "float32")
                return dali.augment(images, policy=whole), labels
            images = fn.decoders.image_random_crop(
                files,
                device="mixed" if on_gpu else "cpu",
                output_type=types.RGB,
                random_area=[0.08, 1],
                random_aspect_ratio=[3 / 4, 4 / 3],
            )
            images = fn.resize(images, size=[side, side])
            flips = fn.random.coin_flip()
            if policy == "own":
                images = rand_augment.rand_augment(images, n=2, m=9)
            return fn.crop_mirror_normalize(
                images, mirror=flips, mean=mean, std=std, dtype=dtype, output_layout="CHW"
            ), labels

        batches = DALIGenericIterator(feed(), ["images", "labels"])  # endless: the reader has no end
        for (batch,) in batches:
            yield batch["images"], batch["labels"].flatten().long().to(self.device)

    def prefetch(self, loader, stage):
        return iter(motley.torch.Prefetcher(loader, stage, self.device))

    def workers(self, pictures, stage, *steps):
        loader = torch.utils.data.DataLoader(
            Pictures(pictures, transforms.Compose(steps)),
            self.args.batch,
            num_workers=self.args.workers,
            pin_memory=self.device.type == "cuda",
            prefetch_factor=2 if self.args.workers else None,
        )
        return self.prefetch(loader, stage)


class Meter:
    """CPU time of the workers, and how busy the GPU says it is, from entering to leaving. (This process waits for the
    GPU in a loop, so its own CPU time says nothing.)"""

    def __init__(self, device):
        self.utilisation = []
        self.sample = None
        if device.type == "cuda":
            with contextlib.suppress(Exception):  # a missing or refusing NVML costs us the column, not the run
                import pynvml

                pynvml.nvmlInit()
                chip = pynvml.nvmlDeviceGetHandleByIndex(device.index or 0)
                pynvml.nvmlDeviceGetUtilizationRates(chip)
                self.sample = lambda: pynvml.nvmlDeviceGetUtilizationRates(chip).gpu

    @staticmethod
    def cpu_seconds():
        ticks = 0
        for child in multiprocessing.active_children():
            fields = pathlib.Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])  # utime, stime
        return ticks / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        self.utilisation.clear()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch) if self.sample else None
        if self.thread:
            self.thread.start()
        self.cpu = -self.cpu_seconds()
        return self

    def watch(self):
        while not self.done.wait(0.2):
            self.utilisation.append(self.sample())

    def __exit__(self, *_):
        self.cpu += self.cpu_seconds()
        self.done.set()
        if self.thread:
            self.thread.join()


class Training:
    """One model, its optimiser, and a step on a batch."""

    graph = None  # the step as a CUDA graph

    def __init__(self, name, device, dtype):
        self.device, self.dtype = device, dtype
        self.model = getattr(torchvision.models, name)().to(device, memory_format=torch.channels_last).train()
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)

    def step(self, images, labels):
        (self.graph or self.eager)(images, labels)

    def eager(self, images, labels):
        cast = {"enabled": self.device.type == "cuda", "cache_enabled": False}  # a graph may hold no cached cast
        with torch.autocast(self.device.type, self.dtype, **cast):
            loss = torch.nn.functional.cross_entropy(self.model(images), labels)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()

    def finish(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def measure(self, batches, batch, seconds, warm, meter):
        """(images per second, workers' CPU seconds per image, percent of the time that the GPU was busy or None)"""
        for _ in range(warm):
            self.step(*next(batches))
        self.finish()
        steps, start = 0, time.perf_counter()
        with meter:
            while steps < 2 or time.perf_counter() - start < seconds:
                self.step(*next(batches))
                steps += 1
            self.finish()
            wall = time.perf_counter() - start
        busy = statistics.mean(meter.utilisation) if meter.utilisation else None
        return steps * batch / wall, meter.cpu / (steps * batch), busy


def alone(batches, batch, seconds, finish):
    """(images per second, CPU seconds per image of this process) of a feed without a model."""
    for _ in range(2):
        next(batches)
    finish()
    steps, start, cpu = 0, time.perf_counter(), time.process_time()
    while steps < 2 or time.perf_counter() - start < seconds:
        next(batches)
        steps += 1
    used = time.process_time() - cpu  # before finish(), which waits for the GPU in a loop
    finish()
    return steps * batch / (time.perf_counter() - start), used / (steps * batch)


def first_line(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.split("\n")[0]


def describe(args, device, dtype):
    def git(*words):
        try:
            return first_line("git", *words)
        except (OSError, subprocess.CalledProcessError):
            return ""  # a copy of the tree without its history

    cuda = device.type == "cuda"
    return {
        "date": datetime.date.today().isoformat(),
        "commit": args.commit or git("rev-parse", "--short=12", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--untracked-files=no")),
        "device": torch.cuda.get_device_name(device) if cuda else "CPU",
        "cores": len(os.sched_getaffinity(0)),
        "motley": motley.__version__,
        "torch": torch.__version__,
        "torchvision": torchvision.__version__,
        "pillow": PIL.__version__,
        "dtype": str(dtype).removeprefix("torch."),
        "batch": args.batch,
        "side": args.side,
        "workers": args.workers,
        "queues": int(os.environ.get(QUEUES, 8)),
        "graph": args.graph,
        "blocks": args.blocks,
        "rounds": args.rounds,
        "seconds": args.seconds,
        "files": args.files,
        "jpeg": f"{JPEG_SIDE[0]}x{JPEG_SIDE[1]}",
    }


def other_models(out, result, models):
    """Rows of other models in `out`, from a run under the same conditions."""
    earlier = json.loads(out.read_text()) if out.exists() else {"rows": []}
    rows = earlier.pop("rows")
    return [row for row in rows if row["model"] not in models] if earlier == result else []


def add_options(parser, seconds, warm):
    """The options of bench/decoders.py and of this, with their defaults."""
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--files", type=int, default=FILES, help="how many different JPEG files, of each set")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=seconds, help="of each case in each round")
    parser.add_argument("--warm", type=int, default=warm, help="steps or batches that are not timed")
    parser.add_argument("--quick", action="store_true", help="tiny: shows that everything runs, measures nothing")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--commit", help="where git cannot say it")
    parser.add_argument("--out", type=pathlib.Path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="resnet50,efficientnet_b0", help="names in torchvision.models")
    parser.add_argument("--cases", help="comma-separated; all when left out")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--dali-threads", type=int, default=8)
    parser.add_argument("--queues", type=int, help="CUDA's hardware queues; 32 when left out")
    parser.add_argument("--graph", action="store_true", help="the step as one CUDA graph")
    parser.add_argument("--blocks", type=int, default=15, help="of each case that has no workers")
    parser.add_argument("--steps", type=int, default=8, help="of a block")
    add_options(parser, seconds=2.5, warm=20)
    args = parser.parse_args()
    if args.quick:
        args.models, args.batch, args.side, args.workers, args.rounds, args.seconds = "resnet18", 4, 32, 1, 1, 0.0
        args.warm, args.files, args.blocks, args.steps = 0, 4, 2, 1
    if args.queues:
        os.environ[QUEUES] = str(args.queues)
    motley.torch.ask_for_queues()  # before anything uses CUDA
    device = torch.device(args.device)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    torch.backends.cudnn.benchmark = True
    result = describe(args, device, dtype)
    cases = Cases(args, device, dtype)
    names = args.cases.split(",") if args.cases else list(cases.make)
    meter = Meter(device)
    out = args.out or ROOT / "bench/results" / f"{result['date']}-train.json"
    models = args.models.split(",")
    rows = other_models(out, result, models)
    for model in models:
        training = Training(model, device, dtype)
        two = [part[:2] for part in next(cases.make["fixed"]())]
        few = statistics.median(in_blocks({"two": lambda: training.eager(*two)}, 3, args.steps, training.finish)["two"])
        if args.graph:
            training.graph = Captured(training.eager, *next(cases.make["fixed"]()))
        taken, without, compared = {name: [] for name in names}, {}, {}
        # Cases without workers alternate; those with workers run one at a time: they would take each other's cores, and
        # fill their queues while another case is timed.
        plain = [name for name in names if name not in WITH_WORKERS + FROM_FILES]
        for group in [plain, *([name] for name in names if name in FROM_FILES)]:
            feeds = {name: cases.make[name]() for name in dict.fromkeys(["fixed", *group])}
            steps = {name: lambda feed=feed: training.step(*next(feed)) for name, feed in feeds.items()}
            for name in group:
                taken[name].append(training.measure(feeds[name], args.batch, args.seconds, args.warm, meter))
            times = in_blocks(steps, args.blocks, args.steps, training.finish)
            compared.update({name: (times[name], beside(times, name, "fixed")) for name in group})
            for name in group:
                if name in FROM_FILES:
                    without[name] = alone(feeds[name], args.batch, args.seconds, training.finish)
            del feeds, steps  # ends threads
        for name in [name for name in names if name in WITH_WORKERS]:
            feed = cases.make[name]()
            for r in range(args.rounds):
                warm = args.warm if r == 0 else 5
                taken[name].append(training.measure(feed, args.batch, args.seconds, warm, meter))
            del feed  # ends the workers
        rates = {name: statistics.median(rate for rate, _, _ in turns) for name, turns in taken.items()}
        rates.update({name: args.batch / statistics.median(times) for name, (times, _) in compared.items()})
        for name, turns in taken.items():
            cpu = without[name][1] if name in without else statistics.median(c for _, c, _ in turns)
            busy = [b for _, _, b in turns if b is not None]
            of_turns = [rate for rate, _, _ in turns]
            times, more = compared.get(name, (None, {}))
            of_turns = of_turns if times is None else [args.batch / t for t in times]
            more = {key: more[key] for key in ("longer_ms", "longer_ms_range") if key in more and name != "fixed"}
            share = compared[name][1]["share"] if name in compared else rates[name] / rates.get("fixed", math.nan)
            rows.append(
                {
                    "model": model,
                    "case": name,
                    "img_s": round(rates[name], 1),
                    "img_s_range": [round(f(of_turns), 1) for f in (min, max)],
                    "share": round(share, 4) if "fixed" in rates else None,
                    "worker_ms": round(1e3 * cpu, 4),
                    "alone_img_s": round(without[name][0], 1) if name in without else None,
                    "cores_needed": round(cpu * rates["fixed"], 1) if "fixed" in rates else None,
                    "gpu_busy": round(statistics.mean(busy), 1) if busy else None,
                    **({"two_image_ms": round(1e3 * few, 3)} if name == "fixed" else more),
                }
            )
            print(
                "{model} {case}: {img_s:.0f} images/s, share {share}, {worker_ms} ms of a worker an image, "
                "GPU busy {gpu_busy} %".format(**rows[-1]),
                flush=True,
            )
        out.write_text(json.dumps({**result, "rows": rows}, indent=1) + "\n")  # of each model when it is done
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
