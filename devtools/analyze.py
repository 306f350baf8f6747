#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Static analysis of the driver: clang-tidy, cppcheck, gcc -fanalyzer and sparse.

usage: analyze.py [--build BUILD] [clang-tidy|cppcheck|gcc|sparse]...   (default: all)

BUILD is a build folder, whose compiler commands are used. Prints a line per tool, and
one per finding. A finding fails, except those that analyze.txt accepts, with a reason.
An entry there that accepts nothing fails, too. .clang-tidy lists clang-tidy's checks.
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
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DRIVER = ROOT / 'drivers/net/mana'
TOOLS = ['clang-tidy', 'cppcheck', 'gcc', 'sparse']
# FILE:LINE[:COLUMN]: SEVERITY: MESSAGE; clang-tidy and gcc append [CHECK].
FINDING = re.compile(r'^(\S+?):(\d+):(?:\d+:)? ?(warning|error|style|performance|'
                     r'portability): (.*)$', re.M)
CHECK = re.compile(r' \[(?:CWE-\d+\] \[)?([-\w.,]+)\]$')


class Accepted:
    """A line of analyze.txt: TOOL|CHECK|FILE|LINE|REASON."""

    def __init__(self, line):
        self.line = line
        # The expression may contain "|".
        self.tool, self.check, self.file, *text, _ = line.split('|')
        self.text = '|'.join(text)
        self.is_used = False

    def accepts(self, tool, check, path, text):
        if (tool == self.tool and self.check in check.split(',') and
                fnmatch(path, self.file) and re.search(self.text, text)):
            self.is_used = True
            return True
        return False


def accepted_list():
    lines = (ROOT / 'devtools/analyze.txt').read_text().splitlines()
    return [Accepted(line) for line in lines if line and not line.startswith('#')]


def commands(build):
    """The plug-in's compiler commands: (folder, arguments, file)."""
    with open(build / 'compile_commands.json', encoding='utf-8') as file:
        entries = json.load(file)
    for entry in entries:
        if re.search(r'/libtmp_rte_net_mana', entry['output']):
            args = shlex.split(entry['command'])
            yield entry['directory'], args[:args.index('-MD')], entry['file']


def clang_tidy(build):
    for folder, _, file in commands(build):
        # A flag of gcc for link-time optimization.
        yield folder, ['clang-tidy', '-p', str(build), '--quiet',
                       '--extra-arg=-Wno-ignored-optimization-argument', file]


def gcc(build):
    for folder, args, file in commands(build):
        flags = args[next(i for i, arg in enumerate(args) if arg.startswith('-')):]
        # The analyzer of gcc 12 follows calls only in optimized code.
        yield folder, (['gcc'] + flags + ['-fdiagnostics-color=never', '-Wno-error', '-O2',
                       '-fanalyzer', '-c', '-o', '/dev/null', file])


def cppcheck(_):
    """Without DPDK's headers, whose macros it takes too long to expand."""
    yield str(ROOT), (
        ['cppcheck', '--quiet', '--std=c11', '--inline-suppr',
         '--enable=warning,style,performance,portability',
         # DPDK declares at the start of a function.
         '--suppress=variableScope',
         '--template={file}:{line}: {severity}: {message} [{id}]',
         '-D_GNU_SOURCE', '-DRTE_ARCH_X86_64=1',
         # It must know these loops. A definition cannot contain a semicolon.
         *(f'-D{loop}' for loop in (
             'TAILQ_FOREACH(item,list,field)=while((item)=next_of(list))',
             'STAILQ_FOREACH(item,list,field)=while((item)=next_of(list))',
             'RTE_TAILQ_FOREACH_SAFE(item,list,field,after)='
             'while((item)=next_of(list,&(after)))'))] +
        [f'-I{folder}' for folder in sorted(DRIVER.iterdir()) if folder.is_dir()] +
        [str(DRIVER)])


def vector_builtins(compiler_dir):
    """sparse does not know the built-in functions behind vector instructions."""
    names = set()
    for header in ['xmmintrin.h', 'emmintrin.h', 'pmmintrin.h', 'tmmintrin.h',
                   'smmintrin.h', 'avxintrin.h', 'avx2intrin.h']:
        names.update(re.findall(r'\b(__builtin_ia32_\w+) ?\(',
                                (compiler_dir / 'include' / header).read_text()))
    return [f'-D{name}(...)=0' for name in sorted(names)]


