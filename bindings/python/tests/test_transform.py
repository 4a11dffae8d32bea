# SPDX-License-Identifier: Apache-2.0
"""Stages: what they draw and do, on every kind of images; Pillow and the motley program are the oracles."""

import contextlib
import copy
import json
import os
import pickle
import sys
import threading
import time

import numpy as np
import pytest
from conftest import DEVICES, cuda, output_of, refused, torch
from PIL import Image

import motley
import recipes
from motley import _native

needs_torch = pytest.mark.skipif(torch is None, reason="no torch")


def by_pillow(array, steps):
    """What Pillow makes of an HWC array, given the steps of one sample; NumPy adds up the chains of AugMix."""
    original = image = recipes.to_pil(array)
    sums = np.zeros(array.shape, np.float32)
    for step in steps:
        if step["op"] == "mix_add":
            sums += np.float32(step["value"]) * recipes.to_array(image)
            image = original
        elif step["op"] == "mix_sum":
            chains = recipes.to_pil(np.clip(sums, 0, 255).astype(np.uint8))
            image = Image.blend(original, chains, float(np.float32(step["value"])))
        else:
            image = recipes.stepped(image, step)
    return recipes.to_array(image)


@pytest.fixture
def wanted(pixels):
    """What RandAugment(seed=7) makes of `pixels` as samples 0, 1, ..."""
    draws = motley.RandAugment(seed=7).draw(len(pixels), size=pixels.shape[1:3], sample_ids=range(len(pixels)), epoch=0)
    return np.stack([by_pillow(*pair) for pair in zip(pixels, draws)])


# ---- draws and pixels ----


def test_short_names_of_dtypes_and_a_dictionary_to_normalise(pixels):
    by = {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4)}
    made = motley.Transform("rand_augment", normalize=by, dtype="f16")(pixels, sample_ids=range(len(pixels)), epoch=0)
    wanted = motley.Transform("rand_augment", **by, dtype="float16")(pixels, sample_ids=range(len(pixels)), epoch=0)
    assert made.dtype == np.float16 and np.array_equal(made, wanted)
    with pytest.raises(motley.ArgumentError, match=r"normalize is {'mean': 0.5}, want \(mean, std\)"):
        motley.Transform("rand_augment", normalize={"mean": 0.5})


def test_draws_of_every_op_are_those_of_the_command(command, tmp_path):
    branches = []
    for name, row in motley.ops.table.items():
        values = recipes.RECIPES[name][1][-1]
        if row.values_min <= 1 and name != "bbox_cutout":  # test_draws_boxes.py draws it
            branches.append(f"  - {{op: {name}{f', value: {values[0]}' if values else ''}}}\n")
    (tmp_path / "all.yaml").write_text("motley: 1\nname: all\nfill: [1, 2, 3]\nbranches:\n" + "".join(branches))
    for channels in 1, 2, 3, 4:
        how = "--samples", "300", "--channels", str(channels)
        lines = output_of(command, "draw", tmp_path / "all.yaml", *how).splitlines()
        drawn = motley.Transform(tmp_path / "all.yaml").draw(sample_ids=range(300), epoch=0, channels=channels)
        assert [json.loads(line)["steps"] for line in lines] == drawn
        assert {step["op"] for steps in drawn for step in steps} > {"cutout", "cutout_tf", "rotate", "solarize_add"}


DRAWN = [  # without those that test_draws_boxes.py has
    name for name in motley.Policy.names() if "detection" not in name and not motley.Policy(name).whole
]


@pytest.mark.parametrize("name", DRAWN)
def test_images_are_pillows(pixels, name):
    out, draws = motley.Transform(name, seed=5)(pixels, return_draws=True)
    assert len(draws) == len(pixels)
    for image, got, steps in zip(pixels, out, draws):
        np.testing.assert_array_equal(got, by_pillow(image, steps), err_msg=str(steps))


