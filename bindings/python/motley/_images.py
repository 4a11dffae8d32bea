# SPDX-License-Identifier: Apache-2.0
"""Converts every kind of image that callers pass to the library's batches.

    NumPy    read through its own attributes
    torch    likewise, tensors on the CPU and on CUDA; work is queued on torch's current stream
    PIL      L, LA, RGB and RGBA images, I;16 as uint16, F as float32; before a stage `to_rgb` those of other modes
             as RGB
    others   CuPy, JAX and whatever has __dlpack__: on CUDA in the stream that the library names, else as NumPy's; what
             comes back is made by its own from_dlpack

Layouts. An array's axes are named by `layout`: "chw", "hwc" or "hw" (grey, no axis of channels); one axis more in
front is the batch's. By default, torch tensors are chw (as in torchvision, in any memory format), all other arrays
hwc, and arrays with two axes hw. Nothing is guessed from sizes: an axis of channels with too many entries is an error
that names the layout, and where the layout is not said, one that is longer than a side."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import _native
from ._arrays import DTYPE_NAMES, DTYPES, KINDS, WIDE, Foreign, NumPy, Pillow, Torch, address, as_known, blank, cast_for
from ._arrays import ON_CUDA as ON_CUDA, dense, is_jax, like_foreign as like_foreign
from ._core import ffi, lib
from ._native import LAYOUTS, ArgumentError, OutOfMemoryError, UnsupportedError, checked

cast, NULL = ffi.cast, ffi.NULL
VOID = ffi.typeof("void *")

# layout, number of axes -> the axes of batch, channel, height, width
AXES = {
    ("chw", 3): (None, 0, 1, 2),
    ("chw", 4): (0, 1, 2, 3),
    ("hwc", 3): (None, 2, 0, 1),
    ("hwc", 4): (0, 3, 1, 2),
    ("hw", 2): (None, None, 0, 1),
    ("hw", 3): (0, None, 1, 2),
}
HELD = 4  # calls of other libraries' arrays
DEFAULT_STREAMS = 2  # 0 to 2 are CUDA's own, which live as long as the device
FOLLOWERS = "Mask", "BoundingBoxes", "KeyPoints"  # of torchvision.tv_tensors


def axes_of(shape: Sequence[int], layout: str | None, default: str) -> tuple[str, Any]:
    """layout, axes of an array of that shape; `layout` None: the default of its kind."""
    chosen = LAYOUTS.get(layout, layout) or ("hw" if len(shape) == 2 else default)
    axes = AXES.get((chosen, len(shape)))
    if axes is None:
        if chosen not in ("chw", "hwc", "hw"):
            raise ArgumentError(f"layout is {chosen!r}, want 'chw', 'hwc' or 'hw'")
        raise ArgumentError(
            f"the array has shape {tuple(shape)}; with layout '{chosen}' want {len(chosen)} axes, or one "
            "more in front for a batch"
        )
    found, side = (1, 1) if axes[1] is None else (shape[axes[1]], min(shape[axis] for axis in axes[2:]))
    most = lib.MOTLEY_MAX_BANDS
    if not 1 <= found <= most or (layout is None and found > max(side, 4)):
        other = "hwc" if chosen == "chw" else "chw"
        wanted = f"want 1 to {most}" if not 1 <= found <= most else f"say layout='{chosen}' if that is so"
        raise ArgumentError(
            f"the array has shape {tuple(shape)}, which in layout '{chosen}' is {found} channels, {wanted}; is it "
            f"layout='{other}'?"
        )
    return chosen, axes


@functools.lru_cache(maxsize=None)  # of the classes that pass
def refuse_followers(cls: type) -> None:
    """Masks, boxes and keypoints are no pictures: augmented as one, a mask holds classes that do not exist."""
    tv_tensors = sys.modules.get("torchvision.tv_tensors")
    for name in FOLLOWERS:
        kind = getattr(tv_tensors, name, None)
        if kind is not None and issubclass(cls, kind):
            raise ArgumentError(
                f"the images are tv_tensors.{name}, which is no picture: want the image that it belongs to. Both go "
                "into one sample, for motley.Follow or the transforms of motley.torchvision"
            )
    if any(base.__module__.startswith("numpy.ma") and base.__name__ == "MaskedArray" for base in cls.__mro__):
        raise ArgumentError(
            "the images are a numpy.ma.MaskedArray, whose mask would be lost: want its .data or .filled()"
        )


# ---- batches ----


class Batch:
    """One array: a batch, or a single image."""

    make: Any  # of a new one, what makes further ones
    buffer: Any = None  # of a PIL image whose memory cannot be reached
    foreign = False  # whether another library's array, `given`, is read as `array`

    def __init__(self, kind: Any, array: Any, layout: str | None) -> None:
        self.kind, self.array, self.given = kind, array, array
        self.shape, self.strides, self.unit, self.dtype, self.device = kind.look(array)
        self.pointer = kind.pointer(array)
        self._take(layout)

    def _take(self, layout: str | None) -> None:
        self.wide = "hwc" if self.foreign else self.kind.layout  # the layout of several channels
        self.layout, self.axes = axes_of(self.shape, layout, self.wide)
        self.single = self.axes[0] is None
        self.count = 1 if self.single else self.shape[self.axes[0]]
        self.lead = () if self.single else (self.count,)  # the axis of images, if there is one
        self.channels = 1 if self.axes[1] is None else self.shape[self.axes[1]]
        self.alpha = self.kind is Pillow  # whether the last of 2 or 4 channels is alpha
        self.size = self.shape[self.axes[2]], self.shape[self.axes[3]]  # (height, width)

    def sizes(self) -> list[tuple[int, int]]:
        return [self.size[::-1]] * self.count

    def take_alpha(self, any_channels: bool) -> None:
        """The caller says that the last of 2 or 4 channels is alpha. any_channels: images may have another number."""
        if self.count and self.channels not in (2, 4) and not any_channels:
            raise ArgumentError(f"alpha is True, but the images have {self.channels} channels: want 2 or 4")
        self.alpha = True

    @property
    def has_bands(self) -> bool:
        """Whether the channels are neither grey nor RGB, with or without alpha."""
        return self.channels not in (1, 3) and not self.alpha

    def describe(self, batch: Any) -> None:
        """Fills a motley_batch."""
        if self.dtype < 0:
            raise ArgumentError(f"the array's dtype is {self.array.dtype}, want {', '.join(DTYPES)}")
        (n, c, h, w), strides, unit = self.axes, self.strides, self.unit
        if 0 in self.size:
            raise ArgumentError(
                f"the images have shape {tuple(self.shape)}, {self.size[0]} high and {self.size[1]} wide: want pixels"
            )
        batch.data, batch.images = cast(VOID, self.pointer), NULL
        batch.count, batch.channels, batch.dtype = self.count, self.channels, self.dtype
        batch.alpha = self.alpha and self.channels in (2, 4)
        batch.height, batch.width = self.size
        batch.image_stride = 0 if n is None else strides[n] * unit
        batch.row_stride, batch.pixel_stride = strides[h] * unit, strides[w] * unit
        batch.channel_stride = DTYPES[DTYPE_NAMES[self.dtype]][1] if c is None else strides[c] * unit

    def require_dtype(self) -> None:
        """Images are uint8, uint16 or float32; only the last step writes anything else."""
        if self.dtype != lib.MOTLEY_U8 and self.dtype not in WIDE:
            dtype = self.array.dtype
            raise ArgumentError(f"the images' dtype is {dtype}, want uint8, uint16 or float32: {cast_for(dtype)}")

    def require_writable(self) -> None:
        if not self.kind.writable(self.array):
            raise ArgumentError(f"the {self.kind.name} to write to is read-only")

    def output(self, dtype: str | None = None, layout: str | None = None) -> Batch:
        """A new batch to write to: of the same shape and dtype, or of the fused last step's dtype and layout."""
        make = self.kind.like(self.array, dtype)  # which refuses what this kind cannot hold
        if layout is not None:
            return new_batch(self, self.size, self.lead, dtype, layout)
        made: Batch = images_of(make(self.array), self.layout)
        made.make = make
        return made

    def result(self, source: Any) -> Any:
        """What the caller gets."""
        finish = source.finish_for()
        return self.array if finish is None else finish(self.array, source.given)

    def finish_for(self) -> Any:
        return self.kind.finish_for(type(self.array))


