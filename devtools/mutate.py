#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the tests of the driver's hardware header and ring mechanics by mutation.

usage: mutate.py [--build BUILD] [--list] [TEXT]

A mutant is a copy of base/mana_hw.h or base/mana_gdma.h with one change: an integer
constant is greater by 1, or a comparison of mana_gdma.h is another. The unit tests of
the layouts and the rings are compiled with each mutant and must fail; if they pass, all
unit tests of the data path are. A mutant that does not compile counts as killed: a
static_assert found it. Each surviving mutant fails, except those that mutants.txt lists
as equivalent, with a reason. An entry there that is killed fails, too.

BUILD is a build folder, whose compiler commands are used without optimization.
TEXT: only mutants with it in their line. --list: only list them.
JOBS: number of processes (default: number of processors).
"""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASE = ROOT / 'drivers/net/mana/base'
FIRST = {'mana_hw.h': ['layout', 'gdma'], 'mana_gdma.h': ['gdma', 'layout']}
# A test takes less than a second; a mutant may not end.
TIME_LIMIT = 120
CONSTANT = re.compile(r'(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)(?=[uUlL]*\b)')
COMPARISON = re.compile(r'(?<![<>\-=!])(==|!=|<=|>=|<|>)(?![<>=])')
OTHERS = {'==': ['!='], '!=': ['=='], '<': ['<=', '>='], '<=': ['<', '>'],
          '>': ['>=', '<='], '>=': ['>', '<']}


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


class Mutant:
    """A change of a header."""

    def __init__(self, header, source, start, end, new):
        self.header = header
        self.text = source[:start] + new + source[end:]
        number = source.count('\n', 0, start)
        line = ' '.join(self.text.splitlines()[number].split())
        # As in mutants.txt.
        self.key = f'{header}|{line}'
        self.where = f'{header}:{number + 1}: {source[start:end]} is {new}: {line}'


def mutants():
    for header in FIRST:
        source = (BASE / header).read_text()
        for at, line in statements(without_comments(source)):
            for found in CONSTANT.finditer(line):
                value = int(found.group(1), 0) + 1
                new = hex(value) if found.group(1)[:2] in ('0x', '0X') else str(value)
                yield Mutant(header, source, at + found.start(1), at + found.end(1), new)
            if header == 'mana_gdma.h':
                for found in COMPARISON.finditer(line):
                    for new in OTHERS[found.group(1)]:
                        yield Mutant(header, source, at + found.start(1),
                                     at + found.end(1), new)


class Programs:
    """The unit tests of the data path: how to compile and link them."""

    def __init__(self, build):
        self.build = build
        with open(build / 'compile_commands.json', encoding='utf-8') as file:
            commands = {entry['output']: entry['command'] for entry in json.load(file)}
        self.library = {output: command for output, command in commands.items()
                        if '/libmana-datapath' in output}
        self.tests = {}
        for output, command in commands.items():
            name = re.match(r'app/test/unit/unit-(\w+)\.p/test_', output)
            if name is None:
                continue
            link = subprocess.run(
                ['ninja', '-C', build, '-t', 'commands', '-s',
                 f'app/test/unit/unit-{name.group(1)}'],
                capture_output=True, text=True, check=True).stdout.splitlines()[-1]
            # Not the tests of other parts of the driver.
            if 'libmana-datapath.a' in link and '_mana_' not in link:
                self.tests[name.group(1)] = (output, command, shlex.split(link))

    def compile(self, output, command, folder):
        """Compiles with the headers in the folder."""
        words = [word for word in shlex.split(command) if word != 'ccache']
        words = [words[0], f'-I{folder}'] + words[1:words.index('-MD')]
        made = folder / output.replace('/', '_')
        done = subprocess.run(words + ['-O0', '-w', '-c', '-o', made, shlex.split(command)[-1]],
                              cwd=self.build, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        return made if done.returncode == 0 else None

    def run(self, name, folder, library):
        """Compiles, links and runs a test: passed, killed or not compiled."""
        output, command, link = self.tests[name]
        made = self.compile(output, command, folder)
        if made is None:
            return 'not compiled'
        program = folder / name
        words = [program if word == link[link.index('-o') + 1] else
                 made if word == output else word for word in link]
        at = words.index('app/test/unit/libmana-datapath.a')
        words[at:at + 1] = library or [words[at]]
        subprocess.run(words, cwd=self.build, check=True)
        try:
            done = subprocess.run([program], cwd=folder, timeout=TIME_LIMIT,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env=dict(os.environ, CMOCKA_TEST_ABORT='1'))
        except subprocess.TimeoutExpired:
            return 'killed'
        return 'passed' if done.returncode == 0 else 'killed'

    def try_header(self, header, text, is_thorough):
        """passed, killed or not compiled. Thorough: all tests, even if one passes."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            # Both, because one includes the other, first from its own folder.
            for file in BASE.glob('*.h'):
                shutil.copy(file, folder)
            (folder / header).write_text(text)
            first = FIRST[header]
            for test in first:
                result = self.run(test, folder, None)
                if result != 'passed':
                    return result
            if not is_thorough:
                return result
            library = [self.compile(*entry, folder) for entry in self.library.items()]
            if None in library:
                return 'not compiled'
            for test in first + [test for test in self.tests if test not in first]:
                result = self.run(test, folder, library)
                if result != 'passed':
                    return result
        return 'passed'


def equivalent():
    """Keys of the mutants that no test can kill."""
    lines = (ROOT / 'devtools/mutants.txt').read_text().splitlines()
    return {line.rpartition('|')[0] for line in lines if line and line[0] != '#'}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--build', type=Path, default=ROOT / 'build')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('text', nargs='?', default='')
    args = parser.parse_args()
    todo = [mutant for mutant in mutants() if args.text in mutant.where]
    if args.list:
        print(*(mutant.where for mutant in todo), sep='\n')
        return
    programs = Programs(args.build.resolve())
    for header in FIRST:
        if programs.try_header(header, (BASE / header).read_text(), False) != 'passed':
            sys.exit(f'FAIL mutate: the tests fail with the unchanged {header}')
    known = equivalent()
    counts = dict.fromkeys(['killed', 'not compiled', 'passed', 'equivalent'], 0)
    nb_failed = 0

    def attempt(mutant):
        is_known = mutant.key in known
        return mutant, is_known, programs.try_header(mutant.header, mutant.text,
                                                     not is_known)

    with concurrent.futures.ThreadPoolExecutor(
            int(os.environ.get('JOBS', os.cpu_count()))) as pool:
        for mutant, is_known, result in pool.map(attempt, todo):
            counts['equivalent' if is_known else result] += 1
            if is_known != (result == 'passed'):
                nb_failed += 1
                what = 'is not equivalent' if is_known else 'survived'
                print(f'FAIL mutate: {what}: {mutant.where}', flush=True)
    stale = known - {mutant.key for mutant in mutants()}
    for key in sorted(stale):
        print(f'FAIL mutate: mutants.txt: no such mutant: {key}')
    for header in FIRST:
        nb = sum(mutant.header == header for mutant in todo)
        if nb_failed == 0 and not stale and nb != 0:
            print(f'PASS mutate: {header}, {nb} mutants')
    print(f'{len(todo)} mutants: {counts["killed"]} killed, {counts["not compiled"]} not '
          f'compiled, {counts["passed"]} survived, {counts["equivalent"]} equivalent')
    sys.exit(1 if nb_failed or stale or not todo else 0)


if __name__ == '__main__':
    main()