def test_arguments_reach_the_policy():
    policy = motley.RandAugment(3, 7, 11, interpolation="bilinear", fill=(1, 2, 3)).policy
    text = policy.show()
    for line in ("repeat: 3\n", "bins: 11\n", "level: 7\n", "interpolation: bilinear\n", "fill: [1, 2, 3, 255]\n"):
        assert line in text
    assert motley.TrivialAugmentWide(interpolation=["bilinear", "bicubic"]).policy != motley.TrivialAugmentWide().policy
    refused("policy is 'imagenett', want 'cifar10', 'imagenet', 'svhn'", motley.auto_augment, "imagenett")
    names = motley.RandAugment, motley.TrivialAugmentWide, motley.AutoAugment  # until 1.0
    assert names == (motley.rand_augment, motley.trivial_augment_wide, motley.auto_augment)


def test_augmix_is_torchvisions():
    """Its defaults draw as the built-in policy does; others as motley.torchvision's class."""
    how = {"sample_ids": range(200), "epoch": 0}
    plain = [str(draw) for draw in motley.Transform("augmix").draw(**how)]
    assert plain == [str(draw) for draw in motley.augmix().draw(**how)]
    drawn = motley.augmix(1, 2, 1, 0.5, all_ops=False, fill=7).draw(**how)
    steps = [step for draw in drawn for step in draw]
    ops = {step["op"] for step in steps} - {"mix_add", "mix_sum"}
    assert "color" not in ops and {"rotate", "equalize"} < ops and {step.get("level", 0) for step in steps} == {0}
    refused("severity is 11, want a whole number from 1 to 10", motley.augmix, 11)


def test_a_stage_of_any_policy(tmp_path, pixels):
    text = motley.Policy("rand_augment").show()
    (tmp_path / "mine.yaml").write_text(text)
    want = motley.Transform("rand_augment", seed=1)(pixels)
    for policy in (motley.Policy("rand_augment"), text, tmp_path / "mine.yaml", str(tmp_path / "mine.yaml")):
        np.testing.assert_array_equal(motley.Transform(policy, seed=1)(pixels), want)
    for wrong, what in ((3, "int"), (motley.ops, "module")):
        refused(f"policy is a {what}, want a motley.Policy, a name", motley.Transform, wrong)


# ---- kinds of images ----


@pytest.mark.parametrize("device", DEVICES)
@needs_torch
def test_torch(pixels, wanted, device):
    stage, ids = motley.RandAugment(seed=7), range(len(pixels))
    hwc = torch.from_numpy(pixels).to(device)
    wanted = torch.from_numpy(wanted).to(device)
    nchw, channels_last = hwc.permute(0, 3, 1, 2).contiguous(), hwc.permute(0, 3, 1, 2)
    wide = torch.zeros(12, 3, 40, 50, dtype=torch.uint8, device=device)
    window = wide[:, :, 5:34, 6:43]
    window.copy_(nchw)
    for source in (nchw, channels_last, window):
        before = source.clone()
        out = stage(source, sample_ids=ids, epoch=0)
        assert torch.equal(out, wanted.permute(0, 3, 1, 2)) and torch.equal(source, before)
        assert out.device == source.device and type(out) is torch.Tensor
    assert stage(channels_last, sample_ids=ids, epoch=0).is_contiguous(memory_format=torch.channels_last)
    assert stage(nchw, sample_ids=ids, epoch=0).is_contiguous()
    assert torch.equal(stage(hwc, sample_ids=ids, epoch=0, layout="hwc"), wanted)
    assert torch.equal(motley.RandAugment(seed=7, layout="hwc")(hwc, sample_ids=ids, epoch=0), wanted)
    assert torch.equal(stage(nchw[4], sample_ids=4, epoch=0), wanted.permute(0, 3, 1, 2)[4])
    assert torch.equal(stage(list(nchw), sample_ids=ids, epoch=0)[5], wanted.permute(0, 3, 1, 2)[5])
    stage.apply_(window, sample_ids=ids, epoch=0)
    assert torch.equal(window, wanted.permute(0, 3, 1, 2))
    assert int(wide[:, :, :5].sum()) == 0 and int(wide[:, :, :, 43:].sum()) == 0
    out = torch.empty_like(channels_last)
    assert stage(nchw, sample_ids=ids, epoch=0, out=out) is out and torch.equal(out, wanted.permute(0, 3, 1, 2))