class Picture(Batch):
    """One PIL image, in its own memory or, when that cannot be reached, in a buffer with its bytes."""

    def __init__(self, image: Any, layout: str | None = None, to_rgb: bool = False) -> None:
        self.kind, self.given, self.to_rgb = Pillow, image, to_rgb
        self.array = image = Pillow.as_known(image) if to_rgb else image
        channels = Pillow.channels(image)
        self.pointer = Pillow.pointer(image)
        if self.pointer is not None:
            self.shape, self.strides, self.unit, self.dtype, self.device = Pillow.look(image)
        else:
            self.buffer = bytearray(image.tobytes())
            self.pointer = address(ffi.from_buffer(self.buffer))
            width, height = image.size
            self.shape, self.strides = (height, width, channels), (width * channels, channels, 1)
            self.dtype, self.unit = DTYPES[Pillow.wide.get(image.mode, "uint8")]
            self.device = None
        self._take("hwc")

    def require_writable(self) -> None:
        raise ArgumentError("a PIL image cannot be written in place, and is no `out`: take what the call returns")

    def result(self, source: Any) -> Any:
        if self.buffer is not None:
            self.array.frombytes(bytes(self.buffer))
        return self.array


class DLPack(Batch):
    """An array of another library than torch and NumPy, read by its __dlpack__. What is written becomes an array of its
    library by from_dlpack, or is written to the same memory."""

    foreign = True

    def __init__(self, array: Any, layout: str | None) -> None:
        view = as_known("the images are", array)
        super().__init__(KINDS[type(view)], view, layout)
        self.given = array

    def require_writable(self) -> None:
        if is_jax(type(self.given)):
            raise ArgumentError("JAX arrays never change: take what the call returns")
        super().require_writable()

    def finish_for(self) -> Any:
        return like_foreign


