# SPDX-License-Identifier: Apache-2.0
"""Loaders of people who say nothing: each pass is an epoch, repeated indices are views, ranks draw apart, and data sets
stay what they are. Samplers stand here as the libraries have them."""

import collections
import contextvars
import copy
import itertools
import math
import multiprocessing
import pickle
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from PIL import Image
import pytest
from conftest import refused

torch = pytest.importorskip("torch")
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, TensorDataset  # noqa: E402

import motley  # noqa: E402
from motley import RepeatedSamples  # noqa: E402
from motley.adapters.columns import Augment  # noqa: E402
from motley.follow import Boxes, Mask  # noqa: E402
from motley.torch import Augmented, Index, Indexed, MotleyCollate, Prefetcher, Transform, Views  # noqa: E402

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


# ---- without ids ----


class Counting(Dataset):
    def __init__(self, stage):
        self.stage = stage

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return self.stage(pictures()[0]), i


@pytest.mark.slow
@pytest.mark.parametrize("whole, start, persistent", [
    (False, "fork", False), (False, "fork", True), (True, "fork", False), (True, "fork", True), (True, "spawn", True),
])  # fmt: skip
def test_workers_count_for_themselves(whole, start, persistent):
    """A stage as a data set's transform: after torch.manual_seed a run repeats, however its workers take turns."""
    text = "motley: 1\nname: t\nstages:\n  - random_resized_crop: {size: 8}\n  - policy: rand_augment\n"
    runs = []
    for _ in range(5 if start == "fork" else 2):
        torch.manual_seed(0)
        stage = motley.torch.Transform(text, stream=0) if whole else Transform("trivial_augment_wide", stream=0)
        loader = DataLoader(
            Counting(stage), 3, num_workers=2, multiprocessing_context=start, persistent_workers=persistent
        )
        epochs = []
        for epoch in range(2):
            stage.set_epoch(epoch)
            epochs.append(torch.cat([images for images, _ in loader]))
        assert not torch.equal(*epochs)
        runs.append(torch.stack(epochs))
    assert all(torch.equal(run, runs[0]) for run in runs) and stage.counter.tolist() == [1, 0]
    assert len({image.numpy().tobytes() for image in runs[0][0]}) > COUNT // 2, "each sample has a number of its own"


# ---- epochs ----


def loader_of(form, workers, persistent, start, shuffle=True):
    """A loader of (images, ids, ...), and who has set_epoch()."""
    options = {"batch_size": 5, "shuffle": shuffle, "num_workers": workers}
    if workers:
        options.update(persistent_workers=persistent, multiprocessing_context=start)
    if form == "augmented":
        dataset = augmented()
        return DataLoader(dataset, **options), dataset
    stage = Transform("trivial_augment_wide", seed=7)
    if form == "collate":
        collate = MotleyCollate(stage, ids=1)
        return DataLoader(data(), collate_fn=collate, **options), collate
    loader = Prefetcher(DataLoader(Indexed(data()), **options), stage, "cpu", ids=2)
    return loader, loader


WORKERS = [(0, False, None), (2, False, "fork"), (2, True, "fork")]
STARTED = [("augmented", 1, True, "spawn"), ("augmented", 1, True, "forkserver"), ("collate", 1, True, "spawn")]


@pytest.mark.parametrize(
    "form, workers, persistent, start",
    [(form, *w) for form in ("augmented", "collate", "prefetcher") for w in WORKERS] + STARTED,
)
def test_each_pass_is_an_epoch(form, workers, persistent, start):
    loader, keeper = loader_of(form, workers, persistent, start)

    def passes(epochs):
        for epoch in epochs:
            for images, ids, *_ in loader:
                assert torch.equal(images, wanted(ids, epoch)), (form, epoch)

    passes([0, 1])
    keeper.set_epoch(7)  # as a run that goes on does
    passes([7, 8])
    next(iter(loader))  # a peek is none
    passes([9])
    batches = iter(loader)
    next(batches), next(batches)  # a pass that is broken off later is one
    passes([11])


def test_repeats_of_a_loader_that_tells_nobody_are_noticed():
    class Silent(DataLoader):  # like timm's MultiEpochsDataLoader, which defines its own __iter__
        def __iter__(self):
            return iter([self.collate_fn([self.dataset[i] for i in batch]) for batch in self.batch_sampler])

    loader = Silent(augmented(), batch_size=5)
    list(loader)
    with pytest.warns(RepeatedSamples, match=r"call set_epoch\(\) of the motley.torch.Augmented"):
        list(loader)


def test_a_stage_called_by_hand_says_that_an_epoch_stands_still():
    stage, loader = Transform("trivial_augment_wide"), DataLoader(Indexed(data()), 5, shuffle=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedSamples)
        for epoch in range(3):
            stage.set_epoch(epoch)
            for images, _, ids in loader:
                stage(images, sample_ids=ids)
        stage.eval()
        for images, _, ids in loader:
            stage(images, sample_ids=ids)
    stage.train()
    with pytest.warns(RepeatedSamples, match=r"call set_epoch\(\) before each pass") as warned:
        for _ in range(3):
            for images, _, ids in loader:
                stage(images, sample_ids=ids)
    assert len(warned) == 1


def test_hugging_face_epochs_advance():
    datasets = pytest.importorskip("datasets")
    arrays = pictures().permute(0, 2, 3, 1).numpy()
    dataset = datasets.Dataset.from_dict(
        {"image": arrays, "id": list(range(COUNT))},
        features=datasets.Features(image=datasets.Image(), id=datasets.Value("int64")),
    )
    augment = Augment("trivial_augment_wide", ids="id", seed=7)
    dataset.set_transform(augment)

    def as_tensors(samples):
        return (
            torch.stack([torch.from_numpy(np.array(s["image"])).permute(2, 0, 1) for s in samples]),
            torch.tensor([s["id"] for s in samples]),
        )

    for persistent, first in ((False, 0), (True, 3)):
        loader = DataLoader(
            dataset, 5, shuffle=True, num_workers=2, persistent_workers=persistent, collate_fn=as_tensors
        )
        augment.set_epoch(first)
        for epoch in range(first, first + 3):
            for images, ids in loader:
                assert torch.equal(images, wanted(ids, epoch))


def test_columns_of_grey_and_of_colour():
    arrays = [image.permute(1, 2, 0).numpy() for image in pictures()]
    images = [Image.fromarray(a if i % 3 else a[..., 0]) for i, a in enumerate(arrays)]
    out = Augment("trivial_augment_wide", ids="id")({"image": images, "id": list(range(COUNT))})["image"]
    stage = motley.Transform("trivial_augment_wide")
    assert [image.mode for image in out] == [image.mode for image in images]
    assert all(a.tobytes() == stage(b, sample_ids=i).tobytes() for i, (a, b) in enumerate(zip(out, images)))


