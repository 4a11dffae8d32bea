# SPDX-License-Identifier: Apache-2.0
"""Types for annotations. Only type checkers import this."""

import os
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, Protocol, TypedDict, Union

from .follow import Kind
from .policy import Policy


class Array(Protocol):
    """An array or tensor of numbers."""

    @property
    def shape(self) -> Any: ...


class Dtype(Protocol):
    """A dtype of torch or NumPy."""

    @property
    def itemsize(self) -> int: ...


class HasPolicy(Protocol):
    """A transform, for the sake of its policy."""

    @property
    def policy(self) -> Policy: ...


class DataSet(Protocol):
    """A data set that is read by indices."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> object: ...


class TorchGenerator(Protocol):
    """A torch.Generator."""

    def initial_seed(self) -> int: ...


class NumPyGenerator(Protocol):
    """A numpy.random.Generator."""

    @property
    def bit_generator(self) -> Any: ...


Generator = Union[TorchGenerator, NumPyGenerator]
PolicyLike = Union[Policy, HasPolicy, str, "os.PathLike[str]", Mapping[str, Any]]
Ids = Union[int, Sequence[int], Array]
Drawing = Union[dict[str, Any], Sequence[Any]]
Labels = Union[Sequence[int], Sequence[Sequence[float]], Sequence[Mapping[str, Any]], Array]
Rows = Union[Sequence[float], Sequence[Sequence[float]], Array]
Numbers = Union[float, Sequence[float]]
DtypeLike = Union[Literal["uint8", "float32", "float16", "bfloat16"], type, Dtype]
Layout = Literal["chw", "hwc", "hw", "nchw", "nhwc"]
Interpolation = Union[Literal["nearest", "bilinear", "bicubic"], Enum]
Interpolations = Union[Interpolation, Sequence[Interpolation]]
Fill = Union[float, Sequence[float]]
Range = Union[tuple[float, float], Sequence[tuple[float, float]]]
Values = Union[float, Sequence[float], Sequence[Sequence[float]], Array]
Levels = Union[float, Sequence[float], Array]
CustomFunction = Callable[[list[int], list[Any], list[tuple[float, float, float]]], object]


class Settings(TypedDict, total=False):
    """The keywords that every transform takes."""

    seed: Union[int, None]
    generator: Union[Generator, None]
    epoch: Union[int, None]
    layout: Union[Layout, None]
    normalize: Union[tuple[Numbers, Numbers], None]
    mean: Union[Numbers, None]
    std: Union[Numbers, None]
    dtype: Union[DtypeLike, None]
    output_layout: Union[Literal["chw", "hwc", "channels_last"], None]
    memory_format: Union[object, None]
    threads: Union[int, None]
    views: int
    clip_frames: int
    alpha: bool
    range: Union[Range, None]
    clamp: bool
    fill_value: Union[Numbers, None]
    check: bool
    follow: Union[Mapping[Any, Kind], None]
    counter: Union[Array, None]


class DrawSettings(TypedDict, total=False):
    """The keywords of a call that say what is drawn."""

    sample_ids: Union[Ids, None]
    view: Ids
    epoch: Union[int, None]
    seed: Union[int, None]
    levels: Union[Levels, None]


class OneView(DrawSettings, total=False):
    """The same of a call that makes one view."""

    views: Literal[1] | None


class CallSettings(DrawSettings, total=False):
    """The keywords of a transform's call that do not change what kind of thing it returns."""

    layout: Union[Layout, None]
