# SPDX-License-Identifier: Apache-2.0
"""Calls of the library, prepared once for a shape of batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from . import _images as images
from . import _native
from ._arrays import WIDE
from ._core import ffi, lib
from ._native import ArgumentError, check, for_channels, made_by
from .draws import boxes_given, recorded
from ._random import levels_on_host
from .policy import fill_bytes


class Call:
    """What a call needs besides pixels and samples, determined once for each shape of batches.

    what: what it does, as the library takes it: ("policy", handle), ("op", its row, the number
    of an interpolation, fill), or () for given steps of any policy."""

    like: Any = None  # makes what is written to; None: the caller has given it
    finish: Any = None  # makes of what was written what the caller gets
    written: Callable[[Any], int]  # where what is written to has its pixels
    by: Any  # how the images of a list are found
    listed: Any  # motley_image[] and uintptr_t[] of the list that it is of

    def __init__(self, transform: Any, source: Any, target: Any, what: Any) -> None:
        self.context = _native.context_of(source.device, transform.threads)
        self.c = c = ffi.new("kept_call *")
        c.count = self.count = source.count
        c.in_place, c.fused = target is source, fuses(transform, target)
        c.params.clip_frames = transform.clip_frames
        self.single = source.single
        self.keep: Any = source, target  # what it reads and writes; None, None of a call that is kept for others
        self.stream = no_stream
        self.caller = images.library_of(source), source.device
        self._sizes: Any = None if self.count else []
        self.channels = 1
        self.bands = self.count > 0 and source.has_bands
        if self.count:
            self.channels = transform._channels(source)
            if source.device is not None:
                self.stream = source.kind.stream_of(source.array)
        self.what = what  # which the call borrows
        self._numbers = self._of_each_run(transform, source, c.params) if self.count else []
        self._describe(transform, source, target)

    def _of_each_run(self, transform: Any, source: Any, params: Any) -> list[Any]:
        """Tells the params what stays in all runs: a fill, and how what stages make is normalised. Returns what they
        point to."""
        numbers = []
        if transform.fill_value is not None:
            numbers.append(ffi.new("double[]", for_channels("fill_value", transform.fill_value, source.channels)))
            params.fill = numbers[-1]
        if transform.mean is not None and not transform.fused:
            numbers += normalizing(transform, source, params.output)
        return numbers

    def _describe(self, transform: Any, source: Any, target: Any) -> None:
        """Tells the library what is read and written."""
        self.batches, self.how, self._held = described(transform, source, target, self.what)
        self._create()

    def _create(self) -> None:
        self.c.call = made_by("motley_call", lib.motley_call_create, self.context.handle, *self.batches, self.how)
        self.made: Any = ffi.gc(self.c.call, lib.motley_call_destroy)

    # ---- kept, and done again ----

    def for_any_pixels(self, source: Any, target: Any, new: bool) -> None:
        """Lets go of the arrays that it was made for. new: each run writes to a new target."""
        _ = self.sizes
        self.keep, self.finish, self.like = (None, None), source.finish_for(), target.make if new else None
        self.written = self._written_by(target)

    def for_lists(self, key: Any, source: Any, target: Any, new: bool) -> None:
        """Keeps the call for lists of as many images, of which only the images have to be described."""
        self.for_any_pixels(source, target, new)
        self.by, self.listed, self.have = source.by, (source.table, source.pointers), (source.channels, source.device)
        _native.keep(_native.local.calls, key, self)

    def _written_by(self, target: Any) -> Any:
        return target.kind.pointer

    def takes_list(self, given: Any) -> bool:
        """Whether a list is like the one that it was made for; it is of that list then."""
        found = images.described_list(given, self.by)
        if found is None:
            return False
        table, pointers, has = found
        if (has.channels, has.device if has.device_type in images.ON_CUDA else None) != self.have:
            return False
        self.listed, self._sizes = (table, pointers), None
        self._take(table)
        return True

    def _take(self, table: Any) -> None:
        """Takes a list's images, described."""
        self.batches[0].images = table
        self._create()

    @property
    def sizes(self) -> Any:
        """(width, height) of each image."""
        if self._sizes is None:
            source, _ = self.keep
            self._sizes = images.sizes_in(self.listed[0]) if source is None else source.sizes()
        return self._sizes

    def result(self, batch: Any, result: Any) -> Any:
        """What the caller gets. result: what is written to, None if the call has it."""
        source, target = self.keep
        if source is not None:
            images.hold_until_done(self, source, target)
            return target.result(source) if result is None else result
        return result if self.finish is None else self.finish(result, batch)

    def failed(self, policy: Any, status: int) -> None:
        """Raises what run_call's status says."""
        if status == lib.CALL_NEGATIVE_ID:
            raise ArgumentError("sample_ids has a negative number, want whole numbers from 0 to 2^63 - 1")
        if not (self.c.params.given_steps or self.c.device_offsets):
            boxes_given(policy, None)
        raised, _native.local.raised = _native.local.raised, None
        if raised is not None:
            raise raised
        check(status, self.c.error)

    def recorded(self, policy: Any, levels: Any) -> Any:
        """The draw of each image of the last run, or that of the one image."""
        samples = ffi.new("motley_samples *", self.c.params.samples)
        if levels is not None and self.caller[1] is not None:
            _copy, samples.levels = levels_on_host(levels, self.count)
        samples.bands = self.bands
        draws = recorded(policy, samples, self.sizes, self.channels)
        if not self.single:
            return draws
        if not policy.views:
            return draws[0]
        return {name: own[0] if isinstance(own, list) else tuple(j[0] for j in own) for name, own in draws.items()}

    def give(self, drawn: Any) -> None:
        """Draws for the next run, a Drawn."""
        params = self.c.params
        params.given, params.given_steps, params.given_step_counts = drawn.structs
        params.given_max_steps, params.given_kernels = drawn.max_steps, drawn.kernels


