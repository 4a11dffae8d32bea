# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any

from .stage import _Array

class samples:
    def __init__(self, ids: int | Sequence[int] | _Array, *, epoch: int = 0, view: int = 0) -> None: ...
    def __enter__(self) -> samples: ...
    def __exit__(self, *_: Any) -> None: ...
