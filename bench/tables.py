#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables and charts of the pages from the newest bench/results/DATE-KIND.json of each kind; TABLES and PLOTS
have the kinds, PAGES the pages.

    bench/tables.py [--check]     # --check: change nothing, fail when a document is behind

A table stands between <!-- NAME --> and <!-- /NAME -->; the names are those of TABLES."""

import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def comparison(result):
    yield "| images | policy | threads | torchvision + Pillow | Motley | times faster |"
    yield "|---|---|---|---|---|---|"
    for row in result["compared"]:
        yield (
            f"| {row['size']}x{row['size']} RGB | {row['policy']} | {row['threads']} | {row['pillow_us']:.0f} us "
            f"| {row['motley_us']:.1f} us | **{row['times_faster']:.1f}** |"
        )
    yield ""
    yield (
        f"Time per image, median of interleaved runs on the same images: {result['cpu']}, {result['cores']} cores, "
        f"{result['compiler']}, torchvision {result['torchvision']}, Pillow {result['pillow']}, "
        f"commit {result['commit']}{' with changes' if result['changed'] else ''}, {result['date']}. "
        "Measured by `bench/compare_pillow.py`."
    )


def dropin_rows(run):
    them = f"torchvision {run['torchvision']}" + (f", timm {run['timm']}" if run["timm"] else "")
    yield (
        f"| images | transform | {them}, Pillow {run['pillow']} | Motley, PIL images | times faster "
        "| Motley, arrays in a batch | times faster |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|"
    for row in run["rows"]:
        batch = f"{row['batch_us']:.1f} us | **{row['batch_times']:.1f}**" if "batch_us" in row else "|"
        yield (
            f"| {row['size']} RGB | {row['transform']} | {row['theirs_us']:.0f} us | {row['dropin_us']:.0f} us "
            f"| **{row['dropin_times']:.1f}** | {batch} |"
        )
    yield ""
    yield (f"CPU time per image on one thread, medians of interleaved rounds on the same images: {dropin_run(run)}")


def dropin_run(run):
    changed = " with changes" if run["changed"] else ""
    return f"{run['cpu']}, commit {run['commit']}{changed}, {run['date']}. Measured by `bench/dropins.py`."


def dropin_calls(result):
    yield "| Pillow | one pixel as a | Transform | motley.ops.invert | its RandAugment |"
    yield "|---|---|---:|---:|---:|"
    for run in result["runs"]:
        for row in run["calls"]:
            cells = [f"{row[key]:.1f} us" if key in row else "" for key in ("stage_us", "op_us", "dropin_us")]
            yield f"| {run['pillow']} | {row['image']} | {' | '.join(cells)} |"
    yield ""
    yield f"CPU time of a call, the least of several rounds: {dropin_run(result['runs'][0])}"


def dropins_all(result):
    for run in result["runs"]:
        yield from dropin_rows(run)
        yield ""


def followers(result):
    """How much longer an image takes with what follows it."""
    rows = []
    for run in result["runs"]:
        kinds = [kind for kind in next(iter(run["us_per_image"].values())) if kind != "image"]
        rows += ["", f"| policy | image alone, us | {' | '.join(kinds)} |", "|---|---:|" + "---:|" * len(kinds)]
        for name, us in run["us_per_image"].items():
            more = [f"+{us[kind] / us['image'] - 1:.0%}" for kind in kinds]
            rows.append(f"| {name} | {us['image']:.0f} | {' | '.join(more)} |")
        changed = " with changes" if run["changed"] else ""
        rows += [
            "",
            f"{run['count']} images of {run['side']}x{run['side']} a call, tensors; {run['device']}, torch "
            f"{run['torch']}; commit {run['commit']}{changed}, {run['date']}. Measured by "
            "`bench/followers.py`.",
        ]
    return rows[1:]


def cuda_followers(result):
    """What following costs on the GPU: the time of both, and how much more that is than the images' alone."""
    us = {(row["name"], row["how"]): row["us"] for row in result["rows"]}

    def share(name, how):
        return f"{us[name, how]:.0f} us, +{us[name, how] / us[name, 'call'] - 1:.0%}"

    yield "| policy | images alone | with a mask an image | with 32 boxes and 64 points an image |"
    yield "|---|---:|---:|---:|"
    for name, how in us:
        if how == "call":
            yield f"| `{name}` | {us[name, how]:.0f} us | {share(name, 'masks')} | {share(name, 'numbers')} |"
    first = result["rows"][0]
    yield ""
    yield (
        f"A call on {first['count']} images of {first['size']}, {first['layout']}; {result['device']}; commit "
        f"{result['commit']}, {result['date']}."
    )


def python_cuda(result):
    yield "| call | median | least |"
    yield "|---|---:|---:|"
    for row in result["rows"]:
        yield f"| {row['call']} | {row['us']:.1f} us | {row['least_us']:.1f} us |"
    yield ""
    changed = " with changes" if result["changed"] else ""
    yield (
        f"256 images of 224x224, in lists of 200..500 a side; {result['device']}, {result['cpu']}, torch "
        f"{result['torch']}, commit {result['commit']}{changed}, {result['date']}. Measured by "
        "`bench/python_call.py --cuda`."
    )