@pytest.mark.parametrize("workers, persistent", [(0, False), (2, False), (2, True)])
def test_webdataset_epochs_advance(tmp_path, workers, persistent):
    webdataset = pytest.importorskip("webdataset")
    from motley.adapters.webdataset import Augment, id_of

    for s in range(2):
        with webdataset.TarWriter(str(tmp_path / f"{s}.tar")) as shard:
            for i in range(s, COUNT, 2):
                shard.write(
                    {"__key__": f"{i:03}", "png": Image.fromarray(pictures()[i].permute(1, 2, 0).numpy()), "cls": i}
                )
    augment = Augment("trivial_augment_wide", seed=7, epoch=0)
    dataset = (
        webdataset.WebDataset(str(tmp_path / "{0..1}.tar"), shardshuffle=False)
        .decode("pil")
        .map(augment)
        .to_tuple("png", "cls")
    )
    loader = webdataset.WebLoader(dataset, batch_size=None, num_workers=workers, persistent_workers=persistent)
    stage = motley.Transform("trivial_augment_wide", seed=7)

    def passes(epochs):
        for epoch in epochs:
            for image, i in loader:
                want = stage(pictures()[i], sample_ids=id_of(f"{i:03}"), epoch=epoch)
                assert torch.equal(torch.from_numpy(np.array(image)).permute(2, 0, 1), want), epoch

    passes([0, 1])
    augment.set_epoch(5)
    passes([5, 6])


# ---- views ----


