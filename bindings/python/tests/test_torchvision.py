# SPDX-License-Identifier: Apache-2.0
"""motley.torchvision against torchvision itself: the same arguments, and for a given draw the same pixels."""

import logging
import multiprocessing
import pathlib
import pickle
import sys

import pytest
from conftest import next_seed, refused

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
numpy = pytest.importorskip("numpy")
from PIL import Image  # noqa: E402
from torchvision import transforms  # noqa: E402

import motley.torchvision as ours  # noqa: E402
from motley.torchvision.images import NotOurs, say, v2  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/pillow"))
import replay  # noqa: E402

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
    return v2, ours.v2


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
    drawn_from = next_seed(seed)
    out = transform(image)
    stage, (width, height) = transform._for(image), image.size
    return out, stage.draw(
        seed=drawn_from, sample_ids=[0], epoch=0, size=(height, width), channels=len(image.getbands())
    )[0]


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
    drawn = mine._for(image).draw(size=(29, 37), sample_ids=range(2000), epoch=0, seed=5)
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
        stage = mine._for(image)
        assert isinstance(mine, theirs.AugMix) and repr(mine) == repr(theirs.AugMix(**arguments))
        wanted = stage(image, sample_ids=0, epoch=0, seed=next_seed(8))
        assert numpy.array_equal(numpy.asarray(mine(image)), numpy.asarray(wanted))
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
        for steps in stage.draw(seed=1, sample_ids=range(200), epoch=0, size=(29, 37), channels=3):
            # The first is the image's, before all chains.
            ends = [i for i, step in enumerate(steps) if step["op"] == "mix_add"]
            lengths.update(after - before - 1 for before, after in zip(ends, ends[1:]))
        assert lengths == ({mine.chain_depth} if mine.chain_depth > 0 else {1, 2, 3})


@pytest.mark.parametrize("version", VERSIONS)
def test_tensors_get_the_images_bytes(version):
    """A CHW tensor, alone or in a batch, CHW or channels_last in memory, is what its PIL image becomes; a batch shares
    one draw, as in torchvision."""
    mine = namespace(version)[1].RandAugment(2, 9, fill=(1, 2, 3))
    images = [picture(3, seed=s) for s in range(6)]
    batch = torch.stack([torch.from_numpy(numpy.array(image)).permute(2, 0, 1) for image in images])
    seed = next_seed(3)
    stage = mine._for(images[0])
    want = [numpy.asarray(stage(image, seed=seed, sample_ids=0, epoch=0)) for image in images]
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


def test_objects_are_torchvisions():
    mine = ours.RandAugment(1, 5, fill=[1, 2, 3])
    assert isinstance(mine, transforms.RandAugment) and repr(mine) == repr(transforms.RandAugment(1, 5, fill=[1, 2, 3]))
    again = pickle.loads(pickle.dumps(mine))
    assert again.fill == [1, 2, 3] and type(again) is ours.RandAugment
    image = picture(3)
    assert transforms.Compose([ours.RandAugment(), transforms.ToTensor()])(image).shape == (3, 29, 37)
    assert numpy.array_equal(numpy.asarray(ours.RandAugment(num_ops=0)(image)), numpy.asarray(image))


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
    say.cache_clear()
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
    refused("fill has 2 values, want 1 or 3", ours.RandAugment(fill=[1, 2]), picture(3), error=ValueError)
    refused("magnitude is 31, want 0..30", ours.RandAugment(magnitude=31), picture(3), error=IndexError)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("version", VERSIONS)
def test_floats_are_torchvisions_without_a_warning(version, caplog):
    """Whoever turns warnings into errors, as torchvision's own tests do, is not stopped by a call that torchvision
    runs; and an error of torchvision's is shown alone."""
    say.cache_clear()
    mine = namespace(version)[1].RandAugment()
    if version == "v2":
        assert mine(torch.rand(3, 8, 8)).dtype == torch.float32
    else:
        with pytest.raises(Exception) as raised:
            for _ in range(50):
                mine(torch.rand(3, 8, 8))
        assert raised.value.__context__ is None or not isinstance(raised.value.__context__, NotOurs)
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
    message = f"RandAugment takes one image and got {kind}" if version == "v1" else f"Inputs of type {kind} are not"
    refused(message, mine, given, error=TypeError)
    assert torch.equal(given, before)


