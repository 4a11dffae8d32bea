# SPDX-License-Identifier: Apache-2.0
"""torchvision's policies on Motley: the same classes and arguments, the pixels of torchvision's Pillow path.

    from motley.torchvision import transforms          # in place of: from torchvision import transforms
    from motley.torchvision.transforms import v2       # in place of: from torchvision.transforms import v2

    import motley.torchvision                          # or, in a script that nobody wants to edit,
    motley.torchvision.take_over()                     # these two lines at its top

Images    PIL images (L, LA, RGB, RGBA) and uint8 tensors [..., C, H, W] on the CPU or CUDA; v2 also takes what stands
          beside an image in a sample. A tensor gets the bytes that the PIL image with its pixels gets. Each image of
          a batch has a draw of its own (torchvision: one for all); the frames of a tv_tensors.Video share one.
Draws     Each call takes a new seed from torch's generator, so torch.manual_seed() makes a run repeatable and a
          DataLoader's workers differ. They are other draws than torchvision makes from the same generator.
Else      What Motley has no bytes for (float images, other modes, Lanczos, a subclass with other operations) runs in
          torchvision as ever, and says so in a warning, once for each reason."""
import functools
import warnings

import PIL.Image
import torch
from torchvision import transforms as _v1
from torchvision.transforms import AutoAugmentPolicy, InterpolationMode

from motley import Policy, Stage

try:
    from torchvision import tv_tensors
    from torchvision.transforms import v2 as _v2
except ImportError:  # before torchvision 0.16
    _v2 = None

__all__ = ["RandAugment", "TrivialAugmentWide", "AutoAugment", "AutoAugmentPolicy", "InterpolationMode", "take_over",
           "hand_back"]

_MODES = ("L", "LA", "RGB", "RGBA")
_PILLOW_FILTERS = {0: "nearest", 2: "bilinear", 3: "bicubic"}
_INTERPOLATIONS = {"nearest": "nearest", "nearest-exact": "nearest", "bilinear": "bilinear", "bicubic": "bicubic"}
_MOST_BINS = 148  # torchvision rounds bits otherwise from its division than from the level, with some counts past this
_MOST_OPS = 16


class _NotOurs(Exception):
    """Why a call is torchvision's to run."""


# ---- which policy a transform is ----

def _level_value(level, bins):
    """The threshold that v2 gives solarize at a level: 255.0 * torch.linspace(1, 0, bins)[level], as its vectorised
    kernels round it. (v1 and our files have torch.linspace(255, 0, bins).)"""
    step = torch.tensor(-1.0) / (bins - 1)
    exact = step.double() * level + 1 if level < bins // 2 else -step.double() * (bins - 1 - level)
    return 255.0 * float(exact.float())  # both are exact in binary64, so they are rounded once, as an fma rounds


def _v2_branches(policy, bins):
    """The branches of `policy` with the thresholds of v2. A threshold for each drawn level is a branch of its own."""
    branches, drawn = [], any(step.get("level") == "uniform" for b in policy.branches for step in b["steps"])
    for branch in policy.branches:
        if drawn and branch["steps"][0]["op"] == "solarize":
            branches += [{"steps": [{"op": "solarize", "value": _level_value(i, bins)}]} for i in range(bins)]
            continue
        for step in branch["steps"]:
            if step["op"] == "solarize":
                step["value"] = _level_value(int(step.pop("level")), bins)
        branches.append({**branch, "weight": bins} if drawn else branch)
    return branches


@functools.lru_cache(maxsize=64)
def _stage(name, repeat, bins, level, interpolation, fill, v2):
    policy = Policy.builtin(name).change(repeat=repeat or None, bins=bins, level=level, interpolation=interpolation,
                                         fill=fill)
    return Stage(policy.change(branches=_v2_branches(policy, bins or 10)) if v2 else policy)


def _fill_of(fill, channels):
    """torchvision's fill as a policy's: a byte for every channel, or one for each."""
    if fill is None:
        return 0
    values = [fill] if isinstance(fill, (int, float)) else list(fill)
    if len(values) not in (1, channels):
        raise ValueError(f"fill has {len(values)} values, want 1 or {channels}, one for each channel of the image")
    if len(values) == 2:
        raise _NotOurs("a fill for grey and one for alpha")
    values = tuple(min(max(int(v), 0), 255) for v in values)
    return values[0] if len(values) == 1 else values


