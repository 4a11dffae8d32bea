# SPDX-License-Identifier: Apache-2.0
"""motley.torchvision's crops, resizes, flips, jitter, erasing and mixing against torchvision's own."""

import copy
import logging
import pickle
import random
import warnings
from contextlib import nullcontext

import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
numpy = pytest.importorskip("numpy")
from PIL import Image  # noqa: E402
from torchvision import transforms  # noqa: E402

import motley  # noqa: E402
import motley.torchvision as ours  # noqa: E402
from conftest import DEVICES  # noqa: E402
from test_torchvision import VERSIONS, name_of, namespace, needs_v2  # noqa: E402

MODES = transforms.InterpolationMode
JITTER = {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}
DRAWING = [  # (class, arguments)
    ("RandomResizedCrop", {"size": 40}),
    ("RandomResizedCrop", {"size": (24, 90), "interpolation": MODES.BICUBIC, "scale": (0.3, 0.9), "ratio": (0.5, 1)}),
    ("RandomResizedCrop", {"size": 30, "interpolation": MODES.NEAREST}),
    ("RandomResizedCrop", {"size": 80, "interpolation": MODES.LANCZOS}),
    ("RandomHorizontalFlip", {}),
    ("ColorJitter", JITTER),
    ("ColorJitter", {"brightness": 5, "contrast": 7, "saturation": (0, 9), "hue": 0.5}),
    ("ColorJitter", {"brightness": (0, 0)}),
    ("ColorJitter", {}),
    ("RandomGrayscale", {"p": 0.5}),
    ("GaussianBlur", {"kernel_size": 3, "sigma": (0.5, 4)}),
    ("GaussianBlur", {"kernel_size": 23}),
]
RESIZING = [
    ("Resize", {"size": 70}),
    ("Resize", {"size": 70, "max_size": 80}),
    ("Resize", {"size": (12, 99), "interpolation": MODES.BICUBIC}),
]
ERASING = [
    ("RandomErasing", {}),
    ("RandomErasing", {"p": 0.9, "value": (1, 2, 3)}),
    ("RandomErasing", {"p": 1, "value": "random", "scale": (0.1, 0.4)}),
]


def pair(version, name, arguments):
    return tuple(getattr(module, name)(**arguments) for module in namespace(version))


def picture(mode="RGB", width=97, height=73, seed=1):
    if mode not in ("L", "LA", "RGB", "RGBA"):
        return picture("L", width, height, seed).convert(mode)
    noise = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [128 + 90 * numpy.sin(x / 5 + c) + 30 * numpy.cos(y / 3) for c in range(len(mode))]
    array = numpy.clip(numpy.stack(planes, -1) + noise.normal(0, 8, (height, width, 1)), 0, 255).astype(numpy.uint8)
    return Image.fromarray(array if len(mode) > 1 else array[..., 0], mode)


def tensor(image):
    array = numpy.asarray(image)
    return torch.from_numpy(array[None].copy() if array.ndim == 2 else array.transpose(2, 0, 1).copy())


def outcome(transform, image, seed):
    """What comes out, or which exception, and what torch draws next."""
    torch.manual_seed(seed)
    try:
        made = transform(image)
        made = made.mode, made.size, made.tobytes(), made.info
    except Exception as error:
        made = type(error)
    return made, float(torch.rand(()))


