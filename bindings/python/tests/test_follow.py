# SPDX-License-Identifier: Apache-2.0
"""What goes with an image: masks with Pillow's bytes, boxes and points where the pixels went."""

import copy
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
NOTHING = "motley: 1\nname: none\nbranches: [identity]\n"
MIRROR = "motley: 1\nname: mirror\nbranches: [flip_lr]\n"
LEFT = "motley: 1\nname: left\nbranches: [{op: translate_x, value: -30}]\n"


@functools.lru_cache(maxsize=None)
def geometric(interpolation="nearest", repeat=3, name="trivial_augment_wide"):
    """A policy of warps alone: a built-in's, and flips. TrivialAugmentWide's are strong ones."""
    policy = motley.Policy(name)
    branches = [b for b in policy.as_dict()["branches"] if b in WARPS]
    return policy.change(branches=[*branches, "flip_lr", "flip_ud"], repeat=repeat, interpolation=interpolation)


def warped_by_pillow(mask, steps, fill):
    """A PIL mask through the steps that move pixels, nearest."""
    for step in steps:
        if step["op"] in WARPS:
            mask = recipes.stepped(mask, {**step, "interpolation": "nearest", "fill": [fill]})
    return mask


def moved_by_pillow(mask, steps, fill):
    """A mask [41, 53] of any elements: each comes from where Pillow's nearest takes the number of its place."""
    places = Image.fromarray(np.arange(41 * 53, dtype="int32").reshape(41, 53))
    origin = np.asarray(warped_by_pillow(places, steps, -1))
    return np.where(origin < 0, mask.dtype.type(fill), mask.reshape(-1)[origin])


def photographs(count, height=41, width=53):
    return np.random.default_rng(8).integers(0, 256, (count, height, width, 3), np.uint8)


def by_id(follow, sample, ids, **how):
    return follow(sample, sample_ids=ids, **{"epoch": 0, **how})


def chw(images):
    return torch.from_numpy(images).permute(0, 3, 1, 2)


# ---- masks ----


@pytest.mark.parametrize("name", ["rand_augment", "trivial_augment_wide", "timm_rand_m9_mstd05_inc1"])
def test_masks_have_the_bytes_of_pillows_nearest(name):
    images = photographs(200)
    masks = np.random.default_rng(9).integers(0, 256, images.shape[:3], np.uint8)
    transform, sample = motley.Transform(name, seed=4), {"image": images, "mask": masks}
    made, draws = by_id(Follow(transform, {"mask": Mask(fill=255)}), sample, range(200), epoch=2, return_draws=True)
    wanted = [warped_by_pillow(Image.fromarray(mask), steps, 255) for mask, steps in zip(masks, draws)]
    assert (made["mask"] == np.stack([np.asarray(x) for x in wanted])).all()
    assert (made["image"] == by_id(transform, images, range(200), epoch=2)).all()
    assert (made["mask"] != masks).any(axis=(1, 2)).sum() > 30


FILLS = {"bool": True, "uint8": 200, "int8": -100, "uint16": 250, "int16": 250, "uint32": 250, "int32": 250,
         "uint64": 250, "int64": (1 << 40) + 3, "float16": -0.5, "float32": 250, "float64": 250}  # fmt: skip
MODES = {"1": "bool", "L": "uint8", "P": "uint8", "I;16": "uint16", "I": "int32", "F": "float32"}


def elements(dtype):
    numbers = np.random.default_rng(1).integers(0, 1 << 62, (41, 53))
    return (numbers % (2 if dtype == "bool" else 1 << 10 if "float" in dtype else 1 << 62)).astype(dtype)


@pytest.mark.parametrize("dtype", FILLS)
def test_elements_of_every_dtype_move_whole(dtype):
    masks = np.stack([elements(dtype)] * 60)
    follow = Follow(geometric(), {"mask": Mask(fill=FILLS[dtype])})
    made, draws = by_id(follow, {"image": photographs(60), "mask": masks}, range(60), return_draws=True)
    assert made["mask"].dtype == masks.dtype and (made["mask"] != masks).any()
    for mask, got, steps in zip(masks, made["mask"], draws):
        assert (got == moved_by_pillow(mask, steps, FILLS[dtype])).all()


@pytest.mark.parametrize("mode", MODES)
def test_pil_masks(mode):
    mask = Image.fromarray(elements(MODES[mode]))
    if mode == "P":
        mask.putpalette([255, 0, 0, 0, 255, 0] * 128)
    mask.info["dpi"] = (72, 72)
    assert mask.mode == mode
    for i, image in enumerate(map(Image.fromarray, photographs(40))):
        sample = {"image": image, "mask": mask}
        made, steps = by_id(Follow(geometric(), {"mask": Mask(fill=1)}), sample, i, return_draws=True)
        got = made["mask"]
        assert got.mode == mode and got.info == mask.info and got.getpalette() == mask.getpalette()
        assert (np.asarray(got) == moved_by_pillow(np.asarray(mask), steps, 1)).all()


@needs_torch
@pytest.mark.parametrize("device", DEVICES)
def test_masks_and_instances_on_tensors(device):
    images, follow = photographs(12), Follow("trivial_augment_wide")
    masks = np.random.default_rng(2).integers(0, 90, (12, 5, 41, 53))
    wanted = by_id(follow, {"image": images, "masks": masks}, range(12))
    batch = chw(images).to(device)
    for dtype in torch.int64, torch.uint8, torch.float32, torch.int16, torch.bfloat16:
        tensors = torch.from_numpy(masks).to(device, dtype)
        made = by_id(follow, {"image": batch, "masks": tensors}, torch.arange(12))
        assert made["masks"].dtype == dtype and made["masks"].device == batch.device
        assert (made["masks"].cpu().to(torch.int64).numpy() == wanted["masks"]).all()
        assert (made["image"].cpu().permute(0, 2, 3, 1).numpy() == wanted["image"]).all()
    for i in range(12):  # of one sample, also not contiguous
        strided = torch.from_numpy(masks[i]).to(device).transpose(0, 1).contiguous().transpose(0, 1)
        made = by_id(follow, {"image": batch[i], "masks": strided}, i)
        assert (made["masks"].cpu().numpy() == wanted["masks"][i]).all()


