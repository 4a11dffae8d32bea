# SPDX-License-Identifier: Apache-2.0
"""The kinds of arrays that are read through their own attributes: torch, NumPy and CuPy arrays, and Pillow images.

None of the four is imported here: a caller who passes such an array has already imported its library. A kind provides

    layout                what their axes are unless the caller says so
    look(x)               shape, strides, bytes of a stride's unit, the library's dtype (-1: none), CUDA device or None
    pointer(x)            the address of the first sample; None: only a copy can be reached (Pillow)
    key(x, ...)           what a call on x depends on, but for its pixels
    holds(x, n, *dtypes)  whether x is n dense numbers of one of those dtypes in host memory
    stream_of(device)     what gives the current stream's handle
    like(dtype)           what makes an array like another, of that dtype; None: of the same
    new, transposed       make further arrays
    contiguous(x)         the same, dense in memory
    finish_for(cls)       what gives a result the type of the images; None: nothing has to
    writable(x)           whether it may be written to
"""

import functools
import sys

from ._core import ffi, lib
from .errors import ArgumentError, UnsupportedError, text_of
from .pillow import Pillow

address, from_buffer = lib.address, ffi.from_buffer

# dtype name -> the library's number, bytes of a sample
DTYPES = {
    text_of(lib.motley_dtype_name(number)): (number, size)
    for number, size in ((lib.MOTLEY_U8, 1), (lib.MOTLEY_F32, 4), (lib.MOTLEY_F16, 2), (lib.MOTLEY_BF16, 2))
}


SHORT = {"u8": "uint8", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}  # as files write them


def dtype_name(dtype):
    """ "float32" of torch.float32, numpy.float32, numpy.dtype("float32") or "float32"."""
    name = (getattr(dtype, "__name__", None) or str(dtype)).split(".")[-1]
    name = SHORT.get(name, name)
    if name not in DTYPES:
        raise ArgumentError(f"dtype is {dtype!r}, want {', '.join(DTYPES)}")
    return name


# Classes of what has a shape and a dtype alone, and what makes them.
STAND_INS = {
    ("torch", "FakeTensor"): "torch's FakeTensorMode or torch.export",
    ("jax", "Tracer"): "jax.jit, vmap or grad",
}


class Kinds(dict):
    """Class of arrays -> Torch, NumPy, CuPy, Pillow, or None for any other class; filled as classes are met."""

    def __missing__(self, cls):
        roots = [(base.__module__.split(".")[0], base.__name__) for base in cls.__mro__]
        where = next((STAND_INS[root] for root in roots if root in STAND_INS), None)
        if where is not None:
            raise ArgumentError(
                f"a {cls.__name__} stands for an array in {where}, and has no numbers yet: want this call outside of "
                "it, on arrays"
            )
        kind = self[cls] = next((kind for kind in (Torch, NumPy, CuPy, Pillow) if kind.base in roots), None)
        return kind


KINDS = Kinds()
kind_of = KINDS.__getitem__


def device_of(x):
    """The CUDA device of an array, or None."""
    kind = KINDS[type(x)]
    return kind.look(x)[4] if kind else None


@functools.lru_cache(maxsize=None)
def name_of(dtype):
    """ "int64" of torch.int64 or numpy.dtype("int64"); another byte order has another name."""
    return str(dtype).split(".")[-1]


def dense(x):
    """`x`, copied if it was expanded, so that pixels share memory: the library reads no such arrays."""
    strides = x.stride() if hasattr(x, "stride") else getattr(x, "strides", None)
    if not strides or not any(n > 1 and step == 0 for n, step in zip(x.shape, strides)):
        return x
    return x.contiguous() if hasattr(x, "contiguous") else x.copy("C")


def plain(x):
    """A tensor of a subclass, such as torchvision's tv_tensors, as torch's own; anything else as it is."""
    if KINDS[type(x)] is Torch and type(x) is not sys.modules["torch"].Tensor:
        return x.as_subclass(sys.modules["torch"].Tensor)
    return x


def unreadable(x):
    """The error for a torch tensor whose memory or strides torch does not give."""
    if x.is_nested or str(x.layout) != "torch.strided":
        return ArgumentError("the images are a sparse or nested tensor, want a dense one")
    return ArgumentError(
        "the tensor has no memory of its own, as in torch.func.vmap: want this call outside of it, on the whole batch, "
        "whose images draw each for itself"
    )


