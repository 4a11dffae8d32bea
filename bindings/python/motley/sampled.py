# SPDX-License-Identifier: Apache-2.0
"""What draws for samples: by which seed, stream, rank and epoch, for which ids and views, and how samples are counted.

A base class, because the counter of a module of torch has to be the module's own buffer."""

from __future__ import annotations

import copy
import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from . import _arrays as arrays
from . import _native
from ._core import ffi, lib
from ._arrays import KINDS, CuPy, Torch, address, name_of, taken
from ._native import ArgumentError, epoch_given, for_each, is_bool, next_sample_given, rank_given, seed_given
from ._native import stream_given, view_given, whole
from .draws import Samples
from .samples import Epoch, Lineage, Repeats, ask_for_pass, current, epoch_now, process_key, stream_key, unasked

if TYPE_CHECKING:
    from ._types import Array

    _Ids = TypeVar("_Ids", bound=Any)

NULL = ffi.NULL

ADVICE = (
    "call set_epoch() before each pass over the data, or give the call its epoch; where a sample is meant to be read "
    "several times in an epoch, give each reading its view"
)
for _class in (Epoch, Lineage, Repeats):
    # dill looks a class up in its module, and motley.samples is also a class, which it would find instead.
    _class.__module__ = __name__
_objects = itertools.count()  # of the objects that draw, in the order in which they are made


