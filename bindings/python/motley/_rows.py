# SPDX-License-Identifier: Apache-2.0
"""Boxes and points of a batch, as one table of numbers that moves with the images."""

from __future__ import annotations

import enum
import functools
import itertools
import math
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ._arrays import KINDS, NumPy, Pillow, Torch, as_dtype, as_numbers, device_of, finished, has_floats, like_foreign
from ._arrays import name_of, plain
from ._core import ffi, lib
from ._movers import Mover, Moves, in_host_memory, numpy_for, placed, pointer
from ._native import ArgumentError, one_of

if TYPE_CHECKING:
    from .follow import Boxes, Points

FORMATS = {"xyxy": lib.MOTLEY_XYXY, "xywh": lib.MOTLEY_XYWH, "cxcywh": lib.MOTLEY_CXCYWH}
LIMITS = "min_area", "min_side", "min_visibility"
CONVENTIONS = {"continuous": lib.MOTLEY_CONTINUOUS, "index": lib.MOTLEY_INDEX}
POINT_FLAGS = lib.MOTLEY_POINT_INSIDE, lib.MOTLEY_POINT_UNERASED, lib.MOTLEY_POINT_MIRRORED


class Rows(Mover):
    """Rows of numbers of each image, as one `table` of NumPy or torch, whichever they are; float64 if one of them is,
    else float32. It is in host memory, or where all of them and the images are, if that is a CUDA device."""

    axes: Sequence[int] = range(1, 65)  # how many a part may have, and how many numbers a row
    widths: tuple[int, ...] = (2, 3)
    wanted = "[..., 2] or [..., 3]"
    word = "point"

    def __init__(self, name: str, value: Any, moves: Moves) -> None:
        self.name, self.value, self.moves, self.parts = name, value, moves, moves.parts(name, value)
        self.held: list[Any] = []
        self.alike = _are_alike(self.parts, self.widths)  # then nothing is done to each part by itself
        arrays = self.parts if self.alike else [self._array(i, part) for i, part in enumerate(self.parts)]
        self.of_torch = bool(arrays) and KINDS[type(arrays[0])] is Torch
        if len({KINDS[type(array)] is Torch for array in arrays}) > 1:
            raise ArgumentError(f"{name} has torch tensors and others, want one kind")
        self.library = sys.modules["torch"] if self.of_torch else numpy_for(name)
        some = arrays[:1] if self.alike else arrays
        there = self.of_torch and {device_of(array) for array in some} == {moves.device}
        self.device = moves.device if there else None
        self.single = bool(arrays) and not any(map(_is_wide, some))
        self.dtype = "float32" if self.single else "float64"
        self.shapes, self.width = self._shapes(arrays)
        self.counts = [math.prod(shape[:-1]) for shape in self.shapes]
        self.offsets = [0, *itertools.accumulate(self.counts)]
        self.count = self.offsets[-1]
        if not self.alike:
            arrays = [self._typed(array.reshape(-1, self.width)) for array in arrays]
        join = self.library.cat if self.of_torch else self.library.concatenate
        self.table = self._typed(join(arrays)) if arrays else self.library.empty((0, self.width))
        self._make_columns()

    def _shapes(self, arrays: list[Any]) -> tuple[list[tuple[int, ...]], int]:
        """Those of the parts, where an empty list is no rows, and how many numbers a row has."""
        shapes = [tuple(array.shape) for array in arrays]
        widths = [shape[-1] for shape in shapes if 0 not in shape] or [shape[-1] for shape in shapes if shape != (0,)]
        width = max(widths, default=self.widths[0])
        for i, shape in enumerate(shapes):
            if 0 not in shape and shape[-1] != width:
                raise ArgumentError(
                    f"{self._at(i)} has {shape[-1]} numbers in a row, others have {width}: want as many"
                )
        return [(0, width) if shape == (0,) else shape for shape in shapes], width

    def _array(self, i: int, part: Any) -> Any:
        """A part as an array of torch, or in host memory as one of NumPy."""
        width, height = self.moves.sizes[i]
        canvas = getattr(part, "canvas_size", (height, width))  # of tv_tensors
        if tuple(canvas) != (height, width):
            raise ArgumentError(
                f"{self.name} has the canvas_size {tuple(canvas)}, the image is {height} high and {width} wide"
            )
        kind = KINDS[type(part)]
        if kind is Pillow:
            raise ArgumentError(f"{self._at(i)} is a PIL image, want an array or a list of rows of numbers")
        if kind is not None:
            array = plain(part).detach() if kind is Torch else in_host_memory(part)
        elif hasattr(part, "__dlpack__"):
            array = as_numbers(f"{self._at(i)} is", part)
        else:
            try:
                array = numpy_for(self.name).array(part, "float64")
            except (TypeError, ValueError):
                raise ArgumentError(
                    f"{self._at(i)} is {part!r:.60}, want an array or a list of rows of numbers"
                ) from None
        if array.shape != (0,) and (array.ndim not in self.axes or array.shape[-1] not in self.widths):
            raise ArgumentError(f"{self._at(i)} has shape {tuple(array.shape)}, want {self.wanted}")
        return array

    def _at(self, i: int) -> str:
        return self.name if len(self.parts) == 1 else f"{self.name}[{i}]"

    def _typed(self, table: Any) -> Any:
        return as_dtype(in_host_memory(table) if self.device is None else table, self.dtype)

    def _looks_scaled(self) -> Any:
        """Whether all places are in 0..1, and some between the two; on a GPU a tensor says so."""
        pixels = any(hasattr(part, "canvas_size") for part in self.parts)  # tv_tensors say so
        if not self.count or pixels or min(map(min, self.moves.sizes)) <= 2:
            return False
        places = self.table[:, :2] if self.width == 3 else self.table  # a point's third number is no place
        return ((places >= 0) & (places <= 1)).all() & ((places > 0) & (places < 1)).any()

    # ---- for the library ----

    def fits(self, riders: Sequence[Mover]) -> bool:
        rows = [rider for rider in riders if isinstance(rider, Rows)]
        return all(type(row) is not type(self) and row.dtype == self.dtype for row in rows)

    def to_host(self) -> None:
        self.device = None
        self.table = self._typed(self.table)
        self._make_columns()

    def _make_columns(self) -> None:
        """What is found out of each row, beside the table."""
        raise NotImplementedError

    def _empty(self, dtype: str) -> Any:
        """A number for each row, beside the table."""
        if self.of_torch:
            return self.library.empty(self.count, dtype=getattr(self.library, dtype), device=self.table.device)
        return self.library.empty(self.count, dtype)

    def describe(self, c: Any) -> Iterable[dict[str, Any]]:
        """Fills in a motley_followed, which changes the table; its planes are none."""
        self.held.append(self.table_of(self.offsets, self.table))
        self._describe(c, pointer(self.held[-1]))
        return ()

    def _describe(self, c: Any, offsets: Any) -> None:
        raise NotImplementedError

    # ---- for the caller ----

    def back(self, table: Any, dtype: str | None = None) -> Any:
        """A table or column as what the caller gave: of its kind and shape. dtype None: of its dtype, or float32 where
        that is none of floats."""
        like = next((part for part in self.parts if KINDS[type(part)] is not None), None)
        if like is not None:  # all of them at once, as they seldom differ
            table = self._cast(table, like, dtype)
        if self.of_torch:
            rows = list(table.split(self.counts))
        else:
            rows = [table[begin:end] for begin, end in zip(self.offsets, self.offsets[1:])]
        if not self.alike:
            rows = [self._like(part, own, shape, dtype) for part, own, shape in zip(self.parts, rows, self.shapes)]
        return self.moves.joined(rows, self.value)

    def _cast(self, rows: Any, like: Any, dtype: str | None) -> Any:
        return placed(as_dtype(rows, dtype or (name_of(like.dtype) if has_floats(like) else "float32")), like)

    def _like(self, part: Any, rows: Any, shape: tuple[int, ...], dtype: str | None) -> Any:
        if len(shape) != 2:
            rows = rows.reshape(shape if rows.ndim == 2 else shape[:-1])
        if KINDS[type(part)] is not None:
            rows = self._cast(rows, part, dtype)
            return finished(rows, part) if dtype is None and len(shape) == rows.ndim else rows
        if not hasattr(part, "__dlpack__"):
            return rows.tolist()
        wanted = self.dtype if not hasattr(part, "dtype") else name_of(part.dtype) if has_floats(part) else "float32"
        return like_foreign(as_dtype(rows, dtype or wanted), part)


