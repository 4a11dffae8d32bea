# SPDX-License-Identifier: Apache-2.0
"""The kinds of arrays that are read through their own attributes, torch's, NumPy's and Pillow's, and by DLPack those of
all other libraries, such as CuPy, JAX and TensorFlow.

None of them is imported here: a caller who passes such an array has already imported its library."""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import sys
from typing import Any

from ._core import ffi, lib
from ._native import ArgumentError, UnsupportedError, text_of

address, from_buffer = lib.address, ffi.from_buffer

# dtype name -> the library's number, bytes of a sample
DTYPES = {
    text_of(lib.motley_dtype_name(number)): (number, size)
    for number, size in enumerate((1, 4, 2, 2, 2))  # U8, F32, F16, BF16, U16
}
DTYPE_NAMES = {number: name for name, (number, _) in DTYPES.items()}
WIDE = lib.MOTLEY_U16, lib.MOTLEY_F32  # of images that have a range, and up to MOTLEY_MAX_BANDS bands
ON_CUDA = 2, 13  # DLPack's device types: memory of a CUDA device, managed memory
SHORT = {"u8": "uint8", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}  # as files write them

# Classes of what has a shape and a dtype alone, and what makes them.
STAND_INS = {
    ("torch", "FakeTensor"): "torch's FakeTensorMode or torch.export",
    ("jax", "Tracer"): "jax.jit, vmap or grad",
}


def dtype_name(dtype: Any) -> str:
    """ "float32" of torch.float32, numpy.float32, numpy.dtype("float32") or "float32"."""
    name = (getattr(dtype, "__name__", None) or str(dtype)).split(".")[-1]
    name = SHORT.get(name, name)
    if name not in DTYPES or name == "uint16":
        raise ArgumentError(f"dtype is {dtype!r}, want uint8, float32, float16, bfloat16")
    return name


class Kinds(dict[type, Any]):
    """Class of arrays -> Torch, NumPy, Pillow, or None for any other class; filled as classes are met."""

    def __missing__(self, cls: type) -> Any:
        roots = [(base.__module__.split(".")[0], base.__name__) for base in cls.__mro__]
        where = next((STAND_INS[root] for root in roots if root in STAND_INS), None)
        if where is not None:
            raise ArgumentError(
                f"a {cls.__name__} stands for an array in {where}, and has no numbers yet: want this call outside of "
                "it, on arrays"
            )
        kind = self[cls] = next((kind for kind in (Torch, NumPy, Pillow, Foreign) if kind.base in roots), None)
        return kind


KINDS = Kinds()
kind_of = KINDS.__getitem__


def device_of(x: Any) -> int | None:
    """The CUDA device of an array, or None."""
    kind = KINDS[type(x)]
    if kind is None and hasattr(x, "__dlpack_device__"):
        where, number = map(int, x.__dlpack_device__())
        return number if where in ON_CUDA else None
    return kind.device(x) if kind else None


@functools.lru_cache(maxsize=None)
def name_of(dtype: Any) -> str:
    """ "int64" of torch.int64 or numpy.dtype("int64"); another byte order has another name."""
    return str(dtype).split(".")[-1]


def dense(x: Any) -> Any:
    """`x`, copied if it was expanded, so that pixels share memory: the library reads no such arrays."""
    strides = x.stride() if hasattr(x, "stride") else getattr(x, "strides", None)
    if not strides or not any(n > 1 and step == 0 for n, step in zip(x.shape, strides)):
        return x
    return x.contiguous() if hasattr(x, "contiguous") else x.copy("C")


def plain(x: Any) -> Any:
    """A tensor of a subclass, such as torchvision's tv_tensors, as torch's own; anything else as it is."""
    if KINDS[type(x)] is Torch and type(x) is not sys.modules["torch"].Tensor:
        return x.as_subclass(sys.modules["torch"].Tensor)
    return x


def finished(made: Any, like: Any) -> Any:
    """A result with the type of the array that it was made of: one of torchvision's tv_tensors, another library's."""
    kind = KINDS[type(like)]
    finish = like_foreign if kind is None else kind.finish_for(type(like))
    return made if finish is None else finish(made, like)


