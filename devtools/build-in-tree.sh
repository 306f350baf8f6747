#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Copies the driver's folder over that of a DPDK source tree and builds it with
# DPDK's own meson; nothing else in the tree changes. Uses the Debian source package
# of the installed DPDK and only the needed libraries and drivers. Builds the
# plug-in, the static library, and a testpmd with each.
#
# usage: build-in-tree.sh [work folder]     (default: in-tree/, git-ignored)

set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=devtools/dpdk-source-lib.sh
. "$here/dpdk-source-lib.sh"

work=${1:-$mana_root/in-tree}
jobs=${JOBS:-$(nproc)}
log=$work/build.log

passed() {
	echo "PASS in-tree: $*"
}

failed() {
	echo "FAIL in-tree: $*"
	[ ! -e "$log" ] || tail -n 30 "$log" >&2
	exit 1
}

stamp=$(dpdk_installed_version)
if [ "$(cat "$work/VERSION" 2>/dev/null)" != "$stamp" ]; then
	rm -rf "$work"
	mkdir -p "$work"
	dpdk_source_unpack "$work/dpdk"
	echo "$stamp" >"$work/VERSION"
fi
dpdk=$work/dpdk

# Copies only changed files, for an incremental build.
mkdir -p "$dpdk/drivers/net/mana"
(cd "$mana_root/drivers/net/mana" && find . -type f) | while read -r f; do
	mkdir -p "$dpdk/drivers/net/mana/$(dirname "$f")"
	cmp -s "$mana_root/drivers/net/mana/$f" "$dpdk/drivers/net/mana/$f" ||
		cp "$mana_root/drivers/net/mana/$f" "$dpdk/drivers/net/mana/$f"
done
(cd "$dpdk/drivers/net/mana" && find . -type f) | while read -r f; do
	[ -e "$mana_root/drivers/net/mana/$f" ] ||
		rm "$dpdk/drivers/net/mana/$f"
done

rm -f "$log"
[ -e "$work/build/build.ninja" ] || meson setup \
	-Denable_drivers=net/mana,bus/pci,bus/auxiliary,bus/vdev,mempool/ring \
	-Ddisable_libs='*' -Denable_apps=test-pmd -Dtests=false \
	-Ddefault_library=static -Dplatform=generic \
	"$work/build" "$dpdk" >"$log" 2>&1 || failed "meson setup, see $log"

build=$work/build
plugin=librte_net_mana.so.$(cat "$dpdk/ABI_VERSION")
link_testpmd() {
	meson configure "$build" -Ddefault_library="$1" >>"$log" 2>&1 &&
		ninja -C "$build" -j "$jobs" app/dpdk-testpmd \
			drivers/librte_net_mana.a \
			"drivers/$plugin" >>"$log" 2>&1 ||
		failed "build with default_library=$1, see $log"
	cp "$build/app/dpdk-testpmd" "$work/dpdk-testpmd-$1"
}

has_pmdinfo() {
	/usr/bin/python3 "$(command -v dpdk-pmdinfo.py)" "$1" 2>>"$log" |
		grep -q '"net_mana"'
}

ninja -C "$build" -j "$jobs" drivers/librte_net_mana.a >>"$log" 2>&1 ||
	failed "compilation, see $log"
if grep -A20 'drivers/net/mana/.*warning:' "$log" >&2; then
	failed "compilation gives warnings"
fi
passed "compiles with DPDK's own meson"

link_testpmd static
has_pmdinfo "$work/dpdk-testpmd-static" ||
	failed "no net_mana in the static testpmd"
passed "static testpmd has net_mana"

link_testpmd shared
"$here/check-symbols.sh" "$build/drivers/$plugin" ||
	failed "symbols of $plugin"
has_pmdinfo "$build/drivers/$plugin" ||
	failed "no PMD information in $plugin"
passed "plug-in $plugin exports nothing and has its PMD information"

pristine=$(mktemp -d)
trap 'rm -rf "$pristine"' EXIT
dpdk_source_unpack "$pristine/dpdk"
mkdir -p "$pristine/dpdk/drivers/net"
changed=$(diff -rq "$pristine/dpdk" "$dpdk" |
	grep -v "^Only in $dpdk/drivers/net: mana\$" |
	grep -v '__pycache__' || :)
[ -z "$changed" ] || failed "changes outside of drivers/net/mana: $changed"
passed "nothing else of the tree has changed"
