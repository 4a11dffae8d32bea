# SPDX-License-Identifier: Apache-2.0
"""Lists of images, which C describes where it can: the same results and messages as of images one by one."""

import pytest
from conftest import needs_shown, refused

numpy = pytest.importorskip("numpy")

import motley  # noqa: E402
from motley import _images as images  # noqa: E402

STAGE = motley.RandAugment(3, 12, seed=5, interpolation="bilinear")


def arrays(count=6, channels=3, side=20):
    random = numpy.random.default_rng(channels)
    return [random.integers(0, 256, (side + i, 2 * side - i, channels), numpy.uint8) for i in range(count)]


def pictures(count=6, mode="RGB"):
    Image = pytest.importorskip("PIL.Image")
    given = arrays(count, len(mode))
    return [Image.fromarray(each[..., 0] if mode == "L" else each).copy() for each in given]


def tensors(count=6):
    torch = pytest.importorskip("torch")
    return [torch.from_numpy(each).permute(2, 0, 1).contiguous() for each in arrays(count)]


def one_by_one(given):
    return [STAGE(image, sample_ids=i, epoch=0) for i, image in enumerate(given)]


def same(made, wanted):
    assert [type(each) for each in made] == [type(each) for each in wanted]
    return all(numpy.array_equal(numpy.asarray(one), numpy.asarray(other)) for one, other in zip(made, wanted))


KINDS = {
    "arrays": arrays,
    "one channel": lambda: arrays(channels=1),
    "no axis of channels": lambda: [image[..., 0] for image in arrays()],
    "rows apart, upside down": lambda: [image[::-2, 1:-1] for image in arrays()],
    "read-only": lambda: [numpy.frombuffer(each.tobytes(), "uint8").reshape(each.shape) for each in arrays()],
    "pictures": pictures,
    "grey pictures": lambda: pictures(mode="L"),
    "RGBA pictures": lambda: pictures(mode="RGBA"),
    "tensors": tensors,
}


@pytest.mark.parametrize("kind", KINDS)
def test_c_describes_them(kind):
    """Where torch and Pillow show how; else the images are looked at one by one."""
    given = KINDS[kind]()
    found = images.images_of(given, None)
    shown = found.kind.found_by(type(given[0])) is not None
    assert (found.table is not None, found._parts is None) == (shown, shown)
    assert shown or type(given[0]).__module__ != "numpy"
    assert found.sizes() == [images.images_of(each, None).sizes()[0] for each in given]
    assert same(STAGE(given, sample_ids=range(6), epoch=0), one_by_one(given))
    assert type(STAGE(tuple(given), sample_ids=range(6), epoch=0)) is tuple


def expanded():
    given = arrays()
    given[2] = numpy.broadcast_to(given[2][:1], given[2].shape)
    return given


def from_a_file():
    Image, io = pytest.importorskip("PIL.Image"), pytest.importorskip("io")
    given = pictures()
    for i in (0, 3):
        file = io.BytesIO()
        given[i].save(file, "PNG")
        given[i] = Image.open(file)
    return given


OTHERS = {"one is expanded": expanded, "some are files": from_a_file, "grey and alpha": lambda: pictures(mode="LA")}


@pytest.mark.parametrize("kind", OTHERS)
def test_others_are_looked_at(kind):
    given = OTHERS[kind]()
    assert images.images_of(given, None)._parts is not None
    assert same(STAGE(given, sample_ids=range(6), epoch=0), one_by_one(given))


@pytest.mark.parametrize("odd, wanted", [
    (lambda image: image.astype("float32"), "image 3 of the list is float32, image 0 uint8: want one dtype"),
    (lambda image: image.astype("int64"), "dtype is int64, want uint8, uint16 or float32"),
    (lambda image: image[None], "image 3 of the list is itself a batch"),
    (lambda image: image[:0], "0 high and 37 wide: want pixels"),
    (lambda image: [image], "image 3 of the list is itself a batch"),
    (lambda image: numpy.dstack([image, image]), "image 3 of the list has 6 channels, image 0 has 3"),
    (lambda image: numpy.ma.masked_array(image), "MaskedArray, whose mask would be lost"),
])  # fmt: skip
def test_one_that_cannot_be_taken_is_named(odd, wanted):
    given = [image[:20, :40] for image in arrays(8)]
    given[3] = odd(given[3])
    refused(wanted, STAGE, given)


def test_in_place():
    given = arrays()
    wanted = one_by_one(given)
    STAGE.apply_(given, sample_ids=range(6), epoch=0)
    assert same(given, wanted)
    given[4].flags.writeable = False
    before = [image.copy() for image in given]
    refused("NumPy array to write to is read-only", STAGE.apply_, given, sample_ids=range(6), epoch=0)
    assert same(given, before)


@pytest.mark.parametrize("form", ["planes", "pixels", "hwc", "hw"])
@pytest.mark.parametrize("alike", [True, False])
def test_views_of_one_allocation(form, alike):
    """As on CUDA: like what empty_like makes, beginning where the GPU reads 16 bytes, and none over another."""
    given = tensors()
    if form == "pixels":
        given = [image.permute(1, 2, 0).contiguous().permute(2, 0, 1) for image in given]
    elif form != "planes":
        given = [image.permute(1, 2, 0).contiguous() if form == "hwc" else image[0].contiguous() for image in given]
    if alike:
        given = [given[0].clone() for _ in given]
    needs_shown(given[0])
    layout = None if form in ("planes", "pixels") else form
    together = images.images_of(given, layout)._together()
    made = together.given
    looked_at = images.images_of(made, layout)
    for known, found in (together.table, looked_at.table), (together.pointers, looked_at.pointers):
        assert images.ffi.buffer(known)[:] == images.ffi.buffer(found)[:]
    assert [(view.shape, view.stride()) for view in made] == [(image.shape, image.stride()) for image in given]
    assert len({view.data_ptr() - view.storage_offset() for view in made}) == 1
    begins = [view.storage_offset() for view in made]
    assert all(begin % 16 == 0 for begin in begins)
    for i, view in enumerate(made):
        view.fill_(i)
    assert all((view == i).all() for i, view in enumerate(made))