def taken(x: Any, places: list[int]) -> Any:
    """The entries of an array at these places."""
    if KINDS[type(x)] is not None:
        return x[places]
    import numpy

    index = numpy.array(places, int)  # JAX's arrays take no list, and CuPy's only their own
    return x[x.__array_namespace__().asarray(index) if hasattr(x, "__array_namespace__") else index]


def cast_for(dtype: Any) -> str:
    """What makes images of a dtype that is not taken, in the words of an error."""
    name = name_of(dtype)
    if name.startswith("bool"):
        return "cast them to uint8 times 255; a mask goes beside its image, into motley.Follow"
    if name.startswith("complex"):
        return "take their magnitude, or both parts as two bands of float32"
    if name == "int16":
        return "add 32768 and cast them to uint16, or cast them to float32 and say range="
    return "cast them to float32, and say range= where they are not in 0..1"


def has_floats(x: Any) -> bool:
    return bool(x.is_floating_point() if KINDS[type(x)] is Torch else x.dtype.kind == "f")


def as_dtype(x: Any, name: str) -> Any:
    """An array in the dtype of that name; of the same as it is."""
    return x.to(getattr(sys.modules["torch"], name)) if KINDS[type(x)] is Torch else x.astype(name, copy=False)


# ---- arrays of other libraries ----


def as_known(what: str, array: Any) -> Any:
    """An array that has __dlpack__ as one that has a kind, of the same memory: on CUDA an OnCuda, or torch's where the
    array's library has no from_dlpack; else NumPy's. what: who it is, for errors."""
    on_cuda, library = int(array.__dlpack_device__()[0]) in ON_CUDA, _library_of(array)
    try:
        if on_cuda and library is not None:
            return OnCuda(array, library)
        return importlib.import_module("torch" if on_cuda else "numpy").from_dlpack(array)
    except ImportError:
        raise UnsupportedError(
            f"{what} a {type(array).__name__}, whose library has no from_dlpack, so that torch has to read it on CUDA "
            "and NumPy in host memory: want it installed"
        ) from None
    except Exception as error:  # of a dtype that NumPy does not know, such as bfloat16, or of what made the array
        view = None if on_cuda else importlib.import_module("numpy").asarray(array).view()
        if view is None or view.dtype == object:
            raise ArgumentError(
                f"{what} a {type(array).__name__}, of which __dlpack__ gives no array: {type(error).__name__}: {error}"
            ) from error
        view.flags.writeable = False
        return view


def as_numbers(what: str, array: Any) -> Any:
    """The same to compute with: in host memory, as NumPy's, what is no array of torch's."""
    known = as_known(what, array)
    if KINDS[type(known)] is not Foreign:
        return known
    on_host = array.get() if hasattr(array, "get") else array  # CuPy's want to be asked
    return importlib.import_module("numpy").asarray(on_host)


def pointer_of(x: Any) -> Any:
    kind = KINDS[type(x)]
    return kind.pointer(x) if kind else pointer_of(as_known("the array is", x))


def like_foreign(out: Any, source: Any) -> Any:
    """An array of this package's kinds as one of the library of `source`."""
    library = _library_of(source)
    if KINDS[type(out)] is NumPy and hasattr(library, "asarray"):
        with device_for(source):
            return library.asarray(out)
    return library.from_dlpack(out) if library else out


def _library_of(array: Any) -> Any:
    """The module that makes arrays like one of another library; None: it reads no DLPack."""
    space = getattr(array, "__array_namespace__", None)
    root = type(array).__module__.partition(".")[0]
    library = space() if space is not None else sys.modules.get(root)  # of older CuPy's arrays
    return library if hasattr(library, "from_dlpack") else None


def is_jax(cls: type) -> bool:
    return cls.__module__.split(".")[0].startswith("jax")


def device_for(array: Any) -> Any:
    """Where new arrays of the library of `array` come to lie on its device."""
    if is_jax(type(array)):
        return sys.modules["jax"].default_device(next(iter(array.devices())))
    device = getattr(array, "device", None)
    return device if hasattr(device, "__enter__") else contextlib.nullcontext()  # CuPy's is one