def test_no_instances_and_no_images():
    follow, nothing = Follow("rand_augment"), np.zeros((0, 41, 53), bool)
    made = follow({"image": photographs(1)[0], "masks": nothing, "boxes": np.zeros((0, 4))})
    assert made["masks"].shape == (0, 41, 53) and made["boxes"].shape == (0, 4)
    made = follow({"image": photographs(0), "mask": nothing, "boxes": [], "points": []})
    assert made["mask"].shape == (0, 41, 53) and made["boxes"] == made["points"] == []


def test_erasing_operations():
    policy = "motley: 1\nname: holes\nfill: 9\nbranches: [{op: cutout, value: 12}]\n"
    image, mask = photographs(1)[0], np.full((41, 53), 3, np.int32)
    points = np.mgrid[0:53, 0:41].reshape(2, -1).T + 0.5
    follow = Follow(policy, {"a": Mask(255), "b": Mask(255, erase=True), "p": Points(inside="inside")})
    made = follow({"image": image, "a": mask, "b": mask, "p": np.c_[points, np.full(len(points), 2)]})
    hole = (made["image"] == 9).all(axis=-1)
    assert 40 < hole.sum() < 170 and (made["a"] == 3).all() and (made["b"] == np.where(hole, 255, 3)).all()
    assert (made["p"][:, 2] == np.where(hole.T.reshape(-1), 1, 2)).all() and made["inside"].all()


# ---- other images ----


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic"])
def test_other_images_move_alone(interpolation):
    """With the image's own filter and fill they get the image's bytes where nothing but warps is drawn."""
    images = photographs(60)
    policy, second = geometric(interpolation).change(fill=[7, 8, 9]), Second(interpolation, fill=(7, 8, 9))
    made = Follow(policy, {"second": second})({"image": images, "second": images})
    assert (made["second"] == made["image"]).all() and (made["second"] != images).any()
    colours = motley.Policy("rand_augment")
    colours = colours.change(branches=[b for b in colours.as_dict()["branches"] if b not in WARPS])
    made = Follow(colours, {"second": Second(interpolation)})({"image": images, "second": images[..., :1]})
    assert (made["second"] == images[..., :1]).all() and (made["image"] != images).any()
    pictures = [Image.fromarray(x).resize((30 + i, 20)) for i, x in enumerate(images[:10])]
    made = Follow(policy, {"second": second})({"image": pictures, "second": pictures})
    assert [x.tobytes() for x in made["second"]] == [x.tobytes() for x in made["image"]]


# ---- boxes ----


def written_as(form, boxes):
    """Boxes of left, top, right and bottom in another format."""
    low, high = boxes[..., :2], boxes[..., 2:]
    parts = {"xyxy": (low, high), "xywh": (low, high - low), "cxcywh": ((low + high) / 2, high - low)}
    return np.concatenate(parts[form], -1)


def corners_of(form, boxes):
    low, size = boxes[..., :2], boxes[..., 2:]
    low = low - size / 2 if form == "cxcywh" else low
    return np.concatenate([low, size if form == "xyxy" else low + size], -1)


@pytest.mark.parametrize("form", ["xyxy", "xywh", "cxcywh"])
def test_boxes_hold_the_pixels_of_filled_rectangles(form):
    random, slack, height, width = np.random.default_rng(5), [], 81, 97
    follow = Follow(geometric(repeat=2), {"boxes": Boxes(form)})
    for i in range(300):
        left, top = random.integers(0, width - 8), random.integers(0, height - 8)
        right, bottom = random.integers(left + 4, width + 1), random.integers(top + 4, height + 1)
        image = np.zeros((height, width, 3), np.uint8)
        image[top:bottom, left:right] = 255
        boxes = written_as(form, np.array([[left, top, right, bottom]], "float64"))
        made = by_id(follow, {"image": image, "boxes": boxes}, i)
        rows, columns = np.where(made["image"][..., 0])
        if len(made["boxes"]) == 0:
            assert len(rows) < 40  # of a sliver along the edge
        elif len(rows):
            a, b, c, d = corners_of(form, made["boxes"][0])
            covered = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
            out = [a - covered[0], b - covered[1], covered[2] - c, covered[3] - d]
            assert max(out) < 1, (i, made["boxes"], covered)
            slack.append(-np.array(out))
    assert len(slack) > 200 and abs(np.mean(slack)) < 0.5 and np.mean(np.abs(slack)) < 0.6


def by_torchvision(functional, value, step):
    """Boxes or keypoints through one step of a torchvision policy."""
    amount, no = step.get("value"), [0, 0]
    if step["op"] == "rotate":
        return functional.rotate(value, amount)
    if step["op"].startswith("shear"):
        degrees = np.degrees(np.arctan(amount))
        shear = [degrees, 0.0] if step["op"] == "shear_x" else [0.0, degrees]
        return functional.affine(value, 0.0, no, 1.0, shear, center=no)
    if step["op"].startswith("translate"):
        shift = [int(amount), 0] if step["op"] == "translate_x" else [0, int(amount)]
        return functional.affine(value, 0.0, shift, 1.0, [0.0, 0.0])
    return functional.hflip(value) if step["op"] == "flip_lr" else functional.vflip(value)


def test_boxes_of_torchvision_are_torchvisions():
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    from torchvision import tv_tensors

    random, image = np.random.default_rng(6), np.zeros((90, 120, 3), np.uint8)
    corners = np.sort(random.uniform(0, 1, (40, 2, 2)), axis=1).reshape(40, 4) * [120, 90, 120, 90]
    follow = Follow(geometric(), {"boxes": Boxes(rule="torchvision", drop=False)})
    # torchvision computes in the boxes' own type: what remains in binary32 is its rounding
    for dtype, most in (torch.float32, 1e-4), (torch.float64, 1e-10):
        for i in range(100):
            made, steps = by_id(follow, {"image": image, "boxes": corners}, i, return_draws=True)
            boxes = torch.from_numpy(corners)
            boxes = tv_tensors.BoundingBoxes(boxes, dtype=dtype, format="XYXY", canvas_size=(90, 120))
            for step in steps:
                boxes = by_torchvision(functional, boxes, step)
            assert np.abs(boxes.numpy() - made["boxes"]).max() < most


