#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Motley and other libraries on the same GPU tensors in one run, beside a device copy of the same bytes.

    bench/compare_gpu.py [--out FILE.json]       # needs torch with CUDA and the motley package
    bench/tables.py                              # puts the table into doc/benchmarks.md

torchvision v2, Kornia and NVIDIA DALI take part where they can be imported; those that cannot are named in the result.
Times are wall clock over queued calls, so that what a library does on the host counts. "per sample" is the library
called once for each image: one draw an image, as Motley and DALI do; "whole batch" is one draw for all of them. DALI
runs its own operators and, where it was built, Motley's (fn.motley.augment), in pipelines of nothing else."""

import argparse
import contextlib
import datetime
import functools
import importlib
import json
import pathlib
import statistics
import subprocess
import time
import warnings

import torch

import motley

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = ((256, 224), (1024, 224), (1024, 32), (64, 512))
# What is timed of a library.
NEEDED = {
    "torch": "torch",
    "torchvision": "torchvision.transforms.v2",
    "kornia": "kornia.augmentation.auto",
    "nvidia.dali": "nvidia.dali.auto_aug.rand_augment",
}
PER_SAMPLE = 32  # images that a library is called for one by one; the time is per image


def images(count, side):
    """u8 [count, 3, side, side]: smooth, with noise, as photographs are."""
    generator = torch.Generator("cuda").manual_seed(1)
    coarse = torch.rand(count, 3, max(2, side // 16), max(2, side // 16), device="cuda", generator=generator)
    smooth = torch.nn.functional.interpolate(coarse, size=(side, side), mode="bilinear")
    noise = torch.rand(count, 3, side, side, device="cuda", generator=generator)
    return (smooth * 220 + noise * 35).to(torch.uint8)


def seconds(call, at_least=0.1, rounds=5):
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
        importlib.import_module(NEEDED.get(name, name))
        return importlib.import_module(name).__version__
    except Exception as error:  # an import may fail in any way
        return f"not here: {type(error).__name__}: {str(error)[:60]}"


def is_here(name):
    return not version(name).startswith("not here")


def motley_cases():
    for policy, make in (("RandAugment(2, 9)", motley.RandAugment), ("TrivialAugmentWide", motley.TrivialAugmentWide)):
        stage = make(seed=1)
        yield "Motley, in place", policy, "each image", lambda x, stage=stage: stage.apply_(x)


def torchvision_cases():
    from torchvision.transforms import v2

    for policy, transform in (
        ("RandAugment(2, 9)", v2.RandAugment(2, 9)),
        ("TrivialAugmentWide", v2.TrivialAugmentWide()),
    ):
        yield "torchvision v2", policy, "whole batch", transform
        yield "torchvision v2", policy, "each image", lambda x, t=transform: [t(image) for image in x[:PER_SAMPLE]]


def kornia_cases():
    from kornia.augmentation import auto

    for policy, transform in (
        ("RandAugment(2, 9)", auto.RandAugment(n=2, m=9)),
        ("TrivialAugmentWide", auto.TrivialAugment()),
    ):
        yield "Kornia, f32", policy, "whole batch", lambda x, t=transform: t(x)
        yield "Kornia, f32", policy, "each image", lambda x, t=transform: [t(x[i : i + 1]) for i in range(PER_SAMPLE)]


def dali_pipe(policy, x, operator, dynamic, threads):
    """A pipeline whose source is the batch x itself, which it neither copies nor waits for."""
    from nvidia.dali import fn, pipeline_def
    from nvidia.dali.auto_aug import rand_augment, trivial_augment

    @pipeline_def(enable_conditionals=True)
    def pipeline():
        batch = fn.external_source(lambda: x, device="gpu", layout="HWC", no_copy=True, batch=True)
        if operator == "fn.motley.augment":
            name = "trivial_augment_wide" if policy == "TrivialAugmentWide" else "rand_augment"
            return fn.motley.augment(batch, policy=name, seed=1)
        if policy == "TrivialAugmentWide":
            return trivial_augment.trivial_augment_wide(batch)
        return rand_augment.rand_augment(batch, n=2, m=9, monotonic_mag=True)

    pipe = pipeline(
        batch_size=len(x), num_threads=threads, device_id=0, seed=1, prefetch_queue_depth=3, exec_dynamic=dynamic
    )
    pipe.build()
    return pipe


def fastest(make):
    """DALI's fastest way here to run a pipeline: of both executors, and of one thread and several."""
    best = None
    for dynamic in (True, False):
        for threads in (1, 8):
            pipe = make(dynamic, threads)
            # The dynamic executor hands its output to a stream; the other one waits for it.
            stream = torch.cuda.current_stream() if dynamic else None

            def call(pipe=pipe, stream=stream):
                pipe.run(stream)

            call.settings = f"{'dynamic' if dynamic else 'static'} executor, threads: {threads}"
            took = seconds(call, at_least=0.05, rounds=3)
            if best is None or took < best[0]:
                best = took, call
    return best[1]


def dali_operators():
    yield "auto_aug"
    from motley.adapters import dali

    with contextlib.suppress(motley.UnsupportedError):
        dali.load()
        yield "fn.motley.augment"


def measure(rows, key, make, images):
    """Adds a row: `key`, and how long the call takes that `make` gives, which is of so many images. Returns the call,
    or None where it failed."""
    call = None
    try:
        call = make()
        took = seconds(call)
    except Exception as error:  # another library's; the other rows are wanted all the same
        row = {"error": str(error)[-200:]}
    else:
        row = {"us": round(1e6 * took, 1), "img_s": round(images / took)}
        if hasattr(call, "settings"):
            key = {**key, "name": f"{key['name']} ({call.settings})"}
    rows.append({**key, **row})
    print(json.dumps(rows[-1]), flush=True)
    return None if "error" in row else call


def run(rows, here):
    for count, side in SIZES:
        x = images(count, side)

        def add(name, policy, draws, make, each=count):
            key = {"count": count, "side": side, "name": name, "policy": policy, "draws": draws}
            measure(rows, key, make, each)

        y = torch.empty_like(x)
        add("a copy", "", "", lambda: lambda: y.copy_(x))
        for name, policy, draws, call in motley_cases():
            add(name, policy, draws, lambda: lambda: call(y))
        if here("torchvision"):
            for name, policy, draws, call in torchvision_cases():
                add(name, policy, draws, lambda: lambda: call(x), PER_SAMPLE if draws == "each image" else count)
        if here("kornia"):
            unit = x.float() / 255
            for name, policy, draws, call in kornia_cases():
                add(name, policy, draws, lambda: lambda: call(unit), PER_SAMPLE if draws == "each image" else count)
        if here("nvidia.dali"):
            hwc = x.permute(0, 2, 3, 1).contiguous()
            for operator in dali_operators():
                for policy in ("RandAugment(2, 9)", "TrivialAugmentWide"):
                    add(
                        f"DALI {operator}",
                        policy,
                        "each image",
                        lambda: fastest(functools.partial(dali_pipe, policy, hwc, operator)),
                    )


def write(kind, rows, needed, args, **more):
    """bench/results/DATE-KIND.json, a row a line."""
    date = datetime.date.today().isoformat()
    result = {
        "date": date,
        "commit": args.commit,
        "motley": motley.__version__,
        "device": torch.cuda.get_device_name(),
        "versions": {name: version(name) for name in needed},
        "per_sample": PER_SAMPLE,
        **more,
    }
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    out = args.out or ROOT / "bench/results" / f"{date}-{kind}.json"
    out.write_text(json.dumps({**result, "rows": None}, indent=1).replace("null", f"[\n{lines}\n ]") + "\n")


def commit_here():
    """'' in a copy of the tree without its history."""
    git = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    return git.stdout.strip()


def parse_arguments(doc):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--commit", default=commit_here(), help="where git cannot say it")
    return parser


def main():
    args = parse_arguments(__doc__).parse_args()
    warnings.filterwarnings("ignore")
    rows = []
    run(rows, is_here)
    write("peers", rows, NEEDED, args)


if __name__ == "__main__":
    main()
