#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Measures the cost of a packet in this driver, in DPDK's own driver of the installed
# release (rival), and in the floor, in one process: app/test/perf/README. Prints cycles
# and instructions per packet, and the ratios.
#
# usage: bench.sh [option...] [row...]      (default: all rows, both builds)
#   --cycles          measure cycles only
#   --instructions    count instructions only: exact counts, by callgrind
#   --check           fail if the instructions of a row exceed its goal (goals.txt)
#   --check-ceilings  fail if they exceed the current count (ceilings.txt)
#   --write-ceilings  write ceilings.txt
#   --json FILE       also write the rows: a list of objects with
#                       row, build, burst, ring, segments, queues
#                       path       the name that rte_eth_*_burst_mode_get() returns
#                       ours, rival, floor, goal   instructions per packet, or null
#                       testpmd    the same settings for testpmd
#                     and, for WHO = ours, rival, floor, if measured
#                       cycles_WHO          per packet
#                       cycles_ratio_WHO    its cycles divided by ours
#                       core_mhz   calibrated core frequency
#                       doorbells_WHO, cq_doorbells_WHO, cqes_WHO    per packet
#                       heap_bytes_WHO, rings_bytes_WHO    of all queues, of one pair
#   --build NAME      one build: O3, or debian (compiler flags of Debian's packages)
#   --trixie          use the C library and rdma-core of Debian 13, fetched by
#                     debian-root.sh: also rows with rings of more than 256
#   --goals           only rows that have a goal
#   --repeat N        number of repetitions of cycles (200)
#   --ours            this driver only
#   --against FILE    another plug-in in place of the rival: a build of this driver
#   --no-rival        this driver and the floor
#   --skip            print SKIP and succeed if valgrind is missing
# A row is a name of app/test/perf/perf_rows.c and may contain * and ?. MANA_BUILD is
# the build folder of model and harness (default: build/).

set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=devtools/dpdk-source-lib.sh
. "$here/dpdk-source-lib.sh"
# shellcheck source=devtools/hugepages-lib.sh
. "$here/hugepages-lib.sh"
root=$mana_root
build=${MANA_BUILD:-$root/build}
builds="O3 debian"
measures="cycles instructions"
repeat=
rival=1
floor=1
against=
skip=
goals=
trixie=
report=

while [ $# -gt 0 ]; do
	case $1 in
	--cycles) measures=cycles ;;
	--instructions) measures=instructions ;;
	--check) report="$report --check goals" measures=instructions ;;
	--check-ceilings) report="$report --check ceilings" measures=instructions ;;
	--write-ceilings) report="$report --write-ceilings" measures=instructions ;;
	--json) report="$report --json $2"; shift ;;
	--build) builds=$2; shift ;;
	--repeat) repeat=$2; shift ;;
	--ours) rival='' floor='' ;;
	--against) against=$(realpath "$2"); shift ;;
	--no-rival) rival='' ;;
	--goals) goals=1 ;;
	--trixie) trixie=1 ;;
	--skip) skip=1 ;;
	--help|-h|-*)
		sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
		case $1 in --help|-h) exit 0 ;; esac
		exit 1
		;;
	*) break ;;
	esac
	shift
done

if [ "$measures" != cycles ] && ! command -v valgrind >/dev/null; then
	[ -z "$skip" ] || { echo "SKIP instructions: no valgrind"; exit; }
	dpdk_die "no valgrind: install-deps.sh test, or --cycles"
fi

work=$(mktemp -d)
trap 'hugepages_give_back; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

quietly() {
	"$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; exit 1; }
}

# plugin NAME ours|rival: builds that driver so
plugin() {
	to=$root/build-bench/$1/$2
	tree=$root
	[ "$2" != rival ] || tree=$root/rival/tree
	if [ ! -e "$to/build.ninja" ]; then
		case $1 in
		O3) set -- -Dbuildtype=release ;;
		debian) set -- -Dbuildtype=plain "-Dc_args=-g -O2 \
-fstack-protector-strong -Wformat -Werror=format-security -Wdate-time \
-D_FORTIFY_SOURCE=2 -fPIC" ;;
		*) dpdk_die "no build $1: O3 or debian" ;;
		esac
		DPDK_SOURCE_DIR=$dpdk_cache quietly meson setup "$to" "$tree" \
			-Dtests=false -Dmodel=disabled "$@"
	fi
	quietly ninja -C "$to"
}

# Sets $shared, a command that runs another one with a hugetlbfs of its own, if the memory
# is in huge pages: rows in a secondary process need memory in files.
share_memory() {
	shared=
	mkdir "$work/huge"
	mount="mount -t hugetlbfs none $work/huge"
	# shellcheck disable=SC2086 # a list of words
	if [ "$memory" != "${memory#--in-memory}" ] &&
			unshare --mount $mount 2>/dev/null; then
		memory="--huge-dir $work/huge ${memory#--in-memory}"
		printf '#!/bin/sh\n%s && exec "$@"\n' "$mount" >"$work/with-files"
		chmod +x "$work/with-files"
		shared="env RUNTIME_DIRECTORY=$work unshare --mount $work/with-files"
	else
		memory="$memory --no-shconf"
	fi
}

