#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the driver in and for several releases of DPDK, and runs each release's own
# testpmd with it on the model. Prints a PASS or FAIL line for each, then a table.
#
# usage: matrix.sh [--driver | --quick] [TREE...]
#   TREE     a folder with the source of DPDK, or REPOSITORY@TAG, a tag or commit of a git
#            repository. The tree itself is not changed. (default: the Debian source
#            package of the installed DPDK, and the trees in the variable DPDK_TREES)
#   --driver only the driver as a shared library, with gcc
#   --quick  with gcc only, not as plug-in of that release, not for arm64
#
# In-tree: drivers/net/mana is copied over that of a copy of the tree, which is built with
# DPDK's own meson, with gcc and clang, as shared and static libraries, and for arm64;
# warnings are errors. DPDK's own net/mana is deleted unread. As plug-in: the release is
# installed into a folder, and this project is built for it.
# Builds are kept in matrix/ of the checkout (git-ignored).

set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=devtools/dpdk-source-lib.sh
. "$here/dpdk-source-lib.sh"
work=$mana_root/matrix
model=${MANA_BUILD:-$mana_root/build}/model/mana-model
jobs=${JOBS:-$(nproc)}
seconds=5
status=0
# The distribution's python3, which has its modules (pyelftools).
PATH=/usr/bin:$PATH
compilers="gcc clang"
libraries="static shared"
apps="app/dpdk-testpmd drivers/librte_net_mana.a"
columns="gcc,static gcc,shared clang,static clang,shared headers plug-in arm64"
case ${1:-} in
--driver)
	compilers=gcc
	libraries=shared
	columns="gcc,shared"
	apps=
	shift ;;
--quick)
	compilers=gcc
	columns="gcc,static gcc,shared"
	shift ;;
esac
case ${1:-} in
-*) dpdk_die "usage: matrix.sh [--driver | --quick] [TREE...]" ;;
esac

# What a tree is now, to unpack it again after a change.
tree_id() {
	case $1 in
	debian) dpdk_installed_version ;;
	*@*) git -C "${1%@*}" rev-parse --verify "${1##*@}^{commit}" ;;
	*) stat -c '%n %Y' "$1" "$1/VERSION" ;;
	esac
}

# $1: column, $2: result for the table.
cell() {
	row="$row $(printf '%-12s' "$2")"
	case $2 in
	ok) echo "PASS matrix: DPDK $version, $1" ;;
	-) ;;
	*)
		echo "FAIL matrix: DPDK $version, $1: $2, see $log"
		tail -n 30 "$log" >&2
		status=1 ;;
	esac
}

# Runs a testpmd on the model; others: its EAL arguments. Two ports pass packets on.
forwards() {
	# --fatal-violations: the model ends the program. A second signal ends testpmd at once
	# from 25.11.3 on: --foreground sends one only.
	timeout --foreground --preserve-status --signal=INT --kill-after=20 "$seconds" \
		"$model" --ports=2 --wire=pair --fatal-violations -- "$@" \
		--lcores=0@0,1@0 --no-huge --no-shconf -m 256 --no-telemetry \
		-a 7870:00:00.0,mac=00:0d:3a:00:00:01,mac=00:0d:3a:00:00:02 \
		-- --tx-first --stats-period=1 --no-mlockall --total-num-mbufs=16384 \
		>"$log.run" 2>&1 || { cat "$log.run" >>"$log"; return 1; }
	cat "$log.run" >>"$log"
	grep -qE 'RX-packets: [1-9][0-9]{3}' "$log.run"
}

has_pmdinfo() {
	/usr/bin/python3 "$(command -v dpdk-pmdinfo.py)" "$1" 2>>"$log" | grep -q '"net_mana"'
}

# $1: build folder, others: further arguments of meson.
setup() {
	setup_build=$1
	shift
	[ -e "$setup_build/build.ninja" ] || meson setup \
		-Denable_drivers=net/mana,bus/pci,bus/auxiliary,bus/vdev,mempool/ring \
		-Ddisable_libs='*' -Denable_apps=test-pmd -Dtests=false \
		-Dplatform=generic -Dwerror=true -Denable_driver_sdk=true \
		--prefix="$folder/prefix" "$@" "$setup_build" "$dpdk" >"$log" 2>&1
}

# $1: build folder, $2: shared or static. Prints what the table says.
in_tree() {
	targets=$apps
	plugins=
	for plugin in mempool_ring bus_pci bus_vdev net_mana; do
		plugin=drivers/librte_$plugin.so.$(cat "$dpdk/ABI_VERSION")
		targets="$targets $plugin"
		plugins="$plugins -d $1/$plugin"
	done
	has_mana=$1/$plugin
	# shellcheck disable=SC2086 # a list of words
	{ meson configure "$1" -Ddefault_library="$2" && ninja -C "$1" -j "$jobs" $targets; } \
		>"$log" 2>&1 || { echo build; return; }
	! grep -q 'drivers/net/mana/.*warning:' "$log" || { echo warnings; return; }
	if [ "$2" = static ]; then
		has_mana=$1/app/dpdk-testpmd
		plugins=
	else
		"$here/check-symbols.sh" "$has_mana" >>"$log" 2>&1 || { echo symbols; return; }
	fi
	has_pmdinfo "$has_mana" || { echo pmdinfo; return; }
	# shellcheck disable=SC2086 # a list of words
	[ -z "$apps" ] || forwards "$1/app/dpdk-testpmd" $plugins || { echo testpmd; return; }
	echo ok
}

