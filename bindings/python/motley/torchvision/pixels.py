# SPDX-License-Identifier: Apache-2.0
"""What torchvision's transforms of a recipe do to an image, by Motley's kernels: a PIL image or a uint8 tensor
[..., C, H, W] in, a new one out, with the bytes of torchvision's Pillow path."""

from __future__ import annotations

import functools
import logging
import math
import threading

import PIL.Image
import torch

import motley
from motley import _arrays as arrays
from motley import _images as images
from motley import _native, ops
from motley._core import ffi, lib
from motley._native import check, checked
from motley._arrays import Pillow, blank
from motley.policy import PILLOWS, filter_number
from motley._resize import FILTERS, ORDERS, order_of

try:
    from torchvision import tv_tensors
    from torchvision.transforms import v2
except ImportError:  # before torchvision 0.16
    tv_tensors = v2 = None

ORDER = order_of(PIL.__version__)
ORDER_NUMBER = ORDERS.index(ORDER)
JITTERS = "brightness", "contrast", "saturation", "hue"  # by torchvision's numbers
JITTER_OPS = (*(ops.table[name].number for name in ("brightness", "contrast", "color")), lib.MOTLEY_STEP_HUE)
SATURATION = JITTER_OPS[2]
PILLOWS_NUMBERS = {FILTERS.index(name): number for number, name in PILLOWS.items()}  # by motley_filter
SMALL = 64 * 64  # pixels: up to here Pillow is faster than a call of the library, with the same bytes
WHOLE = 0, 0, 0, 0  # a crop
KERNELS = f"float[][{lib.MOTLEY_KERNEL_WEIGHTS}]"


class NotOurs(Exception):
    """Why a call is torchvision's to run."""


class Kept(threading.local):
    """Structs that the calls of a thread reuse."""

    def __init__(self):
        self.src, self.dst = ffi.new("motley_batch *"), ffi.new("motley_batch *")
        self.resize, self.crop = ffi.new("motley_resize_params *"), ffi.new("motley_crop *")
        self.resize.order = ORDER_NUMBER
        self.error = ffi.new("motley_error *")
        self.given, self.drawn = ffi.new("motley_apply_params *"), ffi.new("motley_place *")
        self.steps, self.count = ffi.new("motley_step[]", len(JITTERS)), ffi.new("int32_t *")
        self.kernels = ffi.new(KERNELS, len(JITTERS))


kept = Kept()


@functools.lru_cache(maxsize=None)
def _any_steps():
    return motley.Transform('{"motley": 1, "name": "jitter", "stages": [{"jitter": {"brightness": 1}}]}', stream=0)


def ids_for(ids, lead):
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


@functools.lru_cache(maxsize=None)
def say(name, why, what="runs in torchvision, not in Motley"):
    """Logs, once, that a transform is not Motley's."""
    logging.getLogger("motley.torchvision").warning("%s %s: %s", name, what, why)


def size_of(image):
    """(height, width)"""
    return image.size[::-1] if isinstance(image, PIL.Image.Image) else tuple(image.shape[-2:])


def channels_of(image, wanted=(1, 2, 3, 4)):
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


def filter_of(interpolation, image):
    """The number of the filter of Motley's that is torchvision's on this image."""
    filter, nearest = _filter(interpolation)
    if nearest and not isinstance(image, PIL.Image.Image):
        raise NotOurs("nearest on tensors, which takes other pixels than Pillow")
    return filter


@functools.lru_cache(maxsize=None)
def _filter(interpolation):
    try:
        filter = filter_number("interpolation", interpolation, FILTERS)
    except motley.ArgumentError:
        raise NotOurs(f"interpolation {interpolation}") from None
    return filter, FILTERS[filter] == "nearest"


def resized(image, size, interpolation, crop=None):
    """`image`, or its rectangle `crop` of (left, top, width, height), in `size`, (height, width)."""
    filter, _ = _filter(interpolation)
    picture = isinstance(image, PIL.Image.Image)
    width, height = crop[2:] if crop else size_of(image)
    if picture and width * height <= SMALL and size[0] * size[1] <= SMALL:
        part = image.crop((crop[0], crop[1], crop[0] + width, crop[1] + height)) if crop else image
        return part.resize(size[::-1], PILLOWS_NUMBERS[filter])
    if picture and Pillow.shows(image, size[0] * size[1]):
        made, error = blank(image, *size), kept.error
        status = lib.resize_picture(
            _native.context_of(None).handle, id(image.im), *image.size, id(made.im), size[1], size[0], Pillow.how,
            Pillow.channels_of[image.mode], filter, ORDER_NUMBER, *(crop or WHOLE), error,
        )  # fmt: skip
        if status >= 0:
            check(status, error)
            return made
    if picture or image.is_cuda:
        return _of_tensors(image, lambda batch: ops.resize(batch, size, filter=FILTERS[filter], crop=crop, order=ORDER))
    batch = arrays.dense(image.as_subclass(torch.Tensor).reshape(-1, *image.shape[-3:]))
    made = batch.new_empty((*batch.shape[:2], *size))
    _describe_tensor(kept.src, batch)
    _describe_tensor(kept.dst, made)
    params, count = kept.resize, kept.src.count
    params.filter, params.crops = filter, ffi.NULL
    if crop is not None:
        params.crops = crops = kept.crop if count == 1 else ffi.new("motley_crop[]", count)
        for i in range(count):
            crops[i].left, crops[i].top, crops[i].width, crops[i].height = crop
    checked(lib.motley_resize, _native.context_of(None).handle, kept.src, kept.dst, params)
    return made.reshape(*image.shape[:-2], *size)


