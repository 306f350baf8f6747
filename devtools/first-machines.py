#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints tests of meson so that each program runs once.

usage: first-machines.py BUILD SUITE...

Of the tests of these suites that run one program on several machines, or one script
with several variants, only the first is printed: the order of the lists in meson.build
decides. A test that runs without the model, with arguments of its own, always counts.
"""

import json
import os
import sys


def program_of(words):
    """The program on the machine, or the script; else the whole command."""
    if os.path.basename(words[0]) == "mana-model":
        return words[words.index("--") + 1]
    script = next((word for word in words[1:] if word.endswith(".py")), None)
    return script if script and "python3" in words[0] else " ".join(words)


def main(build, suites):
    with open(os.path.join(build, "meson-info", "intro-tests.json"), encoding="utf-8") as file:
        tests = json.load(file)
    seen = set()
    for test in tests:
        if not {suite.partition(":")[2] for suite in test["suite"]} & set(suites):
            continue
        program = program_of(test["cmd"])
        if program not in seen:
            seen.add(program)
            print(test["name"])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
