# SPDX-License-Identifier: Apache-2.0
"""What wraps data sets, collates and prefetches: samples keep their type, followers and views come as batches, and what
is wrong is said. test_random_loaders.py has what is drawn."""

import collections
import contextlib
import copy
import pickle

import numpy as np
from PIL import Image
import pytest
from conftest import refused

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset  # noqa: E402

import motley  # noqa: E402
from motley.follow import Boxes, Mask  # noqa: E402
from motley.torch import Augmented, Index, Indexed, MotleyCollate, Prefetcher, Sampler, Transform  # noqa: E402

COUNT = 24


def pictures(count=COUNT, seed=1):
    return torch.randint(256, (count, 3, 8, 9), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)


def data():
    return TensorDataset(pictures(), torch.arange(COUNT))


def wanted(ids, epoch=0, view=0, seed=7):
    stage = motley.Transform("trivial_augment_wide", seed=seed)
    return stage(pictures()[torch.as_tensor(ids)], sample_ids=ids, epoch=epoch, view=view)


def augmented(dataset=None, **options):
    return Augmented(dataset or data(), "trivial_augment_wide", seed=7, **options)


# ---- data sets stay what they are ----


Named = collections.namedtuple("Named", "pixels label")


class Samples(Dataset):
    classes, root = ["cat", "dog"], "somewhere"

    def __init__(self, make):
        self.make = make

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return self.make(pictures()[i], i)


@pytest.mark.parametrize("kind", ["tuple", "list", "named", "dict", "bare"])
def test_samples_keep_their_type(kind):
    make = {
        "tuple": lambda x, i: (x, i),
        "list": lambda x, i: [x, i],
        "named": Named,
        "dict": lambda x, i: {"pixels": x, "label": i},
        "bare": lambda x, i: x,
    }[kind]
    key = "pixels" if kind == "dict" else 0
    dataset = Augmented(Samples(make), "trivial_augment_wide", seed=7, images=key)
    plain, sample = make(pictures()[3], 3), dataset[Index(3, 0)]
    assert type(sample) is type(plain)
    assert torch.equal(sample if kind == "bare" else sample[key], wanted([3])[0])
    indexed = Indexed(Samples(make))[3]
    if kind == "dict":
        assert indexed["sample_id"] == 3 and len(indexed) == 3
    else:
        assert isinstance(indexed, type(plain) if kind in ("tuple", "list") else tuple)
        assert indexed[-1] == 3 and len(indexed) == (2 if kind == "bare" else 3)
    if kind == "named":
        assert indexed._fields == ("pixels", "label", "sample_id") and indexed.label == 3
        assert pickle.loads(pickle.dumps(indexed)).sample_id == 3
    for wrapped in (dataset, Indexed(Samples(make))):
        assert wrapped.classes == ["cat", "dog"] and wrapped.root == "somewhere" and len(wrapped) == COUNT
        wrapped.dataset.images, wrapped.dataset.views = ["a.jpg"], 3
        assert wrapped.images == ["a.jpg"] and wrapped.views == 3
        with pytest.raises(AttributeError, match="targets"):
            _ = wrapped.targets
    again = copy.deepcopy(dataset)
    assert torch.equal(again[Index(3, 0)] if kind == "bare" else again[Index(3, 0)][key], wanted([3])[0])


def test_named_tuples_go_through_workers():
    batch = next(iter(DataLoader(Indexed(Samples(Named)), 4, num_workers=1)))
    assert batch.sample_id.tolist() == batch.label.tolist() == [0, 1, 2, 3]


class Stream(IterableDataset):
    """A data set without indices, which keeps its place as torchdata's StatefulDataLoader asks it to."""

    at = 0

    def __iter__(self):
        while self.at < COUNT:
            self.at += 1
            yield pictures()[self.at - 1], self.at - 1
        self.at = 0

    def state_dict(self):
        return {"at": self.at}


