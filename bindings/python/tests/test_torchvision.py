# SPDX-License-Identifier: Apache-2.0
"""motley.torchvision against torchvision itself: the same arguments, and for a given draw the same pixels."""

import contextlib
import copy
import importlib
import logging
import multiprocessing
import pathlib
import pickle
import pkgutil
import subprocess
import sys
import warnings
from typing import Dict, Tuple

import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
numpy = pytest.importorskip("numpy")
from PIL import Image  # noqa: E402
from torchvision import transforms  # noqa: E402

import motley  # noqa: E402
import motley.torchvision as ours  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/pillow"))
import replay  # noqa: E402

v2 = ours._v2
needs_v2 = pytest.mark.skipif(v2 is None, reason=f"torchvision {torchvision.__version__} has no transforms.v2")
VERSIONS = [pytest.param("v1"), pytest.param("v2", marks=needs_v2)]
MODES = {1: "L", 3: "RGB"}
POLICIES = list(transforms.AutoAugmentPolicy)
BILINEAR, BICUBIC = transforms.InterpolationMode.BILINEAR, transforms.InterpolationMode.BICUBIC
# (class, arguments) that change everything an argument can change
ASKED = [
    ("RandAugment", {}),
    ("RandAugment", {"num_ops": 3, "magnitude": 12, "interpolation": BILINEAR, "fill": 128}),
    ("RandAugment", {"num_ops": 1, "magnitude": 4, "num_magnitude_bins": 10, "fill": 9.7}),
    ("RandAugment", {"magnitude": -1, "num_magnitude_bins": 147}),
    ("TrivialAugmentWide", {}),
    ("TrivialAugmentWide", {"num_magnitude_bins": 12, "interpolation": BICUBIC, "fill": 300}),
    ("TrivialAugmentWide", {"num_magnitude_bins": 147, "interpolation": BILINEAR}),
    *[("AutoAugment", {"policy": policy}) for policy in POLICIES],
    ("AutoAugment", {"policy": POLICIES[1], "interpolation": BILINEAR, "fill": 17}),
]


def name_of(part):
    return part if isinstance(part, str) else "-".join(map(str, part.values()))


def namespace(version):
    if version == "v1":
        return transforms, ours
    from motley.torchvision.transforms import v2 as our_v2

    return v2, our_v2


def picture(channels, width=37, height=29, seed=1):
    random = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [
        128 + 90 * numpy.sin(x / 5 + c) + 30 * numpy.cos(y / 3) + random.normal(0, 8, x.shape) for c in range(channels)
    ]
    array = numpy.clip(numpy.stack(planes, -1), 0, 255).astype(numpy.uint8)
    return Image.fromarray(array if channels > 1 else array[..., 0], MODES[channels])


class Replay(replay.Torchvision):
    """Runs drawn steps through torchvision's code, with the magnitude from its table that gives the value."""

    def __init__(self, theirs, version):
        self.theirs, self.version = theirs, version
        super().__init__(theirs)

    def entries(self, name, width, height):
        if self.version == "v1":
            return super().entries(name, width, height)
        make, signed = self.theirs._AUGMENTATION_SPACE.get(name, (None, False))
        magnitudes = make(getattr(self.theirs, "num_magnitude_bins", 10), height, width) if make else None
        return (
            []
            if magnitudes is None
            else [
                (i, s * float(m), self.value(name, s * float(m)))
                for i, m in enumerate(magnitudes)
                for s in ((1, -1) if signed else (1,))
            ]
        )

    def value(self, name, m):
        return 255.0 * m if name == "Solarize" and self.version == "v2" else super().value(name, m)

    def run(self, image, steps):
        for step in steps:
            name = self.NAMES[step["op"]]
            magnitude, _ = self.magnitude({"value": None, **step}, *image.size)
            if magnitude is None:  # this CPU's torch rounds that entry of its table otherwise
                fill = [float(v) for v in step.get("fill", [0] * len(image.getbands()))]
                mode = self.modes[step.get("interpolation", "nearest")]
                image = self.with_our_value(image, name, step["value"], mode, fill)
            elif self.version == "v1":
                image = self.autoaugment._apply_op(
                    image, name, magnitude, interpolation=self.theirs.interpolation, fill=self.theirs.fill
                )
            else:
                image = self.theirs._apply_image_or_video_transform(
                    image, name, magnitude, interpolation=self.theirs.interpolation, fill=self.theirs._fill
                )
        return image


