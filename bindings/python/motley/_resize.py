# SPDX-License-Identifier: Apache-2.0
"""Pillow's resize, crop and mirror for every image of a batch, bit for bit."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from . import _images as images
from ._core import ffi, lib
from ._native import ArgumentError, check, for_each, one_of, outside_graphs
from .policy import NO_AUGMENTATION, filter_number
from .transform import Transform

if TYPE_CHECKING:
    from enum import Enum
    from ._types import Array, Layout, Rows

T = TypeVar("T")

FILTERS = ("bilinear", "bicubic", "lanczos", "nearest", "box", "hamming")  # by motley_filter
ORDERS = ("pillow-13", "pillow-12", "pillow-12.2")  # by motley_resize_order


def order_of(version: str) -> str:
    """The order of passes that a version of Pillow has, one of ORDERS."""
    major, minor = map(int, version.split(".")[:2])
    return "pillow-13" if major >= 13 else "pillow-12.2" if (major, minor) >= (12, 2) else "pillow-12"


@outside_graphs
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
    alpha: bool = False,
    threads: int | None = None,
) -> T:
    """Pillow's image.crop(crop).resize(size, filter, box), then mirrored, of every image of a batch.

    Args:
        batch: Images as motley.Transform takes them. A list may have any sizes. uint16 and float32 are resized as
            Pillow resizes modes I;16 and F, band by band.
        size: (height, width), or one number for the shorter side, the longer truncated as in torchvision's Resize.
        filter: "bilinear", "bicubic", "lanczos", "nearest", "box" or "hamming", or Pillow's or torchvision's enum.
        crop: (left, top, width, height) in whole pixels, for all images or a row for each. No filter reaches past it.
        box: (left, top, right, bottom) of the cropped image, whole or not: Pillow's, past which filters reach.
        flip: Whether to mirror left to right, for all or for each.
        order: "pillow-13", or "pillow-12" for the bytes of Pillow up to 12.1, which passes in another order, or
            "pillow-12.2" for those of 12.2 and 12.3, where an image is over 100 times as high as wide.
        out: An array to write to, of the result's shape.
        layout, alpha, threads: As motley.Transform's; arrays on CUDA are worked on in their library's current stream.

    Returns:
        For a list a list, else an array or PIL image of the kind of `batch`.

    Raises:
        ArgumentError: An empty crop or size, or one outside the image; nothing is written.
    """
    how = filter_number("filter", filter, FILTERS), ORDERS.index(one_of("order", order, ORDERS))
    resizer = _resizer(_size(size), *how, bool(alpha), threads)
    if crop is not None:
        resizer = resizer._same()
        resizer.crop = crop
    resized: T = resizer.resized(batch, layout, out, box, flip)
    return resized


class _Resizer(Transform):
    """Resizes the images of an array as transforms do their work: by calls that are kept."""

    result_size: tuple[int, ...]
    what: Any
    crop: Any = None  # as given, then rows of numbers

    def resized(self, batch: Any, layout: Layout | None, out: Any, box: Any, flip: Any) -> Any:
        prepare = self._prepare if self.crop is None else self._prepare_once  # sizes may depend on the crops
        call, _held, pixels, written, result = prepare(batch, out, layout, None, self.what)
        if call.count:
            params, keep = call.c.params, []
            if self.crop is not None:
                keep.append(ffi.new("motley_crop[]", self.crop))
                params.crops = keep[-1]
            if box is not None:
                rows = _rows("box", box, call.count, "(left, top, right, bottom)", float)
                keep.append(ffi.new("double[][4]", rows))
                params.boxes = keep[-1]
            if flip is not None:
                flips = list(map(bool, flip)) if hasattr(flip, "__len__") else [bool(flip)] * call.count
                for_each("flip", len(flips), call.count, "values")
                keep.append(ffi.new("uint8_t[]", flips))
                params.flips = keep[-1]
            try:
                check(lib.run_kept(call.c, pixels, written, call.stream()), call.c.error)
            finally:
                lib.forget(call.c)
        return call.result(batch, result)

    def _target(self, source: Any, batch: Any, out: Any, layout: Any, policy: Any) -> Any:
        given = source.sizes() or [source.size[::-1]]  # of an empty array that of the images it would have
        if self.crop is not None:
            self.crop = _rows("crop", self.crop, source.count, "(left, top, width, height)", int)
            given = [(width, height) for _, _, width, height in self.crop] or given
            if not all(map(all, given)):  # which C takes for the whole image
                raise ArgumentError("crop is empty, want a width and height of 1 or more")
        sizes = _sizes(self.result_size, given)
        return images.target_of(source, sizes, out, images.own_dtype(source), None, True, stacked=False)


@functools.lru_cache(maxsize=64)
def _resizer(numbers: tuple[int, ...], filter: int, order: int, alpha: bool, threads: int | None) -> _Resizer:
    resizer = _Resizer(NO_AUGMENTATION, alpha=alpha, threads=threads)
    params = ffi.new("motley_resize_params *")
    params.filter, params.order = filter, order
    resizer.result_size, resizer.what = numbers, ("resize", params)
    return resizer


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
    except (TypeError, ValueError, LookupError, OverflowError):
        raise ArgumentError(f"{name} is {rows!r}, want {wanted}, or a row for each of {count} images") from None
