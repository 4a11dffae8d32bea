# SPDX-License-Identifier: Apache-2.0
"""Batches of detection against plain NumPy by their sources' rules: pixels, boxes, labels and shares equal, given the
draw."""

import collections
import itertools
import json
import pathlib
import sys

import numpy as np
import pytest
from conftest import refused

import motley

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "doc"))

F = np.float32
# The chance of MixUp, from and until which epoch; the chance of pasting, until which epoch; how often the size 640 is
# drawn among the others, until which epoch; and the recipe's length.
BATCHES = {
    "rtdetrv2_batch": (0, 0, 0, 0, 0, 3, 71, 72),
    "dfine_batch_s": (0, 0, 0, 0, 0, 20, 120, 132),
    "dfine_batch_m": (0, 0, 0, 0, 0, 6, 120, 132),
    "dfine_batch_l": (0, 0, 0, 0, 0, 4, 72, 80),
    "dfine_batch_x": (0, 0, 0, 0, 0, 3, 72, 80),
    "deim_batch_n": (0.5, 4, 78, 0, 0, None, 0, 160),
    "deim_batch_s": (0.5, 4, 64, 0, 0, 20, 120, 132),
    "deim_batch_m": (0.5, 4, 49, 0, 0, 6, 90, 102),
    "deim_batch_l": (0.5, 4, 29, 0, 0, 4, 50, 58),
    "deim_batch_x": (0.5, 4, 29, 0, 0, 3, 50, 58),
    "deimv2_batch_n": (0.5, 4, 78, 0.4, 78, None, 0, 160),
    "deimv2_batch_s": (0.5, 4, 64, 0.5, 120, 20, 120, 132),
    "deimv2_batch_m": (0.5, 4, 49, 0.5, 90, 6, 90, 102),
    "deimv2_batch_l": (0.5, 4, 29, 0.5, 50, 4, 50, 58),
    "deimv2_batch_x": (0.5, 4, 29, 0.5, 50, 3, 50, 58),
    "deimv2_batch_dinov3_l": (0.5, 4, 34, 0.5, 60, 3, 60, 68),
}


def batch_of(random, n=4, side=20, most=5):
    """Images as they leave a recipe, and their objects, cx cy w h in shares of the side."""
    images = random.random((n, 3, side, side), dtype=F)
    targets = []
    for i in range(n):
        k = int(random.integers(0, most + 1))
        corners = random.uniform(0, 1, (k, 4)).astype(F)
        area, labels = corners[:, 2:].prod(1) * F(side * side), random.integers(0, 80, k)
        targets.append({"boxes": corners, "labels": labels, "area": area, "image_id": np.array([i])})
    return images, targets


def mixed_by(images, targets, share):
    """DEIM's MixUp of a batch."""
    before = np.concatenate([images[-1:], images[:-1]])
    wanted = []
    for i, target in enumerate(targets):
        other = targets[i - 1]
        joined = {name: np.concatenate([target[name], other[name]]) for name in ("boxes", "labels", "area")}
        numbers = [share] * len(target["labels"]) + [1.0 - share] * len(other["labels"])
        wanted.append({**target, **joined, "mixup": np.array(numbers, F)})
    return before * F(1.0 - share) + images * F(share), wanted


def check(targets, wanted):
    for one, other in zip(targets, wanted, strict=True):
        assert one.keys() == other.keys()
        for name, values in other.items():
            found = np.asarray(one[name])
            assert found.dtype == values.dtype and np.array_equal(found, values), name


def test_mixup_is_deims():
    random, transform = np.random.default_rng(1), motley.Transform("deim_batch_n", seed=3, layout="chw")
    mixed = shares = 0
    for first in range(0, 400, 4):
        images, targets = batch_of(random)
        result, objects, draws = transform(
            images, labels=targets, sample_ids=range(first, first + 4), epoch=5, return_draws=True
        )
        draw = draws[0]["mix"]
        share = draw["lambda"]
        assert all(one["mix"] == {**draw, "partner": (i + 3) % 4} for i, one in enumerate(draws))
        wanted, wanted_objects = images, targets
        if draw["kind"] == "mixup":
            assert share == round(share, 6) and 0.45 <= share <= 0.55
            wanted, wanted_objects = mixed_by(images, targets, share)
            mixed, shares = mixed + 1, shares + share
        assert np.array_equal(result, wanted)
        check(objects, wanted_objects)
        again = transform.replay(images, json.loads(json.dumps(draws)), labels=targets, epoch=5)
        assert np.array_equal(again[0], wanted)
        check(again[1], wanted_objects)
    assert 35 <= mixed <= 65 and abs(shares / mixed - 0.5) < 0.02


