# SPDX-License-Identifier: Apache-2.0
"""A whole transform as a module of torch: decoded images of any sizes in, the network's input out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy
import torch

import motley
from motley.torch.stage import Stage
from motley.transform import without_draws

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from motley._types import TransformSettings


class Transform(motley.Transform, Stage):
    """A motley.Transform as a module: decoded images of any sizes become one tensor of the network's input.

        transform = motley.torch.Transform("torchvision_train", memory_format=torch.channels_last)
        batch = transform(images, ids)       # a list of uint8 tensors [C, H, W], PIL images or arrays: [N, 3, 224, 224]

    It goes wherever a motley.torch.Stage goes: into MotleyCollate, Prefetcher and Augmented. torch.compile runs it as
    it is.

    In eval() nothing is drawn: resize, center_crop, output and a grayscale that is always done remain, all other stages
    are left out, there is one view, and labels come back as they are. A transform that cannot go without draws, because
    it crops at random, raises UnsupportedError: evaluation wants another one, such as "torchvision_eval".

    Args:
        transform: A built-in's name, a path, a text, or a motley.Transform, whose settings are kept.
        settings: As motley.Transform's.
    """

    _still = None  # what it is in eval()

    def __init__(
        self, transform: motley.Transform | str | os.PathLike[str], **settings: Unpack[TransformSettings]
    ) -> None:
        super().__init__(transform, **settings)

    if not TYPE_CHECKING:  # checkers take motley.Transform's signature
        __call__ = torch.nn.Module.__call__
    __eq__, __hash__, __repr__ = object.__eq__, object.__hash__, torch.nn.Module.__repr__

    @property
    def _now(self):
        if self.training:
            return self
        if self._still is None:
            how = {"layout": self.layout, "dtype": self._dtype, "output_layout": self.output_layout}
            self._still = (Transform(without_draws(self), stream=0, threads=self.threads, **how),)  # no submodule
        return self._still[0]

    @property
    def dtype(self) -> torch.dtype:
        return getattr(torch, self._dtype or self._made[0])

    def forward(self, images: Any, sample_ids: Any = None, **options: Any) -> Any:
        """As motley.Transform; the result is a tensor, on the images' device."""
        if self.training:
            return _of_torch(motley.Transform.__call__(self, images, sample_ids, **options))
        own = {name: options.pop(name, None) for name in ("labels", "classes") if self.mixes}
        made = self._now(images, sample_ids, **{**options, "views": 1, "seed": 0})
        if own.get("labels") is None:
            return made
        made, *draws = made if options.get("return_draws") else (made,)
        return (made, own["labels"], *draws)

    def replay(self, *args: Any, **options: Any) -> Any:
        """As motley.Transform's; the result is a tensor."""
        return _of_torch(motley.Transform.replay(self, *args, **options))


def _of_torch(result):
    """NumPy arrays, which PIL images become, as tensors. Without an output stage PIL images stay PIL images."""
    if isinstance(result, tuple):  # with targets, with draws, of several views
        return tuple(map(_of_torch, result))
    return torch.from_numpy(result) if isinstance(result, numpy.ndarray) else result
