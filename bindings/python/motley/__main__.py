# SPDX-License-Identifier: Apache-2.0
"""python -m motley: runs the motley command, which is installed beside this file."""

import os
import pathlib
import sys

COMMAND = pathlib.Path(__file__).with_name("command")
LACKING = """motley: this installation has no motley command: libjpeg, libpng, libexif or json-c was missing when it was
built. On Debian and Ubuntu: apt-get install libjson-c-dev libjpeg-dev libpng-dev libexif-dev; then install again."""


def main() -> None:
    if not COMMAND.exists():
        sys.exit(LACKING)
    os.execv(COMMAND, sys.argv)


if __name__ == "__main__":
    main()
