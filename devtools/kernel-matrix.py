#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the scripts of app/test-pmd-scripts on real kernels: each variant of vm.txt on
each kernel with each userland, in virtual machines. Prints a line per run, then a table
for the guide. Takes hours; the table of a part is printed at Ctrl-C.

usage: kernel-matrix.py [--build FOLDER] [--kernels 6.12,newest] [--userlands 12,13]
                        [--arch ARCH] [--results FILE] [--part K/N] [PATTERN...]
  --arch ARCH     guests of another architecture than the host's, as arm64
  --results FILE  keeps each run's result; a run that has passed or was skipped is not
                  repeated while the checkout stays at the same commit
  --part K/N      only the Kth of N parts of the runs, as 1/4
  PATTERN         only these, as io-* or queues-three; in the order of the patterns
"""

import argparse
import datetime
import fnmatch
import json
import os
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
SCRIPTS = os.path.join(TOP, "app", "test-pmd-scripts")
LIMIT_S = 1800
SKIP = 77


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--kernels", default="6.12,newest")
    parser.add_argument("--userlands", default="12,13")
    parser.add_argument("--arch")
    parser.add_argument("--results")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("patterns", nargs="*", default=["*"])
    return parser.parse_args()


def variants(build, vm):
    """[(path of the script, variant)] of all tests of the build, and of vm.txt."""
    listed = subprocess.run(["meson", "introspect", "--tests", build], check=True,
                            stdout=subprocess.PIPE).stdout
    found = [(os.path.realpath(test["cmd"][-2]), test["cmd"][-1]) for test in json.loads(listed)
             if test["name"].startswith("testpmd-")]
    found = [at for at in found if os.path.dirname(at[0]) == SCRIPTS]
    # those that need a real kernel
    for name, *_ in vm.table():
        script, _, variant = name.partition("-")
        row = (os.path.join(SCRIPTS, f"test_{script}.py"), variant)
        if "*" not in name and row not in found:
            found.append(row)
    return found


def run(script, variant, machine, build):
    """(PASS, FAIL or SKIP, last words)"""
    process = subprocess.Popen(
        [sys.executable, script, variant], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        env=dict(os.environ, MANA_MACHINE=machine, MANA_BUILD=os.path.abspath(build),
                 PYTHONDONTWRITEBYTECODE="1"))
    try:
        output, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.terminate()
        output, _ = process.communicate()
        return "FAIL", f"not within {LIMIT_S} s"
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise
    lines = output.strip().splitlines() or [""]
    result = {0: "PASS", SKIP: "SKIP"}.get(process.returncode, "FAIL")
    if result == "FAIL":
        print(output)
        lines = [line for line in lines if not line.startswith("FAILED")]
    return result, lines[-1] if result != "PASS" else ""


class Results:
    """
    [date, commit, machine, name, result, duration in s, last words] of each run. A file
    keeps them, one JSON array per line.
    """

    def __init__(self, path):
        self.path, self.runs = path, []
        self.commit = subprocess.run(
            ["git", "-C", TOP, "describe", "--always", "--dirty", "--exclude=*"],
            check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
        if path and os.path.exists(path):
            with open(path, "r+", encoding="ascii") as file:
                text = file.read()
                # An interrupted write leaves an incomplete last line.
                complete = text[:text.rfind("\n") + 1]
                file.truncate(len(complete))
            self.runs = [json.loads(line) for line in complete.splitlines()]

    def add(self, *run_):
        self.runs.append([str(datetime.date.today()), self.commit, *run_])
        if self.path:
            with open(self.path, "a", encoding="ascii") as file:
                print(json.dumps(self.runs[-1]), file=file)

    def done(self, machine, name):
        """Whether a run of this commit needs no repetition."""
        return not self.commit.endswith("-dirty") and any(
            run_[1:4] == [self.commit, machine, name] and run_[4] != "FAIL"
            for run_ in self.runs)

    def print(self):
        """The last result of each run, as a table of the guide: the date if it passed."""
        for date, commit in sorted({tuple(run_[:2]) for run_ in self.runs}):
            print(f"{date} commit {commit}")
        machines = sorted({run_[2] for run_ in self.runs})
        last = {(run_[3], run_[2]): run_[0] if run_[4] == "PASS" else run_[4]
                for run_ in self.runs}
        rows = [[name, *(last.get((name, machine), "") for machine in machines)]
                for name in sorted({run_[3] for run_ in self.runs})]
        rows.insert(0, ["Scenario", *(machine.removeprefix("vm:") for machine in machines)])
        widths = [max(map(len, column)) for column in zip(*rows)]
        rule = ["=" * width for width in widths]
        for row in [rule, rows[0], rule, *rows[1:], rule]:
            print("  ".join(map(str.ljust, row, widths)).rstrip())


def main():
    options = parse()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.path.insert(0, SCRIPTS)
    os.environ["MANA_BUILD"] = os.path.abspath(options.build)
    sys.dont_write_bytecode = True
    import vm       # pylint: disable=import-outside-toplevel,import-error
    machines = [f"vm:{kernel}:{userland}" + (f":{options.arch}" if options.arch else "")
                for userland in options.userlands.split(",")
                for kernel in options.kernels.split(",")]
    results, nb_failed = Results(options.results), 0
    known = {f"{os.path.basename(script)[len('test_'):-len('.py')]}-{variant}":
             (script, variant) for script, variant in variants(options.build, vm)}
    # each once, in the order of the patterns
    found = dict.fromkeys(
        (name, machine) for pattern in options.patterns
        for name in fnmatch.filter(known, pattern)
        for machine in machines if vm.refusal(name, vm.Spec(machine)) is None)
    which, total = map(int, options.part.split("/"))
    if not 1 <= which <= total:
        sys.exit(f"--part {options.part}: expected K/N, as 1/4")
    try:
        for name, machine in list(found)[which - 1::total]:
            if results.done(machine, name):
                continue
            begin = time.monotonic()
            result, words = run(*known[name], machine, options.build)
            duration_s = round(time.monotonic() - begin)
            nb_failed += result == "FAIL"
            results.add(machine, name, result, duration_s, words)
            print(result, machine, name, f"({duration_s} s)", words, flush=True)
    except KeyboardInterrupt:
        return 130
    finally:
        results.print()
    return int(nb_failed > 0)


if __name__ == "__main__":
    sys.exit(main())
