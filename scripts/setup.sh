#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing (Debian 12, Ubuntu 24.04 and their relatives) and builds Motley in build/. Asks nothing.
#   scripts/setup.sh          the library and the motley command
#   scripts/setup.sh tests    also what the tests need, and the tests
#   scripts/setup.sh docs     also what the documentation site needs, and the Python package
#   scripts/setup.sh ci       also what fuzzing needs, and in .venv-torch a newer torch and other loaders (gigabytes)
#   scripts/setup.sh ci whole        the same, and `meson test` runs long sweeps whole
#   scripts/setup.sh ci-packages     of that only what the system's archive has, and builds nothing
set -eu
cd "$(dirname "$0")/.."

build_packages="gcc libc6-dev meson ninja-build pkg-config python3
    libyaml-dev librandom123-dev libpthreadpool-dev
    libjson-c-dev libjpeg-dev libpng-dev libexif-dev libcairo2-dev fonts-dejavu-core scdoc"
test_packages="libcriterion-dev g++ python3-venv python3-numpy python3-yaml python3-pil python3-pytest python3-cffi
    python3-dev cmake"
doc_packages="python3-venv python3-cffi python3-dev"
# Tests that need these are skipped, and counted as skipped, where the archive has none of them.
optional_packages="python3-torchvision"

packages=$build_packages
optional=
tests=auto
sweeps=part     # whole takes minutes more
python=disabled # the package is built for its tests; otherwise pip builds it
sets=avx2,avx512,avx512vbmi
targets=tools/motley
case "${1:-}" in
tests | ci*)
    packages="$packages $test_packages"
    optional=$optional_packages
    tests=enabled
    python=enabled
    sets=$(scripts/widest_set.sh) # each of them compiles for half a minute
    targets=
    ;;
esac
docs=
if [ "${1:-}" = docs ]; then
    docs=1
    packages="$packages $doc_packages"
    python=enabled
    targets=
fi
if [ "${1:-}" = ci ] || [ "${1:-}" = ci-packages ]; then
    docs=1
    sweeps=${2:-part}
    sets=avx2,avx512,avx512vbmi
    packages="$packages $doc_packages"
    optional="$optional ccache clang-format-14 clang libclang-rt-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
    optional="$optional chromium-headless-shell" # tests/test_site.py looks at the site
    optional="$optional libopencv-dev libturbojpeg0-dev" # FFCV is compiled against them
fi

as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
fi

# The names among "$@" that are not installed.
missing_of() {
    for name in "$@"; do
        dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || echo "$name"
    done
}

install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

if command -v apt-get >/dev/null; then
    missing=$(missing_of $packages)
    optional=$(missing_of $optional)
    if [ -n "$missing$optional" ]; then
        $as_root apt-get update -q || echo "setup: the package lists could not be refreshed" >&2
    fi
    if [ -n "$missing" ]; then
        install $missing
    fi
    for name in $optional; do
        install "$name" || echo "setup: no package $name here; the tests that need it will be skipped" >&2
    done
else
    echo "setup: no apt-get here; these must be installed some other way:" $packages >&2
fi

[ "${1:-}" != ci-packages ] || exit 0

# Python parts that Debian does not package live in .venv; without a network their tests are skipped.
if [ $tests = enabled ]; then
    if [ ! -x .venv/bin/python3 ]; then
        /usr/bin/python3 -m venv --system-site-packages .venv
    fi
    # The tests load one module of timm that needs Pillow and NumPy only, and none of its dependencies (torch).
    .venv/bin/python3 -c 'import importlib.util as u; exit(u.find_spec("timm") is None)' ||
        .venv/bin/python3 -m pip install -q --disable-pip-version-check --no-deps timm==1.0.31 ||
        echo "setup: timm could not be installed; the tests that need it will be skipped" >&2
    .venv/bin/python3 -c 'import importlib.util as u; exit(u.find_spec("mypy") is None or u.find_spec("pyright") is None)' ||
        .venv/bin/python3 -m pip install -q --disable-pip-version-check mypy==2.4.1 pyright==1.1.414 ||
        echo "setup: mypy and pyright could not be installed; the tests of types will be skipped" >&2
    PATH="$PWD/.venv/bin:$PATH"
