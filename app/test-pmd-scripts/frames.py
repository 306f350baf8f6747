# SPDX-License-Identifier: BSD-3-Clause
"""Frames with correct and wrong checksums, and the expected result of each.

Each frame is identified by its source address.
"""

import logging
import threading
import time

from model import timeout_factor, wait_until

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
# pylint: disable=wrong-import-position
from scapy.config import conf  # noqa: E402
from scapy.layers.inet import ICMP, IP, TCP, UDP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.layers.l2 import ARP, Ether  # noqa: E402
from scapy.packet import Raw  # noqa: E402
from scapy.sendrecv import AsyncSniffer, sendp  # noqa: E402

GOOD, BAD, UNKNOWN = "GOOD", "BAD", "UNKNOWN"
V4 = {"src": "192.0.2.1", "dst": "198.51.100.2"}
V6 = {"src": "2001:db8::1", "dst": "2001:db8:1::2"}


class Case:
    """A frame: its layers, and the expected Rx flags."""

    def __init__(self, name, layers, ip, l4, spoil=(), bare_udp=False):
        self.name = name
        self.layers = layers
        self.ip = ip                # expected IP checksum flag
        self.l4 = l4                # expected L4 checksum flag
        self.spoil = spoil          # layers with a wrong checksum
        self.bare_udp = bare_udp    # UDP checksum 0: not computed by the sender

    def frame(self, number, destination):
        """The bytes of the frame."""
        frame = Ether(dst=destination, src=self.source(number)) / self.layers.copy()
        if self.bare_udp:
            frame[UDP].chksum = 0
        frame = Ether(bytes(frame))     # all fields computed
        for layer in self.spoil:
            frame[layer].chksum ^= 0x5a5a
        return bytes(frame)

    @staticmethod
    def source(number):
        return f"02:00:00:00:aa:{number:02x}"


def payload(nb_bytes):
    return Raw(bytes(at * 7 & 0xff for at in range(nb_bytes)))


TCP_UDP = {"sport": 1024, "dport": 2048}


def cases():
    """All frames. An odd number of bytes is an edge case of every checksum."""
    tcp, udp = TCP(**TCP_UDP), UDP(**TCP_UDP)
    found = [
        Case("arp", ARP(psrc=V4["src"], pdst=V4["dst"]), UNKNOWN, UNKNOWN),
        Case("icmp", IP(**V4) / ICMP() / payload(40), GOOD, UNKNOWN),
        Case("icmp, wrong IP", IP(**V4) / ICMP() / payload(40), BAD, UNKNOWN, (IP,)),
        Case("udp without checksum", IP(**V4) / udp / payload(64), GOOD, UNKNOWN,
             bare_udp=True),
        Case("first fragment", IP(flags="MF", **V4) / tcp / payload(64), GOOD, UNKNOWN),
        Case("later fragment", IP(frag=10, **V4) / payload(64), GOOD, UNKNOWN),
        Case("tcp, IP options", IP(options=b"\x01\x01\x01\x00", **V4) / tcp
             / payload(64), GOOD, GOOD),
    ]
    for name, layer in (("tcp", tcp), ("udp", udp)):
        kind = type(layer)
        for size in (0, 1, 64, 333, 1400):
            found += [
                Case(f"v4 {name} {size}", IP(**V4) / layer / payload(size), GOOD, GOOD),
                Case(f"v6 {name} {size}", IPv6(**V6) / layer / payload(size), GOOD, GOOD),
            ]
        found += [
            Case(f"v4 {name}, wrong IP", IP(**V4) / layer / payload(100),
                 BAD, GOOD, (IP,)),
            Case(f"v4 {name}, wrong L4", IP(**V4) / layer / payload(101),
                 GOOD, BAD, (kind,)),
            Case(f"v4 {name}, both wrong", IP(**V4) / layer / payload(102),
                 BAD, BAD, (IP, kind)),
            Case(f"v6 {name}, wrong L4", IPv6(**V6) / layer / payload(103),
                 GOOD, BAD, (kind,)),
        ]
    return found


def tcp_cases():
    """TCP packets for 1 to 7 segments of 200 bytes."""
    tcp = TCP(flags="PAFC", seq=0xffffff00, options=[("Timestamp", (1, 2))], **TCP_UDP)
    found = []
    for size in (0, 1, 199, 200, 201, 400, 777, 1400):
        found += [
            Case(f"v4 {size}", IP(id=0xfffe, **V4) / tcp / payload(size), GOOD, GOOD),
            Case(f"v6 {size}", IPv6(**V6) / tcp / payload(size), GOOD, GOOD),
            Case(f"v4 {size}, IP options", IP(options=b"\x01\x01\x01\x00", **V4) / tcp
                 / payload(min(size, 1300)), GOOD, GOOD),
        ]
    return found


def segments(data, nb_bytes):
    """The segments of a TCP packet, with nb_bytes of payload in each."""
    load = bytes(Ether(data)[TCP].payload)
    made = []
    for nth, at in enumerate(range(0, max(len(load), 1), nb_bytes)):
        frame = Ether(data)
        tcp = frame[TCP]
        tcp.remove_payload()
        frame /= Raw(load[at:at + nb_bytes])
        tcp = frame[TCP]
        tcp.seq = (tcp.seq + at) % (1 << 32)
        if at + nb_bytes < len(load):
            tcp.flags = int(tcp.flags) & ~0x09      # PSH and FIN: only in the last
        if nth > 0:
            tcp.flags = int(tcp.flags) & ~0x80      # CWR: only in the first
        if IP in frame:
            frame[IP].id = (frame[IP].id + nth) % (1 << 16)
            del frame[IP].len
        else:
            del frame[IPv6].plen
        made.append(recomputed(bytes(frame)))
    return made


def recomputed(data):
    """The same frame with every checksum computed by scapy."""
    frame = Ether(data)
    for layer in (IP, TCP, UDP):
        if layer in frame:
            del frame[layer].chksum
    return bytes(frame)


# Of a sniffer's socket. scapy's 64 KiB are full after 171 frames of one buffer each.
conf.bufsize = 1 << 20


def exchange(sent, nb_wanted, is_ours=lambda data: True, meanwhile=lambda: None):
    """
    Sends frames into port 0's TAP interface. Returns nb_wanted frames from port 1, and
    checks that no more arrive. Calls meanwhile() after sending.
    """
    caught = []
    ready = threading.Event()

    def keep(packet):
        if is_ours(bytes(packet)):
            caught.append(bytes(packet))

    sniffer = AsyncSniffer(iface="mtap1", store=False, prn=keep,
                           started_callback=ready.set)
    sniffer.start()
    assert ready.wait(60 * timeout_factor()), "the sniffer does not start"
    sendp([Ether(frame) if isinstance(frame, bytes) else frame for frame in sent],
          iface="mtap0", verbose=False)
    meanwhile()
    wait_until(lambda: len(caught) >= nb_wanted,
               lambda: f"{len(caught)} frames out, not {nb_wanted}")
    time.sleep(0.2)     # time for unexpected frames
    sniffer.stop()
    assert len(caught) == nb_wanted, f"{len(caught)} frames out, not {nb_wanted}"
    return caught
