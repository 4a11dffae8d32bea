# SPDX-License-Identifier: Apache-2.0
"""Policies that work inside boxes: their draws computed again from the random words, their pixels by Pillow."""

import json
import math
import pathlib
import sys

import numpy as np
import pytest

import motley
from motley.follow import Boxes, Mask

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "doc"), str(ROOT / "tests" / "pillow")]
reference = pytest.importorskip("draws")  # doc/draws.py
recipes = pytest.importorskip("recipes")

HEIGHT, WIDTH = 61, 83
BOXES = [[5, 7, 40, 50], [20.5, 3.25, 70.5, 30.75], [60, 40, 83, 61]]
DETECTION = [f"tf_auto_augment_detection_v{version}" for version in range(4)]
NESTED = """motley: 1
name: nested
top: 10
fill: 90
ops:
  {turn}
  in_boxes: {{op: {op}, {space}inside: boxes}}
branches: [[{before}{{op: in_boxes, p: 0.7{level}}}]]
"""


def picture(seed=0, height=HEIGHT, width=WIDTH):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def words_of(seed, epoch, sample, view, block):
    return numbers(reference.Samples(seed, epoch, [sample], view).words(block))


def numbers(words):
    return [int(word[0]) for word in words]


def by_pillow(image, steps):
    """The steps of a draw, one after the other, each on a copy of the part that it works in."""
    for step in steps:
        left, top, right, bottom = step.get("inside", (0, 0, image.shape[1], image.shape[0]))
        made = recipes.stepped(recipes.to_pil(image[top:bottom, left:right]), step)
        image = image.copy()
        image[top:bottom, left:right] = recipes.to_array(made)
    return image


@pytest.mark.parametrize("name", DETECTION)
def test_pixels_are_pillows(name):
    follow = motley.Follow(name, {"boxes": Boxes(drop=False)})
    inside = cut = 0
    for i in range(150):
        image = picture(i)
        made, steps = follow({"image": image, "boxes": np.array(BOXES)}, sample_ids=i, epoch=0, return_draws=True)
        assert (made["image"] == by_pillow(image, steps)).all(), (name, i, steps)
        inside += sum("inside" in step for step in steps)
        cut += sum(step["op"] == "bbox_cutout" for step in steps)
        again = follow.replay({"image": image, "boxes": np.array(BOXES)}, json.loads(json.dumps(steps)))
        assert (again["image"] == made["image"]).all() and (again["boxes"] == made["boxes"]).all()
    assert (inside if name[-1] in "01" else cut) > 0


@pytest.mark.parametrize(
    ("op", "space", "level"),
    [
        ("translate_y", "range: [0, 40], sign: random, ", ", level: 6"),
        ("rotate", "range: [0, 90], ", ", level: 4"),
        ("equalize", "", ""),
        ("flip_lr", "", ""),
        ("cutout_tf", "range: [0, 10], ", ", level: 5"),
        ("sharpness", "range: [0, 2], ", ", level: 8"),
        ("gaussian_blur", "range: [0, 4], ", ", level: 8"),
    ],
)
def test_draws_are_those_of_the_words(op, space, level):
    """Which boxes are worked on, in which order, where they have been moved to, and where a cutout lies."""
    before = "{op: translate_x, value: -9}, "
    text = NESTED.format(op=op, space=space, level=level, turn="translate_x: {range: [-90, 90]}", before=before)
    follow = motley.Follow(motley.Policy(text), {"boxes": Boxes(drop=False)})
    applied = 0
    for sample in range(40):
        given = {"image": picture(sample), "boxes": np.array(BOXES)}
        made, steps = follow(given, sample_ids=sample, epoch=3, seed=11, return_draws=True)
        shared = words_of(11, 3, sample, 0, 1 + 1 + 2 * 1 + 1)
        key = shared[2:]
        boxes = []
        for b, (left, top, right, bottom) in enumerate(BOXES):
            left, right = max(left - 9, 0), right - 9
            words = numbers(reference.philox([0, 0, b, 0], key))
            if words[0] < round(0.7 * 2**32):
                part = [math.floor(left), math.floor(top), math.ceil(right), math.ceil(bottom)]
                boxes.append((words[3], b, part, words))
        inner = [step for step in steps if "inside" in step]
        assert [step["inside"] for step in inner] == [part for _, _, part, _ in sorted(boxes)], (sample, steps)
        for step, (_, _, (left, top, right, bottom), words) in zip(inner, sorted(boxes)):
            if op == "cutout_tf":
                assert step["center"] == [words[1] * (right - left) >> 32, words[2] * (bottom - top) >> 32]
            if op == "translate_y":
                sign = words_of(11, 3, sample, 0, 1 + 1 + 2 * 1)[2] >> 31
                assert step["value"] == (-24.0 if sign else 24.0)
        assert (made["image"] == by_pillow(picture(sample), steps)).all()
        applied += len(inner)
    assert 60 < applied < 110


