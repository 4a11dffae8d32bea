# SPDX-License-Identifier: Apache-2.0
"""How the images of one call move, and what goes with them: masks as planes of elements, boxes and points of a batch as
one table of numbers. The call that augments the images moves what lies where they are, motley_follow what lies in host
memory otherwise. Other images are moved by the library's follower policies."""

from __future__ import annotations

import functools
import itertools
import math
import struct
import sys
import warnings
from typing import Any

from ._arrays import KINDS, CuPy, NumPy, Pillow, Torch, address, device_of, finished, has_floats, name_of, plain
from ._core import ffi, lib
from ._images import Many, images_of, like_foreign, on_host
from ._native import ArgumentError, UnsupportedError, check, checked, for_each, keep, made_by
from .draws import Drawn, Samples
from .policy import Policy, interpolation_number
from ._random import levels_on_host, views_of
from .transform import Transform

# dtype -> how struct writes an element
_INTEGERS = {"uint8": "<B", "int8": "<b", "uint16": "<H", "int16": "<h", "uint32": "<I", "int32": "<i", "uint64": "<Q"}
ELEMENTS = {"bool": "<?", **_INTEGERS, "int64": "<q", "float16": "<e", "float32": "<f", "float64": "<d"}

PIL_MODES = "1", "L", "P", "I;16", "I", "F"  # of PIL masks


class Moves:
    """sizes: [(width, height)] of the images that `transform` augments; single: there is one, and no axis of images.
    which: the samples, as Sampled._with_ids has them, whose levels are a call's; given: recorded draws in their place,
    a Drawn. Values are followed as callers have them; `name` is what errors call them."""

    __slots__ = ("transform", "sizes", "single", "given", "levels", "_which", "_drawn")

    def __init__(
        self, transform: Any, sizes: Any, single: Any, which: Any = None, given: Any = None, levels: Any = None
    ) -> None:
        self.transform, self.sizes, self.single, self.given, self._drawn = transform, sizes, single, given, given
        self.levels = levels if transform._takes(levels) else None
        self._which = which

    @property
    def which(self) -> Any:
        """The samples with the key that the library draws by. A counter on a device is asked for its epoch."""
        ids, view, epoch, seed = self._which
        return ids, view, self.transform.epoch if epoch is None else epoch, seed

    # ---- one value for all images, and one for each ----

    def parts(self, name: str, value: Any) -> Any:
        """`value` as a list with what belongs to each image."""
        if self.single:
            return [value]
        if not hasattr(value, "__len__"):
            raise ArgumentError(f"{name} is a {type(value).__name__}, there are {len(self.sizes)} images")
        for_each(name, len(value), len(self.sizes), "entries")
        return list(value)

    def joined(self, parts: Any, like: Any) -> Any:
        """The contrary; `like` is the value that was taken apart."""
        if self.single:
            return parts[0]
        if isinstance(like, (list, tuple)) or not parts:
            return tuple(parts) if isinstance(like, tuple) else parts
        kind = KINDS[type(parts[0])]
        return (sys.modules[kind.base[0]] if kind else parts[0].__array_namespace__()).stack(parts)

    # ---- pixels ----

    def _pixels(self, pixels: Any, layout: Any, followed: Any = ffi.NULL, **params: Any) -> Any:
        """Images that follow, and what the call moves with them."""
        transform = follower_of(self.transform, self.given, **params)
        if self.given is not None:
            given = follower_draws(self.given, **params)
            return transform._run_as_set(pixels, None, layout, given=given, followed=followed)
        levels = self.levels if transform.policy.takes_levels else None
        return transform._run(pixels, None, layout, self.which, followed=followed, levels=levels)

    def along(self, name: str, c: Any, array: Any = None) -> None:
        """Moves what a motley_followed says, without the images: in host memory, or on the device of `array`."""
        if array is None:
            error = ffi.new("motley_error *")
            check(lib.motley_follow(self.drawn.c, c, error), error, f"{name}: ")
        else:
            pixels = [KINDS[type(array)].new(array, (1, height, width), "uint8") for width, height in self.sizes]
            self._pixels(pixels[0] if self.single else pixels, "chw", c, fill=b"\0", erase=True)

    def mask(self, name: str, value: Any, fill: Any, erase: Any) -> Any:
        """A mask, moved without its image."""
        planes = Planes(name, value, fill, erase, self)
        planes.move(self)
        return planes.moved()

    def image(self, name: str, value: Any, fill: Any, **how: Any) -> Any:
        """how: interpolation, erase and alpha, as follower_of has them."""
        source = images_of(value, self.transform.layout)
        if source.single != self.single or source.count != len(self.sizes):
            found = "one image" if source.single else f"a batch of {source.count}"
            wanted = "one" if self.single else f"a batch of {len(self.sizes)}"
            raise ArgumentError(f"{name} is {found}, the image that it follows {wanted}")
        if not source.count:
            return value
        for i, (size, wanted) in enumerate(zip(source.sizes(), self.sizes)):
            if size != wanted:
                where, found = "" if self.single else f": image {i}", "{} x {} pixels, what it follows {} x {}"
                raise ArgumentError(f"{name}{where} is {found.format(*size, *wanted)}: want one size")
        if source.dtype != lib.MOTLEY_U8:
            raise ArgumentError(f"{name} is not uint8: want motley.follow.Mask for it, which takes every dtype")
        fills = list(fill) if hasattr(fill, "__len__") else [fill] * source.channels
        if len(fills) != source.channels:
            raise ArgumentError(f"{name} has {source.channels} channels, but fill is {fill!r}: want a number for each")
        return self._pixels(value, self.transform.layout, fill=bytes(fills), **how)

    # ---- numbers ----

    @property
    def drawn(self) -> Any:
        """What the images draw, in host memory."""
        if self._drawn is None:
            ids, view, epoch, seed = self.which
            held, (_views, view) = ffi.new("uint64_t[]", ids), views_of(view, len(ids))
            samples = Samples((seed, epoch, 0, address(held), view))
            if self.levels is not None:
                _held, samples.c.levels = levels_on_host(self.levels, len(ids))
            self._drawn = Drawn.of(self.transform.policy_now, samples.c, self.sizes, 3)
        return self._drawn


