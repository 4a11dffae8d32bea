# SPDX-License-Identifier: Apache-2.0
"""timm's configuration strings as policies: built-in policies of timm's lists, with what a string changes of them.

Strings are read as timm 1.0.31 reads them (timm/data/auto_augment.py). What the lists hold and how a level becomes a
value stands in the policy files; only numbers are exchanged here."""

from __future__ import annotations

import collections
import math
import re
from typing import TYPE_CHECKING

from .errors import ArgumentError, UnsupportedError
from .policy import Policy
from .stage import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from typing_extensions import Unpack

    from ._types import Settings

LEVELS = 10.0  # of timm's scale, past which levels are cut unless mmax says otherwise
AUTO_AUGMENT = {
    "v0": "timm_auto_augment_v0",
    "v0r": "timm_auto_augment_v0r",
    "original": "timm_auto_augment_original",
    "originalr": "timm_auto_augment_originalr",
    "3a": "timm_3_augment",
}
RAND_AUGMENT = {"weights": "timm_rand_augment_weights", "3a": "timm_rand_augment_3a", "3aw": "timm_rand_augment_3aw"}
# What timm, or Pillow, cuts a value to where mmax lets levels pass 10: by timm's function for the level.
LIMITS = {
    "posterize": {"min": 0, "max": 8},
    "solarize": {"min": 0, "max": 256},
    "solarize_add": {"max": 128},
    "desaturate": {"min": 0.5, "max": 1},
    "gaussian_blur": {"min": 0.1, "max": 2},
}
BLURS = 64  # of equal chance: the ranges of 3a's blur, when timm draws the range as well


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
    return Stage(policy_of(config, hparams), **stage)


def policy_of(config: str, hparams: Mapping[str, Any] | None = None) -> Policy:
    """The Policy of one of timm's strings."""
    hparams = dict(hparams or {})
    first, *sections = config.split("-")
    if first == "rand":
        policy = _rand_augment(config, sections, hparams)
    elif first in AUTO_AUGMENT:
        policy = _auto_augment(config, first, sections, hparams)
    elif first == "augmix":
        policy = _augmix(config, sections, hparams)
    else:
        raise ArgumentError(f"'{config}': it begins with '{first}', want rand, augmix, {', '.join(AUTO_AUGMENT)}")
    return policy.change(fill=hparams.get("img_mean"), interpolation=hparams.get("interpolation"))


def _sections(config, sections, wanted):
    """{key: text of the number}; a section without a digit is skipped, as timm does."""
    found = {}
    for section in sections:
        match = re.match(r"([^\d]*)(\d.*)$", section)
        if match is None:
            continue
        if match[1] not in wanted:
            hint = " (timm dropped w; its list of weights is 'tweights')" if match[1] == "w" else ""
            raise ArgumentError(f"'{config}': section '{section}' is not known, want {', '.join(wanted)}{hint}")
        found[match[1]] = match[2]
    return found


def _number(config, key, text, kind):
    try:
        return kind(text)
    except ValueError:
        wanted = "a whole number" if kind is int else "a number"
        raise ArgumentError(f"'{config}': {key} is '{text}', want {wanted}") from None


def _rand_augment(config, sections, hparams):
    lists = [section[1:] for section in sections if section.startswith("t")]
    found = _sections(config, [s for s in sections if not s.startswith("t")], ("m", "n", "p", "mstd", "mmax", "inc"))
    whole = {key: _number(config, key, found[key], int) for key in ("m", "n", "mmax", "inc") if key in found}
    std = _number(config, "mstd", found.get("mstd", "0"), float)
    std = hparams.get("magnitude_std", math.inf if std > 100 else std)
    most = hparams.get("magnitude_max", whole.get("mmax")) or LEVELS
    increasing = "timm_rand_m9_mstd05_inc1" if whole.get("inc") else "timm_rand_augment"
    base = Policy.builtin(RAND_AUGMENT.get(lists[0], increasing) if lists else increasing)
    magnitude, fixed = float(whole.get("m", LEVELS)), not std > 0
    if fixed:
        magnitude = min(magnitude, most)
    # A fixed level past timm's scale is the top of ours, so that its value comes out of the same operations.
    top = (LEVELS if magnitude <= LEVELS else magnitude) if fixed else float(most)
    return base.change(
        level=_level(config, magnitude, std, top),
        p=_number(config, "p", found.get("p", "0.5"), float),
        repeat=whole.get("n"),
        **_scale(base, top, hparams),
        **_names(config),
    )


