# SPDX-License-Identifier: Apache-2.0
"""The two rules in loaders, with no warning anywhere. By plain indices every reading draws anew, whoever reads; by
those of a motley.torch.Sampler (seed, epoch, index, view) decide, whoever reads."""

import collections
import itertools
import math
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import refused

torch = pytest.importorskip("torch")
from torch.utils.data import BatchSampler, ConcatDataset, DataLoader, Dataset, DistributedSampler  # noqa: E402
from torch.utils.data import IterableDataset, SequentialSampler, WeightedRandomSampler  # noqa: E402

import motley  # noqa: E402
from motley.torch import Augmented, Index, Indexed, MotleyCollate, Prefetcher, Sampler, Transform  # noqa: E402

pytestmark = pytest.mark.filterwarnings("error")
COUNT = 24
POLICY = (
    "motley: 1\nname: t\nstages: [{random_resized_crop: {size: 12}}, {policy: rand_augment}, {jitter: {hue: 0.3}}]\n"
)


def picture():
    return torch.randint(256, (3, 24, 24), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)


class Pictures(Dataset):
    """One picture many times, with its index."""

    def __init__(self, transform=None):
        self.transform, self.classes = transform, ["cat", "dog"]

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        if not 0 <= i < COUNT:
            raise IndexError(i)
        return picture() if self.transform is None else self.transform(picture()), i


class Stream(IterableDataset):
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        return iter(
            [Pictures()[i] for i in range(worker.id if worker else 0, COUNT, worker.num_workers if worker else 1)]
        )


def augmented(**how):
    return Augmented(Pictures(), POLICY, **how)


def as_lists(samples):
    images, ids = zip(*samples)
    return list(images), torch.tensor(ids)


class OwnLoader(DataLoader):
    """Like timm's MultiEpochsDataLoader, which defines its own __iter__."""

    def __iter__(self):
        return iter([self.collate_fn([self.dataset[i] for i in batch]) for batch in self.batch_sampler])


def distinct(images):
    """The share of different images."""
    digests = [image.numpy().tobytes() for image in images]
    return len({*digests}) / len(digests)


# ---- by plain indices ----


def passes(loader, count=3):
    return [image for _ in range(count) for images, *_ in loader for image in images]


def made_anew(workers):
    return [image for _ in range(3) for image in passes(DataLoader(augmented(), 5, num_workers=workers), 1)]


def by_hand():
    augment = Transform(POLICY)
    return [image for _ in range(3) for images, _ in DataLoader(Pictures(), 5) for image in augment(images)]


def zipped():
    loader = DataLoader(augmented(), 5, shuffle=True)
    return [image for (one, _), (two, _) in zip(loader, loader) for images in (one, two) for image in images]


def rare():
    sampler = WeightedRandomSampler([0.9, *[0.1 / COUNT] * (COUNT - 1)], 60, replacement=True)
    return passes(DataLoader(augmented(), 5, sampler=sampler), 1)


def in_threads():
    with ThreadPoolExecutor(4) as threads:
        return [image for _ in range(3) for image, _ in threads.map(augmented().__getitem__, range(COUNT))]


