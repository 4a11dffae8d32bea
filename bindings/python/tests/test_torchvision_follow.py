# SPDX-License-Identifier: Apache-2.0
"""Masks, boxes, keypoints and videos in the samples of motley.torchvision's v2 transforms."""

import collections

import numpy as np
import pytest

torch = pytest.importorskip("torch")
v2 = pytest.importorskip("torchvision.transforms.v2")
tv_tensors = pytest.importorskip("torchvision.tv_tensors")
from conftest import DEVICES  # noqa: E402
from PIL import Image  # noqa: E402
from test_follow import by_torchvision, geometric, warped_by_pillow  # noqa: E402

import motley  # noqa: E402
import motley.torchvision as ours  # noqa: E402
from motley.samples import torch_seed  # noqa: E402
from motley.torchvision.transforms import v2 as our_v2  # noqa: E402

needs_keypoints = pytest.mark.skipif(not hasattr(tv_tensors, "KeyPoints"), reason="before torchvision 0.23")
HEIGHT, WIDTH = 41, 53
CLASSES = {
    "rand_augment": lambda space: space.RandAugment(3, 12),
    "trivial_augment_wide": lambda space: space.TrivialAugmentWide(interpolation=v2.InterpolationMode.BILINEAR),
    "auto_augment": lambda space: space.AutoAugment(),
}


@pytest.fixture(params=["import", "take_over"])
def space(request):
    if request.param == "import":
        yield our_v2
        return
    ours.take_over()
    yield v2
    ours.hand_back()


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


def drawn(transform, sample_id):
    stage = ours.policies.transform_of(transform, True, image(), 3)
    return stage, stage.draw(size=(HEIGHT, WIDTH), seed=0, sample_ids=[sample_id])[0]


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("device", DEVICES)
def test_masks_have_pillows_bytes(space, name, device):
    transform, moved = CLASSES[name](space), 0
    for i in range(60):
        mask = tv_tensors.Mask(numbers().to(device))
        with motley.samples(i):
            out_image, out = transform(tv_tensors.Image(image().to(device)), mask)
        _, steps = drawn(transform, i)
        wanted = np.asarray(warped_by_pillow(Image.fromarray(numbers()[0].numpy()), steps, 0))
        assert type(out) is tv_tensors.Mask and out.dtype == torch.int32 and out.device == mask.device
        assert (out[0].cpu().numpy() == wanted).all()
        with motley.samples(i):
            assert torch.equal(transform(image()), out_image.cpu().as_subclass(torch.Tensor))
        moved += (wanted != numbers()[0].numpy()).any()
    assert moved > 8


@needs_keypoints
@pytest.mark.parametrize("name", CLASSES)
def test_keypoints_are_where_torchvisions_kernels_put_them(space, name):
    transform = CLASSES[name](space)
    for i in range(60):
        with motley.samples(i):
            _, out = transform(image(), keypoints())
        wanted = keypoints()
        for step in drawn(transform, i)[1]:
            if "interpolation" in step:
                wanted = by_torchvision(v2.functional, wanted, step)
        assert type(out) is tv_tensors.KeyPoints and out.canvas_size == (HEIGHT, WIDTH) and out.dtype == torch.float32
        assert (out - wanted).abs().max() < 1e-4


@pytest.mark.parametrize("form", ["XYXY", "XYWH", "CXCYWH"])
def test_boxes_are_within_torchvisions(space, form):
    transform, tighter = space.RandAugment(3, 12), 0
    for i in range(100):
        with motley.samples(i):
            _, out = transform(image(), boxes(form))
        assert type(out) is tv_tensors.BoundingBoxes and out.format.value == form and out.dtype == torch.float64
        theirs = boxes()
        for step in drawn(transform, i)[1]:
            if "interpolation" in step:
                theirs = by_torchvision(v2.functional, theirs, step)
        mine = v2.functional.convert_bounding_box_format(out, new_format="XYXY")
        left = (mine[:, 2:] > mine[:, :2]).all(dim=1)
        mine, theirs = mine[left].as_subclass(torch.Tensor), theirs[left].as_subclass(torch.Tensor)
        assert (mine[:, :2] > theirs[:, :2] - 1e-4).all() and (mine[:, 2:] < theirs[:, 2:] + 1e-4).all()
        tighter += bool((mine - theirs).abs().max() > 0.5) if len(mine) else 0
    assert 3 < tighter < 90


def test_boxes_that_stay_inside_are_torchvisions(space):
    policy = space.TrivialAugmentWide()
    inner = tv_tensors.BoundingBoxes([[22.0, 16, 30, 24]], format="XYXY", canvas_size=(HEIGHT, WIDTH))
    compared = 0
    for i in range(150):
        with motley.samples(i):
            _, out = policy(image(), inner)
        steps = [step for step in drawn(policy, i)[1] if "interpolation" in step]
        if steps:
            wanted = by_torchvision(v2.functional, inner, steps[0])
            if wanted.min() > 0 and (wanted < torch.tensor([WIDTH, HEIGHT] * 2)).all():
                assert (out - wanted).abs().max() < 1e-4
                compared += 1
    assert compared > 20


