# SPDX-License-Identifier: Apache-2.0
"""Policies that make several results of each image, or whose numbers change with the epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._native import ArgumentError, epoch_given, seed_given
from .policy import Policy
from .sampled import numbers_of, split_views
from .transform import Transform

if TYPE_CHECKING:
    from ._types import DtypeLike, Ids, Layout, Levels, PolicyLike

READS = 256  # of a sample in an epoch, by a policy with views


class MultiView:
    """Runs a policy with views: several results of each image, each with its own draws. Or one with schedules, whose
    numbers change with the epoch::

        views = motley.MultiView("dinov2", seed=7)
        made = views(images, sample_ids=ids, epoch=3)   # {"global_1": batch, "global_2": batch, "local": (8 batches)}
        crops = [made["global_1"], made["global_2"], *made["local"]]

        train = motley.MultiView("mobileone_train")         # without views: the batch, of the epoch's size
        batch = train(images, sample_ids=ids, epoch=40)

    "Views" and "Numbers that change with the epoch" of doc/policy-format.md describe the files. A draw depends on
    (policy, seed, epoch, sample id, read) and on the view, so views that are added at the end of a file change no other
    draws. CUDA tensors are read where they are, for every view, in the current stream; nothing waits.

    Args:
        policy: A motley.Policy, a built-in's name, a path or a text.
        seed: What the draws depend on, beside a sample's id; a call can be given another.
        stream: Sets apart the draws of several that share a seed, as motley.Transform's.
        epoch: The current epoch, which set_epoch() changes; a call can be given one.
        layout: Of the images, as motley.Transform's, like dtype, output_layout and threads.
    """

    def __init__(
        self,
        policy: PolicyLike,
        *,
        seed: int = 0,
        stream: int = 0,
        epoch: int = 0,
        layout: Layout | None = None,
        dtype: DtypeLike | None = None,
        output_layout: str | None = None,
        threads: int | None = None,
    ) -> None:
        self.policy = Policy.of(policy)
        self.seed, self.stream, self.epoch = seed_given(seed), stream, epoch_given(epoch)
        self._settings = {"layout": layout, "dtype": dtype, "output_layout": output_layout, "threads": threads}
        self._kept: dict[tuple[str, str], Transform] = {}  # by view and text
        self._now: tuple[int, dict[str, tuple[int, int, Transform]]] | None = None
        self.in_epoch(epoch)

    def __repr__(self) -> str:
        return f"MultiView({self.policy.name!r}, seed={self.seed}, epoch={self.epoch})"

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch, on which draws and, with schedules, the numbers of the policy depend."""
        self.epoch = epoch_given(epoch)

    def in_epoch(self, epoch: int) -> dict[str, tuple[int, int, Transform]]:
        """For each view its count, its number and its motley.Transform in an epoch: {"local": (8, 2, Transform)}. Of a
        policy without views {"": (1, 0, Transform)}. A view's transform has the size of its results."""
        if self._now is not None and self._now[0] == epoch:
            return self._now[1]
        policy = self.policy.at(epoch)
        kept, made = self._kept, {}
        self._kept = {}
        for name, (count, number, own) in (policy.views or {"": (1, 0, policy)}).items():
            key = name, own.show()
            transform = kept.get(key) or Transform(own, seed=self.seed, stream=self.stream, **self._settings)
            self._kept[key], made[name] = transform, (count, number, transform)
        self._now = epoch, made
        return made

    def __call__(
        self,
        batch: Any,
        *,
        sample_ids: Ids,
        view: Ids = 0,
        epoch: int | None = None,
        seed: int | None = None,
        levels: Levels | None = None,
        return_draws: bool = False,
        **rest: Any,
    ) -> Any:
        """All views of the images.

        Args:
            batch: As of motley.Transform: a list of images of any sizes, a batch, or one image.
            sample_ids: A number for each image, such as the data set's indices.
            view: Which time the samples are read in this epoch, 0 to 255: a number, or one for each image.
            epoch: In place of the current one.
            seed: In place of the one that was given.
            levels: As of motley.Transform, for the views that take them.
            return_draws: Give (images, draws) in place of the images of each result.
            rest: layout; of a policy without views all that motley.Transform takes, such as labels.

        Returns:
            A dictionary: by the name of each view its result, or the tuple of its results where it has several; with
            return_draws also, under "", the draws of stages that the views share. Of a policy without views, what a
            motley.Transform returns.
        """
        epoch = self.epoch if epoch is None else epoch_given(epoch)
        views = self.in_epoch(epoch)
        sample_ids, view = split_views(sample_ids, view)
        how = {"sample_ids": sample_ids, "epoch": epoch, "seed": seed, "return_draws": return_draws, **rest}
        takes = {name: {"levels": levels} for name, (*_, transform) in views.items() if transform.policy.takes_levels}
        if levels is not None and not takes and not self.policy.scheduled:
            raise ArgumentError(f"levels is given, but no step of policy '{self.policy.name}' has the level `given`")
        if list(views) == [""]:
            return views[""][2](batch, view=view, **how, **takes.get("", {}))
        reads = _reads(view)
        made = {}
        for name, (count, number, transform) in sorted(views.items(), key=lambda view: view[0] != ""):  # shared first
            own = {**how, **takes.get(name, {})}
            results = tuple(transform(batch, view=_word(reads, number, j), **own) for j in range(count))
            if name:
                made[name] = results[0] if count == 1 else results
                continue
            batch = results[0][0] if return_draws else results[0]
            if return_draws:
                made[""] = results[0][1]
        return made


def _reads(view):
    single = hasattr(view, "__index__") and getattr(view, "ndim", 0) == 0
    reads = [int(read) for read in ([view] if single else numbers_of(view))]
    for read in reads:
        if not 0 <= read < READS:
            raise ArgumentError(f"view is {read}, want a read of 0 to {READS - 1}: the policy has views itself")
    return reads[0] if single else reads


def _word(reads, number, j):
    """The view by which result j of a view draws."""
    if isinstance(reads, int):
        return 256 * reads + 16 * number + j
    return [256 * read + 16 * number + j for read in reads]
