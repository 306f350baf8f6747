#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the tests that ./test --gate runs with sanitizers.

usage: sanitized-tests.py BUILD

BUILD is a build folder with sanitizers. The lines "sanitizers PATTERN" of test-forms.txt
name the tests.
"""

import fnmatch
import json
import sys
from pathlib import Path

FORMS = Path(__file__).resolve().parent / 'test-forms.txt'


def main(build):
    tests = json.loads((Path(build) / 'meson-info/intro-tests.json').read_text())
    names = [test['name'] for test in tests]
    found = {}
    for number, line in enumerate(FORMS.read_text().splitlines(), 1):
        words = line.partition('#')[0].split()
        if words and words[0] == 'sanitizers':
            matches = fnmatch.filter(names, words[1])
            if not matches:
                sys.exit(f'test-forms.txt:{number}: no test is named {words[1]}')
            found.update(dict.fromkeys(matches))
    print(*found, sep='\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
