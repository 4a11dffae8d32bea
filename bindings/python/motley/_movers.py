# SPDX-License-Identifier: Apache-2.0
"""What moves with the images of one call: masks as planes of elements, boxes and points as one table of numbers.

What lies where the images are moves in their call, on the CPU and on CUDA. What lies elsewhere, and a second entry of
boxes or of points, moves in host memory by the same draws, through motley_follow. Other images move in calls of their
own, by the library's follower policies."""

from __future__ import annotations

import functools
import itertools
import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ._arrays import KINDS, NumPy, Pillow, Torch, as_numbers, device_of, finished
from ._arrays import name_of, plain
from ._core import ffi, lib
from ._images import images_of, library_of
from ._native import ArgumentError, UnsupportedError, check, checked, for_each, keep, made_by
from .draws import Drawn
from .policy import Policy, interpolation_number
from ._random import Once, levels_on_host, split_ids
from .transform import Transform

if TYPE_CHECKING:
    from ._rows import BoxRows
    from .follow import Image, Mask
    from ._types import Levels

    Size = tuple[int, int]

# dtype -> how struct writes an element
_INTEGERS = {"uint8": "<B", "int8": "<b", "uint16": "<H", "int16": "<h", "uint32": "<I", "int32": "<i", "uint64": "<Q"}
ELEMENTS = {"bool": "<?", **_INTEGERS, "int64": "<q", "float16": "<e", "float32": "<f", "float64": "<d"}

PIL_MODES = "1", "L", "P", "I;16", "I", "F"  # of PIL masks


class Moves:
    """The images of one call, and how they move: by what `transform` draws for samples, or by recorded draws.

    source: the images, as images_of has them; which: their samples, (sample_ids, view, epoch, seed), with their levels;
    given: draws in place of these, a Drawn. Names are what errors call an entry."""

    def __init__(
        self, transform: Transform, source: Any, which: Any = None, levels: Levels | None = None,
        given: Drawn | None = None,
    ) -> None:  # fmt: skip
        self.transform, self.source, self.given = transform, source, given
        self.sizes: list[Size] = source.sizes()  # (width, height)
        self.single: bool = source.single  # there is one image, and no axis of images
        self.device: int | None = source.device
        self.levels = levels if transform._takes(levels) else None
        self.boxes: BoxRows | None = None  # by which a policy draws that works in boxes,
        self.on_device = False  # on the device, where these are
        if which is not None:  # without ids the host numbers the samples, so that several calls draw alike
            ids, *how = split_ids(*which[:3])
            ids = Once(transform) if ids is None else ids
            if ids.__class__ is Once:
                ids.numbers(source.count, which[3], self.device, True)
            self._which = ids, *how, which[3]

    @functools.cached_property
    def result_sizes(self) -> list[Size] | None:
        """(height, width) of each result, where they come out in sizes of their own; else None."""
        policy = self.transform.policy_now
        if not policy.whole or policy.size or policy.only_mixes or policy.views:
            return None
        return self.draw().result_sizes

    @property
    def listed(self) -> bool:
        """Whether results are a list of images of their own sizes."""
        return bool(self.transform.policy_now.lists)

    # ---- one value for all images, and one for each ----

    def parts(self, name: str, value: Any) -> list[Any]:
        """`value` as a list with what belongs to each image."""
        if self.single:
            return [value]
        if not hasattr(value, "__len__"):
            raise ArgumentError(f"{name} is a {type(value).__name__}, there are {len(self.sizes)} images")
        for_each(name, len(value), len(self.sizes), "entries")
        return list(value)

    def joined(self, parts: list[Any], like: Any) -> Any:
        """The parts as one value: that of the one image, or a list, tuple or array as `like` is one."""
        if self.single:
            return parts[0]
        if isinstance(like, (list, tuple)) or not parts:
            return tuple(parts) if isinstance(like, tuple) else parts
        return stacked(parts)

    # ---- the calls ----

    def run(self, images: Any, followed: Any = ffi.NULL, return_draws: bool = False) -> Any:
        """The images, augmented, and what a motley_followed says moved with them."""
        transform, layout = self.transform, self.transform.layout
        if self.given is None:
            boxes = self.device_boxes
            return transform._run(images, None, layout, self._which, return_draws, self.levels, followed, boxes=boxes)
        result = transform._run(images, None, layout, given=self.given, followed=followed)
        if not return_draws:
            return result
        draws = self.given.plain(transform.policy_now, transform._channels(self.source))
        return result, draws[0] if self.single else draws

    @property
    def which(self) -> Any:
        """The samples with the seed and epoch that they are drawn by. A counter on a device is asked for it, and
        waits."""
        (seed, epoch, *_), _ = self.transform._numbers(len(self.sizes), self._which, self.device, True)
        return *self._which[:2], epoch, seed

    @property
    def device_boxes(self) -> tuple[int, int] | None:
        """The addresses of boxes by which the device draws, and of their offsets."""
        return self.boxes.on_device() if self.boxes is not None and self.on_device else None

    def draw_by(self, boxes: BoxRows, return_draws: bool) -> None:
        """Draws by boxes: in the calls, if these and the images are on a device that can, and nobody asks what was
        drawn; else now, in host memory."""
        policy, self.boxes = self.transform.policy_now, boxes
        crops = not (policy._steps_by_boxes or policy.on_host)
        self.on_device = crops and boxes.device is not None and not return_draws and self.transform.clip_frames < 2
        if self.on_device and boxes.device is not None and Torch.captures(boxes.device):
            raise ArgumentError("a CUDA graph is captured, which cannot read boxes that a call has put together: want "
                                "draws that are given, or motley_apply in C")  # fmt: skip
        if not self.on_device:
            self.given = self.draw()

    def draw(self) -> Drawn:
        """What the images draw, in host memory."""
        if self.given is not None:
            return self.given
        samples, _keep = self.transform._samples(len(self.sizes), self._which, self.device)
        channels, boxes = 3, None  # which matter to fills alone, and a list may have several numbers of them
        if self.boxes is not None:
            samples.bands, boxes = self.source.count > 0 and self.source.has_bands, self.boxes.on_host()
            channels = self.transform._channels(self.source)
        if self.levels is not None:
            _levels, samples.levels = levels_on_host(self.levels, len(self.sizes))
        return Drawn.of(self.transform.policy_now, samples, self.sizes, channels, boxes)


