#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks the folder of the checkout, installs missing packages, and builds in build/.
#
# usage: build.sh build|test      (also the set of packages: see install-deps.sh)
#   build  driver, model and their programs; a compiler's warning is no error
#   test   all of that, and the tests; a compiler's warning is an error

set -eu
cd "$(dirname "$0")/.."
devtools/check-folder.sh build/drivers
# EAL loads no world-writable plug-in.
umask o-w
# One build at a time in a checkout. The lock needs no file of its own.
exec 9<devtools/build.sh
flock -n 9 || {
	echo "build.sh: waiting for another build in this checkout"
	flock 9
}

echo "build.sh: missing packages of the distribution"
devtools/install-deps.sh "$1"
case $1 in
build)
	options="-Dtests=false -Db_pch=true"
	target=programs ;;
test)
	options="-Dtests=true -Db_pch=false -Dwerror=true"
	target=all ;;
esac
# shellcheck disable=SC2086 # a list of words
if [ ! -e build/build.ninja ]; then
	echo "build.sh: configuration of build/, with the driver headers of DPDK"
	meson setup build $options
elif [ "$1" = test ] && grep -qs '^tests = false' build/meson-private/cmd_line.txt; then
	meson configure build $options
fi
echo "build.sh: compilation"
ninja -C build $target
