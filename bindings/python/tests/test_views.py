# SPDX-License-Identifier: Apache-2.0
"""motley.MultiView: every result is a draw of its view's policy, and numbers are those of the epoch."""

import pickle

import motley
import numpy as np
import pytest
from conftest import cuda, refused, torch
from motley import MultiView, Policy, Transform

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
    made = MultiView(PAIR, seed=9)(images(), sample_ids=IDS, epoch=4, view=read)
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
    multi = MultiView(PAIR, seed=9)
    out = {"large": np.empty((*n, 3, 24, 24), np.float32), "small": np.empty((3 * (n or (1,))[0], 9, 9, 3), np.uint8)}
    wanted, made = multi(batch, sample_ids=ids, epoch=0, view=1), multi(batch, sample_ids=ids, epoch=0, view=1, out=out)
    assert equal(made, wanted) and made["large"] is out["large"]
    assert all(np.shares_memory(small, out["small"]) for small in made["small"])


def test_a_call_is_kept_for_batches_of_its_shape():
    multi = MultiView(PAIR, seed=9)
    batches = [np.stack([np.roll(image, i)[:30, :40] for image in images()]) for i in range(3)]
    made = [multi(batch, sample_ids=IDS, epoch=0, view=i) for i, batch in enumerate(batches)]
    for i, batch in enumerate(batches):
        assert equal(made[i], multi(list(batch), sample_ids=IDS, epoch=0, view=i))
    assert not equal(made[0], made[1])


def test_samples_are_counted():
    _, number, own = Policy(PAIR).views["small"]
    multi, alone = (kind(what, seed=9) for kind, what in ((MultiView, PAIR), (Transform, own)))
    for _ in range(2):
        wanted = alone(images(), view=16 * number + 2)
        assert all(map(np.array_equal, multi(images())["small"][2], wanted))
    assert multi.state_dict() == alone.state_dict() == {"seed": 9, "count": 6, "epoch": None}
    again = MultiView(PAIR)
    again.load_state_dict(multi.state_dict())
    assert equal(again(images()), multi(images()))


def test_pictures_stay_pictures():
    pil = pytest.importorskip("PIL.Image")
    made = MultiView(PAIR, seed=9)([pil.fromarray(image) for image in images()], sample_ids=IDS, epoch=0)
    wanted = MultiView(PAIR, seed=9)(images(), sample_ids=IDS, epoch=0)
    assert np.array_equal(made["large"], wanted["large"]) and made["small"][2][1].size == (9, 9)
    assert all(np.array_equal(np.stack(made["small"][j]), wanted["small"][j]) for j in range(3))
    one = MultiView(PAIR, seed=9)(pil.fromarray(images()[1]), sample_ids=IDS[1], epoch=0)
    assert np.array_equal(one["large"], wanted["large"][1])
    assert all(np.array_equal(one["small"][j], wanted["small"][j][1]) for j in range(3))


def test_draws_come_with_each_result():
    made, draws = MultiView(PAIR)(images(), sample_ids=IDS, epoch=0, return_draws=True)["small"][2]
    own = Policy(PAIR).views["small"][2]
    assert all(map(np.array_equal, Transform(own).replay(images(), draws), made))


def test_a_single_image_and_a_pickled_object():
    multi = pickle.loads(pickle.dumps(MultiView(PAIR, seed=9)))
    multi.set_epoch(4)
    one = multi(images()[1], sample_ids=IDS[1], epoch=0)
    assert np.array_equal(one["large"], multi(images(), sample_ids=IDS, epoch=0)["large"][1])


@pytest.mark.parametrize("epoch", [0, 9, 10, 14, 15, 40])
def test_numbers_of_the_epoch(epoch):
    labels = np.array([0, 3, 1])
    batch, targets = MultiView(GROWS, seed=1)(images(), sample_ids=IDS, epoch=epoch, labels=labels)
    plain = Policy(GROWS).at(epoch)
    assert plain.size == ((8, 8) if epoch < 10 else (12, 12)) and not plain.scheduled
    wanted, shares = Transform(plain, seed=1)(images(), sample_ids=IDS, epoch=epoch, labels=labels)
    assert np.array_equal(batch, wanted) and np.array_equal(targets, shares)
    assert (targets.max(1) == 1).all() == (epoch >= 15)


def test_an_epoch_keeps_its_transforms():
    multi = MultiView(GROWS)
    first = multi.in_epoch(15)[""][2]
    assert multi.in_epoch(15)[""][2] is first
    assert multi.in_epoch(16)[""][2] is not first


def test_lengths_scale():
    policy = Policy.of("mobileone_train")
    assert policy.epochs == 300 and policy.scaled(90).epochs == 90
    assert policy.scaled(90).at(11).size == (192, 192)
    with pytest.raises(motley.ArgumentError, match="no numbers that change"):
        Policy.of("rand_augment").scaled(9)


