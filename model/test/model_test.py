# SPDX-License-Identifier: BSD-3-Clause
"""Common parts of all Python tests, of the model and on it: starting a machine, its
report, its processes, waiting.

MANA_BUILD names the build folder; without it, build/ of the checkout.
"""

import atexit
import contextlib
import functools
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.abspath(os.environ.get("MANA_BUILD", os.path.join(TOP, "build")))
FOLDER = os.path.join(BUILD, "model")
MODEL = os.path.join(FOLDER, "mana-model")

# A test that is killed leaves no machine behind.
os.environ["MANA_MODEL_END_WITH_PARENT"] = "1"

MAC_BASE = 0x000d3a000001


def mac(port):
    """The MAC address of a port, numbered over all functions."""
    digits = f"{MAC_BASE + port:012x}"
    return ":".join(digits[at:at + 2] for at in range(0, 12, 2))


def pci(function):
    return f"{0x7870 + function:04x}:00:00.0"


def program(name):
    """The path of a program built with the tests."""
    return os.path.join(FOLDER, "test", name)


# ---- Waiting ----

def timeout_factor():
    """The factor by which sanitizers and slow machines extend time limits."""
    return float(os.environ.get("MANA_TIMEOUT_FACTOR", "1"))


PATIENCE_S = 60 * timeout_factor()


def part(number):
    """How often to do what is done number times: MANA_TEST_PART divides it, if set."""
    return max(1, number // int(os.environ.get("MANA_TEST_PART", "1")))


def wait_until(reached, what, timeout=60, pause=0.02):
    """
    Waits until reached() is true, and returns its value. The time limit is far
    longer than any wait here takes.
    """
    end = time.monotonic() + timeout * timeout_factor()
    while not (value := reached()):
        if time.monotonic() > end:
            raise AssertionError(f"{what() if callable(what) else what}: "
                                 f"not within {timeout} s")
        time.sleep(pause)
    return value


# ---- Processes ----

def children(pid):
    """All descendants of pid, nearest first."""
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [int(child) for child in file.read().split()]
    return found + [below for child in found for below in children(child)]


def comm(pid):
    """The name of a process; "" if it has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().strip()
    return ""


def lives(pid):
    """Whether the process exists and is no zombie."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    return False


def find_child(pid, name):
    """Waits for a descendant of pid with that name."""
    def found():
        return next((child for child in children(pid) if comm(child) == name[:15]), None)
    return wait_until(found, f"a process {name} below {pid}")


# ---- The machine ----

class Report:
    """The launcher's report of a run."""

    def __init__(self, data):
        self.data = data

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as file:
            return cls(json.load(file))

    @property
    def ports(self):
        """The port with a MAC address."""
        return {port["mac"].lower(): port for port in self.data["ports"]}

    def port(self, number):
        return self.ports[mac(number)]

    def sink(self, number):
        """The counters of the sink at the far end of a port."""
        return self.port(number)["wire"]["sink"]

    @property
    def violations(self):
        return self.data["violations"]

    @property
    def doorbells(self):
        return self.data["doorbells"]

    @property
    def leaks(self):
        return {kind: count for kind, count in self.data["leaks"].items() if count}

    @property
    def objects(self):
        """Kernel objects that exist now, by kind."""
        return self.data["objects"]

    def dump(self):
        return json.dumps(self.data, indent=1)


@functools.lru_cache(maxsize=None)
def runtime_folder():
    """The folder of EAL's sockets for an ordinary user, removed at the end of this script."""
    folder = tempfile.mkdtemp(prefix="mana-run-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def program_environment():
    """With MANA_PRELOAD (a sanitizer's run-time) ahead of the model's library."""
    environment = dict(os.environ)
    preload = environment.pop("MANA_PRELOAD", "")
    if preload:
        environment["LD_PRELOAD"] = preload
    if os.geteuid() != 0:
        environment["XDG_RUNTIME_DIR"] = runtime_folder()
    return environment


class Model:
    """One modelled machine: options, name, report file."""

    STRICT = ("--fatal-violations", "--cq-doorbell=strict")

    def __init__(self, *options, strict=True, name=None):
        self.name = name or f"test-{os.getpid()}"
        handle, self.report_path = tempfile.mkstemp(prefix="mana-report-")
        os.close(handle)
        atexit.register(self._remove_report)
        self.options = list(options) + (list(self.STRICT) if strict else [])

    def _remove_report(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.report_path)

    def command(self, *argv):
        return [MODEL, *self.options, "--name", self.name,
                "--report", self.report_path, "--", *argv]

    def join_command(self, *argv):
        """Starts another program on the running machine."""
        return [MODEL, "--join", self.name, "--", *argv]

    def ctl(self, *words):
        """Sends a command to the running machine."""
        done = subprocess.run([MODEL, "ctl", self.name, *words], check=False,
                              capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise AssertionError(f"ctl {' '.join(words)}: {done.stderr}")

    def live_report(self):
        """The report of the machine while it runs."""
        done = subprocess.run([MODEL, "ctl", self.name, "report"], check=True,
                              capture_output=True, timeout=60)
        return Report(json.loads(done.stdout))

    def wait_until(self, reached, console, timeout=60, pause=0.1):
        """
        Waits until reached(report of the running machine) is true; returns the report.
        The machine exists once its program, a Console, has been started.
        """
        report = None

        def is_reached():
            nonlocal report
            with contextlib.suppress(subprocess.CalledProcessError):
                report = self.live_report()
                if reached(report):
                    return report
            if console.process.poll() is not None:
                raise AssertionError("the program ended before that")
            return None
        return wait_until(is_reached, lambda: f"{report and report.ports}", timeout, pause)

    def report(self):
        """The report of a machine that has ended."""
        left = glob.glob(f"/dev/shm/mana-model-*-{self.name}") + glob.glob(
            f"/tmp/mana-model-*-{self.name}")
        if left:
            raise AssertionError(f"the launcher left {left}")
        return Report.load(self.report_path)


class Case(unittest.TestCase):
    """Tests with their own run folder, which must be empty at the end."""

    # For programs that are not built with a sanitizer, or die on purpose: its
    # own handler would give exit status 1. None: the value of the caller.
    asan_options = "detect_leaks=0:handle_segv=0"
    # The parent of folders; None: the system's default.
    place = None

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

    def machine_folder(self, name):
        """The run folder of a machine with this name."""
        return os.path.join(self.folders, f"mana-model-{os.getuid()}-{name}")

    def run_model(self, *args, prefix=(), timeout=60, env=None, **more):
        return subprocess.run([*prefix, MODEL, *args],
                              env=dict(self.env, **(env or {})), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout * timeout_factor(), check=False, **more)

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


def main():
    """Runs unittest; SIGTERM at a time limit ends it cleanly."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    unittest.main()
