# SPDX-License-Identifier: Apache-2.0
"""Levels that a call gives for each image: they choose what a policy's own level would, and nothing else."""

import re

import motley
import numpy as np
import pytest
from conftest import cuda, refused, torch
from motley import Policy, Transform
from motley.follow import Boxes, Image, Mask, Points

if torch is not None:
    import motley.torch

IDS = [5, 2**40, 7, 1]
LEVELS = [0.0, 1.0, 0.5, 0.2]
GIVEN = Policy("rand_augment").change(level="given")
TRAIN = """
motley: 1
name: train
stages:
  - random_resized_crop: {size: 24}
  - policy: {name: rand_augment, level: given}
  - output: {mean: 0.5, std: 0.5}
"""
MIXED = TRAIN + "  - mix: {mixup: 0.5, classes: 4}\n"
WAYS = [list, tuple, np.float32, np.float64, np.float16] + ([torch.tensor] if torch else [])


def images():
    return np.random.default_rng(3).integers(0, 256, (4, 30, 40, 3), np.uint8)


def at_level(text, level):
    return text.replace("level: given", f"level: {level}")


@pytest.mark.parametrize("way", WAYS)
def test_an_image_is_augmented_as_by_a_policy_of_its_level(way):
    levels = way(LEVELS) if way in (list, tuple) or torch and way is torch.tensor else np.asarray(LEVELS, way)
    made = Transform(GIVEN, seed=4)(images(), sample_ids=IDS, epoch=0, levels=levels)
    whole = Transform(TRAIN, seed=4)(images(), sample_ids=IDS, epoch=0, levels=levels)
    for i, level in enumerate(LEVELS):
        bin = round(level * 30)
        own = Transform(Policy("rand_augment").change(level=bin), seed=4)(images()[i], sample_ids=IDS[i], epoch=0)
        assert np.array_equal(made[i], own)
        assert np.array_equal(
            whole[i], Transform(at_level(TRAIN, bin), seed=4)(images()[i], sample_ids=IDS[i], epoch=0)
        )


def test_what_counts_as_the_weakest_and_the_strongest():
    augment = Transform(GIVEN)
    found = augment.draw(sample_ids=IDS, epoch=0, levels=[np.nan, -3, np.inf, 1])
    assert found == augment.draw(sample_ids=IDS[:2], epoch=0, levels=0) + augment.draw(
        sample_ids=IDS[2:], epoch=0, levels=1.0
    )
    assert {step["level"] for steps in found[:2] for step in steps} == {0}


def test_draws_have_the_levels_and_replay():
    for policy in (GIVEN, TRAIN):
        augment = Transform(policy, seed=6)
        made, draws = augment(images(), sample_ids=IDS, epoch=0, levels=LEVELS, return_draws=True)
        assert draws == augment.draw(sample_ids=IDS, epoch=0, size=(30, 40), levels=np.array(LEVELS))
        assert np.array_equal(augment.replay(images(), draws), made)
    one, draw = Transform(GIVEN, seed=6)(images()[2], sample_ids=IDS[2], epoch=0, levels=0.5, return_draws=True)
    assert {step["level"] for step in draw} == {15}


def test_every_way_to_call():
    augment, batch = Transform(GIVEN, seed=2), images()
    wanted = augment(batch, sample_ids=IDS, epoch=0, levels=LEVELS)
    assert np.array_equal(augment.apply_(batch.copy(), sample_ids=IDS, epoch=0, levels=LEVELS), wanted)
    pair = augment(batch, sample_ids=IDS, epoch=0, views=2, levels=LEVELS)
    assert np.array_equal(pair[0], wanted)
    assert np.array_equal(pair[1], augment(batch, sample_ids=IDS, epoch=0, view=1, levels=LEVELS))
    listed = augment(list(batch), sample_ids=IDS, epoch=0, levels=LEVELS)
    assert all(map(np.array_equal, listed, wanted))
    first = Transform(GIVEN, seed=2)
    by_id = augment(batch, sample_ids=range(4), epoch=0, levels=LEVELS)
    assert np.array_equal(first(batch, levels=LEVELS), by_id) and first.state_dict()["count"] == 4


def test_mixing_transforms_take_levels():
    labels, augment = np.array([0, 3, 1, 2]), Transform(MIXED, seed=1)
    made, targets, draws = augment(images(), sample_ids=IDS, epoch=0, labels=labels, levels=LEVELS, return_draws=True)
    again = augment.replay(images(), draws, labels=labels)
    assert np.array_equal(made, again[0]) and np.array_equal(targets, again[1])
    alike = Transform(at_level(MIXED, 15), seed=1)(images(), sample_ids=IDS, epoch=0, labels=labels)
    assert np.array_equal(augment(images(), sample_ids=IDS, epoch=0, labels=labels, levels=0.5)[0], alike[0])


