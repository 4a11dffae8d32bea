# SPDX-License-Identifier: Apache-2.0
"""Transforms by the names of their papers, and by timm's strings."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from ._native import ArgumentError, known_keywords, nearest, one_of, whole
from .policy import INTERPOLATIONS, NO_AUGMENTATION, Policy, fill_bytes, interpolation_number
from .transform import SETTINGS, Transform

if TYPE_CHECKING:
    from enum import Enum
    from ._types import Fill, Interpolations, Settings

F = TypeVar("F", bound="Callable[..., Transform]")
ALL_OPS = "brightness", "color", "contrast", "sharpness"  # what AugMix's all_ops adds
NUMBERS = ("translate_pct", "magnitude_std", "magnitude_max")  # of hparams: the library reads them behind the string


def named(function: F) -> F:
    """A function that makes a Transform, by keywords of its own and a Transform's."""
    own = function.__code__.co_varnames[: function.__code__.co_argcount]

    @functools.wraps(function)
    def make(*arguments: Any, **settings: Any) -> Any:
        names = [*own, *SETTINGS]
        known_keywords(function.__name__, settings.keys() - names, names)
        return function(*arguments, **settings)

    return make  # type: ignore[return-value]


@named
def rand_augment(
    num_ops: int = 2,
    magnitude: int = 9,
    num_magnitude_bins: int = 31,
    interpolation: Interpolations | None = None,
    fill: Fill | None = None,
    **settings: Unpack[Settings],
) -> Transform:
    """A Transform of RandAugment as in torchvision: `num_ops` of 14 operations, each at level `magnitude`.

    Cubuk, Zoph, Shlens, Le 2019, arXiv:1909.13719.

    Args:
        num_ops: Operations per image.
        magnitude: The level of each, from 0 to num_magnitude_bins - 1.
        num_magnitude_bins: How many levels there are.
        interpolation: "nearest", "bilinear" or "bicubic", of warps; or several to draw from.
        fill: What comes in from outside the image: a number, or one per channel.
        settings: Other keywords are Transform's.
    """
    whole("num_ops", num_ops, 1, 16, "from 1 to 16")
    last = _bins_given(num_magnitude_bins) - 1
    whole("magnitude", magnitude, 0, last, f"from 0 to {last} (num_magnitude_bins - 1)")
    changes: dict[str, Any] = {"repeat": num_ops, "level": magnitude, "bins": num_magnitude_bins}
    return Transform(_changed("rand_augment", interpolation, fill, **changes), **settings)


@named
def trivial_augment_wide(
    num_magnitude_bins: int = 31,
    interpolation: Interpolations | None = None,
    fill: Fill | None = None,
    **settings: Unpack[Settings],
) -> Transform:
    """A Transform of TrivialAugmentWide as in torchvision: one of 14 operations at one of `num_magnitude_bins` levels.

    Mueller, Hutter 2021, arXiv:2103.10158.

    Args:
        num_magnitude_bins: How many levels there are.
        interpolation: As rand_augment's, like fill and settings.
    """
    bins = _bins_given(num_magnitude_bins)
    return Transform(_changed("trivial_augment_wide", interpolation, fill, bins=bins), **settings)


@named
def auto_augment(
    policy: Literal["imagenet", "cifar10", "svhn"] | Enum = "imagenet",
    interpolation: Interpolations | None = None,
    fill: Fill | None = None,
    **settings: Unpack[Settings],
) -> Transform:
    """A Transform of AutoAugment as in torchvision.

    Cubuk, Zoph, Mane, Vasudevan, Le 2018, arXiv:1805.09501.

    Args:
        policy: "imagenet", "cifar10" or "svhn", or torchvision's AutoAugmentPolicy.
        interpolation: As rand_augment's, like fill and settings.
    """
    name = one_of("policy", str(getattr(policy, "value", policy)), ("cifar10", "imagenet", "svhn"))
    return Transform(_changed(f"auto_augment_{name}", interpolation, fill), **settings)


