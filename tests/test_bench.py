# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks compute of times, without a GPU: bench/blocks.py, and the rows of bench/views.py."""

import os
import pathlib
import sys
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[1] / "bench"
sys.path.insert(0, str(BENCH))
import blocks  # noqa: E402


class Machine:
    """A clock that steps move on: by their own time, and more from step to step, as a machine slows down."""

    def __init__(self, drift=0.0):
        self.now, self.speed, self.drift, self.order = 0.0, 1.0, drift, []

    def step(self, name, seconds):
        def run(*_):
            self.now += seconds * self.speed
            self.speed += self.drift
            self.order.append(name)

        return run

    def clock(self):
        return self.now


class Blocks(unittest.TestCase):
    def test_every_round_has_another_order(self):
        machine = Machine()
        cases = {name: machine.step(name, 1) for name in "abc"}
        times = blocks.in_blocks(cases, 8, 2, lambda: None, settle=1, clock=machine.clock)
        self.assertEqual({name: len(own) for name, own in times.items()}, {"a": 8, "b": 8, "c": 8})
        rounds = ["".join(machine.order[i : i + 9 : 3]) for i in range(0, len(machine.order), 9)]
        self.assertEqual({"".join(sorted(order)) for order in rounds}, {"abc"})
        self.assertGreater(len(set(rounds)), 2)

    def test_drift_does_not_count(self):
        """The machine becomes 1.6 times as slow; a case that takes a twentieth longer is told from the other."""
        machine = Machine(drift=0.0005)
        cases = {"fixed": machine.step("fixed", 0.040), "fed": machine.step("fed", 0.042)}
        times = blocks.in_blocks(cases, 60, 8, lambda: None, clock=machine.clock)
        self.assertGreater(max(times["fixed"]), 1.5 * min(times["fixed"]))
        row = blocks.beside(times, "fed", "fixed")
        self.assertAlmostEqual(1 / row["share"], 1.05, delta=0.01)
        self.assertTrue(row["longer_ms_range"][0] <= row["longer_ms"] <= row["longer_ms_range"][1])

    def test_steps_that_settle_are_not_timed(self):
        machine = Machine()
        slow = [True]

        def step():
            machine.now += 5 if slow[0] else 1
            slow[0] = False

        def other():
            machine.now += 1
            slow[0] = True  # it leaves work behind, which the next step of another case waits for

        times = blocks.in_blocks({"one": step, "other": other}, 4, 3, lambda: None, settle=1, clock=machine.clock)
        self.assertEqual(set(times["one"]), {1.0})

    def test_a_case_that_is_faster_has_a_larger_share(self):
        row = blocks.beside({"a": [0.9, 0.9, 0.9], "b": [1.0, 1.0, 1.0]}, "a", "b")
        self.assertEqual((row["ms"], row["longer_ms"], row["share"]), (1000, -100, 1.1111))


class Views(unittest.TestCase):
    def test_rows_of_a_step(self):
        try:
            import torch
            import torchvision  # noqa: F401
            import views
        except ImportError as missing:
            self.skipTest(f"{missing}")
        os.environ[views.QUEUES] = "32"
        machine, found = Machine(), blocks.in_blocks
        fixed = {"global_1": torch.zeros(64, 3), "local": (torch.zeros(64, 3), torch.zeros(64, 3))}
        seen = []

        def step(batch):
            seen.append(len(batch["local"][1]))
            machine.now += 0.030

        def feed():
            machine.now += 0.001
            return fixed

        views.in_blocks = lambda *how: found(*how, clock=machine.clock)
        try:
            rows = list(views.step_rows("ViT", step, fixed, feed, lambda batch: step, lambda: None, 3, 2))
        finally:
            views.in_blocks = found
        self.assertEqual([row["name"] for row in rows], ["ViT, eager, 32 queues", "ViT, one CUDA graph, 32 queues"])
        for row in rows:
            self.assertEqual((row["ms"], row["longer_ms"], row["img_s"], row["fed_img_s"]), (30, 1, 2133, 2065))
        self.assertEqual((rows[0]["one_image_ms"], set(seen)), (30, {1, 64}))


if __name__ == "__main__":
    unittest.main()
