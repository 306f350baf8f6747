#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's own driver between generator and sink, and with errors of the card.

This file asserts its reaction to an error, and the guide of the model describes it: if
another version improves, change both.
"""

import contextlib

from harness import check, check_equal, fixture, main
from test_generator import check_all_came, wire
from test_rival import start
from testpmd import settled

PACKETS = 40_000
FEW = 4_000
AT = 1000       # the packet with a fault


@contextlib.contextmanager
def between(packets, traffic, *options, app=()):
    """Testpmd between generator (port 1) and sink (port 2)."""
    with fixture("--wire", f"1=gen:count={packets},flows=8,{traffic}",
                 "--wire", "2=sink", *options, strict=False) as run:
        start(run, app=["--no-flush-rx", *app])
        yield run


def sink(report):
    return wire(report, 1)["sink"]["received"]


def forward(run):
    """Forwards until no packet moves. Returns the report so far."""
    run.pmd.command("start")
    run.pmd.wait_until(settled(), pause=0.4)
    run.pmd.command("stop")
    return run.model.live_report()


def forward_unchanged(traffic, *options, packets=PACKETS, app=()):
    with between(packets, traffic, *options, app=app) as run:
        run.pmd.command("start")
        run.wait_for_wire(lambda report: sink(report) >= packets)
        run.pmd.command("stop")
        check_all_came(run.finish(), packets)


def thread():
    """testpmd drops what a slower device cannot send."""
    with between(PACKETS // 2, "size=random:60-1514", "--mode=thread") as run:
        forward(run)
        report = run.finish()
    sent = report.port(1)["tx"]["packets"]
    check_equal("received", report.port(0)["rx"]["packets"], PACKETS // 2)
    check_equal("sink", wire(report, 1)["sink"],
                {"received": sent, "duplicated": 0, "reordered": 0,
                 "corrupted": 0, "foreign": 0})


def kernels():
    for options in (("--kernel", "6.2"), ("--kernel", "6.12", "--rnic"),
                    ("--kernel", "7.2", "--rnic")):
        print(*options)
        forward_unchanged("size=60-1514", *options, packets=FEW)


def restart(run):
    """Ports forward again after a stop and start."""
    run.model.ctl("inject", "off")
    run.pmd.command("port stop all")
    run.pmd.command("port start all")
    # frames left in the generator come first
    at = sink(forward(run))
    run.model.ctl("gen", "port=1", f"count={FEW}")
    run.pmd.command("start")
    run.wait_for_wire(lambda report: sink(report) >= at + FEW)
    run.pmd.command("stop")


def faulted(*command):
    """Result of FEW frames after the command: (testpmd's counters, report)."""
    with between(FEW, "size=64") as run:
        run.model.ctl(*command)
        report = forward(run)
        stats = run.pmd.stats()
        restart(run)
        run.finish()
        return stats, report


def coalesce():
    """It accepts no coalesced completion, and posts no more buffers."""
    with between(FEW, "size=64", "--coalesce") as run:
        report = forward(run)
        stats = run.pmd.stats()
        run.finish()
    check_equal("forwarded", (stats[0].rx_packets, sink(report)), (0, 0))
    check(0 < report.port(0)["rx"]["packets"] < FEW,
          "it posts buffers again: correct the guide")


def tx_errors():
    """Each error is counted, nothing else is lost."""
    stats, report = faulted("cqe", "port=2", "tx", "type=34", f"packet={AT}",
                            "every=100", "count=10")
    check_equal("Tx errors", stats[1].tx_errors, 10)
    check_equal("sink", sink(report), FEW - 10)


def tx_disabled():
    """After GDMA_ERR the queue sends nothing until the port restarts."""
    stats, report = faulted("cqe", "port=2", "tx", "type=42", f"packet={AT}")
    check_equal("Tx errors", stats[1].tx_errors, 1)
    check_equal("sink", sink(report), AT - 1)


def truncated():
    """Dropped and counted."""
    stats, report = faulted("truncate", "port=1", "bytes=20", f"packet={AT}",
                            "every=10", "count=5")
    check_equal("Rx errors", stats[0].rx_errors, 5)
    check_equal("sink", sink(report), FEW - 5)


def too_long():
    """It accepts a length beyond its buffer."""
    stats, report = faulted("bogus", "port=1", "rx", "what=long", f"packet={AT}")
    check_equal("received", (stats[0].rx_packets, stats[0].rx_bytes),
                (FEW, (FEW - 1) * 64 + 65535))
    check_equal("sink", sink(report), FEW - 1)
    check_equal("over the MTU", report.port(1)["tx"]["errors"], {"mtu_drop": 1})


def too_many():
    """It receives nothing after a completion without buffer."""
    for what in ("wrong-queue", "zero", "spurious"):
        stats, report = faulted("bogus", "port=1", "rx", f"what={what}",
                                f"packet={AT}")
        check(AT <= stats[0].rx_packets < FEW,
              f"{what}: {stats}: if it continues, change the guide")
        check_equal("sink", sink(report), stats[0].rx_packets)


VARIANTS = {
    "io": lambda: forward_unchanged("rate=full,size=64", packets=200_000),
    "sizes": lambda: forward_unchanged("size=60-1514,ip=mix,l4=mix"),
    "queues": lambda: forward_unchanged("ip=mix", app=["--rxq=4", "--txq=4"]),
    "thread": thread,
    "kernels": kernels,
    "coalesce": coalesce,
    "tx-errors": tx_errors,
    "tx-disabled": tx_disabled,
    "truncated": truncated,
    "too-long": too_long,
    "too-many": too_many,
}

if __name__ == "__main__":
    main(VARIANTS)
