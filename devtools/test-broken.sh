#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests the tests: applies breakages (broken.txt), one at a time, to a copy of the
# tree, builds it and runs the tests that must detect the breakage. An undetected
# breakage shows that a test is missing.
#
# usage: test-broken.sh [--known] [name...]       (default: all of the table)
#   --known: only breakages for known defects of data paths, which have tests
#            known-WAY or known-WAY.CASE; the last line counts the defects whose
#            breakages were all detected
#
# Each processor has its own copy and build, which remain in build-broken/
# (git-ignored) for incremental builds. JOBS: number of copies (default: number of
# processors).

set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
table=$here/broken.txt
work=$root/build-broken
log=$work/log
jobs=${JOBS:-$(nproc)}
python=/usr/bin/python3
rm -rf "$log"
mkdir -p "$log"
# ccache has no use here.
export CCACHE_DISABLE=1
export PYTHONDONTWRITEBYTECODE=1
# A program with cmocka tests ends at its first failure: later tests of a broken tree
# would often wait for their time limits.
export CMOCKA_TEST_ABORT=1
ulimit -c 0

known=
case ${1:-} in
--known)
	known=yes
	shift
	;;
-*)
	echo "usage: $0 [--known] [name...]" >&2
	exit 2
	;;
esac
names_wanted=$*

# Updates the copy from the tree. Copied files are new to ninja, unchanged files keep
# their time.
copy_tree() {
	mkdir -p "$tree"
	while read -r f; do
		cmp -s "$root/$f" "$tree/$f" && continue
		mkdir -p "$tree/$(dirname "$f")"
		cp "$root/$f" "$tree/$f"
	done <"$work/files"
	(cd "$tree" && find . -type f ! -name '*.pyc') | while read -r f; do
		[ -e "$root/$f" ] || rm "$tree/$f"
	done
}

list_files() {
	(cd "$root" && find . -type f ! -path './.git/*' ! -path './build*' \
		! -path './rival/*' ! -path './in-tree/*' \
		! -path './dpdk-source/*' ! -path './dpdk-examples/*' \
		! -path './trixie-root*' ! -path './.cache/*' \
		! -name '*.pyc')
}

# $1: log. Without optimization, because compiling takes most of the time.
set_up_copy() {
	[ -e "$build/build.ninja" ] ||
		CC=gcc meson setup -Doptimization=0 "$build" "$tree" >"$1" 2>&1 ||
		return 1
	# An earlier copy may have other tests and targets.
	ninja -C "$build" build.ninja >>"$1" 2>&1 || return 1
	"$python" "$here/precompile.py" "$build" >>"$1" 2>&1
}

# $1: log, others: tests. Builds only what these need.
build_copy() {
	to=$1
	shift
	targets=$("$python" "$here/test-targets.py" "$build" "$@" 2>>"$to") ||
		return 1
	# A script may need no target; build.ninja may be outdated.
	# shellcheck disable=SC2086 # a list of words
	ninja -C "$build" -j 1 ${targets:-build.ninja} >>"$to" 2>&1
}

# $1: log, $2: argument of meson test, others: names of tests, or suites as suite:NAME.
# Long time limits, because other copies use the machine.
run_tests() {
	to=$1
	how=$2
	shift 2
	names=
	suites=
	for t; do
		case $t in
		suite:*) suites="$suites --suite ${t#suite:}" ;;
		*) names="$names $t" ;;
		esac
	done
	# shellcheck disable=SC2086 # lists of words
	set -- -C "$build" --no-rebuild --num-processes 1 \
		--timeout-multiplier "$((jobs < 3 ? jobs + 1 : 4))" "$how"
	# shellcheck disable=SC2086 # lists of words
	if [ -n "$suites" ]; then
		meson test "$@" $suites >>"$to" 2>&1 || return 1
	fi
	# shellcheck disable=SC2086 # lists of words
	[ -z "$names" ] || meson test "$@" $names >>"$to" 2>&1
}

# Prints the known defect of a breakage, from its first test, or nothing.
way_of() {
	case $1 in
	known-*)
		way=${1#known-}
		echo "${way%%.*}"
		;;
	esac
}

# Counts the defects whose breakages were all detected.
count_ways() {
	meson test -C "$work/1/build" --no-rebuild --list 2>/dev/null |
		sed -nE 's,.* / known-([^.]*).*,\1,p' | sort -u >"$work/ways"
	nb_ways=$(wc -l <"$work/ways")
	nb_ways_detected=0
	while read -r way; do
		tried=$(grep -cx -e "$way" "$work/ways-tried") || :
		found=$(grep -cx -e "$way" "$work/ways-detected") || :
		if [ "$tried" -gt 0 ] && [ "$tried" -eq "$found" ]; then
			nb_ways_detected=$((nb_ways_detected + 1))
		else
			echo "FAIL broken: known way $way: $found of $tried"
		fi
	done <"$work/ways"
}

