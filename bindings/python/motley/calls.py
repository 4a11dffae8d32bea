# SPDX-License-Identifier: Apache-2.0
"""Calls of the library, prepared once for a shape of batches, and the numbers of the samples in them."""

from . import _images as images
from . import _native
from ._core import ffi, lib
from ._arrays import KINDS, address, name_of
from ._native import ArgumentError, check, epoch_given, made_by, view_given, whole
from .draws import Drawn, boxes_given

CALLS_KEPT = 256  # by a thread: one for each shape of batches that it meets


class Call:
    """What a call needs besides pixels and samples, determined once for each shape of batches.

    what: what it does, as the library takes it: ("policy", handle), ("transform", handle), ("op", its row, the number
    of an interpolation, fill), or () for given steps of any policy."""

    def __init__(self, stage, source, target, what):
        self.context = _native.context_of(source.device, stage.threads)
        self.c = c = ffi.new("kept_call *")
        c.count = self.count = source.count
        c.in_place, c.fused = target is source, stage.fused
        c.params.clip_frames = stage.clip_frames
        self.single = source.single
        self.keep = source, target
        self.like = self.finish = None
        self.stream = no_stream
        self.caller = images.library_of(source), source.device
        self._sizes, self.channels = None if self.count else [], 1
        if self.count:
            self.channels = stage._channels(source)
            if source.device is not None:
                self.stream = source.stream_of()
        batches, params, _held = described(stage, source, target, what)
        c.call = made_by("motley_call", lib.motley_call_create, self.context.handle, *batches, params)
        self.made, self.what = ffi.gc(c.call, lib.motley_call_destroy), what  # which the call borrows
        if what[:1] == ("policy",):
            c.name = lib.motley_policy_name(what[1])
        elif what[:1] == ("transform",):
            c.name = lib.motley_transform_describe(what[1]).name

    @property
    def sizes(self):
        """(width, height) of each image."""
        if self._sizes is None:
            self._sizes = self.keep[0].sizes()
        return self._sizes

    def for_any_pixels(self):
        """Lets go of the arrays that it was made for."""
        _ = self.sizes
        self.keep = None

    def result(self, batch, source, target, result):
        """What the caller gets; the arguments are Stage._prepare's."""
        if source is not None:
            images.hold_until_done(self, source, target)
            return target.result(source) if result is None else result
        return result if self.finish is None else self.finish(result, batch)

    def run(self, policy, pixels, written, seed, epoch, first, ids, ids_signed, views, counter, seen):
        """Does or queues the work. policy: or the transform; pixels, written: addresses; the rest: run_call's (see
        call.h). True: `seen` says that samples come again."""
        if policy.custom_ops:
            _native.local.caller = self.caller
        try:
            status = lib.run_call(
                self.c, pixels, written, self.stream(), seed, epoch, first, ids, ids_signed, views, counter, seen
            )
        except (OverflowError, TypeError):
            epoch_given(epoch)
            whole("the sample id", first, 0, (1 << 64) - 1, "from 0 to 2^64 - 1")
            raise
        if status:
            if status == lib.CALL_REPEATS:
                return True
            if status == lib.CALL_NEGATIVE_ID:
                raise ArgumentError("sample_ids has a negative number, want whole numbers from 0 to 2^63 - 1")
            boxes_given(policy, None)
            raised, _native.local.raised = _native.local.raised, None
            if raised is not None:
                raise raised
            check(status, self.c.error)

    def give(self, drawn):
        """Draws for the next run, a Drawn."""
        params = self.c.params
        params.given, params.given_steps, params.given_step_counts = drawn.structs
        params.given_max_steps = drawn.max_steps

    def run_as_set(self, pixels, written):
        """Does or queues the work by the samples or draws that its params have, which are then forgotten."""
        try:
            check(lib.run_kept(self.c, pixels, written, self.stream()), self.c.error)
        finally:
            lib.forget(self.c)

    def draws(self, policy):
        """For each image the list of its steps; for a single image its one list."""
        samples = ffi.addressof(self.c.params, "samples")
        drawn = Drawn.of(policy, samples, self.sizes, self.channels).plain(policy, self.channels)
        return drawn[0] if self.single else drawn


