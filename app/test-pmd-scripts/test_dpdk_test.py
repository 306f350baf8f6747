#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Debian's dpdk-test: DPDK's tests that use a port, or that a port could disturb.

The tests of ports need more descriptors than rdma-core of Debian 12 provides: they run
with the libraries of Debian 13 (devtools/debian-root.sh).
"""

import os
import re

import machine
from application import application, eal_arguments, with_newer_libraries
from harness import check, check_equal, main
from model import mac, pci

PROGRAM = "/usr/bin/dpdk-test"
PORT = ["-a", f"{pci(0)},mac={mac(0)}"]
PROMPT = "RTE>>"
# use no port, and must work while there is one
OTHERS = ["ethdev_link_status", "ring_pmd_autotest", "latencystats_autotest",
          "bitratestats_autotest", "pdump_autotest"]


def run_test(run, name, *settings, timeout=120):
    """Checks that all tests passed. Returns the output."""
    for setting in settings:
        run.send(setting)
    at = run.mark()
    run.send(name)
    run.expect(rf"{name}\n(?s:.*?)^Test (OK|Failed)$", timeout, at)
    reply = run.text[at:]
    check("Test OK" in reply, f"{name}: {reply}")
    for left_out in re.findall(r"Tests (?:Skipped|Unsupported|Failed) *: *(\d+)", reply):
        check_equal(f"not passed of {name}", int(left_out), 0)
    return reply


def perf():
    """pmd_perf on a looped wire: each sent packet is received."""
    argv = with_newer_libraries([PROGRAM, *eal_arguments(*PORT)])
    # it sends for two seconds at the link speed
    with application(argv, "--ports", "1", "--wire", "loop", "--scenario",
                     scenario("speed port=1 mbps=10")) as run:
        run.expect(PROMPT)
        least = 0
        for settings in (("set_rxtx_mode vector", "set_rxtx_anchor rxtx"),
                         ("set_rxtx_mode scalar", "set_rxtx_anchor rxonly"),
                         ("set_rxtx_mode hybrid", "set_rxtx_anchor txonly")):
            reply = run_test(run, "pmd_perf_autotest", *settings)
            packets, dropped = re.search(r"(\d+) packet, (\d+) drop", reply).groups()
            check_equal("dropped", dropped, "0")
            wanted = int(re.search(r"at least (\d+) packets", reply).group(1))
            check(int(packets) >= wanted > 10_000, f"{packets} of {wanted} packets")
            least += int(packets)
        run.send("quit")
        report = run.finish()
    port = report.port(0)
    check(port["rx"]["packets"] >= least, f"{port}, {least} received")
    # the first burst is twice the posted buffers
    check_equal("sent and received", port["tx"]["packets"],
                port["rx"]["packets"] + port["rx"]["no_wqe"])


def scenario(line):
    path = os.path.join(machine.scratch_folder(), "scenario")
    with open(path, "w", encoding="ascii") as file:
        file.write(line + "\n")
    return path


def event_rx_adapter(name, *options):
    """64 queues of a port feed an event device."""
    argv = with_newer_libraries([PROGRAM, *eal_arguments(*PORT, megabytes=3072)])
    with application(argv, "--ports", "1", *options) as run:
        run.expect(PROMPT)
        run_test(run, name)
        run.send("quit")
        # it deliberately uses invalid ids
        run.finish(expected_errors=["EVENTDEV", "event device", "Invalid port_id"])


def others():
    with application([PROGRAM, *eal_arguments(*PORT)], "--ports", "1") as run:
        run.expect(PROMPT)
        for name in OTHERS:
            run_test(run, name)
        run.send("quit")
        run.finish(expected_errors=[""])


VARIANTS = {
    "perf": perf,
    "event-rx-adapter": lambda: event_rx_adapter("event_eth_rx_adapter_autotest"),
    "event-rx-adapter-interrupts": lambda: event_rx_adapter(
        "event_eth_rx_intr_adapter_autotest"),
    "event-rx-adapter-interrupts-must-advance": lambda: event_rx_adapter(
        "event_eth_rx_intr_adapter_autotest", "--quirk", "cq-index=must-advance"),
    "others": others,
}

if __name__ == "__main__":
    main(VARIANTS)
