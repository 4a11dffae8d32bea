# SPDX-License-Identifier: Apache-2.0
"""libmotley through ctypes: just enough of the public headers to draw and to apply, with any strides."""

import ctypes
import itertools
import json
from ctypes import (
    POINTER,
    byref,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)

import numpy as np

NEAREST, BILINEAR, BICUBIC = 0, 1, 2
FILTERS = {"bilinear": 0, "bicubic": 1, "lanczos": 2, "nearest": 3, "box": 4, "hamming": 5}
INTERPOLATIONS = {"nearest": NEAREST, "bilinear": BILINEAR, "bicubic": BICUBIC}
BACKENDS = {"cpu": 1, "cuda": 2, "reference": 3}
MAX_VALUES = 6
CANARY = 0xA5


class Error(ctypes.Structure):
    _fields_ = [("status", c_int), ("line", c_int), ("column", c_int), ("message", ctypes.c_char * 240)]


class Image(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("width", c_int32),
        ("height", c_int32),
        ("row_stride", c_int64),
        ("pixel_stride", c_int64),
        ("channel_stride", c_int64),
    ]


class Batch(ctypes.Structure):
    _fields_ = [
        ("count", c_size_t),
        ("channels", c_int32),
        ("dtype", c_int),
        ("layout", c_int),
        ("alpha", c_int32),
        ("data", c_void_p),
        ("width", c_int32),
        ("height", c_int32),
        ("image_stride", c_int64),
        ("row_stride", c_int64),
        ("pixel_stride", c_int64),
        ("channel_stride", c_int64),
        ("images", POINTER(Image)),
        ("range", c_void_p),
        ("ranges", c_int32),
        ("unclamped", c_int32),
    ]


class Params(ctypes.Structure):
    """A params struct, which says its size: a library that knows more fields reads those as zero."""

    _fields_ = [("struct_size", c_size_t)]

    def __init__(self, **fields):
        super().__init__(ctypes.sizeof(self), **fields)


class OpInfo(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("summary", c_char_p),
        ("unit", c_char_p),
        ("matches", c_char_p),
        ("paper", c_char_p),
        ("shape", c_int),
        ("values_min", c_int),
        ("values_max", c_int),
        ("minimum", c_double),
        ("maximum", c_double),
        ("neutral", c_double),
        ("example", c_double),
    ]


class OpParams(Params):
    _fields_ = [("interpolation", c_int), ("fill", POINTER(c_double)), ("stream", c_void_p)]


class Samples(ctypes.Structure):
    _fields_ = [
        ("seed", c_uint64),
        ("epoch", c_uint32),
        ("first", c_uint64),
        ("ids", POINTER(c_uint64)),
        ("view", c_uint32),
        ("views", POINTER(c_uint32)),
        ("boxes", POINTER(c_double)),
        ("box_offsets", POINTER(c_size_t)),
        ("levels", POINTER(c_float)),
    ]


class Step(ctypes.Structure):
    _fields_ = [
        ("op", c_int32),
        ("level", c_int32),
        ("values", c_double * MAX_VALUES),
        ("values_count", c_int32),
        ("interpolation", c_int),
        ("fill", c_uint8 * 4),
        ("inside", c_int32 * 4),
    ]


class Output(ctypes.Structure):
    _fields_ = [("batch", Batch), ("mean", c_float * 4), ("std", c_float * 4), ("means", c_void_p), ("stds", c_void_p)]


class Crop(ctypes.Structure):
    _fields_ = [("left", c_int32), ("top", c_int32), ("width", c_int32), ("height", c_int32)]


class ResizeParams(Params):
    _fields_ = [
        ("filter", c_int),
        ("order", c_int),
        ("crops", POINTER(Crop)),
        ("boxes", POINTER(c_double * 4)),
        ("flips", POINTER(c_uint8)),
    ]


MAX_BOXES = 8
STEP_HUE = -2
STEP_KERNEL_BLUR = -6
KERNEL_WEIGHTS = 12
DTYPES = {"u8": (0, np.uint8), "f32": (1, np.float32), "f16": (2, np.float16), "bf16": (3, np.uint16)}


class PolicyInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("title", c_char_p),
        ("profile", c_char_p),
        ("paper", c_char_p),
        ("stages", c_int32),
        ("max_steps", c_size_t),
        ("takes_boxes", c_int32),
        ("width", c_int32),
        ("height", c_int32),
        ("to_rgb", c_int32),
        ("has_output", c_int32),
        ("dtype", c_int),
        ("layout", c_int),
        ("mix", c_void_p),
        ("classes", c_int32),
        ("smoothing", c_double),
        ("scheduled", c_int32),
        ("epochs", ctypes.c_uint32),
        ("views", c_int32),
        ("takes_levels", c_int32),
        ("draws_sizes", c_int32),
    ]