def test_boxes_are_dropped_with_their_fields():
    boxes = [[0, 0, 20, 20], [10, 0, 40, 20], [33, 5, 53, 41], [31, 0, 34, 3]]
    sample = {"image": photographs(1)[0], "boxes": boxes, "labels": ["a", "b", "c", "d"], "area": np.arange(4)}
    sample |= {"other": [1, 2, 3, 4], "masks": np.stack([np.full((41, 53), i, np.uint8) for i in range(4)])}
    fields = "labels", "area", "masks"

    def moved(**settings):
        return Follow(LEFT, {"masks": Mask(), "boxes": Boxes(label_fields=fields, **settings)})(sample)

    made = moved(visibility="seen")
    assert made["boxes"] == [[0, 0, 10, 20], [3, 5, 23, 41], [1, 0, 4, 3]]
    assert made["labels"] == ["b", "c", "d"] and made["area"].tolist() == [1, 2, 3] and made["other"] == [1, 2, 3, 4]
    assert made["masks"].shape == (3, 41, 53) and (made["masks"][:, 0, 0] == [1, 2, 3]).all()
    assert np.allclose(made["seen"], [1 / 3, 1, 1])
    for limit, left in ({"min_visibility": 0.5}, "cd"), ({"min_area": 20}, "bc"), ({"min_side": 4}, "bc"):
        assert moved(**limit)["labels"] == [*left]
    made = moved(drop=False)
    assert len(made["boxes"]) == 4 and made["labels"] == sample["labels"] and made["boxes"][0][0] == made["boxes"][0][2]
    assert sample["boxes"] is boxes and boxes[0] == [0, 0, 20, 20] and len(sample["labels"]) == 4


@pytest.mark.parametrize("form", ["xyxy", "xywh", "cxcywh"])
@pytest.mark.parametrize("kind", [list, np.array, *([torch.tensor] if torch else [])])
def test_boxes_in_shares_of_the_image_are_refused(form, kind):
    follow, image = Follow("rand_augment", {"boxes": Boxes(form)}), photographs(1)[0]
    sample = {"image": image, "boxes": kind([[0.1, 0.2, 0.5, 0.9], [0, 0, 1, 1]])}
    refused("'boxes'.*0..1 only, for an image of 53 x 41: want pixels", follow, sample)
    follow({"image": image, "boxes": kind([[0.0, 0, 0, 0], [0, 0, 1, 1]])})  # places that are not used, or one pixel
    follow({"image": image, "boxes": kind([[0.1, 0.2, 0.5, 1.5]])})


@pytest.mark.parametrize("kind", [np.array, *([torch.tensor] if torch else [])])
def test_points_in_shares_of_the_image_warn(kind):
    follow, image = Follow("rand_augment"), photographs(1)[0]
    with pytest.warns(UserWarning, match="'points'.*0..1 only: want pixels, so multiply x by the image's width") as all:
        for i in range(2):
            by_id(follow, {"image": image, "points": kind([[0.1, 0.9, 2], [0, 1, 0]])}, i)
    assert [warning.filename for warning in all] == [__file__] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for right in [[0, 0, 0], [0, 0, 1]], [[0.5, 0.5, 1], [0.5, 1.5, 1]], [[0, 1, 0.5]]:  # one pixel
            follow({"image": image, "points": kind(right)})


# ---- points ----


PROFILES = "trivial_augment_wide", "timm_rand_augment", "tf_rand_augment", "dali_trivial_augment_wide", "rand_augment"
OWN = {"nearest": 0.51, "bilinear": 0.1, "bicubic": 0.12}  # px that the filter moves a blob by: see tests/test_follow.c


@pytest.mark.parametrize("interpolation", OWN)
@pytest.mark.parametrize("name", PROFILES)
def test_points_are_where_the_blob_is(interpolation, name):
    y, x = np.mgrid[:141, :161]
    kinds = {"index": Points("index", inside="inside"), "continuous": Points("continuous")}
    follow = Follow(geometric(interpolation, 1, name).change(fill=0), kinds)
    random, errors = np.random.default_rng(7), []
    rim = 25 * np.array([[0, 0], [-1, -1], [-1, 1], [1, -1], [1, 1]])  # beyond it a blob has no pixels
    for i in range(50):
        at = random.uniform([65, 55], [95, 85])  # of a pixel's index
        blob = 250 * np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / 72)
        image = np.repeat(blob.round().astype(np.uint8)[..., None], 3, axis=2)
        made = by_id(follow, {"image": image, "index": at + rim, "continuous": at + 0.5 + rim}, i)
        assert np.allclose(made["continuous"], made["index"] + 0.5)
        if made["inside"].all():
            weight = made["image"][..., 0].astype(float)
            errors.append(np.array([(weight * x).sum(), (weight * y).sum()]) / weight.sum() - made["index"][0])
    assert len(errors) > 30 and np.abs(errors).max() < OWN[interpolation]
    assert np.abs(np.mean(errors, axis=0)).max() < 0.05


def test_points_are_torchvisions_where_it_is_right():
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    from torchvision import tv_tensors

    if not hasattr(tv_tensors, "KeyPoints"):
        pytest.skip("before torchvision 0.23")
    points = np.random.default_rng(6).uniform(0, 1, (40, 2)) * [120, 90]
    sample = {"image": np.zeros((90, 120, 3), np.uint8), "points": points}
    for i in range(100):
        made, steps = by_id(Follow(geometric()), sample, i, return_draws=True)
        wanted = tv_tensors.KeyPoints(torch.from_numpy(points), canvas_size=(90, 120))
        for step in steps:
            wanted = by_torchvision(functional, wanted, step)
            if step["op"].startswith("flip"):  # torchvision flips indices
                wanted = wanted.as_subclass(torch.Tensor) + torch.tensor([1, 0] if step["op"] == "flip_lr" else [0, 1])
                wanted = tv_tensors.KeyPoints(wanted, canvas_size=(90, 120))
        assert np.abs(wanted.numpy() - made["points"]).max() < 1e-10


