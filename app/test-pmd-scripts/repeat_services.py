#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Repeats each kind of service under traffic, and prints what carried it, and what was lost.

usage: repeat_services.py [--rounds N] [ROW...]

A row is a program and a kind of service. Each row has a machine of its own, whose generator
sends RATE packets a second, which the program sends back. Without ROW: all rows. --list
prints their names, and how often each one is repeated.
"""

import argparse
import collections
import contextlib
import re
import signal
import sys
import tempfile
import time
import traceback

import machine
import netvsc
import processes
from application import example
from harness import check, check_equal, check_report, fixture
from model import ending, mac, pci
from openvswitch import BRIDGE, VSWITCHD, Switch
from processes import family

RATE = 1000
OUTAGE_S = 2
# net_netvsc looks for a VF every second, after the function is back and after the report.
RETRY_S = 4
ENOUGH = 200
NOTHING = "nothing"
# The next service meets the recovery from one.
LOST_AGAIN = r"MANA: .* cannot (register|prepare) "
GENERATOR = f"count=0,rate={RATE},flows=16"

Sample = collections.namedtuple("Sample", "time synthetic vf is_on_vf")


class Bench:
    """A program that sends the generator's packets back, and the ports of its machine."""

    def __init__(self, model, console, nb_ports=1, has_synthetic=True):
        self.model = model
        self.console = console
        self.nb_ports = nb_ports
        self.has_synthetic = has_synthetic

    def is_on_vf(self, report):
        return not self.has_synthetic or all(
            netvsc.path_is("vf")(report, port) for port in range(self.nb_ports))

    def sample(self):
        report = self.model.live_report()
        paths = [netvsc.carried(report, port) for port in range(self.nb_ports)]
        return Sample(time.monotonic(), sum(path["synthetic"] for path in paths),
                      sum(path["vf"] for path in paths), self.is_on_vf(report))

    def wait(self, reached, timeout=60):
        return self.model.wait_until(reached, self.console, timeout)

    def wait_for_packets(self):
        """The sample in which ENOUGH packets more have come."""
        before = self.sample()

        def have_come(_):
            now = self.sample()
            return now.synthetic + now.vf >= before.synthetic + before.vf + ENOUGH
        self.wait(have_come)
        return self.sample()

    def wait_for_vf(self):
        self.wait(self.is_on_vf)
        before = self.sample().vf
        self.wait(lambda _: self.sample().vf >= before + ENOUGH)

    @staticmethod
    def dropped():
        """{counter: packets} that net_netvsc counts as lost."""
        return {}

    def generate(self, words):
        for port in range(self.nb_ports):
            self.model.ctl("gen", f"port={port + 1}", *words.split())

    def still(self):
        """The report when no packet is on its way."""
        self.generate("stop")
        reports = []

        def is_still(report):
            reports.append((netvsc.received(report), netvsc.sent(report)))
            return len(reports) > 3 and len(set(reports[-3:])) == 1
        return self.wait(is_still)


# ---- Programs ----

class TestpmdBench(Bench):
    """Testpmd shows what net_netvsc counts."""

    def dropped(self):
        shown = self.console.command("show port xstats all")
        return {"ring of net_netvsc full": sum(int(count) for count in re.findall(
            r"^rx_q\d+_ring full: (\d+)", shown, re.MULTILINE))}


@contextlib.contextmanager
def testpmd(options, nb_ports=1):
    """Debian's testpmd with net_netvsc."""
    macs = ",".join(f"mac={mac(port)}" for port in range(nb_ports))
    wires = [word for port in range(nb_ports)
             for word in ("--wire", f"{port + 1}=gen:{GENERATOR}")]
    with fixture("--ports", str(nb_ports), *wires, "--netvsc=uio", "--mode=thread",
                 *options) as run:
        pmd = netvsc.start(run, eal=["-a", f"{pci(0)},{macs}"],
                           app=["--no-flush-rx", "--port-topology=loop"])
        pmd.command("start")
        yield TestpmdBench(run.model, pmd, nb_ports)
        pmd.command("stop")
        run.finish(expected_errors=[*netvsc.GONE, *netvsc.TWICE], counters=False)


@contextlib.contextmanager
def l3fwd(options, _nb_ports=1):
    """DPDK's example l3fwd with net_netvsc."""
    with netvsc.l3fwd(GENERATOR, *options) as run:
        yield Bench(run.model, run)


