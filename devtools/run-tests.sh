#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs everything that can be checked, and counts. Last line of the output:
# N passed, N failed, N skipped.
#
# usage: run-tests.sh [build folder] [quick]
#   quick: only what meson knows, without the other builds (sanitizers, DPDK's
#          tree, broken copies)

set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd) || exit 1
quick=${2:-}
logs=$build/test-logs
rm -rf "$logs"
mkdir -p "$logs"

# A script prints a line "PASS name" or "FAIL name" (or "SKIP name: reason") per
# test. One that prints none counts as one test by its exit status.
run_script() {
	name=$1
	shift
	echo "== $name"
	status=0
	"$@" >"$logs/$name.log" 2>&1 || status=$?
	echo "exit $status" >"$logs/$name.status"
	if [ "$status" -eq 0 ]; then
		grep -E '^(PASS|FAIL|SKIP)' "$logs/$name.log" || echo "PASS $name"
	else
		tail -n 60 "$logs/$name.log"
		echo "FAIL $name (exit $status)"
	fi
}

# DPDK's own driver, for the test that runs it on the model.
run_script build-rival "$root/devtools/build-rival.sh"
# DPDK's examples, which run on the model; a test would do it, but in its time.
run_script build-examples "$root/devtools/build-examples.sh"

run_script main-job "$root/devtools/main-job.sh" 10 "$build"
tail -n 40 "$logs/main-job.log"

echo "== meson test"
meson test -C "$build" --no-rebuild --print-errorlogs
cp "$build/meson-logs/testlog.txt" "$build/meson-logs/testlog.json" "$logs"
run_script features /usr/bin/python3 "$root/devtools/check-features.py" \
	"$build" "$logs/testlog.json"

if [ "$quick" != quick ]; then
	run_script instructions env "MANA_BUILD=$build" \
		"$root/devtools/bench.sh" --ours --goals --check --check-ceilings --skip
	run_script in-tree "$root/devtools/build-in-tree.sh"
	run_script builds "$root/devtools/check-builds.sh"
	run_script sanitizers "$root/devtools/run-sanitizers.sh"
	run_script broken "$root/devtools/test-broken.sh"
	run_script coverage "$root/devtools/coverage.sh" model
	run_script fuzz-ioctl "$root/devtools/fuzz.sh" ioctl 60
	run_script fuzz-wqe "$root/devtools/fuzz.sh" wqe 60
fi

exec /usr/bin/python3 "$root/devtools/count-tests.py" "$logs"
