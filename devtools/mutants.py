#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the tests: a test must fail with each mutant of the source.

usage: mutants.py [--all | --known] [--list | --check] [NAME...]

A mutant is the source with one change. Those of the table devtools/mutants.txt name the
tests that must notice them. Others are made here: in base/mana_hw.h and
base/mana_gdma.h each integer constant is greater by 1, and in mana_gdma.h each
comparison is another one; a unit test must notice them, or the compiler. The table also
lists those of them that no test can notice. A mutant that survives is an error: a test
is missing.

  default  mutants of files that have changed since the newest release tag; without one a fixed
           sample: for about 60 tests one mutant that the test alone must notice, and
           some of the headers. Each row of the table must change its file.
  --all    all of them
  --known  mutants with a defect that data paths are known to have, which the tests
           known-WAY or known-WAY.CASE notice. Counts the ways last
  --list   prints them, and runs none
  --check  checks only that each row of the table changes its file
  NAME     of a mutant, which may be a pattern of the shell

The tests named are built once, in build-mutants/ (git-ignored), and must pass. Each
mutant then has a view of the checkout of its own, in which what it writes is in memory:
there ninja compiles what the mutant changes, and the tests run until one fails. Views
are mounts of overlayfs in a mount namespace: they need root, or user namespaces. Leave
the checkout unchanged meanwhile.