def test_iterable_data_sets():
    dataset = augmented(Stream())
    assert isinstance(dataset, IterableDataset) and isinstance(dataset, Augmented)
    samples = iter(dataset)
    assert [next(samples)[1] for _ in range(3)] == [0, 1, 2] and dataset.state_dict() == {"at": 3}
    assert len(list(pickle.loads(pickle.dumps(dataset)))) == COUNT - 3
    refused("the data set is an IterableDataset, which is read without indices", Indexed, Stream())


@pytest.mark.parametrize("mode", ["P", "PA", "CMYK", "YCbCr", "HSV"])
def test_pil_images_that_hold_no_brightness_are_refused(mode):
    image = Image.new(mode, (8, 6))
    calls = lambda: augmented(Samples(lambda x, i: (image, i)))[0], lambda: MotleyCollate("rand_augment")([(image, 1)])
    for call in calls:
        refused(f"the PIL image has mode {mode}, want L, LA, RGB, RGBA, I;16 or F", call)


def test_indices_end_with_the_data_set():
    for wrapped in Indexed(data()), augmented():
        assert wrapped[-COUNT] is not None
        with pytest.raises(IndexError, match=f"index {-COUNT - 1} of a data set of {COUNT} samples"):
            wrapped[-COUNT - 1]


class Many(Dataset):
    """As Hugging Face's data sets are: several samples are read at once."""

    def __init__(self):
        self.reads = 0

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        self.reads += 1
        return pictures()[i], i

    def __getitems__(self, indices):
        self.reads += 1
        return [(pictures()[i], i) for i in indices]


def test_samples_are_read_at_once_where_the_data_set_can():
    for wrapper in (augmented, Indexed):
        many = Many()
        dataset = wrapper(many)
        for images, ids, *index in DataLoader(dataset, 6, sampler=Sampler(range(COUNT))):
            want = wanted(ids) if wrapper is augmented else pictures()[ids]
            assert torch.equal(images, want) and all(torch.equal(i[:, 0], ids) for i in index)
        assert many.reads == 4


@pytest.mark.parametrize("i", [np.int64(3), torch.tensor(3), 3 - COUNT])
def test_any_whole_number_is_an_index(i):
    assert Indexed(data())[i][2] == 3
    assert type(Augmented(Indexed(Samples(lambda x, i: (x, i))), "rand_augment")[Index(3, 1)][1]) is int
    assert torch.equal(augmented()[Index(3 - COUNT, 0)][0], wanted([3])[0])


def test_wrappers_keep_what_a_stage_has():
    stage = motley.Transform("trivial_augment_wide", seed=7, views=2)
    first, second = Augmented(data(), stage)[Index(3, 0)][0]
    assert torch.equal(first, wanted([3])[0]) and torch.equal(second, wanted([3], view=1)[0])


# ---- the prefetcher's state, and what it takes ----


class Ahead:
    """Stand-ins for streams, so that the prefetcher works a batch ahead without a GPU."""

    def wait_stream(self, other):
        pass

    wait_event = wait_stream

    def record_event(self):
        return None


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("kind", ["torch", "core"])
def test_a_checkpoint_counts_what_was_handed_over(ahead, kind, monkeypatch):
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Ahead())
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())

    def make(batches):
        stage = (Transform if kind == "torch" else motley.Transform)("trivial_augment_wide", seed=7)
        prefetcher = Prefetcher(batches, stage, "cpu")
        prefetcher.stream = Ahead() if ahead else None
        return prefetcher

    batches = [(pictures(4, seed=i),) for i in range(4)]
    whole, states, run = make(batches), [], []
    for _ in range(2):
        for (images,) in whole:
            states.append(whole.state_dict())
            run.append(images)
    assert [state["count"] for state in states] == [4 * i for i in range(1, 9)]
    for k in range(1, 8):  # a checkpoint after each batch
        resumed = make(batches[k % 4 :])
        resumed.load_state_dict(states[k - 1])
        assert torch.equal(next(iter(resumed))[0], run[k])


