#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks that programs can load the driver and the model from a folder, which need not
# exist yet: by EAL's rule for plug-ins, and ld.so's for preloaded libraries.
#
# usage: check-folder.sh FOLDER

set -eu
folder=$(readlink -m "$1")

refuse() {
	echo "check-folder.sh: $*" >&2
	exit 1
}

case $folder in
*[\ :]*)
	refuse "$folder: the model's library cannot be preloaded from a path with a" \
		"blank or a colon. Move the checkout to a path without." ;;
esac
while :; do
	[ -z "$(find "$folder" -prune -perm -o=w 2>/dev/null)" ] ||
		refuse "$folder is world-writable, and EAL loads no plug-in from below" \
			"such a folder. Move the checkout to another folder, or if" \
			"$folder need not be world-writable: chmod o-w $folder"
	[ "$folder" != / ] || break
	folder=$(dirname "$folder")
done
