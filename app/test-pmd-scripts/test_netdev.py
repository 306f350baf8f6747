#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A port whose netdev is up belongs to the kernel."""

import os
import re
import signal
import subprocess

from harness import check, check_equal, fixture, main
from model import mac, pci
from programs import end_testpmd, run_inside, run_programs, start_testpmd

PORTS = ("--ports", "2", "--wire", "pair")


def busy():
    """The start fails and names the remedy, which works."""
    run_programs("busy", *PORTS)


def set_up(name, state):
    # the model answers `ip`, too
    subprocess.run(["ip", "link", "set", name, state], check=True)


def busy_inside(_model, programs):
    set_up("mana0p0", "up")
    pmd = start_testpmd(programs, eal=["-a", f"{pci(0)},mac={mac(0)}"],
                        app=["--disable-device-start"])
    reply = pmd.command("port start 0")
    check(re.search(r"ip link set .*mana0p0.* down", reply), f"start: {reply}")
    set_up("mana0p0", "down")
    reply = pmd.command("port start 0")
    check("MANA" not in reply, f"start: {reply}")
    # now the kernel's request fails
    refused = subprocess.run(["ip", "link", "set", "mana0p0", "up"], check=False,
                             stderr=subprocess.PIPE, text=True)
    check("busy" in refused.stderr, f"ip link set up: {refused.stderr}")
    return end_testpmd(pmd, expected_errors=["ip link set", "Fail", "busy"])


def netdev_down():
    """
    netdev_down=1: the netdev is down while testpmd has the port, up before and after.
    """
    run_programs("netdev-down", *PORTS, leaks=True)


def is_up(name):
    # brief form: mana0p0 UP 00:0d:3a:00:00:01 <BROADCAST,MULTICAST,UP>
    shown = subprocess.run(["ip", "-br", "link", "show", name], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    return "UP" in re.search("<(.*)>", shown).group(1).split(",")


def netdev_down_inside(_model, programs):
    set_up("mana0p0", "up")
    eal = ["-a", f"{pci(0)},netdev=mana0p0,netdev_down=1"]
    pmd = start_testpmd(programs, eal=eal)
    check(not is_up("mana0p0"), "up while testpmd has the port")
    stats = end_testpmd(pmd)
    check(is_up("mana0p0"), "not given back")
    # after a kill it stays down, as documented
    pmd = start_testpmd(programs, eal=eal)
    os.kill(pmd.process.pid, signal.SIGKILL)
    pmd.process.wait()
    check(not is_up("mana0p0"), "the netdev is up after a kill")
    return stats


def mtu_of_second_program():
    """
    A second program sets the MTU: the netdev keeps its own in any order of starts.
    """
    run_programs("mtu-of-second-program", *PORTS)


def link_mtu(name):
    shown = subprocess.run(["ip", "link", "show", name], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    return int(re.search(r" mtu (\d+) ", shown).group(1))


def mtu_of_second_program_inside(_model, programs):
    owner = start_testpmd(programs, eal=["-a", f"{pci(0)},mac={mac(0)}"])
    # a changed MTU would be a violation, which ends the program
    for argument in ("", ",netdev_mtu=1"):
        second = start_testpmd(programs, eal=["-a", f"{pci(0)},mac={mac(0)}{argument}"],
                               app=["--disable-device-start"])
        second.command("port config mtu 0 1400")
        reply = second.command("port start 0")
        check("in use" in reply, f"start: {reply}")
        second.command("port config mtu 0 1300")
        check("MTU: 1300" in second.command("show port info 0"), "MTU is not 1300")
        end_testpmd(second, expected_errors=["in use", "Fail"])
        check(link_mtu("mana0p0") == 1500, "the interface has another MTU")
    return end_testpmd(owner)


def slave():
    """The netdev is a slave of a hv_netvsc netdev: one warning per used port."""
    warning = r"MANA: {}_port{}: netdev mana0p{} is a slave of hv0p{} \(hv_netvsc\).*uio_hv_generic"
    for options in ((), ("--kernel", "6.12", "--rnic")):
        for allowed, used in ((pci(0), (0, 1)), (f"{pci(0)},port=2", (1,))):
            with fixture(*PORTS, "--netvsc", *options) as run:
                run.start(eal=["-a", allowed], log="*:warning")
                for number in (0, 1):
                    reply = re.findall(warning.format(pci(0), number + 1, number, number),
                                      run.pmd.text)
                    check_equal(f"warnings of port {number}", len(reply), int(number in used))
                run.finish(expected_errors=["hv_netvsc"])
    with fixture(*PORTS) as run:
        run.start(log="*:warning")
        check("hv_netvsc" not in run.pmd.text, "a warning without a master")
        run.finish()


VARIANTS = {"slave": slave, "busy": busy, "netdev-down": netdev_down,
            "mtu-of-second-program": mtu_of_second_program}

if __name__ == "__main__":
    run_inside({"busy": busy_inside, "netdev-down": netdev_down_inside,
                "mtu-of-second-program": mtu_of_second_program_inside})
    main(VARIANTS)