def stream_of(source: Any) -> Any:
    """The current stream of the images' device, as the library takes it."""
    return NULL if source.device is None or not source.count else cast(VOID, source.kind.stream_of(source.array)())


def hold_until_done(call: Any, *batches: Any) -> None:
    """Keeps arrays of other libraries alive until the device is done: theirs could give their memory to someone else.
    No library is asked when that is; every few calls this waits, and at once for a stream of the caller's, which may be
    gone by then."""
    if any(batch.foreign and batch.device is not None and batch.count for batch in batches):
        held, stream = _native.local.held, call.stream()
        held.append((call, stream))
        if len(held) == HELD or stream > DEFAULT_STREAMS:
            for one, queued in held:
                checked(lib.motley_context_wait, one.context.handle, cast(VOID, queued))
            held.clear()


class Captured(list[Any]):
    """What CUDA graphs read and write that captured a transform's calls: each replay does so, and torch gives memory
    that nobody holds back to the device when another graph is captured. The transforms that one makes of itself for a
    view or an epoch share it; copies of a transform begin with none."""

    def keep(self, caller: tuple[str, int | None], *held: Any) -> None:
        """Keeps these if a CUDA graph captures the call. caller: the library of its images, and their CUDA device."""
        library, device = caller
        if device is not None and library == "torch" and Torch.captures(device):
            self.append(held)

    def __deepcopy__(self, memo: Any) -> Captured:
        return Captured()

    def __reduce__(self) -> Any:
        return Captured, ()


# ---- lists ----


