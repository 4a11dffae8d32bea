# SPDX-License-Identifier: Apache-2.0
"""motley.Transform and motley.ops.resize: every kind of image, draws out and in, and what is refused."""

import copy
import pickle
import re

import numpy as np
import PIL
import PIL.Image
import pytest

import motley
from motley import _calls, _native, ops
from motley._resize import order_of

torch = pytest.importorskip("torch")
from conftest import needs_shown, cuda, refused  # noqa: E402

from motley.torch import Transform as TorchTransform  # noqa: E402

ORDER = order_of(PIL.__version__)
TEXT = """motley: 1
name: mine
stages:
  - random_resized_crop: {size: [20, 24], filter: [bilinear, bicubic]}
  - flip: {horizontal: 0.5}
  - policy: rand_augment
  - jitter: {hue: 0.2, contrast: 0.3}
  - output: {mean: [0.5, 0.4, 0.3], std: [0.2, 0.25, 0.3]}
  - erase: {p: 0.5, boxes: [1, 3], value: pixel}
"""
BYTES = '{"motley": 1, "name": "small", "stages": [{"resize": {"size": [20, 30]}}, {"flip": {"horizontal": 0.5}}]}'


@pytest.fixture
def photographs():
    random = np.random.default_rng(5)
    return [random.integers(0, 256, (40 + 9 * i, 80 - 7 * i, 3), np.uint8) for i in range(6)]


def tensors(arrays):
    return [torch.from_numpy(x).permute(2, 0, 1) for x in arrays]


def test_files_take_the_long_names_of_dtypes():
    text = "motley: 1\nname: x\nstages:\n  - output: {type: float16}\n"
    assert motley.Policy(text).show() == text.replace("float16", "f16")


def test_all_kinds_of_images_give_the_same(photographs):
    transform = motley.Transform(TEXT, seed=9)
    ids = [5, 3, 2, 900, 7, 1 << 40]
    batch = transform(photographs, sample_ids=ids, epoch=0)
    assert batch.shape == (6, 3, 20, 24) and batch.dtype == np.float32
    assert np.array_equal(transform(list(map(PIL.Image.fromarray, photographs)), sample_ids=ids, epoch=0), batch)
    of_torch = transform(tensors(photographs), sample_ids=torch.tensor(ids), epoch=0)
    assert isinstance(of_torch, torch.Tensor) and np.array_equal(of_torch.numpy(), batch)
    for i, image in enumerate(photographs):
        assert np.array_equal(transform(image, sample_ids=ids[i], epoch=0), batch[i])
    one_size = np.stack([photographs[0]] * 4)
    wanted = transform([photographs[0]] * 4, sample_ids=range(4), epoch=0)
    assert np.array_equal(transform(one_size, sample_ids=range(4), epoch=0), wanted)
    assert not np.array_equal(wanted[0], wanted[1])


def test_what_is_written(photographs):
    first = motley.Transform(TEXT)(photographs, sample_ids=range(6), epoch=0)
    hwc = motley.Transform(TEXT, output_layout="hwc")(photographs, sample_ids=range(6), epoch=0)
    assert np.array_equal(hwc, first.transpose(0, 2, 3, 1))
    last = motley.Transform(TEXT, memory_format=torch.channels_last)(tensors(photographs), sample_ids=range(6), epoch=0)
    assert last.is_contiguous(memory_format=torch.channels_last) and np.array_equal(last.numpy(), first)
    half = motley.Transform(TEXT, dtype=torch.float16)(photographs, sample_ids=range(6), epoch=0)
    assert half.dtype == np.float16 and np.array_equal(half, first.astype(np.float16))
    out = np.empty_like(first)
    assert motley.Transform(TEXT)(photographs, sample_ids=range(6), epoch=0, out=out) is out and np.array_equal(
        out, first
    )


def test_without_an_output_stage_images_stay_images(photographs):
    transform = motley.Transform(BYTES)
    pictures = [PIL.Image.fromarray(x) for x in photographs]
    made = transform(pictures, sample_ids=range(6), epoch=0)
    assert isinstance(made, list) and {(x.mode, x.size) for x in made} == {("RGB", (30, 20))}
    batch = transform(photographs, sample_ids=range(6), epoch=0)
    assert batch.shape == (6, 20, 30, 3) and np.array_equal(np.stack(list(map(np.asarray, made))), batch)
    assert transform(tensors(photographs)).shape == (6, 3, 20, 30)
    own_sizes = motley.Transform('{"motley": 1, "name": "flips", "stages": [{"flip": {"horizontal": 1}}]}')
    for image, flipped in zip(photographs, own_sizes(photographs)):
        assert np.array_equal(flipped, image[:, ::-1])
    for mode in ("L", "LA", "RGBA"):
        assert transform(pictures[0].convert(mode)).mode == mode


