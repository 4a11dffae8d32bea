# SPDX-License-Identifier: Apache-2.0
"""Batches that are dicts of columns: Ray Data's map_batches, Hugging Face's set_transform and map, pandas-like loaders.

dataset.map_batches(Augment, fn_constructor_args=['rand_augment'], fn_constructor_kwargs={'ids': 'id'}, ...)  # Ray
dataset.set_transform(Augment('rand_augment'))                                                  # Hugging Face"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import motley
from motley.adapters import by_view, check_labels, fresh_seed, transform_of
from motley.samples import Epoch, Passes, ray_worker

if TYPE_CHECKING:
    from motley._types import PolicyLike


class Augment(Passes):
    """A callable that augments one column of a batch, each image with its own draw, and leaves the others.

    Args:
        policy: A motley.Policy, a name or a path, or a motley.Transform, whose settings are kept. With a policy that
            has stages the column becomes the network's input, [N, 3, H, W] as the policy says. With views (or a
            motley.MultiView) a column for each view takes its place, [N, count, 3, H, W] where a view has several.
        seed: Of a policy; None is 0, or that of the transform. Without ids it is mixed into each call's own.
        image: The column of images: an array [N, H, W, C] of bytes, or a list of PIL images or arrays of any sizes.
        ids: The column of sample ids, or None.
        labels: The column of labels, which a policy that mixes images turns into targets; elsewhere None.
        epoch: The epoch of the draws by id, in the first pass. Each pass of a torch DataLoader over the data set is the
            next epoch, unless set_epoch() says which; its workers follow. Ray creates the objects in other processes,
            which do not see passes: give each epoch's map_batches its own `epoch`. There None, with ids, is 0 and
            warns.
    """

    def __init__(
        self,
        policy: PolicyLike,
        *,
        image: str = "image",
        ids: str | None = None,
        labels: str | None = None,
        seed: int | None = None,
        epoch: int | None = None,
    ) -> None:
        self.transform, self.image, self.ids, self.labels = transform_of(policy, seed, mixing=True), image, ids, labels
        check_labels(self.transform, labels)
        self.epoch = self.epochs = Epoch(self.transform.epoch if epoch is None else epoch)
        if ids is not None and epoch is None and ray_worker():
            advice = "give each epoch's map_batches its number, fn_constructor_kwargs={'epoch': epoch}"
            warnings.warn(
                f"ids are given and no epoch: samples are augmented the same way in every epoch; {advice}",
                motley.RepeatedSamples,
                stacklevel=2,
            )

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        images = _column(batch, self.image, "images")
        if getattr(images, "dtype", None) == "O":  # an array of arrays, as images of different sizes come
            images = list(images)
        which: dict[str, Any] = {"seed": fresh_seed(self.transform.seed), "sample_ids": range(len(images))}
        if self.ids is not None:
            which = {"epoch": int(self.epoch), "sample_ids": _column(batch, self.ids, "sample ids")}
        if self.labels is None:
            made = self.transform(images, **which)
            if not isinstance(made, dict):
                return {**batch, self.image: made}
            rest = {key: column for key, column in batch.items() if key != self.image}
            if made.keys() & rest.keys():
                raise motley.ArgumentError(
                    f"the batch has a column {min(made.keys() & rest.keys())!r} already, which "
                    "is also the name of a view"
                )
            return {**rest, **by_view(made, True)}
        labels = _column(batch, self.labels, "labels")
        made, targets = self.transform(images, labels=labels, **which)
        return {**batch, self.image: made, self.labels: targets}

    def __repr__(self) -> str:
        settings = f"image={self.image!r}, ids={self.ids!r}, seed={self.transform.seed}, epoch={self.epoch}"
        return f"Augment({self.transform.policy.name}, {settings})"


def _column(batch: Any, key: str, what: str) -> Any:
    if not hasattr(batch, "keys"):  # which a table of pandas has, too
        raise motley.ArgumentError(f"the batch is a {type(batch).__name__}, want a dictionary of columns")
    if isinstance(key, bool) or key not in batch.keys():
        has = ", ".join(map(repr, batch.keys())) or "none"
        raise motley.ArgumentError(f"the batch has no column {key!r} for the {what}, it has {has}")
    return batch[key]
