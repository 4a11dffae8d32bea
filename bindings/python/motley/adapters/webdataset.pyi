# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Callable, Mapping
from typing import Any

from motley.policy import Policy
from motley.stage import Stage

def id_of(key: str) -> int: ...

class Augment:
    def __init__(
        self,
        policy: Policy | Stage | str | os.PathLike[str],
        *,
        image: str | None = None,
        seed: int = 0,
        epoch: int | Callable[[], int] | None = None,
    ) -> None: ...
    def __call__(self, sample: Mapping[str, Any]) -> dict[str, Any]: ...
    def set_epoch(self, epoch: int) -> None: ...
