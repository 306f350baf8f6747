#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Several programs on one machine, at the same time and after a kill."""

import os
import signal

from harness import check, check_equal, check_pairs, fixture, main
from model import Model, mac, pci, program_environment
from programs import (check_result, end_testpmd, run_inside, run_programs,
                      start_testpmd)
from testpmd import Testpmd, arguments, settled

PAIR = ("--ports", "2", "--wire", "pair")
ENOUGH = 200_000     # packets received by each of two programs


def one_port(number):
    return ["-a", f"{pci(0)},mac={mac(number)}"]


def side_by_side():
    """Two programs with one port each of one function forward to each other."""
    report, result = run_programs("side-by-side", *PAIR)
    check_result(report, result)
    check_pairs(report)
    for number in (0, 1):
        check(report.port(number)["rx"]["packets"] >= ENOUGH,
              f"port {number}: {report.port(number)['rx']}")


def side_by_side_inside(_model, programs):
    pmds = [start_testpmd(programs, eal=one_port(number), megabytes=256)
            for number in (0, 1)]
    # io on one port returns what it receives; enough packets circulate that no program
    # waits for the other's turn on a processor
    for pmd in pmds:
        pmd.command("start tx_first 4")
    for pmd in pmds:
        pmd.wait_until(lambda stats: stats[0].rx_packets >= ENOUGH)
    for pmd in pmds:
        pmd.command("stop")
    for pmd in pmds:
        pmd.command("set fwd rxonly")
        pmd.command("start")
        pmd.wait_until(settled(), pause=0.3)
    result = {}
    for pmd in pmds:
        pmd.command("stop")
        result.update(end_testpmd(pmd))
    return result


def killed():
    """After kill -9 under traffic, the next program starts at once and forwards."""
    report, result = run_programs("killed", *PAIR, leaks=True)
    # exactly the killed program's objects, none of its successor's
    check_equal("left behind", report.leaks, Model.left_by_killed(result["held"]))
    for address, stats in result["stats"].items():
        port = report.ports[address]
        for side in ("rx", "tx"):
            check_equal(f"{side} packets of {address}, second program",
                        port[side]["packets"] - result["before"][address][side],
                        stats[f"{side}_packets"])


def killed_inside(model, programs):
    both = ["-a", pci(0)]
    victim = start_testpmd(programs, eal=both)
    victim.command("start tx_first")
    victim.wait_until(lambda stats: stats[0].rx_packets >= 100_000)
    held = model.live_report().objects
    os.kill(victim.process.pid, signal.SIGKILL)
    victim.process.wait()
    # without waiting for the launcher
    heir = start_testpmd(programs, eal=both)
    before = {address: {side: port[side]["packets"] for side in ("rx", "tx")}
              for address, port in model.live_report().ports.items()}
    heir.command("start tx_first")
    heir.wait_until(lambda stats: stats[0].rx_packets >= 100_000)
    heir.command("stop")
    heir.drain()
    return {"held": held, "before": before, "stats": end_testpmd(heir)}


def secondary():
    """A secondary testpmd sees the ports and cannot forward; the primary continues."""
    with fixture(*PAIR) as run:
        primary = run.start(eal=["-a", pci(0), "--proc-type=primary"], memory="huge",
                            app=["--num-procs=2", "--proc-id=0"])
        primary.command("start tx_first")
        argv = arguments(eal=["-a", pci(0), "--proc-type=secondary"], memory="huge",
                         app=["--num-procs=2", "--proc-id=1"])
        second = Testpmd(run.model.join_command(*argv), env=program_environment())
        try:
            second.start_up()
            check_equal("ports of the secondary", second.ports(), primary.ports())
            second.command("start")
            before = second.stats()
            second.wait_until(lambda stats: all(
                stats[port].rx_packets > before[port].rx_packets + 10_000
                for port in (0, 1)))
            second.command("stop")
            check_equal("exit status of the secondary", second.quit(), 0)
        except BaseException:
            print(second.text)
            raise
        finally:
            second.kill()
        before = primary.stats()
        primary.wait_until(lambda stats: all(
            stats[port].rx_packets > before[port].rx_packets + 10_000
            for port in (0, 1)))
        check_equal("ports of the primary", sorted(primary.macs().values()),
                    [mac(0), mac(1)])
        primary.command("stop")
        run.drain()
        run.finish()


VARIANTS = {"side-by-side": side_by_side, "killed": killed, "secondary": secondary}

if __name__ == "__main__":
    run_inside({"side-by-side": side_by_side_inside, "killed": killed_inside})
    main(VARIANTS)