def test_views_that_take_levels():
    text = (
        "motley: 1\nname: pair\nviews:\n  - {name: plain, stages: [{random_resized_crop: {size: 9}}]}\n"
        "  - {name: adapted, count: 2, stages: [{random_resized_crop: {size: 9}}, {policy: {name: rand_augment, "
        "level: given}}]}\n"
    )
    made = Transform(text, seed=9)(images(), sample_ids=IDS, epoch=0, levels=LEVELS)
    _, number, policy = Policy(text).views["adapted"]
    own = Transform(policy, seed=9)(images(), sample_ids=IDS, epoch=0, view=16 * number + 1, levels=LEVELS)
    assert all(map(np.array_equal, made["adapted"][1], own))
    with pytest.raises(motley.ArgumentError, match="no step of policy 'byol' has the level `given`"):
        Transform("byol")(images(), sample_ids=IDS, epoch=0, levels=LEVELS)


MOVES = "motley: 1\nname: moves\nbins: 11\nlevel: given\nops: {rotate: {range: [0, 90]}}\nbranches: [rotate]\n"


def followed_sample():
    batch = images()
    points = np.tile(np.array([[3.0, 4.0], [20.0, 11.0]], np.float32), (4, 1, 1))
    boxes = [np.array([[8.0, 9, 20, 25]], np.float32)] * 4
    return {"image": batch, "mask": batch[..., 0].copy(), "second": batch, "points": points, "boxes": boxes}


FOLLOWING = {"mask": Mask(), "second": Image(), "points": Points(), "boxes": Boxes(drop=False)}


@pytest.mark.parametrize("levels", [LEVELS, 0.7, np.array(LEVELS, np.float64)[:, None]])
def test_what_follows_moves_as_far_as_its_image(levels):
    follow, sample = motley.Follow(Transform(MOVES, seed=4), FOLLOWING), followed_sample()
    made, draws = follow(sample, sample_ids=IDS, epoch=0, levels=levels, return_draws=True)
    assert np.array_equal(made["image"], Transform(MOVES, seed=4)(images(), sample_ids=IDS, epoch=0, levels=levels))
    assert np.array_equal(made["second"], made["image"]) and np.array_equal(made["mask"], made["image"][..., 0])
    again = follow.replay(sample, draws)
    assert all(np.array_equal(made[key], again[key]) for key in made)
    alone = [follow({key: sample[key][i] for key in sample}, sample_ids=IDS[i], epoch=0,
                    levels=levels if np.ndim(levels) == 0 else np.ravel(levels)[i]) for i in range(4)]  # fmt: skip
    assert all(np.array_equal(made[key][i], one[key]) for i, one in enumerate(alone) for key in made)
    listed = follow([{key: sample[key][i] for key in sample} for i in range(4)], sample_ids=IDS, epoch=0, levels=levels)
    assert all(np.array_equal(one["points"], points) for one, points in zip(listed, made["points"]))
    second = follow(sample, sample_ids=IDS, epoch=0, views=2, levels=levels)[1]
    assert np.array_equal(second["mask"], second["image"][..., 0])


def test_levels_of_policies_that_work_in_boxes():
    text = motley.Policy("tf_auto_augment_detection_v0").show()
    policy = motley.Policy(re.sub(r"level: \d+", "level: given", text))
    follow, sample = motley.Follow(policy, {"boxes": Boxes(drop=False)}), followed_sample()
    made, draws = follow(sample, sample_ids=IDS, epoch=0, levels=LEVELS, return_draws=True)
    assert np.array_equal(follow.replay(sample, draws)["image"], made["image"])
    assert not np.array_equal(follow(sample, sample_ids=IDS, epoch=0, levels=0)["image"], made["image"])


def test_levels_that_followers_do_not_take():
    with pytest.raises(motley.ArgumentError, match="no step of policy 'rand_augment' has the level `given`"):
        motley.Follow("rand_augment", FOLLOWING)(followed_sample(), sample_ids=IDS, epoch=0, levels=LEVELS)
    with pytest.raises(motley.ArgumentError, match="want levels, a number from 0 to 1 for each of 4 images"):
        motley.Follow(MOVES, FOLLOWING)(followed_sample(), sample_ids=IDS, epoch=0)


@cuda
@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_what_follows_on_the_device(where):
    sample, following = followed_sample(), {"mask": Mask(), "points": Points()}
    wanted = motley.Follow(Transform(MOVES, seed=4), following)(sample, sample_ids=IDS, epoch=0, levels=LEVELS)
    batch = {"image": torch.from_numpy(sample["image"]).cuda().permute(0, 3, 1, 2)}
    batch.update((key, torch.from_numpy(sample[key]).to(where)) for key in following)
    levels = torch.tensor(LEVELS, device="cuda")
    made = motley.Follow(Transform(MOVES, seed=4), following)(batch, sample_ids=IDS, epoch=0, levels=levels)
    assert np.array_equal(made["mask"].cpu(), wanted["mask"])
    assert np.allclose(made["points"].cpu(), wanted["points"], atol=1e-3)


