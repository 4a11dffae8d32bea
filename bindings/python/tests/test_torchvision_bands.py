# SPDX-License-Identifier: Apache-2.0
"""Tensors of 2 and 4 bands: torchvision takes no channel for alpha, and neither does what is fused."""

import pickle

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
v1 = pytest.importorskip("torchvision.transforms")
v2 = pytest.importorskip("torchvision.transforms.v2")
tv_tensors = pytest.importorskip("torchvision.tv_tensors")

import motley  # noqa: E402
from motley.torch import MotleyCollate  # noqa: E402
from motley.torchvision import TrivialAugmentWide, fuse  # noqa: E402


def tensor(bands, height=48, width=64):
    made = torch.randint(0, 256, (bands, height, width), generator=torch.Generator().manual_seed(bands))
    made[-1] //= 4  # as near infrared of water
    return made.to(torch.uint8)


def by_bands(call, image):
    return torch.cat([call(image[..., c : c + 1, :, :]) for c in range(image.shape[-3])], -3)


@pytest.mark.parametrize("bands", [2, 4])
@pytest.mark.parametrize("theirs", [v1, v2])
def test_resize(theirs, bands):
    image, resize = tensor(bands), theirs.Resize((20, 30), antialias=True)
    made = fuse([resize])(image)
    assert (made.int() - resize(image).int()).abs().max() <= 1  # torchvision's rounding is its own
    for c in range(bands):
        wanted = Image.fromarray(image[c].numpy()).resize((30, 20), Image.Resampling.BILINEAR)
        assert np.array_equal(made[c], np.asarray(wanted))
    assert torch.equal(fuse([resize])(image.expand(3, *image.shape))[1], made)


@pytest.mark.parametrize("theirs", [v1, v2])
def test_a_black_band_hides_no_other(theirs):
    image = torch.full((4, 8, 8), 200, dtype=torch.uint8)
    image[3] = 0
    assert fuse([theirs.Resize((4, 4), antialias=True)])(image)[:, 0, 0].tolist() == [200, 200, 200, 0]
    turned = motley.ops.rotate(image, 10, interpolation="bilinear")
    assert turned[:, 4, 4].tolist() == [200, 200, 200, 0]
    image = image.repeat(1, 8, 8)  # of which no translation leaves nothing
    policy = TrivialAugmentWide(interpolation=v1.InterpolationMode.BILINEAR)
    for seed in range(60):
        torch.manual_seed(seed)
        assert policy(image)[:3].any()


@pytest.mark.parametrize("bands", [2, 4])
@pytest.mark.parametrize("theirs", [v1, v2])
@pytest.mark.parametrize("name", ["RandomResizedCrop", "RandAugment", "TrivialAugmentWide", "AutoAugment"])
def test_bands_share_a_draw(name, theirs, bands):
    fused = fuse([getattr(theirs, name)(*(20,) * (name == "RandomResizedCrop")), theirs.RandomHorizontalFlip()])

    def call(image):
        torch.manual_seed(5)
        return fused(image)

    assert torch.equal(call(tensor(bands)), by_bands(call, tensor(bands)))


def as_picture(image):
    return Image.fromarray(image.permute(1, 2, 0).numpy(), {2: "LA", 4: "RGBA"}[len(image)])


def as_tensor(picture):
    return torch.from_numpy(np.array(picture)).permute(2, 0, 1)


@pytest.mark.parametrize("bands", [2, 4])
@pytest.mark.parametrize("theirs", [v1, v2])
def test_tensors_with_alpha_equal_pictures(theirs, bands):
    image, resize = tensor(bands), theirs.Resize((20, 30), antialias=True)
    wanted = as_picture(image).resize((30, 20), Image.Resampling.BILINEAR)  # which multiplies by alpha
    once = fuse([resize], alpha=True)
    for fused in (once, fuse(once), fuse([theirs.Compose([once])])):
        assert torch.equal(fused(image), as_tensor(wanted))
        assert torch.equal(pickle.loads(pickle.dumps(fused))(image), as_tensor(wanted))
        assert fused.transform.alpha
    assert not torch.equal(fuse([resize])(image), as_tensor(wanted))
    fused = fuse([theirs.RandomResizedCrop(20, antialias=True), theirs.TrivialAugmentWide()], alpha=True)
    torch.manual_seed(3)
    wanted = fused(as_picture(image))
    torch.manual_seed(3)
    assert torch.equal(fused(image), as_tensor(wanted))


@pytest.mark.parametrize("kind", ["L", "RGB"])
def test_images_without_alpha_pass_where_others_have_it(kind):
    image = tensor({"L": 1, "RGB": 3}[kind])
    picture = Image.fromarray(image.permute(1, 2, 0).numpy().squeeze(), kind)
    for theirs in v1, v2:
        plain, alpha = (fuse([theirs.Resize((20, 30), antialias=True)], alpha=alpha) for alpha in (False, True))
        assert torch.equal(plain(image), alpha(image))
        assert np.array_equal(plain(picture), alpha(picture))


def test_clips_and_samples_with_alpha():
    fused = fuse([v2.Resize((20, 30), antialias=True)], alpha=True)
    clip = torch.stack([tensor(4), tensor(4).flip(1)])
    assert torch.equal(fused(clip)[1], fused(clip[1]))
    sample = {"image": tv_tensors.Image(tensor(4)), "mask": tv_tensors.Mask(torch.zeros((48, 64), dtype=torch.uint8))}
    assert torch.equal(fused(sample)["image"], fused(tensor(4)))


def test_pictures_that_are_collated_have_alpha():
    picture = Image.fromarray(tensor(4).permute(1, 2, 0).numpy(), "RGBA")
    transform = motley.torch.Transform("trivial_augment_wide", epoch=0)
    collated = MotleyCollate(transform, ids=1)([(picture, 7)])[0]
    wanted = motley.Transform("trivial_augment_wide", epoch=0)(picture, sample_ids=7)
    assert np.array_equal(collated[0].permute(1, 2, 0), np.asarray(wanted))
