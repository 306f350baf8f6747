#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Secondary processes that receive and send: DPDK's multi_process examples, and hotplug.c.

MANA_MULTI_PROCESS_ROUNDS is the number of rounds of each variant with rounds.
MANA_FAULT_SWEEP=all: the variants of faults let each call fail, and loss-points loses the
device at each event; else at some of them.
"""

import contextlib
import itertools
import os
import random
import re
import signal
import time
from pathlib import Path

import machine
from application import check_all_came, check_intact, example, generator
from harness import check, check_equal, check_nothing_lost, main, named
from model import BUILD, PLUGIN, Model, find_child, mac, pci, wait_until
from processes import PROGRAM, Program, eal, family, prefix
from testpmd import error_lines

PACKETS = 96_000
FLOWS = 32
TRAFFIC = "size=60-1514,ip=mix,l4=mix"
# Frames that hotplug.c forwards.
ENOUGH = 2000
PORTS = (0, 1)
# Doorbells and packets at which the device is lost, and kernel calls of a restart.
NB_EVENTS = 250
NB_CALLS = 30
# Of each killed process: those in its burst, and those that it has received.
LOST_MBUFS = 64
# The driver whose calls a test lets fail.
FAULT_PLUGIN = os.path.join(BUILD, "app", "test", "fault", "librte_net_mana_fault.so")
GONE = ("MANA: .* the RDMA device ",)
# of the driver; of EAL when the secondary process ends; of ethdev from 23.11 on, whose primary
# process frees what its processes share
LOST = ("the primary process has ended", "EAL: failed to send", "EAL: Cannot send message",
        "ETHDEV: Cannot lookup ethdev shared data")


def nb_rounds(usual):
    return int(os.environ.get("MANA_MULTI_PROCESS_ROUNDS", usual))


def generators(traffic=TRAFFIC, packets=PACKETS):
    """A generator at each port of the forwarding function."""
    return (*generator(0, traffic, packets, FLOWS),
            *generator(1, f"{traffic},stream={FLOWS}", packets, FLOWS))


def start_example(run, name, number, *words, program=None, nb_lcores=1):
    """Starts process NUMBER: 0 is the primary one."""
    return run.start([example(f"multi_process/{name}", program),
                      machine.lcores(nb_lcores, first=2 * number),
                      *eal("secondary" if number else "primary"), *words])


def all_sent_arrive(run):
    """
    Stops the generators and waits until each frame has arrived. Returns the number of
    frames sent to each port.
    """
    for port in PORTS:
        run.model.ctl("gen", f"port={port + 1}", "stop")
    sent = [run.model.live_report().port(port)["wire"]["generator"]["sent"]
            for port in PORTS]
    wait_for_sinks(run, sent)
    return sent


def wait_for_sinks(run, sent):
    run.wait_until(lambda report: all(
        report.sink(1 - port)["received"] >= sent[port] for port in PORTS))


# ---- symmetric_mp ----

def start_symmetric(run, nb_processes, number):
    made = start_example(run, "symmetric_mp", number, "--", "-p", "3",
                         f"--num-procs={nb_processes}", f"--proc-id={number}")
    made.expect(f"using queue {number} of each port")
    return made


def end_symmetric(process):
    """Returns what the process counted: {port: (received, sent)}."""
    check_equal("exit status", process.interrupt(), 0)
    rows = re.findall(r"^Port (\d): RX - (\d+), TX - (\d+), Drop - (\d+)$", process.text,
                      re.MULTILINE)
    check_equal("ports", [row[0] for row in rows], ["0", "1"])
    check_equal("dropped", {row[3] for row in rows}, {"0"})
    return {int(port): (int(received), int(sent)) for port, received, sent, _ in rows}


def check_symmetric(run, processes, sent):
    """
    Each process has forwarded a part, and all together each frame. Ends the processes,
    the primary one first: it would rebuild the queues in whose bursts the others end. The
    example closes no port.
    """
    held = run.model.live_report().objects
    counts = [end_symmetric(process) for process in processes]
    report = run.end(leaks=True, expected_errors=LOST)
    check_equal("left behind", report.leaks, Model.left_by_killed(held))
    check_nothing_lost(report)
    for port in PORTS:
        check_all_came(report, 1 - port, sent[port])
        check_equal(f"received by port {port}", sum(one[port][0] for one in counts),
                    sent[port])
        check_equal(f"sent by port {1 - port}", sum(one[1 - port][1] for one in counts),
                    sent[port])
        check(min(one[port][0] for one in counts) > 0, f"a process got nothing: {counts}")
        check_equal("frames of each Tx queue",
                    sorted(queue["packets"] for queue in report.port(port)["queues"]
                           if queue["kind"] == "sq" and queue["packets"]),
                    sorted(one[port][1] for one in counts))


def symmetric(nb_secondaries):
    """Each process forwards what comes on its queue of both ports."""
    with family(*generators()) as run:
        processes = [start_symmetric(run, 1 + nb_secondaries, number)
                     for number in range(1 + nb_secondaries)]
        sent = [PACKETS, PACKETS]
        wait_for_sinks(run, sent)
        check_symmetric(run, processes, sent)


def symmetric_hotplug():
    """Another secondary process attaches and detaches a function under traffic."""
    with family("--functions", "2", "--ports", "2,1", *generators(packets=0)) as run:
        processes = [start_symmetric(run, 2, number) for number in range(2)]
        other = start_hotplug(run, 2)
        for _ in range(nb_rounds(3)):
            before = run.model.live_report()
            attach(other, pci(1))
            detach(other, pci(1))
            wait_for_sinks(run, [before.sink(1 - port)["received"] + ENOUGH
                                 for port in PORTS])
        end_example(other)
        check_symmetric(run, processes, all_sent_arrive(run))


# ---- hotplug_mp ----

def end_example(process):
    process.send("quit")
    check_equal(f"exit status of {process.name}", process.wait(), 0)


def start_hotplug(run, number):
    made = start_example(run, "hotplug_mp", number)
    made.expect("^example> ")
    return made


def attach(process, address):
    at = process.mark()
    process.send(f"attach {address}")
    process.expect(f"^attached device {address}", since=at)


def detach(process, address):
    at = process.mark()
    process.send(f"detach {address}")
    process.expect(f"^detached device {address}", since=at)


def ports(process):
    """The names of the ports of hotplug_mp."""
    at = process.mark()
    process.send("list")
    process.send("help")    # its output comes behind that of list
    text = process.expect(r"(?s:.*?)^- list$", since=at).group(0)
    return sorted(name for _, name in re.findall(r"^(\d+)\t(\S+)$", text, re.MULTILINE))


def hotplug():
    """Each process attaches and detaches a function; all processes have its ports."""
    with family("--functions", "2", "--ports", "2,1") as run:
        processes = [start_hotplug(run, number) for number in range(3)]
        first = [f"{pci(0)}_p{number}" for number in (1, 2)]
        both = [*first, pci(1)]
        for attaching in processes:
            for detaching in processes:
                attach(attaching, pci(1))
                for process in processes:
                    check_equal("ports", ports(process), both)
                detach(detaching, pci(1))
                for process in processes:
                    check_equal("ports", ports(process), first)
        for process in reversed(processes):
            end_example(process)
        run.end()


# ---- simple_mp, client_server_mp ----

def simple():
    """Processes send messages to each other, with a port that they do not use."""
    with family() as run:
        processes = []
        for number in range(2):
            processes.append(start_example(run, "simple_mp", number, nb_lcores=2))
            # A line of another thread may stand amid the prompt.
            processes[-1].expect(f"Starting core {2 * number + 1}")
        for source, target in (processes, reversed(processes)):
            for number in range(3):
                source.send(f"send hello{number}")
                target.expect(f"Received 'hello{number}'")
        for process in reversed(processes):
            end_example(process)
        run.end()


def client_server(server_first=False):
    """
    The server receives and distributes, the clients send, each with a Tx queue of its
    own. A client that is slow loses frames, which the server counts. The server stops the
    ports in a signal handler, which usually interrupts a burst.
    """
    with family("--wire", "1=sink", "--wire", "2=sink") as run:
        server = start_example(run, "client_server_mp/mp_server", 0, "--", "-p", "3", "-n",
                               "2", nb_lcores=2)
        server.expect("^Core .* displaying statistics")
        clients = [start_example(run, "client_server_mp/mp_client", number, "--", "-n",
                                 str(number - 1)) for number in (1, 2)]
        for client in clients:
            client.expect("handling packets")
        for port in PORTS:
            run.model.ctl("gen", f"port={port + 1}", f"count={PACKETS}", f"flows={FLOWS}",
                          f"stream={port * FLOWS}", *TRAFFIC.split(","))

        def counted():
            """Whether the last display of the server accounts for each frame."""
            shown = server.text.rpartition("PORTS")[2]
            number = {name: [int(found) for found in re.findall(rf"\b{name}: +(\d+)", shown)]
                      for name in ("rx", "rx_drop", "tx", "tx_drop")}
            sent = sum(run.model.live_report().sink(port)["received"] for port in PORTS)
            return number if number_fits(number, sent) else None

        number = wait_until(counted, lambda: server.text[-1000:])
        for name in ("rx", "tx"):
            check(min(number[name]) > 0, f"{number}")
        for process in (server, *clients) if server_first else (*clients, server):
            check_equal("exit status", process.interrupt(),
                        0 if process == server else 128 + signal.SIGINT)
        report = run.end(expected_errors=LOST)
        check_nothing_lost(report)
        check_intact(report, PORTS)
        for port in PORTS:
            check_equal(f"sent by port {port}", report.port(port)["tx"]["packets"],
                        number["tx"][port])


def number_fits(number, sent):
    """Rows of two ports, then of two clients; tx of a client is in the port's as well."""
    return (len(number["tx_drop"]) == 2
            and number["rx"][:2] == [PACKETS, PACKETS]
            and sum(number["rx"][2:]) + sum(number["rx_drop"]) == 2 * PACKETS
            and sum(number["tx"][2:]) + sum(number["tx_drop"]) == sum(number["rx"][2:])
            and sum(number["tx"][:2]) == sum(number["tx"][2:]) == sent)


