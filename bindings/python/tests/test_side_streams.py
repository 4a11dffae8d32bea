# SPDX-License-Identifier: Apache-2.0
"""Every entry that works on CUDA tensors works in the current stream.

ENTRIES has one row for each. On a GPU a row runs in a side stream whose input is still being made, and has to give what
it gives in the default stream. Without a GPU its tensors only say that they are on one, and what is handed to the
library is looked at. A test sees to it that no public name is forgotten."""

import functools
import itertools
import sys

import numpy as np
import pytest
from conftest import cuda, torch

import motley
from motley import _arrays as arrays
from motley import _native
from motley._core import ffi, lib

if torch is None:
    pytest.skip("needs torch", allow_module_level=True)

import motley.timm
import motley.torch
from motley import _images as images_module
from motley.follow import Boxes, Image, Mask, Points

try:
    import motley.torchvision
    from torchvision import transforms as T1
except ImportError:
    T1 = None

COUNT, IDS = 8, range(8)
HOW, MORE = ({"sample_ids": range(count), "epoch": 0} for count in (COUNT, COUNT + 1))
ROUNDS = 3
SLEEP = 40_000_000  # cycles, 20 ms or more
TRAIN = (
    "motley: 1\nname: whole\nstages:\n  - random_resized_crop: {size: 32}\n  - flip: {horizontal: 0.5}\n"
    "  - policy: rand_augment\n  - jitter: {brightness: 0.4, hue: 0.1}\n  - output: {mean: [0.5], std: [0.25]}\n"
    "  - erase: {p: 0.5, value: pixel}\n"
)
POINTS = "motley: 1\nname: moved\nbranches: [{op: rotate, value: 20}, flip_lr, {op: translate_x, value: 5}]\n"
ENTRIES, COVERED = {}, {}


class Inputs:
    """What rows take; all of it is copied while a row waits for it."""

    def __init__(self, device):
        rng = np.random.default_rng(5)
        put = functools.partial(torch.as_tensor, device=device)
        self.images = put(rng.integers(0, 256, (COUNT, 3, 40, 48), np.uint8))
        self.other = put(rng.integers(0, 256, (COUNT, 3, 40, 48), np.uint8))
        self.floats = put(rng.random((COUNT, 3, 40, 48), np.float32))
        self.masks = put(rng.integers(0, 300, (COUNT, 40, 48)))
        self.bytes = put(rng.integers(0, 20, (COUNT, 40, 48), np.uint8))
        self.boxes = put(np.tile(np.array([[2, 3, 20, 30], [10, 5, 40, 35]], np.float32), (COUNT, 1, 1)))
        self.points = put(rng.random((COUNT, 5, 2), np.float32) * 40)
        self.labels = put(rng.integers(0, 10, COUNT))
        self.levels = put(rng.random(COUNT, np.float32))

    def late(self):
        """Wrong values, and a function that makes them right on the current stream."""
        made = Inputs.__new__(Inputs)
        vars(made).update({name: torch.zeros_like(value) for name, value in vars(self).items()})

        def arrive():
            for name, value in vars(made).items():
                value.copy_(vars(self)[name])

        return made, arrive


def entry(name, *covers, only_cuda=False):
    """A row: a function of Inputs that returns tensors, in any tuples, lists and dictionaries. covers: the public names
    whose work it is; name's first word is one. only_cuda: on the CPU it goes another way."""

    def add(function):
        assert name not in ENTRIES
        ENTRIES[name] = pytest.param(function, only_cuda, id=name)
        for each in (name.split(" ")[0], *covers):
            COVERED.setdefault(each, []).append(name)
        return function

    return add


# ---- motley ----

NORMALISED = {"mean": 0.5, "std": 0.25, "dtype": "float16"}


