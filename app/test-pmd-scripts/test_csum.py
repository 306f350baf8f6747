#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rx and Tx checksums, with the kernel's TAP interface and scapy."""

import re

from harness import check, check_equal, check_nothing_lost, main, named
from model import mac
from taps import tapped


def flags_by_source(text):
    """{source address: set of flags} from rxonly with verbose 1."""
    found = {}
    for source, flags in re.findall(
            r"src=([0-9A-F:]{17}) - (?s:.*?)ol_flags: (.*)", text):
        check(source.lower() not in found, f"{source} received twice")
        found[source.lower()] = set(flags.split())
    return found


def wanted_flags(case, more=()):
    return {f"RTE_MBUF_F_RX_IP_CKSUM_{case.ip}",
            f"RTE_MBUF_F_RX_L4_CKSUM_{case.l4}",
            "RTE_MBUF_F_RX_OUTER_L4_CKSUM_UNKNOWN", *more}


def receive(offload):
    """Each frame has exactly the expected flags; none without the offload."""
    with tapped(forward="rxonly", app=["--enable-rx-cksum"] if offload else []) as (run, frames):
        run.pmd.command("set verbose 1")
        run.pmd.command("start")
        cases = frames.cases()
        mark = run.pmd.mark()
        frames.sendp([frames.Ether(case.frame(number, mac(0)))
                      for number, case in enumerate(cases)],
                     iface="mtap0", verbose=False)
        run.pmd.wait_until(lambda stats: stats[0].rx_packets >= len(cases))
        run.pmd.command("stop")
        found = flags_by_source(run.pmd.text[mark:])
        check_equal("frames received", len(found), len(cases))
        for number, case in enumerate(cases):
            if not offload:
                case.ip = case.l4 = frames.UNKNOWN
            check_equal(f"flags of {case.name}", found[case.source(number)],
                        wanted_flags(case))
        report = run.finish()
        check_nothing_lost(report)
        check_equal("frames on the wire", report.port(0)["rx"]["packets"], len(cases))


def bad_counts(text):
    """(Bad-ipcsum, Bad-l4csum) of port 0 after stop."""
    part = re.search(r"Forward statistics for port 0(?s:.*?)Bad-ipcsum: (\d+)\s+"
                     r"Bad-l4csum: (\d+)", text)
    return tuple(int(part.group(at)) for at in (1, 2))


def offload_to_hardware(pmd, segment_bytes=0):
    """Checksums, and TCP segments if their size is given."""
    pmd.command("port stop all")
    for port in (0, 1):
        for layer in ("ip", "tcp", "udp"):
            reply = pmd.command(f"csum set {layer} hw {port}")
            check("hw" in reply and "error" not in reply.lower(), reply)
        if segment_bytes:
            pmd.command(f"tso set {segment_bytes} {port}")
            reply = pmd.command(f"tso show {port}")
            check(str(segment_bytes) in reply, reply)
    pmd.command("port start all")


def forward():
    """csum engine: every frame leaves with correct checksums."""
    with tapped(forward="csum", app=["--enable-rx-cksum"]) as (run, frames):
        offload_to_hardware(run.pmd)
        run.pmd.command("start")
        # testpmd also requests a TCP checksum for a fragment, which is not tested
        cases = [case for case in frames.cases() if "fragment" not in case.name]
        sent = [case.frame(number, mac(0)) for number, case in enumerate(cases)]
        for case, before, after in zip(cases, sent, frames.exchange(sent, len(sent))):
            check_frame(frames, case, before, after)
        text = run.pmd.command("stop")
        check_equal("bad checksums that testpmd counted", bad_counts(text),
                    (sum(case.ip == frames.BAD for case in cases),
                     sum(case.l4 == frames.BAD for case in cases)))
        report = run.finish()
        check_nothing_lost(report)


def check_frame(frames, case, before, after):
    """The checksums are correct, and no other byte after the addresses has changed."""
    # testpmd does not compute a UDP checksum that was 0
    is_changed = case.l4 != frames.UNKNOWN or case.ip == frames.BAD
    wanted = frames.recomputed(before) if is_changed else before
    check_equal(case.name, after[12:].hex(), wanted[12:].hex())
    check_equal(f"source of {case.name}", after[6:12].hex(":"), mac(1))


SEGMENT_BYTES = 200


def segmentation():
    """csum engine with TSO: each TCP packet leaves as correct segments."""
    with tapped(forward="csum", app=["--enable-rx-cksum"]) as (run, frames):
        offload_to_hardware(run.pmd, SEGMENT_BYTES)
        run.pmd.command("start")
        sent = [case.frame(number, mac(0))
                for number, case in enumerate(frames.tcp_cases())]
        wanted = [segment for data in sent
                  for segment in frames.segments(data, SEGMENT_BYTES)]
        caught = frames.exchange(sent, len(wanted))
        for number, (got, want) in enumerate(zip(caught, wanted)):
            check_equal(f"segment {number}", got[12:].hex(), want[12:].hex())
        stats = run.drain()
        check_equal("packets that the driver has sent", stats[1].tx_packets, len(sent))
        run.pmd.command("stop")
        # the wire counts segments
        check_nothing_lost(run.finish(counters=False))


VARIANTS = {"receive": lambda: receive(True), "receive-without-offload": lambda: receive(False),
            **named(forward, segmentation)}

if __name__ == "__main__":
    main(VARIANTS)