class RASampler(torch.utils.data.Sampler):
    """As torchvision's references/classification/sampler.py has it: repeated augmentation, dealt out to ranks."""

    def __init__(self, dataset, num_replicas, rank, shuffle=True, seed=0, repetitions=3):
        self.dataset, self.num_replicas, self.rank, self.epoch = dataset, num_replicas, rank, 0
        self.num_samples = int(math.ceil(len(dataset) * float(repetitions) / num_replicas))
        self.total_size = self.num_samples * num_replicas
        self.num_selected_samples = int(math.floor(len(dataset) // 8 * 8 / num_replicas))  # there: 256
        self.shuffle, self.seed, self.repetitions = shuffle, seed, repetitions

    def __iter__(self):
        if self.shuffle:
            g = torch.Generator()
            g.manual_seed(self.seed + self.epoch)
            indices = torch.randperm(len(self.dataset), generator=g).tolist()
        else:
            indices = list(range(len(self.dataset)))
        indices = [ele for ele in indices for i in range(self.repetitions)]
        indices += indices[: (self.total_size - len(indices))]
        indices = indices[self.rank : self.total_size : self.num_replicas]
        return iter(indices[: self.num_selected_samples])

    def __len__(self):
        return self.num_selected_samples

    def set_epoch(self, epoch):
        self.epoch = epoch


def read(loader, epoch):
    """{(id, k-th time): image} of a pass, on one rank."""
    seen = collections.defaultdict(list)
    for images, ids in loader:
        for image, i in zip(images, ids.tolist()):
            seen[i].append(image)
    return seen


@pytest.mark.parametrize(
    "ranks, workers, persistent, start",
    [(1, *WORKERS[0]), (2, *WORKERS[0]), (3, *WORKERS[0]), (2, *WORKERS[2]), (1, *STARTED[0][1:])],
)
def test_repeated_augmentation_of_torchvision(ranks, workers, persistent, start):
    """Over all ranks each index comes three times, as views 0, 1, 2; also after a run goes on in epoch 1."""
    options = dict(num_workers=workers, batch_size=4)
    if workers:
        options.update(persistent_workers=persistent, multiprocessing_context=start)
    views = collections.defaultdict(set)
    for rank in range(ranks):
        for resumed in (False, True) if not workers else (False,):
            dataset = augmented()
            sampler = Views(RASampler(dataset, ranks, rank))
            loader = DataLoader(dataset, sampler=sampler, **options)
            assert len(loader) == math.ceil(len(sampler) / 4)
            if resumed:
                dataset.set_epoch(1)
            for epoch in (1,) if resumed else (0, 1):
                sampler.set_epoch(epoch)
                order = [(int(i), i.view) for i in sampler]
                got = [(image, i) for images, ids in loader for image, i in zip(images, ids.tolist())]
                assert [i for _, i in got] == [i for i, _ in order]
                for (image, _), (i, view) in zip(got, order):
                    assert torch.equal(image, wanted([i], epoch, view)[0])
                    views[epoch, i].add((rank, view))
    for found in views.values():
        assert len({view for _, view in found}) == len(found) and {view for _, view in found} <= {0, 1, 2}
    complete = sum(len(found) == 3 for found in views.values())
    assert complete >= 2 * COUNT // 3 - 2  # the last selected ones are cut off


def test_views_do_not_depend_on_the_number_of_ranks():
    def union(ranks):
        parts = [list(Views(RASampler(range(COUNT), ranks, rank))) for rank in range(ranks)]
        return sorted((int(i), i.view) for part in parts for i in part)

    assert union(1) == union(2) == union(3)


@pytest.mark.parametrize("repeats", [3, 2.5])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_repeated_augmentation_of_timm(repeats, ranks):
    timm = pytest.importorskip("timm.data.distributed_sampler")
    seen = collections.Counter()
    for rank in range(ranks):
        sampler = timm.RepeatAugSampler(range(512), num_replicas=ranks, rank=rank, num_repeats=repeats)
        seen.update((int(i), i.view) for i in Views(sampler))
    assert max(seen.values()) == 1 and max(view for _, view in seen) == math.ceil(repeats) - 1


def test_repeats_without_views_are_noticed():
    dataset = augmented()
    loader = DataLoader(dataset, batch_size=4, sampler=RASampler(dataset, 1, 0))
    with pytest.warns(RepeatedSamples, match="around a sampler that repeats its indices put motley.torch.Views"):
        list(loader)


def test_views_of_other_samplers():
    class Twice(torch.utils.data.Sampler):
        def __init__(self):
            pass

        def __iter__(self):
            return iter([3, 1, 3, 2, 1, 3])

        def __len__(self):
            return 6

    assert [(int(i), i.view) for i in Views(Twice())] == [(3, 0), (1, 0), (3, 1), (2, 0), (1, 1), (3, 2)]
    refused("does not repeat each index 2 times in a row: places 0 and 1 are 3 and 1", list, Views(Twice(), repeats=2))


def test_indices_end_with_the_data_set():
    for wrapped in Indexed(data()), motley.torch.Reproducible(data()), augmented():
        assert wrapped[-COUNT] is not None
        with pytest.raises(IndexError, match=f"index {-COUNT - 1} of a data set of {COUNT} samples"):
            wrapped[-COUNT - 1]


def test_views_reach_the_stage_with_the_ids():
    loader = DataLoader(Indexed(data()), batch_size=6, sampler=Views(RASampler(range(COUNT), 1, 0)))
    for form in ("prefetcher", "collate"):
        stage = Transform("trivial_augment_wide", seed=7)
        if form == "prefetcher":
            batches = Prefetcher(loader, stage, "cpu", ids=2)
        else:
            batches = DataLoader(
                Indexed(data()),
                batch_size=6,
                sampler=loader.sampler,
                num_workers=1,
                collate_fn=MotleyCollate(stage, ids=2),
            )
        for epoch in range(2):
            for images, labels, ids in batches:
                assert ids.shape == (6, 2) and ids[:, 1].max() > 0 and torch.equal(ids[:, 0], labels)
                assert torch.equal(images, wanted(labels, epoch, ids[:, 1]))


def test_two_views_of_one_reading():
    """As SimCLR wants: two images of each sample, which differ, the same whoever reads them."""
    pairs = DataLoader(augmented(views=2), batch_size=5, num_workers=2, persistent_workers=True)
    for epoch in range(2):
        for (first, second), ids in pairs:
            assert torch.equal(first, wanted(ids, epoch, 0)) and torch.equal(second, wanted(ids, epoch, 1))
    stage = Transform("trivial_augment_wide", seed=7, views=2)
    for images, ids in DataLoader(data(), batch_size=5):
        first, second = stage(images, sample_ids=ids)
        assert torch.equal(first, wanted(ids)) and torch.equal(second, wanted(ids, view=1))
        assert torch.equal(stage.eval()(images), images)
        stage.train()
    batch = next(iter(Prefetcher(DataLoader(data(), 5), stage, "cpu", ids=1)))
    assert isinstance(batch[0], tuple) and len(batch[0]) == 2
    counted = Transform("trivial_augment_wide", seed=7, stream=0, views=2)
    first, second = counted(pictures())
    assert torch.equal(first, wanted(range(COUNT))) and torch.equal(second, wanted(range(COUNT), view=1))
    assert counted.counter.tolist() == [0, COUNT]


def test_views_by_hand():
    dataset = augmented()
    assert torch.equal(dataset[3, 1][0], wanted([3], view=1)[0])
    assert torch.equal(dataset[Index(3, 1)][0], wanted([3], view=1)[0])
    assert torch.equal(dataset[-1][0], wanted([COUNT - 1])[0])
    both = ConcatDataset([augmented(), Augmented(data(), "trivial_augment_wide", seed=8)])
    assert torch.equal(both[Index(COUNT + 3, 2)][0], wanted([3], view=2, seed=8)[0])
    assert Index(3, 1) + 2 == 5 and (Index(3, 1) - 1).view == 1
    again = pickle.loads(pickle.dumps(Index(3, 1)))
    assert again == 3 and again.view == 1


def test_two_readings_of_one_sample_are_noticed():
    class Pairs(Dataset):
        def __init__(self, dataset):
            self.dataset = dataset

        def __len__(self):
            return len(self.dataset)

        def __getitem__(self, i):
            return self.dataset[i][0], self.dataset[i][0]

    with pytest.warns(RepeatedSamples, match=r"called twice for a sample wants view=, or motley.torch.Augmented"):
        list(DataLoader(Pairs(augmented()), 4))


# ---- ranks ----


def as_rank(rank, ranks, port, queue, columns, torchvision):
    import torch.distributed as dist

    stage = Transform("trivial_augment_wide")  # before the process group is there
    core, collate = motley.TrivialAugmentWide(), MotleyCollate(Transform("trivial_augment_wide"))
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)
    torch.manual_seed(0)
    same = pictures(1).repeat(64, 1, 1, 1)
    loader = DataLoader(TensorDataset(same), 64, num_workers=1, multiprocessing_context="spawn", collate_fn=collate)
    augment = columns.Augment("trivial_augment_wide")
    arrays = augment({"image": same.permute(0, 2, 3, 1).numpy()})["image"]
    made = {
        "stage": stage(same),
        "core": core(same),
        "collate": collate([(x,) for x in same])[0],
        "prefetcher": next(iter(Prefetcher([(same,)], Transform("trivial_augment_wide"), "cpu")))[0],
        "columns": torch.from_numpy(arrays).permute(0, 3, 1, 2),
        "spawned": next(iter(loader))[0],
        "drop-in": torch.stack([torchvision.TrivialAugmentWide()(x) for x in same]),
        "ids": stage(same, sample_ids=torch.arange(64)),
    }
    queue.put((rank, {name: x.numpy() for name, x in made.items()}))
    dist.barrier()
    dist.destroy_process_group()


@pytest.mark.slow
def test_ranks_draw_apart(unused_port):
    from motley import torchvision
    from motley.adapters import columns

    ranks = 3
    context = multiprocessing.get_context("fork")  # torchvision is imported once; the loaders' workers start by spawn
    queue = context.Queue()
    processes = [
        context.Process(target=as_rank, args=(rank, ranks, unused_port, queue, columns, torchvision), name="rank")
        for rank in range(ranks)
    ]
    for process in processes:
        process.start()
    made = dict(queue.get(timeout=120) for _ in processes)
    for process in processes:
        process.join()
    for form in made[0]:
        for a in range(ranks):
            for b in range(a):
                alike = sum((x == y).all() for x, y in zip(made[a][form], made[b][form]))
                assert alike == 64 if form == "ids" else alike < 16, (form, a, b)


@pytest.fixture
def unused_port():
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


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
    plain, sample = make(pictures()[3], 3), dataset[3]
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
        with pytest.raises(AttributeError, match="targets"):
            _ = wrapped.targets
    again = copy.deepcopy(dataset)
    assert torch.equal(again[3] if kind == "bare" else again[3][key], wanted([3])[0])


def test_named_tuples_go_through_workers():
    batch = next(iter(DataLoader(Indexed(Samples(Named)), 4, num_workers=1)))
    assert batch.sample_id.tolist() == batch.label.tolist() == [0, 1, 2, 3]


class Stream(IterableDataset):
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        return iter([(pictures(1)[0], i) for i in range(first, 64, step)])


@pytest.mark.parametrize("workers", [0, 2])
def test_iterable_data_sets(workers):
    dataset = Augmented(Stream(), "trivial_augment_wide", seed=7)
    assert isinstance(dataset, IterableDataset) and isinstance(dataset, Augmented)
    loader = DataLoader(dataset, 8, num_workers=workers)

    def seen():
        return {i: image for images, ids in loader for image, i in zip(images, ids.tolist())}

    epochs = [seen() for _ in range(3)]
    assert all(len(epoch) == 64 for epoch in epochs)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert sum(torch.equal(epochs[a][i], epochs[b][i]) for i in range(64)) < 16
    assert len({image.numpy().tobytes() for image in epochs[0].values()}) > 24  # of one picture
    dataset.set_epoch(1)
    again = seen()
    assert all(torch.equal(again[i], epochs[1][i]) for i in range(64))
    ids = [i for *_, ids in DataLoader(Indexed(Stream()), 8, num_workers=workers) for i in ids.tolist()]
    assert len(set(ids)) == 64 and min(ids) >= 0


def test_one_loader_with_two_equal_data_sets_warns():
    loader = DataLoader(ConcatDataset([augmented(), augmented()]), 5)
    with pytest.warns(RepeatedSamples, match="data sets and transforms that read equal ids want a seed or a stream"):
        list(loader)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(DataLoader(augmented(ConcatDataset([data(), data()])), 5))
        other = Augmented(data(), "rand_augment", seed=7)
        list(DataLoader(ConcatDataset([augmented(), other]), 5))


@pytest.mark.parametrize("kind", ["Mask", "BoundingBoxes"])
def test_no_mask_is_augmented_as_a_picture(kind):
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")
    x = torch.ones((1, 8, 4), dtype=torch.uint8)
    made = tv_tensors.Mask(x) if kind == "Mask" else tv_tensors.BoundingBoxes(x[0], format="XYXY", canvas_size=(8, 8))
    calls = (
        lambda: augmented(Samples(lambda x, i: (made, i)))[0],
        lambda: MotleyCollate("rand_augment")([(made, 1)]),
        lambda: Augment("rand_augment")({"image": [made]}),
    )
    for call in calls:
        refused(f"tv_tensors.{kind}, which is no picture", call)
    image = tv_tensors.Image(pictures()[0])
    assert type(augmented(Samples(lambda x, i: (image, i)))[0][0]) is tv_tensors.Image


@pytest.mark.parametrize("mode", ["P", "PA", "CMYK", "YCbCr", "HSV"])
def test_pil_images_that_hold_no_brightness_are_refused(mode):
    image = Image.new(mode, (8, 6))
    calls = lambda: augmented(Samples(lambda x, i: (image, i)))[0], lambda: MotleyCollate("rand_augment")([(image, 1)])
    for call in calls:
        refused(f"the PIL image has mode {mode}, want L, LA, RGB or RGBA", call)


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
    import contextlib

    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Ahead())
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())

    def make(batches):
        stage = (Transform if kind == "torch" else motley.Transform)("trivial_augment_wide", seed=7, stream=0)
        prefetcher = Prefetcher(batches, stage, "cpu")
        prefetcher.stream = Ahead() if ahead else None
        return prefetcher

    batches = [(pictures(4, seed=i),) for i in range(4)]
    whole, states = make(batches), []
    run = []
    for _ in range(2):
        for (images,) in whole:
            states.append(whole.state_dict())
            run.append(images)
    assert [state["next_sample"] for state in states] == [4, 8, 12, 16] * 2
    for k in range(1, 7):  # a checkpoint after each batch
        epoch, done = divmod(k, 4)
        state = states[k - 1]
        resumed = make(batches[done:])
        resumed.load_state_dict(state if done else {**state, "finished": True})
        assert torch.equal(next(iter(resumed))[0], run[k])
    finished = make(batches)
    list(finished)
    assert finished.state_dict()["finished"]
    resumed = make(batches)
    resumed.load_state_dict(finished.state_dict())
    assert torch.equal(next(iter(resumed))[0], run[4])


