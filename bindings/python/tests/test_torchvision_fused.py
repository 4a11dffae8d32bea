# SPDX-License-Identifier: Apache-2.0
"""motley.torchvision.fuse and motley.timm: a script's Compose as one transform, exact for a given draw."""

import pickle

import numpy as np
import PIL.Image
import pytest
from conftest import refused

import motley

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
import recipes  # noqa: E402
from torchvision import transforms  # noqa: E402
from torchvision.transforms import InterpolationMode, functional  # noqa: E402

import motley.torchvision  # noqa: E402
from motley.torchvision import fuse  # noqa: E402
from motley.torchvision.fused import ORDER  # noqa: E402
from motley.torchvision.pixels import say  # noqa: E402

try:
    from torchvision.transforms import v2
except ImportError:
    v2 = None

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
INTERPOLATIONS = {"nearest": 0, "bilinear": 2, "bicubic": 3}


def photographs(count):
    random = np.random.default_rng(7)
    for i in range(count):
        yield PIL.Image.fromarray(random.integers(0, 256, (50 + i % 9 * 11, 90 - i % 7 * 8, 3), np.uint8))


def replayed(image, draw, finish, erased=None):
    """A draw by Pillow's and torchvision's own functions."""
    c, to = draw["crop"], draw["resize"]
    image = image.crop((c["left"], c["top"], c["left"] + c["width"], c["top"] + c["height"]))
    image = image.resize((to["width"], to["height"]), FILTERS[to["filter"]])
    image = functional.hflip(image) if draw["flip"]["horizontal"] else image
    image = functional.vflip(image) if draw["flip"]["vertical"] else image
    for step in draw["steps"]:
        if step["op"] == "hue":
            image = functional.adjust_hue(image, step["value"])
            continue
        if step["op"] == "kernel_blur":
            sigma, size = step["value"]
            image = functional.gaussian_blur(image, [int(size)] * 2, [sigma, sigma])
            continue
        value = step.get("value", ())
        values = tuple(value) if isinstance(value, list) else (value,) if value != () else ()
        recipe = recipes.RECIPES[step["op"]][0]
        filter = INTERPOLATIONS[step.get("interpolation", "nearest")]
        image = recipe(image, values, filter, tuple(step.get("fill", (0, 0, 0))))
    image = finish(image)
    for box in draw.get("erase", ()):
        image[:, box["top"] : box["top"] + box["height"], box["left"] : box["left"] + box["width"]] = erased
    return image


def check_draws(fused, finish, erased=None):
    assert fused.not_taken == [] and not fused.before and not fused.after
    for i, image in enumerate(photographs(40)):
        with motley.samples(i, epoch=2):
            made = fused(image)
        draw = fused.transform.draw(sample_ids=[i], epoch=2, seed=fused._seed or 0, size=(image.height, image.width))[0]
        wanted = replayed(image, draw, finish, erased)
        assert made.dtype == wanted.dtype and torch.equal(made, wanted)


def test_a_training_recipe():
    fused = fuse(
        transforms.Compose(
            [
                transforms.RandomResizedCrop(48, interpolation=InterpolationMode.BICUBIC),
                transforms.RandomHorizontalFlip(),
                transforms.RandomVerticalFlip(0.25),
                transforms.RandAugment(
                    num_ops=2, magnitude=12, interpolation=InterpolationMode.BILINEAR, fill=(1, 2, 3)
                ),
                transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
                transforms.RandomGrayscale(0.2),
                transforms.ToTensor(),
                transforms.Normalize(MEAN, STD),
                transforms.RandomErasing(0.5, value=0.25),
            ]
        ),
        seed=5,
    )
    check_draws(fused, transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)]), 0.25)
    text = fused.transform.policy.show()
    for line in (
        f"random_resized_crop: {{size: 48, filter: bicubic{'' if ORDER == 'pillow-13' else f', order: {ORDER}'}}}",
        "flip: {horizontal: 0.5, vertical: 0.25}",
        "grayscale: {p: 0.2}",
        "erase: {p: 0.5, value: 0.25}",
    ):
        assert line in text


