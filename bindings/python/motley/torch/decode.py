# SPDX-License-Identifier: Apache-2.0
"""Files to RGB tensors, by whichever decoders are installed: TorchCodec's, or torchvision's, which are to go."""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

import motley

Files = Sequence[torch.Tensor]


def decoded(
    files: Sequence[Any], device: torch.device, name_of: Callable[[int], str], broken: str = "raise"
) -> tuple[list[torch.Tensor], list[int]]:
    """The images as RGB tensors [3, H, W] on the device, and which of the files they are.

    On a CUDA device all JPEG files are decoded together. Files that its decoder does not support, such as PNG or CMYK
    JPEG, are decoded on the CPU and copied. A file that no decoder can read is an error that names it, or is left out
    with a warning. Whichever decoder it is, an image is not turned as its EXIF data may say.

    Args:
        name_of: What messages call file i.
        broken: "raise" or "skip".

    Raises:
        motley.FileError: A file is broken, and broken is "raise".
    """
    tensors = [file_tensor(file) for file in files]
    images: list[torch.Tensor | None] = [None] * len(tensors)
    if device.type == "cuda" and (decoders := [*device_decoders().values()]):
        images = in_halves(lambda some: decoders[0](some, device), tensors)
    kept = []
    for i, image in enumerate(images):
        try:
            if image is None:
                images[i] = _on_cpu(tensors[i]).to(device)
            kept.append(i)
        except (RuntimeError, ValueError, ImportError) as wrong:  # ImportError: a format's library is not installed
            said = (str(wrong) or type(wrong).__name__).splitlines()[0]
            why = re.sub(r"^.*\.cpp:\d+, ", "", said)
            if broken == "raise":
                raise motley.FileError(f"{name_of(i)}: cannot be decoded: {why}") from None
            warnings.warn(f"{name_of(i)}: left out, cannot be decoded: {why}", stacklevel=4)
    return [images[i] for i in kept], kept


def in_halves(decode: Callable[[Files], list[torch.Tensor]], files: Files) -> list[torch.Tensor | None]:
    """What `decode` makes of the files: of as many at once as it supports, and None of one that it does not."""
    try:
        return list(decode(files))
    except RuntimeError:
        if len(files) < 2:
            return [None] * len(files)
    half = len(files) // 2
    return in_halves(decode, files[:half]) + in_halves(decode, files[half:])


def file_tensor(file: Any) -> torch.Tensor:
    """The bytes of a file as a tensor on the CPU."""
    if isinstance(file, torch.Tensor):
        return file.cpu()
    if not len(file):
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(bytearray(file), dtype=torch.uint8)


def _on_cpu(file: torch.Tensor) -> torch.Tensor:
    image = cpu_decoder()(file)
    if image.dtype != torch.uint8:
        raise ValueError(f"its values are {image.dtype}, want 8 bits a channel")
    frames = len(image) if image.dim() != 3 else frames_of_png(file)
    if frames > 1:
        raise ValueError(f"it has {frames} frames, want one image")
    return image


def frames_of_png(file: torch.Tensor) -> int:
    """How many frames a PNG file has, of which decoders give the first; 1 of others."""
    data = memoryview(file.numpy())
    sizes = (data[begin + 8 : begin + 12] for kind, begin, _ in _parts(data) if kind == b"acTL")
    return int.from_bytes(next(sizes, b"\1"), "big")


# ---- the decoders that are installed ----
# From 0.29 on torchvision's functions warn that TorchCodec will replace them, about which users cannot do anything. The
# operators that they call do not warn. Where an operator is missing, the function says why, or does without it.


@functools.cache
def cpu_decoder() -> Callable[[torch.Tensor], torch.Tensor]:
    """A function that decodes one file, to 8 or 16 bits a channel, and to more than one frame if it has them."""
    try:
        from torchcodec.decoders import decode_image
    except (ImportError, OSError, RuntimeError):  # missing, without images (before 0.16), or made for another torch
        return torchvision_on_cpu
    return lambda file: decode_image(without_orientation(file), mode="RGB", output_dtype="auto")


def torchvision_on_cpu(file: torch.Tensor) -> torch.Tensor:
    from torchvision.io import ImageReadMode, decode_image

    if hasattr(torch.ops.image, "decode_image"):
        return torch.ops.image.decode_image(file, ImageReadMode.RGB.value)
    return decode_image(file, mode=ImageReadMode.RGB)


@functools.cache
def device_decoders() -> dict[str, Callable[[Files, torch.device], list[torch.Tensor]]]:
    """Functions that decode JPEG files on a CUDA device, or raise RuntimeError if they do not support one of them;
    torchvision's first, which is the faster one (bench/decoders.py)."""
    found: dict[str, Callable[[Files, torch.device], list[torch.Tensor]]] = {}
    with contextlib.suppress(ImportError, OSError, RuntimeError):
        from torchvision.io import decode_jpeg

        found["torchvision"] = torchvision_on_device
    with contextlib.suppress(ImportError, OSError, RuntimeError):
        from torchcodec.decoders import decode_jpeg  # noqa: F811

        found["torchcodec"] = lambda files, device: decode_jpeg(
            [without_orientation(file) for file in files], mode="RGB", device=device
        )
    return found


def torchvision_on_device(files: Files, device: torch.device) -> list[torch.Tensor]:
    from torchvision.io import ImageReadMode, decode_jpeg

    if hasattr(torch.ops.image, "decode_jpegs_cuda"):
        return list(torch.ops.image.decode_jpegs_cuda(files, ImageReadMode.RGB.value, device))
    return list(decode_jpeg(files, mode=ImageReadMode.RGB, device=device))


# ---- EXIF data ----


def without_orientation(file: torch.Tensor) -> torch.Tensor:
    """A JPEG, PNG or WebP file without its EXIF data, by which TorchCodec turns images and the others do not."""
    pieces, last = [], 0
    for kind, begin, end in _parts(memoryview(file.numpy())):
        if kind in (b"\xe1", b"eXIf", b"EXIF"):
            pieces.append(file[last:begin])
            last = end
    if not pieces:
        return file
    file = torch.cat([*pieces, file[last:]])
    if file[0] == ord("R"):  # a WebP file says its length
        file[4:8] = torch.frombuffer(bytearray((len(file) - 8).to_bytes(4, "little")), dtype=torch.uint8)
    return file


def _parts(data: memoryview) -> Iterator[tuple[bytes, int, int]]:
    """(kind, begin, end) of the parts of a PNG or WebP file, or of a JPEG file up to its first scan."""
    first = bytes(data[:1])
    at = {b"\xff": 2, b"\x89": 8, b"R": 12}.get(first, len(data))
    while at + 8 <= len(data):
        if first == b"\xff":
            kind, size = bytes(data[at + 1 : at + 2]), 2 + int.from_bytes(data[at + 2 : at + 4], "big")
            if kind == b"\xda":
                return
            if kind == b"\xff":  # a byte that fills
                at += 1
                continue
        elif first == b"\x89":
            kind, size = bytes(data[at + 4 : at + 8]), 12 + int.from_bytes(data[at : at + 4], "big")
        else:
            kind, size = bytes(data[at : at + 4]), 8 + int.from_bytes(data[at + 4 : at + 8], "little")
            size += size % 2
        yield kind, at, at + size
        at += size
