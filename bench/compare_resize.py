#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Motley's resize beside Pillow's and torchvision's on uint8 tensors: one RGB image a call, one thread, in turns.

    bench/compare_resize.py BUILD_DIR [--rounds N] [--out FILE.json]

torchvision has bilinear and bicubic for uint8 tensors (antialiased, its kernel for channels_last); its bytes are not
Pillow's, Motley's are, and that is checked here, where the Pillow at hand has the order of passes that was asked for.
Writes one JSON file; bench/tables.py makes the table of doc/performance.md of it."""

import argparse
import ctypes
import json
import pathlib
import time

import numpy
import PIL
import torch
import torchvision
from compare_pillow import Batch, Motley, Params, paint
from conditions import CPU_PATHS, ROOT, conditions
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional

SIZES = [((500, 375), (224, 224)), ((1024, 768), (224, 224)), ((2560, 1600), (320, 200)), ((224, 224), (448, 448))]
FILTERS = ['bilinear', 'bicubic', 'lanczos', 'nearest', 'box', 'hamming']  # in motley_filter's order
TENSOR_FILTERS = ('bilinear', 'bicubic')


class ResizeParams(Params):
    _fields_ = [
        ('filter', ctypes.c_int),
        ('order', ctypes.c_int),
        ('crops', ctypes.c_void_p),
        ('boxes', ctypes.c_void_p),
        ('flips', ctypes.c_void_p),
    ]


def microseconds(work, calls):
    start = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - start) / calls * 1e6


def measure(motley, context, size, out_size, name, rounds):
    (width, height), (out_width, out_height) = size, out_size
    image = numpy.ascontiguousarray(paint(max(size), 1)[0, :height, :width])
    out = numpy.empty((out_height, out_width, 3), numpy.uint8)
    src, dst = (
        Batch(count=1, channels=3, width=a.shape[1], height=a.shape[0], data=a.ctypes.data) for a in (image, out)
    )
    params = ResizeParams(filter=FILTERS.index(name), order=int(int(PIL.__version__.split('.')[0]) < 13))
    pillow = Image.fromarray(image)
    tensor = torch.from_numpy(image).permute(2, 0, 1)[None]  # channels_last, as it lies
    works = {
        'pillow_us': lambda: pillow.resize(out_size, getattr(Image.Resampling, name.upper())),
        'motley_us': lambda: motley.check(
            motley.library.motley_resize(
                context, ctypes.byref(src), ctypes.byref(dst), ctypes.byref(params), None
            )
        ),
    }
    if name in TENSOR_FILTERS:
        mode = InterpolationMode(name)
        works['tensor_us'] = lambda: functional.resize(tensor, [out_height, out_width], mode, antialias=True)
    works['motley_us']()
    if not numpy.array_equal(out, numpy.asarray(works['pillow_us']())):
        raise SystemExit(
            f'compare_resize.py: {name} from {size} to {out_size}: not the bytes of Pillow {PIL.__version__}'
        )
    calls = max(1, 2_000_000 // (width * height + out_width * out_height))
    turns = [{key: microseconds(work, calls) for key, work in works.items()} for _ in range(rounds + 1)][1:]
    row = {'from': f'{width}x{height}', 'to': f'{out_width}x{out_height}', 'filter': name}
    row.update({key: round(min(turn[key] for turn in turns), 2) for key in works})
    print(row, flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--out', type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    motley = Motley(args.build / 'libmotley.so')
    context = motley.context(1)
    result = {
        **conditions(CPU_PATHS),
        'pillow': PIL.__version__,
        'torchvision': torchvision.__version__.split('+')[0],
        'rounds': args.rounds,
        'rows': [measure(motley, context, *sizes, name, args.rounds) for sizes in SIZES for name in FILTERS],
    }
    out = args.out or ROOT / 'bench/results' / f'{result["date"]}-resize.json'
    out.write_text(json.dumps(result, indent=1) + '\n')
    print(f'wrote {out}')


if __name__ == '__main__':
    main()