@pytest.mark.parametrize("name", BATCHES)
def test_epochs_open_and_close(name):
    transform = motley.Transform(name, layout="chw")
    chance, opens, closes, paste, paste_closes, repeat, sizes_close, length = BATCHES[name]
    assert transform.policy.epochs == length
    edges = {0, opens - 1, opens, closes - 1, closes, paste_closes - 1, paste_closes, sizes_close - 1, sizes_close}
    for epoch in sorted(edges & set(range(length))) + [length - 1]:
        ids = range(epoch * 1000, epoch * 1000 + 200)
        draws = [
            transform.draw(sample_ids=[i], epoch=epoch, size=(40, 40), boxes=[[0, 0, 20, 20]])[0]["mix"] for i in ids
        ]
        kinds, sides = [one["kind"] for one in draws], [one.get("side") for one in draws]
        mixes = chance if opens <= epoch < closes else 0
        pastes = (1 - mixes) * paste if opens <= epoch < paste_closes else 0
        for kind, wanted in (("mixup", mixes), ("paste", pastes)):
            assert abs(kinds.count(kind) / 200 - wanted) <= (0.14 if wanted else 0), (epoch, kind)
        if repeat is None or epoch >= sizes_close:
            assert set(sides) == {None}
        else:
            assert (
                set(sides) == set(range(480, 801, 32)) and abs(sides.count(640) / 200 - repeat / (repeat + 10)) < 0.14
            )


def pasted_by(images, targets, draws):
    """DEIMv2's CopyBlend of a batch, where the draws have chosen objects and places."""
    side = images.shape[-1]
    made, wanted = images.copy(), []
    for i, draw in enumerate(draws):
        mix, target = draw["mix"], targets[i]
        rows = {name: [] for name in ("boxes", "labels", "area")}
        for paste in mix.get("pastes", ()):
            other, k, part = targets[paste["image"]], paste["object"], paste["part"]
            cx, cy, w, h = other["boxes"][k]
            x0, y0 = max(int((cx - w / F(2)) * F(side)), 0), max(int((cy - h / F(2)) * F(side)), 0)
            x1, y1 = min(int((cx + w / F(2)) * F(side)), side), min(int((cy + h / F(2)) * F(side)), side)
            box = paste["box"]
            assert (x1 - x0, y1 - y0) == (box["width"], box["height"]) and other["area"][k] >= 100
            assert x0 - paste["left"] == box["left"] - part["left"] and y0 - paste["top"] == box["top"] - part["top"]
            to = np.s_[i, :, part["top"] : part["top"] + part["height"], part["left"] : part["left"] + part["width"]]
            read = np.s_[:, paste["top"] : paste["top"] + part["height"], paste["left"] : paste["left"] + part["width"]]
            share = mix["lambda"]
            made[to] = made[to] * F(share) + images[paste["image"]][read] * F(1 - share)
            u, v = box["left"], box["top"]
            w, h = x1 - x0, y1 - y0
            rows["boxes"].append([(u + w / 2) / side, (v + h / 2) / side, w / side, h / side])
            rows["labels"].append(other["labels"][k])
            rows["area"].append(other["area"][k])
        new = {}
        for name, values in rows.items():
            own = target[name]
            new[name] = np.concatenate([own, np.array(values, own.dtype).reshape(-1, *own.shape[1:])])
        shares = [1.0] * len(target["boxes"]) + [1 - mix["lambda"]] * len(rows["boxes"])
        wanted.append({**target, **new, "mixup": np.array(shares, F)})
    return made, wanted


def resized_by(images, side):
    """torch's nearest, which is the default of interpolate()."""
    n = images.shape[-1]
    index = np.minimum(np.floor(np.arange(side, dtype=F) * (F(n) / F(side))).astype(int), n - 1)
    return images[..., index[:, None], index]


