# SPDX-License-Identifier: BSD-3-Clause
"""The terminal and the standard streams of mana-vm, for a session."""

import fcntl
import os
import struct
import termios
import tty

from manavm import session


def standard_input():
    """The descriptor of the standard input; None if it is closed."""
    try:
        fcntl.fcntl(0, fcntl.F_GETFD)
        return 0
    except OSError:
        return None


def window_size():
    """(rows, columns) of the terminal."""
    rows, columns = struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ,
                                                      bytes(8)))[:2]
    return rows or 24, columns or 80


def start_message(command, variables, is_interactive):
    """Starts the command; variables: texts NAME=VALUE."""
    environment = {"TERM": os.environ.get("TERM", "linux")}
    environment.update(text.split("=", 1) for text in variables)
    return session.start_message(command, "/host", environment,
                                 window_size() if is_interactive else None,
                                 session.output_terminals())


def run(talk, is_interactive):
    """Runs a session, in an interactive one with a raw terminal."""
    if not is_interactive:
        return talk.run()
    talk.window_size = window_size
    old = termios.tcgetattr(0)
    try:
        tty.setraw(0)
        return talk.run()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, old)