def test_draws_out_and_in(photographs):
    transform = motley.Transform(TEXT, seed=2)
    batch, draws = transform(photographs, sample_ids=range(6), epoch=0, return_draws=True)
    assert transform.draw(sample_ids=[0], epoch=0, size=(40, 80)) == [draws[0]]
    assert any("erase" in draw for draw in draws) and all(len(draw["steps"]) == 4 for draw in draws)
    assert np.array_equal(motley.Transform(TEXT, seed=77).replay(photographs, draws), batch)
    one, draw = transform(photographs[3], sample_ids=3, epoch=0, return_draws=True)
    assert draw == draws[3] and np.array_equal(transform.replay(photographs[3], draw), one)
    changed = copy.deepcopy(draws[:1])
    changed[0]["crop"] = {"left": 0, "top": 0, "width": 24, "height": 20}
    changed[0]["flip"]["horizontal"], changed[0]["steps"] = False, []
    changed[0].pop("erase", None)
    plain = photographs[0][:20, :24].astype(np.float32) / np.float32(255)
    wanted = (plain - np.float32([0.5, 0.4, 0.3])) / np.float32([0.2, 0.25, 0.3])
    assert np.array_equal(transform.replay(photographs[:1], changed)[0], wanted.transpose(2, 0, 1))


def test_draws_of_another_transform_or_size_are_refused(photographs):
    batch = np.stack([photographs[0]] * 2)
    transform = motley.Transform(TEXT, seed=2)
    drawn, follow = transform(batch, return_draws=True)[1], motley.Follow(transform, {})
    stored = [dict(draw) for draw in drawn]  # as JSON brings them back: they record neither
    larger, other = np.zeros((2, 50, 90, 3), np.uint8), motley.Transform(TEXT.replace("name: mine", "name: other"))
    for draws in (drawn, copy.deepcopy(drawn), [{**x, "size": [80, 40], "policy": "mine"} for x in stored]):
        transform.replay(batch, draws)
        for replay in (transform.replay, lambda x, draws: follow.replay({"image": x}, draws)):
            refused("made for 80 x 40 pixels, the image has 90 x 50", replay, larger, draws)
        refused("image 0 are of policy 'mine', want those of 'other'", other.replay, batch, draws)
    assert len(other.replay(larger, stored)) == 2
    (draw,) = transform.draw(sample_ids=[3], epoch=0, size=(40, 80))
    refused("made for 80 x 40", transform.replay, larger[0], draw)


def test_equal_pickled_and_shown(photographs, tmp_path):
    transform = motley.Transform("torchvision_train", seed=3)
    again = pickle.loads(pickle.dumps(transform))
    assert again.policy == transform.policy and again._kept() == transform._kept()
    assert repr(transform) == "Transform(policy=<motley.Policy torchvision_train>, seed=3)"
    path = tmp_path / "mine.yaml"
    path.write_text(transform.policy.show())
    assert motley.Transform(path).policy == transform.policy
    assert set(motley.Policy.names()) >= {"torchvision_train", "timm_train", "simclr"}
    assert motley.Transform("timm_eval").size == (224, 224)


@pytest.mark.parametrize(
    "arguments, why",
    [
        (dict(sample_ids=[1, 2], epoch=0), "sample_ids has 2 numbers, there are 6 images"),
        (dict(sample_ids=np.arange(6) - 1, epoch=0), "sample_ids has a negative number"),
        (
            dict(out=np.empty((6, 3, 20, 25), np.float32)),
            r"out has shape \(6, 3, 20, 25\), want an array of shape \(6, 3",
        ),
        (dict(out=np.empty((6, 3, 20, 24))), "out is float64, want float32"),
        (dict(out=[]), "out is a list"),
        (dict(layout="chw"), "image 1 of the list has .* channels, image 0 has"),
    ],
)
def test_calls_that_are_refused(photographs, arguments, why):
    refused(why, motley.Transform(TEXT), photographs, **arguments)


