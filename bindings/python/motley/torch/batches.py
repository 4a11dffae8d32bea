# SPDX-License-Identifier: Apache-2.0
"""Batches as loaders make them: tuples, named tuples, lists and mappings, nested."""
from collections.abc import Mapping

import torch

from motley._native import ArgumentError


def map_items(function, batch):
    """`batch` with each of its items replaced; anything but a container is returned unchanged."""
    if isinstance(batch, Mapping):
        return {key: function(value) for key, value in batch.items()}
    if isinstance(batch, (tuple, list)):
        return _like(batch, map(function, batch))
    return batch


def map_tensors(function, batch):
    """`batch` with its tensors replaced."""
    if isinstance(batch, torch.Tensor):
        return function(batch)
    return map_items(lambda item: map_tensors(function, item), batch)


def replaced(batch, key, value):
    """A copy of `batch` with item `key` replaced."""
    if isinstance(batch, Mapping):
        return {**batch, key: value}
    items = list(batch)
    items[key] = value
    return _like(batch, items)


def item(batch, key, what, whole="a batch"):
    """Item `key` of a batch or a sample; the message says what it should be where there is none."""
    is_mapping = isinstance(batch, Mapping)
    if is_mapping and key not in batch or isinstance(batch, (tuple, list)) and not _is_index(key, len(batch)):
        has = f"the keys {', '.join(map(str, batch))}" if is_mapping else f"{len(batch)} items"
        adds = "; motley.torch.Indexed adds them" if what == "sample ids" else ""
        raise ArgumentError(f"{whole} has no {what} at {key!r}: it has {has}{adds}")
    return batch[key]


def augmented(batch, transform, at, images, ids=None, labels=None, **how):
    """`batch` with what the transform makes of the images; of those that it mixes, with targets in the place of labels.

    at: the index or key of the images, and of the labels."""
    if labels is None:
        return replaced(batch, at[0], transform(images) if ids is None else transform(images, sample_ids=ids, **how))
    made, targets = transform(images, sample_ids=ids, labels=labels, **how)
    return replaced(replaced(batch, at[0], made), at[1], targets)


def _is_index(key, count):
    return hasattr(key, "__index__") and -count <= key < count


def _like(batch, items):
    return type(batch)(*items) if hasattr(batch, "_fields") else type(batch)(items)


def passed_on(values):
    """A list that keeps its tensors apart, as a worker's batch should have it."""
    in_worker = torch.utils.data.get_worker_info() is not None
    return _Joined(values) if in_worker and _can_be_joined(values) else values


def _can_be_joined(values):
    return all(
        type(value) is torch.Tensor
        and (value.dtype, value.device.type, value.layout) == (values[0].dtype, "cpu", torch.strided)
        for value in values
    )


class _Joined(list):
    """Tensors that a worker passes on as one, and that arrive as a list. One by one each would take a file descriptor,
    of which many processes may have 1,024; and torchvision.io.read_file's, which map the file, cannot be passed on."""

    def __reduce__(self):
        return _parts, (torch.cat([value.reshape(-1) for value in self]), [value.shape for value in self])


def _parts(joined, shapes):
    parts = joined.split([shape.numel() for shape in shapes])
    return [part.view(shape) for part, shape in zip(parts, shapes)]