class Mover:
    """An entry that moves with its images: `count` planes or rows, in host memory or on a CUDA device. single: floats
    are of 32 bits; word: what the library's errors call one; held: what has to live until the call is done."""

    name: str
    count: int
    device: int | None
    held: list[Any]
    single = False
    word = ""

    def table_of(self, numbers: list[int], like: Any) -> Any:
        """Whole numbers in the library and on the device of an array; nothing waits."""
        if KINDS[type(like)] is NumPy:
            return sys.modules["numpy"].asarray(numbers, "int64")
        tensor = sys.modules["torch"].tensor(numbers, dtype=sys.modules["torch"].int64)
        if like.is_cuda:
            self.held.append(tensor.pin_memory())  # which a captured graph copies in each replay
            tensor = self.held[-1].to(like.device, non_blocking=True)
        return tensor

    def fits(self, riders: Sequence[Mover]) -> bool:
        """Whether a call that moves these can move it, too."""
        return True

    def to_host(self) -> None:
        """Moves it there, if it lies on a device and cannot move with its images."""

    def describe(self, c: Any) -> Iterable[dict[str, Any]]:
        """Fills in its part of a motley_followed, and gives its motley_planes."""
        raise NotImplementedError


def move(moves: Moves, images: Any, entries: Iterable[Mover], return_draws: bool) -> Any:
    """Augments the images and moves the entries, each of which has its results then."""
    riders: list[Mover] = []
    entries = [entry for entry in entries if entry.count]
    for entry in entries:
        if entry.device == moves.device and entry.fits(riders):
            riders.append(entry)
    try:
        result = moves.run(images, described(riders), return_draws)
    except ArgumentError as error:
        for entry in riders:
            if entry.word and re.match(rf"image \d+, {entry.word} ", str(error)):
                raise ArgumentError(f"{entry.name}: {error}") from None
        raise
    moves.transform._captured.keep((library_of(moves.source), moves.device), *riders)
    others = [entry for entry in entries if entry not in riders]
    if others:
        drawn, problem = moves.draw(), ffi.new("motley_error *")
        for entry in others:
            entry.to_host()
            check(lib.motley_follow(drawn.c, described([entry]), problem), problem, f"{entry.name}: ")
    return result


