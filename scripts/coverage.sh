#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which lines the tests reach. Writes the sums to tests/coverage.txt, and line by line:
#   scripts/coverage.sh c [OPTION_OR_TEST...]    the library and the command: build-coverage/html/index.html
#   scripts/coverage.sh python                   the Python package: build-coverage/html/python/index.html
#   scripts/coverage.sh                          both
# The options of the first are `meson test`'s. A run of one keeps the other's sums.
set -eu
cd "$(dirname "$0")/.."
part=${1:-}
[ $# = 0 ] || shift
scripts/setup.sh tests
PATH=$PWD/.venv/bin:$PATH
run="$(date -u +%F), commit $(git describe --always --dirty)" # before coverage.txt changes
status=0

# Replaces the paragraph of tests/coverage.txt that begins with NAME by what stdin has.
write_sums() { # NAME
    {
        awk -v RS= -v ORS='\n\n' -v name="$1" 'index($0, name) != 1' tests/coverage.txt
        cat
    } >build-coverage/sums
    cp build-coverage/sums tests/coverage.txt
}

c() { # OPTION_OR_TEST...
    # Debian's gcovr 5 stops at functions that a header defines twice, as our sets of kernels do.
    gcovr=build-tools/bin/gcovr
    if ! [ -x $gcovr ]; then
        python3 -m venv build-tools
        build-tools/bin/python3 -m pip install -q gcovr==8.3
    fi
    # Atomic, as threads that count the same line would lose counts, or leave negative ones.
    [ -f build-coverage/build.ninja ] || meson setup build-coverage -Dbuildtype=debug -Db_coverage=true -Dcuda=disabled \
        -Dc_args=-fprofile-update=atomic -Dcpp_args=-fprofile-update=atomic -Dtools=enabled -Dtests=enabled
    ninja -C build-coverage
    find build-coverage -name '*.gcda' -delete
    meson test -C build-coverage --no-rebuild --print-errorlogs --timeout-multiplier 10 "$@" || status=$?
    mkdir -p build-coverage/html
    {
        echo "C: $run, meson test $*"
        $gcovr -r . --exclude 'tests/|examples/|subprojects/|build' --merge-mode-functions=separate \
            --html-details build-coverage/html/index.html --print-summary build-coverage |
            grep -E '^(lines|functions|branches)'
    } | write_sums C
}

python() {
    folder=$PWD/build-coverage/python
    rm -rf "$folder"
    mkdir -p "$folder"
    .venv/bin/python3 -m pip install -q --disable-pip-version-check --target "$folder/site" coverage==7.17.3
    # Every interpreter that a test starts imports it.
    echo 'import coverage; coverage.process_startup()' >"$folder/site/sitecustomize.py"
    cat >"$folder/rc" <<END
[run]
branch = true
parallel = true
concurrency = multiprocessing, thread
data_file = $folder/data
source_pkgs = motley
disable_warnings = module-not-imported, no-data-collected, module-not-measured
[paths]
source =
    bindings/python/motley
    */bindings/python/motley
END
    export PYTHONPATH="$folder/site"
    COVERAGE_PROCESS_START=$folder/rc meson test -C build --no-rebuild --print-errorlogs --timeout-multiplier 4 \
        --suite python --suite python-torch || status=$?
    count="python3 -m coverage"
    $count combine -q --rcfile "$folder/rc"
    $count html -q --rcfile "$folder/rc" -d build-coverage/html/python
    {
        echo "Python: $run, meson test --suite python --suite python-torch"
        $count json -q --rcfile "$folder/rc" -o - | python3 -c '
import json, sys
total = json.load(sys.stdin)["totals"]
for what, reached, of in (("lines", "covered_lines", "num_statements"), ("branches", "covered_branches", "num_branches")):
    print(f"{what}: {total[reached] / total[of]:.1%} ({total[reached]} out of {total[of]})")'
    } | write_sums Python
    unset PYTHONPATH
}

case $part in
c | python) $part "$@" ;;
'') c && python ;;
*) echo "usage: scripts/coverage.sh [c [OPTION_OR_TEST...] | python]" >&2 && exit 2 ;;
esac
cat tests/coverage.txt
exit $status
