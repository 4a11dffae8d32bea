# SPDX-License-Identifier: Apache-2.0
"""The objects of detection in batches that are mixed, pasted and resized: boxes, labels and masks, gathered by what the
library lists."""

from __future__ import annotations

import enum
import itertools
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._arrays import NumPy, Torch, has_floats, kind_of, name_of
from ._core import ffi, lib
from ._native import ArgumentError, checked, for_each, one_of
from ._random import numbers_of

OF_OBJECTS = "boxes", "labels", "area", "iscrowd", "masks", "keypoints"  # what has one entry for each object
OF_MASKS = "masks", "area"  # what is made of the masks where instances are pasted
SHARE = "mixup"  # where the shares of joined objects are; DEIM's loss reads it there
FORMATS = "xyxy", "xywh", "cxcywh"


class Targets(list[Mapping[str, Any]]):
    """A list of the targets of a batch, one dictionary for each image, that says what its boxes are.

        images, targets = batch(images, labels=motley.Targets(targets, "cxcywh", relative=True))

    A policy that pastes objects, or gives batches a size, wants it, unless boxes are tv_tensors.BoundingBoxes, which
    know their format.

    Args:
        targets: The dictionaries, with "boxes" [n, 4].
        format: "xyxy" (left, top, right, bottom), "xywh" (left, top, width, height) or "cxcywh" (centre, width,
            height).
        relative: Whether boxes are in sides of the image, 0 to 1, as DETR's and DEIM's are; else in pixels.
    """

    def __init__(self, targets: Iterable[Mapping[str, Any]], format: str, relative: bool = False) -> None:
        super().__init__(targets)
        self.format, self.relative = one_of("format", format, FORMATS), bool(relative)

    def like(self, targets: Iterable[Mapping[str, Any]]) -> Targets:
        """Other targets, whose boxes are of the same kind."""
        return Targets(targets, self.format, self.relative)


def given(labels: Any, reader: str | None) -> Targets | None:
    """Labels of a call that are targets of detection; None: they are labels of whole images. reader: the name of a
    policy that reads or writes numbers of boxes; None: they are only joined."""
    if isinstance(labels, Targets):
        return labels
    if not (isinstance(labels, Sequence) and len(labels) > 0 and isinstance(labels[0], Mapping)):
        return None
    boxes = [target["boxes"] for target in labels if isinstance(target, Mapping) and "boxes" in target]
    if reader and any(_own_format(own) is None for own in boxes):
        raise ArgumentError(
            f"policy '{reader}' pastes or resizes boxes, and labels are a list that does not say what they are: want "
            "motley.Targets(labels, format, relative)"
        )
    return Targets(labels, "xyxy")


