#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Forwarding between two ports of one function, with all ways to run testpmd."""

import re

import machine
from application import application
from harness import check, check_equal, check_nothing_lost, check_pairs, fixture, main
from model import mac, pci
from programs import (check_result, end_testpmd, run_inside, run_programs,
                      start_testpmd)
from testpmd import TWO_PORTS, arguments, received, settled

PAIR = ("--ports", "2", "--wire", "pair")
MILLION = 1_000_000
FRAME = 64


def io(*options, packets=MILLION, app=(), eal=(), prepare=None, started=None,
       **testpmd):
    """
    Forwards, drains, and checks that no packet was lost. prepare is called with the
    machine, started with testpmd.
    """
    with fixture(*PAIR, *options) as run:
        if prepare:
            prepare(run.model)
        pmd = run.start(eal=TWO_PORTS + list(eal), app=app, **testpmd)
        if started:
            started(pmd)
        pmd.forward(lambda stats: sum(port.rx_packets for port in stats.values()) >= packets,
                    timeout=60 + packets / 20_000)
        run.drain()
        report = run.finish()
        check_nothing_lost(report)
        check_pairs(report)
        total = sum(port["rx"]["packets"] for port in report.ports.values())
        check(total >= packets, f"the wire carried only {total} packets")
        for port in report.ports.values():
            check_equal("bytes per frame", port["tx"]["bytes"],
                        port["tx"]["packets"] * FRAME)
        check(report.doorbells["cq"] > 0, "no CQ doorbell was rung")
        return report


def batch():
    """Not interactive, with --tx-first; a key ends it."""
    argv = arguments(eal=TWO_PORTS)
    argv[argv.index("-i")] = "--tx-first"
    with application(argv, *PAIR) as pmd:
        pmd.expect("Press enter to exit")
        pmd.wait_until(lambda report: sum(port["rx"]["packets"] for port in
                                          report.ports.values()) >= MILLION)
        pmd.send("")
        report = pmd.finish()
        check_nothing_lost(report)
        check_pairs(report)
        for number in (0, 1):
            part = re.search(rf"Forward statistics for port {number}(?s:.*?)"
                             r"RX-packets: (\d+)(?s:.*?)TX-packets: (\d+)\s+"
                             r"TX-dropped: (\d+)", pmd.text)
            rx, tx, dropped = (int(part.group(n)) for n in (1, 2, 3))
            port = report.port(number)
            check_equal("dropped at Tx", dropped, 0)
            check_equal("Tx (testpmd, then wire)", tx, port["tx"]["packets"])
            # one burst circulates and may be in the ring when testpmd ends
            waiting = port["rx"]["packets"] - rx
            check(0 <= waiting <= 32, f"{waiting} packets waiting in the ring")


def ordinary_user():
    machine.become_ordinary_user()
    io()


def each_queue(report, nb_queues):
    """Every queue of every port had traffic."""
    for port in report.ports.values():
        for kind in ("sq", "rq"):
            counts = [queue["packets"] for queue in port["queues"]
                      if queue["kind"] == kind]
            check_equal(f"number of {kind} queues of {port['mac']}",
                        len(counts), nb_queues)
            check(all(counts), f"an idle {kind} of {port['mac']}: {counts}")


FOUR_QUEUES = ["--rxq=4", "--txq=4", "--txonly-multi-flow"]


def queues():
    """Flows of --txonly-multi-flow circulate on four queues."""
    each_queue(io(app=FOUR_QUEUES), 4)


def txonly_multi_flow():
    """The generator itself: a million packets of many flows, all counted."""
    with fixture(*PAIR) as run:
        run.start(eal=TWO_PORTS, app=FOUR_QUEUES)
        run.pmd.forward(lambda stats: stats[0].tx_packets >= MILLION, "txonly", "start")
        run.drain()
        report = run.finish()
        check_pairs(report)
        each_queue(report, 4)


JUMBO = 9000    # bytes per frame
NB_JUMBO = 100_000
SIZES = "2048,2048,2048,2048,808"


def jumbo():
    """
    One program sends chains of five segments; another receives into one large mbuf.
    """
    report, result = run_programs("jumbo", *PAIR, "--max-mtu", "9000",
                                  timeout=600)
    check_result(report, result)
    check_pairs(report)
    for side, port in (("tx", report.port(0)), ("rx", report.port(1))):
        check(port[side]["packets"] >= NB_JUMBO, f"{side}: {port[side]}")
        check_equal(f"{side} bytes", port[side]["bytes"],
                    port[side]["packets"] * JUMBO)
    check_equal("truncated", report.port(1)["rx"]["truncated"], 0)


def jumbo_inside(_model, programs):
    # both have large mbufs, because the sender's port could receive, too
    large = ["--mbuf-size=9728", "--total-num-mbufs=8192", f"--max-pkt-len={JUMBO}"]
    receiver = start_testpmd(
        programs, eal=["-a", f"{pci(0)},mac={mac(1)}"], megabytes=256,
        app=large + ["--forward-mode=rxonly"])
    sender = start_testpmd(
        programs, eal=["-a", f"{pci(0)},mac={mac(0)}"], megabytes=256,
        app=large + ["--forward-mode=txonly", "--tx-offloads=0x8000",
                     f"--txpkts={SIZES}"])
    for program in (receiver, sender):
        info = program.command("show port info 0")
        check(re.search(rf"MTU: {JUMBO - 14}", info), f"MTU not set: {info}")
    receiver.command("start")
    sender.command("start")
    receiver.wait_until(received(NB_JUMBO), timeout=500)
    sender.command("stop")
    receiver.wait_until(settled())
    receiver.command("stop")
    reply = ["Invalid Tx queue_id"]      # from --txpkts before queues exist
    return {**end_testpmd(sender, reply), **end_testpmd(receiver)}


def capabilities():
    """An ordinary user with the capabilities that the guide names."""
    io(prepare=lambda model: model.drop_privileges(["net_raw", "ipc_lock"]))


IN_GUEST = {"capabilities": capabilities}
VARIANTS = {
    "ten-million": lambda: io(packets=10 * MILLION, memory="huge"),
    "batch": batch,
    "no-huge": lambda: io(memory="no-huge"),
    "ordinary-user": ordinary_user,
    "in-memory": lambda: io(memory="in-memory"),
    "iova-va": lambda: io(memory="in-memory", eal=["--iova-mode=va"]),
    "iova-pa": lambda: io(memory="in-memory", eal=["--iova-mode=pa"]),
    "external-memory": lambda: io(app=["--mp-alloc=xmem"]),
    "queues": queues,
    "txonly-multi-flow": txonly_multi_flow,
    "thread": lambda: io("--mode", "thread"),
    "coalesce": lambda: io("--coalesce"),
    "jumbo": jumbo,
}

if __name__ == "__main__":
    run_inside({"jumbo": jumbo_inside})
    main(VARIANTS, IN_GUEST)
