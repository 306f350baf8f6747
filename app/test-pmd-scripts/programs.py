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

import vm
from harness import check_equal, check_errors, check_report
from model import Console, Model, ending, program_environment
from testpmd import Testpmd, arguments

RESULT = "MANA_TEST_RESULT"
NAME = "MANA_TEST_MACHINE"

# The machine in which this script starts programs.
MACHINE = None
# The functions of run_inside().
FUNCTIONS = {}


def run_programs(name, *options, leaks=False, timeout=300):
    """Runs inside:name on a new machine. Returns (report, its result)."""
    model = Model(*options)
    if vm.SPEC:
        return run_beside(model, name, leaks)
    handle, path = tempfile.mkstemp(prefix="mana-result-")
    os.close(handle)
    environment = dict(program_environment(), **{RESULT: path, NAME: model.name})
    try:
        with ending([Console(model.command(sys.executable, sys.argv[0], "inside:" + name),
                             env=environment)]) as (outer,):
            check_equal("exit status", outer.wait(timeout), 0)
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
    finally:
        os.unlink(path)
    report = model.report()
    check_report(report, leaks)
    return report, result


def run_beside(model, name, leaks):
    """
    The same for a guest, which runs no Python: this script starts the programs there.
    The guest ends with its own program, at the end of its input.
    """
    with ending([model.hold()]) as (outer,):
        result = call(FUNCTIONS[name], model)
        outer.process.stdin.close()
        check_equal("exit status", outer.wait(), 0)
        report = model.report()
        check_report(report, leaks)
        return report, json.loads(json.dumps(result))


def run_inside(functions):
    """In the inner script: runs its function and exits."""
    FUNCTIONS.update(functions)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    if len(sys.argv) != 2 or not sys.argv[1].startswith("inside:"):
        return
    result = call(functions[sys.argv[1].split(":", 1)[1]], Model(name=os.environ[NAME]))
    with open(os.environ[RESULT], "w", encoding="utf-8") as file:
        json.dump(result, file)
    sys.exit(0)


def call(function, model):
    """Calls function(machine, list for its programs), which end with it."""
    global MACHINE  # pylint: disable=global-statement
    MACHINE = model
    with ending([]) as programs:
        return function(model, programs)


def start_testpmd(programs, timeout=60, eal=(), inside=(), **keywords):
    """Starts another testpmd on this machine, by the command inside if there is one."""
    prefix = f"--file-prefix=mana{os.getpid()}n{len(programs)}"
    argv = arguments(eal=[*eal, prefix], **keywords)
    pmd = Testpmd(MACHINE.inside_command(*inside, *argv), own_session=False)
    programs.append(pmd)
    pmd.start_up(timeout)
    return pmd


def end_testpmd(pmd, expected_errors=()):
    """Quits without error. Returns the counters by MAC address."""
    stats = pmd.stats()
    macs = pmd.macs()
    check_equal("exit status of testpmd", pmd.quit(), 0)
    check_errors(pmd, expected_errors)
    return {macs[number]: vars(port) for number, port in stats.items()}


def check_result(report, result):
    """The programs' counters by MAC address equal those of the wire."""
    for address, stats in result.items():
        port = report.ports[address]
        for side in ("rx", "tx"):
            for unit in ("packets", "bytes"):
                check_equal(f"{side} {unit} of {address}", stats[f"{side}_{unit}"],
                            port[side][unit])
