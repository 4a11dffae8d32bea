#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the line that changes in a script: torchvision's and timm's transforms on PIL images, Motley's drop-ins for them
on the same images, and Motley on the same images as a batch of arrays. One thread, called image by image.

    PYTHONPATH=BUILD_DIR/bindings/python bench/dropins.py [--rounds N] [--out FILE.json]

Run it by the Python whose torchvision, timm and Pillow are to be measured: FILE keeps the runs of other versions beside
this one. Times are of the process's CPU, taken in turns, so that a busy machine slows all of them alike; each ratio is
the median of the turns' ratios. bench/tables.py turns FILE into the tables of the documents."""
import argparse
import datetime
import json
import pathlib
import random
import statistics
import subprocess
import time

import numpy
import PIL
import torch
import torchvision
from PIL import Image
from torchvision import transforms

import motley
import motley.timm
import motley.torchvision
from compare_pillow import paint

try:
    import timm
    from timm.data import auto_augment
except ImportError:
    timm = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = [(224, 64), (32, 512)]  # side, images
POLICIES = ['RandAugment', 'TrivialAugmentWide', 'AutoAugment']
CONFIGS = ['rand-m9-mstd0.5-inc1', 'v0r', 'original', '3a', 'augmix-m3-w3', 'augmix-m3-w3-b1']
KINDS = {'rand': 'rand_augment_transform', 'augmix': 'augment_and_mix_transform'}  # else auto_augment_transform
PATHS = ['augmentations', 'bindings/python', 'dispatch', 'include', 'kernels', 'policies', ':!*cuda*']


def subjects():
    """name, interpolation, theirs, ours, a stage for arrays"""
    for name in POLICIES:
        for interpolation in ('nearest', 'bilinear'):
            keywords = {'interpolation': transforms.InterpolationMode(interpolation)}
            yield (name, interpolation, getattr(transforms, name)(**keywords),
                   getattr(motley.torchvision, name)(**keywords), getattr(motley, name)(**keywords, threads=1))
    yield 'AugMix', 'bilinear', transforms.AugMix(), motley.torchvision.AugMix(), motley.Stage('augmix', threads=1)
    for config in CONFIGS if timm else []:
        hparams = {'translate_const': 100, 'img_mean': (124, 116, 104)}  # as timm.data.create_transform gives them
        kind = KINDS.get(config.split('-')[0], 'auto_augment_transform')
        yield ('timm ' + config, 'random', or_as_it_is(getattr(auto_augment, kind)(config, dict(hparams))),
               getattr(motley.timm, kind)(config, dict(hparams)), motley.from_timm(config, dict(hparams), threads=1))


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


def measure(name, interpolation, theirs, ours, stage, side, count, rounds):
    arrays = paint(side, count)
    images = [Image.fromarray(array) for array in arrays]
    turns = []
    for turn in range(rounds + 1):
        turns.append([seconds(lambda: each(theirs, images)), seconds(lambda: each(ours, images)),
                      seconds(lambda: stage(arrays, sample_ids=range(turn * count, (turn + 1) * count)))])
    times = numpy.array(turns[1:]) / count * 1e6  # the first turn warms up
    medians = numpy.median(times, axis=0)
    row = {'policy': name, 'interpolation': interpolation, 'size': side, 'images': count,
           'theirs_us': round(float(medians[0]), 1), 'dropin_us': round(float(medians[1]), 1),
           'batch_us': round(float(medians[2]), 1),
           'dropin_times': round(statistics.median(times[:, 0] / times[:, 1]), 2),
           'batch_times': round(statistics.median(times[:, 0] / times[:, 2]), 2)}
    print('{policy}, {interpolation}, {size}x{size}: {theirs_us:.0f} us, drop-in {dropin_us:.1f} us ({dropin_times:.1f} '
          'times faster), batch {batch_us:.1f} us ({batch_times:.1f})'.format(**row), flush=True)
    return row


def git(*arguments):
    return subprocess.run(['git', *arguments], check=True, capture_output=True, text=True, cwd=ROOT).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    today = datetime.date.today().isoformat()
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--out', type=pathlib.Path, default=ROOT / f'bench/results/{today}-dropins.json')
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    random.seed(1)
    run = {
        'date': today, 'commit': git('rev-parse', '--short=12', 'HEAD').strip(),
        'changed': bool(git('status', '--porcelain', '--', *PATHS)),
        'cpu': next(line.split(':')[1].strip() for line in open('/proc/cpuinfo') if line.startswith('model name')),
        'torchvision': torchvision.__version__.split('+')[0], 'pillow': PIL.__version__,
        'timm': timm.__version__ if timm else None,
        'rows': [measure(*subject, side, count, options.rounds) for side, count in SIZES for subject in subjects()
                 if side > 32 or not subject[0].startswith('timm')],
    }
    runs = json.loads(options.out.read_text())['runs'] if options.out.exists() else []
    key = ('torchvision', 'pillow')
    runs = [other for other in runs if [other[k] for k in key] != [run[k] for k in key]] + [run]
    runs.sort(key=lambda other: [int(part) for part in other['pillow'].split('.')], reverse=True)
    options.out.write_text(json.dumps({'runs': runs}, indent=1) + '\n')
    print(f'wrote {options.out}')


if __name__ == '__main__':
    main()
