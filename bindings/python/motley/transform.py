# SPDX-License-Identifier: Apache-2.0
"""Whole transforms: decoded images of any sizes in, the network's input out, as one file describes it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from . import _images as images
from ._core import ffi, lib
from ._arrays import DTYPES
from .custom import registered
from .draws import Drawn
from ._native import ArgumentError, PolicyError, UnsupportedError, checked, made_by, text_from, text_of
from .mix import plain as mixed_plain
from .mix import structs as mixed_structs
from .mix import targets_of
from .policy import as_html, read
from .stage import NO_AUGMENTATION, Stage, kept

if TYPE_CHECKING:
    from typing import Literal, NoReturn, overload

    from typing_extensions import Unpack

    from ._types import CallSettings, Drawing, Ids, Labels, Layout, TransformSettings

STILL = "to_rgb", "resize", "center_crop", "output"  # stages that draw nothing
_DTYPE_NAMES = {number: name for name, (number, _) in DTYPES.items()}


class Transform(Stage):
    """A train or eval transform: from decoded images of any sizes to one batch of the network's input.

        transform = motley.Transform("torchvision_train", seed=7)
        batch = transform(images)           # a list of tensors, arrays or PIL images: float32 [N, 3, 224, 224]

    Every image gets its own draw, and every value is the one that torchvision or timm gives on Pillow images for that
    draw. doc/policy-format.md describes the file ("Transforms"); Transform.names() lists the built-in ones.

    Call it with a list of images of any sizes, a batch or a single image. What comes back is of the library of what was
    given: for torch tensors a tensor, for arrays an array; for PIL images a NumPy array, or PIL images where the
    transform has no `output` stage. A list becomes one batch where all images come out in one size, else a list. Images
    of a list have one number of channels, unless the first stage is `to_rgb`, which takes grey and RGBA among RGB.

    Args:
        transform: A built-in's name, a path, a text, or another motley.Transform. A policy is one, too.
        settings: As Stage's, but for normalize, mean and std, which the file has: seed, stream, epoch, rank, layout,
            threads, views, clip_frames and counter; dtype, output_layout and memory_format in place of the file's.
            Those of another motley.Transform are kept, and cannot be contradicted.

    Raises:
        PolicyError: The text is wrong; every mistake with its line and column.
    """

    _made_of = ("transform",)
    custom_ops, takes_boxes = (), False  # which a policy may have
    name: str
    title: str
    profile: str
    paper: str
    size: tuple[int, int] | None

    if TYPE_CHECKING:
        # fmt: off
        def __init__(
            self, transform: Transform | str | os.PathLike[str], **settings: Unpack[TransformSettings]
        ) -> None: ...

        @overload  # type: ignore[override]  # what comes back is not always what was given
        def __call__(
            self, batch: object, sample_ids: Ids | None = None, *, view: Ids = 0, views: int | None = None,
            labels: Labels | None = None, classes: int | None = None, out: object | None = None,
            return_draws: Literal[False] = False, **rest: Unpack[CallSettings],
        ) -> Any: ...
        @overload
        def __call__(
            self, batch: object, sample_ids: Ids | None = None, *, view: Ids = 0, views: int | None = None,
            labels: Labels | None = None, classes: int | None = None, out: object | None = None,
            return_draws: Literal[True], **rest: Unpack[CallSettings],
        ) -> tuple[Any, ...]: ...

        def apply_(self, *_: object, **__: object) -> NoReturn: ...  # type: ignore[override]
        # fmt: on

    else:

        def __init__(self, transform, **settings):
            for name in settings.keys() & {"normalize", "mean", "std"}:
                raise ArgumentError(f"{name} is given: a transform's `output` stage says how it normalises")
            super().__init__(NO_AUGMENTATION, **kept(transform, settings))
            self.policy, self.fused = None, False  # the transform itself normalises and casts
            self._text = transform.show() if isinstance(transform, Transform) else None
            self._take(transform)

        def __call__(
            self,
            batch,
            sample_ids=None,
            *,
            view=0,
            labels=None,
            classes=None,
            epoch=None,
            seed=None,
            views=None,
            out=None,
            layout=None,
            return_draws=False,
        ):
            """The images, transformed.

            Args:
                batch: A list of images of one kind and any sizes, an array of images, or one image; uint8.
                labels: Of a transform that mixes images, as motley.Mix takes them.
                classes: How many there are, where the transform's `mix` does not say.
                sample_ids: As of motley.Stage, like view, epoch, seed, views and layout.
                out: An array of the result's shape and dtype to write to, and what the call returns.
                return_draws: Return draws as well, last: for each image the object that `motley draw` prints, without
                    the sample.

            Returns:
                The images; of a transform that mixes (images, targets).

            Raises:
                ArgumentError: Images, ids or labels that the transform cannot take; nothing is written.
            """
            if not self.mixes:
                if labels is not None:
                    raise ArgumentError(f"labels are given, but transform '{self.name}' has no stage 'mix'")
                how = {"epoch": epoch, "seed": seed, "views": views, "out": out, "layout": layout, "view": view}
                return Stage.__call__(self, batch, sample_ids, return_draws=return_draws, **how)
            if (self.views if views is None else views) != 1:
                raise ArgumentError("views is not 1, but the transform mixes images: call it once for each view")
            which = sample_ids, view, epoch, seed
            return self._run_as_set(batch, out, layout or self.layout, which, return_draws, mixing=(labels, classes))

        def apply_(self, *_, **__):
            raise ArgumentError("a transform cannot work in place: its result has another size or type")

    def _take(self, transform):
        self._handle = ffi.gc(_handle_of(self._text or transform), lib.motley_transform_destroy)
        self._text = self.show()
        self._describe()

    def _describe(self):
        info = lib.motley_transform_describe(self._handle)
        self.name, self.title, self.profile, self.paper = map(
            text_of, (info.name, info.title, info.profile, info.paper)
        )
        self.size = (info.height, info.width) if info.width else None  # of what comes out; None: each keeps its own
        self.max_steps = info.max_steps  # of a sample
        self._to_rgb = bool(info.to_rgb)
        self._made = _DTYPE_NAMES[info.dtype], ("hwc", "chw")[info.layout]
        self._has_output = bool(info.has_output)
        self._mix = info.mix, info.classes or None, info.smoothing

    def __getstate__(self):
        return {key: value for key, value in vars(self).items() if key not in ("_handle", "_mix")}

    def __setstate__(self, state):
        vars(self).update(state)
        self._take(None)

    @staticmethod
    def names() -> list[str]:
        """The names of the built-in transforms."""
        return [text_of(lib.motley_transform_builtin_name(i)) for i in range(lib.motley_transform_builtin_count())]

    def show(self) -> str:
        """The transform as canonical text, which parses back to an equal transform."""
        return text_from(lib.motley_transform_print, self._handle)

    @property
    def mixes(self) -> bool:
        """Whether it has a stage `mix`, so that calls want labels and return targets."""
        return bool(self._mix[0])

    @property
    def transform(self) -> str:
        """What makes it again: a built-in's name, or the text."""
        same = self.name in Transform.names() and Transform(self.name, stream=0).show() == self._text
        return self.name if same else self._text

    def _what(self):
        return self._text

    def _repr_html_(self) -> str:
        return as_html(self, self.show())

    # ---- calls ----

    def replay(  # type: ignore[override]
        self,
        batch: object,
        draws: Drawing,
        *,
        labels: Labels | None = None,
        classes: int | None = None,
        out: object | None = None,
        layout: Layout | None = None,
    ) -> Any:
        """The images, transformed by draws that were recorded: the same values again.

        Args:
            batch: Images, of the sizes and channels that the draws were made for.
            draws: What a call with return_draws=True, or draw(), returned, perhaps stored as JSON in between: for each
                image the object that `motley draw` prints; for a single image its one.
            labels: As of a call, like classes, out and layout.

        Raises:
            PolicyError: What was given are no draws.
            ArgumentError: They do not suit the images, or say, as those that a call returned do, that they are of
                another transform or for another size; nothing is written.
        """
        mixing = (labels, classes) if self.mixes else None
        return self._run_as_set(batch, out, layout or self.layout, given=draws, mixing=mixing)

    def _draws(self, samples, count, size, channels, boxes):
        channels = 3 if self._to_rgb else channels
        return Drawn.of(self, samples.c, [size[::-1]] * count, channels).plain(self, channels)

    def _channels(self, source):
        return 3 if self._to_rgb else super()._channels(source)

    @property
    def _work(self):
        return self, ("transform", self._handle)

    @property
    def _draws_on_host(self):
        return self.clip_frames > 1

    def _run_by_channels(self, source, *_):
        return source.channels  # raises, and says which image has another number

    def _run_as_set(self, batch, out, layout, which=None, return_draws=False, given=None, mixing=None):
        """A call that mixes images, (labels, classes), or is given its draws."""
        call, source, target, pixels, written, result = self._prepare(batch, out, layout, self._work[1])
        count, params, drawn, samples = call.count, call.c.params, given, None
        try:
            if given is None:
                samples = self._samples(count, which)
                params.samples = samples.c[0]
            else:
                if not isinstance(given, Drawn):
                    given = [given] if call.single else given
                    drawn = Drawn.read(given, call.sizes, call.channels, self)
                call.give(drawn)
            made = []
            if mixing is not None:
                mixed = self._mixed(given, params, count)
                labels, classes = mixing
                like = self._source(batch, layout) if source is None else source
                like = like.first if isinstance(like, images.Many) and count else like
                made.append(targets_of(mixed, labels, count, classes or self._mix[1], self._mix[2], like))
            call.run_as_set(pixels, written)
            if return_draws:
                made.append(self._draws_of(call, samples, mixed))
        finally:
            lib.forget(call.c)
        if samples is not None:
            self._note(samples, count)
            if which[0] is None and self.training:
                self._count(self.counter, count)
        result = call.result(batch, source, target, result)
        return (result, *made) if made else result

    def _draws_of(self, call, samples, mixed):
        """For each image its draw, and how it is mixed."""
        plain = Drawn.of(self, samples.c, call.sizes, call.channels).plain(self, call.channels)
        for draw, mix in zip(plain, mixed_plain(mixed, call.count)):
            draw["mix"] = mix
        return plain[0] if call.single else plain

    def _mixed(self, given, params, count):
        """How the images are mixed, drawn or given, before any is touched: motley_mixed[]."""
        if given is None:
            mixed, samples = ffi.new("motley_mixed[]", max(count, 1)), ffi.addressof(params, "samples")
            checked(lib.motley_mix_draw, self._mix[0], samples, count, self.size[1], self.size[0], mixed)
        else:
            missing = [i for i, draw in enumerate(given) if "mix" not in draw]
            if missing:
                raise ArgumentError(f"draws of image {missing[0]} have no 'mix', but the transform mixes images")
            mixed = params.given_mixed = mixed_structs([draw["mix"] for draw in given], count)
        params.mixed = mixed
        return mixed

    def _target(self, source, batch, out, layout):
        dtype, layout = self._dtype or self._made[0], self.output_layout
        pictures = dtype == "uint8" and not self._has_output and layout is None
        if self._has_output:
            layout = layout or self._made[1]
        many = isinstance(source, images.Many)
        if self.size:
            sizes = [self.size] * (max(source.count, 1) if pictures else 1)
        else:
            sizes = [(height, width) for width, height in source.sizes() or ([] if many else [source.size[::-1]])]
        if many and dtype != "uint8" and len(set(sizes)) > 1:
            raise ArgumentError(
                f"the images have {len(set(sizes))} sizes and transform '{self.name}' resizes none, want one size, or "
                "a stage that crops or resizes"
            )
        channels = 3 if self._to_rgb else 0
        return images.target_of(source, sizes, out, dtype, layout, pictures, stacked=True, channels=channels)


