# SPDX-License-Identifier: Apache-2.0
"""uint16 and float32 of any number of bands through the package: the values of torchvision v2 and the moves of Pillow
by the recorded draws, whatever the library, layout and container; what is refused."""

import copy
import pathlib
import re
import types
import warnings

import numpy as np
import pytest
from conftest import refused

import motley
from motley import _arrays as arrays
from motley._calls import look_once
from motley.follow import Boxes, Mask, Points
from motley.policy import NO_AUGMENTATION

Image = pytest.importorskip("PIL.Image")
torch = pytest.importorskip("torch")
has_uint16 = hasattr(torch, "uint16")

DTYPES = ["float32", "uint16"]
PAGE = pathlib.Path(__file__).resolve().parents[3] / "doc" / "other-pixels.md"
IDS = {"sample_ids": list(range(8)), "epoch": 3}
MOVES = """motley: 1
name: moves
repeat: 3
bins: 31
level: uniform
fill: 51
ops: {rotate: {range: [-180, 180]}, shear_x: {range: [-0.9, 0.9]}, translate_y: {range: [-30, 30]},
      brightness: {range: [0.1, 1.9]}, solarize: {range: [0, 255]}, posterize: {range: [1, 8]}}
branches: [rotate, shear_x, translate_y, brightness, solarize, posterize, invert, auto_contrast, flip_lr]
"""
STAGES = """motley: 1
name: staged
stages:
  - random_resized_crop: {size: [24, 32]}
  - flip: {horizontal: 0.5}
  - policy: trivial_augment_wide
"""


def pictures(dtype, channels=13, count=8, height=40, width=52, seed=0):
    x = np.random.default_rng(seed).random((count, channels, height, width), "float32")
    x[:, :, :10] = 0.3
    return x if dtype == "float32" else (x * 65535).astype("uint16")


def tensor(x):
    return torch.from_numpy(x)


def same(ours, theirs):
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


# ---- values and moves ----


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 13, 268])
def test_a_sample_draws_the_same_whatever_its_type(channels):
    x = pictures("float32", channels, height=8, width=9)
    augment = motley.Transform("rand_augment", layout="chw")
    _, draws = augment(x, return_draws=True, **IDS)
    assert augment((x * 65535).astype("uint16"), return_draws=True, **IDS)[1] == draws
    if channels < 5:
        assert augment((x * 255).astype("uint8"), return_draws=True, **IDS)[1] == draws
    drawn = augment.draw(size=(8, 9), channels=channels if channels != 2 else 13, **IDS)
    if channels not in (2, 4):  # which are taken for alpha there
        assert drawn == draws


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("policy", ["trivial_augment_wide", STAGES])
def test_one_result_in_every_layout_and_container(dtype, policy):
    x = pictures(dtype)
    augment = motley.Transform(policy, layout="chw", seed=5)
    made = augment(x, **IDS)
    assert made.dtype == x.dtype and made.shape[:2] == x.shape[:2]
    hwc = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    same(augment(hwc, layout="hwc", **IDS).transpose(0, 3, 1, 2), made)
    same(augment(hwc.transpose(0, 3, 1, 2), **IDS), made)
    same(np.stack(augment(list(x), **IDS)), made)
    same(augment(x[3], sample_ids=3, epoch=3), made[3])
    out = np.zeros_like(made)
    assert augment(x, out=out, **IDS) is out
    same(out, made)
    if policy != STAGES:
        in_place = x.copy()
        assert augment.apply_(in_place, **IDS) is in_place
        same(in_place, made)
    if dtype == "float32" or has_uint16:
        result = motley.Transform(policy, seed=5)(tensor(x), **IDS)
        assert isinstance(result, torch.Tensor)
        same(result.numpy(), made)


