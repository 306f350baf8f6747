# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
#
# To be sourced: huge pages for a run, without which a good part of the time is spent
# on page tables.

hugepages=/proc/sys/vm/nr_hugepages
hugepages_before=

# hugepages_reserve MB: prints nothing; sets memory to EAL's options for that much. Where
# there are no huge pages, and none can be had, it is ordinary memory.
hugepages_reserve() {
	memory="--no-huge -m $1"
	[ "$(id -u)" -eq 0 ] && [ -w "$hugepages" ] || return 0
	page_kb=$(awk '/^Hugepagesize:/ { print $2 }' /proc/meminfo)
	free=$(awk '/^HugePages_Free:/ { print $2 }' /proc/meminfo)
	wanted=$(($1 * 1024 / page_kb))
	before=$(cat "$hugepages")
	if [ "$free" -lt "$wanted" ] &&
	   { echo $((before + wanted - free)) >"$hugepages"; } 2>/dev/null; then
		hugepages_before=$before
		free=$(awk '/^HugePages_Free:/ { print $2 }' /proc/meminfo)
	fi
	# shellcheck disable=SC2034 # for whoever sources this
	[ "$free" -lt "$wanted" ] || memory="--in-memory -m $1"
}

# For the end of the script.
hugepages_give_back() {
	[ -z "$hugepages_before" ] || echo "$hugepages_before" >"$hugepages"
}
