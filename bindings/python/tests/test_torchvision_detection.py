# SPDX-License-Identifier: Apache-2.0
"""torchvision's presets of detection, fused, against torchvision's own functions by the numbers that were drawn."""

import collections
import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")
v2 = pytest.importorskip("torchvision.transforms.v2")
tv_tensors = pytest.importorskip("torchvision.tv_tensors")
import PIL.Image  # noqa: E402
from conftest import next_seed, refused  # noqa: E402

import motley  # noqa: E402
from motley.torchvision import fuse  # noqa: E402
from motley.torchvision.images import say  # noqa: E402

MEAN = [123.0, 117.0, 104.0]
ORDERS = list(itertools.permutations(range(3)))


class FixedSizeCrop(torch.nn.Module):
    """With the attributes of the references' class of that name."""

    def __init__(self, size, fill=0, padding_mode="constant"):
        super().__init__()
        (self.crop_height, self.crop_width), self.fill, self.padding_mode = size, fill, padding_mode


FixedSizeCrop.__module__ = "transforms"
OUTPUT = [v2.ToDtype(torch.float, scale=True), v2.ConvertBoundingBoxFormat("XYXY"), v2.SanitizeBoundingBoxes()]
OUTPUT += [v2.ToPureTensor()]
MASK = {tv_tensors.Mask: 0}
PRESETS = {
    "hflip": [],
    "lsj": [v2.ScaleJitter((100, 120)), FixedSizeCrop((90, 110), MEAN)],
    "multiscale": [v2.RandomShortestSize((48, 64, 80, 96), 133)],
    "ssd": [
        v2.RandomPhotometricDistort(),
        v2.RandomZoomOut(fill=collections.defaultdict(lambda: MEAN, MASK)),
        v2.RandomIoUCrop(),
    ],
    "ssdlite": [v2.RandomIoUCrop()],
    "resize": [v2.RandomPhotometricDistort(), v2.RandomZoomOut(fill={"others": MEAN, **MASK}), v2.Resize((64, 70))],
    "dfine": [v2.RandomZoomOut(), v2.RandomApply([v2.RandomIoUCrop()], p=0.8), v2.Resize((64, 70))],
}
FILLS = {"resize": MEAN}  # of canvases; a defaultdict has none for torchvision
CROPPED = "ssd", "ssdlite", "resize", "dfine"  # whose places have a crop, and the others a window
RESIZED = "lsj", "multiscale", "resize", "dfine"


def preset(name, backend):
    """As references/detection/presets.py composes it with use_v2."""
    first = {"pil": [], "tv_tensor": [v2.ToImage()], "tensor": [v2.PILToTensor()]}[backend]
    to_image = [v2.ToImage()] if backend == "pil" else []
    return v2.Compose([*first, *PRESETS[name], v2.RandomHorizontalFlip(0.5), *to_image, *OUTPUT])


def sample(i):
    """A picture with i % 5 boxes, some thinner than a pixel, masks and labels, as COCO's."""
    random = np.random.default_rng(i)
    width, height, n = int(random.integers(30, 200)), int(random.integers(30, 160)), 1 + i % 4
    corners = np.sort(random.random((n, 2, 2)), 1) * [width, height]
    corners[0, 1] = np.maximum(corners[0, 1], corners[0, 0] + [0.3, 0.5 * (i % 3)]).clip(0, [width, height])
    boxes = torch.from_numpy(corners.reshape(n, 4).astype(np.float32))
    image = PIL.Image.fromarray(random.integers(0, 256, (height, width, 3), dtype=np.uint8))
    return image, {
        "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(height, width)),
        "masks": tv_tensors.Mask(torch.from_numpy(random.integers(0, 2, (n, height, width), dtype=np.uint8))),
        "labels": torch.arange(n),
        "image_id": i,
    }


def drawn(transform, image, boxes, seed):
    """The draw of the next call."""
    follow = motley.Follow(transform, {"boxes": motley.follow.Boxes(drop=False, label_fields=())})
    plain = {"image": image, "boxes": boxes.as_subclass(torch.Tensor)}
    return follow(plain, sample_ids=0, epoch=0, seed=next_seed(seed), return_draws=True)[1]


