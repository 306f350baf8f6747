#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Link status and events as testpmd prints them."""

import os
import re

from harness import check, check_equal, fixture, main, named
from model import Model, wait_until
from testpmd import received

MACHINE = ("--ports", "2", "--wire", "pair")
CHANGE = "link state change event"


def wait_for_info(pmd, port, *wanted):
    """Waits until `show port info` contains all of these."""
    def is_shown():
        text = pmd.command(f"show port info {port}")
        return all(line in text for line in wanted)
    wait_until(is_shown, wanted, pause=0.1)


def events():
    """Both ports of the function get an event without any query."""
    with fixture(*MACHINE) as run:
        run.start()
        for port in (0, 1):
            wait_for_info(run.pmd, port, "Link status: up", "Link speed: 200 Gbps")
        for state in ("down", "up"):
            mark = run.pmd.mark()
            run.model.ctl("link", "port=1", state)
            for port in (0, 1):
                run.pmd.expect(f"Port {port}: {CHANGE}", since=mark)
                wait_for_info(run.pmd, port, f"Link status: {state}")
        run.pmd.forward(received(1000))
        run.drain()
        run.finish()


def no_events():
    """Without events the status is still correct."""
    with fixture(*MACHINE) as run:
        run.start(app=["--no-lsc-interrupt"])
        mark = run.pmd.mark()
        run.model.ctl("link", "port=1", "down")
        wait_for_info(run.pmd, 0, "Link status: down")
        run.model.ctl("link", "port=1", "up")
        wait_for_info(run.pmd, 0, "Link status: up")
        if run.model.SPEED_CHANGES:
            run.model.ctl("speed", "port=1", "mbps=40000")
            wait_for_info(run.pmd, 0, "Link status: up", "Link speed: 40 Gbps")
            run.model.ctl("speed", "port=1", "unknown")
            wait_for_info(run.pmd, 0, "Link speed: Unknown")
        check(CHANGE not in run.pmd.text[mark:], "an event was printed")
        run.finish()


def old_kernel():
    """A kernel without link reports: up while started, at unknown speed."""
    with fixture(*MACHINE, *Model.options_of("6.12")) as run:
        run.start()
        run.model.ctl("link", "port=1", "down")
        wait_for_info(run.pmd, 0, "Link status: up", "Link speed: Unknown")
        run.pmd.command("port stop 0")
        wait_for_info(run.pmd, 0, "Link status: down")
        run.finish()


def set_link():
    """The link cannot be set down; setting it up again is no error."""
    with fixture(*MACHINE) as run:
        run.start()
        text = run.pmd.command("set link-up port 0")
        check("MANA" not in text and "Fail" not in text, text)
        text = run.pmd.command("set link-down port 0")
        check("the host controls it" in text, text)
        wait_for_info(run.pmd, 0, "Link status: up")
        run.finish(expected_errors=["the host controls it", "^Fail"])


def netdev_mtu():
    """
    One warning when another program sets the MTU of a netdev whose port has queues, none when
    the port is stopped.
    """
    with fixture(*MACHINE, strict=False) as run:
        def warnings():
            text = os.pread(run.messages.fileno(), 1 << 20, 0).decode()
            return re.findall(r"_p1: the MTU of netdev mana0p0 was changed from (\d+) to (\d+)",
                              text)
        run.start(log="*:warning")
        wait_for_info(run.pmd, 0, "Link status: up")
        changes = [("1500", "1400"), ("1400", "1500")]
        for number, (_, after) in enumerate(changes, 1):
            run.model.ctl("mtu", "port=1", f"mtu={after}")
            wait_until(lambda: warnings() == changes[:number], warnings)
        run.pmd.command("port stop 0")
        run.model.ctl("mtu", "port=1", "mtu=1300")
        wait_for_info(run.pmd, 0, "Link status: down")
        run.pmd.command("port start 0")
        wait_for_info(run.pmd, 0, "Link status: up")
        report = run.finish()
        check_equal("warnings", warnings(), changes)
        check_equal("violations", [(one["name"], one["count"]) for one in report.violations],
                    [("netdev_change_under_raw_qps", 2)])


if __name__ == "__main__":
    main(named(events, no_events, old_kernel, set_link, netdev_mtu))
