#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Measures what the tests reach: runs tests in a build that counts lines and branches,
# and prints a table per file and the sum.
#
# usage: coverage.sh model|driver [html FOLDER]
#        coverage.sh build      (build only)
#   model: fails below 90 % of the lines
#   driver: fails below 95 % of the lines of the driver, or if a branch of the bursts,
#           the ring mechanics or the cache of memory regions is not taken

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build-coverage

case ${1:-} in
model)
	least=90
	filter=$root/model
	;;
driver)
	least=95
	filter=$root/drivers/net/mana
	;;
build) ;;
*)
	echo "usage: $0 model|driver [html FOLDER] | build" >&2
	exit 2
	;;
esac
what=$1
command -v gcovr >/dev/null || {
	echo "coverage.sh: there is no gcovr: run devtools/install-deps.sh test" >&2
	exit 1
}

# Atomic counters for threads; -O0 so that lines stay separate.
grep -qs "$root/devtools/coverage.h" "$build/build.ninja" || {
	rm -rf "$build"
	CC=gcc meson setup "$build" "$root" \
		-Db_coverage=true -Dbuildtype=debug -Doptimization=0 \
		-Dc_args="-fprofile-update=atomic -include $root/devtools/coverage.h" \
		>/dev/null
}
ninja -C "$build" >/dev/null
[ "$what" != build ] || exit 0
find "$build" -name '*.gcda' -delete
log=$build/coverage-test.log
: >"$log"

# Here only what is reached counts: the normal build judges the tests. Tests that limit
# files or check all of stderr may fail here, because programs write counters.
run_tests() {
	meson test -C "$build" --no-rebuild --timeout-multiplier 5 "$@" >>"$log" 2>&1 || :
	tail -n 12 "$log" | grep -E '^(Ok|Fail|Timeout)' || :
}

# gcovr also reads the counters of other builds if no folder is given.
run_gcovr() {
	gcovr --root "$root" --gcov-ignore-parse-errors --print-summary "$@"
}

if [ "$what" = model ]; then
	run_tests --suite model
else
	run_tests --suite unit --suite pmd --suite fault
	# Telemetry and secondary processes.
	run_tests testpmd-telemetry-contents testpmd-telemetry-bad-parameters \
		testpmd-secondary-one testpmd-secondary-operations
fi

html=
[ "${2:-}" != html ] || html="--html-details $3/index.html"
# A program that writes counters while another thread runs may store a negative sum, and
# gcovr 5.2 rejects such a line. The line is left out and shown; a line rejected for any
# other reason is an error. Doorbell decoders depend on the compiler's stores, and tests
# are not counted.
unread=$build/coverage-unread.log
counts=$build/coverage.json
uncounted=$(sed -E '/^#/d; s/\|[^|]*$//' "$root/devtools/coverage.txt" | paste -sd '|')
status=0
# shellcheck disable=SC2086 # nothing, or two words
run_gcovr --filter "$filter/" --exclude "$root/model/test/" \
	--exclude-branches-by-pattern ".*($uncounted)" --json "$counts" --txt - \
	--fail-under-line "$least" $html "$build" 2>"$unread" || status=$?
cat "$unread" >&2
awk '/Exception during parsing/ && getline > 0 &&
	!/ (taken|returned|called) -[0-9]|UnknownLineType: +-[0-9]+[*]?:/ { print; bad = 1 }
	END { exit bad }' "$unread" || {
	echo "coverage.sh: gcovr did not read the lines above" >&2
	status=1
}
if [ "$what" = driver ]; then
	echo "Branches of the bursts, the ring mechanics and the cache of memory regions:"
	run_gcovr --branches --add-tracefile "$counts" --filter "$filter/rxtx/" \
		--filter "$filter/base/" --filter "$filter/ctrl/mana_mr.c" \
		--fail-under-branch 100 || status=$?
fi
exit "$status"
