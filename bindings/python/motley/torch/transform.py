# SPDX-License-Identifier: Apache-2.0
"""A whole transform as a module of torch: decoded images of any sizes in, the network's input out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy
import torch

import motley
from motley.torch.stage import Stage

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from motley._types import TransformSettings


class Transform(motley.Transform, Stage):
    """A motley.Transform as a module: decoded images of any sizes become one tensor of the network's input.

        transform = motley.torch.Transform("torchvision_train", memory_format=torch.channels_last)
        batch = transform(images, ids)       # a list of uint8 tensors [C, H, W], PIL images or arrays: [N, 3, 224, 224]

    It goes wherever a motley.torch.Stage goes: into MotleyCollate, Prefetcher and Augmented. train() and eval() change
    nothing, since evaluation uses a separate transform ("torchvision_eval"). torch.compile runs it as it is.

    Args:
        transform: A built-in's name, a path, a text, or a motley.Transform, whose settings are kept.
        settings: As motley.Transform's.
    """

    def __init__(
        self, transform: motley.Transform | str | os.PathLike[str], **settings: Unpack[TransformSettings]
    ) -> None:
        super().__init__(transform, **settings)

    if not TYPE_CHECKING:  # checkers take motley.Transform's signature
        __call__ = torch.nn.Module.__call__
    __eq__, __hash__, __repr__ = object.__eq__, object.__hash__, torch.nn.Module.__repr__

    def train(self, mode: bool = True) -> Transform:
        return self

    @property
    def dtype(self) -> torch.dtype:
        return getattr(torch, self._dtype or self._made[0])

    def forward(self, images: Any, sample_ids: Any = None, **options: Any) -> Any:
        """As motley.Transform; the result is a tensor, on the images' device."""
        return _of_torch(motley.Transform.__call__(self, images, sample_ids, **options))

    def replay(self, *args: Any, **options: Any) -> Any:
        """As motley.Transform's; the result is a tensor."""
        return _of_torch(motley.Transform.replay(self, *args, **options))


def _of_torch(result):
    """NumPy arrays, which PIL images become, as tensors. Without an output stage PIL images stay PIL images."""
    if isinstance(result, tuple):  # with targets, with draws, of several views
        return tuple(map(_of_torch, result))
    return torch.from_numpy(result) if isinstance(result, numpy.ndarray) else result
