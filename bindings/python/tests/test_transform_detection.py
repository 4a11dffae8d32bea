# SPDX-License-Identifier: Apache-2.0
"""Stages of detection recipes, against Pillow's own changes of the same images by the numbers that were drawn."""

import dataclasses
import itertools

import numpy as np
import PIL.Image
import PIL.ImageEnhance
import pytest
from conftest import refused
from test_transform_stages import ORDER, photographs  # noqa: F401 (a fixture)

import motley

ORDERS = list(itertools.permutations(range(3)))
ENHANCERS = {
    "brightness": PIL.ImageEnhance.Brightness,
    "contrast": PIL.ImageEnhance.Contrast,
    "color": PIL.ImageEnhance.Color,
}
HEAD = "motley: 1\nname: a\nstages:\n"


def changed(image, steps):
    """An array after the steps of a photometric, as torchvision makes them of Pillow's parts."""
    image = PIL.Image.fromarray(image)
    for step in steps:
        op, value = step["op"], step["value"]
        if op in ENHANCERS:
            image = ENHANCERS[op](image).enhance(value)
        elif op == "hue":
            h, s, v = image.convert("HSV").split()
            turned = (np.asarray(h).astype(int) + int(value * 255)) % 256
            image = PIL.Image.merge("HSV", (PIL.Image.fromarray(turned.astype(np.uint8)), s, v)).convert("RGB")
        else:
            assert op == "permute"
            image = PIL.Image.fromarray(np.ascontiguousarray(np.asarray(image)[..., list(ORDERS[int(value)])]))
    return np.asarray(image)


def replayed(transform, images, draws):
    """By recorded draws, by draws as JSON, and in place of the list one by one."""
    made = transform.replay(images, draws)
    assert all(np.array_equal(a, transform.replay(x, draw)) for a, x, draw in zip(made, images, draws))
    return made


PHOTO = HEAD + f"  - photometric: {{}}\n  - resize: {{size: [33, 21], order: {ORDER}}}\n"


def test_photometric_changes_the_source(photographs):  # noqa: F811
    transform = motley.Transform(PHOTO, seed=3)
    counts = dict.fromkeys(["brightness", "contrast", "color", "hue", "permute", "contrast last"], 0)
    for epoch in range(60):
        made, draws = transform(photographs, sample_ids=range(6), epoch=epoch, return_draws=True)
        assert all(np.array_equal(a, b) for a, b in zip(made, replayed(transform, photographs, draws)))
        for x, y, draw in zip(photographs, made, draws):
            ops = [step["op"] for step in draw["steps"]]
            assert draw.get("before", 0) == len(ops)
            for op in ops:
                counts[op] += 1
            counts["contrast last"] += ops[-2:] == ["hue", "contrast"] or ops[-3:-1] == ["hue", "contrast"]
            image = PIL.Image.fromarray(changed(x, draw["steps"]))
            assert np.array_equal(y, np.asarray(image.resize((21, 33), PIL.Image.BILINEAR)))
    assert all(150 < counts[op] < 210 for op in ("brightness", "contrast", "color", "hue"))  # of 360, at 0.5
    assert 120 < counts["permute"] < 180  # of 360, at 0.5, and one in six orders is the old one
    assert 25 < counts["contrast last"] < 65


def test_photometric_before_what_else_places_images(photographs):  # noqa: F811
    text = HEAD + (
        f"  - photometric: {{p: 0.8, channels: 0.3}}\n  - zoom_out: {{p: 0.7, fill: [123, 117, 104]}}\n"
        f"  - resize: {{size: [40, 50], order: {ORDER}}}\n  - flip: {{horizontal: 0.5}}\n  - grayscale: {{p: 0.4}}\n"
    )
    transform = motley.Transform(text, seed=3)
    for epoch in range(20):
        made, draws = transform(photographs, sample_ids=range(6), epoch=epoch, return_draws=True)
        assert all(np.array_equal(a, b) for a, b in zip(made, replayed(transform, photographs, draws)))
        for x, y, draw in zip(photographs, made, draws):
            before, crop = draw.get("before", 0), draw["crop"]
            canvas = PIL.Image.new("RGB", (crop["width"], crop["height"]), (123, 117, 104))
            canvas.paste(PIL.Image.fromarray(changed(x, draw["steps"][:before])), (-crop["left"], -crop["top"]))
            image = canvas.resize((50, 40), PIL.Image.BILINEAR)
            image = image.transpose(PIL.Image.FLIP_LEFT_RIGHT) if draw["flip"]["horizontal"] else image
            if draw["steps"][before:]:
                assert [step["op"] for step in draw["steps"][before:]] == ["grayscale"]
                image = image.convert("L").convert("RGB")
            assert np.array_equal(y, np.asarray(image))


