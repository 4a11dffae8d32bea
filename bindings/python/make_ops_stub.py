# SPDX-License-Identifier: Apache-2.0
"""Writes ops.pyi, the types of motley.ops, out of the op table of the library that was just built.

make_ops_stub.py OUT.pyi        with the built package on PYTHONPATH"""

import sys

sys.path.pop(0)  # this folder, whose motley has not been built

from motley import ops  # noqa: E402

HEAD = """# SPDX-License-Identifier: Apache-2.0
# Written by bindings/python/make_ops_stub.py out of the op table.
from types import SimpleNamespace
from typing import TypeVar

from ._types import Fill, Interpolation, Layout, Range, Values
from ._resize import resize as resize

_T = TypeVar("_T")

table: dict[str, SimpleNamespace]

"""
FUNCTION = '''def {name}(
{first}    batch: _T,
    values: {values},
    *,
    interpolation: Interpolation = "nearest",
    fill: Fill = 0,
    out: _T | None = None,
    layout: Layout | None = None,
    alpha: bool = False,
    range: Range | None = None,
    clamp: bool = True,
    threads: int | None = None,
) -> _T:
    """{doc}"""

'''


def values_of(row):
    if not row.values_max:
        return "None = None"
    return "Values | None = None" if row.values_min == 0 else "Values"


def main():
    functions = [
        FUNCTION.format(name="apply", first="    op: str,\n", values="Values | None = None", doc=ops.apply.__doc__)
    ]
    for name, row in ops.table.items():
        functions.append(FUNCTION.format(name=name, first="", values=values_of(row), doc=getattr(ops, name).__doc__))
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(HEAD + "".join(functions))


if __name__ == "__main__":
    main()
