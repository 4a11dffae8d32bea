#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzz targets of a build directory, one after the other.
#   tests/fuzz/run.sh BUILD SECONDS_EACH [NAME...]     NAME: policy, image, ...; all without one
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
build=$1 seconds=$2
shift 2
names=("$@")
if ((${#names[@]} == 0)); then
    for target in "$build"/tests/fuzz/fuzz_*; do
        [[ -f $target && -x $target ]] && names+=("${target##*/fuzz_}")
    done
fi
((${#names[@]})) || { echo "fuzz: no targets in $build" && exit 1; }
for name in "${names[@]}"; do
    seeds=() dictionary=()
    [[ $name == policy ]] && seeds=("$root/policy_files" "$root/tests/bad_policies")
    [[ -d $here/corpus/$name ]] && seeds+=("$here/corpus/$name")
    [[ -f $here/$name.dict ]] && dictionary=("-dict=$here/$name.dict")
    mkdir -p "$build/corpus-$name"
    echo "-- $name, $seconds s"
    "$build/tests/fuzz/fuzz_$name" -seed=1 -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 \
        -artifact_prefix="$build/$name-" -verbosity=0 -print_final_stats=1 "${dictionary[@]}" "$build/corpus-$name" \
        "${seeds[@]}" 2>&1 | tail -n 60 | grep -v '# Uses:' || exit 1
done