# ---- pixels ----

_followers: dict[Any, tuple[Policy, Transform]] = {}


def follower_of(
    transform: Any, given: Any, fill: Any, erase: Any, interpolation: Any = "nearest", alpha: bool = False
) -> Any:
    """What moves what follows the images of `transform`, for recorded draws or None. fill: a byte for each channel."""
    followed = transform.policy_now if given is None else transform.policy
    key = id(followed), transform.threads, fill, bool(erase), interpolation, bool(alpha)
    found = _followers.get(key)
    if found is None:
        params = follower_params(fill, erase, interpolation)
        handle = made_by("motley_policy", lib.motley_policy_follower, followed._handle, params)
        made = Transform(Policy._of(handle), threads=transform.threads, alpha=alpha)
        found = keep(_followers, key, (followed, made))  # what is followed, too, so that its id stays its own
    return found[1]


def follower_params(fill: Any, erase: Any, interpolation: Any) -> Any:
    how = {"interpolation": interpolation_number(interpolation), "channels": len(fill), "erase": bool(erase)}
    return ffi.new("motley_follower_params *", {"fill": fill.ljust(4, b"\0"), **how})


def follower_draws(given: Any, fill: Any, erase: Any, interpolation: Any = "nearest", alpha: bool = False) -> Any:
    """Recorded draws of images as those of their followers; alpha does not matter to them."""
    made = given.taken(range(len(given)))
    params = follower_params(fill, erase, interpolation)
    checked(lib.motley_follower_steps, made.c, params, made.steps, made.counts, made.places)
    return made


def element_of(name: str, dtype: Any, fill: Any) -> Any:
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