one_breakage() {
	name=$1 file=$2 expression=$3 tests=$4
	to=$log/$name
	whole=$work/$copy/whole
	# shellcheck disable=SC2086 # a list of words
	way=$(way_of $tests)
	echo "$way" >>"$work/ways-tried"
	echo "$name" >>"$work/tried"
	cp -p "$tree/$file" "$whole"
	sed -E -i "$expression" "$tree/$file"
	touch "$tree/$file"
	# shellcheck disable=SC2086 # a list of words
	if cmp -s "$whole" "$tree/$file"; then
		echo "FAIL broken: $name: the expression changes nothing in $file"
	elif ! build_copy "$to" $tests; then
		echo "FAIL broken: $name: does not compile, see $to"
	elif run_tests "$to" --maxfail=1 $tests; then
		echo "FAIL broken: $name: $tests passed"
	elif ! grep -Eq '^(Fail|Timeout): +[1-9]' "$to"; then
		echo "FAIL broken: $name: no test has run, see $to"
	elif ! is_by_breakage "$to" && ! whole_again "$to" $tests; then
		echo "FAIL broken: $name: $tests fail without it, too, see $to"
	else
		echo "$name" >>"$work/detected"
		echo "$way" >>"$work/ways-detected"
		echo "PASS broken: $name, noticed by $(sed -nE \
			's,^ *[0-9]+/[0-9]+ (.*[^ ]) +(FAIL|TIMEOUT|ERROR).*,\1,p' \
			"$to" | sed 's/.* //' | sort -u | tr '\n' ' ')"
	fi
	cp "$whole" "$tree/$file"
}

# $1: log. Timeouts and models that could not start (exit status 125) are no detection,
# because they may have another cause.
is_by_breakage() {
	grep -E '(FAIL|ERROR)  ' "$1" | grep -Evq 'exit status 125'
}

# $1: log, others: tests. Tests the unchanged file.
whole_again() {
	to=$1
	shift
	cp "$whole" "$tree/$file"
	build_copy "$to" "$@" && run_tests "$to" --maxfail=0 "$@"
}

# $1: name, $2: tests
wanted() {
	# shellcheck disable=SC2086 # a list of words
	[ -z "$known" ] || [ -n "$(way_of $2)" ] || return 1
	[ -n "$names_wanted" ] || return 0
	case " $names_wanted " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

# Selects rows. Rows without model come first, and rows of one file together, so that
# builds are incremental.
list_rows() {
	while IFS='|' read -r name file expression tests; do
		case $name in
		''|'#'*) continue ;;
		esac
		wanted "$name" "$tests" || continue
		case $tests in
		*pmd-*) kind=2 ;;
		unit-*|known-*|check-*|proof-loads) kind=1 ;;
		*) kind=2 ;;
		esac
		printf "%s\n" "$kind|$tests|$file|$name|$expression"
	done <"$table" | sort
}

# Takes the next row: the first copy from the top, the others from the end.
take_row() {
	(
		flock 9
		[ ! -e "$work/stop" ] && [ -s "$work/rows" ] || exit 1
		if [ "$copy" -eq 1 ]; then
			head -n 1 "$work/rows"
			sed -i 1d "$work/rows"
		else
			tail -n 1 "$work/rows"
			sed -i '$d' "$work/rows"
		fi
	) 9>"$work/lock"
}

# The unchanged tree must pass the rows' tests; each copy runs a share of those that it
# will need.
whole_passes() {
	from=1
	to=2
	[ "$jobs" -eq 1 ] || from=$((copy == 1 ? 1 : 2)) to=$from
	every=$(sed -nE "s/^[$from$to]\\|([^|]*)\\|.*/\\1/p" "$work/all-rows" |
		tr ' ' '\n' | sort -u)
	[ "$copy" -le 2 ] && [ -n "$every" ] || return 0
	# shellcheck disable=SC2086 # a list of words
	build_copy "$log/whole-$copy" $every || return 1
	# shellcheck disable=SC2086 # a list of words
	run_tests "$log/whole-$copy" --maxfail=0 $every && return 0
	# A busy machine may fail a test once; a broken tree fails it twice.
	again=$(sed -nE 's,^ *[0-9]+/[0-9]+ .* / ([^ ]+) +(FAIL|TIMEOUT|ERROR).*,\1,p' \
		"$log/whole-$copy" | sort -u)
	# shellcheck disable=SC2086 # a list of words
	[ -n "$again" ] && run_tests "$log/whole-$copy" --maxfail=0 $again
}

# $1: number of the copy
work_on() {
	copy=$1
	tree=$work/$copy/tree
	build=$work/$copy/build
	copy_tree
	if ! set_up_copy "$log/whole-$copy" || ! whole_passes; then
		echo "FAIL broken: the unchanged tree fails, see" \
			"$log/whole-$copy"
		touch "$work/stop"
		return
	fi
	while row=$(take_row); do
		IFS='|' read -r _ tests file name expression <<-EOF
		$row
		EOF
		one_breakage "$name" "$file" "$expression" "$tests"
	done
}

# An earlier layout of the folder.
rm -rf "$work/tree" "$work/build"
rm -f "$work/stop"
list_files >"$work/files"
list_rows >"$work/all-rows"
nb=$(wc -l <"$work/all-rows")
[ "$jobs" -le "$nb" ] || jobs=$nb
cp "$work/all-rows" "$work/rows"
for list in tried detected ways-tried ways-detected; do
	: >"$work/$list"
done

copies=
status=0
trap 'touch "$work/stop"; kill $copies; exit 130' INT TERM
for n in $(seq "$jobs"); do
	work_on "$n" &
	copies="$copies $!"
done
for copy in $copies; do
	wait "$copy" || {
		echo "FAIL broken: a copy ended early"
		status=1
	}
done
[ ! -e "$work/stop" ] || exit 1
nb_detected=$(wc -l <"$work/detected")
[ "$nb_detected" -eq "$nb" ] && [ "$nb" -gt 0 ] || status=1
if [ -z "$names_wanted" ]; then
	count_ways
	[ "$nb_ways_detected" -eq "$nb_ways" ] && [ "$nb_ways" -gt 0 ] || status=1
	echo "known ways: $nb_ways_detected of $nb_ways detected"
fi
[ -n "$known" ] || echo "$nb_detected of $nb detected"
exit $status
