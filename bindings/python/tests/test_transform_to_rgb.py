# SPDX-License-Identifier: Apache-2.0
"""The stage to_rgb: grey images, grey ones with alpha and RGBA among RGB ones come out as Pillow's convert("RGB") makes
them, whatever holds them, and go through the rest of a transform as those would."""

import copy
import json
import pickle

import numpy as np
import PIL
import PIL.Image
import pytest

import motley
from motley._resize import order_of

torch = pytest.importorskip("torch")
from conftest import DEVICES, refused  # noqa: E402

from motley.torch import Transform as TorchTransform  # noqa: E402

MODES = "L", "RGB", "LA", "RGBA", "RGB", "L"
SIZES = (31, 47), (1, 1), (64, 20), (33, 65), (8, 13), (50, 50)
HEAD = "motley: 1\nname: mixed\nstages:\n"
OUTPUT = "  - output: {mean: [0.5, 0.4, 0.3], std: [0.2, 0.25, 0.3]}\n"
STAGES = {
    "nothing": "",
    "flip": "  - flip: {horizontal: 0.5, vertical: 0.5}\n",
    "crop": "  - random_resized_crop: {size: [20, 23], filter: [bilinear, bicubic, lanczos]}\n" + OUTPUT,
    "window": "  - random_crop: {size: [29, 37], padding: 40}\n",
    "jitter": "  - resize: {size: [21, 34]}\n  - jitter: {brightness: 0.4, contrast: 0.4, saturation: 0.7, hue: 0.3}\n",
    "policy": "  - policy: {name: rand_augment, fill: [250, 40, 90]}\n",
    "all": "  - random_resized_crop: {size: 24}\n  - flip: {horizontal: 0.5}\n  - policy: trivial_augment_wide\n"
    "  - jitter: {contrast: 0.5, hue: 0.1}\n  - grayscale: {p: 0.2}\n"
    "  - blur: {p: 0.5, kernel_size: 5, sigma: [0.1, 2]}\n" + OUTPUT + "  - erase: {p: 0.5, value: pixel}\n",
}
IDS = range(40, 40 + len(MODES))


def pictures():
    random = np.random.default_rng(11)
    bands = [
        [PIL.Image.fromarray(random.integers(0, 256, (h, w), np.uint8)) for _ in mode]
        for mode, (h, w) in zip(MODES, SIZES)
    ]
    return [b[0] if len(b) == 1 else PIL.Image.merge(mode, b) for mode, b in zip(MODES, bands)]


def converted(images):
    return [image.convert("RGB") for image in images]


def arrays(images):
    return [np.array(image) for image in images]


def tensors(images, device="cpu"):
    """[C, H, W]: in planes, in memory as [H, W, C], or every second row of something."""
    made = []
    for i, x in enumerate(arrays(images)):
        chw = torch.from_numpy(x.reshape(*x.shape[:2], -1)).permute(2, 0, 1).to(device)
        wide = torch.zeros(chw.shape[0], 2 * chw.shape[1], chw.shape[2], dtype=torch.uint8, device=device)
        wide[:, ::2] = chw
        made.append((chw.contiguous(), chw.to(device), wide[:, ::2])[i % 3])
    return made


def transform(stages, kind=motley.Transform, to_rgb=True, **settings):
    return kind(
        HEAD + "  - to_rgb: {}\n" * to_rgb + (stages or "  - flip: {horizontal: 0}\n" * (not to_rgb)),
        seed=7,
        **settings,
    )


def equal(found, wanted):
    """Of images, or of lists or stacks of them."""
    several = isinstance(found, (list, tuple)) or isinstance(wanted, (list, tuple))
    found, wanted = (list(x) if several else [x] for x in (found, wanted))
    found, wanted = ([np.asarray(x.cpu() if isinstance(x, torch.Tensor) else x) for x in xs] for xs in (found, wanted))
    return [x.shape for x in found] == [x.shape for x in wanted] and all(map(np.array_equal, found, wanted))


# ---- against Pillow ----


