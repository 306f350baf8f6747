#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the driver with the thread sanitizer and runs the tests in which threads read
# reports, receive and send while another one changes queues. A report of the sanitizer
# fails it.
#
# DPDK, libibverbs and the model are not instrumented: the sanitizer does not recognize
# locks in DPDK's libraries, so other tests would cause false reports. The driver's own
# spinlocks are the compiler's atomics here, not DPDK's assembly, so that it sees them.
#
# Then a primary and a secondary process forward, while queues and ports are stopped and
# started, and while the adapter is lost; in a part (MANA_TEST_PART) the last one only.
#
# usage: run-tsan.sh [build folder, for the model] [build folder with the sanitizer]

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
plain=$(cd "${1:-$root/build}" && pwd)
build=${2:-$root/build-tsan}
programs="app/test/pmd/test-pmd-races app/test/pmd/test-pmd-pools"
plugin=$(basename "$(realpath "$plain/drivers/librte_net_mana.so")")

[ -e "$build/build.ninja" ] || CC=gcc meson setup "$build" "$root" \
	-Db_sanitize=thread -Db_lundef=false -Dbuildtype=debugoptimized -Dwerror=true \
	-Dc_args="-DRTE_FORCE_INTRINSICS -DMANA_LOCK_ORDER"
# shellcheck disable=SC2086 # a list of words
ninja -C "$build" "drivers/$plugin" $programs \
	app/test-pmd-scripts/hotplug

# Fixed addresses: gcc 12's sanitizer aborts with large address randomization. The longest
# history: a report without the older of its two stacks would match no suppression.
export MANA_PLUGIN="$build/drivers/$plugin" MANA_BUILD="$plain"
export MANA_PROGRAMS="$build/app/test-pmd-scripts" MANA_TIMEOUT_FACTOR=4
export TSAN_OPTIONS="exitcode=99:history_size=7:suppressions=$root/devtools/tsan.supp${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
output=$build/tsan-output.txt
failed=0

# run NAME COMMAND...: a failure names the first report.
run() {
	name=$1
	shift
	status=0
	setarch -R "$@" >"$output" 2>&1 || status=$?
	if [ "$status" -eq 0 ]; then
		echo "PASS thread-sanitizer: $name"
		return
	fi
	cat "$output"
	why=$(sed -n -e 's/^.*SUMMARY: ThreadSanitizer: //p' -e 's/^AssertionError: //p' "$output" |
		head -n 1)
	echo "FAIL thread-sanitizer: $name: exit $status${why:+, $why}"
	failed=1
}

variants="restart queues reconfigure recovery"
[ -z "${MANA_TEST_PART:-}" ] || variants=recovery
for variant in $variants; do
	run "multi-process $variant" \
		python3 "$root/app/test-pmd-scripts/test_multi_process.py" "$variant"
done
for program in $programs; do
	run "$(basename "$program")" \
		"$plain/model/mana-model" --ports 2 --wire pair -- "$build/$program"
done
exit $failed
