# SPDX-License-Identifier: Apache-2.0
"""The objects of detection in batches that are mixed, pasted and resized: boxes, labels and masks, gathered by what the
library lists."""

from __future__ import annotations

import enum
import itertools
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._arrays import Torch, kind_of
from ._core import ffi, lib
from ._native import ArgumentError, checked, for_each, one_of

OF_OBJECTS = "boxes", "labels", "area", "iscrowd", "masks", "keypoints"  # what has one entry for each object
SHARE = "mixup"  # where the shares of joined objects are; DEIM's loss reads it there
FORMATS = "xyxy", "xywh", "cxcywh"


class Targets(list[Mapping[str, Any]]):
    """A list of the targets of a batch, one dictionary for each image, that says what its boxes are.

        images, targets = batch(images, labels=motley.Targets(targets, "cxcywh", relative=True))

    A list without it has boxes as torchvision's models take them. tv_tensors.BoundingBoxes know their own format.

    Args:
        targets: The dictionaries, with "boxes" [n, 4].
        format: "xyxy" (left, top, right, bottom), "xywh" (left, top, width, height) or "cxcywh" (centre, width,
            height).
        relative: Whether boxes are in sides of the image, 0 to 1, as DETR's and DEIM's are; else in pixels.
    """

    def __init__(self, targets: Iterable[Mapping[str, Any]], format: str = "xyxy", relative: bool = False) -> None:
        super().__init__(targets)
        self.format, self.relative = one_of("format", format, FORMATS), bool(relative)


def given(labels: Any) -> Targets | None:
    """Labels of a call that are targets of detection; None: they are labels of whole images."""
    if isinstance(labels, Targets):
        return labels
    is_list = isinstance(labels, Sequence) and len(labels) > 0 and isinstance(labels[0], Mapping)
    return Targets(labels) if is_list else None


# ---- what is pasted ----


def draw_pastes(
    mix: Any, samples: Any, boxes: Any, areas: Any, mixed: Any, count: int, most: int, size: tuple[int, int]
) -> Any:
    """motley_paste[] of images that are drawn as pasted. boxes: of each image, [n, 4], float64, left, top, right and
    bottom in pixels; areas: of each image, or None; size: (width, height)."""
    import numpy

    offsets = ffi.new("size_t[]", list(itertools.accumulate(map(len, boxes), initial=0)))
    numbers = numpy.concatenate([*boxes, numpy.zeros((0, 4))]), None
    if areas is not None:
        numbers = numbers[0], numpy.concatenate([*areas, numpy.zeros(0)])
    pointers = [ffi.NULL if a is None else ffi.cast("double *", a.ctypes.data) for a in numbers]
    objects = ffi.new("motley_objects *", {"offsets": offsets, "boxes": pointers[0], "areas": pointers[1]})
    pastes = ffi.new("motley_paste[]", max(count * most, 1))
    checked(lib.motley_mix_draw_pastes, mix, samples, objects, count, *size, mixed, pastes)
    return pastes


def in_pixels(targets: Targets, size: tuple[int, int]) -> tuple[list[Any], list[Any] | None]:
    """Boxes of each image as the library takes them, with the arithmetic of the sources in the boxes' own type, and
    their areas, if all targets have them."""
    import numpy

    boxes = []
    for target in targets:
        own = _on_host(target["boxes"]).reshape(-1, 4)
        a, b, form = own[:, :2], own[:, 2:], _format_of(target["boxes"], targets)
        first, last = (a - b / 2, a + b / 2) if form == "cxcywh" else (a, a + b if form == "xywh" else b)
        corners = numpy.concatenate([first, last], 1)
        if targets.relative:
            width, height = (own.dtype.type(side) for side in size)
            corners[:, 0::2] *= width
            corners[:, 1::2] *= height
        boxes.append(corners.astype("float64"))
    has_areas = all("area" in target for target in targets)
    return boxes, [_on_host(target["area"]).astype("float64") for target in targets] if has_areas else None