def test_alone_it_is_convert():
    images = pictures()
    made = transform("")(images)
    assert [image.mode for image in made] == ["RGB"] * len(MODES)
    assert equal(made, converted(images))
    assert equal(transform("", alpha=True)(arrays(images)), converted(images))
    assert equal([x.permute(1, 2, 0) for x in transform("", alpha=True)(tensors(images))], converted(images))


@pytest.mark.parametrize("filter", ["bilinear", "lanczos", "nearest"])
def test_before_a_resize_it_is_convert_and_resize(filter):
    images = pictures()
    stages = f"  - resize: {{size: [27, 45], filter: {filter}, order: {order_of(PIL.__version__)}}}\n"
    resampling = getattr(PIL.Image.Resampling, filter.upper())
    wanted = [image.resize((45, 27), resampling) for image in converted(images)]
    assert equal(list(transform(stages, alpha=True)(arrays(images))), wanted)
    assert equal(transform(stages)(images), wanted)


def test_crops_and_flips_are_those_of_the_converted_image():
    images = pictures()
    made, draws = transform("  - random_crop: {size: [29, 37], padding: 40}\n" + STAGES["flip"])(
        images, sample_ids=IDS, epoch=0, return_draws=True
    )
    for image, draw, found in zip(converted(images), draws, made):
        left, top = draw["window"]["left"], draw["window"]["top"]
        wanted = image.crop((left, top, left + 37, top + 29))
        for axis, way in ("horizontal", "FLIP_LEFT_RIGHT"), ("vertical", "FLIP_TOP_BOTTOM"):
            wanted = wanted.transpose(getattr(PIL.Image.Transpose, way)) if draw["flip"][axis] else wanted
        assert equal(found, wanted)
    assert len({str(draw["flip"]) for draw in draws}) > 1


# ---- all kinds of images, as the converted ones go through the same stages ----


@pytest.mark.parametrize("name", STAGES)
def test_the_rest_works_on_three_channels(name):
    images = pictures()
    wanted = transform(STAGES[name], to_rgb=False)(converted(images), sample_ids=IDS, epoch=0)
    mixed = transform(STAGES[name], alpha=True)
    assert equal(transform(STAGES[name])(images, sample_ids=IDS, epoch=0), wanted)
    assert equal(mixed(images, sample_ids=IDS, epoch=0), wanted)
    assert equal(mixed(arrays(images), sample_ids=IDS, epoch=0), wanted)
    for i, image in enumerate(images):
        assert equal(mixed(image, sample_ids=IDS[i], epoch=0), wanted[i])
    assert equal(mixed(images[::5], sample_ids=IDS[::5], epoch=0), [wanted[0], wanted[5]])  # grey alone


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", STAGES)
def test_tensors(name, device):
    images = pictures()
    wanted = transform(STAGES[name], to_rgb=False)(tensors(converted(images)), sample_ids=IDS, epoch=0)
    mixed = transform(STAGES[name], alpha=True)
    found, draws = mixed(tensors(images, device), sample_ids=IDS, epoch=0, return_draws=True)
    assert equal(found, wanted)
    assert equal(mixed.replay(tensors(images, device), json.loads(json.dumps(draws))), wanted)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("layout", ["chw", "hwc"])
def test_batches_of_one_kind(channels, layout, device):
    random = np.random.default_rng(channels)
    hwc = random.integers(0, 256, (9, 21, 26, channels), np.uint8)
    rgb = hwc[..., [0, 0, 0] if channels < 3 else [0, 1, 2]]
    for name in "crop", "jitter", "policy":
        of_rgb = transform(STAGES[name], to_rgb=False, output_layout="hwc")
        wanted = of_rgb(np.ascontiguousarray(rgb), sample_ids=range(9), epoch=0)
        x = torch.from_numpy(hwc if layout == "hwc" else np.ascontiguousarray(hwc.transpose(0, 3, 1, 2))).to(device)
        found = transform(STAGES[name], layout=layout, output_layout="hwc", alpha=True)(x, sample_ids=range(9), epoch=0)
        assert equal(found, wanted)
        if channels == 1 and layout == "hwc":  # with no axis of channels
            assert equal(
                transform(STAGES[name], layout="hw")(x[..., 0], sample_ids=range(9), epoch=0).movedim(-3, -1), wanted
            )


