# SPDX-License-Identifier: Apache-2.0
"""Writes the C source of motley._core, the CFFI module that holds libmotley, out of the public headers.

    make_core.py OUT.c HEADER...        headers in the order in which motley.h includes them

The headers are the declarations: whatever they gain, Python can call. Only what CFFI does not read is taken out of them:
preprocessor lines (but for plain numbers) and the C++ guards."""
import pathlib
import re
import sys

import cffi

CALLBACKS = """
extern "Python" void on_problem(void *user, const motley_error *problem);
"""


def declarations(header):
    text = header.read_text(encoding="utf-8")
    text = re.sub(r"#ifdef __cplusplus.*?#endif\n", "", text, flags=re.S)
    text = re.sub(r"\\\n", "", text)
    text = re.sub(r"^[ \t]*#(?![ \t]*define[ \t]+\w+[ \t]+\d+$).*\n", "", text, flags=re.M)
    return re.sub(r"\bMOTLEY_API\b", "", text)


def main():
    out, headers = sys.argv[1], [pathlib.Path(path) for path in sys.argv[2:]]
    ffi = cffi.FFI()
    ffi.cdef("\n".join(declarations(header) for header in headers) + CALLBACKS)
    ffi.cdef("void free(void *memory);")
    ffi.set_source("motley._core", "#include <motley.h>\n#include <stdlib.h>\n")
    ffi.emit_c_code(out)


if __name__ == "__main__":
    main()