@pytest.mark.parametrize("name", [n for n in Policy.names() if Policy.of(n).views or Policy.of(n).scheduled])
def test_built_ins(name):
    made = MultiView(name)(images(), sample_ids=IDS, epoch=0)
    for view, results in made.items() if isinstance(made, dict) else []:
        count, _, policy = Policy.of(name).views[view]
        for result in results if count > 1 else [results]:
            size = policy.size or (224, 224)  # of data2vec2's shared crop
            assert result.shape == (3, 3, *size) and result.dtype == np.float32


def test_what_is_refused():
    refused("'pair' has several views: want it in motley.MultiView", Transform, PAIR)
    refused("'grows' changes with the epoch", Transform, GROWS)
    with pytest.raises(motley.ArgumentError, match="view is 256, want a read of 0 to 255"):
        MultiView(PAIR)(images(), sample_ids=IDS, epoch=0, view=256)
    with pytest.raises(motley.ArgumentError, match="labels: want a policy that mixes images, and 'pair' has views"):
        MultiView(PAIR)(images(), sample_ids=IDS, epoch=0, labels=[0, 1, 2])
    with pytest.raises(TypeError, match=r"MultiView\(\) has no argument 'ids', did you mean 'sample_ids'"):
        MultiView(PAIR)(images(), ids=IDS)
    for out, found in ({"tiny": 0}, "out is tiny"), (np.zeros(3), "out is a ndarray"):
        with pytest.raises(motley.ArgumentError, match=f"{found}, want a dictionary of large, small"):
            MultiView(PAIR)(images(), sample_ids=IDS, epoch=0, out=out)
    with pytest.raises(motley.ArgumentError, match=r"out has shape \(3, 9, 9, 3\), want an array of shape \(9, "):
        MultiView(PAIR)(images(), sample_ids=IDS, epoch=0, out={"small": np.zeros((3, 9, 9, 3), np.uint8)})


@pytest.mark.parametrize("shared", ["[{jitter: {brightness: 0.8}}]", "[{random_resized_crop: {size: 30}}]"])
@pytest.mark.parametrize("kind", [list, np.stack])
def test_shared_stages_run_once(shared, kind):
    text = PAIR.replace("views:", f"stages: {shared}\nviews:")
    batch = kind(images() if kind is list else [image[:30, :40] for image in images()])
    made = MultiView(text, seed=9)(batch, sample_ids=IDS, epoch=0, view=2)
    half = MultiView(text, seed=9, dtype="float16")(
        batch, sample_ids=IDS, epoch=0, view=2
    )  # not of the pictures in between
    assert np.array_equal(half["large"], made["large"].astype(np.float16)) and half["small"][0].dtype == np.float16
    alone = Transform(f"motley: 1\nname: pair\nstages: {shared}\n", seed=9)
    first = alone(batch, sample_ids=IDS, epoch=0, view=256 * 2 + 240)
    wanted = MultiView(PAIR, seed=9)(first, sample_ids=IDS, epoch=0, view=2)
    assert np.array_equal(made["large"], wanted["large"]) and all(map(np.array_equal, made["small"], wanted["small"]))
    drawn = MultiView(text, seed=9)(batch, sample_ids=IDS, epoch=0, view=2, return_draws=True)
    assert all(map(np.array_equal, alone.replay(batch, drawn[""]), first))
    assert all(map(np.array_equal, drawn["large"][0], made["large"]))


@cuda
@pytest.mark.parametrize("text", [PAIR, PAIR.replace("views:", "stages: [{jitter: {brightness: 0.8}}]\nviews:")])
@pytest.mark.parametrize("kind", [list, torch and torch.stack])
def test_views_on_the_device(text, kind):
    batch = [torch.from_numpy(image[:30, :40].copy()).permute(2, 0, 1) for image in images()]
    wanted = MultiView(text, seed=9)(batch, sample_ids=IDS, epoch=0, view=2)
    for _ in range(2):  # described, and kept
        made, drawn = (
            MultiView(text, seed=9)(
                kind([image.cuda() for image in batch]), sample_ids=IDS, epoch=0, view=2, return_draws=draws
            )
            for draws in (False, True)
        )
        for name, results in wanted.items():
            results = results if name == "small" else [results]
            assert all(map(torch.equal, results, [a.cpu() for a in (made[name] if name == "small" else [made[name]])]))
        assert torch.equal(drawn["large"][0], made["large"]) and len(drawn["large"][1]) == 3


@cuda
def test_a_graph_of_views_reads_the_levels_that_are_there():
    text = PAIR.replace("{blur: {p: 0.5, radius: [0.1, 2]}}", "{policy: {name: rand_augment, level: given}}")
    multi, batch = MultiView(text, seed=9), torch.stack([torch.from_numpy(image[:30, :40]) for image in images()])
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
        wanted = MultiView(text, seed=9)(batch.cpu(), sample_ids=IDS, epoch=0, levels=now)
        assert torch.equal(out["large"].cpu(), wanted["large"])
        assert torch.equal(out["small"].cpu(), torch.cat(wanted["small"]))


def test_an_empty_list_has_empty_views():
    made = motley.MultiView("dino")([], sample_ids=[], epoch=0)
    assert list(made) == ["global_1", "global_2", "local"]
    assert all(not len(batch) for batch in (made["global_1"], made["global_2"], *made["local"]))