def ops(result):
    sides = sorted({row["width"] for row in result["ops"]}, reverse=True)
    yield "| op | " + " | ".join(f"{s}x{s}: us an image | GB/s | of memcpy" for s in sides) + " |"
    yield "|---|" + "---:|" * 3 * len(sides)
    for name in dict.fromkeys(row["name"] for row in result["ops"]):
        cells = []
        for side in sides:
            row = next(r for r in result["ops"] if r["name"] == name and r["width"] == side)
            cells += [f"{row['us_per_image']:.2f}", f"{row['gb_per_s']:.2f}", f"{100 * row['share_of_copy']:.0f} %"]
        yield f"| {name} | " + " | ".join(cells) + " |"


def albumentations(result):
    yield "| op | albumentations | motley.ops | times faster | the C call alone |"
    yield "|---|---:|---:|---:|---:|"
    for row in result["rows"]:
        value = "" if row["value"] is None else f" ({row['value']})"
        yield (
            f"| {row['op']}{value}, {row['transform']} | {row['albumentations_us']:.1f} us | "
            f"{row['motley_us']:.1f} us | **{row['times_faster']:.2f}** | {row['c_us']:.1f} us |"
        )
    yield ""
    yield (
        f"One 224x224 RGB array a call, one thread, processor time, the least of {result['rounds']} turns: "
        f"{result['cpu']}, albumentations {result['albumentations']}, OpenCV {result['opencv']}, commit "
        f"{result['commit']}, {result['date']}. Measured by `bench/compare_albumentations.py`."
    )


def wide(result):
    """Each peer's time, and how many times Motley is as fast."""
    names = ("torchvision", "kornia", "albumentations")
    yield "| type | op | Motley | " + " | ".join(f"{name} {result[name]}" for name in names) + " |"
    yield "|---|---|---:|" + "---:|" * len(names)
    for row in result["rows"]:
        us = row["us"]
        cells = [f"{us[name]:.0f} us, **{us[name] / us['motley']:.1f}**" if us[name] else "" for name in names]
        yield f"| {row['dtype']} | {row['op']} | {us['motley']:.0f} us | {' | '.join(cells)} |"
    yield ""
    yield (
        f"One image of {result['image']} a call, one thread, processor time, the least of {result['rounds']} turns; "
        f"bold is how many times Motley is as fast; the copy is torch's: {result['cpu']}, torch {result['torch']}, "
        f"commit {result['commit']}{' with changes' if result['changed'] else ''}, {result['date']}. Measured by "
        "`bench/compare_wide.py`."
    )


def resize(result):
    """Each peer's time, and how many times Motley is as fast."""
    peers = {"Pillow": "pillow_us", "Pillow-SIMD": "simd_us", "fast_image_resize": "fir_us", "torchvision": "tensor_us"}
    yield "| images | from | to | filter | Motley | " + " | ".join(peers) + " |"
    yield "|---|---|---|---|---:|" + "---:|" * len(peers)
    for row in result["rows"]:
        ours = row["motley_us"]
        cells = [f"{row[key]:.0f} us, **{row[key] / ours:.1f}**" if key in row else "" for key in peers.values()]
        yield (
            f"| {row['images']} | {row['from']} | {row['to']} | {row['filter']} | {ours:.0f} us | "
            + " | ".join(cells)
            + " |"
        )
    yield ""
    yield (
        f"One RGB image a call, one thread, processor time, the least of {result['rounds']} turns; bold is how many "
        f"times Motley is as fast: {result['cpu']}, Pillow {result['pillow']}, Pillow-SIMD "
        f"{result.get('simd', 'not measured')}, fast_image_resize "
        f"{result.get('fast_image_resize', 'not measured')}, torchvision {result['torchvision']} on "
        f"uint8 tensors, commit {result['commit']}"
        f"{' with changes' if result['changed'] else ''}, {result['date']}. Measured by `bench/compare_resize.py`."
    )


def one_core(result):
    yield "| library | row | images | theirs | Motley | times | aim |"
    yield "|---|---|---|---:|---:|---:|---:|"
    for row in result["rows"]:
        yield (
            f"| {row['library']} | {row['row']} | {row['images']} | {row['theirs_us']:.1f} us "
            f"| {row['motley_us']:.1f} us | **{row['times']:.2f}** | {row['must']:g} |"
        )
    yield ""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    skipped = f" Not measured: {', '.join(result['skipped'])}." if result["skipped"] else ""
    yield (
        f"An image a call, one thread, processor time; the least of {result['rounds']} turns, and the median of the "
        f"ratios of the turns: {result['cpu']}, {versions}, commit {result['commit']}"
        f"{' with changes' if result['changed'] else ''}, {result['date']}.{skipped} Measured by "
        f"`bench/compare_one_core.py`."
    )


def transforms(result):
    yield "| transform | library | on Pillow images | one line changed | arrays in one call | times | times, arrays |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for row in result["rows"]:
        theirs, fused, arrays = row["theirs_ms"], row["motley_fused_ms"], row["motley_arrays_ms"]
        yield (
            f"| {row['transform']} | {row['library']} | {theirs:.2f} ms | {fused:.2f} ms | {arrays:.2f} ms "
            f"| **{theirs / fused:.1f}** | **{theirs / arrays:.1f}** |"
        )
    yield ""
    yield (
        f"An image of {result['size']} to normalised float32 of 224x224, {result['images']} of them, one "
        f"thread, processor time, the least of {result['rounds']} turns: {result['cpu']}, Pillow "
        f"{result['pillow']}, torchvision {result['torchvision']}, timm {result['timm']}, commit {result['commit']}"
        f"{' with changes' if result['changed'] else ''}, {result['date']}. Measured by "
        f"`bench/compare_transforms.py`."
    )


