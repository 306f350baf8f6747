#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-telemetry.py for MANA ports while testpmd runs."""

import os
import threading

from harness import check, check_equal, fixture, main, named
from model import mac, pci, wait_until
from telemetry import Telemetry
from testpmd import received

PREFIX = f"manatel{os.getpid()}"
PORTS = ("--ports", "2", "--wire", "pair")
QUEUES = ("--rxq=2", "--txq=2", "--rxd=128", "--txd=64")
COMMANDS = ("list", "port", "queue", "mr")


def start(run, memory="no-huge", eal=(), app=QUEUES, devargs=""):
    # other kinds of memory do not use --file-prefix
    run.start(memory=memory, app=app,
              eal=["-a", pci(0) + devargs, f"--file-prefix={PREFIX}", *eal])
    return Telemetry(PREFIX)


def check_items(what, got, wanted):
    for name, value in wanted.items():
        check_equal(f"{name} of {what}", got.get(name), value)


def contents(memory="no-huge"):
    with fixture(*PORTS) as run:
        telemetry = start(run, memory)
        check_equal("/mana/list", telemetry.one("/mana/list"), [0, 1])
        check_ports(telemetry)
        check_paths(run, telemetry)
        check_queues(run, telemetry)
        check_regions(telemetry)
        run.pmd.command("port stop 0")
        check_items("stopped port", telemetry.one("/mana/port,0"),
                    {"state": "stopped", "rx_path": "none", "tx_path": "none"})
        check_equal("state", telemetry.one("/mana/queue,0,rx,1")["state"], "stopped")
        check_equal("posted", telemetry.one("/mana/queue,0,rx,1")["nb_posted"], 0)
        run.pmd.command("port stop 1")
        run.pmd.command("port config all rxq 1")
        run.pmd.command("port start all")
        check_equal("queues", telemetry.one("/mana/queue,0"), {"rx": [0], "tx": [0, 1]})
        check("error" in telemetry.one("/mana/queue,0,rx,1"), "the queue is still there")
        run.finish()


def in_memory():
    contents("in-memory")


def check_ports(telemetry):
    for number in (0, 1):
        port = telemetry.one(f"/mana/port,{number}")
        check_items(f"port {number}", port, {
            "port_id": number, "name": f"{pci(0)}_p{number + 1}", "pci": pci(0),
            "rdma_device": "manae_0", "verbs_port": number + 1, "state": "started",
            "nb_rxq": 2, "nb_txq": 2, "mtu": 1500, "max_mtu": 1500, "rss": 1,
            "netdev": f"mana0p{number}", "netdev_state": "down", "netdev_taken": 0})
        check_equal("address", port["mac"].lower(), mac(number))
        for name in ("max_queues", "max_rx_desc", "max_tx_desc",
                     "max_tx_segs", "netdev_ifindex"):
            check(port[name] > 0, f"{name}: {port[name]}")


def check_paths(run, telemetry):
    """The burst functions have the names that testpmd prints."""
    shown = telemetry.one("/mana/port,0")
    check_equal("paths", (shown["rx_path"], shown["tx_path"]), run.pmd.burst_modes())


