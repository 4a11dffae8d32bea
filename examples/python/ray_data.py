# SPDX-License-Identifier: Apache-2.0
"""Ray Data: blocks are augmented by as many workers as there are; each epoch's pipeline has the epoch's number."""

import numpy
import ray

from motley.adapters.columns import Augment


def epoch_of(dataset: ray.data.Dataset, epoch: int, workers: int) -> ray.data.Dataset:
    return dataset.map_batches(
        Augment,
        fn_constructor_args=["rand_augment"],
        batch_size=16,
        batch_format="numpy",
        fn_constructor_kwargs={"ids": "id", "seed": 7, "epoch": epoch},
        compute=ray.data.ActorPoolStrategy(size=workers),
    )


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    pictures = numpy.random.default_rng(1).integers(0, 256, (64, 32, 32, 3), numpy.uint8)
    dataset = ray.data.from_items([{"id": i, "image": picture} for i, picture in enumerate(pictures)])
    seen = {}
    for epoch in range(2):
        for batch in epoch_of(dataset, epoch, workers=2).iter_batches(batch_size=32):
            seen.update({(epoch, int(i)): image for i, image in zip(batch["id"], batch["image"])})
    same = sum(numpy.array_equal(seen[0, i], seen[1, i]) for i in range(64))
    print(f"{len(seen)} images of 2 epochs, {same} of 64 the same in both")
