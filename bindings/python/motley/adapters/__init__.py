# SPDX-License-Identifier: Apache-2.0
"""Motley in other loaders, one module for each; torch's are in motley.torch.

In all of them a sample's draw depends only on (seed, epoch, id) when there is a sample id; without ids each call draws
anew, as calls of the transform do."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import motley

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
    made = (module or motley.Transform)(policy, **settings)
    if not mixing:
        refuse_mixing(made)
    return made


def by_view(made: dict[str, Any], of_batch: bool) -> dict[str, Any]:
    """What a policy with views makes, as one array for each view: [N, count, ...] of a batch, where it has several."""

    def joined(results: Any) -> Any:
        stack = getattr(sys.modules[type(results[0]).__module__.split(".")[0]], "stack", None)
        return stack(results, int(of_batch)) if stack else list(zip(*results)) if of_batch else results

    return {name: joined(result) if isinstance(result, tuple) else result for name, result in made.items()}


def refuse_mixing(transform: motley.Transform) -> None:
    """Raises UnsupportedError of a transform that mixes images, where there are no batches with labels."""
    if transform.mixes:
        raise motley.UnsupportedError(
            f"policy '{transform.policy.name}' mixes images, and here are no labels: want motley.torch.MotleyCollate "
            "or Prefetcher, or motley.mix() on the batches"
        )


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
