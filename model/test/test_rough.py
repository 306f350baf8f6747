#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mana-model under rough treatment: clear words, no hang, nothing left.

usage: test_rough.py FOLDER [unittest arguments]
FOLDER has mana-model and test/fixed_work.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.abspath(sys.argv[1])
MODEL = os.path.join(FOLDER, "mana-model")
WORK = os.path.join(FOLDER, "test", "fixed_work")
OWN_ERROR = 125


class Case(unittest.TestCase):
    """Folders of its own; that of the machines must be empty in the end."""

    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="rough-")
        self.folders = os.path.join(self.base, "machines")
        os.mkdir(self.folders)
        self.env = dict(os.environ, MANA_MODEL_END_WITH_PARENT="1",
                        MANA_MODEL_RUNDIR=self.folders)
        self.env.pop("LD_PRELOAD", None)
        self.env["ASAN_OPTIONS"] = "detect_leaks=0:handle_segv=0"

    def tearDown(self):
        left = os.listdir(self.folders)
        shutil.rmtree(self.base)
        self.assertEqual(left, [], "run folders left behind")

    def path(self, name):
        return os.path.join(self.base, name)

    def run_model(self, *args, limits=()):
        def set_limits():
            for which, value in limits:
                resource.setrlimit(which, (value, value))
        return subprocess.run([MODEL, "--quiet", *args], env=self.env,
                              cwd=self.base, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=60, check=False,
                              preexec_fn=set_limits)

    def refused(self, *args, says, **more):
        done = self.run_model(*args, "--", "true", **more)
        for word in says:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(done.returncode, OWN_ERROR, done.stderr)


class Scenarios(Case):
    def run_scenario(self, *lines, options=()):
        with open(self.path("scenario"), "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        done = self.run_model(*options, "--scenario", "scenario", "--", WORK)
        self.assertIn("down 0", done.stdout, done.stderr)

    def test_a_line_that_brings_itself_about(self):
        self.run_scenario("every call=any:1 netdev port=1 up")

    def test_lines_that_bring_each_other_about(self):
        self.run_scenario("every call=any:1 netdev port=1 up",
                          "every call=any:1 netdev port=2 down")

    def test_lines_that_take_longer_than_their_period(self):
        for mode in "sync", "thread", "polled":
            self.run_scenario("every 1ns wire port=1 clear",
                              "every 1ns wire port=2 clear",
                              options=("--mode", mode))


class Limits(Case):
    def test_few_descriptors(self):
        statuses = set()
        for number in range(4, 17):
            done = self.run_model("--", "true",
                                  limits=[(resource.RLIMIT_NOFILE, number)])
            # Less than the dynamic linker needs: it says so with 127.
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
            while self.state(pid) != "T":
                pass
            launcher.terminate()
            self.assertEqual(launcher.wait(30), 128 + signal.SIGTERM)

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
            text=True, timeout=60, check=False)
        if done.returncode == 99:
            self.skipTest("cannot mount")
        self.assertEqual(done.stdout, f"{OWN_ERROR}\nold\n", done.stderr)
        self.assertIn("No space left on device", done.stderr)


class OddFiles(Case):
    def options(self, path):
        for option in "--trace", "--report", "--scenario":
            yield option, path
        for direction in "in", "out":
            yield "--wire", f"1=pcap:{direction}={path}"

    def test_fifo_without_other_end(self):
        os.mkfifo(self.path("fifo"))
        for option, value in self.options("fifo"):
            self.refused(option, value, says=["is a FIFO", "give a file"])

    def test_folder(self):
        os.mkdir(self.path("folder"))
        for option, value in self.options("folder"):
            self.refused(option, value, says=["Is a directory", "; give "])

    def test_nowhere(self):
        for option, value in self.options("/nonexistent/file"):
            self.refused(option, value,
                         says=["No such file or directory", "; give "])

    def test_full(self):
        for option, value in ("--trace", "/dev/full"), \
                ("--report", "/dev/full"), ("--wire", "1=pcap:out=/dev/full"):
            self.refused(option, value,
                         says=["No space left on device", "; give "])

    def test_pipes_of_a_shell(self):
        done = subprocess.run(
            ["bash", "-c", f"""{MODEL} --quiet --report >(cat >&2) \
             --scenario <(echo link port=2 down) -- true; exit $?"""],
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"link port=2 down"', done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
