#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds further configurations: driver and model with clang, and with their tests
# (clang-tests), with link-time optimization, in two folders, and for this processor; each
# header alone; the driver with another C library; driver headers in another folder; and the
# driver for arm64 with Debian's arm64 packages, whose unit tests run on an emulated
# processor. Warnings are errors, also in the debug build of coverage.sh.
#
# usage: check-builds.sh [CHECK]...      (default: all but clang)
#   CHECK  clang, clang-tests, lto, folders, native, headers, musl, sdk or arm64

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

# $1: name, $2: build folder, others: arguments of meson setup.
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

# $1: a compiler, $2: what is skipped without it.
has() {
	command -v "$1" >/dev/null || { echo "SKIP build: $2: not installed"; return 1; }
}

check_clang() {
	has clang clang || return 0
	CC=clang build clang "$root/build-clang" -Dtests=false || :
}

check_clang_tests() {
	has clang "clang, tests" || return 0
	CC=clang build "clang, tests" "$root/build-clang-tests" || :
}

# As distributions do, by flags or by meson's option. The plug-in still has what
# dpdk-pmdinfo.py reads.
check_lto() {
	for how in -Db_lto=true "-Dc_args=-flto=auto -Dc_link_args=-flto=auto"; do
		rm -rf "$root/build-lto"
		# shellcheck disable=SC2086 # one or two words
		build "link-time optimization, $how" "$root/build-lto" -Dtests=false $how &&
			check_pmdinfo "$root/build-lto"
	done
	rm -rf "$root/build-lto"
	if command -v clang >/dev/null && command -v ld.lld >/dev/null; then
		CC=clang CC_LD=lld build "link-time optimization, clang" "$root/build-lto" \
			-Dtests=false -Db_lto=true && check_pmdinfo "$root/build-lto"
	fi
	rm -rf "$root/build-lto"
}

check_pmdinfo() {
	if strings "$1/drivers/librte_net_mana.so" | grep -q '^PMD_INFO_STRING= .*net_mana'; then
		passed "information of the driver, ${1##*/}"
	else
		failed "information of the driver, ${1##*/}"
	fi
}

# Builds of the driver in two folders are the same bytes.
check_folders() {
	apart=$(mktemp -d)
	for folder in one another; do
		mkdir "$apart/$folder"
		(cd "$root" && git ls-files -z | tar -c --null -T - --ignore-failed-read) |
			tar -x -C "$apart/$folder"
		{ meson setup "$apart/$folder/build" "$apart/$folder" -Dmodel=disabled \
			-Dtests=false -Ddpdk_driver_headers="$root/dpdk-headers" &&
			ninja -C "$apart/$folder/build" -j "$jobs"; } >"$apart/log" 2>&1 ||
			tail -n 30 "$apart/log" >&2
	done
	if cmp "$apart"/*/build/drivers/librte_net_mana.so; then
		passed "the same bytes in two folders"
	else
		failed "other bytes in another folder"
	fi
	rm -rf "$apart"
}

check_native() {
	rm -rf "$root/build-native"
	build "-O3 -march=native" "$root/build-native" -Dtests=false \
		"-Dc_args=-O3 -march=native" || :
	rm -rf "$root/build-native"
}

# The driver's files with musl's headers, and DPDK's, Linux' and rdma-core's of Debian.
check_musl() {
	has musl-gcc musl || return 0
	others=$(mktemp -d)
	for folder in linux asm-generic rdma infiniband; do
		ln -s "/usr/include/$folder" "$others"
	done
	ln -s "/usr/include/$(gcc -print-multiarch)/asm" "$others"
	# Distributions with musl package BSD's headers, which DPDK's include.
	mkdir "$others/sys" "$others/bsd"
	ln -s "/usr/include/$(gcc -print-multiarch)/sys/queue.h" "$others/sys"
	touch "$others/sys/cdefs.h" "$others/bsd/string.h"
	log=$others/log
	driver=$root/drivers/net/mana
	broken=
	for file in $(find "$driver" -name '*.c'); do
		# shellcheck disable=SC2046 # lists of words
		musl-gcc -fsyntax-only -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter \
			-Wno-address-of-packed-member -Wno-missing-field-initializers \
			-D_GNU_SOURCE -DALLOW_INTERNAL_API -DALLOW_EXPERIMENTAL_API \
			-DMANA_VERSION='"0"' -DRTE_LOG_DEFAULT_LOGTYPE=pmd.net.mana \
			$(pkg-config --cflags libdpdk | sed 's/-I/-isystem /g') \
			-isystem "$root/dpdk-headers" -idirafter "$others" \
			$(find "$driver" -type d -printf '-I%p ') "$file" >>"$log" 2>&1 ||
			broken="$broken ${file##*/}"
	done
	if [ -z "$broken" ]; then
		passed "the driver with musl"
	else
		tail -n 30 "$log" >&2
		failed "the driver with musl:$broken"
	fi
	rm -rf "$others"
}

# Each header includes what it needs.
check_headers() {
	broken=
	for header in $(find "$root/drivers/net/mana" "$root/model" -name '*.h'); do
		# shellcheck disable=SC2046 # lists of words
		gcc -fsyntax-only -x c -std=gnu11 -Wall -Wextra -Werror \
			-Wno-unused-parameter -D_GNU_SOURCE -DALLOW_INTERNAL_API \
			-DALLOW_EXPERIMENTAL_API $(pkg-config --cflags libdpdk) \
			-isystem "$root/dpdk-headers" "-I$(dirname "$header")" \
			"-I$root/drivers/net/mana/base" "-I$root/drivers/net/mana/rxtx" \
			"-I$root/drivers/net/mana/ctrl" \
			$(find "$root/model" -type d -printf '-I%p ') \
			-include "$header" /dev/null ||
			broken="$broken $(basename "$header")"
	done
	if [ -z "$broken" ]; then
		passed "each header alone"
	else
		failed "headers that do not compile alone:$broken"
	fi
}

