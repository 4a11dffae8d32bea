# SPDX-License-Identifier: Apache-2.0
"""torchvision's transforms of a training recipe besides its policies: the same classes and arguments, on Motley.

Draws     A call draws what torchvision draws from torch's generator, in the same order, so that torch.manual_seed()
          gives torchvision's result on Pillow images. In a motley.samples block, or with a `seed`, it draws by sample
          id, and then draws what motley.torchvision.fuse() of the same transforms draws for that id.
Else      What moves beside an image in a sample of v2 (masks, boxes, keypoints) is torchvision's to move, by the same
          draw. RandomHorizontalFlip, RandomErasing, MixUp and CutMix have torchvision's arithmetic, which is as exact
          and as fast; by sample id alone they draw differently.

These classes are not fuse([transform]), which would draw differently for torch.manual_seed(): torchvision's tests of v2
compare such images, and so do scripts. It would take as long or less on images of one size, since torch draws each
number in 3 to 5 us (500x375 to 224x224, or 224x224, one core, PIL: crop 62 us for 89, jitter 61 for 93, blur 799 for
984), but more where a coin says no (19 for 4) or sizes vary (Resize 237 for 191); and a file that ends with Resize(256)
cannot be loaded, since its results have many sizes. So get_params draws, and Motley makes the pixels."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import PIL.Image
import torch
from torch.utils._pytree import tree_flatten, tree_unflatten
from torchvision import transforms as v1
from torchvision.transforms import functional as F

import motley
from motley import ArgumentError
from motley._core import lib
from motley._resize import FILTERS
from motley.draws import Drawn
from motley.mix import BOX
from motley.samples import draws_by_id, samples, samples_of, torch_seed
from motley.torchvision import fused, pixels
from motley.torchvision.pixels import (
    JITTER_OPS, JITTERS, MAKE_PARAMS, THEIRS, TRANSFORM, NotOurs, channels_of, class_of, is_v2, like, say, size_of, v2,
)  # fmt: skip


class Kind(NamedTuple):
    """A transform. Its parameters are a dict with v2's names, or None where its coin says no."""

    takes: Callable[[Any, Any], Any]  # (transform, image): raises NotOurs
    drawn: Callable[[Any, Any], dict[str, Any] | None] | None  # (transform, image): by torch's generator, as v1 draws
    found: Callable[[Any, Any, Any, int], dict[str, Any] | None] | None  # (transform, drawn, steps, channels)
    run: Callable[[Any, Any, dict[str, Any]], Any]  # (transform, image, parameters)


# ---- crop, resize ----


MOST_PIXELS = 1 << 20  # of a side
SIGMAS = 1e-3, 1e3  # that Motley's blur takes


def _takes_resize(t: Any, image: Any, size: Any) -> None:
    channels_of(image)
    height, width = size
    if not (0 < height <= MOST_PIXELS and 0 < width <= MOST_PIXELS):
        raise NotOurs(f"a size of {tuple(size)}")
    nearest = FILTERS[pixels.filter_of(t.interpolation)] == "nearest"
    if isinstance(image, torch.Tensor) and (nearest or not t.antialias):
        raise NotOurs("nearest on tensors, which takes other pixels than Pillow" if nearest else
                      "antialias is not set, and Pillow always does it")  # fmt: skip
    if t.antialias is False and not is_v2(t):  # a PIL image: torchvision's v1 says so, v2 does not
        warnings.warn(
            "Anti-alias option is always applied for PIL Image input. Argument antialias is ignored.", stacklevel=7
        )


TRIES = 10  # of torchvision's, for a crop that fits


@functools.lru_cache(maxsize=64)
def _log_ratio(ratio: Any, dtype: Any) -> Any:
    return torch.log(torch.tensor(ratio, dtype=dtype)).tolist()


def _crop_of(image: Any, scale: Any, ratio: Any) -> Any:
    """What torchvision's get_params draws and returns, in half the time: the ratio's logarithms are kept."""
    height, width = size_of(image)
    low, high = _log_ratio(tuple(ratio), torch.get_default_dtype())
    for _ in range(TRIES):
        area = height * width * torch.empty(1).uniform_(scale[0], scale[1]).item()
        aspect = torch.exp(torch.empty(1).uniform_(low, high)).item()
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            top = torch.randint(0, height - h + 1, size=(1,)).item()
            return top, torch.randint(0, width - w + 1, size=(1,)).item(), h, w
    with torch.random.fork_rng(devices=()):  # the middle, which torchvision takes then, and where no crop can fit
        return v1.RandomResizedCrop.get_params(image, (1e9, 1e9), ratio)


