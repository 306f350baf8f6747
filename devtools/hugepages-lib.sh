# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
#
# To be sourced: reserves huge pages for a run. Without them, page tables take a large
# part of the time.

hugepages=/proc/sys/vm/nr_hugepages
hugepages_added=

# hugepages_reserve MB: sets $memory to the EAL options for this much memory, in huge
# pages if enough are free or can be reserved, otherwise in normal pages.
hugepages_reserve() {
	memory="--no-huge -m $1"
	[ "$(id -u)" -eq 0 ] && [ -w "$hugepages" ] || return 0
	page_kb=$(awk '/^Hugepagesize:/ { print $2 }' /proc/meminfo)
	free=$(awk '/^HugePages_Free:/ { print $2 }' /proc/meminfo)
	wanted=$(($1 * 1024 / page_kb))
	before=$(cat "$hugepages")
	if [ "$free" -lt "$wanted" ] &&
	   { echo $((before + wanted - free)) >"$hugepages"; } 2>/dev/null; then
		hugepages_added=$(($(cat "$hugepages") - before))
		free=$(awk '/^HugePages_Free:/ { print $2 }' /proc/meminfo)
	fi
	# shellcheck disable=SC2034 # used by the sourcing script
	[ "$free" -lt "$wanted" ] || memory="--in-memory -m $1"
}

# Called at the end of the script. Others may have changed the number meanwhile.
hugepages_give_back() {
	[ -z "$hugepages_added" ] ||
		echo $(($(cat "$hugepages") - hugepages_added)) >"$hugepages"
	hugepages_added=
}
