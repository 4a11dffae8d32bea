# SPDX-License-Identifier: Apache-2.0
"""Arrays and tensors of 2 and 4 channels have bands: each becomes what it becomes as a grey image. With alpha=True they
are what PIL images of modes LA and RGBA are."""

import numpy as np
import pytest
from PIL import Image

import motley
from conftest import refused

IDS = [3, 14, 15, 92]
STAGES = "motley: 1\nname: bands\nstages:\n"
TRANSFORMS = {
    "crop": STAGES + "  - random_resized_crop: {size: 20, filter: [bilinear, bicubic]}\n  - flip: {horizontal: 0.5}\n",
    "policies": STAGES
    + "  - resize: {size: [30, 26]}\n  - policy: {name: trivial_augment_wide, interpolation: bicubic}\n"
    "  - policy: {name: rand_augment, interpolation: bilinear, fill: 77}\n  - output: {mean: 0.4, std: 0.3}\n",
    "padded": STAGES + "  - random_crop: {size: 34, padding: 6}\n  - policy: timm_augmix\n",
    "jitter": STAGES
    + "  - jitter: {brightness: [0.5, 1.5], contrast: [0.5, 1.5], saturation: [0, 2], hue: [-0.5, 0.5]}\n"
    "  - grayscale: {p: 0.5}\n  - blur: {kernel_size: 5, sigma: [0.5, 2]}\n  - output: {type: f16}\n",
    "erased": STAGES + "  - center_crop: {size: 24}\n  - output: {}\n  - erase: {p: 0.7, value: 0.5}\n",
}


def images(bands, layout, count=4):
    made = np.random.default_rng(bands).integers(0, 256, (count, 32, 28, bands), np.uint8)
    made[..., -1] //= 3
    return np.ascontiguousarray(made.transpose(0, 3, 1, 2)) if layout == "chw" else made


def by_bands(call, batch, layout):
    """What `call` makes of each band of a batch as grey images."""
    axis = 1 if layout == "chw" else 3
    return np.concatenate([call(band) for band in np.split(batch, batch.shape[axis], axis)], axis)


each = pytest.mark.parametrize("bands", [2, 4, 7])
both = pytest.mark.parametrize("bands", [2, 4])  # those that may have alpha
either = pytest.mark.parametrize("layout", ["chw", "hwc"])


@each
@either
@pytest.mark.parametrize("policy", ["rand_augment", "auto_augment_imagenet", *TRANSFORMS])
def test_transforms_draw_for_all_bands_at_once(policy, layout, bands):
    transform = motley.Transform(TRANSFORMS.get(policy, policy), layout=layout)
    batch = images(bands, layout)
    if policy in TRANSFORMS and "output" in TRANSFORMS[policy]:
        transform = motley.Transform(TRANSFORMS[policy], layout=layout, output_layout=layout)
    made = transform(batch, sample_ids=IDS, epoch=0)
    assert np.array_equal(made, by_bands(lambda band: transform(band, sample_ids=IDS, epoch=0), batch, layout))
    listed = transform(list(batch), sample_ids=IDS, epoch=0)
    assert all(map(np.array_equal, listed, made))


@each
@pytest.mark.parametrize("policy", ["rand_augment", "policies"])
def test_each_band_is_normalised_by_its_own_numbers(policy, bands):
    batch, text = images(bands, "chw"), TRANSFORMS.get(policy, policy)
    means, stds = [0.1 + 0.05 * band for band in range(bands)], [0.5 + 0.06 * band for band in range(bands)]
    made = motley.Transform(text, mean=means, std=stds, layout="chw")(batch, sample_ids=IDS, epoch=0)
    for band in range(bands):
        own = motley.Transform(text, mean=means[band], std=stds[band], layout="chw")
        assert np.array_equal(made[:, band : band + 1], own(batch[:, band : band + 1], sample_ids=IDS, epoch=0))
    refused(
        f"normalize has 3 numbers, the images have {bands} channels",
        motley.Transform(text, mean=[0.1] * 3, std=1),
        batch,
        layout="chw",
    )


def test_the_first_four_bands_are_filled_by_their_own_numbers():
    for bands in (4, 7):
        turned = motley.ops.rotate(images(bands, "chw"), 30, fill=(1, 2, 3, 4), interpolation="bilinear", layout="chw")
        assert turned[0, :, 0, 0].tolist() == [1, 2, 3, 4, 1, 1, 1][:bands]
    refused(
        "the images have 7 channels: want one number, or 4", motley.ops.rotate, images(7, "hwc"), 30, fill=(1, 2, 3)
    )


