#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs DPDK's examples and other programs, unchanged, on the model with this driver, for some
seconds each, and prints a table. A violation of a hardware rule ends a program.

usage: try-programs.py [--build FOLDER] [NAME...]
  NAME    only these rows of devtools/programs.ini (default: all; takes ten minutes)

"received" and "sent" are the packets that the model counted at the ports. The exit status is
0 if each program did what programs.ini says.
"""

import argparse
import configparser
import os
import re
import signal
import subprocess
import sys
import tempfile
import traceback

TOP = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
ROWS = os.path.join(TOP, "devtools", "programs.ini")
EXAMPLES = os.path.join(TOP, "dpdk-examples-all")
PACKETS = 10_000        # of the generator of each port
TRAFFIC = "size=60-1514,ip=mix,l4=mix"


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser.parse_args()


def import_scripts(build):
    """The modules of the scripts, which read the environment when they are imported."""
    os.environ["MANA_BUILD"] = os.path.abspath(build)
    sys.path.insert(0, os.path.join(TOP, "app", "test-pmd-scripts"))
    # pylint: disable=import-error,import-outside-toplevel
    import application
    import harness
    import model
    return application, harness, model


class Row:
    """A section of programs.ini, and what came of it."""

    def __init__(self, name, keys, scripts, folder):
        self.name = name
        self.keys = keys
        self.application, self.harness, self.model = scripts
        self.folder = folder

    def number(self, key, default):
        return int(self.keys.get(key, default))

    def eal(self, match):
        """EAL arguments in place of {eal} and {ealN}, separated by zero bytes."""
        words = self.application.eal_arguments(
            *self.keys.get("allow", f"-a {self.model.pci(0)}").split(),
            nb_lcores=int(match.group(1) or 2), megabytes=self.number("memory", 512))
        return "\0".join(words)

    def fill(self, text):
        """The text with its {words} replaced."""
        return text.replace("{folder}", self.folder).replace(
            "{examples}", EXAMPLES).replace("{plugin}", self.model.PLUGIN)

    def argv(self):
        """The command line."""
        words = [part for word in self.keys["run"].split() for part in
                 re.sub(r"\{eal(\d?)\}", self.eal, self.fill(word)).split("\0")]
        if "/" in words[0]:
            words[0] = os.path.join(EXAMPLES, words[0])
        elif self.keys.get("newer"):
            words[0] = os.path.join("/usr/bin", words[0])
        return (self.application.with_newer_libraries(words) if self.keys.get("newer")
                else words)

    def machine(self):
        """Options of mana-model."""
        options = self.keys.get("machine", "--ports 2").split()
        traffic = self.keys.get("traffic", TRAFFIC)
        if traffic != "none":
            for port in (0, 1):
                options += self.application.generator(
                    port, f"{traffic},stream={port * self.application.FLOWS}", PACKETS)
        return options

    def totals(self, report):
        return [sum(port[side]["packets"] for port in report.ports.values())
                for side in ("rx", "tx")]

    def reached(self, report, wanted):
        return all(got >= least for got, least in zip(self.totals(report), wanted))

    def run(self):
        """Runs the program. Returns what came of it."""
        if "run" not in self.keys:
            return self.keys["remark"]
        package = self.keys.get("package")
        if package and subprocess.run(["dpkg", "-s", package], check=False,
                                      capture_output=True).returncode != 0:
            return f"not run: {package} is not installed"
        for key in self.keys:
            if key.startswith("file."):
                with open(os.path.join(self.folder, key[len("file."):]), "w",
                          encoding="ascii") as file:
                    file.write(self.fill(self.keys[key]) + "\n")
        os.environ.update(word.split("=") for word in
                          self.fill(self.keys.get("environment", "")).split())
        with self.application.application(self.argv(), *self.machine()) as program:
            if "refused" in self.keys:
                return self.refusal(program)
            return self.work(program)

    def refusal(self, program):
        """The line with which the program refuses to go on."""
        found = program.expect(self.keys["refused"])
        line = next(line for line in program.text.splitlines() if found.group(0) in line)
        program.wait()
        self.harness.check_report(program.model.report(), leaks=True)
        return "refused: " + line.strip()

    def work(self, program):
        """What a program did that has to work."""
        for line in self.keys.get("type", "").splitlines():
            program.send(self.fill(line))
        wanted = [self.number("rx", 2 * PACKETS), self.number("tx", 2 * PACKETS)]
        end = self.keys.get("end", "INT")
        if end != "nothing":
            program.wait_until(lambda report: self.reached(report, wanted))
        if end in ("INT", "KILL"):
            program.signal(getattr(signal, "SIG" + end))
        elif end != "nothing":
            program.send(end)
        status = program.wait()
        self.harness.check_equal("exit status", status, self.number("status", 0))
        said = re.search(self.keys.get("says", ""), program.text, re.MULTILINE)
        self.harness.check(said, f"it did not say {self.keys.get('says')}")
        killed = status in (128 + signal.SIGINT, 128 + signal.SIGKILL)
        report = program.finish(status, leaks=killed or "leaves" in self.keys,
                                expected_errors=self.keys.get("errors", "(?!)").split("\n"))
        self.harness.check(self.reached(report, wanted), f"{report.ports}, not {wanted}")
        received, sent = self.totals(report)
        return (f"works: {received} received, {sent} sent; " +
                (f"{said.group(0)}; " if said.group(0) else "") +
                {128 + signal.SIGINT: "killed by Ctrl-C, which it does not handle",
                 128 + signal.SIGKILL: "killed, as it can hang at Ctrl-C"}.get(
                     status, f"exit status {status}"))


def main():
    args = parse()
    rows = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    rows.optionxform = str
    with open(ROWS, encoding="ascii") as file:
        rows.read_file(file)
    unknown = [name for name in args.names if name not in rows]
    if unknown:
        sys.exit(f"try-programs.py: no program {unknown[0]} in {ROWS}")
    scripts = import_scripts(args.build)
    subprocess.run([os.path.join(TOP, "devtools", "build-examples.sh"), "--all", EXAMPLES],
                   check=True)
    failed = []
    for name in args.names or rows.sections():
        with tempfile.TemporaryDirectory(prefix="mana-programs-") as folder:
            try:
                result = Row(name, rows[name], scripts, folder).run()
            except Exception:       # print the whole trace
                traceback.print_exc(file=sys.stdout)
                result = "FAILED"
                failed.append(name)
        print(f"{name:36}{result}", flush=True)
    if failed:
        sys.exit(f"FAILED: {', '.join(failed)}")


if __name__ == "__main__":
    main()
