#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The part of check-deb.sh that runs in a throw-away root, whose folder /packages has the
# packages. It changes the system: never run it on another one.
#
# usage: check-deb-inside.sh driver|static RELEASE

set -eu
what=$1
release=$2
cd /packages
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || echo "$(uname -m)-linux-gnu")
lib=/usr/lib/$triplet
ours=$lib/dpdk-mana
log=/packages/log
status=0

# $1: what is tested, others: a command. A function runs without set -e: use &&.
check() {
	name=$1
	shift
	if "$@" >"$log" 2>&1; then
		echo "PASS deb: Debian $release: $name"
	else
		tail -n 30 "$log" >&2
		echo "FAIL deb: Debian $release: $name"
		status=1
	fi
}

install() {
	apt-get -q -y --no-install-recommends install "$@"
}

# $1: package file, $2: what is appended to its version; a changed plug-in if $3 is given.
# Prints the new file.
newer() {
	rm -rf repacked
	dpkg-deb -R "$1" repacked
	sed -i "s/^Version: .*/&$2/" repacked/DEBIAN/control
	if [ -n "${3:-}" ]; then
		plugin=$(cd repacked && find usr -type f -name 'librte_net_mana.so.*')
		echo >>"repacked/$plugin"
		(cd repacked && md5sum "$plugin") >sum
		grep -v 'librte_net_mana.so' repacked/DEBIAN/md5sums >>sum || :
		mv sum repacked/DEBIAN/md5sums
	fi
	dpkg-deb --root-owner-group -b repacked "newer-$(basename "$1")" >/dev/null
	echo "./newer-$(basename "$1")"
}

intact() {
	[ -z "$(dpkg -V dpdk-mana mana-model | tee /dev/stderr)" ]
}

# Every file of the system but those that package managers change with each action.
files() {
	find / -xdev \( -path /packages -o -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /run \
		-o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) \
		-prune -o \( -type l -printf '%p -> %l\n' -o -type f ! -path /etc/ld.so.cache \
		-exec sha256sum {} + -o -printf '%p %y %m\n' \) | sort
}

testpmd() {
	mana-model --quiet --ports 2 --wire pair --fatal-violations -- \
		timeout --preserve-status 300 dpdk-testpmd --no-huge -m 256 -l 0,1 \
		-a 7870:00:00.0 -- --forward-mode=io --tx-first --total-num-mbufs=4096 \
		--no-mlockall --stats-period=1
}

# Its plug-in, as processes have it mapped.
mapped() {
	cat /proc/[0-9]*/maps 2>/dev/null | grep -o '/[^ ]*librte_net_mana[^ ]*\( (deleted)\)\{0,1\}' |
		sort -u
}

start_testpmd() {
	testpmd >testpmd.log 2>&1 &
	testpmd=$!
	until grep -q 'RX-packets: [1-9]' testpmd.log; do
		if ! kill -0 "$testpmd"; then
			cat testpmd.log
			return 1
		fi
		sleep 0.2
	done
}

