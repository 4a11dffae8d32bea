# SPDX-License-Identifier: Apache-2.0
"""FFCV: an operation of an image field's pipeline.

Loader(path, ..., pipelines={'image': [RandomResizedCropRGBImageDecoder((224, 224)), ToTensor(), ToDevice('cuda'),
                                       ToTorchImage(), Augment(transform)], ...})"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from ffcv.pipeline.operation import Operation

from motley.adapters import refuse_mixing, refuse_views
from motley.torch import Transform


class Augment(Operation):
    """Runs a motley.torch.Transform on the batch. Place it after ToTorchImage, on the CPU or
    after ToDevice. FFCV decodes the images of a batch to one size; SimpleRGBImageDecoder wants them stored in one.

    A transform whose epoch was said (transform.set_epoch(epoch) before each pass) draws by FFCV's own indices of the
    samples, so that a draw depends only on (seed, epoch, index); another one draws anew."""

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        refuse_mixing(transform)
        refuse_views(transform, "an operation of FFCV")
        self.transform = transform

    def generate_code(self) -> Any:
        def augment(images: Any, _: Any, indices: Any) -> Any:
            by_id = self.transform.training and self.transform.epoch is not None
            ids = torch.from_numpy(indices[: len(images)].astype("int64")) if by_id else None
            return self.transform(images, sample_ids=ids)

        augment.with_indices = True  # type: ignore[attr-defined]
        return augment

    def declare_state_and_memory(self, previous_state: Any) -> Any:
        channels, *size = previous_state.shape
        channels = 3 if self.transform.policy.to_rgb else channels
        shape = channels, *(self.transform.size or size)
        return replace(previous_state, shape=shape, dtype=self.transform.dtype, jit_mode=False), None
