# SPDX-License-Identifier: Apache-2.0
"""Writes the C source of motley._core, the CFFI module that holds or links libmotley, out of the public headers.

    make_core.py OUT.c HEADER...

The public headers, those in a folder motley/, are the declarations: whatever they gain, Python can call. The other
headers are the binding's C code. Only what CFFI cannot read is removed: preprocessor lines (but for plain numbers), the
C++ guards, and the bodies of functions."""

import pathlib
import re
import sys

import cffi

# Buffers are in Python's stable ABI from 3.11 on, by this declaration; before, they have the same form.
BUFFERS = """
#ifndef PyBUF_FORMAT
typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *object, Py_buffer *buffer, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *buffer);
#define PyBUF_FORMAT 0x4
#define PyBUF_STRIDES 0x18
#endif
"""

PYTHON_SIDE = """
extern "Python" void on_problem(void *user, const motley_error *problem);
extern "Python" motley_status run_custom_op(void *user, const motley_custom_batch *batch, motley_error *error);
void free(void *memory);
"""


def declarations(text):
    text = re.sub(r"#ifdef __cplusplus.*?#endif\n", "", text, flags=re.S)
    text = text.replace("\\\n", "")
    text = re.sub(r"^(#define \w+ )\((-\d+)\)", r"\1\2", text, flags=re.M)
    text = re.sub(r"^[ \t]*#(?![ \t]*define[ \t]+\w+[ \t]+-?\d+[ \t]*(/\*|$)).*\n", "", text, flags=re.M)
    text = re.sub(r"^\{.*?^\}", ";", text, flags=re.S | re.M)
    text = re.sub(r"\bconst (\w+ \(\*\w+\)\[)", r"\1", text)  # CFFI writes wrong C for a pointer to an array of const
    return text.replace("MOTLEY_API ", "")


def in_order(paths):
    """The texts of headers, each after those that it includes."""
    texts = {f"{path.parent.name}/{path.name}": path.read_text(encoding="utf-8") for path in paths}
    done = []

    def add(name):
        text = texts.pop(name, None)
        if text is not None:
            for included in re.findall(r'^#include "(.*)"', text, re.M):
                add(included)
            done.append(text)

    while texts:
        add(next(iter(texts)))
    return done


def main():
    out, *headers = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    public = [path for path in headers if path.parent.name == "motley"]
    ours = [path.read_text(encoding="utf-8") for path in headers if path not in public]
    ffi = cffi.FFI()
    ffi.cdef("".join(map(declarations, [*in_order(public), *ours])) + PYTHON_SIDE)
    includes = "#include <motley.h>\n#include <stdlib.h>\n#include <string.h>\n"
    ffi.set_source("motley._core", "".join([includes, BUFFERS, *ours]))
    ffi.emit_c_code(out)


if __name__ == "__main__":
    main()
