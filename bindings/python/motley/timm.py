# SPDX-License-Identifier: Apache-2.0
"""timm's training transforms on Motley, with timm's arguments.

    transform = motley.timm.create_transform(224, is_training=True, auto_augment="rand-m9-mstd0.5-inc1")
    mixup = motley.timm.Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=1000)

A configuration string is a policy's name: motley.Transform("timm:rand-m9-mstd0.5-inc1"), and motley.from_timm takes
timm's hparams beside it. Each call draws anew, from torch's generator; timm draws from others."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from motley import ArgumentError, from_timm, mix

if TYPE_CHECKING:
    import torch

    from motley.torchvision import Compose

__all__ = ["Mixup", "create_transform"]

HPARAMS = "img_mean", "interpolation", "translate_pct"  # that timm's create_transform gives its policies


def create_transform(*args: Any, **kwargs: Any) -> Compose | tuple[Compose, ...]:
    """timm.data.create_transform with the same arguments, fused: a motley.torchvision.Compose.

    Its `not_taken` lists what runs in timm, such as train_crop_mode="rkrc", and why. With use_prefetcher=True images
    come out as uint8 tensors; with separate=True there are three Composes, as in timm."""
    from timm.data.transforms_factory import create_transform as theirs

    from motley.torchvision import Compose

    composed: Any = theirs(*args, **kwargs)
    config = inspect.signature(theirs).bind(*args, **kwargs).arguments.get("auto_augment")
    if isinstance(composed, tuple):
        return tuple(Compose([*_ours(part, config)]) for part in composed)
    return Compose([*_ours(composed, config)])


def _ours(composed: Any, config: str | None) -> Iterator[Any]:
    """The transforms, the policy of the configuration string by Motley."""
    for transform in getattr(composed, "transforms", [composed]):
        if config and type(transform).__module__ == "timm.data.auto_augment":
            op = transform.policy[0][0] if hasattr(transform, "policy") else transform.ops[0]
            transform = from_timm(config, {key: op.hparams[key] for key in HPARAMS if key in op.hparams})
        yield transform


class Mixup:
    """timm.data.Mixup with the same arguments: MixUp and CutMix in place, with targets.

    Each call draws anew, from torch's generator. `mix` is its motley.Transform: ids as arguments, draws out and in."""

    def __init__(
        self,
        mixup_alpha: float = 1.0,
        cutmix_alpha: float = 0.0,
        cutmix_minmax: tuple[float, float] | None = None,
        prob: float = 1.0,
        switch_prob: float = 0.5,
        mode: Literal["batch", "pair", "elem"] = "batch",
        correct_lam: bool = True,
        label_smoothing: float = 0.1,
        num_classes: int = 1000,
        multi_label: bool = False,
    ) -> None:
        self.mixup_enabled, self.multi_label, self.label_smoothing = True, multi_label, label_smoothing
        chances = {"prob": prob, "switch_prob": switch_prob, "label_smoothing": label_smoothing}
        for name, value in chances.items():
            if not 0 <= value <= 1:
                raise ArgumentError(f"{name} is {value!r}, want 0 to 1")
        if prob == 0 and cutmix_minmax is None and not (mixup_alpha or cutmix_alpha):
            mixup_alpha = 1.0  # nothing is mixed, whatever it is
        if mixup_alpha > 0 and switch_prob == 0:  # never CutMix, though it is given
            cutmix_alpha, cutmix_minmax = 0.0, None
        self.mix = mix(
            mixup=mixup_alpha,
            cutmix=cutmix_alpha,
            minmax=cutmix_minmax,
            p=prob,
            switch=switch_prob or 1.0,
            rules="timm",
            mode=mode,
            keep_lambda=not correct_lam,
            classes=num_classes,
            smoothing=0.0 if multi_label else label_smoothing,
            layout="chw",
        )

    def __call__(self, x: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if len(x) % 2:
            raise ArgumentError(f"there are {len(x)} images, want an even number")
        if self.multi_label != (getattr(target, "ndim", 1) == 2):
            wanted = "soft targets [N, num_classes]" if self.multi_label else "a class for each image"
            raise ArgumentError(f"multi_label is {self.multi_label}, want {wanted}")
        if self.multi_label:
            target = target.float() * (1 - self.label_smoothing) + self.label_smoothing / 2
        if not self.mixup_enabled:
            same = [{"kind": "none", "partner": i, "lambda": 1.0, "share": 1.0} for i in range(len(x))]
            draws = [{**draw, "mix": own} for draw, own in zip(self.mix.draw(len(x)), same)]
            mixed: tuple[torch.Tensor, torch.Tensor] = self.mix.replay(x, draws, labels=target, out=x)
            return mixed
        mixed = self.mix(x, labels=target, out=x)
        return mixed

    def __repr__(self) -> str:
        return f"motley.timm.Mixup({self.mix!r})"
