#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Fuzzes a part of the driver or of the model with libFuzzer, under the address
# and undefined-behaviour sanitizers.
#
# usage: fuzz.sh TARGET SECONDS|once [argument of libFuzzer...]
#   once: executes each input of the corpus once, and searches no others
#   TARGET of the driver (app/test/fuzz):
#           rx, tx (bytes in the CQ of a queue), verbs (answers of the kernel and
#           of rdma-core), sysfs (files and netlink messages of the kernel)
#           or devargs (device arguments)
#   TARGET of the model (model/test/fuzz):
#           wqe (bytes in work queues, doorbells, frames), ioctl (calls on an
#           uverbs file), vfio_user (messages of a PCI function's client) or
#           hwc (requests and stores of a PCI function's driver)
#
# The corpus is corpus/TARGET beside the target; inputs found are kept in
# build-fuzz/. "fuzz.sh TARGET merge" rebuilds the corpus from both: the inputs
# seed-*, and other inputs that reach new code. A finding is also stored in
# build-fuzz/, and its name printed.

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build-fuzz

usage() {
	sed -n 's/^# \{0,1\}//p' "$0" | sed -n '/^usage/,/^ *hwc/p' >&2
	exit 2
}

[ $# -ge 2 ] || usage
target=$1
seconds=$2
shift 2
for folder in app/test/fuzz model/test/fuzz ''; do
	[ ! -e "$root/$folder/fuzz_$target.c" ] || break
done
[ -n "$folder" ] || usage
command -v clang >/dev/null || {
	echo "fuzz.sh: there is no clang: run devtools/install-deps.sh test" >&2
	exit 1
}

# Parallel runs: only one builds.
mkdir -p "$build"
exec 9>"$build/lock"
flock 9
[ -e "$build/build.ninja" ] || CC=clang meson setup "$build" "$root" \
	-Dfuzz=enabled -Db_sanitize=address,undefined -Db_lundef=false \
	-Dbuildtype=debugoptimized >"$build/setup.log" 2>&1 || {
	cat "$build/setup.log" >&2
	exit 1
}
ninja -C "$build" "$folder/fuzz_$target" >&2
exec 9>&-

corpus=$root/$folder/corpus/$target
found=$build/found-$target
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
mkdir -p "$corpus" "$found"
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
# The fuzzed input may request any amount of memory.
export ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:allocator_may_return_null=1

if [ "$seconds" = merge ]; then
	mkdir "$TMPDIR/new"
	cp "$corpus"/seed-* "$TMPDIR/new"
	# The fewest inputs that reach the code, whatever the execution counts.
	"$build/$folder/fuzz_$target" -use_counters=0 -set_cover_merge=1 "$@" \
		"$TMPDIR/new" "$corpus" "$found"
	rm -rf "$corpus"
	cp -r "$TMPDIR/new" "$corpus"
	exit
fi
if [ "$seconds" = once ]; then
	set -- -runs=0 "$@"
else
	set -- -max_total_time="$seconds" "$@"
fi
# Discards the messages that programs would get. The pipe has the exit status of tee,
# hence a file for success. Entropic scheduling would take half of the time.
{
	"$build/$folder/fuzz_$target" -timeout=60 -print_final_stats=1 -close_fd_mask=2 -entropic=0 \
		-artifact_prefix="$build/finding-$target-" \
		"$@" "$found" "$corpus" && touch "$TMPDIR/ok"
} 2>&1 | tee "$TMPDIR/log"
[ -e "$TMPDIR/ok" ] || {
	echo "fuzz.sh: a finding of $target:"
	grep -aE 'ERROR|does not hold|^ *#[0-9]+ 0x' "$TMPDIR/log" | head -n 30
	exit 1
} >&2