def collated(samples, **keys):
    return MotleyCollate("rand_augment", **keys)(samples)


def prefetched(*batches, **keys):
    return list(Prefetcher(batches, "rand_augment", "cpu", **keys))


X = pictures(2)
PAIRS = [(x, 1) for x in X]
WANT = "want a tuple, a list or a dictionary with the"
FILES = r"the images are one tensor of shape \(4, 90\), as a loader stacks files of equal length: want a list of their"
WRONG = [
    (lambda: Transform("rand_augment")([1]), "images are a builtins.int, want a torch, NumPy, CuPy, JAX or other"),
    (lambda: Transform("rand_augment")([b"file"]), "images are a builtins.bytes, want decoded images: a torch, NumPy,"),
    (lambda: Transform("rand_augment").set_epoch(1.5), "epoch is 1.5, want"),
    (lambda: augmented([{"picture": X[0], "label": 1}])[0], "a sample has no image at 0: it has the keys picture"),
    (lambda: collated(PAIRS, images=2), "a sample has no image at 2: it has 2 items"),
    (lambda: collated(PAIRS, ids=2), "a sample has no sample ids at 2: it has 2 items; motley.torch.Indexed adds them"),
    (lambda: collated(PAIRS, ids=1), "sample_ids are given, but no epoch, so that each pass would draw the same: want"),
    (lambda: collated([*X]), f"a sample is a Tensor, {WANT} image at 0"),
    (lambda: collated([(X[0],), (X[0, :, 1:],)]), r"batch have shapes \(3, 7, 9\) and \(3, 8, 9\), want one size"),
    (lambda: collated([(X[0],), (X[0].numpy(),)]), "some images of a batch are tensors and some are not, want"),
    (lambda: prefetched(X), f"a batch is a Tensor, {WANT} images at 0"),
    (lambda: prefetched({"picture": X}), "a batch has no images at 0: it has the keys picture"),
    (lambda: prefetched((X, 1), ids=2), "a batch has no sample ids at 2"),
    (lambda: prefetched((X, torch.arange(2)), ids=True), "True is given for the sample ids, want an index or a key of"),
    (lambda: prefetched((torch.zeros(4, 90, dtype=torch.uint8), 1)), FILES),
    (lambda: prefetched(([b"file"], 1), names=2), "a batch has no names at 2: it has 2 items"),
    (lambda: Prefetcher([], abs, "cpu").set_epoch(-1), "epoch is -1, want a whole number from 0"),
    (lambda: Prefetcher([], abs, "cpu").load_state_dict({"count": 0, "epoch": 3}), "the state has count, epoch, want"),
    (lambda: Indexed(X)[True], "the index is True, want a whole number of a sample"),
    (lambda: Index(1, 0, True), "view is True, want a whole number"),
    (lambda: Index(1, -1), "epoch is -1, want a whole number"),
    (lambda: MotleyCollate(3), "transform is a builtins.int, want a motley.Transform, a motley.Policy, a name"),
    (lambda: MotleyCollate(VIEWS, labels=1), "labels is 1, but 'pair' has no stage 'mix'"),
    (lambda: Augmented(data(), motley.Transform(VIEWS, seed=7), seed=3), "seed is 3, but the Transform that is given"),
    (lambda: Augmented(data(), motley.Follow("rand_augment"), seed=8), "seed is 8 beside a motley.Follow"),
    (lambda: MotleyCollate(motley.Follow("rand_augment"), images="image"), "images is 'image', but the Follow has its"),
]


@pytest.mark.parametrize("call, message", WRONG)
def test_wrong_arguments_raise_and_say_what_was_wanted(call, message):
    refused(message, call, error=(motley.ArgumentError, TypeError))


# ---- samples with followers ----