# ---- hotplug.c ----

# Frames come at this rate whether a process takes them or not.
RATE = "ip=mix,l4=mix,rate=1M"


@contextlib.contextmanager
def forwarding(*options, devargs="", nb_secondaries=1, nb_queues=0, plugin=PLUGIN):
    """A primary process and secondary ones that forward, each with a queue."""
    with family(*generators(RATE, 0), *options, plugin=plugin) as run:
        run.start_primary(nb_queues or 1 + nb_secondaries, devargs=devargs)
        for queue in range(1, 1 + nb_secondaries):
            run.add(queue).ready()
        check_all_forward(run)
        yield run


def check_all_forward(run):
    for process in run.everything():
        process.check_forwards(ENOUGH)


def tell_primary(run, *lines):
    for line in lines:
        run.primary.command(line)


def pause_primary(run, *lines):
    """The primary process executes commands while it sends and receives nothing."""
    tell_primary(run, "pause", *lines, "resume")


def end_forwarding(run, expected_errors=(), lost_mbufs=(0, 0)):
    """
    All processes forward; then none has lost mbufs, except those of killed processes: at
    most lost_mbufs of each queue. No mbuf was freed twice.
    """
    check_all_forward(run)
    for process in run.processes:
        check_equal("exit status of a secondary process", process.quit(), 0)
    tell_primary(run, "pause", "close 0", "close 1")
    counts = re.findall(r"^mbufs of queue \d+: (\d+), (\d+) twice$",
                        run.primary.command("mbufs"), re.MULTILINE)
    check_equal("queues", len(counts), len(lost_mbufs))
    for queue, (lost, twice) in enumerate(counts):
        check(int(lost) <= lost_mbufs[queue] and twice == "0", f"mbufs: {counts}")
    run.quit()
    return run.end(expected_errors)