@contextlib.contextmanager
def symmetric_mp(options, _nb_ports=2):
    """DPDK's example symmetric_mp with net_netvsc: a primary and a secondary process."""
    wires = [word for port in range(2) for word in ("--wire", f"{port + 1}=gen:{GENERATOR}")]
    with family("--ports", "2", *wires, "--netvsc=uio", "--mode=thread", *options) as run:
        for number in range(2):
            # net_netvsc's ports are 2 and 3, those of the VFs are 0 and 1
            process = run.start([example("multi_process/symmetric_mp"),
                                 machine.lcores(1, first=2 * number),
                                 *processes.eal("secondary" if number else "primary"),
                                 "--iova-mode=va", "--", "-p", "c", "--num-procs=2",
                                 f"--proc-id={number}"])
            process.expect(f"using queue {number} of each port")
        yield Bench(run.model, run.holder, nb_ports=2)
        for process in reversed(run.processes):
            check_equal("exit status", process.interrupt(), 0)
        # The processes exit in a signal handler, and close no port of a VF.
        run.end(expected_errors=[*netvsc.GONE, *netvsc.TWICE], leaks=True)


class ReflectingSwitch(Switch):
    """Open vSwitch with net_netvsc, which sends what comes back."""

    MACHINE = ("--ports", "1", "--wire", f"1=gen:{GENERATOR}", "--netvsc=uio", "--mode=thread")
    ALLOWED = " ".join(netvsc.ONE_PORT)
    NB_PORTS, NB_HOSTS = 1, 0


@contextlib.contextmanager
def openvswitch(options, _nb_ports=1):
    """The port by its MAC address: the bus vmbus of 22.11 finds none by its name."""
    machine.need_program(VSWITCHD, "openvswitch-switch-dpdk")
    with tempfile.TemporaryDirectory() as folder, \
            ending([ReflectingSwitch(folder, *options)]) as (switch,):
        switch.add_bridge()
        switch.run("ovs-ofctl", "add-flow", switch.file(BRIDGE + ".mgmt"),
                   "in_port=p0,actions=in_port")
        yield Bench(switch.model, switch)
        switch.vsctl("del-br", BRIDGE)
        switch.appctl("exit", "--cleanup")
        check_equal("exit status", switch.wait(), 0)
        check_report(switch.model.report(), leaks=True)     # it closes no port


@contextlib.contextmanager
def failsafe(options, _nb_ports=1,
             vdev=f"net_failsafe0,mac={mac(0)},dev({pci(0)},mac={mac(0)})", errors=()):
    """Debian's testpmd with net_failsafe above the VF alone."""
    with fixture("--ports", "1", "--wire", f"1=gen:{GENERATOR}", "--netvsc=hv", "--mode=thread",
                 *options) as run:
        # no function is probed but by net_failsafe
        pmd = run.start(eal=["-a", "0000:ff:1f.7", "--vdev", vdev],
                        app=["--no-flush-rx", "--rxd=256", "--txd=256", "--port-topology=loop"])
        pmd.command("start")
        yield TestpmdBench(run.model, pmd, has_synthetic=False)
        pmd.command("stop")
        run.finish(expected_errors=[*netvsc.GONE, LOST_AGAIN, *errors], counters=False)


def vdev_netvsc(options, nb_ports=1):
    """
    The same as net_vdev_netvsc makes it. Its TAP port on the synthetic device cannot be made:
    hv_netvsc's netdev of the model carries nothing.
    """
    return failsafe(options, nb_ports, "net_vdev_netvsc0,iface=hv0p0",
                    ["EAL: ", r"MANA: .* is a slave of ", "TAP", "tap", "vdev"])


# ---- Kinds of service ----

# during, afterwards: what carries the packets. restore: the service after which the VF
# carries them again.
Kind = collections.namedtuple("Kind", "services during afterwards options nb_ports restore",
                              defaults=((), 1, None))
