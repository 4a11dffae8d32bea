# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from typing import Any

_Function = Callable[[list[int], list[Any], list[tuple[float, float, float]]], object]

class CustomOp:
    name: str
    function: _Function
    unit: str | None
    minimum: float
    maximum: float
    def __init__(self, name: str, function: _Function, unit: str | None, minimum: float, maximum: float) -> None: ...
    def __call__(
        self, indices: Sequence[int], images: Sequence[Any], values: Sequence[tuple[float, float, float]]
    ) -> object: ...

def custom_op(
    name: str, unit: str | None = None, minimum: float = 0.0, maximum: float = 1.0
) -> Callable[[_Function], CustomOp]: ...