class Many:
    """A list of images of one kind, but perhaps of many sizes. C describes those that are alike but for their sizes and
    whose pixels it can find, as `table`; the others are looked at one by one."""

    single = False
    size = 1, 1  # of the images of an empty list
    table: Any  # motley_image[]
    pointers: Any
    by: Any = None  # how C has found them
    _channels: Any
    first: Any  # its Batch, Picture or DLPack; None: the list is empty
    kind: Any
    array: Any
    device: Any

    def __init__(
        self, images: Any, layout: str | None, cls: Any = None, parts: Any = None, described: Any = None,
        to_rgb: bool = False,
    ) -> None:  # fmt: skip
        """described: table, pointers and channels, where they are known; to_rgb: images of several numbers of channels
        or modes are taken, and described as RGB."""
        self.given, self.layout, self.cls, self.count = images, layout, cls or type(images), len(images)
        self.read_only, self.to_rgb = False, to_rgb
        self.table, self.pointers, self._channels = described or (None, None, None)
        self._parts = parts
        self.first = first = parts[0] if parts else images_of(images[0], layout, to_rgb) if images else None
        self.kind, self.array, self.device = (getattr(first, name, None) for name in ("kind", "array", "device"))
        self.dtype, self.lead = getattr(first, "dtype", lib.MOTLEY_U8), (self.count,)
        self.alpha = self.kind is Pillow  # as a Batch's
        self.foreign = first is not None and first.foreign
        if parts is described is None and not self._found():
            self._parts = self._looked_at()

    def _found(self) -> bool:
        """Whether C has described the images."""
        if not self.count or type(self.first) not in (Batch, Picture) or not self.first.single:
            return False
        by = self.kind.found_by(type(self.given[0]))
        if by is None:
            return False
        by.channel, by.row, by.column = (-1 if axis is None else axis for axis in self.first.axes[1:])
        found = described_list(self.given, by)
        if found is None:
            return False
        self.table, self.pointers, has = found
        self._channels, self.read_only, self.by = has.channels, has.read_only, by
        return True

    def _looked_at(self) -> list[Any]:
        rest = self.given[1:]
        parts = [self.first, *(images_of(image, self.layout, self.to_rgb) for image in rest)] if self.count else []
        for i, part in enumerate(parts):
            if isinstance(part, Many) or not part.single:
                raise ArgumentError(f"image {i} of the list is itself a batch, want single images")
            if part.kind is not self.kind:
                raise ArgumentError(
                    f"image {i} of the list is a {part.kind.name}, image 0 a {self.kind.name}: want one kind"
                )
            if part.device != self.device:
                raise ArgumentError(
                    f"image {i} of the list is on device {part.device}, image 0 on {self.device}: want one"
                )
            part.require_dtype()
            if part.dtype != self.dtype:
                one, other = DTYPE_NAMES[part.dtype], DTYPE_NAMES[self.dtype]
                raise ArgumentError(
                    f"image {i} of the list is {one}, image 0 {other}: want one dtype, PIL images by convert() or by "
                    "stages that begin with 'to_rgb: {}'"
                )
        return parts

    @property
    def parts(self) -> list[Any]:
        """Of each image its Batch, Picture or DLPack."""
        if self._parts is None:
            self._parts = self._looked_at()
        parts: list[Any] = self._parts
        return parts

    @property
    def pointer(self) -> Any:
        """Of a list, the address of its images' addresses."""
        if self.pointers is None:
            self.pointers = ffi.new("uintptr_t[]", [part.pointer for part in self.parts])
        return address(self.pointers)

    @property
    def channels(self) -> Any:
        if self.first is None:
            return 1
        if self._channels is None:
            first = self.first.channels
            i, other = next(((i, p.channels) for i, p in enumerate(self.parts) if p.channels != first), (0, first))
            if i and not self.to_rgb:
                raise ArgumentError(
                    f"image {i} of the list has {other} channels, image 0 has {first}: want one number of channels, or "
                    "a transform that begins with 'to_rgb: {}'; .convert(\"RGB\") makes PIL images alike"
                )
            if i and not self.alpha:
                bands = next(((i, p.channels) for i, p in enumerate(self.parts) if p.channels not in (1, 3)), None)
                if bands is not None:
                    raise ArgumentError(
                        f"image {bands[0]} of the list has {bands[1]} bands, which are no RGB, and others have another "
                        "number of channels: want alpha=True if the last of them is alpha"
                    )
            self._channels = 3 if i else first
        return self._channels

    def take_alpha(self, any_channels: bool) -> None:
        """As a Batch's; of images with several numbers of channels, those with 2 or 4 have it."""
        alike = {self._channels} if self._channels is not None else {part.channels for part in self.parts}
        if not alike.issubset((2, 4)) and not (any_channels or alike & {2, 4}):
            found = " or ".join(map(str, sorted(alike)))
            raise ArgumentError(f"alpha is True, but the images have {found} channels: want 2 or 4")
        self.alpha = True

    @property
    def has_bands(self) -> bool:
        return self.channels not in (1, 3) and not self.alpha

    def sizes(self) -> list[tuple[int, int]]:
        if self.table is None:
            return [part.sizes()[0] for part in self.parts]
        return sizes_in(self.table)

    def require_dtype(self) -> None:
        self.first.require_dtype()

    def describe(self, batch: Any) -> None:
        if self.table is None:
            table, least = ffi.new("motley_image[]", self.count), min(self.channels, 3)
            for image, part in zip(table, self.parts):
                part.describe(batch)
                image.data, image.width, image.height = batch.data, batch.width, batch.height
                image.row_stride, image.pixel_stride = batch.row_stride, batch.pixel_stride
                image.channel_stride = batch.channel_stride if part.channels >= least else 0  # grey among RGB
            self.table = table
        batch.count, batch.channels, batch.images = self.count, self.channels, self.table
        batch.alpha = self.alpha and self.channels in (2, 4)
        batch.dtype = self.dtype

    def require_writable(self) -> None:
        for part in self.parts if self._parts is not None or self.read_only else ():
            part.require_writable()

    def output(self, dtype: str | None = None, layout: str | None = None) -> Many:
        if dtype is not None:
            raise UnsupportedError("a list of images cannot be normalised or cast: the output is one array of one size")
        if self._parts is not None:
            return self.made_of([part.output() for part in self.parts])
        if self.kind is Torch and self.device is not None:
            return self._together()
        return Many([self.kind.like(x, None)(x) for x in self.given], self.layout, self.cls)

    def made_of(self, parts: list[Any]) -> Many:
        """Another list, of these Batches."""
        return list_of(parts, self.cls)

    def _together(self) -> Many:
        """New tensors like those of the list, as views of one allocation: that of a device takes longer than a view."""
        torch, c, count = sys.modules["torch"], self.channels, self.count
        planes = self.table[0].pixel_stride == 1 and (c > 1 or self.first.axes[1] == 0)
        table, pointers = ffi.new("motley_image[]", count), ffi.new("uintptr_t[]", count)
        size = lib.lay_out(self.table, count, c, planes, table, pointers)
        flat = torch.empty(size, dtype=torch.uint8, device=self.array.device)
        make, made = Torch.maker_of_views(), [None] * count
        order = [self.first.axes[1:].index(axis) for axis in range(len(self.first.shape))]
        if not lib.make_views(id(made), id(make), id(flat), table, pointers, count, c, order, len(order)):
            raise OutOfMemoryError("there is no memory for the list of results")
        lib.lay_at(flat.data_ptr(), count, table, pointers)
        return Many(made, self.layout, self.cls, described=(table, pointers, c))

    def result(self, source: Any) -> Any:
        if self._parts is None:
            finish = source.finish_for()
            made = self.given if finish is None else list(map(finish, self.given, source.given))
        else:
            sources = source.parts if isinstance(source, Many) else [source] * len(self.parts)
            made = [part.result(from_) for part, from_ in zip(self.parts, sources)]
        return tuple(made) if self.cls is tuple else made

    def finish_for(self) -> Any:
        return None if self.first is None else self.first.finish_for()


