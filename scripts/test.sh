#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs every test, the longest sweeps in part; the last lines say what these left
# out, and count.
set -eu
cd "$(dirname "$0")/.."
scripts/setup.sh tests
export CRITERION_VERBOSITY_LEVEL=1 # Criterion then names what it skips
status=0
meson test -C build --no-rebuild --print-errorlogs || status=$?
echo "build: left out the kernels of instruction sets but the base set and $(scripts/widest_set.sh)"
python3 scripts/count_tests.py build || status=1
exit $status
