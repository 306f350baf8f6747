# SPDX-License-Identifier: BSD-3-Clause
"""A tester beside testpmd: sends into port 0, sees what leaves port 1.

Both ports have a TAP behind them. Frames of the tester carry a marker, by which
they are told from what the kernel sends by itself.
"""

import contextlib
import threading
import time

import machine
from console import timeout_factor
from harness import bench, check, check_equal
from model import mac, pci
from test_csum import load_scapy
from test_icmpecho import ip

MARKER = b"mana tester "
ALLOWED = ["-a", f"{pci(0)},mac={mac(0)},mac={mac(1)}"]
# Where a frame that came to a port may have gone.
ARRIVED = ("packets", "no_wqe", "truncated", "no_steering", "link_down", "errors")


def arrived(report, number):
    return sum(report.port(number)["rx"].get(name, 0) for name in ARRIVED)


class Tester:
    """Sends and captures with scapy."""

    def __init__(self, run, frames, sendrecv):
        self.run = run
        self.pmd = run.pmd
        self.frames = frames
        self.sendrecv = sendrecv

    def packet(self, size=100, number=0, layers=None, destination=mac(0)):
        """A frame of that many bytes without check sequence."""
        frames = self.frames
        if layers is None:
            layers = (frames.IP(src=f"192.0.2.{1 + number % 250}", dst="198.51.100.2")
                      / frames.UDP(sport=1024 + number, dport=9))
        packet = frames.Ether(src="02:00:00:00:aa:01", dst=destination) / layers
        fill = size - len(packet) - len(MARKER)
        return packet / frames.Raw(MARKER + b"x" * max(fill, 0))

    def exchange(self, packets, wanted=None):
        """
        Sends the packets and returns the frames of the tester that came out, which
        are wanted as many (all, when not said).
        """
        wanted = len(packets) if wanted is None else wanted
        caught = []
        ready = threading.Event()
        sniffer = self.sendrecv.AsyncSniffer(
            iface="mtap1", store=False, started_callback=ready.set,
            prn=lambda packet: caught.append(bytes(packet)))
        before = arrived(self.run.model.live_report(), 0)
        sniffer.start()
        check(ready.wait(30 * timeout_factor()), "the sniffer does not start")
        self.sendrecv.sendp(packets, iface="mtap0", verbose=False)
        self.run.wait_for_wire(
            lambda report: arrived(report, 0) >= before + len(packets))
        self._wait(lambda: len(ours(caught)) >= wanted)
        # what should not come has had its chance
        self.pmd.wait_until(lambda stats: True)
        time.sleep(0.2)
        sniffer.stop()
        check_equal("frames out", len(ours(caught)), wanted)
        return ours(caught)

    @staticmethod
    def _wait(reached, timeout=20):
        end = time.monotonic() + timeout * timeout_factor()
        while not reached() and time.monotonic() < end:
            time.sleep(0.02)

    def pass_all(self, number=10, size=100):
        """Frames go through, whole; where to is the forwarding mode's affair."""
        packets = [self.packet(size, at) for at in range(number)]
        # those of one flow stay in order, others need not
        check_equal("payloads", sorted(data[14:] for data in self.exchange(packets)),
                    sorted(bytes(packet)[14:] for packet in packets))

    def pass_none(self, number=10):
        self.exchange([self.packet(100, at) for at in range(number)], 0)


def ours(caught):
    return [data for data in caught if MARKER in data]


@contextlib.contextmanager
def tester(*options, mtu=1500, forward="mac", app=(), **testpmd):
    """Testpmd with two ports, and the tester. Not forwarding yet."""
    machine.in_private_namespaces()
    frames, sendrecv = load_scapy()
    with bench("--ports", "2", "--wire", "tap", *options) as run:
        run.start(eal=ALLOWED, app=[f"--forward-mode={forward}", *app], **testpmd)
        for tap in ("mtap0", "mtap1"):
            ip("link", "set", tap, "mtu", str(mtu), "up")
        yield Tester(run, frames, sendrecv)
