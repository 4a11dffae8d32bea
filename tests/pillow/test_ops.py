# SPDX-License-Identifier: Apache-2.0
"""Every op of the table against its Pillow recipe: all bytes equal, on every CPU backend."""

import sys

import harness
from harness import LAYOUT_NAMES, Test
from library import BICUBIC, BILINEAR, NEAREST

import numpy as np

import images
import recipes

FILLS = [None, (128, 128, 128, 255), (1, 20, 255, 7), (255, 254, 3, 0)]


CANARIES = [1.2, 1.45, 1.72, 0.1, 1.9]  # blend factors where one fused or exact operation shows


def chosen_ops():
    return harness.options.ops.split(",") if harness.options.ops else harness.library.op_names


def factors(every):
    return recipes.FACTORS if harness.options.thorough else recipes.FACTORS[::every] + CANARIES


class Ops(Test):
    def test_every_op_has_a_recipe(self):
        missing = [name for name in harness.library.op_names if name not in recipes.RECIPES]
        self.assertEqual(missing, [], "ops without an entry in tests/pillow/recipes.py")

    def test_ops(self):
        """op x mode x interpolation x published, edge and random values x image kind x size x layout x in place"""
        rounds = 4 if harness.options.thorough else 1
        for name in chosen_ops():
            if name not in recipes.RECIPES:
                continue  # reported by test_every_op_has_a_recipe
            for channels in recipes.MODES:
                for interpolation in [NEAREST, BILINEAR, BICUBIC] if name in recipes.WARPS else [NEAREST]:
                    for turn in range(rounds):
                        for alpha in (True, False) if channels % 2 == 0 else (True,):
                            what = {"mode": recipes.MODES[channels] if alpha else channels, "turn": turn}
                            with self.subTest(op=name, interpolation=interpolation, **what):
                                self.one_op(name, channels, interpolation, turn, alpha)

    def one_op(self, name, channels, interpolation, turn, alpha):
        number = harness.library.op_names.index(name)
        r = np.random.default_rng([harness.options.seed, number, channels, interpolation, turn])
        _, published, draw = recipes.RECIPES[name]
        cases = []  # (array, values)
        times = harness.sweep(range(max(1, 60 // len(published))), "images of each op, mode and published value")
        for values in published * len(times):
            width, height = images.SIZES[r.integers(len(images.SIZES))]
            cases.append((images.make(r, r.choice(images.KINDS), width, height, channels), values))
        for _ in harness.sweep(range(24 if draw else 0), "random values of ops"):
            width, height = r.integers(1, 70, 2)
            cases.append((images.make(r, r.choice(images.KINDS), width, height, channels), draw(r, width, height)))
        with_largest = harness.options.thorough or (channels == 3 and interpolation in (NEAREST, len(name) % 3))
        large = images.LARGE if with_largest else images.LARGE[:-1]
        first = (number + channels + interpolation) % len(large)  # a part has another one of each op, mode and kind
        for width, height in harness.sweep(large[first:] + large[:first], "large images"):
            values = published[r.integers(len(published))]
            if name == "gaussian_blur":  # the reference's time grows with the radius
                values = (r.uniform(0, 4),)
            cases.append((images.make(r, r.choice(images.KINDS), width, height, channels), values))
        groups = {}  # one batch takes images with as many values each
        for i in r.permutation(len(cases)):
            groups.setdefault((len(cases[i][1]), i % 12), []).append(cases[i])
        for (_, way), group in groups.items():
            src = LAYOUT_NAMES[way % 6]
            dst = LAYOUT_NAMES[r.integers(6)] if way < 6 else None
            fill = FILLS[r.integers(len(FILLS))]
            self.op_equals_pillow(
                name,
                [a for a, _ in group],
                [v for _, v in group],
                interpolation,
                fill[:channels] if fill else None,
                src,
                dst,
                alpha,
            )


class Exhaustive(Test):
    """What can be tried in full, and inputs made to hit one rounding each."""

    def test_blend_of_every_byte_pair(self):
        """contrast: a mean of A, and all B in the image, for every published factor"""
        levels = np.arange(256)
        arrays = []
        for mean in levels:  # pad 0..255 with black or white until the rounded mean is right
            edge = 0 if mean < 128 else 255
            pad = next(k for k in range(70000) if (2 * (32640 + edge * k) + 256 + k) // (2 * (256 + k)) == mean)
            arrays.append(np.append(levels, np.full(pad, edge)).astype(np.uint8)[None, :, None])
        for factor in factors(12):
            self.op_equals_pillow("contrast", arrays, [(factor,)] * 256)

    def test_color_of_every_byte_pair(self):
        """color: a luma of A and a blue of B, wherever such a colour exists"""
        luma, blue = np.meshgrid(np.arange(256), np.arange(256), indexing="ij")
        grey = np.clip((luma * 65536 - 7471 * blue + 32767) // 58065, 0, 255)
        array = np.stack([grey, grey, blue], axis=-1).astype(np.uint8)
        for factor in recipes.FACTORS:
            self.op_equals_pillow("color", [array], [(factor,)])

    def test_sharpness_of_every_smooth_and_centre(self):
        """sharpness: cells of 3x3 whose smoothed value is A and whose centre is B, wherever possible"""
        smooth, centre = np.meshgrid(np.arange(256), np.arange(256), indexing="ij")
        rest = np.clip(13 * smooth - 5 * centre, 0, 8 * 255)
        array = np.zeros((768, 768, 1), np.uint8)
        for k, (dy, dx) in enumerate([(0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2)]):
            array[dy::3, dx::3, 0] = rest // 8 + (k < rest % 8)
        array[1::3, 1::3, 0] = centre
        for factor in factors(12):
            self.op_equals_pillow("sharpness", [array], [(factor,)], src="planar", dst="planar")

    def test_auto_contrast_of_every_range(self):
        """lo <= hi with all values between, three of them in the channels of one image: all, or every 4th"""
        ranges = [np.clip(np.arange(256), lo, hi).astype(np.uint8) for hi in range(256) for lo in range(hi + 1)]
        if not harness.options.thorough:
            ranges = ranges[::4]
        arrays = [np.stack([ranges[i], ranges[i - 1], ranges[i - 2]], axis=-1)[None] for i in range(0, len(ranges), 3)]
        self.op_equals_pillow("auto_contrast", arrays, [()] * len(arrays))

    def test_equalize_edges(self):
        """tables that overflow a byte, steps of 0 and 1, two bins, and histograms at random"""
        r = np.random.default_rng(harness.options.seed)
        arrays = [
            np.repeat(values, repeats).astype(np.uint8)[None, :, None]
            for values, repeats in [
                ([7, 200], [509, 1]),
                ([7, 200, 255], [509, 1, 1]),
                ([0, 255], [254, 1]),
                ([0, 255], [255, 1]),
                ([0, 255], [256, 1]),
                ([3, 4], [1, 254]),
                ([9], [4000]),
                (range(256), [1] * 256),
                (range(256), [2] * 256),
                ([0, 1], [10**6, 1]),
            ]
        ]
        for _ in range(3000 if harness.options.thorough else 400):
            used = r.choice(256, r.integers(2, 20), replace=False)
            repeats = r.integers(1, r.choice([3, 40, 400]), len(used))
            arrays.append(np.repeat(used, repeats).astype(np.uint8)[None, :, None])
        self.op_equals_pillow("equalize", arrays, [()] * len(arrays))

    def test_luma_of_every_colour(self):
        """all 2^24 colours"""
        colour = np.arange(2**24, dtype=np.uint32).reshape(4096, 4096)
        array = np.stack([colour >> 16, colour >> 8 & 255, colour & 255], axis=-1).astype(np.uint8)
        self.op_equals_pillow("grayscale", [array], [()])

    def test_premultiply_of_every_alpha(self):
        """all (value, alpha), there and back, through warps that move nothing and that move half a pixel"""
        value, alpha = np.meshgrid(np.arange(256), np.arange(256))
        for interpolation in BILINEAR, BICUBIC:
            for matrix in (1, 0, 0, 0, 1, 0), (1, 0, 0.5, 0, 1, 0), (1, 0, 0, 0, 1, 0.25):
                matrix = tuple(float(v) for v in matrix)
                for stack in [value, alpha], [value, 255 - value, value // 3, alpha]:
                    array = np.stack(stack, axis=-1).astype(np.uint8)
                    self.op_equals_pillow("affine", [array], [matrix], interpolation)

    def test_rotate_special_angles(self):
        """whole turns, their neighbours and tiny angles, square or not, alpha included"""
        r = np.random.default_rng(harness.options.seed)
        for interpolation in NEAREST, BILINEAR, BICUBIC:
            for channels in recipes.MODES:
                for width, height in (224, 224), (16, 16), (15, 15), (16, 9), (1, 5):
                    angles = [a for a in recipes.DEGREES if a % 90 < 1e-6 or a % 90 > 90 - 1e-6] + [30.0, -30.0]
                    arrays = [images.make(r, images.noise, width, height, channels)] * len(angles)
                    if width > 100 and not harness.options.thorough:
                        arrays, angles = arrays[:2], [30.0, -30.0]
                    self.op_equals_pillow("rotate", arrays, [(a,) for a in angles], interpolation, dst="packed")

    def test_long_images(self):
        """over 32767 pixels on a side, where nearest leaves fixed point"""
        r = np.random.default_rng(harness.options.seed)
        for width, height in (70000, 3), (3, 70000), (32767, 2), (32768, 2), (2, 32769):
            array = images.make(r, images.noise, width, height, 1)
            for name, value in [
                ("rotate", 3.0),
                ("rotate", -0.01),
                ("rotate", 180.0),
                ("shear_x", 0.3),
                ("shear_y", -0.3),
                ("translate_x", 11.0),
                ("translate_y_rel", 0.1),
            ]:
                for interpolation in NEAREST, BILINEAR, BICUBIC:
                    self.op_equals_pillow(name, [array], [(value,)], interpolation, (9,))
            for matrix in [
                (1.0, 1e-5, 0.3, 1e-5, 1.0, 0.2),
                (0.7, 0.1, 5.0, 0.00001, 0.9, 0.0),
                (-1.0, 1e-9, width, 1e-9, 1.0, 0.0),
            ]:
                self.op_equals_pillow("affine", [array], [matrix], NEAREST, (9,))

    def test_adversarial_matrices(self):
        """entries on ties of 1/65536, a hair beside whole numbers, and at the limits of fixed point"""
        r = np.random.default_rng(harness.options.seed)
        for interpolation in NEAREST, BILINEAR, BICUBIC:
            arrays, values = [], []
            for _ in range(4000 if harness.options.thorough else 500):
                width, height = r.integers(1, 40, 2)
                m = r.choice([0.0, 1.0, -1.0, 0.5, 2.0, 0.3, 0.03], 6) + r.choice([-1, 0, 1], 6) * r.choice(
                    [0.0, 0.5 / 65536, 1 / 65536, 1e-12, 2.0**-49, 1e-17], 6
                )
                shifts = [0.0, width / 2, height, -3.0, 32767.0, 32768.0, -32768.0, 32767.99999]
                m[[2, 5]] += r.choice(shifts, 2, p=[0.4, 0.2, 0.15, 0.15, 0.025, 0.025, 0.025, 0.025])
                arrays.append(images.make(r, r.choice(images.KINDS), width, height, 1))
                values.append(tuple(m))
            self.op_equals_pillow("affine", arrays, values, interpolation, (77,))

    def test_blur_constants(self):
        """radii where a weight's last bit shows in bytes: it is another in double (four of them), when fused (three)"""
        r = np.random.default_rng(harness.options.seed)
        array = images.make(r, images.noise, 1024, 1024, 1)
        for radius in 1.08657503, 1.39485002, 1.40055001, 1.879825, 1.78625, 1.83042502, 1.88932502:
            self.op_equals_pillow("gaussian_blur", [array], [(radius,)])

    def test_blur_of_short_lines(self):
        """every line length up to 40 with radii below, at and above it"""
        r = np.random.default_rng(harness.options.seed)
        for radius in recipes.RADII + [r.uniform(0, 3) for _ in range(200 if harness.options.thorough else 10)]:
            arrays = [images.make(r, images.extremes, n, int(r.integers(1, 41)), 1) for n in range(1, 41)]
            self.op_equals_pillow("gaussian_blur", arrays, [(radius,)] * len(arrays))


if __name__ == "__main__":
    sys.exit(harness.main())
