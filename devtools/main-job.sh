#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The main job: Debian's dpdk-testpmd forwards packets between two modelled MANA
# ports through the plug-in and prints the rate every second. At the end testpmd and
# the model print their totals.
#
# usage: main-job.sh [seconds] [build folder]

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
seconds=${1:-10}
build=$(cd "${2:-$root/build}" && pwd)
hugepages=/proc/sys/vm/nr_hugepages
wanted_mb=256
reserved=

at_exit() {
	[ -z "$reserved" ] || echo "$reserved" >"$hugepages"
}
trap at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

free_mb() {
	awk '/^HugePages_Free:/ { n = $2 } /^Hugepagesize:/ { kb = $2 }
		END { printf "%d\n", n * kb / 1024 }' /proc/meminfo
}

# Use huge pages if enough are free or can be reserved for this run, otherwise
# normal pages. --in-memory needs no mounted hugetlbfs.
memory="--no-huge -m $wanted_mb"
if [ "$(id -u)" -eq 0 ] && [ -w "$hugepages" ]; then
	if [ "$(free_mb)" -lt "$wanted_mb" ]; then
		before=$(cat "$hugepages")
		page_kb=$(awk '/^Hugepagesize:/ { print $2 }' /proc/meminfo)
		more=$(((wanted_mb - $(free_mb)) * 1024 / page_kb))
		if { echo $((before + more)) >"$hugepages"; } 2>/dev/null; then
			reserved=$before
		fi
	fi
	[ "$(free_mb)" -lt "$wanted_mb" ] || memory="--in-memory"
fi

# Two EAL threads, which may share the available processors.
cpus=$(/usr/bin/python3 -c \
	'import os; print(*sorted(os.sched_getaffinity(0)), sep=",")')

# shellcheck disable=SC2086 # $memory is a list of words
set -- dpdk-testpmd "--lcores=0@($cpus),1@($cpus)" $memory \
	-d "$build/drivers/librte_net_mana.so" \
	-a 7870:00:00.0,mac=00:0d:3a:00:00:01,mac=00:0d:3a:00:00:02 \
	-- --forward-mode=io --tx-first --stats-period=1 --no-mlockall \
	--total-num-mbufs=16384

echo "Two modelled ports, connected by a wire, for $seconds seconds:"
echo "  mana-model --ports=2 --wire=pair -- $*"
# testpmd prints its totals first, the model when testpmd has ended.
"$build/model/mana-model" --ports=2 --wire=pair --fatal-violations \
	--cq-doorbell=strict -- \
	timeout --preserve-status --signal=INT --kill-after=20 "$seconds" "$@"