def described_list(given: Any, by: Any) -> Any:
    """What C finds of a list of images by an images_found_by: motley_image[], uintptr_t[], images_have. None: some
    image is not like the others, or cannot be reached."""
    given, count = given if type(given) is list else list(given), len(given)
    table, pointers, has = ffi.new("motley_image[]", count), ffi.new("uintptr_t[]", count), ffi.new("images_have *")
    return (table, pointers, has) if lib.describe_list(id(given), count, by, table, pointers, has) else None


def sizes_in(table: Any) -> list[tuple[int, int]]:
    """(width, height) of each image of a motley_image[]."""
    numbers = memoryview(ffi.buffer(table)).cast("B").cast("i")  # two of the address, width, height, ...
    each = ffi.sizeof("motley_image") // numbers.itemsize
    return list(zip(numbers[2::each].tolist(), numbers[3::each].tolist()))


def list_of(parts: list[Any], cls: type = list) -> Many:
    """The list of these Batches."""
    return Many([part.array for part in parts], None, cls, parts)


# ---- what is written ----


def as_seen(layout: str | None) -> str | None:
    """The layout in which the library sees an array."""
    return "chw" if layout == "channels_last" else layout


def shape_in(layout: str | None, lead: Any, channels: int, size: Any) -> tuple[int, ...]:
    return (*lead, *{"hw": size, "hwc": (*size, channels)}.get(layout or "chw", (channels, *size)))


