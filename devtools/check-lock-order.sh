#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds driver and tests for debugging, with a check of the order of locks that ends a program
# which breaks it (base/mana_process.h), and runs the tests of operations in each state, of
# random operations, and of several processes.
#
# usage: check-lock-order.sh [build folder]

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build-lock-order}

[ -e "$build/build.ninja" ] || CC=gcc meson setup "$build" "$root" -Dbuildtype=debug \
	-Dc_args=-DMANA_LOCK_ORDER
ninja -C "$build"
# shellcheck disable=SC2046 # a list of names
if meson test -C "$build" --no-rebuild --print-errorlogs --timeout-multiplier 4 pmd-states \
		pmd-sequence pmd-fork pmd-stop $(meson test -C "$build" --no-rebuild --list |
		sed -nE 's,.*[ :](testpmd-multi_process-\S+)$,\1,p' | grep -v -- '-faults-\|-loss-'); then
	echo "PASS lock-order"
else
	echo "FAIL lock-order"
	exit 1
fi