def sparse(build):
    libgcc = subprocess.run(['gcc', '-print-libgcc-file-name'], capture_output=True,
                            text=True, check=True).stdout
    compiler_dir = Path(libgcc).parent
    builtins = vector_builtins(compiler_dir)
    for folder, args, file in commands(build):
        search, flags = [], []
        args = iter(args)
        for arg in args:
            if arg.startswith('-D'):
                flags.append(arg)
            elif arg.startswith(('-I', '-isystem')):
                path = re.sub('^-I|^-isystem', '', arg) or next(args)
                search.append(os.path.realpath(os.path.join(folder, path)))
            elif arg == '-include':
                name = next(args)
                found = [os.path.join(path, name) for path in search
                         if os.path.exists(os.path.join(path, name))]
                flags += ['-include', found[0]]
        yield folder, (['sparse', '-m64', '-std=gnu11', '-gcc-base-dir',
                        str(compiler_dir), '-D__SSE4_2__', '-D__SSE4_1__',
                        '-D__SSSE3__', '-D__SSE3__'] + builtins + flags +
                       [f'-I{path}' for path in search] + [file])


def run(job):
    folder, args = job
    done = subprocess.run(args, cwd=folder, capture_output=True, text=True)
    return folder, args, done


def findings(tool, build, jobs):
    """A set of (file, line, check, message) in the driver, and failed commands."""
    make = {'clang-tidy': clang_tidy, 'cppcheck': cppcheck, 'gcc': gcc,
            'sparse': sparse}[tool]
    found, failed, nb = set(), [], 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for folder, args, done in pool.map(run, make(build)):
            nb += 1
            output = done.stdout + done.stderr
            is_read = False
            for path, line, severity, message in FINDING.findall(output):
                is_read = True
                path = os.path.realpath(os.path.join(folder, path))
                if not path.startswith(str(DRIVER)):
                    continue
                check = CHECK.search(message)
                found.add((os.path.relpath(path, DRIVER), int(line),
                           check.group(1) if check else severity, message))
            # sparse also fails for gcc's headers of vector instructions.
            if done.returncode != 0 and (tool != 'sparse' or not is_read):
                failed.append(' '.join(args[:1] + args[-1:]) + ': ' + output[-2000:])
    if nb == 0:
        failed.append(f'{tool}: {build} compiles no driver')
    return found, failed


def source_line(path, line):
    return (DRIVER / path).read_text().splitlines()[line - 1].strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--build', type=Path, default=ROOT / 'build')
    parser.add_argument('tools', nargs='*', metavar='TOOL', help=', '.join(TOOLS))
    args = parser.parse_args()
    unknown = set(args.tools) - set(TOOLS)
    if unknown:
        parser.error('no tool ' + ', '.join(sorted(unknown)))
    jobs = int(os.environ.get('JOBS', os.cpu_count()))
    accepted = accepted_list()
    is_ok = True
    for tool in args.tools or TOOLS:
        if shutil.which(tool) is None:
            print(f'SKIP analyze: {tool}: not installed')
            continue
        found, failed = findings(tool, args.build.resolve(), jobs)
        nb_accepted = 0
        for path, line, check, message in sorted(found):
            text = source_line(path, line)
            # Each entry is asked, so that all that match count as used.
            if any([a.accepts(tool, check, path, text) for a in accepted]):
                nb_accepted += 1
                continue
            failed.append(f'{tool}: {path}:{line}: {message}: {text}')
        failed += [f'{tool}: analyze.txt accepts nothing with: {a.line}'
                   for a in accepted if a.tool == tool and not a.is_used]
        for text in failed:
            print(f'FAIL analyze: {text}')
        if not failed:
            print(f'PASS analyze: {tool}, {nb_accepted} accepted', flush=True)
        is_ok = is_ok and not failed
    sys.exit(0 if is_ok else 1)


if __name__ == '__main__':
    main()
