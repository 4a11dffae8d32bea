#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts the sources of the libraries that a build can compile along into subprojects/: from where they are published,
# or, where only a Debian archive can be reached, the same versions out of that.
set -eu
cd "$(dirname "$0")/../subprojects"

# The value of KEY in the wrap file of LIBRARY.
value() { # LIBRARY KEY
    sed -n "s/^$2 = //p" "$1.wrap"
}

here() {
    for wrap in *.wrap; do
        [ -f "$(value "${wrap%.wrap}" directory)/meson.build" ] || return 1
    done
}

from_debian() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    mkdir "$scratch/lists"
    site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' | head -n 1)
    for release in bookworm trixie; do
        echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $release main"
    done >"$scratch/sources.list"
    apt() {
        apt-get -q -o "Dir::Etc::sourcelist=$scratch/sources.list" -o Dir::Etc::sourceparts=- \
            -o "Dir::State::lists=$scratch/lists" -o APT::Sandbox::User=root "$@"
    }
    apt update
    (cd "$scratch" && apt source --tar-only --download-only libyaml/bookworm pthreadpool/trixie fxdiv/bookworm \
        librandom123/bookworm)
    for library in libyaml pthreadpool fxdiv random123; do
        directory=$(value $library directory)
        mkdir -p "$directory"
        tar -xf "$scratch"/*"$library"_*.orig.tar.* -C "$directory" --strip-components=1
        cp -r "packagefiles/$library/." "$directory"
    done
}

# Whether the site of the first library is known here: Meson tries four times, with pauses, before it gives up.
site_is_known() {
    getent hosts "$(sed -n 's|^source_url = https://\([^/]*\)/.*|\1|p' -- *.wrap | head -n 1)" >/dev/null
}

here || (site_is_known && cd .. && meson subprojects download) && here || from_debian
here
