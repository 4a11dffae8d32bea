# SPDX-License-Identifier: Apache-2.0
"""Transforms in a row as one call: what they are is read off their attributes, and said as the stages of a policy."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import PIL
import PIL.Image
import torch
from torch.utils._pytree import tree_flatten, tree_unflatten
from torchvision import transforms as _v1

import motley
from motley._core import lib
from motley._resize import FILTERS, order_of
from motley.follow import Kind
from motley.policy import filter_number
from motley.torchvision.images import KINDS, Augmenter, NotOurs, channels_of, is_v2, like, say, tv_tensors, v2
from motley.torchvision.policies import fill_of_masks, policy_fill, transform_with

Stage = tuple[str, dict[str, Any]]  # its name, and its settings
Transforming = Callable[..., Any]  # one of torchvision's transforms, or whatever a script composes

ORDER = order_of(PIL.__version__)
DRAWING = "policy", "photometric", "jitter", "grayscale", "blur"  # stages that change pixels where they are


@functools.lru_cache(maxsize=256)
def _policy_of(text: str) -> motley.Policy:
    return motley.Policy(text)


class Run(Augmenter):
    """Transforms in a row, as the stages of a policy. behind_scaled: its images are no bytes any more. alpha: the last
    of 2 or 4 channels is alpha."""

    transform: motley.Transform
    opaque: motley.Transform  # of images of 1 or 3 channels

    def __init__(self, behind_scaled: bool, alpha: bool) -> None:
        self.transforms: list[Transforming] = []
        self.stages: list[Stage] = []
        self.tail: list[Transforming] = []  # those that see no pixel, behind the others: torchvision runs them
        self.behind_scaled, self.alpha = behind_scaled, alpha
        self.samples = True  # whether it takes samples of v2
        self.scaled = False  # whether ToTensor or its like has been
        self.began_as_tensor = False  # by ToImage or its like, before everything else
        self.to_image = False  # whether a tv_tensors.Image comes out
        self.masks: Any = None  # the fill of masks; None: nothing has one
        self.refused: dict[type, str] = {}  # kinds of images that torchvision does otherwise, and why
        self._said = False

    # ---- what is taken ----

    def text(self) -> str:
        return json.dumps({"motley": 1, "name": "fused", "stages": [{name: how} for name, how in self.stages]})

    def take(self, transform: Transforming) -> None:
        """One more. Raises NotOurs, and is as it was."""
        before = {**vars(self), "stages": [*self.stages], "tail": [*self.tail], "refused": {**self.refused}}
        try:
            self.read(transform)
            if self.stages != before["stages"]:
                if self.tail:
                    raise NotOurs(f"it comes behind {type(self.tail[-1]).__name__}")
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
        names = [cls.__name__ for cls in type(transform).__mro__]
        read = next((READERS[name] for name in names if name in READERS), None)
        read = _drawn if isinstance(transform, motley.Transform) else read
        of_references = type(transform).__module__ == "transforms" and names[0] == "FixedSizeCrop"
        if read is None or not (is_known(transform) or of_references):
            raise NotOurs("Motley has no such stage")
        if stage := read(self, transform):
            self.stages.append(stage)
        self.samples = self.samples and (is_v2(transform) or of_references)

    def finish(self) -> None:
        if self.began_as_tensor and not any(name in ("output", "erase") for name, _ in self.stages):
            self.stages.append(("output", {"type": "u8"}))
        self.opaque = self.transform = motley.Transform(_policy_of(self.text()))
        if self.alpha:
            self.transform = motley.Transform(self.opaque.policy, alpha=True)
        if not any(name in ("policy", "blur") for name, _ in self.stages):
            self.rule = "torchvision"

    def fill_masks(self, fill: Any) -> None:
        if self.masks not in (None, fill):
            raise NotOurs("its fill of masks is another than that of a transform before it")
        self.masks = fill

    # ---- calls ----

    def __call__(self, *inputs: Any) -> Any:
        try:
            result = self._augmented(inputs, self.samples)
        except (NotOurs, motley.ArgumentError, motley.UnsupportedError) as error:
            why = str(error)
        else:
            for transform in self.tail:
                sanitizes = type(transform).__name__ == "SanitizeBoundingBoxes"
                result = _sanitized(transform, result) if sanitizes else transform(result)
            return result
        if not self._said:  # once, as sentences of images have their sizes in them
            say(" and ".join(type(transform).__name__ for transform in self.transforms), why)
            self._said = True
        return composed(self.transforms, inputs)

    def _for(self, image: Any) -> motley.Transform:
        channels = channels_of(image)
        if why := self.refused.get(next(kind for kind in KINDS if isinstance(image, kind))):
            raise NotOurs(why)
        if channels % 2 == 0 and "photometric" in dict(self.stages):
            raise NotOurs("torchvision's RandomPhotometricDistort permutes bands and alpha, too")
        return self.opaque if channels % 2 else self.transform

    def _fill_of_masks(self) -> float:
        if isinstance(self.masks, list):
            raise NotOurs(f"masks are filled with {self.masks}")
        return self.masks or 0

    def _kind_of(self, entry: Any) -> Kind:
        if "flip" in dict(self.stages) and not isinstance(entry, (tv_tensors.Mask, tv_tensors.BoundingBoxes)):
            raise NotOurs("torchvision's flips move keypoints as pixels, by one less than points of Motley")
        return super()._kind_of(entry)

    def _finished(self, result: Any, image: Any) -> Any:
        if not isinstance(result, (torch.Tensor, PIL.Image.Image)):
            result = torch.from_numpy(result)
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


def _sanitized(transform: Any, sample: Any) -> Any:
    """SanitizeBoundingBoxes, in which torch's indexing by bools takes masks element by element, and here plane by
    plane."""
    flat, spec = tree_flatten(sample)
    boxes = [entry for entry in flat if isinstance(entry, tv_tensors.BoundingBoxes)]
    masks = [i for i, entry in enumerate(flat) if isinstance(entry, tv_tensors.Mask)]
    masks = [i for i in masks if len(boxes) == 1 and flat[i].ndim and len(flat[i]) == len(boxes[0])]
    if not masks or transform.labels_getter not in ("default", None):  # else it may name the masks
        return transform(sample)
    how = {name: getattr(transform, name) for name in ("min_size", "min_area") if hasattr(transform, name)}
    kept = v2.functional.sanitize_bounding_boxes(boxes[0], **how)[1].nonzero()[:, 0]
    rest = [None if i in masks else entry for i, entry in enumerate(flat)]
    rest, spec = tree_flatten(transform(tree_unflatten(rest, spec)))
    for i in masks:
        mask = flat[i] if len(kept) == len(flat[i]) else flat[i].index_select(0, kept)
        rest[i] = tv_tensors.wrap(mask, like=flat[i])
    return tree_unflatten(rest, spec)


def is_known(transform: object, *others: str) -> bool:
    return type(transform).__module__.split(".")[0] in ("torchvision", "timm", "motley", *others)


# ---- what a transform is: the stages that it adds to a run ----


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


def _numbers(values: Any, kind: type = float) -> list[Any]:
    values = values.tolist() if hasattr(values, "tolist") else values
    return [kind(v) for v in (values if isinstance(values, (list, tuple)) else [values])]


def _size(size: Any) -> Any:
    """[height, width] or one side."""
    numbers = _numbers(size, int)
    return numbers[0] if len(numbers) == 1 else numbers


def _whole(fill: Any) -> Any:
    numbers = [0.0] if fill is None else _numbers(fill)
    if any(number != int(number) or not 0 <= number <= 255 for number in numbers):
        raise NotOurs(f"fill is {fill}, want whole numbers of 0 to 255")
    return _size(numbers)


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


def _ranges(t: Any) -> dict[str, Any]:
    given = {name: getattr(t, name) for name in ("brightness", "contrast", "saturation", "hue")}
    return {name: _numbers(range_) for name, range_ in given.items() if range_ is not None}


def _random_resized_crop(run: Run, t: Any) -> Stage:
    how = {"size": _size(t.size), "scale": _numbers(t.scale), "ratio": _numbers(t.ratio)}
    return "random_resized_crop", {**how, "filter": _filters(run, t), "order": ORDER}


def _resize(run: Run, t: Any, **how: object) -> Stage:
    """torchvision's v2 resizes masks by torch's nearest, v1 none."""
    return "resize", {**how, "filter": _filters(run, t), "order": ORDER, **({"masks": "torch"} if is_v2(t) else {})}


def _resize_to(run: Run, t: Any) -> Stage:
    if t.size is None or getattr(t, "max_size", None) is not None:
        raise NotOurs("max_size is given")
    return _resize(run, t, size=_size(t.size))


def _zoom_out(run: Run, t: Any) -> Stage:
    """Of types for which `fill` has none, torchvision pads with 0."""
    fills = {"others": None, **t._fill}
    how = {"p": float(t.p), "side": _numbers(t.side_range), "fill": _whole(_fill_of_images(run, fills))}
    run.fill_masks(_whole(fills.get(tv_tensors.Mask, fills["others"])))
    return "zoom_out", how


def _iou_crop(run: Run, t: Any) -> Stage:
    if t.trials != 40:
        raise NotOurs(f"trials is {t.trials}, Motley has 40")
    scale, ratio = (t.min_scale, t.max_scale), (t.min_aspect_ratio, t.max_aspect_ratio)
    return "iou_crop", {"p": 1.0, "overlap": _numbers(t.options), "scale": _numbers(scale), "ratio": _numbers(ratio)}


def _fixed_crop(run: Run, t: Any) -> Stage:
    """That of torchvision's references/detection, which has boxes come out as plain tensors, that v2 does not move."""
    if t.padding_mode != "constant":
        raise NotOurs(f"padding_mode is {t.padding_mode}")
    fill = _whole(t.fill)
    run.fill_masks(0)
    return "fixed_crop", {"size": [t.crop_height, t.crop_width], "fill": fill}


