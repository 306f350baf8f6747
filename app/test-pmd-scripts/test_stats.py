#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Statistics and queue status from testpmd's commands, against the wire."""

import os
import re

from harness import check, check_equal, fixture, main, named
from model import TOP, wait_until
from testpmd import TWO_PORTS, received

PAIR = ("--ports", "2", "--wire", "pair")
# A failed queue stays as it is.
NO_REPAIR = [TWO_PORTS[0], f"{TWO_PORTS[1]},recovery_timeout=0"]
GUIDE = os.path.join(TOP, "doc", "guides", "nics", "mana-reference.rst")
ETHDEV = {"rx_good_packets", "tx_good_packets", "rx_good_bytes", "tx_good_bytes",
          "rx_missed_errors", "rx_errors", "tx_errors", "rx_mbuf_allocation_errors"}


def await_xstat(run, port, name, wanted):
    wait_until(lambda: run.pmd.xstats(port)[name] == wanted,
               lambda: f"{name} of port {port}: {run.pmd.xstats(port)[name]}, not {wanted}",
               pause=0.1)


def check_wire(run, report):
    """The equations of the guide for the ports, and the doorbells of both."""
    totals = {"sq": 0, "rq": 0, "cq": 0}
    for port in (0, 1):
        counted = run.pmd.xstats(port)
        wire = report.port(port)
        check_equal("went out", wire["tx"]["packets"],
                    counted["tx_good_packets"] - counted["tx_cqe_errors"]
                    - counted["tx_unfinished"])
        check_equal("came in", wire["rx"]["packets"] + wire["rx"]["truncated"],
                    counted["rx_good_packets"] + counted["rx_cqe_truncated"]
                    + counted["rx_cqe_oversize"] + counted["rx_drop_unscattered"]
                    + counted["rx_drop_stopped"] + counted["rx_drop_reconfig"])
        check_equal("tx_errors", counted["tx_errors"],
                    counted["tx_cqe_errors"] + counted["tx_unfinished"]
                    + counted["tx_drops"])
        check_equal("missed packets, not visible to the driver", counted["rx_missed_errors"], 0)
        totals["sq"] += counted["tx_sq_doorbells"]
        totals["rq"] += counted["rx_rq_doorbells"]
        totals["cq"] += counted["rx_cq_doorbells"] + counted["tx_cq_doorbells"]
    for kind, total in totals.items():
        check_equal(f"{kind} doorbells", total, report.doorbells[kind])


def names():
    """The statistics are exactly those of the guide."""
    with open(GUIDE, encoding="utf-8") as file:
        guide = file.read()
    documented = {}
    for name, where in re.findall(r"^((?:[rt]x_|mr_|recover|queue_)\w+|resets) +(port|queue|port, queue)  ",
                                  guide, re.MULTILINE):
        documented[name] = where
    check(len(documented) > 40, f"the guide has only {len(documented)} names")
    with fixture(*PAIR) as run:
        run.start(eal=TWO_PORTS, app=["--rxq=2", "--txq=2"])
        there = set(run.pmd.xstats(0))
        wanted = set(ETHDEV)
        for name, where in documented.items():
            plain = name.replace("_qN_", "_")
            if "port" in where:
                wanted.add(plain)
            if "queue" in where:
                wanted.update(re.sub("_", f"_q{queue}_", plain, count=1)
                              for queue in (0, 1))
        check_equal("not in the guide", there - wanted, set())
        check_equal("in the guide only", wanted - there, set())
        run.finish()


NB_QUEUES = 32


def queues():
    """More queues than ethdev's basic statistics contain, each compared with the wire."""
    with fixture(*PAIR) as run:
        run.start(eal=TWO_PORTS, app=[f"--rxq={NB_QUEUES}", f"--txq={NB_QUEUES}",
                                      "--rxd=64", "--txd=64", "--txonly-multi-flow"])
        run.pmd.forward(lambda stats: stats[0].tx_packets >= 200_000, "txonly", "start")
        run.drain()
        report = run.model.live_report()
        check_wire(run, report)
        for port in (0, 1):
            counted = run.pmd.xstats(port)
            for side, kind in (("rx", "rq"), ("tx", "sq")):
                rows = [queue for queue in report.port(port)["queues"]
                        if queue["kind"] == kind]
                check_equal(f"{kind}s", len(rows), NB_QUEUES)
                for number, row in enumerate(rows):
                    check_equal(f"{side} of queue {number} of port {port}",
                                counted[f"{side}_q{number}_packets"], row["packets"])
                for what in ("packets", "bytes"):
                    check_equal(f"sum of {side} {what}",
                                sum(counted[f"{side}_q{number}_{what}"]
                                    for number in range(NB_QUEUES)),
                                counted[f"{side}_good_{what}"])
        # no poll while they were sent
        check(run.pmd.xstats(1)["rx_ring_empty"] > 0, "no ring ran empty")
        run.finish()


REASONS = ["sa_drop", "mtu_drop", "invalid_oob", "invalid_eth_type",
           "hdr_processing_error", "vf_disabled", "vport_idx_out_of_range",
           "vport_disabled", "vlan_tagging_violation"]