def test_more_that_is_refused(photographs):
    transform = motley.Transform(TEXT)
    for images, why in (
        ([x.astype(np.int32) for x in photographs], "the images' dtype is int32, want uint8"),
        ([photographs[0], photographs[0][..., :1]], "image 1 of the list has 1 channels, image 0 has 3"),
        (photographs[0][..., 0], "normalises 3 channels, the images have 1"),
        (np.zeros((4, 0, 3), np.uint8), "want pixels"),
        ("image.png", "images are a builtins.str"),
    ):
        refused(why, transform, images)
    refused("cannot work in place", transform.apply_, photographs)
    rgb = PIL.Image.fromarray(photographs[0])
    for mode in ("L", "LA", "RGBA"):
        for images in (rgb.convert(mode), [rgb, rgb.convert(mode)]):
            refused(r'channels.*\.convert\("RGB"\)', transform, images)
    own = motley.Transform("motley: 1\nname: a\nstages: [flip: {horizontal: 0.5}]\n", dtype="float32")(photographs)
    assert [image.shape for image in own] == [image.shape for image in photographs]
    refused("did you mean (the transform )?'torchvision_train'", motley.Transform, "torchvision_trian")
    with pytest.raises(motley.PolicyError) as found:
        motley.Transform(TEXT.replace("erase: {p: 0.5", "erase: {p: 1.5"))
    assert found.value.problems[0][:2] == (9, 16)
    draws = transform(photographs, sample_ids=range(6), epoch=0, return_draws=True)[1]
    for wrong, why in (
        ([], "draws has 0 entries, there are 6"),
        ([{}] * 6, 'draws of image 0: "(steps|crop)" is missing'),
        ([draws[0]["steps"]] * 6, "draws of image 0 are .*, want the object"),
        ([{**draws[0], "sample": np.int64(3)}] * 6, "draws of image 0: .*not JSON serializable"),
    ):
        refused(why, transform.replay, photographs, wrong, error=(motley.ArgumentError, motley.PolicyError))
    draws[2]["crop"]["left"] = 70
    out = np.full((6, 3, 20, 24), 7, np.float32)
    refused("image 2: the given crop of .* leaves the image of 66x58", transform.replay, photographs, draws, out=out)
    assert (out == 7).all()


# ---- resize ----

FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # PIL.Image.Resampling


def test_each_pillow_has_its_order():
    orders = [order_of(version) for version in ("9.4.0", "12.1.1", "12.2.0", "12.3.1", "13.0.0", "14.1.0.dev0")]
    assert orders == ["pillow-12"] * 2 + ["pillow-12.2"] * 2 + ["pillow-13"] * 2


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA"])
def test_resize_is_pillows(photographs, filter, mode):
    pictures = [PIL.Image.fromarray(x).convert("RGBA").convert(mode) for x in photographs]
    made = ops.resize(pictures, (33, 21), filter=filter, order=ORDER)
    for image, picture in zip(pictures, made):
        assert np.array_equal(np.asarray(picture), np.asarray(image.resize((21, 33), FILTERS.index(filter))))
    crops = [(3, 2, 20 + i, 15 + i) for i in range(6)]
    made = ops.resize(photographs, (9, 8), filter=FILTERS.index(filter), crop=crops, flip=[0, 1] * 3, order=ORDER)
    for i, (x, (left, top, width, height)) in enumerate(zip(photographs, crops)):
        image = (
            PIL.Image.fromarray(x).crop((left, top, left + width, top + height)).resize((8, 9), FILTERS.index(filter))
        )
        assert np.array_equal(made[i], np.asarray(image)[:, :: -1 if i % 2 else 1])
    box = (1.5, 2.25, 30.0, 31.5)
    for x, y in zip(photographs, ops.resize(photographs, (9, 8), filter=filter, box=box, order=ORDER)):
        assert np.array_equal(y, np.asarray(PIL.Image.fromarray(x).resize((8, 9), FILTERS.index(filter), box)))


@pytest.mark.parametrize("filter", FILTERS)
def test_a_crop_beyond_the_image_is_that_of_a_padded_one(photographs, filter):
    transform = motley.Transform(
        f"motley: 1\nname: a\nstages: [resize: {{size: [33, 21], filter: {filter}, order: {ORDER}}}]\n"
    )
    draws = transform(photographs, sample_ids=range(6), epoch=0, return_draws=True)[1]
    random = np.random.default_rng(3)
    for _ in range(20):
        for draw in draws:
            left, top = (int(v) for v in random.integers(-60, 60, 2))
            width, height = (int(v) for v in random.integers(1, 200, 2))
            draw.update(crop={"left": left, "top": top, "width": width, "height": height}, beyond=True)
            draw["flip"]["horizontal"] = bool(random.integers(2))
        for draw, x, made in zip(draws, photographs, transform.replay(photographs, draws)):
            c = draw["crop"]
            box = (c["left"], c["top"], c["left"] + c["width"], c["top"] + c["height"])
            image = PIL.Image.fromarray(x).crop(box).resize((21, 33), FILTERS.index(filter))  # crop() pads with 0
            assert np.array_equal(made, np.asarray(image)[:, :: -1 if draw["flip"]["horizontal"] else 1])
    draws[2]["crop"]["left"] = -(1 << 21)
    refused("image 2: the given crop of .* want at most 1048576 pixels", transform.replay, photographs, draws)


