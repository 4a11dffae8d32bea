# SPDX-License-Identifier: Apache-2.0
"""Motley as a stage of other loaders, one module for each; torch's are in motley.torch.

In all of them a sample's draw depends only on (seed, epoch, id) when there is a sample id. Without ids, each call gets
a new seed from torch's generator if torch is loaded, else from Python's random. Seeding these generators therefore
makes a run repeatable here too; ranks still draw differently."""
import random
import sys

import motley
from motley.processes import rank_key


def fresh_seed():
    """62 bits that differ between ranks whose generators are seeded alike."""
    torch = sys.modules.get("torch")
    number = int(torch.randint(1 << 62, ())) if torch else random.getrandbits(62)
    return number ^ rank_key() >> 2


def stage_of(policy, seed, **settings):
    """The stage of a policy; or a copy of a motley.Transform, whose own seed counts."""
    if not isinstance(policy, motley.Transform):
        return motley.Stage(policy, seed=seed, **settings)
    if seed:
        raise motley.ArgumentError(f"seed is {seed} beside a motley.Transform, want it in the transform")
    return motley.Transform(**{**dict(policy._settings()), **settings})
