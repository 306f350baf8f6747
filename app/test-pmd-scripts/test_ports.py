#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which ports appear, for which devargs; and what is said about bad ones."""

import re

from harness import bench, check, check_equal, main
from model import Model, mac, pci, program_environment
from testpmd import Console, arguments

MACHINE = ("--functions", "2", "--ports", "2,8")


NB_PORTS = (2, 8)


def ports(allow, wanted):
    """Exactly the wanted ports (function, port) appear, and nothing is left."""
    with bench(*MACHINE) as run:
        run.start(eal=[word for one in allow for word in ("-a", one)])
        expected = sorted((mac(sum(NB_PORTS[:fn]) + port), f"{pci(fn)}_port{port + 1}")
                          for fn, port in wanted)
        check_equal("ports", sorted(run.pmd.ports().values()), expected)
        run.finish()


def all_ports():
    ports([pci(0), pci(1)], [(0, 0), (0, 1)] + [(1, n) for n in range(8)])


def unlisted():
    """Without -a the whole bus is taken."""
    ports([], [(0, 0), (0, 1)] + [(1, n) for n in range(8)])


def subset():
    """Some ports of the second function, none of the first."""
    allow = f"{pci(1)},mac={mac(2)},mac={mac(6).upper()},mac={mac(9)}"
    ports([allow], [(1, 0), (1, 4), (1, 7)])


def by_netdev():
    """The same by the names of their interfaces; and by their numbers."""
    ports([f"{pci(1)},netdev=mana1p0,netdev=mana1p4,netdev=mana1p7"],
          [(1, 0), (1, 4), (1, 7)])


def by_number():
    ports([f"{pci(1)},port=1,port=5,port=8", f"{pci(0)},port=2"],
          [(1, 0), (1, 4), (1, 7), (0, 1)])


def both_functions():
    ports([f"{pci(0)},mac={mac(1)}", f"{pci(1)},mac={mac(3)},mac={mac(4)}"],
          [(0, 1), (1, 1), (1, 2)])


def eight():
    """The most that mac= may be given."""
    allow = ",".join([pci(1)] + [f"mac={mac(2 + n)}" for n in range(8)])
    ports([allow], [(1, n) for n in range(8)])


def refused(devargs, *wanted, eal=()):
    """The probe fails with these words, and leaves nothing behind."""
    model = Model(*MACHINE)
    # non-interactive: testpmd ends by itself when it finds no port
    argv = arguments(eal=["-a", f"{pci(0)},{devargs}", *eal])
    argv.remove("-i")
    pmd = Console(model.command(*argv), env=program_environment())
    try:
        # 22.11 goes on without the device
        forwarding = pmd.wait_for(r"packet forwarding - ports=(\d+)")
        check_equal(f"ports with {devargs}", forwarding.group(1), "0")
        pmd.wait_for("Press enter to exit")
        pmd.send("")
        pmd.wait()
        report = model.report()
        check_equal("left behind", report.leaks, {})
        check_equal("violations", report.violations, [])
        for words in wanted:
            check(re.search(words, pmd.text), f"{devargs}: no word of /{words}/")
    except BaseException:
        print(pmd.text)
        raise
    finally:
        pmd.kill()


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
    refused("port=1,netdev=mana0p0", "netdev=mana0p0: .*port= already")
    refused("port=1,port=1", "port=1 is given twice")
    refused("netdev_down=maybe", "netdev_down=maybe: give 0 or 1")
    refused("promisc=1", "promisc=1: .*reject")
    refused("rx_path=scalar,tx_path=", "tx_path=: .*; give one of ")


def no_such_port():
    """A MAC of no port: the ports that there are, with netdev and state."""
    words = [rf"(?i){mac(n)}.*\bmana0p{n}\b.*\bdown\b" for n in (0, 1)]
    refused("mac=02:00:00:00:00:99", "(?i)02:00:00:00:00:99", *words)
    refused("netdev=mana1p0", "netdev=mana1p0 is none", *words)
    refused("port=3", "port=3 is none", *words)
    # one of two is wrong: nothing is half probed
    refused(f"mac={mac(0)},mac=02:00:00:00:00:99", "02:00:00:00:00:99")


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
}

if __name__ == "__main__":
    main(VARIANTS)
