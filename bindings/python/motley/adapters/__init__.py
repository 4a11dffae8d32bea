# SPDX-License-Identifier: Apache-2.0
"""Motley as a stage of other loaders, a module for each; torch's own are in motley.torch.

In all of them a sample id makes a sample's draw depend on (seed, epoch, id) alone. Where there is no id, each call
takes a new seed: from torch's generator where torch is loaded, else from Python's random, so that what people call to
make a run repeatable does that here too."""
import random
import sys

from motley import Policy


def fresh_seed():
    torch = sys.modules.get("torch")
    return int(torch.randint(1 << 62, ())) if torch else random.getrandbits(62)


def policy_of(policy):
    """The motley.Policy of a Policy, of what has one (motley.RandAugment()), a built-in's name, a path or a text."""
    return Policy.of(getattr(policy, "policy", policy))