def without_draws(transform):
    """The text of what is left of a transform where nothing is drawn."""
    head, *stages = re.split(r"^  - ", transform.show(), flags=re.MULTILINE)
    if "\nstages:\n" not in head:  # of a policy
        return NO_AUGMENTATION.show()
    kinds = [re.match(r"\w+", stage)[0] for stage in stages]
    for kind in kinds:
        if kind in ("random_resized_crop", "random_crop"):
            name = "timm_eval" if transform.profile == "timm" else "torchvision_eval"
            raise UnsupportedError(
                f"transform '{transform.name}' cannot go without draws, in eval(): its stage '{kind}' crops at random. "
                f"Want another transform for evaluation, such as motley.torch.Transform('{name}')"
            )
    left = [stage for kind, stage in zip(kinds, stages) if kind in STILL or stage.strip() == "grayscale: {}"]
    return "  - ".join([head, *left]) if left else NO_AUGMENTATION.show()


def _handle_of(transform):
    """A new motley_transform of a built-in's name, a path or a text, by the rule that Policy.of has."""
    if isinstance(transform, os.PathLike):
        return _loaded(os.fspath(transform))
    if not isinstance(transform, str):
        raise ArgumentError(
            f"transform is a {type(transform).__name__}, want a built-in's name, a path, a text or a motley.Transform"
        )
    if "\0" in transform:
        raise ArgumentError(f"transform is {transform!r}, want a name, a path or a text, which have no NUL")
    source = lib.motley_policy_source_of(transform.encode())
    if source == lib.MOTLEY_POLICY_FILE:
        return _loaded(transform)
    if source == lib.MOTLEY_POLICY_BUILTIN:
        return made_by("motley_transform", lib.motley_transform_builtin, transform.encode())
    text = transform.encode()
    try:
        return read("motley_transform **", lib.motley_transform_parse, text, len(text), name="<transform>")
    except PolicyError as wrong:
        raise _of_custom(wrong) from None


def _of_custom(wrong):
    """The error, which says so where the unknown operation is a custom one."""
    own = next((name for name in registered if f"unknown operation '{name}'" in str(wrong)), None)
    if own is None:
        return wrong
    return PolicyError(f"{wrong}; '{own}' is a custom operation: want a motley.Stage, which runs them", wrong.problems)


def _loaded(path):
    try:
        return read("motley_transform **", lib.motley_transform_load, os.fsencode(path), name=path)
    except PolicyError as wrong:
        raise _of_custom(wrong) from None
