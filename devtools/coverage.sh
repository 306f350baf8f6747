#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Measures what the tests reach: runs tests in a build that counts lines and branches,
# and prints a table per file and the sum, of the model and of the driver.
#
# usage: coverage.sh [model|driver] [html FOLDER]      (default: both, by one run)
#        coverage.sh build      (build only; warnings are errors)
#   model: fails below 90 % of the lines
#   driver: fails below 95 % of the lines of the driver, or if a branch of the bursts,
#           the ring mechanics or the cache of memory regions is not taken
#
# Each program of the model's tests and of the driver's runs on one machine. The latter
# also run on the machines named below, which reach other lines of the driver.

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build-coverage
machines='thread|coalesce|no-position|rx-quirks'
# These take minutes in this build and reach no lines of their own.
others='pmd-loss-points|pmd-sequence.*|model-(trixie|killed-verbs|limits|doorbells|join)'

what=both
case ${1:-} in
model|driver|build)
	what=$1
	shift
	;;
esac
html=
case $#${1:-} in
0) ;;
2html) html=$2 ;;
*)
	echo "usage: $0 [model|driver] [html FOLDER] | build" >&2
	exit 2
	;;
esac
command -v gcovr >/dev/null || {
	echo "coverage.sh: there is no gcovr: run devtools/install-deps.sh test" >&2
	exit 1
}

# Atomic counters for threads; -O0 so that lines stay separate.
grep -qs "$root/devtools/coverage.h" "$build/build.ninja" || {
	rm -rf "$build"
	CC=gcc meson setup "$build" "$root" \
		-Db_coverage=true -Dbuildtype=debug -Doptimization=0 -Dwerror=true \
		-Dc_args="-fprofile-update=atomic -include $root/devtools/coverage.h" \
		>/dev/null
}
ninja -C "$build" >"$build/coverage-build.log" || {
	tail -n 30 "$build/coverage-build.log" >&2
	exit 1
}
[ "$what" != build ] || exit 0
find "$build" -name '*.gcda' -delete
log=$build/coverage-test.log

tests=
if [ "$what" != driver ]; then
	tests="$("$root/devtools/first-machines.py" "$build" model)"
fi
if [ "$what" != model ]; then
	# The last ones: telemetry and secondary processes.
	tests="$tests $("$root/devtools/first-machines.py" "$build" unit pmd fault)
		$(meson test -C "$build" --list --suite pmd 2>/dev/null |
			sed -nE "s,.* / (pmd-.*-($machines)),\\1,p")
		testpmd-telemetry-contents testpmd-telemetry-bad-parameters
		testpmd-secondary-one testpmd-secondary-operations"
fi
# Here only what is reached counts: the normal build judges the tests. Tests that limit
# files or check all of stderr may fail here, because programs write counters.
# shellcheck disable=SC2046,SC2086 # a list of names, each once
meson test -C "$build" --no-rebuild --timeout-multiplier 5 \
	--num-processes $(($(nproc) + 1)) \
	$(printf '%s\n' $tests | grep -vxE "$others" | sort -u) >"$log" 2>&1 || :
tail -n 12 "$log" | grep -E '^(Ok|Fail|Timeout)' || :

# gcovr also reads the counters of other builds if no folder is given.
run_gcovr() {
	gcovr --root "$root" --print-summary "$@"
}

status=0
# $1: what has this coverage, others: the command that fails without. A failure names the
# files and lines that are missing.
judge() {
	name=$1
	shift
	if "$@" >"$table"; then
		cat "$table"
		echo "PASS coverage: $name"
	else
		cat "$table"
		echo "FAIL coverage: $name, missing:$(awk '$1 ~ /[.][ch]$/ && NF > 4 {
			sub(".*/", "", $1)
			printf " %s:%s", $1, $5
		}' "$table")"
		status=1
	fi
}

# A program that writes counters while another thread runs may store a negative sum, and
# gcovr 5.2 rejects such a line. The line is left out and shown; a line rejected for any
# other reason is an error. Doorbell decoders depend on the compiler's stores, and tests
# are not counted.
unread=$build/coverage-unread.log
counts=$build/coverage.json
table=$build/coverage-table.txt
uncounted=$(sed -E '/^#/d; s/\|[^|]*$//' "$root/devtools/coverage.txt" | paste -sd '|')
run_gcovr -j "$(nproc)" --gcov-ignore-parse-errors --filter "$root/model/" \
	--filter "$root/drivers/net/mana/" --exclude "$root/model/test/" \
	--exclude-branches-by-pattern ".*($uncounted)" --json "$counts" "$build" \
	>/dev/null 2>"$unread" || status=1
cat "$unread" >&2
# gcovr writes messages of several threads at the same time.
awk '/Exception during parsing/ && getline > 0 &&
	!/ (taken|returned|called) -[0-9]|UnknownLineType: +-[0-9]+[*]?:/ { print; bad = 1 }
	END { exit bad }' "$unread" || {
	echo "coverage.sh: gcovr did not read the lines above" >&2
	status=1
}
if [ "$what" != driver ]; then
	judge "model, 90 % of the lines" run_gcovr --add-tracefile "$counts" \
		--filter "$root/model/" --txt - --fail-under-line 90
fi
if [ "$what" != model ]; then
	judge "driver, 95 % of the lines" run_gcovr --add-tracefile "$counts" \
		--filter "$root/drivers/net/mana/" --txt - --fail-under-line 95
	judge "branches of the bursts, the ring mechanics and the cache of memory regions" \
		run_gcovr --branches --add-tracefile "$counts" --txt - \
		--filter "$root/drivers/net/mana/rxtx/" \
		--filter "$root/drivers/net/mana/base/" \
		--filter "$root/drivers/net/mana/ctrl/mana_mr.c" --fail-under-branch 100
fi
[ -z "$html" ] || {
	mkdir -p "$html"
	run_gcovr --add-tracefile "$counts" --html-details "$html/index.html" >/dev/null
}
exit "$status"
