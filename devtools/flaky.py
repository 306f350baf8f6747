# SPDX-License-Identifier: BSD-3-Clause
"""Reads flaky.txt, the list of tests that may fail once; says which failures count anyway."""

import datetime
import re
from collections import namedtuple
from pathlib import Path

LIST = Path(__file__).resolve().parent / 'flaky.txt'
MAX_ENTRIES = 10
MAX_DAYS = 30

Entry = namedtuple('Entry', 'test seen date why')

# Expression, and what it shows.
NEVER_FORGIVEN = (
    (r'\w+Sanitizer\b|: runtime error: ', "a sanitizer's report"),
    (r'mana-model: violation |^ *violations:$|\bviolations: \[', 'a violation'),
    (r'\bBUG: |\bWARNING: (?!CPU time)|\bKernel panic|\bOops\b|\bCall Trace', "a kernel's complaint"),
    # Of the test, of a program on a machine (128 + N), of a program of a script (-N).
    (r'Segmentation fault|Bus error|core dumped|^Aborted|SIG(?:SEGV|BUS|ABRT|ILL|FPE)\b|'
     r'exit status[^\n]*? (?:-\d+|1(?:2[89]|[345]\d))\b', 'a signal'),
)


class WrongList(Exception):
    """flaky.txt cannot be used as it is; the text says why."""


def load(known, today=None, path=LIST):
    """
    ({test: Entry}, [warning]) of flaky.txt. known: names of all tests. Raises WrongList.
    """
    entries, warnings = {}, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith('#'):
            continue
        where = f'{path.name}:{number}'
        fields = [field.strip() for field in line.split('|')]
        if len(fields) != 4 or not all(fields):
            raise WrongList(f'{where}: expected test | what was seen | date | why')
        entry = Entry(*fields)
        try:
            date = datetime.date.fromisoformat(entry.date)
        except ValueError as error:
            raise WrongList(f'{where}: {error}') from error
        if entry.test not in known:
            raise WrongList(f'{where}: there is no test {entry.test}')
        days = ((today or datetime.date.today()) - date).days
        if days > MAX_DAYS:
            warnings.append(f'{where}: {entry.test} is known for {days} days: mend it')
        entries[entry.test] = entry
    if len(entries) > MAX_ENTRIES:
        raise WrongList(f'{path.name}: {len(entries)} tests; at most {MAX_ENTRIES}')
    return entries, warnings


def why_red(test):
    """Why a failure of this testlog.Test counts even if it is known; None: it does not."""
    if test.result != 'FAIL':
        return test.result      # TIMEOUT, ERROR
    if test.status < 0 or test.status > 128:
        return 'a signal'
    for expression, what in NEVER_FORGIVEN:
        if re.search(expression, test.output + '\n' + test.errors, re.M):
            return what
    return None
