#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Start, stop and setup of queues, and RSS changes, under traffic."""

import re

from harness import check, check_equal, fixture, main, named
from model import pci
from testpmd import TWO_PORTS, received

PACKETS = 20_000
FLOWS = 32
OTHER_KEY = "5a6d" * 20


def state(pmd, direction, queue):
    """testpmd's output for a queue of port 0."""
    reply = pmd.command(f"show {direction}q info 0 {queue}")
    return re.search(r"^\w+ queue state: (\w+)", reply, re.MULTILINE).group(1)


def table(pmd, size):
    reply = pmd.command(f"show port 0 rss reta {size} (0x{(1 << size) - 1:x})")
    return [int(queue) for queue in
            re.findall(r"RSS RETA configuration: hash index=\d+, queue=(\d+)", reply)]


def key(pmd):
    return re.search(r"RSS key:\s*\n?(\w+)",
                     pmd.command("show port 0 rss-hash key")).group(1).lower()


def reta_swap(order, first, second):
    """Swaps two queues in order, the adapter's first entries. Returns testpmd's
    argument.

    All 64 entries would exceed a word of testpmd (128 characters).
    """
    order[first], order[second] = order[second], order[first]
    return ",".join(f"({entry},{order[entry % len(order)]})" for entry in range(64)
                    if entry % len(order) in (first, second))


class Traffic:
    """Flows from the model's generator into port 0, from port 1 into a sink."""

    def __init__(self, run):
        self.run = run
        self.pmd = run.pmd

    def start_sending(self):
        self.pmd.begin("io")
        # each flow at least once
        self.pmd.wait_until(lambda stats: stats[1].tx_packets >= FLOWS, pause=0)

    def sent(self):
        report = self.run.model.live_report()
        return report.port(0)["wire"]["generator"]["sent"]

    def has_continued(self):
        """Waits for frames after the changes."""
        before = self.sent()
        self.run.wait_for_wire(lambda _: self.sent() > before + FLOWS)

    def end(self):
        """Checks that each received frame is counted. Returns the report."""
        pmd = self.pmd
        # the number of frames per second of real time depends on the machine
        self.run.model.ctl("gen", "port=1", "stop")
        sent = self.sent()
        pmd.wait_until(lambda stats: stats[0].rx_packets == stats[1].tx_packets)
        pmd.command("stop")
        self.run.drain()
        stopped = pmd.xstats(0)["rx_drop_stopped"]
        freed = stopped + pmd.xstats(0)["rx_drop_reconfig"]
        report = self.run.finish(counters=False)
        rx = report.port(0)["rx"]
        stats = self.run.stats
        # while rings are replaced the card drops frames; no other frame is lost
        check_equal("arrived", rx["packets"] + rx["no_wqe"] + rx.get("no_steering", 0),
                    sent)
        check_equal("received by testpmd", stats[0].rx_packets + freed, rx["packets"])
        check_equal("Rx errors", stats[0].rx_errors, 0)
        check_equal("sent on", report.port(1)["tx"]["packets"], stats[1].tx_packets)
        sink = report.port(1)["wire"]["sink"]
        check_equal("sink", (sink["received"], sink["corrupted"], sink["duplicated"]),
                    (stats[1].tx_packets, 0, 0))
        return report, stopped


def traffic(change, *app, arguments=""):
    """Runs change(pmd, traffic) under traffic."""
    with fixture("--wire", f"1=gen:flows={FLOWS},rate=2k,l4=mix",
                 "--wire", "2=sink") as run:
        run.start(eal=["-a", TWO_PORTS[1] + arguments], app=["--no-flush-rx", *app])
        flows = Traffic(run)
        flows.start_sending()
        change(run.pmd)
        flows.has_continued()
        return flows.end()


def start_stop():
    """Each Rx queue stops and starts; the other three continue."""
    def change(pmd):
        for queue in range(4):
            # testpmd requires it; the card continues
            pmd.command("stop")
            pmd.command(f"port 0 rxq {queue} stop")
            check_equal("state", state(pmd, "rx", queue), "stopped")
            pmd.command("start")
            # frames for the stopped queue arrive meanwhile
            least = pmd.stats()[0].rx_packets + 100
            pmd.wait_until(lambda stats, least=least: stats[0].rx_packets >= least,
                           pause=0)
            dropped = pmd.xstats(0)["rx_drop_stopped"]
            pmd.command("stop")
            # its rings are full: the start drains them
            pmd.command(f"port 0 rxq {queue} start")
            check(pmd.xstats(0)["rx_drop_stopped"] > dropped, "nothing was drained")
            check_equal("state", state(pmd, "rx", queue), "started")
            pmd.command("start")

    _, stopped = traffic(change, "--rxq=4", "--txq=4")
    check(stopped > 0, "nothing came for the stopped queues")


