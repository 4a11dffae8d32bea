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

from __future__ import annotations

import functools
import inspect
import json
import types
from multiprocessing import context as _processes
from typing import TYPE_CHECKING, Any

import torch
from torchvision import transforms as _v1
from torchvision.transforms import AutoAugmentPolicy, InterpolationMode

from motley._native import seed_given
from motley.samples import Lineage, watch_loaders
from motley.torchvision import policies, recipe
from motley.torchvision.fused import fuse
from motley.torchvision.pixels import MAKE_PARAMS, MIXERS, POLICIES, THEIRS, TRANSFORM, NotOurs, class_of
from motley.torchvision.pixels import say as _say
from motley.torchvision.pixels import v2 as _v2

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "ColorJitter", "GaussianBlur", "InterpolationMode",
           "RandAugment", "RandomErasing", "RandomGrayscale", "RandomHorizontalFlip", "RandomResizedCrop", "Resize",
           "TrivialAugmentWide", "fuse", "hand_back", "take_over"]  # fmt: skip


# ---- what takes the place of torchvision's methods ----


def _ours_or_theirs(self: Any, method: Any, *arguments: Any) -> Any:
    """What our method makes of a transform's inputs, or torchvision's."""
    cls = class_of(type(self))
    try:
        return getattr(policies if cls.__name__ in POLICIES else recipe, method)(self, *arguments)
    except NotOurs as found:
        why = str(found)
    _say(type(self).__name__, why)
    return THEIRS[cls]["forward"](self, *arguments)


def _forward_v1(self: Any, img: torch.Tensor) -> torch.Tensor:
    if torch.jit.is_scripting():  # a subclass with its own operations: torch.jit.script compiles this branch only
        return self._torchvision_forward(img)
    else:
        return _ours_or_theirs(self, "augment", img)


def _forward_v2(self: Any, *inputs: Any) -> Any:
    return _ours_or_theirs(self, "augment_sample", *inputs)


# ---- torch.jit.script ----


class Scripted(torch.nn.Module):
    """What torch.jit.script compiles in a transform's place: a call of an operator, which runs the transform. theirs:
    what torchvision has for images of other types than bytes, with gradients."""

    def __init__(self, settings: Any, theirs: Any) -> None:
        super().__init__()
        self.settings, self.theirs = settings, theirs
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, img: torch.Tensor) -> torch.Tensor:
        if self.theirs is not None:
            if img.dtype != torch.uint8:
                return self.theirs(img)
        return torch.ops.motley_torchvision.augment(img, self.calls, self.settings)


@functools.lru_cache(maxsize=None)
def _plain_class(cls: Any) -> Any:
    """A class of v1 as it was before take_over()."""
    return type(cls.__name__, (cls,), {"forward": THEIRS[cls]["forward"], "__prepare_scriptable__": lambda self: self})


def _plain(transform: Any) -> Any:
    """torchvision's transform of v1 with the same arguments."""
    theirs = transform
    if class_of(type(transform)) in _V2:
        theirs = class_of(type(transform))._v1_transform_cls(**transform._extract_params_for_v1_transform())
    plain_class = _plain_class(class_of(type(theirs)))
    plain = plain_class.__new__(plain_class)
    vars(plain).update({name: value for name, value in vars(theirs).items() if name not in ("_seed", "_calls")})
    return plain


def _prepare_scriptable(self: Any) -> Any:
    cls, own, theirs = class_of(type(self)), vars(self), None
    seed = own.get("_seed")
    if cls.__name__ in POLICIES:
        if policies.overridden(self):
            return self
        if isinstance(own["fill"], dict):
            raise ValueError(f"{type(self).__name__}() can not be scripted for when `fill` is a dictionary.")
    else:
        changed = type(self) is not cls and not type(self).__module__.startswith("motley.torchvision")
        if changed and cls not in _V2:
            return self  # its own methods are compiled
        plain = _plain(self)
        if changed or (seed is None and recipe.kind_of(self).drawn is None):  # then its pixels are torchvision's own
            return plain
        theirs = plain if seed is None else None
    arguments = {name: _plain_value(own[name]) for name in inspect.signature(cls.__init__).parameters if name in own}
    return Scripted(json.dumps([cls.__name__, cls in _V2, arguments, seed]), theirs)