def by_torchvision(name, image, boxes, masks, draw):
    """What a preset makes by a draw, in its order, each change by torchvision's functional."""
    functional = v2.functional
    for step in draw["steps"]:
        value = step["value"]
        if step["op"] == "permute":
            image = functional.permute_channels(image, list(ORDERS[int(value)]))
        else:
            op = {"color": "saturation"}.get(step["op"], step["op"])
            image = getattr(functional, f"adjust_{op}")(image, value)

    def on_all(call, *arguments, **more):
        nonlocal image, boxes, masks
        image, boxes, masks = (call(value, *arguments, **more) for value in (image, boxes, masks))

    crop, to, window = draw["crop" if name in CROPPED else "window"], draw["resize"], draw["window"]
    size = [to["height"], to["width"]]
    if "canvas" in draw:
        sides = [draw["canvas"]["left"], draw["canvas"]["top"]]
        for side, old, at in (("width", image.width, "left"), ("height", image.height, "top")):
            sides.append(max(crop[at] + crop[side] - old, 0))
        image = functional.pad(image, sides, FILLS.get(name, 0))
        boxes, masks = functional.pad(boxes, sides), functional.pad(masks, sides, 0)
    if draw.get("overlap") == "cropped":
        left, top = (crop[side] + draw.get("canvas", {}).get(side, 0) for side in ("left", "top"))
        low, high = torch.tensor([left, top]), torch.tensor([left + crop["width"], top + crop["height"]])
        centre = 0.5 * (boxes[:, :2] + boxes[:, 2:])
        inside = ((low < centre) & (centre < high)).all(1)
        on_all(functional.crop, top, left, crop["height"], crop["width"])
        boxes[~inside] = 0
    if name in RESIZED:
        on_all(functional.resize, size, antialias=True)
    if name == "lsj":
        above, before, height, width = (window[key] for key in ("top", "left", "height", "width"))
        inner = min(height, to["height"]), min(width, to["width"])
        on_all(functional.crop, above, before, *inner)
        sides = [0, 0, width - inner[1], height - inner[0]]
        image = functional.pad(image, sides, MEAN)
        boxes, masks = functional.pad(boxes, sides), functional.pad(masks, sides, 0)
    if draw["flip"]["horizontal"]:
        on_all(functional.horizontal_flip)
    return image, boxes, masks


@pytest.mark.parametrize("backend", ["pil", "tv_tensor", "tensor"])
@pytest.mark.parametrize("name", PRESETS)
def test_presets_of_the_references(name, backend):
    compose = preset(name, backend)
    fused, counts = fuse(compose), collections.Counter()
    assert fused.not_taken == []
    by_itself = v2.Compose([v2.ToImage(), *OUTPUT])
    for i in range(48):
        image, target = sample(i)
        draw = drawn(fused.transform, image, target["boxes"], i)
        torch.manual_seed(i)
        out, moved = fused(image, dict(target))
        wanted = by_torchvision(name, image, target["boxes"], target["masks"], draw)
        wanted = by_itself(wanted[0], {**target, "boxes": wanted[1], "masks": wanted[2]})
        assert type(out) is torch.Tensor and out.dtype == torch.float32 and torch.equal(out, wanted[0])
        for key in ("boxes", "masks", "labels"):
            assert type(moved[key]) is torch.Tensor and moved[key].dtype == wanted[1][key].dtype
            assert torch.equal(moved[key], wanted[1][key]), (key, draw)
        assert moved["image_id"] == i
        counts["flipped"] += draw["flip"]["horizontal"]
        counts["zoomed"] += "canvas" in draw
        counts["cropped"] += draw.get("overlap") == "cropped"
        counts["changed"] += bool(draw["steps"])
        counts["dropped"] += len(target["labels"]) - len(moved["labels"])
        counts[tuple(out.shape)] += 1
    assert 12 < counts["flipped"] < 36 and counts["dropped"]
    assert name not in ("ssd", "resize") or (counts["zoomed"] > 10 and counts["changed"] > 30)
    assert name not in ("ssd", "ssdlite", "dfine") or counts["cropped"] > 10
    assert name not in ("multiscale", "ssd", "ssdlite") or len(counts) > 20  # sizes of their own


@pytest.mark.parametrize(
    "transform, why",
    [
        (v2.RandomIoUCrop(trials=7), "trials is 7, Motley has 40"),
        (v2.RandomZoomOut(fill=9.5), "fill is 9.5, want whole numbers of 0 to 255"),
        (v2.RandomPhotometricDistort(hue=(-0.5, 0.5), contrast=(0, 1e6)), "'contrast' is"),
        (v2.RandomShortestSize(list(range(10, 40))), "'shortest'"),
        (FixedSizeCrop((9, 9), padding_mode="edge"), "padding_mode is edge"),
        (v2.RandomInvert(), "Motley has no such stage"),
    ],
    ids=str,
)
def test_what_is_not_taken(transform, why):
    fused = fuse([v2.RandomHorizontalFlip(), transform])
    assert fused.not_taken[0][0] is transform and why in fused.not_taken[0][1]


