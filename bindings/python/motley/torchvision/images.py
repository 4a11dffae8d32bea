# SPDX-License-Identifier: Apache-2.0
"""What transforms are called with: an image or a clip, or a sample of v2, whose other entries move with its image."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from typing import Any, TypeVar, Union

import PIL.Image
import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

import motley
from motley._random import fresh
from motley._arrays import Pillow
from motley.follow import FORMATS, Boxes, Kind, Mask, Points

try:
    from torchvision import tv_tensors as tv_tensors
    from torchvision.transforms import v2 as v2
except ImportError:  # before torchvision 0.16
    tv_tensors = v2 = None

IMAGES = (tv_tensors.Image, tv_tensors.Video) if tv_tensors else ()
KINDS = (*IMAGES, PIL.Image.Image, torch.Tensor)
FOLLOWERS = tuple(
    getattr(tv_tensors, name) for name in ("Mask", "BoundingBoxes", "KeyPoints") if hasattr(tv_tensors, name)
)


Image = Union[PIL.Image.Image, torch.Tensor]  # tv_tensors.Image and Video are tensors
T = TypeVar("T")


class NotOurs(Exception):
    """Why torchvision runs a transform, and not Motley."""


@functools.lru_cache(maxsize=None)
def say(name: str, why: str, what: str = "runs in torchvision") -> None:
    """Logs, once, that a transform is not Motley's."""
    logging.getLogger("motley.torchvision").warning("%s %s: %s", name, what, why)


def is_v2(transform: object) -> bool:
    return v2 is not None and isinstance(transform, v2.Transform)


def channels_of(image: object) -> int:
    """How many channels an image has. Raises NotOurs where Motley does not take it."""
    if isinstance(image, PIL.Image.Image):
        channels: int | None = Pillow.channels_of.get(image.mode)
        if channels is None:
            raise NotOurs(f"a PIL image of mode {image.mode}")
        return channels
    if not isinstance(image, torch.Tensor):
        raise NotOurs(f"an image of type {type(image).__name__}")
    if image.dtype != torch.uint8:
        raise NotOurs(f"a tensor of {image.dtype}")
    if torch.jit.is_tracing():
        raise NotOurs("torch.jit.trace sees only what torch does")
    if image.ndim < 3 or not image.numel() or image.shape[-3] > 4:
        raise NotOurs(f"a tensor of shape {tuple(image.shape)}")
    return int(image.shape[-3])


def like(result: T, image: object) -> T:
    """A tensor in torchvision's type of the image that it was made of."""
    if tv_tensors is not None and isinstance(image, tv_tensors.TVTensor) and isinstance(result, torch.Tensor):
        wrapped: T = tv_tensors.wrap(result, like=image)
        return wrapped
    return result


def size_of(entry: Any) -> tuple[int, int]:
    """(height, width) of an image, a clip or what follows one."""
    if isinstance(entry, PIL.Image.Image):
        return entry.height, entry.width
    height, width = entry.canvas_size if hasattr(entry, "canvas_size") else entry.shape[-2:]
    return int(height), int(width)


