#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's virtual drivers on MANA ports: bonding, rings."""

import contextlib
import re
import subprocess
import tempfile

from application import check_intact
from harness import (check, check_counters, check_equal, check_nothing_lost, fixture, main,
                     named)
from model import mac, pci

PACKETS = 20_000
FLOWS = 4
TRAFFIC = (f"flows={FLOWS}", "size=60-1514", "ip=mix", "l4=mix")
# The link belongs to the function, so each port has its own function.
APART = ("--functions", "3", "--ports", "1,1,1")
# testpmd's ports 0 and 1 are in the bond, 2 is the other side
BOND = 3


def bond_arguments(mode):
    """Of net_bonding, which calls its ports members from DPDK 23.11 on."""
    version = subprocess.run(["pkg-config", "--modversion", "libdpdk"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    key = "slave" if version < "23.11" else "member"
    allow = [word for function in range(3) for word in ("-a", pci(function))]
    return [*allow, "--vdev", f"net_bonding0,mode={mode},{key}={pci(0)},"
            f"{key}={pci(1)},primary={pci(0)}"]


def check_sinks(report, ports, packets):
    """Each frame arrived once, in order and intact, at one of these ports."""
    check_intact(report, ports)
    check_equal("received", sum(report.sink(port)["received"] for port in ports),
                packets)


def forward(run, source, sinks, stream):
    """Another PACKETS frames from the generator at source arrive at the sinks."""
    def received(report):
        return sum(report.sink(port)["received"] for port in sinks)
    before = received(run.model.live_report())
    run.model.ctl("gen", f"port={source + 1}", f"count={PACKETS}", f"stream={stream}", *TRAFFIC)
    run.wait_for_wire(lambda report: received(report) >= before + PACKETS)


def finish(run, expected_errors=()):
    """The counters of the MANA ports equal the wire's."""
    run.pmd.command("stop")
    stats = run.pmd.stats()
    report = run.finish(counters=False, expected_errors=expected_errors)
    check_counters(report, {run.macs[number]: stats[number] for number in run.macs
                            if run.macs[number] in report.ports and number < 3})
    check_nothing_lost(report)
    return report


def start_bond(run, mode, forward_mode="io"):
    # the bond has the ports' limits, but not their defaults
    run.start(eal=bond_arguments(mode), app=["--no-flush-rx", "--rxd=256", "--txd=256"])
    run.pmd.command(f"set fwd {forward_mode}")
    run.pmd.command(f"set portlist {BOND},2")
    run.pmd.command("start")


@contextlib.contextmanager
def quiet_bench(nb_ports, *options):
    """A generator at each port, started by command."""
    with tempfile.NamedTemporaryFile("w", encoding="ascii") as scenario:
        scenario.write("".join(f"gen port={port + 1} stop\n"
                               for port in range(nb_ports)))
        scenario.flush()
        wires = [word for port in range(nb_ports)
                 for word in ("--wire", f"{port + 1}=gen")]
        with fixture(*options, *wires, "--scenario", scenario.name) as run:
            yield run


def bonding_active_backup():
    """One port is active; if its link fails, the other becomes active."""
    with quiet_bench(3, *APART) as run:
        start_bond(run, 1)
        forward(run, 0, [2], stream=0)
        forward(run, 2, [0], stream=100)
        run.model.ctl("link", "port=1", "down")
        run.pmd.wait_for_command(f"show bonding config {BOND}", r"Active (Slaves|Members).*\[1\]")
        forward(run, 1, [2], stream=200)
        forward(run, 2, [1], stream=300)
        run.model.ctl("link", "port=1", "up")
        run.pmd.wait_for_command(f"show bonding config {BOND}",
                                 r"Active (Slaves|Members) \(2\)")
        forward(run, 0, [2], stream=400)
        forward(run, 2, [0], stream=500)
        # the address moves with the primary port; MANA ports keep theirs
        report = finish(run, ["MAC address"])
    check_sinks(report, [2], 3 * PACKETS)
    check_sinks(report, [0], 2 * PACKETS)
    check_sinks(report, [1], PACKETS)


def bonding_transmit_balance():
    """Both ports send, each with its own address; one receives."""
    with quiet_bench(3, *APART) as run:
        start_bond(run, 5, "mac")
        forward(run, 0, [2], stream=0)
        for stream in range(100, 600, 100):
            forward(run, 2, [0, 1], stream=stream)
        report = finish(run, ["MAC address"])
    check_sinks(report, [2], PACKETS)
    check_sinks(report, [0, 1], 5 * PACKETS)
    for number in (0, 1):
        check_equal(f"of a foreign address from port {number}",
                    report.port(number)["tx"]["foreign_sa"], 0)


def bonding_one_address():
    """A mode that needs one address on all ports is rejected with the reason."""
    with quiet_bench(3, *APART) as run:
        run.start(eal=bond_arguments(0), app=["--rxd=256", "--txd=256",
                                              "--disable-device-start"])
        reply = run.pmd.command("port start all")
        check("the MAC address belongs to the vPort" in reply, f"start: {reply}")
        check(f"Fail to start port {BOND}" in reply, f"start: {reply}")
        run.finish(expected_errors=["MAC address", "Fail"], counters=False)


def rings():
    """Forwards from port 0 through two ring ports to port 1, and back to port 0."""
    vdevs = [word for name in ("net_ring0", "net_ring1") for word in ("--vdev", name)]
    with quiet_bench(2, "--ports", "2") as run:
        run.start(eal=["-a", pci(0), *vdevs], app=["--no-flush-rx", "--rxd=256",
                                                   "--txd=256",
                                                   "--port-topology=chained"])
        # each port sends to the next; a ring returns what is sent into it
        run.pmd.command("set portlist 0,2,3,1")
        run.pmd.command("start")
        forward(run, 0, [1], stream=0)
        forward(run, 1, [0], stream=100)
        report = finish(run)
    check_sinks(report, [1], PACKETS)
    check_sinks(report, [0], PACKETS)


# How the device is lost, and how it returns.
LOSSES = (
    (("remove", "fn=0"), ("return", "fn=0")),
    (("fatal", "fn=0"), ("return", "fn=0")),
    (("reset", "fn=0", "outage=100ms"), None),
    (("reset", "fn=0", "outage=100ms", "pci"), None),
)


def failsafe(nb_losses=2):
    """
    net_failsafe forwards on a MANA port, which keeps its place through nb_losses losses of
    each kind under traffic.
    """
    with fixture("--ports", "1", "--mode", "thread",
                 "--wire", "1=gen:count=0,rate=20k,flows=16") as run:
        run.model.expect_removal()
        # no function is probed but by net_failsafe
        run.start(eal=["-a", "0000:ff:1f.7", "--vdev",
                       f"net_failsafe0,mac={mac(0)},dev({pci(0)},mac={mac(0)})"],
                  app=["--no-flush-rx", "--rxd=256", "--txd=256", "--port-topology=loop"])
        run.pmd.command("start")
        for number in range(nb_losses * len(LOSSES)):
            lose, restore = LOSSES[number % len(LOSSES)]
            # the driver's port has a number of its own
            mark = run.pmd.mark()
            run.model.ctl(*lose)
            run.pmd.expect("error recovering event", since=mark)
            if restore:
                run.model.ctl(*restore)
            run.pmd.expect("error recovery successful event", since=mark)
            before = run.pmd.stats()[0].rx_packets
            run.pmd.wait_until(lambda stats: stats[0].rx_packets >= before + 1000)
        # what is sent after the last loss comes back to the generator
        back = []

        def comes_back(report):
            (port,) = report.ports.values()
            back.append(port["wire"]["generator"]["received"])
            return back[-1] >= back[0] + 1000
        run.wait_for_wire(comes_back)
        run.pmd.command("stop")
        run.pmd.command("port stop all")
        check_all_in_pool(run.pmd.command("dump_mempool mb_pool_0"))
        run.finish(counters=False)      # the wire counts all lives


def check_all_in_pool(dump):
    """Each mbuf is in the pool or its caches."""
    size, total, common = (int(re.search(rf"\b{name}=(\d+)", dump).group(1)) for name in (
        "size", "total_cache_count", "common_pool_count"))
    check_equal("mbufs in the pool", total + common, size)


VARIANTS = {**named(bonding_active_backup, bonding_transmit_balance, bonding_one_address, failsafe,
                    rings),
            "failsafe-20": lambda: failsafe(nb_losses=20)}

if __name__ == "__main__":
    main(VARIANTS)
