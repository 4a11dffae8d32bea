#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes doc/supported.md out of the files that know: doc/supported.py >doc/supported.md

The oldest versions are those that pyproject.toml wants and Debian 12 has, the newest those that scripts/setup.sh
installs for the tests; GPUs are those that bench/results has numbers of."""

import json
import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAMES = ("torch", "torchvision", "torchcodec", "timm", "webdataset", "lightning", "ray", "datasets",
         "nvidia-dali-cuda130", "ffcv")
PAGE = """# What is supported

`doc/supported.py` writes this page out of the files that the tests and the builds read.

| | supported | the tests run with |
|---|---|---|
| system | Linux with glibc 2.28 or later (wheels), x86-64 and 64-bit ARM; on Windows in WSL, not tried; \
for macOS the CPU part of the C library compiles and nothing has run | \
Debian 12 on x86-64; 64-bit ARM under qemu |
| processor | any x86-64 or ARMv8; AVX2, AVX-512 and VBMI are chosen when a program runs \
| all of them, on one machine that has all |
| Python | {python} or later, by one file (stable ABI); free-threaded 3.14 from source, not tried | {python} |
{packages}
| CUDA | 13, with a driver that knows it (R580 or later); compiled for compute capabilities {archs} | nvcc 13.0 |
| GPU | Turing (7.5) and later | {gpus} |

Free-threaded 3.13 is not supported, because CFFI is not.
"""


def main():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    floors = dict(re.findall(r"([\w-]+)>=([\d.]+)", " ".join(sum(project["optional-dependencies"].values(), []))))
    pins = dict(re.findall(r"'?\b([\w-]+)(?:\[\w+\])?==([\d.]+\d)", (ROOT / "scripts" / "setup.sh").read_text()))
    rows = []
    for name in NAMES:
        floor = floors.get(name)
        span = f"{floor} and {pins[name]}" if floor and floor != pins[name] else pins[name]
        rows.append(f"| {name} | {floor + ' or later' if floor else 'not known beyond the tests'} | {span} |")
    options = (ROOT / "meson_options.txt").read_text()
    archs = re.search(r"a package would take ([\d,]+)", options)[1].replace(",", ", ")
    results = [json.loads(path.read_text()) for path in (ROOT / "bench" / "results").glob("*.json")]
    gpus = sorted({str(result["device"]) for result in results if "NVIDIA" in str(result.get("device"))})
    print(PAGE.format(python=project["requires-python"].strip(">="), packages="\n".join(rows), archs=archs,
                      gpus=", ".join(gpus)), end="")


if __name__ == "__main__":
    main()
