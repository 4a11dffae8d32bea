# SPDX-License-Identifier: Apache-2.0
"""Samples of torchvision's v2 transforms: the entries beside an image in a sample move with the image."""

import numbers

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from motley import ArgumentError
from motley._core import lib
from motley._follow import BoxRows, Moves, PointRows
from motley.follow import FORMATS
from motley.torchvision import pixels
from motley.torchvision.pixels import tv_tensors

FOLLOWERS = tuple(
    getattr(tv_tensors, name) for name in ("Mask", "BoundingBoxes", "KeyPoints") if hasattr(tv_tensors, name)
)
IMAGES = (tv_tensors.Image, tv_tensors.Video) if tv_tensors else ()


class Sample:
    """What a transform is called with: its images and videos, and what goes with them."""

    def __init__(self, transform, inputs):
        self.transform = transform
        self.flat, self.spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        mine = [i for i, needed in enumerate(transform._needs_transform_list(self.flat)) if needed]
        self.followers = [i for i in mine if isinstance(self.flat[i], FOLLOWERS)]
        self.places = [i for i in mine if i not in self.followers]
        self.images = [self.flat[i] for i in self.places]
        if not self.images and self.followers:
            name = type(self.flat[self.followers[0]]).__name__
            raise TypeError(
                f"Inputs of type {name} are not supported by {type(transform).__name__}() without their image"
            )
        if not self.images:
            raise TypeError("Found no image in the sample.")
        if len(mine) > 1:
            sizes = sorted({size_of(self.flat[i]) for i in mine})
            if len(sizes) > 1:
                raise ValueError(f"Found multiple HxW dimensions in the sample: {', '.join(map(str, sizes))}")

    def with_images(self, images, stage, samples):
        """The sample with its images replaced by these, and their followers moved. stage: of the first of them,
        None where nothing moved. samples: the seed, ids and further arguments that it was called with."""
        for i, image in zip(self.places, images):
            self.flat[i] = image
        if self.followers and stage is not None:
            moves = _moves(stage, size_of(images[0]), *samples)
            for i in self.followers:
                self.flat[i] = _follow(self.flat[i], moves, self.transform)
        return tree_unflatten(self.flat, self.spec)


def size_of(value):
    """(height, width) of an image, a video or what belongs to one."""
    return tuple(value.canvas_size) if hasattr(value, "canvas_size") else pixels.size_of(value)


def _moves(stage, size, seed, ids, rest):
    single = isinstance(ids, numbers.Integral)
    ids = [int(ids)] if single else ids.tolist() if hasattr(ids, "tolist") else list(ids)
    return Moves(stage, [size[::-1]] * len(ids), single, seed, rest.get("epoch", 0), ids, rest.get("view", 0))


def _follow(value, moves, transform):
    plain, name = value.as_subclass(torch.Tensor), f"the sample's {type(value).__name__}"
    if isinstance(value, tv_tensors.Mask):
        lead = plain.shape[:-2] if moves.single else plain.shape[1:-2]
        first = () if moves.single else plain.shape[:1]
        masks = plain.reshape(*first, lead.numel(), *plain.shape[-2:])
        made = moves.mask(name, masks, _fill(transform), False).reshape(plain.shape)
    else:
        rows = _rows(value, name, plain, moves)
        rows.move(moves)
        (made,), *_ = rows.moved()
    return tv_tensors.wrap(made, like=value)


def _rows(value, name, plain, moves):
    if not moves.single:
        raise ArgumentError(
            f"motley.samples has an id for each image of a batch, and {name} are those of one: want one id"
        )
    if not isinstance(value, tv_tensors.BoundingBoxes):
        return PointRows(name, [plain], moves.sizes, lib.MOTLEY_CONTINUOUS, ())
    form = FORMATS.get(value.format.value.lower())
    if form is None:
        raise TypeError(f"{name} have the format {value.format.value}, want XYXY, XYWH or CXCYWH")
    if getattr(value, "clamping_mode", "soft") is None:
        raise TypeError(f"{name} have the clamping_mode None, but boxes are cut off at the image's edge: want 'soft'")
    return BoxRows(name, [plain], moves.sizes, form, False, (0, 0, 0))


def _fill(transform):
    """That of masks: `fill` by type says it; a number is the image's, and would be a class of the mask's."""
    fill = transform.fill
    if not isinstance(fill, dict):
        return 0
    fill = fill.get(tv_tensors.Mask, fill.get("others", 0))
    fill = fill[0] if isinstance(fill, (list, tuple)) and len(fill) == 1 else fill
    return 0 if fill is None else fill