class Sampled:
    """What motley.Transform and motley.Mix share."""

    training = True  # an nn.Module's: whether anything is drawn
    layout: str | None
    threads: int | None
    _stream: tuple[Any, Any, int, int] = None, 0, 0, 0  # of pickles that were made before there were streams
    _begun = False  # whether a pass has, in this epoch
    _said = None  # an Epoch, where somebody may set it: of draws in loaders' passes
    _made_of: tuple[str, ...] = ()  # the arguments that say what is drawn
    _defaults: dict[str, Any] = {"stream": None, "epoch": 0, "rank": None, "layout": None, "threads": None}

    def _begin(self, seed: int, stream: int | None, epoch: int, rank: int | None, counter: Array | None) -> None:
        self.seed, self.rank = seed_given(seed), rank_given(rank)
        self._take_stream(stream_given(stream), next(_objects) if stream is None else 0)
        self.counter: Any = [0, 0] if counter is None else counter
        shape, dtype = getattr(counter, "shape", (2,)), getattr(counter, "dtype", "int64")
        if tuple(shape) != (2,) or name_of(dtype) != "int64":
            raise ArgumentError(f"counter has shape {tuple(shape)} and dtype {dtype}, want an array of two int64")
        if "torch" in sys.modules:
            self._said = Epoch()  # which a loader's workers see change, persistent ones too
        if epoch != 0:
            self.epoch = epoch
        self._repeats, self._lineage = Repeats(ADVICE), Lineage()

    def _same(self) -> Any:
        """Another object with the same state, which also counts in the same place."""
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __copy__(self) -> Any:
        """Counts from here on by itself, as copies that copy.deepcopy makes."""
        made = self._same()
        for name in "counter", "_said", "_repeats", "_lineage":
            setattr(made, name, copy.deepcopy(getattr(self, name)))
        return made

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
        self.counter[1] = next_sample_given(number)

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
            has = ", ".join(sorted(map(str, state))) or "no entries"
            raise ArgumentError(f"the state has {has}, want epoch, next_sample, number, seed, stream")
        seed, stream = seed_given(state["seed"]), stream_given(state.get("stream", self.stream))
        number = whole("number", state.get("number", self._stream[1]), 0, (1 << 32) - 1, "from 0 to 2^32 - 1")
        first = next_sample_given(state["next_sample"])
        self.epoch, self.next_sample, self.seed = epoch_given(state["epoch"]), first, seed
        self._take_stream(stream, number)

    def _settings(self) -> Iterator[tuple[str, Any]]:
        """The arguments that __repr__ shows: the seed, and those that are not the defaults."""
        import inspect  # slow to import, and only wanted here

        parameters = inspect.signature(type(self).__init__).parameters
        for name in self._made_of:
            if getattr(self, name) != parameters[name].default:
                yield name, getattr(self, name)
        yield from {"seed": self.seed, **self._kept()}.items()

    def _kept(self) -> dict[str, Any]:
        """The settings that say anything."""
        values = {name: getattr(self, "_dtype" if name == "dtype" else name) for name in self._defaults}
        return {name: value for name, value in values.items() if value != self._defaults[name]}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._settings())})"

    def __eq__(self, other: object) -> bool:
        """Whether both draw and write alike from here on."""
        if not isinstance(other, Sampled) or type(other) is not type(self):
            return NotImplemented
        return bool(self._compared() == other._compared())

    def __hash__(self) -> int:  # of what does not change while it is used
        return hash((type(self), self.layout, self.threads))

    def _compared(self) -> Any:
        state = {**self.state_dict(), "number": 0}  # equal by id; what they count differs in objects anyway
        return self._what(), state, self.rank, self.layout, self.threads

    def _what(self) -> tuple[Any, ...]:
        """What is drawn, and how it is written."""
        raise NotImplementedError

    def _named(self) -> bytes:
        """What says that another one draws alike, given the same samples."""
        return type(self).__name__.encode()

    # ---- the numbers of a call ----

    def _drawn_for(self, count: int, sample_ids: Any, view: Any, epoch: Any, seed: Any) -> Any:
        """The Samples that draw() is asked for, and how many they are."""
        if sample_ids is None:
            count = whole("count", count, 0, (1 << 31) - 1, "from 0")
        else:
            one = hasattr(sample_ids, "__index__") and getattr(sample_ids, "ndim", 0) == 0
            sample_ids = [sample_ids] if one else sample_ids
            count = len(sample_ids)
        return self._samples(count, (sample_ids, view, epoch, seed)), count

    def _samples(self, count: int, which: Any, counting: bool = False) -> Any:
        """The Samples of a call that cannot be kept. which, counting: as _numbers has them."""
        (seed, epoch, first, ids, signed, views, _, seen), keep = self._numbers(count, which)
        whole("the sample id", first, 0, (1 << 64) - 1, "from 0 to 2^64 - 1")
        epoch = epoch_given(epoch)
        if counting and which[0] is None:
            first = self._next(count)
        samples = Samples((seed, epoch, first, ids, views), keep, seen)
        if signed and lib.has_negative(ids, count):
            raise ArgumentError("sample_ids has a negative number, want whole numbers from 0 to 2^63 - 1")
        return samples

    def _done(self, samples: Any, count: int) -> None:
        """Notes the samples of a call that was done; warns when those of an epoch come again."""
        if samples.seen and lib.repeats_note(samples.seen, samples.c, count, self._named()):
            self._repeats.warn()

    def _with_ids(self, count: int, which: Any, counting: bool = True) -> Any:
        """The same samples with an id each, (ids, view, epoch, seed). Those without ids are counted, and get ids and a
        seed by which they draw alike. The epoch is None where only the counter knows it, which a device may have."""
        sample_ids, view, epoch, seed = which
        if epoch is None:
            epoch = self.epoch if sample_ids is None else self._epoch_by_id(None)
        if sample_ids is None:
            seed = self._key(seed, True) ^ self._stream[2]
            first = self._next(count) if counting else self._place(self.counter)[1]
            if self._lineage.copied and self.training:
                self._lineage.note(seed, epoch, first)
            sample_ids = range(first, first + count)
        sample_ids, view = split_views(sample_ids, view)
        ids, view = numbers_of(sample_ids), numbers_of(view)
        if not (hasattr(ids, "__index__") or hasattr(ids, "__iter__")):
            raise ArgumentError(f"sample_ids is {ids!r}, want a whole number for each image")
        ids = [ids] if hasattr(ids, "__index__") else list(ids)
        for name, numbers in (("sample_ids", ids), ("view", view if hasattr(view, "__len__") else ids)):
            for_each(name, len(numbers), count)
        return ids, view, None if epoch is None else epoch_given(epoch), seed

    def _epoch_by_id(self, own: Any) -> Any:
        """The epoch of draws by id: its own; while a loader reads, that of its pass."""
        if not self.training:
            return own
        if current() is None:
            if unasked[0] and not self._said:
                ask_for_pass()
            return own
        return epoch_now() if self._said is None else int(self._said)

    def _place(self, counter: Any) -> Any:
        """The epoch, and the number of the next sample without an id, by its counter."""
        return counter if counter.__class__ is list else counter.tolist()

    def _count(self, counter: Any, count: int) -> None:
        """So many samples without ids are drawn, by its counter."""
        counter[1] += count

    def _next(self, count: int) -> Any:
        """The number of the first of so many samples without ids, which no other call gets, in whatever thread."""
        counter = self.counter
        with _native.counting:
            if counter.__class__ is list and self.training:  # as the functions above do it
                first = counter[1]
                counter[1] = first + count
            else:
                first = self._place(counter)[1]
                if self.training:
                    self._count(counter, count)
        return first

    def _give_back(self, which: Any, first: int, count: int) -> None:
        """After a call that failed: the samples that it counted are the next again, unless a thread has counted on."""
        with _native.counting:
            if which[0] is None and self._place(self.counter)[1] == first + count:
                self._count(self.counter, -count)

    @property
    def stream(self) -> int | None:
        """The stream that was given."""
        stream: int | None = self._stream[0]
        return stream

    def _take_stream(self, stream: Any, number: Any) -> None:
        """number: of this object among all, which sets apart the samples that it counts without a stream."""
        given = stream_key(stream or 0)
        # Behind these two what is mixed into the seed of samples with ids, and into that of samples that are counted.
        self._stream = stream, number, given, given ^ stream_key(number << 32)

    def _key(self, seed: Any, counted: Any) -> Any:
        """What the library calls the seed."""
        seed = self.seed if seed is None else seed_given(seed)
        return seed ^ process_key(self.rank) ^ self._stream[3] if counted else seed ^ self._stream[2]

    def _numbers(self, count: int, samples: Any, device: Any = None, counting: bool = False) -> Any:
        """What run_call takes of the samples, in its order, and what holds ids and views until it is done.

        device: the CUDA device that may read the counter by itself, and whose samples are counted when its work is
        queued; counting: of others that have no ids, here."""
        sample_ids, view, epoch, seed = samples
        loading = None if sample_ids is None else current()
        if epoch is None and sample_ids is not None:
            if loading is not None:
                epoch = self._epoch_by_id(0)
            elif unasked[0] and not self._said and self.training:
                ask_for_pass()
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
        elif epoch.__class__ is not int:
            epoch = epoch_given(epoch)
        if view.__class__ is not int or view:
            keep, views = views_of(view, count)
        if sample_ids is None:
            key = (self.seed if seed is None else seed_given(seed)) ^ process_key(self.rank) ^ self._stream[3]
            if self._lineage.copied and self.training:
                self._lineage.note(key, epoch, first)
            if counting and not on_device:
                first = self._next(count)
            return (key, epoch, first, 0, 0, views, on_device, NULL), keep
        seen, key = NULL, self._stream[2]
        if seed is None:
            key ^= self.seed
            if self.training:
                seen = (self._repeats if loading is None else loading).seen
        else:
            key ^= seed_given(seed)
        one = getattr(sample_ids, "ndim", 0) == 0 and hasattr(sample_ids, "__index__")
        if not one and getattr(sample_ids, "ndim", 1) == 2:
            sample_ids, view = split_views(sample_ids, view)
            keep, views = views_of(view, count)
        elif one:
            if sample_ids.__class__ is not int:
                sample_ids = whole("sample_ids", sample_ids, 0, (1 << 64) - 1, "from 0 to 2^64 - 1")
            if count != 1:
                raise ArgumentError(
                    f"sample_ids is the one number {sample_ids}, there are {count} images: want a number for each"
                )
            if not on_device:
                return (key, epoch, sample_ids, 0, 0, views, 0, seen), keep
            sample_ids = [sample_ids]
        held, ids, signed = ids_of(sample_ids, count)
        return (key, epoch, 0, ids, signed, views, on_device, seen), (held, keep)