def new_array(like: Any, kind: Any, lead: Any, channels: int, size: Any, dtype: Any, layout: str | None) -> Any:
    """An array of the library of `like` for images of `size`, (height, width). "channels_last" is chw to look at, with
    hwc in memory."""
    if layout != "channels_last":
        return kind.new(like, shape_in(layout, lead, channels, size), dtype)
    first = len(lead)
    axes = *range(first), first + 2, first, first + 1
    return kind.transposed(kind.new(like, shape_in("hwc", lead, channels, size), dtype), axes)


def new_batch(
    like: Batch, size: Any, lead: Any, dtype: Any, layout: str | None, picture: bool = False, channels: int = 0
) -> Batch:
    """A new Batch of the library of `like`; picture: a PIL image if that is one; channels: 0 is that of `like`."""
    channels = channels or like.channels
    make: Any
    if picture and like.kind is Pillow:
        mode = like.array.mode if channels == like.channels else "RGB"
        make = functools.partial(blank, height=size[0], width=size[1], mode=mode)
        made: Batch = Picture(make(like.array))
    else:
        kind, array = (like.kind, like.array) if like.kind is not Pillow else (NumPy, None)
        if kind is NumPy:
            import numpy  # noqa: F401, as it is looked up among what is imported
        if layout == "hw" and channels > 1:
            layout = like.wide
        how = {"kind": kind, "lead": lead, "channels": channels, "size": size, "dtype": dtype, "layout": layout}
        make = functools.partial(new_array, **how)
        made = Batch(kind, make(array), as_seen(layout))
    made.make = make
    return made


def given_target(out: Any, source: Any, layout: str | None, dtype: str, shape: Any = None) -> Any:
    """The Batch of a caller's `out`."""
    if shape is not None and tuple(getattr(out, "shape", ())) != shape:
        found = f"has shape {tuple(out.shape)}" if hasattr(out, "shape") else f"is a {type(out).__name__}"
        raise ArgumentError(f"out {found}, want an array of shape {shape}")
    target = images_of(out, as_seen(layout))
    target.require_writable()
    if target.device != source.device:
        one, other = ("the CPU" if on is None else f"CUDA device {on}" for on in (target.device, source.device))
        raise ArgumentError(f"out is on {one}, the images on {other}: want one")
    if target.dtype != DTYPES[dtype][0]:
        raise ArgumentError(f"out is {getattr(out, 'dtype', type(out).__name__)}, want {dtype}, which is written")
    return target