def detection(result):
    peers = {name: result[name] for name in ("torchvision", "albumentations") if name in result}
    yield (
        "| recipe | masks |"
        + "".join(f" {name} |" for name in peers)
        + " Motley |"
        + "".join(f" times {name} |" for name in peers)
    )
    yield "|---|" + "---:|" * (2 + 2 * len(peers))
    for row in result["rows"]:
        times = [f"{row[f'{name}_ms']:.2f} ms" for name in (*peers, "motley")]
        times += [f"**{row[f'{name}_times']:.1f}**" for name in peers]
        yield f"| `{row['recipe']}` | {row['masks']} | " + " | ".join(times) + " |"
    yield ""
    versions = [f"torchvision {result['torchvision']} (v2) on Pillow {result['pillow']}"]
    if "albumentations" in result:
        versions.append(f"albumentations {result['albumentations']} on OpenCV {result['opencv']}")
    yield (
        f"A picture of 640x480 with 7 boxes and labels a call, one thread, processor time, medians of interleaved "
        f"rounds: {result['cpu']}, {', '.join(versions)}, commit "
        f"{result['commit']}{' with changes' if result['changed'] else ''}, {result['date']}. Measured by "
        "`bench/detection.py`."
    )


def views_cpu(result):
    yield "| the source on Pillow images | Motley, Pillow images | Motley, arrays | Motley, a list of arrays | times |"
    yield "|---:|---:|---:|---:|---:|"
    for row in result["rows"]:
        times = " | ".join(
            f"{row[key]:.2f} ms" for key in ("theirs_ms", "motley_pillow_ms", "motley_arrays_ms", "motley_batch_ms")
        )
        yield f"| {times} | **{row['times_faster']:.1f}** |"
    yield ""
    yield (
        f"An image of {result['size']} a call, one thread, processor time, the least of {result['rounds']} turns of "
        f"{result['images']} images; the last column is the median of the ratios of Pillow images: {result['cpu']}, "
        f"Pillow {result['pillow']}, torchvision {result['torchvision']}, commit {result['commit']}"
        f"{' with changes' if result['changed'] else ''}, {result['date']}. Measured by `bench/views.py --cpu`."
    )


def views(result):
    parts = {part: [row for row in result["rows"] if row["part"] == part] for part in ("views", "files", "step")}
    copy = next(row["us"] for row in parts["views"] if row["name"] == "a copy")
    yield "| from decoded images | time of 256 | copies | images per second |"
    yield "|---|---:|---:|---:|"
    for row in parts["views"]:
        if "us" in row:
            time = (
                row["us"]
                * result["batch"]
                / (result["per_sample"] if "image by image" in row["name"] else result["batch"])
            )
            yield f"| {row['name']} | {time:,.0f} us | {time / copy:,.1f} | {row['img_s']:,} |"
    yield ""
    yield "| from JPEG files | images per second | processor time an image | cores |"
    yield "|---|---:|---:|---:|"
    for row in parts["files"]:
        yield f"| {row['name']}, without a model | {row['img_s']:,} | {row['cpu_us']:.0f} us | {row['cores']:.2f} |"
    yield ""
    yield "| step | on views that are there, images per second | fed from JPEG files | share |"
    yield "|---|---:|---:|---:|"
    for row in parts["step"]:
        yield f"| {row['name']} | {row['img_s']:,} | {row['fed_img_s']:,} | {row['share']:.1%} |"
    yield ""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    yield (
        f"Images of {result['size']}, on one {result['device']}; steps of {result['step_batch']} images in "
        f"bfloat16. {versions}, commit {result['commit']}, {result['date']}. Measured by `bench/views.py`."
    )


def cuda_rows(result, *sets):
    """Rows of these sets of bench_cuda, copies aside. Older results do not name sets: theirs are in 'unnamed'."""
    return [row for row in result["rows"] if row.get("set", "unnamed") in sets and row["name"] != "copy"]


def images(row):
    return f"{row['count']} x {row['size'] if 'size' in row else '{0}x{0}'.format(row['side'])}"


def kib(row):
    return f"{row['workspace'] / 1024:,.0f} KiB"


def cuda(result):
    yield "| images | layout | policy | time | copies of the same bytes | images per second | host time of a call |"
    yield "|---|---|---|---:|---:|---:|---:|"
    policies = ("rand_augment", "trivial_augment_wide", "auto_augment_imagenet", "timm_rand_m9_mstd05_inc1")
    seen = set()
    for row in cuda_rows(result, "targets", "batches", "unnamed"):
        key = images(row), row["layout"], row["name"]
        if row["name"] in policies and key not in seen:
            seen.add(key)
            yield (
                f"| {images(row)} | {row['layout']} | `{row['name']}` | {row['us']:.1f} us "
                f"| **{row['copies']:.2f}** | {row['img_s']:,.0f} | {row['host_us']:.1f} us |"
            )
    yield ""
    yield (
        f"RGB in place on one {result['device']}; medians, buffers rotating through several times the L2 cache; "
        f"commit {result['commit']}{' with changes' if result['changed'] else ''}, {result['date']}. Measured by "
        "`bench/cuda_results.py`."
    )


def cuda_ops(result):
    rows = cuda_rows(result, "ops", "unnamed")
    first = next((i for i, row in enumerate(rows) if row["name"] == "identity"), len(rows))
    rows = [row for row in rows[first:] if images(row) == "256 x 224x224"]
    yield "| op | HWC: us | of the copy rate | CHW: us | of the copy rate |"
    yield "|---|---:|---:|---:|---:|"
    for name in dict.fromkeys(row["name"] for row in rows):
        cells = [next(r for r in rows if r["name"] == name and r["layout"] == layout) for layout in ("HWC", "CHW")]
        yield f"| {name} | " + " | ".join(f"{c['us']:.1f} | {100 / c['copies']:.0f} %" for c in cells) + " |"


