# SPDX-License-Identifier: Apache-2.0
"""torchvision.transforms, with Motley's RandAugment, TrivialAugmentWide and AutoAugment in it."""
from torchvision import transforms as _theirs

from motley.torchvision import AutoAugment, RandAugment, TrivialAugmentWide  # noqa: F401
from motley.torchvision.theirs import stands_for

__getattr__, __dir__, __all__ = stands_for(__name__, _theirs)
