#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Measures on the model, under traffic, how long an application waits:
#   recovery   how long the driver takes to rebuild a port with 16 Rx and 16 Tx queues
#              after a reset of the adapter: a line per port, with the goal; and how long
#              its Rx queues are replaced for each other reason
#   pool-free  the longest burst while a mempool is freed, with a kernel that takes 100 ms
#              to deregister memory, and with a fast one
#
# usage: wait-time.sh [recovery | pool-free]      (default: both)
# BUILD: build folder (default: build/)

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${BUILD:-$root/build}" && pwd)
# shellcheck source=devtools/hugepages-lib.sh
. "$root/devtools/hugepages-lib.sh"

case $#${1-} in
0) set -- recovery pool-free ;;
1recovery | 1pool-free) ;;
*)
	sed -n 's/^# \(usage: .*\)/\1/p' "$0" >&2
	exit 2
	;;
esac
export MANA_PLUGIN="$build/drivers/librte_net_mana.so" CMOCKA_MESSAGE_OUTPUT=stdout
hugepages_reserve 256
trap hugepages_give_back EXIT
case $memory in
--in-memory*) export MANA_TEST_MEMORY=--in-memory ;;
*) echo "wait-time.sh: no huge pages are free: registration of memory takes longer" ;;
esac
for name; do
	ninja -C "$build" "app/test/perf/perf-$name" >/dev/null
	mode=sync
	[ "$name" != pool-free ] || mode=step
	log=$build/wait-time-$name.log
	"$build/model/mana-model" --mode "$mode" --ports 2 --wire pair -- \
		"$build/app/test/perf/perf-$name" >"$log" 2>&1 || {
		tail -n 30 "$log"
		exit 1
	}
	grep -E "^($name|outage): " "$log"
done