class BatchesCall(Call):
    """A call of functions that take batches with their addresses, such as that which mixes images as they come."""

    def _describe(self, transform: Any, source: Any, target: Any) -> None:
        self.c.batches = self.made = ffi.new("kept_batches *")
        self.made.context, self.made.policy = self.context.handle, self.what[1]
        if source.count:
            self._held = describe_source(transform, source, self.made.src)
            self._describe_target(target)

    def _describe_target(self, target: Any) -> None:
        target.describe(self.made.dst)

    def _take(self, table: Any) -> None:
        self.made.src.images = table


class ViewsCall(BatchesCall):
    """The call that makes all views of a batch. Its result is a list of what is written to, by view."""

    def _describe(self, transform: Any, source: Any, target: Any) -> None:
        self.views = target.views
        self.to = ffi.new("motley_view_results[]", len(target.targets))
        if source.count:
            source.require_dtype()
        super()._describe(transform, source, target)
        self.made.results = self.to

    def _describe_target(self, target: Any) -> None:
        src = self.made.src
        for to, own in zip(self.to, target.targets):
            own.describe(to.dst)
            to.dst.alpha = src.alpha and to.dst.channels == src.channels

    def _written_by(self, target: Any) -> Any:
        pointers = [own.kind.pointer for own in target.targets]

        def written(arrays: Any) -> int:
            for to, array, pointer in zip(self.to, arrays, pointers):
                to.dst.data = ffi.cast("void *", pointer(array))
            return 0

        return written

    def result(self, batch: Any, result: Any) -> Any:
        """A dictionary by the views' names: of a view with several results their tuple."""
        source, target = self.keep
        if source is not None:
            images.hold_until_done(self, source, *target.targets)
            result, finish = target.array, source.finish_for()
        else:
            finish = self.finish
        made = {}
        for (name, (count, *_)), written in zip(self.views.items(), result):
            pieces = [written] if count == 1 else self._pieces(written, count)
            if isinstance(written, (images.Many, images.Picture)):
                pieces = [piece.result(source) for piece in pieces]
            elif finish is not None:
                pieces = [finish(piece, batch) for piece in pieces]
            if name:
                made[name] = pieces[0] if count == 1 else tuple(pieces)
        return made

    def _pieces(self, written: Any, count: int) -> Any:
        """The results of a view that has several."""
        n = self.count
        if not isinstance(written, images.Many):
            return [written[j] if self.single else written[j * n : (j + 1) * n] for j in range(count)]
        if self.single:
            return written.parts
        return [images.list_of(written.parts[j * n : (j + 1) * n], written.cls) for j in range(count)]