class Builtin(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("text", c_char_p), ("has_stages", c_int32)]


PLACE = [
    ("crop", Crop),
    ("width", c_int32),
    ("height", c_int32),
    ("filter", c_int),
    ("left", c_int32),
    ("top", c_int32),
    ("result_width", c_int32),
    ("result_height", c_int32),
    ("flip_horizontal", c_uint8),
    ("flip_vertical", c_uint8),
    ("flipped_first", c_uint8),
    ("torch_planes", c_uint8),
    ("beyond", c_uint8),
]  # what both kinds of places begin with


class FirstPlace(ctypes.Structure):
    _fields_ = PLACE


class Drawn(ctypes.Structure):
    _fields_ = [
        *PLACE,
        ("before", c_uint8),
        ("overlap", c_uint8),
        ("canvas_left", c_int32),
        ("canvas_top", c_int32),
        ("first", FirstPlace),
        ("boxes_count", c_int32),
        ("boxes", Crop * MAX_BOXES),
        ("noise", c_uint64),
    ]


class ApplyParams(Params):
    _fields_ = [
        ("samples", Samples),
        ("stream", c_void_p),
        ("counter", c_void_p),
        ("output", Output),
        ("steps", POINTER(Step)),
        ("step_counts", POINTER(c_int32)),
        ("clip_frames", c_size_t),
        ("followed", c_void_p),
        ("drawn", POINTER(Drawn)),
        ("mixed", c_void_p),
        ("given_steps", POINTER(Step)),
        ("given_step_counts", POINTER(c_int32)),
        ("given_max_steps", c_size_t),
        ("given_widths", POINTER(c_int32)),
        ("given_heights", POINTER(c_int32)),
        ("given", POINTER(Drawn)),
        ("given_mixed", c_void_p),
        ("given_kernels", POINTER(c_float * KERNEL_WEIGHTS)),
        ("values", c_void_p),
        ("values_per_image", c_int32),
        ("crops", c_void_p),
        ("boxes", c_void_p),
        ("flips", c_void_p),
        ("fill", c_void_p),
    ]


class Draws(ctypes.Structure):
    """motley_drawn"""

    _fields_ = [
        ("count", c_size_t),
        ("steps", c_char_p),
        ("step_counts", POINTER(c_int32)),
        ("max_steps", c_size_t),
        ("widths", POINTER(c_int32)),
        ("heights", POINTER(c_int32)),
        ("places", POINTER(Drawn)),
    ]


class Followed(Params):
    _fields_ = [
        ("single", c_int32),
        ("boxes_count", c_size_t),
        ("boxes", c_void_p),
        ("box_offsets", c_void_p),
        ("visibility", c_void_p),
        ("keep", c_void_p),
        ("box_format", c_int),
        ("box_torchvision", c_int),
        ("box_limits", c_double * 3),
        ("before_resize", c_int),
        ("points_count", c_size_t),
        ("points", c_void_p),
        ("point_offsets", c_void_p),
        ("flags", c_void_p),
        ("convention", c_int),
        ("matrices", POINTER(c_double)),
        ("planes", c_void_p),
        ("planes_count", c_size_t),
    ]


class ContextParams(Params):
    _fields_ = [
        ("backend", c_int),
        ("device", c_int),
        ("threads", c_int),
        ("allocate", c_void_p),
        ("release", c_void_p),
        ("allocator_user", c_void_p),
    ]


class Placed:
    """An image in separate memory, in one of LAYOUTS, between canary bytes that nothing may touch."""

    def __init__(self, array, layout, alpha=True):
        """alpha: whether the last of 2 or 4 channels is."""
        height, width, channels = array.shape
        self.alpha = alpha and channels % 2 == 0
        row, pixel, channel, start, size = layout(height, width, channels)
        self.memory = np.full(size, CANARY, np.uint8)
        self.view = np.ndarray(array.shape, np.uint8, self.memory, start, (row, pixel, channel))
        self.view[...] = array
        self.image = Image(self.memory.ctypes.data + start, width, height, row, pixel, channel)

    def canaries_intact(self):
        rest = self.memory.copy()
        image = np.ndarray(
            self.view.shape, np.uint8, rest, self.image.data - self.memory.ctypes.data, self.view.strides
        )
        image[...] = CANARY
        return bool((rest == CANARY).all())


def _packed(h, w, c):
    return w * c, c, 1, 0, h * w * c


def _packed_padded(h, w, c):
    return w * c + 13, c, 1, 5, h * (w * c + 13) + 9


def _planar(h, w, c):
    return w, 1, h * w, 0, c * h * w


