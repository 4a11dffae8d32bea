# SPDX-License-Identifier: Apache-2.0
"""Motley in a PyTorch training loop: transforms as modules, a prefetcher around a loader, and what runs in its workers.

    augment = motley.torch.Transform(motley.rand_augment(2, 9), mean=MEAN, std=STD, dtype=torch.bfloat16).cuda()
    for images, labels in motley.torch.Prefetcher(loader, augment):    # a loader of u8 batches
        train(images, labels)

    transform = motley.torch.Transform("torchvision_train")          # crop, resize, flip, normalise as well
    collate = motley.torch.MotleyCollate(transform)                  # of decoded images of any sizes

    # from JPEG files, decoded on the GPU where there is one
    files = ImageFolder("train", loader=motley.torch.read_file)
    loader = DataLoader(files, 256, shuffle=True, collate_fn=motley.torch.list_images)
    for images, labels in motley.torch.Prefetcher(loader, transform):
        train(images, labels)

Draws     Without sample ids each call draws anew, by a word of torch's generator: workers, epochs, ranks and copies
          differ, and torch.manual_seed repeats a run. With a motley.torch.Sampler in the loader each index carries its
          epoch and view, and a draw depends on (seed, epoch, index, view) alone: not on workers, ranks, batch sizes or
          where a run was resumed."""

from motley._random import Index
from motley.torch.data import Augmented, Indexed, MotleyCollate, Sampler
from motley.torch.module import Transform
from motley.torch.prefetch import Prefetcher, ask_for_queues, list_images, read_file

__all__ = [
    "Augmented", "Index", "Indexed", "MotleyCollate", "Prefetcher", "Sampler", "Transform", "ask_for_queues",
    "list_images", "read_file",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name == "Stage":
        raise AttributeError("module 'motley.torch' has no attribute 'Stage': its Transform takes every policy")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
