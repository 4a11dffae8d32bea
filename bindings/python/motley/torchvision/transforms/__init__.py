# SPDX-License-Identifier: Apache-2.0
"""torchvision.transforms, with Motley's classes in it. Names that Motley lacks, submodules included, come from
torchvision.

`import motley.torchvision.transforms.functional` gives the module torchvision.transforms.functional itself, under a
second name in sys.modules. A second copy of it would have registries and classes of its own, which torchvision does not
know. Only modules that torchvision itself imports have such a name (not its two deprecated ones of videos)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

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

HERE = "motley."
OURS = {"motley.torchvision.transforms.v2", "motley.torchvision.transforms.autoaugment"}


def stands_for(name: str, theirs: Any) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """__getattr__, __dir__ and __all__ of module `name`, which stands for `theirs`, whose submodules it gets."""
    below = theirs.__name__ + "."
    for module in [module for module in sys.modules if module.startswith(below)]:
        if not any(f"{HERE}{module}.".startswith(f"{own}.") for own in OURS - {name}):
            sys.modules[HERE + module] = sys.modules[module]

    def __getattr__(attribute: str) -> Any:
        if f"{name}.{attribute}" in OURS:
            return importlib.import_module(f"{name}.{attribute}")
        if attribute.startswith("__"):  # not its __path__: submodules would be loaded a second time
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        return getattr(theirs, attribute)

    public = [attribute for attribute in dir(theirs) if not attribute.startswith("_")]
    return __getattr__, lambda: public, public


__getattr__, __dir__, __all__ = stands_for(__name__, _theirs)