def transform_entries(name, make, out=torch.empty_like):
    entry(f"{name} batch")(lambda x: make()(x.images, **HOW))
    entry(f"{name} image")(lambda x: make()(x.images[1], sample_ids=7, epoch=0))
    entry(f"{name} list")(lambda x: make()([*x.images, x.other[0, :, :30]], **MORE))
    entry(f"{name} views")(lambda x: make()(x.images, **HOW, views=2))
    entry(f"{name} out")(lambda x: make()(x.images, **HOW, out=out(x.images)))
    entry(f"{name} draws")(lambda x: make()(x.images, **HOW, return_draws=True)[0])
    entry(f"{name} replay")(lambda x: make().replay(x.images, make().draw(size=(40, 48), **HOW)))


def of_stages(images):
    return torch.empty(COUNT, 3, 32, 32, device=images.device)


for home in motley, motley.torch:
    name = f"{home.__name__}.Transform"
    transform_entries(name, lambda home=home: home.Transform("rand_augment", seed=3))
    transform_entries(f"{name} stages", lambda home=home: home.Transform(TRAIN, seed=3), of_stages)
    entry(f"{name} apply_")(lambda x, home=home: home.Transform("rand_augment", seed=3).apply_(x.images, **HOW))
for cls in (motley.RandAugment, motley.TrivialAugmentWide, motley.AutoAugment):
    entry(f"motley.{cls.__name__}")(lambda x, cls=cls: cls()(x.images, **HOW))
entry("motley.from_timm")(lambda x: motley.from_timm("rand-m9-mstd0.5-inc1")(x.images, **HOW))
entry("motley.from_timm augmix")(lambda x: motley.from_timm("augmix-m5-w3")(x.images, **HOW))
entry("motley.Transform normalised")(lambda x: motley.Transform("rand_augment", **NORMALISED)(x.images, **HOW))
LAST = {"memory_format": torch.channels_last, **NORMALISED}
entry("motley.Transform channels_last")(lambda x: motley.torch.Transform("rand_augment", **LAST)(x.images, **HOW))
CLIPS = {"sample_ids": motley.group_ids([3, 4], 4), "epoch": 0}
entry("motley.Transform clips")(lambda x: motley.Transform("rand_augment", clip_frames=4)(x.images, **CLIPS))
GIVEN = motley.Policy("rand_augment").change(level="given")
entry("motley.Transform levels", only_cuda=True)(lambda x: motley.Transform(GIVEN)(x.images, **HOW, levels=x.levels))
entry("motley.Transform counted")(lambda x: motley.Transform("rand_augment", seed=1)(x.images))
entry("motley.Transform expanded")(
    lambda x: motley.Transform("rand_augment")(x.images[:1].expand(4, -1, -1, -1), sample_ids=range(4), epoch=0)
)
entry("motley.torch.Transform eval")(lambda x: motley.torch.Transform("rand_augment", **NORMALISED).eval()(x.images))


def inverse():
    """The way back from draws of images of Inputs' size. Torch does its work: the library sees host memory only."""
    augment = motley.Transform(POINTS)
    return motley.Inverse(augment.draw(size=(40, 48), **HOW), augment)


entry("motley.Inverse images", only_cuda=True)(lambda x: inverse().images(x.floats, interpolation="bilinear"))
entry("motley.Inverse boxes", only_cuda=True)(lambda x: inverse().boxes(x.boxes))
entry("motley.Inverse points", only_cuda=True)(lambda x: inverse().points(x.points))


@entry("motley.torch.Transform counter", only_cuda=True)
def _(x):
    stage = motley.torch.Transform("rand_augment", seed=1).to(x.images.device)
    stage.set_epoch(3)
    return stage(x.images), stage(x.images, sample_ids=IDS), stage.counter


@entry("motley.torch.Transform compiled", only_cuda=True)
def _(x):
    if not hasattr(torch.library, "custom_op"):
        return x.images.clone()
    stage = motley.torch.Transform("rand_augment").to(x.images.device)
    ids = torch.arange(COUNT)
    return torch.compile(lambda images: stage(images, sample_ids=ids, epoch=0), backend="aot_eager", fullgraph=True)(
        x.images
    )


