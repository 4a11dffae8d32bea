# SPDX-License-Identifier: Apache-2.0
"""A script's Compose([...]) on Motley: each run of transforms that a policy with stages can say is one call.

What torchvision's and timm's transforms are is read off their attributes. A policy's stages have a fixed order, so a
run ends before the first transform that would break it, and another one may begin there."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import PIL
import PIL.Image
import torch
from torch.utils._pytree import tree_map
from torchvision import transforms as _v1

import motley
from motley._random import fresh
from motley._core import lib
from motley._resize import FILTERS, order_of
from motley.follow import Kind
from motley.policy import filter_number
from motley.torchvision.images import (
    IMAGES, NotOurs, augmented, augmented_sample, channels_of, is_image, is_v2, kind_of, like, say,
    tv_tensors,
)  # fmt: skip
from motley.torchvision.policies import fill_of_masks, policy_of

Transforming = Callable[..., Any]  # one of torchvision's transforms, or whatever a script composes

ORDER = order_of(PIL.__version__)
RANKS = {
    "to_rgb": -1, "random_resized_crop": 0, "resize": 0, "center_crop": 1, "random_crop": 1, "flip": 2, "policy": 3,
    "jitter": 3, "grayscale": 3, "blur": 3, "output": 4, "erase": 5,
}  # fmt: skip
KINDS = (*IMAGES, PIL.Image.Image, torch.Tensor)
SINGLE = ("random_resized_crop", "resize", "center_crop", "random_crop", "output", "erase")


# ---- what scripts see ----


class Fused:
    """What Compose of v1 and of v2 have beside torchvision's: see fuse().

    Attributes:
        not_taken: [(transform, why)] of those that run as they are.
    """

    transforms: Sequence[Transforming]
    not_taken: list[tuple[Transforming, str]]
    alpha = False  # of those that were unpickled from torchvision's own Compose
    _parts: list[Run | Transforming]
    _fused: list[Transforming]

    if TYPE_CHECKING:

        def __call__(self, *inputs: Any) -> Any: ...

    def __init__(self, transforms: Sequence[Transforming], *, alpha: bool = False) -> None:
        super().__init__(transforms)  # type: ignore[call-arg]
        self.alpha = alpha or _has_alpha(transforms)
        self._parts_now()

    def _parts_now(self) -> list[Run | Transforming]:
        """What runs; of a list that was changed, or unpickled from torchvision's own Compose, anew."""
        if vars(self).get("_fused") != [*self.transforms]:
            self._fused = [*self.transforms]
            self._parts, self.not_taken = _parts_of(self._fused, self.alpha)
            for transform, why in self.not_taken:
                say(type(transform).__name__, why, "is not fused")
        return self._parts

    @property
    def transform(self) -> motley.Transform:
        """The motley.Transform that all of them are, for whole batches, sample ids and loaders.

        Raises:
            motley.ArgumentError: They are not one call.
        """
        parts = self._parts_now()
        if len(parts) == 1 and isinstance(parts[0], Run):
            return parts[0].transform
        shown = "; ".join(f"{type(transform).__name__}: {why}" for transform, why in self.not_taken)
        raise motley.ArgumentError(f"the transforms are {len(parts)} calls, want one: {shown or 'of their order'}")


class Compose(Fused, _v1.Compose):
    """torchvision.transforms.Compose, fused when it is made, and again when its list was changed: see fuse()."""

    def __call__(self, img: object) -> Any:
        for part in self._parts_now():
            img = part(img)
        return img


