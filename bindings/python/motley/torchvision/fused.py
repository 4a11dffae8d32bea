# SPDX-License-Identifier: Apache-2.0
"""A script's Compose([...]) as one transform of Motley's: crop, resize, flips, policies, jitter, normalising, erasing.

What torchvision's and timm's transforms are is read off their attributes and written as the stages of a transform file.
The stages of a file have a fixed order, so a run of transforms ends before the first one that would break it."""

from __future__ import annotations

import functools
import json
import math
from typing import Any

import PIL.Image
import torch
from torchvision import transforms as _v1

import motley
from motley._core import lib
from motley._resize import FILTERS
from motley._native import seed_given
from motley.samples import samples_of, torch_seed
from motley.torchvision.pixels import ORDER, NotOurs, augmented, filter_of, is_v2, like, say, tv_tensors
from motley.torchvision.policies import new_transform

RANKS = {
    "random_resized_crop": 0, "resize": 0, "center_crop": 1, "random_crop": 1, "flip": 2, "policy": 3, "jitter": 3,
    "grayscale": 3, "blur": 3, "output": 4, "erase": 5,
}  # fmt: skip
SINGLE = ("random_resized_crop", "resize", "center_crop", "random_crop", "output", "erase")


class Fused(torch.nn.Module):
    """Transforms of which a run is done at once by Motley; see fuse().

    Attributes:
        before, after: The transforms that run as they are.
        transform: The motley.Transform of those between.
        not_taken: [(transform, why)] of `before` and `after`.
    """

    def __init__(self, before: Any, run: Any, after: Any, not_taken: Any, seed: Any = None) -> None:
        super().__init__()
        self.before, self.after, self.not_taken = before, after, not_taken
        self.transform = motley.Transform(run.text(), stream=0)
        self._to_tensor, self._to_image = "output" in dict(run.stages), run.to_image
        self._to_rgb, self._seed, self._lineage = run.to_rgb, seed, self.transform._lineage

    def forward(self, image: Any) -> Any:
        for transform in self.before:
            image = transform(image)
        image = self._staged(_rgb(image) if self._to_rgb else image)
        if self._to_tensor and not isinstance(image, torch.Tensor):
            image = torch.from_numpy(image)
        if self._to_image and type(image) is torch.Tensor:
            image = tv_tensors.Image(image)
        for transform in self.after:
            image = transform(image)
        return image

    def _staged(self, image: Any) -> Any:
        if isinstance(image, (list, tuple)):
            raise motley.ArgumentError(
                f"the input is a {type(image).__name__}, want a PIL image or a uint8 tensor; `transform` takes lists"
            )
        return like(augmented(self.transform, image, samples_of(self, torch_seed)), image)

    def __repr__(self) -> Any:
        lines = [*map(repr, self.before), repr(self.transform), *map(repr, self.after)]
        lines += [] if self._seed is None else [f"seed={self._seed}"]
        return "Fused(\n" + "".join(f"    {line}\n" for line in lines) + ")"


def fuse(compose: Any, *, seed: int | None = None) -> Fused:
    """The same transforms with as many as possible done at once by Motley.

        transform = motley.torchvision.fuse(transforms.Compose([
            transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.RandAugment(),
            transforms.ToTensor(), transforms.Normalize(mean, std), transforms.RandomErasing(0.25)]))
        print(transform.not_taken)                  # [(transform, why)], here none

    The result takes a PIL image (L, LA, RGB, RGBA) or a uint8 tensor, whose images share one draw, and gives what
    torchvision gives on PIL images for the same draw, bit for bit. (Images keep their alpha, which torchvision's hue
    makes opaque. A fused GaussianBlur computes its weights itself. Their last bits depend on how torch was built, so a
    few bytes differ by 1; motley.torchvision.GaussianBlur takes torch's weights.) The draws are others than torchvision
    makes from the same generator. Each call takes a new seed from torch's generator, or draws for the sample of a
    `motley.samples` block around it. `result.transform` is the motley.Transform, which takes whole batches, in a
    motley.torch.MotleyCollate for one.

    Args:
        compose: torchvision's Compose, v1 or v2, a list of transforms of torchvision or timm, or what
            `weights.transforms()` makes for a classification model. Transforms that are not taken run as they are,
            before or after; the logger "motley.torchvision" says which and why, once for each class and reason.
        seed: Makes two runs differ where motley.samples() says which samples are drawn for. None: that of the
            transforms that are taken, if they have one.

    Raises:
        motley.ArgumentError: None of them can be taken, and why.
    """
    listed = list(_flat(compose if isinstance(compose, (list, tuple, torch.nn.ModuleList)) else [compose]))
    why, at = {}, 0
    while at < len(listed):
        run = Run()
        end = at
        while end < len(listed):
            try:
                run.take(listed[end])
            except NotOurs as found:
                why[end] = str(found)
                break
            end += 1
        try:
            run.finish()
            break
        except NotOurs as found:
            why.setdefault(at, str(found))
        at += 1
    else:
        reasons = "; ".join(f"{type(t).__name__}: {why[i]}" for i, t in enumerate(listed))
        raise motley.ArgumentError(f"no transform can be taken: {reasons or 'there is none'}")
    why = {i: reason for i, reason in why.items() if not at <= i < end}
    for i in range(end + 1, len(listed)):
        why[i] = f"it comes behind {type(listed[end]).__name__}"
    not_taken = [(listed[i], reason) for i, reason in sorted(why.items())]
    for transform, reason in not_taken:
        say(type(transform).__name__, reason, "is not fused")
    run.finish()
    seeds: Any = {getattr(transform, "_seed", None) for transform in listed[at:end]}
    own = sorted(seeds - {None})
    if seed is None and own:
        if len(own) > 1:
            raise motley.ArgumentError(
                f"the transforms have the seeds {own}, and draw at once: want one, fuse's `seed`"
            )
        seed = own[0]
    return Fused(listed[:at], run, listed[end:], not_taken, None if seed is None else seed_given(seed))