@functools.lru_cache(maxsize=None)
def _crops_alike() -> Any:
    """Whether this torchvision draws as _crop_of does."""
    image, given = PIL.Image.new("L", (50, 30)), ((0.08, 1.0), (0.75, 4 / 3))
    with torch.random.fork_rng(devices=()):
        drawn = []
        for function in _crop_of, v1.RandomResizedCrop.get_params:
            torch.manual_seed(1)
            drawn.append([function(image, *given) for _ in range(8)] + [torch.rand(1).item()])
    return drawn[0] == drawn[1]


def _crop_drawn(t: Any, image: Any) -> Any:
    theirs = type(t).get_params is v1.RandomResizedCrop.get_params and _crops_alike()
    drawn = (_crop_of if theirs else t.get_params)(image, t.scale, t.ratio)
    return dict(zip(("top", "left", "height", "width"), drawn))


def _crop_found(t: Any, drawn: Any, steps: Any, channels: Any) -> Any:
    return {name: getattr(drawn.crop, name) for name in ("top", "left", "height", "width")}


def _crop_run(t: Any, image: Any, p: Any) -> Any:
    crop = p["left"], p["top"], p["width"], p["height"]
    if not (p["width"] and p["height"]):  # of a tiny image, with a ratio far from 1: Pillow makes it black
        functional = F if v2 is None else v2.functional
        return functional.resized_crop(image, *crop[1::-1], *crop[:1:-1], t.size, t.interpolation)
    return pixels.resized(image, tuple(t.size), t.interpolation, crop)


def _new_size(t: Any, image: Any) -> Any:
    """What torchvision's Resize makes of the image's (height, width)."""
    channels_of(image)
    size = [t.size] if isinstance(t.size, int) else t.size
    if size is None or (t.max_size is not None and len(size) != 1):
        raise NotOurs(f"size {size} with max_size {t.max_size}")
    return _resized_size(size_of(image), tuple(size), t.max_size)


@functools.lru_cache(maxsize=1024)
def _resized_size(size: Any, wanted: Any, most: Any) -> Any:
    return tuple(F._compute_resized_output_size(size, list(wanted), most))


def _resize_run(t: Any, image: Any, p: Any) -> Any:
    size = _new_size(t, image)
    return image if size == size_of(image) else pixels.resized(image, size, t.interpolation)


# ---- colours ----


MOST_FACTOR = 1e4  # that an op takes


@functools.lru_cache(maxsize=1024)
def _rounded(p: Any) -> Any:
    return torch.tensor(p, dtype=torch.float32).item()


def _says_yes(p: Any) -> Any:
    """torch.rand(1) < p, in less time: as torch does it, p is rounded to the type that is drawn."""
    drawn = torch.rand(1)
    plain = drawn.dtype == torch.float32 and isinstance(p, (int, float))
    return drawn.item() < _rounded(p) if plain else drawn < p


def _takes_jitter(t: Any, image: Any) -> None:
    channels_of(image, (1, 3))
    ranges = t.brightness, t.contrast, t.saturation
    if any(given is not None and given[1] > MOST_FACTOR for given in ranges):
        raise NotOurs(f"a factor above {MOST_FACTOR:g}")


def _jitter_drawn(t: Any, image: Any) -> Any:
    order, *factors = t.get_params(t.brightness, t.contrast, t.saturation, t.hue)
    return {"fn_idx": order, **{f"{name}_factor": factor for name, factor in zip(JITTERS, factors)}}


def _jitter_found(t: Any, drawn: Any, steps: Any, channels: Any) -> Any:
    factors = {JITTER_OPS.index(step.op): step.values[0] for step in steps}
    return {"fn_idx": list(factors), **{f"{name}_factor": factors.get(i) for i, name in enumerate(JITTERS)}}


def _jitter_run(t: Any, image: Any, p: Any) -> Any:
    order = p["fn_idx"].tolist() if isinstance(p["fn_idx"], torch.Tensor) else p["fn_idx"]
    return pixels.jittered(image, order, [p[f"{name}_factor"] for name in JITTERS])


# ---- blur ----


def _takes_blur(t: Any, image: Any) -> None:
    channels_of(image)
    width, height = t.kernel_size
    if width != height or not 3 <= width <= lib.MOTLEY_MAX_KERNEL:
        raise NotOurs(f"a kernel of {width}x{height}")
    if not (SIGMAS[0] <= t.sigma[0] and t.sigma[1] <= SIGMAS[1]):
        raise NotOurs(f"sigma {t.sigma}")
    if min(size_of(image)) <= width // 2:
        raise NotOurs(f"a kernel of {width} on an image of {size_of(image)}")  # torchvision refuses it