FLIP, MIXED = "motley: 1\nname: a\nstages: [flip: {horizontal: 0.5}]\n", TRAIN + "  - mix: {cutmix: 1, classes: 10}\n"
entry("motley.Transform pictures")(lambda x: motley.Transform(FLIP)(x.images, **HOW))
entry("motley.Transform mix")(lambda x: motley.Transform(MIXED)(x.images, **HOW, labels=x.labels))
for name, policy in ((name, motley.Policy(name)) for name in motley.Policy.names()):
    if not policy.whole or policy.takes_boxes or policy.mixes:  # which want boxes, or labels
        continue
    entry(f"motley.Transform {name}")(lambda x, name=name: motley.Transform(name)(list(x.images), **HOW))

entry("motley.Transform views batch")(lambda x: motley.Transform("dino")(x.images, **HOW))
entry("motley.Transform views list")(lambda x: motley.Transform("dino")(list(x.images), **HOW))
entry("motley.Transform views draws")(lambda x: motley.Transform("dino")(x.images, **HOW, return_draws=True))
entry("motley.Transform views out")(
    lambda x: motley.Transform("dino")(x.images, **HOW, out={"local": x.floats.new_empty(8 * COUNT, 3, 96, 96)})
)
for how in {"mixup": 1.0}, {"cutmix": 1.0}, {"cutmix": 1.0, "mode": "elem"}:
    label, mix = " ".join(f"{key}={value}" for key, value in how.items()), motley.mix(**how, classes=10)
    entry(f"motley.mix {label}")(lambda x, mix=mix: mix(x.floats, labels=x.labels, **HOW))
    entry(f"motley.mix bytes {label}")(lambda x, mix=mix: mix(x.images, labels=x.labels, **HOW, out=x.images))


@entry("motley.mix replay")
def _(x):
    mix = motley.mix(mixup=1.0, classes=10)
    return mix.replay(x.floats, mix.draw(COUNT, size=(40, 48), **HOW), labels=x.labels)


def sample_of(x, **more):
    return {"image": x.images, "mask": x.masks, "bytes": x.bytes, "other": x.other, **more}


PIXELS = {"mask": Mask(fill=255), "bytes": Mask(), "other": Image("bilinear", 7)}
FOLLOWING = {**PIXELS, "boxes": Boxes(drop=False), "points": Points()}


def follow_entries(name, make):
    def row(what, following, sample, **how):
        entry(f"{name} {what}", "motley.follow")(lambda x: motley.Follow(make(), following)(sample(x), **HOW, **how))

    def everything(x):
        return sample_of(x, boxes=list(x.boxes), points=list(x.points))

    def singly(x):
        return [{"image": a, "bytes": b, "points": c} for a, b, c in zip(x.images, x.bytes, x.points)]

    row("pixels", PIXELS, sample_of)
    row("boxes, points", FOLLOWING, everything)
    row("dropped boxes", {"boxes": Boxes(min_area=200)}, boxes_of)
    row("list", {"bytes": Mask(), "points": Points()}, singly)
    row("views", PIXELS, sample_of, views=2)

    @entry(f"{name} replay")
    def _(x):
        follow, sample = motley.Follow(make(), FOLLOWING), everything(x)
        return follow.replay(sample, follow(sample, **HOW, return_draws=True)[1])


def boxes_of(x):
    return {"image": x.images, "boxes": list(x.boxes)}


follow_entries("motley.Follow", lambda: motley.Transform(POINTS, seed=3))
follow_entries("motley.Follow transform", lambda: motley.Transform(TRAIN, seed=3))
DETECTION = motley.Follow("tf_auto_augment_detection_v0", {"boxes": Boxes()})
entry("motley.Follow detection")(lambda x: DETECTION(boxes_of(x), **HOW))

for name, row in motley.ops.table.items():
    if name == "bbox_cutout":  # of policies alone
        continue
    values = {0: None, 1: row.example, 6: [1, 0.1, 2, 0.1, 1, 3]}[row.values_min]
    if name.startswith(("translate", "cutout")):  # something of the image has to stay
        values /= 4
    entry(f"motley.ops.{name}", "motley.ops")(
        lambda x, name=name, values=values: getattr(motley.ops, name)(x.images, values)
    )
