#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A small program with libibverbs and libmana, mana-first-contact, holds the same kinds of
objects as testpmd: the kernel prints the messages that other scripts tolerate
(expected_messages) for it too, all of them and no further one.
"""

import re

from application import application
from harness import check, check_equal, main
from model import wait_until
from test_guest_report import fail_destruction
from test_removal import MACHINE, request_reset, reset_function, stop_answering

MESSAGES_S = 90     # Linux 7.3 waits 30 s for an answer


def missing(model):
    """Patterns of expected_messages that match no line of the kernel so far."""
    with open(model.log_path, encoding="utf-8", errors="replace") as file:
        log = file.read()
    return [pattern for pattern in model.expected_messages if not re.search(pattern, log)]


def all_messages(cause, before_end=True):
    """before_end: the kernel's messages come while the program runs."""
    with application(["mana-first-contact", "--reflect"], *MACHINE) as program:
        model = program.model
        program.expect("^returns frames")
        cause(model)
        if before_end:
            wait_until(lambda: not missing(model), lambda: f"messages {missing(model)}",
                       timeout=MESSAGES_S)
        check_equal("exit status", program.interrupt(), 0)
        check(model.expected_messages, "no message is tolerated")
        check_equal("patterns without a message", missing(model), [])
        model.report()      # no further message


IN_GUEST = {
    "silent": lambda: all_messages(stop_answering),
    "reset": lambda: all_messages(request_reset),
    "flr": lambda: all_messages(reset_function),
    "left": lambda: all_messages(fail_destruction, before_end=False),
}

if __name__ == "__main__":
    main({}, IN_GUEST)
