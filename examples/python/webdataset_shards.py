# SPDX-License-Identifier: Apache-2.0
"""WebDataset: shards are read, decoded and augmented in a DataLoader's workers."""

import os
import tempfile

import numpy
import torch
import webdataset
from PIL import Image
from torchvision.transforms.functional import pil_to_tensor

from motley.adapters.webdataset import Augment


def write_shards(folder: str, shards: int = 2, samples: int = 32) -> None:
    random = numpy.random.default_rng(1)
    for s in range(shards):
        with webdataset.TarWriter(os.path.join(folder, f"{s:02}.tar")) as shard:
            for i in range(samples):
                picture = Image.fromarray(random.integers(0, 256, (32, 32, 3), numpy.uint8))
                shard.write({"__key__": f"{s:02}{i:04}", "jpg": picture, "cls": i % 10})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write_shards(folder)
        dataset = (
            webdataset.WebDataset(os.path.join(folder, "{00..01}.tar"), shardshuffle=False)
            .decode("pil")
            .map(Augment("rand_augment"))
            .to_tuple("jpg", "cls")
            .map_tuple(pil_to_tensor, int)
            .batched(16)
        )
        loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2)
        for epoch in range(2):
            for images, _ in loader:
                print(f"epoch {epoch}: images {tuple(images.shape)}, mean {images.float().mean().item():.2f}")