JOBS: mutants at the same time (default: one more than the processors)
"""

import argparse
import concurrent.futures
import contextlib
import fnmatch
import json
import os
import re
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / 'devtools/mutants.txt'
BUILD = ROOT / 'build-mutants'
LOGS = BUILD / 'mutants-logs'
BASE = 'drivers/net/mana/base/'
# Unit tests of the headers, most of whose mutants they notice.
FIRST = {'mana_hw.h': ['unit-layout', 'unit-gdma'], 'mana_gdma.h': ['unit-gdma', 'unit-layout']}
CONSTANT = re.compile(r'(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)(?=[uUlL]*\b)')
COMPARISON = re.compile(r'(?<![<>\-=!])(==|!=|<=|>=|<|>)(?![<>=])')
OTHERS = {'==': ['!='], '!=': ['=='], '<': ['<=', '>='], '<=': ['<', '>'],
          '>': ['>=', '<='], '>=': ['>', '<']}
# Results of a test. A model that could not start (exit status 125), or a time limit, may
# have another cause than the mutant.
PASSED, SKIPPED, NO_MODEL, LATE = 0, 77, 125, 'time limit'
DOUBTFUL = (NO_MODEL, LATE)


class Row:
    """A mutant of the table."""

    is_header = False

    def __init__(self, name, file, expression, tests):
        self.name, self.file, self.expression = name, file, expression
        self.tests = tests.split()
        self.title = name

    def text(self):
        """The changed file."""
        return subprocess.run(['sed', '-E', self.expression, ROOT / self.file],
                              capture_output=True, text=True, check=True).stdout


class HeaderMutant:
    """A change of a header, from one position to another."""

    is_header = True

    def __init__(self, header, source, start, end, new):
        self.file = BASE + header
        self.changed = source[:start] + new + source[end:]
        number = source.count('\n', 0, start)
        line = ' '.join(self.changed.splitlines()[number].split())
        column = start - source.rfind('\n', 0, start)
        self.key = (self.file, line)
        self.name = f'{header}:{number + 1}:{column}:{new}'
        self.title = f'{self.name}, not {source[start:end]}: {line}'
        self.tests = FIRST[header]

    def text(self):
        """The changed file."""
        return self.changed


def without_comments(text):
    """The text with comments and strings blanked, of the same length."""
    return re.sub(r'/\*.*?\*/|"[^"\n]*"',
                  lambda found: re.sub(r'[^\n]', ' ', found.group()), text, flags=re.S)


def statements(text):
    """Positions of lines that are code, not assertions or conditions of compilation."""
    at, is_assert = 0, False
    for line in text.splitlines(keepends=True):
        is_assert = is_assert or line.startswith('static_assert')
        if not is_assert and not re.match(r'\s*#\s*(if|include|el|endif)', line):
            yield at, line
        is_assert = is_assert and ';' not in line
        at += len(line)


def header_mutants():
    """All changes of the headers."""
    for header in FIRST:
        source = (ROOT / BASE / header).read_text()
        for at, line in statements(without_comments(source)):
            for found in CONSTANT.finditer(line):
                value = int(found.group(1), 0) + 1
                new = hex(value) if found.group(1)[:2] in ('0x', '0X') else str(value)
                yield HeaderMutant(header, source, at + found.start(1), at + found.end(1), new)
            if header == 'mana_gdma.h':
                for found in COMPARISON.finditer(line):
                    for new in OTHERS[found.group(1)]:
                        yield HeaderMutant(header, source, at + found.start(1),
                                           at + found.end(1), new)


def read_table():
    """(rows, keys of the header mutants that no test can notice)"""
    rows, equivalent = [], set()
    for line in TABLE.read_text().splitlines():
        if not line or line[0] == '#':
            continue
        name, file, expression, tests = line.split('|')
        if name == 'equivalent':
            equivalent.add((file, expression))
        else:
            rows.append(Row(name, file, expression, tests))
    return rows, equivalent


def known_way(mutant):
    """The way in which data paths are known to fail, from the first test, or None."""
    found = re.match(r'known-([^.]*)', mutant.tests[0])
    return found and found.group(1)


def changed_files():
    """Files that have changed since the newest release tag, or None without one."""
    def git(*words):
        return subprocess.run(['git', '-C', ROOT, *words], capture_output=True, text=True)

    tag = git('describe', '--tags', '--abbrev=0', '--match', 'v*')
    return set(git('diff', '--name-only', tag.stdout.strip()).stdout.split()) \
        if tag.returncode == 0 else None


def sample(mutants):
    """The first mutant of each test that stands alone, for three of five tests, and every
    twelfth of the headers. It does not change when other rows or tests are added."""
    seen = set()
    for mutant in mutants:
        if mutant.is_header or len(mutant.tests) != 1 or mutant.tests[0] in seen:
            continue
        seen.add(mutant.tests[0])
        if zlib.crc32(mutant.tests[0].encode()) % 5 < 3:
            yield mutant
    yield from [mutant for mutant in mutants if mutant.is_header][::12]


def select(mutants, args):
    """The mutants that the arguments name."""
    if args.known:
        mutants = [mutant for mutant in mutants if known_way(mutant)]
    if args.names:
        found = {name: [mutant for mutant in mutants if fnmatch.fnmatchcase(mutant.name, name)]
                 for name in args.names}
        for name in args.names:
            if not found[name]:
                sys.exit(f'mutants.py: there is no mutant {name}')
        return list(dict.fromkeys(sum(found.values(), [])))
    if args.all or args.known:
        return mutants
    files = changed_files()
    if files is None:
        return list(sample(mutants))
    return [mutant for mutant in mutants if mutant.file in files]


class Tests:
    """Meson's tests of the build folder."""

    def __init__(self):
        with open(BUILD / 'meson-info/intro-targets.json', encoding='utf-8') as file:
            self.files = {target['id']: target['filename'] for target in json.load(file)}
        with open(BUILD / 'meson-info/intro-tests.json', encoding='utf-8') as file:
            self.tests = {test['name']: test for test in json.load(file)}

    def names(self, prefix):
        """Names of tests that begin so."""
        return [name for name in self.tests if name.startswith(prefix)]

    def targets(self, name):
        """Files that the test needs, relative to the build folder."""
        return [os.path.relpath(file, BUILD) for target in self.tests[name]['depends']
                for file in self.files[target]]

    def run(self, name, limit, log):
        """The test's exit status, or LATE after so many seconds."""
        test = self.tests[name]
        # A program with cmocka tests ends at its first failure.
        env = dict(os.environ, CMOCKA_TEST_ABORT='1', **test['env'])
        with subprocess.Popen(test['cmd'], cwd=test['workdir'] or BUILD, env=env, stdout=log,
                              stderr=log, stdin=subprocess.DEVNULL,
                              start_new_session=True) as program:
            try:
                return program.wait(limit)
            except subprocess.TimeoutExpired:
                return LATE
            finally:
                # What the test has left, too.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(program.pid, signal.SIGKILL)


