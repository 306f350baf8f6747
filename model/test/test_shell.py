#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A shell on the modelled machine: the output of an administrator's tools.

usage: test_shell.py [unittest arguments]      (see model_test.py)
"""

import json
import os
import shutil
import subprocess
import sys
import unittest

from model_test import MODEL, Case as ModelCase, main

DONE = "--done--"


class Shell:
    """An interactive session: one shell, a command at a time."""

    def __init__(self, env, options=()):
        self.process = subprocess.Popen(
            [MODEL, "--quiet", "--functions=2", "--max-mtu=9000", *options,
             "--", "sh"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=env, text=True, bufsize=1)

    def run(self, command):
        """The exit status and both output streams."""
        self.process.stdin.write(f"{command}\necho {DONE} $?\n")
        lines = []
        for line in self.process.stdout:
            if DONE in line:
                # Earlier output may lack a line feed.
                text, _, status = line.partition(DONE)
                return int(status), "".join(lines) + text
            lines.append(line)
        raise AssertionError("the shell has ended: " + "".join(lines))

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait()


class Case(ModelCase):
    options = ()

    def setUp(self):
        super().setUp()
        self.shell = Shell(dict(self.env, LC_ALL="C"), self.options)

    def tearDown(self):
        self.assertEqual(self.shell.close(), 0)
        super().tearDown()

    def good(self, command):
        status, text = self.shell.run(command)
        self.assertEqual(status, 0, text)
        return text

    def bad(self, command):
        status, text = self.shell.run(command)
        self.assertNotEqual(status, 0, text)
        return text

    def link(self, name):
        return json.loads(self.good(f"ip -j -d link show dev {name}"))[0]


class Ip(Case):
    def test_up_down_and_mtu_change_the_netdev(self):
        link = self.link("mana0p0")
        self.assertEqual(link["ifindex"], 10001)
        self.assertEqual(link["operstate"], "DOWN")
        self.assertEqual(link["address"], "00:0d:3a:00:00:01")
        self.assertEqual(link["min_mtu"], 68)
        self.assertEqual(link["max_mtu"], 9000)
        self.assertEqual(link["num_tx_queues"], 64)
        self.assertEqual(link["parentbus"], "pci")
        self.assertEqual(link["parentdev"], "7870:00:00.0")
        self.good("ip link set mana0p0 up mtu 4000 txqueuelen 7 promisc on")
        link = self.link("mana0p0")
        self.assertEqual((link["operstate"], link["mtu"], link["txqlen"],
                          link["promiscuity"]), ("UP", 4000, 7, 1))
        self.assertLessEqual({"UP", "LOWER_UP", "PROMISC"},
                             set(link["flags"]))
        self.good("ip link set mana0p0 down")
        self.assertNotIn("UP", self.link("mana0p0")["flags"])
        self.assertEqual(self.link("mana0p1")["mtu"], 1500)

    def test_links_are_listed_after_the_real_ones(self):
        names = [link["ifname"]
                 for link in json.loads(self.good("ip -j link show"))]
        self.assertEqual(names[-4:],
                         ["mana0p0", "mana0p1", "mana1p0", "mana1p1"])
        self.assertEqual(names[0], "lo")
        self.good("ip link set mana1p0 up")
        names = [link["ifname"]
                 for link in json.loads(self.good("ip -j link show up"))
                 if link]
        self.assertIn("mana1p0", names)
        self.assertNotIn("mana1p1", names)
        self.assertNotIn("mana", self.good("ip link show type bond"))

    def test_no_addresses_and_routes(self):
        addresses = json.loads(self.good("ip -j addr show dev mana0p0"))
        self.assertEqual(addresses[0]["addr_info"], [])
        self.assertEqual(self.good("ip route show dev mana0p0"), "")
        self.assertEqual(self.good("ip neigh show dev mana0p0"), "")
        self.assertIn("no network stack",
                      self.bad("ip addr add 192.0.2.1/24 dev mana0p0"))
        stats = json.loads(self.good("ip -j -s link show mana0p0"))
        self.assertEqual(stats[0]["stats64"]["rx"]["packets"], 0)

    def test_refusals_equal_those_of_linux(self):
        self.assertIn("mtu greater than device maximum",
                      self.bad("ip link set mana0p0 mtu 9001"))
        self.assertIn("mtu less than device minimum",
                      self.bad("ip link set mana0p0 mtu 67"))
        self.assertIn("not supported",
                      self.bad("ip link set mana0p0 address 2:0:0:0:0:1"))
        self.assertIn("not supported", self.bad("ip link del mana0p0"))
        self.assertIn("keeps its name",
                      self.bad("ip link set mana0p0 name eth9"))
        self.assertIn("does not exist", self.bad("ip link show mana0p2"))

    def test_batch(self):
        self.good("printf 'link set mana0p0 mtu 1000\\n"
                  "link set mana0p1 mtu 1001\\nlink show mana0p1\\n' | "
                  "ip -batch -")
        self.assertEqual(self.link("mana0p0")["mtu"], 1000)
        self.assertEqual(self.link("mana0p1")["mtu"], 1001)

    def test_monitor_reports_changes_of_other_processes(self):
        # The monitor is ready once it reports a change.
        self.good("mkfifo $MANA_MODEL_DIR/events; "
                  "ip -o monitor link >$MANA_MODEL_DIR/events & "
                  "exec 7<$MANA_MODEL_DIR/events; monitor=$!; "
                  "sh -c 'while :; do ip link set mana0p0 mtu 1000; "
                  "ip link set mana0p0 mtu 1001; done' & setter=$!; "
                  "read first <&7; kill $setter; wait $setter; "
                  "ip link set mana1p1 up; "
                  "while read line <&7; do "
                  "case $line in *mana1p1*) break;; esac; done")
        line = self.good("echo $line")
        self.assertIn("10004: mana1p1: <BROADCAST,MULTICAST,UP,LOWER_UP>",
                      line)
        self.assertIn("state UP", line)
        self.assertIn("mana0p0", self.good("echo $first"))
        self.good("kill $monitor; wait $monitor; exec 7<&-; "
                  "rm $MANA_MODEL_DIR/events")


class Many(Case):
    options = ("--functions=16", "--ports=64")

    def test_a_dump_has_many_parts(self):
        names = [link["ifname"]
                 for link in json.loads(self.good("ip -j link show"))
                 if link["ifname"].startswith("mana")]
        self.assertEqual(names, [f"mana{fn}p{port}" for fn in range(16)
                                 for port in range(64)])


class Ethtool(Case):
    def test_link_and_driver(self):
        text = self.good("ethtool mana0p0")
        for line in ("Speed: 200000Mb/s", "Duplex: Full", "Port: Other",
                     "Link detected: no"):
            self.assertIn(line, text)
        self.good("ip link set mana0p0 up")
        self.assertIn("Link detected: yes", self.good("ethtool mana0p0"))
        text = self.good("ethtool -i mana0p0")
        self.assertIn("driver: mana\n", text)
        self.assertIn("bus-info: 7870:00:00.0\n", text)
        self.assertIn("00:0d:3a:00:00:01", self.good("ethtool -P mana0p0"))

    def test_channels(self):
        self.assertRegex(self.good("ethtool -l mana0p0"),
                         r"(?s)maximums.*Combined:\t+64.*Combined:\t+16")

    def test_other_requests_are_not_answered(self):
        self.assertIn("not supported", self.bad("ethtool -L mana0p0 combined 3"))
        self.assertIn("not supported", self.bad("ethtool -g mana0p0"))

    def test_real_netdevs_are_queried(self):
        self.assertIn("Link detected: yes", self.good("ethtool lo"))


class Netvsc(Case):
    options = ("--netvsc",)

    def test_netdevs_are_slaves(self):
        link = json.loads(self.good("ip -j link show dev mana0p1"))[0]
        self.assertIn("SLAVE", link["flags"])
        self.assertEqual(self.good("cat /sys/class/net/mana0p1/flags"), "0x1802\n")
        self.assertIn("driver: hv_netvsc\n", self.good("ethtool -i hv0p1"))
        self.assertEqual(link["master"], "hv0p1")
        slaves = json.loads(self.good("ip -j link show master hv0p1"))
        self.assertEqual([one["ifname"] for one in slaves], ["mana0p1"])
        master = json.loads(self.good("ip -j link show dev hv0p1"))[0]
        self.assertEqual(master["address"], link["address"])
        self.assertNotIn("master", master)
        self.bad("ip link set hv0p1 up")
        self.good("ip link set hv0p1 down")
        self.bad("ethtool hv0p9")


class Vmbus(Case):
    options = ("--netvsc",)
    uuid = "000d3a00-0001-000d-3a00-0001000d3a00"
    drivers = "/sys/bus/vmbus/drivers"

    def write(self, what, shell="sh"):
        return f"{shell} -c 'echo {self.uuid} >{self.drivers}/{what}'"

    def test_drivers_change(self):
        device = f"/sys/bus/vmbus/devices/{self.uuid}"
        self.assertEqual(self.good("readlink -f /sys/class/net/hv0p0/device"),
                         f"/sys/devices/vmbus/{self.uuid}\n")
        self.assertEqual(self.good(f"cat {device}/class_id"),
                         "{f8615163-df3e-46c5-913f-f2d2f965ed0e}\n")
        self.assertIn("No such device", self.bad(
            f"echo {self.uuid} | tee {self.drivers}/uio_hv_generic/bind"))
        # tee writes by a stream of the C library
        self.good("echo f8615163-df3e-46c5-913f-f2d2f965ed0e"
                  f" | tee {self.drivers}/uio_hv_generic/new_id")
        # it has a driver
        self.assertIn("busy", self.bad(
            f"echo {self.uuid} | tee {self.drivers}/uio_hv_generic/bind"))
        self.good(self.write("hv_netvsc/unbind"))
        self.bad("test -e /sys/class/net/hv0p0")
        link = json.loads(self.good("ip -j link show dev mana0p0"))[0]
        self.assertNotIn("master", link)
        self.assertNotIn("SLAVE", link["flags"])
        # bash writes by its own stream
        self.good(self.write("uio_hv_generic/bind", "bash"))
        self.assertEqual(self.good(f"ls {device}/uio"), "uio0\n")
        self.assertEqual(self.good(f"cat {device}/uio/uio0/maps/map2/name"),
                         "monitor_page\n")
        self.assertEqual(self.good(f"cat {device}/uio/uio0/maps/map3/size"),
                         "0x0000000001f00000\n")
        self.good(self.write("uio_hv_generic/unbind"))
        self.bad(f"test -e {device}/uio")
        self.good(self.write("hv_netvsc/bind"))
        self.good("test -e /sys/class/net/hv0p0")
        link = json.loads(self.good("ip -j link show dev mana0p0"))[0]
        self.assertIn("SLAVE", link["flags"])

    def test_programs_find_the_netdev(self):
        """By the C library's list and an ioctl, as DPDK's net_vdev_netvsc."""
        script = ("import fcntl, socket, struct; "
                  "index = {name: nr for nr, name in socket.if_nameindex()}['hv0p0']; "
                  "ask = struct.pack('16s24x', b'hv0p0'); "
                  "got = fcntl.ioctl(socket.socket(), 0x8927, ask); "
                  "print(index == socket.if_nametoindex('hv0p0'), "
                  "socket.if_indextoname(index), "
                  "struct.unpack('16xH6s16x', got)[1].hex())")
        self.assertEqual(self.good(f'{sys.executable} -c "{script}"').split(),
                         ["True", "hv0p0", "000d3a000001"])

    def test_physical_addresses_are_virtual_ones(self):
        self.assertEqual(self.good("""python3 -c '
