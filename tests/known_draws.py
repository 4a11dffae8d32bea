#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the tests know of the built-in policies, made from the files in policy_files/ by the reference of
doc/draws.md: tests/known.inc, for each policy a hash of its draws, and for each op with levels a hash of their values;
and doc/draws.json, the golden vectors of that page.

The reference, doc/draws.py, shares no code with the library. Needs NumPy and PyYAML. Run it when a policy or the layout
of the words changes:

    python3 tests/known_draws.py

With names of policies it writes nothing and prints the lines that are hashed:

    python3 tests/known_draws.py rand_augment
"""

import json
import pathlib
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "doc"))
import draws

CASES = [
    (0, 0, 0, 0),
    (7, 0, 1, 0),
    (7, 3, 1, 0),
    (7, 3, 2**32 + 1, 0),
    (2**63 + 5, 199, 123456789, 0),
    (1, 2**30 - 1, 2**64 - 1, 0),
    (42, 1, 5, 0),
    (43, 1, 6, 0),
    (44, 2, 7, 0),
    (45, 2, 8, 0),
    (0, 0, 0, 1),
    (7, 3, 1, 1),
    (7, 3, 2**32 + 1, 2),
    (1, 2**30 - 1, 2**64 - 1, 65535),
    (2**64 - 1, 5, 9, 256),
]  # seed, epoch, sample, view
WIDTH, HEIGHT = 321, 123
BOXES = [[[10.5, 20, 100, 60], [200, 0, 321, 50.25]]]
FILES = ROOT / "policy_files"


def texts(folder):
    return {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yaml"))}


def drawn(policy, seed, epoch, sample, view):
    """The steps of one sample, and its places if it is a transform's."""
    steps, counts, places = policy.draw(draws.Samples(seed, epoch, [sample], view, WIDTH, HEIGHT, boxes=BOXES))
    return steps[0, : counts[0]], places


def takes_boxes(policy):
    return any(step.takes_boxes for _, branches in policy.phases for _, steps in branches for step in steps)


def draw_lines(policy):
    for case in CASES:
        steps = (f"{s['op']}:{s['level']}:{s['values'][0]:.17g}:{s['interpolation']}" for s in drawn(policy, *case)[0])
        yield " ".join(["seed {} epoch {} sample {} view {}:".format(*case), *steps]) + "\n"


def level_lines(values):
    for level, (plus, minus) in enumerate(values):
        yield f"level {level}: {plus + 0.0:.17g} {minus + 0.0:.17g}\n"  # -0 becomes 0


def mot_hash(text):
    """The hash of base/hash.h."""
    data, hashed = text.encode(), 14695981039346656037
    for at in range(0, len(data), 8):
        hashed = (hashed ^ int.from_bytes(data[at : at + 8], "little")) * 1099511628211 % 2**64
        hashed ^= hashed >> 29
    return hashed


def plain(case, steps, places):
    """A golden vector: a draw in the words of draws.md."""
    out = dict(zip(("seed", "epoch", "sample", "view"), case))
    if places and places["first"]["resize"][0, 0] > 0:
        out["first"] = {key: value[0].tolist() for key, value in places["first"].items()}
    for key in ("crop", "resize", "window") if places else ():
        out[key] = places[key][0].tolist()
    if places:
        out.update(
            filter=draws.FILTERS[places["filter"][0]],
            flip=[bool(flip) for flip in places["flip"][0]],
            erase=places["erase"][0],
            noise=int(places["noise"][0]),
        )
    out["steps"] = []
    for s in steps:
        op = str(s["op"])
        step = {"op": op, "level": int(s["level"])}
        if op not in draws.VALUELESS:
            count = {"cutout": 3, "cutout_tf": 3, "bbox_cutout": 5, "kernel_blur": 2}.get(op, 1)
            step["values"] = s["values"][:count].tolist()
        if op in draws.WARPS:
            step["interpolation"] = draws.KINDS[s["interpolation"]]
        if op in draws.WARPS | draws.ERASES:
            step["fill"] = s["fill"][:3].tolist()
        if op in draws.WARPS and not s["inside"].any():
            size = places["resize"][0].tolist() if places else (WIDTH, HEIGHT)
            step["matrix"] = [float(x) for x in draws.matrix(op, float(s["values"][0]), *size)]
        if s["inside"].any():
            step["inside"] = s["inside"].tolist()
        out["steps"].append(step)
    return out


class Part:
    """A view of a text, or what its views share."""

    def __init__(self, text, view, load):
        self.text, self.view, self.load = text, view, load

    def draw(self, samples):
        views = draws.read(draws.plain(self.text, int(samples.epoch)), self.load)
        return (views.shared if self.view == "shared" else views.views[self.view][2]).draw(samples)


def main():
    written = texts(FILES)
    policies = {name: draws.Policy(text) for name, text in written.items()}
    plain_policies = {name: policy for name, policy in policies.items() if not takes_boxes(policy)}
    levels = {}
    for name, text in written.items():
        for op, space in text["ops"].items():
            if "bins" in text and {"range", "low"} & set(space) and "of" not in space and name in plain_policies:
                values = draws.Step({**text, "level": "uniform"}, {"op": op}).values
                levels.setdefault(name, {})[op] = values.tolist()
    known = {
        (name, what): "".join(lines)
        for name, policy in plain_policies.items()
        for what, lines in [
            ("draws", draw_lines(policy)),
            *((op, level_lines(values)) for op, values in levels.get(name, {}).items()),
        ]
    }
    if len(sys.argv) > 1:
        for (name, what), lines in known.items():
            if name in sys.argv[1:]:
                print(f"{what} of {name}:\n{lines}", end="")
        return
    with open(ROOT / "tests" / "known.inc", "w", encoding="ascii") as file:
        file.write("/* SPDX-License-Identifier: Apache-2.0 */\n/* Generated by tests/known_draws.py. */\n")
        for (name, what), lines in known.items():
            file.write(f'{{ 0x{mot_hash(lines):016x}, "{name}", "{what}" }},\n')
    transforms = {}
    for name, text in texts(FILES / "transforms").items():
        if "views" not in text:
            transforms[name] = draws.read(text, written.__getitem__)
            continue
        for view in [*(["shared"] if "stages" in text else []), *(view["name"] for view in text["views"])]:
            transforms[f"{name}, {view}"] = Part(text, view, written.__getitem__)
    cases = CASES[:5] + CASES[-2:]
    vectors = {
        name: [plain(case, *drawn(policy, *case)) for case in cases]
        for name, policy in {**policies, **transforms}.items()
    }
    with open(ROOT / "doc" / "draws.json", "w", encoding="ascii") as file:
        file.write(f'{{"width": {WIDTH}, "height": {HEIGHT}, "channels": 3, "boxes": {json.dumps(BOXES[0])},\n')
        rows = (f'"{name}": [\n' + ",\n".join(map(json.dumps, own)) + "]" for name, own in vectors.items())
        file.write('"draws": {\n' + ",\n".join(rows))
        file.write('},\n"levels": {\n')
        file.write(
            ",\n".join(
                f'"{name} {op}": {json.dumps(values)}' for name, ops in levels.items() for op, values in ops.items()
            )
        )
        file.write("}}\n")


if __name__ == "__main__":
    main()