def check_queues(run, telemetry):
    """Numbers of queues, and their counters, equal testpmd's."""
    check_equal("queues", telemetry.one("/mana/queue,1"), {"rx": [0, 1], "tx": [0, 1]})
    run.pmd.forward(received(1000))
    stats = run.drain()
    packets = {"rx": 0, "tx": 0}
    for direction, nb_desc in (("rx", 128), ("tx", 64)):
        for queue in (0, 1):
            shown = telemetry.one(f"/mana/queue,0,{direction},{queue}")
            check_items(f"{direction} queue {queue}", shown, {
                "port_id": 0, "direction": direction, "queue": queue,
                "state": "started", "failure": "none", "nb_desc": nb_desc,
                "errors": 0, "mr_failures": 0})
            check(shown["nb_cqe"] >= nb_desc, f"nb_cqe {shown['nb_cqe']}")
            check(0 < shown["nb_posted"] <= nb_desc or direction == "tx",
                  f"nb_posted {shown['nb_posted']} of {direction}")
            check(int(shown["offloads"], 16) >= 0, shown["offloads"])
            if direction == "rx":
                # effective values of defaults
                check_equal("free_thresh", shown["free_thresh"], nb_desc // 4)
                check("mb_pool" in shown["mempool"], shown["mempool"])
            packets[direction] += shown["packets"]
    check_equal("received", packets["rx"], stats[0].rx_packets)
    check_equal("sent", packets["tx"], stats[0].tx_packets)


def check_regions(telemetry):
    shown = telemetry.one("/mana/mr,0")
    check_equal("port", shown["port_id"], 0)
    regions = shown["regions"]
    check_equal("regions", len(regions), min(shown["nb_regions"], 64))
    pools = [region for region in regions.values() if region["kind"] == "mempool"]
    check(any("mb_pool" in pool["mempool"] for pool in pools), f"pools: {regions}")
    for region in regions.values():
        check(int(region["address"], 16) > 0 and int(region["key"], 16) > 0
              and region["bytes"] > 0, f"region {region}")
    if shown["nb_regions"] <= 64:
        check_equal("bytes", sum(region["bytes"] for region in regions.values()),
                    shown["bytes"])
    # the rest of a long table from a given number on
    names = sorted(regions, key=int)
    rest = telemetry.one(f"/mana/mr,0,{int(names[-1])}")["regions"]
    check_equal("the last one", rest[names[-1]], regions[names[-1]])
    check_equal("beyond", telemetry.one("/mana/mr,0,1000000")["regions"], {})


def bad_parameters():
    """Each wrong parameter is answered with the correct form; each command has help."""
    with fixture(*PORTS) as run:
        telemetry = start(run).connect()
        for command in COMMANDS[1:]:
            for wrong in ("", ",", ",x", ",-1", ",0x0", ",2", ",99999999999999999999",
                          ",4294967296", ",0x"):
                reply = telemetry.ask(f"/mana/{command}{wrong}")
                check("error" in reply and "/mana/list" in reply["error"],
                      f"/mana/{command}{wrong}: {reply}")
        for wrong in ("/mana/port,0,x", "/mana/port,0,",
                      "/mana/queue,0,rx", "/mana/queue,0,up,0", "/mana/queue,0,rx,x",
                      "/mana/queue,0,rx,2", "/mana/queue,0,tx,65536",
                      "/mana/queue,0,rx,0,0", "/mana/mr,0,x", "/mana/mr,0,0,0"):
            reply = telemetry.ask(wrong)
            check("error" in reply, f"{wrong}: {reply}")
        for command in COMMANDS:
            text = telemetry.ask(f"/help,/mana/{command}")[f"/mana/{command}"]
            check("arameters" in text, f"help of {command}: {text}")
        telemetry.close()
        run.finish()


def removed():
    """After the adapter's removal the port still answers and reports the removal."""
    with fixture(*PORTS) as run:
        # else testpmd closes the ports
        telemetry = start(run, devargs=",recovery_timeout=0",
                          app=(*QUEUES, "--no-rmv-interrupt"))
        run.model.ctl("fatal", "fn=0")
        wait_until(lambda: telemetry.one("/mana/port,0")["state"] == "removed",
                   "not removed")
        check_equal("state", telemetry.one("/mana/queue,0,rx,0")["state"], "started")
        run.pmd.command("port stop all")
        run.pmd.command("port close all")
        check_equal("/mana/list", telemetry.one("/mana/list"), [])
        run.finish(counters=False,
                   expected_errors=["removed the RDMA device"])


class Caller(threading.Thread):
    """Repeats all queries until stopped."""

    def __init__(self, telemetry):
        super().__init__()
        self.connection = telemetry.connect()
        self.is_ending = False
        self.nb_replies = 0
        self.nb_errors = 0
        self.wrong = None

    def run(self):
        while not self.is_ending and self.wrong is None:
            for command in ("/mana/list", "/mana/port,0", "/mana/port,1",
                            "/mana/queue,0", "/mana/queue,0,rx,1", "/mana/queue,1,tx,0",
                            "/mana/mr,0", "/mana/mr,1,1"):
                reply = self.connection.ask(command)
                self.nb_replies += 1
                if reply is None:
                    self.wrong = command
                elif "error" in reply:
                    self.nb_errors += 1

    def end(self):
        self.is_ending = True
        self.join()
        self.connection.close()
        check(self.wrong is None, f"no reply to {self.wrong}")
        check(self.nb_replies > 0, "no replies")
        return self.nb_errors


def concurrent():
    """Ports stop, start, close and are attached while clients query."""
    with fixture(*PORTS) as run:
        telemetry = start(run)
        callers = [Caller(telemetry) for _ in range(3)]
        for caller in callers:
            caller.start()
        for _ in range(10):
            run.pmd.command("start tx_first")
            run.pmd.command("stop")
            for direction in ("rxq", "txq"):
                for step in ("stop", "setup", "start"):
                    run.pmd.command(f"port 0 {direction} 1 {step}")
            run.pmd.command("port stop all")
            run.pmd.command("port config all rxq 1")
            run.pmd.command("port start all")
            run.pmd.command("port stop all")
            run.pmd.command("port config all rxq 2")
            run.pmd.command("port close all")
            run.pmd.command(f"device detach {pci(0)}")
            run.pmd.command(f"port attach {pci(0)}")
            run.pmd.command("port start all")
        nb_errors = sum(caller.end() for caller in callers)
        check(nb_errors > 0, "no query while the ports were removed")
        check_equal("/mana/list", telemetry.one("/mana/list"), [0, 1])
        run.finish(counters=False)


if __name__ == "__main__":
    main(named(contents, in_memory, bad_parameters, removed, concurrent))