def test_prefetcher_takes_the_core_stage_and_sets_every_epoch():
    loader = Prefetcher(DataLoader(data(), 6), motley.TrivialAugmentWide(seed=7), "cpu", ids=1)
    for epoch in range(2):
        for images, ids in loader:
            assert torch.equal(images, wanted(ids, epoch))
    dataset = augmented()
    loader = Prefetcher(DataLoader(dataset, 6), Transform("trivial_augment_wide").eval(), "cpu")
    loader.set_epoch(4)
    for epoch in (4, 5):
        for images, ids in loader:
            assert torch.equal(images, wanted(ids, epoch))


# ---- torch's stage ----


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda s: s([1]),
            "images are a builtins.int, want a torch, NumPy, CuPy, JAX or other DLPack array, a PIL image",
        ),
        (lambda s: s([b"file"]), "images are a builtins.bytes, want decoded images: a torch, NumPy,"),
        (
            lambda s: augmented(Samples(lambda x, i: {"picture": x, "label": i}))[0],
            "a sample has no image at 0: it has the keys picture, label",
        ),
        (
            lambda s: MotleyCollate(s, images=2)([(x, 1) for x in pictures(2)]),
            "a sample has no image at 2: it has 2 items",
        ),
        (
            lambda s: MotleyCollate(s, ids=2)([(x, 1) for x in pictures(2)]),
            "a batch has no sample ids at 2: it has 2 items; motley.torch.Indexed adds them",
        ),
        (
            lambda s: MotleyCollate(s)(list(pictures(2))),
            "a sample is a Tensor, want a tuple, a list or a dictionary with the image at 0",
        ),
        (
            lambda s: list(Prefetcher([pictures(2)], s, "cpu")),
            "a batch is a Tensor, want a tuple, a list or a dictionary with the images at 0",
        ),
        (
            lambda s: MotleyCollate(s)([(pictures(1)[0],), (pictures(1)[0, :, 1:],)]),
            r"images of a batch have shapes \(3, 7, 9\) and \(3, 8, 9\), want one size",
        ),
        (
            lambda s: MotleyCollate(s)([(pictures(1)[0],), (pictures(1)[0].numpy(),)]),
            "some images of a batch are tensors and some are not, want one kind",
        ),
        (
            lambda s: list(Prefetcher([{"picture": pictures(2)}], s, "cpu")),
            "a batch has no images at 0: it has the keys picture",
        ),
        (lambda s: list(Prefetcher([(pictures(2), 1)], s, "cpu", ids=2)), "a batch has no sample ids at 2"),
        (
            lambda s: list(Prefetcher([(torch.zeros(4, 90, dtype=torch.uint8), 1)], s, "cpu")),
            r"the images are one tensor of shape \(4, 90\), as a loader stacks files of equal length: want a list of "
            r"their "
            "bytes, collate_fn=motley.torch.list_images",
        ),
        (lambda s: list(Prefetcher([([b"file"], 1)], s, "cpu", names=2)), "a batch has no names at 2: it has 2 items"),
        (
            lambda s: list(Prefetcher([(pictures(2), torch.arange(2))], s, "cpu", ids=True)),
            "True is given for the sample ids, want an index or a key of a batch",
        ),
        (lambda s: s.set_epoch(1.5), "epoch is 1.5, want"),
        (lambda s: setattr(s, "next_sample", True), "next_sample is True, want"),
        (lambda s: Prefetcher([], abs, "cpu").set_epoch(-1), "epoch is -1, want a whole number from 0"),
        (
            lambda s: Prefetcher([], s, "cpu").load_state_dict({"epoch": 1, "next_sample": 0, "finished": 3}),
            "finished is 3, want False, True",
        ),
        (lambda s: Views(range(3), repeats=True), "repeats is True, want a number from 1, or None"),
        (lambda s: Views(range(3), repeats=0), "repeats is 0, want a number from 1, or None"),
        (lambda s: Indexed(pictures(3))[True], "the index is True, want a whole number of a sample"),
        (lambda s: augmented()[1, True], "view is True, want a whole number"),
        (lambda s: MotleyCollate(3), "transform is a builtins.int, want a motley.Transform, a motley.Policy, a name"),
    ],
)
def test_wrong_arguments_raise_and_say_what_was_wanted(call, message):
    with pytest.raises((motley.ArgumentError, TypeError), match=message):
        call(Transform("rand_augment"))