def run(*words, log):
    """Whether the command succeeds."""
    log.write('$ ' + ' '.join(map(str, words)) + '\n')
    log.flush()
    return subprocess.run(words, cwd=BUILD, stdout=log, stderr=log).returncode == 0


def ninja(targets, log, jobs=1):
    """Whether the targets can be built. A script may need none."""
    return not targets or run('ninja', '-j', str(jobs), *targets, log=log)


def compile_program(target, log):
    """Compiles and links a unit test with a changed header, without its libraries."""
    source = f'{target}.p/' + Path(target).name.replace('unit-', 'test_', 1) + '.c.o'
    for output in source, target:
        command = subprocess.run(['ninja', '-t', 'commands', '-s', output], cwd=BUILD,
                                 capture_output=True, text=True, check=True).stdout
        if not run('sh', '-c', command, log=log):
            return False
    return True


def in_view(name, tests, limits, log):
    """What becomes of a mutant, or without a name of the source: tests are all that run."""
    mutants = [*read_table()[0], *header_mutants()]
    mutant = next((mutant for mutant in mutants if mutant.name == name), None)
    everything = Tests()
    if mutant:
        (ROOT / mutant.file).write_text(mutant.text())
    if mutant and mutant.is_header:
        for test in mutant.tests:
            if not compile_program(everything.targets(test)[0], log):
                return 'not compiled'
            if everything.run(test, limits[test], log) != PASSED:
                return f'noticed by {test}'
    for test in tests:
        if not ninja(everything.targets(test), log):
            return 'not compiled'
        result = everything.run(test, limits.get(test, 60), log)
        if result == SKIPPED:
            return f'{test} was skipped'
        if result in DOUBTFUL:
            return f'{test}: exit status {result}'
        if result != PASSED:
            return f'noticed by {test}'
    return 'survived'


# In a mount namespace: the checkout becomes an overlay whose upper layer is in memory.
VIEW = '''
mount -t tmpfs mutant "$1/view" && mkdir "$1/view/upper" "$1/view/work" &&
mount -t overlay mutant -o "lowerdir=$2,upperdir=$1/view/upper,workdir=$1/view/work$3" "$2" &&
cd "$2" && shift 3 && exec "$@"
'''


def view_command(*words):
    """The command that runs another in a view of its own."""
    user = [] if os.geteuid() == 0 else ['--user', '--map-current-user', '--keep-caps']
    return ['unshare', *user, '--mount', 'sh', '-c', VIEW, 'view', BUILD, ROOT,
            ',userxattr' if user else '', *words]


def try_in_view(name, tests, limits):
    """As in_view(), in a view."""
    log = LOGS / (name or tests[0]).replace('/', '-')
    done = subprocess.run(
        view_command(sys.executable, __file__, '--in-view', json.dumps([name, tests, limits])),
        stdout=subprocess.PIPE, stderr=open(log, 'a', encoding='utf-8'), text=True)
    return done.stdout.strip() if done.returncode == 0 else f'see {log}'


def set_up(tests, jobs):
    """Builds what the tests need."""
    with open(LOGS / 'build', 'w', encoding='utf-8') as log:
        # Without optimization, because compiling takes most of the time.
        if not (BUILD / 'build.ninja').exists() and not run(
                'meson', 'setup', '-Doptimization=0', '-Db_pch=true', BUILD, ROOT, log=log):
            return None
        # Tests may have come since.
        if not ninja(['build.ninja'], log):
            return None
        everything = Tests()
        missing = set(tests) - set(everything.tests)
        if missing:
            sys.exit(f'FAIL mutants: mutants.txt: no test {", ".join(sorted(missing))}')
        targets = {target for test in tests for target in everything.targets(test)}
        return everything if ninja(sorted(targets), log, jobs) else None