def called(transform, image, seed):
    """What the transform makes of the image, and the steps that it drew."""
    torch.manual_seed(seed)
    drawn_from = int(torch.randint(1 << 62, ()))
    torch.manual_seed(seed)
    out = transform(image)
    of_v2 = transform.__module__.endswith("v2") or hasattr(transform, "_fill")
    stage = ours.policies.transform_of(transform, of_v2, image, len(image.getbands()))
    width, height = image.size
    return out, stage.draw(seed=drawn_from, sample_ids=[0], size=(height, width), channels=len(image.getbands()))[0]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name,arguments", ASKED, ids=name_of)
@pytest.mark.parametrize("channels", [1, 3])
def test_pixels_are_torchvisions(version, name, arguments, channels):
    theirs, mine = (getattr(module, name)(**arguments) for module in namespace(version))
    own = Replay(theirs, version)
    image = picture(channels)
    for seed in range(20):
        out, steps = called(mine, image, seed)
        assert out.mode == image.mode and out.size == image.size
        want = own.run(image, steps)
        assert numpy.array_equal(numpy.asarray(out), numpy.asarray(want)), (seed, steps)
        assert steps or name == "AutoAugment", "nothing was drawn"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name,arguments", ASKED, ids=name_of)
def test_draws_are_torchvisions(version, name, arguments):
    """Every op, bin and sign that torchvision can draw is drawn, as often, and nothing else."""
    theirs, mine = (getattr(module, name)(**arguments) for module in namespace(version))
    own, image = Replay(theirs, version), picture(3)
    drawn = ours.policies.transform_of(mine, version == "v2", image, 3).draw(2000, size=(29, 37), seed=5)
    if name != "AutoAugment":
        ops = theirs.num_ops if name == "RandAugment" else 1
        assert {len(steps) for steps in drawn} == {ops}
        counts = {}
        for steps in drawn:
            for step in steps:
                counts[step["op"]] = counts.get(step["op"], 0) + 1
        assert len(counts) == 14
        expected = 2000 * ops / 14
        assert all(abs(count - expected) < 5 * expected**0.5 for count in counts.values()), counts
    bins = {}
    for steps in drawn:
        for step in steps:
            _, found = own.magnitude({"value": None, **step}, 37, 29)  # raises where the value is no entry of the table
            if found is not None and len(found) == 1:
                bins.setdefault(step["op"], set()).update(found)
    if name == "RandAugment":
        level = theirs.magnitude % theirs.num_magnitude_bins
        assert {b for found in bins.values() for b in found} <= {level}
    elif name == "TrivialAugmentWide" and theirs.num_magnitude_bins <= 31:
        assert bins["solarize"] == set(range(theirs.num_magnitude_bins))


@pytest.mark.parametrize("version", VERSIONS)
def test_augmix(version):
    """As torchvision's: each op at each of the first `severity` bins, alike often; and the pixels of the policy."""
    theirs, module = namespace(version)
    image = picture(3)
    for arguments in (
        {},
        {"severity": 5, "all_ops": False, "mixture_width": 2, "chain_depth": 4, "alpha": 0.5},
        {"severity": 10, "interpolation": BICUBIC, "fill": 7},
    ):
        mine = module.AugMix(**arguments)
        stage = ours.policies.transform_of(mine, version == "v2", image, 3)
        assert isinstance(mine, theirs.AugMix) and repr(mine) == repr(theirs.AugMix(**arguments))
        with motley.samples(8, epoch=1):
            assert numpy.array_equal(numpy.asarray(mine(image)), numpy.asarray(stage(image, sample_ids=8, epoch=1)))
        if version == "v1":
            space = mine._augmentation_space(10, image.size)
        else:
            space = mine._AUGMENTATION_SPACE if mine.all_ops else mine._PARTIAL_AUGMENTATION_SPACE
        chances = dict.fromkeys(space, 0.0)
        data = stage.policy.as_dict()
        total = sum(branch.get("weight", 1) for branch in data["branches"])
        for branch in data["branches"]:
            step = branch if "op" in branch else {"op": branch["steps"]}
            assert step.get("level", 0) < mine.severity
            chances[Replay.NAMES[step["op"]]] += branch.get("weight", 1) / total
        assert chances == pytest.approx(dict.fromkeys(space, 1 / len(space)))
        assert data["augmix"] == {"width": mine.mixture_width, "alpha": mine.alpha, "form": "one_sum"}
        lengths = set()
        for steps in stage.draw(seed=1, sample_ids=range(200), size=(29, 37), channels=3):
            # The first is the image's, before all chains.
            ends = [i for i, step in enumerate(steps) if step["op"] == "mix_add"]
            lengths.update(after - before - 1 for before, after in zip(ends, ends[1:]))
        assert lengths == ({mine.chain_depth} if mine.chain_depth > 0 else {1, 2, 3})


