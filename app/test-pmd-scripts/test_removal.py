#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The function is removed while testpmd forwards, and returns.

The driver recovers, or with recovery_timeout=0 testpmd releases the ports and attaches
them again.
"""

import re

import vm
from harness import check, check_equal, fixture, main
from model import mac, pci, wait_until
from testpmd import received

MACHINE = ("--ports", "2", "--wire", "pair")
NO_RECOVERY = ("-a", f"{pci(0)},recovery_timeout=0")
# an error of EAL in DPDK 22.11, information from testpmd in 24.11
ADDED = "The device: .* has been added!"
GONE = r"MANA: .* the RDMA device "      # from the driver


def bring_back(model):
    model.ctl("return", "fn=0")


def return_and_attach(run, restore=bring_back):
    """Attaches the function by the same address; both ports work as before."""
    restore(run.model)
    text = run.pmd.command(f"port attach {pci(0)}")
    check("is attached" in text, f"port attach: {text}")
    check_equal("addresses", sorted(run.pmd.macs().values()), [mac(0), mac(1)])
    run.pmd.command("port start all")
    run.pmd.forward(received(1000, (0, 1)))
    run.drain()


def take_away(model):
    model.ctl("remove", "fn=0")


def remove_forwarding(app=(), eal=(), expected_errors=(), remove=take_away,
                      restore=bring_back):
    """testpmd gets removal events and detaches the ports. Returns its output."""
    with fixture(*MACHINE) as run:
        run.model.expect_removal()
        run.start(app=app, eal=[*NO_RECOVERY, *eal])
        run.pmd.command("start tx_first")
        run.pmd.wait_until(received(1000))
        mark = run.pmd.mark()
        remove(run.model)
        run.pmd.expect("Now total ports is 0", since=mark)
        # its output ends when it starts to forward between no ports
        run.pmd.expect(r"nb forwarding ports=0\s", since=mark)
        run.pmd.command("stop")
        return_and_attach(run, restore)
        # the wire counts both lives
        run.finish(expected_errors=[GONE, *expected_errors], counters=False)
        return run.pmd.text


def event():
    remove_forwarding()


def hot_plug():
    """
    With EAL's device monitor, which gets the kernel's uevents, looks for a port with the
    PCI function's name and finds none, and its SIGBUS handler, which has nothing to do.
    """
    text = remove_forwarding(
        app=["--hot-plug"], eal=["--log-level=testpmd:info"], expected_errors=[
            "EAL: Can not handle hot-unplug for device",
            "EAL: Cannot find device",      # detached before the uevent
            "EAL: can not get port by device", ADDED])
    check(re.search(ADDED, text), "no uevent of the returned function")


def no_events():
    """
    Without events testpmd forwards nothing; the ports can be closed and attached again.
    """
    with fixture(*MACHINE) as run:
        run.model.expect_removal()
        run.start(app=["--no-rmv-interrupt"], eal=NO_RECOVERY)
        run.pmd.command("start tx_first")
        run.pmd.wait_until(received(1000))
        mark = run.pmd.mark()
        run.model.ctl("fatal", "fn=0")
        for port in (1, 2):
            run.pmd.expect(f"_p{port}: the kernel removed the RDMA device",
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


# ---- Recovery by the driver ----

def milliseconds(pmd, port, name):
    """Of an extended statistic in nanoseconds."""
    return pmd.xstats(port)[name] / 1e6


def recover(lose, restore, timeout=60):
    """testpmd does nothing about it, and both ports send and receive again."""
    with fixture(*MACHINE) as run:
        run.model.expect_removal()
        run.start()
        run.pmd.begin("flowgen")    # sends without having received
        run.pmd.wait_until(received(1000, (0, 1)))
        registered = [milliseconds(run.pmd, port, "mr_registration_ns") for port in (0, 1)]
        mark = run.pmd.mark()
        lose(run.model)
        for port in (0, 1):
            run.pmd.expect(f"Port {port}: error recovering event", since=mark)
        restore(run.model)
        for port in (0, 1):
            run.pmd.expect(f"Port {port}: error recovery successful event", timeout, mark)
        for port in (0, 1):
            rebuild, registration = [milliseconds(run.pmd, port, name) for name in
                                     ("recovery_rebuild_ns", "mr_registration_ns")]
            check(rebuild > 0, f"{rebuild}")
            print(f"port {port}: rebuilt in {rebuild:.1f} ms, of which registration of "
                  f"memory {registration - registered[port]:.1f} ms")
        before = run.pmd.stats()
        run.pmd.wait_until(lambda stats: all(port.rx_packets >= before[number].rx_packets + 1000
                                             for number, port in stats.items()))
        run.pmd.command("stop")
        run.finish(counters=False)      # the wire counts both lives


def recovery():
    recover(take_away, bring_back)


def recovery_from_reset():
    recover(lambda model: model.ctl("reset", "fn=0", "outage=1s"), lambda model: None)


# ---- Ways of real kernels ----

DRIVER = "/sys/bus/pci/drivers/mana"


def unbind_driver(model):
    model.write(f"{DRIVER}/unbind", pci(0))


def bind_driver(model):
    model.write(f"{DRIVER}/bind", pci(0))


def unbind():
    """The kernel's driver is unbound from the function."""
    remove_forwarding(remove=unbind_driver, restore=bind_driver)


