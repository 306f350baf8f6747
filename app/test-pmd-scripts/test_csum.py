#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checksums, received and sent: the kernel's TAP and scapy are the other side."""

import re
import time

import machine
from harness import bench, check, check_equal, check_nothing_lost, main
from model import mac, pci
from test_icmpecho import ip

TWO_PORTS = ["-a", f"{pci(0)},mac={mac(0)},mac={mac(1)}"]
TAP = ("--ports", "2", "--wire", "tap")


def load_scapy():
    """In the namespace: scapy looks at the interfaces when it is loaded."""
    try:
        import frames
        import scapy.sendrecv
    except ImportError:
        machine.skip("python3-scapy is not installed")
    return frames, scapy.sendrecv


def flags_by_source(text):
    """{source address: set of flags} of what rxonly printed with verbose 1."""
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


def receive(offload, strict=True, **testpmd):
    """Exact flags of each frame; none at all when the offload is not asked for."""
    machine.in_private_namespaces()
    frames, sendrecv = load_scapy()
    app = ["--forward-mode=rxonly"] + (["--enable-rx-cksum"] if offload else [])
    with bench(*TAP, strict=strict) as run:
        run.start(eal=TWO_PORTS, app=app, **testpmd)
        for tap in ("mtap0", "mtap1"):
            ip("link", "set", tap, "up")
        run.pmd.command("set verbose 1")
        run.pmd.command("start")
        cases = frames.cases()
        mark = run.pmd.mark()
        sendrecv.sendp([frames.Ether(case.frame(number, mac(0)))
                        for number, case in enumerate(cases)],
                       iface="mtap0", verbose=False)
        run.pmd.wait_until(lambda stats: stats[0].rx_packets >= len(cases))
        time.sleep(0.2)
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


LAYERS = ("ip", "tcp", "udp")


def offload_to_hardware(run, layers):
    run.pmd.command("port stop all")
    for port in (0, 1):
        for layer in layers:
            said = run.pmd.command(f"csum set {layer} hw {port}")
            check("hw" in said and "error" not in said.lower(), said)
    run.pmd.command("port start all")


def forward(layers=LAYERS, strict=True, **testpmd):
    """csum engine: whatever the checksums were, right ones leave on the other side."""
    machine.in_private_namespaces()
    frames, sendrecv = load_scapy()
    with bench(*TAP, strict=strict) as run:
        run.start(eal=TWO_PORTS,
                  app=["--forward-mode=csum", "--enable-rx-cksum"], **testpmd)
        offload_to_hardware(run, layers)
        for tap in ("mtap0", "mtap1"):
            ip("link", "set", tap, "up")
        run.pmd.command("start")
        # testpmd asks for a TCP checksum of a fragment, too: not its frames
        cases = [case for case in frames.cases() if "fragment" not in case.name]
        if layers != LAYERS:
            part = {"ip": "v4"}.get(layers[0], layers[0])
            cases = [case for case in cases if part in case.name]
        sniffer = sendrecv.AsyncSniffer(iface="mtap1", store=True)
        sniffer.start()
        time.sleep(0.5)
        sent = [case.frame(number, mac(0)) for number, case in enumerate(cases)]
        sendrecv.sendp([frames.Ether(data) for data in sent], iface="mtap0",
                       verbose=False)
        run.wait_for_wire(lambda report: report.port(1)["tx"]["packets"]
                          >= len(sent))
        time.sleep(0.5)
        caught = [bytes(packet) for packet in sniffer.stop()]
        check_equal("frames caught", len(caught), len(sent))
        for case, before, after in zip(cases, sent, caught):
            check_frame(frames, case, before, after)
        text = run.pmd.command("stop")
        check_equal("bad checksums that testpmd counted", bad_counts(text),
                    (sum(case.ip == frames.BAD for case in cases),
                     sum(case.l4 == frames.BAD for case in cases)))
        report = run.finish()
        check_nothing_lost(report)


def check_frame(frames, case, before, after):
    """Right checksums, and not a byte else changed behind the addresses."""
    # testpmd does not recompute a UDP checksum that was not there
    wanted = before
    if case.l4 != frames.UNKNOWN:
        wanted = frames.recomputed(before)
    elif case.ip == frames.BAD:
        wanted = frames.recomputed(before)
    check_equal(case.name, after[12:].hex(), wanted[12:].hex())
    check_equal(f"source of {case.name}", after[6:12].hex(":"), mac(1))


SEGMENT_BYTES = 200


def segmentation():
    """csum engine with TSO: every TCP frame leaves in segments, right to the last bit."""
    machine.in_private_namespaces()
    frames, sendrecv = load_scapy()
    with bench(*TAP) as run:
        run.start(eal=TWO_PORTS, app=["--forward-mode=csum", "--enable-rx-cksum"])
        offload_to_hardware(run, LAYERS)
        run.pmd.command("port stop all")
        for port in (0, 1):
            run.pmd.command(f"tso set {SEGMENT_BYTES} {port}")
            said = run.pmd.command(f"tso show {port}")
            check(str(SEGMENT_BYTES) in said, said)
        run.pmd.command("port start all")
        for tap in ("mtap0", "mtap1"):
            ip("link", "set", tap, "up")
        run.pmd.command("start")
        sent = [case.frame(number, mac(0))
                for number, case in enumerate(frames.tcp_cases())]
        wanted = [segment for data in sent
                  for segment in frames.segments(data, SEGMENT_BYTES)]
        sniffer = sendrecv.AsyncSniffer(iface="mtap1", store=True)
        sniffer.start()
        time.sleep(0.5)
        sendrecv.sendp([frames.Ether(data) for data in sent], iface="mtap0",
                       verbose=False)
        run.wait_for_wire(lambda report: report.port(1)["tx"]["packets"]
                          >= len(wanted))
        time.sleep(0.5)
        caught = [bytes(packet) for packet in sniffer.stop()]
        check_equal("segments caught", len(caught), len(wanted))
        for number, (got, want) in enumerate(zip(caught, wanted)):
            check_equal(f"segment {number}", got[12:].hex(), want[12:].hex())
        stats = run.drain()
        check_equal("packets that the driver has sent", stats[1].tx_packets, len(sent))
        run.pmd.command("stop")
        # the wire has counted segments
        check_nothing_lost(run.finish(counters=False))


VARIANTS = {
    "receive": lambda: receive(True),
    "receive-without-offload": lambda: receive(False),
    "forward": forward,
    "segmentation": segmentation,
}

if __name__ == "__main__":
    main(VARIANTS)