def test_lists_of_mixed_sizes():
    sizes = [(20, 30), (31, 17), (40, 40)]
    x = [pictures("float32", 13, 1, h, w)[0] for h, w in sizes]
    augment = motley.Transform("rand_augment", layout="chw")
    made = augment(x, sample_ids=[4, 5, 6], epoch=0)
    for i, (one, result) in enumerate(zip(x, made)):
        same(augment(one, sample_ids=4 + i, epoch=0), result)
    refused("image 1 of the list is uint16, image 0 float32: want one dtype", augment, [x[0], x[1].astype("uint16")])


# ---- the range ----


def test_a_range_scales_what_is_done():
    x = pictures("float32", 5)
    reference = motley.Transform("trivial_augment_wide", layout="chw")(x, **IDS)
    wide = motley.Transform("trivial_augment_wide", layout="chw", range=(0, 1024))(x * 1024, **IDS)
    same(wide / 1024, reference)  # a power of two changes no rounding
    bands = [(0, 2.0**c) for c in range(5)]
    scale = np.array(bands, "float32")[:, 1, None, None]
    same(motley.Transform("trivial_augment_wide", layout="chw", range=bands)(x * scale, **IDS) / scale, reference)


def test_a_range_belongs_to_operations_too():
    x = pictures("float32", 5, 2) * 100
    same(motley.ops.invert(x, range=(0, 100), layout="chw"), np.float32(100) - x)
    bands = [(0, 100 + c) for c in range(5)]
    want = np.array(bands, "float32")[:, 1, None, None] - x
    same(motley.ops.invert(x, range=bands, layout="chw"), want)
    same(motley.ops.brightness(x, 2, range=(0, 100), layout="chw", clamp=False), x * 2)
    assert motley.ops.brightness(x, 2, range=(0, 100), layout="chw").max() == 100
    moved = motley.ops.translate_x(x, 400, fill=[1, 2, -3, 4, 1e6], layout="chw")
    assert (moved[0, :, 0, 0] == np.array([1, 2, -3, 4, 1e6], "float32")).all()
    refused("fill has 3 numbers, the images have 5 channels", motley.ops.rotate, x, 3, fill=[1, 2, 3], layout="chw")


def test_a_fill_in_the_datas_units():
    x = pictures("float32", 4)
    text = "motley: 1\nname: t\nbranches: [{op: translate_y, value: 400}]\n"
    made = motley.Transform(text, layout="chw", fill_value=[-9999, 0.5, 3, float(2**20)])(x)
    assert (made[0, :, 0, 0] == np.array([-9999, 0.5, 3, 2**20], "float32")).all()
    assert (motley.Transform(text, layout="chw", range=(-4, 4))(x) == -4).all()
    scaled = motley.Transform(text.replace("branches", "fill: 51\nbranches"), layout="chw", range=(-4, 4))(x)
    assert (scaled == np.float32(-4 + 51 / 255 * 8)).all()
    with pytest.raises(motley.ArgumentError, match="has a fill, but the images are of uint8"):
        motley.Transform(text, fill_value=3)(np.zeros((9, 9, 3), "uint8"))