@pytest.mark.skipif(torch is None, reason="needs torch")
def test_the_module():
    augment = motley.torch.Transform(GIVEN, seed=4)
    batch = torch.from_numpy(images()).permute(0, 3, 1, 2)
    wanted = Transform(GIVEN, seed=4)(images(), sample_ids=IDS, epoch=0, levels=LEVELS)
    levels = torch.tensor(LEVELS, requires_grad=True)[:, None]
    assert np.array_equal(augment(batch, sample_ids=IDS, epoch=0, levels=levels).permute(0, 2, 3, 1), wanted)
    assert torch.equal(augment.eval()(batch, levels=levels), batch)


def test_what_is_refused():
    augment = Transform(GIVEN)
    refused("want levels, a number from 0 to 1 for each of 4 images", augment, images(), sample_ids=IDS, epoch=0)
    refused("levels has 3 numbers, there are 4 images", augment, images(), sample_ids=IDS, epoch=0, levels=LEVELS[:3])
    for wrong in "strong", True, [True] * 4, np.ones(4, bool):
        refused(
            "levels is .*, want a number from 0 to 1 for each image",
            augment,
            images(),
            sample_ids=IDS,
            epoch=0,
            levels=wrong,
        )
    with pytest.raises(motley.ArgumentError, match="no step of policy 'rand_augment' has the level `given`"):
        Transform("rand_augment")(images(), sample_ids=IDS, epoch=0, levels=LEVELS)
    assert np.array_equal(  # nothing is left behind
        augment(images(), sample_ids=IDS, epoch=0, levels=1),
        Transform(GIVEN)(images(), sample_ids=IDS, epoch=0, levels=[1] * 4),
    )


@pytest.mark.skipif(torch is None, reason="needs torch")
@pytest.mark.parametrize("name", ["levels", "sample_ids", "view"])
def test_tensors_without_memory_are_not_read(name):
    numbers = torch.zeros(4, dtype=torch.float32 if name == "levels" else torch.int64, device="meta")
    how = {"sample_ids": IDS, "levels": LEVELS, name: numbers}
    refused("no data", Transform(GIVEN), images(), epoch=0, error=NotImplementedError, **how)


@cuda
def test_on_the_device():
    batch = torch.from_numpy(images()).permute(0, 3, 1, 2).cuda()
    for policy in (GIVEN, TRAIN):
        wanted = Transform(policy, seed=4)(images(), sample_ids=IDS, epoch=0, levels=LEVELS)
        augment = motley.torch.Transform(policy, seed=4)
        on_device = torch.tensor(LEVELS, device="cuda")
        for levels in (on_device, on_device.double()[:, None], LEVELS, torch.tensor(LEVELS)):
            made = augment(batch, sample_ids=IDS, epoch=0, levels=levels).cpu()
            made = made if policy is TRAIN else made.permute(0, 2, 3, 1)
            assert np.array_equal(made, wanted)
        alike = augment(batch, sample_ids=IDS, epoch=0, levels=on_device.new_full((), 0.5))
        assert torch.equal(alike, augment(batch, sample_ids=IDS, epoch=0, levels=0.5))
        _, draws = augment(batch, sample_ids=IDS, epoch=0, levels=on_device, return_draws=True)
        assert draws == augment.draw(sample_ids=IDS, epoch=0, size=(30, 40), levels=on_device)
    with pytest.raises(motley.ArgumentError, match="levels is on CUDA device 0, want it on the host"):
        Transform(GIVEN)(images(), sample_ids=IDS, epoch=0, levels=torch.tensor(LEVELS, device="cuda"))


@cuda
def test_a_graph_reads_the_levels_that_are_there():
    augment = motley.torch.Transform(GIVEN, seed=4)
    batch, levels = torch.from_numpy(images()).permute(0, 3, 1, 2).cuda(), torch.zeros(4, device="cuda")
    out, ids = torch.empty_like(batch), torch.tensor(IDS)
    augment(batch, sample_ids=ids, epoch=0, levels=levels, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        augment(batch, sample_ids=ids, epoch=0, levels=levels, out=out)
    for now in (LEVELS, LEVELS[::-1]):
        levels.copy_(torch.tensor(now))
        graph.replay()
        wanted = Transform(GIVEN, seed=4)(images(), sample_ids=IDS, epoch=0, levels=now)
        assert np.array_equal(out.permute(0, 2, 3, 1).cpu(), wanted)