def _format_of(boxes: Any, targets: Targets) -> str:
    form = getattr(boxes, "format", None)  # of tv_tensors.BoundingBoxes
    found: str = form.value.lower() if isinstance(form, enum.Enum) else targets.format
    one_of("boxes.format", found, FORMATS)
    return found


def _on_host(numbers: Any) -> Any:
    """A NumPy array of the same type; lists and whole numbers become float32."""
    import numpy

    found = numpy.asarray(numbers.detach().cpu() if kind_of(type(numbers)) is Torch else numbers)
    return found if found.dtype.kind == "f" and found.dtype.itemsize >= 4 else found.astype("float32")


# ---- what mixed images have ----


def joined(
    mixed: Any, pastes: Any, targets: Targets, count: int, size: tuple[int, int], to: tuple[int, int]
) -> list[dict[str, Any]]:
    """The targets of mixed images of `size`, (width, height), which are resized `to` another: where images are mixed or
    pasted, all their objects, with the shares of each, float32, under "mixup"."""
    numbers = numbers_in(targets, count)
    results = [dict(target) for target in targets]
    if any(one.kind for one in mixed[0:count]):
        offsets = ffi.new("size_t[]", list(itertools.accumulate(numbers, initial=0)))
        room = sum(numbers[i] + numbers[one.partner] + one.pastes for i, one in enumerate(mixed[0:count]))
        objects, ends = ffi.new("motley_mixed_object[]", max(room, 1)), ffi.new("size_t[]", count + 1)
        checked(lib.motley_mix_objects, mixed, pastes, count, offsets, objects, room, ends)
        results = [_of_image(targets, i, objects[ends[i] : ends[i + 1]], pastes, size) for i in range(count)]
    if size != to:
        for result, target in zip(results, targets):
            _resize(result, target, targets.relative, size, to)
    return results


def numbers_in(targets: Sequence[Any], count: int) -> list[int]:
    """How many objects each target has."""
    for_each("labels", len(targets), count, "targets")
    return [_objects_in(target, i) for i, target in enumerate(targets)]


def _objects_in(target: Any, i: int) -> int:
    if not isinstance(target, Mapping) or "boxes" not in target:
        what = f"has no 'boxes': {', '.join(map(repr, target))}" if isinstance(target, Mapping) else "is no dictionary"
        raise ArgumentError(f"the target of image {i} {what}, want a dictionary with boxes, labels and such")
    number = len(target["boxes"])
    for name in OF_OBJECTS:
        if name in target and len(target[name]) != number:
            raise ArgumentError(f"the target of image {i} has {number} boxes, but {len(target[name])} of {name!r}")
    return number


def _of_image(targets: Targets, i: int, objects: Any, pastes: Any, size: tuple[int, int]) -> dict[str, Any]:
    """The target of image i, which has these objects of the batch."""
    runs: list[list[int]] = []  # image, from which of its objects, until which, and by which paste or -1
    for one in objects:
        if runs and runs[-1][0] == one.image and runs[-1][2] == one.object and runs[-1][3] == one.paste == -1:
            runs[-1][2] += 1
        else:
            runs.append([one.image, one.object, one.object + 1, one.paste])
    result = dict(targets[i])
    for name in filter(result.__contains__, OF_OBJECTS):
        parts = []
        for image, first, end, paste in runs:
            if name not in targets[image]:
                raise ArgumentError(
                    f"the target of image {i} has {name!r}, that of image {image}, mixed with it, has not"
                )
            part = targets[image][name][first:end]
            if paste >= 0 and name in ("masks", "keypoints"):
                raise ArgumentError(f"the target of image {image} has {name!r}, which are not pasted: want none")
            if paste >= 0 and name == "boxes":
                part = _pasted_box(
                    pastes[paste].box, part, _format_of(result["boxes"], targets), targets.relative, size
                )
            parts.append(part)
        result[name] = _together(parts, result[name])
    result[SHARE] = _floats([one.share for one in objects], result["boxes"])
    return result