class OnCuda:
    """An array on CUDA of another library, as DLPack shows it. The library itself says in which stream: that in which
    its from_dlpack wants to have it. Work on the array is queued there, in order with the library's own."""

    names = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}  # DLPack's numbers of types

    def __init__(self, array: Any, library: Any) -> None:
        self.array, self.library = array, library
        library.from_dlpack(self)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None, **unused: Any) -> Any:
        capsule = self.array.__dlpack__(stream=stream)
        tensor = ffi.cast("dl_tensor *", lib.pointer_in(id(capsule), b"dltensor"))
        self.stream = stream if stream is not None and stream > 1 else 0  # 1 is CUDA's default stream
        self.device, self.item = int(self.array.__dlpack_device__()[1]), tensor.bits // 8
        self.dtype = f"{self.names.get(tensor.code, 'type ')}{tensor.bits}"
        self.address = int(ffi.cast("uintptr_t", tensor.data)) + tensor.byte_offset
        self.shape = tuple(tensor.shape[0 : tensor.axes])
        if tensor.strides:
            self.strides = tuple(tensor.strides[0 : tensor.axes])
        else:
            self.strides = tuple(math.prod(self.shape[axis + 1 :]) for axis in range(tensor.axes))
        return capsule

    def __getitem__(self, places: Any) -> OnCuda:
        return OnCuda(self.array[places], self.library)


# ---- the kinds ----


def unreadable(x: Any) -> ArgumentError:
    """The error for a torch tensor whose memory or strides torch does not give."""
    if x.is_nested or str(x.layout) != "torch.strided":
        return ArgumentError("the images are a sparse or nested tensor, want a dense one")
    return ArgumentError(
        "the tensor has no memory of its own, as in torch.func.vmap: want this call outside of it, on the whole batch, "
        "whose images draw each for itself"
    )


class Kind:
    """What is known of a library's arrays. Every kind has

    look(x)               shape, strides, bytes of a stride's unit, the library's dtype (-1: none), CUDA device or None
    device(x)             the last of these, in a tenth of the time
    pointer(x)            the address of the first component; None: only a copy can be reached (Pillow)
    key(x, writes, *more) what a call on x depends on, but for its pixels; writes: it writes to x
    like(x, dtype)        what makes arrays like x, given one, of that dtype; None: of the same

    and those that are arrays have new(), transposed() and contiguous(), which make further ones; those on devices
    stream_of(x), what gives the stream that work on x is queued in."""

    base: tuple[str, str]
    name: str
    layout = "hwc"  # what the axes are unless the caller says so

    @staticmethod
    def holds(x: Any, count: int, *dtypes: str, device: int | None = None) -> bool:
        """Whether x is `count` dense numbers of one of those dtypes in memory of that CUDA device, or of the host."""
        return False

    @staticmethod
    def device(x: Any) -> int | None:
        return None

    @staticmethod
    def finish_for(cls: type) -> Any:
        """What gives a result the type of the images; None: nothing has to."""
        return None

    @staticmethod
    def writable(x: Any) -> bool:
        return True

    @staticmethod
    def found_by(cls: type) -> Any:
        """How the library's C code finds the pixels of this class in a list: images_found_by (see lists.h), or None."""
        return None


def found_by(cls: type, how: int, **fields: Any) -> Any:
    made = ffi.new("images_found_by *", {"how": how, "type": id(cls), "channel": 2, "row": 0, "column": 1})
    for name, value in fields.items():
        setattr(made, name, value)
    return made


