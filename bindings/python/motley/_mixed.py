# SPDX-License-Identifier: Apache-2.0
"""MixUp and CutMix of a transform's images: how they are mixed, as plain data, and the targets, mixed by the same
shares, or the objects of detection, joined."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _images as images
from . import _native, _objects
from ._core import ffi, lib
from ._arrays import Torch, kind_of
from ._native import ArgumentError, checked, for_each, whole

if TYPE_CHECKING:
    from ._types import Labels

KINDS = "none", "mixup", "cutmix", "paste"
BOX = "left", "top", "width", "height"
PLACE = "image", "object", "left", "top"  # of a motley_paste, beside its "part" and "box"


# ---- draws: an array of motley_mixed, as plain data ----


def drawn(policy: Any, samples: Any, count: int, size: tuple[int, int]) -> Any:
    """How these samples are mixed as one batch of images of that size, (width, height): motley_mixed[]."""
    mixed = ffi.new("motley_mixed[]", max(count, 1))
    checked(lib.motley_mix_draw, policy._mix[0], samples, count, *size, mixed)
    return mixed


def pasted(policy: Any, samples: Any, mixed: Any, count: int, size: tuple[int, int], boxes: Any, areas: Any) -> Any:
    """What is pasted into these images, motley_paste[], or NULL. boxes, areas: of each image, as _objects.in_pixels
    makes them."""
    if not any(one.kind == lib.MOTLEY_MIX_PASTE for one in mixed[0:count]):
        return ffi.NULL
    most = policy.pastes
    return _objects.draw_pastes(policy._mix[0], samples, boxes, areas, mixed, count, most, size)


def rows_given(policy: Any, boxes: Any, count: int) -> list[Any]:
    """Boxes of each image, of draws without images: `boxes`, as same_boxes() makes them."""
    if boxes is None:
        raise ArgumentError(f"policy '{policy.name}' pastes objects: want boxes, those of each image")
    import numpy

    numbers, offsets = boxes
    ends = list(offsets[0 : count + 1])
    flat = numpy.array(list(numbers[0 : 4 * ends[-1]]), "float64").reshape(-1, 4)
    return [flat[ends[i] : ends[i + 1]] for i in range(count)]


def alone(policy: Any, samples: Any, count: int, size: tuple[int, int], boxes: Any) -> list[dict[str, Any]]:
    """How these samples are mixed, as plain() says it, without images. boxes: as same_boxes() makes them."""
    mixed, pastes = drawn(policy, samples, count, size), ffi.NULL
    if policy.pastes:
        pastes = pasted(policy, samples, mixed, count, size, rows_given(policy, boxes, count), None)
    return plain(mixed, pastes, count, size_of(policy, samples, size)[0] if policy.sizes_batches else None)


def size_of(policy: Any, samples: Any, size: tuple[int, int]) -> tuple[int, int]:
    """The size that these samples' batch of images of `size` gets, (width, height) both."""
    width, height = ffi.new("int32_t *", size[0]), ffi.new("int32_t *", size[1])
    checked(lib.motley_mix_size, policy._mix[0], samples, width, height)
    return width[0], height[0]


def recorded_size(draws: Sequence[Any], size: tuple[int, int]) -> tuple[int, int]:
    """The same of recorded draws."""
    side = draws[0].get("mix", {}).get("side") if draws and isinstance(draws[0], dict) else None
    return size if side is None else (whole("side", side, 1, 65535, "from 1 to 65535"),) * 2


def plain(mixed: Any, pastes: Any, count: int, side: int | None = None) -> list[dict[str, Any]]:
    """For each image its "kind", "partner", "lambda" and "share"; of CutMix also the "box", of objects that are pasted
    their "pastes", and of a batch whose size is drawn its "side"."""
    draws = []
    for one in mixed[0:count]:
        draw = {"kind": KINDS[one.kind], "partner": one.partner, "lambda": getattr(one, "lambda"), "share": one.share}
        if one.kind == lib.MOTLEY_MIX_CUTMIX:
            draw["box"] = _plain_box(one.box)
        if one.kind == lib.MOTLEY_MIX_PASTE:
            own = pastes[one.paste : one.paste + one.pastes] if pastes != ffi.NULL else ()
            draw["pastes"] = [
                {**{n: getattr(p, n) for n in PLACE}, "part": _plain_box(p.part), "box": _plain_box(p.box)} for p in own
            ]
        if side is not None:
            draw["side"] = side
        draws.append(draw)
    return draws


