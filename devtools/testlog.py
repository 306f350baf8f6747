# SPDX-License-Identifier: BSD-3-Clause
"""Reads meson's testlog.json: one object per line and test."""

import json
import re
from collections import namedtuple

# result is meson's word (OK, FAIL, TIMEOUT, SKIP, ...), status the exit status.
Test = namedtuple('Test', 'name result output errors seconds status')

# The line that says best why a program failed; the first expression that matches counts.
CAUSES = (
    r'.*(?:SUMMARY: \w+Sanitizer: .*|runtime error: .*)',
    r'.*\bviolation\b.*: .*',
    r'^(?:\w+\.)*(?:AssertionError|\w*Error|\w*Exception): .*',
    r'^\[  ERROR   \] --- (?!\[   LINE).*',
    r'^(?:FAIL|ERROR|FAILED|error|fatal)\b.*',
    r'.*\b(?:error|failed|cannot|Killed|Aborted)\b.*',
)
MAX_CAUSE = 160


def tests(path):
    """Yields a Test for each test."""
    for line in path.read_text().splitlines():
        test = json.loads(line)
        yield Test(test['name'].split(' / ')[-1], test['result'], test.get('stdout') or '',
                   test.get('stderr') or '', test.get('duration', 0.0),
                   test.get('returncode', 0))


def cmocka_cases(output):
    """[(name, verdict)] of a cmocka program."""
    words = {'OK': 'PASS', 'FAILED': 'FAIL', 'SKIPPED': 'SKIP'}
    found = {}
    # The end of the output repeats the names of failed tests.
    for word, name in re.findall(
            r'\[\s+(OK|FAILED|SKIPPED)\s+\] (\w+)$', output, re.M):
        found[name] = words[word]
    return list(found.items())


def unittest_cases(output):
    """[(name, verdict, reason)] of a script with unittest, which names cases not passed."""
    ran = re.search(r'^Ran (\d+) tests? in', output, re.M)
    if ran is None:
        return []
    found = [(name, 'FAIL', '') for name in
             dict.fromkeys(re.findall(r'^(?:FAIL|ERROR): (\w+)', output, re.M))]
    # A test with a description has a line more.
    found += [(name, 'SKIP', reason) for name, reason in re.findall(
        r"^(test\w*) \(.*\)(?:\n.*)? \.\.\. skipped ['\"](.*)['\"]$", output, re.M)]
    return found + [('', 'PASS', '')] * (int(ran.group(1)) - len(found))


def cause(text):
    """The line that says why a program failed, or its last line."""
    for expression in CAUSES:
        found = re.search(expression, text, re.M)
        if found:
            return found.group(0).strip()[:MAX_CAUSE]
    lines = text.split('\n')
    return next((line.strip()[:MAX_CAUSE] for line in reversed(lines) if line.strip()), '')


def skip_reason(output):
    found = re.search(r'(?:SKIP|skipped)[:\s]+(.*)', output)
    return found.group(1).strip() if found else ''


def cases(test):
    """[(name, verdict, text)]: the cases that a test reports, else itself."""
    if test.result == 'SKIP':
        return [(test.name, 'SKIP', skip_reason(test.output))]
    is_ok = test.result in ('OK', 'EXPECTEDFAIL')
    why = '' if is_ok else cause(test.output + '\n' + test.errors)
    if test.result not in ('OK', 'EXPECTEDFAIL', 'FAIL'):
        why = f'{test.result}, {why}'       # TIMEOUT, ERROR, INTERRUPT
    elif test.status < 0:
        why = f'signal {-test.status}, {why}'
    found = [(*case, '') for case in cmocka_cases(test.output)] or \
        unittest_cases(test.output + test.errors)
    rows = [(f'{test.name}: {name}', verdict, why if verdict == 'FAIL' else reason)
            for name, verdict, reason in found]
    if not found or not is_ok and all(verdict != 'FAIL' for _, verdict, _ in found):
        rows.append((test.name, 'PASS' if is_ok else 'FAIL', why))
    return rows
