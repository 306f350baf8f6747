# SPDX-License-Identifier: BSD-3-Clause
"""A command in the guest: its streams, signals and exit status. The agent is the other
side; agent.h describes the messages.
"""

import collections
import os
import select
import selectors
import signal
import socket
import struct
import time

from manavm.errors import Failure

READY, STDOUT, STDERR, CREDIT, EXIT, FAILURE = range(1, 7)
START, STDIN, SIGNAL, WINDOW, QUIT = range(32, 37)

HEAD = struct.Struct("<III")     # type, channel, bytes of the payload
NUMBER = struct.Struct("<I")
MESSAGE_MAX_BYTES = 1 << 20
READ_BYTES = 1 << 16
# Time for a command that gets SIGINT or SIGTERM to end by itself.
GRACE_S = 10
POWER_OFF_S = 60

# Streams of a command that are a terminal.
TERMINAL, OUT_TERMINAL, ERR_TERMINAL = 1, 2, 4


def message(kind, payload=b"", channel=0):
    return HEAD.pack(kind, channel, len(payload)) + payload


def output_terminals():
    """
    Flags: the output streams of a command are terminals if ours are, so that its C
    library writes by lines.
    """
    flags = OUT_TERMINAL if os.isatty(1) else 0
    if os.isatty(2) and (not flags or os.path.samestat(os.fstat(1), os.fstat(2))):
        flags |= ERR_TERMINAL
    return flags


def start_message(arguments, folder, variables, window, flags=0):
    """window: (rows, columns) of a terminal, or None for three streams."""
    rows, columns = window or (0, 0)
    strings = [*arguments, folder, *(f"{name}={value}"
                                     for name, value in variables.items())]
    flags = TERMINAL if window else flags
    payload = struct.pack("<IHHII", flags, rows, columns, len(arguments),
                          len(variables)) + \
        b"".join(os.fsencode(text) + b"\0" for text in strings)
    if len(payload) > MESSAGE_MAX_BYTES:
        raise Failure("the command is longer than 1 MiB")
    return message(START, payload)


def read_messages(buffer):
    """Takes complete messages from the front of a bytearray."""
    while len(buffer) >= HEAD.size:
        kind, channel, size = HEAD.unpack_from(buffer)
        if size > 2 * MESSAGE_MAX_BYTES:
            raise Failure(f"the guest's agent sent a message of {size} bytes")
        if len(buffer) < HEAD.size + size:
            return
        payload = bytes(buffer[HEAD.size:HEAD.size + size])
        del buffer[:HEAD.size + size]
        yield kind, channel, payload


class Ended(Exception):
    """The guest must end now, with this exit status of mana-vm."""

    def __init__(self, status, text=None):
        super().__init__(text)
        self.status = status