@pytest.mark.parametrize("stages", ["photometric: {}", "flip: {horizontal: 0.5}\n  - photometric: {p: 0.9}"])
def test_photometric_elsewhere_is_a_step(photographs, stages):  # noqa: F811
    transform = motley.Transform(f"{HEAD}  - {stages}\n", seed=3)
    for epoch in range(20):
        for i, x in enumerate(photographs):
            made, draw = transform(x, sample_ids=i, epoch=epoch, return_draws=True)
            assert "before" not in draw
            flipped = x[:, ::-1] if draw["flip"]["horizontal"] else x
            assert np.array_equal(made, changed(np.ascontiguousarray(flipped), draw["steps"]))


def test_photometric_of_other_images(photographs):  # noqa: F811
    """Grey images, RGBA with its alpha, planes, and an output behind it."""
    x = photographs[0]
    rgba = np.dstack([x, x[..., 1]])
    for text in (PHOTO, HEAD + "  - photometric: {}\n"):
        transform = motley.Transform(text, seed=3)
        for i in range(40):
            made, draw = transform(x, sample_ids=i, epoch=0, return_draws=True)
            if text != PHOTO:  # a resize of RGBA multiplies by alpha
                both = motley.Transform(text, seed=3, alpha=True)(rgba, sample_ids=i, epoch=0)
                assert np.array_equal(both, np.dstack([made, rgba[..., 3]]))
            planes = np.ascontiguousarray(x.transpose(2, 0, 1))
            assert np.array_equal(transform(planes, sample_ids=i, epoch=0, layout="chw"), made.transpose(2, 0, 1))
            grey = transform(x[..., 0], sample_ids=i, epoch=0)
            steps = [step for step in draw["steps"] if step["op"] in ("brightness", "contrast")]
            image = PIL.Image.fromarray(x[..., 0])
            for step in steps:
                image = ENHANCERS[step["op"]](image).enhance(step["value"])
            image = image.resize((21, 33), PIL.Image.BILINEAR) if text == PHOTO else image
            assert np.array_equal(grey, np.asarray(image))


def test_photometric_that_is_refused(photographs):  # noqa: F811
    with pytest.raises(motley.PolicyError, match="'resize' stands behind 'jitter'"):
        motley.Policy(f"{HEAD}  - jitter: {{hue: 0.1}}\n  - photometric: {{}}\n  - resize: {{size: [3, 3]}}\n")
    with pytest.raises(motley.PolicyError, match="'hue'.*want -0.5..0.5"):
        motley.Policy(f"{HEAD}  - photometric: {{hue: [0, 1]}}\n")
    transform = motley.Transform(PHOTO, seed=3)
    x = photographs[0]
    draw = next(d for i in range(9) if (d := transform(x, sample_ids=i, epoch=0, return_draws=True)[1])["steps"])
    for wrong, why in (
        ({"before": len(draw["steps"]) + 1}, "but there are"),
        ({"steps": [{"op": "invert", "level": 0}], "before": 1}, "changes no source"),
        ({"steps": [{"op": "permute", "value": 1.5}], "before": 1}, "want a whole number"),
        ({"steps": [{"op": "permute", "value": 6.0}], "before": 1}, "want 0 to 5"),
    ):
        refused(why, transform.replay, x, {**draw, **wrong}, error=ValueError)
    plain = motley.Transform(HEAD + "  - resize: {size: [33, 21]}\n  - grayscale: {}\n", seed=3)
    with pytest.raises(ValueError, match="given steps change the source, want at most 0"):
        plain.replay(x, {**draw, "steps": [{"op": "permute", "value": 1.0}], "before": 1})


# ---- crops by the overlap of boxes: torchvision's RandomIoUCrop, by formulas of its arithmetic ----

