# SPDX-License-Identifier: Apache-2.0
"""Batches that are dicts of columns: Ray Data's map_batches, Hugging Face's set_transform and map, pandas-like loaders.

    dataset.map_batches(Augment, fn_constructor_args=['rand_augment'], fn_constructor_kwargs={'ids': 'id'}, ...)  # Ray
    dataset.set_transform(Augment('rand_augment'))                                                  # Hugging Face"""
import motley
from motley.adapters import fresh_seed, policy_of


class Augment:
    """A callable that augments one column of a batch, each image with its own draw, and leaves the others.

    policy   a motley.Policy, what has one, a name or a path
    image    the column of images: an array [N, H, W, C] of bytes, or a list of PIL images or arrays of any sizes
    ids      the column of sample ids, or None
    epoch    of the draws that ids make; set_epoch() changes it, where the object itself does the work. Ray makes its
             objects in other processes: give each epoch's map_batches its own."""

    def __init__(self, policy, *, image="image", ids=None, seed=0, epoch=0):
        self.stage, self.image, self.ids = motley.Stage(policy_of(policy), seed=seed, epoch=epoch), image, ids

    def set_epoch(self, epoch):
        self.stage.set_epoch(epoch)

    def __call__(self, batch):
        images = batch[self.image]
        if getattr(images, "dtype", None) == object:  # an array of arrays, as images of different sizes come
            images = list(images)
        if self.ids is None:
            out = self.stage(images, seed=fresh_seed(), sample_ids=range(len(images)))
        else:
            out = self.stage(images, sample_ids=batch[self.ids])
        return {**batch, self.image: out}
