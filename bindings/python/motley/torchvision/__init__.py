# SPDX-License-Identifier: Apache-2.0
"""torchvision's transforms on Motley: the same classes and arguments, the pixels of torchvision's Pillow path.

    from motley.torchvision import transforms          # in place of: from torchvision import transforms
    from motley.torchvision.transforms import v2       # in place of: from torchvision.transforms import v2

    import motley.torchvision                          # or, in a script that nobody wants to edit,
    motley.torchvision.take_over()                     # these two lines at its top

    transform = motley.torchvision.fuse(transforms.Compose([...]))    # or crop, flips, jitter and the rest at once, too

Images    PIL images (L, LA, RGB, RGBA) and uint8 tensors [..., C, H, W] on the CPU or CUDA; v2 also takes what stands
          beside an image in a sample. A tensor gets the bytes that the PIL image with its pixels gets.
Samples   of v2 may be nested. tv_tensors of masks, boxes and keypoints move with their image (torchvision's classes
          refuse them), and several images or videos of one size share a draw. Masks are filled with 0, or with what
          `fill` says for tv_tensors.Mask; boxes are as tight as motley.follow.Boxes makes them, and none is dropped
          (v2.SanitizeBoundingBoxes does that); keypoints are continuous; integer boxes and keypoints become float32.
Draws     As in torchvision, all images of a tensor share one draw: a clip [T, C, H, W] does not flicker. Each call
          takes a new seed from torch's generator, so torch.manual_seed() makes a run repeatable and a DataLoader's
          workers differ; ranks with equal seeds differ, too. A policy's draws differ from torchvision's for the same
          generator. All other transforms draw what torchvision draws: after torch.manual_seed() a PIL image becomes
          torchvision's, byte for byte. Its `info` stays as it was, also a `transparency`, of which torchvision makes
          a grey one where it changes the saturation.
Ids       In `with motley.samples(id, epoch=3):` a call draws for that sample of the data set, whatever came before:
          see motley.samples. `seed`, which these classes take beside torchvision's arguments, makes two runs differ
          there; without motley.samples, the transform then counts its calls. With an id for each image along its first
          axis, each image of a batch gets a separate draw. Equal ids draw alike, and so do two calls for one sample: a
          contrastive pair needs motley.torch.Augmented(views=2). A script's transforms draw what fuse() of them draws,
          but for the noise of RandomErasing(value="random"), which lies in the same box.
AugMix    is mixed as torchvision does. Its chains have the pixels of Pillow, while torchvision runs its kernels for
          tensors there, so interpolated warps, color, contrast and sharpness differ by a rounding. take_over() leaves
          torchvision's own AugMix alone for that reason.
Else      What Motley does not implement bit for bit (float images, other modes, policies with Lanczos, nearest or
          antialias=False on tensors, a subclass with other operations) runs in torchvision, and so do transforms that
          are traced. The logger "motley.torchvision" says so, once for each reason.
Scripts   torch.jit.script compiles a transform to an operator, with the draws and the bytes of the transform itself. A
          program that loads such a module has to import motley.torchvision. Images of other types than uint8, and
          subclasses, are scripted as torchvision's, and so are RandomHorizontalFlip and RandomErasing, whose pixels
          are torchvision's."""
import functools
import inspect
import json
import types
from multiprocessing import context as _processes
from typing import TYPE_CHECKING, Any

import PIL.Image
import torch
from torchvision import transforms as _v1
from torchvision.transforms import AutoAugmentPolicy, InterpolationMode

from motley import ArgumentError, Policy, Transform
from motley._native import seed_given
from motley.policy import INTERPOLATIONS, interpolation_number
from motley.samples import Lineage, samples_of, torch_seed
from motley.torchvision import following, recipe
from motley.torchvision.pixels import NotOurs as _NotOurs
from motley.torchvision.pixels import channels_of, ids_for, tv_tensors
from motley.torchvision.pixels import say as _say
from motley.torchvision.pixels import v2 as _v2

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "ColorJitter", "GaussianBlur", "InterpolationMode",
           "RandAugment", "RandomErasing", "RandomGrayscale", "RandomHorizontalFlip", "RandomResizedCrop", "Resize",
           "TrivialAugmentWide", "fuse", "hand_back", "take_over"]