# DPDK with -Denable_driver_sdk=true installs the headers elsewhere.
check_sdk() {
	elsewhere=$(mktemp -d)
	cp "$root"/dpdk-headers/*.h "$elsewhere"
	rm -rf "$root/build-sdk"
	build "driver headers in another folder" "$root/build-sdk" \
		-Dmodel=disabled -Dtests=false \
		-Ddpdk_driver_headers="$elsewhere" || :
	rm -rf "$elsewhere" "$root/build-sdk"
}

# $1: clang or gcc; $2: compiler command; $3: lines for the other tools.
arm64_cross_file() {
	lib=$sysroot/usr/lib/aarch64-linux-gnu
	cat >"$work/cross-$1.new" <<EOF
[binaries]
c = [$2, '--sysroot=$sysroot']
$3
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64', '-L', '$sysroot']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'armv8-a'
endian = 'little'
[properties]
sys_root = '$sysroot'
needs_exe_wrapper = true
pkg_config_libdir = '$lib/pkgconfig:$sysroot/usr/share/pkgconfig'
EOF
	# Meson reads it only once.
	cmp -s "$work/cross-$1.new" "$work/cross-$1" || rm -rf "$work/build-$1"
	mv "$work/cross-$1.new" "$work/cross-$1"
}

# $1: clang or gcc. Runs unit tests, which need no device; each program counts as a test.
# With clang only those of the bursts, which depend on its vectors.
arm64_unit_tests() {
	if ! command -v qemu-aarch64 >/dev/null; then
		echo "SKIP build: arm64, $1: unit tests: no qemu-aarch64"
		return
	fi
	log=$work/build-$1/unit.log
	ok=yes
	nb=0
	nb_failed=0
	names=.
	[ "$1" = gcc ] || names=unit-[rt]x
	# shellcheck disable=SC2046 # a list of words
	meson test -C "$work/build-$1" --no-rebuild --suite unit \
		--num-processes "$jobs" --timeout-multiplier 30 \
		--print-errorlogs $(meson test -C "$work/build-$1" --list --suite unit 2>/dev/null |
			sed 's,.* / ,,' | grep -e "$names") >"$log" 2>&1 || ok=no
	# " 1/16 dpdk-mana:fast+unit / unit-mr   OK   0.10s"; failed tests appear twice
	sed -n 's|^ *[0-9]*/[0-9]* .* / \([^ ]*\) *\([A-Z]*\) .*|\2 \1|p' \
		"$log" | sort -u >"$log.list"
	while read -r result name; do
		nb=$((nb + 1))
		if [ "$result" = OK ]; then
			passed "arm64, $1: $name"
		else
			nb_failed=$((nb_failed + 1))
			failed "arm64, $1: $name, see $log"
		fi
	done <"$log.list"
	[ "$ok" = yes ] || tail -n 60 "$log" >&2
	if [ "$nb" -eq 0 ] || { [ "$ok" = no ] && [ "$nb_failed" -eq 0 ]; }; then
		failed "arm64, $1: unit tests, see $log"
	fi
}

arm64_build() {
	build "arm64, $1" "$work/build-$1" --cross-file "$work/cross-$1" \
		-Dmodel=disabled || return 0
	plugin=$(find "$work/build-$1/drivers" -name 'librte_net_mana.so.*' \
		-type f | head -n 1)
	if readelf -h "$plugin" | grep -q AArch64 &&
			"$here/check-symbols.sh" "$plugin"; then
		passed "arm64, $1: the plug-in exports nothing"
	else
		failed "arm64, $1: $plugin"
	fi
	arm64_unit_tests "$1"
}

# With the distribution's arm64 packages. The tests show that arm64's instructions, also
# vector ones, compute correct results. They do not show memory ordering, because the
# emulation has that of this machine.
check_arm64() {
	work=$root/build-arm64
	sysroot=$work/root
	mkdir -p "$work"
	if ! "$here/arm64-root.sh" "$sysroot" >"$work/root.log" 2>&1; then
		tail -n 20 "$work/root.log" >&2
		echo "SKIP build: arm64: its packages are not available"
		return
	fi
	# The build used the previous libraries.
	[ ! -s "$work/root.log" ] || rm -rf "$work"/build-*
	if command -v clang >/dev/null && command -v ld.lld >/dev/null; then
		arm64_cross_file clang "'clang', '--target=aarch64-linux-gnu'" \
			"c_ld = 'lld'
ar = 'ar'"
		arm64_build clang
	else
		echo "SKIP build: arm64, clang: clang and lld are not installed"
	fi
	if command -v aarch64-linux-gnu-gcc >/dev/null; then
		arm64_cross_file gcc "'aarch64-linux-gnu-gcc'" \
			"ar = 'aarch64-linux-gnu-ar'"
		arm64_build gcc
	else
		echo "SKIP build: arm64, gcc: aarch64-linux-gnu-gcc is not installed"
	fi
}

for check in ${*:-clang-tests lto folders native headers musl sdk arm64}; do
	case $check in
	clang-tests) check_clang_tests ;;
	clang|lto|folders|native|headers|musl|sdk|arm64) "check_$check" ;;
	*)
		sed -n '/^# usage:/,/^$/s/^# \{0,1\}//p' "$0" >&2
		exit 1
		;;
	esac
done
exit $status
