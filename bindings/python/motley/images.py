# SPDX-License-Identifier: Apache-2.0
"""Images of every kind that Motley is called with, as the library's batches.

    NumPy, CuPy   read through their own attributes
    torch         likewise, tensors on the CPU and on CUDA; work is queued on torch's current stream
    JAX, others   whatever has __dlpack__; what comes back is made by its own from_dlpack
    PIL           L, LA, RGB and RGBA images

Layouts. An array's axes are named by `layout`: "chw", "hwc" or "hw" (grey, no axis of channels); one axis more in front is
the batch's. Unless told, torch tensors are taken as chw (as torchvision has them, whatever their memory format), all
other arrays as hwc, and arrays of two axes as hw. Nothing is guessed from sizes: an axis of channels with more than
four entries is an error that names the layout.
"""
import ctypes
import functools
import sys

from ._core import ffi, lib
from .errors import ArgumentError, UnsupportedError, check

VOID = ffi.typeof("void *")
cast = ffi.cast
NULL = ffi.NULL

# dtype name -> the library's number, bytes of a sample
DTYPES = {"uint8": (lib.MOTLEY_U8, 1), "float32": (lib.MOTLEY_F32, 4), "float16": (lib.MOTLEY_F16, 2),
          "bfloat16": (lib.MOTLEY_BF16, 2)}

# layout, number of axes -> the axes of batch, channel, height, width
AXES = {("chw", 3): (None, 0, 1, 2), ("chw", 4): (0, 1, 2, 3), ("hwc", 3): (None, 2, 0, 1), ("hwc", 4): (0, 3, 1, 2),
        ("hw", 2): (None, None, 0, 1), ("hw", 3): (0, None, 1, 2)}


def address(pointer):
    return int(cast("uintptr_t", pointer))


def dtype_name(dtype):
    """"float32" of torch.float32, numpy.float32, numpy.dtype("float32") or "float32"."""
    name = (getattr(dtype, "__name__", None) or str(dtype)).split(".")[-1]
    if name not in DTYPES:
        raise ArgumentError(f"dtype is {dtype!r}, want {', '.join(DTYPES)}")
    return name


def axes_of(shape, layout, default):
    """layout, axes of an array of that shape; `layout` None: the default of its kind."""
    chosen = layout or ("hw" if len(shape) == 2 else default)
    axes = AXES.get((chosen, len(shape)))
    if axes is None:
        if chosen not in ("chw", "hwc", "hw"):
            raise ArgumentError(f"layout is {chosen!r}, want 'chw', 'hwc' or 'hw'")
        raise ArgumentError(f"the array has shape {tuple(shape)}; with layout '{chosen}' want {len(chosen)} axes, or one "
                            "more in front for a batch")
    channel = axes[1]
    if channel is not None and not 1 <= shape[channel] <= 4:
        other = "hwc" if chosen == "chw" else "chw"
        raise ArgumentError(f"the array has shape {tuple(shape)}, which in layout '{chosen}' is {shape[channel]} "
                            f"channels, want 1 to 4; is it layout='{other}'?")
    return chosen, axes


# ---- kinds ----


class Torch:
    name, layout = "torch tensor", "chw"
    dtypes = {}  # torch's dtype -> DTYPES' entry

    @staticmethod
    def key(x, layout, flavour, in_place):
        """What a call on x depends on, but for its pixels."""
        return type(x), x.shape, x.stride(), x.dtype, x.device, layout, flavour, in_place

    @staticmethod
    def pointer(x):
        return x.data_ptr()

    @staticmethod
    def holds_ids(x, count):
        """Whether x is `count` dense 64-bit numbers in host memory."""
        return (x.dtype is sys.modules["torch"].int64 and x.shape == (count,) and (count < 2 or x.stride() == (1,))
                and not x.is_cuda)

    @classmethod
    def look(cls, x):
        """shape, strides, bytes of a stride's unit, the library's dtype, CUDA device or None"""
        found = cls.dtypes.get(x.dtype)
        if found is None:
            found = cls.dtypes[x.dtype] = DTYPES.get(str(x.dtype)[len("torch."):], (-1, 0))
        device = x.get_device() if x.is_cuda else None
        if device is None and x.device.type != "cpu":
            raise ArgumentError(f"the tensor is on '{x.device}', want the CPU or CUDA")
        return x.shape, x.stride(), found[1], found[0], device

    @staticmethod
    def stream_of(device):
        """What gives the current stream's handle."""
        return functools.partial(sys.modules["torch"]._C._cuda_getCurrentRawStream, device)

    @staticmethod
    def like(x, dtype=None):
        torch = sys.modules["torch"]
        return torch.empty_like(x) if dtype is None else torch.empty_like(x, dtype=getattr(torch, dtype))

    @staticmethod
    def new(x, shape, dtype):
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype), device=x.device)

    @staticmethod
    def transposed(x, axes):
        return x.permute(axes)

    @staticmethod
    def finish_for(cls):
        """What gives a result the type of the images, torchvision's tv_tensors; None: nothing has to."""
        tv_tensors = sys.modules.get("torchvision.tv_tensors")
        if tv_tensors is not None and issubclass(cls, tv_tensors.TVTensor):
            return lambda out, x: tv_tensors.wrap(out.as_subclass(sys.modules["torch"].Tensor), like=x)
        return None

    @staticmethod
    def writable(x):
        return True


