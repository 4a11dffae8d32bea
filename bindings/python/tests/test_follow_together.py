# SPDX-License-Identifier: Apache-2.0
"""What belongs to a box goes where the box goes: entries that lose elements together, and entries that are refused
because nobody said whether they move or belong to a box."""

import io
import itertools

import numpy as np
import pytest
from conftest import refused, torch
from PIL import Image, ImageOps
from test_follow import LEFT, MIRROR, NOTHING, by_id, written_as

import motley
from motley.follow import Boxes, Follow, Mask, Points

if torch is not None:
    import motley.torch

try:
    from torchvision import tv_tensors
except ImportError:
    tv_tensors = None

needs_torch = pytest.mark.skipif(torch is None, reason="no torch")
CROP = "motley: 1\nname: c\nstages:\n  - center_crop: {size: 16}\n"  # of 48 x 64: columns 24..39, rows 16..31
IMAGE = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
BOXES = np.array([[0, 0, 4, 4], [26, 20, 40, 30], [60, 44, 64, 48.0]])  # the second alone is in the crop


def tv(value):
    """tv_tensors."""
    if value.dtype == bool:
        return tv_tensors.Mask(torch.from_numpy(value))
    if value.shape == BOXES.shape:
        return tv_tensors.BoundingBoxes(torch.from_numpy(value), format="XYXY", canvas_size=(48, 64))
    return torch.from_numpy(value)


KINDS = {"numpy": np.asarray}
if torch is not None:
    KINDS["torch"] = torch.from_numpy
if tv_tensors is not None:
    KINDS["tv_tensors"] = tv
kinds = pytest.mark.parametrize("kind", KINDS)