@named
def augmix(  # type: ignore[misc]  # `alpha` is also a setting
    severity: int = 3,
    mixture_width: int = 3,
    chain_depth: int = -1,
    alpha: float = 1.0,
    all_ops: bool = True,
    interpolation: Interpolations | None = None,
    fill: Fill | None = None,
    **settings: Unpack[Settings],
) -> Transform:
    """A Transform of AugMix as in torchvision: chains of operations, whose results are mixed with the image.

    Hendrycks, Mu, Cubuk, Zoph, Gilmer, Lakshminarayanan 2019, arXiv:1912.02781.

    Args:
        severity: How many of the 10 levels operations have, from the weakest.
        mixture_width: How many chains.
        chain_depth: How many operations a chain has; -1: one to three.
        alpha: Of the distributions of the chains' and the image's shares. (Of arrays that are RGBA:
            `motley.Transform(motley.augmix(), alpha=True)`.)
        all_ops: Whether brightness, color, contrast and sharpness are among the operations.
        interpolation: As rand_augment's, like fill and settings.
    """
    whole("severity", severity, 1, 10, "from 1 to 10")
    return Transform(
        augmix_policy(severity, mixture_width, chain_depth, alpha, all_ops, interpolation, fill), **settings
    )


def augmix_policy(
    severity: int, width: int, depth: int, alpha: float, all_ops: bool, interpolation: Any = None, fill: Any = None
) -> Policy:
    """torchvision's AugMix with these arguments: each op at each of the first `severity` bins."""
    branches: list[Any] = []
    for branch in Policy("augmix").as_dict()["branches"]:
        if "steps" in branch:  # an op without levels
            branches.append({**branch, "weight": severity})
        elif branch["level"] == 0 and (all_ops or branch["op"] not in ALL_OPS):
            branches += [{**branch, "level": level} for level in range(severity)]
    keys: dict[str, Any] = {"branches": branches, "augmix": {"width": width, "alpha": alpha, "form": "one_sum"}}
    return _changed("augmix", interpolation, fill, **keys, **({"repeat": depth} if depth > 0 else {}))


@named
def from_timm(config: str, hparams: Mapping[str, Any] | None = None, **settings: Unpack[Settings]) -> Transform:
    """A Transform of one of timm's strings: "rand-m9-mstd0.5-inc1", "rand-m7-n3-p0.6-tweights", "v0r".

    A string that begins with "rand" has, in any order: m (magnitude, 10), n (ops per image, 2), p (probability of each,
    0.5), mstd (the magnitude's deviation; above 100: uniform from 0), mmax (what it is cut to, 10), inc (1: ops get
    stronger with the magnitude), t (the list: weights, 3a, 3aw). One that begins with v0, v0r, original, originalr or
    3a has mstd. "augmix" has m (magnitude, 3), w (chains, 3), d (ops of a chain, 1 to 3 of them), a (alpha, 1), b (1:
    blended chain by chain) and mstd (without it magnitudes are uniform from 0).

    Args:
        config: The string.
        hparams: timm's dict: img_mean (the fill), translate_pct, interpolation, magnitude_std, magnitude_max; it goes
            before what the string says.
        settings: Other keywords are Transform's.
    """
    hparams = dict(hparams or {})
    if not isinstance(config, str):
        raise ArgumentError(f"config is a {type(config).__name__}, want a string such as 'rand-m9-mstd0.5-inc1'")
    numbers = [f",{key}={hparams[key]}" for key in NUMBERS if hparams.get(key) is not None]
    name = "".join(["timm:", config, *numbers])
    try:
        return Transform(_changed(name, hparams.get("interpolation"), hparams.get("img_mean")), **settings)
    except ArgumentError as error:
        near = nearest(config, Policy.names()) if str(error).startswith(f"'{config}': it begins with") else None
        if near is None:
            raise
        raise ArgumentError(f"{error}; did you mean motley.Transform({near!r})?") from None


