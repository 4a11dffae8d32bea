# SPDX-License-Identifier: Apache-2.0
"""Which samples are drawn for: what sets this process apart from others that draw by the same seed, which epoch draws
by sample id are of, a warning when samples come again in one, and the block that tells the drop-in transforms.

torch tells a data set nothing of its loader's passes. So DataLoader.__iter__ is wrapped, when the first object is made
that needs to know (doc/architecture.md says what nothing else could): each loader numbers its own passes, and whatever
draws while it reads, in this process or in a worker, takes that number (`current()`). A worker has it from its parent:
forked, it inherits it; spawned, it is pickled with any object of Motley's that the worker gets (Lineage). It does not
matter where in a data set something draws."""

from __future__ import annotations

import contextvars
import functools
import itertools
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

from . import _native
from ._core import ffi, lib
from ._native import ArgumentError, epoch_given, is_bool, name_of_child, process_name, spawning, view_given

if TYPE_CHECKING:
    from ._types import Ids

# Launchers' names for a process's rank and for how many ranks there are: torchrun (also Accelerate, DeepSpeed, Ray
# Train), Open MPI, PMIx, MPICH and Intel MPI, MVAPICH, Slurm, Flux.
LAUNCHERS = {
    "RANK": "WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK": "OMPI_COMM_WORLD_SIZE",
    "PMIX_RANK": "PMIX_SIZE",
    "PMI_RANK": "PMI_SIZE",
    "MV2_COMM_WORLD_RANK": "MV2_COMM_WORLD_SIZE",
    "SLURM_PROCID": "SLURM_NTASKS",
    "FLUX_TASK_RANK": "FLUX_JOB_SIZE",
}
# Modules that begin passes, and the epoch that the object which does so says.
LOOPS: dict[str, Callable[[Any], Any]] = {
    "lightning.pytorch.loops.fit_loop": lambda loop: loop.epoch_progress.current.processed,
    "pytorch_lightning.loops.fit_loop": lambda loop: loop.epoch_progress.current.processed,
    "accelerate.data_loader": lambda loader: getattr(loader, "iteration", None),
}
AGAIN = "came again in one epoch, as others did, and was augmented the same way"
ADVICE = (
    "around a sampler that repeats its indices put motley.torch.Views; a sampler without end should end once an epoch; "
    "data sets and transforms that read equal ids want a seed or a stream each; a transform that is called twice for a "
    "sample wants view=, or motley.torch.Augmented(views=2)"
)

NO_EPOCH = (
    "give motley.samples its epoch; where a sample is meant to be read several times in an epoch, its view; and "
    "transforms that read equal ids want a seed each"
)
COPIES = (
    "copies of a transform, such as a process pool makes for each task, draw the same: give the calls sample_ids, or a "
    "drop-in its motley.samples"
)
OUTSIDE = (
    "a thread draws that does not see another's motley.samples: let contextvars.copy_context().run call what it does"
)
LEFT_OPEN = (
    "a generator waits at a yield inside motley.samples, so that whoever reads it draws for its sample: end the block "
    "before the yield"
)

GENERATOR = 0x20  # inspect.CO_GENERATOR, whose import takes long

# ---- processes ----

_parents_rank: int | None = None  # of the process that spawned this one, when it had one
_parents_loading: Loading | None = None  # of a worker: the Loading that its parent started it for
_keys: dict[Any, int] = {}  # a rank that was given, or None -> process_key; "rank" -> rank_key
_by_copies: set[tuple[object, ...]] = set()  # what copies of transforms drew first without ids
_settled = False  # whether _keys[None] is of the process group's rank


def mixed(text: str) -> int:
    """64 bits out of a text: FNV-1a, then scattered."""
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return scattered(h)


def scattered(h: int) -> int:
    """64 bits that look random: another number for each; 0 for 0."""
    h = (h ^ h >> 31) * 0x7FB5D329728EA185 & 0xFFFFFFFFFFFFFFFF
    return h ^ h >> 27


@functools.lru_cache(maxsize=None)
def stream_key(stream: int) -> int:
    """A number that is mixed into a seed, another for each stream; 0 for stream 0."""
    return scattered(stream * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)


def _group_is_there() -> bool:
    """Whether torch.distributed has a process group. Asked in every call without ids, so it replaces itself."""
    global _group_is_there
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available():
        return False
    _group_is_there = distributed.is_initialized
    return _group_is_there()


