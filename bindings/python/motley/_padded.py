# SPDX-License-Identifier: Apache-2.0
"""Images of sizes of their own as one batch, with the mask of what was added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ._arrays import KINDS, NumPy, Torch, name_of
from ._images import axes_of
from ._native import ArgumentError, size_given, whole


class Padded(NamedTuple):
    """What motley.padded() returns."""

    images: Any
    """[N, C, H, W] or [N, H, W, C], as the images are; each at the upper left."""
    mask: Any
    """bool [N, H, W], True where there is no image: as DETR's NestedTensor and key_padding_mask in torch have it."""


def padded(
    images: Sequence[Any],
    *,
    multiple: int = 1,
    size: tuple[int, int] | None = None,
    value: float = 0,
    layout: str | None = None,
) -> Padded:
    """One batch of images of several sizes, each at the upper left, and its mask.

        images, mask = motley.padded(transform(images), multiple=32)

    Args:
        images: NumPy arrays or torch tensors of one dtype, device and number of channels: what a transform returns
            whose images come out in sizes of their own, or what a DataLoader's collate_fn gets.
        multiple: Height and width become multiples of it; the least that the largest height and the largest width
            need.
        size: (height, width) of the batch; None: what the images need.
        value: What is added has it, in the images' units: 0 is the mean of images that were normalised.
        layout: "chw", "hwc" or "hw", the axes of an image. None: torch tensors are chw, others hwc.

    On CUDA it is queued on torch's current stream, and nothing waits.

    Raises:
        ArgumentError: Images that do not go together, or one that is larger than `size`.
    """
    if not hasattr(images, "__iter__"):
        raise ArgumentError(f"images is a {type(images).__name__}, want a list of images")
    images = list(images)
    if isinstance(value, (str, complex)) or not hasattr(value, "__float__"):
        raise ArgumentError(f"value is {value!r}, want a number")
    if not images:
        raise ArgumentError("images is empty, want at least one")
    first, kind = images[0], KINDS[type(images[0])]
    if kind not in (NumPy, Torch):
        raise ArgumentError(f"image 0 is a {type(first).__name__}, want NumPy arrays or torch tensors")
    multiple = whole("multiple", multiple, 1, 65536, "from 1 to 65536")
    axes = [_axes(i, image, kind, layout) for i, image in enumerate(images)]
    sides = [(image.shape[h], image.shape[w]) for image, (_, h, w) in zip(images, axes)]
    for i, image in enumerate(images):
        alike = [_alike(other, at[0]) for other, at in ((first, axes[0]), (image, axes[i]))]
        if alike[0] != alike[1]:
            raise ArgumentError(f"image {i} has {alike[1]}, image 0 has {alike[0]}: want one")
    height, width = (-(-max(side) // multiple) * multiple for side in zip(*sides))
    if size is not None:
        height, width = size_given(size)
        for i, (h, w) in enumerate(sides):
            if h > height or w > width:
                raise ArgumentError(f"image {i} is {h} high and {w} wide, more than size, {height} and {width}")
    _, h, w = axes[0]
    shape = list(first.shape)
    shape[h], shape[w] = height, width
    batch = _full(first, (len(images), *shape), value)
    mask = _full(first, (len(images), height, width), True)
    for i, (image, (tall, wide)) in enumerate(zip(images, sides)):
        part = [slice(None)] * len(shape)
        part[h], part[w] = slice(tall), slice(wide)
        batch[(i, *part)] = image
        mask[i, :tall, :wide] = False
    return Padded(batch, mask)


def _axes(i: int, image: Any, kind: Any, layout: str | None) -> tuple[Any, int, int]:
    """Which axes are the channels, the rows and the columns."""
    if KINDS[type(image)] is not kind:
        raise ArgumentError(f"image {i} is a {type(image).__name__}, image 0 is not: want one library")
    _, (n, c, h, w) = axes_of(image.shape, layout, kind.layout)
    if n is not None:
        raise ArgumentError(f"image {i} has shape {tuple(image.shape)}, want that of one image")
    return c, h, w


def _alike(image: Any, channels: int | None) -> str:
    """What has to be the same of all images."""
    where = f" on {image.device}" if hasattr(image, "new_full") else ""
    count = 1 if channels is None else image.shape[channels]
    return f"{count} channels of {name_of(image.dtype)}{where}"


def _full(like: Any, shape: tuple[int, ...], value: Any) -> Any:
    """A new array of the library, dtype (bool where the value is one) and device of `like`."""
    if hasattr(like, "new_full"):
        import torch

        return like.new_full(shape, value, dtype=torch.bool if value is True else None)
    import numpy

    return numpy.full(shape, value, bool if value is True else like.dtype)
