# SPDX-License-Identifier: Apache-2.0
"""Which epoch draws by sample id are of, and a warning when samples come again in one.

torch tells a data set nothing of its loader's passes. So DataLoader.__iter__ is wrapped, when the first object is made
that needs to know: each loader numbers its own passes, and whatever draws while the loader reads, in this process or in
a worker, takes that number (`current()`). A worker has it from its parent: forked, it inherits it; spawned, it is
pickled with any object of Motley's that the worker gets (processes.Lineage). Nothing is looked for in a data set, so it
does not matter where in it something draws."""

import contextvars
import functools
import itertools
import os
import sys
import warnings
import weakref
from typing import Any

from ._core import ffi, lib
from ._native import epoch_given, spawning

LOOPS = {  # modules that begin passes, and the epoch that the object which does so says
    "lightning.pytorch.loops.fit_loop": lambda loop: loop.epoch_progress.current.processed,
    "pytorch_lightning.loops.fit_loop": lambda loop: loop.epoch_progress.current.processed,
    "accelerate.data_loader": lambda loader: getattr(loader, "iteration", None),
}
_clock = itertools.count(1)  # of this process: when passes began, and when somebody set an epoch
_reading = contextvars.ContextVar("motley.reading", default=None)
_parents = None  # of a worker: the Loading that its parent started it for


def current():
    """The Loading whose pass is being read here, or None."""
    return _reading.get() or _parents


def _shared(cls, numbers):
    again = cls.__new__(cls)
    again._numbers = numbers
    return again


class Epoch:
    """What set_epoch() said, for this process and the workers that it starts: of whatever draws in loaders' passes."""

    def __init__(self, epoch=0):
        from multiprocessing import RawArray  # slow to import

        self._numbers = RawArray("q", 3)  # what was said, when, and which pass was the first since; 0, 0, 0: nothing
        if epoch:
            self.set_epoch(epoch)

    def __int__(self):
        """The epoch of what is drawn now: the loader's, counted from what set_epoch() said."""
        said, when, first = self._numbers
        loading = current()
        if loading is None or when > loading.began:
            return said
        loading.drawn = True
        if when < loading.set:
            return loading.epoch
        if first < 0:
            first = self._numbers[2] = loading.epoch
        return max(said + loading.epoch - first, 0)

    __index__ = __int__

    def set_epoch(self, epoch):
        """The epoch of the next pass."""
        self._numbers[:] = [epoch_given(epoch), next(_clock), -1]

    def __reduce__(self):
        if spawning():  # a worker, which is to see it change
            return _shared, (Epoch, self._numbers)
        return Epoch, (self._numbers[0],)

    def __repr__(self):
        return str(int(self))


class Passes:
    """What a loader reads: `epochs`, an Epoch or a transform, keeps what set_epoch() says."""

    epochs: Any

    def set_epoch(self, epoch: int) -> None:
        """The epoch of the next pass; workers see it at once."""
        self.epochs.set_epoch(epoch)


# ---- loaders ----


class Count:
    """Numbers the passes of a loader: by its sampler's own epoch where that advances, else one after the other. A pass
    counts once its second batch is asked for, and if anything drew by id in it: a peek is no epoch, nor is eval()."""

    epoch, asked = 0, 0
    own = given = None  # the sampler's epoch in the last pass; what somebody has set for the next

    def begin(self, own, drawn):
        if self.given is not None:
            self.epoch = self.given
        elif own is not None and own != self.own:
            self.epoch = own
        elif self.asked > 1 and drawn:
            self.epoch += 1
        self.own, self.given, self.asked = own, None, 0
        return self.epoch


def own_epoch(loader):
    """The epoch of a loader's sampler, such as a DistributedSampler; None where it has none."""
    waiting = [getattr(loader, "sampler", None), getattr(loader, "batch_sampler", None)]
    for one in waiting:
        epoch = getattr(one, "epoch", None)
        if hasattr(one, "set_epoch") and type(epoch) is int and epoch >= 0:
            return epoch
        own = getattr(one, "__dict__", {}) if len(waiting) < 9 else {}  # of a BatchSampler, of Accelerate's
        waiting += [own[name] for name in ("sampler", "batch_sampler") if name in own]
    return None


def loops_epoch():
    """The epoch of the Lightning loop or Accelerate loader that begins this pass, and the module's name; None, None
    elsewhere. Lightning starts the first pass of a resumed run before it tells the sampler, and of what has no such
    sampler it tells nobody. Accelerate reads a batch ahead, so that a peek looks like a pass, but does not count it."""
    frame = sys._getframe()
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if name in LOOPS and "self" in frame.f_locals:
            return LOOPS[name](frame.f_locals["self"]), name
        frame = frame.f_back
    return None, None


