# SPDX-License-Identifier: Apache-2.0
"""A curriculum for each class (CUDA: Ahn et al. 2023, arXiv:2302.05499): a class is augmented more strongly once the
network still knows its images at the levels before. There the number of operations grows, too; here their strength."""

from __future__ import annotations

from typing import Any

import numpy as np

import motley

CLASSES, EACH, EPOCHS, TOP, ENOUGH = 4, 40, 12, 10, 0.7  # TOP: the highest level
augment = motley.Transform(
    motley.Policy("rand_augment").change(bins=TOP + 1, level="given"), mean=0.5, std=0.25, seed=1
)


def pictures() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Discs, the larger the darker: large ones are known by their size even when much is done to their colours."""
    random, labels = np.random.default_rng(2), np.repeat(np.arange(CLASSES), EACH)
    y, x = np.mgrid[:32, :32] - 16
    images = random.integers(0, 200, (len(labels), 32, 32, 3), np.uint8)
    for image, label in zip(images, labels.tolist()):
        image[x**2 + y**2 < (4 + 3 * label) ** 2] = 240 - 40 * label
    return images, labels


class Means:
    """A classifier: the class whose mean training image is nearest."""

    def __init__(self, side: int) -> None:
        self.sums, self.counts = np.zeros((CLASSES, side)), np.full(CLASSES, 1e-9)

    def learn(self, batch: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> None:
        np.add.at(self.sums, labels, batch.reshape(len(batch), -1))
        np.add.at(self.counts, labels, 1)

    def knows(self, batch: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        means = self.sums / self.counts[:, None]
        found = ((batch.reshape(len(batch), 1, -1) - means) ** 2).sum(-1).argmin(1)
        known: np.ndarray[Any, Any] = found == labels
        return known


if __name__ == "__main__":
    images, labels = pictures()
    ids, levels, model = np.arange(len(labels)), np.zeros(CLASSES, int), Means(images[0].size)
    for epoch in range(EPOCHS):
        model.learn(augment(images, sample_ids=ids, epoch=epoch, levels=levels[labels] / TOP), labels)
        passed = np.ones(CLASSES, bool)  # at all levels up to the class's own
        for level in range(levels.max() + 1):
            seen = augment(images, sample_ids=ids, epoch=epoch, view=1 + level, levels=level / TOP)
            right = np.bincount(labels, model.knows(seen, labels), CLASSES) / EACH
            passed &= (right >= ENOUGH) | (level > levels)
        levels = np.clip(levels + np.where(passed, 1, -1), 0, TOP)
    print("levels of the classes:", *levels)
