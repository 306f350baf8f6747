# SPDX-License-Identifier: BSD-3-Clause
"""rx_interrupt.c, a program with Rx interrupts, on a modelled machine."""

import re

from harness import check, check_equal, part
from model import (Console, Model, ending, mac, pci, plugin_arguments,
                   timeout_factor)
from testpmd import memory_arguments
from vm import built_program

LIMIT_MS = 30_000       # of a sleep; reached only by a lost wake-up


def receive(frames, *options, own=False, nb_queues=1):
    """Returns its counts by name, and the machine's report."""
    model = Model("--ports", "1", *options)
    argv = [built_program("rx_interrupt"), *plugin_arguments(), "--log-level=*:error",
            *memory_arguments("no-huge", 128), "-a", f"{pci(0)},mac={mac(0)}",
            "--", str(frames), str(int(LIMIT_MS * timeout_factor())),
            "own" if own else str(nb_queues)]
    with ending([Console(model.command(*argv))]) as (program,):
        check_equal("exit status", program.wait(120), 0)
        counts = {name: int(number) for name, number in
                  re.findall(r"^(\w+) (\d+)$", program.text, re.MULTILINE)}
        return counts, model.report()


def check_each_woken(frames, counts, report, own=False):
    """
    All frames arrived, and no wake-up was lost. The program polls only after a wake-up,
    and arms each queue again that has woken it. If the program got no processor and
    a ring was full, frames were dropped and its last sleep times out. After a lost
    wake-up frames would remain in the ring.
    """
    dropped = report.port(0)["rx"]["no_wqe"]
    check_equal("frames, and those dropped for a full ring",
                counts["frames"] + dropped, frames)
    check_equal("lost wake-ups", counts["lost"], int(dropped > 0))
    check_equal("wrong frames", counts["wrong"], 0)
    check_equal("sent", counts["sent"], frames if own else 0)
    check(counts["wakeups"] + counts["lost"] >= counts["sleeps"], f"{counts}")
    check_equal("armings", report.doorbells["cq_arm"],
                counts["wakeups"] + counts["armed"])
    check_equal("on the wire", report.port(0)["rx"]["packets"],
                counts["frames"])
    # in own mode at most 4 frames end a sleep
    check(counts["wakeups"] >= (frames // 4 if own else 1), f"{counts}")


def check_woken(frames, *options, own=False, nb_queues=1):
    counts, report = receive(frames, *options, own=own, nb_queues=nb_queues)
    check_each_woken(frames, counts, report, own)
    if nb_queues == 1:
        check_equal("wake-ups", counts["wakeups"] + counts["lost"], counts["sleeps"])
    used = sum(queue["kind"] == "rq" and queue["packets"] > 0
               for queue in report.port(0)["queues"])
    check_equal("Rx queues with frames", used, nb_queues)
    return counts


def check_interrupts(*options):
    """Sends frames at all times relative to arming."""
    loop = ("--wire", "loop", *options)
    many, alone_many = part(4000), part(3000)
    check_woken(many, *loop, own=True)
    check_woken(many, *loop, "--mode=thread", own=True)
    # On virtual time each frame arrives alone and causes a wake-up, unless another
    # program has the processor while two arrive.
    alone = check_woken(alone_many, "--wire",
                        f"1=gen:count={alone_many},rate={Model.LONE_RATE},size=64", *options)
    check(alone["wakeups"] * 3 > alone_many * 2,
          f"frames that come alone: {alone['wakeups']} wake-ups for {alone_many}")
    # Frames arrive while the program polls, arms and sleeps.
    check_woken(many, "--wire", f"1=gen:count={many},rate=20k,size=64",
                "--mode=thread", *options)
