# SPDX-License-Identifier: Apache-2.0
"""torchvision.transforms.autoaugment, with Motley's RandAugment, TrivialAugmentWide, AutoAugment and AugMix in it."""

from torchvision.transforms import autoaugment as _theirs

from motley.torchvision import (
    AugMix as AugMix,
    AutoAugment as AutoAugment,
    RandAugment as RandAugment,
    TrivialAugmentWide as TrivialAugmentWide,
)
from motley.torchvision.transforms import stands_for

__getattr__, __dir__, __all__ = stands_for(__name__, _theirs)
