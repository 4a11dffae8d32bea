# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries, which are read by __dlpack__: CuPy's, JAX's, and classes that show as little as these."""

import sys
import types

import pytest
from conftest import DEVICES, cuda, output_of, refused, torch

np = pytest.importorskip("numpy")

import motley  # noqa: E402
from motley import _native  # noqa: E402
from motley._core import lib  # noqa: E402
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
            from_dlpack=lambda array: Other(np.from_dlpack(array)),
            empty=lambda shape, dtype: Other(np.empty(shape, dtype)),
            array=lambda x, dtype: Other(np.array(x, dtype)),
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


STREAM = 7  # in which the library of OnDevice works


class OnDevice:
    """A stand-in for CuPy's arrays: memory that it calls a CUDA device's, and that its own functions alone read."""

    ndim, dtype = property(lambda self: self.memory.ndim), property(lambda self: self.memory.dtype)
    shape, strides = property(lambda self: self.memory.shape), property(lambda self: self.memory.strides)

    def __init__(self, memory):
        self.memory = memory.get() if isinstance(memory, OnDevice) else np.asarray(memory)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream=None, **unused):
        assert stream == STREAM
        return self.memory.__dlpack__()

    def __array__(self, *rest, **keywords):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __getitem__(self, places):
        return OnDevice(self.memory[places.get() if isinstance(places, OnDevice) else places])

    def __setitem__(self, places, values):
        self.memory[places] = values

    def __iadd__(self, number):
        self.memory += number
        return self

    def __len__(self):
        return len(self.memory)

    def __int__(self):
        return int(self.memory)

    def __getattr__(self, name):
        if name in ("reshape", "repeat", "transpose", "copy"):
            return lambda *how: OnDevice(getattr(self.memory, name)(*how))
        raise AttributeError(name)

    def get(self):
        return self.memory

    def tolist(self):
        return self.memory.tolist()

    def __array_namespace__(self):
        return sys.modules["ondevice"]


def read_dlpack(array):
    capsule = array.__dlpack__(stream=STREAM)
    methods = {"__dlpack__": lambda self, **unused: capsule, "__dlpack_device__": lambda self: (1, 0)}
    return OnDevice(np.from_dlpack(type("InHostMemory", (), methods)()))


def asarray(x, dtype=None):
    if hasattr(x, "__cuda_array_interface__"):
        x = np.asarray(types.SimpleNamespace(__array_interface__=x.__cuda_array_interface__))
    return OnDevice(np.asarray(x.get() if isinstance(x, OnDevice) else x, dtype))


class Streams:
    """The library's functions, of a computer without CUDA: which stream each call was queued in, and its counter."""

    def __init__(self):
        self.used, self.counters = [], []

    def __getattr__(self, name):
        function = getattr(lib, name)
        if name == "run_call":
            return self.run_call
        if name in ("run_op", "run_kept", "motley_context_wait"):
            at = 1 if name == "motley_context_wait" else -1
            return lambda *given: self.call(function, list(given), at)
        return function

    def call(self, function, given, at):
        self.used.append(int(_native.ffi.cast("uintptr_t", given[at])))
        given[at] = 0 if at == -1 else _native.ffi.NULL
        return function(*given)

    def run_call(self, c, pixels, written, stream, *numbers):
        self.used.append(stream)
        self.counters.append(numbers[-1])
        return lib.run_call(c, pixels, written, 0, *numbers[:-1], 0)


@pytest.fixture
def streams(monkeypatch):
    """Calls with arrays on CUDA run on the CPU."""
    made, on_cpu = Streams(), _native.context_of
    for module in "transform", "ops", "_resize", "_images":
        monkeypatch.setattr(sys.modules[f"motley.{module}"], "lib", made)
    monkeypatch.setattr(_native, "context_of", lambda device, threads=None: on_cpu(None, threads))
    monkeypatch.setattr("motley._arrays.Torch.captures", lambda device: False)  # which torch would ask CUDA for
    library = types.ModuleType("ondevice")
    library.from_dlpack, library.asarray = read_dlpack, asarray
    library.array = lambda x, dtype: asarray(x, dtype).copy()
    library.empty = lambda shape, dtype: OnDevice(np.empty(shape, dtype))
    library.stack = lambda arrays: OnDevice(np.stack([one.get() for one in arrays]))
    monkeypatch.setitem(sys.modules, "ondevice", library)
    return made


