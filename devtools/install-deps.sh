#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs missing packages of the distribution. If none is missing, it uses no network
# and changes nothing. As an ordinary user it prints the command for root. What the
# distribution has not, or too old, or all on an unknown distribution, it names by the
# projects' own names, and fails.
#
# usage: install-deps.sh [build|test]
#   build  (default) to build driver and model, and run the main job: packages of Debian,
#          Ubuntu, RHEL and its kin, Azure Linux (doc/guides/nics/mana-distributions.rst)
#   test   all of that, and to build and run the tests: Debian only
# environment: OS_RELEASE, the file that names the distribution (default: /etc/os-release)

set -eu
me=$(basename "$0")
guide=doc/guides/nics/mana-distributions.rst

die() {
	echo "$me: $*" >&2
	exit 1
}

ID='' ID_LIKE='' VERSION_ID='' PRETTY_NAME=''
# shellcheck disable=SC1090 # a file of the distribution
[ ! -r "${OS_RELEASE:-/etc/os-release}" ] || . "${OS_RELEASE:-/etc/os-release}"
system=${PRETTY_NAME:-${ID:-this system}}

# Empty: the distribution has too old a version, so nothing is installed for it.
meson=meson
# DPDK itself, its testpmd, and its source for the headers of drivers
dpdk="dpdk dpdk-dev libdpdk-dev dpkg-dev"
# verbs for the driver, their user-space driver, ibv_devinfo
verbs="libibverbs-dev ibverbs-providers ibverbs-utils"
packager=
case " $ID $ID_LIKE " in
*" debian "*)
	packager=apt
	case $ID-$VERSION_ID in
	ubuntu-22.04) meson='' dpdk='' verbs='' ;;
	esac
	# compiler, build
	build="gcc libc6-dev $meson ninja-build pkg-config python3 python3-pyelftools"
	build="$build $dpdk $verbs"
	# the model: instruction decoding, JSON, netlink messages, files of frames
	build="$build libcapstone-dev libjansson-dev libnl-3-dev libnl-route-3-dev"
	build="$build libpcap-dev" ;;
*" azurelinux "* | *" rhel "* | *" centos "* | *" fedora "*)
	packager=dnf
	dnf=dnf
	dpdk="dpdk dpdk-devel"
	build="gcc glibc-devel"
	case $ID-$VERSION_ID in
	azurelinux-*)
		dnf=tdnf
		dpdk=	# static: such a testpmd loads no plug-in
		build="$build binutils kernel-headers" ;;
	*-9 | *-9.*)
		meson='' ;;
	esac
	build="$build $meson ninja-build pkgconf-pkg-config python3 python3-pyelftools"
	build="$build $dpdk rdma-core-devel libibverbs"
	build="$build capstone-devel jansson-devel libnl3-devel libpcap-devel" ;;
*)
	build= ;;
esac

# tests: their library; packets built and checked by scapy; kernel tools;
# compilers; DPDK's examples; a root of a newer Debian; Open vSwitch; a compiler cache;
# instruction counts; layouts of structs; arm64; another C library; virtual machines
# (mana-vm); static analysis; pictures
test="libcmocka-dev python3-scapy python3-pytest tshark iproute2 ethtool"
test="$test iputils-ping procps"
test="$test udev util-linux clang libclang-rt-dev lld git gcovr make debootstrap"
test="$test openvswitch-switch-dpdk ccache valgrind dwarves"
test="$test gcc-aarch64-linux-gnu qemu-user musl-tools"
test="$test debian-archive-keyring kmod clang-tidy cppcheck sparse gnuplot-nox"

case ${1:-build} in
build) wanted=$build ;;
test)
	[ "$ID" = debian ] || die "$system: the packages of the tests are known for Debian" \
		"only. $me build and ./demo need fewer."
	wanted="$build $test" ;;
*)
	echo "usage: $0 [build|test]" >&2
	exit 1
	;;
esac

is_installed() {
	case $packager in
	apt) dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null |
		grep -qx installed ;;
	dnf) rpm -q --whatprovides "$1" >/dev/null 2>&1 ;;
	esac
}

install_apt() {
	# One at a time, also from other checkouts. The lock needs no file of its own.
	exec 8</usr/bin/apt-get
	flock 8
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
}

install_dnf() {
	# shellcheck disable=SC2086 # a list of words
	"$dnf" -y install $missing || die "$dnf cannot install all of:$missing." \
		"$guide names the repositories that they are in."
}

# $1: module of pkg-config, $2: its least version, others: what to print
lacks_library() {
	module=$1
	least=$2
	shift 2
	pkg-config --atleast-version="$least" "$module" 2>/dev/null || lacks "$@" \
		"(found: $(pkg-config --modversion "$module" 2>/dev/null || echo none))"
}

lacks() {
	echo "  $*"
}

has() {
	command -v "$1" >/dev/null 2>&1
}

# Prints what is missing or too old.
all_lacks() {
	has cc || has gcc || has clang || lacks "C compiler, and headers of the C library"
	version=$(meson --version 2>/dev/null) || version=
	case $version in
	'' | 0.*) lacks "meson 1.0.0 or later (found: ${version:-none}):" \
		"python3 -m pip install 'meson>=1.0.0'" ;;
	esac
	has ninja || lacks "ninja"
	has pkg-config || lacks "pkg-config"
	/usr/bin/python3 -c 'import elftools' 2>/dev/null ||
		lacks "Python 3 with pyelftools, as /usr/bin/python3"
	lacks_library libdpdk 22.11 "DPDK 22.11 or later"
	has dpdk-testpmd || lacks "dpdk-testpmd of DPDK in PATH"
	[ -e "$(pkg-config --variable=libdir libdpdk 2>/dev/null)/librte_eal.so" ] ||
		lacks "DPDK's shared libraries"
	lacks_library libibverbs 1 "libibverbs of rdma-core"
	lacks_library libmana 1.0.44 "libmana of rdma-core 44 or later"
	for module in capstone jansson libnl-3.0 libnl-route-3.0 libpcap; do
		lacks_library $module 0 $module
	done
}

missing=
for package in $wanted; do
	is_installed "$package" || missing="$missing $package"
done
if [ -n "$missing" ] && [ "$(id -u)" -ne 0 ]; then
	echo "$me: packages are missing, as root run:" >&2
	case $packager in
	apt) echo "  apt-get update && apt-get install --no-install-recommends$missing" >&2 ;;
	dnf) echo "  $dnf install$missing" >&2 ;;
	esac
	exit 1
elif [ -n "$missing" ]; then
	echo "$me: installing$missing"
	case $packager in
	apt) install_apt ;;
	dnf) install_dnf ;;
	esac
fi

[ "$ID" != debian ] || exit 0
needed=$(all_lacks)
[ -n "$needed" ] || exit 0
if [ -n "$packager" ]; then
	echo "$me: $system: these are missing, or its packages are too old:" >&2
else
	echo "$me: $system: its packages are not known here. These are missing, by the" \
		"names of their projects, with their headers:" >&2
fi
echo "$needed" >&2
die "$guide says how to get them."