# ---- ids and views ----


def ids_of(sample_ids: Any, count: int) -> Any:
    """What holds `count` ids, their address and whether they are signed, of a list, range, array or tensor of whole
    numbers."""
    kind = KINDS[type(sample_ids)]
    if kind is not None and kind.holds(sample_ids, count, "int64", "uint64"):
        return sample_ids, kind.pointer(sample_ids), name_of(sample_ids.dtype) == "int64"
    sample_ids = list(numbers_of(sample_ids))
    try:
        ids = ffi.new("uint64_t[]", sample_ids)
    except (OverflowError, TypeError):
        ids = None
    if ids is None or bool in map(type, sample_ids):
        for one in sample_ids:
            whole("one of sample_ids", one, 0, (1 << 64) - 1, "from 0 to 2^64 - 1")
    for_each("sample_ids", len(ids), count)
    return ids, address(ids), False


def numbers_of(array: Any) -> Any:
    """An array of any library as a list; anything else as it is. TensorFlow's tensors have no tolist()."""
    if isinstance(array, (set, frozenset)):
        raise ArgumentError(f"{array!r:.60} is a set, whose order says nothing: want a list with one for each image")
    array = array.numpy() if hasattr(array, "numpy") and not hasattr(array, "tolist") else array
    return array.tolist() if hasattr(array, "tolist") else array


