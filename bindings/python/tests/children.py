# SPDX-License-Identifier: Apache-2.0
"""What processes run that tests start: a spawned one imports this module, and no torch, which takes seconds."""

import numpy as np

import motley


def draw_each(stages):
    return [stage(np.zeros((40, 40, 3), np.uint8), return_draws=True)[1] for stage in stages]


class Task:
    """One for each image, as map() pickles it: the transforms go along."""

    def __init__(self, stages):
        self.stages = stages

    def __call__(self, _):
        return draw_each(self.stages)


def put(stages, queue, many):
    queue.put([draw_each(stages) for _ in range(many)])


def put_by_id(stages, queue, picture):
    found = []
    for stage in stages:
        try:
            found.append(stage(picture, sample_ids=3).tolist())
        except motley.ArgumentError as error:
            found.append(str(error))
    queue.put(found)