def objects(kind=np.asarray):
    """Three objects, with all that belongs to one."""
    masks = np.zeros((3, 48, 64), bool)
    masks[0, :4, :4] = masks[1, 20:30, 26:40] = masks[2, 44:, 60:] = True
    corners = BOXES[:, None, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(3, 4, 2)
    keypoints = np.concatenate([corners, np.full((3, 4, 1), 2.0)], axis=2)
    entries = {"boxes": BOXES, "masks": masks, "keypoints": keypoints, "full": BOXES + 1e-3, "labels": np.arange(3)}
    return {"image": IMAGE} | {key: kind(value.copy()) for key, value in entries.items()}


FIELDS = "labels", "masks", "keypoints", "full"
FOLLOWING = {
    "boxes": Boxes(label_fields=FIELDS, visibility="share"),
    "masks": Mask(),
    "keypoints": Points(inside="shown"),
    "full": Boxes(drop=False, label_fields=(), visibility="full share"),
}
RESULTS = *FOLLOWING, "labels", "share", "shown", "full share"


def follow_in(order, policy=CROP):
    return Follow(motley.Transform(policy, layout="hwc"), {key: FOLLOWING[key] for key in order})


def check_one(made):
    """Only the second object is left, and of each entry its own part."""
    assert {key: len(made[key]) for key in RESULTS} == dict.fromkeys(RESULTS, 1)
    assert np.asarray(made["boxes"]).tolist() == [[2, 4, 16, 14]] and np.asarray(made["labels"]).tolist() == [1]
    assert np.asarray(made["masks"]).sum((1, 2)).tolist() == [140]
    assert np.asarray(made["keypoints"]).tolist() == [[[2, 4, 2], [16, 4, 2], [16, 14, 2], [2, 14, 2]]]
    assert np.allclose(made["full"], [[2, 4, 16, 14]], atol=1e-2) and np.asarray(made["shown"]).all()
    assert np.asarray(made["share"]).tolist() == [1] and 0.99 < float(made["full share"][0]) <= 1


@kinds
@pytest.mark.parametrize("order", [*itertools.permutations(FOLLOWING)], ids="-".join)
def test_what_follows_loses_the_elements_of_dropped_boxes_in_any_order(order, kind):
    sample = objects(KINDS[kind])
    before = {key: np.asarray(value).copy() for key, value in sample.items()}
    made, draws = follow_in(order)(sample, sample_ids=0, epoch=0, return_draws=True)
    check_one(made)
    assert all(type(made[key]) is type(sample[key]) for key in ("boxes", "masks", "keypoints", "full", "labels"))
    assert all((np.asarray(sample[key]) == value).all() for key, value in before.items())
    check_one(follow_in(order).replay(sample, draws))


@kinds
@pytest.mark.parametrize("order", [tuple(FOLLOWING), tuple(FOLLOWING)[::-1]], ids="-".join)
def test_lists_batches_and_views_lose_them_too(order, kind):
    follow, sample = follow_in(order), objects(KINDS[kind])
    empty = {key: value if key == "image" else value[:0] for key, value in sample.items()}
    first, nothing, last = follow([sample, empty, sample], sample_ids=range(3), epoch=0)
    check_one(first)
    check_one(last)
    assert {key: len(nothing[key]) for key in RESULTS} == dict.fromkeys(RESULTS, 0)
    assert nothing["keypoints"].shape == (0, 4, 3) and nothing["masks"].shape == (0, 16, 16)
    batch = {key: value[None] if key == "image" else [value] for key, value in sample.items()}
    made, draws = follow(batch, sample_ids=[0], epoch=0, return_draws=True)
    check_one({key: made[key][0] for key in made})
    check_one({key: value[0] for key, value in follow.replay(batch, draws).items()})
    for made in follow(sample, sample_ids=0, epoch=0, views=2):
        check_one(made)


def test_boxes_with_the_same_fields_lose_the_same_elements():
    """An element goes where any of the boxes that it belongs to is dropped, from all of them."""
    heads = np.array([[27, 21, 30, 24], [0, 0, 1, 1], [27, 21, 30, 24.0]])
    bodies = np.array([[26, 20, 40, 30], [26, 20, 40, 30], [0, 0, 4, 4.0]])
    sample = {"image": IMAGE, "heads": heads, "bodies": bodies, "labels": ["a", "b", "c"]}
    both, labels = Boxes(label_fields=("labels",)), ("heads", "bodies", "labels")
    for kinds in {"heads": both, "bodies": both}, {"bodies": both, "heads": both}:
        made = Follow(CROP, kinds)(sample)
        assert made["labels"] == ["a"] and made["heads"].tolist() == [[3, 5, 6, 8]]
        assert made["bodies"].tolist() == [[2, 4, 16, 14]]
    made = Follow(CROP, {"heads": Boxes(label_fields=()), "bodies": both})(sample)  # heads are of their own
    assert [len(made[key]) for key in labels] == [2, 2, 2] and made["labels"] == ["a", "b"]
    made = Follow(CROP, {"heads": Boxes(drop=False), "bodies": Boxes(drop=False)})(sample)
    assert [len(made[key]) for key in labels] == [3, 3, 3]


def test_entries_of_another_length_are_refused():
    sample = objects()
    follow = follow_in(FOLLOWING)
    message = r"sample\['masks'\] has 2 entries, there are 3 boxes"
    refused(message, follow, {**sample, "masks": sample["masks"][:2]})
    refused(r"sample\['full'\] of image 1 has 1 entries, there are 3", follow, [sample, {**sample, "full": BOXES[:1]}])
    stacked = {key: np.stack([value] * 2) for key, value in sample.items()}
    lists = {key: value if key == "image" else list(value) for key, value in stacked.items()}
    for key in "boxes", "masks", "labels", "keypoints":
        message = rf"sample\['{key}'\] is one array of shape \(2, 3.*\), from which .* cannot be taken: want a list"
        refused(message, follow, {**lists, key: stacked[key]})


# ---- lists of masks ----


@pytest.mark.parametrize("kind", [*KINDS, "pil"])
@pytest.mark.parametrize("sequence", [list, tuple])
def test_lists_of_masks(kind, sequence):
    """A list comes back as a list, of the masks that one array would have."""
    array = objects()["masks"]
    masks = sequence(map(Image.fromarray if kind == "pil" else KINDS[kind], array))
    kinds = {"boxes": Boxes(label_fields=("labels", "masks")), "masks": Mask(fill=True)}
    given = {"image": IMAGE, "boxes": BOXES, "labels": [5, 6, 7], "masks": masks}
    nothing = {"image": IMAGE, "boxes": BOXES[:0], "labels": [], "masks": sequence()}
    for policy in CROP, MIRROR:
        follow = Follow(motley.Transform(policy, layout="hwc"), kinds)
        wanted, made = by_id(follow, {**given, "masks": array}, 0), by_id(follow, given, 0)
        assert type(made["masks"]) is sequence and len(made["masks"]) == len(made["boxes"]) == len(made["labels"])
        assert {type(mask) for mask in made["masks"]} == {type(masks[0]) if kind != "pil" else Image.Image}
        assert (np.stack([np.asarray(mask) for mask in made["masks"]]) == wanted["masks"]).all()
        first, second, third = by_id(follow, [given, nothing, given], [0] * 3)
        assert second["masks"] == by_id(follow, nothing, 0)["masks"] == sequence() and second["boxes"].shape == (0, 4)
        for one in first, third:
            assert type(one["masks"]) is sequence and len(one["masks"]) == len(made["masks"])
            assert all(np.array_equal(a, b) for a, b in zip(one["masks"], made["masks"]))


def test_masks_of_a_list_keep_their_modes():
    palette = Image.fromarray(np.full((48, 64), 3, np.uint8))
    palette.putpalette([255, 0, 0, 0, 255, 0] * 128)
    masks = [Image.fromarray(np.full((48, 64), 9, np.uint8)), palette]
    made = Follow(MIRROR, {"masks": Mask()})({"image": IMAGE, "masks": masks})["masks"]
    assert [mask.mode for mask in made] == ["L", "P"] and made[1].getpalette() == palette.getpalette()


PLANE = np.zeros((48, 64))


@pytest.mark.parametrize(
    "masks, message",
    [
        ([PLANE, PLANE[:40]], r"\[1\] has shape \(40, 64\), the image is 48 high"),
        ([PLANE[None]], r"\[0\] has shape \(1, 48, 64\), want \[H, W\]"),
        ([PLANE, PLANE.astype(bool)], " has masks of several kinds, want one library"),
        ([PLANE, "a.png"], r"\[1\] is a str, want a NumPy, torch or CuPy array or a PIL image"),
        ([Image.new("RGB", (64, 48))], r"\[0\] has mode RGB, want one of 1, L"),
    ],
)
def test_wrong_lists_of_masks(masks, message):
    with pytest.raises((ValueError, RuntimeError), match=rf"\['masks'\]{message}"):
        Follow(NOTHING)({"image": IMAGE, "masks": masks})


# ---- what has no elements ----


@kinds
@pytest.mark.parametrize("shape", [(0, 17, 3), (0, 17, 2), (3, 0, 2), (2, 0, 17, 3), (0, 2), (0, 3)])
def test_empty_points_keep_their_other_axes(shape, kind):
    points, people = (KINDS[kind](value) for value in (np.zeros(shape), np.full((2, 17, shape[-1]), 9.0)))
    for pairs in (), ((0, 1),):
        follow = Follow(MIRROR, {"keypoints": Points(inside="in", pairs=pairs)})
        made = by_id(follow, {"image": IMAGE, "keypoints": points}, 0)
        both = by_id(follow, [{"image": IMAGE, "keypoints": value} for value in (people, points)], [0, 1])
        assert both[0]["keypoints"].shape == people.shape and both[0]["in"].shape == (2, 17)
        for empty in made, both[1]:
            assert empty["keypoints"].shape == shape and empty["in"].shape == shape[:-1]


SHAPES = [("boxes", shape) for shape in [(0, 5), (0, 3), (0, 7, 4), (1, 5), (2, 7, 4), (0, 0), (4,)]]
SHAPES += [("points", shape) for shape in [(0, 5), (0, 17, 4), (3, 0), (1, 5)]]


@pytest.mark.parametrize("key, shape", SHAPES)
def test_wrong_shapes_are_refused_with_and_without_rows(key, shape):
    wanted = r"want \[n, 4\]" if key == "boxes" else r"want \[\.\.\., 2\] or"
    refused(rf"sample\['{key}'\] has shape \(.*\), {wanted}", Follow(NOTHING), {"image": IMAGE, key: np.zeros(shape)})


@kinds
def test_an_array_of_an_empty_list_has_no_rows(kind):
    empty, follow = KINDS[kind](np.array([])), Follow(NOTHING)
    made = follow({"image": IMAGE, "boxes": empty, "points": empty})
    assert made["boxes"].shape == (0, 4) and made["points"].shape == (0, 2)
    points = [np.zeros((0, 2)), np.array([[1.0, 2.0, 2.0]])]  # of which an image without any may have narrower rows
    made = follow({"image": np.stack([IMAGE] * 2), "points": points})["points"]
    assert made[0].shape[0] == 0 and made[1].tolist() == points[1].tolist()


# ---- how much of a box is left ----


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "list"])
@pytest.mark.parametrize("rule", ["polygon", "torchvision"])
@pytest.mark.parametrize(
    "policy",
    [
        "stages: [{resize: {size: [224, 224]}}]",
        "stages: [{center_crop: {size: 80}}]",
        "stages: [{random_resized_crop: {size: 64}}]",
        "branches: [{op: rotate, value: 30}]",
        "branches: [identity]",
        "branches: [flip_lr]",
    ],
)
def test_boxes_are_dropped_by_the_visibility_that_is_stored(policy, rule, dtype):
    """A box that loses nothing, as its four corners say, has 1; and the stored number is compared with a limit."""
    corners = np.sort(np.random.default_rng(4).uniform(0, 1, (300, 2, 2)), axis=1) * [131, 97]
    corners[:40, 1] = 131, 97
    corners[20:60, 0] = 0
    boxes = corners.reshape(-1, 4)
    boxes = boxes.astype("float32").tolist() if dtype == "list" else boxes.astype(dtype)
    given = np.array(boxes, "float64")
    points = given[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 4, 2)
    points = points if dtype in ("list", "float64") else points.astype("float32")
    policy = f"motley: 1\nname: x\n{policy}\n"
    kinds = {"boxes": Boxes(rule=rule, drop=False, visibility="seen"), "corners": Points(inside="inside")}
    sample = {"image": np.zeros((97, 131, 3), np.uint8), "boxes": boxes, "labels": list(range(300))}
    everything = by_id(Follow(policy, kinds), {**sample, "corners": points}, 3)
    seen, inside, wide = np.array(everything["seen"]), everything["inside"].all(axis=1), np.array(everything["boxes"])
    assert (seen[inside & (given[:, 2:] > given[:, :2]).all(1)] == 1).all() and inside.sum() > 20
    for least in 1, 0.7, 0.999999, float(np.median(seen)):
        kept = by_id(Follow(policy, {"boxes": Boxes(rule=rule, min_visibility=least, visibility="seen")}), sample, 3)
        good = (seen >= seen.dtype.type(least)) & (wide[:, 2:] > wide[:, :2]).all(1)
        assert kept["labels"] == np.flatnonzero(good).tolist()
        assert all(share >= np.array(kept["seen"]).dtype.type(least) for share in np.array(kept["seen"]))


