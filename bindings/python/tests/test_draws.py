# SPDX-License-Identifier: Apache-2.0
"""Draws as plain data: out of a stage, through JSON, and in again, to the same bytes."""

import collections
import json

import numpy as np
import pytest
from conftest import DEVICES, refused, torch

import motley
from motley import draws as drawing

needs_torch = pytest.mark.skipif(torch is None, reason="no torch")
POLICIES = "rand_augment", "timm_rand_m9_mstd05_inc1", "auto_augment_cifar10", "timm_3_augment"


def through_json(draws):
    return json.loads(json.dumps(draws))


@pytest.mark.parametrize("name", POLICIES)
def test_recorded_draws_give_the_same_bytes(pixels, name):
    stage = motley.Transform(name, seed=3)
    for epoch in range(20):
        out, draws = stage(pixels, sample_ids=range(12), epoch=epoch, return_draws=True)
        assert (motley.Transform(name).replay(pixels, through_json(draws)) == out).all()
        assert not (out == pixels).all()


@needs_torch
@pytest.mark.parametrize("device", DEVICES)
def test_on_tensors(pixels, device):
    batch = torch.from_numpy(pixels).permute(0, 3, 1, 2).to(device)
    how = {"normalize": (0.5, 0.25), "dtype": "float32", "output_layout": "channels_last"}
    stage = motley.Transform("rand_augment", seed=3, **how)
    out, draws = stage(batch, return_draws=True)
    again = stage.replay(batch, through_json(draws))
    assert torch.equal(again, out) and again.stride() == out.stride() and again.device == batch.device


@needs_torch
def test_into_out_and_in_place(pixels):
    batch = torch.from_numpy(pixels)
    stage = motley.Transform("rand_augment", layout="hwc")
    wanted, draws = stage(batch, return_draws=True)
    out = torch.empty_like(batch)
    assert stage.replay(batch, draws, out=out) is out and torch.equal(out, wanted)
    assert stage.replay(batch, draws, out=batch) is batch and torch.equal(batch, wanted)
    expanded = torch.from_numpy(pixels[:1]).expand(12, -1, -1, -1)
    wanted = stage(expanded, sample_ids=range(12), epoch=0)
    assert torch.equal(stage.replay(expanded, stage.draw(12, size=(29, 37), sample_ids=range(12), epoch=0)), wanted)


def test_empty_batches():
    nothing = np.empty((0, 8, 8, 3), np.uint8)
    assert motley.Transform("rand_augment").replay(nothing, []).shape == nothing.shape


WRONG = [
    ([[]] * 11, r"draws has 11 entries, there are 12 images"),
    ([{}] * 12, r"draws of image 0 are {}, want the list of its steps"),
    ([[]] * 11 + [[{"op": "solarise", "value": 3}]], r"draws of image 11: .*'solarise'.*solarize"),
    ([[{"op": "rotate"}]] + [[]] * 11, r"draws of image 0: "),
    (
        [[{"op": "rotate", "value": 3.0, "fill": [0]}]] + [[]] * 11,
        r"the image 3 channels: the draw was made for another",
    ),
    ([[{"op": "rotate", "value": object()}]] + [[]] * 11, r"draws of image 0: .*not JSON serializable"),
    ([[{"op": "rotate", "value": float("nan")}]] + [[]] * 11, r"draws of image 0: "),
]


@pytest.mark.parametrize("draws, message", WRONG)
def test_wrong_draws(pixels, draws, message):
    before = pixels.copy()
    refused(message, motley.Transform("rand_augment").replay, pixels, draws, out=pixels, error=ValueError)
    assert (pixels == before).all()


@pytest.mark.parametrize("kind", [collections.deque, collections.UserList, tuple])
def test_draws_may_be_in_any_list(pixels, kind):
    transform = motley.Transform("rand_augment")
    wanted, draws = transform(pixels, sample_ids=range(len(pixels)), epoch=0, return_draws=True)
    assert (transform.replay(pixels, kind(draws)) == wanted).all()
    size = pixels.shape[1:3]
    assert motley.draws.matrices(kind(draws), size) == motley.draws.matrices(draws, size)


