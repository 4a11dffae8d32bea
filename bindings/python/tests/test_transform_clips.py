# SPDX-License-Identifier: Apache-2.0
"""Clips whose frames share their statistics, against Pillow on all frames together."""

import numpy as np
import pytest
import recipes
from conftest import cuda, refused, torch
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
        parts = [clip.reshape(-1, WIDTH, 3)] if step["op"] in POOLED else clip
        made = [np.asarray(recipes.stepped(Image.fromarray(x), step)) for x in parts]
        clip = np.concatenate(made).reshape(clip.shape)
    return clip


@pytest.mark.parametrize("layout", ["hwc", "chw"])
@pytest.mark.parametrize("name", ["rand_augment", "auto_augment_imagenet", "trivial_augment_wide", "timm_rand_augment"])
def test_statistics_are_those_of_all_frames(name, layout):
    policy = motley.Policy(name).change(repeat=4)
    stage, alone = (motley.Transform(policy, seed=3, layout=layout, clip_frames=n) for n in (FRAMES, 0))
    images, ids = frames(), motley.group_ids(range(CLIPS), FRAMES)
    given = images if layout == "hwc" else np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    made, draws = stage(given, sample_ids=ids, epoch=0, return_draws=True)
    assert np.array_equal(stage.replay(given, draws), made)
    apart = alone(given, sample_ids=ids, epoch=0)
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
    stage = motley.Transform("rand_augment", clip_frames=FRAMES, **settings)
    still = np.repeat(frames()[::FRAMES], FRAMES, axis=0)  # a frame's statistics are then its clip's
    alone = motley.Transform("rand_augment", **settings)
    assert np.array_equal(stage(still, sample_ids=ids, epoch=0), alone(still, sample_ids=ids, epoch=0))
    moving = motley.Transform("rand_augment", seed=3, clip_frames=FRAMES)(frames(), sample_ids=ids, epoch=0)
    moving = moving.transpose(0, 3, 1, 2)
    wanted = (moving.astype(np.float32) / np.float32(255) - np.float32(0.5)) / np.float32(0.25)
    assert np.array_equal(stage(frames(), sample_ids=ids, epoch=0), wanted)


STAGES = """motley: 1
name: clips
stages:
  - random_resized_crop: {size: [31, 43]}
  - flip: {horizontal: 0.5}
  - policy: {name: rand_augment, repeat: 3}
  - jitter: {p: 0.8, brightness: 0.4, contrast: 0.4, hue: 0.1}
"""


def by_parts(stage, images, draws):
    """Each clip by Pillow; where its pixels come from, and hue, by the transform itself."""
    clip = stage.replay(images, [{**draw, "steps": []} for draw in draws])
    steps = draws[0]["steps"]
    for k, step in enumerate(steps):
        if step["op"] == "hue":
            only = [{**draw, "steps": [step], **WHOLE} for draw in draws]
            clip = stage.replay(clip, only)
        else:
            clip = by_pillow(clip, steps[k : k + 1])
    return clip


WHOLE = {
    "crop": {"left": 0, "top": 0, "width": WIDTH, "height": HEIGHT},
    "resize": {"width": WIDTH, "height": HEIGHT, "filter": "bilinear"},
    "flip": {"horizontal": False, "vertical": False},
}


@pytest.mark.parametrize("threads", [1, 3])
def test_transforms_share_statistics(threads):
    stage, alone = (motley.Transform(STAGES, seed=3, threads=threads, clip_frames=n) for n in (FRAMES, 0))
    apart = motley.Transform(STAGES, seed=3)
    images, ids = np.repeat(frames(), 2, axis=1), motley.group_ids(range(CLIPS), FRAMES)
    made, draws = stage(images, sample_ids=ids, epoch=0, return_draws=True)
    assert np.array_equal(stage.replay(images, draws), made)
    assert stage.draw(sample_ids=ids, epoch=0, size=images.shape[1:3]) == draws
    single, pooled = alone(images, sample_ids=ids, epoch=0), 0
    for i in range(0, len(images), FRAMES):
        wanted = by_parts(apart, images[i : i + FRAMES], draws[i : i + FRAMES])
        assert np.array_equal(made[i : i + FRAMES], wanted), draws[i]
        pooled += not np.array_equal(single[i : i + FRAMES], wanted)
    assert pooled > 3
    floats = motley.Transform(STAGES + "  - output: {mean: 0.5, std: 0.25, type: f32}\n  - erase: {}\n", seed=3,
                              clip_frames=FRAMES)  # fmt: skip
    got, draws = floats(list(images), sample_ids=ids, epoch=0, return_draws=True)
    wanted = (made.astype(np.float32) / np.float32(255) - np.float32(0.5)) / np.float32(0.25)
    for i, draw in enumerate(draws):
        for box in draw.get("erase", ()):
            wanted[i, box["top"] : box["top"] + box["height"], box["left"] : box["left"] + box["width"]] = 0
    assert any("erase" in draw for draw in draws) and np.array_equal(got.transpose(0, 2, 3, 1), wanted)


@cuda
@pytest.mark.parametrize("layout, size", [("hwc", "[31, 43]"), ("chw", "[32, 40]")])
@pytest.mark.parametrize("output", ["", "  - output: {mean: 0.5, std: 0.25, type: f16}\n  - erase: {}\n"])
def test_transforms_share_statistics_on_cuda(output, layout, size):
    stage = motley.Transform(
        STAGES.replace("[31, 43]", size) + output, seed=3, layout=layout, output_layout="hwc", clip_frames=FRAMES
    )
    images, ids = torch.from_numpy(np.repeat(frames(), 2, axis=1)), motley.group_ids(range(CLIPS), FRAMES)
    images = images if layout == "hwc" else images.permute(0, 3, 1, 2).contiguous()
    wanted, draws = stage(images, sample_ids=ids, epoch=0, return_draws=True)
    made, drawn = stage(images.cuda(), sample_ids=ids, epoch=0, return_draws=True)
    assert torch.equal(made.cpu(), wanted) and drawn == draws
    assert torch.equal(stage.replay(images.cuda(), draws).cpu(), wanted)


@pytest.mark.parametrize("text, call, message", [
    (STAGES, lambda stage: stage(frames()[:7]), "clip_frames is 5, but there are 7 images, want whole clips"),
    (STAGES, lambda stage: stage(frames(), sample_ids=range(60), epoch=0), "has other steps than image 0 of its clip"),
    ("motley: 1\nname: x\nstages: [policy: rand_augment]\n",
     lambda stage: stage([x[: 31 - i % 2] for i, x in enumerate(frames())], sample_ids=[0] * 60, epoch=0),
     "image 1 comes out as 43x30, but image 0 of its clip as 43x31, want one size"),
    ("motley: 1\nname: x\nstages: [policy: augmix]\n", lambda stage: stage(frames()), "where chains of ops are mixed"),
])  # fmt: skip
def test_transforms_refuse_what_is_no_clip(text, call, message):
    refused(message, call, motley.Transform(text, clip_frames=5), error=motley.Error)
