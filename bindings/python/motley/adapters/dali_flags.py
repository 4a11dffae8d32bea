# SPDX-License-Identifier: Apache-2.0
"""Prints what dali_operator.cpp is compiled and linked with, a flag a line: DALI's own, and where CUDA's headers are,
which DALI's include. Run by the Python that has DALI."""

import pathlib
import shutil
import sys

from nvidia.dali import sysconfig

lib = pathlib.Path(sysconfig.get_lib_dir())
nvcc = pathlib.Path(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
places = [nvcc.resolve().parents[1] / "include", *sorted(lib.parent.glob("*/include"))]
needed = "cuda_runtime_api.h", "nv/target"
cuda = next((place for place in places if all((place / name).exists() for name in needed)), None)
if cuda is None:
    sys.exit(f"no {' and '.join(needed)} in {', '.join(map(str, places))}: want the CUDA toolkit")
if sys.argv[1] == "compile":
    print(*(flag.replace("-I", "-isystem", 1) for flag in sysconfig.get_compile_flags()), f"-isystem{cuda}", sep="\n")
else:
    print(*sysconfig.get_link_flags(), "-ldali_core", sep="\n")