def _blur_drawn(t: Any, image: Any) -> Any:
    sigma = t.get_params(t.sigma[0], t.sigma[1])
    return {"sigma": [sigma, sigma]}


def _kernel(size: Any, sigma: Any, v2: Any) -> Any:
    """The weights along an axis, as torchvision and its torch make them: v1's and v2's differ in the last bits."""
    if v2:
        most = (size - 1) / (2 * math.sqrt(2))
        return torch.softmax(torch.linspace(-most, most, size).div(sigma).pow(2).neg(), 0).tolist()
    weights = torch.exp(-0.5 * (torch.linspace(-(size - 1) * 0.5, (size - 1) * 0.5, size) / sigma).pow(2))
    return (weights / weights.sum()).tolist()


def _blur_run(t: Any, image: Any, p: Any) -> Any:
    sigma = p["sigma"][0]
    return pixels.blurred(image, sigma, _kernel(t.kernel_size[0], sigma, is_v2(t)))


# ---- erasing, of tensors of any type ----


def _takes_erasing(t: Any, image: Any) -> None:
    value = t.value
    if not isinstance(image, torch.Tensor):
        raise NotOurs(f"an image of type {type(image).__name__}")
    if isinstance(value, (list, tuple)) and len(value) not in (1, image.shape[-3]):
        raise NotOurs(f"value has {len(value)} numbers")  # torchvision refuses it


def _value(t: Any) -> Any:
    """As get_params takes it: a list, or None for noise."""
    if t.value is None or isinstance(t.value, str):
        return None
    return [float(v) for v in (t.value if isinstance(t.value, (list, tuple)) else [t.value])]


def _erasing_found(t: Any, drawn: Any, steps: Any, channels: Any) -> Any:
    if not drawn.boxes_count:
        return None
    box, value = drawn.boxes[0], _value(t)
    if value is None:
        generator = torch.Generator().manual_seed(drawn.noise >> 1)
        v = torch.empty(channels, box.height, box.width).normal_(generator=generator)
    else:
        v = torch.tensor(value)[:, None, None]
    return {"i": box.top, "j": box.left, "h": box.height, "w": box.width, "v": v}


KINDS = {
    "RandomResizedCrop": Kind(lambda t, image: _takes_resize(t, image, t.size), _crop_drawn, _crop_found, _crop_run),
    "Resize": Kind(
        lambda t, image: _takes_resize(t, image, _new_size(t, image)), lambda t, image: {}, None, _resize_run
    ),
    "RandomHorizontalFlip": Kind(
        lambda t, image: None,
        None,
        lambda t, drawn, steps, channels: {} if drawn.flip_horizontal else None,
        lambda t, image, p: F.hflip(image),
    ),
    "ColorJitter": Kind(_takes_jitter, _jitter_drawn, _jitter_found, _jitter_run),
    "RandomGrayscale": Kind(
        lambda t, image: channels_of(image, (1, 3)),
        lambda t, image: {} if _says_yes(t.p) else None,
        lambda t, drawn, steps, channels: {"num_input_channels": channels} if steps else None,
        lambda t, image, p: pixels.grey(image),
    ),
    "GaussianBlur": Kind(
        _takes_blur, _blur_drawn, lambda t, drawn, steps, channels: {"sigma": [steps[0].values[0]] * 2}, _blur_run
    ),
    "RandomErasing": Kind(
        _takes_erasing,
        None,
        _erasing_found,
        lambda t, image, p: F.erase(image, *(p[name] for name in "ijhwv"), t.inplace),
    ),
}


def kind_of(transform: Any) -> Any:
    return KINDS[class_of(type(transform)).__name__]


# ---- draws by sample id ----


def _ours_by_id(transform: Any) -> Any:
    """The transform that draws for one of torchvision's by sample id; None where that draws, or nothing is drawn."""
    cls, kind = class_of(type(transform)), kind_of(transform)
    if kind.found is None or not draws_by_id(transform):
        return None
    why = "it overrides how it draws"
    if all(getattr(type(transform), name, None) is getattr(cls, name, None) for name in ("get_params", MAKE_PARAMS)):
        run = fused.Run()
        if kind is KINDS["RandomErasing"]:
            fused.TAKERS["ToTensor"](run, None)  # behind which erasing stands
        try:
            run.take(transform)
            return run.transform
        except NotOurs as found:
            why = str(found)
    say(type(transform).__name__, why, "draws as torchvision does, not by sample id")
    return None