class Torch(Kind):
    base, name, layout = ("torch", "Tensor"), "torch tensor", "chw"
    dtypes: dict[Any, Any] = {}  # torch's dtype -> DTYPES' entry

    @staticmethod
    def pointer(x: Any) -> Any:
        try:
            return x.data_ptr()
        except RuntimeError:
            raise unreadable(x) from None

    @staticmethod
    def key(x: Any, writes: bool, *more: Any) -> Any:
        return type(x), x.shape, x.stride(), x.dtype, x.device, writes, more

    @staticmethod
    def holds(x: Any, count: int, *dtypes: str, device: int | None = None) -> bool:
        there = x.is_cpu if device is None else x.get_device() == device
        return bool(there and name_of(x.dtype) in dtypes and x.numel() == count and x.is_contiguous())

    @staticmethod
    def device(x: Any) -> int | None:
        return x.get_device() if x.is_cuda else None

    @classmethod
    def look(cls, x: Any) -> Any:
        if x.is_nested or str(x.layout) != "torch.strided":
            raise unreadable(x)
        if sys.modules["torch"].jit.is_tracing():  # where each call comes here, as shapes are tensors
            raise UnsupportedError(
                "torch.jit.trace cannot record augmentation, which is no operation of torch: want a trace of the model "
                "without it, or torch.export or torch.compile with a motley.torch.Transform"
            )
        found = cls.dtypes.get(x.dtype)
        if found is None:
            found = cls.dtypes[x.dtype] = DTYPES.get(str(x.dtype)[len("torch.") :], (-1, 0))
        device = cls.device(x)
        if device is None and x.device.type != "cpu":
            raise ArgumentError(f"the tensor is on '{x.device}', want the CPU or CUDA")
        return x.shape, x.stride(), found[1], found[0], device

    @staticmethod
    def stream_of(x: Any) -> Any:
        return functools.partial(sys.modules["torch"]._C._cuda_getCurrentRawStream, x.get_device())

    @staticmethod
    def captures(device: int) -> bool:
        """Whether a CUDA graph captures what is queued on a device's current stream. CUDA captures no default stream,
        which takes a fifth of the time to find out."""
        core: Any = getattr(sys.modules.get("torch"), "_C", None)  # without CUDA it has no streams
        stream_of = getattr(core, "_cuda_getCurrentRawStream", None)
        return bool(stream_of and stream_of(device) and core._cuda_isCurrentStreamCapturing())

    @staticmethod
    def sampled(x: Any, channels: int | None) -> Any:
        """At most 65,536 values of a tensor on CUDA, evenly spaced, in a tensor in host memory, and a function that
        says whether they have arrived there. `channels`: the axis of which all are taken. Nothing waits."""
        torch = sys.modules["torch"]
        picked = x.detach().as_subclass(torch.Tensor)
        while picked.numel() > 65536:
            axis = max((size, axis) for axis, size in enumerate(picked.shape) if axis != channels)[1]
            picked = picked[(slice(None),) * axis + (slice(None, None, 2),)]
        with torch.cuda.device(x.device):
            values, arrived = torch.empty(picked.shape, dtype=x.dtype, pin_memory=True), torch.cuda.Event()
            values.copy_(picked, non_blocking=True)
            arrived.record()
        return values, arrived.query

    @staticmethod
    def maker_of_views() -> Any:
        """torch.as_strided for tensors of bytes, which have no gradients; where torch has it, the function that its
        compiled code calls for it, in a quarter of the time."""
        torch = sys.modules["torch"]
        guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
        return getattr(guards, "_reinterpret_tensor", torch.as_strided)

    @staticmethod
    def like(x: Any, dtype: str | None) -> Any:
        torch = sys.modules["torch"]
        return torch.empty_like if dtype is None else functools.partial(torch.empty_like, dtype=getattr(torch, dtype))

    @staticmethod
    def new(x: Any, shape: Any, dtype: str) -> Any:
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype), device=x.device)

    @staticmethod
    def transposed(x: Any, axes: Any) -> Any:
        return x.permute(axes)

    @staticmethod
    def contiguous(x: Any) -> Any:
        return x.contiguous()

    @staticmethod
    def finish_for(cls: type) -> Any:
        tv_tensors = sys.modules.get("torchvision.tv_tensors")
        if tv_tensors is not None and issubclass(cls, tv_tensors.TVTensor):
            return lambda out, x: tv_tensors.wrap(out.as_subclass(sys.modules["torch"].Tensor), like=x)
        return None

    @staticmethod
    def found_by(cls: type) -> Any:
        capsule = getattr(cls, "__dlpack_c_exchange_api__", None)  # older versions have none
        exchange = 0 if capsule is None else lib.pointer_in(id(capsule), b"dlpack_exchange_api")
        return found_by(cls, lib.FOUND_BY_EXCHANGE, exchange=exchange) if exchange else None


def _numpy_dtype(name: str | None) -> Any:
    if name != "bfloat16":
        return name
    try:
        import ml_dtypes
    except ImportError:
        raise UnsupportedError("NumPy itself has no bfloat16: install ml_dtypes, or take dtype='float16'") from None
    return ml_dtypes.bfloat16