def fuse(compose: Transforming | Sequence[Transforming], *, alpha: bool = False) -> Fused:
    """The same transforms, with as many as possible done at once by Motley.

        transform = motley.torchvision.fuse(transforms.Compose([
            transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.RandAugment(),
            transforms.ToTensor(), transforms.Normalize(mean, std), transforms.RandomErasing(0.25)]))
        print(transform.not_taken)                  # [(transform, why)], here none

    The result is a Compose, of v2 if a transform is. It takes what they take, and gives what torchvision gives on PIL
    images for the same draw, bit for bit. (Images keep their alpha, which torchvision's hue makes opaque. A blur's
    weights depend on how torch was built in their last bits, so that a few bytes differ by 1.) A uint8 tensor gets the
    bytes of the PIL image with its pixels, of 2 or 4 channels band by band; its images share a draw. In samples of v2,
    masks, boxes and keypoints move with their image, under policies, too. Each call takes a seed from torch's
    generator, from which torchvision would make other draws. `result.transform` is the motley.Transform, which takes
    whole batches and sample ids.

    An image that Motley does not take (of floats, of other modes, smaller than its crop) goes through torchvision's
    transforms; the logger "motley.torchvision" says so once.

    Args:
        compose: torchvision's Compose, v1 or v2, a transform or a list of them, of torchvision, timm or Motley; or what
            `weights.transforms()` makes for a classification model.
        alpha: Whether the last of a tensor's 2 or 4 channels is alpha, by which colours are multiplied before pixels
            are mixed. False: they are bands. A Compose of Motley's among `compose` that has alpha says so for all of
            them. PIL images of modes LA and RGBA have alpha. Transforms in `not_taken` know bands only.

    Raises:
        motley.ArgumentError: None of them can be taken, and why.
    """
    given = compose if isinstance(compose, (list, tuple, torch.nn.ModuleList)) else [compose]
    listed, alpha = [*_flat(given)], alpha or _has_alpha(given)
    parts, not_taken = _parts_of(listed, alpha)
    if len(not_taken) == len(parts):
        reasons = "; ".join(f"{type(transform).__name__}: {why}" for transform, why in not_taken)
        raise motley.ArgumentError(f"no transform can be taken: {reasons or 'there is none'}")
    if any(map(is_v2, listed)):
        from motley.torchvision.v2 import Compose as Compose2

        result: Fused = Compose2(listed, alpha=alpha)
        return result
    return Compose(listed, alpha=alpha)


def _has_alpha(given: Any) -> bool:
    """Whether there is a Compose of Motley's among given transforms that has alpha."""
    listed = isinstance(given, (list, tuple, torch.nn.ModuleList, torch.nn.Sequential))
    inner = given if listed else getattr(given, "transforms", ())
    return (isinstance(given, Fused) and given.alpha) or any(map(_has_alpha, inner))


def _flat(transforms: Any) -> Iterator[Transforming]:
    for transform in transforms:
        if type(transform).__name__ in ("Compose", "Sequential") and _is_known(transform, "torch"):
            yield from _flat(getattr(transform, "transforms", transform))
        else:
            yield transform


def _parts_of(
    transforms: Sequence[Transforming], alpha: bool
) -> tuple[list[Run | Transforming], list[tuple[Transforming, str]]]:
    """Runs and the transforms between them; and these, with why they are."""
    listed, i, ended = [*_flat(transforms)], 0, ""
    parts: list[Run | Transforming] = []
    not_taken: list[tuple[Transforming, str]] = []
    while i < len(listed):
        scaled = any(isinstance(part, Run) and part.scaled for part in parts)
        run, end, why = Run(scaled, alpha), i, ""
        try:
            while end < len(listed):
                run.take(listed[end])
                end += 1
        except NotOurs as found:
            why = str(found)
        if end > i:
            try:
                run.finish()
            except NotOurs as found:
                why, end = str(found), i
        if end > i:
            parts.append(run)
            i, ended = end, why
        else:
            parts.append(listed[i])
            not_taken.append((listed[i], ended if scaled and ended else why))
            i, ended = i + 1, ""
    return parts, not_taken


# ---- transforms that are one call ----


@functools.lru_cache(maxsize=256)
def _policy_of(text: str) -> motley.Policy:
    return motley.Policy(text)