class Boxed(torch.utils.data.Dataset):
    """Samples as dictionaries: an image, a mask that numbers its pixels, and 0 to 2 boxes with labels."""

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        image = pictures()[i]
        height, width = image.shape[1:]
        boxes = torch.tensor([[1.0, 2, 9, 11], [3, 3, 12, 8]])[: i % 3]
        mask = torch.arange(height * width, dtype=torch.int32).reshape(height, width)
        return {"image": image, "mask": mask, "boxes": boxes, "labels": torch.arange(i % 3), "id": i}


@pytest.mark.parametrize("workers, start", [(0, None), (1, "forkserver")])
def test_followers_are_collated(workers, start):
    follow = motley.Follow(Transform("trivial_augment_wide", seed=7))
    collate = MotleyCollate(follow, ids="id")
    loader = DataLoader(
        Boxed(), 5, collate_fn=collate, num_workers=workers, multiprocessing_context=start, sampler=Sampler(Boxed())
    )
    alone = motley.Follow(motley.Transform("trivial_augment_wide", seed=7))
    for epoch in range(2):
        for batch in loader:
            assert torch.equal(batch["image"], wanted(batch["id"], epoch))
            for k, i in enumerate(batch["id"].tolist()):
                one = alone(Boxed()[i], sample_ids=i, epoch=epoch)
                assert torch.equal(batch["mask"][k], one["mask"]) and torch.equal(batch["boxes"][k], one["boxes"])
                assert torch.equal(batch["labels"][k], one["labels"])
            places = {labels.data_ptr() - 8 * labels.storage_offset() for labels in batch["labels"] if len(labels)}
            assert len(places) <= 1 or not workers  # a worker passes them on in one piece


def test_followers_of_several_views_are_collated():
    samples = [{**Boxed()[i], "id": Index(i, 0)} for i in range(3)]
    first, second = MotleyCollate(motley.Follow(Transform("trivial_augment_wide", seed=7, views=2)), ids="id")(samples)
    alone = motley.Follow(motley.Transform("trivial_augment_wide", seed=7))
    for view, batch in enumerate((first, second)):
        for i in range(3):
            one = alone(samples[i], sample_ids=i, epoch=0, view=view)
            assert torch.equal(batch["image"][i], one["image"]) and torch.equal(batch["boxes"][i], one["boxes"])


def test_what_cannot_be_stacked_stays_a_list():
    rest = [{"picture": Image.new("L", (3, 3)), "note": None, "tags": [1] * i, "number": i} for i in (1, 2)]
    kinds = {"boxes": Boxes(label_fields=["labels"], visibility="seen"), "masks": Mask()}
    follow = motley.Follow("rand_augment", kinds)
    samples = [{**Boxed()[i], **more} for i, more in enumerate(rest)]
    batch = MotleyCollate(follow)([{**sample, "masks": [sample["mask"]] * (i + 1)} for i, sample in enumerate(samples)])
    assert list(map(len, batch["masks"])) == [1, 2] and batch["masks"][1][0].shape == samples[1]["mask"].shape
    assert [batch[key] for key in ("picture", "note", "tags")] == [
        [one[key] for one in rest] for key in ("picture", "note", "tags")
    ]
    assert batch["number"].tolist() == [1, 2] and batch["image"].ndim == 4
    alike = MotleyCollate(follow)([{**samples[1], "masks": [samples[1]["mask"]]}] * 2)
    assert all(type(alike[key]) is list for key in ("boxes", "labels", "seen"))


# ---- policies with views ----


VIEWS = """
motley: 1
name: pair
views:
  - {name: large, stages: [{random_resized_crop: {size: 8}}, {output: {}}]}
  - {name: small, count: 2, stages: [{random_resized_crop: {size: 4}}, {flip: {horizontal: 0.5}}, {output: {}}]}
"""


def flat(made):
    return [made["large"], *made["small"]]


