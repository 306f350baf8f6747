#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Secondary processes: hotplug, queries, rejected operations."""

import contextlib
import os
import re
import signal
import tempfile

from scapy.utils import RawPcapReader

import machine
from console import Console
from harness import check, check_equal, check_report, main
from model import (BUILD, PLUGIN, Model, find_child, mac, pci, program_environment,
                   wait_until)
from testpmd import ERROR_LINE, memory_arguments

PROGRAM = os.path.join(BUILD, "app", "test-pmd-scripts", "hotplug")
# Ports 1 and 2 forward; 3, on the same function, and 4, on another, are attached and
# detached.
MACHINE = ("--functions", "2", "--ports", "3,1", "--wire", "pair")
ROUNDS = int(os.environ.get("MANA_HOTPLUG_ROUNDS", "5"))
MEGABYTES = 256
ENOTSUP = -95


def prefix():
    """File prefix shared by the processes."""
    return next(word.split("=")[1] for word in memory_arguments("huge")
                if word.startswith("--file-prefix="))


def eal(kind, plugin=PLUGIN):
    return ["-d", plugin, "--log-level=*:error", *memory_arguments("huge"),
            f"--proc-type={kind}", "--no-telemetry",
            "-a", f"{pci(0)},mac={mac(0)},mac={mac(1)}"]


class Program(Console):
    """hotplug.c as primary or secondary process."""

    def ready(self):
        self.wait_for(r"^ready$", 120)
        return self

    def command(self, line, timeout=120):
        """Runs a command. Returns its output."""
        at = self.mark()
        self.send(line)
        end = self.wait_for(r"(?s:\A|.*?^)(done|failed: .*)$", timeout, at)
        check(end.group(1) == "done", f"{line}: {end.group(0)}")
        return end.group(0)

    def stats(self):
        """{name: (sent, received)}"""
        rows = re.findall(r"^port \d+ (\S+) (\d+) (\d+)$", self.command("stats"),
                          re.MULTILINE)
        return {name: (int(sent), int(received)) for name, sent, received in rows}

    def seen(self):
        """Ports that appeared and disappeared, and rounds of reading."""
        numbers = re.search(r"^seen (\d+) (\d+) (\d+)$", self.command("seen"),
                            re.MULTILINE)
        return tuple(int(number) for number in numbers.groups())

    def quit(self):
        self.send("quit")
        return self.wait()

    def errors(self, expected=()):
        return [match.group(0) for match in ERROR_LINE.finditer(self.text)
                if not any(re.search(pattern, match.group(0))
                           for pattern in expected)]


class Family:
    """A primary process on its own machine, and its secondary processes."""

    def __init__(self):
        self.model = Model(*MACHINE)
        self.primary = Program(
            self.model.command(PROGRAM, machine.lcores(), *eal("primary"), "-m",
                               str(MEGABYTES)), env=program_environment())
        self.others = []

    def add(self, argv=None):
        """Starts another process, hotplug.c or another program."""
        argv = argv or [PROGRAM, machine.lcores(1), *eal("secondary")]
        made = Program(self.model.join_command(*argv), env=program_environment())
        self.others.append(made)
        return made

    def forwarded(self):
        return sum(received for _, received in self.primary.stats().values())

    def check_forwards(self, more=1000):
        """The primary process still forwards."""
        before = self.primary.stats()
        for name in (f"{pci(0)}_port1", f"{pci(0)}_port2"):
            wait_until(lambda name=name: self.primary.stats()[name][1]
                       >= before[name][1] + more, f"{name} does not forward", pause=0)

    def finish(self, expected_errors=()):
        for program in self.others:
            if program.process.poll() is None:
                check_equal("exit status of a secondary process", program.quit(), 0)
        self.check_forwards()
        check_equal("exit status of the primary process", self.primary.quit(), 0)
        report = self.model.report()
        check_report(report)
        for program in (self.primary, *self.others):
            check_equal("error lines", program.errors(expected_errors), [])
        return report


@contextlib.contextmanager
def family():
    made = Family()
    try:
        made.primary.ready()
        yield made
    except BaseException:
        for program in (made.primary, *made.others):
            print("---- command:", " ".join(program.argv))
            print(program.text)
            print("----")
        raise
    finally:
        for program in (*made.others, made.primary):
            program.kill()


def hotplug(nb_others):
    """
    A port of the forwarding function and one of another are attached and detached while
    secondary processes read the statistics of all ports.
    """
    with family() as run:
        others = [run.add().ready() for _ in range(nb_others)]
        for _ in range(ROUNDS):
            reply = run.primary.command(f"attach {pci(0)},mac={mac(2)}")
            third = int(re.search(r"attached: (\d+)", reply).group(1))
            reply = run.primary.command(f"attach {pci(1)}")
            fourth = int(re.search(r"attached: (\d+)", reply).group(1))
            run.primary.command(f"pass {third} {fourth}")
            run.primary.command(f"pass {fourth} {third}")
            for other in others:
                check_equal("ports of a secondary process", sorted(other.stats()),
                            [f"{pci(0)}_port1", f"{pci(0)}_port2",
                             f"{pci(0)}_port3", f"{pci(1)}_port1"])
            run.primary.command(f"detach {pci(1)}")
            run.primary.command(f"close {third}")
            run.check_forwards(10)
            for other in others:
                check_equal("ports of a secondary process", sorted(other.stats()),
                            [f"{pci(0)}_port1", f"{pci(0)}_port2"])
        for other in others:
            appeared, disappeared, rounds = other.seen()
            # the third remains, without a port, until its function is detached
            check_equal("appeared", appeared, ROUNDS + 1)
            check_equal("disappeared", disappeared, ROUNDS)
            check(rounds > 0, "nothing was read")
        run.finish()


