# SPDX-License-Identifier: Apache-2.0
"""What the classes share: which of torchvision's they stand for, which images they take, and what is done to these by
Motley's kernels: a PIL image or a uint8 tensor [..., C, H, W] in, a new one out, with the bytes of torchvision's Pillow
path."""

from __future__ import annotations

import functools
import logging
import math
from typing import Any

import PIL.Image
import torch
from torchvision import transforms as v1

import motley
from motley import _arrays as arrays
from motley import ops
from motley._arrays import Pillow, blank
from motley._core import ffi, lib
from motley._native import check, checked, context_of
from motley._resize import FILTERS, ORDERS, order_of
from motley.draws import Drawn
from motley.policy import PILLOWS, filter_number

try:
    from torchvision import tv_tensors as tv_tensors
    from torchvision.transforms import v2 as v2
except ImportError:  # before torchvision 0.16
    tv_tensors = v2 = None

TRANSFORM, MAKE_PARAMS = "transform", "make_params"
if v2 is not None and not hasattr(v2.Transform, TRANSFORM):  # before torchvision 0.21
    TRANSFORM, MAKE_PARAMS = "_transform", "_get_params"

POLICIES = {
    "RandAugment": "rand_augment",
    "TrivialAugmentWide": "trivial_augment_wide",
    "AutoAugment": "auto_augment_",
    "AugMix": "augmix",
}
RECIPES = ("RandomResizedCrop", "Resize", "RandomHorizontalFlip", "ColorJitter", "RandomGrayscale", "GaussianBlur",
           "RandomErasing")  # fmt: skip
MIXERS = "MixUp", "CutMix"
THEIRS: dict[Any, dict[str, Any]] = {  # torchvision's class -> its methods before take_over()
    cls: {method: getattr(cls, method) for method in ("forward", TRANSFORM, MAKE_PARAMS) if hasattr(cls, method)}
    for module, names in ((v1, [*POLICIES, *RECIPES]), (v2, [*POLICIES, *RECIPES, *MIXERS]))
    for cls in (getattr(module, name, None) for name in names)
    if cls is not None
}

FOLLOWERS = tuple(
    getattr(tv_tensors, name) for name in ("Mask", "BoundingBoxes", "KeyPoints") if hasattr(tv_tensors, name)
)
IMAGES = (tv_tensors.Image, tv_tensors.Video) if tv_tensors else ()

ORDER = order_of(PIL.__version__)
ORDER_NUMBER = ORDERS.index(ORDER)
JITTERS = "brightness", "contrast", "saturation", "hue"  # by torchvision's numbers
JITTER_OPS = (*(ops.table[name].number for name in ("brightness", "contrast", "color")), lib.MOTLEY_STEP_HUE)
SATURATION = JITTER_OPS[2]
PILLOWS_NUMBERS = {FILTERS.index(name): number for number, name in PILLOWS.items()}  # by motley_filter
SMALL = 64 * 64  # pixels: up to here Pillow is faster than a call of the library, with the same bytes


class NotOurs(Exception):
    """Why a call, or a transform that was to be fused, is torchvision's to run."""


@functools.lru_cache(maxsize=None)
def _class_of(cls: Any) -> Any:
    return next(base for base in cls.__mro__ if base in THEIRS)


class_of: Any = _class_of  # torchvision's class that a class is, or stands for, or is made of


def is_v2(transform: Any) -> Any:
    return v2 is not None and isinstance(transform, v2.Transform)


@functools.lru_cache(maxsize=None)
def say(name: Any, why: Any, what: Any = "runs in torchvision, not in Motley") -> None:
    """Logs, once, that a transform is not Motley's."""
    logging.getLogger("motley.torchvision").warning("%s %s: %s", name, what, why)


def is_plain(entry: Any) -> Any:
    """Whether an entry of a sample is an image of a type that v2 knows, and no subclass."""
    return isinstance(entry, PIL.Image.Image) or type(entry) is torch.Tensor or type(entry) in IMAGES


def size_of(image: Any) -> Any:
    """(height, width)"""
    return image.size[::-1] if isinstance(image, PIL.Image.Image) else tuple(image.shape[-2:])