class Run:
    """Transforms in a row, as the stages of a policy. behind_scaled: its images are no bytes any more. alpha: the last
    of 2 or 4 channels is alpha."""

    transform: motley.Transform
    opaque: motley.Transform  # of images of 1 or 3 channels

    def __init__(self, behind_scaled: bool, alpha: bool) -> None:
        self.transforms: list[Transforming] = []
        self.stages: list[tuple[str, dict[str, Any]]] = []  # (name, settings)
        self.behind_scaled, self.alpha = behind_scaled, alpha
        self.scaled = False  # whether ToTensor or its like has been
        self.began_as_tensor = False  # by ToImage or its like, before everything else
        self.to_image = False  # whether a tv_tensors.Image comes out
        self.to_pure = False  # whether ToPureTensor has been
        self.fill_of_masks: float = 0
        self.refused: dict[type, str] = {}  # kinds of images that torchvision does otherwise, and why
        self._said = False

    # ---- what is taken ----

    def text(self) -> str:
        return json.dumps({"motley": 1, "name": "fused", "stages": [{name: how} for name, how in self.stages]})

    def take(self, transform: Transforming) -> None:
        """One more. Raises NotOurs, and is as it was."""
        before = {**vars(self), "stages": [*self.stages], "refused": {**self.refused}}
        try:
            self.read(transform)
            if self.stages != before["stages"] and not self._lacks_crop():
                _policy_of(self.text())
            if self.began_as_tensor and torch.Tensor in self.refused:
                raise NotOurs(self.refused[torch.Tensor])
        except (NotOurs, motley.PolicyError) as error:
            vars(self).update(before)
            sentences = [problem[2] for problem in error.problems] if isinstance(error, motley.PolicyError) else []
            raise NotOurs("; ".join(dict.fromkeys(sentences)) or str(error)) from None
        self.transforms.append(transform)

    def read(self, transform: Transforming) -> None:
        """Its stages."""
        if self.behind_scaled:
            raise NotOurs("its images are no bytes any more")
        if self.to_pure:
            raise NotOurs("it comes behind ToPureTensor")
        names = [cls.__name__ for cls in type(transform).__mro__]
        take = next((READERS[name] for name in names if name in READERS), None)
        if isinstance(transform, motley.Transform):
            take = _motley_policy
        if take is None or not _is_known(transform):
            raise NotOurs("Motley has no such stage")
        take(self, transform)

    def finish(self) -> None:
        names = {name for name, _ in self.stages}
        if not names:
            raise NotOurs("there is nothing to do at once")
        if self._lacks_crop():
            raise NotOurs("it leaves images of many sizes, and no crop stands behind it")
        if self.began_as_tensor and not {"output", "erase"} & names:
            self.add("output", type="u8")
        self.opaque = self.transform = motley.Transform(_policy_of(self.text()))
        if self.alpha:
            self.transform = motley.Transform(self.opaque.policy, alpha=True)

    def _lacks_crop(self) -> bool:
        resize = dict(self.stages).get("resize", {})
        return isinstance(resize.get("size"), int) and not {"center_crop", "random_crop"} & {*dict(self.stages)}

    def add(self, stage: str, **settings: object) -> None:
        for other, _ in self.stages:
            if RANKS[other] > RANKS[stage] or (other == stage and stage in SINGLE):
                raise NotOurs(f"'{stage}' cannot stand behind '{other}'")
            if other != stage and RANKS[other] == RANKS[stage] < RANKS["flip"]:
                raise NotOurs(f"there is another crop{' or resize' * (RANKS[stage] == 0)} before it")
        self.stages.append((stage, settings))

    # ---- calls ----

    def __call__(self, *inputs: object) -> Any:
        try:
            return self._augmented(inputs)
        except (NotOurs, motley.ArgumentError, motley.UnsupportedError) as error:
            why = str(error)
        if not self._said:  # once, as sentences of images have their sizes in them
            say(" and ".join(type(transform).__name__ for transform in self.transforms), why)
            self._said = True
        return composed(self.transforms, inputs)

    def _augmented(self, inputs: tuple[Any, ...]) -> Any:
        if len(inputs) == 1 and is_image(inputs[0]):
            return self._finished(augmented(self._for(inputs[0]), inputs[0], fresh()), inputs[0])
        if not all(map(is_v2, self.transforms)):
            raise NotOurs(f"an input of type {type(inputs[0]).__name__}")
        result = augmented_sample(inputs, self._for, self._kind_for, self._finished)
        return tree_map(_pure, result) if self.to_pure else result

    def _for(self, image: Any) -> motley.Transform:
        """The transform of an image. Raises NotOurs for those that torchvision does otherwise."""
        channels = channels_of(image)
        if why := self.refused.get(next(kind for kind in KINDS if isinstance(image, kind))):
            raise NotOurs(why)
        return self.opaque if channels % 2 else self.transform

    def _kind_for(self, entry: Any) -> Kind:
        """How what follows an image moves. Raises NotOurs for what torchvision moves otherwise."""
        if "flip" in dict(self.stages) and not isinstance(entry, (tv_tensors.Mask, tv_tensors.BoundingBoxes)):
            raise NotOurs("torchvision's flips move keypoints as pixels, by one less than points of Motley")
        return kind_of(entry, self.fill_of_masks)

    def _finished(self, result: Any, image: Any) -> Any:
        if not isinstance(result, (torch.Tensor, PIL.Image.Image)):
            result = torch.from_numpy(result)
        if self.to_pure:
            return result
        result = like(result, image)
        return tv_tensors.Image(result) if self.to_image and type(result) is torch.Tensor else result

    def __repr__(self) -> str:
        return f"Run({', '.join(map(repr, self.transforms))})"


