# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, overload

from .policy import Policy, _Interpolation
from .stage import Stage, _Ids, _Views

_Sample = TypeVar("_Sample", bound=Mapping[Any, Any] | Sequence[Mapping[Any, Any]])

@dataclass(frozen=True)
class Mask:
    fill: float = 0
    erase: bool = False

@dataclass(frozen=True)
class Image:
    interpolation: _Interpolation = "nearest"
    fill: int | Sequence[int] = 0
    erase: bool = False

@dataclass(frozen=True)
class Boxes:
    format: Literal["xyxy", "xywh", "cxcywh"] = "xyxy"
    rule: Literal["polygon", "torchvision"] = "polygon"
    drop: bool = True
    min_area: float = 0
    min_side: float = 0
    min_visibility: float = 0
    label_fields: Sequence[Hashable] = ("labels",)
    visibility: Hashable = None

@dataclass(frozen=True)
class Points:
    convention: Literal["continuous", "index"] = "continuous"
    pairs: Sequence[tuple[int, int]] = ()
    inside: Hashable = None

_Kind = Mask | Image | Boxes | Points

class Follow:
    stage: Stage
    following: dict[Any, _Kind] | None
    image: Hashable
    def __init__(
        self,
        stage: Stage | Policy | str | os.PathLike[str],
        following: Mapping[Any, _Kind] | None = None,
        *,
        image: Hashable = "image",
    ) -> None: ...
    @overload
    def __call__(
        self,
        sample: _Sample,
        *,
        sample_ids: _Ids | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        view: _Views = 0,
        return_draws: Literal[False] = False,
    ) -> _Sample: ...
    @overload
    def __call__(
        self,
        sample: _Sample,
        *,
        sample_ids: _Ids | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        view: _Views = 0,
        return_draws: Literal[True],
    ) -> tuple[_Sample, list[Any]]: ...
    def set_epoch(self, epoch: int) -> None: ...