import ctypes, os, struct
page = ctypes.create_string_buffer(b"used", 8192)
at = ctypes.addressof(page) // 4096
fd = os.open("/proc/self/pagemap", os.O_RDONLY)
os.lseek(fd, at * 8, os.SEEK_SET)
entry, = struct.unpack("Q", os.read(fd, 8))
print(entry >> 63, (entry & ((1 << 55) - 1)) == at)'"""), "1 True\n")

    def test_other_attributes_are_read_only(self):
        device = f"/sys/bus/vmbus/devices/{self.uuid}"
        self.assertIn("Permission denied", self.bad(f"echo 1 >{device}/id"))
        self.assertIn(f"{self.uuid}\n000d3a00-0002-000d-3a00-0002000d3a00\n",
                      self.good("ls /sys/bus/vmbus/devices"))


class OldKernel(Case):
    options = ("--kernel=6.12", "--rnic")

    def test_no_link_settings(self):
        text = self.shell.run("ethtool mana0p0")[1]
        self.assertNotIn("Speed:", text)
        self.assertNotIn("Link detected:", text)


class Sysfs(Case):
    def test_attributes_follow_the_netdev(self):
        def read(name):
            return self.good(f"cat /sys/class/net/mana0p0/{name}")
        self.assertEqual(read("mtu"), "1500\n")
        self.assertEqual(read("dev_port"), "0\n")
        self.assertIn("Invalid argument",
                      self.bad("cat /sys/class/net/mana0p0/carrier"))
        self.assertIn("Invalid argument",
                      self.bad("cat /sys/class/net/mana0p0/speed"))
        self.good("ip link set mana0p0 up mtu 1400")
        self.assertEqual([read(name) for name in
                          ("mtu", "carrier", "speed", "duplex", "operstate",
                           "flags")],
                         ["1400\n", "1\n", "200000\n", "full\n", "up\n",
                          "0x1003\n"])
        # The shell's own read and test work, too.
        self.assertEqual(self.good("read mtu </sys/class/net/mana0p0/mtu; "
                                   "echo $mtu"), "1400\n")
        self.good("[ -d /sys/class/net/mana0p0/ ]")
        self.bad("[ -e /sys/class/net/mana0p2 ]")
        self.assertIn("Permission denied",
                      self.bad("echo 9 >/sys/class/net/mana0p0/mtu"))

    def test_folders_have_devices_of_both_machines(self):
        names = self.good("ls /sys/class/net").split()
        self.assertLessEqual({"lo", "mana0p0", "mana1p1"}, set(names))
        self.assertEqual(len(names), len(set(names)))
        real = [name for name in names if not name.startswith("mana")]
        self.assertLessEqual(set(real), set(os.listdir("/sys/class/net")))
        self.assertLessEqual({"7870:00:00.0", "7871:00:00.0"}, set(
            self.good("ls /sys/bus/pci/devices").split()))
        self.assertLessEqual({"uverbs0", "uverbs1"}, set(
            self.good("ls /sys/class/infiniband_verbs").split()))
        self.assertNotIn("such file", self.good("ls -l /sys/class/net"))
        self.assertEqual(
            self.good("cd /sys/class/net && cat mana1p0/dev_port && cd /"),
            "0\n")

    def test_links_lead_to_the_device(self):
        self.assertEqual(
            self.good("readlink /sys/class/net/mana1p1"),
            "../../devices/pci7871:00/7871:00:00.0/net/mana1p1\n")
        self.assertEqual(
            self.good("readlink -f /sys/class/net/mana1p1/device"),
            "/sys/devices/pci7871:00/7871:00:00.0\n")
        self.assertIn("PCI_SLOT_NAME=7870:00:00.0\n", self.good(
            "cat /sys/bus/pci/devices/7870:00:00.0/uevent"))

    def test_python_reads_sysfs(self):
        script = ("import os, socket; "
                  "n='/sys/class/net/mana0p1/'; "
                  "print(open(n + 'ifindex').read().strip(), "
                  "'mana0p1' in os.listdir('/sys/class/net'), "
                  "os.path.realpath(n), os.stat(n + 'mtu').st_size, "
                  "socket.if_nametoindex('mana0p1'), "
                  "socket.if_nameindex()[-1][1])")
        self.assertEqual(
            self.good(f'{sys.executable} -c "{script}"').split(),
            ["10002", "True",
             "/sys/devices/pci7870:00/7870:00:00.0/net/mana0p1", "5",
             "10002", "mana1p1"])

    def test_many_short_programs(self):
        # More than the machine has room for at a time.
        self.good("i=0; while [ $i -lt 70 ]; do "
                  "ip link set mana0p0 mtu $((1000 + i)) || exit 1; "
                  "i=$((i + 1)); done")
        self.assertEqual(self.good("cat /sys/class/net/mana0p0/mtu"),
                         "1069\n")