def relative_batch(random, n, side):
    """Boxes as DETR's, some without a pixel."""
    images, targets = random.random((n, 3, side, side), dtype=F), []
    for _ in range(n):
        k = int(random.integers(0, 5))
        centre, sides = random.uniform(0.1, 0.9, (k, 2)), random.uniform(0, 0.5, (k, 2))
        sides *= random.integers(0, 6, (k, 1)) > 0
        boxes, area = np.concatenate([centre, sides], 1).astype(F), (sides.prod(1) * side * side).astype(F)
        targets.append({"boxes": boxes, "labels": random.integers(0, 80, k), "area": area})
    return images, targets


def test_copyblend_and_sizes_are_deimv2s():
    random = np.random.default_rng(3)
    text = {"share": [0.45, 0.55], "p": 0.3, "paste": 3, "paste_p": 0.8, "area": 100, "context": [0.1, 0.25]}
    stages = [{"mix": {**text, "sizes": [48, 64, 80, 80, 96, 112, 133]}}]
    transform = motley.Transform({"stages": stages}, seed=3, layout="chw")
    kinds, sides, pastes, number = [], set(), 0, 0
    for first in range(0, 1200, 4):
        images, targets = relative_batch(random, 4, 80)
        given = motley.Targets(targets, "cxcywh", relative=True)
        result, objects, draws = transform(
            images, labels=given, sample_ids=range(first, first + 4), epoch=5, return_draws=True
        )
        side = draws[0]["mix"]["side"]
        assert result.shape == (4, 3, side, side) and all(draw["mix"]["side"] == side for draw in draws)
        found = {draw["mix"]["kind"] for draw in draws}
        wanted, wanted_objects = images, targets
        if found == {"mixup"}:
            wanted, wanted_objects = mixed_by(images, targets, draws[0]["mix"]["lambda"])
        elif "paste" in found:
            assert found <= {"paste", "none"}
            wanted, wanted_objects = pasted_by(images, targets, draws)
        else:
            assert found == {"none"}
        assert np.array_equal(result, resized_by(wanted, side))
        check(objects, wanted_objects)
        again = transform.replay(images, json.loads(json.dumps(draws)), labels=given, epoch=5)
        assert np.array_equal(again[0], result)
        check(again[1], wanted_objects)
        kinds += sorted(found)[-1:]
        sides.add(side)
        pastes += sum(len(draw["mix"].get("pastes", ())) for draw in draws)
        number += result.size
    assert min(kinds.count(kind) for kind in ("none", "mixup", "paste")) > 20 and len(sides) == 6 and pastes > 1000
    assert number > 1e6


def pasted_in(images, targets, draws, i, grow):
    """torchvision's Simple Copy-Paste of image i - 1, whose instances the draws have chosen, into image i."""
    target, other = targets[i], targets[i - 1]
    picked = [paste["object"] for paste in draws[i]["mix"]["pastes"]]
    union = np.pad(other["masks"][picked].any(0), grow)
    height, width = images.shape[-2:]
    rows, columns = (range(side) for side in (2 * grow + 1, 2 * grow + 1))
    cut = np.logical_or.reduce([union[y : y + height, x : x + width] for y in rows for x in columns])
    masks = target["masks"] * ~cut
    left = masks.any((1, 2))
    masks = masks[left]
    places = [np.nonzero(mask) for mask in masks]
    boxes = np.array([[x.min(), y.min(), x.max(), y.max()] for y, x in places], F).reshape(-1, 4)
    wanted = {"masks": np.concatenate([masks, other["masks"][picked]])}
    wanted["boxes"] = np.concatenate([boxes, other["boxes"][picked]])
    wanted["area"] = wanted["masks"].astype(bool).sum((1, 2)).astype(F)
    for name in ("labels", "iscrowd"):
        wanted[name] = np.concatenate([target[name][left], other[name][picked]])
    kept = (wanted["boxes"][:, :2] < wanted["boxes"][:, 2:]).all(1)
    return np.where(cut, images[i - 1], images[i]), {name: values[kept] for name, values in wanted.items()}