def reta_and_key():
    """Other RSS tables and another key while all queues are polled."""
    def change(pmd):
        order = [1, 2, 3, 4, 5, 6, 7, 0]
        check_equal("table", table(pmd, 64), order * 8)
        for pair in ((0, 1), (1, 7), (4, 2)):
            pmd.command("port config 0 rss reta " + reta_swap(order, *pair))
            check_equal("table", table(pmd, 64), order * 8)
        pmd.command(f"port config 0 rss-hash-key ipv4 {OTHER_KEY}")
        check_equal("key", key(pmd), OTHER_KEY)

    report, stopped = traffic(change, "--rxq=8", "--txq=8")
    check_equal("dropped by name", stopped, 0)
    by_queue = [queue["packets"] for queue in report.port(0)["queues"]
                if queue["kind"] == "rq"]
    check(sum(nb > 0 for nb in by_queue) >= 8, f"packets by queue: {by_queue}")


def one_of_two():
    """All traffic moves to one of two queues without loss.

    testpmd takes 18 entries at once. Each of these tables but the last one takes the 64
    hardware queues that hw_rxq has made.
    """
    def change(pmd):
        for first in range(0, 64, 16):
            pmd.command("port config 0 rss reta "
                        + ",".join(f"({i},1)" for i in range(first, first + 16)))
            check_equal("table", table(pmd, 64)[:first + 16], [1] * (first + 16))
        before = pmd.xstats(0)["rx_q0_packets"]
        least = pmd.xstats(0)["rx_q1_packets"]
        pmd.wait_until(lambda _: pmd.xstats(0)["rx_q1_packets"] > least, pause=0)
        check_equal("of queue 0", pmd.xstats(0)["rx_q0_packets"], before)
        check_equal("outages", pmd.xstats(0)["rx_outages"], 0)

    traffic(change, "--rxq=2", "--txq=2", "--total-num-mbufs=65535",
            arguments=",hw_rxq=64")


def spread(nb_queues):
    """All flows arrive; the table has the queues in turn, to the next power of two."""
    nb_entries = 1 << (nb_queues - 1).bit_length()
    with fixture("--wire", f"1=gen:count={PACKETS},flows={FLOWS * nb_queues},l4=mix",
                 "--wire", "2=sink") as run:
        # a guest with 16 emulated processors takes minutes to boot
        pmd = run.start(60 + 15 * nb_queues, eal=TWO_PORTS, app=[
            "--no-flush-rx", f"--rxq={nb_queues}", f"--txq={nb_queues}"])
        pmd.begin("io")
        pmd.wait_until(lambda stats: stats[1].tx_packets > PACKETS // 2)
        entries = table(pmd, 64)
        check_equal("table", entries, entries[:nb_entries] * (64 // nb_entries))
        check_equal("queues", sorted(entries[:nb_entries]),
                    sorted(entry % nb_queues for entry in range(nb_entries)))
        pmd.command("stop")
        run.drain()
        report = run.finish()
        rings = [queue for queue in report.port(0)["queues"]
                 if queue["kind"] == "rq" and queue["packets"] > 0]
        check_equal("receive rings in use", len(rings), nb_entries)


def deferred():
    """Deferred queues are started later than the port."""
    with fixture("--ports", "2", "--wire", "pair") as run:
        pmd = run.start(eal=["-a", pci(0)], app=["--rxq=2", "--txq=2"])
        pmd.command("port stop all")
        for direction in ("rx", "tx"):
            pmd.command(f"port 0 {direction}q 1 deferred_start on")
        pmd.command("port start all")
        for direction in ("rx", "tx"):
            check_equal("first", state(pmd, direction, 0), "started")
            check_equal("deferred", state(pmd, direction, 1), "stopped")
            pmd.command(f"port 0 {direction}q 1 start")
            check_equal("deferred", state(pmd, direction, 1), "started")
        pmd.forward(received(1000, (0, 1)), pause=0)
        run.drain()
        run.finish()


def set_up():
    """The size of queues changes while the port runs."""
    with fixture("--ports", "2", "--wire", "pair") as run:
        pmd = run.start(eal=["-a", pci(0)], app=["--rxq=2", "--txq=2"])
        for direction, what in (("rx", "RXDs"), ("tx", "TXDs")):
            for size in (128, 100, 256):
                pmd.command(f"port config 0 {direction}q 1 ring_size {size}")
                for step in ("stop", "setup", "start"):
                    pmd.command(f"port 0 {direction}q 1 {step}")
                reply = pmd.command(f"show {direction}q info 0 1")
                check(re.search(rf"Number of {what}: {size}\b", reply),
                      f"not {size}: {reply}")
                check_equal("state", state(pmd, direction, 1), "started")
        pmd.forward(received(1000, (0, 1)), pause=0)
        run.drain()
        run.finish()


VARIANTS = {**named(start_stop, reta_and_key, one_of_two, deferred, set_up),
            "two": lambda: spread(2), "three": lambda: spread(3),
            "five": lambda: spread(5), "sixteen": lambda: spread(16)}

if __name__ == "__main__":
    main(VARIANTS)
