#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Compares the model's imitated kernel with real ones: mana-kernel-walk runs on the
# model and in a virtual machine (mana-vm). Prints each step that they answer
# differently, unless kernel-differences.txt has a reason. Fails if one remains.
#
# usage: kernel-differences.sh [--recorded | --update] [--all] [VERSION...]
#   --recorded  compare with the recordings app/test/kernel-walk/linux-VERSION.txt
#               instead of running a virtual machine
#   --update    write these recordings from the runs
#   --all       print known differences too
#   VERSION     6.12, 7.3 (default: both); with --recorded also 6.2, 7.2, which have
#               no recording but some steps by their sources

set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
build=${MANA_BUILD:-$top/build}
walk=$build/app/test/kernel-walk/mana-kernel-walk
recordings=$top/app/test/kernel-walk
how=run
all=
some=
versions=

while [ $# -gt 0 ]; do
	case $1 in
	--recorded) how=recorded ;;
	--update) how=update ;;
	--all) all=--all ;;
	-h | --help)
		sed -n '4,15s/^# \{0,1\}//p' "$0"
		exit 0
		;;
	6.12 | 7.3) versions="$versions $1" ;;
	6.2 | 7.2) versions="$versions $1" some=--some ;;
	*)
		echo "$(basename "$0"): unknown argument $1, see --help" >&2
		exit 2
		;;
	esac
	shift
done

if [ -n "$some" ] && [ $how != recorded ]; then
	echo "$(basename "$0"): Linux 6.2 and 7.2 have no virtual machine" >&2
	exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The adapter of both has two ports; 6.12 needs an RNIC to make its RDMA device.
options()
{
	echo "--ports 2"
	[ "$1" != 6.12 ] || echo "--rnic"
}

# The walk asks for commands of its machine.
name=kernel-walk-$$
with_commands()
{
	/usr/bin/python3 "$recordings/run-walk.py" "$build/model/mana-model" \
		"$name" "$@"
}

on_model()
{
	# shellcheck disable=SC2046 # a list of words
	with_commands "$build/model/mana-model" --quiet --name "$name" \
		$(options "$1") --kernel "$1" -- "$walk" --ctl --settle 0
}

# The walk ends with an event per change: see --settle. The guest's working folder is
# the host's.
on_kernel()
{
	kernel=$1
	[ "$1" != 7.3 ] || kernel=newest
	rnic=
	[ "$1" != 6.12 ] || rnic="--model=--rnic"
	# shellcheck disable=SC2086 # an optional word
	(cd "$(dirname "$walk")" &&
		with_commands "$build/model/mana-vm" --kernel "$kernel" \
			--ports 2 $rnic --model="--name $name" --timeout 600 \
			-- ./mana-kernel-walk --ctl)
}

failed=0
for version in ${versions:-6.12 7.3}; do
	recording=$recordings/linux-$version.txt
	case $version in
	6.2 | 7.2) some=--some ;;
	*) some= ;;
	esac
	on_model "$version" >"$work/model"
	if [ $how = recorded ]; then
		cp "$recording" "$work/kernel"
	else
		on_kernel "$version" >"$work/kernel"
	fi
	# shellcheck disable=SC2086 # optional words
	/usr/bin/python3 "$recordings/compare.py" $all $some \
		--known "$top/devtools/kernel-differences.txt" \
		"$version" "$work/model" "$work/kernel" || failed=1
	if [ $how = update ]; then
		{
			echo "# SPDX-License-Identifier: BSD-3-Clause"
			echo "# Written by devtools/kernel-differences.sh --update."
			cat "$work/kernel"
		} >"$recording"
	fi
done
exit $failed
