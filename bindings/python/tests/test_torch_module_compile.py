# SPDX-License-Identifier: Apache-2.0
"""Functions that torch compiles in a process that has made no call before: what an eager call makes hides a fault."""

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
if not hasattr(torch.library, "custom_op"):
    pytest.skip(f"torch {torch.__version__} has no torch.library.custom_op", allow_module_level=True)
from conftest import refused  # noqa: E402

import motley  # noqa: E402
from motley.torch import Transform  # noqa: E402

# Of each case: what makes its objects, the compiled call, and whether fullgraph=True takes it.
CASES = {
    "drawn": ("t = T('rand_augment', seed=7)", "t(x, sample_ids=ids, epoch=3)", True),
    "normalised": ("t = T('rand_augment', mean=0.5, std=0.25, output_layout='channels_last')",
                   "t(x, epoch=2)", True),
    "seed": ("t = T('trivial_augment_wide')", "t(x, sample_ids=ids, epoch=1, seed=2**64 - 5)", True),
    "views": ("t = T('rand_augment', seed=7)", "t(x, sample_ids=pairs, epoch=1, views=2)[1]", True),
    "views of the transform": ("t = T('rand_augment', views=2)", "t(x, sample_ids=pairs, epoch=1)[1]", True),
    "views, counted": ("t = T('rand_augment', seed=7, counter=torch.tensor([0, 5]))",
                       "torch.cat([*t(x, views=2), *t(x, views=2)])", True),
    "view of each": ("t = T('rand_augment')", "t(x, sample_ids=ids, epoch=1, view=torch.arange(4))", True),
    "clip": ("t = T('rand_augment', clip_frames=2)", "t(x, sample_ids=torch.zeros(4, dtype=int), epoch=1)", True),
    "one image": ("t = T('rand_augment')", "t(x[1], sample_ids=5, epoch=1)", True),
    "NHWC": ("t = T('rand_augment', layout='nhwc')", "t(x.permute(0, 2, 3, 1), sample_ids=ids, epoch=1)", True),
    "eval": ("t = T('rand_augment', mean=0.5, std=0.25).eval()", "t(x)", True),
    "stages": ("t = T('torchvision_train', seed=7)", "t(x, sample_ids=ids, epoch=3)", True),
    "stages, counted": ("t = T('torchvision_train', dtype='float16')", "t(x)", True),
    "stages, one image": ("t = T('torchvision_train')", "t(x[0], sample_ids=3, epoch=1)", True),
    "stages, NHWC": ("t = T('torchvision_train', layout='nhwc')",
                     "t(x.permute(0, 2, 3, 1), sample_ids=ids, epoch=1)", True),
    "stages, hwc": ("t = T('{motley: 1, name: r, stages: [{resize: {size: [8, 9]}}, {output: {mean: 0.5, std: 0.5, "
                    "layout: hwc}}]}')", "t(x, sample_ids=ids, epoch=1)", True),
    "stages, bytes": ("t = T('{motley: 1, name: f, stages: [{flip: {horizontal: 0.5}}]}')",
                      "t(x, sample_ids=ids, epoch=1)", True),
    "to_rgb": ("t = T('{motley: 1, name: g, stages: [to_rgb: {}, {policy: rand_augment}]}')",
               "t(x[:, :1], sample_ids=ids, epoch=1)", True),
    "stages, eval": ("t = T('torchvision_eval').eval()", "t(x)", True),
    "levels": ("t = T(GIVEN)", "t(x, sample_ids=ids, epoch=1, levels=torch.linspace(0, 1, 4))", True),
    "one level": ("t = T(GIVEN)", "t(x, sample_ids=ids, epoch=1, levels=0.5)", True),
    "levels, eval": ("t = T(GIVEN).eval()", "t(x, levels=0.5)", True),
    "list": ("t = T('torchvision_train')", "t([x[0], x[1, :, :40]], sample_ids=[1, 2], epoch=1)", False),
    "out": ("t = T('rand_augment')", "t(x, sample_ids=ids, epoch=1, out=torch.empty_like(x))", False),
    "in place": ("t = T('rand_augment')", "t.apply_(x.clone(), sample_ids=ids, epoch=1)", False),
    "generator": ("t = T('rand_augment', generator=torch.Generator().manual_seed(5))", "t(x)", False),
    "draws": ("t = T('rand_augment')", "t(x, sample_ids=ids, epoch=1, return_draws=True)[0]", False),
    "mixed": ("t = T('{motley: 1, name: m, stages: [{resize: {size: [8, 8]}}, {mix: {mixup: 0.2, classes: 100}}]}')",
              "t(x, labels=ids, sample_ids=ids, epoch=1)[1]", False),
    "no module": ("t = motley.Transform('rand_augment')", "t(x, sample_ids=ids, epoch=1)", False),
    "no module, stages": ("t = motley.Transform('torchvision_train')", "t(x, sample_ids=ids, epoch=1)", False),
    "named views": ("t = T('dino', seed=7)", "join(t(x, sample_ids=ids, epoch=1))", True),
    "named views, counted": ("t = T('dino')", "join(t(x))", True),
    "named views, one image": ("t = T('dino')", "t(x[0], sample_ids=3, epoch=1)['local'][7]", True),
    "named views, channels_last": ("t = T('dino', output_layout='channels_last')",
                                   "t(x, sample_ids=ids, epoch=1)['local'][5]", True),
    "named views, shared": ("t = T('data2vec2')", "join(t(x, sample_ids=pairs, epoch=1))", True),
    "named views, eval": ("t = T('dino').eval()", "join(t(x))", True),
    "schedules": ("t = T('mobileone_train')", "t(x, sample_ids=ids, epoch=40)", True),
    "schedules, set": ("t = T('mobileone_train', epoch=40)", "t(x, sample_ids=ids)", True),
    "schedules, rows": ("t = T('mobileone_train')",
                        "t(x, sample_ids=torch.stack([ids, 0 * ids, 0 * ids + 40], 1))", False),
    "no module, views": ("t = motley.Transform('dino')", "t(x, sample_ids=ids, epoch=1)['global_1']", False),
    "ops": ("", "motley.ops.rotate(x, 30)", False),
    "ops without values": ("", "motley.ops.invert(x)", False),
    "resize": ("", "motley.ops.resize(x, (8, 9))", False),
}  # fmt: skip
WHY = "Motley works in C, which torch.compile cannot trace. Want a motley.torch.Transform that is called with one uint8"

