# SPDX-License-Identifier: Apache-2.0
"""Wrong calls whose message says what to write."""

import numpy as np
import PIL.Image
import pytest
from conftest import refused

import motley
from motley.policy import Policy

X = np.zeros((4, 16, 16, 3), np.uint8)
T = motley.Transform("rand_augment")
F = motley.Follow(T)
MIX = motley.mix(mixup=0.2, classes=2)
SIZES = motley.mix(share=(0.5, 0.5), p=0, sizes=[8], epoch=0)
JOIN = motley.mix(share=(0.5, 0.5))
SOFT = motley.mix(mixup=0.2, classes=2)
HALF = np.full((2, 2), 0.5)
SOFT_LABELS = [
    ([[[], []], [[], []]], r"labels have shape \(2, 2, 0\), want \[2\] or \[2, classes\]"),
    (np.ones((2, 2, 2)).tolist(), r"labels have shape \(2, 2, 2\), want \[2\]"),
    ([HALF, HALF], r"labels have shape \(2, 2, 2\), want \[2\]"),
    ([[0.5, [0.5]], [1, 0]], "want whole numbers, or soft targets"),
    ([[0.5, None], [1, 0]], "want whole numbers, or soft targets"),
    ([["0.5", "0.5"], [1, 0]], "want whole numbers, or soft targets"),
    ([[0.5, 0.5j], [1, 0]], "want whole numbers, or soft targets"),
    (HALF.astype(complex), "want whole numbers, or soft targets"),
    ([0.5, 1.0], "labels are floats, want whole numbers"),
    ({0, 1}, "is a set, whose order says nothing"),
]
BOX, PICTURE = np.array([[1.0, 2, 9, 8]]), PIL.Image.new("RGB", (16, 16))


def targets(boxes, **more):
    return motley.Targets([{"boxes": boxes, **more}] * 4, "xyxy")


