#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames received into several buffers by testpmd, forwarded, and judged at the sink."""

import re
import time

import machine
from harness import bench, check, check_equal, check_nothing_lost, main
from model import mac, pci
from test_csum import TAP, load_scapy
from test_icmpecho import ip

TWO_PORTS = ["-a", f"{pci(0)},mac={mac(0)},mac={mac(1)}"]
JUMBO = ("--max-mtu", "9000")
SEND_SEGMENTS = ["--tx-offloads=0x8000"]


def frame(mark, nb_bytes):
    """Addresses, a type that nobody looks into, and bytes that tell their place."""
    head = bytes.fromhex(mac(0).replace(":", "")) + bytes.fromhex("02000000") \
        + mark.to_bytes(2, "big") + b"\x88\xb5"
    return head + bytes((mark + at * 7) & 0xff for at in range(nb_bytes - len(head)))


def pass_through(run, frames, sendrecv, lengths):
    """Through io forwarding to the other TAP, byte by byte."""
    sniffer = sendrecv.AsyncSniffer(iface="mtap1", store=True,
                                    lfilter=lambda packet: bytes(packet)[12:14] == b"\x88\xb5")
    sniffer.start()
    time.sleep(0.5)
    before = run.model.live_report().port(1)["tx"]["packets"]
    sent = [frame(number, length) for number, length in enumerate(lengths)]
    sendrecv.sendp([frames.Ether(data) for data in sent], iface="mtap0", verbose=False)
    run.wait_for_wire(lambda report: report.port(1)["tx"]["packets"]
                      >= before + len(sent))
    time.sleep(0.5)
    caught = [bytes(packet) for packet in sniffer.stop()]
    check_equal("lengths", [len(data) for data in caught], list(lengths))
    check_equal("frames", [data.hex() for data in caught], [data.hex() for data in sent])


def borders(sizes, longest):
    """Lengths around the end of each buffer."""
    found, edge = {60, longest}, 0
    for size in sizes:
        edge += size
        found |= {edge - 1, edge, edge + 1}
    return sorted(length for length in found if 60 <= length <= longest)


def start(run, app):
    run.start(eal=TWO_PORTS, app=["--forward-mode=io"] + SEND_SEGMENTS + app)
    for tap in ("mtap0", "mtap1"):
        ip("link", "set", tap, "mtu", "9000")
        ip("link", "set", tap, "up")
    run.pmd.command("start")


def check_scattered(run):
    said = run.pmd.command("show rxq info 0 0")
    check(re.search(r"RX scattered packets: on", said), said)


def finish(run):
    run.pmd.command("stop")
    check_nothing_lost(run.finish())


def scatter():
    """--enable-scatter: mbufs of 2048 bytes and frames of 9014."""
    machine.in_private_namespaces()
    frames, sendrecv = load_scapy()
    with bench(*TAP, *JUMBO) as run:
        start(run, ["--enable-scatter", "--max-pkt-len=9014"])
        check_scattered(run)
        pass_through(run, frames, sendrecv,
                     borders([2048, 2176, 2176, 2176], 9014))
        finish(run)


def split():
    """--rxpkts and --rxoffs: a header, a piece and the rest, from pools of their own."""
    machine.in_private_namespaces()
    frames, sendrecv = load_scapy()
    with bench(*TAP) as run:
        start(run, ["--rxpkts=14,200,1800", "--rxoffs=0,33,64",
                    "--mbuf-size=2176,2304,2560", "--rx-offloads=0x100000"])
        check_scattered(run)
        pass_through(run, frames, sendrecv, borders([14, 200], 1514))
        finish(run)


def mtu():
    """port config mtu: while it runs as far as the buffers go, else stopped."""
    machine.in_private_namespaces()
    frames, sendrecv = load_scapy()
    with bench(*TAP, *JUMBO) as run:
        start(run, ["--enable-scatter"])
        pass_through(run, frames, sendrecv, [60, 1514])
        run.pmd.command("port config mtu 0 2034")
        pass_through(run, frames, sendrecv, [60, 2048])
        said = run.pmd.command("port config mtu 0 3000")
        check("stop the port" in said, said)
        run.pmd.command("stop")
        run.pmd.command("port stop all")
        for port in (0, 1):
            run.pmd.command(f"port config mtu {port} 3000")
        run.pmd.command("port start all")
        run.pmd.command("start")
        check("MTU: 3000" in run.pmd.command("show port info 0"), "MTU is not 3000")
        pass_through(run, frames, sendrecv, borders([2048], 3014))
        run.pmd.command("stop")
        check_nothing_lost(run.finish(["stop the port", "Set MTU failed"]))


VARIANTS = {
    "scatter": scatter,
    "split": split,
    "mtu": mtu,
}

if __name__ == "__main__":
    main(VARIANTS)
