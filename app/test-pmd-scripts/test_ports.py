#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which ports appear for which devargs, and the messages for wrong ones."""

import functools
import os
import re
import shutil
import tempfile

from application import application
from harness import check, check_equal, check_report, fixture, main
from model import BUILD, PLUGIN, mac, pci
from testpmd import arguments

MACHINE = ("--functions", "2", "--ports", "2,8")


NB_PORTS = (2, 8)


def ports(allow, wanted, option="-a"):
    """Exactly the wanted ports (function, port) appear, without leaks."""
    with fixture(*MACHINE) as run:
        run.start(eal=[word for one in allow for word in (option, one)])
        alone = [fn for fn in (0, 1) if sum(of == fn for of, _ in wanted) == 1]
        expected = sorted((mac(sum(NB_PORTS[:fn]) + port),
                           pci(fn) + ("" if fn in alone else f"_p{port + 1}"))
                          for fn, port in wanted)
        check_equal("ports", sorted(run.pmd.ports().values()), expected)
        run.finish()


EVERY_PORT = [(0, 0), (0, 1)] + [(1, n) for n in range(8)]
SOME_OF_8 = [(1, 0), (1, 4), (1, 7)]

# What is allowed, and the ports that appear.
ALLOWED = {
    "all-ports": ([pci(0), pci(1)], EVERY_PORT),
    # without -a all devices of the bus are probed
    "unlisted": ([], EVERY_PORT),
    "subset": ([f"{pci(1)},mac={mac(2)},mac={mac(6).upper()},mac={mac(9)}"], SOME_OF_8),
    "by-netdev": ([f"{pci(1)},netdev=mana1p0,netdev=mana1p4,netdev=mana1p7"], SOME_OF_8),
    "by-number": ([f"{pci(1)},port=1,port=5,port=8", f"{pci(0)},port=2"],
                  [*SOME_OF_8, (0, 1)]),
    "both-functions": ([f"{pci(0)},mac={mac(1)}", f"{pci(1)},mac={mac(3)},mac={mac(4)}"],
                       [(0, 1), (1, 1), (1, 2)]),
    # the form of Microsoft's instructions: EAL probes this PCI function and no other
    "as-vdev": ([f"{pci(0)},mac={mac(1)}"], [(0, 1)], "--vdev"),
    # EAL's form of layers
    "layers": ([f"bus=pci,addr={pci(0)}/class=eth,mac={mac(1)}"], [(0, 1)]),
    # the maximum number of mac= arguments
    "eight": ([",".join([pci(1)] + [f"mac={mac(2 + n)}" for n in range(8)])],
              [(1, n) for n in range(8)]),
}


def refused(devargs, *wanted):
    """The probe fails with these words and without leaks."""
    no_port(f"{pci(0)},{devargs}", wanted)


def no_port(allowed, wanted, before=()):
    """testpmd finds no port, prints this message, and leaks nothing."""
    # non-interactive testpmd exits without ports
    argv = arguments(eal=["-a", allowed])
    argv.remove("-i")
    with application([*before, *argv], *MACHINE) as pmd:
        # 22.11 continues without the device
        forwarding = pmd.expect(r"packet forwarding - ports=(\d+)")
        check_equal(f"ports with {allowed}", forwarding.group(1), "0")
        pmd.expect("Press enter to exit")
        pmd.send("")
        pmd.wait()
        check_report(pmd.model.report())
        for words in wanted:
            check(re.search(words, pmd.text), f"{allowed}: no word of /{words}/")
        return pmd.text


def refused_later(wanted):
    """A program with ports attaches none of {devargs: words}, and says why."""
    with fixture(*MACHINE) as run:
        run.start(eal=["-a", pci(0)])
        for devargs, words in wanted.items():
            text = run.pmd.command(f"port attach {pci(1)},{devargs}")
            check("is attached" not in text, text)
            for word in words:
                check(re.search(word, text), f"{devargs}: no word of /{word}/ in {text}")
        # those that are checked above
        run.finish(expected_errors=[""])


def bad_devargs():
    """At the start and later; unit-devargs has the message of each wrong argument."""
    refused("mac=no-address", "no-address")
    refused_later({"port=1,netdev=mana1p0":
                   ["netdev=mana1p0: .*already selected by port="]})


def no_such_port():
    """A MAC address without port: the message lists the ports with netdev and state."""
    words = [rf"(?i){mac(n)}.*\bmana0p{n}\b.*\bdown\b" for n in (0, 1)]
    refused("mac=02:00:00:00:00:99", "(?i)02:00:00:00:00:99", *words)
    words = [rf"(?i){mac(n)}.*\bmana1p{n - 2}\b.*\bdown\b" for n in range(2, 10)]
    refused_later({
        "netdev=mana0p0": ["no usable port matches netdev=mana0p0", *words],
        # one of two is wrong: no port remains
        f"mac={mac(2)},mac=02:00:00:00:00:99": ["02:00:00:00:00:99"],
    })


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


def two_drivers():
    """
    Two files of this name are loaded, here two copies of one: a warning names both, the one
    first that was loaded first. One line names the driver that probes.
    """
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        copy = shutil.copy(PLUGIN, os.path.join(folder, "librte_net_mana.so"))
        for first, second in ((PLUGIN, copy), (copy, PLUGIN)):
            with fixture() as run:
                run.start(eal=["-a", pci(0), "-d", second], plugin=first, log="*:notice")
                probes = re.findall("driver net_mana of dpdk-mana.*: (/.*)", run.pmd.text)
                check_equal("drivers that probe", probes, [first])
                warnings = re.findall(r"two drivers net_mana are loaded, (/\S*) and (/\S*): ",
                                      run.pmd.text)
                check_equal("warnings", set(warnings), {(first, second)})
                run.finish(expected_errors=["^MANA: "])


def ring_limit():
    """
    Where rdma-core limits the rings, one line names the version that does not, and an
    application's own message about its 512 descriptors follows.
    """
    with fixture("--ports", "2") as run:
        run.start(eal=["-a", pci(0)], log="*:notice")
        limit = int(re.search(r"Max possible number of RXDs per queue: (\d+)",
                              run.pmd.command("show port info 0")).group(1))
        lines = re.findall(r"MANA: .*queues have at most (\d+) descriptors, .*"
                           r"rdma-core 49 or later", run.pmd.text)
        check_equal("limits named", lines, [str(limit)] if limit < 2048 else [])
        run.finish(expected_errors=["^MANA: "])


VARIANTS = {name: functools.partial(ports, *row) for name, row in ALLOWED.items()}
VARIANTS |= {"bad-devargs": bad_devargs, "no-such-port": no_such_port,
             "of-another-driver": function_of_another_driver,
             "two-drivers": two_drivers, "ring-limit": ring_limit}

if __name__ == "__main__":
    main(VARIANTS)