class BoxRows(Rows):
    """Boxes, a motley.follow.Boxes; those outside of their image become boxes without area, if these are dropped."""

    axes, widths, wanted, word = (2,), (4,), "[n, 4]", "box"

    def __init__(self, name: str, value: Any, moves: Moves, kind: Boxes) -> None:
        super().__init__(name, value, moves)
        form = getattr(value, "format", None)  # of a tv_tensors.BoundingBoxes; a jax.Array has another one
        form = one_of(f"{name}.format", form.value.lower(), FORMATS) if isinstance(form, enum.Enum) else kind.format
        self.rules = ffi.new("motley_box_rules *", {limit: getattr(kind, limit) for limit in LIMITS})
        self.rules.format, self.rules.torchvision = FORMATS[form], kind.rule == "torchvision"
        self.rules.before_resize = kind.before_resize
        self.scaled = self._looks_scaled()
        if self.device is None:
            self._refuse_scaled()
        if kind.outside == "drop" and self.count:
            self.table = self.table * ~self._outside()[:, None]

    def _refuse_scaled(self) -> None:
        if self.scaled:
            width, height = self.moves.sizes[0]
            raise ArgumentError(
                f"{self.name} has numbers in 0..1 only, for an image of {width} x {height}: want pixels, so multiply x "
                "and width by the image's width, y and height by its height"
            )

    @functools.cached_property
    def given(self) -> Any:
        """Left, top, right and bottom of each box as it is before the call, for a policy that works in boxes."""
        return self.library.stack(self._corners(), -1)

    def on_host(self) -> tuple[Any, Any]:
        """Where these are in host memory, for which a device is waited for, and the offsets of the images."""
        self.lent = in_host_memory(self.given)
        return pointer(self.lent), ffi.new("size_t[]", self.offsets)

    def on_device(self) -> tuple[int, int]:
        """Where they are on the device of the images, and the offsets of the images; nothing waits."""
        self.lent = self.table_of(self.offsets, self.given)
        return KINDS[type(self.given)].pointer(self.given), KINDS[type(self.lent)].pointer(self.lent)

    def _corners(self) -> tuple[Any, Any, Any, Any]:
        return corners_of(as_dtype(self.table, "float64"), self.rules.format)

    def _outside(self) -> Any:
        """Which boxes are good ones that do not touch their image."""
        left, top, right, bottom = self._corners()
        sides = [side for size, count in zip(self.moves.sizes, self.counts) for side in size * count]
        width, height = self.table_of(sides, self.table).reshape(-1, 2).T
        finite = self.library.isfinite(left + top + right + bottom)
        outside = (left > width) | (top > height) | (right < 0) | (bottom < 0)
        return outside & finite & (left <= right) & (top <= bottom)

    def _make_columns(self) -> None:
        self.seen, self.keep = self._empty(self.dtype), self._empty("uint8")

    def _describe(self, c: Any, offsets: Any) -> None:
        c.boxes_count, c.boxes, c.box_offsets = self.count, pointer(self.table), offsets
        c.visibility, c.keep = pointer(self.seen), pointer(self.keep)
        c.box_params = self.rules[0]

    def moved(self) -> Any:
        return self.back(self.table)

    def found_out(self) -> Any:
        """How much of each box is left, as it is compared."""
        return self.back(self.seen, self.dtype)

    def kept(self) -> list[list[bool] | None]:
        """For each image which boxes are kept, or None for all. Of a GPU a byte for each box is read back."""
        keep = self.keep
        self._refuse_scaled()
        if self.device is not None:  # where the call could not refuse boxes, they are not numbers
            keep = keep + 2 * self.library.isnan(self.table[:, 0]).to(self.library.uint8)
        flags, kept = bytes(keep.tolist()), []
        for i, (begin, end) in enumerate(zip(self.offsets, self.offsets[1:])):
            wrong = flags.find(2, begin, end) - begin
            if wrong >= 0:
                numbers, (width, height) = self.parts[i].reshape(-1, 4)[wrong].tolist(), self.moves.sizes[i]
                raise ArgumentError(
                    f"{self.name}: image {i}, box {wrong} is {tuple(numbers)}, want finite numbers of a box with "
                    f"sides of 0 or more that touches its image of {width} x {height}"
                )
            kept.append(None if flags.find(0, begin, end) < 0 else [flag != 0 for flag in flags[begin:end]])
        return kept


