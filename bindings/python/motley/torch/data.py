# SPDX-License-Identifier: Apache-2.0
"""What loaders read and hand on: indices that carry views and epochs, data sets whose samples carry their ids or are
augmented as they are read, a collate_fn that augments; and batches: tuples, named tuples, lists, mappings, nested."""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset, IterableDataset, Sampler, default_collate

import motley
from motley._arrays import Pillow, kind_of
from motley._images import refuse_followers
from motley._native import ArgumentError, view_given, whole
from motley.adapters import check_labels, fresh_seed, transform_of
from motley.follow import Boxes, Points
from motley.samples import Epoch, Lineage, Passes, Repeats, current, mixed, rank_of_run, world_of_run
from motley.torch.module import Transform, of_torch

if TYPE_CHECKING:
    from motley._types import PolicyLike

ADVICE = (
    "call set_epoch() of the motley.torch.Augmented before each pass; around a sampler that repeats its indices "
    "put motley.torch.Views, and for several views of one reading there is Augmented(views=)"
)


# ---- indices ----


class Index(int):
    """An index of a data set, the view to draw, and how many epochs after the loader's that is of. Adding to it and
    subtracting from it, as ConcatDataset does, keep both."""

    view: int
    later: int

    def __new__(cls, index: int, view: int = 0, later: int = 0) -> Index:
        made = super().__new__(cls, index)
        made.view, made.later = view, later
        return made

    def __add__(self, other: int) -> Index:
        return Index(int(self) + other, self.view, self.later)

    def __sub__(self, other: int) -> Index:
        return Index(int(self) - other, self.view, self.later)

    def __reduce__(self) -> tuple[Any, ...]:
        return Index, (int(self), self.view, self.later)

    __radd__ = __add__


