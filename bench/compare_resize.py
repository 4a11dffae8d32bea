#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Motley's resize beside Pillow's, Pillow-SIMD's, fast_image_resize's and torchvision's: one RGB image a call,
one thread, in turns.

    PYTHONPATH=BUILD_DIR/bindings/python bench/compare_resize.py BUILD_DIR [--peers PYTHON] [--rounds N] [--out FILE]

PYTHON has Pillow-SIMD, built for AVX2, and fast_image_resize; without --peers their columns stay empty:

    python3 -m venv peers
    CC='cc -mavx2' peers/bin/pip install numpy cykooz-resizer --no-binary pillow-simd pillow-simd

Arrays go through the C call and into an array that is there, as fast_image_resize has it; torchvision gets them as a
uint8 tensor (antialiased, channels_last), whose filters are bilinear and bicubic. PIL images go through motley.ops
and the peers' Python calls, which make new ones. Only Motley's bytes are Pillow's: that is checked here, in the
order of passes that the Pillow at hand has. Writes one JSON file; bench/tables.py makes the table of doc/benchmarks.md
of it. About three minutes."""

import argparse
import ctypes
import json
import pathlib
import subprocess
import time

import numpy
import PIL
import torch
import torchvision
from compare_pillow import Batch, Motley, Params, paint
from conditions import PYTHON_PATHS, ROOT, conditions
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional

from motley import ops
from motley._resize import FILTERS, ORDERS, order_of

SIZES = [((500, 375), (224, 224)), ((1024, 768), (224, 224)), ((2560, 1600), (320, 200)), ((224, 224), (448, 448))]
TENSOR_FILTERS = ("bilinear", "bicubic")


class ResizeParams(Params):
    _fields_ = [
        ("filter", ctypes.c_int),
        ("order", ctypes.c_int),
        ("crops", ctypes.c_void_p),
        ("boxes", ctypes.c_void_p),
        ("flips", ctypes.c_void_p),
    ]


def microseconds(work, calls):
    start = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - start) / calls * 1e6


class Peers:
    """Another Python's process, which times what cannot be imported here."""

    def __init__(self, python):
        peers = pathlib.Path(__file__).parent / "resize_peers.py"
        self.process = subprocess.Popen([python, peers], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions = json.loads(self.process.stdout.readline())

    def times(self, size, out_size, name, kind, calls):
        self.process.stdin.write(" ".join(map(str, (*size, *out_size, name, kind, calls))) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def works_of(library, context, image, out_size, name, kind):
    """What is timed, and the result of Motley's."""
    height, width = image.shape[:2]
    pillow = Image.fromarray(image)
    works = {"pillow_us": lambda: pillow.resize(out_size, getattr(Image.Resampling, name.upper()))}
    if kind == "PIL":
        order = order_of(PIL.__version__)
        works["motley_us"] = lambda: ops.resize(pillow, out_size[::-1], filter=name, order=order)
        return works, numpy.asarray(works["motley_us"]())
    out = numpy.empty((*out_size[::-1], 3), numpy.uint8)
    src, dst = (
        Batch(count=1, channels=3, width=a.shape[1], height=a.shape[0], data=a.ctypes.data) for a in (image, out)
    )
    params = ResizeParams(filter=FILTERS.index(name), order=ORDERS.index(order_of(PIL.__version__)))
    works["motley_us"] = lambda: library.check(
        library.library.motley_resize(context, ctypes.byref(src), ctypes.byref(dst), ctypes.byref(params), None)
    )
    if name in TENSOR_FILTERS:
        tensor = torch.from_numpy(image).permute(2, 0, 1)[None]  # channels_last, as it lies
        mode = InterpolationMode(name)
        works["tensor_us"] = lambda: functional.resize(tensor, [*out_size[::-1]], mode, antialias=True)
    works["motley_us"]()
    return works, out


def measure(library, context, peers, size, out_size, name, kind, rounds):
    width, height = size
    image = numpy.ascontiguousarray(paint(max(size), 1)[0, :height, :width])
    works, out = works_of(library, context, image, out_size, name, kind)
    if not numpy.array_equal(out, numpy.asarray(works["pillow_us"]())):
        raise SystemExit(
            f"compare_resize.py: {name} from {size} to {out_size}: not the bytes of Pillow {PIL.__version__}"
        )
    calls = max(1, 2_000_000 // (width * height + out_size[0] * out_size[1]))
    turns = []
    for _ in range(rounds + 1):
        turns.append({key: microseconds(work, calls) for key, work in works.items()})
        if peers:
            turns[-1].update(peers.times(size, out_size, name, kind, calls))
    row = {"images": kind, "from": f"{width}x{height}", "to": f"{out_size[0]}x{out_size[1]}", "filter": name}
    row.update({key: round(min(turn[key] for turn in turns[1:]), 2) for key in turns[0]})
    print(row, flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--peers", type=pathlib.Path, help="the Python that has Pillow-SIMD and fast_image_resize")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    library = Motley(args.build / "libmotley.so")
    context, peers = library.context(1), Peers(args.peers) if args.peers else None
    cases = [(*sizes, name, kind) for kind in ("array", "PIL") for sizes in SIZES for name in FILTERS]
    result = {
        **conditions(PYTHON_PATHS),
        "pillow": PIL.__version__,
        "torchvision": torchvision.__version__.split("+")[0],
        **(peers.versions if peers else {}),
        "rounds": args.rounds,
        "rows": [measure(library, context, peers, *case, args.rounds) for case in cases],
    }
    out = args.out or ROOT / "bench/results" / f"{result['date']}-resize.json"
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
