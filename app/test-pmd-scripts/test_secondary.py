#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Secondary processes: hotplug, queries, rejected operations."""

import contextlib
import os
import re
import shutil
import signal
import tempfile

from scapy.utils import RawPcapReader

import machine
import processes
from harness import check, check_equal, main, named
from model import BUILD, PLUGIN, mac, pci, wait_until
from processes import eal, prefix

# Ports 1 and 2 forward; 3, on the same function, and 4, on another, are attached and
# detached.
MACHINE = ("--functions", "2", "--ports", "3,1", "--wire", "pair")
ROUNDS = int(os.environ.get("MANA_HOTPLUG_ROUNDS", "5"))
ENOTSUP = -95


@contextlib.contextmanager
def family():
    """A primary process that forwards."""
    with processes.family(*MACHINE) as run:
        run.start_primary()
        run.primary.command("seed")
        yield run


def check_forwards(run, more=1000):
    """The primary process still forwards between both ports."""
    before = run.primary.stats()
    for name in (f"{pci(0)}_p1", f"{pci(0)}_p2"):
        wait_until(lambda name=name: run.primary.stats()[name][1]
                   >= before[name][1] + more, f"{name} does not forward", pause=0)


def finish(run, expected_errors=()):
    check_forwards(run)
    run.quit()
    run.end(expected_errors)


def hotplug(nb_others):
    """
    A port of the forwarding function and one of another are attached and detached while
    secondary processes read the statistics of all ports.
    """
    with family() as run:
        others = [run.add().ready() for _ in range(nb_others)]
        for _ in range(ROUNDS):
            third = run.primary.attach(f"{pci(0)},mac={mac(2)}")
            fourth = run.primary.attach(pci(1))
            run.primary.command(f"pass {third} {fourth}")
            run.primary.command(f"pass {fourth} {third}")
            for other in others:
                check_equal("ports of a secondary process", sorted(other.stats()),
                            sorted([f"{pci(0)}_p1", f"{pci(0)}_p2", pci(0), pci(1)]))
            run.primary.command(f"detach {pci(1)}")
            run.primary.command(f"close {third}")
            check_forwards(run, 10)
            for other in others:
                check_equal("ports of a secondary process", sorted(other.stats()),
                            [f"{pci(0)}_p1", f"{pci(0)}_p2"])
        for other in others:
            appeared, disappeared, _, rounds = other.seen()
            # the third remains, without a port, until its function is detached
            check_equal("appeared", appeared, ROUNDS + 1)
            check_equal("disappeared", disappeared, ROUNDS)
            check(rounds > 0, "nothing was read")
        finish(run)


def selection():
    """Secondary processes have the primary's ports, whatever they select themselves."""
    with family() as run:
        names = [f"{pci(0)}_p1", f"{pci(0)}_p2"]
        others = [run.add(allowed=allowed).ready()
                  for allowed in (pci(0), f"{pci(0)},mac={mac(2)}",
                                  f"{pci(0)},mac={mac(1)}")]
        for other in others:
            check_equal("ports", sorted(other.stats()), names)
        third = run.primary.attach(f"{pci(0)},mac={mac(2)}")
        for other in others:
            check_equal("ports", sorted(other.stats()), sorted([*names, pci(0)]))
        run.primary.command(f"close {third}")
        finish(run)


def service():
    """
    The adapter is removed and returns: the primary process detaches and attaches it.
    """
    with family() as run:
        others = [run.add().ready() for _ in range(2)]
        run.primary.command(f"attach {pci(1)}")
        for _ in range(2):
            run.model.ctl("remove", "fn=1")
            run.primary.command(f"detach {pci(1)}")
            run.model.ctl("return", "fn=1")
            third = run.primary.attach(f"{pci(0)},mac={mac(2)}")
            fourth = run.primary.attach(pci(1))
            run.primary.command(f"pass {third} {fourth}")
            for other in others:
                check_equal("names", sorted(other.stats()),
                            sorted(run.primary.stats()))
            run.primary.command(f"close {third}")
        finish(run, expected_errors=("the RDMA device was removed",
                                     "the kernel removed the RDMA device"))


def refusals(other, port):
    """Result of each operation."""
    reply = other.command(f"refusals {port}")
    codes = {name: int(code) for name, code in
             re.findall(r"^(\w+)\(.*\): (-?\d+)$", reply, re.MULTILINE)}
    check(len(codes) >= 18, reply)
    return codes


def operations():
    """A secondary process reads the primary's values and cannot change the port."""
    with family() as run:
        other = run.add().ready()
        before = run.primary.stats()
        codes = refusals(other, 0)
        # ethdev reports a running port before it calls the driver; others only read
        check_equal("accepted", {name for name, code in codes.items()
                                 if code != ENOTSUP},
                    {"dev_start", "dev_rx_queue_start", "rx_queue_count",
                     "rx_descriptor_status", "tx_descriptor_status"})
        stopped = run.primary.attach(pci(1))
        run.primary.command(f"stop {stopped}")
        check_equal("start", refusals(other, stopped)["dev_start"], ENOTSUP)
        for what in ("start the port", "the MTU", "the RSS key", "the RETA",
                     "stop the queues"):
            check(re.search(f"only the primary process can .*{what}", other.text),
                  f"no message: {what}")
        reply = other.command(f"unmapped {pci(0)}")
        check(f"dma_map: {ENOTSUP}" in reply, reply)
        between = other.stats()
        after = run.primary.stats()
        check_equal("names", sorted(between), sorted(after))
        for name, counts in before.items():
            for least, count, most in zip(counts, between[name], after[name]):
                check(least <= count <= most, f"{name}: {before} {between} {after}")
        # the stopped port has not changed
        run.primary.command(f"detach {pci(1)}")
        run.primary.command(f"attach {pci(1)}")
        finish(run, expected_errors=("only the primary process can", "^ETHDEV: ",
                                     "^EAL: "))