def _planar_padded(h, w, c):
    row = w + 7
    return row, 1, h * row + 3, 1, c * (h * row + 3) + 11


def _bottom_up(h, w, c):
    row = w * c + 1
    return -row, c, 1, (h - 1) * row + 3, h * row + 6


def _loose(h, w, c):  # nothing is adjacent, channels run backwards, pixels from right to left
    pixel = 2 * c + 1
    row = w * pixel + 3
    return row, -pixel, -2, (w - 1) * pixel + 2 * (c - 1) + 4, h * row + 2 * c + 8


LAYOUTS = {
    "packed": _packed,
    "packed_padded": _packed_padded,
    "planar": _planar,
    "planar_padded": _planar_padded,
    "bottom_up": _bottom_up,
    "loose": _loose,
}


class Failed(Exception):
    """A call of the library that did not return MOTLEY_OK."""


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.motley_op_get.restype = POINTER(OpInfo)
        self.c.motley_version.restype = c_char_p
        self.c.motley_policy_builtin_get.restype = POINTER(Builtin)
        self.c.motley_policy_builtin_get.argtypes = [c_size_t]
        self.c.motley_policy_describe.restype = POINTER(PolicyInfo)
        self.c.motley_policy_describe.argtypes = self.c.motley_policy_destroy.argtypes = [c_void_p]
        self.ops = [self.c.motley_op_get(i).contents for i in range(self.c.motley_op_count())]
        self.op_names = [op.name.decode() for op in self.ops]

    def context(self, backend, threads=1):
        return Context(self, backend, threads)

    def matrix(self, step, width, height):
        """The matrix, output to input, of a step's bytes for an image of this size."""
        made, error, one = (c_double * 6)(), Error(), c_int32(1)
        drawn = Draws(1, step, ctypes.pointer(one), 1, ctypes.pointer(c_int32(width)), ctypes.pointer(c_int32(height)))
        self.check(self.c.motley_follow(byref(drawn), byref(Followed(matrices=made)), byref(error)), error)
        return list(made)

    def builtins(self):
        """The names of those without stages."""
        found = itertools.takewhile(bool, map(self.c.motley_policy_builtin_get, itertools.count()))
        return [row.contents.name.decode() for row in found if not row.contents.has_stages]

    def policy(self, name, **changes):
        return Policy(self, name, changes)

    def check(self, status, error):
        if status != 0:
            raise Failed(f"status {status}: {error.message.decode()}")


def batch_of(placed):
    images = (Image * len(placed))(*[p.image for p in placed])
    channels = placed[0].view.shape[2]
    return Batch(count=len(placed), channels=channels, alpha=placed[0].alpha, images=images)


class Context:
    def __init__(self, library, backend, threads):
        self.library, self.handle = library, c_void_p()
        error = Error()
        params = ContextParams(backend=BACKENDS[backend], threads=threads)
        library.check(library.c.motley_context_create(byref(params), byref(self.handle), byref(error)), error)

    def op(self, name, values, src, dst, interpolation=NEAREST, fill=None):
        """values: one tuple per image. src, dst: lists of Placed; the same list to work in place."""
        number = self.library.op_names.index(name)
        per_image = len(values[0])
        flat = (c_double * max(1, len(values) * per_image))(*[v for row in values for v in row])
        params = OpParams(interpolation=interpolation)
        if fill is not None:
            params.fill = (c_double * 4)(*fill)
        error = Error()
        source = batch_of(src)
        target = source if dst is src else batch_of(dst)
        self.library.check(
            self.library.c.motley_op_apply(
                self.handle, number, flat, per_image, byref(source), byref(target), byref(params), byref(error)
            ),
            error,
        )

    def resize(self, src, dst, filter, order, crops=None, boxes=None, flips=None):
        """crops: (left, top, width, height) each; boxes: Pillow's; flips: truths."""
        count = len(src)
        params = ResizeParams(filter=FILTERS[filter], order=order)
        if crops:
            params.crops = (Crop * count)(*[Crop(*crop) for crop in crops])
        if boxes:
            params.boxes = (c_double * 4 * count)(*[(c_double * 4)(*box) for box in boxes])
        if flips:
            params.flips = (c_uint8 * count)(*flips)
        error = Error()
        source, target = batch_of(src), batch_of(dst)
        self.library.check(
            self.library.c.motley_resize(self.handle, byref(source), byref(target), byref(params), byref(error)), error
        )

    def apply(self, policy, src, dst, seed, epoch=0, first=0):
        """Returns what was drawn, a list of Step for each image."""
        steps, counts, most = policy.step_arrays(len(src))
        params = ApplyParams(samples=Samples(seed=seed, epoch=epoch, first=first), steps=steps, step_counts=counts)
        error = Error()
        source = batch_of(src)
        target = source if dst is src else batch_of(dst)
        self.library.check(
            self.library.c.motley_apply(
                self.handle, policy.handle, byref(source), byref(target), byref(params), byref(error)
            ),
            error,
        )
        return [list(steps[i * most : i * most + counts[i]]) for i in range(len(src))]

    def close(self):
        self.library.c.motley_context_destroy(self.handle)
        self.handle = None