def _plain_value(value: Any) -> Any:
    value = getattr(value, "value", value)  # of an enum
    return value.tolist() if hasattr(value, "tolist") else value


@functools.lru_cache(maxsize=64)
def _of_settings(settings: Any) -> Any:
    name, v2, arguments, seed = json.loads(settings)
    for key, enum in (("policy", AutoAugmentPolicy), ("interpolation", InterpolationMode)):
        if isinstance(arguments.get(key), str):
            arguments[key] = enum(arguments[key])
    if name == "ColorJitter":  # which keeps None where a change is off, and takes 0
        arguments = {change: 0 if given is None else given for change, given in arguments.items()}
    elif name == "RandomErasing" and arguments["value"] is None:
        arguments["value"] = "random"
    transform = _standing_for(getattr(_v2 if v2 else _v1, name))(**arguments)
    transform._seed = seed
    return transform


def _augment_scripted(image: Any, calls: Any, settings: Any) -> Any:
    transform = _of_settings(settings)
    if transform._seed is not None:
        transform._calls = int(calls)
    out = transform.forward(image)
    if transform._seed is not None:
        calls.fill_(transform._calls)
    return out.clone() if out is image else out


# `calls` may be written to, so that the compiler does not take two calls on one image for one.
_operators = torch.library.Library("motley_torchvision", "DEF")
_operators.define("augment(Tensor image, Tensor(a!) calls, str settings) -> Tensor")
_operators.impl("augment", _augment_scripted, "CompositeExplicitAutograd")


# ---- the classes ----


def _methods(cls: Any) -> Any:
    """What takes the place of a class's own methods."""
    if cls.__name__ in MIXERS:
        return {MAKE_PARAMS: recipe.mix_params}
    forward: Any = _forward_v2 if cls in _V2 else _forward_v1
    made = {"forward": forward, "__prepare_scriptable__": _prepare_scriptable}
    if cls in _V2 and cls.__name__ not in POLICIES and recipe.KINDS[cls.__name__].drawn is not None:
        made[TRANSFORM] = recipe.transform
    return made


_V2 = {cls for cls in THEIRS if _v2 is not None and issubclass(cls, _v2.Transform)}
OURS: dict[Any, dict[str, Any]] = {cls: _methods(cls) for cls in THEIRS}


def _named(forward: Any) -> Any:
    """A copy of torchvision's forward for torch.jit.script, which takes a method's name from the function."""
    copy = types.FunctionType(forward.__code__, forward.__globals__, "_torchvision_forward", forward.__defaults__)
    copy.__annotations__ = forward.__annotations__
    return copy


class Seeded(torch.nn.Module):
    """What Motley's classes that draw add to torchvision's: `seed`."""

    if TYPE_CHECKING:  # torchvision's arguments, and

        def __init__(self: Any, *args: Any, seed: int | None = None, **kwargs: Any) -> None: ...

    __jit_unused_properties__ = ["seed"]

    @property
    def seed(self) -> Any:
        """Makes two runs differ where motley.samples() says which samples are drawn for. Without motley.samples() the
        transform then counts its calls, separately in each worker and rank; transforms of equal seeds draw alike. None:
        each call takes a new seed from torch's generator."""
        return self._seed

    @seed.setter
    def seed(self, seed: Any) -> None:
        self._seed = None if seed is None else seed_given(seed)  # a name that torchvision neither prints nor hands on
        self._lineage = Lineage()

    def __repr__(self) -> Any:
        shown = super().__repr__()
        return shown if self.seed is None else f"{shown[:-1]}{', ' * (shown[-2] != '(')}seed={self.seed})"


