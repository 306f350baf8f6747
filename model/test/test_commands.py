#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Commands from a scenario, by ctl, and from the program itself.

usage: test_commands.py [unittest arguments]      (see model_test.py)
"""

import os
import re
import signal
import subprocess

from model_test import (PATIENCE_S, Case, find_child, lives, main, program,
                        wait_until)

TARGET = program("command_target")
OK4 = "32 32 32 32"
RX4 = "1:64 1:64 1:64 1:64"
FINE = ("0 0", OK4, RX4)

# Commands; results of four packets: errors of two alloc_pd, completions of port 1's
# Tx and port 2's Rx queue; further parts of the report.
TABLE = [
    (["fail call=alloc_pd nth=4 errno=EPERM"], ("0 1", OK4, RX4),
     {"failed_calls": {"alloc_pd": 1}}),
    (["fail call=alloc_pd nth=3 later"], ("12 12", OK4, RX4),
     {"failed_calls": {"alloc_pd": 2}}),
    (["fail call=any nth=1 later", "fail off"], FINE, {}),
    (["cqe port=1 tx type=34 packet=2"], ("0 0", "32 34 32 32", "1:64 1:64 1:64"),
     {"tx": {"cqe": 1}}),
    (["cqe port=1 queue=0 tx type=42 packet=3"], ("0 0", "32 32 42e201", "1:64 1:64"),
     {"tx": {"cqe": 1}}),
    (["cqe port=1 queue=7 tx type=42"], FINE, {}),
    (["cqe port=2 rx type=4 every=2"], ("0 0", OK4, "4:64 1:64 4:64 1:64"),
     {"rx": {"cqe": 2}}),
    (["truncate port=2 bytes=10 packet=4"], ("0 0", OK4, "1:64 1:64 1:64 4:64"),
     {"rx": {"truncate": 1}}),
    (["bogus port=2 rx what=long"], ("0 0", OK4, "1:65535 1:64 1:64 1:64"),
     {"rx": {"long": 1}}),
    (["bogus port=2 rx what=long bytes=3000 count=2"],
     ("0 0", OK4, "1:3000 1:3000 1:64 1:64"), {"rx": {"long": 2}}),
    (["bogus port=2 rx what=zero"], ("0 0", OK4, "1:64 1:0 1:64 1:64 1:64"),
     {"rx": {"zero": 1}}),
    (["bogus port=2 rx what=zero instead"], ("0 0", OK4, "1:0 1:64 1:64 1:64"),
     {"rx": {"zero": 1}}),
    (["bogus port=2 rx what=type type=17"], ("0 0", OK4, "17:64 1:64 1:64 1:64"),
     {"rx": {"type": 1}}),
    (["bogus port=1 tx what=type type=63 extra"], ("0 0", "32 63 32 32 32", RX4),
     {"tx": {"type": 1}}),
    (["bogus port=1 tx what=wrong-queue"], ("0 0", "32 32q 32 32 32", RX4),
     {"tx": {"wrong-queue": 1}}),
    (["bogus port=1 tx what=wrong-is-sq"], ("0 0", "32 32s 32 32 32", RX4),
     {"tx": {"wrong-is-sq": 1}}),
    (["bogus port=1 tx what=wrong-owner packet=4"], ("0 0", OK4 + " owner+4", RX4),
     {"tx": {"wrong-owner": 1}}),
    (["bogus port=1 tx what=duplicate packet=2"], ("0 0", OK4 + " 32", RX4),
     {"tx": {"duplicate": 1}}),
    (["bogus port=1 tx what=spurious"], ("0 0", OK4 + " 32", RX4),
     {"tx": {"spurious": 1}}),
    (["bogus port=1 tx what=replayed"], ("0 0", OK4 + " 32", RX4),
     {"tx": {"replayed": 1}}),
    (["bogus port=1 tx what=vendor"], ("0 0", "32e20a 32 32 32", RX4),
     {"tx": {"vendor": 1}}),
    (["lose port=1 tx", "lose port=2 rx packet=2 count=2"],
     ("0 0", "32 32 32", "1:64 1:64"), {"tx": {"lose": 1}, "rx": {"lose": 2}}),
    (["delay port=1 tx for=1.5ms"], FINE, {"tx": {"delay": 1}}),
    (["reorder port=1 tx"], FINE, {"tx": {"reorder": 1}}),
    (["overflow port=1 tx packet=4"], ("0 0", " owner+1", RX4), {"tx": {"overflow": 1}}),
    (["stall port=1 tx"], ("0 0", "", ""), {"tx": {"stall": 1}}),
    (["stall port=2 queue=0 rx"], ("0 0", OK4, ""), {"rx": {"stall": 1}}),
    (["stall port=1", "resume port=1 queue=all tx"], FINE, {"tx": {"stall": 1}}),
    (["stall port=1", "lose port=2 rx", "inject off"], FINE, {"tx": {"stall": 1}}),
    (["bogus port=1 tx what=random"], None, {"tx": {"random": 1}}),
    (["at packet=2 cqe port=1 tx type=34"], ("0 0", "32 32 34 32", "1:64 1:64 1:64"),
     {"tx": {"cqe": 1}}),
    (["at packet=3 port=1 lose port=2 rx"], ("0 0", OK4, "1:64 1:64 1:64"),
     {"rx": {"lose": 1}}),
    (["every packet=2 lose port=1 tx"], ("0 0", "32 32 32", RX4), {"tx": {"lose": 1}}),
    (["at doorbell=3 lose port=1 tx"], ("0 0", "32 32 32", RX4), {"tx": {"lose": 1}}),
    (["at call=alloc_pd:3 fail call=alloc_pd"], ("0 12", OK4, RX4),
     {"failed_calls": {"alloc_pd": 1}}),
    (["in 1ns lose port=1 tx"], ("0 0", "32 32 32", RX4), {"tx": {"lose": 1}}),
]


def numbers(text):
    """The number of completions in a text."""
    return str(len([w for w in text.split() if not w.startswith("owner")]))


class ThreeWays(Case):
    options = ("--quiet", "--mode", "sync")

    def counts(self, want):
        if want is None:
            return ["4", "5", "4"]
        # A reader that the device has overtaken finds no CQE.
        return ["4", numbers(want[1]), numbers(want[2])]

    def by_scenario(self, lines, counts):
        path = self.write("scenario", "# what is to happen\n\n" + "\n".join(lines) + "\n")
        return self.run_model(*self.options, "--report", self.report_path,
                              "--scenario", path, "--", TARGET, *counts)

    def by_program(self, lines, counts):
        runs = [word for line in lines for word in ("--run", line)]
        return self.run_model(*self.options, "--report", self.report_path,
                              "--", TARGET, *runs, *counts)

    def by_ctl(self, lines, counts):
        model = self.start_model(*self.options, "--report", self.report_path,
                                 "--name", "three", "--", TARGET, "--wait",
                                 *counts, stdin=subprocess.PIPE)
        first = model.stdout.readline()
        self.assertEqual(first, "ready\n")
        for line in lines:
            done = self.run_model("ctl", "three", *line.split())
            if done.returncode != 0:
                return done     # tearDown() ends the machine
        out, err = model.communicate("go\n", timeout=PATIENCE_S)
        return subprocess.CompletedProcess([], model.returncode, first + out, err)

    ways = (by_scenario, by_program, by_ctl)

    def check_report(self, want):
        report = self.report()
        self.assertEqual(report["violations"], [])
        self.assertEqual(report["failed_calls"], want.get("failed_calls", {}))
        port1, port2 = report["ports"]
        self.assertEqual(port1["tx"]["injected"], want.get("tx", {}))
        self.assertEqual(port2["rx"]["injected"], want.get("rx", {}))

    def test_effects(self):
        for lines, want, report in TABLE:
            texts = []
            for way in self.ways:
                with self.subTest(lines=lines, way=way.__name__):
                    done = way(self, lines, self.counts(want))
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    texts.append(done.stdout)
                    if want is not None:
                        pds = "".join(f"pd {n}\n" for n in want[0].split())
                        text = f"ready\n{pds}tx {want[1]}\nrx {want[2]}\n"
                        self.assertEqual(re.sub(r" +", " ", done.stdout).replace(" \n", "\n"),
                                         re.sub(r" +", " ", text).replace(" \n", "\n"))
                    self.check_report(report)
            self.assertEqual(len(set(texts)), 1, lines)

    def refuse_all(self, lines):
        """The reply to each line from a scenario, from ctl, and from the program."""
        messages = []
        model = self.start_model("--quiet", "--name", "three", "--", TARGET,
                                 "--wait", "0", "0", "0", stdin=subprocess.PIPE)
        self.assertEqual(model.stdout.readline(), "ready\n")
        for line in lines:
            with self.subTest(line=line):
                done = self.by_scenario([line], ["0", "0", "0"])
                ctl = self.run_model("ctl", "three", *line.split())
                self.assertEqual((done.returncode, ctl.returncode), (125, 125), line)
                self.assertIn("/scenario:3: ", done.stderr)
                self.assertEqual(done.stdout + ctl.stdout, "")
                messages.append([done.stderr, ctl.stderr])
        model.communicate("go\n", timeout=PATIENCE_S)
        self.assertEqual(model.returncode, 0)
        done = self.by_program(lines, ["0", "0", "0"])
        self.assertEqual(done.returncode, 2)
        said = done.stdout.splitlines()[1:]
        self.assertEqual(len(said), len(lines))
        return [texts + [text] for texts, text in zip(messages, said)]

    def test_wrong_commands_are_refused(self):
        cases = [("frobnicate now", "frobnicate"), ("lose port=1", "tx or rx"),
                 ("lose port=1 tx rx", "tx or rx"), ("lose tx", "port=N"),
                 ("lose port=3 tx", "fewer ports"), ("lose port=0 tx", "from 1"),
                 ("lose port=1 tx packet=0", "from 1"),
                 ("lose port=1 tx queue=-1", "queue=-1"),
                 ("lose port=1 tx chance=101", "100"),
                 ("lose port=1 tx please", "please"),
                 ("cqe port=1 tx", "type=N"), ("cqe port=1 tx type=43", "42"),
                 ("cqe port=1 rx type=1", "to 4"),
                 ("delay port=1 tx", "for="), ("delay port=1 tx for=2", "20us"),
                 ("delay port=1 tx for=1.5.5ms", "1.5"),
                 ("bogus port=1 tx what=long", "no length"),
                 ("bogus port=1 tx what=odd", "duplicate"),
                 ("bogus port=1 tx what=type type=64", "63"),
                 ("bogus port=1 tx what=random extra instead", "extra or instead"),
                 ("bogus port=1 tx what=duplicate instead", "always extra"),
                 ("truncate port=1", "bytes=N"), ("inject on", "off"),
                 ("fail call=nothing", "nothing"), ("fail nth=3", "call="),
                 ("fail call=mmap errno=ENOTHING", "ENOTHING"),
                 ("fail call=mmap nth=0", "from 1"),
                 ("stall port=1 queue=x", "queue=x"),
                 ("at", "time or event"), ("at 5ms", "command is missing"),
                 ("at 5 lose port=1 tx", "1.5ms"),
                 ("at 5ms frobnicate", "frobnicate"),
                 ("at 5ms lose port=1", "tx or rx"),
                 ("at packet=0 lose port=1 tx", "from 1"),
                 ("at packet=1 port=9 lose port=1 tx", "no such"),
                 ("at doorbell=x lose port=1 tx", "doorbell"),
                 ("at call=nothing:1 lose port=1 tx", "call="),
                 ("at call=mmap lose port=1 tx", "from 1"),
                 ("every 0s lose port=1 tx", "not 0"),
                 ("in packet=1 lose", "tx or rx"),
                 ("lose port=1 tx " + "x" * 300, "longer"),
                 ("lose " + " ".join(f"k{i}=1" for i in range(30)), "more than")]
        messages = self.refuse_all([line for line, _ in cases])
        for (line, word), texts in zip(cases, messages):
            for text in texts:
                with self.subTest(line=line):
                    self.assertIn(word, text)

    def test_unknown_arguments_are_refused(self):
        """Each verb refuses an unknown argument."""
        helped = self.run_model("--help").stdout.partition("\n Commands")[2]
        verbs = set(re.findall(r"^  ([a-z-]+) ", helped, re.M)) - {"report"}
        tried = {line.split()[0] for lines, _, _ in TABLE for line in lines}
        self.assertGreaterEqual(verbs, tried)
        self.refuse_all([f"{verb} nonsense=1" for verb in sorted(verbs)])


class Scenario(Case):
    """Errors of scenario files."""
    options = ThreeWays.options

    def run_text(self, text, *counts, **more):
        path = os.path.join(self.base, "scenario")
        with open(path, "wb") as file:
            file.write(text)
        return self.run_model(*self.options, "--report", self.report_path,
                              "--scenario", path, "--", TARGET, *counts, **more)

    def test_report(self):
        done = self.run_text(b"  lose port=1 tx\t# at once\r\n"
                             b"#at 1s no command\n\n"
                             b"at packet=2 resume port=1\n"
                             b"at 1h\n", "4", "3", "4")
        self.assertEqual(done.returncode, 125)
        self.assertIn("scenario:5:", done.stderr)
        done = self.run_text(b"  lose port=1 tx\t# at once\r\n"
                             b"#at 1s no command\n\n"
                             b"at packet=2 resume port=1\n"
                             b"every packet=1 cqe port=2 rx type=4 packet=3\n"
                             b"at packet=1000 lose port=1 tx", "4", "3", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("line 4: resume port=1: no such queue", done.stderr)
        rows = self.report()["scenario"]
        self.assertEqual([r["line"] for r in rows], [1, 4, 5, 6])
        self.assertEqual(rows[0]["text"], "lose port=1 tx")
        self.assertEqual(rows[0]["time_ns"], 0)
        self.assertEqual([r["runs"] for r in rows], [1, 1, 4, 0])
        self.assertEqual([r["failed"] for r in rows], [0, 1, 0, 0])
        self.assertEqual(rows[0]["result"], "ok")
        self.assertIn("is stalled", rows[1]["result"])
        self.assertEqual(rows[3]["result"], "waiting")
        self.assertIsNone(rows[3]["time_ns"])

    def test_bad_files(self):
        for path, word in (("/no/such/file", "No such file"), ("/tmp", "Is a dir"),
                           ("/dev/zero", "device"), ("", "file name")):
            self.assertIn(word, self.refusal("--scenario", path, "--", "true"))
        for text, word in ((b"lose port=1 tx\n" * 2001, "scenario:2001: there are 2000"),
                           (b"#\n" * 100001, "100000 lines"),
                           (b"lose port=1\0 tx\n", "zero byte"),
                           (b"lose port=1 tx" + b" " * 300 + b"x", "longer"),
                           (b"\xff\xfe\n", "no command")):
            done = self.run_text(text, "0", "0", "0", errors="replace")
            self.assertEqual(done.returncode, 125, done)
            self.assertIn(word, done.stderr)
            self.assertNotIn("ready", done.stdout)

    def test_second_run_is_equal(self):
        text = (b"at doorbell=4 lose port=1 tx\nat packet=5 bogus port=2 rx what=random\n"
                b"every doorbell=2 lose port=2 rx chance=50 count=1\n"
                b"at packet=3 bogus port=1 tx what=vendor error=77\n"
                b"at 44.5us lose port=1 tx\nevery 3us cqe port=1 tx type=34\n")
        seen = []
        for seed in ("7", "7", "8"):
            trace = os.path.join(self.base, "trace")
            self.options = (*ThreeWays.options, "--poll-ms=0", "--seed", seed,
                            "--trace", trace)
            done = self.run_text(text, "9", "0", "0")
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = [(r["line"], r["runs"], r["time_ns"], r["result"])
                    for r in self.report()["scenario"]]
            with open(trace, encoding="utf-8") as file:
                seen.append((done.stdout, rows, file.read()))
        self.assertEqual(seen[0], seen[1])
        self.assertNotEqual(seen[1][0], seen[2][0])

    def test_repeated_failures_are_logged_a_few_times(self):
        done = self.run_text(b"every packet=1 resume port=1\n", "40", "40", "0")
        self.assertEqual(self.report()["scenario"][0]["failed"], 40)
        self.assertEqual(done.stderr.count("no such queue"), 7)

    def test_seed_is_printed(self):
        done = self.run_model("--seed", "4711", "--", "true")
        self.assertIn("seed 4711", done.stderr)

    def test_clock_of_a_waiting_program(self):
        """The clock of a program that only waits, and in real time."""
        for mode in ("sync", "thread"):
            path = self.write("scenario", "every 3ms mtu port=1 mtu=1400\n")
            model = self.start_model("--quiet", "--mode", mode, "--name", "wait",
                                     "--report", self.report_path, "--scenario",
                                     path, "--", "sleep", "1000")
            wait_until(lambda: self.live("wait"), "the machine")
            wait_until(lambda: self.live("wait")["scenario"][0]["runs"] >= 3,
                       "3 runs of the line")
            model.send_signal(signal.SIGTERM)
            model.communicate(timeout=PATIENCE_S)
            self.assertGreaterEqual(self.report()["scenario"][0]["time_ns"], 9000000)

    def test_clock_behind_the_end_of_the_program(self):
        """It stands until the launcher knows of the end, which the guardian tells it."""
        path = self.write("scenario", "every 3ms mtu port=1 mtu=1400\n")
        model = self.start_model("--quiet", "--name", "end", "--poll-ms=0", "--scenario",
                                 path, "--", "cat", stdin=subprocess.PIPE)
        wait_until(lambda: self.live("end"), "the machine")
        guardian = find_child(model.pid, "mana-guardian")
        target = find_child(guardian, "cat")
        os.kill(guardian, signal.SIGSTOP)
        model.stdin.close()
        wait_until(lambda: not lives(target), "the end of the program")
        self.live("end")
        runs = [self.live("end")["scenario"][0]["runs"] for _ in range(5)]
        os.kill(guardian, signal.SIGCONT)
        model.wait(timeout=PATIENCE_S)
        self.assertEqual(len(set(runs)), 1, runs)


if __name__ == "__main__":
    main()