def batch_with_masks(random, n, height, width, least=0):
    """Masks of any shape, some of one row or empty; boxes around them, some without width."""
    images, targets, dtype = random.random((n, 3, height, width), dtype=F), [], random.choice(["bool", "uint8"])
    for _ in range(n):
        k = int(random.integers(least, 5))
        first = random.integers(0, (width, height), (k, 2))
        last = np.minimum(first + random.integers(1, 14, (k, 2)), (width, height))
        masks = np.zeros((k, height, width), dtype)
        for mask, (x0, y0), (x1, y1) in zip(masks, first, last):
            mask[y0:y1, x0:x1] = random.random((y1 - y0, x1 - x0)) < random.random()
        boxes = np.concatenate([first, np.where(random.random((k, 1)) < 0.1, first, last)], 1).astype(F)
        target = {"boxes": boxes, "masks": masks, "area": masks.astype(bool).sum((1, 2)).astype(F)}
        targets.append({**target, "labels": random.integers(0, 90, k), "iscrowd": random.integers(0, 2, k)})
    return images, targets


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_instances_are_pasted_as_torchvision_does(kind):
    torch = pytest.importorskip("torch") if kind == "torch" else None
    random, objects_seen, gone = np.random.default_rng(8), 0, 0
    for turn in range(60):
        grow = turn % 3
        transform = motley.mix(instances=True, grow=grow, paste_p=0.9, mode="elem", seed=4, layout="chw")
        images, targets = batch_with_masks(random, 3, 24 + turn % 5, 30 + turn % 7)
        given, labels = images, motley.Targets(targets, "xyxy")
        if torch:
            given = torch.from_numpy(images)
            ones = [{name: torch.from_numpy(own) for name, own in one.items()} for one in targets]
            labels = motley.Targets(ones, "xyxy")
        before = [{name: values.copy() for name, values in target.items()} for target in targets]
        result, objects, draws = transform(
            given, labels=labels, sample_ids=range(3 * turn, 3 * turn + 3), epoch=0, return_draws=True
        )
        again = transform.replay(given, json.loads(json.dumps(draws)), labels=labels)
        for pixels, found in ((result, objects), again):
            for i, (one, draw) in enumerate(zip(found, draws)):
                wanted = images[i], targets[i]
                if draw["mix"]["kind"] == "instances":
                    assert draw["mix"]["partner"] == (i + 2) % 3 and draw["mix"]["grow"] == grow
                    wanted = pasted_in(images, targets, draws, i, grow)
                    gone += len(targets[i]["boxes"]) + len(draw["mix"]["pastes"]) - len(wanted[1]["boxes"])
                assert np.array_equal(np.asarray(pixels[i]), wanted[0])
                check([one], [wanted[1]])
                objects_seen += len(wanted[1]["boxes"])
        for target, same in zip(targets, before):
            assert all(np.array_equal(target[name], values) for name, values in same.items())
    assert objects_seen > 500 and gone > 20


def test_draws_of_instances_are_those_of_the_page():
    from draws import STAGES, Samples, choose  # doc/draws.py

    numbers, ids = [3, 0, 9, 250], [7, 4_000_000_000_000, 2, 3]
    targets = [{"boxes": np.zeros((n, 4), F), "masks": np.ones((n, 4, 5), bool)} for n in numbers]
    mix = motley.mix(instances=True, seed=11, epoch=3, layout="chw")
    made = mix(np.zeros((4, 3, 4, 5), F), labels=motley.Targets(targets, "xyxy"), sample_ids=ids, return_draws=True)[2]
    samples, first = Samples(seed=11, epoch=3, ids=ids), 32768 + 256 * 4 * STAGES.index("mix") + 4
    for i, draw in enumerate(made):
        n = numbers[i - 1]
        picked = {int(choose(samples.words(first + k)[0], n)[i]) for k in range(n)}
        assert [paste["object"] for paste in draw["mix"].get("pastes", ())] == sorted(picked)


def test_instances_that_are_refused():
    images, targets = batch_with_masks(np.random.default_rng(2), 3, 20, 30, least=1)
    targets = [{name: values[:1] for name, values in target.items()} for target in targets]
    mix = motley.mix(instances=True, layout="chw", seed=1)
    without = [{k: own for k, own in target.items() if k != "masks"} for target in targets]
    without = motley.Targets(without, "xyxy")
    refused("a list that does not say what they are: want motley.Targets", mix, images, labels=targets)
    refused("the target of image 0 has no 'masks', by which instances are pasted", mix, images, labels=without)
    wide = motley.Targets([{**target, "masks": target["masks"][:, :, :7]} for target in targets], "xyxy")
    refused(r"the masks of image 0 are \w+ \[1, 20, 7\], want uint8 or bool \[1, 20, 30\]", mix, images, labels=wide)
    wide = motley.Targets([{**target, "masks": target["masks"].astype("int64")} for target in targets], "xyxy")
    refused("the masks of image 0 are int64", mix, images, labels=wide)
    wide = motley.Targets([{**target, "masks": [[1]]} for target in targets], "xyxy")
    refused("the masks of image 0 are a list", mix, images, labels=wide)
    refused("pastes objects: want labels as a list of dictionaries", mix, images, labels=[1, 2, 3])
    behind = {"stages": [{"resize": {"size": [9, 9]}}, {"mix": {"instances": "pasted"}}]}
    with pytest.raises(motley.PolicyError, match="'mix' has 'instances' behind other stages"):
        motley.Transform(behind)
    assert motley.Policy("tv_lsj_batch").as_dict()["stages"] == [{"mix": {"instances": "pasted", "grow": 2}}]