def test_the_recipe_of_simclr():
    """A blur's bytes may differ by 1 from those with torch's weights."""
    fused = fuse(
        [
            transforms.RandomResizedCrop(48),
            transforms.RandomApply([transforms.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
            transforms.RandomGrayscale(0.2),
            transforms.RandomApply([transforms.GaussianBlur(5, (0.1, 2.0))], p=0.5),
            transforms.PILToTensor(),
        ]
    )
    assert fused.not_taken == []
    blurs, apart = 0, 0
    for i, image in enumerate(photographs(40)):
        with motley.samples(i):
            made = fused(image)
        draw = fused.transform.draw(sample_ids=[i], seed=0, size=(image.height, image.width))[0]
        wanted = replayed(image, draw, functional.pil_to_tensor)
        assert abs(made.int() - wanted.int()).max() <= 1
        apart += int((made != wanted).sum())
        blurs += any(step["op"] == "kernel_blur" for step in draw["steps"])
    assert 10 < blurs < 30 and apart < blurs * 48 * 48 * 3 / 500


def test_the_seed_of_fused_transforms_is_kept():
    """In a block they draw what the script's transforms draw."""
    ours, image = motley.torchvision, next(photographs(1))
    both = [ours.RandomResizedCrop(20, seed=3), ours.RandAugment(seed=3)]
    with motley.samples(5, epoch=1):
        want = both[1](both[0](image)).tobytes()
        assert fuse(both)(image).tobytes() == want != fuse(both, seed=4)(image).tobytes()
    both[0].seed = 2
    refused(r"the transforms have the seeds \[2, 3\], and draw at once: want one", fuse, both)
    refused("seed is True, want a whole number", fuse, both, seed=True)


@pytest.mark.skipif(v2 is None, reason="torchvision before 0.16")
def test_v2_recipes():
    finish = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])
    steps = [v2.RandomResizedCrop(40), v2.RandomHorizontalFlip(), v2.TrivialAugmentWide()]
    check_draws(fuse(v2.Compose([*steps, *finish.transforms])), finish)
    check_draws(fuse(v2.Compose([v2.ToImage(), *steps, *finish.transforms[1:]])), finish)
    check_draws(fuse([v2.PILToTensor(), *steps]), functional.pil_to_tensor)


def test_an_evaluation_recipe_is_torchvisions():
    recipe = transforms.Compose(
        [transforms.Resize(52), transforms.CenterCrop(48), transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    )
    fused = fuse(recipe)
    for image in photographs(20):
        assert torch.equal(fused(image), recipe(image))
    same = pickle.loads(pickle.dumps(fused))
    assert torch.equal(same(image), recipe(image))
    batch = fused.transform([np.asarray(image) for image in photographs(6)])
    assert np.array_equal(batch, torch.stack([recipe(image) for image in photographs(6)]).numpy())


def test_pictures_stay_pictures():
    fused = fuse([transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(1.0)])
    image = next(photographs(1))
    made = fused(image)
    assert isinstance(made, PIL.Image.Image) and made.size == (32, 32)
    torch.manual_seed(3)
    first = np.asarray(fused(image))
    torch.manual_seed(3)
    assert np.array_equal(np.asarray(fused(image)), first)


class Own(transforms.RandomCrop):
    pass


def test_what_cannot_be_taken_runs_as_it_is(caplog):
    own, other = Own(60, pad_if_needed=True), transforms.RandomInvert()
    recipe = [own, transforms.RandomResizedCrop(32), other, transforms.RandomHorizontalFlip(), transforms.ToTensor()]
    say.cache_clear()
    fused = fuse(recipe)
    assert fused.before == [own] and fused.after == recipe[2:]
    assert [(t, why) for t, why in fused.not_taken] == [
        (own, "Motley has no such stage"),
        (other, "Motley has no such stage"),
        (recipe[3], "it comes behind RandomInvert"),
        (recipe[4], "it comes behind RandomInvert"),
    ]
    assert "RandomInvert is not fused: Motley has no such stage" in caplog.text
    fuse(recipe)  # a loop over settings, say
    assert len(caplog.records) == len(fused.not_taken)
    assert fused(next(photographs(1))).shape == (3, 32, 32)


@pytest.mark.parametrize(
    "first, second, why",
    [
        (
            transforms.RandomHorizontalFlip(),
            transforms.RandomResizedCrop(8),
            "'random_resized_crop' cannot stand behind",
        ),
        (transforms.Resize((8, 9)), transforms.RandomResizedCrop(8), "there is another crop or resize before it"),
        (transforms.RandomHorizontalFlip(), transforms.RandomHorizontalFlip(), "there is another flip before it"),
        (transforms.CenterCrop(8), transforms.RandomCrop(4), "there is another crop before it"),
        (transforms.RandomResizedCrop(8), transforms.Normalize(MEAN, STD), "there is no ToTensor right before it"),
        (transforms.RandomResizedCrop(8), transforms.RandomErasing(), "there is no ToTensor before it"),
        (transforms.RandomResizedCrop(8), transforms.Grayscale(1), "num_output_channels is not 3"),
        (transforms.RandomResizedCrop(8), transforms.RandomCrop(4, padding=(1, 2)), "padding is .*different"),
        (transforms.RandomResizedCrop(8), transforms.Resize(8, max_size=9), "max_size is given"),
        (transforms.RandomResizedCrop(8), transforms.ColorJitter(contrast=1e6), "'contrast' is 1000001, want 0..10000"),
        (transforms.RandomResizedCrop(8), transforms.RandomHorizontalFlip(1.5), "'horizontal' is 1.5, want 0..1"),
        (transforms.RandomResizedCrop(8), transforms.RandAugment(fill=[1, 2, 3, 4]), "fill has 4 values, want 1 or 3"),
        (transforms.RandomResizedCrop(8), transforms.RandAugment(magnitude=40), "magnitude is 40, want 0..30"),
        (transforms.RandomResizedCrop(8), transforms.GaussianBlur((3, 5)), "its kernel is 3x5, want a square of 3 to"),
        (transforms.RandomResizedCrop(8), transforms.GaussianBlur(25), "its kernel is 25x25, want"),
        (transforms.RandomResizedCrop(8), transforms.RandomApply([transforms.RandomInvert()]), "it applies something"),
        (transforms.ToTensor(), transforms.GaussianBlur(3), "'blur' cannot stand behind 'output'"),
        (transforms.RandomResizedCrop(8), transforms.RandAugment(num_ops=17), "num_ops is 17"),
        ([transforms.ColorJitter(0.1)] * 4, transforms.ColorJitter(0.1), "more than 4 stages 'jitter'"),
        (transforms.ToTensor(), transforms.Normalize([0.5] * 2, [0.5] * 2), "'mean' has 2 numbers and 'std' 2, want"),
        (transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 4), "'mean' has 3 numbers and 'std' 4, want"),
    ],
)
def test_why_a_run_ends(first, second, why):
    import re

    fused = fuse([*first, second] if isinstance(first, list) else [first, second])
    assert fused.after == [second] and re.match(why, fused.not_taken[0][1]), fused.not_taken


