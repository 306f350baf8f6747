#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's examples, unchanged; the frames are checked at the far end."""

import os
import re
import signal
import tempfile

from application import (FLOWS, Application, application, check_all_came, eal_arguments,
                         example, generator)
from harness import check, check_equal, check_nothing_lost, main, named
from frames import IP, UDP, Ether, IPv6, payload
from model import mac, pci
from testpmd import TWO_PORTS
from scapy.layers.inet import defragment, fragment
from scapy.layers.inet6 import IPv6ExtHdrFragment, defragment6, fragment6
from scapy.utils import rdpcap, wrpcap

PACKETS = 96_000
INTERRUPTED = 128 + signal.SIGINT


def both_ways(argv, traffic, *options, packets=PACKETS, killed=False):
    """Each port forwards the frames received by the other. Returns the report."""
    with application(argv, *generator(0, traffic, packets),
                     *generator(1, traffic + f",stream={FLOWS}", packets),
                     *options) as run:
        run.wait_until(lambda report: all(
            report.sink(port)["received"] >= packets for port in (0, 1)))
        status = run.interrupt()
        check_equal("exit status", status, INTERRUPTED if killed else 0)
        report = run.finish(status, leaks=killed)
    for port in (0, 1):
        check_all_came(report, port, packets)
    check_nothing_lost(report)
    return report


def skeleton():
    """The example never ends: the kernel frees its resources."""
    argv = [example("skeleton", "basicfwd"), *eal_arguments(*TWO_PORTS, nb_lcores=1)]
    report = both_ways(argv, "size=imix,ip=mix,l4=mix,vlan=10%", killed=True)
    check(report.leaks, "the killed program left nothing behind?")


def rxtx_callbacks():
    """The example stores a time in each received mbuf and reads it when it sends."""
    argv = [example("rxtx_callbacks"), *eal_arguments(*TWO_PORTS, nb_lcores=1)]
    both_ways(argv, "size=imix,ip=mix,l4=mix", killed=True)


def l2fwd():
    """Each port has a thread, which sends on a queue of the other port."""
    argv = [example("l2fwd"), *eal_arguments(*TWO_PORTS), "--", "-p", "3", "-T", "0"]
    both_ways(argv, "size=60-1514,ip=mix,l4=mix")


def captured(path):
    """Frames in a file that the model may be writing."""
    return [bytes(frame) for frame in rdpcap(path)] if os.path.getsize(path) else []


def check_frames(got, wanted):
    check_equal("number of frames", len(got), len(wanted))
    for number, (one, other) in enumerate(zip(got, wanted)):
        check(one == other,
              f"frame {number}:\n{one.hex(' ')}\nexpected\n{other.hex(' ')}")


def through_files(argv_of, frames, expected, status=0, *options,
                  interrupt=Application.interrupt):
    """
    Sends frames of a file into port 0. Returns the expected number of frames sent by
    port 1.
    """
    with tempfile.TemporaryDirectory() as folder:
        given, got = (os.path.join(folder, name) for name in ("in.pcap", "out.pcap"))
        wrpcap(given, [Ether(frame) for frame in frames])
        with application(argv_of(folder), "--wire", f"1=pcap:in={given}",
                         "--wire", f"2=pcap:out={got}", *options) as run:
            run.wait_until(
                lambda report: report.port(1)["tx"]["packets"] >= expected)
            check_equal("exit status", interrupt(run), status)
            report = run.finish(status, leaks=status != 0)
        check_nothing_lost(report)
        check_equal("sent", report.port(1)["tx"]["packets"], expected)
        return captured(got)


def l3fwd_rules(folder):
    """Route files for the generators' networks, and for the test's frames."""
    files = []
    for version, rules in (("v4", ["R198.19.0.0/21 1", "R198.19.0.8/29 0"]),
                           ("v6", ["R2001:2:0:100::/64 1"])):
        path = os.path.join(folder, version)
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(rules) + "\n")
        files.append(f"--rule_ip{version}={path}")
    return files


def l3fwd_arguments(folder, *config):
    return [example("l3fwd"), *eal_arguments(*TWO_PORTS, megabytes=512), "--", "-p", "3",
            "-P", "--config=" + ",".join(config), *l3fwd_rules(folder)]


def l3fwd():
    """Forwards by routes with two queues per port: each flow stays in order."""
    with tempfile.TemporaryDirectory() as folder:
        argv = l3fwd_arguments(folder, "(0,0,0)", "(0,1,1)", "(1,0,0)", "(1,1,1)")
        report = both_ways(argv, "size=60-1514,l4=mix")
    for port in report.ports.values():
        used = [queue for queue in port["queues"]
                if queue["kind"] == "rq" and queue["packets"]]
        check_equal("Rx queues in use", len(used), 2)


