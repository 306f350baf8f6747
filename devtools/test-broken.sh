#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests the tests: small breakages, one at a time, in a copy of the tree. For
# each the copy is built and the tests are run that should notice. A breakage
# that they do not notice names a missing test. The table is broken.txt.
#
# usage: test-broken.sh [name...]       (default: all of the table)
#
# The copy and its build stay in build-broken/ (git-ignored), so that only what
# a breakage touches is compiled again.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
table=$here/broken.txt
work=$root/build-broken
tree=$work/tree
build=$work/build
log=$work/log
rm -rf "$log"
mkdir -p "$tree" "$log"

nb=0
nb_detected=0

# Brings the copy to the state of the tree. What is copied is new to ninja, what has
# not changed keeps its time.
copy_tree() {
	(cd "$root" && find . -type f ! -path './.git/*' ! -path './build*' \
		! -path './rival/*' ! -path './in-tree/*' \
		! -path './dpdk-source/*' ! -name '*.pyc') >"$work/files"
	while read -r f; do
		cmp -s "$root/$f" "$tree/$f" && continue
		mkdir -p "$tree/$(dirname "$f")"
		cp "$root/$f" "$tree/$f"
	done <"$work/files"
	(cd "$tree" && find . -type f ! -name '*.pyc') | while read -r f; do
		[ -e "$root/$f" ] || rm "$tree/$f"
	done
}

# $1: log. Compiling takes most of the time: no optimization.
build_copy() {
	[ -e "$build/build.ninja" ] ||
		meson setup -Doptimization=0 "$build" "$tree" >"$1" 2>&1 ||
		return 1
	ninja -C "$build" >>"$1" 2>&1
}

# $1: log, $2: argument of meson test, then names of tests, or suites as
# suite:NAME.
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
	if [ -n "$suites" ]; then
		meson test -C "$build" --no-rebuild "$how" $suites \
			>>"$to" 2>&1 || return 1
	fi
	# shellcheck disable=SC2086 # lists of words
	[ -z "$names" ] || meson test -C "$build" --no-rebuild "$how" \
		$names >>"$to" 2>&1
}

one_breakage() {
	name=$1 file=$2 expression=$3 tests=$4
	to=$log/$name
	nb=$((nb + 1))
	cp -p "$tree/$file" "$work/whole"
	sed -E -i "$expression" "$tree/$file"
	touch "$tree/$file"
	if cmp -s "$work/whole" "$tree/$file"; then
		echo "FAIL broken: $name: the expression changes nothing in $file"
	elif ! build_copy "$to"; then
		echo "FAIL broken: $name: does not compile, see $to"
	elif run_tests "$to" --maxfail=1 $tests; then
		echo "FAIL broken: $name: $tests passed"
	elif ! grep -Eq '^(Fail|Timeout): +[1-9]' "$to"; then
		echo "FAIL broken: $name: no test has run, see $to"
	else
		nb_detected=$((nb_detected + 1))
		echo "PASS broken: $name, noticed by $(sed -nE \
			's,^ *[0-9]+/[0-9]+ (.*[^ ]) +(FAIL|TIMEOUT|ERROR).*,\1,p' \
			"$to" | sed 's/.* //' | sort -u | tr '\n' ' ')"
	fi
	cp "$work/whole" "$tree/$file"
}

wanted() {
	[ -n "$names_wanted" ] || return 0
	case " $names_wanted " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

names_wanted=$*
copy_tree

# The whole tree passes what the broken ones must not.
every=$(grep -v '^#' "$table" | while IFS='|' read -r name _ _ tests; do
	[ -z "$name" ] || ! wanted "$name" || printf '%s\n' $tests
done | sort -u)
if ! build_copy "$log/whole" || ! run_tests "$log/whole" --maxfail=0 $every; then
	echo "FAIL broken: the tree fails without being broken, see $log/whole"
	exit 1
fi

while IFS='|' read -r name file expression tests <&3; do
	case $name in
	''|'#'*) continue ;;
	esac
	wanted "$name" || continue
	one_breakage "$name" "$file" "$expression" "$tests"
done 3<"$table"

echo "$nb_detected of $nb detected"
[ "$nb_detected" -eq "$nb" ] && [ "$nb" -gt 0 ]