def described(entries: Sequence[Mover]) -> Any:
    """The motley_followed that moves these; NULL of none."""
    if not entries:
        return ffi.NULL
    c = ffi.new("motley_followed *", {"single": any(entry.single for entry in entries)})
    planes = ffi.new("motley_planes[]", [each for entry in entries for each in entry.describe(c)])
    c.planes, c.planes_count = planes, len(planes)
    entries[0].held.append(planes)
    return c


# ---- other images ----

_followers: dict[Any, tuple[Policy, Transform]] = {}


class Images:
    """Another image of each sample, moved by a second call. kind: a motley.follow.Image."""

    count = 0  # of what the images' call has to move

    def __init__(self, name: str, value: Any, moves: Moves, kind: Image) -> None:
        source, count = images_of(value, moves.transform.layout), len(moves.sizes)
        if source.single != moves.single or source.count != count:
            given = "one image" if source.single else f"a batch of {source.count}"
            wanted = "one" if moves.single else f"a batch of {count}"
            raise ArgumentError(f"{name} is {given}, the image that it follows {wanted}")
        for i, (size, wanted_size) in enumerate(zip(source.sizes(), moves.sizes)):
            if size != wanted_size:
                where, sizes = "" if moves.single else f": image {i}", "{} x {} pixels, what it follows {} x {}"
                raise ArgumentError(f"{name}{where} is {sizes.format(*size, *wanted_size)}: want one size")
        if count and source.dtype != lib.MOTLEY_U8:
            raise ArgumentError(f"{name} is not uint8: want motley.follow.Mask for it, which takes every dtype")
        channels = source.channels
        fills = list(kind.fill) if isinstance(kind.fill, Sequence) else [kind.fill] * channels
        if count and len(fills) != channels:
            raise ArgumentError(f"{name} has {channels} channels, but fill is {kind.fill!r}: want a number for each")
        if len(set(fills[4:]) - {fills[0]}):
            raise ArgumentError(f"{name}: fill is {kind.fill!r}, want the first number again behind the fourth")
        self.value, self.moves, self.alpha, fills = value, moves, kind.alpha, fills[:4]
        self.device = source.device
        self.params = ffi.new("motley_follower_params *", {"fill": bytes(fills).ljust(4, b"\0")})
        self.params.erase, self.params.channels = bool(kind.erase), len(fills)
        self.params.interpolation = interpolation_number(kind.interpolation)

    def _follower(self) -> Transform:
        """What moves images as those of the transform move, by its draws or by given ones."""
        transform, given = self.moves.transform, self.moves.given
        followed = transform.policy_now if given is None else transform.policy
        key = id(followed), transform.threads, bytes(ffi.buffer(self.params)), self.alpha
        kept = _followers.get(key)
        if kept is None:
            handle = made_by("motley_policy", lib.motley_policy_follower, followed._handle, self.params)
            made = Transform(Policy._of(handle), threads=transform.threads, alpha=self.alpha)
            kept = keep(_followers, key, (followed, made))  # what is followed, too, so that its id stays its own
        follower: Transform = kept[1]._same()
        follower._captured = transform._captured
        return follower

    def moved(self) -> Any:
        moves = self.moves
        if not moves.sizes:
            return self.value
        follower, layout = self._follower(), moves.transform.layout
        given = moves.given
        if given is None and moves.on_device and self.device != moves.device:
            given = moves.draw()  # where this image is there are no boxes
        if given is None:
            levels = moves.levels if follower.policy.takes_levels else None
            return follower._run(self.value, None, layout, moves.which, levels=levels, boxes=moves.device_boxes)
        given = given.taken(range(len(given)))
        checked(lib.motley_follower_steps, given.c, self.params, given.steps, given.counts, given.places)
        return follower._run(self.value, None, layout, given=given)


# ---- masks ----


class Piece(NamedTuple):
    """An array of planes: the addresses from and to which they move, and how many there are of an image; the bytes of
    their fill; what makes the result."""

    addresses: tuple[int, int, int]
    fill: bytes
    result: Callable[[], Any]


