#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's own net_netvsc, unmodified, on the synthetic devices of a modelled machine."""

import contextlib
import re

from harness import check, check_equal, fixture, main, named
from model import mac, pci
from netvsc import (GONE, INFORMATION, ONE_PORT, SILENT, STATES, TWICE, UUID,
                    check_accounted, check_carries, carried, l3fwd, path_is, sent, service,
                    start, synthetic, wait_for_loss)
from testpmd import received


def check_application(run):
    """testpmd has counted each packet of either path; one port was the VF always."""
    run.pmd.command("stop")
    ((port, stats),) = run.drain().items()
    vf = {name: int(number) for name, number in re.findall(
        r"^vf_(\w+): (\d+)$", run.pmd.command(f"show port xstats {port}"), re.MULTILINE)}
    report = run.model.live_report()
    rx, tx = (report.ports[mac(0)][direction] for direction in ("rx", "tx"))
    device = synthetic(report)
    sent = device["tx_packets"] + tx["packets"] + sum(tx["errors"].values())
    # of some packets the driver could not learn whether they were sent
    check(0 <= stats.tx_packets - sent <= vf["tx_unfinished"],
          f"{stats}, {vf['tx_unfinished']} unfinished, {sent} sent")
    check_equal("received", stats.rx_packets, device["rx_packets"] + rx["packets"] -
                vf["rx_drop_stopped"])


@contextlib.contextmanager
def forwarding(*options, ports=1):
    """testpmd forwards on VFs of a machine on the clock of this host."""
    wire = ["--wire", "loop" if ports == 1 else "pair"]
    macs = ",".join(f"mac={mac(port)}" for port in range(ports))
    with fixture("--ports", str(ports), *wire, "--netvsc=uio", "--mode=thread",
                 *options) as run:
        pmd = start(run, eal=["-a", f"{pci(0)},{macs}", "--log-level=lib.eal:info"])
        pmd.begin("flowgen")
        check_carries(run, "vf", ports)
        yield run
        pmd.command("stop")
        report = run.finish(expected_errors=[*GONE, *TWICE, INFORMATION], counters=False)
        check_accounted(report)


LONG = ["outage=9000s"]         # until next_step()
STEPS = ["gap=3000s", *LONG]    # message and event are steps of their own


def next_step(run):
    service(run, "next")


def serve_by_synthetic(run, ports=1):
    """The function goes and returns; the synthetic device carries the packets meanwhile."""
    service(run, "kind=remove", *LONG)
    check_carries(run, "synthetic", ports)
    wait_for_loss(run)
    next_step(run)


def service_removed():
    """
    The function goes and returns. The synthetic device carries the packets, and then the
    new port, in whatever order the host tells it.
    """
    with forwarding() as run:
        serve_by_synthetic(run)
        check_carries(run, "vf")

        service(run, "kind=move", "withdraw=before", "report=before", *STEPS)
        check_carries(run, "synthetic")
        next_step(run)      # the loss
        wait_for_loss(run)
        next_step(run)      # the report
        check_carries(run, "synthetic")     # behind the message in the ring
        next_step(run)
        check_carries(run, "vf")

        service(run, "kind=reconfigure", "withdraw=after", "report=after", *STEPS)
        check_carries(run, "synthetic")
        wait_for_loss(run)
        next_step(run)      # the withdrawal
        check_carries(run, "synthetic")
        mark = run.pmd.mark()
        next_step(run)      # the return
        run.pmd.expect("EAL: Probe PCI driver: net_mana", since=mark)
        check_carries(run, "synthetic")
        next_step(run)
        check_carries(run, "vf")


def service_twice():
    """The function is lost again before net_netvsc has taken the returned port."""
    with forwarding() as run:
        for _ in range(2):
            serve_by_synthetic(run)
        check_carries(run, "vf")
        switches = synthetic(run.model.live_report())["to_vf"]
        check(2 <= switches <= 3, switches)


