# SPDX-License-Identifier: Apache-2.0
"""Policies with views: every result is a draw of its view's policy, and numbers are those of the epoch."""

import pickle

import motley
import numpy as np
import pytest
from conftest import cuda, refused, torch
from motley import Policy, Transform

IDS = [5, 2**40, 7]
PAIR = """
motley: 1
name: pair
views:
  - name: large
    stages: [{random_resized_crop: {size: 24}}, {flip: {horizontal: 0.5}}, {output: {mean: 0.5, std: 0.5}}]
  - {name: small, count: 3, number: 6, stages: [{random_resized_crop: {size: 9}}, {blur: {p: 0.5, radius: [0.1, 2]}}]}
"""
GROWS = """
motley: 1
name: grows
epochs: 20
stages:
  - random_resized_crop: {size: {from: [[0, 8], [10, 12]]}}
  - output: {}
  - mix: {mixup: {ramp: [[0, 0.2], [20, 2]]}, classes: 4, p: {from: [[0, 1], [15, 0]]}}
"""


def images():
    rng = np.random.default_rng(3)
    return [rng.integers(0, 256, (30 + 9 * i, 50 - 5 * i, 3), np.uint8) for i in range(3)]


@pytest.mark.parametrize("read", [0, 255, [0, 3, 200]])
def test_every_result_is_a_draw_of_its_view(read):
    made = Transform(PAIR, seed=9)(images(), sample_ids=IDS, epoch=4, view=read)
    assert made["large"].shape == (3, 3, 24, 24) and len(made["small"]) == 3
    for name, (count, number, policy) in Policy(PAIR).views.items():
        for j in range(count):
            view = 256 * np.asarray(read) + 16 * number + j
            own = Transform(policy, seed=9)(images(), sample_ids=IDS, epoch=4, view=view.tolist())
            result = made[name][j] if count > 1 else made[name]
            assert all(map(np.array_equal, result, own))