def _pasted_box(box: Any, like: Any, form: str, relative: bool, size: tuple[int, int]) -> Any:
    """One box, of the type of `like`."""
    (width, height), left, top = size if relative else (1, 1), box.left, box.top
    sides = box.width / width, box.height / height
    numbers = [left / width, top / height, *sides]
    if form == "xyxy":
        numbers[2:] = [(left + box.width) / width, (top + box.height) / height]
    if form == "cxcywh":
        numbers[:2] = [(left + box.width / 2) / width, (top + box.height / 2) / height]
    if isinstance(like, (list, tuple)):
        return [numbers]
    if kind_of(type(like)) is Torch:
        return sys.modules["torch"].tensor([numbers], dtype=like.dtype, device=like.device)
    import numpy

    return numpy.array([numbers], like.dtype)


def _together(parts: list[Any], like: Any) -> Any:
    """Entries of several images behind each other, of the type of `like`."""
    parts = parts or [like]
    if kind_of(type(like)) is Torch:
        entries = sys.modules["torch"].cat(parts)
        finish = Torch.finish_for(type(like))
        return entries if finish is None else finish(entries, like)
    if isinstance(like, (list, tuple)):
        return [entry for part in parts for entry in part]
    import numpy

    return numpy.concatenate(parts)


def _floats(numbers: list[float], like: Any) -> Any:
    if kind_of(type(like)) is Torch:
        torch = sys.modules["torch"]
        return torch.tensor(numbers, dtype=torch.float32, device=like.device)
    if isinstance(like, (list, tuple)):
        return numbers
    import numpy

    return numpy.array(numbers, "float32")


# ---- batches that are resized ----


def _resize(result: dict[str, Any], target: Mapping[str, Any], relative: bool, size: Any, to: Any) -> None:
    """Moves what is in pixels to where it is in the resized images."""
    import numpy

    ratios = [float(numpy.float32(new / old)) for new, old in zip(to, size)]
    boxes = result["boxes"]
    if not relative:
        if isinstance(boxes, (list, tuple)):
            result["boxes"] = [[float(v) * ratios[k % 2] for k, v in enumerate(box)] for box in boxes]
        else:
            result["boxes"] = _scaled(boxes, ratios * 2)
            if hasattr(target["boxes"], "canvas_size"):
                tv_tensors = sys.modules["torchvision.tv_tensors"]
                result["boxes"] = tv_tensors.wrap(result["boxes"], like=target["boxes"], canvas_size=tuple(to[::-1]))
    if "keypoints" in result:
        points = result["keypoints"]
        result["keypoints"] = _scaled(points, [*ratios, 1.0][: points.shape[-1]])
    if "masks" in result:
        masks, rows, columns = result["masks"], *(_nearest(size[k], to[k]) for k in (1, 0))
        if kind_of(type(masks)) is Torch:
            torch = sys.modules["torch"]
            rows, columns = (torch.from_numpy(index).to(masks.device) for index in (rows, columns))
            finish, like = Torch.finish_for(type(masks)), masks
            masks = masks.index_select(-2, rows).index_select(-1, columns)
            result["masks"] = masks if finish is None else finish(masks, like)
        else:
            result["masks"] = masks[..., rows, :][..., columns]


def _scaled(numbers: Any, by: list[float]) -> Any:
    """Numbers of float32, or of their own wider type, times one for each column."""
    if kind_of(type(numbers)) is Torch:
        torch = sys.modules["torch"]
        numbers = numbers if numbers.is_floating_point() else numbers.to(torch.float32)
        return numbers * torch.tensor(by, dtype=numbers.dtype, device=numbers.device)
    import numpy

    return numbers * numpy.array(by, numbers.dtype if numbers.dtype.kind == "f" else "float32")


def _nearest(old: int, new: int) -> Any:
    """The rows or columns that torch's nearest reads."""
    import numpy

    f = numpy.float32
    return numpy.minimum(numpy.floor(numpy.arange(new, dtype=f) * (f(old) / f(new))), old - 1).astype("int64")
