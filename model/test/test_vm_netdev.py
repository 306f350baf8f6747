#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause

"""The network interfaces that an unmodified kernel makes of the model's ports: in one
guest, two ports of an adapter in two network namespaces, connected by a wire. The program
streams compares each byte.

usage: test_vm_netdev.py [unittest arguments]      (see model_test.py)
"""

import os
import re
import unittest

from model_test import PATIENCE_S, wait_until
from vm_guest import ADDRESS, MAX_MTU, NB_QUEUES, PEER, PORT, PROGRAMS, Guest, run

SETUP = f"""
ip netns add peer 2>/dev/null || true
ip link set eth1 netns peer
ip addr add {ADDRESS}/24 dev eth0
ip link set eth0 up
ip -n peer addr add {PEER}/24 dev eth1
ip -n peer link set eth1 up
"""


class Netdev:
    """The tests; each restores what it changes."""

    kernel = None
    seed = 0

    @classmethod
    def setUpClass(cls):
        cls.guest = Guest(cls.kernel, SETUP)
        cls.sh = cls.guest.sh

    @classmethod
    def tearDownClass(cls):
        cls.guest.check_end()

    def ping(self, nb_bytes, more=""):
        # ping waits that long only for its first answer.
        self.sh(f"for i in 1 2 3; do ping -q -c 1 -W 20 -s {nb_bytes} {more} {PEER}; "
                "done")

    def streams(self, address=PEER, tcp_bytes=500000, connections=4, max_bytes=1472):
        """TCP and UDP at once; no datagram may be lost."""
        Netdev.seed += 100
        text = self.sh(
            f"/host/streams udp {address} {PORT} {self.seed} 200 {max_bytes} & "
            f"/host/streams tcp {address} {PORT} {self.seed} {tcp_bytes} {connections} ; "
            "wait $!")
        self.assertIn("udp: 200 of 200 datagrams", text)
        self.assertIn(f"tcp: {tcp_bytes} bytes", text)

    def both(self, command):
        """Runs a command for each interface, as $dev."""
        self.sh(f"dev=eth0; {command}; ip netns exec peer sh -ec 'dev=eth1; {command}'")

    def changes(self, run):
        before = self.guest.counters()
        run()
        after = self.guest.counters()
        return {name: after[name] - before.get(name, 0) for name in after}

    # ---- Traffic ----

    def test_sizes(self):
        for mtu in (1500, MAX_MTU):
            self.both(f"ip link set $dev mtu {mtu}")
            for nb_bytes in (0, 1, 17, 18, 19, 63, 64, 1000, mtu - 29, mtu - 28):
                self.ping(nb_bytes, "-M do")
            for nb_bytes in (mtu - 27, 3 * mtu, 65507):
                self.ping(nb_bytes)
            self.streams(max_bytes=mtu - 28)
        refused = self.guest.try_sh(f"ip link set eth0 mtu {MAX_MTU + 1}")
        self.assertIn("mtu greater than device maximum", refused.stderr)
        self.both("ip link set $dev mtu 576")
        self.streams(max_bytes=548)
        self.both("ip link set $dev mtu 1500")

    def test_offloads(self):
        for tx in ("on", "off"):
            for tso in ("on", "off") if tx == "on" else ("off",):
                for rx in ("on", "off"):
                    self.both(f"ethtool -K $dev tx {tx} tso {tso} rx {rx} gro {rx}")
                    change = self.changes(self.streams)
                    self.assertEqual(change["tx_tso_packets"] > 0, tso == "on")
                    self.assertEqual(change["tx_csum_partial"] > 0, tx == "on")
        self.both("ethtool -K $dev tx on tso on rx on gro on")

    def test_vlan(self):
        self.both("ip link add link $dev name v type vlan id 7; "
                  "ip addr add 10.0.7.${dev#eth}/24 dev v; ip link set v up")
        change = self.changes(lambda: self.streams("10.0.7.1"))
        # The long OOB has the tag.
        self.assertGreater(change["tx_long_pkt_fmt"], 0)
        self.assertGreater(change["tx_tso_packets"], 0)
        self.both("ip link del v")

    def test_counters_are_those_of_the_wire(self):
        # 6.12 counts a packet for TSO once.
        self.both("ethtool -K $dev tso off")
        before = self.guest.ports()
        change = self.changes(self.streams)
        after = self.guest.ports()
        self.both("ethtool -K $dev tso on")
        for direction, peer in (("tx", "rx"), ("rx", "tx")):
            packets = after[0][direction]["packets"] - before[0][direction]["packets"]
            self.assertGreater(change[f"{direction}_packets"], 400)
            # Neighbour discovery may send a packet between two readings.
            self.assertAlmostEqual(change[f"{direction}_packets"], packets, delta=8)
            self.assertEqual(after[1][peer]["packets"] - before[1][peer]["packets"],
                             packets)

    # ---- Queues ----

    def test_rss(self):
        self.assertIn(f"with {NB_QUEUES} RX ring(s)", self.sh("ethtool -x eth0"))
        for queue in range(NB_QUEUES):
            weights = " ".join(str(int(i == queue)) for i in range(NB_QUEUES))
            self.sh(f"ethtool -X eth0 weight {weights}")
            table = re.findall(r"(?m)^ +\d+: +([\d ]+)$", self.sh("ethtool -x eth0"))
            self.assertEqual({int(number) for line in table for number in line.split()},
                             {queue})
            change = self.changes(self.streams)
            # Packets without ports go to queue 0 of RSS, which is in the table, too.
            self.assertGreater(change[f"rx_{queue}_packets"], 200)
            self.assertEqual([i for i in range(NB_QUEUES) if i != queue and
                              change[f"rx_{i}_packets"] > 8], [])
        key = ":".join(f"{byte:02x}" for byte in range(1, 41))
        self.sh(f"ethtool -X eth0 equal {NB_QUEUES} hkey {key}")
        self.assertIn(key, self.sh("ethtool -x eth0"))
        change = self.changes(lambda: self.streams(tcp_bytes=100000, connections=32))
        for queue in range(NB_QUEUES):
            self.assertGreater(change[f"rx_{queue}_packets"], 0)

    def test_channels_under_traffic(self):
        for count in (1, 2, 3, NB_QUEUES):
            self.sh(f"/host/streams tcp {PEER} {PORT} {count} 1000000 4 & "
                    f"ethtool -L eth0 combined {count}; wait $!")
            self.assertRegex(self.sh("ethtool -l eth0"),
                             rf"(?s)Current.*Combined:\s+{count}\b")

    # ---- XDP ----

    def test_xdp(self):
        if not os.path.exists(os.path.join(PROGRAMS, "xdp.o")):
            self.skipTest("no clang for the BPF target")
        xdp = "ip link set eth0 xdpdrv obj /host/xdp.o sec"
        self.sh(f"{xdp} pass")
        self.streams()
        self.sh(f"ip link set eth0 xdpdrv off; {xdp} drop")
        change = self.changes(lambda: self.guest.try_sh(f"ping -c 2 -W 1 {PEER}"))
        self.assertGreater(change["rx_xdp_drop"], 0)
        self.sh(f"ip link set eth0 xdpdrv off; {xdp} back")
        change = self.changes(lambda: self.guest.try_sh(f"ping -c 2 -W 1 {PEER}"))
        self.assertGreater(change["rx_xdp_tx"], 0)
        self.sh("ip link set eth0 xdpdrv off; ip neigh flush dev eth0; "
                "ip -n peer neigh flush dev eth1")
        self.streams()

    # ---- Life cycle ----

    def test_down_and_up(self):
        self.sh(f"i=0; while [ $i -lt 50 ]; do ip link set eth0 down; "
                f"ip link set eth0 up; i=$((i + 1)); done; ping -c 1 -W 5 {PEER}")
        self.streams()

    def test_modules_under_traffic(self):
        traffic = self.guest.start_sh(
            f"/host/streams tcp {PEER} {PORT} 1 1000000000 4 2>/dev/null")
        wait_until(lambda: self.guest.ports()[0]["tx"]["packets"] > 0, "traffic")
        self.sh("modprobe -r mana_ib; modprobe -r mana; modprobe mana; modprobe mana_ib")
        traffic.kill()
        traffic.wait()
        traffic.stdout.close()
        self.sh(SETUP)
        self.streams()


class Netdev612(Netdev, unittest.TestCase):
    kernel = "6.12"


class NetdevNewest(Netdev, unittest.TestCase):
    kernel = "newest"

    def test_link(self):
        """The carrier follows the adapter's events, which 6.12 does not know."""
        carrier = "cat /sys/class/net/eth0/carrier"
        for state, value in (("down", "0"), ("up", "1")):
            self.guest.ctl("link", "port=1", state)
            wait_until(lambda: self.sh(carrier).strip() == value, f"carrier {value}")
        self.streams()

    def test_reset(self):
        """The adapter requests a reset: the kernel keeps both interfaces."""
        before = self.guest.log().count("reset cycle completed")
        self.guest.ctl("reset", "fn=0")
        wait_until(lambda: self.guest.log().count("reset cycle completed") > before,
                   "the end of the reset", timeout=3 * PATIENCE_S)
        self.streams()


if __name__ == "__main__":
    run()
