# SPDX-License-Identifier: Apache-2.0
"""Batches as loaders make them: tuples, named tuples, lists and mappings, nested."""
from collections.abc import Mapping

import torch


def map_tensors(function, batch):
    """`batch` with its tensors replaced: tensors in tuples, named tuples, lists and mappings, nested."""
    if isinstance(batch, torch.Tensor):
        return function(batch)
    if isinstance(batch, Mapping):
        return {key: map_tensors(function, value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(map_tensors(function, value) for value in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(map_tensors(function, value) for value in batch)
    return batch


def replaced(batch, key, value):
    """`batch` with item `key` replaced; the batch itself stays as it is."""
    if isinstance(batch, Mapping):
        return {**batch, key: value}
    items = list(batch)
    items[key] = value
    return type(batch)(*items) if hasattr(batch, "_fields") else type(batch)(items)
