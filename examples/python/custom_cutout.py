# SPDX-License-Identifier: Apache-2.0
"""A custom operation, named in a policy beside the library's: a cutout whose square is grey.

python examples/python/custom_cutout.py
"""

from typing import Any

import numpy as np

import motley

POLICY = """
motley: 1
name: cutout_of_mine
bins: 11
level: uniform
ops:
  grey_square: {range: [0, 0.5], of: width}
branches:
  - [{op: rotate, value: 15}, {op: grey_square, p: 0.8}]
  - grey_square
"""


@motley.custom_op("grey_square", unit="side, pixels", minimum=0, maximum=10000)
def grey_square(
    indices: list[int], images: list[np.ndarray[Any, Any]], values: list[tuple[float, float, float]]
) -> None:
    for image, (side, u, v) in zip(images, values):  # height x width x channels: NumPy's order
        height, width, _ = image.shape
        x, y, half = u * width, v * height, side / 2
        image[max(0, round(y - half)) : round(y + half), max(0, round(x - half)) : round(x + half)] = 128


def main() -> None:
    images = np.random.default_rng(1).integers(0, 256, (8, 64, 64, 3), np.uint8)
    augment = motley.Transform(POLICY, seed=7)
    out, draws = augment(images, sample_ids=range(100, 108), epoch=0, return_draws=True)
    for sample, image, steps in zip(range(100, 108), out, draws):
        steps_text = ", ".join(f"{step['op']} {step['value']:.3g}" for step in steps)
        print(f"sample {sample}: {int((image == 128).all(-1).sum()):4} grey pixels after {steps_text}")


if __name__ == "__main__":
    main()