def _random_crop(run: Run, t: Any) -> Stage:
    fill = _fill_of_images(run, t.fill)
    if t.pad_if_needed or t.padding_mode != "constant" or fill not in (0, None, [0], (0,)):
        raise NotOurs("pad_if_needed, padding_mode or fill is given")
    padding = t.padding if t.padding is not None else 0
    sides = set(padding) if isinstance(padding, (list, tuple)) else {padding}
    if len(sides) != 1:
        raise NotOurs(f"padding is {padding}, different on its sides")
    return "random_crop", {"size": _size(t.size), "padding": int(sides.pop())}


def _flip(run: Run, t: Any, which: str) -> Stage:
    before = run.stages.pop()[1] if run.stages and run.stages[-1][0] == "flip" else {}
    if which in before:
        raise NotOurs("there is another flip before it")
    return "flip", {**before, which: float(t.p)}


def _policy(run: Run, t: Any) -> Stage | None:
    if type(t).__name__ == "AugMix" and not type(t).__module__.startswith("motley"):
        raise NotOurs("torchvision mixes chains of its kernels for tensors: motley.torchvision.AugMix is fused")
    if getattr(t, "num_ops", None) == 0:
        return None
    try:
        ours = transform_with(t, 3, _fill_of_images(run, policy_fill(t)))
    except (ValueError, IndexError) as found:  # what torchvision refuses, or takes of other channels only
        raise NotOurs(str(found)) from None
    if is_v2(t):
        run.fill_masks(fill_of_masks(t))
    return _drawn(run, ours)