class Verbs(Case):
    def test_devinfo_follows_ip_link(self):
        self.assertIn("PORT_DOWN", self.good("ibv_devinfo -d manae_0"))
        self.good("ip link set mana0p0 up")
        text = self.good("ibv_devinfo -d manae_0 -i 1")
        self.assertIn("PORT_ACTIVE", text)
        self.assertIn("PORT_DOWN", self.good("ibv_devinfo -d manae_0 -i 2"))


@unittest.skipUnless(shutil.which("udevadm"), "no udevadm")
class Udev(Case):
    def test_udevadm_reports_devices(self):
        self.good("mkfifo $MANA_MODEL_DIR/events; "
                  "udevadm monitor --kernel >$MANA_MODEL_DIR/events & "
                  "exec 7<$MANA_MODEL_DIR/events; monitor=$!; "
                  "name=${MANA_MODEL_DIR##*-}; "
                  f"(while :; do {MODEL} ctl $name uevent fn=1 change; "
                  "done) & setter=$!; "
                  "while read line <&7; do "
                  "case $line in KERNEL*change*) break;; esac; done; "
                  "kill $setter $monitor; wait $setter $monitor; "
                  "exec 7<&-; rm $MANA_MODEL_DIR/events")
        self.assertIn("/devices/pci7871:00/7871:00:00.0 (pci)",
                      self.good("echo $line"))


if __name__ == "__main__":
    main()