fi

# torchvision's own tests, of Debian's version, which Motley's classes have to pass.
if [ "${1:-}" = ci ]; then
    .venv/bin/python3 tests/peers/run.py --fetch .venv ||
        echo "setup: torchvision's source could not be downloaded; its own tests will be skipped" >&2
fi

# Sphinx and its theme, for the site; Debian's copy of the theme cannot run its own script.
if [ -n "$docs" ] && ! build-docs/venv/bin/python3 -c 'import furo, myst_parser' 2>/dev/null; then
    /usr/bin/python3 -m venv build-docs/venv
    build-docs/venv/bin/python3 -m pip install -q --disable-pip-version-check sphinx==8.2.3 furo==2025.12.19 \
        myst-parser==4.0.1 cffi==2.1.1
fi

# What motley.torch and the adapters plug into; the versions are those that the tests were last seen to pass with.
if [ "${1:-}" = ci ] && [ ! -x .venv-torch/bin/python3 ]; then
    { /usr/bin/python3 -m venv .venv-torch &&
        .venv-torch/bin/python3 -m pip install -q --disable-pip-version-check cffi pytest torch==2.15.0 \
            torchvision==0.29.2 timm==1.0.31 webdataset==1.0.2 'ray[data]==2.60.0' lightning==2.6.6 datasets==5.2.0 \
            nvidia-dali-cuda130==2.4.0; } || {
        echo "setup: no newer torch to be had here; the tests that need it will be skipped" >&2
        rm -rf .venv-torch
    }
fi

# Without what they depend on, which is there: pip would take another torch.
if [ "${1:-}" = ci ] && [ -x .venv-torch/bin/python3 ]; then
    .venv-torch/bin/python3 -c 'import importlib.util as u; exit(not (u.find_spec("torchdata") and u.find_spec("accelerate")))' ||
        .venv-torch/bin/python3 -m pip install -q --disable-pip-version-check --no-deps torchdata==0.11.0 \
            accelerate==1.15.0 psutil==7.2.2 safetensors==0.8.0 ||
        echo "setup: torchdata and Accelerate could not be installed; their tests will be skipped" >&2
fi

if [ "${1:-}" = ci ] && [ -x .venv-torch/bin/python3 ]; then
    .venv-torch/bin/python3 -c 'import importlib.util as u; exit(u.find_spec("ffcv") is None)' ||
        .venv-torch/bin/python3 -m pip install -q --disable-pip-version-check ffcv==1.0.2 ||
        echo "setup: FFCV could not be built; its tests will be skipped" >&2
fi

# torchvision is to lose its decoders to TorchCodec; both are tested.
if [ "${1:-}" = ci ] && [ -x .venv-torch/bin/python3 ]; then
    .venv-torch/bin/python3 -c 'import importlib.util as u; exit(u.find_spec("torchcodec") is None)' ||
        .venv-torch/bin/python3 -m pip install -q --disable-pip-version-check torchcodec==0.17.0 ||
        echo "setup: TorchCodec could not be installed; its tests will be skipped" >&2
fi

# DALI's operator in C++ needs a compiler of C++ and CUDA's headers; its tests are skipped where these are missing.
dali=
if [ "${1:-}" = ci ] && .venv-torch/bin/python3 bindings/python/motley/adapters/dali_flags.py compile >/dev/null; then
    dali=$PWD/.venv-torch/bin/python3
fi

# No CUDA here: it takes minutes to compile, and neither the demonstration nor the tests of the CPU use it.
options="-Dtools=enabled -Dtests=$tests -Dsweeps=$sweeps -Dpython=$python -Dexamples=auto -Dcuda=disabled -Dcpu_sets=$sets"
if [ -f build/build.ninja ]; then
    meson configure build $options "-Ddali=$dali"
else
    meson setup build $options "-Ddali=$dali"
fi
ninja -C build $targets