def composed(transforms: Sequence[Transforming], inputs: tuple[object, ...]) -> Any:
    """What v2's Compose does: several inputs are several outputs of each."""
    several = len(inputs) > 1
    for transform in transforms:
        outputs = transform(*inputs)
        inputs = outputs if several else (outputs,)
    return inputs if several else inputs[0]


def _pure(entry: Any) -> Any:
    return entry.as_subclass(torch.Tensor) if isinstance(entry, tv_tensors.TVTensor) else entry


def _is_known(transform: object, *others: str) -> bool:
    return type(transform).__module__.split(".")[0] in ("torchvision", "timm", "motley", *others)


# ---- one function for each kind of transform, which adds its stages to a run ----


def _filters(run: Run, t: Any) -> Any:
    """Motley's filters of a transform's interpolation, which is Pillow's on PIL images."""
    several = t.interpolation if isinstance(t.interpolation, (list, tuple)) else [t.interpolation]
    try:
        names = [FILTERS[filter_number("interpolation", each, FILTERS)] for each in several]
    except motley.ArgumentError:
        raise NotOurs(f"interpolation {t.interpolation}") from None
    why = ""
    if "nearest" in names:
        why = "nearest takes other pixels of a tensor than of a PIL image"
    elif not getattr(t, "antialias", True):  # of PIL images Pillow always does it
        why = "antialias is not set for tensors"
    run.refused.update({kind: why for kind in KINDS if why and kind is not PIL.Image.Image})
    return names[0] if len(names) == 1 else names


def _size(size: Any) -> Any:
    """[height, width] or one side."""
    numbers = [int(n) for n in size] if isinstance(size, (list, tuple)) else [int(size)]
    return numbers[0] if len(numbers) == 1 else numbers


def _numbers(values: Any) -> list[float]:
    values = values.tolist() if hasattr(values, "tolist") else values
    return [float(v) for v in (values if isinstance(values, (list, tuple)) else [values])]


def _random_resized_crop(run: Run, t: Any) -> None:
    how = {"size": _size(t.size), "scale": _numbers(t.scale), "ratio": _numbers(t.ratio)}
    run.add("random_resized_crop", filter=_filters(run, t), order=ORDER, **how)


def _resize(run: Run, t: Any) -> None:
    if t.size is None or getattr(t, "max_size", None) is not None:
        raise NotOurs("max_size is given")
    run.add("resize", size=_size(t.size), filter=_filters(run, t), order=ORDER)


def _random_crop(run: Run, t: Any) -> None:
    fill = _fill_of_images(run, t.fill)
    if t.pad_if_needed or t.padding_mode != "constant" or fill not in (0, None, [0], (0,)):
        raise NotOurs("pad_if_needed, padding_mode or fill is given")
    padding = t.padding if t.padding is not None else 0
    sides = set(padding) if isinstance(padding, (list, tuple)) else {padding}
    if len(sides) != 1:
        raise NotOurs(f"padding is {padding}, different on its sides")
    run.add("random_crop", size=_size(t.size), padding=int(sides.pop()))


