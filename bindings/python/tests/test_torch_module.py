# SPDX-License-Identifier: Apache-2.0
"""motley.torch.Transform: motley.Transform as a module, and as an operator that torch compiles."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")
from conftest import needs_shown, DEVICES, cuda, refused  # noqa: E402

import motley  # noqa: E402
import motley.torch  # noqa: E402
from motley import _images as kinds  # noqa: E402
from motley.torch import Transform  # noqa: E402

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
needs_operators = pytest.mark.skipif(
    not hasattr(torch.library, "custom_op"), reason=f"torch {torch.__version__} has no torch.library.custom_op"
)


def pictures(count=12, channels=3, height=20, width=24, seed=1):
    random = torch.Generator().manual_seed(seed)
    ramp = torch.arange(width).expand(count, channels, height, width) * 8
    noise = torch.randint(60, (count, channels, height, width), generator=random)
    return (ramp + noise).clamp(0, 255).to(torch.uint8)


def augmented(images, ids, seed=7, epoch=0, policy="rand_augment"):
    """The bytes that sample ids get, from the core package."""
    return motley.Transform(policy, seed=seed, epoch=epoch)(images, sample_ids=ids)


# ---- the stage ----


@pytest.mark.parametrize("device", DEVICES)
def test_stage_counts_as_the_core_stage(device):
    images, core = pictures().to(device), motley.Transform("trivial_augment_wide", seed=5)
    stage = Transform(core, seed=5).to(device)
    for _ in range(3):
        assert torch.equal(stage(images), core(images))
    kept = stage.state_dict()
    assert stage.epoch is None and kept["_extra_state"].tolist() == [1, 5, 36, -1]
    resumed = Transform(core, seed=5).to(device)
    resumed.load_state_dict(copy.deepcopy(kept))
    assert torch.equal(stage(images), resumed(images))
    stage.set_epoch(4)
    core.set_epoch(4)
    ids = torch.arange(12)
    assert torch.equal(stage(images, sample_ids=ids), core(images, sample_ids=ids)) and stage.epoch == 4
    counted = stage.state_dict()["_extra_state"].tolist()
    stage.eval()(images)
    assert stage.state_dict()["_extra_state"].tolist() == counted == [1, 5, 48, 4]


def test_stage_copies_and_pickles():
    images, ids = pictures(), torch.arange(12)
    stage = Transform(motley.RandAugment(1, 5, fill=9), mean=MEAN, std=STD, dtype=torch.float16, seed=3)
    stage.set_epoch(6)
    for again in (copy.copy(stage), copy.deepcopy(stage), pickle.loads(pickle.dumps(stage))):
        stage._words.count = again._words.count
        assert torch.equal(again(images, sample_ids=ids, epoch=0), stage(images, sample_ids=ids, epoch=0)) and repr(
            again
        ) == repr(stage)
        assert torch.equal(again(images), stage(images))
        again.set_epoch(7)
        assert again.epoch == 7
    assert "rand_augment" in repr(stage)


# ---- tensors without memory, and graphs that are recorded ----


class Model(torch.nn.Module):
    def __init__(self, **settings):
        super().__init__()
        self.stage = Transform("rand_augment", seed=7, normalize=(0.5, 0.25), **settings)

    def forward(self, images, ids):
        return self.stage(images, sample_ids=ids, epoch=0) + 1


@needs_operators
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("strict", [True, False])
def test_exports_as_one_operator(strict, training):
    model, images, ids = Model().train(training), pictures(), torch.arange(12)
    wanted = model(images, ids)
    exported = torch.export.export(model, (images, ids), strict=strict)
    assert sum("motley.augment" in str(node.target) for node in exported.graph.nodes) == 1
    assert torch.equal(exported.module()(images, ids), wanted)


def fake_pictures():
    fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor")
    mixed = {"allow_non_fake_inputs": True} if hasattr(torch.library, "custom_op") else {}
    return fake_tensor.FakeTensorMode(**mixed).from_tensor(pictures())


@needs_operators
def test_fake_tensors_have_the_shape_of_the_result():
    images = fake_pictures()
    with images.fake_mode:
        stage = Transform("rand_augment", normalize=(0.5, 0.25), memory_format=torch.channels_last)
        made = stage(images)
    assert type(made) is type(images) and made.shape == images.shape and made.dtype == torch.float32
    assert made.is_contiguous(memory_format=torch.channels_last)
    assert Transform("rand_augment")(images, sample_ids=torch.arange(12), epoch=0).dtype == torch.uint8


@pytest.mark.parametrize("call", [
    lambda x: motley.RandAugment()(x),
    lambda x: motley.Transform("torchvision_train")(x),
    lambda x: motley.mix(mixup=0.2, classes=3)(x, labels=[0] * 12),
    lambda x: Transform("rand_augment")(x, return_draws=True),
    lambda x: motley.ops.rotate(x, 30),
], ids=["stage", "transform", "mix", "draws", "ops"])  # fmt: skip
def test_fake_tensors_are_refused_by_name(call):
    with pytest.raises(
        motley.ArgumentError,
        match="a FakeTensor stands for an array in torch's FakeTensorMode or torch.export, and has no numbers yet",
    ):
        call(fake_pictures())


@pytest.mark.skipif(not hasattr(torch.device("cpu"), "__enter__"), reason="this torch.device is no context")
def test_a_model_that_is_built_on_the_meta_device_counts_on_the_cpu():
    with torch.device("meta"):
        model, transform = Model(), motley.torch.Transform("torchvision_train", seed=7)
    assert model.stage.counter.device.type == transform.counter.device.type == "cpu"
    images, ids = pictures(), torch.arange(12)
    assert torch.equal(model(images, ids), Model()(images, ids))
    model.stage(images)
    refused("the tensor is on 'meta', want the CPU or CUDA", model.stage, images.to("meta"), sample_ids=ids, epoch=0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("of", ["module", "stage", "transform", "ops"])
def test_a_trace_is_refused(of):
    """It would record memory that nobody has written to."""
    core, transform = motley.RandAugment(), motley.Transform("torchvision_train")
    calls = {"stage": core, "transform": transform, "ops": lambda x: motley.ops.rotate(x, 30)}
    images = pictures()
    if of == "module":
        traced, inputs = Model().eval(), (images, torch.arange(12))
    else:
        traced, inputs = (lambda x: calls[of](x)), (images,)
    traced(*inputs)  # a call of this shape is kept from here on
    with pytest.raises(motley.UnsupportedError, match="torch.jit.trace cannot record augmentation"):
        torch.jit.trace(traced, inputs, check_trace=False)


@pytest.mark.skipif(not hasattr(torch, "func"), reason="this torch has no torch.func")
@pytest.mark.parametrize(
    "call",
    [motley.RandAugment(), Transform("rand_augment"), motley.Transform("torchvision_train")],
    ids=["core", "module", "transform"],
)
def test_vmap_is_refused_by_name(call):
    refused("no memory of its own, as in torch.func.vmap", torch.func.vmap(call), pictures())


def test_images_that_require_grad_are_not_mixed():
    """What comes back would have no gradient."""
    mix, images = motley.mix(mixup=0.2, classes=3, seed=7), pictures().float()
    wanted = mix(images, labels=[0] * 12, sample_ids=range(12), epoch=0)[0]
    images.requires_grad_()
    refused(r"the images require grad, .* want images.detach\(\)", mix, images, labels=[0] * 12)
    assert torch.equal(mix(images.detach(), labels=[0] * 12, sample_ids=range(12), epoch=0, view=0)[0], wanted)
    with torch.no_grad():
        mix(images, labels=[0] * 12)


# ---- torch.compile ----


@needs_operators
@pytest.mark.parametrize("device,backend", [("cpu", "aot_eager"), pytest.param("cuda", "inductor", marks=cuda)])
def test_compiles_as_one_graph(device, backend):
    """fullgraph, equal to eager, and one compilation for all epochs and steps."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    images = pictures().to(device)
    eager = Transform("rand_augment", mean=MEAN, std=STD, dtype=torch.float32, seed=7).to(device)
    staged = copy.deepcopy(eager)
    compiled = torch.compile(lambda x, ids=None: 2 * staged(x, sample_ids=ids) + 1, fullgraph=True, backend=backend)
    runs, seen = torch._dynamo.utils.counters["stats"], []
    for _ in range(6):
        seen.append(compiled(images).cpu().numpy().tobytes())
    assert runs["unique_graphs"] == 1 and len({*seen}) == 6
    assert staged.state_dict()["counter"].tolist() == [0, 72]
    staged.counter[1] = 0
    assert compiled(images).cpu().numpy().tobytes() == seen[0]
    ids = torch.arange(12)
    for numbers in (ids, torch.stack([ids, ids % 2, 0 * ids + 3], 1)):  # of a Sampler, with their epoch
        for stage in (eager, staged):
            stage.set_epoch(1)
        assert torch.equal(compiled(images, numbers), 2 * eager(images, sample_ids=numbers) + 1)


