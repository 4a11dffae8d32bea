# SPDX-License-Identifier: Apache-2.0
"""Stages of detection recipes, against Pillow's own changes of the same images by the numbers that were drawn."""

import itertools

import numpy as np
import PIL.Image
import PIL.ImageEnhance
import pytest
from test_transform_stages import ORDER, photographs  # noqa: F401 (a fixture)

import motley

ORDERS = list(itertools.permutations(range(3)))
ENHANCERS = {
    "brightness": PIL.ImageEnhance.Brightness,
    "contrast": PIL.ImageEnhance.Contrast,
    "color": PIL.ImageEnhance.Color,
}
HEAD = "motley: 1\nname: a\nstages:\n"


def changed(image, steps):
    """An array after the steps of a photometric, as torchvision makes them of Pillow's parts."""
    image = PIL.Image.fromarray(image)
    for step in steps:
        op, value = step["op"], step["value"]
        if op in ENHANCERS:
            image = ENHANCERS[op](image).enhance(value)
        elif op == "hue":
            h, s, v = image.convert("HSV").split()
            turned = (np.asarray(h).astype(int) + int(value * 255)) % 256
            image = PIL.Image.merge("HSV", (PIL.Image.fromarray(turned.astype(np.uint8)), s, v)).convert("RGB")
        else:
            assert op == "permute"
            image = PIL.Image.fromarray(np.ascontiguousarray(np.asarray(image)[..., list(ORDERS[int(value)])]))
    return np.asarray(image)


def replayed(transform, images, draws):
    """By recorded draws, by draws as JSON, and in place of the list one by one."""
    made = transform.replay(images, draws)
    assert all(np.array_equal(a, transform.replay(x, draw)) for a, x, draw in zip(made, images, draws))
    return made


PHOTO = HEAD + f"  - photometric: {{}}\n  - resize: {{size: [33, 21], order: {ORDER}}}\n"


def test_photometric_changes_the_source(photographs):  # noqa: F811
    transform = motley.Transform(PHOTO, seed=3)
    counts = dict.fromkeys(["brightness", "contrast", "color", "hue", "permute", "contrast last"], 0)
    for epoch in range(60):
        made, draws = transform(photographs, sample_ids=range(6), epoch=epoch, return_draws=True)
        assert all(np.array_equal(a, b) for a, b in zip(made, replayed(transform, photographs, draws)))
        for x, y, draw in zip(photographs, made, draws):
            ops = [step["op"] for step in draw["steps"]]
            assert draw.get("before", 0) == len(ops)
            for op in ops:
                counts[op] += 1
            counts["contrast last"] += ops[-2:] == ["hue", "contrast"] or ops[-3:-1] == ["hue", "contrast"]
            image = PIL.Image.fromarray(changed(x, draw["steps"]))
            assert np.array_equal(y, np.asarray(image.resize((21, 33), PIL.Image.BILINEAR)))
    assert all(150 < counts[op] < 210 for op in ("brightness", "contrast", "color", "hue"))  # of 360, at 0.5
    assert 120 < counts["permute"] < 180  # of 360, at 0.5, and one in six orders is the old one
    assert 25 < counts["contrast last"] < 65


def test_photometric_before_what_else_places_images(photographs):  # noqa: F811
    text = HEAD + (
        f"  - photometric: {{p: 0.8, channels: 0.3}}\n  - zoom_out: {{p: 0.7, fill: [123, 117, 104]}}\n"
        f"  - resize: {{size: [40, 50], order: {ORDER}}}\n  - flip: {{horizontal: 0.5}}\n  - grayscale: {{p: 0.4}}\n"
    )
    transform = motley.Transform(text, seed=3)
    for epoch in range(20):
        made, draws = transform(photographs, sample_ids=range(6), epoch=epoch, return_draws=True)
        assert all(np.array_equal(a, b) for a, b in zip(made, replayed(transform, photographs, draws)))
        for x, y, draw in zip(photographs, made, draws):
            before, crop = draw.get("before", 0), draw["crop"]
            canvas = PIL.Image.new("RGB", (crop["width"], crop["height"]), (123, 117, 104))
            canvas.paste(PIL.Image.fromarray(changed(x, draw["steps"][:before])), (-crop["left"], -crop["top"]))
            image = canvas.resize((50, 40), PIL.Image.BILINEAR)
            image = image.transpose(PIL.Image.FLIP_LEFT_RIGHT) if draw["flip"]["horizontal"] else image
            if draw["steps"][before:]:
                assert [step["op"] for step in draw["steps"][before:]] == ["grayscale"]
                image = image.convert("L").convert("RGB")
            assert np.array_equal(y, np.asarray(image))


