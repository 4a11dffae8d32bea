# SPDX-License-Identifier: Apache-2.0
"""Where random numbers come from: without ids a word of a generator for each call, by id (seed, epoch, id, view).

What torch and multiprocessing do not set apart themselves (ranks, children whose generators are copies) is mixed into
the word by apart()."""

from __future__ import annotations

import functools
import itertools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from . import _native
from ._core import ffi, lib
from ._arrays import KINDS, Foreign, Torch, address, as_known, device_for, device_of, is_jax, name_of, pointer_of
from ._arrays import taken
from ._images import Captured
from ._native import ArgumentError, UnsupportedError, child, epoch_given, for_each, is_bool, seed_given
from ._native import view_given, whole

if TYPE_CHECKING:
    from ._types import Array

    _Ids = TypeVar("_Ids", bound=Any)

NULL = ffi.NULL
MASK, LOWEST = 0xFFFFFFFFFFFFFFFF, -1 << 63
# Launchers' names of a process's rank: torchrun (also Accelerate, DeepSpeed, Ray Train), Open MPI, PMIx, MPICH and
# Intel MPI, MVAPICH, Slurm, Flux.
LAUNCHERS = (
    "RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID", "FLUX_TASK_RANK",
)  # fmt: skip
ON_DEVICE = 0x6A09E667F3BCC908  # mixed into the seed of draws that a device counts, which the host counts from 0, too
WANTED = (
    "sample_ids are given, but no epoch, so that each pass would draw the same: want epoch= or set_epoch(), or the ids "
    "of a motley.torch.Sampler, which carry their epoch"
)
OF_TWO_KINDS = "some sample_ids carry their epoch and some do not, want one kind"


# ---- what sets processes apart ----

_home = os.getpid()  # of the process that imported this, which a fork's child still reads here
_handed: int = 0  # the rank of the process that a transform came from, for a process that knows no rank of its own
_copies = itertools.count(1)  # of the transforms that were unpickled in this process


def rank_of_run() -> int:
    """This process's rank: torch.distributed's, else the launcher's, else that of the process that its transforms came
    from; 0 where nothing says. Asked when something is drawn, since process groups begin later than transforms do."""
    if _has_group():
        return int(sys.modules["torch.distributed"].get_rank())
    # Lightning's own launcher says LOCAL_RANK and NODE_RANK.
    ranks = [int(os.environ[name]) for name in LAUNCHERS if os.environ.get(name, "").isdecimal()]
    node, local = (os.environ.get(name, "") for name in ("NODE_RANK", "LOCAL_RANK"))
    if not ranks and local.isdecimal():
        return (int(node) if node.isdecimal() else 0) << 16 | int(local)
    return ranks[0] if ranks else _handed


def apart() -> Any:
    """What sets this process's draws apart: a number for words of torch's or Python's own generator, which torch seeds
    in a loader's workers; and one for generators that came here as copies. Both are 0 in a single process."""
    kept = _native.local.apart
    if kept is not None and (kept[2] or not _has_group()):
        return kept
    process, pid, seed = child(), os.getpid(), ""
    place: tuple[int, ...] = ()  # among multiprocessing's children, and theirs
    data = sys.modules.get("torch.utils.data")
    worker = data and data.get_worker_info()
    if process is not None:
        place, pid = process._identity, process._parent_pid
    if worker is not None:
        place, seed = place[:-1], f" {worker.seed}"
    if not place and _home not in (os.getpid(), pid):
        place = (pid,)  # of a fork without multiprocessing, or of a loader's worker that was forked from one
    rank = rank_of_run()
    text = f"{rank} {place}" if rank or place else ""
    kept = _native.local.apart = mixed(text), mixed(text + seed), _has_group()
    return kept


def _has_group() -> bool:
    """Whether torch.distributed has a process group. Asked in every call without ids, so it replaces itself."""
    global _has_group
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available():
        return False
    _has_group = distributed.is_initialized
    return _has_group()


def mixed(text: str) -> int:
    """64 bits out of a text, 0 of none: FNV-1a, then scattered."""
    h = 0xCBF29CE484222325 if text else 0
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK
    h = (h ^ h >> 31) * 0x7FB5D329728EA185 & MASK
    return h ^ h >> 27


