# SPDX-License-Identifier: Apache-2.0
"""What goes with an image: masks with Pillow's bytes, boxes and points where the pixels went."""

import functools
import json
import pickle
import warnings

import numpy as np
import pytest
import recipes
from conftest import DEVICES, cuda, refused, torch
from PIL import Image

import motley
from motley import draws as drawing
from motley.follow import Boxes, Follow, Mask, Points
from motley.follow import Image as Second

if torch is not None:
    import motley.torch

needs_torch = pytest.mark.skipif(torch is None, reason="no torch")
WARPS = "rotate", "shear_x", "shear_y", "translate_x", "translate_y", "flip_lr", "flip_ud"


@functools.lru_cache(maxsize=None)
def geometric(interpolation="nearest", repeat=3, name="trivial_augment_wide"):
    """A policy of warps alone: a built-in's, and flips. TrivialAugmentWide's are strong ones."""
    policy = motley.Policy.builtin(name)
    branches = [b for b in policy.as_dict()["branches"] if b in WARPS]
    return policy.change(branches=[*branches, "flip_lr", "flip_ud"], repeat=repeat, interpolation=interpolation)


def warped_by_pillow(mask, steps, fill):
    """A PIL mask through the steps that move pixels, nearest."""
    for step in steps:
        if step["op"] in WARPS:
            values = tuple(np.atleast_1d(step.get("value", ())).tolist())
            mask = recipes.RECIPES[step["op"]][0](mask, values, recipes.FILTERS[0], (fill,))
    return mask


def photographs(count, height=41, width=53):
    return np.random.default_rng(8).integers(0, 256, (count, height, width, 3), np.uint8)


# ---- masks ----


@pytest.mark.parametrize("name", ["rand_augment", "trivial_augment_wide", "timm_rand_m9_mstd05_inc1"])
def test_masks_have_the_bytes_of_pillows_nearest(name):
    images = photographs(200)
    masks = np.random.default_rng(9).integers(0, 256, images.shape[:3], np.uint8)
    follow = Follow(motley.Transform(name, seed=4), {"mask": Mask(fill=255)})
    made, draws = follow({"image": images, "mask": masks}, sample_ids=range(200), epoch=2, return_draws=True)
    wanted = [warped_by_pillow(Image.fromarray(mask), steps, 255) for mask, steps in zip(masks, draws)]
    assert (made["mask"] == np.stack([np.asarray(x) for x in wanted])).all()
    assert (made["image"] == motley.Transform(name, seed=4)(images, sample_ids=range(200), epoch=2)).all()
    assert (made["mask"] != masks).any(axis=(1, 2)).sum() > 30


DTYPES = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_of_every_dtype_move_whole(dtype):
    """Each element has its own number, and goes where Pillow's nearest puts it."""
    images = photographs(60)
    numbers = np.arange(41 * 53, dtype="int32").reshape(41, 53)
    masks = np.stack([numbers.astype(dtype) * 7] * 60) if dtype != "bool" else np.stack([numbers % 3 == 0] * 60)
    fill = {"bool": True, "uint8": 200, "int8": -100, "float16": -0.5}.get(dtype, 250)
    follow = Follow(geometric(), {"mask": Mask(fill=fill)})
    made, draws = follow({"image": images, "mask": masks}, return_draws=True)
    assert made["mask"].dtype == masks.dtype
    for mask, got, steps in zip(masks, made["mask"], draws):
        origin = np.asarray(warped_by_pillow(Image.fromarray(numbers), steps, -1))
        assert (got == np.where(origin < 0, np.dtype(dtype).type(fill), mask.reshape(-1)[origin])).all()


@pytest.mark.parametrize("mode", ["1", "L", "P", "I;16", "I", "F"])
def test_pil_masks(mode):
    images = [Image.fromarray(x) for x in photographs(40)]
    numbers = np.random.default_rng(1).integers(0, 200, (41, 53))
    kinds = {
        "1": lambda: Image.fromarray(numbers > 90),
        "I;16": lambda: Image.fromarray((numbers * 300).astype("uint16")),
    }
    mask = kinds.get(mode, lambda: Image.fromarray(numbers.astype("uint8")).convert(mode))()
    if mode == "P":
        mask = Image.fromarray(numbers.astype("uint8"))
        mask.putpalette([255, 0, 0, 0, 255, 0] * 128)
    assert mask.mode == mode
    mask.info["dpi"] = (72, 72)
    follow = Follow(geometric(), {"mask": Mask(fill=1)})
    for i, image in enumerate(images):
        made, steps = follow({"image": image, "mask": mask}, sample_ids=i, epoch=0, return_draws=True)
        got = made["mask"]
        assert got.mode == mode and got.info == mask.info and got.getpalette() == mask.getpalette()
        origin = np.asarray(
            warped_by_pillow(Image.fromarray(np.arange(numbers.size, dtype="int32").reshape(41, 53)), steps, -1)
        )
        wanted = np.where(origin < 0, 1, np.asarray(mask).reshape(-1)[origin])
        assert (np.asarray(got) == wanted).all()


@needs_torch
@pytest.mark.parametrize("device", DEVICES)
def test_masks_and_instances_on_tensors(device):
    images = photographs(12)
    masks = np.random.default_rng(2).integers(0, 90, (12, 5, 41, 53))
    wanted = Follow("trivial_augment_wide")({"image": images, "masks": masks}, sample_ids=range(12), epoch=1)
    batch = torch.from_numpy(images).permute(0, 3, 1, 2).to(device)
    for dtype in torch.int64, torch.uint8, torch.float32, torch.int16, torch.bfloat16:
        tensors = torch.from_numpy(masks).to(device, dtype)
        made = Follow("trivial_augment_wide")({"image": batch, "masks": tensors}, sample_ids=torch.arange(12), epoch=1)
        assert made["masks"].dtype == dtype and made["masks"].device == batch.device
        assert (made["masks"].cpu().to(torch.int64).numpy() == wanted["masks"]).all()
        assert (made["image"].cpu().permute(0, 2, 3, 1).numpy() == wanted["image"]).all()
    for i in range(12):  # of one sample, also not contiguous
        one = {
            "image": batch[i],
            "masks": torch.from_numpy(masks[i]).to(device).transpose(0, 1).contiguous().transpose(0, 1),
        }
        made = Follow("trivial_augment_wide")(one, sample_ids=i, epoch=1)
        assert (made["masks"].cpu().numpy() == wanted["masks"][i]).all()


def test_no_instances_and_no_images():
    image = photographs(1)[0]
    made = Follow("rand_augment")({"image": image, "masks": np.zeros((0, 41, 53), bool), "boxes": np.zeros((0, 4))})
    assert made["masks"].shape == (0, 41, 53) and made["boxes"].shape == (0, 4)
    made = Follow("rand_augment")(
        {"image": photographs(0), "mask": np.zeros((0, 41, 53), bool), "boxes": [], "points": []}
    )
    assert made["mask"].shape == (0, 41, 53) and made["boxes"] == made["points"] == []


