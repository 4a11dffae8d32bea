# SPDX-License-Identifier: Apache-2.0
"""How the images of one call move, and the pixels that go with them, which the library's follower policies move."""

import functools
import struct
import sys

from ._core import ffi, lib
from ._arrays import KINDS, CuPy, Pillow, Torch, address, name_of, plain
from .calls import views_of
from .draws import Drawn, Samples
from ._native import ArgumentError, UnsupportedError, checked, made_by
from ._images import images_of
from .policy import Policy, interpolation_number
from .stage import NO_AUGMENTATION, Stage
from .transform import Transform

# dtype -> how struct writes an element
_INTEGERS = {"uint8": "<B", "int8": "<b", "uint16": "<H", "int16": "<h", "uint32": "<I", "int32": "<i", "uint64": "<Q"}
ELEMENTS = {"bool": "<?", **_INTEGERS, "int64": "<q", "float16": "<e", "float32": "<f", "float64": "<d"}

# mode of a PIL mask -> dtype of its elements, mode of an image with as many bytes
PIL_MODES = {
    "1": ("uint8", "L"),
    "L": ("uint8", "L"),
    "P": ("uint8", "L"),
    "I;16": ("uint16", "LA"),
    "I": ("int32", "RGBA"),
    "F": ("float32", "RGBA"),
}

FOLLOWERS_KEPT = 256