def finish(run, expected_errors=(), lost_mbufs=(0, 0)):
    check_intact(end_forwarding(run, expected_errors, lost_mbufs), PORTS)


def killed(*options):
    """
    A process is killed while it forwards, others go on, and another one uses the same
    queues.
    """
    rounds = nb_rounds(5)
    with forwarding(*options, nb_secondaries=2) as run:
        victim = run.processes[0]
        for _ in range(rounds):
            time.sleep(random.uniform(0, 0.05))     # any moment
            run.kill_one(victim)
            check_all_forward(run)
            victim = run.add(1).ready()
            check_all_forward(run)
        finish(run, lost_mbufs=(0, rounds * LOST_MBUFS, 0))


def is_removed(process):
    return all(process.numbers(f"removed {port}", r"^removed: (\d)$") == (1,)
               for port in PORTS)


def primary_ends(end, left):
    """
    The secondary process survives: its ports are removed. A new primary process uses
    them while it lives.
    """
    with forwarding() as run:
        other = run.processes[0]
        held = run.model.live_report().objects
        end(run.primary)
        wait_until(lambda: is_removed(other), "the ports are not removed")
        wait_until(lambda: other.seen()[2] == 2, lambda: f"events: {other.seen()}")
        before = other.forwarded()
        run.start_primary(more=[f"--file-prefix={prefix()}again"])
        run.primary.check_forwards(ENOUGH)
        check_equal("forwarded", other.forwarded(), before)
        run.quit()
        report = run.end(leaks=True, expected_errors=LOST)
        check_equal("left behind", report.leaks, left(held))


