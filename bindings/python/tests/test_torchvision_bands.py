# SPDX-License-Identifier: Apache-2.0
"""Tensors of 2 and 4 bands: torchvision takes no channel for alpha, and neither does what is fused."""

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
v1 = pytest.importorskip("torchvision.transforms")
v2 = pytest.importorskip("torchvision.transforms.v2")

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


def test_pictures_that_are_collated_have_alpha():
    picture = Image.fromarray(tensor(4).permute(1, 2, 0).numpy(), "RGBA")
    transform = motley.torch.Transform("trivial_augment_wide", epoch=0)
    collated = MotleyCollate(transform, ids=1)([(picture, 7)])[0]
    wanted = motley.Transform("trivial_augment_wide", epoch=0)(picture, sample_ids=7)
    assert np.array_equal(collated[0].permute(1, 2, 0), np.asarray(wanted))