def test_boxes_in_pixels_and_torch():
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(6)
    keys = {"share": [0.5, 0.5], "p": 0, "paste": 2, "context": [0, 0], "sizes": [31]}
    transform = motley.Transform({"stages": [{"mix": keys}]}, seed=2, epoch=0)
    images = torch.from_numpy(random.random((3, 3, 20, 30), dtype=F))
    masks = [torch.from_numpy(random.integers(0, 2, (n, 20, 30), dtype=np.uint8)) for n in (2, 0, 1)]
    rows = [[[1.0, 2, 11, 7], [3, 3, 9, 9]], [], [[0.5, 1.5, 29, 19]]]
    targets = [{"boxes": torch.tensor(own).reshape(-1, 4), "labels": torch.arange(len(own))} for own in rows]
    for i, target in enumerate(targets):
        target["labels"] += 10 * i
    targets = motley.Targets(targets, "xyxy")
    result, objects, draws = transform(images, labels=targets, sample_ids=range(3), return_draws=True)
    scale = torch.tensor([31 / 30, 31 / 20] * 2)
    for i, one in enumerate(objects):
        pastes = draws[i]["mix"]["pastes"]
        boxes = torch.tensor([[p["box"][k] for k in ("left", "top", "width", "height")] for p in pastes]).float()
        boxes[:, 2:] += boxes[:, :2]
        assert len(pastes) == 2 and torch.equal(one["boxes"], torch.cat([targets[i]["boxes"], boxes]) * scale)
        labels = [int(targets[p["image"]]["labels"][p["object"]]) for p in pastes]
        assert one["labels"].tolist() == targets[i]["labels"].tolist() + labels
        assert one["mixup"].tolist() == [1] * len(rows[i]) + [0.5, 0.5]
    with_masks = [{**target, "masks": own} for target, own in zip(targets, masks)]
    with_masks = motley.Targets(with_masks, "xyxy")
    refused("the target of image . has 'masks', which are not pasted", transform, images, labels=with_masks)
    stages = [{"mix": {"share": [0.5, 0.5], "p": 0, "sizes": [31]}}]
    made, objects = motley.Transform({"stages": stages}, epoch=0)(images, labels=with_masks, sample_ids=range(3))
    assert torch.equal(made, torch.nn.functional.interpolate(images, 31))
    for one, target in zip(objects, with_masks):
        wanted = torch.nn.functional.interpolate(target["masks"][None].float(), 31)[0] if len(target["masks"]) else None
        assert one["masks"].shape[1:] == (31, 31) and torch.equal(one["boxes"], target["boxes"] * scale)
        assert wanted is None or torch.equal(one["masks"].float(), wanted)
    refused(
        "policy 'policy' pastes objects: want labels as a list of dictionaries", transform, images, labels=[1, 2, 3]
    )
    for one in (transform, motley.Transform({"stages": stages}, epoch=0)):
        refused("a list that does not say what they are: want motley.Targets", one, images, labels=list(targets))
    refused("cannot work in place", transform.apply_, images, labels=targets)
    refused("pastes objects: want boxes", transform.draw, sample_ids=[1], epoch=0)
    refused("format is 'yxyx', want 'xyxy'", motley.Targets, [], "yxyx")
    assert transform.policy.draws_sizes and transform.size is None