@pytest.mark.skipif(v2 is None, reason="torchvision before 0.16")
def test_types_that_are_not_scaled_to_float32():
    for dtype in torch.float32, torch.float16, {torch.Tensor: torch.float32, "others": None}:
        other = v2.ToDtype(dtype, scale=dtype is not torch.float32)
        fused = fuse([transforms.RandomResizedCrop(8), v2.ToImage(), other])
        assert fused.not_taken == [(other, "it is not to float32 with scale=True")]


def test_a_run_begins_where_it_can():
    recipe = [transforms.Resize(40), transforms.RandomResizedCrop(8), transforms.ToTensor()]
    fused = fuse(recipe)
    assert fused.before == recipe[:1] and fused.after == []
    assert fused.not_taken == [(recipe[0], "it leaves images of many sizes, and no crop stands behind it")]
    assert fused(next(photographs(1))).shape == (3, 8, 8)


class ColorJitter(transforms.ColorJitter):
    def forward(self, img):
        return functional.invert(img)


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image):
        return image


@pytest.mark.parametrize("other", [transforms.RandomApply([ColorJitter(0.4)]), ColorJitter(0.4), Compose([]),
                                   transforms.RandomChoice([transforms.RandomHorizontalFlip()])], ids=str)  # fmt: skip
def test_a_name_or_an_attribute_alone_is_not_enough(other):
    assert fuse([transforms.CenterCrop(8), other]).after == [other]
    refused(f"{type(other).__name__}: ", fuse, other)


def test_one_transform_and_what_changes_nothing():
    image = next(photographs(1))
    recipe = [transforms.CenterCrop(8), transforms.ColorJitter(), transforms.ToTensor(), transforms.Normalize(0.5, 2.0)]
    fused = fuse(recipe)
    assert fused.not_taken == [] and torch.equal(fused(image), transforms.Compose(recipe)(image))
    assert np.array_equal(np.asarray(fuse(recipe[0])(image)), np.asarray(recipe[0](image)))


@pytest.mark.parametrize("mode", ["L", "RGB", "LA", "RGBA"])
def test_grayscale_makes_three_channels(mode):
    recipe = transforms.Compose([transforms.CenterCrop(20), transforms.Grayscale(3), transforms.ToTensor()])
    fused, image = fuse(recipe), next(photographs(1)).convert(mode)
    if mode in ("LA", "RGBA"):
        refused(f"the image has {len(mode)} channels, want 1 or 3", fused, image)
        return
    assert torch.equal(fused(image), recipe(image))
    assert torch.equal(fused(functional.pil_to_tensor(image)), recipe(image))


