# SPDX-License-Identifier: Apache-2.0
"""Policies as objects."""

import copy
import pickle
import subprocess

import pytest

import motley
from motley import Policy


@pytest.mark.parametrize("name", Policy.names())
def test_builtins_go_there_and_back(name, tmp_path):
    policy = Policy.builtin(name)
    assert policy.name == name and policy.title and "arXiv" in policy.paper and policy.max_steps > 0
    (tmp_path / "p.yaml").write_text(policy.show())
    for again in (
        Policy(policy.show()),
        Policy.parse(str(policy)),
        Policy.load(tmp_path / "p.yaml"),
        copy.deepcopy(policy),
        pickle.loads(pickle.dumps(policy)),
    ):
        assert again == policy and hash(again) == hash(policy)
    assert policy != Policy.builtin("rand_augment" if name != "rand_augment" else "timm_3_augment") and policy != name


def test_shows_what_the_command_shows(command):
    for name in Policy.names():
        assert (
            subprocess.run([command, "show", name], check=True, capture_output=True, text=True).stdout
            == Policy.builtin(name).show()
        )


def test_changes():
    base = Policy.builtin("rand_augment")
    assert base.change() == base
    changed = base.change(repeat=3, level=12.0, interpolation=["nearest", "bicubic"], fill=7)
    for line in ("repeat: 3\n", "level: 12\n", "interpolation: [nearest, bicubic]\n", "fill: [7, 7, 7"):
        assert line in changed.show()
    assert base.profile == "torchvision" and base.title == "RandAugment"
    for arguments, message in (
        ({"repeat": 0}, "repeat is 0"),
        ({"bins": 1}, "bins is 1"),
        ({"level": 40}, "40"),
        ({"interpolation": "cubic"}, "interpolation is 'cubic', want one of nearest, bilinear, bicubic"),
        ({"fill": (1, 2)}, r"fill is \(1, 2\)"),
        ({"fill": 300}, "fill is 300"),
        ({"fill": 0.5}, "fill is 0.5"),
    ):
        with pytest.raises(motley.ArgumentError, match=message):
            base.change(**arguments)


def test_mistakes(tmp_path):
    with pytest.raises(motley.ArgumentError, match="did you mean 'rand_augment'"):
        Policy.builtin("rand_augmnt")
    with pytest.raises(motley.FileError, match="nowhere.yaml"):
        Policy.load(tmp_path / "nowhere.yaml")
    path = tmp_path / "bad.yaml"
    path.write_text("motley: 1\nname: a\nbranches:\n  - rotat\n  - {op: invert, p: 2}\n")
    with pytest.raises(motley.PolicyError, match="bad.yaml:4:5: error: .*did you mean 'rotate'") as caught:
        Policy.load(path)
    assert [(line, column) for line, column, _ in caught.value.problems] == [(4, 5), (5, 21)]
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, motley.Error)
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems
