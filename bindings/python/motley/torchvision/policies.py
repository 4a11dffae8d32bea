# SPDX-License-Identifier: Apache-2.0
"""torchvision's policies, RandAugment and the like, on Motley."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torchvision import transforms as _v1

from motley import ArgumentError, Policy, Transform
from motley.named import augmix_policy
from motley.policy import INTERPOLATIONS, interpolation_number
from motley.torchvision.images import FOLLOWERS, Augmenter, NotOurs, channels_of, is_v2, say, tv_tensors, v2

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
SETTINGS = (
    "interpolation", "num_ops", "magnitude", "num_magnitude_bins", "policy",
    "severity", "mixture_width", "chain_depth", "alpha", "all_ops",
)  # fmt: skip
AUTO_BINS = 10  # of AutoAugment and AugMix
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


@functools.lru_cache(maxsize=256)
def transform_of(cls: type, channels: int, fill: object, *settings: Any) -> Transform:
    """Motley's transform for a class of torchvision's, or made of it, and SETTINGS, for images of so many channels.
    Raises NotOurs, or what torchvision raises for arguments."""
    theirs = next(base for base in cls.__mro__ if base.__module__.startswith("torchvision."))
    interpolation, num_ops, magnitude, bins, policy, *of_augmix = settings
    for name in OVERRIDES:
        if getattr(cls, name, None) is not getattr(theirs, name, None):
            raise NotOurs(f"{cls.__name__} defines {name} itself")
    try:
        keys: dict[str, Any] = {"interpolation": INTERPOLATIONS[interpolation_number(interpolation)]}
    except ArgumentError:
        raise NotOurs(f"interpolation {interpolation}") from None
    keys["fill"] = _fill_of(fill, channels)
    if num_ops is not None and num_ops > MOST_OPS:
        raise NotOurs(f"num_ops is {num_ops}, Motley has up to {MOST_OPS}")
    if bins is not None and not 2 <= bins <= MOST_BINS:
        raise NotOurs(f"num_magnitude_bins is {bins}, Motley has 2 to {MOST_BINS} for torchvision")
    if num_ops:
        keys["repeat"] = num_ops
    if bins is not None:
        keys["bins"] = bins
    if bins is not None and magnitude is not None:
        if not -bins <= magnitude < bins:
            raise IndexError(f"magnitude is {magnitude}, want 0..{bins - 1}")
        keys["level"] = magnitude % bins
    try:
        name = POLICIES[theirs.__name__] + getattr(policy, "value", "")
        base = augmix_policy(*of_augmix) if name == "augmix" else Policy(name)
    except ArgumentError as error:  # more or longer chains than Motley mixes
        raise NotOurs(str(error)) from None
    own = base.change(**keys)
    return Transform(_as_in_v2(own, bins or AUTO_BINS) if v2 is not None and issubclass(cls, v2.Transform) else own)


def policy_fill(transform: object) -> Any:
    """The fill of a policy of torchvision's; of v2 one by type of image."""
    return vars(transform)["_fill" if is_v2(transform) else "fill"]


def transform_with(transform: object, channels: int, fill: object) -> Transform:
    """Motley's transform for the arguments of torchvision's as they are now, with one fill for all types of images."""
    key: Any = type(transform), channels, tuple(fill) if isinstance(fill, list) else fill
    return transform_of(*key, *map(vars(transform).get, SETTINGS))


# ---- the classes ----


def fill_of_masks(transform: Any) -> float:
    """That of v2's masks: `fill` by type says it; a number is the image's, and would be a class of the mask's."""
    by_type = transform.fill
    if not isinstance(by_type, dict):
        return 0
    fill: Any = by_type.get(tv_tensors.Mask, by_type.get("others", 0))
    fill = fill[0] if isinstance(fill, (list, tuple)) and len(fill) == 1 else fill
    return 0 if fill is None else float(fill)


class Drawn(Augmenter):
    """What Motley's policies have in place of torchvision's: of v1 for an image, of v2 for a sample, in which masks,
    boxes and keypoints move with it."""

    def _for(self, image: Any) -> Transform:
        fill = policy_fill(self)
        if isinstance(fill, dict):
            fill = fill.get(type(image), fill.get("others"))
        return transform_with(self, channels_of(image), fill)

    def _fill_of_masks(self) -> float:
        return fill_of_masks(self)

    def forward(self, *inputs: Any) -> Any:
        samples, name = is_v2(self), type(self).__name__
        if not samples and (len(inputs) != 1 or isinstance(inputs[0], FOLLOWERS)):
            got = ", ".join(type(entry).__name__ for entry in inputs)
            raise TypeError(f"{name} takes one image and got {got}: want motley.torchvision.v2.{name} for samples")
        if getattr(self, "num_ops", None) == 0:
            return inputs if len(inputs) > 1 else inputs[0]
        try:
            return self._augmented(inputs, samples)
        except NotOurs as error:
            why = str(error)
        say(name, why)
        return super().forward(*inputs)  # type: ignore[misc]


class RandAugment(Drawn, _v1.RandAugment):
    """torchvision's RandAugment on Motley: its arguments, and the pixels of its PIL images."""


class TrivialAugmentWide(Drawn, _v1.TrivialAugmentWide):
    """torchvision's TrivialAugmentWide on Motley: its arguments, and the pixels of its PIL images."""


class AutoAugment(Drawn, _v1.AutoAugment):
    """torchvision's AutoAugment on Motley: its arguments, and the pixels of its PIL images."""


class AugMix(Drawn, _v1.AugMix):
    """torchvision's AugMix on Motley: its arguments, and Pillow's pixels in its chains, which torchvision makes by its
    kernels for tensors: interpolated warps, color, contrast and sharpness differ by a rounding."""
