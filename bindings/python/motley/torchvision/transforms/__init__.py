# SPDX-License-Identifier: Apache-2.0
"""torchvision.transforms, with Motley's classes in it."""
from torchvision import transforms as _theirs

from motley.torchvision import (
    AugMix as AugMix,
    AutoAugment as AutoAugment,
    ColorJitter as ColorJitter,
    GaussianBlur as GaussianBlur,
    RandAugment as RandAugment,
    RandomErasing as RandomErasing,
    RandomGrayscale as RandomGrayscale,
    RandomHorizontalFlip as RandomHorizontalFlip,
    RandomResizedCrop as RandomResizedCrop,
    Resize as Resize,
    TrivialAugmentWide as TrivialAugmentWide,
)
from motley.torchvision.theirs import stands_for

__getattr__, __dir__, __all__ = stands_for(__name__, _theirs)
