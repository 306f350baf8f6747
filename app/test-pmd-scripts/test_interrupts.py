#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rx interrupts with this driver: each frame wakes the sleeping thread."""

import interrupts
from harness import check, main

LOOP = ("--wire", "loop")
MANY = 300_000
ON_THE_WIRE = 100_000
# A card that rejects arming the same CQ index twice.
MUST_ADVANCE = ("--quirk", "cq-index=must-advance")


def each_way(*quirk):
    """Frames before, at and after arming."""
    interrupts.check_interrupts(*quirk)


def loop_stress(*quirk):
    """A hundred thousand sleeps; the card works while the program arms."""
    counts = interrupts.check_woken(MANY, *LOOP, "--mode=thread", *quirk, own=True)
    check(counts["wakeups"] >= 100_000, f"only {counts}")


def wire_stress(*quirk):
    """Frames arrive at any time: during polls, arming and sleeps."""
    counts = interrupts.check_woken(
        ON_THE_WIRE, "--wire", f"1=gen:count={ON_THE_WIRE},rate=10k,size=64",
        "--mode=thread", *quirk)
    # On a busy machine several frames wait for each wake-up, and some are dropped.
    check(counts["wakeups"] >= ON_THE_WIRE // 100, f"only {counts}")


def several_queues(*quirk):
    """RSS spreads frames to four queues; the thread sleeps for all of them."""
    counts = interrupts.check_woken(
        5_000, "--wire", "1=gen:count=5000,rate=10k,size=64,flows=64",
        "--mode=thread", *quirk, nb_queues=4)
    check(counts["wakeups"] >= 4, f"only {counts}")


def one_boot():
    """The shortest run: frames that the program sends to itself."""
    interrupts.check_woken(4000, *LOOP, "--mode=thread", own=True)


VARIANTS = {"one-boot": one_boot, "each-way": each_way, "loop-stress": loop_stress,
            "wire-stress": wire_stress, "several-queues": several_queues,
            "each-way-must-advance": lambda: each_way(*MUST_ADVANCE),
            "loop-stress-must-advance": lambda: loop_stress(*MUST_ADVANCE),
            "wire-stress-must-advance": lambda: wire_stress(*MUST_ADVANCE),
            "several-queues-must-advance": lambda: several_queues(*MUST_ADVANCE)}

if __name__ == "__main__":
    main(VARIANTS)
