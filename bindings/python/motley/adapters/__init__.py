# SPDX-License-Identifier: Apache-2.0
"""Motley as a stage of other loaders, a module for each; torch's own are in motley.torch.

In all of them a sample id makes a sample's draw depend on (seed, epoch, id) alone. Where there is no id, each call
takes a new seed: from torch's generator where torch is loaded, else from Python's random, so that what people call to
make a run repeatable does that here too; ranks draw apart all the same."""
import random
import sys

from motley.processes import rank_key


def fresh_seed():
    """62 bits that differ between ranks whose generators are seeded alike."""
    torch = sys.modules.get("torch")
    number = int(torch.randint(1 << 62, ())) if torch else random.getrandbits(62)
    return number ^ rank_key() >> 2
