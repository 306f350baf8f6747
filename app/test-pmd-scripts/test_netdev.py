#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A port whose network interface is up belongs to the kernel."""

import os
import re
import signal
import subprocess

from harness import check, main
from model import mac, pci
from programs import end_testpmd, run_inside, run_programs, start_testpmd

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


def taken_down():
    """netdev_down=1: down while testpmd has the port, up before and after."""
    run_programs("taken-down", *PORTS, leaks=True)


def is_up(name):
    # brief, as in: mana0p0 UP 00:0d:3a:00:00:01 <BROADCAST,MULTICAST,UP>
    shown = subprocess.run(["ip", "-br", "link", "show", name], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    return "UP" in re.search("<(.*)>", shown).group(1).split(",")


def taken_down_inside(_model, programs):
    set_up("mana0p0", "up")
    eal = ["-a", f"{pci(0)},netdev=mana0p0,netdev_down=1"]
    pmd = start_testpmd(programs, eal=eal)
    check(not is_up("mana0p0"), "up while testpmd has the port")
    stats = end_testpmd(pmd)
    check(is_up("mana0p0"), "not given back")
    # killed: it stays down, as the guide says
    pmd = start_testpmd(programs, eal=eal)
    os.kill(pmd.process.pid, signal.SIGKILL)
    pmd.process.wait()
    check(not is_up("mana0p0"), "given back by nobody")
    return stats


VARIANTS = {"busy": busy, "taken-down": taken_down}

if __name__ == "__main__":
    run_inside({"busy": busy_inside, "taken-down": taken_down_inside})
    main(VARIANTS)