# ---- outside a block: torchvision's draws ----


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name,arguments", DRAWING + RESIZING, ids=name_of)
def test_a_seed_gives_torchvisions_image(version, name, arguments):
    theirs, mine = pair(version, name, arguments)
    assert repr(mine) == repr(theirs) and mine.__class__.__module__.startswith("motley.")
    sizes = random.Random(3)
    changed = 0
    for mode in ("RGB", "L", "RGBA", "LA", "P", "1"):
        for seed in range(6):
            image = picture(mode, sizes.randrange(1, 120), sizes.randrange(1, 120), seed)
            image.info["dpi"] = 72, 72
            want = outcome(theirs, image, seed)
            assert outcome(mine, image, seed) == want, (mode, image.size, seed)
            changed += want[0] != (image.mode, image.size, image.tobytes(), image.info)
    assert changed or arguments == {}


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_images_that_pillow_keeps_in_several_blocks(version):
    for size in (70, 2100), (2100, 70), (2100, 2100):
        theirs, mine = pair(version, "Resize", {"size": 2 * [size[1]]})
        image = picture(width=size[0], height=size[0])
        assert outcome(mine, image, 0) == outcome(theirs, image, 0), size


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name,arguments", DRAWING + RESIZING, ids=name_of)
def test_tensors_that_were_expanded(version, name, arguments):
    """As Grayscale(num_output_channels=3) makes them of tensors."""
    if arguments.get("interpolation") is MODES.LANCZOS and version == "v1":
        pytest.skip("torchvision refuses it")
    mine = pair(version, name, arguments)[1]
    grey = tensor(picture("L"))
    for image in grey.expand(3, -1, -1), grey.expand(4, 3, -1, -1):
        made = []
        for each in image, image.contiguous():
            torch.manual_seed(1)
            made.append(mine(each))
        assert torch.equal(*made)


@pytest.mark.parametrize("version", VERSIONS)
def test_crops_that_come_out_empty(version):
    """torchvision's, of images too small for the ratio."""
    theirs, mine = pair(version, "RandomResizedCrop", {"size": 99, "ratio": (5, 6)})
    for image in picture(width=2, height=90), picture("LA", 1, 3), picture("RGBA", 2, 2):
        want = outcome(theirs, image, 0)
        assert outcome(mine, image, 0) == want and want[0][1] == (99, 99)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name,arguments", DRAWING + RESIZING, ids=name_of)
def test_tensors_get_the_images_bytes(version, device, name, arguments):
    if arguments.get("interpolation") is MODES.LANCZOS and version == "v1":
        pytest.skip("torchvision refuses it")
    nearest = arguments.get("interpolation") is MODES.NEAREST
    if name.endswith(("Crop", "Resize")) and not nearest:
        arguments = {**arguments, "antialias": True}
    mine = pair(version, name, arguments)[1]
    for image in (picture(), picture("L")):
        for seed in range(2):
            torch.manual_seed(seed)
            want = tensor(mine(image))
            torch.manual_seed(seed)
            clip = torch.stack([tensor(image), tensor(image).flip(-1)]).to(device)
            made = mine(clip)
            assert made.dtype == torch.uint8 and made.device == clip.device
            if nearest:
                continue  # torchvision's
            assert torch.equal(made[0].cpu(), want), seed
            assert made.shape[1:] == want.shape


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name,arguments", [*ERASING, DRAWING[4], DRAWING[0]], ids=name_of)
def test_floats_are_torchvisions(version, name, arguments):
    if name == "RandomResizedCrop":
        arguments = {**arguments, "antialias": True}
    theirs, mine = pair(version, name, arguments)
    assert repr(mine) == repr(theirs)
    image = tensor(picture()).float() / 255
    for seed in range(12):
        torch.manual_seed(seed)
        want = theirs(image)
        torch.manual_seed(seed)
        assert torch.equal(mine(image), want), seed