def test_points_move_by_the_matrix():
    sample = {"image": photographs(1)[0], "points": np.random.default_rng(1).uniform(0, 40, (6, 2))}
    for i in range(50):
        made, steps = by_id(Follow(geometric()), sample, i, return_draws=True)
        matrix = np.array(drawing.matrices(steps, (41, 53)))
        assert np.allclose(made["points"] @ matrix[:, :2].T + matrix[:, 2], sample["points"])


def test_pairs_and_visibility_and_inside():
    people = np.array([[[10, 5, 2], [20, 5, 1], [60, 5, 2]]] * 2, np.int64)
    kinds, sample = {"points": Points(pairs=[(0, 1)], inside="inside")}, {"image": photographs(1)[0], "points": people}
    made = Follow(MIRROR, kinds)(sample)
    assert made["points"].dtype == np.float32 and made["inside"].tolist() == [[True, True, False]] * 2
    assert made["points"].tolist() == [[[33, 5, 1], [43, 5, 2], [-7, 5, 0]]] * 2
    assert Follow(NOTHING, kinds)(sample)["points"][..., :2].tolist() == people[..., :2].tolist()
    for kind in list, np.array, *([torch.tensor] if torch else []):  # pairs are checked where nothing is mirrored, too
        sample["points"] = kind([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        message = r"sample\['points'\] has shape \(3, 2\), want more than 3 points for `pairs`"
        refused(message, Follow(NOTHING, {"points": Points(pairs=[(0, 3)])}), sample)


# ---- batches, lists, samples ----


def samples(count, library=np.asarray):
    random = np.random.default_rng(3)
    made = []
    for i, image in enumerate(photographs(count)):
        mask = random.integers(0, 255, (41, 53), np.uint8)
        boxes = np.sort(random.uniform(0, 40, (i % 4, 2, 2)), axis=1).reshape(-1, 4)
        entries = {"image": image, "mask": mask, "boxes": boxes, "labels": np.arange(len(boxes))}
        entries["keypoints"] = random.uniform(0, 40, (i % 3 + 5, 2))
        made.append({key: library(value) for key, value in entries.items()} | {"name": f"image {i}"})
    return made


LIBRARIES = [np.asarray] + ([torch.as_tensor] if torch is not None else [])


def equal(a, b):
    return type(a) is type(b) and (a == b).all() if hasattr(a, "shape") else a == b


def same_samples(a, b):
    return all(equal(x[key], y[key]) for x, y in zip(a, b) for key in (x.keys() | y.keys()))


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.__module__.split(".")[0])
def test_samples_batches_and_lists_are_one(library):
    singles = samples(13, library)
    follow = Follow(motley.Transform("trivial_augment_wide", seed=5, layout="hwc"))
    wanted = [by_id(follow, sample, i, epoch=3) for i, sample in enumerate(singles)]
    got, draws = by_id(follow, singles, range(13), epoch=3, return_draws=True)
    assert same_samples(got, wanted) and len(draws) == 13
    stack = np.stack if library is np.asarray else torch.stack
    batch = {key: [sample[key] for sample in singles] for key in singles[0]}
    batch = {**batch, "image": stack(batch["image"]), "mask": stack(batch["mask"])}
    made = by_id(follow, batch, range(13), epoch=3)
    assert all(equal(part, sample[key]) for key in made for part, sample in zip(made[key], wanted))
    assert made["name"] is batch["name"] and any((a["mask"] != b["mask"]).any() for a, b in zip(singles, wanted))


@needs_torch
def test_boxes_and_points_as_one_array():
    boxes, points = torch.rand(6, 3, 2, 2).sort(dim=2).values.reshape(6, 3, 4) * 40, torch.rand(6, 5, 2) * 40
    follow = Follow("trivial_augment_wide", {"boxes": Boxes(drop=False, visibility="v"), "points": Points(inside="in")})
    batch = {"image": chw(photographs(6)), "boxes": boxes, "points": points}
    made = by_id(follow, batch, range(6))
    assert made["boxes"].shape == boxes.shape and made["v"].shape == (6, 3) and made["in"].shape == (6, 5)
    for i in range(6):
        one = by_id(follow, {key: value[i] for key, value in batch.items()}, i)
        assert all(torch.equal(one[key], made[key][i]) for key in ("boxes", "points", "v", "in"))


def test_samples_are_counted_views_and_epochs():
    sample, transform = samples(1)[0], motley.Transform("trivial_augment_wide", seed=2)
    follow = Follow(motley.Transform(transform))
    assert all((follow(sample)["image"] == transform(sample["image"])).all() for _ in range(5))
    assert all((follow(sample, epoch=3)["image"] == transform(sample["image"], epoch=3)).all() for _ in range(9))
    assert follow.transform.state_dict() == transform.state_dict()
    images = photographs(4)
    batch = {"image": images, "mask": images[..., 0], "masks": images.transpose(0, 3, 1, 2)}
    batch["points"] = np.full((4, 1, 2), 9)
    ids = np.array([[5, 0], [5, 1], [6, 0], [6, 3]])
    made = by_id(follow, batch, ids)
    for i, (id_, view) in enumerate(ids.tolist()):
        one = by_id(follow, {key: value[i] for key, value in batch.items()}, id_, view=view)
        assert all((one[key] == made[key][i]).all() for key in one)
    assert (by_id(follow, batch, [1, 2, 3, 4], view=[0, 1, 0, 1])["mask"] != made["mask"]).any()


def test_pickles_and_says_what_it_is():
    follow = Follow(motley.Transform("rand_augment", seed=7), {"mask": Mask(255)})
    again = pickle.loads(pickle.dumps(follow))
    sample = {"image": photographs(1)[0], "mask": photographs(1)[0, ..., 0]}
    assert same_samples([by_id(again, sample, 3)], [by_id(follow, sample, 3)])
    assert repr(again) == repr(follow) and "Mask(fill=255, erase=False)" in repr(follow)


# ---- on a GPU ----


def numbers_of(count, dtype):
    """Lists of boxes and of points with COCO's visibility, as many as fit, in another number for each image."""
    random = torch.Generator().manual_seed(3)
    corners = [torch.rand(i % 5, 2, 2, generator=random).sort(dim=1).values * 40 for i in range(count)]
    points = [torch.rand(i % 3, 4, 3, generator=random) * 40 for i in range(count)]
    return [c.reshape(-1, 4).to(dtype) for c in corners], [p.to(dtype) for p in points]


def on_gpu(sample):
    return {
        key: [x.cuda() for x in value] if isinstance(value, list) else value.cuda() for key, value in sample.items()
    }


KINDS = {
    "boxes": Boxes("xyxy", min_area=4, min_visibility=0.1, visibility="seen"),
    "points": Points(pairs=[(0, 2)], inside="inside"),
    "mask": Mask(),
}
CROP = (
    "motley: 1\nname: t\nstages:\n  - random_resized_crop: {size: [40, 30]}\n  - flip: {horizontal: 0.5}\n"
    "  - policy: rand_augment\n"
)


@needs_torch
@cuda
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("policy", ["trivial_augment_wide", CROP], ids=["policy", "stages"])
def test_what_follows_on_cuda_is_the_hosts(policy, dtype):
    """Wherever the entries lie: beside their images, or in host memory; drawn, and replayed."""
    boxes, points = numbers_of(32, getattr(torch, dtype))
    images = chw(photographs(32)).contiguous()
    sample = {"image": images, "boxes": boxes, "points": points, "labels": [torch.arange(len(own)) for own in boxes]}
    sample["mask"] = images[:, 0].long()
    there, follow = on_gpu(sample), Follow(motley.Transform(policy, seed=1), KINDS)
    wanted, draws = by_id(follow, sample, range(32), return_draws=True)
    assert sum(map(len, wanted["boxes"])) < sum(map(len, boxes))
    kept = there["boxes"][4].clone()
    beside = {**there, **{key: value for key, value in sample.items() if key != "image"}}
    for given, made in (
        (there, by_id(follow, there, range(32))),
        (there, follow.replay(there, draws)),
        (beside, by_id(follow, beside, range(32))),
        ({**there, "image": images}, by_id(follow, {**there, "image": images}, range(32))),
    ):
        for key in ("boxes", "points", "labels", "seen", "inside", "mask"):
            for own, other in zip(wanted[key], made[key]):
                of = {"seen": "boxes", "inside": "points"}.get(key, key)
                assert other.is_cuda == given[of][0].is_cuda and other.dtype == own.dtype
                assert torch.equal(other.cpu(), own), key
    assert torch.equal(there["boxes"][4], kept)


@needs_torch
@cuda
def test_what_follows_on_cuda_waits_for_nothing():
    boxes, points = numbers_of(64, torch.float32)
    images = chw(photographs(64)).contiguous()
    there = on_gpu({"image": images, "boxes": boxes, "points": points, "mask": images[:, 0].contiguous()})
    follow = Follow("rand_augment", {"boxes": Boxes(drop=False), "points": Points(pairs=[(0, 1)]), "mask": Mask()})
    for sample in there, {**there, "boxes": boxes, "points": points}:
        by_id(follow, sample, range(64))
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            by_id(follow, sample, range(64), epoch=1)
        finally:
            torch.cuda.set_sync_debug_mode("default")


@needs_torch
@cuda
def test_wrong_boxes_on_cuda_are_named():
    wrong = torch.tensor([[1.0, 1.0, 5.0, 5.0], [5.0, 1.0, 1.0, 5.0]]).cuda()
    sample = {"image": chw(photographs(2)).contiguous().cuda(), "boxes": [wrong[:1], wrong]}
    refused(r"image 1, box 1 is \(5.0, 1.0, 1.0, 5.0\), want finite", by_id, Follow("rand_augment"), sample, range(2))
    made = by_id(Follow("rand_augment", {"boxes": Boxes(drop=False)}), sample, range(2))
    assert made["boxes"][1][1].isnan().all() and not made["boxes"][1][0].isnan().any()


# ---- views, recorded draws, stages ----


@pytest.mark.parametrize("ids", [None, range(4)])
def test_several_views(ids):
    batch = {"image": photographs(4), "mask": photographs(4)[..., 0], "points": np.full((4, 1, 2), 9)}
    follow, *plain = (Follow(motley.Transform("trivial_augment_wide", seed=2, views=n)) for n in (3, 1, 1, 1))
    first, second, third = by_id(follow, batch, ids)  # without ids their samples are counted once
    wanted = [by_id(one, batch, ids, view=view) for view, one in enumerate(plain)]
    assert same_samples((first, second, third), wanted)
    assert (first["mask"] != second["mask"]).any() and follow.transform.state_dict()["count"] == (0 if ids else 4)
    one, two = by_id(follow, batch, range(4), views=2, view=5)
    assert (two["mask"] == by_id(plain[0], batch, range(4), view=11)["mask"]).all() and len(one) == 3


def detection(count):
    """Samples of sizes that differ, with all that can follow."""
    made = []
    for i, sample in enumerate(samples(count)):
        sample["image"] = np.ascontiguousarray(sample["image"][: 41 - i, : 53 - 2 * i])
        height, width = sample["image"].shape[:2]
        sample["mask"] = np.arange(height * width, dtype="int64").reshape(height, width)
        sample["masks"] = np.stack([sample["mask"] % 7] * 5).astype("uint8")
        for key in "boxes", "keypoints":
            sample[key] = sample[key].clip(max=min(height, width))
        made.append({key: value for key, value in sample.items() if key != "name"})
    return made


@pytest.mark.parametrize("name", ["timm_rand_augment", "timm_train", "torchvision_train_v2"])
def test_replay_of_everything(name):
    follow, batch = Follow(motley.Transform(name, seed=3)), detection(6)
    made, draws = by_id(follow, batch, range(6), return_draws=True)
    assert same_samples(made, follow.replay(batch, json.loads(json.dumps(draws))))
    assert same_samples([follow.replay(batch[2], draws[2])], [by_id(follow, batch[2], 2)])
    with pytest.raises(ValueError, match="draws has|is of another|were made for|leaves the image"):
        follow.replay(batch, draws[::-1])


PLACED = """
motley: 1
name: everything
stages:
  - random_resized_crop: {size: [32, 40], scale: [0.3, 1]}
  - flip: {horizontal: 0.5}
  - jitter: {brightness: [0.6, 1.4]}
  - output: {mean: 0.5, std: 0.25}
"""
STAGES = PLACED.replace("  - jitter", "  - policy: trivial_augment_wide\n  - jitter")


def test_stages_take_everything_along():
    """Where each pixel of a mask came from is where the draw's matrix says, and boxes and points go there, too."""
    kinds = {"mask": Mask(fill=-1), "masks": Mask(), "boxes": Boxes(), "keypoints": Points()}
    batch = detection(12)
    made, draws = by_id(Follow(motley.Transform(PLACED, seed=1), kinds), batch, range(12), return_draws=True)
    for sample, out, draw in zip(batch, made, draws):
        crop, flip = draw["crop"], draw["flip"]["horizontal"]
        assert out["image"].shape == (3, 32, 40) and out["image"].dtype == np.float32
        left, top = crop["left"], crop["top"]
        wanted = Image.fromarray(sample["mask"].astype("int32"))
        wanted = wanted.crop((left, top, left + crop["width"], top + crop["height"])).resize((40, 32), 0)
        wanted = np.asarray(wanted)[:, :: -1 if flip else 1]
        assert (out["mask"] == wanted).all() and out["mask"].dtype == np.int64
        assert out["masks"].shape == (5, 32, 40) and (out["masks"] == out["mask"] % 7).all()
        zoom = np.array([40 / crop["width"], 32 / crop["height"]])
        wanted = (sample["keypoints"] - [left, top]) * zoom
        boxes = ((sample["boxes"].reshape(-1, 2, 2) - [left, top]) * zoom).clip([0, 0], [40, 32])
        if flip:
            wanted[:, 0], boxes[..., 0] = 40 - wanted[:, 0], 40 - boxes[:, ::-1, 0]
        assert np.allclose(out["keypoints"], wanted)
        boxes = boxes.reshape(-1, 4)
        boxes = boxes[(boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])]
        assert np.allclose(out["boxes"], boxes) and len(out["labels"]) == len(boxes)