CALLS = {
    "magnitud": (lambda: motley.RandAugment(magnitud=3),
        r"rand_augment\(\) has no argument 'magnitud', did you mean 'magnitude'"),
    "a setting": (lambda: motley.AutoAugment(sead=3), r"auto_augment\(\) has no argument 'sead', did you mean 'seed'"),
    "of Transform": (lambda: motley.Transform("rand_augment", sead=3),
        r"Transform\(\) has no argument 'sead', did you mean 'seed'"),
    "far from all": (lambda: motley.RandAugment(xyz=3),
        r"rand_augment\(\) has no argument 'xyz', want num_ops, magnitude, .*seed"),
    "ids by position": (lambda: T(X, [0, 1, 2, 3]),
        "with 2 arguments by position, want one, the images; sample_ids and all"),
    "ids": (lambda: T(X, ids=[0, 1, 2, 3]), r"Transform\(\) has no argument 'ids', did you mean 'sample_ids'"),
    "ids of a sample": (lambda: F({"image": X}, ids=[0, 1, 2, 3]),
        r"Follow\(\) has no argument 'ids', did you mean 'sample_ids'"),
    "of Follow": (lambda: motley.Follow(T, images="x"), r"Follow\(\) has no argument 'images', did you mean 'image'"),
    "in place": (lambda: T.apply_(X, ids=[0, 1, 2, 3]), r"apply_\(\) has no argument 'ids', did you mean 'sample_ids'"),
    "draw": (lambda: T.draw(4, ids=[0, 1, 2, 3]), r"draw\(\) has no argument 'ids', did you mean 'sample_ids'"),
    "level": (lambda: T(X, level=0.5), r"Transform\(\) has no argument 'level', did you mean 'levels'"),
    "magnitude": (lambda: T.policy.change(magnitude=3), "unknown key 'magnitude' in the policy, did you mean 'level'"),
    "num_ops": (lambda: T.policy.change(num_ops=3), "unknown key 'num_ops' in the policy, did you mean 'repeat'"),
    "op": (lambda: motley.ops.rotat(X, 30), "module 'motley.ops' has no attribute 'rotat', did you mean 'rotate'"),
    "apply": (lambda: motley.ops.apply("rotat", X, 30), "there is no operation 'rotat', did you mean 'rotate'"),
    "nothing near": (lambda: motley.ops.apply("xyz", X), "there is no operation 'xyz': motley.ops.table lists them"),
    "timm": (lambda: motley.from_timm("randaugment"),
        r"want rand, .*; did you mean motley.Transform\('rand_augment'\)"),
    "a name": (lambda: Policy("rand_augmnt"), "did you mean 'rand_augment'"),
    "state": (lambda: T.load_state_dict({}), "the state has no entries, want "),
    "label": (lambda: MIX(X, labels=[0, 1, 2, 3], sample_ids=range(4), epoch=0),
        "image 2 has label 2, want 0 to 1, as there are 2 classes"),
    "a label": (lambda: MIX(X, labels=3), "labels are 3, want whole numbers, or soft targets"),
    "rows of labels": (lambda: MIX(X, labels=[[0.5, 0.5]] * 3 + [[1]]), "labels are .*want whole numbers, or soft"),
    **{f"soft labels {number}": (lambda rows=rows: SOFT(X[:2], labels=rows, sample_ids=[0, 1], epoch=0), words)
        for number, (rows, words) in enumerate(SOFT_LABELS)},
    "a partner": (lambda: MIX(X, labels=[0, 1, 0, 1], partners=3), "partners is 3, want the index of each image's"),
    "boxes, rows": (lambda: SIZES(X, labels=targets([[1, 2, 3]])), r"image 0 has 'boxes': .*, want \[n, 4\]"),
    "boxes, flat": (lambda: SIZES(X, labels=targets([1, 2, 3, 4])), r"image 0 has 'boxes': .*, want \[n, 4\]"),
    "boxes, shape": (lambda: SIZES(X, labels=targets(np.ones((1, 5)))),
        r"'boxes': an array of shape \(1, 5\), want \[n, 4\]"),
    "axes of keypoints": (lambda: JOIN(X, labels=targets(BOX, keypoints=np.ones((1, 17, 3)))[:3]
        + targets(BOX, keypoints=np.ones((1, 51)))[:1]), "the targets have 'keypoints' that cannot be joined: "),
    "axes of areas": (lambda: JOIN(X, labels=targets(BOX, area=np.ones(1))[:3] + targets(BOX, area=BOX[:, :1])[:1]),
        "the targets have 'area' that cannot be joined: "),
    "labels as words": (lambda: JOIN(X, labels=targets(BOX, labels="a")), "'labels': 'a', want an entry for each box"),
    "keypoints": (lambda: SIZES(X, labels=targets(BOX, keypoints=np.ones((1, 51)))),
        r"keypoints are resized with their images, and have shape \(1, 51\): want 2 or 3 in a row"),
    "keypoints, a list": (lambda: SIZES(X, labels=targets(BOX, keypoints=[[1] * 51])), "have 51 numbers in a row"),
    "masks": (lambda: SIZES(X, labels=targets(BOX, masks=np.ones((1, 9, 9)))),
        r"masks are resized with their images, and have shape \(1, 9, 9\): want arrays .* \[n, 16, 16\]"),
    "view": (lambda: T(X, view="a", views=2), "view is 'a', want a whole number"),
    "a number of ids": (lambda: T.draw(sample_ids=2.5, epoch=0), "one of sample_ids is 2.5, want a whole number"),
    "boxes of draw": (lambda: T.draw(boxes=[[1, 2, 3]]), "boxes is .*, want rows of left, top, right and bottom"),
    "boxes as text": (lambda: T.draw(boxes=["1234"]), r"boxes is \['1234'\], want rows of left, top, right and bottom"),
    "replay of text": (lambda: T.replay(X, "[[]]"), r"draws is '\[\[\]\]', want the list that return_draws gave"),
    "replay": (lambda: T.replay(X, 5), "draws is 5, want the list that return_draws gave"),
    "replay of views": (lambda: motley.Transform("dino").replay(X, []), "draws is .*want the dictionary .*'global_1'"),
    "matrices": (lambda: motley.draws.matrices([[]], None), "size None, want the draws"),
    "no state": (lambda: T.load_state_dict(None), "the state has no entries, want "),
    "counter": (lambda: motley.Transform("rand_augment", counter=3), "counter is 3, want an array of two int64"),
    "layout": (lambda: motley.Transform("rand_augment", layout=["chw"]), r"layout is \['chw'\], want 'chw'"),
    "fill": (lambda: motley.follow.Image(fill=float("inf")), "fill is inf, want a whole number"),
    "fill of floats": (lambda: motley.ops.rotate(np.float32(X), 30, fill="a"), "fill is 'a', want a number, or"),
    "format": (lambda: motley.follow.Boxes(format=["xyxy"]), r"format is \['xyxy'\], want 'xyxy'"),
    "label_fields": (lambda: motley.follow.Boxes(label_fields=3), "label_fields is 3, want a tuple of keys"),
    "points": (lambda: motley.Follow(T, {"x": motley.follow.Points()})({"image": X[0], "x": PICTURE}),
        "is a PIL image, want an array or a list of rows"),
    "padded": (lambda: motley.padded(None), "images is a NoneType, want a list of images"),
    "padding": (lambda: motley.padded([X[0]], value="a"), "value is 'a', want a number"),
    "groups": (lambda: motley.group_ids({1}, 2), "want those of several groups"),
    "out": (lambda: motley.ops.invert(X, out=[]), "count is 0, want src's 4"),
    "crop": (lambda: motley.ops.resize(X, 8, crop={}), r"crop is \{\}, want \(left, top, width, height\)"),
    "boxes back": (lambda: motley.Inverse([[]], T, size=(16, 16)).boxes([[[1, 2], [3]]]), "want an array or rows of 4"),
    "inverse": (lambda: motley.Inverse(X, T),
        r"draws are a ndarray of shape \(4, 16, 16, 3\), want what a call with return_draws"),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_call_says_what_to_write(call):
    make, message = CALLS[call]
    refused(message, make, error=(TypeError, ValueError, AttributeError))


@pytest.mark.parametrize("name", ["Compose", "RandAugment", "AutoAugment"])
def test_transforms_of_torchvision_are_for_fuse(name):
    transforms = pytest.importorskip("torchvision.transforms")
    made = transforms.Compose([]) if name == "Compose" else getattr(transforms, name)()
    refused(f"policy is a {name}, .*; motley.torchvision.fuse", motley.Transform, made)
    ours = pytest.importorskip("motley.torchvision")
    made = ours.Compose([]) if name == "Compose" else getattr(ours, name)()
    way = "its .transform is one" if name == "Compose" else "motley.torchvision.fuse"
    refused(f"policy is a {name}, .*; {way}", motley.Transform, made)


def test_loaders_name_the_argument():
    data = pytest.importorskip("motley.torch")
    with pytest.raises(motley.ArgumentError, match="no image at 0: it has the keys image, label, want images= one of"):
        data.Augmented([{"image": X[0], "label": 1}], "rand_augment")[0]


def test_arrays_do_not_stay_on_the_cpu_in_silence():
    torch = pytest.importorskip("torch")
    from motley.torch import Prefetcher

    batches = Prefetcher([], T, "cpu")
    batches.device = torch.device("cuda")  # which need not be there: what comes is looked at first
    for images, kind in (X, "numpy.ndarray"), ([*X], "numpy.ndarray"), ([torch.zeros(3, 8, 8), X[0]], "numpy.ndarray"):
        with pytest.raises(
            motley.ArgumentError, match=f"the images are a {kind}, which stays on the CPU: want tensors"
        ):
            batches._prepare((images, [0, 1, 2, 3]), None)