@pytest.mark.parametrize(
    "name,arguments,image,why",
    [
        ("Resize", {"size": 20}, torch.zeros(3, 9, 9), "a tensor of torch.float32"),
        ("Resize", {"size": 20, "antialias": None}, torch.zeros(3, 9, 9, dtype=torch.uint8), "antialias is not set"),
        ("RandomResizedCrop", {"size": 20, "interpolation": MODES.NEAREST},
         torch.zeros(3, 9, 9, dtype=torch.uint8), "nearest on tensors"),
        ("ColorJitter", {"contrast": (1e5, 1e6)}, picture(), "a factor above 10000"),
        ("ColorJitter", JITTER, picture("LA"), "a PIL image of mode LA"),
        ("RandomGrayscale", {}, picture("P"), "a PIL image of mode P"),
        ("GaussianBlur", {"kernel_size": (3, 5)}, picture(), "a kernel of 3x5"),
        ("GaussianBlur", {"kernel_size": 25}, picture(), "a kernel of 25x25"),
        ("GaussianBlur", {"kernel_size": 3, "sigma": (1, 1001)}, picture(), "sigma (1, 1001)"),
        ("GaussianBlur", {"kernel_size": 23}, picture("RGB", 11, 60), "a kernel of 23 on an image of (60, 11)"),
    ],
)  # fmt: skip
def test_what_is_torchvisions_is_said(name, arguments, image, why, caplog):
    ours._say.cache_clear()
    theirs, mine = pair("v1", name, arguments)
    results = []
    for transform in (theirs, mine, mine):
        torch.manual_seed(1)
        try:
            results.append(numpy.asarray(transform(image)).tolist())
        except Exception as error:
            results.append(type(error))
    assert results[1] == results[2] == results[0]
    said = [record.getMessage() for record in caplog.records if record.name == "motley.torchvision"]
    assert len(said) == 1 and said[0].startswith(f"{name} runs in torchvision, not in Motley: {why}"), said


@needs_v2
@pytest.mark.parametrize("by_id", [False, True])
@pytest.mark.parametrize("name,arguments", DRAWING[:1] + DRAWING[4:6] + DRAWING[-1:] + RESIZING[:1], ids=name_of)
def test_what_stands_beside_an_image_moves_by_the_same_draw(name, arguments, by_id):
    from torchvision import tv_tensors

    theirs, mine = pair("v2", name, arguments)
    image = picture()
    boxes = tv_tensors.BoundingBoxes([[3, 4, 50, 60]], format="XYXY", canvas_size=image.size[::-1])
    sample = {"image": image, "mask": tv_tensors.Mask(tensor(image)[0]), "boxes": boxes, "label": 3}
    for seed in range(6):
        with motley.samples(seed) if by_id else nullcontext():
            torch.manual_seed(seed)
            made = mine(sample)
            torch.manual_seed(seed)
            alone = mine(image)
        assert made["image"].tobytes() == alone.tobytes() and made["label"] == 3
        if by_id:  # theirs, by what was drawn
            with motley.samples(seed):
                stage = ours.recipe._ours_by_id(mine)
            drawn = ours.recipe._found(mine, stage, image, (seed, 0, 0, 0)) if name != "Resize" else {}
            want = (
                sample
                if drawn is None
                else {key: theirs.transform(sample[key], drawn) for key in made if key != "label"}
            )
        else:
            torch.manual_seed(seed)
            want = theirs(sample)
        assert made["image"].tobytes() == want["image"].tobytes()
        assert torch.equal(made["mask"], want["mask"]) and type(made["mask"]) is tv_tensors.Mask
        assert torch.equal(made["boxes"], want["boxes"]) and made["boxes"].canvas_size == want["boxes"].canvas_size


# ---- by sample id ----


def test_by_id_what_no_stage_draws_is_torchvisions(caplog):
    ours._say.cache_clear()
    image = picture()
    with motley.samples(3):
        assert ours.ColorJitter()(image) is image
        assert ours.RandomResizedCrop(8, scale=(1, 1.5))(image).size == (8, 8)
        assert ours.RandomErasing(1.0, value=float("nan"))(torch.rand(3, 20, 20)).isnan().any()
    said = [record.getMessage() for record in caplog.records if record.name == "motley.torchvision"]
    assert said == [
        "RandomResizedCrop draws as torchvision does, not by sample id: 'scale' is 1.5, want 0..1",
        "RandomErasing draws as torchvision does, not by sample id: 'value' is 'NaN', want a number, a list of them, "
        "channel or pixel",
    ]