def test_erasing_operations():
    policy = motley.Policy('{"motley": 1, "name": "holes", "fill": 9, "branches": [{"op": "cutout", "value": 12}]}')
    image, mask = photographs(1)[0], np.full((41, 53), 3, np.int32)
    points = np.mgrid[0:53, 0:41].reshape(2, -1).T + 0.5
    made = Follow(policy, {"a": Mask(255), "b": Mask(255, erase=True), "p": Points(inside="inside")})(
        {"image": image, "a": mask, "b": mask, "p": np.c_[points, np.full(len(points), 2)]}
    )
    hole = (made["image"] == 9).all(axis=-1)
    assert 40 < hole.sum() < 170 and (made["a"] == 3).all() and (made["b"] == np.where(hole, 255, 3)).all()
    assert (made["p"][:, 2] == np.where(hole.T.reshape(-1), 1, 2)).all() and made["inside"].all()


# ---- other images ----


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic"])
def test_other_images_move_alone(interpolation):
    """With the image's own filter and fill they get the image's bytes where nothing but warps is drawn."""
    images = photographs(60)
    policy = geometric(interpolation).change(fill=[7, 8, 9])
    follow = Follow(policy, {"second": Second(interpolation, fill=(7, 8, 9))})
    made = follow({"image": images, "second": images})
    assert (made["second"] == made["image"]).all() and (made["second"] != images).any()
    colours = motley.Policy.builtin("rand_augment")
    colours = colours.change(branches=[b for b in colours.as_dict()["branches"] if b not in WARPS])
    made = Follow(colours, {"second": Second(interpolation)})({"image": images, "second": images[..., :1]})
    assert (made["second"] == images[..., :1]).all() and (made["image"] != images).any()


def test_a_list_of_second_views():
    images = [Image.fromarray(x).resize((30 + i, 20)) for i, x in enumerate(photographs(10))]
    follow = Follow(geometric("bilinear"), {"second": Second("bilinear")})
    made = follow({"image": images, "second": images})
    assert [x.tobytes() for x in made["second"]] == [x.tobytes() for x in made["image"]]


# ---- boxes ----


def filled(box, height, width):
    left, top, right, bottom = box
    image = np.zeros((height, width, 3), np.uint8)
    image[top:bottom, left:right] = 255
    return image


@pytest.mark.parametrize("form", ["xyxy", "xywh", "cxcywh"])
def test_boxes_hold_the_pixels_of_filled_rectangles(form):
    random = np.random.default_rng(5)
    height, width, compared, slack = 81, 97, 0, []
    follow = Follow(geometric(repeat=2), {"boxes": Boxes(form)})
    for i in range(300):
        left, top = random.integers(0, width - 8), random.integers(0, height - 8)
        right, bottom = random.integers(left + 4, width + 1), random.integers(top + 4, height + 1)
        box = {
            "xyxy": [left, top, right, bottom],
            "xywh": [left, top, right - left, bottom - top],
            "cxcywh": [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top],
        }[form]
        image = filled((left, top, right, bottom), height, width)
        made = follow({"image": image, "boxes": np.array([box], "float64")}, sample_ids=i, epoch=0)
        rows, columns = np.where(made["image"][..., 0])
        if len(made["boxes"]) == 0:
            assert len(rows) < 40  # of a sliver along the edge
            continue
        a, b, c, d = made["boxes"][0]
        if form == "cxcywh":
            a, b = a - c / 2, b - d / 2
        if form != "xyxy":
            c, d = a + c, b + d
        if len(rows):
            covered = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
            out = [a - covered[0], b - covered[1], covered[2] - c, covered[3] - d]
            assert max(out) < 1, (i, made["boxes"], covered)
            slack.append(-np.array(out))
            compared += 1
    assert compared > 200 and abs(np.mean(slack)) < 0.5 and np.mean(np.abs(slack)) < 0.6


def test_boxes_of_torchvision_are_torchvisions():
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    from torchvision import tv_tensors

    random = np.random.default_rng(6)
    corners = np.sort(random.uniform(0, 1, (40, 2, 2)), axis=1).reshape(40, 4) * [120, 90, 120, 90]
    policy = geometric(repeat=3)
    follow = Follow(policy, {"boxes": Boxes(rule="torchvision", drop=False)})
    # torchvision computes in the boxes' own type: what remains in binary32 is its rounding
    for dtype, most in (torch.float32, 1e-4), (torch.float64, 1e-10):
        for i in range(100):
            image = np.zeros((90, 120, 3), np.uint8)
            made, steps = follow({"image": image, "boxes": corners}, sample_ids=i, epoch=0, return_draws=True)
            boxes = tv_tensors.BoundingBoxes(
                torch.from_numpy(corners), dtype=dtype, format="XYXY", canvas_size=(90, 120)
            )
            for step in steps:
                boxes = by_torchvision(functional, boxes, step)
            assert np.abs(boxes.numpy() - made["boxes"]).max() < most


def by_torchvision(functional, value, step):
    """Boxes or keypoints through one step of a torchvision policy."""
    value_, no = step.get("value"), [0, 0]
    if step["op"] == "rotate":
        return functional.rotate(value, value_)
    if step["op"].startswith("shear"):
        degrees = np.degrees(np.arctan(value_))
        shear = [degrees, 0.0] if step["op"] == "shear_x" else [0.0, degrees]
        return functional.affine(value, 0.0, no, 1.0, shear, center=no)
    if step["op"].startswith("translate"):
        pixels = int(value_)
        return functional.affine(
            value, 0.0, [pixels, 0] if step["op"] == "translate_x" else [0, pixels], 1.0, [0.0, 0.0]
        )
    return functional.hflip(value) if step["op"] == "flip_lr" else functional.vflip(value)


def test_boxes_are_dropped_with_their_fields():
    policy = motley.Policy('{"motley": 1, "name": "left", "branches": [{"op": "translate_x", "value": -30}]}')
    image = photographs(1)[0]
    boxes = [[0, 0, 20, 20], [10, 0, 40, 20], [33, 5, 53, 41], [31, 0, 34, 3]]
    sample = {
        "image": image,
        "boxes": boxes,
        "labels": ["a", "b", "c", "d"],
        "area": np.arange(4),
        "other": [1, 2, 3, 4],
    }
    sample["masks"] = np.stack([np.full((41, 53), i, np.uint8) for i in range(4)])
    fields = "labels", "area", "masks"
    kinds = {"masks": Mask(), "boxes": Boxes(label_fields=fields, visibility="seen")}
    made = Follow(policy, kinds)(sample)
    assert made["boxes"] == [[0, 0, 10, 20], [3, 5, 23, 41], [1, 0, 4, 3]]
    assert made["labels"] == ["b", "c", "d"] and made["area"].tolist() == [1, 2, 3] and made["other"] == [1, 2, 3, 4]
    assert made["masks"].shape == (3, 41, 53) and (made["masks"][:, 0, 0] == [1, 2, 3]).all()
    assert np.allclose(made["seen"], [1 / 3, 1, 1])
    kinds["boxes"] = Boxes(label_fields=fields, min_visibility=0.5, min_area=20, min_side=2)
    assert Follow(policy, kinds)(sample)["labels"] == ["c"]
    kinds["boxes"] = Boxes(label_fields=fields, drop=False)
    made = Follow(policy, kinds)(sample)
    assert len(made["boxes"]) == 4 and made["labels"] == sample["labels"] and made["boxes"][0][0] == made["boxes"][0][2]
    assert sample["boxes"] is boxes and boxes[0] == [0, 0, 20, 20] and len(sample["labels"]) == 4