F = np.float32
OVERLAPS = [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1]


def crop_by_overlap(words, width, height, boxes, overlaps=OVERLAPS, scale=(0.3, 1), ratio=(0.5, 2)):
    """left, top, width, height of the crop, None where the image stays, or "undecided". words(r, t, block): four
    uniform numbers of 24 bits, the first of them in block 0 a word; boxes [n, 4] binary32."""
    if len(boxes) == 0:
        return None
    for r in range(64):
        least = overlaps[(words(r, 0, 0)[0] * len(overlaps)) >> 32]
        if least >= 1:
            return None
        for t in range(40):
            rand = [F((word >> 8) * 2.0**-24) for word in words(r, t, 1)]
            w, h = (int(F(s) * (F(scale[0]) + F(scale[1] - scale[0]) * u)) for s, u in zip((width, height), rand))
            if w < 1 or h < 1 or not ratio[0] <= w / h <= ratio[1]:
                continue
            left, top = int(F(width - w) * rand[2]), int(F(height - h) * rand[3])
            cx, cy = F(0.5) * (boxes[:, 0] + boxes[:, 2]), F(0.5) * (boxes[:, 1] + boxes[:, 3])
            own = boxes[(left < cx) & (cx < left + w) & (top < cy) & (cy < top + h)]
            if len(own) == 0:
                continue
            corner, edge = np.array([left, top], F), np.array([left + w, top + h], F)
            sides = np.maximum(np.minimum(own[:, 2:], edge) - np.maximum(own[:, :2], corner), 0)
            common = sides[:, 0] * sides[:, 1]
            area = (own[:, 2] - own[:, 0]) * (own[:, 3] - own[:, 1])
            with np.errstate(invalid="ignore", divide="ignore"):
                if (common / (area + F(w) * F(h) - common)).max() >= F(least):
                    return left, top, w, h
    return "undecided"


def some_boxes(random, count, width, height):
    corners = np.sort(random.random((count, 2, 2)), 1) * [width, height]
    return corners.reshape(-1, 4).astype(F)


def words_by(seed, key):
    from draws import philox  # the reference of doc/draws.md

    def words(r, t, block):
        return [int(word[0]) for word in philox([block, 0, t, r], [int(key[0]), int(key[1])])]

    return words


IOU = HEAD + (
    "  - zoom_out: {p: 0.5, fill: 7}\n  - iou_crop: {p: 0.8}\n"
    f"  - resize: {{size: [60, 70], order: {ORDER}}}\n  - flip: {{horizontal: 0.5}}\n"
)


