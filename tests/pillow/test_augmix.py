# SPDX-License-Identifier: Apache-2.0
"""AugMix against timm's and torchvision's own classes: they are given our weights and our chains, each op of which
Pillow does, and must mix the bytes that the library mixes; and what is drawn is what they can draw."""

import contextlib
import math
from unittest import mock

import harness
import images
import numpy as np
import recipes
from harness import Test, notes
from library import LAYOUTS, Placed
from replay import Timm, Torchvision

SIZES = [(32, 32), (33, 48), (5, 2), (1, 1), (150, 100)]
ADD, BLEND, SUM = -3, -4, -5  # MOTLEY_STEP_MIX_*


class Draw:
    """The chains of a draw and their weights; `total` is the weight of their sum."""

    def __init__(self, steps):
        self.chains, self.weights, self.total, chain = [], [], None, []
        for step in steps:
            if step.op >= 0:
                chain.append(step)
            elif step.op == SUM:
                self.total = np.float32(step.values[0])
            else:
                self.chains.append(chain)
                self.weights.append(np.float32(step.values[0]))
                chain = []


def op_of(step, channels):
    """A step as a function from a Pillow image to another."""
    recipe = recipes.RECIPES[harness.library.op_names[step.op]][0]
    values, fill = list(step.values[: step.values_count]), tuple(step.fill[:channels])
    return lambda image: recipe(image, values, recipes.FILTERS[step.interpolation], fill)


class AugmixTest(Test):
    def samples(self, name, form, width, alpha, **changes):
        """(image, its draw, the draw that its words give to the form `sum`, what the library makes of it), of many."""
        made, summed = (
            harness.library.policy(name, augmix={"width": width, "alpha": alpha, "form": kind}, **changes)
            for kind in (form, "sum")
        )
        for number, (w, h) in enumerate(SIZES):
            r = np.random.default_rng([harness.options.seed, number, width])
            for turn, context in enumerate(harness.contexts.values()):
                arrays = [images.make(r, r.choice(images.KINDS), w, h, 3) for _ in range(5)]
                layout = list(LAYOUTS)[(number + turn + width) % len(LAYOUTS)]
                src = dst = [Placed(a, LAYOUTS[layout]) for a in arrays]
                if turn % 2 == 0:  # else in place
                    dst = [Placed(np.zeros_like(a), LAYOUTS["packed"]) for a in arrays]
                context.apply(made, src, dst, seed=number, epoch=turn, first=7)
                drawn = [p.draw(len(arrays), w, h, 3, seed=number, epoch=turn, first=7) for p in (made, summed)]
                for array, own, sums, out in zip(arrays, *drawn, dst):
                    yield recipes.to_pil(array), Draw(own), Draw(sums), out.view
        made.close()
        summed.close()

    def test_timm(self):
        """both forms, several widths and alphas"""
        if not Timm.load():
            self.skipTest("timm is missing: scripts/setup.sh tests installs it in .venv")
        notes.append(f"timm {Timm.version}")
        # Before NumPy 2, timm's blends were computed in binary64.
        forms = ["sum", "blends"] if int(np.__version__.split(".")[0]) >= 2 else ["sum"]
        for form in forms:
            for width, alpha in (3, 1), (1, 0.2), (5, 3), (8, 1):
                for image, _, draw, got in self.samples("timm_augmix", form, width, alpha):
                    augment = Timm.module.AugMixAugment([None], alpha, width, blended=form == "blends")
                    with given(draw):
                        want = augment(image)
                    self.same_bytes(got, recipes.to_array(want), f"timm {form}, {width} chains, alpha {alpha}")

    def test_torchvision(self):
        """its mixing, by its own class"""
        try:
            import torch
            from torchvision.transforms import autoaugment
        except ImportError as missing:
            self.skipTest(f"{missing}: install python3-torchvision")
        for width, alpha in (3, 1), (2, 0.5), (6, 2):
            for image, own, draw, got in self.samples("augmix", "one_sum", width, alpha, repeat=2):
                augment = autoaugment.AugMix(mixture_width=width, chain_depth=2, alpha=alpha)
                # The image is our first summand; its weight is 1 - m, rounded once.
                shares = [torch.tensor([[own.weights[0], draw.total]]), torch.tensor([draw.weights])]
                ops = [op_of(step, 3) for chain in draw.chains for step in chain]
                with (
                    mock.patch.object(augment, "_sample_dirichlet", side_effect=shares),
                    mock.patch.object(autoaugment, "_apply_op", on_tensors(ops)),
                ):
                    want = augment(image)
                self.same_bytes(got, recipes.to_array(want), f"torchvision, {width} chains, alpha {alpha}")

    def test_values(self):
        """what the chains of the built-ins do is what timm's and torchvision's classes can do"""
        found = 0
        if Timm.load():
            timm = Timm("augmix-m3-w3")
            ops = {op.name.replace("Increasing", "").replace("Rel", ""): op for op in timm.policy.ops}
            self.assertEqual((timm.policy.width, timm.policy.alpha, timm.policy.depth, len(ops)), (3, 1.0, -1, 13))
            for name, value in self.drawn("timm_augmix"):
                op = ops[Timm.NAMES[name]]
                sides = {"translate_x": 331, "translate_y": 224}
                ends = [sides.get(name, 1) * v for level in (0, 3) for v in timm.arguments(op, level)] or [None]
                self.assertTrue(value == ends[0] or min(ends) <= value <= max(ends), f"timm: {name} {value}, {ends}")
                found += 1
        with contextlib.suppress(ImportError):
            from torchvision.transforms import autoaugment

            replay = Torchvision(autoaugment.AugMix(severity=3))
            space = replay.policy._augmentation_space(10, (224, 331))
            self.assertEqual(len(space), 13)
            for name, value in self.drawn("augmix"):
                magnitudes, signed = space[Torchvision.NAMES[name]]
                wanted = [None]
                if magnitudes.ndim > 0:
                    wanted = [
                        replay.value(Torchvision.NAMES[name], sign * float(m))
                        for m in magnitudes[:3]
                        for sign in ((1, -1) if signed else (1,))
                    ]
                self.assertTrue(any(close(value, v) for v in wanted), f"torchvision: {name} {value}, want {wanted}")
                found += 1
        if not found:
            self.skipTest("neither timm nor torchvision is here")
        self.assertGreater(found, 5000)

    def drawn(self, name):
        policy = harness.library.policy(name)
        for steps in policy.draw(1000, 331, 224, 3, seed=5):
            for step in steps:
                if step.op >= 0:
                    yield harness.library.op_names[step.op], step.values[0] if step.values_count else None
        policy.close()


def close(a, b):
    return a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6))


def on_tensors(ops):
    """A function like torchvision's _apply_op that does one of `ops` at each call."""
    from torchvision.transforms import functional

    following = iter(ops)
    return lambda tensor, *_, **__: functional.pil_to_tensor(next(following)(functional.to_pil_image(tensor[0])))[None]


@contextlib.contextmanager
def given(draw):
    """NumPy's random numbers are those of a draw, and choosing ops gives its chains."""
    chains = iter([[op_of(step, 3) for step in chain] for chain in draw.chains])
    numbers = {
        "dirichlet": lambda alpha: np.float64(draw.weights),
        "beta": lambda a, b: np.float64(draw.total),
        "randint": lambda low, high: 0,
        "choice": lambda ops, depth, replace: next(chains),
    }
    with contextlib.ExitStack() as stack:
        for name, function in numbers.items():
            stack.enter_context(mock.patch.object(np.random, name, function))
        yield


if __name__ == "__main__":
    harness.main()
