#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The harness itself: a command's output is found whatever is written amid it."""

from console import ConsoleError
from harness import check, check_equal, main
from testpmd import PROMPT, Testpmd

LINE = "show port info 1"
LOG = "EAL: a thread of its own\\nand a line of it\\n"

# A testpmd of few words: reads a line, writes what its arguments say.
STUB = ["sh", "-c", "read line; printf \"$0\"; read line"]


def output_of(written, timeout=10):
    """What command() makes of it."""
    stub = Testpmd(STUB[:2] + [STUB[2], written])
    try:
        return stub.command(LINE, timeout)
    finally:
        stub.kill()


def interrupted():
    """At each place of the echo, and of the prompt."""
    check_equal("whole", output_of(LINE + "\\nanswer\\n" + PROMPT), "answer\n")
    for at in range(1, len(LINE) + 1):
        check_equal(f"echo cut at {at}",
                    output_of(LINE[:at] + LOG + LINE[at:] + "\\nanswer\\n" + PROMPT),
                    "answer\n")
    for at in range(1, len(PROMPT)):
        check_equal(f"prompt cut at {at}",
                    output_of(LINE + "\\nanswer\\n" + PROMPT[:at] + LOG + PROMPT[at:]),
                    "answer\n")


def silent():
    """Neither another command's echo nor an answer without a prompt will do."""
    for written in ("show port info 2\\nanswer\\n" + PROMPT,
                    LINE + "\\nanswer\\n" + PROMPT[:-1]):
        try:
            output_of(written, timeout=1)
        except ConsoleError:
            continue
        check(False, f"took {written!r}")


if __name__ == "__main__":
    main({"interrupted": interrupted, "silent": silent})
