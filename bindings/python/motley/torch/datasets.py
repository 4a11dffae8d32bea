# SPDX-License-Identifier: Apache-2.0
"""Data sets whose samples carry their ids, or are augmented as they are read, and samplers that number views."""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset, IterableDataset, Sampler

import motley
from motley.adapters import transform_of
from motley._native import whole
from motley.epochs import Epoch, Passes, Repeats, watch_loaders
from motley.processes import Lineage, mixed, rank_of_run, world_of_run
from motley.torch.batches import item, replaced

if TYPE_CHECKING:
    from motley._types import PolicyLike

ADVICE = ("call set_epoch() of the motley.torch.Augmented before each pass; around a sampler that repeats its indices "
          "put motley.torch.Views, and for several views of one reading there is Augmented(views=)")


# ---- indices ----

class Index(int):
    """An index of a data set, and the view to draw. Adding to it and subtracting from it, as ConcatDataset does, keep
    the view."""

    view: int

    def __new__(cls, index: int, view: int = 0) -> Index:
        made = super().__new__(cls, index)
        made.view = view
        return made

    def __add__(self, other):
        return Index(int(self) + other, self.view)

    def __sub__(self, other):
        return Index(int(self) - other, self.view)

    def __reduce__(self):
        return Index, (int(self), self.view)

    __radd__ = __add__


class Views(Sampler[Any]):
    """Wraps a sampler that repeats indices: each repetition becomes a separate view, for Augmented and Indexed.

        loader = DataLoader(dataset, sampler=motley.torch.Views(RASampler(dataset, shuffle=True)), ...)

    A view depends on the place in the sampler's order alone, so it is the same in any worker, on any number of ranks,
    and in a resumed run.

    Args:
        sampler: The sampler of one rank's indices.
        repeats: How many times in a row it repeats each index before it deals them out to the ranks. None: what its
            `repetitions` (torchvision's RASampler) or `num_repeats` (timm's RepeatAugSampler) says. Without either, the
            k-th time that a rank reads an index is view k, and a sampler without `num_replicas` is assumed to draw for
            its rank alone.
    """

    def __init__(self, sampler: Iterable[Any], repeats: float | None = None) -> None:
        self.sampler = sampler
        if repeats is None:
            repeats = getattr(sampler, "repetitions", None) or getattr(sampler, "num_repeats", None)
        self.repeats = repeats

    def __iter__(self) -> Iterator[Any]:
        return self._by_place() if self.repeats else self._by_count()

    def _by_place(self):
        """Of a sampler that deals [a, a, a, b, b, b, ...] out to the ranks, one after the other."""
        place, ranks = getattr(self.sampler, "rank", 0), getattr(self.sampler, "num_replicas", 1)
        last = None
        for i in self.sampler:
            group = int(place // self.repeats)
            if last is not None and last[0] == group and last[1] != i:
                raise motley.ArgumentError(f"the sampler does not repeat each index {self.repeats} times in a row: "
                                           f"places {place - ranks} and {place} are {last[1]} and {i}")
            last = group, i
            yield Index(i, place - math.ceil(group * self.repeats))
            place += ranks

    def _by_count(self):
        alone = hasattr(self.sampler, "num_replicas")
        rank, ranks = (0, 1) if alone else (rank_of_run(), world_of_run())
        counts = collections.Counter()
        for i in self.sampler:
            yield Index(i, counts[i] * ranks + rank)
            counts[i] += 1

    def __len__(self) -> int:
        return len(self.sampler)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:  # set_epoch, among others
        if name == "sampler" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.sampler, name)


def _index_and_view(index):
    if isinstance(index, list):  # of a BatchSampler that is the loader's sampler
        indices, views = zip(*map(_index_and_view, index)) if index else ((), ())
        return list(indices), list(views) if any(views) else 0
    if isinstance(index, tuple) and len(index) == 2:
        return operator.index(index[0]), operator.index(index[1])
    return operator.index(index), getattr(index, "view", 0)


# ---- data sets ----

