#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Draws the contact sheet that the README shows: photographs beside what RandAugment makes of them.
#   scripts/sheet.sh OUT.png [IMAGE...]      doc/sheet.png is made by: scripts/sheet.sh doc/sheet.png
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=$1
shift
if [ $# = 0 ]; then
    "$root/scripts/photos.sh" "$root/build/photos"
    set -- "$root"/build/photos/*
fi
"$root/build/tools/motley" apply rand_augment "$@" --variants 5 --seed 2 --cell 128 --sheet "$out"
