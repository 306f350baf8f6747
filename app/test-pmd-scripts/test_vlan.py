#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""VLAN stripping is switched while testpmd forwards; scapy checks the sent frames."""

from harness import check_equal, check_nothing_lost, main
from model import mac
from taps import tapped

PRIORITY = 5    # of the sent tags; the adapter reports identifiers only
ETHERTYPE_VLAN = b"\x81\x00"


def sent_frames(frames, number):
    """Tagged and untagged frames of all kinds; each has its own source address."""
    made = []
    for at, case in enumerate(frames.cases()):
        data = case.frame(at, mac(0))
        if at % 4 != 0:
            tag = (PRIORITY << 13 | 100 * number + at).to_bytes(2, "big")
            data = data[:12] + ETHERTYPE_VLAN + tag + data[12:]
        made.append(data)
    return made


def forwarded(data, is_stripped):
    """The frame after io forwarding."""
    if data[12:14] != ETHERTYPE_VLAN:
        return data
    if is_stripped:
        return data[:12] + data[16:]
    tci = int.from_bytes(data[14:16], "big") & 0xfff
    return data[:14] + tci.to_bytes(2, "big") + data[16:]


def pass_through(frames, number, is_stripped):
    """Passes frames through testpmd and compares every byte."""
    sent = sent_frames(frames, number)
    caught = frames.exchange(sent, len(sent))
    wanted = [forwarded(data, is_stripped) for data in sent]
    check_equal(f"round {number}", [data.hex() for data in caught],
                [data.hex() for data in wanted])


def stripping():
    """Stripping per port and per queue, under traffic, at the start and after a restart."""
    steps = [
        ([], False),
        (["vlan set strip on 0"], True),
        (["vlan set strip off 0"], False),
        (["vlan set stripq on 0,0"], True),
        (["vlan set stripq off 0,0"], False),
        (["vlan set strip on 0", "stop", "port stop 0", "port start 0", "start"], True),
    ]
    with tapped() as (run, frames):
        run.pmd.command("start")
        for number, (commands, is_stripped) in enumerate(steps):
            for command in commands:
                run.pmd.command(command)
            pass_through(frames, number, is_stripped)
        reply = run.pmd.command("show port info 0")
        check_equal("strip on in testpmd's output", "strip on," in reply, True)
        run.pmd.command("stop")
        # the driver counts bytes of a reinserted tag, the wire does not
        report = run.finish(counters=False)
        check_nothing_lost(report)


VARIANTS = {
    "stripping": stripping,
}

if __name__ == "__main__":
    main(VARIANTS)