def _array_of(name: str, mask: Any) -> Any:
    """A mask, or a list of masks, as arrays."""
    if isinstance(mask, (list, tuple)):
        return [_array_of(f"{name}[{i}]", one) for i, one in enumerate(mask)]
    kind = KINDS[type(mask)]
    if kind is None:
        raise UnsupportedError(f"{name} is a {type(mask).__name__}, want a NumPy, torch or CuPy array or a PIL image")
    if any(base.__name__ == "MaskedArray" for base in type(mask).__mro__):
        raise ArgumentError(f"{name} is a numpy.ma.MaskedArray, whose mask would be lost: want its .data or .filled()")
    if kind is Pillow and mask.mode not in PIL_MODES:
        raise ArgumentError(f"{name} has mode {mask.mode}, want one of {', '.join(PIL_MODES)}")
    return _numpy(name).array(mask) if kind is Pillow else plain(mask)


def _mask_like(made: Any, like: Any) -> Any:
    """A mask that was moved, of the kind of the one that it was made of."""
    if isinstance(like, (list, tuple)):
        return type(like)(map(_mask_like, made, like))
    if KINDS[type(like)] is not Pillow:
        return finished(made, like)
    done = sys.modules["PIL.Image"].fromarray(made)
    if like.mode == "P":
        done.putpalette(like.palette)
    done.info = like.info.copy()
    return done


class Planes:
    """The mask of an image, or those of a batch, one array or a list, and what they become. An image may have a list of
    masks. pieces: for each array what makes the result, the addresses from and to which elements move, the planes of an
    image, an element's bytes, and the array."""

    on_device = moves_along = False

    def __init__(self, name: str, value: Any, fill: Any, erase: Any, moves: Any) -> None:
        self.name, self.fill, self.erase, self.value = name, fill, erase, value
        self.moves, self.size, self.device, self.array = moves, moves.transform.size, None, None
        self.pieces: list[Any] = []
        self.dense = not moves.single and not isinstance(value, (list, tuple))
        if self.dense and KINDS[type(value)] is Pillow:
            raise ArgumentError(f"{name} is a {type(value).__name__}, want an array")
        if self.dense or moves.single:
            self._add(name, value, moves.sizes[0] if moves.sizes else None)
        else:
            for i, part in enumerate(moves.parts(name, value)):
                self._add(f"{name}[{i}]", part, moves.sizes[i])

    def _add(self, name: str, value: Any, size: Any) -> None:
        array, finish = _array_of(name, value), functools.partial(_mask_like, like=value)
        axes, wanted = (2, 3), "[H, W] or [N, H, W]"
        if isinstance(value, (list, tuple)):
            for i, mask in enumerate(array):
                self._check(f"{name}[{i}]", tuple(mask.shape), size, (2,), "[H, W]")
            if not array:
                self.pieces.append((type(value), 0, 0, 0, b"", None))
                return
            if len({(type(mask), mask.dtype, str(getattr(mask, "device", ""))) for mask in array}) > 1:
                raise ArgumentError(f"{name} has masks of several kinds, want one library, dtype and device")
            array = sys.modules[KINDS[type(array[0])].base[0]].stack(array)
        elif self.dense:
            axes, wanted = (3, 4), "[B, H, W] or [B, N, H, W]"
        kind = KINDS[type(array)]
        array = kind.contiguous(array)
        self._check(name, tuple(array.shape), size, axes, wanted)
        element = element_of(name, name_of(array.dtype), self.fill)
        if kind is NumPy and not array.flags.aligned:
            array = array.copy()
        made = kind.new(array, (*array.shape[:-2], *(self.size or array.shape[-2:])), name_of(array.dtype))
        self.array, self.device = array, kind.look(array)[4]
        count = 0 if 0 in array.shape else array.shape[axes[0] - 2] if array.ndim == axes[-1] else 1
        pointers = kind.pointer(array), kind.pointer(made)
        self.pieces.append((functools.partial(finish, made), *pointers, count, element, array))

    def _check(self, name: str, shape: Any, size: Any, axes: Any, wanted: str) -> None:
        if len(shape) not in axes:
            raise ArgumentError(f"{name} has shape {shape}, want {wanted}")
        if self.dense and shape[0] != len(self.moves.sizes):
            raise ArgumentError(f"{name} has shape {shape}, there are {len(self.moves.sizes)} images: want {wanted}")
        if size is not None and shape[-2:] != size[::-1]:
            width, height = size
            raise ArgumentError(
                f"{name} has shape {shape}, the image is {height} high and {width} wide: want {wanted} of its size"
            )

    def describe(self) -> Any:
        """Each of its motley_planes; the call with them moves the masks."""
        self.moves_along, self.held = True, []
        for element in dict.fromkeys(piece[4] for piece in self.pieces if piece[3]):
            if self.dense:
                _, source, to, count, *_ = self.pieces[0]
                where = {"src": ffi.cast("void *", source), "dst": ffi.cast("void *", to), "count": count}
            else:
                rows = (piece[1:4] if piece[4] == element else (0, 0, 0) for piece in self.pieces)
                table = list(itertools.chain.from_iterable(rows))
                table = ffi.new("size_t[]", table) if self.device is None else sent(table, self.array)
                self.held.append(table)
                at = table if self.device is None else KINDS[type(table)].pointer(table)
                where = {"images": ffi.cast("motley_plane *", at)}
            fill = element.ljust(8, b"\0")
            yield {"element_size": len(element), "erase": bool(self.erase), "fill": fill, **where}

    def move(self, moves: Any) -> None:
        """Moves them by the draws of their images, unless the images' call does it."""
        if not self.moves_along and any(piece[3] for piece in self.pieces):
            moves.along(self.name, followed_by([], [self]), None if self.device is None else self.array)

    def moved(self) -> Any:
        made = [result() for result, *_ in self.pieces]
        if self.dense or self.moves.single:
            return made[0]
        if self.size and len({(type(x), getattr(x, "shape", None)) for x in made}) == 1:
            kind = KINDS[type(made[0])]
            if kind not in (None, Pillow):  # of one size now, as the images
                return sys.modules[kind.base[0]].stack(made)
        return self.moves.joined(made, self.value)