class Views(Sampler[Any]):
    """Wraps a sampler, so that each index carries its view and epoch to any worker, for Augmented, Indexed and
    Reproducible: a repetition of an index becomes a separate view, and a round of a loader that begins its sampler anew
    in one endless pass (timm's MultiEpochsDataLoader, Ultralytics' InfiniteDataLoader) the next epoch.

        loader = DataLoader(dataset, sampler=motley.torch.Views(RASampler(dataset, shuffle=True)), ...)

    A view depends on the place in the sampler's order alone, so it is the same in any worker, on any number of ranks,
    and in a resumed run. (Indexed hands on the view and not the round.)

    Args:
        sampler: The sampler of one rank's indices.
        repeats: How many times in a row it repeats each index before it deals them out to the ranks. None: what its
            `repetitions` (torchvision's RASampler) or `num_repeats` (timm's RepeatAugSampler) says. Without either, the
            k-th time that a rank reads an index is view k, and a sampler without `num_replicas` is assumed to draw for
            its rank alone.
    """

    _pass: int | None = None  # when the loader's pass began that is being read
    _round = 0  # which round of it this is
    repeats: float | None

    def __init__(self, sampler: Iterable[Any], repeats: float | None = None) -> None:
        self.sampler = sampler
        if repeats is None:
            repeats = getattr(sampler, "repetitions", None) or getattr(sampler, "num_repeats", None)
        elif isinstance(repeats, bool) or not isinstance(repeats, (int, float)) or not 1 <= repeats < math.inf:
            raise ArgumentError(f"repeats is {repeats!r}, want a number from 1, or None")
        self.repeats = repeats

    def __iter__(self) -> Iterator[Any]:
        loading = current()
        began: int | None = None if loading is None else loading.began
        again = began is not None and began == self._pass
        self._pass, self._round = began, self._round + 1 if again else 0
        return self._by_place(self.repeats, self._round) if self.repeats else self._by_count(self._round)

    def _by_place(self, repeats: float, later: int) -> Iterator[Index]:
        """Of a sampler that deals [a, a, a, b, b, b, ...] out to the ranks, one after the other."""
        place, ranks = getattr(self.sampler, "rank", 0), getattr(self.sampler, "num_replicas", 1)
        last = None
        for i in self.sampler:
            group = int(place // repeats)
            if last is not None and last[0] == group and last[1] != i:
                raise ArgumentError(
                    f"the sampler does not repeat each index {repeats} times in a row: "
                    f"places {place - ranks} and {place} are {last[1]} and {i}"
                )
            last = group, i
            yield Index(i, place - math.ceil(group * repeats), later)
            place += ranks

    def _by_count(self, later: int) -> Iterator[Index]:
        alone = hasattr(self.sampler, "num_replicas")
        rank, ranks = (0, 1) if alone else (rank_of_run(), world_of_run())
        counts: collections.Counter[Any] = collections.Counter()
        for i in self.sampler:
            yield Index(i, counts[i] * ranks + rank, later)
            counts[i] += 1

    def __len__(self) -> int:
        return len(self.sampler)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:  # set_epoch, among others
        if name in ("sampler", "state_dict", "load_state_dict") or name.startswith("__"):
            raise AttributeError(name)  # a state would be of the sampler's place alone: a loader skips what was read
        return getattr(self.sampler, name)


# ---- data sets ----


class _Around(Dataset[Any]):
    """A wrapper of a data set, which also has the data set's own attributes."""

    dataset: Any
    _of_stream: type[Any]  # the wrapper of an IterableDataset

    def __new__(cls, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        return super().__new__(cls._of_stream if isinstance(dataset, IterableDataset) else cls)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (self.dataset,)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        i, view, later = self._which(index)
        return self._made(self.dataset[i], i, view, later)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """Of a data set that reads several samples at once, these."""
        each = list(map(self._which, indices))
        numbers = [i for i, *_ in each]
        read = getattr(self.dataset, "__getitems__", None)
        samples = read(numbers) if read else [self.dataset[i] for i in numbers]
        return [self._made(sample, *which) for sample, which in zip(samples, each)]

    def _made(self, sample: Any, i: Any, view: Any, later: int) -> Any:
        """What becomes of sample i, whose other arguments are as _which has them."""
        raise NotImplementedError

    def _which(self, index: Any) -> tuple[Any, Any, int]:
        """(i, view, later) of an index, those of the Index; the view is None where it says none. i and view are lists
        where a BatchSampler is the loader's sampler."""
        view: Any = None
        later = 0
        if isinstance(index, Index):
            index, view, later = int(index), index.view, index.later
        elif isinstance(index, list):
            each = list(map(self._which, index))
            views: Any = [view for _, view, _ in each]
            views = None if {*views} <= {None} else [view or 0 for view in views]
            return [i for i, *_ in each], views, each[0][2] if each else 0
        elif isinstance(index, tuple) and len(index) == 2:
            index, view = whole("the index", index[0], -(1 << 63), (1 << 63) - 1, "of a sample"), view_given(index[1])
        elif type(index) is not int:
            index = whole("the index", index, -(1 << 63), (1 << 63) - 1, "of a sample")
        if index < 0:
            index += len(self.dataset)
            if index < 0:
                raise IndexError(f"index {index - len(self.dataset)} of a data set of {len(self.dataset)} samples")
        return index, view, later

    def __getattr__(self, name: str) -> Any:
        if name == "dataset" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dataset, name)


def _first_of_stream() -> int:
    """The id of the first sample that this worker of this rank reads of an iterable data set."""
    worker, rank = torch.utils.data.get_worker_info(), rank_of_run()
    number = worker.id if worker else 0
    return mixed(f"stream {rank} {number}") >> 2 if rank or number else 0


class _Stream(IterableDataset[Any]):
    """The samples of an iterable data set, each with an id: its place in what this worker of this rank reads. Where the
    data set has a state, which torchdata's StatefulDataLoader keeps, the next id is in it."""

    dataset: Any
    _made: Any
    _next: int | None = None  # the next id of the pass that was last read
    _loaded: int | None = None  # the first of the next pass

    def __iter__(self) -> Iterator[Any]:
        for sample, i in zip(self.dataset, self._numbers()):
            yield self._made(sample, i, None, 0)
        self._next = None

    def _numbers(self) -> Iterator[int]:
        first, self._loaded = self._loaded, None
        for number in itertools.count(_first_of_stream() if first is None else first):
            self._next = number + 1
            yield number

    def __getattr__(self, name: str) -> Any:
        found = _Around.__getattr__(self, name)
        own: Any = {"state_dict": self._state, "load_state_dict": self._load}.get(name)
        return found if own is None else functools.partial(own, found)

    def _state(self, state_dict: Any) -> dict[str, Any]:
        return {"dataset": state_dict(), "next_id": self._next}

    def _load(self, load_state_dict: Any, state: dict[str, Any]) -> None:
        load_state_dict(state["dataset"])
        self._loaded = state["next_id"]


class Indexed(_Around):
    """A data set whose samples carry their index as their last item (of a dict: under 'sample_id'; of a named tuple: as
    sample_id). With a motley.torch.Views sampler the item is a tensor of the index and the view; batched, [N, 2], which
    transforms accept as ids. The samples of an IterableDataset are numbered as each worker reads them."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def _made(self, sample: Any, i: Any, view: Any, later: int) -> Any:
        if view is not None:
            i = torch.tensor(list(zip(i, view)) if isinstance(i, list) else [i, view])
        elif isinstance(i, list):
            i = torch.tensor(i)
        if "sample_id" in (sample if isinstance(sample, Mapping) else getattr(sample, "_fields", ())):
            raise ArgumentError("the samples have a 'sample_id' of their own, want none, as Indexed adds one")
        if isinstance(sample, Mapping):
            return {**sample, "sample_id": i}
        if isinstance(sample, tuple) and hasattr(sample, "_fields"):
            return _with_field(type(sample))(*sample, i)
        if isinstance(sample, (tuple, list)):
            return type(sample)([*sample, i])
        return sample, i

    def __repr__(self) -> str:
        return f"Indexed({self.dataset!r})"


class _IndexedStream(_Stream, Indexed):
    pass


@functools.lru_cache(maxsize=None)
def _with_field(cls: Any) -> Any:
    """The named tuple `cls` with one more field; pickled as `cls` and its items, since workers cannot import it."""
    make: Any = collections.namedtuple  # whose names checkers want to read
    made = make(cls.__name__, (*cls._fields, "sample_id"))
    made.__reduce__ = lambda self: (_rebuilt, (cls, *self))
    return made


def _rebuilt(cls: Any, *items: Any) -> Any:
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

    def __getitem__(self, index: Any) -> Any:
        i, view, later = self._which(index)
        with motley.samples(i, epoch=int(self.epoch) + later, view=view or 0):
            return self.dataset[i]

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        return [self[index] for index in indices]

    def __repr__(self) -> str:
        return f"Reproducible({self.dataset!r}, epoch={self.epoch})"


class _ReproducibleStream(_Stream, Reproducible):
    def __iter__(self) -> Iterator[Any]:
        samples, end = iter(self.dataset), object()
        for i in self._numbers():
            with motley.samples(i, epoch=int(self.epoch)):
                sample = next(samples, end)
            if sample is end:
                break
            yield sample
        self._next = None


class Augmented(_Around, Passes):
    """A data set whose images are augmented one by one as they are read, sample i with the draws of id i.

    Each pass of a DataLoader is the next epoch, unless set_epoch() says which. Wrap a sampler that repeats its indices
    in motley.torch.Views; dataset[i, view] selects a view directly. The samples of an IterableDataset are numbered as
    each worker reads them.

    Args:
        policy: A policy, or a motley.Transform, whose settings are kept. With a policy that has stages an image becomes
            the network's input, a NumPy array if it was a PIL image; with views a dictionary of these. Or a
            motley.Follow, for samples that are dictionaries: masks, boxes and points move with the image.
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
                raise ArgumentError(f"seed is {seed} beside a motley.Follow, want it in the Follow's transform")
            self.follow = copy.copy(policy)
            self.augment: Any = copy.copy(policy.transform)
            self.follow.transform = self.augment
        else:
            self.augment = transform_of(policy, seed)  # not `transform`, which data sets have themselves
        self.augment._repeats = Repeats(ADVICE)
        self.views = getattr(self.augment, "views", 1) if views is None else whole("views", views, 1, 65536, "from 1")
        if self.views > 1 and isinstance(self.augment, motley.MultiView):
            raise ArgumentError(f"views is {self.views}, but policy '{self.augment.policy.name}' has views itself")
        self.epoch = self.epochs = Epoch(self.augment.epoch)

    def _made(self, sample: Any, i: Any, view: Any, later: int) -> Any:
        epoch, view = int(self.epoch) + later, view or 0
        if self.follow is not None:
            return self.follow(sample, epoch=epoch, sample_ids=i, view=view, views=self.views)
        inside = isinstance(sample, (tuple, list, Mapping))
        image = item(sample, self.images, "image", "a sample") if inside else sample
        times = {} if self.views == 1 else {"views": self.views}
        image = self.augment(image, epoch=epoch, sample_ids=i, view=view, **times)
        return replaced(sample, self.images, image) if inside else image

    def __repr__(self) -> str:
        return f"Augmented({self.dataset!r}, {self.augment.policy.name}, seed={self.augment.seed}, epoch={self.epoch})"


class _AugmentedStream(_Stream, Augmented):
    pass


Indexed._of_stream = _IndexedStream
Reproducible._of_stream = _ReproducibleStream
Augmented._of_stream = _AugmentedStream


# ---- collating ----


class MotleyCollate(Passes):
    """A collate_fn that stacks a batch's images and augments them in one call, on the worker's core.

    Each pass of a DataLoader is the next epoch, unless set_epoch() says which.

    Args:
        transform: A motley.Transform or motley.torch.Transform, whose result is the batch's images; or a motley.Policy,
            a name or a path. One with stages takes decoded images of any sizes; of one with views, or a
            motley.MultiView, a dictionary of batches takes the images' place. With a motley.Follow the samples are its
            dictionaries, and what follows the images is moved with them.
        images: Index or key of the image in a sample: PIL images or uint8 arrays [H, W, C] of one size, or uint8
            tensors [C, H, W]. A Follow has its own key for them.
        ids: Index or key of the sample id, or None: each batch takes new ids from the worker's generator, which torch
            seeds again in each epoch.
        labels: Index or key of the labels, which a policy that mixes images turns into targets; elsewhere None.
        collate: Of everything else. None: torch's default_collate; with a Follow it is done key by key, and boxes,
            points, their labels and whatever else cannot be stacked stay lists. Several views are a tuple of batches.
    """

    def __init__(
        self,
        transform: motley.MultiView | motley.Follow | PolicyLike,
        *,
        images: int | str | None = None,
        ids: int | str | None = None,
        labels: int | str | None = None,
        collate: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        if isinstance(transform, (motley.Transform, motley.Policy, str, os.PathLike, Mapping)):
            transform = transform_of(transform, None, mixing=True, module=Transform)
        self.follow = transform if isinstance(transform, motley.Follow) else None
        if self.follow:
            if images is not None:
                raise ArgumentError(f"images is {images!r}, but the Follow has its own key, {self.follow.image!r}")
            transform = self.follow.transform
        elif not isinstance(transform, (Transform, motley.MultiView)):
            raise TypeError(
                f"transform is a {type(transform).__module__}.{type(transform).__qualname__}, want a "
                "motley.Transform, a motley.Policy, a name or a path"
            )
        self.transform: Any = transform
        self.epochs = transform
        check_labels(transform, labels)
        self.images: Any = self.follow.image if self.follow else 0 if images is None else images
        self.ids, self.labels = ids, labels
        self.collate = collate or (self._by_key if self.follow else default_collate)

    def __call__(self, samples: list[Any]) -> Any:
        if self.follow:
            return self._followed(self.follow, samples)
        images = [item(sample, self.images, "image", "a sample") for sample in samples]
        if not self.transform.policy.whole:
            images = self._stack(images)
        batch = self.collate([replaced(sample, self.images, 0) for sample in samples])
        ids = None if self.ids is None else torch.as_tensor(item(batch, self.ids, "sample ids"))
        labels = None if self.labels is None else item(batch, self.labels, "labels")
        how = self._which(ids, len(images))
        return augmented(batch, self.transform, (self.images, self.labels), images, labels, **how)

    def _which(self, ids: Any, count: int) -> dict[str, Any]:
        """What a call says of the samples. New ids need no new epoch, and torch.manual_seed makes them repeat."""
        if ids is not None:
            return {"sample_ids": ids}
        return {"sample_ids": fresh_seed() + torch.arange(count), "epoch": self.transform.epoch}

    def _followed(self, follow: motley.Follow, samples: list[Any]) -> Any:
        key = self.ids
        ids = None if key is None else [int(item(sample, key, "sample ids", "a sample")) for sample in samples]
        made = follow(samples, **self._which(ids, len(samples)))
        return self.collate(made) if self.transform.views == 1 else tuple(map(self.collate, made))

    def _by_key(self, samples: list[Any]) -> dict[Any, Any]:
        assert self.follow
        following = self.follow.following_in(samples[0])
        apart = {key for key, kind in following.items() if isinstance(kind, (Boxes, Points))}
        apart |= {field for kind in following.values() for field in getattr(kind, "label_fields", None) or ("labels",)}
        apart |= {getattr(kind, name, None) for kind in following.values() for name in ("visibility", "inside")}
        apart |= {key for key in following if isinstance(samples[0][key], (list, tuple))}  # masks
        batch = {}
        for key in samples[0]:
            values = [sample[key] for sample in samples]
            batch[key] = passed_on(values) if key in apart else _stacked(values)
        return batch

    def __repr__(self) -> str:
        of_what = f"{self.follow!r}" if self.follow else f"{self.transform!r}, images={self.images!r}"
        return f"MotleyCollate({of_what}, ids={self.ids!r})"

    @staticmethod
    def _stack(images: list[Any]) -> torch.Tensor:
        import numpy

        tensors = [isinstance(image, torch.Tensor) for image in images]
        if any(tensors) != all(tensors):
            raise ArgumentError("some images of a batch are tensors and some are not, want one kind")
        if tensors[0]:
            refuse_followers(type(images[0]))  # type: ignore[arg-type]
        for image in images:
            if kind_of(type(image)) is Pillow:
                Pillow.channels(image)  # or numpy would take a palette's indices, or hues, for brightness
        arrays = images if tensors[0] else [numpy.asarray(image) for image in images]
        sizes = sorted({tuple(array.shape) for array in arrays})
        if len(sizes) > 1:
            raise ArgumentError(
                f"images of a batch have shapes {sizes[0]} and {sizes[1]}, want one size: resize or crop "
                "them before, or augment them one by one with motley.torch.Augmented"
            )
        if tensors[0]:
            return torch.stack(arrays)
        batch = torch.from_numpy(numpy.stack(arrays))
        return (batch[..., None] if batch.dim() == 3 else batch).permute(0, 3, 1, 2)


def _stacked(values: list[Any]) -> Any:
    """What default_collate makes of them, or the list where it cannot: of PIL images, None, or different lengths."""
    shapes = {getattr(value, "shape", None) for value in values}
    if len(shapes) > 1:
        return passed_on(values)
    try:
        return default_collate(values)
    except (TypeError, RuntimeError):
        if shapes != {None}:
            raise
        return values


# ---- batches ----


def map_items(function: Callable[[Any], Any], batch: Any) -> Any:
    """`batch` with each of its items replaced; anything but a container is returned unchanged."""
    if isinstance(batch, Mapping):
        return {key: function(value) for key, value in batch.items()}
    if isinstance(batch, (tuple, list)):
        return _like(batch, map(function, batch))
    return batch


def map_tensors(function: Callable[[torch.Tensor], Any], batch: Any) -> Any:
    """`batch` with its tensors replaced."""
    if isinstance(batch, torch.Tensor):
        return function(batch)
    return map_items(lambda item: map_tensors(function, item), batch)


def replaced(batch: Any, key: Any, value: Any) -> Any:
    """A copy of `batch` with item `key` replaced."""
    if isinstance(batch, Mapping):
        return {**batch, key: value}
    items = list(batch)
    items[key] = value
    return _like(batch, items)


def item(batch: Any, key: Any, what: str, whole: str = "a batch") -> Any:
    """Item `key` of a batch or a sample; the message says what it should be where there is none."""
    is_mapping = isinstance(batch, Mapping)
    if not is_mapping and not isinstance(batch, (tuple, list)):
        kind = type(batch).__name__
        raise ArgumentError(f"{whole} is a {kind}, want a tuple, a list or a dictionary with the {what} at {key!r}")
    if isinstance(key, bool):
        raise ArgumentError(f"{key} is given for the {what}, want an index or a key of {whole}")
    is_index = hasattr(key, "__index__") and -len(batch) <= key < len(batch)
    if key not in batch if is_mapping else not is_index:
        has = f"the keys {', '.join(map(str, batch))}" if is_mapping else f"{len(batch)} items"
        adds = "; motley.torch.Indexed adds them" if what == "sample ids" else ""
        if is_mapping and not adds:
            adds = f", want {'images' if what == 'image' else what}= one of them"
        raise ArgumentError(f"{whole} has no {what} at {key!r}: it has {has}{adds}")
    return batch[key]


def augmented(batch: Any, transform: Any, at: tuple[Any, Any], images: Any, labels: Any, **how: Any) -> Any:
    """`batch` with what the transform makes of the images; of those that it mixes, with targets in the place of labels.

    at: the index or key of the images, and of the labels."""
    if labels is None:
        made = transform(images, **how)
        return replaced(batch, at[0], of_torch(made) if isinstance(transform, motley.MultiView) else made)
    made, targets = transform(images, labels=labels, **how)
    return replaced(replaced(batch, at[0], made), at[1], targets)


def _like(batch: Any, items: Iterable[Any]) -> Any:
    return type(batch)(*items) if hasattr(batch, "_fields") else type(batch)(items)


def passed_on(values: list[Any]) -> list[Any]:
    """A list that keeps its tensors apart, as a worker's batch should have it."""
    if torch.utils.data.get_worker_info() is None or any(type(value) is not torch.Tensor for value in values):
        return values
    kinds = {(value.dtype, value.device.type, value.layout) for value in values}
    alike = len(kinds) == 1 and kinds.pop()[1:] == ("cpu", torch.strided)
    return _Joined(values) if alike else values


class _Joined(list[Any]):
    """Tensors that a worker passes on as one, and that arrive as a list. One by one each would take a file descriptor,
    of which many processes may have 1,024; and torchvision.io.read_file's, which map the file, cannot be passed on."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _parts, (torch.cat([value.reshape(-1) for value in self]), [value.shape for value in self])


def _parts(joined: torch.Tensor, shapes: list[torch.Size]) -> list[torch.Tensor]:
    parts = joined.split([shape.numel() for shape in shapes])
    return [part.view(shape) for part, shape in zip(parts, shapes)]
