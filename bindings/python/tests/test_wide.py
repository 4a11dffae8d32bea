# SPDX-License-Identifier: Apache-2.0
"""U16 and F32 images of any number of bands, through the C interface: values are torchvision v2's, moves and resizes
are Pillow's modes F and I (resizes I;16), bit for bit, for the default ranges."""

import numpy as np
import pytest

from motley._core import ffi, lib

torch = pytest.importorskip("torch")
F = pytest.importorskip("torchvision.transforms.v2.functional")
Image = pytest.importorskip("PIL.Image")
if not hasattr(torch, "uint16"):
    pytest.skip("torch is older than uint16", allow_module_level=True)

TYPES = {"uint8": 0, "float32": 1, "float16": 2, "uint16": 4}
BACKENDS = {"cpu": lib.MOTLEY_BACKEND_CPU, "reference": lib.MOTLEY_BACKEND_REFERENCE}


@pytest.fixture(params=BACKENDS)
def context(request):
    made = ffi.new("motley_context **")
    params = ffi.new("motley_context_params *", {"backend": BACKENDS[request.param], "threads": 1})
    check(lib.motley_context_create(params, made, error := ffi.new("motley_error *")), error)
    yield made[0]
    lib.motley_context_destroy(made[0])


def check(status, error):
    if status:
        raise ValueError(ffi.string(error.message).decode())


def batch(x, keep, range=None, clamp=True):
    """Of an array [n, c, h, w] of any strides."""
    n, c, h, w = x.shape
    made = ffi.new("motley_batch *")
    made.count, made.channels, made.dtype, made.width, made.height = n, c, TYPES[x.dtype.name], w, h
    made.data = ffi.cast("void *", x.ctypes.data)
    made.image_stride, made.channel_stride, made.row_stride, made.pixel_stride = x.strides
    made.unclamped = not clamp
    if range is not None:
        keep.append(pairs := ffi.new("double[][2]", np.atleast_2d(range).tolist()))
        made.range, made.ranges = pairs, len(pairs)
    keep.append(x)
    return made


def apply_op(context, x, name, *values, range=None, clamp=True, fill=None, interpolation=0, out=None):
    keep, out = [], np.empty_like(x) if out is None else out
    op = lib.motley_op_find(name.encode())
    params = ffi.new("motley_op_params *", {"interpolation": interpolation})
    if fill is not None:
        keep.append(fill := ffi.new("double[]", list(fill)))
        params.fill = fill
    numbers = ffi.new("double[]", [float(v) for v in values] * len(x))
    check(
        lib.motley_op_apply(
            context,
            op,
            numbers,
            len(values),
            batch(x, keep, range, clamp),
            batch(out, keep),
            params,
            error := ffi.new("motley_error *"),
        ),
        error,
    )
    return out


