#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A port whose netdev is up belongs to the kernel."""

import os
import re
import signal

from harness import check, check_equal, check_pairs, fixture, main, named
from model import mac, netdev, pci
from programs import end_testpmd, run_inside, run_programs, start_testpmd
from testpmd import received

PORTS = ("--ports", "2", "--wire", "pair")


def busy():
    """The start fails and names the remedy, which works."""
    run_programs("busy", *PORTS)


NAME = netdev(0)


def set_up(model, state, check_it=True):
    # the model answers `ip`, too
    return model.run("ip", "link", "set", NAME, state, check=check_it)


def busy_inside(model, programs):
    set_up(model, "up")
    pmd = start_testpmd(programs, eal=["-a", f"{pci(0)},mac={mac(0)}"],
                        app=["--disable-device-start"])
    reply = pmd.command("port start 0")
    check(re.search(f"ip link set .*{NAME}.* down", reply), f"start: {reply}")
    set_up(model, "down")
    reply = pmd.command("port start 0")
    check("MANA" not in reply, f"start: {reply}")
    # now the kernel's request fails
    refused = set_up(model, "up", check_it=False)
    check("busy" in refused.stderr, f"ip link set up: {refused.stderr}")
    return end_testpmd(pmd, expected_errors=["ip link set", "Fail", "busy"])


def netdev_down():
    """
    netdev_down=1: the netdev is down while testpmd has the port, up before and after.
    """
    run_programs("netdev-down", *PORTS, leaks=True)


def is_up(model):
    # brief form: mana0p0 UP 00:0d:3a:00:00:01 <BROADCAST,MULTICAST,UP>
    shown = model.run("ip", "-br", "link", "show", NAME).stdout
    return "UP" in re.search("<(.*)>", shown).group(1).split(",")


def netdev_down_inside(model, programs):
    set_up(model, "up")
    eal = ["-a", f"{pci(0)},netdev={NAME},netdev_down=1"]
    pmd = start_testpmd(programs, eal=eal)
    check(not is_up(model), "up while testpmd has the port")
    stats = end_testpmd(pmd)
    check(is_up(model), "not given back")
    # after a kill it stays down, as documented
    pmd = start_testpmd(programs, eal=eal)
    os.kill(pmd.process.pid, signal.SIGKILL)
    pmd.process.wait()
    check(not is_up(model), "the netdev is up after a kill")
    return stats


def mtu_of_second_program():
    """A second program sets the MTU: the netdev keeps its own."""
    run_programs("mtu-of-second-program", *PORTS)


def link_mtu(model):
    shown = model.run("ip", "link", "show", NAME).stdout
    return int(re.search(r" mtu (\d+) ", shown).group(1))


def mtu_of_second_program_inside(model, programs):
    owner = start_testpmd(programs, eal=["-a", f"{pci(0)},mac={mac(0)}"])
    # a changed MTU would be a violation, which ends the program
    second = start_testpmd(programs, eal=["-a", f"{pci(0)},mac={mac(0)}"],
                           app=["--disable-device-start"])
    second.command("port config mtu 0 1400")
    reply = second.command("port start 0")
    check("in use" in reply, f"start: {reply}")
    second.command("port config mtu 0 1300")
    check("MTU: 1300" in second.command("show port info 0"), "MTU is not 1300")
    end_testpmd(second, expected_errors=["in use", "Fail"])
    check(link_mtu(model) == 1500, "the interface has another MTU")
    return end_testpmd(owner)


def slave():
    """The netdev is a slave of a hv_netvsc netdev: one warning per used port."""
    warning = r"MANA: {}: netdev mana0p{} is a slave of hv0p{} \(hv_netvsc\).*uio_hv_generic"
    for options in ((), ("--kernel", "6.12", "--rnic")):
        for allowed, used in ((pci(0), (0, 1)), (f"{pci(0)},port=2", (1,))):
            with fixture(*PORTS, "--netvsc", *options) as run:
                run.start(eal=["-a", allowed], log="*:warning")
                for number in (0, 1):
                    name = pci(0) + (f"_p{number + 1}" if len(used) > 1 else "")
                    reply = re.findall(warning.format(name, number, number),
                                      run.pmd.text)
                    check_equal(f"warnings of port {number}", len(reply), int(number in used))
                run.finish(expected_errors=["hv_netvsc"])
    with fixture(*PORTS) as run:
        run.start(log="*:warning")
        check("hv_netvsc" not in run.pmd.text, "a warning without a master")
        run.finish()


def container():
    """
    Programs in a network namespace of their own: with neither the netdevs nor the
    host's /sys, with the host's /sys, with the netdevs.
    """
    report, _ = run_programs("container", *PORTS)
    check_pairs(report)


def forward(pmd):
    pmd.forward(received(10_000))
    pmd.drain()


NAMESPACE = ["ip", "netns", "exec", "container"]    # with its own /sys
ELSEWHERE = "is in another network namespace"


def container_inside(model, programs):
    model.run("ip", "netns", "add", "container")
    pmd = start_testpmd(programs, eal=["-a", pci(0)], inside=NAMESPACE)
    check_equal("ports without netdevs", pmd.ports(), {})
    check(re.search(f"{ELSEWHERE}; run the program there", pmd.text),
          f"no remedy: {pmd.text}")
    check_equal("exit status of testpmd", pmd.quit(), 0)
    pmd = start_testpmd(programs, eal=["-a", pci(0)], inside=["unshare", "-n"],
                        log="*:notice")
    check(re.search(f"{ELSEWHERE}: set it down there", pmd.text), f"no notice: {pmd.text}")
    forward(pmd)
    check_equal("exit status of testpmd", pmd.quit(), 0)
    for port in (0, 1):
        model.run("ip", "link", "set", netdev(port), "netns", "container")
    pmd = start_testpmd(programs, eal=["-a", pci(0)], inside=NAMESPACE)
    forward(pmd)
    return end_testpmd(pmd)


if __name__ == "__main__":
    run_inside({"busy": busy_inside, "netdev-down": netdev_down_inside,
                "container": container_inside,
                "mtu-of-second-program": mtu_of_second_program_inside})
    main(named(slave, busy, netdev_down, mtu_of_second_program), named(container))
