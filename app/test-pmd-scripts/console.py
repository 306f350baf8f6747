# SPDX-License-Identifier: BSD-3-Clause
"""A program that is driven through its standard input and watched on a terminal.

The output side is a pseudo-terminal, so that the program's C library writes
line by line; the input side is a pipe, so that nothing is echoed twice.
"""

import contextlib
import os
import pty
import re
import signal
import subprocess
import threading
import time
import tty


MAX_AMID = 8    # lines


def interruptible(text):
    """
    A pattern of what the program writes piece by piece, as an echo: another thread
    may write lines amid it, once.
    """
    amid = rf"(?:[^\n]*\n){{1,{MAX_AMID}}}?"
    ways = [re.escape(text)] + [re.escape(text[:at]) + amid + re.escape(text[at:])
                                for at in range(1, len(text) + 1)]
    return f"(?:{'|'.join(ways)})"


class ConsoleError(AssertionError):
    """The program did not do what was waited for."""


class Console:
    """One running program; stderr goes where stdout does, or to the given file."""

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
        """A position from which wait_for() can look."""
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
            raise ConsoleError(f"did not end within {timeout} s") from None
        self._reader.join(5)
        return status

    def kill(self):
        """Ends the program and what it started; harmless when it is gone."""
        if self.process.poll() is None:
            # Politely first: the launcher ends its program and cleans up.
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


def timeout_factor():
    """Sanitizers and slow machines stretch every time limit."""
    return float(os.environ.get("MANA_TIMEOUT_FACTOR", "1"))