class Torch:
    base, name, layout = ("torch", "Tensor"), "torch tensor", "chw"
    dtypes = {}  # torch's dtype -> DTYPES' entry

    @staticmethod
    def pointer(x):
        try:
            return x.data_ptr()
        except RuntimeError:
            raise unreadable(x) from None

    @staticmethod
    def key(x, layout, flavour, in_place):
        return type(x), x.shape, x.stride(), x.dtype, x.device, layout, flavour, in_place

    @staticmethod
    def holds(x, count, *dtypes):
        return name_of(x.dtype) in dtypes and x.numel() == count and x.is_contiguous() and not x.is_cuda

    @classmethod
    def look(cls, x):
        if x.is_nested or str(x.layout) != "torch.strided":
            raise unreadable(x)
        if sys.modules["torch"].jit.is_tracing():  # where each call comes here, as shapes are tensors
            raise UnsupportedError(
                "torch.jit.trace cannot record augmentation, which is no operation of torch: want a trace of the model "
                "without it, or torch.export or torch.compile with a motley.torch.Stage"
            )
        found = cls.dtypes.get(x.dtype)
        if found is None:
            found = cls.dtypes[x.dtype] = DTYPES.get(str(x.dtype)[len("torch.") :], (-1, 0))
        device = x.get_device() if x.is_cuda else None
        if device is None and x.device.type != "cpu":
            raise ArgumentError(f"the tensor is on '{x.device}', want the CPU or CUDA")
        return x.shape, x.stride(), found[1], found[0], device

    @staticmethod
    def stream_of(device):
        return functools.partial(sys.modules["torch"]._C._cuda_getCurrentRawStream, device)

    @staticmethod
    def like(dtype):
        torch = sys.modules["torch"]
        return torch.empty_like if dtype is None else functools.partial(torch.empty_like, dtype=getattr(torch, dtype))

    @staticmethod
    def new(x, shape, dtype):
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype), device=x.device)

    @staticmethod
    def transposed(x, axes):
        return x.permute(axes)

    @staticmethod
    def contiguous(x):
        return x.contiguous()

    @staticmethod
    def finish_for(cls):
        tv_tensors = sys.modules.get("torchvision.tv_tensors")
        if tv_tensors is not None and issubclass(cls, tv_tensors.TVTensor):
            return lambda out, x: tv_tensors.wrap(out.as_subclass(sys.modules["torch"].Tensor), like=x)
        return None

    @staticmethod
    def writable(x):
        return True


class NumPy:
    base, name, layout = ("numpy", "ndarray"), "NumPy array", "hwc"

    @staticmethod
    def key(x, layout, flavour, in_place):
        return type(x), x.shape, x.strides, x.dtype, x.flags.writeable, layout, flavour, in_place

    @staticmethod
    def pointer(x):
        if x.flags.c_contiguous:
            try:
                return address(from_buffer(x))  # a tenth of what the array's interface takes
            except ValueError:  # of a dtype that buffers do not have, such as bfloat16
                pass
        return x.__array_interface__["data"][0]

    @staticmethod
    def holds(x, count, *dtypes):
        return name_of(x.dtype) in dtypes and x.size == count and x.flags.c_contiguous

    @staticmethod
    def look(x):
        dtype, item = DTYPES.get(x.dtype.name, (-1, 0)) if x.dtype.isnative else (-1, 0)
        return x.shape, x.strides, 1, dtype, None

    @staticmethod
    def like(dtype):
        empty_like, dtype = sys.modules["numpy"].empty_like, _numpy_dtype(dtype)
        return lambda x: empty_like(x, dtype, "K", False)  # order, subok

    @staticmethod
    def new(x, shape, dtype):
        return sys.modules["numpy"].empty(shape, _numpy_dtype(dtype))

    @staticmethod
    def transposed(x, axes):
        return x.transpose(axes)

    @staticmethod
    def contiguous(x):
        return x.copy("C") if not x.flags.c_contiguous else x

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
        raise UnsupportedError("NumPy itself has no bfloat16: install ml_dtypes, or take dtype='float16'") from None
    return ml_dtypes.bfloat16


class CuPy:
    base, name, layout = ("cupy", "ndarray"), "CuPy array", "hwc"
    transposed, contiguous, finish_for = NumPy.transposed, NumPy.contiguous, NumPy.finish_for

    @staticmethod
    def key(x, layout, flavour, in_place):
        return type(x), x.shape, x.strides, x.dtype, x.data.device_id, layout, flavour, in_place

    @staticmethod
    def pointer(x):
        return x.data.ptr

    @staticmethod
    def holds(x, count, *dtypes):
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
    def like(dtype):
        def make(x):
            with x.device:
                return sys.modules["cupy"].empty_like(x, dtype=_numpy_dtype(dtype))

        return make

    @staticmethod
    def new(x, shape, dtype):
        with x.device:
            return sys.modules["cupy"].empty(shape, _numpy_dtype(dtype))

    @staticmethod
    def writable(x):
        return True
