#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The fault sweep: in each operation of the driver, each kernel call, and each call of the
# driver that allocates or can fail otherwise, fails in turn: once, and from there on.
# After each failure nothing is leaked, and the port works again or is cleanly closed. The
# tests of the suite fault do this with fewer errors (app/test/fault/test_fault.c), as
# well as those of secondary processes (test_multi_process.py).
#
# Then the device is lost, and returns, at each kernel call, doorbell and packet of a port's
# life, in one process and in two.
#
# Prints a line for each operation, and last the number of faults, which is at least the
# number of calls in clean runs. Fails at the first leak.
#
# usage: fault-sweep.sh [build folder]      (default: build/)

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd)
log=$build/fault-sweep.log

ninja -C "$build" >/dev/null
export MANA_FAULT_SWEEP=all MANA_BUILD="$build" CMOCKA_MESSAGE_OUTPUT=stdout
export PYTHONDONTWRITEBYTECODE=1
failed() {
	tail -n 40 "$log"
	echo "FAIL fault-sweep: see $log"
	exit 1
}
MANA_PLUGIN=$build/app/test/fault/librte_net_mana_fault.so \
	"$build/model/mana-model" --ports 2 --wire pair --fatal-violations \
	--cq-doorbell=strict -- "$build/app/test/fault/test-fault" >"$log" 2>&1 || failed
MANA_PLUGIN=$build/drivers/librte_net_mana.so \
	"$build/model/mana-model" --ports 2 --wire pair --fatal-violations \
	--cq-doorbell=strict -- "$build/app/test/pmd/test-pmd-loss-points" >>"$log" 2>&1 ||
	failed
for variant in faults-secondary faults-primary loss-points; do
	/usr/bin/python3 "$root/app/test-pmd-scripts/test_multi_process.py" "$variant" \
		>>"$log" 2>&1 || failed
done
grep '^sweep: ' "$log"
awk '/^sweep: .*, 0 leaks$/ { for (i = 2; i <= NF; i++) if ($i ~ /^faults/) nb += $(i - 1) }
	END { print "PASS fault-sweep: " nb " faults, 0 leaks" }' "$log"
