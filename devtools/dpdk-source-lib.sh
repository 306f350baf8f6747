# SPDX-License-Identifier: BSD-3-Clause
#
# Shell functions, to be sourced: the Debian source package of the installed
# DPDK. Downloads are kept in ${XDG_CACHE_HOME:-~/.cache}/dpdk-mana, so a second run,
# also in another checkout, needs no network. The functions change neither configuration nor
# state of the system's apt: they derive a temporary deb-src list and give apt its
# own state and cache folders.

mana_root=$(cd "$(dirname "$0")/.." && pwd)
dpdk_cache=${DPDK_SOURCE_DIR:-${XDG_CACHE_HOME:-${HOME:-$mana_root}/.cache}/dpdk-mana/source}

dpdk_die() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

dpdk_warn() {
	echo "$(basename "$0"): warning: $*" >&2
}

# Version of the source package of the installed libdpdk-dev.
dpdk_installed_version() {
	dpkg-query -W -f '${source:Version}' libdpdk-dev 2>/dev/null ||
		dpdk_die "libdpdk-dev is not installed from a Debian package." \
			"Install it, or give the driver headers of your DPDK:" \
			"devtools/fetch-dpdk-headers.sh --tree TREE, or" \
			"meson setup -Ddpdk_driver_headers=FOLDER"
}

# The system's apt sources as source-package entries. $1: output folder.
dpdk_deb_src_list() {
	mkdir -p "$1"
	eval "$(apt-config shell etc Dir::Etc/d main Dir::Etc::sourcelist/f \
		parts Dir::Etc::sourceparts/d)"
	: >"$1/from-lists.list"
	for f in "$main" "$parts"/*.list; do
		[ -r "$f" ] || continue
		sed -n 's/^[[:space:]]*deb\(-src\)\{0,1\}[[:space:]]/deb-src /p' \
			"$f" >>"$1/from-lists.list"
	done
	sort -u -o "$1/from-lists.list" "$1/from-lists.list"
	for f in "$parts"/*.sources; do
		[ -r "$f" ] || continue
		sed 's/^[Tt][Yy][Pp][Ee][Ss]:.*/Types: deb-src/' "$f" \
			>"$1/$(basename "$f")"
	done
}

# Runs apt with private state. $1: private folder, others: program, arguments.
dpdk_apt() {
	dpdk_apt_dir=$1
	dpdk_apt_tool=$2
	shift 2
	mkdir -p "$dpdk_apt_dir/state/lists/partial" \
		"$dpdk_apt_dir/cache/archives/partial"
	# Hooks of the system configuration would act on the system's folders.
	cat >"$dpdk_apt_dir/apt.conf" <<EOF
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$dpdk_apt_dir/sources.list.d";
Dir::State "$dpdk_apt_dir/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$dpdk_apt_dir/cache";
APT::Sandbox::User "$(id -un)";
Acquire::Retries "3";
EOF
	"$dpdk_apt_tool" -c="$dpdk_apt_dir/apt.conf" "$@"
}

# Selects a version from stdin for the wanted one, $1: the same; else the nearest of the
# same upstream series (22.11 for 22.11.11-1).
dpdk_nearest_version() {
	/usr/bin/python3 -c '
import re, sys
def key(v):
    return [int(x) for x in re.findall(r"\d+", v.split(":")[-1])]
want = sys.argv[1]
have = set(sys.stdin.read().split())
if want in have:
    print(want)
    sys.exit()
series = key(want)[:2]
near = [v for v in have if key(v)[:2] == series]
def distance(v):
    return [abs(a - b) for a, b in zip(key(v)[2:], key(want)[2:])]
if near:
    print(min(sorted(near), key=distance))' "$1"
}

# $1: what failed. $want is the installed version.
dpdk_no_source() {
	series=$(printf '%s' "$want" | sed 's/^[0-9]*://' | cut -d. -f1,2)
	dpdk_die "$1. Is the network there? If the archive has no source package:" \
		"git clone https://dpdk.org/git/dpdk-stable, then" \
		"devtools/fetch-dpdk-headers.sh --tree dpdk-stable@TAG with the newest tag" \
		"v$series.N, or meson setup -Ddpdk_driver_headers=FOLDER"
}

