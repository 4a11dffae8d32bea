# SPDX-License-Identifier: Apache-2.0
"""timm's strings: what from_timm's policies draw beside what timm's own objects hand to their functions."""

import collections
import inspect
import math
import os
import random
import re
import statistics
from unittest import mock

import numpy as np
import PIL.Image
import pytest
from conftest import refused
from replay import Timm

import motley

timm = Timm.load()
pytestmark = pytest.mark.skipif(timm is None, reason="timm is missing: scripts/setup.sh tests installs it in .venv")
WIDTH, HEIGHT = 640, 400
DRAWS = 6000 if os.environ.get("EVERY", "1") == "1" else 2000
NAMES = {
    "AutoContrast": "auto_contrast",
    "Equalize": "equalize",
    "Invert": "invert",
    "Rotate": "rotate",
    "Posterize": "posterize",
    "Solarize": "solarize",
    "SolarizeAdd": "solarize_add",
    "Color": "color",
    "Contrast": "contrast",
    "Brightness": "brightness",
    "Sharpness": "sharpness",
    "ShearX": "shear_x",
    "ShearY": "shear_y",
    "TranslateXRel": "translate_x",
    "TranslateYRel": "translate_y",
    "Desaturate": "desaturate",
    "GaussianBlur": "gaussian_blur",
    "GaussianBlurRand": "gaussian_blur",
}


class Picture:
    """Passes through timm's policy as an image would, and writes down what is done to it."""

    size = WIDTH, HEIGHT

    def __init__(self):
        self.steps = []

    def copy(self):
        return self

    def __array__(self, dtype=None, copy=None):  # that AugMix sums
        return np.zeros((1, 1, 3), dtype)


def recorder(op):
    name = op.name.replace("Increasing", "").replace("Original", "")
    side = {"TranslateXRel": WIDTH, "TranslateYRel": HEIGHT}.get(name, 1)

    def record(picture, *arguments, **keywords):
        value = arguments[0] if arguments else None
        if name == "GaussianBlurRand":  # draws within its function
            value = random.uniform(0.1, 2.0 * value)
        if name in ("Posterize",):
            value = min(max(value, 0), 8)  # beyond, it keeps all bits, or none
        if side != 1:
            value = -(value * side)  # towards the other side, in pixels
        picture.steps.append((NAMES[name], value))
        return picture

    return record


def timms(config, hparams, count):
    """What timm's policy does to `count` pictures: a list of steps each."""
    makers = {"rand": timm.rand_augment_transform, "augmix": timm.augment_and_mix_transform}
    make = makers.get(config.split("-")[0], timm.auto_augment_transform)
    policy = make(config, dict(hparams))
    for op in (
        op for branch in getattr(policy, "policy", [policy.ops] if hasattr(policy, "ops") else []) for op in branch
    ):
        op.aug_fn = recorder(op)
    random.seed(1)
    np.random.seed(1)
    found = []
    with mock.patch.object(PIL.Image, "blend", lambda image, *_: image):  # of AugMix
        for _ in range(count):
            picture = Picture()
            policy(picture)
            found.append(picture.steps)
    return found


def ours(config, hparams, count):
    draws = motley.from_timm(config, hparams, seed=3).draw(count, size=(HEIGHT, WIDTH))
    return [[(s["op"], s.get("value")) for s in steps if not s["op"].startswith("mix_")] for steps in draws]


CONFIGS = """
    rand-m9-mstd0.5-inc1 rand-m9-mstd0.5 rand rand-m5-n3-p0.7 rand-m7-inc1 rand-m3-n1-p1.0-inc1 rand-inc0-m4
    rand-m15 rand-m15-mmax20-inc1 rand-m12-mmax15-n1-p1 rand-m15-mmax20-mstd2-inc1 rand-m6-mmax8-mstd3
    rand-m9-mstd101 rand-m9-mstd101-inc1 rand-m13-mstd1 rand-tweights rand-m9-mstd0.5-tweights rand-m7-n3-t3a
    rand-m8-mstd1-n4-t3aw rand-m15-mmax20-n1-p1-t3aw rand-m9-tnone-inc1 rand-inc-m9 v0 v0r original originalr 3a
    3a-mstd0.5 3a-mstd3 v0-mstd0.5 v0r-mstd1 original-mstd0.5 originalr-mstd0.3 augmix augmix-m5-w4-d2-mstd0
    augmix-m3-w1-d0-b1 augmix-m8-w2-mstd0.5
""".split()


def near(got, want, sd, what):
    assert abs(got - want) <= 5.5 * sd + 1e-9, f"{what}: {got}, timm's {want}, deviation {sd}"