@needs_torch
def test_stages_of_batches_lists_and_pictures():
    follow = Follow(motley.Transform(STAGES, seed=1), {"mask": Mask(fill=250), "second": Second("bilinear")})
    arrays = [{"image": x["image"], "mask": x["masks"][0], "second": x["image"]} for x in detection(5)]
    made = by_id(follow, arrays, range(5))
    for i, (one, sample) in enumerate(zip(made, arrays)):
        out = by_id(follow, {key: Image.fromarray(value) for key, value in sample.items()}, i)
        assert (np.asarray(out["mask"]) == one["mask"]).all() and out["mask"].size == (40, 32)
        assert (np.asarray(out["second"]) == one["second"]).all() and (out["image"] == one["image"]).all()
    batch = {key: [sample[key] for sample in arrays] for key in arrays[0]}
    stacked = by_id(follow, batch, range(5))
    assert stacked["image"].shape == (5, 3, 32, 40) and stacked["mask"].shape == (5, 32, 40)
    assert all((stacked[key][i] == made[i][key]).all() for key in made[0] for i in range(5))
    tensors = {
        key: [torch.from_numpy(x if x.ndim == 2 else x.transpose(2, 0, 1).copy()) for x in value]
        for key, value in batch.items()
    }
    of_torch = by_id(follow, tensors, range(5))
    assert (of_torch["mask"].numpy() == stacked["mask"]).all() and (of_torch["image"].numpy() == stacked["image"]).all()
    nothing = by_id(follow, {**arrays[0], "mask": np.zeros((0, *arrays[0]["mask"].shape), "uint8")}, 0)
    assert nothing["mask"].shape == (0, 32, 40)


