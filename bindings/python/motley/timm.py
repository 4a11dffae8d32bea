# SPDX-License-Identifier: Apache-2.0
"""timm's policies on Motley: the same functions, configuration strings and hparams, the pixels of timm's Pillow path.

    from motley.timm import rand_augment_transform     # in place of: from timm.data.auto_augment import ...

    import motley.timm                                 # or, before timm.data.create_transform(auto_augment=...),
    motley.timm.take_over()                            # these two lines

    motley.timm.create_transform(**arguments)          # in place of timm.data.create_transform: the whole at once
    motley.timm.Mixup(**arguments)                     # in place of timm.data.Mixup

Draws     Each call takes a new seed from Python's random, which is what timm draws from; random.seed() makes a run
          repeatable. They are other draws than timm makes from the same generator, and differ between ranks.
Samples   In `with motley.samples(id, epoch=3):` a call draws for that sample of the data set: see motley.samples."""

from __future__ import annotations

import functools
import random
import sys
import threading
from collections.abc import Mapping
from typing import Any, TypeVar

from motley import ArgumentError, Mix, from_timm
from motley._native import seed_given
from motley.samples import Lineage, samples_of

T = TypeVar("T")

__all__ = [
    "Mixup", "augment_and_mix_transform", "auto_augment_transform", "create_transform", "hand_back",
    "rand_augment_transform", "take_over"
]  # fmt: skip


class Transform:
    """Augments a PIL image or any input of motley.Transform, each image with its own draw."""

    def __init__(self, config: str, hparams: Mapping[str, Any] | None = None, seed: int | None = None) -> None:
        self.config, self.transform = config, from_timm(config, hparams, stream=0)
        self._seed = None if seed is None else seed_given(seed)  # samples_of has its meaning
        self._lineage = Lineage()

    def __call__(self, img: T) -> T:
        ids, view, epoch, seed = samples_of(self, _random_seed)
        transform: Any = self.transform
        made: T = transform(img, sample_ids=ids, view=view, epoch=epoch, seed=seed)
        return made

    def __repr__(self) -> str:
        seed = "" if self._seed is None else f", seed={self._seed}"
        return f"motley.timm.Transform({self.config!r}, policy={self.transform.policy.name}{seed})"


def _random_seed() -> int:
    return random.getrandbits(64)


def rand_augment_transform(
    config_str: str, hparams: Mapping[str, Any] | None = None, transforms: str | None = None, *, seed: int | None = None
) -> Transform:
    """timm's: `transforms` is the name of a set ('weights', '3a', '3aw'), in place of the string's.

    seed makes two runs differ where motley.samples() says which samples are drawn for. Without motley.samples() the
    transform then counts its calls, separately in each worker and rank. None: each call takes a new seed from Python's
    random."""
    if config_str.split("-")[0] != "rand":
        raise ArgumentError(f"config is {config_str!r}, want 'rand' and its settings, such as 'rand-m9-mstd0.5-inc1'")
    if transforms is not None:
        if not isinstance(transforms, str):
            raise ArgumentError(
                f"transforms is a {type(transforms).__name__}, want the name of a set: ops of your own "
                "are a policy file, for motley.Policy.load"
            )
        parts = [part for part in config_str.split("-") if not part.startswith("t")]
        config_str = "-".join([*parts, "t" + transforms])
    return Transform(config_str, hparams, seed)


def auto_augment_transform(
    config_str: str, hparams: Mapping[str, Any] | None = None, *, seed: int | None = None
) -> Transform:
    """timm's: 'original', 'originalr', 'v0', 'v0r' or '3a', with '-mstd' and a number or without. seed: as above."""
    others = {"rand": "rand_augment_transform", "augmix": "augment_and_mix_transform"}
    if other := others.get(config_str.split("-")[0]):
        raise ArgumentError(f"config is {config_str!r}: that is for {other}")
    return Transform(config_str, hparams, seed)


def augment_and_mix_transform(
    config_str: str, hparams: Mapping[str, Any] | None = None, *, seed: int | None = None
) -> Transform:
    """timm's: 'augmix' and its settings, such as 'augmix-m5-w4-d2'. seed: as above."""
    if config_str.split("-")[0] != "augmix":
        raise ArgumentError(f"config is {config_str!r}, want 'augmix' and its settings, such as 'augmix-m5-w4-d2'")
    return Transform(config_str, hparams, seed)


