#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks that a source file includes only its own layer and those below, and that no
# files include each other in a circle. The tables devtools/layers.txt
# (drivers/net/mana) and devtools/model-layers.txt (model) give the layer of each
# folder or file. Calls follow the layers, too, folders do not call each other in a
# circle, and a header declares what its folder defines. Subfolders have a layer each,
# hence an order. Some includes are limited to one place, see below.
#
# The constants below limit the driver's files and lines, and more, see figures().
#
# usage: check-layers.sh [--figures] [tree]
#   --figures  prints these numbers, each with its limit, and checks nothing

set -eu
devtools=$(cd "$(dirname "$0")" && pwd)
only_figures=
if [ "${1:-}" = --figures ]; then
	only_figures=1
	shift
fi
cd "${1:-$devtools/..}"

driver=drivers/net/mana
max_files=25
# A commit that raises one says which user has what of it.
max_lines=17962
max_driver_files=53
max_model_lines=46119
max_test_lines=98905
max_always_inline=16
max_code_percent=82
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

# For awk: reads the table. A line "NAME() up" is for a function that a lower layer declares,
# and a higher one defines.
read_table='
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
		if ($2 == "up")
			is_up[substr($1, 1, length($1) - 2)] = 1
		else if (NF && $1 !~ /^#/)
			layer[$1] = $2
		next
	}
'