@named
def mix(
    mixup: float = 0.0,
    cutmix: float = 0.0,
    p: float = 1.0,
    switch: float = 0.5,
    rules: Literal["torchvision", "timm"] = "torchvision",
    mode: Literal["batch", "pair", "elem"] = "batch",
    minmax: tuple[float, float] | None = None,
    keep_lambda: bool = False,
    drawn_partner: bool = False,
    classes: int | None = None,
    smoothing: float = 0.0,
    share: tuple[float, float] | None = None,
    paste: int | None = None,
    paste_p: float | None = None,
    area: float | None = None,
    context: tuple[float, float] | None = None,
    sizes: int | Sequence[int] | None = None,
    instances: bool = False,
    grow: int | None = None,
    **settings: Unpack[Settings],
) -> Transform:
    """A Transform of MixUp, CutMix, or one of the two at random, of a batch of images and their labels.

        mix = motley.mix(mixup=0.2, cutmix=1.0, classes=1000, smoothing=0.1)
        images, targets = mix(images, labels=labels, sample_ids=ids, epoch=3)

    Zhang et al. 2017, arXiv:1710.09412; Yun et al. 2019, arXiv:1905.04899. Given a draw, pixels and targets are those
    of torchvision.transforms.v2.MixUp and CutMix, or of timm.data.Mixup. Images are an array of one size, float32,
    float16, bfloat16 or uint8, as they leave other transforms; a policy's last stage `mix` does the same.

    Objects of detection: labels are a list of dictionaries, a target for each image. Where images are mixed, "boxes",
    "labels", "area", "iscrowd", "masks" and "keypoints" come back joined, an image's own first, and "mixup" says how
    much of each object's picture shows; other entries stay the image's. That excludes CutMix.

        mix = motley.mix(share=(0.45, 0.55), p=0.5)      # or motley.Transform("deim_batch_n"), with its epochs
        images, targets = mix(images, labels=[{"boxes": boxes, "labels": classes}, ...])

    Instances are pasted by their "masks", [n, height, width] of uint8 or bool, which all targets have then. As in
    torchvision's references, masks lose what is pasted over them, boxes of an image's own objects become those of what
    is left, areas those of the masks, and objects go that have no pixel more. Masks on a device are waited for.

        mix = motley.mix(instances=True, grow=2)         # or motley.Transform("tv_lsj_batch")

    Args:
        mixup, cutmix: a of Beta(a, a), from which lambda is drawn; 0: not done. One is needed,
            or `share` or `instances`.
        p: Chance of being mixed.
        switch: Chance of CutMix where both are done.
        rules: "torchvision" mixes image i with i - 1; "timm" with the i-th from the end; boxes as each makes them.
        mode: What draws for itself: the "batch", by its first sample id; each "pair", by its first (timm's rules, an
            even number of images); or each image, "elem".
        minmax: (low, high): sides of CutMix's box as shares of the image's, in place of lambda's.
        keep_lambda: Mix targets by lambda even where an edge cuts off part of a box (timm's correct_lam=False).
        drawn_partner: Draw each image's partner among the others, with mode "elem".
        classes: Of targets, where labels are whole numbers; a call can say it, too.
        smoothing: Label smoothing s of targets, as in timm: a label becomes 1 - s + s / classes, others s / classes.
            A soft target y becomes y (1 - s) + s / classes, so that rows that sum to 1 still do.
        share: (low, high): MixUp's lambda is one of the millionths between, as DEIM's is, in place of `mixup`.
        paste: How many objects of the batch are blended with an image, by `share`, as by DEIMv2's CopyBlend.
        paste_p: Chance that objects are pasted, where neither MixUp nor CutMix is drawn.
        area: The least area of an object that `paste` takes, in pixels.
        context: (low, high): how much of its sides is pasted around such an object.
        sizes: Side of a square to which the batch is resized by torch's nearest, or several to draw from.
        instances: Paste objects of the partner by their masks, as torchvision's SimpleCopyPaste does.
        grow: Pixels by which what is pasted is larger than the masks; 2 is what torchvision calls blending.
        settings: Other keywords are Transform's.
    """
    stage = {"mixup": mixup, "cutmix": cutmix, "p": p, "switch": switch, "rules": rules, "mode": mode,
             "minmax": minmax, "lambda": keep_lambda and "drawn" or None, "partner": drawn_partner and "drawn" or None,
             "classes": classes, "smoothing": smoothing, "share": share, "paste": paste, "paste_p": paste_p,
             "area": area, "context": context, "sizes": sizes, "instances": instances and "pasted" or None,
             "grow": grow}  # fmt: skip
    stages = [{"mix": {key: value for key, value in stage.items() if value is not None}}]
    return Transform(NO_AUGMENTATION._edited({"motley": 1, "name": "mix", "stages": stages}), **settings)


def _changed(name: str, interpolation: Any, fill: Any, **keys: Any) -> Policy:
    """A built-in policy with changes."""
    if interpolation is not None:
        several = interpolation if isinstance(interpolation, (list, tuple)) else [interpolation]
        keys["interpolation"] = [INTERPOLATIONS[i] for i in sorted({interpolation_number(each) for each in several})]
    if fill is not None:
        keys["fill"] = list(fill_bytes(fill))
    return Policy(name).change(**keys)


def _bins_given(bins: int) -> int:
    return whole("num_magnitude_bins", bins, 2, 1024, "from 2 to 1024")


# Their names until 1.0, spelled like torchvision's classes.
RandAugment, TrivialAugmentWide, AutoAugment = rand_augment, trivial_augment_wide, auto_augment
