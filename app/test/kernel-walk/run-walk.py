#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs mana-kernel-walk on a machine, and the machine's commands for it.

usage: run-walk.py MANA_MODEL NAME COMMAND...

COMMAND starts the walk on the machine NAME. A line "# ctl WORDS" of its output is a
command for "mana-model ctl NAME"; the walk continues when it can read a line. All other
lines are copied.
"""

import subprocess
import sys


def main():
    model, name, *command = sys.argv[1:]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, errors="backslashreplace") as walk:
        for line in walk.stdout:
            if not line.startswith("# ctl "):
                sys.stdout.write(line)
                continue
            subprocess.run([model, "ctl", name, *line.split()[2:]], check=True)
            walk.stdin.write("done\n")
            walk.stdin.flush()
    return walk.returncode


if __name__ == "__main__":
    sys.exit(main())