def test_partners_that_were_read_with_their_images():
    """Then neither the batch's order nor its size decides what becomes of an image."""
    random = np.random.default_rng(9)
    images, targets = batch_of(random, n=6)
    mix = motley.mix(share=(0.1, 0.9), p=0.9, mode="elem", layout="chw", seed=5)
    ids, partners = [70, 4, 9, 3, 8, 1], [3, 3, 0, 5, 4, 1]
    whole, joined, draws = mix(images, labels=targets, sample_ids=ids, epoch=2, partners=partners, return_draws=True)
    assert [draw["mix"]["partner"] for draw in draws] == partners
    for i, partner in enumerate(partners):
        pair = [partner, i]
        part = mix(images[pair], labels=[targets[k] for k in pair], sample_ids=[ids[k] for k in pair], epoch=2,
                   partners=np.array([0, 0]))  # fmt: skip
        assert np.array_equal(part[0][1], whole[i])
        check([part[1][1]], [joined[i]])
    refused("partners has 2 numbers, there are 6 images", mix, images, labels=targets, partners=[0, 1])
    refused("partners is 6, want .* from 0 to 5", mix, images, labels=targets, partners=[0, 1, 2, 3, 4, 6])
    other = motley.Transform("rand_augment", seed=1)
    refused("partners are given, but 'rand_augment' has not 'mix' as its only stage", other, images, partners=partners)


def test_torch_targets_and_their_types():
    torch = pytest.importorskip("torch")
    images, targets = batch_of(np.random.default_rng(4), n=3)
    tensors = [{name: torch.from_numpy(values) for name, values in target.items()} for target in targets]
    for target in tensors:
        target["masks"] = torch.zeros((len(target["boxes"]), 20, 20), dtype=torch.uint8)
        target["name"] = "a picture"
    mix = motley.mix(share=(0.45, 0.55), seed=9)
    result, objects, draws = mix(torch.from_numpy(images), labels=tensors, return_draws=True)
    wanted, wanted_objects = mixed_by(images, targets, draws[0]["mix"]["lambda"])
    assert np.array_equal(result.numpy(), wanted)
    for i, one in enumerate(objects):
        assert one.pop("name") == "a picture" and one["mixup"].dtype == torch.float32
        assert one.pop("masks").shape == (len(targets[i]["boxes"]) + len(targets[i - 1]["boxes"]), 20, 20)
    check(objects, wanted_objects)
    pytest.importorskip("motley.torch")
    module = motley.torch.Transform(mix).eval()
    assert module(torch.from_numpy(images), labels=tensors)[1] is tensors


def test_tv_tensors_keep_their_types():
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")
    torch = pytest.importorskip("torch")
    rows = [[1.0, 2, 3, 4]], [[5.0, 6, 7, 8], [0, 0, 9, 9]]
    boxes = [tv_tensors.BoundingBoxes(torch.tensor(own), format="XYXY", canvas_size=(20, 20)) for own in rows]
    made = motley.mix(share=(0.3, 0.3), seed=1)(torch.zeros(2, 3, 20, 20), labels=[{"boxes": one} for one in boxes])[1]
    for i, one in enumerate(made):
        assert type(one["boxes"]) is tv_tensors.BoundingBoxes and one["boxes"].canvas_size == (20, 20)
        assert torch.equal(one["boxes"], torch.cat([boxes[i], boxes[1 - i]]))
    sizes = motley.Transform({"stages": [{"mix": {"share": [1, 1], "p": 0, "sizes": [10]}}]}, epoch=0)
    made = sizes(torch.zeros(2, 3, 20, 20), labels=[{"boxes": one} for one in boxes], sample_ids=range(2))[1]
    assert all(torch.equal(one["boxes"], own / 2) for one, own in zip(made, boxes))  # they say what they are


