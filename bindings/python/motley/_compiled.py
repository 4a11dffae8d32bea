# SPDX-License-Identifier: Apache-2.0
"""Calls from functions that torch compiles: they run outside of the graph. Imported while torch traces such a function,
since `import motley` does not import torch."""

import inspect
from collections.abc import Callable
from typing import Any

import torch

REASON = (
    "Motley works in C, which torch.compile cannot trace. Want a motley.torch.Transform that is called with one uint8 "
    "tensor and without out, labels, classes and return_draws, and has no generator: it is an operator. Or leave out "
    "fullgraph=True: the graph breaks at this call, which then runs as it does without torch.compile"
)


def eagerly(function: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    """The function's result, without torch.compile looking at what it does."""
    return function(*arguments, **settings)


if hasattr(torch, "compiler"):  # torch 2.1 and later; from 2.7 on with a reason
    how = {"reason": REASON} if "reason" in inspect.signature(torch.compiler.disable).parameters else {}
    eagerly = torch.compiler.disable(eagerly, **how)