def equal(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("single", [False, True])
def test_results_are_written_where_it_is_said(single):
    batch = np.stack([image[:30, :40] for image in images()])
    batch, ids, n = (batch[1], IDS[1], ()) if single else (batch, IDS, (3,))
    multi = Transform(PAIR, seed=9)
    out = {"large": np.empty((*n, 3, 24, 24), np.float32), "small": np.empty((3 * (n or (1,))[0], 9, 9, 3), np.uint8)}
    wanted, made = multi(batch, sample_ids=ids, epoch=0, view=1), multi(batch, sample_ids=ids, epoch=0, view=1, out=out)
    assert equal(made, wanted) and made["large"] is out["large"]
    assert all(np.shares_memory(small, out["small"]) for small in made["small"])


def test_a_call_is_kept_for_batches_of_its_shape():
    multi = Transform(PAIR, seed=9)
    batches = [np.stack([np.roll(image, i)[:30, :40] for image in images()]) for i in range(3)]
    made = [multi(batch, sample_ids=IDS, epoch=0, view=i) for i, batch in enumerate(batches)]
    for i, batch in enumerate(batches):
        assert equal(made[i], multi(list(batch), sample_ids=IDS, epoch=0, view=i))
    assert not equal(made[0], made[1])


def test_samples_are_counted():
    _, number, own = Policy(PAIR).views["small"]
    multi, alone = (Transform(policy, seed=9) for policy in (PAIR, own))
    for _ in range(2):
        wanted = alone(images(), view=16 * number + 2)
        assert all(map(np.array_equal, multi(images())["small"][2], wanted))
    assert multi.state_dict() == alone.state_dict() == {"seed": 9, "count": 6, "epoch": None}
    again = Transform(PAIR)
    again.load_state_dict(multi.state_dict())
    assert equal(again(images()), multi(images()))


def test_pictures_stay_pictures():
    pil = pytest.importorskip("PIL.Image")
    made = Transform(PAIR, seed=9)([pil.fromarray(image) for image in images()], sample_ids=IDS, epoch=0)
    wanted = Transform(PAIR, seed=9)(images(), sample_ids=IDS, epoch=0)
    assert np.array_equal(made["large"], wanted["large"]) and made["small"][2][1].size == (9, 9)
    assert all(np.array_equal(np.stack(made["small"][j]), wanted["small"][j]) for j in range(3))
    one = Transform(PAIR, seed=9)(pil.fromarray(images()[1]), sample_ids=IDS[1], epoch=0)
    assert np.array_equal(one["large"], wanted["large"][1])
    assert all(np.array_equal(one["small"][j], wanted["small"][j][1]) for j in range(3))


def test_draws_come_with_each_result():
    made, draws = Transform(PAIR)(images(), sample_ids=IDS, epoch=0, return_draws=True)
    own = Policy(PAIR).views["small"][2]
    assert all(map(np.array_equal, Transform(own).replay(images(), draws["small"][2]), made["small"][2]))
    alike = np.stack([image[:30, :40] for image in images()])
    made, draws = Transform(PAIR)(alike, sample_ids=IDS, epoch=0, return_draws=True)
    assert draws == Transform(PAIR).draw(sample_ids=IDS, epoch=0, size=(30, 40))


def test_a_single_image_and_a_pickled_object():
    multi = pickle.loads(pickle.dumps(Transform(PAIR, seed=9)))
    multi.set_epoch(4)
    one = multi(images()[1], sample_ids=IDS[1], epoch=0)
    assert np.array_equal(one["large"], multi(images(), sample_ids=IDS, epoch=0)["large"][1])


@pytest.mark.parametrize("epoch", [0, 9, 10, 14, 15, 40])
def test_numbers_of_the_epoch(epoch):
    labels = np.array([0, 3, 1])
    batch, targets = Transform(GROWS, seed=1)(images(), sample_ids=IDS, epoch=epoch, labels=labels)
    plain = Policy(GROWS).at(epoch)
    assert plain.size == ((8, 8) if epoch < 10 else (12, 12)) and not plain.scheduled
    wanted, shares = Transform(plain, seed=1)(images(), sample_ids=IDS, epoch=epoch, labels=labels)
    assert np.array_equal(batch, wanted) and np.array_equal(targets, shares)
    assert (targets.max(1) == 1).all() == (epoch >= 15)


def test_draws_mix_by_the_numbers_of_their_epoch():
    stages = [{"random_resized_crop": {"size": 16}}, {"output": {}}]
    mix = {"mix": {"mixup": 0.4, "p": {"from": [[0, 0], [3, 1]]}}}
    transform, images = (
        motley.Transform({"epochs": 9, "stages": [*stages, mix]}, seed=3),
        np.zeros((8, 32, 32, 3), "u1"),
    )
    for epoch, kinds in (2, {"none"}), (3, {"mixup"}), (2, {"none"}):
        which = {"sample_ids": range(8), "epoch": epoch}
        draws = transform.draw(size=(32, 32), **which)
        assert draws == transform(images, labels=range(8), classes=8, return_draws=True, **which)[-1]
        assert {draw["mix"]["kind"] for draw in draws} == kinds


def test_an_epoch_keeps_its_policy():
    multi, which = Transform(GROWS), lambda epoch: (IDS, 0, epoch, None)
    first, _ = multi._in_epoch(multi.policy, which(15))
    assert multi._in_epoch(multi.policy, which(15))[0] is first
    assert multi._in_epoch(multi.policy, which(16))[0] is not first
    steps = Transform(GROWS.replace("mixup: {ramp: [[0, 0.2], [20, 2]]}", "mixup: 1"))
    assert steps._in_epoch(steps.policy, which(1))[0] is steps._in_epoch(steps.policy, which(2))[0]


def test_lengths_scale():
    policy = Policy("mobileone_train")
    assert policy.epochs == 300 and policy.scaled(90).epochs == 90
    assert policy.scaled(90).at(11).size == (192, 192)
    refused("no numbers that change", Policy("rand_augment").scaled, 9)


def test_what_is_refused():
    refused("'grows' changes with the epoch, and none is said", Transform(GROWS), images(), labels=[0, 1, 2])
    refused("view is 256, want a read of 0 to 255", Transform(PAIR), images(), sample_ids=IDS, epoch=0, view=256)
    with pytest.raises(motley.ArgumentError, match="labels are given, but policy 'pair' has no stage 'mix'"):
        Transform(PAIR)(images(), sample_ids=IDS, epoch=0, labels=[0, 1, 2])
    with pytest.raises(TypeError, match=r"Transform\(\) has no argument 'ids', did you mean 'sample_ids'"):
        Transform(PAIR)(images(), ids=IDS)
    for out, found in ({"tiny": 0}, "out is tiny"), (np.zeros(3), "out is a ndarray"):
        with pytest.raises(motley.ArgumentError, match=f"{found}, want a dictionary of large, small"):
            Transform(PAIR)(images(), sample_ids=IDS, epoch=0, out=out)
    with pytest.raises(motley.ArgumentError, match=r"out has shape \(3, 9, 9, 3\), want an array of shape \(9, "):
        Transform(PAIR)(images(), sample_ids=IDS, epoch=0, out={"small": np.zeros((3, 9, 9, 3), np.uint8)})


@pytest.mark.parametrize("shared", ["[{jitter: {brightness: 0.8}}]", "[{random_resized_crop: {size: 30}}]"])
@pytest.mark.parametrize("kind", [list, np.stack])
def test_shared_stages_run_once(shared, kind):
    text = PAIR.replace("views:", f"stages: {shared}\nviews:")
    batch = kind(images() if kind is list else [image[:30, :40] for image in images()])
    made = Transform(text, seed=9)(batch, sample_ids=IDS, epoch=0, view=2)
    half = Transform(text, seed=9, dtype="float16")(
        batch, sample_ids=IDS, epoch=0, view=2
    )  # not of the pictures in between
    assert np.array_equal(half["large"], made["large"].astype(np.float16)) and half["small"][0].dtype == np.float16
    alone = Transform(f"motley: 1\nname: pair\nstages: {shared}\n", seed=9)
    first = alone(batch, sample_ids=IDS, epoch=0, view=256 * 2 + 240)
    wanted = Transform(PAIR, seed=9)(first, sample_ids=IDS, epoch=0, view=2)
    assert np.array_equal(made["large"], wanted["large"]) and all(map(np.array_equal, made["small"], wanted["small"]))
    drawn, draws = Transform(text, seed=9)(batch, sample_ids=IDS, epoch=0, view=2, return_draws=True)
    assert all(map(np.array_equal, alone.replay(batch, draws[""]), first))
    assert equal(drawn, made) and equal(Transform(text).replay(batch, draws), made)


@cuda
@pytest.mark.parametrize("text", [PAIR, PAIR.replace("views:", "stages: [{jitter: {brightness: 0.8}}]\nviews:")])
@pytest.mark.parametrize("kind", [list, torch and torch.stack])
def test_views_on_the_device(text, kind):
    batch = [torch.from_numpy(image[:30, :40].copy()).permute(2, 0, 1) for image in images()]
    wanted = Transform(text, seed=9)(batch, sample_ids=IDS, epoch=0, view=2)
    for _ in range(2):  # described, and kept
        made, drawn = (
            Transform(text, seed=9)(
                kind([image.cuda() for image in batch]), sample_ids=IDS, epoch=0, view=2, return_draws=draws
            )
            for draws in (False, True)
        )
        for name, results in wanted.items():
            results = results if name == "small" else [results]
            assert all(map(torch.equal, results, [a.cpu() for a in (made[name] if name == "small" else [made[name]])]))
        assert torch.equal(drawn[0]["large"], made["large"]) and len(drawn[1]["large"]) == 3


@cuda
def test_a_graph_of_views_reads_the_levels_that_are_there():
    text = PAIR.replace("{blur: {p: 0.5, radius: [0.1, 2]}}", "{policy: {name: rand_augment, level: given}}")
    multi, batch = Transform(text, seed=9), torch.stack([torch.from_numpy(image[:30, :40]) for image in images()])
    batch, levels = batch.permute(0, 3, 1, 2).cuda(), torch.zeros(3, device="cuda")
    out = {"large": torch.empty(3, 3, 24, 24, device="cuda"), "small": batch.new_empty(9, 3, 9, 9)}
    multi(batch, sample_ids=IDS, epoch=0, levels=levels, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        multi(batch, sample_ids=IDS, epoch=0, levels=levels, out=out)
    for now in ([0.0, 1.0, 0.5], [1.0, 0.2, 0.0]):
        levels.copy_(torch.tensor(now))
        graph.replay()
        wanted = Transform(text, seed=9)(batch.cpu(), sample_ids=IDS, epoch=0, levels=now)
        assert torch.equal(out["large"].cpu(), wanted["large"])
        assert torch.equal(out["small"].cpu(), torch.cat(wanted["small"]))


def test_an_empty_list_has_empty_views():
    made = motley.Transform("dino")([], sample_ids=[], epoch=0)
    assert list(made) == ["global_1", "global_2", "local"]
    assert all(not len(batch) for batch in (made["global_1"], made["global_2"], *made["local"]))


def test_in_eval_each_view_is_the_middle_of_the_image():
    """A model in eval() gets the same dictionary, of which nothing was drawn."""
    torch_module = pytest.importorskip("motley.torch")
    batch = np.stack([image[:30, :40] for image in images()])
    module = torch_module.Transform("dino", layout="nhwc").eval()
    made = module(torch.from_numpy(batch))
    assert list(made) == ["global_1", "global_2", "local"] and len(made["local"]) == 8
    output = Policy("dino").views["global_1"][2].as_dict()["stages"][-1]
    square = Transform({"stages": [{"resize": {"size": [224, 224], "filter": "bicubic"}}, output]})(batch[:, :, 5:35])
    assert np.array_equal(made["global_1"], square) and torch.equal(made["global_1"], made["global_2"])
    assert all(torch.equal(crop, made["local"][0]) for crop in made["local"])
    module.train()
    assert not torch.equal(module(torch.from_numpy(batch))["global_1"], made["global_1"])


def test_two_times_all_views():
    first, second = Transform(PAIR, seed=9)(images(), sample_ids=IDS, epoch=4, view=3, views=2)
    for read, made in ((6, first), (7, second)):
        assert equal(made, Transform(PAIR, seed=9)(images(), sample_ids=IDS, epoch=4, view=read))


@pytest.mark.parametrize("text", [PAIR, PAIR.replace("views:", "stages: [{random_resized_crop: {size: 30}}]\nviews:")])
@pytest.mark.parametrize("kind", ["list", "batch", "samples"])
def test_masks_follow_every_view(text, kind):
    """Each as by a Follow of the view's own policy, whose images are the transform's."""
    batch = images() if kind != "batch" else np.stack([image[:30, :40] for image in images()])
    masks = [image[..., 0].copy() for image in batch]
    sample = {"image": batch, "mask": masks if kind != "batch" else np.stack(masks)}
    given = sample if kind != "samples" else [{"image": image, "mask": mask} for image, mask in zip(batch, masks)]
    follow = motley.Follow(Transform(text, seed=9), {"mask": motley.follow.Mask(fill=255)})
    made, draws = follow(given, sample_ids=IDS, epoch=4, view=2, return_draws=True)
    views, alone = Policy(text).views, Transform(text, seed=9)(batch, sample_ids=IDS, epoch=4, view=2)
    if "" in views:
        shared = motley.Follow(Transform(views.pop("")[2], seed=9), follow.following)
        sample = shared(sample, sample_ids=IDS, epoch=4, view=256 * 2 + 240)
    for name, (count, number, policy) in views.items():
        own = motley.Follow(Transform(policy, seed=9), follow.following)
        for j in range(count):
            wanted = own(sample, sample_ids=IDS, epoch=4, view=256 * 2 + 16 * number + j)
            result, image = (made[name][j], alone[name][j]) if count > 1 else (made[name], alone[name])
            if kind == "samples":
                result = {key: [one[key] for one in result] for key in result[0]}
            assert all(map(np.array_equal, result["image"], image))
            assert all(map(np.array_equal, result["mask"], wanted["mask"]))
    again = follow.replay(given, draws)
    one, other = (made, again) if kind != "samples" else ({"": x["large"][1]["mask"]} for x in (made, again))
    assert equal({"": one["large"]["mask"]}, {"": other["large"]["mask"]}) if kind != "samples" else equal(one, other)
    follow.transform.training = False
    still = follow(given, sample_ids=IDS)
    assert kind == "samples" or all(map(np.array_equal, still["small"][0]["mask"], still["small"][2]["mask"]))


def test_masks_follow_an_epochs_policy():
    text = GROWS[: GROWS.index("  - mix")]
    sample = {"image": images()[0], "mask": images()[0][..., 0].copy()}
    follow = motley.Follow(text, {"mask": motley.follow.Mask()})
    for epoch, side in ((9, 8), (10, 12)):
        made = follow(sample, sample_ids=3, epoch=epoch)
        wanted = motley.Follow(Policy(text).at(epoch), follow.following)(sample, sample_ids=3, epoch=epoch)
        assert made["mask"].shape == (side, side) and np.array_equal(made["mask"], wanted["mask"])
        assert np.array_equal(made["image"], wanted["image"])
    refused("changes with the epoch, and none is said", follow, sample)
