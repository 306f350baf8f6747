# SPDX-License-Identifier: BSD-3-Clause
"""Commands, scenarios, report and trace of a machine with --pci, whose driver is a
client without a virtual machine."""

import os
import struct

from model_test import main, wait_until
from pci_driver import (DEREGISTER, HWC, LIST_DEVICES, MANA, QUERY_LINK, QUERY_VPORT,
                        REGISTER, Driver)
from test_pci import Pci

RECONFIGURATION, SOC_SERVICE, FATAL, RESET = 133, 134, 132, 135


class Commands(Pci):
    """A machine that a test starts ends with it, without a violation."""

    process = None

    def tearDown(self):
        try:
            if self.process is not None:
                self.finish()
        finally:
            super().tearDown()

    def machine(self, *options):
        self.process = self.serve("--name", "m", "--quiet", "--report",
                                  self.report_path, *options)

    def driver(self, function=0):
        driver = wait_until(lambda: self.try_driver(function), "cannot connect")
        self.addCleanup(driver.close)
        return driver

    def try_driver(self, function):
        """None while the socket does not listen yet."""
        try:
            return Driver(self.socket(function))
        except (FileNotFoundError, ConnectionRefusedError):
            return None

    def open(self, *options):
        """A machine, and a driver with an open channel."""
        self.machine(*options)
        driver = self.driver()
        self.assertEqual(driver.open_channel(), 0)
        return driver

    def ctl(self, line):
        done = self.run_model("ctl", "m", *line.split())
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        return done.stdout

    def refused(self, line):
        return self.refusal("ctl", "m", *line.split())

    def function(self, fn=0):
        """The function in the report of the running machine."""
        return self.live("m")["functions"][fn]

    def finish(self, violations=()):
        process, self.process = self.process, None
        self.assertEqual(self.end(process), 0)
        report = self.report()
        self.assertEqual([row["name"] for row in report["violations"]],
                         list(violations))
        return report


class Events(Commands):
    def test_link(self):
        """Both ports change with one event. A link that is down already sends none."""
        driver = self.open()
        before = self.function()["interrupts"]
        self.ctl("link port=2 down")
        self.ctl("link port=1 down")
        self.ctl("link port=1 up")
        self.assertEqual(driver.event(), (RECONFIGURATION, 3 << 24 | 1))
        self.assertEqual(driver.event(), (RECONFIGURATION, 2 << 24 | 0))
        self.assertFalse(driver.has_event())
        # Nothing armed the EQ again: its interrupt was used at the start.
        self.assertEqual(self.function()["interrupts"], before)

    def test_link_without_channel(self):
        self.machine()
        self.ctl("link port=1 down")
        driver = self.driver()
        driver.open_channel()
        self.assertFalse(driver.has_event())

    def test_other_events(self):
        driver = self.open()
        for line, event in (("timeout fn=0 ms=2000", (RECONFIGURATION, 1 << 24 | 2000)),
                            ("rdma fn=0 suspend", (SOC_SERVICE, 1 << 28)),
                            ("rdma fn=0 resume", (SOC_SERVICE, 2 << 28)),
                            ("fatal fn=0", (FATAL, 0)),
                            ("reset fn=0", (RESET, 0))):
            self.ctl(line)
            self.assertEqual(driver.event(), event, line)
        self.assertFalse(driver.has_event())

    def test_other_function(self):
        driver = self.open("--functions", "2", "--ports", "2,1")
        other = self.driver(1)
        other.open_channel()
        self.ctl("reset fn=1")
        self.assertEqual(other.event(), (RESET, 0))
        self.ctl("link port=3 down")
        self.assertEqual(other.event(), (RECONFIGURATION, 3 << 24))
        self.assertFalse(driver.has_event())

    def test_channel_is_needed(self):
        self.machine()
        for line in ("reset fn=0", "fatal fn=0", "rdma fn=0 resume", "timeout ms=1"):
            self.assertIn("start the guest and its driver", self.refused(line))

    def test_speed(self):
        driver = self.open()
        self.ctl("speed port=2 mbps=40000")
        self.assertEqual(driver.request(REGISTER, device=MANA)[0], 0)
        for port, mbps in ((0, 200000), (1, 40000)):
            status, vport = driver.request(QUERY_VPORT, struct.pack("<I", port),
                                           device=MANA)
            self.assertEqual(status, 0)
            handle = vport[struct.calcsize("<IIII6s2x"):][:8]
            status, link = driver.request(QUERY_LINK, handle, device=MANA)
            self.assertEqual((status, struct.unpack_from("<I", link)[0]), (0, mbps))
        self.assertEqual(driver.request(DEREGISTER, device=MANA)[0], 0)
        self.assertEqual(driver.close_channel(), 0)


