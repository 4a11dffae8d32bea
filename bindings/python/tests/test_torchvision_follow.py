# SPDX-License-Identifier: Apache-2.0
"""Masks, boxes, keypoints and videos in samples of v2, under motley.torchvision's policies and in fused transforms."""

import collections

import numpy as np
import pytest

torch = pytest.importorskip("torch")
v2 = pytest.importorskip("torchvision.transforms.v2")
tv_tensors = pytest.importorskip("torchvision.tv_tensors")
from conftest import DEVICES, next_seed, refused  # noqa: E402
from PIL import Image  # noqa: E402
from test_follow import by_torchvision, warped_by_pillow  # noqa: E402

import motley  # noqa: E402
from motley.torchvision import fuse  # noqa: E402
from motley.torchvision import v2 as ours  # noqa: E402
from motley.torchvision.images import say  # noqa: E402

needs_keypoints = pytest.mark.skipif(not hasattr(tv_tensors, "KeyPoints"), reason="before torchvision 0.23")
HEIGHT, WIDTH = 41, 53
POLICIES = {
    "rand_augment": ours.RandAugment(3, 12),
    "trivial_augment_wide": ours.TrivialAugmentWide(interpolation=v2.InterpolationMode.BILINEAR),
    "auto_augment": ours.AutoAugment(),
    "fused": fuse([v2.RandAugment(3, 12)]),
}


def image():
    return torch.from_numpy(np.random.default_rng(4).integers(0, 256, (3, HEIGHT, WIDTH), np.uint8))


def numbers():
    return torch.arange(HEIGHT * WIDTH, dtype=torch.int32).reshape(1, HEIGHT, WIDTH)


def boxes(form="XYXY", dtype=torch.float64):
    xyxy = torch.tensor([[3, 4, 20, 30], [0, 0, 53, 41], [40, 1, 49, 9]], dtype=dtype)
    made = tv_tensors.BoundingBoxes(xyxy, format="XYXY", canvas_size=(HEIGHT, WIDTH))
    return v2.functional.convert_bounding_box_format(made, new_format=form)


def keypoints():
    points = torch.tensor([[[3, 4], [20.5, 30]], [[0, 0], [52, 40]]])
    return tv_tensors.KeyPoints(points, canvas_size=(HEIGHT, WIDTH))


def xyxy_of(boxes):
    return v2.functional.convert_bounding_box_format(boxes, new_format="XYXY")


def geometric(steps):
    """The steps that move pixels."""
    return [step for step in steps if "interpolation" in step]


def moved_by_torchvision(value, steps):
    for step in geometric(steps):
        value = by_torchvision(v2.functional, value, step)
    return value


def drawn(transform, seed):
    """The steps of its next call, with torch's generator seeded for it."""
    of = transform.transform if hasattr(transform, "not_taken") else transform._for(tv_tensors.Image(image()))
    draw = of.draw(size=(HEIGHT, WIDTH), seed=next_seed(seed), sample_ids=[0], epoch=0)[0]
    return draw["steps"] if isinstance(draw, dict) else draw


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("device", DEVICES)
def test_masks_have_pillows_bytes(name, device):
    transform, moved = POLICIES[name], 0
    for i in range(60):
        mask, steps = tv_tensors.Mask(numbers().to(device)), drawn(transform, i)
        out_image, out = transform(tv_tensors.Image(image().to(device)), mask)
        wanted = np.asarray(warped_by_pillow(Image.fromarray(numbers()[0].numpy()), steps, 0))
        assert type(out) is tv_tensors.Mask and out.dtype == torch.int32 and out.device == mask.device
        assert (out[0].cpu().numpy() == wanted).all()
        torch.manual_seed(i)
        assert torch.equal(transform(image()), out_image.cpu().as_subclass(torch.Tensor))
        moved += (wanted != numbers()[0].numpy()).any()
    assert moved > 5


@needs_keypoints
@pytest.mark.parametrize("name", POLICIES)
def test_keypoints_are_where_torchvisions_kernels_put_them(name):
    transform = POLICIES[name]
    for i in range(60):
        wanted = moved_by_torchvision(keypoints(), drawn(transform, i))
        _, out = transform(image(), keypoints())
        assert type(out) is tv_tensors.KeyPoints and out.canvas_size == (HEIGHT, WIDTH) and out.dtype == torch.float32
        assert (out - wanted).abs().max() < 1e-4


