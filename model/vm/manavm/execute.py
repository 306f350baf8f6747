# SPDX-License-Identifier: BSD-3-Clause
"""`mana-vm exec`: one more command in a running guest."""

import argparse
import os
import socket

from manavm import guest, run, terminal
from manavm.errors import Failure

DESCRIPTION = """\
Runs COMMAND in the running guest NAME (mana-vm --name NAME), beside its own command, and
ends with COMMAND's exit status. A guest runs 16 commands at a time."""


def parse(arguments):
    """The options, and the command as options.command."""
    parser = argparse.ArgumentParser(
        prog="mana-vm exec", description=DESCRIPTION, allow_abbrev=False,
        usage="mana-vm exec [-i] [--env NAME=VALUE] NAME [--] COMMAND [ARGUMENT...]")
    parser.add_argument("-i", "--interactive", action="store_true",
                        help="run COMMAND, or a shell, on this terminal")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                        help="environment variable of COMMAND; may be repeated")
    parser.add_argument("name", metavar="NAME", help="name of the guest")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND",
                        help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.command[:1] == ["--"]:
        del options.command[0]
    if not options.command:
        if not options.interactive:
            parser.error("no COMMAND: name one, or use -i for a shell")
        options.command = ["bash"]
    if options.interactive and not os.isatty(0):
        parser.error("-i needs a terminal as standard input")
    for text in options.env:
        if "=" not in text[1:]:
            parser.error(f"--env {text}: expected NAME=VALUE")
    return options


def connect(name):
    """A connection to the mana-vm that runs the guest."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(os.path.join(run.folder_path(name), run.COMMANDS))
    except OSError as error:
        connection.close()
        raise Failure(f"no guest {name} of this user runs ({error.strerror}); start it "
                      f"with mana-vm --name {name}") from None
    return connection


def main(arguments):
    """The exit status of the command."""
    options = parse(arguments)
    with connect(options.name) as connection:
        start = terminal.start_message(options.command, options.env,
                                       options.interactive)
        return terminal.run(guest.ClientSession(connection, start,
                                                terminal.standard_input()),
                            options.interactive)
