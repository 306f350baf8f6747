#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that each row of the driver's feature matrix has a test, which passed.

usage: check-features.py BUILD [TESTLOG]
       check-features.py --ini RELEASE

The second form prints the driver's file for that release of DPDK ("22.11"),
without the rows unknown to it.

Compares doc/guides/nics/features/mana.ini with app/test/features.map, with
DPDK's rows (devtools/features.txt) and with the tests of the build folder BUILD.
With TESTLOG, a testlog.json of meson, it must contain the named tests and cases as
passed, except for rows unknown to the DPDK of the build. Prints a line for each
wrong row, and at the end one PASS or FAIL line for run-tests.py.
"""

import json
import platform
import re
import sys
from pathlib import Path

import testlog

ROOT = Path(__file__).resolve().parent.parent
INI = ROOT / 'doc/guides/nics/features/mana.ini'
GUIDE = ROOT / 'doc/guides/nics/mana.rst'
MAP = ROOT / 'app/test/features.map'
KNOWN = ROOT / 'devtools/features.txt'
TEST_SOURCES = ROOT / 'app'
# Rows with "" (not supported) are omitted instead.
VALUES = ('Y', 'P')
# Rows whose tests prove them on a machine of this kind only.
MACHINES = {'x86-64': 'x86_64'}


class WrongLine(Exception):
    """A file that cannot be parsed."""


def assignments(path, comment):
    """{left: right} of a file's lines, without sections."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.strip()
        if not line or line.startswith(comment) or line.startswith('['):
            continue
        if '=' not in line:
            raise WrongLine(f'{path.name}:{number}: no "="')
        left, right = (part.strip() for part in line.split('=', 1))
        if left in found:
            raise WrongLine(f'{path.name}:{number}: "{left}" is there twice')
        found[left] = right
    return found


def tests_of(text):
    """[(test, case or None)] of "test, test:case"."""
    found = []
    for word in text.split(','):
        test, _, case = word.strip().partition(':')
        if test:
            found.append((test, case or None))
    return found


def cases_in_sources():
    """Names of all functions in the tests' sources."""
    names = set()
    for path in TEST_SOURCES.rglob('*.c'):
        names.update(re.findall(r'\btest_\w+', path.read_text()))
    return names


def release_of(version):
    """(22, 11) of "22.11.5"."""
    return tuple(int(number) for number in version.split('.')[:2])


def known_rows():
    """{row: first release with this row, or (0,)}."""
    rows = {}
    for line in KNOWN.read_text().splitlines():
        if line and not line.startswith('#'):
            row, _, since = line.partition(' since ')
            rows[row] = release_of(since) if since else (0,)
    return rows


def later_rows(rows, release):
    """Rows unknown to this release."""
    known = known_rows()
    return [row for row in rows if known.get(row, (0,)) > release]


def build_release(build):
    text = (build / 'meson-info/intro-dependencies.json').read_text()
    versions = [found['version'] for found in json.loads(text)
                if found['name'] == 'libdpdk']
    if not versions:
        raise WrongLine(f'{build}: no libdpdk among its dependencies')
    return release_of(versions[0])


def print_ini(release):
    later = later_rows(assignments(INI, ';'), release)
    for line in INI.read_text().splitlines():
        if line.split('=')[0].strip() not in later:
            print(line)


def check_rows(rows, proofs):
    """Checks rows and their tests' names, not the results."""
    known = known_rows()
    for row, value in rows.items():
        if row not in known:
            yield f'{row}: no row of DPDK\'s default.ini'
        if value not in VALUES:
            yield f'{row}: "{value}" is none of {", ".join(VALUES)}'
        if not tests_of(proofs.get(row, '')):
            yield f'{row}: no test in {MAP.name}'
    for row in proofs:
        if row not in rows:
            yield f'{row}: in {MAP.name}, but no row of {INI.name}'
    if 'Usage doc' in rows and not GUIDE.exists():
        yield f'Usage doc: there is no {GUIDE.name}'


def check_tests_exist(build, proofs):
    text = (build / 'meson-info/intro-tests.json').read_text()
    there = {test['name'] for test in json.loads(text)}
    # Builds with sanitizers have no tests in virtual machines.
    has_machines = any(name.startswith('vm-') for name in there)
    cases = cases_in_sources()
    for row, text in proofs.items():
        for test, case in tests_of(text):
            if test not in there:
                if has_machines or not test.startswith('vm-'):
                    yield f'{row}: there is no test {test}'
            elif case is not None and case not in cases:
                yield f'{row}: {test} has no case {case}'


def results_of(log):
    """{test: (result, {case: result})} of a testlog.json."""
    return {test.name: (test.result, dict(testlog.cmocka_cases(test.output)))
            for test in testlog.tests(log)}


def check_results(log, proofs):
    results = results_of(log)
    for row, text in proofs.items():
        for test, case in tests_of(text):
            result, cases = results.get(test, ('not run', {}))
            if result != 'OK':
                yield f'{row}: {test}: {result}'
            elif case is not None and cases.get(case) != 'PASS':
                yield f'{row}: {test}: {case}: {cases.get(case, "not run")}'
        machine = MACHINES.get(row, platform.machine())
        if machine != platform.machine():
            yield f'{row}: tested on {platform.machine()} only'


def main():
    if len(sys.argv) == 3 and sys.argv[1] == '--ini':
        print_ini(release_of(sys.argv[2]))
        return
    build = Path(sys.argv[1])
    log = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    try:
        if log is not None and not log.exists():
            raise OSError('no results: run stage meson before this one, in the same tree')
        rows = assignments(INI, ';')
        proofs = assignments(MAP, '#')
        wrong = list(check_rows(rows, proofs))
        wrong += check_tests_exist(build, proofs)
        later = later_rows(rows, build_release(build))
        if log is not None:
            wrong += check_results(log, {row: text for row, text in proofs.items()
                                         if row not in later})
    except (WrongLine, OSError) as error:
        wrong = [str(error)]
    for text in wrong:
        print('FAIL features:', text)
    if not wrong:
        note = f', {len(later)} of them of a later DPDK' if later else ''
        print(f'PASS features: {len(rows)} rows{note}')
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
