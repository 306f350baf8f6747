#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What works with which driver on real kernels: DPDK's own net/mana, of 22.11 as
devtools/build-rival.sh builds it and of Debian 13's binary package, and this driver.

usage: MANA_BUILD=$PWD/build app/test-pmd-scripts/compare_drivers.py [SCENARIO...]

Prints a line per driver, kernel and scenario, then a table of them. A scenario needs
a few packets only; for this driver, the other scripts test the subjects in full.
"""

import datetime
import json
import os
import shutil
import signal
import subprocess
import sys

import interrupts
import machine
import programs
import test_csum
import test_vlan
import vm
from console import Console
from manavm import cache, packages      # vm knows where
from harness import check, check_equal, check_nothing_lost, check_pairs, fixture
from model import BUILD, TOP, Model, mac, netdev, pci, program_environment, wait_until
from test_icmpecho import ip

KERNELS = ("6.12", "newest")
MACHINE = ("--ports", "2", "--wire", "pair", "--max-mtu", "9000")
# Arguments that only one of the drivers knows.
MORE_DEVARGS = os.environ.get("MANA_DEVARGS", "")
TWO_PORTS = ["-a", f"{pci(0)},mac={mac(0)},mac={mac(1)}{MORE_DEVARGS}"]
PACKETS = 20_000
# Limits, without the factor of a slow machine.
EVENT_S = 10
TRAFFIC_S = 15
GUEST_S = 120
RIVAL = os.path.join(TOP, "rival")


# ---- Scenarios: function(machine, list for its programs) fails with the reason ----

def start(started, eal=TWO_PORTS, nb_ports=2, **more):
    pmd = programs.start_testpmd(started, eal=eal, **more)
    check_equal("ports", len(pmd.ports()), nb_ports)
    return pmd


def forwards(pmd):
    before = sum(port.rx_packets for port in pmd.stats().values())
    pmd.command("set fwd io")
    pmd.command("start tx_first")
    pmd.wait_until(lambda stats: sum(port.rx_packets for port in stats.values()) >=
                   before + PACKETS, TRAFFIC_S)
    pmd.command("stop")


def ends(pmd):
    check_equal("exit status", pmd.quit(), 0)


def io(model, started):
    pmd = start(started)
    forwards(pmd)
    pmd.drain()
    report = model.live_report()
    check_nothing_lost(report)
    check_pairs(report)
    ends(pmd)


def used_queues(model):
    """{(port, kind): number of its queues that have had traffic and exist}"""
    return {(address, kind): sum(queue["kind"] == kind and queue["packets"] > 0 and
                                 queue["alive"] for queue in port["queues"])
            for address, port in model.live_report().ports.items()
            for kind in ("rq", "sq")}


def queues(number):
    """Traffic on all Rx and Tx queues: RSS spreads the flows."""
    def scenario(model, started):
        pmd = start(started, app=[f"--rxq={number}", f"--txq={number}",
                                  "--txonly-multi-flow"])
        pmd.command("set fwd txonly")
        pmd.command("start")
        pmd.wait_until(lambda stats: stats[0].tx_packets >= PACKETS, TRAFFIC_S)
        pmd.command("stop")
        pmd.drain()
        for queue, used in used_queues(model).items():
            # This driver makes a power of two of rings, for RSS.
            check(used >= number, f"queues with traffic {queue}: {used}")
        ends(pmd)
    return scenario


def restart(_model, started):
    pmd = start(started)
    for _ in range(3):
        forwards(pmd)
        pmd.command("port stop all")
        reply = pmd.command("port start all")
        check("Fail" not in reply, f"port start: {reply}")
    forwards(pmd)
    ends(pmd)


def mtu(number):
    def scenario(_model, started):
        pmd = start(started)
        pmd.command("port stop all")
        reply = ""
        for port in (0, 1):
            reply = pmd.command(f"port config mtu {port} {number}")
        pmd.command("port start all")
        check(f"MTU: {number}" in pmd.command("show port info 0"), f"refused: {reply}")
        forwards(pmd)
        ends(pmd)
    return scenario


def vlan_insertion(_model, started):
    pmd = start(started)
    pmd.command("port stop all")
    reply = pmd.command("tx_vlan set 0 100")
    check("rror" not in reply, reply)
    pmd.command("port start all")
    forwards(pmd)
    ends(pmd)


def link_status(model, started):
    pmd = start(started)
    model.ctl("link", "port=1", "down")
    try:
        pmd.wait_for_command("show port info 0", "Link status: down", EVENT_S)
    finally:
        model.ctl("link", "port=1", "up")


def link_event(model, started):
    pmd = start(started)
    mark = pmd.mark()
    model.ctl("link", "port=1", "down")
    try:
        pmd.wait_for("Port 0: link state change event", EVENT_S, mark)
    finally:
        model.ctl("link", "port=1", "up")


DRIVER = "/sys/bus/pci/drivers/mana/"
WAYS = {"remove": (lambda model: model.ctl("remove", "fn=0"),
                   lambda model: model.ctl("return", "fn=0")),
        "unbind": (lambda model: model.write(DRIVER + "unbind", pci(0)),
                   lambda model: model.write(DRIVER + "bind", pci(0)))}


def removal(way):
    """testpmd gets events, releases the ports, attaches them again, and forwards."""
    def scenario(model, started):
        take, give = WAYS[way]
        pmd = start(started)
        pmd.command("start tx_first")
        mark = pmd.mark()
        take(model)
        try:
            pmd.wait_for(r"nb forwarding ports=0\s", EVENT_S, mark)
            pmd.command("stop")
        finally:
            give(model)
        reply = pmd.command(f"port attach {TWO_PORTS[1]}")
        check("is attached" in reply, f"port attach: {reply}")
        pmd.command("port start all")
        forwards(pmd)
        ends(pmd)
    return scenario


def kill(model, pmd):
    model.signal(pmd, "dpdk-testpmd", signal.SIGKILL)
    pmd.process.wait()


def killed(model, started):
    victim = start(started)
    victim.command("start tx_first")
    kill(model, victim)
    heir = start(started)
    forwards(heir)
    ends(heir)


def next_program(way):
    """After the function was away, another program forwards."""
    def scenario(model, started):
        take, give = WAYS[way]
        first = start(started)
        first.command("start tx_first")
        take(model)
        kill(model, first)
        give(model)
        heir = start(started)
        forwards(heir)
        ends(heir)
    return scenario


def side_by_side(_model, started):
    pmds = [start(started, eal=["-a", f"{pci(0)},mac={mac(port)}{MORE_DEVARGS}"], nb_ports=1,
                  megabytes=256) for port in (0, 1)]
    for pmd in pmds:
        pmd.command("start tx_first 4")
    for pmd in pmds:
        pmd.wait_until(lambda stats: stats[0].rx_packets >= PACKETS, TRAFFIC_S)
    for pmd in pmds:
        ends(pmd)


def netdev_up_before(model, started):
    """The start fails as long as the netdev is up, and then works."""
    interface = netdev(0, 0)
    model.run("ip", "link", "set", interface, "up")
    try:
        pmd = start(started, app=["--disable-device-start"])
        reply = pmd.command("port start 0")
        check("Done" not in reply or "ail" in reply or "MANA" in reply,
              f"the port starts while the kernel uses it: {reply}")
    finally:
        model.run("ip", "link", "set", interface, "down")
    pmd.command("port start all")
    forwards(pmd)
    ends(pmd)


def netdev_up_later(model, started):
    """The kernel refuses, and the program continues."""
    pmd = start(started)
    done = model.run("ip", "link", "set", netdev(0, 0), "up", check=False)
    check("busy" in done.stderr, f"ip link set up: {done.stderr or 'accepted'}")
    forwards(pmd)
    ends(pmd)


def ordinary_user(model, started):
    model.drop_privileges(["net_raw", "ipc_lock"])
    join = model.join_command
    model.inside_command = lambda *argv: join(*model.prefix, *argv)
    try:
        pmd = start(started)
        forwards(pmd)
        ends(pmd)
    finally:
        del model.inside_command


# In one guest, as programs one after the other.
IN_ONE_GUEST = {
    "io, nothing lost": io,
    "2 queues": queues(2),
    "4 queues": queues(4),
    "5 queues": queues(5),
    "stop and start, 3 times": restart,
    "MTU 1400, short frames": mtu(1400),
    "MTU 9000, short frames": mtu(9000),
    "tx_vlan accepted": vlan_insertion,
    "link status": link_status,
    "link event": link_event,
    "two programs": side_by_side,
    "ordinary user": ordinary_user,
    "kill -9, next start": killed,
    "netdev up before": netdev_up_before,
    "netdev up later": netdev_up_later,
    "unbind, bind, attach": removal("unbind"),
    "unbind, bind, next start": next_program("unbind"),
    "remove, rescan, attach": removal("remove"),
    "remove, rescan, next start": next_program("remove"),
}
# Linux 6.12 does not know the adapter's link events.
NOT_ON = {("6.12", "link status"), ("6.12", "link event")}


class Guest:
    """A guest for several scenarios."""

    def __init__(self):
        self.model = Model(*MACHINE, strict=False)
        # The argument gives the guest the processors for that many queues.
        self.outer = Console(self.model.command("sh", "-c", "exec cat", "--rxq=8"),
                             env=program_environment())
        wait_until(self.is_usable, "a guest", timeout=GUEST_S)

    def is_usable(self):
        """Whether it runs and has its ports."""
        return self.model.run(
            "sh", "-c", f"test -d /sys/class/net/{netdev(0, 1)} -a "
            "-n \"$(ls /sys/class/infiniband)\"", check=False).returncode == 0

    def end(self):
        self.outer.kill()


def run_in_one_guest(names):
    """Yields (name, error or None)."""
    guest = None
    for name in names:
        if guest is None:
            guest = Guest()
        try:
            programs.call(IN_ONE_GUEST[name], guest.model)
            yield name, None
        except Exception as error:       # pylint: disable=broad-except
            yield name, error
            try:
                usable = guest.is_usable()
            except Exception:            # pylint: disable=broad-except
                usable = False
            if not usable:
                guest.end()
                guest = None
    if guest is not None:
        guest.end()


# ---- Scenarios with frames of scapy, through one testpmd ----

def checksums(layer):
    """Rx and Tx checksums of this layer."""
    def scenario(run, frames):
        run.pmd.command("port stop all")
        for other in test_csum.LAYERS:
            for port in (0, 1):
                reply = run.pmd.command(
                    f"csum set {other} {'hw' if other == layer else 'sw'} {port}")
                check("rror" not in reply, reply)
        run.pmd.command("port start all")
        run.pmd.command("set fwd csum")
        run.pmd.command("start")
        part = "v4" if layer == "ip" else layer
        cases = [case for case in frames.cases()
                 if part in case.name and "fragment" not in case.name]
        sent = [case.frame(number, mac(0)) for number, case in enumerate(cases)]
        for case, before, after in zip(cases, sent, frames.exchange(sent, len(sent))):
            test_csum.check_frame(frames, case, before, after)
        text = run.pmd.command("stop")
        check_equal("bad checksums that testpmd counted", test_csum.bad_counts(text),
                    (sum(case.ip == frames.BAD for case in cases),
                     sum(case.l4 == frames.BAD for case in cases)))
    return scenario


def segments(run, frames):
    run.pmd.command("port stop all")
    for port in (0, 1):
        for layer in test_csum.LAYERS:
            run.pmd.command(f"csum set {layer} hw {port}")
        reply = run.pmd.command(f"tso set {test_csum.SEGMENT_BYTES} {port}")
        check("not supported" not in reply, reply)
    run.pmd.command("port start all")
    run.pmd.command("set fwd csum")
    run.pmd.command("start")
    sent = [case.frame(number, mac(0))
            for number, case in enumerate(frames.tcp_cases())]
    wanted = [segment[12:].hex() for data in sent
              for segment in frames.segments(data, test_csum.SEGMENT_BYTES)]
    caught = [data[12:].hex() for data in frames.exchange(sent, len(wanted))]
    check(caught == wanted, "wrong segments")


def vlan_stripping(run, frames):
    run.pmd.command("set fwd io")
    run.pmd.command("port stop all")
    run.pmd.command("vlan set strip on 0")
    run.pmd.command("port start all")
    run.pmd.command("start")
    try:
        test_vlan.pass_through(frames, 0, True)
    finally:
        run.pmd.command("vlan set strip off 0")


WITH_FRAMES = {
    "TCP checksums": checksums("tcp"),
    "UDP checksums": checksums("udp"),
    "IPv4 checksums": checksums("ip"),
    "VLAN stripping": vlan_stripping,
    "TSO": segments,
}


def run_with_frames(names):
    """Yields (name, error or None)."""
    if not names:
        return
    frames = test_csum.load_scapy()
    with fixture(*test_csum.TAP, strict=False) as run:
        run.start(eal=TWO_PORTS, app=["--enable-rx-cksum"])
        for tap in ("mtap0", "mtap1"):
            ip("link", "set", tap, "up")
        for name in names:
            # Of the scenario before; testpmd does not stop ports that forward.
            run.pmd.command("stop")
            try:
                WITH_FRAMES[name](run, frames)
                yield name, None
            except Exception as error:       # pylint: disable=broad-except
                yield name, error


# ---- One driver on one machine ----

INTERRUPTS = "Rx interrupts"


def run_interrupts(names):
    if INTERRUPTS not in names:
        return
    try:
        counts, report = interrupts.receive(4000, "--wire", "loop", own=True,
                                            strict=False)
        interrupts.check_each_woken(4000, counts, report, own=True)
        yield INTERRUPTS, None
    except Exception as error:       # pylint: disable=broad-except
        yield INTERRUPTS, error


SCENARIOS = [*IN_ONE_GUEST, *WITH_FRAMES, INTERRUPTS]


def run_here(names):
    """Runs scenarios on MANA_MACHINE; the last line is {name: "yes" or the reason}."""
    vm.prepare()
    if INTERRUPTS in names:
        vm.built_program("rx_interrupt")    # fetches packages; the namespace has no network
    machine.in_private_namespaces()
    results = {name: "-" for name in names if (vm.SPEC.kernel, name) in NOT_ON}

    def left(of):
        return [name for name in names if name in of and name not in results]

    for run in (run_in_one_guest(left(IN_ONE_GUEST)),
                run_with_frames(left(WITH_FRAMES)),
                run_interrupts(left([INTERRUPTS]))):
        for name, error in run:
            results[name] = "yes" if error is None else \
                "no: " + " ".join(str(error).split())[:300]
            print(f"== {name}: {results[name]}", flush=True)
    print(json.dumps(results))


# ---- All ----

def debian_13():
    """(plug-in of Debian 13's package, its version)"""
    found = [at for at in packages.Index("13", "amd64").packages(["librte-net-mana25"])
             if at[0] == "librte-net-mana25"]
    path = os.path.join(RIVAL, "debian-13", "librte_net_mana.so.25.0")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with cache.scratch() as root:
        packages.Index("13", "amd64").unpack(found, root)
        source = next(os.path.join(folder, name) for folder, _, names in os.walk(root)
                      for name in names if name == os.path.basename(path)
                      and not os.path.islink(os.path.join(folder, name)))
        shutil.copy(source, path)
    return path, found[0][1]


def drivers():
    """{column: (userland, plug-in, more device arguments)}"""
    try:
        with open(os.path.join(RIVAL, "VERSION"), encoding="ascii") as file:
            old = file.read().strip()
    except FileNotFoundError:
        sys.exit("no DPDK driver: devtools/build-rival.sh builds it")
    path, new = debian_13()
    return {
        f"DPDK {old}": ("12", os.path.join(RIVAL, "build", "drivers",
                                           "librte_net_mana.so"), ""),
        f"DPDK {new}": ("13", path, ""),
        # testpmd attaches the ports again, as with the others.
        "this driver": ("12", os.path.join(BUILD, "drivers", "librte_net_mana.so"),
                        ",recovery_timeout=0"),
    }


def run_all(names):
    columns = {}
    for driver, (userland, plugin, devargs) in drivers().items():
        for kernel in KERNELS:
            process = subprocess.run(
                [sys.executable, sys.argv[0], *names], check=False, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, errors="replace",
                env=dict(os.environ, MANA_MACHINE=f"vm:{kernel}:{userland}",
                         MANA_PLUGIN=plugin, MANA_DEVARGS=devargs))
            if process.returncode != 0:
                print(process.stdout)
                sys.exit(f"{driver} on {kernel}: exit status {process.returncode}")
            results = json.loads(process.stdout.splitlines()[-1])
            for name, result in results.items():
                print(f"{driver}; {kernel}; {name}; {result}", flush=True)
            columns[driver, kernel] = results
    print(f"\n{datetime.date.today()}")
    for name in names:
        print(name.ljust(28), *(results[name].partition(":")[0].ljust(8)
                                for results in columns.values()))


def main():
    names = sys.argv[1:] or list(SCENARIOS)
    for name in names:
        if name not in SCENARIOS:
            sys.exit(f"no scenario {name!r}; there are: {'; '.join(SCENARIOS)}")
    (run_here if vm.SPEC else run_all)(names)


if __name__ == "__main__":
    main()
