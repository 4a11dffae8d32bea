# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests against Pillow: options, comparing every byte, counting, and reports that say how to repeat.

.venv/bin/python3 tests/pillow/test_ops.py --library build/libmotley.so [--thorough] [TEST...]
"""

import argparse
import functools
import os
import sys
import time
import unittest

SKIPPED = 77  # what meson takes as "skipped"

try:
    import numpy as np
    import PIL
    import recipes
except ImportError as missing:
    print(
        f"SKIPPED, nothing was tested: {missing} (sys.executable {sys.executable}); "
        "install python3-pil, python3-numpy and python3-torchvision, or run scripts/setup.sh"
    )
    sys.exit(SKIPPED)

from library import LAYOUTS, BICUBIC, BILINEAR, NEAREST, Library, Placed

INTERPOLATION_NAMES = {NEAREST: "nearest", BILINEAR: "bilinear", BICUBIC: "bicubic"}
LAYOUT_NAMES = list(LAYOUTS)
options = None
library = None
contexts = {}
counts = {"images": 0, "pixels": 0}
notes = []
left_out = {}  # what: how many of how many


def sweep(cases, what):
    """Those of the cases that run: with EVERY=N in the environment one in N. scripts/count_tests.py prints the rest."""
    cases = list(cases)
    run = cases[:: int(os.environ.get("EVERY", 1))]
    before = left_out.get(what, (0, 0))
    left_out[what] = before[0] + len(cases) - len(run), before[1] + len(cases)
    return run


def by_bands(array, alpha, recipe, *by_channel):
    """What recipe(array, ...) makes of an image, or of each of its bands as a grey one; it returns a PIL image."""
    channels = array.shape[2]
    if alpha or channels % 2:
        return recipes.to_array(recipe(array, *by_channel))
    parts = [recipe(array[..., c : c + 1], *(each[c : c + 1] for each in by_channel)) for c in range(channels)]
    return np.concatenate([recipes.to_array(part) for part in parts], axis=-1)


class Test(unittest.TestCase):
    def op_equals_pillow(
        self, name, arrays, values, interpolation=NEAREST, fill=None, src="packed", dst=None, alpha=True
    ):
        """Runs op `name` on every backend, `arrays` as one batch of many sizes; dst None: in place. alpha False: the
        arrays have bands, each of which must be what Pillow makes of it as a grey image."""
        channels = arrays[0].shape[2]
        pil_fill = tuple(fill) if fill is not None else (0,) * channels
        recipe = recipes.RECIPES[name][0]

        def wanted_of(array, fill, v):
            return recipe(recipes.to_pil(array), v, recipes.FILTERS[interpolation], fill)

        wanted = [by_bands(a, alpha, functools.partial(wanted_of, v=v), pil_fill) for a, v in zip(arrays, values)]
        for backend, context in contexts.items():
            source = [Placed(a, LAYOUTS[src], alpha) for a in arrays]
            target = source if dst is None else [Placed(np.zeros_like(a), LAYOUTS[dst], alpha) for a in arrays]
            context.op(name, values, source, target, interpolation, fill)
            for i, want in enumerate(wanted):
                what = (
                    f"{name}{tuple(values[i])!r} {INTERPOLATION_NAMES[interpolation]} fill {fill} "
                    f"{recipes.MODES[channels] if alpha else channels} image {i}, backend {backend}, "
                    f"{src} -> {dst or 'in place'}"
                )
                self.same_bytes(target[i].view, want, what)
                if not target[i].canaries_intact():
                    self.fail(f"{what}: wrote outside the image")
                if dst is not None:
                    self.same_bytes(source[i].view, arrays[i], what + ": source changed")

    def same_bytes(self, got, want, what):
        counts["images"] += 1
        counts["pixels"] += want.shape[0] * want.shape[1]
        if np.array_equal(got, want):
            return
        self.assertEqual(got.shape, want.shape, what)
        bad = np.argwhere(got != want)
        y, x, c = bad[0]
        self.fail(
            f"{what}, {want.shape[1]}x{want.shape[0]}: {len(bad)} of {want.size} samples differ, the first at "
            f"x {x} y {y} channel {c}: got {got[y, x, c]}, Pillow {PIL.__version__} gives {want[y, x, c]}. "
            f"Repeat: {os.path.basename(sys.argv[0])} --seed {options.seed} {self.id().split('.')[-1]}"
        )


def main():
    global options, library
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--library", default=os.environ.get("MOTLEY_LIBRARY"), help="path of libmotley.so")
    parser.add_argument("--cli", default=os.environ.get("MOTLEY_CLI"), help="path of the motley program")
    parser.add_argument("--backends", default="reference,cpu", help="comma-separated")
    parser.add_argument("--thorough", action="store_true", help="many times as many cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ops", help="comma-separated; all ops when left out")
    parser.add_argument("tests", nargs="*", help="names of test methods; all when left out")
    options = parser.parse_args()
    if not options.library:
        parser.error("--library is missing: the path of libmotley.so, such as build/libmotley.so")
    library = Library(os.path.abspath(options.library))
    for backend in options.backends.split(","):
        contexts[backend] = library.context(backend)
    print(f"Pillow {PIL.__version__}, NumPy {np.__version__}, backends {options.backends}, seed {options.seed}")
    names = unittest.defaultTestLoader
    if options.tests:
        names.testMethodPrefix = tuple(options.tests)
    started = time.time()
    result = unittest.TextTestRunner(verbosity=2).run(names.loadTestsFromModule(sys.modules["__main__"]))
    for note in notes:
        print(f"NOTE: {note}")
    for what, (left, whole) in left_out.items():
        if left:
            print(f"left out: {left} of {whole} {what}")
    # a test with several failing parts counts once
    failed = len({getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors})
    print(f"{counts['images']} images, {counts['pixels']} pixels compared in {time.time() - started:.0f} s")
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed, {len(result.skipped)} skipped")
    if result.testsRun == 0:
        print("no test ran: an error")
        return 1
    return 1 if failed else SKIPPED if len(result.skipped) == result.testsRun else 0