def test_the_visibility_has_the_type_that_boxes_are_dropped_by():
    for dtype, wanted in [("float64", "float64"), ("float32", "float32"), ("float16", "float32"), ("int16", "float32")]:
        made = Follow(NOTHING, {"boxes": Boxes(visibility="seen")})({"image": IMAGE, "boxes": BOXES.astype(dtype)})
        assert made["seen"].dtype == wanted
    lists = [BOXES.astype("float32"), BOXES]
    made = Follow(NOTHING, {"boxes": Boxes(visibility="seen")})({"image": np.stack([IMAGE] * 2), "boxes": lists})
    assert [seen.dtype for seen in made["seen"]] == ["float64"] * 2


def test_a_mirror_loses_no_point():
    edges = np.array([[0, 0], [64, 0], [0, 48], [64, 48], [64, 20], [20, 48.0]])
    for policy in NOTHING, MIRROR, "motley: 1\nname: r\nstages:\n  - resize: {size: [77, 31]}\n":
        for dtype in "float32", "float64":
            points = np.c_[edges, np.full(6, 2)].astype(dtype)
            made = Follow(policy, {"points": Points(inside="in")})({"image": IMAGE, "points": points})
            assert made["in"].all() and (made["points"][:, 2] == 2).all()
    index = np.array([[-0.5, 3], [63.5, 3], [3, -0.5], [3, 47.5], [0, 0], [63, 47]])
    made = Follow(NOTHING, {"points": Points("index", inside="in")})({"image": IMAGE, "points": index})
    assert made["in"].tolist() == [True, False, True, False, True, True]


