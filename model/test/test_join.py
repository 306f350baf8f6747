#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that join a machine: mana-model --join.

usage: test_join.py [unittest arguments]      (see model_test.py)
"""

import os
import signal

from model_test import PATIENCE_S, Case, find_child, lives, main, program, wait_until

TWO = program("two_programs")


class Join(Case):
    asan_options = None

    def setUp(self):
        super().setUp()
        self.socket = self.path("s")

    def machine(self, *words):
        """A machine with this program; returns when ctl reaches it."""
        process = self.start_model("--quiet", "--name", "m", "--report", self.report_path,
                                   "--", *words)
        wait_until(lambda: self.live("m"), "the machine")
        return process

    def until_socket(self, process):
        wait_until(lambda: os.path.exists(self.socket) or process.poll() is not None,
                   "the owner's socket")
        if process.poll() is not None:
            self.fail("the owner ended: " + process.communicate()[1])

    def owner(self, nb_frames):
        process = self.machine(TWO, "owner", self.socket, str(nb_frames))
        self.until_socket(process)
        return process

    def guest(self, nb_frames):
        return self.start_model("--join", "m", "--", TWO, "guest", self.socket,
                                str(nb_frames))

    def ends(self, process, status):
        errors = process.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual(process.returncode, status, errors)
        return errors

    def sent(self, report):
        return report["ports"][0]["tx"]["packets"]

    def check_clean(self, report):
        self.assertEqual(report["violations"], [])
        self.assertFalse(any(report["leaks"].values()), report["leaks"])
        self.assertEqual(os.listdir(self.folders), [])

    def test_shared_queue(self):
        owner = self.owner(7)
        self.ends(self.guest(1000), 0)
        self.ends(owner, 0)
        report = self.report()
        self.assertEqual(self.sent(report), 1007)
        self.assertEqual(report["doorbells"]["sq"], 1007)
        self.check_clean(report)

    def test_killed_guests(self):
        """The owner continues with the same queue, whenever the guest is killed."""
        for round_ in range(5):
            owner = self.owner(100)
            guest = self.guest(0)
            wait_until(lambda: self.sent(self.live("m")) > 50 * (round_ + 1), "frames")
            os.kill(find_child(guest.pid, "two_programs"), signal.SIGKILL)
            self.ends(guest, 128 + signal.SIGKILL)
            self.ends(owner, 0)
            report = self.report()
            self.assertGreater(self.sent(report), 150)
            self.check_clean(report)

    def test_killed_owner(self):
        """A mapping keeps the context; the end of the last mapping is reported."""
        owner = self.owner(0)
        guest = self.guest(0)
        wait_until(lambda: self.sent(self.live("m")) > 10, "frames")
        os.kill(find_child(owner.pid, "two_programs"), signal.SIGKILL)
        # The machine ends with its program, and the guest with the machine.
        self.ends(owner, 128 + signal.SIGKILL)
        self.assertNotEqual(guest.wait(timeout=PATIENCE_S), 0)
        report = self.report()
        for kind in ("pd", "mr", "cq", "qp"):
            self.assertGreater(report["leaks"][kind], 0, report["leaks"])
        self.assertFalse(any(report["objects"].values()), report["objects"])

    def test_killed_joined_owner(self):
        """The owner has joined, too: its end ends neither the machine nor the context."""
        machine = self.machine("sleep", "1000")
        owner = self.start_model("--join", "m", "--", TWO, "owner", self.socket, "0")
        self.until_socket(owner)
        guest = self.guest(0)
        wait_until(lambda: self.sent(self.live("m")) > 10, "frames")
        os.kill(find_child(owner.pid, "two_programs"), signal.SIGKILL)
        self.ends(owner, 128 + signal.SIGKILL)
        self.assertEqual(self.live("m")["objects"]["qp"], 1)
        os.kill(find_child(guest.pid, "two_programs"), signal.SIGKILL)
        guest.wait(timeout=PATIENCE_S)
        wait_until(lambda: self.live("m")["leaks"]["qp"] == 1, "the context's end")
        self.assertFalse(any(self.live("m")["objects"].values()))
        machine.terminate()
        machine.wait(timeout=PATIENCE_S)

    def test_two_owners(self):
        """Two programs with one function of the machine each."""
        self.machine("sleep", "1000")
        done = [self.start_model("--join", "m", "--", "ibv_devinfo") for _ in range(3)]
        for process in done:
            output, errors = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 0, errors)
            self.assertIn("hca_id", output)

    def test_machine_ends_first(self):
        machine = self.machine("sleep", "1000")
        guest = self.start_model("--join", "m", "--", "sleep", "1000")
        find_child(guest.pid, "sleep")
        machine.send_signal(signal.SIGTERM)
        self.ends(machine, 128 + signal.SIGTERM)
        self.assertNotEqual(guest.wait(timeout=PATIENCE_S), 0)

    def test_killed_launchers(self):
        """Exit status of the machine's program, then of the joined one."""
        machine = self.machine("sleep", "1000")
        guest = self.start_model("--join", "m", "--", "sleep", "1000")
        sleeper = find_child(guest.pid, "sleep")
        machine.kill()
        machine.wait()
        errors = guest.communicate(timeout=PATIENCE_S)[1]
        self.assertGreater(guest.returncode, 128)
        self.assertIn("was switched off", errors)
        wait_until(lambda: not lives(sleeper), "the guest lives on")

        self.machine("sleep", "1000")
        guest = self.start_model("--join", "m", "--", "sleep", "1000")
        sleeper = find_child(guest.pid, "sleep")
        guest.kill()
        wait_until(lambda: not lives(sleeper), "the guest lives on")

    def test_wrong_lines(self):
        for words, message in (
                (["--join", "m", "--", "true"], "no machine named m"),
                (["--join", "a/b", "--", "true"], "give 1 to"),
                (["--join", "m", "--ports", "2", "--", "true"], "no other option"),
                (["--join", "m"], "no program to run")):
            self.assertIn(message, self.refusal(*words))


if __name__ == "__main__":
    main()