class Silence(Commands):
    def test_requests_wait(self):
        driver = self.open()
        self.ctl("stop-answering fn=0")
        driver.send(LIST_DEVICES)
        self.assertFalse(driver.is_answered())
        self.assertEqual(self.function()["requests"], {})
        self.ctl("answer fn=0")
        self.assertEqual(driver.answer()[0], 0)
        self.assertEqual(self.function()["requests"], {"list_devices": 1})

    def test_queues_are_stalled(self):
        self.open()
        for _ in range(20):
            self.ctl("stop-answering fn=0")
        self.ctl("answer fn=0")
        self.assertIn("is stalled", self.refused("resume port=1"))
        self.ctl("stop-answering fn=0")
        self.ctl("resume port=1")
        self.ctl("resume port=2 tx")
        self.ctl("answer fn=0")

    def test_too_many_rules(self):
        driver = self.open()
        for _ in range(63):
            self.ctl("lose port=1 tx")
        self.assertIn("inject off", self.refused("stop-answering fn=0"))
        self.assertEqual(driver.request(LIST_DEVICES)[0], 0)
        self.assertIn("is stalled", self.refused("resume port=1"))

    def test_outage(self):
        """The adapter answers again by itself."""
        driver = self.open()
        self.ctl("reset fn=0 outage=300ms")
        self.assertEqual(driver.event(), (RESET, 0))
        driver.send(LIST_DEVICES)
        self.assertEqual(driver.answer()[0], 0)
        self.assertIn("is stalled", self.refused("resume port=1"))

    def test_objects_may_remain(self):
        """A driver cannot destroy its objects on a silent adapter."""
        driver = self.open()
        driver.request(REGISTER, device=MANA)
        self.ctl("stop-answering fn=0")
        self.assertEqual(driver.close_channel(), 0)
        self.ctl("answer fn=0")
        self.assertEqual(set(self.finish()["leaks"].values()), {0})


class Failures(Commands):
    def test_nth_request(self):
        driver = self.open()
        self.ctl("fail request=list_devices nth=2 status=0x42")
        self.assertEqual([driver.request(LIST_DEVICES)[0] for _ in range(3)],
                         [0, 0x42, 0])
        self.ctl("fail request=any later")
        self.assertEqual(driver.request(LIST_DEVICES)[0], 1)
        self.assertEqual(driver.verify_version(b"x"), 1)
        self.ctl("fail off")
        self.assertEqual(driver.request(LIST_DEVICES)[0], 0)
        self.ctl("fail request=other status=7")
        self.assertEqual(driver.request(99)[0], 7)
        report = self.finish()
        self.assertEqual(report["failed_calls"],
                         {"other": 1, "verify_vf_driver_version": 1, "list_devices": 2})
        self.assertEqual(report["functions"][0]["refused"], report["failed_calls"])

    def test_failed_request_does_nothing(self):
        driver = self.open("--fault", "register_device:1:0xffffffff")
        self.assertEqual(driver.request(REGISTER, device=MANA)[0], 0xffffffff)
        self.assertEqual(self.function()["objects"]["device"], 0)
        self.assertEqual(driver.request(REGISTER, device=MANA)[0], 0)
        self.assertEqual(self.function()["objects"]["device"], 1)
        self.assertEqual(driver.request(DEREGISTER, device=MANA)[0], 0)
        self.assertEqual(driver.close_channel(), 0)

    def test_wrong_lines(self):
        self.machine()
        for line, text in (("fail request=create_qp", "request=create_qp: give one of"),
                           ("fail call=create_qp", "request=: give one of"),
                           ("fail request=create_pd status=0", "from 1 to 0xffffffff"),
                           ("fail request=create_pd status=EIO", "from 1 to 0xffffffff"),
                           ("fail rule=create_pd:0", "N is a number from 1"),
                           ("fail rule=create_pd", "REQUEST:N[+][:STATUS]"),
                           ("fail rule=create_qp:1", "no such request")):
            self.assertIn(text, self.refused(line))
        self.finish()
        said = self.assert_refused("--pci", self.dir, "--fault", "create_cq:1")
        self.assertIn("no such request", said)


