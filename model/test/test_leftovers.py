#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""No process or file outlives its machine, whichever process is killed, at any time.

usage: test_leftovers.py [unittest arguments]      (see model_test.py)
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import unittest

from model_test import MODEL, Case, find_child, lives, main, wait_until

# Ignores SIGTERM and prints its pid.
DEAF = 'trap "" TERM; echo $$; while :; do sleep 0.1; done >&2'

# A test that is killed: it has started a machine, and cannot end it.
KILLED_TEST = """
import subprocess, sys, time
import model_test
subprocess.Popen([model_test.MODEL, "--quiet", "--name", "orphan", "--", "sh", "-c",
                  sys.argv[1]], start_new_session=True)
time.sleep(1000)
"""


class Leftovers(Case):
    def setUp(self):
        super().setUp()
        self.env["DEAF"] = DEAF
        self.pids = []

    def tearDown(self):
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        super().tearDown()

    def start_model(self, name, script, *options, **more):
        return self.start(MODEL, *(options or ["--quiet", "--name", name]), "--",
                          "sh", "-c", script, **more)

    def read_pids(self, process, nb):
        pids = [int(process.stdout.readline()) for _ in range(nb)]
        self.pids += pids
        return pids

    def all_end(self):
        """All processes whose pids were read have ended, and the folders are gone."""
        for pid in self.pids:
            wait_until(lambda pid=pid: not lives(pid), f"{pid} lives on")
        wait_until(lambda: os.listdir(self.folders) == [], "folders are left")

    def test_killed_during_its_end(self):
        """Sends SIGTERM, then SIGKILL, as a test runner does."""
        model = self.start_model("ending", 'setsid sh -c "$DEAF" & echo $$; wait')
        pids = self.read_pids(model, 2)
        program = [pid for pid in pids if os.getsid(pid) == os.getsid(0)]
        self.assertEqual(len(program), 1)
        model.terminate()
        wait_until(lambda: not lives(program[0]), "the program lives on")
        model.kill()
        self.all_end()

    def test_daemons(self):
        """Neither session, environment nor parents matter, however the machine ends."""
        for how, status in ((None, 0), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            with self.subTest(how=how):
                model = self.start_model(
                    "daemons", 'env -i setsid -f sh -c \'sh -c "$0" & echo $$\' "$DEAF";'
                    'read line', stdin=subprocess.PIPE)
                self.read_pids(model, 2)
                if how is None:
                    model.stdin.write("end\n")
                    model.stdin.flush()
                else:
                    model.send_signal(how)
                self.assertEqual(model.wait(), status)
                if how != signal.SIGKILL:   # the launcher ends when all have ended
                    self.assertEqual([pid for pid in self.pids if lives(pid)], [])
                self.all_end()

    def test_killed_launcher(self):
        """Also ends a nested machine."""
        model = self.start_model(
            "killed", 'setsid sh -c "$DEAF" &'
            f"{MODEL} --quiet --name inner -- sh -c 'setsid sh -c \"$DEAF\"' & wait")
        self.read_pids(model, 2)
        model.kill()
        self.all_end()

    def test_killed_guardian(self):
        """The kernel ends the program, the launcher all others."""
        for options in ((), ("--join", "host")):
            with self.subTest(options=options):
                if options:
                    host = self.start_model("host", "echo $$; exec sleep 1000")
                    self.read_pids(host, 1)
                model = self.start_model("guarded", 'setsid sh -c "$DEAF" & echo $$; wait',
                                         *options)
                pids = self.read_pids(model, 2)
                os.kill(find_child(model.pid, "mana-guardian"), signal.SIGKILL)
                self.assertEqual(model.wait(), 128 + signal.SIGKILL)
                self.assertEqual([pid for pid in pids if lives(pid)], [])
        host.terminate()
        host.wait()
        self.all_end()

    def test_killed_with_its_guardian(self):
        """The kernel ends the program; the user's next machine removes the folder."""
        model = self.start_model("both", "echo $$; exec sleep 1000")
        self.read_pids(model, 1)
        guardian = find_child(model.pid, "mana-guardian")
        model.send_signal(signal.SIGSTOP)
        os.kill(guardian, signal.SIGKILL)
        model.kill()
        model.wait()
        wait_until(lambda: not lives(guardian), "the guardian lives on")
        self.assertEqual(len(os.listdir(self.folders)), 1)
        self.assertEqual(self.run_model("--quiet", "true").returncode, 0)
        self.all_end()

    def test_guardian_below_another_machine(self):
        """It continues while the outer machine ends everything that runs on it."""
        model = self.start_model(
            "outer", f"{MODEL} --quiet --name inner -- sh -c '"
            "setsid sh -c \"$DEAF\" & exec sh -c \"$DEAF\"' & exec sleep 1000")
        self.read_pids(model, 2)
        model.terminate()
        model.wait()
        self.all_end()

    @unittest.skipUnless(os.getuid() == 0, "needs root, to become somebody else")
    def test_process_of_another_user(self):
        """The launcher may not end the second one, and does not wait for it."""
        become = ("setpriv", "--reuid=65534", "--clear-groups")
        if subprocess.run([*become, "test", "-r", MODEL]).returncode != 0:
            self.skipTest("other users may not read the build folder")
        programs = []
        for name in ("sleep", "setpriv"):
            programs.append(shutil.copy(shutil.which(name), self.base))
            os.chmod(programs[-1], 0o4755)
        done = self.run_model(
            "--quiet", "--", "sh", "-c", f"{programs[0]} 1000 >/dev/null & echo $!;"
            f"{programs[1]} --reuid=65533 sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &"
            "sleep 0.5",
            prefix=become)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.pids += [int(word) for word in done.stdout.split()]
        self.assertEqual([lives(pid) for pid in self.pids], [False, True])

    def test_joined(self):
        """All that joined launchers run ends with the machine, or with them."""
        for killed in ("host", "guest"):
            with self.subTest(killed=killed):
                host = self.start_model("host", "echo $$; exec sleep 1000")
                self.read_pids(host, 1)
                guest = self.start_model(None, 'setsid sh -c "$DEAF" & sh -c "$DEAF"',
                                         "--join", "host")
                left = self.read_pids(guest, 2)
                (host if killed == "host" else guest).kill()
                for pid in left:
                    wait_until(lambda pid=pid: not lives(pid), f"{pid} lives on")
                guest.wait()
                if killed == "guest":
                    self.assertIsNone(host.poll())
                    host.terminate()
                host.wait()
                self.all_end()

    def test_joined_launcher_is_stopped(self):
        """The machine ends without its help."""
        host = self.start_model("host", "echo $$; exec sleep 1000")
        self.read_pids(host, 1)
        guest = self.start_model(None, "echo $$; exec sleep 1000", "--join", "host")
        self.read_pids(guest, 1)
        guest.send_signal(signal.SIGSTOP)
        host.terminate()
        host.wait()
        self.assertEqual(guest.wait(), -signal.SIGKILL)
        self.all_end()

    def test_killed_test(self):
        test = self.start(sys.executable, "-c", KILLED_TEST, DEAF,
                          cwd=os.path.dirname(os.path.abspath(__file__)))
        self.read_pids(test, 1)
        test.kill()
        self.all_end()


if __name__ == "__main__":
    main()
