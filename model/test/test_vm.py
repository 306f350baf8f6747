#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause

"""Commands in virtual machines (mana-vm): streams, exit status, signals, failures,
and what is left afterwards. The tests are skipped if Debian's packages are neither
in the cache nor on the network.

usage: test_vm.py [unittest arguments]      (see model_test.py)
"""

import contextlib
import hashlib
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from model_test import (MANA_VM, PATIENCE_S, TOP, Report, children, comm, lives, mac,
                        wait_until)
from vm_guest import PREPARE_S, run

sys.path.insert(0, os.path.join(TOP, "model", "vm"))
# pylint: disable=wrong-import-position
from manavm import arch, kernel, qemu  # noqa: E402

KERNEL = ["--kernel", "6.12"]


class Case(unittest.TestCase):
    def setUp(self):
        # The run folders of these machines are here.
        self.base = tempfile.mkdtemp(prefix="vm-test-")
        self.addCleanup(shutil.rmtree, self.base)
        self.runs = os.path.join(self.base, "runs")
        self.shared = os.path.join(self.base, "shared")
        os.mkdir(self.runs)
        os.mkdir(self.shared)
        self.env = dict(os.environ, TMPDIR=self.runs)

    def tearDown(self):
        self.assertEqual(os.listdir(self.runs), [], "run folders left behind")

    def vm(self, *words, options=(), **more):
        """Runs a command in a guest, without adapter unless the options have one."""
        return subprocess.run(
            [MANA_VM, *KERNEL, "--functions", "0", *options, "--", *words],
            cwd=self.shared, env=self.env, check=False,
            **{"timeout": 3 * PATIENCE_S, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
               "stderr": subprocess.PIPE, **more})

    def start(self, *words, **more):
        process = subprocess.Popen(
            [MANA_VM, *KERNEL, "--functions", "0", "--", *words], cwd=self.shared,
            env=self.env, **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                             **more})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class Streams(Case):
    def test_streams_and_status_are_those_of_the_command(self):
        done = self.vm("sh", "-c", "echo out; echo err >&2; uname -r; exit 42")
        self.assertEqual(done.returncode, 42)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(lines[0], "out")
        self.assertRegex(lines[1], r"^6\.12\.")
        self.assertEqual(len(lines), 2)
        self.assertEqual(done.stderr, b"err\n")

    def test_terminal(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.shared)
            os.execve(MANA_VM, [MANA_VM, *KERNEL, "--functions", "0", "-i"], self.env)
        self.addCleanup(os.close, terminal)
        self.addCleanup(lambda: lives(pid) and os.kill(pid, signal.SIGKILL))
        seen = b""

        def expect(pattern):
            nonlocal seen
            while not re.search(pattern, seen):
                ready, _, _ = select.select([terminal], [], [], 3 * PATIENCE_S)
                self.assertTrue(ready, seen)
                try:
                    data = os.read(terminal, 4096)
                except OSError:     # mana-vm has ended
                    data = b""
                self.assertTrue(data, seen)
                seen += data
            seen = seen[re.search(pattern, seen).end():]

        expect(rb"# ")
        # The program itself says that it is in the foreground.
        os.write(terminal, b"tty; sh -c 'echo run\"\"ning; exec sleep 1000'\n")
        expect(rb"/dev/pts/\d+\r\nrunning\r\n")
        os.write(terminal, b"\x03")    # for sleep, not for mana-vm
        # bash reads again. The kernel may leave out the echo "^C": it signals before it
        # echoes, and bash has switched the echo off by then (Linux n_tty_receive_signal_char).
        expect(rb"# ")
        os.write(terminal, b"echo $?-is-the-status; exit 9\n")
        expect(rb"130-is-the-status\r\n")
        with contextlib.suppress(OSError):    # until its end
            while os.read(terminal, 4096):
                pass
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 9)


