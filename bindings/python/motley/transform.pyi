# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Sequence
from typing import Any, Literal, NoReturn, overload

from .stage import Stage, _Dtype, _Ids, _Layout, _Views

_Draw = dict[str, Any]

class Transform(Stage):
    name: str
    title: str
    profile: str
    paper: str
    size: tuple[int, int] | None
    def __init__(
        self,
        transform: Transform | str | os.PathLike[str],
        *,
        seed: int = 0,
        epoch: int = 0,
        rank: int | None = None,
        layout: _Layout | None = None,
        dtype: Literal["uint8", "float32", "float16", "bfloat16"] | type | _Dtype | None = None,
        output_layout: Literal["chw", "hwc", "channels_last"] | None = None,
        memory_format: object | None = None,
        threads: int | None = None,
    ) -> None: ...
    @staticmethod
    def names() -> list[str]: ...
    def show(self) -> str: ...
    @property
    def transform(self) -> str: ...
    @overload  # type: ignore[override]  # what comes back is not always what was given
    def __call__(
        self,
        batch: object,
        *,
        sample_ids: _Ids | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        view: _Views = 0,
        views: int = 1,
        out: object | None = None,
        layout: _Layout | None = None,
        return_draws: Literal[False] = False,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        batch: object,
        *,
        sample_ids: _Ids | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        view: _Views = 0,
        views: int = 1,
        out: object | None = None,
        layout: _Layout | None = None,
        return_draws: Literal[True],
    ) -> tuple[Any, Any]: ...
    def replay(  # type: ignore[override]
        self,
        batch: object,
        draws: _Draw | Sequence[_Draw],
        *,
        out: object | None = None,
        layout: _Layout | None = None,
    ) -> Any: ...
    def apply_(self, batch: object, **_: object) -> NoReturn: ...  # type: ignore[override]
    def draw(  # type: ignore[override]
        self,
        count: int = 1,
        *,
        size: tuple[int, int] = (224, 224),
        channels: int = 3,
        sample_ids: _Ids | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        view: _Views = 0,
    ) -> list[_Draw]: ...
