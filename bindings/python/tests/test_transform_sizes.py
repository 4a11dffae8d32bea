# SPDX-License-Identifier: Apache-2.0
"""Sizes that are drawn, and several stages that are one window. What each stage does is done here by itself, on
canvases that are built: by Pillow to the image, by NumPy's indices to masks, and to boxes by arithmetic. The numbers
that a stage draws are those of doc/draws.py."""

import pathlib
import sys

import numpy as np
import PIL
import PIL.Image
import pytest
from conftest import refused

import motley
from motley._resize import order_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "doc"))
import draws  # noqa: E402

ORDER = order_of(PIL.__version__)
SIZES = [480, 512, 544, 576, 800]
ALL = {"shortest": list(range(480, 801, 32)), "longest": 1333, "rounding": "detr", "masks": "torch"}


def DETR(last):
    first = {"shortest": [400, 500, 600], "rounding": "detr", "masks": "torch"}
    cropped = [{"resize": first}, {"size_crop": {"sides": [384, 600]}}, {"resize": last}]
    return [
        {"flip": {"horizontal": 0.5}},
        {"one_of": [{"stages": [{"resize": last}]}, {"stages": cropped}]},
        {"output": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}},
    ]


RECIPES = {
    "shortest": [{"resize": {"shortest": SIZES, "longest": 900, "masks": "torch"}}, {"flip": {"horizontal": 0.5}}],
    "flip_first": [{"flip": {"horizontal": 0.5, "vertical": 0.5}}, {"resize": {"shortest": [90, 130], "longest": 200}}],
    "torch_masks": [
        {"flip": {"horizontal": 0.5, "vertical": 0.5}},
        {"resize": {"shortest": [90, 130], "masks": "torch"}},
    ],
    "tv_hflip": [{"flip": {"horizontal": 0.5}}, {"output": {}}],
    "tv_lsj": [
        {"resize": {"fit": 1024, "scale": [0.1, 2], "masks": "torch"}},
        {"fixed_crop": {"size": 1024, "fill": [123, 117, 104]}},
        {"flip": {"horizontal": 0.5}},
        {"output": {}},
    ],
    "tv_multiscale": [
        {"resize": {"shortest": list(range(480, 801, 32)), "longest": 1333, "masks": "torch"}},
        {"flip": {"horizontal": 0.5}},
        {"output": {}},
    ],
    "detectron2_lsj": [
        {"resize": {"fit": 1024, "scale": [0.1, 2], "rounding": "detectron2"}},
        {"fixed_crop": {"size": 1024, "fill": 128, "rounding": "detectron2"}},
        {"flip": {"horizontal": 0.5}},
        {"output": {"type": "u8"}},
    ],
    "crop_first": [
        {"flip": {"horizontal": 0.5, "vertical": 0.5}},
        {"size_crop": {"sides": [60, 150]}},
        {"resize": {"shortest": [80, 160], "longest": 200, "rounding": "detr", "filter": "bicubic"}},
        {"pad": {"multiple": 32, "fill": 9}},
    ],
    "zoomed": [
        {"zoom_out": {"p": 0.7, "side": [1, 3], "fill": [1, 2, 3]}},
        {"size_crop": {"sides": [90, 300]}},
        {"flip": {"horizontal": 0.5}},
        {"resize": {"size": [64, 80]}},
    ],
    "letterbox": [{"resize": {"fit": 96}}, {"pad": {"size": [96, 100], "at": "centre", "fill": 114}}],
    "middle": [{"center_crop": {"size": [150, 90]}}, {"flip": {"vertical": 0.5}}, {"resize": {"square": [40, 64]}}],
    "crops": [
        {"resize": {"longest": 220}},
        {"random_crop": {"size": [120, 100], "padding": 30}},
        {"flip": {"horizontal": 0.5}},
        {"size_crop": {"sides": [40, 90]}},
    ],
    "shorter": [{"resize": {"size": 70}}, {"flip": {"horizontal": 0.5}}],
    "detr": DETR(ALL),
    "rf_detr": DETR({"square": 736, "masks": "torch"}),
    "twice": [
        {"zoom_out": {"p": 0.5, "side": [1, 2], "fill": 7}},
        {"random_resized_crop": {"size": [90, 120], "filter": "bicubic"}},
        {"flip": {"horizontal": 0.5, "vertical": 0.5}},
        {"pad": {"size": [150, 110], "at": "centre", "fill": 7}},
        {"resize": {"shortest": [60, 140], "filter": "bicubic"}},
        {"size_crop": {"sides": [40, 90]}},
    ],
}
BUILT_IN = {"tv_hflip", "tv_lsj", "tv_multiscale", "detectron2_lsj", "detr", "rf_detr"}