def test_iou_crop_by_the_boxes_as_they_are(photographs):  # noqa: F811
    import pathlib
    import sys

    sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "doc"))
    from draws import STAGES, Samples

    transform = motley.Transform(IOU, seed=9)
    follow = motley.Follow(transform, {"boxes": motley.follow.Boxes(rule="torchvision", drop=False)})
    random, crops = np.random.default_rng(2), 0
    for i in range(400):
        x = photographs[i % 6]
        height, width = x.shape[:2]
        boxes = some_boxes(random, i % 5, width, height)
        sample, draw = follow({"image": x, "boxes": boxes}, sample_ids=i, epoch=3, return_draws=True)
        canvas = draw.get("canvas", {"left": 0, "top": 0})
        cw, ch = width, height
        zoomed = Samples(seed=9, epoch=3, ids=[i], width=width, height=height)
        zoom = [int(word[0]) for word in zoomed.words(32768 + 1024 * STAGES.index("zoom_out"))]
        if zoom[0] < 2**31:
            side = F(1) + F((zoom[1] >> 8) * 2.0**-24) * F(3)
            cw, ch = int(F(width) * side), int(F(height) * side)
        block = 32768 + 1024 * STAGES.index("iou_crop")
        coin, key = (([int(w[0]) for w in zoomed.words(block + k)]) for k in (0, 1))
        moved = boxes + np.array([canvas["left"], canvas["top"]] * 2, F)
        wanted = None
        if coin[0] < round(0.8 * 2**32):
            wanted = crop_by_overlap(words_by(9, key[:2]), cw, ch, moved)
        crop = draw["crop"]
        left, top = crop["left"] + canvas["left"], crop["top"] + canvas["top"]
        assert draw.get("overlap") == ("cropped" if isinstance(wanted, tuple) else wanted)
        gone = np.zeros(len(boxes), bool)
        if isinstance(wanted, tuple):
            crops += 1
            assert (left, top, crop["width"], crop["height"]) == wanted
            cx, cy = F(0.5) * (moved[:, 0] + moved[:, 2]), F(0.5) * (moved[:, 1] + moved[:, 3])
            gone = ~((left < cx) & (cx < left + wanted[2]) & (top < cy) & (cy < top + wanted[3]))
        else:
            assert (left, top, crop["width"], crop["height"]) == (0, 0, cw, ch)
        edge = np.array([crop["width"], crop["height"]] * 2, F)
        moved = np.clip(moved - np.array([left, top] * 2, F), 0, edge)
        moved = moved * np.array([70 / crop["width"], 60 / crop["height"]] * 2, F)
        if draw["flip"]["horizontal"]:
            moved[:, [0, 2]] = F(70) - moved[:, [2, 0]]
        moved[gone] = 0
        assert sample["boxes"].dtype == F and np.array_equal(sample["boxes"], moved)
        picture = PIL.Image.new("RGB", (crop["width"], crop["height"]), (7, 7, 7))
        picture.paste(PIL.Image.fromarray(x), (-crop["left"], -crop["top"]))
        image = np.asarray(picture.resize((70, 60), PIL.Image.BILINEAR))
        assert np.array_equal(sample["image"], image[:, :: -1 if draw["flip"]["horizontal"] else 1])
        again = follow.replay({"image": x, "boxes": boxes}, draw)
        assert np.array_equal(again["image"], sample["image"]) and np.array_equal(again["boxes"], sample["boxes"])
        assert np.array_equal(transform.replay(x, draw), sample["image"])  # without boxes
    assert crops > 150


def test_an_iou_crop_that_finds_nothing(photographs):  # noqa: F811
    """A box without area has no overlap: where no list of overlaps ends the rounds, they end by their number."""
    text = HEAD + "  - iou_crop: {overlap: [0.5, 0.9]}\n  - resize: {size: [20, 20]}\n"
    follow = motley.Follow(motley.Transform(text, seed=9))
    x = photographs[0]
    sample, draw = follow({"image": x, "boxes": np.array([[3, 4, 3, 4]], F)}, sample_ids=0, epoch=0, return_draws=True)
    assert draw["overlap"] == "undecided" and draw["crop"]["width"] == x.shape[1]
    none, draw = follow({"image": x, "boxes": np.zeros((0, 4), F)}, sample_ids=0, epoch=0, return_draws=True)
    assert "overlap" not in draw and np.array_equal(none["image"], sample["image"])
    with pytest.raises(motley.Error, match="draws by the boxes of an image: want them"):
        motley.Transform(text, seed=9)(x, sample_ids=0, epoch=0)


def test_another_image_follows_what_changes_the_source(photographs):  # noqa: F811
    text = HEAD + "  - photometric: {p: 1}\n  - iou_crop: {}\n  - resize: {size: [40, 30]}\n"
    following = {"boxes": motley.follow.Boxes(drop=False), "a": motley.follow.Image(), "b": motley.follow.Mask()}
    follow = motley.Follow(motley.Transform(text, seed=9), following)
    for i, x in enumerate(photographs):
        boxes, other = some_boxes(np.random.default_rng(i), 3, *x.shape[1::-1]), x[..., :1].copy()
        sample = {"image": x, "boxes": boxes, "a": other, "b": other[..., 0]}
        made, draws = follow(sample, sample_ids=i, epoch=0, return_draws=True)
        assert draws["before"] > 0
        for moved in made, follow.replay(sample, draws):
            assert np.array_equal(moved["a"][..., 0], made["b"]) and np.array_equal(moved["b"], made["b"])


