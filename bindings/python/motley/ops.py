# SPDX-License-Identifier: Apache-2.0
"""Every operation as a function: motley.ops.rotate(batch, degrees) and so on, made from the library's table.

    op(batch, values, *, interpolation="nearest", fill=0, out=None, layout=None, threads=None)

values   one number for all images, or one for each; ops that take several (affine) a row, or a row for each image
out      where to write; out=batch works in place. None: a new batch of the same kind
layout   as of motley.Stage; arrays on CUDA are worked on in the current stream of torch (or CuPy)

`table` has the rows: name, summary, unit, matches, paper, shape, minimum, maximum, neutral, example.
"""
import math
import types

from . import contexts, images
from ._core import ffi, lib
from .errors import ArgumentError, check, text_of
from .policy import fill_bytes, interpolation_number

SHAPES = {lib.MOTLEY_SHAPE_POINT: "point", lib.MOTLEY_SHAPE_STATS: "stats", lib.MOTLEY_SHAPE_COLOR: "color",
          lib.MOTLEY_SHAPE_WARP: "warp", lib.MOTLEY_SHAPE_STENCIL: "stencil", lib.MOTLEY_SHAPE_BLUR: "blur",
          lib.MOTLEY_SHAPE_ERASE: "erase"}


def _row(number):
    info = lib.motley_op_get(number)
    texts = {key: text_of(getattr(info, key)) for key in ("name", "summary", "unit", "matches", "paper") if
             getattr(info, key) != ffi.NULL}
    numbers = {key: getattr(info, key) for key in ("values_min", "values_max", "minimum", "maximum", "neutral", "example")}
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
        src, dst, params, error = (ffi.new(kind) for kind in ("motley_batch *", "motley_batch *", "motley_op_params *",
                                                              "motley_error *"))
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
    return target.result(source) if out is None else out


def _numbers(row, values, count):
    """How many values an image has, and a double[] of them all."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if values is None:
        if row.values_min:
            raise ArgumentError(f"{row.name} takes {row.values_min} value{'s'[:row.values_min > 1]} ({row.unit}), none was given")
        return 0, ffi.NULL
    rows = values if isinstance(values, (list, tuple)) else [values]
    one_row = row.values_max > 1 and not (rows and isinstance(rows[0], (list, tuple)))
    if one_row and row.values_min == 1 and len(rows) == count:
        one_row = False  # a number for each image, of an op that can take more
    if one_row:
        rows = [rows]
    if row.values_max > 1 and row.values_max == 6 and rows and isinstance(rows[0], (list, tuple)) and len(rows) == 2 and \
            len(rows[0]) == 3 and len(rows[1]) == 3:
        rows = [rows]  # one 2x3 matrix
    flat = [_flat(each) for each in rows]
    if len(flat) == 1:
        flat *= count
    if len(flat) != count:
        raise ArgumentError(f"{row.name}: there are {len(flat)} values and {count} images, want one or as many")
    lengths = {len(each) for each in flat}
    if len(lengths) != 1:
        raise ArgumentError(f"{row.name}: images have {sorted(lengths)} values each, want one number of values")
    return lengths.pop(), ffi.new("double[]", [number for each in flat for number in each])


def _flat(value):
    if isinstance(value, (list, tuple)):
        return [number for part in value for number in _flat(part)]
    return [float(value)]


def _function(row):
    def op(batch, values=None, *, interpolation="nearest", fill=0, out=None, layout=None, threads=None):
        return apply(row.name, batch, values, interpolation=interpolation, fill=fill, out=out, layout=layout, threads=threads)
    op.__name__ = op.__qualname__ = row.name
    lines = [row.summary]
    if row.values_max:
        lines.append(f"values   {row.unit}; {row.minimum:g} to {row.maximum:g}"
                     + ("" if math.isnan(row.neutral) else f", {row.neutral:g} changes nothing"))
    lines.append(f"Equals   {row.matches}")
    if row.paper:
        lines.append(f"Paper    {row.paper}")
    op.__doc__ = "\n".join(lines) + "\n\nOther arguments: see motley.ops."
    return op


table = {row.name: row for row in map(_row, range(lib.motley_op_count()))}
globals().update({name: _function(row) for name, row in table.items()})
__all__ = ["apply", "table", *table]