def same(ours, theirs):
    """-0 is 0 and NaN is NaN."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    differ = ~((ours == theirs) | ((ours != ours) & (theirs != theirs)))
    assert not differ.any(), (
        f"{differ.sum()} of {differ.size} differ, the first {ours[differ][0]!r} {theirs[differ][0]!r}"
    )


def pictures(dtype, channels, seed=0):
    """Noise; levels of bytes; a dark one; what lies outside of the range, with -0 and infinities; a flat one."""
    rng = np.random.default_rng(seed)
    x = rng.random((5, channels, 61, 83))
    x[1] = rng.integers(0, 256, x[1].shape) / 255
    x[2] = x[2] * 0.1 + 0.02
    x[3] = x[3] * 3 - 1
    x[4, :, :30] = 0.25
    if dtype == "uint16":
        return (np.clip(x, 0, 1) * 65535).astype("uint16")
    x = x.astype("float32")
    x[3, 0, 5, 5:9] = [-0.0, np.inf, -np.inf, 1.0]
    return x


def tensor(x):
    return torch.from_numpy(x)


VALUES = {
    "brightness": ([0, 0.3, 0.999, 1, 1.7], F.adjust_brightness),
    "color": ([0, 0.3, 0.7, 1.9, 1.1], F.adjust_saturation),
    "sharpness": ([0, 0.3, 0.7, 1.9, 1.1], F.adjust_sharpness),
    "invert": ([None], lambda x, _: F.invert(x)),
    "posterize": ([0, 1, 2, 5, 7, 8], lambda x, bits: F.posterize(x, bits)),
    "solarize": ([0, 8.5, 25.5, 127.5, 128, 255], lambda x, v: F.solarize(x, scaled(x, v))),
    "auto_contrast": ([None], lambda x, _: F.autocontrast(x)),
    "equalize": ([None], lambda x, _: F.equalize(x)),
    "grayscale": ([None], lambda x, _: F.rgb_to_grayscale(x, 3)),
}


def scaled(x, value):
    return value / 255 * (1.0 if x.is_floating_point() else 65535)


@pytest.mark.parametrize("dtype", ["float32", "uint16"])
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("channels", [3, 1])
def test_values_are_torchvisions(context, name, dtype, channels):
    if channels == 1 and name == "grayscale":
        pytest.skip("it changes three colours alone")
    x, (values, theirs) = pictures(dtype, channels), VALUES[name]
    if channels == 1 and name == "sharpness":
        x = np.ascontiguousarray(np.tile(x, (1, 1, 3, 3)))  # torch sums small images in another order
    if name == "equalize":
        x = np.where(np.isfinite(x), x, 0).astype(dtype).clip(0)  # torch counts others outside of its histogram
        x = x.clip(0, 1) if dtype == "float32" else x
    for value in values:
        given = () if value is None else (value,)
        same(apply_op(context, x, name, *given), theirs(tensor(x), value).numpy())


@pytest.mark.parametrize("dtype", ["float32", "uint16"])
def test_contrast_has_the_mean_of_whole_numbers(context, dtype):
    x = pictures(dtype, 3)[:3]
    for factor in [0, 0.4, 1.9]:
        ours, theirs = apply_op(context, x, "contrast", factor), F.adjust_contrast(tensor(x), factor).numpy()
        apart = np.abs(ours.astype("float64") - theirs.astype("float64")).max()
        assert apart <= (1 if dtype == "uint16" else 1.2e-7)


def transformed(plane, name, value, filter, fill):
    """A warp of one band by Pillow."""
    image = Image.fromarray(plane)
    if name == "rotate":
        return image.rotate(value, filter, fillcolor=fill)
    matrix = value
    if name != "affine":
        matrix = (1, value, 0, 0, 1, 0) if name == "shear_x" else (1, 0, 0, 0, 1, -value)
    return image.transform(image.size, Image.Transform.AFFINE, matrix, filter, fillcolor=fill)


@pytest.mark.parametrize("dtype", ["float32", "uint16"])
@pytest.mark.parametrize("interpolation", [0, 1, 2])
@pytest.mark.parametrize(
    "name, values",
    [
        ("rotate", [3, 30, 90, 180, -71.5]),
        ("shear_x", [0.3, -0.9]),
        ("translate_y", [7, -20]),
        ("affine", [(1.1, 0.2, -3.3, -0.1, 0.8, 4.7), (0.5, 0, 3.25, 0, -0.75, 55.5)]),
    ],
)
def test_moves_are_pillows(context, name, values, interpolation, dtype):
    x = pictures(dtype, 13)
    fill = [0.25] * 13 if dtype == "float32" else [777] * 13
    filter = [Image.Resampling.NEAREST, Image.Resampling.BILINEAR, Image.Resampling.BICUBIC][interpolation]
    if interpolation:
        x = np.where(np.isfinite(x), x, 0).astype(dtype)
    for value in values:
        given = value if name == "affine" else (value,)
        ours = apply_op(context, x, name, *given, interpolation=interpolation, fill=fill)
        for i in range(len(x)):
            for c in (0, 3, 12):
                plane = x[i, c] if dtype == "float32" else x[i, c].astype("int32")
                theirs = np.asarray(transformed(plane, name, value, filter, fill[c]))
                same(ours[i, c], theirs if dtype == "float32" else theirs.clip(0, 65535).astype("uint16"))


def resize(context, x, width, height, filter):
    keep, out = [], np.empty((*x.shape[:2], height, width), x.dtype)
    params = ffi.new("motley_resize_params *", {"filter": filter})
    error = ffi.new("motley_error *")
    check(lib.motley_resize(context, batch(x, keep), batch(out, keep), params, error), error)
    return out


@pytest.mark.parametrize("dtype", ["float32", "uint16"])
@pytest.mark.parametrize(
    "filter, theirs", [(0, "BILINEAR"), (1, "BICUBIC"), (2, "LANCZOS"), (3, "NEAREST"), (4, "BOX"), (5, "HAMMING")]
)
def test_resizes_are_pillows(context, filter, theirs, dtype):
    x = pictures(dtype, 5)
    x = np.where(np.isfinite(x), x, 0).astype(dtype)
    for width, height in [(40, 30), (83, 61), (200, 30), (20, 140), (83, 20), (166, 122)]:
        ours = resize(context, x, width, height, filter)
        for i in range(len(x)):
            for c in (0, 4):
                same(ours[i, c], np.asarray(Image.fromarray(x[i, c]).resize((width, height), Image.Resampling[theirs])))


def opened(policy):
    made, error = ffi.new("motley_policy **"), ffi.new("motley_error *")
    text = policy.encode()
    if "\n" in policy:
        check(lib.motley_policy_parse(text, len(text), ffi.NULL, made, error), error)
    else:
        check(lib.motley_policy_builtin(text, made, error), error)
    return ffi.gc(made[0], lib.motley_policy_destroy)


def applied(context, policy, x, range=None, clamp=True, out=None, seed=3, **fields):
    """The results of a policy, and what each image drew: places, steps and how many."""
    policy, error, keep = opened(policy), ffi.new("motley_error *"), []
    most = max(lib.motley_policy_describe(policy).max_steps, 1)
    out = np.empty_like(x) if out is None else out
    params = ffi.new("motley_apply_params *", {"samples": {"seed": seed}})
    places, steps, counts = (
        ffi.new(f"{kind}[]", len(x) * n) for kind, n in [("motley_place", 1), ("motley_step", most), ("int32_t", 1)]
    )
    if "given_steps" not in fields:
        params.steps, params.step_counts, params.drawn = steps, counts, places
    for name, value in fields.items():
        target = params
        *path, last = name.split("__")
        for part in path:
            target = getattr(target, part)
        setattr(target, last, value)
    check(lib.motley_apply(context, policy, batch(x, keep, range, clamp), batch(out, keep), params, error), error)
    return out, (places, steps, counts, most)


def listed(drawn):
    _, steps, counts, most = drawn
    chosen = [steps[i * most + s] for i, n in enumerate(counts) for s in np.arange(n)]
    return [(s.op, s.level, list(s.values), s.interpolation, list(s.fill)) for s in chosen]


def bytes_of(channels, count=40):
    smooth = np.random.default_rng(5).random((count, channels, 9, 11)).astype("float32")
    large = torch.nn.functional.interpolate(tensor(smooth), size=(48, 60), mode="bicubic").numpy()
    return (large * 255).clip(0, 255).astype("uint8")


def put(x, kind):
    """Bytes in another type, its range, and the size of a level."""
    if kind == "uint16":
        return x.astype("uint16") * 257, None, 257
    if kind == "12 bits":
        return np.rint(x * (4095 / 255)).astype("uint16"), (0, 4095), 4095 / 255
    lo, hi = {"0..1": (0, 1), "0..10000": (0, 10000), "-1..1": (-1, 1)}[kind]
    return (lo + x / 255.0 * (hi - lo)).astype("float32"), (lo, hi), (hi - lo) / 255


WIDE = """motley: 1
name: all
repeat: 3
bins: 31
level: uniform
fill: [9, 120, 250]
interpolation: [nearest, bilinear, bicubic]
ops:
  rotate: {range: [-180, 180]}
  shear_x: {range: [-0.9, 0.9]}
  translate_y: {range: [-30, 30]}
  color: {range: [0, 1.9]}
  posterize: {range: [0, 8]}
  solarize: {range: [0, 256]}
  solarize_add: {range: [0, 110]}
  contrast: {range: [0, 1.9]}
  brightness: {range: [0, 1.9]}
  sharpness: {range: [0, 1.9]}
  cutout: {range: [0, 30]}
  gaussian_blur: {range: [0, 3]}
  desaturate: {range: [0, 1]}
