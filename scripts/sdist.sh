#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the source distribution of what is committed, with the sources of the libraries that a build can compile along:
# `pip install` needs no network for it where the Python build tools are installed. Needs PyPI.
#   scripts/sdist.sh OUT_DIR
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/sources.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch"
"$scratch/bin/python3" -m pip install -q build
"$scratch/bin/python3" -m build --sdist --outdir "$1" "$root" -Cdist-args=--include-subprojects \
    -Csetup-args=--force-fallback-for=libyaml,pthreadpool,random123