class Scenarios(Commands):
    def scenario(self, text):
        return "--scenario", self.write("scenario", text)

    def test_requests_trigger(self):
        driver = self.open(*self.scenario("at request=list_devices:2 link port=1 down\n"
                                          "every request=any:2 reset fn=0\n"))
        driver.request(LIST_DEVICES)
        self.assertFalse(driver.has_event())
        driver.request(LIST_DEVICES)
        events = {driver.event(), driver.event()}
        self.assertEqual(events, {(RECONFIGURATION, 3 << 24), (RESET, 0)})
        results = {row["result"] for row in self.finish()["scenario"]}
        self.assertEqual(results, {"ok"})

    def test_time(self):
        driver = self.open()
        self.ctl("in 10ms fatal fn=0")
        self.assertEqual(driver.event(), (FATAL, 0))

    def test_errors(self):
        for line, text in (("at call=create_qp:1 link port=1 up", "no kernel calls"),
                           ("at request=nothing:1 link port=1 up", "request=: give one"),
                           ("at request=create_pd:0 link port=1 up", "number from 1"),
                           ("netns port=1 away", "no command 'netns'")):
            said = self.assert_refused("--pci", self.dir, *self.scenario(line))
            self.assertIn(text, said)
        said = self.refusal(*self.scenario("at request=create_pd:1 vf fn=0 enable"), "--", "true")
        self.assertIn("only a machine of --pci has requests", said)


class OtherKind(Commands):
    def test_commands_of_imitated_kernel(self):
        self.machine()
        for line in ("netdev port=1 up", "mtu port=1 mtu=1400", "netns port=1 home",
                     "slow off", "uevent fn=0 add", "remove fn=0", "return fn=0"):
            said = self.refused(line)
            self.assertIn("a machine of --pci has no command", said)
            self.assertIn("the guest has its own kernel", said)
        self.assertIn("there is no command 'nothing'", self.refused("nothing"))

    def test_commands_of_pci_machine(self):
        process = self.start_model("--name", "m", "--quiet", "--", "sleep", "1000")
        wait_until(lambda: self.live("m"), "no machine")
        for name in ("answer", "rdma", "stop-answering", "timeout"):
            self.assertIn("only a machine of --pci has it", self.refused(name))
        process.terminate()
        process.wait(60)

    def test_wrong_arguments(self):
        self.machine()
        for line, text in (("link port=1", "up or down"), ("link up", "port is missing"),
                           ("speed port=1", "mbps=N"), ("speed port=1 mbps=0", "1 to"),
                           ("rdma fn=0", "suspend or resume"), ("timeout fn=0", "ms=N"),
                           ("reset fn=1", "from 0 to 0"), ("answer fn=0 now", "now"),
                           ("reset outage=3", "20us")):
            self.assertIn(text, self.refused(line))