@pytest.mark.parametrize("stages", ["photometric: {}", "flip: {horizontal: 0.5}\n  - photometric: {p: 0.9}"])
def test_photometric_elsewhere_is_a_step(photographs, stages):  # noqa: F811
    transform = motley.Transform(f"{HEAD}  - {stages}\n", seed=3)
    for epoch in range(20):
        for i, x in enumerate(photographs):
            made, draw = transform(x, sample_ids=i, epoch=epoch, return_draws=True)
            assert "before" not in draw
            flipped = x[:, ::-1] if draw["flip"]["horizontal"] else x
            assert np.array_equal(made, changed(np.ascontiguousarray(flipped), draw["steps"]))


def test_photometric_of_other_images(photographs):  # noqa: F811
    """Grey images, RGBA with its alpha, planes, and an output behind it."""
    x = photographs[0]
    rgba = np.dstack([x, x[..., 1]])
    for text in (PHOTO, HEAD + "  - photometric: {}\n"):
        transform = motley.Transform(text, seed=3)
        for i in range(40):
            made, draw = transform(x, sample_ids=i, epoch=0, return_draws=True)
            if text != PHOTO:  # a resize of RGBA multiplies by alpha
                both = motley.Transform(text, seed=3, alpha=True)(rgba, sample_ids=i, epoch=0)
                assert np.array_equal(both, np.dstack([made, rgba[..., 3]]))
            planes = np.ascontiguousarray(x.transpose(2, 0, 1))
            assert np.array_equal(transform(planes, sample_ids=i, epoch=0, layout="chw"), made.transpose(2, 0, 1))
            grey = transform(x[..., 0], sample_ids=i, epoch=0)
            steps = [step for step in draw["steps"] if step["op"] in ("brightness", "contrast")]
            image = PIL.Image.fromarray(x[..., 0])
            for step in steps:
                image = ENHANCERS[step["op"]](image).enhance(step["value"])
            image = image.resize((21, 33), PIL.Image.BILINEAR) if text == PHOTO else image
            assert np.array_equal(grey, np.asarray(image))


def test_photometric_that_is_refused(photographs):  # noqa: F811
    with pytest.raises(motley.PolicyError, match="'resize' stands behind 'jitter'"):
        motley.Policy(f"{HEAD}  - jitter: {{hue: 0.1}}\n  - photometric: {{}}\n  - resize: {{size: [3, 3]}}\n")
    with pytest.raises(motley.PolicyError, match="'hue'.*want -0.5..0.5"):
        motley.Policy(f"{HEAD}  - photometric: {{hue: [0, 1]}}\n")
    transform = motley.Transform(PHOTO, seed=3)
    x = photographs[0]
    draw = next(d for i in range(9) if (d := transform(x, sample_ids=i, epoch=0, return_draws=True)[1])["steps"])
    for wrong, why in (
        ({"before": len(draw["steps"]) + 1}, "but there are"),
        ({"steps": [{"op": "invert", "level": 0}], "before": 1}, "changes no source"),
        ({"steps": [{"op": "permute", "value": 1.5}], "before": 1}, "want a whole number"),
        ({"steps": [{"op": "permute", "value": 6.0}], "before": 1}, "want 0 to 5"),
    ):
        with pytest.raises(ValueError, match=why):
            transform.replay(x, {**draw, **wrong})
    plain = motley.Transform(HEAD + "  - resize: {size: [33, 21]}\n  - grayscale: {}\n", seed=3)
    with pytest.raises(ValueError, match="given steps change the source, want at most 0"):
        plain.replay(x, {**draw, "steps": [{"op": "permute", "value": 1.0}], "before": 1})
