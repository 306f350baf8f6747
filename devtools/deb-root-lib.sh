# SPDX-License-Identifier: BSD-3-Clause
#
# Shell functions, to be sourced: roots of Debian releases with packages, and commands in
# them. They are kept in deb-roots/ of the checkout (git-ignored).

deb_checkout=$(cd "$(dirname "$0")/.." && pwd)
deb_roots=${DEB_ROOTS:-$deb_checkout/deb-roots}

deb_die() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

# Runs a command in a root, with the host's devices and processes of its own.
# $1: root, others: the command
deb_in_root() {
	# shellcheck disable=SC2016 # for the inner shell
	unshare --mount --pid --fork --kill-child sh -euc '
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount -t sysfs -o ro sysfs "$root/sys"
		mount --bind /dev "$root/dev"
		exec chroot "$root" "$@"' sh "$@"
}

# The name of a release. $1: 12 or 13
deb_codename() {
	case $1 in
	12) echo bookworm ;;
	13) echo trixie ;;
	*) deb_die "Debian $1: expected 12 or 13" ;;
	esac
}

# Creates a root once. $1: folder, $2: 12 or 13, others: packages
deb_root() {
	root=$1
	name=$(deb_codename "$2")
	shift 2
	[ "$(cat "$root/.packages" 2>/dev/null)" != "$*" ] || return 0
	"$deb_checkout/devtools/debian-root.sh" "$name" "$root" ca-certificates
	cp -L /etc/resolv.conf "$root/etc/"
	mirror=$(sed -n 's/^deb \([^ ]*\) .*/\1/p' "$root/etc/apt/sources.list" | head -n 1)
	{
		echo "deb $mirror $name main"
		echo "deb $mirror $name-updates main"
		echo "deb $mirror-security $name-security main"
	} >"$root/etc/apt/sources.list"
	echo "$(basename "$0"): installing packages in $root" >&2
	# shellcheck disable=SC2016 # for the inner shell
	deb_in_root "$root" sh -euc 'export DEBIAN_FRONTEND=noninteractive
		apt-get -q update
		apt-get -q -y upgrade
		apt-get -q -y --no-install-recommends install "$@"
		apt-get clean' sh "$@" >"$root.log" 2>&1 || deb_die "apt-get failed, see $root.log"
	rm -f "$root.log"
	echo "$*" >"$root/.packages"
}