_MOST_BINS = 148  # torchvision rounds bits otherwise from its division than from the level, with some counts past this
_MOST_OPS = 16


# ---- which policy a transform is ----

def _level_value(level, bins):
    """The threshold that v2 gives solarize at a level: 255.0 * torch.linspace(1, 0, bins)[level], as its vectorised
    kernels round it. (v1 and our files have torch.linspace(255, 0, bins).)"""
    step = torch.tensor(-1.0) / (bins - 1)
    exact = step.double() * level + 1 if level < bins // 2 else -step.double() * (bins - 1 - level)
    return 255.0 * float(exact.float())  # both are exact in binary64, so they are rounded once, as an fma rounds


def _v2_branches(policy, bins):
    """The branches of `policy` with the thresholds of v2. Each drawn level's threshold gets a separate branch."""
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
    return Transform(policy.change(branches=_v2_branches(policy, bins or 10)) if v2 else policy, stream=0)


_AUGMIX_BINS = 10
_ALL_OPS = ("brightness", "color", "contrast", "sharpness")  # what all_ops adds


@functools.lru_cache(maxsize=64)
def _augmix_stage(severity, width, depth, alpha, all_ops, interpolation, fill, v2):
    """Each op at each of the first `severity` bins."""
    branches = []
    for branch in Policy.builtin("augmix").branches:
        (step,) = branch["steps"]
        if step["op"] in _ALL_OPS and not all_ops:
            continue
        if "level" not in step:
            branches.append({"weight": severity, "steps": [step]})
        elif step["level"] == 0:
            branches += [{"steps": [{**step, "level": level}]} for level in range(severity)]
    policy = Policy.builtin("augmix").change(repeat=depth if depth > 0 else None, branches=branches, fill=fill,
                                             interpolation=interpolation,
                                             augmix={"width": width, "alpha": alpha, "form": "one_sum"})
    return Transform(policy.change(branches=_v2_branches(policy, _AUGMIX_BINS)) if v2 else policy, stream=0)


def _fill_of(fill, channels):
    """torchvision's fill as a policy's: a byte for every channel, or one for each."""
    if fill is None:
        return 0
    values = [fill] if isinstance(fill, (int, float)) else list(fill)
    if len(values) not in (1, channels):
        wanted = "1" if channels == 1 else f"1 or {channels}"
        raise ValueError(f"fill has {len(values)} values, want {wanted}, one for each channel of the image")
    if len(values) == 2:
        raise _NotOurs("a fill for grey and one for alpha")
    values = tuple(min(max(int(v), 0), 255) for v in values)
    return values[0] if len(values) == 1 else values


_stages = {}  # what a policy depends on -> Transform


def _stage_of(transform, v2, image, channels):
    """The stage of a transform's arguments as they are now."""
    own = vars(transform)
    fill = own["_fill" if v2 else "fill"]
    if isinstance(fill, dict):  # v2: by type of image
        fill = fill.get(type(image), fill.get("others"))
    if isinstance(fill, list):
        fill = tuple(fill)
    key = (type(transform), v2, channels, fill, own["interpolation"], own.get("num_ops"), own.get("magnitude"),
           own.get("num_magnitude_bins"), own.get("policy"), *map(own.get, _AUGMIX))
    stage = _stages.get(key)
    if stage is None:
        if len(_stages) >= _STAGES_KEPT:
            _stages.clear()
        stage = _stages[key] = _new_stage(transform, v2, channels, fill)
    return stage


