#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzz targets of a build directory, one after the other.
#   tests/fuzz/run.sh [--record] [--jobs N] BUILD SECONDS_EACH [NAME...]     NAME: policy, image, ...; all without one
# --record appends a line for each target that found nothing to tests/fuzz/record.csv, which is committed: the seconds are
# processor time, so that a busy machine does not count for more than it did. Recorded runs add up: each begins with the
# inputs that earlier ones left in BUILD, and with another seed. Where there is no history, COMMIT says what was built.
# --jobs runs a target in N processes, each with a seed of its own, which share what they find; their seconds and inputs
# are added.
set -uo pipefail
TIMEFORMAT='%U %S'
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
record= seed=1 jobs=1
if [[ $1 == --record ]]; then
    record=$here/record.csv seed=$RANDOM
    commit=${COMMIT:-$(git -C "$root" describe --always)}
    [[ ${COMMIT:-} ]] || git -C "$root" diff --quiet HEAD -- . ':!tests/fuzz/record.csv' || commit+=-dirty
    shift
fi
if [[ $1 == --jobs ]]; then
    jobs=$2
    shift 2
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

one() { # NAME JOB ARGUMENT...
    local log=$build/$1-$2.log
    time "$build/tests/fuzz/fuzz_$1" -seed=$((seed + $2)) -max_total_time="$seconds" -timeout=30 -rss_limit_mb=4096 \
        -artifact_prefix="$build/$1-" -verbosity=0 -print_final_stats=1 "${@:3}" >"$log" 2>&1
}

for name in "${names[@]}"; do
    seeds=() dictionary=() running=() status=0
    [[ $name == policy ]] && seeds=("$root/policy_files" "$root/tests/bad_policies" "$root/tests/bad_transforms")
    [[ -d $here/corpus/$name ]] && seeds+=("$here/corpus/$name")
    [[ -f $here/$name.dict ]] && dictionary=("-dict=$here/$name.dict")
    mkdir -p "$build/corpus-$name"
    rm -f "$build/$name"-*.{log,time}
    echo "-- $name, $seconds s, processes: $jobs"
    for ((job = 0; job < jobs; job++)); do
        one "$name" "$job" "${dictionary[@]}" "$build/corpus-$name" "${seeds[@]}" 2>"$build/$name-$job.time" &
        running+=($!)
    done
    for process in "${running[@]}"; do
        wait "$process" || status=$?
    done
    tail -q -n 60 "$build/$name"-*.log | grep -v '# Uses:'
    ((status == 0)) || exit 1
    if [[ $record ]]; then
        used=$(awk '{ sum += $1 + $2 } END { printf "%.0f", sum }' "$build/$name"-*.time)
        inputs=$(awk '/^stat::number_of_executed_units:/ { sum += $2 } END { print sum }' "$build/$name"-*.log)
        [[ -f $record ]] || echo "date,commit,target,seconds,inputs" >"$record"
        echo "$(date -u +%F),$commit,$name,$used,$inputs" >>"$record"
    fi
done