def test_collate_takes_a_name():
    collate = MotleyCollate("trivial_augment_wide", ids=1)
    assert torch.equal(collate(list(zip(pictures(), range(COUNT))))[0], wanted(range(COUNT), seed=0))


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


@pytest.mark.parametrize("workers, start", [(0, None), (1, "spawn")])
def test_followers_are_collated(workers, start):
    follow = motley.Follow(Transform("trivial_augment_wide", seed=7))
    collate = MotleyCollate(follow, ids="id")
    loader = DataLoader(
        Boxed(), 5, collate_fn=collate, num_workers=workers, multiprocessing_context=start, shuffle=True
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


class Uneven(torch.utils.data.Dataset):
    """Pairs of an image and a grey one, augmented without ids."""

    def __init__(self, transform):
        self.transform = transform

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return self.transform([pictures()[i], pictures()[i][:1]])


def test_counted_images_of_several_numbers_of_channels_draw_in_their_own_epoch():
    transform = motley.RandAugment(seed=3)
    alone, loader = copy.copy(transform), DataLoader(Uneven(transform), None)
    alone.counter = [0, 0]
    for _ in range(3):  # passes, of which the second and third are epochs of what draws by id
        for i, pair in enumerate(loader):
            want = [alone(pictures()[i]), alone(pictures()[i][:1])]
            assert all(map(torch.equal, pair, want))


def test_followers_of_several_views_are_collated():
    samples = [Boxed()[i] for i in range(3)]
    first, second = MotleyCollate(motley.Follow(Transform("trivial_augment_wide", seed=7, views=2)), ids="id")(samples)
    alone = motley.Follow(motley.Transform("trivial_augment_wide", seed=7))
    for view, batch in enumerate((first, second)):
        for i in range(3):
            one = alone(samples[i], sample_ids=i, view=view)
            assert torch.equal(batch["image"][i], one["image"]) and torch.equal(batch["boxes"][i], one["boxes"])


def test_what_cannot_be_stacked_stays_a_list():
    rest = [{"picture": Image.new("L", (3, 3)), "note": None, "tags": [1] * i, "number": i} for i in (1, 2)]
    follow = motley.Follow("rand_augment", {"boxes": Boxes(label_fields=["labels"]), "masks": Mask()})
    samples = [{**Boxed()[i], **more} for i, more in enumerate(rest)]
    batch = MotleyCollate(follow)([{**sample, "masks": [sample["mask"]] * (i + 1)} for i, sample in enumerate(samples)])
    assert list(map(len, batch["masks"])) == [1, 2] and batch["masks"][1][0].shape == samples[1]["mask"].shape
    assert [batch[key] for key in ("picture", "note", "tags")] == [
        [one[key] for one in rest] for key in ("picture", "note", "tags")
    ]
    assert batch["number"].tolist() == [1, 2] and batch["image"].ndim == 4


def test_followers_that_cannot_be_collated():
    with pytest.raises(motley.ArgumentError, match="images is 'image', but the Follow has its own key, 'image'"):
        MotleyCollate(motley.Follow("rand_augment"), images="image")


# ---- whatever draws by id in a loader draws for the loader's pass ----


class ByHand(Dataset):
    """A data set that calls a stage by id itself, and keeps it where one would not look: in a slot, behind a list."""

    __slots__ = ("stage", "kept")

    def __init__(self, stage):
        self.kept = list(range(300)) + [[stage]]
        self.stage = stage

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return self.kept[-1][0](pictures()[i], sample_ids=i), i


STAGES = [lambda: motley.Transform("trivial_augment_wide", seed=7), lambda: Transform("trivial_augment_wide", seed=7)]


@pytest.mark.parametrize("make", STAGES, ids=["core", "torch"])
@pytest.mark.parametrize("workers, persistent, start", [*WORKERS, STARTED[0][1:], STARTED[1][1:]])
def test_a_stage_called_by_id_in_a_data_set_follows_the_passes(make, workers, persistent, start):
    options = dict(batch_size=5, num_workers=workers)
    if workers:
        options.update(persistent_workers=persistent, multiprocessing_context=start)
    dataset = ByHand(make())
    loader = DataLoader(dataset, shuffle=True, **options)
    next(iter(loader))  # which starts the workers
    dataset.stage.set_epoch(3)  # as a run that is resumed does
    for epoch in (3, 4):
        for images, ids in loader:
            assert torch.equal(images, wanted(ids, epoch))


@pytest.mark.parametrize("workers, persistent, start", [WORKERS[0], WORKERS[1], STARTED[0][1:]])
def test_a_samplers_own_epoch_is_taken(workers, persistent, start):
    """DistributedSampler's: a resumed run needs no line of Motley's."""
    dataset = augmented()
    sampler = torch.utils.data.DistributedSampler(dataset, num_replicas=1, rank=0)
    options = dict(num_workers=workers, persistent_workers=persistent, multiprocessing_context=start) if workers else {}
    for loader in (
        DataLoader(dataset, 5, sampler=sampler, **options),
        DataLoader(dataset, batch_sampler=torch.utils.data.BatchSampler(sampler, 5, False), **options),
    ):
        for epoch in (4, 5):
            sampler.set_epoch(epoch)
            next(iter(loader))
            for images, ids in loader:
                assert torch.equal(images, wanted(ids, epoch))


@pytest.mark.parametrize("form", ["augmented", "collate", "prefetcher"])
def test_a_resumed_run_is_the_one_that_was_not_interrupted(form):
    """Whatever a run peeks at, and though it validates with the same stage, or with a loader of its own."""

    def run(first, last):
        loader, keeper = loader_of(form, 0, False, None)
        stage = keeper.augment if form == "augmented" else keeper.transform
        if first:
            keeper.set_epoch(first)
        seen = {}
        for epoch in range(first, last):
            next(iter(loader))
            seen[epoch] = {int(i): image for images, ids, *_ in loader for i, image in zip(ids, images)}
            if form != "augmented":
                stage.eval()
                validation = (
                    loader if form == "collate" else Prefetcher(DataLoader(Indexed(data()), 5), stage, "cpu", ids=2)
                )
                for images, ids, *_ in validation:
                    assert torch.equal(images, pictures()[ids])
                stage.train()
        return seen

    whole = run(0, 4)
    for epoch in range(4):
        assert all(torch.equal(image, wanted([i], epoch)[0]) for i, image in whole[epoch].items())
    resumed = run(2, 4)
    assert all(torch.equal(resumed[epoch][i], whole[epoch][i]) for epoch in (2, 3) for i in range(COUNT))


def test_a_loader_that_is_made_anew_goes_on():
    from torch.utils.data import Subset

    dataset = augmented()
    for epoch in range(3):
        for images, ids in DataLoader(Subset(dataset, range(20)), 5):
            assert torch.equal(images, wanted(ids, epoch))
    train, validation = DataLoader(dataset, 5), DataLoader(dataset, 5)  # each has passes of its own
    for epoch in (3, 4):
        assert all(torch.equal(images, wanted(ids, epoch)) for images, ids in train)
        next(iter(validation))


ACCELERATE = """
class DataLoaderShard:  # as Accelerate wraps a loader
    def __init__(self, loader):
        self.base_dataloader, self.iteration = loader, 0

    def __iter__(self):
        batches = self.base_dataloader.__iter__()
        batch = next(batches)
        for following in batches:  # it reads a batch ahead
            yield batch
            batch = following
        self.iteration += 1
        yield batch
"""


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("workers, persistent, start", [WORKERS[0], STARTED[0][1:]])
def test_a_peek_at_accelerates_loader_is_no_epoch(real, workers, persistent, start):
    options = dict(num_workers=workers, persistent_workers=persistent, multiprocessing_context=start) if workers else {}
    loader = DataLoader(ByHand(STAGES[1]()), 5, shuffle=True, **options)
    if real:
        loader = pytest.importorskip("accelerate").Accelerator(cpu=True).prepare(loader)
    else:
        module = {"__name__": "accelerate.data_loader"}
        exec(ACCELERATE, module)
        loader = module["DataLoaderShard"](loader)
    for epoch in range(3):
        next(iter(loader))
        for images, ids in loader:
            assert torch.equal(images, wanted(ids, epoch))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_pass_that_another_interrupts_stays_in_its_epoch(workers):
    loader = DataLoader(ByHand(STAGES[0]()), 4, num_workers=workers)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedSamples)
        for place, (images, ids) in enumerate(loader):
            assert torch.equal(images, wanted(ids, 0))
            if place == 2:
                for epoch in (1, 2):
                    assert all(torch.equal(images, wanted(ids, epoch)) for images, ids in loader)
        assert all(torch.equal(images, wanted(ids, 3)) for images, ids in loader)


