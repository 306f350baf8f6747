#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Debian's ibv_devinfo lists the modelled devices, for root and an ordinary user."""

import re
import subprocess

import machine
from harness import check, check_equal, check_report, main
from model import Model, program_environment

OPTIONS = ("--quiet", "--functions", "2", "--ports", "2,8")


def devinfo(model):
    machine.need_program("ibv_devinfo", "ibverbs-utils")
    done = subprocess.run(model.command("ibv_devinfo", "-v"),
                          env=program_environment(), timeout=60, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    print(done.stdout, done.stderr, sep="\n")
    check_equal("exit status", done.returncode, 0)
    check_equal("messages", done.stderr.strip(), "")
    check_report(model.report())
    return done.stdout


def check_devices(text):
    """Two devices with the requested ports and MANA's properties."""
    devices = re.split(r"^hca_id:\s*", text, flags=re.MULTILINE)[1:]
    check_equal("devices", [device.split()[0] for device in devices],
                ["manae_0", "manae_1"])
    for device, nb_ports in zip(devices, (2, 8)):
        for name, value in (("vendor_id", "0x1414"), ("phys_port_cnt", str(nb_ports))):
            found = re.search(rf"^\s*{name}:\s*(\S+)", device, re.MULTILINE)
            check(found, f"no {name}")
            check_equal(name, found.group(1), value)
        check_equal("ports", len(re.findall(r"^\s*port:\s*\d+", device, re.MULTILINE)),
                    nb_ports)
        layers = re.findall(r"link_layer:\s*(\w+)", device)
        check_equal("link layers", layers, ["Ethernet"] * nb_ports)
        # the netdevs and thus the ports are down, as a DPDK driver needs them
        states = re.findall(r"\bstate:\s*(\w+)", device)
        check_equal("states", states, ["PORT_DOWN"] * nb_ports)


def root():
    check_devices(devinfo(Model(*OPTIONS)))


def ordinary_user():
    machine.become_ordinary_user()
    root()


VARIANTS = {"root": root, "ordinary-user": ordinary_user}

if __name__ == "__main__":
    main(VARIANTS)