class Objects:
    """The objects of a batch, as the library takes them. size: of the images, (width, height)."""

    def __init__(self, targets: Targets, count: int, size: tuple[int, int]) -> None:
        for_each("labels", len(targets), count, "targets")
        self.targets, self.count, self.size = targets, count, size
        self.numbers = [_objects_in(target, i) for i, target in enumerate(targets)]
        self.offsets = ffi.new("size_t[]", list(itertools.accumulate(self.numbers, initial=0)))
        self.c = ffi.new("motley_objects *", {"offsets": self.offsets})

    @classmethod
    def of_boxes(cls, boxes: Any, count: int) -> Objects:
        """Objects of which nothing but boxes is known. boxes: as draws.same_boxes() makes them."""
        objects, (numbers, offsets) = cls.__new__(cls), boxes
        objects.numbers = [offsets[i + 1] - offsets[i] for i in range(count)]
        objects._held = boxes
        objects.c = ffi.new("motley_objects *", {"offsets": offsets, "boxes": numbers})
        return objects

    def with_boxes(self, areas: bool = True) -> Objects:
        """The same, which know their boxes and, if all have them, areas. Those on a device are waited for."""
        import numpy

        boxes = numpy.concatenate([*in_pixels(self.targets, self.size), numpy.zeros((0, 4))])
        self._held: Any = [boxes]
        self.c.boxes = ffi.cast("double *", boxes.ctypes.data)
        if areas and all("area" in target for target in self.targets):
            own = [*_on_host([target["area"] for target in self.targets]), numpy.zeros(0)]
            self._held.append(numpy.concatenate(own).astype("float64"))
            self.c.areas = ffi.cast("double *", self._held[1].ctypes.data)
        return self

    def masks_for(self, mixed: Any, caller: tuple[Any, int | None]) -> Masks | None:
        """The masks of images into which instances are pasted; None: there are none. caller: whose images, on which
        CUDA device."""
        kinds = [one.kind for one in mixed[0 : self.count]]
        if lib.MOTLEY_MIX_INSTANCES not in kinds:
            return None
        if not self.c.boxes:
            self.check_boxes()
            self.with_boxes(areas=False)
        return Masks(self, mixed, caller)

    def check_boxes(self) -> None:
        """Refuses boxes that are not rows of four numbers, for what reads them."""
        for i, target in enumerate(self.targets):
            boxes, shape = target["boxes"], getattr(target["boxes"], "shape", None)
            if not (all(map(_is_row, boxes)) if shape is None else shape[0] == 0 or tuple(shape[1:]) == (4,)):
                found = f"{boxes!r:.60}" if shape is None else f"an array of shape {tuple(shape)}"
                raise ArgumentError(f"the target of image {i} has 'boxes': {found}, want [n, 4]")

    def check(self, mixed: Any, pastes: Any) -> None:
        """Refuses targets that cannot be joined as these images are mixed. Entries of an image without objects become
        like those of the first image that is mixed with it."""
        self.likes: list[int] = []
        for i, one in enumerate(mixed[0 : self.count]):
            names = [name for name in OF_OBJECTS if name in self.targets[i]]
            parts = pastes[one.paste : one.paste + one.pastes] if one.kind == lib.MOTLEY_MIX_PASTE else ()
            images = [paste.image for paste in parts] if parts else [one.partner] if one.kind else []
            others = [other for other in dict.fromkeys(images) if self.numbers[other]]
            like = others[0] if others and not self.numbers[i] else i
            self.likes.append(like)
            for name in names:
                if parts and name in ("masks", "keypoints"):
                    raise ArgumentError(f"the target of image {i} has {name!r}, which are not pasted: want none")
                for other in others:
                    if name not in self.targets[other]:
                        raise ArgumentError(
                            f"the target of image {i} has {name!r}, that of image {other}, mixed with it, has not"
                        )
                    own, theirs = self.targets[like][name], self.targets[other][name]
                    if type(own) is not type(theirs) and _kind(own) != _kind(theirs):
                        raise ArgumentError(
                            f"the target of image {like} has {name!r} of {_kind(own)}, that of image {other}, mixed "
                            f"with it, of {_kind(theirs)}: want one kind"
                        )

    def list_runs(self, mixed: Any, pastes: Any, extents: Any = ffi.NULL) -> None:
        """Lists which objects each image has when it is mixed, in runs. extents: of masks that were written."""
        count = self.count
        room = sum(self.numbers[i] + self.numbers[one.partner] + one.pastes for i, one in enumerate(mixed[0:count])) + 1
        self.objects, self.ends = ffi.new("motley_mixed_object[]", room), ffi.new("size_t[]", count + 1)
        checked(lib.motley_mix_objects, mixed, pastes, count, self.c, extents, self.objects, room, self.ends)
        runs, ends, self.shares = ffi.new("object_run[]", room), ffi.new("size_t[]", count), ffi.new("float[]", room)
        lib.find_runs(self.objects, self.ends, count, runs, ends, self.shares)
        listed = [
            (run.image, run.first, run.end, run.boxed, run.at) for run in runs[0 : ends[count - 1] if count else 0]
        ]
        self.runs = [listed[first:end] for first, end in itertools.pairwise((0, *ends))]

    def joined(self, mixed: Any, pastes: Any, masks: Masks | None, to: tuple[int, int]) -> list[dict[str, Any]]:
        """The targets of the images when they are mixed and resized `to` another size: where any image is mixed or
        pasted, all their objects, with the shares of each, float32, under "mixup" if their pictures are blended."""
        results = [dict(target) for target in self.targets]
        kinds = {one.kind for one in mixed[0 : self.count]}
        if masks is not None:
            self.list_runs(mixed, pastes, masks.extents())
        if kinds - {lib.MOTLEY_MIX_NONE}:
            for name in OF_OBJECTS:
                self._gather(name, results, masks if name in OF_MASKS else None)
            if kinds & {lib.MOTLEY_MIX_MIXUP, lib.MOTLEY_MIX_PASTE}:
                self._share(results)
        if masks is not None:
            for i, result in enumerate(results):
                masks.finish(result, i, self.objects[self.ends[i] : self.ends[i + 1]])
        if self.size != to:
            for result, like in zip(results, self.likes):
                _resize(result, self.targets[like], self.targets.relative, self.size, to)
        return results

    def _gather(self, name: str, results: list[dict[str, Any]], masks: Masks | None) -> None:
        """Gives the targets what the objects of their images have of a name, but where written masks say it."""
        takers = [i for i, result in enumerate(results) if name in result and not (masks and masks.writes(i))]
        likes = [self.targets[self.likes[i]][name] for i in takers]
        try:
            joined = _together([self._parts(name, i) for i in takers], likes)
        except ValueError as wrong:
            raise ArgumentError(f"the targets have {name!r} that cannot be joined: {wrong}") from None
        for i, entries in zip(takers, joined):
            results[i][name] = entries

    def _parts(self, name: str, i: int) -> list[Any]:
        parts, targets = [], self.targets
        for image, first, end, boxed, at in self.runs[i]:
            part = targets[image][name]
            if end - first < self.numbers[image]:
                part = (part if hasattr(part, "shape") else list(part))[first:end]
            if boxed and name == "boxes":
                form = _format_of(targets[self.likes[i]]["boxes"], targets)
                sides = self.size if targets.relative else (1, 1)
                part = _numbers([_box(one.box, form, sides) for one in self.objects[at : at + end - first]], part)
            parts.append(part)
        return parts

    def _share(self, results: list[dict[str, Any]]) -> None:
        shares = ffi.unpack(self.shares, self.ends[self.count])
        for i, result in enumerate(results):
            result[SHARE] = _numbers(shares[self.ends[i] : self.ends[i + 1]], result["boxes"], "float32")