def _number(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else None


def rank_of_run() -> int:
    """This process's rank: torch.distributed's, else that of the process that spawned this one, else the launcher's;
    0 where nothing says. It is looked up when something is drawn, as process groups begin later than transforms do."""
    if _group_is_there():
        return int(sys.modules["torch.distributed"].get_rank())
    if _parents_rank is not None:
        return _parents_rank
    for rank in map(_number, LAUNCHERS):
        if rank is not None:
            return rank
    node = _number("NODE_RANK") or _number("GROUP_RANK") or 0  # Lightning's own launcher says no more
    return node << 16 | (_number("LOCAL_RANK") or 0)


def world_of_run() -> int:
    """The number of ranks; 1 if nothing says how many."""
    if _group_is_there():
        return int(sys.modules["torch.distributed"].get_world_size())
    return max(rank_of_run() + 1, *(_number(name) or 1 for name in LAUNCHERS.values()))


def process_key(rank: int | None) -> int:
    """A number that is mixed into the seed of samples without ids; 0 in a single process. rank: None to look it up."""
    key = _keys.get(rank)
    if key is not None and (rank is not None or _settled or not _group_is_there()):
        return key
    return _find_key(rank)


def _find_key(rank: int | None) -> int:
    global _settled
    if rank is None:
        _settled = _group_is_there()
    child, ranked = name_of_child(), rank is not None or _settled or _parents_rank is not None
    ranked = ranked or any(_number(name) is not None for name in LAUNCHERS)
    name = process_name() or ("" if ranked else ray_worker())
    number = rank_of_run() if rank is None else rank
    key = _keys[rank] = mixed(f"{name} {number}") if name or number else 0
    if rank is None:
        child = "" if name != child else child  # a DataLoader seeds the generators of its workers
        _keys["rank"] = mixed(f"{child} {number}") if child or number else 0
    return key


def ray_worker() -> str:
    """The id of this process if it is one of Ray's, which runs an actor or tasks; else empty."""
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return ""
    context = ray.get_runtime_context()
    return str(context.get_worker_id()) if context.get_actor_id() or context.get_task_id() else ""


def rank_key() -> int:
    """A number that sets apart ranks and children of multiprocessing, whose generators may be alike; 0 in rank 0."""
    process_key(None)  # which looks the rank up
    return _keys["rank"]


class Lineage:
    """Passes its parent's rank, and the loader that it is to read for, to a spawned process: it is pickled with the
    process's arguments. What draws for samples has one."""

    def __init__(self, copied: bool = False) -> None:
        self.copied = copied  # or unpickled, and nothing was drawn without ids since
        watch_loaders()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_inherited, (rank_of_run(), current())) if spawning() else (Lineage, (True,))

    def note(self, *drawn: object) -> None:
        """What a copy draws first without ids. Those that a pool unpickles for each task count from one number."""
        self.copied = False
        if drawn in _by_copies:
            warn_once(COPIES, RepeatedSamples)
        _by_copies.add(drawn)


class _WorkerInit:
    """A loader's worker_init_fn, which a Lineage goes along with: a worker that is spawned with a data set that has
    none, since its transforms are in a module, knows the pass as well."""

    def __init__(self, begin: Callable[[int], Any] | None) -> None:
        self.lineage, self.begin = Lineage(), begin

    def __call__(self, worker: int) -> None:
        if self.begin is not None:
            self.begin(worker)


def _inherited(rank: int, loading: Loading | None) -> Lineage:
    global _parents_rank
    _parents_rank = rank
    _in_child(loading)
    return Lineage()