LEFT = '{"motley": 1, "name": "left", "branches": [{"op": "translate_x", "value": -30}]}'


def test_no_list_is_left_longer_than_the_boxes():
    boxes, categories = [[0, 0, 20, 20], [10, 0, 40, 20], [33, 5, 53, 41]], [7, 8, 9]
    sample = {"image": photographs(1)[0], "boxes": boxes, "labels": [1, 2, 3], "category_id": categories}
    follow = Follow(motley.Policy(LEFT), {"boxes": Boxes()})
    refused(r"boxes may be dropped.*sample\['category_id'\].*label_fields", follow, sample)
    refused("category_id", follow, [sample, {**sample, "boxes": boxes[1:] + boxes[1:2]}])
    refused("category_id", follow, {**sample, "boxes": [boxes[1]] * 3})  # none was dropped
    made = Follow(motley.Policy(LEFT), {"boxes": Boxes(label_fields=["labels", "category_id"])})(sample)
    assert made["category_id"] == [8, 9] and made["labels"] == [2, 3]
    made = Follow(motley.Policy(LEFT), {"boxes": Boxes(label_fields=["labels"])})(sample)
    assert made["category_id"] == categories
    chw = np.ascontiguousarray(sample["image"].transpose(2, 0, 1))  # as long as there are boxes
    plain = {"image": chw, "boxes": boxes, "labels": [1, 2, 3], "orig_size": (41, 53)}
    assert len(Follow(motley.Transform(motley.Policy(LEFT), layout="chw"), {"boxes": Boxes()})(plain)["labels"]) == 2
    one = {**sample, "boxes": boxes[:1], "labels": [1], "category_id": [], "image_id": np.array([5])}  # of one box
    assert Follow(motley.Policy(LEFT), {"boxes": Boxes()})(one)["image_id"] == 5
    with pytest.raises(motley.ArgumentError, match="label_fields has 'lables', which the sample has not"):
        Follow(motley.Policy(LEFT), {"boxes": Boxes(label_fields=["lables"])})(sample)


def test_samples_without_followers_pass():
    image = photographs(1)[0]
    follow = Follow("rand_augment", image="image")
    follow({"image": np.stack([image] * 2), "label": np.eye(2), "caption": ["a", "b"]}, sample_ids=[1, 2], epoch=0)
    follow([{"image": image, "size": (41, 53), "name": "a"}] * 2, sample_ids=[1, 2], epoch=0)
    follow({"image": image, "size": (41, 53)}, sample_ids=1, epoch=0)


@pytest.mark.parametrize("form", ["xyxy", "xywh", "cxcywh"])
@pytest.mark.parametrize("kind", [list, np.array, *([torch.tensor] if torch else [])])
def test_boxes_in_shares_of_the_image_are_refused(form, kind):
    follow = Follow("rand_augment", {"boxes": Boxes(form)})
    image = photographs(1)[0]
    with pytest.raises(motley.ArgumentError, match="'boxes'.*0..1 only, for an image of 53 x 41: want pixels"):
        follow({"image": image, "boxes": kind([[0.1, 0.2, 0.5, 0.9], [0, 0, 1, 1]])})
    follow({"image": image, "boxes": kind([[0.0, 0, 0, 0], [0, 0, 1, 1]])})  # places that are not used, or one pixel
    follow({"image": image, "boxes": kind([[0.1, 0.2, 0.5, 1.5]])})


@pytest.mark.parametrize("kind", [np.array, *([torch.tensor] if torch else [])])
def test_points_in_shares_of_the_image_warn(kind):
    follow, image = Follow("rand_augment"), photographs(1)[0]
    with pytest.warns(UserWarning, match="'points'.*0..1 only: want pixels, so multiply x by the image's width") as all:
        for sample in range(2):
            follow({"image": image, "points": kind([[0.1, 0.9, 2], [0, 1, 0]])}, sample_ids=sample, epoch=0)
    assert len(all) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i, right in enumerate(([[0, 0, 0], [0, 0, 1]], [[0.5, 0.5, 1], [0.5, 1.5, 1]], [[0, 1, 0.5]])):  # one pixel
            follow({"image": image, "points": kind(right)}, sample_ids=7 + i, epoch=0)


@pytest.mark.parametrize(
    "call,message",
    [
        (lambda image: Boxes("coco"), "format is 'coco', want 'xywh'"),
        (lambda image: Boxes("yolo"), "format is 'yolo', want 'cxcywh', and boxes in pixels"),
        (lambda image: Follow("rand_augment", ["mask"]), "following is a list, want a dictionary"),
        (
            lambda image: Follow("rand_augment")({"image": image, "segmentation_mask": image[..., 0]}),
            "'segmentation_mask'.* may have to move.*not known to follow.*known are mask",
        ),
        (lambda image: Follow("rand_augment")((image, image)), "entry 0 of the tuple of samples is a ndarray, want a"),
        (
            lambda image: Follow("rand_augment")([{"image": image, "mask": image[..., 0]}, {"image": image}]),
            "sample 1 of the list has 'image', sample 0 'image', 'mask'",
        ),
    ],
)
def test_what_cannot_follow_is_named(call, message):
    refused(message, call, photographs(1)[0])


@pytest.mark.parametrize(
    "limits", [{}, {"min_area": 20}, {"min_side": 4}, {"min_visibility": 0.6}], ids=["area", "min_area", "side", "seen"]
)
def test_boxes_of_clips_are_dropped_frame_by_frame(limits):
    random = np.random.default_rng(4)
    branches = [{"op": "translate_x", "value": shift} for shift in (-30, -9, 14, 25)]
    policy = motley.Policy(json.dumps({"motley": 1, "name": "shifts", "branches": branches}))
    clips, frames, ids = 6, 5, motley.group_ids(range(6), 5)
    corner = [random.integers(0, (44, 34), (random.integers(0, 6), 2)) for _ in ids]
    boxes = [np.hstack([place, place + random.integers(1, 10, place.shape)]).astype(np.float32) for place in corner]
    boxes = [box.clip(max=[53, 41, 53, 41]) for box in boxes]
    names = [[f"{i}.{k}" for k in range(len(box))] for i, box in enumerate(boxes)]
    areas = [np.arange(len(box)) for box in boxes]
    sample = {"image": photographs(clips * frames), "boxes": boxes, "labels": names, "area": areas}
    kind = Boxes(label_fields=("labels", "area"), **limits)
    made, draws = Follow(policy, {"boxes": kind})(sample, sample_ids=ids, epoch=0, return_draws=True)
    dropped = 0
    for i, box in enumerate(boxes):
        assert draws[i] == draws[i - i % frames]  # a clip's frames move alike
        moved = (box + [draws[i][0]["value"], 0] * 2).clip([0, 0, 0, 0], [53, 41, 53, 41])
        (width, height), (old_width, old_height) = (moved[:, 2:] - moved[:, :2]).T, (box[:, 2:] - box[:, :2]).T
        keep = (width > 0) & (width * height >= limits.get("min_area", 0))
        keep &= np.minimum(width, height) >= limits.get("min_side", 0)
        keep &= width * height >= limits.get("min_visibility", 0) * old_width * old_height
        assert np.allclose(made["boxes"][i], moved[keep])
        assert made["labels"][i] == [name for name, good in zip(names[i], keep) if good]
        assert made["area"][i].tolist() == np.flatnonzero(keep).tolist()
        dropped += (~keep).sum()
    assert 10 < dropped < sum(map(len, boxes)) - 10