def test_points_that_move_past_all_numbers_are_refused():
    follow = Follow("motley: 1\nname: r\nbranches: [{op: rotate, value: 45}]\n")
    for dtype, far in ("float64", 1.7e308), ("float32", 3e38):
        message = r"\['points'\]: image 0, point 1 is \(.*\) and moves past what a (float|double) holds"
        refused(message, follow, {"image": IMAGE, "points": np.array([[1, 2], [far, far]], dtype)})
    refused("box 0 has 1e.308, want finite numbers up to", follow, {"image": IMAGE, "boxes": [[0, 0, 1e308, 1e308]]})


# ---- boxes that are wrong from the start ----


@kinds
@pytest.mark.parametrize("form", ["xyxy", "xywh", "cxcywh"])
def test_boxes_outside_are_dropped_where_that_is_asked_for(form, kind):
    boxes = np.array([[70, 3, 80, 9], [26, 20, 40, 30], [-9, -9, -1, -1], [3, 50, 9, 60], [60, 40, 90, 90.0]])
    boxes = written_as(form, boxes)
    sample = {"image": IMAGE, "boxes": torch.from_numpy(boxes) if kind != "numpy" else boxes, "labels": list(range(5))}
    refused("box 0 is .* outside its image of 64 x 48", Follow(NOTHING, {"boxes": Boxes(form)}), sample)
    follow = Follow(NOTHING, {"boxes": Boxes(form, outside="drop", visibility="seen")})
    made = follow(sample)
    assert made["labels"] == [1, 4] and len(made["boxes"]) == 2 and made["seen"][0] == 1
    assert np.allclose(np.asarray(made["boxes"])[0], boxes[1])
    for wrong in [np.nan, 1, 1, 1], [9, 9, 5, 5] if form == "xyxy" else [9, 9, -5, 5]:
        worse = np.concatenate([boxes, [wrong]])
        refused("box 5 (has nan|is .*want left <= right)", follow, {**sample, "boxes": worse, "labels": list(range(6))})


