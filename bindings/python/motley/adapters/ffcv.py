# SPDX-License-Identifier: Apache-2.0
"""FFCV: an operation of an image field's pipeline.

    Loader(path, ..., pipelines={'image': [RandomResizedCropRGBImageDecoder((224, 224)), ToTensor(), ToDevice('cuda'),
                                           ToTorchImage(), Augment(stage)], ...})"""
from dataclasses import replace

import torch
from ffcv.pipeline.operation import Operation


class Augment(Operation):
    """Runs a motley.torch.Stage on the batch; to stand after ToTorchImage, on the CPU or after ToDevice.

    The sample ids are FFCV's own indices of the samples, so that a draw depends on (seed, epoch, index) alone. Call
    stage.set_epoch() before each pass over the loader."""

    def __init__(self, stage):
        super().__init__()
        self.stage = stage

    def generate_code(self):
        def augment(images, _, indices):
            return self.stage(images, torch.from_numpy(indices[:len(images)].astype("int64")))
        augment.with_indices = True
        return augment

    def declare_state_and_memory(self, previous_state):
        return replace(previous_state, dtype=self.stage.dtype, jit_mode=False), None
