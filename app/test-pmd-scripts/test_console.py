#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The harness itself: it finds a command's output between other lines."""

from harness import check, check_equal, main
from model import ConsoleError, ending
from testpmd import PROMPT, Testpmd

LINE = "show port info 1"
LOG = "EAL: a thread of its own\\nand a line of it\\n"

# A testpmd replacement: reads a line, writes its argument.
STUB = ["sh", "-c", "read line; printf \"$0\"; read line"]


def output_of(written, timeout=10):
    """Result of command()."""
    with ending([Testpmd([*STUB, written])]) as (stub,):
        return stub.command(LINE, timeout)


def interrupted():
    """Lines within the echo and within the prompt."""
    check_equal("whole", output_of(LINE + "\\nanswer\\n" + PROMPT), "answer\n")
    for at in range(1, len(LINE) + 1):
        check_equal(f"echo cut at {at}",
                    output_of(LINE[:at] + LOG + LINE[at:] + "\\nanswer\\n" + PROMPT),
                    "answer\n")
    for at in range(1, len(LINE)):
        check_equal(f"echo cut at {at} and behind the next character",
                    output_of(LINE[:at] + "\\n" + LINE[at:at + 1] + LOG +
                              LINE[at + 1:] + "\\nanswer\\n" + PROMPT),
                    "answer\n")
    for at in range(1, len(PROMPT)):
        check_equal(f"prompt cut at {at}",
                    output_of(LINE + "\\nanswer\\n" + PROMPT[:at] + LOG + PROMPT[at:]),
                    "answer\n")


def silent():
    """Another command's echo, or output without a prompt, is no result."""
    for written in ("show port info 2\\nanswer\\n" + PROMPT,
                    LINE + "\\nanswer\\n" + PROMPT[:-1]):
        try:
            output_of(written, timeout=1)
        except ConsoleError:
            continue
        check(False, f"took {written!r}")


if __name__ == "__main__":
    main({"interrupted": interrupted, "silent": silent})