def test_two_inputs_are_refused_by_name():
    """v1 takes an image; an error says which class it is that was called."""
    for name in ("RandAugment", "TrivialAugmentWide", "AutoAugment", "AugMix"):
        mine = getattr(ours, name)()
        with pytest.raises(
            TypeError, match=rf"^{name} takes one image and got Image, int: want motley.torchvision.v2.{name}"
        ):
            mine(picture(3), 5)
    with pytest.raises(TypeError, match="^RandAugment takes one image and got Image, Tensor"):
        ours.RandAugment()(picture(3), torch.zeros(1))


# ---- taking over ----


@pytest.fixture
def taken_over():
    ours.take_over()
    yield
    ours.hand_back()


def every_name():
    """What take_over() may set, and all else of torchvision's transforms."""
    modules = {name: module for name, module in sys.modules.items() if name.startswith("torchvision.transforms")}
    return {(name, attribute): value for name, module in modules.items() for attribute, value in vars(module).items()}


def test_taking_over_sets_five_names_and_nothing_else():
    before = every_name()
    ours.take_over()
    try:
        ours.take_over()  # twice is once
        taken = {key: value for key, value in every_name().items() if before.get(key) is not value}
    finally:
        ours.hand_back()
    assert every_name() == before
    names = {"Compose", "RandAugment", "TrivialAugmentWide", "AutoAugment", "AugMix"}
    public = ["torchvision.transforms"] + ["torchvision.transforms.v2"] * (v2 is not None)
    inner = {("torchvision.transforms.transforms", "Compose")}
    inner |= {("torchvision.transforms.autoaugment", name) for name in names - {"Compose"}}
    assert set(taken) == {(module, name) for module in public for name in names} | inner
    for (module, name), cls in taken.items():
        assert cls is getattr(ours.v2 if module.endswith("v2") else ours, name)


@pytest.mark.parametrize("version", VERSIONS)
def test_taking_over(version, taken_over):
    """A script's Compose is fused, a policy alone is Motley's; what was made before stays."""
    theirs = namespace(version)[0]
    composed = theirs.Compose([theirs.RandomHorizontalFlip(), theirs.RandAugment(), theirs.RandomInvert()])
    assert [type(t).__name__ for t, _ in composed.not_taken] == ["RandomInvert"]
    assert isinstance(composed, theirs.Compose) and isinstance(composed.transforms[1], theirs.RandAugment)
    with_steps = composed.transforms[1]
    out, steps = called(with_steps, picture(3), 4)
    want = Replay(with_steps, version).run(picture(3), steps)
    assert numpy.array_equal(numpy.asarray(out), numpy.asarray(want))


def drawn_by(transform):
    torch.manual_seed(2)
    return [numpy.asarray(transform(picture(3))).tobytes() for _ in range(3)]


class Answers(torch.utils.data.Dataset):
    def __init__(self, transform):
        self.transform = transform

    def __len__(self):
        return 1

    def __getitem__(self, i):
        return drawn_by(self.transform)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_a_script_that_took_over(taken_over, method):
    """Spawned ones, which have not taken over, get Motley's objects."""
    transform = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.RandAugment()])
    context = multiprocessing.get_context(method)
    loader = torch.utils.data.DataLoader(
        Answers(transform), batch_size=None, num_workers=1, multiprocessing_context=context
    )
    assert next(iter(loader)) == drawn_by(transform)


@pytest.mark.slow
def test_a_training_script(tmp_path, forked):
    """Two lines at its top move a script's augmentation here; as it stands it runs with the examples."""
    text = (ROOT / "examples/python/torchvision_script.py").read_text()
    script = tmp_path / "script.py"
    script.write_text("import motley.torchvision\nmotley.torchvision.take_over()\n" + text)
    *losses, last = forked(([script], {}))[0].splitlines()
    assert len(losses) == 4 and last.startswith("augmented by motley.torchvision")
