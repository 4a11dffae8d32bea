#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Motley and other libraries on the same GPU tensors in one run, beside a device copy of the same bytes.

    bench/compare_gpu.py [--out FILE.json]       # needs torch with CUDA and the motley package
    bench/tables.py                              # puts the table into doc/performance.md

torchvision v2, Kornia and NVIDIA DALI take part where they can be imported; those that cannot are named in the result.
Times are wall clock over queued calls, so that what a library does on the host counts. "per sample" is the library
called once for each image: one draw an image, as Motley and DALI do; "whole batch" is one draw for all of them."""
import argparse
import datetime
import importlib
import json
import pathlib
import statistics
import time
import warnings

import torch

import motley

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = ((256, 224), (1024, 224), (1024, 32), (64, 512))
PER_SAMPLE = 32  # images that a library is called for one by one; the time is per image


def images(count, side):
    """u8 [count, 3, side, side]: smooth, with noise, as photographs are."""
    generator = torch.Generator('cuda').manual_seed(1)
    coarse = torch.rand(count, 3, max(2, side // 16), max(2, side // 16), device='cuda', generator=generator)
    smooth = torch.nn.functional.interpolate(coarse, size=(side, side), mode='bilinear')
    noise = torch.rand(count, 3, side, side, device='cuda', generator=generator)
    return (smooth * 220 + noise * 35).to(torch.uint8)


def seconds(call, at_least=0.15, rounds=5):
    """Median over rounds of one call's time; a round lasts long enough to be timed."""
    call()
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        calls, begin = 0, time.perf_counter()
        while calls == 0 or (time.perf_counter() - begin < at_least and calls < 200):
            call()
            calls += 1
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / calls)
    return statistics.median(times)


def version(name):
    try:
        return importlib.import_module(name).__version__
    except Exception as error:  # an import may fail in any way
        return f'not here: {type(error).__name__}'


def motley_cases():
    for policy, make in (('RandAugment(2, 9)', motley.RandAugment), ('TrivialAugmentWide', motley.TrivialAugmentWide)):
        stage = make(seed=1)
        yield 'Motley, in place', policy, 'each image', lambda x, stage=stage: stage.apply_(x)


def torchvision_cases():
    from torchvision.transforms import v2

    for policy, transform in (('RandAugment(2, 9)', v2.RandAugment(2, 9)), ('TrivialAugmentWide', v2.TrivialAugmentWide())):
        yield 'torchvision v2', policy, 'whole batch', transform
        yield 'torchvision v2', policy, 'each image', lambda x, t=transform: [t(image) for image in x[:PER_SAMPLE]]


def kornia_cases():
    from kornia.augmentation import auto

    for policy, transform in (('RandAugment(2, 9)', auto.RandAugment(n=2, m=9)),
                              ('TrivialAugmentWide', auto.TrivialAugment())):
        yield 'Kornia, f32', policy, 'whole batch', lambda x, t=transform: t(x)
        yield 'Kornia, f32', policy, 'each image', lambda x, t=transform: [t(x[i:i + 1]) for i in range(PER_SAMPLE)]


def dali_pipe(policy, x):
    from nvidia.dali import fn, pipeline_def
    from nvidia.dali.auto_aug import rand_augment, trivial_augment

    @pipeline_def(enable_conditionals=True)
    def pipeline():
        batch = fn.external_source(lambda: x, device='gpu', layout='HWC', no_copy=True, batch=True)
        if policy == 'TrivialAugmentWide':
            return trivial_augment.trivial_augment_wide(batch)
        return rand_augment.rand_augment(batch, n=2, m=9, monotonic_mag=True)

    pipe = pipeline(batch_size=len(x), num_threads=1, device_id=0, seed=1, prefetch_queue_depth=3, exec_dynamic=False)
    pipe.build()
    return pipe


def run(rows):
    for count, side in SIZES:
        x = images(count, side)

        def add(name, policy, draws, call, each=count):
            try:
                took = seconds(call)
            except Exception as error:
                row = {'error': str(error)[-200:]}
            else:
                row = {'us': round(1e6 * took, 1), 'img_s': round(each / took)}
            rows.append({'count': count, 'side': side, 'name': name, 'policy': policy, 'draws': draws, **row})
            print(json.dumps(rows[-1]), flush=True)

        y = torch.empty_like(x)
        add('a copy', '', '', lambda: y.copy_(x))
        for name, policy, draws, call in motley_cases():
            add(name, policy, draws, lambda: call(y))
        try:
            for name, policy, draws, call in torchvision_cases():
                add(name, policy, draws, lambda: call(x), PER_SAMPLE if draws == 'each image' else count)
        except ImportError:
            pass
        try:
            unit = x.float() / 255
            for name, policy, draws, call in kornia_cases():
                add(name, policy, draws, lambda: call(unit), PER_SAMPLE if draws == 'each image' else count)
        except ImportError:
            pass
        try:
            hwc = x.permute(0, 2, 3, 1).contiguous()
            for policy in ('RandAugment(2, 9)', 'TrivialAugmentWide'):
                pipe = dali_pipe(policy, hwc)
                add('DALI auto_aug', policy, 'each image', pipe.run)
                del pipe
        except ImportError:
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--out', type=pathlib.Path)
    args = parser.parse_args()
    warnings.filterwarnings('ignore')
    rows = []
    run(rows)
    date = datetime.date.today().isoformat()
    names = ('torch', 'torchvision', 'kornia', 'nvidia.dali')
    result = {'date': date, 'motley': motley.__version__, 'device': torch.cuda.get_device_name(),
              'versions': {name: version(name) for name in names}, 'per_sample': PER_SAMPLE, 'rows': rows}
    out = args.out or ROOT / 'bench/results' / f'{date}-peers.json'
    lines = ',\n'.join('  ' + json.dumps(row) for row in rows)
    out.write_text(json.dumps({**result, 'rows': None}, indent=1).replace('null', f'[\n{lines}\n ]') + '\n')


if __name__ == '__main__':
    main()