@needs_operators
def test_a_compiled_module_without_a_seed_draws_by_torchs_generator():
    torch._dynamo.reset()
    images, stage = pictures(), Transform("trivial_augment_wide")
    compiled, seen = torch.compile(stage, fullgraph=True, backend="aot_eager"), []
    for _ in range(4):
        seen.append(compiled(images).numpy().tobytes())
    assert len({*seen}) == 4
    torch.manual_seed(3)
    again = compiled(images)
    torch.manual_seed(3)
    assert torch.equal(compiled(images), again)
    torch.manual_seed(3)
    assert torch.equal(stage(images), again)
    refused("sample_ids are given, but no epoch", compiled, images, sample_ids=torch.arange(12), error=Exception)


@needs_operators
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("ids", [None, torch.arange(12)], ids=["counted", "ids"])
@pytest.mark.parametrize("channels_last", [False, True])
def test_operator_is_registered_right(device, ids, channels_last):
    images = pictures().to(device)
    counter = torch.zeros(2, dtype=torch.int64, device=device)
    stage = Transform(
        "rand_augment",
        mean=MEAN,
        std=STD,
        dtype=torch.float16,
        output_layout="channels_last" if channels_last else None,
    )
    for transform in stage, Transform("torchvision_train"):
        arguments = images, counter, ids, None, None, 0, 1, 0, transform._text, "chw", True, 7, None
        torch.library.opcheck(motley.torch.module._augment, arguments)


