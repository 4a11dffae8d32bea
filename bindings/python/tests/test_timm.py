# SPDX-License-Identifier: Apache-2.0
"""motley.timm against timm itself: the same strings and hparams, and for a given draw the same pixels."""

import pathlib
import pickle
import random
import sys

import pytest
from conftest import refused

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


def ours(config, hparams=None):
    make = motley.timm.rand_augment_transform if config.startswith("rand") else motley.timm.auto_augment_transform
    return make(config, hparams)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize(
    "hparams", [None, AA_PARAMS, {**AA_PARAMS, "interpolation": Image.BILINEAR}], ids=["plain", "mean", "bilinear"]
)
def test_pixels_are_timms(config, hparams):
    transform, theirs, image = ours(config, hparams), replay.Timm(config), picture()
    fill = list((hparams or {}).get("img_mean", (128, 128, 128)))
    filters = {"bilinear"} if "interpolation" in (hparams or {}) else {"bilinear", "bicubic"}
    seen, changed = set(), 0
    for seed in range(40):
        random.seed(seed)
        drawn_from = random.getrandbits(64)
        random.seed(seed)
        out = transform(image)
        steps = transform.transform.draw(seed=drawn_from, sample_ids=[0], size=(29, 37))[0]
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


def test_seeds_repeat_and_calls_differ():
    transform, image = ours("rand-m9-mstd0.5-inc1"), picture()
    random.seed(5)
    first = [transform(image).tobytes() for _ in range(8)]
    random.seed(5)
    assert first == [transform(image).tobytes() for _ in range(8)] and len(set(first)) > 4
    assert pickle.loads(pickle.dumps(transform)).config == transform.config and "rand-m9" in repr(transform)


def test_transforms_names_the_set():
    both = ours("rand-m9-inc1-t3a"), motley.timm.rand_augment_transform("rand-m9-inc1-tweights", None, "3a")
    assert both[0].transform.draw(20) == both[1].transform.draw(20)