def replayed(batch: Any, draws: Any, views: Any, out: Any = None, **how: Any) -> dict[str, Any]:
    """All views of a batch or a sample by recorded draws; views: {name: (count, number, what replays its draws)}."""
    if out is not None:
        raise ArgumentError("out is given, but the policy has views: want what replay() returns")
    if not isinstance(draws, dict) or draws.keys() != views.keys():
        names = ", ".join(map(repr, views))
        raise ArgumentError(f"draws is {draws!r:.60}, want the dictionary that return_draws gave, with {names}")
    if "" in views:
        batch = views.pop("")[2].replay(batch, draws[""], **how)
    results = {}
    for name, (count, _, own) in views.items():
        made = [own.replay(batch, each, **how) for each in ([draws[name]] if count == 1 else draws[name])]
        results[name] = made[0] if count == 1 else tuple(made)
    return results


class ViewTargets:
    """What the views of a batch are written to: {name: (count, number, policy)}, and a target for each."""

    pointer = 0  # the call has their addresses

    def __init__(self, views: Any, targets: Any) -> None:
        self.views, self.targets = views, targets
        pictures = [isinstance(target, (images.Many, images.Picture)) for target in targets]
        self.buffer: Any = pictures if any(pictures) else None  # as a PIL image's: the call is not kept
        self.array = [target if own else target.array for target, own in zip(targets, pictures)]

    def make(self, batch: Any) -> Any:
        return [target.make(batch) for target in self.targets]


def call_of(policy: Any) -> type[Call]:
    """The class of calls of a policy; None: of an operation."""
    if policy is None or not policy.whole:
        return Call
    return ViewsCall if policy.views else BatchesCall if policy.only_mixes else Call


def described(transform: Any, source: Any, target: Any, what: Any) -> Any:
    """(src, dst), params: what motley_call_create takes; and what `params` points to."""
    src, dst, output = ffi.new("motley_batch *"), ffi.new("motley_batch *"), ffi.new("motley_output *")
    params = ffi.new("motley_call_params *")
    if what:
        setattr(params, *what[:2])
    held = [output]
    if len(what) > 2:
        how, fill = held[1:] = ffi.new("motley_op_params *"), _fill_of(what[3], source)
        how.interpolation, how.fill, params.op_params = what[2], fill, how
    fused = fuses(transform, target)
    if source.count:
        source.require_dtype()
        held.append(describe_source(transform, source, src[0]))
        if fused:
            target.describe(output.batch)
            output.batch.alpha = src.alpha
            held += normalizing(transform, source, output)
        elif target is not source:
            target.describe(dst[0])
            dst.alpha = src.alpha and dst.channels == src.channels
    if fused:
        params.output = output
    return (src, ffi.NULL if fused else src if target is source else dst), params, held


def fuses(transform: Any, target: Any) -> bool:
    """Whether a fused last step writes the result; uint16 in another layout is just written there."""
    return bool(transform.fused and target.dtype != lib.MOTLEY_U16)


def describe_source(transform: Any, source: Any, batch: Any) -> Any:
    """Fills a motley_batch that is read. Returns the range that it points to."""
    source.describe(batch)
    batch.unclamped = not transform.clamp
    if transform.range is None:
        return None
    batch.range = pairs = ffi.new("double[][2]", transform.range)
    batch.ranges = len(pairs)
    return pairs


