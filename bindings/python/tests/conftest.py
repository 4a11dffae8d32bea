# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the Python package.

meson test -C BUILD --suite python              the package as built
python -m pytest bindings/python/tests          the package as installed
python -m pytest bindings/python/tests -m cuda  what needs a GPU
python -m pytest bindings/python/tests -m "not slow"    what takes less than a second"""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import motley

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests" / "pillow"))  # recipes, images, replay

try:
    import torch
except ImportError:
    torch = None

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else JAX takes most of a GPU that others use, too

cuda = pytest.mark.cuda
DEVICES = ["cpu", pytest.param("cuda", marks=cuda)]


def pytest_configure(config):
    config.addinivalue_line("markers", "cuda: needs torch and a CUDA device")
    config.addinivalue_line("markers", "slow: takes seconds; -m 'not slow' leaves it out")


def pytest_collection_modifyitems(config, items):
    """Tests that start processes, which import everything again, are slow, whether marked or not. With EVERY=2 or more
    in the environment each of them runs once for each way of starting processes, whatever its other parameters."""
    started, seen, left_out = 0, set(), []
    for item in items:
        how = item.callspec.params if hasattr(item, "callspec") else {}
        if how.get("start") in ("spawn", "forkserver") or how.get("workers"):
            item.add_marker(pytest.mark.slow)
            started += 1
            key = item.nodeid.partition("[")[0], how.get("start")
            if key in seen:
                left_out.append(item)
            seen.add(key)
    if left_out and int(os.environ.get("EVERY", 1)) > 1:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
        config.left_out = f"left out: {len(left_out)} of {started} cases that start processes"


def pytest_terminal_summary(terminalreporter, config):
    if hasattr(config, "left_out"):
        terminalreporter.line(config.left_out)


def pytest_runtest_setup(item):
    if item.get_closest_marker("cuda") and (torch is None or not torch.cuda.is_available()):
        pytest.skip("needs torch with a CUDA device")


def refused(message, call, *arguments, **more):
    """The call raises motley.ArgumentError with this message, a regular expression."""
    with pytest.raises(motley.ArgumentError, match=message):
        call(*arguments, **more)


def needs_shown(given):
    """Skips where this torch or Pillow does not show C the pixels of lists: calls are made anew then."""
    from motley import _arrays

    if not _arrays.KINDS[type(given)].found_by(type(given)):
        pytest.skip(f"this {type(given).__module__} shows no pixels")


def output_of(*command, **how):
    """What a program prints, which has to end well."""
    done = subprocess.run(command, capture_output=True, text=True, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def next_seed(seed):
    """By which motley.torchvision and motley.timm draw next, with torch's generator seeded by `seed`, as it is then."""
    from motley._random import fresh

    torch.manual_seed(seed)
    drawn = fresh()
    torch.manual_seed(seed)
    return drawn


@pytest.fixture
def pixels():
    """12 images, HWC, some flat and some heavy in 0 and 255."""
    random = np.random.default_rng(3)
    x = random.integers(0, 256, (12, 29, 37, 3), np.uint8)
    x[1] = 77
    x[2] = np.where(random.random((29, 37, 3)) < 0.5, 0, 255)
    x[3] = np.arange(37)[None, :, None] * 6 + np.arange(29)[:, None, None]
    return x


@pytest.fixture(scope="session")
def command():
    """The motley program, to compare with."""
    path = os.environ.get("MOTLEY")
    if not path:
        pytest.skip("MOTLEY does not say where the motley program is")
    return path