OLD_KERNEL = ("--kernel=6.12", "--rnic")
SILENT = " withdraw=never report=never"
KINDS = {
    "remove": Kind(["kind=remove"], "synthetic", "vf"),
    "reset, silent": Kind(["kind=reset" + SILENT], NOTHING, "vf"),
    "remove, withdrawn and reported early": Kind(
        ["kind=remove withdraw=before report=before gap=1s"], "synthetic", "vf"),
    "remove, withdrawn and reported late": Kind(
        ["kind=remove withdraw=after report=after gap=1s"], "synthetic", "vf"),
    "move": Kind(["kind=move"], "synthetic", "vf"),
    "reconfigure": Kind(["kind=reconfigure"], "synthetic", "vf"),
    "remove, twice": Kind(["kind=remove", "kind=remove"], "synthetic", "vf"),
    "remove, two ports": Kind(["kind=remove"], "synthetic", "vf", nb_ports=2),
    "remove, not reported": Kind(["kind=remove report=never"], "synthetic", "synthetic",
                                 restore="kind=remove"),
    "remove, never announced": Kind(["kind=remove" + SILENT], "synthetic", "synthetic",
                                    restore="kind=remove"),
    "revoke": Kind(["kind=revoke"], "synthetic", "synthetic", restore="return"),
    "reset": Kind(["kind=reset"], "synthetic", "synthetic", restore="kind=remove"),
    "reset, Linux 6.12": Kind(["kind=reset" + SILENT], NOTHING, "vf", OLD_KERNEL),
    "reconfigure, Linux 6.12": Kind(["kind=reconfigure" + SILENT], NOTHING, "vf", OLD_KERNEL),
}
COMMONEST = ("remove", "reset, silent")
OTHERS = ("l3fwd", "symmetric_mp", "openvswitch")
WITH_FAILSAFE = ("net_failsafe", "vdev_netvsc")
# net_failsafe learns nothing of the host's messages, and has nothing beside the VF.
BELOW_FAILSAFE = {name: KINDS[name]._replace(during=NOTHING, afterwards="vf", restore=None)
                  for name in ("remove", "move", "reconfigure", "remove, twice", "reset",
                               "reset, Linux 6.12", "reconfigure, Linux 6.12")}
BELOW_FAILSAFE["revoke"] = KINDS["revoke"]._replace(during=NOTHING, afterwards=NOTHING)
PROGRAMS = {"testpmd": testpmd, "l3fwd": l3fwd, "symmetric_mp": symmetric_mp,
            "openvswitch": openvswitch, "net_failsafe": failsafe, "vdev_netvsc": vdev_netvsc}


def begin(run, words):
    """Begins a service, as soon as the one before has ended. Returns the time before that."""
    end = time.monotonic() + 10 * OUTAGE_S
    while True:
        begun = time.monotonic()
        try:
            netvsc.service(run, *words.split(), *([] if "revoke" in words else
                                                  [f"outage={OUTAGE_S}s"]))
            return begun
        except AssertionError:      # refused
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def grown(samples):
    """What has carried packets between the first and the last of these."""
    names = [name for name in ("synthetic", "vf")
             if getattr(samples[-1], name) > getattr(samples[0], name)]
    return " and ".join(names) or NOTHING


def first_growth(samples, name, since):
    """Milliseconds from since until packets came on this path; None: they did not."""
    for before, after in zip(samples, samples[1:]):
        if after.time > since and getattr(after, name) > getattr(before, name):
            return round(1000 * (after.time - since))
    return None


def longest_pause(samples):
    """Milliseconds in which no packet came."""
    pauses = [0]
    since = samples[0].time
    for before, after in zip(samples, samples[1:]):
        if after.synthetic + after.vf > before.synthetic + before.vf:
            pauses.append(round(1000 * (before.time - since)))
            since = after.time
    return max(pauses)