PATTERNS = {
    "loader": lambda: passes(DataLoader(augmented(), 5, shuffle=True)),
    "workers": lambda: passes(DataLoader(augmented(), 5, num_workers=2)),
    "persistent": lambda: passes(DataLoader(augmented(), 5, num_workers=2, persistent_workers=True)),
    "a seed": lambda: passes(DataLoader(augmented(seed=7), 5, num_workers=2)),
    "a seed, persistent": lambda: passes(DataLoader(augmented(seed=7), 5, num_workers=2, persistent_workers=True)),
    "made anew": lambda: made_anew(0),
    "made anew, workers": lambda: made_anew(2),
    "a plain loop": lambda: [image for data in [augmented()] for _ in range(3) for image, _ in data],
    "threads": in_threads,
    "a loader of one's own": lambda: passes(OwnLoader(augmented(), 5)),
    "by hand": by_hand,
    "a rare image": rare,
    "zip": zipped,
    "two data sets": lambda: passes(DataLoader(ConcatDataset([augmented(), augmented()]), 5)),
    "a transform of the data set": lambda: passes(DataLoader(Pictures(motley.Transform(POLICY)), 5, num_workers=2)),
    "a module, persistent": lambda: passes(
        DataLoader(Pictures(Transform(POLICY)), 5, num_workers=2, persistent_workers=True)
    ),
    "collate": lambda: passes(DataLoader(Pictures(), 5, num_workers=2, collate_fn=MotleyCollate(POLICY))),
    "prefetcher": lambda: passes(Prefetcher(DataLoader(Pictures(), 5, collate_fn=as_lists), POLICY, "cpu")),
    "a stream": lambda: passes(DataLoader(Augmented(Stream(), POLICY), 5, num_workers=2)),
}
STARTED = {
    start: lambda start=start: passes(
        DataLoader(augmented(), 12, num_workers=2, persistent_workers=start == "spawn", multiprocessing_context=start)
    )
    for start in ("spawn", "forkserver")
}


@pytest.mark.parametrize("pattern", [*PATTERNS, *(pytest.param(start, marks=pytest.mark.slow) for start in STARTED)])
def test_no_reading_draws_as_another(pattern):
    """Nor does it in a second run, unless torch.manual_seed says so."""
    call, found = {**PATTERNS, **STARTED}[pattern], []
    for seed in (3, 3, 4) if pattern not in STARTED else (3,):
        torch.manual_seed(seed)
        found.append(call())
        assert distinct(found[-1]) > 0.97
    if pattern not in ("threads", "a stream", *STARTED):
        assert all(map(torch.equal, *found[:2])) and not torch.equal(found[0][0], found[2][0])


# ---- by those of a Sampler ----


def wanted(ids, epoch, view=0, seed=7):
    stage = motley.Transform(POLICY, seed=seed)
    return stage(picture().expand(len(ids), -1, -1, -1), sample_ids=ids, epoch=epoch, view=view)


class ByHand(Dataset):
    """A data set that calls its transform by the index that it gets."""

    def __init__(self):
        self.augment = motley.Transform(POLICY, seed=7)

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return self.augment(picture(), sample_ids=i), i


def loader_of(form, batch=5, workers=0, persistent=False, start=None, sampler=None):
    """A loader, and its Sampler."""
    sampler = Sampler(Pictures()) if sampler is None else sampler
    how = {"batch_size": batch, "sampler": sampler, "num_workers": workers, "persistent_workers": persistent}
    how["multiprocessing_context"] = start
    if form == "collate":
        return DataLoader(Pictures(), collate_fn=MotleyCollate(Transform(POLICY, seed=7), ids=1), **how), sampler
    if form == "prefetcher":
        loader = DataLoader(Indexed(Pictures()), **how)
        return Prefetcher(loader, motley.Transform(POLICY, seed=7), "cpu", ids=2), sampler
    data = {"augmented": lambda: augmented(seed=7), "by hand": ByHand}[form]()
    return DataLoader(data, **how), sampler


WORKERS = [(0, False, None), (2, False, "fork"), (2, True, "fork")]
SLOW = [
    ("augmented", 24, 1, True, "spawn"),
    ("augmented", 24, 1, False, "forkserver"),
    ("collate", 24, 1, True, "spawn"),
]


@pytest.mark.parametrize("form, batch, workers, persistent, start", [
    *((form, batch, *how) for form in ("augmented", "collate", "prefetcher", "by hand")
      for batch, how in zip((5, 4, 24), WORKERS)), *SLOW,
])  # fmt: skip
def test_a_sampler_says_the_draws_whoever_reads(form, batch, workers, persistent, start):
    loader, sampler = loader_of(form, batch, workers, persistent, start)

    def read(epochs):
        for epoch in epochs:
            for images, ids, *_ in loader:
                assert torch.equal(images, wanted(ids, epoch)), (form, epoch)

    read([0, 1])
    sampler.set_epoch(7)  # as a run that goes on does
    read([7, 8])
    assert sampler.epoch == 9


