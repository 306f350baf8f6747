# SPDX-License-Identifier: BSD-3-Clause
"""The modelled machine: how it is started, and its report."""

import atexit
import contextlib
import glob
import json
import os
import subprocess
import tempfile
import time

import machine
from console import timeout_factor

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MANA_BUILD", os.path.join(TOP, "build"))
MODEL = os.path.join(BUILD, "model", "mana-model")
PLUGIN = os.environ.get(
    "MANA_PLUGIN", os.path.join(BUILD, "drivers", "librte_net_mana.so.23.0"))

# A test that is killed leaves no machine behind.
os.environ["MANA_MODEL_END_WITH_PARENT"] = "1"

MAC_BASE = 0x000d3a000001


def mac(port):
    """The address of a port of the machine, counted over all functions."""
    digits = f"{MAC_BASE + port:012x}"
    return ":".join(digits[at:at + 2] for at in range(0, 12, 2))


def pci(function):
    return f"{0x7870 + function:04x}:00:00.0"


class Report:
    """The launcher's account of a run: what happened on the wire."""

    def __init__(self, data):
        self.data = data

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as file:
            return cls(json.load(file))

    @property
    def ports(self):
        """By MAC address."""
        return {port["mac"].lower(): port for port in self.data["ports"]}

    def port(self, number):
        return self.ports[mac(number)]

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


def program_environment():
    """With MANA_PRELOAD (a sanitizer's run-time) ahead of the model's library."""
    environment = dict(os.environ)
    preload = environment.pop("MANA_PRELOAD", "")
    if preload:
        environment["LD_PRELOAD"] = preload
    if os.geteuid() != 0:
        environment["XDG_RUNTIME_DIR"] = machine.runtime_folder()
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
        """A further program on the machine, once it runs."""
        return [MODEL, "--join", self.name, "--", *argv]

    def tell(self, *words):
        """One command to the running machine."""
        done = subprocess.run([MODEL, "ctl", self.name, *words], check=False,
                              capture_output=True, text=True, timeout=30)
        if done.returncode != 0:
            raise AssertionError(f"ctl {' '.join(words)}: {done.stderr}")

    def live_report(self):
        """The report of the machine while it runs."""
        done = subprocess.run([MODEL, "ctl", self.name, "report"], check=True,
                              capture_output=True, timeout=30)
        return Report(json.loads(done.stdout))

    def wait_until(self, reached, program, timeout=60, pause=0.1):
        """
        Waits until reached(report of the running machine) is true; the report. The
        machine is there when its program, a Console, has been started.
        """
        end = time.monotonic() + timeout * timeout_factor()
        report = None
        while True:
            with contextlib.suppress(subprocess.CalledProcessError):
                report = self.live_report()
                if reached(report):
                    return report
            if program.process.poll() is not None:
                raise AssertionError("the program ended before that")
            if time.monotonic() > end:
                raise AssertionError(f"not reached in {timeout} s: "
                                     f"{report and report.ports}")
            time.sleep(pause)

    def report(self):
        """The report of a machine that has ended."""
        left = glob.glob(f"/dev/shm/mana-model-*-{self.name}") + glob.glob(
            f"/tmp/mana-model-*-{self.name}")
        if left:
            raise AssertionError(f"the launcher left {left}")
        return Report.load(self.report_path)
