#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes doc/supported.md out of the files that know: doc/supported.py >doc/supported.md
doc/supported.py --wheels FILE...   first writes packaging/wheels.json: what the wheels of a release weigh

The oldest versions are those that pyproject.toml wants and Debian 12 has, the newest those that scripts/setup.sh
installs for the tests; GPUs are those that bench/results has numbers of."""

import json
import pathlib
import re
import struct
import sys
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAMES = (
    "torch",
    "torchvision",
    "torchcodec",
    "timm",
    "webdataset",
    "lightning",
    "ray",
    "datasets",
    "nvidia-dali-cuda130",
    "ffcv",
)
PAGE = """# What is supported

`doc/supported.py` writes this page out of the files that the tests and the builds read.

| | supported | the tests run with |
|---|---|---|
| system | Linux with glibc 2.28 or later (wheels), x86-64 and 64-bit ARM; on Windows in WSL, not tried; \
for macOS the CPU part of the C library compiles and nothing has run | \
Debian 12 on x86-64; 64-bit ARM under qemu |
| processor | any x86-64 or ARMv8; AVX2, AVX-512 and VBMI are chosen when a program runs \
| all of them, on one machine that has all |
| Python | {python} or later, by one file (stable ABI); free-threaded 3.14 by another file | {python} |
{packages}
| CUDA | 13, with a driver that knows it (R580 or later); compiled for compute capabilities {archs} | nvcc 13.0 |
| GPU | Turing (7.5) and later | {gpus} |

| wheel of {version} | size | of it for GPUs |
|---|---:|---|
{wheels}

Free-threaded 3.13 is not supported, because CFFI is not.
"""


def gpu_code(library):
    """{architecture: bytes} of what nvcc packed into a library."""
    found, at = {}, 0
    while (at := library.find(b"\x50\xed\x55\xba", at)) >= 0:  # a fat binary: its header, then parts with theirs
        version, header, size = struct.unpack_from("<HHQ", library, at + 4)
        part, at = at + header, at + header + size
        if version != 1 or at > len(library):
            raise ValueError("a fat binary of another form")
        while part < at:
            kind, _, header, size = struct.unpack_from("<HHIQ", library, part)
            name = ("compute_" if kind == 1 else "sm_") + str(*struct.unpack_from("<I", library, part + 28))
            found[name] = found.get(name, 0) + size
            part += header + size
    return found


def weighed(path):
    files = zipfile.ZipFile(path)
    return {
        "bytes": path.stat().st_size,
        "unpacked": sum(info.file_size for info in files.infolist()),
        "gpu": gpu_code(b"".join(files.read(name) for name in files.namelist() if "/libmotley-" in name)),
    }


def wheel_rows(wheels):
    for name, wheel in wheels.items():
        gpu = wheel["gpu"]
        code = f"{sum(gpu.values()) / 1e6:.1f} MB: {', '.join(gpu)}"
        yield (
            f"| `{name}` | {wheel['bytes'] / 1e6:.1f} MB, unpacked {wheel['unpacked'] / 1e6:.1f} MB "
            f"| {code if gpu else 'none'} |"
        )


def main():
    record = ROOT / "packaging" / "wheels.json"
    if sys.argv[1:2] == ["--wheels"]:
        paths = sorted(map(pathlib.Path, sys.argv[2:]))
        record.write_text(json.dumps({path.name: weighed(path) for path in paths}, indent=1) + "\n")
    wheels = json.loads(record.read_text())
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
    print(
        PAGE.format(
            python=project["requires-python"].strip(">="),
            packages="\n".join(rows),
            archs=archs,
            gpus=", ".join(gpus),
            wheels="\n".join(wheel_rows(wheels)),
            version=next(iter(wheels)).split("-")[1],
        ),
        end="",
    )


if __name__ == "__main__":
    main()
