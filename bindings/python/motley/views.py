# SPDX-License-Identifier: Apache-2.0
"""Policies that make several results of each image, or whose numbers change with the epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from . import _images as images
from . import _native
from ._arrays import KINDS, address, dtype_name
from ._core import ffi, lib
from ._native import ArgumentError, epoch_given, layout_given, no_argument, outside_graphs, threads_given
from .calls import Call
from .draws import Drawn
from .policy import Policy
from ._random import Sampled, levels_of, levels_on_host, levels_without_use, split_ids
from .transform import Transform, keeping

if TYPE_CHECKING:
    from ._types import DtypeLike, Generator, Ids, Layout, Levels, PolicyLike

ARGUMENTS = "sample_ids", "view", "epoch", "seed", "levels", "out", "layout", "return_draws"  # of a call


class MultiView(Sampled):
    """Runs a policy with views: several results of each image, each with its own draws. Or one with schedules, whose
    numbers change with the epoch::

        views = motley.MultiView("dinov2", seed=7)
        made = views(images, sample_ids=ids, epoch=3)   # {"global_1": batch, "global_2": batch, "local": (8 batches)}
        crops = [made["global_1"], made["global_2"], *made["local"]]

        train = motley.MultiView("mobileone_train")         # without views: the batch, of the epoch's size
        batch = train(images, sample_ids=ids, epoch=40)

    "Views" and "Numbers that change with the epoch" of doc/policy-format.md describe the files. A draw depends on
    (policy, seed, epoch, sample id, read) and on the view, so views that are added at the end of a file change no other
    draws. One call makes all views. CUDA tensors are read where they are, in the current stream; nothing waits.

    Args:
        policy: A motley.Policy, a built-in's name, a path or a text; or another MultiView, whose settings are kept.
        seed, generator: As motley.Transform's, like dtype, output_layout, alpha and threads.
        epoch: Of draws by id, and of the numbers that change with it; set_epoch() sets another, and a call can be given
            one, or ids that carry it.
        layout: Of the images, as motley.Transform's.
    """

    _made_of = ("policy",)
    _defaults = {**Sampled._defaults, "dtype": None, "output_layout": None, "alpha": False}
    alpha = False  # of pickles that were made before it was an argument

    @keeping
    def __init__(
        self,
        policy: PolicyLike,
        *,
        seed: int | None = None,
        generator: Generator | None = None,
        epoch: int | None = None,
        layout: Layout | None = None,
        dtype: DtypeLike | None = None,
        output_layout: Literal["chw", "hwc", "channels_last"] | None = None,
        alpha: bool = False,
        threads: int | None = None,
    ) -> None:
        self.policy = Policy.of(policy)
        self._begin(seed, generator, epoch, None)
        self.layout, self.threads, self.alpha = layout_given(layout), threads_given(threads), bool(alpha)
        self.output_layout, self._dtype = output_layout, None if dtype is None else dtype_name(dtype)
        self._flavour = repr((threads, self._dtype, output_layout, alpha))
        self._transforms: dict[tuple[str, str], Transform] = {}  # by view and text
        self._now: tuple[int, Policy, dict[str, tuple[int, int, Transform]]] | None = None
        self.in_epoch(epoch or 0)

    def _same(self) -> MultiView:
        made: MultiView = super()._same()
        made._transforms, made._now = {}, None  # the views' transforms, which get this object's counter in each call
        return made

    @classmethod
    def wanted_by(cls, policy: PolicyLike) -> bool:
        """Whether a policy is one that motley.Transform does not run: with several views, or with schedules."""
        if isinstance(policy, cls):
            return True
        policy = Policy.of(policy)
        return policy.scheduled or bool(policy.views)

    @property
    def mixes(self) -> bool:
        """Whether it mixes images, so that calls want labels and return targets."""
        return self.policy.mixes

    def in_epoch(self, epoch: int) -> dict[str, tuple[int, int, Transform]]:
        """For each view its count, its number and its motley.Transform in an epoch: {"local": (8, 2, Transform)}. Of a
        policy without views {"": (1, 0, Transform)}. A view's transform has the size of its results."""
        return self._in_epoch(epoch_given(epoch))[2]

    def _in_epoch(self, epoch: int) -> tuple[int, Policy, dict[str, tuple[int, int, Transform]]]:
        """The epoch, its policy, and what in_epoch() returns."""
        if self._now is not None and (self._now[0] == epoch or not self.policy.scheduled):
            return self._now
        policy = self.policy.at(epoch)
        kept, self._transforms, made = self._transforms, {}, {}
        for name, (count, number, own) in (policy.views or {"": (1, 0, policy)}).items():
            key = name, own.show()
            self._transforms[key] = transform = kept.get(key) or self._transform(own, bool(name) or not policy.views)
            made[name] = count, number, transform
        self._now = epoch, policy, made
        return self._now

    def _transform(self, policy: Policy, last: bool) -> Transform:
        """last: whether its results are the caller's."""
        settings: dict[str, Any] = {"layout": self.layout, "threads": self.threads, "alpha": self.alpha}
        if last:
            settings.update(dtype=self._dtype, output_layout=self.output_layout)
        return Transform(policy, seed=self.seed, **settings)

    @outside_graphs
    def __call__(
        self,
        batch: Any,
        *,
        sample_ids: Ids | None = None,
        view: Ids = 0,
        epoch: int | None = None,
        seed: int | None = None,
        levels: Levels | None = None,
        out: Any = None,
        layout: Layout | None = None,
        return_draws: bool = False,
        **rest: Any,
    ) -> Any:
        """All views of the images.

        Args:
            batch: As of motley.Transform: a list of images of any sizes, a batch, or one image.
            sample_ids: As of motley.Transform.
            view: Which time the samples are read in this epoch, 0 to 255: a number, or one for each image.
            epoch: In place of the one that was said; numbers that change with the epoch want one.
            seed: Of draws by id, in place of the one that was given.
            levels: As of motley.Transform, for the views that take them.
            out: Where to write: a dictionary with an array for each view, of the shape and dtype of its results; where
                a view has several, one array of all images of the first, then of the second, and so on. Of a policy
                without views an array.
            layout: In place of the one that was given.
            return_draws: Give (images, draws) in place of the images of each result.
            rest: Of a policy without views what else motley.Transform takes: labels and classes.

        Returns:
            A dictionary: by the name of each view its result, or the tuple of its results where it has several; with
            return_draws also, under "", the draws of stages that the views share. Of a policy without views, what a
            motley.Transform returns.
        """
        sample_ids, view, epoch = split_ids(sample_ids, view, epoch)
        if sample_ids is not None or epoch is not None or (self.policy.scheduled and self._epoch is not None):
            epoch, _ = self._epoch_by_id(epoch)
        elif self.policy.scheduled:
            raise ArgumentError(f"policy '{self.policy.name}' changes with the epoch, and none is said: want epoch= or "
                                "set_epoch(), or the ids of a motley.torch.Sampler, which carry it")  # fmt: skip
        else:
            epoch = 0
        _, policy, views = self._in_epoch(epoch_given(epoch))
        takes = any(transform.policy.takes_levels for *_, transform in views.values())
        if levels is not None and not takes and not self.policy.scheduled:
            raise levels_without_use(self.policy)
        levels = levels if takes else None
        how = sample_ids, view, epoch, seed
        if list(views) == [""]:
            return self._alone(views[""][2], batch, how, levels=levels, out=out, layout=layout,
                               return_draws=return_draws, **rest)  # fmt: skip
        for name in rest.keys() - {"labels", "classes"}:
            raise no_argument("MultiView", name, ARGUMENTS)
        if rest:
            raise ArgumentError(f"{', '.join(rest)}: want a policy that mixes images, and '{policy.name}' has views")
        call, pixels, written, source = self._prepare(batch, out, layout or self.layout, policy, views)
        numbers, _keep = self._numbers(call.count, how, call.caller[1], True)
        _native.local.caller = call.caller  # of custom operations
        try:
            if levels is not None:
                _held, call.c.levels = levels_of(levels, call.count, call.caller[1])
            status = lib.run_call(call.c, pixels, 0, call.stream(), *numbers)
            if status:
                call.failed(policy, status)
        finally:
            call.c.levels = 0
        images.keep_if_captured(self, call, batch, out, levels)
        made = call.results(written, batch, source)
        if not return_draws:
            return made
        if levels is not None:
            _held, call.c.params.samples.levels = levels_on_host(levels, call.count)
        return call.with_draws(made)

    def _alone(self, transform: Any, batch: Any, how: Any, **rest: Any) -> Any:
        """A call of a policy without views, which draws as this object does."""
        sample_ids, view, epoch, seed = how
        transform._words = self._words
        return transform(batch, sample_ids=sample_ids, view=view, epoch=epoch, seed=seed, **rest)

    def _prepare(self, batch: Any, out: Any, layout: Any, policy: Any, views: Any) -> Any:
        """The call; the address of the images; what is written to, of each view an array, or a Many or Picture; the
        images' Batch where no kept call knows them."""
        kind, key = KINDS[type(batch)], None
        pixels = kind.pointer(batch) if kind is not None and out is None else None
        if pixels is not None:
            key = kind.key(batch, False, layout, self._flavour, policy._what)
            call = _native.local.calls.get(key)
            if call is not None:
                return call, pixels, call.made_for(batch), None
        elif batch.__class__ is list and batch and out is None:
            key = "list", batch[0].__class__, len(batch), layout, self._flavour, policy._what
            call = _native.local.calls.get(key)
            if call is not None and call.takes_list(batch):
                return call, address(call.listed[1]), call.made_for(batch[0]), None
        source = images.source_of(batch, layout)
        if self.alpha:
            source.take_alpha(self.policy.to_rgb)
        call = ViewsCall(views, source, batch, out, policy._what)
        _, targets = call.keep
        pictures = [isinstance(target, (images.Many, images.Picture)) for target in targets]
        written = [target if is_none else target.array for target, is_none in zip(targets, pictures)]
        if key is not None and not any(pictures):
            call.makes = [(target.make, target.kind.pointer) for target in targets]
        if key is not None and source.array is batch and not any(pictures):
            call.finish = source.finish_for()
            call.for_any_pixels()
            _native.keep(_native.local.calls, key, call)
        elif key is not None and getattr(source, "by", None) and not any(pictures) and not source.finish_for():
            call.keep_for_lists(key, source)
        else:
            images.hold_until_done(call, source, *targets)
        return call, source.pointer, written, source


