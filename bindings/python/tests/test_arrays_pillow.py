# SPDX-License-Identifier: Apache-2.0
"""PIL images in and out: read where they lie, given back as images that own their memory."""

import gc
import io
import pickle

import pytest
from conftest import refused

numpy = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

import motley  # noqa: E402
from motley._arrays import Pillow  # noqa: E402

MODES = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}
VERSION = tuple(int(part) for part in Image.__version__.split(".")[:2])
reaches = pytest.mark.skipif(VERSION < (11, 2), reason=f"Pillow {Image.__version__} shows no addresses")


def pixels(mode, width, height, seed=0):
    array = numpy.random.default_rng(seed).integers(0, 256, (height, width, MODES[mode]), numpy.uint8)
    return array[..., 0] if mode == "L" else array


def picture(mode, width=37, height=29, seed=0):
    return Image.fromarray(pixels(mode, width, height, seed), mode)


def with_alpha(stage, mode):
    return motley.RandAugment(3, 12, interpolation="bilinear", alpha=True) if mode.endswith("A") else stage


@pytest.fixture
def stage():
    return motley.RandAugment(3, 12, interpolation="bilinear")


@pytest.mark.filterwarnings("ignore:'mode' parameter:DeprecationWarning")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(1, 1), (3, 2), (16, 5), (37, 29), (224, 224)])
def test_an_image_is_its_array(stage, mode, size):
    for seed in range(5):
        image = picture(mode, *size, seed=seed)
        before = image.tobytes()
        out, drawn = stage(image, sample_ids=seed, epoch=0, return_draws=True)
        wanted = with_alpha(stage, mode)(pixels(mode, *size, seed), sample_ids=seed, epoch=0)
        assert numpy.array_equal(numpy.asarray(out), wanted)
        assert type(out) is Image.Image and (out.mode, out.size) == (mode, size)
        assert drawn and image.tobytes() == before
        many = stage([image, image], sample_ids=[seed, seed], epoch=0)
        assert [numpy.array_equal(numpy.asarray(each), wanted) for each in many] == [True, True]


@reaches
@pytest.mark.filterwarnings("ignore:'mode' parameter:DeprecationWarning")
@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_no_copies_by_pillow(stage, mode, monkeypatch):
    """Pixels do not go through Pillow's coders, neither in nor out."""
    image = picture(mode).copy() if Pillow.only_own else picture(mode)  # picture() shows an array's memory

    def never(*_, **__):
        raise AssertionError("the pixels were copied by Pillow")

    for name in ("tobytes", "frombytes", "copy"):
        monkeypatch.setattr(Image.Image, name, never)
    monkeypatch.setattr(Image, "frombytes", never)
    for given in (image, [image]):
        assert stage(given)


def test_the_result_owns_its_memory(stage):
    """It outlives its source, can be written to, and what is written to it is nobody else's."""
    outs = [stage(picture("RGB", 64, 64, seed), sample_ids=seed, epoch=0) for seed in range(20)]
    gc.collect()
    filled = [Image.new("RGB", (64, 64), (255, 0, 255)) for _ in range(40)]
    for seed, out in enumerate(outs):
        assert numpy.array_equal(numpy.asarray(out), stage(pixels("RGB", 64, 64, seed), sample_ids=seed, epoch=0))
        assert not out.readonly
        out.putpixel((1, 1), (9, 8, 7))
        assert out.getpixel((1, 1)) == (9, 8, 7)
    assert all(image.getpixel((1, 1)) == (255, 0, 255) for image in filled)
    again = pickle.loads(pickle.dumps(outs[0]))
    assert again.tobytes() == outs[0].tobytes()
    # what Pillow keeps in the fourth byte of RGB, it finds there
    made_opaque = outs[0].copy()
    made_opaque.putalpha(outs[0].convert("RGBA").getchannel("A"))
    assert made_opaque.getextrema()[3] == (255, 255)


def test_sources_that_cannot_be_written_to(stage):
    data = pixels("RGBA", 40, 30).tobytes()
    for step in (1, -1):  # an image over the caller's bytes, upright and upside down
        image = Image.frombuffer("RGBA", (40, 30), data, "raw", "RGBA", 0, step)
        assert image.readonly
        wanted = with_alpha(stage, "RGBA")(pixels("RGBA", 40, 30)[::step], sample_ids=4, epoch=0)
        assert numpy.array_equal(numpy.asarray(stage(image, sample_ids=4, epoch=0)), wanted)
    assert data == pixels("RGBA", 40, 30).tobytes()


def test_large_images(stage):
    """Above 16 MiB Pillow keeps an image in several blocks."""
    image = picture("RGB", 2500, 2000)
    assert Pillow.pointer(image) is None
    out = stage(image, sample_ids=2, epoch=0)
    assert numpy.array_equal(numpy.asarray(out), stage(pixels("RGB", 2500, 2000), sample_ids=2, epoch=0))


def test_files_and_what_they_say(stage):
    file = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    picture("RGB").save(file, "JPEG", exif=exif.tobytes(), dpi=(72, 72))
    image = Image.open(file)  # not decoded yet
    out = stage(image, sample_ids=3, epoch=0)
    assert numpy.array_equal(numpy.asarray(out), stage(numpy.asarray(image), sample_ids=3, epoch=0))
    assert type(out) is Image.Image and out.info == image.info and out.info is not image.info
    assert out.getexif()[0x0112] == 6 and out.info["dpi"] == (72, 72)


def test_what_is_no_place_to_write(stage):
    image = picture("RGB")
    for call in (lambda: stage.apply_(image), lambda: stage(image, out=image), lambda: stage(image, out=image.copy())):
        refused("cannot be written in place", call)
    refused("a PIL image holds bytes", motley.RandAugment(dtype="float32"), image, error=motley.UnsupportedError)
