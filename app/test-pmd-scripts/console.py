# SPDX-License-Identifier: BSD-3-Clause
"""A program with a pipe as standard input and a pseudo-terminal as output.

On a terminal the program's C library writes line by line; the pipe causes no echo.
"""

import contextlib
import glob
import os
import pty
import re
import signal
import subprocess
import threading
import time
import tty

from model import timeout_factor

MAX_BETWEEN = 8    # log lines at one place


def interruptible(text):
    """
    A pattern for text that the program writes character by character, as an echo: other
    threads may write lines between two characters.
    """
    between = rf"(?:[^\n]*\n){{0,{MAX_BETWEEN}}}?"
    return f"(?:{''.join(re.escape(c) + between for c in text)})"


def session_threads(session):
    """Process, thread, state and place in the kernel of each thread of a session."""
    for task in glob.glob("/proc/[0-9]*/task/[0-9]*"):
        with contextlib.suppress(OSError):
            with open(f"{task}/stat", encoding="utf-8") as file:
                name, _, rest = file.read().rpartition(")")
            with open(f"{task}/wchan", encoding="ascii") as file:
                place = file.read()
            if rest.split()[3] == str(session):
                yield (task.split("/")[2], name.partition("(")[2], rest.split()[0], place)


class ConsoleError(AssertionError):
    """The expected output or event did not happen."""


class Console:
    """A running program; stderr goes with stdout or to the given file."""

    def __init__(self, argv, env=None, own_session=True, stderr=None):
        self.argv = list(argv)
        self._own_session = own_session
        self._text = ""
        self._eof = False
        self._grown = threading.Condition()
        master, slave = pty.openpty()
        tty.setraw(slave)
        try:
            self.process = subprocess.Popen(
                self.argv, stdin=subprocess.PIPE, stdout=slave, stderr=stderr or slave,
                env=env, start_new_session=own_session)
        finally:
            os.close(slave)
        self._master = master
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:     # EIO: the last writer has closed
                data = b""
            with self._grown:
                if data:
                    self._text += data.decode("utf-8", "replace").replace("\r", "")
                else:
                    self._eof = True
                self._grown.notify_all()
            if not data:
                return

    @property
    def text(self):
        """All output so far."""
        with self._grown:
            return self._text

    def mark(self):
        """A position for wait_for()."""
        with self._grown:
            return len(self._text)

    def wait_for(self, pattern, timeout=60, since=0):
        """Waits for a regular expression; returns the match."""
        regex = re.compile(pattern, re.MULTILINE)
        end = time.monotonic() + timeout * timeout_factor()
        with self._grown:
            while True:
                match = regex.search(self._text, since)
                if match:
                    return match
                left = end - time.monotonic()
                if self._eof:
                    raise ConsoleError(
                        f"the program ended before /{pattern}/ appeared")
                if left <= 0:
                    raise ConsoleError(f"no /{pattern}/ within {timeout} s")
                self._grown.wait(left)

    def send(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def wait(self, timeout=60):
        """Waits for the end; returns the exit status (negative: signal)."""
        try:
            status = self.process.wait(timeout * timeout_factor())
        except subprocess.TimeoutExpired:
            raise ConsoleError(f"did not end within {timeout} s, has the threads "
                               f"{list(session_threads(self.process.pid))}") from None
        self._reader.join(5)
        return status

    def kill(self):
        """Ends the program and its children, if it runs."""
        if self.process.poll() is None:
            # SIGTERM first, so that the launcher ends its program and cleans up.
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
        if self._own_session:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if not self.process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