def play(run, kind):
    """
    One service. Returns milliseconds: from the beginning until the synthetic device carried,
    from the return until the VF did, and the longest time in which nothing did.
    """
    samples = [run.sample()]
    for words in kind.services:
        begun = begin(run, words)
    returned = begun + OUTAGE_S
    deadline = returned + 10 * RETRY_S

    def has_settled():
        last = samples[-1]
        after = [at for at in samples if at.time > returned]
        if kind.afterwards == "vf" and last.time < deadline:
            return last.is_on_vf and after and last.vf >= after[0].vf + ENOUGH
        return last.time > returned + RETRY_S
    while not has_settled():
        time.sleep(0.02)
        samples.append(run.sample())
    outage = [at for at in samples if begun + 1 < at.time < returned]
    during = kind.during
    # A busy machine may have given no processor to this program for that long.
    if len(outage) > 1 and outage[-1].time > outage[0].time + 0.2:
        during = grown(outage)
    if kind.afterwards == NOTHING:
        time.sleep(ENOUGH / RATE)
        after = run.sample()
    else:
        after = run.wait_for_packets()
    afterwards = grown([samples[-1], after])
    check_equal("during and afterwards", (during, afterwards), (kind.during, kind.afterwards))
    if kind.restore == "return":
        run.model.ctl("return", "fn=0")
    elif kind.restore:
        begin(run, kind.restore)
    if kind.restore:
        run.wait_for_vf()
    return (first_growth(samples, "synthetic", begun), first_growth(samples, "vf", returned),
            None if kind.afterwards == NOTHING else longest_pause(samples))


# ---- The table ----

def spread(milliseconds):
    """Mean and maximum."""
    known = [at for at in milliseconds if at is not None]
    return f"{sum(known) // len(known)} ({max(known)})" if known else "-"


def counts(run):
    """Where the generators' packets are: each one is in a counter, or was lost inside: in a ring."""
    report = run.still()
    generators = [port["wire"]["generator"] for port in report.ports.values()]
    count = collections.Counter(netvsc.dropped(report))
    count["all"] = sum(generator["sent"] for generator in generators)
    count["lost"] = count["all"] - netvsc.sent(report)
    counted = run.dropped()
    count.update(counted)
    count["inside"] = netvsc.received(report) - netvsc.sent(report) - sum(counted.values())
    netvsc.check_accounted(report, count["all"])
    check_equal("sent back", sum(generator["received"] for generator in generators),
                netvsc.sent(report))
    return count


ROW = "{:14}{:38}{:>6}  {:11}{:11}{:>12}{:>12}{:>12}{:>7}  {}"


def repeat(program, name, rounds):
    """The row of one program and one kind of service."""
    kind = (BELOW_FAILSAFE if program in WITH_FAILSAFE else KINDS)[name]
    with PROGRAMS[program](kind.options, kind.nb_ports) as run:
        run.wait_for_vf()
        before = counts(run)
        run.generate(GENERATOR.replace(",", " "))
        times = []
        for number in range(rounds):
            try:
                times.append(play(run, kind))
            except AssertionError:
                print(f"{program} {name}: round {number + 1}", flush=True)
                raise
        count = counts(run)
    count.subtract(before)
    where = ", ".join(f"{number} {counter}" for counter, number in count.items()
                      if number and counter not in ("all", "lost"))
    print(ROW.format(program, name, rounds, kind.during, kind.afterwards,
                     *(spread(column) for column in zip(*times)), count["lost"],
                     f"of {count['all']}: {where}"), flush=True)


def rows():
    """(program, kind, rounds) of all rows."""
    testpmd_rows = [("testpmd", name, 100 if name in COMMONEST else 10) for name in KINDS]
    others = [(program, name, 3) for program in OTHERS for name in KINDS
              if KINDS[name].nb_ports == 1]
    below = [(program, name, 20) for program in WITH_FAILSAFE for name in BELOW_FAILSAFE]
    return testpmd_rows + others + below


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("row", nargs="*")
    args = parser.parse_args()
    wanted = {f"{program}: {name}": (program, name, rounds) for program, name, rounds in rows()}
    for row in args.row:
        check(row in wanted, f"no row {row}, see --list")
    if args.list:
        for row, (_, _, rounds) in wanted.items():
            print(f"{rounds:4} {row}")
        return
    if any(row.startswith("vdev_netvsc") for row in args.row or wanted):
        machine.in_private_namespaces()     # for the TAP interfaces
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    print(ROW.format("program", "service", "rounds", "during", "after", "syn ms", "VF ms",
                     "pause ms", "lost", "of all packets, and where"), flush=True)
    failed = []
    for row in args.row or wanted:
        program, name, rounds = wanted[row]
        try:
            repeat(program, name, args.rounds or rounds)
        except Exception:       # the other rows are run, too
            traceback.print_exc(file=sys.stdout)
            failed.append(row)
    print(f"FAIL services: {', '.join(failed)}" if failed else "PASS services")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