def _new_stage(transform, v2, channels, fill):
    cls = _class_of(transform)
    for name in _OVERRIDES:
        if getattr(type(transform), name, None) is not getattr(cls, name, None):
            raise _NotOurs(f"{type(transform).__name__} defines {name} itself")
    try:
        interpolation = INTERPOLATIONS[interpolation_number(transform.interpolation)]
    except ArgumentError:
        raise _NotOurs(f"interpolation {transform.interpolation}") from None
    fill = _fill_of(fill, channels)
    repeat = getattr(transform, "num_ops", None)
    bins = getattr(transform, "num_magnitude_bins", None)
    if repeat is not None and repeat > _MOST_OPS:
        raise _NotOurs(f"num_ops is {repeat}, Motley has up to {_MOST_OPS}")
    if bins is not None and not 2 <= bins <= _MOST_BINS:
        raise _NotOurs(f"num_magnitude_bins is {bins}, Motley has 2 to {_MOST_BINS} for torchvision")
    if cls.__name__ == "AugMix":
        try:
            return _augmix_stage(*map(vars(transform).get, _AUGMIX), interpolation, fill, v2)
        except ArgumentError as error:  # more or longer chains than Motley mixes
            raise _NotOurs(str(error)) from None
    name = _NAMES[cls.__name__]
    if cls.__name__ == "AutoAugment":
        name += transform.policy.value
    level = getattr(transform, "magnitude", None)
    if level is not None and not -bins <= level < bins:
        raise IndexError(f"magnitude is {level}, want 0..{bins - 1}")
    return _stage(name, repeat, bins, level % bins if level is not None else None, interpolation, fill, v2)


# ---- running it ----

def _stage_for(transform, image, v2):
    """The stage for `image`; None where there is nothing to do. Raises _NotOurs when torchvision has to do it."""
    if isinstance(image, following.FOLLOWERS):
        raise TypeError(f"Inputs of type {type(image).__name__} are not supported by {type(transform).__name__}(): "
                        "want an image or a video")
    if isinstance(image, torch.Tensor) and image.dtype == torch.uint8 and not image.numel():
        return None
    stage = _stage_of(transform, v2, image, channels_of(image))
    return None if vars(transform).get("num_ops") == 0 else stage


def _run(stage, image, samples, v2):
    """`image` augmented; samples: samples_of's."""
    if stage is None:
        return image
    seed, ids, rest = samples
    if isinstance(image, PIL.Image.Image):
        return stage(image, seed=seed, sample_ids=ids, **rest)
    plain = image.as_subclass(torch.Tensor)
    if image.ndim == 3 and not hasattr(ids, "__len__"):
        out = stage(plain, seed=seed, sample_ids=ids, **rest)
    else:
        batch, ids = plain.reshape(-1, *image.shape[-3:]), ids_for(ids, image.shape[:-3])
        out = stage(batch, seed=seed, sample_ids=ids, **rest).reshape(image.shape)
    return tv_tensors.wrap(out, like=image) if v2 and isinstance(image, tv_tensors.TVTensor) else out


def _augment(transform, image, v2=False):
    """`image` augmented. Raises _NotOurs when torchvision has to do it."""
    stage = _stage_for(transform, image, v2)
    return _run(stage, image, samples_of(transform, torch_seed), v2)


def _augment_sample(transform, inputs):
    """The same for what a transform of v2 is called with."""
    sample = following.Sample(transform, inputs)
    stages = [_stage_for(transform, image, True) for image in sample.images]
    samples = samples_of(transform, torch_seed)
    images = [_run(stage, image, samples, True) for stage, image in zip(stages, sample.images)]
    return sample.with_images(images, stages[0], samples)


def _run_v1(self, img):
    try:
        return _augment(self, img)
    except _NotOurs as found:
        why = str(found)
    _say(type(self).__name__, why)
    return _THEIRS[_class_of(self)](self, img)


def _forward_v1(self, img: torch.Tensor) -> torch.Tensor:
    if torch.jit.is_scripting():  # a subclass with its own operations: torch.jit.script compiles this branch only
        return self._torchvision_forward(img)
    else:
        return _run_v1(self, img)


