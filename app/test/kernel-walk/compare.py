#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares two walks of mana-kernel-walk: the model's and a kernel's.

Prints a row for each step whose answers differ and that no row of the file of known
differences explains. Exits with 1 if there is one, or if a known difference no longer
exists.
"""

import argparse
import collections
import re
import sys

NONE = "no such step"


class Known:
    """A row of the file of known differences."""

    def __init__(self, line, where):
        kernels, _, rest = line.partition("|")
        pattern, _, self.reason = rest.rpartition("|")  # a pattern may have bars
        if not kernels or not pattern or not self.reason:
            raise SystemExit(f"{where}: a row is KERNELS|PATTERN|REASON")
        self.where = where
        self.kernels = kernels.split()
        self.pattern = re.compile(pattern)
        self.nb_uses = 0


def read_known(path):
    with open(path, encoding="utf-8") as file:
        return [Known(line.rstrip("\n"), f"{path}:{number}")
                for number, line in enumerate(file, 1)
                if line.strip() and not line.startswith("#")]


def read_walk(path):
    """The steps in order: {(step, how often it was seen before): answer}."""
    seen = collections.Counter()
    steps = {}
    with open(path, encoding="utf-8", errors="backslashreplace") as file:
        for line in file:
            if line.startswith("#"):
                continue
            step, arrow, answer = line.rstrip("\n").partition(" -> ")
            if not arrow:
                raise SystemExit(f"{path}: not a step: {line!r}")
            steps[step, seen[step]] = answer
            seen[step] += 1
    return steps


def merged(model, kernel):
    """The steps of both in order; one of the kernel alone follows its predecessor."""
    order = list(model)
    at = {step: index for index, step in enumerate(order)}
    result = {step: [] for step in order}
    first, last = [], None
    for step in kernel:
        if step in at:
            last = step
        elif last is None:
            first.append(step)
        else:
            result[last].append(step)
    return first + [one for step in order for one in [step] + result[step]]


def differences(model, kernel, steps):
    for step in steps:
        ours, theirs = model.get(step, NONE), kernel.get(step, NONE)
        if ours != theirs:
            yield step[0], ours, theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--known", metavar="FILE", help="file of known differences")
    parser.add_argument("--all", action="store_true", help="print known ones too")
    parser.add_argument("--some", action="store_true",
                        help="compare only the steps that the kernel's file has")
    parser.add_argument("version", help="the kernel's version, as in that file")
    parser.add_argument("model", help="walk on the model")
    parser.add_argument("kernel", help="walk on the kernel")
    args = parser.parse_args()

    known = [row for row in (read_known(args.known) if args.known else [])
             if args.version in row.kernels]
    nb_known = nb_new = 0
    model, kernel = read_walk(args.model), read_walk(args.kernel)
    steps = kernel if args.some else merged(model, kernel)
    for step, ours, theirs in differences(model, kernel, steps):
        text = f"{step} -> {ours} <> {theirs}"
        row = next((row for row in known if row.pattern.search(text)), None)
        if row is None:
            nb_new += 1
        else:
            nb_known += 1
            row.nb_uses += 1
        if row is None or args.all:
            rows = [("model", ours), (args.version, theirs)]
            if row is not None:
                rows.append(("known", row.reason))
            print("\n".join([step] + [f"    {name + ':':<8}{value}" for name, value in rows]))
    unused = [row for row in known if row.nb_uses == 0]
    for row in unused:
        print(f"{row.where}: no such difference any more: {row.pattern.pattern}")
    print(f"{args.version}: {nb_new} differences, and {nb_known} known ones")
    return 1 if nb_new or unused else 0


if __name__ == "__main__":
    sys.exit(main())
