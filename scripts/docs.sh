#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation site in build-docs/: the pages of the repository, the headers, the docstrings, and the gallery,
# for which the command draws every op, policy and transform. A warning or a link that leads nowhere is an error.
#   scripts/docs.sh
set -eu
cd "$(dirname "$0")/.."
if ! build-docs/venv/bin/python3 -c 'import myst_parser, furo' 2>/dev/null || ! [ -e build/bindings/python/motley/_core.abi3.so ]; then
    scripts/setup.sh docs
fi
tools/op_table.py build/tools/motley | diff doc/ops.md - || {
    echo "docs: doc/ops.md is old: tools/op_table.py build/tools/motley >doc/ops.md" >&2
    exit 1
}
scripts/photos.sh build/photos
/usr/bin/python3 doc/site/gallery.py build/tools/motley build/photos/chelsea.png
rm -rf build-docs/html
build-docs/venv/bin/python3 -m sphinx -q -W --keep-going -c doc/site -d build-docs/doctrees . build-docs/html
echo "build-docs/html/doc/site/index.html"
