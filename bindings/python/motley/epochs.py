# SPDX-License-Identifier: Apache-2.0
"""The epoch of draws: numbers whose changes a loader's workers see, loaders whose passes advance them, and a warning
when an epoch does not advance.

No loader notifies its data set that a pass begins. So when the first object that needs to know is made, __iter__ of
torch's DataLoader (or of FFCV's Loader, with its adapter) is wrapped. The wrapper finds such objects in its data set
and collate_fn and notifies them. This works with every sampler and with persistent workers, however they were
started."""

import functools
import sys
import types
import warnings
import weakref
from typing import Any

from ._core import ffi
from .checks import epoch_given
from .contexts import spawning


def _shared(numbers):
    again = Epoch.__new__(Epoch)
    again._numbers = numbers
    return again


class Epoch:
    """The epoch of what a loader reads: one number for this process and for the workers that it starts."""

    def __init__(self, epoch=0):
        from multiprocessing import RawArray  # slow to import

        self._numbers = RawArray("q", [epoch_given(epoch), 0])  # and whether a pass has begun in it

    def __int__(self):
        return self._numbers[0]

    __index__ = __int__

    def set_epoch(self, epoch):
        """The epoch of the next pass."""
        self._numbers[:] = [epoch_given(epoch), 0]

    def begin_pass(self):
        """A loader begins: the next epoch, unless set_epoch() has just set one."""
        self._numbers[:] = [self._numbers[0] + self._numbers[1], 1]

    def __reduce__(self):
        if spawning():  # a worker, which is to see it change
            return _shared, (self._numbers,)
        return Epoch, (self._numbers[0],)

    def __repr__(self):
        return str(int(self))


class Passes:
    """What a loader reads: each of the loader's passes is the next epoch of `epochs`, an Epoch or a stage."""

    epochs: Any

    def set_epoch(self, epoch: int) -> None:
        """The epoch of the next pass; workers see it at once."""
        self.epochs.set_epoch(epoch)

    def begin_pass(self) -> None:
        """Begins a pass: the next epoch, unless set_epoch() has just set one. Loaders call this."""
        self.epochs.begin_pass()


# ---- loaders ----


def watch_loaders():
    """Makes passes of torch's DataLoader advance the epochs of what they read, from now on."""
    data = sys.modules.get("torch.utils.data")
    if data is not None:
        watch(data.DataLoader, "dataset", "collate_fn")


def watch(loader_class, *parts):
    """Wraps loader_class.__iter__, once. parts: attributes in which to look for Passes."""
    begin = loader_class.__iter__
    if hasattr(begin, "of_motley"):
        return

    @functools.wraps(begin)
    def __iter__(self):
        found = passes_in([getattr(self, part, None) for part in parts])
        for one in found:
            one.begin_pass()
        tell_twins(found)
        return begin(self)

    __iter__.of_motley = True
    loader_class.__iter__ = __iter__


def tell_twins(found):
    """Warns of data sets of one loader whose samples of equal index draw alike."""
    drawn = [one.draws_as() for one in found if hasattr(one, "draws_as")]
    if len(set(drawn)) < len(drawn):
        warnings.warn(
            "two data sets of this loader are augmented by one policy with one seed, so that samples of equal index "
            "draw alike: give each its own seed, or augment what concatenates them",
            stacklevel=3,
        )


MOST_SEEN = 10_000  # objects that are looked into, so that a data set's own lists cost nothing
PLAIN = str, bytes, bytearray, int, float, complex, type, types.ModuleType


def passes_in(roots):
    """The Passes among these objects and what they hold."""
    seen, waiting, found = set(), list(roots), []
    while waiting and len(seen) < MOST_SEEN:
        one = waiting.pop()
        if id(one) in seen or type(one) in weakref.ProxyTypes or isinstance(one, PLAIN):
            continue  # what a weak reference stands for may be gone, and has an owner
        seen.add(id(one))
        if isinstance(one, Passes):
            found.append(one)
        if isinstance(one, (list, tuple, set)):
            waiting += list(one)[:256]
        elif isinstance(one, dict):
            waiting += list(one.values())[:256]
        elif isinstance(one, functools.partial):
            waiting += [one.func, one.args, one.keywords]
        elif isinstance(one, types.MethodType):
            waiting.append(one.__self__)
        elif isinstance(one, types.FunctionType):
            for cell in one.__closure__ or ():
                try:
                    waiting.append(cell.cell_contents)
                except ValueError:  # not yet filled
                    pass
        else:
            waiting.append(getattr(one, "__dict__", None))
    return found


# ---- samples that come again ----


class RepeatedSamples(UserWarning):
    """Samples recur within one epoch and get the same augmentation again."""


class Repeats:
    """Warns once when a stage repeats the draws of samples within an epoch. Its memory is bounded and belongs to this
    process."""

    __slots__ = "seen", "advice"

    def __init__(self, advice):
        self.seen, self.advice = ffi.new("repeats *"), advice  # NULL once it has warned

    def warn(self, stacklevel=4):
        seen, self.seen = self.seen, ffi.NULL
        if not seen:  # another thread has warned
            return
        warnings.warn(
            f"sample {seen.repeated} came again in one epoch, as others did, and was augmented the same way: "
            f"{self.advice}",
            RepeatedSamples,
            stacklevel=stacklevel,
        )

    def forget(self):
        """From here on, samples belong to another epoch."""
        if self.seen:
            ffi.memmove(self.seen, bytes(ffi.sizeof("repeats")), ffi.sizeof("repeats"))

    def __reduce__(self):
        return Repeats, (self.advice,)
