# SPDX-License-Identifier: BSD-3-Clause
"""Common parts of the model's tests in Python, beside model/python/mana_model.py: cases with
a run folder of their own.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "python"))

# pylint: disable=wrong-import-position,unused-import
from mana_model import (BUILD, MANA_VM, MODEL, TOP, Guest, Report, children,  # noqa: E402,F401
                        comm, find_child, mac, pci, prepare_or_skip, timeout_factor,
                        wait_until)

FOLDER = os.path.join(BUILD, "model")
PATIENCE_S = 60 * timeout_factor()


def program(name):
    """The path of a program built with the tests."""
    return os.path.join(FOLDER, "test", name)


def lives(pid):
    """Whether the process exists and is no zombie."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    return False


class Case(unittest.TestCase):
    """Tests with their own run folder, which must be empty at the end."""

    # For programs that are not built with a sanitizer, or die on purpose: its
    # own handler would give exit status 1. None: the value of the caller.
    asan_options = "detect_leaks=0:handle_segv=0"
    # The parent of folders, in memory, as the launcher's own choice: a machine has hundreds
    # of files, some tests thousands of machines. None: the system's default.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="model-test-", dir=self.place)
        self.folders = os.path.join(self.base, "machines")
        os.mkdir(self.folders)
        # Also for programs of other users.
        os.chmod(self.base, 0o777)
        os.chmod(self.folders, 0o777)
        self.env = dict(os.environ, MANA_MODEL_RUNDIR=self.folders)
        if self.asan_options is not None:
            self.env["ASAN_OPTIONS"] = self.asan_options
            self.env.pop("LD_PRELOAD", None)
        self.report_path = self.path("report.json")
        self.started = []

    def tearDown(self):
        killed = [process for process in self.started if process.poll() is None]
        for process in killed:
            process.kill()
        for process in self.started:
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
        if killed:      # their guardians clear up
            with contextlib.suppress(AssertionError):
                wait_until(lambda: not os.listdir(self.folders), "folders are left")
        left = os.listdir(self.folders)
        shutil.rmtree(self.base)
        self.assertEqual(left, [], "run folders left behind")

    def path(self, name):
        return os.path.join(self.base, name)

    def write(self, name, text):
        """Returns the path of a file with this text."""
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def machine_folder(self, name):
        """The run folder of a machine with this name."""
        return os.path.join(self.folders, f"mana-model-{os.getuid()}-{name}")

    def run_model(self, *args, prefix=(), timeout=60, env=None, **more):
        return subprocess.run([*prefix, MODEL, *args],
                              env=dict(self.env, **(env or {})), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout * timeout_factor(), check=False, **more)

    def refusal(self, *args, nb_lines=1, **more):
        """What the launcher says, in so many lines, when it refuses these arguments."""
        done = self.run_model(*args, **more)
        self.assertEqual((done.returncode, done.stdout), (125, ""), (args, done.stderr))
        self.assertTrue(done.stderr.startswith("mana-model: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), nb_lines, done.stderr)
        return done.stderr

    def start(self, *argv, **more):
        """Starts a process that ends with the test."""
        process = subprocess.Popen(argv, env=self.env, text=True,
                                   **{"stdout": subprocess.PIPE, **more})
        self.started.append(process)
        return process

    def start_model(self, *args, **more):
        return self.start(MODEL, *args, **{"stderr": subprocess.PIPE, **more})

    def report(self, path=None):
        with open(path or self.report_path, encoding="utf-8") as file:
            return json.load(file)

    def live(self, name):
        """The report of a running machine; None if none of that name answers."""
        done = self.run_model("ctl", name, "report")
        return json.loads(done.stdout) if done.returncode == 0 else None


def main():
    """Runs unittest; SIGTERM at a time limit ends it cleanly."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    # With names, and reasons of skipped tests.
    unittest.main(verbosity=2)
