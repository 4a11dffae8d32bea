# SPDX-License-Identifier: Apache-2.0
"""FFCV: an operation of an image field's pipeline.

Loader(path, ..., pipelines={'image': [RandomResizedCropRGBImageDecoder((224, 224)), ToTensor(), ToDevice('cuda'),
                                       ToTorchImage(), Augment(transform)], ...})"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import torch
from ffcv.loader import Loader
from ffcv.pipeline.operation import Operation

from motley.adapters import refuse_mixing, refuse_views
from motley.samples import Passes
from motley.torch import Transform


class Augment(Passes, Operation):
    """Runs a motley.torch.Transform on the batch. Place it after ToTorchImage, on the CPU or
    after ToDevice. FFCV decodes the images of a batch to one size; SimpleRGBImageDecoder wants them stored in one.

    The sample ids are FFCV's own indices of the samples, so that a draw depends only on (seed, epoch, index). Each pass
    over the loader is the transform's next epoch, unless transform.set_epoch() sets one."""

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        refuse_mixing(transform)
        refuse_views(transform, "an operation of FFCV")
        self.transform = self.epochs = transform
        _watch()

    def generate_code(self) -> Any:
        def augment(images: Any, _: Any, indices: Any) -> Any:
            return self.transform(images, sample_ids=torch.from_numpy(indices[: len(images)].astype("int64")))

        augment.with_indices = True  # type: ignore[attr-defined]
        return augment

    def declare_state_and_memory(self, previous_state: Any) -> Any:
        channels, *size = previous_state.shape
        channels = 3 if self.transform.policy.to_rgb else channels
        shape = channels, *(self.transform.size or size)
        return replace(previous_state, shape=shape, dtype=self.transform.dtype, jit_mode=False), None


@functools.cache
def _watch() -> None:
    """Makes each pass of FFCV's Loader, which tells its operations of none, begin one of theirs."""
    begin = Loader.__iter__

    @functools.wraps(begin)
    def __iter__(self: Any) -> Any:
        for spec in self.pipeline_specs.values():
            for operation in spec.transforms if spec else ():
                if isinstance(operation, Augment):
                    operation.transform.begin_pass()
        return begin(self)

    Loader.__iter__ = __iter__