class NumPy:
    name, layout = "NumPy array", "hwc"

    @staticmethod
    def key(x, layout, flavour, in_place):
        return type(x), x.shape, x.strides, x.dtype, x.flags.writeable, layout, flavour, in_place

    @staticmethod
    def pointer(x):
        return x.__array_interface__["data"][0]

    @staticmethod
    def holds_ids(x, count):
        return x.dtype.kind in "iu" and x.dtype.itemsize == 8 and x.dtype.isnative and x.shape == (count,) and (
            count < 2 or x.strides == (8,))

    @staticmethod
    def look(x):
        dtype, item = DTYPES.get(x.dtype.name, (-1, 0)) if x.dtype.isnative else (-1, 0)
        return x.shape, x.strides, 1, dtype, None

    @staticmethod
    def like(x, dtype=None):
        numpy = sys.modules["numpy"]
        return numpy.empty_like(x, dtype=_numpy_dtype(dtype), subok=False)

    @staticmethod
    def new(x, shape, dtype):
        return sys.modules["numpy"].empty(shape, _numpy_dtype(dtype))

    @staticmethod
    def transposed(x, axes):
        return x.transpose(axes)

    @staticmethod
    def finish_for(cls):
        return None

    @staticmethod
    def writable(x):
        return x.flags.writeable


def _numpy_dtype(name):
    if name != "bfloat16":
        return name
    try:
        import ml_dtypes
    except ImportError:
        raise UnsupportedError("NumPy has no bfloat16 of its own: install ml_dtypes, or take dtype='float16'") from None
    return ml_dtypes.bfloat16


class CuPy:
    name, layout = "CuPy array", "hwc"
    transposed, finish_for = NumPy.transposed, NumPy.finish_for

    @staticmethod
    def key(x, layout, flavour, in_place):
        return type(x), x.shape, x.strides, x.dtype, x.data.device_id, layout, flavour, in_place

    @staticmethod
    def pointer(x):
        return x.data.ptr

    @staticmethod
    def holds_ids(x, count):
        return False

    @staticmethod
    def look(x):
        dtype, item = DTYPES.get(x.dtype.name, (-1, 0))
        return x.shape, x.strides, 1, dtype, x.data.device_id

    @staticmethod
    def stream_of(device):
        cuda = sys.modules["cupy"].cuda
        return lambda: cuda.get_current_stream(device).ptr

    @staticmethod
    def like(x, dtype=None):
        with x.device:
            return sys.modules["cupy"].empty_like(x, dtype=_numpy_dtype(dtype))

    @staticmethod
    def new(x, shape, dtype):
        with x.device:
            return sys.modules["cupy"].empty(shape, _numpy_dtype(dtype))

    @staticmethod
    def writable(x):
        return True


# ---- batches ----