def test_views_epochs_and_orders_of_samplers():
    def order(sampler):
        return [(int(i), i.epoch, i.view) for i in sampler]

    twice = Sampler([3, 1, 3, 2, 1, 3], 4)
    assert order(twice) == [(3, 4, 0), (1, 4, 0), (3, 4, 1), (2, 4, 0), (1, 4, 1), (3, 4, 2)]
    assert {epoch for _, epoch, _ in order(twice)} == {5} and len(twice) == 6
    assert order(Sampler(type("Tensors", (), {"__iter__": lambda self: iter(torch.tensor([3, 1, 3]))})())) == [
        (3, 0, 0), (1, 0, 0), (3, 0, 1)
    ]  # fmt: skip
    for given, name in (torch.arange(3), "Tensor"), (Stream(), "Stream"), ("train", "str"), (3, "int"):
        refused(f"sampler is a {name}, want a sampler", Sampler, given)
    batches = Sampler(BatchSampler(SequentialSampler(range(5)), 2, False))
    assert [[*map(int, batch)] for batch in batches] == [[0, 1], [2, 3], [4]] and batches.batch_size == 2
    assert sorted(int(i) for i in Sampler(Pictures())) == [*range(COUNT)]
    refused(
        "does not repeat each index 2 times in a row: places up to 1 have 3 and 1", list, Sampler([3, 1], repeats=2)
    )
    for wrong in True, 0, "2":
        refused(f"repeats is {wrong!r}, want a number from 1, or None", Sampler, [1], repeats=wrong)
    refused("epoch is -1, want a whole number", Sampler, [1], -1)
    refused("sampler is a int, want a sampler or a data set", Sampler, 3)

    class Placed(list):
        state_dict, load_state_dict, other = dict, dict.update, 3

    placed = Sampler(Placed([1, 1, 2]))  # a loader would go on from its place, and the views count from the beginning
    assert placed.other == 3 and not hasattr(placed, "state_dict") and not hasattr(placed, "load_state_dict")
    copied = pickle.loads(pickle.dumps(Sampler(range(3), 5)))
    assert order(copied) == [(0, 5, 0), (1, 5, 0), (2, 5, 0)]


@pytest.mark.parametrize("inside", [False, True])
def test_the_epoch_of_a_distributed_sampler(inside):
    """Set where a script, Lightning or Accelerate sets it, and counted where nobody does."""
    distributed = DistributedSampler(range(COUNT), num_replicas=1, rank=0)
    sampler = Sampler(distributed)
    for epoch in 0, 1, 5, 6:
        (distributed if inside else sampler).set_epoch(epoch)
        assert {i.epoch for i in sampler} == {epoch} and distributed.epoch == epoch
    assert [{i.epoch for i in sampler} for _ in range(2)] == [{7}, {8}] and sampler.num_replicas == 1
    batches = Sampler(BatchSampler(distributed, 4, False))
    batches.set_epoch(9)
    assert {i.epoch for batch in batches for i in batch} == {9} and distributed.epoch == 9


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("done", [0, 2])
def test_ranks_and_a_run_that_goes_on_draw_what_one_process_does(ranks, done):
    """The rest of epoch 1 after `done` batches, as a loader that skips what was read reads it."""
    seen = []
    for rank in range(ranks):
        sampler = Sampler(DistributedSampler(range(COUNT), ranks, rank), 1)
        loader, _ = loader_of("augmented", 4, sampler=sampler)
        for images, ids in itertools.islice(loader, done, None):
            assert torch.equal(images, wanted(ids, 1))
            seen += ids.tolist()
    assert len({*seen}) == len(seen) == COUNT - 4 * done * ranks


