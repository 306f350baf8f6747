#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds and tests a copy of this checkout in a root of another Debian, with its compiler,
# DPDK, rdma-core and C library, and this machine's kernel. Needs root.
#
# usage: debian.sh [--tree TREE] RELEASE [demo|some|quick|COMMAND...]      (default: demo)
#   RELEASE  bookworm (Debian 12), trixie (13) or sid
#   --tree   source of DPDK of the same series for the driver headers (a folder or
#            REPOSITORY@TAG), where the archive serves no source package; kept in the root
#            for later runs
#   demo     ./demo as root, then as an ordinary user
#   some     that of demo, then the unit tests and one test of each subject
#   quick    that of demo, then ./test
#   COMMAND  runs it in the copy of the checkout
#
# Roots are kept in RELEASE-full/ of the checkout (git-ignored).

set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=devtools/dpdk-source-lib.sh
. "$here/dpdk-source-lib.sh"
tree=
if [ "${1:-}" = --tree ]; then
	tree=${2:?--tree needs a tree}
	shift 2
fi
release=${1:?usage: debian.sh [--tree TREE] RELEASE [demo|some|quick|COMMAND...]}
shift
root=$mana_root/$release-full
checkout=/home/user/dpdk-mana
"$here/debian-root.sh" "$release" "$root" ca-certificates,git

# Runs a shell command in the root, in mounts of its own. $1: root or user.
inside() {
	unshare --mount sh -eu -c '
		mount --make-rprivate /
		mount --rbind "$1" "$1"
		mount -t proc proc "$1/proc"
		mount --rbind /dev "$1/dev"
		mount --rbind /sys "$1/sys"
		exec chroot "$1" su - "$2" -c "cd $3 && { $4
}"' sh "$root" "$1" "$checkout" "$2"
}

# $1: root or user
demo() {
	echo "== Debian $(cat "$root/etc/debian_version"), ./demo as $1 ($(date +%H:%M:%S))"
	inside root "rm -rf build && chown -R $1 ."
	if inside "$1" "./demo 5"; then
		echo "PASS debian: $release, ./demo as $1"
	else
		echo "FAIL debian: $release, ./demo as $1"
		exit 1
	fi
}

# Builds the programs of these tests only. Each test counts:
# "1/62 dpdk-mana:fast+unit / unit-mr   OK   0.10s", since meson 1.12
# "1/62 fast+unit - dpdk-mana:unit-mr   OK   0.10s"
some_tests() {
	failed=
	inside root "chown -R root . && devtools/install-deps.sh test >/dev/null && meson configure build \
		-Dtests=true -Dwerror=true && ninja -C build build.ninja &&
		meson test -C build --print-errorlogs --timeout-multiplier 4 \
		\$(meson test -C build --no-rebuild --list --suite unit | sed 's,.*[ :],,') \
		pmd-states pmd-rss pmd-rxq pmd-memory pmd-info pmd-recovery model-verbs-sync \
		testpmd-io-batch testpmd-secondary-one testpmd-ports-two-drivers" >"$root/log" 2>&1 ||
		{ tail -n 200 "$root/log"; failed=1; }
	sed -nE "s,^ *[0-9]+/[0-9]+ .*[ :](\S+) +OK .*,PASS debian: $release\, \1,p
		s,^ *[0-9]+/[0-9]+ .*[ :](\S+) +(FAIL|TIMEOUT) .*,FAIL debian: $release\, \1,p" \
		"$root/log" | sort -u
	grep -E '^(Ok|Fail|Timeout): ' "$root/log" || echo "FAIL debian: $release, tests"
	[ -z "$failed" ] || exit 1
}

# The files of this checkout, as a fresh clone has them.
chroot "$root" sh -c 'id user >/dev/null 2>&1 || useradd --create-home --shell /bin/sh user'
rm -rf "${root:?}$checkout"
git clone -q "$mana_root" "$root$checkout"
(cd "$mana_root" && git ls-files -z | tar -c --null -T - --ignore-failed-read) |
	tar -x -C "$root$checkout"
# A mirror may have a sid of some weeks ago.
echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/99valid-until"
# Packages need not survive a crash of the machine.
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
inside root "devtools/install-deps.sh build"
if [ -n "$tree" ]; then
	rm -rf "$root/home/user/dpdk"
	dpdk_tree_unpack "$tree" "$root/home/user/dpdk"
fi
[ ! -e "$root/home/user/dpdk/VERSION" ] ||
	inside root "devtools/fetch-dpdk-headers.sh --tree /home/user/dpdk"

case ${1:-demo} in
some)
	demo root
	demo user
	some_tests ;;
demo | quick)
	demo root
	demo user
	[ "${1:-demo}" != quick ] || inside root "chown -R root . && ./test" ;;
*)
	inside root "$*" ;;
esac
