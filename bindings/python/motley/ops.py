# SPDX-License-Identifier: Apache-2.0
"""Every operation as a function: motley.ops.rotate(batch, degrees) and so on, made from the library's table.

    op(batch, values, *, interpolation="nearest", fill=0, out=None, layout=None, threads=None)

values   one number for all images, or one for each; ops that take several (affine) a row, or a row for each image. They
         are read on the host: float64 arrays there as they are, a CUDA tensor by waiting for it
out      where to write; out=batch works in place. None: a new batch of the same kind
layout   as of motley.Stage; arrays on CUDA are worked on in the current stream of torch (or CuPy)

`table` has the rows: name, summary, unit, matches, paper, shape, minimum, maximum, neutral, example.
"""

import math
import types

from . import arrays, contexts, images
from ._core import ffi, lib
from .errors import ArgumentError, check, text_of
from .policy import fill_bytes, interpolation_number

SHAPES = {
    lib.MOTLEY_SHAPE_POINT: "point",
    lib.MOTLEY_SHAPE_STATS: "stats",
    lib.MOTLEY_SHAPE_COLOR: "color",
    lib.MOTLEY_SHAPE_WARP: "warp",
    lib.MOTLEY_SHAPE_STENCIL: "stencil",
    lib.MOTLEY_SHAPE_BLUR: "blur",
    lib.MOTLEY_SHAPE_ERASE: "erase",
}


def _row(number):
    info = lib.motley_op_get(number)
    texts = {
        key: text_of(getattr(info, key))
        for key in ("name", "summary", "unit", "matches", "paper")
        if getattr(info, key) != ffi.NULL
    }
    numbers = {
        key: getattr(info, key) for key in ("values_min", "values_max", "minimum", "maximum", "neutral", "example")
    }
    return types.SimpleNamespace(**{"paper": "", **texts}, **numbers, shape=SHAPES[info.shape], number=number)


def apply(op, batch, values=None, *, interpolation="nearest", fill=0, out=None, layout=None, threads=None):
    """Applies the operation called `op` to every image of a batch, each with its own values; see the module."""
    row = table.get(op)
    if row is None:
        raise ArgumentError(f"there is no operation '{op}': motley.ops.table lists them")
    source = images.images_of(batch, layout)
    if out is None:
        target = source.output()
    elif out is batch:
        source.require_writable()
        target = source
    else:
        target = images.images_of(out, layout)
        target.require_writable()
    if source.count:
        context = contexts.context_of(source.device, threads)
        each, numbers = _numbers(row, values, source.count)
        src, dst, params, error = (
            ffi.new(kind) for kind in ("motley_batch *", "motley_batch *", "motley_op_params *", "motley_error *")
        )
        source.require_bytes()
        source.describe(src)
        if target is source:
            dst = src
        else:
            target.describe(dst)
        color = ffi.new("uint8_t[]", fill_bytes(fill))
        params.interpolation, params.fill = interpolation_number(interpolation), color
        if source.device is not None:
            params.stream = ffi.cast("void *", source.stream_of()())
        check(lib.motley_op_apply(context.handle, row.number, numbers, each, src, dst, params, error), error)
        if source.device is not None:
            images.hold_until_done((source, target), source, target)
    return target.result(source) if out is None else out


def _numbers(row, values, count):
    """How many values an image has, and the double[] of them all: an array's own memory where it is one."""
    if values is None:
        if row.values_min:
            raise ArgumentError(f"{row.name} takes values ({row.unit}), none were given")
        return 0, ffi.NULL
    shape = getattr(values, "shape", None)
    if shape is not None:
        flat, total = None, math.prod(shape)
        first = total // shape[0] if len(shape) > 1 and shape[0] else None
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


def _flat(values):
    if isinstance(values, (list, tuple)):
        return [number for part in values for number in _flat(part)]
    try:
        return [float(values)]
    except TypeError:
        raise ArgumentError(f"a value is a {type(values).__name__}, want a number") from None


def _function(row):
    def op(batch, values=None, *, interpolation="nearest", fill=0, out=None, layout=None, threads=None):
        return apply(
            row.name, batch, values, interpolation=interpolation, fill=fill, out=out, layout=layout, threads=threads
        )

    op.__name__ = op.__qualname__ = row.name
    lines = [row.summary]
    if row.values_max:
        lines.append(
            f"values   {row.unit}; {row.minimum:g} to {row.maximum:g}"
            + ("" if math.isnan(row.neutral) else f", {row.neutral:g} changes nothing")
        )
    lines.append(f"Equals   {row.matches}")
    if row.paper:
        lines.append(f"Paper    {row.paper}")
    op.__doc__ = "\n".join(lines) + "\n\nOther arguments: see motley.ops."
    return op


table = {row.name: row for row in map(_row, range(lib.motley_op_count()))}
globals().update({name: _function(row) for name, row in table.items()})
__all__ = ["apply", "table", *table]
