# SPDX-License-Identifier: Apache-2.0
"""Reads and writes Pillow images in their own memory.

Pillow keeps L in one byte a pixel, RGB and RGBA in four. The address of the pixels comes from its Arrow interface
(Pillow 11.2 and later) or its table of rows (before 11.0). Neither works for an image of several memory blocks (above
16 MiB), and LA is stored as L, L, L, A: images.Picture copies such images."""

import ctypes
import sys

from ._core import ffi, lib
from .errors import ArgumentError, UnsupportedError

PIXEL_BYTES = {"L": 1, "RGB": 4, "RGBA": 4}

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _by_arrow(core, pixel, width, height):
    try:
        capsule = core.__arrow_c_array__()
    except ValueError:  # several blocks, or rows apart
        return 0
    return lib.arrow_bytes(_capsule_pointer(capsule, b"arrow_array"), width * height * pixel)


def _by_rows(core, pixel, width, height):
    (_, bytes_), (_, words), _ = core.unsafe_ptrs
    return lib.rows_bytes(bytes_ if pixel == 1 else words, height, pixel * width)


def _nowhere(core, pixel, width, height):
    return 0


def _shows(reach):
    """Whether the bytes found this way are the pixels of test images."""
    for mode, colour in {"L": b"\x07", "RGB": b"\x07\x08\x09", "RGBA": b"\x07\x08\x09\x0a"}.items():
        pixel = PIXEL_BYTES[mode]
        core = sys.modules["PIL.Image"].core.fill(mode, (3, 2), tuple(colour) if len(colour) > 1 else colour[0])
        try:
            address = reach(core, pixel, 3, 2)
        except (AttributeError, TypeError, ValueError):
            return False
        if not address:
            return False
        found = ffi.buffer(ffi.cast("char *", address), 6 * pixel)[:]
        if any(found[at : at + len(colour)] != colour for at in range(0, len(found), pixel)):
            return False
    return True


class Pillow:
    """A kind of array (see arrays.py): images of modes L, RGB and RGBA."""

    base, name, layout = ("PIL", "Image"), "PIL image", "hwc"
    channels_of = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}
    # Chosen when the first image comes: how this Pillow's pixels are found, its class of images, its C functions.
    _reach = _image = _core = None
    _only_own = True  # Pillow 11.2 to 12 crash when asked for memory that is an array's or a mapped file's

    @classmethod
    def _choose(cls):
        image = sys.modules["PIL.Image"]
        ways = [_by_arrow]
        version = int(image.__version__.split(".")[0])
        cls._only_own = 11 <= version < 13
        if version < 11:  # from 11.0 on Pillow warns of its table, and it goes
            ways.append(_by_rows)
        cls._reach = staticmethod(next(filter(_shows, ways), _nowhere))
        cls._image, cls._core = image.Image, image.core

    @classmethod
    def channels(cls, x):
        """How many channels an image has."""
        if x.mode not in cls.channels_of:
            raise ArgumentError(f"the PIL image has mode {x.mode}, want L, LA, RGB or RGBA: convert() it")
        return cls.channels_of[x.mode]

    @classmethod
    def pointer(cls, x):
        """The address of the first pixel, or None if the pixels cannot be reached."""
        if x.__class__ is not cls._image:  # the classes of image files read their pixels when they are asked to
            if cls._reach is None:
                cls._choose()
            x.load()
        pixel = PIXEL_BYTES.get(x.mode)
        if pixel is None or (cls._only_own and x.readonly):
            return None
        width, height = x.size
        if width * height * pixel >= cls._core.get_block_size():
            return None  # its copy could not be reached
        return cls._reach(x.im, pixel, width, height) or None

    @staticmethod
    def key(x, layout, flavour, in_place):
        return Pillow, x.mode, x.size, flavour, in_place

    @classmethod
    def look(cls, x):
        width, height = x.size
        pixel = PIXEL_BYTES[x.mode]
        shape = height, width, cls.channels_of[x.mode]
        return shape, (width * pixel, pixel, 1), 1, lib.MOTLEY_U8, None

    @staticmethod
    def like(dtype):
        if dtype is not None:
            raise UnsupportedError(
                "a PIL image holds bytes, and cannot be normalised, cast or laid out: give a NumPy array or tensor"
            )
        return blank

    @staticmethod
    def finish_for(cls):
        return None


def blank(image, height=None, width=None, mode=None):
    """A black image of the same info, and of that size and mode or the same."""
    size = image.size if height is None else (width, height)
    return image._new(sys.modules["PIL.Image"].core.new(mode or image.mode, size))