def test_layouts_of_many_bands_are_said_where_they_are_unclear():
    bands = np.zeros((40, 4, 4), np.uint8)  # 4 bands of 40 x 4, or 40 bands
    assert motley.Transform("rand_augment", layout="chw")(bands).shape == bands.shape
    refused("which in layout 'hwc' is 20 channels, say layout='hwc'", motley.ops.invert, np.zeros((3, 9, 20), np.uint8))
    refused(
        "alpha is True, but the images have 6 channels: want 2 or 4", motley.ops.invert, images(6, "hwc"), alpha=True
    )


MODES = {2: "LA", 4: "RGBA"}


def pictures(bands):
    return [Image.fromarray(image, MODES[bands]) for image in images(bands, "hwc")]


@both
@pytest.mark.parametrize("policy", ["trivial_augment_wide", *TRANSFORMS])
def test_with_alpha_arrays_are_pictures(policy, bands):
    text = TRANSFORMS.get(policy, policy)
    batch = images(bands, "hwc")
    wanted = np.stack([np.asarray(x) for x in motley.Transform(text)(pictures(bands), sample_ids=IDS, epoch=0)])
    made = motley.Transform(text, alpha=True)(batch, sample_ids=IDS, epoch=0)
    assert np.array_equal(made, wanted)
    if policy != "erased":
        assert not np.array_equal(made, motley.Transform(text)(batch, sample_ids=IDS, epoch=0))


@both
def test_with_alpha_ops_and_resizes_are_those_of_pictures(bands):
    batch = images(bands, "hwc")
    for call in (
        lambda x, **how: motley.ops.equalize(x, **how),
        lambda x, **how: motley.ops.rotate(x, 11, interpolation="bilinear", **how),
        lambda x, **how: motley.ops.resize(x, (9, 11), **how),
    ):
        wanted = np.stack([np.asarray(x) for x in call(pictures(bands))])
        assert np.array_equal(call(batch, alpha=True), wanted) and not np.array_equal(call(batch), wanted)


def test_alpha_wants_two_or_four_channels():
    grey, rgb = (np.zeros((2, 8, 8, channels), np.uint8) for channels in (1, 3))
    for channels, batch in ((1, grey), (3, rgb)):
        message = f"alpha is True, but the images have {channels} channels: want 2 or 4"
        refused(message, motley.Transform("rand_augment", alpha=True), batch)
        refused(message, motley.Transform("rand_augment", alpha=True), list(batch))
        refused(message, motley.ops.invert, batch, alpha=True)
        refused(message, motley.ops.resize, batch, 4, alpha=True)
        refused(message, motley.Transform("dinov2", alpha=True), batch)


def test_to_rgb_leaves_bands():
    transform = motley.Transform(STAGES + "  - to_rgb: {}\n  - resize: {size: [9, 8]}\n  - output: {layout: hwc}\n")
    batch = images(4, "hwc")
    assert transform(batch).shape == (4, 9, 8, 4)
    assert np.array_equal(transform(batch)[..., :1], transform(batch[..., :1])[..., :1])
    assert motley.Transform(transform.policy, alpha=True)(batch).shape == (4, 9, 8, 3)
    refused("image 0 of the list has 4 bands, which are no RGB", transform, [batch[0], images(3, "hwc")[0]])


@each
def test_views_and_followers_of_bands(bands):
    batch = images(bands, "hwc")
    text = "motley: 1\nname: v\nviews:\n  - name: a\n    stages:\n      - random_resized_crop: {size: 12}\n"
    views = motley.Transform(text)
    made = views(batch, sample_ids=IDS, epoch=0)["a"]
    assert np.array_equal(made, by_bands(lambda band: views(band, sample_ids=IDS, epoch=0)["a"], batch, "hwc"))
    if bands in MODES:
        wanted = np.stack([np.asarray(x) for x in views(pictures(bands), sample_ids=IDS, epoch=0)["a"]])
        assert np.array_equal(motley.Transform(text, alpha=True)(batch, sample_ids=IDS, epoch=0)["a"], wanted)

    def followed(image, **how):
        kind = motley.follow.Image(interpolation="bilinear", **how)
        sample = {"image": images(3, "hwc"), "other": image}
        return motley.Follow(TRANSFORMS["crop"], {"other": kind})(sample, sample_ids=IDS, epoch=0)["other"]

    assert np.array_equal(followed(batch, fill=5), by_bands(lambda x: followed(x, fill=5), batch, "hwc"))
    if bands in MODES:
        assert not np.array_equal(followed(batch, alpha=True), followed(batch))
