# SPDX-License-Identifier: Apache-2.0
"""timm's configuration strings, which the library reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._native import ArgumentError
from .policy import Policy
from .stage import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from typing_extensions import Unpack

    from ._types import Settings

NUMBERS = ("translate_pct", "magnitude_std", "magnitude_max")  # of hparams: the library reads them behind the string


def from_timm(config: str, hparams: Mapping[str, Any] | None = None, **stage: Unpack[Settings]) -> Stage:
    """A Stage of one of timm's strings: "rand-m9-mstd0.5-inc1", "rand-m7-n3-p0.6-tweights", "original-mstd0.5", "v0r".

    A string that begins with "rand" has, in any order: m (magnitude, 10), n (ops per image, 2), p (probability of each,
    0.5), mstd (the magnitude's deviation; above 100: uniform from 0), mmax (what it is cut to, 10), inc (1: ops get
    stronger with the magnitude), t (the list: weights, 3a, 3aw). One that begins with v0, v0r, original, originalr or
    3a has mstd. "augmix" has m (magnitude, 3), w (chains, 3), d (ops of a chain, 1 to 3 of them), a (alpha, 1), b (1:
    blended chain by chain) and mstd (without it magnitudes are uniform from 0).

    Args:
        config: The string.
        hparams: timm's dict: img_mean (the fill), translate_pct, interpolation, magnitude_std, magnitude_max; it goes
            before what the string says.
        stage: Other keywords are Stage's.
    """
    hparams = dict(hparams or {})
    if not isinstance(config, str):
        raise ArgumentError(f"config is a {type(config).__name__}, want a string such as 'rand-m9-mstd0.5-inc1'")
    numbers = [f",{key}={hparams[key]}" for key in NUMBERS if hparams.get(key) is not None]
    policy = Policy.builtin("".join(["timm:", config, *numbers]))
    if "img_mean" in hparams or "interpolation" in hparams:
        policy = policy.change(fill=hparams.get("img_mean"), interpolation=hparams.get("interpolation"))
    return Stage(policy, **stage)
