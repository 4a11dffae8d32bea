# SPDX-License-Identifier: Apache-2.0
"""motley.torchvision.fuse and motley.timm: a script's Compose as one transform, exact for a given draw."""

import contextlib
import copy
import pickle
import re

import numpy as np
import PIL.Image
import pytest
from conftest import next_seed, refused


torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
import recipes  # noqa: E402
from torchvision import transforms  # noqa: E402
from torchvision.transforms import InterpolationMode, functional  # noqa: E402

from motley.torchvision import Compose, fuse  # noqa: E402
from motley.torchvision._runs import ORDER, Run  # noqa: E402
from motley.torchvision.images import say, tv_tensors, v2  # noqa: E402

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
EVALUATION = [transforms.Resize(52), transforms.CenterCrop(48), transforms.ToTensor(), transforms.Normalize(MEAN, STD)]


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
        image = recipes.stepped(image, step)
    image = finish(image)
    for box in draw.get("erase", ()):
        image[:, box["top"] : box["top"] + box["height"], box["left"] : box["left"] + box["width"]] = erased
    return image


def drawn(fused, image, seed):
    """The draw of its next call."""
    return fused.transform.draw(sample_ids=[0], epoch=0, seed=next_seed(seed), size=(image.height, image.width))[0]


def check_draws(fused, finish, erased=None):
    assert fused.not_taken == []
    for i, image in enumerate(photographs(40)):
        draw = drawn(fused, image, i)
        result, wanted = fused(image), replayed(image, draw, finish, erased)
        assert result.dtype == wanted.dtype and torch.equal(result, wanted)


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
        )
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
        draw = drawn(fused, image, i)
        made = fused(image)
        wanted = replayed(image, draw, functional.pil_to_tensor)
        assert abs(made.int() - wanted.int()).max() <= 1
        apart += int((made != wanted).sum())
        blurs += any(step["op"] == "kernel_blur" for step in draw["steps"])
    assert 10 < blurs < 30 and apart < blurs * 48 * 48 * 3 / 500


@pytest.mark.skipif(v2 is None, reason="torchvision before 0.16")
def test_v2_recipes():
    finish = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])
    steps = [v2.RandomResizedCrop(40), v2.RandomHorizontalFlip(), v2.TrivialAugmentWide()]
    check_draws(fuse(v2.Compose([*steps, *finish.transforms])), finish)
    check_draws(fuse(v2.Compose([v2.ToImage(), *steps, *finish.transforms[1:]])), finish)
    check_draws(fuse([v2.PILToTensor(), *steps]), functional.pil_to_tensor)


def test_an_evaluation_recipe_of_whole_batches():
    recipe = transforms.Compose(EVALUATION)
    batch = fuse(recipe).transform([np.asarray(image) for image in photographs(6)])
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
    """Between runs; each of these is one call."""
    own, other = Own(60, pad_if_needed=True), transforms.RandomInvert(1.0)
    first = [transforms.RandomResizedCrop(32), transforms.RandomHorizontalFlip()]
    recipe = [own, *first, other, transforms.ToTensor(), transforms.RandomErasing(0.0)]
    say.cache_clear()
    for fused in fuse(recipe), Compose(recipe), fuse(transforms.Compose(recipe)):
        assert [part for part in fused._parts if not isinstance(part, Run)] == [own, other]
        assert [run.transforms for run in fused._parts if isinstance(run, Run)] == [recipe[1:3], recipe[4:]]
        assert fused.not_taken == [(own, "Motley has no such stage"), (other, "Motley has no such stage")]
        refused("the transforms are 4 calls, want one: Own: Motley has no such stage", getattr, fused, "transform")
    assert "RandomInvert is not fused: Motley has no such stage" in caplog.text and len(caplog.records) == 2
    image = own(next(photographs(1)))
    cropped = fused._parts[1].transform(image, sample_ids=0, epoch=0, seed=next_seed(1))
    assert torch.equal(Compose(recipe[1:])(image), transforms.Compose(recipe[3:5])(cropped))