@pytest.fixture(params=["host", "as on CUDA"])
def memory(request, monkeypatch):
    """Arrays are where they are, or the same are read as arrays on CUDA are."""
    if request.param == "as on CUDA":
        monkeypatch.setattr("motley._arrays.ON_CUDA", (1,))
        monkeypatch.setattr("motley._random.device_of", lambda x: None)
        request.getfixturevalue("streams")
        if request.node.name.startswith(("test_an_array_that", "test_in_place")):
            pytest.importorskip("torch")  # which reads them


def on_device(found, wanted):
    """Whether these are arrays of OnDevice with these numbers."""
    if isinstance(wanted, (list, tuple)):
        return all(map(on_device, found, wanted))
    return type(found) is OnDevice and found.dtype == wanted.dtype and np.array_equal(found.get(), wanted)


def test_on_cuda_images(pixels, streams):
    """In the stream that the library names; what comes back is the library's."""
    given, which = OnDevice(pixels.copy()), {"sample_ids": IDS, "epoch": 0}
    wanted = STAGE(pixels, **which)
    assert on_device(STAGE(given, **which), wanted) and np.array_equal(given.get(), pixels)
    assert on_device(STAGE(given[3], sample_ids=3, epoch=0), wanted[3])
    assert on_device(STAGE([given[i] for i in range(12)], **which), list(wanted))
    assert on_device(STAGE(given, **which, views=2), STAGE(pixels, **which, views=2))
    planes = given.transpose(0, 3, 1, 2)
    assert on_device(STAGE(planes, **which, layout="chw"), wanted.transpose(0, 3, 1, 2))
    out, work = OnDevice(np.zeros_like(pixels)), OnDevice(pixels.copy())
    assert STAGE(given, **which, out=out) is out and on_device(out, wanted)
    assert STAGE.apply_(work, **which) is work and on_device(work, wanted)
    alike = np.lib.stride_tricks.as_strided(pixels.copy(), pixels.shape, (0, *pixels.strides[1:]))
    assert on_device(STAGE(OnDevice(alike), **which), STAGE(alike, **which))
    assert on_device(motley.ops.rotate(given, 30), motley.ops.rotate(pixels, 30))
    assert on_device(motley.ops.resize(given, (8, 9)), motley.ops.resize(pixels, (8, 9)))
    assert set(streams.used) == {0, STREAM} and streams.used.count(STREAM) > 12  # and NumPy's
    refused("the images' dtype is int16, want uint8, uint16 or", STAGE, OnDevice(pixels.astype(np.int16)))


def test_on_cuda_stages_views_and_mixing(pixels, streams):
    given, which = OnDevice(pixels), {"sample_ids": IDS, "epoch": 0}
    for settings in {}, {"dtype": "float16", "output_layout": "channels_last"}:
        stages = motley.Transform("torchvision_train", **settings)
        assert on_device(stages(given, **which), stages(pixels, **which))
    found, wanted = (motley.Transform("dino")(x, **which) for x in (given, pixels))
    assert all(on_device(found[name], wanted[name]) for name in wanted) and len(wanted["local"]) > 1
    mix = motley.mix(mixup=0.4, classes=3, seed=7)
    floats, labels = pixels.astype(np.float32), np.arange(12) % 3
    wanted = mix(floats, labels=labels, **which)
    assert on_device(mix(OnDevice(floats), labels=OnDevice(labels), **which), wanted)
    assert set(streams.used) == {0, STREAM}


