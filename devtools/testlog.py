# SPDX-License-Identifier: BSD-3-Clause
"""Reads meson's testlog.json: one object per line and test."""

import json
import re


def tests(path):
    """Yields (name, result, output, errors) of each test."""
    for line in path.read_text().splitlines():
        test = json.loads(line)
        yield (test['name'].split(' / ')[-1], test['result'],
               test.get('stdout') or '', test.get('stderr') or '')


def cmocka_cases(output):
    """[(name, result)] of a cmocka program."""
    words = {'OK': 'PASS', 'FAILED': 'FAIL', 'SKIPPED': 'SKIP'}
    found = {}
    # The end of the output repeats the names of failed tests.
    for word, name in re.findall(
            r'\[\s+(OK|FAILED|SKIPPED)\s+\] (\w+)$', output, re.M):
        found[name] = words[word]
    return list(found.items())
