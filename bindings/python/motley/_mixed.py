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
from ._random import numbers_of

if TYPE_CHECKING:
    from ._types import Labels

KINDS = "none", "mixup", "cutmix", "paste", "instances"
BOX = "left", "top", "width", "height"


# ---- draws: an array of motley_mixed, as plain data ----


def drawn(policy: Any, samples: Any, count: int, size: tuple[int, int], partners: Any, objects: Any = None) -> Any:
    """How these samples are mixed as one batch of images of that size, (width, height), and what is pasted into them:
    motley_mixed[], motley_paste[] or NULL. partners: int32_t[] or NULL; objects: what makes the batch's
    _objects.Objects, for a policy that pastes."""
    mixed, pastes = ffi.new("motley_mixed[]", max(count, 1)), ffi.NULL
    how = policy._mix[0], samples, count, *size, partners
    checked(lib.motley_mix_draw, *how, ffi.NULL, mixed, ffi.NULL)
    if objects is not None and any(one.kind >= lib.MOTLEY_MIX_PASTE for one in mixed[0:count]):
        given = objects()
        pastes = ffi.new("motley_paste[]", max(count * (policy.pastes or max(given.numbers)), 1))
        checked(lib.motley_mix_draw, *how, given.c, mixed, pastes)
    return mixed, pastes


def alone(policy: Any, samples: Any, count: int, size: tuple[int, int], boxes: Any) -> list[dict[str, Any]]:
    """How these samples are mixed, as plain() says it, without images. boxes: as draws.same_boxes() makes them."""

    def objects() -> Any:
        if boxes is None:
            raise ArgumentError(f"policy '{policy.name}' pastes objects: want boxes, those of each image")
        return _objects.Objects.of_boxes(boxes, count)

    pastes = policy.pastes or policy.instances
    mixed, pasted = drawn(policy, samples, count, size, ffi.NULL, objects if pastes else None)
    return plain(mixed, pasted, count)


def size_of(policy: Any, samples: Any, count: int, size: tuple[int, int]) -> tuple[int, int]:
    """The size that these samples' batch of images of `size` gets, (width, height) both."""
    mixed, _pasted = drawn(policy, samples, count, size, ffi.NULL)  # whose memory goes with it
    return (mixed[0].side,) * 2 if mixed[0].side else size


def recorded_size(draws: Sequence[Any], size: tuple[int, int]) -> tuple[int, int]:
    """The same of recorded draws."""
    side = draws[0].get("mix", {}).get("side") if draws and isinstance(draws[0], dict) else None
    return size if side is None else (whole("side", side, 1, 65535, "from 1 to 65535"),) * 2


def plain(mixed: Any, pastes: Any, count: int) -> list[dict[str, Any]]:
    """For each image its "kind", "partner", "lambda" and "share"; of CutMix also the "box", of objects that are pasted
    their "pastes", of instances also by how much they "grow", and of a batch whose size is drawn its "side"."""
    draws = []
    for one in mixed[0:count]:
        draw = {"kind": KINDS[one.kind], "partner": one.partner, "lambda": getattr(one, "lambda"), "share": one.share}
        if one.kind == lib.MOTLEY_MIX_CUTMIX:
            draw["box"] = _plain_box(one.box)
        if one.kind >= lib.MOTLEY_MIX_PASTE:
            own = pastes[one.paste : one.paste + one.pastes] if one.pastes else ()
            draw["pastes"] = [_plain_paste(paste, one.kind) for paste in own]
        if one.kind == lib.MOTLEY_MIX_INSTANCES:
            draw["grow"] = one.grow
        if one.side:
            draw["side"] = one.side
        draws.append(draw)
    return draws


