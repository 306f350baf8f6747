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
import time

from model_test import (FOLDER, MODEL, Case, find_child, lives, main, wait_until)

# Ignores SIGTERM and prints its pid.
DEAF = 'trap "" TERM; echo $$; while :; do sleep 0.1; done >&2'

# Like programs that show a title in ps, overwrites its environment.
TITLED = """
import ctypes, os, sys, time
open("/sys/class/infiniband_verbs/uverbs0/dev").close()
libc = ctypes.CDLL(None)
first = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
at = 0
while first[at] is not None:
    ctypes.memset(first[at], ord("x"), len(ctypes.string_at(first[at])))
    at += 1
os.write(1, b"%d%c" % (os.getpid(), 10))  # at one go, whatever PYTHONUNBUFFERED
time.sleep(1000)
"""

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
        self.env.update(DEAF=DEAF, TITLED=TITLED)
        self.pids = []

    def tearDown(self):
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        super().tearDown()

    def start_model(self, name, script, *options):
        return self.start(MODEL, *(options or ["--quiet", "--name", name]), "--",
                          "sh", "-c", script)

    def read_pids(self, process, nb):
        pids = [int(process.stdout.readline()) for _ in range(nb)]
        self.pids += pids
        return pids

    def leave_all(self, name, script):
        """A killed machine that has not been cleaned up; the pid of its program."""
        model = self.start_model(name, script)
        left, = self.read_pids(model, 1)
        guardian = find_child(model.pid, "mana-guardian")
        os.kill(guardian, signal.SIGKILL)
        model.kill()
        model.wait()
        wait_until(lambda: not lives(guardian), "the guardian lives on")
        return left

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

    def test_killed_launcher(self):
        """Also ends a process without the environment, and a nested machine."""
        model = self.start_model(
            "killed", f'setsid {sys.executable} -c "$TITLED" & echo $$;'
            f"{MODEL} --quiet --name inner -- sh -c 'setsid sh -c \"$DEAF\"' & wait")
        self.read_pids(model, 3)
        model.kill()
        self.all_end()

    def test_killed_with_its_guardian(self):
        """The user's next machine cleans up."""
        self.leave_all("both", 'setsid sh -c "$DEAF" & wait')
        self.assertEqual(self.run_model("--quiet", "true").returncode, 0)
        self.all_end()

    def test_same_folder_in_a_container(self):
        """The path is that of a killed machine, but the folder is another one."""
        enter = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                 'mount -t tmpfs none "$MANA_MODEL_RUNDIR" && exec "$0" "$@"']
        if subprocess.run([*enter, "true"], env=self.env, stderr=subprocess.DEVNULL,
                          check=False).returncode != 0:
            self.skipTest("no namespaces for this user")
        other = self.start(
            *enter, MODEL, "--quiet", "--name", "twin", "--",
            "sh", "-c", f'{sys.executable} -c "$TITLED" & echo $$; wait')
        others = [int(other.stdout.readline()) for _ in range(2)]
        self.assertEqual(os.listdir(self.folders), [])
        model = self.start_model("twin", 'setsid sh -c "$DEAF" & echo $$; wait')
        self.read_pids(model, 2)
        model.kill()
        self.all_end()
        self.assertEqual([pid for pid in others if not lives(pid)], [])
        self.assertIsNone(other.poll())
        self.pids += others
        other.terminate()
        other.wait()
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

    def test_ctl_of_another_build(self):
        """Joined launchers with other files also report the end."""
        build = self.path("build")
        os.mkdir(build)
        for name in ("mana-model", "libmana-model.so"):
            shutil.copy(os.path.join(FOLDER, name), build)
        model = self.start_model("host", "echo $$; exec sleep 1000")
        self.read_pids(model, 1)
        guest = self.start(os.path.join(build, "mana-model"), "--join", "host",
                           "--", "sh", "-c", DEAF, stderr=subprocess.PIPE)
        self.read_pids(guest, 1)
        model.kill()
        self.assertIn("the machine host was switched off", guest.communicate()[1])
        self.assertEqual(guest.returncode, 128 + signal.SIGKILL)
        self.all_end()

    def test_two_machines_clean_up(self):
        """A new machine with this name starts after the old one has ended."""
        left = self.leave_all("dead", 'setsid sh -c "$DEAF" & wait')
        slow = self.start_model("slow", "exec sleep 0.1")
        wait_until(lambda: not lives(left), "it is not cleared up", pause=0.001)
        slow.send_signal(signal.SIGSTOP)  # meanwhile
        model = self.start_model("dead", "echo $$; exec sleep 1000")
        time.sleep(0.5)
        slow.send_signal(signal.SIGCONT)
        program, = self.read_pids(model, 1)
        self.assertEqual(slow.wait(), 0)
        self.assertTrue(lives(program))
        self.assertEqual(os.listdir(self.folders), [f"mana-model-{os.getuid()}-dead"])
        model.terminate()
        model.wait()
        self.all_end()

    def test_machine_started_on_a_killed_machine(self):
        """It cleans up the machine that started it, and continues."""
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        self.leave_all(
            "dead", f"setsid sh -c 'echo $$; read line <{fifo};"
            f" {MODEL} --quiet -- sh -c \"echo \\$\\$\"; :' & wait")
        with open(fifo, "w", encoding="ascii") as file:
            file.write("go\n")
        self.read_pids(self.started[0], 1)
        self.all_end()

    def test_killed_joined_launcher(self):
        """What it leaves behind ends with the machine, in any case."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            model = self.start_model("host", "echo $$; exec sleep 1000")
            self.read_pids(model, 1)
            guest = self.start_model(
                None, f'setsid {sys.executable} -c "$TITLED" & setsid sh -c "$DEAF" & wait',
                "--join", "host")
            left = self.read_pids(guest, 2)
            guest.kill()
            guest.wait()
            self.assertTrue(all(lives(pid) for pid in left))
            model.send_signal(how)
            model.wait()
            self.all_end()

    def test_killed_test(self):
        test = self.start(sys.executable, "-c", KILLED_TEST, DEAF,
                          cwd=os.path.dirname(os.path.abspath(__file__)))
        self.read_pids(test, 1)
        test.kill()
        self.all_end()


if __name__ == "__main__":
    main()
