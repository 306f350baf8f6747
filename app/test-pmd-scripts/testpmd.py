# SPDX-License-Identifier: BSD-3-Clause
"""Debian's dpdk-testpmd, driven by its command line."""

import os
import re
import time

import machine
from console import Console, interruptible, timeout_factor
from model import PLUGIN

PROMPT = "testpmd> "

# Lines of EAL, of the libraries, of the driver, of testpmd and of the launcher that
# tell of an error. EAL is started with log level "error", so any line of a
# library or of the driver is one.
ERROR_LINE = re.compile(
    r"^(EAL|ETHDEV|MEMPOOL|RING|MBUF|PMD|PCI_BUS|CMDLINE|USER1|mana\w*|MANA\w*)"
    r"(\(\))?: .*|^(Fail|Error|Failed|Cannot|Invalid)\b.*|^mana-model: (?!machine ).*",
    re.MULTILINE)


class PortStats:
    """What `show port stats` prints of one port."""

    FIELDS = {"rx_packets": "RX-packets", "rx_missed": "RX-missed",
              "rx_bytes": "RX-bytes", "rx_errors": "RX-errors",
              "rx_nombuf": "RX-nombuf", "tx_packets": "TX-packets",
              "tx_errors": "TX-errors", "tx_bytes": "TX-bytes"}

    def __init__(self, text):
        for name, label in self.FIELDS.items():
            found = re.search(label + r":\s*(\d+)", text)
            setattr(self, name, int(found.group(1)))

    def __repr__(self):
        return str(vars(self))

    def __eq__(self, other):
        return vars(self) == vars(other)


def settled():
    """For wait_until(): true when the counters stand still."""
    before = []

    def still(stats):
        before.append(stats)
        return len(before) > 1 and before[-1] == before[-2]
    return still


def memory_arguments(memory, megabytes=512):
    """EAL arguments for: no-huge, in-memory, huge (hugetlbfs files)."""
    if memory == "no-huge":
        return ["--no-huge", "--no-shconf", "-m", str(megabytes)]
    machine.reserve_hugepages()
    if memory == "in-memory":
        return ["--in-memory"]
    # A secondary process maps it all where the primary has it: an address that
    # is free in every process, also below the address sanitizer.
    return ["--huge-dir", machine.mount_hugetlbfs(),
            "--base-virtaddr=0x200000000000",
            f"--file-prefix=mana{os.getpid()}"]


def arguments(eal=(), app=(), memory="no-huge", plugin=PLUGIN, log="*:error",
              megabytes=512):
    """The command line of an interactive testpmd."""
    return (["dpdk-testpmd", machine.lcores(), "-d", plugin,
             f"--log-level={log}"]
            + memory_arguments(memory, megabytes) + list(eal)
            + ["--", "-i", "--nb-cores=1", "--total-num-mbufs=16384"]
            + list(app))


class Testpmd(Console):
    """Testpmd in interactive mode."""

    def start_up(self, timeout=60):
        self.wait_for(re.escape(PROMPT), timeout)
        if "Start ports failed" in self.text:
            raise AssertionError("a port did not start")

    def command(self, line, timeout=60):
        """Runs one command, returns what it printed."""
        at = self.mark()
        self.send(line)
        # the echo of the line first, then its output, then the next prompt
        end = self.wait_for(interruptible(line) + r"\s*\n(?s:(.*?))" +
                            interruptible(PROMPT), timeout, at)
        return end.group(1)

    def stats(self):
        """Basic statistics of all ports: {number: PortStats}."""
        text = self.command("show port stats all")
        parts = re.split(r"NIC statistics for port (\d+)\s+#+", text)[1:]
        return {int(parts[at]): PortStats(parts[at + 1])
                for at in range(0, len(parts), 2)}

    def ports(self):
        """{number: (address, name)} of the ports."""
        text = self.command("show port summary all")
        rows = re.findall(r"^(\d+)\s+([0-9A-F:]{17})\s+(\S+)", text, re.MULTILINE)
        return {int(number): (address.lower(), name)
                for number, address, name in rows}

    def macs(self):
        """{number: address} of the ports."""
        return {number: address for number, (address, _) in self.ports().items()}

    def wait_until(self, reached, timeout=120, pause=0.2):
        """Waits until reached(stats) is true; returns the statistics."""
        end = time.monotonic() + timeout * timeout_factor()
        while True:
            stats = self.stats()
            if reached(stats):
                return stats
            if time.monotonic() > end:
                raise AssertionError(f"still {stats} after {timeout} s")
            time.sleep(pause)

    def wait_for_command(self, line, pattern, timeout=60, pause=0.1):
        """Repeats a command until its output has the pattern; the output."""
        end = time.monotonic() + timeout * timeout_factor()
        while True:
            text = self.command(line)
            if re.search(pattern, text):
                return text
            if time.monotonic() > end:
                raise AssertionError(f"no /{pattern}/ within {timeout} s: {text}")
            time.sleep(pause)

    def drain(self):
        """Receives what is still in the rings, sends nothing."""
        self.command("set fwd rxonly")
        self.command("start")
        self.wait_until(settled(), pause=0.3)
        self.command("stop")
        return self.stats()

    def quit(self, timeout=60):
        at = self.mark()
        self.send("quit")
        self.wait_for(r"^Bye\.\.\.", timeout, at)
        return self.wait(timeout)

    def errors(self, expected=()):
        """Error lines that are not matched by one of the expected patterns."""
        return [match.group(0) for match in ERROR_LINE.finditer(self.text)
                if not any(re.search(pattern, match.group(0))
                           for pattern in expected)]
