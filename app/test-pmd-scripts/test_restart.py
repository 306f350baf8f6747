#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Repeated stop and start, detach and attach, under traffic.

After a warm-up neither memory, nor kernel objects, nor descriptors of the program may
grow. MANA_RESTART_ROUNDS is the number of rounds.
"""

import os
import re

import machine
from harness import check, check_equal, check_pairs, fixture, main, named
from model import mac, pci
from programs import (check_result, end_testpmd, run_inside, run_programs,
                      start_testpmd)

TIMES = int(os.environ.get("MANA_RESTART_ROUNDS", 30))
WARM_UP = 10
# Telemetry starts a thread per client, and any DPDK program that starts is a client.
NO_CALLERS = "--no-telemetry"
# Few mbufs, so that the warm-up touches all of them.
FEW_MBUFS = ["--total-num-mbufs=4096"]
# The C library's own memory varies by a few pages.
TOLERANCE_KB = 512


class Growth:
    """Resources of a program, now and after its warm-up."""

    def __init__(self, pmd, model, pid):
        self.pmd = pmd
        self.model = model
        self.pid = pid
        self.before = None

    def now(self):
        heap = re.search(r"^Total .* alloc: ([\d.]+)\(.*\bcount alloc: (\d+)",
                         self.pmd.command("dump_socket_mem"), re.MULTILINE).groups()
        return {"memory": machine.resident_kb(self.model, self.pid),
                # a heap element may be rounded up
                "heap megabytes": float(heap[0]),
                "heap elements": int(heap[1]),
                "descriptors": machine.nb_descriptors(self.model, self.pid),
                "objects": self.model.live_report().objects}

    def round(self, number):
        if number == WARM_UP:
            self.before = self.now()

    def end(self):
        after = self.now()
        print(f"after warm-up {self.before}, at the end {after}")
        grown = after["memory"] - self.before["memory"]
        # the address sanitizer keeps freed memory
        check(grown <= TOLERANCE_KB or machine.has_sanitizer(self.model, self.pid),
              f"memory has grown by {grown} kB")
        grown = after["heap megabytes"] - self.before["heap megabytes"]
        check(grown < 0.01, f"the heap has grown by {grown} MB")
        for what in ("heap elements", "descriptors", "objects"):
            check_equal(what, after[what], self.before[what])


def growth_of(run):
    return Growth(run.pmd, run.model, run.model.pid(run.pmd, "dpdk-testpmd"))


def traffic_passes(pmd, packets=1000):
    """Both ports receive."""
    before = pmd.stats()
    pmd.forward(lambda stats: all(stats[port].rx_packets >= before[port].rx_packets + packets
                                  for port in (0, 1)), pause=0)


def forwarding():
    """Both ports forward, stop with packets in the rings, and start again."""
    with fixture("--ports", "2", "--wire", "pair") as run:
        pmd = run.start(eal=["-a", pci(0), NO_CALLERS], app=FEW_MBUFS)
        growth = growth_of(run)
        for number in range(TIMES):
            traffic_passes(run.pmd)
            growth.round(number)
            pmd.command("port stop all")
            pmd.command("port start all")
        traffic_passes(run.pmd)
        growth.end()
        # packets in the rings are lost at a stop: no error, but the wire then counts
        # more than the driver
        report = run.finish(counters=False)
        received_by_wire(run, report)


def received_by_wire(run, report):
    """The driver counts no more than what arrived, and everything that it sent."""
    for number, stats in run.stats.items():
        port = report.ports[run.macs[number]]
        check_equal("Tx packets", stats.tx_packets, port["tx"]["packets"])
        check(stats.rx_packets <= port["rx"]["packets"],
              f"{stats.rx_packets} received of {port['rx']}")


def under_traffic():
    """A port stops and starts while its peer sends continuously."""
    with fixture("--ports", "2", "--wire", "pair") as run:
        pmd = run.start(eal=["-a", pci(0), NO_CALLERS], app=FEW_MBUFS)
        pmd.command("set fwd txonly")
        pmd.command("set portlist 0")
        growth = growth_of(run)
        pmd.command("start")
        for number in range(TIMES):
            before = pmd.stats()[0].tx_packets
            pmd.wait_until(lambda stats, least=before: stats[0].tx_packets > least,
                           pause=0)
            growth.round(number)
            pmd.command("port stop 1")
            pmd.command("port start 1")
        growth.end()
        pmd.command("stop")
        pmd.command("set portlist 0,1")
        pmd.command("set fwd io")
        traffic_passes(run.pmd)
        run.finish(counters=False)


def attach_detach():
    """A program attaches and detaches a function while another forwards."""
    report, result = run_programs("attach-detach", "--functions", "2", "--ports",
                                  "2,2", "--wire", "pair", timeout=600)
    check_result(report, result)
    check_pairs(report)


def attach_detach_inside(model, programs):
    neighbour = start_testpmd(programs, eal=["-a", pci(0)], megabytes=256)
    neighbour.command("start tx_first")
    pmd = start_testpmd(programs, eal=["-a", pci(1), NO_CALLERS], app=FEW_MBUFS,
                        megabytes=256)
    growth = Growth(pmd, model, model.pid(pmd, "dpdk-testpmd"))
    for number in range(TIMES):
        growth.round(number)
        traffic_passes(pmd)
        for port in (0, 1):
            pmd.command(f"port stop {port}")
        reply = pmd.command("port detach 0")
        check("Device is detached" in reply, f"detach: {reply}")
        before = neighbour.stats()
        reply = pmd.command(f"port attach {pci(1)},mac={mac(2)},mac={mac(3)}")
        check("Port 0 is attached" in reply and "Port 1 is attached" in reply,
              f"attach: {reply}")
        pmd.command("port start all")
        neighbour.wait_until(lambda stats, least=before: all(
            stats[port].rx_packets > least[port].rx_packets for port in (0, 1)),
                             pause=0)
    growth.end()
    traffic_passes(pmd)
    end_testpmd(pmd)
    neighbour.command("stop")
    neighbour.drain()
    return end_testpmd(neighbour)


if __name__ == "__main__":
    run_inside({"attach-detach": attach_detach_inside})
    main(named(forwarding, under_traffic, attach_detach))