MOST_CHANNELS = 4  # that Motley draws for; flips and boxes do not depend on their number


def _found(transform: Any, ours: Any, image: Any, which: Any) -> Any:
    """The transform's parameters by sample id."""
    channels = len(image.getbands()) if isinstance(image, PIL.Image.Image) else image.shape[-3]
    sample = ours._samples(1, which)
    drawn = Drawn.of(ours.policy, sample.c, [size_of(image)[::-1]], min(channels, MOST_CHANNELS))
    return kind_of(transform).found(transform, drawn.places[0], list(drawn.steps[0 : drawn.counts[0]]), channels)


def _each(transform: Any, images: Any, which: Any) -> Any:
    """The images of a tensor, each for its id."""
    ids, view, epoch, _ = which
    if not isinstance(images, torch.Tensor) or images.ndim < 4 or len(images) != len(ids):
        shape = f"a tensor of shape {tuple(images.shape)}" if isinstance(images, torch.Tensor) else "one image"
        raise ArgumentError(
            f"motley.samples has {len(ids)} ids, {type(transform).__name__} is called with {shape}: want an "
            "id for each entry along the first axis, or one for all"
        )
    made = []
    for image, i in zip(images.as_subclass(torch.Tensor), ids):
        with samples(int(i), epoch=epoch, view=view):
            made.append(transform(image))
    return like(torch.stack(made), images)


# ---- calls: what takes the place of torchvision's methods ----


def augment(self: Any, img: Any) -> Any:
    """forward() of v1. Raises NotOurs where torchvision has to do it."""
    kind = kind_of(self)
    if kind.drawn is not None or draws_by_id(self):
        kind.takes(self, img)
    if ours := _ours_by_id(self):
        which = samples_of(self, torch_seed)
        if hasattr(which[0], "__len__"):
            return _each(self, img, which)
        parameters = _found(self, ours, img, which)
    elif kind.drawn is None:
        return THEIRS[class_of(type(self))]["forward"](self, img)
    else:
        parameters = kind.drawn(self, img)
    return img if parameters is None else kind.run(self, img, parameters)


def augment_sample(self: Any, *inputs: Any) -> Any:
    """forward() of v2, whose draws alone differ: by sample id."""
    ours, theirs = _ours_by_id(self), THEIRS[class_of(type(self))]["forward"]
    if ours is None:
        return theirs(self, *inputs)
    flat, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
    if hasattr(self, "check_inputs"):
        self.check_inputs(flat)
    mine = [i for i, needed in enumerate(self._needs_transform_list(flat)) if needed]
    images = [flat[i] for i in mine if pixels.is_plain(flat[i])]
    if not images:
        return theirs(self, *inputs)
    ids, *_ = which = samples_of(self, torch_seed)
    if hasattr(ids, "__len__"):
        if len(mine) > 1:
            raise ArgumentError(
                f"motley.samples has {len(ids)} ids, the sample has several entries that move: want one id"
            )
        flat[mine[0]] = _each(self, flat[mine[0]], which)
        return tree_unflatten(flat, spec)
    parameters = _found(self, ours, images[0], which)
    for i in mine if parameters is not None else ():
        flat[i] = getattr(self, TRANSFORM)(flat[i], parameters)
    return tree_unflatten(flat, spec)


def transform(self: Any, inpt: Any, params: Any) -> Any:
    """transform() of v2, for classes that Motley has the arithmetic of."""
    if pixels.is_plain(inpt):
        try:
            kind = kind_of(self)
            kind.takes(self, inpt)
            return like(kind.run(self, inpt, params), inpt)
        except NotOurs as found:
            say(type(self).__name__, str(found))
    return THEIRS[class_of(type(self))][TRANSFORM](self, inpt, params)


def mix_params(self: Any, flat_inputs: Any) -> Any:
    """make_params() of v2's MixUp and CutMix."""
    cls = class_of(type(self))
    if not draws_by_id(self):
        return THEIRS[cls][MAKE_PARAMS](self, flat_inputs)
    ids, view, epoch, seed = samples_of(self, torch_seed)
    first = [int(ids[0]) if hasattr(ids, "__len__") else ids]
    mix = motley.Mix(**{cls.__name__.lower(): self.alpha}, stream=0)
    (draw,) = mix.draw(sample_ids=first, size=size_of(flat_inputs[0]), view=view, epoch=epoch, seed=seed)
    if cls.__name__ == "MixUp":
        return {"lam": draw["lambda"]}
    left, top, width, height = (draw["box"][name] for name in BOX)
    return {"box": (left, top, left + width, top + height), "lam_adjusted": draw["share"]}