@pytest.mark.cuda
@pytest.mark.parametrize("name", ["dfine_l", "rtdetr"])
def test_crops_by_boxes_on_a_device(name):
    """Where images and boxes are on a device, it draws as the host does, and nothing waits."""
    import torch

    random = np.random.default_rng(4)
    sample = {
        "image": torch.from_numpy(random.integers(0, 256, (10, 3, 90, 120), np.uint8)),
        "boxes": [torch.from_numpy(some_boxes(random, i % 5, 120, 90)) for i in range(10)],
        "masks": torch.from_numpy(random.integers(0, 9, (10, 90, 120), np.uint8)),
        "depth": torch.from_numpy(random.integers(0, 256, (10, 1, 90, 120), np.uint8)),
    }
    boxes, depth = motley.follow.Boxes(rule="torchvision", drop=False), motley.follow.Image("bilinear")
    following = {"boxes": boxes, "masks": motley.follow.Mask(), "depth": depth}
    follow = motley.Follow(motley.Transform(name, seed=3, epoch=0), following)
    which = {"sample_ids": range(10)}
    wanted = follow(sample, **which)
    there = {key: [box.cuda() for box in value] if key == "boxes" else value.cuda() for key, value in sample.items()}
    recorded, draws = follow(there, **which, return_draws=True)
    follow(there, **which)  # memory and tables are new to the context
    torch.cuda.set_sync_debug_mode("error")
    try:
        found = follow(there, **which)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    for made in found, recorded, follow.replay(there, draws):
        assert all(torch.equal(made[key].cpu(), wanted[key]) for key in ("image", "masks", "depth"))
        assert all(torch.equal(a.cpu(), b) for a, b in zip(made["boxes"], wanted["boxes"]))
    assert len({draw.get("overlap") for draw in draws}) > 1


def test_recorded_crops_move_other_images_of_policies_with_epochs():
    random = np.random.default_rng(5)
    boxes = [some_boxes(random, i, 60, 50) for i in range(4)]
    sample = {name: random.integers(0, 256, (4, 50, 60, n), np.uint8) for name, n in (("image", 3), ("depth", 1))}
    following = {"boxes": motley.follow.Boxes(drop=False), "depth": motley.follow.Image("bilinear")}
    follow = motley.Follow(motley.Transform("dfine_l", seed=3, epoch=1), following)
    wanted, draws = follow({**sample, "boxes": boxes}, sample_ids=range(4), return_draws=True)
    found = follow.replay({**sample, "boxes": boxes}, draws)
    assert all(np.array_equal(found[name], wanted[name]) for name in ("image", "depth"))


def test_sizes_of_crops_by_boxes(photographs):  # noqa: F811
    """They are known before the call to who gives the boxes, and drawn as without knowing them."""
    policy = motley.Policy("tv_ssdlite")
    follow = motley.Follow(motley.Transform(policy, seed=9), {"boxes": motley.follow.Boxes()})
    assert policy.size is None and policy.draws_sizes and policy.takes_boxes
    boxes = [some_boxes(np.random.default_rng(i), 3, *x.shape[1::-1]) for i, x in enumerate(photographs)]
    samples = [{"image": x, "boxes": own, "labels": np.arange(3)} for x, own in zip(photographs, boxes)]
    made = follow(samples, sample_ids=range(len(samples)), epoch=1)
    assert len({one["image"].shape for one in made}) > 3
    transform = motley.Transform(policy, seed=9)
    for i, (x, own, one) in enumerate(zip(photographs, boxes, made)):
        (drawn,) = transform.draw(size=x.shape[:2], sample_ids=[i], epoch=1, boxes=own)
        assert (drawn["window"]["height"], drawn["window"]["width"]) == one["image"].shape[1:]
        assert np.array_equal(transform.replay(x, drawn), one["image"])
    with pytest.raises(motley.Error, match="draws by the boxes of an image: want them"):
        transform(photographs[0], sample_ids=0, epoch=1)


@pytest.mark.parametrize(
    "stages, why",
    [
        ("iou_crop: {overlap: []}\n  - resize: {size: [4, 4]}", "wants a list of 1 to 8 numbers"),
        ("iou_crop: {overlap: [2]}\n  - resize: {size: [4, 4]}", "want 0..1"),
        ("resize: {size: [4, 4]}\n  - iou_crop: {}", "'iou_crop' stands behind 'resize'"),
        ("iou_crop: {}\n  - zoom_out: {}\n  - resize: {size: [4, 4]}", "'zoom_out' stands behind 'iou_crop'"),
    ],
)
def test_iou_crop_that_is_refused(stages, why):
    refused(why, motley.Policy, f"{HEAD}  - {stages}\n", error=motley.PolicyError)


