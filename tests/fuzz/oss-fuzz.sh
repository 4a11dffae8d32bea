#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the targets the way OSS-Fuzz wants them: CC, CFLAGS and LIB_FUZZING_ENGINE come from it, the targets with their
# seeds and dictionaries go to OUT. The targets hold Motley and the libraries that it can compile along, so that those are
# fuzzed with the sanitizers, too; fuzz_image needs libpng, libjpeg and libexif where it runs. Tried without OSS-Fuzz:
#   CC=clang CFLAGS=-fsanitize=fuzzer-no-link,address LIB_FUZZING_ENGINE=-fsanitize=fuzzer OUT=/tmp/out tests/fuzz/oss-fuzz.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
build=${WORK:-$PWD}/build-oss-fuzz
rm -rf "$build"
meson setup "$build" -Dbuildtype=debugoptimized -Dfuzz=enabled "-Dfuzz_engine=$LIB_FUZZING_ENGINE" -Dcuda=disabled \
    -Dtools=disabled -Dtests=disabled -Dexamples=disabled -Dbench=disabled -Ddocs=disabled -Db_lundef=false \
    --force-fallback-for=libyaml,pthreadpool,random123
ninja -C "$build"
mkdir -p "$OUT"
for target in "$build"/tests/fuzz/fuzz_*; do
    [[ -f $target && -x $target ]] || continue
    name=${target##*/fuzz_}
    cp "$target" "$OUT/"
    [[ -f $here/$name.dict ]] && cp "$here/$name.dict" "$OUT/fuzz_$name.dict"
    seeds=()
    [[ -d $here/corpus/$name ]] && seeds+=("$here/corpus/$name"/*)
    [[ $name == policy ]] && seeds+=(policy_files/*.yaml tests/bad_policies/* tests/bad_transforms/*)
    ((${#seeds[@]})) && python3 -m zipfile -c "$OUT/fuzz_${name}_seed_corpus.zip" "${seeds[@]}"
done