class InThreads(ByHand):
    """A data set that reads a batch in threads, which do not know the pass unless they are given the context."""

    def __init__(self, knowing):
        super().__init__(STAGES[0]())
        self.knowing = knowing

    def __getitems__(self, ids):
        with ThreadPoolExecutor(2) as pool:
            starts = [(contextvars.copy_context().run,) if self.knowing else () for _ in ids]
            reads = [pool.submit(*start, self.__getitem__, i) for start, i in zip(starts, ids)]
            return [read.result() for read in reads]


def test_threads_of_a_data_set_that_do_not_know_the_pass_warn():
    loader = DataLoader(InThreads(True), 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedSamples)
        for epoch in range(2):
            assert all(torch.equal(images, wanted(ids, epoch)) for images, ids in loader)
    with pytest.warns(RepeatedSamples, match="another thread reads a DataLoader"):
        list(DataLoader(InThreads(False), 4))


class Slow(ByHand):
    def __getitem__(self, i):
        time.sleep(0.02)
        return super().__getitem__(i)


def test_what_persistent_workers_still_had_to_read_is_no_repeat():
    """A peek leaves samples to them that the next pass reads again, in the same order."""
    loader = DataLoader(Slow(STAGES[0]()), 4, num_workers=1, persistent_workers=True, prefetch_factor=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedSamples)
        next(iter(loader))
        list(loader)


class Endless(torch.utils.data.Sampler):
    """As detectron2's and mmengine's are."""

    def __init__(self):
        pass

    def __iter__(self):
        while True:
            yield from range(COUNT)


class RepeatSampler:
    """As Ultralytics' and timm's are, around a batch sampler."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from iter(self.sampler)


class MultiEpochsDataLoader(DataLoader):
    """As timm has it, for --use-multi-epochs-loader; Ultralytics' InfiniteDataLoader does the same."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        object.__setattr__(self, "batch_sampler", RepeatSampler(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self):
        return len(self.batch_sampler.sampler)

    def __iter__(self):
        for _ in range(len(self)):
            yield next(self.iterator)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["endless", "multi-epochs"])
@pytest.mark.parametrize("form", ["augmented", "by hand"])
def test_a_pass_without_an_end_is_said_once_in_the_parent(form, kind, workers):
    dataset = augmented() if form == "augmented" else ByHand(STAGES[0]())
    if kind == "endless":
        batches = iter(DataLoader(dataset, 4, sampler=Endless(), num_workers=workers))
    else:
        loader = MultiEpochsDataLoader(dataset, 4, num_workers=workers)
        batches = (batch for _ in range(9) for batch in loader)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5 * COUNT // 4):
            next(batches)
    said = [str(w.message) for w in caught if issubclass(w.category, RepeatedSamples)]
    assert len(said) == 1 and "a sampler without end should end once an epoch" in said[0]


