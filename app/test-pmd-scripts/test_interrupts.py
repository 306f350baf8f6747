#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rx interrupts with this driver: each frame wakes the sleeping thread."""

import interrupts
from harness import check, main

LOOP = ("--wire", "loop")
MANY = 300_000
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
        MANY, "--wire", f"1=gen:count={MANY},rate=10k,size=64", "--mode=thread", *quirk)
    check(counts["wakeups"] >= 50_000, f"only {counts}")


VARIANTS = {"each-way": each_way, "loop-stress": loop_stress,
            "wire-stress": wire_stress,
            "each-way-must-advance": lambda: each_way(*MUST_ADVANCE),
            "loop-stress-must-advance": lambda: loop_stress(*MUST_ADVANCE),
            "wire-stress-must-advance": lambda: wire_stress(*MUST_ADVANCE)}

if __name__ == "__main__":
    main(VARIANTS)