def test_what_torchvision_refuses_is_refused_there(caplog):
    """A fill of colours for masks; and one of other types of images goes its own way."""
    say.cache_clear()
    image, target = sample(3)
    zoom = fuse([v2.RandomZoomOut(fill=MEAN, p=1)])
    refused("fill", zoom, image, target, error=Exception)
    assert "masks are filled with [123, 117, 104]" in caplog.text
    zoom(image, {"boxes": target["boxes"]})
    by_type = {PIL.Image.Image: 9, "others": 0}
    assert fuse([v2.RandomZoomOut(fill=by_type, p=1)])(image).getpixel((0, 0)) in ((9, 9, 9), image.getpixel((0, 0)))
    assert "fill is another for images of type Image" in caplog.text


def test_boxes_read_between_end_a_run():
    """SanitizeBoundingBoxes drops boxes where it stands."""
    first, then = [v2.RandomHorizontalFlip(1.0), v2.SanitizeBoundingBoxes(min_size=20)], [v2.Resize((200, 200))]
    fused = fuse([*first, *then])
    assert fused.not_taken == [] and len(fused._parts) == 2
    for i in range(8):
        image, target = sample(i)
        out, wanted = fused(image, target), v2.Compose([*first, *then])(image, target)
        assert torch.equal(out[1]["boxes"], wanted[1]["boxes"]) and len(out[1]["labels"]) == len(wanted[1]["labels"])
        assert np.array_equal(np.asarray(out[0]), np.asarray(wanted[0]))


def test_what_a_getter_names_is_dropped_with_its_boxes():
    """By a getter of labels, of which masks may be some; of samples without boxes; of masks that are no objects'."""
    flip, resize = v2.RandomHorizontalFlip(1.0), v2.Resize((90, 80))
    named = v2.SanitizeBoundingBoxes(
        min_size=20, labels_getter=lambda sample: (sample[1]["labels"], sample[1]["masks"])
    )
    for sanitize in named, v2.SanitizeBoundingBoxes(min_size=20), v2.SanitizeBoundingBoxes(20, labels_getter=None):
        fused, theirs = fuse([flip, resize, sanitize]), v2.Compose([flip, resize, sanitize])
        assert fused.not_taken == []
        for i in range(8):
            image, target = sample(i)
            target = {**target, "whole": tv_tensors.Mask(target["masks"][0])}
            out, wanted = (call(image, dict(target))[1] for call in (fused, theirs))
            for key in ("boxes", "masks", "labels", "whole"):
                assert type(out[key]) is type(wanted[key]) and torch.equal(out[key], wanted[key]), key
    refused("No bounding boxes", fused, image, {"masks": target["masks"]}, error=ValueError)


@pytest.mark.parametrize("form", ["XYWH", "CXCYWH"])
@pytest.mark.parametrize("name", ["hflip", "multiscale", "resize"])
def test_boxes_of_other_formats(name, form):
    """They are where those of corners are."""
    fused = fuse([v2.Identity(), *PRESETS[name], v2.RandomHorizontalFlip()])
    for i in range(12):
        image, target = sample(i)
        results = []
        for boxes in target["boxes"], v2.functional.convert_bounding_box_format(target["boxes"], new_format=form):
            torch.manual_seed(i)
            results.append(fused(image, boxes)[1])
        assert results[1].format.value == form and results[1].canvas_size == results[0].canvas_size
        back = v2.functional.convert_bounding_box_format(results[1], new_format="XYXY")
        assert torch.allclose(back.as_subclass(torch.Tensor), results[0].as_subclass(torch.Tensor), atol=1e-3)


def test_bands_are_permuted_by_torchvision(caplog):
    say.cache_clear()
    bands = torch.arange(4 * 6 * 8, dtype=torch.uint8).reshape(4, 6, 8)
    colours = {"brightness": (1, 1), "contrast": (1, 1), "saturation": (1, 1), "hue": (0, 0)}
    assert fuse([v2.RandomPhotometricDistort(**colours, p=0.0)])(bands).shape == bands.shape
    assert "permutes bands and alpha, too" in caplog.text
