#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds some of DPDK's examples, unchanged and by their own makefiles, from the
# Debian source package of the installed DPDK, into dpdk-examples/ of the checkout
# (git-ignored): the example NAME, a path below DPDK's examples/, is
# dpdk-examples/NAME/build/PROGRAM. Tests run them on the model. Does nothing if all
# exist.
#
# usage: build-examples.sh [--all] [FOLDER]
#   --all   all examples that can be built here, into dpdk-examples-all/, with the sources of
#           DPDK's libraries, which the example pipeline compiles against

set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=devtools/dpdk-source-lib.sh
. "$here/dpdk-source-lib.sh"

examples="skeleton l2fwd l3fwd l3fwd-power ip_fragmentation ip_reassembly"
examples="$examples link_status_interrupt rxtx_callbacks packet_ordering"
# multi_process/symmetric_mp, multi_process/client_server_mp/mp_server, ...
examples="$examples multi_process"

all=
if [ "${1:-}" = --all ]; then
	all=-all
	examples=all
	shift
fi
out=${1:-$mana_root/dpdk-examples$all}
# Parallel tests: only one builds.
exec 9<"$0"
flock 9
stamp="$(dpdk_installed_version) $examples"
[ "$(cat "$out/VERSION" 2>/dev/null)" != "$stamp" ] || exit 0

rm -rf "$out"
mkdir -p "$out"
dpdk_source_unpack "$out/dpdk"
[ -z "$all" ] || examples=$(cd "$out/dpdk/examples" && ls -d -- */Makefile | sed 's,/.*,,')
# shellcheck disable=SC2086 # a list of words
(cd "$out/dpdk/examples" && mv common $examples "$out")
[ -z "$all" ] || mv "$out/dpdk/lib" "$out"
rm -rf "$out/dpdk"

# shellcheck disable=SC2086 # a list of words
if ! printf '%s\n' $examples | xargs -P 2 -I '{}' \
		make -C "$out/{}" shared >"$out/build.log" 2>&1; then
	if [ -n "$all" ]; then
		dpdk_warn "not all examples can be built here, see $out/build.log"
	else
		tail -n 30 "$out/build.log" >&2
		dpdk_die "cannot build DPDK's examples, see $out/build.log"
	fi
fi
echo "$stamp" >"$out/VERSION"
