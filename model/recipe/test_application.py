# SPDX-License-Identifier: BSD-3-Clause
"""Tests of a DPDK application that forwards between two ports, on a modelled machine.

An example for pytest: copy it and write what your application must do. test-application.sh
runs it. MANA_APPLICATION is the shell command of the application, in which $EAL stands for
EAL's arguments; without it, the tests run testpmd.
"""

import contextlib
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../python"))
from mana_model import BUILD, Machine, ending, find_child, mac, pci  # noqa: E402

APPLICATION = os.environ.get(
    "MANA_APPLICATION",
    "exec dpdk-testpmd $EAL -- --no-flush-rx --no-mlockall --total-num-mbufs=8192")
PLUGIN = os.path.join(BUILD, "drivers", "librte_net_mana.so")
# Two EAL threads need no processors of their own.
CPUS = ",".join(map(str, sorted(os.sched_getaffinity(0))))
EAL = (f"--lcores=0@({CPUS}),1@({CPUS}) --no-huge --no-shconf -m 256 -d {PLUGIN} "
       f"-a {pci(0)},mac={mac(0)},mac={mac(1)}")
FRAMES = 20_000     # to each port
FLOWS = 16
CHECK = "--check"   # of everything: violations, objects left, errors, lost and changed frames


@contextlib.contextmanager
def running(*options):
    """
    The application on a machine with two ports, each with a generator and a sink. At the end
    Ctrl-C ends the application; its exit status is 0 if the machine found nothing, too.
    """
    wires = [word for port in (0, 1) for word in (
        "--wire", f"{port + 1}=gen:count={FRAMES},flows={FLOWS},stream={port * FLOWS}")]
    machine = Machine(*wires, *options, strict=False)
    argv = ("sh", "-c", f"EAL='{EAL}'; {APPLICATION}")
    with ending([machine.start(*argv)]) as (program,):
        yield machine, program
        os.kill(find_child(program.process.pid, name()), signal.SIGINT)
        status = program.wait()
        assert status == 0, f"exit status {status}: {program.text[-2000:]}"


def name():
    """The name of the application's process: the first word that no shell executes."""
    words = [word for word in APPLICATION.split() if word != "exec" and "=" not in word]
    return os.path.basename(words[0])


def received(report, port):
    """Good frames that the sink of a port has seen, each once."""
    return report.sink(port)["received"]


def test_forwards_each_frame():
    with running(CHECK) as (machine, program):
        machine.wait_until(lambda report: all(
            received(report, port) == FRAMES for port in (0, 1)), program)


def test_goes_on_after_the_link_was_down():
    # Frames are lost while the link is down: only rules of the adapter are checked.
    with running("--check=violations,left") as (machine, program):
        machine.wait_until(lambda report: received(report, 0) > 0, program)
        machine.ctl("link", "port=1", "down")
        machine.ctl("link", "port=1", "up")
        before = received(machine.live_report(), 0)
        machine.ctl("gen", "port=2", "count=1000", f"flows={FLOWS}", f"stream={2 * FLOWS}")
        machine.wait_until(lambda report: received(report, 0) >= before + 1000, program)
