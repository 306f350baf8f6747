#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs all checks and tests and counts them. Last line of the output:
# N passed, N failed, N skipped.
#
# usage: run-tests.sh [build folder] [all|quick|builds]      (default: all)
#   quick: the main job and meson's suites fast and quick, which take minutes
#          and need no other builds
#   builds: only the other builds; how this script calls itself

set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd) || exit 1
what=${2:-all}
logs=$build/test-logs

# A script prints a line "PASS name", "FAIL name" or "SKIP name: reason" per test. A
# script without such lines counts as one test, by its exit status. These lines and
# meson's are shown immediately.
run_script() {
	name=$1
	shift
	echo "== $name ($(date +%H:%M:%S))"
	{
		status=0
		"$@" || status=$?
		echo "exit $status" >"$logs/$name.status"
	} 2>&1 | tee "$logs/$name.log" |
		grep --line-buffered -E '^(PASS|FAIL|SKIP)|^ *[0-9]+/[0-9]+ '
	status=$(cat "$logs/$name.status")
	if [ "$status" != "exit 0" ]; then
		tail -n 60 "$logs/$name.log"
		echo "FAIL $name ($status)"
	elif ! grep -qE '^(PASS|FAIL|SKIP)' "$logs/$name.log"; then
		echo "PASS $name"
	fi
}

# Runs a computing command with the lowest priority, because most tests wait for events.
# With autogroup scheduling (sched(7)) the priority of a process alone is not enough.
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
	# Counted however they end.
	for name in in-tree builds analyze; do
		[ ! -e "$logs/$name.status" ] || continue
		echo "FAIL $name: ended early" | tee "$logs/$name.log"
		echo "exit 1" >"$logs/$name.status"
	done
}

run_builds() {
	run_script in-tree "$root/devtools/build-in-tree.sh"
	run_script builds "$root/devtools/check-builds.sh"
	run_script analyze "$root/devtools/analyze.py" --build "$build"
	# If these fail, the scripts that need them report it.
	"$root/devtools/run-sanitizers.sh" --build >/dev/null 2>&1
	"$root/devtools/coverage.sh" build >/dev/null 2>&1
}

run_meson() {
	echo "== meson test ($(date +%H:%M:%S))"
	rm -f "$build/meson-logs/testlog.json"
	# A time limit ends hanging tests only; a busy machine must not fail.
	meson test -C "$build" --no-rebuild --print-errorlogs --timeout-multiplier 4 "$@"
	cp "$build/meson-logs/testlog.txt" "$build/meson-logs/testlog.json" "$logs"
}

run_features() {
	run_script features /usr/bin/python3 "$root/devtools/check-features.py" \
		"$build" "$logs/testlog.json"
}

# run_fuzzer TARGET SECONDS
run_fuzzer() {
	run_script "fuzz-$(echo "$1" | tr _ -)" "$root/devtools/fuzz.sh" "$1" "$2"
}

# Two at a time, of the same length in all.
run_fuzzers() {
	{
		run_fuzzer ioctl 60
		run_fuzzer rx 20
		run_fuzzer tx 20
		run_fuzzer verbs 20
	} >"$logs/fuzz.txt" &
	run_fuzzer wqe 60
	run_fuzzer vfio_user 20
	run_fuzzer hwc 20
	run_fuzzer sysfs 20
	run_fuzzer devargs 20
	run_fuzzer peers 20
	wait
	cat "$logs/fuzz.txt"
}

if [ "$what" = builds ]; then
	run_builds
	exit 0
fi

rm -rf "$logs"
mkdir -p "$logs"
if [ "$what" = all ]; then
	# DPDK's own driver, for tests that run it on the model.
	run_script build-rival "$root/devtools/build-rival.sh"
	# DPDK's examples; else a test would build them within its time limit.
	run_script build-examples "$root/devtools/build-examples.sh"
fi
run_script main-job "$root/devtools/main-job.sh" 10 "$build"
tail -n 40 "$logs/main-job.log"

if [ "$what" = quick ]; then
	run_meson --suite fast --suite quick
else
	# Packages for virtual machines must be there.
	export MANA_VM_REQUIRED=1
	start_builds
	run_meson
	run_features
	run_script instructions env "MANA_BUILD=$build" \
		"$root/devtools/bench.sh" --ours --goals --check --check-ceilings --skip
	finish_builds
	run_script sanitizers "$root/devtools/run-sanitizers.sh"
	run_script thread-sanitizer "$root/devtools/run-tsan.sh" "$build"
	run_script broken "$root/devtools/test-broken.sh"
	run_script mutate "$root/devtools/mutate.py" --build "$build"
	run_script coverage "$root/devtools/coverage.sh" model
	run_script coverage-driver "$root/devtools/coverage.sh" driver
	run_fuzzers
fi

exec /usr/bin/python3 "$root/devtools/count-tests.py" "$logs"
