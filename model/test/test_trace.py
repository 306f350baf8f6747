#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The trace for users: options, files, and identical traces of two runs.

usage: test_trace.py [unittest arguments]      (see model_test.py)
"""

import os
import re

from model_test import MODEL, Case as ModelCase, main, program

WORK = program("fixed_work")
CLASSES = ("verbs", "doorbell", "wqe", "cqe", "event")
LINE = re.compile(r"[0-9]+ (" + "|".join(CLASSES) +
                  r")( [a-z_0-9.]+=(\"[^\"]*\"|[^ ]*))+")


class Case(ModelCase):
    asan_options = None

    def setUp(self):
        super().setUp()
        self.trace_path = self.path("t.trace")

    def run_model(self, *args, **more):
        return super().run_model("--quiet", *args, **more)

    def lines(self, path=None):
        with open(path or self.trace_path, encoding="ascii") as file:
            lines = file.read().splitlines()
        self.assertTrue(lines[0].startswith("0 trace version=1 "), lines[0])
        return lines[1:]


class Options(Case):
    def test_classes(self):
        done = self.run_model("--trace", self.trace_path, "--trace-classes",
                              "cqe,event", "--wire=loop", "--", WORK, "3")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        seen = {line.split()[1] for line in self.lines()}
        self.assertEqual(seen, {"cqe", "event"})

    def test_wrong_class(self):
        self.assertIn("--trace-classes: 'cqe,x' is refused: give one of verbs, "
                      "doorbell, wqe, cqe, event",
                      self.refusal("--trace", self.trace_path, "--trace-classes", "cqe,x",
                                   "--", "true"))

    def test_off(self):
        done = self.run_model("--wire=loop", "--", WORK, "1", cwd=self.base)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(os.listdir(self.base), ["machines"])

    def test_standard_error(self):
        done = self.run_model("--trace", "-", "--wire=loop", "--", WORK, "1")
        lines = done.stderr.splitlines()
        self.assertTrue(lines[0].startswith("0 trace version=1 "))
        for line in lines[1:]:
            self.assertTrue(LINE.fullmatch(line), line)
        self.assertTrue(any(" type=RX_OKAY " in line for line in lines))

    def test_old_file_is_replaced(self):
        for _ in range(2):
            self.run_model("--trace", self.trace_path, "--", "ibv_devinfo")
        with open(self.trace_path, encoding="ascii") as file:
            self.assertEqual(file.read().count("trace version="), 1)


class Files(Case):
    def test_every_line_has_the_form(self):
        self.run_model("--trace", self.trace_path, "--wire=loop", "--", WORK, "5")
        lines = self.lines()
        for line in lines:
            self.assertTrue(LINE.fullmatch(line), line)
        self.assertEqual({line.split()[1] for line in lines}, set(CLASSES))
        times = [int(line.split()[0]) for line in lines]
        self.assertEqual(times, sorted(times))

    def test_cannot_be_written(self):
        for path in ("/no/such/folder/t", "/dev/full", self.base):
            self.assertIn(f"cannot write the trace to {path}: ",
                          self.refusal("--trace", path, "--", "echo", "ran"))

    def test_full_disk_in_the_run(self):
        # A limit of 4 blocks of 512 bytes, then two programs.
        done = self.run_model("--trace", self.trace_path, "--wire=loop", "--", "sh",
                              "-c", f"ulimit -f 4; {WORK} 20 >/dev/null || exit "
                              "3; ibv_devinfo >/dev/null || exit 4; echo ran")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)
        said = [line for line in done.stderr.splitlines() if "the trace" in line]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertIn("is not complete: File too large; the run continues", said[0])
        self.assertLessEqual(os.path.getsize(self.trace_path), 2048)

    def test_two_programs(self):
        done = self.run_model("--trace", self.trace_path, "--functions=2",
                              "--ports=1", "--wire=loop", "--", "sh", "-c",
                              "for i in 1 2 3 4 5; do ibv_devinfo & "
                              f"{WORK} 50 & wait; done >/dev/null")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = self.lines()
        for line in lines:
            self.assertTrue(LINE.fullmatch(line), line)
        self.assertEqual(sum(" type=TX_OKAY " in line for line in lines), 250)
        self.assertEqual(sum("call=query_device" in line for line in lines), 10)

    def test_killed(self):
        # The trace must have everything that the program has seen.
        script = (f"{WORK} 20000 > {self.base}/seen & pid=$!; "
                  f"while ! grep -q '^rx' {self.base}/seen; do sleep 0.01; done; "
                  "kill -9 $pid; wait $pid; true")
        self.run_model("--trace", self.trace_path, "--wire=loop", "--", "sh", "-c",
                       script)
        with open(os.path.join(self.base, "seen"), encoding="ascii") as file:
            seen = sum(line.startswith("rx ") for line in file)
        lines = self.lines()
        self.assertTrue(LINE.fullmatch(lines[-1]), lines[-1])
        self.assertGreaterEqual(
            sum(" type=RX_OKAY " in line for line in lines), seen)

    def test_machine(self):
        script = (f"{MODEL} ctl tr netdev port=2 up; {MODEL} ctl tr netdev port=9 up; "
                  f"{MODEL} ctl tr remove fn=0; ibv_devinfo >/dev/null; true")
        self.run_model("--trace", self.trace_path, "--name=tr", "--", "sh", "-c",
                       script)
        lines = [line.partition(" ")[2] for line in self.lines()]
        for event in ("netdev port=2 exists=1 up=1 carrier=1 mtu=1500",
                      "function fn=0 pci=0 net=0 rdma=0",
                      "netdev port=2 exists=0 up=0 carrier=1 mtu=1500",
                      'command result=0 line="netdev port=2 up"',
                      'command result=EINVAL line="netdev port=9 up"'):
            self.assertIn(f"event kind={event}", lines)

    def test_fatal(self):
        self.run_model("--trace", self.trace_path, "--trace-classes=event",
                       "--wire=loop", "--name=tr", "--",
                       "sh", "-c", f"{WORK} 20000 >{self.base}/seen & while ! "
                       f"grep -q ^rx {self.base}/seen; do sleep 0.01; done; "
                       f"{MODEL} ctl tr remove fn=0; wait")
        self.assertTrue(any(line.endswith("event kind=async async=1 type=8")
                            for line in self.lines()))


class Repeated(Case):
    """One thread, a fixed amount of work: the same trace."""

    def trace(self, name, *options, args=("60",), **more):
        path = os.path.join(self.base, name)
        done = self.run_model("--trace", path, "--poll-ms=0", "--wire=loop", *options,
                              "--", WORK, *args, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, "rb") as file:
            return file.read()

    def test_second_run_is_equal(self):
        first = self.trace("a")
        elsewhere = os.path.join(self.base, "a folder of another name")
        os.mkdir(elsewhere)
        second = self.trace("b", "--name=other", args=("60", "waste"),
                            cwd=elsewhere, env={"WASTE": "w" * 5000})
        self.assertIn(b" type=RX_OKAY ", first)
        self.assertEqual(first, second)

    def test_second_run_with_a_fault_is_equal(self):
        fault = "--fault=create_wq:1:ENOSPC"
        first = self.trace("a", fault)
        self.assertIn(b"kind=fault call=create_wq n=1 errno=ENOSPC", first)
        self.assertIn(b" result=ENOSPC\n", first)
        self.assertEqual(first, self.trace("b", fault, args=("60", "waste")))
        self.assertNotEqual(first, self.trace("c"))

    def test_second_run_with_random_faults_is_equal(self):
        # Without the line that has the seed.
        def body(*args, seed="1"):
            options = ("--seed", seed, "--link",
                       "1:corrupt=10%,duplicate=10%")
            return self.trace("r", *options, args=args).split(b"\n", 1)[1]
        fault = "truncate port=1 bytes=20 chance=20"
        first = body("60", fault)
        for what in (b"kind=inject port=1 dir=rx what=truncate",
                     b" type=RX_TRUNCATED ", b"kind=wire port=1 way=",
                     b"what=corrupted"):
            self.assertIn(what, first)
        self.assertEqual(first, body("60", "waste", fault))
        self.assertNotEqual(first, body("60", fault, seed="2"))

    def test_second_run_with_a_scenario_is_equal(self):
        scenario = self.write("scenario", "at 40us truncate port=1 bytes=20 every=2 chance=50\n"
                              "at 90us netdev port=2 up\n"
                              "at 99us inject off\n")
        first = self.trace("a", "--scenario", scenario)
        self.assertIn(b"kind=netdev port=2 exists=1 up=1", first)
        self.assertEqual(first, self.trace("b", "--scenario", scenario,
                                           args=("60", "waste")))
        self.assertNotEqual(first, self.trace("c"))

    def test_no_raw_address(self):
        # Programs and their heaps lie beyond 4 GiB.
        for number in re.findall(r"0x([0-9a-f]+)", self.trace("a").decode()):
            self.assertLess(int(number, 16), 1 << 32)


if __name__ == "__main__":
    main()
