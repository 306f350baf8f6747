#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command that needs huge pages; skips without. With --files, it has a hugetlbfs."""

import subprocess
import sys

import machine
from model import program_environment

if __name__ == "__main__":
    command = sys.argv[1:]
    machine.reserve_hugepages()
    if command[0] == "--files":
        machine.mount_hugetlbfs()
        command = command[1:]
    sys.exit(subprocess.run(command, env=program_environment(),
                            check=False).returncode)