def _flat(transforms: Any) -> Any:
    for transform in transforms:
        name = type(transform).__name__ if _is_known(transform, "torch") else None
        if name in ("Compose", "Sequential"):
            yield from _flat(getattr(transform, "transforms", transform))
        elif name == "ImageClassification":
            size = transform.resize_size[0] if len(transform.resize_size) == 1 else transform.resize_size
            yield _v1.Resize(size, transform.interpolation)
            yield from (_v1.CenterCrop(transform.crop_size), _v1.ToTensor())
            yield _v1.Normalize(transform.mean, transform.std)
        else:
            yield transform


@functools.lru_cache(maxsize=256)
def _transform_of(text: Any) -> Any:
    return motley.Transform(text, stream=0)


class Run:
    """Transforms that were taken so far, as stages."""

    def __init__(self) -> None:
        self.stages: list[Any] = []  # (name, settings)
        self.scaled = False  # whether ToTensor or its like has been
        self.began_as_tensor = False  # by ToImage, before everything else
        self.to_image = False  # whether a tv_tensors.Image comes out
        self.to_rgb = False  # whether grey images become RGB
        self.transform = None  # the motley.Transform that they are, shared with equal runs

    def text(self) -> Any:
        return json.dumps({"motley": 1, "name": "fused", "stages": [{name: how} for name, how in self.stages]})

    def finish(self) -> None:
        names = [name for name, _ in self.stages]
        if not names:
            raise NotOurs("there is nothing to do at once")
        if self.lacks_crop():
            raise NotOurs("it leaves images of many sizes, and no crop stands behind it")
        if self.began_as_tensor and not {"output", "erase"} & {*names}:
            self.add("output", type="u8")

    def lacks_crop(self) -> Any:
        resize = dict(self.stages).get("resize", {})
        return isinstance(resize.get("size"), int) and not {"center_crop", "random_crop"} & {*dict(self.stages)}

    def take(self, transform: Any) -> None:
        names = [cls.__name__ for cls in type(transform).__mro__]
        take = next((TAKERS[name] for name in names if name in TAKERS), None)
        if take is None or not _is_known(transform):
            raise NotOurs("Motley has no such stage")
        before = {**vars(self), "stages": [*self.stages]}
        take(self, transform)
        try:
            if self.stages != before["stages"] and not self.lacks_crop():
                self.transform = _transform_of(self.text())
        except motley.PolicyError as error:
            vars(self).update(before)
            raise NotOurs("; ".join(dict.fromkeys(sentence for _, _, sentence in error.problems))) from None

    def add(self, name: Any, settings: Any = None, **more: Any) -> None:
        for other, _ in self.stages:
            if RANKS[other] > RANKS[name] or (other == name and name in SINGLE):
                raise NotOurs(f"'{name}' cannot stand behind '{other}'")
        if {"random_resized_crop", "resize"} <= {name, *(other for other, _ in self.stages)}:
            raise NotOurs("there is another crop or resize before it")
        if {"center_crop", "random_crop"} <= {name, *(other for other, _ in self.stages)}:
            raise NotOurs("there is another crop before it")
        self.stages.append((name, more if settings is None else settings))

    def flip(self, which: Any, p: Any) -> None:
        if self.stages and self.stages[-1][0] == "flip" and which not in self.stages[-1][1]:
            self.stages[-1] = "flip", {**self.stages[-1][1], which: p}
        elif any(name == "flip" for name, _ in self.stages):
            raise NotOurs("there is another flip before it")
        else:
            self.add("flip", **{which: p})


