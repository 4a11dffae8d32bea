# SPDX-License-Identifier: Apache-2.0
"""torchvision's policies, RandAugment and the like, on Motley."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torchvision import transforms as _v1

from motley import ArgumentError, Policy, Transform
from motley._random import fresh
from motley._native import keep
from motley.named import augmix_policy
from motley.policy import INTERPOLATIONS, interpolation_number
from motley.torchvision.images import (
    FOLLOWERS, Image, NotOurs, augmented, augmented_sample, channels_of, is_image, is_v2, kind_of, like,
    say, tv_tensors,
)  # fmt: skip

Fill = int | tuple[int, ...]  # a byte for all channels, or one for each

POLICIES = {
    "RandAugment": "rand_augment",
    "TrivialAugmentWide": "trivial_augment_wide",
    "AutoAugment": "auto_augment_",
    "AugMix": "augmix",
}
OVERRIDES = ("_augmentation_space", "_AUGMENTATION_SPACE", "_get_policies", "_apply_image_or_video_transform",
             "_flatten_and_extract_image_or_video", "_unflatten_and_insert_image_or_video",
             "_needs_transform_list")  # fmt: skip
AUGMIX = ("severity", "mixture_width", "chain_depth", "alpha", "all_ops")  # AugMix's arguments
SETTINGS = ("interpolation", "num_ops", "magnitude", "num_magnitude_bins", "policy", *AUGMIX)
MOST_BINS = 148  # torchvision rounds bits otherwise from its division than from the level, with some counts past this
MOST_OPS = 16


# ---- which policy a transform is ----


def _level_value(level: int, bins: int) -> float:
    """The threshold that v2 gives solarize at a level: 255.0 * torch.linspace(1, 0, bins)[level], as its vectorised
    kernels round it. (v1 and our files have torch.linspace(255, 0, bins).)"""
    step = torch.tensor(-1.0) / (bins - 1)
    exact = step.double() * level + 1 if level < bins // 2 else -step.double() * (bins - 1 - level)
    return 255.0 * float(exact.float())  # both are exact in binary64, so they are rounded once, as an fma rounds


def _as_in_v2(policy: Policy, bins: int) -> Policy:
    """`policy` with the thresholds of v2. Each that can be drawn gets a separate branch."""
    data = policy.as_dict()
    branches: list[Any] = []

    def changed(step: Any, level: int | None) -> Any:
        step = step if isinstance(step, dict) else {"op": step}
        if step.get("op") != "solarize":
            return step
        value = _level_value(step.get("level", level), bins)
        return {**{key: of for key, of in step.items() if key != "level"}, "value": value}

    for branch in data["branches"]:
        if isinstance(branch, list):
            branches.append([changed(step, None) for step in branch])
        elif data.get("level") == "uniform":
            drawn = branch == "solarize"
            branches += [changed(branch, i) for i in range(bins)] if drawn else [{"weight": bins, "steps": branch}]
        else:
            branches.append(changed(branch, data.get("level")))
    return policy.change(branches=branches)


@functools.lru_cache(maxsize=64)
def _changed(name: str, bins: int | None, v2: bool, **keys: Any) -> Policy:
    if bins is not None:
        keys["bins"] = bins
    policy = Policy(name).change(**keys)
    return _as_in_v2(policy, bins or AUTO_BINS) if v2 else policy


AUTO_BINS = 10  # of AutoAugment and AugMix


@functools.lru_cache(maxsize=64)
def _augmix(severity: int, width: int, depth: int, alpha: float, all_ops: bool, v2: bool, **keys: Any) -> Policy:
    policy = augmix_policy(severity, width, depth, alpha, all_ops, None, None).change(**keys)
    return _as_in_v2(policy, AUTO_BINS) if v2 else policy


def _fill_of(fill: Any, channels: int) -> Fill:
    """torchvision's fill as a policy's."""
    if fill is None:
        return 0
    values = [fill] if isinstance(fill, (int, float)) else list(fill)
    if len(values) not in (1, channels):
        wanted = "1" if channels == 1 else f"1 or {channels}"
        raise ValueError(f"fill has {len(values)} values, want {wanted}, one for each channel of the image")
    if len(values) == 2:
        raise NotOurs("a fill for grey and one for alpha")
    numbers = tuple(min(max(int(v), 0), 255) for v in values)
    return numbers[0] if len(numbers) == 1 else numbers


def _theirs(transform: object) -> type:
    """torchvision's class that a transform's class is, or is made of."""
    return next(base for base in type(transform).__mro__ if base.__module__.startswith("torchvision."))


def _overridden(transform: object) -> str | None:
    """What a subclass defines itself and Motley would not call; None if nothing."""
    cls, theirs = type(transform), _theirs(transform)
    return next((name for name in OVERRIDES if getattr(cls, name, None) is not getattr(theirs, name, None)), None)


_transforms: dict[Any, Transform] = {}  # what a policy depends on -> Transform


def transform_of(transform: torch.nn.Module, image: object, channels: int) -> Transform:
    """Motley's transform for the arguments of torchvision's as they are now."""
    own, v2 = vars(transform), is_v2(transform)
    fill = own["_fill" if v2 else "fill"]
    if isinstance(fill, dict):  # v2: by type of image
        fill = fill.get(type(image), fill.get("others"))
    if isinstance(fill, list):
        fill = tuple(fill)
    key = type(transform), v2, channels, fill, *map(own.get, SETTINGS)
    ours = _transforms.get(key)
    if ours is None:
        ours = Transform(policy_of(transform, channels, fill))
        keep(_transforms, key, ours)
    return ours


def policy_of(transform: torch.nn.Module, channels: int, fill: object) -> Policy:
    """Motley's policy, for images of so many channels. Raises NotOurs, or what torchvision raises for arguments."""
    kind, v2 = _theirs(transform).__name__, is_v2(transform)
    if name := _overridden(transform):
        raise NotOurs(f"{type(transform).__name__} defines {name} itself")
    try:
        interpolation = INTERPOLATIONS[interpolation_number(transform.interpolation)]
    except ArgumentError:
        raise NotOurs(f"interpolation {transform.interpolation}") from None
    fill = _fill_of(fill, channels)
    repeat = getattr(transform, "num_ops", None)
    bins: Any = getattr(transform, "num_magnitude_bins", None)
    if repeat is not None and repeat > MOST_OPS:
        raise NotOurs(f"num_ops is {repeat}, Motley has up to {MOST_OPS}")
    if bins is not None and not 2 <= bins <= MOST_BINS:
        raise NotOurs(f"num_magnitude_bins is {bins}, Motley has 2 to {MOST_BINS} for torchvision")
    if kind == "AugMix":
        try:
            settings: Any = map(vars(transform).get, AUGMIX)
            return _augmix(*settings, v2, interpolation=interpolation, fill=fill)
        except ArgumentError as error:  # more or longer chains than Motley mixes
            raise NotOurs(str(error)) from None
    name = POLICIES[kind]
    if kind == "AutoAugment":
        name += transform.policy.value
    keys: dict[str, Any] = {"interpolation": interpolation, "fill": fill}
    if repeat:
        keys["repeat"] = repeat
    if (level := getattr(transform, "magnitude", None)) is not None:
        if not -bins <= level < bins:
            raise IndexError(f"magnitude is {level}, want 0..{bins - 1}")
        keys["level"] = level % bins
    return _changed(name, bins, v2, **keys)


