# SPDX-License-Identifier: Apache-2.0
"""NVIDIA DALI: an operator of its pipelines, on the CPU or the GPU.

    @pipeline_def(batch_size=256, num_threads=8, device_id=0)
    def pipeline():
        files, labels = fn.readers.file(file_root=...)
        images = fn.decoders.image_random_crop(files, device="mixed", output_type=types.RGB)
        return augment(fn.resize(images, size=(224, 224)), policy="rand_augment"), labels

    images = fn.decoders.image(files, device="mixed", output_type=types.RGB)     # or crop, resize, normalise as well
    images = augment(images, policy=motley.Transform("torchvision_train"))
    views = augment(images, policy="dinov2")     # {"global_1": node, "global_2": node, "local": (8 nodes)}

There are two operators, which give a sample id the same bytes. The native one, `fn.motley.augment`, is C++ and works on
DALI's own threads and CUDA stream; doc/loaders.md says how it is built. Without it, or for a policy with custom
operations, Motley is called through DALI's Python operator."""

from __future__ import annotations

import functools
import pathlib
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

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
def why_not_native() -> str | None:
    """Loads `fn.motley.augment`. Returns None, or a sentence that says what is missing."""
    if not LIBRARY.exists():
        return "Motley's native DALI operator was not built: its build option `dali` was not set"
    try:
        plugin_manager.load_library(str(LIBRARY))
    except RuntimeError as error:
        return f"Motley's native DALI operator was built for another DALI than this one: {error}"
    return None


def augment(
    images: Any,
    ids: Any = None,
    *,
    policy: PolicyLike,
    seed: int | None = None,
    epoch: int | Callable[[], int] | Any = None,
    levels: float | Any = None,
    operator: Literal["native", "python"] | None = None,
) -> Any:
    """A DALI node with the augmented `images` (HWC, uint8, any sizes), each with its own draw.

    Args:
        policy: A policy, or a motley.Transform, whose settings are kept. With a policy that has stages the node is the
            network's input, of the size, type and layout that the policy says. DALI has no bfloat16. With
            views there is a node for each result: a dictionary by the views' names, with a
            tuple where a view has several. Schedules are refused, since a node's size stays.
        seed: Of a policy; None is none, or that of the transform.
        ids: A node of the sample ids, one whole number per sample. None: every batch gets new draws.
        epoch: The epoch of the draws by id: a callable that returns it, called once per batch, which must have the
            pipeline's batch size; a node with one epoch per sample; or a number. Wanted with ids, as DALI's
            operators cannot see that an epoch begins.
        levels: Of a policy whose steps have the level `given`: a node with one number per sample, from 0 to 1, or a
            number. On a GPU the Python operator takes them.
        operator: "native", "python", or None: native where that is possible.
    """
    transform = transform_of(policy, seed, layout="hwc")
    refuse(transform)
    views = transform.by_view() or {"": (1, 0, transform)}
    if levels is not None and not any(own.policy.takes_levels for *_, own in views.values()):
        raise levels_without_use(transform.policy)
    if epoch is None:
        if ids is not None:
            raise motley.ArgumentError(
                "ids are given, but no epoch, so that each pass would draw the same: want epoch=lambda: the_epoch, or "
                "a node of the epoch"
            )
        epoch = 0
    if not callable(epoch) and not isinstance(epoch, DataNode):
        epoch = epoch_given(epoch)
    if operator not in (None, "native", "python"):
        raise motley.ArgumentError(f"operator is {operator!r}, want 'native', 'python' or None")
    missing = why_not_native()
    if operator == "native" and missing:
        raise motley.UnsupportedError(missing)
    if operator is None:
        if missing and LIBRARY.exists():
            warnings.warn(f"{missing}; the Python operator is used", RuntimeWarning, stacklevel=2)
        python_only = transform.policy.custom_ops or (levels is not None and images.device == "gpu")
        operator = "python" if missing or python_only else "native"
    run = native if operator == "native" else python

    def node(own: motley.Transform, images: Any, view: int) -> Any:
        return run(own, images, ids, epoch, view, levels if own.policy.takes_levels else None)

    if not transform.policy.views:
        return node(transform, images, 0)
    if "" in views:
        _, number, shared = views[""]
        images = node(shared, images, 16 * number)
    made = {
        name: tuple(node(own, images, 16 * number + j) for j in range(count))
        for name, (count, number, own) in views.items()
        if name
    }
    return {name: nodes if len(nodes) > 1 else nodes[0] for name, nodes in made.items()}