def channels_of(image: Any, wanted: Any = (1, 2, 3, 4)) -> Any:
    """How many channels the image has, one of `wanted`. Raises NotOurs where it is torchvision's."""
    if isinstance(image, PIL.Image.Image):
        channels = Pillow.channels_of.get(image.mode)
    elif not isinstance(image, torch.Tensor):
        raise NotOurs(f"an image of type {type(image).__name__}")
    elif image.dtype != torch.uint8:
        raise NotOurs(f"a tensor of {image.dtype}")
    elif torch.jit.is_tracing():
        raise NotOurs("torch.jit.trace sees only what torch does")
    else:
        channels = image.shape[-3] if image.ndim > 2 and image.numel() else None
    if channels not in wanted:
        picture = isinstance(image, PIL.Image.Image)
        raise NotOurs(f"a PIL image of mode {image.mode}" if picture else f"a tensor of shape {tuple(image.shape)}")
    return channels


@functools.lru_cache(maxsize=None)
def filter_of(interpolation: Any) -> Any:
    """The number of Motley's filter that is torchvision's on PIL images."""
    try:
        return filter_number("interpolation", interpolation, FILTERS)
    except motley.ArgumentError:
        raise NotOurs(f"interpolation {interpolation}") from None


# ---- images through a motley.Transform ----