# ---- without ids ----


def word(generator: Any = None) -> int:
    """64 bits of a generator of torch or NumPy; None: of torch's own where torch is imported, else of Python's."""
    tensor = _native.local.drawn
    if generator is None and tensor is not None:  # in the usual case nothing else is asked
        number: int = tensor.random_(LOWEST, None).item()
        return number & MASK
    if hasattr(generator, "bit_generator"):
        return int(generator.integers(MASK, dtype="uint64", endpoint=True))  # random_raw() of MT19937 has 32 bits
    torch = sys.modules.get("torch")
    if torch is None:
        import random

        return random.getrandbits(64)
    if tensor is None:
        with torch.inference_mode(False):  # else it could not be written to outside of inference mode
            tensor = _native.local.drawn = torch.empty((), dtype=torch.int64, device="cpu")
    number = tensor.random_(LOWEST, None, generator=generator).item()
    return number & MASK


def fresh() -> int:
    """The seed of a call that draws anew by the framework's generator."""
    seed: int = word() ^ apart()[0]
    return seed


def generator_given(generator: Any) -> Any:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(generator, torch.Generator):
        if generator.device.type != "cpu":
            raise ArgumentError(f"generator is of device {generator.device}, want one of the CPU: each call reads it")
    elif generator is not None and not (hasattr(generator, "bit_generator") and hasattr(generator, "integers")):
        raise ArgumentError(f"generator is a {type(generator).__name__}, want a torch.Generator or a NumPy one")
    return generator


class Source:
    """Where a transform's draws without ids come from: its seed and how many samples it has drawn for, or a generator
    that it was given, or else the generator of the framework."""

    __slots__ = "seed", "generator", "count", "copy"

    def __init__(self, seed: Any, generator: Any = None, count: int = 0, copy: int = 0) -> None:
        self.seed, self.generator, self.count, self.copy = seed, generator, count, copy

    def key(self, count: int) -> Any:
        """The seed of a call for `count` samples, and the number of the first."""
        if self.seed is not None:
            with _native.counting:
                first = self.count
                self.count = first + count
            return self.seed ^ apart()[1] ^ self.copy, first
        if self.generator is not None:
            return word(self.generator) ^ apart()[1] ^ self.copy, 0
        return word() ^ apart()[0], 0

    def __reduce__(self) -> Any:
        return _copied, (self.seed, self.generator, self.count, rank_of_run())


def _copied(seed: Any, generator: Any, count: int, rank: int) -> Source:
    """A Source that was pickled. A pool unpickles one for each task, so that copies in children are set apart."""
    global _handed
    if child() is None:
        return Source(seed, generator, count)
    _handed = rank
    return Source(seed, generator, count, mixed(str(next(_copies))))


# ---- by id ----


class Index(int):
    """An index of a data set that carries the id, the epoch and the view to draw by. The id is the sampler's index, and
    the view which time it is read in this epoch. Adding to an Index and subtracting from it, as ConcatDataset does to
    find the data set of a sample, keep all three; a negative index, counted from the end, is no id until then."""

    id: int
    epoch: int
    view: int

    def __new__(cls, index: int, epoch: int, view: int = 0, id: int | None = None) -> Index:
        made = super().__new__(cls, index)
        made.id = int(index) if id is None else id
        made.epoch, made.view = epoch_given(epoch), view_given(view)
        return made

    def __add__(self, other: int) -> Index:
        index = int(self) + other
        return Index(index, self.epoch, self.view, index if self.id < 0 else self.id)

    def __sub__(self, other: int) -> Index:
        return self + -other

    def __reduce__(self) -> tuple[Any, ...]:
        return Index, (int(self), self.epoch, self.view, self.id)

    __radd__ = __add__