class _Around(Dataset[Any]):
    """A wrapper of a data set, which also has the data set's own attributes."""

    dataset: Any
    _of_stream: type[Any]  # the wrapper of an IterableDataset

    def __new__(cls, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        return super().__new__(cls._of_stream if isinstance(dataset, IterableDataset) else cls)

    def __getnewargs__(self):
        return (self.dataset,)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        return [self[index] for index in indices]

    def _samples(self, indices):
        """For each of several indices its sample, itself and its view; the data set may read them at once."""
        read = getattr(self.dataset, "__getitems__", None)
        pairs = [_index_and_view(index) for index in indices]
        pairs = [(self._counted(i), view) for i, view in pairs]
        samples = read([i for i, _ in pairs]) if read else [self.dataset[i] for i, _ in pairs]
        return [(sample, *pair) for sample, pair in zip(samples, pairs)]

    def _counted(self, i):
        """Indices from the end, as indices."""
        return list(map(self._counted, i)) if isinstance(i, list) else i + len(self.dataset) if i < 0 else i

    def __getattr__(self, name: str) -> Any:
        if name == "dataset" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dataset, name)


def _first_of_stream():
    """The id of the first sample that this worker of this rank reads of an iterable data set."""
    worker, rank = torch.utils.data.get_worker_info(), rank_of_run()
    number = worker.id if worker else 0
    return mixed(f"stream {rank} {number}") >> 2 if rank or number else 0


class _Stream(IterableDataset[Any]):
    """The samples of an iterable data set, each with an id: its place in what this worker of this rank reads."""

    def __iter__(self):
        return (self._made(sample, i) for i, sample in enumerate(self.dataset, _first_of_stream()))


