# SPDX-License-Identifier: Apache-2.0
"""Decodes the bytes of image files with torchvision's decoders, on the GPU if they can."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

import motley
from motley.torch.batches import map_items, passed_on


def read_file(path: str | os.PathLike[str]) -> torch.Tensor:
    """The bytes of a file, not decoded: a loader for torchvision's ImageFolder where the Prefetcher decodes the images.
    (torchvision.io.read_file does the same, but warns from torchvision 0.29 on.)"""
    with open(path, "rb") as file:
        return _tensor(file.read())


def list_images(samples: Sequence[Any]) -> Any:
    """A collate_fn that keeps the first item of each sample (an image of any size, or a file's bytes) in a list.

    DataLoader(dataset, collate_fn=motley.torch.list_images) of ImageFolder(root, loader=motley.torch.read_file)"""
    rest = torch.utils.data.default_collate([tuple(sample)[1:] for sample in samples])
    return passed_on([sample[0] for sample in samples]), *rest


def is_encoded(images: Any) -> bool:
    """Whether these are the bytes of files: a list of bytes or of uint8 tensors of one axis."""
    if isinstance(images, torch.Tensor) and images.dim() == 2 and images.dtype == torch.uint8:
        raise motley.ArgumentError(
            f"the images are one tensor of shape {tuple(images.shape)}, as a loader stacks files of equal length: want "
            "a list of their bytes, collate_fn=motley.torch.list_images"
        )
    return isinstance(images, (list, tuple)) and len(images) > 0 and all(map(_is_file, images))


def _is_file(image):
    if isinstance(image, torch.Tensor):
        return image.dim() == 1 and image.dtype == torch.uint8
    return isinstance(image, (bytes, bytearray, memoryview))


def decoded(
    files: Sequence[Any], device: torch.device, name_of: Callable[[int], str], broken: str = "raise"
) -> tuple[list[torch.Tensor], list[int]]:
    """The images as RGB tensors [3, H, W] on the device, and which of the files they are.

    On a CUDA device all JPEG files are decoded together. Files that its decoder does not support, such as PNG or CMYK
    JPEG, are decoded on the CPU and copied. A file that no decoder can read is an error that names it, or is left out
    with a warning.

    Args:
        name_of: What messages call file i.
        broken: "raise" or "skip".

    Raises:
        motley.FileError: A file is broken, and broken is "raise".
    """
    tensors = [_tensor(file) for file in files]
    if device.type == "cuda":
        try:
            return _on_device(tensors, device), list(range(len(tensors)))
        except RuntimeError:  # of all files at once: one by one, to find which
            pass
    images, kept = [], []
    for i, tensor in enumerate(tensors):
        try:
            images.append(_alone(tensor, device))
            kept.append(i)
        except (RuntimeError, ValueError) as wrong:
            said = (str(wrong) or type(wrong).__name__).splitlines()[0]
            why = re.sub(r"^.*\.cpp:\d+, ", "", said)
            if broken == "raise":
                raise motley.FileError(f"{name_of(i)}: cannot be decoded: {why}") from None
            warnings.warn(f"{name_of(i)}: left out, cannot be decoded: {why}", stacklevel=4)
    return images, kept


def _tensor(file):
    if isinstance(file, torch.Tensor):
        return file.cpu()
    if not len(file):
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(bytearray(file), dtype=torch.uint8)


# From 0.29 on torchvision's functions warn that TorchCodec will replace them, about which users cannot do anything. The
# operators that they call do not warn. Where an operator is missing, the function says why, or does without it.


def _on_device(tensors, device):
    from torchvision.io import ImageReadMode, decode_jpeg

    if hasattr(torch.ops.image, "decode_jpegs_cuda"):
        return list(torch.ops.image.decode_jpegs_cuda(tensors, ImageReadMode.RGB.value, device))
    return list(decode_jpeg(tensors, mode=ImageReadMode.RGB, device=device))


def _alone(tensor, device):
    from torchvision.io import ImageReadMode, decode_image

    if device.type == "cuda":
        try:
            return _on_device([tensor], device)[0]
        except RuntimeError:
            pass
    if hasattr(torch.ops.image, "decode_image"):
        image = torch.ops.image.decode_image(tensor, ImageReadMode.RGB.value)
    else:
        image = decode_image(tensor, mode=ImageReadMode.RGB)
    if image.dtype != torch.uint8:
        raise ValueError(f"its values are {image.dtype}, want 8 bits a channel")
    if image.dim() != 3:
        raise ValueError(f"it has {len(image)} frames, want one image")
    return image.to(device)


def without(batch: Any, count: int, kept: Sequence[int]) -> Any:
    """A batch of `count` samples reduced to those that are kept: each array, and each list with an entry per sample."""
    return map_items(lambda item: _column(item, count, kept), batch)


def _column(item, count, kept):
    if not _has_rows(item, count):
        return map_items(lambda part: _column(part, count, kept), item)
    if not isinstance(item, (tuple, list)):
        return item[list(kept)]
    if all(_has_rows(part, count) for part in item):  # as many columns as samples, such as [ids, labels] of two
        return map_items(lambda part: _column(part, count, kept), item)
    return type(item)(item[i] for i in kept)


def _has_rows(item, count):
    """Whether this is an array, a list or a tuple with an entry for each of `count` samples."""
    if isinstance(item, (tuple, list)):
        return not hasattr(item, "_fields") and len(item) == count
    return len(getattr(item, "shape", ())) > 0 and len(item) == count
