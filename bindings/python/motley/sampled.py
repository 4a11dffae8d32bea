# SPDX-License-Identifier: Apache-2.0
"""What transforms and mixing have of a stage: seed, epoch, rank and the counting of samples."""

from __future__ import annotations

from . import images
from ._core import ffi, lib
from .checks import epoch_given, whole
from .errors import ArgumentError
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

    def _fill(self, samples, count, which):
        """Fills a motley_samples. Returns where repeated samples are noted, and what has to live as long."""
        (seed, epoch, first, ids, signed, views, _, seen), keep = self._numbers(count, which)
        samples.seed, samples.epoch, samples.first = (
            seed,
            epoch_given(epoch),
            whole("the sample id", first, 0, (1 << 64) - 1, "from 0 to 2^64 - 1"),
        )
        samples.ids = ffi.cast("uint64_t *", ids)
        if signed and any(samples.ids[i] >> 63 for i in range(count)):
            raise ArgumentError("sample_ids has a negative number, want whole numbers from 0 to 2^63 - 1")
        if views < 65536:
            samples.view = views
        else:
            samples.views = ffi.cast("uint32_t *", views)
        return seen, (ids, views, keep)

    def _note(self, seen, samples, count, ids, views):
        """Warns when the samples of an epoch come again."""
        one = ffi.new("uint64_t *", samples.first)
        if seen and lib.note_samples(seen, samples.seed, samples.epoch, count, ids or images.address(one), views):
            self._repeats.warn(stacklevel=5)
