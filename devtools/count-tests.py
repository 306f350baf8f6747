#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the tests of a run of run-tests.sh.

usage: count-tests.py LOGS

LOGS contains meson's testlog.json (one object per line), and NAME.log with
NAME.status of each script. A test of meson counts as the number of cases it
reports (cmocka, unittest), or as one; a script as the number of its PASS, FAIL and
SKIP lines, or as one.
"""

import re
import sys
from pathlib import Path

import testlog


class Count:
    """Numbers of passed, failed and skipped tests, and names of those not passed."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def case(self, name, result, reason=''):
        if result == 'PASS':
            self.passed += 1
        elif result == 'SKIP':
            self.skipped.append(f'{name}: {reason}' if reason else name)
        else:
            self.failed.append(name)


def unittest_cases(output):
    """The same for a script with unittest, which names failed cases."""
    ran = re.search(r'^Ran (\d+) tests? in', output, re.M)
    if ran is None:
        return []
    failed = re.findall(r'^(?:FAIL|ERROR): (\w+)', output, re.M)
    cases = [(name, 'FAIL') for name in failed]
    return cases + [('', 'PASS')] * (int(ran.group(1)) - len(failed))


def skip_reason(output):
    found = re.search(r'(?:SKIP|skipped)[:\s]+(.*)', output)
    return found.group(1).strip() if found else ''


def count_meson(logs, count):
    for name, result, output, errors in testlog.tests(logs / 'testlog.json'):
        if result == 'SKIP':
            count.case(name, 'SKIP', skip_reason(output))
            continue
        ok = result in ('OK', 'EXPECTEDFAIL')
        cases = testlog.cmocka_cases(output) or unittest_cases(output + errors)
        if not cases:
            count.case(name, 'PASS' if ok else 'FAIL')
            continue
        for case, verdict in cases:
            count.case(f'{name}: {case}', verdict)
        if not ok and all(verdict != 'FAIL' for _, verdict in cases):
            count.case(f'{name}: {result}', 'FAIL')


def count_script(status, count):
    name = status.stem
    ok = status.read_text().strip() == 'exit 0'
    lines = re.findall(r'^(PASS|FAIL|SKIP):? (.*)$',
                       status.with_suffix('.log').read_text(errors='replace'),
                       re.M)
    for result, text in lines:
        count.case(text, result)
    if not lines:
        count.case(name, 'PASS' if ok else 'FAIL')
    elif not ok and all(result != 'FAIL' for result, _ in lines):
        count.case(f'{name}: ended early', 'FAIL')


def main():
    logs = Path(sys.argv[1])
    count = Count()
    if (logs / 'testlog.json').exists():
        count_meson(logs, count)
    else:
        count.case('meson test has left no log', 'FAIL')
    for status in sorted(logs.glob('*.status')):
        count_script(status, count)
    for name in count.skipped:
        print('skipped:', name)
    for name in count.failed:
        print('failed:', name)
    skipped = f', {len(count.skipped)} skipped' if count.skipped else ''
    print(f'{count.passed} passed, {len(count.failed)} failed{skipped}')
    sys.exit(1 if count.failed or not count.passed else 0)


if __name__ == '__main__':
    main()