def service_unreported():
    """
    The host does not report the returned VF: its port has no owner, and recovers from the
    next service. It carries packets after the next report. Then the function is revoked.
    """
    with forwarding() as run:
        service(run, "kind=remove", *SILENT, *LONG)
        check_carries(run, "synthetic")
        wait_for_loss(run)
        mark = run.pmd.mark()
        next_step(run)
        run.pmd.expect("EAL: Probe PCI driver: net_mana", since=mark)
        check_carries(run, "synthetic")

        mark = run.pmd.mark()
        service(run, "kind=remove", *LONG)
        run.pmd.expect("error recovering event", since=mark)
        next_step(run)      # the host's report meets the recovery
        check_carries(run, "vf")

        service(run, "kind=revoke")
        check_carries(run, "synthetic")
        wait_for_loss(run)
        run.model.ctl("return", "fn=0")
        check_carries(run, "vf")


def service_in_place():
    """
    The PCI function stays. net_netvsc of 22.11 changes to the synthetic device only if the
    host withdraws the VF, and then does not change back.
    """
    with forwarding() as run:
        mark = run.pmd.mark()
        service(run, "kind=reset", *SILENT, *LONG)
        run.pmd.expect("error recovering event", since=mark)
        wait_for_loss(run)
        next_step(run)
        run.pmd.expect("error recovery successful event", since=mark)
        check_carries(run, "vf")
        check_equal("packets on the synthetic device",
                    carried(run.model.live_report())["synthetic"], 0)

        mark = run.pmd.mark()
        service(run, "kind=reset", *LONG)
        check_carries(run, "synthetic")
        wait_for_loss(run)
        next_step(run)
        run.pmd.expect("VF already started on hot add", since=mark)
        run.pmd.expect("error recovery successful event", since=mark)
        check_carries(run, "synthetic")
        check_application(run)

        run.pmd.begin("flowgen")
        service(run, "kind=remove", *LONG)
        wait_for_loss(run)
        next_step(run)
        check_carries(run, "vf")


def service_ignored():
    """Linux 6.12 ignores the adapter's events: the VF carries nothing for a while."""
    def disabled(report):
        return report.ports[mac(0)]["tx"]["errors"].get("vf_disabled", 0)

    with forwarding("--kernel=6.12", "--rnic") as run:
        for kind in ("reset", "reconfigure"):
            before = disabled(run.model.live_report())
            service(run, f"kind={kind}", *SILENT, *LONG)
            run.wait_for_wire(lambda report, before=before: disabled(report) > before)
            arrived = carried(run.model.live_report())
            run.wait_for_wire(lambda report, before=before: disabled(report) > before + 1000)
            check_equal("arrived", carried(run.model.live_report()), arrived)
            next_step(run)
            check_carries(run, "vf")
        check_equal("packets on the synthetic device",
                    carried(run.model.live_report())["synthetic"], 0)
        check_application(run)


def service_stopped():
    """A stopped port does not learn that the function is back, until the next service."""
    with forwarding() as run:
        pmd = run.pmd
        pmd.command("stop")
        (port,) = pmd.ports()
        pmd.command(f"port stop {port}")
        service(run, "kind=remove", *LONG)
        wait_for_loss(run)
        next_step(run)
        pmd.command(f"port start {port}")
        pmd.command("start")
        check_carries(run, "synthetic")
        service(run, "kind=remove", *LONG)
        check_carries(run, "synthetic")
        next_step(run)
        check_carries(run, "vf")


def service_two_ports():
    """Both ports of a function, each with a net_netvsc port."""
    with forwarding(ports=2) as run:
        serve_by_synthetic(run, ports=2)
        check_carries(run, "vf", ports=2)


def without_vf():
    """Nobody owns the function: the synthetic devices carry the packets of both ports."""
    with fixture("--ports", "2", "--wire", "pair", "--netvsc=uio") as run:
        pmd = start(run, eal=["-b", pci(0)])
        check_equal("addresses", sorted(pmd.macs().values()), [mac(0), mac(1)])
        pmd.forward(received(10000, (0, 1)))
        report = run.finish(counters=False)
        left, right = synthetic(report, 0), synthetic(report, 1)
        check(left["rx_packets"] >= 10000, left)
        check_equal("lost", left["rx_no_buffer"] + right["rx_no_buffer"], 0)
        check_equal("arrived", left["rx_packets"] + left["rx_closed"],
                    right["tx_packets"])
        check_equal("of the adapter", report.ports[mac(0)]["tx"]["packets"], 0)