def l3fwd_headers():
    """
    Frames leave with the next hop's addresses, decremented TTL and correct checksum.
    Frames without route return to their port.
    """
    flows = [IP(src="198.51.100.7", dst=f"198.19.0.{last}", ttl=ttl)
             / UDP(sport=5, dport=6) / payload(size)
             for last, ttl, size in ((1, 64, 26), (2, 2, 301), (3, 255, 1472))]
    flows += [IPv6(src="2001:db8::7", dst="2001:2:0:100::5", hlim=9)
              / UDP(sport=7, dport=8) / payload(77)]
    astray = IP(dst="203.0.113.1") / UDP() / payload(30)
    astray, *flows = [Ether(src="02:00:00:00:00:99", dst=mac(0)) / packet
                      for packet in [astray] + flows]

    got = through_files(lambda folder: l3fwd_arguments(folder, "(0,0,0)", "(1,0,1)"),
                        [bytes(frame) for frame in [astray] + flows], len(flows))
    for frame in flows:
        frame.dst, frame.src = "02:00:00:00:00:01", mac(1)
        if IP in frame:
            frame[IP].ttl -= 1      # the example does not change IPv6
    check_frames(got, [bytes(frame) for frame in flows])


def l3fwd_power():
    """
    The example sleeps until an interrupt. Frames arrive singly; without route they
    return, so that each port's sink receives the frames of its generator.
    """
    packets = 300
    argv = [example("l3fwd-power"), *eal_arguments(*TWO_PORTS, "--log-level=user1:info"), "--",
            "-p", "3", "-P", "--interrupt-only", "--no-numa",
            "--config=(0,0,0),(0,1,1),(1,0,0),(1,1,1)"]
    traffic = "size=60-1514,l4=mix,rate=2k"
    with application(argv, *generator(0, traffic, packets),
                     *generator(1, traffic + f",stream={FLOWS}", packets)) as run:
        run.wait_until(lambda report: all(
            report.sink(port)["received"] >= packets for port in (0, 1)))
        check_equal("exit status", run.interrupt(), 0)
        report = run.finish()
        for port in (0, 1):
            check_all_came(report, port, packets)
            for queue in (0, 1):
                check(f"is waked up from rx interrupt on port {port} queue {queue}"
                      in run.text, f"port {port} queue {queue} caused no wake-up")
        check(report.doorbells["cq_arm"] > packets / 10, f"{report.doorbells}")


def datagram(number, nb_bytes, version):
    """A datagram for port 1 by the routes of both IP examples."""
    packet = (IP(src="192.0.2.9", dst=f"100.20.0.{number}", id=number)
              if version == 4 else
              IPv6(src="2001:db8::9", dst="201:101:101::5"))
    return packet / UDP(sport=number, dport=9) / payload(nb_bytes)


def without_ids(packets):
    """The datagrams without identification, which only fragments have."""
    packets = list(packets)
    for packet in packets:
        if IP in packet:
            packet[IP].id = 0
            packet[IP].chksum = None
    return [bytes(packet) for packet in packets]


def ip_reassembly():
    """Fragments of several datagrams arrive interleaved; whole datagrams leave."""
    whole = [datagram(number, nb_bytes, version) for number, nb_bytes, version in
             ((1, 900, 4), (2, 1472, 4), (3, 1001, 6), (4, 1400, 6), (5, 200, 4))]
    pieces = []
    for number, packet in enumerate(whole):
        if IP in packet:
            pieces += fragment(packet, fragsize=400)
            continue
        header = IPv6(src=packet.src, dst=packet.dst) / IPv6ExtHdrFragment(id=number)
        pieces += fragment6(header / packet.payload, 500)
    pieces = pieces[::2] + pieces[1::2]
    frames = [bytes(Ether(src="02:00:00:00:00:99", dst=mac(0)) / piece)
              for piece in pieces]
    check(len(frames) >= 12, f"only {len(frames)} fragments")

    # the example cannot end while a second thread is in its loop
    argv = [example("ip_reassembly"), *eal_arguments(*TWO_PORTS, nb_lcores=1,
                                                     megabytes=512),
            "--", "-p", "3", "-q", "2", "--maxflows=64", "--flowttl=60s"]
    got = [Ether(frame) for frame in
           through_files(lambda _: argv, frames, len(whole),
                         interrupt=Application.interrupt_main)]
    for frame in got:
        check_equal("addresses", (frame.dst, frame.src), ("02:00:00:00:00:01", mac(1)))
        wanted = frame[IP].chksum if IP in frame else None
        if wanted is not None:
            frame[IP].chksum = None
            check_equal("IP checksum", wanted, Ether(bytes(frame))[IP].chksum)
    check_frames(sorted(without_ids(frame.payload for frame in got)),
                 sorted(without_ids(Ether(bytes(Ether() / packet)).payload
                                    for packet in whole)))


