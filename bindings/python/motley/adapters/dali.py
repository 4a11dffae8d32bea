# SPDX-License-Identifier: Apache-2.0
"""NVIDIA DALI: the operator `fn.motley.augment`, in C++, which works on DALI's own threads and CUDA stream.

    images = fn.decoders.image(files, device="mixed", output_type=types.RGB)
    images = augment(images, policy=motley.Transform("torchvision_train"))   # crop, resize, flip, policy, normalise
    views = augment(images, policy="dinov2")     # {"global_1": node, "global_2": node, "local": (8 nodes)}

doc/loaders.md says how the operator is built, and what it takes by its own name."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy
from nvidia.dali import Pipeline, fn, plugin_manager, types
from nvidia.dali.data_node import DataNode

import motley
from motley._native import epoch_given
from motley._random import fresh, levels_without_use
from motley.adapters import transform_of

if TYPE_CHECKING:
    from motley._types import PolicyLike

TYPES = {"uint8": types.UINT8, "float32": types.FLOAT, "float16": types.FLOAT16}
LIBRARY = pathlib.Path(__file__).with_name("libdali_motley.so")


@functools.cache
def load() -> None:
    """Makes `fn.motley.augment` known to DALI.

    Raises:
        UnsupportedError: The operator was not built, or for another DALI than this one.
    """
    if not LIBRARY.exists():
        raise motley.UnsupportedError("DALI's operator was not built: want Motley built with its option `dali`")
    try:
        plugin_manager.load_library(str(LIBRARY))
    except RuntimeError as error:
        raise motley.UnsupportedError(f"DALI's operator was built for another DALI than this one: {error}") from None


def augment(
    images: DataNode,
    ids: DataNode | None = None,
    *,
    policy: PolicyLike,
    seed: int | None = None,
    epoch: int | Callable[[], int] | DataNode | None = None,
    levels: float | DataNode | None = None,
) -> DataNode | dict[str, DataNode | tuple[DataNode, ...]]:
    """A DALI node with the augmented `images` (HWC, uint8, any sizes), each with its own draw.

    Args:
        policy: A policy, or a motley.Transform, whose settings are kept. With a policy that has stages the node is the
            network's input, of the size, type and layout that the policy says; DALI has no bfloat16. With views there
            is a node for each result: a dictionary by the views' names, with a tuple where a view has several.
            Schedules and custom operations are refused.
        seed: Of a policy; None is none, or that of the transform.
        ids: A node of the sample ids, one whole number per sample. None: every batch gets new draws.
        epoch: The epoch of the draws by id: a callable that returns it, called once per batch, which must have the
            pipeline's batch size; a node with one epoch per sample; or a number. Wanted with ids, as DALI's operators
            cannot see that an epoch begins.
        levels: Of a policy whose steps have the level `given`: a node with one number per sample, from 0 to 1, or a
            number. The images have to be on the CPU.
    """
    transform = transform_of(policy, seed, layout="hwc")
    name, views = transform.policy.name, transform.by_view() or {"": (1, 0, transform)}
    if transform.policy.scheduled:
        raise motley.UnsupportedError(
            f"policy '{name}' changes with the epoch, and a node of DALI does not: want what Policy.at makes of it"
        )
    if transform.policy.custom_ops:
        raise motley.UnsupportedError(f"policy '{name}' has custom operations, which DALI's operator cannot call")
    if levels is not None and not any(own.policy.takes_levels for *_, own in views.values()):
        raise levels_without_use(transform.policy)
    if epoch is None and ids is not None:
        raise motley.ArgumentError(
            "ids are given, but no epoch, so that each pass would draw the same: want epoch=lambda: the_epoch, or a "
            "node of the epoch"
        )
    if not callable(epoch) and not isinstance(epoch, DataNode):
        epoch = epoch_given(epoch or 0)
    load()
    # Without ids the operator counts the samples.
    key = (fresh() if ids is None else 0) ^ (transform.seed or 0)
    how = {"seed": (key ^ 1 << 63) - (1 << 63), "epoch": _node_of(epoch)}
    inputs = () if ids is None else (ids.cpu() if ids.device == "gpu" else ids,)

    def node(own: motley.Transform, images: DataNode, view: int) -> DataNode:
        given = {} if levels is None or not own.policy.takes_levels else {"levels": levels}
        return fn.motley.augment(images, *inputs, **_settings(own), **how, **given, view=view)

    if not transform.policy.views:
        return node(transform, images, 0)
    if "" in views:
        _, number, shared = views.pop("")
        images = node(shared, images, 16 * number)
    nodes = {
        name: tuple(node(own, images, 16 * number + j) for j in range(count))
        for name, (count, number, own) in views.items()
    }
    return {name: own if len(own) > 1 else own[0] for name, own in nodes.items()}


def _settings(transform: motley.Transform) -> dict[str, object]:
    """What says to the operator what to do."""
    policy, dtype = transform.policy, transform._dtype_out
    if not policy.whole:
        return {"policy": policy.show()}
    if dtype not in TYPES:
        raise motley.UnsupportedError(f"policy '{policy.name}' makes {dtype}, which DALI lacks")
    layout = transform.output_layout or (policy._made[1] if policy._made and policy.has_output else "hwc")
    return {"transform": policy.show(), "dtype": TYPES[dtype], "output_layout": layout.upper()}


def _node_of(epoch: int | Callable[[], int] | DataNode) -> int | DataNode:
    """An epoch as the operator takes it: of a callable a node that asks it for each batch."""
    if isinstance(epoch, int) or not callable(epoch):
        return epoch
    size = Pipeline.current().max_batch_size
    return fn.external_source(lambda: numpy.full(size, epoch(), numpy.int64))
