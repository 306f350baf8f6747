#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that join a machine: mana-model --join.

usage: test_join.py FOLDER (with mana-model and libmana-model.so)
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FOLDER = sys.argv[1] if len(sys.argv) > 1 else "build/model"
MODEL = os.path.join(FOLDER, "mana-model")
TWO = os.path.join(FOLDER, "test", "two_programs")
PATIENCE_S = 60


def until(found, what):
    """Waits for a true value."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


def below(pid, name):
    """The process of that name below pid, or None."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return None
    for child in children:
        try:
            with open(f"/proc/{child}/comm", encoding="ascii") as file:
                if file.read().strip() == name:
                    return child
        except FileNotFoundError:
            pass
    return None


class Join(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="mana-join-")
        # What a killed launcher leaves is just being removed.
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = dict(os.environ, MANA_MODEL_END_WITH_PARENT="1",
                                MANA_MODEL_RUNDIR=self.folder)
        self.socket = os.path.join(self.folder, "s")
        self.path = os.path.join(self.folder, "report")
        self.started = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()

    def start(self, *words):
        process = subprocess.Popen([MODEL, *words], env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        self.started.append(process)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def machine(self, *words):
        """A machine with this program; returns when ctl reaches it."""
        process = self.start("--quiet", "--name", "m", "--report", self.path,
                             "--", *words)
        until(self.live, "the machine")
        return process

    def until_socket(self, process):
        until(lambda: os.path.exists(self.socket) or process.poll() is not None,
              "the owner's socket")
        if process.poll() is not None:
            self.fail("the owner ended: " + process.communicate()[1])

    def owner(self, nb_frames):
        process = self.machine(TWO, "owner", self.socket, str(nb_frames))
        self.until_socket(process)
        return process

    def guest(self, nb_frames):
        return self.start("--join", "m", "--", TWO, "guest", self.socket,
                          str(nb_frames))

    def live(self):
        done = subprocess.run([MODEL, "ctl", "m", "report"], text=True,
                              env=self.environment, capture_output=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def ends(self, process, status):
        errors = process.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual(process.returncode, status, errors)
        return errors

    def report(self):
        with open(self.path, encoding="ascii") as file:
            return json.load(file)

    def sent(self, report):
        return report["ports"][0]["tx"]["packets"]

    def check_clean(self, report):
        self.assertEqual(report["violations"], [])
        self.assertFalse(any(report["leaks"].values()), report["leaks"])
        self.assertEqual(os.listdir(self.folder), ["report"])

    def test_shared_queue(self):
        owner = self.owner(7)
        self.ends(self.guest(1000), 0)
        self.ends(owner, 0)
        report = self.report()
        self.assertEqual(self.sent(report), 1007)
        self.assertEqual(report["doorbells"]["sq"], 1007)
        self.check_clean(report)

    def test_killed_guests(self):
        """Whenever the guest dies, the owner goes on with the same queue."""
        for round_ in range(5):
            owner = self.owner(100)
            guest = self.guest(0)
            until(lambda: self.sent(self.live()) > 50 * (round_ + 1), "frames")
            os.kill(until(lambda: below(guest.pid, "two_programs"), "guest"),
                    signal.SIGKILL)
            self.ends(guest, 128 + signal.SIGKILL)
            self.ends(owner, 0)
            report = self.report()
            self.assertGreater(self.sent(report), 150)
            self.check_clean(report)

    def test_killed_owner(self):
        """The mapping keeps the context; when the last is gone, it is told."""
        owner = self.owner(0)
        guest = self.guest(0)
        until(lambda: self.sent(self.live()) > 10, "frames")
        os.kill(until(lambda: below(owner.pid, "two_programs"), "owner"),
                signal.SIGKILL)
        # The machine ends with its program, and the guest with the machine.
        self.ends(owner, 128 + signal.SIGKILL)
        self.assertNotEqual(guest.wait(timeout=PATIENCE_S), 0)
        report = self.report()
        for kind in ("pd", "mr", "cq", "qp"):
            self.assertGreater(report["leaks"][kind], 0, report["leaks"])
        self.assertFalse(any(report["objects"].values()), report["objects"])

    def test_killed_joined_owner(self):
        """The owner has joined too: the machine lives, and so does the context."""
        machine = self.machine("sleep", "1000")
        owner = self.start("--join", "m", "--", TWO, "owner", self.socket, "0")
        self.until_socket(owner)
        guest = self.guest(0)
        until(lambda: self.sent(self.live()) > 10, "frames")
        os.kill(until(lambda: below(owner.pid, "two_programs"), "owner"),
                signal.SIGKILL)
        self.ends(owner, 128 + signal.SIGKILL)
        self.assertEqual(self.live()["objects"]["qp"], 1)
        os.kill(until(lambda: below(guest.pid, "two_programs"), "guest"),
                signal.SIGKILL)
        guest.wait(timeout=PATIENCE_S)
        until(lambda: self.live()["leaks"]["qp"] == 1, "the context's end")
        self.assertFalse(any(self.live()["objects"].values()))
        machine.terminate()
        machine.wait(timeout=PATIENCE_S)

    def test_two_owners(self):
        """Two programs, a function of the machine each."""
        self.machine("sleep", "1000")
        done = [self.start("--join", "m", "--", "ibv_devinfo") for _ in range(3)]
        for process in done:
            output, errors = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 0, errors)
            self.assertIn("hca_id", output)

    def test_machine_ends_first(self):
        machine = self.machine("sleep", "1000")
        guest = self.start("--join", "m", "--", "sleep", "1000")
        until(lambda: below(guest.pid, "sleep"), "the guest")
        machine.send_signal(signal.SIGTERM)
        self.ends(machine, 128 + signal.SIGTERM)
        self.assertNotEqual(guest.wait(timeout=PATIENCE_S), 0)

    def test_killed_launchers(self):
        """Of the machine, then of the one that has joined."""
        machine = self.machine("sleep", "1000")
        guest = self.start("--join", "m", "--", "sleep", "1000")
        program = until(lambda: below(guest.pid, "sleep"), "the guest")
        machine.kill()
        machine.wait()
        errors = guest.communicate(timeout=PATIENCE_S)[1]
        self.assertGreater(guest.returncode, 128)
        self.assertIn("was switched off", errors)
        until(lambda: not os.path.exists(f"/proc/{program}"), "the guest's end")

        self.machine("sleep", "1000")
        guest = self.start("--join", "m", "--", "sleep", "1000")
        program = until(lambda: below(guest.pid, "sleep"), "the guest")
        guest.kill()
        until(lambda: not os.path.exists(f"/proc/{program}"), "the guest's end")

    def test_wrong_lines(self):
        for words, message in (
                (["--join", "m", "--", "true"], "no machine named m"),
                (["--join", "a/b", "--", "true"], "give 1 to"),
                (["--join", "m", "--ports", "2", "--", "true"], "no other option"),
                (["--join", "m"], "no program to run")):
            errors = self.ends(self.start(*words), 125)
            self.assertIn(message, errors)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