def recovery_after_unbind():
    recover(unbind_driver, bind_driver)


def recovery_after_service():
    """As reset(), which takes 11 s."""
    recover(request_reset, wait_for_device)


def unload(model):
    model.run("rmmod", "mana_ib")
    model.run("rmmod", "mana")


def load(model):
    model.run("modprobe", "mana")
    model.run("modprobe", "mana_ib")


def modules():
    """Both modules are unloaded while testpmd has the port, and loaded again."""
    remove_forwarding(remove=unload, restore=load)


def wait_for_device(model):
    """Linux 7.3 removes the function after a reset and looks for it 10 s later."""
    wait_until(lambda: "manae_0" in model.run("ls", "/sys/class/infiniband").stdout,
               "the RDMA device", timeout=60, pause=0.5)


def request_reset(model):
    model.expected_messages += vm.LEFT_MESSAGES
    model.ctl("reset", "fn=0")


def reset():
    """
    The adapter asks for a reset (event 135), and does not answer meanwhile: the kernel
    cannot destroy objects.
    """
    remove_forwarding(remove=request_reset, restore=wait_for_device)


def reset_function(model):
    """The adapter no longer knows the kernel's channel; the kernel is not told."""
    model.expected_messages += vm.SILENT_MESSAGES
    model.expected_cut_off += 1
    model.ctl("timeout", "fn=0", f"ms={ANSWER_MS}")
    model.write(f"/sys/bus/pci/devices/{pci(0)}/reset", "1")


def flr():
    """
    Function level reset under the bound driver. Linux 7.3 finds it by a request without
    answer, removes the RDMA device, and sets the function up again 10 s later.
    """
    remove_forwarding(remove=reset_function, restore=wait_for_device)


def stop_answering(model):
    model.expected_messages += vm.SILENT_MESSAGES
    model.ctl("stop-answering", "fn=0")


def silent():
    """
    The card stops answering under traffic: testpmd ends, however long the kernel waits
    for answers (Linux 7.3: 30 s, then 1 ms each). The kernel cannot destroy objects. It
    removes the function; testpmd must not quit while it releases the ports.
    """
    with fixture(*MACHINE) as run:
        run.start()
        run.pmd.command("start tx_first")
        run.pmd.wait_until(received(1000))
        stop_answering(run.model)
        run.pmd.command("stop", timeout=SILENT_S)
        mark = run.pmd.mark()
        run.pmd.command("port stop all", timeout=SILENT_S)
        run.pmd.expect("Now total ports is 0", SILENT_S, mark)
        check_equal("exit status of testpmd", run.pmd.quit(timeout=SILENT_S), 0)
        check(not run.model.report().violations, "violations")


ANSWER_MS = 3000    # for which the kernel waits, instead of 30 s
SILENT_S = 300

IN_GUEST = {"silent": silent, "unbind": unbind, "modules": modules, "reset": reset,
            "flr": flr, "recovery-unbind": recovery_after_unbind,
            "recovery-service": recovery_after_service}
VARIANTS = {"event": event, "hot-plug": hot_plug, "no-events": no_events,
            "recovery": recovery, "recovery-reset": recovery_from_reset}

if __name__ == "__main__":
    main(VARIANTS, IN_GUEST)