_building = threading.Lock()  # timm's factory has our functions while it makes a transform


def create_transform(*args: Any, **kwargs: Any) -> Any:
    """timm.data.create_transform with the same arguments, as one transform of Motley if possible.

    The result is motley.torchvision.fuse() of what timm makes: `result.not_taken` lists what it cannot take, such as
    train_crop_mode="rkrc", which then runs in timm. If nothing can be fused, the result is timm's.
    With use_prefetcher=True images come out as uint8 tensors."""
    from timm.data import transforms_factory

    from motley.torchvision import fuse

    ours = {made.__name__: made for made in (rand_augment_transform, auto_augment_transform, augment_and_mix_transform)}
    with _building:
        theirs = {name: getattr(transforms_factory, name) for name in ours}
        vars(transforms_factory).update(ours)
        try:
            made = transforms_factory.create_transform(*args, **kwargs)
        finally:
            vars(transforms_factory).update(theirs)

    def fused(compose: Any) -> Any:
        try:
            return fuse(compose)
        except ArgumentError:
            return compose

    return tuple(map(fused, made)) if isinstance(made, tuple) else fused(made)


class Mixup:
    """timm.data.Mixup with the same arguments: MixUp and CutMix in place, with targets.

    Each call takes a new seed from Python's random, or draws for the samples of a motley.samples block around it, which
    has an id for each image. motley.Mix has more: ids as arguments, draws out and in."""

    def __init__(
        self,
        mixup_alpha: float = 1.0,
        cutmix_alpha: float = 0.0,
        cutmix_minmax: tuple[float, float] | None = None,
        prob: float = 1.0,
        switch_prob: float = 0.5,
        mode: str = "batch",
        correct_lam: bool = True,
        label_smoothing: float = 0.1,
        num_classes: int = 1000,
        multi_label: bool = False,
    ) -> None:
        self.mixup_enabled, self.multi_label = True, multi_label
        chances = {"prob": prob, "switch_prob": switch_prob, "label_smoothing": label_smoothing}
        for name, value in chances.items():
            if not 0 <= value <= 1:
                raise ArgumentError(f"{name} is {value!r}, want 0 to 1")
        self._on = prob > 0
        if not self._on and cutmix_minmax is None and not (mixup_alpha or cutmix_alpha):
            mixup_alpha = 1.0  # nothing is mixed, whatever it is
        cut = switch_prob if mixup_alpha > 0 else 1.0
        if cut == 0:  # never CutMix, though it is given
            cutmix_alpha, cutmix_minmax, cut = 0.0, None, 1.0
        self.mix = Mix(
            mixup=mixup_alpha,
            cutmix=cutmix_alpha,
            minmax=cutmix_minmax,
            p=prob or 1.0,
            switch=cut,
            rules="timm",
            mode=mode,  # type: ignore[arg-type]
            keep_lambda=not correct_lam,
            classes=num_classes,
            smoothing=label_smoothing,
            multi_label=multi_label,
            layout="chw",
        )

    def __call__(self, x: Any, target: Any) -> tuple[Any, Any]:
        if len(x) % 2:
            raise ArgumentError(f"there are {len(x)} images, want an even number")
        if self.multi_label != (getattr(target, "ndim", 1) == 2):
            wanted = "soft targets [N, num_classes]" if self.multi_label else "a class for each image"
            raise ArgumentError(f"multi_label is {self.multi_label}, want {wanted}")
        if not (self._on and self.mixup_enabled):
            same = {"kind": "none", "lambda": 1.0, "share": 1.0}
            return self.mix.replay(x, target, [{**same, "partner": i} for i in range(len(x))], out=x)
        ids, view, epoch, seed = samples_of(self, _random_seed)
        ids = ids if hasattr(ids, "__len__") else range(len(x))
        return self.mix(x, target, sample_ids=ids, view=view, epoch=epoch, seed=seed, out=x)

    def __repr__(self) -> str:
        return f"motley.timm.Mixup({self.mix!r})"


