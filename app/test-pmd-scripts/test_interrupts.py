#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Receive interrupts with this driver: who sleeps is woken, whatever the moment."""

import interrupts
from harness import check, main

LOOP = ("--wire", "loop")
MANY = 300_000


def each_way():
    """Each way in which a frame can meet an armed queue."""
    interrupts.check_interrupts()


def must_advance():
    """On a card that takes no index of a CQ twice."""
    quirk = ("--quirk", "cq-index=must-advance")
    interrupts.check_woken(4000, *LOOP, *quirk, own=True)
    interrupts.check_woken(4000, *LOOP, *quirk, "--mode=thread", own=True)


def loop_stress():
    """A hundred thousand sleeps; the card works while the program arms."""
    counts = interrupts.check_woken(MANY, *LOOP, "--mode=thread", own=True)
    check(counts["wakeups"] >= 100_000, f"only {counts}")


def wire_stress():
    """Frames come at their own time: while it polls, arms, falls asleep, sleeps."""
    counts = interrupts.check_woken(
        MANY, "--wire", f"1=gen:count={MANY},rate=10k,size=64", "--mode=thread")
    check(counts["wakeups"] >= 50_000, f"only {counts}")


VARIANTS = {"each-way": each_way, "must-advance": must_advance,
            "loop-stress": loop_stress, "wire-stress": wire_stress}

if __name__ == "__main__":
    main(VARIANTS)