def test_a_compose_whose_list_changes():
    """Scripts insert a transform of theirs: it is fused anew. Pickles and copies go on."""
    composed = Compose([transforms.CenterCrop(20), transforms.ToTensor()])
    image = next(photographs(1))
    assert composed(image).shape == (3, 20, 20) and composed.not_taken == []
    composed.transforms.insert(0, transforms.CenterCrop(10))
    composed.transforms.append(transforms.Normalize(0.5, 0.5))
    same = transforms.Compose([*composed.transforms])
    for each in composed, copy.deepcopy(composed), pickle.loads(pickle.dumps(composed)):
        assert torch.equal(each(image), same(image)) and len(each._parts) == 2
    assert repr(composed) == repr(same) and isinstance(composed, transforms.Compose)
    composed.transforms[:] = [transforms.RandomInvert(0.0)]
    assert composed(image) is image and composed.not_taken == [(composed.transforms[0], "Motley has no such stage")]


@pytest.mark.parametrize("recipe", [
    [transforms.CenterCrop(20)], [transforms.RandomHorizontalFlip(1.0), transforms.ColorJitter((2, 2))],
    [transforms.Resize((20, 31), transforms.InterpolationMode.NEAREST)], [transforms.Resize((20, 31), antialias=False)],
    [transforms.RandomCrop(20, padding=3), transforms.CenterCrop(19)], [transforms.CenterCrop(120)],
], ids=str)  # fmt: skip
def test_images_that_motley_does_not_take_are_torchvisions(recipe, caplog):
    """Other modes and types, images that are smaller than the crop, pixels that tensors get otherwise: said once."""
    image = next(photographs(1))
    tensor = functional.pil_to_tensor(image)
    others = [image.convert("CMYK"), image.convert("P"), tensor.float() / 255, tensor[:, :18, :18], tensor.short()]
    if "Resize" in str(recipe):
        others.append(tensor)
    say.cache_clear()
    fused, theirs = fuse(recipe), transforms.Compose(recipe)
    for each in others:
        results = []
        for transform in (theirs, fused, fused):
            torch.manual_seed(3)
            try:
                results.append(transform(each))
            except Exception as error:  # torchvision's, for all
                results.append(str(error))
        if not isinstance(each, torch.Tensor) or each.dtype != torch.uint8 or "Resize" in str(recipe):
            want, *got = [np.asarray(result).tolist() for result in results]
            assert got == [want, want], each
    assert len(caplog.records) == len(fused._parts) and "runs in torchvision: a PIL image of mode CMYK" in caplog.text


def test_crops_of_smaller_images_are_torchvisions():
    """Padded, or refused."""
    for recipe in [transforms.CenterCrop(120)], [transforms.RandomCrop(64)], [transforms.CenterCrop((70, 20))]:
        for image in photographs(9):
            results = []
            for transform in transforms.Compose(recipe), Compose(recipe):
                torch.manual_seed(3)
                try:
                    results.append(transform(image).size)
                except ValueError as error:
                    results.append(type(error))
            assert results[0] == results[1]
            if recipe[0].__class__ is transforms.CenterCrop:
                assert np.array_equal(np.asarray(Compose(recipe)(image)), np.asarray(recipe[0](image)))


@pytest.mark.parametrize(
    "first, second, why",
    [
        (transforms.RandomResizedCrop(8), transforms.ConvertImageDtype(torch.float32), "Motley has no such stage"),
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
        (transforms.ToTensor(), transforms.GaussianBlur(3), "'blur' stands behind 'output'"),
        (transforms.RandomResizedCrop(8), transforms.RandAugment(num_ops=17), "num_ops is 17"),
        (transforms.ToTensor(), transforms.RandomHorizontalFlip(), "'flip' stands behind 'output'"),
        (transforms.RandomResizedCrop(8), transforms.AugMix(), "torchvision mixes chains of its kernels for tensors"),
        (transforms.ToTensor(), transforms.Normalize([0.5] * 2, [0.5] * 2), "'mean' has 2 numbers and 'std' 2, want"),
        (transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 4), "'mean' has 3 numbers and 'std' 4, want"),
    ],
)
def test_why_a_transform_is_not_taken(first, second, why):
    fused = fuse([first, second])
    assert fused._parts[1] is second and fused.not_taken[0][0] is second
    assert re.match(why, fused.not_taken[0][1]), fused.not_taken


ONE_FLIP, JITTER = transforms.RandomHorizontalFlip(1.0), transforms.ColorJitter((0.5, 0.5))


