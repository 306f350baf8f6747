#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What a packet costs in our driver and in DPDK's own of the installed release,
# in one process: app/test/perf/README.
#
# usage: bench.sh [option...] [row...]      (default: all rows, both builds)
#   --instructions    exact counts, by callgrind, in place of cycles
#   --check           fail where instructions miss a goal (goals.txt)
#   --check-ceilings  fail where they are more than they were (ceilings.txt)
#   --write-ceilings  make that file anew
#   --json FILE       write the rows, too: a list of objects with
#                       row, build, burst, ring, segments, queues
#                       path       the name that burst_mode_get tells
#                       ours, rival, goal   instructions per packet, or null
#                       testpmd    the same settings for testpmd
#                     and for who is ours or rival, where it was measured
#                       cycles_WHO, cycles_ratio      per packet, of the rival to ours
#                       doorbells_WHO, cq_doorbells_WHO, cqes_WHO    per packet
#                       heap_bytes_WHO, rings_bytes_WHO    of all queues, of one pair
#   --build NAME      one build alone: O3, or debian (flags of its packages)
#   --trixie          with the C library and rdma-core of Debian 13, fetched by
#                     trixie-root.sh: rows with rings of more than 256, too
#   --goals           the rows that have a goal, and no others
#   --repeat N        repetitions: for cycles (200), end to end (5)
#   --ours            our driver alone
#   --skip            say SKIP where there is no valgrind, and do not fail
#   --end-to-end      instead, packets a second of testpmd io on the model in polled
#                     mode: the two drivers in turn, and the ratio of medians
# A row is a name of app/test/perf/perf_rows.c, with * and ?. MANA_BUILD names the
# build folder of model and harness, build/ without it.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=devtools/dpdk-source-lib.sh
. "$here/dpdk-source-lib.sh"
# shellcheck source=devtools/hugepages-lib.sh
. "$here/hugepages-lib.sh"
root=$mana_root
build=${MANA_BUILD:-$root/build}
builds="O3 debian"
count=
repeat=
rival=1
skip=
end_to_end=
goals=
trixie=
report=

while [ $# -gt 0 ]; do
	case $1 in
	--instructions) count=1 ;;
	--check) report="$report --check goals" count=1 ;;
	--check-ceilings) report="$report --check ceilings" count=1 ;;
	--write-ceilings) report="$report --write-ceilings" count=1 ;;
	--json) report="$report --json $2"; shift ;;
	--build) builds=$2; shift ;;
	--repeat) repeat=$2; shift ;;
	--ours) rival= ;;
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

if [ -n "$count" ] && ! command -v valgrind >/dev/null; then
	[ -z "$skip" ] || { echo "SKIP instructions: no valgrind"; exit; }
	dpdk_die "no valgrind: install-deps.sh test"
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

# perf NAME [option...]: mana-perf on the drivers of that build
perf() {
	drivers=$root/build-bench/$1
	results=$work/results/$1
	shift
	[ -z "$rival" ] ||
		set -- -r "$drivers/rival/drivers/librte_net_mana.so" "$@"
	# shellcheck disable=SC2086 # a list of words
	set -- $loader "$build/app/test/perf/mana-perf" $memory --no-shconf \
		--no-telemetry -a ffff:ff:1f.7 -l "$cores" \
		-- -o "$drivers/ours/drivers/librte_net_mana.so" "$@"
	[ -z "$count" ] || set -- valgrind --tool=callgrind --collect-atstart=no \
		"--callgrind-out-file=$results.callgrind" \
		--toggle-collect=perf_timed_rx --toggle-collect=perf_timed_tx \
		--toggle-collect=perf_timed_fwd --toggle-collect=perf_timed_poll "$@"
	if ! "$build/model/mana-model" --mode step --functions 2 --ports 1 \
			--quiet --fatal-violations -- "$@" \
			>"$results.rows" 2>"$results.log"; then
		tail -n 30 "$results.log" "$results.rows" >&2
		dpdk_die "the run failed, see above"
	fi
	grep '^SKIP' "$results.rows" || true
}

# rate NAME ours|rival: one more of its rates, in packets a second of both ports
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
		          f"packets a second, median of {rates}")
		if len(medians) > 1:
		    print(f"{sys.argv[1]}: ours/rival {medians[0] / medians[1]:.2f}")
	EOF
}

[ -e "$build/build.ninja" ] || quietly meson setup "$build" "$root"
quietly ninja -C "$build" app/test/perf/mana-perf model/mana-model \
	model/libmana-model.so
[ -z "$rival" ] || quietly "$here/build-rival.sh"
for name in $builds; do
	plugin "$name" ours
	[ -z "$rival" ] || plugin "$name" rival
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

# Of rows for many queues, the first and the last; large rings with --trixie alone.
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

# Callgrind does not know huge pages, nor does a count depend on them.
memory="--no-huge -m 256"
[ -n "$count" ] || { hugepages_reserve 256; echo "memory: $memory"; }

mkdir "$work/results"
# The second core writes CQEs in some rows.
cores=$(/usr/bin/python3 -c \
	'import os; print(*sorted(os.sched_getaffinity(0))[:2], sep=",")')
[ -z "$count" ] || cores=${cores%%,*}
for name in $builds; do
	if [ -n "$count" ]; then
		perf "$name" -i "$@"
	else
		perf "$name" -R "${repeat:-200}" "$@"
	fi
done
# shellcheck disable=SC2086 # a list of words
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/bench-report.py" $report \
	"$root/app/test/perf" "$work/results"
