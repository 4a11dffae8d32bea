# SPDX-License-Identifier: Apache-2.0
"""Compose and the policies of torchvision.transforms.v2 on Motley, which take samples: see motley.torchvision."""

from __future__ import annotations

from typing import Any

from torchvision.transforms import v2 as _v2

from motley.torchvision.fused import Fused
from motley.torchvision.policies import Drawn
from motley.torchvision._runs import composed

__all__ = ["AugMix", "AutoAugment", "Compose", "RandAugment", "TrivialAugmentWide"]


class Compose(Fused, _v2.Compose):
    """torchvision.transforms.v2.Compose, fused when it is made, and again when its list was changed: see
    motley.torchvision.fuse."""

    def forward(self, *inputs: object) -> Any:
        return composed(self._parts_now(), inputs)


class RandAugment(Drawn, _v2.RandAugment):
    """v2's RandAugment on Motley, under which masks, boxes and keypoints move."""


class TrivialAugmentWide(Drawn, _v2.TrivialAugmentWide):
    """v2's TrivialAugmentWide on Motley, under which masks, boxes and keypoints move."""


class AutoAugment(Drawn, _v2.AutoAugment):
    """v2's AutoAugment on Motley, under which masks, boxes and keypoints move."""


class AugMix(Drawn, _v2.AugMix):
    """v2's AugMix on Motley, with Pillow's pixels in its chains: see motley.torchvision.AugMix."""