class FurtherCommands(Case):
    """Commands in a running guest, which takes seconds to start."""

    def setUp(self):
        super().setUp()
        self.name = f"test-{os.getpid()}"
        self.guest = subprocess.Popen(
            [MANA_VM, *KERNEL, "--functions", "0", "--name", self.name, "--", "cat"],
            cwd=self.shared, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.guest.wait)
        self.addCleanup(self.guest.kill)
        wait_until(lambda: self.command("true").returncode == 0, "a guest",
                   timeout=3 * PATIENCE_S)

    def exec(self, *words):
        return [MANA_VM, "exec", self.name, "--", *words]

    def command(self, *words, **more):
        return subprocess.run(
            self.exec(*words), env=self.env, check=False, timeout=PATIENCE_S,
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
               "stderr": subprocess.PIPE, **more})

    def test_further_commands(self):
        for check in (self.streams_and_status, self.all_bytes_arrive_in_both_directions,
                      self.unread_input_does_not_stop_the_command,
                      self.reader_that_ends_ends_the_command,
                      self.status_of_commands_that_do_not_run,
                      self.killed_client_ends_its_command, self.programs_of_the_guest_run):
            with self.subTest(check.__name__):
                check()
        output, _ = self.guest.communicate(b"last\n", timeout=PATIENCE_S)
        self.assertEqual((self.guest.returncode, output), (0, b"last\n"))

    def streams_and_status(self):
        done = self.command("sh", "-c", "echo out; echo err >&2; exit 42")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (42, b"out\n", b"err\n"))

    def all_bytes_arrive_in_both_directions(self):
        data = os.urandom(3_000_000)
        done = self.command("sh", "-c", "tee /tmp/copy; sha256sum </tmp/copy >&2",
                            input=data, stdin=None)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, data)
        self.assertEqual(done.stderr.split()[0].decode(),
                         hashlib.sha256(data).hexdigest())

    def unread_input_does_not_stop_the_command(self):
        done = self.command("echo", "done", input=bytes(1 << 20), stdin=None)
        self.assertEqual((done.returncode, done.stdout), (0, b"done\n"), done.stderr)

    def reader_that_ends_ends_the_command(self):
        process = subprocess.Popen(self.exec("yes"), env=self.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.read(4), b"y\ny\n")
        process.stdout.close()
        self.assertEqual(process.wait(PATIENCE_S), 128 + signal.SIGPIPE)

    def status_of_commands_that_do_not_run(self):
        self.assertEqual(self.command("no-such-command").returncode, 127)
        done = self.command("/etc/hosts")
        self.assertEqual(done.returncode, 126)
        self.assertIn(b"cannot run /etc/hosts", done.stderr)
        # As of another architecture: not for the shell.
        program = os.path.join(self.shared, "program")
        with open(program, "wb") as file:
            file.write(b"\x7fELF\n")
        os.chmod(program, 0o755)
        done = self.command("./program")
        self.assertEqual(done.returncode, 126)
        self.assertIn(b"cannot run ./program in the guest: Exec format error",
                      done.stderr)

    def killed_client_ends_its_command(self):
        other = subprocess.Popen(self.exec("sleep", "1000"), env=self.env,
                                 stdin=subprocess.DEVNULL)
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        wait_until(lambda: self.command("pidof", "sleep").stdout, "the other command")
        other.kill()
        wait_until(lambda: not self.command("pidof", "sleep").stdout, "its end")

    def programs_of_the_guest_run(self):
        done = self.command("sh", "-ec", "ip -br link; rdma link; ethtool --version; "
                            "ibv_devinfo || :; ping -c 1 127.0.0.1; tcpdump --version; "
                            "lspci; modprobe -n mana_ib; bash --version; tc qdisc; "
                            "dpdk-testpmd --no-huge -m 64 --no-pci --vdev net_null0 -- "
                            "--no-mlockall --total-num-mbufs=2048")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"No IB devices found", done.stderr)
        self.assertIn(b"1 received", done.stdout)
        self.assertIn(b"Port 0 is closed", done.stdout)