def errors():
    """Each kind of completion that loses a packet, under traffic."""
    with fixture(*PAIR) as run:
        run.start(eal=NO_REPAIR)
        run.pmd.begin("io", "start tx_first 2")
        for number, reason in enumerate(REASONS):
            run.model.ctl("cqe", "port=1", "tx", f"type={33 + number}")
            await_xstat(run, 0, f"tx_cqe_{reason}", 1)
        for command, name in ((["truncate", "port=2", "bytes=20"], "rx_cqe_truncated"),
                              (["bogus", "port=2", "rx", "what=long"], "rx_cqe_oversize")):
            run.model.ctl(*command)
            await_xstat(run, 1, name, 1)
        run.model.ctl("cqe", "port=1", "tx", "type=42")
        await_xstat(run, 0, "tx_cqe_gdma_err", 1)
        run.pmd.command("stop")
        run.drain()
        counted = run.pmd.xstats(0)
        check_equal("refused", counted["tx_cqe_errors"], len(REASONS) + 1)
        check_equal("of queue 0", counted["tx_q0_cqe_errors"], len(REASONS) + 1)
        check_equal("shown in the basic ones", run.pmd.stats()[0].tx_errors,
                    len(REASONS) + 1)
        check_equal("of the receiver", run.pmd.stats()[1].rx_errors, 2)
        # a restarted queue works and keeps its counts
        run.pmd.command("port stop 0")
        run.pmd.command("port start 0")
        sent = counted["tx_good_packets"]
        run.pmd.forward(lambda stats: stats[0].tx_packets > sent + 1000, "io")
        run.drain()
        check_equal("still", run.pmd.xstats(0)["tx_cqe_errors"], len(REASONS) + 1)
        check_wire(run, run.model.live_report())
        # the equations do not include injected faults
        run.finish(expected_errors=("Tx queue 0 has failed",), counters=False)


def reset():
    """clear port xstats, clear port stats: all counters of that port only."""
    with fixture(*PAIR) as run:
        run.start(eal=TWO_PORTS, app=["--rxq=2", "--txq=2"])
        for command in ("clear port xstats 0", "clear port stats 0"):
            run.pmd.forward(received(1000, (1,)), "io")
            run.drain()
            run.pmd.command(command)
            check_equal(command, {name: value for name, value in run.pmd.xstats(0).items()
                                  if value}, {})
            check(run.pmd.xstats(1)["rx_good_packets"] >= 1000, "the other port's are gone")
            run.pmd.command("clear port xstats 1")
        run.finish(counters=False)


def check_output(run, command, pattern):
    text = run.pmd.command(command)
    check(re.search(pattern, text), f"{command}: {text}")


def status():
    """Descriptor states and counts in a full, an empty and a stalled ring."""
    with fixture(*PAIR) as run:
        run.start(eal=TWO_PORTS)
        check_output(run, "show port 1 rxq 0 desc used count", r"count = 0\b")
        check_output(run, "show port 1 rxq 0 desc 3 status", r"= AVAILABLE\b")
        run.pmd.forward(lambda stats: stats[0].tx_packets >= 1000, "txonly", "start")
        # one CQE is spare; rdma-core before 49 allows 256
        limit = int(re.search(r"Max possible number of RXDs per queue: (\d+)",
                              run.pmd.command("show port info 1")).group(1))
        used = min(256, limit - 1)
        check_output(run, "show port 1 rxq 0 desc used count", rf"count = {used}\b")
        check_output(run, f"show port 1 rxq 0 desc {used - 1} status", r"= DONE\b")
        if used < 256:
            check_output(run, f"show port 1 rxq 0 desc {used} status", r"= UNAVAILABLE\b")
        check_output(run, "show port 1 rxq 0 desc 256 status", r"Invalid input")
        run.drain()
        check_output(run, "show port 1 rxq 0 desc used count", r"count = 0\b")
        check_equal("found empty", run.pmd.xstats(1)["rx_ring_empty"], 1)

        run.model.ctl("stall", "port=1", "tx")
        run.pmd.begin("txonly")
        run.wait_for_wire(lambda report: run.pmd.xstats(0)["tx_good_packets"]
                          == report.port(0)["tx"]["packets"] + 256)
        run.pmd.command("stop")
        check_output(run, "show port 0 txq 0 desc 3 status", r"= FULL\b")
        check_output(run, "port cleanup 0 txq 0 0", r"mbuf nums: 0\b")
        run.model.ctl("resume", "port=1", "tx")
        run.wait_for_wire(lambda report: run.pmd.xstats(0)["tx_good_packets"]
                          == report.port(0)["tx"]["packets"])
        check_output(run, "show port 0 txq 0 desc 3 status", r"= DONE\b")
        check_output(run, "port cleanup 0 txq 0 100", r"mbuf nums: 100\b")
        check_output(run, "port cleanup 0 txq 0 0", r"mbuf nums: 156\b")
        run.drain()
        run.finish(expected_errors=["Invalid input: queue id = 0, desc id = 256"])


def info():
    """show rxq info, show txq info."""
    with fixture(*PAIR) as run:
        run.start(eal=TWO_PORTS, app=["--rxd=128", "--txd=64", "--rxfreet=16",
                                      "--enable-rx-cksum"])
        check_output(run, "show rxq info 0 0",
                     r"Mempool: mb_pool_0(?s:.*)RX free threshold: 16\s(?s:.*)"
                     r"RX drop packets: on(?s:.*)RX deferred start: off(?s:.*)"
                     r"Rx queue state: started(?s:.*)RX buffer size: 2048(?s:.*)"
                     r"Number of RXDs: 128(?s:.*)Burst mode: (Vector|Scalar)")
        check_output(run, "show txq info 0 0",
                     r"TX deferred start: off(?s:.*)Number of TXDs: 64(?s:.*)"
                     r"Tx queue state: started(?s:.*)Burst mode: Vector (SSE|NEON)")
        run.finish()


if __name__ == "__main__":
    main(named(names, queues, errors, reset, status, info))
