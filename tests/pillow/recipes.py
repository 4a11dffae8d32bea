# SPDX-License-Identifier: Apache-2.0
"""What each op of the table must equal: its Pillow recipe, and the values worth trying, the published ones first.

A new op of the table needs one entry of RECIPES here; the tests name the ops that lack one.

Recipes are called with a PIL image, the op's values, a Pillow resampling filter and a fill tuple. Where Pillow refuses
alpha or leaves it to the caller, `colours_only` states our rule: alpha stays as it is.
"""

import math

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageOps

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
FILTERS = [Image.Resampling.NEAREST, Image.Resampling.BILINEAR, Image.Resampling.BICUBIC]  # by motley_interpolation
NAMES = "nearest", "bilinear", "bicubic"  # of these


def to_pil(array):
    channels = array.shape[2]
    return Image.fromarray(np.ascontiguousarray(array if channels > 1 else array[..., 0]), MODES[channels])


def to_array(image):
    array = np.asarray(image)
    return array if array.ndim == 3 else array[..., None]


def stepped(image, step):
    """A PIL image after a step of a draw, which is as `motley draw` prints it."""
    value, channels = step.get("value"), len(image.getbands())
    values = [*np.atleast_1d(() if value is None else value).tolist(), *step.get("center", ()), *step.get("box", ())]
    fill = tuple(step.get("fill", (0,) * channels))[:channels]
    resample = FILTERS[NAMES.index(step.get("interpolation", "nearest"))]
    return RECIPES[step["op"]][0](image, tuple(values), resample, fill)


def colours_only(recipe):
    def run(image, values, resample, fill):
        if image.mode not in ("LA", "RGBA"):
            return recipe(image, values, resample, fill)
        bands = image.split()
        colours = bands[0] if image.mode == "LA" else Image.merge("RGB", bands[:3])
        out = recipe(colours, values, resample, fill)
        out.putalpha(bands[-1])
        return out

    return run


def transform(image, matrix, resample, fill):
    fill = fill[0] if len(fill) == 1 else tuple(fill)
    return image.transform(image.size, Image.Transform.AFFINE, matrix, resample, fillcolor=fill)


def rotate(image, values, resample, fill):
    return image.rotate(values[0], resample, fillcolor=fill[0] if len(fill) == 1 else tuple(fill))


def grayscale(image, values, resample, fill):
    return ImageOps.grayscale(image).convert(image.mode)


def solarize_add(image, values, resample, fill):
    add, threshold = int(values[0]), values[1] if len(values) > 1 else 128
    return image.point([min(255, i + add) if i < threshold else i for i in range(256)] * len(image.getbands()))


def cutout(image, values, resample, fill):
    w, h = image.size
    side = values[0]
    ux, uy = values[1:] if len(values) > 1 else (w / 2.0, h / 2.0)
    x0, y0 = int(max(0, ux - side / 2.0)), int(max(0, uy - side / 2.0))
    corners = (x0, y0, int(min(w, x0 + side)), int(min(h, y0 + side)))
    image = image.copy()
    if x0 < w and y0 < h:  # a newer Pillow refuses corners in the wrong order
        ImageDraw.Draw(image).rectangle(corners, fill[0] if len(fill) == 1 else tuple(fill))
    return image


