# SPDX-License-Identifier: Apache-2.0
"""NVIDIA DALI: a Python operator of its pipelines, on the CPU or the GPU.

    @pipeline_def(batch_size=256, num_threads=8, device_id=0)
    def pipe():
        files, labels = fn.readers.file(file_root=...)
        images = fn.decoders.image_random_crop(files, device='mixed', output_type=types.RGB)
        return augment(fn.resize(images, size=(224, 224)), policy='rand_augment'), labels"""
import torch
from nvidia.dali import fn
from torch.utils.dlpack import from_dlpack, to_dlpack

import motley
from motley.adapters import fresh_seed, policy_of


def augment(images, ids=None, *, policy, seed=0, epoch=0):
    """A DALI node that gives `images` (HWC, uint8, any sizes) augmented, each with a draw of its own.

    ids      a node of the sample ids, one whole number a sample, on the CPU, or None: each batch draws anew
    epoch    of the draws that ids make: a number, or a callable that gives one, asked once a batch"""
    stage = motley.Stage(policy_of(policy), seed=seed, layout="hwc")

    def run(batch, *rest):
        batch = [from_dlpack(image) for image in batch]
        if not rest:
            out = stage(batch, seed=fresh_seed(), sample_ids=range(len(batch)))
        else:
            numbers = [int(from_dlpack(number)) for number in rest[0]]
            out = stage(batch, epoch=epoch() if callable(epoch) else epoch, sample_ids=numbers)
        return [to_dlpack(image) for image in out]
    inputs = (images,) if ids is None else (images, ids)
    return fn.dl_tensor_python_function(*inputs, function=run, batch_processing=True, device=images.device,
                                        output_layouts="HWC")