def _is_known(transform: Any, *others: Any) -> Any:
    return type(transform).__module__.split(".")[0] in ("torchvision", "timm", "motley", *others)


def _rgb(image: Any) -> Any:
    """A grey image as RGB. All stages do the same to three equal channels, so it can come before them."""
    channels = 3
    if isinstance(image, PIL.Image.Image):
        channels = len(image.getbands())
        if image.mode == "L":
            return image.convert("RGB")
    elif isinstance(image, torch.Tensor) and image.ndim > 2:
        channels = image.shape[-3]
        if channels == 1:
            return image.repeat_interleave(3, -3)
    if channels in (2, 4):
        raise motley.ArgumentError(f"the image has {channels} channels, want 1 or 3: Grayscale makes 3 of them")
    return image


def _filters(interpolation: Any) -> Any:
    several = interpolation if isinstance(interpolation, (list, tuple)) else [interpolation]
    names = [FILTERS[filter_of(each)] for each in several]
    return names[0] if len(names) == 1 else names


def _size(size: Any) -> Any:
    """[height, width] or one side."""
    numbers = [int(n) for n in size] if isinstance(size, (list, tuple)) else [int(size)]
    return numbers[0] if len(numbers) == 1 else numbers


def _numbers(values: Any) -> Any:
    values = values.tolist() if hasattr(values, "tolist") else values
    return [float(v) for v in (values if isinstance(values, (list, tuple)) else [values])]


# ---- one function for each kind of transform ----


def _random_resized_crop(run: Any, t: Any) -> None:
    size = _size(t.size)
    run.add("random_resized_crop", size=size, scale=_numbers(t.scale), ratio=_numbers(t.ratio),
            filter=_filters(t.interpolation), order=ORDER)  # fmt: skip


def _resize(run: Any, t: Any) -> None:
    if getattr(t, "max_size", None) is not None:
        raise NotOurs("max_size is given")
    run.add("resize", size=_size(t.size), filter=_filters(t.interpolation), order=ORDER)


def _random_crop(run: Any, t: Any) -> None:
    if t.pad_if_needed or t.padding_mode != "constant" or _fill(t) != 0:
        raise NotOurs("pad_if_needed, padding_mode or fill is given")
    padding = t.padding if t.padding is not None else 0
    sides = set(padding) if isinstance(padding, (list, tuple)) else {padding}
    if len(sides) != 1:
        raise NotOurs(f"padding is {padding}, different on its sides")
    run.add("random_crop", size=_size(t.size), padding=int(sides.pop()))


def _fill(t: Any) -> Any:
    fill = _fill_of_images(t.fill)
    return 0 if fill in (0, None, [0], (0,)) else fill


def _fill_of_images(fill: Any) -> Any:
    """v2 has a fill for each type of input, and for "others"."""
    if not isinstance(fill, dict):
        return fill
    kinds = PIL.Image.Image, torch.Tensor, tv_tensors.Image
    found = [fill[kind if kind in fill else "others"] for kind in kinds if {kind, "others"} & {*fill}]
    if not found or found.count(found[0]) < len(found):
        raise NotOurs("fill differs for types of images" if found else "fill has none for images")
    return found[0]


def _policy(run: Any, t: Any) -> None:
    v2 = is_v2(t)
    fill = _fill_of_images(vars(t)["_fill" if v2 else "fill"])
    try:
        run.add("policy", _data(new_transform(t, v2, 3, fill).policy))
    except (ValueError, IndexError) as found:  # what torchvision refuses, or takes of other channels only
        raise NotOurs(str(found)) from None


def _data(policy: Any) -> Any:
    """A policy as settings of a stage."""
    return {key: value for key, value in policy.as_dict().items() if key != "motley"}


def _timm_policy(run: Any, t: Any) -> None:
    if not hasattr(t, "config"):  # a Transform of v2
        raise NotOurs("Motley has no such stage")
    if "augmix" in t.transform.policy.as_dict() and {"policy", "jitter", "grayscale", "blur"} & {
        name for name, _ in run.stages
    }:
        raise NotOurs("it mixes chains of ops, and a stage that draws ops stands before it")
    run.add("policy", _data(t.transform.policy))


def _jitter(run: Any, t: Any, p: Any = 1.0) -> None:
    ranges = {}
    for name in ("brightness", "contrast", "saturation", "hue"):
        given = getattr(t, name)
        if given is not None:
            ranges[name] = _numbers(given)
    if ranges:
        run.add("jitter", p=float(p), **ranges)