def test_what_mixes_cannot_be_followed():
    for mixing in motley.Transform(STAGES + "  - mix: {mixup: 0.2}\n"), motley.mix(mixup=0.2):
        refused("mixes images: nothing can follow it", Follow, mixing, error=motley.UnsupportedError)


@needs_torch
@pytest.mark.parametrize("settings", [{"policy": "torchvision_train"}, {"policy": "rand_augment", "layout": "nhwc"}])
def test_a_module_of_torch_gives_the_image_that_it_gives_alone(settings):
    image = photographs(1)[0]
    image = torch.from_numpy(image) if "layout" in settings else Image.fromarray(image)
    module = motley.torch.Transform(**settings)
    made = by_id(Follow(module), {"image": image, "mask": np.zeros((41, 53), "uint8")}, 3, epoch=1)["image"]
    assert type(made) is torch.Tensor and made.shape[0] == 3 and made.equal(by_id(module, image, 3, epoch=1))


@needs_torch
def test_what_moves_in_the_call_asks_for_no_epoch(monkeypatch):
    """A module's counter may lie on a GPU, and asking for it waits."""
    sample = {"image": chw(photographs(2)), "mask": torch.arange(2 * 41 * 53).reshape(2, 41, 53)}
    module = motley.torch.Transform("rand_augment", seed=5)
    wanted = Follow(module)(sample, sample_ids=[1, 2], epoch=3)
    module.set_epoch(3)
    monkeypatch.setattr(torch.Tensor, "__getitem__", lambda *_: pytest.fail("the counter was asked"))
    made = Follow(module)(sample, sample_ids=[1, 2])
    monkeypatch.undo()
    assert made["image"].equal(wanted["image"]) and made["mask"].equal(wanted["mask"])


# ---- mistakes ----

