# SPDX-License-Identifier: Apache-2.0
"""What transforms and mixing have of a stage: seed, epoch, rank and the counting of samples."""

from __future__ import annotations

from ._core import lib
from .stage import NO_AUGMENTATION, Stage


class Sampled(Stage):
    """A stage that runs something else than a policy."""

    def __init__(self, **settings):
        super().__init__(NO_AUGMENTATION, **settings)
        self.policy = None

    def _what(self):
        return tuple(str(getattr(self, name)) for name in self._made_of)

    def _note(self, samples, count):
        """Warns when the samples of an epoch come again."""
        if samples.seen and lib.repeats_note(samples.seen, samples.c, count):
            self._repeats.warn(stacklevel=5)