def split_ids(sample_ids: Any, view: Any, epoch: Any) -> Any:
    """ids, view, epoch: of ids that carry them, an Index, a list of these, an array [N, 2] (id, view) or [N, 3] (id,
    view, epoch), each by itself."""
    if isinstance(sample_ids, Index):
        rows: Any = [(sample_ids.id, sample_ids.view, sample_ids.epoch)]
    elif isinstance(sample_ids, (list, tuple)) and len(sample_ids) > 0 and isinstance(sample_ids[0], Index):
        if not all(isinstance(i, Index) for i in sample_ids):
            raise ArgumentError(OF_TWO_KINDS)
        rows = [(i.id, i.view, i.epoch) for i in sample_ids]
    elif getattr(sample_ids, "ndim", 1) == 2:
        if sample_ids.shape[1] not in (2, 3):
            shape = tuple(sample_ids.shape)
            raise ArgumentError(f"sample_ids has shape {shape}, want [N], or [N, 2] or [N, 3]: id, view and epoch")
        rows = numbers_of(sample_ids)
    else:
        return sample_ids, view, epoch
    if view.__class__ is not int or view:
        raise ArgumentError(f"view is {view!r}, but the sample_ids carry their views: want one of both")
    if not rows:
        return [], 0, epoch or 0
    ids, views, *epochs = map(list, zip(*rows))
    if epochs and epoch is not None:
        raise ArgumentError(f"epoch is {epoch!r}, but the sample_ids carry their epoch: want one of both")
    if epochs and len({*epochs[0]}) > 1:
        raise ArgumentError(f"sample_ids are of the epochs {sorted({*epochs[0]})}: want a batch of one epoch")
    if epochs:
        epoch = epochs[0][0]
    return ids[0] if isinstance(sample_ids, Index) else ids, views, epoch


class Once:
    """In place of sample_ids: samples without ids that several calls draw for. The first call counts them; those that
    a device counts are counted by end(), behind the last call. counted: whether any are."""

    def __init__(self, transform: Sampled, counted: bool = True) -> None:
        self.transform, self.counted, self.count = transform, counted, 0
        self.found: Any = None

    def numbers(self, count: int, *how: Any) -> Any:
        """What Sampled._fresh has found for the first call."""
        if self.found is None:
            self.count = count if self.counted else 0
            self.found = self.transform._fresh(self.count, *how)
        return self.found

    def end(self) -> None:
        if self.found is not None and self.found[2]:
            self.transform._add(self.count)


# ---- what draws ----