@pytest.mark.parametrize(
    "recipe, runs",
    [
        ([ONE_FLIP, transforms.Resize((9, 8))], [2]),
        ([transforms.Resize(40), ONE_FLIP, transforms.ToTensor()], [3]),
        ([ONE_FLIP, transforms.RandomVerticalFlip(1.0), ONE_FLIP], [2, 1]),
        ([transforms.CenterCrop(18), ONE_FLIP, transforms.CenterCrop(8), transforms.ToTensor()], [2, 2]),
        ([JITTER] * 5, [4, 1]),
        ([transforms.ToTensor()], [1]),
        (EVALUATION, [4]),
        ([transforms.CenterCrop(8), transforms.ColorJitter(), *EVALUATION[2:]], [4]),
        ([transforms.CenterCrop(20), transforms.RandAugment(num_ops=0)], [2]),
    ],
    ids=str,
)
def test_recipes_that_draw_nothing_are_torchvisions(recipe, runs):
    """A second run begins where the order of stages ends the first."""
    fused, theirs = fuse(recipe), transforms.Compose(recipe)
    assert [len(run.transforms) for run in fused._parts] == runs and fused.not_taken == []
    for image in photographs(9):
        for each in fused, pickle.loads(pickle.dumps(fused)):
            assert np.array_equal(np.asarray(each(image)), np.asarray(theirs(image)))
    if len(recipe) == 1:
        assert np.array_equal(np.asarray(fuse(recipe[0])(image)), np.asarray(theirs(image)))


@pytest.mark.skipif(v2 is None, reason="torchvision before 0.16")
def test_types_that_are_not_scaled_to_float32():
    for dtype in torch.float32, torch.float16, {torch.Tensor: torch.float32, "others": None}:
        other = v2.ToDtype(dtype, scale=dtype is not torch.float32)
        fused = fuse([transforms.RandomResizedCrop(8), v2.ToImage(), other])
        assert fused.not_taken == [(other, "it is not to float32 with scale=True")]


class ColorJitter(transforms.ColorJitter):
    def forward(self, img):
        return functional.invert(img)


class OtherCompose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image):
        return image


@pytest.mark.parametrize("other", [transforms.RandomApply([ColorJitter(0.4)]), ColorJitter(0.4), OtherCompose([]),
                                   transforms.RandomChoice([transforms.RandomHorizontalFlip()])], ids=str)  # fmt: skip
def test_a_name_or_an_attribute_alone_is_not_enough(other):
    assert fuse([transforms.CenterCrop(8), other]).not_taken[0][0] is other
    refused(f"{type(other).__name__}: ", fuse, other)


@pytest.mark.parametrize("mode", ["L", "RGB", "LA", "RGBA"])
def test_grayscale_makes_three_channels(mode):
    recipe = transforms.Compose([transforms.CenterCrop(20), transforms.Grayscale(3), transforms.ToTensor()])
    fused, image = fuse(recipe), next(photographs(1)).convert(mode)
    assert torch.equal(fused(image), recipe(image)) and fused.not_taken == []
    assert torch.equal(torch.from_numpy(fused.transform([image])[0]), recipe(image))


def test_all_images_of_a_tensor_share_a_draw():
    fused = fuse([transforms.RandomCrop(20), transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.5)])
    image = functional.pil_to_tensor(next(photographs(1)))
    torch.manual_seed(1)
    alone = fused(image)
    torch.manual_seed(1)
    clips = fused(image.repeat(2, 3, 1, 1, 1))
    assert clips.shape == (2, 3, 3, 20, 20) and (clips == alone).all()
    with pytest.raises(TypeError):  # as torchvision
        fused([image, image])