def test_out_and_dtypes():
    images = pictures()
    of_rgb = transform(STAGES["all"], to_rgb=False, dtype="float16", output_layout="hwc")
    wanted = of_rgb(converted(images), sample_ids=IDS, epoch=0)
    mixed = transform(STAGES["all"], dtype="float16", output_layout="hwc", alpha=True)
    out = np.zeros((6, 24, 24, 3), np.float16)
    assert mixed(arrays(images), sample_ids=IDS, epoch=0, out=out) is out and equal(out, wanted)
    out = np.zeros((6, 29, 37, 3), np.uint8)
    window = transform(STAGES["window"], alpha=True)
    window(arrays(images), sample_ids=IDS, epoch=0, out=out)  # the first is [H, W]
    assert equal(out, window(arrays(images), sample_ids=IDS, epoch=0))
    with pytest.raises(
        motley.ArgumentError,
        match=r"out has shape \(6, 24, 24, 1\), want an array of shape "
        r"\(6, 24, 24, 3\)",
    ):
        mixed(arrays(images), sample_ids=IDS, epoch=0, out=np.zeros((6, 24, 24, 1), np.float16))


def test_views_draws_and_copies():
    images = pictures()
    mixed = transform(STAGES["policy"])
    drawn = transform(STAGES["policy"], to_rgb=False).draw(sample_ids=range(20), epoch=0, size=(40, 30))
    assert drawn == mixed.draw(sample_ids=range(20), epoch=0, size=(40, 30))
    assert drawn == mixed.draw(sample_ids=range(20), epoch=0, size=(40, 30), channels=1)
    views = transform(STAGES["crop"], views=2)
    of_rgb = transform(STAGES["crop"], to_rgb=False, views=2)
    assert equal(views(images, sample_ids=IDS, epoch=0), of_rgb(converted(images), sample_ids=IDS, epoch=0))
    for again in copy.deepcopy(mixed), pickle.loads(pickle.dumps(mixed)), motley.Transform(mixed):
        assert again.policy.show().startswith(HEAD + "  - to_rgb: {}\n")
        assert equal(again(images, sample_ids=IDS, epoch=0), mixed(images, sample_ids=IDS, epoch=0))
    assert mixed != transform(STAGES["policy"], to_rgb=False)


def test_draws_of_grey_images_are_those_of_three_channels():
    images, mixed = [pictures()[0]] * 20, transform(STAGES["policy"])
    made, draws = mixed(images, sample_ids=range(20), epoch=0, return_draws=True)
    wanted, same = transform(STAGES["policy"], to_rgb=False)(
        converted(images), sample_ids=range(20), epoch=0, return_draws=True
    )
    assert draws == same and any(step.get("fill") == [250, 40, 90] for draw in draws for step in draw["steps"])
    assert equal(mixed.replay(images, json.loads(json.dumps(same))), made) and equal(made, wanted)
    followed = motley.Follow(mixed, following={}).replay({"image": images}, same)
    assert equal(followed["image"], wanted)


# ---- modules and loaders ----


def test_eval_keeps_it():
    images = pictures()
    centre = "  - resize: {size: 30}\n  - center_crop: {size: 28}\n"
    module = transform(centre + STAGES["flip"] + OUTPUT, TorchTransform)
    still = transform(centre + OUTPUT, to_rgb=False)
    assert equal(module.eval()(images), still(converted(images)))
    assert equal(
        transform(STAGES["jitter"], TorchTransform).eval()(images[0]),
        transform("  - resize: {size: [21, 34]}\n", to_rgb=False)(converted(images)[0]),
    )


# ---- what is refused without it ----


@pytest.mark.parametrize("images", [pictures, lambda: arrays(pictures()), lambda: tensors(pictures())])
@pytest.mark.parametrize("name", ["crop", "jitter"])
def test_without_it_a_mix_names_it(name, images):
    sentence = "^image 1 of the list has 3 channels, image 0 has 1: want one number of channels, or a transform that "
    refused(sentence + r"begins with 'to_rgb: \{\}'", transform(STAGES[name], to_rgb=False), images())