entry("motley.ops.apply in place")(lambda x: motley.ops.apply("rotate", x.images, 20, out=x.images))
entry("motley.ops.apply list")(lambda x: motley.ops.apply("rotate", list(x.images), list(IDS)))
entry("motley.ops.resize batch")(lambda x: motley.ops.resize(x.images, (24, 32)))
entry("motley.ops.resize image")(lambda x: motley.ops.resize(x.images[0], 24, filter="bicubic"))
entry("motley.ops.resize list")(
    lambda x: motley.ops.resize([*x.images, x.other[0, :, :30]], 24, flip=True, crop=(3, 2, 20, 25))
)
entry("motley.ops.resize out")(
    lambda x: motley.ops.resize(x.images, (24, 32), out=torch.empty_like(x.images[..., :24, :32].contiguous()))
)


@motley.custom_op("side_streams_invert")
def _invert(indices, images, values):
    for image in images:
        image.bitwise_xor_(255)


CUSTOM = "motley: 1\nname: own\nbranches: [[side_streams_invert, {op: rotate, value: 9}]]\n"
entry("motley.custom_op")(lambda x: motley.Transform(CUSTOM)(x.images, **HOW))


# ---- motley.torch, adapters ----


class Samples(torch.utils.data.Dataset):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return self.x.images[i], i


entry("motley.torch.Augmented")(
    lambda x: [motley.torch.Augmented(Samples(x), "rand_augment", views=2)[motley.torch.Index(i, 0)][0] for i in IDS]
)
for name, policy in ("policy", "rand_augment"), ("stages", TRAIN):
    collate = motley.torch.MotleyCollate(motley.Transform(policy, epoch=0), ids=1)
    entry(f"motley.torch.MotleyCollate {name}")(lambda x, collate=collate: collate([Samples(x)[i] for i in IDS])[0])


@entry("motley.torch.Prefetcher", only_cuda=True)
def _(x):
    stage = motley.torch.Transform("rand_augment", epoch=0, **NORMALISED).to(x.images.device)
    batches = [(x.images, torch.arange(COUNT)), (x.other, torch.arange(COUNT))]
    return [images for images, _ in motley.torch.Prefetcher(batches, stage, x.images.device, ids=1)]


@entry("motley.torch.Prefetcher counted", only_cuda=True)
def _(x):
    stage = motley.torch.Transform("rand_augment", seed=1).to(x.images.device)
    batches = [(x.images, x.labels), (x.other, x.labels)]
    return list(motley.torch.Prefetcher(batches, stage, x.images.device)), stage.counter


@entry("motley.adapters.columns")
def _(x):
    from motley.adapters.columns import Augment

    return Augment("rand_augment", ids="id", epoch=0)({"image": x.images, "id": list(IDS)})["image"]


# ---- motley.torchvision, motley.timm ----


def drawn_alike(call):
    """The same draws of torch's generator in each run."""

    def run(x):
        torch.manual_seed(3)
        return [call(x) for _ in range(2)]

    return run


if T1 is not None:
    homes = [motley.torchvision]
    if hasattr(motley.torchvision, "v2"):
        homes.append(motley.torchvision.v2)
    for home, name in itertools.product(homes, ("RandAugment", "TrivialAugmentWide", "AutoAugment", "AugMix")):
        entry(f"{home.__name__}.{name}")(drawn_alike(lambda x, cls=getattr(home, name): cls()(x.images)))

    @entry("motley.torchvision.fuse")
    @drawn_alike
    def _(x):
        crop, jitter = T1.RandomResizedCrop(32, antialias=True), T1.ColorJitter(0.4, hue=0.1)
        recipe = [crop, T1.RandomHorizontalFlip(), T1.RandAugment(), jitter, T1.RandomGrayscale(0.5)]
        fused = motley.torchvision.fuse(T1.Compose([*recipe, T1.GaussianBlur(5)]))
        assert not fused.not_taken
        return [fused(image) for image in x.images]

    if len(homes) > 1:

        @entry("motley.torchvision.v2.Compose", only_cuda=True)
        @drawn_alike
        def _(x):
            from torchvision import tv_tensors
            from torchvision.transforms import v2

            composed = motley.torchvision.v2.Compose([v2.RandomResizedCrop(32), v2.RandAugment()])
            assert not composed.not_taken
            return composed(tv_tensors.Image(x.images[0]), tv_tensors.Mask(x.bytes[0]))


