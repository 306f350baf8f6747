#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Another driver for the same device, on the same model.

DPDK's own driver, as built by devtools/build-rival.sh, forwards, too. It never rings a
CQ and breaks other rules: its violations are printed, not fatal.
"""

import os
import re

import interrupts
import machine
import test_csum
from harness import (check, check_equal, check_nothing_lost, check_pairs, check_queues,
                     fixture, main)
from model import TOP, mac, pci, program_environment
from testpmd import Testpmd, arguments

MILLION = 1_000_000


def rival():
    """The plug-in's path: MANA_RIVAL, or the script's default."""
    path = os.environ.get("MANA_RIVAL", os.path.join(
        TOP, "rival", "build", "drivers", "librte_net_mana.so"))
    if not os.path.exists(path):
        machine.skip(f"no {path}: devtools/build-rival.sh builds it")
    return path


def other():
    """Arguments of testpmd.py's arguments() for that driver."""
    return {"plugin": rival(), "log": "*:critical"}


EAL = ["-a", f"{pci(0)},mac={mac(0)},mac={mac(1)}"]


def start(run, app=()):
    run.start(eal=EAL, app=app, **other())


def check_received(report, address, stats):
    """It counts a packet as sent when it completes, a burst late: not compared."""
    rx = report.ports[address]["rx"]
    check_equal(f"received by {address} (driver, then wire)",
                (stats.rx_packets, stats.rx_bytes), (rx["packets"], rx["bytes"]))


def forward():
    with fixture("--ports", "2", "--wire", "pair", strict=False) as run:
        start(run)
        run.pmd.command("start tx_first")
        run.pmd.wait_until(lambda stats: sum(
            port.rx_packets for port in stats.values()) >= MILLION)
        run.pmd.command("stop")
        run.drain()
        report = run.finish()
        total = sum(port["rx"]["packets"] for port in report.ports.values())
        check(total >= MILLION, f"the wire carried only {total} packets")
        check_nothing_lost(report)
        check_pairs(report)
        for number, stats in run.stats.items():
            check_received(report, run.macs[number], stats)


def link():
    """Link status and speed never change, whatever the card reports."""
    with fixture("--ports", "2", strict=False) as run:
        start(run)
        for words in ((), ("speed", "port=1", "mbps=40000"),
                      ("link", "port=1", "down")):
            if words:
                run.model.ctl(*words)
            text = run.pmd.command("show port info 0")
            check("Link status: up" in text, f"{text}: correct the guide")
            check("Link speed: 100 Gbps" in text, f"{text}: correct the guide")
        run.finish()


def statistics():
    """Its counters equal those of the wire; extended statistics per queue."""
    with fixture("--ports", "2", "--wire", "pair", strict=False) as run:
        start(run, app=["--rxq=4", "--txq=4"])
        run.pmd.command("start tx_first 8")
        run.pmd.wait_until(lambda stats: stats[0].rx_packets >= 10000)
        run.pmd.command("stop")
        run.drain()
        text = run.pmd.command("show port xstats 0")
        good = re.search(r"rx_good_packets: (\d+)", text).group(1)
        check_equal("rx_good_packets", int(good), run.stats[0].rx_packets)
        report = run.finish()
        for number, stats in run.stats.items():
            check_received(report, run.macs[number], stats)


def rss():
    """Flows go to several queues."""
    with fixture("--ports", "2", "--wire", "pair", strict=False) as run:
        start(run, app=["--rxq=4", "--txq=4", "--txonly-multi-flow"])
        run.pmd.command("set fwd txonly")
        run.pmd.command("start")
        run.pmd.wait_until(lambda stats: stats[0].tx_packets >= 10000)
        run.pmd.command("stop")
        run.drain()
        for port in run.finish().ports.values():
            used = [queue for queue in port["queues"]
                    if queue["kind"] == "rq" and queue["packets"]]
            check_equal("Rx queues in use", len(used), 4)
            check_queues(port)


def checksum_receive():
    test_csum.receive(True, strict=False, **other())


def checksum_send(layer):
    return test_csum.forward((layer,), strict=False, **other())


def checksum_ip():
    """It leaves the old checksum in the header, which the card adds to the sum."""
    try:
        checksum_send("ip")
    except AssertionError as error:
        print(f"as expected: {error}")
    else:
        raise AssertionError("its IPv4 checksums are right: correct the guide")


