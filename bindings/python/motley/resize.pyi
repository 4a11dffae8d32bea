# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from enum import Enum
from typing import Literal, TypeVar

from .stage import _Array, _Layout

_T = TypeVar("_T")
_Rows = Sequence[float] | Sequence[Sequence[float]] | _Array

def resize(
    batch: _T,
    size: int | Sequence[int],
    *,
    filter: Literal["bilinear", "bicubic", "lanczos", "nearest", "box", "hamming"] | int | Enum = "bilinear",
    crop: _Rows | None = None,
    box: _Rows | None = None,
    flip: bool | Sequence[bool] | _Array | None = None,
    order: Literal["pillow-13", "pillow-12"] = "pillow-13",
    out: _T | None = None,
    layout: _Layout | None = None,
    threads: int | None = None,
) -> _T: ...