# ---- what nobody said anything about ----


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(
    "key, value",
    [
        ("depth", np.zeros((48, 64), np.float32)),
        ("target", {"boxes": BOXES, "labels": [1, 2, 3]}),
        ("target", {"name": "x", "regions": {"all": [[1, 2], [3, 4]]}}),
        ("second", Image.fromarray(IMAGE)),
        ("polygon", [[1, 2], [3, 4], [5, 6]]),
        ("polygons", [np.zeros((5, 2)), np.zeros((7, 2))]),
    ],
)
def test_one_unknown_entry_that_may_move_is_refused_beside_known_ones(key, value, batch):
    sample = {"image": IMAGE, "mask": IMAGE[..., 0], "name": "a.png", key: value}
    sample = [sample] * 2 if batch else sample
    message = rf"sample\['{key}'\] may have to move with the image.*known are mask, .*following="
    refused(message, Follow(NOTHING), sample)
    assert Follow(NOTHING, {"mask": Mask()})(sample) is not None
    if key == "target":
        refused("or its entries in the sample itself", Follow(NOTHING), sample)


def test_entries_that_cannot_move_pass():
    others = {"id": 3, "name": "a", "size": (48, 64), "scores": [0.1, 0.2], "meta": {"camera": "x", "at": [1.5, 2.5]}}
    sample, follow = {"image": IMAGE, "embedding": np.zeros(9), **others}, Follow(NOTHING)
    for known in {}, {"mask": IMAGE[..., 0]}:
        follow({**sample, **known})
        follow([{**sample, **known}] * 2)
    follow({"image": np.stack([IMAGE] * 2), "label": np.eye(2), "caption": ["a", "b"]})
    follow({"image": IMAGE, "boxes": BOXES, "labels": np.eye(3)})  # an element for each box
    refused("'labels'.* may have to move", follow, {"image": IMAGE, "mask": IMAGE[..., 0], "labels": np.eye(3)})


@pytest.mark.parametrize("policy", [NOTHING, LEFT], ids=["none dropped", "some dropped"])
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("extra", [[1, 2, 3], np.arange(3), ("a", "b", "c")])
def test_no_list_is_left_longer_than_the_boxes(extra, batch, policy):
    """A forgotten one is refused at the first sample, not when a box is first dropped."""
    sample = {"image": IMAGE, "boxes": BOXES, "labels": [1, 2, 3], "area": extra}
    given = [sample] * 2 if batch else sample
    message = r"boxes may be dropped, and sample\['area'\] has one element for each box: want 'area' in label_fields"
    refused(message, Follow(policy), given)
    for fields in ("labels", "area"), ("labels",):
        made = Follow(policy, {"boxes": Boxes(label_fields=fields)})(given)
        made = made[0] if batch else made
        assert len(made["labels"]) == len(made["boxes"]) == (3 if policy == NOTHING else 2)
        assert len(made["area"]) == (len(made["boxes"]) if "area" in fields else 3)
    Follow(policy, {"boxes": Boxes(drop=False)})(given)
    empty = {"image": IMAGE, "boxes": BOXES[:0], "labels": [], "area": []}
    Follow(policy)([empty] if batch else empty)
    message = "label_fields has 'lables', which the sample has not"
    refused(message, Follow(policy, {"boxes": Boxes(label_fields=["lables"])}), given)