def _forward_v2(self, *inputs):
    try:
        if len(inputs) == 1 and (isinstance(inputs[0], PIL.Image.Image) or type(inputs[0]) in recipe.PLAIN):
            return _augment(self, inputs[0], v2=True)
        return _augment_sample(self, inputs)
    except _NotOurs as found:
        why = str(found)
    _say(type(self).__name__, why)
    return _THEIRS[_class_of(self)](self, *inputs)


# ---- torch.jit.script ----

class Scripted(torch.nn.Module):
    """What torch.jit.script compiles in a policy's place: a call of an operator, which runs the transform."""

    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, img: torch.Tensor) -> torch.Tensor:
        return torch.ops.motley_torchvision.augment(img, self.calls, self.settings)


class ScriptedBytes(Scripted):
    """The same for a transform that torchvision also has for images of other types, with gradients."""

    def __init__(self, settings, theirs):
        super().__init__(settings)
        self.theirs = theirs

    def forward(self, img: torch.Tensor) -> torch.Tensor:
        if img.dtype == torch.uint8:
            return torch.ops.motley_torchvision.augment(img, self.calls, self.settings)
        return self.theirs(img)


@functools.lru_cache(maxsize=None)
def _plain_class(cls):
    """A class of v1 as it was before take_over()."""
    forward = recipe.THEIRS[cls]["forward"]
    return type(cls.__name__, (cls,), {"forward": forward, "__prepare_scriptable__": lambda self: self})


def _prepare_recipe(self):
    cls = next(base for base in type(self).__mro__ if base in recipe.OURS)
    kept = type(self) is cls or type(self).__module__.startswith("motley.torchvision")
    if cls in _V1 and not kept:
        return self  # its own methods are compiled
    theirs = self if cls in _V1 else cls._v1_transform_cls(**self._extract_params_for_v1_transform())
    plain_class = _plain_class(next(base for base in type(theirs).__mro__ if base in recipe.OURS))
    plain = plain_class.__new__(plain_class)
    vars(plain).update({name: value for name, value in vars(theirs).items() if name not in ("_seed", "_calls")})
    seed = vars(self).get("_seed")
    if not kept or (seed is None and recipe.KINDS[cls.__name__].drawn is None):  # then its pixels are torchvision's own
        return plain
    names = [name for name in inspect.signature(cls.__init__).parameters if name in vars(self)]
    arguments = {name: _plain_value(getattr(self, name)) for name in names}
    settings = json.dumps([cls.__name__, cls not in _V1, arguments, seed])
    return ScriptedBytes(settings, plain) if seed is None else Scripted(settings)


def _plain_value(value):
    value = getattr(value, "value", value)  # of an enum
    return value.tolist() if hasattr(value, "tolist") else value


def _prepare_scriptable(self):
    cls, own = _class_of(self), vars(self)
    if any(getattr(type(self), name, None) is not getattr(cls, name, None) for name in _OVERRIDES):
        return self
    if isinstance(own["fill"], dict):
        raise ValueError(f"{type(self).__name__}() can not be scripted for when `fill` is a dictionary.")
    names = ("num_ops", "magnitude", "num_magnitude_bins", "policy", "interpolation", "fill", *_AUGMIX)
    arguments = {name: getattr(own[name], "value", own[name]) for name in names if name in own}
    return Scripted(json.dumps([cls.__name__, cls.__module__.split(".")[2] == "v2", arguments, own.get("_seed")]))


@functools.lru_cache(maxsize=64)
def _of_settings(settings):
    name, v2, arguments, seed = json.loads(settings)
    for key, enum in (("policy", AutoAugmentPolicy), ("interpolation", InterpolationMode)):
        if isinstance(arguments.get(key), str):
            arguments[key] = enum(arguments[key])
    cls = getattr(_v2 if v2 else _v1, name)
    if name == "ColorJitter":  # which keeps None where a change is off, and takes 0
        arguments = {change: 0 if given is None else given for change, given in arguments.items()}
    elif name == "RandomErasing" and arguments["value"] is None:
        arguments["value"] = "random"
    transform = recipe_class(cls)(**arguments) if cls in recipe.OURS else cls(**arguments)
    transform._seed = seed
    return transform, type(transform).forward if cls in recipe.OURS else _forward_v2 if v2 else _run_v1