def test_all_images_of_a_tensor_share_a_draw():
    fused = fuse([transforms.RandomResizedCrop(20), transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.5)])
    image = functional.pil_to_tensor(next(photographs(1)))
    torch.manual_seed(1)
    alone = fused(image)
    torch.manual_seed(1)
    clips = fused(image.repeat(2, 3, 1, 1, 1))
    assert clips.shape == (2, 3, 3, 20, 20) and (clips == alone).all()
    with motley.samples([4, 5]):
        first, second = fused(image.repeat(2, 1, 1, 1))
    with motley.samples(5):
        assert torch.equal(second, fused(image)) and not torch.equal(first, second)
    refused("the input is a list, want a PIL image or a uint8 tensor", fused, [image, image])


@pytest.mark.skipif(v2 is None, reason="torchvision before 0.16")
def test_types_of_v2():
    from torchvision import tv_tensors

    image = next(photographs(1))
    kinds = {tv_tensors.Image: torch.float32, "others": None}
    recipe = v2.Compose([v2.CenterCrop(20), v2.ToImage(), v2.ToDtype(kinds, scale=True)])
    for transforms_ in (recipe.transforms, [*recipe.transforms, v2.ToPureTensor()], recipe.transforms[:2]):
        made, wanted = fuse(transforms_)(image), v2.Compose(transforms_)(image)
        assert type(made) is type(wanted) and made.dtype == wanted.dtype and torch.equal(made, wanted)
    assert fuse([v2.CenterCrop(8), v2.ToImage(), v2.ToPureTensor()]).not_taken == []
    video = tv_tensors.Video(functional.pil_to_tensor(image).repeat(3, 1, 1, 1))
    assert type(fuse([v2.CenterCrop(20)])(video)) is tv_tensors.Video
    masks = {tv_tensors.Mask: 9, PIL.Image.Image: 5}
    fused = fuse([v2.RandAugment(fill=masks)])
    assert fused.not_taken == [] and "fill: 5\n" in fused.transform.policy.show()
    several = {tv_tensors.Image: 9, PIL.Image.Image: 5, "others": 0}
    for transform in (v2.RandAugment(fill=several), v2.RandomCrop(4, fill=several)):
        assert fuse([v2.CenterCrop(8), transform]).not_taken == [(transform, "fill differs for types of images")]


def test_the_transforms_of_weights_are_taken():
    models = pytest.importorskip("torchvision.models")
    for weights in (models.ResNet50_Weights.IMAGENET1K_V1, models.ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1):
        recipe = weights.transforms()
        fused = fuse(recipe)
        assert fused.not_taken == []
        for image in photographs(2):
            assert torch.equal(fused(image), recipe(image))


def test_nothing_to_fuse():
    refused("no transform can be taken: RandomInvert: Motley has no such stage", fuse, [transforms.RandomInvert()])
    refused("there is none", fuse, [])


# ---- timm ----