def refuse(transform: motley.Transform) -> None:
    name = transform.policy.name
    if transform.policy.scheduled:
        raise motley.UnsupportedError(
            f"policy '{name}' changes with the epoch, and a node of DALI does not: want what Policy.at makes of it"
        )
    views = transform.by_view().values() or [(1, 0, transform)]
    if any(own.policy.whole and made_by(own)[0] == "bfloat16" for *_, own in views):
        raise motley.UnsupportedError(f"policy '{name}' makes bfloat16, which DALI lacks")


def made_by(transform: motley.Transform) -> tuple[str, str]:
    """dtype, layout of what a transform makes."""
    made = transform.policy._made
    return transform._dtype_out, transform.output_layout or (made[1] if made and transform.policy.has_output else "hwc")


def native(transform: motley.Transform, images: Any, ids: Any, epoch: Any, view: int, levels: Any) -> Any:
    # Without ids the operator counts the samples.
    seed = fresh() ^ (transform.seed or 0) if ids is None else transform._key(None)
    inputs = [images] if ids is None else [images, ids.cpu() if ids.device == "gpu" else ids]
    if callable(epoch):
        size = Pipeline.current().max_batch_size
        given = fn.external_source(lambda: numpy.full(size, epoch(), numpy.int64))
    else:
        given = epoch
    arguments = {"seed": (seed ^ 1 << 63) - (1 << 63), "epoch": given, "view": view}
    if levels is not None:
        arguments["levels"] = levels
    if not transform.policy.whole:
        return fn.motley.augment(*inputs, policy=transform.policy.show(), **arguments)
    dtype, layout = made_by(transform)
    made = {"dtype": TYPES[dtype], "output_layout": layout.upper()}
    return fn.motley.augment(*inputs, transform=transform.policy.show(), **made, **arguments)


def python(transform: motley.Transform, images: Any, ids: Any, epoch: Any, view: int, levels: Any) -> Any:
    import torch
    from torch.utils.dlpack import from_dlpack, to_dlpack

    def numbers_of(column: Any) -> Any:
        return torch.stack([number.reshape(()) for number in column]).cpu()

    def run(batch: Any, *columns: Any) -> Any:
        found = dict(zip(nodes, columns))
        how: dict[str, Any] = {"view": view}
        if levels is not None:
            how["levels"] = torch.stack([n.reshape(()) for n in found["levels"]]) if "levels" in found else levels
        if "ids" not in found:
            return transform(batch, **how)
        ids = numbers_of(found["ids"])
        if "epochs" not in found:
            return transform(batch, epoch=epoch() if callable(epoch) else epoch, sample_ids=ids, **how)
        made = []
        for k, (image, i, e) in enumerate(zip(batch, ids.tolist(), numbers_of(found["epochs"]).tolist())):
            own = {**how, "levels": how["levels"][k : k + 1]} if "levels" in found else how
            made += transform([image], epoch=e, sample_ids=[i], **own)
        return made

    def run_on_cpu(*inputs: Any) -> list[Any]:
        return [to_dlpack(image) for image in run(*([from_dlpack(item) for item in column] for column in inputs))]

    nodes = {} if ids is None else {"ids": ids, "epochs": epoch}
    nodes = {name: node for name, node in {**nodes, "levels": levels}.items() if isinstance(node, DataNode)}
    inputs = [images, *nodes.values()]
    layout = made_by(transform)[1] if transform.policy.whole else "hwc"
    options = {"batch_processing": True, "output_layouts": layout.upper()}
    if images.device != "gpu":
        return fn.dl_tensor_python_function(*inputs, function=run_on_cpu, **options)
    # torch's variant of the operator waits for the stream on which our work runs.
    from nvidia.dali.plugin.pytorch.fn import torch_python_function

    return torch_python_function(*(node.gpu() for node in inputs), function=run, device="gpu", **options)