def _augment_scripted(image, calls, settings):
    transform, run = _of_settings(settings)
    if transform._seed is None:
        out = run(transform, image)
    else:
        transform._calls = int(calls)
        out = run(transform, image)
        calls.fill_(transform._calls)
    return out.clone() if out is image else out


# `calls` may be written to, so that the compiler does not take two calls on one image for one.
_operators = torch.library.Library("motley_torchvision", "DEF")
_operators.define("augment(Tensor image, Tensor(a!) calls, str settings) -> Tensor")
_operators.impl("augment", _augment_scripted, "CompositeExplicitAutograd")


_STAGES_KEPT = 256
_OVERRIDES = ("_augmentation_space", "_AUGMENTATION_SPACE", "_get_policies", "_apply_image_or_video_transform",
              "_flatten_and_extract_image_or_video", "_unflatten_and_insert_image_or_video", "_needs_transform_list")
_NAMES = {"RandAugment": "rand_augment", "TrivialAugmentWide": "trivial_augment_wide", "AutoAugment": "auto_augment_",
          "AugMix": "augmix"}
_AUGMIX = ("severity", "mixture_width", "chain_depth", "alpha", "all_ops")  # AugMix's arguments
_OURS = {getattr(module, name): forward for module, forward in ((_v1, _forward_v1), (_v2, _forward_v2)) if module
         for name in _NAMES}
_THEIRS = {cls: cls.forward for cls in _OURS}
_V1 = {getattr(_v1, name) for name in recipe.KINDS}
_RECIPES = {cls: {**ours, "__prepare_scriptable__": _prepare_recipe} if cls.__name__ in recipe.KINDS else ours
            for cls, ours in recipe.OURS.items()}


def _named(forward):
    """A copy of torchvision's forward for torch.jit.script, which takes a method's name from the function."""
    copy = types.FunctionType(forward.__code__, forward.__globals__, "_torchvision_forward", forward.__defaults__)
    copy.__annotations__ = forward.__annotations__
    return copy


def _forward_of(cls):
    """The forward of a class of torchvision's, also after take_over()."""
    return _THEIRS.get(cls) or recipe.THEIRS.get(cls, {}).get("forward") or cls.forward


def _class_of(transform):
    return next(cls for cls in type(transform).__mro__ if cls in _OURS)


def take_over():
    """From here on torchvision's own transforms of which Motley has a class run on Motley, v1 and v2, the objects that
    exist already included. A process that is spawned with one of them (a DataLoader's worker, with its data set) takes
    over as well; one that is spawned without has to call this itself. Not AugMix, whose pixels are not torchvision's to
    the bit."""
    hand_back()
    for cls, ours in {**{cls: {"forward": forward, "__prepare_scriptable__": _prepare_scriptable}
                         for cls, forward in _OURS.items() if cls.__name__ != "AugMix"}, **_RECIPES}.items():
        _replaced[cls] = {name: vars(cls).get(name) for name in (*ours, "_torchvision_forward", "__reduce_ex__")}
        for name, method in {**ours, "_torchvision_forward": _named(_forward_of(cls)),
                             "__reduce_ex__": _reduce_ex}.items():
            setattr(cls, name, method)


_replaced = {}  # torchvision's class -> its own methods, None for those that it had not


def hand_back():
    """Ends what take_over() began."""
    while _replaced:
        cls, methods = _replaced.popitem()
        for name, method in methods.items():
            if method is None:
                delattr(cls, name)
            else:
                setattr(cls, name, method)


def _reduce_ex(self, protocol):
    """Pickles as usual; for a process that is being spawned, unpickling there takes over first."""
    function, arguments, *rest = object.__reduce_ex__(self, protocol)
    if _processes.get_spawning_popen() is None:
        return (function, arguments, *rest)
    return (_taken_over, (function, arguments, Lineage()), *rest)