@pytest.mark.skipif(v2 is None, reason="torchvision before 0.16")
def test_types_of_v2():
    image = next(photographs(1))
    kinds = {tv_tensors.Image: torch.float32, "others": None}
    recipe = v2.Compose([v2.CenterCrop(20), v2.ToImage(), v2.ToDtype(kinds, scale=True)])
    for transforms_ in (recipe.transforms, [*recipe.transforms, v2.ToPureTensor()], recipe.transforms[:2]):
        made, wanted = fuse(transforms_)(image), v2.Compose(transforms_)(image)
        assert type(made) is type(wanted) and made.dtype == wanted.dtype and torch.equal(made, wanted)
    assert fuse([v2.CenterCrop(8), v2.ToImage(), v2.ToPureTensor()]).not_taken == []
    for stays in (v2.ToDtype(torch.float32, scale=True), v2.Compose([v2.ToImage(), v2.ToDtype(kinds, scale=True)])):
        given = image if not hasattr(stays, "transforms") else tv_tensors.Video(torch.ones(2, 3, 9, 9).byte())
        out, wanted = fuse([v2.CenterCrop(8), stays])(given), v2.Compose([v2.CenterCrop(8), stays])(given)
        assert type(out) is type(wanted) and np.array_equal(np.asarray(out), np.asarray(wanted))
    video = tv_tensors.Video(functional.pil_to_tensor(image).repeat(3, 1, 1, 1))
    assert type(fuse([v2.CenterCrop(20)])(video)) is tv_tensors.Video
    masks = {tv_tensors.Mask: 9, PIL.Image.Image: 5}
    fused = fuse([v2.RandAugment(fill=masks)])
    assert fused.not_taken == [] and "fill: 5\n" in fused.transform.policy.show()
    assert "fill: 5" in fuse([v2.RandAugment(fill=masks)]).transform.policy.show()


@pytest.mark.skipif(v2 is None, reason="torchvision before 0.16")
def test_fills_by_type(caplog):
    """The first type's is fused; other types go through torchvision."""
    crop = v2.RandomCrop(4, fill={tv_tensors.Image: 9, "others": 0})
    assert fuse([v2.CenterCrop(8), crop]).not_taken == [(crop, "pad_if_needed, padding_mode or fill is given")]
    image = next(photographs(1))
    for others in {}, {"others": 0}, {PIL.Image.Image: 5, "others": 0}:
        fused = fuse([v2.RandAugment(3, 14, fill={tv_tensors.Image: 200, **others})])
        assert fused.not_taken == [] and "fill: 200" in fused.transform.policy.show()
        seed = next_seed(4)
        out = fused(v2.functional.to_image(image))
        wanted = fused.transform(v2.functional.pil_to_tensor(image), sample_ids=0, epoch=0, seed=seed)
        assert type(out) is tv_tensors.Image and torch.equal(out, wanted)
        say.cache_clear()
        with contextlib.suppress(KeyError):  # torchvision's, where it has no fill
            fused(image)
        assert "fill is another for images of type Image" in caplog.text
        first = fuse([v2.ToImage(), v2.RandAugment(3, 14, fill={tv_tensors.Image: 200, **others})])
        torch.manual_seed(4)
        assert torch.equal(first(image), out)


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

    augmix = motley.from_timm("augmix-m3-w2")
    fused = fuse([transforms.RandomResizedCrop(40), augmix, transforms.ToTensor()])
    assert fused.not_taken == []
    image = next(photographs(1))
    results = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        results.append(fused(image))
    first, same, other = results
    assert first.shape == (3, 40, 40) and torch.equal(first, same) and not torch.equal(first, other)
    ours = motley.torchvision.AugMix(mixture_width=2)
    assert fuse([transforms.RandomResizedCrop(40), ours, transforms.ToTensor()]).not_taken == []
    late = fuse([transforms.RandomResizedCrop(40), transforms.RandomGrayscale(0.5), augmix, transforms.ToTensor()])
    assert [len(run.transforms) for run in late._parts] == [2, 2]


def test_timms_mixup():
    mixup = pytest.importorskip("timm.data.mixup")
    import motley.timm

    images, labels = torch.randn(8, 3, 20, 20), torch.arange(8)
    ours = motley.timm.Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, mode="elem", num_classes=10)
    seed, again = next_seed(4), images.clone()
    made, targets = ours(again, labels)
    assert made is again and not torch.equal(made, images) and torch.allclose(targets.sum(1), torch.ones(8))
    mix = motley.mix(mixup=0.8, cutmix=1, rules="timm", mode="elem", classes=10, smoothing=0.1)
    wanted = mix(images, labels=labels, sample_ids=range(8), epoch=0, seed=seed)
    assert all(map(torch.equal, (made, targets), wanted))
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
