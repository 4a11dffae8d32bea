# SPDX-License-Identifier: Apache-2.0
"""The way back: what was found in augmented images, in the frame of their sources."""

import json

import numpy as np
import pytest
from conftest import refused, torch

import motley
from motley.follow import Boxes, Follow, Mask, Points

TRANSFORM = """motley: 1
name: back
stages:
  - random_resized_crop: {size: [70, 90], scale: [0.3, 1]}
  - flip: {horizontal: 0.5, vertical: 0.5}
"""
WARPING = TRANSFORM + "  - policy: {branches: [{op: rotate, value: 20}, {op: shear_x, value: 0.2}]}\n"
SIZE = 61, 83
LIBRARIES = ["numpy", pytest.param("torch", marks=pytest.mark.skipif(torch is None, reason="no torch"))]


def of(library, array):
    return torch.from_numpy(np.ascontiguousarray(array)) if library == "torch" else array


def pictures(count, size=SIZE):
    return np.random.default_rng(1).integers(0, 256, (count, *size, 3), np.uint8)


def moved(text, count, **entries):
    """(sample, draws) of Follow on pictures and entries."""
    follow = Follow(
        motley.Transform(text, seed=3),
        {"boxes": Boxes("xyxy", drop=False), "points": Points("continuous", inside="seen"), "mask": Mask(fill=255)},
    )
    follow.following = {key: kind for key, kind in follow.following.items() if key in entries}
    return follow({"image": pictures(count), **entries}, sample_ids=range(count), epoch=0, return_draws=True)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("text", [TRANSFORM, WARPING], ids=["crop", "warp"])
def test_points_return_to_where_they_were(text, library):
    points = np.random.default_rng(2).uniform(0, SIZE[0], (50, 1000, 2))
    sample, draws = moved(text, 50, points=of(library, points))
    back = motley.Inverse(draws, motley.Transform(text)).points(sample["points"])
    assert type(back) is type(sample["points"]) and np.abs(np.asarray(back) - points).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("form", ["xyxy", "xywh", "cxcywh"])
def test_a_million_boxes_return_to_where_they_were(form, library):
    random = np.random.default_rng(4)
    corner = random.uniform(0, 40, (50, 20000, 2))
    boxes = np.concatenate([corner, corner + random.uniform(1, 20, corner.shape)], -1)
    transform = motley.Transform(TRANSFORM, seed=3)
    _, draws = transform(pictures(50), sample_ids=range(50), epoch=0, return_draws=True)
    inverse = motley.Inverse(draws, transform)
    a, e = (np.array([m[axis][axis] for m in inverse.matrices])[:, None] for axis in (0, 1))
    c, f = (np.array([m[axis][2] for m in inverse.matrices])[:, None] for axis in (0, 1))
    x, y = (boxes[..., 0::2] - c[..., None]) / a[..., None], (boxes[..., 1::2] - f[..., None]) / e[..., None]
    there = np.stack([x.min(-1), y.min(-1), x.max(-1), y.max(-1)], -1)  # unclipped, as crops cut most boxes

    def written(rows):
        low, high = rows[..., :2], rows[..., 2:]
        return {
            "xyxy": rows,
            "xywh": np.concatenate([low, high - low], -1),
            "cxcywh": np.concatenate([(low + high) / 2, high - low], -1),
        }[form]

    back = inverse.boxes(of(library, written(there)), form)
    assert np.abs(np.asarray(back) - written(boxes)).max() < 1e-5


def test_boxes_that_the_library_moved():
    boxes = np.tile(np.array([[30.0, 25, 50, 40], [38, 28, 44, 33]]), (200, 1, 1))
    for text in TRANSFORM, WARPING:
        corners = boxes[..., [[0, 1], [2, 1], [2, 3], [0, 3]]].reshape(200, 8, 2)
        sample, draws = moved(text, 200, boxes=boxes, points=corners)
        back = motley.Inverse(draws, motley.Transform(text)).boxes(sample["boxes"])
        uncut = sample["seen"].reshape(200, 2, 4).all(-1)
        assert uncut.sum() > 100
        if text is TRANSFORM:
            assert np.abs(back - boxes)[uncut].max() < 1e-5
        else:  # the box around a turned box
            assert ((back[..., :2] <= boxes[..., :2] + 1e-9) & (back[..., 2:] >= boxes[..., 2:] - 1e-9))[uncut].all()
            assert (back - boxes)[uncut].std() > 1


