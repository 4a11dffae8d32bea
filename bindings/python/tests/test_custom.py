# SPDX-License-Identifier: Apache-2.0
"""Custom ops, in policies beside built-in ops."""

import gc
import pathlib
import pickle
import sys

import numpy as np
import pytest
from conftest import DEVICES, cuda, output_of, refused, torch
from PIL import Image

import motley
from motley import ops

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "python" / "custom_cutout.py"
POLICY = """
motley: 1
name: with_mine
repeat: 2
fill: 0
branches:
  - {op: hole_of_mine, value: 12}
  - {op: cutout, value: 9}
  - {op: rotate, value: 20}
"""
IDS = range(40, 52)


@motley.custom_op("hole_of_mine", unit="side, pixels", minimum=0, maximum=100)
def hole_of_mine(indices, images, values):
    """The library's cutout, by the library: what is drawn for it is what a cutout draws."""
    for image, (side, u, v) in zip(images, values):
        chw = torch is not None and isinstance(image, torch.Tensor)
        height, width = image.shape[1:] if chw else image.shape[:2]
        ops.cutout(image, [side, u * width, v * height], out=image)


def with_cutout(text=POLICY):
    return motley.Policy(text.replace("hole_of_mine", "cutout"))


@pytest.fixture
def wanted(pixels):
    """The same policy with the library's own cutout in place of ours."""
    return motley.Transform(with_cutout(), seed=7)(pixels, sample_ids=IDS, epoch=0)


def test_a_cutout_of_ones_own_is_the_librarys(pixels, wanted):
    stage = motley.Transform(POLICY, seed=7)
    out, draws = stage(pixels, sample_ids=IDS, epoch=0, return_draws=True)
    mine = [step for steps in draws for step in steps if step["op"] == "hole_of_mine"]
    assert mine and all(step["value"] == 12 and len(step["random"]) == 2 for step in mine)
    assert not np.array_equal(out, pixels)
    np.testing.assert_array_equal(out, wanted)
    for i, sample in enumerate(IDS):  # alone as in the batch
        np.testing.assert_array_equal(stage(pixels[i], sample_ids=sample, epoch=0), wanted[i])
    work = pixels.copy()
    np.testing.assert_array_equal(stage.apply_(work, sample_ids=IDS, epoch=0), wanted)
    assert stage.draw(sample_ids=IDS, epoch=0, size=pixels.shape[1:3]) == draws


def test_every_kind_of_images(pixels, wanted):
    stage = motley.Transform(POLICY, seed=7)
    got = stage([Image.fromarray(x) for x in pixels], sample_ids=IDS, epoch=0)
    np.testing.assert_array_equal(np.stack(got), wanted)
    np.testing.assert_array_equal(np.stack(stage(list(pixels), sample_ids=IDS, epoch=0)), wanted)
    fused = motley.Transform(POLICY, seed=7, normalize=(0.5, 0.25), output_layout="chw")(
        pixels, sample_ids=IDS, epoch=0
    )
    np.testing.assert_array_equal(
        fused,
        motley.Transform(with_cutout(), seed=7, normalize=(0.5, 0.25), output_layout="chw")(
            pixels, sample_ids=IDS, epoch=0
        ),
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.skipif(torch is None, reason="no torch")
def test_torch(pixels, wanted, device):
    seen = []

    @motley.custom_op("seen", unit="anything", minimum=-5, maximum=5)
    def look(indices, images, values):
        seen.extend(
            (i, image.device.type, tuple(image.shape), value)
            for i, image, (value, _, _) in zip(indices, images, values)
        )

    batch = torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2).contiguous()
    out = motley.Transform(POLICY, seed=7)(batch, sample_ids=IDS, epoch=0)
    np.testing.assert_array_equal(out.cpu().permute(0, 2, 3, 1), wanted)
    motley.Transform("motley: 1\nname: a\nbranches:\n  - {op: seen, value: -2.5}\n")(batch)
    assert seen == [(i, device, (3, 29, 37), -2.5) for i in range(12)]


@cuda
def test_cupy(pixels, wanted):
    cupy = pytest.importorskip("cupy")
    np.testing.assert_array_equal(
        motley.Transform(POLICY, seed=7)(cupy.asarray(pixels), sample_ids=IDS, epoch=0).get(), wanted
    )


def test_an_op_without_a_value(pixels):
    calls = []

    @motley.custom_op("count_me")
    def count(indices, images, values):
        calls.append((indices, [value for value, _, _ in values]))
        for image in images:
            image[...] = 255 - image

    stage = motley.Transform("motley: 1\nname: a\nbranches: [count_me]\n")
    out, draws = stage(pixels, return_draws=True)
    np.testing.assert_array_equal(out, 255 - pixels)
    assert calls == [(list(range(12)), [0.0] * 12)]
    assert all(steps[0].keys() == {"op", "random", "level", "applied"} for steps in draws)