# Installs the release without its net/mana and builds this project for it.
as_plugin() {
	ninja -C "$1" -j "$jobs" install >"$log" 2>&1 || { echo install; return; }
	find "$folder/prefix" -name 'librte_net_mana*' -delete
	libraries=$(find "$folder/prefix" -name libdpdk.pc)
	libraries=${libraries%/pkgconfig/*}
	rm -rf "$folder/plugin"
	{ PKG_CONFIG_PATH=$libraries/pkgconfig meson setup -Dtests=false -Dmodel=disabled \
		-Dwerror=true -Ddpdk_driver_headers= "$folder/plugin" "$mana_root" &&
		ninja -C "$folder/plugin" -j "$jobs"; } >"$log" 2>&1 || { echo build; return; }
	LD_LIBRARY_PATH=$libraries forwards "$folder/prefix/bin/dpdk-testpmd" \
		-d "$folder/plugin/drivers/librte_net_mana.so" || { echo testpmd; return; }
	echo ok
}

# Compiles the driver for arm64 with the packages of arm64-root.sh.
arm64() {
	sysroot=$mana_root/build-arm64/root
	lib=$sysroot/usr/lib/aarch64-linux-gnu
	if ! command -v aarch64-linux-gnu-gcc >/dev/null ||
			! "$here/arm64-root.sh" "$sysroot" >"$log" 2>&1; then
		echo -
		return
	fi
	# DPDK reads the part of the processor from [properties].
	cat >"$folder/arm64.ini" <<EOF
[binaries]
c = ['aarch64-linux-gnu-gcc', '--sysroot=$sysroot']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'armv8-a'
endian = 'little'
[properties]
platform = 'generic'
sys_root = '$sysroot'
pkg_config_libdir = '$lib/pkgconfig:$sysroot/usr/share/pkgconfig'
EOF
	if ! { setup "$folder/arm64" --cross-file "$folder/arm64.ini" &&
			ninja -C "$folder/arm64" -j "$jobs" drivers/librte_net_mana.a; } \
			>>"$log" 2>&1; then
		echo "build"
	else
		echo ok
	fi
}

tree_row() {
	id=$(tree_id "$1" 2>/dev/null) || {
		row="$(printf '%-14s no such tree' "$1")"
		return
	}
	folder=$work/$(printf '%s' "$id" | tr -c 'A-Za-z0-9.\n' _ | cut -c-40 | tail -n 1)
	dpdk=$folder/dpdk
	if [ ! -e "$folder/complete" ]; then
		rm -rf "$folder"
		mkdir -p "$folder"
		dpdk_tree_unpack "$1" "$dpdk"
		touch "$folder/complete"
	fi
	version=$(cat "$dpdk/VERSION")
	# Copies only changed files, for an incremental build.
	mkdir -p "$dpdk/drivers/net/mana"
	(cd "$mana_root/drivers/net/mana" && find . -type f) | while read -r f; do
		mkdir -p "$dpdk/drivers/net/mana/$(dirname "$f")"
		cmp -s "$mana_root/drivers/net/mana/$f" "$dpdk/drivers/net/mana/$f" ||
			cp "$mana_root/drivers/net/mana/$f" "$dpdk/drivers/net/mana/$f"
	done
	(cd "$dpdk/drivers/net/mana" && find . -type f) | while read -r f; do
		[ -e "$mana_root/drivers/net/mana/$f" ] || rm "$dpdk/drivers/net/mana/$f"
	done

	row="$(printf '%-14s' "$version")"
	for cc in $compilers; do
		log=$folder/$cc.log
		CC=$cc setup "$folder/$cc" -Dcheck_includes=true ||
			{ cell "$cc" setup; continue; }
		for library in $libraries; do
			log=$folder/$cc-$library.log
			cell "$cc, $library" "$(in_tree "$folder/$cc" $library)"
		done
	done
	[ "$compilers" != gcc ] || return 0
	log=$folder/headers.log
	cell "headers alone" "$(ninja -C "$folder/gcc" -j "$jobs" >"$log" 2>&1 && echo ok ||
		echo build)"
	log=$folder/plugin.log
	cell "plug-in" "$(as_plugin "$folder/gcc")"
	log=$folder/arm64.log
	cell arm64 "$(arm64)"
}

[ -x "$model" ] || dpdk_die "no $model: build first"
mkdir -p "$work"
table=$(mktemp)
trap 'rm -f "$table"' EXIT
[ $# -ne 0 ] || eval "set -- debian ${DPDK_TREES:-}"
for tree in "$@"; do
	tree_row "$tree"
	echo "$row" >>"$table"
done
printf 'DPDK          '
for column in $columns; do
	printf ' %-12s' "$column"
done
echo
cat "$table"
exit $status
