#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Cases of DPDK's own test suites (dts/tests of its source tree).

tester.py replaces their traffic generator. The README lists the suites and cases.
"""

import re

from harness import check, check_equal, fixture, main, reta_swap
from model import mac, pci
from tester import tester

COUNTERS = {"counters": False}   # frames of the kernel; frames lost at a stop


def finish(made, **more):
    made.pmd.command("stop")
    return made.run.finish(**{**COUNTERS, **more})


def port_info(pmd, port=0):
    """Output of `show port info` as {title: text}."""
    text = pmd.command(f"show port info {port}")
    return {title.strip(): value.strip()
            for title, value in re.findall(r"^([^:\n]+): ?(.*)$", text, re.MULTILINE)}


# ---- port_control -----------------------------------------------------------------

def port_control():
    """start_ports, stop_ports, close_ports."""
    with tester() as made:
        pmd = made.pmd
        pmd.command("start")
        made.pass_all(100)
        pmd.command("stop")
        pmd.command("port stop all")
        for port in (0, 1):
            check_equal(f"link of port {port}", port_info(pmd, port)["Link status"],
                        "down")
        pmd.command("port start all")
        pmd.command("start")
        made.pass_all(100)
        pmd.command("stop")
        pmd.command("port stop all")
        pmd.command("port close all")
        check_equal("ports left", pmd.ports(), {})
        made.run.finish(counters=False)


# ---- port_stats --------------------------------------------------------------------

def port_stats():
    """stats_updates: one frame of 100 bytes is one packet and 100 bytes."""
    with tester() as made:
        made.pmd.command("start")
        made.pass_all(3)
        made.pmd.wait_until(lambda stats: True)
        made.pmd.command("clear port stats all")
        check_equal("cleared", [stats.rx_packets for stats in made.pmd.stats().values()],
                    [0, 0])
        before = made.run.model.live_report()
        made.exchange([made.packet(100)])
        stats, after = made.pmd.stats(), made.run.model.live_report()
        for port, side in ((0, "rx"), (1, "tx")):
            for unit in ("packets", "bytes"):
                wire = (after.port(port)[side][unit] - before.port(port)[side][unit])
                check_equal(f"port {port} {side} {unit}",
                            getattr(stats[port], f"{side}_{unit}"), wire)
        check(stats[1].tx_packets >= 1 and stats[1].tx_bytes >= 100, "nothing sent")
        finish(made)


# ---- port_restart_config_persistency --------------------------------------------------

def restart_persistence():
    """port_configuration_persistence: a restart does not change the port."""
    settings = ["port config mtu 0 1500", "port config mtu 0 1400", "vlan set strip on 0",
                "set promisc 0 off", "set promisc 0 on", "set allmulti 0 on"]
    with tester() as made:
        pmd = made.pmd
        for setting in settings:
            reply = pmd.command(setting)
            check(not re.search("fail|error|cannot", reply, re.I), f"{setting}: {reply}")
            before = port_info(pmd)
            pmd.command("port stop 0")
            pmd.command("port start 0")
            check_equal(f"after {setting}", port_info(pmd), before)
        check_equal("MTU", port_info(pmd)["MTU"], "1400")
        pmd.command("vlan set strip off 0")
        pmd.command("start")
        made.pass_all()
        finish(made)


# ---- l2fwd -----------------------------------------------------------------------------

def l2fwd():
    """l2fwd_integrity with 1, 2, 4 and 8 queues."""
    with tester(app=["--rss-udp"]) as made:
        pmd = made.pmd
        for queues in (1, 2, 4, 8):
            pmd.command("port stop all")
            pmd.command(f"port config all rxq {queues}")
            pmd.command(f"port config all txq {queues}")
            pmd.command("port start all")
            check_equal("queues", port_info(pmd)["Current number of RX queues"],
                        str(queues))
            pmd.command("start")
            made.pass_all(50, size=64)
            pmd.command("stop")
        made.run.finish(counters=False)


# ---- mtu -------------------------------------------------------------------------------

def mtu():
    """runtime_mtu_updating_and_forwarding: frames up to the MTU are forwarded."""
    # the network, not a vPort, drops longer frames
    with tester("--max-mtu", "9000", mtu=9000,
                app=["--mbuf-size=9216", "--total-num-mbufs=4096"]) as made:
        pmd = made.pmd
        for size in (1500, 2400, 4800, 9000):
            pmd.command("port stop all")
            for port in (0, 1):
                reply = pmd.command(f"port config mtu {port} {size}")
                check("fail" not in reply.lower(), reply)
                check_equal("MTU", port_info(pmd, port)["MTU"], str(size))
            pmd.command("port start all")
            pmd.command("start")
            for length in {1491, 1500, size - 9, size}:
                made.pass_all(2, size=length + 14)
            pmd.command("stop")
        reply = pmd.command("port config mtu 0 9001")
        check("max MTU" in reply, f"an MTU too large: {reply}")
        check_equal("MTU", port_info(pmd)["MTU"], "9000")
        made.run.finish(counters=False, expected_errors=["9001", "MTU"])


# ---- pmd_buffer_scatter ----------------------------------------------------------------

def scatter():
    """scatter_mbuf_2048: frames around the size of a buffer arrive whole in several mbufs."""
    with tester("--max-mtu", "9000", mtu=9000,
                app=["--mbuf-size=2048", "--enable-scatter",
                     "--max-pkt-len=9014"]) as made:
        reply = made.pmd.command("show rxq info 0 0")
        check(re.search("RX scattered packets: on", reply), reply)
        made.pmd.command("start")
        room = 2048 - 128
        for size in (room - 1, room, room + 1, room + 4, room + 5, room + 2048, 9014):
            made.pass_all(2, size=size)
        finish(made)


# ---- rss -------------------------------------------------------------------------------

def rss_update():
    """A new RSS key and other tables on running ports: no packet is lost."""
    with tester(app=["--rxq=8", "--txq=8", "--rss-udp"]) as made:
        pmd = made.pmd
        pmd.command("start")
        order = [1, 2, 3, 4, 5, 6, 7, 0]
        for pair in ((0, 3), (5, 6)):
            reply = pmd.command("port config 0 rss reta " + reta_swap(order, *pair))
            check("fail" not in reply.lower() and "error" not in reply.lower(), reply)
            shown = pmd.command("show port 0 rss reta 64 (0xffffffffffffffff)")
            check_equal("table", [int(queue) for queue in
                                  re.findall(r"hash index=\d+, queue=(\d+)", shown)],
                        order * 8)
            made.pass_all(100)
        key = "5a6d" * 20
        pmd.command(f"port config 0 rss-hash-key ipv4 {key}")
        check(key in pmd.command("show port 0 rss-hash key").lower(), "another key")
        made.pass_all(100)
        finish(made)


# ---- queue_toggle, dynamic_queue_conf --------------------------------------------------------

def queue_toggle(port, queues, offload):
    """The queue with the only traffic stops, starts, then starts deferred."""
    with tester() as made:
        pmd = made.pmd

        def passes(is_on):
            pmd.command("start")
            (made.pass_all if is_on else made.pass_none)()
            pmd.command("stop")

        pmd.command(f"port {port} {queues} 0 stop")
        passes(False)
        pmd.command(f"port {port} {queues} 0 start")
        passes(True)
        pmd.command("port stop all")
        pmd.command(f"port {port} {queues} 0 deferred_start on")
        # testpmd applies it at the next queue setup
        pmd.command(f"port config {port} {offload} on")
        pmd.command("port start all")
        passes(False)
        pmd.command(f"port {port} {queues} 0 start")
        passes(True)
        made.run.finish(counters=False)


def rx_queue_toggle():
    """rx_queue_start_stop, rx_queue_deferred_start."""
    queue_toggle(0, "rxq", "rx_offload scatter")


def tx_queue_toggle():
    """tx_queue_start_stop, tx_queue_deferred_start."""
    queue_toggle(1, "txq", "tx_offload multi_segs")


def queue_conf(port, queues, ring):
    """Setup of three of eight queues at run time."""
    with tester(app=["--rxq=8", "--txq=8", "--rss-udp"]) as made:
        pmd = made.pmd
        for queue in (1, 3, 6):
            pmd.command(f"port {port} {queues} {queue} stop")
            pmd.command(f"port config {port} {queues} {queue} ring_size 128")
            reply = pmd.command(f"port {port} {queues} {queue} setup")
            check("fail" not in reply.lower(), reply)
        sizes = {queue: int(re.search(rf"Number of {ring}: (\d+)", pmd.command(
            f"show {queues} info {port} {queue}")).group(1)) for queue in (1, 3, 6)}
        check_equal("ring sizes", sizes, {1: 128, 3: 128, 6: 128})
        for queue in (1, 3, 6):
            pmd.command(f"port {port} {queues} {queue} start")
        pmd.command("start")
        made.pass_all(200)
        finish(made)


def rx_queue_conf():
    """rx_queue_configuration."""
    queue_conf(0, "rxq", "RXDs")


def tx_queue_conf():
    """tx_queue_stop, tx_queue_configuration."""
    queue_conf(1, "txq", "TXDs")


# ---- rx_tx_offload --------------------------------------------------------------------------

def offloads(pmd, port=0):
    """Enabled Tx offloads of the port and of each queue."""
    text = pmd.command(f"show port {port} tx_offload configuration")
    return [re.findall(r"\w+", found) for found in
            re.findall(r"^  (?:Port|Queue\[ *\d+\]) :(.*)$", text, re.MULTILINE)]


def fast_free():
    """mbuf_fast_free_configuration_per_port and _per_queue."""
    with tester(app=["--txq=4", "--rxq=4"]) as made:
        pmd = made.pmd
        for state in ("off", "on"):
            pmd.command("port stop 0")
            pmd.command(f"port config 0 tx_offload mbuf_fast_free {state}")
            pmd.command("port start 0")
            shown = offloads(pmd)
            check(shown, "testpmd shows no offloads")
            check_equal(f"of the port, {state}", "MBUF_FAST_FREE" in shown[0],
                        state == "on")
        for state in ("off", "on"):
            pmd.command("port stop 0")
            pmd.command("port config 0 tx_offload mbuf_fast_free off")
            for queue in range(4):
                pmd.command(f"port 0 txq {queue} tx_offload mbuf_fast_free {state}")
            pmd.command("port start 0")
            check_equal(f"of the queues, {state}",
                        ["MBUF_FAST_FREE" in queue for queue in offloads(pmd)[1:5]],
                        [state == "on"] * 4)
        pmd.command("start")
        made.pass_all()
        finish(made)


# ---- unified_packet --------------------------------------------------------------------------

def packet_types():
    """l2_packet_detect, l3_l4_packet_detect, ipv6_l4_packet_detect, as MANA reports them."""
    with tester(forward="rxonly") as made:
        frames, pmd = made.frames, made.pmd
        v4, v6 = {"src": "192.0.2.1", "dst": "192.0.2.2"}, {"src": "2001:db8::1"}
        ports = {"sport": 1024, "dport": 9}
        cases = [
            (frames.ARP(), set()),
            (frames.IP(**v4) / frames.UDP(**ports), {"L3_IPV4", "L4_UDP"}),
            (frames.IP(**v4) / frames.TCP(**ports), {"L3_IPV4", "L4_TCP"}),
            (frames.IP(**v4) / frames.ICMP(), {"L3_IPV4"}),
            (frames.IP(frag=5, **v4) / frames.TCP(**ports), {"L3_IPV4"}),
            (frames.IPv6(**v6) / frames.UDP(**ports), {"L3_IPV6", "L4_UDP"}),
            (frames.IPv6(**v6) / frames.TCP(**ports), {"L3_IPV6", "L4_TCP"}),
        ]
        # testpmd requests no packet types by default
        pmd.command("port stop 0")
        pmd.command("set port 0 ptype_mask 0x0fffffff")
        pmd.command("port start 0")
        pmd.command("set verbose 1")
        pmd.command("start")
        mark = pmd.mark()
        made.exchange([made.packet(layers=layers) for layers, _ in cases], 0)
        # the next prompt shows that forwarding has ended
        pmd.command("stop")
        shown = re.findall(r"src=02:00:00:00:AA:01 .*?(?:hw ptype: ([A-Z0-9_ ]+?)  ?- )?"
                           "sw ptype", pmd.text[mark:])
        check_equal("packets", len(shown), len(cases))
        for (layers, wanted), types in zip(cases, shown):
            got = set(types.split())
            check(wanted <= got, f"{layers.summary()}: {got}, expected {wanted}")
            check(wanted >= {"L4_UDP"} & got and wanted >= {"L4_TCP"} & got,
                  f"{layers.summary()}: {got}")
        made.run.finish(counters=False)


# ---- dynamic_config, promisc_support ------------------------------------------------------------

def promiscuous():
    """MANA has no Rx filter: all delivered packets arrive in both modes."""
    unknown, group, everybody = ("00:00:00:00:00:01", "01:00:5e:00:00:01",
                                 "ff:ff:ff:ff:ff:ff")
    with tester(forward="io") as made:
        pmd = made.pmd
        check_equal("at first", port_info(pmd)["Promiscuous mode"], "enabled")
        pmd.command("start")
        for mode in ("on", "off"):
            pmd.command(f"set promisc all {mode}")
            pmd.command(f"set allmulti all {mode}")
            check_equal("mode", port_info(pmd)["Promiscuous mode"],
                        {"on": "enabled", "off": "disabled"}[mode])
            made.exchange([made.packet(destination=address)
                           for address in (mac(0), unknown, group, everybody)])
        finish(made)


# ---- vlan ----------------------------------------------------------------------------------------

def vlan_insertion():
    """Each frame leaves port 1 with the tag."""
    with tester() as made:
        pmd = made.pmd
        pmd.command("port stop all")
        pmd.command("tx_vlan set 1 51")
        pmd.command("port start all")
        pmd.command("start")
        for data in made.exchange([made.packet(number=at) for at in range(10)]):
            check_equal("tag", data[12:16].hex(), "81000033")
        finish(made)


def vlan_filter():
    """vlan_no_receipt: no filter exists; the command fails and nothing is filtered."""
    with tester() as made:
        pmd = made.pmd
        reply = pmd.command("vlan set filter on 0")
        check("error" in reply.lower() or "fail" in reply.lower()
              or "Invalid" in pmd.text, f"a filter: {reply}")
        pmd.command("start")
        made.pass_all()
        finish(made, expected_errors=[".*"])


# ---- blocklist -------------------------------------------------------------------------------------

def blocklist():
    """no_blocklisted, one_port_blocklisted, all_but_one_port_blocklisted."""
    for blocked in ((), (1,), (0, 1)):
        with fixture("--functions", "3", "--ports", "1,1,1") as run:
            run.start(eal=[word for function in blocked
                           for word in ("-b", pci(function))])
            check_equal(f"without {blocked}",
                        sorted(address for address, _ in run.pmd.ports().values()),
                        sorted(mac(at) for at in range(3) if at not in blocked))
            run.finish()


VARIANTS = {
    "port-control": port_control,
    "port-stats": port_stats,
    "restart-persistence": restart_persistence,
    "l2fwd": l2fwd,
    "mtu": mtu,
    "scatter": scatter,
    "rss-update": rss_update,
    "rx-queue-toggle": rx_queue_toggle,
    "tx-queue-toggle": tx_queue_toggle,
    "rx-queue-conf": rx_queue_conf,
    "tx-queue-conf": tx_queue_conf,
    "fast-free": fast_free,
    "packet-types": packet_types,
    "promiscuous": promiscuous,
    "vlan-insertion": vlan_insertion,
    "vlan-filter": vlan_filter,
    "blocklist": blocklist,
}

if __name__ == "__main__":
    main(VARIANTS)