def _plain_paste(paste: Any, kind: int) -> dict[str, Any]:
    draw: dict[str, Any] = {"image": paste.image, "object": paste.object}
    if kind == lib.MOTLEY_MIX_PASTE:
        draw |= {"left": paste.left, "top": paste.top}
        draw |= {"part": _plain_box(paste.part), "box": _plain_box(paste.box)}
    return draw


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
    wanted = f"from 0 to {count - 1}, as there are {count} images"
    for i, (one, draw) in enumerate(zip(mixed, draws)):
        if "mix" not in draw:
            raise ArgumentError(f"draws of image {i} have no 'mix', but the transform mixes images")
        mix = draw["mix"]
        try:
            one.kind, one.share = KINDS.index(mix["kind"]), mix["share"]
            one.partner = whole("partner", mix["partner"], 0, count - 1, wanted)
            setattr(one, "lambda", mix["lambda"])
            if "box" in mix:
                _box_struct(one.box, mix["box"])
            one.grow, one.side = mix.get("grow", 0), mix.get("side", 0)
            own = mix.get("pastes", ())
            one.paste, one.pastes = len(pastes), len(own)
            for paste in own:
                image = whole("image", paste["image"], 0, count - 1, wanted)
                made = ffi.new("motley_paste *", {"image": image, "object": paste["object"]})
                if one.kind == lib.MOTLEY_MIX_PASTE:
                    made.left, made.top = paste["left"], paste["top"]
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
) -> tuple[Any, Any]:
    """Says how a call's images are mixed, before any pixel is touched; returns what makes plain() of it, and what makes
    the targets once the images are being mixed. In eval() labels are returned as they are. like: the images, described;
    target: what is written to, where its size is drawn."""
    (labels, classes, partners), count, params = mixing, call.count, call.c.params
    if not training and given is None:
        mixed = unmixed(count)
        params.mixed = mixed if policy.mixes else ffi.NULL
        return functools.partial(plain, mixed, ffi.NULL, count), lambda: () if labels is None else (labels,)
    check_gradients(batch)
    reads = policy.pastes or policy.instances or policy.sizes_batches
    targets = _objects.given(labels, policy.name if reads else None)
    size = (policy.size or (call.sizes[0][::-1] if count else (1, 1)))[::-1]
    objects = None if targets is None else _objects.Objects(targets, count, size)
    if objects is not None and reads:
        objects.check_boxes()
    if given is None:
        seed, epoch, first, ids, signed, views, _ = numbers
        if signed and lib.has_negative(ids, count):
            call.failed(policy, lib.CALL_NEGATIVE_ID)
        pasted = None
        if policy.pastes or policy.instances:
            if objects is None:
                raise ArgumentError(
                    f"policy '{policy.name}' pastes objects: want labels as a list of dictionaries with boxes"
                )
            pasted = functools.partial(objects.with_boxes, areas=policy.pastes > 0)
        samples = ffi.new("motley_samples *", lib.samples_of(seed, epoch, first, ids, views))
        mixed, pastes = drawn(policy, samples, count, size, partners_of(partners, count), pasted)
    else:
        mixed, pastes = structs(given, count)
        params.given_mixed = mixed
    params.mixed, masks = mixed, None
    if objects is not None:
        objects.check(mixed, pastes)
        masks = objects.masks_for(mixed, call.caller)
        if masks is None:
            objects.list_runs(mixed, pastes)
    if policy.only_mixes:
        call.made.pastes, call.made.masks = pastes, ffi.NULL if masks is None else masks.c
    record = functools.partial(plain, mixed, pastes, count)
    if objects is not None:
        side = target.size[0] if policy.sizes_batches else 0
        return record, lambda: (objects.joined(mixed, pastes, masks, (side, side) if side else size),)
    like = like.first if isinstance(like, images.Many) and count else like
    made = targets_of(mixed, labels, count, classes or policy._mix[1], policy._mix[2], like)
    return record, lambda: (made,)


def partners_of(partners: Any, count: int) -> Any:
    """int32_t[] of a call's partners, or NULL."""
    if partners is None:
        return ffi.NULL
    try:
        numbers = list(partners)
    except TypeError:
        raise ArgumentError(f"partners is {partners!r}, want the index of each image's partner") from None
    for_each("partners", len(numbers), count, "numbers")
    wanted = f"from 0 to {count - 1}, as there are {count} images"
    return ffi.new("int32_t[]", [whole("partners", number, 0, count - 1, wanted) for number in numbers])


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
    on_device = _on_device(labels, like)
    given: Any = labels if on_device else _numbers_in(labels)
    shape = tuple(given.shape)
    soft = len(shape) == 2
    if len(shape) == 1 and (given.is_floating_point() if on_device else given.dtype.kind == "f" and given.size):
        raise ArgumentError("labels are floats, want whole numbers, or soft targets [N, classes]")
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
            _refuse_class_numbers(given, shape)
        numbers, targets = given.astype(dtype), numpy.empty((count, classes), "float32")
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


def _numbers_in(labels: Any) -> Any:
    """Labels on the host as one NumPy array of numbers, whatever holds them."""
    import numpy

    rows, numbers = numbers_of(labels), None
    try:
        numbers = numpy.array([*map(numbers_of, rows)] if rows is labels and hasattr(rows, "__iter__") else rows)
    except (TypeError, ValueError):  # as of rows that differ in length
        pass
    if numbers is None or numbers.ndim == 0 or numbers.dtype.kind not in "biuf":
        raise ArgumentError(f"labels are {labels!r:.60}, want whole numbers, or soft targets [N, classes]")
    return numbers


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
