#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks that a source file includes only its own layer and those below, and that no
# files include each other in a circle. The tables devtools/layers.txt
# (drivers/net/mana) and devtools/model-layers.txt (model) give the layer of each
# folder or file. Some includes are limited to one place, see below.
#
# The constants below limit the files per folder of the driver, and its number of
# __rte_always_inline.
#
# usage: check-layers.sh [tree]

set -eu
devtools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$devtools/..}"

driver=drivers/net/mana
max_files=25
max_always_inline=15
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

# $1: root of the table's paths, $2: table. A path ending in "/" covers all files of the
# folder and its subfolders that the table does not name; "./" covers only the root.
check_folder() {
	(cd "$1" && find . -name '*.[ch]' ! -path './test/*') | sed 's,^\./,,' |
		sort | awk -v table="$2" -v root="$1" '
	function layer_of(path) {
		if (path in layer)
			return layer[path]
		sub(/[^\/]*$/, "", path)
		if (path == "")
			path = "./"
		while (!(path in layer) && sub(/[^\/]+\/$/, "", path))
			;
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

# $1: root. File names are unique there: check_folder() checks this.
check_circles() {
	find "$1" -name '*.[ch]' ! -path '*/test/*' | xargs awk '
	match($0, /^[ \t]*#[ \t]*include[ \t]*"[^"]*"/) {
		split($0, part, "\"")
		file = FILENAME
		sub(/.*\//, "", file)
		print file, part[2]
	}' | tsort 2>&1 >/dev/null | sed "s,^tsort: -,$1: includes,"
}

# ethdev driver headers not in base and rxtx, verbs only in mana_verbs.[ch], the DPDK
# version in one file, and no mention of the model.
check_driver() {
	awk '
	FNR == 1 {
		file = FILENAME
		sub(/.*\//, "", file)
	}
	/^[ \t]*#[ \t]*include.*(ethdev_driver|ethdev_pci|bus_pci_driver)\.h/ &&
			FILENAME ~ /\/(base|rxtx)\// {
		print FILENAME " includes a header of drivers: " $0
	}
	/^[ \t]*#[ \t]*include.*infiniband\// && file !~ /^mana_verbs\.[ch]$/ {
		print FILENAME " includes verbs, which are for mana_verbs.[ch]: " $0
	}
	/RTE_VERSION|RTE_VER_/ && file != "mana_compat.h" {
		print FILENAME " looks at the version of DPDK, which is for " \
			"mana_compat.h: " $0
	}
	tolower($0) ~ /mana[_-]model|#[ \t]*include.*model/ {
		print FILENAME " knows of the model: " $0
	}' $(find $driver -name '*.[ch]')
}

# Limits for files per folder and for functions with forced inlining.
check_size() {
	find $driver -name '*.[ch]' -printf '%h\n' | sort | uniq -c |
		while read -r nb folder; do
			[ "$nb" -le $max_files ] ||
				echo "$folder: $nb files, at most $max_files"
		done
	nb=$(grep -rho --include='*.[ch]' __rte_always_inline $driver | wc -l)
	[ "$nb" -le $max_always_inline ] || echo "$driver: $nb" \
		"__rte_always_inline, at most $max_always_inline: for templates and inner loops"
}

# The model uses neither the driver nor DPDK. Its kernel and its PCI functions exclude
# each other: a header name of one does not occur in the other.
check_model() {
	for pair in kernel:pci pci:kernel; do
		for name in $(find "model/${pair#*:}" -name '*.h' -printf '%f '); do
			grep -rn "#include \"$name\"" "model/${pair%:*}" || true
		done
	done
	awk -v headers="$(find $driver -name '*.h' -printf '%f ')" \
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
	check_circles $driver
	check_driver
	check_size
	check_folder model "$devtools/model-layers.txt"
	check_circles model
	check_model
} >"$errors"

cat "$errors" >&2
[ ! -s "$errors" ]
