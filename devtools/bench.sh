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
#                     trixie-root.sh: also rows with rings of more than 256
#   --goals           only rows that have a goal
#   --repeat N        number of repetitions: cycles (200), end to end (5)
#   --ours            this driver only
#   --against FILE    another plug-in in place of the rival: a build of this driver
#   --no-rival        this driver and the floor
#   --skip            print SKIP and succeed if valgrind is missing
#   --end-to-end      measure packets per second of testpmd io on the model in the mode
#                     polled instead, with both drivers in turn: the ratio of medians
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
end_to_end=
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
	--end-to-end) end_to_end=1 ;;
	--help|-h|-*)
		sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
		case $1 in --help|-h) exit 0 ;; esac
		exit 1
		;;
	*) break ;;
	esac
	shift
done

if [ "$measures" != cycles ] && [ -z "$end_to_end" ] &&
		! command -v valgrind >/dev/null; then
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
	link=
	if [ "$2" = rival ]; then
		tree=$root/rival/tree
		link=-Dc_link_args=-Wl,--wrap=rte_eth_dev_probing_finish
	fi
	if [ ! -e "$to/build.ninja" ]; then
		case $1 in
		O3) set -- -Dbuildtype=release ;;
		debian) set -- -Dbuildtype=plain "-Dc_args=-g -O2 \
-fstack-protector-strong -Wformat -Werror=format-security -Wdate-time \
-D_FORTIFY_SOURCE=2 -fPIC" ;;
		*) dpdk_die "no build $1: O3 or debian" ;;
		esac
		DPDK_SOURCE_DIR=$dpdk_cache quietly meson setup "$to" "$tree" \
			-Dtests=false -Dmodel=disabled $link "$@"
	fi
	quietly ninja -C "$to"
}

# perf NAME cycles|instructions [row...]: mana-perf on the drivers of that build
perf() {
	drivers=$root/build-bench/$1
	results=$work/results/$1.$2
	measure=$2
	shift 2
	# callgrind does not support huge pages, which do not change counts.
	if [ "$measure" = instructions ]; then
		eal="--no-huge -m 384 -l ${cores%%,*}"
		set -- -i "$@"
	else
		eal="$memory -l $cores"
		set -- -R "${repeat:-200}" "$@"
	fi
	[ -z "$floor" ] || set -- -f "$@"
	[ -z "$rival" ] ||
		set -- -r "${against:-$drivers/rival/drivers/librte_net_mana.so}" "$@"
	# shellcheck disable=SC2086 # lists of words
	set -- $loader "$build/app/test/perf/mana-perf" $eal --no-shconf \
		--no-telemetry -a ffff:ff:1f.7 \
		-- -o "$drivers/ours/drivers/librte_net_mana.so" "$@"
	[ "$measure" = cycles ] || set -- valgrind --tool=callgrind --collect-atstart=no \
		"--callgrind-out-file=$results.callgrind" \
		--toggle-collect=perf_timed_rx --toggle-collect=perf_timed_tx \
		--toggle-collect=perf_timed_fwd --toggle-collect=perf_timed_poll "$@"
	if ! "$build/model/mana-model" --mode step --functions 2 --ports 1 --max-mtu 9000 \
			--quiet --fatal-violations -- "$@" \
			>"$results.rows" 2>"$results.log"; then
		tail -n 30 "$results.log" "$results.rows" >&2
		dpdk_die "the run failed, see above"
	fi
	grep '^SKIP' "$results.rows" || true
}

# rate NAME ours|rival: measures one more rate, in packets per second of both ports
rate() {
	MANA_PLUGIN=$root/build-bench/$1/$2/drivers/librte_net_mana.so \
		"$here/model-speed.sh" -b 2 "$build" >"$work/rate"
	cat "$work/rate" >>"$work/rates.$1.$2"
}

# medians NAME: of the rates of that build
medians() {
	/usr/bin/python3 - "$1" "$work/rates.$1.ours" \
		${rival:+"$work/rates.$1.rival"} <<-'EOF'
		import statistics
		import sys

		medians = []
		for path in sys.argv[2:]:
		    with open(path, encoding="ascii") as file:
		        rates = sorted(int(float(line)) for line in file)
		    medians.append(statistics.median(rates))
		    print(f"{sys.argv[1]}, {path.rsplit('.', 1)[1]}: {medians[-1]:.0f} "
		          f"packets per second, median of {rates}")
		if len(medians) > 1:
		    print(f"{sys.argv[1]}: ours/rival {medians[0] / medians[1]:.2f}")
	EOF
}

[ -e "$build/build.ninja" ] || quietly meson setup "$build" "$root"
quietly ninja -C "$build" app/test/perf/mana-perf model/mana-model \
	model/libmana-model.so
[ -z "$rival" ] || [ -n "$against" ] || quietly "$here/build-rival.sh"
for name in $builds; do
	plugin "$name" ours
	[ -z "$rival" ] || [ -n "$against" ] || plugin "$name" rival
done

if [ -n "$end_to_end" ]; then
	for name in $builds; do
		n=0
		while [ "$n" -lt "${repeat:-5}" ]; do
			n=$((n + 1))
			rate "$name" ours
			[ -z "$rival" ] || rate "$name" rival
		done
		medians "$name"
	done
	exit
fi

# The first and the last row for many queues; large rings only with --trixie.
# shellcheck disable=SC2046 # a list of words
[ -z "$goals" ] || set -- "$@" $(sed 's/#.*//' "$root/app/test/perf/goals.txt" |
	awk -v trixie="$trixie" '!trixie && /-r(512|1024)/ { next }
		$2 == "flat" { print $1 "1", $1 "64"; next }
		NF { print $1 }' | sort -u)

loader=
if [ -n "$trixie" ]; then
	newer=${TRIXIE_ROOT:-$root/trixie-root}
	"$here/trixie-root.sh" "$newer"
	newer=$newer/usr/lib/x86_64-linux-gnu
	loader="$newer/ld-linux-x86-64.so.2 --library-path $newer:$newer/libibverbs"
fi

if [ "$measures" != instructions ]; then
	hugepages_reserve 384
	echo "memory: $memory"
fi

mkdir "$work/results"
# The second core writes CQEs and mbufs in some rows.
cores=$(/usr/bin/python3 -c \
	'import os; print(*sorted(os.sched_getaffinity(0))[:2], sep=",")')
for name in $builds; do
	for measure in $measures; do
		perf "$name" "$measure" "$@"
	done
done
# shellcheck disable=SC2086 # a list of words
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/bench-report.py" $report \
	"$root/app/test/perf" "$work/results"
