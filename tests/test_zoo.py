#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every published policy: each facts file has a policy or a reason, and each policy draws what its facts say.

    test_zoo.py MOTLEY          MOTLEY is the built command

The values are computed here from the facts by their own words (`range`, `rounding`, `level_range`), not by the script
that wrote the policies."""

import importlib.util
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FACTS = ROOT / "policy_files" / "facts"


def load_make_zoo():
    spec = importlib.util.spec_from_file_location("make_zoo", ROOT / "policy_files" / "make_zoo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ZOO = load_make_zoo()


def facts_of(name):
    return json.loads((FACTS / f"{name}.json").read_text(encoding="utf-8"))


def described(name):
    return json.loads(
        subprocess.run([MOTLEY, "show", "--values", name], check=True, capture_output=True, text=True).stdout
    )


def fact_value(name, op, level):
    """The values of an op at a level, for either sign, in the units of the facts."""
    low, high = op["range"]
    bottom, top = op["level_range"]
    position = (level - bottom) / (top - bottom)
    rounding = op.get("rounding", "")
    fixed = re.match(r"(\d+) - int\(", rounding)
    if fixed:
        value = int(fixed.group(1)) - int(round((low - high) * position, 9))
    else:
        value = low + (high - low) * position
        if "int(" in rounding or rounding == "truncate":
            value = int(round(value, 9))
    if op["unit"] == "blend factor offset":
        return 1 + value, 1 - value
    if name == "cutout" and op["unit"] == "pixels (side)":
        value //= 2  # half-open around a pixel's corner: the source halves the side in whole pixels
    return (value, -value) if op["negate"] else (value,)


class Zoo(unittest.TestCase):
    def test_every_facts_file_has_a_policy_or_a_reason(self):
        known = {*ZOO.GENERATED, *ZOO.BY_HAND, *ZOO.NOT_YET, "randaugment_presets"}
        for path in FACTS.glob("*.json"):
            self.assertIn(path.stem, known, f"{path.name} has neither a policy nor a reason in make_zoo.py")
        for name in known:
            self.assertTrue((FACTS / f"{name}.json").exists(), f"make_zoo.py names {name}, which has no facts file")
        self.assertFalse(set(ZOO.NOT_YET) & {*ZOO.GENERATED, *ZOO.BY_HAND}, "a policy that exists has a reason why not")

    def test_facts_without_a_policy_or_a_reason_fail(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, "policy_files")
            shutil.copytree(ROOT / "policy_files", copy)
            pathlib.Path(folder, "doc").mkdir()
            shutil.copy(ROOT / "doc" / "zoo.md", pathlib.Path(folder, "doc"))
            check = [sys.executable, copy / "make_zoo.py", "--check"]
            self.assertEqual(subprocess.run(check).returncode, 0)
            shutil.copy(copy / "facts" / "augmix.json", copy / "facts" / "unheard_of.json")
            done = subprocess.run(check, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("unheard_of.json has no policy in make_zoo.py and no reason why it has none", done.stderr)

    def test_every_builtin_is_listed(self):
        listed = {row[0] for row in ZOO.GENERATED.values()} | {name for names in ZOO.BY_HAND.values() for name in names}
        listed |= {*ZOO.OWN}
        files = {path.stem for path in (ROOT / "policy_files").glob("*.yaml")}
        self.assertEqual(files - listed, set(), "policies that doc/zoo.md does not list")
        self.assertEqual(listed - files, set(), "policies that doc/zoo.md lists, and that are no files")

    def test_generated_files_are_up_to_date(self):
        subprocess.run([sys.executable, ROOT / "policy_files" / "make_zoo.py", "--check"], check=True)

    def test_policies_draw_what_their_facts_say(self):
        compared = 0
        for name, (policy, _, _) in ZOO.GENERATED.items():
            with self.subTest(policy=policy):
                compared += self.compare(facts_of(name), described(policy))
        self.assertGreater(compared, 5000)

    def compare(self, facts, policy):
        """How many values were compared."""
        application = facts["application"]
        wanted = []  # a list of branches for each phase: [[(op, p, levels), ...], ...]
        if facts["kind"] == "schedule":
            self.assertEqual(policy["choice"], "until_applied")
            self.assertEqual(policy["repeat"], application["count_probabilities"])
            self.assertEqual([p["from"] for p in policy["phases"]], [p["first_epoch"] for p in facts["schedule"]])
            for phase in facts["schedule"]:
                steps = facts["subpolicies"][phase["subpolicy"]]
                wanted.append([(1 / 30, [(s["op"], s["p"], [s["level"]])]) for s in steps])
        elif facts["kind"] == "auto_augment":
            self.assertEqual(policy["repeat"], [0, 1])
            rows = facts["subpolicies"]
            wanted.append([(1 / len(rows), [(s["op"], s["p"], [s.get("level")]) for s in row]) for row in rows])
        elif facts["kind"] == "augmix":
            self.assertEqual(
                policy["augmix"], {"width": application["width"], "alpha": application["alpha"], "form": "sum"}
            )
            self.assertEqual(policy["repeat"], [0, 1 / 3, 1 / 3, 1 / 3])
            wanted.append(self.one_op_branches(facts))
        else:
            self.assertEqual(policy["repeat"], [0, 1] if facts["kind"] == "trivial_augment" else [0, 0, 1])
            wanted.append(self.one_op_branches(facts))
        self.assertEqual(len(policy["phases"]), len(wanted))
        return sum(self.compare_phase(facts, got["branches"], rows) for got, rows in zip(policy["phases"], wanted))

    @staticmethod
    def one_op_branches(facts):
        application, count = facts["application"], len(facts["subpolicies"])
        p = application.get("probability_per_op", 1)
        p = 0.5 if isinstance(p, str) else p
        magnitude = application.get("magnitude", "")
        rows = []
        for (step,) in facts["subpolicies"]:
            op = facts["ops"][step["op"]]
            if op["range"] is None:
                rows.append((1 / count, [(step["op"], p, [None])]))
            elif facts["kind"] == "augmix":  # uniform in [0.1, severity]
                severity = application["severity"]
                levels = [0.1 + (severity - 0.1) * (k + 0.5) / 512 for k in range(512)]
                rows.append((1 / count, [(step["op"], p, levels)]))
            elif "uniform in 1..9" in magnitude:
                rows += [(1 / count / 9, [(step["op"], p, [level])]) for level in range(1, 10)]
            elif "continuous" in magnitude:
                rows.append((1 / count, [(step["op"], p, [(k + 0.5) / 512 for k in range(512)])]))
            elif magnitude == "set by the user":
                rows.append((1 / count, [(step["op"], p, [9])]))
            else:  # uniform over all whole levels
                rows.append((1 / count, [(step["op"], p, list(range(op["level_range"][0], op["level_range"][1] + 1)))]))
        return rows

    def compare_phase(self, facts, branches, rows):
        self.assertEqual(len(branches), len(rows))
        compared = 0
        for got, (chance, steps) in zip(branches, rows):
            self.assertAlmostEqual(got["chance"], chance, places=12)
            self.assertEqual(len(got["steps"]), len(steps))
            for step, (name, p, levels) in zip(got["steps"], steps):
                op = facts["ops"][name]
                in_boxes = "applied inside each box" in op.get("boxes", "")
                own = name.removesuffix("_only_bboxes" if in_boxes else "_bbox")
                self.assertIn(step["op"], {own, "cutout_tf", ZOO.OP_NAMES.get(name)})
                self.assertEqual(step["p"], p / 3 if in_boxes else p)
                self.assertEqual(step.get("inside"), "boxes" if in_boxes else None)
                if "fill" in op:
                    self.assertEqual(step["fill"][:3], [int(v) for v in op["fill"].split(",")])
                if op["range"] is None:
                    self.assertEqual(step["levels"], [])
                    continue
                self.assertEqual(len(step["levels"]), len(levels))
                relative = "fraction" in op["unit"] and name != "bbox_cutout"
                self.assertEqual(step.get("of"), ("height" if name == "translate_y" else "width") if relative else None)
                for got_level, level in zip(step["levels"], levels):
                    values = fact_value(name, op, level)
                    self.assertTrue(math.isclose(got_level["level"], level, rel_tol=1e-15), (got_level, level))
                    for value, key in zip(values, ("value", "minus")):
                        self.assertTrue(
                            math.isclose(got_level[key], value, rel_tol=1e-12, abs_tol=1e-12),
                            f"{name} at level {level} is {got_level[key]}, want {value}",
                        )
                        compared += 1
                    self.assertEqual("minus" in got_level, len(values) == 2)
        return compared


if __name__ == "__main__":
    MOTLEY = sys.argv.pop(1)
    unittest.main()