class ViewsCall(Call):
    """The call that makes all views of a batch. Stages that they share come last, under the name ""."""

    makes: list[tuple[Any, Any]]  # of each target what makes it, and what says where its pixels are

    def __init__(self, views: Any, source: Any, batch: Any, out: Any, what: Any) -> None:
        self.views, given = views, {} if out is None else out
        if not isinstance(given, dict) or not given.keys() <= views.keys() - {""}:
            found = ", ".join(map(str, given)) if isinstance(given, dict) else f"a {type(out).__name__}"
            raise ArgumentError(f"out is {found}, want a dictionary of {', '.join(filter(None, views))}")
        shared = views.get("", (0, 0, None))[2]
        first = [shared] if shared else [transform for *_, transform in views.values()]
        source.to_rgb = all(transform.policy.to_rgb for transform in first)
        last = [shared._target_of_stages(source, batch, None, shared.policy)] if shared else []
        for target in last:
            target.alpha = source.alpha
        targets = [
            transform._target_of_stages(last[0] if last else source, batch, given.get(name), transform.policy, count)
            for name, (count, _, transform) in views.items() if name
        ]  # fmt: skip
        super().__init__(first[0], source, targets + last, what)

    def _describe(self, transform: Any, source: Any, targets: Any) -> None:
        self.c.views = self.made = kept = ffi.new("kept_views *")
        kept.context, kept.policy = self.context.handle, self.what[1]
        kept.results = self.to = ffi.new("motley_view_results[]", len(targets))
        if source.count:
            source.require_bytes()
            source.describe(kept.src)
            for to, target in zip(self.to, targets):
                target.describe(to.dst)
                to.dst.alpha = kept.src.alpha and to.dst.channels == kept.src.channels

    def _take(self, table: Any) -> None:
        self.c.views.src.images = table

    def made_for(self, batch: Any) -> Any:
        """New arrays for what is made of a batch like the one that it was made for."""
        arrays = []
        for to, (make, pointer) in zip(self.to, self.makes):
            array = make(batch)
            to.dst.data = ffi.cast("void *", pointer(array))
            arrays.append(array)
        return arrays

    def results(self, written: Any, batch: Any, source: Any) -> Any:
        """What the caller gets; the arguments are what MultiView._prepare has."""
        finish = self.finish if source is None else source.finish_for()
        made = {}
        for (name, (count, *_)), target in zip(self.views.items(), written):
            pieces = [target] if count == 1 else self._pieces(target, count)
            if isinstance(target, (images.Many, images.Picture)):
                pieces = [piece.result(source) for piece in pieces]
            elif finish is not None:
                pieces = [finish(piece, batch) for piece in pieces]
            if name:
                made[name] = pieces[0] if count == 1 else tuple(pieces)
        return made

    def _pieces(self, target: Any, count: int) -> Any:
        """The results of a view that has several."""
        n = self.count
        if not isinstance(target, images.Many):
            return [target[j] if self.single else target[j * n : (j + 1) * n] for j in range(count)]
        if self.single:
            return target.parts
        return [images.list_of(target.parts[j * n : (j + 1) * n], target.cls) for j in range(count)]

    def with_draws(self, made: Any) -> Any:
        """The results of the last run, each with its draws, and those of shared stages."""
        samples, sizes, channels = self.c.params.samples, self.sizes, self.channels
        reads = [samples.views[i] if samples.views else samples.view for i in range(self.count)]
        drawn = {}
        for name, (count, number, transform) in sorted(self.views.items(), key=lambda view: view[0] != ""):
            policy, each = transform.policy, []
            known = channels if self.bands or not policy.to_rgb else 3
            for j in range(count):
                words = ffi.new("uint32_t[]", [256 * read + 16 * number + j for read in reads])
                own = ffi.new("motley_samples *", samples)
                own.views, own.bands = words, self.bands
                draws = Drawn.of(policy, own, sizes, known).plain(policy, known)
                each.append(draws[0] if self.single else draws)
            if not name:
                drawn[name], channels = each[0], known
                sizes = [policy.size[::-1]] * self.count if policy.size else sizes
            else:
                drawn[name] = (made[name], each[0]) if count == 1 else tuple(zip(made[name], each))
        return drawn
