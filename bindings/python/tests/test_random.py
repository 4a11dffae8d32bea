# SPDX-License-Identifier: Apache-2.0
"""The two rules. Without ids each call draws anew: never frozen, never twins, in whatever process, with no warning. By
id (seed, epoch, id, view) decide, all of them said. And what cannot be meant is refused in the caller's words."""

import copy
import json
import multiprocessing
import os
import pickle
import sys
import threading

import children
import numpy as np
import pytest
from conftest import output_of, refused

import motley

try:
    import torch
except ImportError:
    torch = None

pytestmark = pytest.mark.filterwarnings("error")
needs_torch = pytest.mark.skipif(torch is None, reason="needs torch")


def pictures(count=64, seed=1):
    return np.random.default_rng(seed).integers(0, 256, (count, 8, 9, 3), np.uint8)


def several(draws):
    """The distinct draws of a list, which almost always differ."""
    return len({json.dumps(draw) for draw in draws})


# ---- without ids ----

SOURCES = {"default": dict, "seed": lambda: {"seed": 7}, "generator": lambda: {"generator": np.random.default_rng(5)}}
if torch is not None:
    SOURCES["torch"] = lambda: {"generator": torch.Generator().manual_seed(5)}


@pytest.mark.parametrize("how", SOURCES)
def test_each_call_draws_anew(how):
    stage, image = motley.Transform("simclr", **SOURCES[how]()), np.zeros((40, 40, 3), np.uint8)
    assert several([stage(image, return_draws=True)[1] for _ in range(64)]) == 64
    if how in ("seed", "default"):
        assert several([motley.Transform(stage).draw(1) for _ in range(64)]) == (1 if how == "seed" else 64)


@pytest.mark.parametrize("how", SOURCES)
def test_a_seed_repeats_a_run(how):
    def run():
        if torch is not None:
            torch.manual_seed(3)
        stages = [motley.TrivialAugmentWide(**SOURCES[how]()) for _ in range(2)]
        return [stage(pictures(), return_draws=True)[1] for stage in stages for _ in range(3)]

    if torch is not None or how != "default":
        first = run()
        assert run() == first and several(first) == (6 if how == "default" else 3)


def test_two_transforms_differ_and_copies_go_on():
    one, other = motley.TrivialAugmentWide(), motley.TrivialAugmentWide()
    assert one.draw(32) != other.draw(32)
    one = motley.TrivialAugmentWide(seed=3)
    one.draw(5)
    one(pictures(5))
    wanted = motley.TrivialAugmentWide(seed=3).draw(sample_ids=range(5, 37), epoch=0)
    for again in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one)), one):
        assert again.draw(32) == wanted  # none is counted
        again(pictures(32))
        assert again.state_dict() == {"seed": 3, "count": 37, "epoch": None}


@needs_torch
def test_evaluation_takes_nothing_from_torchs_generator():
    stage = pytest.importorskip("motley.torch").Transform("rand_augment").eval()
    state = torch.get_rng_state()
    stage(torch.from_numpy(pictures(2)).movedim(-1, 1))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("how", SOURCES)
def test_threads_draw_apart(how):
    stage, drawn, image = motley.Transform("simclr", **SOURCES[how]()), [], np.zeros((40, 40, 3), np.uint8)

    def work():
        for _ in range(16):
            drawn.append(stage(image, return_draws=True)[1])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert several(drawn) == len(drawn) == 64


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_pools_draw_apart(start):
    """By Python's generator in spawned workers, which have no torch; by torch's in the others."""
    stages, drawn = [motley.Transform("simclr", **SOURCES[how]()) for how in ("default", "seed")], []
    for _ in range(2):  # a pool for each epoch
        with multiprocessing.get_context(start).Pool(2) as pool:
            drawn += pool.map(children.Task(stages), range(16), chunksize=2)
    for of_one in zip(*drawn, children.draw_each(stages)):
        assert several(of_one) == 33


def of_children(context, stages, count=2):
    queue, drawn = context.Queue(), []
    for _ in range(count):  # named by the user, all alike
        process = context.Process(target=children.put, args=(stages, queue, 4), name="child")
        process.start()
        drawn += queue.get(timeout=60)
        process.join()
    return drawn


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_children_draw_apart(start, monkeypatch):
    """Of ranks, too, that no variable names: each has its own children."""
    stages, drawn = [motley.Transform("simclr", **SOURCES[how]()) for how in ("default", "seed")], []
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        motley._native.local.apart = None  # as in a process of that rank
        if torch is not None:
            torch.manual_seed(0)
        drawn += of_children(multiprocessing.get_context(start), stages)
    assert [several(of_one) for of_one in zip(*drawn)] == [16, 16]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("how", ["default", "seed"])
