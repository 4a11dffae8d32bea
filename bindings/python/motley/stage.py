# SPDX-License-Identifier: Apache-2.0
"""Stages: a policy bound to a loader; images in, augmented images out."""

import inspect

from . import arrays, contexts, images
from ._core import ffi, lib
from .arrays import KINDS, name_of
from .checks import (
    epoch_given,
    normalize_given,
    output_layout_given,
    rank_given,
    seed_given,
    view_given,
    whole,
)
from .draws import Drawn, draws_of
from .epochs import Repeats
from .errors import ArgumentError, check
from .policy import Policy
from .processes import Lineage, process_key

cast, NULL = ffi.cast, ffi.NULL


class Stage:
    """Applies a policy to images, each with its own draws.

    policy          a motley.Policy, a built-in's name, a path or a policy's text
    seed, epoch     what the draws depend on, beside a sample's id; both can be given to a call instead
    rank            sets apart the draws of samples without ids in processes that share a seed (see below). None: that
                    of torch.distributed or of the launcher (torchrun, mpirun, srun), looked up when samples are drawn
    layout          "chw", "hwc" or "hw": the axes of arrays. None: torch tensors are chw, other arrays hwc, arrays of
                    two axes hw; a further axis in front is the batch's. Strides do not matter: torch's channels_last
                    is chw
    mean, std       a number or one per channel each, on the 0..1 scale: the result is (u8 / 255 - mean) / std
    normalize       the same as a pair: (mean, std)
    dtype           of that result: "float32" (default), "float16", "bfloat16", or "uint8" for the bytes as they are
    output_layout   of that result: "chw", "hwc" or "channels_last" (chw, with hwc in memory); None: as the images are
    memory_format   the same in torch's words: torch.contiguous_format, channels_last or preserve_format
    threads         of CPU work. None: every processor; in a process that multiprocessing started, such as a
                    DataLoader's worker, one

    Call it with a batch, a single image or a list of images; the result is of the same kind, newly made. CUDA tensors
    are worked on in the current stream of torch (or CuPy), and nothing waits.

    Sample ids. A draw depends on (policy, seed, epoch, sample id, view) and on nothing else. With `sample_ids` (a
    dataset's indices) an image draws the same in any batch, worker, rank or resumed run; when the samples of an epoch
    come again under the same number of epoch and view, the stage warns. Without, samples are counted: a call takes the
    next ids, and `state_dict` keeps the count. Processes that count alone must not draw alike, so without `sample_ids`
    the seed is mixed with the rank; in a DataLoader's worker also with the worker's seed, which torch draws anew each
    epoch (torch.manual_seed makes it repeat); and in another process of multiprocessing with its name.

    Views. A sample that is read several times in an epoch gets a draw of its own for each view: `view` numbers them,
    and `views=2` makes two at once, as contrastive training wants.
    """

    ADVICE = (
        "call set_epoch() before each pass over the data, or give the call its epoch; where a sample is meant to be read "
        "several times in an epoch, give each reading its view"
    )

    def __init__(
        self,
        policy,
        *,
        seed=0,
        epoch=0,
        rank=None,
        layout=None,
        normalize=None,
        mean=None,
        std=None,
        dtype=None,
        output_layout=None,
        memory_format=None,
        threads=None,
    ):
        self.policy = Policy.of(policy)
        self.seed, self.epoch, self.rank = seed_given(seed), epoch_given(epoch), rank_given(rank)
        self.next_sample = 0
        self._repeats, self._lineage = Repeats(self.ADVICE), Lineage()
        self.layout, self.threads = {"nchw": "chw", "nhwc": "hwc"}.get(layout, layout), threads
        self.output_layout = output_layout_given(output_layout, memory_format)
        self.mean, self.std = normalize_given(normalize, mean, std)
        self.dtype = None if dtype is None else arrays.dtype_name(dtype)
        if self.mean is not None and self.dtype == "uint8":
            raise ArgumentError("normalize is given, but dtype is uint8: want float32, float16 or bfloat16")
        # Whether the result is another array than the augmented bytes: normalised, cast or laid out anew.
        self.fused = (self.mean, self.dtype, self.output_layout) != (None, None, None)
        # What sets its calls apart from other stages'. A text, as Python hashes a text only once.
        self._flavour = repr((self.threads, self.mean, self.std, self.dtype, self.output_layout))

    def __call__(
        self,
        batch,
        *,
        sample_ids=None,
        epoch=None,
        seed=None,
        view=0,
        views=1,
        out=None,
        layout=None,
        return_draws=False,
    ):
        """The images, augmented.

        batch           an array of images, one image, or a list of images of one kind
        sample_ids      a whole number for each image (for one image: the number); None: the next ones. An array
                        [N, 2] has each image's id and view
        epoch, seed     in place of the stage's
        view            which view of the samples this is, from 0: a number, or one for each image
        views           how many views to make; more than one: the result is a tuple of that many, views
                        view * views, view * views + 1, ... of each sample
        out             where to write, and what the call returns: an array like `batch`, or one of the output's dtype
                        for a stage with `normalize` or `dtype`. `out=batch` works in place
        layout          in place of the stage's
        return_draws    return (images, draws) instead: for each image the list of its steps, as `motley draw` prints
                        them
        """
        if views == 1:
            return self._run(batch, out, layout or self.layout, sample_ids, epoch, seed, view, return_draws)
        whole("views", views, 1, 65536, "from 1")
        if out is not None:
            raise ArgumentError(f"out is given, but views is {views}: want one view for one place to write to")
        sample_ids, view = split_views(sample_ids, view)
        first, made = self.next_sample, []
        for numbers in views_of_each(view, views):
            self.next_sample = first  # counted samples are the same in each view
            made.append(self._run(batch, None, layout or self.layout, sample_ids, epoch, seed, numbers, return_draws))
        return tuple(made)

    def apply_(self, batch, *, sample_ids=None, epoch=None, seed=None, view=0, layout=None, return_draws=False):
        """The same in place: the batch is overwritten, and returned."""
        return self._run(batch, batch, layout or self.layout, sample_ids, epoch, seed, view, return_draws)

    def draw(self, count=1, *, size=(224, 224), channels=3, sample_ids=None, epoch=None, seed=None, view=0):
        """The draws of the next `count` samples (or of `sample_ids`) without any pixels; none of them is counted.

        size is (height, width); it matters to values that are relative to it, channels to fills."""
        if sample_ids is not None:
            sample_ids = [sample_ids] if isinstance(sample_ids, int) else sample_ids
            count = len(sample_ids)
        samples = ffi.new("motley_samples *")
        samples.seed, epoch, samples.first, ids, _, views, _, keep = self._samples(
            count, sample_ids, epoch, seed, view
        )
        samples.epoch, samples.ids = epoch_given(epoch), cast("uint64_t *", ids)
        if views < 65536:
            samples.view = views
        else:
            samples.views = cast("uint32_t *", views)
        drawn = draws_of(self.policy, samples, [(size[1], size[0])] * count, channels)
        del keep  # the ids lived until here
        return drawn

    def replay(self, batch, draws, *, out=None, layout=None):
        """The images, augmented by draws that were recorded: the same bytes again, whatever this stage's policy is.

        draws           what a call with `return_draws=True` or `draw` returned, perhaps stored as JSON in between: for
                        each image the list of its steps; for one image its list
        batch           images of the sizes and channels that the draws were made for
        out, layout     as in a call"""
        source = self._source(arrays.dense(batch) if out is None else batch, layout or self.layout)
        target = self._target(source, batch, out, layout or self.layout)
        sizes, channels = (source.sizes(), source.channels) if source.count else ([], 1)
        drawn = Drawn.read([draws] if source.single else draws, sizes, channels)
        src, dst, output = described(self, source, target)
        params, error = ffi.new("motley_replay_params *"), ffi.new("motley_error *")
        if output:
            params.output = output[0]
        if source.device is not None and source.count:
            params.stream = cast("void *", source.stream_of()())
        context = contexts.context_of(source.device, self.threads)
        steps = drawn.steps, drawn.counts, drawn.max_steps
        check(lib.motley_replay(context.handle, src, dst, *steps, params, error), error)
        images.hold_until_done((source, target), source, target)
        return target.result(source) if out is None else out

    def set_epoch(self, epoch):
        """Begins an epoch: counts samples from 0 again. Samples draw anew in each epoch."""
        self.epoch, self.next_sample = epoch_given(epoch), 0

    def state_dict(self):
        """What a checkpoint needs so that samples are counted on as if the run had never stopped."""
        return {"seed": self.seed, "epoch": self.epoch, "next_sample": self.next_sample}

    def load_state_dict(self, state):
        if set(state) != {"seed", "epoch", "next_sample"}:
            raise ArgumentError(f"the state has {', '.join(sorted(map(str, state)))}, want epoch, next_sample, seed")
        self.seed, self.epoch, self.next_sample = seed_given(state["seed"]), int(state["epoch"]), int(state["next_sample"])

    _made_of = ("policy",)  # the arguments that say which policy it is

    def _settings(self):
        """The arguments that are not the defaults, for __repr__."""
        for cls in dict.fromkeys((type(self), Stage)):
            for name, parameter in inspect.signature(cls.__init__).parameters.items():
                of_stage = cls is Stage and name != "policy" and name in self.__dict__
                if (of_stage or name in self._made_of) and getattr(self, name) != parameter.default:
                    yield name, getattr(self, name)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._settings())})"

    def __eq__(self, other):
        """Whether both draw and write alike from here on."""
        if type(other) is not type(self):
            return NotImplemented
        state = self.state_dict(), self.rank, self.layout, self._flavour
        return self.policy == other.policy and state == (other.state_dict(), other.rank, other.layout, other._flavour)

    def __hash__(self):  # of what does not change while it is used
        return hash((type(self), self.policy.name, self.layout, self._flavour))

    # ---- how a call goes ----

    def _run(self, batch, out, layout, sample_ids, epoch, seed, view, return_draws):
        call, source, target, pixels, written, result = self._prepare(batch, out, layout)
        if call is None:
            return self._run_by_channels(
                source.by_channels(), batch, out, layout, sample_ids, epoch, seed, view, return_draws
            )
        seed, epoch, first, ids, signed, views, seen, keep = self._samples(call.count, sample_ids, epoch, seed, view)
        if call.run(self.policy, pixels, written, seed, epoch, first, ids, signed, views, seen):
            self._repeats.warn()
        if sample_ids is None:
            self.next_sample += call.count
        result = call.result(batch, source, target, result)
        if return_draws:
            return result, call.draws(self.policy)
        return result

    def _prepare(self, batch, out, layout):
        """The call for `batch`; the batches to read and to write where no kept call knows them; the addresses of both;
        what is written to, None where the batch will tell. The call is None for a list of several channel counts."""
        kind, pixels = KINDS[type(batch)], None
        try:
            if kind is not None and (out is None or out is batch):
                pixels = kind.pointer(batch)
            if pixels is not None:  # the same call on other pixels costs little
                key = kind.key(batch, layout, self._flavour, out is batch)
        except (RuntimeError, NotImplementedError):  # a sparse or nested tensor has no strides
            raise ArgumentError("the images are a sparse or nested tensor, want a dense one") from None
        if pixels is None:
            source = self._source(batch, layout)
            if isinstance(source, images.Many) and len(source.by_channels()) > 1:
                return None, source, None, 0, 0, None
            target = self._target(source, batch, out, layout)
            call = Call(self, source, target)
            return call, source, target, source.pointer, target.pointer, out
        call = contexts.local.calls.get(key)
        if call is None:
            if out is None:
                dense = arrays.dense(batch)
                if dense is not batch:
                    source = self._source(dense, layout)
                    target = self._target(source, dense, out, layout)
                    return Call(self, source, target), source, target, source.pointer, target.pointer, out
            call = self._keep(key, batch, out, layout)
        if out is not None:
            return call, None, None, pixels, pixels, out
        result = call.like(batch)
        return call, None, None, pixels, kind.pointer(result), result

    @staticmethod
    def _source(batch, layout):
        for cls in {type(batch), *(map(type, batch) if isinstance(batch, (list, tuple)) else ())}:
            images.refuse_followers(cls)
        return images.images_of(batch, layout)

    def _run_by_channels(self, groups, batch, out, layout, sample_ids, epoch, seed, view, return_draws):
        """A list of images of different numbers of channels: a call for each number."""
        if sample_ids is None:
            sample_ids = range(self.next_sample, self.next_sample + len(batch))
            seed = (self.seed if seed is None else seed_given(seed)) ^ process_key(self.rank)
            self.next_sample += len(batch)
        sample_ids, view = split_views(sample_ids, view)
        sample_ids = list(sample_ids.tolist() if hasattr(sample_ids, "tolist") else sample_ids)
        views = [view] * len(batch) if hasattr(view, "__index__") else list(view)
        if not len(sample_ids) == len(views) == len(batch):
            raise ArgumentError(
                f"sample_ids and view have {len(sample_ids)} and {len(views)} numbers, there are {len(batch)} images"
            )
        made, drawn = list(batch), [None] * len(batch)
        for group in groups:
            part = [batch[i] for i in group]
            to = None if out is None else part if out is batch else [out[i] for i in group]
            images_, draws_ = self._run(
                part, to, layout, [sample_ids[i] for i in group], epoch, seed, [views[i] for i in group], True
            )
            for i, image, steps in zip(group, images_, draws_):
                made[i], drawn[i] = image, steps
        result = tuple(made) if isinstance(batch, tuple) and out is None else made if out is None else out
        return (result, drawn) if return_draws else result

    def _keep(self, key, batch, out, layout):
        """A call on arrays like `batch`, kept for that key without these pixels."""
        source = self._source(batch, layout)
        target = self._target(source, batch, out, layout)
        call = Call(self, source, target)
        call.finish = source.finish_for()
        call.like = None if out is batch else target.make
        call.keep = None
        calls = contexts.local.calls
        if len(calls) >= CALLS_KEPT:
            calls.clear()
        calls[key] = call
        return call

    def _samples(self, count, sample_ids, epoch, seed, view):
        """What Call.run takes of the samples, in its order, and what holds ids and views until it is done."""
        keep, views = None, 0
        if view.__class__ is not int or view:
            keep, views = views_of(view, count)
        if epoch is None:
            epoch = self.epoch
        if sample_ids is None:
            seed = (self.seed if seed is None else seed_given(seed)) ^ process_key(self.rank)
            return seed, epoch, self.next_sample, 0, 0, views, NULL, keep
        seen = NULL
        if seed is None:
            seed, seen = self.seed, self._repeats.seen
        else:
            seed = seed_given(seed)
        one = hasattr(sample_ids, "__index__") if KINDS[type(sample_ids)] is None else sample_ids.ndim == 0
        if not one and getattr(sample_ids, "ndim", 1) == 2:
            sample_ids, view = split_views(sample_ids, view)
            keep, views = views_of(view, count)
        elif one:
            if count != 1:
                raise ArgumentError(
                    f"sample_ids is the one number {sample_ids}, there are {count} images: want a number for each"
                )
            return seed, epoch, int(sample_ids), 0, 0, views, seen, keep
        held, ids, signed = ids_of(sample_ids, count)
        return seed, epoch, 0, ids, signed, views, seen, (held, keep)

    def _target(self, source, batch, out, layout):
        """What to write to."""
        if out is None:
            return source.output(self._dtype_out, self.output_layout) if self.fused else source.output()
        if out is batch:
            if self.fused:
                raise ArgumentError("a stage with normalize, dtype or output_layout cannot work in place")
            source.require_writable()
            return source
        target = images.images_of(out, layout)
        target.require_writable()
        if target.device != source.device:
            raise ArgumentError(f"out is on {_place(target.device)}, the images on {_place(source.device)}: want one")
        if target.dtype != arrays.DTYPES[self._dtype_out][0]:
            raise ArgumentError(f"out has another dtype than {self._dtype_out}, which this stage writes")
        return target

    @property
    def _dtype_out(self):
        return self.dtype or ("uint8" if self.mean is None else "float32")

    @staticmethod
    def _four(numbers, channels, rest):
        if numbers is None:
            return [rest] * 4
        if len(numbers) == 1:
            return list(numbers) * 4
        if len(numbers) != channels:
            raise ArgumentError(f"normalize has {len(numbers)} numbers, the images have {channels} channels")
        return list(numbers) + [rest] * (4 - channels)