def in_pixels(targets: Targets, size: tuple[int, int]) -> list[Any]:
    """Boxes of each image as the library takes them, with the arithmetic of the sources in the boxes' own type."""
    import numpy

    boxes = []
    for target, own in zip(targets, _on_host([target["boxes"] for target in targets])):
        own = own.reshape(-1, 4)
        a, b, form = own[:, :2], own[:, 2:], _format_of(target["boxes"], targets)
        first, last = (a - b / 2, a + b / 2) if form == "cxcywh" else (a, a + b if form == "xywh" else b)
        corners = numpy.concatenate([first, last], 1)
        if targets.relative:
            width, height = (own.dtype.type(side) for side in size)
            corners[:, 0::2] *= width
            corners[:, 1::2] *= height
        boxes.append(corners.astype("float64"))
    return boxes


def _own_format(boxes: Any) -> str | None:
    """What tv_tensors.BoundingBoxes say of themselves."""
    form = getattr(boxes, "format", None)
    return one_of("boxes.format", form.value.lower(), FORMATS) if isinstance(form, enum.Enum) else None


def _format_of(boxes: Any, targets: Targets) -> str:
    return _own_format(boxes) or targets.format


def _on_host(arrays: list[Any]) -> list[Any]:
    """NumPy arrays of the same types; lists and whole numbers become float32. Tensors of one device are copied
    together, as each copy waits for it."""
    import numpy

    if arrays and all(kind_of(type(array)) is Torch for array in arrays):
        torch, counts = sys.modules["torch"], [array.shape[0] for array in arrays]
        if arrays[0].is_cuda and len({(array.dtype, array.device) for array in arrays}) == 1:
            arrays = torch.unsafe_split_with_sizes(torch.cat([array.detach() for array in arrays]).cpu(), counts)
        arrays = [array.detach().cpu() for array in arrays]
    rows = (array if hasattr(array, "shape") else [*map(numbers_of, array)] for array in arrays)
    found = [numpy.asarray(array) for array in rows]
    return [one if one.dtype.kind == "f" and one.dtype.itemsize >= 4 else one.astype("float32") for one in found]


