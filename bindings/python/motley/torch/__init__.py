# SPDX-License-Identifier: Apache-2.0
"""Motley in a PyTorch training loop: transforms as modules, a prefetcher around a loader, and what runs in its workers.

    augment = motley.torch.Transform(motley.RandAugment(2, 9), mean=MEAN, std=STD, dtype=torch.bfloat16).cuda()
    for images, labels in motley.torch.Prefetcher(loader, augment):    # a loader of u8 batches
        train(images, labels)

    transform = motley.torch.Transform("torchvision_train")          # crop, resize, flip, normalise as well
    collate = motley.torch.MotleyCollate(transform)                  # of decoded images of any sizes

    # from JPEG files, decoded on the GPU where there is one
    files = ImageFolder("train", loader=motley.torch.read_file)
    loader = DataLoader(motley.torch.Indexed(files), 256, shuffle=True, collate_fn=motley.torch.list_images)
    for images, labels, ids in motley.torch.Prefetcher(loader, transform, ids=2):
        train(images, labels)

Draws     With sample ids a draw depends on (seed, epoch, sample id) and on nothing else: not on workers, ranks, batch
          size, shuffling or where a run was resumed. `Indexed` gives a data set's samples their ids. Each pass of a
          loader is the next epoch, unless set_epoch() says which; for a transform that you call yourself, call its
          set_epoch(), or it warns when a sample comes again. Without ids a transform counts its samples, and the
          counter is part of its state_dict(); ranks draw differently."""

from motley.torch.data import Augmented, Index, Indexed, MotleyCollate, Reproducible, Views
from motley.torch.module import Transform
from motley.torch.prefetch import Prefetcher, ask_for_queues, list_images, read_file

__all__ = [
    "Augmented", "Index", "Indexed", "MotleyCollate", "Prefetcher", "Reproducible", "Transform", "Views",
    "ask_for_queues", "list_images", "read_file",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name == "Stage":
        raise AttributeError("module 'motley.torch' has no attribute 'Stage': its Transform takes every policy")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