def killed():
    """A secondary process is killed while it reads; others start; ports come and go."""
    with family() as run:
        for _ in range(ROUNDS):
            victim = run.add().ready()
            wait_until(lambda victim=victim: victim.seen()[3] >= 10, "it does not read",
                       pause=0)
            run.kill_one(victim)
            check_forwards(run)
        run.add().ready()
        run.primary.command(f"attach {pci(1)}")
        run.primary.command(f"detach {pci(1)}")
        finish(run)


def run_tool(run, argv):
    """Runs a DPDK program that ends by itself. Returns its output."""
    tool = run.start(argv)
    check_equal(f"exit status of {argv[0]}", tool.wait(120), 0)
    return tool.text


def proc_info():
    """dpdk-proc-info shows the ports; the primary process is not disturbed."""
    path = machine.need_program("dpdk-proc-info", "dpdk")
    with family() as run:
        argv = [path, *eal("auto"), "--", "-p", "3"]
        reply = run_tool(run, [*argv, "--xstats"])
        for name in ("rx_good_packets", "rx_q0_packets", "tx_sq_doorbells"):
            check_equal(f"{name} of two ports",
                        len(re.findall(rf"^{name}: [1-9]\d*$", reply, re.MULTILINE)), 2)
        reply = run_tool(run, [*argv, "--stats"])
        check(re.search(r"RX-packets:\s*[1-9]", reply) is not None, reply)
        reply = run_tool(run, [*argv, "--show-port"])
        check_equal("link up", reply.count("status: up") + reply.count("up at"), 2)
        check(mac(0) in reply.lower(), reply)
        finish(run, expected_errors=("^EAL: ", "^ETHDEV: "))


def other_version():
    """
    A secondary process attaches no port of another version of the driver, and says which
    file the primary process has. Two copies of one file stand for two versions.
    """
    with family() as run, tempfile.TemporaryDirectory(dir=BUILD) as folder:
        copy = shutil.copy(PLUGIN, os.path.join(folder, "copy.so"))
        run.primary.command("version")
        run.plugin = copy
        other = run.add().ready()
        check_equal("ports", other.stats(), {})
        other.quit()
        check(f"another version of this driver, {PLUGIN}, so this process attaches no port; "
              f"load that file, not {copy}\n" in other.text, other.text)
        finish(run, expected_errors=["another version of this driver"])


def nb_frames(path):
    """Number of frames in a capture file."""
    frames = RawPcapReader(path)
    try:
        return sum(1 for _ in frames)
    finally:
        frames.close()


def end_capture(run, tool, name):
    """Ends a capturing program while no burst runs.

    DPDK 22.11 frees the ring and the pool of a capture while a burst of the primary
    process may still use them; later releases wait for the burst.
    """
    run.primary.command("pause")
    check_equal(f"exit status of {name}", tool.interrupt(signal.SIGINT, name), 0)
    run.primary.command("resume")


def dumpcap():
    """dpdk-dumpcap captures the packets of a port."""
    path = machine.need_program("dpdk-dumpcap", "dpdk")
    with family() as run, tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "frames.pcap")
        # dpdk-dumpcap has no option for a plug-in outside of DPDK's folder
        tool = run.start(["sh", "-c", 'LD_PRELOAD="$LD_PRELOAD:$0" exec "$@"', PLUGIN,
                          path, f"--file-prefix={prefix()}", "-P", "-i", "0", "-w",
                          file])
        wait_until(lambda: os.path.exists(file) and os.path.getsize(file) >= 10_000,
                   "nothing was captured")
        end_capture(run, tool, "dpdk-dumpcap")
        check(nb_frames(file) >= 100, f"{nb_frames(file)} frames captured")
        check_forwards(run)
        finish(run, expected_errors=("^EAL: ", "^ETHDEV: "))


def pdump():
    """dpdk-pdump captures the packets that a port sends and those it receives."""
    path = machine.need_program("dpdk-pdump", "dpdk")
    with family() as run, tempfile.TemporaryDirectory() as folder:
        files = {side: os.path.join(folder, f"{side}.pcap") for side in ("rx", "tx")}
        tool = run.start([path, *eal("auto"), "--", "--pdump",
                          "port=0,queue=*," + ",".join(
                              f"{side}-dev={file}" for side, file in files.items())])
        tool.expect("core .*, capture")
        wait_until(lambda: min(os.path.getsize(file) for file in files.values())
                   >= 10_000, "nothing was captured")
        end_capture(run, tool, "dpdk-pdump")
        for side, file in files.items():
            check(nb_frames(file) >= 100, f"{side}: {nb_frames(file)} frames")
        finish(run, expected_errors=("^EAL: ", "^ETHDEV: "))


VARIANTS = {"one": lambda: hotplug(1), "two": lambda: hotplug(2),
            **named(selection, service, operations, killed, proc_info, other_version, dumpcap,
                    pdump)}

if __name__ == "__main__":
    main(VARIANTS)
