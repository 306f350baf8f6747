#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds RPM packages from the tracked files of the checkout, as they are, and checks which
# files they contain. On Debian it only tries the spec file, with the package rpm: without
# the dependencies, which have other names there.
#
# usage: build-rpm.sh [OUTPUT [ARGUMENT...]]      (default: rpm/ of the checkout)
#   ARGUMENT  of rpmbuild: --with eal_link where the distribution has no net_mana of its own

set -eu
cd "$(dirname "$0")/.."
output=$(readlink -m "${1:-rpm}")
[ $# -eq 0 ] || shift
version=$(cat VERSION)
spec=packaging/rpm/dpdk-mana.spec

die() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

command -v rpmbuild >/dev/null || die "rpmbuild is missing: install rpm-build (Debian: rpm)"
grep -q "^Version: *$version\$" "$spec" || die "$spec is not of version $version (VERSION)"
[ -e dpdk-headers/VERSION ] || devtools/fetch-dpdk-headers.sh
if command -v dpkg >/dev/null; then
	set -- --nodeps --define 'debug_package %{nil}' \
		--define "_libdir $(pkg-config --variable=libdir libdpdk)" "$@"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/SOURCES"
git -c safe.directory='*' ls-files -z |
	tar --create --xz --no-recursion --null --transform "s,^,dpdk-mana-$version/,S" \
		--file "$work/SOURCES/dpdk-mana-$version.tar.xz" --files-from=-
tar --create --xz --file "$work/SOURCES/dpdk-headers-$version.tar.xz" dpdk-headers
rpmbuild -bb --define "_topdir $work" "$@" "$spec" >"$work/log" 2>&1 || {
	tail -n 40 "$work/log" >&2
	die "rpmbuild failed"
}
mkdir -p "$output"
cp "$work"/RPMS/*/*.rpm "$output"

# What each package contains, without documents, EAL's link, the ABI's version and the library
# folder.
contents() {
	rpm -qlp "$1" | sed -e '/\/share\/\(doc\|licenses\)\//d' -e '/\/\.build-id/d' -e '/\.py$/d' -e '/pmds/d' \
		-e 's#/usr/lib[^/]*/\([^/]*-linux-gnu/\)\{0,1\}#LIB/#' \
		-e 's/\.so\.[0-9.]*$/.so.N/' -e 's/\.1\.gz$/.1/'
}
for package in dpdk-mana dpdk-mana-devel mana-model; do
	contents "$output/$package-$version"-*.rpm >"$work/contents"
	sed -n "/^$package:/,/^\$/s/^	//p" packaging/rpm/contents.txt >"$work/expected"
	diff -u "$work/expected" "$work/contents" ||
		die "$package contains other files than packaging/rpm/contents.txt says"
	echo "PASS rpm: files of $package"
done