def test_on_cuda_levels_counters_and_custom_ops(pixels, streams):
    @motley.custom_op("halve")
    def halve(indices, images, values):
        for image in images:
            assert type(image) in (OnDevice, np.ndarray)
            image[...] = (image.get() if isinstance(image, OnDevice) else image) // 2

    text = {"motley": 1, "name": "x", "bins": 31, "ops": {"rotate": {"range": [0, 30]}},
            "branches": [{"op": "rotate", "level": "given"}]}  # fmt: skip
    stage, levels = motley.Transform(text, seed=7), np.linspace(0, 1, 24, dtype="float32")[::2]
    wanted = stage(pixels, sample_ids=IDS, epoch=0, levels=levels)
    for given in levels, levels.tolist(), OnDevice(levels), OnDevice(levels.astype("float64").reshape(12, 1)):
        assert on_device(stage(OnDevice(pixels), sample_ids=IDS, epoch=0, levels=given), wanted)
    half = stage(pixels, sample_ids=IDS, epoch=0, levels=0.5)
    for given in 0.5, [0.5] * 12:
        assert on_device(stage(OnDevice(pixels), sample_ids=IDS, epoch=0, levels=given), half)
    counter = OnDevice(np.zeros(2, np.int64))
    counts = motley.Transform("rand_augment", seed=7, counter=counter, epoch=3)
    for _ in range(2):
        counts(OnDevice(pixels))
    assert counter.tolist() == [3, 24] and counts.state_dict() == {"seed": 7, "count": 24, "epoch": 3}
    assert streams.counters[-2:] == [counter.get().ctypes.data] * 2
    policy = motley.Transform({"motley": 1, "name": "x", "branches": [{"op": "halve"}]})
    assert on_device(policy(OnDevice(pixels)), pixels // 2)


def test_on_cuda_what_follows(pixels, streams):
    boxes = np.array([[5, 4, 20, 15], [20, 20, 21, 21], [2, 3, 9, 20]], np.float32)
    sample = {"image": pixels[0], "mask": pixels[0, ..., 0].copy(), "boxes": boxes, "labels": np.arange(3)}
    follow = motley.Follow(STAGE, {"mask": Mask(), "boxes": Boxes(min_area=20)})
    wanted = follow(sample, sample_ids=5, epoch=0)
    found = follow({key: OnDevice(value) for key, value in sample.items()}, sample_ids=5, epoch=0)
    assert len(wanted["labels"]) < 3 and all(on_device(found[key], wanted[key]) for key in sample)


@pytest.mark.parametrize("callers", [False, True])
def test_on_cuda_memory_is_held_until_the_device_is_done(pixels, streams, callers, monkeypatch):
    """Four calls at most are held in CUDA's own streams: then the library waits. In a caller's it waits at once."""
    monkeypatch.setattr("motley._images.DEFAULT_STREAMS", 2 if callers else STREAM)
    held = _native.local.held
    held.clear()
    for calls in (0, 0, 0, 0, 0) if callers else (1, 2, 3, 0, 1):
        STAGE(OnDevice(pixels))
        assert len(held) == calls and all(type(one.keep[0].given) is OnDevice for one, _ in held)
    assert streams.used.count(STREAM) == 5 + (5 if callers else 4)
    held.clear()


def test_on_cuda_without_torch():
    """All of these again where torch cannot be imported."""
    hidden = "import sys, pytest; sys.modules['torch'] = None; sys.exit(pytest.main(sys.argv[1:]))"
    tests = "on_cuda and not without_torch"
    assert "7 passed" in output_of(sys.executable, "-c", hidden, "-p", "no:cacheprovider", "-k", tests, __file__)


def test_on_cuda_what_has_no_library(pixels, monkeypatch):
    """Torch reads that, if it can be imported."""
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(OnlyDlpack, "__dlpack_device__", lambda self: (2, 0))
    with pytest.raises(motley.UnsupportedError, match="whose library has no from_dlpack, so that torch has to"):
        STAGE(OnlyDlpack(pixels), sample_ids=IDS, epoch=0)


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
    refused("the images' dtype is int16, want uint8", STAGE, OnlyDlpack(pixels.astype(np.int16)))
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
    augment = motley.Transform("rand_augment", range=(0, 255))
    found = augment(images, sample_ids=labels, epoch=0)
    assert is_made(found, made, augment(pixels.astype(np.float32), sample_ids=labels, epoch=0))
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
