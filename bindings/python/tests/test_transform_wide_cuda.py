# SPDX-License-Identifier: Apache-2.0
"""uint16 and float32 of many bands on CUDA: the bits of the CPU, whatever the strides, the range and the result."""

import warnings

import numpy as np
import pytest
from conftest import cuda, torch
from test_transform_wide import DTYPES, IDS, MOVES, STAGES, has_uint16, pictures

import motley
import recipes
from motley.follow import Boxes, Mask

pytestmark = [cuda, pytest.mark.skipif(not has_uint16, reason="torch is older than uint16")]
CUBIC = MOVES.replace("level", "interpolation: [bicubic, bilinear]\nlevel", 1)
VIEWS = """motley: 1
name: two
stages: [random_resized_crop: {size: 24}]
views:
  - {name: first, stages: [flip: {horizontal: 0.5}]}
  - {name: rest, count: 2, stages: [policy: trivial_augment_wide]}
"""
TOP = {"float32": 1, "uint16": 65535}
of_dtypes, of_policies = pytest.mark.parametrize("dtype", DTYPES), lambda *all: pytest.mark.parametrize("policy", all)


def bands(dtype, last=False, channels=13, count=8, height=56, width=48):
    """Images with flat rows, one with equal bands, one of values at both ends; last: channels last in memory."""
    x = pictures("float32", channels, count, height, width, seed=channels)
    x[1:2], x[2:3, ::2] = x[1:2, :1], np.round(x[2:3, ::2])
    x = torch.from_numpy(x if dtype == "float32" else (x * 65535).astype("uint16"))
    return x.contiguous(memory_format=torch.channels_last) if last else x


def over_bands(low, high, top):
    return [float(v if top == 1 else round(v * top)) for v in np.linspace(low, high, 13)]


def on_device(x):
    if isinstance(x, dict):
        return {key: on_device(value) for key, value in x.items()}
    return list(map(on_device, x)) if isinstance(x, list) else x.to("cuda")


def agree(made, wanted):
    """The same bits with the same strides, on the device."""
    if isinstance(wanted, dict):
        assert made.keys() == wanted.keys()
        made, wanted = list(made.values()), list(wanted.values())
    if isinstance(wanted, (tuple, list)):
        assert len(made) == len(wanted)
        return [agree(*pair) for pair in zip(made, wanted)]
    assert made.device.type == "cuda" and made.stride() == wanted.stride() and made.dtype == wanted.dtype
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[wanted.element_size()]
    other = made.cpu().view(bits) != wanted.view(bits)
    assert not other.any(), f"{other.sum()} of {other.numel()} differ, the first at {other.nonzero()[0].tolist()}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("arrange", [lambda x: x, list], ids=["batch", "list"])
def test_values_outside_of_the_range_are_told_without_waiting(dtype, arrange):
    x, top = arrange(on_device(bands(dtype))), 0.25 if dtype == "float32" else 16383
    policy = motley.Policy("rand_augment")
    warm, augment = (motley.Transform(policy, range=(0, top)) for _ in range(2))
    warm(x)  # memory is allocated, of the policy on the device, too
    torch.cuda.synchronize()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.cuda._sleep(1 << 30)
        for _ in range(2):
            augment(x)
        assert not torch.cuda.current_stream().query(), "a call waited for the device"
    torch.cuda.synchronize()
    with pytest.warns(UserWarning, match=f"% of the images' values lie outside of the range 0..{top}"):
        augment(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        augment(x)


def check(call, x, **how):
    agree(call(on_device(x), **how), call(x, **how))


@of_policies("trivial_augment_wide", "rand_augment", "trivial_augment_bands", CUBIC, STAGES)
@pytest.mark.parametrize("last", [False, True], ids=["chw", "last"])
@pytest.mark.parametrize("how", ["plain", "pair", "by band", "unclamped"])
@of_dtypes
def test_new_written_replayed_and_in_place(dtype, how, last, policy):
    pair, top = {"range": (0.25, 0.75) if dtype == "float32" else (0, 40000)}, TOP[dtype]
    each = {"range": [(0, v) for v in over_bands(1, 0.7, top)], "fill_value": over_bands(0.1, 0.9, top)}
    how = {"plain": {}, "pair": pair, "by band": each, "unclamped": {**pair, "clamp": False}}[how]
    augment, x = motley.Transform(policy, seed=5, check=False, **how), bands(dtype, last)
    there = on_device(x)
    wanted, draws = augment(x, return_draws=True, **IDS)
    made, drawn = augment(there, return_draws=True, **IDS)
    assert drawn == draws
    for result in made, augment.replay(there, draws), augment(there, out=torch.empty_like(made), **IDS):
        agree(result, wanted)
    check(augment, x[4], sample_ids=4, epoch=3)
    agree(there, x)  # which are left as they were
    if policy != STAGES:
        assert augment.apply_(there, **IDS) is there
        agree(there, wanted)


@pytest.mark.parametrize("made", ["float16", "bfloat16", "float32"])
@of_policies("rand_augment", STAGES, STAGES + "  - output: {}\n", VIEWS)
@of_dtypes
def test_normalised(dtype, policy, made):
    how = {"mean": over_bands(0.3, 0.6, TOP[dtype]), "std": over_bands(0.1, 0.5, TOP[dtype]), "dtype": made}
    for last, to in (False, None), (True, None), (False, "channels_last"), (True, "chw"):
        check(motley.Transform(policy, output_layout=to, check=False, **how), bands(dtype, last), **IDS)


@of_policies("rand_augment", CUBIC, STAGES, VIEWS)
def test_standardised_data(policy):
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(8, 13, 56, 48)).astype("float32"))
    x[:, 4, 3], x[:, 5, 30, 4:9] = float("nan"), float("inf")
    check(motley.Transform(policy, range=(-3, 3), clamp=False, check=False), x, **IDS)