def _drawn(run: Run, transform: Any) -> Stage:
    """A policy that is drawn, of Motley."""
    if transform.policy.whole or transform._kept():
        raise NotOurs("its policy has stages, or it has settings besides the policy")
    settings = {key: value for key, value in transform.policy.as_dict().items() if key != "motley"}
    if "augmix" in settings and any(name in DRAWING for name, _ in run.stages):
        raise NotOurs("it mixes chains of ops, and a stage that draws ops stands before it")
    return "policy", settings


def _blur(run: Run, t: Any) -> Stage:
    width, height = t.kernel_size
    if width != height or not 3 <= width <= lib.MOTLEY_MAX_KERNEL:
        raise NotOurs(f"its kernel is {width}x{height}, want a square of 3 to {lib.MOTLEY_MAX_KERNEL}")
    return "blur", {"p": 1.0, "kernel_size": width, "sigma": _numbers(t.sigma)}


def _random_apply(run: Run, t: Any) -> Stage | None:
    inner = list(t.transforms)
    if len(inner) != 1 or type(inner[0]).__name__ not in APPLIED or not is_known(inner[0]):
        raise NotOurs(f"it applies something else than one {' or '.join(APPLIED)}")
    stage = READERS[type(inner[0]).__name__](run, inner[0])
    return stage and (stage[0], {**stage[1], "p": float(t.p)})


def _grayscale(run: Run, t: Any) -> Stage:
    """All stages do the same to three equal channels, so grey images can become RGB before them."""
    if getattr(t, "num_output_channels", 3) != 3:
        raise NotOurs("num_output_channels is not 3")
    if not hasattr(t, "p") and not (run.stages and run.stages[0][0] == "to_rgb"):
        run.stages.insert(0, ("to_rgb", {}))
    return "grayscale", {"p": float(getattr(t, "p", 1.0))}


def _to_tensor(run: Run, t: Any) -> Stage:
    if hasattr(t, "dtype"):  # timm's
        raise NotOurs("it does not divide by 255")
    run.scaled = True
    return "output", {}


