# SPDX-License-Identifier: BSD-3-Clause
"""Telemetry of a running DPDK program: Debian's dpdk-telemetry.py and the socket."""

import json
import os
import socket
import subprocess

import machine
from model import program_environment

MAX_REPLY = 16384       # MAX_OUTPUT_LEN of DPDK


class Telemetry:
    """Queries for the program with this file prefix."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.environment = program_environment()

    def ask(self, *commands):
        """Replies of dpdk-telemetry.py without the surrounding command name."""
        program = machine.need_program("dpdk-telemetry.py", "dpdk-dev")
        done = subprocess.run([program, "-f", self.prefix], check=True, timeout=60,
                              input="\n".join(commands) + "\n",
                              env=self.environment, stdout=subprocess.PIPE, text=True)
        replies = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(replies) == len(commands), done.stdout
        return [list(reply.values())[0] for reply in replies]

    def one(self, command):
        return self.ask(command)[0]

    def connect(self):
        """A Connection for many queries."""
        base = self.environment["RUNTIME_DIRECTORY"]
        return Connection(os.path.join(base, "dpdk", self.prefix, "dpdk_telemetry.v2"))


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.socket.recv(1024)

    def ask(self, command):
        self.socket.send(command.encode())
        return list(json.loads(self.socket.recv(MAX_REPLY)).values())[0]

    def close(self):
        self.socket.close()