class PointRows(Rows):
    """Points, a motley.follow.Points."""

    def __init__(self, name: str, value: Any, moves: Moves, kind: Points) -> None:
        super().__init__(name, value, moves)
        self.convention, self.pairs = CONVENTIONS[kind.convention], kind.pairs
        if self.device is None and self._looks_scaled():
            warnings.warn(f"{name} has numbers in 0..1 only: want pixels, so multiply x by the image's width and y by "
                          "its height", stacklevel=6)  # fmt: skip
        self._order = [*itertools.chain.from_iterable(map(self._paired, range(len(self.parts))))] if kind.pairs else []
        self.places = self.table[:, :2]

    def _paired(self, i: int) -> list[int]:
        """The rows of image i's points when the pairs have changed places."""
        shape, count, most = self.shapes[i], self.counts[i], max(map(max, self.pairs))
        if not count:
            return []
        if len(shape) < 2 or most >= shape[-2]:
            raise ArgumentError(f"{self._at(i)} has shape {shape}, want more than {most} points for `pairs`")
        order = list(range(shape[-2]))
        for one, other in self.pairs:
            order[one], order[other] = other, one
        return [self.offsets[i] + group + place for group in range(0, count, len(order)) for place in order]

    def _make_columns(self) -> None:
        self.flags = self._empty("uint8")

    def _describe(self, c: Any, offsets: Any) -> None:
        places = self.table[:, :2]
        self.places = places.contiguous() if self.of_torch else self.library.ascontiguousarray(places)
        c.points_count, c.convention, c.point_offsets = self.count, self.convention, offsets
        c.points, c.flags = pointer(self.places), pointer(self.flags)

    def moved(self) -> Any:
        where, table = self.library.where, self.table
        self.inside, unerased, mirrored = ((self.flags & bit) != 0 for bit in POINT_FLAGS)
        table[:, :2] = self.places
        if self.width == 3:
            table[:, 2] = where(unerased, table[:, 2], table[:, 2].clip(max=1)) * self.inside
        if self._order:
            order = self.table_of(self._order, table)
            table = where(mirrored[:, None], table[order], table)
            self.inside = where(mirrored, self.inside[order], self.inside)
        return self.back(table)

    def found_out(self) -> Any:
        """Whether each point was inside."""
        return self.back(self.inside, "bool")