def _in_child(loading: Loading | None = None) -> None:
    global _parents_loading
    _keys.clear()
    unasked[0] = True
    _parents_loading = loading or current()
    _blocks.clear()
    _reading.set(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


# ---- epochs ----

_clock = itertools.count(1)  # of this process: when passes began, and when somebody set an epoch
_reading: contextvars.ContextVar[Loading | None] = contextvars.ContextVar("motley.reading", default=None)


def current() -> Loading | None:
    """The Loading whose pass is being read here, or None."""
    return _reading.get() or _parents_loading


unasked = [True]  # whether ask_for_pass() has yet to look in this process, once for each pass that is read here
_read_here: set[int] = set()  # by id(), the iterators of loaders without workers that read a batch now


def ask_for_pass() -> None:
    """Called where a draw by id has no epoch and no pass is known. Warns, once, if there must be one: in a worker whose
    loader does not number its passes, because the main process made no transform after it had imported torch; and in a
    thread that runs beside the one that reads the loader."""
    unasked[0] = False
    data, why = sys.modules.get("torch.utils.data"), None
    if data is not None and data.get_worker_info() is not None:
        why = (
            "this worker's loader does not number its passes, so that each draws the same: call set_epoch(), or give "
            "the call its epoch; or import torch and make a transform of Motley in the main process before the loader "
            "is read"
        )
    elif _read_here:
        why = (
            "another thread reads a DataLoader, whose pass this one does not know, so that each pass draws the same: "
            "give the call its epoch, or let the thread run it by contextvars.copy_context().run"
        )
    if why is not None:
        warnings.warn(why, RepeatedSamples, stacklevel=caller())


def epoch_now(own: int = 0) -> int:
    """The number of the pass that is being read here; `own` where none is."""
    loading = current()
    if loading is None:
        return own
    loading.drawn = 1
    epoch: int = loading.epoch
    return epoch


class _Shared:
    """Whole numbers that a process shares with the workers that it starts."""

    _numbers: list[int]

    def __init__(self, count: int) -> None:
        from multiprocessing import RawArray  # slow to import

        self._numbers = cast("list[int]", RawArray("q", count))

    def __reduce__(self) -> tuple[Any, ...]:
        if spawning():  # a worker, which is to see them change
            return _shared, (type(self), self._numbers)
        return type(self), self._alone()

    def _alone(self) -> tuple[int, ...]:
        return ()


def _number_at(i: int) -> Any:
    """A property of what is shared: its number i."""
    return property(lambda self: self._numbers[i], lambda self, number: self._numbers.__setitem__(i, number))


def _shared(cls: type[_Shared], numbers: Any) -> _Shared:
    again = cls.__new__(cls)
    again._numbers = numbers
    return again


class Epoch(_Shared):
    """What set_epoch() said, for this process and the workers that it starts: of whatever draws in loaders' passes."""

    def __init__(self, epoch: int = 0) -> None:
        super().__init__(3)  # what was said, when, and which pass was the first since; 0, 0, 0: nothing
        watch_loaders()
        if epoch:
            self.set_epoch(epoch)

    def __int__(self) -> int:
        """The epoch of what is drawn now: the loader's, counted from what set_epoch() said."""
        said, when, first = self._numbers
        loading = current()
        if loading is None and not when and unasked[0]:
            ask_for_pass()
        if loading is None or when > loading.began:
            return said
        loading.drawn = 1
        now: int = loading.epoch
        if when < loading.set:
            return now
        if first < 0:
            first = self._numbers[2] = now
        return max(said + now - first, 0)

    __index__ = __int__

    def __bool__(self) -> bool:
        """Whether anything was said."""
        return self._numbers[1] > 0

    def set_epoch(self, epoch: int) -> None:
        """The epoch of the next pass."""
        self._numbers[:] = [epoch_given(epoch), next(_clock), -1]

    def _alone(self) -> tuple[int, ...]:
        return (self._numbers[0],)

    def __repr__(self) -> str:
        return str(int(self))


class Passes:
    """What a loader reads: `epochs`, an Epoch or a transform, keeps what set_epoch() says."""

    epochs: Any

    def set_epoch(self, epoch: int) -> None:
        """The epoch of the next pass; workers see it at once."""
        self.epochs.set_epoch(epoch)


class Count:
    """Numbers the passes of a loader: by its sampler's own epoch where that advances, else one after the other. A pass
    counts once its second batch is asked for, and if anything drew by id in it: a peek is no epoch, nor is eval()."""

    epoch, asked = 0, 0
    own: int | None = None  # the sampler's epoch in the last pass
    given: int | None = None  # what somebody has set for the next

    def next_epoch(self, own: int | None, drawn: object) -> int:
        if self.given is not None:
            return self.given
        if own is not None and own != self.own:
            return own
        return self.epoch + bool(self.asked > 1 and drawn)

    def begin(self, own: int | None, drawn: object) -> int:
        self.epoch = self.next_epoch(own, drawn)
        self.own, self.given, self.asked = own, None, 0
        return self.epoch


def own_epoch(loader: object) -> int | None:
    """The epoch of a loader's sampler, such as a DistributedSampler; None where it has none."""
    waiting = [getattr(loader, "sampler", None), getattr(loader, "batch_sampler", None)]
    for one in waiting:
        epoch = getattr(one, "epoch", None)
        if hasattr(one, "set_epoch") and type(epoch) is int and epoch >= 0:
            return epoch
        own = getattr(one, "__dict__", {}) if len(waiting) < 9 else {}  # of a BatchSampler, of Accelerate's
        waiting += [own[name] for name in ("sampler", "batch_sampler") if name in own]
    return None


def loops_epoch() -> tuple[Any, str | None]:
    """The epoch of the Lightning loop or Accelerate loader that begins this pass, and the module's name; None, None
    elsewhere. Lightning starts the first pass of a resumed run before it tells the sampler, and of what has no such
    sampler it tells nobody. Accelerate reads a batch ahead, so that a peek looks like a pass, but does not count it."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if name in LOOPS and "self" in frame.f_locals:
            return LOOPS[name](frame.f_locals["self"]), name
        frame = frame.f_back
    return None, None


class Loading(_Shared, Count):
    """The passes of one loader: numbers that its workers share, and the samples that were drawn in a pass."""

    epoch, began, set, drawn, told = map(_number_at, range(5))
    _last: Any = None  # a weak reference to the iterator of the last pass

    def __init__(self) -> None:
        super().__init__(5 + ffi.sizeof("repeats") // 8 + 1)

    @property
    def _repeats(self) -> Any:
        return ffi.cast("repeats *", ffi.cast("char *", ffi.from_buffer(self._numbers)) + 40)

    @property
    def seen(self) -> Any:
        """Where the samples of this pass are noted; NULL after the warning that they repeat."""
        return ffi.NULL if self.told else self._repeats

    def tell(self) -> None:
        """Samples repeat: warns here, or lets the parent process warn."""
        if not self.told:
            self.told = 1
            if _reading.get() is self:
                self.warn()

    def warn(self) -> None:
        self.told = 2
        warnings.warn(f"sample {self._repeats.repeated} {AGAIN}: {ADVICE}", RepeatedSamples, stacklevel=caller())

    def forget(self) -> None:
        """No sample of this pass was drawn yet."""
        ffi.memmove(self._repeats, bytes(ffi.sizeof("repeats")), ffi.sizeof("repeats"))

    def set_epoch(self, epoch: int) -> None:
        self.given, self.set = epoch, next(_clock)

    def read(self, loader: Any, begin: Callable[[Any], Any]) -> Any:
        """The iterator of a pass that begins, whose every batch is read in this Loading."""
        epoch, loop = loops_epoch()
        if loop == "accelerate.data_loader":
            self.own = None  # which its epoch is, even where it is the last pass's
        epoch, last = own_epoch(loader) if epoch is None else epoch, self._last and self._last()
        again = last is getattr(loader, "_iterator", None)  # whose persistent workers know these numbers
        if last is not None and not again and self.next_epoch(epoch, self.drawn) != self.epoch:
            last.of_motley, numbers = _shared(Loading, self._numbers), self._numbers[:5]  # it may be read on
            super().__init__(len(self._numbers))
            self._numbers[:5] = numbers
        self.begin(epoch, self.drawn)
        self.began, self.drawn = next(_clock), 0
        self.forget()
        own, loader.worker_init_fn = loader.worker_init_fn, _WorkerInit(loader.worker_init_fn)
        token = _reading.set(self)  # what is forked here inherits it
        try:
            iterator = begin(loader)
        finally:
            _reading.reset(token)
            loader.worker_init_fn = own
        if loader.num_workers:
            self.forget()  # what persistent workers had still to read of a pass that was broken off
        if not hasattr(iterator, "_next_data"):
            return iterator
        batch, itself = type(iterator)._next_data, weakref.ref(iterator)  # a cycle would keep its workers alive
        here = not loader.num_workers
        unasked[0] = unasked[0] or here

        def _next_data() -> Any:
            iterator: Any = itself()
            loading = iterator.of_motley
            loading.asked += 1
            if here:
                _read_here.add(id(iterator))
            token = _reading.set(loading)
            try:
                return batch(iterator)
            finally:
                _reading.reset(token)
                _read_here.discard(id(iterator))
                if loading.told == 1:
                    loading.warn()

        iterator._next_data, iterator.of_motley, self._last = _next_data, self, itself
        return iterator


_loadings: dict[int, Any] = {}  # a data set by id(): its weak reference, and (a loader's, its Loading) each


def loading_of(loader: Any) -> Loading:
    """A DataLoader's Loading. Scripts that create a loader in each epoch keep counting: a new loader continues the
    Loading of a destroyed one that read the same data set."""
    layers = [loader, loader.dataset]
    for _ in range(16):  # a Subset may be made anew, too
        layers.append(getattr(layers[-1], "dataset", layers[-1]))
    for data in reversed(layers):
        known: Any = _loadings.get(id(data))  # by identity: tensors compare element by element, and lists have no hash
        if known is not None and known[0]() is data:
            break
        try:
            known = weakref.ref(data, functools.partial(_loadings.pop, id(data))), []
        except TypeError:  # a list, or whatever else has no weak references
            continue
        _loadings[id(data)] = known
        break
    readers: list[tuple[Any, Loading]] = known[1]
    for reader, loading in readers:
        if reader() is loader:
            return loading
    left = next((pair for pair in readers if pair[0]() is None), None)
    if left:
        readers.remove(left)
    loading = left[1] if left else Loading()
    readers.append((weakref.ref(loader), loading))
    return loading


def watch_loaders() -> None:
    """Makes torch's DataLoader number its passes, from now on."""
    data = sys.modules.get("torch.utils.data")
    if data is None or hasattr(data.DataLoader.__iter__, "of_motley"):
        return
    begin = data.DataLoader.__iter__

    @functools.wraps(begin)
    def __iter__(self: Any) -> Any:
        return loading_of(self).read(self, begin)

    __iter__.of_motley = True  # type: ignore[attr-defined]
    data.DataLoader.__iter__ = __iter__


# ---- samples that come again ----


def caller() -> int:
    """The stacklevel of a warning, from the function that warns: the line that called Motley, perhaps through torch."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("motley", "torch"):
        frame, level = frame.f_back, level + 1
    return level


@functools.cache
def warn_once(why: str, kind: type[Warning]) -> None:
    warnings.warn(why, kind, stacklevel=caller())


class RepeatedSamples(UserWarning):
    """Samples recur within one epoch and get the same augmentation again."""

    __module__ = "motley"


class Repeats:
    """Warns once when a transform repeats the draws of samples within an epoch. Its memory is bounded and belongs to
    this process. What draws while a loader reads is noted in its Loading instead."""

    __slots__ = "seen", "advice"

    def __init__(self, advice: str) -> None:
        self.seen, self.advice = ffi.new("repeats *"), advice  # NULL once it has warned

    def warn(self) -> None:
        loading = current()
        if loading is not None:
            return loading.tell()
        seen, self.seen = self.seen, ffi.NULL
        if seen:  # else another thread has warned
            warnings.warn(f"sample {seen.repeated} {AGAIN}: {self.advice}", RepeatedSamples, stacklevel=caller())

    def forget(self) -> None:
        """From here on, samples belong to another epoch."""
        if self.seen:
            ffi.memmove(self.seen, bytes(ffi.sizeof("repeats")), ffi.sizeof("repeats"))

    def __reduce__(self) -> tuple[Any, ...]:
        return Repeats, (self.advice,)


# ---- the drop-in transforms ----

_block: contextvars.ContextVar[samples | None] = contextvars.ContextVar("motley.samples", default=None)
_blocks: list[int] = []  # the thread of each block that is entered


def _block_here() -> samples | None:
    """The block around a call. Warns where another thread is in one and this thread in none, and where it is that of a
    generator which waits."""
    block = _block.get()
    if block is None and _blocks and threading.get_ident() not in _blocks:
        warn_once(OUTSIDE, UserWarning)
    if block is not None and block._generator is not None and block._generator.f_back is None:
        warn_once(LEFT_OPEN, UserWarning)
    return block


def torch_seed() -> int:
    """The number that torch.randint(1 << 62, ()) draws."""
    local = _native.local
    if local.drawn is None:
        torch = sys.modules["torch"]
        with torch.inference_mode(False):  # else it could not be written to outside of inference mode
            local.drawn = torch.empty((), dtype=torch.int64, device="cpu")
    number: int = local.drawn.random_(0, 1 << 62).item()
    return number


class samples:
    """In its body, the transforms of motley.torchvision and motley.timm draw for these samples:

        with motley.samples(index, epoch=3):
            image = transform(image)             # the same for (seed, epoch, index) in any worker, rank or resumed run

    Also after motley.torchvision.take_over(). Each thread and task has its own block; blocks nest. A generator must not
    yield inside: whoever reads it would be in its block, which warns.

    Args:
        ids: The whole number of the sample in its data set; or, for a batch, one for each image along its first axis.
        epoch: Samples get new draws in each epoch. None: that of the DataLoader's pass that is being read, elsewhere 0,
            with a warning when samples come again.
        view: And in each view of an epoch, for samples that are read several times.
    """

    def __init__(self, ids: Ids, *, epoch: int | None = None, view: int = 0) -> None:
        self.ids: Any = ids.__index__() if getattr(ids, "ndim", 0) == 0 and hasattr(ids, "__index__") else ids
        numbers = hasattr(ids, "__len__") and not isinstance(ids, (str, bytes))
        if is_bool(ids) or not (numbers or isinstance(self.ids, int)):
            raise ArgumentError(f"ids is {ids!r}, want a whole number, or one for each image")
        if epoch is None and unasked[0] and current() is None:
            ask_for_pass()
        self.epoch, self.view = epoch_now() if epoch is None else epoch_given(epoch), view_given(view)
        self._told = epoch is not None
        self._outer: list[samples | None] = []  # the block in which each entered one stands
        self._before: samples | None = None  # the last of these
        self._generator: FrameType | None = None  # that entered it; its frame has no caller while it waits

    def __enter__(self) -> samples:
        frame = sys._getframe(1)
        if frame.f_code.co_flags & GENERATOR:
            by = frame.f_back.f_globals.get("__name__", "") if frame.f_back else ""
            # contextlib's and pytest's generators yield inside on purpose.
            self._generator = None if by.split(".")[0] in ("contextlib", "_pytest") else frame
        self._outer.append(_block.get())
        _block.set(self)
        _blocks.append(threading.get_ident())
        return self

    def __exit__(self, *_: object) -> None:
        self._generator, outer = None, self._outer.pop()
        while outer is not None and not outer._outer:  # a generator's, which was left in another order
            outer = outer._before
        self._before = outer
        if _block.get() is self:
            _block.set(outer)
        if threading.get_ident() in _blocks:  # else the process was forked inside
            _blocks.remove(threading.get_ident())


def draws_by_id(transform: object) -> bool:
    """Whether a transform's next call draws by a sample id: in a block, or by its own seed and number of calls."""
    return _block_here() is not None or vars(transform).get("_seed") is not None


def samples_of(transform: object, fresh_seed: Callable[[], int]) -> tuple[Any, int, int, int]:
    """(ids, view, epoch, seed) of a transform's next call: as the block around it says; or by the transform's own seed
    and number of calls; or by a seed that `fresh_seed` draws, different in each rank."""
    block, own = _block_here(), vars(transform).get("_seed")
    if block is not None:
        _note(type(transform).__name__, own or 0, block)
        return block.ids, block.view, block.epoch, own or 0
    if own is None:
        return 0, 0, epoch_now(), fresh_seed() ^ rank_key()
    with _native.counting:
        count = vars(transform).get("_calls", 0)
        vars(transform)["_calls"] = count + 1
    lineage, seed = vars(transform).get("_lineage"), own ^ process_key(None)
    if lineage is not None and lineage.copied:
        lineage.note(type(transform).__name__, seed, count)
    return count, 0, epoch_now(), seed


_no_epoch = Repeats(NO_EPOCH)  # what was drawn in blocks without an epoch, outside of loaders


def _note(name: str, seed: int, block: samples) -> None:
    """Notes what draws for the one sample of a block. name: what draws alike."""
    where = current() or (None if block._told else _no_epoch)
    ids, view = block.ids, block.view
    if where is not None and where.seen and hasattr(ids, "__index__") and hasattr(view, "__index__"):
        numbers = ffi.new("motley_samples *", lib.samples_of(seed, block.epoch, ids, 0, view))
        if lib.repeats_note(where.seen, numbers, 1, name.encode()):
            _no_epoch.warn()  # if a loader reads, the loader warns in its place