@needs_torch
def test_torch_and_other_kinds_mix_no_calls(pixels):
    """Calls are kept by what they depend on: the same shape under another layout, type or stage is another call."""
    x = np.random.default_rng(0).integers(0, 256, (3, 3, 3, 3), np.uint8)
    t = torch.from_numpy(x)
    stage = motley.RandAugment(seed=2)
    for _ in range(2):
        a = stage(t, sample_ids=range(3), epoch=0, layout="chw").numpy()
        b = stage(t, sample_ids=range(3), epoch=0, layout="hwc").numpy()
        c = motley.RandAugment(seed=2, dtype="float32")(t, sample_ids=range(3), epoch=0)
        np.testing.assert_array_equal(b, stage(x, sample_ids=range(3), epoch=0))
        np.testing.assert_array_equal(a, stage(x, sample_ids=range(3), epoch=0, layout="chw"))
        assert c.dtype == torch.float32 and not np.array_equal(a, b)
    assert stage(torch.zeros(3, 3, 3, 3, dtype=torch.uint8), sample_ids=range(3), epoch=0).dtype == torch.uint8
    refused("the images' dtype is torch.int32, want uint8", stage, torch.zeros(3, 3, 3, 3, dtype=torch.int32))


def test_numpy(pixels, wanted):
    stage, ids = motley.RandAugment(seed=7), range(len(pixels))
    wide = np.zeros((12, 40, 50, 3), np.uint8)
    window = wide[:, 5:34, 6:43]
    window[...] = pixels
    mirrored = np.ascontiguousarray(pixels[:, :, ::-1])[:, :, ::-1]
    for source in (pixels, window, mirrored, np.asfortranarray(pixels)):
        np.testing.assert_array_equal(stage(source, sample_ids=ids, epoch=0), wanted)
    np.testing.assert_array_equal(
        stage(pixels.transpose(0, 3, 1, 2), sample_ids=ids, epoch=0, layout="chw"), wanted.transpose(0, 3, 1, 2)
    )
    for one in (6, np.int64(6), np.array(6), [6], np.array([6])):
        np.testing.assert_array_equal(stage(pixels[6], sample_ids=one, epoch=0), wanted[6])
    assert stage.apply_(window, sample_ids=ids, epoch=0) is window
    np.testing.assert_array_equal(window, wanted)
    assert not wide[:, :5].any() and not wide[:, :, 43:].any()
    out = np.empty_like(pixels)
    assert stage(pixels, sample_ids=ids, epoch=0, out=out) is out
    np.testing.assert_array_equal(out, wanted)


def test_grey_and_alpha(pixels):
    grey = motley.TrivialAugmentWide(seed=1)(pixels[..., 0], layout="hw", sample_ids=range(12), epoch=0)
    assert grey.shape == (12, 29, 37)
    np.testing.assert_array_equal(
        grey, motley.TrivialAugmentWide(seed=1)(pixels[..., :1], sample_ids=range(12), epoch=0)[..., 0]
    )
    one = motley.TrivialAugmentWide(seed=1)(pixels[5, ..., 0], sample_ids=5, epoch=0)
    np.testing.assert_array_equal(one, grey[5])
    four = np.concatenate([pixels, pixels[..., :1]], 3)
    out, draws = motley.TrivialAugmentWide(seed=1, alpha=True)(four, return_draws=True)
    for image, got, steps in zip(four, out, draws):
        np.testing.assert_array_equal(got, by_pillow(image, steps), err_msg=str(steps))


