# SPDX-License-Identifier: Apache-2.0
"""Calls that type checkers have nothing to say about. test_typing.py runs them through mypy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import motley
import motley.timm
import motley.torchvision

Batch = np.ndarray[Any, np.dtype[np.uint8]]


def augment(batch: Batch, ids: list[int]) -> Batch:
    stage = motley.RandAugment(num_ops=2, magnitude=9, interpolation="bilinear", fill=(128, 128, 128), seed=7)
    stage.set_epoch(3)
    out: Batch = stage(batch, sample_ids=ids)
    again, draws = stage(batch, sample_ids=range(4), epoch=1, return_draws=True)
    out = stage(again, out=out)
    for step in draws[0]:
        print(step["op"])
    stage.apply_(out, sample_ids=ids)
    out = stage.replay(out, draws, out=stage.replay(batch, draws))
    print(motley.draws.matrices(draws, (224, 224)))
    first, second = stage(batch, views=2)
    print(stage.policy.whole, stage.policy.size, stage.policy.name, first, second)
    return out


def sample_with_boxes(image: Batch, boxes: list[list[float]]) -> dict[str, Any]:
    kinds = {"boxes": motley.follow.Boxes("xywh", min_area=4, label_fields=("labels", "area"))}
    follow = motley.Follow(motley.Transform("rand_augment", seed=3), kinds)
    sample = follow({"image": image, "boxes": boxes, "labels": [1]}, sample_ids=7, epoch=1)
    back, valid = motley.Inverse([{"steps": []}], motley.Transform("torchvision_train"), (4, 5)).images(image)
    print(back, valid)
    several, draws = motley.Follow("rand_augment", {"mask": motley.follow.Mask(255)})([sample], return_draws=True)
    one: dict[str, Any] = follow(sample, views=1, sample_ids=7)
    print(one, len(follow(sample, views=2)))
    print(several[0]["mask"], draws[0], motley.follow.Points("index", pairs=[(0, 1)], inside="inside"))
    return sample


def policies() -> motley.Policy:
    policy = motley.Policy("trivial_augment_wide").change(repeat=2, fill=0, interpolation=["bilinear", "bicubic"])
    policy = policy.change(branches=policy.as_dict()["branches"], level={"normal": 9, "std": 0.5})
    motley.Transform(policy, mean=(0.5, 0.5, 0.5), std=0.25, dtype="float16", output_layout="channels_last")
    motley.Transform("auto_augment_svhn", normalize=((0.4, 0.5, 0.6), 0.2), dtype=np.float32, threads=1, layout="chw")
    motley.AutoAugment("cifar10", seed=3)
    return motley.from_timm("rand-m9-mstd0.5-inc1", {"img_mean": (124, 116, 104)}, seed=1).policy


def operations(batch: Batch, degrees: list[float]) -> Batch:
    batch = motley.ops.rotate(batch, degrees, interpolation="bicubic", fill=(1, 2, 3))
    batch = motley.ops.invert(motley.ops.posterize(batch, 3), out=batch)
    return motley.ops.affine(batch, [1, 0, 0, 0, 1, 0], layout="hwc", alpha=True)


@motley.custom_op("grey_square", unit="side, pixels", minimum=0, maximum=100)
def grey_square(indices: list[int], images: list[Any], values: list[tuple[float, float, float]]) -> None:
    for image, (side, _, _) in zip(images, values):
        image[: int(side), : int(side)] = 128


def what_goes_wrong(batch: Batch) -> None:
    try:
        motley.Transform("mine.yaml")(batch)
    except motley.PolicyError as error:
        for line, column, sentence in error.problems:
            print(line + 1, column, sentence.upper())
    except (motley.ArgumentError, motley.FileError) as error:
        print(error)


def scripts(compose: Callable[[Any], Any], image: Any) -> list[str]:
    fused = motley.torchvision.fuse(compose)
    print(fused(image), fused(image, 3), fused.transform.policy.name, motley.torchvision.Compose([compose])(image))
    motley.torchvision.RandAugment(2, 9)
    motley.torchvision.take_over()
    made = motley.timm.create_transform(224, is_training=True, auto_augment="rand-m9-mstd0.5-inc1")
    print(made, motley.timm.Mixup(0.8, 1.0, num_classes=10)(image, image)[0])
    return [why for _, why in fused.not_taken]
