#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause

"""What an unmodified kernel makes of wrong answers on its hardware channel, and of wrong
events: "What Linux makes of wrong answers" in model-pci.rst is this table. In one guest,
mana is loaded anew for each.

usage: test_vm_answers.py [unittest arguments]      (see model_test.py)
"""

import os
import re
import unittest

from model_test import Guest
from vm_guest import run

NO_PORTS, NOT_UP, WORKS = "no ports", "port does not start", "works"
# Requests are given up after 8 s, not 30.
SOON = "bogus answer request=query_hwc_timeout what=field at=32 value=8000"
EVERY = "every=1"
# Init events of the channel: 129, then 130 for each value, 131; a test event follows.
INIT_DEPTH, INIT_MAX_REQUEST, INIT_MAX_RESPONSE, INIT_MAX_CQS, INIT_KEY, INIT_DONE = (
    5, 6, 7, 8, 10, 13)
LATER = 16


def field(request, at, value, *more):
    return " ".join([f"bogus answer request={request} what=field at={at} value={value}",
                     *more])


def config(what):
    return f"bogus answer request=query_dev_config what={what}"


def last(what):
    """A further answer, when the last request of the start has its own and none waits."""
    return f"bogus answer request=config_vport_rx what={what} for=50ms"


def event(what, nth):
    return f"bogus event queue=0 what={what} nth={nth}"


# Name, command, outcomes with 6.12 and with the newest kernel, a message of both.
CASES = [
    ("max_sq 0", field("query_max_resources", 36, 0), NO_PORTS, NO_PORTS, None),
    ("max_rq 0", field("query_max_resources", 40, 0), NO_PORTS, NO_PORTS, None),
    ("max_cq 0", field("query_max_resources", 44, 0), NO_PORTS, NO_PORTS, None),
    ("max_eq 0", field("query_max_resources", 48, 0), NO_PORTS, NO_PORTS, None),
    ("max_msix 0", field("query_max_resources", 68, 0), NO_PORTS + " WARNING",
     NO_PORTS + " WARNING", "mana_gd_destroy_eq"),
    ("max_msix 2^32-1", field("query_max_resources", 68, 0xffffffff), WORKS, WORKS, None),
    ("no device", field("list_devices", 32, 0), NO_PORTS, NO_PORTS, None),
    ("2^32-1 devices", field("list_devices", 32, 0xffffffff), WORKS, WORKS, None),
    ("0 vPorts", field("query_dev_config", 64, 0, "bytes=2", EVERY), NO_PORTS, NO_PORTS,
     "Failed to detect any vPort"),
    ("300 vPorts", field("query_dev_config", 64, 300, "bytes=2", EVERY), WORKS, NO_PORTS,
     "Failed to probe vPort 2: -71"),
    ("MTU 0", field("query_dev_config", 72, 0, "bytes=2", EVERY), WORKS, WORKS, None),
    ("no queue of a vPort", field("query_vport_config", 32, 0), NO_PORTS, NO_PORTS,
     "Invalid max queues from vPort config"),
    ("table of 0 entries", field("query_vport_config", 40, 0), WORKS, WORKS,
     "indirection table size to default 64"),
    ("table of 10^6 entries", field("query_vport_config", 40, 1000000), WORKS, WORKS,
     "indirection table size to default 64"),
    ("key 0 of a device", field("register_device", 36, 0, EVERY), WORKS, WORKS, None),
    ("doorbell page 2^24", field("register_device", 40, 1 << 24), NO_PORTS, NO_PORTS, None),
    ("EQ 0xffffff", field("create_queue", 32, 0xffffff, EVERY), NO_PORTS, NOT_UP, None),
    ("DMA region 0", field("create_dma_region", 32, 0, EVERY), NO_PORTS, NOT_UP,
     "Failed to create DMA region: 0x0"),
    ("CQ 0", field("create_wq_obj", 36, 0), WORKS, WORKS, None),
    ("CQ 0xffffff", field("create_wq_obj", 36, 0xffffff), NOT_UP + " WARNING",
     NOT_UP + " WARNING", "mana_create_txq"),
    ("short", config("short"), NO_PORTS, NO_PORTS, "Failed to query config: -71"),
    ("long", config("long"), NO_PORTS, NO_PORTS, "Failed to query config: -71"),
    ("type", config("type type=0x77"), NO_PORTS, NO_PORTS, "Invalid query result: -71"),
    ("duplicate when idle", last("duplicate"), WORKS, WORKS, "hwc_rx: invalid msg_id = 0"),
    ("spurious when idle", last("spurious"), WORKS, WORKS, "hwc_rx: invalid msg_id = 0"),
    ("random", config("random instead"), NO_PORTS, NO_PORTS, "Failed to query config: -110"),
    ("wrong-id", config("wrong-id"), NO_PORTS, NO_PORTS, "wrong msg_id=1"),
    ("lost", "lose answer request=query_dev_config", NO_PORTS, NO_PORTS,
     "Failed to query config: -110"),
    ("late", "delay answer request=query_dev_config for=10s", NO_PORTS, NO_PORTS,
     "Failed to query config: -110"),
    ("depth 0", event("field at=0 value=0x04000000", INIT_DEPTH), WORKS, WORKS, None),
    ("requests of 0 bytes", event("field at=0 value=0x05000000", INIT_MAX_REQUEST), WORKS,
     WORKS, None),
    ("answers of 0 bytes", event("field at=0 value=0x06000000", INIT_MAX_RESPONSE), WORKS,
     WORKS, None),
    ("no CQs", event("field at=0 value=0x07000000", INIT_MAX_CQS), NO_PORTS + " WARNING",
     NO_PORTS + " WARNING", "Failed to establish HWC: -71"),
    ("key 0 of the channel", event("field at=0 value=0x09000000", INIT_KEY), NO_PORTS,
     NO_PORTS, "Failed to test HWC: -110"),
    ("no end of the start", f"lose event queue=0 nth={INIT_DONE}", NO_PORTS, NO_PORTS,
     "Failed to establish HWC"),
    ("event type", event("type type=77 extra", LATER), WORKS, WORKS, None),
    ("event wrong-queue", event("wrong-queue", LATER), WORKS + " WARNING",
     WORKS + " WARNING", "mana_gd_process_eq"),
    ("event CQ 0xffffff", event("field at=0 value=0xffffff", LATER), NO_PORTS + " WARNING",
     NO_PORTS + " WARNING", "mana_gd_process_eq"),
    ("event wrong-owner", event("wrong-owner", LATER), WORKS, WORKS, "overflow detected"),
    ("event wrong-owner instead", event("wrong-owner instead", LATER), NO_PORTS, NO_PORTS,
     "overflow detected"),
    ("event duplicate", event("duplicate", LATER), WORKS + " WARNING", WORKS + " WARNING",
     "mana_hwc_comp_event"),
    ("event lost", f"lose event queue=0 nth={LATER}", NO_PORTS, NO_PORTS, None),
]
LOAD = """
modprobe mana
ports=$(ls -d /sys/class/net/eth* 2>/dev/null | wc -l)
echo $ports
if [ $ports != 0 ]; then ip link set eth0 up 2>&1; cat /sys/class/net/eth0/flags; fi
sleep 0.2   # for answers that come later
# 10 s after a failed start, Linux 7.3 removes the function and finds it again.
rmmod mana_ib 2>/dev/null
rmmod mana
"""


