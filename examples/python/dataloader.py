# SPDX-License-Identifier: Apache-2.0
"""Three places in a PyTorch DataLoader for Motley. With a motley.torch.Sampler, all give the same images."""

import torch
from torch.utils.data import DataLoader, TensorDataset

import motley.torch

SEED, EPOCH = 7, 3


def sampler() -> motley.torch.Sampler:
    """The order, whose indices say by which epoch their samples are drawn."""
    return motley.torch.Sampler(range(64), EPOCH)


def in_the_dataset(dataset: TensorDataset, augment: motley.torch.Transform) -> list[torch.Tensor]:
    """Image by image, in the workers: what transforms do. Takes images of any sizes."""
    augmented = motley.torch.Augmented(dataset, augment.policy, seed=SEED)
    return [images for images, _ in DataLoader(augmented, batch_size=16, sampler=sampler(), num_workers=2)]


def in_collate(dataset: TensorDataset, augment: motley.torch.Transform) -> list[torch.Tensor]:
    """Batch by batch, in the workers: one call a batch, and the workers' cores do the work."""
    collate, indexed = motley.torch.MotleyCollate(augment, ids=2), motley.torch.Indexed(dataset)
    loader = DataLoader(indexed, batch_size=16, sampler=sampler(), num_workers=2, collate_fn=collate)
    return [images for images, _, _ in loader]


def after_the_batch(dataset: TensorDataset, augment: motley.torch.Transform, device: str) -> list[torch.Tensor]:
    """Batch by batch, on the GPU beside the model: the workers only read."""
    indexed, pin = motley.torch.Indexed(dataset), device == "cuda"
    loader = DataLoader(indexed, batch_size=16, sampler=sampler(), num_workers=2, pin_memory=pin)
    batches = motley.torch.Prefetcher(loader, augment.to(device), device, ids=2)
    return [images.cpu() for images, _, _ in batches]


if __name__ == "__main__":
    pictures = torch.randint(256, (64, 3, 32, 32), dtype=torch.uint8)
    dataset = TensorDataset(pictures, torch.arange(64) % 10)
    augment = motley.torch.Transform("rand_augment", seed=SEED)
    first = in_the_dataset(dataset, augment)
    second = in_collate(dataset, augment)
    third = after_the_batch(dataset, augment, "cuda" if torch.cuda.is_available() else "cpu")
    for a, b, c in zip(first, second, third):
        assert torch.equal(a, b) and torch.equal(b, c)
    print(f"{len(first)} batches, the same in all three places")
