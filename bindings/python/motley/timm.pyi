# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from typing import Any, TypeVar

from .stage import Stage

_T = TypeVar("_T")

class Transform:
    config: str
    stage: Stage
    def __init__(self, config: str, hparams: Mapping[str, Any] | None) -> None: ...
    def __call__(self, img: _T) -> _T: ...

def rand_augment_transform(
    config_str: str, hparams: Mapping[str, Any] | None = None, transforms: str | None = None
) -> Transform: ...
def auto_augment_transform(config_str: str, hparams: Mapping[str, Any] | None = None) -> Transform: ...
def take_over() -> None: ...
def hand_back() -> None: ...