stop_testpmd() {
	# pidof may leave out a process that waits for the disk.
	comm=$(grep -lx dpdk-testpmd /proc/[0-9]*/comm)
	pid=${comm#/proc/}
	kill -INT "${pid%/comm}" && wait "$testpmd" && cat testpmd.log
}

forwards() {
	start_testpmd && mapped >maps && stop_testpmd && cat maps &&
		[ "$(cat maps)" = "$ours/librte_net_mana.so.$abi" ]
}

update_while_running() {
	start_testpmd && install "$(newer ./dpdk-mana_*.deb +1 changed)" && mapped >maps &&
		stop_testpmd && cat maps && grep -q "^$ours/[^ ]* (deleted)$" maps && intact
}

vsctl() {
	ovs-vsctl --retry --timeout=60 "$@"
}

appctl() {
	ovs-appctl -t /packages/ovs/switch.ctl "$@"
}

# What a generator sends to the first port passes a bridge of Open vSwitch to the second one.
start_switch() {
	rm -rf ovs && mkdir ovs && export OVS_RUNDIR=/packages/ovs OVS_DBDIR=/packages/ovs \
		OVS_LOGDIR=/packages/ovs
	ovsdb-tool create ovs/conf.db /usr/share/openvswitch/vswitch.ovsschema &&
		ovsdb-server --remote=punix:/packages/ovs/db.sock --unixctl=/packages/ovs/db.ctl \
			--pidfile=/packages/ovs/db.pid --detach ovs/conf.db &&
		vsctl --no-wait init -- set Open_vSwitch . other_config:dpdk-init=true \
			other_config:per-port-memory=true \
			other_config:dpdk-extra="--no-huge --legacy-mem -m 512 -a 7870:00:00.0" ||
		return 1
	mana-model --quiet --ports 2 --wire 1=gen:rate=10k --wire 2=sink --fatal-violations -- \
		/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk unix:/packages/ovs/db.sock \
		--unixctl=/packages/ovs/switch.ctl -vconsole:info >switch.log 2>&1 &
	switch=$!
	vsctl add-br br0 -- set bridge br0 datapath_type=netdev || return 1
	for number in 1 2; do
		vsctl add-port br0 "p$number" -- set Interface "p$number" type=dpdk \
			options:dpdk-devargs="class=eth,mac=00:0d:3a:00:00:0$number" \
			options:n_rxq_desc=256 options:n_txq_desc=256 || return 1
	done
	until appctl dpctl/show -s netdev@ovs-netdev | grep -A 2 ': p2 ' |
		grep 'TX packets:[1-9][0-9][0-9]'; do
		kill -0 "$switch" || return 1
		sleep 0.2
	done
}

switches() {
	start_switch && mapped >maps && appctl exit --cleanup && wait "$switch" &&
		kill "$(cat ovs/db.pid)" && cat maps switch.log &&
		[ "$(cat maps)" = "$ours/librte_net_mana.so.$abi" ]
}

suricata_configuration() {
	cat <<'EOF'
%YAML 1.1
---
default-log-dir: /packages/suricata
stats:
  enabled: yes
  interval: 1
outputs:
  - stats:
      enabled: yes
      filename: stats.log
      totals: yes
threading:
  set-cpu-affinity: yes
  cpu-affinity:
    - management-cpu-set:
        cpu: [ 0 ]
    - worker-cpu-set:
        cpu: [ 1 ]
        mode: "exclusive"
dpdk:
  eal-params:
    proc-type: primary
    no-huge:
    m: 512
    no-telemetry:
    allow: ["7870:00:00.0,mac=00:0d:3a:00:00:01"]
  interfaces:
    - interface: 7870:00:00.0
      threads: 1
      promisc: true
      multicast: true
      checksum-checks: true
      checksum-checks-offload: true
      mtu: 1500
      mempool-size: 8191
      mempool-cache-size: 257
      rx-descriptors: 1024
      tx-descriptors: 1024
      copy-mode: none
      copy-iface: none
EOF
}

# It captures each of 20,000 packets of a generator, with valid checksums.
inspects() {
	rm -rf suricata && mkdir suricata && suricata_configuration >suricata.yaml
	mana-model --quiet --name suricata --ports 1 --fatal-violations \
		--wire 1=gen:count=20000,flows=8,size=60-1514 -- \
		suricata -c suricata.yaml --dpdk -S /dev/null >suricata.log 2>&1 &
	suricata=$!
	until mana-model ctl suricata report 2>/dev/null | grep -q '"sent": 20000'; do
		kill -0 "$suricata" || { cat suricata.log; return 1; }
		sleep 0.2
	done
	sleep 1 # it reads the last ones
	mapped >maps
	comm=$(grep -l '^Suricata-Main$' /proc/[0-9]*/comm) && pid=${comm#/proc/} &&
		kill -INT "${pid%/comm}" && wait "$suricata" && cat suricata.log maps &&
		grep -q 'packets: 20000, drops: 0 .*invalid chksum: 0' suricata.log &&
		[ "$(cat maps)" = "$ours/librte_net_mana.so.$abi" ]
}

# For versions that libdpdk-dev does not accept.
put() {
	dpkg --force-depends -i "$@"
}

take() {
	dpkg --force-depends --purge "$@"
}

# Debian's own plug-in, wherever it is now. $1: expected place, $2: expected contents
theirs_is() {
	echo "expected $1, SHA-256 $2" && dpkg-divert --truename "$plugin" &&
		[ "$(sha256sum <"$1")" = "$2" ] && [ ! -L "$1" ]
}

check_update_of_theirs() {
	put "$(newer ./librte-net-mana*.deb +1 changed)" && [ -L "$plugin" ] &&
		dpkg -V "$theirs" && intact && forwards
}

no_rest() {
	apt-get -q -y purge dpdk-mana mana-model && files >after && diff before after &&
		! dpkg-divert --list '*librte_net_mana*' | grep .
}

refused() {
	! sh link-plugin.sh /usr/local/lib/x.so "$plugin" 2>refusal && cat refusal &&
		grep -q "belongs to a package (.*$1" refusal
}

# The older package has a diversion of its own, for the folder of another DPDK.
update_of_debian() {
	put older/dpdk-mana_*.deb && dpkg-divert --list '*librte_net_mana*' &&
		put ./dpdk-mana_*.deb && dpkg-divert --list '*librte_net_mana*' >diversions &&
		cat diversions && [ "$(wc -l <diversions)" -eq 1 ] && theirs_is "$aside" "$original" &&
		take dpdk-mana && [ ! -e "$ours" ] && theirs_is "$plugin" "$original"
}

check_driver() {
	apt-get -q update >/dev/null
	theirs=$(apt-cache pkgnames librte-net-mana | head -n 1)
	# No daemon of Open vSwitch: the check runs its own.
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
	chmod 755 /usr/sbin/policy-rc.d
	# Debian 12 has no Suricata.
	suricata=$(apt-cache madison suricata | awk 'NR == 1 { print $1 }')
	# All that the packages need, so that only they differ between before and after.
	# shellcheck disable=SC2046 # a list of words
	install dpdk-dev openvswitch-switch-dpdk ${suricata:+"$suricata"} ${theirs:+"$theirs"} \
		$(apt-get -s --no-install-recommends install ./dpdk-mana_*.deb ./mana-model_*.deb |
			sed -n 's/^Inst \([^ ]*\) .*/\1/p' | grep -v -e '^dpdk-mana' -e '^mana-model') \
		>"$log" 2>&1 || { tail "$log"; exit 1; }
	folder=$(echo "$lib"/dpdk/pmds-*)
	abi=${folder##*-}
	plugin=$folder/librte_net_mana.so.$abi
	aside=$ours/diverted/librte_net_mana.so.$abi
	if [ -n "$theirs" ]; then
		original=$(sha256sum <"$plugin")
		check "ninja install leaves $theirs" refused "$theirs"
		apt-get -q download "$theirs" >/dev/null 2>&1
	fi
	files >before

	check "installation" install ./dpdk-mana_*.deb ./mana-model_*.deb
	check "dpkg -V" intact
	check "testpmd forwards with this driver" forwards
	check "Open vSwitch forwards with this driver" switches
	[ -z "$suricata" ] || check "Suricata inspects with this driver" inspects
	check "ninja install leaves dpdk-mana" refused dpdk-mana
	check "manual pages" sh -c 'for page in dpdk-mana-doctor mana-model mana-vm mana-first-contact; do
		zcat /usr/share/man/man1/$page.1.gz | grep -q "^.SH NAME" || exit 1; done'
	check "the other programs start" sh -c "mana-first-contact --list && mana-vm --help &&
		dpdk-mana-doctor --help"
	[ -z "$theirs" ] || check "$theirs is aside" theirs_is "$aside" "$original"
	check "update while testpmd runs" update_while_running
	check "testpmd forwards after the update" forwards
	check "removal leaves nothing" no_rest

	[ -n "$theirs" ] || return 0
	check "$theirs is back" theirs_is "$plugin" "$original"
	check "installation again" put ./dpdk-mana_*.deb ./mana-model_*.deb
	check "update of $theirs while it is aside" check_update_of_theirs
	updated=$(sha256sum <"$aside")
	check "the updated one is another" [ "$updated" != "$original" ]
	check "removal" take dpdk-mana
	check "the updated $theirs is back" theirs_is "$plugin" "$updated"
	check "dpkg -V $theirs" dpkg -V "$theirs"
	check "removal of $theirs" take "$theirs"
	check "installation without $theirs" put ./dpdk-mana_*.deb
	check "installation of $theirs afterwards" put ./librte-net-mana*_*.deb
	check "it is aside" theirs_is "$aside" "$original"
	check "testpmd forwards with this driver still" forwards
	check "removal at last" take dpdk-mana
	check "$theirs is in its place" theirs_is "$plugin" "$original"
	if [ -n "$(ls older 2>/dev/null)" ]; then
		check "update from an older Debian" update_of_debian
	fi
}

static_program() {
	cat >static.c <<'EOF'
#include <stdio.h>
#include <rte_ethdev.h>

int
main(int argc, char **argv)
{
	struct rte_eth_dev_info info;
	int nb;

	if (rte_eal_init(argc, argv) < 0)
		return 1;
	nb = rte_eth_dev_count_avail();
	if (nb > 0 && rte_eth_dev_info_get(0, &info) == 0)
		printf("%d ports of %s\n", nb, info.driver_name);
	rte_eal_cleanup();
	return 0;
}
EOF
	# shellcheck disable=SC2046 # lists of words
	gcc -O2 -o static $(pkg-config --static --cflags librte_net_mana) static.c \
		$(pkg-config --static --libs librte_net_mana) &&
		! ldd ./static | grep librte_
}

static_runs() {
	mana-model --quiet --ports 2 --fatal-violations -- ./static --no-huge -m 64 \
		-a 7870:00:00.0 --no-telemetry >out && cat out && grep -qx '2 ports of net_mana' out
}

# The parameter only this driver has tells it from DPDK's own.
static_pmd_info() {
	strip ./static && grep -a 'PMD_INFO_STRING= .*"net_mana"' static | tr -d '\0' >out &&
		grep -aq recovery_timeout out
}

check_static() {
	# libpcap's and others' static dependencies
	install libsystemd-dev >"$log" 2>&1 || { tail "$log"; exit 1; }
	check "installation of the development files" \
		install ./dpdk-mana-dev_*.deb ./mana-model_*.deb
	check "a program links the static library" static_program
	check "it has two ports of the driver" static_runs
	check "it has this driver's PMD information" static_pmd_info
}

"check_$what"
exit "$status"
