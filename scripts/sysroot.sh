#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks packages of Debian's archive, of any architecture, into DIR, without installing them. A complete DIR stays.
#   scripts/sysroot.sh amd64|arm64 DIR PACKAGE...
set -eu
arch=$1 root=$2
shift 2
packages=$(echo $*)
[ "$(cat "$root/complete" 2>/dev/null)" != "$packages" ] || exit 0
mkdir -p "$root/apt/lists/partial" "$root/apt/cache/archives/partial"
root=$(cd "$root" && pwd)
apt() {
    apt-get -q -o "Dir::State=$root/apt" -o Dir::State::status=/dev/null -o "Dir::Cache=$root/apt/cache" \
        -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o APT::Sandbox::User=root "$@"
}
apt update
cd "$root/apt"
rm -f -- *.deb
apt download "$@"
for deb in *.deb; do
    dpkg -x "$deb" "$root"
done
echo "$packages" >"$root/complete"
