#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzz targets of a build directory, one after the other.
#   tests/fuzz/run.sh [--record] BUILD SECONDS_EACH [NAME...]     NAME: policy, image, ...; all without one
# --record appends a line for each target that found nothing to tests/fuzz/record.csv, which is committed: the seconds are
# processor time, so that a busy machine does not count for more than it did. Recorded runs add up: each begins with the
# inputs that earlier ones left in BUILD, and with another seed.
set -uo pipefail
TIMEFORMAT='%U %S'
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
record= seed=-seed=1
if [[ $1 == --record ]]; then
    record=$here/record.csv seed=-seed=$RANDOM
    commit=$(git -C "$root" describe --always)
    git -C "$root" diff --quiet HEAD -- . ':!tests/fuzz/record.csv' || commit+=-dirty
    shift
fi
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
    {
        time "$build/tests/fuzz/fuzz_$name" $seed -max_total_time="$seconds" -timeout=30 -rss_limit_mb=4096 \
            -artifact_prefix="$build/$name-" -verbosity=0 -print_final_stats=1 "${dictionary[@]}" \
            "$build/corpus-$name" "${seeds[@]}" >"$build/$name.log" 2>&1
    } 2>"$build/$name.time"
    status=$?
    tail -n 60 "$build/$name.log" | grep -v '# Uses:'
    ((status == 0)) || exit 1
    if [[ $record ]]; then
        used=$(awk '{ printf "%.0f", $1 + $2 }' "$build/$name.time")
        inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log")
        [[ -f $record ]] || echo "date,commit,target,seconds,inputs" >"$record"
        echo "$(date -u +%F),$commit,$name,$used,$inputs" >>"$record"
    fi
done