def _seeded(theirs: Any) -> Any:
    """Its __init__ with one more argument."""

    def __init__(self: Any, *args: Any, seed: int | None = None, **kwargs: Any) -> None:
        theirs.__init__(self, *args, **kwargs)
        self.seed = seed

    signature = inspect.signature(theirs.__init__)
    keyword = inspect.Parameter("seed", inspect.Parameter.KEYWORD_ONLY, default=None)
    made: Any = __init__
    made.__signature__ = signature.replace(parameters=[*signature.parameters.values(), keyword])
    return made


def standing_for(theirs: Any, module: str) -> type[Seeded]:
    """The class that stands for a class of torchvision's of the same name; it also takes a `seed` if it draws."""
    name, draws = theirs.__name__, theirs.__name__ != "Resize"
    text = f"torchvision's {name} on Motley{', which also takes a `seed`' if draws else ''}."
    text += " Its chains have Pillow's pixels, see motley.torchvision." if name == "AugMix" else ""
    made = {**OURS[theirs], "__module__": module, "__doc__": text}
    made["_torchvision_forward"] = _named(THEIRS[theirs]["forward"])
    if draws:
        made["__init__"] = _seeded(theirs)
    return type(name, (Seeded, theirs) if draws else (theirs,), made)


@functools.lru_cache(maxsize=None)
def _standing_for(theirs: Any) -> Any:
    return standing_for(theirs, __name__)


RandAugment = standing_for(_v1.RandAugment, __name__)
TrivialAugmentWide = standing_for(_v1.TrivialAugmentWide, __name__)
AutoAugment = standing_for(_v1.AutoAugment, __name__)
AugMix = standing_for(_v1.AugMix, __name__)
RandomResizedCrop = standing_for(_v1.RandomResizedCrop, __name__)
Resize: Any = standing_for(_v1.Resize, __name__)
RandomHorizontalFlip = standing_for(_v1.RandomHorizontalFlip, __name__)
ColorJitter = standing_for(_v1.ColorJitter, __name__)
RandomGrayscale = standing_for(_v1.RandomGrayscale, __name__)
GaussianBlur = standing_for(_v1.GaussianBlur, __name__)
RandomErasing = standing_for(_v1.RandomErasing, __name__)


# ---- torchvision's own classes ----


def take_over() -> None:
    """From here on torchvision's own transforms of which Motley has a class run on Motley, v1 and v2, the objects that
    exist already included. A process that is spawned with one of them (a DataLoader's worker, with its data set) takes
    over as well; one that is spawned without has to call this itself. Not AugMix, whose pixels are not torchvision's to
    the bit."""
    hand_back()
    watch_loaders()
    for cls, ours in OURS.items():
        if cls.__name__ == "AugMix":
            continue
        made = {**ours, "_torchvision_forward": _named(THEIRS[cls]["forward"]), "__reduce_ex__": _reduce_ex}
        _replaced[cls] = {name: vars(cls).get(name) for name in made}
        for name, method in made.items():
            setattr(cls, name, method)


_replaced: dict[Any, dict[str, Any]] = {}  # torchvision's class -> its own methods, None for those that it had not


def hand_back() -> None:
    """Ends what take_over() began."""
    while _replaced:
        cls, methods = _replaced.popitem()
        for name, method in methods.items():
            if method is None:
                delattr(cls, name)
            else:
                setattr(cls, name, method)


def _reduce_ex(self: Any, protocol: Any) -> Any:
    """Pickles as usual; for a process that is being spawned, unpickling there takes over first."""
    reduced: Any = object.__reduce_ex__(self, protocol)
    function, arguments, *rest = reduced
    if _processes.get_spawning_popen() is None:
        return (function, arguments, *rest)
    return (_taken_over, (function, arguments, Lineage()), *rest)


def _taken_over(function: Any, arguments: Any, lineage: Any) -> Any:
    take_over()
    return function(*arguments)
