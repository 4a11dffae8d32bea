# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Sequence
from enum import Enum
from typing import Any, Literal, Protocol, TypedDict, TypeVar, overload

from typing_extensions import Unpack

from .policy import Policy, _Fill, _Interpolation

_T = TypeVar("_T")

class _Array(Protocol):
    """An array or tensor of numbers."""

    @property
    def shape(self) -> Any: ...

class _Dtype(Protocol):
    """A dtype of torch or NumPy."""

    @property
    def itemsize(self) -> int: ...

_Ids = int | Sequence[int] | _Array
_Views = int | Sequence[int] | _Array
_Draws = list[dict[str, Any]]
_Numbers = float | Sequence[float]
_Layout = Literal["chw", "hwc", "hw", "nchw", "nhwc"]

class _Settings(TypedDict, total=False):
    seed: int
    epoch: int
    rank: int | None
    layout: _Layout | None
    normalize: tuple[_Numbers, _Numbers] | None
    mean: _Numbers | None
    std: _Numbers | None
    dtype: Literal["uint8", "float32", "float16", "bfloat16"] | type | _Dtype | None
    output_layout: Literal["chw", "hwc", "channels_last"] | None
    memory_format: object | None
    threads: int | None

class Stage:
    policy: Policy
    seed: int
    epoch: int
    rank: int | None
    next_sample: int
    def __init__(self, policy: Policy | str | os.PathLike[str], **settings: Unpack[_Settings]) -> None: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]  # views=1 is an int, too
        self,
        batch: _T,
        *,
        sample_ids: _Ids | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        view: _Views = 0,
        views: Literal[1] = 1,
        out: None = None,
        layout: _Layout | None = None,
        return_draws: Literal[False] = False,
    ) -> _T: ...
    @overload
    def __call__(
        self,
        batch: object,
        *,
        sample_ids: _Ids | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        view: _Views = 0,
        views: Literal[1] = 1,
        out: _T,
        layout: _Layout | None = None,
        return_draws: Literal[False] = False,
    ) -> _T: ...
    @overload
    def __call__(
        self,
        batch: _T,
        *,
        sample_ids: _Ids | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        view: _Views = 0,
        views: Literal[1] = 1,
        out: _T | None = None,
        layout: _Layout | None = None,
        return_draws: Literal[True],
    ) -> tuple[_T, list[Any]]: ...
    @overload
    def __call__(
        self,
        batch: _T,
        *,
        sample_ids: _Ids | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        view: _Views = 0,
        views: int,
        out: None = None,
        layout: _Layout | None = None,
        return_draws: Literal[False] = False,
    ) -> tuple[_T, ...]: ...
    @overload
    def apply_(
        self,
        batch: _T,
        *,
        sample_ids: _Ids | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        view: _Views = 0,
        layout: _Layout | None = None,
        return_draws: Literal[False] = False,
    ) -> _T: ...
    @overload
    def apply_(
        self,
        batch: _T,
        *,
        sample_ids: _Ids | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        view: _Views = 0,
        layout: _Layout | None = None,
        return_draws: Literal[True],
    ) -> tuple[_T, list[Any]]: ...
    def draw(
        self,
        count: int = 1,
        *,
        size: tuple[int, int] = (224, 224),
        channels: int = 3,
        sample_ids: _Ids | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        view: _Views = 0,
    ) -> list[_Draws]: ...
    @overload
    def replay(self, batch: _T, draws: Sequence[Any], *, out: None = None, layout: _Layout | None = None) -> _T: ...
    @overload
    def replay(self, batch: object, draws: Sequence[Any], *, out: _T, layout: _Layout | None = None) -> _T: ...
    def set_epoch(self, epoch: int) -> None: ...
    def state_dict(self) -> dict[str, int]: ...
    def load_state_dict(self, state: dict[str, int]) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class RandAugment(Stage):
    num_ops: int
    magnitude: int
    num_magnitude_bins: int
    interpolation: _Interpolation | Sequence[_Interpolation] | None
    fill: _Fill | None
    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: _Interpolation | Sequence[_Interpolation] | None = None,
        fill: _Fill | None = None,
        **stage: Unpack[_Settings],
    ) -> None: ...

class TrivialAugmentWide(Stage):
    num_magnitude_bins: int
    interpolation: _Interpolation | Sequence[_Interpolation] | None
    fill: _Fill | None
    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: _Interpolation | Sequence[_Interpolation] | None = None,
        fill: _Fill | None = None,
        **stage: Unpack[_Settings],
    ) -> None: ...

class AutoAugment(Stage):
    interpolation: _Interpolation | Sequence[_Interpolation] | None
    fill: _Fill | None
    def __init__(
        self,
        policy: Literal["imagenet", "cifar10", "svhn"] | Enum = "imagenet",
        interpolation: _Interpolation | Sequence[_Interpolation] | None = None,
        fill: _Fill | None = None,
        **stage: Unpack[_Settings],
    ) -> None: ...