class NumPy(Kind):
    base, name = ("numpy", "ndarray"), "NumPy array"

    @staticmethod
    def key(x: Any, writes: bool, *more: Any) -> Any:
        return type(x), x.shape, x.strides, x.dtype, x.flags.writeable if writes else None, more

    @staticmethod
    def pointer(x: Any) -> Any:
        if x.flags.c_contiguous:
            try:
                return address(from_buffer(x))  # a tenth of what the array's interface takes
            except ValueError:  # of a dtype that buffers do not have, such as bfloat16
                pass
        return x.__array_interface__["data"][0]

    @staticmethod
    def holds(x: Any, count: int, *dtypes: str, device: int | None = None) -> bool:
        return bool(device is None and name_of(x.dtype) in dtypes and x.size == count and x.flags.c_contiguous)

    @staticmethod
    def look(x: Any) -> Any:
        dtype, item = DTYPES.get(x.dtype.name, (-1, 0)) if x.dtype.isnative else (-1, 0)
        return x.shape, x.strides, 1, dtype, None

    @staticmethod
    def like(x: Any, dtype: str | None) -> Any:
        numpy, shape, dtype = sys.modules["numpy"], x.shape, _numpy_dtype(dtype) or x.dtype
        if x.flags.c_contiguous:  # empty takes half of what empty_like does
            return lambda x, empty=numpy.empty: empty(shape, dtype)
        return lambda x: numpy.empty_like(x, dtype, "K", False)  # order, subok

    @staticmethod
    def new(x: Any, shape: Any, dtype: str) -> Any:
        return sys.modules["numpy"].empty(shape, _numpy_dtype(dtype))

    @staticmethod
    def transposed(x: Any, axes: Any) -> Any:
        return x.transpose(axes)

    @staticmethod
    def contiguous(x: Any) -> Any:
        return x.copy("C") if not x.flags.c_contiguous else x

    @staticmethod
    def writable(x: Any) -> bool:
        return bool(x.flags.writeable)

    @staticmethod
    def found_by(cls: type) -> Any:
        return found_by(cls, lib.FOUND_AS_BUFFER)


class Foreign(Kind):
    """Of OnCuda, which is made anew for each call."""

    base, name = ("motley", "OnCuda"), "array"

    @staticmethod
    def pointer(x: Any) -> Any:
        return x.address

    @staticmethod
    def device(x: Any) -> int | None:
        device: int = x.device
        return device

    @staticmethod
    def look(x: Any) -> Any:
        return x.shape, x.strides, x.item, DTYPES.get(x.dtype, (-1, 0))[0], x.device

    @staticmethod
    def stream_of(x: Any) -> Any:
        return lambda: x.stream

    @staticmethod
    def like(x: Any, dtype: str | None) -> Any:
        return lambda x: Foreign.new(x, x.shape, dtype or x.dtype)

    @staticmethod
    def new(x: Any, shape: Any, dtype: str) -> Any:
        with device_for(x.array):
            return OnCuda(x.library.empty(shape, dtype=_numpy_dtype(dtype)), x.library)

    @staticmethod
    def transposed(x: Any, axes: Any) -> Any:
        return OnCuda(x.array.transpose(axes), x.library)