@pytest.mark.parametrize("form", ["XYXY", "XYWH", "CXCYWH"])
def test_boxes_are_within_torchvisions(form):
    transform, tighter = ours.RandAugment(3, 12), 0
    for i in range(100):
        theirs = moved_by_torchvision(boxes(), drawn(transform, i))
        _, out = transform(image(), boxes(form))
        assert type(out) is tv_tensors.BoundingBoxes and out.format.value == form and out.dtype == torch.float64
        mine = xyxy_of(out)
        left = (mine[:, 2:] > mine[:, :2]).all(dim=1)
        mine, theirs = mine[left].as_subclass(torch.Tensor), theirs[left].as_subclass(torch.Tensor)
        assert (mine[:, :2] > theirs[:, :2] - 1e-4).all() and (mine[:, 2:] < theirs[:, 2:] + 1e-4).all()
        tighter += bool((mine - theirs).abs().max() > 0.5) if len(mine) else 0
    assert 3 < tighter < 90


Pair = collections.namedtuple("Pair", "image target")


def test_nested_samples():
    """As torchvision's own: structures stay, only the first pure tensor is an image, where there is no other."""
    transform = ours.RandAugment(3, 12)
    video = tv_tensors.Video(image().expand(4, 3, HEIGHT, WIDTH).contiguous())
    target = {"boxes": boxes(), "labels": torch.tensor([1, 2, 3]), "masks": [tv_tensors.Mask(numbers()), None]}
    sample = Pair(
        tv_tensors.Image(image()),
        (target, {"clip": video, "picture": Image.fromarray(image().permute(1, 2, 0).numpy())}),
    )
    for i in range(20):
        torch.manual_seed(i)
        out = transform(sample)
        assert type(out) is Pair and type(out.target) is tuple and out.target[0]["labels"] is target["labels"]
        assert type(out.image) is tv_tensors.Image and out.target[0]["masks"][1] is None
        clip, picture = out.target[1]["clip"], out.target[1]["picture"]
        assert type(clip) is tv_tensors.Video and all(torch.equal(frame, out.image) for frame in clip)
        assert torch.equal(torch.from_numpy(np.array(picture)).permute(2, 0, 1), out.image)
        torch.manual_seed(i)
        alone = transform(tv_tensors.Image(image()), target["masks"][0])
        assert torch.equal(alone[0], out.image) and torch.equal(alone[1], out.target[0]["masks"][0])
    assert torch.equal(sample.image, image()) and torch.equal(target["boxes"], boxes())


FILLS = [
    (None, 0),
    (7, 0),
    ({tv_tensors.Mask: 255}, 255),
    ({tv_tensors.Image: 7, "others": 3}, 3),
    ({tv_tensors.Image: 7}, 0),
]


@pytest.mark.parametrize("fill, wanted", FILLS)
def test_fill_of_masks(fill, wanted):
    transform, found = ours.RandAugment(3, 14, fill=fill), set()
    for i in range(30):
        torch.manual_seed(i)
        _, mask = transform(tv_tensors.Image(image()), tv_tensors.Mask(torch.full((HEIGHT, WIDTH), 100)))
        found |= set(mask.unique().tolist())
    assert found == {100, wanted}


def test_masks_of_every_shape():
    transform = ours.RandAugment(3, 14)
    torch.manual_seed(5)
    plain = transform(image(), tv_tensors.Mask(numbers()[0]))[1]
    for shape in (2,), (2, 3), (0,), ():
        torch.manual_seed(5)
        out = transform(image(), tv_tensors.Mask(numbers()[0].expand(*shape, HEIGHT, WIDTH)))[1]
        assert out.shape == (*shape, HEIGHT, WIDTH) and (out == plain).all()