class Batch:
    """One array: a batch, or a single image."""
    __slots__ = ("kind", "array", "pointer", "shape", "strides", "unit", "dtype", "device", "layout", "axes", "count", "make")

    def __init__(self, kind, array, layout):
        self.kind, self.array = kind, array
        self.shape, self.strides, self.unit, self.dtype, self.device = kind.look(array)
        self.pointer = kind.pointer(array)
        self.layout, self.axes = axes_of(self.shape, layout, kind.layout)
        self.count = 1 if self.axes[0] is None else self.shape[self.axes[0]]

    @property
    def single(self):
        return self.axes[0] is None

    @property
    def channels(self):
        return 1 if self.axes[1] is None else self.shape[self.axes[1]]

    def sizes(self):
        return [(self.shape[self.axes[3]], self.shape[self.axes[2]])] * self.count

    def describe(self, batch):
        """Fills a motley_batch."""
        if self.dtype < 0:
            raise ArgumentError(f"the array's dtype is {self.array.dtype}, want {', '.join(DTYPES)}")
        n, c, h, w = self.axes
        shape, strides, unit = self.shape, self.strides, self.unit
        batch.data = cast(VOID, self.pointer)
        batch.images = NULL
        batch.count, batch.channels, batch.dtype = self.count, self.channels, self.dtype
        batch.width, batch.height = shape[w], shape[h]
        batch.image_stride = 0 if n is None else strides[n] * unit
        batch.row_stride, batch.pixel_stride = strides[h] * unit, strides[w] * unit
        batch.channel_stride = unit if c is None else strides[c] * unit

    def stream_of(self):
        return self.kind.stream_of(self.device)

    def require_bytes(self):
        """Images are uint8; only the fused last step writes anything else."""
        if self.dtype != lib.MOTLEY_U8:
            raise ArgumentError(f"the images' dtype is {self.array.dtype}, want uint8")

    def require_writable(self):
        if not self.kind.writable(self.array):
            raise ArgumentError(f"the {self.kind.name} to write to is read-only")

    def output(self, dtype=None, layout=None):
        """A new batch to write to, of the same shape: as it is, or of the fused last step's dtype and layout. `make` makes further
        ones."""
        kind, array = self.kind, self.array
        if layout is None or layout == self.layout:
            layout = self.layout
            make = kind.like if dtype is None else functools.partial(kind.like, dtype=dtype)
        else:
            n, _, h, w = self.axes
            lead = () if n is None else (self.shape[n],)
            height, width = self.shape[h], self.shape[w]
            shape = lead + ((self.channels, height, width) if layout == "chw" else (height, width, self.channels))
            make = functools.partial(kind.new, shape=shape, dtype=dtype)
            if layout == "channels_last":  # chw to look at, hwc in memory
                hwc, last, layout = make, len(lead), "chw"
                axes = tuple(range(last)) + (last + 2, last, last + 1)

                def make(x):
                    return kind.transposed(hwc(x), axes)
        made = Batch(kind, make(array), layout)
        made.make = make
        return made

    def result(self, source):
        """What the caller gets."""
        finish = source.finish_for()
        return self.array if finish is None else finish(self.array, source.array)

    def finish_for(self):
        return self.kind.finish_for(type(self.array))


class Picture(Batch):
    """One PIL image; its bytes are worked on in a buffer."""
    __slots__ = ("buffer",)
    name = "PIL image"
    channels_of = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}

    def __init__(self, image, layout, buffer=None):
        channels = self.channels_of.get(image.mode)
        if channels is None:
            raise ArgumentError(f"the PIL image has mode {image.mode}, want L, LA, RGB or RGBA: convert() it")
        width, height = image.size
        self.kind, self.array, self.layout, self.axes = Picture, image, "hwc", AXES["hwc", 3]
        self.buffer = bytearray(image.tobytes()) if buffer is None else buffer
        self.pointer = address(ffi.from_buffer(self.buffer))
        self.shape, self.strides = (height, width, channels), (width * channels, channels, 1)
        self.unit, self.dtype, self.device, self.count = 1, lib.MOTLEY_U8, None, 1

    def require_writable(self):
        raise ArgumentError("a PIL image cannot be written in place, and is no `out`: take what the call returns")

    def output(self, dtype=None, layout=None):
        if dtype is not None:
            raise UnsupportedError("a PIL image holds bytes, and cannot be normalised, cast or laid out: give a NumPy array or tensor")
        return Picture(self.array, None, bytearray(len(self.buffer)))

    def result(self, source):
        return sys.modules["PIL.Image"].frombytes(self.array.mode, self.array.size, bytes(self.buffer))