class Session:
    """
    Runs one command, over channel 0 of the port. stdin is a descriptor or None. The
    two kinds of sessions open their port in different ways.
    """

    def __init__(self, start, stdin, limit_s=None):
        self.start, self.stdin = start, stdin
        self.limit_s = limit_s
        self.limit_end = None if limit_s is None else time.monotonic() + limit_s
        self.grace_end, self.signal = None, None
        self.port, self.ready, self.status = None, False, None
        self.failure = None     # of the other side, once its output is written
        self.output = collections.deque()   # of (descriptor, bytearray)
        self.received, self.to_send = bytearray(), bytearray()
        self.credit = 0
        self.closed = set()
        self.selector = selectors.DefaultSelector()
        self.window_size = None    # function that returns (rows, columns)

    def open(self):
        """Registers what leads to self.port."""

    def close(self):
        """Before the end of run()."""

    def port_closed(self):
        """The other side is gone."""

    def is_blocked(self):
        """Whether no more messages may be read now."""
        return bool(self.output)

    def run(self):
        """The exit status of the command. Raises Ended or Failure."""
        wake_in, wake_out = socket.socketpair()
        wake_in.setblocking(False)
        wake_out.setblocking(False)
        handlers = {number: signal.signal(number, lambda *_: None) for number in
                    (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH)}
        old = signal.set_wakeup_fd(wake_in.fileno(), warn_on_full_buffer=False)
        try:
            self.open()
            self.selector.register(wake_out, selectors.EVENT_READ,
                                   lambda _: self._signals(wake_out.recv(64)))
            while self.output or (self.status is None and self.failure is None):
                self._step()
                self._watch_output()
            if self.status is None:
                raise self.failure
            return self.status
        finally:
            signal.set_wakeup_fd(old)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            self.close()
            self.selector.close()
            for end in (wake_in, wake_out):
                end.close()

    def watch(self, file, events, data):
        """Registers, changes or unregisters a file."""
        if file in self.selector.get_map():
            if events:
                self.selector.modify(file, events, data)
            else:
                self.selector.unregister(file)
        elif events:
            self.selector.register(file, events, data)

    def use_port(self, port):
        self.port = port
        port.setblocking(False)

    def _step(self):
        if self.port is not None:
            self.watch(self.port, (0 if self.is_blocked() else selectors.EVENT_READ) |
                       (selectors.EVENT_WRITE if self.to_send else 0), self._port)
        self._watch_input()
        ready = self.selector.select(self._wait_s())
        # The streams before the end of the machine.
        for key, events in sorted(ready, key=lambda at: at[0].data == self.port_ended):
            key.data(events)
        self.check_time()

    def port_ended(self, events):
        """For a file that becomes readable when the other side ends."""

    def ends(self):
        """Times at which check_time() has something to do."""
        return [end for end in (self.limit_end, self.grace_end) if end is not None]

    def _wait_s(self):
        ends = self.ends()
        return max(0, min(ends) - time.monotonic()) if ends else None

    def check_time(self):
        """Raises Ended at the end of a limit."""
        now = time.monotonic()
        if self.grace_end is not None and now > self.grace_end:
            raise Ended(128 + self.signal)
        if self.limit_end is not None and now > self.limit_end:
            if self.status is not None:
                raise Ended(self.status, "the output was not read: ended the guest")
            raise Ended(124, f"the command did not end within {self.limit_s:g} s: "
                             "ended the guest")

    def _signals(self, numbers):
        for number in numbers:
            if number == signal.SIGWINCH:
                if self.window_size is not None:
                    self.to_send += message(WINDOW, struct.pack("<HH",
                                                                *self.window_size()))
                continue
            if not self.ready or self.signal is not None or \
                    self.status is not None or self.failure is not None:
                raise Ended(128 + number)
            # The command may end in its own way. A second signal ends the guest.
            self.signal, self.grace_end = number, time.monotonic() + GRACE_S
            self.to_send += message(SIGNAL, NUMBER.pack(number))

    # ---- The port ----

    def _port(self, events):
        if events & selectors.EVENT_WRITE:
            self.send()
        if events & selectors.EVENT_READ:
            self.read_port()

    def read_port(self):
        """Handles what has arrived; whether there may be more."""
        try:
            data = self.port.recv(READ_BYTES)
        except BlockingIOError:
            return False
        except ConnectionError:
            data = b""
        if not data:
            self.watch(self.port, 0, None)
            self.port.close()
            self.port = None
            self.port_closed()
            return False
        self.received += data
        for kind, channel, payload in read_messages(self.received):
            self.receive(kind, channel, payload)
        return True

    def send(self):
        """Sends what the port takes."""
        try:
            del self.to_send[:self.port.send(self.to_send)]
        except BlockingIOError:
            pass
        except ConnectionError:
            self.to_send.clear()

    def receive(self, kind, _channel, payload):
        """One message from the agent."""
        if kind == READY:
            self.ready = True
            self.credit = NUMBER.unpack(payload)[0]
            self.to_send += self.start
            if self.stdin is None:
                self.to_send += message(STDIN)
        elif kind in (STDOUT, STDERR):
            fd = 1 if kind == STDOUT else 2
            self.output.append((fd, bytearray(payload)))
        elif kind == CREDIT:
            self.credit += NUMBER.unpack(payload)[0]
        elif kind == EXIT:
            self.status = NUMBER.unpack(payload)[0]
        elif kind == FAILURE:
            raise Failure(f"the guest's agent: {payload.decode(errors='replace')}")
        else:
            raise Failure(f"the guest's agent sent a message of unknown type {kind}")

    # ---- The output ----

    def _watch_output(self):
        """Waits until the stream of the oldest output is ready."""
        while self.output:
            fd = self.output[0][0]
            self.watch(3 - fd, 0, None)
            try:
                self.watch(fd, selectors.EVENT_WRITE, self._write)
                return
            except PermissionError:    # a file: always ready
                self._write(selectors.EVENT_WRITE)
        for fd in (1, 2):
            self.watch(fd, 0, None)

    def _write(self, _events):
        """Writes as much of the oldest output as a ready pipe takes without blocking."""
        fd, data = self.output[0]
        try:
            if fd not in self.closed:
                del data[:os.write(fd, data[:select.PIPE_BUF])]
        except BlockingIOError:
            return
        except BrokenPipeError:
            # As if the command wrote to a closed pipe.
            self.closed.add(fd)
            self.to_send += message(SIGNAL, NUMBER.pack(signal.SIGPIPE))
        if not data or fd in self.closed:
            self.output.popleft()

    # ---- The input ----

    def _watch_input(self):
        """Reads input while the guest takes it."""
        if self.stdin is None:
            return
        watched = self.stdin in self.selector.get_map()
        wanted = self.ready and self.status is None and self.credit > 0 and \
            len(self.to_send) < READ_BYTES
        if wanted and not watched:
            try:
                self.selector.register(self.stdin, selectors.EVENT_READ, self._input)
            except PermissionError:    # a file: always ready
                self._input(selectors.EVENT_READ)
        elif watched and not wanted:
            self.selector.unregister(self.stdin)

    def _input(self, _events):
        try:
            data = os.read(self.stdin, min(READ_BYTES, self.credit))
        except BlockingIOError:
            return
        except OSError:    # a terminal that is gone
            data = b""
        self.credit -= len(data)
        self.to_send += message(STDIN, data)
        if not data:
            if self.stdin in self.selector.get_map():
                self.selector.unregister(self.stdin)
            self.stdin = None


def describe(status):
    """An exit status of a process in words."""
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"