def cuda_wide(result):
    """Policies and transforms of images of U16 and F32, and single ops in place."""
    ways = {"apart": "to another batch", "call": "in place", "fused": "to normalised f16", "transform": "256 to 224"}
    yield "| images | type | layout | what | how | time | copies of the same bytes |"
    yield "|---|---|---|---|---|---:|---:|"
    for row in cuda_rows(result, "wide"):
        if row["how"] in ways:
            yield (
                f"| {row['count']} x {row['channels']} x {row['size']} | {row['memory']} | {row['layout']} "
                f"| {row['name']} | {ways[row['how']]} | {row['us']:.0f} us | **{row['copies']:.1f}** |"
            )
    yield ""
    yield (
        f"On one {result['device']}; medians, buffers rotating through several times the L2 cache; commit "
        f"{result['commit']}{' with changes' if result['changed'] else ''}, {result['date']}. Measured by "
        "`bench/cuda_results.py build --set wide`."
    )


def both_layouts(result, name):
    """A row for each batch and policy of a set, HWC beside CHW."""
    rows = cuda_rows(result, name)
    if rows:
        yield "| images | policy | HWC: us | copies (share) | CHW: us | copies (share) | launches | workspace |"
        yield "|---|---|" + "---:|" * 6
    for key in dict.fromkeys((images(row), row["name"]) for row in rows):
        cells = {row["layout"]: row for row in rows if (images(row), row["name"]) == key}
        times = " | ".join(
            f"{c['us']:.1f} | **{c['copies']:.2f}** ({100 / c['copies']:.0f} %)" for c in (cells["HWC"], cells["CHW"])
        )
        yield f"| {key[0]} | `{key[1]}` | {times} | {cells['HWC']['launches']} | {kib(cells['HWC'])} |"


def cuda_sizes(result):
    return both_layouts(result, "sizes")


def cuda_large(result):
    return both_layouts(result, "large")


def cuda_shapes(result):
    return both_layouts(result, "shapes")


def cuda_strides(result):
    rows = cuda_rows(result, "strides")
    if rows:
        yield "| images | in memory | policy | time | copies | launches | workspace |"
        yield "|---|---|---|" + "---:|" * 4
    for row in rows:
        yield (
            f"| {images(row)} {row['layout']} | {row['memory']} | `{row['name']}` | {row['us']:.1f} us "
            f"| **{row['copies']:.2f}** | {row['launches']} | {kib(row)} |"
        )


def cuda_mixed(result):
    rows = cuda_rows(result, "mixed")
    if rows:
        yield "| images | policy | time | copies | images per second | host time of a call | launches | workspace |"
        yield "|---|---|" + "---:|" * 6
    for row in rows:
        yield (
            f"| {images(row)} | `{row['name']}` | {row['us']:.1f} us | **{row['copies']:.2f}** "
            f"| {row['img_s']:,.0f} | {row['host_us']:.1f} us | {row['launches']} | {kib(row)} |"
        )


def cuda_transforms(result):
    rows = [row for row in cuda_rows(result, "transforms") if row["how"] == "transform"]
    if rows:
        yield "| images | transform | time | copies | images per second | host time of a call |"
        yield "|---|---|" + "---:|" * 4
    for row in rows:
        yield (
            f"| {images(row)} | {row['name']} | {row['us']:.0f} us | **{row['copies']:.2f}** "
            f"| {row['img_s']:,.0f} | {row['host_us']:.1f} us |"
        )


def cuda_detection(result):
    yield "| images | recipe | time | copies | images per second | host time of a call |"
    yield "|---|---|" + "---:|" * 4
    for row in cuda_rows(result, "detection"):
        if row["how"] != "copy":
            graph = ", a graph's replay" if row["how"] == "replay" else ""
            yield (
                f"| {images(row)} | {row['name']}{graph} | {row['us']:.0f} us | **{row['copies']:.2f}** "
                f"| {row['img_s']:,.0f} | {row['host_us']:.1f} us |"
            )
    yield ""
    yield (
        f"RGB to f32 of 640x640, 7 boxes an image, on one {result['device']}; medians. A copy moves half of the bytes "
        "of sources and results there and back. "
        f"Commit {result['commit']}{' with changes' if result['changed'] else ''}, {result['date']}. Measured by "
        "`bench/cuda_results.py build --set detection`."
    )


def cuda_graph(result):
    rows = cuda_rows(result, "graph")
    if rows:
        yield "| images | launches | workspace | of the batch | call: us | host time | replay: us | host time |"
        yield "|---|" + "---:|" * 7
    for batch in dict.fromkeys(images(row) for row in rows):
        call, replay = (
            next(row for row in rows if images(row) == batch and row["how"] == how) for how in ("call", "replay")
        )
        yield (
            f"| {batch} | {call['launches']} | {kib(call)} | {100 * call['workspace'] / call['bytes']:.1f} % "
            + "".join(f"| {row['us']:.1f} | {row['host_us']:.1f} us " for row in (call, replay))
            + "|"
        )


