#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks that every file of the project names its license in its first lines. This
# script lists the files that cannot contain a comment.

set -eu
cd "$(dirname "$0")/.."

if [ -e .git ] && command -v git >/dev/null; then
	git -c safe.directory='*' ls-files --cached --others --exclude-standard
else
	find . -type f ! -path './build*' ! -path './.git/*' \
		! -path './dpdk-headers/*' \
		! -path './rival/*' ! -path './matrix/*' ! -path './deb*' ! -path './rpm/*' |
		sed 's,^\./,,'
fi |
	grep -vE '^(LICENSE|VERSION)$|\.(json|pcap|expected)$|/corpus/' |
	grep -vE '^packaging/debian/(changelog|source/format)$' |
	tr '\n' '\0' |
	xargs -0 awk '
	function finish() {
		if (file != "" && !is_ok) {
			print file ": no '\''" wanted "'\''" >"/dev/stderr"
			status = 1
		}
	}
	BEGIN { wanted = "SPDX-License-Identifier: BSD-3-Clause" }
	FNR == 1 { finish(); file = FILENAME; is_ok = 0 }
	index($0, wanted) != 0 { is_ok = 1 }
	is_ok || FNR == 5 { nextfile }
	END { finish(); exit status }'
