# SPDX-License-Identifier: Apache-2.0
"""Policies as objects."""

import copy
import pickle

import pytest
from conftest import output_of, refused

import motley
from motley import Policy


@pytest.mark.parametrize("name", Policy.names())
def test_builtins_go_there_and_back(name, tmp_path):
    policy = Policy(name)
    assert policy.name == name and policy.title and ("arXiv" in policy.paper or policy.whole)
    assert policy.max_steps > 0 or policy.whole
    (tmp_path / "p.yaml").write_text(policy.show())
    for again in (
        Policy(policy.show()),
        Policy(policy.as_dict()),
        Policy(tmp_path / "p.yaml"),
        copy.deepcopy(policy),
        pickle.loads(pickle.dumps(policy)),
    ):
        assert again == policy and hash(again) == hash(policy)
    assert policy != Policy("rand_augment" if name != "rand_augment" else "timm_3_augment") and policy != name


@pytest.mark.slow
def test_shows_what_the_command_shows(command):
    for name in Policy.names():
        assert output_of(command, "show", name) == Policy(name).show()


def test_changes():
    base = Policy("rand_augment")
    assert base.change() == base
    changed = base.change(repeat=3, level=12.0, interpolation=["nearest", "bicubic"], fill=7)
    for line in ("repeat: 3\n", "level: 12\n", "interpolation: [nearest, bicubic]\n", "fill: 7\n"):
        assert line in changed.show()
    assert base.profile == "torchvision" and base.title == "RandAugment"


def test_mistakes(tmp_path):
    refused("did you mean 'rand_augment'", Policy, "rand_augmnt")
    refused("nowhere.yaml", Policy, tmp_path / "nowhere.yaml", error=motley.FileError)
    path = tmp_path / "bad.yaml"
    path.write_text("motley: 1\nname: a\nbranches:\n  - rotat\n  - {op: invert, p: 2}\n")
    with pytest.raises(motley.PolicyError, match="bad.yaml:4:5: error: .*did you mean 'rotate'") as caught:
        Policy(path)
    assert [(line, column) for line, column, _ in caught.value.problems] == [(4, 5), (5, 21)]
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, motley.Error)
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


def test_all_keys_there_and_back():
    for policy in map(motley.Policy, motley.Policy.names()):
        if not policy.whole:
            assert policy.change(**policy.as_dict()) == policy


def test_policies_are_edited_as_dictionaries():
    base = Policy("rand_augment")
    assert Policy({**base.as_dict(), "repeat": 3}) == base.change(repeat=3) != base
    train = Policy("torchvision_train")
    data = train.as_dict()
    small = Policy({**data, "name": "small", "stages": [{"random_resized_crop": {"size": 64}}, *data["stages"][1:]]})
    assert small.whole and small.size == (64, 64) and small.name == "small" and train.size == (224, 224)
    assert train.change(name="small", stages=small.as_dict()["stages"]) == small
    refused("stage", Policy, {**data, "stages": [{"crop_at_random": {}}]}, error=motley.PolicyError)


def test_a_title_with_the_word_stages():
    for text in (
        "motley: 1\nname: a\ntitle: |-\n  two\n  stages:\nbranches: [invert]\n",
        '{"motley": 1, "name": "a", "title": "\\"stages\\"", "branches": ["invert"]}',
    ):
        assert not Policy(text).whole


def test_a_level_that_no_step_takes():
    for name in ("auto_augment_imagenet", "pba_cifar10"):
        refused("level is 3, which no step takes: each has its own", Policy(name).change, repeat=2, level=3)
    for name in ("rand_augment", "trivial_augment_wide"):
        base = Policy(name)
        assert base.change(level=base.as_dict()["level"]) == base != base.change(level=3)
        assert base.change(level="given") != base


def test_mistakes_in_changes():
    base = motley.Policy(
        "motley: 1\nname: mine\nbins: 11\nlevel: 5\nops:\n  color: {range: [0, 0.9], base: 1}\n"
        "branches: [invert, {op: color, p: 0.5}]\n"
    )
    assert base.change(bins=None, top=20, level={"normal": 9, "std": 0.5}) == motley.Policy(
        base.show().replace("bins: 11\nlevel: 5", "top: 20\nlevel: {normal: 9, std: 0.5}")
    )
    for wrong, piece in [
        (dict(level={"uniform": 3}), "'uniform' wants a list of two levels"),
        (dict(level="high"), "level is 'high', want a number"),
        (dict(level=float("nan")), "level is 'NaN', want a number"),
        (dict(level=12, bins=None, top=11), "level is 12, want 0..11"),
        (dict(top=4), "both 'bins' and 'top' are given"),
        (dict(ops={"color": {"high": 3}}), "unknown key 'high' in op 'color'"),
        (dict(branches=[]), "branches is empty"),
        (dict(branches=[{"op": "colour"}]), "'colour', did you mean 'color'"),
        (dict(repeats=2), "unknown key 'repeats'"),
        (dict(repeat=0), "repeat is 0"),
        (dict(bins=1), "bins is 1"),
        (dict(interpolation="cubic"), "interpolation is 'cubic', want nearest, bilinear or bicubic"),
        (dict(fill=(1, 2)), "'fill' lists 2 numbers"),
        (dict(fill=300), "fill is 300"),
    ]:
        refused(piece, base.change, **wrong)


def test_a_name_a_path_or_a_text(tmp_path, monkeypatch):
    text = "motley: 1\nname: mine\nbranches: [invert]\n"
    monkeypatch.chdir(tmp_path)
    for name in ("plain", "mine.yaml"):
        (tmp_path / name).write_text(text)
        for path in (name, str(tmp_path / name), tmp_path / name):
            assert Policy(path) == Policy(text)
    assert Policy('{"motley": 1, "name": "mine", "branches": ["invert"]}') == Policy(text)
    (tmp_path / "rand_augment").write_text(text)  # as a string it is the built-in's name
    assert Policy(tmp_path / "rand_augment") == Policy(text) != Policy("rand_augment")
    policy = Policy(text)
    assert Policy(policy) is policy and motley.Transform(policy).policy is policy
    assert Policy(motley.Transform(policy)) is policy and str(policy) == policy.show()
    assert Policy("rand_augment").name == "rand_augment"
    refused("did you mean 'rand_augment'", Policy, "rand_augmnt")
    refused("missing.yml", Policy, "missing.yml", error=motley.FileError)
    refused("no NUL", Policy, "rand_augment\0")


@pytest.mark.parametrize("name", ["rand_augment", "mobileone_train"])
def test_wrong_epochs_are_named(name):
    policy = motley.Policy(name)
    for epoch in -1, 1.5, "3", True, 1 << 30:
        refused(f"epoch is {epoch!r}, want a whole number from 0", policy.at, epoch)


def test_wrong_lengths_are_named():
    for epochs in 0, -1, 1.5:
        refused(f"epochs is {epochs}, want a whole number from 1", motley.Policy("mobileone_train").scaled, epochs)