# $1: root of the table's paths, $2: table. A path ending in "/" covers all files of the
# folder and its subfolders that the table does not name; "./" covers only the root.
check_folder() {
	(cd "$1" && find . -name '*.[ch]' ! -path './test/*') | sed 's,^\./,,' |
		sort | awk -v table="$2" -v root="$1" "$read_table"'
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
		for (path in layer) {
			if (path !~ /\/$/ && !(path in there))
				print table ": there is no " root "/" path
			# Subfolders of a folder are in an order.
			if (path !~ /\/.*\/$/)
				continue
			folder = path
			sub(/\/.*/, " ", folder)
			if ((folder layer[path]) in used)
				print table ": " path " and " used[folder layer[path]] \
					" have one layer"
			used[folder layer[path]] = path
		}
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

# $1: root of the table's paths, $2: table. Functions call no function of a higher layer,
# and folders of the root do not call each other in a circle. Calls by function pointers
# do not count, nor do functions of libc that are interposed (MODEL_EXPORT). A header
# declares functions of its own folder and of its subfolders only.
check_calls() {
	(cd "$1" && find . -name '*.[ch]' ! -path './test/*') | sed 's,^\./,,' |
		sort | awk -v table="$2" -v root="$1" "$read_table"'
	# The line without comments and strings.
	function code(line) {
		gsub(/"([^"\\]|\\.)*"/, "", line)
		gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
		if (in_comment && !sub(/^.*\*\//, "", line))
			return ""
		in_comment = sub(/\/\*.*/, "", line)
		return line
	}
	function read_definitions(path,	line, type) {
		while ((getline line <(root "/" path)) > 0) {
			if (line ~ /^MODEL_EXPORT.*[a-z0-9]\(/) {
				sub(/\(.*/, "", line)
				sub(/.*[^a-z0-9_]/, "", line)
				exported[line] = 1
			} else if (line ~ /^[a-z][a-z0-9_]*\(/ &&
					type ~ /^[a-z]/ && type !~ /^static/) {
				sub(/\(.*/, "", line)
				defined_in[line] = path
			}
			type = line
		}
		close(root "/" path)
	}
	# Prototypes: the type is on the line of the name.
	function check_declarations(path,	line, name, folder) {
		folder = path
		sub(/[^\/]*$/, "", folder)
		in_comment = 0
		while ((getline line <(root "/" path)) > 0) {
			line = code(line)
			if (line !~ /^[a-z][a-z0-9_ ]*[ *][a-z0-9_]+\(/ ||
					line ~ /^(static|typedef) /)
				continue
			name = line
			sub(/\(.*/, "", name)
			sub(/.*[ *]/, "", name)
			if (name in defined_in && !(name in is_up) && folder != "" &&
					index(defined_in[name], folder) != 1)
				print root "/" path " declares " name "() of " \
					defined_in[name]
		}
		close(root "/" path)
	}
	function check(path, name,	folder, callee) {
		callee = defined_in[name]
		if (layer_of(callee) > layer_of(path))
			print root "/" path " (L" layer_of(path) ") calls " name \
				"() of " callee " (L" layer_of(callee) ")"
		folder = path ~ /\// ? path : "./"
		callee = callee ~ /\// ? callee : "./"
		sub(/\/.*/, "", folder)
		sub(/\/.*/, "", callee)
		if (!seen[folder, callee]++)
			print folder, callee | circles
	}
	function check_file(path,	line, name) {
		in_comment = 0
		while ((getline line <(root "/" path)) > 0) {
			line = code(line)
			while (match(line, /[a-z][a-z0-9_]*\(/)) {
				name = substr(line, RSTART, RLENGTH - 1)
				line = substr(line, RSTART + RLENGTH)
				if (name in defined_in && !(name in exported) &&
						!(name in is_up))
					check(path, name)
			}
		}
		close(root "/" path)
	}
	{
		paths[++nb] = $1
		if ($1 ~ /\.c$/)
			read_definitions($1)
	}
	END {
		circles = "tsort 2>&1 >/dev/null | sed \"s,^tsort: -," root ": calls,\""
		for (i = 1; i <= nb; i++)
			if (paths[i] ~ /\.c$/)
				check_file(paths[i])
			else
				check_declarations(paths[i])
		close(circles)
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
# version in one file, no mention of the model, and first what the file is.
check_driver() {
	awk '
	FNR == 1 {
		file = FILENAME
		sub(/.*\//, "", file)
	}
	FNR == 3 && !/^\/\*/ {
		print FILENAME " does not begin with a comment that says what it is"
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

# The numbers of check_size(), a line each: value, limit, what it counts.
figures() {
	c_files="find $driver -name *.[ch]"
	set -f
	echo "$($c_files -exec cat {} + | wc -l) $max_lines lines of the driver"
	echo "$($c_files | wc -l) $max_driver_files files of the driver"
	echo "$($c_files -printf '%h\n' | sort | uniq -c | sort -n | awk 'END { print $1 }')" \
		"$max_files files of one of its folders"
	echo "$($c_files -exec cat {} + | awk '!in_comment && !/\/\*/ { nb++ }
		/\/\*/ { in_comment = 1 } /\*\// { in_comment = 0 }
		END { print int(100 * nb / NR) }') $max_code_percent percent of its lines without comments"
	echo "$($c_files -exec cat {} + | grep -c __rte_always_inline) $max_always_inline" \
		"__rte_always_inline in the driver, for templates and inner loops"
	echo "$(find model -path model/test -prune -o -name *.[ch] -exec cat {} + | wc -l)" \
		"$max_model_lines lines of the model"
	echo "$(find app/test app/test-pmd-scripts devtools model/test \( -name *.[ch] -o \
		-name *.py -o -name *.sh \) -exec cat {} + | wc -l) $max_test_lines" \
		"lines of tests and scripts"
	set +f
}

check_size() {
	figures | while read -r nb limit name; do
		[ "$nb" -le "$limit" ] || echo "$nb $name, at most $limit"
	done
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

if [ "$only_figures" ]; then
	figures | sed -E 's/^(\S+) (\S+) (.*)/\1 \3, at most \2/'
	exit
fi

{
	check_folder $driver "$devtools/layers.txt"
	check_circles $driver
	check_calls $driver "$devtools/layers.txt"
	check_driver
	check_size
	check_folder model "$devtools/model-layers.txt"
	check_circles model
	check_calls model "$devtools/model-layers.txt"
	check_model
} >"$errors"

cat "$errors" >&2
[ ! -s "$errors" ]
