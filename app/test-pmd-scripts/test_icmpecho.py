#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The kernel's ping, answered by testpmd behind a TAP interface."""

import os
import re
import signal
import subprocess

import machine
from harness import check, check_equal, check_nothing_lost, fixture, main
from model import mac, pci
from programs import end_testpmd, run_inside, run_programs, start_testpmd
from taps import ip

TAP = "mtap0"
OURS = "192.0.2.1"      # the kernel's address of the TAP interface
THEIRS = "192.0.2.2"    # answered by testpmd for any address
PINGS = 1000


def ping(size, *options):
    machine.in_private_namespaces()
    machine.need_program("ping", "iputils-ping")
    with fixture("--ports", "1", "--wire", "tap", *options) as run:
        run.start(eal=["-a", f"{pci(0)},mac={mac(0)}"],
                  app=["--forward-mode=icmpecho"])
        ip("link", "set", TAP, "up")
        ip("address", "add", f"{OURS}/24", "dev", TAP)
        run.pmd.command("start")
        done = subprocess.run(
            ["ping", "-n", "-q", "-c", str(PINGS), "-i", "0.002", "-W", "2",
             "-s", str(size), THEIRS],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=120, check=False)
        print(done.stdout)
        replies = re.search(r"(\d+) packets transmitted, (\d+) received", done.stdout)
        check_equal("replies", replies.group(2), str(PINGS))
        check("errors" not in done.stdout and "duplicates" not in done.stdout,
              "ping complains")
        neighbour = ip("neighbour", "show", THEIRS, "dev", TAP)
        check(mac(0) in neighbour, f"ARP not resolved: {neighbour}")
        run.pmd.command("stop")
        report = run.finish()
        check_nothing_lost(report)
        port = report.port(0)
        # each request, and at least one ARP request before the first, has a reply of
        # the same length
        for side in ("rx", "tx"):
            check(port[side]["packets"] > PINGS, f"{side}: {port[side]}")
            check(port[side]["bytes"] >= PINGS * (14 + 20 + 8 + size),
                  f"{side}: {port[side]}")
        check_equal("answers", port["tx"]["packets"], port["rx"]["packets"])


def killed():
    """kill -9 while the kernel sends: the next program answers at once."""
    machine.in_private_namespaces()
    machine.need_program("ping", "iputils-ping")
    report, _ = run_programs("killed", "--ports", "1", "--wire", "tap", leaks=True)
    check(report.leaks, "the dead program left nothing behind?")


def killed_inside(_model, programs):
    allow = ["-a", f"{pci(0)},mac={mac(0)}"]
    app = ["--forward-mode=icmpecho", "--auto-start"]
    victim = start_testpmd(programs, eal=allow, app=app)
    ip("link", "set", TAP, "up")
    ip("address", "add", f"{OURS}/24", "dev", TAP)
    flood = subprocess.Popen(["ping", "-n", "-q", "-f", THEIRS],
                             stdout=subprocess.DEVNULL)
    try:
        victim.wait_until(lambda stats: stats[0].rx_packets > PINGS)
        os.kill(victim.process.pid, signal.SIGKILL)
        victim.process.wait()
        heir = start_testpmd(programs, eal=allow, app=app)
        heir.wait_until(lambda stats: stats[0].rx_packets > PINGS)
    finally:
        flood.kill()
        flood.wait()
    heir.command("stop")
    end_testpmd(heir)


VARIANTS = {
    "default": lambda: ping(56),
    "large": lambda: ping(1400),
    "killed": killed,
}

if __name__ == "__main__":
    run_inside({"killed": killed_inside})
    main(VARIANTS)