@functools.lru_cache(maxsize=None)
def _crop_class() -> Any:
    """timm's RandomResizedCropAndInterpolation with its draws and Pillow's bytes, of PIL images by Motley's kernels; in
    a motley.samples block with the draws of fuse() of it."""
    from PIL.Image import Image
    from timm.data import transforms
    from torchvision.transforms.functional import resized_crop

    from motley._arrays import Pillow
    from motley.draws import Drawn
    from motley.samples import draws_by_id
    from motley.torchvision import fused, pixels

    class RandomResizedCropAndInterpolation(transforms.RandomResizedCropAndInterpolation):
        def __call__(self, img: Any) -> Any:
            if not isinstance(img, Image) or img.mode not in Pillow.channels_of:
                return super().__call__(img)
            if draws_by_id(self):
                run = fused.Run()
                try:
                    run.take(self)
                    ours: Any = run.transform
                    samples, channels = ours._samples(1, samples_of(self, _random_seed)), Pillow.channels_of[img.mode]
                    return ours.replay(img, Drawn.of(ours.policy, samples.c, [img.size], channels))
                except pixels.NotOurs as why:
                    pixels.say(type(self).__name__, why, "draws as timm does, not by sample id")
            top, left, height, width = self.get_params(img, self.scale, self.ratio)
            several = isinstance(self.interpolation, (tuple, list))
            interpolation = random.choice(self.interpolation) if several else self.interpolation
            try:
                if width and height:  # else torchvision refuses
                    return pixels.resized(img, self.size, interpolation, (left, top, width, height))
            except pixels.NotOurs:
                pass
            return resized_crop(img, top, left, height, width, self.size, interpolation)

    RandomResizedCropAndInterpolation.__qualname__ = RandomResizedCropAndInterpolation.__name__  # for pickle
    return RandomResizedCropAndInterpolation


@functools.lru_cache(maxsize=None)
def _tensor_class() -> Any:
    """timm's MaybeToTensor with its values, of PIL images by Motley's kernels."""
    import motley
    import torch
    from PIL.Image import Image
    from timm.data import transforms

    from motley._arrays import Pillow

    output = '{"motley": 1, "name": "to_tensor", "stages": [{"output": {"mean": 0, "std": 1}}]}'
    to_array = motley.Transform(output, stream=0)

    class MaybeToTensor(transforms.MaybeToTensor):
        def __call__(self, pic: Any) -> Any:
            ours = isinstance(pic, Image) and pic.mode in Pillow.channels_of and all(pic.size)
            if not ours or torch.get_default_dtype() is not torch.float32:
                return super().__call__(pic)
            return torch.from_numpy(to_array(pic))

    MaybeToTensor.__qualname__ = MaybeToTensor.__name__  # for pickle
    return MaybeToTensor


def __getattr__(name: str) -> Any:
    if name == "RandomResizedCropAndInterpolation":
        return _crop_class()
    if name == "MaybeToTensor":
        return _tensor_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_theirs: dict[tuple[Any, str], Any] = {}


def take_over() -> None:
    """From here on what timm makes of auto_augment strings runs on Motley, and so do, on PIL images, its
    RandomResizedCropAndInterpolation, which draws what timm draws, or by sample id, and MaybeToTensor. Flips and jitter
    are torchvision's: motley.torchvision.take_over() is for them."""
    import timm.data.auto_augment
    import timm.data.transforms_factory  # noqa: F401, has copies of the names

    functions = rand_augment_transform, auto_augment_transform, augment_and_mix_transform
    taken = *functions, _crop_class(), _tensor_class()
    for module in [m for name, m in list(sys.modules.items()) if name.split(".")[0] == "timm"]:
        for ours in taken:
            theirs = vars(module).get(ours.__name__)
            if theirs is not None and theirs is not ours:
                _theirs[module, ours.__name__] = theirs
                setattr(module, ours.__name__, ours)


def hand_back() -> None:
    """Ends what take_over() began. Transforms that were made in between stay Motley's."""
    while _theirs:
        (module, name), theirs = _theirs.popitem()
        setattr(module, name, theirs)