class Look:
    """Values of a first batch on CUDA, which a later call finds in host memory."""

    def __init__(self, source: Any) -> None:
        self.kind, first = source.kind, getattr(source, "first", source)  # of a list
        self.values, self.arrived = self.kind.sampled(first.array, first.axes[1])
        self.layout = first.layout

    def __reduce__(self) -> Any:
        return bool, (True,)  # a transform that is copied looks at a batch of its own


def look_once(transform: Any, source: Any, policy: Any) -> None:
    """Looks at the first batch of a transform: at once in host memory, and of tensors on CUDA when a later call finds
    that values have arrived."""
    look, transform._looks[0] = transform._looks[0], False
    if policy is not None and not policy.max_steps:
        return
    if source.device is None:
        warn_of_range(transform, source)
    elif not hasattr(source.kind, "sampled") or source.kind.captures(source.device):
        transform._looks[0] = look
    elif look is True:
        transform._looks[0] = Look(source)
    elif look.arrived():
        warn_of_range(transform, images.Batch(look.kind, look.values, look.layout))
    else:
        transform._looks[0] = look


def warn_of_range(transform: Any, source: Any) -> None:
    """Looks at some of the values of images in host memory, and warns where more than 1 % lie outside of the range."""
    batch = ffi.new("motley_batch *")
    _held = describe_source(transform, source, batch)
    if batch.ranges not in (0, 1, source.channels):
        return  # which is refused
    found = lib.look_at_range(batch)
    if found.outside > 0.01 * found.seen:
        low, high = transform.range[0] if transform.range else (0, 65535 if source.dtype == lib.MOTLEY_U16 else 1)
        wanted = f"{low:g}..{high:g}" if batch.ranges < 2 else "of their bands"
        warnings.warn(
            f"{100 * found.outside / found.seen:.3g} % of the images' values lie outside of the range {wanted}: of "
            f"{found.seen} that were looked at, the least is {found.low:.6g} and the greatest {found.high:.6g}. "
            "Operations that compute values clamp them. Want range=(low, high), what stands for black and white in the "
            "data, with clamp=False where it has no ends, or this transform before the one that normalises, whose "
            "numbers it takes as mean= and std=. check=False turns the look off",
            stacklevel=2,
        )


def normalizing(transform: Any, source: Any, output: Any) -> list[Any]:
    """Fills a motley_output with mean and std: of bytes on the 0..1 scale, else in the data's units. Returns what it
    points to."""
    mean, std = transform.mean, transform.std
    if mean is None:
        return []
    numbers = [for_channels("normalize", given, source.channels) for given in (mean, std)]
    for name, given in ("mean", mean), ("std", std):
        if max(given) > 1 and source.dtype not in WIDE:
            raise ArgumentError(
                f"{name} is {given}, want numbers on the 0..1 scale (those of the 0..255 scale divided by 255), as the "
                "images are uint8"
            )
    if source.dtype in WIDE or source.channels > 4 or not transform.fused:
        output.means, output.stds = held = [ffi.new("float[]", each) for each in numbers]
        return held
    for i, (one, other) in enumerate(zip(*numbers)):
        output.mean[i], output.std[i] = one, other
    return []


def _fill_of(fill: Any, source: Any) -> Any:
    """double[] of an operation's fill: of bytes a colour, else in the data's units."""
    given = fill if hasattr(fill, "__len__") else (fill,)
    if source.count and source.dtype in WIDE:
        try:
            numbers = tuple(map(float, given))
        except (TypeError, ValueError):
            raise ArgumentError(f"fill is {fill!r}, want a number, or one for each channel") from None
        return ffi.new("double[]", for_channels("fill", numbers, source.channels))
    color = list(fill_bytes(fill))
    if source.count and source.channels < 3 and len(given) > 1:
        raise ArgumentError(f"fill is {fill!r}, the images have {source.channels} channels: want one number")
    if source.count and source.channels > 4 and len(given) == 3:
        raise ArgumentError(f"fill is {fill!r}, the images have {source.channels} channels: want one number, or 4")
    return ffi.new("double[]", color + color[:1] * (source.channels - 4 if source.count else 0))


def no_stream() -> int:
    return 0
