# SPDX-License-Identifier: BSD-3-Clause
"""A guest of mana-vm whose two ports are connected, for tests of the kernel's network
interfaces.
"""

import json
import os
import re
import subprocess

from model_test import FOLDER, MODEL, PATIENCE_S, Report, wait_until

MANA_VM = os.path.join(FOLDER, "mana-vm")
PROGRAMS = os.path.join(FOLDER, "test", "guest")    # the guest's /host
SKIPPED = 77
PREPARE_S = 600
NB_QUEUES = 4
MAX_MTU = 9000
ADDRESS, PEER = "10.0.0.1", "10.0.0.2"
PORT = 7777
# A kernel's complaint about itself or the adapter.
COMPLAINT = re.compile(r"WARNING: |BUG: |Oops|Call Trace|Kernel panic|NETDEV WATCHDOG|"
                       r"mana .*(timed out|[Ff]ailed)")
# PHY_STAT is answered as unsupported, once by each driver instance. An adapter that has
# requested a reset does not answer.
HARMLESS = re.compile(r"Failed to query vf counters err -95|Send Request 0x2000c|"
                      r"Failed to fence RQ \d+: -110")


class Guest:
    """
    A running guest with two ports that a wire connects. The second one is in the
    network namespace "peer", with the program streams as a server. setup is a script
    that gives them addresses; base is a folder for the guest's files. With a folder
    share, that is the guest's /host, and there is no server.
    """

    def __init__(self, kernel, base, setup, *options, share=None, nb_cpus=NB_QUEUES):
        self.name = f"netdev-{os.getpid()}"
        self.log = os.path.join(base, "log")
        self.report_path = os.path.join(base, "report")
        self.process = subprocess.Popen(
            [MANA_VM, "--kernel", kernel, "--cpus", str(nb_cpus), "--ports", "2",
             "--name", self.name, "--log", self.log, "--share", share or PROGRAMS, "--model",
             f"--max-mtu {MAX_MTU} --wire pair --quiet --report {self.report_path}",
             "--model", " ".join(options),
             "--", "cat"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        wait_until(lambda: self.try_sh("true").returncode == 0 or
                   self.process.poll() is not None, "a guest", timeout=3 * PATIENCE_S)
        self.sh(setup)
        self.server = None
        if share is None:
            self.server = self.start(f"ip netns exec peer /host/streams serve {PORT}")
            self.server.stdout.readline()

    def command(self, script):
        return [MANA_VM, "exec", self.name, "--", "sh", "-ec", script]

    def try_sh(self, script, timeout=3 * PATIENCE_S):
        return subprocess.run(self.command(script), check=False, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=timeout)

    def sh(self, script):
        """The output of a script, which must succeed."""
        done = self.try_sh(script)
        if done.returncode != 0:
            raise AssertionError(f"{script}\n{done.stdout}{done.stderr}exit status "
                                 f"{done.returncode}\n{self.messages()[-2000:]}")
        return done.stdout

    def start(self, script, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE):
        return subprocess.Popen(self.command(script), stdin=stdin, stdout=stdout,
                                text=True)

    def ctl(self, *words):
        done = subprocess.run([MODEL, "ctl", self.name, *words], check=True,
                              capture_output=True, text=True)
        return done.stdout

    def ports(self):
        return json.loads(self.ctl("report"))["ports"]

    def counters(self):
        """ethtool's of eth0; of queues, also the sum under the name without number."""
        found = {}
        for name, value in re.findall(r"([a-z]\w+): (\d+)", self.sh("ethtool -S eth0")):
            found[name] = int(value)
            total = re.sub(r"^([rt]x)_\d+_", r"\1_", name)
            if total != name:
                found[total] = found.get(total, 0) + int(value)
        return found

    def messages(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def check_end(self):
        """
        Ends the guest. Neither its kernel nor the adapter may have a complaint, and
        nothing may be left.
        """
        if self.server is not None:
            self.server.kill()
            self.server.wait()
            self.server.stdout.close()
        self.process.stdin.close()
        try:
            status = self.process.wait(3 * PATIENCE_S)
        finally:
            self.process.kill()
        report = Report.load(self.report_path)
        found = [line for line in self.messages().splitlines()
                 if COMPLAINT.search(line) and not HARMLESS.search(line)]
        if found:
            raise AssertionError("messages of the guest's kernel:\n" + "\n".join(found))
        if (status, report.violations, report.leaks) != (0, [], {}):
            raise AssertionError(f"exit status {status}, violations "
                                 f"{report.violations}, left {report.leaks}")


def prepare():
    """None, or the reason why no machine can be run."""
    done = subprocess.run([MANA_VM, "--kernel", "6.12", "--prepare"], check=False,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          timeout=PREPARE_S)
    if re.search(r"is missing|reading the package index failed|fetching packages "
                 "failed|names no Debian mirror", done.stderr):
        return done.stderr.strip().splitlines()[-1]
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return None


def run(main):
    """Runs the tests, or skips them where no machine can be run."""
    reason = prepare()
    if reason:
        print(f"SKIP: {reason}")
        raise SystemExit(SKIPPED)
    main()