def _blur(run: Any, t: Any, p: Any = 1.0) -> None:
    width, height = t.kernel_size
    if width != height or not 3 <= width <= lib.MOTLEY_MAX_KERNEL:
        raise NotOurs(f"its kernel is {width}x{height}, want a square of 3 to {lib.MOTLEY_MAX_KERNEL}")
    run.add("blur", p=float(p), kernel_size=width, sigma=_numbers(t.sigma))


def _random_apply(run: Any, t: Any) -> None:
    inner = list(t.transforms)
    take = APPLIED.get(type(inner[0]).__name__) if len(inner) == 1 and _is_known(inner[0]) else None
    if take is None:
        raise NotOurs(f"it applies something else than one {' or '.join(APPLIED)}")
    take(run, inner[0], t.p)


def _grayscale(run: Any, t: Any) -> None:
    if getattr(t, "num_output_channels", 3) != 3:
        raise NotOurs("num_output_channels is not 3")
    run.add("grayscale", p=float(getattr(t, "p", 1.0)))
    run.to_rgb = run.to_rgb or type(t).__name__ == "Grayscale"


def _to_tensor(run: Any, t: Any) -> None:
    if hasattr(t, "dtype"):  # timm's
        raise NotOurs("it does not divide by 255")
    run.add("output")
    run.scaled = True


def _to_bytes(run: Any, t: Any) -> None:
    if run.stages:
        run.add("output", type="u8")
    run.began_as_tensor = True
    run.to_image = type(t).__name__ == "ToImage"


def _to_dtype(run: Any, t: Any) -> None:
    dtypes = t.dtype if isinstance(t.dtype, dict) else {None: t.dtype}
    if not t.scale or set(dtypes.values()) != {torch.float32}:
        raise NotOurs("it is not to float32 with scale=True")
    if run.stages and run.stages[-1] == ("output", {"type": "u8"}):  # ToImage before it
        run.stages.pop()
    run.add("output", convention="torchvision_v2")
    run.scaled = True


def _normalize(run: Any, t: Any) -> None:
    if not run.scaled or not run.stages or run.stages[-1][0] != "output" or "mean" in run.stages[-1][1]:
        raise NotOurs("there is no ToTensor right before it")
    mean, std = _numbers(t.mean), _numbers(t.std)
    run.stages[-1] = "output", {**run.stages[-1][1], "mean": mean, "std": std}


def _erasing(run: Any, t: Any) -> None:
    value = t.value
    if value is None or value == "random":
        value = "pixel"
    elif isinstance(value, (list, tuple)) and len(value) == 1:
        value = float(value[0])
    elif isinstance(value, (list, tuple)):
        value = _numbers(value)
    _erase(run, t.p, t.scale, t.ratio, value, 1)


def _timm_erasing(run: Any, t: Any) -> None:
    low, high = (math.exp(side) for side in t.log_aspect_ratio)
    value = "pixel" if t.per_pixel else "channel" if t.rand_color else 0
    _erase(run, t.probability, (t.min_area, t.max_area), (low, high), value, [t.min_count, t.max_count])


def _erase(run: Any, p: Any, area: Any, ratio: Any, value: Any, boxes: Any) -> None:
    if not run.scaled:
        raise NotOurs("there is no ToTensor before it")
    run.add("erase", p=float(p), area=_numbers(area), ratio=_numbers(ratio), value=value, boxes=boxes)


APPLIED = {"ColorJitter": _jitter, "GaussianBlur": _blur}  # what RandomApply may apply
TAKERS = {
    "RandomResizedCrop": _random_resized_crop,
    "RandomResizedCropAndInterpolation": _random_resized_crop,
    "Resize": _resize,
    "CenterCrop": lambda run, t: run.add("center_crop", size=_size(t.size)),
    "RandomCrop": _random_crop,
    "RandomHorizontalFlip": lambda run, t: run.flip("horizontal", float(t.p)),
    "RandomVerticalFlip": lambda run, t: run.flip("vertical", float(t.p)),
    "RandAugment": _policy,
    "TrivialAugmentWide": _policy,
    "AutoAugment": _policy,
    **APPLIED,
    "RandomApply": _random_apply,
    "RandomGrayscale": _grayscale,
    "Grayscale": _grayscale,
    "ToTensor": _to_tensor,
    "PILToTensor": _to_bytes,
    "ToImage": _to_bytes,
    "ToPureTensor": lambda run, t: setattr(run, "to_image", False),
    "MaybePILToTensor": _to_bytes,
    "ToDtype": _to_dtype,
    "Normalize": _normalize,
    "RandomErasing": lambda run, t: (_timm_erasing if hasattr(t, "per_pixel") else _erasing)(run, t),
    "Transform": _timm_policy,  # motley.timm's, of timm's strings
}
