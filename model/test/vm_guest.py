# SPDX-License-Identifier: BSD-3-Clause
"""A guest of mana-vm whose two ports are connected, for tests of the kernel's network
interfaces.
"""

import os
import re
import subprocess

import model_test
from model_test import FOLDER, PATIENCE_S, main, prepare_or_skip, timeout_factor

PROGRAMS = os.path.join(FOLDER, "test", "guest")    # the guest's /host
PREPARE_S = 600 * timeout_factor()
NB_QUEUES = 4
MAX_MTU = 9000
ADDRESS, PEER = "10.0.0.1", "10.0.0.2"
PORT = 7777


class Guest(model_test.Guest):
    """
    A running guest with two ports that a wire connects. The second one is in the
    network namespace "peer", with the program streams as a server. setup is a script
    that gives them addresses. With a folder share, that is the guest's /host, and there
    is no server.
    """

    def __init__(self, kernel, setup, *options, share=None, nb_cpus=NB_QUEUES):
        super().__init__("--ports", "2", "--max-mtu", str(MAX_MTU), "--wire", "pair",
                         "--quiet", *options, strict=False,
                         vm=["--kernel", kernel, "--cpus", str(nb_cpus), "--share",
                             share or PROGRAMS])
        self.holder = self.hold()
        self.process = self.holder.process
        self.sh(setup)
        self.server = None
        if share is None:
            self.server = self.start_sh(f"ip netns exec peer /host/streams serve {PORT}")
            self.server.stdout.readline()

    def try_sh(self, script, **more):
        return self.run("sh", "-ec", script, check=False, **more)

    def sh(self, script):
        """The output of a script, which must succeed."""
        return self.run("sh", "-ec", script).stdout

    def start_sh(self, script, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE):
        return subprocess.Popen(self.join_command("sh", "-ec", script), stdin=stdin,
                                stdout=stdout, text=True)

    def ports(self):
        return self.live_report().data["ports"]

    def counters(self):
        """ethtool's of eth0; of queues, also the sum under the name without number."""
        found = {}
        for name, value in re.findall(r"([a-z]\w+): (\d+)", self.sh("ethtool -S eth0")):
            found[name] = int(value)
            total = re.sub(r"^([rt]x)_\d+_", r"\1_", name)
            if total != name:
                found[total] = found.get(total, 0) + int(value)
        return found

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
            self.holder.kill()
        report = self.report()
        if (status, report.violations, report.leaks) != (0, [], {}):
            raise AssertionError(f"exit status {status}, violations "
                                 f"{report.violations}, left {report.leaks}")


def run(*more):
    """
    Runs the tests, or skips them where no machine can be run: with Linux 6.12, or one with
    other options of mana-vm.
    """
    for options in (["--kernel", "6.12"], *more):
        prepare_or_skip(*options)
    main()
