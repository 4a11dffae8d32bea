# SPDX-License-Identifier: Apache-2.0
"""Keypoints and boxes beside albumentations', where its conventions are consistent: it takes pixel i for the point i in
everything but resizing."""

import numpy as np
import pytest

import motley
from motley.follow import Boxes, Follow, Points

albumentations = pytest.importorskip("albumentations")
WIDTH, HEIGHT = 120, 90
IMAGE = np.zeros((HEIGHT, WIDTH, 3), np.uint8)


def ours(op, value, kinds, **sample):
    step = {"op": op} if value is None else {"op": op, "value": value}
    follow = Follow(motley.Policy(str({"motley": 1, "name": "one", "branches": [step]})), kinds)
    return follow({"image": IMAGE, **sample})


def theirs(transform, points):
    params = albumentations.KeypointParams(format="xy", remove_invisible=False)
    compose = albumentations.Compose([transform], keypoint_params=params)
    return np.array(compose(image=IMAGE, keypoints=points)["keypoints"])


def points_of(op, value):
    points = np.random.default_rng(3).uniform(0, 1, (60, 2)) * [WIDTH - 1, HEIGHT - 1]
    return points, ours(op, value, {"points": Points(convention="index")}, points=points)["points"]


def affine(**numbers):
    return albumentations.Affine(
        **{key: (v, v) if not isinstance(v, dict) else {k: (n, n) for k, n in v.items()} for key, v in numbers.items()},
        p=1,
    )


@pytest.mark.parametrize("degrees", [-135.0, -9.5, 0.25, 30.0, 90.0, 180.0])
def test_rotations(degrees):
    points, got = points_of("rotate", degrees)
    assert np.abs(got - theirs(affine(rotate=degrees), points)).max() < 1e-3


@pytest.mark.parametrize("pixels", [-17, 1, 40])
def test_translations(pixels):
    for axis in "x", "y":
        points, got = points_of(f"translate_{axis}", pixels)
        assert np.abs(got - theirs(affine(translate_px={"x": 0, "y": 0, axis: pixels}), points)).max() < 1e-3


def test_mirrors():
    for op, mirror in (("flip_lr", albumentations.HorizontalFlip(p=1)), ("flip_ud", albumentations.VerticalFlip(p=1))):
        points, got = points_of(op, None)
        assert np.abs(got - theirs(mirror, points)).max() < 1e-3


@pytest.mark.parametrize("factor", [-0.3, 0.2, 0.99])
def test_shears(factor):
    """Theirs has the image's centre for its centre, ours the corner: a constant apart."""
    for axis in "x", "y":
        points, got = points_of(f"shear_{axis}", factor)
        shear = {"x": 0.0, "y": 0.0, axis: np.degrees(np.arctan(factor))}
        apart = got - theirs(affine(shear=shear), points)
        assert np.ptp(apart, axis=0).max() < 1e-3


def test_boxes():
    corners = np.sort(np.random.default_rng(4).uniform(0, 1, (40, 2, 2)), axis=1).reshape(40, 4)
    corners *= [WIDTH, HEIGHT, WIDTH, HEIGHT]
    params = albumentations.BboxParams(format="pascal_voc", label_fields=["at"], clip=True)
    for op, value, transform in [
        ("flip_lr", None, albumentations.HorizontalFlip(p=1)),
        ("flip_ud", None, albumentations.VerticalFlip(p=1)),
        ("translate_x", 31, affine(translate_px={"x": 31, "y": 0})),
        ("translate_y", -23, affine(translate_px={"x": 0, "y": -23})),
    ]:
        kept = ours(op, value, {"boxes": Boxes(label_fields=["at"])}, boxes=corners, at=np.arange(40))
        compose = albumentations.Compose([transform], bbox_params=params)
        wanted = compose(image=IMAGE, bboxes=corners, at=np.arange(40))
        assert list(kept["at"]) == list(wanted["at"])
        assert np.abs(kept["boxes"] - wanted["bboxes"]).max() < 1e-3
