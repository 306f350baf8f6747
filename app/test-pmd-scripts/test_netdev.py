#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A port whose network interface is up belongs to the kernel."""

import re

from harness import check, main
from model import mac, pci
from programs import end_testpmd, run_inside, run_programs, start_testpmd
import subprocess

PORTS = ("--ports", "2", "--wire", "pair")


def busy():
    """Start is refused, naming the remedy; the remedy works."""
    run_programs("busy", *PORTS)


def set_up(name, state):
    # the modelled machine answers `ip` as it answers any program
    subprocess.run(["ip", "link", "set", name, state], check=True)


def busy_inside(_model, programs):
    set_up("mana0p0", "up")
    pmd = start_testpmd(programs, eal=["-a", f"{pci(0)},mac={mac(0)}"],
                        app=["--disable-device-start"])
    said = pmd.command("port start 0")
    check(re.search(r"ip link set .*mana0p0.* down", said), f"start said: {said}")
    set_up("mana0p0", "down")
    said = pmd.command("port start 0")
    check("MANA" not in said, f"start said: {said}")
    # and now the kernel is the one that is refused
    refused = subprocess.run(["ip", "link", "set", "mana0p0", "up"], check=False,
                             stderr=subprocess.PIPE, text=True)
    check("busy" in refused.stderr, f"ip link set up: {refused.stderr}")
    return end_testpmd(pmd, expected_errors=["ip link set", "Fail", "busy"])


VARIANTS = {"busy": busy}

if __name__ == "__main__":
    run_inside({"busy": busy_inside})
    main(VARIANTS)