def test_what_belongs_to_the_image_may_be_as_long_as_its_boxes():
    planes = np.ascontiguousarray(IMAGE.transpose(2, 0, 1))  # as long as there are boxes
    chw = Follow(motley.Transform(LEFT, layout="chw"))
    assert len(chw({"image": planes, "boxes": BOXES, "labels": [1, 2, 3]})["labels"]) == 2
    made = chw({"image": planes, "boxes": BOXES[1:], "labels": [1, 2], "orig_size": (41, 53)})
    assert made["orig_size"] == (41, 53) and len(made["labels"]) == 2
    one = {"image": IMAGE, "boxes": BOXES[1:2], "labels": [1], "category_id": [], "image_id": np.array([5])}
    assert Follow(LEFT)(one)["image_id"] == 5


@pytest.mark.parametrize("batch", [False, True])
def test_images_that_exif_turns_are_refused_beside_boxes_and_points(batch):
    """Nobody knows in which frame these are."""
    image = Image.fromarray(IMAGE)
    exif = image.getexif()
    file = io.BytesIO()
    exif[0x0112] = 6
    image.save(file, "JPEG", exif=exif)
    turned = Image.open(file)
    exif[0x0112] = 1
    upright = Image.fromarray(IMAGE)
    upright.info["exif"] = exif.tobytes()
    for key, value in ("boxes", BOXES[:2]), ("points", BOXES[:, :2]):
        for picture in turned, turned.convert("RGB"):
            sample = {"image": picture, key: value}
            message = "PIL image with an EXIF orientation, .* want it turned by PIL.ImageOps.exif_transpose"
            refused(message, Follow(NOTHING), [sample] * 2 if batch else sample)
        size = ImageOps.exif_transpose(turned).size
        assert Follow(NOTHING)({"image": ImageOps.exif_transpose(turned), key: value})["image"].size == size == (48, 64)
        Follow(NOTHING)({"image": upright, key: value})
    Follow(NOTHING)({"image": turned.convert("RGB"), "mask": IMAGE[..., 0]})


# ---- arrays of others ----


class Producer:
    """Has DLPack's methods alone."""

    def __init__(self, array=None, error=None, capsule=True, device=(1, 0)):
        self.array, self.error, self.capsule, self.device = array, error, capsule, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **how):
        if self.error:
            raise self.error
        return self.array.__dlpack__(**how) if self.capsule is True else self.capsule


def used_capsule():
    array = np.zeros((48, 64, 3), np.uint8)
    capsule = array.__dlpack__()
    np.from_dlpack(Producer(capsule=capsule))
    return capsule


@pytest.mark.parametrize("key", ["image", "boxes", "points"])
@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Producer(error=RuntimeError("the bus is busy")), "RuntimeError: the bus is busy"),
        (lambda: Producer(error=OSError("gone")), "OSError: gone"),
        (lambda: Producer(capsule=None), "__dlpack__ gives no array"),
        (lambda: Producer(capsule=used_capsule()), "__dlpack__ gives no array"),
    ],
)
def test_producers_that_give_no_array_are_named(key, make, message):
    what = "the images are" if key == "image" else rf"sample\['{key}'\] is"
    refused(rf"{what} a Producer, .*{message}", Follow(NOTHING), {"image": IMAGE, key: make()})


@needs_torch
def test_producers_on_a_gpu_that_give_no_array_are_named():
    image = Producer(error=RuntimeError("the bus is busy"), device=(2, 0))
    refused("the images are a Producer, of which __dlpack__ gives no array: ", Follow(NOTHING), {"image": image})


def test_producers_are_read():
    made = Follow(NOTHING)({"image": Producer(IMAGE), "boxes": Producer(BOXES), "points": Producer(BOXES[:, :2])})
    assert (np.asarray(made["boxes"]) == BOXES).all() and (np.asarray(made["points"]) == BOXES[:, :2]).all()