CALLS_KEPT = 256  # by a thread: one for each shape of batches that it meets


class Call:
    """What a call needs beside pixels and samples, found out once for a shape of batches."""

    __slots__ = (
        "c",
        "made",
        "context",
        "count",
        "stream",
        "like",
        "finish",
        "sizes",
        "channels",
        "single",
        "keep",
        "caller",
    )

    def __init__(self, stage, source, target):
        self.context = contexts.context_of(source.device, stage.threads)
        self.c = c = ffi.new("kept_call *")
        c.count = self.count = source.count
        c.in_place, c.fused = target is source, stage.fused
        self.single = source.single
        self.keep = source, target
        self.like = self.finish = None
        self.stream = no_stream
        self.caller = images.library_of(source), source.device
        self.sizes, self.channels = [], 1
        if self.count:
            self.sizes, self.channels = source.sizes(), source.channels
            if source.device is not None:
                self.stream = source.stream_of()
        src, to, output = described(stage, source, target)
        call, error = ffi.new("motley_call **"), ffi.new("motley_error *")
        check(lib.motley_call_create(self.context.handle, src, to, output, call, error), error)
        self.made = ffi.gc(call[0], lib.motley_call_destroy)
        c.call = call[0]

    def result(self, batch, source, target, result):
        """What the caller gets; the arguments are Stage._prepare's."""
        if source is not None:
            images.hold_until_done(self, source, target)
            return target.result(source) if result is None else result
        return result if self.finish is None else self.finish(result, batch)

    def run(self, policy, pixels, written, seed, epoch, first, ids, ids_signed, views, seen):
        """Does or queues the work. pixels, written: addresses; the rest: run_call's (see call.h). True: `seen` says that
        samples come again."""
        if policy.custom_ops:
            contexts.local.caller = self.caller
        try:
            status = lib.run_call(
                self.c, policy._handle, pixels, written, self.stream(), seed, epoch, first, ids, ids_signed, views, seen
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
            raised, contexts.local.raised = contexts.local.raised, None
            if raised is not None:
                raise raised
            check(status, self.c.error)

    def draws(self, policy):
        return draws_of(policy, ffi.addressof(self.c.params, "samples"), self.sizes, self.channels, single=self.single)


def described(stage, source, target):
    """src, dst, output: what the library's calls take of the batches to read and to write; NULL for what a call has not."""
    src, dst, output = ffi.new("motley_batch *"), ffi.new("motley_batch *"), ffi.new("motley_output *")
    if source.count:
        source.require_bytes()
        source.describe(src[0])
        if stage.fused:
            target.describe(output.batch)
            output.mean = stage._four(stage.mean, source.channels, 0)
            output.std = stage._four(stage.std, source.channels, 1)
        elif target is not source:
            target.describe(dst[0])
    return src, NULL if stage.fused else src if target is source else dst, output if stage.fused else NULL


def no_stream():
    return 0


class RandAugment(Stage):
    """RandAugment as torchvision has it: `num_ops` of 14 operations, each at level `magnitude` of `num_magnitude_bins`.

    Cubuk, Zoph, Shlens, Le 2019, arXiv:1909.13719.

    Args:
        num_ops: Operations per image.
        magnitude: The level of each, from 0 to num_magnitude_bins - 1.
        num_magnitude_bins: How many levels there are.
        interpolation: "nearest", "bilinear" or "bicubic", of rotations, shears and translations; or several to draw from.
        fill: What comes in from outside the image: a number, or one per channel.
        stage: Other keywords are Stage's.
    """

    _made_of = "num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill"

    def __init__(self, num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation=None, fill=None, **stage):
        self.num_ops = whole("num_ops", num_ops, 1, 16, "from 1 to 16")
        self.num_magnitude_bins = _bins_given(num_magnitude_bins)
        last = self.num_magnitude_bins - 1
        self.magnitude = whole("magnitude", magnitude, 0, last, f"from 0 to {last} (num_magnitude_bins - 1)")
        self.interpolation, self.fill = interpolation, fill
        super().__init__(
            Policy.builtin("rand_augment").change(
                repeat=num_ops, level=magnitude, bins=num_magnitude_bins, interpolation=interpolation, fill=fill
            ),
            **stage,
        )


class TrivialAugmentWide(Stage):
    """TrivialAugmentWide as torchvision has it: one of 14 operations at one of `num_magnitude_bins` levels.

    Mueller, Hutter 2021, arXiv:2103.10158.

    Args:
        num_magnitude_bins: How many levels there are.
        interpolation, fill, stage: As RandAugment's.
    """

    _made_of = "num_magnitude_bins", "interpolation", "fill"

    def __init__(self, num_magnitude_bins=31, interpolation=None, fill=None, **stage):
        self.num_magnitude_bins = _bins_given(num_magnitude_bins)
        self.interpolation, self.fill = interpolation, fill
        super().__init__(
            Policy.builtin("trivial_augment_wide").change(
                bins=num_magnitude_bins, interpolation=interpolation, fill=fill
            ),
            **stage,
        )


class AutoAugment(Stage):
    """AutoAugment as torchvision has it.

    Cubuk, Zoph, Mane, Vasudevan, Le 2018, arXiv:1805.09501.

    Args:
        policy: "imagenet", "cifar10" or "svhn", or torchvision's AutoAugmentPolicy. The attribute `policy` is the
            motley.Policy of it.
        interpolation, fill, stage: As RandAugment's.
    """

    _made_of = "interpolation", "fill"

    def __init__(self, policy="imagenet", interpolation=None, fill=None, **stage):
        name = str(getattr(policy, "value", policy))  # torchvision's AutoAugmentPolicy has names as values
        if name not in ("cifar10", "imagenet", "svhn"):
            raise ArgumentError(f"policy is {policy!r}, want one of cifar10, imagenet, svhn")
        self.interpolation, self.fill, self._name = interpolation, fill, name
        super().__init__(Policy.builtin("auto_augment_" + name).change(interpolation=interpolation, fill=fill), **stage)

    def _settings(self):
        if self._name != "imagenet":
            yield "policy", self._name
        yield from super()._settings()


def _bins_given(bins):
    return whole("num_magnitude_bins", bins, 2, 1024, "from 2 to 1024")


# ---- numbers ----


def _place(device):
    return "the CPU" if device is None else f"CUDA device {device}"


def ids_of(sample_ids, count):
    """What holds `count` ids, their address and whether they are signed, of a list, range, array or tensor of whole
    numbers."""
    kind = KINDS[type(sample_ids)]
    if kind is not None and kind.holds(sample_ids, count, "int64", "uint64"):
        return sample_ids, kind.pointer(sample_ids), name_of(sample_ids.dtype) == "int64"
    if hasattr(sample_ids, "tolist"):
        sample_ids = sample_ids.tolist()
    try:
        ids = ffi.new("uint64_t[]", list(sample_ids))
    except (OverflowError, TypeError) as wrong:
        raise ArgumentError(f"sample_ids: {wrong}; want whole numbers from 0 to 2^64 - 1") from None
    if len(ids) != count:
        raise ArgumentError(f"sample_ids has {len(ids)} numbers, there are {count} images")
    return ids, images.address(ids), False


def split_views(sample_ids, view):
    """ids, views: of an array [N, 2] its columns."""
    if getattr(sample_ids, "ndim", 1) != 2:
        return sample_ids, view
    if sample_ids.shape[1] != 2:
        raise ArgumentError(f"sample_ids has shape {tuple(sample_ids.shape)}, want [N], or [N, 2]: an id and a view each")
    columns = sample_ids.tolist()
    return [id for id, _ in columns], [view for _, view in columns]


def views_of(view, count):
    """What holds `count` views, and their address; or None and the view of all images."""
    if hasattr(view, "__index__") and getattr(view, "ndim", 0) == 0:
        return None, view_given(view)
    if not hasattr(view, "__len__"):
        view_given(view)
    numbers = [view_given(v) for v in (view.tolist() if hasattr(view, "tolist") else view)]
    if len(numbers) != count:
        raise ArgumentError(f"view has {len(numbers)} numbers, there are {count} images")
    held = ffi.new("uint32_t[]", numbers)
    return held, images.address(held)


def views_of_each(view, views):
    """For each of several views of samples, what `view` becomes."""
    if hasattr(view, "__index__") and getattr(view, "ndim", 0) == 0:
        return [view_given(view) * views + k for k in range(views)]
    numbers = view.tolist() if hasattr(view, "tolist") else list(view)
    return [[v * views + k for v in numbers] for k in range(views)]
