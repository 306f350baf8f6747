# SPDX-License-Identifier: BSD-3-Clause
"""A DPDK program other than testpmd, on a modelled machine of its own."""

import contextlib
import os
import re
import signal
import subprocess

import machine
from console import Console
from harness import check, check_equal, check_queues, check_report
from model import TOP, Model, plugin_arguments, program_environment
from testpmd import ERROR_LINE, memory_arguments

FLOWS = 8


def example(name, program=None):
    """Builds DPDK's examples if necessary. Returns the path of a program."""
    subprocess.run([os.path.join(TOP, "devtools", "build-examples.sh")], check=True)
    return os.path.join(TOP, "dpdk-examples", name, "build",
                        program or os.path.basename(name))


def generator(port, traffic, packets, flows=FLOWS):
    return ("--wire", f"{port + 1}=gen:count={packets},flows={flows},{traffic}")


def check_all_came(report, port, packets):
    """Each frame arrived once, in order and intact, at the far end of this port."""
    check_equal(f"sink of port {port}", report.sink(port),
                {"received": packets, "duplicated": 0, "reordered": 0,
                 "corrupted": 0, "foreign": 0})


def eal_arguments(*more, nb_lcores=2, memory="no-huge", megabytes=256,
                  log="*:error"):
    """EAL arguments of a DPDK program."""
    return [machine.lcores(nb_lcores), *plugin_arguments(), "--no-telemetry",
            f"--log-level={log}", *memory_arguments(memory, megabytes), *more]


class Application(Console):
    """The program on its machine."""

    def __init__(self, argv, *options, strict=True):
        self.model = Model(*options, strict=strict)
        self.name = os.path.basename(argv[0])
        super().__init__(self.model.command(*argv), env=program_environment())

    def wait_until(self, reached, timeout=60):
        """Waits until reached(report of the running machine) is true; the report."""
        return self.model.wait_until(reached, self, timeout)

    def pid(self):
        """The process id of the program, in its machine."""
        return self.model.pid(self, self.name)

    def signal(self, number):
        self.model.signal(self, self.name, number)

    def interrupt(self):
        """Interrupts the program as Ctrl-C does; returns the launcher's exit status."""
        self.signal(signal.SIGINT)
        return self.wait()

    def finish(self, status=0, leaks=False, expected_errors=()):
        """Checks the exit status and the rules of every run. Returns the report."""
        check_equal(f"exit status of {self.name}", self.wait(), status)
        report = self.model.report()
        check_report(report, leaks)
        for port in report.ports.values():
            check_queues(port)
        errors = [line.group(0) for line in ERROR_LINE.finditer(self.text)
                  if not any(re.search(pattern, line.group(0))
                             for pattern in expected_errors)]
        check(not errors, "unexpected error lines: " + "\n  ".join(errors))
        return report


@contextlib.contextmanager
def application(argv, *options, **keywords):
    """An Application that ends with the block, and shows its output on failure."""
    made = Application(argv, *options, **keywords)
    try:
        yield made
    except BaseException:
        print("---- command:", " ".join(made.argv))
        print("---- output:")
        print(made.text)
        print("----")
        raise
    finally:
        made.kill()
