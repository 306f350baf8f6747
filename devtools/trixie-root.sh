#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Creates a root file system of Debian 13 (trixie) with its rdma-core, for tests
# with newer libraries than the installed ones. It is created once; fetched packages
# are kept.
#
# usage: trixie-root.sh [--refresh] [folder]
#   folder     (default trixie-root in the checkout)
#   --refresh  create it again, even if it exists
# environment: TRIXIE_MIRROR (default: the mirror of the installed Debian)

set -eu
me=$(basename "$0")
checkout=$(cd "$(dirname "$0")/.." && pwd)
# libraries and their headers, programs, C library, test framework
packages=libibverbs-dev,ibverbs-providers,ibverbs-utils,libc6-dev,libcmocka-dev

die() {
	echo "$me: $*" >&2
	exit 1
}

refresh=
if [ "${1:-}" = --refresh ]; then
	refresh=yes
	shift
fi
case ${1:-} in
-*) die "usage: $me [--refresh] [folder]" ;;
esac
root=${1:-$checkout/trixie-root}
cache=$checkout/.cache/trixie
made=$root/.made-of # packages it contains; written last

if [ -z "$refresh" ] && [ "$(cat "$made" 2>/dev/null)" = "$packages" ]; then
	exit 0
fi
[ "$(id -u)" -eq 0 ] ||
	die "debootstrap needs root: run '$0 $root' as root once"
# The archive of the installed release, not of its updates.
archive() {
	# shellcheck disable=SC2016 # a format of apt-get
	apt-get indextargets --format '$(CODENAME) $(REPO_URI)' \
		'Created-By: Packages' 'Origin: Debian' |
		awk '$1 !~ /-/ { print $2; exit }'
}
mirror=${TRIXIE_MIRROR:-$(archive)}
if [ -z "$mirror" ]; then
	apt-get -q update >/dev/null 2>&1 || :
	mirror=$(archive)
fi
[ -n "$mirror" ] ||
	die "apt knows no mirror: run apt-get update, or set TRIXIE_MIRROR"
command -v debootstrap >/dev/null ||
	die "debootstrap is missing: apt-get install debootstrap"
# Never remove a folder of another origin.
if [ -e "$root" ] && [ ! -e "$made" ]; then
	die "$root exists and is not from this script: remove it"
fi

# Build in a temporary folder, so that the final one is complete.
new=$root.new.$$
at_exit() {
	rm -rf --one-file-system "$new"
}
trap at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir -p "$cache" "$(dirname "$root")"
echo "$me: fetching Debian 13 into $root" >&2
if ! debootstrap --variant=minbase --cache-dir="$cache" \
	--include="$packages" trixie "$new" "$mirror" >"$new.log" 2>&1; then
	tail -n 5 "$new.log" >&2
	rm -f "$new.log"
	die "debootstrap failed: is $mirror reachable? (TRIXIE_MIRROR)"
fi
rm -f "$new.log"
rm -rf "$new"/var/cache/apt/archives/*.deb "$new"/usr/share/doc \
	"$new"/usr/share/man "$new"/usr/share/locale
echo "$packages" >"$new/.made-of"
if [ -e "$root" ]; then
	rm -rf --one-file-system "$root"
fi
mv "$new" "$root"
