# SPDX-License-Identifier: BSD-3-Clause
"""net_netvsc on the synthetic devices of a modelled machine: what carries the packets."""

import contextlib
import os
import tempfile

from application import application, eal_arguments, example
from harness import check_equal
from model import BUILD, mac, pci
from testpmd import Testpmd, arguments

STATES = os.path.join(BUILD, "usertools", "libnetvsc_states.so")
ONE_PORT = ["-a", f"{pci(0)},mac={mac(0)}"]
UUID = "000d3a00-0001-000d-3a00-0001000d3a00"
# from EAL at level info
INFORMATION = r"EAL: (Detected|Multi-process|Physical addresses|Probe|Selected) "
# from the driver
GONE = (r"MANA: .* the kernel removed the RDMA device", r"MANA: .* is gone: ",
        r"MANA: .* no Rx filter")
# two net_netvsc ports, or two returns within a second
TWICE = (r"MANA: .* the selected ports are probed already",
         r"EAL: Failed to attach device on primary process")


def start(run, eal, app=(), memory="no-huge", preload=STATES, **more):
    """testpmd that forwards although net_netvsc of 22.11 sets no queue states; see arguments()."""
    shell = f'LD_PRELOAD="$LD_PRELOAD {preload}" exec "$@"'
    run.pmd = Testpmd(run.model.command("sh", "-c", shell, "sh", *arguments(
        eal=eal, app=["--total-num-mbufs=8192", *app], memory=memory, **more)),
                      stderr=run.messages)
    run.programs.append(run.pmd)
    run.pmd.start_up()
    run.macs = run.pmd.macs()
    return run.pmd


@contextlib.contextmanager
def l3fwd(generator, *options):
    """DPDK's example l3fwd sends back what comes. Its port is 1, that of the VF is 0."""
    with tempfile.TemporaryDirectory() as folder:
        routes = {"4": "R198.18.0.0/15 1", "6": "R2001:2::/48 1"}
        for version, route in routes.items():
            with open(f"{folder}/v{version}", "w", encoding="ascii") as file:
                file.write(route + "\n")
        argv = [example("l3fwd"), *eal_arguments(*ONE_PORT, megabytes=512), "--",
                "-p", "2", "-P", "--config=(1,0,1)",
                *(f"--rule_ipv{version}={folder}/v{version}" for version in routes)]
        with application(argv, "--ports", "1", "--wire", f"1=gen:{generator}",
                         "--netvsc=uio", "--mode=thread", *options) as run:
            yield run
            run.interrupt()
            run.finish(expected_errors=[*GONE, *TWICE])


def synthetic(report, port=0):
    return report.ports[mac(port)]["synthetic"]


def path_is(name):
    """For wait_for_wire(): the host delivers on this path."""
    return lambda report, port=0: synthetic(report, port)["path"] == name


def carried(report, port=0):
    """Packets that have arrived on each path."""
    return {"synthetic": synthetic(report, port)["rx_packets"],
            "vf": report.ports[mac(port)]["rx"]["packets"]}


def check_carries(run, path, ports=1):
    """The host delivers on this path, and packets arrive on no other one."""
    other = "vf" if path == "synthetic" else "synthetic"
    for port in range(ports):
        run.wait_for_wire(lambda report, port=port: synthetic(report, port)["path"] == path)
        before = carried(run.model.live_report(), port)
        run.wait_for_wire(lambda report, port=port, before=before:
                          carried(report, port)[path] >= before[path] + 500)
        after = carried(run.model.live_report(), port)
        check_equal(f"packets of port {port} on the path {other}", after[other], before[other])


def dropped(report):
    """{counter: packets} that arrived at a machine, but at no program."""
    counts = {}
    for port in report.ports.values():
        for name in ("no_wqe", "truncated", "no_steering", "filtered", "link_down", "errors"):
            counts[name] = counts.get(name, 0) + port["rx"][name]
        for name in ("rx_closed", "rx_no_buffer"):
            counts[name] = counts.get(name, 0) + port["synthetic"][name]
    return {name: count for name, count in counts.items() if count}


def received(report):
    return sum(sum(carried(report, port).values()) for port in range(len(report.ports)))


def sent(report):
    return sum(port["tx"]["packets"] + port["synthetic"]["tx_packets"]
               for port in report.ports.values())


def check_accounted(report, nb_sent=None):
    """Each packet that was sent on either path arrived on one, or a counter has it."""
    check_equal("arrived or counted", received(report) + sum(dropped(report).values()),
                sent(report) if nb_sent is None else nb_sent)


SILENT = ["withdraw=never", "report=never"]


def service(run, *words):
    run.model.ctl("service", "fn=0", *words)


def wait_for_loss(run):
    """Waits until net_netvsc has closed the port of the VF."""
    run.wait_for_wire(lambda report: not any(report.objects.values()))
