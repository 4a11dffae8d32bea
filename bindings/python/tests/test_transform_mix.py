# SPDX-License-Identifier: Apache-2.0
"""motley.mix() against torchvision's MixUp and CutMix and timm's Mixup: equal pixels and targets, given the draw."""

import json
import pickle

import numpy as np
import pytest
from conftest import refused

import motley

torch = pytest.importorskip("torch")
v2 = pytest.importorskip("torchvision.transforms.v2", reason="torchvision before 0.16 has no MixUp")
timm_mixup = pytest.importorskip("timm.data.mixup")

CLASSES, SIZES = 10, [(8, 40, 31), (6, 9, 17), (2, 5, 5), (12, 20, 33)]


@pytest.fixture(params=SIZES, ids=str)
def batch(request):
    n, h, w = request.param
    random = np.random.default_rng(n)
    return torch.from_numpy(random.normal(0, 1.5, (n, 3, h, w)).astype(np.float32)), torch.from_numpy(
        random.integers(0, CLASSES, n)
    )


def mixed(mix, *arguments, **more):
    """images, targets and how each image is mixed."""
    images, targets, draws = mix(*arguments, **more, return_draws=True)
    return images, targets, [draw["mix"] for draw in draws]


def same(a, b):
    return a.dtype == b.dtype and torch.equal(a, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("seed", range(3))
def test_mixup_is_torchvisions(batch, dtype, seed):
    images, labels = batch[0].to(dtype), batch[1]
    made, targets, draws = mixed(motley.mix(mixup=0.4, classes=CLASSES, seed=seed), images, labels=labels)
    theirs = v2.MixUp(alpha=0.4, num_classes=CLASSES)
    theirs.make_params = lambda _: {"lam": draws[0]["lambda"]}
    wanted, wanted_targets = theirs(images, labels)
    assert same(made, wanted) and same(targets, wanted_targets) and not same(made, images)


@pytest.mark.parametrize("seed", range(4))
def test_cutmix_is_torchvisions(batch, seed, monkeypatch):
    images, labels = batch
    made, targets, draws = mixed(motley.mix(cutmix=0.9, classes=CLASSES, seed=seed), images, labels=labels)
    theirs, draw, places = v2.CutMix(alpha=0.9, num_classes=CLASSES), draws[0], []
    height, width = images.shape[-2:]
    for x in range(width):  # the centre is the only draw that is not handed out: one has to give this box
        for y in range(height):
            numbers = iter([torch.tensor([x]), torch.tensor([y])])
            with monkeypatch.context() as patch:
                patch.setattr(theirs, "_dist", type("", (), {"sample": lambda _, __, lam=draw["lambda"]: lam})())
                patch.setattr(torch, "randint", lambda *_, numbers=numbers, **__: next(numbers))
                params = theirs.make_params([images])
            box = draw["box"]
            right, bottom = box["left"] + box["width"], box["top"] + box["height"]
            if params["box"] == (box["left"], box["top"], right, bottom):
                places.append(params)
    assert places and {p["lam_adjusted"] for p in places} == {draw["share"]}
    theirs.make_params = lambda _: places[0]
    wanted, wanted_targets = theirs(images, labels)
    assert same(made, wanted) and same(targets, wanted_targets)


class Numbers:
    """numpy.random as timm's Mixup calls it, with our draws: lambdas, which coins fell, and the boxes' corners."""

    def __init__(self, draws, both=False):
        self.lambdas = np.array([d["lambda"] for d in draws])
        self.cut = np.array([d["kind"] == "cutmix" for d in draws])
        self.both = both
        self.calls = 0

    def rand(self, size=None):
        """timm's coins: first of the two kinds, then of p; per batch in the other order."""
        if not self.both:  # a single kind takes no coin
            return 0.0 if size is None else np.zeros(size)
        self.calls += 1
        if size is None:
            return 0.0 if self.calls == 1 else float(not self.cut[0])
        return np.where(self.cut, 0.0, 1.0) if self.calls == 1 else np.zeros(size)

    def beta(self, a, b, size=None):
        return float(self.lambdas[0]) if size is None else self.lambdas


@pytest.mark.parametrize("mode", ["batch", "pair", "elem"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("correct", [True, False])
def test_timms_modes(batch, mode, seed, correct, monkeypatch):
    images, labels = batch
    mix = motley.mix(mixup=0.8, cutmix=1.0, rules="timm", mode=mode, classes=CLASSES, smoothing=0.1, seed=seed,
                     keep_lambda=not correct)  # fmt: skip
    made, targets, draws = mixed(mix, images, labels=labels)
    n, _, height, width = images.shape
    drawing = {"batch": draws[:1], "pair": draws[: n // 2], "elem": draws}[mode]
    boxes = iter([d["box"] for d in drawing if d["kind"] == "cutmix"])

    def box_of(shape, lam, **_):
        b = next(boxes)
        theirs = timm_boxes(shape[-2:], lam)
        assert (b["top"], b["top"] + b["height"], b["left"], b["left"] + b["width"]) in theirs
        return b["top"], b["top"] + b["height"], b["left"], b["left"] + b["width"]

    monkeypatch.setattr(timm_mixup.np, "random", Numbers(drawing, both=True))
    monkeypatch.setattr(timm_mixup, "rand_bbox", box_of)
    theirs = timm_mixup.Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, mode=mode, num_classes=CLASSES, correct_lam=correct)
    wanted, wanted_targets = theirs(images.clone(), labels)
    assert same(made, wanted) and same(targets, wanted_targets)


def timm_boxes(size, lam, bbox=timm_mixup.rand_bbox):
    """Every box that timm's rand_bbox can give for that lambda."""
    height, width = size
    grid = [np.repeat(np.arange(height), width), np.tile(np.arange(width), height)]

    class Grid:
        def randint(self, *_, **__):
            return grid.pop(0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timm_mixup.np, "random", Grid())
        return set(zip(*(edges.tolist() for edges in bbox((3, height, width), lam))))


@pytest.mark.parametrize("mode", ["batch", "pair", "elem"])
def test_minmax_is_timms(batch, mode, monkeypatch):
    images, labels = batch
    mix = motley.mix(minmax=(0.2, 0.8), rules="timm", mode=mode, classes=CLASSES, seed=5)
    made, targets, draws = mixed(mix, images, labels=labels)
    drawing = {"batch": draws[:1], "pair": draws[: len(images) // 2], "elem": draws}[mode]
    boxes = iter([d["box"] for d in drawing])
    monkeypatch.setattr(timm_mixup.np, "random", Numbers(drawing))
    monkeypatch.setattr(
        timm_mixup,
        "rand_bbox_minmax",
        lambda *_, **__: (lambda b: (b["top"], b["top"] + b["height"], b["left"], b["left"] + b["width"]))(next(boxes)),
    )
    theirs = timm_mixup.Mixup(
        mixup_alpha=0.0, cutmix_minmax=(0.2, 0.8), mode=mode, num_classes=CLASSES, label_smoothing=0
    )
    wanted, wanted_targets = theirs(images.clone(), labels)
    assert same(made, wanted) and same(targets, wanted_targets)


@pytest.mark.parametrize("seed", range(3))
def test_bytes_are_timms_collating(seed, monkeypatch):
    random = np.random.default_rng(seed)
    images, labels = random.integers(0, 256, (6, 3, 20, 24), np.uint8), random.integers(0, CLASSES, 6)
    mix = motley.mix(mixup=0.8, rules="timm", mode="elem", classes=CLASSES, smoothing=0.1, seed=seed, layout="chw")
    made, targets, draws = mixed(mix, images, labels=labels)
    monkeypatch.setattr(timm_mixup.np, "random", Numbers(draws))
    theirs = timm_mixup.FastCollateMixup(mixup_alpha=0.8, mode="elem", num_classes=CLASSES)
    wanted, wanted_targets = theirs([(image, int(label)) for image, label in zip(images, labels)])
    assert np.array_equal(made, wanted.numpy()) and np.array_equal(targets, wanted_targets.numpy())


@pytest.mark.parametrize("mode", ["batch", "elem"])
def test_soft_targets_of_several_labels_are_timms(batch, mode):
    import motley.timm

    images, labels = batch
    soft = torch.softmax(torch.randn(len(images), CLASSES, generator=torch.Generator().manual_seed(1)), 1)
    arguments = {"mixup_alpha": 0.8, "mode": mode, "label_smoothing": 0.1, "num_classes": CLASSES, "multi_label": True}
    mixup = motley.timm.Mixup(**arguments)
    torch.manual_seed(2)
    made, targets = mixup(images.clone(), soft)
    torch.manual_seed(2)
    again, _, draws = mixed(mixup.mix, images, labels=soft)
    lam = torch.tensor([d["share"] for d in draws], dtype=torch.float32).unsqueeze(1)
    wanted = timm_mixup.mixup_target(soft, CLASSES, lam, smoothing=0.1, multi_label=True)
    assert same(made, again) and same(targets, wanted)
    refused("multi_label is True, want soft targets", mixup, images, labels)


def test_smoothed_soft_targets_still_sum_to_one(batch):
    images, labels = batch
    one_hot, ids = torch.nn.functional.one_hot(labels, CLASSES), range(len(images))
    hard = motley.mix(mixup=0.2, cutmix=1, mode="elem", classes=CLASSES, smoothing=0.1)(
        images, labels=labels, sample_ids=ids, epoch=0
    )
    soft = motley.mix(mixup=0.2, cutmix=1, mode="elem", smoothing=0.1)(images, labels=one_hot, sample_ids=ids, epoch=0)
    assert torch.allclose(soft[1].sum(1), torch.ones(len(images))) and torch.allclose(soft[1], hard[1])
    for rows in [*one_hot.float()], one_hot.float().tolist(), [*one_hot.double().numpy()]:
        again = motley.mix(mixup=0.2, cutmix=1, mode="elem", smoothing=0.1)(
            images, labels=rows, sample_ids=ids, epoch=0
        )
        assert torch.equal(again[1], soft[1])
    with pytest.raises(motley.ArgumentError, match=r"labels have shape \(\d+, 1\), want \[\d+\]: a class"):
        motley.mix(mixup=0.2)(images, labels=labels.reshape(-1, 1))


def test_layouts_in_place_and_replay(batch):
    images, labels = batch
    mix = motley.mix(mixup=1, cutmix=1, classes=CLASSES, mode="elem", drawn_partner=True, seed=8)
    made, targets, draws = mix(images, labels=labels, sample_ids=range(len(images)), epoch=0, return_draws=True)
    assert all(draw["mix"]["partner"] != i for i, draw in enumerate(draws)) or len(images) == 1
    hwc = np.ascontiguousarray(images.numpy().transpose(0, 2, 3, 1))
    assert np.array_equal(
        mix(hwc, labels=labels, sample_ids=range(len(images)), epoch=0)[0].transpose(0, 3, 1, 2), made.numpy()
    )
    assert all(map(same, mix.replay(images, json.loads(json.dumps(draws)), labels=labels), (made, targets)))
    clone = images.clone()
    assert mix.apply_(clone, labels=labels, sample_ids=range(len(images)), epoch=0)[0] is clone and same(clone, made)
    again = pickle.loads(pickle.dumps(mix))
    assert same(again(images, labels=labels, sample_ids=range(len(images)), epoch=0)[0], made)
    assert mix.draw(sample_ids=list(range(len(images))), epoch=0, size=images.shape[-2:]) == draws
    first = motley.mix(mixup=1, seed=1, classes=CLASSES)
    one, two = first(images, labels=labels)[0], first(images, labels=labels)[0]
    with pytest.raises(motley.ArgumentError, match="epoch"):
        first(images, labels=labels, epoch=-1)
    assert first.state_dict()["count"] == 2 * len(images) and not same(one, two)


@pytest.mark.parametrize(
    "arguments, why",
    [
        (dict(), "neither mixup nor cutmix"),
        (dict(mixup=-1), "mixup is -1"),
        (dict(mixup="a"), "mixup is 'a', want a number"),
        (dict(mixup=1, mode="element"), "mode is 'element', want batch, pair or elem"),
        (dict(mixup=1, mode="pair"), "mode is pair, want timm's rules"),
        (dict(mixup=1, drawn_partner=True), "want mode elem"),
        (dict(cutmix=1, minmax=0.5), "'minmax' wants a list of 2 numbers"),
        (dict(mixup=1, smoothing=1.5), "smoothing is 1.5, want 0..1"),
        (dict(mixup=1, dtype="float16"), "dtype, output_layout or clip_frames is given, but policy 'mix' mixes images"),
        (dict(mixup=1, clip_frames=2), "but policy 'mix' mixes images as they come: want none"),
    ],
)
def test_settings_that_are_refused(arguments, why):
    refused(why, motley.mix, **arguments)


def test_calls_that_are_refused(batch):
    images, labels = batch
    mix, clone = motley.mix(mixup=1, classes=CLASSES), images.clone()
    for given, why in (
        (None, "labels are missing"),
        (labels[:-1], r"labels have shape \(\d+,\), want \["),
        (labels + 10, "image 0 has label 1[0-9], want 0 to 9, as there are 10 classes"),
        (labels.float(), "labels are floats, want whole numbers"),
        (torch.zeros(len(images), 9), "labels have 9 classes, want 10"),
        (torch.full((len(images), CLASSES), 7), r"\(\d+, 10\) and whole numbers such as 7, want \[\d+\]: a class"),
    ):
        refused(why, mix.apply_, clone, labels=given)
    assert same(clone, images), "something was written"
    with pytest.raises(motley.ArgumentError, match="want classes, how many"):
        motley.mix(mixup=1)(images, labels=labels)
    with pytest.raises(motley.ArgumentError, match="there are 1 images, want an even number, as mode is pair"):
        motley.mix(mixup=1, rules="timm", mode="pair", classes=CLASSES)(images[:1], labels=labels[:1])
    for wrong in (images[0], list(images), images.double()):
        refused("mixing wants a batch|dtype is torch.float64", mix, wrong, labels=labels)
    draws = mix.draw(len(images), size=images.shape[-2:])
    refused(
        "mix of image 0 is {}, want kind", mix.replay, images, [{**draw, "mix": {}} for draw in draws], labels=labels
    )


def test_in_eval_nothing_is_mixed(batch):
    """Nor counted; labels come back as they are."""
    import motley.torch

    images, labels = batch
    mix = motley.torch.Transform(motley.mix(mixup=1, classes=CLASSES), seed=3).eval()
    made, targets = mix(images, labels=labels)
    assert same(made, images) and made is not images and targets is labels
    assert same(mix(images), images) and mix._words.count == 0
    assert not same(mix.train()(images, labels=labels)[0], images)


def test_bytes_by_the_c_call_are_those_of_the_same_file():
    """motley_apply takes such a policy for bytes, as the last stage of any other."""
    images = np.random.default_rng(2).integers(0, 256, (4, 9, 8, 3), np.uint8)
    mix = motley.mix(mixup=0.5, cutmix=1, mode="elem", classes=4, seed=7)
    stage = mix.policy.as_dict()["stages"][0]
    sized = motley.Transform({"stages": [{"resize": {"size": [9, 8]}}, stage]}, seed=7)
    for one, other in zip(*(t(images, labels=range(4), sample_ids=range(4), epoch=2) for t in (mix, sized))):
        assert np.array_equal(one, other)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_class_numbers_that_are_no_shares_on_cuda(batch):
    """Nothing waits for labels on the device, so these cannot be refused."""
    images, labels = batch
    several = torch.stack([labels, labels], 1).clamp(min=2).cuda()
    assert motley.mix(mixup=1)(images.cuda(), labels=several)[1].isnan().all()
    assert not motley.mix(mixup=1)(images.cuda(), labels=(several == 2).long())[1].isnan().any()


TEXT = """motley: 1
name: mixed
stages:
  - random_resized_crop: {size: 20}
  - output: {mean: 0.5, std: 0.5}
  - mix: {mixup: 0.2, cutmix: 1, mode: elem, rules: timm, classes: 10, smoothing: 0.1}
"""


def test_as_a_transforms_last_stage():
    random = np.random.default_rng(4)
    photographs = [random.integers(0, 256, (30 + i, 40 - i, 3), np.uint8) for i in range(8)]
    labels = random.integers(0, 10, 8)
    transform = motley.Transform(TEXT, seed=6)
    images, targets, draws = transform(photographs, labels=labels, sample_ids=range(8), epoch=0, return_draws=True)
    plain = motley.Transform(TEXT[: TEXT.index("  - mix")], seed=6)(photographs, sample_ids=range(8), epoch=0)
    mix = motley.mix(mixup=0.2, cutmix=1, mode="elem", rules="timm", classes=10, smoothing=0.1, seed=6)
    wanted, wanted_targets = mix(plain, labels=labels, sample_ids=range(8), epoch=0, layout="chw")
    assert np.array_equal(images, wanted) and np.array_equal(targets, wanted_targets)
    again = transform.replay(photographs, draws, labels=labels)
    assert np.array_equal(again[0], images) and np.array_equal(again[1], targets)
    for arguments, why in ((dict(), "labels are missing"), (dict(labels=labels[:3]), "labels have shape")):
        refused(why, transform, photographs, **arguments)
    two = transform(photographs, labels=labels, sample_ids=range(8), epoch=0, views=2)
    assert np.array_equal(two[0][0], images) and not np.array_equal(two[1][0], images)
    with pytest.raises(motley.ArgumentError, match="has no stage 'mix'"):
        motley.Transform("torchvision_train")(photographs, labels=labels)
    del draws[3]["mix"]
    refused("draws of image 3 have no 'mix'", transform.replay, photographs, draws, labels=labels)


# ---- through loaders ----

MIXES = [
    *({"mixup": 0.2, "rules": rules, "mode": mode} for rules in ("torchvision", "timm") for mode in ("batch", "elem")),
    {"cutmix": 1, "rules": "torchvision", "mode": "batch", "smoothing": 0.1},
    {"mixup": 0.8, "cutmix": 1, "rules": "timm", "mode": "pair", "p": 0.7},
    {"mixup": 0.8, "cutmix": 1, "partner": "drawn", "mode": "elem"},
]


class Photographs(torch.utils.data.Dataset):
    """Samples of (image, label, id), or dictionaries of them."""

    def __init__(self, keys=None):
        self.keys = keys

    def __len__(self):
        return 12

    def __getitem__(self, i):
        image = np.random.default_rng(i).integers(0, 256, (30 + i, 40 - i, 3), np.uint8)
        sample = image, i % CLASSES, i
        return dict(zip(self.keys, sample)) if self.keys else sample


def mixing(how, **settings):
    text = ", ".join(f"{name}: {value}" for name, value in {"classes": CLASSES, **how}.items())
    return motley.Transform(TEXT[: TEXT.index("  - mix")] + f"  - mix: {{{text}}}\n", seed=5, **settings)


def wanted_batches(transform, epoch, size=4):
    samples = [Photographs()[i] for i in range(12)]
    for first in range(0, 12, size):
        images, labels, ids = zip(*samples[first : first + size])
        images, targets = transform(list(images), labels=list(labels), sample_ids=ids, epoch=epoch)
        yield torch.from_numpy(images), torch.from_numpy(targets)


@pytest.mark.parametrize("how", MIXES, ids=str)
@pytest.mark.parametrize("keys", [None, ("image", "label", "id")])
def test_labels_become_targets_in_loaders(how, keys):
    import motley.torch

    transform = mixing(how)
    at = dict(zip(("images", "labels", "ids"), keys or range(3)))
    collate = motley.torch.MotleyCollate(mixing(how), **at)
    sampler, workers = motley.torch.Sampler(range(len(Photographs()))), int(keys is None)
    loader = torch.utils.data.DataLoader(Photographs(keys), 4, sampler=sampler, collate_fn=collate, num_workers=workers)
    raw = torch.utils.data.DataLoader(
        Photographs(), batch_size=4, collate_fn=lambda samples: [list(column) for column in zip(*samples)]
    )
    if keys:
        raw = [dict(zip(keys, batch)) for batch in raw]
    ahead = motley.torch.Prefetcher(raw, mixing(how), "cpu", **at)
    assert transform.mixes
    for epoch in range(2):
        wanted = list(wanted_batches(transform, epoch))
        ahead.set_epoch(epoch)
        assert not any(torch.equal(targets, targets.round()) for _, targets in wanted[:1])
        for made in (list(loader), list(ahead)):
            assert len(made) == len(wanted) == 3
            for batch, (images, targets) in zip(made, wanted):
                assert torch.equal(torch.as_tensor(batch[at["images"]]), images)
                assert torch.equal(torch.as_tensor(batch[at["labels"]]), targets)


def test_a_mix_behind_another_stage():
    import motley.torch

    batches = [(torch.rand(6, 3, 9, 8), torch.arange(6), torch.arange(6))]
    mix = motley.mix(mixup=0.2, cutmix=1, classes=6, epoch=0)
    ((images, targets, ids),) = motley.torch.Prefetcher(batches, mix, "cpu", ids=2, labels=1)
    wanted = motley.mix(mixup=0.2, cutmix=1, classes=6)(batches[0][0], labels=batches[0][1], sample_ids=ids, epoch=0)
    assert torch.equal(images, wanted[0]) and torch.equal(targets, wanted[1]) and torch.equal(ids, torch.arange(6))


def test_labels_in_columns():
    from motley.adapters.columns import Augment

    samples = [Photographs()[i] for i in range(4)]
    batch = dict(zip(("image", "label", "id"), map(list, zip(*samples))))
    made = Augment(mixing(MIXES[5]), ids="id", labels="label", epoch=1)(batch)
    images, targets = next(wanted_batches(mixing(MIXES[5]), 1))
    assert np.array_equal(made["image"], images.numpy()) and np.array_equal(made["label"], targets.numpy())


def test_where_labels_are_missing():
    import motley.torch
    from motley.adapters.columns import Augment
    from motley.adapters.webdataset import Augment as Alone

    mixes, plain = mixing(MIXES[0]), motley.Transform("torchvision_train")
    makers = (
        lambda stage, **labels: motley.torch.Prefetcher([], stage, "cpu", **labels),
        lambda stage, **labels: motley.torch.MotleyCollate(stage, **labels),
        lambda stage, **labels: Augment(stage, **labels),
    )
    for make in makers:
        refused("'mixed' mixes images, want labels=, the index or key", make, mixes)
        refused("labels is 1, but 'torchvision_train' has no stage 'mix'", make, plain, labels=1)
    refused("labels is 1, but 'rand_augment' has no stage 'mix'", motley.torch.MotleyCollate, "rand_augment", labels=1)
    refused("'mix' mixes images, want labels=", motley.torch.Prefetcher, [], motley.mix(mixup=1), "cpu")
    for alone in (Alone, lambda stage: motley.torch.Augmented(Photographs(), stage)):
        with pytest.raises(motley.UnsupportedError, match="'mixed' mixes images, and here are no labels"):
            alone(mixes)
    unnamed = motley.Transform(mixes.policy.show().replace(f"classes: {CLASSES}", "p: 0.9"))
    collate = motley.torch.MotleyCollate(unnamed, labels=1)
    with pytest.raises(motley.ArgumentError, match="want classes, how many there are, as an argument or in the stage"):
        collate([Photographs()[i] for i in range(4)])
    odd = motley.torch.MotleyCollate(mixing(MIXES[5]), labels=1)
    refused("even", odd, [Photographs()[i] for i in range(3)])
