# SPDX-License-Identifier: Apache-2.0
"""Test-time augmentation: a segmentation is averaged over views of an image, each moved back to the image's frame."""

from __future__ import annotations

from typing import cast

import torch

import motley.torch

SIDE, VIEWS = 64, 8
views_of = motley.torch.Transform(f"""
motley: 1
name: test_time
stages:
  - random_resized_crop: {{size: {2 * SIDE}, scale: [0.6, 1]}}
  - flip: {{horizontal: 0.5, vertical: 0.5}}
  - policy: {{branches: [{{op: rotate, value: 10}}, {{op: rotate, value: -10}}], interpolation: bilinear}}
  - output: {{mean: 0, std: 1}}
""")


def averaged(model: torch.nn.Module, images: torch.Tensor) -> torch.Tensor:
    """The mean probability over the views that show a pixel, [N, H, W]."""
    total, seen = torch.zeros(2, len(images), SIDE, SIDE)
    for view in range(VIEWS):
        batch, draws = views_of(images, sample_ids=range(len(images)), epoch=0, view=view, return_draws=True)
        back = motley.Inverse(draws, views_of)
        probability, valid = back.images(model(batch).sigmoid()[:, 0], interpolation="bilinear")
        total, seen = total + probability, seen + valid.float()
    return total / seen.clamp(min=1)


def discs(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Discs that are a little brighter than the noise around them, and where they are."""
    random = torch.Generator().manual_seed(1)
    x, y = torch.randint(16, SIDE - 16, (2, count, 1, 1), generator=random)
    rows, columns = torch.arange(SIDE).view(-1, 1), torch.arange(SIDE).view(1, -1)
    masks = (columns - x) ** 2 + (rows - y) ** 2 < 12**2
    noise = torch.randint(160, (count, 3, SIDE, SIDE), generator=random, dtype=torch.uint8)
    return noise + 60 * masks[:, None].to(torch.uint8), masks


class Brightness(torch.nn.Module):
    """A network without training: a pixel belongs to a disc if its surroundings are bright."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        near = torch.nn.functional.avg_pool2d(images, 9, 1, 4, count_include_pad=False)
        return cast(torch.Tensor, 40 * (near.mean(1, keepdim=True) - 110 / 255))


def error(probability: torch.Tensor, masks: torch.Tensor) -> float:
    return float((probability - masks.float()).abs().mean())


if __name__ == "__main__":
    images, masks = discs(16)
    model = Brightness()
    alone = model(images / 255).sigmoid()[:, 0]
    several = averaged(model, images)
    print(f"mean error {error(alone, masks):.4f} from one view, {error(several, masks):.4f} from {VIEWS} views")