def test_take_over_leaves_augmix():
    forward = transforms.AugMix.forward
    ours.take_over()
    try:
        assert transforms.AugMix.forward is forward and not hasattr(transforms.AugMix, "_torchvision_forward")
    finally:
        ours.hand_back()


@pytest.mark.parametrize("version", VERSIONS)
def test_tensors_get_the_images_bytes(version):
    """A CHW tensor, alone or in a batch, CHW or channels_last in memory, is what its PIL image becomes; a batch shares
    one draw, as in torchvision."""
    mine = namespace(version)[1].RandAugment(2, 9, fill=(1, 2, 3))
    images = [picture(3, seed=s) for s in range(6)]
    batch = torch.stack([torch.from_numpy(numpy.array(image)).permute(2, 0, 1) for image in images])
    torch.manual_seed(3)
    seed = int(torch.randint(1 << 62, ()))
    stage = ours.policies.transform_of(mine, version == "v2", images[0], 3)
    want = [numpy.asarray(stage(image, seed=seed, sample_ids=0)) for image in images]
    for shape in (batch, batch.contiguous(memory_format=torch.channels_last), batch.reshape(2, 3, *batch.shape[1:])):
        torch.manual_seed(3)
        out = mine(shape)
        assert out.shape == shape.shape
        for got, wanted in zip(out.reshape(batch.shape), want):
            assert numpy.array_equal(got.permute(1, 2, 0).numpy(), wanted)
    assert any(not numpy.array_equal(w, numpy.asarray(i)) for w, i in zip(want, images))


def test_manual_seed_repeats_and_calls_differ():
    image, mine = picture(3), ours.TrivialAugmentWide()
    torch.manual_seed(11)
    first = [numpy.asarray(mine(image)) for _ in range(8)]
    torch.manual_seed(11)
    assert all(numpy.array_equal(a, numpy.asarray(mine(image))) for a in first)
    assert len({a.tobytes() for a in first}) > 4


@needs_v2
def test_v2_samples():
    """The other entries of a sample pass through; a video's frames share a draw."""
    from torchvision import tv_tensors

    mine = namespace("v2")[1].RandAugment(2, 9)
    image = tv_tensors.Image(torch.randint(256, (3, 16, 16), dtype=torch.uint8))
    out = mine({"image": image, "label": 3, "rest": ["a"]})
    assert type(out["image"]) is tv_tensors.Image and out["label"] == 3 and out["rest"] == ["a"]
    assert mine(picture(3), 5)[1] == 5
    video = tv_tensors.Video(image.expand(5, 3, 16, 16).contiguous())
    for _ in range(5):
        frames = mine(video)
        assert type(frames) is tv_tensors.Video and all(torch.equal(frames[0], frame) for frame in frames)


@pytest.mark.parametrize("version", VERSIONS)
def test_take_over_and_hand_back(version):
    theirs = namespace(version)[0]
    made_before = theirs.RandAugment(2, 9)
    image = picture(3)

    def result(transform):
        torch.manual_seed(2)
        return numpy.asarray(transform(image))

    own = result(made_before)
    expected = result(namespace(version)[1].RandAugment(2, 9))
    assert not numpy.array_equal(own, expected)
    ours.take_over()
    try:
        ours.take_over()  # twice is once
        for transform in (made_before, theirs.RandAugment(2, 9), pickle.loads(pickle.dumps(made_before))):
            assert numpy.array_equal(result(transform), expected)
    finally:
        ours.hand_back()
    assert numpy.array_equal(result(made_before), own)


