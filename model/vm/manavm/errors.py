# SPDX-License-Identifier: BSD-3-Clause
"""Errors and messages of mana-vm."""

import sys

# Exit status if mana-vm itself fails, as of timeout and env.
EXIT_FAILURE = 125


class Failure(Exception):
    """An error with a text for the user: what failed, why, and what helps."""


class NotBooted(Failure):
    """The guest ended before it could run a command."""


class Hung(NotBooted):
    """The guest's kernel stopped printing while it booted."""


class Stale(Failure):
    """The mirror does not have a package of our index any more."""


def say(text):
    """Progress of a long step, on stderr."""
    print(f"mana-vm: {text}", file=sys.stderr, flush=True)
