#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Called by ninja install after it has installed the plug-in: puts a link to it into
# DPDK's driver folder, unless a package owns the file there. Meson does not know the
# link: ninja uninstall leaves it, and EAL skips a link that leads nowhere. So ninja
# uninstall can never delete the file of a package that was installed later.
#
# usage: link-plugin.sh PLUG-IN LINK
# environment: DESTDIR (an installation for a package: no check)

set -eu
plugin=$1
link=$2

# Prints the package that owns a file, if there is one.
owner() {
	if found=$(dpkg-query -S "$1" 2>/dev/null); then
		# Of a diverted file, a line "diversion by ..." comes first.
		echo "$found" | sed -n '/^diversion by/!s/: .*//p'
	elif found=$(rpm -qf "$1" 2>/dev/null); then
		echo "$found"
	fi
}

if [ -z "${DESTDIR:-}" ]; then
	package=$(owner "$link")
	if [ -n "$package" ]; then
		cat >&2 <<EOF
$(basename "$0"): $link
belongs to a package ($package) and is not replaced, so EAL does not load this build. Either load it with the EAL option
  -d $plugin
or remove that package, or build this driver's package, which moves a packaged driver
aside: devtools/build-deb.sh.
EOF
		exit 1
	fi
fi
mkdir -p "${DESTDIR:-}$(dirname "$link")"
# A running program keeps the old file: the new link takes its name.
ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$plugin")" "${DESTDIR:-}$link.new"
mv -fT "${DESTDIR:-}$link.new" "${DESTDIR:-}$link"
[ -n "${MESON_INSTALL_QUIET:-}" ] || echo "Linking $link to $plugin"