@pytest.mark.parametrize("kind", ["array", "list", "list of arrays"])
def test_keypoints_and_masks_are_resized_as_arrays_and_lists(kind):
    random = np.random.default_rng(8)
    points, masks = random.integers(0, 20, (2, 5, 3)).astype(F), random.integers(0, 2, (2, 20, 30)).astype(np.uint8)
    boxes, make = (
        np.array([[1, 2, 11, 7], [3, 3, 9, 9]], F),
        {"array": np.array, "list": np.ndarray.tolist}.get(kind, list),
    )
    target = {"boxes": make(boxes), "keypoints": make(points), "masks": masks if kind == "array" else list(masks)}
    no_boxes, no_points = (np.zeros(0), np.zeros((0, 5, 3))) if kind == "array" else ([], [])
    empty = {"boxes": no_boxes, "keypoints": no_points, "masks": [] if kind != "array" else masks[:0]}
    sizes = motley.mix(share=(0.5, 0.5), p=0, sizes=[10], layout="chw", epoch=0)
    images, labels = np.zeros((2, 3, 20, 30), F), motley.Targets([target, empty], "xyxy")
    made, none = sizes(images, labels=labels, sample_ids=[0, 1])[1]
    x, y = F(10 / 30), F(10 / 20)
    assert np.allclose(made["boxes"], boxes * [x, y, x, y], rtol=1e-6, atol=0)
    assert np.allclose(made["keypoints"], points * [x, y, 1], rtol=1e-6, atol=0)
    assert np.array_equal(made["masks"], masks[:, ::2, ::3]) and type(made["masks"]) is type(target["masks"])
    assert len(none["boxes"]) == len(none["keypoints"]) == len(none["masks"]) == 0
    mix = motley.mix(share=(0.5, 0.5), layout="chw")
    for one in mix(images, labels=labels, sample_ids=[0, 1], epoch=0)[1]:
        assert np.array_equal(one["boxes"], boxes) and np.array_equal(one["keypoints"], points)


def test_lists_many_and_no_objects():
    images = np.zeros((3, 3, 4, 4), F)
    many = [[float(k), 0, 1, 1] for k in range(5000)]
    degenerate = {"boxes": [[0, 0, 0, 0]], "labels": [7]}
    targets = [{"boxes": [], "labels": []}, {"boxes": many, "labels": list(range(5000))}, degenerate]
    made = motley.mix(share=(0.25, 0.25), seed=1)(images, labels=targets)[1]
    assert made[0] == {"boxes": [[0, 0, 0, 0]], "labels": [7], "mixup": [0.75]}
    assert made[1] == {"boxes": many, "labels": list(range(5000)), "mixup": [0.25] * 5000}
    assert made[2] == {"boxes": [[0, 0, 0, 0], *many], "labels": [7, *range(5000)], "mixup": [0.25] + [0.75] * 5000}
    alone = motley.mix(share=(0.25, 0.25), seed=1)(images[:1], labels=[{"boxes": many[:2], "labels": [4, 5]}])[1]
    assert alone == [{"boxes": many[:2] * 2, "labels": [4, 5, 4, 5], "mixup": [0.25, 0.25, 0.75, 0.75]}]
    for empty in ([], np.zeros((0, 4), F)):
        none = [{"boxes": empty}, {"boxes": empty}, {"boxes": empty}]
        made = motley.mix(share=(1e-6, 0.5), seed=1)(images, labels=none)[1]
        assert all(len(one["boxes"]) == len(one["mixup"]) == 0 for one in made)


def other_kinds_of(target):
    """The target in other kinds of Python's and NumPy's."""
    numbers = target["labels"].tolist()
    yield {name: values.tolist() for name, values in target.items()}
    yield {"boxes": collections.deque(target["boxes"].tolist()), "labels": range(numbers[0], numbers[-1] + 1)}
    yield {"boxes": tuple(target["boxes"]), "labels": collections.UserList(numbers)}


def test_lists_beside_arrays_and_boxes_of_any_kind():
    """MixUp alone reads no box, and joins those that are rotated; images without objects may have lists."""
    images, mix = np.zeros((2, 3, 4, 4), F), motley.mix(share=(0.5, 0.5), layout="chw")
    some, other = (np.arange(first, first + 10, dtype="float64").reshape(2, 5) for first in (0, 10))
    first, second = {"boxes": some, "labels": np.array([1, 2])}, {"boxes": other, "labels": np.array([3, 4])}
    none, wanted = {"boxes": [], "labels": []}, np.concatenate([some, other])
    for one, two in itertools.product((first, *other_kinds_of(first)), (second, *other_kinds_of(second))):
        made = mix(images, labels=[one, two])[1]
        assert np.array_equal(np.array([*made[0]["boxes"]]), wanted)
        assert [*made[0]["labels"]] == [1, 2, 3, 4] and [*made[1]["labels"]] == [3, 4, 1, 2]
        assert isinstance(made[0]["boxes"], np.ndarray if one is first else list)
    for one in (first, *other_kinds_of(first)):
        for targets in ([none, one], [one, none]):
            for joined in mix(images, labels=targets)[1]:
                assert np.array_equal([*joined["boxes"]], some) and [*joined["labels"]] == [1, 2]
                assert type(joined["mixup"]) is (np.ndarray if one is first else list)