def split_views(sample_ids: Any, view: Any) -> Any:
    """ids, views: of an array [N, 2] its columns."""
    if getattr(sample_ids, "ndim", 1) != 2:
        return sample_ids, view
    if sample_ids.shape[1] != 2:
        shape = tuple(sample_ids.shape)
        raise ArgumentError(f"sample_ids has shape {shape}, want [N], or [N, 2]: an id and a view each")
    columns = numbers_of(sample_ids)
    return [id for id, _ in columns], [view for _, view in columns]


def views_of(view: Any, count: int) -> Any:
    """What holds `count` views, and their address; or None and the view of all images."""
    if hasattr(view, "__index__") and getattr(view, "ndim", 0) == 0:
        return None, view_given(view)
    if not hasattr(view, "__len__"):
        view_given(view)
    numbers = [view_given(v) for v in numbers_of(view)]
    for_each("view", len(numbers), count)
    held = ffi.new("uint32_t[]", numbers)
    return held, address(held)


def views_of_each(view: Any, views: Any) -> Any:
    """For each of several views of samples, what `view` becomes."""
    if hasattr(view, "__index__") and getattr(view, "ndim", 0) == 0:
        return [view_given(view) * views + k for k in range(views)]
    numbers = list(numbers_of(view))
    return [[v * views + k for v in numbers] for k in range(views)]


