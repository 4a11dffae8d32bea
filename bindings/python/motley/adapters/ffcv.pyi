# SPDX-License-Identifier: Apache-2.0
from typing import Any

from motley.torch import Stage

class Augment:
    stage: Stage
    def __init__(self, stage: Stage) -> None: ...
    def set_epoch(self, epoch: int) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
