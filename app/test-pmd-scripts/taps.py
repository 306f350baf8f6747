# SPDX-License-Identifier: BSD-3-Clause
"""Testpmd between the TAP interfaces of two ports; scapy sends and receives there."""

import contextlib
import subprocess

import machine
from harness import fixture
from testpmd import TWO_PORTS


def ip(*words):
    return subprocess.run(["ip", *words], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def load_scapy():
    """Imports scapy in the namespace, because it reads the interfaces on import."""
    try:
        import frames
    except ImportError:
        machine.skip("python3-scapy is not installed")
    return frames


@contextlib.contextmanager
def tapped(*options, mtu=1500, forward="io", app=()):
    """Yields the Fixture, not forwarding yet, and the module frames."""
    machine.in_private_namespaces()
    frames = load_scapy()
    with fixture("--ports", "2", "--wire", "tap", *options) as run:
        run.start(eal=TWO_PORTS, app=[f"--forward-mode={forward}", *app])
        for tap in ("mtap0", "mtap1"):
            ip("link", "set", tap, "mtu", str(mtu), "up")
        yield run, frames
