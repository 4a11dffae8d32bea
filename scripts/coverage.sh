#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which lines the tests reach: builds for it in build-coverage/, runs the tests, and writes build-coverage/html/index.html
# and tests/coverage.txt, the sums.
#   scripts/coverage.sh [OPTION_OR_TEST...]      all tests, or what `meson test` takes
set -eu
cd "$(dirname "$0")/.."
# Debian's gcovr 5 stops at functions that a header defines twice, as our sets of kernels do.
gcovr=build-tools/bin/gcovr
if ! [ -x $gcovr ]; then
    python3 -m venv build-tools
    build-tools/bin/python3 -m pip install -q gcovr==8.3
fi
scripts/setup.sh tests
PATH=$PWD/.venv/bin:$PATH
# Atomic, as threads that count the same line would lose counts, or leave negative ones.
[ -f build-coverage/build.ninja ] || meson setup build-coverage -Dbuildtype=debug -Db_coverage=true -Dcuda=disabled \
    -Dc_args=-fprofile-update=atomic -Dcpp_args=-fprofile-update=atomic -Dtools=enabled -Dtests=enabled -Dpython=enabled
ninja -C build-coverage
find build-coverage -name '*.gcda' -delete
status=0
meson test -C build-coverage --no-rebuild --print-errorlogs --timeout-multiplier 10 "$@" || status=$?
mkdir -p build-coverage/html
run="$(date -u +%F), commit $(git describe --always --dirty), meson test $*" # before coverage.txt changes
{
    echo "$run"
    $gcovr -r . --exclude 'tests/|examples/|subprojects/|build' --merge-mode-functions=separate \
        --html-details build-coverage/html/index.html --print-summary build-coverage | grep -E '^(lines|functions|branches)'
} >tests/coverage.txt
cat tests/coverage.txt
exit $status