def test_without_it_one_grey_image_names_it():
    with pytest.raises(
        motley.ArgumentError,
        match=r"transform 'mixed' normalises 3 channels, the images have 1: begin "
        r"the stages with 'to_rgb: \{\}', or convert them first",
    ):
        transform(STAGES["crop"], to_rgb=False)(pictures()[0])


# ---- other modes of Pillow ----


def in_mode(mode):
    """A picture and what it is as RGB."""
    image = pictures()[1]
    if mode.startswith("I;16"):
        numbers = np.random.default_rng(3).integers(0, 65536, (8, 13), np.uint16)
        kind, data = mode.replace("I;16N", "I;16"), numbers.astype(">u2" if mode == "I;16B" else "<u2").tobytes()
        return PIL.Image.frombytes(kind, (13, 8), data), PIL.Image.fromarray((numbers >> 8).astype(np.uint8))
    if mode in ("PA", "RGBX", "RGBa", "YCbCr", "LAB", "HSV"):
        size = (8, 13, len(PIL.Image.new(mode, (1, 1)).getbands()))
        data = np.random.default_rng(3).integers(0, 256, size, np.uint8).tobytes()
        return (made := PIL.Image.frombytes(mode, (13, 8), data)), made.convert("RGB")
    made = image.convert(mode)
    return made, made.convert("RGB")


@pytest.mark.parametrize("mode", ["1", "P", "PA", "CMYK", "YCbCr", "LAB", "HSV", "RGBX", "RGBa", "I;16", "I;16B"])
def test_other_modes_are_taken_by_it_and_refused_without(mode):
    image, rgb = in_mode(mode)
    rgb, among = rgb.convert("RGB"), [pictures()[0], image, pictures()[3]]
    for name in ("nothing", "all", "policy"):
        mixed = transform(STAGES[name])
        wanted = transform(STAGES[name], to_rgb=False)(
            [*converted(among[:1]), rgb, *converted(among[2:])], sample_ids=[5, 6, 7], epoch=0
        )
        assert equal(mixed(among, sample_ids=[5, 6, 7], epoch=0), wanted) and equal(
            mixed(image, sample_ids=6, epoch=0), wanted[1]
        )
        assert equal(mixed(tuple(among), sample_ids=[5, 6, 7], epoch=0), wanted)
    views = motley.Transform(
        "motley: 1\nname: v\nviews: [{name: one, stages: [{to_rgb: {}}, {resize: {size: [9, 8]}}]}]\n"
    )
    assert equal(views([image, rgb])["one"], views([rgb, rgb])["one"]) and equal(views(image)["one"], views(rgb)["one"])
    mask = np.zeros(image.size[::-1], np.uint8)
    sample = motley.Follow(transform(STAGES["flip"]))({"image": image, "mask": mask}, sample_ids=6, epoch=0)
    assert equal(sample["image"], transform(STAGES["flip"])(rgb, sample_ids=6, epoch=0))
    refusal = f"mode {mode}, want L, LA, RGB, RGBA, I;16 or F: begin the policy's stages with 'to_rgb: {{}}', or"
    wide = mode == "I;16"  # taken as what it is
    refusal = "image 1 of the list is uint16, image 0 uint8: want one dtype, PIL images by" if wide else refusal
    for call in transform("", to_rgb=False), motley.RandAugment(), motley.Transform("dino"), motley.ops.invert:
        for images in [[rgb, image]] if wide else [image, [image], [rgb, image]]:
            refused(refusal, call, images)


@pytest.mark.parametrize("mode", ["I", "F"])
def test_modes_without_a_range_are_refused_with_it_too(mode):
    for call in transform(""), motley.RandAugment():
        want = f"mode {mode}, want L, LA, RGB, RGBA, I;16 or F: convert" if mode == "I" else "is float32, image 0 uint8"
        refused(want, call, [pictures()[0], PIL.Image.new(mode, (3, 3))])
