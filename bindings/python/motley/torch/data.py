# SPDX-License-Identifier: Apache-2.0
"""What loaders read and hand on: indices that carry epoch and view, data sets whose samples carry their ids or are
augmented as they are read, a collate_fn that augments; and batches: tuples, named tuples, lists, mappings, nested."""

from __future__ import annotations

import collections
import functools
import itertools
import math
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch
from torch.utils.data import Dataset, IterableDataset, default_collate

import motley
from motley._arrays import Pillow, kind_of
from motley._images import refuse_followers
from motley._native import ArgumentError, epoch_given, whole
from motley._random import Index, numbers_of
from motley.adapters import check_labels, transform_of
from motley.follow import Boxes, Points
from motley.torch.module import Transform

if TYPE_CHECKING:
    from motley._types import DataSet, PolicyLike

    Indices = Iterable[int] | Iterable[list[int]]

Batch = TypeVar("Batch")


# ---- indices ----


class Sampler(torch.utils.data.Sampler[Any]):
    """Wraps a sampler, so that each index carries what its sample is drawn by to any worker: its epoch, and its view,
    which is how many times it came before in this pass.

        sampler = motley.torch.Sampler(DistributedSampler(dataset))
        loader = DataLoader(motley.torch.Augmented(dataset, "rand_augment"), 256, sampler=sampler, num_workers=8)
        sampler.set_epoch(start)                            # where a run is resumed; each pass is then the next epoch

    Draws then depend on (seed, epoch, index, view) and on nothing else: not on workers, ranks, batch sizes or a
    restart. What reads by plain indices draws anew in each call.

    Args:
        sampler: A sampler or a batch sampler of one rank's indices; or a data set, which is read in random order.
        epoch: Of the next pass; each further pass is the next epoch. set_epoch() sets it as a DistributedSampler's
            does, and an epoch that is set in the sampler inside is taken as well.
        repeats: How many times in a row the sampler repeats each index before it deals them out to the ranks. None:
            what its `repetitions` (torchvision's RASampler) or `num_repeats` (timm's RepeatAugSampler) says.
    """

    repeats: float | None

    _inside: Any

    def __init__(self, sampler: Indices | DataSet, epoch: int = 0, *, repeats: float | None = None) -> None:
        if isinstance(sampler, (IterableDataset, str)) or hasattr(sampler, "ndim"):
            wanted = "a sampler, a list of indices or a data set that is read by them"
            raise ArgumentError(f"sampler is a {type(sampler).__name__}, want {wanted}")
        if hasattr(sampler, "__getitem__") and not isinstance(sampler, (list, tuple, range)):
            sampler = torch.utils.data.RandomSampler(sampler)
        if not hasattr(sampler, "__iter__"):
            raise ArgumentError(f"sampler is a {type(sampler).__name__}, want a sampler or a data set")
        if repeats is None:
            repeats = getattr(sampler, "repetitions", None) or getattr(sampler, "num_repeats", None)
        elif isinstance(repeats, bool) or not isinstance(repeats, (int, float)) or not 1 <= repeats < math.inf:
            raise ArgumentError(f"repeats is {repeats!r}, want a number from 1, or None")
        self._inside, self.repeats = sampler, repeats
        self.epoch, self._known = epoch_given(epoch), self._epoch_inside()

    def set_epoch(self, epoch: int) -> None:
        """The epoch of the next pass, here and in the sampler inside."""
        self.epoch = epoch_given(epoch)
        set_epoch = getattr(self._inside, "set_epoch", None) or getattr(self._sampler_inside(), "set_epoch", None)
        if set_epoch is not None:
            set_epoch(epoch)
        self._known = self._epoch_inside()

    def _sampler_inside(self) -> Any:
        """The sampler, or that of a batch sampler."""
        return getattr(self._inside, "sampler", self._inside)

    def _epoch_inside(self) -> Any:
        """The epoch of a sampler that has set_epoch(), which the script may call there."""
        sampler = self._sampler_inside()
        return getattr(sampler, "epoch", None) if hasattr(sampler, "set_epoch") else None

    def __iter__(self) -> Iterator[Index | list[Index]]:
        inside = self._epoch_inside()
        if inside != self._known:
            self.epoch, self._known = epoch_given(inside), inside
        epoch, self.epoch = self.epoch, self.epoch + 1
        views = self._by_place(self.repeats) if self.repeats else self._by_count()
        for index in map(numbers_of, self._inside):  # of tensors, too, of which equal ones have several hashes
            if isinstance(index, (list, tuple)):
                yield [Index(i, epoch, views(i)) for i in index]
            else:
                yield Index(index, epoch, views(index))

    @staticmethod
    def _by_count() -> Callable[[int], int]:
        counts: collections.Counter[int] = collections.Counter()

        def view(index: int) -> int:
            counts[index] += 1
            return counts[index] - 1

        return view

    def _by_place(self, repeats: float) -> Callable[[int], int]:
        """Of a sampler that deals [a, a, a, b, b, b, ...] out to the ranks, one after the other."""
        inside = self._sampler_inside()
        places = itertools.count(getattr(inside, "rank", 0), getattr(inside, "num_replicas", 1))
        last: list[int | None] = [-1, None]

        def view(index: int) -> int:
            place = next(places)
            group = int(place // repeats)
            if last[0] == group and last[1] != index:
                raise ArgumentError(
                    f"the sampler does not repeat each index {repeats} times in a row: places up to {place} have "
                    f"{last[1]} and {index}"
                )
            last[:] = group, index
            return place - math.ceil(group * repeats)

        return view

    def __len__(self) -> int:
        return len(self._inside)

    def __getattr__(self, name: str) -> Any:  # such as batch_size, which Lightning and Accelerate read
        if name in ("_inside", "state_dict", "load_state_dict") or name.startswith("__"):
            raise AttributeError(name)  # a state would be of the sampler's place alone: a loader skips what was read
        return getattr(self._inside, name)


# ---- data sets ----


class _Around(Dataset[Any]):
    """A wrapper of a data set, which also has the data set's own attributes."""

    dataset: Any

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int | list[int]) -> object:
        index = _index(index, len(self.dataset))
        return self._made(self.dataset[_plain(index)], index)

    def __getitems__(self, indices: list[int]) -> list[object]:
        """Of a data set that reads several samples at once, these."""
        indices = [_index(index, len(self.dataset)) for index in indices]
        read = getattr(self.dataset, "__getitems__", None)
        samples = read(list(map(_plain, indices))) if read else [self.dataset[_plain(index)] for index in indices]
        return list(map(self._made, samples, indices))

    def _made(self, sample: Any, index: Any) -> object:
        """What becomes of the sample that was read by an index; or by a list of these, where a BatchSampler is the
        loader's sampler."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name == "dataset" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dataset, name)


def _index(index: Any, count: int) -> Any:
    """An index from 0, with what it carries."""
    if isinstance(index, list):
        return [_index(each, count) for each in index]
    if not isinstance(index, Index) and type(index) is not int:
        index = whole("the index", index, -(1 << 63), (1 << 63) - 1, "of a sample")
    if index < -count:
        raise IndexError(f"index {int(index)} of a data set of {count} samples")
    return index + count if index < 0 else index


def _plain(index: Any) -> Any:
    return list(map(int, index)) if isinstance(index, list) else int(index)


class Indexed(_Around):
    """A data set whose samples carry their index as their last item (of a dict: under 'sample_id'; of a named tuple: as
    sample_id). By an index of a motley.torch.Sampler the item is a tensor of the id, the view and the epoch;
    batched, [N, 3], which transforms take as ids."""

    def __init__(self, dataset: DataSet) -> None:
        if isinstance(dataset, IterableDataset):
            raise ArgumentError("the data set is an IterableDataset, which is read without indices: want one with them")
        self.dataset = dataset

    def _made(self, sample: Any, index: Any) -> object:
        of_batch = isinstance(index, list)
        if isinstance((index or [0])[0] if of_batch else index, Index):
            rows = [[i.id, i.view, i.epoch] for i in (index if of_batch else [index])]
            index = torch.tensor(rows if of_batch else rows[0])
        elif of_batch:
            index = torch.tensor(index)
        if "sample_id" in (sample if isinstance(sample, Mapping) else getattr(sample, "_fields", ())):
            raise ArgumentError("the samples have a 'sample_id' of their own, want none, as Indexed adds one")
        if isinstance(sample, Mapping):
            return {**sample, "sample_id": index}
        if isinstance(sample, tuple) and hasattr(sample, "_fields"):
            return _with_field(type(sample))(*sample, index)
        if isinstance(sample, (tuple, list)):
            return type(sample)([*sample, index])
        return sample, index

    def __repr__(self) -> str:
        return f"Indexed({self.dataset!r})"


@functools.lru_cache(maxsize=None)
def _with_field(cls: Any) -> Any:
    """The named tuple `cls` with one more field; pickled as `cls` and its items, since workers cannot import it."""
    make: Any = collections.namedtuple  # whose names checkers want to read
    made = make(cls.__name__, (*cls._fields, "sample_id"))
    made.__reduce__ = lambda self: (_rebuilt, (cls, *self))
    return made


def _rebuilt(cls: Any, *items: Any) -> Any:
    return _with_field(cls)(*items)


def _follow_of(transform: object) -> motley.Follow | None:
    """The motley.Follow that this is, or that a transform with follow= is."""
    if isinstance(transform, motley.Transform) and transform.follow is not None:
        return motley.Follow(transform)
    return transform if isinstance(transform, motley.Follow) else None


class Augmented(_Around):
    """A data set whose images are augmented one by one as they are read: by an index of a motley.torch.Sampler sample i
    with the draws of id i, in its epoch and view; by a plain index, and of an IterableDataset, with new ones.

    Args:
        policy: A policy, or a motley.Transform, whose settings are kept. With a policy that has stages an image becomes
            the network's input, a NumPy array if it was a PIL image; with views a dictionary of these. Or a
            motley.Follow, or a transform with `follow`, for samples that are dictionaries: masks, boxes and points move
            with the image.
        seed: Of a policy; None is none, or that of the transform.
        images: Index or key of the image in a sample: a PIL image, or a uint8 tensor or array that motley takes. A
            sample that is neither a tuple, a list nor a dict is the image.
        views: How many views of an image to make. Several replace the image by a tuple of them; with a Follow, the
            sample by a tuple of samples. None: the transform's, which is 1 of a policy.
    """

    def __new__(cls, dataset: DataSet | Iterable[Any], *rest: object, **settings: object) -> Augmented:
        made: Augmented = super().__new__(_AugmentedStream if isinstance(dataset, IterableDataset) else cls)
        return made

    def __getnewargs__(self) -> tuple[object, ...]:
        return (self.dataset,)

    def __init__(
        self,
        dataset: DataSet | Iterable[Any],
        policy: PolicyLike | motley.Follow,
        *,
        seed: int | None = None,
        images: int | str = 0,
        views: int | None = None,
    ) -> None:
        self.dataset, self._images = dataset, images
        self._follow = _follow_of(policy)
        if self._follow is not None and seed is not None:
            raise ArgumentError(f"seed is {seed} beside a motley.Follow, want it in the Follow's transform")
        if isinstance(policy, motley.Follow):
            policy = policy.transform
        self._augment: Any = self._follow.transform if self._follow else transform_of(policy, seed)
        self._views = getattr(self._augment, "views", 1) if views is None else whole("views", views, 1, 65536, "from 1")

    def _made(self, sample: Any, index: Any = None) -> object:
        how: dict[str, Any] = {} if self._views == 1 else {"views": self._views}
        if isinstance(index[0] if isinstance(index, list) and index else index, Index):
            how["sample_ids"] = index
        if self._follow is not None:
            return self._follow(sample, **how)
        inside = isinstance(sample, (tuple, list, Mapping))
        image = item(sample, self._images, "image", "a sample") if inside else sample
        image = self._augment(image, **how)
        return replaced(sample, self._images, image) if inside else image

    def __repr__(self) -> str:
        seed = "" if self._augment.seed is None else f", seed={self._augment.seed}"
        return f"Augmented({self.dataset!r}, {self._augment.policy.name}{seed})"


class _AugmentedStream(IterableDataset[Any], Augmented):
    def __iter__(self) -> Iterator[Any]:
        return map(self._made, self.dataset)


# ---- collating ----


class MotleyCollate:
    """A collate_fn that stacks a batch's images and augments them in one call, on the worker's core.

    Args:
        transform: A motley.Transform or motley.torch.Transform, whose result is the batch's images; or a motley.Policy,
            a name or a path. One with stages takes decoded images of any sizes; of one with views a
            dictionary of batches takes the images' place. With a motley.Follow the samples are its
            dictionaries, and what follows the images is moved with them.
        images: Index or key of the image in a sample: PIL images or uint8 arrays [H, W, C] of one size, or uint8
            tensors [C, H, W]. A Follow has its own key for them.
        ids: Index or key of the sample ids, which know their epoch where a motley.torch.Sampler has handed them out
            (and motley.torch.Indexed adds them to samples); or None: each batch draws anew.
        labels: Index or key of the labels, which a policy that mixes images turns into targets; elsewhere None.
        collate: Of everything else. None: torch's default_collate; with a Follow it is done key by key, and boxes,
            points, their labels and whatever else cannot be stacked stay lists. Several views are a tuple of batches.
    """

    def __init__(
        self,
        transform: motley.Follow | PolicyLike,
        *,
        images: int | str | None = None,
        ids: int | str | None = None,
        labels: int | str | None = None,
        collate: Callable[[list[Any]], object] | None = None,
    ) -> None:
        self.follow = _follow_of(transform)
        if not self.follow and isinstance(transform, (motley.Transform, motley.Policy, str, os.PathLike, Mapping)):
            transform = transform_of(transform, None, mixing=True, module=Transform)
        if self.follow:
            if images is not None:
                raise ArgumentError(f"images is {images!r}, but the Follow has its own key, {self.follow.image!r}")
            transform = self.follow.transform
        elif not isinstance(transform, Transform):
            raise TypeError(
                f"transform is a {type(transform).__module__}.{type(transform).__qualname__}, want a "
                "motley.Transform, a motley.Policy, a name or a path"
            )
        self.transform: Any = transform
        check_labels(transform, labels)
        self.images: Any = self.follow.image if self.follow else 0 if images is None else images
        self.ids, self.labels = ids, labels
        self.collate = collate or (self._by_key if self.follow else default_collate)

    def __call__(self, samples: list[Any]) -> object:
        if self.follow:
            return self._followed(self.follow, samples)
        images = [item(sample, self.images, "image", "a sample") for sample in samples]
        transform = self.transform
        if not transform.policy.whole:
            if images and kind_of(type(images[0])) is Pillow and Pillow.channels(images[0]) % 2 == 0:
                transform = transform._of_alpha(True)  # which their tensor does not show
            images = self._stack(images)
        batch = self.collate([replaced(sample, self.images, 0) for sample in samples])
        labels = None if self.labels is None else item(batch, self.labels, "labels")
        ids = self._ids_of(samples)
        return augmented(batch, transform, (self.images, self.labels), images, labels, sample_ids=ids)

    def _ids_of(self, samples: list[Any]) -> Any:
        """The ids of a batch, with the epochs and views that they carry."""
        if self.ids is None:
            return None
        ids = [item(sample, self.ids, "sample ids", "a sample") for sample in samples]
        return ids if any(isinstance(i, Index) for i in ids) else torch.as_tensor(default_collate(ids))

    def _followed(self, follow: motley.Follow, samples: list[Any]) -> Any:
        return self._collated(follow(samples, sample_ids=self._ids_of(samples)))

    def _collated(self, samples: Any) -> Any:
        """A batch of a list of samples; of several views what holds the lists, with batches in their place."""
        if isinstance(samples, dict):
            return {name: self._collated(own) for name, own in samples.items()}
        return tuple(map(self._collated, samples)) if isinstance(samples, tuple) else self.collate(samples)

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


def map_items(function: Callable[[Any], object], batch: Batch) -> Batch:
    """`batch` with each of its items replaced; anything but a container is returned unchanged."""
    if isinstance(batch, Mapping):
        return cast("Batch", {key: function(value) for key, value in batch.items()})
    return like(batch, map(function, batch)) if isinstance(batch, (tuple, list)) else batch


def map_tensors(function: Callable[[torch.Tensor], object], batch: Batch) -> Batch:
    """`batch` with its tensors replaced."""
    if isinstance(batch, torch.Tensor):
        return cast("Batch", function(batch))
    return map_items(lambda item: map_tensors(function, item), batch)


def replaced(batch: Batch, key: Hashable, value: object) -> Batch:
    """A copy of `batch` with item `key` replaced."""
    if isinstance(batch, Mapping):
        return cast("Batch", {**batch, key: value})
    items: Any = list(cast("Iterable[Any]", batch))
    items[key] = value
    return like(batch, items)


def item(batch: object, key: Any, what: str, whole: str = "a batch") -> Any:
    """Item `key` of a batch or a sample; the message says what it should be where there is none."""
    if not isinstance(batch, (Mapping, tuple, list)):
        kind = type(batch).__name__
        raise ArgumentError(f"{whole} is a {kind}, want a tuple, a list or a dictionary with the {what} at {key!r}")
    if isinstance(key, bool):
        raise ArgumentError(f"{key} is given for the {what}, want an index or a key of {whole}")
    is_mapping = isinstance(batch, Mapping)
    is_index = hasattr(key, "__index__") and -len(batch) <= key < len(batch)
    if key not in batch if is_mapping else not is_index:
        has = f"the keys {', '.join(map(str, batch))}" if is_mapping else f"{len(batch)} items"
        adds = "; motley.torch.Indexed adds them" if what == "sample ids" else ""
        if is_mapping and not adds:
            adds = f", want {'images' if what == 'image' else what}= one of them"
        raise ArgumentError(f"{whole} has no {what} at {key!r}: it has {has}{adds}")
    return batch[key]


def augmented(
    batch: Batch, transform: Any, at: tuple[Hashable, Hashable], images: object, labels: object, **how: object
) -> Batch:
    """`batch` with what the transform makes of the images; of those that it mixes, with targets in the place of labels.

    at: the index or key of the images, and of the labels."""
    if labels is None:
        return replaced(batch, at[0], transform(images, **how))
    result, targets = transform(images, labels=labels, **how)
    return replaced(replaced(batch, at[0], result), at[1], targets)


def like(batch: Batch, items: Iterable[Any]) -> Batch:
    """A list or tuple of `batch`'s kind."""
    cls: Any = batch.like if isinstance(batch, motley.Targets) else type(batch)
    made: Batch = cls(*items) if hasattr(batch, "_fields") else cls(items)
    return made


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
