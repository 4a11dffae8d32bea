# SPDX-License-Identifier: Apache-2.0
"""Hugging Face datasets: images are augmented where they are read, by set_transform."""

import datasets
import numpy
from PIL import Image

from motley.adapters.columns import Augment

if __name__ == "__main__":
    random = numpy.random.default_rng(1)
    pictures = [Image.fromarray(random.integers(0, 256, (24 + i, 32, 3), numpy.uint8)) for i in range(16)]
    dataset = datasets.Dataset.from_dict(
        {"image": pictures, "id": list(range(16))},
        features=datasets.Features(image=datasets.Image(), id=datasets.Value("int64")),
    )
    for epoch in range(2):
        dataset.set_transform(Augment("rand_augment", ids="id", seed=7, epoch=epoch))
        batch = dataset[:4]
        print(
            f"epoch {epoch}:",
            ", ".join(
                f"{image.size[0]}x{image.size[1]} mean {numpy.asarray(image).mean():.1f}" for image in batch["image"]
            ),
        )