def primary_killed():
    primary_ends(lambda primary: primary.interrupt(signal.SIGKILL), Model.left_by_killed)


def primary_quits():
    primary_ends(lambda primary: check_equal("exit status", primary.quit(), 0),
                 lambda _: {})


def restart(*options):
    """The primary process stops and starts the ports while another one forwards."""
    with forwarding(*options) as run:
        for _ in range(nb_rounds(20)):
            pause_primary(run, "stop 0", "start 0", "stop 1", "start 1")
            check_all_forward(run)
        finish(run)


def reconfigure():
    """The size of the queues changes."""
    with forwarding() as run:
        for size in (64, 256, 128):
            pause_primary(run, *(f"descriptors {port} {size}" for port in PORTS))
            check_all_forward(run)
        finish(run)


def queues():
    """The primary process stops and starts a queue with which another one forwards."""
    with forwarding() as run:
        for _ in range(nb_rounds(10)):
            for port in PORTS:
                run.primary.command(f"queue {port} 1")
            check_all_forward(run)
        finish(run)


def fewer_queues():
    """A process polls a queue that its ports do not have for a while."""
    with forwarding() as run:
        for _ in range(nb_rounds(3)):
            pause_primary(run, *(f"queues {port} 1" for port in PORTS))
            before = run.processes[0].forwarded()
            run.primary.check_forwards(ENOUGH)
            check_equal("forwarded without a queue", run.processes[0].forwarded()[:2],
                        before[:2])
            pause_primary(run, *(f"queues {port} 2" for port in PORTS))
            check_all_forward(run)
        finish(run)


def stopped_meanwhile():
    """A process joins while the ports are stopped, and forwards when they start."""
    stop, start = ("pause", "stop 0", "stop 1"), ("start 0", "start 1", "resume")
    with family(*generators(RATE, 0)) as run:
        run.start_primary(2)
        tell_primary(run, *stop)
        run.add(1).ready()
        for _ in range(nb_rounds(3)):
            tell_primary(run, *start)
            check_all_forward(run)
            tell_primary(run, *stop)
        tell_primary(run, *start)
        finish(run)


def recovery(*lose):
    """The driver recovers from the loss of the device, in all processes."""
    with forwarding() as run:
        for _ in range(nb_rounds(3)):
            for words in lose:
                run.model.ctl(*words)
            check_all_forward(run)
        finish(run)


