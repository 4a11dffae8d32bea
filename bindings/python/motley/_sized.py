# SPDX-License-Identifier: Apache-2.0
"""Calls of policies that draw how large their results are, which is known before the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _mixed as mix
from ._calls import call_of
from ._core import ffi, lib
from .draws import Drawn, boxes_given

if TYPE_CHECKING:
    from .policy import Policy


def prepare_drawn(
    transform: Any, batch: Any, out: Any, layout: Any, policy: Policy, which: Any, given: Any
) -> tuple[Any, Any, Any, Any]:
    """What Transform._prepare makes of a batch, by the samples of `which` or recorded draws, `given`; the samples'
    numbers, as Sampled._numbers has them, and what holds them; and `given` as a Drawn."""
    source = transform._source_for(batch, layout, out, policy)
    source.to_rgb = policy.to_rgb
    numbers, keep = (0, 0, 0, 0, 0, 0, 0), None
    if policy.only_mixes:
        mix.check_images(source)
    if policy.only_mixes and (given is not None or not transform.training):
        size = source.size[::-1]
        sizes = [(size if given is None else mix.recorded_size(given, size))[::-1]] * max(source.count, 1)
    elif given is None:
        boxes_given(policy, None)
        numbers, keep = transform._numbers(source.count, which, source.device, True)
        samples = ffi.new("motley_samples *", lib.samples_of(*numbers[:4], numbers[5]))
        if policy.only_mixes:
            sizes = [mix.size_of(policy, samples, source.count, source.size[::-1])[::-1]] * max(source.count, 1)
        else:
            sizes = policy.result_sizes(source.sizes(), samples)
    else:
        given = [given] if source.single and given.__class__ is not Drawn else given
        if given.__class__ is not Drawn:
            given = Drawn.read(given, source.sizes(), transform._channels(source), policy)
        sizes = given.result_sizes
    target = transform._target_of_stages(source, batch, out, policy, sizes=sizes)
    call = call_of(policy)(transform, source, target, policy._what)
    return (call, source, source.pointer, target.pointer, out), numbers, keep, given
