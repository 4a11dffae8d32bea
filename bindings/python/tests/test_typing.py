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
MODULES, SCRIPTS = sorted((SITE / "motley").rglob("*.py")), sorted(EXAMPLES.glob("*.py"))
CALLS = [HERE / "typing" / "right.py", HERE / "typing" / "wrong.py"]
ALLOWED = ("disallow_subclassing_any", "disallow_untyped_decorators")  # classes and decorators of other packages
ALLOWED = {"motley.*": ("disallow_untyped_calls", *ALLOWED), **{path.stem: ALLOWED for path in SCRIPTS}}


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What mypy finds: {(file, line): sentence}. Of other packages it knows nothing."""
    pytest.importorskip("mypy", reason="mypy is missing: scripts/setup.sh tests installs it in .venv")
    folder = tmp_path_factory.mktemp("mypy")
    config = ["[mypy]", *(f"[mypy-{name}.*]\nfollow_imports = skip" for name in OTHERS)]
    config += [f"[mypy-{name}]\n" + "".join(f"{rule} = False\n" for rule in rules) for name, rules in ALLOWED.items()]
    (folder / "mypy.ini").write_text("\n".join(config))
    command, lines = ["mypy", "--strict", "--no-error-summary", "--disable-error-code", "import-not-found"], []
    for files in MODULES, [*SCRIPTS, *CALLS]:  # by themselves, for which operations have the types of their stub
        environment = {"MYPYPATH": str(SITE), "PATH": ""}
        command_line = [sys.executable, "-m", *command, *map(str, files)]
        run = subprocess.run(command_line, capture_output=True, text=True, cwd=folder, env=environment)
        assert not run.stderr and run.returncode in (0, 1), run.stdout + run.stderr
        lines += run.stdout.splitlines()
    found = [re.match(r"(.*?):(\d+): error: (.*)", line) for line in lines]
    of_others = re.compile(r'Skipping analyzing "(?!motley)')  # an installed package without types
    return {(pathlib.Path(folder, m[1]).resolve(), int(m[2])): m[3] for m in found if m and not of_others.match(m[3])}


def wrong_lines(path):
    return {i for i, line in enumerate(path.read_text().splitlines(), 1) if line.endswith("# wrong")}


def test_mypy_finds_what_is_wrong_in_calls_and_nothing_else(complaints):
    """In every module, whose types are complete, in the examples and in right calls."""
    wanted = {(CALLS[1], line) for line in wrong_lines(CALLS[1])}
    assert len(MODULES) > 30 and SCRIPTS and wanted
    assert {at: said for at, said in complaints.items() if at not in wanted} == {}
    assert wanted <= complaints.keys(), wanted - complaints.keys()


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
    assert {*pyright(HERE / "typing", sys.executable)} == {("wrong.py", line) for line in wrong_lines(CALLS[1])}


def test_pyright_on_the_examples(pyright):
    assert pyright(EXAMPLES, "/nowhere") == {}  # of other packages it knows nothing


def test_every_operation_has_a_stub():
    stub = (pathlib.Path(motley.__file__).parent / "ops.pyi").read_text()
    assert set(re.findall(r"^def (\w+)\(", stub, re.M)) == {"apply", *ops.table}
