# SPDX-License-Identifier: Apache-2.0
"""motley_resize against Pillow's crop, resize and mirror: all bytes equal, on every CPU backend, in the order of passes
of the Pillow that is installed. With --thorough it compares over 10^9 bytes."""

import functools
import sys

import harness
from harness import LAYOUT_NAMES, Test
from library import FILTERS, LAYOUTS, Failed, Placed

import numpy as np
import PIL
from PIL import ImageOps

import images
import recipes

PILLOW = tuple(int(part) for part in PIL.__version__.split(".")[:2])
ORDER = 0 if PILLOW >= (13, 0) else 2 if PILLOW >= (12, 2) else 1
PILLOW_FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}


def side(r, most=400):
    kind = r.integers(5)
    return int(r.integers(1, 8) if kind == 0 else r.integers(8, 64) if kind < 3 else r.integers(64, most))


class Resize(Test):
    def equals_pillow(
        self, arrays, sizes, name, src="packed", dst="packed", crops=None, boxes=None, flips=None, alpha=True
    ):
        def resized(a, i):
            picture = recipes.to_pil(a)
            if crops:
                left, top, width, height = crops[i]
                picture = picture.crop((left, top, left + width, top + height))
            picture = picture.resize(sizes[i], PILLOW_FILTERS[name], boxes[i] if boxes else None)
            return ImageOps.mirror(picture) if flips and flips[i] else picture

        wanted = [harness.by_bands(a, alpha, functools.partial(resized, i=i)) for i, a in enumerate(arrays)]
        for backend, context in harness.contexts.items():
            source = [Placed(a, LAYOUTS[src], alpha) for a in arrays]
            target = [Placed(np.zeros((h, w, arrays[0].shape[2]), np.uint8), LAYOUTS[dst], alpha) for w, h in sizes]
            context.resize(source, target, name, ORDER, crops, boxes, flips)
            for i, want in enumerate(wanted):
                what = (
                    f"resize {name} {arrays[i].shape[1]}x{arrays[i].shape[0]} "
                    f"{recipes.MODES[arrays[i].shape[2]] if alpha else 'bands'} "
                    f"crop {crops and crops[i]} box {boxes and boxes[i]} flip {flips and flips[i]} image {i}, "
                    f"backend {backend}, {src} -> {dst}"
                )
                self.same_bytes(target[i].view, want, what)
                self.assertTrue(target[i].canaries_intact(), what + ": wrote outside the image")
                self.same_bytes(source[i].view, arrays[i], what + ": source changed")

    def one_round(self, turn, most):
        r = np.random.default_rng([harness.options.seed, turn])
        name = list(FILTERS)[turn % 6]
        channels = int(r.choice([1, 2, 3, 3, 3, 4]))
        arrays = [images.make(r, r.choice(images.KINDS), side(r, most), side(r, most), channels) for _ in range(6)]
        sizes = [(side(r, most), side(r, most)) for _ in arrays]
        # tall and wide, where the orders of the passes differ; one axis as it is; no change at all
        arrays[0] = images.make(r, images.noise, int(r.integers(1, 4)), int(r.integers(90, 900)), channels)
        sizes[0] = int(r.integers(1, 9)), int(r.integers(1, 500))
        arrays[1] = arrays[1] if turn % 2 else np.ascontiguousarray(arrays[0].transpose(1, 0, 2))
        sizes[1] = sizes[0][::-1]
        sizes[2] = (arrays[2].shape[1], sizes[2][1]) if turn % 2 else (sizes[2][0], arrays[2].shape[0])
        if turn % 3 == 0:
            sizes[3] = arrays[3].shape[1::-1]
        crops, boxes = [], []
        for a, size in zip(arrays, sizes):
            height, width = a.shape[:2]
            w, h = int(r.integers(1, width + 1)), int(r.integers(1, height + 1))
            if r.random() < 0.2:
                w, h = min(width, size[0]), min(height, size[1])
            crops.append((int(r.integers(0, width - w + 1)), int(r.integers(0, height - h + 1)), w, h))
        for left, top, w, h in crops:
            if r.random() < 0.3:
                boxes.append((left, top, left + w, top + h))
            else:
                x, y = np.sort(r.uniform(0, left + w, 2)), np.sort(r.uniform(0, top + h, 2))
                boxes.append(
                    tuple(float(np.float32(v)) for v in (x[0], y[0], max(x[1], x[0] + 0.01), max(y[1], y[0] + 0.01)))
                )
        boxes = [
            (min(b[0], a.shape[1] - 0.5), min(b[1], a.shape[0] - 0.5), min(b[2], a.shape[1]), min(b[3], a.shape[0]))
            for a, b in zip(arrays, boxes)
        ]
        src, dst = LAYOUT_NAMES[turn % len(LAYOUT_NAMES)], LAYOUT_NAMES[turn // 6 % len(LAYOUT_NAMES)]
        flips = [int(v) for v in r.integers(0, 2, len(arrays))]
        alpha = turn % 2 == 0
        with self.subTest(round=turn, filter=name):
            self.equals_pillow(arrays, sizes, name, src, dst, alpha=alpha)
            self.equals_pillow(arrays, sizes, name, src, dst, crops=crops, flips=flips, alpha=alpha)
            self.equals_pillow(arrays, sizes, name, src, dst, boxes=boxes, flips=flips, alpha=alpha)

    def test_rounds(self):
        """filter x mode x whole, cropped, boxed, mirrored x tall, wide, one axis, no change x layout"""
        for turn in range(2400 if harness.options.thorough else 48):
            self.one_round(turn, 400)

    def test_large(self):
        """photographs' sizes to 224 and back, crops as RandomResizedCrop makes them"""
        r = np.random.default_rng(harness.options.seed)
        for name in FILTERS:
            for width, height in [(500, 375), (333, 500), (1024, 768), (4000, 300), (300, 4000)][
                : 5 if harness.options.thorough else 3
            ]:
                a = images.make(r, images.noise, width, height, 3)
                w, h = int(r.integers(width // 3, width + 1)), int(r.integers(height // 3, height + 1))
                crops = [(int(r.integers(0, width - w + 1)), int(r.integers(0, height - h + 1)), w, h)] * 2
                self.equals_pillow([a, a], [(224, 224), (600, 17)], name, crops=crops, flips=[0, 1])

    def test_canaries(self):
        """small cases in which each mistake shows: weights, the order of the passes, the crop's edge, running sums"""
        column = np.array([[121, 131], [193, 243], [8, 36], [210, 242], [63, 79], [222, 108]], np.uint8)[..., None]
        row = np.array([10, 20, 200, 90, 50], np.uint8)[None, :, None]
        ramp = np.arange(128, dtype=np.uint8)[None, :, None]
        for context in harness.contexts.values():

            def one(array, size, name, order=ORDER, **where):
                source, target = (
                    Placed(array, LAYOUTS["packed"]),
                    Placed(np.zeros((*size[::-1], 1), np.uint8), LAYOUTS["packed"]),
                )
                context.resize([source], [target], name, order, **where)
                return target.view[..., 0].tolist()

            self.assertEqual(one(column, (3, 2), "bilinear", 1)[1], [133, 127, 122])
            self.assertEqual(one(column, (3, 2), "bilinear", 0)[1], [133, 128, 122])
            for height in 200, 201:  # Pillow 12.2's rule: over 100 times as high as wide, one axis after the other
                tall = np.random.default_rng(5).integers(0, 256, (height, 2, 1), np.uint8)
                columns_first = one(tall, (5, 67), "bicubic", 1)
                rows_first = one(np.array(one(tall, (2, 67), "bicubic", 1), np.uint8)[..., None], (5, 67), "bicubic", 1)
                self.assertNotEqual(rows_first, columns_first)
                wanted = rows_first if height > 200 else columns_first
                self.assertEqual(one(tall, (5, 67), "bicubic", 2), wanted, f"height {height}")
            self.assertEqual(one(row, (2, 1), "bilinear", crops=[(1, 0, 3, 1)]), [[88, 131]])
            self.assertEqual(one(row, (2, 1), "bilinear", boxes=[(1, 0, 4, 1)]), [[79, 122]])
            self.assertEqual(one(ramp, (160, 1), "nearest")[0][:13], [0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10])
            for at, name, weights in [
                (0, "bilinear", [2396745, 0, 0]),
                (1, "bilinear", [1797559, 932068, 0]),
                (0, "bicubic", [2452055, -156067, -129056]),
                (1, "bicubic", [1871305, 1033945, 0]),
                (2, "bicubic", [0, 2438549, 0]),
            ]:
                impulse = np.zeros((1, 5, 1), np.uint8)
                impulse[0, at] = 255
                wanted = [max(0, (weight * 255 + (1 << 21)) >> 22) for weight in weights]
                self.assertEqual(one(impulse, (3, 1), name), [wanted], f"{name}, tap {at}")

    def test_refused(self):
        a, out = np.zeros((4, 5, 3), np.uint8), np.zeros((2, 2, 3), np.uint8)
        for context in harness.contexts.values():
            for where, words in [
                ({"crops": [(3, 0, 3, 2)]}, "crop 0: 3x2 at (3, 0) leaves the image of 5x4"),
                ({"crops": [(0, 0, 0, 2)]}, "crop 0: its size is 0x2, want 1x1 or more"),
                ({"crops": [(-1, 0, 2, 2)]}, "leaves the image"),
                ({"boxes": [(0, 0, 5.5, 4)]}, "leaves the image of 5x4"),
                ({"boxes": [(2, 0, 2, 4)]}, "is empty"),
                ({"boxes": [(0, float("nan"), 2, 4)]}, "want a finite number"),
            ]:
                target = Placed(out, LAYOUTS["packed"])
                with self.assertRaises(Failed) as failed:
                    context.resize([Placed(a, LAYOUTS["packed"])], [target], "bilinear", 0, **where)
                self.assertIn(words, str(failed.exception))
                self.assertTrue((target.view == 0).all())
            inside = Placed(a, LAYOUTS["packed"])
            part = Placed(out, LAYOUTS["packed"])
            part.image.data = inside.image.data + 3
            with self.assertRaisesRegex(Failed, "shares memory with src image 0"):
                context.resize([inside], [part], "bilinear", 0)


if __name__ == "__main__":
    sys.exit(harness.main())
