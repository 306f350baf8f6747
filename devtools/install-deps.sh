#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs missing Debian packages. If none is missing, it uses no network and
# changes nothing. As an ordinary user it prints the command for root.
#
# usage: install-deps.sh [build|test]
#   build  (default) to build everything and run the main job
#   test   all of that, and what the tests use

set -eu

# compiler, build
build="gcc libc6-dev meson ninja-build pkg-config python3 python3-pyelftools"
# DPDK itself, its testpmd, and its source for the headers of drivers
build="$build dpdk dpdk-dev libdpdk-dev dpkg-dev"
# verbs for the driver, and their user-space driver
build="$build libibverbs-dev ibverbs-providers"
# the model: instruction decoding, JSON, netlink messages, files of frames; its
# tests
build="$build libcapstone-dev libjansson-dev libnl-3-dev libnl-route-3-dev"
build="$build libpcap-dev libcmocka-dev"

# tests: ibv_devinfo; packets built and checked by scapy; kernel tools; compilers;
# DPDK's examples; a root of a newer Debian; Open vSwitch; a compiler cache;
# instruction counts; layouts of structs; arm64; virtual machines (mana-vm); static
# analysis
test="ibverbs-utils python3-scapy tshark iproute2 ethtool iputils-ping procps"
test="$test udev util-linux clang libclang-rt-dev lld git gcovr make debootstrap"
test="$test openvswitch-switch-dpdk ccache valgrind dwarves"
test="$test gcc-aarch64-linux-gnu qemu-user"
test="$test debian-archive-keyring kmod clang-tidy cppcheck sparse"

case ${1:-build} in
build) wanted=$build ;;
test) wanted="$build $test" ;;
*)
	echo "usage: $0 [build|test]" >&2
	exit 1
	;;
esac

missing=
for package in $wanted; do
	dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null |
		grep -qx installed || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "$(basename "$0"): packages are missing, as root run:" >&2
	echo "  apt-get update && apt-get install --no-install-recommends$missing" >&2
	exit 1
fi

echo "$(basename "$0"): installing$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get -q update
# No daemon of a package (Open vSwitch) may start: the tests run their own.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi
# shellcheck disable=SC2086 # a list of words
apt-get -q -y --no-install-recommends install $missing