# ---- points ----


PROFILES = "trivial_augment_wide", "timm_rand_augment", "tf_rand_augment", "dali_trivial_augment_wide", "rand_augment"
OWN = {"nearest": 0.51, "bilinear": 0.1, "bicubic": 0.12}  # px that the filter moves a blob by: see tests/test_follow.c


@pytest.mark.parametrize("interpolation", OWN)
@pytest.mark.parametrize("name", PROFILES)
def test_points_are_where_the_blob_is(interpolation, name):
    height, width = 141, 161
    y, x = np.mgrid[:height, :width]
    kinds = {"index": Points("index", inside="inside"), "continuous": Points("continuous")}
    follow = Follow(geometric(interpolation, 1, name).change(fill=0), kinds)
    random, errors = np.random.default_rng(7), []
    rim = 25 * np.array([[0, 0], [-1, -1], [-1, 1], [1, -1], [1, 1]])  # beyond it a blob has no pixels
    for i in range(50):
        at = random.uniform([65, 55], [95, 85])  # of a pixel's index
        blob = 250 * np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / 72)
        image = np.repeat(blob.round().astype(np.uint8)[..., None], 3, axis=2)
        made = follow({"image": image, "index": at + rim, "continuous": at + 0.5 + rim}, sample_ids=i, epoch=0)
        assert np.allclose(made["continuous"], made["index"] + 0.5)
        if made["inside"].all():
            weight = made["image"][..., 0].astype(float)
            errors.append(np.array([(weight * x).sum(), (weight * y).sum()]) / weight.sum() - made["index"][0])
    assert (
        len(errors) > 30 and np.abs(errors).max() < OWN[interpolation] and np.abs(np.mean(errors, axis=0)).max() < 0.05
    )


def test_points_are_torchvisions_where_it_is_right():
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    from torchvision import tv_tensors

    if not hasattr(tv_tensors, "KeyPoints"):
        pytest.skip("before torchvision 0.23")
    points = np.random.default_rng(6).uniform(0, 1, (40, 2)) * [120, 90]
    for i in range(100):
        image = np.zeros((90, 120, 3), np.uint8)
        made, steps = Follow(geometric())({"image": image, "points": points}, sample_ids=i, epoch=0, return_draws=True)
        wanted = tv_tensors.KeyPoints(torch.from_numpy(points), canvas_size=(90, 120))
        for step in steps:
            wanted = by_torchvision(functional, wanted, step)
            if step["op"].startswith("flip"):  # torchvision flips indices
                wanted = wanted.as_subclass(torch.Tensor) + torch.tensor([1, 0] if step["op"] == "flip_lr" else [0, 1])
                wanted = tv_tensors.KeyPoints(wanted, canvas_size=(90, 120))
        assert np.abs(wanted.numpy() - made["points"]).max() < 1e-10


def test_points_move_by_the_matrix():
    points = np.random.default_rng(1).uniform(0, 40, (6, 2))
    for i in range(50):
        made, steps = Follow(geometric())(
            {"image": photographs(1)[0], "points": points}, sample_ids=i, epoch=0, return_draws=True
        )
        matrix = np.array(drawing.matrices(steps, (41, 53)))
        assert np.allclose(made["points"] @ matrix[:, :2].T + matrix[:, 2], points)


def test_pairs_and_visibility_and_inside():
    policy = motley.Policy('{"motley": 1, "name": "mirror", "branches": ["flip_lr"]}')
    image = photographs(1)[0]
    people = np.array([[[10, 5, 2], [20, 5, 1], [60, 5, 2]]] * 2, np.int64)
    kinds = {"points": Points(pairs=[(0, 1)], inside="inside")}
    made = Follow(policy, kinds)({"image": image, "points": people})
    assert made["points"].dtype == np.float32 and made["inside"].tolist() == [[True, True, False]] * 2
    assert made["points"].tolist() == [[[33, 5, 1], [43, 5, 2], [-7, 5, 0]]] * 2
    made = Follow("identity" if "identity" in motley.Policy.names() else NOTHING, kinds)(
        {"image": image, "points": people}
    )
    assert made["points"][..., :2].tolist() == people[..., :2].tolist()


NOTHING = motley.Policy('{"motley": 1, "name": "none", "branches": ["identity"]}')


# ---- batches, lists, samples ----


def samples(count, library=np.asarray):
    random = np.random.default_rng(3)
    made = []
    for i, image in enumerate(photographs(count)):
        boxes = np.sort(random.uniform(0, 40, (i % 4, 2, 2)), axis=1).reshape(-1, 4)
        made.append(
            {
                "image": library(image),
                "mask": library(random.integers(0, 255, (41, 53), np.uint8)),
                "boxes": library(boxes),
                "labels": library(np.arange(len(boxes))),
                "keypoints": library(random.uniform(0, 40, (i % 3 + 5, 2))),
                "name": f"image {i}",
            }
        )
    return made


LIBRARIES = [np.asarray] + ([torch.as_tensor] if torch is not None else [])


def equal(a, b):
    return type(a) is type(b) and (a == b).all() if hasattr(a, "shape") else a == b


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.__module__.split(".")[0])
def test_samples_batches_and_lists_are_one(library):
    singles = samples(13, library)
    follow = Follow(motley.Transform("trivial_augment_wide", seed=5, layout="hwc"))
    wanted = [follow(sample, sample_ids=i, epoch=3) for i, sample in enumerate(singles)]
    got, draws = follow(singles, sample_ids=range(13), epoch=3, return_draws=True)
    assert all(equal(a[key], b[key]) for a, b in zip(got, wanted) for key in a) and len(draws) == 13
    stack = np.stack if library is np.asarray else torch.stack
    batch = {key: [sample[key] for sample in singles] for key in singles[0]}
    batch = {**batch, "image": stack(batch["image"]), "mask": stack(batch["mask"])}
    made = follow(batch, sample_ids=range(13), epoch=3)
    assert all(equal(part, sample[key]) for key in made for part, sample in zip(made[key], wanted))
    assert made["name"] is batch["name"] and any((a["mask"] != b["mask"]).any() for a, b in zip(singles, wanted))


@needs_torch
def test_boxes_and_points_as_one_array():
    batch = torch.from_numpy(photographs(6)).permute(0, 3, 1, 2)
    boxes, points = torch.rand(6, 3, 2, 2).sort(dim=2).values.reshape(6, 3, 4) * 40, torch.rand(6, 5, 2) * 40
    follow = Follow("trivial_augment_wide", {"boxes": Boxes(drop=False, visibility="v"), "points": Points(inside="in")})
    made = follow({"image": batch, "boxes": boxes, "points": points}, sample_ids=range(6), epoch=0)
    assert made["boxes"].shape == boxes.shape and made["v"].shape == (6, 3) and made["in"].shape == (6, 5)
    for i in range(6):
        one = follow({"image": batch[i], "boxes": boxes[i], "points": points[i]}, sample_ids=i, epoch=0)
        assert all(torch.equal(one[key], made[key][i]) for key in ("boxes", "points", "v", "in"))


