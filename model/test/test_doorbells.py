#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""8 threads with 8 Tx queues each: the model counts every doorbell.

usage: test_doorbells.py PER_QUEUE [launcher options]      (see model_test.py)
"""

import json
import subprocess
import sys
import tempfile

from model_test import MODEL, program

THREADS, QUEUES_EACH = 8, 8


def main():
    per_queue, *options = sys.argv[1:]
    per_queue = int(per_queue)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run(
            [MODEL, "--fatal-violations",
             "--cq-doorbell=strict", "--report", file.name, *options, "--",
             program("many_doorbells"), str(per_queue), str(THREADS), str(QUEUES_EACH)],
            stdout=subprocess.PIPE, text=True, check=True)
        with open(file.name, encoding="utf-8") as report_file:
            report = json.load(report_file)
    rung = json.loads(done.stdout)
    print(done.stdout, end="")
    sent = [queue["packets"] for queue in report["ports"][0]["queues"]]
    wanted = [per_queue] * (THREADS * QUEUES_EACH)
    total = per_queue * THREADS * QUEUES_EACH
    checks = {
        "doorbells that the program rang": (rung["sq"], total),
        "doorbells that the machine counted": (report["doorbells"]["sq"], total),
        "CQ doorbells": (report["doorbells"]["cq"], rung["cq"]),
        "packets by queue": (sent, wanted),
        "queues left": (any(queue["alive"] for queue in report["ports"][0]["queues"]), False),
        "packets of the port": (report["ports"][0]["tx"]["packets"], total),
        "packets at the other end": (report["ports"][1]["rx"]["no_steering"], total),
        "violations": (report["violations"], []),
        "left behind": (any(report["leaks"].values()), False),
    }
    wrong = {name: pair for name, pair in checks.items() if pair[0] != pair[1]}
    for name, (got, want) in wrong.items():
        print(f"{name}: {got}, not {want}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
