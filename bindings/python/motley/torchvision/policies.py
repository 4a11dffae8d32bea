# SPDX-License-Identifier: Apache-2.0
"""torchvision's policies, RandAugment and the like, on Motley; and samples of v2, whose entries beside an image move
with the image."""

from __future__ import annotations

import functools
from numbers import Integral
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from motley import ArgumentError, Policy, Transform
from motley._core import lib
from motley._follow import BoxRows, Moves, PointRows
from motley._native import keep
from motley.follow import FORMATS
from motley.policy import INTERPOLATIONS, interpolation_number
from motley.samples import samples_of, torch_seed
from motley.torchvision import pixels
from motley.torchvision.pixels import FOLLOWERS, POLICIES, NotOurs, augmented, channels_of, class_of, like, tv_tensors

OVERRIDES = ("_augmentation_space", "_AUGMENTATION_SPACE", "_get_policies", "_apply_image_or_video_transform",
             "_flatten_and_extract_image_or_video", "_unflatten_and_insert_image_or_video",
             "_needs_transform_list")  # fmt: skip
AUGMIX = ("severity", "mixture_width", "chain_depth", "alpha", "all_ops")  # AugMix's arguments
SETTINGS = ("interpolation", "num_ops", "magnitude", "num_magnitude_bins", "policy", *AUGMIX)
MOST_BINS = 148  # torchvision rounds bits otherwise from its division than from the level, with some counts past this
MOST_OPS = 16


# ---- which policy a transform is ----


def _level_value(level: Any, bins: Any) -> Any:
    """The threshold that v2 gives solarize at a level: 255.0 * torch.linspace(1, 0, bins)[level], as its vectorised
    kernels round it. (v1 and our files have torch.linspace(255, 0, bins).)"""
    step = torch.tensor(-1.0) / (bins - 1)
    exact = step.double() * level + 1 if level < bins // 2 else -step.double() * (bins - 1 - level)
    return 255.0 * float(exact.float())  # both are exact in binary64, so they are rounded once, as an fma rounds


def _as_in_v2(policy: Any, bins: Any) -> Any:
    """`policy` with the thresholds of v2. Each that can be drawn gets a separate branch."""
    data = policy.as_dict()
    branches: list[Any] = []

    def changed(step: Any, level: Any) -> Any:
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
def _changed(name: Any, bins: Any, v2: Any, **keys: Any) -> Any:
    if bins is not None:
        keys["bins"] = bins
    policy = Policy.builtin(name).change(**keys)
    return Transform(_as_in_v2(policy, bins or AUTO_BINS) if v2 else policy, stream=0)


AUTO_BINS = 10  # of AutoAugment and AugMix
ALL_OPS = ("brightness", "color", "contrast", "sharpness")  # what all_ops adds


@functools.lru_cache(maxsize=64)
def _augmix(
    severity: Any, width: Any, depth: Any, alpha: Any, all_ops: Any, interpolation: Any, fill: Any, v2: Any
) -> Any:
    """Each op at each of the first `severity` bins."""
    keys = {"fill": fill, "interpolation": interpolation, **({"repeat": depth} if depth > 0 else {})}
    policy, branches = Policy.builtin("augmix"), []
    for branch in policy.as_dict()["branches"]:
        if "steps" in branch:  # an op without levels
            branches.append({**branch, "weight": severity})
        elif branch["level"] == 0 and (all_ops or branch["op"] not in ALL_OPS):
            branches += [{**branch, "level": level} for level in range(severity)]
    mixed = {"width": width, "alpha": alpha, "form": "one_sum"}
    policy = policy.change(branches=branches, augmix=mixed, **keys)
    return Transform(_as_in_v2(policy, AUTO_BINS) if v2 else policy, stream=0)


def _fill_of(fill: Any, channels: Any) -> Any:
    """torchvision's fill as a policy's: a byte for every channel, or one for each."""
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


def overridden(transform: Any) -> Any:
    """What a subclass defines itself and Motley would not call; None if nothing."""
    cls = class_of(type(transform))
    return next((n for n in OVERRIDES if getattr(type(transform), n, None) is not getattr(cls, n, None)), None)


_transforms: dict[Any, Transform] = {}  # what a policy depends on -> Transform


def transform_of(transform: Any, v2: Any, image: Any, channels: Any) -> Any:
    """Motley's transform for the arguments of torchvision's as they are now."""
    own = vars(transform)
    fill = own["_fill" if v2 else "fill"]
    if isinstance(fill, dict):  # v2: by type of image
        fill = fill.get(type(image), fill.get("others"))
    if isinstance(fill, list):
        fill = tuple(fill)
    key = type(transform), v2, channels, fill, *map(own.get, SETTINGS)
    ours = _transforms.get(key)
    if ours is None:
        ours = keep(_transforms, key, new_transform(transform, v2, channels, fill))
    return ours