def test_sizes_that_differ():
    random = np.random.default_rng(3)
    images = [random.integers(0, 256, (20 + i, 40 - i, 3), np.uint8) for i in range(8)]
    masks = [image[..., 0].copy() for image in images]
    made = Follow(geometric())({"image": images, "mask": masks, "points": [[[1, 2]]] * 8}, sample_ids=range(8), epoch=0)
    for i in range(8):
        one = Follow(geometric())({"image": images[i], "mask": masks[i], "points": [[1, 2]]}, sample_ids=i, epoch=0)
        assert all(np.array_equal(made[key][i], one[key]) for key in made)


def test_samples_are_counted_views_and_epochs():
    sample = samples(1)[0]
    stage = motley.Transform("trivial_augment_wide", seed=2)
    follow = Follow(motley.Transform(stage))
    for _ in range(5):
        assert (follow(sample)["image"] == stage(sample["image"])).all()
    assert follow.transform.state_dict() == stage.state_dict()
    images = photographs(4)
    batch = {"image": images, "mask": images[..., 0], "masks": images.transpose(0, 3, 1, 2)}
    batch["points"] = np.full((4, 1, 2), 9)
    ids = np.array([[5, 0], [5, 1], [6, 0], [6, 3]])
    made = follow(batch, sample_ids=ids, epoch=0)
    for i, (id_, view) in enumerate(ids):
        one = follow({key: value[i] for key, value in batch.items()}, sample_ids=int(id_), epoch=0, view=int(view))
        assert all((one[key] == made[key][i]).all() for key in one)
    assert (follow(batch, sample_ids=[1, 2, 3, 4], epoch=0, view=[0, 1, 0, 1])["mask"] != made["mask"]).any()


def test_pickles_and_says_what_it_is():
    follow = Follow(motley.Transform("rand_augment", seed=7), {"mask": Mask(255)})
    again = pickle.loads(pickle.dumps(follow))
    sample = {"image": photographs(1)[0], "mask": photographs(1)[0, ..., 0]}
    assert (again(sample, sample_ids=3, epoch=0)["mask"] == follow(sample, sample_ids=3, epoch=0)["mask"]).all()
    assert repr(again) == repr(follow) and "Mask(fill=255, erase=False)" in repr(follow)


@needs_torch
def test_normalised_images_are_followed():
    batch = torch.from_numpy(photographs(4)).permute(0, 3, 1, 2)
    stage = motley.Transform("trivial_augment_wide", normalize=(0.5, 0.25), seed=1)
    mask = batch[:, 0].clone()
    made = Follow(stage)({"image": batch, "mask": mask}, sample_ids=range(4), epoch=0)
    follow = Follow(motley.Transform("trivial_augment_wide", seed=1))
    plain = follow({"image": batch, "mask": mask}, sample_ids=range(4), epoch=0)
    assert made["image"].dtype == torch.float32 and torch.equal(made["mask"], plain["mask"])


@needs_torch
@cuda
def test_masks_on_cuda_wait_for_nothing():
    batch = torch.from_numpy(photographs(64)).permute(0, 3, 1, 2).cuda()
    sample, follow = {"image": batch, "mask": batch[:, 0].contiguous()}, Follow("rand_augment")
    follow(sample, sample_ids=range(64), epoch=0)
    torch.cuda.synchronize()
    with torch.cuda.device(0):
        torch.cuda.set_sync_debug_mode("error")
        try:
            follow(sample, sample_ids=range(64), epoch=1)
        finally:
            torch.cuda.set_sync_debug_mode("default")


def numbers_of(count, dtype):
    """Lists of boxes and of points with COCO's visibility, as many as fit, in another number for each image."""
    random = torch.Generator().manual_seed(3)
    corners = [torch.rand(i % 5, 2, 2, generator=random).sort(dim=1).values * 40 for i in range(count)]
    points = [torch.rand(i % 3, 4, 3, generator=random) * 40 for i in range(count)]
    return [c.reshape(-1, 4).to(dtype) for c in corners], [p.to(dtype) for p in points]


KINDS = {
    "boxes": Boxes("xyxy", min_area=4, min_visibility=0.1, visibility="seen"),
    "points": Points(pairs=[(0, 2)], inside="inside"),
}
TRANSFORM = (
    "motley: 1\nname: t\nstages:\n  - random_resized_crop: {size: [40, 30]}\n  - flip: {horizontal: 0.5}\n"
    "  - policy: rand_augment\n"
)


@needs_torch
@cuda
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("stage", ["trivial_augment_wide", "transform"])
def test_boxes_and_points_on_cuda_are_the_hosts(stage, dtype):
    boxes, points = numbers_of(32, getattr(torch, dtype))
    images = torch.from_numpy(photographs(32)).permute(0, 3, 1, 2).contiguous()
    labels = [torch.arange(len(own)) for own in boxes]
    sample = {"image": images, "boxes": boxes, "points": points, "labels": labels}
    there = {key: [x.cuda() for x in value] if key != "image" else value.cuda() for key, value in sample.items()}
    follow = Follow(motley.Transform(TRANSFORM) if stage == "transform" else motley.Transform(stage, seed=1), KINDS)
    wanted, made = (follow(given, sample_ids=range(32), epoch=0) for given in (sample, there))
    assert sum(len(own) for own in wanted["boxes"]) < sum(len(own) for own in boxes)
    for key in ("boxes", "points", "labels", "seen", "inside"):
        for own, other in zip(wanted[key], made[key]):
            assert other.is_cuda and other.dtype == own.dtype and torch.equal(other.cpu(), own), key
    kept = there["boxes"][4].clone()
    assert torch.equal(there["boxes"][4], kept)


@needs_torch
@cuda
def test_boxes_and_points_on_cuda_wait_for_nothing():
    boxes, points = ([own.cuda() for own in each] for each in numbers_of(64, torch.float32))
    images = torch.from_numpy(photographs(64)).permute(0, 3, 1, 2).contiguous().cuda()
    sample = {"image": images, "boxes": boxes, "points": points}
    follow = Follow("rand_augment", {"boxes": Boxes(drop=False), "points": Points(pairs=[(0, 1)])})
    follow(sample, sample_ids=range(64), epoch=0)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        follow(sample, sample_ids=range(64), epoch=1)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@needs_torch
@cuda
def test_wrong_boxes_on_cuda_are_named():
    images = torch.from_numpy(photographs(2)).permute(0, 3, 1, 2).contiguous().cuda()
    wrong = torch.tensor([[1.0, 1.0, 5.0, 5.0], [5.0, 1.0, 1.0, 5.0]]).cuda()
    sample = {"image": images, "boxes": [wrong[:1], wrong]}
    with pytest.raises(motley.ArgumentError, match=r"image 1, box 1 is \(5.0, 1.0, 1.0, 5.0\), want finite"):
        Follow("rand_augment")(sample, sample_ids=range(2), epoch=0)
    made = Follow("rand_augment", {"boxes": Boxes(drop=False)})(sample, sample_ids=range(2), epoch=0)
    assert made["boxes"][1][1].isnan().all() and not made["boxes"][1][0].isnan().any()


