# SPDX-License-Identifier: Apache-2.0
"""Compares steps that drift: short blocks of each, in turns, every round in another order, and the differences within
a round. A machine's speed changes by a tenth within seconds; a block's neighbours share it."""

import random
import statistics
import time


def in_blocks(cases, rounds, steps, finish, settle=2, clock=time.perf_counter):
    """Seconds a step takes in each round, {name: [...]}, of cases {name: a step without arguments}.

    A block begins with `settle` steps that are not timed, in which what other cases have under way ends. finish: waits
    until queued work is done."""
    orders = random.Random(1)
    times = {name: [] for name in cases}
    for _ in range(rounds):
        names = list(cases)
        orders.shuffle(names)
        for name in names:
            for _ in range(settle):
                cases[name]()
            finish()
            start = clock()
            for _ in range(steps):
                cases[name]()
            finish()
            times[name].append((clock() - start) / steps)
    return times


def beside(times, name, base):
    """What a case takes beside `base`: ms, the median of base; longer_ms, that of the differences in each round, and
    longer_ms_range, their quartiles; share, the part of base's rate that is left."""
    longer = [1e3 * (own - other) for own, other in zip(times[name], times[base])]
    fixed, extra = 1e3 * statistics.median(times[base]), statistics.median(longer)
    low, _, high = statistics.quantiles(longer, n=4) if len(longer) > 1 else longer * 3
    return {
        "ms": round(fixed, 3),
        "longer_ms": round(extra, 3),
        "longer_ms_range": [round(low, 3), round(high, 3)],
        "share": round(fixed / (fixed + extra), 4),
    }


class Captured:
    """A step of training as one CUDA graph, in which the host has no part: what it is called with is copied to where
    the graph reads."""

    def __init__(self, step, *batch):
        import torch
        from torch.utils import _pytree

        self.leaves = _pytree.tree_leaves
        self.batch = _pytree.tree_map(torch.clone, batch)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # what is made on first use
            for _ in range(3):
                step(*self.batch)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            step(*self.batch)

    def __call__(self, *batch):
        for own, given in zip(self.leaves(self.batch), self.leaves(batch)):
            own.copy_(given)
        self.graph.replay()