@pytest.mark.parametrize("form", ["augmented", "collate", "prefetcher", "passed"])
@pytest.mark.parametrize("workers", [0, 2])
def test_views_come_as_a_dictionary_of_batches(form, workers):
    sampler, seeded = Sampler(range(COUNT)), motley.Transform(VIEWS, seed=7)
    options = {"batch_size": 5, "num_workers": workers, "sampler": sampler}
    if form == "augmented":
        loader = DataLoader(Augmented(data(), seeded), **options)
    elif form == "collate":
        loader = DataLoader(Indexed(data()), collate_fn=MotleyCollate(seeded, ids=2), **options)
    else:
        loader = Prefetcher(DataLoader(Indexed(data()), **options), VIEWS if form == "passed" else seeded, "cpu", ids=2)
    alone = motley.Transform(VIEWS, seed=0 if form == "passed" else 7)
    for epoch in (0, 1, 6):
        sampler.set_epoch(epoch)
        for made, ids, *_ in loader:
            wanted = alone(pictures()[ids], sample_ids=ids, epoch=epoch)
            assert all(map(torch.equal, flat(made), flat(wanted))) and made["small"][1].shape[1:] == (3, 4, 4)


def test_views_of_pictures_are_tensors():
    images = [image[:, : 8 - i] for i, image in enumerate(pictures(3))]  # of several sizes
    samples = [(Image.fromarray(image.permute(1, 2, 0).numpy()), Index(i, 0)) for i, image in enumerate(images)]
    made, ids = MotleyCollate(motley.Transform(VIEWS, seed=7), ids=1)(samples)
    wanted = motley.Transform(VIEWS, seed=7)(images, sample_ids=ids, epoch=0)
    assert all(map(torch.equal, flat(made), flat(wanted)))


def test_sizes_that_change_with_the_epoch():
    text = "motley: 1\nname: g\nstages: [{random_resized_crop: {size: {from: [[0, 4], [1, 6]]}}}, {output: {}}]\n"
    loader = Prefetcher(DataLoader(Indexed(data()), 6, sampler=Sampler(range(COUNT))), text, "cpu", ids=2)
    assert [{tuple(made.shape[2:]) for made, *_ in loader} for _ in range(3)] == [{(4, 4)}, {(6, 6)}, {(6, 6)}]
    without = Prefetcher(DataLoader(data(), 6), text, "cpu")
    refused("policy 'g' changes with the epoch, and none is said", list, without)
    for epoch, size in enumerate((4, 6)):
        without.set_epoch(epoch)
        assert {tuple(made.shape[2:]) for made, _ in without} == {(size, size)}


# ---- items and collating ----


def test_indexed():
    indexed = Indexed(TensorDataset(pictures(), torch.arange(COUNT) + 50))
    image, label, i = indexed[3]
    assert (label, i) == (53, 3) and len(indexed) == COUNT
    assert Indexed([{"a": 1}])[0] == {"a": 1, "sample_id": 0}
    for sample in {"sample_id": "n01440764"}, collections.namedtuple("Sample", "image sample_id")(1, 2):
        refused("samples have a 'sample_id' of their own", Indexed([sample]).__getitem__, 0)


def test_collate_takes_what_data_sets_give():
    arrays = [image.permute(1, 2, 0).numpy() for image in pictures()]
    want = wanted(range(COUNT))
    stage = Transform("trivial_augment_wide", seed=7)
    for convert in (Image.fromarray, lambda array: array, lambda array: torch.from_numpy(array).permute(2, 0, 1)):
        samples = [{"image": convert(array), "label": 2 * i, "id": Index(i, 0)} for i, array in enumerate(arrays)]
        batch = MotleyCollate(stage, images="image", ids="id")(samples)
        assert torch.equal(batch["image"], want) and batch["label"].tolist() == list(range(0, 2 * COUNT, 2))
    grey = MotleyCollate(stage, ids=1)([(Image.fromarray(arrays[0][..., 0]), Index(0, 0))])[0]
    assert torch.equal(grey, stage(pictures()[:1, :1], sample_ids=[0], epoch=0))
    with pytest.raises(ValueError, match="want one size"):
        MotleyCollate(stage)([(np.zeros((4, 5, 3), "uint8"),), (np.zeros((4, 6, 3), "uint8"),)])