entry("motley.timm.Mixup")(
    drawn_alike(lambda x: motley.timm.Mixup(1.0, 1.0, num_classes=10)(x.floats.clone(), x.labels))
)


@entry("motley.timm.create_transform", only_cuda=True)
@drawn_alike
def _(x):
    if "timm" not in sys.modules:
        pytest.importorskip("timm")
    made = motley.timm.create_transform(32, is_training=True, auto_augment="rand-m9-mstd0.5", use_prefetcher=True)
    return [made(image) for image in x.images]


# ---- the tests ----

# Public names that touch no CUDA tensors, or whose work another row has.
NOT_HERE = {
    "motley.AutoAugment": "auto_augment", "motley.RandAugment": "rand_augment", "motley.augmix": "from_timm augmix",
    "motley.TrivialAugmentWide": "trivial_augment_wide", "motley.Policy": "data",
    "motley.CustomOp": "what custom_op makes", "motley.draws": "numbers", "motley.group_ids": "numbers",
    "motley.adapters.libdali_motley": "the adapter's operator",  # where it has been built
    "motley.ops.table": "data", "motley.Targets": "labels, as data",
    "motley.padded": "torch's operations", "motley.Padded": "what padded returns",
    "motley.torch.Index": "a number", "motley.torch.Indexed": "adds ids", "motley.torch.Sampler": "a sampler",
    "motley.torch.list_images": "a list", "motley.torch.ask_for_queues": "sets a variable",
    "motley.torch.read_file": "bytes", "motley.torchvision.AutoAugmentPolicy": "torchvision's",
    "motley.torchvision.InterpolationMode": "torchvision's", "motley.torchvision.hand_back": "ends take_over",
    "motley.torchvision.take_over": "sets names", "motley.torchvision.Fused": "what fuse returns",
    "motley.torchvision.Compose": "what fuse returns",
    "motley.adapters.webdataset": "samples in a worker's memory",
    "motley.adapters.dali": "on DALI's stream: test_adapters.py", "motley.adapters.dali_flags": "compiler flags",
    "motley.ops.bbox_cutout": "works in boxes: the detection policies",
}  # fmt: skip


def public_names():
    import pkgutil

    import motley.adapters

    modules = [motley, motley.ops, motley.torch, motley.timm] + [motley.torchvision] * (T1 is not None)
    for module in modules:
        yield from (f"{module.__name__}.{name}" for name in module.__all__)
    yield from (f"motley.adapters.{module.name}" for module in pkgutil.iter_modules(motley.adapters.__path__))


def test_every_public_name_stands_in_the_table():
    names = {name for name in public_names() if name.rsplit(".", 1)[-1] != "__version__"}
    names -= {f"motley.{name}" for name in motley.__all__ if name.endswith("Error")}
    unsaid = names - COVERED.keys() - NOT_HERE.keys()
    assert not unsaid, f"want a row, or a reason in NOT_HERE: {sorted(unsaid)}"
    assert not NOT_HERE.keys() & COVERED.keys()


def tensors_in(made):
    if isinstance(made, torch.Tensor):
        yield made
    elif isinstance(made, dict):
        for value in made.values():
            yield from tensors_in(value)
    elif isinstance(made, (list, tuple)):
        for value in made:
            yield from tensors_in(value)


def copied(made):
    found = [tensor.detach().clone() for tensor in tensors_in(made)]
    assert found, "the row returns no tensors"
    return found


