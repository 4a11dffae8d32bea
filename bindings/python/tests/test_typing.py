# SPDX-License-Identifier: Apache-2.0
"""The types of the package: checkers find what is wrong in calls, and nothing else."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import motley
from motley import ops

pytestmark = pytest.mark.slow

HERE = pathlib.Path(__file__).parent
EXAMPLES = HERE.parents[2] / "examples" / "python"
SITE = pathlib.Path(motley.__file__).parents[1]


OTHERS = "torch", "torchvision", "lightning", "ray", "nvidia", "ffcv", "webdataset", "datasets", "PIL"
CONFIG = "[mypy]\n" + "".join(f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in OTHERS)


def complaints(tmp_path, files, *options):
    """What mypy finds in these files: {(file's name, line): sentence}. Of other packages it knows nothing."""
    pytest.importorskip("mypy", reason="mypy is missing: scripts/setup.sh tests installs it in .venv")
    (tmp_path / "mypy.ini").write_text(CONFIG)
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--disable-error-code", "import-not-found",
         *options, *map(str, files)],
        capture_output=True, text=True, cwd=tmp_path, env={"MYPYPATH": str(SITE), "PATH": ""},
    )  # fmt: skip
    assert not run.stderr and run.returncode in (0, 1), run.stdout + run.stderr
    found = [re.match(r"(.*?):(\d+): error: (.*)", line) for line in run.stdout.splitlines()]
    names = {path.name for path in files}
    of_others = re.compile(r'Skipping analyzing "(?!motley)')  # an installed package without types
    return {
        (m[1], int(m[2])): m[3] for m in found if m and pathlib.Path(m[1]).name in names and not of_others.match(m[3])
    }


def test_right_calls(tmp_path):
    assert complaints(tmp_path, [HERE / "typing" / "right.py"]) == {}


UNKNOWN = "--allow-untyped-calls", "--allow-subclassing-any", "--allow-untyped-decorators"  # of other packages


def test_every_module_has_complete_types(tmp_path):
    files = sorted((SITE / "motley").rglob("*.py"))
    assert len(files) > 30 and complaints(tmp_path, files, *UNKNOWN) == {}


def annotations(body, public=True):
    """Those of the arguments and results of public functions."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from annotations(node.body, not node.name.startswith("_"))
        elif isinstance(node, ast.FunctionDef) and public and (node.name[0] != "_" or node.name in OPERATORS):
            given = node.args
            given = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            yield from [a.annotation for a in given if a and a.arg not in ("self", "cls")] + [node.returns]


OPERATORS = "__init__", "__call__"


def test_few_public_signatures_say_any():
    files = [path for path in (SITE / "motley").rglob("*.py") if path.name[0] != "_" or path.name == "__init__.py"]
    said = [ast.unparse(a) for path in files for a in annotations(ast.parse(path.read_text()).body) if a]
    assert len(files) > 15 and said.count("Any") < 0.15 * len(said)


def public_functions(module):
    """The functions and methods of a module whose names users may write."""
    bodies = [module.body]
    while bodies:
        for node in bodies.pop():
            public = isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not re.match("_[^_]", node.name)
            if public and isinstance(node, ast.ClassDef):
                bodies.append(node.body)
            elif public:
                yield node


def annotations_of(function):
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    notes = [argument.annotation for argument in named if argument] + [function.returns]
    return [ast.unparse(note) for note in notes if note]


def test_types_say_something():
    """Any stands where another library hands something over: in fewer than 15 % of the annotations that users see."""
    files = [path for path in (SITE / "motley").rglob("*.py") if path.name == "__init__.py" or path.name[0] != "_"]
    modules = [ast.parse(path.read_text()) for path in files]
    notes = [note for module in modules for function in public_functions(module) for note in annotations_of(function)]
    vague = [note for note in notes if re.search(r"\bAny\b", note.replace("dict[str, Any]", ""))]
    assert len(notes) > 400 and len(vague) < 0.15 * len(notes), f"{len(vague)} of {len(notes)}"


def wrong_lines(path):
    return {i for i, line in enumerate(path.read_text().splitlines(), 1) if line.endswith("# wrong")}


def test_wrong_calls(tmp_path):
    path = HERE / "typing" / "wrong.py"
    found, wanted = {line for _, line in complaints(tmp_path, [path])}, wrong_lines(path)
    assert wanted and found == wanted, f"not found: {sorted(wanted - found)}, too much: {sorted(found - wanted)}"


def test_examples(tmp_path):
    files = sorted(EXAMPLES.glob("*.py"))
    options = ["--allow-subclassing-any", "--allow-untyped-decorators"]  # other packages' classes and decorators
    assert files and complaints(tmp_path, files, *options) == {}


# ---- pyright ----


@pytest.fixture(scope="module")
def pyright(tmp_path_factory):
    """What pyright finds in a file or folder: {(file's name, line): sentence}. python: whose packages it knows."""
    pytest.importorskip("pyright", reason="pyright is missing: scripts/setup.sh tests installs it in .venv")
    folder = tmp_path_factory.mktemp("pyright")
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}

    def run(*arguments):
        command = [sys.executable, "-m", "pyright", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=300)

    if run("--version").returncode:  # it is Node's, which it fetches when it first runs
        pytest.skip("pyright cannot run here: it needs Node.js, and fetches it where there is none")

    def complaints_of(path, python):
        # Possibly unbound is the last batch of a loop.
        off = {name: False for name in ("reportMissingImports", "reportPossiblyUnboundVariable")}
        config = {"include": [os.path.relpath(path, folder)], "extraPaths": [str(SITE)], **off}
        (folder / "pyrightconfig.json").write_text(json.dumps(config))
        found = json.loads(run("--outputjson", "--pythonpath", python).stdout)["generalDiagnostics"]
        return {(pathlib.Path(one["file"]).name, one["range"]["start"]["line"] + 1): one["message"] for one in found}

    return complaints_of


def test_pyright_on_right_and_wrong_calls(pyright):
    assert pyright(HERE / "typing" / "right.py", sys.executable) == {}
    path = HERE / "typing" / "wrong.py"
    found = {line for _, line in pyright(path, sys.executable)}
    assert found == wrong_lines(path)


def test_pyright_on_the_examples(pyright):
    assert pyright(EXAMPLES, "/nowhere") == {}  # of other packages it knows nothing


def test_every_operation_has_a_stub():
    stub = (pathlib.Path(motley.__file__).parent / "ops.pyi").read_text()
    assert set(re.findall(r"^def (\w+)\(", stub, re.M)) == {"apply", *ops.table}
