# SPDX-License-Identifier: Apache-2.0
"""Every operation of the table as a function, against Pillow."""

import numpy as np
import pytest
from conftest import DEVICES, refused, torch

import motley
import recipes
from motley import ops


def values_of(name, count):
    """Values for `count` images, out of those that the tests against Pillow use."""
    listed = recipes.RECIPES[name][1]
    return [listed[i % len(listed)] for i in range(count)]


def wanted(name, pixels, values, resample=0, fill=(0, 0, 0)):
    recipe = recipes.RECIPES[name][0]
    return np.stack(
        [
            recipes.to_array(recipe(recipes.to_pil(x), v, recipes.FILTERS[resample], fill))
            for x, v in zip(pixels, values)
        ]
    )


def as_arguments(values):
    """One number an image where that is all, else rows; nothing for an op without values."""
    return () if not values[0] else ([v[0] if len(v) == 1 else list(v) for v in values],)


def test_the_table_is_the_librarys():
    assert list(ops.table)[:3] == ["identity", "auto_contrast", "equalize"] and set(ops.table) == set(recipes.RECIPES)
    for name, row in ops.table.items():
        function = getattr(ops, name)
        assert function.__name__ == name and row.summary in function.__doc__ and row.matches in function.__doc__


@pytest.mark.parametrize("name", list(ops.table))
@pytest.mark.parametrize("device", ["numpy", *DEVICES])
def test_equals_pillow(pixels, name, device):
    if device == "cpu" and torch is None:
        pytest.skip("no torch")
    values = values_of(name, len(pixels))
    if len({len(v) for v in values}) > 1:
        values = [v[:1] for v in values]
    x = pixels if device == "numpy" else torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2).contiguous()

    def hwc(array):
        return array if device == "numpy" else array.cpu().permute(0, 2, 3, 1).numpy()

    warps = ops.table[name].shape == "warp"
    for resample, filter in enumerate(("nearest", "bilinear", "bicubic")[: 3 if warps else 1]):
        want = wanted(name, pixels, values, resample, (9, 80, 200))
        call = dict(interpolation=filter, fill=(9, 80, 200))
        out = getattr(ops, name)(x, *as_arguments(values), **call)
        np.testing.assert_array_equal(hwc(out), want)
        np.testing.assert_array_equal(hwc(x), pixels)
        work = x.copy() if device == "numpy" else x.clone()
        assert getattr(ops, name)(work, *as_arguments(values), out=work, **call) is work
        np.testing.assert_array_equal(hwc(work), want)


def test_values_in_every_form(pixels):
    degrees = np.linspace(-40, 40, len(pixels))
    want = wanted("rotate", pixels, [(d,) for d in degrees])
    forms = [degrees, list(degrees), tuple(degrees), degrees.reshape(-1, 1)]
    forms += [np.stack([degrees, degrees], 1)[:, 1], degrees[::-1].copy()[::-1]]
    if torch is not None:
        forms += [torch.from_numpy(degrees), torch.from_numpy(np.stack([degrees, degrees], 1))[:, 0]]
    for form in forms:
        np.testing.assert_array_equal(ops.rotate(pixels, form), want)
    for same in (30, 30.0, [30], np.float64(30)):
        np.testing.assert_array_equal(ops.rotate(pixels, same), wanted("rotate", pixels, [(30.0,)] * 12))
    np.testing.assert_array_equal(ops.rotate(pixels[3], 30), wanted("rotate", pixels[3:4], [(30.0,)])[0])
    np.testing.assert_array_equal(ops.apply("rotate", pixels, 30), ops.rotate(pixels, 30))
    matrix = [[1.1, 0.2, -3], [-0.1, 0.9, 4]]
    want = wanted("affine", pixels, [(1.1, 0.2, -3.0, -0.1, 0.9, 4.0)] * 12)
    for form in (
        matrix,
        np.array(matrix),
        np.array(matrix).ravel(),
        [matrix] * 12,
        np.stack([matrix] * 12),
        np.stack([np.ravel(matrix)] * 12),
    ):
        np.testing.assert_array_equal(ops.affine(pixels, form), want)
    np.testing.assert_array_equal(
        ops.affine(pixels[:6], np.ravel(matrix)), want[:6]
    )  # as many images as an affine has numbers
    two = np.arange(2) + 1.0  # two images, a number for each, of an op that can take more
    np.testing.assert_array_equal(
        ops.solarize_add(pixels[:2], two * 60), wanted("solarize_add", pixels[:2], [(60.0,), (120.0,)])
    )
    want = wanted("cutout", pixels, [(8.0, 10.0, 12.0)] * 12)
    for form in ([8, 10, 12], [[8, 10, 12]] * 12, np.array([[8.0, 10, 12]] * 12), np.array([8, 10, 12])):
        np.testing.assert_array_equal(ops.cutout(pixels, form), want)