# perf NAME cycles|instructions|secondary [row...]: mana-perf on the drivers of that
# build. secondary: instructions of a secondary process.
perf() {
	drivers=$root/build-bench/$1
	results=$work/results/$1.$2
	measure=$2
	shift 2
	program="$loader $build/app/test/perf/mana-perf"
	counted="valgrind --tool=callgrind --collect-atstart=no \
--callgrind-out-file=$results.callgrind.%p \
--toggle-collect=perf_timed_rx --toggle-collect=perf_timed_tx \
--toggle-collect=perf_timed_fwd --toggle-collect=perf_timed_poll"
	second=$program
	case $measure in
	cycles)
		eal="$memory -l $cores"
		set -- -R "${repeat:-200}" "$@"
		;;
	instructions)
		# callgrind does not support huge pages, which do not change counts.
		eal="--no-huge --no-shconf -m 384 -l ${cores%%,*}"
		program="$counted $program"
		set -- -i "$@"
		;;
	secondary)
		# callgrind supports those of another process, at addresses that it leaves free.
		eal="$memory --base-virtaddr=0x4000000000 -l ${cores%%,*}"
		second="$counted $program"
		set -- -i "$@"
		;;
	esac
	if [ -n "$shared" ] && [ "$measure" != instructions ]; then
		printf '#!/bin/sh\nexec %s "$@"\n' "$second" >"$work/second"
		chmod +x "$work/second"
		set -- -s "$work/second" "$@"
	fi
	[ -z "$floor" ] || set -- -f "$@"
	[ -z "$rival" ] ||
		set -- -r "${against:-$drivers/rival/drivers/librte_net_mana.so}" "$@"
	# shellcheck disable=SC2086 # lists of words
	set -- $program $eal --no-telemetry -a ffff:ff:1f.7 \
		-- -o "$drivers/ours/drivers/librte_net_mana.so" "$@"
	if ! $shared "$build/model/mana-model" --mode step --functions 2 --ports 1 \
			--max-mtu 9000 --quiet --fatal-violations -- "$@" \
			>"$results.rows" 2>"$results.log"; then
		tail -n 30 "$results.log" "$results.rows" >&2
		dpdk_die "the run failed, see above"
	fi
	grep '^SKIP' "$results.rows" || true
}

[ -e "$build/build.ninja" ] || quietly meson setup "$build" "$root"
quietly ninja -C "$build" app/test/perf/mana-perf model/mana-model \
	model/libmana-model.so
[ -z "$rival" ] || [ -n "$against" ] || quietly "$here/build-rival.sh"
for name in $builds; do
	plugin "$name" ours
	[ -z "$rival" ] || [ -n "$against" ] || plugin "$name" rival
done

# The first and the last row for many queues; large rings only with --trixie.
# shellcheck disable=SC2046 # a list of words
[ -z "$goals" ] || set -- "$@" $(sed 's/#.*//' "$root/app/test/perf/goals.txt" |
	awk -v trixie="$trixie" '!trixie && /-r(512|1024)/ { next }
		$2 == "flat" { print $1 "1", $1 "64"; next }
		NF { print $1 }' | sort -u)

loader=
if [ -n "$trixie" ]; then
	newer=${TRIXIE_ROOT:-$root/trixie-root}
	"$here/debian-root.sh" trixie "$newer"
	newer=$newer/usr/lib/x86_64-linux-gnu
	loader="$newer/ld-linux-x86-64.so.2 --library-path $newer:$newer/libibverbs"
fi

hugepages_reserve 384
share_memory
echo "memory: $memory"

mkdir "$work/results"
# The second core writes CQEs and mbufs in some rows.
cores=$(/usr/bin/python3 -c \
	'import os; print(*sorted(os.sched_getaffinity(0))[:2], sep=",")')
case $measures in *cycles*)
	for name in $builds; do
		perf "$name" cycles "$@"
	done ;;
esac
# Other programs do not change counts. A secondary process needs the reserved memory.
case $measures in *instructions*)
	running=
	failed=
	for name in $builds; do
		perf "$name" instructions "$@" &
		running="$running $!"
	done
	for one in $running; do
		wait "$one" || failed=1
	done
	[ -z "$failed" ] || exit 1
	[ -z "$shared" ] || for name in $builds; do
		perf "$name" secondary "$@"
	done ;;
esac
# shellcheck disable=SC2086 # a list of words
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/bench-report.py" $report \
	"$root/app/test/perf" "$work/results"