def described(stage, source, target, what):
    """(src, dst), params: what motley_call_create takes; and what `params` points to."""
    src, dst, output = ffi.new("motley_batch *"), ffi.new("motley_batch *"), ffi.new("motley_output *")
    params = ffi.new("motley_call_params *")
    if what:
        setattr(params, *what[:2])
    held = [output]
    if len(what) > 2:
        how, fill = held[1:] = ffi.new("motley_op_params *"), ffi.new("uint8_t[]", what[3])
        how.interpolation, how.fill, params.op_params = what[2], fill, how
    if source.count:
        source.require_bytes()
        source.describe(src[0])
        if stage.fused:
            target.describe(output.batch)
            output.mean = _four(stage.mean, source.channels, 0)
            output.std = _four(stage.std, source.channels, 1)
        elif target is not source:
            target.describe(dst[0])
    if stage.fused:
        params.output = output
    return (src, ffi.NULL if stage.fused else src if target is source else dst), params, held


def no_stream():
    return 0


def keep(key, call):
    """Keeps a call for further batches of its shape, in this thread."""
    calls = _native.local.calls
    if len(calls) >= CALLS_KEPT:
        calls.clear()
    calls[key] = call


def _four(numbers, channels, rest):
    if numbers is None:
        return [rest] * 4
    if len(numbers) == 1:
        return list(numbers) * 4
    if len(numbers) != channels:
        raise ArgumentError(f"normalize has {len(numbers)} numbers, the images have {channels} channels")
    return list(numbers) + [rest] * (4 - channels)


# ---- ids and views ----


def ids_of(sample_ids, count):
    """What holds `count` ids, their address and whether they are signed, of a list, range, array or tensor of whole
    numbers."""
    kind = KINDS[type(sample_ids)]
    if kind is not None and kind.holds(sample_ids, count, "int64", "uint64"):
        return sample_ids, kind.pointer(sample_ids), name_of(sample_ids.dtype) == "int64"
    sample_ids = list(numbers_of(sample_ids))
    if bool in map(type, sample_ids):
        raise ArgumentError("sample_ids has True or False, want whole numbers from 0 to 2^64 - 1")
    try:
        ids = ffi.new("uint64_t[]", sample_ids)
    except (OverflowError, TypeError) as wrong:
        raise ArgumentError(f"sample_ids: {wrong}; want whole numbers from 0 to 2^64 - 1") from None
    if len(ids) != count:
        raise ArgumentError(f"sample_ids has {len(ids)} numbers, there are {count} images")
    return ids, address(ids), False


def numbers_of(array):
    """An array of any library as a list; anything else as it is. TensorFlow's tensors have no tolist()."""
    array = array.numpy() if hasattr(array, "numpy") and not hasattr(array, "tolist") else array
    return array.tolist() if hasattr(array, "tolist") else array


def split_views(sample_ids, view):
    """ids, views: of an array [N, 2] its columns."""
    if getattr(sample_ids, "ndim", 1) != 2:
        return sample_ids, view
    if sample_ids.shape[1] != 2:
        shape = tuple(sample_ids.shape)
        raise ArgumentError(f"sample_ids has shape {shape}, want [N], or [N, 2]: an id and a view each")
    columns = numbers_of(sample_ids)
    return [id for id, _ in columns], [view for _, view in columns]


def views_of(view, count):
    """What holds `count` views, and their address; or None and the view of all images."""
    if hasattr(view, "__index__") and getattr(view, "ndim", 0) == 0:
        return None, view_given(view)
    if not hasattr(view, "__len__"):
        view_given(view)
    numbers = [view_given(v) for v in numbers_of(view)]
    if len(numbers) != count:
        raise ArgumentError(f"view has {len(numbers)} numbers, there are {count} images")
    held = ffi.new("uint32_t[]", numbers)
    return held, address(held)


def views_of_each(view, views):
    """For each of several views of samples, what `view` becomes."""
    if hasattr(view, "__index__") and getattr(view, "ndim", 0) == 0:
        return [view_given(view) * views + k for k in range(views)]
    numbers = list(numbers_of(view))
    return [[v * views + k for v in numbers] for k in range(views)]