# ---- views, recorded draws, transforms ----


@pytest.mark.parametrize("ids", [None, range(4)])
def test_several_views(ids):
    batch = {"image": photographs(4), "mask": photographs(4)[..., 0], "points": np.full((4, 1, 2), 9)}
    follow, plain = (Follow(motley.Transform("trivial_augment_wide", seed=2, views=n)) for n in (3, 1))
    first, second, third = follow(batch, sample_ids=ids, epoch=0)
    for view, made in enumerate((first, second, third)):
        wanted = plain(batch, sample_ids=ids, epoch=0, view=view)
        assert all((made[key] == wanted[key]).all() for key in wanted)
    assert (first["mask"] != second["mask"]).any() and follow.transform.state_dict()["count"] == (0 if ids else 12)
    one, two = follow(batch, sample_ids=range(4), epoch=0, views=2, view=5)
    assert (two["mask"] == plain(batch, sample_ids=range(4), epoch=0, view=11)["mask"]).all() and len(one) == 3


def detection(count, size=None):
    """Samples of sizes that differ, with all that can follow."""
    made = []
    for i, sample in enumerate(samples(count)):
        sample["image"] = np.ascontiguousarray(sample["image"][: size or 41 - i, : size or 53 - 2 * i])
        height, width = sample["image"].shape[:2]
        sample["mask"] = np.arange(height * width, dtype="int64").reshape(height, width)
        sample["masks"] = np.stack([sample["mask"] % 7] * 5).astype("uint8")
        for key in "boxes", "keypoints":
            sample[key] = sample[key].clip(max=min(height, width))
        made.append({key: value for key, value in sample.items() if key != "name"})
    return made


def same_samples(a, b):
    return all(equal(x[key], y[key]) for x, y in zip(a, b) for key in (x.keys() | y.keys()))


@pytest.mark.parametrize("name", ["timm_rand_augment", "timm_train", "torchvision_train_v2"])
def test_replay_of_everything(name):
    stage = motley.Transform(name, seed=3)
    follow, batch = Follow(stage), detection(6)
    made, draws = follow(batch, sample_ids=range(6), epoch=0, return_draws=True)
    again = follow.replay(batch, json.loads(json.dumps(draws)))
    assert same_samples(made, again)
    assert same_samples([follow.replay(batch[2], draws[2])], [follow(batch[2], sample_ids=2, epoch=0)])
    with pytest.raises(ValueError, match="draws has|is of another|were made for|leaves the image"):
        follow.replay(batch, draws[::-1])


TRANSFORM = """
motley: 1
name: everything
stages:
  - random_resized_crop: {size: [32, 40], scale: [0.3, 1]}
  - flip: {horizontal: 0.5}
  - policy: trivial_augment_wide
  - jitter: {brightness: [0.6, 1.4]}
  - output: {mean: 0.5, std: 0.25}
"""


def test_transforms_take_everything_along():
    """Where each pixel of a mask came from is where the draw's matrix says, and boxes and points go there, too."""
    text = TRANSFORM.replace("  - policy: trivial_augment_wide\n", "")
    follow = Follow(
        motley.Transform(text, seed=1),
        {"mask": Mask(fill=-1), "masks": Mask(), "boxes": Boxes(), "keypoints": Points()},
    )
    batch = detection(12)
    made, draws = follow(batch, sample_ids=range(12), epoch=0, return_draws=True)
    for sample, out, draw in zip(batch, made, draws):
        crop, flip = draw["crop"], draw["flip"]["horizontal"]
        assert (
            out["image"].shape == (3, 32, 40) and out["image"].dtype == np.float32 and out["masks"].shape == (5, 32, 40)
        )
        left, top = crop["left"], crop["top"]
        wanted = Image.fromarray(sample["mask"].astype("int32"))
        wanted = wanted.crop((left, top, left + crop["width"], top + crop["height"])).resize((40, 32), 0)
        wanted = np.asarray(wanted)[:, :: -1 if flip else 1]
        assert (out["mask"] == wanted).all() and out["mask"].dtype == np.int64
        assert (out["masks"] == out["mask"] % 7).all()
        zoom = np.array([40 / crop["width"], 32 / crop["height"]])
        wanted = (sample["keypoints"] - [left, top]) * zoom
        if flip:
            wanted[:, 0] = 40 - wanted[:, 0]
        assert np.allclose(out["keypoints"], wanted)
        boxes = (sample["boxes"].reshape(-1, 2, 2) - [left, top]) * zoom
        boxes = boxes.clip([0, 0], [40, 32])
        if flip:
            boxes[..., 0] = 40 - boxes[:, ::-1, 0]
        boxes = boxes.reshape(-1, 4)
        boxes = boxes[(boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])]
        assert np.allclose(out["boxes"], boxes) and len(out["labels"]) == len(boxes)


@needs_torch
def test_transforms_of_batches_lists_and_pictures():
    follow = Follow(motley.Transform(TRANSFORM, seed=1), {"mask": Mask(fill=250), "second": Second("bilinear")})
    arrays = [{"image": x["image"], "mask": x["masks"][0], "second": x["image"]} for x in detection(5)]
    made = follow(arrays, sample_ids=range(5), epoch=0)
    pictures = [{key: Image.fromarray(value) for key, value in sample.items()} for sample in arrays]
    for i, (one, picture) in enumerate(zip(made, pictures)):
        out = follow(picture, sample_ids=i, epoch=0)
        assert (np.asarray(out["mask"]) == one["mask"]).all() and out["mask"].size == (40, 32)
        assert (np.asarray(out["second"]) == one["second"]).all() and (out["image"] == one["image"]).all()
    batch = {key: [sample[key] for sample in arrays] for key in arrays[0]}
    stacked = follow(batch, sample_ids=range(5), epoch=0)
    assert stacked["image"].shape == (5, 3, 32, 40) and stacked["mask"].shape == (5, 32, 40)
    assert all((stacked[key][i] == made[i][key]).all() for key in made[0] for i in range(5))
    tensors = {
        key: [torch.from_numpy(x if x.ndim == 2 else x.transpose(2, 0, 1).copy()) for x in value]
        for key, value in batch.items()
    }
    of_torch = follow(tensors, sample_ids=range(5), epoch=0)
    assert (of_torch["mask"].numpy() == stacked["mask"]).all() and (of_torch["image"].numpy() == stacked["image"]).all()
    nothing = follow({**arrays[0], "mask": np.zeros((0, *arrays[0]["mask"].shape), "uint8")}, sample_ids=0, epoch=0)
    assert nothing["mask"].shape == (0, 32, 40)


def test_what_mixes_cannot_be_followed():
    mixing = motley.Transform(TRANSFORM + "  - mix: {mixup: 0.2}\n")
    for stage in mixing, motley.mix(mixup=0.2):
        with pytest.raises(motley.UnsupportedError, match="mixes images: nothing can follow it"):
            Follow(stage)