# ---- CUDA ----


@cuda
def test_a_replayed_graph_makes_new_draws():
    stage = Transform("trivial_augment_wide", seed=7).cuda()
    images = pictures().cuda()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        stage(images)  # what is made on first use
    torch.cuda.current_stream().wait_stream(side)
    graph, ids = torch.cuda.CUDAGraph(), torch.arange(12)
    with torch.cuda.graph(graph):
        out = stage(images)
    seen = []
    for _ in range(4):
        graph.replay()
        seen.append(out.cpu().numpy().tobytes())
    assert len({*seen}) == 4 and stage.counter[1] == 48
    graph = torch.cuda.CUDAGraph()
    stage.set_epoch(2)
    with torch.cuda.graph(graph):
        out = stage(images, sample_ids=ids)
    core = motley.Transform("trivial_augment_wide", seed=7)
    for epoch in 2, 3:
        stage.set_epoch(epoch)
        graph.replay()
        assert torch.equal(out, core(images, sample_ids=ids, epoch=epoch))
    for wrong in motley.Transform("rand_augment"), motley.Transform("torchvision_train"):
        graph = torch.cuda.CUDAGraph()
        with pytest.raises(motley.UnsupportedError, match="a CUDA graph is being captured"), torch.cuda.graph(graph):
            wrong(images)


class Following:
    """A Follow, called with images."""

    def __init__(self, policy):
        self.follow = motley.Follow(policy, {"other": motley.follow.Image()} if policy == "rand_augment" else {})

    def __call__(self, images, **which):
        sample = self.follow({"image": images, "other": images}, **which)
        if "image" in sample:
            return sample["other"]
        views = {name: own if isinstance(own, tuple) else (own,) for name, own in sample.items()}
        return {name: tuple(one["image"] for one in own) for name, own in views.items()}