def recovery_followed_late():
    """
    A secondary process learns of the loss and the return of the device only after the
    primary process forwards again: its bursts wait for that.
    """
    with forwarding() as run:
        run.processes[0].command("block 3000")
        for words in (("remove", "fn=0"), ("return", "fn=0")):
            run.model.ctl(*words)
        run.primary.check_forwards(ENOUGH)
        check_all_forward(run)
        finish(run)


def stop_and_start(run):
    """
    The primary process stops and starts its ports. False: an operation has failed, after
    which the others are tried.
    """
    is_done = True
    for line in ("pause", "stop 0", "stop 1", "start 0", "start 1", "resume"):
        try:
            run.primary.command(line)
        except AssertionError:
            is_done = False
    return is_done


def bring_back(run):
    """False: the device is not lost."""
    try:
        run.model.ctl("return", "fn=0")
    except AssertionError:
        return False
    return True


def check_recovers(run, is_started):
    """After the return of the device. Ports that the loss has stopped are started."""
    if not is_started:
        wait_until(lambda: stop_and_start(run), "the ports do not start", pause=0.02)
    check_all_forward(run)


def loss_points():
    """
    The device is lost at each kernel call of a restart of both ports, and at doorbells and
    packets, while both processes forward.
    """
    step = 1 if os.environ.get("MANA_FAULT_SWEEP") == "all" else 17
    nb_points = 0
    with forwarding() as run:
        for loss in ("fatal", "remove"):
            for event in ("doorbell=", "packet="):
                for number in range(1, NB_EVENTS, step):
                    run.model.ctl("at", f"{event}{number}", loss, "fn=0")
                    is_started = stop_and_start(run)
                    wait_until(lambda: bring_back(run), "the device is not lost")
                    check_recovers(run, is_started)
                    nb_points += 1
            for number in itertools.count(1, step):
                run.model.ctl("at", f"call=any:{number}", loss, "fn=0")
                is_started = stop_and_start(run)
                if not bring_back(run):
                    break       # it makes fewer calls
                check_recovers(run, is_started)
                nb_points += 1
            check(number > NB_CALLS, f"a restart makes {number} kernel calls")
            # The loss that has not come.
            wait_until(lambda: not stop_and_start(run) and bring_back(run),
                       "the device is not lost", pause=0)
            check_recovers(run, False)
        finish(run, ANY)
        print(f"sweep: loss of the device, two processes: {nb_points} faults, 0 leaks")


def attach_again():
    """Without recovery the ports are removed in all processes, and attached again."""
    with forwarding(devargs=",recovery_timeout=0") as run:
        other = run.processes[0]
        run.model.ctl("remove", "fn=0")
        wait_until(lambda: is_removed(other), "the ports are not removed")
        wait_until(lambda: other.seen()[2] == 2, lambda: f"events: {other.seen()}")
        for process in run.everything():
            process.command("pause")
        run.primary.command(f"detach {pci(0)}")
        run.model.ctl("return", "fn=0")
        run.primary.command(f"attach {pci(0)}")
        for process in run.everything():
            process.command("resume")
        finish(run, expected_errors=GONE)


def reset():
    """Without recovery, the primary process resets the ports; all processes go on."""
    with forwarding(devargs=",recovery_timeout=0") as run:
        other = run.processes[0]
        for _ in range(nb_rounds(2)):
            run.model.ctl("remove", "fn=0")
            wait_until(lambda: all(map(is_removed, run.everything())),
                       "the ports are not removed")
            run.model.ctl("return", "fn=0")
            pause_primary(run, "reset 0", "reset 1")
            check_all_forward(run)
            check(not is_removed(other), "the ports remain removed")
        finish(run, expected_errors=GONE)


def detach_under_traffic():
    """The primary process detaches the function while a secondary process polls it."""
    with forwarding() as run:
        for _ in range(nb_rounds(5)):
            run.primary.command("pause")
            run.primary.command(f"detach {pci(0)}")
            run.primary.command(f"attach {pci(0)}")
            run.primary.command("resume")
            check_all_forward(run)
        finish(run)