# ---- the classes ----


def fill_of_masks(transform: torch.nn.Module) -> float:
    """That of v2's masks: `fill` by type says it; a number is the image's, and would be a class of the mask's."""
    by_type = transform.fill
    if not isinstance(by_type, dict):
        return 0
    fill: Any = by_type.get(tv_tensors.Mask, by_type.get("others", 0))
    fill = fill[0] if isinstance(fill, (list, tuple)) and len(fill) == 1 else fill
    return 0 if fill is None else float(fill)


class _Policy:
    """What Motley's policies have in place of torchvision's; the classes say which."""

    def _for(self, image: Any) -> Transform:
        """Motley's transform of an image. Raises NotOurs where torchvision does it."""
        return transform_of(self, image, channels_of(image))

    def _by_torchvision(self, why: str, *inputs: Any) -> Any:
        say(type(self).__name__, why)
        return super().forward(*inputs)  # type: ignore[misc]


class PolicyOfImages(_Policy):
    """Of v1: an image in, an image out."""

    def forward(self, img: Image, *others: object) -> Any:
        if others or isinstance(img, FOLLOWERS):
            name, got = type(self).__name__, ", ".join(type(entry).__name__ for entry in (img, *others))
            raise TypeError(f"{name} takes one image and got {got}: want motley.torchvision.v2.{name} for samples")
        if getattr(self, "num_ops", None) == 0:
            return img
        try:
            return augmented(self._for(img), img, fresh())
        except NotOurs as error:
            why = str(error)
        return self._by_torchvision(why, img)


class PolicyOfSamples(_Policy):
    """Of v2: a sample in, in which masks, boxes and keypoints move with their image."""

    def forward(self, *inputs: object) -> Any:
        if getattr(self, "num_ops", None) == 0:
            return inputs if len(inputs) > 1 else inputs[0]
        try:
            if len(inputs) == 1 and is_image(inputs[0]):
                return like(augmented(self._for(inputs[0]), inputs[0], fresh()), inputs[0])
            return augmented_sample(inputs, self._for, lambda entry: kind_of(entry, fill_of_masks(self)), like)
        except NotOurs as error:
            why = str(error)
        return self._by_torchvision(why, *inputs)


class RandAugment(PolicyOfImages, _v1.RandAugment):
    """torchvision's RandAugment on Motley: its arguments, and the pixels of its PIL images."""


class TrivialAugmentWide(PolicyOfImages, _v1.TrivialAugmentWide):
    """torchvision's TrivialAugmentWide on Motley: its arguments, and the pixels of its PIL images."""


class AutoAugment(PolicyOfImages, _v1.AutoAugment):
    """torchvision's AutoAugment on Motley: its arguments, and the pixels of its PIL images."""


class AugMix(PolicyOfImages, _v1.AugMix):
    """torchvision's AugMix on Motley: its arguments, and Pillow's pixels in its chains, which torchvision makes by its
    kernels for tensors: interpolated warps, color, contrast and sharpness differ by a rounding."""
