#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Testpmd between two netdevs of the same guest: the kernel's mana and this driver check
each other's checksums and segments.

Ports 1 and 4 are netdevs in network namespaces of their own, ports 2 and 3 testpmd's;
wires join 1 with 2, and 3 with 4.
"""

import re

from harness import check, check_equal, check_pairs, fixture, main
from model import mac, netdev, pci
from test_csum import offload_to_hardware

MACHINE = ("--ports", "4", "--wire", "pair")
TWO_PORTS = ["-a", f"{pci(0)},mac={mac(1)},mac={mac(2)}"]
# namespace: (netdev, address)
SIDES = {"left": (netdev(0), "192.0.2.1"), "right": (netdev(3), "192.0.2.2")}
MEGABYTES = 16
TCP_PORT = "5000"
SEGMENT_BYTES = 900
# received by testpmd's namespaces: errors of each protocol's checksum
COUNTERS = ("Ip: InHdrErrors", "Tcp: InCsumErrors", "Udp: InCsumErrors",
            "Icmp: InCsumErrors")


def set_up(model):
    """The two hosts."""
    for name, (interface, address) in SIDES.items():
        model.run("ip", "netns", "add", name)
        model.run("ip", "link", "set", interface, "netns", name)
        inside(model, name, "ip", "address", "add", f"{address}/24", "dev", interface)
        inside(model, name, "ip", "link", "set", interface, "up")


def inside(model, name, *argv):
    return model.run("ip", "netns", "exec", name, *argv)


def snmp(model, name):
    """{"Protocol: counter": value} of a host."""
    lines = inside(model, name, "cat", "/proc/net/snmp").stdout.splitlines()
    return {f"{keys.split()[0]} {key}": int(value)
            for keys, values in zip(lines[0::2], lines[1::2])
            for key, value in zip(keys.split()[1:], values.split()[1:])}


def check_no_errors(model):
    for name in SIDES:
        counters = snmp(model, name)
        for counter in COUNTERS:
            check_equal(f"{counter} of {name}", counters[counter], 0)


def send_file(model, sender, receiver):
    """A file of random bytes arrives unchanged over TCP."""
    model.run("sh", "-c", f"head -c {MEGABYTES << 20} /dev/urandom >/tmp/sent")
    address = SIDES[receiver][1]
    # The receiver listens before the sender connects. It has an input without end, or
    # it would end the connection.
    model.run("sh", "-c", f"""
        test -p /tmp/endless || mkfifo /tmp/endless
        ip netns exec {receiver} nc -l -p {TCP_PORT} >/tmp/received <>/tmp/endless &
        for i in $(seq 100); do
            ip netns exec {receiver} ss -Hltn | grep -q :{TCP_PORT} && break
            sleep 0.1
        done
        ip netns exec {sender} nc {address} {TCP_PORT} </tmp/sent
        wait
        cmp /tmp/sent /tmp/received""")


def forward(segment_bytes=0):
    """Pings and TCP in both directions through the engine csum."""
    peers = [f"--eth-peer=0,{mac(0)}", f"--eth-peer=1,{mac(3)}"]
    with fixture(*MACHINE) as run:
        pmd = run.start(eal=TWO_PORTS, app=["--forward-mode=csum", "--enable-rx-cksum",
                                            *peers])
        offload_to_hardware(pmd, segment_bytes)
        pmd.command("start")
        set_up(run.model)
        done = inside(run.model, "left", "ping", "-n", "-q", "-c", "100", "-i", "0.01",
                      "-w", "60", SIDES["right"][1])
        # it sends more while it waits for the hundredth answer
        received = int(re.search(r"(\d+) received", done.stdout).group(1))
        check(received >= 100, done.stdout)
        for sender, receiver in (("left", "right"), ("right", "left")):
            send_file(run.model, sender, receiver)
        text = pmd.command("stop")
        bad = re.findall(r"Bad-ipcsum: (\d+)\s+Bad-l4csum: (\d+)", text)
        check(bad and all(pair == ("0", "0") for pair in bad), f"bad checksums: {bad}")
        check_no_errors(run.model)
        # testpmd counts packets, the wire segments, and the kernel sends at any time
        report = run.finish(counters=False)
        # a full ring drops frames, which TCP repeats
        check_pairs(report)
        for number in (1, 2):
            least = MEGABYTES << 20
            tx = report.port(number)["tx"]
            check(tx["bytes"] > least, f"port {number}: {tx}")
            check(not any(tx["errors"].values()), f"port {number}: {tx}")


IN_GUEST = {"checksums": forward, "segments": lambda: forward(SEGMENT_BYTES)}

if __name__ == "__main__":
    main({}, IN_GUEST)
