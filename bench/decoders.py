#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times what makes the network's input of files, without a model: images per second on one core, by each decoder of
JPEG files that is installed, alone and in the Prefetcher with a whole transform.

    bench/decoders.py [--out FILE.json]                   # on a GPU; under a minute
    bench/decoders.py --quick --out FILE.json             # on anything, with numbers that mean nothing: does it run?

motley/torch/decode.py tries torchvision's decoder, then TorchCodec's; nvImageCodec is timed for the comparison and not
used. bench/tables.py turns the result into the table of doc/benchmarks.md."""

import argparse
import concurrent.futures
import contextlib
import importlib.metadata
import itertools
import json
import os
import statistics
import time

import train
from train import torch

import motley.torch
from motley.torch import decode

MIXED = [(width, height) for width in (256, 400, 640, 800) for height in (240, 375, 512, 683)]


def files_of(sizes, count):
    """JPEG files whose pictures have these (width, height), in turns."""
    with concurrent.futures.ThreadPoolExecutor() as threads:
        each = [train.painted(*size, -(-count // len(sizes)), train.jpeg, threads.map) for size in sizes]
    return [decode.file_tensor(file) for file in itertools.chain(*zip(*each))][:count]


def batches(files, size):
    """Endless lists of files, with labels: a loader that costs next to nothing."""
    labels = torch.arange(size)
    for first in itertools.count(0, size):
        yield [files[(first + i) % len(files)] for i in range(size)], labels


def nvimgcodec(device):
    from nvidia import nvimgcodec as library

    how = library.DecodeParams(apply_exif_orientation=False, sample_format=library.SampleFormat.P_RGB)
    decoder = library.Decoder(device_id=device.index or 0, max_num_cpu_threads=1)

    def run(files, device):
        stream = torch.cuda.current_stream(device).cuda_stream
        images = decoder.decode([file.numpy() for file in files], params=how, cuda_stream=stream)
        return [torch.from_dlpack(image) for image in images]

    return run


def decoders(device):
    if device.type != "cuda":
        return {"cpu": lambda files, device: [decode.cpu_decoder()(file) for file in files]}
    found = dict(decode.device_decoders())
    with contextlib.suppress(ImportError):
        found["nvimgcodec"] = nvimgcodec(device)
    return found


def feeds(decoder, files, args, device):
    """{what: an endless iterator over batches}"""

    def alone():
        for encoded, _ in batches(files, args.batch):
            yield decoder(encoded, device)

    def whole():
        decode.device_decoders = lambda: {"one": decoder}
        transform = motley.torch.Transform(
            motley.Transform(train.WHOLE.format(side=args.side), dtype="bfloat16", output_layout="channels_last")
        ).to(device)
        yield from motley.torch.Prefetcher(batches(files, args.batch), transform, device)

    return {"decode": alone(), "whole": whole()}


def timed(feed, args, finish):
    """(images per second, CPU seconds per image of this process)"""
    for _ in range(args.warm):
        next(feed)
    finish()
    count, start, cpu = 0, time.perf_counter(), time.process_time()
    while count < 2 or time.perf_counter() - start < args.seconds:
        next(feed)
        count += 1
    cpu = time.process_time() - cpu
    finish()
    return count * args.batch / (time.perf_counter() - start), cpu / (count * args.batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    train.add_options(parser, seconds=0.6, warm=3)
    args = parser.parse_args()
    if args.quick:
        args.batch, args.side, args.files, args.rounds, args.seconds, args.warm = 4, 32, 16, 1, 0.0, 1
    args.workers = 0
    sets = {"500x375": files_of([train.JPEG_SIDE], args.files), "mixed": files_of(MIXED, args.files)}
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # and of the threads that are started from here on
    device = torch.device(args.device)
    result = train.describe(args, device, torch.bfloat16)
    for package in ("torchcodec", "nvidia-nvimgcodec-cu13"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            result[package] = importlib.metadata.version(package)
    finish = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    rows = []
    for name, decoder in decoders(device).items():
        for files, encoded in sets.items():
            for part, feed in feeds(decoder, encoded, args, device).items():
                turns = [timed(feed, args, finish) for _ in range(args.rounds)]
                rate, cpu = statistics.median_low(turns)
                rows.append(
                    {
                        "decoder": name,
                        "files": files,
                        "part": part,
                        "img_s": round(rate),
                        "img_s_range": [round(pick(turn[0] for turn in turns)) for pick in (min, max)],
                        "cpu_us": round(1e6 * cpu, 1),
                    }
                )
                print(json.dumps(rows[-1]), flush=True)
                feed.close()
    out = args.out or train.ROOT / "bench/results" / f"{result['date']}-decoders.json"
    result["mean_bytes"] = {name: round(statistics.mean(map(len, files))) for name, files in sets.items()}
    out.write_text(json.dumps({**result, "rows": rows}, indent=1) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