def test_bbox_cutout_draws_one_box():
    text = "motley: 1\nname: cut\nfill: 128\nbranches: [{op: bbox_cutout, value: 0.5}]\n"
    follow = motley.Follow(motley.Policy(text), {"boxes": Boxes()})
    chosen = set()
    for sample in range(60):
        _, steps = follow({"image": picture(), "boxes": BOXES}, sample_ids=sample, epoch=0, return_draws=True)
        shared = words_of(0, 0, sample, 0, 1 + 1 + 1)
        b = shared[0] * 3 >> 32
        words = numbers(reference.philox([0, 0, b, 0], shared[2:]))
        left, top, right, bottom = (f(x) for f, x in zip((math.floor, math.floor, math.ceil, math.ceil), BOXES[b]))
        assert steps[0]["box"] == [right - left, bottom - top]
        assert steps[0]["center"] == [left + (words[1] * (right - left) >> 32), top + (words[2] * (bottom - top) >> 32)]
        chosen.add(b)
    assert chosen == {0, 1, 2}


def test_a_batch_is_its_samples():
    follow = motley.Follow("tf_auto_augment_detection_v1", {"boxes": Boxes("xywh"), "mask": Mask(fill=255)})
    xywh = [[b[0], b[1], b[2] - b[0], b[3] - b[1]] for b in BOXES]
    samples = [
        {"image": picture(i, 61 + i, 83), "mask": np.arange((61 + i) * 83, dtype=np.int32).reshape(61 + i, 83),
         "boxes": np.array(xywh[: i % 4]).reshape(-1, 4), "labels": list(range(i % 4))}
        for i in range(12)
    ]  # fmt: skip
    together = follow(samples, sample_ids=range(12), epoch=0)
    for i, (sample, got) in enumerate(zip(samples, together)):
        alone = follow(sample, sample_ids=i, epoch=0)
        assert (got["image"] == alone["image"]).all() and (got["mask"] == alone["mask"]).all()
        assert np.array_equal(got["boxes"], alone["boxes"]) and list(got["labels"]) == list(alone["labels"])


def test_masks_move_inside_boxes():
    """A mask of numbers says where each pixel of the image came from, inside boxes, too."""
    turn, before = "rotate: {range: [0, 30]}", "{op: rotate, value: 13}, "
    text = NESTED.format(op="flip_lr", space="", level="", turn=turn, before=before)
    follow = motley.Follow(motley.Policy(text), {"boxes": Boxes(), "mask": Mask(fill=-1)})
    places = np.arange(HEIGHT * WIDTH, dtype=np.int32).reshape(HEIGHT, WIDTH)
    for i in range(30):
        image = picture(i)
        made = follow({"image": image, "boxes": np.array(BOXES), "mask": places}, sample_ids=i, epoch=0)
        wanted = np.where(made["mask"][..., None] < 0, 90, image.reshape(-1, 3)[made["mask"]])
        assert (made["image"] == wanted).all()


def test_what_is_refused():
    image = picture()
    with pytest.raises(motley.Error, match="draws by the boxes of an image: want them, as in motley.Follow"):
        motley.Transform("tf_auto_augment_detection_v0")(image)
    with pytest.raises(motley.Error, match="draws by the boxes of an image: want them"):
        motley.Transform("tf_auto_augment_detection_v0").draw(2)
    with pytest.raises(motley.Error, match="0 entries of the sample are followed as boxes: want one"):
        motley.Follow("tf_auto_augment_detection_v0")({"image": image})
    with pytest.raises(motley.Error, match="image 0, box 1 is .* outside its image"):
        motley.Follow("tf_auto_augment_detection_v0")({"image": image, "boxes": [[1, 2, 3, 4], [90, 2, 95, 4]]})
    with pytest.raises(motley.Error, match="image 1, box 0 has nan"):
        motley.Follow("tf_auto_augment_detection_v0")(
            {"image": [image, image], "boxes": [[[1, 2, 3, 4]], [[math.nan, 2, 95, 4]]]}
        )
    with pytest.raises(motley.Error, match="works inside .* want a part of the image"):
        motley.Transform("tf_auto_augment_detection_v1").replay(image, [{"op": "flip_lr", "inside": [1, 2, 84, 5]}])
    with pytest.raises(motley.Error, match="steps that work in boxes cannot be combined with 'augmix'"):
        motley.Policy("motley: 1\nname: x\naugmix: {width: 2}\nbranches: [{op: bbox_cutout, value: 1}]\n")
    with pytest.raises(motley.Error, match="'of' cannot be combined with 'inside'"):
        motley.Policy(
            "motley: 1\nname: x\ntop: 1\nlevel: 1\nops: {translate_x: {range: [0, 1], of: width, inside: boxes}}\n"
            "branches: [translate_x]\n"
        )