JSON = 1  # of motley_print_format


class Transform:
    """A transform from its text."""

    def __init__(self, library, text):
        self.library, self.handle, error = library, c_void_p(), Error()
        data = text.encode()
        library.check(
            library.c.motley_policy_parse(data, c_size_t(len(data)), None, byref(self.handle), byref(error)), error
        )
        self.info = library.c.motley_policy_describe(self.handle).contents

    def draw(self, sizes, channels, seed, epoch=0, first=0):
        """Draws of images of (width, height): a list of Drawn, and the steps of each."""
        count, most = len(sizes), max(1, self.info.max_steps)
        drawn, steps, counts = (Drawn * count)(), (Step * (count * most))(), (c_int32 * count)()
        widths, heights = ((c_int32 * count)(*side) for side in zip(*sizes))
        error, samples = Error(), Samples(seed=seed, epoch=epoch, first=first)
        self.library.check(
            self.library.c.motley_draw(
                self.handle,
                byref(samples),
                c_size_t(count),
                widths,
                heights,
                channels,
                drawn,
                steps,
                counts,
                byref(error),
            ),
            error,
        )
        return list(drawn), [list(steps[i * most : i * most + counts[i]]) for i in range(count)]

    def apply(self, context, src, dtype="f32", layout="chw", given=None, kernels=None, **samples):
        """src: a list of Placed. Returns an array [n, ...] and what was drawn, as draw() does. given: such draws;
        kernels: the weights of the blur that each image is given as its only step, from the middle outward."""
        count, most, channels = len(src), max(1, self.info.max_steps), src[0].view.shape[2]
        width, height = self.info.width or src[0].image.width, self.info.height or src[0].image.height
        number, kind = DTYPES[dtype]
        shape = (count, channels, height, width) if layout == "chw" else (count, height, width, channels)
        out = np.zeros(shape, kind)
        drawn, steps, counts = (Drawn * count)(), (Step * (count * most))(), (c_int32 * count)()
        params = ApplyParams(samples=Samples(**samples), drawn=drawn, steps=steps, step_counts=counts)
        if given:
            given_drawn, given_steps, given_counts = (
                (Drawn * count)(*given[0]),
                (Step * (count * most))(),
                (c_int32 * count)(*map(len, given[1])),
            )
            for i, row in enumerate(given[1]):
                for s, step in enumerate(row):
                    given_steps[i * most + s] = step
            params.given, params.given_steps, params.given_step_counts = given_drawn, given_steps, given_counts
        if kernels is not None:
            params.given_kernels = (c_float * KERNEL_WEIGHTS * (count * most))()
            for i, half in enumerate(kernels):
                params.given_kernels[i * most][: len(half)] = [float(v) for v in half]
        target = Batch(
            count=count,
            channels=channels,
            dtype=number,
            layout=1 if layout == "chw" else 0,
            alpha=src[0].alpha,
            data=out.ctypes.data,
            width=width,
            height=height,
        )
        source, error = batch_of(src), Error()
        self.library.check(
            self.library.c.motley_apply(
                context.handle, self.handle, byref(source), byref(target), byref(params), byref(error)
            ),
            error,
        )
        return out, list(drawn), [list(steps[i * most : i * most + counts[i]]) for i in range(count)]

    def printed(self, form=0):
        text, error = c_char_p(), Error()
        self.library.check(self.library.c.motley_policy_print(self.handle, form, byref(text), byref(error)), error)
        return text.value.decode()

    def close(self):
        self.library.c.motley_policy_destroy(self.handle)
        self.handle = None


class Policy(Transform):
    """A built-in without stages, with other values for keys of its JSON."""

    def __init__(self, library, name, changes):
        self.library, self.handle, error = library, c_void_p(), Error()
        library.check(library.c.motley_policy_builtin(name.encode(), byref(self.handle), byref(error)), error)
        text = json.dumps(json.loads(self.printed(JSON)) | changes)
        self.close()
        super().__init__(library, text)
        self.name, self.profile = name, self.info.profile.decode()

    def step_arrays(self, count):
        most = self.info.max_steps
        return (Step * (count * most))(), (c_int32 * count)(), most

    def draw(self, count, width, height, channels, seed, epoch=0, first=0):
        return super().draw([(width, height)] * count, channels, seed, epoch, first)[1]
