#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the Debian packages dpdk-mana, dpdk-mana-dev and mana-model from the tracked
# files of the checkout, as they are.
#
# usage: build-deb.sh [OPTION...] [OUTPUT]      (default: deb/ of the checkout)
#   --release 12|13      in a root of that release, which is made once (needs root);
#                        default: on this system
#   --tree TREE          source of DPDK of the release's series for the driver headers (a
#                        folder or REPOSITORY@TAG); default: Debian's source package
#   --folder FOLDER      compile in FOLDER, of the root (default: a temporary one)
#   --check [ARGUMENT]   build for both releases and test: see check-deb.sh
# environment: DEB_BUILD_OPTIONS, DEB_ROOTS (folder of the roots), DEBIAN_MIRROR

set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=devtools/deb-root-lib.sh
. "$here/deb-root-lib.sh"
# shellcheck source=devtools/dpdk-source-lib.sh
. "$here/dpdk-source-lib.sh"

usage() {
	sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0"
	exit "$1"
}

release=
source=
folder=
while [ $# -gt 0 ]; do
	case $1 in
	--release | --tree | --folder)
		[ $# -ge 2 ] || usage 2 >&2
		case $1 in
		--release) release=$2 ;;
		--tree) source=$2 ;;
		--folder) folder=$2 ;;
		esac
		shift 2
		;;
	--check)
		shift
		exec "$here/check-deb.sh" "$@"
		;;
	--help) usage 0 ;;
	-*) usage 2 >&2 ;;
	*) break ;;
	esac
done
[ $# -le 1 ] || usage 2 >&2
output=$(readlink -m "${1:-$deb_checkout/deb}")
version=$(cat "$deb_checkout/VERSION")

# What the packages are built with.
packages="build-essential debhelper fakeroot lintian meson ninja-build pkgconf"
packages="$packages python3 python3-pyelftools libdpdk-dev libibverbs-dev"
packages="$packages libcapstone-dev libjansson-dev libnl-3-dev libnl-route-3-dev"
packages="$packages libpcap-dev"

# The building system: a root, or this one.
run() {
	if [ -n "$root" ]; then
		deb_in_root "$root" "$@"
	else
		"$@"
	fi
}

if [ -n "$release" ]; then
	root=$deb_roots/$release-build
	# shellcheck disable=SC2086 # a list of words
	deb_root "$root" "$release" $packages
else
	root=
	release=$(. /etc/os-release && echo "${VERSION_ID:-}")
fi
codename=$(deb_codename "$release")

[ "$(sed -n '1s/.*(\(.*\)-.*/\1/p' "$deb_checkout/packaging/debian/changelog")" = "$version" ] ||
	deb_die "packaging/debian/changelog is not of version $version (VERSION)"
folder=${folder:-/tmp/build-deb.$$}
work=$root$folder
[ ! -e "$work" ] || deb_die "$work exists: choose another --folder"
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

tree=dpdk-mana-$version
mkdir -p "$work/$tree"
(cd "$deb_checkout" && git -c safe.directory='*' ls-files -z |
	tar --create --no-recursion --null --files-from=-) |
	tar --extract -C "$work/$tree"
cp -r "$work/$tree/packaging/debian" "$work/$tree/debian"
# The packages of two releases differ: in the versions, too.
sed -i "1s/(\(.*\)) unstable/(\1~deb${release}u1) $codename/" "$work/$tree/debian/changelog"

# DPDK's headers for drivers, which no package has.
if [ -z "$root" ] && [ -z "$source" ] && [ -e "$deb_checkout/dpdk-headers/VERSION" ]; then
	cp -r "$deb_checkout/dpdk-headers" "$work/$tree/"
else
	[ -z "$source" ] || dpdk_tree_unpack "$source" "$work/dpdk"
	# shellcheck disable=SC2016 # for the inner shell
	run sh -euc 'cd "$1" && shift && devtools/fetch-dpdk-headers.sh "$@"' sh \
		"$folder/$tree" ${source:+--tree "$folder/dpdk"} ||
		deb_die "no headers of DPDK for drivers: name a source tree with --tree"
	rm -rf "$work/dpdk"
fi

# shellcheck disable=SC2016 # for the inner shell
run sh -euc 'cd "$1" && dpkg-buildpackage --build=binary -us -uc' sh "$folder/$tree" \
	>"$work/log" 2>&1 || {
	tail -n 40 "$work/log" >&2
	deb_die "dpkg-buildpackage failed"
}
mkdir -p "$output"
cp "$work"/*.deb "$work"/*.buildinfo "$work"/*.changes "$output"
cp "$work/log" "$output/build-$release.log"
(cd "$output" && sha256sum ./*"~deb${release}u1"*.deb)
