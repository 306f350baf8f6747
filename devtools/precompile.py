#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Precompiles DPDK's headers for repeated builds of the driver.

usage: precompile.py BUILD

Most of the compile time goes into the same headers. DPDK's flags begin with
"-include rte_config.h", which gcc first searches in the folder of the objects: it
uses a rte_config.h.gch there for all files with the same flags. gcc ignores it for
other flags; other compilers always ignore it.
"""

import json
import os
import shlex
import subprocess
import sys

HEADERS = ("rte_config.h", "errno.h", "inttypes.h", "stdio.h", "stdlib.h", "string.h",
           "unistd.h", "ethdev_driver.h", "ethdev_pci.h", "rte_ip.h", "rte_malloc.h",
           "rte_mbuf.h", "rte_tcp.h", "rte_udp.h", "rte_vect.h",
           "infiniband/verbs.h", "infiniband/manadv.h")
FEW = 8     # objects, below which it does not pay
DRIVER = os.sep + os.path.join("drivers", "net", "mana", "")


def flags_of(command):
    """The words of a compiler command without ccache, files and dependencies."""
    words = [word for word in shlex.split(command["command"]) if word != "ccache"]
    flags, with_value = [], ("-o", "-MQ", "-MF")
    at = 0
    while at < len(words):
        if words[at] in with_value:
            at += 1
        elif words[at] not in ("-c", "-MD", command["file"]):
            flags.append(words[at])
        at += 1
    at = flags.index("-include") if "-include" in flags else -1
    return flags if at < 0 or flags[at + 1] != "rte_config.h" else flags[:at] + flags[at + 2:]


def precompile(folder, command):
    made = os.path.join(command["directory"], folder, "rte_config.h.gch")
    built_by = os.path.join(command["directory"], "build.ninja")
    if os.path.exists(made) and os.path.getmtime(made) > os.path.getmtime(built_by):
        return
    os.makedirs(os.path.dirname(made), exist_ok=True)
    source = made[:-len(".gch")] + "-all.h"
    with open(source, "w", encoding="ascii") as file:
        file.writelines(f"#if __has_include(<{header}>)\n#include <{header}>\n#endif\n"
                        for header in HEADERS)
    subprocess.run([*flags_of(command), "-x", "c-header", "-o", made, source],
                   cwd=command["directory"], check=True)


def main(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    folders = {}
    for command in commands:
        path = os.path.realpath(os.path.join(command["directory"], command["file"]))
        if DRIVER in path:
            folders.setdefault(os.path.dirname(command["output"]), []).append(command)
    for folder, its in folders.items():
        if len(its) > FEW:
            precompile(folder, its[0])


if __name__ == "__main__":
    main(sys.argv[1])
