# SPDX-License-Identifier: Apache-2.0
"""Which epoch samples are drawn in: numbers that a loader's workers see change, passes of a loader that advance them, and
a warning where they stand still."""

import multiprocessing
import multiprocessing.context
import warnings

from ._core import ffi, lib
from .checks import epoch_given


def _shared(numbers):
    again = Epoch.__new__(Epoch)
    again._numbers = numbers
    return again


class Epoch:
    """The epoch of what a loader reads: one number for this process and for the workers that it starts."""

    def __init__(self, epoch=0):
        self._numbers = multiprocessing.RawArray("q", [epoch_given(epoch), 0])  # and whether a pass has begun in it

    def __int__(self):
        return self._numbers[0]

    __index__ = __int__

    def set(self, epoch):
        """The epoch of the next pass."""
        self._numbers[:] = [epoch_given(epoch), 0]

    def begin_pass(self):
        """A loader begins: the next epoch, unless set() has just said which."""
        self._numbers[:] = [self._numbers[0] + self._numbers[1], 1]

    def __reduce__(self):
        if multiprocessing.context.get_spawning_popen() is not None:  # a worker, which is to see it change
            return _shared, (self._numbers,)
        return Epoch, (self._numbers[0],)

    def __repr__(self):
        return str(int(self))


class RepeatedSamples(UserWarning):
    """Samples come again in one epoch and are augmented the same way again."""


class Repeats:
    """Warns, once, when a stage draws samples of an epoch again, alike. What it remembers is bounded and is this
    process's own."""

    __slots__ = "seen", "advice"

    def __init__(self, advice):
        self.seen, self.advice = ffi.new("repeats *"), advice  # NULL once it has warned

    def note(self, seed, epoch, count, ids, views):
        """Notes samples and warns if need be. ids: an address; views: likewise, or below 65536 the view of all."""
        if lib.note_samples(self.seen, seed & 0xFFFFFFFFFFFFFFFF, epoch, count, ids, views):
            self.warn(stacklevel=7)

    def warn(self, stacklevel=4):
        seen, self.seen = self.seen, ffi.NULL
        if not seen:  # another thread has warned
            return
        warnings.warn(
            f"sample {seen.repeated} came again in one epoch, as others did, and was augmented the same way: {self.advice}",
            RepeatedSamples,
            stacklevel=stacklevel,
        )

    def forget(self):
        """What comes from here on is of another epoch."""
        if self.seen:
            ffi.memmove(self.seen, bytes(ffi.sizeof("repeats")), ffi.sizeof("repeats"))

    def __reduce__(self):
        return Repeats, (self.advice,)
