#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which lines the tests reach: builds for it in build-coverage/, runs the tests, and writes build-coverage/html/index.html.
#   scripts/coverage.sh [TEST...]      all tests, or those; prints the sums
set -eu
cd "$(dirname "$0")/.."
if ! command -v gcovr >/dev/null; then
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    $as_root apt-get install -y -q --no-install-recommends gcovr
fi
scripts/setup.sh tests
PATH=$PWD/.venv/bin:$PATH
[ -f build-coverage/build.ninja ] || meson setup build-coverage -Dbuildtype=debug -Db_coverage=true -Dcuda=disabled \
    -Dtools=enabled -Dtests=enabled -Dpython=enabled
ninja -C build-coverage
find build-coverage -name '*.gcda' -delete
status=0
meson test -C build-coverage --no-rebuild --print-errorlogs --timeout-multiplier 10 "$@" || status=$?
mkdir -p build-coverage/html
gcovr -r . --object-directory build-coverage --exclude 'tests/|examples/|subprojects/|build' \
    --html-details build-coverage/html/index.html --print-summary
exit $status
