#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a source distribution without a network, with only the libraries that it carries, and runs what it installed.
#   tests/test_sdist.sh SDIST
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch"
"$scratch/bin/python3" -m pip install -q meson-python ninja cffi
PATH=$scratch/bin:$PATH
offline="unshare --map-root-user --net"
$offline true 2>/dev/null || offline="env http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9" # in containers
# The base set of kernels only: the others are the same files, compiled with other options.
$offline python3 -m pip install -q --no-build-isolation --no-index --no-deps "$1" \
    --config-settings=setup-args=--force-fallback-for=libyaml,pthreadpool,random123 \
    --config-settings=setup-args=-Dcpu_sets=
cd "$scratch"
motley --version
python3 -c 'import motley; print(motley.Policy("rand_augment").show().splitlines()[0])'