class Planes(Mover):
    """The mask of an image, or those of a batch, one array or a list, and what they become. An image may have a list of
    masks."""

    def __init__(self, name: str, value: Any, moves: Moves, kind: Mask) -> None:
        self.name, self.value, self.moves, self.erase = name, value, moves, bool(kind.erase)
        self.held: list[Any] = []  # the arrays that the addresses are of
        self.dense = not moves.single and not isinstance(value, (list, tuple)) and not moves.listed
        if self.dense and KINDS[type(value)] is Pillow:
            raise ArgumentError(f"{name} is a {type(value).__name__}, want an array")
        if self.dense or moves.single:
            masks = {name: value}
        else:
            masks = {f"{name}[{i}]": part for i, part in enumerate(moves.parts(name, value))}
        sizes: Sequence[Size | None] = moves.sizes or [None]
        arrays = [self._array(at, mask, size) for (at, mask), size in zip(masks.items(), sizes)]
        there = all(array is None or device_of(array) == moves.device for array in arrays)
        self.device = moves.device if there else None
        results: Sequence[Size | None] = moves.result_sizes or [None] * len(masks)
        each = zip(masks.items(), arrays, results)
        self.pieces = [self._piece(at, mask, array, kind.fill, size) for (at, mask), array, size in each]
        self.count = sum(piece.addresses[2] for piece in self.pieces)

    def _array(self, name: str, value: Any, size: Size | None) -> Any:
        """A mask, or a list of masks, as one array; None of an empty list."""
        if isinstance(value, (list, tuple)):
            arrays = [_array_of(f"{name}[{i}]", mask) for i, mask in enumerate(value)]
            for i, mask in enumerate(arrays):
                self._check(f"{name}[{i}]", tuple(mask.shape), size, (2,), "[H, W]")
            if len({(type(mask), mask.dtype, str(getattr(mask, "device", ""))) for mask in arrays}) > 1:
                raise ArgumentError(f"{name} has masks of several kinds, want one library, dtype and device")
            return stacked(arrays) if arrays else None
        array = _array_of(name, value)
        axes, wanted = ((3, 4), "[B, H, W] or [B, N, H, W]") if self.dense else ((2, 3), "[H, W] or [N, H, W]")
        self._check(name, tuple(array.shape), size, axes, wanted)
        return array

    def _check(self, name: str, shape: Any, size: Size | None, axes: tuple[int, ...], wanted: str) -> None:
        if len(shape) not in axes:
            raise ArgumentError(f"{name} has shape {shape}, want {wanted}")
        if self.dense and shape[0] != len(self.moves.sizes):
            raise ArgumentError(f"{name} has shape {shape}, there are {len(self.moves.sizes)} images: want {wanted}")
        if size is not None and shape[-2:] != size[::-1]:
            width, height = size
            raise ArgumentError(
                f"{name} has shape {shape}, the image is {height} high and {width} wide: want {wanted} of its size"
            )

    def _piece(self, name: str, value: Any, array: Any, fill: float, size: Size | None) -> Piece:
        if array is None:
            return Piece((0, 0, 0), b"", type(value))
        dtype, like = name_of(array.dtype), array
        element = element_of(name, dtype, fill)
        if self.device is None:
            array = in_host_memory(array)
        kind = KINDS[type(array)]
        array = kind.contiguous(array)
        if kind is NumPy and not array.flags.aligned:
            array = array.copy()
        size = size or self.moves.transform.size or array.shape[-2:]
        result = kind.new(array, (*array.shape[:-2], *size), dtype)
        self.held.append(array)
        planes = array.shape[int(self.dense) : -2]
        count = 0 if 0 in array.shape else planes[0] if planes else 1
        addresses = (kind.pointer(array), kind.pointer(result), count) if count else (0, 0, 0)
        return Piece(addresses, element, lambda: _mask_like(placed(result, like), value))

    def describe(self, c: Any) -> Iterator[dict[str, Any]]:
        for element in dict.fromkeys(piece.fill for piece in self.pieces if piece.addresses[2]):
            if self.dense:
                source, result, count = self.pieces[0].addresses
                where = {"src": ffi.cast("void *", source), "dst": ffi.cast("void *", result), "count": count}
            else:
                rows = (piece.addresses if piece.fill == element else (0, 0, 0) for piece in self.pieces)
                self.held.append(self.table_of([*itertools.chain.from_iterable(rows)], self.held[0]))
                where = {"images": ffi.cast("motley_plane *", pointer(self.held[-1]))}
            yield {"element_size": len(element), "erase": self.erase, "fill": element.ljust(8, b"\0"), **where}

    def moved(self) -> Any:
        masks = [piece.result() for piece in self.pieces]
        if self.dense or self.moves.single:
            return masks[0]
        alike = len({(type(mask), getattr(mask, "shape", None)) for mask in masks}) == 1
        if self.moves.transform.size and alike and KINDS[type(masks[0])] not in (None, Pillow):
            return stacked(masks)  # of one size now, as the images
        return self.moves.joined(masks, self.value)


