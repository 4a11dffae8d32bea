# SPDX-License-Identifier: Apache-2.0
"""Wrong calls whose message says what to write."""

import numpy as np
import pytest
from conftest import refused

import motley
from motley.policy import Policy

X = np.zeros((4, 16, 16, 3), np.uint8)
T = motley.Transform("rand_augment")
F = motley.Follow(T)
MIX = motley.mix(mixup=0.2, classes=2)

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