def one(kind, keys, turn, size, number):
    """What a stage draws for image `number` of this size: a dictionary of numbers."""
    samples = draws.Samples(3, 2, [number], width=np.array([size[0]]), height=np.array([size[1]]))
    of_one = draws.Transform({"stages": [{kind: keys}]}, None)
    of_one.stages[0] = kind, keys, of_one.stages[0][2] + 256 * turn, None
    _, _, places = of_one.draw(samples)
    return {key: np.asarray(places[key][0]).tolist() for key in ("crop", "resize", "window", "result", "flip")}


def moved(array, left, top, size, fill):
    """The part of an array [H, W, ...] at (left, top), beyond which there is the fill."""
    out = np.empty((size[1], size[0], *array.shape[2:]), array.dtype)
    out[...] = fill
    x0, y0 = max(left, 0), max(top, 0)
    x1, y1 = min(left + size[0], array.shape[1]), min(top + size[1], array.shape[0])
    if x0 < x1 and y0 < y1:
        out[y0 - top : y1 - top, x0 - left : x1 - left] = array[y0:y1, x0:x1]
    return out


def nearest(mask, size, torch):
    if not torch:
        return np.asarray(PIL.Image.fromarray(mask).resize(size, PIL.Image.NEAREST))
    y, x = (
        np.minimum(np.floor(np.arange(n, dtype=np.float32) * np.float32(m / n)).astype(int), m - 1)
        for n, m in zip(size[::-1], mask.shape)
    )
    return mask[y][:, x]


def by_hand(stages, image, mask, boxes, number):
    counts = {}
    exact = boxes.dtype.type  # torchvision's are of binary32
    for stage, listed in draws.flattened(stages):
        ((kind, keys),) = stage.items()
        if kind == "output":
            image = image.transpose(2, 0, 1)
            if keys.get("type") != "u8":
                mean, std = (np.float32(keys.get(key, default)) for key, default in (("mean", 0), ("std", 1)))
                image = (image.astype(np.float32) / np.float32(255) - mean.reshape(-1, 1, 1)) / std.reshape(-1, 1, 1)
            continue
        turn = counts[kind] = counts.get(kind, -1) + 1
        if kind == "one_of" or (listed and not listed.chosen(draws.Samples(3, 2, [number]))[0]):
            continue
        drawn, fill = one(kind, keys, turn, image.shape[1::-1], number), keys.get("fill", 0)
        left, top, width, height = drawn["crop"]
        image, mask = (moved(a, left, top, (width, height), f) for a, f in ((image, fill), (mask, 0)))
        boxes = np.clip(boxes - exact([left, top] * 2), 0, exact([width, height] * 2))
        size = tuple(drawn["resize"])
        if kind in ("resize", "random_resized_crop"):
            how = {"bilinear": PIL.Image.BILINEAR, "bicubic": PIL.Image.BICUBIC}[keys.get("filter", "bilinear")]
            image = np.asarray(PIL.Image.fromarray(image).resize(size, how))
            mask = nearest(mask, size, keys.get("masks") == "torch")
            boxes = boxes * exact([size[0] / width, size[1] / height] * 2)
        (left, top), size = drawn["window"], drawn["result"]
        image, mask = (moved(a, left, top, size, f) for a, f in ((image, fill), (mask, 0)))
        boxes = np.clip(boxes - exact([left, top] * 2), 0, exact(size * 2))
        for axis in np.flatnonzero(drawn["flip"]):
            image, mask = np.flip(image, 1 - axis), np.flip(mask, 1 - axis)
            boxes[:, [axis, axis + 2]] = exact(size[axis]) - boxes[:, [axis + 2, axis]]
    return image, mask, boxes