class Guest(Case):
    def test_guest_has_what_the_options_say(self):
        with open(os.path.join(self.shared, "file"), "w", encoding="ascii") as file:
            file.write("shared\n")
        done = self.vm("sh", "-c", "cat file; pwd; echo $NAME; nproc; "
                       "grep HugePages_Total /proc/meminfo; "
                       "grep -o loglevel=5 /proc/cmdline; touch file",
                       options=["--cpus", "3", "--hugepages", "64", "--env", "NAME=a b",
                                "--append", "loglevel=5"])
        self.assertEqual(done.stdout.decode().split("\n"),
                         ["shared", "/host", "a b", "3", "HugePages_Total:      32",
                          "loglevel=5", ""])
        self.assertIn(b"Read-only file system", done.stderr)

    def test_programs_of_the_next_release_run(self):
        done = self.vm("sh", "-ec", "dpdk-testpmd -v --no-huge -m 64 --no-pci --vdev "
                       "net_null0 -- --no-mlockall --total-num-mbufs=2048",
                       options=["--userland", "13", "--plugin", "none"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"DPDK 24.11", done.stderr)
        self.assertIn(b"Port 0 is closed", done.stdout)

    def test_kernel_messages_go_to_the_log_only(self):
        log = os.path.join(self.base, "log")
        done = self.vm("sh", "-c", "echo message >/dev/kmsg", options=["--log", log])
        self.assertEqual((done.stdout, done.stderr), (b"", b""))
        with open(log, "rb") as file:
            text = file.read()
        self.assertIn(b"] message", text)
        self.assertIn(b"Run /init as init process", text)

    def run_kernel(self, image, script):
        done = self.vm("sh", "-ec", script, options=["--kernel", image], text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_probe_sees_that_a_kernel_boots(self):
        # As it does for KVM, on the processor that always works.
        host = arch.find(arch.host())
        guest = qemu.Guest(host, os.path.join(debian_kernel(), "kernel"), None, 1, 256,
                           "")
        with mock.patch.object(qemu, "PROBE_S", PATIENCE_S):
            self.assertTrue(qemu.probe(qemu.tools(host), guest, "tcg"))
            guest.kernel = "/bin/true"
            self.assertFalse(qemu.probe(qemu.tools(host), guest, "tcg"))

    def test_kernel_without_modules(self):
        self.assertEqual(self.run_kernel(os.path.join(debian_kernel(), "kernel"),
                                         "[ ! -e /usr/lib/modules ] && uname -s"),
                         "Linux\n")

    def test_kernel_of_a_build_tree(self):
        # Debian's, put where make would put them.
        tree = pathlib.Path(self.base, "linux")
        image = tree / arch.find(arch.host()).kernel_image
        image.parent.mkdir(parents=True)
        shutil.copy(os.path.join(debian_kernel(), "kernel"), image)
        names = []
        for name, data in read_cpio(os.path.join(debian_kernel(), "modules.cpio")):
            found = re.fullmatch(r"usr/lib/modules/([^/]+)/kernel/(.*)\.ko", name)
            if found:
                release = found.group(1)
                names.append(found.group(2))
                path = tree / f"{names[-1]}.ko"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        (tree / "include/config").mkdir(parents=True)
        (tree / "include/config/kernel.release").write_text(release + "\n")
        (tree / "modules.order").write_text("".join(f"{name}.o\n" for name in names))
        printed = self.run_kernel(str(tree), "uname -r; lsmod")
        self.assertEqual(printed.split()[0], release)
        self.assertRegex(printed, r"(?m)^mana_ib ")


def debian_kernel():
    """The cached kernel of Debian: a folder with kernel and modules.cpio."""
    return os.path.dirname(kernel.prepare("6.12", arch.find(arch.host()))[0])


def read_cpio(path):
    """(name, contents) of each entry of an archive."""
    data, at = pathlib.Path(path).read_bytes(), 0
    while True:
        size, name_size = (int(data[at + 6 + 8 * field:at + 14 + 8 * field], 16)
                           for field in (6, 11))
        name = data[at + 110:at + 109 + name_size].decode()
        start = (at + 110 + name_size + 3) // 4 * 4
        if name == "TRAILER!!!":
            return
        yield name, data[start:start + size]
        at = (start + size + 3) // 4 * 4


class Adapter(Case):
    """Guests with ports of the model."""

    # Forwards until packets have come back.
    FORWARD = """
ip -br link
ibv_devices
dpdk-testpmd --no-huge -m 256 -l 0,1 -a 0000:01:00.0 -- --no-mlockall \\
    --total-num-mbufs=16384 --tx-first --stats-period=1 >/tmp/out 2>&1 &
until grep -q 'RX-packets: [1-9][0-9][0-9]' /tmp/out; do
    kill -0 $! || break
    sleep 0.2
done
kill -INT $!
wait $! && status=0 || status=$?
cat /tmp/out
exit $status
"""

    def test_driver_forwards(self):
        report = os.path.join(self.base, "report")
        done = self.vm("sh", "-c", self.FORWARD, options=[
            "--kernel", "newest", "--functions", "1", "--ports", "2", "--model",
            f"--wire pair --fatal-violations --report {report}"], timeout=5 * PATIENCE_S,
                       text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for port in range(2):
            self.assertIn(mac(port), done.stdout)
        self.assertIn("manae_0", done.stdout)
        totals = done.stdout.rpartition("Accumulated")[2]
        received = int(re.search(r"RX-packets: (\d+)", totals).group(1))
        self.assertGreater(received, 64)
        counted = Report.load(report)
        self.assertEqual(counted.violations, [])
        # At its end testpmd may leave packets in rings.
        self.assertGreaterEqual(sum(port["rx"]["packets"] for port in
                                    counted.ports.values()), received)


class Failures(Case):
    def failure(self, *words, status=125, **more):
        done = self.vm(*words, **more)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.decode()

    def test_panic_shows_the_kernel_log(self):
        text = self.failure("sh", "-c", "echo c >/proc/sysrq-trigger")
        self.assertIn("the guest ended before the command", text)
        self.assertIn("Kernel panic - not syncing: sysrq triggered crash", text)

    def test_powered_off_guest_is_a_failure(self):
        self.assertIn("the guest ended", self.failure("poweroff", "-f"))

    def test_time_limit_ends_a_hanging_guest(self):
        # Its processors never start.
        text = self.failure("true", status=124,
                            options=["--timeout", "5", "--qemu", "-S"])
        self.assertIn("did not end within 5 s", text)

    def test_wrong_options_of_qemu_are_a_failure(self):
        text = self.failure("true", options=["--qemu", "-no-such-option"])
        self.assertIn("the virtual machine failed: exit status 1", text)

    def test_wrong_files_are_named(self):
        self.assertIn("no kernel '/none'",
                      self.failure("true", options=["--kernel", "/none"]))
        self.assertIn("cannot write /none/log",
                      self.failure("true", options=["--log", "/none/log"]))
        self.assertIn("cannot read the plug-in /none",
                      self.failure("true", options=["--plugin", "/none"]))


class Signals(Case):
    def test_interrupt_is_for_the_command(self):
        process = self.start("sh", "-c", "trap 'echo caught; exit 5' INT; echo up; "
                             "while :; do sleep 0.1; done")
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.read(), b"caught\n")
        self.assertEqual(process.wait(PATIENCE_S), 5)

    def test_second_signal_ends_the_guest(self):
        process = self.start("sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; "
                             "done")
        self.assertEqual(process.stdout.readline(), b"up\n")
        machine = [pid for pid in children(process.pid) if comm(pid)]
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        self.assertIn(process.wait(PATIENCE_S),
                      (128 + signal.SIGTERM, 128 + signal.SIGINT))
        self.assertEqual([pid for pid in machine if lives(pid)], [])

    def test_killed_run_leaves_nothing(self):
        process = self.start("sh", "-c", "echo up; sleep 1000")
        self.assertEqual(process.stdout.readline(), b"up\n")
        machine = children(process.pid)
        self.assertGreaterEqual(len(machine), 3)    # QEMU, virtiofsd, guardian
        process.kill()
        wait_until(lambda: not any(lives(pid) for pid in machine),
                   lambda: f"left: {[comm(pid) for pid in machine if lives(pid)]}")
        wait_until(lambda: not os.listdir(self.runs), "run folder left")


class Suspend(Case):
    SCRIPT = """
        ip link set eth0 up
        echo +4 >/sys/class/rtc/rtc0/wakealarm
        echo mem >/sys/power/state
        echo "resumed: $?" >/dev/kmsg
        ip -br link show eth0 >/dev/kmsg
        ibv_devices >/dev/kmsg
    """

    def test_adapter_works_after_a_suspend(self):
        log = os.path.join(self.base, "log")
        done = self.vm("sh", "-c", self.SCRIPT, options=[
            "--share", "none", "--log", log, "--functions", "1"])
        with open(log, encoding="utf-8", errors="replace") as file:
            text = file.read()
        self.assertIn(b"violations: none", done.stderr)
        self.assertRegex(text, r"PM: suspend exit[\s\S]*\] resumed: 0\n")
        self.assertRegex(text, r"resumed: 0\n[\s\S]*\] eth0 +UP ")
        self.assertRegex(text, r"resumed: 0\n[\s\S]*\bmanae?_0\b")


class Images(Case):
    """Fetches the packages again."""

    def test_images_are_the_same_in_another_cache(self):
        hashes = []
        caches = [os.path.join(self.base, name) for name in ("a", "b")]
        for folder in caches:
            self.env["XDG_CACHE_HOME"] = folder
            done = self.vm(options=["--prepare"], timeout=PREPARE_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            hashes.append({
                str(path.relative_to(folder)): hashlib.sha256(
                    path.read_bytes()).hexdigest()
                for path in pathlib.Path(folder).glob("mana-vm/*/*.cpio")})
        self.assertEqual(len(hashes[0]), 2)
        self.assertEqual(hashes[0], hashes[1])


if __name__ == "__main__":
    run(["--userland", "13", "--plugin", "none"])