@pytest.mark.parametrize("workers, done", [(0, 2), (0, 5), (2, 2)])
def test_a_stateful_loader_goes_on_in_the_middle(workers, done):
    """It skips what was read: the rest of epoch 1 and the epoch after it come as they would have."""
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader

    def loader(epoch=0):
        sampler = Sampler(DistributedSampler(range(COUNT), 1, 0), epoch)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that torchdata calls what torch has deprecated
            return stateful(augmented(seed=7), 4, sampler=sampler, num_workers=workers), sampler

    def read(batches):
        return [(ids.tolist(), images) for images, ids in batches]

    whole, sampler = loader()
    sampler.set_epoch(1)
    first, second = read(whole), read(whole)
    broken, sampler = loader()
    sampler.set_epoch(1)
    before = read(itertools.islice(broken, done))
    resumed, sampler = loader()
    sampler.set_epoch(1)
    resumed.load_state_dict(pickle.loads(pickle.dumps(broken.state_dict())))
    rest, after = read(resumed), read(resumed)
    for made, want, epoch in (before + rest, first, 1), (after, second, 2):
        assert [ids for ids, _ in made] == [ids for ids, _ in want] and len(made) == 6
        for (ids, images), (_, others) in zip(made, want):
            assert torch.equal(images, others) and torch.equal(images, wanted(ids, epoch))


class Repeating(torch.utils.data.Sampler):
    """As torchvision's references/classification/sampler.py has it: repeated augmentation, dealt out to ranks."""

    def __init__(self, count, num_replicas, rank, repetitions=3):
        self.count, self.num_replicas, self.rank, self.repetitions = count, num_replicas, rank, repetitions

    def __iter__(self):
        indices = [i for i in range(self.count) for _ in range(self.repetitions)]
        return iter(indices[self.rank :: self.num_replicas])

    def __len__(self):
        return len(range(self.rank, self.count * self.repetitions, self.num_replicas))


@pytest.mark.parametrize("workers", [0, 2])
def test_repeated_augmentation(workers):
    for ranks in 1, 2, 3:
        seen = collections.Counter()
        for rank in range(ranks):
            sampler = Sampler(Repeating(COUNT, ranks, rank))
            views = [(int(i), i.view) for i in sampler]
            sampler.set_epoch(2)
            loader, _ = loader_of("augmented", 6, workers, sampler=sampler)
            got = [image for images, _ in loader for image in images]
            assert all(torch.equal(image, wanted([i], 2, view)[0]) for image, (i, view) in zip(got, views))
            seen.update(views)
        assert seen == {(i, view): 1 for i in range(COUNT) for view in range(3)}


@pytest.mark.parametrize("repeats, ranks", [(3, 2), (2.5, 3)])
def test_repeated_augmentation_of_timm(repeats, ranks):
    timm = pytest.importorskip("timm.data.distributed_sampler")
    seen = collections.Counter()
    for rank in range(ranks):
        sampler = timm.RepeatAugSampler(range(512), num_replicas=ranks, rank=rank, num_repeats=repeats)
        seen.update((int(i), i.view) for i in Sampler(sampler))
    assert max(seen.values()) == 1 and max(view for _, view in seen) == math.ceil(repeats) - 1


def test_passes_without_an_end_and_two_at_once():
    sampler = Sampler(range(COUNT))
    loader, _ = loader_of("augmented", sampler=sampler)
    both = [(one, two) for (one, _), (two, _) in zip(loader, loader)]
    assert distinct([image for pair in both for images in pair for image in images]) > 0.97
    rounds = itertools.islice(Sampler(itertools.cycle([4, 2])), 6)
    assert [(int(i), i.view) for i in rounds] == [(4, 0), (2, 0), (4, 1), (2, 1), (4, 2), (2, 2)]
    again = itertools.chain.from_iterable(iter(sampler) for _ in range(2))  # as an InfiniteDataLoader begins anew
    assert sorted({i.epoch for i in again}) == [2, 3]


