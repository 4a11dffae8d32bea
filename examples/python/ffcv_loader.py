# SPDX-License-Identifier: Apache-2.0
"""FFCV: its own decoders and threads, then Motley on the batch."""

import os
import tempfile
from typing import Any

import numpy
import torch
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.basics import IntDecoder
from ffcv.fields.rgb_image import SimpleRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import Squeeze, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter

import motley.torch


class Pictures:
    def __init__(self) -> None:
        self.pictures = numpy.random.default_rng(1).integers(0, 256, (64, 32, 32, 3), numpy.uint8)

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, i: int) -> tuple[numpy.ndarray[Any, Any], int]:
        return self.pictures[i], i % 10


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pictures.beton")
        writer = DatasetWriter(path, {"image": RGBImageField(), "label": IntField()}, num_workers=1)
        writer.from_indexed_dataset(Pictures())
        augment = motley.torch.Transform("rand_augment", mean=(0.5,) * 3, std=(0.5,) * 3, dtype=torch.float32)
        loader = Loader(
            path,
            batch_size=16,
            num_workers=1,
            order=OrderOption.SEQUENTIAL,
            pipelines={
                "image": [SimpleRGBImageDecoder(), ToTensor(), ToTorchImage()],
                "label": [IntDecoder(), ToTensor(), Squeeze()],
            },
        )
        for epoch in range(2):
            means = [f"{augment(images).mean().item():+.4f}" for images, labels in loader]
            print(f"epoch {epoch}: means {', '.join(means)}")