def test_lists_and_pictures(pixels):
    arrays = [pixels[0], pixels[1][:9, :20].copy(), pixels[2][:1]]
    out = ops.shear_x(arrays, [0.1, 0.2, 0.3])
    for a, b, v in zip(arrays, out, (0.1, 0.2, 0.3)):
        np.testing.assert_array_equal(b, wanted("shear_x", [a], [(v,)])[0])
    picture = recipes.to_pil(pixels[0])
    assert np.array_equal(ops.invert(picture), 255 - pixels[0])


def test_a_call_that_is_kept_looks_at_its_array(pixels):
    """An op without values keeps its call for arrays of one form: arrays of that shape can have another."""
    first = pixels[0]
    for array in (first, pixels[1], first[:, ::-1], np.asfortranarray(first), np.broadcast_to(first[:1], first.shape)):
        made = ops.invert(array)
        np.testing.assert_array_equal(made, 255 - array)
        np.testing.assert_array_equal(ops.invert(array, threads=1), made)
    ops.invert(first)
    refused("dtype is int8, want uint8", ops.invert, first.view(np.int8), error=ValueError)
    refused("interpolation is 'cubic'", ops.invert, first, interpolation="cubic", error=ValueError)
    refused("fill", ops.invert, first, fill=300, error=ValueError)


@pytest.mark.parametrize(
    "call,message",
    [
        (lambda x: ops.rotate(x), r"rotate takes values \(degrees, counter-clockwise\), none were given"),
        (lambda x: ops.rotate(x, [1, 2]), r"rotate: 2 values for 12 images, want 1, or 1 for each \(degrees"),
        (lambda x: ops.rotate(x, [[1, 2]] * 12), "rotate: 24 values for 12 images"),
        (lambda x: ops.rotate(x, []), "rotate: 0 values for 12 images"),
        (lambda x: ops.invert(x, 3), "invert: 1 values for 12 images"),
        (
            lambda x: ops.affine(x, [[1.0] * 6] * 11 + [[1.0] * 5]),
            "affine: 71 values for 12 images, want 6, or 6 for each",
        ),
        (lambda x: ops.cutout(x, [[3, 1, 1]] * 11 + [[3]]), "cutout: 34 values for 12 images, want 3, or 3 for each"),
        (lambda x: ops.cutout(x, [1, 2, 3, 4, 5]), "cutout takes 1 to 3 values .*, 5 were given"),
        (lambda x: ops.posterize(x, 9), "image 0: posterize: value is 9, want 0 to 8"),
        (lambda x: ops.posterize(x, 3.5), r"image 0: posterize: value is 3.5, want a whole number \(bits kept\)"),
        (lambda x: ops.rotate(x, float("nan")), "value 0 is nan"),
        (lambda x: ops.rotate(x, "much"), "a value is '.*', want a number"),
        (lambda x: ops.rotate(x, {}), "a value is a dict, want a number"),
        (lambda x: ops.rotate(x, 3, interpolation="cubic"), "interpolation is 'cubic'"),
        (lambda x: ops.apply("turn", x), "there is no operation 'turn'"),
        (lambda x: ops.rotate(x.astype(np.float64), 3), "dtype is float64, want uint8"),
        (lambda x: ops.rotate(x, 3, out=x[:5]), "dst: count is 5, want src's 12"),
    ],
)
def test_mistakes(pixels, call, message):
    refused(message, call, pixels, error=ValueError)


def test_nothing_of_nothing():
    assert ops.rotate(np.zeros((0, 4, 4, 3), np.uint8), 3).shape == (0, 4, 4, 3)
    assert motley.ops.invert([]) == []