IMAGE, BATCH = photographs(1)[0], photographs(3)
WANT = "want a NumPy, torch or CuPy array or a PIL image"
MASKS = [  # image, mask, message
    (IMAGE, np.zeros((40, 53)), r" has shape \(40, 53\), the image is 41 high and 53 wide"),
    (IMAGE, np.zeros((41, 53, 1)), r" has shape \(41, 53, 1\), the image is 41 high and 53 wide: want \[H, W\] or"),
    (IMAGE, np.zeros(53), r" has shape \(53,\), want \[H, W\] or \[N, H, W\]"),
    (IMAGE, [1], rf"\[0\] is a int, {WANT}"),
    (IMAGE, "mask.png", f" is a str, {WANT}"),
    (IMAGE, np.ma.masked_array(IMAGE[..., 0]), " is a numpy.ma.MaskedArray, whose mask"),
    (IMAGE, np.zeros((41, 53), complex), " is of dtype complex128, want bool, integers or floats"),
    (IMAGE, np.zeros((41, 53), "int8"), " is of dtype int8, but fill is 255: want a value of that dtype"),
    (IMAGE, Image.new("RGB", (53, 41)), " has mode RGB, want one of 1, L, P"),
    (IMAGE, Image.new("L", (41, 53)), r" has shape \(53, 41\), the image is 41 high and 53 wide"),
    (BATCH, np.zeros((2, 41, 53)), r" has shape \(2, 41, 53\), there are 3 images"),
    (BATCH, [np.zeros((41, 53))] * 2, " has 2 entries, there are 3 images"),
    (BATCH, [np.zeros((41, 53))] * 2 + [np.zeros((1, 1))], r"\[2\] has shape \(1, 1\)"),
    (BATCH, Image.new("L", (53, 41)), " is a Image, want an array"),
]


@pytest.mark.parametrize("image, mask, message", MASKS)
def test_wrong_masks(image, mask, message):
    with pytest.raises((ValueError, RuntimeError), match=rf"sample\['mask'\]{message}"):
        Follow("rand_augment", {"mask": Mask(255)})({"image": image, "mask": mask})


@pytest.mark.parametrize(
    "sample, message",
    [
        ({}, "the sample has no 'image', it has nothing"),
        ({"image": IMAGE}, "the sample has no 'mask', it has 'image'"),
        (IMAGE, "the sample is a ndarray, want a dictionary or a list of them"),
        ([{"image": IMAGE}, {"picture": IMAGE}], "sample 1 of the list has 'picture', sample 0 'image'"),
        ((IMAGE, IMAGE), "entry 0 of the tuple of samples is a ndarray, want a dictionary"),
    ],
)
def test_wrong_samples(sample, message):
    refused(message, Follow("rand_augment", {"mask": Mask(255)}), sample)


NUMBERS = [  # image, entries, message
    (IMAGE, {"boxes": [[0, 0, np.nan, 4]]}, "boxes'.: image 0, box 0 has nan, want finite numbers"),
    (
        IMAGE,
        {"boxes": [[0, 0, 9, 9], [60, 3, 70, 9]]},
        r"box 1 is \(60, 3, 70, 9\) as .*, outside its image of 53 x 41",
    ),
    (IMAGE, {"boxes": [[5, 0, 4, 9]]}, "want left <= right"),
    (IMAGE, {"boxes": [[0, 0, 9]]}, r"boxes'. has shape \(1, 3\), want \[n, 4\]"),
    (IMAGE, {"boxes": [[0, 0, 9, "right"]]}, "boxes'. is .*want an array or a list of rows of numbers"),
    (IMAGE, {"boxes": 7}, r"boxes'. has shape \(\), want \[n, 4\]"),
    (IMAGE, {"boxes": [[0, 0, 9, 9]] * 2, "labels": [1]}, "labels'. has 1 entries, there are 2 boxes"),
    *(
        (IMAGE, {"boxes": [[0, 0, 9, 9]], "labels": labels}, "labels'. is .*, want an entry for each box")
        for labels in (3, None, "a", {"a": 1}, np.array(3))
    ),
    (BATCH, {"boxes": [[[0, 0, 1, 1]], [], [[0, 0, np.inf, 1]]]}, "boxes'.: image 2, box 0 has inf"),
    (BATCH, {"boxes": [[[0, 0, 1, 1]], [], []], "labels": [[1], [1], []]}, "labels'. of image 1 has 1 entries"),
    (BATCH, {"boxes": np.ones((3, 1, 4))}, r"one array of shape \(3, 1, 4\), from which what belongs to dropped boxes"),
    (BATCH, {"points": [[[1, 2, 3]], [[1, 2]], [[1, 2, 3]]]}, r"points'.\[1\] has 2 numbers in a row, others have 3"),
    (BATCH, {"points": [[], [[np.nan, 2]], []]}, r"points'.: image 1, point 0 is \(nan, 2\), want finite numbers"),
]


@pytest.mark.parametrize("image, entries, message", NUMBERS)
def test_wrong_boxes_and_points(image, entries, message):
    before = image.copy()
    refused(message, Follow("rand_augment"), {"image": image, **entries})
    assert (image == before).all()