class Tensor(Batch):
    """An array that is known by its __dlpack__ alone, JAX's among them. Results come from its own from_dlpack."""
    __slots__ = ("capsule", "batch")
    name, layout_default = "DLPack array", "hwc"
    axes_numbers = {"hwc": lib.MOTLEY_AXES_HWC, "chw": lib.MOTLEY_AXES_CHW, "hw": lib.MOTLEY_AXES_HW}

    def __init__(self, array, layout):
        self.kind, self.array = Tensor, array
        self.shape, self.strides, self.unit, self.dtype = tuple(array.shape), None, 1, -1
        self.layout, self.axes = axes_of(self.shape, layout, self.layout_default)
        self.count = 1 if self.axes[0] is None else self.shape[self.axes[0]]
        type_, number = array.__dlpack_device__()
        on_cuda = int(type_) in (2, 13)
        self.device = number if on_cuda else None
        # 1 is CUDA's legacy default stream, on which the work is then queued
        self.capsule = _export(array, 1 if on_cuda else None)
        self.batch = self._batch(writes=False)

    def _batch(self, writes):
        params, batch, error = (ffi.new(kind) for kind in ("motley_dlpack_params *", "motley_batch *", "motley_error *"))
        params.axes, params.writes = self.axes_numbers[self.layout], writes
        name = b"dltensor"
        if _is_valid(self.capsule, b"dltensor_versioned"):
            name, params.kind = b"dltensor_versioned", lib.MOTLEY_DLPACK_VERSIONED
        managed = cast(VOID, _get_pointer(self.capsule, name))
        check(lib.motley_batch_from_dlpack(managed, params, batch, NULL, error), error)
        return batch

    @property
    def pointer(self):
        return address(self.batch.data)

    def require_bytes(self):
        pass  # the library says so

    def describe(self, batch):
        ffi.memmove(ffi.addressof(batch), self.batch, ffi.sizeof("motley_batch"))

    def stream_of(self):
        return lambda: 0

    def require_writable(self):
        if _root(type(self.array)).startswith("jax"):
            raise ArgumentError("JAX arrays never change: take what the call returns")
        self._batch(writes=True)

    def output(self, dtype=None, layout=None):
        """The result is made as NumPy's, CuPy's or torch's array, whichever is there, and handed over in the end."""
        if self.device is None:
            import numpy
            place = numpy.empty(0, numpy.uint8)
        else:
            place = _empty_on(self.device)
        n, c, h, w = self.axes
        lead, height, width = () if n is None else (self.shape[n],), self.shape[h], self.shape[w]
        if layout in (None, self.layout):
            layout = self.layout
        if layout == "channels_last":
            raise UnsupportedError("output_layout 'channels_last' is torch's, NumPy's and CuPy's only")
        shape = {"hw": (height, width), "chw": (self.channels, height, width), "hwc": (height, width, self.channels)}[layout]
        kind = _array_kind(type(place))
        return Batch(kind, kind.new(place, lead + shape, dtype or "uint8"), layout)

    def finish_for(self):
        return _like_tensor


def _like_tensor(out, source):
    """`out` as an array like `source`."""
    if _root(type(source)).startswith("jax"):
        return sys.modules["jax"].dlpack.from_dlpack(out)
    space = getattr(source, "__array_namespace__", None)
    return space().from_dlpack(out) if space is not None and hasattr(space(), "from_dlpack") else out


def _root(cls):
    return cls.__module__.split(".")[0]


def _export(array, stream):
    keywords = {} if stream is None else {"stream": stream}
    try:
        return array.__dlpack__(max_version=(1, 0), **keywords)
    except TypeError:  # made before DLPack had versions
        return array.__dlpack__(**keywords)


def _empty_on(device):
    for name in ("cupy", "torch"):
        try:
            module = __import__(name)
        except ImportError:
            continue
        if name == "cupy":
            with module.cuda.Device(device):
                return module.empty(0, "uint8")
        return module.empty(0, dtype=module.uint8, device=f"cuda:{device}")
    raise UnsupportedError("a result on CUDA for this kind of array is made by CuPy or torch, and neither is installed: give out=")


def _capsules():
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    valid = ctypes.pythonapi.PyCapsule_IsValid
    valid.restype, valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
    return get, valid


_get_pointer, _is_valid = _capsules()


