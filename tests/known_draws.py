#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the tests know of the built-in policies, made a second time from the files in policy_files/:
tests/known_draws.inc, draws; tests/known_views.inc, draws of other views than 0; and tests/known_levels.inc, the value
of every bin of the policies that have bins.

Shares no code with the library: Philox4x32-10 is written out, levels are evaluated with exact fractions, and the
layout of the words is the one that policies/draw.h describes. Needs PyYAML. Run it when a policy or the layout changes:

    python3 tests/known_draws.py policy_files tests
"""
import math
import pathlib
import statistics
import sys
from fractions import Fraction

import yaml

CASES = [(0, 0, 0), (7, 0, 1), (7, 3, 1), (7, 3, 2**32 + 1), (2**63 + 5, 199, 123456789), (1, 2**30 - 1, 2**64 - 1),
         (42, 1, 5), (43, 1, 6), (44, 2, 7), (45, 2, 8)]  # seed, epoch, sample
VIEWS = [(0, 0, 0, 1), (7, 3, 1, 1), (7, 3, 2**32 + 1, 2), (1, 2**30 - 1, 2**64 - 1, 65535),
         (2**64 - 1, 5, 9, 256)]  # seed, epoch, sample, view
WITH_VIEWS = ["auto_augment_imagenet", "rand_augment", "trivial_augment_wide"]
WIDTH, HEIGHT = 321, 123
VALUELESS = {"identity", "auto_contrast", "equalize", "invert", "flip_lr", "flip_ud", "grayscale"}
WARPS = {"shear_x", "shear_y", "translate_x", "translate_y", "rotate"}
KINDS = {"nearest": 0, "bilinear": 1, "bicubic": 2}


def philox(counter, key):
    for _ in range(10):
        a, b = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ counter[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def low_high(x):
    return [x & 0xFFFFFFFF, x >> 32]


def f32(x):
    """A fraction or float to the nearest binary32, correctly: by way of integers."""
    x = Fraction(x)
    if x == 0:
        return Fraction(0)
    exponent = math.floor(math.log2(abs(x))) - 23
    scaled = x / Fraction(2) ** exponent
    if abs(scaled) >= 2**24:
        scaled, exponent = scaled / 2, exponent + 1
    return round(scaled) * Fraction(2) ** exponent


def linspace(low, high, bins, i):
    low, high = f32(low), f32(high)
    step = f32(f32(high - low) / (bins - 1))
    return float(f32(step * i + low) if i < bins // 2 else f32(-step * (bins - 1 - i) + high))


def magnitude(policy, space, level, side):
    low = space["range"][0] if "range" in space else space["low"]
    span = space["range"][1] - low if "range" in space else space["span"]
    if policy.get("arithmetic") == "torch":
        m = linspace(low * side, (low + span) * side, policy["bins"], level)
    else:
        top = policy["top"] if "top" in policy else policy["bins"] - 1
        m = (level / top * span + low) * side
    return {"trunc": math.trunc, "half_even": round, None: float}[space.get("round")](m)


def value_of(policy, op, space, level, minus):
    side = {"width": WIDTH, "height": HEIGHT, None: 1}[space.get("of")]
    m = magnitude(policy, space, level, side)
    if space.get("sign") == "minus" or (space.get("sign") == "random" and minus):
        m = -float(m)  # of a whole number, too: -0 is one
    v = float(m) if "of" in space else float(space.get("base", 0) + m)
    v = float(min(max(v, space.get("min", -math.inf)), space.get("max", math.inf)))
    if space.get("via") == "degrees":
        angle = math.radians(math.degrees(math.atan(v)))
        v = math.tan(angle) if op == "shear_x" else -(math.sin(-angle) / math.cos(angle))
    return v


def level_of(policy, level, word):
    if level == "uniform":
        bin_ = word * policy["bins"] >> 32
        return bin_, bin_
    if isinstance(level, dict):
        k = word * 512 >> 32
        p = (k + 0.5) / 512
        if "uniform" in level:
            low, high = level["uniform"]
            return k, low + (high - low) * p
        x = level["normal"] + level["std"] * (round(statistics.NormalDist().inv_cdf(p) * 2**20) / 2**20)
        return k, min(max(x, 0.0), policy["top"])
    return 0, level


def whole(weights):
    """Weights as whole numbers: 1 each where all are equal, themselves where they are whole, else shares of 2^31."""
    if all(w == weights[0] for w in weights):
        return [1 if w else 0 for w in weights]
    if all(w == math.floor(w) for w in weights):
        return [int(w) for w in weights]
    return [0 if w == 0 else max(1, round(w / math.fsum(weights) * 2**31)) for w in weights]


def choose(word, weights):
    """The index that a word chooses by weight."""
    x = word * sum(weights) >> 32
    return next(i for i in range(len(weights)) if x < sum(weights[: i + 1]))


def phase_of(policy, epoch):
    """(weight, steps) of each branch that has a weight, at this epoch."""
    phases = policy.get("phases") or [{"from": 0, "branches": policy["branches"]}]
    branches = [phase for phase in phases if phase["from"] <= epoch][-1]["branches"]
    weighted = [(b["weight"], b["steps"]) if isinstance(b, dict) and "weight" in b else (1, b) for b in branches]
    weights = whole([weight for weight, _ in weighted])
    return [(weight, steps if isinstance(steps, list) else [steps])
            for weight, (_, steps) in zip(weights, weighted) if weight]


def rounded(x):
    """To 20 bits behind the first."""
    fraction, exponent = math.frexp(x)
    return math.ldexp(round(fraction * 2**21) / 2**21, exponent)


def gamma_quantile(k):
    """Of the k-th of 512 cells of Gamma(1, 1)."""
    return rounded(-math.log1p(-(k + 0.5) / 512))


def beta_quantile(k):
    """Of Beta(1, 1), which is uniform."""
    return 1 - beta_quantile(511 - k) if k >= 256 else rounded((k + 0.5) / 512)


def mixed(policy, words, epoch):
    """The chains of a policy that mixes, and their weights."""
    mix = policy["augmix"]
    assert mix.get("alpha", 1) == 1, "other alphas have no quantiles in closed form"
    chains, form = range(mix.get("width", 3)), mix.get("form", "sum")
    shares = [gamma_quantile(words(512 * c + 48)[0] * 512 >> 32) for c in chains]
    m, total = beta_quantile(words(48)[1] * 512 >> 32), 0.0
    for share in shares:
        total += share
    weights = [f32(share / total) for share in shares]
    if form != "sum":
        weights = [f32(w * f32(m)) for w in weights]
    if form == "blends":
        rest = Fraction(1)
        for c in reversed(chains):
            weights[c] = min(f32(weights[c] / rest), Fraction(1)) if rest else Fraction(0)
            rest = f32(rest * f32(1 - weights[c]))

    def step(name, weight):
        return f"{name}:0:{float(weight):.17g}:0 "

    text = step("mix_add", f32(1 - m)) if form == "one_sum" else ""
    for c in chains:
        text += chain(policy, words, 512 * c, epoch) + step("mix_blend" if form == "blends" else "mix_add", weights[c])
    return text + ("" if form == "blends" else step("mix_sum", 1 if form == "one_sum" else f32(m)))


def draw(policy, seed, epoch, sample, view=0):
    def words(block):
        return philox([view << 16 | block, epoch] + low_high(sample), low_high(seed))

    return mixed(policy, words, epoch) if "augmix" in policy else chain(policy, words, 0, epoch)


def chain(policy, words, first, epoch):
    kinds = policy["interpolation"] if isinstance(policy["interpolation"], list) else [policy["interpolation"]]
    branches, taken, applied, text = phase_of(policy, epoch), set(), 0, ""
    wanted, choice = policy["repeat"], policy.get("choice", "with_replacement")
    if isinstance(wanted, dict):
        wanted = choose(words(first)[0], whole(wanted["weights"]))
    turns = wanted if choice == "with_replacement" else min(wanted, len(branches))
    if choice == "until_applied":
        turns = len(branches) if wanted else 0
    for r in range(turns):
        block, before = first + 1 + 64 * r, text
        at = choose(words(block)[0], [0 if i in taken else weight for i, (weight, _) in enumerate(branches)])
        taken |= set() if choice == "with_replacement" else {at}
        for s, step in enumerate(branches[at][1]):
            step = {"op": step} if isinstance(step, str) else step
            name, w = step["op"], words(block + 1 + 2 * s)
            if not w[0] < round(step.get("p", 1) * 2**32):
                continue
            space = policy["ops"].get(name) or {}
            op, bin_, value = space.get("op", name), 0, 0.0
            if "value" in step:
                value = float(step["value"])
            elif op not in VALUELESS:
                bin_, level = level_of(policy, step.get("level", policy.get("level")), w[1])
                value = value_of(policy, op, space, level, w[2] >> 31)
            kind = KINDS[kinds[w[3] * len(kinds) >> 32]] if op in WARPS else 0
            text += f"{op}:{bin_}:{value:.17g}:{kind} "
        applied += text != before
        if choice == "until_applied" and applied == wanted:
            break
    return text


def takes_boxes(policy):
    return any(name == "bbox_cutout" or "inside" in space for name, space in policy["ops"].items())


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    policies = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yaml"))]
    policies = [policy for policy in policies if not takes_boxes(policy)]  # bindings/python/tests/test_boxes.py does
    with open(out / "known_views.inc", "w", encoding="ascii") as file:
        file.write("/* SPDX-License-Identifier: Apache-2.0 */\n/* Generated by tests/known_draws.py. */\n")
        for policy in policies:
            for seed, epoch, sample, view in VIEWS if policy["name"] in WITH_VIEWS else []:
                file.write(f'{{ {view}u, {{ "{policy["name"]}", {seed}u, {sample}u, {epoch}u, {WIDTH}, {HEIGHT},\n'
                           f'  "{draw(policy, seed, epoch, sample, view)}" }} }},\n')
    with open(out / "known_draws.inc", "w", encoding="ascii") as file:
        file.write("/* SPDX-License-Identifier: Apache-2.0 */\n/* Generated by tests/known_draws.py. */\n")
        for policy in policies:
            for seed, epoch, sample in CASES:
                file.write(f'{{ "{policy["name"]}", {seed}u, {sample}u, {epoch}u, {WIDTH}, {HEIGHT},\n'
                           f'  "{draw(policy, seed, epoch, sample)}" }},\n')
    with open(out / "known_levels.inc", "w", encoding="ascii") as file:
        file.write("/* SPDX-License-Identifier: Apache-2.0 */\n/* Generated by tests/known_draws.py. */\n")
        for policy in policies:
            for op, space in policy["ops"].items():
                if "of" in space or "bins" not in policy or not {"range", "low"} & set(space):
                    continue
                for level in range(policy["bins"]):
                    plus, minus = (value_of(policy, op, space, level, sign) for sign in (0, 1))
                    file.write(f'{{ "{policy["name"]}", "{op}", {level}, {{ {plus.hex()}, {minus.hex()} }} }},\n')


if __name__ == "__main__":
    main()