def test_values_outside_of_the_range_are_told_once():
    x = np.random.default_rng(0).normal(size=(8, 13, 40, 52)).astype("float32")
    x[:, 4, 3] = np.nan
    augment = motley.Transform("rand_augment", layout="chw")
    with pytest.warns(
        UserWarning, match=r"^6[0-9.]+ % of the images' values lie outside of the range 0\.\.1: of 65536 "
    ):
        augment(x)
    quiet = [
        augment,
        motley.Transform("rand_augment", layout="chw", check=False),
        motley.Transform("rand_augment", layout="chw", range=(-3, 3), clamp=False),
        motley.Transform(STAGES.replace("  - policy: trivial_augment_wide\n", ""), layout="chw"),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for each in quiet:
            each(x)
        motley.ops.rotate(x, 3, layout="chw")
        few = np.where(np.arange(x.size).reshape(x.shape) % 150 == 0, x, 0.5)  # 0.3 % outside
        motley.Transform("rand_augment", layout="chw")(few.astype("float32"))
    for given in x, list(x):
        with pytest.warns(UserWarning, match="the least is -[0-9.]+ and the greatest [0-9.]+. Operations"):
            motley.ops.brightness(given, 1.1, layout="chw", threads=1 + isinstance(given, list))
    bits12 = np.random.default_rng(0).integers(0, 4096, (2, 5, 9, 9)).astype("uint16")
    with pytest.warns(UserWarning, match=r"range 0\.\.1023"):
        motley.Transform("rand_augment", layout="chw", range=(0, 1023))(bits12)
    with pytest.warns(UserWarning, match="range of their bands"):
        motley.Transform("rand_augment", layout="chw", range=[(0, 4095)] * 4 + [(0, 100)])(bits12)


@pytest.mark.parametrize("listed", [False, True])
def test_values_on_a_device_are_told_by_a_later_call(listed):
    """A stand-in for a tensor on CUDA: values arrive when the test says so."""
    told, arrived, capturing = "range 0..1: of 31200 that were looked at", [], [True]

    class OnDevice(arrays.Torch):
        sampled = staticmethod(lambda x, channels: (x[..., ::2] if channels == 1 else None, lambda: bool(arrived)))
        captures = staticmethod(lambda device: bool(capturing))

    def call(transform, times=1):
        for _ in range(times):
            look_once(transform, source, transform.policy)

    x = torch.rand(3, 13, 40, 40) * 9
    source = types.SimpleNamespace(kind=OnDevice, device=0, array=x, axes=(0, 1, 2, 3), layout="chw")
    source = types.SimpleNamespace(kind=OnDevice, device=0, first=source) if listed else source
    augment = motley.Transform("rand_augment")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(augment, 2)  # which a graph captures
        capturing.clear()
        call(augment, 2)
        copied = copy.deepcopy(augment)
    arrived.append(True)
    with pytest.warns(UserWarning, match=told):
        call(augment)
    assert not augment._looks[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(copied)
    with pytest.warns(UserWarning, match=told):
        call(copied)


# ---- normalised ----


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("made", ["float32", "float16"])
def test_a_result_is_normalised_in_the_datas_units(dtype, made):
    x = pictures(dtype)
    mean, std = np.random.default_rng(1).random((2, 13)).astype("float32") + 0.5
    for policy in "trivial_augment_wide", STAGES:
        plain = motley.Transform(policy, layout="chw")(x, **IDS).astype("float32")
        ours = motley.Transform(policy, layout="chw", mean=mean, std=std, dtype=made)(x, **IDS)
        same(ours, ((plain - mean[:, None, None]) / std[:, None, None]).astype(made))
    with pytest.raises(motley.ArgumentError, match="normalize has 3 numbers, the images have 13 channels"):
        motley.Transform("rand_augment", layout="chw", mean=(1, 2, 3), std=1)(x)
    one = motley.Transform(NO_AUGMENTATION, layout="chw", mean=30, std=2)(x)
    same(one, (x.astype("float32") - 30) / np.float32(2))


def test_numbers_of_a_file_are_those_of_bytes():
    stages = STAGES + "  - output: {mean: [0.5, 0.25, 0.125], std: [0.5, 0.25, 0.5]}\n"
    x = pictures("uint16", 3)
    plain = motley.Transform(STAGES, layout="chw", range=(0, 1024))(x, **IDS).astype("float32")
    mean, std = np.array([0.5, 0.25, 0.125], "float32") * 1024, np.array([0.5, 0.25, 0.5], "float32") * 1024
    ours = motley.Transform(stages, layout="chw", range=(0, 1024))(x, **IDS)
    same(ours, (plain - mean[:, None, None]) / std[:, None, None])
    bands = pictures("uint16", 13)
    with pytest.raises(motley.ArgumentError, match="normalises 3 channels, the images have 13: give mean and std"):
        motley.Transform(stages, layout="chw")(bands)
    ours = motley.Transform(stages, layout="chw", mean=[7] * 13, std=[2] * 13)(bands, **IDS)
    plain = motley.Transform(STAGES, layout="chw")(bands, **IDS).astype("float32")
    same(ours, (plain - 7) / np.float32(2))


def test_views_share_what_is_not_normalised():
    text = """motley: 1
name: two
stages: [random_resized_crop: {size: 24}]
views:
  - {name: first, stages: [flip: {horizontal: 0.5}]}
  - {name: rest, count: 2, stages: [policy: trivial_augment_wide]}
"""
    x = pictures("uint16")
    plain = motley.Transform(text, layout="chw")(x, **IDS)
    ours = motley.Transform(text, layout="chw", mean=[5] * 13, std=[3] * 13)(x, **IDS)
    assert plain["first"].dtype == "uint16" and plain["first"].shape == (8, 13, 24, 24) and len(plain["rest"]) == 2
    for a, b in zip([ours["first"], *ours["rest"]], [plain["first"], *plain["rest"]]):
        same(a, (b.astype("float32") - 5) / np.float32(3))


# ---- what goes with them ----


@pytest.mark.parametrize("stages", [False, True])
def test_what_follows_agrees_with_its_image(stages):
    """Masks to the pixel; boxes and points, which are those beside bytes."""
    moves = MOVES.replace("brightness, solarize, posterize, invert, auto_contrast, ", "")
    crop = "motley: 1\nname: t\nstages:\n  - random_resized_crop: {size: [24, 32], filter: nearest}\n"
    flips = "  - flip: {horizontal: 0.5, vertical: 0.5}\n"
    labels = np.random.default_rng(2).integers(1, 200, (8, 1, 40, 52)).astype("uint8")
    augment = motley.Transform(crop + flips if stages else moves, layout="chw", fill_value=0)
    kinds = {"mask": Mask(fill=0), "boxes": Boxes(min_area=4), "points": Points()}
    follow = motley.Follow(augment, kinds)
    corners = np.random.default_rng(4).integers(0, 40, (8, 5, 2, 2)).astype("float32")
    boxes = list(np.concatenate([corners.min(2), corners.max(2) + 2], 2))
    beside = {"mask": labels[:, 0], "boxes": boxes, "points": list(corners[:, 1:, 0])}
    made = follow({"image": labels.astype("float32"), **beside}, **IDS)
    same(made["image"][:, 0].astype("uint8"), made["mask"])
    bytes_follow = motley.Follow(motley.Transform(augment.policy, layout="chw"), kinds)
    wanted = bytes_follow({"image": labels, **beside}, **IDS)
    for key in "boxes", "points":
        for one, other in zip(made[key], wanted[key], strict=True):
            same(one, other)
        assert any(one.shape != before.shape or (one != before).any() for one, before in zip(made[key], beside[key]))
    assert made["mask"].shape == ((8, 24, 32) if stages else (8, 40, 52))
    assert stages or ((made["mask"] == 0).any() and (made["mask"] != labels[:, 0]).any())


# ---- kinds ----


@pytest.mark.parametrize("mode, dtype", [("F", "float32"), ("I;16", "uint16")])
def test_pil_images(mode, dtype):
    x = pictures(dtype, 1)[:, 0]
    images = [Image.frombytes(mode, each.shape[::-1], each.tobytes()) for each in x]
    for policy in "rand_augment", STAGES:
        augment = motley.Transform(policy)
        made, want = augment(images, **IDS), motley.Transform(policy, layout="hw")(x, **IDS)
        assert [image.mode for image in made] == [mode] * 8
        same(np.stack([np.asarray(image) for image in made]), want)
        same(np.asarray(augment(images[2], sample_ids=2, epoch=3)), want[2])
    if int(Image.__version__.split(".")[0]) > 11:  # older ones spoil I;16
        small = motley.ops.resize(images[0], (20, 13), filter="bicubic")
        same(np.asarray(small), np.asarray(images[0].resize((13, 20), Image.Resampling.BICUBIC)))
    refused(r"mode I, want .*: convert\('F'\) it", augment, images[0].convert("I"))


def test_a_subclass_of_tensors():
    class Meta(torch.Tensor):
        pass

    x = tensor(pictures("float32", 4))
    augment = motley.Transform("rand_augment")
    made = augment(x.as_subclass(Meta), **IDS)
    same(made.as_subclass(torch.Tensor).numpy(), augment(x, **IDS).numpy())


@pytest.mark.skipif(not has_uint16, reason="torch is older than uint16")
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_module(dtype):
    import motley.torch

    x = tensor(pictures(dtype))
    how = {"range": (0, 1) if dtype == "float32" else (0, 10000), "mean": [3.0] * 13, "std": [2.0] * 13}
    augment = motley.torch.Transform("trivial_augment_wide", memory_format=torch.channels_last, **how)
    made = augment(x, **IDS)
    assert made.is_contiguous(memory_format=torch.channels_last)
    same(made.numpy(), motley.Transform("trivial_augment_wide", layout="chw", **how)(x.numpy(), **IDS))
    same(augment.eval()(x).numpy(), (x.numpy().astype("float32") - 3) / np.float32(2))
    plain = motley.torch.Transform("rand_augment", memory_format=torch.channels_last, seed=1)
    other = plain(x, **IDS)
    assert other.dtype == x.dtype and other.is_contiguous(memory_format=torch.channels_last)
    with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode:
        for module, like in (augment, made), (plain, other):
            module.train()
            fake = module(mode.from_tensor(x), **IDS)
            assert (fake.dtype, fake.shape, fake.stride()) == (like.dtype, like.shape, like.stride())


# ---- refused ----


@pytest.mark.parametrize(
    "dtype, message",
    [
        ("int16", "dtype is int16, want uint8, uint16 or float32: add 32768 and cast them to uint16, or cast"),
        ("int32", "dtype is int32, want uint8, uint16 or float32: cast them to float32, and say range="),
        ("float64", "dtype is float64, want uint8, uint16 or float32: cast them to float32"),
        ("float16", "dtype is float16, want uint8, uint16 or float32: cast them to float32"),
        ("complex64", "dtype is complex64, want uint8, uint16 or float32: take their magnitude"),
        ("bool", "dtype is bool, want uint8, uint16 or float32: cast them to uint8 times 255"),
        (">u2", "dtype is >u2, want uint8, uint16 or float32: cast them to float32"),
    ],
)
@pytest.mark.parametrize("as_list", [False, True])
def test_other_dtypes_are_refused_with_the_remedy(dtype, message, as_list):
    x = np.zeros((2, 9, 9, 3), dtype)
    with pytest.raises(motley.ArgumentError) as error:
        motley.Transform("rand_augment")(list(x) if as_list else x)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "how, message",
    [
        ({"range": 3}, "range is 3, want (low, high), what stands for black and white"),
        ({"range": (1, 1)}, "range is (1, 1), want (low, high)"),
        ({"range": [(0, 1), (0,)]}, "want (low, high)"),
        ({"range": (0, float("nan"))}, "want (low, high)"),
        ({"range": [(0, 1), (0, 2)]}, "ranges is 2, want 1, or one for each of 13 channels"),
        ({"dtype": "uint8"}, "dtype is uint8, but the images are float32: want float32, float16 or bfloat16"),
        ({"alpha": True}, "alpha is True, but the images have 13 channels"),
    ],
)
def test_wrong_settings_are_refused(how, message):
    with pytest.raises(motley.ArgumentError) as error:
        motley.Transform("rand_augment", layout="chw", **how)(pictures("float32"))
    assert message in str(error.value)


def test_bytes_have_no_range():
    with pytest.raises(motley.ArgumentError, match="images of uint8 have no range"):
        motley.Transform("rand_augment", range=(0, 255))(np.zeros((9, 9, 3), "uint8"))


def test_a_layout_that_is_not_said_is_not_guessed():
    x = pictures("float32")  # chw, but arrays are hwc by default
    with pytest.raises(
        motley.ArgumentError, match="in layout 'hwc' is 52 channels, say layout='hwc' if that is so; is it"
    ):
        motley.Transform("rand_augment")(x)
    with pytest.raises(
        motley.ArgumentError, match="in layout 'chw' is 40 channels, say layout='chw' if that is so; is it"
    ):
        motley.Transform("rand_augment")(tensor(x).permute(0, 2, 3, 1))
    assert motley.Transform("rand_augment", layout="hwc")(x[:1]).shape == x[:1].shape
    with pytest.raises(motley.ArgumentError, match="is 1025 channels, want 1 to 1024"):
        motley.Transform("rand_augment", layout="hwc")(np.zeros((2, 2, 1025), "float32"))


# ---- built-in files for bands ----


@pytest.mark.parametrize("name", ["torchgeo_simclr", "torchgeo_moco_v2"])
def test_torchgeos_recipes(name):
    x = pictures("uint16", count=2, height=260, width=250)
    transform = motley.Transform(name, layout="chw", range=(0, 10000), mean=[3000] * 13, std=[1000] * 13, check=False)
    first, second = transform(x, sample_ids=[1, 2], epoch=0)["view"]
    assert first.shape == (2, 13, 224, 224) and first.dtype == np.float32 and (first != second).any()
    how = {"layout": "chw", "range": (0, 10000), "check": False}
    plain = motley.Transform(name, mean=0, std=1, **how)(x, sample_ids=[1, 2], epoch=0)["view"]
    same(first, (plain[0] - 3000) / np.float32(1000))
    same(motley.Transform(name, **how)(x, sample_ids=[1, 2], epoch=0)["view"][1], plain[1] / np.float32(10000))


def test_the_list_for_bands_needs_no_colours():
    x = pictures("float32", 5, 200, 8, 9)
    _, draws = motley.Transform("trivial_augment_bands", layout="chw", seed=1)(x, return_draws=True)
    drawn = {step["op"] for steps in draws for step in steps}
    assert len(drawn) == 12 and not drawn & {"color", "posterize", "solarize", "equalize", "invert", "auto_contrast"}


# ---- the lines of doc/other-pixels.md ----


@pytest.mark.skipif(not has_uint16, reason="torch is older than uint16")
def test_lines_of_the_page():
    import motley.torch

    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    bands = pictures("uint16", 13, 2) // 8
    labels = torch.from_numpy(np.random.default_rng(1).integers(0, 9, (2, 40, 52)))
    names = {
        "motley": motley,
        "torch": torch,
        "M13": [1000.0] * 13,
        "S13": [500.0] * 13,
        "images": tensor(bands),
        "pixels": bands // 4,
        "batch": {"image": tensor(bands), "mask": labels},
        "source": types.SimpleNamespace(read=lambda: bands[0]),
        "tifffile": types.SimpleNamespace(imread=lambda path: bands[0].transpose(1, 2, 0).copy()),
        "path": "image.tif",
        "monai_batch": {
            "image": tensor(pictures("float32", 4, 2)).as_subclass(type("MetaTensor", (torch.Tensor,), {}))
        },
        "decoder": tensor(pictures("float32", 3, 8)),
    }
    exec(blocks[0], names)
    assert names["batch"].dtype == torch.float32 and names["pixels"].dtype == np.uint16
    names["batch"] = {"image": tensor(bands), "mask": labels}
    names["pixels"] = (bands[0, 0] // 4).astype("int16")
    exec(blocks[1], names)
    assert names["batch"]["image"].shape == (2, 13, 40, 52) and names["batch"]["mask"].dtype == torch.int64
    assert names["image"].shape == (40, 52, 13) and names["image"].dtype == np.float32
    assert names["images"].shape == (2, 4, 40, 52) and names["frames"].shape == (8, 3, 40, 52)
    assert names["scan"].dtype == np.uint16 and names["scan"].max() <= 4095
