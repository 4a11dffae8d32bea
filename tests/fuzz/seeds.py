#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the committed seeds of the fuzz targets, tests/fuzz/corpus/TARGET/: small inputs that reach every branch of a
reader once. Policies are seeded with policy_files/, tests/bad_policies/ and tests/bad_transforms/ instead.

    tests/fuzz/seeds.py MOTLEY"""

import json
import pathlib
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from image_bytes import chunk, exif, exif_segment, jpeg, pattern, png  # noqa: E402


def write(target, name, data):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def images():
    for channels in 1, 2, 3, 4:
        write("image", f"png_{channels}", png(5, 3, channels, pattern(5, 3, channels)))
    grey = png(6, 4, 1, pattern(6, 4, 1))
    write("image", "png_exif", grey[:33] + chunk(b"eXIf", exif(6)) + grey[33:])
    write("image", "png_animated", grey[:33] + chunk(b"acTL", struct.pack(">II", 2, 0)) + grey[33:])
    write("image", "png_cut", grey[:-20])
    for components in 1, 3, 4:
        write("image", f"jpeg_{components}", jpeg(17, 9, components))
    write("image", "jpeg_exif", jpeg(17, 9, 3, exif_segment(8)))
    write("image", "exif", b"Exif\0\0" + exif(5))


def draws(motley):
    for policy in "rand_augment", "dali_rand_augment", "timm_3_augment", "auto_augment_cifar10", "augmix":
        lines = subprocess.run([motley, "draw", policy, "-N", "4"], capture_output=True, check=True).stdout.splitlines()
        for i, line in enumerate(lines):
            write("draws", f"{policy}_{i}", b"\2" + line)
    write(
        "draws",
        "cutout",
        b"\2"
        + json.dumps(
            {
                "sample": 2**64 - 1,
                "image": "é.png",
                "steps": [
                    {"op": "cutout", "value": 3, "center": [1.5, 2], "fill": [1, 2, 3]},
                    {"op": "rotate", "level": 3, "value": 9, "applied": False},
                    {"op": "affine", "value": [1, 0, 0, 0, 1, 0], "interpolation": "bicubic", "fill": [0, 0, 0]},
                ],
            }
        ).encode(),
    )


def numbers():
    """fuzz_dlpack takes 16 bit words."""

    def words(*values):
        return struct.pack(f"<{len(values)}H", *values)

    for name, axes, sizes in ("hwc", 0, (2, 8, 8, 3)), ("chw", 1, (2, 3, 8, 8)), ("hw", 2, (8, 8)):
        shape = [word for size in sizes for word in (1, size + 8, 1, 9)]
        for kind in 0, 64:
            write("dlpack", f"{name}_{kind}", words(kind, len(sizes), *shape, axes))


if __name__ == "__main__":
    images()
    draws(sys.argv[1])
    numbers()