def _auto_augment(config, first, sections, hparams):
    found = _sections(config, sections, ("mstd",))
    std = hparams.get("magnitude_std", _number(config, "mstd", found.get("mstd", "0"), float))
    most = hparams.get("magnitude_max") or LEVELS
    base = Policy.builtin(AUTO_AUGMENT[first])
    fixed = not std > 0
    top = LEVELS if fixed else float(most)
    branches, scale = base.branches, _scale(base, top, hparams)
    for step in (step for branch in branches for step in branch["steps"]):
        if isinstance(step.get("level"), float):
            step["level"] = _level(config, min(step["level"], most) if fixed else step["level"], std, top)
    if first == "3a" and (not fixed or most < LEVELS):
        branches = _blurs_of_3a(branches, std, most)
        scale["ops"]["gaussian_blur"] = {"low": 0, "span": top / 5, "max": math.inf, "min": -math.inf}
    return base.change(branches=branches, **scale, **_names(config))


def _augmix(config, sections, hparams):
    found = _sections(config, sections, ("m", "w", "d", "a", "b", "mstd"))
    whole = {key: _number(config, key, found.get(key, text), int) for key, text in [("m", "3"), ("w", "3"), ("b", "0")]}
    std = hparams.get("magnitude_std", _number(config, "mstd", found.get("mstd", "inf"), float))
    top = float(hparams.get("magnitude_max") or LEVELS)
    magnitude = float(whole["m"])
    if not std > 0:
        magnitude = min(magnitude, top)
        top = max(magnitude, LEVELS)
    base = Policy.builtin("timm_augmix")
    pct = {"translate_pct": 0.45}  # which timm's factory sets to 0.3
    form = "blends" if whole["b"] else "sum"
    return base.change(
        augmix={"width": whole["w"], "alpha": _number(config, "a", found.get("a", "1"), float), "form": form},
        repeat=_number(config, "d", found.get("d", "0"), int) or None,
        level=_level(config, magnitude, std, top),
        **_scale(base, top, {**pct, **hparams}),
        **_names(config),
    )


def _blurs_of_3a(branches, std, most):
    """timm draws the radius of 3a's blur between 0.1 and a fifth of the magnitude. Where the magnitude is drawn too, it
    is here the middle of one of BLURS cells, each a branch with the range of radii that it means."""
    count = BLURS if std > 0 else 1
    middles = [(k + 0.5) / count for k in range(count)]
    magnitudes = [LEVELS * p if std == math.inf else LEVELS + max(std, 0) * _normal(p) for p in middles]
    others = [{**branch, "weight": count} for branch in branches if branch["steps"][0]["op"] != "gaussian_blur"]
    blurs = []
    for end, weight in collections.Counter(min(max(m, 0.0), most, LEVELS) for m in magnitudes).items():
        low, high = sorted((0.5, end))  # radius = level / 5
        level = {"uniform": [low, high]} if low < high else low
        blurs.append({"weight": weight, "steps": [{"op": "gaussian_blur", "level": level}]})
    return others + blurs


def _normal(p):
    """The standard normal's quantile, rounded as the library's, so that the last bits of a libm do not matter."""
    import statistics  # slow to import

    return round(statistics.NormalDist().inv_cdf(p) * 2**20) / 2**20


def _level(config, magnitude, std, top):
    if std != math.inf:
        return {"normal": magnitude, "std": max(std, 0)}
    if magnitude > top:
        raise UnsupportedError(
            f"'{config}': a uniform magnitude of 0 to {magnitude:g} that is cut at {top:g} is none that a policy can "
            "draw: raise mmax"
        )
    return {"uniform": [0, magnitude]} if magnitude else {"normal": 0, "std": 0}


def _scale(policy, top, hparams):
    """A scale that ends at `top`, with the same values at the same levels; translate_pct is the fraction of a side at
    level 10."""
    factor, ops = top / LEVELS, policy.ops
    if top != LEVELS:
        for name, numbers in ops.items():
            numbers.update(span=factor * numbers["span"], **(LIMITS.get(name, {}) if top > LEVELS else {}))
    if "translate_pct" in hparams:
        span = factor * float(hparams["translate_pct"])
        ops.update({name: {"low": 0, "span": span} for name in ops if name.startswith("translate_")})
    return {"top": top, "ops": ops}


def _names(config):
    return {"name": re.sub(r"[^\w.-]", "_", f"timm_{config}")[:40], "title": f"timm {config}"}
