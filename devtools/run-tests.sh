#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs everything that can be checked, and counts. Last line of the output:
# N passed, N failed, N skipped.
#
# usage: run-tests.sh [build folder] [quick|builds]
#   quick: only what meson knows, without the other builds (sanitizers, DPDK's
#          tree, broken copies)
#   builds: only the other builds; how this script calls itself

set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd) || exit 1
what=${2:-all}
logs=$build/test-logs

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

# What computes, beside the tests, most of which wait: it has the processors only
# when they are idle. Where the kernel weighs sessions (sched(7), autogroup), a
# process alone is not enough.
start_builds() {
	setsid sh -c '{ echo 19 >/proc/self/autogroup; } 2>/dev/null
		exec nice -n 19 "$@"' sh "$root/devtools/run-tests.sh" "$build" builds \
		>"$logs/builds.txt" 2>&1 &
	builds=$!
	trap 'kill -- "-$builds"; exit 130' INT TERM
}

finish_builds() {
	wait "$builds"
	trap - INT TERM
	cat "$logs/builds.txt"
	# Whatever has ended them is counted.
	for name in in-tree builds; do
		[ ! -e "$logs/$name.status" ] || continue
		echo "FAIL $name: ended early" | tee "$logs/$name.log"
		echo "exit 1" >"$logs/$name.status"
	done
}

run_builds() {
	run_script in-tree "$root/devtools/build-in-tree.sh"
	run_script builds "$root/devtools/check-builds.sh"
	# Whether these fail is told by the scripts that need them.
	"$root/devtools/run-sanitizers.sh" --build >/dev/null 2>&1
	"$root/devtools/coverage.sh" build >/dev/null 2>&1
}

run_meson() {
	echo "== meson test"
	rm -f "$build/meson-logs/testlog.json"
	meson test -C "$build" --no-rebuild --print-errorlogs
	cp "$build/meson-logs/testlog.txt" "$build/meson-logs/testlog.json" "$logs"
	run_script features /usr/bin/python3 "$root/devtools/check-features.py" \
		"$build" "$logs/testlog.json"
}

# Each for a minute, on a processor of its own.
run_fuzzers() {
	run_script fuzz-ioctl "$root/devtools/fuzz.sh" ioctl 60 >"$logs/fuzz.txt" &
	run_script fuzz-wqe "$root/devtools/fuzz.sh" wqe 60
	wait
	cat "$logs/fuzz.txt"
}

if [ "$what" = builds ]; then
	run_builds
	exit 0
fi

rm -rf "$logs"
mkdir -p "$logs"
# DPDK's own driver, for the test that runs it on the model.
run_script build-rival "$root/devtools/build-rival.sh"
# DPDK's examples, which run on the model; a test would do it, but in its time.
run_script build-examples "$root/devtools/build-examples.sh"
run_script main-job "$root/devtools/main-job.sh" 10 "$build"
tail -n 40 "$logs/main-job.log"

if [ "$what" = quick ]; then
	run_meson
else
	start_builds
	run_meson
	run_script instructions env "MANA_BUILD=$build" \
		"$root/devtools/bench.sh" --ours --goals --check --check-ceilings --skip
	finish_builds
	run_script sanitizers "$root/devtools/run-sanitizers.sh"
	run_script broken "$root/devtools/test-broken.sh"
	run_script coverage "$root/devtools/coverage.sh" model
	run_fuzzers
fi

exec /usr/bin/python3 "$root/devtools/count-tests.py" "$logs"
