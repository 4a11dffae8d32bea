# SPDX-License-Identifier: Apache-2.0
"""Video: the frames of a clip draw alike, so that nothing flickers, and clips draw apart."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, TensorDataset

import motley
import motley.torch

FRAMES, SIDE = 8, 32


def clips(count: int) -> torch.Tensor:
    """[count, FRAMES, 3, SIDE, SIDE]: a bright square that moves to the right (class 0) or down (class 1)."""
    made = torch.randint(90, (count, FRAMES, 3, SIDE, SIDE), dtype=torch.uint8)
    for i in range(count):
        for t in range(FRAMES):
            x, y = (4 + 2 * t, 12) if i % 2 == 0 else (12, 4 + 2 * t)
            made[i, t, :, y : y + 8, x : x + 8] = 220
    return made


if __name__ == "__main__":
    torch.manual_seed(0)
    dataset = motley.torch.Indexed(TensorDataset(clips(32), torch.arange(32) % 2))
    augment = motley.torch.Transform("rand_augment", normalize=(0.45, 0.225), dtype=torch.float32, seed=1)
    model = torch.nn.Sequential(
        torch.nn.Conv3d(3, 8, 3, 2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 3 * 15 * 15, 2)
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=0.001)
    for epoch in range(2):
        augment.set_epoch(epoch)
        for batch, labels, indices in DataLoader(dataset, batch_size=8, shuffle=True):
            ids = motley.group_ids(indices, FRAMES)
            frames = augment(batch.flatten(0, 1), sample_ids=ids)
            loss = torch.nn.functional.cross_entropy(model(frames.unflatten(0, (-1, FRAMES)).transpose(1, 2)), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}")
    still = batch[:, :1].expand(-1, FRAMES, -1, -1, -1).flatten(0, 1)  # clips of one frame again and again
    moved = augment(still, sample_ids=ids, view=1).unflatten(0, (-1, FRAMES))
    print("frames of a clip draw alike:", bool((moved == moved[:, :1]).all()))