@pytest.mark.parametrize("library", LIBRARIES)
def test_masks_return_where_they_are_valid(library):
    """Nearest twice: a mask of blocks that are larger than a pixel of either image comes back but at its edges."""
    mask = np.kron(np.random.default_rng(5).integers(0, 9, (4, 5)), np.ones((16, 17), int))[: SIZE[0], : SIZE[1]]
    masks = np.tile(mask.astype(np.int64), (40, 1, 1))
    sample, draws = moved(WARPING, 40, mask=masks)
    back, valid = motley.Inverse(draws, motley.Transform(WARPING)).images(of(library, sample["mask"]), fill=-1)
    back, valid = np.asarray(back), np.asarray(valid)
    assert back.shape == masks.shape and valid.shape == masks.shape and valid.dtype == bool
    assert (back[~valid] == -1).all() and 0.3 < valid.mean() < 0.9
    assert (back == masks)[valid].mean() > 0.93
    edges = np.zeros_like(mask, bool)
    edges[:, 1:] |= mask[:, 1:] != mask[:, :-1]
    edges[1:] |= mask[1:] != mask[:-1]
    near = np.pad(edges, 2)
    near = np.any([np.roll(near, (dy, dx), (0, 1)) for dy in range(-2, 3) for dx in range(-2, 3)], 0)[2:-2, 2:-2]
    assert (back == masks)[valid & ~near].all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_smooth_maps_return_bilinear_and_from_fewer_pixels(library):
    """A plane a x + b y comes back as itself, also from an output of half the resolution."""
    transform = motley.Transform(WARPING, seed=3)
    _, draws = transform(pictures(20), sample_ids=range(20), epoch=0, return_draws=True)
    inverse = motley.Inverse(draws, transform)
    y, x = np.mgrid[: SIZE[0], : SIZE[1]] + 0.5
    for h, w in ((70, 90), (35, 45)):
        v, u = np.mgrid[:h, :w] + 0.5
        u, v = u * (90 / w), v * (70 / h)
        planes = np.stack(
            [0.7 * (a * u + b * v + c) - 0.4 * (d * u + e * v + f) for (a, b, c), (d, e, f) in inverse.matrices]
        )[:, None]
        back, valid = (np.asarray(found) for found in inverse.images(of(library, planes), interpolation="bilinear"))
        assert back.shape == (20, 1, *SIZE)
        inner = np.stack([_shown_well_inside(matrix, x, y, 3) for matrix in inverse.matrices])
        assert np.abs(back[:, 0] - (0.7 * x - 0.4 * y))[valid & inner].max() < 1e-9


def _shown_well_inside(matrix, x, y, margin):
    """Pixels of the source whose place in the result is not at its edge, where bilinear has one neighbour only."""
    (a, b, c), (d, e, f) = matrix
    u, v = np.tensordot(np.linalg.inv([[a, b], [d, e]]), np.stack([x - c, y - f]), 1)
    return (u > margin) & (u < 90 - margin) & (v > margin) & (v < 70 - margin)


def test_what_is_erased_or_left_the_image_is_not_valid():
    text = (
        "motley: 1\nname: gone\nbranches: [[{op: translate_x, value: 30}, {op: translate_x, value: -30}, "
        "{op: cutout, value: 20}]]\n"
    )
    stage = motley.Transform(motley.Policy(text), seed=1)
    images = np.full((3, 60, 80, 3), 200, np.uint8)
    made, draws = stage(images, return_draws=True)
    back, valid = motley.Inverse(draws, stage).images(made[..., 0])
    assert (back == 200)[valid].all()
    assert not valid[:, :, 50:].any() and ((made[..., 0] == 0)[:, :, :50] == ~valid[:, :, :50]).all()


STEPS = {
    "up": "[{op: translate_y, value: -4.5}]",
    "down": "[{op: translate_y, value: 4.5}]",
    "left": "[{op: translate_x, value: -4.5}]",
    "right and up": "[{op: translate_x, value: 3.5}, {op: translate_y, value: -2.5}]",
    "mirrored": "[flip_lr, {op: translate_x, value: 4.5}]",
    "sheared": "[{op: shear_x, value: 0.2}]",
    "turned": "[{op: rotate, value: 20}]",
    "turned twice": "[{op: rotate, value: 20}, {op: rotate, value: -35}]",
    "erased": "[{op: rotate, value: 12}, {op: cutout, value: 11}, {op: translate_x, value: 1.5}]",
}


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
@pytest.mark.parametrize("stages", ["", "stages", "padded"])
@pytest.mark.parametrize("steps", STEPS)
def test_where_a_result_shows_its_fill_nothing_is_valid(steps, stages, interpolation):
    branches = f"interpolation: {interpolation}\nbranches: [{STEPS[steps]}]\n"
    policy = f"motley: 1\nname: p\nfill: 0\n{branches}"
    if stages:
        crop = "random_crop: {size: 44, padding: 5}" if stages == "padded" else "center_crop: {size: [33, 41]}"
        policy = policy.replace("\n", "\n      ")
        policy = f"motley: 1\nname: t\nstages:\n  - {crop}\n  - policy:\n      name: p\n      fill: 0\n      {branches}"
        policy = policy.replace("\nbranches", "\n      branches")
    transform = motley.Transform(motley.Policy(policy), seed=1)
    images = np.full((6, 40, 50, 3), 200, np.uint8)
    made, draws = transform(images, sample_ids=range(6), epoch=0, return_draws=True)
    back, valid = motley.Inverse(draws, transform).images(made[..., 0])
    assert (back[valid] > 0).all() and 0.3 < valid.mean() < 1