@cuda
@pytest.mark.parametrize("make", [
    lambda: Transform("rand_augment"), lambda: motley.Transform("torchvision_train"), lambda: motley.Transform("dino"),
    lambda: Transform("mobileone_train"), lambda: Following("mobileone_train"), lambda: Following("dino"),
    lambda: Following("rand_augment"),
], ids=["drawn", "stages", "views", "epochs", "follow epochs", "follow views", "follow image"])  # fmt: skip
def test_graphs_of_images_that_nobody_else_holds(make):
    """torch gives memory that is not held back to the device when the next graph is captured."""
    graphs, ids = [], list(range(12))
    for seed in (1, 2):
        images = pictures(height=400, width=500, seed=seed).cuda()
        stage = make()
        want = stage(images, sample_ids=ids, epoch=1)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = stage(images, sample_ids=ids, epoch=1)
        graphs.append((graph, stage, out, want))
        del images
    for graph, _, out, want in graphs * 2:
        graph.replay()
        torch.cuda.synchronize()
        for one, other in zip(*(list(x.values()) if isinstance(x, dict) else [x] for x in (out, want))):
            assert torch.equal(torch.cat(one), torch.cat(other)) if isinstance(one, tuple) else torch.equal(one, other)


def test_what_a_graph_captured_is_not_copied(monkeypatch):
    monkeypatch.setattr(kinds.Torch, "captures", lambda device: True)
    stage, images = Transform("rand_augment"), pictures()
    stage(images)
    stage._captured.keep(("torch", None), images)
    assert not stage._captured  # of the CPU
    stage._captured.keep(("torch", 0), images, None)
    assert stage._captured[0][0] is images
    copies = copy.copy(stage), copy.deepcopy(stage), pickle.loads(pickle.dumps(stage))
    assert all(made._captured == [] for made in copies) and stage._captured
    before = object.__new__(Transform)  # as one is read that an earlier version has pickled
    before.__setstate__({name: value for name, value in vars(stage).items() if name != "_captured"})
    before(images)
    motley.Follow(before, {"mask": motley.follow.Mask()})({"image": images, "mask": torch.zeros(len(images), 20, 24)})
    assert before._captured == []


@pytest.mark.parametrize("policy", ["mobileone_train", "dino", "torchvision_train", "rand_augment"])
def test_what_is_made_of_a_transform_keeps_there_what_graphs_captured(policy, monkeypatch):
    """Calls for an epoch, a view, other images or recorded draws run by transforms that nobody holds."""
    owners, run = [], motley.Transform._run
    monkeypatch.setattr(
        motley.Transform, "_run", lambda self, *how, **more: owners.append(self) or run(self, *how, **more)
    )
    transform, which = motley.Transform(policy), {"sample_ids": [1, 2], "epoch": 3}
    images, masks = pictures(2), torch.zeros(2, 20, 24, dtype=torch.int64)
    follow = motley.Follow(transform, {"other": motley.follow.Image(), "mask": motley.follow.Mask()})
    if not transform.policy.to_rgb:
        _, draws = follow({"image": images, "other": images, "mask": masks}, **which, return_draws=True)
        if not transform.policy.scheduled:
            follow.replay({"image": images, "other": images, "mask": masks}, draws)
    transform(images, **which, views=2)
    for _, _, own in transform.by_view(3).values():
        own(images, **which)
    made = [owner for owner in (*owners, transform._of_alpha(True)) if owner is not transform]
    assert len(made) > 1 and all(owner._captured is transform._captured for owner in made)


def test_what_moves_with_images_is_kept_with_them(monkeypatch):
    kept = []
    monkeypatch.setattr(kinds.Captured, "keep", lambda self, caller, *held: kept.append((self, held)))
    follow, mask = motley.Follow("rand_augment", {"mask": motley.follow.Mask()}), torch.zeros(20, 24)
    follow({"image": pictures(1)[0], "mask": mask})
    assert [held[0].value for captured, held in kept if captured is follow.transform._captured] == [mask]


def test_the_seed_is_state():
    stage = motley.torch.Transform("rand_augment", seed=2**64 - 3)
    other = motley.torch.Transform("rand_augment", seed=7)
    other.load_state_dict(stage.state_dict())
    assert other.seed == stage.seed


def test_kept_calls_are_bounded():
    from motley import _native

    stage = motley.torch.Transform("rand_augment")
    for width in range(1, _native.KEPT + 40):
        stage(torch.zeros(1, 1, 1, width, dtype=torch.uint8))
    assert len(_native.local.calls) <= _native.KEPT