class Loading:
    """The passes of one loader: numbers that its workers share, and the samples that were drawn in a pass."""

    def __init__(self):
        from multiprocessing import RawArray

        self._numbers = RawArray("q", 5 + ffi.sizeof("repeats") // 8 + 1)
        self.count = Count()

    epoch, began, set, drawn, told = (
        property(lambda self, i=i: self._numbers[i], lambda self, n, i=i: self._numbers.__setitem__(i, n))
        for i in range(5)
    )

    @property
    def _repeats(self):
        return ffi.cast("repeats *", ffi.cast("char *", ffi.from_buffer(self._numbers)) + 40)

    @property
    def seen(self):
        """Where the samples of this pass are noted; NULL after the warning that they repeat."""
        return ffi.NULL if self.told else self._repeats

    def tell(self):
        """Samples repeat: warns here, or lets the parent process warn."""
        if not self.told:
            self.told = 1
            if current() is not _parents:
                self.warn()

    def warn(self):
        self.told = 2
        warnings.warn(f"sample {self._repeats.repeated} {AGAIN}: {ADVICE}", RepeatedSamples, stacklevel=caller())

    def begin(self, loader):
        epoch, loop = loops_epoch()
        if loop == "accelerate.data_loader":
            self.count.own = None  # which its epoch is, even where it is the last pass's
        self.epoch = self.count.begin(own_epoch(loader) if epoch is None else epoch, self.drawn)
        self.began, self.drawn = next(_clock), 0
        self.forget()

    def forget(self):
        """No sample of this pass was drawn yet."""
        ffi.memmove(self._repeats, bytes(ffi.sizeof("repeats")), ffi.sizeof("repeats"))

    def set_epoch(self, epoch):
        self.count.given, self.set = epoch, next(_clock)

    def read(self, iterator):
        """Has the iterator's every batch read in this Loading."""
        batch, itself = type(iterator)._next_data, weakref.ref(iterator)  # a cycle would keep its workers alive

        def _next_data():
            self.count.asked += 1
            token = _reading.set(self)
            try:
                return batch(itself())
            finally:
                _reading.reset(token)
                if self.told == 1:
                    self.warn()

        iterator._next_data = _next_data

    def __reduce__(self):
        return (_shared, (Loading, self._numbers)) if spawning() else (Loading, ())


_loadings: dict[int, Any] = {}  # a data set by id(): its weak reference, and (a loader's, its Loading) each


def _kept_for(data):
    """The list that belongs to this object, by identity: tensors compare element by element, and lists have no hash."""
    key = id(data)
    found = _loadings.get(key)
    if found is None or found[0]() is not data:
        found = _loadings[key] = weakref.ref(data, lambda _: _loadings.pop(key, None)), []
    return found[1]


def loading_of(loader):
    """A DataLoader's Loading. Scripts that create a loader in each epoch keep counting: a new loader continues the
    Loading of a destroyed one that read the same data set."""
    layers = [loader, loader.dataset]
    for _ in range(16):  # a Subset may be made anew, too
        layers.append(getattr(layers[-1], "dataset", layers[-1]))
    for data in reversed(layers):
        try:
            known = _kept_for(data)
            break
        except TypeError:  # a list, or whatever else has no weak references
            pass
    for reader, loading in known:
        if reader() is loader:
            return loading
    loading = next((loading for reader, loading in known if reader() is None), None)
    if loading is None:
        loading = Loading()
    else:
        known[:] = [each for each in known if each[1] is not loading]
    known.append((weakref.ref(loader), loading))
    return loading


def watch_loaders():
    """Makes torch's DataLoader number its passes, from now on."""
    data = sys.modules.get("torch.utils.data")
    if data is None or hasattr(data.DataLoader.__iter__, "of_motley"):
        return
    begin = data.DataLoader.__iter__

    @functools.wraps(begin)
    def __iter__(self):
        loading = loading_of(self)
        loading.begin(self)
        token = _reading.set(loading)  # what is forked here inherits it
        try:
            iterator = begin(self)
        finally:
            _reading.reset(token)
        if hasattr(iterator, "_next_data"):
            loading.read(iterator)
        if self.num_workers:
            loading.forget()  # what persistent workers had still to read of a pass that was broken off
        return iterator

    __iter__.of_motley = True
    data.DataLoader.__iter__ = __iter__


def _in_child():
    inherit(_reading.get())


def inherit(loading):
    """In a worker: the Loading that it reads for."""
    global _parents
    if loading is not None:
        _parents = loading
        _reading.set(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


# ---- samples that come again ----

AGAIN = "came again in one epoch, as others did, and was augmented the same way"
ADVICE = (
    "around a sampler that repeats its indices put motley.torch.Views; a sampler without end should end once an epoch; "
    "data sets and transforms that read equal ids want a seed or a stream each; a transform that is called twice for a "
    "sample wants view=, or motley.torch.Augmented(views=2)"
)


def caller():
    """The stacklevel of a warning, from the function that warns: the line that called Motley, perhaps through torch."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("motley", "torch"):
        frame, level = frame.f_back, level + 1
    return level


class RepeatedSamples(UserWarning):
    """Samples recur within one epoch and get the same augmentation again."""


class Repeats:
    """Warns once when a transform repeats the draws of samples within an epoch. Its memory is bounded and belongs to
    this process. What draws while a loader reads is noted in its Loading instead."""

    __slots__ = "seen", "advice"

    def __init__(self, advice):
        self.seen, self.advice = ffi.new("repeats *"), advice  # NULL once it has warned

    def warn(self):
        loading = current()
        if loading is not None:
            return loading.tell()
        seen, self.seen = self.seen, ffi.NULL
        if seen:  # else another thread has warned
            warnings.warn(f"sample {seen.repeated} {AGAIN}: {self.advice}", RepeatedSamples, stacklevel=caller())

    def forget(self):
        """From here on, samples belong to another epoch."""
        if self.seen:
            ffi.memmove(self.seen, bytes(ffi.sizeof("repeats")), ffi.sizeof("repeats"))

    def __reduce__(self):
        return Repeats, (self.advice,)


def note(name, seed, ids, epoch, view):
    """Notes what draws for one sample under an explicit seed while a loader reads. name: what draws alike."""
    loading = current()
    if loading is not None and loading.seen and hasattr(ids, "__index__") and hasattr(view, "__index__"):
        samples = ffi.new("motley_samples *", lib.samples_of(seed, epoch, ids, 0, view))
        if lib.repeats_note(loading.seen, samples, 1, name.encode()):
            loading.tell()