class Reports(Commands):
    def test_functions(self):
        driver = self.open("--functions", "2")
        self.assertEqual(driver.verify_version(b"Linux", b'6.12\xff\n"' + 200 * b"x"), 0)
        driver.request(REGISTER, device=MANA)
        driver.request(REGISTER, device=HWC)
        first, second = self.function(0), self.function(1)
        self.assertTrue(first["connected"] and first["channel"])
        self.assertEqual(first["connections"], 1)
        self.assertTrue(first["driver"].startswith('Linux 6.12??"xxx'))
        self.assertEqual(first["requests"],
                         {"verify_vf_driver_version": 1, "register_device": 2})
        self.assertEqual(first["refused"], {"register_device": 1})
        self.assertEqual(first["objects"],
                         {"channel": 1, "device": 1, "pd": 2, "page": 1, "key": 2,
                          "region": 0, "eq": 1, "cq": 0, "wq": 0, "rnic": 0})
        self.assertEqual(set(first["left"].values()), {0})
        self.assertEqual(first["interrupts"], driver.interrupts())
        self.assertEqual((second["connected"], second["driver"]), (False, None))
        self.finish(["request_device"])

    def test_left(self):
        """What exists when the driver closes its channel is left, once."""
        driver = self.open()
        driver.request(REGISTER, device=MANA)
        self.assertEqual(driver.close_channel(), 0)
        left = {"device": 1, "pd": 1, "page": 1, "key": 1}
        self.assertEqual({**self.function()["left"], **left}, self.function()["left"])
        self.assertEqual(set(self.function()["objects"].values()), {0})
        driver.open_channel()
        self.assertEqual(driver.close_channel(), 0)
        leaks = self.finish(["objects_left"])["leaks"]
        self.assertEqual({kind: n for kind, n in leaks.items() if n != 0}, left)

    def test_cut_off(self):
        """A client that goes does not leave its objects: they are cut off."""
        driver = self.open()
        driver.request(REGISTER, device=MANA)
        driver.close()
        wait_until(lambda: not self.function()["connected"], "still connected")
        function = self.function()
        self.assertEqual(function["cut_off"], 1)
        for objects in (function["left"], function["objects"]):
            self.assertEqual(set(objects.values()), {0})
        driver = self.driver()
        driver.open_channel()
        driver.write(7, 0x48, 1 << 15, 2)  # FLR
        function = self.function()
        self.assertEqual((function["cut_off"], function["resets"]), (2, 1))
        self.assertEqual(function["connections"], 2)

    def test_close_after_reset(self):
        """
        A driver that does not know of the function's reset closes its channel, or closes
        it twice: no violation.
        """
        driver = self.open()
        driver.write(7, 0x48, 1 << 15, 2)  # FLR
        self.assertEqual(driver.close_channel(), 0)
        driver.open_channel()
        self.assertEqual(driver.close_channel(), 0)
        self.assertEqual(driver.close_channel(), 0)

    def test_summary(self):
        process = self.serve("--name", "m")
        self.assertIn("are served on", process.stderr.readline())
        driver = self.driver()
        driver.open_channel()
        driver.verify_version(b"Test", b"1")
        driver.close_channel()
        self.assertEqual(self.end(process), 0)
        said = process.stderr.read()
        self.assertIn("driver Test 1: requests 1 (0 refused), interrupts", said)
        self.assertIn("  left on the card: nothing\n", said)

    def test_trace(self):
        path = os.path.join(self.base, "trace")
        driver = self.open("--trace", path, "--trace-classes", "request,event")
        driver.request(LIST_DEVICES)
        self.ctl("fail request=list_devices status=9")
        driver.request(LIST_DEVICES)
        driver.request(99)
        driver.close()
        wait_until(lambda: not self.function()["connected"], "still connected")
        self.finish(["request_unknown"])
        with open(path, encoding="utf-8") as file:
            lines = [line.split(" ", 1)[1].rstrip() for line in file][1:]
        for line in ("event kind=client fn=0 connected=1",
                     "event kind=eqe fn=0 eq=80 index=256 type=129 detail=0x50",
                     "event kind=interrupt fn=0 vector=0",
                     "request fn=0 name=list_devices code=0x3 bytes=40 "
                     "answer_bytes=296 status=0x0",
                     "event kind=fault request=list_devices n=2 status=0x9",
                     "request fn=0 name=other code=0x63 bytes=40 answer_bytes=32 "
                     "status=0xffffffff",
                     "event kind=client fn=0 connected=0"):
            self.assertIn(line, lines)


if __name__ == "__main__":
    main()