def hash_of_udp():
    """It sets no hash for frames that the card has hashed as UDP."""
    with fixture("--ports", "2", "--wire", "pair", strict=False) as run:
        start(run, app=["--rxq=4", "--txq=4", "--txonly-multi-flow",
                        "--rx-offloads=0x80000"])
        run.pmd.command("set fwd txonly")
        run.pmd.command("start")
        run.pmd.wait_until(lambda stats: stats[0].tx_packets >= 10000)
        run.pmd.command("stop")
        run.pmd.command("set verbose 1")
        run.pmd.drain()
        run.finish()
        check("Receive queue=" in run.pmd.text, "nothing was received")
        check("RSS hash=" not in run.pmd.text,
              "it gives a hash: correct the guide")


def removal():
    """The function is removed: testpmd gets events and releases both ports."""
    with fixture("--ports", "2", "--wire", "pair", strict=False) as run:
        start(run)
        run.pmd.command("start tx_first")
        mark = run.pmd.mark()
        run.model.ctl("remove", "fn=0")
        run.pmd.wait_for("Now total ports is 0", since=mark)
        # its output ends when it starts to forward between no ports
        run.pmd.wait_for(r"nb forwarding ports=0\s", since=mark)
        run.finish()


def multi_process():
    """A secondary process maps the doorbell page with the primary's descriptor."""
    with fixture("--ports", "2", "--wire", "pair", strict=False) as run:
        run.start(eal=EAL + ["--proc-type=primary"], memory="huge",
                  app=["--num-procs=2", "--proc-id=0", "--rxq=2", "--txq=2"],
                  **other())
        argv = arguments(eal=EAL + ["--proc-type=secondary"], memory="huge",
                         app=["--num-procs=2", "--proc-id=1", "--rxq=2",
                              "--txq=2"], **other())
        second = Testpmd(run.model.join_command(*argv), env=program_environment())
        try:
            second.start_up()
            # it reports no link there
            check("Number of available ports: 2" in
                  second.command("show port summary all"), second.text)
            check_equal("statistics in the secondary", second.stats(),
                        run.pmd.stats())
            check_equal("exit status of the secondary", second.quit(), 0)
        except BaseException:
            print(second.text)
            raise
        finally:
            second.kill()
        report = run.finish()
        check(not report.leaks.get("qp"), f"left behind: {report.leaks}")


def rx_interrupt():
    """It sleeps until a frame arrives, and misses none."""
    interrupts.check_interrupts(strict=False, **other())


def rx_interrupt_without_events():
    """Linux 6.2 has no completion events: it arms, and never wakes."""
    counts, _ = interrupts.receive(100, "--wire", "loop", "--kernel", "6.2",
                                   own=True, limit_ms=1000, strict=False, **other())
    check_equal("wake-ups", (counts["wakeups"], counts["lost"]), (0, 1))


QUEUE_COMMANDS = ("rxq 1 stop", "rxq 1 start", "txq 1 stop", "txq 1 start")


def queue_start_stop():
    """Advertised, but rejected: it lacks the operation."""
    with fixture("--ports", "2", "--wire", "pair", strict=False) as run:
        start(run, app=["--rxq=2", "--txq=2"])
        for words in QUEUE_COMMANDS:
            run.pmd.command("port 0 " + words)
        text = run.pmd.command("show rxq info 0 1")
        check("Rx queue state: started" in text, text)
        run.finish()
        run.messages.seek(0)
        check_equal("refused", run.messages.read().count(
            "Function not supported in PMD"), len(QUEUE_COMMANDS))


def mtu():
    """Its only MTU is 1500."""
    with fixture("--ports", "2", "--max-mtu", "9000", strict=False) as run:
        start(run)
        run.pmd.command("port stop all")
        run.pmd.command("port config mtu 0 9000")
        text = run.pmd.command("show port info 0")
        check("MTU: 1500" in text, text)
        check("Maximum configurable length of RX packet: 1518" in text, text)
        run.finish()


VARIANTS = {
    "rx-interrupt": rx_interrupt,
    "rx-interrupt-without-events": rx_interrupt_without_events,
    "queue-start-stop": queue_start_stop,
    "mtu": mtu,
    "removal": removal,
    "multi-process": multi_process,
    "forward": forward,
    "link": link,
    "statistics": statistics,
    "rss": rss,
    "checksum-receive": checksum_receive,
    "checksum-tcp": lambda: checksum_send("tcp"),
    "checksum-udp": lambda: checksum_send("udp"),
    "checksum-ip": checksum_ip,
    "hash-of-udp": hash_of_udp,
}

if __name__ == "__main__":
    main(VARIANTS)
