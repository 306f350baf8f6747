#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs missing packages and builds everything in build/.
#
# usage: build.sh build|test      (sets of packages: see install-deps.sh)

set -eu
cd "$(dirname "$0")/.."
devtools/install-deps.sh "$1"
[ -e build/build.ninja ] || meson setup build -Dwerror=true
ninja -C build