def test_by_id_images_of_many_channels():
    """Which Motley's stages do not take, but torchvision flips and erases."""
    image = torch.rand(7, 30, 30)
    for transform in (ours.RandomHorizontalFlip(1.0), ours.RandomErasing(1.0)):
        with motley.samples(3):
            seven, three = transform(image), transform(image[:3])
        assert torch.equal(seven[:3], three) and not torch.equal(seven, image)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_coin_rounds_its_p_as_torch_does(dtype):
    """p a trifle above or below the number drawn, less than binary32 holds: torchvision's coin decides."""
    image = picture()
    torch.set_default_dtype(dtype)
    try:
        for seed in range(20):
            torch.manual_seed(seed)
            drawn = torch.rand(1).item()
            for p in (drawn, drawn * (1 + 1e-9), drawn * (1 - 1e-9), drawn + 1e-7, 0, 1):
                torch.manual_seed(seed)
                theirs = transforms.RandomGrayscale(p)(image)
                torch.manual_seed(seed)
                assert ours.RandomGrayscale(p)(image).tobytes() == theirs.tobytes(), (seed, p)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("version", VERSIONS)
def test_by_id_a_script_draws_what_it_draws_fused(version):
    """Crop, flip, policy, jitter, grey one after the other, and as one stage."""
    mine = namespace(version)[1]
    script = transforms.Compose(
        [
            mine.RandomResizedCrop(40, antialias=True),
            mine.RandomHorizontalFlip(),
            mine.RandAugment(),
            mine.ColorJitter(**JITTER),
            mine.RandomGrayscale(0.5),
        ]
    )
    fused = ours.fuse(script)
    assert fused.not_taken == []
    images = set()
    for i in range(12):
        with motley.samples(i, epoch=3, view=1):
            torch.manual_seed(i)
            made = script(picture())
            assert made.tobytes() == fused(picture()).tobytes(), i
        images.add(made.tobytes())
    assert len(images) == 12


@pytest.mark.parametrize("version", VERSIONS)
def test_by_id_a_blur_has_the_fused_sigma(version, monkeypatch):
    """And torchvision's pixels for it, but for a kernel of torch's weights in place of Motley's."""
    theirs, mine = pair(version, "GaussianBlur", {"kernel_size": 9, "sigma": (0.2, 3)})
    fused = ours.fuse([mine])
    monkeypatch.setattr(transforms.functional, "gaussian_blur", None)  # torchvision must not be asked
    blurred, apart = [], 0
    for i in range(12):
        image = picture(seed=i)
        with motley.samples(i, epoch=2):
            blurred.append((image, mine(image)))
            again = fused(image)
        apart += (numpy.asarray(again) != numpy.asarray(blurred[-1][1])).sum()
        assert abs(numpy.asarray(again).astype(int) - numpy.asarray(blurred[-1][1])).max() <= 1
    assert apart < 12 * 97 * 73 * 3 / 500
    monkeypatch.undo()
    sigmas = set()
    for i, (image, made) in enumerate(blurred):
        (step,) = fused.transform.draw(sample_ids=[i], epoch=2, seed=0, size=(73, 97))[0]["steps"]
        sigma, size = step["value"]
        functional = namespace(version)[0].functional
        assert size == 9 and made.tobytes() == functional.gaussian_blur(image, [9, 9], [sigma, sigma]).tobytes()
        sigmas.add(sigma)
    assert len(sigmas) == 12


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name,arguments", ERASING, ids=name_of)
def test_by_id_the_box_is_the_fused_one(version, name, arguments):
    mine = pair(version, name, arguments)[1]
    image = torch.full((3, 40, 50), 9.0)
    fused = ours.fuse([transforms.ToTensor(), mine])
    found = 0
    for i in range(12):
        with motley.samples(i, epoch=2):
            made, again = mine(image), mine(image)
            assert torch.equal(made, again)
            _, draws = fused.transform(picture("RGB", 50, 40), seed=0, sample_ids=i, epoch=2, return_draws=True)
        boxes = draws.get("erase", [])
        want = torch.zeros(40, 50, dtype=torch.bool)
        for box in boxes:
            want[box["top"] : box["top"] + box["height"], box["left"] : box["left"] + box["width"]] = True
        assert torch.equal((made != 9).any(0), want), i
        found += len(boxes)
    assert found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name,arguments", DRAWING[:1] + DRAWING[4:6] + DRAWING[-1:] + ERASING[:1], ids=name_of)