def test_iou_crop_reads_back():
    for keys in ("", "overlap: [0.5]", "p: 0.5, overlap: [0, 1], scale: [0.5, 1], ratio: [1, 2]"):
        policy = motley.Policy(f"{HEAD}  - iou_crop: {{{keys}}}\n  - resize: {{size: [4, 4]}}\n")
        assert f"iou_crop: {{{keys}}}" in str(policy) and motley.Policy(policy.as_dict()) == policy


# ---- whole recipes ----

RECIPES = {"rtdetr": None, "rtdetrv2": 71, "dfine_n": 148, "dfine_s": 120, "dfine_l": 72}
RECIPES |= {"tv_ssd": None, "tv_ssdlite": None}
LABELS = ("labels", "masks")
BOXES = motley.follow.Boxes(rule="torchvision", min_side=1, min_area=1, label_fields=LABELS)
SANITIZED = {"boxes": dataclasses.replace(BOXES, before_resize=True), "masks": motley.follow.Mask()}


def large(boxes):
    """What SanitizeBoundingBoxes(min_size=1) keeps."""
    size = boxes[:, 2:] - boxes[:, :2]
    return (size >= 1).all(1) & (size.prod(1) >= 1)


def torch_nearest(mask, width, height):
    """torch's nearest: floor(i * scale), the scale in binary32."""
    rows, columns = (
        np.minimum(np.floor(np.arange(n, dtype=F) * F(F(old) / F(n))).astype(int), old - 1)
        for n, old in zip((height, width), mask.shape)
    )
    return mask[rows][:, columns]