@pytest.mark.parametrize(
    "stages, why",
    [
        ("zoom_out: {fill: [1, 2]}\n  - resize: {size: [4, 4]}", "'fill' lists 2 numbers"),
        ("zoom_out: {fill: 1.5}\n  - resize: {size: [4, 4]}", "'fill' has 1.5, want whole numbers"),
        ("zoom_out: {side: [0.5, 2]}\n  - resize: {size: [4, 4]}", "'side'"),
    ],
)
def test_zoom_out_that_is_refused(stages, why):
    refused(re.escape(why), motley.Policy, f"motley: 1\nname: a\nstages:\n  - {stages}\n", error=motley.PolicyError)


def test_chains_in_a_list(photographs):
    text = "motley: 1\nname: a\nstages:\n  - one_of: [{stages: [{policy: augmix}]}, {stages: [{grayscale: {}}]}]\n"
    transform, alone = motley.Transform(text, seed=5), motley.Transform("augmix", seed=5)
    kinds = set()
    for i, x in enumerate(photographs * 4):
        made, draw = transform(x, sample_ids=i, epoch=0, return_draws=True)
        grey = [step["op"] for step in draw["steps"]] == ["grayscale"]
        kinds.add(grey)
        wanted = motley.ops.grayscale(x) if grey else alone(x, sample_ids=i, epoch=0)
        assert np.array_equal(made, wanted) and np.array_equal(made, transform.replay(x, draw))
    assert kinds == {False, True}


def test_a_weight_that_changes_with_the_epoch(photographs):
    """A closing epoch by the weights of a one_of: from epoch 2 on nothing is drawn."""
    text = (
        "motley: 1\nname: a\nstages:\n  - one_of: [{weight: {from: [[0, 1], [2, 0]]}, stages: [{grayscale: {}}]}, "
        "{weight: {from: [[0, 0], [2, 1]]}, stages: []}]\n"
    )
    transform = motley.Transform(text, seed=5)
    for epoch in range(4):
        made = transform(photographs, sample_ids=range(6), epoch=epoch)
        for x, y in zip(photographs, made):
            assert np.array_equal(x, y) == (epoch > 1)


def test_resizes_of_one_image_after_another(photographs):
    """By calls that are kept: other pixels, sizes, filters and kinds of images in turns."""
    numbers = np.random.default_rng(5)
    tall, wide = (40, 31), (31, 40)
    smaller, larger = (12, 17), (90, 80)
    cases = [(tall, smaller, "bilinear"), (tall, smaller, "nearest"), (wide, smaller, "box"), (wide, larger, "box")]
    for _ in range(2):
        for (height, width), size, filter in cases:
            array = numbers.integers(0, 256, (height, width, 3), np.uint8)
            picture = PIL.Image.fromarray(array)
            want = np.asarray(picture.resize(size[::-1], FILTERS.index(filter)))
            how = {"filter": filter, "order": ORDER}
            made = ops.resize(picture, size, **how)
            assert made.mode == "RGB" and np.array_equal(np.asarray(made), want)
            assert np.array_equal(ops.resize(array, size, **how), want)
            assert np.array_equal(ops.resize(array[::-1], size, **how), ops.resize(array[::-1].copy(), size, **how))
            planes = torch.from_numpy(array).permute(2, 0, 1)
            assert np.array_equal(ops.resize(planes, size, **how).permute(1, 2, 0).numpy(), want)
            refused("want uint8", ops.resize, array.astype(np.int32), size, **how)
            refused("size is", ops.resize, array, (float(size[0]), size[1]), **how)
            assert ops.resize(array[None][:0], size, **how).shape == (0, *size, 3)
            assert ops.resize(array[None][:0], 4, **how).shape[0] == 0