def cutout_tf(image, values, resample, fill):
    array = to_array(image).copy()
    h, w, _ = array.shape
    pad = int(values[0])
    cx, cy = [int(v) for v in values[1:]] if len(values) > 1 else (w // 2, h // 2)
    array[max(0, cy - pad) : max(0, cy + pad), max(0, cx - pad) : max(0, cx + pad)] = fill
    return to_pil(array)


def bbox_cutout(image, values, resample, fill):
    array = to_array(image).copy()
    h, w, _ = array.shape
    share, cx, cy, box_w, box_h = values if len(values) == 5 else (values[0], w // 2, h // 2, w, h)
    cx, cy, pad_x, pad_y = int(cx), int(cy), int(share * (box_w / 2)), int(share * (box_h / 2))
    array[max(0, cy - pad_y) : max(0, cy + pad_y), max(0, cx - pad_x) : max(0, cx + pad_x)] = fill
    return to_pil(array)


def enhance(kind, factor=lambda values: values[0]):
    return lambda image, values, resample, fill: kind(image).enhance(factor(values))


def fixed_filter(kind):
    return colours_only(lambda image, values, resample, fill: image.filter(kind))


def flip(method):
    return lambda image, values, resample, fill: image.transpose(method)


def warp(matrix):
    return lambda image, values, resample, fill: transform(image, matrix(values, *image.size), resample, fill)


def posterize(image, values, resample, fill):
    bits = int(values[0])
    try:
        return ImageOps.posterize(image, bits)
    except ValueError:
        if bits != 0:
            raise
        return image.point(lambda v: 0)  # what older releases give; Pillow 13 refuses 0 bits


# Magnitudes as published: Random/AutoAugment and TrivialAugment in torchvision, timm's levels. The exact arithmetic of
# a space is the policies' business; here what counts is that these decimals are among the values.
RA = [0.9 * i / 30 for i in range(31)] + [0.9 * i / 9 for i in range(10)]
TA = [0.99 * i / 30 for i in range(31)]
F32 = [float(np.float32(m)) for m in RA + TA]
TIMM = [(level / 10.0) * 1.8 + 0.1 for level in range(11)] + [1.0 + level / 10.0 * 0.9 for level in range(11)]
FACTORS = sorted(
    {1.0 + s * m for m in RA + TA + F32 for s in (1, -1)}
    | set(TIMM)
    | {
        0.1,
        0.9,
        1.2,
        1.45,
        1.72,
        1.9,
        0.0,
        -0.0,
        1.0,
        2.0,
        0.5,
        1 + 2**-23,
        1 - 2**-24,
        1e-9,
        -0.5,
        3.7,
        -30.0,
        10000.0,
    }
)
SHEARS = sorted(
    {
        s * m
        for base in (0.3, 0.99)
        for i in range(31)
        for s in (1, -1)
        for m in (base * i / 30, float(np.float32(base * i / 30)))
    }
    | {0.03 * i for i in range(11)}
    | {-0.0, 1e-12, 1.0, -1.0, 2.5, 100.0}
)
PIXELS = sorted(
    {s * m for i in range(11) for m in (i, i / 10.0 * 250.0, i / 10.0 * 100.0) for s in (1, -1)}
    | {0.25, 0.5, -0.5, 0.49999999999999994, -0.0, 1e-12, -1e-12, 31.99999, 1e6, 1 / 3}
)
FRACTIONS = sorted(
    {s * (i / 10.0 * m) for i in range(11) for m in (0.45, 0.3, 0.5) for s in (1, -1)} | {1.0, -1.0, 16.0, -0.0, 1e-9}
)
TURNS = [0.0, 90.0, 180.0, 270.0, 360.0, 450.0, 720.0]
DEGREES = sorted(
    {s * m for i in range(31) for m in (float(i), 4.5 * i, 3.0 * i / 10) for s in (1, -1)}
    | {s * t for t in TURNS for s in (1, -1)}
    | {math.nextafter(t, d) for t in TURNS for d in (-1e9, 1e9)}
    | {1e-20, -1e-20, -0.0, 1e-9, -1e-9, 123456.7}
)
RADII = [0.0, 0.1, 0.29, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 37.3, 1000.0, 1e-6] + [
    0.1 + 1.9 * i / 10.0 for i in range(11)
]


def singles(values):
    return [(float(v),) for v in values]


def random_between(low, high):
    return lambda r, w, h: (r.uniform(low, high),)


def random_affine(r, w, h):
    """Rotation, scale and shear about the centre, and now and then a plain scaling or a huge or tiny entry."""
    angle, scale, shear = r.uniform(-3.2, 3.2), r.choice([1.0, r.uniform(0.2, 3)]), r.uniform(-1, 1)
    a, b = math.cos(angle) / scale, math.sin(angle) / scale + shear
    m = [a, b, 0.0, -b, a, 0.0] if r.random() < 0.7 else [a, 0.0, 0.0, 0.0, r.uniform(-2, 2), 0.0]
    m[2] = r.uniform(-w, w) if r.random() < 0.3 else w / 2 - (m[0] * w / 2 + m[1] * h / 2)
    m[5] = r.uniform(-h, h) if r.random() < 0.3 else h / 2 - (m[3] * w / 2 + m[4] * h / 2)
    if r.random() < 0.1:
        m[r.integers(0, 6)] = r.choice([0.0, 1e-12, -1e-12, 1 / 65536, 0.5 / 65536, 32768.0, -32768.0, 1e5])
    return tuple(m)


def random_square(r, w, h):
    return r.uniform(0, 1.5 * max(w, h)), r.uniform(0, w), r.uniform(0, h)


TIE = 0.5 - 2.0**-49 - 2.0**-52  # sequential sums and the closed form part from column 16 on
MATRICES = [
    (1, 0, 0, 0, 1, 0),
    (1, 0, TIE, 0, 1, TIE),
    (1, 0, -TIE, 0, 1, -TIE),
    (1, 1e-300, TIE, 0, 1, TIE),
    (-1, 0, 33, 0, -1, 20),
    (0, 1, 0, 1, 0, 0),
    (0, 0, 3, 0, 0, 3),
    (2, -0.0, 0.5, -0.0, 2, 0.5),
    (1 + 0.5 / 65536, 1 / 65536, 0.5 / 65536, -0.5 / 65536, 1 - 0.5 / 65536, -1 / 65536),
    (1, 1e-12, 0, 1e-12, 1, 0),
    (1, -1e-12, 1e-12, 1e-12, 1, -1e-12),
    (1, 1, 32766, 1, 1, 0),
    (1, 0.5, 32767.0, 0.5, 1, -32767.0),
    (1, 0.5, 32768.0, 0.5, 1, -32768.0),
    (1e9, 1, 0, 1, 1e9, 0),
    (1, 1, -1e9, 1, 1, 1e9),
    (0.1, 0.03, 0.06, -0.03, 0.1, 0.12),
    (1, 0.3, -0.1, -0.3, 1, 0.1),
]


# name: (recipe, published and edge values, a random one)
class Recipes(dict):
    """By op."""

    def __missing__(self, name):
        raise LookupError(
            f"op '{name}' is new: it wants an entry in RECIPES of tests/pillow/recipes.py, which says "
            "how Pillow does it, and then its golden vectors, by tests/golden/make.py"
        )


RECIPES = Recipes(
    {
        "identity": (lambda image, values, resample, fill: image.copy(), [()], None),
        "auto_contrast": (colours_only(lambda image, values, resample, fill: ImageOps.autocontrast(image)), [()], None),
        "equalize": (colours_only(lambda image, values, resample, fill: ImageOps.equalize(image)), [()], None),
        "invert": (colours_only(lambda image, values, resample, fill: ImageOps.invert(image)), [()], None),
        "posterize": (colours_only(posterize), singles(list(range(9))), None),
        "solarize": (
            colours_only(lambda image, values, resample, fill: ImageOps.solarize(image, values[0])),
            singles([0, 1, 127.5, 128, 255, 256, 0.001] + [float(np.float32(8.5 * i)) for i in range(31)]),
            random_between(0, 256),
        ),
        "solarize_add": (
            colours_only(solarize_add),
            singles([0, 11, 22, 33, 44, 55, 66, 77, 88, 99, 110, 128, 255, 10.9])
            + [(60.0, 0.0), (60.0, 100.5), (60.0, 256.0), (60.0, -3.0)],
            random_between(0, 255),
        ),
        "brightness": (enhance(ImageEnhance.Brightness), singles(FACTORS), random_between(-1, 3)),
        "color": (enhance(ImageEnhance.Color), singles(FACTORS), random_between(-1, 3)),
        "contrast": (enhance(ImageEnhance.Contrast), singles(FACTORS), random_between(-1, 3)),
        "sharpness": (enhance(ImageEnhance.Sharpness), singles(FACTORS), random_between(-1, 3)),
        "desaturate": (
            enhance(ImageEnhance.Color, lambda values: min(1.0, max(0.0, 1.0 - values[0]))),
            singles([0.5 + 0.5 * (i / 10.0) for i in range(11)] + [0, 1e-9, 0.1, 0.3]),
            random_between(0, 1),
        ),
        "grayscale": (colours_only(grayscale), [()], None),
        "shear_x": (warp(lambda v, w, h: (1, v[0], 0, 0, 1, 0)), singles(SHEARS), random_between(-1, 1)),
        "shear_y": (warp(lambda v, w, h: (1, 0, 0, v[0], 1, 0)), singles(SHEARS), random_between(-1, 1)),
        "translate_x": (warp(lambda v, w, h: (1, 0, -v[0], 0, 1, 0)), singles(PIXELS), random_between(-40, 40)),
        "translate_y": (warp(lambda v, w, h: (1, 0, 0, 0, 1, -v[0])), singles(PIXELS), random_between(-40, 40)),
        "translate_x_rel": (
            warp(lambda v, w, h: (1, 0, -(v[0] * w), 0, 1, 0)),
            singles(FRACTIONS),
            random_between(-1, 1),
        ),
        "translate_y_rel": (
            warp(lambda v, w, h: (1, 0, 0, 0, 1, -(v[0] * h))),
            singles(FRACTIONS),
            random_between(-1, 1),
        ),
        "rotate": (rotate, singles(DEGREES), random_between(-400, 400)),
        "flip_lr": (flip(Image.Transpose.FLIP_LEFT_RIGHT), [()], None),
        "flip_ud": (flip(Image.Transpose.FLIP_TOP_BOTTOM), [()], None),
        "cutout": (cutout, singles([0, 1, 2, 3, 4.5, 16, 60, 1000]), random_square),
        "cutout_tf": (cutout_tf, singles([0, 1, 2, 2.9, 16, 40, 1000]), random_square),
        "bbox_cutout": (
            bbox_cutout,
            singles([0, 0.1, 0.3, 0.5, 0.75, 1])
            + [(0.5, 3.0, 2.0, 8.0, 5.0), (0.75, 0.0, 20.0, 31.0, 9.0), (1.0, 9.0, 9.0, 200.0, 1.0)],
            None,
        ),
        "gaussian_blur": (
            lambda image, values, resample, fill: image.filter(ImageFilter.GaussianBlur(values[0])),
            singles(RADII),
            random_between(0, 20),
        ),
        **{
            name: (fixed_filter(getattr(ImageFilter, name.upper())), [()], None)
            for name in (
                "smooth",
                "sharpen",
                "edge_enhance",
                "edge_enhance_more",
                "find_edges",
                "contour",
                "detail",
                "emboss",
                "blur",
                "smooth_more",
            )
        },
        "affine": (warp(lambda v, w, h: v), [tuple(float(x) for x in m) for m in MATRICES], random_affine),
    }
)

WARPS = {
    "shear_x",
    "shear_y",
    "translate_x",
    "translate_y",
    "translate_x_rel",
    "translate_y_rel",
    "rotate",
    "flip_lr",
    "flip_ud",
    "affine",
}