Pair = collections.namedtuple("Pair", "image target")


def test_nested_samples(space):
    """As torchvision's own: structures stay, only the first pure tensor is an image, where there is no other."""
    transform = space.RandAugment(3, 12)
    video = tv_tensors.Video(image().expand(4, 3, HEIGHT, WIDTH).contiguous())
    target = {"boxes": boxes(), "labels": torch.tensor([1, 2, 3]), "masks": [tv_tensors.Mask(numbers()), None]}
    sample = Pair(
        tv_tensors.Image(image()),
        (target, {"clip": video, "picture": Image.fromarray(image().permute(1, 2, 0).numpy())}),
    )
    for i in range(20):
        with motley.samples(i):
            out = transform(sample)
        assert type(out) is Pair and type(out.target) is tuple and out.target[0]["labels"] is target["labels"]
        assert type(out.image) is tv_tensors.Image and out.target[0]["masks"][1] is None
        clip, picture = out.target[1]["clip"], out.target[1]["picture"]
        assert type(clip) is tv_tensors.Video and all(torch.equal(frame, out.image) for frame in clip)
        assert torch.equal(torch.from_numpy(np.array(picture)).permute(2, 0, 1), out.image)
        with motley.samples(i):
            alone = transform(tv_tensors.Image(image()), target["masks"][0])
        assert torch.equal(alone[0], out.image) and torch.equal(alone[1], out.target[0]["masks"][0])
    assert torch.equal(sample.image, image()) and torch.equal(target["boxes"], boxes())


@pytest.mark.parametrize(
    "fill, wanted",
    [
        (None, 0),
        (7, 0),
        ({tv_tensors.Mask: 255}, 255),
        ({tv_tensors.Image: 7, "others": 3}, 3),
        ({tv_tensors.Image: 7}, 0),
    ],
)
def test_fill_of_masks(space, fill, wanted):
    transform = space.RandAugment(3, 14, fill=fill)
    found = set()
    for i in range(30):
        with motley.samples(i):
            _, mask = transform(tv_tensors.Image(image()), tv_tensors.Mask(torch.full((HEIGHT, WIDTH), 100)))
        found |= set(mask.unique().tolist())
    assert found == {100, wanted}


def test_masks_of_every_shape(space):
    transform = space.RandAugment(3, 14)
    with motley.samples(5):
        plain = transform(image(), tv_tensors.Mask(numbers()[0]))[1]
    for shape in (2,), (2, 3), (0,), ():
        with motley.samples(5):
            out = transform(image(), tv_tensors.Mask(numbers()[0].expand(*shape, HEIGHT, WIDTH)))[1]
        assert out.shape == (*shape, HEIGHT, WIDTH) and (out == plain).all()


def test_ids_for_each_image_of_a_batch(space):
    transform = space.TrivialAugmentWide()
    batch = tv_tensors.Image(torch.stack([image()] * 5))
    masks = tv_tensors.Mask(torch.stack([numbers()] * 5))
    with motley.samples(range(5), epoch=2, view=1):
        images, moved = transform(batch, masks)
    for i in range(5):
        with motley.samples(i, epoch=2, view=1):
            one = transform(image(), tv_tensors.Mask(numbers()))
        assert torch.equal(images[i], one[0]) and torch.equal(moved[i], one[1])
        follow = motley.Follow(ours.policies.transform_of(transform, True, image(), 3))
        wanted = follow({"image": image(), "masks": numbers()}, sample_ids=i, epoch=2, view=1)
        assert torch.equal(images[i], wanted["image"]) and torch.equal(moved[i], wanted["masks"])
    with (
        motley.samples(range(5)),
        pytest.raises(ValueError, match="the sample's BoundingBoxes are those of one: want one id"),
    ):
        transform(batch, boxes())


def test_a_seed_and_torchs_generator(space):
    sample = tv_tensors.Image(image()), tv_tensors.Mask(numbers())
    for transform in [our_v2.RandAugment(3, 12, seed=5), space.RandAugment(3, 12)]:
        moved = 0
        for i in range(15):
            torch.manual_seed(i)
            out, mask = transform(*sample)
            stage = ours.policies.transform_of(transform, True, image(), 3)
            torch.manual_seed(i)
            seed, number = (5, i) if getattr(transform, "seed", None) else (torch_seed(), 0)
            wanted = motley.Follow(motley.Transform(stage.policy, seed=seed))(
                {"image": image(), "masks": numbers()}, sample_ids=number
            )
            assert torch.equal(out, wanted["image"]) and torch.equal(mask, wanted["masks"])
            moved += not torch.equal(mask, sample[1])
        assert moved > 3


