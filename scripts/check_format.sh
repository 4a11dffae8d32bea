#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks how code looks: clang-format (.clang-format) on C and CUDA, ruff (ruff.toml) on Python.
set -euo pipefail
cd "$(dirname "$0")/.."
format=$(command -v clang-format-14 || command -v clang-format)
if [[ $("$format" --version) != *" 14."* ]]; then
    echo "check_format: want clang-format 14, have $("$format" --version): other versions format otherwise" >&2
    exit 77
fi
ruff=$(command -v ruff || echo build-tools/bin/ruff)
if ! [[ -x $ruff ]]; then
    python3 -m venv build-tools
    build-tools/bin/python3 -m pip install -q ruff==0.17.6
fi

unclean=$(
    git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' |
        xargs -n 1 -P 2 sh -c '"$0" --dry-run -Werror "$1" 2>/dev/null || echo "$1"' "$format"
    git ls-files '*.py' | xargs "$ruff" check -q --output-format concise || true
    git ls-files '*.py' | xargs "$ruff" format --check -q --output-format concise || true
)
if [[ -n $unclean ]]; then
    printf 'not clean: %s\n' "$unclean"
    echo "clang-format -i FILE, ruff check --fix FILE and ruff format FILE mend most of it."
    exit 1
fi
echo "$(git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' '*.py' | wc -l) files are clean"
