# SPDX-License-Identifier: Apache-2.0
"""Clips whose frames share their statistics, against Pillow on all frames together."""

import numpy as np
import pytest
import recipes
from PIL import Image

import motley

POOLED = "equalize", "auto_contrast", "contrast"
CLIPS, FRAMES, HEIGHT, WIDTH = 12, 5, 31, 43


def frames(seed=0):
    """Frames of very different brightness, so that their own statistics would show."""
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 90, (CLIPS * FRAMES, HEIGHT, WIDTH, 3))
    return (pixels + random.integers(0, 160, (CLIPS * FRAMES, 1, 1, 3))).astype(np.uint8)


def by_pillow(clip, steps):
    """[FRAMES, HEIGHT, WIDTH, 3] through the steps; those that use statistics see all frames as one picture."""
    for step in steps:
        values = tuple(np.atleast_1d(step.get("value", ())).tolist())
        resample = recipes.FILTERS[["nearest", "bilinear", "bicubic"].index(step.get("interpolation", "nearest"))]
        parts = [clip.reshape(-1, WIDTH, 3)] if step["op"] in POOLED else clip
        settings = values, resample, tuple(step.get("fill", (0, 0, 0)))
        made = [np.asarray(recipes.RECIPES[step["op"]][0](Image.fromarray(x), *settings)) for x in parts]
        clip = np.concatenate(made).reshape(clip.shape)
    return clip


@pytest.mark.parametrize("layout", ["hwc", "chw"])
@pytest.mark.parametrize("name", ["rand_augment", "auto_augment_imagenet", "trivial_augment_wide", "timm_rand_augment"])
def test_statistics_are_those_of_all_frames(name, layout):
    policy = motley.Policy.builtin(name).change(repeat=4)
    stage, alone = (motley.Stage(policy, seed=3, layout=layout, clip_frames=n) for n in (FRAMES, 0))
    images, ids = frames(), motley.group_ids(range(CLIPS), FRAMES)
    given = images if layout == "hwc" else np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    made, draws = stage(given, ids, return_draws=True)
    assert np.array_equal(stage.replay(given, draws), made)
    apart = alone(given, ids)
    made, apart = (x if layout == "hwc" else x.transpose(0, 2, 3, 1) for x in (made, apart))
    pooled = 0
    for i in range(0, len(images), FRAMES):
        wanted = by_pillow(images[i : i + FRAMES], draws[i])
        assert np.array_equal(made[i : i + FRAMES], wanted), draws[i]
        pooled += not np.array_equal(apart[i : i + FRAMES], wanted)
    assert pooled > 3  # and without clip_frames each frame has its own statistics


def test_floats_and_equal_frames():
    ids = motley.group_ids(range(CLIPS), FRAMES)
    settings = {"seed": 3, "normalize": (0.5, 0.25), "output_layout": "chw"}
    stage = motley.Stage("rand_augment", clip_frames=FRAMES, **settings)
    still = np.repeat(frames()[::FRAMES], FRAMES, axis=0)  # a frame's statistics are then its clip's
    assert np.array_equal(stage(still, ids), motley.Stage("rand_augment", **settings)(still, ids))
    moving = motley.Stage("rand_augment", seed=3, clip_frames=FRAMES)(frames(), ids).transpose(0, 3, 1, 2)
    wanted = (moving.astype(np.float32) / np.float32(255) - np.float32(0.5)) / np.float32(0.25)
    assert np.array_equal(stage(frames(), ids), wanted)


@pytest.mark.parametrize("policy, call, message", [
    ("rand_augment", lambda stage: stage(frames()[:7]), "clip_frames is 5, but there are 7 images, want whole clips"),
    ("rand_augment", lambda stage: stage(frames(), range(60)), "has other steps than image 0 of its clip"),
    ("rand_augment", lambda stage: stage([x[: 31 - i % 2] for i, x in enumerate(frames())]), "is 43x30, but image 0"),
    ("augmix", lambda stage: stage(frames()), "no common statistics where chains of ops are mixed"),
])  # fmt: skip
def test_what_is_no_clip(policy, call, message):
    with pytest.raises(motley.Error, match=message):
        call(motley.Stage(policy, clip_frames=5))
