#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which ports appear for which devargs, and the messages for wrong ones."""

import os
import re
import tempfile

from harness import check, check_equal, fixture, main
from model import Model, mac, pci, program_environment
from testpmd import Console, arguments

MACHINE = ("--functions", "2", "--ports", "2,8")


NB_PORTS = (2, 8)


def ports(allow, wanted):
    """Exactly the wanted ports (function, port) appear, without leaks."""
    with fixture(*MACHINE) as run:
        run.start(eal=[word for one in allow for word in ("-a", one)])
        expected = sorted((mac(sum(NB_PORTS[:fn]) + port), f"{pci(fn)}_port{port + 1}")
                          for fn, port in wanted)
        check_equal("ports", sorted(run.pmd.ports().values()), expected)
        run.finish()


def all_ports():
    ports([pci(0), pci(1)], [(0, 0), (0, 1)] + [(1, n) for n in range(8)])


def unlisted():
    """Without -a all devices of the bus are probed."""
    ports([], [(0, 0), (0, 1)] + [(1, n) for n in range(8)])


def subset():
    """Some ports of the second function, none of the first."""
    allow = f"{pci(1)},mac={mac(2)},mac={mac(6).upper()},mac={mac(9)}"
    ports([allow], [(1, 0), (1, 4), (1, 7)])


def by_netdev():
    """The same by netdev names, and by port numbers."""
    ports([f"{pci(1)},netdev=mana1p0,netdev=mana1p4,netdev=mana1p7"],
          [(1, 0), (1, 4), (1, 7)])


def by_number():
    ports([f"{pci(1)},port=1,port=5,port=8", f"{pci(0)},port=2"],
          [(1, 0), (1, 4), (1, 7), (0, 1)])


def both_functions():
    ports([f"{pci(0)},mac={mac(1)}", f"{pci(1)},mac={mac(3)},mac={mac(4)}"],
          [(0, 1), (1, 1), (1, 2)])


def eight():
    """The maximum number of mac= arguments."""
    allow = ",".join([pci(1)] + [f"mac={mac(2 + n)}" for n in range(8)])
    ports([allow], [(1, n) for n in range(8)])


def refused(devargs, *wanted, eal=()):
    """The probe fails with these words and without leaks."""
    no_port(f"{pci(0)},{devargs}", wanted, eal=eal)


def no_port(allowed, wanted, before=(), eal=()):
    """testpmd finds no port, prints this message, and leaks nothing."""
    model = Model(*MACHINE)
    # non-interactive testpmd exits without ports
    argv = arguments(eal=["-a", allowed, *eal])
    argv.remove("-i")
    pmd = Console(model.command(*before, *argv), env=program_environment())
    try:
        # 22.11 continues without the device
        forwarding = pmd.wait_for(r"packet forwarding - ports=(\d+)")
        check_equal(f"ports with {allowed}", forwarding.group(1), "0")
        pmd.wait_for("Press enter to exit")
        pmd.send("")
        pmd.wait()
        report = model.report()
        check_equal("left behind", report.leaks, {})
        check_equal("violations", report.violations, [])
        for words in wanted:
            check(re.search(words, pmd.text), f"{allowed}: no word of /{words}/")
    except BaseException:
        print(pmd.text)
        raise
    finally:
        pmd.kill()
    return pmd.text


def bad_devargs():
    ninth = ",".join(f"mac={mac(n)}" for n in range(9))
    refused("mac=00:0d:3a:00:00", r"00:0d:3a:00:00\b")
    refused("mac=no-address", "no-address")
    refused("mac=", "mac")
    refused("mac=00:0d:3a:00:00:01:02", "00:0d:3a:00:00:01:02")
    refused("mac=00:0d:3a:00:00:0g", "00:0d:3a:00:00:0g")
    refused(ninth, r"(?i)\b8\b|eight")
    refused("colour=blue", "colour")
    refused(f"mac={mac(0)},colour=blue", "colour", "netdev_down=<0|1>")
    refused("netdev=a-name-of-16-chr", "a-name-of-16-chr.*1 to 15")
    refused("port=0", "port=0.*from 1")
    refused("port=1,netdev=mana0p0", "netdev=mana0p0: .*already selected by port=")
    refused("port=1,port=1", "port=1 is given twice")
    refused("netdev_down=maybe", "netdev_down=maybe: give 0 or 1")
    refused("promisc=1", "promisc=1: .*reject")
    refused("tx_path=scalar", "unknown device argument 'tx_path'")


def no_such_port():
    """A MAC address without port: the message lists the ports with netdev and state."""
    words = [rf"(?i){mac(n)}.*\bmana0p{n}\b.*\bdown\b" for n in (0, 1)]
    refused("mac=02:00:00:00:00:99", "(?i)02:00:00:00:00:99", *words)
    refused("netdev=mana1p0", "no usable port matches netdev=mana1p0", *words)
    refused("port=3", "no usable port matches port=3", *words)
    # one of two is wrong: no port remains
    refused(f"mac={mac(0)},mac=02:00:00:00:00:99", "02:00:00:00:00:99")


def function_of_another_driver():
    """A function bound to vfio, or to no driver; EAL ignores the latter."""
    address = "7879:00:00.0"
    files = {"vendor": "0x1414", "device": "0x00ba", "subsystem_vendor": "0x1414",
             "subsystem_device": "0x00ba", "class": "0x020000", "numa_node": "0",
             "max_vfs": "0", "resource": "0x0 0x0 0x0\n" * 6}
    with tempfile.TemporaryDirectory() as top:
        folder = os.path.join(top, "devices", address)
        os.makedirs(folder)
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text + "\n")
        # the model sets the variable for its own devices
        sysfs = ["env", "SYSFS_PCI_DEVICES=" + os.path.dirname(folder)]
        text = no_port(address, [], before=sysfs)
        check("Probe PCI driver" not in text and "MANA" not in text, text)
        os.mkdir(os.path.join(top, "vfio-pci"))
        os.symlink(os.path.join(top, "vfio-pci"), os.path.join(folder, "driver"))
        no_port(address, ["belongs to the kernel driver vfio-pci.*mana"], before=sysfs)


VARIANTS = {
    "all-ports": all_ports,
    "unlisted": unlisted,
    "subset": subset,
    "by-netdev": by_netdev,
    "by-number": by_number,
    "both-functions": both_functions,
    "eight": eight,
    "bad-devargs": bad_devargs,
    "no-such-port": no_such_port,
    "of-another-driver": function_of_another_driver,
}

if __name__ == "__main__":
    main(VARIANTS)
