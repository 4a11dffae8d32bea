# SPDX-License-Identifier: Apache-2.0
"""What samples draw, as plain data: the objects that `motley draw` prints."""

from ._core import ffi, lib
from .errors import check, text_of
from .policy import INTERPOLATIONS


def of(policy, samples, sizes, channels, single=False):
    """For each sample the list of its steps; for a single image its one list. sizes: [(width, height)]"""
    count, most = len(sizes), max(policy.max_steps, 1)
    steps, counts = ffi.new("motley_step[]", max(count * most, 1)), ffi.new("int32_t[]", max(count, 1))
    error = ffi.new("motley_error *")
    check(
        lib.motley_draw(
            policy._handle, samples, count, [w for w, _ in sizes], [h for _, h in sizes], channels, steps, counts, error
        ),
        error,
    )
    drawn = [[_step(policy, steps[i * most + k], channels) for k in range(counts[i])] for i in range(count)]
    return drawn[0] if single else drawn


def _step(policy, step, channels):
    op = lib.motley_policy_op(policy._handle, step.op)
    erases, warps = op.shape == lib.MOTLEY_SHAPE_ERASE, op.shape == lib.MOTLEY_SHAPE_WARP
    values = list(step.values[0 : step.values_count])
    plain = {"op": text_of(op.name)}
    if op.shape == lib.MOTLEY_SHAPE_CUSTOM:
        return {**plain, "value": values[0], "random": values[1:]} if op.values_max else {**plain, "random": values[1:]}
    if values:
        plain["value"] = values[0] if erases or len(values) == 1 else values
    if erases and len(values) == 3:
        plain["center"] = values[1:]
    if warps:
        plain["interpolation"] = INTERPOLATIONS[step.interpolation]
    if warps or erases:
        plain["fill"] = list(step.fill[0:channels])
    return plain
