# SPDX-License-Identifier: Apache-2.0
"""What transforms and mixing have of a stage: seed, epoch, rank and the counting of samples."""

from __future__ import annotations

from .stage import NO_AUGMENTATION, Stage


class Sampled(Stage):
    """A stage that runs something else than a policy."""

    def __init__(self, **settings):
        super().__init__(NO_AUGMENTATION, **settings)
        self.policy = None

    def _what(self):
        return tuple(str(getattr(self, name)) for name in self._made_of)