def test_resize_to_the_shorter_side(photographs):
    made = ops.resize(tensors(photographs), 16)
    for x, y in zip(photographs, made):
        height, width = x.shape[:2]
        short = (int(16 * height / width), 16) if width <= height else (16, int(16 * width / height))
        assert tuple(y.shape) == (3, *short)
    out = np.empty((7, 9, 3), np.uint8)
    assert ops.resize(photographs[0], (7, 9), out=out) is out and out.any()
    assert ops.resize([], 4) == []


@pytest.mark.parametrize(
    "arguments, why",
    [
        (dict(size=0), "size is 0, want"),
        (dict(size=(4, 5, 6)), r"size is \(4, 5, 6\)"),
        (dict(size=(4, 5), crop=(0, 0, 0, 0)), "crop is empty"),
        (dict(size=(4, 5), crop=(0, 0, 100, 5)), "crop 0: 100x5 at .* leaves the image of 80x40"),
        (dict(size=(4, 5), crop=[(0, 0, 1, 1)] * 2), "want .*, or a row for each of 6 images"),
        (dict(size=(4, 5), crop=(0, 0, 1.5, 1)), "want .left, top, width, height."),
        (dict(size=(4, 5), box=(0, 0, 0, 9)), "box 0: .* is empty"),
        (dict(size=(4, 5), flip=[True]), "flip has 1 values, there are 6"),
        (dict(size=(4, 5), filter="bilinaer"), "filter is 'bilinaer', want one of"),
        (dict(size=(4, 5), order="pillow"), "order is 'pillow'"),
        (dict(size=(4, 5), out=np.empty((4, 5, 3), np.uint8)), "want an array of shape"),
    ],
)
def test_resizes_that_are_refused(photographs, arguments, why):
    size = arguments.pop("size")
    refused(why, ops.resize, photographs, size, **arguments)


# ---- in torch's loops ----


def test_module(photographs):
    module = TorchTransform(TEXT, seed=3, memory_format=torch.channels_last)
    wanted = motley.Transform(TEXT, seed=3)(photographs, sample_ids=range(6), epoch=0)
    for images in (photographs, tensors(photographs), [PIL.Image.fromarray(x) for x in photographs]):
        made = module(images, sample_ids=torch.arange(6), epoch=0)
        assert isinstance(made, torch.Tensor) and made.is_contiguous(memory_format=torch.channels_last)
        assert np.array_equal(made.numpy(), wanted)
    first, second = module(photographs[:3]), module(photographs[3:])
    assert module._words.count == 6 and np.array_equal(torch.cat([first, second]).numpy(), wanted)
    again = TorchTransform(TEXT)
    again.load_state_dict(module.state_dict())
    assert again.seed == 3 and np.array_equal(again(photographs).numpy(), module(photographs).numpy())
    made, draws = module(photographs, sample_ids=range(6), epoch=0, return_draws=True)
    assert np.array_equal(module.replay(photographs, draws).numpy(), made.numpy())
    a, b = TorchTransform(TEXT, views=2, seed=3)(photographs, sample_ids=range(6), epoch=0)
    assert np.array_equal(a.numpy(), wanted) and not torch.equal(a, b)
    core = motley.Transform(TEXT, seed=4, views=2, clip_frames=4, dtype="float16")
    assert TorchTransform(core)._kept() == core._kept() == motley.Transform(TorchTransform(core))._kept()
    assert TorchTransform(core).seed == 4
    refused("2 arguments by position", module, photographs, range(6), error=TypeError)
    refused("seed is 5, but the Transform that is given has seed=4", TorchTransform, core, seed=5)


STILL = """motley: 1
name: still
profile: timm
stages:
  - resize: {size: 30}
  - center_crop: {size: [20, 24]}
  - output: {mean: [0.5, 0.4, 0.3], std: [0.2, 0.25, 0.3]}
"""
DRAWS = """  - flip: {horizontal: 0.5}
  - policy:
      branches:
        - invert
        - {op: rotate, value: 20}
  - policy: rand_augment
  - jitter: {hue: 0.2, contrast: 0.3}
  - grayscale: {p: 0.5}
  - blur: {radius: [1, 2]}
"""
AT_RANDOM = STILL.replace("  - output", DRAWS + "  - output") + "  - erase: {p: 0.9}\n"