# A child for each case: this process imports, and calls nothing. What is compiled comes first; the eager call after it
# takes another object.
SCRIPT = """
import json, os, sys, traceback
import torch
import torch._dynamo, torch._inductor
import motley, motley.torch
from motley.torch import Transform as T
GIVEN = motley.Policy("trivial_augment_wide").change(level="given")
x = torch.randint(256, (4, 3, 48, 56), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
ids = torch.arange(4) * 5
pairs = torch.stack([ids, ids % 3], 1)

def join(views):
    return torch.cat([one.flatten() for own in views.values() for one in (own if isinstance(own, tuple) else [own])])

def run(make, call, compiler):
    made = {**globals()}
    exec(make, made)
    exec(f"def call(x): return {call} + 1", made)
    torch.manual_seed(3)  # by which draws without ids go
    return compiler(made["call"])(x)

def compare(make, call, fullgraph, backend):
    compiled = run(make, call, lambda call: torch.compile(call, fullgraph=fullgraph, backend=backend))
    eager = run(make, call, lambda call: call)
    assert compiled.dtype == eager.dtype and compiled.shape == eager.shape, (compiled.shape, eager.shape)
    assert compiled.stride() == eager.stride(), (compiled.stride(), eager.stride())
    assert torch.equal(compiled, eager)

for case in json.load(sys.stdin):
    reading, writing = os.pipe()
    if child := os.fork():
        os.close(writing)
        with open(reading) as said:
            print(json.dumps(said.read()), flush=True)
        os.waitpid(child, 0)
    else:
        said = "died"
        try:
            compare(*case)
            said = ""
        except BaseException:
            said = traceback.format_exc()
        with open(writing, "w") as to:
            to.write(said)
        os._exit(0)
"""


def cold(cases):
    """Of each (make, call, fullgraph, backend) what went wrong."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT], input=json.dumps(cases), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return list(map(json.loads, done.stdout.splitlines()))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_cold_process_compiles_to_the_bytes_of_eager(backend):
    said = cold([(*case, backend) for case in CASES.values()])
    wrong = {name: why[-1500:] for name, why in zip(CASES, said) if why}
    assert len(said) == len(CASES) and not wrong, "\n".join(f"{name}: {why}" for name, why in wrong.items())


@pytest.mark.slow
def test_fullgraph_says_what_is_no_operator():
    others = [(make, call) for make, call, whole in CASES.values() if not whole]
    said = cold([(*case, True, "eager") for case in others])
    wrong = [case for case, why in zip(others, said) if WHY not in why]
    assert len(said) == len(others) and not wrong


@pytest.mark.slow
def test_epochs_and_seeds_are_arguments_of_the_operator():
    """They change without a new graph for each."""
    stage = Transform("rand_augment")
    images, ids = torch.randint(256, (4, 3, 20, 24), dtype=torch.uint8), torch.arange(4)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()

    def call(epoch, seed):
        return stage(images, sample_ids=ids, epoch=epoch, seed=seed)

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    for epoch, seed in [(2, 7), (3, 8), (9, 2**62), (4, 5), (70, 9)]:
        assert torch.equal(compiled(epoch, seed), call(epoch, seed))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2
    assert torch.equal(compiled(5, 2**64 - 3), call(5, 2**64 - 3))
    for one in call, torch.compile(call, backend="eager"):
        refused("seed is -3, want a whole number from 0", one, 5, -3)
    refused("epoch is -1, want a whole number", compiled, -1, 5)


@pytest.mark.slow
def test_an_operator_says_what_its_call_says():
    images = torch.zeros(4, 3, 20, 24, dtype=torch.uint8)
    given = Transform(motley.Policy("rand_augment").change(level="given"))
    for stage, settings in [
        (Transform("rand_augment"), {"sample_ids": torch.arange(3), "epoch": 1}),
        (Transform("rand_augment"), {"sample_ids": torch.tensor([1, 2, 3, -4]), "epoch": 1}),
        (Transform("rand_augment"), {"levels": 0.5}),
        (given, {"levels": torch.zeros(3)}),
    ]:
        with pytest.raises(motley.ArgumentError) as said:
            stage(images, **settings)
        with pytest.raises(motley.ArgumentError) as compiled:
            torch.compile(stage, fullgraph=True, backend="aot_eager")(images, **settings)
        assert str(compiled.value) == str(said.value)
    train = Transform("torchvision_train").eval()
    with pytest.raises(motley.UnsupportedError, match="in eval"):
        torch.compile(lambda: train(images), fullgraph=True, backend="aot_eager")()
