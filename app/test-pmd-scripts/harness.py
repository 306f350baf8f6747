# SPDX-License-Identifier: BSD-3-Clause
"""The fixture of all scripts: a machine, testpmd on it, and the laws.

A script asserts what is particular to it; what must hold in every run is checked here,
from the model's report: no violation, nothing left behind, testpmd's counters
equal to what crossed the wire, no error line that the script did not expect.
"""

import contextlib
import signal
import sys
import tempfile
import traceback

from console import Console, ConsoleError  # noqa: F401 (for the scripts)
from model import Model, program_environment
from testpmd import Testpmd, arguments


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def check_equal(name, got, wanted):
    if got != wanted:
        raise AssertionError(f"{name}: {got}, expected {wanted}")


def check_report(report, leaks=False):
    """No violations; nothing left behind unless leaks is set."""
    check(not report.violations, f"violations: {report.violations}")
    if not leaks:
        check(not report.leaks, f"left behind: {report.leaks}")


def print_breaches(report):
    for violation in report.violations:
        print(f"violation {violation['name']}: {violation['count']} "
              f"({violation['queue']})")
    print(f"left behind: {report.leaks}")


def check_counters(report, stats_by_mac):
    """Testpmd's counters, port by port, are those of the wire."""
    for address, stats in stats_by_mac.items():
        port = report.ports[address]
        for name, got, wanted in (
                ("Tx packets", stats.tx_packets, port["tx"]["packets"]),
                ("Tx bytes", stats.tx_bytes, port["tx"]["bytes"]),
                ("Rx packets", stats.rx_packets, port["rx"]["packets"]),
                ("Rx bytes", stats.rx_bytes, port["rx"]["bytes"])):
            check_equal(f"{name} of {address} (driver, then wire)", got, wanted)
        check_queues(port)


def check_queues(port):
    """The queues of a port add up to the port."""
    for direction, is_sq in (("rx", False), ("tx", True)):
        packets = sum(queue["packets"] for queue in port["queues"]
                      if (queue["kind"] == "sq") == is_sq)
        check_equal(f"sum of {direction} queues of {port['mac']}", packets,
                    port[direction]["packets"])


def check_nothing_lost(report):
    """No frame was dropped for want of a buffer, nor refused."""
    for address, port in report.ports.items():
        check_equal(f"no_wqe of {address}", port["rx"]["no_wqe"], 0)
        check_equal(f"truncated of {address}", port["rx"]["truncated"], 0)
        errors = {name: n for name, n in port["tx"]["errors"].items() if n}
        check_equal(f"Tx errors of {address}", errors, {})


def check_pairs(report):
    """What one end of a pair sent, the other received or counted as dropped."""
    ports = list(report.ports.values())
    for left, right in zip(ports[0::2], ports[1::2]):
        for sender, receiver in ((left, right), (right, left)):
            rx = receiver["rx"]
            check_equal(
                f"arrived at {receiver['mac']} of {sender['mac']}'s",
                rx["packets"] + rx["no_wqe"] + rx["truncated"]
                + rx.get("no_steering", 0), sender["tx"]["packets"])


class Bench:
    """A testpmd on a machine of its own."""

    def __init__(self, *options, strict=True):
        self.model = Model(*options, strict=strict)
        self.strict = strict
        # Messages of the model may come at any moment, even amid a prompt; in
        # a strict run the first one is the last.
        self.messages = None if strict else tempfile.TemporaryFile("w+")
        self.pmd = None
        self.macs = {}
        self.stats = {}

    def start(self, timeout=60, **testpmd):
        """Starts the machine and testpmd; keyword arguments as arguments() has."""
        self.pmd = Testpmd(self.model.command(*arguments(**testpmd)),
                           env=program_environment(), stderr=self.messages)
        self.pmd.start_up(timeout)
        self.macs = self.pmd.macs()
        return self.pmd

    def wait_for_wire(self, reached, timeout=60):
        """Waits until reached(report of the running machine) is true."""
        self.model.wait_until(reached, self.pmd, timeout)

    def drain(self):
        self.stats = self.pmd.drain()
        return self.stats

    def finish(self, expected_errors=(), leaks=False, counters=True):
        """
        Ends testpmd, checks the laws, returns the report. When not strict (another
        driver), what is known to break them is printed only.
        """
        counters = counters and self.strict
        if counters and not self.stats:
            self.stats = self.pmd.stats()
        status = self.pmd.quit()
        check_equal("exit status of testpmd", status, 0)
        report = self.model.report()
        if not self.strict:
            print_breaches(report)
            return report
        errors = self.pmd.errors(expected_errors)
        check(not errors, "unexpected error lines: " + "\n  ".join(errors))
        check_report(report, leaks)
        if counters:
            check_counters(report, {self.macs[n]: s for n, s in self.stats.items()})
        return report


@contextlib.contextmanager
def bench(*options, strict=True):
    """A Bench that ends with the block, and shows its output on failure."""
    made = Bench(*options, strict=strict)
    try:
        yield made
    except BaseException:
        if made.pmd is not None:
            print("---- command:", " ".join(made.pmd.argv))
            print("---- output:")
            print(made.pmd.text)
            if made.messages is not None:
                made.messages.seek(0)
                print(made.messages.read())
            print("----")
        raise
    finally:
        if made.pmd is not None:
            made.pmd.kill()


def main(variants):
    """Runs the variants that the command line names; without one, all."""
    # ended by a time limit: what was started is ended, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    names = sys.argv[1:] or list(variants)
    unknown = [name for name in names if name not in variants]
    if unknown:
        sys.exit(f"no variant {unknown[0]}: there are {', '.join(variants)}")
    for name in names:
        print(f"== {name}", flush=True)
        try:
            variants[name]()
        except Exception:       # shown whole: the output above explains it
            traceback.print_exc(file=sys.stdout)
            print(f"FAILED: {name}")
            sys.exit(1)
        print(f"ok: {name}", flush=True)
