#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks that every file of the project names its license in its first lines. This
# script lists the files that cannot contain a comment.

set -eu
cd "$(dirname "$0")/.."

if [ -e .git ] && command -v git >/dev/null; then
	files=$(git -c safe.directory='*' ls-files --cached --others \
		--exclude-standard)
else
	files=$(find . -type f ! -path './build*' ! -path './.git/*' \
		! -path './dpdk-headers/*' ! -path './dpdk-source/*' \
		! -path './rival/*' ! -path './in-tree/*' | sed 's,^\./,,')
fi

status=0
for f in $files; do
	case $f in
	LICENSE|VERSION|*.json|*.pcap|*.expected|*/corpus/*) continue ;;
	esac
	[ -s "$f" ] || continue
	if ! head -n 5 "$f" | grep -q 'SPDX-License-Identifier: BSD-3-Clause'
	then
		echo "$f: no 'SPDX-License-Identifier: BSD-3-Clause'" >&2
		status=1
	fi
done
exit $status