@pytest.mark.parametrize("workers", [0, 2])
def test_views_number_the_rounds_of_a_pass_without_an_end(workers):
    """Each is the epoch that a run which is resumed there draws."""
    dataset = augmented()
    sampler = Views(torch.utils.data.RandomSampler(range(COUNT)))
    loader = MultiEpochsDataLoader(dataset, 4, sampler=sampler, num_workers=workers)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedSamples)
        for epoch in range(3):
            assert all(torch.equal(images, wanted(ids, epoch)) for images, ids in loader)
    dataset, seen = augmented(), []
    for epoch in range(2):  # passes that end have one round
        for images, ids in DataLoader(dataset, 4, sampler=sampler, num_workers=workers):
            assert torch.equal(images, wanted(ids, epoch))
            seen += ids.tolist()
    assert sorted(seen) == sorted([*range(COUNT)] * 2)


BY_ID = """
import sys, motley, numpy as np
TRANSFORM = motley.RandAugment(seed=7) if {early} else None  # before torch is imported
from torch.utils.data import DataLoader, Dataset

class ById(Dataset):
    def __len__(self):
        return 6
    def __getitem__(self, i):
        transform = TRANSFORM or motley.RandAugment(seed=7)
        {call}
        return i

for epoch in range(2):
    {before}
    list(DataLoader(ById(), 3, num_workers=1, multiprocessing_context="fork"))
"""
CALL = "transform(np.zeros((9, 9, 3), np.uint8), sample_ids=i)"