# ---- masks of instances that are pasted ----


class Masks:
    """The masks of a batch's objects: those that are given, and those that are written where instances are pasted."""

    def __init__(self, objects: Objects, mixed: Any, caller: tuple[Any, int | None]) -> None:
        self.c = ffi.new("motley_mix_masks *", {"offsets": objects.offsets})
        count, targets = objects.count, objects.targets
        self.given = [self._mask_of(target, i, objects.size, caller) for i, target in enumerate(targets)]
        self.written: list[Any] = [None] * count
        planes = 0
        for i, one in enumerate(mixed[0:count]):
            if one.kind == lib.MOTLEY_MIX_INSTANCES:
                like, number = self.given[i], objects.numbers[i] + one.pastes
                self.written[i] = kind_of(type(like)).new(like, (number, *like.shape[1:]), name_of(like.dtype))
                planes += number
        first = self.given[0]
        self.kind = kind_of(type(first))
        self.found = self.kind.new(first, (planes, ffi.sizeof("motley_extent") // 4), "int32")
        self.at = list(itertools.accumulate((0 if own is None else len(own) for own in self.written), initial=0))
        src, dst = ([self._pointer(array) for array in arrays] for arrays in (self.given, self.written))
        self._held = ffi.new("uint8_t *[]", src), ffi.new("uint8_t *[]", dst), objects.offsets
        self.c.src, self.c.dst = ffi.cast("uint8_t **", self._held[0]), self._held[1]
        self.c.extents = ffi.cast("motley_extent *", self.kind.pointer(self.found))

    def _pointer(self, array: Any) -> Any:
        return ffi.NULL if array is None else ffi.cast("uint8_t *", kind_of(type(array)).pointer(array))

    def _mask_of(self, target: Mapping[str, Any], i: int, size: tuple[int, int], caller: tuple[Any, int | None]) -> Any:
        """A target's masks, dense."""
        if "masks" not in target:
            raise ArgumentError(f"the target of image {i} has no 'masks', by which instances are pasted")
        masks = target["masks"]
        kind = kind_of(type(masks))
        dtype, shape = name_of(getattr(masks, "dtype", None)), tuple(getattr(masks, "shape", ()))
        wanted = len(masks), size[1], size[0]
        if kind not in (Torch, NumPy) or dtype not in ("uint8", "bool") or shape != wanted:
            what = f"{dtype} {list(shape)}" if shape else f"a {type(masks).__name__}"
            raise ArgumentError(
                f"the masks of image {i} are {what}, want uint8 or bool {list(wanted)}, of NumPy or torch"
            )
        device = kind.device(masks)
        if device != caller[1] or (device is not None and caller[0] != "torch"):
            where = ["the host" if d is None else f"CUDA device {d}" for d in (device, caller[1])]
            raise ArgumentError(
                f"the masks of image {i} are on {where[0]}, the images on {where[1]}: want torch's on one device, or "
                "both on the host"
            )
        return kind.contiguous(masks)

    def writes(self, i: int) -> bool:
        """Whether instances are pasted into image i."""
        return self.written[i] is not None

    def extents(self) -> Any:
        """What was found, in host memory; a device is waited for."""
        self.on_host = self.found.cpu() if self.kind is Torch else self.found
        return ffi.cast("motley_extent *", self.kind.pointer(self.on_host))

    def finish(self, result: dict[str, Any], i: int, objects: Any) -> None:
        """Gives the target of image i its masks, and areas if it has them, which are then those of the masks."""
        if not self.writes(i):
            return
        planes, like, masks = [one.plane for one in objects], result["masks"], self.written[i]
        if len(planes) < len(masks):
            masks = masks[planes]
        result["masks"] = _finished(masks, like) if self.kind is Torch else masks
        if "area" in result:
            pixels = self.found[self.at[i] : self.at[i + 1], 0]
            pixels = pixels if len(planes) == len(pixels) else pixels[planes]
            result["area"] = pixels.float() if self.kind is Torch else pixels.astype("float32")


# ---- what mixed images have ----


def _objects_in(target: Any, i: int) -> int:
    if not isinstance(target, Mapping) or "boxes" not in target:
        what = f"has no 'boxes': {', '.join(map(repr, target))}" if isinstance(target, Mapping) else "is no dictionary"
        raise ArgumentError(f"the target of image {i} {what}, want a dictionary with boxes, labels and such")
    number = _length(target, "boxes", i)
    for name in OF_OBJECTS[1:]:
        if name in target and (length := _length(target, name, i)) != number:
            raise ArgumentError(f"the target of image {i} has {number} boxes, but {length} of {name!r}")
    return number


def _length(target: Mapping[str, Any], name: str, i: int) -> int:
    """How many entries the target of image i has under a name."""
    values = target[name]
    shape = getattr(values, "shape", None)  # a third of what len() of a tensor takes
    if shape:
        return int(shape[0])
    if not isinstance(values, Sequence) or isinstance(values, str):
        wanted = "[n, 4]" if name == "boxes" else "an entry for each box"
        raise ArgumentError(f"the target of image {i} has {name!r}: {values!r:.60}, want {wanted}")
    return len(values)


def _kind(values: Any) -> str:
    """What is joined with its like alone, in the words of an error."""
    kind = kind_of(type(values)) if hasattr(values, "shape") else NumPy
    return "lists or NumPy arrays" if kind is NumPy else f"{kind.name}s" if kind else type(values).__name__


def _is_row(box: Any) -> bool:
    numbers = numbers_of(box)
    return isinstance(numbers, (list, tuple)) and len(numbers) == 4 and not {*map(type, numbers)} & {str, list, dict}


def _box(box: Any, form: str, sides: tuple[int, int]) -> list[float]:
    """A motley_erased_box in shares of `sides`."""
    (width, height), left, top = sides, box.left, box.top
    numbers = [left / width, top / height, box.width / width, box.height / height]
    if form == "xyxy":
        numbers[2:] = [(left + box.width) / width, (top + box.height) / height]
    if form == "cxcywh":
        numbers[:2] = [(left + box.width / 2) / width, (top + box.height / 2) / height]
    return numbers


def _numbers(numbers: list[Any], like: Any, dtype: str | None = None) -> Any:
    """Numbers in the library of `like` and on its device, which is not waited for; in its dtype, or in another."""
    if not hasattr(like, "shape"):
        return numbers
    if kind_of(type(like)) is Torch:
        torch = sys.modules["torch"]
        tensor = torch.tensor(numbers, dtype=getattr(torch, dtype) if dtype else like.dtype)
        return tensor.to(like.device, non_blocking=True)
    import numpy

    return numpy.array(numbers, dtype or like.dtype)


def _together(parts: list[list[Any]], likes: list[Any]) -> list[Any]:
    """For each of `likes` its parts behind each other, of its type. Tensors that are alike become pieces of one, for
    which torch is called once."""
    parts = [own or [like[:0] if hasattr(like, "shape") else []] for own, like in zip(parts, likes)]
    first: Any = likes[0] if likes else None
    if kind_of(type(first)) is Torch and all(
        kind_of(type(like)) is Torch and like.dtype == first.dtype and like.device == first.device for like in likes
    ):
        torch, counts = sys.modules["torch"], [sum(part.shape[0] for part in own) for own in parts]
        whole = torch.cat([part for own in parts for part in own])
        pieces = torch.unsafe_split_with_sizes(whole, counts)  # half of split()'s time, as nobody else has `whole`
        return [_finished(piece, like) for piece, like in zip(pieces, likes)]
    return [_behind_each_other(own, like) for own, like in zip(parts, likes)]


def _finished(tensor: Any, like: Any) -> Any:
    finish = Torch.finish_for(type(like))
    return tensor if finish is None else finish(tensor, like)


def _behind_each_other(parts: list[Any], like: Any) -> Any:
    if kind_of(type(like)) is Torch:
        return _finished(sys.modules["torch"].cat(parts), like)
    if not hasattr(like, "shape"):
        return [entry for part in parts for entry in part]
    import numpy

    return numpy.concatenate(parts)


# ---- batches that are resized ----


def _resize(result: dict[str, Any], target: Mapping[str, Any], relative: bool, size: Any, to: Any) -> None:
    """Moves what is in pixels to where it is in the resized images."""
    import numpy

    ratios = [float(numpy.float32(new / old)) for new, old in zip(to, size)]
    if not relative:
        result["boxes"] = _scaled("boxes", result["boxes"], ratios * 2)
        if hasattr(target["boxes"], "canvas_size"):
            tv_tensors = sys.modules["torchvision.tv_tensors"]
            result["boxes"] = tv_tensors.wrap(result["boxes"], like=target["boxes"], canvas_size=tuple(to[::-1]))
    if "keypoints" in result:
        result["keypoints"] = _scaled("keypoints", result["keypoints"], [*ratios, 1.0])
    if "masks" in result:
        result["masks"] = _resized(result["masks"], size, [_nearest(size[k], to[k]) for k in (1, 0)])


def _resized(masks: Any, size: Any, places: list[Any]) -> Any:
    """Masks [..., H, W], or a list of them, at the rows and columns that `places` has. size: (width, height)."""
    if isinstance(masks, (list, tuple)):
        return [_resized(mask, size, places) for mask in masks]
    kind, shape = kind_of(type(masks)), tuple(getattr(masks, "shape", ()))
    if kind not in (Torch, NumPy) or shape[-2:] != size[::-1]:
        what = f"shape {shape}" if shape else f"a {type(masks).__name__}"
        wanted = f"arrays of NumPy or torch [n, {size[1]}, {size[0]}]"
        raise ArgumentError(f"masks are resized with their images, and have {what}: want {wanted}")
    if kind is NumPy:
        return masks[..., places[0], :][..., places[1]]
    rows, columns = (sys.modules["torch"].from_numpy(index).to(masks.device) for index in places)
    return _finished(masks.index_select(-2, rows).index_select(-1, columns), masks)


def _scaled(name: str, numbers: Any, by: list[float]) -> Any:
    """Numbers of float32, or of their own wider type, times one for each column; of lists Python's."""
    shape = getattr(numbers, "shape", None)
    if shape is None and all(hasattr(row, "__len__") and getattr(row, "ndim", 1) for row in numbers):
        return [_scaled(name, row, by) for row in numbers]
    columns = len(numbers) if shape is None else shape[-1]
    if not 2 <= columns <= len(by):
        if shape is not None and 0 in shape:
            return numbers
        what = f"{columns} numbers in a row" if shape is None else f"shape {tuple(shape)}"
        raise ArgumentError(f"{name} are resized with their images, and have {what}: want 2 or {len(by)} in a row")
    by = by[:columns]
    if shape is None:
        return [float(number) * ratio for number, ratio in zip(numbers, by)]
    return numbers * _numbers(by, numbers, None if has_floats(numbers) else "float32")


def _nearest(old: int, new: int) -> Any:
    """The rows or columns that torch's nearest reads."""
    import numpy

    f = numpy.float32
    return numpy.minimum(numpy.floor(numpy.arange(new, dtype=f) * (f(old) / f(new))), old - 1).astype("int64")