class Sampled:
    """Which samples a motley.Transform draws for: by id, by a seed and a count, or by a word of a generator."""

    training = True  # an nn.Module's: whether anything is drawn
    layout: str | None
    threads: int | None
    counter: Any  # two int64, the epoch and the number of the next sample, which a CUDA graph's work reads; or None
    _counts = False  # whether all calls without ids count there

    def _begin(self, seed: int | None, generator: Any, epoch: int | None, counter: Array | None) -> None:
        if seed is not None and generator is not None:
            raise ArgumentError("both seed and generator are given, want one of them")
        self._words = Source(None if seed is None else seed_given(seed), generator_given(generator))
        shape, dtype = getattr(counter, "shape", None), getattr(counter, "dtype", None)
        if counter is not None and (shape is None or tuple(shape) != (2,) or name_of(dtype) != "int64"):
            found = f"is {counter!r}" if shape is None else f"has shape {tuple(shape)} and dtype {dtype}"
            raise ArgumentError(f"counter {found}, want an array of two int64")
        if is_jax(type(counter)):
            raise ArgumentError("counter is a JAX array, which never changes: want one that can be written")
        foreign = counter is not None and KINDS[type(counter)] is None and device_of(counter) is None
        self.counter = as_known("counter is", counter) if foreign else counter
        self._counts = counter is not None
        self._epoch = None if epoch is None else epoch_given(epoch)
        self._set_in: int | None = None  # the process that called set_epoch()
        if counter is not None and epoch is not None:
            self.counter[0] = epoch

    def _same(self) -> Any:
        """Another object with the same state, which also counts and keeps what graphs captured in the same place."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), _captured=self._captured)
        return made

    @functools.cached_property
    def _captured(self) -> Captured:
        """Made when it is asked for, as copies and those pickled by earlier versions have none."""
        return Captured()

    def __copy__(self) -> Any:
        made = self._same()
        del vars(made)["_captured"]
        made._words = Source(self.seed, self.generator, self._words.count, self._words.copy)
        return made

    @property
    def seed(self) -> int | None:
        """The seed that was given; by id None is 0."""
        seed: int | None = self._words.seed
        return seed

    @property
    def generator(self) -> Any:
        """The generator that was given."""
        return self._words.generator

    @property
    def epoch(self) -> int | None:
        """The epoch that was said, by which samples with ids are drawn. Of a `counter` on a device asking waits."""
        return int(self.counter[0]) if self._counts else self._epoch

    def set_epoch(self, epoch: int) -> None:
        """The epoch of draws by id from here on, in this process."""
        self._epoch, self._set_in = epoch_given(epoch), os.getpid()
        if self.counter is not None:
            self.counter[0] = self._epoch

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint needs: the seed, how many samples were drawn by it without ids, and the epoch."""
        count = int(self.counter[1]) if self._counts else self._words.count
        return {"seed": self.seed, "count": count, "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> Any:
        if not isinstance(state, Mapping) or set(state) != {"seed", "count", "epoch"}:
            has = ", ".join(sorted(map(str, state if isinstance(state, Mapping) else ()))) or "no entries"
            raise ArgumentError(f"the state has {has}, want count, epoch, seed")
        seed = None if state["seed"] is None else seed_given(state["seed"])
        count = whole("count", state["count"], 0, (1 << 63) - 1, "from 0 to 2^63 - 1")
        if state["epoch"] is not None:
            self.set_epoch(state["epoch"])
        self._words = Source(seed, self.generator if seed is None else None, count, self._words.copy)
        if self._counts:
            self.counter[1] = count

    # ---- the numbers of a call ----

    def _samples(self, count: int, which: Any, device: Any = None) -> Any:
        """The motley_samples of a call that the host draws for, and what it points to; device: of the images."""
        (seed, epoch, first, ids, signed, views, _), keep = self._numbers(count, which, device, True)
        whole("sample_ids", first, 0, MASK, "from 0 to 2^64 - 1")
        samples = ffi.new("motley_samples *", lib.samples_of(seed, epoch_given(epoch), first, ids, views))
        if signed and lib.has_negative(ids, count):
            raise ArgumentError("sample_ids has a negative number, want whole numbers from 0 to 2^63 - 1")
        return samples, keep

    def _epoch_by_id(self, epoch: Any, device: Any = None) -> Any:
        """The epoch of draws by id, and 0; or 0 and the address of a counter that the device reads it from."""
        if epoch is not None:
            return epoch if epoch.__class__ is int else epoch_given(epoch), 0
        if not self.training:
            return 0, 0
        counter = self.counter
        if self._epoch is None and not self._counts:
            raise ArgumentError(WANTED)
        if counter is not None and device is not None and device_of(counter) == device:
            return 0, pointer_of(counter)
        if self._counts:
            return int(counter[0]), 0
        if self._set_in is not None and self._set_in != os.getpid():
            raise ArgumentError(
                f"set_epoch({self._epoch}) was called in another process, whose next call this one would not see: want "
                "epoch= in the call, or the ids of a motley.torch.Sampler, which carry their epoch"
            )
        return self._epoch, 0

    def _fresh(self, count: int, seed: Any, device: Any, on_host: bool) -> Any:
        """Of a call without ids its seed, the number of its first sample, and 0 or the address of the counter that the
        device reads that from. on_host: the host draws."""
        if seed is not None:
            raise ArgumentError(
                f"seed is {seed!r} in a call without sample_ids: want these, too, or the seed where the "
                f"{type(self).__name__} is made"
            )
        if not self.training:
            return 0, 0, 0
        captured = device is not None and Torch.captures(device)
        key, first = self._words.key(count)
        if not captured and not self._counts:
            return key, first, 0
        counter = self.counter
        if captured and (on_host or counter is None or device_of(counter) != device):
            raise UnsupportedError(
                "a CUDA graph is being captured, each replay of which would draw the same: want sample_ids, or a "
                "motley.torch.Transform on the device, whose policy the device draws by itself"
            )
        if device_of(counter) == device is not None and not on_host:
            return key ^ ON_DEVICE, 0, pointer_of(counter)
        with _native.counting:
            first = int(counter[1])
            self._add(count)
        return key ^ ON_DEVICE, first, 0

    def _in_views(self, views: int, which: Any, call: Callable[[Any], Any]) -> tuple[Any, ...]:
        """Runs `call` for each of several views of the samples. Without a seed, each view takes a random word."""
        if which[0] is None and _native.compiling():
            return cast("tuple[Any, ...]", _native.eagerly()(self._in_views, views, which, call))
        ids, view, epoch = split_ids(*which[:3])
        once = Once(self) if ids is None and (self._words.seed is not None or self._counts) else None
        results = tuple([call((once or ids, view_as(view, views, k), epoch, which[3])) for k in range(views)])
        if once is not None:
            once.end()
        return results

    def _add(self, count: int) -> None:
        """Counts samples in the counter, on a device behind the work that reads it."""
        if count:
            number = self.counter[1:]  # self.counter[1] += count would also copy the number onto itself
            number += count

    def _numbers(self, count: int, which: Any, device: Any = None, on_host: bool = False) -> Any:
        """What run_call takes of the samples, in its order, and what holds ids and views until it is done. device: the
        CUDA device that the images are on; on_host: the host draws nevertheless."""
        sample_ids, view, epoch, seed = which
        keep, views = None, 0
        if sample_ids is None or sample_ids.__class__ is Once:
            if view.__class__ is not int or view:
                keep, views = views_of(view, count)
            given = None if epoch is None else epoch_given(epoch)
            fresh = self._fresh if sample_ids is None else sample_ids.numbers
            key, first, counter = fresh(count, seed, device, on_host)
            epoch = given or 0
            if given is None and self._counts and not counter:  # otherwise the device reads the epoch in the counter
                epoch = self.epoch
            return (key, epoch, first, 0, 0, views, counter), keep
        key = (self._words.seed or 0) if seed is None else seed_given(seed)
        one = sample_ids.__class__ is int
        if not one and (axes := getattr(sample_ids, "ndim", None)) != 1:  # an array [N] carries no views and epochs
            one = not axes and hasattr(sample_ids, "__index__")
            if not one or sample_ids.__class__ is Index:
                sample_ids, view, epoch = split_ids(sample_ids, view, epoch)
        if view.__class__ is not int or view:
            keep, views = views_of(view, count)
        counter = 0
        if epoch.__class__ is not int:
            epoch, counter = self._epoch_by_id(epoch, None if on_host else device)
        if one:
            if sample_ids.__class__ is not int:
                sample_ids = whole("sample_ids", sample_ids, 0, MASK, "from 0 to 2^64 - 1")
            if count != 1:
                raise ArgumentError(
                    f"sample_ids is the one number {sample_ids}, there are {count} images: want a number for each"
                )
            if not counter:
                return (key, epoch, sample_ids, 0, 0, views, 0), keep
            sample_ids = [sample_ids]
        held, ids, signed = ids_of(sample_ids, count)
        return (key, epoch, 0, ids, signed, views, counter), (held, keep)


# ---- ids and views ----


def ids_of(sample_ids: Any, count: int) -> Any:
    """What holds `count` ids, their address and whether they are signed, of a list, range, array or tensor of whole
    numbers."""
    kind = KINDS[type(sample_ids)]
    if kind is not None and kind.holds(sample_ids, count, "int64", "uint64"):
        return sample_ids, kind.pointer(sample_ids), name_of(sample_ids.dtype) == "int64"
    numbers = numbers_of(sample_ids)
    if not hasattr(numbers, "__iter__"):
        raise ArgumentError(f"sample_ids is {numbers!r}, want a whole number for each image")
    sample_ids = list(numbers)
    try:
        ids = ffi.new("uint64_t[]", sample_ids)
    except (OverflowError, TypeError):
        ids = None
    kinds = set(map(type, sample_ids))
    if Index in kinds:
        raise ArgumentError(OF_TWO_KINDS)
    if ids is None or bool in kinds:
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


def view_as(view: Any, times: int, number: int) -> Any:
    """What `view`, a number or one for each image, becomes for the view `number` of `times` that each read has."""
    if hasattr(view, "__index__") and getattr(view, "ndim", 0) == 0:
        return view_given(view) * times + number
    if not hasattr(view, "__len__"):
        view_given(view)
    return [view_given(read) * times + number for read in numbers_of(view)]


def group_ids(ids: _Ids, counts: int | Sequence[int]) -> _Ids:
    """The ids of images in groups that are to draw alike, such as the frames of a clip or a stereo pair: each id as
    often as its group has images.

        ids = motley.group_ids(indices, 16)                    # of clips [N, 16, C, H, W]
        clips = augment(clips.flatten(0, 1), sample_ids=ids, epoch=epoch).unflatten(0, (-1, 16))

    Images of one id draw the same operations at the same levels. Where they differ in size, values that are relative to
    it differ as well. Operations that use an image's statistics (equalize, auto_contrast, contrast) take each
    image's own, as torchvision's do on a video.

    Args:
        ids: Of the groups: a list, or an array or tensor [N] or [N, 2] (an id and a view), which gives one of its kind.
        counts: How many images a group has: a number, or one for each group.
    """
    each: Any = counts
    if not hasattr(ids, "__getitem__") or not getattr(ids, "ndim", 1):
        raise ArgumentError(f"ids is {ids!r}, want those of several groups")
    if not hasattr(each, "__len__") or not getattr(each, "ndim", 1):
        each = [each] * len(ids)
    elif len(each) != len(ids):
        raise ArgumentError(f"counts has {len(each)} numbers, there are {len(ids)} ids")
    each = [whole("counts", count, 0, (1 << 31) - 1, "from 0, of images in each group") for count in each]
    places = [place for place, count in enumerate(each) for _ in range(count)]
    return cast("_Ids", taken(ids, places) if hasattr(ids, "ndim") else [ids[place] for place in places])


# ---- levels ----


def levels_of(levels: Any, count: int, device: Any = None, source: Any = None) -> Any:
    """What holds `count` given levels in binary32, and where the library finds them: in memory of that CUDA device, or
    the host's. They are numbers, an array of any library, or one number for all. source: what the images were read
    from, where no library of this package's kinds made them."""
    kind = KINDS[type(levels)]
    if kind is not None and kind.holds(levels, count, "float32", device=device):  # in a tenth of the others' time
        return levels, kind.pointer(levels)
    if is_bool(levels) or (isinstance(levels, (list, tuple)) and bool in map(type, levels)):
        raise ArgumentError(f"levels is {levels!r}, want a number from 0 to 1 for each image")
    at = device_of(levels)
    if at != device and at is not None:
        wanted = "on the host" if device is None else f"on device {device}"
        raise ArgumentError(f"levels is on CUDA device {at}, want it {wanted}, as the images are")
    if device is None:
        numbers = _flat(levels)
        try:
            held = ffi.new("float[]", numbers if hasattr(numbers, "__len__") else [numbers] * count)
        except (TypeError, OverflowError):
            raise ArgumentError(f"levels is {levels!r}, want a number from 0 to 1 for each image") from None
        there = len(held)
    else:
        held = _levels_on(levels, device, source)
        held = held.repeat(count) if held.shape[0] == 1 else held
        there = held.shape[0]
    for_each("levels", there, count)
    return held, address(held) if device is None else pointer_of(held)


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


def _levels_on(levels: Any, device: int, source: Any) -> Any:
    """Dense in memory of a CUDA device, by work on the current stream of the images' library."""
    there = device_of(levels) is not None
    if source is not None and KINDS[type(source.array)] is Foreign:
        library = source.array.library
        with device_for(source.array.array):
            return library.array(library.from_dlpack(levels) if there else numbers_of(levels), "float32").reshape(-1)
    torch = sys.modules["torch"]  # in whose memory the images are
    if KINDS[type(levels)] is not Torch:
        levels = torch.from_dlpack(levels) if there else torch.tensor(numbers_of(levels), dtype=torch.float32)
    return levels.detach().to(f"cuda:{device}", torch.float32).flatten().contiguous()