@pytest.mark.parametrize("mixes", [False, True])
def test_eval_draws_nothing(photographs, mixes):
    """What Lightning, and any train() and eval(), rely on."""
    text = AT_RANDOM + "  - mix: {mixup: 1, classes: 10}\n" * mixes
    labels = {"labels": torch.arange(6)} if mixes else {}
    module = TorchTransform(text, seed=3, views=2 - mixes, memory_format=torch.channels_last)
    wanted = motley.Transform(STILL)(photographs)
    trained = module(photographs, sample_ids=range(6), epoch=0, **labels)
    holder = torch.nn.Sequential(module).eval()
    state = copy.deepcopy(holder.state_dict())
    for images in (photographs, tensors(photographs), [PIL.Image.fromarray(x) for x in photographs]):
        for ids in (None, range(6), range(6)):
            made, other = module(images, sample_ids=ids, **labels)  # two views are two, drawn or not
            assert other is labels["labels"] if mixes else torch.equal(other, made)
            assert isinstance(made, torch.Tensor) and made.is_contiguous(memory_format=torch.channels_last)
            assert np.array_equal(made.numpy(), wanted)
    assert np.array_equal(module(photographs[0], out=torch.zeros(3, 20, 24), views=1).numpy(), wanted[0])
    made, *_, draws = module(photographs, sample_ids=range(6), return_draws=True, views=1, **labels)
    assert np.array_equal(made.numpy(), wanted) and not any(draw["steps"] for draw in draws)
    if not mixes:
        with pytest.raises(motley.ArgumentError, match="labels are given, but policy 'still' has no stage 'mix'"):
            module(photographs, sample_ids=range(6), epoch=0, labels=range(6))
    assert all(map(torch.equal, holder.state_dict().values(), state.values())), "no sample was counted"
    holder.train()
    for a, b in zip(trained, module(photographs, sample_ids=range(6), epoch=0, **labels)):
        assert torch.equal(a, b)
    assert not np.array_equal(trained[0].numpy(), wanted)


def test_eval_of_policies_and_of_what_changes_all_images(photographs):
    policy = TorchTransform("rand_augment").eval()
    assert np.array_equal(policy(tensors(photographs[:1])[0]).numpy(), tensors(photographs[:1])[0].numpy())
    assert all(np.array_equal(a, b) for a, b in zip(policy(tensors(photographs)), tensors(photographs)))
    normalised = TorchTransform("rand_augment", normalize=(0.5, 0.25)).eval()(tensors(photographs[:1])[0])
    assert torch.equal(normalised, (tensors(photographs[:1])[0] / 255 - 0.5) / 0.25)
    grey = STILL.replace("  - output", "  - grayscale: {p: 1}\n  - output")
    assert np.array_equal(TorchTransform(grey).eval()(photographs).numpy(), motley.Transform(grey)(photographs))
    only = TorchTransform("motley: 1\nname: only\nstages:\n  - flip: {vertical: 1}\n").eval()
    assert np.array_equal(only(tensors(photographs)[0]), tensors(photographs)[0])


def test_eval_of_a_random_crop_is_refused(photographs):
    for text, crop, instead in [
        ("torchvision_train", "random_resized_crop", "torchvision_eval"),
        ("timm_train", "random_resized_crop", "timm_eval"),
        ("motley: 1\nname: a\nstages:\n  - random_crop: {size: 32}\n", "random_crop", "torchvision_eval"),
    ]:
        module = TorchTransform(text).eval()
        wanted = rf"in eval\(\): its stage '{crop}' .*Transform\('{instead}'\)"
        refused(wanted, module, photographs, sample_ids=range(6), epoch=0, error=motley.UnsupportedError)
        assert len(module.train()(photographs, sample_ids=range(6), epoch=0)) == 6
    for name in ("torchvision_eval", "timm_eval"):
        module = TorchTransform(name)
        assert torch.equal(module(photographs), module.eval()(photographs))


def test_followers_in_eval(photographs):
    """A mask stays on its image."""
    image = photographs[0]
    sample = {"image": image, "mask": image[..., 0].copy()}
    pictures = STILL[: STILL.index("  - output")] + "  - flip: {horizontal: 1}\n  - policy: rand_augment\n"
    follow = motley.Follow(TorchTransform(pictures, views=2))
    assert len(follow(sample)) == 2
    follow.transform.eval()
    made, other = follow(sample)
    assert np.array_equal(made["mask"], other["mask"])
    wanted = motley.Transform(pictures[: pictures.index("  - flip")])(image)
    assert np.array_equal(made["image"], wanted) and made["mask"].shape == (20, 24)
    nearest = motley.Follow(motley.Transform(pictures[: pictures.index("  - flip")]))(sample)["mask"]
    assert np.array_equal(made["mask"], nearest)


