# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Literal

from .custom import CustomOp

_Interpolation = Literal["nearest", "bilinear", "bicubic"] | Enum
_Fill = int | Sequence[int]
_Level = float | Literal["uniform"] | dict[str, Any]

class Policy:
    max_steps: int
    custom_ops: Sequence[CustomOp]
    def __init__(self, text: str) -> None: ...
    @classmethod
    def parse(cls, text: str) -> Policy: ...
    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy: ...
    @classmethod
    def builtin(cls, name: str) -> Policy: ...
    @classmethod
    def of(cls, policy: Policy | str | os.PathLike[str]) -> Policy: ...
    @staticmethod
    def names() -> list[str]: ...
    def show(self) -> str: ...
    def change(
        self,
        *,
        repeat: int | None = None,
        level: _Level | None = None,
        bins: int | None = None,
        top: float | None = None,
        p: float | None = None,
        interpolation: _Interpolation | Sequence[_Interpolation] | None = None,
        fill: _Fill | None = None,
        name: str | None = None,
        title: str | None = None,
        ops: Mapping[str, Mapping[str, float]] | None = None,
        branches: Sequence[Mapping[str, Any]] | None = None,
    ) -> Policy: ...
    @property
    def ops(self) -> dict[str, dict[str, float]]: ...
    @property
    def branches(self) -> list[dict[str, Any]]: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def profile(self) -> str: ...
    @property
    def paper(self) -> str: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