@pytest.mark.parametrize("most, fill", [(200, 255), (200, -100), (70000, 255), (1 << 40, 3)])
def test_wide_integers_move_whole(most, fill):
    masks = np.random.default_rng(3).integers(0, most, (12, 41, 53))
    origin = Follow(geometric(), {"mask": Mask(fill=-1)})(
        {"image": photographs(12), "mask": np.stack([np.arange(41 * 53, dtype="int32").reshape(41, 53)] * 12)},
        sample_ids=range(12),
        epoch=0,
    )["mask"]
    follow = Follow(geometric(), {"mask": Mask(fill=fill)})
    made = follow({"image": photographs(12), "mask": masks}, sample_ids=range(12), epoch=0)["mask"]
    wanted = np.stack([np.where(o < 0, fill, m.reshape(-1)[o]) for m, o in zip(masks, origin)])
    assert made.dtype == np.int64 and (made == wanted).all() and (origin < 0).any()


class Detections:
    def __len__(self):
        return 9

    def __getitem__(self, i):
        return {key: torch.from_numpy(np.ascontiguousarray(value)) for key, value in detection(9)[i].items()}


@needs_torch
@pytest.mark.parametrize("workers", [0, 2])
def test_data_sets_of_samples(workers):
    """Whatever process reads it, sample i of epoch e is what Follow makes of id i."""
    follow = Follow(motley.Transform("trivial_augment_wide", seed=4, layout="hwc"))
    dataset = motley.torch.Augmented(Detections(), follow)
    sampler = motley.torch.Sampler(range(9))
    loader = torch.utils.data.DataLoader(dataset, 3, sampler=sampler, num_workers=workers, collate_fn=list)
    for epoch in range(2):
        made = [sample for batch in loader for sample in batch]
        wanted = [follow(Detections()[i], sample_ids=i, epoch=epoch) for i in range(9)]
        assert same_samples(made, wanted)
    index = motley.torch.Index
    first, second = motley.torch.Augmented(Detections(), follow, views=2)[index(5, 0)]
    assert same_samples([first, second], [follow(Detections()[5], sample_ids=5, epoch=0, view=view) for view in (0, 1)])
    assert same_samples([dataset[index(5, 1, 1)]], [follow(Detections()[5], sample_ids=5, epoch=1, view=1)])


@needs_torch
@pytest.mark.parametrize("settings", [{"policy": "torchvision_train"}, {"policy": "rand_augment", "layout": "nhwc"}])
def test_a_module_of_torch_gives_the_image_that_it_gives_alone(settings):
    image = Image.fromarray(photographs(1)[0])
    image = image if "layout" not in settings else torch.from_numpy(photographs(1)[0])
    mask = np.zeros((41, 53), "uint8")
    module = motley.torch.Transform(**settings)
    made = Follow(module)({"image": image, "mask": mask}, sample_ids=3, epoch=1)["image"]
    assert type(made) is torch.Tensor and made.shape[0] == 3
    assert made.equal(module(image, sample_ids=3, epoch=1))


@needs_torch
def test_what_moves_in_the_call_asks_for_no_epoch(monkeypatch):
    """A module's counter may lie on a GPU, and asking for it waits."""
    sample = {"image": torch.from_numpy(photographs(2)).permute(0, 3, 1, 2), "mask": torch.arange(2 * 41 * 53)}
    sample["mask"] = sample["mask"].reshape(2, 41, 53)
    module = motley.torch.Transform("rand_augment", seed=5)
    wanted = Follow(module)(sample, sample_ids=[1, 2], epoch=3)
    module.set_epoch(3)
    monkeypatch.setattr(torch.Tensor, "__getitem__", lambda *_: pytest.fail("the counter was asked"))
    made = Follow(module)(sample, sample_ids=[1, 2])
    monkeypatch.undo()
    assert made["image"].equal(wanted["image"]) and made["mask"].equal(wanted["mask"])


# ---- mistakes ----

IMAGE, BATCH = photographs(1)[0], photographs(3)
WRONG = [
    ({}, r"the sample has no 'image', it has nothing"),
    ({"image": IMAGE}, r"the sample has no 'mask', it has 'image'"),
    (
        {"image": IMAGE, "mask": np.zeros((40, 53))},
        r"sample\['mask'\] has shape \(40, 53\), the image is 41 high and 53 wide",
    ),
    (
        {"image": IMAGE, "mask": np.zeros((41, 53, 1))},
        r"\(41, 53, 1\), the image is 41 high and 53 wide: want \[H, W\] or",
    ),
    ({"image": IMAGE, "mask": np.zeros(53)}, r"sample\['mask'\] has shape \(53,\), want \[H, W\] or \[N, H, W\]"),
    (
        {"image": IMAGE, "mask": [1]},
        r"sample\['mask'\]\[0\] is a int, want a NumPy, torch or CuPy array or a PIL image",
    ),
    (
        {"image": IMAGE, "mask": "mask.png"},
        r"sample\['mask'\] is a str, want a NumPy, torch or CuPy array or a PIL image",
    ),
    ({"image": IMAGE, "mask": np.ma.masked_array(IMAGE[..., 0])}, r"\['mask'\] is a numpy.ma.MaskedArray, whose mask"),
    ({"image": IMAGE, "mask": np.zeros((41, 53), complex)}, r"of dtype complex128, want bool, integers or floats"),
    (
        {"image": IMAGE, "mask": np.zeros((41, 53), "int8")},
        r"of dtype int8, but fill is 255: want a value of that dtype",
    ),
    ({"image": IMAGE, "mask": Image.new("RGB", (53, 41))}, r"has mode RGB, want one of 1, L, P"),
    ({"image": IMAGE, "mask": Image.new("L", (41, 53))}, r"shape \(53, 41\), the image is 41 high and 53 wide"),
    ({"image": BATCH, "mask": np.zeros((2, 41, 53))}, r"has shape \(2, 41, 53\), there are 3 images"),
    ({"image": BATCH, "mask": [np.zeros((41, 53))] * 2}, r"sample\['mask'\] has 2 entries, there are 3 images"),
    (
        {"image": BATCH, "mask": [np.zeros((41, 53))] * 2 + [np.zeros((1, 1))]},
        r"sample\['mask'\]\[2\] has shape \(1, 1\)",
    ),
    ({"image": BATCH, "mask": Image.new("L", (53, 41))}, r"is a Image, want an array"),
    ([{"image": IMAGE}, {"picture": IMAGE}], r"sample 1 of the list has 'picture', sample 0 'image'"),
    (IMAGE, r"the sample is a ndarray, want a dictionary or a list of them"),
]


