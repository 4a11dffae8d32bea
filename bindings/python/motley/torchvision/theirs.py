# SPDX-License-Identifier: Apache-2.0
"""Modules that replace torchvision's. Names that Motley lacks, submodules included, come from torchvision.

`import motley.torchvision.transforms.functional` gives the module torchvision.transforms.functional itself. A second
copy of it would have registries and classes of its own, which torchvision does not know."""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

HERE = "motley."
BELOW = "motley.torchvision.transforms."
OURS = {BELOW + "v2", BELOW + "autoaugment"}


class Theirs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds torchvision's module where Motley has none of that name. Asked first: the parent may be a module of
    torchvision's, whose files would be found under our name."""

    def find_spec(self, name, path=None, target=None):
        if not name.startswith(BELOW) or name in OURS:
            return None
        try:
            found = importlib.util.find_spec(name[len(HERE):])
        except ModuleNotFoundError:
            return None
        return found and importlib.util.spec_from_loader(name, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__spec__.name
        sys.modules[name] = importlib.import_module(name[len(HERE):])  # what the import statement then takes


sys.meta_path.insert(0, Theirs())


def stands_for(name: str, theirs: Any) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """__getattr__, __dir__ and __all__ of module `name`, which stands for `theirs`."""
    def __getattr__(attribute: str) -> Any:
        if f"{name}.{attribute}" in OURS:
            return importlib.import_module(f"{name}.{attribute}")
        if attribute.startswith("__"):  # not its __path__: submodules would be loaded a second time
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        return getattr(theirs, attribute)

    public = [attribute for attribute in dir(theirs) if not attribute.startswith("_")]
    return __getattr__, lambda: public, public
