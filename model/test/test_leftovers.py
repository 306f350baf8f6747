#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Nothing outlives the machine it runs on, whoever is killed, and when.

usage: test_leftovers.py FOLDER [unittest arguments]
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from model_test import FOLDER, MODEL, Case as ModelCase
from test_launcher import children, comm

# Does not end when it is asked to; says its number.
DEAF = 'trap "" TERM; echo $$; while :; do sleep 0.1; done >&2'

# As programs do that show a title in ps: the environment is written over.
TITLED = """
import ctypes, os, sys, time
open("/sys/class/infiniband_verbs/uverbs0/dev").close()
libc = ctypes.CDLL(None)
first = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
at = 0
while first[at] is not None:
    ctypes.memset(first[at], ord("x"), len(ctypes.string_at(first[at])))
    at += 1
print(os.getpid(), flush=True)
time.sleep(1000)
"""

# A test that is killed: it has started a machine, and cannot end it.
KILLED_TEST = """
import subprocess, sys, time
import model_test
subprocess.Popen([model_test.MODEL, "--quiet", "--name", "orphan", "--", "sh", "-c",
                  sys.argv[2]], start_new_session=True)
time.sleep(1000)
"""


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Leftovers(ModelCase):
    def setUp(self):
        super().setUp()
        self.env.update(DEAF=DEAF, TITLED=TITLED)
        self.pids = []
        self.started = []

    def tearDown(self):
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.started:
            process.kill()
            process.communicate()
        super().tearDown()

    def start(self, *argv, **more):
        process = subprocess.Popen(argv, env=self.env, text=True,
                                   stdout=subprocess.PIPE, **more)
        self.started.append(process)
        return process

    def start_model(self, name, script, *options):
        return self.start(MODEL, *(options or ["--quiet", "--name", name]), "--",
                          "sh", "-c", script)

    def read_pids(self, process, nb):
        pids = [int(process.stdout.readline()) for _ in range(nb)]
        self.pids += pids
        return pids

    def wait_until(self, condition, what, nap=0.01):
        end = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(nap)

    def leave_all(self, name, script):
        """A dead machine that nobody has cleared up yet; its program's number."""
        model = self.start_model(name, script)
        left, = self.read_pids(model, 1)
        guardian, = [pid for pid in children(model.pid) if comm(pid) == "mana-guardian"]
        os.kill(guardian, signal.SIGKILL)
        model.kill()
        model.wait()
        self.wait_until(lambda: not lives(guardian), "the guardian lives on")
        return left

    def all_end(self):
        """All whose numbers were read; and the folders go."""
        for pid in self.pids:
            self.wait_until(lambda pid=pid: not lives(pid), f"{pid} lives on")
        self.wait_until(lambda: os.listdir(self.folders) == [], "folders are left")

    def test_killed_while_it_ends(self):
        """Asked to end, then killed: as whoever ends a test does."""
        model = self.start_model("ending", 'setsid sh -c "$DEAF" & echo $$; wait')
        pids = self.read_pids(model, 2)
        program = [pid for pid in pids if os.getsid(pid) == os.getsid(0)]
        self.assertEqual(len(program), 1)
        model.terminate()
        self.wait_until(lambda: not lives(program[0]), "the program lives on")
        model.kill()
        self.all_end()

    def test_killed_launcher(self):
        """Also who has hidden the environment; also a machine on it."""
        model = self.start_model(
            "killed", f'setsid {sys.executable} -c "$TITLED" & echo $$;'
            f"{MODEL} --quiet --name inner -- sh -c 'setsid sh -c \"$DEAF\"' & wait")
        self.read_pids(model, 3)
        model.kill()
        self.all_end()

    def test_killed_with_its_guardian(self):
        """The next machine of the user clears up."""
        self.leave_all("both", 'setsid sh -c "$DEAF" & wait')
        self.assertEqual(self.run_model("--quiet", "true").returncode, 0)
        self.all_end()

    def test_same_folder_in_a_container(self):
        """Its path is that of a killed machine, but the folder is another."""
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
        """It works on when the outer machine ends all that runs on it."""
        model = self.start_model(
            "outer", f"{MODEL} --quiet --name inner -- sh -c '"
            "setsid sh -c \"$DEAF\" & exec sh -c \"$DEAF\"' & exec sleep 1000")
        self.read_pids(model, 2)
        model.terminate()
        model.wait()
        self.all_end()

    def test_ctl_of_another_build(self):
        """Joined launchers of other files tell of the end, too."""
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

    def test_two_that_clear_up(self):
        """A new machine of that name starts when the old one is gone."""
        left = self.leave_all("dead", 'setsid sh -c "$DEAF" & wait')
        slow = self.start_model("slow", "exec sleep 0.1")
        self.wait_until(lambda: not lives(left), "it is not cleared up", 0.001)
        slow.send_signal(signal.SIGSTOP)  # amid it
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

    def test_machine_from_a_shell_left_over(self):
        """It clears up what started it, and lives."""
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        self.leave_all(
            "dead", f"setsid sh -c 'echo $$; read line <{fifo};"
            f" {MODEL} --quiet -- sh -c \"echo \\$\\$\"; :' & wait")
        with open(fifo, "w", encoding="ascii") as file:
            file.write("go\n")
        self.read_pids(self.started[0], 1)
        self.all_end()

    def test_killed_launcher_that_joined(self):
        """What it leaves ends with the machine, in good order or not."""
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
        test = self.start(sys.executable, "-c", KILLED_TEST, FOLDER, DEAF,
                          cwd=os.path.dirname(os.path.abspath(__file__)))
        self.read_pids(test, 1)
        test.kill()
        self.all_end()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
