#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks that the plug-in exports no symbol except its version node, has the right
# soname, and contains the PMD information.
#
# usage: check-symbols.sh PLUG-IN

set -eu
plugin=${1:?usage: $0 PLUG-IN}
status=0

exported=$(readelf --wide --dyn-syms "$plugin" | awk '
	$7 != "UND" && ($5 == "GLOBAL" || $5 == "WEAK") && $4 != "" {
		sub(/@.*/, "", $8)
		if ($8 !~ /^DPDK_[0-9]+$/)
			print $8
	}')
if [ -n "$exported" ]; then
	echo "$plugin exports:" $exported >&2
	status=1
fi

real=$(basename "$(readlink -f "$plugin")")
soname=$(readelf -d "$plugin" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
case $real in
"$soname"|"$soname".*) ;;
*)
	echo "$plugin: the soname of $real is $soname" >&2
	status=1
	;;
esac

if ! grep -aq 'PMD_INFO_STRING= ' "$plugin"; then
	echo "$plugin: no PMD information" >&2
	status=1
fi
exit $status
