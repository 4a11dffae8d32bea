# SPDX-License-Identifier: Apache-2.0
"""NVIDIA DALI: Motley as an operator of its pipeline, on images of different sizes. Runs without a GPU too."""

from typing import Any

import numpy
from nvidia.dali import fn, pipeline_def

from motley.adapters.dali import augment

random = numpy.random.default_rng(1)
PICTURES = [random.integers(0, 256, (24 + i, 32, 3), numpy.uint8) for i in range(16)]


@pipeline_def(batch_size=8, num_threads=2, device_id=None)
def pipeline() -> Any:
    images, ids = fn.external_source(
        lambda sample: (PICTURES[sample.idx_in_epoch % 16], numpy.int64(sample.idx_in_epoch % 16)),
        num_outputs=2,
        batch=False,
    )
    return augment(images, ids, policy="rand_augment", seed=7, epoch=0), ids


if __name__ == "__main__":
    pipe = pipeline()
    pipe.build()
    for _ in range(2):
        images, ids = pipe.run()
        print(", ".join(f"{int(ids.at(i))}: {images.at(i).shape} mean {images.at(i).mean():.1f}" for i in range(8)))