def test_objects_are_torchvisions():
    mine = ours.RandAugment(1, 5, fill=[1, 2, 3])
    assert isinstance(mine, transforms.RandAugment) and repr(mine) == repr(transforms.RandAugment(1, 5, fill=[1, 2, 3]))
    again = pickle.loads(pickle.dumps(mine))
    assert again.fill == [1, 2, 3] and type(again) is ours.RandAugment
    image = picture(3)
    assert transforms.Compose([ours.RandAugment(), transforms.ToTensor()])(image).shape == (3, 29, 37)
    assert numpy.array_equal(numpy.asarray(ours.RandAugment(num_ops=0)(image)), numpy.asarray(image))


@pytest.mark.filterwarnings("ignore:.*torch.jit:FutureWarning", "ignore:.*torch.jit:DeprecationWarning")
def test_scripted_subclasses_are_torchvisions():
    """A subclass's own operations are compiled as torchvision compiles them."""

    class Own(ours.TrivialAugmentWide):
        def _augmentation_space(self, num_bins: int) -> Dict[str, Tuple[torch.Tensor, bool]]:
            return {"Invert": (torch.tensor(0.0), False)}

    image = torch.randint(256, (3, 20, 24), dtype=torch.uint8)
    assert torch.equal(torch.jit.script(Own())(image), 255 - image)


class OwnSpace(ours.TrivialAugmentWide):
    def _augmentation_space(self, *arguments):
        return {"Invert": (torch.tensor(0.0), False)}


@pytest.mark.parametrize(
    "transform,image,why",
    [
        (OwnSpace(), picture(3), "defines _augmentation_space itself"),
        (ours.RandAugment(num_ops=17), picture(3), "num_ops is 17"),
        (ours.TrivialAugmentWide(num_magnitude_bins=149), picture(3), "num_magnitude_bins is 149"),
        (ours.AugMix(mixture_width=9), picture(3), "the number of chains, is 9"),
        (ours.TrivialAugmentWide(), picture(3).convert("P").convert("RGB").convert("1"), "mode 1"),
    ],
)
def test_what_is_torchvisions_runs_there(transform, image, why, caplog):
    ours._say.cache_clear()
    for _ in range(3):
        try:
            out = transform(image)
        except Exception:  # torchvision has no pixels for it either
            out = None
    assert [why in record.getMessage() for record in caplog.records] == [True], caplog.records
    assert caplog.records[0].name == "motley.torchvision" and caplog.records[0].levelno == logging.WARNING
    if isinstance(transform, OwnSpace):
        assert numpy.array_equal(numpy.asarray(out), 255 - numpy.asarray(image))


def test_mistakes():
    with pytest.raises(ValueError, match="fill has 2 values, want 1 or 3"):
        ours.RandAugment(fill=[1, 2])(picture(3))
    with pytest.raises(IndexError, match="magnitude is 31, want 0..30"):
        ours.RandAugment(magnitude=31)(picture(3))


@pytest.mark.filterwarnings("error", "ignore:.*torch.jit:FutureWarning", "ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", ["import", "take_over"])
@pytest.mark.parametrize("name,arguments", [ASKED[1], ASKED[4], ASKED[-1]], ids=name_of)
def test_scripted(version, how, name, arguments, tmp_path):
    """A scripted transform, alone, inside other modules or loaded from a file, draws and gives what the class does."""
    theirs, module = namespace(version)
    image = torch.randint(256, (2, 3, 20, 24), dtype=torch.uint8)
    if how == "take_over":
        ours.take_over()
        module = theirs
    try:
        mine = getattr(module, name)(**arguments)
        for scripted in (torch.jit.script(mine), torch.jit.script(torch.nn.Sequential(mine))):
            scripted.save(str(tmp_path / "scripted.pt"))
            for transform in (scripted, torch.jit.load(str(tmp_path / "scripted.pt"))):
                for seed in range(4):
                    torch.manual_seed(seed)
                    want = mine(image)
                    torch.manual_seed(seed)
                    assert torch.equal(transform(image), want)
    finally:
        ours.hand_back()