branches: [rotate, shear_x, translate_y, color, posterize, solarize, solarize_add, contrast, brightness, sharpness,
           cutout, gaussian_blur, desaturate, auto_contrast, equalize, invert, grayscale, flip_lr, flip_ud, smooth,
           contour, find_edges, emboss, blur, smooth_more, detail]
"""


@pytest.mark.parametrize(
    "kind, bound", [("0..1", 1.55), ("0..10000", 1.55), ("-1..1", 1.55), ("uint16", 1.55), ("12 bits", 1.6)]
)
@pytest.mark.parametrize("channels", [1, 3])
def test_one_draw_and_one_picture(context, kind, bound, channels):
    x = bytes_of(channels)
    wide, range, level = put(x, kind)
    as_bytes, drawn = applied(context, "trivial_augment_wide", x)
    ours, same_drawn = applied(context, "trivial_augment_wide", wide, range)
    assert listed(drawn) == listed(same_drawn) and len(listed(drawn)) == len(x)
    lo = range[0] if range else 0
    levels = (ours.astype("float64") - lo) / level
    assert np.abs(levels - as_bytes).max() <= bound


def special(dtype, channels, width=61, height=47, seed=1):
    x = pictures(dtype, channels, seed)
    x = np.ascontiguousarray(np.concatenate([x, x[:, :, ::-1]])[:, :, :height, :width])
    if dtype == "float32":
        x[0, 0, 3 % height, :2] = np.nan
        x[1, channels - 1, 9 % height, 9 % width] = -np.nan
        x[5] = x[5] * 6 - 3
    return np.ascontiguousarray(np.tile(x, (4, 1, 1, 1)))


def bits(x):
    return x.view({2: "uint16", 4: "uint32"}[x.dtype.itemsize])


@pytest.mark.parametrize("dtype", ["float32", "uint16"])
@pytest.mark.parametrize(
    "channels, width, height", [(1, 61, 47), (3, 61, 47), (13, 61, 47), (3, 2, 2), (2, 1, 61), (4, 83, 5)]
)
def test_fast_loops_have_the_bits_of_the_reference(dtype, channels, width, height):
    x = special(dtype, channels, width, height)
    bands = [
        (0, 65535 - 1000 * c if c % 2 else 4095) if dtype == "uint16" else (-c * 0.5, 1 + c)
        for c in np.arange(channels)
    ]
    results = []
    for backend in BACKENDS.values():
        made, error = ffi.new("motley_context **"), ffi.new("motley_error *")
        check(
            lib.motley_context_create(
                ffi.new("motley_context_params *", {"backend": backend, "threads": 2}), made, error
            ),
            error,
        )
        results.append([])
        for range, clamp in [(None, True), (None, False), (bands, True), (bands[:1], False)]:
            out, drawn = applied(made[0], WIDE, x, range, clamp, seed=len(results[-1]))
            results[-1].append(out)
            nhwc = x.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)  # in place, other strides
            applied(made[0], WIDE, nhwc, range, clamp, seed=len(results[-1]) - 1, out=nhwc)
            assert (bits(np.ascontiguousarray(nhwc)) == bits(out)).all()
            again, _ = applied(  # replayed
                made[0],
                WIDE,
                x,
                range,
                clamp,
                given_steps=drawn[1],
                given_step_counts=drawn[2],
                given_max_steps=drawn[3],
            )
            assert (bits(again) == bits(out)).all()
            one = np.ascontiguousarray(x[:, 1:2]) if channels not in (1, 3) else None
            if one is not None:  # bands are independent of each other
                alone, _ = applied(
                    made[0],
                    WIDE.replace("[9, 120, 250]", "7"),
                    one,
                    [range[min(1, len(range) - 1)]] if range else None,
                    clamp,
                    seed=len(results[-1]) - 1,
                )
                together, _ = applied(
                    made[0], WIDE.replace("[9, 120, 250]", "7"), x, range, clamp, seed=len(results[-1]) - 1
                )
                assert (bits(alone) == bits(np.ascontiguousarray(together[:, 1:2]))).all()
        lib.motley_context_destroy(made[0])
    for fast, reference in zip(*results):
        differ = bits(fast) != bits(reference)
        assert not differ.any(), f"{differ.sum()} differ, in images {sorted(set(np.argwhere(differ)[:, 0]))}"


STAGES = """motley: 1
name: staged
stages:
  - random_resized_crop: {size: [30, 40], filter: bicubic}
  - flip: {horizontal: 0.5, vertical: 0.5}
  - policy: trivial_augment_wide
