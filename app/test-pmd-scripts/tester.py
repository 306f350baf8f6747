# SPDX-License-Identifier: BSD-3-Clause
"""Sends to port 0 of testpmd and captures what leaves port 1.

Both ports have a TAP interface. The tester's frames have a marker that distinguishes
them from frames of the kernel.
"""

import contextlib

import machine
from harness import check_equal, fixture
from model import mac, pci
from test_csum import load_scapy
from test_icmpecho import ip

MARKER = b"mana tester "
ALLOWED = ["-a", f"{pci(0)},mac={mac(0)},mac={mac(1)}"]
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

    def pass_all(self, number=10, size=100):
        """Frames are forwarded intact; the forwarding mode determines the port."""
        packets = [self.packet(size, at) for at in range(number)]
        # only frames of one flow stay in order
        check_equal("payloads", sorted(data[14:] for data in self.exchange(packets)),
                    sorted(bytes(packet)[14:] for packet in packets))

    def pass_none(self, number=10):
        self.exchange([self.packet(100, at) for at in range(number)], 0)


@contextlib.contextmanager
def tester(*options, mtu=1500, forward="mac", app=(), **testpmd):
    """Testpmd with two ports, and the tester; not forwarding yet."""
    machine.in_private_namespaces()
    frames = load_scapy()
    with fixture("--ports", "2", "--wire", "tap", *options) as run:
        run.start(eal=ALLOWED, app=[f"--forward-mode={forward}", *app], **testpmd)
        for tap in ("mtap0", "mtap1"):
            ip("link", "set", tap, "mtu", str(mtu), "up")
        yield Tester(run, frames)