def test_within_torchvisions_pipeline(space):
    pipeline = v2.Compose(
        [
            v2.RandomHorizontalFlip(1),
            space.RandAugment(3, 30),
            v2.SanitizeBoundingBoxes(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    lost = 0
    for i in range(60):
        sample = {"image": tv_tensors.Image(image()), "boxes": boxes(), "labels": torch.tensor([1, 2, 3])}
        with motley.samples(i):
            out = pipeline(sample)
        assert len(out["boxes"]) == len(out["labels"]) and out["image"].dtype == torch.float32
        lost += len(out["boxes"]) < 3
    assert lost


def test_nothing_drawn():
    sample = tv_tensors.Image(image()), boxes(), tv_tensors.Mask(numbers())
    assert all(torch.equal(a, b) for a, b in zip(our_v2.RandAugment(0)(*sample), sample))


@pytest.mark.parametrize(
    "sample, error, message",
    [
        (
            lambda: boxes(),
            TypeError,
            r"Inputs of type BoundingBoxes are not supported by RandAugment\(\) without their image",
        ),
        (lambda: {"a": 3}, TypeError, "Found no image in the sample"),
        (lambda: (image(), tv_tensors.Mask(torch.zeros(40, 53))), ValueError, r"multiple HxW .*\(40, 53\), \(41, 53\)"),
        (
            lambda: (image(), tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(9, 9))),
            ValueError,
            r"\(9, 9\)",
        ),
        (
            lambda: (image(), tv_tensors.wrap(boxes() * float("nan"), like=boxes())),
            ValueError,
            r"the sample's BoundingBoxes: image 0, box 0 has nan",
        ),
        (lambda: (image(), tv_tensors.wrap(boxes() + 70, like=boxes())), ValueError, "box 0 is .* outside its image"),
        (lambda: (image().float(), tv_tensors.Mask(numbers())), TypeError, "Inputs of type Mask are not supported"),
    ],
)
def test_wrong_samples(sample, error, message):
    with pytest.raises(error, match=message):
        our_v2.RandAugment(3, 14)(sample())


def test_boxes_that_are_not_followed():
    if (
        not hasattr(tv_tensors.BoundingBoxes, "clamping_mode")
        and "clamping_mode" not in tv_tensors.BoundingBoxes.__annotations__
    ):
        pytest.skip("before torchvision 0.23")
    unclamped = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(41, 53), clamping_mode=None)
    turned = tv_tensors.BoundingBoxes([[1.0, 2, 3, 4, 5]], format="XYWHR", canvas_size=(41, 53))
    for wrong, message in (unclamped, "clamping_mode None"), (turned, "format XYWHR, want XYXY, XYWH or CXCYWH"):
        with pytest.raises(TypeError, match=message):
            our_v2.RandAugment(3, 14)(image(), wrong)


class Moving(torch.utils.data.Dataset):
    """An image and a mask of the same numbers, which a transform of v2 moves."""

    transform = our_v2.RandAugment()

    def __len__(self):
        return 6

    def __getitem__(self, i):
        small = numbers() % 251
        picture, mask = self.transform(tv_tensors.Image(small.to(torch.uint8)), tv_tensors.Mask(small))
        return picture.as_subclass(torch.Tensor).int(), mask.as_subclass(torch.Tensor)


@pytest.mark.parametrize("workers", [0, 1])
def test_masks_move_with_their_images_in_every_pass_of_a_loader(monkeypatch, workers):
    warps = motley.Transform(geometric(), stream=0)
    monkeypatch.setattr(ours.policies, "transform_of", lambda *_: warps)
    loader = torch.utils.data.DataLoader(Moving(), 3, num_workers=workers)
    for _ in range(3):
        batches = list(loader)
        assert len(batches) == 2 and all(torch.equal(*batch) for batch in batches)
        assert not any(torch.equal(mask[0], numbers() % 251) for _, mask in batches)


def test_samples_of_follow():
    """motley.Follow reads tv_tensors by their own types, whatever formats its arguments name."""
    stage = motley.Transform("trivial_augment_wide", seed=2)
    follow = motley.Follow(stage, {"boxes": motley.follow.Boxes("xyxy", drop=False)})
    for i in range(20):
        sample = {"image": tv_tensors.Image(image()), "boxes": boxes("CXCYWH")}
        out = follow(sample, sample_ids=i)
        plain = follow({"image": image(), "boxes": boxes().as_subclass(torch.Tensor)}, sample_ids=i)
        assert type(out["boxes"]) is tv_tensors.BoundingBoxes and out["boxes"].format.value == "CXCYWH"
        xyxy = v2.functional.convert_bounding_box_format(out["boxes"], new_format="XYXY")
        assert (xyxy - plain["boxes"]).abs().max() < 1e-9 and type(out["image"]) is tv_tensors.Image
    other = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(9, 9))
    with pytest.raises(ValueError, match=r"has the canvas_size \(9, 9\), the image is 41 high and 53 wide"):
        follow({"image": image(), "boxes": other})
