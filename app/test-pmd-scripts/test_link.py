#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The link as testpmd shows it, and the events that it prints."""

import time

from console import timeout_factor
from harness import bench, check, main

MACHINE = ("--ports", "2", "--wire", "pair")
CHANGE = "link state change event"


def shows(pmd, port, *wanted):
    """Waits until `show port info` has all of these."""
    end = time.monotonic() + 60 * timeout_factor()
    while True:
        text = pmd.command(f"show port info {port}")
        if all(line in text for line in wanted):
            return
        check(time.monotonic() < end, f"not {wanted}: {text}")
        time.sleep(0.1)


def told():
    """Both ports of the function are told, though nobody asks."""
    with bench(*MACHINE) as run:
        run.start()
        for port in (0, 1):
            shows(run.pmd, port, "Link status: up", "Link speed: 200 Gbps")
        for state in ("down", "up"):
            mark = run.pmd.mark()
            run.model.tell("link", "port=1", state)
            for port in (0, 1):
                run.pmd.wait_for(f"Port {port}: {CHANGE}", since=mark)
                shows(run.pmd, port, f"Link status: {state}")
        run.pmd.command("start tx_first")
        run.pmd.wait_until(lambda stats: stats[0].rx_packets >= 1000)
        run.pmd.command("stop")
        run.drain()
        run.finish()


def asked():
    """Without events it is right all the same."""
    with bench(*MACHINE) as run:
        run.start(app=["--no-lsc-interrupt"])
        mark = run.pmd.mark()
        run.model.tell("link", "port=1", "down")
        shows(run.pmd, 0, "Link status: down")
        run.model.tell("link", "port=1", "up")
        run.model.tell("speed", "port=1", "mbps=40000")
        shows(run.pmd, 0, "Link status: up", "Link speed: 40 Gbps")
        run.model.tell("speed", "port=1", "unknown")
        shows(run.pmd, 0, "Link speed: Unknown")
        check(CHANGE not in run.pmd.text[mark:], "it was told")
        run.finish()


def old_kernel():
    """One that tells nothing of it: up while started, at an unknown speed."""
    with bench(*MACHINE, "--kernel", "6.12", "--rnic") as run:
        run.start()
        run.model.tell("link", "port=1", "down")
        shows(run.pmd, 0, "Link status: up", "Link speed: Unknown")
        run.pmd.command("port stop 0")
        shows(run.pmd, 0, "Link status: down")
        run.finish()


def set_link():
    """It cannot be set; to bring up what is up is no error."""
    with bench(*MACHINE) as run:
        run.start()
        text = run.pmd.command("set link-up port 0")
        check("MANA" not in text and "Fail" not in text, text)
        text = run.pmd.command("set link-down port 0")
        check("the link belongs to the host" in text, text)
        shows(run.pmd, 0, "Link status: up")
        run.finish(expected_errors=["the link belongs to the host", "^Fail"])


VARIANTS = {"told": told, "asked": asked, "old-kernel": old_kernel,
            "set-link": set_link}

if __name__ == "__main__":
    main(VARIANTS)
