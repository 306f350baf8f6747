#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests the tests: small breakages, one at a time, in a copy of the tree. For
# each the copy is built and the tests are run that should notice. A breakage
# that they do not notice names a missing test. The table is broken.txt.
#
# usage: test-broken.sh [--known] [name...]       (default: all of the table)
#   --known: of the known ways in which a data path goes wrong, which have tests
#            known-WAY or known-WAY.CASE; the last line counts ways, of which one is
#            detected when all its breakages are
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

# Brings the copy to the state of the tree. What is copied is new to ninja, what has
# not changed keeps its time.
copy_tree() {
	(cd "$root" && find . -type f ! -path './.git/*' ! -path './build*' \
		! -path './rival/*' ! -path './in-tree/*' \
		! -path './dpdk-source/*' ! -path './dpdk-examples/*' \
		! -path './trixie-root*' ! -path './.cache/*' \
		! -name '*.pyc') >"$work/files"
	while read -r f; do
		cmp -s "$root/$f" "$tree/$f" && continue
		mkdir -p "$tree/$(dirname "$f")"
		cp "$root/$f" "$tree/$f"
	done <"$work/files"
	(cd "$tree" && find . -type f ! -name '*.pyc') | while read -r f; do
		[ -e "$root/$f" ] || rm "$tree/$f"
	done
}

# $1: log. Compiling takes most of the time: no optimization; and where the tests
# of the known ways are all, only they.
build_copy() {
	[ -e "$build/build.ninja" ] ||
		meson setup -Doptimization=0 "$build" "$tree" >"$1" 2>&1 ||
		return 1
	# shellcheck disable=SC2086 # nothing, or a word
	ninja -C "$build" ${known:+known-tests} >>"$1" 2>&1
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

# The known way of a breakage, from its first test; nothing: none.
way_of() {
	case $1 in
	known-*)
		way=${1#known-}
		echo "${way%%.*}"
		;;
	esac
}

# Of the ways that have tests those of which every breakage was detected.
count_ways() {
	meson test -C "$build" --no-rebuild --list 2>/dev/null |
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
	# shellcheck disable=SC2086 # a list of words
	way=$(way_of $tests)
	echo "$way" >>"$work/ways-tried"
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
		echo "$way" >>"$work/ways-detected"
		echo "PASS broken: $name, noticed by $(sed -nE \
			's,^ *[0-9]+/[0-9]+ (.*[^ ]) +(FAIL|TIMEOUT|ERROR).*,\1,p' \
			"$to" | sed 's/.* //' | sort -u | tr '\n' ' ')"
	fi
	cp "$work/whole" "$tree/$file"
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

names_wanted=$*
copy_tree
: >"$work/ways-tried"
: >"$work/ways-detected"

# The whole tree passes what the broken ones must not.
every=$(grep -v '^#' "$table" | while IFS='|' read -r name _ _ tests; do
	[ -z "$name" ] || ! wanted "$name" "$tests" || printf '%s\n' $tests
done | sort -u)
if ! build_copy "$log/whole" || ! run_tests "$log/whole" --maxfail=0 $every; then
	echo "FAIL broken: the tree fails without being broken, see $log/whole"
	exit 1
fi

while IFS='|' read -r name file expression tests <&3; do
	case $name in
	''|'#'*) continue ;;
	esac
	wanted "$name" "$tests" || continue
	one_breakage "$name" "$file" "$expression" "$tests"
done 3<"$table"

status=0
[ "$nb_detected" -eq "$nb" ] && [ "$nb" -gt 0 ] || status=1
if [ -z "$names_wanted" ]; then
	count_ways
	[ "$nb_ways_detected" -eq "$nb_ways" ] && [ "$nb_ways" -gt 0 ] || status=1
	echo "known ways: $nb_ways_detected of $nb_ways detected"
fi
[ -n "$known" ] || echo "$nb_detected of $nb detected"
exit $status
