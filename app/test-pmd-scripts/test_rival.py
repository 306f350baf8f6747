#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Another driver for the same device, on the same model.

DPDK's own driver, as devtools/build-rival.sh builds it, forwards too. It never rings
a CQ and breaks other rules: its violations are printed, not fatal.
"""

import os

import machine
from harness import bench, check, check_nothing_lost, check_pairs, main
from model import TOP, mac, pci

MILLION = 1_000_000


def rival():
    """The plug-in's path: MANA_RIVAL, or where the script puts it."""
    path = os.environ.get("MANA_RIVAL", os.path.join(
        TOP, "rival", "build", "drivers", "librte_net_mana.so"))
    if not os.path.exists(path):
        machine.skip(f"no {path}: devtools/build-rival.sh builds it")
    return path


def forward():
    with bench("--ports", "2", "--wire", "pair", strict=False) as run:
        run.start(eal=["-a", f"{pci(0)},mac={mac(0)},mac={mac(1)}"],
                  plugin=rival(), log="*:critical")
        run.pmd.command("start tx_first")
        run.pmd.wait_until(lambda stats: sum(
            port.rx_packets for port in stats.values()) >= MILLION)
        run.pmd.command("stop")
        run.drain()
        status = run.pmd.quit()
        check(status == 0, f"exit status {status}")
        report = run.model.report()
        total = sum(port["rx"]["packets"] for port in report.ports.values())
        check(total >= MILLION, f"the wire carried only {total} packets")
        check_nothing_lost(report)
        check_pairs(report)
        for violation in report.violations:
            print(f"violation {violation['name']}: {violation['count']} "
                  f"({violation['queue']})")
        print(f"left behind: {report.leaks}")


VARIANTS = {"forward": forward}

if __name__ == "__main__":
    main(VARIANTS)
