# SPDX-License-Identifier: Apache-2.0
"""Test images: kinds that each expose one fault, at sizes where loops go wrong.

Arrays are height x width x channels.
"""

import numpy as np

SIZES = [
    (1, 1),
    (1, 2),
    (2, 1),
    (2, 2),
    (2, 3),
    (3, 2),
    (3, 3),
    (1, 7),
    (9, 1),
    (4, 3),
    (5, 5),
    (16, 16),
    (17, 5),
    (1, 65),
    (31, 33),
    (64, 1),
    (33, 32),
    (40, 63),
    (96, 64),
    (61, 97),
]  # width, height
LARGE = [(224, 224), (257, 131), (1025, 769)]


def noise(r, h, w, c):
    return r.integers(0, 256, (h, w, c))


def extremes(r, h, w, c):  # half of all samples are 0 or 255
    a = r.integers(0, 256, (h, w, c))
    return np.where(r.random((h, w, c)) < 0.5, np.where(a < 128, 0, 255), a)


def flat(r, h, w, c):
    return np.broadcast_to(r.integers(0, 256, (1, 1, c)), (h, w, c))


def two_level(r, h, w, c):
    pair = r.integers(0, 256, (2, 1, 1, c))
    return np.where(r.random((h, w, 1)) < r.choice([0.5, 0.01, 0.99]), pair[0], pair[1])


def few_values(r, h, w, c):
    return r.choice(r.integers(0, 256, 5), (h, w, c))


def narrow(r, h, w, c):
    return r.integers(0, 250, (1, 1, c)) + r.integers(0, 6, (h, w, c))


def gradient(r, h, w, c):
    x, y = np.meshgrid(np.arange(w), np.arange(h))
    step = r.integers(1, 4, (2, c))
    return (x[..., None] * step[0] + y[..., None] * step[1] + r.integers(0, 256, c)) % 256


def checkerboard(r, h, w, c):
    x, y = np.meshgrid(np.arange(w), np.arange(h))
    return np.broadcast_to(((x + y) % 2 * 255)[..., None], (h, w, c))


def skewed(r, h, w, c):  # most samples low: a histogram far from flat
    return (r.random((h, w, c)) ** 6 * 256).astype(int)


def sinusoid(r, h, w, c):
    x, y = np.meshgrid(np.arange(w), np.arange(h))
    phase = r.random(c) * 6
    return (127.5 + 127.4 * np.sin(x[..., None] * 0.11 + y[..., None] * 0.07 + phase)).astype(int)


KINDS = [noise, extremes, flat, two_level, few_values, narrow, gradient, checkerboard, skewed, sinusoid]


def make(r, kind, width, height, channels):
    a = np.array(kind(r, height, width, channels), np.uint8)
    if channels in (2, 4) and r.random() < 0.7:  # alpha that is often 0, small or full
        alpha = r.integers(0, 256, (height, width))
        a[..., -1] = np.where(r.random((height, width)) < 0.5, r.choice([0, 1, 2, 3, 254, 255], (height, width)), alpha)
    return a
