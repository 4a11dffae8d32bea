# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Mapping
from typing import Any

from motley.policy import Policy
from motley.stage import Stage

class Augment:
    def __init__(
        self,
        policy: Policy | Stage | str | os.PathLike[str],
        *,
        image: str = "image",
        ids: str | None = None,
        seed: int = 0,
        epoch: int = 0,
    ) -> None: ...
    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]: ...
    def set_epoch(self, epoch: int) -> None: ...