class Pillow(Kind):
    """Images of modes L, RGB and RGBA in their own memory. Pillow keeps L in one byte a pixel, RGB and RGBA in four.
    The address of the pixels comes from its Arrow interface (Pillow 11.2 and later). That works for no image of several
    memory blocks (above 16 MiB), and LA is stored as L, L, L, A: Picture copies such images, and those of I;16
    and F."""

    base, name = ("PIL", "Image"), "PIL image"
    channels_of = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}
    wide = {"I;16": "uint16", "F": "float32"}
    pixel_bytes = {"L": 1, "RGB": 4, "RGBA": 4}
    converted = {"1", "P", "PA", "CMYK", "YCbCr", "LAB", "HSV", "RGBX", "RGBa", "I;16", "I;16L", "I;16B", "I;16N"}
    # Found out when the first image comes: whether this Pillow's pixels are found, and its Image.
    found = False
    image: type | None = None
    only_own = True  # Pillow 11.2 to 12 crash when asked for memory that is an array's or a mapped file's

    @classmethod
    def _choose(cls) -> None:
        module = sys.modules["PIL.Image"]
        cls.only_own, cls.image = int(module.__version__.split(".")[0]) < 13, module.Image
        cls.found = all(map(cls._shows, cls.pixel_bytes))

    @classmethod
    def _shows(cls, mode: str) -> bool:
        """Whether the bytes that Pillow shows are the pixels of a test image."""
        pixel, colour = cls.pixel_bytes[mode], bytes(range(7, 7 + cls.channels_of[mode]))
        core = sys.modules["PIL.Image"].core.fill(mode, (3, 2), tuple(colour) if len(colour) > 1 else colour[0])
        found = lib.picture_pixels(id(core), pixel, 3, 2)
        shown = ffi.buffer(ffi.cast("char *", found), 6 * pixel)[:] if found else bytes(pixel)
        return all(shown[i : i + len(colour)] == colour for i in range(0, len(shown), pixel))

    @classmethod
    def as_known(cls, x: Any) -> Any:
        """An image whose mode the library knows as it is, others as RGB: by Pillow's convert("RGB"). Of the 16 bits of
        I;16 the upper 8 count, as in torchvision's to_dtype(torch.uint8, scale=True); Pillow would cut them at 255."""
        if x.mode not in cls.converted:
            return x
        if x.mode.startswith("I;16"):
            high = x.tobytes()[x.mode != "I;16B" :: 2]
            return sys.modules["PIL.Image"].frombytes("L", x.size, high).convert("RGB")
        return x.convert("RGB")

    @classmethod
    def channels(cls, x: Any) -> int:
        """How many channels an image has that is not converted."""
        if x.mode in cls.wide:
            return 1
        if x.mode not in cls.channels_of:
            how = "begin the policy's stages with 'to_rgb: {}', or " if x.mode in cls.converted else ""
            how += "convert('F') it, and say its range" if x.mode == "I" else "convert() it"
            raise ArgumentError(f"the PIL image has mode {x.mode}, want L, LA, RGB, RGBA, I;16 or F: {how}")
        return cls.channels_of[x.mode]

    @classmethod
    def shows(cls, x: Any) -> bool:
        """Whether an image has its pixels, and Pillow shows where."""
        if x.__class__ is not cls.image:  # the classes of image files read their pixels when they are asked to
            if cls.image is None:
                cls._choose()
            x.load()
        pixel = cls.pixel_bytes.get(x.mode)
        if pixel is None or not cls.found or (cls.only_own and x.readonly):
            return False
        width, height = x.size  # in several blocks only a copy is shown
        return bool(width * height * pixel < sys.modules["PIL.Image"].core.get_block_size())

    @classmethod
    def pointer(cls, x: Any) -> Any:
        if not cls.shows(x):
            return None
        return lib.picture_pixels(id(x.im), cls.pixel_bytes[x.mode], *x.size) or None

    @staticmethod
    def key(x: Any, writes: bool, *more: Any) -> Any:
        return Pillow, x.mode, x.size, writes, more

    @classmethod
    def look(cls, x: Any) -> Any:
        width, height = x.size
        pixel = cls.pixel_bytes[x.mode]
        return (height, width, cls.channels_of[x.mode]), (width * pixel, pixel, 1), 1, lib.MOTLEY_U8, None

    @staticmethod
    def like(x: Any, dtype: str | None) -> Any:
        if dtype is not None:
            raise UnsupportedError(
                "a PIL image holds bytes, and cannot be normalised, cast or laid out: give a NumPy array or tensor"
            )
        return blank

    @staticmethod
    def writable(x: Any) -> bool:
        return False

    @staticmethod
    def found_by(cls: type) -> Any:
        if cls is not Pillow.image or not Pillow.found:
            return None
        blocks = sys.modules["PIL.Image"].core.get_block_size()
        return found_by(cls, lib.FOUND_BY_ARROW, only_own=Pillow.only_own, block_bytes=blocks)


def blank(image: Any, height: int | None = None, width: int | None = None, mode: str | None = None) -> Any:
    """A black image of the same info, and of that size and mode or the same."""
    size = image.size if height is None else (width, height)
    return image._new(sys.modules["PIL.Image"].core.new(mode or image.mode, size))
