# SPDX-License-Identifier: Apache-2.0
"""How the images of one call move, and what goes with them: pixels by the library's follower policies, boxes and points
by motley_follow_boxes and motley_follow_points."""

import functools
import itertools
import math
import struct
import sys

from ._core import ffi, lib
from .arrays import KINDS, CuPy, NumPy, Torch, address, name_of
from .calls import views_of
from .draws import Drawn, Samples
from .errors import ArgumentError, UnsupportedError, check, checked, made_by
from .images import images_of
from .pillow import Pillow
from .policy import Policy, interpolation_number
from .sampled import Sampled
from .stage import Stage
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
    """sizes: [(width, height)] of the images that `stage` augments as samples `ids`; single: there is one, and no axis
    of images. view: one number or a list. given: recorded draws in place of samples, a Drawn. Values are followed as
    callers have them; `name` is what errors call them."""

    __slots__ = ("stage", "sizes", "single", "seed", "epoch", "ids", "view", "given", "placed", "_drawn")

    def __init__(self, stage, sizes, single, seed=0, epoch=0, ids=(), view=0, given=None):
        self.stage, self.sizes, self.single, self.given = stage, sizes, single, given
        self.placed = {}  # by name, what the images' call moves (see placed.py)
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
        return sys.modules[KINDS[type(parts[0])].base[0]].stack(parts)

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
            if isinstance(self.stage, Transform):
                self._drawn = Drawn.of_transform(self.stage, samples.c, self.sizes, 3)
            else:
                self._drawn = Drawn.of(self.stage.policy_now, samples.c, self.sizes, 3)
        return self._drawn

    def placed_parts(self, name, value):
        """Its parts, which have to be of images of these sizes where they say so, as tv_tensors do."""
        parts = self.parts(name, value)
        for part, (width, height) in zip(parts, self.sizes):
            canvas = getattr(part, "canvas_size", (height, width))
            if tuple(canvas) != (height, width):
                raise ArgumentError(
                    f"{name} has the canvas_size {tuple(canvas)}, the image is {height} high and {width} wide"
                )
        return parts

    def corners(self, name, value, form):
        """Boxes as the library takes them: an address of left, top, right and bottom of each, offsets, their holder."""
        rows = Rows(name, self.placed_parts(name, value), (4,))
        table = rows.table
        if form == lib.MOTLEY_CXCYWH:
            table[:, :2] -= table[:, 2:] / 2
        if form != lib.MOTLEY_XYXY:
            table[:, 2:] += table[:, :2]
        return rows.pointer(table), rows.offsets, rows

    def boxes(self, name, value, form, torchvision, limits):
        """For each image its boxes, and functions that return how much of each is left, and which are kept: None for
        all of them."""
        if name in self.placed:
            return self.placed[name].moved()
        rows = Rows(name, self.placed_parts(name, value), (4,))
        params, error = ffi.new("motley_box_params *"), ffi.new("motley_error *")
        params.format, params.torchvision = form, torchvision
        params.min_area, params.min_side, params.min_visibility = limits
        visibility, keep = ffi.new("double[]", rows.count), ffi.new("uint8_t[]", rows.count)
        status = lib.motley_follow_boxes(
            self.drawn.c, params, rows.offsets, rows.pointer(rows.table), visibility, keep, error
        )
        check(status, error, f"{name}: ")
        return (
            rows.back(rows.table),
            lambda: rows.back(rows.array(visibility, "float64")),
            lambda: kept_in_images(bytes(ffi.buffer(keep)), rows),
        )

    def points(self, name, value, convention, pairs):
        """For each image its points, and a function that returns whether each was inside."""
        if name in self.placed:
            return self.placed[name].moved()
        rows = Rows(name, self.placed_parts(name, value), (2, 3))
        flags, error = ffi.new("uint8_t[]", rows.count), ffi.new("motley_error *")
        xy = rows.dense(rows.table[:, :2])
        status = lib.motley_follow_points(self.drawn.c, convention, rows.offsets, rows.pointer(xy), flags, error)
        check(status, error, f"{name}: ")
        rows.table[:, :2] = xy
        inside, unerased, mirrored = ((rows.array(flags, "uint8") & bit) != 0 for bit in POINT_FLAGS)
        if rows.width == 3:
            seen = rows.table[:, 2]
            seen[~inside] = 0
            seen[~unerased] = seen[~unerased].clip(max=1)
        points = rows.back(rows.table)
        turned = [i for i in range(len(points)) if pairs and rows.counts[i] and mirrored[rows.offsets[i]]]
        for i in turned:
            points[i] = rows.swapped(i, pairs, points[i])

        def all_inside():
            made = rows.back(inside, "bool")
            for i in turned:
                made[i] = rows.swapped(i, pairs, made[i], axis=-1)
            return made

        return points, all_inside


