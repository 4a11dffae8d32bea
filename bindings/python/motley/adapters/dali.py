# SPDX-License-Identifier: Apache-2.0
"""NVIDIA DALI: a Python operator of its pipelines, on the CPU or the GPU.

    @pipeline_def(batch_size=256, num_threads=8, device_id=0)
    def pipeline():
        files, labels = fn.readers.file(file_root=...)
        images = fn.decoders.image_random_crop(files, device="mixed", output_type=types.RGB)
        return augment(fn.resize(images, size=(224, 224)), policy="rand_augment"), labels"""
import torch
from nvidia.dali import fn
from torch.utils.dlpack import from_dlpack, to_dlpack

import motley
from motley.adapters import fresh_seed, policy_of


def augment(images, ids=None, *, policy, seed=0, epoch=0):
    """A DALI node that gives `images` (HWC, uint8, any sizes) augmented, each with a draw of its own.

    ids      a node of the sample ids, one whole number a sample, or None: each batch draws anew
    epoch    of the draws that ids make: a number, or a callable that gives one, asked once a batch"""
    stage = motley.Stage(policy_of(policy), seed=seed, layout="hwc")

    def run(batch, numbers=None):
        if numbers is None:
            return stage(batch, seed=fresh_seed(), sample_ids=range(len(batch)))
        numbers = torch.stack([number.reshape(()) for number in numbers]).cpu()
        return stage(batch, epoch=epoch() if callable(epoch) else epoch, sample_ids=numbers)

    def run_on_cpu(*inputs):
        return [to_dlpack(image) for image in run(*([from_dlpack(item) for item in column] for column in inputs))]

    inputs = [images] if ids is None else [images, ids]
    options = {"batch_processing": True, "output_layouts": "HWC"}
    if images.device != "gpu":
        return fn.dl_tensor_python_function(*inputs, function=run_on_cpu, **options)
    # torch's kind of the operator waits for the stream that it lets us work on.
    from nvidia.dali.plugin.pytorch.fn import torch_python_function
    return torch_python_function(*(node.gpu() for node in inputs), function=run, device="gpu", **options)
