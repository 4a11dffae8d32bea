# SPDX-License-Identifier: Apache-2.0
"""timm's strings and hparams against timm itself: for a given draw the same pixels."""

import pathlib
import sys

import pytest

numpy = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

import motley.timm  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests/pillow"))
import replay  # noqa: E402

if replay.Timm.load() is None:
    pytest.skip("timm is not installed", allow_module_level=True)

AA_PARAMS = {"translate_const": 100, "img_mean": (124, 116, 104)}  # as timm.data.create_transform gives them
CONFIGS = """
    rand-m9-mstd0.5-inc1 rand-m9-n3-mstd0.5 rand-m5-p0.8 rand-mstd101-inc1 rand-m7-tweights-inc1 rand-m8-t3a
    rand-m15-mmax20-mstd1 original-mstd0.5 originalr v0 v0r-mstd0.5 3a 3a-mstd0.5
""".split()


def picture(width=37, height=29, seed=1):
    draw = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [128 + 90 * numpy.sin(x / 5 + c) + 30 * numpy.cos(y / 3) + draw.normal(0, 8, x.shape) for c in range(3)]
    return Image.fromarray(numpy.clip(numpy.stack(planes, -1), 0, 255).astype(numpy.uint8))


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize(
    "hparams", [None, AA_PARAMS, {**AA_PARAMS, "interpolation": Image.BILINEAR}], ids=["plain", "mean", "bilinear"]
)
def test_pixels_are_timms(config, hparams):
    transform, theirs, image = motley.from_timm(config, hparams), replay.Timm(config), picture()
    fill = list((hparams or {}).get("img_mean", (128, 128, 128)))
    filters = {"bilinear"} if "interpolation" in (hparams or {}) else {"bilinear", "bicubic"}
    seen, changed = set(), 0
    for seed in range(40):
        out, steps = transform(image, sample_ids=seed, epoch=0, return_draws=True)
        for step in steps:
            if "fill" in step:
                assert step["fill"] == fill
                seen.add(step["interpolation"])
        complete = [{"value": None, "interpolation": "nearest", "fill": fill, **step} for step in steps]
        if any(step["op"] == "posterize" and step["value"] == 0 for step in steps):
            continue  # black, where Pillow allows it at all: from version 13 on it wants a bit at least
        want = theirs.run(image, complete)
        assert numpy.array_equal(numpy.asarray(out), numpy.asarray(want)), (seed, steps)
        changed += not numpy.array_equal(numpy.asarray(out), numpy.asarray(image))
    assert seen <= filters and changed > 15
