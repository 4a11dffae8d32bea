# SPDX-License-Identifier: Apache-2.0
"""Pillow's resize, crop and mirror for every image of a batch, bit for bit."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from . import _images as images
from . import _native
from ._arrays import KINDS
from ._core import ffi, lib
from ._native import ArgumentError, check, checked, one_of
from .policy import NO_AUGMENTATION, filter_number
from .transform import Transform

if TYPE_CHECKING:
    from collections.abc import Sequence
    from enum import Enum
    from typing import Literal

    from ._types import Array, Layout, Rows

T = TypeVar("T")

FILTERS = ("bilinear", "bicubic", "lanczos", "nearest", "box", "hamming")  # by motley_filter
ORDERS = ("pillow-13", "pillow-12", "pillow-12.2")  # by motley_resize_order


def order_of(version: str) -> str:
    """The order of passes that a version of Pillow has, one of ORDERS."""
    major, minor = map(int, version.split(".")[:2])
    return "pillow-13" if major >= 13 else "pillow-12.2" if (major, minor) >= (12, 2) else "pillow-12"


def resize(
    batch: T,
    size: int | Sequence[int],
    *,
    filter: Literal["bilinear", "bicubic", "lanczos", "nearest", "box", "hamming"] | int | Enum = "bilinear",
    crop: Rows | None = None,
    box: Rows | None = None,
    flip: bool | Sequence[bool] | Array | None = None,
    order: Literal["pillow-13", "pillow-12", "pillow-12.2"] = "pillow-13",
    out: T | None = None,
    layout: Layout | None = None,
    threads: int | None = None,
) -> T:
    """Pillow's image.crop(crop).resize(size, filter, box), then mirrored, of every image of a batch.

    Args:
        batch: Images as motley.Transform takes them, uint8. A list may have any sizes.
        size: (height, width), or one number for the shorter side, the longer truncated as in torchvision's Resize.
        filter: "bilinear", "bicubic", "lanczos", "nearest", "box" or "hamming", or Pillow's or torchvision's enum.
        crop: (left, top, width, height) in whole pixels, for all images or a row for each. No filter reaches past it.
        box: (left, top, right, bottom) of the cropped image, whole or not: Pillow's, past which filters reach.
        flip: Whether to mirror left to right, for all or for each.
        order: "pillow-13", or "pillow-12" for the bytes of Pillow up to 12.1, which passes in another order, or
            "pillow-12.2" for those of 12.2 and 12.3, where an image is over 100 times as high as wide.
        out: An array to write to, of the result's shape.
        layout, threads: As motley.Transform's; arrays on CUDA are worked on in the current stream of torch (or CuPy).

    Returns:
        For a list a list, else an array or PIL image of the kind of `batch`.

    Raises:
        ArgumentError: An empty crop or size, or one outside the image; nothing is written.
    """
    how = filter_number("filter", filter, FILTERS), ORDERS.index(one_of("order", order, ORDERS))
    numbers = _size(size)
    if crop is box is flip is out is None and KINDS[type(batch)] is not None:
        try:
            resized: T = _whole(numbers, *how, threads).resized(batch, layout)
            return resized
        except _SeveralBlocksError:
            pass
    source = images.source_of(batch, layout)
    count = source.count
    if isinstance(source, images.Many) and not count:
        empty: T = source.cls()
        return empty
    params = ffi.new("motley_resize_params *")
    params.filter, params.order = how
    keep = []
    if crop is not None:
        rows = _rows("crop", crop, count, "(left, top, width, height)", int)
        keep.append(ffi.new("motley_crop[]", rows))
        if not all(width and height for _, _, width, height in rows):  # which C takes for the whole image
            raise ArgumentError("crop is empty, want a width and height of 1 or more")
        params.crops = keep[-1]
    if box is not None:
        keep.append(ffi.new("double[][4]", _rows("box", box, count, "(left, top, right, bottom)", float)))
        params.boxes = keep[-1]
    if flip is not None:
        each: Any = flip if hasattr(flip, "__len__") else [flip] * count
        flips = list(map(bool, each))
        if len(flips) != count:
            raise ArgumentError(f"flip has {len(flips)} values, there are {count} images")
        keep.append(ffi.new("uint8_t[]", flips))
        params.flips = keep[-1]
    sizes = _sizes(numbers, [(c.width, c.height) for c in keep[0]] if crop is not None else _given(source))
    _ = source.channels  # raises, and says which image has another number
    target = images.target_of(source, sizes, out, "uint8", None, True, stacked=False)
    src, dst = ffi.new("motley_batch *"), ffi.new("motley_batch *")
    source.require_bytes()
    source.describe(src[0])
    target.describe(dst[0])
    params.stream = images.stream_of(source)
    checked(lib.motley_resize, _native.context_of(source.device, threads).handle, src, dst, params)
    if source.device is not None:
        images.hold_until_done((source, target), source, target)
    made: T = out if out is not None else target.result(source)
    return made


class _SeveralBlocksError(Exception):
    """The result is a PIL image in several blocks of memory, which no kept call can write."""


class _Whole(Transform):
    """Resizes whole images of one array, as transforms do their work: by calls that are kept."""

    result_size: tuple[int, ...]
    what: Any

    def resized(self, batch: Any, layout: str | None) -> Any:
        call, source, target, pixels, written, result = self._prepare(batch, None, layout, None, self.what)
        if call.count:
            check(lib.run_kept(call.c, pixels, written, call.stream()), call.c.error)
        return call.result(batch, source, target, result)

    def _target(self, source: Any, batch: Any, out: Any, layout: Any, policy: Any) -> Any:
        sizes = _sizes(self.result_size, _given(source))
        target = images.target_of(source, sizes, None, "uint8", None, True, stacked=False)
        if getattr(target, "buffer", None) is not None:
            raise _SeveralBlocksError
        return target


@functools.lru_cache(maxsize=64)
def _whole(numbers: tuple[int, ...], filter: int, order: int, threads: int | None) -> _Whole:
    whole = _Whole(NO_AUGMENTATION, stream=0, threads=threads)
    params = ffi.new("motley_resize_params *")
    params.filter, params.order = filter, order
    whole.result_size, whole.what = numbers, ("resize", params)
    return whole


def _given(source: Any) -> list[tuple[int, int]]:
    """(width, height) of each image; of an empty array that of the images it would have."""
    return source.sizes() or [source.size[::-1]]


def _size(size: Any) -> tuple[int, ...]:
    """One whole number, for the shorter side, or two."""
    numbers = tuple(size) if hasattr(size, "__len__") else (size,)
    if not all(hasattr(n, "__index__") and 1 <= n <= 1048576 for n in numbers) or len(numbers) not in (1, 2):
        raise ArgumentError(
            f"size is {size!r}, want (height, width) or one number for the shorter side, 1 or more pixels"
        )
    return numbers


def _sizes(numbers: tuple[int, ...], given: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """(height, width) of each result; given: (width, height) of what is resized."""
    if len(numbers) == 2:
        return [(numbers[0], numbers[1])] * len(given)
    short = numbers[0]
    return [(int(short * h / w), short) if w <= h else (short, int(short * w / h)) for w, h in given]


def _rows(name: str, rows: Any, count: int, wanted: str, kind: type) -> Any:
    """`count` tuples of four numbers, of one for all or one for each."""
    rows = rows.tolist() if hasattr(rows, "tolist") else rows
    try:
        rows = [tuple(row) for row in rows] if hasattr(rows[0], "__len__") else [tuple(rows)] * count
        numbers = [tuple(map(kind, row)) for row in rows]
        if len(rows) != count or any(len(row) != 4 or row != found for row, found in zip(rows, numbers)):
            raise ValueError
        return numbers
    except (TypeError, ValueError, IndexError, OverflowError):
        raise ArgumentError(f"{name} is {rows!r}, want {wanted}, or a row for each of {count} images") from None