def photographs(count):
    random = np.random.default_rng(8)
    made = []
    for _ in range(count):
        h, w = random.integers(150, 400, 2)
        x, y = np.sort(random.uniform(0, w, (5, 2)), 1), np.sort(random.uniform(0, h, (5, 2)), 1)
        made.append(
            {
                "image": random.integers(0, 256, (h, w, 3), np.uint8),
                "mask": random.integers(0, 256, (h, w), np.uint8),
                "boxes": np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], 1),
                "labels": np.arange(5),
            }
        )
    return made


def with_order(stages):
    def ordered(kind, keys):
        if kind == "one_of":
            return [{**one, "stages": with_order(one["stages"])["stages"]} for one in keys]
        return {**keys, "order": ORDER} if kind in ("resize", "random_resized_crop") else keys

    return {"stages": [{k: ordered(k, v) for k, v in s.items()} for s in stages]}


@pytest.mark.parametrize("name", RECIPES)
def test_one_window_is_its_stages_in_turn(name):
    """Built-ins do what is written above, in their source's order. Boxes of torchvision's, in binary32, have its bits,
    and those of less than a pixel go."""
    torchvision = name.startswith("tv_") or name.endswith("detr")
    stages, samples, numbers = RECIPES[name], photographs(8), list(range(40, 48))
    if name in BUILT_IN:
        of_file = motley.Policy(name).as_dict()["stages"]
        assert of_file == motley.Policy({"stages": stages}).as_dict()["stages"]
    policy = motley.Policy(with_order(of_file if name in BUILT_IN else stages))
    least = 1 if name.startswith("tv_") else 0  # pixels
    rule = {"rule": "torchvision", "min_side": least, "min_area": least} if torchvision else {}
    for sample in samples if torchvision else ():
        sample["boxes"] = sample["boxes"].astype(np.float32)
    follow = motley.Follow(
        motley.Transform(policy, seed=3),
        {"mask": motley.follow.Mask(), "boxes": motley.follow.Boxes(label_fields=["labels"], **rule)},
    )
    made = follow(samples, sample_ids=numbers, epoch=2)
    sizes = set()
    for sample, result, number in zip(samples, made, numbers):
        image, mask, boxes = by_hand(stages, sample["image"], sample["mask"], sample["boxes"], number)
        sizes.add(image.shape)
        np.testing.assert_array_equal(result["image"], image)
        np.testing.assert_array_equal(result["mask"], mask)
        sides = boxes[:, 2:] - boxes[:, :2]
        kept = (sides > 0).all(1) & (sides >= least).all(1) & (sides.prod(1) >= least)
        np.testing.assert_array_equal(result["labels"], sample["labels"][kept])
        np.testing.assert_allclose(result["boxes"], boxes[kept], rtol=0, atol=0 if torchvision else 1e-9)
    assert len(sizes) == 1 or policy.size is None


def test_sizes_are_known_before_the_call_and_replayed():
    transform = motley.Transform(with_order(RECIPES["shortest"]), seed=3)
    images = [sample["image"] for sample in photographs(6)]
    made, drawn = transform(images, sample_ids=range(6), epoch=2, return_draws=True)
    assert transform.size is None and transform.policy.draws_sizes
    assert [image.shape[1::-1] for image in made] == [(d["window"]["width"], d["window"]["height"]) for d in drawn]
    assert all(map(np.array_equal, made, transform.replay(images, drawn)))
    batch = np.stack([images[0]] * 4)
    for one, image in zip(transform(batch, sample_ids=range(4), epoch=2), batch):
        assert image.shape != one.shape
    assert np.array_equal(transform(images[3], sample_ids=3, epoch=2), made[3])
    for some in transform([PIL.Image.fromarray(image) for image in images], sample_ids=range(6), epoch=2), made:
        assert all(map(np.array_equal, made, some))