@pytest.mark.parametrize("kind", ["follow", "views", "concatenated", "batches"])
def test_whatever_reads_by_an_index_draws_by_it(kind):
    index, stage = Index(3, 5, 1), motley.Transform(POLICY, seed=7)
    if kind == "follow":

        class Samples(Pictures):
            def __getitem__(self, i):
                return {"image": picture(), "mask": picture()[0], "id": i}

        follow = motley.Follow(stage)
        sample = Augmented(Samples(), follow)[index]
        batch = MotleyCollate(motley.Follow(Transform(POLICY, seed=7)), ids="id")([{**Samples()[3], "id": index}])
        want = follow(Samples()[3], sample_ids=3, epoch=5, view=1)
        second = Augmented(Samples(), follow, views=2)[Index(3, 5)][1]
        for one in sample, second, {key: value[0] for key, value in batch.items()}:
            assert torch.equal(one["image"], want["image"]) and torch.equal(one["mask"], want["mask"])
        return
    if kind == "views":
        first, second = Augmented(Pictures(), stage, views=2)[index][0]
        assert torch.equal(first, wanted([3], 5, 2)[0]) and torch.equal(second, wanted([3], 5, 3)[0])
    elif kind == "concatenated":
        both = ConcatDataset([augmented(seed=7), augmented(seed=7)])
        images = torch.cat([images for images, _ in DataLoader(both, 5, sampler=Sampler(SequentialSampler(both), 5))])
        assert torch.equal(images, wanted(range(2 * COUNT), 5))
        assert Indexed(both.datasets[1])[index - 2][-1].tolist() == [3, 1, 5]
        assert not torch.equal(augmented(seed=7)[3][0], augmented(seed=8)[3][0])
    else:
        batches = Sampler(BatchSampler(SequentialSampler(range(COUNT)), 6, False), 5)
        for images, ids in DataLoader(Augmented(Many(), stage), sampler=batches, batch_size=None):
            assert torch.equal(images, wanted(ids, 5))
        for *_, ids in DataLoader(Indexed(Many()), sampler=batches, batch_size=None):
            assert ids.shape == (6, 3) and ids[0, 1:].tolist() == [0, 6]
        plain = [[*range(6)]]
        for _, ids, index in DataLoader(Indexed(Many()), sampler=plain, batch_size=None):
            assert index.tolist() == ids.tolist() == plain[0]


class Many(Dataset):
    """A data set that reads a list of indices."""

    def __len__(self):
        return COUNT

    def __getitem__(self, indices):
        return picture().expand(len(indices), -1, -1, -1), torch.tensor(indices)


def test_loaders_of_other_libraries_keep_what_an_index_carries():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"id": list(range(COUNT))})
    loader = DataLoader(Augmented(HuggingFace(data), POLICY, seed=7, images="image"), 6, sampler=Sampler(data, 2))
    for batch in loader:
        assert torch.equal(batch["image"], wanted(batch["id"], 2))


class HuggingFace(Dataset):
    def __init__(self, data):
        self.data = data

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return {"image": picture(), "id": self.data[i]["id"]}


# ---- the process is left as it is ----

UNCHANGED = """
import os, sys, torch, warnings
from torch.utils.data import DataLoader, TensorDataset
def state():
    classes = [value for name, value in vars(torch.utils.data).items() if isinstance(value, type)]
    classes += [torch.Tensor, torch.nn.Module, torch.Generator]
    return ([{name: id(value) for name, value in vars(cls).items()} for cls in classes], dict(os.environ),
            sys.gettrace(), sys.getprofile(), list(sys.meta_path), list(warnings.filters), list(sys.path))
before = state()
import motley, motley.torch
from motley.follow import Mask
images = TensorDataset(torch.zeros(8, 3, 16, 16, dtype=torch.uint8), torch.arange(8))
motley.Follow("rand_augment", {"mask": Mask()}), motley.Transform("dino"), motley.mix(mixup=1)
data = motley.torch.Augmented(images, "rand_augment")
for loader in DataLoader(data, 4), DataLoader(data, 4, sampler=motley.torch.Sampler(data), num_workers=1):
    list(motley.torch.Prefetcher(loader, motley.torch.Transform("rand_augment"), "cpu")), list(loader)
print([one == other for one, other in zip(before, state())])
"""


@pytest.mark.slow
def test_nothing_of_the_process_is_changed(forked, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(UNCHANGED)
    assert forked(([script], {}))[0].strip() == str([True] * 7)