def ids_for(ids: Any, lead: Any) -> Any:
    """An id for each image of a tensor [*lead, C, H, W]: `ids` is that of all, or has one for each entry of lead[0]."""
    count = math.prod(lead)
    if not hasattr(ids, "__len__"):
        return torch.full((count,), ids, dtype=torch.int64)
    entries = lead[0] if lead else 1
    if len(ids) != entries:
        raise motley.ArgumentError(
            f"motley.samples has {len(ids)} ids, the tensor has {entries} images along its first axis: want an id for "
            "each, or one for all"
        )
    return torch.as_tensor(ids).to("cpu", torch.int64).repeat_interleave(count // entries)


def augmented(transform: Any, image: Any, which: Any) -> Any:
    """What a motley.Transform makes of an image; which: as samples_of has it."""
    if not isinstance(image, torch.Tensor):
        return transform._run(image, None, None, which)
    plain, (ids, *rest) = image.as_subclass(torch.Tensor), which
    if image.ndim < 4 and not hasattr(ids, "__len__"):
        return transform._run(plain, None, None, which)
    lead = image.shape[:-3]
    made = transform._run(plain.reshape(-1, *image.shape[-3:]), None, None, (ids_for(ids, lead), *rest))
    return made.reshape(*lead, *made.shape[1:])


def like(made: Any, image: Any) -> Any:
    """A tensor as one of torchvision's types, if `image` is."""
    wraps = tv_tensors is not None and isinstance(image, tv_tensors.TVTensor) and made is not image
    return tv_tensors.wrap(made, like=image) if wraps else made


# ---- what torchvision's functions do ----


def _batch(image: Any) -> Any:
    """A PIL image, or a tensor [N, C, H, W] on the CPU, as a motley_batch; None where it cannot be one."""
    if not isinstance(image, PIL.Image.Image):
        data, (count, channels, height, width), strides = image.data_ptr(), image.shape, image.stride()
    else:
        data, (width, height) = Pillow.pointer(image), image.size
        if data is None:
            return None
        count, channels, pixel = 1, Pillow.channels_of[image.mode], Pillow.pixel_bytes[image.mode]
        strides = 0, 1, width * pixel, pixel
    return ffi.new("motley_batch *", lib.batch_of(data, count, channels, height, width, *strides))


def _made(image: Any, size: Any, run: Any, otherwise: Any) -> Any:
    """A new image of `size` by run(src, dst), motley_batches that need no call kept for them: no two images of a data
    set may have one size. Where there are none by otherwise(batch)."""
    if isinstance(image, PIL.Image.Image):
        made = blank(image, *size)
        src, dst = _batch(image), _batch(made)
        if src is None or dst is None:
            return otherwise(image)
        run(src, dst)
        return made
    batch = image.as_subclass(torch.Tensor).reshape(-1, *image.shape[-3:])
    if image.is_cuda:
        made = otherwise(batch)
    else:
        batch = arrays.dense(batch)
        made = batch.new_empty((*batch.shape[:2], *size))
        run(_batch(batch), _batch(made))
    return made.reshape(*image.shape[:-2], *size)


def resized(image: Any, size: Any, interpolation: Any, crop: Any = None) -> Any:
    """`image`, or its rectangle `crop` of (left, top, width, height), in `size`, (height, width)."""
    filter = filter_of(interpolation)
    if isinstance(image, PIL.Image.Image):
        left, top, width, height = crop or (0, 0, *image.size)
        if width * height <= SMALL and size[0] * size[1] <= SMALL:
            part = image.crop((left, top, left + width, top + height)) if crop else image
            return part.resize(size[::-1], PILLOWS_NUMBERS[filter])
        if Pillow.shows(image, size[0] * size[1]):
            made, error = blank(image, *size), ffi.new("motley_error *")
            status = lib.resize_picture(
                context_of(None).handle, id(image.im), *image.size, id(made.im), size[1], size[0], Pillow.how,
                Pillow.channels_of[image.mode], filter, ORDER_NUMBER, left, top, width, height, error,
            )  # fmt: skip
            if status >= 0:
                check(status, error)
                return made

    def run(src: Any, dst: Any) -> None:
        crops = ffi.NULL if crop is None else ffi.new("motley_crop[]", [crop] * src.count)
        params = ffi.new("motley_resize_params *", {"filter": filter, "order": ORDER_NUMBER, "crops": crops})
        checked(lib.motley_resize, context_of(None).handle, src, dst, params)

    how: Any = {"filter": FILTERS[filter], "order": ORDER}
    return _made(image, size, run, lambda batch: ops.resize(batch, size, crop=crop, **how))


def _without_info(image: Any) -> Any:
    """`image` without its info, which torchvision does not copy to the PIL images that these functions return."""
    if isinstance(image, PIL.Image.Image):
        image.info = {}
    return image


@functools.lru_cache(maxsize=None)
def _any_steps() -> Any:
    return motley.Transform('{"motley": 1, "name": "jitter", "stages": [{"jitter": {"brightness": 1}}]}', stream=0)


def _stepped(image: Any, steps: Any, weights: Any = ()) -> Any:
    """`image` after these steps, each (op, value, ...), in one pass; weights: along each axis of a kernel blur."""
    height, width = size_of(image)
    count, most = 1 if isinstance(image, PIL.Image.Image) else math.prod(image.shape[:-3]), len(steps)
    drawn = Drawn([(width, height)] * count, most, _any_steps().policy)
    for i, (op, *values) in enumerate(steps):
        step = drawn.steps[i]
        step.op, step.values_count, step.values[0 : len(values)] = op, len(values), values
    if weights:
        half = weights[len(weights) // 2 :]
        drawn.kernels = ffi.new(f"float[][{lib.MOTLEY_KERNEL_WEIGHTS}]", [half] * count)
    for i in range(count):
        place = drawn.places[i]
        place.crop.width, place.crop.height, place.width, place.height = width, height, width, height
        drawn.counts[i] = most
        ffi.memmove(drawn.steps + i * most, drawn.steps, most * ffi.sizeof("motley_step"))

    def run(src: Any, dst: Any) -> None:
        params = ffi.new("motley_apply_params *")
        params.given, params.given_steps, params.given_step_counts = drawn.structs
        params.given_max_steps, params.given_kernels = most, drawn.kernels
        checked(lib.motley_apply, context_of(None).handle, _any_steps().policy._handle, src, dst, params)

    return _made(image, (height, width), run, lambda batch: _any_steps().replay(batch, drawn))


def jittered(image: Any, order: Any, factors: Any) -> Any:
    """`image` with the changes numbered in `order`, by their factors; None: not done."""
    steps = [(JITTER_OPS[which], factors[which]) for which in order if factors[which] is not None]
    if channels_of(image) == 1:  # saturation and hue leave grey images as they are
        steps = [(op, factor) for op, factor in steps if op in JITTER_OPS[:2]]
    if not steps:
        saturated = factors[JITTER_OPS.index(SATURATION)] is not None  # which copies grey PIL images in torchvision
        return image.copy() if saturated and isinstance(image, PIL.Image.Image) else image
    made = _stepped(image, steps)
    return made if all(op == SATURATION for op, _ in steps) else _without_info(made)


def blurred(image: Any, sigma: Any, weights: Any) -> Any:
    """`image` blurred as torchvision's gaussian_blur does it, by a square kernel with these weights along each axis."""
    return _without_info(_stepped(image, [(lib.MOTLEY_STEP_KERNEL_BLUR, sigma, len(weights))], weights))


def grey(image: Any) -> Any:
    """`image` in grey, with as many channels."""
    if channels_of(image) > 1:
        if isinstance(image, PIL.Image.Image):
            return _without_info(ops.apply("grayscale", image))
        batch = image.as_subclass(torch.Tensor).reshape(-1, *image.shape[-3:])
        return ops.apply("grayscale", batch).reshape(image.shape)
    return image.copy() if isinstance(image, PIL.Image.Image) else image.clone()  # as torchvision does