def close_and_attach():
    """A secondary process closes its ports, and attaches them again."""
    with forwarding() as run:
        other = run.processes[0]
        for _ in range(nb_rounds(1)):
            other.command("pause")
            for port in PORTS:
                other.command(f"close {port}")
            other.command(f"attach {pci(0)},mac={mac(0)},mac={mac(1)}")
            other.command("resume")
            check_all_forward(run)
        finish(run, ("the selected ports are probed already",))


def bystanders():
    """
    A secondary process without the driver, and one that is stopped, do not disturb changes
    of the port. The stopped one follows when it continues.
    """
    with forwarding() as run:
        frozen = run.processes[0]
        stranger = run.start([PROGRAM, run.lcores(2), *eal("secondary", plugin=None), "--",
                              "0"], Program).ready()
        frozen.command("pause")
        stopped = [find_child(one.process.pid, one.name) for one in (frozen, stranger)]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        for port in PORTS:
            for _ in range(2):
                run.primary.command(f"reta {port}")
        run.primary.check_forwards(ENOUGH)
        pause_primary(run, "stop 0", "start 0", "queue 1 1")
        run.primary.check_forwards(ENOUGH)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        frozen.command("resume")
        frozen.check_forwards(ENOUGH)
        check_equal("exit status without the driver", stranger.quit(), 0)
        run.processes.remove(stranger)
        finish(run)


def blocked_signals(process):
    """{name: mask} of the threads of a process."""
    masks = {}
    for task in Path(f"/proc/{find_child(process.process.pid, process.name)}/task").iterdir():
        masks[(task / "comm").read_text()] = re.search(r"SigBlk:\s*(\w+)",
                                                       (task / "status").read_text())[1]
    return masks


def memory():
    """
    A process sends from the mempool that the primary process has created, and from its
    own. The adapter does not read memory that no other process maps.
    """
    with family() as run:
        run.start_primary(2)
        other = run.add(1).ready()
        for process in run.everything():
            process.command("pause")
        run.primary.command("map")
        blocked = blocked_signals(run.primary)
        lines = [f"pass {source} {1 - source}{own}" for own in ("", " own")
                 for source in PORTS]
        for line in (*lines, "both"):
            other.command(line)
        check_equal("private frames: errors, freed",
                    other.numbers("private 0 1", r"^private: (\d+) (\d+)$"), (32, 1))
        check_equal("signals that the primary process blocks", blocked_signals(run.primary), blocked)
        run.primary.command("pass 0 1")
        # another pool takes the place of one that the other process frees, and tells nobody
        for process in (other, run.primary, other):
            process.command("pass 0 1 own")
            process.command("pass 1 0 own")
            process.command("free")
        run.quit()
        report = run.end(expected_errors=("no key for .* does not have the memory",))
        check_nothing_lost(report)
        for port, passes in ((0, 8), (1, 6)):
            check_equal(f"sent by port {port}", report.port(port)["tx"]["packets"],
                        64 * passes)


def slow_kernel():
    """
    The kernel takes long to register memory of a process. All processes forward meanwhile,
    that one from memory that is known; then it sends from the new memory.
    """
    with family() as run:
        run.start_primary(3)
        other, bystander = (run.add(queue).ready() for queue in (1, 2))
        bystander.command("seed")
        check_all_forward(run)
        dropped = other.forwarded()[2]
        run.primary.command("kernel slow")
        check_equal("frames from new memory", other.run("seed own")[1],
                    "failed: Resource temporarily unavailable")
        run.primary.command("kernel waits")
        check_all_forward(run)
        check_equal("ports", other.stats().keys(), run.primary.stats().keys())
        run.primary.command("kernel fast")
        other.command("seed own")
        check_all_forward(run)
        check_equal("dropped by the process", other.forwarded()[2], dropped)
        end_forwarding(run, lost_mbufs=(0, 0, 0))


# ---- Faults ----

CALLS = r"driver calls: (\d+), failed: (\d+)"
ANY = (".",)


