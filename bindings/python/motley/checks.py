# SPDX-License-Identifier: Apache-2.0
"""Numbers that callers hand over, checked, so that a mistake is told in the caller's words."""

from .errors import ArgumentError


def whole(name, value, low, high, wanted):
    """`value` as an int. wanted: how the range is said."""
    if not hasattr(value, "__index__") or not low <= value.__index__() <= high:
        raise ArgumentError(f"{name} is {value!r}, want a whole number {wanted}")
    return value.__index__()


def seed_given(seed):
    """64 bits; a negative number is taken as the bits that it has in two's complement."""
    return whole("seed", seed, -(1 << 63), (1 << 64) - 1, "from 0 to 2^64 - 1") & 0xFFFFFFFFFFFFFFFF


def epoch_given(epoch):
    return whole("epoch", epoch, 0, (1 << 30) - 1, "from 0 to 2^30 - 1")


def rank_given(rank):
    return None if rank is None else whole("rank", rank, 0, (1 << 63) - 1, "from 0, or None to have it found out")


def view_given(view):
    return whole("view", view, 0, 65535, "from 0 to 65535")


def per_channel(name, numbers, low, high, wanted):
    """A tuple of 1 to 4 floats of a number or of one for each channel."""
    try:
        given = (numbers,) if isinstance(numbers, (int, float)) else tuple(numbers)
        floats = tuple(float(n) for n in given if not isinstance(n, str))
    except TypeError:
        given, floats = (), ()
    if len(floats) != len(given) or not 1 <= len(floats) <= 4:
        raise ArgumentError(f"{name} is {numbers!r}, want a number, or 1 to 4 of them, one for each channel")
    for n in floats:
        if not low < n <= high:
            raise ArgumentError(f"{name} is {numbers!r}, want {wanted}")
    return floats


def mean_given(mean, name="mean"):
    wanted = "numbers on the 0..1 scale (those of the 0..255 scale divided by 255)"
    return per_channel(name, mean, -float("inf"), 1, wanted)


def std_given(std, name="std"):
    return per_channel(name, std, 0, 1, "numbers above 0 on the 0..1 scale (those of the 0..255 scale divided by 255)")