def by_formulas(x, boxes, masks, labels, draw, fill, to):
    """What a recipe makes of a picture by the numbers of a draw: everything in the source's order. to: the side of the
    square that it resizes to, or None."""
    canvas, crop = draw.get("canvas", {"left": 0, "top": 0}), draw["crop"]
    boxes = boxes + np.array([canvas["left"], canvas["top"]] * 2, F)
    left, top, w, h = crop["left"] + canvas["left"], crop["top"] + canvas["top"], crop["width"], crop["height"]
    centre = F(0.5) * (boxes[:, :2] + boxes[:, 2:])
    gone = np.zeros(len(boxes), bool)
    if draw.get("overlap") == "cropped":
        gone = ~((np.array([left, top], F) < centre) & (centre < np.array([left + w, top + h], F))).all(1)
    boxes = np.clip(boxes - np.array([left, top] * 2, F), 0, np.array([w, h] * 2, F))
    boxes[gone] = 0
    kept = large(boxes) | (not to)
    box = (crop["left"], crop["top"], crop["left"] + w, crop["top"] + h)
    image = PIL.Image.new("RGB", (w, h), fill)
    image.paste(PIL.Image.fromarray(changed(x, draw["steps"])), (-crop["left"], -crop["top"]))
    masks = [np.asarray(PIL.Image.fromarray(mask).crop(box)) for mask in masks]  # crop() pads with 0
    if draw["flip"]["horizontal"]:
        image, masks = image.transpose(PIL.Image.FLIP_LEFT_RIGHT), [mask[:, ::-1] for mask in masks]
        boxes[:, [0, 2]] = F(w) - boxes[:, [2, 0]]
        boxes[gone] = 0
    if to:
        image, masks = image.resize((to, to), PIL.Image.BILINEAR), [torch_nearest(mask, to, to) for mask in masks]
        boxes = boxes * np.array([to / w, to / h] * 2, F)
    image = np.asarray(image).astype(F).transpose(2, 0, 1) / F(255)
    kept &= large(boxes)
    return image, boxes[kept], [mask for mask, keep in zip(masks, kept) if keep], labels[kept]


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_of_detection(name):
    policy = motley.Policy(motley.Policy(name).show().replace("masks: torch", f"masks: torch, order: {ORDER}"))
    random = np.random.default_rng(4)
    closes = RECIPES[name]
    fill, to = ((123, 117, 104), None) if name.startswith("tv_") else ((0, 0, 0), 640)
    follow = motley.Follow(motley.Transform(policy, seed=6), SANITIZED if to else {**SANITIZED, "boxes": BOXES})
    zoomed = cropped = 0
    for i in range(24):
        width, height, n = random.integers(30, 500), random.integers(30, 400), i % 8
        x = random.integers(0, 256, (height, width, 3), dtype=np.uint8)
        boxes, labels = some_boxes(random, n, width, height), np.arange(n)
        tiny = boxes[::2, :2] + random.random((-(-n // 2), 2), F) * F(2.5)
        boxes[::2, 2:] = np.minimum(tiny, np.array([width, height], F))
        masks = (random.random((n, height, width)) < 0.5).astype(np.uint8) * 255
        sample = {"image": x, "boxes": boxes, "masks": masks, "labels": labels}
        epochs = [0] if closes is None else [closes - 1, closes]
        for epoch in epochs:
            made, draw = follow(sample, sample_ids=i, epoch=epoch, return_draws=True)
            image, boxes_, masks_, labels_ = by_formulas(x, boxes, masks, labels, draw, fill, to)
            assert made["image"].dtype == F and np.array_equal(made["image"], image)
            assert np.array_equal(made["boxes"], boxes_) and np.array_equal(made["labels"], labels_)
            assert len(made["masks"]) == len(masks_) and all(map(np.array_equal, made["masks"], masks_))
            if closes is not None and epoch >= closes:
                assert not draw["steps"] and "overlap" not in draw and "canvas" not in draw
                assert (draw["crop"]["width"], draw["crop"]["height"]) == (width, height)
            zoomed, cropped = zoomed + ("canvas" in draw), cropped + (draw.get("overlap") == "cropped")
    assert cropped > 3 and (zoomed > 3 or name == "tv_ssdlite")


@pytest.mark.parametrize("rule", ["polygon", "torchvision"])
def test_limits_before_a_resize(photographs, rule):  # noqa: F811
    """Boxes that only the resize makes large enough; sides are those of the crop, in binary32."""
    x, edge = photographs[0], photographs[0].shape[1]
    boxes = np.array([[1, 1, 1.75, 9], [1, 1, 2, 9], [edge - 0.5, 0, edge, 9], [0, 2, 9, 3.25]], F)
    transform = motley.Transform(HEAD + "  - resize: {size: [900, 1200]}\n")
    for limits, kept in (
        ({"min_side": 1}, [0, 1, 2, 3]),
        ({"min_side": 1, "before_resize": True}, [1, 3]),
        ({"min_area": 6.5, "before_resize": True}, [1, 3]),
        ({"min_area": 8.5, "before_resize": True}, [3]),
    ):
        follow = motley.Follow(transform, {"boxes": motley.follow.Boxes(rule=rule, **limits)})
        sample = {"image": x, "boxes": boxes, "labels": np.arange(4)}
        assert list(follow(sample, sample_ids=0, epoch=0)["labels"]) == kept, limits
    with pytest.raises(motley.ArgumentError, match="before_resize is True, but there is no limit"):
        motley.follow.Boxes(before_resize=True)


def test_closing_epochs_reach_persistent_workers():
    data = pytest.importorskip("torch.utils.data")
    import motley.torch

    class Samples(data.Dataset):
        def __init__(self):
            self.follow = motley.Follow(motley.Transform("dfine_l", seed=6), SANITIZED)

        def __len__(self):
            return 6

        def __getitem__(self, index):
            random = np.random.default_rng(int(index))
            sample = {"image": random.integers(0, 256, (50, 60, 3), dtype=np.uint8), "labels": np.arange(3)}
            sample["boxes"], sample["masks"] = some_boxes(random, 3, 60, 50), np.ones((3, 50, 60), np.uint8)
            made, draw = self.follow(sample, sample_ids=index, return_draws=True)
            return int(index), "canvas" in draw or "overlap" in draw or bool(draw["steps"]), made["image"].sum()

    sampler = motley.torch.Sampler(data.SequentialSampler(range(6)))
    loader = data.DataLoader(
        Samples(), None, sampler=sampler, num_workers=2, persistent_workers=True, multiprocessing_context="fork"
    )
    seen = {}
    for epoch in (70, 71, 72, 73, 3):
        sampler.set_epoch(epoch)
        seen[epoch] = [opened for _, opened, _ in loader]
    assert any(seen[70]) and any(seen[71]) and any(seen[3]) and not any(seen[72]) and not any(seen[73])