def test_an_empty_list_through_a_transform_without_a_size():
    flips = motley.Transform('{"motley": 1, "name": "t", "stages": [{"flip": {"horizontal": 0.5}}]}')
    assert flips([]) == [] and flips(()) == ()
    assert flips(np.zeros((0, 4, 5, 3), np.uint8)).shape == (0, 4, 5, 3)


@pytest.mark.parametrize("text", [TEXT, BYTES])
@pytest.mark.parametrize("kind", ["array", "tensor", "picture"])
def test_a_loop_prepares_one_call(kind, text, photographs, monkeypatch):
    """Of images of one shape and kind; its results are those of a list of the same images."""
    made = []
    monkeypatch.setattr(_native.local, "calls", {})
    let_go = _calls.Call.for_any_pixels
    monkeypatch.setattr(_calls.Call, "for_any_pixels", lambda self, *how: made.append(self) or let_go(self, *how))
    transform, first = motley.Transform(text, seed=3), photographs[0]
    tensor = lambda x: torch.from_numpy(x).permute(2, 0, 1)  # noqa: E731
    like = {"array": np.asarray, "tensor": tensor, "picture": PIL.Image.fromarray}
    stacked = np.stack if kind != "tensor" else torch.stack
    for number in range(4):
        image = like[kind](np.roll(first, number, 0))
        alone, [listed] = transform(image, sample_ids=number, epoch=1), transform([image], sample_ids=[number], epoch=1)
        assert type(alone) is type(listed) and np.array_equal(np.asarray(alone), np.asarray(listed))
        if kind != "picture":
            out = stacked([alone, alone]) * 0
            assert transform(stacked([image, image]), sample_ids=[number, number], epoch=1, out=out) is out
            assert np.array_equal(out[0], alone) and np.array_equal(out[1], alone)
    needs_shown(image)
    lists = kind != "picture" or text is TEXT  # those that come out in one array
    assert len(made) == len(_native.local.calls) == lists + (1 if kind == "picture" else 2)


def test_a_kept_call_is_of_its_transform(photographs):
    """Transforms and policies of one name and shape have calls of their own, as do given draws and new ones."""
    text = '{{"motley": 1, "name": "x", "stages": [{{"resize": {{"size": [20, 30], "filter": "{}"}}}}]}}'
    image = photographs[0]
    for _ in range(2):
        for name in ("bilinear", "nearest"):
            made, draws = motley.Transform(text.format(name))(image, sample_ids=0, epoch=0, return_draws=True)
            assert np.array_equal(made, ops.resize(image, (20, 30), filter=name))
            assert np.array_equal(motley.Transform(text.format(name)).replay(image, draws), made)
        for op in ("invert", "equalize"):
            stage = motley.Transform(f'{{"motley": 1, "name": "x", "branches": ["{op}"]}}')
            assert np.array_equal(stage(image), getattr(ops, op)(image))
            assert np.array_equal(ops.rotate(image, 90.0, fill=9), ops.rotate(image, [90.0], fill=[9]))
            assert np.array_equal(stage.replay(image, stage.draw(1, size=image.shape[:2])[0]), stage(image))


@cuda
def test_the_device_reads_its_counter(photographs):
    on_cpu, on_gpu = TorchTransform(TEXT, seed=4), TorchTransform(TEXT, seed=4).cuda()
    images = tensors(photographs)
    there = [image.cuda() for image in images]
    out = on_gpu(there)
    assert torch.equal(out.cpu(), on_cpu(images))
    for epoch in (0, 1):
        for one in (on_cpu, on_gpu):
            one.set_epoch(epoch)
        for _ in range(2):
            torch.cuda.set_sync_debug_mode("error")
            try:
                made = on_gpu(there)
            finally:
                torch.cuda.set_sync_debug_mode("default")
            assert torch.equal(made.cpu(), on_cpu(images))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        on_gpu(there, out=out)
    seen = [made.cpu().numpy().tobytes()]
    for _ in range(3):  # a graph counts on the device
        graph.replay()
        seen.append(out.cpu().numpy().tobytes())
    assert len({*seen}) == 4


# ---- lists, one after the other ----


def of_sizes(*sizes, channels=3, seed=0):
    random = np.random.default_rng(seed)
    return [random.integers(0, 256, (h, w, channels), np.uint8) for h, w in sizes]


