# SPDX-License-Identifier: Apache-2.0
"""torchvision's transforms on Motley.

    train = motley.torchvision.fuse(transforms.Compose([...]))      # the whole: crop, flips, policy, jitter, output
    train = motley.torchvision.Compose([...])                       # the same, fused when it is made
    motley.torchvision.RandAugment()                                # one policy, of a Compose that stays as it is
    motley.torchvision.v2.RandAugment()                             # v2's, under which masks and boxes move

    motley.torchvision.take_over()                                  # all of it, in a script that nobody wants to edit

Each call draws anew, from torch's generator; torch.manual_seed repeats a run. Draws by sample id are those of
`fuse(...).transform`, a motley.Transform. What Motley does not do bit for bit runs in torchvision, and the logger
"motley.torchvision" says so once."""

from __future__ import annotations

from typing import Any

from torchvision import transforms as _v1
from torchvision.transforms import AutoAugmentPolicy, InterpolationMode

from motley.torchvision.fused import Compose, Fused, fuse
from motley.torchvision.images import v2 as _v2
from motley.torchvision.policies import AugMix, AutoAugment, RandAugment, TrivialAugmentWide

if _v2 is not None:
    from motley.torchvision import v2 as v2

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "Compose", "Fused", "InterpolationMode", "RandAugment",
           "TrivialAugmentWide", "fuse", "hand_back", "take_over"]  # fmt: skip

_NAMES = "Compose", "RandAugment", "TrivialAugmentWide", "AutoAugment", "AugMix"
_theirs: dict[tuple[Any, str], type] = {}  # (torchvision's module, name) -> its class, while Motley's is there


def take_over() -> None:
    """From here on `Compose`, `RandAugment`, `TrivialAugmentWide`, `AutoAugment` and `AugMix` of torchvision.transforms
    and its v2 are Motley's. To be called before the script imports these names; its other transforms stay as they are,
    and are fused in a Compose. Objects of Motley's classes are pickled, and spawned workers need no call."""
    ours = {"Compose": Compose, "RandAugment": RandAugment, "TrivialAugmentWide": TrivialAugmentWide,
            "AutoAugment": AutoAugment, "AugMix": AugMix}  # fmt: skip
    for module in (_v1, _v1.transforms, _v1.autoaugment):
        for name in _NAMES:
            if hasattr(module, name):
                _take(module, name, ours[name])
    for name in _NAMES if _v2 is not None else ():
        _take(_v2, name, getattr(v2, name))


def _take(module: Any, name: str, ours: type) -> None:
    _theirs.setdefault((module, name), getattr(module, name))
    setattr(module, name, ours)


def hand_back() -> None:
    """Ends what take_over() began. Objects that were made in between stay Motley's."""
    while _theirs:
        (module, name), theirs = _theirs.popitem()
        setattr(module, name, theirs)