def test_within_torchvisions_pipeline():
    flip, to_float = v2.RandomHorizontalFlip(1), v2.ToDtype(torch.float32, scale=True)
    pipeline, lost = v2.Compose([flip, ours.RandAugment(3, 30), v2.SanitizeBoundingBoxes(), to_float]), 0
    for i in range(60):
        torch.manual_seed(i)
        out = pipeline({"image": tv_tensors.Image(image()), "boxes": boxes(), "labels": torch.tensor([1, 2, 3])})
        assert len(out["boxes"]) == len(out["labels"]) and out["image"].dtype == torch.float32
        lost += len(out["boxes"]) < 3
    assert lost


def test_nothing_drawn():
    sample = tv_tensors.Image(image()), boxes(), tv_tensors.Mask(numbers())
    assert all(torch.equal(a, b) for a, b in zip(ours.RandAugment(0)(*sample), sample))


def boxes_like(values):
    return tv_tensors.wrap(values, like=boxes())


NO_MASK = "Inputs of type Mask are not supported"
WRONG = [
    (lambda: {"a": 3}, TypeError, "Found no image in the sample"),
    (lambda: (image().float(), tv_tensors.Mask(numbers())), TypeError, NO_MASK),
    (lambda: (image(), tv_tensors.Mask(torch.zeros(40, 53))), TypeError, NO_MASK),
    (lambda: (image(), boxes_like(boxes() * float("nan"))), ValueError, r"BoundingBoxes 0'\]: image 0, box 0 has nan"),
    (lambda: (image(), boxes_like(boxes() + 70)), ValueError, "box 0 is .* outside its image"),
]


@pytest.mark.parametrize("sample, error, message", WRONG)
def test_wrong_samples(sample, error, message):
    refused(message, ours.RandAugment(3, 14), sample(), error=error)


def test_boxes_that_are_not_followed(caplog):
    """torchvision moves them in a Compose, and refuses them under policies."""
    if "clamping_mode" not in tv_tensors.BoundingBoxes.__annotations__:
        pytest.skip("before torchvision 0.23")
    unclamped = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(41, 53), clamping_mode=None)
    turned = tv_tensors.BoundingBoxes([[1.0, 2, 3, 4, 5]], format="XYWHR", canvas_size=(41, 53))
    say.cache_clear()
    for wrong, message in (unclamped, "clamping_mode None"), (turned, "format XYWHR"):
        with pytest.raises(TypeError, match="Inputs of type BoundingBoxes are not supported by RandAugment"):
            ours.RandAugment(3, 14)(image(), wrong)
        assert message in caplog.text
        flip = v2.RandomHorizontalFlip(1.0)
        assert torch.equal(fuse(flip)(image(), wrong)[1], flip(image(), wrong)[1])


# ---- crops, resizes and flips ----


def placed(value, draw):
    """An image, boxes or keypoints where torchvision's functions put them."""
    c, to, functional = draw["crop"], draw["resize"], v2.functional
    where, size = (c["top"], c["left"], c["height"], c["width"]), [to["height"], to["width"]]
    value = functional.resized_crop(value, *where, size, antialias=True)
    value = functional.horizontal_flip(value) if draw["flip"]["horizontal"] else value
    return functional.vertical_flip(value) if draw["flip"]["vertical"] else value


def placed_mask(mask, draw):
    """A mask by Pillow's nearest; by torch's, where the draw says so."""
    if draw.get("torch_planes"):
        return placed(tv_tensors.Mask(mask), draw)
    c, to, rows = draw["crop"], draw["resize"], Image.fromarray(mask[0].numpy())
    rows = rows.crop((c["left"], c["top"], c["left"] + c["width"], c["top"] + c["height"]))
    rows = rows.resize((to["width"], to["height"]), Image.Resampling.NEAREST)
    rows = v2.functional.horizontal_flip(rows) if draw["flip"]["horizontal"] else rows
    rows = v2.functional.vertical_flip(rows) if draw["flip"]["vertical"] else rows
    return torch.from_numpy(np.array(rows))[None]