def compare(config, hparams):
    a, b = ours(config, hparams, DRAWS), timms(config, hparams, DRAWS)
    for what, key in (("steps", len), ("ops", lambda steps: tuple(sorted({op for op, _ in steps})))):
        mine, theirs = (collections.Counter(map(key, x)) for x in (a, b))
        for each in mine.keys() | theirs.keys():
            rate = (mine[each] + theirs[each]) / (2 * DRAWS)
            near(
                mine[each],
                theirs[each],
                math.sqrt(2 * DRAWS * rate * (1 - rate)) + 1,
                f"{config}: how often {what} {each}",
            )
    values = [collections.defaultdict(list), collections.defaultdict(list)]
    for steps, found in zip((a, b), values):
        for op, value in (step for sample in steps for step in sample):
            found[op].append(value)
    for op in values[0].keys() | values[1].keys():
        mine, theirs = values[0][op], values[1][op]
        if (mine + theirs)[0] is None:
            assert not any(v is not None for v in mine + theirs)
            continue
        if len(set(mine)) < 40 and len(set(theirs)) < 40:  # fixed levels: the same values, as often
            counts, others = collections.Counter(mine), collections.Counter(theirs)
            for value in counts.keys() | others.keys():
                rate = (counts[value] + others[value]) / (len(mine) + len(theirs))
                assert (counts[value] and others[value]) or rate * min(len(mine), len(theirs)) < 12, (
                    f"{config}: {op} {value!r}"
                )
                near(
                    counts[value] / len(mine),
                    others[value] / len(theirs),
                    math.sqrt(rate * (1 - rate) * (1 / len(mine) + 1 / len(theirs))),
                    f"{config}: share of {op} {value}",
                )
        else:  # the largest distance of the distributions, by Kolmogorov and Smirnov
            grid = np.sort(np.concatenate([mine, theirs]))
            distance = np.abs(
                np.searchsorted(np.sort(mine), grid, "right") / len(mine)
                - np.searchsorted(np.sort(theirs), grid, "right") / len(theirs)
            ).max()
            assert distance < 2.4 * math.sqrt((len(mine) + len(theirs)) / (len(mine) * len(theirs))), f"{config}: {op}"
            value, count = collections.Counter(theirs).most_common(1)[0]
            if count > 20:  # timm cuts there, and so do we, at the same bits but for a scale that is no power of two
                assert any(abs(v - value) <= 1e-12 * abs(value) for v in mine), f"{config}: {op} is never {value}"


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_draws_as_timm(config):
    compare(config, {})


@pytest.mark.slow
@pytest.mark.parametrize(
    "config,hparams",
    [
        ("rand-m9-inc1", {"translate_pct": 0.3}),
        ("v0", {"translate_pct": 0.2, "translate_const": 99}),
        ("rand-m9-mstd0.5", {"magnitude_std": 2.0}),
        ("rand-m12", {"magnitude_max": 13}),
        ("original", {"magnitude_std": 0.7}),
        ("rand-m15-mmax20-mstd1-inc1", {"translate_pct": 0.3}),
        ("augmix-m3-w3", {"translate_pct": 0.3}),
        ("augmix-m12", {"magnitude_max": 15}),
        ("v0", {"magnitude_std": float("inf")}),
        ("3a", {"magnitude_std": float("inf")}),
        ("3a", {"magnitude_max": 7}),
        ("3a", {"magnitude_max": 0.5}),
        ("3a-mstd4", {"magnitude_max": 8}),
        ("3a-mstd4", {"magnitude_max": 20}),
    ],
)
def test_hparams_as_timm(config, hparams):
    compare(config, hparams)


def radii(policy, at):
    """The share of a 3a policy's blurs whose radius is at most each of `at`: of its text, not of draws."""
    below, weights, text = 0, 0, policy.show()
    for line in text.splitlines():
        found = re.search(r"(?:weight: (\d+), .*)?gaussian_blur, level: \{uniform: \[(.*), (.*)\]", line)
        if found:
            weight, low, high = float(found[1] or 1), float(found[2]) / 5, float(found[3]) / 5
            below, weights = below + weight * np.clip((at - low) / (high - low), 0, 1), weights + weight
    assert 3 * weights == sum(map(float, re.findall("weight: (.*?),", text))) + text.count("- {op")  # a third of all
    return below / weights


@pytest.mark.parametrize("std", [0.2, 0.5, 1])
def test_blurs_of_3a_are_timms(std):
    """Closer than the 512 values that a real level has could tell."""
    at = np.linspace(0, 2.1, 500)
    normal = statistics.NormalDist(10, std)
    tops = np.array([min(normal.inv_cdf((k + 0.5) / 20000), 10) for k in range(20000)]) / 5
    timms_share = np.clip((at[:, None] - 0.1) / (tops - 0.1), 0, 1).mean(1)
    assert np.abs(radii(motley.from_timm(f"3a-mstd{std}").policy, at) - timms_share).max() < 0.5 / 512