class Indexed(_Around):
    """A data set whose samples carry their index as their last item (of a dict: under 'sample_id'; of a named tuple: as
    sample_id). With a motley.torch.Views sampler the item is a tensor of the index and the view; batched, [N, 2], which
    stages accept as ids. The samples of an IterableDataset are numbered as each worker reads them."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __getitem__(self, index: Any) -> Any:
        i, view = _index_and_view(index)
        if isinstance(i, list):
            views = view or [0] * len(i)
            ids = torch.tensor(list(zip(i, views)) if any(isinstance(k, (Index, tuple)) for k in index) else i)
            return self._made(self.dataset[i], ids)
        return self._made(self.dataset[i], torch.tensor([i, view]) if isinstance(index, (Index, tuple)) else i)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        with_views = [isinstance(index, (Index, tuple)) for index in indices]
        return [self._made(sample, torch.tensor([i, view]) if of_views else i)
                for (sample, i, view), of_views in zip(self._samples(indices), with_views)]

    def _made(self, sample, i):
        if isinstance(sample, Mapping):
            return {**sample, "sample_id": i}
        if isinstance(sample, tuple) and hasattr(sample, "_fields"):
            return _with_field(type(sample))(*sample, i)
        if isinstance(sample, (tuple, list)):
            return type(sample)([*sample, i])
        return sample, i

    def __repr__(self):
        return f"Indexed({self.dataset!r})"


class _IndexedStream(Indexed, _Stream):
    pass


@functools.lru_cache(maxsize=None)
def _with_field(cls):
    """The named tuple `cls` with one more field; pickled as `cls` and its items, since workers cannot import it."""
    made = collections.namedtuple(cls.__name__, (*cls._fields, "sample_id"))
    made.__reduce__ = lambda self: (_rebuilt, (cls, *self))
    return made


def _rebuilt(cls, *items):
    return _with_field(cls)(*items)


class Reproducible(_Around, Passes):
    """A data set whose own transforms draw by sample id, sample i for id i: those of motley.torchvision and
    motley.timm, also after take_over().

        dataset = motley.torch.Reproducible(ImageFolder(path, transform))      # the script stays as it is

    Workers, ranks, batch sizes, shuffling and a resumed run then make no difference. Other transforms in it (such as
    torchvision's rotations) draw as they always do. A transform that is called twice for a sample gives the same image
    twice: for pairs use Augmented(views=2). Each pass of a DataLoader is the next epoch, unless set_epoch() says which.
    Wrap a sampler that repeats its indices in motley.torch.Views. The transforms' `seed` makes two runs differ. The
    samples of an IterableDataset are numbered as each worker reads them."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.epoch = self.epochs = Epoch()
        self._lineage = Lineage()
        watch_loaders()

    def __getitem__(self, index: Any) -> Any:
        i, view = _index_and_view(index)
        with motley.samples(self._counted(i), epoch=int(self.epoch), view=view):
            return self.dataset[i]

    def __repr__(self):
        return f"Reproducible({self.dataset!r}, epoch={self.epoch})"


class _ReproducibleStream(Reproducible, IterableDataset[Any]):
    def __iter__(self):
        samples, end = iter(self.dataset), object()
        for i in itertools.count(_first_of_stream()):
            with motley.samples(i, epoch=int(self.epoch)):
                sample = next(samples, end)
            if sample is end:
                return
            yield sample


class Augmented(_Around, Passes):
    """A data set whose images are augmented one by one as they are read, sample i with the draws of id i.

    Each pass of a DataLoader is the next epoch, unless set_epoch() says which. Wrap a sampler that repeats its indices
    in motley.torch.Views; dataset[i, view] selects a view directly. The samples of an IterableDataset are numbered as
    each worker reads them.

    Args:
        policy: A policy, or a motley.Transform, whose settings are kept. With a policy that has stages an image becomes
            the network's input, a NumPy array if it was a PIL image. Or a motley.Follow, for samples that are
            dictionaries: masks, boxes and points move with the image.
        seed: Of a policy; None is 0, or that of the transform.
        images: Index or key of the image in a sample: a PIL image, or a uint8 tensor or array that motley takes. A
            sample that is neither a tuple, a list nor a dict is the image.
        views: How many views of an image to make. Several replace the image by a tuple of them; with a Follow, the
            sample by a tuple of samples. None: the transform's, which is 1 of a policy.
    """

    def __init__(
        self,
        dataset: Any,
        policy: PolicyLike | motley.Follow,
        *,
        seed: int | None = None,
        images: int | str = 0,
        views: int | None = None,
    ) -> None:
        self.dataset, self.images = dataset, images
        self.follow: motley.Follow | None = None
        if isinstance(policy, motley.Follow):
            if seed is not None:
                raise motley.ArgumentError(f"seed is {seed} beside a motley.Follow, want it in the Follow's transform")
            self.follow = copy.copy(policy)
            self.augment = self.follow.transform = copy.copy(policy.transform)
        else:
            self.augment = transform_of(policy, seed)  # not `transform`, which data sets have themselves
        self.augment._repeats = Repeats(ADVICE)
        self.views = self.augment.views if views is None else whole("views", views, 1, 65536, "from 1")
        self.epoch = self.epochs = Epoch(self.augment.epoch)
        watch_loaders()

    def __getitem__(self, index: Any) -> Any:
        i, view = _index_and_view(index)
        i = self._counted(i)
        return self._made(self.dataset[i], i, view)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        return [self._made(*sample) for sample in self._samples(indices)]

    def _made(self, sample, i, view=0):
        if self.follow is not None:
            return self.follow(sample, epoch=int(self.epoch), sample_ids=i, view=view, views=self.views)
        inside = isinstance(sample, (tuple, list, Mapping))
        image = item(sample, self.images, "image", "a sample") if inside else sample
        image = self.augment(image, epoch=int(self.epoch), sample_ids=i, view=view, views=self.views)
        return replaced(sample, self.images, image) if inside else image

    def __repr__(self):
        return f"Augmented({self.dataset!r}, {self.augment.policy.name}, seed={self.augment.seed}, epoch={self.epoch})"


class _AugmentedStream(Augmented, _Stream):
    pass


Indexed._of_stream = _IndexedStream
Reproducible._of_stream = _ReproducibleStream
Augmented._of_stream = _AugmentedStream