def test_either_stages_words():
    how = {"dtype": "float16", "output_layout": "channels_last", "layout": "hwc"}
    stage = motley.torch.Transform("rand_augment", normalize=(0.5, 0.25), **how)
    assert stage.mean == (0.5,) and stage.std == (0.25,) and stage.dtype == torch.float16
    assert stage.memory_format == torch.channels_last and stage.layout == "hwc"
    assert "seed" not in repr(stage) and "dtype='float16'" in repr(stage)
    assert "views=2" in repr(Transform("rand_augment", views=2))
    refused("layout is 'hw', want 'nchw' or 'nhwc'", Transform, "rand_augment", layout="hw")


# ---- one stage ----


def test_torchs_stage_is_motleys():
    """What one takes, the other takes, with the same bytes."""
    stage, core = Transform("rand_augment", seed=7), motley.Transform("rand_augment", seed=7)
    assert isinstance(stage, motley.Transform) and isinstance(stage, torch.nn.Module)
    images, ids = pictures(), torch.arange(12)
    calls = [
        lambda s: s(images, sample_ids=ids, epoch=0, view=3),
        lambda s: s(images, sample_ids=ids, epoch=4, seed=9),
        lambda s: s(images, sample_ids=ids, epoch=0, views=3)[2],
        lambda s: s(list(images), sample_ids=ids, epoch=0)[5],
        lambda s: s(images.numpy(), sample_ids=ids, epoch=0, layout="nchw"),
        lambda s: s.apply_(images.clone(), sample_ids=ids, epoch=0),
        lambda s: s(images[2], sample_ids=5, epoch=0),
        lambda s: s(images, return_draws=True)[0],
        lambda s: s(images, sample_ids=ids, epoch=0, out=torch.empty_like(images)),
        lambda s: s.replay(images, core.draw(12, size=(20, 24))),
    ]
    for call in calls:
        for one, other in zip(call(stage), call(core)):
            assert torch.equal(torch.as_tensor(one), torch.as_tensor(other))
    assert stage.draw(4) == core.draw(4) and stage._words.count == core._words.count == 12


def test_nhwc_is_seen_as_nchw_but_in_place():
    images, ids = pictures().permute(0, 2, 3, 1).contiguous(), torch.arange(12)
    stage = Transform("rand_augment", seed=7, layout="nhwc")
    want = augmented(pictures(), ids)
    draws = motley.Transform("rand_augment", seed=7).draw(12, size=(20, 24), sample_ids=ids, epoch=0)
    assert torch.equal(stage(images, sample_ids=ids, epoch=0), want) and torch.equal(
        stage(images[3], sample_ids=3, epoch=0), want[3]
    )
    assert torch.equal(stage(images, sample_ids=ids, epoch=0, out=torch.empty_like(want)), want)
    assert torch.equal(stage.replay(images, draws), want)
    assert stage(images, sample_ids=ids, epoch=0, out=images) is images and torch.equal(
        images.permute(0, 3, 1, 2), want
    )


@pytest.mark.parametrize("device", DEVICES)
def test_the_core_stage_counts_in_a_counter(device):
    """An array of the caller's has the epoch and the next sample, here and on the device."""
    images = pictures().to(device)
    counter, ids = torch.tensor([2, 5], device=device), 3 + torch.arange(12)
    stage = motley.Transform("trivial_augment_wide", seed=7, counter=counter)
    core = motley.Transform("trivial_augment_wide", seed=7)
    for epoch in (2, 3):
        stage.set_epoch(epoch)
        core.set_epoch(epoch)
        assert torch.equal(stage(images, sample_ids=ids), core(images, sample_ids=ids))
        assert torch.equal(stage(images[3], sample_ids=40), core(images[3], sample_ids=40))
    assert not torch.equal(stage(images), stage(images)) and counter.tolist() == [3, 29]
    assert stage.state_dict() == {"seed": 7, "count": 29, "epoch": 3}
    again = stage(images)
    stage.load_state_dict({"seed": 7, "count": 29, "epoch": 3})
    assert torch.equal(stage(images), again)
    wanted = [stage.draw(12, size=(images.shape[-2:]), view=view) for view in (0, 1)]
    first, second = stage(images, views=2)  # counted once, on the device behind both
    assert torch.equal(first, stage.replay(images, wanted[0])) and torch.equal(second, stage.replay(images, wanted[1]))
    assert counter.tolist() == [3, 53]
    for count in (65, 77):  # draws that the host must know
        wanted = stage.draw(12, size=images.shape[-2:])
        assert stage(images, return_draws=True)[1] == wanted and counter.tolist() == [3, count]


