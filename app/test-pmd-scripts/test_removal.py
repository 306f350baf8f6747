#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The function is removed while testpmd forwards, and returns."""

from harness import check, check_equal, fixture, main
from model import mac, pci

MACHINE = ("--ports", "2", "--wire", "pair")
GONE = r"MANA: .* the RDMA device "      # from the driver


def forward(pmd, packets):
    pmd.command("start tx_first")
    pmd.wait_until(lambda stats: sum(
        port.rx_packets for port in stats.values()) >= packets)
    pmd.command("stop")


def return_and_attach(run):
    """Attaches the function by the same address; both ports work as before."""
    run.model.ctl("return", "fn=0")
    text = run.pmd.command(f"port attach {pci(0)}")
    check("is attached" in text, f"port attach: {text}")
    check_equal("addresses", sorted(run.pmd.macs().values()), [mac(0), mac(1)])
    run.pmd.command("port start all")
    forward(run.pmd, 1000)
    run.drain()


def remove_forwarding(app=(), expected_errors=()):
    """testpmd gets removal events and detaches the ports."""
    with fixture(*MACHINE) as run:
        run.start(app=app)
        run.pmd.command("start tx_first")
        run.pmd.wait_until(lambda stats: stats[0].rx_packets >= 1000)
        mark = run.pmd.mark()
        run.model.ctl("remove", "fn=0")
        run.pmd.wait_for("Now total ports is 0", since=mark)
        # its output ends when it starts to forward between no ports
        run.pmd.wait_for(r"nb forwarding ports=0\s", since=mark)
        run.pmd.command("stop")
        return_and_attach(run)
        # the wire counts both lives
        run.finish(expected_errors=[GONE, *expected_errors], counters=False)


def event():
    remove_forwarding()


def hot_plug():
    """
    With EAL's device monitor, which looks for a port with the PCI function's name and
    finds none, and its SIGBUS handler, which has nothing to do. testpmd may still
    report the returned device as an error.
    """
    remove_forwarding(app=["--hot-plug"], expected_errors=[
        "EAL: Can not handle hot-unplug for device",
        "EAL: can not get port by device",
        "EAL: The device: .* has been added!"])


def no_events():
    """
    Without events testpmd forwards nothing; the ports can be closed and attached again.
    """
    with fixture(*MACHINE) as run:
        run.start(app=["--no-rmv-interrupt"])
        run.pmd.command("start tx_first")
        run.pmd.wait_until(lambda stats: stats[0].rx_packets >= 1000)
        mark = run.pmd.mark()
        run.model.ctl("fatal", "fn=0")
        for port in (1, 2):
            run.pmd.wait_for(f"_port{port}: the kernel removed the RDMA device",
                             since=mark)
        run.pmd.command("stop")
        text = run.pmd.command("show port info 0")
        check("Link status: down" in text, text)
        run.pmd.command("port stop all")
        text = run.pmd.command("port start all")
        check("the RDMA device was removed" in text, f"port start: {text}")
        run.pmd.command("port close all")
        text = run.pmd.command(f"device detach {pci(0)}")
        check("is detached" in text, f"device detach: {text}")
        return_and_attach(run)
        run.finish(expected_errors=[GONE, r"^Fail"], counters=False)


VARIANTS = {"event": event, "hot-plug": hot_plug, "no-events": no_events}

if __name__ == "__main__":
    main(VARIANTS)