def test_images_without_objects_get_tensors():
    torch = pytest.importorskip("torch")
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")
    images, joins = np.zeros((2, 3, 16, 16), F), motley.mix(share=(0.5, 0.5), layout="chw")
    mix = motley.mix(share=(0.5, 0.5), paste=3, p=0, sizes=[8], context=(0, 0), layout="chw")
    boxes = tv_tensors.BoundingBoxes([[2.0, 2, 4, 4]], format="cxcywh", canvas_size=(16, 16))
    plain = {"boxes": torch.tensor([[0.0, 0, 4, 4]]), "labels": torch.tensor([7])}
    none, ours = {"boxes": [], "labels": []}, {"boxes": boxes, "labels": torch.tensor([7])}
    pasted = 0
    for one, join in ((plain, joins), (ours, joins), (plain, mix), (ours, mix)):
        made = join(images, labels=motley.Targets([none, one], "xyxy"), sample_ids=[0, 1], epoch=0)[1]
        for joined in made:
            count = len(joined["boxes"])
            pasted += count
            assert type(joined["boxes"]) is type(one["boxes"]) or not count
    assert pasted > 4
    refused(
        "'labels' of torch tensors, that of image ., mixed with it, of lists or NumPy arrays: want one kind|"
        "'labels' of lists or NumPy arrays, that of image ., mixed with it, of torch tensors: want one kind",
        joins, images, labels=[plain, {"boxes": plain["boxes"], "labels": [7]}],
    )  # fmt: skip


def test_what_is_refused():
    images, targets = batch_of(np.random.default_rng(5))
    mix = motley.mix(share=(0.45, 0.55), layout="chw")
    refused("labels has 3 targets, there are 4 images", mix, images, labels=targets[:3])
    refused("the target of image 1 is no dictionary", mix, images, labels=[targets[0], 5, targets[2], targets[3]])
    refused("the target of image 0 has no 'boxes': 'labels', want", mix, images, labels=[{"labels": 5}] * 4)
    wrong = [{**target, "labels": target["labels"][:0]} for target in targets]
    refused(r"the target of image \d has \d boxes, but 0 of 'labels'", mix, images, labels=wrong)
    without = [{"boxes": target["boxes"]} if i == 2 else target for i, target in enumerate(targets)]
    refused("image 3 has 'labels', that of image 2, mixed with it, has not", mix, images, labels=without)
    refused("mixed by CutMix, want MixUp or nothing", motley.mix(cutmix=1, layout="chw"), images, labels=targets)
    refused("both mixup and share are set", motley.mix, mixup=1, share=(0.4, 0.6))


def test_recorded_pastes_of_other_targets_are_refused():
    random = np.random.default_rng(7)
    keys = {"share": [0.5, 0.5], "p": 0, "paste": 2, "context": [0, 0]}
    transform = motley.Transform({"stages": [{"mix": keys}]}, seed=2, epoch=0, layout="chw")
    images = random.random((2, 3, 20, 30), dtype=F)
    targets = [{"boxes": np.tile(np.array([[1, 2, 11, 7]], F), (3, 1)), "labels": np.arange(3)} for _ in images]
    _, _, draws = transform(images, labels=motley.Targets(targets, "xyxy"), sample_ids=range(2), return_draws=True)
    none = motley.Targets([{name: values[:0] for name, values in target.items()} for target in targets], "xyxy")
    refused("which is none of the objects", transform.replay, images, draws, labels=none)
    draws[0]["mix"]["partner"] = 9
    refused(
        "partner is 9, want a whole number from 0 to 1",
        transform.replay,
        images,
        draws,
        labels=motley.Targets(targets, "xyxy"),
    )


def test_targets_keep_their_format_in_batches():
    torch = pytest.importorskip("torch")
    from motley.torch.data import map_tensors

    targets = motley.Targets([{"boxes": torch.zeros(1, 4)}], "cxcywh", relative=True)
    _, made = map_tensors(lambda tensor: tensor + 1, (torch.zeros(1), targets))
    assert (type(made), made.format, made.relative) == (motley.Targets, "cxcywh", True) and made[0]["boxes"].sum() == 4
