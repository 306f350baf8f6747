#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the Debian packages of build-deb.sh in roots of Debian releases, and tests them
# there, on the model. Needs root rights and, for the first time, a network.
#
# usage: check-deb.sh [--tree RELEASE=TREE]... [--keep] [RELEASE...]
#   RELEASE  12 or 13 (default: both)
#   --tree   source of DPDK for a release: see build-deb.sh
#   --keep   test the packages of the last run, without building them
#
# Prints a line "PASS deb: ..." or "FAIL deb: ..." for each of these:
#   two builds, in other folders, with another umask, time zone and language, are equal
#   lintian has nothing to say
#   stock testpmd and Open vSwitch forward, and Suricata (Debian 13) inspects, on the model,
#   without -d, with this driver
#   dpkg -V after installation, update and removal
#   an update of the driver while testpmd runs
#   removal leaves no file
#   ninja install leaves packaged files
#   Debian's own driver comes back, also if it was installed or updated in between
#   the package of Debian 12, updated to that of 13, leaves no diversion
#   a program with the static library has the driver and its PMD information

set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=devtools/deb-root-lib.sh
. "$here/deb-root-lib.sh"

sources=
keep=
while [ $# -gt 0 ]; do
	case $1 in
	--tree)
		sources="$sources ${2:?--tree needs RELEASE=TREE}"
		shift 2
		;;
	--keep)
		keep=yes
		shift
		;;
	-*)
		sed -n '/^# usage/,/^#$/s/^# \{0,1\}//p' "$0"
		exit 2
		;;
	*) break ;;
	esac
done
[ $# -gt 0 ] || set -- 12 13
[ "$(id -u)" -eq 0 ] || deb_die "roots need root rights"

status=0
passed() {
	echo "PASS deb: Debian $release: $*"
}
failed() {
	echo "FAIL deb: Debian $release: $*"
	status=1
}
# $1: what is tested, others: a command
check() {
	what=$1
	shift
	if "$@" >"$out/log" 2>&1; then
		passed "$what"
	else
		tail -n 20 "$out/log" >&2
		failed "$what"
	fi
}

# $1: umask, $2: time zone, $3: language, $4: folder, $5: output
build() {
	set -- "$@" --release "$release" --folder "$4"
	for pair in $sources; do
		[ "${pair%%=*}" != "$release" ] || set -- "$@" --tree "${pair#*=}"
	done
	(
		umask "$1"
		export TZ="$2" LC_ALL="$3"
		to=$5
		shift 5
		"$here/build-deb.sh" "$@" "$to"
	)
}

build_twice() {
	rm -rf "$out/1" "$out/2"
	build 022 UTC C /build "$out/1" &&
		build 027 Pacific/Kiritimati C.UTF-8 /srv/other/folder "$out/2" || return 1
	for deb in "$out"/1/*.deb; do
		cmp "$deb" "$out/2/$(basename "$deb")" || return 1
	done
}

no_tags() {
	rm -rf "$builder/packages"
	mkdir "$builder/packages"
	cp "$out"/1/*.deb "$out"/1/*.changes "$out"/1/*.buildinfo "$builder/packages/"
	deb_in_root "$builder" sh -euc 'cd /packages
		lintian --allow-root --display-info --fail-on error,warning,info ./*.changes'
}

# A command in the throw-away root.
inside() {
	deb_in_root "$throwaway" "$@"
}

throw_away() {
	rm -rf --one-file-system "$throwaway"
	cp -a --reflink=auto "$1" "$throwaway"
	mkdir -p "$throwaway/packages"
	cp "$out"/1/*"~deb${release}u1_"*.deb "$throwaway/packages/"
	cp "$here/check-deb-inside.sh" "$here/link-plugin.sh" "$throwaway/packages/"
	# The package of the release before, if it was built, for an update of the system.
	mkdir "$throwaway/packages/older"
	[ "$release" = 12 ] || cp "$deb_roots"/check-12/1/dpdk-mana_*.deb "$throwaway/packages/older" || :
}

for release in "$@"; do
	out=$deb_roots/check-$release
	mkdir -p "$out"
	builder=$deb_roots/$release-build
	throwaway=$deb_roots/$release-throwaway
	if [ -z "$keep" ]; then
		check "two builds are equal" build_twice
		(cd "$out/1" && sha256sum ./*.deb) || continue
	fi
	check "lintian" no_tags
	deb_root "$deb_roots/$release" "$release" dpdk-dev ibverbs-utils
	throw_away "$deb_roots/$release"
	inside sh /packages/check-deb-inside.sh driver "$release" || status=1
	throw_away "$builder"
	inside sh /packages/check-deb-inside.sh static "$release" || status=1
	rm -rf --one-file-system "$throwaway"
done
exit "$status"