class Many:
    """A list of images, of one kind but perhaps of many sizes."""
    __slots__ = ("parts", "wanted", "cls", "device", "images")

    def __init__(self, images, layout):
        self.cls = type(images)
        self.parts = [images_of(image, layout) for image in images]
        first = self.parts[0] if self.parts else None
        self.device = first.device if first else None
        for i, part in enumerate(self.parts):
            if isinstance(part, Many) or not part.single:
                raise ArgumentError(f"image {i} of the list is itself a batch, want single images")
            if part.kind is not first.kind:
                raise ArgumentError(f"image {i} of the list is a {part.kind.name}, image 0 a {first.kind.name}: want one kind")
            if part.device != self.device:
                raise ArgumentError(f"image {i} of the list is on device {part.device}, image 0 on {self.device}: want one")
            if part.channels != first.channels:
                raise ArgumentError(f"image {i} of the list has {part.channels} channels, image 0 has {first.channels}: want "
                                    "one number of channels")
    single, pointer = False, 0

    @property
    def kind(self):
        return self.parts[0].kind

    @property
    def count(self):
        return len(self.parts)

    @property
    def channels(self):
        return self.parts[0].channels

    def sizes(self):
        return [part.sizes()[0] for part in self.parts]

    def require_bytes(self):
        for part in self.parts:
            part.require_bytes()

    def describe(self, batch):
        self.images = ffi.new("motley_image[]", len(self.parts))
        for image, part in zip(self.images, self.parts):
            part.describe(batch)
            image.data, image.width, image.height = batch.data, batch.width, batch.height
            image.row_stride, image.pixel_stride = batch.row_stride, batch.pixel_stride
            image.channel_stride = batch.channel_stride
        batch.count, batch.images = len(self.parts), self.images

    def stream_of(self):
        return self.parts[0].stream_of()

    def require_writable(self):
        for part in self.parts:
            part.require_writable()

    def _made(self, parts):
        made = Many.__new__(Many)
        made.cls, made.device, made.parts = self.cls, self.device, parts
        return made

    def output(self, dtype=None, layout=None):
        if dtype is not None:
            raise UnsupportedError("a list of images cannot be normalised or cast: the output is one array of one size")
        return self._made([part.output() for part in self.parts])

    def result(self, source):
        made = [part.result(from_) for part, from_ in zip(self.parts, source.parts)]
        return tuple(made) if self.cls is tuple else made


# ---- which is which ----

MAKERS = {}  # type of images -> what makes a batch of them; filled as types are met
ARRAYS = {}  # type -> Torch, NumPy, CuPy, or None for what is no array of these; likewise


def images_of(images, layout):
    """The Batch (Picture, Tensor, Many) of what a caller handed over."""
    make = MAKERS.get(type(images))
    if make is None:
        make = MAKERS[type(images)] = _maker_of(type(images))
    return make(images, layout)


def library_of(batch):
    """The library whose arrays a custom operation is given: that of the batch's own, or one that reads its memory."""
    if isinstance(batch, Many):
        return library_of(batch.parts[0]) if batch.parts else "numpy"
    if batch.device is not None and isinstance(batch, Tensor):
        return _root(type(_empty_on(batch.device)))
    return {Torch: "torch", CuPy: "cupy"}.get(batch.kind, "numpy")


def learned(cls):
    """The kind of a class of arrays that may be met for the first time, or None."""
    kind = ARRAYS[cls] = _array_kind(cls)
    return kind


def _array_kind(cls):
    for base in cls.__mro__:
        kind = {("torch", "Tensor"): Torch, ("numpy", "ndarray"): NumPy, ("cupy", "ndarray"): CuPy}.get(
            (_root(base), base.__name__))
        if kind:
            return kind
    return None


def _maker_of(cls):
    kind = learned(cls)
    if kind:
        return functools.partial(Batch, kind)
    if any(base.__module__ == "PIL.Image" and base.__name__ == "Image" for base in cls.__mro__):
        return Picture
    if issubclass(cls, (list, tuple)):
        return Many
    if hasattr(cls, "__dlpack__"):
        return Tensor
    raise ArgumentError(f"images are a {cls.__module__}.{cls.__qualname__}, want a torch, NumPy, CuPy, JAX or other DLPack "
                        "array, a PIL image, or a list of these")
