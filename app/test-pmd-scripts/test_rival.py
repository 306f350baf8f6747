#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Another driver for the same device, on the same model.

DPDK's own driver, as built by devtools/build-rival.sh, forwards, too. It never rings a
CQ and breaks other rules: its violations are printed, not fatal.
"""

import os

import machine
import netvsc
from harness import check, check_equal, check_nothing_lost, check_pairs, fixture, main
from model import PLUGIN, TOP
from processes import family
from testpmd import TWO_PORTS

MILLION = 1_000_000


def rival():
    """The plug-in's path: MANA_RIVAL, or the script's default."""
    path = os.environ.get("MANA_RIVAL", os.path.join(
        TOP, "rival", "build", "drivers", "librte_net_mana.so"))
    if not os.path.exists(path):
        machine.skip(f"no {path}: devtools/build-rival.sh builds it")
    return path


def check_received(report, address, stats):
    """It counts a packet as sent when it completes, a burst late: not compared."""
    rx = report.ports[address]["rx"]
    check_equal(f"received by {address} (driver, then wire)",
                (stats.rx_packets, stats.rx_bytes), (rx["packets"], rx["bytes"]))


def forward():
    with fixture("--ports", "2", "--wire", "pair", strict=False) as run:
        # it sets no queue states in 22.11
        netvsc.start(run, eal=TWO_PORTS, plugin=rival(), log="*:critical")
        run.pmd.forward(lambda stats: sum(port.rx_packets for port in stats.values()) >= MILLION)
        run.drain()
        report = run.finish()
        total = sum(port["rx"]["packets"] for port in report.ports.values())
        check(total >= MILLION, f"the wire carried only {total} packets")
        check_nothing_lost(report)
        check_pairs(report)
        for number, stats in run.stats.items():
            check_received(report, run.macs[number], stats)


def secondary():
    """A secondary process with DPDK's own driver gets no port; the others forward."""
    with family() as run:
        run.start_primary(2)
        run.plugin = rival()
        other = run.add().ready()
        check_equal("ports", other.stats(), {})
        check("Cannot attach mana shared data" in other.text, other.text)
        run.plugin = PLUGIN
        ours = run.add(1).ready()
        ours.command("seed")
        ours.check_forwards()
        run.primary.check_forwards()
        run.quit()
        run.end(expected_errors=("mana shared data", "PMD global data", "EAL: "))


if __name__ == "__main__":
    main({"forward": forward, "secondary": secondary})
