# SPDX-License-Identifier: Apache-2.0
"""Data sets whose samples carry their ids, or are augmented where they are read."""
from collections.abc import Mapping

import torch

import motley
from motley.adapters import policy_of
from motley.torch.batches import replaced


class Indexed(torch.utils.data.Dataset):
    """A data set whose samples carry their index as their last item (of a dict: under 'sample_id')."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, i):
        sample = self.dataset[i]
        return {**sample, "sample_id": i} if isinstance(sample, Mapping) else (*sample, i)


class Augmented(torch.utils.data.Dataset):
    """A data set whose images are augmented one by one where they are read, sample i with the draws of id i.

    images   index or key of the image in a sample: a PIL image, or a uint8 tensor or array that motley takes"""

    def __init__(self, dataset, policy, *, seed=0, images=0):
        self.dataset, self.stage, self.images = dataset, motley.Stage(policy_of(policy), seed=seed), images
        self.epoch = torch.zeros(1, dtype=torch.int64).share_memory_()

    def set_epoch(self, epoch):
        """To be called before each pass over the loader, as DistributedSampler's; workers see it at once."""
        self.epoch.fill_(epoch)

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, i):
        sample = self.dataset[i]
        image = self.stage(sample[self.images], epoch=int(self.epoch), sample_ids=i)
        return replaced(sample, self.images, image)
