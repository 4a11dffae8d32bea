# SPDX-License-Identifier: Apache-2.0
"""Replays drawn steps through the functions of torchvision and timm, and checks the steps against their own tables.

A step is {"op", "value", "interpolation", "fill", "level"}. `value` is None for an op that takes none.
"""

import importlib.util
import math
import os
import sys

import numpy as np

import recipes


class Wrong(AssertionError):
    """A step that the library's policy cannot draw."""


def subsequence(steps, branch, fits):
    rest = iter(branch)
    return all(any(fits(step, candidate) for candidate in rest) for step in steps)


def check_warps(steps, interpolations, fill):
    """Geometric steps interpolate and fill as the policy says."""
    for step in steps:
        if step["op"] in recipes.WARPS and (step["interpolation"] not in interpolations or step["fill"][:3] != fill):
            raise Wrong(f"{step}: want interpolation {' or '.join(interpolations)} and fill {fill}")


class Torchvision:
    """One of torchvision's policies, and its functions on PIL images."""

    DRAWS = 3000  # to check against its tables
    NAMES = {
        "identity": "Identity",
        "shear_x": "ShearX",
        "shear_y": "ShearY",
        "translate_x": "TranslateX",
        "translate_y": "TranslateY",
        "rotate": "Rotate",
        "brightness": "Brightness",
        "color": "Color",
        "contrast": "Contrast",
        "sharpness": "Sharpness",
        "posterize": "Posterize",
        "solarize": "Solarize",
        "auto_contrast": "AutoContrast",
        "equalize": "Equalize",
        "invert": "Invert",
    }

    def __init__(self, policy):
        """policy: an object of torchvision's class"""
        from torchvision.transforms import InterpolationMode, autoaugment, functional

        self.autoaugment, self.functional = autoaugment, functional
        self.modes = {
            "nearest": InterpolationMode.NEAREST,
            "bilinear": InterpolationMode.BILINEAR,
            "bicubic": InterpolationMode.BICUBIC,
        }
        self.policy = policy
        self.tables = {}
        self.table_differs = {}  # (op, our value): [torch's value on this CPU, how many steps]

    @staticmethod
    def of_builtin(name):
        from torchvision.transforms import autoaugment as a

        kinds = {
            "rand_augment": a.RandAugment,
            "trivial_augment_wide": a.TrivialAugmentWide,
            "trivial_augment": a.TrivialAugmentWide,
        }
        if name in kinds:
            return Torchvision(kinds[name]())
        for dataset in a.AutoAugmentPolicy:
            if name == f"auto_augment_{dataset.value}":
                return Torchvision(a.AutoAugment(dataset))
        raise Wrong(f"built-in '{name}' of the torchvision profile: tests/pillow/replay.py knows no class for it")

    def entries(self, name, width, height):
        """[(bin, signed magnitude, the value of our op that it means)] of torchvision's table; [] for ops without."""
        key = name, width, height
        if key not in self.tables:
            if isinstance(self.policy, self.autoaugment.TrivialAugmentWide):
                space = self.policy._augmentation_space(self.policy.num_magnitude_bins)
            else:
                space = self.policy._augmentation_space(getattr(self.policy, "num_magnitude_bins", 10), (height, width))
            table, signed = space.get(name, (None, False))
            magnitudes = [] if table is None or table.ndim == 0 else [float(m) for m in table]
            self.tables[key] = [
                (i, s * m, self.value(name, s * m))
                for i, m in enumerate(magnitudes)
                for s in ((1.0, -1.0) if signed else (1.0,))
            ]
        return self.tables[key]

    def value(self, name, m):
        """The value of our op that torchvision's magnitude `m` means."""
        if name in ("ShearX", "ShearY"):
            degrees = math.degrees(math.atan(m))
            matrix = self.functional._get_inverse_affine_matrix(
                [0, 0], 0.0, [0, 0], 1.0, [degrees, 0.0] if name == "ShearX" else [0.0, degrees]
            )
            return matrix[1] if name == "ShearX" else matrix[3]
        if name in ("TranslateX", "TranslateY", "Posterize"):
            return int(m)
        return 1.0 + m if name in ("Brightness", "Color", "Contrast", "Sharpness") else m

    def magnitude(self, step, width, height):
        """(the signed magnitude of torchvision's own table that gives our value, its bins), or (None, bins) where
        torch's linspace on this CPU rounds that entry otherwise than the vectorised kernel that our tables follow."""
        name = self.NAMES[step["op"]]
        entries = self.entries(name, width, height)
        if not entries:
            return 0.0, None
        exact = [(i, m) for i, m, value in entries if value == step["value"]]
        if exact:
            return exact[0][1], {i for i, _ in exact}
        near = [
            (i, value)
            for i, m, value in entries
            for beside in np.nextafter(np.float32(m), np.float32([-1e9, 1e9]))
            if self.value(name, float(beside)) == step["value"]
        ]
        if not near:
            raise Wrong(
                f"{step['op']} {step['value']!r} at {width}x{height} is no entry of torchvision's table "
                f"{sorted(value for _, _, value in entries)}"
            )
        torchs = next(value for _, value in near if (value < 0) == (step["value"] < 0))
        self.table_differs.setdefault((step["op"], step["value"]), [torchs, 0])[1] += 1
        return None, {i for i, _ in near}

    def check(self, steps, width, height):
        """Raises Wrong unless torchvision's policy could have drawn `steps`."""
        check_warps(steps, [self.policy.interpolation.value], [int(v) for v in self.policy.fill or (0, 0, 0)][:3])
        bins = [self.magnitude(step, width, height)[1] for step in steps]
        names = [self.NAMES[step["op"]] for step in steps]
        if isinstance(self.policy, self.autoaugment.AutoAugment):
            drawn = list(zip(names, bins))
            if not any(
                subsequence(drawn, branch, lambda d, b: d[0] == b[0] and (d[1] is None or b[2] in d[1]))
                for branch in self.policy.policies
            ):
                raise Wrong(f"{steps}: no sub-policy has these steps in this order")
            return
        if isinstance(self.policy, self.autoaugment.RandAugment):
            count, levels = self.policy.num_ops, [self.policy.magnitude] * len(steps)
        else:
            count, levels = 1, [step.get("level") for step in steps]
        if len(steps) != count:
            raise Wrong(f"{len(steps)} steps, want {count}: {steps}")
        for step, found, level in zip(steps, bins, levels):
            if found is not None and level is not None and level not in found:
                raise Wrong(f"{step['op']} {step['value']!r} is bin {sorted(found)} of torchvision's, want {level}")

    def run(self, image, steps):
        for step in steps:
            name = self.NAMES[step["op"]]
            magnitude, _ = self.magnitude(step, *image.size)
            fill = [float(v) for v in step["fill"][: len(image.getbands())]]
            mode = self.modes[step["interpolation"]]
            if magnitude is None:
                image = self.with_our_value(image, name, step["value"], mode, fill)
            else:
                image = self.autoaugment._apply_op(image, name, magnitude, interpolation=mode, fill=fill)
        return image

    def with_our_value(self, image, name, value, mode, fill):
        f = self.functional
        enhance = {
            "Brightness": f.adjust_brightness,
            "Color": f.adjust_saturation,
            "Contrast": f.adjust_contrast,
            "Sharpness": f.adjust_sharpness,
        }
        if name in enhance:
            return enhance[name](image, value)
        if name in ("ShearX", "ShearY"):
            value = math.tan(math.atan(value))  # to degrees and back is torchvision's own way
        return self.autoaugment._apply_op(image, name, value, interpolation=mode, fill=fill)