# ---- arrays ----


def element_of(name: str, dtype: str, fill: float) -> bytes:
    """The bytes of `fill` as an element of that dtype."""
    if dtype not in (*ELEMENTS, "bfloat16"):
        raise ArgumentError(f"{name} is of dtype {dtype}, want bool, integers or floats of up to 64 bits")
    try:
        if dtype == "bfloat16":
            packed = struct.pack("<f", fill)
            if fill == fill and packed[:2] != b"\0\0":
                raise ValueError
            return packed[2:]
        whole = "float" not in dtype and fill == int(fill)
        return struct.pack(ELEMENTS[dtype], int(fill) if whole else fill)
    except (struct.error, OverflowError, TypeError, ValueError):
        raise ArgumentError(f"{name} is of dtype {dtype}, but fill is {fill!r}: want a value of that dtype") from None


def _array_of(name: str, mask: Any) -> Any:
    """A mask as an array."""
    kind = KINDS[type(mask)]
    if kind is None and not hasattr(mask, "__dlpack__"):
        raise UnsupportedError(f"{name} is a {type(mask).__name__}, want a NumPy, torch or CuPy array or a PIL image")
    if kind is None:
        return as_numbers(f"{name} is", mask)
    if any(base.__name__ == "MaskedArray" for base in type(mask).__mro__):
        raise ArgumentError(f"{name} is a numpy.ma.MaskedArray, whose mask would be lost: want its .data or .filled()")
    if kind is Pillow and mask.mode not in PIL_MODES:
        raise ArgumentError(f"{name} has mode {mask.mode}, want one of {', '.join(PIL_MODES)}")
    return numpy_for(name).array(mask) if kind is Pillow else plain(mask)


def _mask_like(result: Any, like: Any) -> Any:
    """A mask that was moved, of the kind of the one that it was made of."""
    if isinstance(like, (list, tuple)):
        return type(like)(map(_mask_like, result, like))
    if KINDS[type(like)] is not Pillow:
        return finished(result, like)
    image = sys.modules["PIL.Image"].fromarray(result)
    if like.mode == "P":
        image.putpalette(like.palette)
    image.info = like.info.copy()
    return image


def module_of(array: Any) -> Any:
    """The module whose array it is; None of what is no array."""
    kind = KINDS[type(array)]
    space = getattr(array, "__array_namespace__", lambda: None)
    return space() if kind is None else sys.modules[kind.base[0]]


def stacked(arrays: list[Any]) -> Any:
    return module_of(arrays[0]).stack(arrays)


def in_host_memory(array: Any) -> Any:
    return array.cpu() if KINDS[type(array)] is Torch else array


def placed(array: Any, like: Any) -> Any:
    """An array of NumPy or torch as one of the library and on the device of `like`."""
    if KINDS[type(like)] is Torch:
        return (sys.modules["torch"].from_numpy(array) if KINDS[type(array)] is NumPy else array).to(like.device)
    return array if KINDS[type(like)] is not None else module_of(like).asarray(array)


def pointer(array: Any) -> Any:
    return ffi.cast("void *", KINDS[type(array)].pointer(array))


def numpy_for(name: str) -> Any:
    try:
        import numpy
    except ImportError:
        raise UnsupportedError(f"{name} is followed with NumPy, which is not installed") from None
    return numpy