SETTINGS = [
    dict(is_training=True, input_size=40, re_prob=0.5, re_count=2),
    dict(
        is_training=True,
        input_size=(3, 40, 32),
        auto_augment="rand-m9-mstd0.5-inc1",
        interpolation="bicubic",
        vflip=0.3,
    ),
    dict(is_training=True, input_size=48, auto_augment="v0", interpolation="random", color_jitter=None),
    dict(is_training=True, input_size=40, auto_augment="3a", color_jitter_prob=0.7, grayscale_prob=0.2),
    dict(is_training=True, input_size=40, scale=(0.3, 0.9), ratio=(1.0, 2.0), hflip=0.0, use_prefetcher=True),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_create_transform_trains_as_timm(settings):
    pytest.importorskip("timm")
    import motley.timm

    finish = functional.pil_to_tensor
    if not settings.get("use_prefetcher"):
        finish = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    fused = motley.timm.create_transform(**settings)
    check_draws(fused, finish, 0.0)
    from timm.data import transforms_factory

    assert transforms_factory.rand_augment_transform is not motley.timm.rand_augment_transform


@pytest.mark.parametrize("settings", [dict(input_size=48), dict(input_size=48, crop_pct=1.0, interpolation="bicubic"),
                                      dict(input_size=48, crop_mode="squash"), dict(input_size=48, use_prefetcher=True),
                                      dict(input_size=48, is_training=True, no_aug=True)], ids=str)  # fmt: skip
def test_create_transform_evaluates_as_timm(settings):
    timm_data = pytest.importorskip("timm.data")
    import motley.timm

    ours, theirs = motley.timm.create_transform(**settings), timm_data.create_transform(**settings)
    assert ours.not_taken == []
    for image in photographs(12):
        assert torch.equal(torch.as_tensor(np.asarray(theirs(image))), ours(image))


def test_create_transform_leaves_timm_what_is_timms():
    pytest.importorskip("timm")
    import motley.timm

    fused = motley.timm.create_transform(40, is_training=True, auto_augment="augmix-m3", gaussian_blur_prob=0.5)
    assert fused.not_taken == [] and fused(next(photographs(1))).shape == (3, 40, 40)
    fused = motley.timm.create_transform(40, is_training=True, train_crop_mode="rkrc")
    assert [type(t).__name__ for t, _ in fused.not_taken][0] == "ResizeKeepRatio"
    assert fused(next(photographs(1))).shape == (3, 40, 40)
    several = motley.timm.create_transform(40, is_training=True, auto_augment="rand-m9", separate=True)
    assert len(several) == 3 and several[0].not_taken == [] and several[2].not_taken == []
    image = next(photographs(1))
    for each in several:
        image = each(image)
    assert image.shape == (3, 40, 40)


def test_tensors_of_timm_are_not_scaled():
    ours = pytest.importorskip("timm.data.transforms").ToTensor()
    recipe, image = [transforms.CenterCrop(8), ours], next(photographs(1))
    fused = fuse(recipe)
    assert fused.not_taken == [(ours, "it does not divide by 255")]
    assert torch.equal(fused(image), transforms.Compose(recipe)(image))


def test_fuse_takes_augmix_where_a_transform_mixes():
    pytest.importorskip("timm")
    import motley.timm

    augmix = motley.timm.augment_and_mix_transform("augmix-m3-w2")
    fused = fuse([transforms.RandomResizedCrop(40), augmix, transforms.ToTensor()])
    assert fused.not_taken == []
    image = next(photographs(1))
    made = []
    for sample in (3, 3, 4):
        with motley.samples(sample):
            made.append(fused(image))
    assert made[0].shape == (3, 40, 40) and torch.equal(made[0], made[1]) and not torch.equal(made[0], made[2])
    late = fuse([transforms.RandomResizedCrop(40), transforms.RandomGrayscale(0.5), augmix, transforms.ToTensor()])
    assert late.not_taken[0] == (augmix, "it mixes chains of ops, and a stage that draws ops stands before it")
    refused("that is for augment_and_mix_transform", motley.timm.auto_augment_transform, "augmix-m3")


def test_timms_mixup():
    mixup = pytest.importorskip("timm.data.mixup")
    import random

    import motley.timm

    images, labels = torch.randn(8, 3, 20, 20), torch.arange(8)
    ours = motley.timm.Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, mode="elem", num_classes=10)
    random.seed(4)
    made, targets = ours(images.clone(), labels)
    random.seed(4)
    again = images.clone()
    assert ours(again, labels)[0] is again and torch.equal(made, again) and not torch.equal(made, images)
    assert torch.allclose(targets.sum(1), torch.ones(8))
    with motley.samples(range(8), epoch=1):
        first = ours(images.clone(), labels)
    wanted = motley.Mix(mixup=0.8, cutmix=1, rules="timm", mode="elem", classes=10, smoothing=0.1)(
        images, labels, sample_ids=range(8), epoch=1
    )
    assert all(map(torch.equal, first, wanted))
    for off in (motley.timm.Mixup(prob=0, num_classes=10), motley.timm.Mixup(num_classes=10)):
        off.mixup_enabled = False
        theirs = mixup.Mixup(prob=0, num_classes=10)
        assert all(map(torch.equal, off(images.clone(), labels), theirs(images.clone(), labels)))
    off = motley.timm.Mixup(mixup_alpha=0, prob=0, num_classes=10)(images.clone(), labels)
    assert all(map(torch.equal, off, mixup.Mixup(mixup_alpha=0, prob=0, num_classes=10)(images.clone(), labels)))
    for name, value in (("prob", 1.5), ("switch_prob", -0.5), ("label_smoothing", float("nan"))):
        refused(f"^{name} is {value}, want 0 to 1", motley.timm.Mixup, **{name: value})
    for arguments, why in (((images[:3], labels[:3]), "3 images, want an even number"),
                           ((images, torch.rand(8, 10)), "multi_label is False")):  # fmt: skip
        refused(why, ours, *arguments)