def group_ids(ids: _Ids, counts: int | Sequence[int]) -> _Ids:
    """The ids of images in groups that are to draw alike, such as the frames of a clip or a stereo pair: each id as
    often as its group has images.

        ids = motley.group_ids(indices, 16)                    # of clips [N, 16, C, H, W]
        clips = augment(clips.flatten(0, 1), sample_ids=ids).unflatten(0, (-1, 16))

    Images of one id draw the same operations at the same levels. Where they differ in size, values that are relative to
    it differ as well. Operations that use an image's statistics (equalize, auto_contrast, contrast) take each
    image's own, as torchvision's do on a video.

    Args:
        ids: Of the groups: a list, or an array or tensor [N] or [N, 2] (an id and a view), which gives one of its kind.
        counts: How many images a group has: a number, or one for each group.
    """
    each: Any = counts
    if not hasattr(ids, "__len__"):
        raise ArgumentError(f"ids is {ids!r}, want those of several groups")
    if not hasattr(each, "__len__") or not getattr(each, "ndim", 1):
        each = [each] * len(ids)
    elif len(each) != len(ids):
        raise ArgumentError(f"counts has {len(each)} numbers, there are {len(ids)} ids")
    each = [whole("counts", count, 0, (1 << 31) - 1, "from 0, of images in each group") for count in each]
    places = [place for place, count in enumerate(each) for _ in range(count)]
    return cast("_Ids", taken(ids, places) if hasattr(ids, "ndim") else [ids[place] for place in places])


# ---- levels ----


def levels_of(levels: Any, count: int, device: Any = None) -> Any:
    """What holds `count` given levels in binary32, and where the library finds them: in memory of that CUDA device, or
    the host's. They are numbers, an array of any library, or one number for all."""
    kind = KINDS[type(levels)]
    if (  # the usual case, which costs a tenth of the others
        kind is Torch and levels.dim() == 1 and levels.numel() == count and name_of(levels.dtype) == "float32"
        and levels.is_contiguous() and levels.get_device() == (-1 if device is None else device)
    ):  # fmt: skip
        return levels, kind.pointer(levels)
    if is_bool(levels) or (isinstance(levels, (list, tuple)) and bool in map(type, levels)):
        raise ArgumentError(f"levels is {levels!r}, want a number from 0 to 1 for each image")
    at = None if kind is None else kind.look(levels)[4]
    if at != device and at is not None:
        wanted = "on the host" if device is None else f"on device {device}"
        raise ArgumentError(f"levels is on CUDA device {at}, want it {wanted}, as the images are")
    if device is None:
        if kind is not None and kind.holds(levels, count, "float32"):
            return levels, kind.pointer(levels)
        numbers = _flat(levels)
        try:
            held = ffi.new("float[]", numbers if hasattr(numbers, "__len__") else [numbers] * count)
        except (TypeError, OverflowError):
            raise ArgumentError(f"levels is {levels!r}, want a number from 0 to 1 for each image") from None
        there = len(held)
    else:
        held, there = _levels_on(levels, device, kind)
        held = held if there != 1 or count == 1 else held.repeat(count)
        there = count if there == 1 else there
    for_each("levels", there, count)
    return held, address(held) if device is None else KINDS[type(held)].pointer(held)


def levels_on_host(levels: Any, count: int) -> Any:
    """What holds given levels in host memory, and its address, as motley_samples has it. Those of a device are copied,
    which waits for them."""
    held, at = levels_of(_flat(levels), count)
    return held, ffi.cast("float *", at)


def levels_without_use(policy: Any) -> ArgumentError:
    """The error for levels of a policy that takes none."""
    return ArgumentError(f"levels is given, but no step of policy '{policy.name}' has the level `given`")


def _flat(levels: Any) -> Any:
    """The numbers of levels, which may be a column."""
    return numbers_of(levels.reshape(-1) if getattr(levels, "ndim", 0) > 1 else levels)


def _levels_on(levels: Any, device: Any, kind: Any) -> Any:
    """Dense in memory of a CUDA device, by work on the current stream, and how many they are."""
    torch = sys.modules.get("torch")
    if kind is CuPy or torch is None:
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(device):
            held = cupy.ascontiguousarray(cupy.asarray(levels, dtype="float32")).ravel()
        return held, held.size
    if kind is not Torch:
        levels = torch.tensor(numbers_of(levels), dtype=torch.float32)
    held = levels.detach().to(f"cuda:{device}", torch.float32).flatten().contiguous()
    return held, held.numel()
