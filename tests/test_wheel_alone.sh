#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tries a wheel on a machine that has Python and nothing else: a Debian that debootstrap makes in ROOT, without a compiler
# and without any library that the wheel has to carry. Needs root, debootstrap, PyPI and Debian's archive.
#   tests/test_wheel_alone.sh ROOT RELEASE WHEEL      RELEASE: bookworm (Python 3.11), trixie (3.13), ...
#   tests/test_wheel_alone.sh ROOT bullseye WHEEL     whose Python is too old: only the command, with glibc 2.31
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
root=$1 release=$2 wheel=$3
if [ ! -e "$root/complete" ]; then
    debootstrap --variant=minbase --include=python3-venv,ca-certificates "$release" "$root"
    touch "$root/complete"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
rm -rf "$root/source" "$root/venv" "$root/wheel"
mkdir "$root/source" "$root/wheel"
cp "$wheel" "$root/wheel"
(cd "$source" && tar -c meson.build policy_files bindings/python tests/test_wheel.py tests/pillow) | tar -x -C "$root/source"
mount -t proc proc "$root/proc" # by which the loader finds the libraries beside a program
trap 'umount "$root/proc"' EXIT
chroot "$root" env -i PATH=/venv/bin:/usr/bin:/bin HOME=/root LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt sh -eu -c '
    for tool in cc gcc meson ninja; do
        ! command -v $tool || { echo "$tool is here: ROOT is not a machine with only Python" >&2; exit 1; }
    done
    if ! python3 -c "import sys; exit(sys.version_info < (3, 11))"; then
        python3 -m zipfile -e /wheel/*.whl /wheel/files
        chmod +x /wheel/files/motley/command
        /wheel/files/motley/command draw rand_augment --samples 3
        exit
    fi
    python3 -m venv /venv
    python3 -m pip install -q --disable-pip-version-check cffi
    python3 /source/tests/test_wheel.py /wheel/*.whl
    python3 -m pip install -q --disable-pip-version-check /wheel/*.whl pytest numpy Pillow
    cd /source/bindings/python/tests && MOTLEY=/venv/bin/motley python3 -m pytest -q -p no:cacheprovider \
        test_policy.py test_ops.py test_draws.py test_arrays_pillow.py'
