#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checksums, tags and TCP segments of the modelled card against scapy's.

usage: test_scapy.py PATH-OF-tx_frames
"""

import itertools
import random
import subprocess
import sys
import unittest

try:
    from scapy.layers.inet import IP, TCP, UDP, IPOption_Timestamp
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Dot1Q, Ether
    from scapy.packet import Raw
except ImportError:
    print("python3-scapy is not installed")
    sys.exit(77)  # meson: skipped

IS_V4, IS_V6, IP_CSUM, TCP_CSUM, UDP_CSUM = (1 << n for n in range(2, 7))
TX_OKAY, TX_MTU_DROP, TX_INVALID_OOB, TX_GDMA_ERR = 32, 34, 35, 42
SEED = 20
TOOL = None


class Card:
    def __init__(self):
        self.tool = subprocess.Popen([TOOL], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        self.violations = 0

    def send(self, frame, oob0, trans_off, tci=-1, header=0, mss=0, sizes="0"):
        """The frames that leave the port, and the type of the completion."""
        self.tool.stdin.write(f"{oob0:x} {trans_off} {tci} {header} {mss} "
                              f"{sizes} {frame.hex()}\n")
        self.tool.stdin.flush()
        frames = []
        while True:
            word, value, *more = self.tool.stdout.readline().split()
            if word == "cqe":
                self.violations = int(more[0])
                return frames, int(value)
            frames.append(bytes.fromhex(value))

    def close(self):
        self.tool.stdin.close()
        self.tool.stdout.close()
        return self.tool.wait()


def ones_sum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(int.from_bytes(data[i:i + 2], "big")
                for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


class Shape:
    """Headers of a frame, as scapy layers."""

    def __init__(self, v6, l4, tags=(), ip_options=False):
        self.v6, self.tags = v6, tags
        self.l2 = Ether(dst="00:0d:3a:00:00:02", src="00:0d:3a:00:00:01")
        for tci in tags:
            self.l2 /= Dot1Q(prio=tci >> 13, id=tci >> 12 & 1, vlan=tci & 0xfff)
        if v6:
            self.l3 = IPv6(src="fd00:1::1234", dst="fd00:ffff::8001", tc=3,
                           fl=0x12345, hlim=63)
        else:
            self.l3 = IP(src="10.1.2.3", dst="192.168.255.254", id=0xfffe,
                         flags="DF", ttl=63, tos=4,
                         options=[IPOption_Timestamp()] if ip_options else [])
        self.l4 = l4

    def built(self, payload, l3=None, l4=None):
        """The frame with lengths and checksums computed by scapy."""
        return bytes(self.l2 / (l3 or self.l3) / (l4 or self.l4) / Raw(payload))

    @property
    def trans_off(self):
        return len(bytes(self.l2 / self.l3))

    @property
    def l3_off(self):
        return 14 + 4 * len(self.tags)

    def prepared(self, payload, is_lso):
        """The frame as a driver posts it, with seeds in place of checksums."""
        # scapy has no lengths above 64 KiB: an LSO has length 0.
        frame = bytearray(self.built(b"" if is_lso else payload))
        l4_off, l3_off = self.trans_off, self.l3_off
        is_tcp = isinstance(self.l4, TCP)
        addresses = frame[l3_off + 8:l3_off + 40] if self.v6 else \
            frame[l3_off + 12:l3_off + 20]
        pseudo = bytes(addresses) + bytes([0, 6 if is_tcp else 17])
        if not is_lso:
            pseudo += (len(frame) - l4_off).to_bytes(2, "big")
        field = l4_off + (16 if is_tcp else 6)
        frame[field:field + 2] = ones_sum(pseudo).to_bytes(2, "big")
        if not self.v6:
            frame[l3_off + 10:l3_off + 12] = b"\0\0"
        if is_lso:
            length = l3_off + (4 if self.v6 else 2)
            frame[length:length + 2] = b"\0\0"
        return bytes(frame) + (payload if is_lso else b"")

    @property
    def oob0(self):
        bits = TCP_CSUM if isinstance(self.l4, TCP) else UDP_CSUM
        return bits | (IS_V6 if self.v6 else IS_V4 | IP_CSUM)


def insert_tag(frame, tci):
    if tci < 0:
        return frame
    return frame[:12] + b"\x81\x00" + tci.to_bytes(2, "big") + frame[12:]


def segments(shape, payload, mss, tci):
    """The expected segments of TSO, built with scapy."""
    frames = []
    for nth, at in enumerate(range(0, len(payload), mss)):
        part = payload[at:at + mss]
        l3, l4 = shape.l3.copy(), shape.l4.copy()
        if not shape.v6:
            l3.id = (l3.id + nth) & 0xffff
        l4.seq = (l4.seq + at) & 0xffffffff
        if at + mss < len(payload):
            l4.flags = str(l4.flags).replace("F", "").replace("P", "")
        if at > 0:
            l4.flags = str(l4.flags).replace("C", "")
        frames.append(insert_tag(shape.built(part, l3, l4), tci))
    return frames


IPS = ((False, False), (False, True), (True, False))  # v6, options
TAGS = ((), (0x6064,), (0x0fff, 0xb001))
TCP_OPTIONS = ([], [("NOP", None), ("NOP", None), ("Timestamp", (1, 2))],
               [("SAck", tuple(range(8)))] + [("NOP", None)] * 2)


class Case(unittest.TestCase):
    def setUp(self):
        self.card = Card()
        self.random = random.Random(SEED)

    def tearDown(self):
        self.assertEqual(self.card.close(), 0)

    def payload(self, n):
        return self.random.randbytes(n)


class Checksums(Case):
    def test_every_shape(self):
        for (v6, options), tcp, tags, tci in itertools.product(
                IPS, (False, True), TAGS, (-1, 0xf123)):
            l4 = TCP(sport=1, dport=65535, seq=7, flags="PA") if tcp else \
                UDP(sport=4789, dport=53)
            shape = Shape(v6, l4, tags, options)
            for n in (0, 1, 2, 3, 17, 1400, 8001):
                with self.subTest(v6=v6, tcp=tcp, tags=tags, tci=tci,
                                  options=options, n=n):
                    payload = self.payload(n)
                    sent, cqe = self.card.send(
                        shape.prepared(payload, False), shape.oob0,
                        shape.trans_off, tci,
                        sizes=self.random.choice(("0", "1,1", "13,1,5", "60")))
                    self.assertEqual(cqe, TX_OKAY)
                    self.assertEqual(sent,
                                     [insert_tag(shape.built(payload), tci)])
        self.assertEqual(self.card.violations, 0)

    def test_single_checksums(self):
        """Each checksum alone; the others do not change."""
        shape = Shape(False, TCP(flags="A"))
        payload = self.payload(100)
        whole = shape.built(payload)
        bare = bytearray(whole)
        bare[24:26] = b"\0\0"
        sent, cqe = self.card.send(bytes(bare), IS_V4 | IP_CSUM, 0)
        self.assertEqual((sent, cqe), ([whole], TX_OKAY))
        half = bytearray(shape.prepared(payload, False))
        half[24:26] = whole[24:26]
        sent, cqe = self.card.send(bytes(half), IS_V4 | TCP_CSUM, 34)
        self.assertEqual((sent, cqe), ([whole], TX_OKAY))
        sent, cqe = self.card.send(whole, 0, 0)
        self.assertEqual((sent, cqe), ([whole], TX_OKAY))
        self.assertEqual(self.card.violations, 0)


class Segmentation(Case):
    def check(self, shape, payload, mss, tci=-1, sizes="0"):
        header = len(shape.built(b""))
        sent, cqe = self.card.send(
            shape.prepared(payload, True), shape.oob0, shape.trans_off, tci,
            header, mss, f"{header},{sizes}")
        want = segments(shape, payload, mss, tci)
        self.assertEqual(cqe, TX_OKAY)
        self.assertEqual(len(sent), len(want))
        for nth, (s, w) in enumerate(zip(sent, want)):
            self.assertEqual(s.hex(), w.hex(), f"segment {nth}")

    def test_every_shape(self):
        for (v6, ip_options), tags, tci, options in itertools.product(
                IPS, TAGS, (-1, 0x2005), TCP_OPTIONS):
            l4 = TCP(sport=80, dport=1024, seq=0xfffff000, ack=9, window=77,
                     flags="FPACE", urgptr=0, options=options)
            shape = Shape(v6, l4, tags, ip_options)
            for mss, n in ((1000, 1001), (536, 536 * 4), (1448, 10007),
                           (8900, 20000), (1, 3)):
                with self.subTest(v6=v6, tags=tags, tci=tci, mss=mss, n=n):
                    self.check(shape, self.payload(n), mss, tci,
                               self.random.choice(("0", "1,3,500", "999")))
        self.assertEqual(self.card.violations, 0)

    def test_largest(self):
        """512 KiB with the headers, and 29 pieces of payload."""
        shape = Shape(False, TCP(flags="PA"))
        payload = self.payload((512 << 10) - 54)
        self.check(shape, payload, 8946, sizes=",".join(["17000"] * 28))
        self.assertEqual(self.card.violations, 0)
        sent, cqe = self.card.send(shape.prepared(payload + b"x", True),
                                   shape.oob0, 34, -1, 54, 8946, "54,0")
        self.assertEqual((sent, cqe), ([], TX_GDMA_ERR))
        self.assertEqual(self.card.violations, 1)
        # The queue is disabled.
        sent, cqe = self.card.send(shape.built(b""), 0, 0)
        self.assertEqual((sent, cqe), ([], -1))

    def test_wrong_headers(self):
        """Wrong requests: SGE 0 off by 1 byte, trans_off by 2, wrong IP version, no TCP."""
        shape = Shape(True, TCP(flags="A", options=TCP_OPTIONS[1]), TAGS[1])
        frame = shape.prepared(self.payload(5000), True)
        header, off = len(shape.built(b"")), shape.trans_off
        self.assertEqual((header, off), (14 + 4 + 40 + 32, 14 + 4 + 40))
        for oob0, trans_off, size in (
                (shape.oob0, off, header - 1), (shape.oob0, off, header + 1),
                (shape.oob0, off - 2, header), (shape.oob0, 0, header),
                (shape.oob0 ^ IS_V6 ^ IS_V4 | IP_CSUM, off, header),
                (shape.oob0 ^ TCP_CSUM, off, header),
                (shape.oob0 ^ TCP_CSUM ^ UDP_CSUM, off, header)):
            before = self.card.violations
            sent, cqe = self.card.send(frame, oob0, trans_off, -1, size, 1000,
                                       f"{size},0")
            self.assertEqual((sent, cqe), ([], TX_INVALID_OOB))
            self.assertEqual(self.card.violations, before + 1)
        # None of that disables the queue.
        self.check(shape, self.payload(5000), 1000)

    def test_every_flag(self):
        for flags in itertools.product(("", "F"), ("", "P"), ("", "U"),
                                       ("", "E"), ("", "C")):
            shape = Shape(False, TCP(flags="A" + "".join(flags), seq=5))
            self.check(shape, self.payload(2500), 1000)
        self.assertEqual(self.card.violations, 0)

    def test_payload_that_fits(self):
        """A single segment, which a driver should send as a packet."""
        shape = Shape(True, TCP(flags="FPA"))
        for n in (1, 1000):
            self.check(shape, self.payload(n), 1000)
        self.assertEqual(self.card.violations, 2)

    def test_mtu(self):
        shape = Shape(False, TCP(flags="A"))
        self.check(shape, self.payload(20000), 9000 - 40)
        sent, cqe = self.card.send(shape.prepared(self.payload(20000), True),
                                   shape.oob0, shape.trans_off, -1, 54,
                                   9000 - 39, "54,0")
        self.assertEqual((sent, cqe), ([], TX_MTU_DROP))
        # A tag of either kind does not count.
        self.check(Shape(False, TCP(flags="A"), (5,)), self.payload(20000),
                   9000 - 40)
        self.check(shape, self.payload(20000), 9000 - 40, 5)
        self.assertEqual(self.card.violations, 0)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    print(f"seed {SEED}")
    unittest.main()