def ip_fragmentation():
    """Datagrams above 1500 bytes, in several segments, leave in fragments."""
    whole = [datagram(number, nb_bytes, version) for number, nb_bytes, version in
             ((1, 1472, 4), (2, 1473, 4), (3, 5000, 4), (4, 1452, 6), (5, 4001, 6),
              (6, 8000, 4))]
    frames = [bytes(Ether(src="02:00:00:00:00:99", dst=mac(0)) / packet)
              for packet in whole]
    argv = [example("ip_fragmentation"), *eal_arguments(*TWO_PORTS, megabytes=512), "--",
            "-p", "3"]
    # headers of 20 bytes in a fragment of 1500, or of 48; data in units of 8
    pieces = sum(1 if len(packet) <= 1500
                 else -(-(len(packet) - 20) // 1480) if IP in packet
                 else -(-(len(packet) - 40) // 1448) for packet in whole)
    got = [Ether(frame) for frame in
           through_files(lambda _: argv, frames, pieces, INTERRUPTED,
                         "--max-mtu", "9000")]
    for frame in got:
        check_equal("addresses", (frame.dst, frame.src), ("02:00:00:00:00:01", mac(1)))
        check(len(frame.payload) <= 1500, f"a piece of {len(frame.payload)} bytes")
        if IP in frame:
            wanted = frame[IP].chksum
            frame[IP].chksum = None
            check_equal("IP checksum", Ether(bytes(frame))[IP].chksum, wanted)
    pieces_v6 = [frame[IPv6] for frame in got if IPv6ExtHdrFragment in frame]
    rejoined = [*defragment([frame[IP] for frame in got if IP in frame]),
                *[frame[IPv6] for frame in got
                  if IPv6 in frame and IPv6ExtHdrFragment not in frame],
                defragment6(pieces_v6)]
    check_frames(sorted(without_ids(rejoined)),
                 sorted(without_ids(Ether(frame).payload for frame in frames)))


def link_status_interrupt():
    """The example gets link events; frames flow again afterwards."""
    argv = [example("link_status_interrupt"),
            *eal_arguments("-a", pci(0), "-a", pci(1)), "--", "-p", "3", "-T", "0"]
    packets = PACKETS // 4
    with application(argv, "--functions", "2", "--ports", "1,1",
                     *generator(0, "ip=mix", packets),
                     *generator(1, f"ip=mix,stream={FLOWS}", packets)) as run:
        def all_came(rounds):
            run.wait_until(lambda report: all(
                report.sink(port)["received"] >= rounds * packets for port in (0, 1)))

        all_came(1)
        for port in (0, 1):
            for state in ("down", "up"):
                mark = run.mark()
                run.model.ctl("link", f"port={port + 1}", state)
                run.expect(rf"Event type: LSC interrupt\nPort {port} Link {state}",
                             since=mark)
        for port in (0, 1):
            run.model.ctl("gen", f"port={port + 1}", f"count={packets}",
                           f"flows={FLOWS}", f"stream={100 + port * FLOWS}")
        all_came(2)
        check_equal("exit status", run.interrupt(), INTERRUPTED)
        report = run.finish(INTERRUPTED, leaks=True)
    for port in (0, 1):
        check_all_came(report, port, 2 * packets)
        check_equal("events", re.findall(
            rf"LSC interrupt\nPort {port} Link (up|down)", run.text), ["down", "up"])


def packet_ordering():
    """
    Rx, worker and Tx threads. The Tx thread sends bursts of 32 and keeps a remainder;
    its reorder window limits the frames in flight.
    """
    packets = 8192
    argv = [example("packet_ordering"), *eal_arguments(*TWO_PORTS, nb_lcores=3,
                                                       megabytes=512), "--", "-p", "3"]
    with application(argv, *generator(0, "size=60-1514", packets),
                     "--wire", "2=sink") as run:
        run.wait_until(lambda report: report.sink(1)["received"] >= packets)
        check_equal("exit status", run.interrupt(), 0)
        report = run.finish()
        check_all_came(report, 1, packets)
        check_nothing_lost(report)
        for what, number in (("Pkts rxd", packets), ("Ro Pkts transmitted", packets),
                             ("Ro Pkts tx failed", 0)):
            check(f"{what}:" in run.text and re.search(
                rf"{what}:\s+{number}$", run.text, re.MULTILINE), f"not {number} {what}")
        # its port statistics are the driver's
        check_equal("Pkts in, of port 0 and 1", re.findall(r"Pkts in:\s+(\d+)", run.text),
                    [str(packets), "0"])
        check_equal("Pkts out", re.findall(r"Pkts out:\s+(\d+)", run.text),
                    ["0", str(packets)])


def l2fwd_headers():
    """Frames leave with the next hop's addresses and otherwise unchanged."""
    frames = [bytes(Ether(src="02:00:00:00:00:99", dst=mac(0)) / IP(dst="192.0.2.7")
                    / UDP(sport=number) / payload(18 + number))
              for number in range(64)]
    argv = [example("l2fwd"), *eal_arguments(*TWO_PORTS), "--", "-p", "3", "-T", "0"]
    got = through_files(lambda _: argv, frames, len(frames))
    next_hop = bytes.fromhex("020000000001") + bytes.fromhex(mac(1).replace(":", ""))
    check_frames(got, [next_hop + frame[12:] for frame in frames])


if __name__ == "__main__":
    main(named(skeleton, rxtx_callbacks, l2fwd, l2fwd_headers, l3fwd, l3fwd_headers, l3fwd_power,
               ip_reassembly, ip_fragmentation, link_status_interrupt, packet_ordering))
