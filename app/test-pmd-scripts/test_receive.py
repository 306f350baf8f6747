#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""testpmd receives frames into several mbufs and forwards them; the sink checks them.
"""

import re

from harness import check, check_equal, check_nothing_lost, main, named
from model import mac
from taps import tapped

JUMBO = ("--max-mtu", "9000")
SEND_SEGMENTS = ["--tx-offloads=0x8000"]


def frame(mark, nb_bytes):
    """A frame with an unknown Ethertype; each byte depends on its position."""
    head = bytes.fromhex(mac(0).replace(":", "")) + bytes.fromhex("02000000") \
        + mark.to_bytes(2, "big") + b"\x88\xb5"
    return head + bytes((mark + at * 7) & 0xff for at in range(nb_bytes - len(head)))


def pass_through(frames, lengths):
    """Sends through io forwarding to the other TAP interface and compares each byte."""
    sent = [frame(number, length) for number, length in enumerate(lengths)]
    caught = frames.exchange(sent, len(sent), lambda data: data[12:14] == b"\x88\xb5")
    check_equal("lengths", [len(data) for data in caught], list(lengths))
    check_equal("frames", [data.hex() for data in caught], [data.hex() for data in sent])


def borders(sizes, longest):
    """Lengths around the end of each buffer."""
    found, edge = {60, longest}, 0
    for size in sizes:
        edge += size
        found |= {edge - 1, edge, edge + 1}
    return sorted(length for length in found if 60 <= length <= longest)


def receiving(*options, app):
    return tapped(*options, mtu=9000, app=[*SEND_SEGMENTS, *app])


def check_scattered(run):
    reply = run.pmd.command("show rxq info 0 0")
    check(re.search(r"RX scattered packets: on", reply), reply)


def finish(run):
    run.pmd.command("stop")
    check_nothing_lost(run.finish())


def scatter():
    """--enable-scatter: mbufs of 2048 bytes and frames of 9014."""
    with receiving(*JUMBO, app=["--enable-scatter", "--max-pkt-len=9014"]) as (run, frames):
        run.pmd.command("start")
        check_scattered(run)
        pass_through(frames, borders([2048, 2176, 2176, 2176], 9014))
        finish(run)


def split():
    """--rxpkts and --rxoffs: three segments from different mempools."""
    with receiving(app=["--rxpkts=14,200,1800", "--rxoffs=0,33,64",
                        "--mbuf-size=2176,2304,2560",
                        "--rx-offloads=0x100000"]) as (run, frames):
        run.pmd.command("start")
        check_scattered(run)
        pass_through(frames, borders([14, 200], 1514))
        finish(run)


def mtu():
    """
    port config mtu: on a running port if the buffers suffice, else on a stopped one.
    """
    with receiving(*JUMBO, app=["--enable-scatter"]) as (run, frames):
        run.pmd.command("start")
        pass_through(frames, [60, 1514])
        run.pmd.command("port config mtu 0 2034")
        pass_through(frames, [60, 2048])
        reply = run.pmd.command("port config mtu 0 3000")
        check("stop the port" in reply, reply)
        run.pmd.command("stop")
        run.pmd.command("port stop all")
        for port in (0, 1):
            run.pmd.command(f"port config mtu {port} 3000")
        run.pmd.command("port start all")
        run.pmd.command("start")
        check("MTU: 3000" in run.pmd.command("show port info 0"), "MTU is not 3000")
        pass_through(frames, borders([2048], 3014))
        run.pmd.command("stop")
        check_nothing_lost(run.finish(["stop the port", "Set MTU failed"]))


if __name__ == "__main__":
    main(named(scatter, split, mtu))
