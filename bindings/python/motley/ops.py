# SPDX-License-Identifier: Apache-2.0
"""Every operation as a function: motley.ops.rotate(batch, degrees) and so on, made from the library's table.

Each is called as motley.ops.apply is, without its first argument.

`table` has the rows: name, summary, unit, matches, paper, shape, minimum, maximum, neutral, example.
"""

from __future__ import annotations

import functools
import math
import types
from typing import TYPE_CHECKING, Any, TypeVar

from . import _arrays as arrays
from . import _native
from ._core import ffi, lib
from ._native import ArgumentError, check, did_you_mean, range_given, text_of
from .policy import INTERPOLATIONS, NO_AUGMENTATION, interpolation_number
from ._resize import resize
from .transform import Transform

if TYPE_CHECKING:
    from ._types import Fill, Interpolation, Layout, Range, Values

T = TypeVar("T")


def _row(number: int) -> types.SimpleNamespace:
    info = lib.motley_op_get(number)
    texts = {key: getattr(info, key) for key in ("name", "summary", "unit", "matches", "paper")}
    texts = {key: text_of(text) for key, text in texts.items() if text != ffi.NULL}
    keys = "values_min", "values_max", "minimum", "maximum", "neutral", "example", "whole"
    numbers = {key: getattr(info, key) for key in keys}
    shape = text_of(lib.motley_shape_name(info.shape))
    return types.SimpleNamespace(**{"paper": "", **texts}, **numbers, shape=shape, number=number, info=info)


def apply(
    op: str,
    batch: T,
    values: Values | None = None,
    *,
    interpolation: Interpolation = "nearest",
    fill: Fill = 0,
    out: T | None = None,
    layout: Layout | None = None,
    alpha: bool = False,
    range: Range | None = None,
    clamp: bool = True,
    threads: int | None = None,
) -> T:
    """Applies the operation called `op` to every image of a batch, each with its own values.

    Args:
        op: Its name.
        batch: Images as motley.Transform takes them.
        values: One number for all images, or one for each; ops that take several (affine) a row, or a row for each
            image. They are read on the host: float64 arrays there as they are, a CUDA tensor by waiting for it.
        interpolation: "nearest", "bilinear" or "bicubic", of warps.
        fill: What comes in from outside the image: a number, or one per channel; of uint16 and float32 in the data's
            units.
        out: Where to write; out=batch works in place. None: a new batch of the same kind.
        layout: As motley.Transform's; arrays on CUDA are worked on in their library's current stream.
        alpha: As motley.Transform's, as are range, clamp and threads.
    """
    if _native.compiling():  # as outside_graphs() does it, in a third of the time
        how = {"interpolation": interpolation, "fill": fill, "out": out, "layout": layout, "alpha": alpha}
        broken: T = _native.eagerly()(apply, op, batch, values, range=range, clamp=clamp, threads=threads, **how)
        return broken
    row = table.get(op)
    if row is None:
        raise ArgumentError(f"there is no operation '{op}'{did_you_mean(op, table) or ': motley.ops.table lists them'}")
    number = _INTERPOLATIONS.get(interpolation) if isinstance(interpolation, str) else None
    if number is None:
        number = interpolation_number(interpolation)
    what = "op", row.info, number, _hashable(fill)
    checks = row.shape not in ("warp", "erase")  # which leave values as they are
    plain = _plain(threads, alpha, None if range is None else range_given(range), clamp, checks)
    call, _held, pixels, written, result = plain._prepare(batch, out, layout, None, what)
    if call.count:
        each, numbers = _numbers(row, values, call.count)
        check(lib.run_op(call.c, numbers, each, pixels, written, call.stream()), call.c.error)
    images: T = call.result(batch, result)
    return images


_INTERPOLATIONS = {name: number for number, name in enumerate(INTERPOLATIONS)}


@functools.lru_cache(maxsize=None)
def _plain(threads: int | None, alpha: bool, range: Any, clamp: bool, check: bool) -> Transform:
    """The transform behind the operations, which change neither size nor type."""
    return Transform(NO_AUGMENTATION, alpha=alpha, threads=threads, range=range, clamp=clamp, check=check)


def _hashable(fill: Any) -> Any:
    fill = fill.tolist() if hasattr(fill, "tolist") else fill
    return tuple(fill) if isinstance(fill, (list, tuple)) else fill


def _numbers(row: types.SimpleNamespace, values: Any, count: int) -> tuple[int, Any]:
    """The number of values of an image, and a double[] of all values: the array's memory if they are one."""
    if values.__class__ in (float, int) and row.values_min == 1:
        return 1, [values] * count
    if values is None:
        if row.values_min:
            raise ArgumentError(f"{row.name} takes values ({row.unit}), none were given")
        return 0, ffi.NULL
    shape = getattr(values, "shape", None)
    if shape is not None:
        flat, total = None, math.prod(shape)
        first = total // shape[0] if len(shape) > 1 and shape[0] else None
    elif row.values_max == 1 and (simple := _doubles(values)) is not None and len(simple) == count:
        return 1, simple
    else:
        flat = _flat(values)
        total, rows = len(flat), values if isinstance(values, (list, tuple)) else [values]
        first = len(_flat(rows[0])) if any(isinstance(r, (list, tuple)) for r in rows) else None
    each = row.values_min
    if row.values_max != row.values_min:  # how many are an image's shows in the rows, and without rows in their number
        each = first or (each if total == count else total)
    if total not in (each, each * count) or not each:
        raise ArgumentError(
            f"{row.name}: {total} values for {count} images, want {each}, or {each} for each ({row.unit})"
        )
    if flat is None:
        kind = arrays.kind_of(type(values))
        if total == each * count and kind and kind.holds(values, total, "float64"):
            return each, ffi.cast("double *", kind.pointer(values))
        flat = values.reshape(-1).tolist()
    return each, ffi.new("double[]", flat if total == each * count else flat * count)


def _doubles(values: Any) -> Any:
    """A list of numbers as double[], or None where it is anything else: a fifth of the time that _flat() takes."""
    try:
        return ffi.new("double[]", values) if values.__class__ in (list, tuple) else None
    except TypeError:
        return None


def _flat(values: Any) -> list[float]:
    if isinstance(values, (list, tuple)):
        return [number for part in values for number in _flat(part)]
    if isinstance(values, (str, bytes)):
        raise ArgumentError(f"a value is {values!r}, want a number")
    try:
        return [float(values)]
    except TypeError:
        raise ArgumentError(f"a value is a {type(values).__name__}, want a number") from None


def _function(row: types.SimpleNamespace) -> Any:
    def op(batch: Any, values: Any = None, **how: Any) -> Any:
        return apply(row.name, batch, values, **how)

    op.__name__ = op.__qualname__ = row.name
    about = [row.summary, f"Equals {row.matches}." + (f" {row.paper}." if row.paper else "")]
    if row.values_max:
        span = f"{row.unit}; {row.minimum:g} to {row.maximum:g}{', whole' if row.whole else ''}"
        if not math.isnan(row.neutral):
            span += f", {row.neutral:g} changes nothing"
        about.append(f"Args:\n    values: {span}. Other arguments are those of motley.ops.apply.")
    op.__doc__ = "\n\n".join(about)
    return op


table = {row.name: row for row in map(_row, range(lib.motley_op_count()))}
globals().update({name: _function(row) for name, row in table.items()})
__all__ = ["apply", "resize", "table", *table]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'motley.ops' has no attribute {name!r}{did_you_mean(name, __all__)}")
