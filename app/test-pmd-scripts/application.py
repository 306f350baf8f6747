# SPDX-License-Identifier: BSD-3-Clause
"""A DPDK program other than testpmd, on a modelled machine of its own."""

import contextlib
import ctypes
import os
import signal
import subprocess

import machine
from harness import check_equal, check_errors, check_queues, check_report
from model import TOP, Console, Model, ending, plugin_arguments
from testpmd import memory_arguments

FLOWS = 8


def example(name, program=None):
    """Builds DPDK's examples if necessary. Returns the path of a program."""
    subprocess.run([os.path.join(TOP, "devtools", "build-examples.sh")], check=True)
    return os.path.join(TOP, "dpdk-examples", name, "build",
                        program or os.path.basename(name))


def generator(port, traffic, packets, flows=FLOWS):
    return ("--wire", f"{port + 1}=gen:count={packets},flows={flows},{traffic}")


def check_intact(report, ports):
    """No frame came to the far ends of these ports twice, late or changed."""
    for port in ports:
        seen = dict(report.sink(port), received=0)
        check_equal(f"sink of port {port}", set(seen.values()), {0})


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


def with_newer_libraries(argv):
    """The command that uses the C library and rdma-core of Debian 13."""
    root = os.environ.get("TRIXIE_ROOT", os.path.join(TOP, "trixie-root"))
    made = subprocess.run([os.path.join(TOP, "devtools", "debian-root.sh"), "trixie", root],
                          stderr=subprocess.PIPE, text=True, check=False)
    if made.returncode != 0:
        machine.skip(made.stderr.strip())
    libraries = os.path.join(root, "usr", "lib", "x86_64-linux-gnu")
    return [os.path.join(libraries, "ld-linux-x86-64.so.2"), "--library-path",
            f"{libraries}:{libraries}/libibverbs", *argv]


class Application(Console):
    """The program on its machine."""

    def __init__(self, argv, *options):
        self.model = Model(*options)
        self.name = os.path.basename(argv[0])
        super().__init__(self.model.command(*argv))

    def wait_until(self, reached, timeout=60):
        """Waits until reached(report of the running machine) is true; the report."""
        return self.model.wait_until(reached, self, timeout)

    wait_for_wire = wait_until      # as of a Fixture

    def pid(self):
        """The process id of the program, in its machine."""
        return self.model.pid(self, self.name)

    def signal(self, number):
        self.model.signal(self, self.name, number)

    def interrupt(self):
        """Interrupts the program as Ctrl-C does; returns the launcher's exit status."""
        self.signal(signal.SIGINT)
        return self.wait()

    def interrupt_main(self):
        """
        As interrupt(), for a program whose handler ends it: the kernel gives the signal to
        another thread while the main thread blocks it (in a doorbell of the model), and
        then the main thread polls on and the program never ends.
        """
        pid = self.pid()
        if ctypes.CDLL(None, use_errno=True).tgkill(pid, pid, signal.SIGINT) != 0:
            raise OSError(ctypes.get_errno(), "tgkill")
        return self.wait()

    def finish(self, status=0, leaks=False, expected_errors=()):
        """Checks the exit status and the rules of every run. Returns the report."""
        check_equal(f"exit status of {self.name}", self.wait(), status)
        report = self.model.report()
        check_report(report, leaks)
        for port in report.ports.values():
            check_queues(port)
        check_errors(self, expected_errors)
        return report


@contextlib.contextmanager
def application(argv, *options):
    """An Application that ends with the block, and shows its output on failure."""
    with ending([Application(argv, *options)]) as (made,):
        yield made
