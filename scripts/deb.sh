#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages libmotley1, libmotley-dev and motley out of packaging/debian, in build-deb/.
#   scripts/deb.sh [OPTION_OF_DPKG_BUILDPACKAGE...]      DEB_BUILD_OPTIONS=nocheck leaves out the tests
set -eu
cd "$(dirname "$0")/.."
if ! command -v dh >/dev/null; then
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    $as_root apt-get install -y -q --no-install-recommends debhelper dpkg-dev
fi
rm -rf build-deb
mkdir -p build-deb/source
git ls-files -z | tar -c --null -T - | tar -x -C build-deb/source
cp -r packaging/debian build-deb/source/debian
cd build-deb/source
dpkg-buildpackage -us -uc -b "$@"