"""


@pytest.mark.parametrize("dtype", ["float32", "uint16"])
@pytest.mark.parametrize("channels", [13, 3])
def test_stages(context, dtype, channels):
    x = pictures(dtype, channels, 7)
    x = np.where(np.isfinite(x), x, 0).astype(dtype)
    out, (places, _, counts, _) = applied(
        context,
        STAGES.replace("  - policy: trivial_augment_wide\n", ""),
        x,
        out=np.empty((len(x), channels, 30, 40), dtype),
    )
    for i, place in enumerate(places):
        c = place.crop
        part = x[i : i + 1, :, c.top : c.top + c.height, c.left : c.left + c.width]
        want = resize(context, part, 40, 30, 1)[0]
        want = want[:, ::-1] if place.flip_vertical else want
        same(out[i], want[:, :, ::-1] if place.flip_horizontal else want)
    means, stds = (np.random.default_rng(1).random((2, channels)) + 0.5).astype("float32")
    how = {"output__means": ffi.from_buffer("float[]", means), "output__stds": ffi.from_buffer("float[]", stds)}
    plain, _ = applied(context, STAGES, x, out=np.empty((len(x), channels, 30, 40), dtype))
    by = (means[None, :, None, None], stds[None, :, None, None])
    for kind in ["float32", "float16"]:
        made, _ = applied(context, STAGES, x, out=np.empty(plain.shape, kind), **how)
        same(made, ((plain.astype("float32") - by[0]) / by[1]).astype(kind))


def test_output_of_a_policy(context):
    x = pictures("uint16", 5)
    plain, _ = applied(context, "trivial_augment_wide", x)
    out = np.empty(x.shape, "float32")
    mean, std = np.float32(3000), np.float32(123)
    keep = []
    output = ffi.new("motley_output *", {"mean": [mean] * 4, "std": [std] * 4, "batch": batch(out, keep)[0]})
    params = ffi.new("motley_apply_params *", {"samples": {"seed": 3}, "output": output[0]})
    error = ffi.new("motley_error *")
    policy = opened("trivial_augment_wide")
    check(lib.motley_apply(context, policy, batch(x, keep), ffi.NULL, params, error), error)
    same(out, (plain.astype("float32") - mean) / std)


@pytest.mark.parametrize(
    "how, message",
    [
        ({"range": (1, 1)}, "src: range 0 is 1..1, want two numbers of float32, the lower one first"),
        ({"range": (0, float("nan"))}, "src: range 0 is 0..nan, want two numbers"),
        ({"range": [(0, 1), (0, 2)]}, "src: ranges is 2, want 1, or one for each of 13 channels"),
        ({"dtype": "uint16", "range": (1, 9)}, "src: range 0 is 1..9, want 0..1 to 0..65535 of uint16, whole numbers"),
        ({"dtype": "uint16", "range": (0, 70000)}, "src: range 0 is 0..70000, want 0..1 to 0..65535 of uint16"),
        (
            {"dtype": "uint8", "range": (0, 1), "channels": 3},
            "src: range or unclamped is set, but images of uint8 have no range",
        ),
        ({"dtype": "float16"}, "src: dtype is 2 (float16), want MOTLEY_U8, MOTLEY_U16 or MOTLEY_F32"),
        ({"channels": 1025}, "src: channels is 1025, want 1 to 1024"),
        (
            {"policy": "motley: 1\nname: t\nstages: [mix: {mixup: 0.2}]\n", "dtype": "uint16"},
            "mixes images, want dst as F32, F16 or BF16 of uint16",
        ),
        ({"policy": "augmix"}, "mixes chains of ops, which is not supported yet of float32: want images of uint8"),
        ({"clip_frames": 2}, "clip_frames is set, which is not supported yet of float32"),
        (
            {"policy": "simclr_torchvision", "channels": 3, "size": 224},
            "the hue is turned, which is not supported yet of 3 channels",
        ),
    ],
)
def test_refusals(context, how, message):
    x = np.zeros((2, how.get("channels", 13), 9, 11), how.get("dtype", "float32"))
    out = np.zeros((2, x.shape[1], how["size"], how["size"]), "float32") if "size" in how else None
    fields = {k: v for k, v in how.items() if k in ("range", "clip_frames")}
    with pytest.raises(ValueError) as error:
        applied(context, how.get("policy", "trivial_augment_wide"), x, out=out, **fields)
    assert message in str(error.value)