def test_draws_of_two_resizes_are_replayed_where_stages_resize_twice():
    images = [sample["image"] for sample in photographs(6)]
    transform = motley.Transform(with_order(RECIPES["twice"]), seed=3)
    made, drawn = transform(images, sample_ids=range(6), epoch=2, return_draws=True)
    assert sum("first" in one for one in drawn) == 6
    assert all(map(np.array_equal, made, transform.replay(images, drawn)))
    once = motley.Transform(with_order(RECIPES["shortest"]), seed=3)
    refused("image 0 is given as resized twice, but the stages of policy .* resize it once", once.replay, images, drawn)
    wide = [image.astype(np.float32) / 255 for image in images]
    with pytest.raises(motley.UnsupportedError, match="resizes images twice, which is not supported yet of float32"):
        transform(wide, sample_ids=range(6), epoch=2)


def test_results_of_an_output_are_a_list_of_their_sizes():
    stages = [*RECIPES["shortest"], {"output": {"mean": 0.5, "std": 0.25}}]
    images = [sample["image"] for sample in photographs(3)]
    made = motley.Transform(with_order(stages), seed=3)(images, sample_ids=range(3), epoch=2)
    bytes_ = motley.Transform(with_order(RECIPES["shortest"]), seed=3)(images, sample_ids=range(3), epoch=2)
    for one, image in zip(made, bytes_):
        want = (image.astype(np.float32) / np.float32(255) - np.float32(0.5)) / np.float32(0.25)
        np.testing.assert_array_equal(one, want.transpose(2, 0, 1))


def test_refused():
    transform = motley.Transform({"stages": [{"resize": {"fit": 20, "scale": [0.1, 1]}}]}, seed=3)
    thin = np.zeros((3, 600, 3), np.uint8)
    refused(r"image 0: 'resize' makes \d+x0 of 600x3", transform, thin, sample_ids=0, epoch=0)
    crops = {"stages": [{"resize": {"longest": 20}}, {"random_crop": {"size": 30}}]}
    refused("image 0: 20x10 .* smaller than the random_crop of 30x30", motley.Transform(crops, seed=3),
            np.zeros((40, 80, 3), np.uint8), sample_ids=0, epoch=0)  # fmt: skip


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_padded(library):
    stages = [*RECIPES["shortest"], {"output": {"mean": 0.5, "std": 0.25}}]
    images = [sample["image"] for sample in photographs(4)]
    if library == "torch":
        torch = pytest.importorskip("torch")
        images = [torch.from_numpy(image).permute(2, 0, 1) for image in images]
    made = motley.Transform(with_order(stages), seed=3)(images, sample_ids=range(4), epoch=2)
    layout = "chw"
    batch, mask = motley.padded(made, multiple=32, value=-7, layout=layout)
    height, width = (max(side) for side in zip(*(image.shape[1:] for image in made)))
    assert batch.shape == (4, 3, -(-height // 32) * 32, -(-width // 32) * 32) and mask.shape == (4, *batch.shape[2:])
    assert batch.dtype == made[0].dtype and type(batch) is type(mask) is type(made[0])
    for image, one, hidden in zip(made, np.asarray(batch), np.asarray(mask)):
        h, w = image.shape[1:]
        assert (
            np.array_equal(one[:, :h, :w], image) and not hidden[:h, :w].any() and hidden.sum() == hidden.size - h * w
        )
        assert (one[:, hidden] == -7).all()
    large = motley.padded(made, size=(1000, 1400), layout=layout).images
    assert large.shape == (4, 3, 1000, 1400)


def test_padded_that_is_refused():
    image = np.zeros((4, 5, 3), np.uint8)
    for images, how, why in (
        ([], {}, "images is empty"),
        ([b"image"], {}, "image 0 is a bytes"),
        ([image, image[..., :1]], {}, "image 1 has 1 channels of uint8, image 0 has 3 channels of uint8"),
        ([image, image.astype(np.float32)], {}, "image 1 has 3 channels of float32"),
        ([image[None]], {}, r"image 0 has shape \(1, 4, 5, 3\), want that of one image"),
        ([image], {"size": (4, 4)}, "image 0 is 4 high and 5 wide, more than size, 4 and 4"),
        ([image], {"multiple": 0}, "multiple is 0"),
    ):
        refused(why, motley.padded, images, **how)
