# SPDX-License-Identifier: Apache-2.0
"""A script's Compose([...]) on Motley: each run of transforms that a policy with stages can say is one call.

What torchvision's and timm's transforms are is read off their attributes. A policy's stages have a fixed order, so a
run ends before the first transform that would break it, and another one may begin there."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torchvision import transforms as _v1

import motley
from motley.torchvision.images import NotOurs, is_v2, say
from motley.torchvision._runs import Run, Transforming, is_known


class Fused:
    """What Compose of v1 and of v2 have beside torchvision's: see fuse().

    Attributes:
        not_taken: [(transform, why)] of those that run as they are.
    """

    transforms: Sequence[Transforming]
    not_taken: list[tuple[Transforming, str]]
    alpha = False  # of those that were unpickled from torchvision's own Compose
    _parts: list[Run | Transforming]
    _fused: list[Transforming]

    if TYPE_CHECKING:

        def __call__(self, *inputs: Any) -> Any: ...

    def __init__(self, transforms: Sequence[Transforming], *, alpha: bool = False) -> None:
        super().__init__(transforms)  # type: ignore[call-arg]
        self.alpha = alpha or _has_alpha(transforms)
        self._parts_now()

    def _parts_now(self) -> list[Run | Transforming]:
        """What runs; of a list that was changed, or unpickled from torchvision's own Compose, anew."""
        if vars(self).get("_fused") != [*self.transforms]:
            self._fused = [*self.transforms]
            self._parts, self.not_taken = _parts_of(self._fused, self.alpha)
            for transform, why in self.not_taken:
                say(type(transform).__name__, why, "is not fused")
        return self._parts

    @property
    def transform(self) -> motley.Transform:
        """The motley.Transform that all of them are, for whole batches, sample ids and loaders.

        Raises:
            motley.ArgumentError: They are not one call.
        """
        parts = self._parts_now()
        if len(parts) == 1 and isinstance(parts[0], Run):
            return parts[0].transform
        shown = "; ".join(f"{type(transform).__name__}: {why}" for transform, why in self.not_taken)
        raise motley.ArgumentError(f"the transforms are {len(parts)} calls, want one: {shown or 'of their order'}")


class Compose(Fused, _v1.Compose):
    """torchvision.transforms.Compose, fused when it is made, and again when its list was changed: see fuse()."""

    def __call__(self, img: object) -> Any:
        for part in self._parts_now():
            img = part(img)
        return img


def fuse(compose: Transforming | Sequence[Transforming], *, alpha: bool = False) -> Fused:
    """The same transforms, with as many as possible done at once by Motley.

        transform = motley.torchvision.fuse(transforms.Compose([
            transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.RandAugment(),
            transforms.ToTensor(), transforms.Normalize(mean, std), transforms.RandomErasing(0.25)]))
        print(transform.not_taken)                  # [(transform, why)], here none

    The result is a Compose, of v2 if a transform is. It takes what they take, and gives what torchvision gives on PIL
    images for the same draw, bit for bit. (Images keep their alpha, which torchvision's hue makes opaque. A blur's
    weights depend on how torch was built in their last bits, so that a few bytes differ by 1.) A uint8 tensor gets the
    bytes of the PIL image with its pixels, of 2 or 4 channels band by band; its images share a draw. In samples of v2,
    masks, boxes and keypoints move with their image, under policies, too; what sees no pixel (SanitizeBoundingBoxes,
    ToPureTensor and the like) runs behind them. Each call takes a seed from torch's
    generator, from which torchvision would make other draws. `result.transform` is the motley.Transform, which takes
    whole batches and sample ids.

    An image that Motley does not take (of floats, of other modes, smaller than its crop) goes through torchvision's
    transforms; the logger "motley.torchvision" says so once.

    Args:
        compose: torchvision's Compose, v1 or v2, a transform or a list of them, of torchvision, timm or Motley; or what
            `weights.transforms()` makes for a classification model.
        alpha: Whether the last of a tensor's 2 or 4 channels is alpha, by which colours are multiplied before pixels
            are mixed. False: they are bands. A Compose of Motley's among `compose` that has alpha says so for all of
            them. PIL images of modes LA and RGBA have alpha. Transforms in `not_taken` know bands only.

    Raises:
        motley.ArgumentError: None of them can be taken, and why.
    """
    given = compose if isinstance(compose, (list, tuple, torch.nn.ModuleList)) else [compose]
    listed, alpha = [*_flat(given)], alpha or _has_alpha(given)
    parts, not_taken = _parts_of(listed, alpha)
    if len(not_taken) == len(parts):
        reasons = "; ".join(f"{type(transform).__name__}: {why}" for transform, why in not_taken)
        raise motley.ArgumentError(f"no transform can be taken: {reasons or 'there is none'}")
    if any(map(is_v2, listed)):
        from motley.torchvision.v2 import Compose as Compose2

        result: Fused = Compose2(listed, alpha=alpha)
        return result
    return Compose(listed, alpha=alpha)


def _has_alpha(given: Any) -> bool:
    """Whether there is a Compose of Motley's among given transforms that has alpha."""
    listed = isinstance(given, (list, tuple, torch.nn.ModuleList, torch.nn.Sequential))
    inner = given if listed else getattr(given, "transforms", ())
    return (isinstance(given, Fused) and given.alpha) or any(map(_has_alpha, inner))


def _flat(transforms: Any) -> Iterator[Transforming]:
    for transform in transforms:
        if type(transform).__name__ in ("Compose", "Sequential") and is_known(transform, "torch"):
            yield from _flat(getattr(transform, "transforms", transform))
        else:
            yield transform


def _parts_of(
    transforms: Sequence[Transforming], alpha: bool
) -> tuple[list[Run | Transforming], list[tuple[Transforming, str]]]:
    """Runs and the transforms between them; and these, with why they are."""
    found: list[tuple[Run | None, Transforming, str]] = []  # of each transform its run, or why it is in none
    behind_scaled = False
    for transform in _flat(transforms):
        last = [run for run, _, _ in found[-1:] if run is not None]
        why, own = "", None
        for run in (*last, Run(behind_scaled, alpha)):
            try:
                run.take(transform)
            except NotOurs as error:
                why = (behind_scaled and why) or str(error)
            else:
                own, why = run, "there is nothing to do at once"
                break
        behind_scaled = behind_scaled or (own is not None and own.scaled)
        found.append((own, transform, why))
    parts: list[Run | Transforming] = []
    not_taken: list[tuple[Transforming, str]] = []
    for own, group in itertools.groupby(found, lambda entry: entry[0]):
        if own is not None and own.stages:
            own.finish()
            parts.append(own)
        else:
            for _, transform, why in group:
                parts.append(transform)
                not_taken.append((transform, why))
    return parts, not_taken
