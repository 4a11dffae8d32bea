# SPDX-License-Identifier: Apache-2.0
"""motley.ops beside other libraries' functions: a value per image, 224x224 RGB, time per image.

    PYTHONPATH=BUILD/bindings/python python3 bench/python_ops.py [--cuda] [--write]

On the CPU, on one thread: OpenCV's warpAffine and torchvision's functional on each image, torch's affine_grid and
grid_sample on the batch. With --cuda torch's two, on CUDA tensors. The others interpolate in their own arithmetic, so
only Motley's bytes are Pillow's. Packages that are not installed are left out. --write puts the table into
doc/benchmarks.md."""

import argparse
import math
import pathlib
import time

import numpy as np
import torch

import motley
from conditions import processor

PAGE = pathlib.Path(__file__).resolve().parent.parent / "doc" / "benchmarks.md"
SIDE = 224


def imported(name):
    try:
        return __import__(name, fromlist=["*"])
    except ImportError:
        print(f"{name} is not installed: left out")
        return None


cv2, functional = imported("cv2"), imported("torchvision.transforms.functional")


def inverse(degrees):
    """Where a pixel of the output comes from: the first two rows of a rotation about the middle, in pixels."""
    c, s, middle = math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), (SIDE - 1) / 2
    return [c, -s, middle - c * middle + s * middle, s, c, middle - s * middle - c * middle]


def candidates(batch, degrees, interpolation):
    """{name: function} for batch [N, 3, H, W]; functions that work image by image are marked."""
    matrices, count = [inverse(d) for d in degrees], len(degrees)
    found = {
        "motley.ops.rotate": lambda: motley.ops.rotate(batch, degrees, interpolation=interpolation, threads=1),
        "motley.ops.affine": lambda: motley.ops.affine(batch, matrices, interpolation=interpolation, threads=1),
    }
    if cv2 and not batch.is_cuda:
        cv2.setNumThreads(1)
        images = [np.ascontiguousarray(image) for image in batch.permute(0, 2, 3, 1).numpy()]
        flags = {"nearest": cv2.INTER_NEAREST, "bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC}[interpolation]
        rows = [np.float64(m).reshape(2, 3) for m in matrices]
        found["cv2.warpAffine, each image"] = lambda: [
            cv2.warpAffine(i, m, (SIDE, SIDE), flags=flags | cv2.WARP_INVERSE_MAP) for i, m in zip(images, rows)
        ]
    if functional and interpolation != "bicubic":  # which it does not have for tensors
        mode = functional.InterpolationMode(interpolation)
        found["torchvision functional.rotate, each image"] = lambda: [
            functional.rotate(image, d, mode) for image, d in zip(batch, degrees)
        ]
    halves = torch.tensor(
        [[[math.cos(r), math.sin(r), 0], [-math.sin(r), math.cos(r), 0]] for r in map(math.radians, degrees)],
        dtype=torch.float32,
        device=batch.device,
    )

    def sampled():
        grid = torch.nn.functional.affine_grid(halves, [count, 3, SIDE, SIDE], align_corners=False)
        out = torch.nn.functional.grid_sample(batch.float(), grid, interpolation, align_corners=False)
        return out.round_().clamp_(0, 255).to(torch.uint8)

    found["affine_grid + grid_sample"] = sampled
    return found


def timed(function, cuda):
    if cuda:
        torch.cuda.synchronize()
    start = time.perf_counter()
    function()
    if cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    torch.set_num_threads(1)
    count = 256 if args.cuda else 16
    random = np.random.default_rng(1)
    batch = torch.from_numpy(random.integers(0, 256, (count, 3, SIDE, SIDE), np.uint8))
    batch = batch.cuda() if args.cuda else batch
    degrees = random.uniform(-30, 30, count).tolist()
    times = {}
    for interpolation in ("nearest", "bilinear", "bicubic"):
        functions = candidates(batch, degrees, interpolation)
        for turn in range(args.rounds + 1):  # the first warms up
            for name, function in functions.items():
                seconds = timed(function, args.cuda)
                if turn:
                    times.setdefault(name, {}).setdefault(interpolation, []).append(seconds / count * 1e6)
    table = ["| function | nearest | bilinear | bicubic |", "|---|---|---|---|"]
    for name, found in times.items():
        cells = [f"{min(found[i]):.4g} us" if i in found else "-" for i in ("nearest", "bilinear", "bicubic")]
        table.append(f"| {name} | {' | '.join(cells)} |")
    versions = [f"{what} {module.__version__}" for what, module in (("OpenCV", cv2), ("torch", torch)) if module]
    where = f"{torch.cuda.get_device_name()}, batches of {count}" if args.cuda else f"{processor()}, one thread"
    table += [
        "",
        f"Time per image, the least of {args.rounds} rounds in turns: {where}, {', '.join(versions)}. "
        "Measured by `bench/python_ops.py`.",
    ]
    print("\n".join(table))
    if args.write:
        mark = "python-ops-cuda" if args.cuda else "python-ops"
        if f"<!-- {mark} -->" not in PAGE.read_text():
            parser.error(f"{PAGE} has no <!-- {mark} -->, where the table would go")
        begin, rest = PAGE.read_text().split(f"<!-- {mark} -->\n")
        PAGE.write_text(
            begin + "\n".join([f"<!-- {mark} -->", *table, f"<!-- /{mark} -->"]) + rest.split(f"<!-- /{mark} -->")[1]
        )


if __name__ == "__main__":
    main()
