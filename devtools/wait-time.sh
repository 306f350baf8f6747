#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Measures on the model, under traffic, how long the driver takes to rebuild a port with 16 Rx
# and 16 Tx queues after a reset of the adapter: a line per port, with the goal; and how long
# its Rx queues are replaced for each other reason.
#
# usage: wait-time.sh
# BUILD: build folder (default: build/)

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${BUILD:-$root/build}" && pwd)
# shellcheck source=devtools/hugepages-lib.sh
. "$root/devtools/hugepages-lib.sh"

if [ $# -ne 0 ]; then
	sed -n 's/^# \(usage: .*\)/\1/p' "$0" >&2
	exit 2
fi
export MANA_PLUGIN="$build/drivers/librte_net_mana.so" CMOCKA_MESSAGE_OUTPUT=stdout
hugepages_reserve 256
trap hugepages_give_back EXIT
case $memory in
--in-memory*) export MANA_TEST_MEMORY=--in-memory ;;
*) echo "wait-time.sh: no huge pages are free: registration of memory takes longer" ;;
esac
ninja -C "$build" app/test/perf/perf-recovery >/dev/null
log=$build/wait-time.log
"$build/model/mana-model" --mode sync --ports 2 --wire pair -- \
	"$build/app/test/perf/perf-recovery" >"$log" 2>&1 || {
	tail -n 30 "$log"
	exit 1
}
grep -E '^(recovery|outage): ' "$log"
