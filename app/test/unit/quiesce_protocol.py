#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every run of the quiesce protocol of mana_quiesce.h, on processors that reorder.

A queue is polled while the control path holds it, replaces what is in it, and lets
go. All interleavings are tried, on two kinds of processor: "tso" (x86: a load may
pass an earlier store) and "weak" (arm64: whatever no dependency, address or barrier
forbids; a load also runs ahead of the branch that decides whether it is wanted). On
both a store is seen by all at once, and no store runs ahead of a branch.

membarrier() stops the other thread between two of its instructions: those before are
complete, those behind have not begun (what was loaded ahead is loaded again).

An interrupt is enabled while the control path holds the queue and lets go: the queue
is armed in the end, by one of the two.

Then the same with one thing of the protocol left out, or in another order: a run in
which it fails must be found, or the thing is not needed.
"""

import sys

# ---- Programs -----------------------------------------------------------------
#
# A program is a list of instructions in the order of the machine code:
#   load VAR -> REG, store VAR VALUE (a number, or a REG), wait VAR until it is 0,
#   check REG REG that they are equal, membarrier.
# "unless": the register that has to be 0 for the instruction to be reached.

LOAD, STORE, WAIT, CHECK, BARRIER = "load", "store", "wait", "check", "membarrier"


def burst(turn, without=()):
    """One poll: rings are read (two words that belong together) and written."""
    held, old, new = f"held{turn}", f"old{turn}", f"new{turn}"
    enter = [(STORE, "is_busy", 1, None)]
    look = [(LOAD, "held", held, None)]
    rings = [(LOAD, "ring_a", old, held), (LOAD, "ring_b", new, held),
             (CHECK, old, new, held),
             (STORE, "ring_ci", f"{old}+{turn}", held)]
    leave = [(STORE, "is_busy", 0, None)]
    if "enter before look" in without:
        return look + enter + rings + leave
    if "look before rings" in without:     # the compiler moves a load up
        early = [(op, *names, None) for op, *names, _ in rings[:1]]
        return enter + early + look + rings[1:] + leave
    if "rings before leave" in without:    # and a store down
        return enter + look + rings[:3] + leave + rings[3:]
    if "look" in without:
        return enter + [(op, *names, None) for op, *names, _ in rings] + leave
    return enter + look + rings + leave


def control(without=()):
    """Hold, wait, replace, let go; no store of a burst may arrive in between."""
    parts = {
        "hold": [(STORE, "held", 1, None)],
        "first membarrier": [(BARRIER, None, None, None)],
        "wait": [(WAIT, "is_busy", None, None)],
        "second membarrier": [(BARRIER, None, None, None)],
        "rings": [(LOAD, "ring_ci", "ci", None),
                  (STORE, "ring_a", 2, None), (STORE, "ring_b", 2, None),
                  (LOAD, "ring_ci", "ci_after", None),
                  (CHECK, "ci", "ci_after", None)],
        "third membarrier": [(BARRIER, None, None, None)],
        "let go": [(STORE, "held", 0, None)],
    }
    return [one for name, part in parts.items() if name not in without
            for one in part]


def enable(without=()):
    """mana_rxq_arm(): noted, then done unless the queue is held."""
    note = [(STORE, "is_none_due", 0, None)]
    look = [(LOAD, "held", "held", None)]
    done = [(STORE, "is_armed", 1, "held"), (STORE, "is_none_due", 1, "held")]
    if "note before look" in without:
        # nothing is noted that was done
        note, look = look, [(STORE, "is_none_due", 0, None)]
    if "note" in without:
        note = []
    return ([(STORE, "is_busy", 1, None)] + note + look + done +
            [(STORE, "is_busy", 0, None)])


def hold_and_let_go(without=()):
    """mana_quiesce_rx() that gives up, and mana_quiesce_end()."""
    parts = {
        "hold": [(STORE, "held", 1, None), (BARRIER, None, None, None)],
        "let go": [(BARRIER, None, None, None), (STORE, "held", 0, None)],
        "fourth membarrier": [(BARRIER, None, None, None)],
        "look for notes": [(LOAD, "is_none_due", "none", None)],
        "arm": [(STORE, "held", 1, "none"), (BARRIER, None, None, None),
                (WAIT, "is_busy", None, "none"), (BARRIER, None, None, None),
                (STORE, "is_none_due", 1, "none"), (STORE, "is_armed", 1, "none"),
                (BARRIER, None, None, None), (STORE, "held", 0, "none")],
    }
    return [one for name, part in parts.items() if name not in without
            for one in part]


# ---- Processors ---------------------------------------------------------------

class Thread:
    """What has run of a program: a set of positions, and registers."""

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
            reads.discard(unless)       # it runs ahead of the branch
        needs = set()
        for before, (op2, var2, second2, unless2) in enumerate(self.program[:at]):
            if BARRIER in (op, op2):
                needs.add(before)       # its caller's own full barrier
            elif op2 == LOAD and second2 in reads:
                needs.add(before)
            elif var == var2 and {op, op2} <= {LOAD, STORE, WAIT}:
                needs.add(before)       # the same address
            elif op == STORE and (op2 == WAIT or self.is_tso):
                needs.add(before)
            elif op == STORE and op2 != CHECK:
                # branches before it: what they look at
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
    """The states one step away."""
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
    """membarrier(): the other thread is between two instructions, whichever."""
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
    """(What goes wrong in some run, or None; the number of states)."""
    threads = [Thread(program, is_tso) for program in programs]
    memory = {"is_busy": 0, "held": 0, "ring_a": 1, "ring_b": 1, "ring_ci": 0,
              "is_none_due": 1, "is_armed": 0}
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
                raise Failure("nothing can go on")
            for var in at_end if is_end else ():
                if dict(state[0])[var] != at_end[var]:
                    raise Failure(f"{var} is not {at_end[var]} in the end")
    except Failure as fail:
        return str(fail), len(seen)
    return None, len(seen)


# What is left out: the processors on which a run then fails.
BROKEN = {
    "enter before look": {"tso", "weak"},
    "look": {"tso", "weak"},
    "look before rings": {"tso", "weak"},
    "rings before leave": {"tso", "weak"},
    "hold": {"tso", "weak"},
    "first membarrier": {"tso", "weak"},
    "wait": {"tso", "weak"},
    "second membarrier": {"weak"},
    "third membarrier": {"weak"},
}


BROKEN_ARMING = {
    "note": {"tso", "weak"},
    "note before look": {"tso", "weak"},
    "fourth membarrier": {"tso", "weak"},
    "arm": {"tso", "weak"},
}


def try_all(name, make, broken, at_end):
    """The number of variants whose runs do not go as expected."""
    wrong = 0
    for without, expected in [((), set())] + [((k,), v) for k, v in broken.items()]:
        for kind in ("tso", "weak"):
            what, nb_states = failure(make(without), kind == "tso", at_end)
            is_right = (what is not None) == (kind in expected)
            wrong += not is_right
            print(f"{'ok   ' if is_right else 'WRONG'} {kind:5}{name:8}"
                  f"{'without ' + without[0] if without else 'as it is':28}"
                  f"{nb_states:8} states  {what or 'no run fails'}")
    return wrong


def polling(without):
    # one poll is enough for each failure, and quicker
    return (burst(1, without) + (burst(2) if not without else []), control(without))


def arming(without):
    return enable(without), hold_and_let_go(without)


def main():
    wrong = try_all("polls", polling, BROKEN, {})
    wrong += try_all("arming", arming, BROKEN_ARMING, {"is_armed": 1})
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
