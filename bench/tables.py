#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the CPU tables of README.md and doc/performance.md from the newest bench/results/*-cpu.json.

    bench/tables.py [--check]     # --check: change nothing, fail when a document is behind

A table stands between <!-- bench-cpu --> and <!-- /bench-cpu --> (the comparison) or <!-- bench-cpu-ops --> and
<!-- /bench-cpu-ops --> (every op)."""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def comparison(result):
    yield '| images | policy | threads | torchvision + Pillow | Motley | times faster |'
    yield '|---|---|---|---|---|---|'
    for row in result['compared']:
        yield (f'| {row["size"]}x{row["size"]} RGB | {row["policy"]} | {row["threads"]} | {row["pillow_us"]:.0f} us '
               f'| {row["motley_us"]:.1f} us | **{row["times_faster"]:.1f}** |')
    yield ''
    yield (f'Time per image, median of interleaved runs on the same images: {result["cpu"]}, {result["cores"]} cores, '
           f'{result["compiler"]}, torchvision {result["torchvision"]}, Pillow {result["pillow"]}, '
           f'commit {result["commit"]}{" with changes" if result["changed"] else ""}, {result["date"]}. '
           'Measured by `bench/compare_pillow.py`.')


def ops(result):
    sides = sorted({row['width'] for row in result['ops']}, reverse=True)
    yield '| op | ' + ' | '.join(f'{s}x{s}: us an image | GB/s | of memcpy' for s in sides) + ' |'
    yield '|---|' + '---:|' * 3 * len(sides)
    for name in dict.fromkeys(row['name'] for row in result['ops']):
        cells = []
        for side in sides:
            row = next(r for r in result['ops'] if r['name'] == name and r['width'] == side)
            cells += [f'{row["us_per_image"]:.2f}', f'{row["gb_per_s"]:.2f}', f'{100 * row["share_of_copy"]:.0f} %']
        yield f'| {name} | ' + ' | '.join(cells) + ' |'


TABLES = {'bench-cpu': comparison, 'bench-cpu-ops': ops}


def fill(text, result):
    for name, make in TABLES.items():
        begin, end = f'<!-- {name} -->', f'<!-- /{name} -->'
        if begin in text:
            before, rest = text.split(begin, 1)
            if end not in rest:
                raise SystemExit(f'tables.py: {begin} has no {end} after it')
            text = before + begin + '\n' + '\n'.join(make(result)) + '\n' + end + rest.split(end, 1)[1]
    return text


def main():
    check = sys.argv[1:] == ['--check']
    if sys.argv[1:] and not check:
        raise SystemExit(__doc__)
    results = sorted((ROOT / 'bench/results').glob('*-cpu.json'))
    if not results:
        raise SystemExit('tables.py: there is no bench/results/*-cpu.json: run bench/compare_pillow.py first')
    result = json.loads(results[-1].read_text())
    behind = []
    for path in (ROOT / 'README.md', ROOT / 'doc/performance.md'):
        if not path.exists():
            continue
        old = path.read_text()
        new = fill(old, result)
        if new != old:
            behind.append(path.name)
            if not check:
                path.write_text(new)
    if check and behind:
        raise SystemExit(f'tables.py: behind {results[-1].name}: {", ".join(behind)}: run bench/tables.py')


if __name__ == '__main__':
    main()
