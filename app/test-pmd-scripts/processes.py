# SPDX-License-Identifier: BSD-3-Clause
"""A primary process and secondary ones on one modelled machine: hotplug.c, and others."""

import contextlib
import os
import re
import signal

import machine
from harness import check, check_equal, check_errors, check_report
from model import (PLUGIN, Console, Model, ending, find_child, mac, pci,
                   program_environment, wait_until)
from testpmd import memory_arguments
from vm import built_program

PROGRAM = built_program("hotplug")
LCORES_EACH = 2
MEGABYTES = 256


def prefix():
    """File prefix shared by the processes."""
    return next(word.split("=")[1] for word in memory_arguments("huge")
                if word.startswith("--file-prefix="))


def eal(kind, devargs="", plugin=PLUGIN, allowed=None):
    """EAL arguments of each process, without lcores."""
    driver = ["-d", plugin] if plugin else []
    return [*driver, "--log-level=*:error", *memory_arguments("huge"),
            f"--proc-type={kind}", "--no-telemetry",
            "-a", allowed or f"{pci(0)},mac={mac(0)},mac={mac(1)}{devargs}"]


class Process(Console):
    """A process of the machine."""

    def __init__(self, model, argv, more_environment=None):
        self.model = model
        self.name = os.path.basename(argv[0])
        super().__init__(model.join_command(*argv),
                         env=program_environment() | (more_environment or {}))

    def interrupt(self, number=signal.SIGINT, name=None):
        """Ends the process by a signal. Returns the launcher's exit status."""
        os.kill(find_child(self.process.pid, name or self.name), number)
        return self.wait()


class Program(Process):
    """hotplug.c as primary or secondary process."""

    def ready(self):
        self.expect(r"^ready$", 120)
        return self

    def run(self, line, timeout=120):
        """Runs a command. Returns its output and its last line."""
        at = self.mark()
        self.send(line)
        end = self.expect(r"(?s:\A|.*?^)(done|failed: .*)$", timeout, at)
        return end.group(0), end.group(1)

    def command(self, line, timeout=120):
        """Runs a command, which succeeds. Returns its output."""
        output, result = self.run(line, timeout)
        check(result == "done", f"{line}: {output}")
        return output

    def numbers(self, line, pattern):
        """The numbers in the output of a command."""
        return tuple(int(number) for number in re.search(
            pattern, self.command(line), re.MULTILINE).groups())

    def attach(self, devargs):
        """Returns the number of the new port."""
        return self.numbers(f"attach {devargs}", r"attached: (\d+)")[0]

    def stats(self):
        """{name: (sent, received)}"""
        rows = re.findall(r"^port \d+ (\S+) (\d+) (\d+)$", self.command("stats"),
                          re.MULTILINE)
        return {name: (int(sent), int(received)) for name, sent, received in rows}

    def seen(self):
        """Ports that appeared, disappeared, were removed, and rounds of reading."""
        return self.numbers("seen", r"^seen (\d+) (\d+) (\d+) (\d+)$")

    def forwarded(self):
        """Frames received, sent and dropped on the process's queue of ports 0 and 1."""
        return self.numbers("forwarded", r"^forwarded (\d+) (\d+) (\d+)$")

    def check_forwards(self, more=1000):
        """The process still forwards with its queue."""
        before = self.forwarded()[1]
        wait_until(lambda: self.forwarded()[1] >= before + more,
                   lambda: f"forwarded {before}, then {self.forwarded()}")

    def quit(self):
        self.send("quit")
        return self.wait()


class Family:
    """A machine, a primary process and its secondary processes."""

    def __init__(self, *options, plugin=PLUGIN):
        self.plugin = plugin
        self.model = Model(*options)
        # the machine ends with its program, the processes join it
        self.holder = self.model.hold()
        self.primary = None
        self.processes = []     # without the primary process
        self.programs = [self.holder]   # all that were started

    def start(self, argv, kind=Process, environment=None):
        """Starts another process, any program."""
        made = kind(self.model, argv, environment)
        self.processes.append(made)
        self.programs.append(made)
        return made

    def start_primary(self, nb_queues=1, more=(), devargs=""):
        """hotplug.c as primary process."""
        self.primary = Program(self.model, [
            PROGRAM, self.lcores(0), *eal("primary", devargs, self.plugin), "-m", str(MEGABYTES),
            *more, "--", str(nb_queues)])
        self.programs.append(self.primary)
        return self.primary.ready()

    def add(self, queue=0, environment=None, allowed=None):
        """hotplug.c as secondary process that forwards with this queue, or only reads."""
        return self.start([PROGRAM, self.lcores(queue),
                           *eal("secondary", plugin=self.plugin, allowed=allowed),
                           "--", str(queue)], Program, environment)

    @staticmethod
    def lcores(process):
        """Processes must not share lcores: a mempool has a cache for each."""
        return machine.lcores(LCORES_EACH, first=process * LCORES_EACH)

    def kill_one(self, process):
        """Kills a secondary process."""
        process.interrupt(signal.SIGKILL)
        self.processes.remove(process)

    def wait_until(self, reached, timeout=120):
        """Waits until reached(report of the running machine) is true; the report."""
        return self.model.wait_until(reached, self.holder, timeout)

    def everything(self):
        return [*self.processes, *([self.primary] if self.primary else [])]

    def quit(self):
        """Ends all processes that run, all of hotplug.c, the primary one last."""
        for process in self.everything():
            if process.process.poll() is None:
                check_equal(f"exit status of {process.argv}", process.quit(), 0)

    def end(self, expected_errors=(), leaks=False):
        """Ends the machine, whose processes have ended. Returns the report."""
        self.holder.process.stdin.close()
        check_equal("exit status of the machine", self.holder.wait(), 0)
        report = self.model.report()
        check_report(report, leaks)
        for process in self.everything():
            check_errors(process, expected_errors)
        return report


@contextlib.contextmanager
def family(*options, plugin=PLUGIN):
    """A Family that ends with the block, and shows its output on failure."""
    machine.reserve_hugepages()
    made = Family(*options, plugin=plugin)
    with ending(made.programs):
        yield made
