#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares the interface of libmotley.so with that of the last release, which packaging/abi/ holds.
#   scripts/abi.sh check     fails on every change but new functions, unless soversion is new, too
#   scripts/abi.sh record    writes the interface of what is checked out, at a release
set -eu
cd "$(dirname "$0")/.."
if ! command -v abidw >/dev/null; then
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    $as_root apt-get install -y -q --no-install-recommends abigail-tools
fi
soversion=$(sed -n "s/.*soversion: '\([0-9.]*\)'.*/\1/p" meson.build)
# With what a debugger knows, and without what is not part of the interface.
[ -f build-abi/build.ninja ] || meson setup build-abi -Dbuildtype=plain -Dc_args='-g -O0' -Dcuda=disabled \
    -Dcpu_sets= -Dtools=disabled -Dtests=disabled -Dexamples=disabled -Dbench=disabled -Ddocs=disabled >/dev/null
ninja -C build-abi --quiet
library=build-abi/libmotley.so.$soversion
recorded=packaging/abi/libmotley.so.$soversion.abi
write_interface() { # TO
    abidw --exported-interfaces-only --suppressions packaging/abi/public.suppr --no-comp-dir-path --no-show-locs \
        --out-file "$1" "$library"
}

case "${1:-}" in
record)
    mkdir -p packaging/abi
    rm -f packaging/abi/*.abi
    write_interface "$recorded"
    ;;
check)
    if ! [ -f "$recorded" ]; then
        echo "abi: no release with soversion $soversion is recorded; there is nothing to break"
        exit
    fi
    write_interface build-abi/now.abi
    # Harmless ones too: libabigail means a struct that grew at its end, but callers allocate ours.
    abidiff --harmless --no-added-syms "$recorded" build-abi/now.abi || {
        echo "abi: programs compiled for soversion $soversion may break (values added to an enum excepted); see RELEASING.md" >&2
        exit 1
    }
    ;;
*)
    echo "usage: scripts/abi.sh check|record" >&2
    exit 2
    ;;
esac
