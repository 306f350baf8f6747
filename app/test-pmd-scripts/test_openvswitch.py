#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Open vSwitch with two MANA ports in a bridge: hosts behind them reach each other."""

import hashlib
import socket

from harness import check, check_equal, main, named
from model import wait_until
from openvswitch import BRIDGE, switch
from taps import ip

PINGS = 1000
# each waits for two programs that poll, on a small machine in turn
GUEST_PINGS = 200
TCP_BYTES = 4 << 20
TCP_PORT = 5001


def ping():
    """No ping is lost; the switch's counters equal those of the wire."""
    with switch() as run:
        run.add_bridge()
        run.hosts[0].ping(run.hosts[1], PINGS)
        run.hosts[1].ping(run.hosts[0], PINGS, "-s", "1400")
        live = run.model.live_report()
        for number in (0, 1):
            port = live.port(number)
            check_equal(f"packets of port {number} (switch, then wire)",
                        run.counters(f"p{number}"),
                        (port["rx"]["packets"], port["tx"]["packets"]))
            check(port["rx"]["packets"] >= 2 * PINGS, f"{port['rx']}")
        run.end()


def admin_state():
    """Open vSwitch shows a port as up that the driver cannot set down."""
    with switch() as run:
        run.add_bridge()
        run.appctl("netdev-dpdk/set-admin-state", "p0", "down")
        run.expect(r"\|ERR\|.*link change error")
        # the switch has written its states to the database
        run.vsctl("set", "Interface", "p0", "external_ids:note=1")
        check_equal("admin_state", run.vsctl("get", "Interface", "p0", "admin_state"),
                    "up\n")
        run.hosts[0].ping(run.hosts[1], 100)
        run.end("link change error|the host controls it")


def reconfigure():
    """Queues, descriptors and MTU change under traffic, which continues each time."""
    with switch("--max-mtu", "9000") as run:
        run.add_bridge()
        for words, shown, size in (
                (["options:n_rxq=2"], "configured_rx_queues=2", 56),
                (["options:n_rxq=4", "options:n_rxq_desc=128"],
                 "configured_rxq_descriptors=128", 56),
                (["options:n_txq_desc=64"], "configured_txq_descriptors=64", 56),
                (["mtu_request=1400"], "mtu=1400", 1372),
                (["mtu_request=9000"], "mtu=9000", 8972),
                (["mtu_request=1500", "options:n_rxq=1"], "mtu=1500", 1472)):
            # frames that arrive meanwhile may be lost
            flood = run.hosts[1].start_flood(run.hosts[0])
            for name in ("p0", "p1"):
                run.vsctl("set", "Interface", name, *words)
            flood.kill()
            flood.wait()
            for number, host in enumerate(run.hosts):
                configured = run.port_line(f"p{number}")
                check(shown in configured, f"not {shown}: {configured}")
                host.run("ip", "link", "set", host.tap, "mtu", str(max(size + 28, 576)))
            run.hosts[0].ping(run.hosts[1], 200, "-s", str(size))
        run.end()


def segmentation():
    """
    The bridge's interface leaves TCP segmentation to the switch, and the switch to the
    driver: a host receives every byte, in frames of its MTU.
    """
    with switch(config=["other_config:userspace-tso-enable=true"]) as run:
        run.add_bridge()
        ip("address", "add", "192.0.2.100/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        data = bytes(at * 7 >> 3 & 0xff for at in range(1 << 16)) * (TCP_BYTES >> 16)
        sink = run.hosts[0].start_sink(TCP_PORT)
        with socket.create_connection((run.hosts[0].address, TCP_PORT), 30) as source:
            source.sendall(data)
        check_equal("digest of what has arrived", sink.communicate(timeout=60)[0].strip(),
                    hashlib.sha256(data).hexdigest())
        on_wire = run.model.live_report().port(0)["tx"]
        check(on_wire["bytes"] >= TCP_BYTES, f"{on_wire}")
        sent = run.counters("p0")[1]
        check(sent * 2 < on_wire["packets"],
              f"{sent} packets, {on_wire['packets']} segments")
        run.end()


def on_wire(run, number):
    """Packets (received, sent) of a port, as counted by the model."""
    port = run.model.live_report().port(number)
    return port["rx"]["packets"], port["tx"]["packets"]


def swapped(stats):
    """What the other end of a port should have (received, sent)."""
    return stats.tx_packets, stats.rx_packets


def vhost_user():
    """
    A program behind a vhost-user port answers each ping that came in by a MANA port:
    testpmd with a virtio_user device, in memory that it shares with the switch.
    """
    with switch() as run:
        run.add_bridge()
        with run.guest("vhost0", "02:00:00:00:00:07") as guest:
            for number, host in enumerate(run.hosts):
                host.ping_address(f"192.0.2.{200 + number}", GUEST_PINGS, "-s", "1400")
            # a last ping may be on its way
            wait_until(lambda: run.counters("vhost0") == swapped(guest.stats()[0]),
                       lambda: f"switch: {run.counters('vhost0')}, {guest.stats()}")
            for number in (0, 1):
                wait_until(lambda n=number: run.counters(f"p{n}") == on_wire(run, n),
                           lambda n=number: f"{run.counters(f'p{n}')}, {on_wire(run, n)}")
            stats = guest.stats()[0]
            check(stats.rx_packets >= 2 * GUEST_PINGS, f"{stats}")
            check_equal("exit status of the guest", guest.quit(), 0)
        run.hosts[0].ping(run.hosts[1], 100)
        run.end()


if __name__ == "__main__":
    main(named(ping, admin_state, reconfigure, segmentation, vhost_user))