@pytest.mark.parametrize("call, only_cuda", ENTRIES.values())
def test_rows_repeat(call, only_cuda):
    """What the other tests take for granted: a row gives the same twice, and something of its inputs."""
    x = Inputs("cpu")
    one, other, none = copied(call(x)), copied(call(Inputs("cpu"))), copied(call(x.late()[0]))
    assert all(map(torch.equal, one, other))
    assert [a.shape for a in one] != [a.shape for a in none] or not all(map(torch.equal, one, none))


@cuda
@pytest.mark.parametrize("call, only_cuda", ENTRIES.values())
def test_work_goes_to_the_current_stream(call, only_cuda):
    x = Inputs("cuda")
    wanted = copied(call(Inputs("cuda")))
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    for turn in range(ROUNDS):
        with torch.cuda.stream(side):
            late, arrive = x.late()
            side.synchronize()
            torch.cuda._sleep(SLEEP)
            arrive()
            found = copied(call(late))
            del late
        side.synchronize()
        for i, (a, b) in enumerate(zip(found, wanted)):
            assert torch.equal(a, b), f"turn {turn}: result {i} of {len(wanted)} differs"
    torch.cuda.synchronize()


FAKE = 0x5EED
RAW = {"run_call": 3, "run_op": 5, "run_kept": 3, "motley_mix_apply": -2, "motley_mix_targets": -2}  # its place


class Watched:
    """The library, of which each call that takes a stream is noted."""

    def __init__(self):
        self.streams = []

    def __getattr__(self, name):
        function = getattr(lib, name)
        places = with_streams(name)
        if not places and name not in RAW:
            return function

        def call(*arguments):
            arguments = list(arguments)
            if name in RAW and arguments[0]:  # NULL: targets on the host, where there is no stream
                found = arguments[RAW[name]]
                self.streams.append((name, found if isinstance(found, int) else lib.address(found)))
                arguments[RAW[name]] = 0 if isinstance(found, int) else ffi.NULL
            for place in places:
                self.streams.append((name, lib.address(arguments[place].stream)))
                arguments[place].stream = ffi.NULL
            return function(*arguments)

        return call


@functools.lru_cache(maxsize=None)
def with_streams(name):
    """Which arguments of a function of the library are structs with a stream."""
    function = getattr(lib, name)
    kinds = ffi.typeof(function).args if callable(function) else ()
    structs = [kind.item.fields if kind.cname.endswith("_params *") else None for kind in kinds]
    return [i for i, fields in enumerate(structs) if name not in RAW and "stream" in dict(fields or ())]


@pytest.mark.parametrize("call, only_cuda", [row for row in ENTRIES.values() if not row.values[1]])
def test_the_current_stream_is_handed_to_the_library(call, only_cuda, monkeypatch):
    """Without a GPU: tensors say that they are on one, and the library is told which stream."""
    look, context_of, watched = arrays.Torch.look, _native.context_of, Watched()

    def elsewhere(cls, x):
        *found, device = look(x)
        return (*found, 0 if x.dim() > 2 and device is None else device)

    monkeypatch.setattr(arrays.Torch, "look", classmethod(elsewhere))
    monkeypatch.setattr(arrays.Torch, "stream_of", staticmethod(lambda device: lambda: FAKE))
    monkeypatch.setattr(arrays.Torch, "captures", staticmethod(lambda device: False))
    monkeypatch.setattr(_native, "context_of", lambda device, threads=None: context_of(None, 1))
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(_native.local, "calls", {})
    for module in [module for name, module in sys.modules.items() if name.split(".")[0] == "motley"]:
        if getattr(module, "lib", None) is lib and module is not images_module:
            monkeypatch.setattr(module, "lib", watched)
    monkeypatch.setattr("motley.custom._array", lambda image, channels, module, device: _host(image, channels))
    call(Inputs("cpu"))
    assert watched.streams and {stream for _, stream in watched.streams} == {FAKE}, watched.streams


def _host(image, channels):
    from motley.custom import _Memory

    return torch.from_numpy(np.asarray(_Memory(image, channels, False))).permute(2, 0, 1)
