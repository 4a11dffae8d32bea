#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times what follows an image beside the image itself: a mask, 32 boxes, 64 points, on the CPU or a GPU.

    PYTHONPATH=BUILD_DIR/bindings/python bench/followers.py [--device cuda] [--rounds N] [--out FILE.json]

Calls are taken in turns: on the CPU with one thread, by the process's CPU time, so that a busy machine slows all of
them alike; on a GPU by its own clock. Each of eight epochs counts with its least time. FILE keeps the runs on other
devices beside this one; bench/tables.py makes a table of the newest."""

import argparse
import functools
import json
import pathlib
import time

import torch

import motley
from conditions import ROOT, conditions
from motley.follow import Boxes, Mask, Points

PATHS = ["augmentations", "bindings/python", "dispatch", "followers", "kernels", "policies"]
POLICIES = "rand_augment", "trivial_augment_wide", "timm_rand_m9_mstd05_inc1"
COUNT, SIDE, BOXES, POINTS = 64, 224, 32, 64
EPOCHS = 8  # what is drawn decides what an image costs: the same epochs for all


def batch(device):
    """A batch with everything that can follow it; what is followed is what a call is given."""
    random = torch.Generator().manual_seed(1)
    images = torch.randint(256, (COUNT, 3, SIDE, SIDE), generator=random, dtype=torch.uint8)
    corners = torch.rand(COUNT, BOXES, 2, 2, generator=random).sort(dim=2).values * SIDE
    points = torch.rand(COUNT, POINTS, 2, generator=random) * SIDE
    made = {"image": images.to(device), "mask": images[:, 0].contiguous().to(device)}
    boxes, points = corners.reshape(COUNT, BOXES, 4).to(device), points.to(device)
    return {**made, "boxes": list(boxes), "points": list(points)}


KINDS = {
    "mask": {"mask": Mask(fill=255)},
    "int64 mask": {"mask": Mask(fill=255)},
    f"{BOXES} boxes and {POINTS} points": {"boxes": Boxes(drop=False), "points": Points()},
}


def seconds(call, device):
    if device == "cpu":
        start = time.process_time()
        call()
        return time.process_time() - start
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begin.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1e3


def measure(name, device, rounds):
    """The least microseconds per image: of the image alone, and with each kind of followers."""
    stage, sample = motley.Transform(name, threads=1), batch(device)
    wide = {**sample, "mask": sample["mask"].long()}
    calls = {"image": lambda epoch: stage(sample["image"], sample_ids=range(COUNT), epoch=epoch)}
    for kind, following in KINDS.items():
        follow, given = motley.Follow(stage, following), wide if "int64" in kind else sample
        calls[kind] = lambda epoch, f=follow, s=given: f(s, sample_ids=range(COUNT), epoch=epoch)
    times = {kind: [[] for _ in range(EPOCHS)] for kind in calls}
    for turn in range(EPOCHS * (1 + rounds)):
        for kind, call in calls.items():
            took = seconds(functools.partial(call, turn % EPOCHS), device)
            if turn >= EPOCHS:  # the first turns warm up
                times[kind][turn % EPOCHS].append(took)
    return {kind: sum(map(min, found)) / EPOCHS / COUNT * 1e6 for kind, found in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rounds", type=int, default=8, help="of all epochs")
    parser.add_argument("--commit", help="where git cannot say it")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = {}
    for name in POLICIES:
        rows[name] = measure(name, arguments.device, max(arguments.rounds, 1))
        alone = rows[name]["image"]
        shares = [f"{kind} +{us / alone - 1:.0%}" for kind, us in rows[name].items() if kind != "image"]
        print(f"{name}: {alone:.0f} us an image, {', '.join(shares)}", flush=True)
    run = conditions(PATHS, arguments.commit)
    cpu = run.pop("cpu")
    on = torch.cuda.get_device_name() if arguments.device == "cuda" else cpu
    run.update(device=on, torch=torch.__version__, count=COUNT, side=SIDE, us_per_image=rows)
    out = arguments.out or ROOT / f"bench/results/{run['date']}-followers.json"
    runs = json.loads(out.read_text())["runs"] if out.exists() else []
    runs = [other for other in runs if other["device"] != on] + [run]
    out.write_text(json.dumps({"runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
