# SPDX-License-Identifier: Apache-2.0
"""A collate_fn that augments: a batch in one call, on a worker's core."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch

import motley
from motley import Policy
from motley.adapters import check_labels, fresh_seed
from motley._arrays import Pillow, kind_of
from motley.epochs import Passes, watch_loaders
from motley.follow import Boxes, Points
from motley._images import refuse_followers
from motley.torch.batches import augmented, item, passed_on, replaced
from motley.torch.transform import Transform


class MotleyCollate(Passes):
    """A collate_fn that stacks a batch's images and augments them in one call, on the worker's core.

    Each pass of a DataLoader is the next epoch, unless set_epoch() says which.

    Args:
        transform: A motley.Transform or motley.torch.Transform, whose result is the batch's images; or a motley.Policy,
            a name or a path. One with stages takes decoded images of any sizes. With a motley.Follow the samples are
            its dictionaries, and what follows the images is moved with them.
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
        transform: motley.Transform | motley.Follow | Policy | str | os.PathLike[str],
        *,
        images: int | str | None = None,
        ids: int | str | None = None,
        labels: int | str | None = None,
        collate: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        plain = isinstance(transform, motley.Transform) and not isinstance(transform, Transform)
        if plain or isinstance(transform, (str, os.PathLike, Policy)):
            transform = Transform(transform)
        self.follow = transform if isinstance(transform, motley.Follow) else None
        if self.follow:
            if images is not None:
                raise motley.ArgumentError(f"images is {images!r}, but the Follow has its own key, "
                                           f"{self.follow.image!r}")
            transform, images = self.follow.transform, self.follow.image
        elif not isinstance(transform, Transform):
            raise TypeError(f"transform is a {type(transform).__module__}.{type(transform).__qualname__}, want a "
                            "motley.Transform, a motley.Policy, a name or a path")
        self.transform = self.epochs = transform
        check_labels(transform, labels)
        self.images, self.ids, self.labels = 0 if images is None else images, ids, labels
        self.collate = collate or (self._by_key if self.follow else torch.utils.data.default_collate)
        watch_loaders()

    def __call__(self, samples: list[Any]) -> Any:
        if self.follow:
            return self._followed(samples)
        images = [item(sample, self.images, "image", "a sample") for sample in samples]
        if not self.transform.policy.whole:
            images = self._stack(images)
        batch = self.collate([replaced(sample, self.images, 0) for sample in samples])
        if self.ids is not None:
            ids = torch.as_tensor(item(batch, self.ids, "sample ids"))
        else:
            ids = fresh_seed() + torch.arange(len(images))
        labels = None if self.labels is None else item(batch, self.labels, "labels")
        return augmented(batch, self.transform, (self.images, self.labels), images, ids, labels, **self._epoch())

    def _epoch(self):
        """New ids need no new epoch, and torch.manual_seed makes them repeat."""
        return {} if self.ids is not None else {"epoch": self.transform.epoch}

    def _followed(self, samples):
        if self.ids is not None:
            ids = [int(item(sample, self.ids, "sample ids", "a sample")) for sample in samples]
        else:
            ids = (fresh_seed() + torch.arange(len(samples))).tolist()
        made = self.follow(samples, sample_ids=ids, **self._epoch())
        return self.collate(made) if self.transform.views == 1 else tuple(map(self.collate, made))

    def _by_key(self, samples):
        following = self.follow.following_in(samples[0])
        apart = {key for key, kind in following.items() if isinstance(kind, (Boxes, Points))}
        apart |= {field for kind in following.values() for field in getattr(kind, "label_fields", None) or ("labels",)}
        apart |= {getattr(kind, name, None) for kind in following.values() for name in ("visibility", "inside")}
        batch = {}
        for key in samples[0]:
            values = [sample[key] for sample in samples]
            batch[key] = passed_on(values) if key in apart else _stacked(values)
        return batch

    def __repr__(self):
        of_what = f"{self.follow!r}" if self.follow else f"{self.transform!r}, images={self.images!r}"
        return f"MotleyCollate({of_what}, ids={self.ids!r})"

    @staticmethod
    def _stack(images):
        if isinstance(images[0], torch.Tensor):
            refuse_followers(type(images[0]))
            return torch.stack(images)
        for image in images:
            if kind_of(type(image)) is Pillow:
                Pillow.channels(image)  # or numpy would take a palette's indices, or hues, for brightness
        import numpy
        arrays = [numpy.asarray(image) for image in images]
        sizes = sorted({array.shape for array in arrays})
        if len(sizes) > 1:
            raise ValueError(f"images of a batch have shapes {sizes[0]} and {sizes[1]}, want one size: resize or crop "
                             "them before, or augment them one by one with motley.torch.Augmented")
        batch = torch.from_numpy(numpy.stack(arrays))
        return (batch[..., None] if batch.dim() == 3 else batch).permute(0, 3, 1, 2)


def _stacked(values):
    """What default_collate makes of them, or the list where it cannot: of PIL images, None, or different lengths."""
    shapes = {getattr(value, "shape", None) for value in values}
    if len(shapes) > 1:
        return passed_on(values)
    try:
        return torch.utils.data.default_collate(values)
    except (TypeError, RuntimeError):
        if shapes != {None}:
            raise
        return values
