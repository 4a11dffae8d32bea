# SPDX-License-Identifier: Apache-2.0
"""torchvision.transforms.v2, with Motley's classes in it."""
from torchvision.transforms import v2 as _theirs

from motley.torchvision import Seeded, _forward_v2, of_recipe, recipe
from motley.torchvision.theirs import stands_for

__getattr__, __dir__, __all__ = stands_for(__name__, _theirs)


class RandAugment(Seeded, _theirs.RandAugment):
    """torchvision's RandAugment on Motley, which also takes a `seed`."""
    forward = _forward_v2


class TrivialAugmentWide(Seeded, _theirs.TrivialAugmentWide):
    """torchvision's TrivialAugmentWide on Motley, which also takes a `seed`."""
    forward = _forward_v2


class AutoAugment(Seeded, _theirs.AutoAugment):
    """torchvision's AutoAugment on Motley, which also takes a `seed`."""
    forward = _forward_v2


class AugMix(Seeded, _theirs.AugMix):
    """torchvision's AugMix on Motley, which also takes a `seed`. Its chains have Pillow's pixels."""
    forward = _forward_v2


for _cls in recipe.OURS:
    if _cls is getattr(_theirs, _cls.__name__, None):
        globals()[_cls.__name__] = of_recipe(_cls, __name__)