def _taken_over(function, arguments, lineage):
    take_over()
    return function(*arguments)


# ---- the classes ----

class Seeded:
    """What Motley's classes add to torchvision's: `seed`, and what torch.jit.script needs."""

    if TYPE_CHECKING:  # torchvision's arguments, and

        def __init__(self, *args: Any, seed: int | None = None, **kwargs: Any) -> None: ...

    __jit_unused_properties__ = ["seed"]
    __prepare_scriptable__ = _prepare_scriptable

    def __init_subclass__(cls):
        super().__init_subclass__()
        theirs = cls.__mro__[2]
        if Seeded in cls.__bases__:
            def __init__(self, *args, seed=None, **kwargs):
                theirs.__init__(self, *args, **kwargs)
                self.seed = seed
            signature = inspect.signature(theirs.__init__)
            keyword = inspect.Parameter("seed", inspect.Parameter.KEYWORD_ONLY, default=None)
            __init__.__signature__ = signature.replace(parameters=[*signature.parameters.values(), keyword])
            cls.__init__, cls._torchvision_forward = __init__, _named(_forward_of(theirs))

    @property
    def seed(self):
        """Makes two runs differ where motley.samples() says which samples are drawn for. Without motley.samples() the
        transform then counts its calls, separately in each worker and rank; transforms of equal seeds draw alike. None:
        each call takes a new seed from torch's generator."""
        return self._seed

    @seed.setter
    def seed(self, seed):
        self._seed = None if seed is None else seed_given(seed)  # a name that torchvision neither prints nor hands on
        self._lineage = Lineage()

    def __repr__(self):
        shown = super().__repr__()
        return shown if self.seed is None else f"{shown[:-1]}{', ' * (shown[-2] != '(')}seed={self.seed})"


class RandAugment(Seeded, _v1.RandAugment):
    """torchvision's RandAugment on Motley, which also takes a `seed`."""
    forward = _forward_v1


class TrivialAugmentWide(Seeded, _v1.TrivialAugmentWide):
    """torchvision's TrivialAugmentWide on Motley, which also takes a `seed`."""
    forward = _forward_v1


class AutoAugment(Seeded, _v1.AutoAugment):
    """torchvision's AutoAugment on Motley, which also takes a `seed`."""
    forward = _forward_v1


class AugMix(Seeded, _v1.AugMix):
    """torchvision's AugMix on Motley, which also takes a `seed`. Its chains have Pillow's pixels, see above."""
    forward = _forward_v1


@functools.lru_cache(maxsize=None)
def recipe_class(theirs):
    return of_recipe(theirs, __name__)


def of_recipe(theirs: Any, module: str) -> Any:
    """The class that stands for a class of torchvision's of the same name; it also takes a `seed` if it draws."""
    draws = theirs.__name__ != "Resize"
    text = f"torchvision's {theirs.__name__} on Motley{', which also takes a `seed`' if draws else ''}."
    made = {**recipe.OURS[theirs], "__module__": module, "__doc__": text}
    if theirs.__name__ in recipe.KINDS:
        made["__prepare_scriptable__"] = _prepare_recipe
    if not draws:
        made["_torchvision_forward"] = _named(_forward_of(theirs))
    return type(theirs.__name__, (Seeded, theirs) if draws else (theirs,), made)


RandomResizedCrop = of_recipe(_v1.RandomResizedCrop, __name__)
Resize = of_recipe(_v1.Resize, __name__)
RandomHorizontalFlip = of_recipe(_v1.RandomHorizontalFlip, __name__)
ColorJitter = of_recipe(_v1.ColorJitter, __name__)
RandomGrayscale = of_recipe(_v1.RandomGrayscale, __name__)
GaussianBlur = of_recipe(_v1.GaussianBlur, __name__)
RandomErasing = of_recipe(_v1.RandomErasing, __name__)

from motley.torchvision.fused import fuse  # noqa: E402, which needs what stands above
