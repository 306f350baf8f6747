#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Unpacks the libraries and headers of this distribution for arm64 into a folder,
# for --sysroot of cross compilers and -L of qemu. Changes nothing of this system.
# The folder is created once; the script then prints a line.
#
# usage: arm64-root.sh folder

set -eu
packages="libdpdk-dev libibverbs-dev libc6-dev libgcc-12-dev libcmocka-dev"
root=$(realpath -m "${1:?usage: arm64-root.sh folder}")
made=$root/.made-of # packages it contains; written last
private=$root.apt
new=$root.new

if [ "$(cat "$made" 2>/dev/null)" = "$packages" ]; then
	exit 0
fi
at_exit() {
	rm -rf "$private" "$new"
}
trap at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir -p "$private/sources.list.d" "$private/state/lists/partial" \
	"$private/cache/archives/partial"
eval "$(apt-config shell etc Dir::Etc/d)"
for f in "$etc/sources.list" "$etc"/sources.list.d/*.list \
		"$etc"/sources.list.d/*.sources; do
	[ ! -r "$f" ] || cp "$f" "$private/sources.list.d/"
done
: >"$private/status"
cat >"$private/apt.conf" <<CONF
#clear APT::Update;
#clear APT::Architectures;
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "$(id -un)";
Acquire::Retries "3";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$private/sources.list.d";
Dir::State "$private/state";
Dir::State::status "$private/status";
Dir::Cache "$private/cache";
CONF
# apt applies "clear" last, hence -c. One unreachable source of many is no error.
apt-get -c="$private/apt.conf" -q update || :
# shellcheck disable=SC2086 # a list of words
apt-get -c="$private/apt.conf" -q -y --no-install-recommends \
	-o Debug::NoLocking=true --download-only install $packages

mkdir -p "$new"
for deb in "$private"/cache/archives/*.deb; do
	dpkg-deb -x "$deb" "$new"
done
echo "$packages" >"$new/.made-of"
rm -rf "$root"
mv "$new" "$root"
echo "arm64-root.sh: made $root"
