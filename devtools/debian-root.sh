#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Creates a root file system of another Debian, for tests with its libraries and programs. It
# is created once; fetched packages are kept.
#
# usage: debian-root.sh [--refresh] [RELEASE [folder [PACKAGES]]]
#   RELEASE    (default trixie, Debian 13), or sid
#   folder     (default RELEASE-root in the checkout)
#   PACKAGES   separated by commas (default: rdma-core, the C library and their headers)
#   --refresh  create it again, even if it exists
# environment: DEBIAN_MIRROR (default: the mirror of the installed Debian)

set -eu
me=$(basename "$0")
checkout=$(cd "$(dirname "$0")/.." && pwd)

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
-*) die "usage: $me [--refresh] [RELEASE [folder [PACKAGES]]]" ;;
esac
release=${1:-trixie}
root=${2:-$checkout/$release-root}
# libraries and their headers, programs, C library, test framework
packages=${3:-libibverbs-dev,ibverbs-providers,ibverbs-utils,libc6-dev,libcmocka-dev}
cache=${XDG_CACHE_HOME:-${HOME:-$checkout}/.cache}/dpdk-mana/$release
made=$root/.made-of # packages it contains; written last

if [ -z "$refresh" ] && [ "$(cat "$made" 2>/dev/null)" = "$packages" ]; then
	exit 0
fi
[ "$(id -u)" -eq 0 ] ||
	die "debootstrap needs root: run '$0 $release $root' as root once"
# The archive of the installed release, not of its updates.
archive() {
	# shellcheck disable=SC2016 # a format of apt-get
	apt-get indextargets --format '$(CODENAME) $(REPO_URI)' \
		'Created-By: Packages' 'Origin: Debian' |
		awk '$1 !~ /-/ { print $2; exit }'
}
mirror=${DEBIAN_MIRROR:-$(archive)}
if [ -z "$mirror" ]; then
	apt-get -q update >/dev/null 2>&1 || :
	mirror=$(archive)
fi
[ -n "$mirror" ] ||
	die "apt knows no mirror: run apt-get update, or set DEBIAN_MIRROR"
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
echo "$me: fetching Debian $release into $root" >&2
if ! debootstrap --variant=minbase --cache-dir="$cache" \
	--include="$packages" "$release" "$new" "$mirror" >"$new.log" 2>&1; then
	tail -n 5 "$new.log" >&2
	rm -f "$new.log"
	die "debootstrap failed: is $mirror reachable? (DEBIAN_MIRROR)"
fi
rm -f "$new.log"
rm -rf "$new"/var/cache/apt/archives/*.deb "$new"/usr/share/doc \
	"$new"/usr/share/man "$new"/usr/share/locale
echo "$packages" >"$new/.made-of"
if [ -e "$root" ]; then
	rm -rf --one-file-system "$root"
fi
mv "$new" "$root"