def test_pil(pixels, wanted):
    stage = motley.RandAugment(seed=7)
    for i in range(12):
        image = Image.fromarray(pixels[i])
        out = stage(image, sample_ids=i, epoch=0)
        assert out.mode == "RGB" and np.array_equal(out, wanted[i]) and np.array_equal(image, pixels[i])
    for mode in ("L", "LA", "RGBA"):
        image = Image.fromarray(pixels[0]).convert(mode)
        out, steps = motley.TrivialAugmentWide(seed=4)(image, return_draws=True)
        assert out.mode == mode and out.size == image.size
        np.testing.assert_array_equal(recipes.to_array(out), by_pillow(recipes.to_array(image), steps))
    refused("mode P, want L, LA, RGB, RGBA, I;16 or F", stage, Image.new("P", (4, 4)))
    refused("in place", stage.apply_, Image.new("RGB", (4, 4)))


def test_lists_of_different_sizes(pixels):
    random = np.random.default_rng(1)
    arrays = [random.integers(0, 256, (h, w, 3), np.uint8) for h, w in ((1, 1), (7, 40), (64, 9), (33, 33))]
    stage = motley.RandAugment(seed=3)
    want = [stage(a, sample_ids=10 + i, epoch=0) for i, a in enumerate(arrays)]
    got, draws = stage(arrays, sample_ids=range(10, 14), epoch=0, return_draws=True)
    assert isinstance(got, list) and len(draws) == 4
    for a, b in zip(got, want):
        np.testing.assert_array_equal(a, b)
    got = stage(tuple(map(Image.fromarray, arrays)), sample_ids=range(10, 14), epoch=0)
    assert isinstance(got, tuple) and all(np.array_equal(a, b) for a, b in zip(got, want))
    assert stage([]) == []
    work = [a.copy() for a in arrays]
    assert stage.apply_(work, sample_ids=range(10, 14), epoch=0) is work
    assert all(np.array_equal(a, b) for a, b in zip(work, want))
    refused("image 1 of the list is a PIL image, image 0 a NumPy array", stage, [arrays[0], Image.fromarray(arrays[1])])
    refused("sample_ids is the one number 3, there are 4 images", stage, arrays, sample_ids=3, epoch=0)
    grey = [a[..., :1] if i % 2 else a for i, a in enumerate(arrays)]  # ImageNet's
    for call in (stage, motley.ops.invert, lambda x: motley.ops.resize(x, 4)):
        refused("image 1 of the list has 1 channels, image 0 has 3: want one number of channels, or a", call, grey)
    refused("image 0 of the list is itself a batch", stage, [pixels])


# ---- samples ----


