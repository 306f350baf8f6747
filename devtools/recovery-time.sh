#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# How long the driver takes to rebuild a port with 16 Rx and 16 Tx queues after a reset of
# the adapter, under traffic, on the model: a line per port, with the goal.
#
# usage: recovery-time.sh
# BUILD: build folder (default: build/)

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${BUILD:-$root/build}" && pwd)
# shellcheck source=devtools/hugepages-lib.sh
. "$root/devtools/hugepages-lib.sh"

ninja -C "$build" app/test/perf/perf-recovery >/dev/null
export MANA_PLUGIN="$build/drivers/librte_net_mana.so.23.0" CMOCKA_MESSAGE_OUTPUT=stdout
hugepages_reserve 256
trap hugepages_give_back EXIT
case $memory in
--in-memory*) export MANA_TEST_MEMORY=--in-memory ;;
*) echo "recovery-time.sh: no huge pages are free: registration of memory takes longer" ;;
esac
log=$build/recovery-time.log
"$build/model/mana-model" --ports 2 --wire pair -- "$build/app/test/perf/perf-recovery" \
	>"$log" 2>&1 || {
	tail -n 30 "$log"
	exit 1
}
grep '^recovery: ' "$log"