class Moves:
    """sizes: [(width, height)] of the images that `stage` augments as samples `ids`, by the key `seed`; single: there
    is one, and no axis of images. view: one number or a list. given: recorded draws in place of samples, a Drawn.
    Values are followed as callers have them; `name` is what errors call them."""

    __slots__ = ("stage", "sizes", "single", "seed", "epoch", "ids", "view", "given", "image_key", "_drawn")

    def __init__(self, stage, sizes, single, seed=0, epoch=0, ids=(), view=0, given=None):
        self.stage, self.sizes, self.single, self.given = stage, sizes, single, given
        self.image_key = None  # of the sample that is followed
        self.seed, self.epoch, self.ids, self.view, self._drawn = seed, epoch, ids, view, given

    def _of(self, i):
        """Those of image i alone."""
        if self.given is not None:
            return Moves(self.stage, [self.sizes[i]], True, given=self.given.taken([i]))
        view = self.view[i] if isinstance(self.view, list) else self.view
        return Moves(self.stage, [self.sizes[i]], True, self.seed, self.epoch, [self.ids[i]], view)

    # ---- one value for all images, and one for each ----

    def parts(self, name, value):
        """`value` as a list with what belongs to each image."""
        if self.single:
            return [value]
        if not hasattr(value, "__len__") or len(value) != len(self.sizes):
            found = f"{len(value)} entries" if hasattr(value, "__len__") else f"type {type(value).__name__}"
            raise ArgumentError(f"{name} has {found}, there are {len(self.sizes)} images")
        return list(value)

    def joined(self, parts, like):
        """The contrary; `like` is the value that was taken apart."""
        if self.single:
            return parts[0]
        if isinstance(like, (list, tuple)) or not parts:
            return tuple(parts) if isinstance(like, tuple) else parts
        kind = KINDS[type(parts[0])]
        return (sys.modules[kind.base[0]] if kind else parts[0].__array_namespace__()).stack(parts)

    # ---- pixels ----

    def _pixels(self, pixels, each, layout, **params):
        """Images that follow, `each` of them in a row for every image."""
        stage = follower_of(self.stage, **params)
        if self.given is not None:
            return stage.replay(pixels, follower_draws(self.given, each, stage, **params), layout=layout)
        ids, view = self.ids, self.view
        if each != 1:
            ids = [id for id in ids for _ in range(each)]
            view = [v for v in view for _ in range(each)] if isinstance(view, list) else view
        return stage(pixels, sample_ids=ids, epoch=self.epoch, seed=self.seed, view=view, layout=layout)

    def mask(self, name, value, fill, erase):
        kind = KINDS[type(value)]
        if kind is Pillow and self.single:
            return self._pil_mask(name, value, fill, erase)
        if isinstance(value, (list, tuple)) or kind is Pillow:
            if self.single or kind is Pillow:
                raise ArgumentError(
                    f"{name} is a {type(value).__name__}, want an array{' or a PIL image' * self.single}"
                )
            parts = self.parts(name, value)
            made = [self._of(i).mask(f"{name}[{i}]", x, fill, erase) for i, x in enumerate(parts)]
            if getattr(self.stage, "size", None) and len({(type(x), getattr(x, "shape", None)) for x in made}) == 1:
                if KINDS[type(made[0])] is not Pillow:  # of one size now, as the images
                    return sys.modules[KINDS[type(made[0])].base[0]].stack(made)
            return self.joined(made, value)
        if kind is None:
            raise UnsupportedError(
                f"{name} is a {type(value).__name__}, want a NumPy, torch or CuPy array or a PIL image"
            )
        if any(base.__name__ == "MaskedArray" for base in type(value).__mro__):
            raise ArgumentError(
                f"{name} is a numpy.ma.MaskedArray, whose mask would be lost: want its .data or .filled()"
            )
        array, lead = plain(value), 0 if self.single else 1
        self._check_mask(name, tuple(array.shape), lead)
        each = array.shape[lead] if array.ndim == 3 + lead else 1
        element = element_of(name, name_of(array.dtype), fill)
        if 0 in array.shape:
            return _resized_nothing(kind, value, getattr(self.stage, "size", None))
        made = moved_elements(
            kind, array, element, functools.partial(self._pixels, each=each, layout="hwc", erase=erase)
        )
        finish = kind.finish_for(type(value))
        return made if finish is None else finish(made, value)

    def _check_mask(self, name, shape, lead):
        wanted = "[B, H, W] or [B, N, H, W]" if lead else "[H, W] or [N, H, W]"
        if not 2 + lead <= len(shape) <= 3 + lead:
            raise ArgumentError(f"{name} has shape {shape}, want {wanted}")
        if lead and shape[0] != len(self.sizes):
            raise ArgumentError(f"{name} has shape {shape}, there are {len(self.sizes)} images: want {wanted}")
        if self.sizes and shape[-2:] != self.sizes[0][::-1]:
            width, height = self.sizes[0]
            raise ArgumentError(
                f"{name} has shape {shape}, the image is {height} high and {width} wide: want {wanted} of its size"
            )

    def _pil_mask(self, name, mask, fill, erase):
        if mask.size != self.sizes[0]:
            raise ArgumentError(f"{name} is {_by(mask.size)} pixels, the image {_by(self.sizes[0])}: want one size")
        if mask.mode not in PIL_MODES:
            raise ArgumentError(f"{name} has mode {mask.mode}, want one of {', '.join(PIL_MODES)}")
        dtype, mode = PIL_MODES[mask.mode]
        bits = mask.mode == "1"
        element = element_of(name, dtype, 255 if bits and fill else fill)
        from_bytes = sys.modules["PIL.Image"].frombytes
        bytes_ = from_bytes(mode, mask.size, (mask.convert("L") if bits else mask).tobytes())
        bytes_ = self._pixels(bytes_, 1, None, fill=element, erase=erase)
        if bits:
            made = bytes_.convert("1", dither=0)
        else:
            made = from_bytes("L" if mask.mode == "P" else mask.mode, bytes_.size, bytes_.tobytes())
        if mask.mode == "P":
            made.putpalette(mask.palette)
        made.info = mask.info.copy()
        return made

    def image(self, name, value, interpolation, fill, erase):
        source = images_of(value, self.stage.layout)
        if source.single != self.single or source.count != len(self.sizes):
            found = "one image" if source.single else f"a batch of {source.count}"
            wanted = "one" if self.single else f"a batch of {len(self.sizes)}"
            raise ArgumentError(f"{name} is {found}, the image that it follows {wanted}")
        if not source.count:
            return value
        for i, (size, wanted) in enumerate(zip(source.sizes(), self.sizes)):
            if size != wanted:
                where = "" if self.single else f": image {i}"
                raise ArgumentError(
                    f"{name}{where} is {_by(size)} pixels, what it follows {_by(wanted)}: want one size"
                )
        if source.dtype != lib.MOTLEY_U8:
            raise ArgumentError(f"{name} is not uint8: want motley.follow.Mask for it, which takes every dtype")
        fills = list(fill) if hasattr(fill, "__len__") else [fill] * source.channels
        if len(fills) != source.channels:
            raise ArgumentError(f"{name} has {source.channels} channels, but fill is {fill!r}: want a number for each")
        params = {"fill": bytes(fills), "erase": erase, "interpolation": interpolation}
        return self._pixels(value, 1, self.stage.layout, **params)

    # ---- numbers ----

    @property
    def drawn(self):
        """What the images draw, in host memory."""
        if self._drawn is None:
            ids, (views, view) = ffi.new("uint64_t[]", self.ids), views_of(self.view, len(self.ids))
            samples = Samples(self.seed, self.epoch, 0, address(ids), view, (ids, views))
            self._drawn = Drawn.of(self.stage.policy_now or self.stage, samples.c, self.sizes, 3)
        return self._drawn


def _by(size):
    return f"{size[0]} x {size[1]}"


# ---- pixels ----

_followers = {}


