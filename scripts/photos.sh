#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches a few photographs that may be used freely into DIR, out of a Debian package, which is not installed for it.
#   scripts/photos.sh DIR
set -eu
folder=$1
package=python3-skimage
# NASA (astronaut, rocket: public domain), S. van der Walt (chelsea: CC0), R. Michetti (coffee: CC0)
names="astronaut.png chelsea.png coffee.png rocket.jpg"

have_all() {
    for name in $names; do
        [ -s "$folder/$name" ] || return 1
    done
}
have_all && exit

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
data=$(dpkg -L "$package" 2>/dev/null | grep '/skimage/data$' || true)
if [ -z "$data" ]; then
    # As this user: apt's own may not write there, which apt would warn of.
    (cd "$scratch" && apt-get download -q -o APT::Sandbox::User=root "$package" && dpkg -x "$package"_*.deb .)
    data=$(find "$scratch" -type d -path '*/skimage/data' | head -n 1)
fi
mkdir -p "$folder"
for name in $names; do
    if [ -f "$data/$name" ]; then
        cp "$data/$name" "$folder/"
    fi
done
ls "$folder"/*.png "$folder"/*.jpg >/dev/null 2>&1 || {
    echo "photos: no photographs in $package; give files of your own" >&2
    exit 1
}
