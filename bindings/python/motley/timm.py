# SPDX-License-Identifier: Apache-2.0
"""timm's policies on Motley: the same functions, configuration strings and hparams, the pixels of timm's Pillow path.

    from motley.timm import rand_augment_transform     # in place of: from timm.data.auto_augment import ...

    import motley.timm                                 # or, before timm.data.create_transform(auto_augment=...),
    motley.timm.take_over()                            # these two lines

Draws     Each call takes a new seed from Python's random, which is what timm draws from; random.seed() makes a run
          repeatable. They are other draws than timm makes from the same generator.
Samples   In `with motley.samples(id, epoch=3):` a call draws for that sample of the data set: see motley.samples."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from typing import Any, TypeVar

from motley import ArgumentError, from_timm
from motley.samples import samples_of

T = TypeVar("T")

__all__ = ["rand_augment_transform", "auto_augment_transform", "take_over", "hand_back"]


class Transform:
    """Augments a PIL image, or whatever else motley.Stage takes, each image with a draw of its own."""

    def __init__(self, config: str, hparams: Mapping[str, Any] | None) -> None:
        self.config, self.stage = config, from_timm(config, hparams)

    def __call__(self, img: T) -> T:
        seed, ids, rest = samples_of(self, _fresh_seed)
        return self.stage(img, seed=seed, sample_ids=ids, **rest)

    def __repr__(self):
        return f"motley.timm.Transform({self.config!r}, policy={self.stage.policy.name})"


def _fresh_seed():
    return random.getrandbits(64)


def rand_augment_transform(
    config_str: str, hparams: Mapping[str, Any] | None = None, transforms: str | None = None
) -> Transform:
    """timm's: `transforms` is the name of a set ('weights', '3a', '3aw'), in place of the string's."""
    if config_str.split("-")[0] != "rand":
        raise ArgumentError(f"config is {config_str!r}, want 'rand' and its settings, such as 'rand-m9-mstd0.5-inc1'")
    if transforms is not None:
        if not isinstance(transforms, str):
            raise ArgumentError(f"transforms is a {type(transforms).__name__}, want the name of a set: ops of your own "
                                "are a policy file, for motley.Policy.load")
        parts = [part for part in config_str.split("-") if not part.startswith("t")]
        config_str = "-".join([*parts, "t" + transforms])
    return Transform(config_str, hparams)


def auto_augment_transform(config_str: str, hparams: Mapping[str, Any] | None = None) -> Transform:
    """timm's: 'original', 'originalr', 'v0', 'v0r' or '3a', with '-mstd' and a number or without."""
    if config_str.split("-")[0] == "rand":
        raise ArgumentError(f"config is {config_str!r}: that is for rand_augment_transform")
    return Transform(config_str, hparams)


_theirs = {}


def take_over() -> None:
    """From here on what timm makes of auto_augment strings runs on Motley; 'augmix' stays timm's."""
    import timm.data.auto_augment
    import timm.data.transforms_factory  # noqa: F401, has copies of the names
    for module in [m for name, m in list(sys.modules.items()) if name.split(".")[0] == "timm"]:
        for ours in (rand_augment_transform, auto_augment_transform):
            theirs = vars(module).get(ours.__name__)
            if theirs is not None and theirs is not ours:
                _theirs[module, ours.__name__] = theirs
                setattr(module, ours.__name__, ours)


def hand_back() -> None:
    """Ends what take_over() began. Transforms that were made in between stay Motley's."""
    while _theirs:
        (module, name), theirs = _theirs.popitem()
        setattr(module, name, theirs)
