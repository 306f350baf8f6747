#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Puts DPDK's driver headers into dpdk-headers/ of this checkout.
#
# A poll mode driver includes headers (ethdev_driver.h, ethdev_pci.h,
# bus_pci_driver.h, dev_driver.h, ...) that no distribution's development package
# contains. This script takes them from the source package of the installed DPDK:
# the headers in DPDK's own list ("driver_sdk_headers" in its meson.build files), and
# the headers that these include and the development package lacks.
#
# usage: fetch-dpdk-headers.sh [--tree TREE] [folder]
#   --tree  takes them from a source tree, a folder or REPOSITORY@TAG, of the same series,
#           where apt has no source package

set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=devtools/dpdk-source-lib.sh
. "$here/dpdk-source-lib.sh"

tree=debian
if [ "${1:-}" = --tree ]; then
	tree=${2:?--tree needs a tree}
	shift 2
fi
out=${1:-$mana_root/dpdk-headers}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

dpdk_tree_unpack "$tree" "$tmp/dpdk"

rm -rf "$out.new"
mkdir -p "$out.new"
/usr/bin/python3 "$here/pick-driver-headers.py" "$tmp/dpdk" "$out.new" \
	$(pkg-config --cflags-only-I libdpdk | sed 's/-I//g')
cp "$tmp/dpdk/license/bsd-3-clause.txt" "$out.new/LICENSE" 2>/dev/null || :
cat "$tmp/dpdk/VERSION" >"$out.new/VERSION"
# For which package, where apt chose the source or somebody chose the tree.
(dpdk_installed_version) >"$out.new/FOR" 2>/dev/null || rm -f "$out.new/FOR"
rm -rf "$out"
mv "$out.new" "$out"
echo "$(basename "$0"): $(find "$out" -name '*.h' | wc -l) headers of DPDK" \
	"$(cat "$tmp/dpdk/VERSION") in $out for $(cat "$out/FOR" 2>/dev/null || echo DPDK)"