class Timm:
    """One of timm's policies, and its functions."""

    DRAWS = 10000  # enough to know the mean and the spread of a noisy level
    NAMES = {
        "auto_contrast": "AutoContrast",
        "equalize": "Equalize",
        "invert": "Invert",
        "rotate": "Rotate",
        "posterize": "Posterize",
        "solarize": "Solarize",
        "solarize_add": "SolarizeAdd",
        "color": "Color",
        "contrast": "Contrast",
        "brightness": "Brightness",
        "sharpness": "Sharpness",
        "shear_x": "ShearX",
        "shear_y": "ShearY",
        "translate_x": "TranslateX",
        "translate_y": "TranslateY",
        "translate_x_rel": "TranslateXRel",
        "translate_y_rel": "TranslateYRel",
        "desaturate": "Desaturate",
        "grayscale": "Desaturate",
        "gaussian_blur": "GaussianBlur",
    }
    module = None

    @classmethod
    def load(cls):
        """timm's auto_augment.py by itself: it needs Pillow and NumPy only, the rest of timm a newer torch."""
        if cls.module is None:
            for folder in sys.path:
                path = os.path.join(folder, "timm", "data", "auto_augment.py")
                if os.path.exists(path):
                    spec = importlib.util.spec_from_file_location("timm_auto_augment", path)
                    cls.module = importlib.util.module_from_spec(spec)
                    spec.loader.exec_module(cls.module)
                    cls.version = open(os.path.join(folder, "timm", "version.py")).read().split("'")[1]
                    break
        return cls.module

    def __init__(self, config):
        self.config = config
        make = {"rand": self.module.rand_augment_transform, "augmix": self.module.augment_and_mix_transform}.get(
            config.split("-")[0], self.module.auto_augment_transform
        )
        self.policy = make(config, {"translate_pct": 0.3} if config.startswith("augmix") else {})
        self.levels = {}  # op name: levels recovered from values, of a policy with noise

    @staticmethod
    def of_builtin(name):
        configs = {
            "timm_auto_augment_v0": "v0",
            "timm_auto_augment_original": "original",
            "timm_3_augment": "3a",
            "timm_auto_augment_v0r": "v0r",
            "timm_auto_augment_originalr": "originalr",
            "timm_rand_m9_mstd05_inc1": "rand-m9-mstd0.5-inc1",
            "timm_rand_augment": "rand",
            "timm_rand_augment_weights": "rand-tweights",
            "timm_rand_augment_3a": "rand-t3a",
            "timm_rand_augment_3aw": "rand-t3aw",
        }
        if name not in configs:
            raise Wrong(f"built-in '{name}' of the timm profile: tests/pillow/replay.py knows no configuration for it")
        return Timm(configs[name])

    def arguments(self, op, magnitude):
        """What timm's `op` may hand to its function at `magnitude`: one value, or one for each sign."""
        keep = self.module._randomly_negate
        found = []
        for sign in 1, -1:
            self.module._randomly_negate = lambda v, sign=sign: sign * v
            found += op.level_fn(magnitude, op.hparams) if op.level_fn else ()
        self.module._randomly_negate = keep
        return found

    def timm_value(self, step):
        value = step["value"]
        if step["op"] == "grayscale":
            return 1.0
        return -value if step["op"].startswith("translate") else value

    def function(self, step):
        return self.module.NAME_TO_OP[self.NAMES[step["op"]]]

    def fits(self, step, op, width, height):
        """Whether timm's AugmentOp `op` could have made `step` of an image of this size."""
        side = 1  # our shifts are in pixels, by the same product
        if (op.name, step["op"]) in (("TranslateXRel", "translate_x"), ("TranslateYRel", "translate_y")):
            side = width if op.name == "TranslateXRel" else height
        elif op.name == "GaussianBlurRand" and step["op"] == "gaussian_blur":
            return 0.1 <= step["value"] <= 2.0
        elif self.function(step) is not op.aug_fn:
            return False
        if op.level_fn is None:
            return True
        value = self.timm_value(step)
        if not op.magnitude_std:
            return value in [a * side for a in self.arguments(op, op.magnitude)]
        lowest, highest = self.arguments(op, 0.0), self.arguments(op, 10.0)
        if isinstance(lowest[0], int):
            return min(*lowest, *highest) <= value <= max(*lowest, *highest)
        for sign, (low, high) in enumerate(zip(lowest, highest)):  # linear: the level that it came from gives it back
            level = (value / side - low) / (high - low) * 10.0
            if -1e-9 <= level <= 10.0 + 1e-9 and abs(self.arguments(op, level)[sign] * side - value) < 1e-11 * side:
                self.levels.setdefault(op.name, []).append(level)
                return True
        return False

    def check(self, steps, width, height):
        """Raises Wrong unless timm's policy could have drawn `steps`."""
        check_warps(steps, ["bilinear", "bicubic"], list(self.module._FILL))

        def fits(step, op):
            return self.fits(step, op, width, height)

        if hasattr(self.policy, "policy"):
            if not any(subsequence(steps, branch, fits) for branch in self.policy.policy):
                raise Wrong(f"{steps}: no sub-policy of timm's {self.config} has these steps in this order")
        elif len(steps) > self.policy.num_layers or not all(any(fits(s, op) for op in self.policy.ops) for s in steps):
            raise Wrong(f"{steps}: timm's {self.config} cannot draw these")

    def run(self, image, steps):
        for step in steps:
            resample = recipes.FILTERS[["nearest", "bilinear", "bicubic"].index(step["interpolation"])]
            arguments = () if step["value"] is None and step["op"] != "grayscale" else (self.timm_value(step),)
            if step["op"] in ("posterize", "solarize_add"):
                arguments = (int(step["value"]),)
            if step["op"] == "posterize" and arguments == (0,):  # timm's function fails with Pillow 13
                image = recipes.posterize(image, arguments, resample, None)
                continue
            image = self.function(step)(image, *arguments, fillcolor=tuple(step["fill"][:3]), resample=resample)
        return image