@pytest.mark.parametrize("sample, message", WRONG)
def test_wrong_samples_and_masks(sample, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        Follow("rand_augment", {"mask": Mask(255)})(sample)


WRONG_BOXES = [
    ([[0, 0, np.nan, 4]], r"sample\['boxes'\]: image 0, box 0 has nan, want finite numbers"),
    (
        [[0, 0, 9, 9], [60, 3, 70, 9]],
        r"sample\['boxes'\]: image 0, box 1 is \(60, 3, 70, 9\) as .*, outside its image of 53 x 41",
    ),
    ([[5, 0, 4, 9]], r"want left <= right"),
    ([[0, 0, 9]], r"sample\['boxes'\] has shape \(1, 3\), want \[n, 4\]"),
    ([[0, 0, 9, "right"]], r"sample\['boxes'\] is .*want an array or a list of rows of numbers"),
    ([[0, 0, 9, 9]] * 2, r"sample\['labels'\] has 1 entries, there are 2 boxes"),
    (7, r"sample\['boxes'\] has shape \(\), want \[n, 4\]"),
]


@pytest.mark.parametrize("labels", [3, None, "a", {"a": 1}, np.array(3)])
def test_labels_are_an_entry_for_each_box(labels):
    message = r"sample\['labels'\] is .*, want an entry for each box"
    refused(message, Follow("rand_augment"), {"image": IMAGE, "boxes": [[0, 0, 9, 9]], "labels": labels})


@pytest.mark.parametrize("boxes, message", WRONG_BOXES)
def test_wrong_boxes(boxes, message):
    with pytest.raises(ValueError, match=message):
        Follow("rand_augment")({"image": IMAGE, "boxes": boxes, "labels": [1]})


def test_wrong_boxes_of_batches():
    follow = Follow("rand_augment")
    with pytest.raises(ValueError, match=r"sample\['boxes'\]: image 2, box 0 has inf"):
        follow({"image": BATCH, "boxes": [[[0, 0, 1, 1]], [], [[0, 0, np.inf, 1]]]})
    with pytest.raises(ValueError, match=r"sample\['labels'\] of image 1 has 1 entries, there are 0 boxes"):
        follow({"image": BATCH, "boxes": [[[0, 0, 1, 1]], [], []], "labels": [[1], [1], []]})
    with pytest.raises(
        ValueError, match=r"one array of shape \(3, 1, 4\), from which what belongs to dropped boxes cannot be"
    ):
        follow({"image": BATCH, "boxes": np.ones((3, 1, 4))})
    with pytest.raises(
        ValueError, match=r"sample\['points'\]\[1\] has 2 numbers in a row, others have 3: want as many"
    ):
        follow({"image": BATCH, "points": [[[1, 2, 3]], [[1, 2]], [[1, 2, 3]]]})
    with pytest.raises(ValueError, match=r"sample\['points'\]: image 1, point 0 is \(nan, 2\), want finite numbers"):
        follow({"image": BATCH, "points": [[], [[np.nan, 2]], []]})
    with pytest.raises(ValueError, match=r"sample_ids has 2 numbers, there are 3 images"):
        follow({"image": BATCH}, sample_ids=[1, 2], epoch=0)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Boxes("xxyy"), "format is 'xxyy', want 'xyxy', 'xywh', 'cxcywh'"),
        (lambda: Boxes(rule="tight"), "rule is 'tight', want 'polygon', 'torchvision'"),
        (lambda: Boxes(min_visibility=2), "min_visibility is 2, want a number of 0 to 1"),
        (lambda: Boxes(min_area=-1), "min_area is -1, want a number of 0 or more"),
        (lambda: Boxes(drop=False, min_side=3), "min_side is 3, but drop is False"),
        (lambda: Boxes(label_fields="labels"), "label_fields is 'labels', want a tuple of keys"),
        (lambda: Points("centre"), "convention is 'centre', want 'continuous', 'index'"),
        (lambda: Points(pairs=[(1, 2, 3)]), r"pairs has \(1, 2, 3\), want two places from 0"),
        (lambda: Points(pairs=(1, 2)), r"pairs has 1, want two places from 0"),
        (lambda: Points(pairs=None), r"pairs has None, want two places from 0"),
        (lambda: Points(pairs=[(1, 2), (2, 3)]), r"pairs is \[\(1, 2\), \(2, 3\)\], want no place in two pairs"),
        (
            lambda: Follow("rand_augment", {"boxes": Boxes(visibility="image")}),
            r"following\['boxes'\] stores in 'image', which is in use: want a key of its own",
        ),
        (lambda: Follow("rand_augment", {"boxes": Boxes(visibility="labels")}), "stores in 'labels', which is in use"),
        (
            lambda: Follow("rand_augment", {"boxes": Boxes(label_fields=["area"]), "points": Points(inside="area")}),
            "stores in 'area', which is in use",
        ),
        (lambda: Second("cubic"), "interpolation is 'cubic', want one of nearest, bilinear, bicubic"),
        (lambda: Second(fill="red"), "fill is 'red', want a whole number 0 to 255"),
        (lambda: Follow("rand_augment", {"mask": "mask"}), r"following\['mask'\] is 'mask', want a motley.follow.Mask"),
    ],
)
def test_wrong_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_wrong_second_images():
    follow = Follow("rand_augment", {"second": Second(fill=(1, 2, 3))})
    for second, message in [
        (BATCH, "is a batch of 3, the image that it follows one"),
        (IMAGE[1:], "is 53 x 40 pixels, what it follows 53 x 41: want one size"),
        (IMAGE / 255, "is not uint8: want motley.follow.Mask for it"),
        (IMAGE[..., :1], r"has 1 channels, but fill is \(1, 2, 3\): want a number for each"),
    ]:
        with pytest.raises(ValueError, match=message):
            follow({"image": IMAGE, "second": second})


def test_pairs_need_as_many_points():
    policy = motley.Policy('{"motley": 1, "name": "mirror", "branches": ["flip_lr"]}')
    with pytest.raises(ValueError, match=r"sample\['points'\] has shape \(2, 2\), want more than 4 points for `pairs`"):
        Follow(policy, {"points": Points(pairs=[(1, 4)])})({"image": IMAGE, "points": [[1, 2], [3, 4]]})


def test_custom_operations_cannot_be_followed():
    @motley.custom_op("moved_by_hand")
    def moved(indices, images, values):
        pass

    follow = Follow('{"motley": 1, "name": "mine", "branches": ["moved_by_hand"]}')
    for key, value in ("mask", IMAGE[..., 0]), ("points", [[1, 2]]):
        with pytest.raises(motley.UnsupportedError, match="custom op"):
            follow({"image": IMAGE, key: value})


@pytest.mark.parametrize("kind", ["list", "array", "tensor"])
def test_a_wrong_pair_needs_no_mirror(kind):
    """Pairs are checked whether or not an image is mirrored."""
    made = {"list": list, "array": np.array, "tensor": torch.tensor if torch is not None else None}[kind]
    if made is None:
        pytest.skip("torch is missing")
    follow = motley.Follow("motley: 1\nname: none\nbranches: [identity]\n", {"points": Points(pairs=[(0, 3)])})
    sample = {"image": np.zeros((8, 8, 3), np.uint8), "points": made([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])}
    refused("want more than 3 points for `pairs`", follow, sample)


def test_an_image_without_points_may_have_narrower_rows():
    points = [np.zeros((0, 2)), np.array([[1.0, 2.0, 2.0]])]
    sample = {"image": np.zeros((2, 8, 8, 3), np.uint8), "points": points}
    made = motley.Follow("motley: 1\nname: none\nbranches: [identity]\n")(sample)["points"]
    assert made[0].shape[0] == 0 and made[1].tolist() == [[1.0, 2.0, 2.0]]