def test_sample_ids_in_every_form(pixels):
    stage, ids = motley.RandAugment(seed=7), [5, 2**40, 0, 7, 11, 3, 2, 1, 2**63, 9, 8, 6]
    want = np.stack([stage(image, sample_ids=i, epoch=0) for image, i in zip(pixels, ids)])
    forms = [ids, tuple(ids), np.array(ids, np.uint64), np.array(ids, np.uint64)[::-1].copy()[::-1]]
    if torch is not None:
        numbers = torch.from_numpy(np.array(ids, np.uint64).view(np.int64))
        refused("sample_ids has a negative number", stage, pixels, sample_ids=numbers, epoch=0)
        if hasattr(torch, "uint64"):
            forms.append(numbers.view(torch.uint64))
    for form in forms:
        np.testing.assert_array_equal(stage(pixels, sample_ids=form, epoch=0), want)
    want = stage(pixels, sample_ids=range(12), epoch=0)
    forms = [np.arange(12, dtype=np.int32), np.arange(36)[::3] // 3]
    if torch is not None:
        forms += [torch.arange(12), torch.arange(36)[::3] // 3, torch.arange(24).view(12, 2)[:, 0] // 2]
        forms.append(torch.stack([torch.arange(12), torch.zeros(12, dtype=torch.int64)], 1)[:, 0])
    for form in forms:
        np.testing.assert_array_equal(stage(pixels, sample_ids=form, epoch=0), want)
    for wrong, message in (
        ([1, 2], "has 2 numbers, there are 12 images"),
        (np.arange(5), "has 5 numbers"),
        (np.arange(24)[::2][:11], "has 11 numbers"),
        ([-1] * 12, "whole number"),
        ([0.5] * 12, "whole number"),
        (3, "the one number 3"),
    ):
        refused(message, stage, pixels, sample_ids=wrong, epoch=0)


def test_samples_are_counted(pixels):
    stage = motley.RandAugment(seed=7)
    a, b = stage(pixels[:5]), stage(pixels[5:])
    np.testing.assert_array_equal(np.concatenate([a, b]), stage(pixels, sample_ids=range(12), epoch=0))
    assert stage.state_dict() == {"seed": 7, "count": 12, "epoch": None}
    with pytest.raises(motley.ArgumentError):
        stage(pixels.astype(np.int32))
    assert stage.state_dict()["count"] == 12
    stage.set_epoch(3)  # of draws by id
    np.testing.assert_array_equal(stage(pixels), stage(pixels, sample_ids=range(12, 24), epoch=0))
    np.testing.assert_array_equal(stage(pixels, seed=2, sample_ids=range(12)),
                                  motley.RandAugment(seed=2, epoch=3)(pixels, sample_ids=range(12)))  # fmt: skip
    assert not np.array_equal(motley.RandAugment(seed=7)(pixels), motley.RandAugment(seed=8)(pixels))


def test_state_and_copies_go_on(pixels):
    stage = motley.RandAugment(seed=7, epoch=2, normalize=(0.5, 0.25), dtype="float16", output_layout="chw")
    stage(pixels)
    again = motley.RandAugment(normalize=(0.5, 0.25), dtype="float16", output_layout="chw")
    again.load_state_dict(stage.state_dict())
    others = [again, copy.deepcopy(stage), pickle.loads(pickle.dumps(stage))]
    want = stage(pixels)
    for other in others:
        np.testing.assert_array_equal(other(pixels), want)
    refused("the state has seed, want count, epoch, seed", again.load_state_dict, {"seed": 1})
    before = again.state_dict()
    for name, value in ("epoch", 1.5), ("count", -1), ("count", "3"), ("seed", "7"):
        message = f"{name} is {value!r}, want a whole number from 0"
        refused(message, again.load_state_dict, {"seed": 1, "epoch": 2, "count": 3, name: value})
    assert again.state_dict() == before


# ---- a stage of a stage ----


def test_a_stage_of_a_stage_keeps_its_settings(pixels):
    settings = dict(seed=7, epoch=3, normalize=(0.5, 0.25), views=2, clip_frames=4, threads=1)
    stage = motley.RandAugment(**settings, layout="hwc", dtype="float16", output_layout="chw")
    same = motley.Transform(stage)
    assert same._kept() == stage._kept() and len(same._kept()) == 10
    ids = motley.group_ids([5, 6, 7], 4)
    assert all(map(np.array_equal, same(pixels, sample_ids=ids, epoch=0), stage(pixels, sample_ids=ids, epoch=0)))
    assert motley.Transform(motley.RandAugment(), seed=5, views=3).seed == 5
    motley.Transform(stage, seed=7, views=2, mean=(0.5,))  # the same, said again
    train = motley.Transform("torchvision_train", seed=7, views=2, dtype="float16", output_layout="hwc")
    same = motley.Transform(train)
    assert same._kept() == train._kept()
    assert all(
        map(np.array_equal, same(pixels, sample_ids=range(12), epoch=0), train(pixels, sample_ids=range(12), epoch=0))
    )
    for name, value, piece in [
        ("dtype", "float32", "dtype is 'float32', but the Transform .* has dtype='float16'"),
        ("seed", 0, "seed is 0, but the Transform that is given has seed=7"),
        ("views", 1, "views is 1, but .* has views=2"),
        ("normalize", (0.1, 0.2), r"normalize is \(0.1, 0.2\), but .* has mean=\(0.5,\)"),
        ("output_layout", None, "output_layout is None, but .* has output_layout='chw'"),
    ]:
        refused(piece, motley.Transform, stage, **{name: value})


# ---- the fused output ----


def normalised(u8, mean, std):
    """The library's words: each operation rounded to binary32."""
    one = np.float32
    return (u8.astype(one) / one(255) - np.asarray(mean, one)) / np.asarray(std, one)


@pytest.mark.parametrize("mean,std", [((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), (0.5, 0.25)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_fused_numpy(pixels, wanted, dtype, mean, std):
    stage = motley.RandAugment(seed=7, normalize=(mean, std), dtype=dtype)
    want = normalised(wanted, mean, std).astype(dtype)
    for _ in range(2):  # the second call is the first's, kept
        out = stage(pixels, sample_ids=range(12), epoch=0)
        assert out.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(out, want)
    out = np.zeros(pixels.shape, dtype)
    assert stage(pixels, sample_ids=range(12), epoch=0, out=out) is out
    np.testing.assert_array_equal(out, want)
    chw = motley.RandAugment(seed=7, normalize=(mean, std), dtype=dtype, output_layout="chw")(
        pixels, sample_ids=range(12), epoch=0
    )
    assert chw.flags.c_contiguous
    np.testing.assert_array_equal(chw, want.transpose(0, 3, 1, 2))
    refused("cannot work in place", stage.apply_, pixels)
    for other in ("uint8", "float16" if dtype == "float32" else "float32"):
        refused(f"want {dtype}, which is written", stage, pixels, out=np.empty(pixels.shape, other))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "uint8"])
@pytest.mark.parametrize("layout", [None, "chw", "hwc", "channels_last"])
@needs_torch
def test_fused_torch(pixels, wanted, device, dtype, layout):
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    source = torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2).contiguous()
    normalize = None if dtype == "uint8" else (mean, std)
    stage = motley.RandAugment(seed=7, normalize=normalize, dtype=getattr(torch, dtype), output_layout=layout)
    want = torch.from_numpy(wanted if normalize is None else normalised(wanted, mean, std)).to(getattr(torch, dtype))
    for _ in range(2):
        out = stage(source, sample_ids=range(12), epoch=0)
        assert out.dtype == getattr(torch, dtype) and out.device == source.device
        assert torch.equal(out.cpu() if layout == "hwc" else out.cpu().permute(0, 2, 3, 1), want)
    assert out.is_contiguous(
        memory_format=torch.channels_last if layout == "channels_last" else torch.contiguous_format
    )
    one = stage(source[3], sample_ids=3, epoch=0)
    assert torch.equal(one, out[3])


# ---- mistakes ----


@pytest.mark.parametrize(
    "shape,layout,message",
    [
        (
            (2, 1030, 20, 3),
            "chw",
            r"shape \(2, 1030, 20, 3\), which in layout 'chw' is 1030 channels, want 1 to 1024; is it layout='hwc'",
        ),
        ((2, 3, 30, 20), None, r"in layout 'hwc' is 20 channels, say layout='hwc' if that is so; is it layout='chw'"),
        ((2, 2, 30, 20, 3), None, "want 3 axes, or one more in front"),
        ((5,), None, "want 3 axes"),
        ((2, 30, 20, 3), "nwhc", "layout is 'nwhc', want 'chw', 'hwc' or 'hw'"),
    ],
)
def test_wrong_shapes(shape, layout, message):
    refused(message, motley.RandAugment(), np.zeros(shape, np.uint8), layout=layout)


def test_other_mistakes(pixels):
    stage = motley.RandAugment()
    refused("images are a builtins.str", stage, "picture.png")
    fixed = pixels.copy()
    fixed.flags.writeable = False
    assert stage(fixed).shape == pixels.shape
    refused("read-only", stage.apply_, fixed)
    refused("read-only", stage, pixels, out=fixed)
    refused("dst: count is 11, want src's 12", stage, pixels, out=np.empty_like(pixels[:11]))
    refused("overlaps|overlap", stage, pixels[:, :-1], out=pixels[:, 1:])
    refused("output_layout is 'nchw'", motley.RandAugment, output_layout="nchw")
    refused("dtype is 'int8', want uint8, float32, float16, bfloat16", motley.RandAugment, dtype="int8")
    with pytest.raises(motley.ArgumentError, match="normalize has 2 numbers, the images have 3 channels"):
        motley.RandAugment(normalize=((0, 0), (1, 1)))(pixels)
    refused("normalize is given, but dtype is uint8", motley.RandAugment, normalize=(0.5, 0.5), dtype="uint8")
    refused("sample_ids is -3, want a whole number from 0 to", stage, pixels[0], sample_ids=-3, epoch=0)


def test_empty_batches():
    stage = motley.RandAugment()
    out, draws = stage(np.zeros((0, 8, 8, 3), np.uint8), return_draws=True)
    assert out.shape == (0, 8, 8, 3) and draws == []


# ---- threads, processes, streams ----


def test_threads_share_a_stage(pixels, wanted):
    stage, wrong = motley.RandAugment(seed=7), []

    def work():
        for _ in range(20):
            if not np.array_equal(stage(pixels, sample_ids=range(12), epoch=0), wanted):
                wrong.append(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_threads_that_share_a_stage_count_together(pixels):
    """Each sample without an id is drawn once, as one thread draws it."""
    shared, alone = (motley.RandAugment(seed=7, threads=1) for _ in range(2))
    together, drawn = threading.Barrier(4), []

    def work():
        together.wait()
        for _ in range(50):
            drawn.append(shared(pixels, return_draws=True))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = [alone(pixels, return_draws=True) for _ in range(200)]
    drawn, wanted = (sorted(repr(call[1]) for call in calls) for calls in (drawn, wanted))
    assert drawn == wanted and shared.state_dict() == alone.state_dict()


@pytest.mark.slow
def test_other_threads_run_meanwhile():
    """The interpreter's lock is not held while pixels are worked on."""
    big = np.random.default_rng(0).integers(0, 256, (160, 512, 512, 3), np.uint8)
    stage = motley.Transform("motley: 1\nname: slow\nbranches:\n  - {op: gaussian_blur, value: 3}\n", threads=1)
    ticks, done = [0], threading.Event()

    def tick():
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.perf_counter()
    stage.apply_(big)
    seconds, counted = time.perf_counter() - start, ticks[0]
    done.set()
    ticker.join()
    assert seconds > 0.05, "the batch is too small to tell"
    assert counted > seconds * 100


@contextlib.contextmanager
def forked():
    """The body runs in a forked child; its failure is the parent's."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        yield False
        return
    status = 1
    try:
        yield True
        status = 0
    finally:
        os._exit(status)


def test_forked_children_work(pixels, wanted):
    stage = motley.RandAugment(seed=7, threads=3)
    np.testing.assert_array_equal(stage(pixels, sample_ids=range(12), epoch=0), wanted)  # the parent has threads by now
    with forked() as child:
        if child:
            assert np.array_equal(stage(pixels, sample_ids=range(12), epoch=0), wanted)
            assert not _native.local.contexts.keys() - {(None, 3)}
    np.testing.assert_array_equal(stage(pixels, sample_ids=range(12), epoch=0), wanted)


def test_cuda_in_a_forked_child_is_refused(monkeypatch):
    monkeypatch.setattr(_native, "_cuda_used", True)  # as after a call on a CUDA tensor
    with forked() as child:
        if child:
            with pytest.raises(
                motley.UnsupportedError, match="before this process was forked.*'spawn' or 'forkserver'"
            ):
                _native.context_of(0)


def test_without_a_device_cuda_is_refused():
    if torch is not None and torch.cuda.is_available():
        pytest.skip("there is a device")
    refused("CUDA", _native.context_of, 0, error=motley.UnsupportedError)


@cuda
def test_work_goes_to_the_current_stream(pixels, wanted):
    stage = motley.RandAugment(seed=7)
    source = torch.from_numpy(pixels).cuda().permute(0, 3, 1, 2).contiguous()
    stage(source, sample_ids=range(12), epoch=0)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        late = torch.zeros_like(source)
        torch.cuda._sleep(2_000_000_000)  # about a second
        late.copy_(source)
        start = time.perf_counter()
        out = stage(late, sample_ids=range(12), epoch=0)
        queued = time.perf_counter() - start
        assert not stream.query(), "the stream was not busy: nothing was shown"
    assert queued < 0.3, "the call waited for the stream"
    stream.synchronize()
    assert torch.equal(out.cpu().permute(0, 2, 3, 1), torch.from_numpy(wanted))


@cuda
def test_many_devices(pixels, wanted):
    if torch.cuda.device_count() < 2:
        pytest.skip("one device")
    stage = motley.RandAugment(seed=7)
    outs = [
        stage(torch.from_numpy(pixels).to(f"cuda:{i}"), sample_ids=range(12), epoch=0, layout="hwc") for i in range(2)
    ]
    for i, out in enumerate(outs):
        assert out.device.index == i and np.array_equal(out.cpu(), wanted)
    refused("out is on CUDA device 1, the images on CUDA device 0", stage, outs[0], out=outs[1], layout="hwc")


@cuda
def test_a_call_costs_little(pixels):
    """Host time of a call in steady state; the bound is five times the aim, for a busy machine."""
    stage = motley.RandAugment(seed=7)
    batch = torch.from_numpy(pixels).cuda().permute(0, 3, 1, 2).contiguous()
    times = []
    for _ in range(300):
        torch.cuda.synchronize()
        start = time.perf_counter()
        stage.apply_(batch)
        times.append(time.perf_counter() - start)
    print(f"apply_: {sorted(times)[150] * 1e6:.1f} us")
    assert sorted(times)[150] < 50e-6


def test_settings_show_in_reprs():
    assert repr(motley.RandAugment()) == "Transform(policy=<motley.Policy rand_augment>)"
    assert repr(motley.AutoAugment("svhn", threads=1)) == (
        "Transform(policy=<motley.Policy auto_augment_svhn>, threads=1)"
    )
    assert repr(motley.RandAugment(3, 7, seed=2, dtype="float16")) == (
        "Transform(policy=<motley.Policy rand_augment: repeat: 3, level: 7>, seed=2, dtype='float16')"
    )
    assert repr(motley.Transform("simclr")) == "Transform(policy=<motley.Policy simclr>)"


def test_words_of_torch_and_of_arrays(pixels):
    normal = motley.Transform("rand_augment", seed=0, normalize=((0.4, 0.5, 0.6), 0.25))
    same = motley.Transform("rand_augment", seed=0, mean=(0.4, 0.5, 0.6), std=0.25, layout="nhwc")
    np.testing.assert_array_equal(normal(pixels), same(pixels))
    for wrong, piece in [
        (dict(mean=0.5), "want both or neither"),
        (dict(mean=0.5, std=0.5, normalize=(0.5, 0.5)), "both normalize and mean"),
        (dict(memory_format="channels_last"), "memory_format is 'channels_last'"),
        (dict(layout="nwhc"), "layout is 'nwhc'"),
    ]:
        refused(piece, motley.Transform, "rand_augment", **wrong)
