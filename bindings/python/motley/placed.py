# SPDX-License-Identifier: Apache-2.0
"""Boxes and points in the memory of a GPU, which move there by the call that augments their images."""

import sys

from ._core import ffi
from .arrays import KINDS, Torch
from .errors import ArgumentError
from .images import Many
from .moves import POINT_FLAGS, Rows, kept_in_images


class Placed:
    """What a call moves with its images: `c`, a motley_followed. `entries` has it by name, see PlacedBoxes and
    PlacedPoints; what is not there moves in host memory."""

    __slots__ = "c", "entries"

    def __init__(self, boxes, points):
        self.c = c = ffi.new("motley_followed *")
        self.entries = {entry.rows.name: entry for entry in (boxes, points) if entry is not None}
        c.single = next(iter(self.entries.values())).single
        if boxes is not None:
            boxes.describe(c)
        if points is not None:
            points.describe(c)


def placed(source, moves, boxes, points):
    """The Placed of a call on `source`, or None: nothing lies in the memory of its GPU. boxes, points: the entries that
    are followed as such, [(name, value, ...)] with the arguments of Moves.boxes and Moves.points."""
    if source.device is None or not source.count or isinstance(source, Many) and len(source.by_channels()) > 1:
        return None
    first = [
        next((cls(moves, *entry) for entry in entries if _lies_on(moves, entry, source.device)), None)
        for cls, entries in ((PlacedBoxes, boxes), (PlacedPoints, points))
    ]
    there = [entry for entry in first if entry is not None]
    if len({entry.single for entry in there}) == 2:  # a call takes one type
        there = [entry for entry in there if not entry.single]
    if not there:
        return None
    return Placed(*(entry if entry in there else None for entry in first))


def _lies_on(moves, entry, device):
    parts = moves.parts(*entry[:2])
    return bool(parts) and all(KINDS[type(part)] is Torch and part.is_cuda for part in parts) and all(
        part.get_device() == device for part in parts
    )


class PlacedRows:
    """A table of numbers on the GPU that the call changes in place."""

    def __init__(self, moves, name, value, widths):
        self.rows = Rows(name, moves.placed_parts(name, value), widths, on_device=True)
        torch, like = sys.modules["torch"], self.rows.table
        self.torch, self.single, self.sizes = torch, int(like.dtype == torch.float32), moves.sizes
        self.offsets = sent(torch, list(self.rows.offsets), like)

    def empty(self, dtype):
        return self.torch.empty(self.rows.count, dtype=dtype, device=self.rows.table.device)

    @staticmethod
    def address(tensor, kind="void *"):
        return ffi.cast(kind, tensor.data_ptr())


def sent(torch, numbers, like):
    """Whole numbers as a tensor on the device of `like`, without waiting for it."""
    return torch.tensor(numbers, dtype=torch.int64).pin_memory().to(like.device, non_blocking=True)


class PlacedBoxes(PlacedRows):
    def __init__(self, moves, name, value, form, torchvision, limits):
        super().__init__(moves, name, value, (4,))
        self.form, self.torchvision, self.limits = form, torchvision, limits
        self.seen, self.keep = self.empty(self.rows.table.dtype), self.empty(self.torch.uint8)

    def describe(self, c):
        c.boxes_count, c.boxes = self.rows.count, self.address(self.rows.table)
        c.box_offsets = self.address(self.offsets, "size_t *")
        c.visibility, c.keep = self.address(self.seen), self.address(self.keep, "uint8_t *")
        params = c.box_params
        params.format, params.torchvision = self.form, self.torchvision
        params.min_area, params.min_side, params.min_visibility = self.limits

    def moved(self):
        """What Moves.boxes returns. Which boxes are kept is read back when it is asked for: one byte for each."""
        return self.rows.back(self.rows.table), lambda: self.rows.back(self.seen), self.kept

    def kept(self):
        table = self.rows.table
        wrong = self.torch.isnan(table[:, 0]).to(self.torch.uint8)
        found = bytes((self.keep + 2 * wrong).tolist())
        for i, (begin, count) in enumerate(zip(self.rows.offsets, self.rows.counts)):
            wrong = found.find(2, begin, begin + count) - begin
            if wrong >= 0:
                numbers, (width, height) = self.rows.parts[i].reshape(-1, 4)[wrong].tolist(), self.sizes[i]
                raise ArgumentError(
                    f"{self.rows.name}: image {i}, box {wrong} is {tuple(numbers)}, want finite numbers of a box with "
                    f"sides of 0 or more that touches its image of {width} x {height}"
                )
        return kept_in_images(found, self.rows)


class PlacedPoints(PlacedRows):
    def __init__(self, moves, name, value, convention, pairs):
        super().__init__(moves, name, value, (2, 3))
        self.convention, self.pairs = convention, pairs
        self.xy = self.rows.table[:, :2].contiguous()
        self.flags = self.empty(self.torch.uint8)
        self.order = None
        if pairs and self.rows.count:
            order = list(range(self.rows.count))
            for i, begin in enumerate(list(self.rows.offsets)[:-1]):
                if self.rows.counts[i]:
                    order[begin : begin + self.rows.counts[i]] = self.rows.paired(i, pairs)
            self.order = sent(self.torch, order, self.xy)

    def describe(self, c):
        c.points_count, c.points = self.rows.count, self.address(self.xy)
        c.point_offsets = self.address(self.offsets, "size_t *")
        c.flags, c.convention = self.address(self.flags, "uint8_t *"), self.convention

    def moved(self):
        """What Moves.points returns."""
        inside, unerased, mirrored = ((self.flags & bit) != 0 for bit in POINT_FLAGS)
        table = self.xy
        if self.rows.width == 3:
            seen = self.rows.table[:, 2]
            seen = self.torch.where(unerased, seen, seen.clip(max=1)) * inside
            table = self.torch.cat((table, seen[:, None]), 1)
        if self.order is not None:
            table = self.torch.where(mirrored[:, None], table[self.order], table)
            inside = self.torch.where(mirrored, inside[self.order], inside)
        return self.rows.back(table), lambda: self.rows.back(inside, "bool")
