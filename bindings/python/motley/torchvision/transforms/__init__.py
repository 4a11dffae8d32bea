# SPDX-License-Identifier: Apache-2.0
"""torchvision.transforms, with Motley's RandAugment, TrivialAugmentWide and AutoAugment in it."""
from torchvision import transforms as _theirs

from motley.torchvision import AutoAugment, RandAugment, TrivialAugmentWide

__all__ = [name for name in dir(_theirs) if not name.startswith("_")]


def __getattr__(name):
    if name == "v2":
        from importlib import import_module
        return import_module("motley.torchvision.transforms.v2")
    if name == "autoaugment":  # has these classes and the enums only
        import sys
        return sys.modules[__name__]
    return getattr(_theirs, name)


def __dir__():
    return __all__
