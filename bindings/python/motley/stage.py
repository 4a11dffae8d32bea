# SPDX-License-Identifier: Apache-2.0
"""Stages: a policy bound to a loader; images in, augmented images out."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, TypeVar, overload

from . import _arrays as arrays
from . import _images as images
from . import _native, calls
from ._core import ffi, lib
from ._arrays import KINDS
from ._native import (
    ArgumentError,
    epoch_given,
    layout_given,
    normalize_given,
    output_layout_given,
    rank_given,
    seed_given,
    stream_given,
    threads_given,
    whole,
)
from .draws import Drawn, Samples, same_boxes
from .epochs import Epoch, Repeats, current, watch_loaders
from .policy import Policy, as_html
from .processes import Lineage, process_key, stream_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from enum import Enum
    from typing import Literal

    from typing_extensions import Unpack

    from ._types import Array, CallSettings, DtypeLike, Fill, Ids, Interpolations, Layout, Numbers, PolicyLike
    from ._types import Settings

T = TypeVar("T")
F = TypeVar("F", bound="Callable[..., None]")
NULL = ffi.NULL

ADVICE = (
    "call set_epoch() before each pass over the data, or give the call its epoch; where a sample is meant to be read "
    "several times in an epoch, give each reading its view"
)
NO_AUGMENTATION = Policy("motley: 1\nname: none\nbranches: [identity]\n")
SETTINGS = {  # what a stage keeps of its arguments, and the values that say nothing
    "seed": 0, "stream": None, "epoch": 0, "rank": None, "layout": None, "mean": None, "std": None, "dtype": None,
    "output_layout": None, "threads": None, "views": 1, "clip_frames": 0,
}  # fmt: skip
SAME = {"normalize": ("mean", "std"), "memory_format": ("output_layout",)}  # arguments that set others
_objects = itertools.count()  # of the objects that draw, in the order in which they are made


def kept(wrapped, settings):
    """The arguments of a stage that is made of `wrapped`: `settings`, and where that is a stage or a transform whatever
    has been set there. What is set in both has to be the same."""
    own = wrapped._kept() if isinstance(wrapped, Stage) else {}
    for name, value in settings.items():
        for same in SAME.get(name, (name,)):
            if same in own and own[same] != value:
                raise ArgumentError(
                    f"{name} is {value!r}, but the {type(wrapped).__name__} that is given has {same}={own[same]!r}, "
                    "which is kept: want it in one of them"
                )
    return {**own, **settings}


def _keeping(init: F) -> F:
    """__init__ of a Stage, which keeps the settings of a stage that is given as its policy."""
    allowed = init.__kwdefaults__

    @functools.wraps(init)
    def __init__(self, policy, **settings):
        for name in settings.keys() - allowed.keys():
            own = type(self).__init__.__code__
            wanted = dict.fromkeys([*own.co_varnames[1 : own.co_argcount], *allowed])
            raise TypeError(f"{type(self).__name__}() has no argument {name!r}, want {', '.join(wanted)}")
        init(self, policy, **kept(policy, settings))

    return __init__  # type: ignore[return-value]


class Stage:
    """Applies a policy to images, each with its own draws.

    Call it with a batch, a single image or a list of images; the result is of the same kind, newly made. CUDA tensors
    are worked on in the current stream of torch (or CuPy), and nothing waits. motley.torch.Stage is the same as an
    nn.Module.

    Sample ids: a draw depends on (policy, seed, epoch, sample id, view) and on nothing else. With `sample_ids` (a
    dataset's indices) an image draws the same in any batch, worker, rank or resumed run; when the samples of an epoch
    come again under the same number of epoch and view, the stage warns. Without, samples are counted: a call takes the
    next ids, and `state_dict` keeps the count. Processes that count alone must not draw alike, so without `sample_ids`
    the seed is mixed with the rank; in a DataLoader's worker also with the worker's seed, which torch draws again each
    epoch (torch.manual_seed makes it repeat); and in another process of multiprocessing with its name. The seed is 0
    unless `seed` says otherwise, whatever torch.manual_seed does: seed=torch.initial_seed() follows it.

    Streams: by id, stages of equal seed draw by the same random numbers, even if their policies differ; the two sides
    of BYOL, SimCLR or FixMatch want `stream=0` and `stream=1`, or `view=`. Without ids, each stage of a process has a
    stream of its own, by the order in which they are made; state_dict() and copies keep it.

    Views: a sample that is read several times in an epoch gets a separate draw for each view. `view` numbers them, and
    `views=2` makes two at once, as contrastive training wants.

    Args:
        policy: A motley.Policy, a built-in's name, a path or a policy's text; or another stage, whose settings are kept
            and cannot be contradicted by other arguments.
        seed: What the draws depend on, beside a sample's id; a call can be given another.
        stream: Sets apart the draws of stages that share a seed: a number from 0 to 2^32 - 1; 0 leaves draws by id as
            they are. None: 0 by id; for samples without ids the stage's own.
        epoch: The current epoch, on which draws depend; set_epoch() sets another, and a call can be given one.
        rank: Sets apart the draws of samples without ids in processes that share a seed. None: that of
            torch.distributed or of the launcher (torchrun, mpirun, srun), looked up when samples are drawn.
        layout: "chw" ("nchw"), "hwc" ("nhwc") or "hw", the axes of arrays. None: torch tensors are chw, other arrays
            hwc, arrays of two axes hw. A further axis in front is the batch's. Strides do not matter: torch's
            channels_last is chw.
        normalize: (mean, std): the result is (u8 / 255 - mean) / std, in the same pass over the pixels.
        mean: The mean of `normalize` by itself: a number or one per channel, on the 0..1 scale.
        std: The standard deviation of `normalize` by itself.
        dtype: Of the result: "float16", "bfloat16", "float32" (the default if it is normalised) or "uint8" (else).
        output_layout: Of the result: "chw", "hwc" or "channels_last" (chw, with hwc in memory). None: as the images
            are.
        memory_format: The same in torch's words: torch.contiguous_format, channels_last or preserve_format.
        threads: Of CPU work; they start with the first call of several images. None: one for each processor that this
            thread may run on (its affinity, and the quota of its cgroup), but no more than torch.get_num_threads() or,
            without torch, OMP_NUM_THREADS says, when the thread first works; in a process that multiprocessing
            started, such as a DataLoader's worker, one.
        views: How many views a call makes of each image; a call can be given another number.
        clip_frames: How many images in a row are the frames of a clip, with equal sample_ids: operations that use an
            image's statistics (equalize, auto_contrast, contrast) then use those of the whole clip, so that its
            brightness does not flicker. 0: each image its own. Not with counter, since the host draws then.
        counter: An array of two int64, the epoch and the number of the next sample, to count in. In memory of the CUDA
            device that the images are on it is read when the work runs, so that a CUDA graph makes new draws each time
            it is replayed.
    """

    policy: Policy
    training = True  # an nn.Module's: images are augmented
    _stream = None, 0, 0, 0  # of pickles that were made before there were streams
    _begun = False  # whether a pass has, in this epoch
    _said = None  # an Epoch, once somebody has set it: of draws in loaders' passes

    @_keeping
    def __init__(
        self,
        policy: PolicyLike,
        *,
        seed: int = 0,
        stream: int | None = None,
        epoch: int = 0,
        rank: int | None = None,
        layout: Layout | None = None,
        normalize: tuple[Numbers, Numbers] | None = None,
        mean: Numbers | None = None,
        std: Numbers | None = None,
        dtype: DtypeLike | None = None,
        output_layout: Literal["chw", "hwc", "channels_last"] | None = None,
        memory_format: object = None,
        threads: int | None = None,
        views: int = 1,
        clip_frames: int = 0,
        counter: Array | None = None,
    ) -> None:
        self.policy = Policy.of(policy)
        self.seed, self.rank = seed_given(seed), rank_given(rank)
        self._take_stream(stream_given(stream), next(_objects) if stream is None else 0)
        self.counter = [0, 0] if counter is None else counter
        if epoch != 0:
            self.epoch = epoch
        self.views = whole("views", views, 1, 65536, "from 1")
        self.clip_frames = whole("clip_frames", clip_frames, 0, 65536, "from 0 to 65536")
        watch_loaders()
        self._repeats, self._lineage = Repeats(ADVICE), Lineage()
        self.layout, self.threads = layout_given(layout), threads_given(threads)
        self.output_layout = output_layout_given(output_layout, memory_format)
        self.mean, self.std = normalize_given(normalize, mean, std)
        self._dtype = None if dtype is None else arrays.dtype_name(dtype)
        if self.mean is not None and self._dtype == "uint8":
            given = "mean and std are" if normalize is None else "normalize is"
            raise ArgumentError(f"{given} given, but dtype is uint8: want float32, float16 or bfloat16")
        # Whether the result is another array than the augmented bytes: normalised, cast or in another layout.
        self.fused = self._dtype_out != "uint8" or self.output_layout is not None
        # Part of a kept call's key. A str, because Python keeps a str's hash.
        self._flavour = repr((self.threads, self.mean, self.std, self._dtype, self.output_layout, self.clip_frames))

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def policy_now(self) -> Policy:
        """The policy, or in eval() one that changes nothing."""
        return self.policy if self.training else NO_AUGMENTATION

    @property
    def _now(self):
        """The stage that works; of a motley.torch.Transform in eval() another one."""
        return self

    @property
    def epoch(self) -> int:
        """The current epoch. Asking waits for a device whose memory the counter is in."""
        return int(self.counter[0])

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self.counter[0] = epoch_given(epoch)
        if self._said is None:
            self._said = Epoch()
        self._said.set_epoch(epoch)

    @property
    def next_sample(self) -> int:
        """The number of the next sample without an id."""
        return int(self.counter[1])

    @next_sample.setter
    def next_sample(self, number: int) -> None:
        self.counter[1] = number

    @overload
    def __call__(  # type: ignore[overload-overlap]  # views=1 is an int, too
        self, batch: T, sample_ids: Ids | None = None, *, view: Ids = 0, views: Literal[1] | None = None,
        out: None = None, return_draws: Literal[False] = False, **rest: Unpack[CallSettings],
    ) -> T: ...
    @overload
    def __call__(
        self, batch: object, sample_ids: Ids | None = None, *, view: Ids = 0, views: Literal[1] | None = None,
        out: T, return_draws: Literal[False] = False, **rest: Unpack[CallSettings],
    ) -> T: ...
    @overload
    def __call__(
        self, batch: T, sample_ids: Ids | None = None, *, view: Ids = 0, views: Literal[1] | None = None,
        out: T | None = None, return_draws: Literal[True], **rest: Unpack[CallSettings],
    ) -> tuple[T, list[Any]]: ...
    @overload
    def __call__(
        self, batch: T, sample_ids: Ids | None = None, *, view: Ids = 0, views: int,
        out: None = None, return_draws: Literal[False] = False, **rest: Unpack[CallSettings],
    ) -> tuple[T, ...]: ...
    def __call__(
        self, batch, sample_ids=None, *,
        view=0, epoch=None, seed=None, views=None, out=None, layout=None, return_draws=False,
    ):
        """The images, augmented.

        Args:
            batch: An array of images, one image, or a list of images of one kind.
            sample_ids: A whole number for each image (for one image: the number); None: the next ones. An array [N,
                2] has each image's id and view.
            view: Which view of the samples this is, from 0: a number, or one for each image.
            epoch: In place of the stage's.
            seed: In place of the stage's.
            views: How many views to make, in place of the stage's; more than one: the result is a tuple of that
                many, views view * views, view * views + 1, ... of each sample.
            out: Where to write, and what the call returns: an array like `batch`, or one of the output's dtype for
                a stage with `normalize` or `dtype`. `out=batch` works in place.
            layout: In place of the stage's.
            return_draws: Return (images, draws) instead: for each image the list of its steps, as `motley draw`
                prints them.
        """
        layout = layout or self.layout
        views = self.views if views is None else views
        if views == 1 or not self.training:
            return self._run(batch, out, layout, (sample_ids, view, epoch, seed), return_draws)
        whole("views", views, 1, 65536, "from 1")
        if out is not None:
            raise ArgumentError(f"out is given, but views is {views}: want one view for one place to write to")
        sample_ids, view = calls.split_views(sample_ids, view)
        each = calls.views_of_each(view, views)
        return tuple(  # counted samples are the same in each view
            self._run(batch, None, layout, (sample_ids, numbers, epoch, seed), return_draws, numbers is each[-1])
            for numbers in each
        )

    @overload
    def apply_(
        self, batch: T, sample_ids: Ids | None = None, *, view: Ids = 0, return_draws: Literal[False] = False,
        **rest: Unpack[CallSettings],
    ) -> T: ...
    @overload
    def apply_(
        self, batch: T, sample_ids: Ids | None = None, *, view: Ids = 0, return_draws: Literal[True],
        **rest: Unpack[CallSettings],
    ) -> tuple[T, list[Any]]: ...
    def apply_(self, batch, sample_ids=None, *, view=0, epoch=None, seed=None, layout=None, return_draws=False):
        """The same in place: the batch is overwritten, and returned."""
        return self._run(batch, batch, layout or self.layout, (sample_ids, view, epoch, seed), return_draws)

    def draw(
        self,
        count: int = 1,
        *,
        size: tuple[int, int] = (224, 224),
        channels: int = 3,
        sample_ids: Ids | None = None,
        view: Ids = 0,
        epoch: int | None = None,
        seed: int | None = None,
        boxes: Sequence[Sequence[float]] | None = None,
    ) -> list[Any]:
        """The draws of the next `count` samples (or of `sample_ids`) without any pixels, as a call with return_draws
        would return them; none of them is counted. Mixing takes the samples for one batch.

        Args:
            count: How many, where there are no sample_ids.
            size: (height, width) of the images, which matter to values that are relative to them.
            channels: Of the images; as many numbers has a fill.
            sample_ids: As in a call, like view, epoch and seed.
            boxes: Of each image, for a policy that works in them: rows of left, top, right and bottom in pixels.
        """
        if sample_ids is not None:
            sample_ids = [sample_ids] if isinstance(sample_ids, int) else sample_ids
            count = len(sample_ids)
        boxes = None if boxes is None else same_boxes(boxes, count)
        return self._draws(self._samples(count, (sample_ids, view, epoch, seed)), count, size, channels, boxes)

    def _draws(self, samples, count, size, channels, boxes):
        policy = self.policy_now
        return Drawn.of(policy, samples.c, [size[::-1]] * count, channels, boxes).plain(policy, channels)

    @overload
    def replay(self, batch: T, draws: Sequence[Any], *, out: None = None, layout: Layout | None = None) -> T: ...
    @overload
    def replay(self, batch: object, draws: Sequence[Any], *, out: T, layout: Layout | None = None) -> T: ...
    def replay(self, batch, draws, *, out=None, layout=None):
        """The images, augmented by recorded draws: the same bytes again.

        Args:
            batch: Images of the sizes and channels that the draws were made for.
            draws: What a call with `return_draws=True` or `draw` returned, perhaps stored as JSON in between: for
                each image the list of its steps, or the object that `motley apply --draws` wrote; for one image
                its one.
            out: As in a call.
            layout: As in a call.

        Raises:
            ArgumentError: The draws have operations that this stage's policy does not draw, or say that they are of
                another policy or for another size; nothing is written.
        """
        known = isinstance(draws, Drawn)
        what = () if known else ("policy", self.policy._handle)
        call, source, target, pixels, written, result = self._prepare(batch, out, layout or self.layout, what)
        if call is None:
            _ = source.channels  # raises, and says which image has another number
        if not known:
            draws = Drawn.read([draws] if call.single else draws, call.sizes, call.channels, self.policy)
        call.give(draws)
        call.run_as_set(pixels, written)
        return call.result(batch, source, target, result)

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch: counts samples from 0 again. Samples get new draws in each epoch. While a DataLoader reads,
        draws by id are of its pass: the first one from here on is this epoch."""
        self.epoch, self.next_sample = epoch, 0
        self._begun = False
        if arrays.device_of(self.counter) is not None:  # samples are noted without their epoch, which the device knows
            self._repeats.forget()

    def begin_pass(self) -> None:
        """A pass over the data begins: the next epoch, unless set_epoch() has just said which. Loaders call it."""
        if self._begun:
            self.set_epoch(self.epoch + 1)
        self._begun = True

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint needs so that samples are counted on as if the run had never stopped."""
        counted = {"epoch": self.epoch, "next_sample": self.next_sample}
        return {"seed": self.seed, **counted, "stream": self._stream[0], "number": self._stream[1]}

    def load_state_dict(self, state: dict[str, Any]) -> Any:
        if not {"seed", "epoch", "next_sample"} <= set(state) <= set(self.state_dict()):
            raise ArgumentError(
                f"the state has {', '.join(sorted(map(str, state)))}, want epoch, next_sample, number, seed, stream"
            )
        self.seed = seed_given(state["seed"])
        number = whole("number", state.get("number", self._stream[1]), 0, (1 << 32) - 1, "from 0 to 2^32 - 1")
        self._take_stream(stream_given(state.get("stream", self.stream)), number)
        self.epoch, self.next_sample = int(state["epoch"]), int(state["next_sample"])

    _to_rgb = False  # whether images of any channels are taken, as RGB
    _made_of: tuple[str, ...] = ("policy",)  # the arguments that say which policy it is

    def _settings(self):
        """The arguments that __repr__ shows: the seed, and those that are not the defaults."""
        import inspect  # slow to import, and only wanted here

        parameters = inspect.signature(type(self).__init__).parameters
        for name in self._made_of:
            if getattr(self, name) != parameters[name].default:
                yield name, getattr(self, name)
        yield from {"seed": self.seed, **self._kept()}.items()

    def _kept(self):
        """The settings that say anything."""
        values = {name: self._dtype if name == "dtype" else getattr(self, name) for name in SETTINGS}
        return {name: value for name, value in values.items() if value != SETTINGS[name]}

    def _repr_html_(self) -> str:
        """For notebooks."""
        return as_html(self, self.policy.show())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._settings())})"

    def __eq__(self, other: object) -> bool:
        """Whether both draw and write alike from here on."""
        if not isinstance(other, Stage) or type(other) is not type(self):
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:  # of what does not change while it is used
        return hash((type(self), self.layout, self._flavour))

    def _compared(self):
        state = {**self.state_dict(), "number": 0}  # equal by id; what they count differs in objects anyway
        return self._what(), state, self.rank, self.layout, self.views, self._flavour

    def _what(self):
        """What samples are drawn from."""
        return self.policy

    # ---- how a call goes ----

    def _run(self, batch, out, layout, samples, return_draws=False, counting=True, followed=NULL):
        """followed: a motley_followed, what the call moves with the images."""
        policy, what = self._work
        call, source, target, pixels, written, result = self._prepare(batch, out, layout, what)
        if call is None:
            return self._run_by_channels(source, batch, out, layout, samples, return_draws, counting)
        on_host = return_draws or policy.custom_ops or self._draws_on_host
        numbers, keep = self._numbers(call.count, samples, None if on_host else call.caller[1])
        if followed:
            call.c.params.followed = followed
        try:
            repeats = call.run(policy, pixels, written, *numbers)
        finally:
            if followed:
                call.c.params.followed = NULL
        if repeats:
            self._repeats.warn()
        if samples[0] is None and counting and self.training:
            counter = self.counter
            if counter.__class__ is list:  # as _count() does it
                counter[1] += call.count
            else:
                self._count(counter, call.count)
        result = call.result(batch, source, target, result)
        if return_draws:
            return result, call.draws(policy)
        return result

    @property
    def _work(self):
        """What draws, and what a call does, as calls.Call takes it."""
        policy = self.policy_now
        return policy, ("policy", policy._handle)

    _draws_on_host = False  # whatever the images are on

    def _prepare(self, batch, out, layout, what):
        """The call for `batch` that does `what`; the batches to read and to write where no kept call knows them; the
        addresses of both; what is written to, None if the batch decides it. The call is None for a list of several
        channel counts."""
        kind, pixels = KINDS[type(batch)], None
        into = kind if out is None or out is batch else KINDS[type(out)]
        try:
            if kind is not None and into is not None:
                pixels = kind.pointer(batch)
            if pixels is not None:  # the same call on other pixels costs little
                key = kind.key(batch, layout, (self._flavour, what), out is batch)
                if out is not None and out is not batch:
                    key = key, into.key(out, None, None, False)
        except RuntimeError:  # a sparse or nested tensor has no strides
            raise arrays.unreadable(batch) from None
        if pixels is None:
            return self._prepare_once(batch, out, layout, what)
        call = _native.local.calls.get(key)
        if call is None:
            dense = batch if out is batch else arrays.dense(batch)
            if dense is not batch:
                return self._prepare_once(dense, out, layout, what)
            source = self._source(batch, layout, out)
            target = self._target(source, batch, out, layout)
            call = calls.Call(self, source, target, what)
            call.finish = source.finish_for()
            call.written = target.kind.pointer
            call.like = None if out is not None else target.make
            call.for_any_pixels()
            calls.keep(key, call)
        if out is batch:
            return call, None, None, pixels, pixels, out
        result = call.like(batch) if out is None else out
        return call, None, None, pixels, call.written(result), result

    def _prepare_once(self, batch, out, layout, what):
        source = self._source(batch, layout, out)
        source.to_rgb = self._to_rgb
        if isinstance(source, images.Many) and len(source.by_channels()) > 1:
            return None, source, None, 0, 0, None
        target = self._target(source, batch, out, layout)
        return calls.Call(self, source, target, what), source, target, source.pointer, target.pointer, out

    @staticmethod
    def _source(batch, layout, out=None):
        for cls in {type(batch), *(map(type, batch) if isinstance(batch, (list, tuple)) else ())}:
            images.refuse_followers(cls)
        return images.images_of(batch, layout) if out is batch else images.source_of(batch, layout)

    def _channels(self, source):
        """How many channels the steps for these images know."""
        return source.channels if source.count else 3

    def _run_by_channels(self, source, batch, out, layout, samples, return_draws, counting):
        """A list of images of different numbers of channels: a call for each number."""
        sample_ids, view, epoch, seed = samples
        if sample_ids is None:
            first, seed = self._place(self.counter)[1], self._seed_as_counted(seed)
            sample_ids = range(first, first + len(batch))
            if counting and self.training:
                self._count(self.counter, len(batch))
        sample_ids, view = calls.split_views(sample_ids, view)
        sample_ids = list(sample_ids.tolist() if hasattr(sample_ids, "tolist") else sample_ids)
        views = [view] * len(batch) if hasattr(view, "__index__") else list(view)
        if not len(sample_ids) == len(views) == len(batch):
            raise ArgumentError(
                f"sample_ids and view have {len(sample_ids)} and {len(views)} numbers, there are {len(batch)} images"
            )
        made, drawn = list(batch), [None] * len(batch)
        for group in source.by_channels():
            part = [batch[i] for i in group]
            to = None if out is None else part if out is batch else [out[i] for i in group]
            of_part = [sample_ids[i] for i in group], [views[i] for i in group], epoch, seed
            for i, image, steps in zip(group, *self._run(part, to, layout, of_part, True)):
                made[i], drawn[i] = image, steps
        result = tuple(made) if isinstance(batch, tuple) and out is None else made if out is None else out
        return (result, drawn) if return_draws else result

    def _samples(self, count, which, device=None):
        """The Samples of a call that cannot be kept. which, device: as _numbers has it."""
        (seed, epoch, first, ids, signed, views, counter, seen), keep = self._numbers(count, which, device)
        whole("the sample id", first, 0, (1 << 64) - 1, "from 0 to 2^64 - 1")
        samples = Samples(seed, epoch_given(epoch), first, ids, views, keep, counter, seen)
        if signed and lib.has_negative(ids, count):
            raise ArgumentError("sample_ids has a negative number, want whole numbers from 0 to 2^63 - 1")
        return samples

    def _note(self, samples, count):
        """Warns when the samples of an epoch come again."""
        if samples.seen and lib.repeats_note(samples.seen, samples.c, count, self._named()):
            self._repeats.warn()

    def _epoch_by_id(self, own):
        """The epoch of draws by id: the stage's own; while a loader reads, that of its pass."""
        loading = current()
        if loading is None or not self.training:
            return own
        if self._said is not None:
            return int(self._said)
        loading.drawn = 1
        return loading.epoch

    def _named(self):
        """What says that another stage draws alike, given the same samples."""
        return getattr(self.policy or self, "name", type(self).__name__).encode()

    def _place(self, counter):
        """The epoch, and the number of the next sample without an id, by the stage's counter."""
        return counter if counter.__class__ is list else counter.tolist()

    def _count(self, counter, count):
        """So many samples without ids were drawn, by the stage's counter."""
        counter[1] += count

    @property
    def stream(self) -> int | None:
        """The stream that was given."""
        return self._stream[0]

    def _take_stream(self, stream, number):
        """number: of this object among all, which sets apart the samples that it counts without a stream."""
        given = stream_key(stream or 0)
        # Behind these two what is mixed into the seed of samples with ids, and into that of samples that are counted.
        self._stream = stream, number, given, given ^ stream_key(number << 32)

    def _key(self, seed, counted):
        """What the library calls the seed."""
        seed = self.seed if seed is None else seed_given(seed)
        return seed ^ process_key(self.rank) ^ self._stream[3] if counted else seed ^ self._stream[2]

    def _seed_as_counted(self, seed):
        """The seed by which ids draw as samples do that are counted."""
        return self._key(seed, True) ^ self._stream[2]

    def _numbers(self, count, samples, device=None):
        """What Call.run takes of the samples, in its order, and what holds ids and views until it is done.

        device: the CUDA device that may read the counter by itself."""
        sample_ids, view, epoch, seed = samples
        if sample_ids is not None and epoch is None and current() is not None:
            epoch = self._epoch_by_id(0)
        counter, on_device, held, keep, views = self.counter, 0, None, None, 0
        if counter.__class__ is list:
            now, first = counter
        elif sample_ids is not None and epoch is not None:
            now, first = epoch, 0  # a device need not be asked
        elif device is None or epoch is not None or arrays.device_of(counter) != device:
            now, first = self._place(counter) if sample_ids is None else counter.tolist()
        else:
            now, first, on_device = 0, 0, KINDS[type(counter)].pointer(counter)
        if epoch is None:
            epoch = now
        if view.__class__ is not int or view:
            keep, views = calls.views_of(view, count)
        if sample_ids is None:
            key = (self.seed if seed is None else seed_given(seed)) ^ process_key(self.rank) ^ self._stream[3]
            return (key, epoch, first, 0, 0, views, on_device, NULL), keep
        seen, key = NULL, self._stream[2]
        if seed is None:
            key ^= self.seed
            if self.training:
                seen = self._repeats.seen
        else:
            key ^= seed_given(seed)
        one = getattr(sample_ids, "ndim", 0) == 0 and hasattr(sample_ids, "__index__")
        if not one and getattr(sample_ids, "ndim", 1) == 2:
            sample_ids, view = calls.split_views(sample_ids, view)
            keep, views = calls.views_of(view, count)
        elif one:
            if isinstance(sample_ids, bool):
                raise ArgumentError(f"sample_ids is {sample_ids}, want a whole number from 0 to 2^64 - 1")
            if count != 1:
                raise ArgumentError(
                    f"sample_ids is the one number {sample_ids}, there are {count} images: want a number for each"
                )
            if not on_device:
                return (key, epoch, int(sample_ids), 0, 0, views, 0, seen), keep
            sample_ids = [int(sample_ids)]
        held, ids, signed = calls.ids_of(sample_ids, count)
        return (key, epoch, 0, ids, signed, views, on_device, seen), (held, keep)

    def _target(self, source, batch, out, layout):
        """What to write to."""
        if out is None:
            return source.output(self._dtype_out, self.output_layout) if self.fused else source.output()
        if out is batch:
            if self.fused:
                raise ArgumentError("a stage with normalize, dtype or output_layout cannot work in place")
            source.require_writable()
            return source
        return images.given_target(out, source, layout, self._dtype_out)

    @property
    def _dtype_out(self):
        return self._dtype or ("uint8" if self.mean is None else "float32")


# ---- stages by their papers' names ----


class RandAugment(Stage):
    """RandAugment as in torchvision: `num_ops` of 14 operations, each at level `magnitude` of `num_magnitude_bins`.

    Cubuk, Zoph, Shlens, Le 2019, arXiv:1909.13719.

    Args:
        num_ops: Operations per image.
        magnitude: The level of each, from 0 to num_magnitude_bins - 1.
        num_magnitude_bins: How many levels there are.
        interpolation: "nearest", "bilinear" or "bicubic", of warps; or several to draw from.
        fill: What comes in from outside the image: a number, or one per channel.
        stage: Other keywords are Stage's.
    """

    _made_of = "num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill"

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Interpolations | None = None,
        fill: Fill | None = None,
        **stage: Unpack[Settings],
    ) -> None:
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
    """TrivialAugmentWide as in torchvision: one of 14 operations at one of `num_magnitude_bins` levels.

    Mueller, Hutter 2021, arXiv:2103.10158.

    Args:
        num_magnitude_bins: How many levels there are.
        interpolation: As RandAugment's, like fill and stage.
    """

    _made_of = "num_magnitude_bins", "interpolation", "fill"

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: Interpolations | None = None,
        fill: Fill | None = None,
        **stage: Unpack[Settings],
    ) -> None:
        self.num_magnitude_bins = _bins_given(num_magnitude_bins)
        self.interpolation, self.fill = interpolation, fill
        super().__init__(
            Policy.builtin("trivial_augment_wide").change(
                bins=num_magnitude_bins, interpolation=interpolation, fill=fill
            ),
            **stage,
        )


class AutoAugment(Stage):
    """AutoAugment as in torchvision.

    Cubuk, Zoph, Mane, Vasudevan, Le 2018, arXiv:1805.09501.

    Args:
        policy: "imagenet", "cifar10" or "svhn", or torchvision's AutoAugmentPolicy. The attribute `policy` is the
            motley.Policy of it.
        interpolation: As RandAugment's, like fill and stage.
    """

    _made_of = "interpolation", "fill"

    def __init__(
        self,
        policy: Literal["imagenet", "cifar10", "svhn"] | Enum = "imagenet",
        interpolation: Interpolations | None = None,
        fill: Fill | None = None,
        **stage: Unpack[Settings],
    ) -> None:
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
