# SPDX-License-Identifier: BSD-3-Clause
"""The machine of a script, and the plug-in: a modelled machine with the imitated kernel, or
a guest with a real one (vm.py). Both are those of model/python/mana_model.py, with what
scripts need.
"""

import contextlib
import os
import subprocess

import vm       # it knows where mana_model is
import mana_model
# pylint: disable=unused-import
from mana_model import (BUILD, MODEL, TOP, Console, ConsoleError, Guest, Report,  # noqa: F401
                        children, ending, find_child, mac, program_environment,
                        timeout_factor, wait_until)

PLUGIN = os.environ.get(
    "MANA_PLUGIN", os.path.join(BUILD, "drivers", "librte_net_mana.so"))


class ImitatedModel(mana_model.Machine):
    """A machine with the imitated kernel, whose programs are processes of this host."""

    # Frames per second that arrive alone: on virtual time, any.
    LONE_RATE = "10k"
    # Error lines of the adapter that a run may cause.
    expected_lines = ()
    # The command `speed` takes effect.
    SPEED_CHANGES = True

    def expect_removal(self):
        """The function will be removed under traffic: nothing to tolerate here."""

    @staticmethod
    def left_by_killed(held):
        """What a killed program leaves of its objects: the launcher counts them."""
        return {kind: count for kind, count in held.items() if count}

    @staticmethod
    def options_of(kernel):
        """Options for the machine that make it imitate another kernel."""
        return ["--kernel", kernel] + (["--rnic"] if kernel == "6.12" else [])

    def inside_command(self, *argv):
        """A program that a program of the machine starts."""
        return list(argv)

    def run(self, *argv, check=True):
        """
        Runs a program in the machine. Returns its result with output and errors. The
        caller is a program of the machine.
        """
        return subprocess.run(self.inside_command(*argv), check=check, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def read(self, path):
        """The contents of a file, as of /proc."""
        with open(path, encoding="ascii") as file:
            return file.read()

    def links(self, folder):
        """Targets of all links in a folder."""
        targets = []
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):
                targets.append(os.readlink(f"{folder}/{name}"))
        return targets

    def pid(self, console, name):
        """The process id of a program below the launcher."""
        if console.process.args[0] != MODEL:
            return console.process.pid
        return find_child(console.process.pid, name)

    def signal(self, console, name, number):
        os.kill(self.pid(console, name), number)


def imitated_netdev(port):
    """The netdev of a port of the first function, numbered from 0."""
    return f"mana0p{port}"


if vm.SPEC:
    Model, pci, netdev = vm.Model, vm.pci, vm.netdev
else:
    Model, pci, netdev = ImitatedModel, mana_model.pci, imitated_netdev


def plugin_arguments(plugin=PLUGIN):
    """EAL finds the plug-in of a guest by itself."""
    return [] if vm.SPEC else ["-d", plugin]