def sent(numbers: Any, like: Any) -> Any:
    """Whole numbers on the device of a tensor or CuPy array; nothing waits for torch's."""
    if KINDS[type(like)] is Torch:
        held = sys.modules["torch"].tensor(numbers, dtype=sys.modules["torch"].int64).pin_memory()
        return held.to(like.device, non_blocking=True)
    with like.device:
        return sys.modules["cupy"].asarray(numbers, "int64")


# ---- boxes and points ----

POINT_FLAGS = lib.MOTLEY_POINT_INSIDE, lib.MOTLEY_POINT_UNERASED, lib.MOTLEY_POINT_MIRRORED


class Rows:
    """`table`: the rows of `parts`, one part for each image, of NumPy or torch, whichever they are, float64 if one of
    them is, else float32. It is in host memory, or where all parts are, if that is the CUDA device `device`.

    widths: how many numbers a row may have; sizes: [(width, height)] of the images."""

    axes: Any = range(1, 65)
    wanted = "[..., 2] or [..., 3]"

    def __init__(self, name: str, parts: Any, sizes: Any, widths: Any, device: Any = None) -> None:
        self.name, self.parts, self.sizes, self.moves_along = name, parts, sizes, False
        listed = _listed(name, parts, widths)
        alike: Any = None if listed is not None else _alike(parts, widths)
        self.alike = alike is not None
        if self.alike:
            arrays, self.shapes, self.width = parts, alike, alike[0][1]
        elif listed is not None:
            arrays, self.width = [listed], listed.shape[1]
            self.shapes = [(len(part), self.width) for part in parts]
        else:
            arrays = [self._array(i, part, widths) for i, part in enumerate(parts)]
            known = [(0 not in array.shape, array.shape[-1]) for array in arrays if array.shape != (0,)]
            self.width = max(known)[1] if known else widths[0]
            self.shapes = [(0, self.width) if array.shape == (0,) else tuple(array.shape) for array in arrays]
            self._check_alike(arrays)
        one_axis = self.alike or listed is not None
        self.counts = [shape[0] if one_axis else math.prod(shape[:-1]) for shape in self.shapes]
        self.count = sum(self.counts)
        self.offsets = [0, *itertools.accumulate(self.counts)]
        self.of_torch = bool(arrays) and KINDS[type(arrays[0])] is Torch
        self.library = sys.modules["torch"] if self.of_torch else _numpy(name)
        some = arrays[:1] if self.alike else parts
        self.on_device = self.of_torch and device is not None and {device_of(part) for part in some} == {device}
        self.single = bool(arrays) and not any(map(_is_wide, arrays[:1] if self.alike else arrays))
        self.dtype = "float32" if self.single else "float64"
        if not self.alike:
            arrays = [self._typed(array.reshape(-1, self.width)) for array in arrays]
        join = self.library.cat if self.of_torch else self.library.concatenate
        self.table = self._typed(join(arrays)) if arrays else self.library.empty((0, self.width))

    def _typed(self, table: Any) -> Any:
        if self.of_torch:
            return table.to(table.device if self.on_device else "cpu", getattr(self.library, self.dtype))
        return table.astype(self.dtype, order="C", copy=False)

    def _at(self, i: Any) -> Any:
        return self.name if len(self.parts) == 1 else f"{self.name}[{i}]"

    def _array(self, i: Any, part: Any, widths: Any) -> Any:
        width, height = self.sizes[i]
        canvas = getattr(part, "canvas_size", (height, width))  # of tv_tensors
        if tuple(canvas) != (height, width):
            raise ArgumentError(
                f"{self.name} has the canvas_size {tuple(canvas)}, the image is {height} high and {width} wide"
            )
        kind = KINDS[type(part)]
        if kind is Torch:
            array = plain(part).detach() if part.requires_grad else plain(part)
        elif kind is CuPy:
            array = part.get()
        elif kind is not None and kind is not Pillow:
            array = part
        elif hasattr(part, "__dlpack__"):
            array = on_host(f"{self._at(i)} is", part)
        else:
            numpy = _numpy(self.name)
            try:
                array = numpy.array(part, "float64")
            except (TypeError, ValueError):
                raise ArgumentError(
                    f"{self._at(i)} is {part!r:.60}, want an array or a list of rows of numbers"
                ) from None
        if array.shape != (0,) and (array.ndim not in self.axes or array.shape[-1] not in widths):
            raise ArgumentError(f"{self._at(i)} has shape {tuple(array.shape)}, want {self.wanted}")
        return array

    def _check_alike(self, arrays: Any) -> None:
        if len({KINDS[type(array)] is Torch for array in arrays}) > 1:
            raise ArgumentError(f"{self.name} has torch tensors and others, want one kind")
        for i, shape in enumerate(self.shapes):
            if 0 not in shape and shape[-1] != self.width:
                raise ArgumentError(
                    f"{self._at(i)} has {shape[-1]} numbers in a row, others have {self.width}: want as many"
                )

    def _looks_scaled(self) -> Any:
        """Whether all places are in 0..1, and some between the two; on a GPU a tensor says so."""
        pixels = any(hasattr(part, "canvas_size") for part in self.parts)  # tv_tensors say so
        if not self.count or pixels or min(map(min, self.sizes)) <= 2:
            return False
        places = self.table[:, :2] if self.width == 3 else self.table  # a point's third number is no place
        return ((places >= 0) & (places <= 1)).all() & ((places > 0) & (places < 1)).any()

    # ---- for the library ----

    def empty(self, dtype: Any) -> Any:
        """A number for each row, beside the table."""
        if not self.of_torch:
            return self.library.empty(self.count, dtype)
        return self.library.empty(self.count, dtype=getattr(self.library, dtype), device=self.table.device)

    @staticmethod
    def pointer(array: Any, kind: Any = "void *") -> Any:
        return ffi.cast(kind, KINDS[type(array)].pointer(array))

    def describe(self, c: Any) -> None:
        """Fills a motley_followed: the call with it changes the table."""
        self.places, self.moves_along = sent(self.offsets, self.table), True
        self._describe(c, self.pointer(self.places, "size_t *"))

    def _describe(self, c: Any, offsets: Any) -> None:
        """The same; the table is where it moves."""
        raise NotImplementedError

    def move(self, moves: Any) -> None:
        """Moves the table in host memory by the draws of its images, unless the images' call does it."""
        if self.moves_along:
            return
        self.on_device = False
        self.table = self._typed(self.table)
        c, offsets = ffi.new("motley_followed *", {"single": self.single}), ffi.new("size_t[]", self.offsets)
        self._describe(c, offsets)
        moves.along(self.name, c)

    # ---- for the caller ----

    def back(self, table: Any, dtype: Any = None) -> Any:
        """A table or column as a list of what belongs to each part, of its kind and shape. dtype None: of its dtype, or
        float32 where that is none of floats."""
        like = next((part for part in self.parts if KINDS[type(part)] is not None), None)
        if like is not None:  # all of them at once, as they seldom differ
            table = self._cast(table, like, dtype)
        if self.of_torch:
            rows = table.split(self.counts)
        else:
            rows = [table[begin:end] for begin, end in zip(self.offsets, self.offsets[1:])]
        if self.alike:
            return list(rows)
        return [self._like(part, row, shape, dtype) for part, row, shape in zip(self.parts, rows, self.shapes)]

    def _cast(self, rows: Any, like: Any, dtype: Any) -> Any:
        kind = KINDS[type(like)]
        if kind is Torch:
            wanted = getattr(self.library, dtype) if dtype else None
            wanted = wanted or (like.dtype if has_floats(like) else self.library.float32)
            return rows if rows.dtype == wanted and rows.device == like.device else rows.to(like.device, wanted)
        rows = rows.astype(dtype or (like.dtype if has_floats(like) else "float32"), copy=False)
        if kind is not CuPy or hasattr(rows, "device"):
            return rows
        with like.device:
            return sys.modules["cupy"].asarray(rows)

    def _like(self, part: Any, rows: Any, shape: Any, dtype: Any) -> Any:
        if len(shape) != 2:
            rows = rows.reshape(shape if rows.ndim == 2 else shape[:-1])
        kind = KINDS[type(part)]
        if kind is None and hasattr(part, "__dlpack__"):
            wanted = self.dtype if not hasattr(part, "dtype") else part.dtype if has_floats(part) else "float32"
            return like_foreign(rows.astype(dtype or wanted), part)
        if kind is None:
            return rows.tolist()
        made = self._cast(rows, part, dtype)
        return finished(made, part) if dtype is None and len(shape) == made.ndim else made