@pytest.mark.slow
@of_policies("trivial_augment_wide", "rand_augment", STAGES.replace("[24, 32]", "224"))
@of_dtypes
def test_a_large_batch(dtype, policy):
    x = bands(dtype, count=64, height=224, width=224)
    check(motley.Transform(policy, check=False), x, sample_ids=range(64), epoch=0)


@of_policies("rand_augment", STAGES, VIEWS)
@of_dtypes
def test_lists_and_what_goes_with_images(dtype, policy):
    x = [bands(dtype, i % 2, 13, 4, 20 + 9 * i, 50 - 5 * i)[i % 4] for i in range(8)]
    check(motley.Transform(policy, check=False), x, **IDS)
    labels = torch.from_numpy(np.random.default_rng(2).integers(0, 99, (8, 56, 48)).astype("uint8"))
    boxes = [torch.tensor([[3.0, 4, 30 + i, 40], [10, 11, 12.5, 13]])[: i % 3] for i in range(8)]
    follow = motley.Follow(motley.Transform(policy, check=False), {"mask": Mask(fill=255), "boxes": Boxes(min_area=4)})
    check(follow, {"image": bands(dtype), "mask": labels, "boxes": boxes}, **IDS)


@pytest.mark.parametrize("channels", [3, 13])
@pytest.mark.parametrize("name", motley.ops.table)
@of_dtypes
def test_operations(dtype, name, channels):
    x, row, listed = bands(dtype, channels=channels), motley.ops.table[name], recipes.RECIPES[name][1]
    values = [list(listed[i % len(listed)][: row.info.values_min]) for i in range(8)] if row.info.values_min else None
    if name == "color" and channels == 13:
        pytest.skip("wants three colours")
    for interpolation in ("nearest", "bilinear", "bicubic")[: 3 if row.shape == "warp" else 1]:
        check(lambda y, **how: motley.ops.apply(name, y, values, **how), x, interpolation=interpolation)


@pytest.mark.parametrize("filter", ["bilinear", "bicubic", "lanczos", "nearest", "box", "hamming"])
@of_dtypes
def test_resize(dtype, filter):
    crops = {"size": (80, 20), "crop": (5, 6, 31, 33), "flip": [0, 1, 1, 0, 1, 0, 0, 1]}
    for how in {"size": (17, 90)}, crops, {"size": 30, "box": (1.5, 2, 40.25, 50)}:
        check(motley.ops.resize, bands(dtype, filter == "bicubic"), filter=filter, **how)


@of_policies("rand_augment", STAGES)
@of_dtypes
def test_a_graph_replayed(dtype, policy):
    counter, there = torch.zeros(2, dtype=torch.int64, device="cuda"), on_device(bands(dtype))
    augment, host = motley.Transform(policy, seed=4, counter=counter), motley.Transform(policy, seed=4, check=False)
    ids = torch.tensor(IDS["sample_ids"])
    out = torch.empty_like(augment(there, sample_ids=ids))
    augment(there, sample_ids=ids, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        augment(there, sample_ids=ids, out=out)
    for epoch in 1, 2, 3:
        augment.set_epoch(epoch)
        there.copy_(torch.from_numpy(np.roll(bands(dtype).numpy(), epoch, 0)))
        graph.replay()
        agree(out, host(there.cpu(), sample_ids=ids, epoch=epoch))