def new_transform(transform: Any, v2: Any, channels: Any, fill: Any) -> Any:
    cls = class_of(type(transform))
    if name := overridden(transform):
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
    if cls.__name__ == "AugMix":
        try:
            return _augmix(*map(vars(transform).get, AUGMIX), interpolation, fill, v2)
        except ArgumentError as error:  # more or longer chains than Motley mixes
            raise NotOurs(str(error)) from None
    name = POLICIES[cls.__name__]
    if cls.__name__ == "AutoAugment":
        name += transform.policy.value
    keys = {"interpolation": interpolation, "fill": fill}
    if repeat:
        keys["repeat"] = repeat
    if (level := getattr(transform, "magnitude", None)) is not None:
        if not -bins <= level < bins:
            raise IndexError(f"magnitude is {level}, want 0..{bins - 1}")
        keys["level"] = level % bins
    return _changed(name, bins, v2, **keys)


# ---- running it ----


def _transform_for(transform: Any, image: Any, v2: Any) -> Any:
    """Motley's transform for `image`; None where there is nothing to do. Raises NotOurs where torchvision does it."""
    if isinstance(image, FOLLOWERS):
        raise TypeError(f"Inputs of type {type(image).__name__} are not supported by {type(transform).__name__}(): "
                        "want an image or a video")  # fmt: skip
    if isinstance(image, torch.Tensor) and image.dtype == torch.uint8 and not image.numel():
        return None
    ours = transform_of(transform, v2, image, channels_of(image))
    return None if vars(transform).get("num_ops") == 0 else ours


def augment(self: Any, img: Any, v2: Any = False) -> Any:
    """forward() of v1. Raises NotOurs when torchvision has to do it."""
    ours, which = _transform_for(self, img, v2), samples_of(self, torch_seed)
    made = img if ours is None else augmented(ours, img, which)
    return like(made, img) if v2 else made


def augment_sample(self: Any, *inputs: Any) -> Any:
    """forward() of v2. Raises NotOurs when torchvision has to do it."""
    if len(inputs) == 1 and pixels.is_plain(inputs[0]):
        return augment(self, inputs[0], True)
    flat, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
    mine = [i for i, needed in enumerate(self._needs_transform_list(flat)) if needed]
    followers = [i for i in mine if isinstance(flat[i], FOLLOWERS)]
    places = [i for i in mine if i not in followers]
    if not places and followers:
        name = type(flat[followers[0]]).__name__
        raise TypeError(f"Inputs of type {name} are not supported by {type(self).__name__}() without their image")
    if not places:
        raise TypeError("Found no image in the sample.")
    sizes = sorted({size_of(flat[i]) for i in mine})
    if len(sizes) > 1:
        raise ValueError(f"Found multiple HxW dimensions in the sample: {', '.join(map(str, sizes))}")
    each, which = [_transform_for(self, flat[i], True) for i in places], samples_of(self, torch_seed)
    for i, ours in zip(places, each):
        flat[i] = flat[i] if ours is None else like(augmented(ours, flat[i], which), flat[i])
    if followers and each[0] is not None:
        moves = _moves(each[0], sizes[0], which)
        for i in followers:
            flat[i] = _follow(flat[i], moves, self)
    return tree_unflatten(flat, spec)


# ---- what goes with an image ----


def size_of(value: Any) -> Any:
    """(height, width) of an image, a video or what belongs to one."""
    return tuple(value.canvas_size) if hasattr(value, "canvas_size") else pixels.size_of(value)


def _moves(ours: Any, size: Any, which: Any) -> Any:
    ids, *rest = which
    single = isinstance(ids, Integral)
    ids = [int(ids)] if single else ids.tolist() if hasattr(ids, "tolist") else list(ids)
    return Moves(ours, [size[::-1]] * len(ids), single, (ids, *rest))


def _follow(value: Any, moves: Any, transform: Any) -> Any:
    plain, name = value.as_subclass(torch.Tensor), f"the sample's {type(value).__name__}"
    if isinstance(value, tv_tensors.Mask):
        lead = plain.shape[:-2] if moves.single else plain.shape[1:-2]
        first = () if moves.single else plain.shape[:1]
        masks = plain.reshape(*first, lead.numel(), *plain.shape[-2:])
        made = moves.mask(name, masks, _fill(transform), False).reshape(plain.shape)
    else:
        rows = _rows(value, name, plain, moves)
        rows.move(moves)
        (made,), *_ = rows.moved()
    return tv_tensors.wrap(made, like=value)


def _rows(value: Any, name: Any, plain: Any, moves: Any) -> Any:
    if not moves.single:
        raise ArgumentError(
            f"motley.samples has an id for each image of a batch, and {name} are those of one: want one id"
        )
    if not isinstance(value, tv_tensors.BoundingBoxes):
        return PointRows(name, [plain], moves.sizes, lib.MOTLEY_CONTINUOUS, ())
    form = FORMATS.get(value.format.value.lower())
    if form is None:
        raise TypeError(f"{name} have the format {value.format.value}, want XYXY, XYWH or CXCYWH")
    if getattr(value, "clamping_mode", "soft") is None:
        raise TypeError(f"{name} have the clamping_mode None, but boxes are cut off at the image's edge: want 'soft'")
    return BoxRows(name, [plain], moves.sizes, form, False, (0, 0, 0))


def _fill(transform: Any) -> Any:
    """That of masks: `fill` by type says it; a number is the image's, and would be a class of the mask's."""
    fill = transform.fill
    if not isinstance(fill, dict):
        return 0
    fill = fill.get(tv_tensors.Mask, fill.get("others", 0))
    fill = fill[0] if isinstance(fill, (list, tuple)) and len(fill) == 1 else fill
    return 0 if fill is None else fill
