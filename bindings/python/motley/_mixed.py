# SPDX-License-Identifier: Apache-2.0
"""MixUp and CutMix of a transform's images: how they are mixed, as plain data, and the targets, mixed by the same
shares, or the objects of detection, joined."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _images as images
from . import _native
from ._core import ffi, lib
from ._arrays import Torch, kind_of
from ._native import ArgumentError, checked, for_each, whole

if TYPE_CHECKING:
    from ._types import Labels

KINDS = "none", "mixup", "cutmix"
BOX = "left", "top", "width", "height"
OF_OBJECTS = "boxes", "labels", "area", "iscrowd", "masks", "keypoints"  # what has one entry for each object
SHARE = "mixup"  # where the shares of joined objects are; DEIM's loss reads it there


# ---- draws: an array of motley_mixed, as plain data ----


def drawn(policy: Any, samples: Any, count: int, size: tuple[int, int]) -> Any:
    """How these samples are mixed as one batch of images of that size, (width, height): motley_mixed[]."""
    mixed = ffi.new("motley_mixed[]", max(count, 1))
    checked(lib.motley_mix_draw, policy._mix[0], samples, count, *size, mixed)
    return mixed


def plain(mixed: Any, count: int) -> list[dict[str, Any]]:
    """For each image its "kind", "partner", "lambda" and "share"; of CutMix also the "box"."""
    draws = []
    for one in mixed[0:count]:
        draw = {"kind": KINDS[one.kind], "partner": one.partner, "lambda": getattr(one, "lambda"), "share": one.share}
        if one.kind == lib.MOTLEY_MIX_CUTMIX:
            draw["box"] = {name: getattr(one.box, name) for name in BOX}
        draws.append(draw)
    return draws


def structs(draws: Sequence[Any], count: int) -> Any:
    """motley_mixed[] of recorded draws, whose "mix" plain() has made."""
    for_each("draws", len(draws), count, "entries")
    mixed = ffi.new("motley_mixed[]", max(count, 1))
    for i, (one, draw) in enumerate(zip(mixed, draws)):
        if "mix" not in draw:
            raise ArgumentError(f"draws of image {i} have no 'mix', but the transform mixes images")
        mix = draw["mix"]
        try:
            one.kind, one.partner, one.share = KINDS.index(mix["kind"]), mix["partner"], mix["share"]
            setattr(one, "lambda", mix["lambda"])
            for name in BOX if "box" in mix else ():
                setattr(one.box, name, mix["box"][name])
        except (KeyError, TypeError, ValueError, OverflowError) as wrong:
            raise ArgumentError(f"mix of image {i} is {mix!r}, want kind, partner, lambda and share: {wrong}") from None
    return mixed


def unmixed(count: int) -> Any:
    """motley_mixed[] of images that stay as they are."""
    return structs([{"mix": {"kind": "none", "partner": i, "lambda": 1, "share": 1}} for i in range(count)], count)


def begun(
    call: Any, policy: Any, training: bool, given: Any, mixing: Any, numbers: Any, batch: Any, like: Any
) -> tuple[Any, tuple[Any, ...]]:
    """How a call's images are mixed, motley_mixed[], and their targets, before any pixel is touched. In eval() labels
    are returned as they are. like: the images, described."""
    (labels, classes), count, params = mixing, call.count, call.c.params
    if not training and given is None:
        mixed = unmixed(count)
        params.mixed = mixed if policy.mixes else ffi.NULL
        return mixed, () if labels is None else (labels,)
    check_gradients(batch)
    if given is None:
        seed, epoch, first, ids, signed, views, _ = numbers
        if signed and lib.has_negative(ids, count):
            call.failed(policy, lib.CALL_NEGATIVE_ID)
        samples = ffi.new("motley_samples *", lib.samples_of(seed, epoch, first, ids, views))
        height, width = policy.size or (call.sizes[0][::-1] if count else (1, 1))
        mixed = drawn(policy, samples, count, (width, height))
    else:
        mixed = params.given_mixed = structs(given, count)
    params.mixed = mixed
    if isinstance(labels, Sequence) and labels and isinstance(labels[0], Mapping):
        return mixed, (joined(mixed, labels, count),)
    like = like.first if isinstance(like, images.Many) and count else like
    return mixed, (targets_of(mixed, labels, count, classes or policy._mix[1], policy._mix[2], like),)


# ---- what can be mixed ----


def check_images(source: Any) -> None:
    """Refuses what is no batch of images of one size."""
    if isinstance(source, images.Many) or source.single:
        raise ArgumentError("mixing wants a batch, an array of several images of one size")


def check_gradients(batch: Any) -> None:
    if getattr(batch, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
        raise ArgumentError(
            "the images require grad, which mixing does not pass on: want images.detach(), or for a loss that is "
            "derived by them their mixing in torch"
        )


# ---- the objects of detection ----


def joined(mixed: Any, targets: Sequence[Any], count: int) -> list[dict[str, Any]]:
    """The targets of mixed images, each a dictionary: where images are mixed, their own objects and their partners',
    with the shares of each, float32, under "mixup"."""
    for_each("labels", len(targets), count, "targets")
    numbers = [_objects_in(target, i) for i, target in enumerate(targets)]
    if not any(one.kind for one in mixed[0:count]):
        return [dict(target) for target in targets]
    offsets = ffi.new("size_t[]", list(itertools.accumulate(numbers, initial=0)))
    room = sum(numbers[i] + numbers[one.partner] for i, one in enumerate(mixed[0:count]))
    objects, ends = ffi.new("motley_mixed_object[]", max(room, 1)), ffi.new("size_t[]", count + 1)
    checked(lib.motley_mix_objects, mixed, count, offsets, objects, room, ends)
    return [_of_image(targets, i, objects[ends[i] : ends[i + 1]]) for i in range(count)]


def _objects_in(target: Any, i: int) -> int:
    """How many objects a target has."""
    if not isinstance(target, Mapping) or "boxes" not in target:
        what = f"has no 'boxes': {', '.join(map(repr, target))}" if isinstance(target, Mapping) else "is no dictionary"
        raise ArgumentError(f"the target of image {i} {what}, want a dictionary with boxes, labels and such")
    number = len(target["boxes"])
    for name in OF_OBJECTS:
        if name in target and len(target[name]) != number:
            raise ArgumentError(f"the target of image {i} has {number} boxes, but {len(target[name])} of {name!r}")
    return number


def _of_image(targets: Sequence[Any], i: int, objects: Any) -> dict[str, Any]:
    """The target of image i, which has these objects of the batch."""
    runs: list[list[int]] = []  # image, from which of its objects, and until which
    for one in objects:
        if runs and (runs[-1][0], runs[-1][2]) == (one.image, one.object):
            runs[-1][2] += 1
        else:
            runs.append([one.image, one.object, one.object + 1])
    result = dict(targets[i])
    for name in filter(result.__contains__, OF_OBJECTS):
        parts = []
        for image, first, end in runs:
            if name not in targets[image]:
                raise ArgumentError(
                    f"the target of image {i} has {name!r}, that of its partner, image {image}, has not"
                )
            parts.append(targets[image][name][first:end])
        result[name] = _together(parts, result[name])
    result[SHARE] = _floats([one.share for one in objects], result["boxes"])
    return result


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


# ---- targets ----


def targets_of(mixed: Any, labels: Labels | None, count: int, classes: int | None, smoothing: float, like: Any) -> Any:
    """Mixed targets [count, classes], float32, of the library and device of the images `like`. Where torch's labels are
    on that device, too, nothing waits for them: the targets of a label that is no class, or no share, are NaN."""
    if labels is None:
        raise ArgumentError("labels are missing: the images are mixed, and their targets have to be")
    given: Any = labels
    shape = tuple(given.shape) if hasattr(given, "shape") else (len(given),)
    soft, on_device = len(shape) == 2, _on_device(given, like)
    listed = [0] if on_device else given.tolist() if hasattr(given, "tolist") else list(given)
    whole_numbers = not given.is_floating_point() if on_device else all(hasattr(n, "__index__") for n in listed)
    if not (soft or whole_numbers) and len(shape) == 1:
        name = "float" if on_device else type(listed[0]).__name__
        raise ArgumentError(f"labels are {name}s, want whole numbers, or soft targets [N, classes]")
    classes = _classes(shape, count, classes)
    dtype = "float32" if soft else "int64"
    if on_device:
        torch = sys.modules["torch"]
        numbers = given.detach().to(getattr(torch, dtype)).contiguous()
        if soft and not given.is_floating_point():
            numbers.masked_fill_((given != 0) & (given != 1), float("nan"))
        targets = torch.empty((count, classes), dtype=torch.float32, device=given.device)
    else:
        import numpy

        if soft:
            _refuse_class_numbers(numpy.array(listed), shape)
        numbers, targets = numpy.array(listed, dtype), numpy.empty((count, classes), "float32")
    if count:
        pointer = kind_of(type(targets)).pointer
        address = ffi.cast("float *" if soft else "int64_t *", pointer(numbers))
        both = (ffi.NULL, address) if soft else (address, ffi.NULL)
        context = _native.context_of(like.device).handle if on_device else ffi.NULL
        stream = images.stream_of(like) if on_device else ffi.NULL
        out = ffi.cast("float *", pointer(targets))
        checked(lib.motley_mix_targets, context, mixed, count, classes, *both, smoothing, out, stream)
    if like.kind is Torch and not on_device:
        targets = sys.modules["torch"].from_numpy(targets).to(like.array.device)
    return images.like_foreign(targets, like.given) if like.foreign else targets


def _on_device(labels: Any, like: Any) -> bool:
    return bool(like.kind is Torch and getattr(labels, "is_cuda", False) and labels.device == like.array.device)


def _classes(shape: tuple[int, ...], count: int, classes: int | None) -> int:
    """How many classes labels of that shape have, for so many images."""
    if len(shape) not in (1, 2) or shape[0] != count:
        raise ArgumentError(
            f"labels have shape {shape}, want [{count}] or [{count}, classes], as there are {count} images"
        )
    if len(shape) == 2 and shape[1] == 1:
        raise ArgumentError(f"labels have shape {shape}, want [{count}]: a class for each image, or [{count}, classes]")
    if len(shape) == 2 and classes not in (None, shape[1]):
        raise ArgumentError(f"labels have {shape[1]} classes, want {classes}")
    if len(shape) == 1 and classes is None:
        raise ArgumentError(
            "labels are whole numbers: want classes, how many there are, as an argument or in the stage 'mix'"
        )
    return whole("classes", shape[1] if len(shape) == 2 else classes, 1, 1 << 24, "from 1 to 16777216")


def _refuse_class_numbers(labels: Any, shape: tuple[int, ...]) -> None:
    """Raises ArgumentError of an array that has several classes for each image in place of each class's share."""
    wrong: Any = labels[(labels != 0) & (labels != 1)] if labels.dtype.kind in "iu" else ()
    if len(wrong):
        raise ArgumentError(
            f"labels have shape {shape} and whole numbers such as {wrong[0]}, want [{shape[0]}]: a class for each "
            f"image, or [{shape[0]}, classes]: each class's share"
        )
