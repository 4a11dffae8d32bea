#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to augmented photographs: installs what is missing, builds, and draws build/sheet.png.
#   scripts/try.sh [IMAGE...]      with your own PNG and JPEG files, or with photographs out of a package
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/setup.sh"
"$root/scripts/sheet.sh" "$root/build/sheet.png" "$@"
echo "Open $root/build/sheet.png; the command that drew it is $root/build/tools/motley."
