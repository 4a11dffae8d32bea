# SPDX-License-Identifier: Apache-2.0
"""Batches of detection against plain NumPy by their sources' rules: pixels, boxes, labels and shares equal, given the
draw."""

import json

import numpy as np
import pytest
from conftest import refused

import motley

F = np.float32
BATCHES = {
    "deim_batch_n": (0.5, 4, 78, 160)
}  # the chance of MixUp, from and until which epoch, and the recipe's length


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


@pytest.mark.parametrize("name", BATCHES)
def test_mixup_is_deims(name):
    random, transform = np.random.default_rng(1), motley.Transform(name, seed=3, layout="chw")
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
    images, targets = batch_of(np.random.default_rng(2))
    transform, (chance, opens, closes, length) = motley.Transform(name, layout="chw"), BATCHES[name]

    def share_mixed(epoch):
        kinds = [transform.draw(sample_ids=[i], epoch=epoch, size=(9, 9))[0]["mix"]["kind"] for i in range(400)]
        return kinds.count("mixup") / len(kinds)

    mixes = {epoch: share_mixed(epoch) for epoch in (0, opens - 1, opens, closes - 1, closes, length - 1)}
    assert [mixes[epoch] == 0 for epoch in mixes] == [True, True, False, False, True, True]
    assert abs(mixes[opens] - chance) < 0.08
    result, objects = transform(images, labels=targets, sample_ids=range(4), epoch=closes)
    assert np.array_equal(result, images) and "mixup" not in objects[0]
    check(objects, targets)


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


def test_what_is_refused():
    images, targets = batch_of(np.random.default_rng(5))
    mix = motley.mix(share=(0.45, 0.55), layout="chw")
    refused("labels has 3 targets, there are 4 images", mix, images, labels=targets[:3])
    refused("the target of image 1 is no dictionary", mix, images, labels=[targets[0], 5, targets[2], targets[3]])
    refused("the target of image 0 has no 'boxes': 'labels', want", mix, images, labels=[{"labels": 5}] * 4)
    wrong = [{**target, "labels": target["labels"][:0]} for target in targets]
    refused(r"the target of image \d has \d boxes, but 0 of 'labels'", mix, images, labels=wrong)
    without = [{"boxes": target["boxes"]} if i == 2 else target for i, target in enumerate(targets)]
    refused("image 3 has 'labels', that of its partner, image 2, has not", mix, images, labels=without)
    refused("mixed by CutMix, want MixUp or nothing", motley.mix(cutmix=1, layout="chw"), images, labels=targets)
    refused("both mixup and share are set", motley.mix, mixup=1, share=(0.4, 0.6))