def _fill_of_images(run: Run, fill: Any) -> Any:
    """v2 has a fill for each type of input, and for "others": that of the first type; the run refuses other types."""
    if not isinstance(fill, dict):
        return fill
    fills = {kind: fill[kind if kind in fill else "others"] for kind in KINDS if kind in fill or "others" in fill}
    if not fills:
        raise NotOurs("fill has none for images")
    first = next(iter(fills.values()))
    for kind in KINDS:
        if fills.get(kind) != first and not (run.to_image and kind is not tv_tensors.Video):
            run.refused[kind] = f"fill is another for images of type {kind.__name__}"
    return first


def _flip(which: str) -> Callable[[Run, Any], None]:
    def read(run: Run, t: Any) -> None:
        if run.stages and run.stages[-1][0] == "flip" and which not in run.stages[-1][1]:
            run.stages[-1] = "flip", {**run.stages[-1][1], which: float(t.p)}
        elif any(name == "flip" for name, _ in run.stages):
            raise NotOurs("there is another flip before it")
        else:
            run.add("flip", **{which: float(t.p)})

    return read


def _policy(run: Run, t: Any) -> None:
    if getattr(t, "num_ops", None) == 0:
        return
    fill = _fill_of_images(run, vars(t)["_fill" if is_v2(t) else "fill"])
    try:
        policy = policy_of(t, 3, fill)
    except (ValueError, IndexError) as found:  # what torchvision refuses, or takes of other channels only
        raise NotOurs(str(found)) from None
    _add_policy(run, policy)
    if is_v2(t):
        fills = fill_of_masks(t)
        if any(name == "policy" for name, _ in run.stages[:-1]) and fills != run.fill_of_masks:
            raise NotOurs("its fill of masks is another than that of the policy before it")
        run.fill_of_masks = fills


def _augmix(run: Run, t: Any) -> None:
    if not type(t).__module__.startswith("motley"):
        raise NotOurs("torchvision mixes chains of its kernels for tensors: motley.torchvision.AugMix is fused")
    _policy(run, t)


def _motley_policy(run: Run, t: Any) -> None:
    if t.policy.whole or t._kept():
        raise NotOurs("it has stages or settings of its own")
    _add_policy(run, t.policy)


def _add_policy(run: Run, policy: motley.Policy) -> None:
    settings = {key: value for key, value in policy.as_dict().items() if key != "motley"}
    if "augmix" in settings and any(RANKS[name] == RANKS["policy"] for name, _ in run.stages):
        raise NotOurs("it mixes chains of ops, and a stage that draws ops stands before it")
    run.add("policy", **settings)


def _jitter(run: Run, t: Any, p: float = 1.0) -> None:
    given = {name: getattr(t, name) for name in ("brightness", "contrast", "saturation", "hue")}
    ranges: dict[str, Any] = {name: _numbers(range_) for name, range_ in given.items() if range_ is not None}
    if ranges:
        run.add("jitter", p=float(p), **ranges)


def _blur(run: Run, t: Any, p: float = 1.0) -> None:
    width, height = t.kernel_size
    if width != height or not 3 <= width <= lib.MOTLEY_MAX_KERNEL:
        raise NotOurs(f"its kernel is {width}x{height}, want a square of 3 to {lib.MOTLEY_MAX_KERNEL}")
    run.add("blur", p=float(p), kernel_size=width, sigma=_numbers(t.sigma))


def _random_apply(run: Run, t: Any) -> None:
    inner = list(t.transforms)
    read = APPLIED.get(type(inner[0]).__name__) if len(inner) == 1 and _is_known(inner[0]) else None
    if read is None:
        raise NotOurs(f"it applies something else than one {' or '.join(APPLIED)}")
    read(run, inner[0], t.p)


def _grayscale(run: Run, t: Any) -> None:
    """All stages do the same to three equal channels, so grey images can become RGB before them."""
    if getattr(t, "num_output_channels", 3) != 3:
        raise NotOurs("num_output_channels is not 3")
    run.add("grayscale", p=float(getattr(t, "p", 1.0)))
    if not hasattr(t, "p") and run.stages[0][0] != "to_rgb":
        run.stages.insert(0, ("to_rgb", {}))


def _to_tensor(run: Run, t: Any) -> None:
    if hasattr(t, "dtype"):  # timm's
        raise NotOurs("it does not divide by 255")
    run.add("output")
    run.scaled = True