def kept_in_images(kept, rows):
    """The bytes `kept` as a list for each image, None where all are kept."""
    found = []
    for begin, end in zip(rows.offsets, list(rows.offsets)[1:]):
        found.append(None if kept.find(0, begin, end) < 0 else [byte != 0 for byte in kept[begin:end]])
    return found


def _alike(parts):
    """Whether these are tables of one library, dtype and device, and of no subclass: then nothing is done to each."""
    if len({type(part) for part in parts}) != 1 or KINDS[type(parts[0])] not in (Torch, NumPy):
        return False
    plain_type = type(parts[0]).__module__ in ("torch", "numpy")
    return (
        plain_type
        and len({(part.ndim, part.dtype, getattr(part, "device", None)) for part in parts}) == 1
        and (parts[0].ndim == 2 and not any(getattr(part, "requires_grad", False) for part in parts))
    )


class Rows:
    """Boxes or points of several images as one table, `table`: NumPy's or torch's, whichever `parts` are. It has
    doubles in host memory; on_device: float32 where all parts do, else doubles, in that of their device. widths: how
    many numbers a row may have."""

    def __init__(self, name, parts, widths, on_device=False):
        self.name, self.parts = name, parts
        self.alike = _alike(parts)
        arrays = (
            parts
            if self.alike and not {p.shape[1] for p in parts} - set(widths)
            else [self._array(i, part, widths) for i, part in enumerate(parts)]
        )
        self.width = next((a.shape[-1] for a in arrays if 0 not in a.shape), widths[0])
        self.shapes = [tuple(a.shape) if 0 not in a.shape else (0, self.width) for a in arrays]
        self.of_torch = bool(arrays) and KINDS[type(arrays[0])] is Torch
        self.library = sys.modules["torch"] if self.of_torch else _numpy(name)
        if any((KINDS[type(a)] is Torch) != self.of_torch for a in arrays):
            raise ArgumentError(f"{name} has torch tensors and others, want one kind")
        for i, shape in enumerate(self.shapes):
            if shape[-1] != self.width:
                raise ArgumentError(
                    f"{self._at(i)} has {shape[-1]} numbers in a row, others have {self.width}: want as many"
                )
        self.counts = [math.prod(shape[:-1]) for shape in self.shapes]
        self.count = sum(self.counts)
        self.offsets = ffi.new("size_t[]", [0, *itertools.accumulate(self.counts)])
        tables = [array if array.ndim == 2 else array.reshape(-1, self.width) for array in arrays]
        if not arrays:
            self.table = self.library.empty((0, self.width))
        elif on_device:
            single = {array.dtype for array in arrays} == {self.library.float32}
            wanted = self.library.float32 if single else self.library.float64
            self.table = self.dense(self.library.cat(tables).to(wanted))
        elif self.of_torch:
            self.table = self.dense(self.library.cat(tables).to("cpu", self.library.float64))
        else:
            self.table = self.dense(self.library.concatenate(tables).astype("float64"))

    def dense(self, table):
        return table.contiguous() if self.of_torch else self.library.ascontiguousarray(table)

    def _at(self, i):
        return self.name if len(self.parts) == 1 else f"{self.name}[{i}]"

    def _array(self, i, part, widths):
        kind = KINDS[type(part)]
        if kind is Torch:
            array = plain(part).detach() if part.requires_grad else plain(part)
        elif kind is CuPy:
            array = part.get()
        elif kind is not None and kind is not Pillow:
            array = part
        else:
            numpy = _numpy(self.name)
            try:
                array = numpy.array(part, "float64")
            except (TypeError, ValueError):
                raise ArgumentError(
                    f"{self._at(i)} is {part!r:.60}, want an array or a list of rows of numbers"
                ) from None
        if 0 not in array.shape and (array.ndim < 1 or array.shape[-1] not in widths):
            shape = "[n, 4]" if widths == (4,) else "[..., 2] or [..., 3]"
            raise ArgumentError(f"{self._at(i)} has shape {tuple(array.shape)}, want {shape}")
        return array

    @staticmethod
    def pointer(array):
        return ffi.cast("double *", KINDS[type(array)].pointer(array))

    def array(self, buffer, dtype):
        """A column, in the library's memory, as an array."""
        held = bytearray(ffi.buffer(buffer))
        if not held:
            return self.table[:, 0] != 0
        return self.library.frombuffer(held, dtype=getattr(self.library, dtype) if self.of_torch else dtype)

    def back(self, table, dtype=None):
        """A table or column as a list of what belongs to each part, of its kind and shape. dtype None: of its dtype, or
        float32 where that is none of floats."""
        like = next((part for part in self.parts if KINDS[type(part)] is not None), None)
        if like is not None:  # all of them at once, as they seldom differ
            table = self._cast(table, like, dtype)
        rows = (
            table.split(self.counts)
            if self.of_torch
            else [table[self.offsets[i] : self.offsets[i + 1]] for i in range(len(self.parts))]
        )
        if self.alike:
            return list(rows)
        return [self._like(part, row, shape, dtype) for part, row, shape in zip(self.parts, rows, self.shapes)]

    def _cast(self, rows, like, dtype):
        kind = KINDS[type(like)]
        if kind is Torch:
            wanted = getattr(self.library, dtype) if dtype else None
            wanted = wanted or (like.dtype if like.is_floating_point() else self.library.float32)
            return rows if rows.dtype == wanted and rows.device == like.device else rows.to(like.device, wanted)
        rows = rows.astype(dtype or (like.dtype if like.dtype.kind == "f" else "float32"), copy=False)
        if kind is not CuPy or hasattr(rows, "device"):
            return rows
        with like.device:
            return sys.modules["cupy"].asarray(rows)

    def _like(self, part, rows, shape, dtype):
        if len(shape) != 2:
            rows = rows.reshape(shape if rows.ndim == 2 else shape[:-1])
        kind = KINDS[type(part)]
        if kind is None:
            return rows.tolist()
        made = self._cast(rows, part, dtype)
        finish = kind.finish_for(type(part)) if dtype is None and len(shape) == made.ndim else None
        return made if finish is None else finish(made, part)

    def _order(self, i, pairs):
        """The places of image i's points, along the axis before the last, when the pairs have changed places."""
        shape = self.shapes[i]
        if len(shape) < 2 or max(map(max, pairs)) >= shape[-2]:
            raise ArgumentError(
                f"{self._at(i)} has shape {shape}, want more than {max(map(max, pairs))} points for `pairs`"
            )
        order = list(range(shape[-2]))
        for a, b in pairs:
            order[a], order[b] = order[b], order[a]
        return order

    def paired(self, i, pairs):
        """The same as rows of the table."""
        order, begin = self._order(i, pairs), self.offsets[i]
        return [begin + group + place for group in range(0, self.counts[i], len(order)) for place in order]

    def swapped(self, i, pairs, values, axis=-2):
        """What image i has for its points, along that axis, when the pairs have changed places."""
        order = self._order(i, pairs)
        if isinstance(values, list):
            return [values[place] for place in order]
        return values[..., order, :] if axis == -2 else values[..., order]


