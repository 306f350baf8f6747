#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The soak: frames between eight ports of the model, whose queues, sizes, offloads and
# mempools change in each round, with faults (app/test/soak/test_soak.c). Prints what
# happened, and the digest of all received frames, which depends on the seed and the
# number of packets only. The test "soak" does this with 10 million packets.
#
# usage: soak.sh [--packets N] [--seed S]      (default: a million, 1)
# BUILD: build folder (default: build/)

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${BUILD:-$root/build}" && pwd)
log=$build/soak.log

ninja -C "$build" >/dev/null
export MANA_PLUGIN="$build/drivers/librte_net_mana.so" CMOCKA_MESSAGE_OUTPUT=stdout
# The C library's caches of freed memory count as used.
export GLIBC_TUNABLES=glibc.malloc.tcache_count=0
# Most lines of the log are those of the driver at each start.
if "$build/model/mana-model" --ports 8 --wire pair --max-mtu 9000 --fatal-violations \
	--cq-doorbell=strict -- "$build/app/test/soak/test-soak" "$@" 2>&1 |
	grep -v '^MANA: 7870:' >"$log" && grep -q 'PASSED.* 1 test' "$log"; then
	grep '^soak: ' "$log"
	echo "PASS soak"
else
	tail -n 30 "$log"
	echo "FAIL soak: see $log"
	exit 1
fi
