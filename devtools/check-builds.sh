#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds everything in the other ways it must build: with clang, for debugging,
# each header alone, with driver headers in another folder, and the driver for
# arm64 against Debian's arm64 packages. Warnings are errors.
#
# usage: check-builds.sh [clang|debug|headers|sdk|arm64]...    (default: all)

set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
jobs=${JOBS:-$(nproc)}
status=0

passed() {
	echo "PASS build: $*"
}

failed() {
	echo "FAIL build: $*"
	status=1
}

# $1: name, $2: build folder, the rest: arguments of meson setup.
build() {
	name=$1
	folder=$2
	shift 2
	mkdir -p "$folder"
	log=$folder/check.log
	if { [ -e "$folder/build.ninja" ] ||
			meson setup "$folder" "$root" -Dwerror=true "$@"; } \
			>"$log" 2>&1 &&
			ninja -C "$folder" -j "$jobs" >>"$log" 2>&1; then
		passed "$name"
	else
		tail -n 30 "$log" >&2
		failed "$name, see $log"
		return 1
	fi
}

check_clang() {
	if ! command -v clang >/dev/null; then
		echo "SKIP build: clang: not installed"
		return
	fi
	CC=clang build clang "$root/build-clang" || :
}

check_debug() {
	CC=gcc build debug "$root/build-debug" --buildtype=debug || :
}

# A header includes what it needs.
check_headers() {
	broken=
	for header in "$root"/drivers/net/mana/*.h "$root"/model/*/*.h; do
		# shellcheck disable=SC2046 # lists of words
		gcc -fsyntax-only -x c -std=gnu11 -Wall -Wextra -Werror \
			-Wno-unused-parameter -D_GNU_SOURCE -DALLOW_INTERNAL_API \
			-DALLOW_EXPERIMENTAL_API $(pkg-config --cflags libdpdk) \
			-isystem "$root/dpdk-headers" "-I$(dirname "$header")" \
			"-I$root/model/base" "-I$root/model/card" "-I$root/model/kernel" \
			-include "$header" /dev/null ||
			broken="$broken $(basename "$header")"
	done
	if [ -z "$broken" ]; then
		passed "each header alone"
	else
		failed "headers that do not compile alone:$broken"
	fi
}

# DPDK installed with -Denable_driver_sdk=true has the headers elsewhere.
check_sdk() {
	elsewhere=$(mktemp -d)
	cp "$root"/dpdk-headers/*.h "$elsewhere"
	rm -rf "$root/build-sdk"
	build "driver headers in another folder" "$root/build-sdk" \
		-Dmodel=disabled -Dtests=false \
		-Ddpdk_driver_headers="$elsewhere" || :
	rm -rf "$elsewhere" "$root/build-sdk"
}

# The packages of the arm64 distribution, unpacked into a folder: nothing of
# this system is changed.
make_arm64_root() {
	packages="libdpdk-dev libibverbs-dev libc6-dev libgcc-12-dev"
	private=$1.apt
	mkdir -p "$private"
	eval "$(apt-config shell etc Dir::Etc/d)"
	mkdir -p "$private/sources.list.d"
	for f in "$etc/sources.list" "$etc"/sources.list.d/*.list \
			"$etc"/sources.list.d/*.sources; do
		[ ! -r "$f" ] || cp "$f" "$private/sources.list.d/"
	done
	mkdir -p "$private/state/lists/partial" \
		"$private/cache/archives/partial"
	: >"$private/status"
	cat >"$private/apt.conf" <<EOF
#clear APT::Update;
#clear APT::Architectures;
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "$(id -un)";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$private/sources.list.d";
Dir::State "$private/state";
Dir::State::status "$private/status";
Dir::Cache "$private/cache";
EOF
	# Clearing comes last in apt's order of configuration: -c.
	apt-get -c="$private/apt.conf" -q update || :
	# shellcheck disable=SC2086 # a list of words
	apt-get -c="$private/apt.conf" -q -y --no-install-recommends \
		-o Debug::NoLocking=true --download-only install $packages ||
		return 1
	rm -rf "$1.new"
	mkdir -p "$1.new"
	for deb in "$private"/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$1.new"
	done
	rm -rf "$private" "$1"
	mv "$1.new" "$1"
}

check_arm64() {
	if ! command -v clang >/dev/null || ! command -v ld.lld >/dev/null; then
		echo "SKIP build: arm64: clang and lld are not installed"
		return
	fi
	work=$root/build-arm64
	sysroot=$work/root
	mkdir -p "$work"
	if [ ! -e "$sysroot" ] &&
			! make_arm64_root "$sysroot" >"$work/root.log" 2>&1; then
		tail -n 20 "$work/root.log" >&2
		echo "SKIP build: arm64: its packages cannot be had"
		return
	fi
	lib=$sysroot/usr/lib/aarch64-linux-gnu
	cat >"$work/cross" <<EOF
[binaries]
c = ['clang', '--target=aarch64-linux-gnu', '--sysroot=$sysroot']
c_ld = 'lld'
ar = 'ar'
pkgconfig = 'pkg-config'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'armv8-a'
endian = 'little'
[properties]
sys_root = '$sysroot'
pkg_config_libdir = '$lib/pkgconfig:$sysroot/usr/share/pkgconfig'
EOF
	build "arm64" "$work/build" --cross-file "$work/cross" \
		-Dmodel=disabled -Dtests=false || return 0
	plugin=$(find "$work/build/drivers" -name 'librte_net_mana.so.*' \
		-type f | head -n 1)
	if readelf -h "$plugin" | grep -q AArch64 &&
			"$here/check-symbols.sh" "$plugin"; then
		passed "arm64: the plug-in exports nothing"
	else
		failed "arm64: $plugin"
	fi
}

for check in ${*:-clang debug headers sdk arm64}; do
	case $check in
	clang|debug|headers|sdk|arm64) "check_$check" ;;
	*)
		echo "usage: $0 [clang|debug|headers|sdk|arm64]..." >&2
		exit 1
		;;
	esac
done
exit $status