# Downloads a .dsc and its tar files to the cache. Prints the path of the .dsc.
dpdk_source_download() {
	want=$(dpdk_installed_version)
	safe=$(printf '%s' "$want" | sed 's/^[0-9]*://')
	dsc=$dpdk_cache/dpdk_$safe.dsc
	if [ -e "$dsc.complete" ]; then
		cat "$dsc.complete"
		return
	fi
	command -v apt-get >/dev/null ||
		dpdk_die "apt-get is needed to fetch the source of DPDK $want"
	command -v dpkg-source >/dev/null ||
		dpdk_die "dpkg-source is missing: apt-get install dpkg-dev"
	mkdir -p "$dpdk_cache" || dpdk_die "set XDG_CACHE_HOME to a folder that you may write"
	# One download at a time, of all checkouts; another one may have ended meanwhile.
	exec 8>"$dpdk_cache/lock"
	flock 8
	if [ -e "$dsc.complete" ]; then
		cat "$dsc.complete"
		return
	fi
	private=$(mktemp -d)
	dpdk_deb_src_list "$private/sources.list.d"
	echo "$(basename "$0"): looking for the source of DPDK $want" >&2
	# One unreachable source of many is no error.
	dpdk_apt "$private" apt-get -q update >"$private/log" 2>&1 ||
		dpdk_warn "$(grep -m1 '^[EW]:' "$private/log" || echo update)"
	got=$(dpdk_apt "$private" apt-cache showsrc --only-source dpdk \
		2>/dev/null | sed -n 's/^Version: //p' |
		dpdk_nearest_version "$want")
	if [ -z "$got" ]; then
		cat "$private/log" >&2
		rm -rf "$private"
		dpdk_no_source "no apt source offers the source of DPDK $want or of its series"
	fi
	[ "$got" = "$want" ] ||
		dpdk_warn "the source of DPDK $want is gone; using $got"
	if ! (cd "$dpdk_cache" && dpdk_apt "$private" apt-get -q source \
		--download-only "dpdk=$got") >"$private/log" 2>&1; then
		cat "$private/log" >&2
		rm -rf "$private"
		dpdk_no_source "cannot download the source of DPDK $got"
	fi
	rm -rf "$private"
	got_dsc=$dpdk_cache/dpdk_$(printf '%s' "$got" | sed 's/^[0-9]*://').dsc
	[ -e "$got_dsc" ] || dpdk_die "apt left no $got_dsc"
	echo "$got_dsc" >"$dsc.complete"
	echo "$got_dsc"
}

# Unpacks the source into $1, which it creates. DPDK's own net/mana is deleted at once,
# unread, unless $2 is "rival".
dpdk_source_unpack() {
	dsc=$(dpdk_source_download)
	dpkg-source -q --no-check --no-copy -x "$dsc" "$1" >/dev/null ||
		dpdk_die "cannot unpack $dsc"
	[ "${2:-}" = rival ] || rm -rf "$1/drivers/net/mana"
}

# Puts the source of tree $1 into the folder $2, but for its net/mana. A tree is a folder,
# REPOSITORY@TAG of a git repository, or "debian": the package of the installed DPDK.
dpdk_tree_unpack() {
	case $1 in
	debian)
		dpdk_source_unpack "$2" ;;
	*@*)
		mkdir "$2"
		git -C "${1%@*}" archive "${1##*@}" -- . ':!drivers/net/mana' | tar -x -C "$2" ;;
	*)
		mkdir "$2"
		tar -c -C "$1" --exclude=./.git --exclude=./build \
			--exclude=./drivers/net/mana . | tar -x -C "$2" ;;
	esac
	[ -e "$2/VERSION" ] || dpdk_die "$1: no source of DPDK"
}
