# SPDX-License-Identifier: Apache-2.0
"""AdaAugment's loop (Yang et al. 2024, arXiv:2405.11467): a policy network says how strongly each image is augmented,
and is rewarded where that is harder than no augmentation and easier than all of it."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import cross_entropy

import motley
import motley.torch

CLASSES, STEPS, BATCH = 10, 60, 64
device = "cuda" if torch.cuda.is_available() else "cpu"
adaptive = motley.Policy("trivial_augment_wide").change(level="given")
augment = motley.torch.Transform(adaptive, mean=(0.49, 0.48, 0.45), std=(0.25, 0.24, 0.26))


def pictures(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """As CIFAR's: noise with a bar, whose place and direction are the class."""
    labels = torch.randint(CLASSES, (BATCH,), generator=generator)
    images = torch.randint(150, (BATCH, 3, 32, 32), generator=generator, dtype=torch.uint8)
    for image, label in zip(images, labels.tolist()):
        at = 4 + 5 * (label // 2)
        (image if label % 2 else image.mT)[:, at : at + 4] = 220
    return images, labels


def network(outputs: int) -> nn.Sequential:
    layers = nn.Conv2d(3, 16, 5, 2), nn.ReLU(), nn.Conv2d(16, 32, 5, 2), nn.ReLU()
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(800, outputs)).to(device)


if __name__ == "__main__":
    generator = torch.manual_seed(0)
    target, policy = network(CLASSES), network(2)  # the policy's outputs: an actor and a critic
    optimisers = torch.optim.Adam(target.parameters(), lr=0.002), torch.optim.Adam(policy.parameters(), lr=0.0003)
    for step in range(STEPS):
        images, labels = (x.to(device) for x in pictures(generator))
        ids = range(BATCH)  # of this step, which stands for an epoch: its draws are repeated on purpose
        plain = augment(images, sample_ids=ids, epoch=step, levels=0)
        actor, value = policy(plain).unbind(1)
        action = torch.distributions.Normal(actor.sigmoid(), 0.1)
        strength = action.sample()  # stays on the device, where the draws read it: nothing waits
        adapted = target(augment(images, sample_ids=ids, epoch=step, levels=strength))
        with torch.no_grad():
            whole = target(augment(images, sample_ids=ids, epoch=step, levels=1))
            losses = [cross_entropy(out, labels, reduction="none") for out in (whole, adapted, target(plain))]
            share = 1 - step / STEPS
            reward = share * (losses[0] - losses[1]) + (1 - share) * (losses[1] - losses[2])
        advantage = reward - value
        learned = -(action.log_prob(strength) * advantage.detach()).mean() + advantage.square().mean()
        for optimiser, loss in zip(optimisers, (cross_entropy(adapted, labels), learned)):
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        if step % 20 == 19:
            print(f"step {step + 1}: loss {losses[1].mean():.3f}, strength {strength.clamp(0, 1).mean():.3f}")