def target_of(
    source: Any, sizes: Any, out: Any, dtype: str, layout: str | None, picture: bool, stacked: bool, channels: int = 0,
    times: int = 1, own: bool = False,
) -> Any:  # fmt: skip
    """What images are written to that come out in these sizes, [(height, width)]: `out`, or new ones.

    layout: None is the images' own; picture: PIL images become PIL images; stacked: a list becomes one array where all
    of it comes out in one size; channels: 0 is the images' own; times: how often each image comes out, all of them
    behind all of them; own: images have sizes of their own, so that a batch becomes a list."""
    many = isinstance(source, Many)
    if many and not source.count:
        return source.made_of([])
    first = source.first if many else source
    one, pictures = len(set(sizes)) == 1, picture and first.kind is Pillow
    lead = source.lead if times == 1 else (times * source.count,)
    if out is not None:
        if not one:
            raise ArgumentError(f"out is given, but the images come out in {len(set(sizes))} sizes, want one")
        layout = layout or first.layout
        if layout == "hw" and channels:
            layout = first.wide
        shape = shape_in(layout, lead, channels or first.channels, sizes[0])
        return given_target(out, source, layout, dtype, shape)
    if not (own and not source.single) and (
        (not many and (times == 1 or not pictures)) or (stacked and one and not pictures)
    ):
        channels = channels or source.channels  # which raises, and says which image has another number
        return new_batch(first, sizes[0], lead, dtype, layout or first.layout, pictures, channels)
    return list_of(
        [
            new_batch(part, size, (), dtype, layout or part.layout, pictures, channels)
            for _ in range(times)
            for part, size in zip(source.parts if many else [source] * source.count, sizes)
        ],
        source.cls if many else list,
    )


# ---- which is which ----


def images_of(images: Any, layout: str | None, to_rgb: bool = False) -> Any:
    """The Batch (Picture, DLPack, Many) of what a caller handed over. to_rgb: it becomes RGB, whatever it is."""
    cls: Any = type(images)
    make = _maker_of(cls)
    return make(images, layout, to_rgb=True) if to_rgb and make in (Picture, Many) else make(images, layout)


def source_of(images: Any, layout: str | None, out: Any = None, to_rgb: bool = False) -> Any:
    """images_of, for images to read; in place, if they are also `out`. Those that were expanded are copied, because the
    library takes no images whose pixels share memory."""
    made = images_of(images, layout, to_rgb)
    many = isinstance(made, Many)
    parts = [made] if not many else made.parts if made.table is None else [made.first]  # all of one class
    classes: set[Any] = {type(part.given) for part in parts}
    for cls in classes:
        refuse_followers(cls)
    if out is images or (many and made.table is not None):  # C describes no images that are expanded
        return made
    copies = [dense(part.given) for part in parts]
    if all(copy is part.given for copy, part in zip(copies, parts)):
        return made
    return Many(copies, layout, made.cls, to_rgb=to_rgb) if many else images_of(copies[0], made.layout)


def own_dtype(source: Any) -> str:
    """The name of the images' dtype."""
    return DTYPE_NAMES.get(source.dtype, "uint8")  # of another one nothing is made


def library_of(batch: Any) -> str:
    """The library whose arrays a custom operation is given."""
    if batch.kind is Foreign:
        return type(batch.array.array).__module__.partition(".")[0]
    return "torch" if batch.kind is Torch else "numpy"


@functools.lru_cache(maxsize=None)
def _maker_of(cls: type) -> Callable[[Any, str | None], Any]:
    kind = KINDS[cls]
    if kind is Pillow:
        return Picture
    if kind:
        return functools.partial(Batch, kind)
    if issubclass(cls, (list, tuple)):
        return Many
    if hasattr(cls, "__dlpack__"):
        return DLPack
    decoded = "decoded images: " if issubclass(cls, (bytes, bytearray, str, os.PathLike, dict)) else ""
    raise ArgumentError(
        f"images are a {cls.__module__}.{cls.__qualname__}, want {decoded}a torch, NumPy, CuPy, JAX or other DLPack "
        "array, a PIL image, or a list of these"
    )