def _to_bytes(run: Run, t: Any) -> Stage | None:
    run.to_image = type(t).__name__ == "ToImage"
    if run.stages:
        return "output", {"type": "u8"}
    run.began_as_tensor = True
    return None


def _to_dtype(run: Run, t: Any) -> Stage:
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
    run.scaled = True
    return "output", {"convention": "torchvision_v2"}


def _normalize(run: Run, t: Any) -> Stage:
    if not run.scaled or not run.stages or run.stages[-1][0] != "output" or "mean" in run.stages[-1][1]:
        raise NotOurs("there is no ToTensor right before it")
    return "output", {**run.stages.pop()[1], "mean": _numbers(t.mean), "std": _numbers(t.std)}


def _erasing(run: Run, t: Any) -> Stage:
    if hasattr(t, "per_pixel"):  # timm's
        value: Any = "pixel" if t.per_pixel else "channel" if t.rand_color else 0
        area, ratio = (t.min_area, t.max_area), [math.exp(side) for side in t.log_aspect_ratio]
        how: dict[str, Any] = {"p": t.probability, "boxes": [t.min_count, t.max_count]}
    else:
        value = "pixel" if t.value is None or t.value == "random" else _numbers(t.value)
        value = value[0] if len(value) == 1 else value
        area, ratio, how = t.scale, t.ratio, {"p": t.p, "boxes": 1}
    if not run.scaled:
        raise NotOurs("there is no ToTensor before it")
    return "erase", {"area": _numbers(area), "ratio": _numbers(ratio), "value": value, **how}


def _classification(run: Run, t: Any) -> None:
    """What the weights of torchvision's classification models name as their transforms."""
    resize = _v1.Resize([*t.resize_size], t.interpolation, antialias=getattr(t, "antialias", None))
    for transform in resize, _v1.CenterCrop(t.crop_size), _v1.ToTensor(), _v1.Normalize(t.mean, t.std):
        run.read(transform)


def _behind(run: Run, t: Any) -> None:
    """What sees no pixel: torchvision runs it behind the stages."""
    run.tail.append(t)


APPLIED = "ColorJitter", "GaussianBlur", "RandomIoUCrop"  # what RandomApply may apply
READERS: dict[str, Callable[[Run, Any], Stage | None]] = {
    **dict.fromkeys(("RandomResizedCrop", "RandomResizedCropAndInterpolation"), _random_resized_crop),
    "Resize": _resize_to,
    "CenterCrop": lambda run, t: ("center_crop", {"size": _size(t.size)}),
    "RandomCrop": _random_crop,
    "RandomShortestSize": lambda run, t: _resize(
        run, t, shortest=t.min_size, **({} if t.max_size is None else {"longest": t.max_size})
    ),
    # Which takes its target's sides in the other order.
    "ScaleJitter": lambda run, t: _resize(run, t, fit=[*t.target_size][::-1], scale=_numbers(t.scale_range)),
    "FixedSizeCrop": _fixed_crop,
    "RandomPhotometricDistort": lambda run, t: ("photometric", {"p": float(t.p), **_ranges(t)}),
    "RandomZoomOut": _zoom_out,
    "RandomHorizontalFlip": lambda run, t: _flip(run, t, "horizontal"),
    "RandomVerticalFlip": lambda run, t: _flip(run, t, "vertical"),
    **dict.fromkeys(("RandAugment", "TrivialAugmentWide", "AutoAugment", "AugMix"), _policy),
    "ColorJitter": lambda run, t: ("jitter", {"p": 1.0, **ranges}) if (ranges := _ranges(t)) else None,
    "GaussianBlur": _blur,
    "RandomIoUCrop": _iou_crop,
    "RandomApply": _random_apply,
    **dict.fromkeys(("RandomGrayscale", "Grayscale"), _grayscale),
    "ToTensor": _to_tensor,
    **dict.fromkeys(("PILToTensor", "ToImage", "MaybePILToTensor"), _to_bytes),
    **dict.fromkeys(
        ("ToPureTensor", "ConvertBoundingBoxFormat", "SanitizeBoundingBoxes", "SanitizeKeyPoints"), _behind
    ),
    # Boxes that follow are cut off at the image's edge.
    **dict.fromkeys(("Identity", "ClampBoundingBoxes"), lambda run, t: None),
    "ToDtype": _to_dtype,
    "Normalize": _normalize,
    "RandomErasing": _erasing,
    "ImageClassification": _classification,
}
