#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times whole train transforms of Motley and of other libraries on the same GPU, in one run, without decoding.

    bench/compare_gpu_transforms.py BUILD [--out FILE.json]     # BUILD: a build directory with CUDA
    bench/tables.py                                             # puts the table into doc/benchmarks.md

From 256 decoded HWC images to normalised f16 of 224x224: crop and flip, with RandAugment(2, 9) and without. Motley runs
from C (BUILD/bench/bench_cuda --set transforms: GPU events) and from Python on a list of tensors. The others are
torchvision v2, Kornia, NVIDIA DALI and CV-CUDA, by the same pipeline as each offers it, and take part where they can be
imported. Their times, and Motley's from Python, are wall clock over queued calls; the host time is that of a call
on an idle GPU until it returns. The copy is of half the bytes that the crops of Motley's call have and that it writes.
"""

import contextlib
import functools
import json
import pathlib
import statistics
import subprocess
import time
import warnings

import torch
from compare_gpu import NEEDED, PER_SAMPLE, fastest, images, is_here, measure, parse_arguments, write

import motley

DEVICE = "cuda"
COUNT, SIDE = 256, 224
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PLAIN, POLICY = "crop, flip", "crop, flip, RandAugment(2, 9)"


def batches():
    """The name of a size, and 256 images of it: u8 [height, width, 3]."""
    for width, height in ((500, 375), (1024, 768)):
        side = max(width, height)
        square = images(COUNT, side)
        yield f"{width}x{height}", list(square[:, :, :height, :width].permute(0, 2, 3, 1).contiguous())
    random = torch.Generator().manual_seed(1)
    square = images(8, 2000)
    sizes = torch.randint(300, 2001, (COUNT, 2), generator=random).tolist()
    yield (
        "300..2000 a side",
        [square[i % 8, :, :height, :width].permute(1, 2, 0).contiguous() for i, (height, width) in enumerate(sizes)],
    )


def motley_text(work):
    policy = "  - policy: rand_augment\n" if work == POLICY else ""
    return (
        f"motley: 1\nname: train\nstages:\n  - random_resized_crop: {{size: {SIDE}}}\n  - flip: {{horizontal: 0.5}}\n"
        f"{policy}  - output: {{mean: {list(MEAN)}, std: {list(STD)}}}\n"
    )


def motley_transform(work):
    return motley.Transform(motley_text(work), dtype="float16", layout="hwc", seed=1)


def motley_cases(batch):
    out = torch.empty(COUNT, 3, SIDE, SIDE, dtype=torch.float16, device=DEVICE)
    for work in (PLAIN, POLICY):
        transform = motley_transform(work)
        yield "Motley, a list of tensors", work, "each image", COUNT, lambda t=transform: lambda: t(batch, out=out)


def copy_case(batch):
    """Of half the bytes that are read and written: as many are moved then."""
    drawn = motley_transform(PLAIN)(batch, return_draws=True)[1]
    read = sum(3 * draw["crop"]["width"] * draw["crop"]["height"] for draw in drawn)
    half = (read + COUNT * 3 * SIDE * SIDE * 2) // 2
    source, target = (torch.empty(half, dtype=torch.uint8, device=DEVICE) for _ in range(2))
    yield "a copy", "", "", COUNT, lambda: lambda: target.copy_(source)


def v2_steps(work):
    from torchvision.transforms import v2

    policy = [v2.RandAugment(2, 9)] if work == POLICY else []
    ends = [v2.ToDtype(torch.float16, scale=True), v2.Normalize(MEAN, STD)]
    return [v2.RandomResizedCrop(SIDE, antialias=True), v2.RandomHorizontalFlip(), *policy, *ends]


def torchvision_cases(batch):
    from torchvision.transforms import v2

    some = [image.permute(2, 0, 1) for image in batch[:PER_SAMPLE]]
    for work in (PLAIN, POLICY):
        compose = v2.Compose(v2_steps(work))
        yield "torchvision v2", work, "each image", PER_SAMPLE, lambda c=compose: lambda: [c(image) for image in some]


def kornia_cases(batch):
    import kornia.augmentation as K
    from kornia.augmentation import auto

    def pipeline(work):
        policy = [auto.RandAugment(n=2, m=9)] if work == POLICY else []
        crop = K.RandomResizedCrop((SIDE, SIDE), cropping_mode="resample")
        means = [torch.tensor(values) for values in (MEAN, STD)]
        return torch.nn.Sequential(crop, K.RandomHorizontalFlip(), *policy, K.Normalize(*means)).to(DEVICE)

    one_size = len({image.shape for image in batch}) == 1
    for work in (PLAIN, POLICY):
        if one_size:
            draws = "each image" if work == PLAIN else "policy: whole batch"

            def make_whole(work=work):
                return functools.partial(pipeline(work), torch.stack(batch).permute(0, 3, 1, 2).float() / 255)

            yield "Kornia, f32", work, draws, COUNT, make_whole
        some = [image.permute(2, 0, 1)[None].float() / 255 for image in batch[:PER_SAMPLE]]

        def make(work=work, some=some):
            whole = pipeline(work)
            return lambda: [whole(image) for image in some]

        yield "Kornia, f32, image by image", work, "each image", PER_SAMPLE, make


def dali_pipe(work, batch, operator, dynamic, threads):
    """A pipeline whose source is the batch itself, which it neither copies nor waits for."""
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.auto_aug import rand_augment

    from motley.adapters import dali

    @pipeline_def(enable_conditionals=True)
    def pipeline():
        decoded = fn.external_source(lambda: batch, device="gpu", layout="HWC", no_copy=True, batch=True)
        if operator == "fn.motley.augment":
            return dali.augment(decoded, policy=motley_transform(work))
        crops = fn.random_resized_crop(
            decoded, size=[SIDE, SIDE], random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3]
        )
        if work == POLICY:
            crops = rand_augment.rand_augment(crops, n=2, m=9, monotonic_mag=True)
        return fn.crop_mirror_normalize(
            crops,
            mirror=fn.random.coin_flip(),
            mean=[255 * m for m in MEAN],
            std=[255 * s for s in STD],
            dtype=types.FLOAT16,
            output_layout="CHW",
        )

    pipe = pipeline(
        batch_size=COUNT, num_threads=threads, device_id=0, seed=1, prefetch_queue_depth=3, exec_dynamic=dynamic
    )
    pipe.build()
    return pipe


def dali_cases(batch):
    from motley.adapters import dali

    operators = ["own operators"]
    with contextlib.suppress(motley.UnsupportedError):
        dali.load()
        operators.append("fn.motley.augment")
    for operator in operators:
        for work in (PLAIN, POLICY):
            make = functools.partial(dali_pipe, work, batch, operator)
            yield f"DALI {operator}", work, "each image", COUNT, functools.partial(fastest, make)


def cvcuda_cases(batch):
    """Its torchvision pipelines image by image; on batches of one size its own operators, which flip all alike."""
    import cvcuda

    def compose(work):
        whole = cvcuda.tv.Compose(v2_steps(work))
        some = [image.permute(2, 0, 1).contiguous() for image in batch[:PER_SAMPLE]]
        return lambda: [whole(image) for image in some]

    for work in (PLAIN, POLICY):
        yield "CV-CUDA, tv.Compose", work, "each image", PER_SAMPLE, functools.partial(compose, work)

    def operators():
        whole = cvcuda.as_tensor(torch.stack(batch), "NHWC")
        mean, std = (cvcuda.as_tensor(torch.tensor(v, device=DEVICE).reshape(1, 1, 1, 3), "NHWC") for v in (MEAN, STD))
        seeds = iter(range(1 << 31))

        def call():
            crops = cvcuda.random_resized_crop(
                whole, (COUNT, SIDE, SIDE, 3), interp=cvcuda.Interp.LINEAR, seed=next(seeds)
            )
            unit = cvcuda.convertto(cvcuda.flip(crops, 1), cvcuda.Type.F32, scale=1 / 255)
            normal = cvcuda.normalize(unit, mean, std, cvcuda.NormalizeFlags.SCALE_IS_STDDEV)
            return cvcuda.reformat(normal, "NCHW")

        return call

    if len({image.shape for image in batch}) == 1:
        yield "CV-CUDA, its operators, f32", PLAIN, "crops: each image", COUNT, operators


LIBRARIES = {
    "motley": motley_cases,
    "torchvision": torchvision_cases,
    "kornia": kornia_cases,
    "nvidia.dali": dali_cases,
    "cvcuda": cvcuda_cases,
}


def host_us(call, rounds=20):
    """Of a call on an idle GPU, until it returns; the median."""
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return round(1e6 * statistics.median(times), 1)


def from_c(build):
    """Rows of bench_cuda, in this file's words."""
    lines = subprocess.run(
        [build / "bench" / "bench_cuda", "--set", "transforms"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    works = {"crop, flip": PLAIN, "crop, flip, rand_augment": POLICY, "copy": ""}
    for row in map(json.loads, lines[1:]):
        if row["name"] in works:
            name = "a copy, from C" if row["name"] == "copy" else "Motley, from C"
            draws = "each image" if works[row["name"]] else ""
            measured = {key: row[key] for key in ("count", "size", "us", "img_s", "copies", "host_us")}
            yield {"name": name, "policy": works[row["name"]], "draws": draws, **measured}


def main():
    parser = parse_arguments(__doc__)
    parser.add_argument("build", type=pathlib.Path)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows = list(from_c(args.build))
    libraries = [name for name in LIBRARIES if name == "motley" or is_here(name)]
    for size, batch in batches():
        for cases in (copy_case, *(LIBRARIES[name] for name in libraries)):
            for name, work, draws, count, make in cases(batch):
                key = {"count": COUNT, "size": size, "name": name, "policy": work, "draws": draws}
                call = measure(rows, key, make, count)
                if call and name.startswith("Motley"):
                    rows[-1]["host_us"] = host_us(call)
    write("gpu-transforms", rows, [*NEEDED, "cvcuda"], args)


if __name__ == "__main__":
    main()