@pytest.mark.parametrize(
    "call,message",
    [
        (lambda: motley.timm.rand_augment_transform("v0"), "want 'rand' and its settings"),
        (lambda: motley.timm.auto_augment_transform("rand-m9"), "for rand_augment_transform"),
        (lambda: motley.timm.rand_augment_transform("rand-q9"), "'q9' is not known"),
        (lambda: motley.timm.rand_augment_transform("rand-m9", None, ["Rotate"]), "want the name of a set"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_take_over():
    timm_data = pytest.importorskip("timm.data")
    torch = pytest.importorskip("torch")

    def transform():
        return timm_data.create_transform(
            32, is_training=True, auto_augment="rand-m9-mstd0.5-inc1", scale=(1, 1), ratio=(1, 1), hflip=0, re_prob=0
        )

    def kinds():
        return {type(step).__module__.split(".")[0] for step in transform().transforms}

    assert "motley" not in kinds()
    motley.timm.take_over()
    try:
        motley.timm.take_over()
        assert "motley" in kinds()
        assert transform()(picture(32, 32)).shape == torch.Size([3, 32, 32])
        assert timm_data.rand_augment_transform is motley.timm.rand_augment_transform
    finally:
        motley.timm.hand_back()
    assert "motley" not in kinds() and timm_data.rand_augment_transform is not motley.timm.rand_augment_transform


def test_take_over_crops_as_timm_does():
    """The same draws from Python's generator, the same bytes; a pickled one stays Motley's, and fuse() takes it."""
    timm_data = pytest.importorskip("timm.data")
    pytest.importorskip("torch")
    from motley.torchvision import fuse

    image = picture(260, 200)
    made = {}
    for who in ("timm", "motley"):
        if who == "motley":
            motley.timm.take_over()
        try:
            composed = timm_data.create_transform(96, is_training=True, hflip=0, color_jitter=None)
            crop = pickle.loads(pickle.dumps(composed.transforms[0]))
        finally:
            motley.timm.hand_back()
        assert type(crop).__module__.split(".")[0] == who
        random.seed(3)
        made[who] = [numpy.asarray(crop(image)) for _ in range(8)], random.random()
    for theirs, ours in zip(made["timm"][0], made["motley"][0]):
        assert numpy.array_equal(theirs, ours)
    assert made["timm"][1] == made["motley"][1]
    fused = fuse([crop])
    for i, mode in enumerate(["RGB", "L", "LA"]):
        with motley.samples(i, epoch=3, view=1):
            assert numpy.array_equal(crop(image.convert(mode)), fused(image.convert(mode)))
    assert fuse(composed).not_taken == []
    assert crop(image.convert("CMYK")).mode == "CMYK"  # timm's to do


def test_take_over_makes_tensors_as_timm_does():
    timm_data = pytest.importorskip("timm.data")
    torch = pytest.importorskip("torch")
    from torchvision.transforms.functional import to_tensor

    motley.timm.take_over()
    try:
        step = timm_data.create_transform(32, is_training=True).transforms[-2]
        step = pickle.loads(pickle.dumps(step))
    finally:
        motley.timm.hand_back()
    assert type(step).__module__ == "motley.timm" and repr(step) == "MaybeToTensor()"
    for mode in ("L", "LA", "RGB", "RGBA", "1", "I;16", "F", "CMYK"):  # the last four are timm's to do
        image = picture(53, 37).convert("L" if mode == "I;16" else mode).convert(mode)
        assert torch.equal(step(image), to_tensor(image)), mode
    assert torch.equal(step(numpy.array(picture(5, 7))), to_tensor(picture(5, 7)))
    tensor = torch.ones(3, 2, 2)
    assert step(tensor) is tensor
    torch.set_default_dtype(torch.float64)
    try:
        assert step(picture(5, 7)).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_samples():
    """A draw depends on (epoch, id), not on Python's generator, which is left alone."""
    transform, image = ours("rand-m9-mstd0.5-inc1"), picture()
    for epoch, sample in ((0, 5), (2, 5), (0, 6)):
        want = numpy.asarray(transform.transform(image, epoch=epoch, sample_ids=sample))
        for _ in range(2):
            state = random.getstate()
            with motley.samples(sample, epoch=epoch):
                assert numpy.array_equal(numpy.asarray(transform(image)), want)
            assert random.getstate() == state
            transform(image)


def test_the_factories_take_a_seed():
    """With it a transform repeats and counts its calls; in a block of samples it sets runs apart."""
    image = Image.fromarray(numpy.random.default_rng(0).integers(0, 256, (40, 50, 3), numpy.uint8))

    def drawn(transform, calls=4):
        return [numpy.asarray(transform(image)).tobytes() for _ in range(calls)]

    for make in (
        lambda **k: motley.timm.rand_augment_transform("rand-m9-mstd0.5", {}, **k),
        lambda **k: motley.timm.auto_augment_transform("original", **k),
        lambda **k: motley.timm.augment_and_mix_transform("augmix", **k),
    ):
        assert drawn(make(seed=5)) == drawn(make(seed=5)) != drawn(make(seed=6))
        assert len(set(drawn(make(seed=5)))) > 1
        task = pickle.dumps(make(seed=5))
        with pytest.warns(motley.RepeatedSamples, match="copies of a transform, such as a process pool makes"):
            drawn(pickle.loads(task)), drawn(pickle.loads(task))
        sys.modules["motley.samples"].warn_once.cache_clear()
        with motley.samples(3, epoch=1):
            assert len(set(drawn(make(seed=5)))) == 1 and drawn(make(seed=5)) != drawn(make(seed=6))
        refused("seed is '7', want a whole number", make, seed="7")
        assert repr(make(seed=5)).endswith("seed=5)") and "seed" not in repr(make())