def _to_bytes(run: Run, t: Any) -> None:
    if run.stages:
        run.add("output", type="u8")
    else:
        run.began_as_tensor = True
    run.to_image = type(t).__name__ == "ToImage"


def _to_dtype(run: Run, t: Any) -> None:
    by_type = t.dtype if isinstance(t.dtype, dict) else {torch.Tensor: t.dtype}
    if not t.scale or {*by_type.values()} - {None} != {torch.float32} or (by_type is t.dtype and not run.to_image):
        raise NotOurs("it is not to float32 with scale=True")
    if by_type is t.dtype and by_type.get(tv_tensors.Image, by_type.get("others")) is None:
        raise NotOurs("it is not to float32 with scale=True")
    if by_type is t.dtype and by_type.get(tv_tensors.Video, by_type.get("others")) is None:
        run.refused[tv_tensors.Video] = "videos stay bytes"
    if run.stages and run.stages[-1] == ("output", {"type": "u8"}):  # ToImage before it
        run.stages.pop()
    elif not run.began_as_tensor:
        run.refused[PIL.Image.Image] = "PIL images stay as they are"
    run.add("output", convention="torchvision_v2")
    run.scaled = True


def _normalize(run: Run, t: Any) -> None:
    if not run.scaled or not run.stages or run.stages[-1][0] != "output" or "mean" in run.stages[-1][1]:
        raise NotOurs("there is no ToTensor right before it")
    run.stages[-1] = "output", {**run.stages[-1][1], "mean": _numbers(t.mean), "std": _numbers(t.std)}


def _erasing(run: Run, t: Any) -> None:
    if hasattr(t, "per_pixel"):  # timm's
        value: Any = "pixel" if t.per_pixel else "channel" if t.rand_color else 0
        area, ratio = (t.min_area, t.max_area), [math.exp(side) for side in t.log_aspect_ratio]
        how: dict[str, Any] = {"p": t.probability, "boxes": [t.min_count, t.max_count]}
    else:
        values = t.value if isinstance(t.value, (list, tuple)) else [t.value]
        value = "pixel" if t.value is None or t.value == "random" else _numbers(values)
        value = value[0] if len(value) == 1 else value
        area, ratio, how = t.scale, t.ratio, {"p": t.p, "boxes": 1}
    if not run.scaled:
        raise NotOurs("there is no ToTensor before it")
    run.add("erase", area=_numbers(area), ratio=_numbers(ratio), value=value, **how)


def _classification(run: Run, t: Any) -> None:
    """What the weights of torchvision's classification models name as their transforms."""
    run.read(_v1.Resize([*t.resize_size], t.interpolation, antialias=getattr(t, "antialias", None)))
    run.read(_v1.CenterCrop(t.crop_size))
    run.read(_v1.ToTensor())
    run.read(_v1.Normalize(t.mean, t.std))


APPLIED = {"ColorJitter": _jitter, "GaussianBlur": _blur}  # what RandomApply may apply
READERS: dict[str, Callable[[Run, Any], None]] = {
    "RandomResizedCrop": _random_resized_crop,
    "RandomResizedCropAndInterpolation": _random_resized_crop,
    "Resize": _resize,
    "CenterCrop": lambda run, t: run.add("center_crop", size=_size(t.size)),
    "RandomCrop": _random_crop,
    "RandomHorizontalFlip": _flip("horizontal"),
    "RandomVerticalFlip": _flip("vertical"),
    "RandAugment": _policy,
    "TrivialAugmentWide": _policy,
    "AutoAugment": _policy,
    "AugMix": _augmix,
    **APPLIED,
    "RandomApply": _random_apply,
    "RandomGrayscale": _grayscale,
    "Grayscale": _grayscale,
    "ToTensor": _to_tensor,
    "PILToTensor": _to_bytes,
    "ToImage": _to_bytes,
    "MaybePILToTensor": _to_bytes,
    "ToPureTensor": lambda run, t: setattr(run, "to_pure", True),
    "ToDtype": _to_dtype,
    "Normalize": _normalize,
    "RandomErasing": _erasing,
    "ImageClassification": _classification,
    "ClampBoundingBoxes": lambda run, t: None,  # boxes that follow are cut off at the image's edge
}