def test_fill_and_interpolation():
    steps = [
        step
        for steps in motley.from_timm("rand-m9-inc1", {"img_mean": (124, 116, 104), "interpolation": 3}).draw(300)
        for step in steps
        if "fill" in step
    ]
    assert steps and all(s["fill"] == [124, 116, 104] and s["interpolation"] == "bicubic" for s in steps)
    steps = [step for steps in motley.from_timm("rand-m9-inc1").draw(300) for step in steps if "fill" in step]
    assert {s["interpolation"] for s in steps} == {"bilinear", "bicubic"} and all(s["fill"] == [128] * 3 for s in steps)


def test_augmix_is_mixed_as_its_string_says():
    made = motley.from_timm("augmix-m3-w3").policy.as_dict()
    assert made["augmix"] == {"width": 3, "alpha": 1}
    policy = motley.from_timm("augmix-w5-a0.5-b1-d2").policy
    assert policy.as_dict()["augmix"] == {"width": 5, "alpha": 0.5, "form": "blends"}
    assert "\nrepeat: 2\n" in policy.show()
    assert "augmix" not in policy.change(augmix=None).as_dict()
    refused("unknown key 'depth' in 'augmix'", policy.change, augmix={"depth": 2})
    refused("form is 'all', want sum, blends or one_sum", policy.change, augmix={"width": 3, "alpha": 1, "form": "all"})


def test_the_default_is_the_built_in():
    draws = motley.Transform("timm_rand_m9_mstd05_inc1", seed=1).draw(500)
    assert motley.from_timm("rand-m9-mstd0.5-inc1", seed=1).draw(500) == draws


def test_a_policy_names_its_string():
    policy = motley.from_timm("rand-m9-mstd0.5-inc1").policy
    assert policy.name == "timm_rand-m9-mstd0.5-inc1" and policy.title == "timm rand-m9-mstd0.5-inc1"
    assert motley.Policy(policy.show()) == policy


@pytest.mark.parametrize(
    "config,message",
    [
        ("augmix-x3", "section 'x3' is not known, want m, w, d, a, b"),
        ("augmix-w9", "'width', the number of chains, is 9, want 1..8"),
        ("augmix-d9", "'repeat' is up to 9, want at most 8"),
        ("rnd-m9", "begins with 'rnd', want rand, augmix, v0"),
        ("rand-m9-w0", "section 'w0'.*tweights"),
        ("rand-x9", "section 'x9' is not known, want m, n, p"),
        ("v0-m9", "section 'm9' is not known, want mstd"),
        ("rand-m9.5", "m is '9.5', want a whole number"),
        ("rand-mstd1.2.3", "mstd is '1.2.3', want a number"),
        ("rand-p1.5", "1.5"),
        ("rand-n0", "repeat is 0"),
        ("rand-m15-mstd101", "raise mmax"),
    ],
)
def test_mistakes(config, message):
    refused(message, motley.from_timm, config, error=motley.Error)


def test_the_list_is_timms():
    """Every policy and list of timm's source has its own here, in this order of words."""
    policies = re.findall("name == '(.*?)'", inspect.getsource(timm.auto_augment_policy))
    lists = re.findall("name == '(.*?)'", inspect.getsource(timm.rand_augment_choices))
    assert len(policies) == 5 and lists
    for name in policies:
        assert motley.from_timm(name).policy.title == f"timm {name}"
    drawn = {name: motley.from_timm(f"rand-t{name}").policy.as_dict()["branches"] for name in ["none", *lists]}
    assert all(drawn[name] != drawn[other] for name in drawn for other in drawn if name < other)


def test_a_string_is_a_policy_s_name(tmp_path):
    """Wherever a name is taken, and with settings in place of hparams."""
    string = "timm:rand-m9-mstd0.5-inc1"
    policy = motley.from_timm("rand-m9-mstd0.5-inc1").policy
    assert motley.Policy(string) == policy == motley.Transform(string).policy
    assert motley.Transform(string).policy.show() == policy.show()
    hparams = {"translate_pct": 0.3, "magnitude_std": math.inf, "magnitude_max": 12}
    settings = ",translate_pct=0.3,magnitude_std=inf,magnitude_max=12"
    assert motley.Policy(string + settings) == motley.from_timm("rand-m9-mstd0.5-inc1", hparams).policy != policy
    for wrong, message in [("x=1", "setting 'x' is not known"), ("magnitude_std=a", "magnitude_std is .a.")]:
        refused(message, motley.Policy, f"{string},{wrong}")
    text = f'motley: 1\nname: x\nstages:\n  - policy: "{string},translate_pct=0.3"\n'
    assert motley.Policy(text).show() == text
