#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds DPDK's own net/mana ("rival"), from the Debian source package of the
# installed DPDK, as a plug-in: rival/build/drivers/librte_net_mana.so. Running it
# shows that the model imitates MANA, and not only what this driver expects. It is
# built and run, never read: nothing of it is part of this project, and the folder is
# git-ignored.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=devtools/dpdk-source-lib.sh
. "$here/dpdk-source-lib.sh"

rival=${1:-$mana_root/rival}
plugin=$rival/build/drivers/librte_net_mana.so
stamp=$(dpdk_installed_version)

if [ -e "$plugin" ] && [ "$(cat "$rival/VERSION" 2>/dev/null)" = "$stamp" ]; then
	echo "$plugin"
	exit
fi

rm -rf "$rival"
mkdir -p "$rival/tree/drivers/net"
tree=$rival/tree

dpdk_source_unpack "$rival/dpdk" rival
mv "$rival/dpdk/drivers/net/mana" "$tree/drivers/net/mana"
# The driver includes a header of EAL that is not in the driver SDK.
cp "$rival/dpdk/lib/eal/include/rte_eal_paging.h" "$tree/drivers/net/mana"
rm -rf "$rival/dpdk"

# Headers and build rules of this project, for any DPDK driver.
cp "$mana_root/meson.build" "$mana_root/meson_options.txt" \
	"$mana_root/VERSION" "$tree"
# They name folders that a driver does not need.
for folder in app/first-contact usertools; do
	mkdir -p "$tree/$folder"
	: >"$tree/$folder/meson.build"
done
cp -r "$mana_root/drivers/meson.build" "$mana_root/drivers/pch" \
	"$mana_root"/drivers/*.in "$tree/drivers"
cp -r "$mana_root/devtools" "$tree/devtools"
[ ! -d "$mana_root/dpdk-headers" ] ||
	cp -r "$mana_root/dpdk-headers" "$tree/dpdk-headers"

log=$rival/build.log
if ! { DPDK_SOURCE_DIR=$dpdk_cache meson setup -Dtests=false -Dmodel=disabled \
		"$rival/build" "$tree" &&
		ninja -C "$rival/build"; } >"$log" 2>&1; then
	tail -n 30 "$log" >&2
	dpdk_die "cannot build DPDK's own net/mana, see $log"
fi
[ -e "$plugin" ] || dpdk_die "no $plugin was built, see $log"
echo "$stamp" >"$rival/VERSION"
echo "$plugin"