SCRIPTED = [
    ("Resize", {"size": [20, 31], "antialias": True}),
    ("Resize", {"size": [9], "max_size": 14, "interpolation": BICUBIC}),
    ("RandomResizedCrop", {"size": 20, "antialias": True}), ("RandomResizedCrop", {"size": (9, 7), "seed": 5}),
    ("ColorJitter", {"brightness": 0.4, "hue": 0.1}), ("ColorJitter", {"contrast": 0.4, "saturation": 0.3, "seed": 5}),
    ("GaussianBlur", {"kernel_size": 5}), ("RandomGrayscale", {"p": 0.5}), ("RandomGrayscale", {"p": 0.5, "seed": 5}),
    ("RandomHorizontalFlip", {"p": 0.5}), ("RandomHorizontalFlip", {"p": 0.5, "seed": 5}),
    ("RandomErasing", {"p": 0.7, "value": [3.0]}), ("RandomErasing", {"p": 0.7, "value": "random", "seed": 5}),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*torch.jit:FutureWarning", "ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", ["import", "take_over"])
@pytest.mark.parametrize("name,arguments", SCRIPTED, ids=name_of)
def test_scripted_recipes(version, how, name, arguments, tmp_path):
    """As policies, and gradients of floats pass. Of floats in v2 torchvision's own scripts, which are v1's, round
    differently."""
    theirs, module = namespace(version)
    if how == "take_over":
        if "seed" in arguments:
            pytest.skip("torchvision's classes take no seed")
        ours.take_over()
        module = theirs
    try:
        mine = getattr(module, name)(**arguments)
        for scripted in (
            torch.jit.script(getattr(module, name)(**arguments)),
            torch.jit.script(torch.nn.Sequential(getattr(module, name)(**arguments))),
        ):
            scripted.save(str(tmp_path / "scripted.pt"))
            for transform in (scripted, torch.jit.load(str(tmp_path / "scripted.pt"))):
                vars(mine).pop("_calls", None)
                for seed in range(4):
                    for image in (torch.randint(256, (2, 3, 21, 24), dtype=torch.uint8), torch.rand(3, 21, 24)):
                        made = []
                        for run in (mine, transform):
                            torch.manual_seed(seed)
                            made.append(run(image))
                        if image.dtype == torch.uint8 or version == "v1":
                            assert torch.equal(*made)
                if version == "v1" or name != "ColorJitter":  # v2's hue writes to views
                    given = torch.rand(3, 21, 24, requires_grad=True)
                    assert mine(given).requires_grad and transform(given).requires_grad
    finally:
        ours.hand_back()


class MoreBlur(ours.GaussianBlur):
    """A subclass that draws in another way."""

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        return sigma_max


@pytest.mark.filterwarnings("ignore:.*torch.jit:FutureWarning", "ignore:.*torch.jit:DeprecationWarning")
def test_scripted_subclasses_of_recipes():
    """Their own methods are compiled, and the pixels are torchvision's."""
    image = torch.randint(256, (3, 20, 24), dtype=torch.uint8)
    wanted = transforms.GaussianBlur(5, (2.0, 2.0))(image)
    assert torch.equal(torch.jit.script(MoreBlur(5))(image), wanted)


class TwoViews(torch.nn.Module):
    def __init__(self, transform):
        super().__init__()
        self.transform = transform

    def forward(self, image):
        return self.transform(image), self.transform(image)


@pytest.mark.filterwarnings("ignore:.*torch.jit:FutureWarning", "ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("version", VERSIONS)
def test_scripted_calls_differ(version):
    """The compiler keeps two calls on one image apart; with a seed they are counted."""
    image = torch.randint(256, (3, 20, 24), dtype=torch.uint8)
    module = namespace(version)[1]
    for arguments in ({}, {"seed": 5}):
        scripted = torch.jit.script(TwoViews(module.RandAugment(3, 12, **arguments)))
        pairs = [scripted(image) for _ in range(5)]
        assert sum(torch.equal(a, b) for a, b in pairs) <= 1
    eager = module.RandAugment(3, 12, seed=5)
    assert all(torch.equal(each, eager(image)) for pair in pairs for each in pair)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("version", VERSIONS)
def test_floats_are_torchvisions_without_a_warning(version, caplog):
    """Whoever turns warnings into errors, as torchvision's own tests do, is not stopped by a call that torchvision
    runs; and an error of torchvision's is shown alone."""
    ours._say.cache_clear()
    mine = namespace(version)[1].RandAugment()
    if version == "v2":
        assert mine(torch.rand(3, 8, 8)).dtype == torch.float32
    else:
        with pytest.raises(Exception) as raised:
            for _ in range(50):
                mine(torch.rand(3, 8, 8))
        assert raised.value.__context__ is None or not isinstance(raised.value.__context__, ours.NotOurs)
    assert "a tensor of torch.float32" in caplog.text


@pytest.mark.parametrize("version", VERSIONS)
def test_clips_share_a_draw(version):
    """Equal frames stay equal, with any axes before their channels."""
    mine = namespace(version)[1].TrivialAugmentWide()
    frame = torch.from_numpy(numpy.array(picture(3))).permute(2, 0, 1)
    changed = 0
    for shape in ((16,), (2, 8), (2, 2, 2)):
        for _ in range(4):
            out = mine(frame.expand(*shape, *frame.shape).contiguous()).reshape(-1, *frame.shape)
            assert all(torch.equal(out[0], each) for each in out)
            changed += not torch.equal(out[0], frame)
    assert changed


@needs_v2
@pytest.mark.parametrize("kind", ["Mask", "BoundingBoxes", "KeyPoints"])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_what_is_no_image_is_refused_alone(kind, version):
    from torchvision import tv_tensors

    if not hasattr(tv_tensors, kind):
        pytest.skip(f"torchvision {torchvision.__version__} has no {kind}")
    data = torch.randint(3, (1, 16, 16), dtype=torch.uint8)
    extra = {} if kind == "Mask" else dict(canvas_size=(16, 16))
    if kind != "Mask":
        data = data[0, :2, : (4 if kind == "BoundingBoxes" else 2)]
    if kind == "BoundingBoxes":
        extra["format"] = "XYXY"
    given = getattr(tv_tensors, kind)(data, **extra)
    before = given.clone()
    mine = namespace(version)[1].RandAugment()
    with pytest.raises(TypeError, match=f"Inputs of type {kind} are not supported by RandAugment"):
        mine(given)
    assert torch.equal(given, before)


# ---- samples, seeds ----


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", ["import", "take_over"])
def test_samples(version, how):
    """A draw depends on (seed, epoch, id), not on what was drawn before; motley.Transform draws the same."""
    theirs, module = namespace(version)
    if how == "take_over":
        ours.take_over()
        module = theirs
    try:
        mine, image = module.RandAugment(2, 9), picture(3)
        stage = ours.policies.transform_of(mine, version == "v2", image, 3)
        for epoch, sample, view in ((0, 5, 0), (1, 5, 0), (0, 5, 1), (0, 6, 0), (3, 2**40, 7)):
            want = numpy.asarray(stage(image, seed=0, epoch=epoch, sample_ids=sample, view=view))
            for _ in range(2):
                state = torch.get_rng_state()
                with motley.samples(sample, epoch=epoch, view=view):
                    assert numpy.array_equal(numpy.asarray(mine(image)), want)
                assert torch.equal(state, torch.get_rng_state())
                mine(image)
        if how == "import":
            with motley.samples(5):
                assert numpy.array_equal(
                    numpy.asarray(module.RandAugment(2, 9, seed=7)(image)),
                    numpy.asarray(stage(image, seed=7, sample_ids=5)),
                )
    finally:
        ours.hand_back()


@pytest.mark.parametrize("version", VERSIONS)
def test_samples_of_a_batch(version):
    """With an id for each image a batch draws image by image; the frames of one share it."""
    mine = namespace(version)[1].RandAugment(2, 9, seed=3)
    clips = torch.randint(256, (4, 2, 3, 16, 16), dtype=torch.uint8)
    ids = [9, 2, 9, 5]
    with motley.samples(ids, epoch=1):
        out = mine(clips)
    for clip, sample, got in zip(clips, ids, out):
        with motley.samples(sample, epoch=1):
            assert torch.equal(mine(clip), got)
    with motley.samples(torch.tensor(ids), epoch=1):
        assert torch.equal(mine(clips), out)
    with (
        pytest.raises(ValueError, match="motley.samples has 3 ids, the tensor has 4 images"),
        motley.samples([1, 2, 3]),
    ):
        mine(clips)
    for wrong in ("7", None, 1.5, True):
        with pytest.raises(ValueError, match="ids is .*, want a whole number, or one for each image"):
            motley.samples(wrong)


def _reading(generator, transform):
    """Draws while generators wait."""
    for _ in zip(*generator):
        transform(picture(3))


def _yields(sample, transform, times=2):
    with motley.samples(sample, epoch=0):
        for _ in range(times):
            yield transform(picture(3))


@contextlib.contextmanager
def _block(sample):
    with motley.samples(sample, epoch=0):
        yield


def test_a_block_around_a_yield_warns():
    transform = ours.RandAugment()
    for several in (1, 2):  # whose blocks end in another order than that of nested ones
        sys.modules["motley.samples"].warn_once.cache_clear()
        with pytest.warns(UserWarning, match="a generator waits at a yield inside motley.samples") as warned:
            _reading([_yields(i, transform) for i in range(several)], transform)
        assert [w.filename for w in warned] == [__file__]
        assert not sys.modules["motley.samples"].draws_by_id(transform)  # no block is left behind
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(_yields(1, transform)), list(zip(_yields(1, transform, 1), _yields(2, transform, 1)))
        with _block(3):
            transform(picture(3))


def test_blocks_that_come_again_warn():
    def passes(epochs, transform):
        for epoch in epochs:
            for i in range(8):
                with motley.samples(i, epoch=epoch):
                    transform(picture(3))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        passes([None], ours.RandAugment()), passes([0, 1, 0], ours.RandomHorizontalFlip())
    with pytest.warns(motley.RepeatedSamples, match="came again in one epoch.*give motley.samples its epoch"):
        passes([None, None], ours.TrivialAugmentWide())


@pytest.mark.parametrize(
    "make",
    [
        lambda: ours.RandAugment(seed=3),
        lambda: ours.RandomResizedCrop(8, seed=3),
        lambda: ours.fuse(transforms.Compose([ours.RandomResizedCrop(8, seed=3), ours.RandAugment(seed=3)])),
        lambda: transforms.Compose([ours.RandAugment(seed=3), ours.TrivialAugmentWide(seed=3)]),
    ],
)
def test_copies_that_a_pool_unpickles_for_each_task_warn(make):
    """With a seed each counts from the same number."""
    task = pickle.dumps(make())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(3):
            with motley.samples(i):
                pickle.loads(task)(picture(3))
        transform = pickle.loads(task)
        for _ in range(3):
            transform(picture(3))
    with pytest.warns(motley.RepeatedSamples, match="copies of a transform.*or a drop-in its motley.samples"):
        for _ in range(3):
            pickle.loads(task)(picture(3))


@pytest.mark.parametrize("version", VERSIONS)
def test_seeds(version):
    """With a seed a transform counts its calls, apart from torch's generator; copies go on from where it was."""
    module, image = namespace(version)[1], picture(3)

    def drawn(transform, count=6):
        return [numpy.asarray(transform(image)).tobytes() for _ in range(count)]

    state = torch.get_rng_state()
    first, same, other = (module.RandAugment(seed=seed) for seed in (5, 5, 6))
    outs = drawn(first)
    assert len(set(outs)) > 3 and drawn(same) == outs and drawn(other) != outs
    assert torch.equal(state, torch.get_rng_state())
    assert drawn(copy.deepcopy(first)) == drawn(pickle.loads(pickle.dumps(same))) == drawn(first)
    assert first.seed == 5 and module.RandAugment().seed is None and "seed" not in repr(module.RandAugment())
    assert repr(first).endswith("seed=5)") and repr(module.RandomErasing(seed=3)).endswith("seed=3)")
    for wrong in (1 << 64, "5", 1.5):
        with pytest.raises(ValueError, match="seed is .*, want a whole number from 0 to 2.64 - 1"):
            module.RandAugment(seed=wrong)


# ---- workers, modules ----


def runs_on_motley(transform):
    torch.manual_seed(2)
    return [numpy.asarray(transform(picture(3))).tobytes() for _ in range(3)]


class Answers(torch.utils.data.Dataset):
    def __init__(self, transform):
        self.transform = transform

    def __len__(self):
        return 1

    def __getitem__(self, i):
        return runs_on_motley(self.transform)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("version", VERSIONS)
def test_take_over_reaches_workers(version, method):
    """A DataLoader's worker that is handed a transform of a process that took over runs it on Motley."""
    theirs, mine = namespace(version)
    want = runs_on_motley(mine.RandAugment())
    assert runs_on_motley(theirs.RandAugment()) != want
    ours.take_over()
    try:
        transform = transforms.Compose([theirs.RandAugment()])
        assert pickle.dumps(transform).count(b"motley") == 0  # a pickle that is kept needs no Motley
        loader = torch.utils.data.DataLoader(
            Answers(transform),
            batch_size=None,
            num_workers=1,
            multiprocessing_context=multiprocessing.get_context(method),
        )
        assert next(iter(loader)) == want
    finally:
        ours.hand_back()


def submodules(package):
    yield package.__name__
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        yield found.name


@pytest.mark.slow
def test_modules_are_torchvisions():
    """Every module below motley.torchvision.transforms that Motley does not have is torchvision's, not a copy."""
    script = """
import importlib, sys, warnings
warnings.simplefilter("ignore")
for name in sys.argv[1:]:
    try:
        theirs = importlib.import_module(name)
    except ImportError:
        continue
    if name.endswith("_video"):  # deprecated, and not imported by torchvision itself
        continue
    mine = importlib.import_module("motley." + name)
    assert mine.__name__.startswith("motley.") == (name in OURS) and (name in OURS or mine is theirs), name
    assert {a for a in dir(theirs) if a[0] != "_"} == {a for a in dir(mine) if a[0] != "_"} or name not in OURS, name
assert sum(name.count("transforms.v2.functional._meta") for name in sys.modules) in (0, 2)
try:
    import motley.torchvision.transforms.nowhere
except ModuleNotFoundError as error:
    assert "motley.torchvision.transforms.nowhere" in str(error)
else:
    raise AssertionError
import motley.torchvision, torchvision.transforms.autoaugment
from motley.torchvision.transforms.functional import InterpolationMode
from motley.torchvision.transforms import autoaugment
assert autoaugment.RandAugment is motley.torchvision.RandAugment is motley.torchvision.transforms.RandAugment
assert InterpolationMode is torchvision.transforms.InterpolationMode
""".replace("OURS", str(("torchvision.transforms", "torchvision.transforms.v2", "torchvision.transforms.autoaugment")))
    run = subprocess.run([sys.executable, "-c", script, *submodules(transforms)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@needs_v2
def test_registries_are_torchvisions():
    module = importlib.import_module("motley.torchvision.transforms.v2.functional")
    assert module is importlib.import_module("torchvision.transforms.v2.functional")


@pytest.mark.slow
@pytest.mark.parametrize("change", ["", "import line", "two lines"])
def test_a_training_script(tmp_path, change):
    """One changed import line, or two lines at the top, move a script's augmentation here and back."""
    text = (ROOT / "examples/python/torchvision_script.py").read_text()
    line = "from torchvision import transforms\n"
    assert text.count(line) == 1
    if change == "import line":
        text = text.replace(line, "from motley.torchvision import transforms\n")
    elif change:
        text = "import motley.torchvision\nmotley.torchvision.take_over()\n" + text
    script = tmp_path / "script.py"
    script.write_text(text)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    *losses, last = run.stdout.splitlines()
    assert len(losses) == 4 and last.startswith(f"augmented by {'motley.torchvision' if change else 'torchvision'}")