POINT_FLAGS = lib.MOTLEY_POINT_INSIDE, lib.MOTLEY_POINT_UNERASED, lib.MOTLEY_POINT_MIRRORED


def _numpy(name):
    try:
        import numpy
    except ImportError:
        raise UnsupportedError(f"{name} is followed with NumPy, which is not installed") from None
    return numpy


def plain(value):
    """A tensor of a subclass, such as torchvision's tv_tensors, as torch's own; anything else as it is."""
    if KINDS[type(value)] is Torch and type(value) is not sys.modules["torch"].Tensor:
        return value.as_subclass(sys.modules["torch"].Tensor)
    return value


def selected(value, keep):
    """The entries of `value` that `keep` says True for; None: all of them."""
    if keep is None:
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(entry for entry, good in zip(value, keep) if good)
    made = plain(value)[[place for place, good in enumerate(keep) if good]]
    finish = KINDS[type(value)].finish_for(type(value))
    return made if finish is None else finish(made, value)


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
            made = Stage(Policy._of(handle), threads=stage.threads)
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
        Sampled.__init__(self, threads=transform.threads)
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
    dense = _dense(kind, array)
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
    halves = [moved_elements(kind, _dense(kind, words[..., i]), element[4 * i : 4 * i + 4], move) for i in (0, 1)]
    made = library.stack(halves, -1)
    return made.view(array.dtype).reshape(made.shape[:-1])


NARROWER = ("uint8", 0, 255), ("int16", -(1 << 15), (1 << 15) - 1), ("int32", -(1 << 31), (1 << 31) - 1)


def _resized_nothing(kind, value, size):
    """A mask without instances, in the size (None: its own) of what comes out."""
    if size is None:
        return value
    shape = (*value.shape[:-2], *size)
    return value.new_empty(shape) if kind is Torch else sys.modules[kind.base[0]].empty(shape, value.dtype)


def _dense(kind, array):
    return array.contiguous() if kind is Torch else sys.modules[kind.base[0]].ascontiguousarray(array)
