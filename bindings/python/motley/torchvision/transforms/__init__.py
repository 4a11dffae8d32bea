# SPDX-License-Identifier: Apache-2.0
"""torchvision.transforms, with Motley's classes in it."""
from torchvision import transforms as _theirs

from motley.torchvision import (  # noqa: F401
    AugMix,
    AutoAugment,
    ColorJitter,
    GaussianBlur,
    RandAugment,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    TrivialAugmentWide,
)
from motley.torchvision.theirs import stands_for

__getattr__, __dir__, __all__ = stands_for(__name__, _theirs)