@pytest.mark.parametrize("early, call, before, warns", [
    (False, CALL, "", True), (True, CALL, "", True), (False, "motley.samples(i)", "", True),
    (True, CALL, "TRANSFORM.set_epoch(epoch)", False), (False, CALL.replace("=i", "=i, epoch=3"), "", False),
    (False, "motley.samples(i, epoch=3)", "", False),
])  # fmt: skip
def test_a_worker_that_does_not_know_the_pass_warns(early, call, before, warns):
    code = BY_ID.format(early=early, call=call, before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("RepeatedSamples: this worker's loader does not number its passes") == 2 * warns


OF_ITS_OWN = """
import motley.torch, numpy as np
from torch.utils.data import DataLoader

class Loader(DataLoader):
    def __iter__(self):  # as torchdata's StatefulDataLoader
        return self._get_iterator()

dataset = motley.torch.{wrapped}
for epoch in range(2):
    {before}
    list(Loader(dataset, 3, num_workers=1, multiprocessing_context="fork"))
"""
IMAGES = "np.zeros((6, 9, 9, 3), np.uint8)"


@pytest.mark.parametrize("wrapped", [f"Augmented({IMAGES}, 'rand_augment')", f"Reproducible({IMAGES})"])
@pytest.mark.parametrize("before, warns", [("", True), ("dataset.set_epoch(epoch)", False)])
def test_a_loader_whose_passes_nobody_numbers_warns(wrapped, before, warns):
    code = OF_ITS_OWN.format(wrapped=wrapped, before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("does not number its passes, so that each draws the same: call set_epoch()") == 2 * warns


class Counted(IterableDataset):
    """A data set that keeps its place, as torchdata's StatefulDataLoader asks it to."""

    at = 0

    def __iter__(self):
        while self.at < COUNT:
            self.at += 1
            block = sys.modules["motley.samples"]._block.get()  # Reproducible's
            yield pictures()[self.at - 1], self.at - 1, -1 if block is None else block.ids
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


@pytest.mark.parametrize("wrap", [augmented, Indexed, motley.torch.Reproducible])
def test_the_place_in_a_stream_is_in_its_state(wrap):
    def read(dataset, count=None):
        draw = motley.Transform("trivial_augment_wide", seed=7, layout="chw")
        samples = itertools.islice(dataset, count)
        return [(draw(image, sample_ids=rest[-1]) if wrap is Indexed else image, *rest) for image, *rest in samples]

    whole, begun, resumed = read(wrap(Counted())), wrap(Counted()), wrap(Counted())
    first = read(begun, 10)
    resumed.load_state_dict(pickle.loads(pickle.dumps(begun.state_dict())))
    for (one, *ids), (other, *same) in zip(whole, first + read(resumed), strict=True):
        assert torch.equal(one, other) and ids == same
    assert [rest for _, *rest in read(resumed)] == [rest for _, *rest in whole]  # a pass from the beginning
    assert not hasattr(wrap(Stream()), "state_dict")


def test_views_have_no_state_of_their_samplers():
    """A loader would go on from the sampler's place, and the views count from the beginning."""

    class Sampler(list):
        state_dict, load_state_dict, other = dict, dict.update, 3

    views = Views(Sampler([1, 1, 2]))
    assert views.other == 3 and not hasattr(views, "state_dict") and not hasattr(views, "load_state_dict")


# ---- batches of indices ----


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
        for images, ids, *index in DataLoader(dataset, 6):
            want = wanted(ids) if wrapper is augmented else pictures()[ids]
            assert torch.equal(images, want) and all(torch.equal(i, ids) for i in index)
        assert many.reads == 4


@pytest.mark.parametrize("i", [np.int64(3), torch.tensor(3), 3 - COUNT])
def test_any_whole_number_is_an_index(i):
    assert type(Augmented(Indexed(Samples(lambda x, i: (x, i))), "rand_augment")[Index(3, 1)][1]) is int
    assert torch.equal(augmented()[i][0], wanted([3])[0]) and Indexed(data())[i][2] == 3


def test_batches_of_indices():
    """sampler=BatchSampler(...), batch_size=None, as torch's page on loading has it."""
    sampler = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(range(COUNT)), 6, False)

    def loader(dataset):
        return DataLoader(dataset, sampler=sampler, batch_size=None)

    for images, ids in loader(augmented()):
        assert torch.equal(images, wanted(ids))
    for images, ids, index in loader(Indexed(data())):
        assert torch.equal(images, pictures()[ids]) and index.tolist() == ids.tolist()


def test_prefetcher_takes_a_name():
    for images, ids in Prefetcher(DataLoader(data(), 6), "trivial_augment_wide", "cpu", ids=1):
        assert torch.equal(images, wanted(ids, seed=0))


def test_wrappers_keep_what_a_stage_has():
    stage = motley.Transform("trivial_augment_wide", seed=7, views=2)
    first, second = Augmented(data(), stage)[3][0]
    assert torch.equal(first, wanted([3])[0]) and torch.equal(second, wanted([3], view=1)[0])
    refused("seed is 8, but the Transform that is given has seed=7", Augmented, data(), stage, seed=8)
    assert torch.equal(Augmented(data(), motley.Transform("trivial_augment_wide", seed=7))[3][0], wanted([3])[0])
    later = Augmented(data(), motley.Transform("trivial_augment_wide", seed=7, epoch=4))
    assert torch.equal(later[3][0], wanted([3], 4)[0])
    for epoch in (4, 5):
        assert all(torch.equal(images, wanted(ids, epoch)) for images, ids in DataLoader(later, 6))


@pytest.mark.parametrize("workers", [0, 2])
def test_loaders_made_anew_go_on_counting(workers):
    """Over data sets that have no hash, too, and with a Prefetcher made in each epoch."""
    images = torch.randint(0, 256, (12, 3, 16, 16), dtype=torch.uint8)
    augmented = Augmented([(image, i) for i, image in enumerate(images)], "rand_augment")
    passes = [
        torch.cat([made for made, _ in torch.utils.data.DataLoader(augmented, 4, num_workers=workers)])
        for _ in range(3)
    ]
    assert not any(torch.equal(a, b) for a, b in zip(passes, passes[1:]))
    stage = motley.torch.Transform("rand_augment")
    loader = torch.utils.data.DataLoader(list(zip(images, range(12))), 4, num_workers=workers)
    passes = [torch.cat([made for made, _ in motley.torch.Prefetcher(loader, stage, "cpu", ids=1)]) for _ in range(3)]
    assert not any(torch.equal(a, b) for a, b in zip(passes, passes[1:]))


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
    """In two passes, which are two epochs, and then in one that set_epoch() says."""
    options, seeded = {"batch_size": 5, "num_workers": workers, "shuffle": True}, motley.MultiView(VIEWS, seed=7)
    if form == "augmented":
        keeper = Augmented(data(), seeded)
        loader = DataLoader(keeper, **options)
    elif form == "collate":
        keeper = MotleyCollate(seeded, ids=1)
        loader = DataLoader(data(), collate_fn=keeper, **options)
    else:
        how = VIEWS if form == "passed" else seeded
        keeper = loader = Prefetcher(DataLoader(data(), **options), how, "cpu", ids=1)
    alone = motley.MultiView(VIEWS, seed=0 if form == "passed" else 7)
    for epoch in (0, 1, 6):
        if epoch == 6:
            keeper.set_epoch(6)
        for made, ids in loader:
            wanted = alone(pictures()[ids], sample_ids=ids, epoch=epoch)
            assert all(map(torch.equal, flat(made), flat(wanted))) and made["small"][1].shape[1:] == (3, 4, 4)


def test_views_of_pictures_are_tensors():
    samples = [(Image.fromarray(image.permute(1, 2, 0).numpy()), i) for i, image in enumerate(pictures(3))]
    made, ids = MotleyCollate(motley.MultiView(VIEWS, seed=7), ids=1)(samples)
    wanted = motley.MultiView(VIEWS, seed=7)(pictures(3), sample_ids=ids)
    assert all(map(torch.equal, flat(made), flat(wanted)))


def test_a_loader_counts_samples_for_views():
    made = [flat(made) for made, _ in Prefetcher(DataLoader(data(), 5), motley.MultiView(VIEWS, stream=3), "cpu")]
    alone = motley.MultiView(VIEWS, stream=3)
    for batch in made:
        assert all(map(torch.equal, batch, flat(alone(pictures()[alone.next_sample :][:5]))))


def test_sizes_that_change_with_the_epoch():
    text = "motley: 1\nname: g\nstages: [{random_resized_crop: {size: {from: [[0, 4], [1, 6]]}}}, {output: {}}]\n"
    loader = Prefetcher(DataLoader(data(), 6), text, "cpu", ids=1)
    assert [{tuple(made.shape[2:]) for made, _ in loader} for _ in range(3)] == [{(4, 4)}, {(6, 6)}, {(6, 6)}]


def test_what_views_cannot_do():
    refused("views is 2, but policy 'pair' has views itself", Augmented, data(), VIEWS, views=2)
    with pytest.raises(motley.ArgumentError, match="seed is 3, but the MultiView that is given has seed=7"):
        Augmented(data(), motley.MultiView(VIEWS, seed=7), seed=3)
    refused("labels is 1, but 'pair' has no stage 'mix'", MotleyCollate, VIEWS, labels=1)


# ---- items and collating ----


def test_indexed():
    indexed = Indexed(TensorDataset(pictures(), torch.arange(COUNT) + 50))
    image, label, i = indexed[3]
    assert (label, i) == (53, 3) and len(indexed) == COUNT
    assert Indexed([{"a": 1}])[0] == {"a": 1, "sample_id": 0}
    for sample in {"sample_id": "n01440764"}, collections.namedtuple("Sample", "image sample_id")(1, 2):
        refused("samples have a 'sample_id' of their own", Indexed([sample]).__getitem__, 0)


def test_collate_without_ids_takes_new_draws_and_repeats():
    collate = MotleyCollate(Transform("trivial_augment_wide"))
    loader = DataLoader(
        TensorDataset(pictures()[:1].repeat(64, 1, 1, 1)), batch_size=32, num_workers=2, collate_fn=collate
    )

    def seen():
        return torch.cat([images for (images,) in loader])

    torch.manual_seed(3)
    first, second = seen(), seen()
    assert not torch.equal(first[:32], first[32:]) and not torch.equal(first, second)
    torch.manual_seed(3)
    assert torch.equal(seen(), first)


def test_collate_takes_what_data_sets_give():
    arrays = [image.permute(1, 2, 0).numpy() for image in pictures()]
    want = wanted(range(COUNT))
    stage = Transform("trivial_augment_wide", seed=7)
    for convert in (Image.fromarray, lambda array: array, lambda array: torch.from_numpy(array).permute(2, 0, 1)):
        samples = [{"image": convert(array), "label": 2 * i, "id": i} for i, array in enumerate(arrays)]
        batch = MotleyCollate(stage, images="image", ids="id")(samples)
        assert torch.equal(batch["image"], want) and batch["label"].tolist() == list(range(0, 2 * COUNT, 2))
    grey = MotleyCollate(stage, ids=1)([(Image.fromarray(arrays[0][..., 0]), 0)])[0]
    assert torch.equal(grey, stage(pictures()[:1, :1], sample_ids=[0]))
    with pytest.raises(ValueError, match="want one size"):
        MotleyCollate(stage)([(np.zeros((4, 5, 3), "uint8"),), (np.zeros((4, 6, 3), "uint8"),)])