def corners_of(boxes: Any, form: int) -> tuple[Any, Any, Any, Any]:
    """Left, top, right and bottom of boxes [..., 4] of a motley_box_format."""
    left, top, right, bottom = (boxes[..., k] for k in range(4))
    if form == lib.MOTLEY_CXCYWH:
        left, top = left - right / 2, top - bottom / 2
    if form != lib.MOTLEY_XYXY:
        right, bottom = left + right, top + bottom
    return left, top, right, bottom


def _are_alike(parts: list[Any], widths: tuple[int, ...]) -> bool:
    """Whether these are tables of one library, width, dtype and device, and of no subclass."""
    if not parts or KINDS[type(parts[0])] not in (Torch, NumPy) or type(parts[0]).__module__ not in ("torch", "numpy"):
        return False
    if len({(type(part), part.dtype, getattr(part, "device", None)) for part in parts}) > 1:
        return False
    if any(part.ndim != 2 or getattr(part, "requires_grad", False) for part in parts):
        return False
    return parts[0].shape[1] in widths and len({part.shape[1] for part in parts}) == 1


def _is_wide(array: Any) -> bool:
    """Whether an array has floats of more than 32 bits."""
    return has_floats(array) and bool((array.element_size() if KINDS[type(array)] is Torch else array.itemsize) > 4)
