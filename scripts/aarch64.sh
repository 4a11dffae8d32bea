#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compiles Motley for 64-bit ARM on another machine, and runs the tests of the CPU there under qemu. What it needs of
# Debian's archive it unpacks into build-aarch64-sysroot; the compiler and qemu come from scripts/setup.sh ci.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=build-aarch64
root=$PWD/$dir-sysroot
packages="libyaml-0-2 libyaml-dev libpthreadpool0 libpthreadpool-dev librandom123-dev"

for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
    command -v $tool >/dev/null || { echo "aarch64: no $tool here: install gcc-aarch64-linux-gnu and qemu-user" >&2 && exit 1; }
done
scripts/sysroot.sh arm64 "$root" $packages
cat >"$root/cross.ini" <<END
[binaries]
c = [$(! command -v ccache >/dev/null || echo "'ccache', ")'aarch64-linux-gnu-gcc']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'false'
exe_wrapper = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu', '-E', 'LD_LIBRARY_PATH=$root/usr/lib/aarch64-linux-gnu']
[built-in options]
c_args = ['-isystem$root/usr/include']
c_link_args = ['-L$root/usr/lib/aarch64-linux-gnu', '-Wl,-rpath-link,$root/usr/lib/aarch64-linux-gnu']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'armv8-a'
endian = 'little'
END
[ -f $dir/build.ninja ] || meson setup $dir --werror --cross-file "$root/cross.ini" -Dcuda=disabled -Dtools=disabled -Dpython=disabled \
    -Ddocs=disabled -Dexamples=disabled -Dtests=enabled >/dev/null
nice ninja -C $dir --quiet
meson test -C $dir --no-rebuild --print-errorlogs --no-suite package --no-suite pillow --no-suite facts --timeout-multiplier 10 "$@"
