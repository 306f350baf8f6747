#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames of the model's generator are forwarded and return unchanged."""

from application import FLOWS, check_all_came
from harness import check, check_equal, fixture, main
from testpmd import TWO_PORTS, settled


def all_sent(packets):
    return lambda stats: stats[1].tx_packets >= packets


def forward(mode, traffic, packets, *options, app=(), eal=(), until=all_sent,
            started=lambda pmd: None):
    """
    Forwards from port 1 to port 2 and its sink. started is called with testpmd. Returns the
    report.
    """
    with fixture("--wire", f"1=gen:count={packets},flows={FLOWS},{traffic}",
                 "--wire", "2=sink", *options) as run:
        # testpmd would drop frames that arrived before it forwards
        started(run.start(eal=[*TWO_PORTS, *eal], app=["--no-flush-rx", *app]))
        run.pmd.forward(until(packets), mode, "start")
        return run.finish()


def check_each_flow(report, packets):
    check_all_came(report, 1, packets)
    generator = report.port(0)["wire"]["generator"]
    check_equal("generated", (generator["sent"], generator["lost"]), (packets, 0))
    streams = report.data["streams"]
    check_equal("streams", len(streams), FLOWS)
    for stream in streams:
        check_equal("of a stream", (stream["sent"], stream["received"]),
                    (packets // FLOWS, packets // FLOWS))


def forward_unchanged(mode, traffic, packets=40_000, *options, **more):
    report = forward(mode, traffic, packets, *options, **more)
    check_each_flow(report, packets)
    return report


def mixed():
    """All kinds of flows and sizes."""
    report = forward_unchanged("mac", "size=imix,ip=mix,l4=mix")
    # 7:4:1 of 60, 590 and 1514 bytes; small frames are limited by their headers
    mean = report.port(0)["rx"]["bytes"] / report.port(0)["rx"]["packets"]
    check(340 < mean < 400, f"{mean} bytes on average")


def malformed():
    """Malformed frames pass, too, and do not affect others."""
    packets = 40_000
    report = forward("io", "malformed=20%,vlan=10%,size=imix,ip=mix,l4=mix", packets)
    generator, sink = report.port(0)["wire"]["generator"], report.sink(1)
    check(0.19 * packets < generator["malformed"] < 0.21 * packets, f"{generator}")
    check_equal("sink", sink,
                {"received": packets - generator["malformed"], "duplicated": 0,
                 "reordered": 0, "corrupted": 0, "foreign": generator["malformed"]})
    check_equal("lost", generator["lost"], 0)


def thread():
    """testpmd drops what a slower device cannot send."""
    packets = 20_000
    report = forward("io", "size=random:60-1514", packets, "--mode=thread",
                     until=lambda packets: settled())
    sent = report.port(1)["tx"]["packets"]
    check_all_came(report, 1, sent)
    check_equal("received", report.port(0)["rx"]["packets"], packets)
    check_equal("lost", report.port(0)["wire"]["generator"]["lost"], packets - sent)


VARIANTS = {
    "io": lambda: forward_unchanged("io", "rate=full,size=64", 200_000),
    "io-sizes": lambda: forward_unchanged("io", "size=60-1514,ip=mix,l4=mix"),
    "macswap": lambda: forward_unchanged("macswap", "size=random:60-1514"),
    "mixed": mixed,
    "malformed": malformed,
    "thread": thread,
    "queues": lambda: forward_unchanged("io", "ip=mix", 40_000,
                                        app=["--rxq=4", "--txq=4"]),
}

if __name__ == "__main__":
    main(VARIANTS)
