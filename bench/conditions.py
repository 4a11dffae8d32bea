# SPDX-License-Identifier: Apache-2.0
"""What a result says of its run: the day, the commit, whether its sources were changed since, and the processor."""

import datetime
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What figures of the library and of the Python package on the CPU depend on
CPU_PATHS = ["augmentations", "dispatch", "include", "kernels", "policies", ":!*cuda*"]
PYTHON_PATHS = ["bindings/python", *CPU_PATHS]


def first_line(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.split("\n")[0]


def processor():
    with open("/proc/cpuinfo") as lines:
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def conditions(paths, commit=None):
    """paths: of the sources, as git takes them. commit: of a copy of the tree without its history."""
    status = "" if commit else first_line("git", "status", "--porcelain", "--untracked-files=no", "--", *paths)
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit or first_line("git", "rev-parse", "--short=12", "HEAD"),
        "changed": bool(status),
        "cpu": processor(),
    }