def test_forks_without_multiprocessing_draw_apart(how):
    stage, drawn = motley.Transform("simclr", **SOURCES[how]()), []
    for _ in range(3):
        reader, writer = os.pipe()
        if not os.fork():
            os.write(writer, json.dumps(children.draw_each([stage])).encode())
            os._exit(0)
        os.wait()
        drawn.append(os.read(reader, 1 << 16).decode())
        os.close(reader)
        os.close(writer)
    assert several(drawn) == 3


RANK = """
import json, sys
if "torch" in sys.argv:
    import torch
    torch.manual_seed(0)
else:
    import random
    random.seed(0)
import motley
print(json.dumps([motley.Transform("simclr", **how).draw(4) for how in ({}, {"seed": 7})]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("library", ["random", pytest.param("torch", marks=needs_torch)])
def test_the_launchers_rank_sets_draws_apart(library, forked, tmp_path):
    def drawn_by_rank(**environment):
        if library == "torch":
            return json.loads(forked(([script, library], environment))[0])
        return json.loads(output_of(sys.executable, script, library, env={**os.environ, **environment}))

    script = tmp_path / "rank.py"
    script.write_text(RANK)
    alone = drawn_by_rank()
    assert alone == drawn_by_rank() == drawn_by_rank(RANK="0") == drawn_by_rank(RANK="captain")
    ranks = [drawn_by_rank(**{name: "1"}) for name in ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")]
    assert ranks[0] == ranks[1] == ranks[2]
    ranks = [alone, ranks[0], drawn_by_rank(NODE_RANK="1", LOCAL_RANK="0")]
    for drawn in zip(*ranks):
        assert several(drawn) == 3


# ---- by id ----


def test_ids_want_an_epoch():
    image, sample = pictures()[0], {"image": pictures()[0], "mask": pictures()[0][..., 0]}
    message = (
        "no epoch, so that each pass would draw the same: want epoch= or set_epoch.., or the ids of a motley.torch"
    )
    for make in (motley.TrivialAugmentWide, lambda **how: motley.Transform("mobileone_train", **how)):
        refused(message, make(), image, sample_ids=3)
        refused(message, make(), list(pictures(2)), sample_ids=[3, 4])
        make(epoch=2)(image, sample_ids=3)
        make()(image, sample_ids=3, epoch=2)
        stage = make()
        stage.set_epoch(2)
        stage(image, sample_ids=3)
    refused(message, motley.RandAugment().draw, sample_ids=3)
    refused(message, motley.Follow("rand_augment"), sample, sample_ids=3)
    refused(message, motley.mix(mixup=1, classes=4), pictures(4), labels=range(4), sample_ids=range(4))
    refused("changes with the epoch, and none is said", motley.Transform("mobileone_train"), image)
    refused("seed is 3 in a call without sample_ids: want these, too", motley.RandAugment(), image, seed=3)
    from motley._random import word

    words = np.random.Generator(np.random.MT19937(1))  # whose random_raw() has 32 bits
    assert max(word(words) for _ in range(9)) >> 32
    refused("both seed and generator are given", motley.RandAugment, seed=3, generator=np.random.default_rng())
    refused("generator is a int, want a torch.Generator", motley.RandAugment, generator=3)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_an_epoch_that_was_set_in_another_process_is_refused(start):
    """A worker that lives on would not see the next one."""
    context, stages = multiprocessing.get_context(start), (motley.RandAugment(epoch=3), motley.RandAugment())
    stages[1].set_epoch(3)
    queue = context.Queue()
    process = context.Process(target=children.put_by_id, args=(stages, queue, pictures(1)[0]))
    process.start()
    found = queue.get(timeout=60)
    process.join()
    assert found[0] == stages[0](pictures(1)[0], sample_ids=3).tolist()
    assert "set_epoch(3) was called in another process" in found[1]


def test_ids_that_carry_epoch_and_view():
    from motley._random import Index

    stage, x = motley.TrivialAugmentWide(seed=5), pictures(4)
    wanted = stage(x, sample_ids=[7, 5, 7, 6], view=[0, 0, 1, 2], epoch=3)
    indices = [Index(7, 3), Index(5, 3), Index(7, 3, 1), Index(6, 3, 2)]
    array = np.array([[int(i), i.view, i.epoch] for i in indices])
    for ids in (indices, tuple(indices), array, *([torch.from_numpy(array)] if torch else [])):
        assert np.array_equal(stage(x, sample_ids=ids), wanted)
        assert stage.draw(sample_ids=ids) == stage.draw(sample_ids=[7, 5, 7, 6], view=[0, 0, 1, 2], epoch=3)
    assert np.array_equal(stage(x[2], sample_ids=indices[2]), wanted[2])
    two = stage(x, sample_ids=indices, views=2)
    assert np.array_equal(two[1], stage(x, sample_ids=[7, 5, 7, 6], view=[1, 1, 3, 5], epoch=3))
    follow = motley.Follow(stage)({"image": x, "mask": x[..., 0].copy()}, sample_ids=indices)
    assert np.array_equal(follow["image"], wanted)
    later = indices[2] + 10
    assert (later, later.epoch, later.view) == (17, 3, 1) and (1 + later - 2).epoch == 3
    assert pickle.loads(pickle.dumps(later)).view == 1 and type(int(later)) is int
    refused("view is 1, but the sample_ids carry their views", stage, x, sample_ids=indices, view=1)
    refused("epoch is 3, but the sample_ids carry their epoch", stage, x, sample_ids=indices, epoch=3)
    refused("are of the epochs .3, 4.: want a batch of one", stage, x[:2], sample_ids=[Index(1, 3), Index(2, 4)])
    for ids in [Index(1, 3), 2], [2, Index(1, 3)]:
        refused("some sample_ids carry their epoch and some do not", stage, x[:2], sample_ids=ids, epoch=3)
    assert stage(x[:0], sample_ids=array[:0]).shape[0] == 0


# ---- views ----


def test_views_draw_for_themselves():
    stage, x = motley.TrivialAugmentWide(seed=5), pictures()
    ids = np.arange(64)
    first, second = stage(x, sample_ids=ids, epoch=0), stage(x, sample_ids=ids, epoch=0, view=1)
    assert np.array_equal(first, stage(x, sample_ids=ids, epoch=0, view=0))
    same = sum(map(np.array_equal, first, second))
    assert same < 12
    mixed = stage(x, sample_ids=ids, epoch=0, view=ids % 2)
    assert np.array_equal(mixed[::2], first[::2]) and np.array_equal(mixed[1::2], second[1::2])
    forms = [list(ids % 2), tuple(ids % 2), (ids % 2).astype(np.uint8)]
    forms += [torch.from_numpy(ids % 2)] if torch else []
    for form in forms:
        assert np.array_equal(stage(x, sample_ids=ids, epoch=0, view=form), mixed)
    assert np.array_equal(stage(x, sample_ids=np.stack([ids, ids % 2], 1), epoch=0), mixed)
    assert np.array_equal(stage.apply_(x.copy(), sample_ids=ids, epoch=0, view=ids % 2), mixed)
    assert stage.draw(sample_ids=ids, epoch=0, view=1) != stage.draw(sample_ids=ids, epoch=0)
    assert stage.draw(sample_ids=ids, epoch=0, view=ids % 2)[1::2] == stage.draw(sample_ids=ids, epoch=0, view=1)[1::2]


def test_several_views_at_once():
    stage, x = motley.TrivialAugmentWide(seed=5), pictures()
    two = stage(x, sample_ids=range(64), epoch=0, views=2)
    assert isinstance(two, tuple)
    assert all(np.array_equal(made, stage(x, sample_ids=range(64), epoch=0, view=v)) for v, made in enumerate(two))
    three = stage(x, sample_ids=range(64), epoch=0, view=4, views=3)  # the reading numbered 4 makes views 12, 13, 14
    assert all(
        np.array_equal(made, stage(x, sample_ids=range(64), epoch=0, view=v)) for v, made in zip((12, 13, 14), three)
    )
    refused("out is given, but views is 2", stage, x, views=2, out=x)


@pytest.mark.parametrize("counter", [False, True])
@pytest.mark.parametrize("policy", ["trivial_augment_wide", "torchvision_train"])
def test_several_views_count_their_samples_once(policy, counter):
    x, count = pictures(12), np.array([0, 5]) if counter else None
    stage = motley.Transform(policy, seed=7, counter=count)
    for done in 12, 24:
        drawn = [stage.draw(12, size=(8, 9), view=v) for v in (0, 1)]
        made = stage(x, views=2, return_draws=True)
        assert [draws for _, draws in made] == drawn and drawn[0] != drawn[1]
        assert stage.state_dict()["count"] == done + 5 * counter
    # A list of samples counts each, in every view.
    follow, samples = motley.Follow(stage), [{"image": one, "mask": one[..., 0].copy()} for one in x]
    drawn = [stage.draw(12, size=(8, 9), view=v) for v in (0, 1)]
    for view, (made, wanted) in enumerate(zip(follow(samples, views=2), drawn)):
        assert len(made) == 12
        for one, draw, image in zip(made, wanted, x):
            assert np.array_equal(one["image"], stage.replay(image, draw)), view
    assert stage.state_dict()["count"] == 36 + 5 * counter


def test_what_the_host_draws_is_counted_in_a_counter(monkeypatch):
    """Mixing and return_draws read the counter, wherever it is; the work on a device is not there to do it."""
    x, labels = pictures(8), np.arange(8) % 3
    plain, mix = {"name": "x"}, {"mix": {"mixup": 0.4, "classes": 3}}
    for policy, how in ("trivial_augment_wide", {}), ({**plain, "stages": [mix]}, {"labels": labels}):
        counter = np.array([0, 5])
        stage = motley.Transform(policy, seed=7, counter=counter)
        drawn = []
        for done in 13, 21:
            wanted = stage.draw(8, size=(8, 9))
            drawn.append(stage(x, return_draws=True, **how)[-1])
            assert drawn[-1] == wanted and counter[1] == done
        assert drawn[0] != drawn[1]
        monkeypatch.setattr("motley._random.device_of", lambda x: 0)
        monkeypatch.setattr("motley._arrays.Torch.captures", lambda device: False)
        for first in 21, 29:  # as with images and counter on a device
            numbers, _ = stage._numbers(8, (None, 0, None, None), 0, True)
            assert numbers[2] == first and numbers[6] == 0 and counter[1] == first + 8
        numbers, _ = stage._numbers(8, (None, 0, None, None), 0, False)
        assert numbers[2] == 0 and numbers[6] == counter.ctypes.data and counter[1] == 37
        monkeypatch.undo()


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"view": -1}, "view is -1, want a whole number from 0 to 65535"),
        ({"view": 65536}, "view is 65536, want"),
        ({"view": 1.5}, "view is 1.5, want"),
        ({"view": [0] * 63}, "view has 63 numbers, there are 64 images"),
        ({"view": [0] * 63 + [70000]}, "view is 70000, want"),
        ({"views": 0}, "views is 0, want a whole number from 1"),
        (
            {"sample_ids": np.zeros((64, 4), int)},
            r"sample_ids has shape \(64, 4\), want \[N\], or \[N, 2\] or \[N, 3\]",
        ),
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
    refused(message, motley.RandAugment(), pictures(), **{"sample_ids": range(64), "epoch": 0, **arguments})


@pytest.mark.parametrize(
    "stage", [motley.Transform("rand_augment"), motley.Transform("torchvision_train"), motley.mix(mixup=1)]
)
@pytest.mark.parametrize("ids", [np.arange(-1, 3), np.array([-5])])
def test_draws_refuse_negative_ids(stage, ids):
    refused("sample_ids has a negative number", stage.draw, sample_ids=ids, epoch=0)


# ---- what cannot be meant ----


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"seed": "7"}, "seed is '7', want"),
        ({"seed": -1}, r"seed is -1, want a whole number from 0 to 2\^64 - 1"),
        ({"seed": 1.5}, "seed is 1.5, want"),
        ({"seed": 2**70}, "seed is 1180591620717411303424, want"),
        ({"epoch": 1.5}, "epoch is 1.5, want"),
        ({"seed": True}, "seed is True, want"),
        ({"threads": "2"}, "threads is '2', want a whole number from 0 \\(the default\\) to 1024, or None"),
        ({"threads": 1.5}, "threads is 1.5, want"),
        ({"threads": -1}, "threads is -1, want"),
        ({"normalize": (0.485, 0.456, 0.406)}, r"normalize is \(0.485, 0.456, 0.406\), want \(mean, std\)"),
        ({"normalize": 0.5}, r"normalize is 0.5, want \(mean, std\)"),
        ({"normalize": ("a", "b")}, "normalize's mean is 'a', want a number"),
        ({"normalize": (0.5, (0.2, 0.0, 0.2))}, "normalize's std is .*, want a number above 0"),
        ({"normalize": (0.5, float("nan"))}, "normalize's std is nan, want a number above 0"),
    ],
)
def test_stages_with_wrong_settings_raise(arguments, message):
    refused(message, motley.RandAugment, **arguments)


def test_bytes_are_normalised_on_the_scale_of_0_to_1():
    for numbers, wrong in ((123.7, 58.4), "mean is .123.7"), ((0.5, 58.4), "std is .58.4"):
        stage = motley.RandAugment(normalize=numbers)
        refused(wrong + ",., want numbers on the 0..1 scale .those of the 0..255", stage, np.zeros((9, 9, 3), np.uint8))


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
        (f"channels is True, {WHOLE} from 1 to 1024", lambda stage, mix, x: stage.draw(channels=True)),
        (f"sample_ids is .*True.*, {WHOLE}", lambda stage, mix, x: stage(x[0], sample_ids=TRUE, epoch=0)),
        (f"epoch is True, {WHOLE}", lambda stage, mix, x: stage(x, sample_ids=range(64), epoch=True)),
        (f"views is 0, {WHOLE} from 1", lambda *_: motley.Transform("rand_augment", views=0)),
        (f"views is True, {WHOLE} from 1", lambda stage, mix, x: stage(x, views=True)),
        ("counter has shape .2,. and dtype int32", lambda *_: motley.RandAugment(counter=np.zeros(2, np.int32))),
        ("counter has shape .3,. and dtype int64", lambda *_: motley.RandAugment(counter=np.zeros(3, np.int64))),
        (f"epoch is True, {WHOLE}", lambda stage, mix, x: motley.Transform("dino").by_view(True)),
        ("ids is 3, want those of several groups", lambda stage, mix, x: motley.group_ids(3, 2)),
        (f"counts is 1.5, {WHOLE}", lambda stage, mix, x: motley.group_ids([1, 2], 1.5)),
        ("fill is True, want", lambda stage, mix, x: motley.RandAugment(fill=True)),
        (f"a place of pairs is True, {WHOLE}", lambda stage, mix, x: motley.follow.Points(pairs=[(0, True)])),
        ("min_visibility is True, want a number", lambda stage, mix, x: motley.follow.Boxes(min_visibility=True)),
    ],
)  # fmt: skip
def test_what_is_no_whole_number_is_refused(message, call):
    refused(message, call, motley.RandAugment(), motley.mix(mixup=1, classes=2), pictures())


def test_draws_take_one_id_of_any_kind():
    stage = motley.RandAugment()
    for one in (3, np.int64(3), np.array(3)):
        assert stage.draw(sample_ids=one, epoch=0) == stage.draw(sample_ids=[3], epoch=0)


def test_numbers_that_are_whole_are_taken():
    for seed in (np.int64(7), np.uint8(7)):
        assert motley.RandAugment(seed=seed).seed == 7
    assert motley.rand_augment(seed=2**64 - 1).seed == 2**64 - 1


def test_images_that_are_none():
    stage, x = motley.RandAugment(), pictures(4)
    refused("dtype is float64, want uint8, uint16 or float32: cast them to float32", stage, x / 255)
    refused(r"the images have shape \(4, 0, 9, 3\), 0 high and 9 wide: want pixels", stage, x[:, :0])
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
    collate = motley.torch.MotleyCollate("rand_augment")
    for call in motley.RandAugment(), lambda images: motley.RandAugment()([images]), lambda x: collate([(x, 1)]):
        refused(f"tv_tensors.{kind}, which is no picture", call, made)
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


def calls_that_read():
    how = {"sample_ids": range(4), "epoch": 0}
    transform = motley.Transform("torchvision_train", seed=1)
    stage = motley.TrivialAugmentWide(seed=1)
    mix = motley.mix(mixup=1, classes=2, seed=1)
    yield lambda x: transform(x, **how)
    yield lambda x: transform.replay(x, transform.draw(4, size=(8, 9), **how))
    yield lambda x: list(transform(list(x), **how))
    yield lambda x: list(transform(tuple(x), **how))
    yield lambda x: stage(x, **how)
    yield lambda x: stage(list(x), **how)
    yield lambda x: stage(x, out=x.copy() if isinstance(x, np.ndarray) else x.clone(memory_format=DENSE), **how)
    yield lambda x: stage.replay(list(x), stage.draw(4, size=(8, 9), **how))
    yield lambda x: mix(x, labels=[0, 1, 0, 1], **how)
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
        refused("overlap|read-only|stride is 0", motley.Transform("rand_augment").apply_, expanded)
        assert len(made) == len(wanted) > 0
        assert all(np.array_equal(a, b) for a, b in zip(made, wanted))


# ---- groups ----


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