def test_what_is_raised_comes_through(pixels):
    @motley.custom_op("fails_at_times")
    def fail(indices, images, values):
        if images[0][0, 0, 0] == 1:
            raise ZeroDivisionError("as it happens")

    stage = motley.Transform("motley: 1\nname: a\nbranches: [fails_at_times]\n")
    good, bad = np.zeros((2, 4, 4, 3), np.uint8), np.ones((2, 4, 4, 3), np.uint8)
    stage(good)
    for _ in range(2):
        refused("as it happens", stage, bad, error=ZeroDivisionError)
    stage(good)
    with pytest.raises(motley.ArgumentError, match="epoch"):  # a later mistake is reported as such
        stage(good, epoch=2**30)


def test_policies_keep_their_ops(pixels, wanted):
    stage = motley.Transform(POLICY, seed=7)
    changed = stage.policy.change(repeat=1)
    for again in (pickle.loads(pickle.dumps(stage)), motley.Transform(motley.Policy(stage.policy.show()), seed=7)):
        np.testing.assert_array_equal(again(pixels, sample_ids=IDS, epoch=0), wanted)

    @motley.custom_op("short_lived")
    def first(indices, images, values):
        for image in images:
            image[...] = 1

    old = motley.Transform("motley: 1\nname: a\nbranches: [short_lived]\n").policy.change(repeat=2)

    @motley.custom_op("short_lived")
    def second(indices, images, values):
        for image in images:
            image[...] = 2

    del first
    gc.collect()
    assert (motley.Transform(old)(pixels) == 1).all()
    assert (motley.Transform("motley: 1\nname: a\nbranches: [short_lived]\n")(pixels) == 2).all()
    assert motley.Transform(changed, seed=7)(pixels).shape == pixels.shape


def test_many_ops_are_registered(pixels, wanted, monkeypatch):
    """A policy takes 32, and is given those that its text names."""
    monkeypatch.setattr(motley.custom, "registered", dict(motley.custom.registered))
    for i in range(40):
        motley.custom_op(f"one_of_many_{i}")(lambda *_: None)
    np.testing.assert_array_equal(motley.Transform(POLICY, seed=7)(pixels, sample_ids=IDS, epoch=0), wanted)


def test_mistakes(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(POLICY.replace("value: 12", "value: 101"))
    refused(r"mine.yaml:7:\d+: error: .*101", motley.Policy, path, error=motley.PolicyError)
    path.write_text(POLICY)
    assert motley.Policy(path) == motley.Policy(POLICY)
    refused("nobodys_op", motley.Policy, "motley: 1\nname: a\nbranches: [nobodys_op]\n", error=motley.PolicyError)
    refused("want a text: @motley.custom_op", motley.custom_op, test_mistakes)
    for name in ("rotate", "no name"):
        motley.custom_op(name)(lambda *_: None)
        refused(name, motley.Policy, f"motley: 1\nname: a\nbranches: [{name}]\n", error=motley.Error)
        del motley.custom.registered[name]


@pytest.mark.slow
def test_the_example():
    lines = output_of(sys.executable, EXAMPLE).splitlines()
    assert len(lines) == 8 and any("rotate 15, grey_square" in line for line in lines)
    for line in lines:
        side = float(line.rsplit(" ", 1)[1]) if "grey_square" in line else 0
        assert int(line.split(": ")[1].split()[0]) <= (side + 1) ** 2


def test_a_word_of_the_text_is_no_operation():
    motley.custom_op("cut")(lambda indices, images, values: None)
    for text in (
        "motley: 1\nname: cut\ntitle: cut\nbranches: [{op: cutout, value: 8}]\n",
        '{"motley": 1, "name": "shortcut", "branches": ["invert"]}',
    ):
        assert not motley.Policy(text).custom_ops
    named = motley.Policy("motley: 1\nname: x\nbranches: [cut, {op: cutout, value: 8}]\n")
    assert [op.name for op in named.custom_ops] == ["cut"]


def test_an_operation_that_returns_images_is_refused(pixels):
    @motley.custom_op("inverts_a_copy")
    def inverts(indices, images, values):
        return [255 - image for image in images]

    with pytest.raises(motley.ArgumentError, match="'inverts_a_copy' returned a list, want None: it changes"):
        motley.Transform("motley: 1\nname: mine\nbranches: [inverts_a_copy]\n")(pixels)


def test_in_a_stage(pixels):
    """Between a crop and an output, a custom op gets the images that the stages before it made."""
    text = """
motley: 1
name: staged
stages:
  - random_resized_crop: {size: 20}
  - flip: {horizontal: 0.5}
  - policy: {repeat: 2, branches: [{op: hole_of_mine, value: 12}, {op: cutout, value: 9}, {op: rotate, value: 20}]}
  - jitter: {brightness: 0.4}
  - output: {mean: 0.5, std: 0.5}
"""
    mine, plain = (motley.Transform(policy, seed=7) for policy in (motley.Policy(text), with_cutout(text)))
    got, draws = mine(pixels, sample_ids=IDS, epoch=0, return_draws=True)
    np.testing.assert_array_equal(got, plain(pixels, sample_ids=IDS, epoch=0))
    assert any(step["op"] == "hole_of_mine" for draw in draws for step in draw["steps"])
