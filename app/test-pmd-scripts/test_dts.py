#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Cases of DPDK's own test suites (dts/tests of its source tree) that no other test has.

Scapy replaces their traffic generator: it sends to port 0 of testpmd and captures what
leaves port 1. Both ports have a TAP interface. A marker distinguishes its frames from
those of the kernel. The README names the test of each other case.
"""

import contextlib
import re

from harness import check, check_equal, main, named
from model import mac
from taps import tapped

MARKER = b"mana tester "
# Counters for frames that came to a port.
ARRIVED = ("packets", "no_wqe", "truncated", "no_steering", "link_down", "errors")


def arrived(report, number):
    return sum(report.port(number)["rx"].get(name, 0) for name in ARRIVED)


class Tester:
    """Sends and captures with scapy."""

    def __init__(self, run, frames):
        self.run = run
        self.pmd = run.pmd
        self.frames = frames

    def packet(self, size=100, number=0, layers=None, destination=mac(0)):
        """A frame of this size without FCS."""
        frames = self.frames
        if layers is None:
            layers = (frames.IP(src=f"192.0.2.{1 + number % 250}", dst="198.51.100.2")
                      / frames.UDP(sport=1024 + number, dport=9))
        packet = frames.Ether(src="02:00:00:00:aa:01", dst=destination) / layers
        fill = size - len(packet) - len(MARKER)
        return packet / frames.Raw(MARKER + b"x" * max(fill, 0))

    def exchange(self, packets, wanted=None):
        """
        Sends the packets. Returns the tester's frames that left; wanted: their number,
        by default all.
        """
        wanted = len(packets) if wanted is None else wanted
        before = arrived(self.run.model.live_report(), 0)

        def all_arrive():
            self.run.wait_for_wire(
                lambda report: arrived(report, 0) >= before + len(packets))
            self.pmd.wait_until(lambda stats: True)
        return self.frames.exchange(packets, wanted, lambda data: MARKER in data,
                                    all_arrive)

    def pass_all(self, number=10):
        """Frames are forwarded intact; the forwarding mode determines the port."""
        packets = [self.packet(number=at) for at in range(number)]
        # only frames of one flow stay in order
        check_equal("payloads", sorted(data[14:] for data in self.exchange(packets)),
                    sorted(bytes(packet)[14:] for packet in packets))


@contextlib.contextmanager
def tester(forward="mac", app=()):
    """Testpmd with two ports, and the tester; not forwarding yet."""
    with tapped(forward=forward, app=app) as (run, frames):
        yield Tester(run, frames)


def finish(made):
    made.pmd.command("stop")
    # the wire also counts frames of the kernel
    made.run.finish(counters=False)


def port_info(pmd, port=0):
    """Output of `show port info` as {title: text}."""
    text = pmd.command(f"show port info {port}")
    return {title.strip(): value.strip()
            for title, value in re.findall(r"^([^:\n]+): ?(.*)$", text, re.MULTILINE)}


# ---- port_restart_config_persistency --------------------------------------------------

def restart_persistence():
    """port_configuration_persistence: a restart does not change the port."""
    settings = ["port config mtu 0 1500", "port config mtu 0 1400", "vlan set strip on 0",
                "set promisc 0 off", "set promisc 0 on", "set allmulti 0 on"]
    with tester() as made:
        pmd = made.pmd
        for setting in settings:
            reply = pmd.command(setting)
            check(not re.search("fail|error|cannot", reply, re.I), f"{setting}: {reply}")
            before = port_info(pmd)
            pmd.command("port stop 0")
            pmd.command("port start 0")
            check_equal(f"after {setting}", port_info(pmd), before)
        check_equal("MTU", port_info(pmd)["MTU"], "1400")
        pmd.command("vlan set strip off 0")
        pmd.command("start")
        made.pass_all()
        finish(made)


# ---- rx_tx_offload --------------------------------------------------------------------------

def offloads(pmd, port=0):
    """Enabled Tx offloads of the port and of each queue."""
    text = pmd.command(f"show port {port} tx_offload configuration")
    return [re.findall(r"\w+", found) for found in
            re.findall(r"^  (?:Port|Queue\[ *\d+\]) :(.*)$", text, re.MULTILINE)]


def fast_free():
    """mbuf_fast_free_configuration_per_port and _per_queue."""
    with tester(app=["--txq=4", "--rxq=4"]) as made:
        pmd = made.pmd
        for state in ("off", "on"):
            pmd.command("port stop 0")
            pmd.command(f"port config 0 tx_offload mbuf_fast_free {state}")
            pmd.command("port start 0")
            shown = offloads(pmd)
            check(shown, "testpmd shows no offloads")
            check_equal(f"of the port, {state}", "MBUF_FAST_FREE" in shown[0],
                        state == "on")
        for state in ("off", "on"):
            pmd.command("port stop 0")
            pmd.command("port config 0 tx_offload mbuf_fast_free off")
            for queue in range(4):
                pmd.command(f"port 0 txq {queue} tx_offload mbuf_fast_free {state}")
            pmd.command("port start 0")
            check_equal(f"of the queues, {state}",
                        ["MBUF_FAST_FREE" in queue for queue in offloads(pmd)[1:5]],
                        [state == "on"] * 4)
        pmd.command("start")
        made.pass_all()
        finish(made)


# ---- unified_packet --------------------------------------------------------------------------

def packet_types():
    """l2_packet_detect, l3_l4_packet_detect, ipv6_l4_packet_detect, as MANA reports them."""
    with tester(forward="rxonly") as made:
        frames, pmd = made.frames, made.pmd
        v4, v6 = {"src": "192.0.2.1", "dst": "192.0.2.2"}, {"src": "2001:db8::1"}
        ports = {"sport": 1024, "dport": 9}
        cases = [
            (frames.ARP(), set()),
            (frames.IP(**v4) / frames.UDP(**ports), {"L3_IPV4", "L4_UDP"}),
            (frames.IP(**v4) / frames.TCP(**ports), {"L3_IPV4", "L4_TCP"}),
            (frames.IP(**v4) / frames.ICMP(), {"L3_IPV4"}),
            (frames.IP(frag=5, **v4) / frames.TCP(**ports), {"L3_IPV4"}),
            (frames.IPv6(**v6) / frames.UDP(**ports), {"L3_IPV6", "L4_UDP"}),
            (frames.IPv6(**v6) / frames.TCP(**ports), {"L3_IPV6", "L4_TCP"}),
        ]
        # testpmd requests no packet types by default
        pmd.command("port stop 0")
        pmd.command("set port 0 ptype_mask 0x0fffffff")
        pmd.command("port start 0")
        pmd.command("set verbose 1")
        pmd.command("start")
        mark = pmd.mark()
        made.exchange([made.packet(layers=layers) for layers, _ in cases], 0)
        # the next prompt shows that forwarding has ended
        pmd.command("stop")
        shown = re.findall(r"src=02:00:00:00:AA:01 .*?(?:hw ptype: ([A-Z0-9_ ]+?)  ?- )?"
                           "sw ptype", pmd.text[mark:])
        check_equal("packets", len(shown), len(cases))
        for (layers, wanted), types in zip(cases, shown):
            got = set(types.split())
            check(wanted <= got, f"{layers.summary()}: {got}, expected {wanted}")
            check(wanted >= {"L4_UDP"} & got and wanted >= {"L4_TCP"} & got,
                  f"{layers.summary()}: {got}")
        made.run.finish(counters=False)


# ---- dynamic_config, promisc_support ------------------------------------------------------------

def promiscuous():
    """MANA has no Rx filter: all delivered packets arrive in both modes."""
    unknown, group, everybody = ("00:00:00:00:00:01", "01:00:5e:00:00:01",
                                 "ff:ff:ff:ff:ff:ff")
    with tester(forward="io") as made:
        pmd = made.pmd
        check_equal("at first", port_info(pmd)["Promiscuous mode"], "enabled")
        pmd.command("start")
        for mode in ("on", "off"):
            pmd.command(f"set promisc all {mode}")
            pmd.command(f"set allmulti all {mode}")
            check_equal("mode", port_info(pmd)["Promiscuous mode"],
                        {"on": "enabled", "off": "disabled"}[mode])
            made.exchange([made.packet(destination=address)
                           for address in (mac(0), unknown, group, everybody)])
        finish(made)


if __name__ == "__main__":
    main(named(restart_persistence, fast_free, packet_types, promiscuous))
