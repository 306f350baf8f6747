#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Output of Debian's dpdk-pmdinfo.py for the plug-in: ids, parameters, modules."""

import json
import os
import re
import subprocess

import machine
from harness import check, check_equal, main
from model import PLUGIN

GUIDE = os.path.join(os.path.dirname(__file__), "../../doc/guides/nics/mana-reference.rst")


def pmdinfo():
    program = machine.need_program("dpdk-pmdinfo.py", "dpdk")
    done = subprocess.run([program, PLUGIN], check=True, timeout=60,
                          stdout=subprocess.PIPE, text=True)
    drivers = json.loads(done.stdout)
    check_equal("drivers", [driver["name"] for driver in drivers], ["net_mana"])
    return drivers[0]


def ids():
    """The ids of the kernel's driver, and the required modules."""
    driver = pmdinfo()
    check_equal("ids", sorted((one["vendor"], one["device"])
                              for one in driver["pci_ids"]),
                [("1414", "00b9"), ("1414", "00ba"), ("1414", "00c1")])
    for one in driver["pci_ids"]:
        # any subsystem id
        check_equal("ids", set(one), {"vendor", "device"})
    check_equal("kernel modules", driver["kmod"], "* ib_uverbs & mana_ib")


def parameters():
    """The parameters equal those of the guide."""
    shown = re.findall(r"(\w+)=(\S+)", pmdinfo()["params"])
    check_equal("parameters", [name for name, _ in shown],
                ["mac", "netdev", "port", "netdev_down", "recovery_timeout",
                 "tx_suppress", "rx_intr", "rx_scrub", "hw_rxq", "tx_oob", "tx_vport",
                 "max_desc", "max_send_sge"])
    with open(GUIDE, encoding="utf-8") as file:
        text = file.read().split("\nRuntime configuration\n")[1]
    text = text.split("\n---\n")[0].split("\n\n\n")[0]
    explained = re.findall(r"^- ``(\w+)`` \(", text, re.MULTILINE)
    check_equal("parameters in the guide", explained, [name for name, _ in shown])
    check(all(value for _, value in shown), f"values: {shown}")
    for name, value in shown:
        if not name.endswith("_path"):
            continue
        listed = re.search(rf"^- ``{name}`` \((.*)\)$", text, re.MULTILINE).group(1)
        for word in value.strip("<>").split("|"):
            check(f"``{word}``" in listed, f"{name}: {word} is not in the guide: {listed}")


VARIANTS = {"ids": ids, "parameters": parameters}

if __name__ == "__main__":
    main(VARIANTS)