def cuda_fused(result):
    rows = {(row["name"], row["how"]): row for row in cuda_rows(result, "fused")}
    if rows:
        yield (
            "| images | policy | fused, to HWC: us | copies | fused, to CHW: us | copies | separate: us | copies "
            "| the conversion alone: us | fused is |"
        )
        yield "|---|---|" + "---:|" * 8
    for name, fused in ((name, row) for (name, how), row in rows.items() if how == "fused"):
        separate, convert = rows[name, "separate"], rows["convert", "convert"]
        hwc = rows.get((name, "fused to HWC"))
        to_hwc = f"{hwc['us']:.1f} | **{hwc['copies']:.2f}**" if hwc else " | "
        yield (
            f"| {images(fused)} | `{name}` | {to_hwc} | {fused['us']:.1f} | **{fused['copies']:.2f}** "
            f"| {separate['us']:.1f} | {separate['copies']:.2f} | {convert['us']:.1f} "
            f"| {separate['us'] / fused['us']:.2f} times faster |"
        )


def attempts(result):
    counts = (1, 64, 256, 1024, 4096)
    yield "| after attempt | " + " | ".join(f"{n} images: us (copies)" for n in counts) + " |"
    yield "|---|" + "---:|" * len(counts)
    for attempt in result["attempts"]:
        rows = {row["count"]: row for row in attempt["rows"] if row["name"] == "rand_augment"}
        yield (
            f"| {attempt['attempt']} | "
            + " | ".join(f"{rows[n]['us']:.0f} ({rows[n]['copies']:.1f})" if n in rows else "" for n in counts)
            + " |"
        )
    yield ""
    yield f"RandAugment(2, 9), 224x224 HWC, {result['device']}, {result['date']}."


def peers(result):
    yield "| images | policy | library | draws for | images per second | Motley is |"
    yield "|---|---|---|---|---:|---:|"
    ours = {
        (row["count"], row["side"], row["policy"]): row["img_s"]
        for row in result["rows"]
        if row["name"].startswith("Motley") and "img_s" in row
    }
    for row in result["rows"]:
        if row["policy"]:
            side = row["side"]
            start = f"| {row['count']} x {side}x{side} | {row['policy']} | {row['name']} | {row['draws']} |"
            if "error" in row:
                yield f"{start} error: {row['error']} | |"
            else:
                faster = ours.get((row["count"], side, row["policy"]), 0) / row["img_s"]
                times = "" if row["name"].startswith("Motley") else f"{faster:,.0f} times"
                yield f"{start} {row['img_s']:,} | {times} |"
    yield ""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    yield (
        f"u8 RGB tensors on one {result['device']}, NCHW (DALI: NHWC), wall clock over queued calls; a library "
        f"that is called for each image was called for {result['per_sample']}. {versions}, {result['date']}. "
        "Measured by `bench/compare_gpu.py`."
    )


def gpu_transforms(result):
    """Whole transforms beside those of other libraries. Copies are of the run's own copy, by the same clock."""
    yield (
        "| images | transform | library | draws for | time | copies | images per second | host time of a call "
        "| Motley is |"
    )
    yield "|---|---|---|---|---:|---:|---:|---:|---:|"
    rows = [row for row in result["rows"] if row["policy"]]
    ours = {(row["size"], row["policy"]): row["img_s"] for row in rows if row["name"] == "Motley, a list of tensors"}
    copies = {(row["size"], row["name"]): row["us"] for row in result["rows"] if not row["policy"]}
    for row in rows:
        start = f"| {row['count']} x {row['size']} | {row['policy']} | {row['name']} | {row['draws']} |"
        if "error" in row:
            yield f"{start} error: {row['error']} | | | | |"
            continue
        us = 1e6 * row["count"] / row["img_s"]  # of a library that is called image by image, for as many images
        copy = copies[row["size"], "a copy, from C" if row["name"].endswith("from C") else "a copy"]
        host = f"{row['host_us']:.0f} us" if "host_us" in row else ""
        faster = ours.get((row["size"], row["policy"]), 0) / row["img_s"]
        yield (
            f"{start} {us:,.0f} us | {us / copy:,.1f} | {row['img_s']:,} | {host} "
            f"| {'' if row['name'].startswith('Motley') else f'{faster:,.1f} times'} |"
        )
    yield ""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    yield (
        f"Decoded u8 HWC images on one {result['device']} to normalised f16 (Kornia: f32) of 224x224; a library "
        f"that is called image by image was called for {result['per_sample']}. {versions}, commit "
        f"{result['commit']}, {result['date']}. Measured by `bench/compare_gpu_transforms.py`."
    )


# What stands before the model, by the names of bench/train.py's cases.
FEEDS = {
    "fixed": "one batch, already on the GPU, over and over",
    "plain": "u8 batches in pinned memory, not augmented",
    "motley_gpu": "**u8 batches, Motley on the GPU**",
    "torchvision_gpu": "u8 batches, torchvision v2 on the GPU (one draw for the whole batch)",
    "motley_workers": "**arrays, Motley on the CPU in the workers**",
    "torchvision_pil": "arrays, torchvision on Pillow images in the workers",
    "jpeg_motley": "**JPEG files decoded in the workers, Motley on the GPU**",
    "jpeg_gpu_motley": "**JPEG files decoded on the GPU, Motley's whole transform there, no workers**",
    "gpu_decode": "JPEG files decoded on the GPU and not used; the fixed batch",
    "gpu_transform": "Motley's whole transform of images decoded before",
    "dali_plain": "JPEG files, DALI: decoded on the GPU, cropped, flipped, normalised, no policy",
    "dali_own": "JPEG files, DALI: the same with its own RandAugment",
    "dali_motley": "**JPEG files, DALI: decoded on the GPU, Motley's whole transform as its operator**",
    "jpeg_torchvision": "JPEG files decoded, then torchvision on Pillow images, in the workers",
}
MODELS = {"resnet50": "ResNet-50", "efficientnet_b0": "EfficientNet-b0"}


