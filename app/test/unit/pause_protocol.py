#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every run of the pause protocol of mana_pause.c, on processors that reorder.

A thread polls a queue while the control path pauses it, replaces its rings, and
resumes it. The script tries all interleavings on two kinds of processor: "tso" (x86:
a load may pass an earlier store) and "weak" (arm64: any order that no dependency,
address or barrier forbids; a load may also run before the branch that skips it). On
both, all threads see a store at once, and no store runs before an earlier branch.

membarrier() stops the other thread between two of its instructions: those before are
complete, those after have not begun (early loads are repeated).

An interrupt is enabled while the control path pauses and resumes the queue: at the
end the queue is armed, or its application has a wake-up.

Then the same with one step left out or reordered: some run must fail, or the step is
not needed.
"""

import sys

# ---- Programs -----------------------------------------------------------------
#
# A program is a list of instructions in the order of the machine code:
#   load VAR -> REG, store VAR VALUE (a number, or a REG), wait VAR until it is 0,
#   check REG REG that they are equal, membarrier.
# "unless": a register that is 0 if the instruction is reached.

LOAD, STORE, WAIT, CHECK, BARRIER = "load", "store", "wait", "check", "membarrier"


def burst(turn, without=()):
    """One poll: rings are read (two words that belong together) and written."""
    paused, old, new = f"paused{turn}", f"old{turn}", f"new{turn}"
    enter = [(STORE, "is_busy", 1, None)]
    check = [(LOAD, "paused", paused, None)]
    rings = [(LOAD, "ring_a", old, paused), (LOAD, "ring_b", new, paused),
             (CHECK, old, new, paused),
             (STORE, "ring_ci", f"{old}+{turn}", paused)]
    leave = [(STORE, "is_busy", 0, None)]
    if "enter before check" in without:
        return check + enter + rings + leave
    if "check before rings" in without:     # the compiler moves a load up
        early = [(op, *names, None) for op, *names, _ in rings[:1]]
        return enter + early + check + rings[1:] + leave
    if "rings before leave" in without:    # the compiler moves a store down
        return enter + check + rings[:3] + leave + rings[3:]
    if "check" in without:
        return enter + [(op, *names, None) for op, *names, _ in rings] + leave
    return enter + check + rings + leave


def control(without=()):
    """Pause, wait, replace, resume; no store of a burst may arrive in between."""
    parts = {
        "pause": [(STORE, "paused", 1, None)],
        "first membarrier": [(BARRIER, None, None, None)],
        "wait": [(WAIT, "is_busy", None, None)],
        "second membarrier": [(BARRIER, None, None, None)],
        "rings": [(LOAD, "ring_ci", "ci", None),
                  (STORE, "ring_a", 2, None), (STORE, "ring_b", 2, None),
                  (LOAD, "ring_ci", "ci_after", None),
                  (CHECK, "ci", "ci_after", None)],
        "third membarrier": [(BARRIER, None, None, None)],
        "resume": [(STORE, "paused", 0, None)],
    }
    return [one for name, part in parts.items() if name not in without
            for one in part]


def enable(without=()):
    """
    Enables an interrupt: withdraws a wake-up, then arms unless the queue is paused.
    asleep 0: armed, or woken.
    """
    clear = [(STORE, "asleep", 1, None)]
    check = [(LOAD, "paused", "paused", None)]
    arm = [(STORE, "asleep", 0, "paused")]
    if "clear before check" in without:
        clear, check = check, clear
    if "arm" in without:
        arm = []
    return ([(STORE, "is_busy", 1, None)] + clear + check + arm +
            [(STORE, "is_busy", 0, None)])


def pause_and_resume(without=()):
    """mana_pause() with a timeout, and mana_resume()."""
    parts = {
        "pause": [(STORE, "paused", 1, None), (BARRIER, None, None, None)],
        "resume": [(BARRIER, None, None, None), (STORE, "paused", 0, None)],
        "fourth membarrier": [(BARRIER, None, None, None)],
        "wake": [(STORE, "asleep", 0, None)],
    }
    return [one for name, part in parts.items() if name not in without
            for one in part]


# ---- Processors ---------------------------------------------------------------

class Thread:
    """A program and its order: for each position, those that must have run before."""

    def __init__(self, program, is_tso):
        self.program = program
        self.is_tso = is_tso
        self.after = [self.needs(at) for at in range(len(program))]

    @staticmethod
    def regs_read(one):
        op, first, second, unless = one
        regs = {unless} if unless else set()
        if op == STORE and isinstance(second, str):
            regs.add(second.split("+")[0])
        elif op == CHECK:
            regs |= {first, second}
        return regs

    def needs(self, at):
        """Positions that must have run before this one."""
        op, var, _, unless = self.program[at]
        reads = self.regs_read(self.program[at])
        if op == LOAD:
            reads.discard(unless)       # may run before the branch
        needs = set()
        for before, (op2, var2, second2, unless2) in enumerate(self.program[:at]):
            if BARRIER in (op, op2):
                needs.add(before)       # a full barrier of its caller
            elif op2 == LOAD and second2 in reads:
                needs.add(before)
            elif var == var2 and {op, op2} <= {LOAD, STORE, WAIT}:
                needs.add(before)       # the same address
            elif op == STORE and (op2 == WAIT or self.is_tso):
                needs.add(before)
            elif op == STORE and op2 != CHECK:
                # earlier branches: the loads they depend on
                needs |= {i for i, one in enumerate(self.program[:at])
                          if one[0] == LOAD and one[2] == unless2}
            elif self.is_tso and op2 in (LOAD, WAIT):
                needs.add(before)       # loads in order
        return needs


class Failure(Exception):
    pass


def value_of(text, regs):
    if isinstance(text, int):
        return text
    reg, _, turn = text.partition("+")
    return regs[reg] * 10 + int(turn)


def steps(threads, state):
    """Yields the next states."""
    memory, done, regs = state
    for me, thread in enumerate(threads):
        for at, (op, var, second, unless) in enumerate(thread.program):
            if at in done[me] or not thread.after[at] <= done[me]:
                continue
            now = dict(regs[me])
            is_skipped = unless is not None and now.get(unless, 0) != 0
            if op == BARRIER:
                yield from stops(threads, state, me, at)
                continue
            mem = dict(memory)
            if not is_skipped:
                if op == WAIT and mem[var] != 0:
                    continue
                if op == LOAD:
                    now[second] = mem[var]
                elif op == STORE:
                    mem[var] = value_of(second, now)
                elif op == CHECK and now[var] != now[second]:
                    raise Failure(f"{var} {now[var]} is not {second} {now[second]}")
            yield (tuple(sorted(mem.items())), replace(done, me, done[me] | {at}),
                   replace(regs, me, tuple(sorted(now.items()))))


def stops(threads, state, me, at):
    """membarrier(): the other thread is between any two instructions."""
    memory, done, regs = state
    other = 1 - me
    program = threads[other].program
    for point in range(len(program) + 1):
        if any(i not in done[other] for i in range(point)):
            continue
        ahead = {i for i in done[other] if i >= point}
        if any(program[i][0] != LOAD for i in ahead):
            continue
        left = {program[i][2] for i in ahead}
        kept = tuple(one for one in regs[other] if one[0] not in left)
        yield (memory,
               replace(replace(done, me, done[me] | {at}), other, done[other] - ahead),
               replace(regs, other, kept))


def replace(pair, at, value):
    if isinstance(value, set):
        value = frozenset(value)
    return tuple(value if i == at else one for i, one in enumerate(pair))


def failure(programs, is_tso, at_end):
    """Returns (failure of some run, or None; number of states)."""
    threads = [Thread(program, is_tso) for program in programs]
    memory = {"is_busy": 0, "paused": 0, "ring_a": 1, "ring_b": 1, "ring_ci": 0,
              "asleep": 1}
    start = (tuple(sorted(memory.items())), (frozenset(), frozenset()), ((), ()))
    seen = {start}
    todo = [start]
    try:
        while todo:
            state = todo.pop()
            nexts = [one for one in steps(threads, state) if one not in seen]
            seen.update(nexts)
            todo += nexts
            is_end = all(len(d) == len(t.program)
                         for d, t in zip(state[1], threads))
            if not is_end and not any(True for _ in steps(threads, state)):
                raise Failure("deadlock")
            for var in at_end if is_end else ():
                if dict(state[0])[var] != at_end[var]:
                    raise Failure(f"{var} is not {at_end[var]} at the end")
    except Failure as fail:
        return str(fail), len(seen)
    return None, len(seen)


# Missing or reordered steps: the processors on which a run then fails.
BROKEN = {
    "enter before check": {"tso", "weak"},
    "check": {"tso", "weak"},
    "check before rings": {"tso", "weak"},
    "rings before leave": {"tso", "weak"},
    "pause": {"tso", "weak"},
    "first membarrier": {"tso", "weak"},
    "wait": {"tso", "weak"},
    "second membarrier": {"weak"},
    "third membarrier": {"weak"},
}


BROKEN_ARMING = {
    "clear before check": {"tso", "weak"},
    "arm": {"tso", "weak"},
    "fourth membarrier": {"tso", "weak"},
    "wake": {"tso", "weak"},
}


def try_all(name, make, broken, at_end):
    """Returns the number of variants with an unexpected result."""
    wrong = 0
    for without, expected in [((), set())] + [((k,), v) for k, v in broken.items()]:
        for kind in ("tso", "weak"):
            what, nb_states = failure(make(without), kind == "tso", at_end)
            is_right = (what is not None) == (kind in expected)
            wrong += not is_right
            print(f"{'ok   ' if is_right else 'WRONG'} {kind:5}{name:14}"
                  f"{'without ' + without[0] if without else 'complete':28}"
                  f"{nb_states:8} states  {what or 'no run fails'}")
    return wrong


def polling(without):
    # a single poll shows each failure, and is faster
    return (burst(1, without) + (burst(2) if not without else []), control(without))


def arming(without):
    return enable(without), pause_and_resume(without)


def main():
    wrong = try_all("polls", polling, BROKEN, {})
    wrong += try_all("arming", arming, BROKEN_ARMING, {"asleep": 0})
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