def test_custom_operations_cannot_be_replayed(pixels):
    @motley.custom_op("darker_draws")
    def darker(indices, images, values):
        for image in images:
            image //= 2

    stage = motley.Transform('{"motley": 1, "name": "mine", "branches": ["darker_draws"]}')
    _, draws = stage(pixels, return_draws=True)
    refused("draws of image 0: .*darker_draws", stage.replay, pixels, draws, error=ValueError)


# ---- matrices ----


def test_matrices_of_one_image_and_of_sizes():
    steps = [{"op": "flip_lr"}]
    assert drawing.matrices(steps, (20, 30)) == [[-1, 0, 30], [0, 1, 0]]
    assert drawing.matrices([steps, []], [(20, 30), (5, 5)]) == [[[-1, 0, 30], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]]]
    assert drawing.matrices([], (20, 30)) == [[1, 0, 0], [0, 1, 0]]
    refused("draws has 2 entries, there are 1", drawing.matrices, [steps, []], [(20, 30)], error=ValueError)


def test_draws_of_another_policy_or_size(pixels):
    stage, other = motley.Transform("trivial_augment_wide"), motley.Transform("timm_3_augment", seed=0)
    _, draws = stage(pixels, return_draws=True)
    _, theirs = other(pixels, return_draws=True)
    with pytest.raises(ValueError, match="draws of image 0 are of policy 'timm_3_augment', want those of 'trivial_aug"):
        stage.replay(pixels, theirs)
    with pytest.raises(
        ValueError, match=r"image \d+, step \d is gaussian_blur, which policy 'trivial_augment_wide' does"
    ):
        stage.replay(pixels, through_json(theirs))
    with pytest.raises(ValueError, match="draws of image 0 were made for 37 x 29 pixels, the image has 36 x 29"):
        stage.replay(pixels[:, :, 1:].copy(), draws)
    written = [{"policy": stage.policy.name, "size": [37, 29], "steps": steps, "image": "a.png"} for steps in draws]
    assert (stage.replay(pixels, written) == stage.replay(pixels, draws)).all()
    with pytest.raises(ValueError, match="image 2 were made for 5 x 9 pixels"):
        stage.replay(pixels, written[:2] + [{**written[2], "size": [5, 9]}] + written[3:])
    with pytest.raises(ValueError, match="image 0 are of policy 'mine'"):
        stage.replay(pixels, [{**one, "policy": "mine"} for one in written])


class Elsewhere:
    """Numbers as JAX's and TensorFlow's arrays have them: __index__ at any number of axes, perhaps without tolist."""

    def __init__(self, numbers, listed):
        self.held = np.asarray(numbers)
        self.ndim, self.shape = self.held.ndim, self.held.shape
        if listed:
            self.tolist = self.held.tolist
        else:
            self.numpy = lambda: self.held

    def __len__(self):
        return len(self.held)

    def __index__(self):
        raise TypeError("only an array with one element can be a number")


@pytest.mark.parametrize("listed", [True, False], ids=["jax", "tensorflow"])
def test_ids_of_other_libraries(listed):
    images = np.random.default_rng(3).integers(0, 256, (6, 20, 24, 3), np.uint8)
    ids = np.arange(6) * 3
    for make in (motley.RandAugment, lambda: motley.Transform("rand_augment")):
        wanted = make()(images, sample_ids=ids, epoch=0)
        assert np.array_equal(make()(images, sample_ids=Elsewhere(ids, listed), epoch=0), wanted)
        pairs = np.stack([ids, ids % 2], 1)
        assert np.array_equal(
            make()(images, sample_ids=Elsewhere(pairs, listed), epoch=0), make()(images, sample_ids=pairs, epoch=0)
        )
    sample = {"image": images, "mask": images[..., 0]}
    made = motley.Follow("rand_augment")(sample, sample_ids=Elsewhere(ids, listed), epoch=0)
    assert np.array_equal(made["mask"], motley.Follow("rand_augment")(sample, sample_ids=ids, epoch=0)["mask"])