def train(result):
    files = f"{result['files']:,} of " if "files" in result else ""
    yield (
        "| model | what feeds it | images per second | of the fixed batch | GPU busy | worker time an image "
        "| cores for the full rate | images per second without the model |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for model in dict.fromkeys(row["model"] for row in result["rows"]):
        rows = {row["case"]: row for row in result["rows"] if row["model"] == model}
        for case in (case for case in FEEDS if case in rows):
            row = rows[case]
            busy = "" if row["gpu_busy"] is None else f"{row['gpu_busy']:.0f} %"
            alone = row.get("alone_img_s")
            workers = f"{row['worker_ms']:.2f} ms | {row['cores_needed']:.1f}" if row["worker_ms"] else "|"
            yield (
                f"| {MODELS.get(model, model)} | {FEEDS[case]} | {row['img_s']:,.0f} | {100 * row['share']:.1f} % "
                f"| {busy} | {workers} | {f'{alone:,.0f}' if alone else ''} |"
            )
    yield ""
    yield (
        f"RandAugment(2, 9), {result['batch']} images of {result['side']}x{result['side']} (JPEG files: "
        f"{files}{result['jpeg']}, cropped), AMP in {result['dtype']}, channels_last, SGD; one {result['device']}, "
        f"{result['workers']} workers on {result['cores']} cores, torch {result['torch']}, torchvision "
        f"{result['torchvision']}, Pillow {result['pillow']}; medians of {result['rounds']} turns; commit "
        f"{result['commit']}{' with changes' if result['changed'] else ''}, {result['date']}. Measured by "
        "`bench/train.py`."
    )


DECODERS = {"torchvision": "torchvision's operator", "torchcodec": "TorchCodec", "nvimgcodec": "nvImageCodec"}


def decoders(result):
    yield "| decoder | files | decoded, images per second | with the whole transform | CPU time an image |"
    yield "|---|---|---:|---:|---:|"
    rows = {(row["decoder"], row["files"], row["part"]): row for row in result["rows"]}
    for decoder, files in dict.fromkeys(key[:2] for key in rows):
        alone, whole = (rows[decoder, files, part] for part in ("decode", "whole"))
        yield (
            f"| {DECODERS[decoder]} | {files}, {result['mean_bytes'][files] / 1e3:.0f} kB on average "
            f"| {alone['img_s']:,} | {whole['img_s']:,} | {whole['cpu_us']:.0f} us |"
        )
    yield ""
    versions = ", ".join(
        f"{name} {result[key]}"
        for name, key in (
            ("torch", "torch"),
            ("torchvision", "torchvision"),
            ("TorchCodec", "torchcodec"),
            ("nvImageCodec", "nvidia-nvimgcodec-cu13"),
        )
    )
    yield (
        f"{result['files']:,} files of each kind, {result['batch']} a batch; crop, flip, RandAugment(2, 9) and "
        f"{result['dtype']} output of {result['side']}x{result['side']}; one {result['device']} and "
        f"{result['cores']} CPU core; {versions}; medians of {result['rounds']} turns; commit {result['commit']}, "
        f"{result['date']}. Measured by `bench/decoders.py`."
    )


def train_plotted(plot):
    def lines(result):
        yield from train(result)
        yield ""
        yield f"![Images per second of a training step, by what feeds it]({plot})"

    return lines


def bars(groups, left, note=""):
    """A chart as SVG. A group is a heading and its bars: label, length (at most 1), text at its end, whether ours."""
    width, bar = 920, 18
    parts, y = [], 0
    for heading, rows in groups:
        y += 30
        parts.append(f'<text x="8" y="{y}" font-weight="bold">{heading}</text>')
        for label, length, text, ours in rows:
            y += bar + 6
            long = round((width - left - 130) * min(length, 1.0))
            parts += [
                f'<text x="{left - 8}" y="{y}" text-anchor="end">{label}</text>',
                f'<rect x="{left}" y="{y - 13}" width="{long}" height="{bar}" '
                f'fill="{"#d1495b" if ours else "#8d99ae"}"/>',
                f'<text x="{left + 6 + long}" y="{y}">{text}</text>',
            ]
        y += 12
    if note:
        y += 12
        parts.append(f'<text x="8" y="{y}" fill="#555">{note}</text>')
        y += 12
    size = f'width="{width}" height="{y}" viewBox="0 0 {width} {y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    return "\n".join([head, f'<rect width="{width}" height="{y}" fill="white"/>', *parts, "</svg>", ""])


def train_svg(result):
    """Each case's share of the fixed batch's rate."""
    groups = []
    for model in dict.fromkeys(row["model"] for row in result["rows"]):
        rows = {row["case"]: row for row in result["rows"] if row["model"] == model}
        groups.append(
            (
                MODELS.get(model, model),
                [
                    (
                        FEEDS[case].strip("*"),
                        rows[case]["share"],
                        f"{rows[case]['img_s']:,.0f}/s, {100 * rows[case]['share']:.0f} %",
                        "motley" in case,
                    )
                    for case in FEEDS
                    if case in rows
                ],
            )
        )
    return bars(groups, 450)


def fused_gains(whole, library):
    """(transform, times) of whole transforms that draw, with one line changed."""
    rows = [row for row in whole["rows"] if row["library"] == library and row["transform"] != "resize, centre crop"]
    return [(row["transform"], row["theirs_ms"] / row["motley_fused_ms"]) for row in rows]


def short(whole, peers, files):
    """README's claim: what a line of a script gains, what a GPU makes, what a training needs."""
    least = {library: min(times for _, times in fused_gains(whole, library)) for library in ("torchvision", "timm")}
    rates = [
        row
        for row in peers["rows"]
        if row["policy"] == "RandAugment(2, 9)"
        and row["side"] == 224
        and row["draws"] == "each image"
        and "img_s" in row
    ]
    most = max((row for row in rates if row["name"].startswith("Motley")), key=lambda row: row["img_s"])
    dali = next(row for row in rates if row["name"].startswith("DALI auto_aug") and row["count"] == most["count"])
    fed = next(row for row in files["rows"] if (row["model"], row["case"]) == ("resnet50", "jpeg_gpu_motley"))
    yield (
        f"- **Fast.** One changed line makes a whole torchvision `Compose` at least {least['torchvision']:.1f} times "
        f"as fast on a core, timm's"
    )
    yield (
        f"  {least['timm']:.1f} times. One {peers['device']} augments {most['img_s'] / 1e6:.1f} million images per "
        f"second, {most['img_s'] / dali['img_s']:.0f} times as many as DALI."
    )
    yield (
        f"  A ResNet-50 trains from JPEG files at {100 * fed['share']:.0f} % of its rate without any loading, on "
        f"{fed['cores_needed']:.1f} CPU cores."
    )


def log_bars(groups, note):
    """A chart of rates: groups are a heading and (label, images per second, whether ours). Ten times as fast is as much
    longer everywhere."""
    rates = [rate for _, rows in groups for _, rate, _ in rows]
    least = 10 ** math.floor(math.log10(min(rates)) - 0.5)
    return bars(
        [
            (
                heading,
                [
                    (label, math.log(rate / least) / math.log(max(rates) / least), f"{rate:,}", ours)
                    for label, rate, ours in sorted(rows, key=lambda row: -row[1])
                ],
            )
            for heading, rows in groups
        ],
        150,
        f"Images per second on a logarithmic scale; {note}",
    )


def drawn_for_each(result):
    """Rows of Python calls that draw for each image, and use no other library's kernels under Motley's name."""
    return [
        row
        for row in result["rows"]
        if row["policy"]
        and row["draws"] == "each image"
        and "img_s" in row
        and not row["name"].endswith("from C")
        and "fn.motley" not in row["name"]
    ]


def peers_svg(result):
    """The largest batch of 224x224."""
    rows, groups = [row for row in drawn_for_each(result) if row["side"] == 224], []
    count = max(row["count"] for row in rows)
    for policy in dict.fromkeys(row["policy"] for row in rows):
        groups.append(
            (
                policy,
                [
                    (row["name"].split(" (")[0], row["img_s"], row["name"].startswith("Motley"))
                    for row in rows
                    if row["count"] == count and row["policy"] == policy
                ],
            )
        )
    return log_bars(
        groups, f"{count} images of 224x224, each with its own draw; one {result['device']}, {result['date']}"
    )


def gpu_transforms_svg(result):
    """The first size; of each library the fastest way."""
    rows = drawn_for_each(result)
    size, groups = rows[0]["size"], []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        best = {}
        for row in (row for row in rows if row["size"] == size and row["policy"] == policy):
            name = re.split(r"[ ,]", row["name"])[0]
            best[name] = max(row["img_s"], best.get(name, 0))
        groups.append((policy, [(name, rate, name == "Motley") for name, rate in best.items()]))
    return log_bars(groups, f"decoded {size} to normalised 224x224; one {result['device']}, {result['date']}")


def dropins_svg(result):
    run = result["runs"][0]
    rows = [row for row in run["rows"] if row["size"] != "32x32"]
    most = max(row["dropin_times"] for row in rows)
    return bars(
        [
            (
                "one transform of PIL images, one by one",
                [
                    (row["transform"], row["dropin_times"] / most, f"{row['dropin_times']:.1f} times", True)
                    for row in rows
                ],
            )
        ],
        420,
        f"Times as fast as torchvision {run['torchvision']} and timm {run['timm']} with Pillow {run['pillow']}, "
        f"one thread; {run['cpu']}, {run['date']}",
    )


def migrate(dropins, transforms, opencv, resized, peers, whole):
    """From each library to Motley: of what was measured, what gains least and most."""
    yield "| from | measured | least | most | slower |"
    yield "|---|---|---|---|---|"

    def row(source, measured, gains):
        low, high = min(gains, key=lambda gain: gain[1]), max(gains, key=lambda gain: gain[1])
        cells = [f"{name}: {times:,.{2 if times < 10 else 0}f} times" for name, times in (low, high)]
        slower = sorted({name for name, times in gains if times < 1})
        return f"| {source} | {measured} | {cells[0]} | {cells[1]} | {'; '.join(slower)} |"

    run = dropins["runs"][0]
    for library in ("torchvision", "timm"):
        gains = [
            (f"{row['transform']}, {row['size']}", row["dropin_times"])
            for row in run["rows"]
            if row["transform"].startswith("timm") == (library == "timm")
        ]
        yield row(library, f"{len(gains)} transforms of PIL images, one changed line, a CPU core", gains)
        gains = fused_gains(transforms, library)
        yield row(library, f"{len(gains)} whole transforms, one changed line, a CPU core", gains)
    gains = [
        (f"{one['images']} {one['from']} to {one['to']}, {one['filter']}", one["pillow_us"] / one["motley_us"])
        for one in resized["rows"]
    ]
    yield row("Pillow", f"{len(gains)} resizes, a CPU core", gains)
    gains = [(one["op"], one["times_faster"]) for one in opencv["rows"]]
    yield row("albumentations", f"{len(gains)} ops of an array of 224x224, a CPU core", gains)
    for library in ("torchvision", "Kornia", "DALI"):
        gains = []
        for result, size in ((peers, "side"), (whole, "size")):
            rows = drawn_for_each(result)
            ours = {
                (one["count"], one[size], one["policy"]): one["img_s"]
                for one in rows
                if one["name"].startswith("Motley")
            }
            gains += [
                (
                    f"{one['policy']}, {one['count']} of {one[size]}",
                    ours[one["count"], one[size], one["policy"]] / one["img_s"],
                )
                for one in rows
                if one["name"].startswith(library)
            ]
        yield row(f"{library} on a GPU", f"{len(gains)} batches, each image with its own draw", gains)
    yield ""
    yield (
        "How many times as fast Motley is, of the newest results of each kind: [Benchmarks](benchmarks.md) has all "
        "rows, machines and versions."
    )


# name of the table: (kinds of results, what makes it)
TABLES = {
    "bench-cpu": ("cpu", comparison),
    "bench-cpu-ops": ("cpu", ops),
    "bench-albumentations": ("albumentations", albumentations),
    "bench-resize": ("resize", resize),
    "bench-wide": ("wide", wide),
    "bench-one-core": ("one-core", one_core),
    "bench-transforms": ("cpu-transforms", transforms),
    "bench-detection": ("detection", detection),
    "bench-views-cpu": ("views-cpu", views_cpu),
    "bench-views": ("views", views),
    "bench-dropins-all": ("dropins", dropins_all),
    "bench-calls": ("dropins", dropin_calls),
    "bench-followers": ("followers", followers),
    "bench-cuda-followers": ("cuda-followers", cuda_followers),
    "python-call-cuda": ("python-cuda", python_cuda),
    "bench-cuda": ("cuda", cuda),
    "bench-cuda-ops": ("cuda", cuda_ops),
    "bench-cuda-sizes": ("cuda", cuda_sizes),
    "bench-cuda-mixed": ("cuda", cuda_mixed),
    "bench-cuda-graph": ("cuda", cuda_graph),
    "bench-cuda-wide": ("cuda-wide", cuda_wide),
    "bench-cuda-transforms": ("cuda", cuda_transforms),
    "bench-cuda-detection": ("cuda-detection", cuda_detection),
    "bench-cuda-fused": ("cuda", cuda_fused),
    "bench-cuda-large": ("cuda", cuda_large),
    "bench-cuda-shapes": ("cuda", cuda_shapes),
    "bench-cuda-strides": ("cuda", cuda_strides),
    "bench-attempts": ("attempts", attempts),
    "bench-peers": ("peers", peers),
    "bench-gpu-transforms": ("gpu-transforms", gpu_transforms),
    "bench-train": ("train", train_plotted("train.svg")),
    "bench-train-files": ("train-files", train_plotted("train-files.svg")),
    "bench-decoders": ("decoders", decoders),
    "bench-short": ("cpu-transforms peers train-files", short),
    "bench-migrate": ("dropins cpu-transforms albumentations resize peers gpu-transforms", migrate),
}
PLOTS = {
    "doc/train.svg": ("train", train_svg),
    "doc/train-files.svg": ("train-files", train_svg),
    "doc/speed.svg": ("peers", peers_svg),
    "doc/speed-cpu.svg": ("dropins", dropins_svg),
    "doc/speed-transforms.svg": ("gpu-transforms", gpu_transforms_svg),
}
PAGES = (
    "README.md", "doc/benchmarks.md", "doc/detection.md", "doc/migrate.md", "doc/notes/cuda-attempts.md",
    "doc/site/index.md",
)  # fmt: skip


def fill(text, results):
    for name, (kind, make) in TABLES.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if begin in text:
            before, rest = text.split(begin, 1)
            if end not in rest:
                raise SystemExit(f"tables.py: {begin} has no {end} after it")
            found = [results[one] for one in kind.split()]
            missing = [f"Not measured yet: there is no bench/results/*-{kind}.json."]
            rows = make(*found) if all(found) else missing
            text = before + begin + "\n" + "\n".join(rows) + "\n" + end + rest.split(end, 1)[1]
    return text


def newest(kind):
    files = sorted((ROOT / "bench/results").glob(f"????-??-??-{kind}.json"))
    return json.loads(files[-1].read_text()) if files else None


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        raise SystemExit(__doc__)
    results = {kind: newest(kind) for kinds, _ in TABLES.values() for kind in kinds.split()}
    wanted = {path: fill((ROOT / path).read_text(), results) for path in PAGES}
    wanted.update({path: make(results[kind]) for path, (kind, make) in PLOTS.items() if results[kind]})
    behind = []
    for path, new in wanted.items():
        path = ROOT / path
        if not path.exists() or path.read_text() != new:
            behind.append(path.name)
            if not check:
                path.write_text(new)
    if check and behind:
        raise SystemExit(f"tables.py: behind the results: {', '.join(behind)}: run bench/tables.py")


if __name__ == "__main__":
    main()
