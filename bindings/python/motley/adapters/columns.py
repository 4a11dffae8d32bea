# SPDX-License-Identifier: Apache-2.0
"""Batches that are dicts of columns: Ray Data's map_batches, Hugging Face's set_transform and map, pandas-like loaders.

dataset.map_batches(Augment, fn_constructor_args=['rand_augment'], fn_constructor_kwargs={'ids': 'id'}, ...)  # Ray
dataset.set_transform(Augment('rand_augment'))                                                  # Hugging Face"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import motley
from motley.adapters import Adapter, check_labels

if TYPE_CHECKING:
    from motley._types import PolicyLike


class Augment(Adapter):
    """A callable that augments one column of a batch, each image with its own draw, and leaves the others.

    Args:
        policy: A motley.Policy, a name or a path, or a motley.Transform, whose settings are kept. With a policy that
            has stages the column becomes the network's input, [N, 3, H, W] as the policy says. With views
            a column for each view takes its place, [N, count, 3, H, W] where a view has several.
        seed: Of a policy; None is none, or that of the transform.
        image: The column of images: an array [N, H, W, C] of bytes, or a list of PIL images or arrays of any sizes.
        ids: The column of sample ids, or None: each batch draws anew.
        labels: The column of labels, which a policy that mixes images turns into targets; elsewhere None.
        epoch: Of the draws by id: a number, or a callable that returns it where the batch is made. Wanted with ids:
            Ray and Hugging Face tell nobody that an epoch begins, so that each epoch's map_batches has its own.
    """

    image: str

    def __init__(
        self,
        policy: PolicyLike,
        *,
        image: str = "image",
        ids: str | None = None,
        labels: str | None = None,
        seed: int | None = None,
        epoch: int | Callable[[], int] | None = None,
    ) -> None:
        super().__init__(policy, image, seed, epoch, mixing=True)
        self.ids, self.labels = ids, labels
        check_labels(self.transform, labels)
        if ids is not None and epoch is None:
            raise motley.ArgumentError(
                f"ids is {ids!r}, but no epoch is given, so that each pass would draw the same: want epoch=, a number "
                "or a callable that returns it; or no ids, so that each batch draws anew"
            )

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        images = _column(batch, self.image, "images")
        if getattr(images, "dtype", None) == "O":  # an array of arrays, as images of different sizes come
            images = list(images)
        which = {} if self.ids is None else self._by(_column(batch, self.ids, "sample ids"))
        if self.labels is None:
            return self._replaced(batch, self.image, self.transform(images, **which), True)
        labels = _column(batch, self.labels, "labels")
        images, targets = self.transform(images, labels=labels, **which)
        return {**batch, self.image: images, self.labels: targets}


def _column(batch: Any, key: str, what: str) -> Any:
    if not hasattr(batch, "keys"):  # which a table of pandas has, too
        raise motley.ArgumentError(f"the batch is a {type(batch).__name__}, want a dictionary of columns")
    if isinstance(key, bool) or key not in batch.keys():
        has = ", ".join(map(repr, batch.keys())) or "none"
        raise motley.ArgumentError(f"the batch has no column {key!r} for the {what}, it has {has}")
    return batch[key]
