# SPDX-License-Identifier: Apache-2.0
"""Importing a module of the package changes nothing else in the process, and `import motley` imports little."""

import json
import pathlib
import sys

import pytest
from conftest import output_of

import motley

SITE = pathlib.Path(motley.__file__).parents[1]
MODULES = sorted(
    ".".join(path.relative_to(SITE).with_suffix("").parts).removesuffix(".__init__")
    for path in (SITE / "motley").rglob("*.py")
    if path.name != "__main__.py"
)


def child(script, *arguments):
    return json.loads(output_of(sys.executable, "-c", script, *arguments))


SLOW = "dataclasses", "inspect", "multiprocessing", "numpy", "random", "socket", "statistics", "subprocess", "tempfile"


def test_import_is_lean():
    script = "import sys; before = set(sys.modules); import motley, json; print(json.dumps([*{*sys.modules} - before]))"
    new = child(script)
    assert not {*SLOW} & {*new}
    assert len(new) <= 80, sorted(new)


FOREIGN = """
import importlib, json, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        if "motley" in str(error):
            raise
print(json.dumps([name for name in sys.modules if name.split(".")[0] not in ("motley", "__main__")]))
"""

CHANGED = """
import importlib, json, logging, os, sys, warnings
modules, foreign = json.load(open(sys.argv[1]))
for name in foreign:
    try:
        importlib.import_module(name)
    except Exception:  # what only a package of its own can import
        pass

def state():
    torch = sys.modules.get("torch")
    now = {
        "os.environ": dict(os.environ), "sys.meta_path": list(map(id, sys.meta_path)), "sys.path": list(sys.path),
        "sys.path_hooks": list(map(id, sys.path_hooks)), "warnings.filters": list(map(str, warnings.filters)),
        "logging's handlers": list(map(str, logging.root.handlers)),
    }
    if torch is not None:
        now["torch.get_num_threads()"] = torch.get_num_threads()
        now["torch.initial_seed()"] = torch.initial_seed()
        now["torch's generator"] = torch.get_rng_state().tolist()
        now["CUDA has begun"] = torch.cuda.is_initialized()
        now["DataLoader.__iter__"] = str(importlib.import_module("torch.utils.data").DataLoader.__iter__)
    return now

changed, count, before = [], 0, state()
for name in modules:
    try:
        importlib.import_module(name)
    except ImportError:
        continue
    count += 1
    after = state()
    changed += [f"{name}: {what}" for what in before if before[what] != after[what]]
    before = after
print(json.dumps([changed, count]))
"""


@pytest.mark.slow
def test_importing_changes_nothing(tmp_path):
    """What the packages that a module imports change is theirs: they are imported before."""
    foreign = child(FOREIGN, *MODULES)
    (tmp_path / "names.json").write_text(json.dumps([MODULES, foreign]))
    changed, count = child(CHANGED, str(tmp_path / "names.json"))
    assert changed == []
    assert count >= sum(name.count(".") < 2 for name in MODULES if name.split(".")[-1] not in ("timm", "torch"))


def test_public_names():
    """What dir() shows, and so what an editor offers, is what is there for users."""
    assert not {"ffi", "lib", "calls", "stage", "timm_config"} & {*dir(motley)}
    assert {*motley.__all__} < {*dir(motley)} and all(hasattr(motley, name) for name in dir(motley))
    assert {*dir(motley.ops)} == {"apply", "resize", "table", *motley.ops.table}
    with pytest.raises(AttributeError, match="'motley' has no attribute 'Folow'"):
        _ = motley.Folow


@pytest.mark.slow
def test_decoding_leaves_warnings_alone(forked, tmp_path):
    """Neither a filter is set nor a warning of torchvision's given."""
    pytest.importorskip("torchvision.io")
    script = tmp_path / "script.py"
    script.write_text("""
import io, json, sys, warnings, PIL.Image, torch, torchvision.io
import motley.torch
from motley.torch import decode
file = io.BytesIO()
PIL.Image.new("RGB", (16, 9), (200, 100, 50)).save(file, "jpeg")
warnings.filters.insert(0, ("error", None, Warning, None, 0))
strict = list(warnings.filters)
images, kept = decode.decoded([file.getvalue()], torch.device("cpu"), str)
print(json.dumps([list(images[0].shape), kept, warnings.filters == strict]))
""")
    assert json.loads(forked(([script], {}))[0]) == [[3, 9, 16], [0], True]