def follower_of(stage, fill, erase, interpolation="nearest"):
    """The stage of what follows the images of `stage`. fill: a byte for each of its channels."""
    followed = stage if isinstance(stage, Transform) else stage.policy_now
    key = id(followed), stage.threads, fill, bool(erase), interpolation
    found = _followers.get(key)
    if found is None:
        params = follower_params(fill, erase, interpolation)
        if followed is stage:
            made = TransformFollower(stage, params)
        else:
            handle = made_by("motley_policy", lib.motley_policy_follower, followed._handle, params)
            made = Stage(Policy._of(handle), stream=0, threads=stage.threads)
        if len(_followers) >= FOLLOWERS_KEPT:
            _followers.clear()
        found = _followers[key] = followed, made  # what is followed is kept, so that its id stays its own
    return found[1]


def follower_params(fill, erase, interpolation):
    params = ffi.new("motley_follower_params *")
    params.interpolation, params.channels = interpolation_number(interpolation), len(fill)
    params.fill, params.erase = fill.ljust(4, b"\0"), bool(erase)
    return params


class TransformFollower(Transform):
    """What accompanies the images of a transform, made by it alone: crops, resizing, flips and warps."""

    def __init__(self, transform, params):
        Stage.__init__(self, NO_AUGMENTATION, stream=0, threads=transform.threads)
        made = made_by("motley_transform", lib.motley_transform_follower, transform._handle, params)
        self._handle = ffi.gc(made, lib.motley_transform_destroy)
        self._describe()


def follower_draws(given, each, stage, fill, erase, interpolation="nearest"):
    """Recorded draws of images as those of their followers, `each` of them in a row for every image, for the replay of
    `stage`, the follower's."""
    made = given.taken(range(len(given)))
    params = follower_params(fill, erase, interpolation)
    checked(lib.motley_follower_steps, made.c, params, made.steps, made.counts, made.places)
    return made.taken([i // each for i in range(len(given) * each)], stage.max_steps if given.transform else None)


def element_of(name, dtype, fill):
    """The bytes of `fill` as an element of that dtype."""
    try:
        if dtype == "bfloat16":
            bytes_ = struct.pack("<f", fill)
            if fill == fill and bytes_[:2] != b"\0\0":
                raise ValueError
            return bytes_[2:]
        if dtype not in ELEMENTS:
            raise ArgumentError(f"{name} is of dtype {dtype}, want bool, integers or floats of up to 64 bits")
        whole = "float" not in dtype and fill == int(fill)
        return struct.pack(ELEMENTS[dtype], int(fill) if whole else fill)
    except (struct.error, OverflowError, TypeError, ValueError) as wrong:
        if isinstance(wrong, ArgumentError):
            raise
        raise ArgumentError(f"{name} is of dtype {dtype}, but fill is {fill!r}: want a value of that dtype") from None


def moved_elements(kind, array, element, move):
    """`array` [..., H, W] moved, by way of images whose channels are the bytes of an element."""
    library = sys.modules[kind.base[0]]
    dense = kind.contiguous(array)
    if len(element) == 8:
        return _moved_in_parts(kind, dense, element, move)
    bytes_ = dense.view(library.uint8).reshape(-1, *array.shape[-2:], len(element))
    made = move(bytes_, fill=element)
    return made.view(array.dtype).reshape(*array.shape[:-2], *made.shape[1:3])


def _moved_in_parts(kind, array, element, move):
    """The same for elements of eight bytes, of which an image has four at most: by narrower integers where all numbers
    fit (and the device need not be waited for), else by halves."""
    library = sys.modules[kind.base[0]]
    if "int" in name_of(array.dtype) and not (kind is CuPy or getattr(array, "is_cuda", False)):
        low, high = (int(x) for x in (library.aminmax(array) if kind is Torch else (array.min(), array.max())))
        fill = int.from_bytes(element, "little", signed=name_of(array.dtype) == "int64")
        for dtype, least, most in NARROWER:
            if least <= min(low, fill) and max(high, fill) <= most:
                narrow = array.to(getattr(library, dtype)) if kind is Torch else array.astype(dtype)
                made = moved_elements(kind, narrow, struct.pack(ELEMENTS[dtype], fill), move)
                return made.to(array.dtype) if kind is Torch else made.astype(array.dtype)
    words = array.view(library.int32).reshape(*array.shape, 2)
    halves = [moved_elements(kind, kind.contiguous(words[..., i]), element[4 * i : 4 * i + 4], move) for i in (0, 1)]
    made = library.stack(halves, -1)
    return made.view(array.dtype).reshape(made.shape[:-1])


NARROWER = ("uint8", 0, 255), ("int16", -(1 << 15), (1 << 15) - 1), ("int32", -(1 << 31), (1 << 31) - 1)


def _resized_nothing(kind, value, size):
    """A mask without instances, in the size (None: its own) of what comes out."""
    if size is None:
        return value
    shape = (*value.shape[:-2], *size)
    return value.new_empty(shape) if kind is Torch else sys.modules[kind.base[0]].empty(shape, value.dtype)
