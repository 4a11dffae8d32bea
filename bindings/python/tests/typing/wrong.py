# SPDX-License-Identifier: Apache-2.0
"""Calls that type checkers have to find: every line with `# wrong`, and no other."""

import numpy as np

import motley
import motley.torch
import motley.torchvision

batch = np.zeros((2, 8, 8, 3), np.uint8)
stage = motley.RandAugment()

motley.RandAugment(num_ops="two")  # wrong
motley.RandAugment(magnitud=9)  # wrong
motley.RandAugment(interpolation="lanczos")  # wrong
motley.RandAugment(seed="7")  # wrong
motley.AutoAugment("imagenett")  # wrong
motley.Transform(3)  # wrong
motley.Transform("rand_augment", mean="0.5", std=0.25)  # wrong
motley.Transform("rand_augment", normalize=(0.485, 0.456, 0.406))  # wrong
motley.Transform("rand_augment", dtype="float8")  # wrong
motley.Transform("rand_augment", output_layout="nchw")  # wrong
motley.Transform("rand_augment", layout="cwh")  # wrong
stage(batch, sampel_ids=[0, 1])  # wrong
stage(batch, sample_ids="01")  # wrong
stage(batch, [0, 1], 3)  # wrong
stage(batch, epoch=1.5)  # wrong
stage(batch, return_draws="yes")  # wrong
stage.set_epoch("3")  # wrong
motley.RandAugment(generator="left")  # wrong
stage.draw(size=224)  # wrong
motley.ops.rotate(batch)  # wrong
motley.ops.rotate(batch, "30")  # wrong
motley.ops.rotate(batch, 30, interpolation=2)  # wrong
motley.ops.invert(batch, 3)  # wrong
motley.ops.rotated(batch, 30)  # wrong
motley.Policy(3)  # wrong
motley.from_timm(9)  # wrong
wrong: int = motley.Policy("rand_augment").name  # wrong
stage.replay(batch, 3)  # wrong
motley.follow.Boxes("xxyy")  # wrong
motley.follow.Points(pairs=[1, 2])  # wrong
motley.Follow("rand_augment", {"mask": 255})  # wrong
motley.Follow("rand_augment")(batch, sample_ids=[1, 2])  # wrong
motley.torch.Transform("rand_augment", layot="nhwc")  # wrong
motley.torch.Transform("rand_augment")(batch, sampel_ids=[0, 1])  # wrong
motley.torch.Transform("rand_augment")(batch, epoch="3")  # wrong
motley.torchvision.fuse()  # wrong
motley.torchvision.fuse([]).transform.nothing()  # wrong
