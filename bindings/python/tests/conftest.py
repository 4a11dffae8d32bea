# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the Python package.

meson test -C BUILD --suite python              the package as built
python -m pytest bindings/python/tests          the package as installed
python -m pytest bindings/python/tests -m cuda  what needs a GPU
python -m pytest bindings/python/tests -m "not slow"    what takes less than a second"""

import json
import multiprocessing
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

multiprocessing.set_forkserver_preload(["torch"])  # which workers of a fork server need not import each by itself

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


def refused(message, call, *arguments, error=motley.ArgumentError, **more):
    """The call raises this error with this message, a regular expression."""
    with pytest.raises(error, match=message):
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


# Imports once what takes seconds, and runs each program in a fork. A line has programs that run at the same time.
FORKS = """
import importlib, json, os, runpy, signal, sys

def imported(names):
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:  # of what is not installed
            pass

imported(["torch", "torchvision.transforms", "torchvision.transforms.v2", "torch._dynamo", "numpy", "PIL.Image"])
for line in sys.stdin:
    names, programs = json.loads(line)
    imported(names)
    children, failed = {}, []
    for number, (arguments, environment, folder, printed) in enumerate(programs):
        child = os.fork()
        if child == 0:
            signal.alarm(600)
            for number, name in (1, printed), (2, printed + ".errors"):
                os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
            os.chdir(folder)
            os.environ.update(environment)
            sys.argv, sys.path[0] = arguments, os.path.dirname(arguments[0])
            runpy.run_path(arguments[0], run_name="__main__")
            sys.exit()
        children[child] = number
    while children:
        child, status = os.wait()
        number = children.pop(child)
        if status and not failed:
            failed = [number, os.waitstatus_to_exitcode(status)]
            for child in children:  # they wait for the one that ended
                os.kill(child, signal.SIGKILL)
    print(json.dumps(failed), flush=True)
"""


@pytest.fixture(scope="session")
def forked(tmp_path_factory):
    """Runs programs at the same time, (arguments, environment) each, the first argument a file; what each printed. Each
    is a process of its own, in which torch and torchvision need not be imported again. names: of further modules."""
    command = [sys.executable, "-c", FORKS]
    pipes, server = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}, []

    def run(*programs, folder=".", names=()):
        if not server:  # with the first program
            server.append(subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, **pipes))
        outputs = [tmp_path_factory.mktemp("printed") / "program" for _ in programs]
        folder = str(pathlib.Path(folder).resolve())
        jobs = [(list(map(str, arguments)), environment, folder, str(printed))
                for (arguments, environment), printed in zip(programs, outputs)]  # fmt: skip
        print(json.dumps((names, jobs)), file=server[0].stdin, flush=True)
        failed = json.loads(server[0].stdout.readline())
        printed = [path.read_text() for path in outputs]
        if failed:
            number, status = failed
            said = printed[number] + outputs[number].with_suffix(".errors").read_text()
            raise AssertionError(f"{programs[number][0]} ended with {status}: {said}")
        return printed

    yield run
    for process in server:
        process.communicate()


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