def test_seeds_epochs_and_batches_of_ids(version, name, arguments):
    if name == "RandomResizedCrop":
        arguments = {**arguments, "antialias": True}
    mine = pair(version, name, arguments)[1]
    batch = torch.stack([tensor(picture(seed=i)) for i in range(8)])

    def of_ids(transform, epoch=0):
        with motley.samples(torch.arange(8), epoch=epoch):
            return transform(batch)

    def one(i):
        with motley.samples(i):
            return mine(batch[i])

    together = of_ids(mine)
    assert torch.equal(together, torch.stack([one(i) for i in range(8)]))
    assert not torch.equal(together, of_ids(mine, 1))
    other = namespace(version)[1].__dict__[name](**arguments, seed=5)
    assert not torch.equal(together, of_ids(other))
    counting = [getattr(namespace(version)[1], name)(**arguments, seed=5) for _ in range(2)]
    first, second = ([transform(image) for image in batch] for transform in counting)
    assert all(map(torch.equal, first, second))
    with motley.samples([1, 2]), pytest.raises(motley.ArgumentError, match="has 2 ids"):
        mine(batch)


def test_a_subclass_that_draws_for_itself_keeps_its_draws(caplog):
    ours._say.cache_clear()

    class Middle(ours.RandomResizedCrop):
        @staticmethod
        def get_params(img, scale, ratio):
            return 10, 20, 30, 40

    want = picture().crop((20, 10, 60, 40)).resize((64, 64), Image.BILINEAR).tobytes()
    assert Middle(64)(picture()).tobytes() == want
    with motley.samples(3):
        assert Middle(64)(picture()).tobytes() == want
    assert "Middle draws as torchvision does, not by sample id" in caplog.text


# ---- MixUp, CutMix ----


@needs_v2
@pytest.mark.parametrize("name", ["MixUp", "CutMix"])
def test_mixing(name):
    theirs, mine = pair("v2", name, {"alpha": 0.7, "num_classes": 4})
    images, labels = torch.rand(6, 3, 16, 20), torch.arange(6) % 4
    torch.manual_seed(2)
    want = theirs(images, labels)
    torch.manual_seed(2)
    made = mine(images, labels)
    assert all(map(torch.equal, made, want))
    mix = motley.Mix(**{name.lower(): 0.7}, classes=4)
    for i in range(5):
        with motley.samples(range(i, i + 6), epoch=4):
            made = mine(images, labels)
        want = mix(images, labels, sample_ids=torch.arange(i, i + 6), epoch=4)
        assert all(map(torch.equal, made, want)), i
        assert not torch.equal(made[0], images)


# ---- what stands in torchvision's place ----


@pytest.mark.parametrize("version", VERSIONS)
def test_take_over_and_hand_back(version):
    module = namespace(version)[0]
    names = [name for name in (*ours.recipe.KINDS, "MixUp", "CutMix", "RandAugment") if hasattr(module, name)]
    before = {name: dict(vars(getattr(module, name))) for name in names}
    crop, image = module.RandomResizedCrop(80), picture()
    torch.manual_seed(1)
    want = crop(image).tobytes()
    ours.take_over()
    ours.take_over()
    try:
        for i in range(2):
            with motley.samples(i):
                mine = namespace(version)[1].RandomResizedCrop(80)
                assert crop(image).tobytes() == mine(image).tobytes()
        torch.manual_seed(1)
        assert crop(image).tobytes() == want
        assert vars(module.RandomErasing)["forward"] is not before["RandomErasing"].get("forward")
    finally:
        ours.hand_back()
    assert {name: dict(vars(getattr(module, name))) for name in names} == before


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "name,arguments", DRAWING[:2] + DRAWING[4:6] + DRAWING[-1:] + RESIZING[2:] + ERASING[:1], ids=name_of
)
def test_copies_and_pickles(version, name, arguments):
    theirs, mine = pair(version, name, arguments)
    image = tensor(picture()).float() if name == "RandomErasing" else picture()
    for again in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert type(again) is type(mine) and repr(again) == repr(theirs)
        torch.manual_seed(3)
        want = theirs(image)
        torch.manual_seed(3)
        assert numpy.array_equal(numpy.asarray(again(image)), numpy.asarray(want))
    assert isinstance(mine, type(theirs))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("taken", [False, True])