class Augmenter:
    """Images, clips and samples of v2 through Motley; what is derived from it says by which transform."""

    rule = "polygon"  # by which boxes move, of motley.follow.Boxes

    def _for(self, image: Any) -> motley.Transform:
        """Motley's transform of an image. Raises NotOurs for those that torchvision does otherwise."""
        raise NotImplementedError

    def _fill_of_masks(self) -> float:
        raise NotImplementedError

    def _finished(self, result: Any, image: Any) -> Any:
        """The entry that the result of an image becomes."""
        return like(result, image)

    def _kind_of(self, entry: torch.Tensor) -> Kind:
        """How what follows an image moves. Raises NotOurs for what torchvision moves otherwise."""
        if isinstance(entry, tv_tensors.Mask):
            return Mask(self._fill_of_masks())
        if not isinstance(entry, tv_tensors.BoundingBoxes):
            return Points()
        if entry.format.value.lower() not in FORMATS:
            raise NotOurs(f"boxes of the format {entry.format.value}")
        if getattr(entry, "clamping_mode", "soft") is None:
            raise NotOurs("boxes of the clamping_mode None, and Motley cuts them off at the image's edge")
        return Boxes(rule=self.rule, drop=False, label_fields=())  # type: ignore[arg-type]

    def _augmented(self, inputs: Sequence[Any], samples: bool) -> Any:
        """The result of one image or clip; or, of v2, of a sample in its structure: images and clips share a draw,
        masks, boxes and keypoints move as they do, all else stays as it is. Raises NotOurs before anything is drawn."""
        first = inputs[0]
        if len(inputs) == 1 and (isinstance(first, PIL.Image.Image) or type(first) in KINDS):
            return self._finished(_by(self._for(first), first, fresh()), first)
        if not samples:
            raise NotOurs(f"an input of type {type(first).__name__}")
        flat, spec = tree_flatten(inputs if len(inputs) > 1 else first)
        places = [i for i, entry in enumerate(flat) if isinstance(entry, (PIL.Image.Image, *IMAGES))]
        if not places:  # as in torchvision, the first pure tensor is the image then
            places = [i for i, entry in enumerate(flat) if type(entry) is torch.Tensor][:1]
        if not places:
            raise NotOurs("there is no image in the sample")
        followers = [i for i, entry in enumerate(flat) if isinstance(entry, FOLLOWERS)]
        sizes = {size_of(flat[i]) for i in (*places, *followers)}
        if len(sizes) > 1:
            raise NotOurs(f"the sample has images, or what follows them, of {len(sizes)} sizes")
        transforms = [self._for(flat[i]) for i in places]
        kinds = [self._kind_of(flat[i]) for i in followers]
        seed, results = fresh(), {}
        if followers:
            image, entries = flat[places[0]], [flat[i] for i in followers]
            clip = isinstance(image, torch.Tensor) and image.ndim > 3
            frame, moved = _followed(transforms[0], image.flatten(0, -4)[0] if clip else image, entries, kinds, seed)
            results = {} if clip else {places[0]: frame}
            for i, entry in zip(followers, moved):
                flat[i] = entry
        for i, transform in zip(places, transforms):
            flat[i] = self._finished(results[i] if i in results else _by(transform, flat[i], seed), flat[i])
        return tree_unflatten(flat, spec)


def _by(transform: motley.Transform, image: Image, seed: int) -> Any:
    """The result of an image, or of a tensor [..., C, H, W], whose images share the draw."""
    if isinstance(image, torch.Tensor):
        image = image.as_subclass(torch.Tensor)
        if image.ndim > 3:
            batch = image.flatten(0, -4)
            result = transform(batch, sample_ids=torch.zeros(len(batch), dtype=torch.int64), epoch=0, seed=seed)
            result = torch.stack(result) if isinstance(result, list) else result
            return result.reshape(*image.shape[:-3], *result.shape[1:])
    return transform(image, sample_ids=0, epoch=0, seed=seed)


def _followed(
    transform: motley.Transform, image: Any, entries: list[Any], kinds: list[Kind], seed: int
) -> tuple[Any, list[Any]]:
    """The result of an image, and what follows it."""
    sample: dict[str, Any] = {"image": image.as_subclass(torch.Tensor) if isinstance(image, torch.Tensor) else image}
    keys = [f"{type(entry).__name__} {i}" for i, entry in enumerate(entries)]
    for key, entry in zip(keys, entries):
        is_stack = isinstance(entry, tv_tensors.Mask) and entry.ndim > 3
        sample[key] = entry.as_subclass(torch.Tensor).flatten(0, -3) if is_stack else entry
    results = motley.Follow(transform, dict(zip(keys, kinds)))(sample, sample_ids=0, epoch=0, seed=seed)
    moved = []
    for key, entry in zip(keys, entries):
        result = results[key].as_subclass(torch.Tensor)
        if isinstance(entry, tv_tensors.Mask):
            moved.append(tv_tensors.wrap(result.reshape(*entry.shape[:-2], *result.shape[-2:]), like=entry))
        else:
            moved.append(tv_tensors.wrap(result, like=entry, canvas_size=size_of(results["image"])))
    return results["image"], moved