@needs_operators
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_the_core_stage_under_compile():
    """It breaks the graph, and draws and counts as ever."""
    torch._dynamo.reset()
    images, stage = pictures(), motley.Transform("rand_augment", seed=7)
    core = copy.copy(stage)
    compiled = torch.compile(lambda x, ids=None: 2 * stage(x, sample_ids=ids, epoch=0) + 1, backend="aot_eager")
    for _ in range(2):
        assert torch.equal(compiled(images), 2 * core(images) + 1)
        assert torch.equal(
            compiled(images, torch.arange(12)), 2 * core(images, sample_ids=torch.arange(12), epoch=0) + 1
        )
    assert stage._words.count == 24


def described(batch, layout):
    source = kinds.source_of(batch, layout)
    source.require_dtype()
    table = kinds.ffi.new("motley_batch *")
    source.describe(table[0])
    rows = []
    for image in table.images[0 : table.count]:
        steps = zip((image.row_stride, image.pixel_stride, image.channel_stride),
                    (image.height, image.width, table.channels))  # fmt: skip
        steps = [step if count > 1 else None for step, count in steps]  # of one entry there is no next
        rows.append((image.data, image.width, image.height, *steps))
    return source, rows, (table.count, table.channels, table.dtype), source.sizes()


ODD = torch.arange(40 * 50 * 4, dtype=torch.uint8).reshape(40, 50, 4)


@pytest.mark.parametrize(
    "layout, batch",
    [
        ("hwc", [ODD[i : i + 20, 3 : 9 + i, :3] for i in range(7)]),
        ("hwc", tuple(ODD[::2, ::3, 1:4] for _ in range(3))),
        (None, [ODD[:, :i].permute(2, 0, 1) for i in range(1, 5)]),
        ("chw", [ODD.permute(2, 1, 0)[1:2], ODD.permute(2, 0, 1)[3:]]),
        ("hw", [ODD[:, :, 2], ODD[3:, 5:, 0]]),
    ],
)
def test_lists_are_described_as_their_tensors_are_one_by_one(monkeypatch, layout, batch):
    needs_shown(batch[0])
    at_once = described(batch, layout)
    assert at_once[0]._parts is None
    monkeypatch.setattr(kinds.Torch, "found_by", staticmethod(lambda cls: None))
    one_by_one = described(batch, layout)
    assert one_by_one[0]._parts is not None
    assert one_by_one[1:] == at_once[1:]


@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_of_results_are_described_at_once(kind):
    batch = kind([ODD[:, :, :3].permute(2, 0, 1), ODD[:7, :9, 1:].permute(2, 0, 1)])
    source = kinds.source_of(batch, None)
    target = source.output()
    made = target.result(source)
    assert type(made) is kind
    assert [x.stride() for x in made] == [torch.empty_like(x).stride() for x in batch]
    stage = motley.Transform("rand_augment", seed=2)
    for one, alone in zip(
        stage(batch, sample_ids=[4, 5], epoch=0), [stage(x, sample_ids=i, epoch=0) for i, x in enumerate(batch, 4)]
    ):
        assert torch.equal(one, alone)


@pytest.mark.parametrize(
    "odd, wanted",
    [
        (ODD[:0], "want pixels"),
        (ODD.float(), "is float32, image 0 uint8"),
        (ODD[:, :, :2], "has 2 channels, image 0 has 4"),
        (ODD.numpy(), "is a NumPy array, image 0 a torch tensor"),
        (ODD[None], "is itself a batch"),
        (ODD[:, :, 0], "want 3 axes"),
        (ODD.to_sparse(), "a sparse or nested tensor"),
        ([ODD], "is itself a batch"),
    ],
)
def test_a_list_with_one_odd_tensor_is_refused(odd, wanted):
    refused(wanted, motley.Transform("torchvision_train", layout="hwc"), [ODD, ODD, odd])