def test_a_pixel_whose_centre_lies_on_a_border_is_found():
    """Shifts by half pixels: a row that the result shows is valid."""
    rows = np.repeat(np.arange(40, dtype=np.uint8)[:, None], 50, axis=1)
    for shift in -4.5, 4.5:
        policy = STEPS["up" if shift < 0 else "down"]
        transform = motley.Transform(motley.Policy(f"motley: 1\nname: p\nbranches: [{policy}]\n"))
        made, draws = transform(np.stack([rows + 1] * 3, axis=-1), return_draws=True)
        back, valid = motley.Inverse(draws, transform).images(made[..., 0])
        assert valid[np.isin(rows + 1, made)].all() and (back > 0)[valid].all()
        assert np.abs(back.astype(int) - rows - 1)[valid].max() <= 1


def test_one_image_and_sources_of_many_sizes():
    transform = motley.Transform(TRANSFORM, seed=1)
    images = [pictures(1, (40 + i, 50 + 2 * i))[0] for i in range(4)]
    made, draws = transform(images, sample_ids=range(4), epoch=0, return_draws=True)
    back, valid = motley.Inverse(draws, transform).images(made[..., 0])
    assert [b.shape for b in back] == [v.shape for v in valid] == [image.shape[:2] for image in images]
    stored = json.loads(json.dumps(draws))
    refused(r"draws of image 0 were stored without a size: want size=", motley.Inverse, stored, transform)
    again = motley.Inverse(stored, transform, [image.shape[:2] for image in images]).images(made[..., 0])[0]
    assert all((a == b).all() for a, b in zip(again, back))
    one, draw = transform(images[2], sample_ids=2, epoch=0, return_draws=True)
    single = motley.Inverse(draw, transform)
    assert (single.images(one[..., 0])[0] == back[2]).all() and single.points([[45.0, 35]]).shape == (1, 2)
    stage = motley.Transform("trivial_augment_wide", seed=5)
    one, draw = stage(images[0], return_draws=True)
    assert motley.Inverse(draw, stage).images(one[..., 0])[0].shape == images[0].shape[:2]


def test_what_has_no_inverse_is_refused():
    images = pictures(8)
    augmix = motley.Transform(motley.Policy("augmix"), seed=1)
    refused("image 0", motley.Inverse, augmix(images, return_draws=True)[1], augmix, error=motley.UnsupportedError)
    kinds = {"kind": "none", "partner": 1, "lambda": 1.0, "share": 1.0}
    alone = motley.Transform(TRANSFORM, seed=1)
    draws = alone(images, return_draws=True)[1]
    for draw in draws:
        draw["mix"] = kinds
    assert len(motley.Inverse(draws, alone).matrices) == 8  # a transform that mixes left these as they are
    mixing = motley.Transform(TRANSFORM + "  - output: {mean: 0, std: 1}\n  - mix: {mixup: 1, classes: 4}\n", seed=1)
    _, _, draws = mixing(images, labels=np.arange(8) % 4, return_draws=True)
    refused("is mixed with another", motley.Inverse, draws, mixing, error=motley.UnsupportedError)
    inside = [{"op": "rotate", "value": 5, "inside": {"left": 0, "top": 0, "right": 9, "bottom": 9}}]
    with pytest.raises(motley.UnsupportedError, match="image 0: 'rotate' works in a part of the image"):
        motley.Inverse([inside], motley.Transform("rand_augment"), SIZE)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda back: back.points(np.zeros((3, 5, 2))), r"points has 3 entries, the draws are of 2 images"),
        (lambda back: back.points([[1, 2], np.zeros(3)]), r"points\[1\] has shape \(3,\), want \[..., 2\]"),
        (lambda back: back.boxes(np.zeros((2, 5, 4)), "yolo"), r"format is 'yolo', want 'xyxy', 'xywh', 'cxcywh'"),
        (
            lambda back: back.images(np.zeros((2, 4, 90, 70))),
            r"images\[0\] has shape \(4, 90, 70\), the result is 70 high",
        ),
        (lambda back: back.images(np.zeros((2, 70, 90), int), interpolation="bilinear"), "want floats for 'bilinear'"),
        (
            lambda back: back.images(np.zeros((2, 70, 90)), interpolation="area"),
            "interpolation is 'area', want 'nearest'",
        ),
        (lambda back: back.images("ab"), r"images\[0\] is a str, want a NumPy, torch or CuPy array"),
    ],
)
def test_bad_values_are_named(call, sentence):
    transform = motley.Transform(TRANSFORM, seed=1)
    back = motley.Inverse(transform(pictures(2), return_draws=True)[1], transform)
    refused(sentence, call, back)


def test_bad_draws_are_named():
    transform = motley.Transform(TRANSFORM, seed=1)
    draws = transform(pictures(2), return_draws=True)[1]
    refused(r"draws of image 1 are 7, want what a call", motley.Inverse, [draws[0], 7], transform)
    refused("size has 3 entries, the draws are of 2 images", motley.Inverse, draws, transform, [(1, 2)] * 3)
    refused("were made for 83 x 61 pixels, the image has 61 x 83", motley.Inverse, draws, transform, (83, 61))
