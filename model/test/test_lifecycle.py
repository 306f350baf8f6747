#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Devices that are removed and return, seen by ordinary programs.

usage: test_lifecycle.py [unittest arguments]      (see model_test.py)
"""

import os
import subprocess
import sys

from model_test import MODEL, PATIENCE_S, Case, main, wait_until

NAME = "life"

# Prints the uevents that it receives, without their numbers, up to the last.
LISTEN = """
import socket, sys
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)
s.bind((0, 1))
print('ready', flush=True)
while True:
    lines = s.recv(8192).decode().split(chr(0))
    print(lines[0], *sorted(l for l in lines[1:]
          if l.split('=')[0] in ('NAME', 'DEVNAME', 'DRIVER', 'IFINDEX')),
          flush=True)
    if lines[0].startswith(sys.argv[1]): break
"""

# Waits for the end of its device, and for the next one.
RECOVER = """
import os, subprocess, sys
seen = subprocess.run(['ibv_devices'], capture_output=True, text=True).stdout
print('ready', flush=True)
for line in sys.stdin:
    out = subprocess.run(['ibv_devices'], capture_output=True, text=True).stdout
    print(' '.join(l.split()[0] for l in out.splitlines()[2:]), flush=True)
"""

PCI = "/devices/pci7870:00/7870:00:00.0"


class Programs(Case):
    process = None

    def start(self, *argv, **more):
        """The machine's program."""
        self.process = super().start(
            MODEL, "--name", NAME, "--ports", "1", "--functions", "2",
            "--report", self.report_path, "--", *argv,
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        return self.process

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def ctl(self, *words):
        return self.run_model("ctl", NAME, *words)

    def command(self, *words):
        ran = self.ctl(*words)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def end(self):
        """The report of a program that ends by itself."""
        self.process.stdin.close()
        self.assertEqual(self.process.wait(timeout=PATIENCE_S), 0)
        return self.report()


class OtherPrograms(Programs):
    def test_ibv_asyncwatch_prints_fatal_event(self):
        self.start("stdbuf", "-oL", "ibv_asyncwatch", "-d", "manae_0")
        self.assertRegex(self.line(), "manae_0")
        self.command("fatal", "fn=0")
        self.assertIn("IBV_EVENT_DEVICE_FATAL (8)", self.line())
        self.process.terminate()
        self.process.wait(timeout=PATIENCE_S)

    def devices(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.line()

    def test_commands_of_other_processes(self):
        self.start(sys.executable, "-c", RECOVER)
        self.assertEqual(self.line(), "ready")
        self.assertEqual(self.devices(), "manae_0 manae_1")
        self.command("remove", "fn=0")
        self.assertEqual(self.devices(), "manae_1")
        self.command("remove", "fn=1")
        self.assertEqual(self.devices(), "")
        self.command("return", "fn=1")
        self.assertEqual(self.devices(), "manae_2")
        self.command("fatal", "fn=1")
        self.assertEqual(self.devices(), "")
        self.command("return", "fn=0")
        self.assertEqual(self.devices(), "manae_3")
        self.command("link", "port=1", "down")
        self.command("link", "port=1", "down")
        functions = self.end()["functions"]
        self.assertEqual(functions[0], {
            "pci": "7870:00:00.0", "present": True, "rdma": 3, "fatal": 1,
            "removed": 1, "reset": 0, "returned": 1, "link_changes": 1})
        self.assertEqual(functions[1], {
            "pci": "7871:00:00.0", "present": True, "rdma": None, "fatal": 2,
            "removed": 1, "reset": 0, "returned": 1, "link_changes": 0})

    def test_refusals_name_the_remedy(self):
        self.start("cat")
        wait_until(lambda: os.path.exists(os.path.join(
            self.machine_folder(NAME), "sys/class/infiniband/manae_1")), "no manae_1")
        for words, reason in (
                (("return", "fn=0"), "is present"),
                (("remove", "fn=2"), "fn=2"),
                (("link", "port=1"), "up or down"),
                (("reset", "fn=0", "outage=3"), "time"),
                (("slow", "calls=alloc_pd"), "for=TIME"),
                (("slow", "calls=nothing", "for=1s"), "calls=nothing")):
            ran = self.ctl(*words)
            self.assertNotEqual(ran.returncode, 0)
            self.assertIn(reason, ran.stderr)
        self.end()

    def test_uevents_come_in_order(self):
        self.start(sys.executable, "-c", LISTEN, "bind@")
        self.assertEqual(self.line(), "ready")
        self.command("remove", "fn=0")
        self.command("return", "fn=0")
        heard = []
        while not heard or not heard[-1].startswith("bind@"):
            heard.append(self.line())
        self.assertEqual(heard, [
            f"remove@{PCI}/infiniband_verbs/uverbs0 DEVNAME=infiniband/uverbs0",
            f"remove@{PCI}/infiniband/manae_0 NAME=manae_0",
            f"remove@{PCI}/net/mana0p0 IFINDEX=10001",
            f"unbind@{PCI}",
            f"remove@{PCI}",
            f"add@{PCI}",
            f"add@{PCI}/net/mana0p0 IFINDEX=10003",
            f"add@{PCI}/infiniband_verbs/uverbs2 DEVNAME=infiniband/uverbs2",
            f"add@{PCI}/infiniband/manae_2 NAME=manae_2",
            f"bind@{PCI} DRIVER=mana",
        ])
        self.end()


if __name__ == "__main__":
    main()
