# SPDX-License-Identifier: Apache-2.0
"""A few steps of DINO (Caron et al. 2021, arXiv:2104.14294) with a small network: the policy file `dino` makes two
large views and eight small ones of each image, in one call."""

from __future__ import annotations

import copy
import itertools

import torch
from torch import nn

import motley

OUTPUTS, STEPS, BATCH = 256, 4, 8
device = "cuda" if torch.cuda.is_available() else "cpu"
views_of = motley.Transform("dino", seed=1)


class Network(nn.Module):
    """A backbone, which takes images of any size, and DINO's head."""

    def __init__(self) -> None:
        super().__init__()
        layers = nn.Conv2d(3, 32, 8, 8), nn.GELU(), nn.Conv2d(32, 64, 2, 2), nn.GELU(), nn.AdaptiveAvgPool2d(1)
        self.backbone = nn.Sequential(*layers, nn.Flatten())
        self.head = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 32))
        self.last = nn.utils.parametrizations.weight_norm(nn.Linear(32, OUTPUTS, bias=False))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.last(nn.functional.normalize(self.head(self.backbone(images)), dim=-1))


if __name__ == "__main__":
    torch.manual_seed(0)
    pixels = torch.randint(256, (STEPS, BATCH, 3, 160, 200), dtype=torch.uint8, device=device)
    student = Network().to(device)
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimiser, center = torch.optim.AdamW(student.parameters(), lr=0.001), torch.zeros(OUTPUTS, device=device)
    for step, images in enumerate(pixels):
        made = views_of(images)
        large, small = [made["global_1"], made["global_2"]], made["local"]
        wanted = teacher(torch.cat(large)).chunk(2)
        found = [*student(torch.cat(large)).chunk(2), *student(torch.cat(small)).chunk(len(small))]
        targets = [((out - center) / 0.04).softmax(-1) for out in wanted]
        pairs = [(t, s) for t, s in itertools.product(range(2), range(len(found))) if t != s]
        losses = [-(targets[t] * (found[s] / 0.1).log_softmax(-1)).sum(-1).mean() for t, s in pairs]
        loss = torch.stack(losses).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        center = 0.9 * center + 0.1 * torch.cat(wanted).mean(0)
        with torch.no_grad():
            for mine, theirs in zip(teacher.parameters(), student.parameters()):
                mine.lerp_(theirs, 0.004)
        print(f"step {step}: {len(found)} views of {BATCH} images, loss {loss.item():.3f}")
