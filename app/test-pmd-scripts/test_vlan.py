#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""VLAN stripping switched while testpmd forwards; what leaves is judged by scapy."""

import time

import machine
from harness import bench, check_equal, check_nothing_lost, main
from model import mac, pci
from test_csum import TAP, load_scapy
from test_icmpecho import ip

TWO_PORTS = ["-a", f"{pci(0)},mac={mac(0)},mac={mac(1)}"]
PRIORITY = 5    # of the sent tags: the adapter reports identifiers only
ETHERTYPE_VLAN = b"\x81\x00"


def sent_frames(frames, number):
    """Tagged and untagged ones, of all sorts; each has a source of its own."""
    made = []
    for at, case in enumerate(frames.cases()):
        data = case.frame(at, mac(0))
        if at % 4 != 0:
            tag = (PRIORITY << 13 | 100 * number + at).to_bytes(2, "big")
            data = data[:12] + ETHERTYPE_VLAN + tag + data[12:]
        made.append(data)
    return made


def forwarded(data, is_stripped):
    """What io forwarding makes of a frame."""
    if data[12:14] != ETHERTYPE_VLAN:
        return data
    if is_stripped:
        return data[:12] + data[16:]
    tci = int.from_bytes(data[14:16], "big") & 0xfff
    return data[:14] + tci.to_bytes(2, "big") + data[16:]


def pass_through(run, frames, sendrecv, number, is_stripped):
    """A round of frames through testpmd, compared byte by byte."""
    sniffer = sendrecv.AsyncSniffer(iface="mtap1", store=True)
    sniffer.start()
    time.sleep(0.5)
    sent = sent_frames(frames, number)
    before = run.model.live_report().port(1)["tx"]["packets"]
    sendrecv.sendp([frames.Ether(data) for data in sent], iface="mtap0", verbose=False)
    run.wait_for_wire(lambda report: report.port(1)["tx"]["packets"]
                      >= before + len(sent))
    time.sleep(0.5)
    caught = [bytes(packet) for packet in sniffer.stop()]
    wanted = [forwarded(data, is_stripped) for data in sent]
    check_equal(f"round {number}", [data.hex() for data in caught],
                [data.hex() for data in wanted])


def stripping():
    """On and off by port and by queue, traffic flowing; at start, and after a restart."""
    machine.in_private_namespaces()
    frames, sendrecv = load_scapy()
    steps = [
        ([], False),
        (["vlan set strip on 0"], True),
        (["vlan set strip off 0"], False),
        (["vlan set stripq on 0,0"], True),
        (["vlan set stripq off 0,0"], False),
        (["vlan set strip on 0", "stop", "port stop 0", "port start 0", "start"], True),
    ]
    with bench(*TAP) as run:
        run.start(eal=TWO_PORTS, app=["--forward-mode=io"])
        for tap in ("mtap0", "mtap1"):
            ip("link", "set", tap, "up")
        run.pmd.command("start")
        for number, (commands, is_stripped) in enumerate(steps):
            for command in commands:
                run.pmd.command(command)
            pass_through(run, frames, sendrecv, number, is_stripped)
        said = run.pmd.command("show port info 0")
        check_equal("strip on, said testpmd", "strip on," in said, True)
        run.pmd.command("stop")
        # a tag that is put back is in the driver's bytes, not in the wire's
        report = run.finish(counters=False)
        check_nothing_lost(report)


VARIANTS = {
    "stripping": stripping,
}

if __name__ == "__main__":
    main(VARIANTS)
