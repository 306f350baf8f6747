# SPDX-License-Identifier: BSD-3-Clause
"""Several programs on one machine.

The machine's program is this script again with the argument inside:NAME, which starts
testpmd any number of times. The outer script gets the function's result and compares it
with the report.
"""

import json
import os
import signal
import sys
import tempfile

from console import Console
from model import Model, program_environment
from testpmd import Testpmd, arguments
from harness import check_equal, check_report

RESULT = "MANA_TEST_RESULT"
NAME = "MANA_TEST_MACHINE"


def run_programs(name, *options, strict=True, leaks=False, timeout=300):
    """Runs inside:name on a new machine. Returns (report, its result)."""
    model = Model(*options, strict=strict)
    handle, path = tempfile.mkstemp(prefix="mana-result-")
    os.close(handle)
    environment = dict(program_environment(), **{RESULT: path, NAME: model.name})
    outer = Console(model.command(sys.executable, sys.argv[0], "inside:" + name),
                    env=environment)
    try:
        check_equal("exit status", outer.wait(timeout), 0)
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        report = model.report()
        check_report(report, leaks)
        return report, result
    except BaseException:
        print(outer.text)
        raise
    finally:
        outer.kill()
        os.unlink(path)


def run_inside(functions):
    """In the inner script: runs its function and exits."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    if len(sys.argv) != 2 or not sys.argv[1].startswith("inside:"):
        return
    model = Model(name=os.environ[NAME])
    programs = []
    try:
        result = functions[sys.argv[1].split(":", 1)[1]](model, programs)
    except BaseException:
        for program in programs:
            print("---- command:", " ".join(program.argv))
            print(program.text)
            print("----")
        raise
    finally:
        for program in programs:
            program.kill()
    with open(os.environ[RESULT], "w", encoding="utf-8") as file:
        json.dump(result, file)
    sys.exit(0)


def start_testpmd(programs, timeout=60, eal=(), **keywords):
    """Starts another testpmd on this machine."""
    prefix = f"--file-prefix=mana{os.getpid()}n{len(programs)}"
    pmd = Testpmd(arguments(eal=[*eal, prefix], **keywords), own_session=False)
    programs.append(pmd)
    pmd.start_up(timeout)
    return pmd


def end_testpmd(pmd, expected_errors=()):
    """Quits without error. Returns the counters by MAC address."""
    stats = pmd.stats()
    macs = pmd.macs()
    check_equal("exit status of testpmd", pmd.quit(), 0)
    check_equal("error lines", pmd.errors(expected_errors), [])
    return {macs[number]: vars(port) for number, port in stats.items()}


def check_result(report, result):
    """The programs' counters by MAC address equal those of the wire."""
    for address, stats in result.items():
        port = report.ports[address]
        for side in ("rx", "tx"):
            for unit in ("packets", "bytes"):
                check_equal(f"{side} {unit} of {address}", stats[f"{side}_{unit}"],
                            port[side][unit])
