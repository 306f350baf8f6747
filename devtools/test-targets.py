#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the targets that tests of meson need.

usage: test-targets.py BUILD NAME...     NAME: of a test, or suite:NAME

Prints the targets, relative to the build folder.
"""

import json
import os
import sys


def load(build, what):
    with open(os.path.join(build, "meson-info", f"intro-{what}.json"), encoding="utf-8") as file:
        return json.load(file)


def names_of(test):
    """The test's name, and its suites without the project's prefix."""
    return {test["name"]} | {"suite:" + suite.partition(":")[2] for suite in test["suite"]}


def main(build, wanted):
    build = os.path.realpath(build)
    files = {target["id"]: target["filename"] for target in load(build, "targets")}
    targets, found = set(), set()
    for test in load(build, "tests"):
        if names_of(test) & set(wanted):
            found |= names_of(test)
            for target in test["depends"]:
                targets.update(os.path.relpath(file, build) for file in files[target])
    missing = set(wanted) - found
    if missing:
        sys.exit("test-targets.py: no test " + ", ".join(sorted(missing)))
    print(*sorted(targets))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
