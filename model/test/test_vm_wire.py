#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause

"""The driver and the kernel's driver over one wire, in a guest: the kernel's network
stack, a TAP interface, testpmd, the driver, a port, the wire, the other port, the
kernel's driver, and the stack of another network namespace. The adapter computes
checksums and segments TCP for both drivers. The program streams compares each byte.

A round is some TCP connections, then datagrams. Sizes of writes are random, and the end
of a write is the end of a frame. Rounds end when MANA_WIRE_FRAMES frames have arrived at
the two ports. The kernel's segment size is random after the first round. MANA_WIRE_BYTES
is the number of bytes of each connection and direction.

usage: test_vm_wire.py [unittest arguments]      (see model_test.py)
"""

import collections
import os
import random
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from model_test import PATIENCE_S, mac, wait_until
from vm_guest import ADDRESS, MAX_MTU, PEER, PORT, Guest, run

NB_BYTES = int(os.environ.get("MANA_WIRE_BYTES", "1000000"))
NB_CONNECTIONS = 4
NB_DATAGRAMS = 500
NB_FRAMES = int(os.environ.get("MANA_WIRE_FRAMES", "20000"))
SEGMENT_BYTES = 1400            # from testpmd
FIRST_SEGMENT_BYTES = 1460      # from the kernel
# Less than meson's limit in a full run.
ROUND_S = 1800
SEED = 1
SETUP = f"""
modprobe tun
ip netns add peer
ip link set eth1 netns peer
ip -n peer addr add {PEER}/24 dev eth1
ip -n peer link set eth1 mtu {MAX_MTU} up
"""
TESTPMD = ("dpdk-testpmd --no-huge -m 512 -l 0,1 -a 0000:01:00.0,mac={mac} "
           "--vdev net_tap0,iface=tap0,mac={mac} -- -i --no-mlockall "
           "--mbuf-size=12288 --total-num-mbufs=8192")
COMMANDS = f"""port stop all
csum set ip hw 0
csum set tcp hw 0
csum set udp hw 0
tso set {SEGMENT_BYTES} 0
csum mac-swap off 0
csum mac-swap off 1
port start all
set fwd csum
start
"""
# The stack sends jumbo frames, which testpmd lets the adapter segment, and announces the
# segment size of the kernel. testpmd, whose output is buffered, sets the MTU of the TAP
# when it starts.
TAP = f"""
ip addr replace {ADDRESS}/24 dev tap0
ip link set tap0 mtu {MAX_MTU} up
ip route change 10.0.0.0/24 dev tap0 advmss {{segment_bytes}}
ping -c 1 -W 1 {PEER}
"""


class Wire:
    """The tests, on each kernel."""

    kernel = None

    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="vm-wire-")
        self.addCleanup(shutil.rmtree, self.base)
        self.trace = os.path.join(self.base, "trace")
        self.guest = Guest(self.kernel, SETUP, "--trace", self.trace,
                           "--trace-classes", "wqe")
        self.addCleanup(self.guest.holder.kill)

    def wqes(self, *fields):
        """By port and field, the number of Tx WQEs with a field that is not 0."""
        pattern = re.compile(rf" ({'|'.join(fields)})=[1-9]")
        found = collections.Counter()
        with open(self.trace, encoding="ascii") as file:
            for line in file:
                head = re.search(r"wqe fn=0 port=(\d) queue=sq ", line)
                if head:
                    port = int(head.group(1))
                    found.update((port, name) for name in pattern.findall(line))
        return found

    def frames(self):
        """The numbers of frames that have arrived at the ports."""
        return [port["rx"]["packets"] for port in self.guest.ports()]

    def round(self, segment_bytes):
        """The number of datagrams that were answered."""
        script = TAP.format(segment_bytes=segment_bytes)
        wait_until(lambda: self.guest.try_sh(script).returncode == 0, "an answer",
                   timeout=PATIENCE_S)
        done = self.guest.try_sh(f"/host/streams tcp {PEER} {PORT} 1 {NB_BYTES} "
                                 f"{NB_CONNECTIONS}; /host/streams udp {PEER} {PORT} 2 "
                                 f"{NB_DATAGRAMS}", timeout=ROUND_S)
        self.assertIn(f"tcp: {NB_BYTES} bytes in each direction of {NB_CONNECTIONS} "
                      "connections are right", done.stdout, done.stderr)
        answered = re.search(r"udp: (\d+) of", done.stdout)
        self.assertTrue(answered, done.stderr)
        return int(answered.group(1))

    def test_streams(self):
        testpmd = self.guest.start_sh(TESTPMD.format(mac=mac(0)), stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL)
        self.addCleanup(testpmd.wait)
        self.addCleanup(testpmd.kill)
        begin, choice = time.monotonic(), random.Random(SEED)
        segment_bytes, nb_rounds, answered = FIRST_SEGMENT_BYTES, 0, 0
        frames = []
        testpmd.stdin.write(COMMANDS)
        testpmd.stdin.flush()
        while sum(frames) < NB_FRAMES:
            answered += self.round(segment_bytes)
            nb_rounds += 1
            frames = self.frames()
            print(f"{time.monotonic() - begin:.0f} s: round {nb_rounds}, segments of "
                  f"{SEGMENT_BYTES} and {segment_bytes} bytes: {frames[1]} frames from the driver "
                  f"to the kernel's, {frames[0]} back, data are right", flush=True)
            segment_bytes = choice.randint(256, 1460)
        self.assertGreater(answered, nb_rounds * NB_DATAGRAMS * 9 // 10)
        testpmd.communicate("stop\nquit\n", timeout=PATIENCE_S)
        self.assertEqual(testpmd.returncode, 0)
        self.guest.check_end()
        found = self.wqes("client_data_unit", "comp_tcp_csum", "comp_udp_csum")
        for port in (1, 2):
            # Segments of TCP, and what the adapter computed.
            self.assertGreater(found[port, "client_data_unit"], 100)
            self.assertGreater(found[port, "comp_tcp_csum"], 100)
            self.assertGreaterEqual(found[port, "comp_udp_csum"], answered)


class Wire612(Wire, unittest.TestCase):
    kernel = "6.12"


class WireNewest(Wire, unittest.TestCase):
    kernel = "newest"


if __name__ == "__main__":
    run()