KINDS = {
    "arrays": lambda images: images,
    "tensors": lambda images: [torch.from_numpy(np.ascontiguousarray(x.transpose(2, 0, 1))) for x in images],
    "pictures": lambda images: [PIL.Image.fromarray(x if x.shape[2] > 1 else x[..., 0]) for x in images],
}
LISTS = [
    of_sizes((50, 60), (80, 90), (33, 41)),
    of_sizes((70, 31), (36, 120), (64, 64), seed=1),
    of_sizes((5, 6), (80, 90)),
    of_sizes((70, 31), (36, 120), (64, 64), seed=2),
    of_sizes((50, 60), (80, 90), (33, 41), channels=1, seed=3),
    of_sizes((41, 50), (80, 90), (99, 41), seed=4),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("views", [False, True])
def test_a_list_is_described_and_the_call_kept(kind, views, monkeypatch):
    """Lists of as many images of other sizes, among them some that no kept call takes, each as if it came first."""
    text = "motley: 1\nname: two\nstages:\n  - to_rgb: {}\n  - random_resized_crop: {size: 24}\n  - output: {}\n"
    if views:
        views = "{name: %s, count: %d, stages: [{to_rgb: {}}, {random_resized_crop: {size: %d}}, {output: {}}]}"
        text = f"motley: 1\nname: two\nviews: [{views % ('large', 1, 24)}, {views % ('small', 2, 9)}]\n"
    made, count = [], [0]
    monkeypatch.setattr(_native.local, "calls", {})
    init = _calls.Call.__init__

    def counted(self, *how):
        count[0] += 1
        init(self, *how)

    monkeypatch.setattr(_calls.Call, "__init__", counted)
    transform = motley.Transform(text, seed=7)
    for images in LISTS:
        made.append(transform(KINDS[kind](images), sample_ids=range(len(images)), epoch=1, return_draws=True))
    kept = count[0]
    for images, found in zip(LISTS, made):
        monkeypatch.setattr(_native.local, "calls", {})
        wanted = transform(KINDS[kind](images), sample_ids=range(len(images)), epoch=1, return_draws=True)
        assert str(found) == str(wanted)
        flat = [[x[0]["large"], *x[0]["small"]] if views else [x[0]] for x in (found, wanted)]
        assert all(map(np.array_equal, *flat))
    needs_shown(KINDS[kind](LISTS[0])[0])
    assert kept == 4  # three of RGB, two of RGB, three of grey, and of RGB again


@pytest.mark.parametrize("kind", KINDS)
def test_lists_are_written_to_arrays_by_kept_calls(kind, monkeypatch):
    transform = motley.Transform("torchvision_train", seed=7)
    made, init, library = [], _calls.Call.__init__, torch if kind == "tensors" else np
    monkeypatch.setattr(_native.local, "calls", {})
    monkeypatch.setattr(_calls.Call, "__init__", lambda self, *how: (made.append(how), init(self, *how))[1])
    for images in map(KINDS[kind], LISTS[:2] * 2):
        wanted = transform(images, sample_ids=range(3), epoch=1)
        places = library.zeros((6, *wanted.shape[1:]), dtype=wanted.dtype)
        for out in places[:3], places[::2]:
            assert transform(images, sample_ids=range(3), epoch=1, out=out) is out
            assert (out == wanted).all()
    for wrong, message in ((library.zeros((3, 3, 8, 8)), "out has shape"), (list(places[:3]), "out is a list")):
        refused(message, transform, images, sample_ids=range(3), epoch=1, out=wrong)
    needs_shown(images[0])
    assert len(made) == 3  # for a new array, a dense one and one of other strides


def test_a_kept_call_refuses_what_a_new_one_refuses(monkeypatch):
    transform = motley.Transform("torchvision_train", seed=7)
    images = KINDS["tensors"](LISTS[0])
    wanted = transform(images, sample_ids=range(3), epoch=1)
    for wrong, message in (
        ([*images[:2], images[2].float()], "image 2 of the list is float32, image 0 uint8"),
        ([*images[:2], images[2][0]], "the list has 1 channels|3 axes"),
        ([*images[:2], LISTS[0][2]], "image 2 of the list is a NumPy array, image 0 a torch tensor"),
    ):
        refused(message, transform, wrong, sample_ids=range(3), epoch=1)
        assert torch.equal(transform(images, sample_ids=range(3), epoch=1), wanted)
    expanded = [*images[:2], torch.zeros(3, 1, 41, dtype=torch.uint8).expand(3, 33, 41)]
    dense = [*images[:2], torch.zeros(3, 33, 41, dtype=torch.uint8)]
    assert torch.equal(
        transform(expanded, sample_ids=range(3), epoch=1), transform(dense, sample_ids=range(3), epoch=1)
    )
