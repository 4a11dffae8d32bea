# SPDX-License-Identifier: Apache-2.0
"""What transforms and mixing have of a stage: seed, epoch, rank and the counting of samples."""

from __future__ import annotations

from . import images
from ._core import ffi, lib
from .stage import NO_AUGMENTATION, Stage


class Sampled(Stage):
    """A stage that runs something else than a policy."""

    def __init__(self, **settings):
        super().__init__(NO_AUGMENTATION, **settings)
        self.policy = None

    def _what(self):
        """What is drawn from, as something to compare."""
        return tuple(str(getattr(self, name)) for name in self._made_of)

    def __eq__(self, other: object) -> bool:
        """Whether both draw and write alike from here on."""
        if not isinstance(other, Sampled) or type(other) is not type(self):
            return NotImplemented
        state = self._what(), self.state_dict(), self.rank, self.layout, self._flavour
        return state == (other._what(), other.state_dict(), other.rank, other.layout, other._flavour)

    def __hash__(self) -> int:
        return hash((type(self), self._what(), self.layout, self._flavour))

    def _note(self, seen, samples, count, ids, views):
        """Warns when the samples of an epoch come again."""
        one = ffi.new("uint64_t *", samples.first)
        if seen and lib.note_samples(seen, samples.seed, samples.epoch, count, ids or images.address(one), views):
            self._repeats.warn(stacklevel=5)
