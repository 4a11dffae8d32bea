# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, overload

import torch
from torch import Tensor

from motley.policy import Policy
from motley.stage import Stage as _Stage
from motley.stage import _Ids, _Numbers, _Views
from motley.transform import Transform as _Transform

_Policy = Policy | _Stage | str | os.PathLike[str]

class Stage(torch.nn.Module):
    policy: Policy
    counter: Tensor
    mean: list[float]
    std: list[float]
    dtype: torch.dtype
    memory_format: torch.memory_format
    layout: str
    seed: int
    rank: int | None
    views: int
    def __init__(
        self,
        policy: _Policy,
        *,
        mean: _Numbers | None = None,
        std: _Numbers | None = None,
        normalize: tuple[_Numbers, _Numbers] | None = None,
        dtype: torch.dtype | Literal["uint8", "float32", "float16", "bfloat16"] = ...,
        memory_format: torch.memory_format | None = None,
        output_layout: Literal["chw", "channels_last"] | None = None,
        layout: Literal["nchw", "nhwc", "chw", "hwc"] = "nchw",
        seed: int = 0,
        rank: int | None = None,
        views: int = 1,
    ) -> None: ...
    @property
    def epoch(self) -> int: ...
    def set_epoch(self, epoch: int) -> None: ...
    def begin_pass(self) -> None: ...
    @overload
    def __call__(
        self,
        images: Tensor,
        sample_ids: _Ids | None = None,
        view: _Views = 0,
        *,
        out: Tensor | None = None,
        return_draws: Literal[False] = False,
    ) -> Tensor: ...
    @overload
    def __call__(
        self,
        images: Tensor,
        sample_ids: _Ids | None = None,
        view: _Views = 0,
        *,
        out: Tensor | None = None,
        return_draws: Literal[True],
    ) -> tuple[Tensor, list[Any]]: ...
    def forward(
        self,
        images: Tensor,
        sample_ids: _Ids | None = None,
        view: _Views = 0,
        *,
        out: Tensor | None = None,
        return_draws: bool = False,
    ) -> Any: ...

class Transform(Stage):
    transform: _Transform
    def __init__(
        self,
        transform: _Transform | str | os.PathLike[str],
        *,
        dtype: torch.dtype | Literal["uint8", "float32", "float16", "bfloat16"] | None = None,
        memory_format: torch.memory_format | None = None,
        seed: int = 0,
        rank: int | None = None,
        views: int = 1,
        threads: int | None = None,
    ) -> None: ...
    @overload  # type: ignore[override]  # lists of images
    def __call__(
        self,
        images: object,
        sample_ids: _Ids | None = None,
        view: _Views = 0,
        *,
        out: Tensor | None = None,
        return_draws: Literal[False] = False,
    ) -> Tensor: ...
    @overload
    def __call__(
        self,
        images: object,
        sample_ids: _Ids | None = None,
        view: _Views = 0,
        *,
        out: Tensor | None = None,
        return_draws: Literal[True],
    ) -> tuple[Tensor, Any]: ...
    def forward(  # type: ignore[override]
        self,
        images: object,
        sample_ids: _Ids | None = None,
        view: _Views = 0,
        *,
        out: Tensor | None = None,
        return_draws: bool = False,
    ) -> Any: ...
    def replay(self, images: object, draws: Any, *, out: Tensor | None = None) -> Tensor: ...

class Prefetcher:
    loader: Iterable[Any]
    device: torch.device
    def __init__(
        self,
        loader: Iterable[Any],
        stage: Callable[..., Any],
        device: torch.device | str | int | None = None,
        *,
        images: int | str = 0,
        ids: int | str | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def set_epoch(self, epoch: int) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...

class Indexed(torch.utils.data.Dataset[Any]):
    dataset: Any
    def __init__(self, dataset: Any) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...

class Augmented(torch.utils.data.Dataset[Any]):
    dataset: Any
    def __init__(
        self, dataset: Any, policy: _Policy, *, seed: int = 0, images: int | str = 0, views: int = 1
    ) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...
    def set_epoch(self, epoch: int) -> None: ...

class Views(torch.utils.data.Sampler[Any]):
    def __init__(self, sampler: Iterable[Any], repeats: int | None = None) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getattr__(self, name: str) -> Any: ...

class Index(int):
    view: int
    def __new__(cls, index: int, view: int = 0) -> Index: ...

class MotleyCollate:
    def __init__(
        self,
        stage: Stage | _Transform | Policy | str | os.PathLike[str],
        *,
        images: int | str = 0,
        ids: int | str | None = None,
        collate: Callable[[list[Any]], Any] = ...,
    ) -> None: ...
    def __call__(self, samples: list[Any]) -> Any: ...
    def set_epoch(self, epoch: int) -> None: ...
