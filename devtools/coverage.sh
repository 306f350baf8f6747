#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Which lines the tests reach: runs a suite in a build that counts them, and
# prints a table per file and the sum. Fails below 90 % of lines.
#
# usage: coverage.sh model [html FOLDER]
#        coverage.sh build      (only that)

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build-coverage
least=90

case ${1:-} in
model|build) ;;
*)
	echo "usage: $0 model [html FOLDER] | build" >&2
	exit 2
	;;
esac
command -v gcovr >/dev/null || {
	echo "coverage.sh: there is no gcovr: run devtools/install-deps.sh test" >&2
	exit 1
}

# Counters of threads must not be lost; -O0 so that each line is itself.
[ -e "$build/build.ninja" ] || CC=gcc meson setup "$build" "$root" \
	-Db_coverage=true -Dbuildtype=debug -Doptimization=0 \
	-Dc_args=-fprofile-update=atomic >/dev/null
ninja -C "$build" >/dev/null
[ "$1" != build ] || exit 0
find "$build" -name '*.gcda' -delete

# Here lines count: the ordinary build judges the tests. Some that limit files or
# look at all of stderr cannot hold here, where each program writes its counters.
meson test -C "$build" --no-rebuild --suite model --timeout-multiplier 5 \
	>"$build/coverage-test.log" 2>&1 || :
tail -n 12 "$build/coverage-test.log" | grep -E '^(Ok|Fail|Timeout)' || :

set -- "$@" ""
html=
[ "${2:-}" != html ] || html="--html-details $3/index.html"
# A program that writes its counters while another of its threads runs may leave
# a sum below zero: gcovr 5.2 does not read such a line. It is left out and shown;
# a line that it does not read for any other cause is an error.
# Doorbell decoders see what compilers make of stores; tests are not counted.
unread=$build/coverage-unread.log
status=0
# shellcheck disable=SC2086 # nothing, or two words
gcovr --root "$root" --object-directory "$build" --filter "$root/model/" \
	--exclude "$root/model/test/" --fail-under-line "$least" \
	--gcov-ignore-parse-errors --print-summary $html 2>"$unread" || status=$?
cat "$unread" >&2
awk '/Exception during parsing/ && getline > 0 &&
	!/ (taken|returned|called) -[0-9]|UnknownLineType: +-[0-9]+[*]?:/ { print; bad = 1 }
	END { exit bad }' "$unread" || {
	echo "coverage.sh: gcovr did not read the lines above" >&2
	status=1
}
exit "$status"
