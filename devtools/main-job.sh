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

# Two EAL threads, which may share the available processors.
cpus=$(/usr/bin/python3 -c \
	'import os; print(*sorted(os.sched_getaffinity(0)), sep=",")')

# Normal pages and no files of EAL: the job needs no huge pages, no root, and runs
# beside others.
set -- dpdk-testpmd "--lcores=0@($cpus),1@($cpus)" --no-huge --no-shconf -m 256 \
	-d "$build/drivers/librte_net_mana.so" \
	-a 7870:00:00.0,mac=00:0d:3a:00:00:01,mac=00:0d:3a:00:00:02 \
	-- --forward-mode=io --tx-first --stats-period=1 --no-mlockall \
	--total-num-mbufs=16384

echo "Two modelled ports, connected by a wire, for $seconds seconds:"
echo "  mana-model --ports=2 --wire=pair -- $*"
# testpmd prints its totals first, the model when testpmd has ended. A second signal ends
# testpmd at once from 25.11.3 on: --foreground sends one only.
exec timeout --foreground --preserve-status --signal=INT --kill-after=20 "$seconds" \
	"$build/model/mana-model" --ports=2 --wire=pair --fatal-violations \
	--cq-doorbell=strict -- "$@"
