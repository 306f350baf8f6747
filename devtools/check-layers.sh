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

# $1: root of the table's paths, $2: table. A path that ends in "/" stands for the
# files of the folder which the table does not name.
check_folder() {
	(cd "$1" && find . -name '*.[ch]' ! -path './test/*') | sed 's,^\./,,' |
		sort | awk -v table="$2" -v root="$1" '
	function layer_of(path) {
		if (path in layer)
			return layer[path]
		sub(/[^\/]*$/, "", path)
		return path in layer ? layer[path] : ""
	}
	FILENAME == table {
		if (NF && $1 !~ /^#/)
			layer[$1] = $2
		next
	}
	{
		base = $1
		sub(/.*\//, "", base)
		if (base in path_of)
			print root "/" $1 ": there is a " path_of[base]
		path_of[base] = $1
		there[$1] = 1
		if (layer_of($1) == "")
			print root "/" $1 ": not in the table " table
	}
	END {
		for (path in layer)
			if (path !~ /\/$/ && !(path in there))
				print table ": there is no " root "/" path
		for (path in there) {
			file = root "/" path
			while ((getline line <file) > 0)
				if (line ~ /^[ \t]*#[ \t]*include[ \t]*"[^"]*"/) {
					split(line, part, "\"")
					check(file, layer_of(path), part[2])
				}
			close(file)
		}
	}
	function check(file, own, inc) {
		if (!(inc in path_of))
			print file ": \"" inc "\" is no file of " root
		else if (layer_of(path_of[inc]) > own)
			print file " (L" own ") includes " inc " (L" \
				layer_of(path_of[inc]) ")"
	}' "$2" -
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
	/^[ \t]*#[ \t]*include.*infiniband\// && file !~ /^mana_verbs(_queue)?\.c$/ {
		print FILENAME " includes verbs, which are for mana_verbs*.c: " $0
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
			-v own="$(find model -name '*.h' -printf '%f ')" '
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
	}' $(find model -name '*.[ch]')
	if grep -rn --include=meson.build "$driver" model; then
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
