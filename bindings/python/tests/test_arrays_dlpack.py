# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries, which are read by __dlpack__: CuPy's, JAX's, and classes that show as little as these."""

import sys
import types

import pytest
from conftest import DEVICES, cuda, refused, torch

np = pytest.importorskip("numpy")

import motley  # noqa: E402
from motley.follow import Boxes, Mask  # noqa: E402

STAGE = motley.RandAugment(seed=7)
IDS = range(12)  # of the images of `pixels`


class OnlyDlpack:
    """An array that shows nothing but DLPack."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __dlpack__(self, **keywords):
        try:
            return self.array.__dlpack__(**keywords)
        except TypeError:
            keywords.pop("max_version", None)
            return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Other(OnlyDlpack):
    """What a jax.Array shows besides: a `format` that is no boxes', no indexing by lists; what makes it of others."""

    format, ndim, dtype = "a layout", property(lambda self: self.array.ndim), property(lambda self: self.array.dtype)

    def __array__(self, *rest, **keywords):
        return np.asarray(self.array, *rest)

    def __len__(self):
        return len(self.array)

    def tolist(self):
        return self.array.tolist()

    def __getitem__(self, places):
        if isinstance(places, (list, np.ndarray)):
            raise TypeError("Using a non-tuple sequence for multidimensional indexing is not allowed")
        return Other(self.array[places.array if isinstance(places, Other) else places])

    @staticmethod
    def __array_namespace__():
        return types.SimpleNamespace(
            from_dlpack=lambda array: Other(np.asarray(array)),
            asarray=Other,
            stack=lambda arrays: Other(np.stack([one.array for one in arrays])),
        )


def makers():
    try:
        import jax
    except ImportError:
        return [Other]
    return [Other, jax.numpy.asarray]


def is_made(found, made, wanted):
    """Whether an array is of the library of `made`, and equal."""
    return isinstance(found, type(made(np.zeros(1)))) and np.array_equal(np.asarray(found), wanted)


@pytest.fixture(params=["host", "as on CUDA"])
def memory(request, monkeypatch):
    """Arrays on CUDA are read as torch's; here those in host memory are, too."""
    if request.param == "as on CUDA":
        pytest.importorskip("torch")
        monkeypatch.setattr("motley._arrays.ON_CUDA", (1,))
        monkeypatch.setattr("motley._random.device_of", lambda x: None)


def test_an_array_that_has_dlpack_alone(pixels, memory):
    wanted = STAGE(pixels, sample_ids=IDS, epoch=0)
    assert np.array_equal(STAGE(OnlyDlpack(pixels), sample_ids=IDS, epoch=0), wanted)
    for stage in motley.Transform("torchvision_train", seed=7), lambda x, **which: motley.ops.resize(x, (8, 9)):
        made, want = stage(OnlyDlpack(pixels), sample_ids=IDS, epoch=0), stage(pixels, sample_ids=IDS, epoch=0)
        assert np.array_equal(made, want)


def test_results_are_made_by_the_library_that_names_no_namespace(pixels, monkeypatch):
    """As CuPy's before its arrays had __array_namespace__."""
    older = types.ModuleType("older")
    array = type("array", (OnlyDlpack,), {"__module__": "older._core"})
    older.from_dlpack = lambda made: array(np.from_dlpack(made))
    monkeypatch.setitem(sys.modules, "older", older)
    made = STAGE(array(pixels.copy()), sample_ids=IDS, epoch=0)
    assert type(made) is array and np.array_equal(made.array, STAGE(pixels, sample_ids=IDS, epoch=0))


def test_layouts_lists_and_what_is_refused(pixels):
    wanted = STAGE(pixels, sample_ids=IDS, epoch=0)
    chw = OnlyDlpack(pixels.transpose(0, 3, 1, 2))
    assert np.array_equal(STAGE(chw, sample_ids=IDS, epoch=0, layout="chw"), wanted.transpose(0, 3, 1, 2))
    made = STAGE([OnlyDlpack(x) for x in pixels], sample_ids=IDS, epoch=0)
    assert {type(one) for one in made} == {np.ndarray} and np.array_equal(np.stack(made), wanted)
    refused("the images' dtype is uint16, want uint8", STAGE, OnlyDlpack(pixels.astype(np.uint16)))
    locked = pixels.copy()
    locked.flags.writeable = False
    with pytest.raises((motley.ArgumentError, BufferError)):  # NumPy before 2.1 does not hand it out
        STAGE.apply_(OnlyDlpack(locked))
    assert np.array_equal(locked, pixels)


def test_in_place_and_out(pixels, memory, request):
    work, out = pixels.copy(), np.zeros_like(pixels)
    wanted = STAGE(pixels, sample_ids=IDS, epoch=0)
    if "CUDA" in request.node.name or np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # whose from_dlpack gives it
        STAGE(OnlyDlpack(pixels), sample_ids=IDS, epoch=0, out=OnlyDlpack(out))
        STAGE.apply_(OnlyDlpack(work), sample_ids=IDS, epoch=0)
        assert np.array_equal(out, wanted) and np.array_equal(work, wanted)
    else:
        refused("the NumPy array to write to is read-only", STAGE.apply_, OnlyDlpack(work))