def _without_info(image):
    """`image` without its info, which torchvision does not copy to the PIL images that these functions return."""
    if isinstance(image, PIL.Image.Image):
        image.info = {}
    return image


def jittered(image, order, factors):
    """`image` with the changes numbered in `order`, by their factors; None: not done. One pass does all."""
    steps = [(JITTER_OPS[which], factors[which]) for which in order if factors[which] is not None]
    if channels_of(image) == 1:  # saturation and hue leave grey images as they are
        steps = [(op, factor) for op, factor in steps if op in JITTER_OPS[:2]]
    if not steps:
        saturated = factors[JITTER_OPS.index(SATURATION)] is not None  # which copies grey PIL images in torchvision
        return image.copy() if saturated and isinstance(image, PIL.Image.Image) else image
    made = _of_tensors(image, lambda batch: _run_steps(images.source_of(batch, None), steps))
    return made if all(op == SATURATION for op, _ in steps) else _without_info(made)


def blurred(image, sigma, weights):
    """`image` blurred as torchvision's gaussian_blur does it, by a square kernel with these weights along each axis."""
    step = lib.MOTLEY_STEP_KERNEL_BLUR, sigma, len(weights)
    return _without_info(_of_tensors(image, lambda batch: _run_steps(images.source_of(batch, None), [step], weights)))


def _run_steps(source, steps, weights=None):
    """New images, to which every step, (op, values ...), was done; `weights` are those of all kernel blurs."""
    target = source.output()
    source.describe(kept.src[0])
    target.describe(kept.dst[0])
    count, most = source.count, len(JITTERS)
    drawn, made, counts, kernels = kept.drawn, kept.steps, kept.count, kept.kernels
    if count > 1:
        drawn, counts = ffi.new("motley_place[]", count), ffi.new("int32_t[]", count)
        made, kernels = ffi.new("motley_step[]", count * most), ffi.new(KERNELS, count * most if weights else 0)
    params = kept.given
    params.given, params.given_steps, params.given_step_counts = drawn, made, counts
    params.given_kernels = kernels if weights else ffi.NULL
    params.stream = images.stream_of(source)
    (width, height), *_ = source.sizes()
    for i in range(count):
        drawn[i].crop.width, drawn[i].crop.height, drawn[i].width, drawn[i].height = width, height, width, height
        counts[i] = len(steps)
        for step, (op, *values) in enumerate(steps, i * most):
            made[step].op, made[step].values_count, made[step].values[0 : len(values)] = op, len(values), values
            if weights:
                half = weights[len(weights) // 2 :]
                kernels[step][0 : len(half)] = half
    context = _native.context_of(source.device)
    checked(lib.motley_apply, context.handle, _any_steps().policy._handle, kept.src, kept.dst, params)
    return target.result(source)


def grey(image):
    """`image` in grey, with as many channels."""
    if channels_of(image) > 1:
        return _without_info(_of_tensors(image, ops.grayscale))
    return image.copy() if isinstance(image, PIL.Image.Image) else image.clone()  # as torchvision does


def _describe_tensor(batch, tensor):
    """Fills a motley_batch of a tensor of bytes [N, C, H, W] on the CPU."""
    batch.data = ffi.cast("void *", tensor.data_ptr())
    batch.count, batch.channels, batch.height, batch.width = tensor.shape
    batch.image_stride, batch.channel_stride, batch.row_stride, batch.pixel_stride = tensor.stride()


def _of_tensors(image, function):
    """function(image); of a tensor, as a batch [N, C, H, W]."""
    if isinstance(image, PIL.Image.Image):
        return function(image)
    made = function(image.as_subclass(torch.Tensor).reshape(-1, *image.shape[-3:]))
    return made.reshape(*image.shape[:-2], *made.shape[-2:])