TO_FLOAT = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5], [0.5])]
RECIPES = {
    "crop": [v2.ToImage(), v2.RandomResizedCrop((32, 40)), v2.RandomHorizontalFlip(), v2.RandomVerticalFlip()],
    "resize": [v2.Resize((20, 70)), v2.RandomHorizontalFlip(), v2.ClampBoundingBoxes()],
    "output": [v2.RandomResizedCrop(24), *TO_FLOAT],
}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("kind", ["PIL", "Image"])
def test_fused_samples_are_torchvisions(name, kind):
    """Boxes as torchvision's kernels place them; masks, too, but under a RandomResizedCrop, where they are Pillow's."""
    fused, lost = fuse(v2.Compose(RECIPES[name])), 0
    assert fused.not_taken == []
    for i in range(40):
        draw = fused.transform.draw(size=(HEIGHT, WIDTH), seed=next_seed(i), sample_ids=[0], epoch=0)[0]
        picture = Image.fromarray(image().permute(1, 2, 0).numpy())
        given = picture if kind == "PIL" else tv_tensors.Image(image())
        sample = {"image": given, "target": {"boxes": boxes(), "labels": [1, 2, 3]}, "mask": tv_tensors.Mask(numbers())}
        out = fused({**sample, "label": 3})
        wanted = placed(picture, draw)
        wanted = v2.Compose([t for t in RECIPES[name] if type(t).__name__ in ("ToImage", "ToDtype", "Normalize")] or
                            [v2.Identity()])(wanted if kind == "PIL" else v2.functional.to_image(wanted))  # fmt: skip
        assert type(out["image"]) is type(wanted) and out["label"] == 3
        assert np.array_equal(np.asarray(out["image"]), np.asarray(wanted))
        assert torch.equal(out["mask"], placed_mask(numbers(), draw)) and type(out["mask"]) is tv_tensors.Mask
        moved, theirs = out["target"]["boxes"], placed(boxes(), draw)
        assert type(moved) is type(theirs) and moved.canvas_size == theirs.canvas_size
        moved, theirs = moved.as_subclass(torch.Tensor), theirs.as_subclass(torch.Tensor)
        inside = [((b[:, 2:] - b[:, :2]) > 0).all(1) for b in (moved, theirs)]
        assert torch.equal(*inside) and torch.allclose(moved[inside[0]], theirs[inside[0]], atol=1e-4)
        lost += int((~inside[0]).sum())
    assert name == "resize" or lost


@needs_keypoints
def test_fused_keypoints_are_torchvisions(caplog):
    """torchvision mirrors them as indices of pixels and scales them as places, so flips stay there."""
    crop, flip = v2.RandomResizedCrop((32, 40)), v2.RandomHorizontalFlip(1.0)
    fused = fuse([crop])
    for i in range(20):
        draw = fused.transform.draw(size=(HEIGHT, WIDTH), seed=next_seed(i), sample_ids=[0], epoch=0)[0]
        out, theirs = fused(image(), keypoints())[1], placed(keypoints(), draw)
        assert type(out) is type(theirs) and out.canvas_size == theirs.canvas_size
        assert torch.allclose(out.as_subclass(torch.Tensor), theirs.as_subclass(torch.Tensor), atol=1e-4)
    say.cache_clear()
    assert torch.equal(fuse(flip)(image(), keypoints())[1], flip(keypoints()))
    assert "flips move keypoints as pixels" in caplog.text


def test_samples_of_follow():
    """motley.Follow reads tv_tensors by their own types, whatever formats its arguments name."""
    stage = motley.Transform("trivial_augment_wide", seed=2)
    follow = motley.Follow(stage, {"boxes": motley.follow.Boxes("xyxy", drop=False)})
    for i in range(20):
        sample = {"image": tv_tensors.Image(image()), "boxes": boxes("CXCYWH")}
        out = follow(sample, sample_ids=i, epoch=0)
        plain = follow({"image": image(), "boxes": boxes().as_subclass(torch.Tensor)}, sample_ids=i, epoch=0)
        assert type(out["boxes"]) is tv_tensors.BoundingBoxes and out["boxes"].format.value == "CXCYWH"
        assert (xyxy_of(out["boxes"]) - plain["boxes"]).abs().max() < 1e-9 and type(out["image"]) is tv_tensors.Image
    other = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(9, 9))
    with pytest.raises(ValueError, match=r"has the canvas_size \(9, 9\), the image is 41 high and 53 wide"):
        follow({"image": image(), "boxes": other})