@pytest.mark.parametrize("made", makers())
def test_images_levels_ids_and_samples(pixels, made, memory):
    wanted = STAGE(pixels, sample_ids=IDS, epoch=0)
    assert is_made(STAGE(made(pixels), sample_ids=made(np.arange(12)), epoch=0), made, wanted)
    assert is_made(motley.ops.resize([made(pixels[0])], (8, 9))[0], made, motley.ops.resize(pixels[0], (8, 9)))
    given = motley.Transform({"motley": 1, "name": "x", "bins": 31, "ops": {"rotate": {"range": [0, 30]}},
                              "branches": [{"op": "rotate", "level": "given"}]}, seed=7)  # fmt: skip
    levels = np.linspace(0, 1, 12).astype("float32")
    found = given(pixels, sample_ids=IDS, epoch=0, levels=made(levels))
    assert np.array_equal(found, given(pixels, sample_ids=IDS, epoch=0, levels=levels))
    assert is_made(motley.group_ids(made(np.array([4, 7])), [2, 1]), made, [4, 4, 7])
    boxes = np.array([[5, 4, 20, 15], [20, 20, 21, 21], [2, 3, 9, 20]], np.float32)
    sample = {"image": pixels[0], "mask": pixels[0, ..., 0].copy(), "boxes": boxes, "labels": np.arange(3)}
    follow = motley.Follow(STAGE, {"mask": Mask(), "boxes": Boxes(min_area=20)})
    wanted = follow(sample, sample_ids=5, epoch=0)
    found = follow({key: made(value) for key, value in sample.items()}, sample_ids=5, epoch=0)
    assert len(wanted["labels"]) < 3 and np.asarray(found["boxes"]).dtype == np.float32
    assert all(is_made(found[key], made, wanted[key]) for key in sample)
    kept, many = motley.Follow(STAGE, {"boxes": Boxes(drop=False)}), np.stack([boxes, boxes + 1])
    wanted = kept({"image": pixels[:2], "boxes": many}, sample_ids=[1, 2], epoch=0)["boxes"]
    assert is_made(kept({"image": pixels[:2], "boxes": made(many)}, sample_ids=[1, 2], epoch=0)["boxes"], made, wanted)


@pytest.mark.parametrize("made", makers())
def test_floats(pixels, made):
    images, labels = made(pixels.astype(np.float32)), np.arange(len(pixels)) % 3
    for stage in (STAGE, motley.Transform("torchvision_train"), motley.ops.invert):
        refused("the images' dtype is float32, want uint8: pass uint8, for", stage, images)
    mix = motley.mix(mixup=0.4, classes=3, seed=7)
    want, targets = mix(pixels.astype(np.float32), labels=labels, sample_ids=labels, epoch=0)
    for given in (labels, made(labels)):
        found, mixed = mix(images, labels=given, sample_ids=labels, epoch=0, view=0)
        assert is_made(found, made, want) and is_made(mixed, made, targets)


class Tracer:
    """jax's, by its names alone."""

    shape, ndim = (4, 8, 8, 3), 4

    def __dlpack__(self):
        raise AssertionError


Tracer.__module__ = "jax._src.core"


def test_tracers_are_refused_by_name():
    for call in (
        STAGE,
        motley.Transform("torchvision_train"),
        motley.ops.invert,
        lambda x: motley.mix(mixup=0.4, classes=3)(x, labels=[0] * 4),
        lambda x: STAGE(np.zeros(x.shape, np.uint8), sample_ids=x, epoch=0),
    ):
        refused("a Tracer stands for an array in jax.jit, vmap or grad, and has no numbers yet", call, Tracer())


@pytest.mark.parametrize("device", DEVICES)
def test_jax(pixels, device):
    jax = pytest.importorskip("jax")
    place = jax.devices("gpu" if device == "cuda" else "cpu")[0]
    x = jax.device_put(pixels, place)
    out = STAGE(x, sample_ids=IDS, epoch=0)
    assert is_made(out, jax.numpy.asarray, STAGE(pixels, sample_ids=IDS, epoch=0)) and out.devices() == {place}
    assert np.array_equal(np.asarray(x), pixels)
    refused("JAX arrays never change", STAGE.apply_, x)


@cuda
def test_in_place_and_out_on_cuda(pixels):
    wanted = STAGE(pixels, sample_ids=IDS, epoch=0)
    work = torch.from_numpy(pixels).cuda()
    out = torch.empty_like(work)
    STAGE(OnlyDlpack(work), sample_ids=IDS, epoch=0, out=OnlyDlpack(out))
    STAGE.apply_(OnlyDlpack(work), sample_ids=IDS, epoch=0)
    assert np.array_equal(out.cpu(), wanted) and np.array_equal(work.cpu(), wanted)


@cuda
def test_cupy_in_its_current_stream(pixels):
    """Its stream and torch's wait for each other: of new arrays, in place, and where the source is gone."""
    cupy = pytest.importorskip("cupy")
    wanted = STAGE(pixels, sample_ids=IDS, epoch=0)
    for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
        with stream:
            work, out = cupy.asarray(pixels), cupy.zeros_like(cupy.asarray(pixels))
            made = STAGE(work.copy(), sample_ids=IDS, epoch=0)
            assert isinstance(made, cupy.ndarray) and np.array_equal(made.get(), wanted)
            STAGE(work, sample_ids=IDS, epoch=0, out=out)
            STAGE.apply_(work, sample_ids=IDS, epoch=0)
            assert np.array_equal(out.get(), wanted) and np.array_equal(work.get(), wanted)
