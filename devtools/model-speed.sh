#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Measures the speed of the model: testpmd forwards 64-byte packets between two ports
# of the model in bursts of 32, in the mode sync. Prints the rate of both ports
# together, which depends on the machine and its load. The exit status is 0 if the goal
# is reached.
#
# usage: model-speed.sh [-n] [seconds] [build folder]
#   -n  print the rate, ignore the goal
# MANA_PLUGIN is the driver to use (default: that of the build folder).

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=devtools/hugepages-lib.sh
. "$root/devtools/hugepages-lib.sh"
judge=1
if [ "${1:-}" = -n ]; then
	judge=
	shift
fi
seconds=${1:-2}
build=$(cd "${2:-$root/build}" && pwd)
plugin=${MANA_PLUGIN:-$build/drivers/librte_net_mana.so}
goal=1000000
work=$(mktemp -d)

at_exit() {
	hugepages_give_back
	rm -rf "$work"
}
trap at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

core=$(/usr/bin/python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
hugepages_reserve 256

# Sends "start" after testpmd's prompt.
mkfifo "$work/commands"
# shellcheck disable=SC2086 # $memory is a list of words
"$build/model/mana-model" --ports=2 --wire=pair --quiet --fatal-violations -- \
	dpdk-testpmd "--lcores=0@$core,1@$core" $memory --no-telemetry -d "$plugin" \
	-a 7870:00:00.0,mac=00:0d:3a:00:00:01,mac=00:0d:3a:00:00:02 \
	-- -i --nb-cores=1 --forward-mode=io --burst=32 \
	--no-mlockall --total-num-mbufs=16384 \
	<"$work/commands" >"$work/out" 2>&1 &
model=$!
exec 3>"$work/commands"
echo "start tx_first 1" >&3
while kill -0 "$model" 2>/dev/null && ! grep -q 'packet forwarding' "$work/out"; do
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
# Two ports, printed twice: the last two lines.
rate=$(awk '/Rx-pps:/ { previous = last; last = $2 }
	END { print previous + last }' "$work/out")

verdict=reached
[ "$rate" -ge "$goal" ] || verdict=missed
echo "64-byte packets, testpmd io forwarding, bursts of 32, $memory:"
printf '%9d packets per second, both ports (goal %d: %s)\n' "$rate" "$goal" "$verdict"
[ -z "$judge" ] || [ "$verdict" = reached ]