def _plain_box(box: Any) -> dict[str, int]:
    return {name: getattr(box, name) for name in BOX}


def _box_struct(box: Any, given: Any) -> None:
    for name in BOX:
        setattr(box, name, given[name])


def structs(draws: Sequence[Any], count: int) -> tuple[Any, Any]:
    """motley_mixed[] and motley_paste[] of recorded draws, whose "mix" plain() has made."""
    for_each("draws", len(draws), count, "entries")
    mixed = ffi.new("motley_mixed[]", max(count, 1))
    pastes: list[Any] = []
    for i, (one, draw) in enumerate(zip(mixed, draws)):
        if "mix" not in draw:
            raise ArgumentError(f"draws of image {i} have no 'mix', but the transform mixes images")
        mix = draw["mix"]
        try:
            one.kind, one.partner, one.share = KINDS.index(mix["kind"]), mix["partner"], mix["share"]
            setattr(one, "lambda", mix["lambda"])
            if "box" in mix:
                _box_struct(one.box, mix["box"])
            own = mix.get("pastes", ())
            one.paste, one.pastes = len(pastes), len(own)
            for paste in own:
                made = ffi.new("motley_paste *", {name: paste[name] for name in PLACE})
                _box_struct(made.part, paste["part"])
                _box_struct(made.box, paste["box"])
                pastes.append(made[0])
        except (KeyError, TypeError, ValueError, OverflowError) as wrong:
            raise ArgumentError(f"mix of image {i} is {mix!r}, want kind, partner, lambda and share: {wrong}") from None
    return mixed, ffi.new("motley_paste[]", pastes) if pastes else ffi.NULL


def unmixed(count: int) -> Any:
    """motley_mixed[] of images that stay as they are."""
    return structs([{"mix": {"kind": "none", "partner": i, "lambda": 1, "share": 1}} for i in range(count)], count)[0]


def begun(
    call: Any, policy: Any, training: bool, given: Any, mixing: Any, numbers: Any, batch: Any, like: Any, target: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Says how a call's images are mixed, before any pixel is touched; returns what plain() makes of it when it is
    called, and the targets. In eval() labels are returned as they are. like: the images, described; target: what is
    written to, where its size is drawn."""
    (labels, classes), count, params = mixing, call.count, call.c.params
    if not training and given is None:
        mixed = unmixed(count)
        params.mixed = mixed if policy.mixes else ffi.NULL
        return functools.partial(plain, mixed, ffi.NULL, count), () if labels is None else (labels,)
    check_gradients(batch)
    targets, pastes = _objects.given(labels), ffi.NULL
    if targets is not None:
        _objects.numbers_in(targets, count)
    height, width = policy.size or (call.sizes[0][::-1] if count else (1, 1))
    if given is None:
        seed, epoch, first, ids, signed, views, _ = numbers
        if signed and lib.has_negative(ids, count):
            call.failed(policy, lib.CALL_NEGATIVE_ID)
        samples = ffi.new("motley_samples *", lib.samples_of(seed, epoch, first, ids, views))
        mixed = drawn(policy, samples, count, (width, height))
        if policy.pastes:
            if targets is None:
                raise ArgumentError(
                    f"policy '{policy.name}' pastes objects: want labels as a list of dictionaries with boxes"
                )
            rows = _objects.in_pixels(targets, (width, height))
            pastes = pasted(policy, samples, mixed, count, (width, height), *rows)
    else:
        mixed, pastes = structs(given, count)
        params.given_mixed = mixed
    params.mixed = mixed
    if policy.only_mixes:
        call.made.pastes, call.pastes = pastes, pastes  # which live as long as the call uses them
    side = target.size[0] if policy.sizes_batches else None
    record = functools.partial(plain, mixed, pastes, count, side)
    if targets is not None:
        to = (side, side) if side else (width, height)
        return record, (_objects.joined(mixed, pastes, targets, count, (width, height), to),)
    like = like.first if isinstance(like, images.Many) and count else like
    return record, (targets_of(mixed, labels, count, classes or policy._mix[1], policy._mix[2], like),)


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
