#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Checks with pahole, from debug information: queues share no cache line, and the
control path writes no cache line that bursts use.

usage: check-layout.py OBJECT
"""

import re
import subprocess
import sys

LINE_BYTES = 64
MEMBER = re.compile(r"^\t\S.*?(\w+)(?:\[\d+\])?"
                    r"(?: __attribute__\(\(__aligned__\(\d+\)\)\))?;"
                    r"\s*/\*\s*(\d+)\s+(\d+) \*/$", re.MULTILINE)
# For each struct, the first member that bursts do not use.
CONTROL = {"mana_hwq": "queue_id", "mana_rxq": "queue_id", "mana_txq": "queue_id"}


def layout(path, name):
    """The output of pahole for a struct."""
    try:
        done = subprocess.run(["pahole", "-C", name, path], check=False,
                              capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        sys.exit("FAIL no pahole: install-deps.sh test")
    if not done.stdout.strip():
        sys.exit(f"FAIL no struct {name} in {path}: {done.stderr}")
    return done.stdout


def breaches(name, text):
    """Returns the errors of a struct."""
    size = int(re.search(r"/\* size: (\d+)", text).group(1))
    if size % LINE_BYTES != 0:
        yield f"{name}: {size} bytes end within a line"
    end = text[text.rindex("}"):]
    aligned = re.search(r"__aligned__\((\d+)\)", end)
    if aligned is None or int(aligned.group(1)) % LINE_BYTES != 0:
        yield f"{name}: does not start with a line"
    offsets = {member: int(offset) for member, offset, _ in MEMBER.findall(text)}
    first = CONTROL[name]
    if first not in offsets:
        yield f"{name}: no member {first}"
    elif offsets[first] % LINE_BYTES != 0:
        yield f"{name}: {first} at {offsets[first]} shares a line with what is before"
    print(f"{name}: {size} bytes, {len(offsets)} members, the control path's "
          f"from {offsets.get(first)} on")


def main():
    """Returns the errors of all structs."""
    found = [breach for name in CONTROL
             for breach in breaches(name, layout(sys.argv[1], name))]
    print("\n".join("FAIL " + breach for breach in found) or "PASS layout")
    return 1 if found else 0


sys.exit(main())
