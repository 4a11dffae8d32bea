# SPDX-License-Identifier: Apache-2.0
"""Motley in other loaders, one module for each; torch's are in motley.torch.

In all of them a sample's draw depends only on (seed, epoch, id) when there is a sample id; without ids each call draws
anew, as calls of the transform do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import motley
from motley._native import epoch_given

if TYPE_CHECKING:
    from motley._types import PolicyLike


def transform_of(
    policy: PolicyLike, seed: int | None, mixing: bool = False, module: type[motley.Transform] | None = None,
    **settings: Any,
) -> Any:  # fmt: skip
    """The motley.Transform of a policy, or a copy of a transform, whose settings are kept. It may mix images if
    `mixing`. seed: None where the caller gave none. module: the class in place of motley.Transform; one of these is
    taken as it is."""
    if module is not None and isinstance(policy, module):
        return policy
    if seed is not None:
        settings["seed"] = seed
    transform = (module or motley.Transform)(policy, **settings)
    if transform.mixes and not mixing:
        raise motley.UnsupportedError(
            f"policy '{transform.policy.name}' mixes images, and here are no labels: want motley.torch.MotleyCollate "
            "or Prefetcher, or motley.mix() on the batches"
        )
    return transform


class Adapter:
    """A transform of samples or batches that are dictionaries, and the epoch of its draws by id: a number, or a
    callable that returns it where it is drawn."""

    def __init__(
        self, policy: PolicyLike, image: str | None, seed: int | None, epoch: int | Callable[[], int] | None,
        mixing: bool = False,
    ) -> None:  # fmt: skip
        self.transform, self.image = transform_of(policy, seed, mixing), image
        self.epoch = epoch if epoch is None or callable(epoch) else epoch_given(epoch)

    def _by(self, ids: object) -> dict[str, Any]:
        """What a call draws by."""
        return {"sample_ids": ids, "epoch": self.epoch() if callable(self.epoch) else self.epoch}

    def _replaced(self, entries: Mapping[str, Any], key: str, result: Any, of_batch: bool) -> dict[str, Any]:
        """The entries with the result in the place of the images; of a policy with views an entry for each view, one
        array where it has several: [N, count, ...] of a batch."""
        if not isinstance(result, dict):
            return {**entries, key: result}
        rest = {name: entry for name, entry in entries.items() if name != key}
        for name in result.keys() & rest.keys():
            raise motley.ArgumentError(f"there is {name!r} already, which is also the name of a view")

        def joined(results: tuple[Any, ...]) -> Any:
            stack = getattr(sys.modules[type(results[0]).__module__.split(".")[0]], "stack", None)
            return stack(results, int(of_batch)) if stack else list(zip(*results)) if of_batch else results

        return {**rest, **{name: joined(own) if isinstance(own, tuple) else own for name, own in result.items()}}

    def __repr__(self) -> str:
        name, seed = self.transform.policy.name, self.transform.seed
        return f"Augment({name}, image={self.image!r}, seed={seed}, epoch={self.epoch})"


def check_labels(transform: object, labels: object) -> None:
    """`labels`, an index or a key, has to be given where the transform is Motley's and mixes images, and only there."""
    if not isinstance(transform, motley.Transform):
        return
    if transform.mixes and labels is None:
        raise motley.ArgumentError(
            f"'{transform.policy.name}' mixes images, want labels=, the index or key of their labels in a batch"
        )
    if labels is not None and not transform.mixes:
        raise motley.ArgumentError(
            f"labels is {labels!r}, but '{transform.policy.name}' has no stage 'mix', which makes targets of them"
        )