def _stage_of(transform, v2, image, channels):
    cls = _class_of(transform)
    for name in ("_augmentation_space", "_AUGMENTATION_SPACE", "_get_policies", "_apply_image_or_video_transform"):
        if getattr(type(transform), name, None) is not getattr(cls, name, None):
            raise _NotOurs(f"{type(transform).__name__} has a {name} of its own")
    interpolation = getattr(transform.interpolation, "value", transform.interpolation)
    interpolation = _INTERPOLATIONS.get(_PILLOW_FILTERS.get(interpolation, interpolation))
    if interpolation is None:
        raise _NotOurs(f"interpolation {transform.interpolation}")
    fill = transform._fill if v2 else transform.fill
    if isinstance(fill, dict):  # v2: by type of image
        fill = next((fill[kind] for kind in (type(image), "others") if kind in fill), None)
    fill = _fill_of(fill, channels)
    repeat = getattr(transform, "num_ops", None)
    bins = getattr(transform, "num_magnitude_bins", None)
    if repeat is not None and repeat > _MOST_OPS:
        raise _NotOurs(f"num_ops is {repeat}, Motley has up to {_MOST_OPS}")
    if bins is not None and not 2 <= bins <= _MOST_BINS:
        raise _NotOurs(f"num_magnitude_bins is {bins}, Motley has 2 to {_MOST_BINS} for torchvision")
    name = _NAMES[cls.__name__]
    if cls.__name__ == "AutoAugment":
        name += transform.policy.value
    level = getattr(transform, "magnitude", None)
    if level is not None and not -bins <= level < bins:
        raise IndexError(f"magnitude is {level}, want 0..{bins - 1}")
    return _stage(name, repeat, bins, level % bins if level is not None else None, interpolation, fill, v2)


# ---- running it ----

def _augment(transform, image, v2=False):
    """`image` augmented. Raises _NotOurs when torchvision has to do it."""
    if isinstance(image, PIL.Image.Image):
        if image.mode not in _MODES:
            raise _NotOurs(f"a PIL image of mode {image.mode}")
        channels = len(image.getbands())
    elif not isinstance(image, torch.Tensor):
        raise _NotOurs(f"an image of type {type(image).__name__}")
    elif image.dtype != torch.uint8:
        raise _NotOurs(f"a tensor of {image.dtype}")
    elif image.ndim < 3 or not 1 <= image.shape[-3] <= 4:
        raise _NotOurs(f"a tensor of shape {tuple(image.shape)}")
    else:
        channels = image.shape[-3]
    stage = _stage_of(transform, v2, image, channels)
    seed = int(torch.randint(1 << 62, ()))
    if getattr(transform, "num_ops", None) == 0 or (isinstance(image, torch.Tensor) and image.numel() == 0):
        return image
    if isinstance(image, PIL.Image.Image):
        return stage(image, seed=seed, sample_ids=0)
    batch = image.reshape(-1, *image.shape[-3:])
    video = v2 and isinstance(image, tv_tensors.Video)
    ids = torch.zeros(len(batch), dtype=torch.int64) if video else torch.arange(len(batch))
    out = stage(batch.as_subclass(torch.Tensor), seed=seed, sample_ids=ids).reshape(image.shape)
    return tv_tensors.wrap(out, like=image) if v2 and isinstance(image, tv_tensors.TVTensor) else out


@functools.lru_cache(maxsize=None)
def _say(name, why):
    warnings.warn(f"{name} runs in torchvision, not in Motley: {why}", stacklevel=4)


def _forward_v1(self, img):
    try:
        return _augment(self, img)
    except _NotOurs as why:
        _say(type(self).__name__, str(why))
        return _THEIRS[_class_of(self)](self, img)


def _forward_v2(self, *inputs):
    try:
        sample, image = self._flatten_and_extract_image_or_video(inputs)
        return self._unflatten_and_insert_image_or_video(sample, _augment(self, image, v2=True))
    except _NotOurs as why:
        _say(type(self).__name__, str(why))
        return _THEIRS[_class_of(self)](self, *inputs)


_NAMES = {"RandAugment": "rand_augment", "TrivialAugmentWide": "trivial_augment_wide", "AutoAugment": "auto_augment_"}
_OURS = {getattr(module, name): forward for module, forward in ((_v1, _forward_v1), (_v2, _forward_v2)) if module
         for name in _NAMES}
_THEIRS = {cls: cls.forward for cls in _OURS}


def _class_of(transform):
    return next(cls for cls in type(transform).__mro__ if cls in _OURS)


def take_over():
    """From here on torchvision's own RandAugment, TrivialAugmentWide and AutoAugment run on Motley, v1 and v2, the
    objects that exist already included. Processes that are spawned, not forked, have to call it too."""
    for cls, forward in _OURS.items():
        cls.forward = forward


def hand_back():
    """Ends what take_over() began."""
    for cls, forward in _THEIRS.items():
        cls.forward = forward


class RandAugment(_v1.RandAugment):
    forward = _forward_v1


class TrivialAugmentWide(_v1.TrivialAugmentWide):
    forward = _forward_v1


class AutoAugment(_v1.AutoAugment):
    forward = _forward_v1
