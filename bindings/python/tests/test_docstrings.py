# SPDX-License-Identifier: Apache-2.0
"""Docstrings have one form, Google's, which Sphinx reads; and what they say of arguments is there."""

import ast
import pathlib
import re

import pytest

import motley

PACKAGE = pathlib.Path(motley.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


def documented(path):
    """The functions and classes of a module that have a docstring, and that."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            yield node, ast.get_docstring(node)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_arguments_are_described_as_google_does(path):
    for node, text in documented(path):
        columns = re.search(r"^[a-z_]+(, [a-z_]+)*  +\S", text, re.M)
        assert not columns, f"{path.name}:{node.lineno}: {node.name} describes arguments in columns: {columns[0]!r}"
        section = re.search(r"^Args:\n((?:    .*\n?|\n)+)", text, re.M)
        if section and isinstance(node, ast.FunctionDef):
            names = re.findall(r"^    (\w+(?:, \w+)*): ", section[1], re.M)
            there = node.args.posonlyargs + node.args.args + node.args.kwonlyargs + [node.args.kwarg, node.args.vararg]
            named = {name for several in names for name in several.split(", ")}
            unknown = named - {one.arg for one in there if one}
            assert names and not unknown, f"{path.name}:{node.lineno}: {node.name} has no {', '.join(sorted(unknown))}"


def test_operations_say_what_their_values_are():
    for name, row in motley.ops.table.items():
        text = getattr(motley.ops, name).__doc__
        assert row.summary in text and row.matches in text and ("Args:\n    values: " in text) == bool(row.values_max)