SETTINGS = [
    (lambda: Boxes("xxyy"), "format is 'xxyy', want 'xyxy', 'xywh', 'cxcywh'"),
    (lambda: Boxes("coco"), "format is 'coco', want 'xywh'"),
    (lambda: Boxes("yolo"), "format is 'yolo', want 'cxcywh', and boxes in pixels"),
    (lambda: Boxes(rule="tight"), "rule is 'tight', want 'polygon', 'torchvision'"),
    (lambda: Boxes(outside="drop", drop=False), "outside is 'drop', but drop is False"),
    (lambda: Boxes(outside="ignore"), "outside is 'ignore', want 'error', 'drop'"),
    (lambda: Boxes(min_visibility=2), "min_visibility is 2, want a number of 0 to 1"),
    (lambda: Boxes(min_area=-1), "min_area is -1, want a number of 0 or more"),
    (lambda: Boxes(drop=False, min_side=3), "min_side is 3, but drop is False"),
    (lambda: Boxes(label_fields="labels"), "label_fields is 'labels', want a tuple of keys"),
    (lambda: Points("centre"), "convention is 'centre', want 'continuous', 'index'"),
    (lambda: Points(pairs=[(1, 2, 3)]), r"pairs has \(1, 2, 3\), want two places from 0"),
    (lambda: Points(pairs=(1, 2)), r"pairs has 1, want two places from 0"),
    (lambda: Points(pairs=None), r"pairs has None, want two places from 0"),
    (lambda: Points(pairs=[(1, 2), (2, 3)]), r"pairs is \[\(1, 2\), \(2, 3\)\], want no place in two pairs"),
    (lambda: following(boxes=Boxes(visibility="image")), r"\['boxes'\] stores in 'image', which is in use: want a key"),
    (lambda: following(boxes=Boxes(visibility="labels")), "stores in 'labels', which is in use"),
    (lambda: following(boxes=Boxes(label_fields=["area"]), points=Points(inside="area")), "stores in 'area', which is"),
    (lambda: following(mask="mask"), r"following\['mask'\] is 'mask', want a motley.follow.Mask"),
    (lambda: Follow("rand_augment", ["mask"]), "following is a list, want a dictionary"),
    (lambda: Second("cubic"), "interpolation is 'cubic', want one of nearest, bilinear, bicubic"),
    (lambda: Second(fill="red"), "fill is 'red', want a whole number 0 to 255"),
]


def following(**kinds):
    return Follow("rand_augment", kinds)


@pytest.mark.parametrize("make, message", SETTINGS)
def test_wrong_settings(make, message):
    refused(message, make)


@pytest.mark.parametrize(
    "second, message",
    [
        (BATCH, "is a batch of 3, the image that it follows one"),
        (IMAGE[1:], "is 53 x 40 pixels, what it follows 53 x 41: want one size"),
        (IMAGE / 255, "is not uint8: want motley.follow.Mask for it"),
        (IMAGE[..., :1], r"has 1 channels, but fill is \(1, 2, 3\): want a number for each"),
    ],
)
def test_wrong_second_images(second, message):
    refused(message, following(second=Second(fill=(1, 2, 3))), {"image": IMAGE, "second": second})


def test_as_many_ids_as_images_are_wanted():
    refused(r"sample_ids has 2 numbers, there are 3 images", by_id, Follow("rand_augment"), {"image": BATCH}, [1, 2])


def test_custom_operations_cannot_be_followed():
    @motley.custom_op("moved_by_hand")
    def moved(indices, images, values):
        pass

    for key, value in ("mask", IMAGE[..., 0]), ("points", [[1, 2]]):
        with pytest.raises(motley.UnsupportedError, match="custom op"):
            Follow('{"motley": 1, "name": "mine", "branches": ["moved_by_hand"]}')({"image": IMAGE, key: value})


# ---- follow=, of a transform ----


@pytest.mark.parametrize("kind", ["core", "module"])
def test_a_transform_with_follow_is_a_follow(kind):
    make = motley.Transform if kind == "core" else pytest.importorskip("motley.torch").Transform
    kinds = {"mask": Mask(fill=255), "boxes": Boxes(drop=False)}
    transform, alone = make("rand_augment", seed=3, follow=kinds), Follow(make("rand_augment", seed=3), kinds)
    image = photographs(2)[0]
    boxes = np.array([[1.0, 2, 9, 11]])
    sample = {"image": image, "mask": image[..., 0].copy(), "boxes": boxes, "name": "a"}
    wanted, draws = by_id(alone, sample, 5, return_draws=True)
    assert same_samples([by_id(transform, sample, 5)], [wanted]) and wanted["name"] == "a"
    assert same_samples([transform.replay(sample, draws)], [wanted])
    assert by_id(transform, [sample, sample], [5, 6], return_draws=True)[1][0] == draws
    assert same_samples(by_id(transform, sample, 5, views=2), by_id(alone, sample, 5, views=2))
    assert same_samples([by_id(Follow(transform), sample, 5)], [wanted])
    assert same_samples([by_id(make(transform), sample, 5), by_id(copy.deepcopy(transform), sample, 5)], [wanted] * 2)
    assert "follow={'mask': Mask(fill=255" in repr(transform)
    if kind == "module":
        still = transform.eval()(sample, sample_ids=5, epoch=0)
        assert same_samples([still], [sample])
        assert transform.train().counter[1] == 0
    for call, message in (
        (lambda: transform(sample, out=image), "out is given, but the transform has follow=, and returns new"),
        (lambda: transform.apply_(sample), "batch is given, but the transform has follow="),
        (lambda: transform.replay(sample, draws, labels=[1]), "labels is given, but the transform has follow="),
        (lambda: Follow(transform, {"mask": Mask()}), "the transform has another follow=: want it in one of them"),
        (lambda: make("rand_augment", follow={"mask": 3}), r"following\['mask'\] is 3, want a motley.follow.Mask"),
        (lambda: transform(image), "the sample is a ndarray, want a dictionary"),
        (lambda: transform({"image": image}), "the sample has no 'mask', it has 'image'"),
    ):
        refused(message, call)
    with pytest.raises(motley.UnsupportedError, match="mixes images: nothing can follow it"):
        make({"stages": [{"mix": {"mixup": 0.2, "classes": 4}}]}, follow=kinds)


def test_loaders_take_a_transform_with_follow():
    data = pytest.importorskip("motley.torch")
    kinds, image = {"mask": Mask(fill=255)}, photographs(1)[0]
    samples = [{"image": image, "mask": image[..., 0].copy(), "id": data.Index(i, 2)} for i in range(3)]
    transform = motley.Transform("rand_augment", seed=3, follow=kinds)
    wanted = [by_id(transform, sample, i, epoch=2) for i, sample in enumerate(samples)]
    dataset = data.Augmented(samples, transform)
    assert same_samples([dataset[data.Index(i, 2)] for i in range(3)], wanted)
    batch = data.MotleyCollate(transform, ids="id")(samples)
    assert all((batch["mask"][i].numpy() == wanted[i]["mask"]).all() for i in range(3))
    refused("or has follow=, and works on samples", data.Prefetcher, [], transform, "cpu")
