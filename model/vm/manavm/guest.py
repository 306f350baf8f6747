# SPDX-License-Identifier: BSD-3-Clause
"""The session of the guest's own command. It also relays the messages of further
commands: each client of `mana-vm exec` has a channel of the port.
"""

import os
import selectors
import signal
import time

from manavm import session
from manavm.errors import Failure, Hung, NotBooted

# Part of the time to boot: a kernel that prints nothing for so long hangs.
SILENCE = 1 / 4
NB_CHANNELS = 16            # of the agent, see agent.h
# A client that does not read stops the output of all commands, as mana-vm's own does.
CLIENT_MAX_BYTES = 1 << 20
FROM_CLIENT = {session.START, session.STDIN, session.SIGNAL, session.WINDOW}


class Client:
    """A connection of `mana-vm exec`."""

    def __init__(self, connection, channel):
        self.connection, self.channel = connection, channel
        self.received, self.to_send = bytearray(), bytearray()
        self.started, self.ended = False, False


class GuestSession(session.Session):
    """
    listener is the socket to which QEMU connects, process the machine, commands the
    listening socket for clients or None. nb_log_bytes is a function that returns how
    much the guest's kernel has printed.
    """

    def __init__(self, listener, process, start, stdin, boot_s, limit_s=None,
                 commands=None, nb_log_bytes=lambda: 0):
        super().__init__(start, stdin, limit_s)
        self.listener, self.process, self.commands = listener, process, commands
        self.boot_s = boot_s
        self.boot_end = time.monotonic() + boot_s
        self.nb_log_bytes, self.nb_logged_bytes = nb_log_bytes, 0
        self.silence_s = boot_s * SILENCE
        self.silence_end = time.monotonic() + self.silence_s
        self.alive = None
        self.clients = {}       # by channel; None: the client is gone
        self.window_bytes = b""

    def open(self):
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ, self._accept)
        self.alive = os.pidfd_open(self.process.pid)
        self.selector.register(self.alive, selectors.EVENT_READ, self.port_ended)

    def close(self):
        if self.status is not None and self.port is not None:
            self.to_send += session.message(session.QUIT)
            self.send()
        for client in self.clients.values():
            if client is not None:
                client.connection.close()
        if self.alive is not None:
            os.close(self.alive)

    def _accept(self, _events):
        self.selector.unregister(self.listener)
        self.use_port(self.listener.accept()[0])

    def port_ended(self, events):
        status = self.process.wait()
        self.watch(self.alive, 0, None)
        # All that left the guest is in the socket.
        while self.port is not None and self.read_port():
            pass
        self.failure = (Failure if self.ready else NotBooted)(
            "the guest ended before the command (panic, power off or restart); its last "
            "output may be lost" if status == 0 else
            f"the virtual machine failed: {session.describe(status)}")

    def ends(self):
        return super().ends() + (
            [] if self.ready else [self.boot_end, self.silence_end])

    def check_time(self):
        super().check_time()
        now = time.monotonic()
        if not self.ready and now > self.silence_end:
            nb_bytes = self.nb_log_bytes()
            if nb_bytes == self.nb_logged_bytes:
                raise Hung("the guest's kernel hung while it booted: it printed nothing "
                           f"for {self.silence_s:g} s (MANA_TIMEOUT_FACTOR extends it)")
            self.nb_logged_bytes = nb_bytes
            self.silence_end = now + self.silence_s
        if not self.ready and now > self.boot_end:
            raise Failure(f"the guest did not boot within {self.boot_s:g} s "
                          "(MANA_TIMEOUT_FACTOR extends it)")

    def is_blocked(self):
        return super().is_blocked() or any(
            client is not None and len(client.to_send) > CLIENT_MAX_BYTES
            for client in self.clients.values())

    # ---- Clients ----

    def receive(self, kind, channel, payload):
        if kind == session.READY:
            self.window_bytes = payload
            if self.commands is not None:
                self.commands.setblocking(False)
                self.selector.register(self.commands, selectors.EVENT_READ,
                                       self._accept_client)
        if channel == 0:
            super().receive(kind, channel, payload)
            return
        client = self.clients.get(channel)
        if client is not None:
            self._send_client(client, session.message(kind, payload))
        # After a failure there is no command.
        if kind in (session.EXIT, session.FAILURE):
            if client is not None:
                client.ended = True
                self._flush(client)
            else:
                self.clients.pop(channel, None)

    def _accept_client(self, _events):
        connection, _ = self.commands.accept()
        connection.setblocking(False)
        channel = next((number for number in range(1, NB_CHANNELS)
                        if number not in self.clients), None)
        client = Client(connection, channel)
        if channel is None:
            # It is short enough for the socket's buffer.
            connection.send(session.message(session.FAILURE, b"%d commands run already"
                                            % NB_CHANNELS))
            connection.close()
            return
        self.clients[channel] = client
        self._send_client(client, session.message(session.READY, self.window_bytes))

    def _watch(self, client):
        self.watch(client.connection, selectors.EVENT_READ |
                   (selectors.EVENT_WRITE if client.to_send else 0),
                   lambda events: self._client(client, events))

    def _client(self, client, events):
        if self.clients.get(client.channel) is not client:
            return      # an earlier event of this round ended it
        if events & selectors.EVENT_WRITE:
            self._flush(client)
        if events & selectors.EVENT_READ and not client.ended:
            try:
                data = client.connection.recv(session.READ_BYTES)
            except BlockingIOError:
                return
            except ConnectionError:
                data = b""
            if not data:
                self._drop(client)
                return
            client.received += data
            for kind, _, payload in session.read_messages(client.received):
                if kind not in FROM_CLIENT:
                    self._drop(client)
                    return
                client.started |= kind == session.START
                self.to_send += session.message(kind, payload, client.channel)

    def _send_client(self, client, data):
        client.to_send += data
        self._flush(client)

    def _flush(self, client):
        try:
            while client.to_send:
                del client.to_send[:client.connection.send(client.to_send)]
        except BlockingIOError:
            pass
        except ConnectionError:
            self._drop(client)
            return
        if client.ended and not client.to_send:
            self._drop(client)
        else:
            self._watch(client)

    def _drop(self, client):
        """Closes the connection. A command without its client is killed."""
        self.watch(client.connection, 0, None)
        client.connection.close()
        if client.started and not client.ended:
            self.clients[client.channel] = None
            self.to_send += session.message(
                session.SIGNAL, session.NUMBER.pack(signal.SIGKILL), client.channel)
        else:
            self.clients.pop(client.channel, None)


class ClientSession(session.Session):
    """The session of `mana-vm exec`, over a connected socket."""

    def __init__(self, connection, start, stdin):
        super().__init__(start, stdin)
        self.use_port(connection)

    def port_closed(self):
        self.failure = Failure("the guest ended before the command; its last output may "
                               "be lost")
