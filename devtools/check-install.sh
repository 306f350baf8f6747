#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests link-plugin.sh, with which ninja install puts the plug-in into DPDK's driver
# folder: it replaces no file that belongs to a package.
#
# usage: check-install.sh PLUG-IN

set -eu
plugin=$(readlink -f "${1:?usage: $0 PLUG-IN}")
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

die() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

install() {
	MESON_INSTALL_QUIET=1 "$here/link-plugin.sh" "$@"
}

# Package managers that know one file.
mkdir "$tmp/bin"
cat >"$tmp/bin/dpkg-query" <<EOF
#!/bin/sh
[ "\$*" = "-S $tmp/dpkg.so" ] || exit 1
echo "diversion by other-package from: $tmp/dpkg.so"
echo "librte-net-mana25:amd64: $tmp/dpkg.so"
EOF
cat >"$tmp/bin/rpm" <<EOF
#!/bin/sh
[ "\$*" = "-qf $tmp/rpm.so" ] && echo dpdk-25.11-1.x86_64 && exit
echo "file \$2 is not owned by any package"
exit 1
EOF
chmod +x "$tmp/bin/dpkg-query" "$tmp/bin/rpm"
PATH=$tmp/bin:$PATH

# A file of no package, as DPDK's own build installs it, is replaced; then the link.
echo old >"$tmp/free.so"
for round in 1 2; do
	install "$plugin" "$tmp/free.so" || die "$tmp/free.so is refused in round $round"
	[ "$(readlink -f "$tmp/free.so")" = "$plugin" ] || die "no link in round $round"
done

for manager in dpkg rpm; do
	file=$tmp/$manager.so
	echo old >"$file"
	DESTDIR=$tmp/dest install "$plugin" "$file" ||
		die "an installation into DESTDIR is refused"
	[ -L "$tmp/dest$file" ] || die "no link in DESTDIR"
	status=0
	install "$plugin" "$file" 2>"$tmp/refusal" || status=$?
	[ "$status" -eq 1 ] || die "$file: status $status, expected 1"
	[ "$(cat "$file")" = old ] || die "$file was replaced"
	grep -Eq 'belongs to a package \((librte-net-mana25:amd64|dpdk-25.11-1.x86_64)\) ' \
		"$tmp/refusal" || die "no package in: $(cat "$tmp/refusal")"
done