def physical_addresses():
    """With huge pages and IOVA as PA. The model answers for the pages' frames."""
    with fixture("--ports", "2", "--wire", "pair", "--netvsc=uio") as run:
        pmd = start(run, eal=["-b", pci(0), "--iova-mode=pa"], memory="in-memory")
        pmd.forward(received(10000))
        run.finish(counters=False)


def queue_states():
    """The guide: testpmd of 22.11 forwards only with the library that sets the states."""
    for preload in ("", STATES):
        with fixture("--ports", "1", "--wire", "loop", "--netvsc", "uio") as run:
            pmd = start(run, eal=["-b", pci(0)], preload=preload)
            pmd.command("start tx_first")
            # net_netvsc of 23.11 and later sets them itself.
            started = ["queue state: started" in pmd.command(f"show {direction}q info 0 0")
                       for direction in ("rx", "tx")]
            check(started[0] == started[1] and (started[0] or not preload), started)
            if started[0]:
                pmd.wait_until(received(1000))
            pmd.command("stop")
            report = run.finish(counters=False)
            check_equal("forwarded", synthetic(report)["tx_packets"] >= 1000, started[0])


def queues():
    """Subchannels and RSS."""
    with fixture("--ports", "1", "--wire", "loop", "--netvsc", "uio") as run:
        pmd = start(run, eal=["-b", pci(0)], app=["--rxq=2", "--txq=2", "--nb-cores=1"])
        pmd.forward(received(10000), "flowgen", "start")
        # net_netvsc has names twice
        used = re.findall(r"rx_q\d_packets: [1-9]", pmd.command("show port xstats 0"))
        check_equal("queues that received", len(used), 2)
        run.finish(counters=False)


def vf_lost_and_back():
    """
    net_netvsc takes the port of net_mana as its VF. While the function is gone, the
    synthetic device carries the packets, and the VF again when it is back. Each packet arrives
    or is counted. The messages are those that Microsoft's LISA looks for. net_netvsc of 22.11
    takes no function that was absent when EAL began.
    """
    with fixture("--ports", "1", "--wire", "loop", "--netvsc=uio", "--mode=thread") as run:
        run.model.expect_removal()
        pmd = start(run, eal=[*ONE_PORT, "--log-level=lib.eal:info"])
        check_equal("names", {name for _, name in pmd.ports().values()}, {UUID})
        pmd.begin("flowgen")
        run.wait_for_wire(path_is("vf"))
        pmd.wait_until(lambda stats: all(s.rx_packets >= 1000 for s in stats.values()))
        before = synthetic(run.model.live_report())
        mark = pmd.mark()
        run.model.ctl("remove", "fn=0")
        run.wait_for_wire(path_is("synthetic"))
        pmd.expect("Port 0: device removal event", since=mark)
        run.wait_for_wire(lambda report: synthetic(report)["rx_packets"] >=
                          before["rx_packets"] + 1000)
        # net_netvsc closes the port of the VF in an alarm
        run.wait_for_wire(lambda report: not any(report.objects.values()))
        run.model.ctl("return", "fn=0")
        pmd.expect(r"EAL: Probe PCI driver: net_mana \(1414:00ba\) device: "
                   rf"{pci(0)} \(socket 0\)", since=mark)
        run.wait_for_wire(path_is("vf"))
        on_vf = run.model.live_report().ports[mac(0)]["rx"]["packets"]
        run.wait_for_wire(lambda report:
                          report.ports[mac(0)]["rx"]["packets"] >= on_vf + 1000)
        pmd.command("stop")
        report = run.finish(expected_errors=[*GONE, INFORMATION], counters=False)
        check_equal("switches to the VF", synthetic(report)["to_vf"], 2)
        check_accounted(report)


def without_queue_states():
    """l3fwd looks at no queue states: it goes with the VF and returns to it without help."""
    with l3fwd("count=0,rate=100k,flows=16") as run:
        check_carries(run, "vf")
        serve_by_synthetic(run)
        check_carries(run, "vf")
        report = run.model.live_report()
        check(sent(report) > 0, report.ports)
        check_equal("switches to the VF", synthetic(report)["to_vf"], 2)


if __name__ == "__main__":
    main({**named(without_vf, physical_addresses, queue_states, queues, vf_lost_and_back,
                  service_removed, service_twice, service_unreported, service_in_place,
                  service_ignored, service_stopped, service_two_ports),
          "l3fwd": without_queue_states})
