#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command that needs huge pages; skips without."""

import subprocess
import sys

import machine
from model import program_environment

if __name__ == "__main__":
    machine.reserve_hugepages()
    sys.exit(subprocess.run(sys.argv[1:], env=program_environment(),
                            check=False).returncode)