def test_scripted_they_are_torchvisions(version, taken):
    module, mine = namespace(version)
    if taken:
        mine = module
    image = tensor(picture()).float() / 255
    made = [
        mine.RandomResizedCrop([40, 40], antialias=True),
        mine.RandomHorizontalFlip(),
        mine.ColorJitter(**JITTER),
        mine.RandomGrayscale(0.5),
        mine.RandomErasing(0.9, value=0.0),
        mine.Resize([20, 30], antialias=True),
    ]
    torch.manual_seed(4)
    want = torch.nn.Sequential(*[getattr(transforms, type(t).__name__)(**init(t)) for t in made])(image)
    if taken:
        ours.take_over()
    try:
        scripted = torch.jit.script(torch.nn.Sequential(*made))
        torch.manual_seed(4)
        assert torch.equal(scripted(image), want)
    finally:
        ours.hand_back()


def init(transform):
    """The arguments of those above, as v1 takes them."""
    names = {
        "RandomResizedCrop": ("size", "antialias"),
        "Resize": ("size", "antialias"),
        "ColorJitter": ("brightness", "contrast", "saturation", "hue"),
    }
    return {name: getattr(transform, name) for name in names.get(type(transform).__name__, ("p",))}


def test_what_motley_has_is_there():
    from motley.torchvision.transforms import CenterCrop, Resize

    assert CenterCrop is transforms.CenterCrop  # nothing to gain
    assert Resize is ours.Resize
    with pytest.raises(TypeError, match="seed"):
        Resize(4, seed=1)
    assert logging.getLogger("motley.torchvision")


def test_antialias_is_said_to_be_ignored():
    """By v1 of PIL images, as torchvision says it; at the caller's line."""
    image = Image.new("RGB", (40, 30))
    with pytest.warns(UserWarning, match="Anti-alias option is always applied for PIL Image input") as caught:
        ours.Resize(9, antialias=False)(image)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for antialias in (None, True):
            ours.Resize(9, antialias=antialias)(image)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name,arguments", [("RandomGrayscale", {"p": 1.0}), ("ColorJitter", {"saturation": 0.4}),
                                            ("ColorJitter", {"hue": 0.1})], ids=name_of)  # fmt: skip
def test_grey_images_are_copied_where_torchvision_copies(version, name, arguments):
    """So that drawing on a result does not change an image that the data set keeps."""
    theirs, module = namespace(version)
    grey = Image.new("L", (9, 8), 77)
    grey.info["about"] = "it"
    for image in (grey, torch.full((1, 8, 9), 77, dtype=torch.uint8)):
        wanted, made = getattr(theirs, name)(**arguments)(image), getattr(module, name)(**arguments)(image)
        assert (made is image) == (wanted is image)
        assert bytes(numpy.asarray(made)) == bytes(numpy.asarray(image))
        if isinstance(image, Image.Image):
            assert made.info == wanted.info


@pytest.mark.parametrize("ratio", [(2, 3), (0.2, 0.3), (0.75, 4 / 3)])
def test_crops_that_do_not_fit_draw_as_torchvisions(ratio):
    theirs, mine = pair("v1", "RandomResizedCrop", {"size": 40, "scale": (0.9, 1), "ratio": ratio})
    states = []
    for transform in theirs, mine:
        torch.manual_seed(5)
        states.append([transform(picture()).tobytes() for _ in range(9)] + [torch.get_rng_state().tolist()])
    assert states[0] == states[1]
