# SPDX-License-Identifier: Apache-2.0
"""examples/nvjpeg.c on a GPU: JPEG files to the network's input, and what it says of files that it cannot read.

EXAMPLE is the program's path, empty where nvJPEG was not found and it was not built. Exits with 77, a skip, there and
where there is no GPU, which is a failure with REQUIRE_CUDA."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from image_bytes import jpeg

EXAMPLE = os.environ["EXAMPLE"]
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of torchvision_train


def run(*files):
    return subprocess.run([EXAMPLE, *map(str, files)], capture_output=True, text=True, timeout=120)


def grey(folder, name, width, height):
    path = folder / name
    path.write_bytes(jpeg(width, height, 3))
    return path


class Nvjpeg(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_files_of_several_sizes(self):
        """Every crop of a grey image is that grey, so its normalised mean is known."""
        sizes = (500, 375), (64, 300), (1, 1), (33, 17)
        files = [grey(self.folder, f"{i}.jpg", *size) for i, size in enumerate(sizes)]
        done = run(*files)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = re.fullmatch(r"4 images, 4 x 3 x 224 x 224 values, mean (-?[\d.]+)\n", done.stdout)
        self.assertTrue(found, done.stdout)
        wanted = sum((128 / 255 - mean) / std for mean, std in zip(MEAN, STD)) / 3
        self.assertAlmostEqual(float(found[1]), wanted, delta=1e-4)

    def test_files_that_cannot_be_read(self):
        good = grey(self.folder, "good.jpg", 40, 30)
        text = self.folder / "text.jpg"
        text.write_text("no picture")
        empty = self.folder / "empty.jpg"
        empty.touch()
        for bad, words in ((text, "is no JPEG file"), (empty, "cannot be read"), (self.folder / "none.jpg", "opened")):
            done = run(good, bad)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, f"^example_nvjpeg: {re.escape(str(bad))}: .*{words}")
        self.assertEqual(run().returncode, 2)


def main():
    if not EXAMPLE:
        print("skipped: nvJPEG was not found, so the example was not built")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        probe = run(grey(pathlib.Path(scratch), "probe.jpg", 16, 16))
    if probe.stderr.startswith("example_nvjpeg: context: "):
        print(f"skipped: {probe.stderr}")
        return 1 if os.environ.get("REQUIRE_CUDA") else 77
    return unittest.main()


if __name__ == "__main__":
    sys.exit(main())
