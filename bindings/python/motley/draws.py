# SPDX-License-Identifier: Apache-2.0
"""What samples draw, as plain data: the objects that `motley draw` prints."""

import json

from ._core import ffi, lib
from .errors import check, text_of


def of(policy, samples, sizes, channels, single=False):
    """For each sample the list of its steps; for a single image its one list. sizes: [(width, height)]"""
    count, most = len(sizes), max(policy.max_steps, 1)
    steps, counts = ffi.new("motley_step[]", max(count * most, 1)), ffi.new("int32_t[]", max(count, 1))
    text, error = ffi.new("char **"), ffi.new("motley_error *")
    check(
        lib.motley_draw(
            policy._handle, samples, count, [w for w, _ in sizes], [h for _, h in sizes], channels, steps, counts, error
        ),
        error,
    )
    drawn = []
    for i in range(count):
        check(lib.motley_draw_json(policy._handle, i, steps + i * most, counts[i], channels, text, error), error)
        try:
            drawn.append(json.loads(text_of(text[0]))["steps"])
        finally:
            lib.free(text[0])
    return drawn[0] if single else drawn
