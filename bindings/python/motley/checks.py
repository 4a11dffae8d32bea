# SPDX-License-Identifier: Apache-2.0
"""Checks callers' numbers, so that errors name a mistake in the caller's words."""

from collections.abc import Mapping

from .errors import ArgumentError


def whole(name, value, low, high, wanted):
    """`value` as an int. wanted: how the range is said."""
    if not hasattr(value, "__index__") or not low <= value.__index__() <= high:
        raise ArgumentError(f"{name} is {value!r}, want a whole number {wanted}")
    return value.__index__()


def seed_given(seed):
    """64 bits; a negative number stands for its two's complement bits."""
    return whole("seed", seed, -(1 << 63), (1 << 64) - 1, "from 0 to 2^64 - 1") & 0xFFFFFFFFFFFFFFFF


def epoch_given(epoch):
    return whole("epoch", epoch, 0, (1 << 30) - 1, "from 0 to 2^30 - 1")


def rank_given(rank):
    return None if rank is None else whole("rank", rank, 0, (1 << 63) - 1, "from 0, or None to have it found out")


def stream_given(stream):
    return None if stream is None else whole("stream", stream, 0, (1 << 32) - 1, "from 0 to 2^32 - 1, or None")


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


# ---- what a stage reads and writes ----


def normalize_given(normalize, mean, std):
    """mean, std; both None where nothing is normalised."""
    if normalize is None:
        if (mean is None) != (std is None):
            raise ArgumentError(f"mean is {mean} and std is {std}, want both or neither")
        return (None, None) if mean is None else (mean_given(mean), std_given(std))
    if mean is not None or std is not None:
        raise ArgumentError("both normalize and mean or std are given, want one of them")
    if isinstance(normalize, Mapping) and set(normalize) == {"mean", "std"}:
        normalize = normalize["mean"], normalize["std"]
    if isinstance(normalize, (str, Mapping)) or not hasattr(normalize, "__len__") or len(normalize) != 2:
        raise ArgumentError(f"normalize is {normalize!r}, want (mean, std), each a number or one for each channel")
    return mean_given(normalize[0], "normalize's mean"), std_given(normalize[1], "normalize's std")


def one_of(name, value, wanted):
    if value not in wanted:
        raise ArgumentError(f"{name} is {value!r}, want {', '.join(map(repr, wanted))}")
    return value


LAYOUTS = {"chw": "chw", "nchw": "chw", "hwc": "hwc", "nhwc": "hwc", "hw": "hw", None: None}


def layout_given(layout):
    return LAYOUTS[one_of("layout", layout, LAYOUTS)]


FORMATS = {"contiguous_format": "chw", "channels_last": "channels_last", "preserve_format": None}


def output_layout_given(output_layout, memory_format):
    """output_layout, of either; memory_format is torch's."""
    one_of("output_layout", output_layout, (None, "chw", "hwc", "channels_last"))
    if memory_format is None:
        return output_layout
    if output_layout is not None:
        raise ArgumentError("both output_layout and memory_format are given, want one of them")
    name = str(memory_format)
    if not name.startswith("torch.") or name[len("torch.") :] not in FORMATS:
        wanted = ", ".join("torch." + each for each in FORMATS)
        raise ArgumentError(f"memory_format is {memory_format!r}, want one of {wanted}")
    return FORMATS[name[len("torch.") :]]
