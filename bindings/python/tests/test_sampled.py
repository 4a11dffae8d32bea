# SPDX-License-Identifier: Apache-2.0
"""What happens to those who say nothing: ranks and epochs differ, samples that come again are noticed, views draw for
themselves, and what cannot be meant is refused in the caller's words."""

import copy
import multiprocessing
import os
import pickle
import sys
import warnings

import numpy as np
import pytest
from conftest import output_of, refused

import motley
from motley import RepeatedSamples
from motley.samples import Count, Epoch

try:
    import torch
except ImportError:
    torch = None


def pictures(count=64, seed=1):
    return np.random.default_rng(seed).integers(0, 256, (count, 8, 9, 3), np.uint8)


def repeats(call):
    """How often `call` warns of samples that come again."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return sum(issubclass(w.category, RepeatedSamples) for w in caught)


# ---- ranks ----

DRAWS = """
import json, motley
print(json.dumps(motley.TrivialAugmentWide(**{}).draw(32)))
"""


def draws_of(environment, **options):
    clean = {k: v for k, v in os.environ.items() if "RANK" not in k and "PROCID" not in k}
    return output_of(sys.executable, "-c", DRAWS.format(options), env={**clean, **environment})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK"])
def test_the_launchers_rank_sets_draws_apart(name):
    alone, first, second = draws_of({}), draws_of({name: "0"}), draws_of({name: "1"})
    assert alone == first != second == draws_of({}, rank=1)
    assert draws_of({name: "1"}, rank=0) == alone  # what the caller says counts
    assert draws_of({name: "captain"}) == alone


@pytest.mark.slow
def test_nodes_of_lightnings_launcher_differ():
    ranks = [draws_of({"NODE_RANK": node, "LOCAL_RANK": local}) for node in "01" for local in "01"]
    assert len(set(ranks)) == 4


def in_child(stage, queue):
    queue.put(stage.draw(32))


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_children_of_ranks_differ(start, monkeypatch):
    context, seen = multiprocessing.get_context(start), []
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        queue, stage = context.Queue(), motley.TrivialAugmentWide()
        child = context.Process(target=in_child, args=(stage, queue), name="a child")
        child.start()
        seen.append(queue.get(timeout=60))
        child.join()
    assert seen[0] != seen[1]


# ---- samples that come again ----


@pytest.mark.parametrize("kind", ["one by one", "list", "array", "shuffled", "large"])
def test_an_epoch_that_stands_still_is_noticed_once(kind):
    stage, x = motley.RandAugment(), pictures()
    count = 20000 if kind == "large" else 64
    small = np.zeros((count, 1, 1, 3), np.uint8)

    def read(order):
        if kind == "one by one":
            for i in order:
                stage(x[i], sample_ids=int(i))
        elif kind == "list":
            for k in range(0, count, 8):
                stage(x[k : k + 8], sample_ids=list(order[k : k + 8]))
        else:
            for k in range(0, count, 100):
                stage(small[k : k + 100], sample_ids=np.ascontiguousarray(order[k : k + 100]))

    orders = [np.random.default_rng(epoch).permutation(count) for epoch in range(4)]
    orders = orders if kind in ("shuffled", "large") else [np.arange(count)] * 4
    assert repeats(lambda: read(orders[0])) == 0
    stage.set_epoch(1)
    assert repeats(lambda: read(orders[1])) == 0
    with pytest.warns(RepeatedSamples, match=r"sample \d+ came again in one epoch.*call set_epoch\(\)"):
        read(orders[2])
    assert repeats(lambda: read(orders[3])) == 0  # said once


def test_new_epochs_seeds_and_views_are_no_repeats():
    stage, x = motley.RandAugment(), pictures(4)
    assert repeats(lambda: [stage(x, sample_ids=range(4), epoch=e) for e in range(9)]) == 0
    assert repeats(lambda: [stage(x, sample_ids=range(4), seed=s) for s in (1, 1)]) == 0
    assert repeats(lambda: [stage(x, sample_ids=range(4), view=v) for v in range(9)]) == 0
    assert repeats(lambda: [stage(x) for _ in range(9)]) == 0
    for again in (copy.deepcopy(stage), pickle.loads(pickle.dumps(stage))):
        assert repeats(lambda: again(x, sample_ids=range(4))) == 0
        assert repeats(lambda: again(x, sample_ids=range(4))) == 1


def _followed(stage):
    follow = motley.Follow(stage, {"boxes": motley.follow.Boxes(drop=False)})
    return lambda x, sample_ids: follow({"image": x, "boxes": np.full((len(x), 1, 4), 2)}, sample_ids=sample_ids)


def _of_lists(stage):
    return lambda x, sample_ids: stage([*x[1:], x[0, ..., :1]], sample_ids=sample_ids)


def _mixed(mix):
    return lambda x, sample_ids: mix(x, [0] * len(x), sample_ids=sample_ids)


@pytest.mark.parametrize("kind", [
    "stage", "views", "channels", "transform", "mix", "follow", "follow transform", "module",
])  # fmt: skip
def test_the_warning_shows_the_line_of_the_caller(kind):
    call = {
        "stage": lambda: motley.RandAugment(),
        "views": lambda: motley.RandAugment(views=2),
        "channels": lambda: _of_lists(motley.RandAugment()),
        "transform": lambda: motley.Transform("torchvision_train"),
        "mix": lambda: _mixed(motley.Mix(mixup=1, classes=2)),
        "follow": lambda: _followed(motley.RandAugment()),
        "follow transform": lambda: _followed(motley.Transform("torchvision_train")),
        "module": lambda: pytest.importorskip("motley.torch").Transform("rand_augment"),
    }[kind]()
    x = pictures(4)
    if kind == "module":
        x = torch.from_numpy(x).movedim(-1, 1)
    with pytest.warns(RepeatedSamples) as caught:
        for _ in range(3):
            call(x, sample_ids=range(4))
    assert [one.filename for one in caught if issubclass(one.category, RepeatedSamples)] == [__file__]


def test_a_few_samples_that_come_again_are_not_an_epoch():
    stage, small = motley.RandAugment(), np.zeros((1000, 1, 1, 3), np.uint8)
    ids = np.concatenate([np.arange(900), np.arange(100)])  # as a sampler fills up the last rank's share
    assert repeats(lambda: stage(small, sample_ids=ids)) == 0


# ---- epochs that workers see ----


def read_epoch(epoch, queue, go):
    go.wait(60)
    queue.put(int(epoch))


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_children_see_the_epoch_change(start):
    context, epoch = multiprocessing.get_context(start), Epoch()
    queue, go = context.Queue(), context.Event()
    child = context.Process(target=read_epoch, args=(epoch, queue, go))
    child.start()
    epoch.set_epoch(7)
    go.set()
    assert queue.get(timeout=60) == 7
    child.join()
    assert int(copy.deepcopy(epoch)) == int(pickle.loads(pickle.dumps(epoch))) == 7


def test_passes_count():
    count = Count()

    def one(asked=2, own=None, drawn=True):
        epoch = count.begin(own, drawn)
        count.asked = asked
        return epoch

    assert [one(), one(), one()] == [0, 1, 2]
    count.given = 9
    assert [one(), one(asked=1), one(), one(drawn=True)] == [9, 10, 10, 11]  # a peek is none
    assert one(drawn=False) == 11  # nor is a pass in which nothing draws, as in eval()
    assert [one(own=5), one(own=6), one(own=6), one(own=7)] == [5, 6, 7, 7]  # a sampler's, while it advances


# ---- views ----


def test_views_draw_for_themselves():
    stage, x = motley.TrivialAugmentWide(seed=5), pictures()
    ids = np.arange(64)
    first, second = stage(x, sample_ids=ids), stage(x, sample_ids=ids, view=1)
    assert np.array_equal(first, stage(x, sample_ids=ids, view=0))
    same = sum(map(np.array_equal, first, second))
    assert same < 12
    mixed = stage(x, sample_ids=ids, view=ids % 2)
    assert np.array_equal(mixed[::2], first[::2]) and np.array_equal(mixed[1::2], second[1::2])
    forms = [list(ids % 2), tuple(ids % 2), (ids % 2).astype(np.uint8)]
    forms += [torch.from_numpy(ids % 2)] if torch else []
    for form in forms:
        assert np.array_equal(stage(x, sample_ids=ids, view=form), mixed)
    assert np.array_equal(stage(x, sample_ids=np.stack([ids, ids % 2], 1)), mixed)
    assert np.array_equal(stage.apply_(x.copy(), sample_ids=ids, view=ids % 2), mixed)
    assert stage.draw(sample_ids=ids, view=1) != stage.draw(sample_ids=ids)
    assert stage.draw(sample_ids=ids, view=ids % 2)[1::2] == stage.draw(sample_ids=ids, view=1)[1::2]


def test_several_views_at_once():
    stage, x = motley.TrivialAugmentWide(seed=5), pictures()
    two = stage(x, sample_ids=range(64), views=2)
    assert isinstance(two, tuple)
    assert all(np.array_equal(made, stage(x, sample_ids=range(64), view=v)) for v, made in enumerate(two))
    three = stage(x, sample_ids=range(64), view=4, views=3)  # the reading numbered 4 makes views 12, 13, 14
    assert all(np.array_equal(made, stage(x, sample_ids=range(64), view=v)) for v, made in zip((12, 13, 14), three))
    counted = motley.TrivialAugmentWide(seed=5, stream=0)
    assert all(map(np.array_equal, counted(x, views=2), two)) and counted.next_sample == 64
    refused("out is given, but views is 2", stage, x, views=2, out=x)


@pytest.mark.parametrize(
    "stage", [motley.RandAugment(), motley.Mix(mixup=1, classes=64), motley.MultiView("mobileone_train")]
)
def test_a_shallow_copy_counts_by_itself(stage):
    call = (lambda one: one(pictures(), range(64))[0]) if isinstance(stage, motley.Mix) else lambda one: one(pictures())
    one = copy.copy(stage)
    assert np.array_equal(call(one), call(stage))  # from the same number on
    call(one)
    one.set_epoch(3)
    assert (one.epoch, one.next_sample, stage.epoch, stage.next_sample) == (3, 0, 0, 64)


@pytest.mark.parametrize("make", [motley.TrivialAugmentWide, lambda: motley.Follow("rand_augment")])
def test_copies_that_a_pool_unpickles_for_each_task_warn(make):
    """map() of a pool sends the transform along with each task, and each counts from the same number."""
    image = pictures()[0]
    sample = {"image": image} if isinstance(make(), motley.Follow) else image
    task = pickle.dumps(make())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            pickle.loads(task)(sample, sample_ids=4, epoch=_)
        transform = pickle.loads(task)
        for _ in range(3):
            transform(sample)
    with pytest.warns(motley.RepeatedSamples, match="copies of a transform") as warned:
        for _ in range(3):
            pickle.loads(task)(sample)
    assert [warning.filename for warning in warned] == [__file__]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"view": -1}, "view is -1, want a whole number from 0 to 65535"),
        ({"view": 65536}, "view is 65536, want"),
        ({"view": 1.5}, "view is 1.5, want"),
        ({"view": [0] * 63}, "view has 63 numbers, there are 64 images"),
        ({"view": [0] * 63 + [70000]}, "view is 70000, want"),
        ({"views": 0}, "views is 0, want a whole number from 1"),
        ({"sample_ids": np.zeros((64, 3), int)}, r"sample_ids has shape \(64, 3\), want \[N\], or \[N, 2\]"),
        ({"sample_ids": np.arange(-1, 63)}, "sample_ids has a negative number"),
        ({"sample_ids": np.arange(64) > 2}, "one of sample_ids is False, want a whole number from 0 to 2"),
        ({"sample_ids": [*range(63), 1.5]}, "one of sample_ids is 1.5, want a whole number from 0 to 2"),
        ({"sample_ids": set(range(64))}, "is a set, whose order says nothing: want a list with one for each image"),
        ({"epoch": 1.5}, "epoch is 1.5, want a whole number from 0 to 2\\^30 - 1"),
        ({"epoch": 2**30}, "epoch is 1073741824, want"),
        ({"epoch": -1}, "epoch is -1, want a whole number from 0 to 2\\^30 - 1"),
        ({"seed": "7"}, "seed is '7', want a whole number from 0 to 2\\^64 - 1"),
    ],
)
def test_calls_with_wrong_samples_raise(arguments, message):
    with pytest.raises(motley.ArgumentError, match=message):
        motley.RandAugment()(pictures(), **{"sample_ids": range(64), **arguments})


@pytest.mark.parametrize(
    "stage", [motley.Transform("rand_augment"), motley.Transform("torchvision_train"), motley.Mix(mixup=1)]
)
@pytest.mark.parametrize("ids", [np.arange(-1, 3), np.array([-5])])
def test_draws_refuse_negative_ids(stage, ids):
    refused("sample_ids has a negative number", stage.draw, sample_ids=ids)


# ---- what cannot be meant ----


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"seed": None}, "seed is None, want a whole number from 0 to 2\\^64 - 1"),
        ({"seed": "7"}, "seed is '7', want"),
        ({"seed": 1.5}, "seed is 1.5, want"),
        ({"seed": 2**70}, "seed is 1180591620717411303424, want"),
        ({"epoch": 1.5}, "epoch is 1.5, want"),
        ({"rank": "0"}, "rank is '0', want a whole number from 0, or None"),
        ({"rank": -1}, "rank is -1, want"),
        ({"seed": True}, "seed is True, want"),
        ({"threads": "2"}, "threads is '2', want a whole number from 0 \\(the default\\) to 1024, or None"),
        ({"threads": 1.5}, "threads is 1.5, want"),
        ({"threads": -1}, "threads is -1, want"),
        ({"normalize": (0.485, 0.456, 0.406)}, r"normalize is \(0.485, 0.456, 0.406\), want \(mean, std\)"),
        ({"normalize": 0.5}, r"normalize is 0.5, want \(mean, std\)"),
        ({"normalize": ("a", "b")}, "normalize's mean is 'a', want a number"),
        ({"normalize": (123.7, 58.4)}, "normalize's mean is 123.7, want numbers on the 0..1 scale"),
        ({"normalize": (0.5, 58.4)}, "normalize's std is 58.4, want numbers above 0 on the 0..1 scale"),
        ({"normalize": (0.5, (0.2, 0.0, 0.2))}, "normalize's std is .*, want numbers above 0"),
    ],
)
def test_stages_with_wrong_settings_raise(arguments, message):
    refused(message, motley.RandAugment, **arguments)


WHOLE = "want a whole number"
TRUE = True if torch is None else torch.tensor(True)


@pytest.mark.parametrize(
    "message, call",
    [
        (f"count is -1, {WHOLE} from 0", lambda stage, mix, x: stage.draw(-1)),
        (f"count is True, {WHOLE} from 0", lambda stage, mix, x: mix.draw(True)),
        (f"count is 1.5, {WHOLE} from 0", lambda stage, mix, x: stage.draw(1.5)),
        ("size is 224, want .height, width.", lambda stage, mix, x: stage.draw(size=224)),
        (f"a side of size is True, {WHOLE} from 1", lambda stage, mix, x: stage.draw(size=(224, True))),
        (f"a side of size is 0.5, {WHOLE} from 1", lambda stage, mix, x: mix.draw(size=(0.5, 9))),
        (f"channels is True, {WHOLE} from 1 to 4", lambda stage, mix, x: stage.draw(channels=True)),
        (f"sample_ids is .*True.*, {WHOLE}", lambda stage, mix, x: stage(x[0], sample_ids=TRUE)),
        (f"epoch is True, {WHOLE}", lambda stage, mix, x: stage(x, sample_ids=range(64), epoch=True)),
        (f"views is True, {WHOLE} from 1", lambda stage, mix, x: stage(x, views=True)),
        (f"next_sample is -1, {WHOLE}", lambda stage, mix, x: setattr(stage, "next_sample", -1)),
        (f"next_sample is True, {WHOLE}", lambda stage, mix, x: setattr(mix, "next_sample", True)),
        ("counter has shape .2,. and dtype int32", lambda *_: motley.RandAugment(counter=np.zeros(2, np.int32))),
        ("counter has shape .3,. and dtype int64", lambda *_: motley.RandAugment(counter=np.zeros(3, np.int64))),
        (f"epoch is True, {WHOLE}", lambda stage, mix, x: motley.MultiView("dino").in_epoch(True)),
        ("ids is .*True.*, want a whole number", lambda stage, mix, x: motley.samples(TRUE)),
        ("ids is 3, want those of several groups", lambda stage, mix, x: motley.group_ids(3, 2)),
        (f"counts is 1.5, {WHOLE}", lambda stage, mix, x: motley.group_ids([1, 2], 1.5)),
        ("fill is True, want", lambda stage, mix, x: motley.RandAugment(fill=True)),
        (f"a place of pairs is True, {WHOLE}", lambda stage, mix, x: motley.follow.Points(pairs=[(0, True)])),
        ("min_visibility is True, want a number", lambda stage, mix, x: motley.follow.Boxes(min_visibility=True)),
    ],
)  # fmt: skip
def test_what_is_no_whole_number_is_refused(message, call):
    refused(message, call, motley.RandAugment(), motley.Mix(mixup=1, classes=2), pictures())


def test_draws_take_one_id_of_any_kind():
    stage = motley.RandAugment()
    for one in (3, np.int64(3), np.array(3)):
        assert stage.draw(sample_ids=one) == stage.draw(sample_ids=[3])


def test_numbers_that_are_whole_are_taken():
    for seed in (np.int64(7), np.uint8(7)):
        assert motley.RandAugment(seed=seed).seed == 7
    assert motley.RandAugment(seed=-1).seed == 2**64 - 1 == motley.RandAugment(seed=2**64 - 1).seed


def test_images_that_are_none():
    stage, x = motley.RandAugment(), pictures(4)
    hint = r"want uint8: pass uint8, for example \(x \* 255\).round\(\).to\(torch.uint8\)"
    refused(hint, stage, x / 255)
    with pytest.raises(
        motley.ArgumentError,
        match=r"the images have shape \(4, 0, 9, 3\), 0 high and 9 wide: "
        r"want pixels",
    ):
        stage(x[:, :0])
    refused("MaskedArray, whose mask would be lost", stage, np.ma.masked_array(x, x > 9))
    if torch is not None:
        with pytest.raises(motley.ArgumentError, match="a sparse or nested tensor, want a dense one"):
            stage(torch.zeros(3, 4, 5, dtype=torch.uint8).to_sparse())


@pytest.mark.parametrize("kind", ["Mask", "BoundingBoxes", "KeyPoints"])
def test_what_follows_an_image_is_not_augmented_as_one(kind):
    pytest.importorskip("torch")
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")
    if not hasattr(tv_tensors, kind):
        pytest.skip(f"this torchvision has no {kind}")
    import motley.torch

    data = torch.ones((1, 8, 8), dtype=torch.uint8)
    made = {
        "Mask": lambda: tv_tensors.Mask(data),
        "BoundingBoxes": lambda: tv_tensors.BoundingBoxes(data[0, :, :4], format="XYXY", canvas_size=(8, 8)),
        "KeyPoints": lambda: tv_tensors.KeyPoints(data[..., :2], canvas_size=(8, 8)),
    }[kind]()
    for call in (motley.RandAugment(), motley.torch.Transform("rand_augment")):
        for images in (made, [made]) if isinstance(call, motley.Transform) else (made,):
            refused(f"tv_tensors.{kind}, which is no picture", call, images)
    image = tv_tensors.Image(data)
    assert type(motley.RandAugment()(image)) is type(motley.torch.Transform("rand_augment")(image)) is tv_tensors.Image


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: motley.ops.rotate(x, "30"), "a value is '30', want a number"),
        (
            lambda x: motley.ops.rotate(x[..., :1], 30, fill=(9, 8, 6)),
            r"fill is \(9, 8, 6\), the images have 1 channels",
        ),
        (lambda x: motley.RandAugment(num_ops=0), "num_ops is 0, want a whole number from 1"),
        (lambda x: motley.RandAugment(magnitude=31), "magnitude is 31, want a whole number from 0 to 30"),
        (lambda x: motley.RandAugment(magnitude=9.5), "magnitude is 9.5, want a whole number"),
        (lambda x: motley.RandAugment(num_magnitude_bins=1), "num_magnitude_bins is 1"),
        (lambda x: motley.RandAugment(interpolation=1), "interpolation is 1, want one of nearest, bilinear, bicubic"),
    ],
)
def test_wrong_values_raise(call, message):
    refused(message, call, pictures(4))


def test_interpolations_of_pillow_and_torchvision():
    from PIL import Image

    given = [(0, "nearest"), (2, "bilinear"), (3, "bicubic"), ("nearest-exact", "nearest")]
    if hasattr(Image, "Resampling"):
        given += [(Image.Resampling.BILINEAR, "bilinear"), (Image.Resampling.BICUBIC, "bicubic")]
    try:
        from torchvision.transforms import InterpolationMode

        given += [(InterpolationMode.BILINEAR, "bilinear")]
        given += [(InterpolationMode.NEAREST_EXACT, "nearest")] if hasattr(InterpolationMode, "NEAREST_EXACT") else []
    except ImportError:
        pass
    for value, name in given:
        assert motley.RandAugment(interpolation=value).policy == motley.RandAugment(interpolation=name).policy
        assert np.array_equal(
            motley.ops.rotate(pictures(2), 20, interpolation=value),
            motley.ops.rotate(pictures(2), 20, interpolation=name),
        )


def test_expanded_images_are_read():
    x = pictures(1)
    wide = np.broadcast_to(x, (8, *x.shape[1:]))
    stage = motley.TrivialAugmentWide()
    want = stage(wide.copy(), sample_ids=range(8))
    assert np.array_equal(stage(wide, sample_ids=range(8)), want)
    if torch is not None:
        from motley.torch import Transform

        wide = torch.from_numpy(x).permute(0, 3, 1, 2).expand(8, -1, -1, -1)
        want = torch.from_numpy(want).permute(0, 3, 1, 2)
        assert torch.equal(stage(wide, sample_ids=range(8)), want)
        assert torch.equal(Transform("trivial_augment_wide")(wide, sample_ids=torch.arange(8)), want)
        refused("overlap", stage.apply_, wide)


def calls_that_read():
    how = {"sample_ids": range(4)}
    transform = motley.Transform("torchvision_train", seed=1)
    stage = motley.TrivialAugmentWide(seed=1)
    mix = motley.Mix(mixup=1, classes=2, seed=1)
    yield lambda x: transform(x, **how)
    yield lambda x: transform.replay(x, transform.draw(4, size=(8, 9), **how))
    yield lambda x: list(transform(list(x), **how))
    yield lambda x: list(transform(tuple(x), **how))
    yield lambda x: stage(list(x), **how)
    yield lambda x: stage(x, out=x.copy() if isinstance(x, np.ndarray) else x.clone(memory_format=DENSE), **how)
    yield lambda x: stage.replay(list(x), stage.draw(4, size=(8, 9), **how))
    yield lambda x: mix(x, [0, 1, 0, 1], **how)
    yield lambda x: motley.ops.resize(x, (5, 6))
    yield lambda x: motley.ops.resize(list(x), (5, 6))
    yield lambda x: motley.ops.rotate(list(x), 9)


DENSE = None if torch is None else torch.contiguous_format


@pytest.mark.parametrize("call", list(calls_that_read()))
def test_every_call_reads_expanded_images(call):
    grey = pictures(4)[..., :1]
    expanded = np.broadcast_to(grey, (4, 8, 9, 3))
    kinds = [(expanded, expanded.copy())]
    if torch is not None:
        expanded = torch.from_numpy(grey.copy()).permute(0, 3, 1, 2).expand(-1, 3, -1, -1)
        kinds.append((expanded, expanded.clone(memory_format=DENSE)))
    for expanded, dense in kinds:
        made, wanted = call(expanded), call(dense)
        assert len(made) == len(wanted) > 0
        assert all(np.array_equal(a, b) for a, b in zip(made, wanted))


# ---- groups ----


@pytest.mark.parametrize("name", ["rand_augment", "trivial_augment_wide", "auto_augment_imagenet"])
def test_images_of_a_group_draw_alike_and_each_is_looked_at_alone(name):
    pixels = np.random.default_rng(3).integers(0, 256, (12, 20, 24, 3), np.uint8)
    pixels[::2] //= 2  # other statistics
    stage = motley.Transform(name, seed=4)
    ids = motley.group_ids(range(3), 4)
    out, draws = stage(pixels, sample_ids=ids, return_draws=True)
    assert ids == [0] * 4 + [1] * 4 + [2] * 4
    for i, id_ in enumerate(ids):
        assert draws[i] == draws[4 * id_] and (stage(pixels[i], sample_ids=id_) == out[i]).all()
    assert draws[0] != draws[4]


def test_sizes_in_a_group():
    """Equal operations and levels; what is relative to the size is as large a part of it."""
    stage = motley.Transform("trivial_augment_wide", seed=4)
    images = [np.zeros((h, w, 3), np.uint8) for h, w in ((20, 24), (40, 48))] * 30
    draws = stage(images, sample_ids=motley.group_ids(range(30), 2), return_draws=True)[1]
    assert [[s["op"] for s in d] for d in draws[::2]] == [[s["op"] for s in d] for d in draws[1::2]]
    assert draws[::2] == draws[1::2], "nothing of TrivialAugmentWide is relative"
    draws = motley.Transform("rand_augment", seed=4)(
        images, sample_ids=motley.group_ids(range(30), 2), return_draws=True
    )[1]
    pairs = [(a, b) for one, other in zip(draws[::2], draws[1::2]) for a, b in zip(one, other)]
    moved = [(a, b) for a, b in pairs if a["op"].startswith("translate")]
    assert all(a["op"] == b["op"] for a, b in pairs) and moved
    assert all(abs(b["value"] - 2 * a["value"]) <= 1 for a, b in moved)


def test_group_ids():
    assert motley.group_ids([7, 9], 2) == [7, 7, 9, 9] and motley.group_ids((7, 9), [1, 3]) == [7, 9, 9, 9]
    rows = np.array([[7, 0], [9, 1]])
    assert motley.group_ids(rows, [2, 0]).tolist() == [[7, 0], [7, 0]]
    if torch is not None:
        ids = motley.group_ids(torch.tensor([3, 5]), torch.tensor([1, 2]))
        assert ids.tolist() == [3, 5, 5] and ids.dtype == torch.int64
    for counts, message in [
        ([1], "counts has 1 numbers, there are 2 ids"),
        (-1, "counts is -1, want a whole number from 0"),
        (1.5, "counts"),
    ]:
        with pytest.raises((motley.ArgumentError, TypeError), match=message if message != "counts" else None):
            motley.group_ids([7, 9], counts)


def test_groups_are_no_repetitions():
    """Frames share a draw on purpose; repeated clips give a warning."""
    stage, pixels = motley.Transform("rand_augment"), np.zeros((1024, 4, 4, 3), np.uint8)

    def one_pass():
        for i in range(4):
            stage(pixels, sample_ids=motley.group_ids(range(64 * i, 64 * (i + 1)), 16))

    assert repeats(one_pass) == 0 and repeats(one_pass) == 1
