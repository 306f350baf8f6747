#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Compares the marks "ASSUMED: name" of the driver's sources with the table of assumptions
# in the guide: each name stands in both, and each experiment exists.
#
# usage: check-assumed.sh [mana-first-contact]

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
page=$root/doc/guides/nics/mana-assumptions.rst
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

sed -n 's/^   \* - ``\(.*\)``$/\1/p' "$page" | sort >"$folder/page"
grep -rhoE 'ASSUMED: [a-z0-9-]+' "$root/drivers/net/mana" | cut -d' ' -f2 | sort -u >"$folder/source"
[ -s "$folder/page" ] || { echo "$page has no table" >&2; exit 1; }
diff -u --label "the guide's table" --label "marks in the sources" \
	"$folder/page" "$folder/source" || {
	echo "check-assumed.sh: the names differ" >&2
	exit 1
}

[ ! -x "${1:-}" ] || {
	"$1" --list | awk '{ print $1 }' | sort >"$folder/experiments"
	# The fourth column of each row.
	awk '/^   \* - / { n = 0 } /^   (\* |  )- / { n++ } n == 4' "$page" |
		grep -o '``[a-z0-9-]*``' | tr -d '`' | sort -u >"$folder/named"
	missing=$(comm -13 "$folder/experiments" "$folder/named")
	[ -s "$folder/named" ] && [ -z "$missing" ] || {
		echo "check-assumed.sh: mana-first-contact has no experiment" "$missing" >&2
		exit 1
	}
}
