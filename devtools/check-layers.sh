#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A source file includes its own layer and those below, never above. The tables
# devtools/layers.txt (drivers/net/mana) and devtools/model-layers.txt (model)
# give each file its layer. Some includes have one place only, see below.
#
# usage: check-layers.sh [tree]

set -eu
devtools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$devtools/..}"

driver=drivers/net/mana
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

# $1: folder, $2: table
check_folder() {
	ls "$1" | awk -v table="$2" -v folder="$1" '
	FILENAME == table {
		if (NF && $1 !~ /^#/)
			layer[$1] = $2
		next
	}
	/\.[ch]$/ { there[$1] = 1 }
	END {
		for (file in there)
			if (!(file in layer))
				print folder "/" file ": not in the table " table
		for (file in layer)
			if (!(file in there))
				print table ": there is no " folder "/" file
	}' "$2" -
	awk -v table="$2" '
	FILENAME == table {
		if (NF && $1 !~ /^#/)
			layer[$1] = $2
		next
	}
	match($0, /^[ \t]*#[ \t]*include[ \t]*"[^"]*"/) {
		split($0, part, "\"")
		file = FILENAME
		sub(/.*\//, "", file)
		if (!(part[2] in layer))
			print FILENAME ": \"" part[2] "\" is not in the table " table
		else if (layer[part[2]] > layer[file])
			print FILENAME " (L" layer[file] ") includes " part[2] \
				" (L" layer[part[2]] ")"
	}' "$2" "$1"/*.[ch]
}

# Headers of ethdev drivers not below L3, verbs in one file, the version of DPDK
# in another, and no word of the model.
check_driver() {
	table=$devtools/layers.txt
	awk -v table="$table" '
	FILENAME == table {
		layer[$1] = $2
		next
	}
	FNR == 1 {
		file = FILENAME
		sub(/.*\//, "", file)
	}
	/^[ \t]*#[ \t]*include.*(ethdev_driver|ethdev_pci|bus_pci_driver)\.h/ &&
			layer[file] <= 2 {
		print FILENAME " (L" layer[file] ") includes a header of drivers: " $0
	}
	/^[ \t]*#[ \t]*include.*infiniband\// && file != "mana_verbs.c" {
		print FILENAME " includes verbs, which are for mana_verbs.c: " $0
	}
	/RTE_VERSION|RTE_VER_/ && file != "mana_compat.h" {
		print FILENAME " looks at the version of DPDK, which is for " \
			"mana_compat.h: " $0
	}
	tolower($0) ~ /mana[_-]model|#[ \t]*include.*model/ {
		print FILENAME " knows of the model: " $0
	}' "$table" $driver/*.[ch]
}

# Nothing of the driver, nothing of DPDK.
check_model() {
	awk -v headers="$(cd $driver && echo *.h)" \
			-v own="$(cd model && echo *.h)" '
	BEGIN {
		n = split(headers, name)
		for (i = 1; i <= n; i++)
			foreign[name[i]] = 1
		n = split(own, name)
		for (i = 1; i <= n; i++)
			delete foreign[name[i]]
	}
	match($0, /^[ \t]*#[ \t]*include[ \t]*["<][^">]*[">]/) {
		split($0, part, /["<>]/)
		inc = part[2]
		base = inc
		sub(/.*\//, "", base)
		if (inc ~ /drivers\/net/ || base in foreign)
			print FILENAME " includes " inc ": of the driver"
		if (inc ~ /^(rte_|ethdev_)/)
			print FILENAME " includes " inc ": of DPDK"
	}' model/*.[ch] model/test/*.[ch]
	if grep -n "$driver" model/meson.build model/test/meson.build; then
		echo "model: its build names the driver"
	fi
}

{
	check_folder $driver "$devtools/layers.txt"
	check_driver
	check_folder model "$devtools/model-layers.txt"
	check_model
} >"$errors"

cat "$errors" >&2
[ ! -s "$errors" ]
