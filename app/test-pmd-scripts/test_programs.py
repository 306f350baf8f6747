#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Several programs on one machine, at the same time and after a kill."""

import os
import re
import signal

from harness import check, check_equal, check_errors, check_pairs, fixture, main, named
from model import Model, mac, pci, wait_until
from programs import (check_result, end_testpmd, run_inside, run_programs,
                      start_testpmd)
from testpmd import Testpmd, arguments, settled

PAIR = ("--ports", "2", "--wire", "pair")
ENOUGH = 200_000     # packets received by each of two programs
ENOUGH_EACH = 10_000    # on each queue


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


def start_process(run, number):
    """testpmd as the primary process, 0, or a secondary one, with a queue of each port."""
    kind = "secondary" if number else "primary"
    keywords = {"eal": ["-a", pci(0), f"--proc-type={kind}"], "memory": "huge",
                "app": ["--num-procs=2", f"--proc-id={number}", "--rxq=2", "--txq=2",
                        "--txonly-multi-flow"]}
    if number == 0:
        return run.start(**keywords)
    argv = arguments(**keywords, first_lcore=2 * number)
    pmd = Testpmd(run.model.join_command(*argv))
    run.programs.append(pmd)
    pmd.start_up()
    return pmd


def queue_packets(pmd):
    """The packets that each queue of both ports has received and sent."""
    rows = re.findall(r"^[rt]x_q\d_packets: (\d+)$",
                      pmd.command("show port xstats all"), re.MULTILINE)
    check_equal("queues", len(rows), 8)
    return [int(number) for number in rows]


def forwarded(pmd):
    """Ends forwarding. Returns the packets that this process received and sent."""
    text = pmd.command("stop")
    at = text.index("Accumulated forward statistics for all ports")
    return [int(re.search(rf"{name}-packets: (\d+)", text[at:]).group(1))
            for name in ("RX", "TX")]


def check_operations(run, pmds):
    """Queue information, cleanup and link events of the secondary process."""
    check_equal("burst modes", pmds[1].burst_modes(1), pmds[0].burst_modes(1))
    # The sent packets whose completions no burst has looked at.
    reply = pmds[1].command("port cleanup 0 txq 1 0")
    check(re.search(r"mbuf nums: [1-9]", reply) is not None, reply)
    check("mbuf nums: 0" in pmds[1].command("port cleanup 0 txq 1 0"), "cleanup again")
    for state in ("down", "up"):
        mark = pmds[1].mark()
        run.model.ctl("link", "port=1", state)
        for port in (0, 1):
            pmds[1].expect(f"Port {port}: link state change event", since=mark)


def secondary():
    """The primary testpmd and a secondary one forward, each with its own queue."""
    with fixture(*PAIR) as run:
        pmds = [start_process(run, number) for number in range(2)]
        check_equal("ports of the secondary", pmds[1].ports(), pmds[0].ports())
        for pmd in pmds:
            pmd.command("start tx_first 4")
        wait_until(lambda: min(queue_packets(pmds[0])) >= ENOUGH_EACH,
                   lambda: f"packets of queues: {queue_packets(pmds[0])}")
        counts = [forwarded(pmd) for pmd in pmds]
        check(min(min(count) for count in counts) >= 2 * ENOUGH_EACH, f"{counts}")
        for pmd in pmds:
            pmd.drain()
        check_equal("statistics", pmds[1].stats(), pmds[0].stats())
        check_operations(run, pmds)
        check_equal("exit status of the secondary", pmds[1].quit(), 0)
        check_errors(pmds[1])
        report = run.finish()
        check_pairs(report)


if __name__ == "__main__":
    run_inside({"side-by-side": side_by_side_inside, "killed": killed_inside})
    main(named(side_by_side, killed, secondary))
