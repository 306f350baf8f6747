#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Measures the speed of the model: testpmd forwards 64-byte packets between two ports
# of the model in bursts of 32. Prints the rate of both ports together, for the mode
# sync, and for the mode polled with driver and adapter on a core each. The rate
# depends on the machine and its load. The exit status is 0 if the goals are
# reached.
#
# usage: model-speed.sh [-n] [-p | -b] [seconds] [build folder]
#   -n  print the rates, ignore the goals
#   -p  the mode polled only
#   -b  the same, and print only the number, for scripts
# MANA_PLUGIN is the driver to use (default: that of the build folder).

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=devtools/hugepages-lib.sh
. "$root/devtools/hugepages-lib.sh"
judge=1
polled_only=
bare=
while :; do
	case ${1:-} in
	-n) judge= ;;
	-p) polled_only=1 ;;
	-b) bare=1 ;;
	*) break ;;
	esac
	shift
done
seconds=${1:-2}
build=$(cd "${2:-$root/build}" && pwd)
plugin=${MANA_PLUGIN:-$build/drivers/librte_net_mana.so}
sync_goal=1000000
polled_goal=5000000
work=$(mktemp -d)

at_exit() {
	hugepages_give_back
	rm -rf "$work"
}
trap at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Two available cores, one for the driver and one for the device.
# shellcheck disable=SC2046 # a list of words
set -- $(/usr/bin/python3 -c \
	'import os; print(*sorted(os.sched_getaffinity(0))[:2])')
driver_core=$1
device_core=${2:-}

hugepages_reserve 256

# measure MODE BURSTS [option of mana-model...]: packets per second
measure() {
	mode=$1
	bursts=$2
	shift 2
	# Sends "start" after testpmd's prompt.
	mkfifo "$work/commands"
	# shellcheck disable=SC2086 # $memory is a list of words
	"$build/model/mana-model" --ports=2 --wire=pair --mode="$mode" "$@" \
		--quiet --fatal-violations -- dpdk-testpmd \
		"--lcores=0@$driver_core,1@$driver_core" $memory --no-telemetry \
		-d "$plugin" \
		-a 7870:00:00.0,mac=00:0d:3a:00:00:01,mac=00:0d:3a:00:00:02 \
		-- -i --nb-cores=1 --forward-mode=io --burst=32 \
		--no-mlockall --total-num-mbufs=16384 \
		<"$work/commands" >"$work/out" 2>&1 &
	model=$!
	exec 3>"$work/commands"
	echo "start tx_first $bursts" >&3
	while kill -0 "$model" 2>/dev/null &&
	      ! grep -q 'packet forwarding' "$work/out"; do
		sleep 0.1
	done
	sleep 0.5
	# The rate is that since the last output.
	echo "show port stats all" >&3
	sleep "$seconds"
	echo "show port stats all" >&3
	sleep 0.2
	echo stop >&3
	echo quit >&3
	exec 3>&-
	if ! wait "$model"; then
		cat "$work/out" >&2
		exit 1
	fi
	rm "$work/commands"
	# Two ports, printed twice: the last two lines.
	awk '/Rx-pps:/ { previous = last; last = $2 }
		END { print previous + last }' "$work/out"
}

# report MODE RATE GOAL
missed=
report() {
	verdict=reached
	if [ "$2" -lt "$3" ]; then
		verdict=missed
		missed="$missed $1"
	fi
	printf '%-7s %9d packets per second, both ports (goal %d: %s)\n' \
		"$1" "$2" "$3" "$verdict"
}

if [ -n "$bare" ]; then
	if [ -z "$device_core" ]; then
		echo "$(basename "$0"): the polled mode needs two cores" >&2
		exit 1
	fi
	measure polled 6 --core "$device_core"
	exit
fi
echo "64-byte packets, testpmd io forwarding, bursts of 32, $memory:"
[ -n "$polled_only" ] || report sync "$(measure sync 1)" "$sync_goal"
if [ -z "$device_core" ]; then
	echo "polled  needs two cores, and this shell may use one only"
else
	# Several bursts in flight, so that driver and device work in parallel.
	report polled "$(measure polled 6 --core "$device_core")" "$polled_goal"
fi
if [ -z "$polled_only" ] && [ -x "$build/model/test/bench_card" ]; then
	echo "The card alone, in this thread:"
	"$build/model/test/bench_card" | sed 's/^/  /'
fi
[ -z "$judge" ] || [ -z "$missed" ]