def source_limits(tests, pool):
    """Time limits in seconds of tests with a mutant, or None if they fail without one."""
    limits = {}

    def attempt(test):
        for _ in range(2):      # a busy machine may fail a test once
            start = time.monotonic()
            result = try_in_view(None, [test], {test: 600})
            if result == 'survived':
                break
        limits[test] = 30 + 10 * int(time.monotonic() - start)
        return test, result

    bad = [(test, result) for test, result in pool.map(attempt, tests) if result != 'survived']
    for test, result in bad:
        print(f'FAIL mutants: {test} without a mutant: {result}')
    return None if bad else limits


def judge(mutant, is_equivalent, result):
    """(whether the result is as it shall be, what to print)"""
    if is_equivalent:
        return result == 'survived', 'is equivalent'
    return result.startswith('noticed by') or \
        mutant.is_header and result == 'not compiled', result


def run_mutants(mutants, equivalent, jobs):
    """Runs the mutants: (names of those with the right result, number of wrong ones)"""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    everything = set_up(tests, jobs)
    if everything is None:
        sys.exit(f'FAIL mutants: the unchanged tree does not compile, see {LOGS}/build')
    units = everything.names('unit-')
    right, nb_wrong = [], 0

    def attempt(mutant):
        is_equivalent = mutant.is_header and mutant.key in equivalent
        tests = mutant.tests if not mutant.is_header else [] if is_equivalent else units
        result = try_in_view(mutant.name, tests, limits)
        # Whether the source fails in the same way.
        if ': exit status' in result and \
                try_in_view(None, [result.partition(':')[0]], limits) == 'survived':
            result = 'noticed by ' + result
        return mutant, *judge(mutant, is_equivalent, result)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        limits = source_limits(tests, pool)
        if limits is None:
            sys.exit(1)
        for mutant, is_right, result in pool.map(attempt, mutants):
            print('PASS' if is_right else 'FAIL', f'mutants: {mutant.title}: {result}', flush=True)
            if is_right:
                right.append(mutant)
            else:
                nb_wrong += 1
    return right, nb_wrong


def check_table(rows, equivalent):
    """Errors of the table: a row that changes nothing, an entry without a mutant."""
    for row in rows:
        if row.text() == (ROOT / row.file).read_text():
            yield f'{row.name}: the expression changes nothing in {row.file}'
    keys = {mutant.key for mutant in header_mutants()}
    for key in sorted(equivalent - keys):
        yield f'mutants.txt: no such mutant: {"|".join(key)}'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--known', action='store_true')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--in-view', help=argparse.SUPPRESS)
    parser.add_argument('names', nargs='*', metavar='NAME')
    args = parser.parse_args()
    if args.in_view:
        print(in_view(*json.loads(args.in_view), log=sys.stderr))
        return
    rows, equivalent = read_table()
    mutants = select([*rows, *header_mutants()], args)
    if args.list:
        print(*(mutant.title for mutant in mutants), sep='\n')
        return
    errors = list(check_table(rows, equivalent))
    for error in errors:
        print(f'FAIL mutants: {error}')
    if args.check:
        sys.exit(1 if errors else 0)
    LOGS.mkdir(parents=True, exist_ok=True)
    (BUILD / 'view').mkdir(exist_ok=True)
    if subprocess.run(view_command('true'), stderr=subprocess.DEVNULL).returncode != 0:
        print('SKIP mutants: overlayfs in a mount namespace needs root or user namespaces')
        return
    for log in LOGS.iterdir():
        log.unlink()
    jobs = int(os.environ.get('JOBS', os.cpu_count() + 1))
    right, nb_wrong = run_mutants(mutants, equivalent, jobs)
    if args.known:
        ways = {known_way(mutant) for mutant in mutants}
        bad = {known_way(mutant) for mutant in mutants if mutant not in right}
        print(f'known ways: {len(ways - bad)} of {len(ways)} detected')
    else:
        print(f'{len(right)} of {len(mutants)} mutants as they must be')
    sys.exit(1 if errors or nb_wrong else 0)


if __name__ == '__main__':
    main()
