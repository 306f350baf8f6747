#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tests of ./test and counts them.

usage: run-tests.py BUILD quick|gate|full [--failed | STAGE...]

  quick   what a user runs: ./test
  gate    what continuous integration runs: ./test --gate
  full    everything: ./test --full
  STAGE   only these stages, * stands for any letters; "list" prints their names
  --failed  what the last run of this form in this build folder did not pass

Which tests of meson belong to which form is listed in test-forms.txt. Logs are kept in
BUILD/test-logs. The output ends with a table of the stages, the slowest tests, every test
that failed with its cause, and the line "N passed, N failed, N skipped".
"""

import fnmatch
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import flaky
import testlog

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / 'devtools'
FORMS = ('quick', 'gate', 'full')
# In quick and gate, tests that repeat something many times do a tenth of it.
PART = '10'
NB_SLOWEST = 10
# A time limit ends hanging tests only; a busy machine must not fail.
TIMEOUT_FACTOR = '4'


class Result:
    """One test: verdict is PASS, FAIL, FLAKY or SKIP; text its cause or reason."""

    def __init__(self, stage, test, name, verdict, text=''):
        self.stage, self.test, self.name = stage, test, name
        self.verdict, self.text = verdict, text

    def line(self):
        return f'{self.name}: {self.text}' if self.text else self.name


class Run:
    """A run: the build folder, the form, and what has ended so far."""

    def __init__(self, build, form, failed=None):
        self.build, self.form = build, form
        self.failed = failed        # {stage: [test]} to run again, or None
        self.known, self.warnings = {}, []      # of flaky.txt
        self.logs = build / 'test-logs'
        self.results, self.stages, self.seconds = [], [], {}

    def env(self):
        env = dict(os.environ, MANA_BUILD=str(self.build))
        if self.form != 'quick':
            # Packages for virtual machines must be there.
            env['MANA_VM_REQUIRED'] = '1'
        if self.form != 'full':
            env['MANA_TEST_PART'] = PART
        return env


# ---- Stages that are scripts --------------------------------------------------------

def follow(command, log, shown, **more):
    """Runs a command with its output in a file; prints lines that match. Its status."""
    with open(log, 'w', encoding='utf-8', errors='replace') as file, \
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors='replace', **more) as process:
        for line in process.stdout:
            file.write(line)
            if shown is None or re.search(shown, line):
                print(line, end='', flush=True)
    return process.returncode


def run_script(run, name, command):
    """
    A script prints a line "PASS name", "FAIL name" or "SKIP name: reason" per test. A
    script without such lines is one test.
    """
    log = run.logs / f'{name}.log'
    status = follow([str(word) for word in command], log,
                    r'^(PASS|FAIL|SKIP)|^ *[0-9]+/[0-9]+ ', env=run.env())
    text = log.read_text(errors='replace')
    found = re.findall(r'^(PASS|FAIL|SKIP):? (.*)$', text, re.M)
    for verdict, words in found:
        run.results.append(Result(name, name, words, verdict))
    if not found:
        run.results.append(Result(name, name, name, 'PASS' if status == 0 else 'FAIL',
                                  '' if status == 0 else testlog.cause(text)))
    elif status != 0 and all(verdict != 'FAIL' for verdict, _ in found):
        run.results.append(Result(name, name, f'{name}: ended early', 'FAIL',
                                  testlog.cause(text)))
    if status != 0:
        print(*text.splitlines()[-60:], f'FAIL {name} (exit {status})', sep='\n')


# ---- Tests of meson -----------------------------------------------------------------

def test_forms(build):
    """{test: form} of all tests of meson; the last pattern that matches counts."""
    tests = json.loads((build / 'meson-info/intro-tests.json').read_text())
    forms = {test['name']: 'quick' for test in tests}
    for number, line in enumerate((TOOLS / 'test-forms.txt').read_text().splitlines(), 1):
        words = line.partition('#')[0].split()
        if not words or words[0] == 'sanitizers':
            continue
        if words[0] not in FORMS or len(words) != 2:
            sys.exit(f'test-forms.txt:{number}: expected FORM PATTERN # reason')
        names = fnmatch.filter(forms, words[1])
        if not names:
            sys.exit(f'test-forms.txt:{number}: no test is named {words[1]}')
        forms.update(dict.fromkeys(names, words[0]))
    return forms


def tests_of_form(run):
    included = FORMS[:FORMS.index(run.form) + 1]
    return [test for test, form in test_forms(run.build).items() if form in included]


# A build whose tests meson runs: the command, which takes options and names of tests, and
# the folder of meson's log.
Suite = namedtuple('Suite', 'command logs')


def plain_suite(run):
    return Suite(['meson', 'test', '-C', run.build, '--no-rebuild', '--print-errorlogs',
                  '--timeout-multiplier', TIMEOUT_FACTOR], run.build / 'meson-logs')


def sanitized_suite(_run):
    build = ROOT / 'build-sanitizers'
    return Suite([TOOLS / 'run-sanitizers.sh', build], build / 'meson-logs')


def meson_test(run, suite, name, tests, *options):
    """({test: testlog.Test} of those that ran, exit status). The logs are NAME.*."""
    for log in suite.logs.glob('testlog*.json'):
        log.unlink()
    status = follow([str(word) for word in (*suite.command, *options, *tests)],
                    run.logs / f'{name}.log', None, env=run.env())
    # A wrapper's name is part of the log's.
    logs = list(suite.logs.glob('testlog*.json'))
    if not logs:
        return {}, status
    shutil.copy(logs[0], run.logs / f'{name}.json')
    return {test.name: test for test in testlog.tests(logs[0])}, status


def passes_alone(run, suite, name, test):
    """Whether a test that failed passes alone, twice."""
    print(f'== {name}: {test} again, alone', flush=True)
    for again in 1, 2:
        ran, _ = meson_test(run, suite, f'{name}-{test}-again-{again}', [test],
                            '--num-processes', '1')
        if test not in ran or ran[test].result != 'OK':
            return False
    return True


def run_meson(run, name, tests, suite=None):
    """
    Runs these tests of meson; none: those that the command chooses. Each counts as its
    cases, or as one. The last line of a test in NAME.json is its last run.
    """
    suite = suite or plain_suite(run)
    ran, status = meson_test(run, suite, name, tests)
    label = '' if name == 'meson' else f'{name}: '
    for test in ran.values():
        run.seconds[label + test.name] = test.seconds
        entry = run.known.get(test.name)
        if entry and test.result not in ('OK', 'SKIP'):
            why = flaky.why_red(test)
            if why is None and passes_alone(run, suite, name, test.name):
                run.results.append(Result(name, test.name, label + test.name, 'FLAKY',
                                          entry.seen))
                with open(run.logs / f'{name}.json', 'a', encoding='utf-8') as log:
                    log.write((run.logs / f'{name}-{test.name}-again-2.json').read_text())
                continue
            print(f'{label}{test.name}: known, but {why or "it failed again"}', flush=True)
        for case, verdict, text in testlog.cases(test):
            run.results.append(Result(name, test.name, label + case, verdict, text))
    run.results += [Result(name, test, label + test, 'FAIL', 'did not run')
                    for test in tests if test not in ran]
    if status != 0 and all(result.stage != name or result.verdict in ('PASS', 'SKIP')
                           for result in run.results):
        text = (run.logs / f'{name}.log').read_text(errors='replace')
        run.results.append(Result(name, name, name, 'FAIL', testlog.cause(text)))


# ---- The stages -----------------------------------------------------------------------

def meson_stage(run):
    tests = tests_of_form(run)
    if run.failed is not None:
        tests = [test for test in tests if test in run.failed['meson']]
    run_meson(run, 'meson', tests)


def sanitizers_stage(run):
    tests = [] if run.failed is None else run.failed['sanitizers']
    # "sanitizers" itself failed if its build did.
    run_meson(run, 'sanitizers', [test for test in tests if test != 'sanitizers'],
              sanitized_suite(run))


def script(*command):
    return lambda run, name: run_script(
        run, name, [str(word).replace('BUILD', str(run.build)) for word in command])


# Name: (first form that includes it, function of run and name). The order is that of the run.
STAGES = {
    # DPDK's own driver and DPDK's examples, for tests that run them on the model.
    'build-rival': ('full', script(TOOLS / 'build-rival.sh')),
    'build-examples': ('gate', script(TOOLS / 'build-examples.sh')),
    'main-job': ('quick', script(TOOLS / 'main-job.sh', 10, 'BUILD')),
    'meson': ('quick', lambda run, _: meson_stage(run)),
    'features': ('full', script(sys.executable, TOOLS / 'check-features.py', 'BUILD',
                                'BUILD/test-logs/meson.json')),
    'instructions': ('gate', script(TOOLS / 'bench.sh', '--ours', '--goals', '--check',
                                    '--check-ceilings', '--skip')),
    'in-tree': ('gate', script(TOOLS / 'matrix.sh', '--driver')),
    'matrix': ('full', script(TOOLS / 'matrix.sh', '--quick')),
    'clang': ('gate', script(TOOLS / 'check-builds.sh', 'clang')),
    'builds': ('full', script(TOOLS / 'check-builds.sh')),
    'analyze': ('full', script(TOOLS / 'analyze.py', '--build', 'BUILD')),
    'sanitizers': ('gate', lambda run, _: sanitizers_stage(run)),
    'lock-order': ('full', script(TOOLS / 'check-lock-order.sh')),
    'thread-sanitizer': ('gate', script(TOOLS / 'run-tsan.sh', 'BUILD')),
    'mutants': ('full', script(TOOLS / 'mutants.py')),
    'coverage': ('full', script(TOOLS / 'coverage.sh')),
    # Each input of the corpora once.
    **{f'fuzz-{target}'.replace('_', '-'): ('full', script(TOOLS / 'fuzz.sh', target, 'once'))
       for target in ('rx', 'tx', 'verbs', 'sysfs', 'devargs', 'wqe', 'ioctl', 'vfio_user',
                      'hwc')},
    # In roots of these releases, which the script makes.
    **{f'debian-{release}': ('full', script(TOOLS / 'debian.sh', release, 'some'))
       for release in ('trixie', 'sid')},
}


def stages_of_form(form):
    included = FORMS[:FORMS.index(form) + 1]
    return [name for name, (first, _) in STAGES.items() if first in included]


def run_stage(run, name):
    print(f'== {name} ({time.strftime("%H:%M:%S")})', flush=True)
    begin, nb_before = time.monotonic(), len(run.results)
    STAGES[name][1](run, name)
    run.stages.append((name, time.monotonic() - begin, len(run.results) - nb_before))


def save(run):
    """The failed tests, for --failed."""
    failed = {}
    for result in run.results:
        if result.verdict == 'FAIL' and result.stage in STAGES:
            tests = failed.setdefault(result.stage, [])
            if result.test not in tests:
                tests.append(result.test)
    (run.logs / f'failed-{run.form}.json').write_text(json.dumps(failed))


def load_failed(build, form):
    path = build / 'test-logs' / f'failed-{form}.json'
    if not path.exists():
        sys.exit(f'run-tests.py: no run of {form} has ended in {build}')
    failed = json.loads(path.read_text())
    if not failed:
        sys.exit('run-tests.py: nothing failed in the last run')
    return failed


def summary(run):
    """Prints the end of the output. The exit status."""
    print('\nminutes  tests  stage')
    for name, seconds, nb in run.stages:
        print(f'{seconds / 60:7.1f}  {nb:5}  {name}')
    print('slowest tests, in seconds:')
    slowest = sorted(run.seconds.items(), key=lambda item: -item[1])
    for name, seconds in slowest[:NB_SLOWEST]:
        print(f'{seconds:7.1f}  {name}')
    for warning in run.warnings:
        print('warning:', warning)
    counts = {}
    for word, verdict in (('skipped:', 'SKIP'), ('failed:', 'FAIL'), ('FLAKY', 'FLAKY'),
                          ('', 'PASS')):
        found = [result for result in run.results if result.verdict == verdict]
        counts[verdict] = len(found)
        if word:
            for result in found:
                print(word, result.line())
    if counts['FAIL']:
        form = '' if run.form == 'quick' else f' --{run.form}'
        print(f'logs: {run.logs}; again: ./test{form} --failed')
    nb_passed = counts['PASS'] + counts['FLAKY']
    skipped = f", {counts['SKIP']} skipped" if counts['SKIP'] else ''
    print(f"{nb_passed} passed, {counts['FAIL']} failed{skipped}", flush=True)
    return 1 if counts['FAIL'] or not nb_passed else 0


def main():
    args = sys.argv[1:]
    if len(args) < 2 or args[1] not in FORMS:
        sys.exit(__doc__)
    build, form, wanted = Path(args[0]).resolve(), args[1], args[2:]
    failed = None
    if wanted == ['list']:
        print(*stages_of_form(form), sep='\n')
        return 0
    if wanted == ['--failed']:
        failed = load_failed(build, form)
        wanted = list(failed)
    stages = stages_of_form(form)
    for name in wanted:
        if not fnmatch.filter(stages, name):
            sys.exit(f'run-tests.py: {form} has no stage {name}; "list" prints all')
    if wanted:
        stages = [name for name in stages if any(fnmatch.fnmatch(name, word) for word in wanted)]
    run = Run(build, form, failed)
    try:
        run.known, run.warnings = flaky.load(test_forms(build))
    except flaky.WrongList as error:
        sys.exit(f'run-tests.py: {error}')
    if form == 'full':
        run.results += [Result('flaky', warning, warning, 'FAIL') for warning in run.warnings]
    if not wanted:
        shutil.rmtree(run.logs, ignore_errors=True)
    run.logs.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for name in stages:
        run_stage(run, name)
    save(run)
    return summary(run)


if __name__ == '__main__':
    sys.exit(main())
