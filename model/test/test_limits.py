#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mana-model with scarce resources and bad input: clear errors, no hang, no leftovers.

usage: test_limits.py [unittest arguments]      (see model_test.py)
"""

import os
import resource
import signal
import subprocess
import unittest

from model_test import MODEL, PATIENCE_S, Case as ModelCase, main, program, wait_until

WORK = program("fixed_work")
OWN_ERROR = 125


class Case(ModelCase):
    """Runs a program in the test's own folder, with limits and empty input."""

    def run_model(self, *args, limits=(), **more):
        def set_limits():
            for which, value in limits:
                resource.setrlimit(which, (value, value))
        return super().run_model("--quiet", *args, cwd=self.base,
                                 stdin=subprocess.DEVNULL, preexec_fn=set_limits, **more)

    def refused(self, *args, says, **more):
        said = self.refusal(*args, "--", "true", **more)
        for word in says:
            self.assertIn(word, said)


class Scenarios(Case):
    def run_scenario(self, *lines, options=()):
        self.write("scenario", "\n".join(lines) + "\n")
        done = self.run_model(*options, "--scenario", "scenario", "--", WORK)
        self.assertIn("down 0", done.stdout, done.stderr)

    def test_lines_that_trigger_themselves_and_each_other(self):
        self.run_scenario("every call=any:1 netdev port=1 up")
        self.run_scenario("every call=any:1 netdev port=1 up",
                          "every call=any:1 netdev port=2 down")

    def test_lines_longer_than_their_period(self):
        for mode in "sync", "thread":
            self.run_scenario("every 1ns wire port=1 clear",
                              "every 1ns wire port=2 clear",
                              options=("--mode", mode))


class Limits(Case):
    def test_few_descriptors(self):
        statuses = set()
        for number in range(4, 17):
            done = self.run_model("--", "true",
                                  limits=[(resource.RLIMIT_NOFILE, number)])
            # Less than the dynamic linker needs, which then exits with 127.
            if done.returncode not in (0, 127):
                self.assertEqual(done.returncode, OWN_ERROR, done.stderr)
                self.assertIn("Too many open files", done.stderr)
            statuses.add(done.returncode)
            self.assertEqual(os.listdir(self.folders), [], number)
        self.assertIn(0, statuses)

    def test_small_files(self):
        for size in 0, 1 << 10, 1 << 20:
            self.refused("--trace", "trace", "--report", "report",
                         limits=[(resource.RLIMIT_FSIZE, size)],
                         says=["File too large"])
            self.assertEqual(os.listdir(self.folders), [], size)

    @unittest.skipIf(os.environ.get("MANA_PRELOAD"), "a sanitizer maps terabytes")
    def test_little_memory(self):
        self.refused(limits=[(resource.RLIMIT_AS, 100 << 20)],
                     says=["Cannot allocate memory", "ulimit -v"])


class Ends(Case):
    def test_stopped_program(self):
        with subprocess.Popen(
                [MODEL, "--quiet", "--", "sh", "-c", "echo $$; kill -STOP $$"],
                env=self.env, stdout=subprocess.PIPE, text=True) as launcher:
            pid = int(launcher.stdout.readline())
            wait_until(lambda: self.state(pid) == "T", "it is not stopped")
            launcher.terminate()
            self.assertEqual(launcher.wait(PATIENCE_S), 128 + signal.SIGTERM)

    @staticmethod
    def state(pid):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0]

    @unittest.skipUnless(os.getuid() == 0, "needs root, to mount")
    def test_full_disk_keeps_the_old_report(self):
        full = self.path("full")
        os.mkdir(full)
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c",
             f'mount -t tmpfs -o size=16k none {full} || exit 99; cd {full};'
             'echo old >report; cat /dev/zero >fill 2>&-;'
             '"$0" --quiet --report report -- true; echo $?; cat report', MODEL],
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, timeout=PATIENCE_S, check=False)
        if done.returncode == 99:
            self.skipTest("cannot mount")
        self.assertEqual(done.stdout, f"{OWN_ERROR}\nold\n", done.stderr)
        self.assertIn("No space left on device", done.stderr)


class BadFiles(Case):
    def options(self, path):
        for option in "--trace", "--report", "--scenario":
            yield option, path
        for direction in "in", "out":
            yield "--wire", f"1=pcap:{direction}={path}"

    def test_no_usable_file(self):
        os.mkfifo(self.path("fifo"))
        os.mkdir(self.path("folder"))
        for path, *says in (("fifo", "is a FIFO", "give a file"),
                            ("folder", "Is a directory", "; give "),
                            ("/nonexistent/file", "No such file or directory", "; give ")):
            for option, value in self.options(path):
                self.refused(option, value, says=says)

    def test_full_device(self):
        for option, value in ("--trace", "/dev/full"), \
                ("--report", "/dev/full"), ("--wire", "1=pcap:out=/dev/full"):
            self.refused(option, value,
                         says=["No space left on device", "; give "])

    def test_pipes_of_a_shell(self):
        done = subprocess.run(
            ["bash", "-c", f"""{MODEL} --quiet --report >(cat >&2) \
             --scenario <(echo link port=2 down) -- true; exit $?"""],
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"link port=2 down"', done.stderr)


if __name__ == "__main__":
    main()