def nb_descriptors(process):
    return len(os.listdir(f"/proc/{find_child(process.process.pid, process.name)}/fd"))


def join_and_quit(run):
    other = run.add(1).ready()
    check_all_forward(run)
    check_equal("exit status", other.quit(), 0)
    run.processes.remove(other)


def each_fault(attempt, step=1):
    """
    Calls attempt("N") and attempt("N+"), N from 1 by this step, until it returns 0 failed
    calls. Returns the number of faults.
    """
    if os.environ.get("MANA_FAULT_SWEEP") == "all":
        step = 1
    total = 0
    for later in ("", "+"):
        numbers = itertools.count(1, step)
        nb = sum(1 for _ in itertools.takewhile(
            lambda number, later=later: attempt(f"{number}{later}"), numbers))
        check(nb > 1, "the driver makes no calls")
        total += nb
    return total


def end_any(run, process):
    """Ends a secondary process that started, or did not because of a fault."""
    if process.expect("^ready$|^failed: ", 120).group(0) == "ready":
        process.quit()
    else:
        process.wait()
    run.processes.remove(process)


def secondary_attempt(run, fault):
    """A process starts while calls of its driver fail: with its ports, or without."""
    other = run.add(1, {"MANA_FAULT_CALL": fault})
    end_any(run, other)
    made, failed, first = re.search(CALLS + r", first: (\w+)", other.text).groups()
    nb_errors = len(error_lines(other.text))
    print(f"secondary process: call {fault} of {made}: {first}: {nb_errors} error lines")
    return int(failed)


def primary_attempt(run, fault):
    """
    Calls of the primary process fail while a secondary one joins, and while the ports
    stop and start.
    """
    run.primary.command(f"fault {FAULT_PLUGIN} {fault}")
    other = run.add(1)
    other.expect("^ready$|^failed: ", 120)
    run.primary.command("pause")
    for line in ("stop 0", "start 0"):
        try:
            run.primary.command(line)
        except AssertionError:
            pass
    _, failed = run.primary.numbers(f"faults {FAULT_PLUGIN}", CALLS)
    run.primary.command(f"fault {FAULT_PLUGIN} 0")
    for line in ("stop 0", "start 0", "resume"):
        run.primary.command(line)
    end_any(run, other)
    print(f"primary process: call {fault}: {failed} failed")
    return failed


def faults(what, attempt, step=1):
    """
    After all attempts the primary process has lost nothing, forwards, and lets another
    process join.
    """
    with forwarding(nb_secondaries=0, nb_queues=2, plugin=FAULT_PLUGIN) as run:
        join_and_quit(run)
        before = nb_descriptors(run.primary)
        total = each_fault(lambda fault: attempt(run, fault), step)
        join_and_quit(run)
        wait_until(lambda: nb_descriptors(run.primary) == before,
                   lambda: f"{nb_descriptors(run.primary)} descriptors, {before} before")
        finish(run, ANY, lost_mbufs=(0, 0))
        print(f"sweep: {what}: {total} faults, 0 leaks")


VARIANTS = {
    **named(symmetric_hotplug, hotplug, simple, client_server, killed, primary_killed,
            primary_quits, restart, reconfigure, fewer_queues, stopped_meanwhile, queues,
            recovery_followed_late, loss_points, attach_again, reset, detach_under_traffic,
            close_and_attach, memory, slow_kernel, bystanders),
    "symmetric": lambda: symmetric(1),
    "symmetric-three": lambda: symmetric(2),
    "server-ends-first": lambda: client_server(server_first=True),
    "killed-thread": lambda: killed("--mode=thread"),
    "restart-thread": lambda: restart("--mode=thread"),
    "recovery": lambda: recovery(("remove", "fn=0"), ("return", "fn=0")),
    "recovery-reset": lambda: recovery(("reset", "fn=0", "outage=1s")),
    "faults-secondary": lambda: faults("secondary process", secondary_attempt),
    "faults-primary": lambda: faults("primary process", primary_attempt, step=7),
}

if __name__ == "__main__":
    main(VARIANTS)
