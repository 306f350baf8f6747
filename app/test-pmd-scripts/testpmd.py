# SPDX-License-Identifier: BSD-3-Clause
"""Debian's dpdk-testpmd, controlled by its command line."""

import os
import re

import machine
from model import PLUGIN, Console, mac, pci, plugin_arguments, wait_until

PROMPT = "testpmd> "
TWO_PORTS = ["-a", f"{pci(0)},mac={mac(0)},mac={mac(1)}"]
MAX_BETWEEN = 8    # log lines at one place

# Error lines of EAL, libraries, driver, testpmd and launcher. EAL's log level is
# "error", so any line of a library or the driver is one.
ERROR_LINE = re.compile(
    r"^(EAL|ETHDEV|MEMPOOL|RING|MBUF|PMD|PCI_BUS|CMDLINE|USER1|mana\w*|MANA\w*)"
    r"(\(\))?: .*|^(Fail|Error|Failed|Cannot|Invalid)\b.*|^mana-model: (?!machine ).*",
    re.MULTILINE)


def interruptible(text):
    """
    A pattern for text that testpmd writes character by character, as an echo: other
    threads may write lines between two characters.
    """
    between = rf"(?:[^\n]*\n){{0,{MAX_BETWEEN}}}?"
    return f"(?:{''.join(re.escape(c) + between for c in text)})"


# The driver says which one it is, and the limit of the rings. EAL has loaded the distribution's of the same name, too.
NO_ERRORS = (r"MANA: driver net_mana of dpdk-mana ",
             r"MANA: \S+: queues have at most ",
             r"MANA: two drivers net_mana are loaded, .* and /usr/lib/")


def error_lines(text, expected=()):
    """Error lines of an output that match none of the expected patterns."""
    return [match.group(0) for match in ERROR_LINE.finditer(text)
            if not any(re.search(pattern, match.group(0))
                       for pattern in (*NO_ERRORS, *expected))]


class PortStats:
    """Output of `show port stats` for one port."""

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


def received(packets, ports=(0,)):
    """For wait_until(): true when each of these ports has received so many packets."""
    return lambda stats: all(stats[port].rx_packets >= packets for port in ports)


def settled():
    """For wait_until(): true when the counters stop changing."""
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
    # A secondary process maps it at the same address: one that is free in every
    # process, also below the sanitizers.
    return ["--huge-dir", machine.mount_hugetlbfs(),
            "--base-virtaddr=0x7e9000000000",
            f"--file-prefix=mana{os.getpid()}"]


def arguments(eal=(), app=(), memory="no-huge", plugin=PLUGIN, log="*:error",
              megabytes=512, first_lcore=0):
    """The command line of an interactive testpmd."""
    return (["dpdk-testpmd", machine.lcores(first=first_lcore), *plugin_arguments(plugin),
             f"--log-level={log}"]
            + memory_arguments(memory, megabytes) + list(eal)
            + ["--", "-i", "--nb-cores=1", "--total-num-mbufs=16384"]
            + list(app))


class Testpmd(Console):
    """Testpmd in interactive mode."""

    def start_up(self, timeout=60):
        self.expect(re.escape(PROMPT), timeout)
        if "Start ports failed" in self.text:
            raise AssertionError("a port did not start")

    def command(self, line, timeout=60):
        """Runs a command. Returns its output."""
        at = self.mark()
        self.send(line)
        # the echo of the line, its output, then the next prompt
        end = self.expect(interruptible(line) + r"\s*\n(?s:(.*?))" +
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

    def xstats(self, port):
        """{name: value} of the extended statistics; names are unique."""
        rows = re.findall(r"^(\w+): (\d+)$", self.command(f"show port xstats {port}"),
                          re.MULTILINE)
        assert len(dict(rows)) == len(rows), rows
        return {name: int(value) for name, value in rows}

    def burst_modes(self, queue=0):
        """Names of the Rx and Tx functions of a queue of port 0."""
        return tuple(re.search(r"^Burst mode: (.*?)\s*$",
                               self.command(f"show {side} info 0 {queue}"),
                               re.MULTILINE).group(1) for side in ("rxq", "txq"))

    def wait_until(self, reached, timeout=120, pause=0.2):
        """Waits until reached(stats) is true. Returns the statistics."""
        stats = None

        def is_reached():
            nonlocal stats
            stats = self.stats()
            return reached(stats)
        wait_until(is_reached, lambda: f"still {stats}", timeout, pause)
        return stats

    def begin(self, mode=None, start="start"):
        """Begins to forward, in another mode if one is given."""
        if mode:
            self.command(f"set fwd {mode}")
        self.command(start)

    def forward(self, reached, mode=None, start="start tx_first", **more):
        """Forwards until reached(stats) is true."""
        self.begin(mode, start)
        self.wait_until(reached, **more)
        self.command("stop")

    def wait_for_command(self, line, pattern, timeout=60, pause=0.1):
        """Repeats a command until its output matches pattern. Returns the output."""
        def output():
            text = self.command(line)
            return text if re.search(pattern, text) else None
        return wait_until(output, f"no /{pattern}/ in the output of {line}", timeout, pause)

    def drain(self):
        """Receives the packets in the rings without sending."""
        self.forward(settled(), "rxonly", "start", pause=0.3)
        return self.stats()

    def quit(self, timeout=60):
        at = self.mark()
        self.send("quit")
        self.expect(r"^Bye\.\.\.", timeout, at)
        return self.wait(timeout)
