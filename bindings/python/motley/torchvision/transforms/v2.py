# SPDX-License-Identifier: Apache-2.0
"""torchvision.transforms.v2, with Motley's RandAugment, TrivialAugmentWide and AutoAugment in it."""
from torchvision.transforms import v2 as _theirs

from motley.torchvision import _forward_v2

__all__ = [name for name in dir(_theirs) if not name.startswith("_")]


class RandAugment(_theirs.RandAugment):
    forward = _forward_v2


class TrivialAugmentWide(_theirs.TrivialAugmentWide):
    forward = _forward_v2


class AutoAugment(_theirs.AutoAugment):
    forward = _forward_v2


def __getattr__(name):
    return getattr(_theirs, name)


def __dir__():
    return __all__