class BoxRows(Rows):
    """Boxes; the settings are motley_box_rules'. drop_outside: those outside of their image become boxes without area,
    which are dropped."""

    axes, wanted = (2,), "[n, 4]"

    def __init__(
        self, name: str, parts: Any, sizes: Any, form: Any, torchvision: Any, limits: Any, device: Any = None,
        drop_outside: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(name, parts, sizes, (4,), device)
        self.params = params = ffi.new("motley_box_rules *")
        params.format, params.torchvision = form, torchvision
        params.min_area, params.min_side, params.min_visibility = limits
        self.scaled = self._looks_scaled()
        if not self.on_device:
            self._refuse_scaled(self.scaled)
        if drop_outside and self.count:
            self.table = self.table * ~self._outside()[:, None]

    def _refuse_scaled(self, scaled: Any) -> None:
        if scaled:
            width, height = self.sizes[0]
            raise ArgumentError(
                f"{self.name} has numbers in 0..1 only, for an image of {width} x {height}: want pixels, so multiply x "
                "and width by the image's width, y and height by its height"
            )

    def _corners(self) -> Any:
        """Left, top, right and bottom of each box."""
        table = self.table.to(self.library.float64) if self.of_torch else self.table.astype("float64")
        left, top, right, bottom = table.T
        if self.params.format == lib.MOTLEY_CXCYWH:
            left, top = left - right / 2, top - bottom / 2
        if self.params.format != lib.MOTLEY_XYXY:
            right, bottom = left + right, top + bottom
        return left, top, right, bottom

    def _outside(self) -> Any:
        """Which boxes are good ones that do not touch their image."""
        left, top, right, bottom = self._corners()
        sides = [side for size, count in zip(self.sizes, self.counts) for side in size * count]
        sides = sent(sides, self.table) if self.on_device else self.library.asarray(sides)
        width, height = sides.reshape(-1, 2).T
        finite = self.library.isfinite(left + top + right + bottom)
        outside = (left > width) | (top > height) | (right < 0) | (bottom < 0)
        return outside & finite & (left <= right) & (top <= bottom)

    def corners(self) -> Any:
        """Left, top, right and bottom of each box, and the offsets of the images, for a policy that works in boxes."""
        self.held = self.library.stack(self._corners(), -1)
        return self.pointer(self.held, "double *"), ffi.new("size_t[]", self.offsets)

    def _describe(self, c: Any, offsets: Any) -> None:
        c.boxes_count, c.boxes, c.box_offsets = self.count, self.pointer(self.table), offsets
        self.seen, self.keep = self.empty(self.dtype), self.empty("uint8")
        c.visibility, c.keep = self.pointer(self.seen), self.pointer(self.keep, "uint8_t *")
        c.box_params = self.params[0]

    def moved(self) -> Any:
        """For each image its boxes, and a function that returns how much of each is left, as it is compared."""
        return self.back(self.table), lambda: self.back(self.seen, self.dtype)

    def kept(self) -> Any:
        """For each image which boxes are kept, or None for all. Of a GPU a byte for each box is read back."""
        keep = self.keep
        self._refuse_scaled(bool(self.scaled))
        if self.on_device:  # where the call could not refuse boxes, they are not numbers
            keep = keep + 2 * self.library.isnan(self.table[:, 0]).to(self.library.uint8)
        found, kept = bytes(keep.tolist()), []
        for i, (begin, end) in enumerate(zip(self.offsets, self.offsets[1:])):
            wrong = found.find(2, begin, end) - begin
            if wrong >= 0:
                numbers, (width, height) = self.parts[i].reshape(-1, 4)[wrong].tolist(), self.sizes[i]
                raise ArgumentError(
                    f"{self.name}: image {i}, box {wrong} is {tuple(numbers)}, want finite numbers of a box with "
                    f"sides of 0 or more that touches its image of {width} x {height}"
                )
            kept.append(None if found.find(0, begin, end) < 0 else [byte != 0 for byte in found[begin:end]])
        return kept


class PointRows(Rows):
    """Points; pairs: places that change places where an image is mirrored."""

    def __init__(self, name: str, parts: Any, sizes: Any, convention: Any, pairs: Any, device: Any = None) -> None:
        super().__init__(name, parts, sizes, (2, 3), device)
        self.convention, self.order = convention, None
        if not self.on_device and self._looks_scaled():
            warnings.warn(f"{name} has numbers in 0..1 only: want pixels, so multiply x by the image's width and y by "
                          "its height", stacklevel=7)  # fmt: skip
        if pairs and self.count:
            self.order = list(itertools.chain.from_iterable(self._paired(i, pairs) for i in range(len(parts))))

    def _paired(self, i: Any, pairs: Any) -> Any:
        """The rows of image i's points when the pairs have changed places."""
        shape, count = self.shapes[i], self.counts[i]
        if not count:
            return []
        if len(shape) < 2 or max(map(max, pairs)) >= shape[-2]:
            raise ArgumentError(
                f"{self._at(i)} has shape {shape}, want more than {max(map(max, pairs))} points for `pairs`"
            )
        order = list(range(shape[-2]))
        for a, b in pairs:
            order[a], order[b] = order[b], order[a]
        return [self.offsets[i] + group + place for group in range(0, count, len(order)) for place in order]

    def _describe(self, c: Any, offsets: Any) -> None:
        self.xy = self.table[:, :2]
        self.xy = self.xy.contiguous() if self.of_torch else self.library.ascontiguousarray(self.xy)
        self.flags = self.empty("uint8")
        c.points_count, c.convention, c.point_offsets = self.count, self.convention, offsets
        c.points, c.flags = self.pointer(self.xy), self.pointer(self.flags, "uint8_t *")
        self.order = sent(self.order, self.table) if self.order is not None and self.moves_along else self.order

    def moved(self) -> Any:
        """For each image its points, and a function that returns whether each was inside."""
        where, table = self.library.where, self.table
        inside, unerased, mirrored = ((self.flags & bit) != 0 for bit in POINT_FLAGS)
        table[:, :2] = self.xy
        if self.width == 3:
            table[:, 2] = where(unerased, table[:, 2], table[:, 2].clip(max=1)) * inside
        if self.order is not None:
            table = where(mirrored[:, None], table[self.order], table)
            inside = where(mirrored, inside[self.order], inside)
        return self.back(table), lambda: self.back(inside, "bool")


def _is_wide(array: Any) -> bool:
    """Whether an array has floats of more than 32 bits."""
    return has_floats(array) and bool((array.element_size() if KINDS[type(array)] is Torch else array.itemsize) > 4)


def _alike(parts: Any, widths: Any) -> Any:
    """The shapes of tables of one library, width, dtype and device, and of no subclass: then nothing is done to each by
    itself. None of others."""
    if not parts or KINDS[type(parts[0])] not in (Torch, NumPy) or type(parts[0]).__module__ not in ("torch", "numpy"):
        return None
    if len({(type(part), part.dtype, getattr(part, "device", None)) for part in parts}) > 1:
        return None
    shapes = [tuple(part.shape) for part in parts]
    if len({shape[1:] for shape in shapes}) > 1 or len(shapes[0]) != 2 or shapes[0][1] not in widths:
        return None
    return None if any(getattr(part, "requires_grad", False) for part in parts) else shapes


def _listed(name: str, parts: Any, widths: Any) -> Any:
    """One table of parts that are all lists of rows, None of others. To convert each part takes twice as long."""
    if not parts or not all(isinstance(part, (list, tuple)) for part in parts):
        return None
    rows = [row for part in parts for row in part]
    try:
        (width,) = set(map(len, rows))
        numbers = _numpy(name).fromiter(itertools.chain.from_iterable(rows), "float64", len(rows) * width)
    except (TypeError, ValueError):  # no rows, of several widths, or not of numbers
        return None
    return numbers.reshape(-1, width) if width in widths else None


def _numpy(name: str) -> Any:
    try:
        import numpy
    except ImportError:
        raise UnsupportedError(f"{name} is followed with NumPy, which is not installed") from None
    return numpy


def followed(source: Any, rows: Any) -> Any:
    """What a call on `source` moves with its images, a motley_followed: masks where the images are, and the first boxes
    and the first points that lie on their GPU. NULL: there are none."""
    if not source.count or isinstance(source, Many) and len(source.by_channels()) > 1:
        return ffi.NULL
    masks = [each for each in rows if isinstance(each, Planes) and each.pieces and each.device == source.device]
    there = {type(each): each for each in reversed(list(rows)) if each.on_device}
    alike = [each for each in there.values() if each.dtype == next(iter(there.values())).dtype]
    return followed_by(alike, masks) if alike or masks else ffi.NULL


def followed_by(rows: Any, masks: Any) -> Any:
    """The motley_followed that moves all of them; rows: of one dtype."""
    c = ffi.new("motley_followed *")
    c.single = any(each.single for each in rows)
    for each in rows:
        each.describe(c)
    planes = ffi.new("motley_planes[]", [own for each in masks for own in each.describe()])
    c.planes, c.planes_count = planes, len(planes)
    for each in masks:
        each.held.append(planes)
    return c
