#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How run-tests.py treats tests that fail once, always, or by a signal; rows of the page of results.

usage: test_flaky.py [unittest arguments]
"""

import contextlib
import datetime
import importlib.util
import io
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

# pylint: disable=wrong-import-position
import flaky  # noqa: E402
import testlog  # noqa: E402


def load(name):
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(name, HERE / f'{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run_tests, record_result = load('run-tests'), load('record-result')

# Name, and how its first and all later runs end.
PROGRAMS = {'passes': ('exit 0', 'exit 0'),
            'once': ('exit 1', 'exit 0'),
            'always': ('exit 1', 'exit 1'),
            'twice': ('exit 1', 'test $(wc -l <"$0.runs") -gt 2'),
            'unlisted': ('exit 1', 'exit 0'),
            'crashes': ('kill -SEGV $$', 'exit 0'),
            'violates': ('echo "mana-model: violation x: fn 0" >&2; exit 1', 'exit 0'),
            'hangs': ('sleep 100', 'exit 0')}
LISTED = set(PROGRAMS) - {'passes', 'unlisted'}


class Mechanism(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.top)
        lines = ["project('flaky')"]
        for name, (first, later) in PROGRAMS.items():
            path = cls.top / name
            path.write_text('#!/bin/sh\necho >>"$0.runs"\n'
                            f'[ $(wc -l <"$0.runs") -gt 1 ] || {{ {first}; exit; }}\n{later}\n')
            path.chmod(0o755)
            # With run-tests.py's factor, 4 s.
            lines.append(f"test('{name}', files('{name}'), timeout: {1 if name == 'hangs' else 60})")
        (cls.top / 'meson.build').write_text('\n'.join(lines) + '\n')
        subprocess.run(['meson', 'setup', cls.top / 'build', cls.top], check=True,
                       stdout=subprocess.DEVNULL)
        run = run_tests.Run(cls.top / 'build', 'gate')
        run.known = {name: flaky.Entry(name, 'was late', '2026-01-01', 'none') for name in LISTED}
        run.logs.mkdir()
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            run_tests.run_meson(run, 'meson', list(PROGRAMS))
            run_tests.save(run)
            cls.status = run_tests.summary(run)
        cls.run_, cls.lines = run, output.getvalue().splitlines()
        cls.verdicts = {result.test: result.verdict for result in run.results}

    def nb_runs(self, name):
        return len((self.top / f'{name}.runs').read_text().splitlines())

    def test_verdicts(self):
        self.assertEqual(self.verdicts, {
            'passes': 'PASS', 'once': 'FLAKY', 'always': 'FAIL', 'twice': 'FAIL',
            'unlisted': 'FAIL', 'crashes': 'FAIL', 'violates': 'FAIL', 'hangs': 'FAIL'})

    def test_number_of_runs(self):
        """Two more of a known one that may be forgiven; no other one runs again."""
        self.assertEqual({name: self.nb_runs(name) for name in PROGRAMS},
                         {'passes': 1, 'once': 3, 'always': 2, 'twice': 2, 'unlisted': 1,
                          'crashes': 1, 'violates': 1, 'hangs': 1})

    def test_last_run_in_log(self):
        log = self.run_.logs / 'meson.json'
        results = {test.name: test.result for test in testlog.tests(log)}
        self.assertEqual(results['once'], 'OK')
        self.assertEqual(results['always'], 'FAIL')

    def test_end_of_the_output(self):
        self.assertEqual(self.status, 1)
        self.assertEqual(self.lines[-1], '2 passed, 6 failed')
        self.assertIn('FLAKY once: was late', self.lines)
        self.assertTrue(any(line.startswith('failed: crashes: signal 11') for line in self.lines))
        self.assertTrue(any(line.startswith('failed: hangs: TIMEOUT') for line in self.lines))

    def test_what_runs_again(self):
        """--failed takes those that failed, and not the flaky one."""
        failed = run_tests.load_failed(self.top / 'build', 'gate')
        self.assertEqual(sorted(failed['meson']), sorted(set(PROGRAMS) - {'passes', 'once'}))


class Suites(unittest.TestCase):
    def results(self, command):
        """Of a suite that chooses its tests itself: [(name, verdict, text)]."""
        top = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, top)
        run = run_tests.Run(top, 'gate')
        run.logs.mkdir()
        suite = run_tests.Suite(['sh', '-c', f'cd {top}; {command}'], top)
        with contextlib.redirect_stdout(io.StringIO()):
            run_tests.run_meson(run, 'sanitizers', [], suite)
        return [(result.name, result.verdict, result.text) for result in run.results]

    def test_names_have_the_stage(self):
        log = '{"name": "a / b", "result": "OK"}'
        self.assertEqual(self.results(f"echo '{log}' >testlog-wrapper.json"),
                         [('sanitizers: b', 'PASS', '')])

    def test_ends_before_its_tests(self):
        self.assertEqual(self.results('echo "error: no compiler"; exit 1'),
                         [('sanitizers', 'FAIL', 'error: no compiler')])


class Red(unittest.TestCase):
    def why(self, output, result='FAIL', status=1):
        return flaky.why_red(testlog.Test('t', result, output, '', 1.0, status))

    def test_late_is_forgiven(self):
        for text in ('AssertionError: frames: not within 60 s',
                     'Signal 2 received, preparing to exit...',
                     '  violations: none', 'exit status: 1, expected 0'):
            self.assertIsNone(self.why(text), text)

    def test_never_forgiven(self):
        for text in ('==1==ERROR: AddressSanitizer: heap-use-after-free',
                     'a.c:1:2: runtime error: shift', 'WARNING: ThreadSanitizer: data race',
                     "AssertionError: violations: ['x']", '  violations:\n    2 x',
                     '[ 1.0] BUG: unable to handle page fault', '[ 1.0] WARNING: CPU: 0 PID: 1',
                     'Segmentation fault (core dumped)', 'exit status: 139, expected 0',
                     'exit status of testpmd: -11, expected 0'):
            self.assertIsNotNone(self.why(text), text)
        self.assertEqual(self.why('', result='TIMEOUT'), 'TIMEOUT')
        self.assertEqual(self.why('', status=-6), 'a signal')


class List(unittest.TestCase):
    TODAY = datetime.date(2026, 3, 31)

    def load(self, *lines):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'flaky.txt'
            path.write_text('# comment\n\n' + ''.join(line + '\n' for line in lines))
            return flaky.load({f't{n}' for n in range(20)}, self.TODAY, path)

    def test_entries(self):
        entries, warnings = self.load('t1 | late | 2026-03-01 | a limit of the test')
        self.assertEqual(entries['t1'].seen, 'late')
        self.assertEqual(warnings, [])

    def test_old_entry(self):
        _, warnings = self.load('t1 | late | 2026-02-28 | a limit of the test')
        self.assertIn('31 days', warnings[0])

    def test_wrong_lists(self):
        for lines, message in ((['t1 | late | 2026-03-01'], 'expected'),
                               (['t1 | late | yesterday | x'], 'yesterday'),
                               (['t99 | late | 2026-03-01 | x'], 'no test t99'),
                               ([f't{n} | late | 2026-03-01 | x' for n in range(11)],
                                'at most 10')):
            with self.assertRaisesRegex(flaky.WrongList, message):
                self.load(*lines)

    def test_own_list(self):
        """flaky.txt itself can be read."""
        known = {line.split('|')[0].strip() for line in flaky.LIST.read_text().splitlines()}
        flaky.load(known)


class FullRun(unittest.TestCase):
    """The rows of the page of results: one for each stage of the full run."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patched = mock.patch.object(record_result, 'PAGE', Path(folder.name) / 'page.rst')
        self.page = patched.start()
        self.addCleanup(patched.stop)
        self.page.write_text(record_result.HEAD + '\n\nCoverage\n--------\n\nNext section\n')

    def rows(self):
        return [line[3:].split() for line in self.page.read_text().splitlines()
                if line.startswith('   ')]

    def test_one_row_for_each_stage_in_order(self):
        order = list(run_tests.STAGES)
        failed = ['failed: cppcheck: a finding', '3 passed, 1 failed']
        for stage, day, result in (('analyze', '1', failed), ('meson', '1', ['5 passed, 0 failed']),
                                   ('meson', '2', ['skipped: x', '4 passed, 0 failed, 1 skipped'])):
            record_result.record_stage(stage, order, (f'2000-01-0{day}', 'abc', 3, result))
        self.assertEqual(self.rows(), [
            'date commit minutes stage result'.split(),
            '2000-01-02 abc 3 meson 4 passed, 0 failed, 1 skipped'.split(), ['skipped:', 'x'],
            '2000-01-01 abc 3 analyze 3 passed, 1 failed'.split(),
            'failed: cppcheck: a finding'.split()])
        record_result.record_stage('analyze', order,
                                   ('2000-01-03', 'abc', 3, ['4 passed, 0 failed']))
        self.assertEqual(self.rows()[3:], ['2000-01-03 abc 3 analyze 4 passed, 0 failed'.split()])
        self.assertIn('Next section', self.page.read_text())


if __name__ == '__main__':
    unittest.main()
