# SPDX-License-Identifier: Apache-2.0
"""MixUp and CutMix: images of a batch are mixed with others of it, and their targets by the same shares."""

from __future__ import annotations

import sys
from html import escape
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import _images as images
from . import _native
from ._core import ffi, lib
from ._arrays import DTYPES, Torch, kind_of
from ._native import ArgumentError, checked, for_each, layout_given, made_by, one_of, outside_graphs, size_given
from ._native import threads_given, whole
from ._random import Sampled

if TYPE_CHECKING:
    from ._types import Array, Generator, Ids, Labels, Layout

RULES, MODES, KINDS = ("torchvision", "timm"), ("batch", "pair", "elem"), ("none", "mixup", "cutmix")
BOX = ("left", "top", "width", "height")


class Mix(Sampled):
    """MixUp, CutMix, or one of the two at random, of a batch of images and their labels.

        mix = motley.Mix(mixup=0.2, cutmix=1.0, classes=1000, smoothing=0.1)
        images, targets = mix(images, labels, sample_ids=ids, epoch=3)

    Zhang et al. 2017, arXiv:1710.09412; Yun et al. 2019, arXiv:1905.04899. Given a draw, pixels and targets are those
    of torchvision.transforms.v2.MixUp and CutMix, or of timm.data.Mixup.

    Args:
        mixup, cutmix: a of Beta(a, a), from which lambda is drawn; 0: not done. One is needed.
        p: Chance of being mixed.
        switch: Chance of CutMix where both are done.
        rules: "torchvision" mixes image i with i - 1; "timm" with the i-th from the end; boxes as each makes them.
        mode: What draws for itself: the "batch", by its first sample id; each "pair", by its first (timm's rules, an
            even number of images); or each image, "elem".
        minmax: (low, high): sides of CutMix's box as shares of the image's, in place of lambda's.
        keep_lambda: Mix targets by lambda even where an edge cuts off part of a box (timm's correct_lam=False).
        drawn_partner: Draw each image's partner among the others, with mode "elem".
        classes: Of targets, where labels are whole numbers.
        smoothing: Label smoothing s of targets, as in timm: a label becomes 1 - s + s / classes, others s / classes.
            A soft target y becomes y (1 - s) + s / classes, so that rows that sum to 1 still do.
        multi_label: Soft targets have several labels an image: y becomes y (1 - s) + s / 2, as in timm.
        seed, generator, epoch, layout, threads: As motley.Transform's, and so are sample ids and views.
    """

    _made_of = (
        "mixup", "cutmix", "p", "switch", "rules", "mode", "minmax", "keep_lambda", "drawn_partner", "classes",
        "smoothing", "multi_label",
    )  # fmt: skip

    def __init__(
        self,
        *,
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
        multi_label: bool = False,
        seed: int | None = None,
        generator: Generator | None = None,
        epoch: int | None = None,
        layout: Layout | None = None,
        threads: int | None = None,
    ) -> None:
        self._begin(seed, generator, epoch, None)
        self.layout, self.threads = layout_given(layout), threads_given(threads)
        self.mixup, self.cutmix, self.p, self.switch, self.minmax = mixup, cutmix, p, switch, minmax
        self.rules, self.mode = one_of("rules", rules, RULES), one_of("mode", mode, MODES)
        self.keep_lambda, self.drawn_partner = keep_lambda, drawn_partner
        self.classes, self.smoothing, self.multi_label = classes, smoothing, bool(multi_label)
        self._take()

    def _take(self) -> None:
        params = ffi.new("motley_mix_params *")
        params.mixup, params.cutmix = _number("mixup", self.mixup), _number("cutmix", self.cutmix)
        params.p, params.switch_p = _chance("p", self.p), _chance("switch", self.switch)
        params.rules, params.mode = RULES.index(self.rules), MODES.index(self.mode)
        if self.minmax is not None:
            if not hasattr(self.minmax, "__len__") or len(self.minmax) != 2:
                raise ArgumentError(f"minmax is {self.minmax!r}, want (low, high)")
            params.minmax = [_number("minmax", side) for side in self.minmax]
        params.keep_lambda, params.drawn_partner = bool(self.keep_lambda), bool(self.drawn_partner)
        if not 0 <= _number("smoothing", self.smoothing) <= 1:
            raise ArgumentError(f"smoothing is {self.smoothing!r}, want a number from 0 to 1")
        self._handle = ffi.gc(made_by("motley_mix", lib.motley_mix_create, params), lib.motley_mix_destroy)

    def __getstate__(self) -> Any:
        return {key: value for key, value in vars(self).items() if key != "_handle"}

    def __setstate__(self, state: Any) -> None:
        vars(self).update(state)
        self._take()

    def __call__(
        self,
        batch: Array,
        labels: Labels,
        *,
        sample_ids: Ids | None = None,
        view: Ids = 0,
        epoch: int | None = None,
        seed: int | None = None,
        out: Array | None = None,
        layout: Layout | None = None,
        return_draws: bool = False,
    ) -> tuple[Any, ...]:
        """The images and their targets, mixed.

        Args:
            batch: An array of images of torch, NumPy or whatever has __dlpack__; float32, float16, bfloat16 or uint8.
            labels: A whole number for each image, or an array [N, classes] of soft targets.
            sample_ids, epoch, seed, view, layout: As of motley.Transform.
            out: Where to write images; out=batch works in place.
            return_draws: Return (images, targets, draws): for each image its kind, partner, lambda, share and box.

        Returns:
            (images, targets): targets are float32 [N, classes], of the images' library.

        Raises:
            ArgumentError: Labels that are missing or no classes, an odd number of images in mode "pair", and whatever
                else cannot be mixed; nothing is written.
        """
        which = sample_ids, view, epoch, seed
        return self._mixed(batch, labels, out, layout, which, return_draws)

    def replay(
        self,
        batch: Array,
        labels: Labels,
        draws: Sequence[dict[str, Any]],
        *,
        out: Array | None = None,
        layout: Layout | None = None,
    ) -> tuple[Any, Any]:
        """The same, with recorded draws: what a call with return_draws=True returned last."""
        images, targets = self._mixed(batch, labels, out, layout, (None, 0, None, None), given=draws)
        return images, targets

    def apply_(self, batch: Array, labels: Labels, **arguments: Any) -> tuple[Any, ...]:
        """The same in place: the batch is overwritten, and returned."""
        return self(batch, labels, out=batch, **arguments)

    def draw(
        self,
        count: int = 1,
        *,
        size: tuple[int, int] = (224, 224),
        sample_ids: Ids | None = None,
        view: Ids = 0,
        epoch: int | None = None,
        seed: int | None = None,
    ) -> list[Any]:
        """How `count` samples (or `sample_ids`) are mixed, taken for one batch, as a call with return_draws would
        return it; with a seed the next samples, none of which is counted.

        Args:
            count: How many, where there are no sample_ids.
            size: (height, width) of the images.
            sample_ids: As in a call, like view, epoch and seed.
        """
        samples, count = self._drawn_for(count, sample_ids, view, epoch, seed)
        return plain(self._drawn(samples, count, size), count)

    def _repr_html_(self) -> str:
        """For notebooks, which show its name only."""
        return f"<code>{escape(repr(self))}</code>"

    def _drawn(self, samples: Any, count: int, size: Any) -> Any:
        drawn, (height, width) = ffi.new("motley_mixed[]", max(count, 1)), size_given(size)
        checked(lib.motley_mix_draw, self._handle, samples.c, count, width, height, drawn)
        return drawn

    @outside_graphs
    def _mixed(
        self, batch: Any, labels: Any, out: Any, layout: Any, which: Any, return_draws: bool = False, given: Any = None
    ) -> tuple[Any, ...]:
        source = images.source_of(batch, layout or self.layout, out)
        if isinstance(source, images.Many) or source.single:
            raise ArgumentError("mixing wants a batch, an array of several images of one size")
        if source.dtype < 0:
            raise ArgumentError(f"the images' dtype is {batch.dtype}, want {', '.join(DTYPES)}")
        if getattr(batch, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
            raise ArgumentError(
                "the images require grad, which mixing does not pass on: want images.detach(), or for a loss that is "
                "derived by them their mixing in torch"
            )
        count, size = source.count, (source.shape[source.axes[2]], source.shape[source.axes[3]])
        samples = self._samples(count, which, source.device) if given is None else None
        drawn = structs(given, count) if samples is None else self._drawn(samples, count, size)
        # before pixels are touched, as labels may be refused
        targets = targets_of(drawn, labels, count, self.classes, self.smoothing, source, self.multi_label)
        if out is batch:
            target = source
        else:
            target = source.output() if out is None else images.images_of(out, source.layout)
        if out is not None:
            target.require_writable()
        if count:
            src, dst = ffi.new("motley_batch *"), ffi.new("motley_batch *")
            source.describe(src[0])
            target.describe(dst[0])
            context = _native.context_of(source.device, self.threads)
            written = src if out is batch else dst
            checked(lib.motley_mix_apply, context.handle, src, written, drawn, images.stream_of(source))
        images.hold_until_done((source, target), source, target)
        made = out if out is not None else target.result(source)
        return (made, targets, plain(drawn, count)) if return_draws else (made, targets)


def _float32(number: Any) -> float:
    """Rounded to binary32, which products with an array of float32 then have."""
    return float(ffi.new("float *", number)[0])


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is {value!r}, want a number") from None


def _chance(name: str, value: Any) -> float:
    number = _number(name, value)
    if not 0 < number <= 1:  # 0 is the library's default, which is another
        raise ArgumentError(f"{name} is {value!r}, want a number above 0, up to 1")
    return number


# ---- draws: an array of motley_mixed, as plain data ----


def plain(drawn: Any, count: int) -> list[Any]:
    """For each image its "kind", "partner", "lambda" and "share"; of CutMix also the "box"."""
    found = []
    for mixed in drawn[0:count]:
        one = {
            "kind": KINDS[mixed.kind],
            "partner": mixed.partner,
            "lambda": getattr(mixed, "lambda"),
            "share": mixed.share,
        }
        if mixed.kind == lib.MOTLEY_MIX_CUTMIX:
            one["box"] = {name: getattr(mixed.box, name) for name in BOX}
        found.append(one)
    return found


def structs(given: Any, count: int) -> Any:
    """The inverse."""
    for_each("draws", len(given), count, "entries")
    drawn = ffi.new("motley_mixed[]", max(count, 1))
    for i, (mixed, one) in enumerate(zip(drawn, given)):
        try:
            mixed.kind, mixed.partner, mixed.share = KINDS.index(one["kind"]), one["partner"], one["share"]
            setattr(mixed, "lambda", one["lambda"])
            for name in BOX if "box" in one else ():
                setattr(mixed.box, name, one["box"][name])
        except (KeyError, TypeError, ValueError, OverflowError) as wrong:
            raise ArgumentError(
                f"draws of image {i} are {one!r}, want kind, partner, lambda and share: {wrong}"
            ) from None
    return drawn


def _refuse_class_numbers(labels: Any, shape: Any) -> None:
    """Raises ArgumentError of an array that has several classes for each image in place of each class's share."""
    wrong: Any = labels[(labels != 0) & (labels != 1)] if labels.dtype.kind in "iu" else ()
    if len(wrong):
        raise ArgumentError(
            f"labels have shape {shape} and whole numbers such as {wrong[0]}, want [{shape[0]}]: a class for each "
            f"image, or [{shape[0]}, classes]: each class's share"
        )


def targets_of(
    drawn: Any, labels: Any, count: int, classes: Any, smoothing: Any, like: Any, multi_label: Any = False
) -> Any:
    """Mixed targets [count, classes], float32, of the library and device of the images `like`. Where torch's labels are
    on that device, too, nothing waits for them: the targets of a label that is no class, or no share, are NaN."""
    if labels is None:
        raise ArgumentError("labels are missing: the images are mixed, and their targets have to be")
    shape = tuple(labels.shape) if hasattr(labels, "shape") else (len(labels),)
    if len(shape) not in (1, 2) or shape[0] != count:
        raise ArgumentError(
            f"labels have shape {shape}, want [{count}] or [{count}, classes], as there are {count} images"
        )
    soft = len(shape) == 2
    if soft and shape[1] == 1:
        raise ArgumentError(f"labels have shape {shape}, want [{count}]: a class for each image, or [{count}, classes]")
    if multi_label and not soft:
        raise ArgumentError(f"multi_label is True, but labels have shape {shape}: want soft targets [{count}, classes]")
    on_device = like.kind is Torch and getattr(labels, "is_cuda", False) and labels.device == like.array.device
    if on_device:
        listed = [0] if soft or not labels.is_floating_point() else [0.0]  # their kind: the numbers are not here
    else:
        listed = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if soft and classes is not None and shape[1] != classes:
        raise ArgumentError(f"labels have {shape[1]} classes, want {classes}")
    if not soft and classes is None:
        raise ArgumentError(
            "labels are whole numbers: want classes, how many there are, as an argument or in the stage 'mix'"
        )
    if not soft and not all(hasattr(label, "__index__") for label in listed):
        raise ArgumentError(f"labels are {type(listed[0]).__name__}s, want whole numbers, or soft targets [N, classes]")
    classes = shape[1] if soft else classes
    whole("classes", classes, 1, 1 << 24, "from 1 to 16777216")
    dtype = "float32" if soft else "int64"
    if on_device:
        torch = sys.modules["torch"]
        numbers = labels.detach().to(getattr(torch, dtype)).contiguous()
        if soft and not labels.is_floating_point():
            numbers.masked_fill_((labels != 0) & (labels != 1), float("nan"))
        made = torch.empty((count, classes), dtype=torch.float32, device=labels.device)
    else:
        import numpy

        if soft:
            _refuse_class_numbers(numpy.array(listed), shape)
        numbers, made = numpy.array(listed, dtype), numpy.empty((count, classes), "float32")
    if multi_label:
        numbers = numbers * _float32(1 - smoothing) + _float32(smoothing / 2)
        smoothing = 0.0
    if count:
        pointer = kind_of(type(made)).pointer
        given = ffi.cast("float *" if soft else "int64_t *", pointer(numbers))
        both = (ffi.NULL, given) if soft else (given, ffi.NULL)
        arguments = drawn, count, classes, *both, smoothing, ffi.cast("float *", pointer(made))
        if on_device:
            context = _native.context_of(like.device)
            checked(lib.motley_mix_targets, context.handle, *arguments, images.stream_of(like))
        else:
            checked(lib.motley_mix_targets, ffi.NULL, *arguments, ffi.NULL)
    if like.kind is Torch and not on_device:
        made = sys.modules["torch"].from_numpy(made).to(like.array.device)
    return images.like_foreign(made, like.given) if like.foreign else made
