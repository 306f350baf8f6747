#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Measures which lines the tests reach: runs a suite in a build that counts lines, and
# prints a table per file and the sum. Fails below 90 % of the lines.
#
# usage: coverage.sh model [html FOLDER]
#        coverage.sh build      (build only)

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

# Atomic counters for threads; -O0 so that lines stay separate.
[ -e "$build/build.ninja" ] || CC=gcc meson setup "$build" "$root" \
	-Db_coverage=true -Dbuildtype=debug -Doptimization=0 \
	-Dc_args=-fprofile-update=atomic >/dev/null
ninja -C "$build" >/dev/null
[ "$1" != build ] || exit 0
find "$build" -name '*.gcda' -delete

# Here only lines count: the normal build judges the tests. Tests that limit files or
# check all of stderr may fail here, because programs write counters.
meson test -C "$build" --no-rebuild --suite model --timeout-multiplier 5 \
	>"$build/coverage-test.log" 2>&1 || :
tail -n 12 "$build/coverage-test.log" | grep -E '^(Ok|Fail|Timeout)' || :

set -- "$@" ""
html=
[ "${2:-}" != html ] || html="--html-details $3/index.html"
# A program that writes counters while another thread runs may store a negative sum, and
# gcovr 5.2 rejects such a line. The line is left out and shown; a line rejected for any
# other reason is an error. Doorbell decoders depend on the compiler's stores, and tests
# are not counted.
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