class Answers:
    kernel = None
    column = None

    @classmethod
    def setUpClass(cls):
        cls.guest = Guest("--ports", "2", "--quiet", strict=False,
                          vm=["--kernel", cls.kernel, "--cpus", "2", "--share", "none"])
        cls.holder = cls.guest.hold()
        # No packets: Linux would wait two minutes for each lost completion.
        cls.sh("sysctl -q -w net.ipv6.conf.default.disable_ipv6=1 "
               "net.ipv6.conf.all.disable_ipv6=1")

    @classmethod
    def tearDownClass(cls):
        cls.holder.kill()

    @classmethod
    def sh(cls, script):
        return cls.guest.run("sh", "-c", script).stdout

    def load(self, *commands):
        """Loads mana anew. Returns what became of it, and the kernel's new messages."""
        # After a failed start the channel can be open still: Linux does not close it.
        self.sh("rmmod mana_ib 2>/dev/null; rmmod mana 2>/dev/null; echo 1 >$(dirname $("
                "grep -l 0x1414 /sys/bus/pci/devices/*/vendor))/reset")
        before = len(self.guest.log())
        self.guest.ctl("inject", "off")
        for command in commands:
            self.guest.ctl(*command.split())
        ports, *up = self.sh(LOAD).split("\n", 1)
        flags = up[0].split()[-1:] if up else []
        outcome = NO_PORTS
        if ports != "0":
            outcome = WORKS if flags and int(flags[0], 16) & 1 else NOT_UP
        log = self.guest.log()[before:]
        self.assertNotRegex(log, r"BUG:|Oops|general protection|panic")
        return outcome + (" WARNING" if "WARNING:" in log else ""), log

    def test_kernel_survives(self):
        for name, command, *columns, message in CASES:
            if not re.search(os.environ.get("MANA_ANSWERS", ""), name):
                continue
            with self.subTest(name):
                outcome, log = self.load(command, SOON)
                injected = self.guest.live_report().data["functions"][0]["injected"]
                self.assertTrue(injected["answer"] or injected["event"])
                self.assertEqual(outcome, columns[self.column])
                if message is not None:
                    self.assertRegex(log, re.escape(message))
        self.assertEqual(self.load()[0], WORKS)


class Answers612(Answers, unittest.TestCase):
    kernel = "6.12"
    column = 0


class AnswersNewest(Answers, unittest.TestCase):
    kernel = "newest"
    column = 1


if __name__ == "__main__":
    run()
