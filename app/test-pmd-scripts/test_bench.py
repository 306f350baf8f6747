#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the row settings of mana-perf with testpmd."""

import json
import os
import re
import subprocess
import tempfile
from xml.etree import ElementTree

from harness import check, check_equal, fixture, main, named
from model import BUILD, MODEL, PLUGIN, mac, pci, program_environment

PERF = os.path.join(BUILD, "app", "test", "perf", "mana-perf")
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ONE_PORT = ["-a", f"{pci(0)},mac={mac(0)}"]


def rows():
    """Rows of mana-perf as {testpmd's words: {path name: row}}, measured briefly."""
    eal = ["--no-huge", "--no-shconf", "--no-telemetry", "-m", "256", "-l", "0"]
    listed = subprocess.run([PERF, *eal, "--no-pci", "--", "-l"], check=True,
                            capture_output=True, text=True, timeout=60)
    names = listed.stdout.split()
    # skip rows that differ in data location or process only, or need a newer rdma-core
    names = [name for name in names if not re.search("core|flushed|secondary|-q(1|2|4|8|16|32)$|-r(512|1024)$", name)]
    done = subprocess.run(
        [MODEL, "--mode", "step", "--functions", "2", "--ports", "1", "--quiet",
         "--max-mtu", "9000", "--fatal-violations", "--", PERF, *eal, "-a", "ffff:ff:1f.7",
         "--", "-o", PLUGIN, "-R", "1", *names],
        capture_output=True, text=True, env=program_environment(), check=False,
        timeout=300)
    check_equal("mana-perf", (done.returncode, done.stderr[-2000:] if
                              done.returncode else ""), (0, ""))
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith("ROW "):
            row = json.loads(line[4:])
            found.setdefault(row["testpmd"], {})[row["row"]] = row["path"]
    check_equal("rows", sum(map(len, found.values())), len(names))
    return found


def names_in_testpmd(settings):
    """Names of the Rx and Tx paths."""
    eal, app = (part.split() for part in settings.split(" -- "))
    types = "types" in app
    with fixture("--ports", "1", "--wire", "sink") as run:
        pmd = run.start(eal=eal + ONE_PORT, megabytes=256,
                        app=[word for word in app if word != "types"])
        if types:
            for command in ("port stop 0", "set port 0 ptype_mask 0x0fffffff",
                            "port start 0"):
                pmd.command(command)
        names = pmd.burst_modes()
        run.finish()
    return names


def path_names():
    """The path of each row equals the one testpmd reports with the same settings."""
    for settings, paths in rows().items():
        rx, tx = names_in_testpmd(settings)
        wanted = {rx, tx, f"{rx} + {tx}"}
        print(settings, paths, wanted, sep="\n  ")
        for row, path in paths.items():
            kind = row.split("-")[0]
            check_equal(f"path of {row}", path,
                        {"tx": tx, "fwd": f"{rx} + {tx}"}.get(kind, rx))


def pictures():
    """bench-picture.py draws each driver of a result, and only what was measured."""
    rows = [{"row": name, "build": "O3", "ours": ours, "rival": 400 + ours, "floor": floor}
            for name, ours, floor in (("rx-1", 110, 80), ("rx-32", 33, 30),
                                      ("tx-1", 195, 90), ("tx-32-csum", 67, None))]
    rows.append({"row": "rx-1", "build": "debian", "ours": 1, "rival": 1, "floor": 1})
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "result.json")
        with open(result, "w", encoding="utf-8") as file:
            json.dump(rows, file)
        subprocess.run([os.path.join(TOP, "devtools", "bench-picture.py"), result, folder],
                       check=True, timeout=60)
        check_equal("files", sorted(os.listdir(folder)),
                    ["bench-bursts-instructions.svg", "bench-cases-instructions.svg",
                     "result.json"])
        for name, titles in (("bursts", ["receive", "send", "1", "32"]),
                             ("cases", ["rx-32", "tx-32-csum"])):
            path = os.path.join(folder, f"bench-{name}-instructions.svg")
            words = [text.strip() for text in ElementTree.parse(path).getroot().itertext()]
            for title in ["this driver", "DPDK's own driver", "floor", *titles]:
                check(title in words, f"{name}: no {title} in {words}")
            check("receive and send" not in words, f"{name}: {words}")


if __name__ == "__main__":
    main(named(path_names, pictures))
