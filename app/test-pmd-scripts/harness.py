# SPDX-License-Identifier: BSD-3-Clause
"""Fixture of all scripts: a machine, testpmd on it, and the rules of every run.

A script checks its subject. The fixture checks after every run, from the model's
report: no violation, no leak, testpmd's counters equal to those of the wire, no
unexpected error line.
"""

import contextlib
import os
import signal
import sys
import tempfile
import traceback

import machine
import vm
from model import Model, ending
from testpmd import Testpmd, arguments, error_lines


def part(number):
    """How often to do what is done number times: MANA_TEST_PART divides it, if set."""
    return max(1, number // int(os.environ.get("MANA_TEST_PART", "1")))


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def check_equal(name, got, wanted):
    if got != wanted:
        raise AssertionError(f"{name}: {got}, expected {wanted}")


def check_report(report, leaks=False):
    """Checks that there are no violations and, unless leaks is set, no leaks."""
    check(not report.violations, f"violations: {report.violations}")
    if not leaks:
        check(not report.leaks, f"left behind: {report.leaks}")


def check_errors(program, expected=()):
    """The program printed no other error line."""
    check_equal(f"error lines of {program.argv[0]}", error_lines(program.text, expected), [])


def print_breaches(report):
    for violation in report.violations:
        print(f"violation {violation['name']}: {violation['count']} "
              f"({violation['queue']})")
    print(f"left behind: {report.leaks}")


def check_counters(report, stats_by_mac):
    """Testpmd's counters of each port equal those of the wire."""
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
    """The counters of the queues add up to those of the port."""
    for direction, is_sq in (("rx", False), ("tx", True)):
        packets = sum(queue["packets"] for queue in port["queues"]
                      if (queue["kind"] == "sq") == is_sq)
        check_equal(f"sum of {direction} queues of {port['mac']}", packets,
                    port[direction]["packets"])


def check_nothing_lost(report):
    """No frame was dropped for lack of a buffer or rejected."""
    for address, port in report.ports.items():
        check_equal(f"no_wqe of {address}", port["rx"]["no_wqe"], 0)
        check_equal(f"truncated of {address}", port["rx"]["truncated"], 0)
        errors = {name: n for name, n in port["tx"]["errors"].items() if n}
        check_equal(f"Tx errors of {address}", errors, {})


def check_pairs(report):
    """
    Each end of a pair received, or counted as dropped, all frames sent by the other.
    """
    ports = list(report.ports.values())
    for left, right in zip(ports[0::2], ports[1::2]):
        for sender, receiver in ((left, right), (right, left)):
            rx = receiver["rx"]
            check_equal(
                f"arrived at {receiver['mac']} of {sender['mac']}'s",
                rx["packets"] + rx["no_wqe"] + rx["truncated"]
                + rx.get("no_steering", 0), sender["tx"]["packets"])


class Fixture:
    """Testpmd on its own machine."""

    def __init__(self, *options, strict=True):
        self.model = Model(*options, strict=strict)
        self.strict = strict
        # The model may write messages at any time, even within a prompt. In a strict
        # run the first message ends the program.
        self.messages = None if strict else tempfile.TemporaryFile("w+")
        self.pmd = None
        self.programs = []
        self.macs = {}
        self.stats = {}

    def start(self, timeout=100, **testpmd):
        """
        Starts the machine and testpmd; keyword arguments as for arguments(). A guest may
        boot twice (model/vm/manavm/command.py, EMULATION_FAULT).
        """
        self.pmd = Testpmd(self.model.command(*arguments(**testpmd)), stderr=self.messages)
        self.programs.append(self.pmd)
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
        Ends testpmd, checks the rules of every run, returns the report. If not strict
        (another driver), known violations are only printed.
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
        check_errors(self.pmd, [*expected_errors, *self.model.expected_lines])
        check_report(report, leaks)
        if counters:
            check_counters(report, {self.macs[n]: s for n, s in self.stats.items()})
        return report


@contextlib.contextmanager
def fixture(*options, strict=True):
    """Yields a Fixture and ends it; shows its output on failure."""
    made = Fixture(*options, strict=strict)
    with ending(made.programs):
        yield made


def on_this_machine(names):
    """The variants that run in the guest; skips the script if there is none."""
    script = os.path.basename(sys.argv[0])[len("test_"):-len(".py")]
    reasons = {name: vm.refusal(f"{script}-{name}", vm.SPEC) for name in names}
    for name, reason in reasons.items():
        if reason:
            print(f"skipped {name}: {reason}")
    left = [name for name, reason in reasons.items() if not reason]
    if not left:
        machine.skip("; ".join(sorted(set(reasons.values()))))
    vm.prepare()
    return left


def named(*functions):
    """Variants with the names of their functions."""
    return {function.__name__.replace("_", "-"): function for function in functions}


def main(variants, in_guest=None):
    """
    Runs the variants named on the command line, or all. Those of in_guest need a real
    kernel.
    """
    if vm.SPEC:
        variants = {**variants, **(in_guest or {})}
    # a time limit also ends started programs
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    names = sys.argv[1:] or list(variants)
    unknown = [name for name in names if name not in variants]
    if unknown:
        sys.exit(f"no variant {unknown[0]}: there are {', '.join(variants)}")
    if vm.SPEC:
        names = on_this_machine(names)
    for name in names:
        print(f"== {name}", flush=True)
        try:
            variants[name]()
        except Exception:       # print the whole trace
            traceback.print_exc(file=sys.stdout)
            vm.show_logs()
            print(f"FAILED: {name}")
            sys.exit(1)
        print(f"ok: {name}", flush=True)