def whole_function(nb_others=2):
    """The forwarding function is detached, and attached with all its ports."""
    with family() as run:
        others = [run.add().ready() for _ in range(nb_others)]
        run.primary.command(f"attach {pci(1)}")
        run.primary.command(f"detach {pci(1)}")
        run.primary.command(f"attach {pci(1)}")
        for other in others:
            check_equal("names", sorted(other.stats()), sorted(run.primary.stats()))
        run.finish()


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
            reply = run.primary.command(f"attach {pci(0)},mac={mac(2)}")
            third = int(re.search(r"attached: (\d+)", reply).group(1))
            reply = run.primary.command(f"attach {pci(1)}")
            fourth = int(re.search(r"attached: (\d+)", reply).group(1))
            run.primary.command(f"pass {third} {fourth}")
            for other in others:
                check_equal("names", sorted(other.stats()),
                            sorted(run.primary.stats()))
            run.primary.command(f"close {third}")
        run.finish(expected_errors=("the RDMA device was removed",
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
        # ethdev reports a running port before it calls the driver
        check_equal("accepted", {name for name, code in codes.items()
                                 if code != ENOTSUP},
                    {"dev_start", "dev_rx_queue_start"})
        reply = run.primary.command(f"attach {pci(1)}")
        stopped = int(re.search(r"attached: (\d+)", reply).group(1))
        run.primary.command(f"stop {stopped}")
        check_equal("start", refusals(other, stopped)["dev_start"], ENOTSUP)
        for what in ("start the port", "set the MTU", "set the RSS key",
                     "set the RETA", "start and stop its queues"):
            check(f"only the primary process can {what}" in other.text,
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
        run.finish(expected_errors=("only the primary process can", "^ETHDEV: ",
                                    "^EAL: "))


def killed():
    """A secondary process is killed while it reads; others start; ports come and go."""
    with family() as run:
        for _ in range(ROUNDS):
            victim = run.add().ready()
            wait_until(lambda victim=victim: victim.seen()[2] >= 10, "it does not read",
                       pause=0)
            os.kill(find_child(victim.process.pid, "hotplug"), signal.SIGKILL)
            victim.wait()
            run.check_forwards()
            run.others.remove(victim)
        run.add().ready()
        run.primary.command(f"attach {pci(1)}")
        run.primary.command(f"detach {pci(1)}")
        run.finish()


def run_tool(run, argv):
    """Runs a DPDK program that ends by itself. Returns its output."""
    tool = run.add(argv)
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
        run.finish(expected_errors=("^EAL: ", "^ETHDEV: "))


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
    os.kill(find_child(tool.process.pid, name), signal.SIGINT)
    check_equal(f"exit status of {name}", tool.wait(), 0)
    run.primary.command("resume")


def dumpcap():
    """dpdk-dumpcap captures the packets of a port."""
    path = machine.need_program("dpdk-dumpcap", "dpdk")
    with family() as run, tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "frames.pcap")
        # dpdk-dumpcap has no option for a plug-in outside of DPDK's folder
        tool = run.add(["sh", "-c", 'LD_PRELOAD="$LD_PRELOAD:$0" exec "$@"', PLUGIN,
                        path, f"--file-prefix={prefix()}", "-P", "-i", "0", "-w",
                        file])
        wait_until(lambda: os.path.exists(file) and os.path.getsize(file) >= 10_000,
                   "nothing was captured")
        end_capture(run, tool, "dpdk-dumpcap")
        check(nb_frames(file) >= 100, f"{nb_frames(file)} frames captured")
        run.check_forwards()
        run.finish(expected_errors=("^EAL: ", "^ETHDEV: "))


def pdump():
    """dpdk-pdump captures the packets that a port sends and those it receives."""
    path = machine.need_program("dpdk-pdump", "dpdk")
    with family() as run, tempfile.TemporaryDirectory() as folder:
        files = {side: os.path.join(folder, f"{side}.pcap") for side in ("rx", "tx")}
        tool = run.add([path, *eal("auto"), "--", "--pdump",
                        "port=0,queue=*," + ",".join(
                            f"{side}-dev={file}" for side, file in files.items())])
        tool.wait_for("core .*, capture")
        wait_until(lambda: min(os.path.getsize(file) for file in files.values())
                   >= 10_000, "nothing was captured")
        end_capture(run, tool, "dpdk-pdump")
        for side, file in files.items():
            check(nb_frames(file) >= 100, f"{side}: {nb_frames(file)} frames")
        run.finish(expected_errors=("^EAL: ", "^ETHDEV: "))


VARIANTS = {
    "one": lambda: hotplug(1),
    "two": lambda: hotplug(2),
    "function": whole_function,
    "service": service,
    "operations": operations,
    "killed": killed,
    "proc-info": proc_info,
    "dumpcap": dumpcap,
    "pdump": pdump,
}

if __name__ == "__main__":
    main(VARIANTS)
