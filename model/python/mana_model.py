# SPDX-License-Identifier: BSD-3-Clause
"""Modelled machines with MANA ports, for programs in Python.

    from mana_model import Machine, ending

    machine = Machine("--ports", "2", "--wire", "pair")
    with ending([machine.start("dpdk-testpmd", ...)]) as (testpmd,):
        testpmd.expect("testpmd> ")
        machine.ctl("link", "port=1", "down")
        testpmd.send("quit")
        testpmd.wait()
    print(machine.report().violations)

Machine imitates the kernel, too (mana-model); its programs are processes of this host. Guest
is a virtual machine with an unmodified kernel (mana-vm). MANA_BUILD names the build folder;
without it, build/ of the checkout. MANA_TIMEOUT_FACTOR extends all time limits.
"""

import atexit
import contextlib
import functools
import glob
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import tty

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.abspath(os.environ.get("MANA_BUILD", os.path.join(TOP, "build")))
MODEL = os.path.join(BUILD, "model", "mana-model")
MANA_VM = os.path.join(BUILD, "model", "mana-vm")

# A program that is killed leaves no machine behind.
os.environ["MANA_MODEL_END_WITH_PARENT"] = "1"

# Ignored in a background job of a shell. Programs would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SKIPPED = 77    # meson's exit status of a test that cannot run here
MAC_BASE = 0x000d3a000001


def mac(port):
    """The MAC address of a port, numbered over all functions."""
    digits = f"{MAC_BASE + port:012x}"
    return ":".join(digits[at:at + 2] for at in range(0, 12, 2))


def pci(function):
    """The PCI address of a function of a Machine."""
    return f"{0x7870 + function:04x}:00:00.0"


# ---- Waiting ----

def timeout_factor():
    """The factor by which sanitizers and slow machines extend time limits."""
    return float(os.environ.get("MANA_TIMEOUT_FACTOR", "1"))


def wait_until(reached, what, timeout=60, pause=0.02):
    """
    Waits until reached() is true, and returns its value. what: a message, or a function
    that returns one.
    """
    end = time.monotonic() + timeout * timeout_factor()
    while not (value := reached()):
        if time.monotonic() > end:
            raise AssertionError(f"{what() if callable(what) else what}: "
                                 f"not within {timeout} s")
        time.sleep(pause)
    return value


# ---- Processes ----

def children(pid):
    """All descendants of pid, nearest first."""
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [int(child) for child in file.read().split()]
    return found + [below for child in found for below in children(child)]


def comm(pid):
    """The name of a process; "" if it has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().strip()
    return ""


def find_child(pid, name):
    """Waits for a descendant of pid with that name."""
    def found():
        return next((child for child in children(pid) if comm(child) == name[:15]), None)
    return wait_until(found, f"a process {name} below {pid}")


def session_threads(session):
    """Process, thread, state and place in the kernel of each thread of a session."""
    for task in glob.glob("/proc/[0-9]*/task/[0-9]*"):
        with contextlib.suppress(OSError):
            with open(f"{task}/stat", encoding="utf-8") as file:
                name, _, rest = file.read().rpartition(")")
            with open(f"{task}/wchan", encoding="ascii") as file:
                place = file.read()
            if rest.split()[3] == str(session):
                yield (task.split("/")[2], name.partition("(")[2], rest.split()[0], place)


@functools.lru_cache(maxsize=None)
def runtime_folder():
    """The folder of EAL's sockets, removed at the end of this script."""
    folder = tempfile.mkdtemp(prefix="mana-run-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def program_environment():
    """
    With MANA_PRELOAD (a sanitizer's run-time) ahead of the model's library, and a folder of
    EAL in which programs outside of a machine find those on it.
    """
    environment = dict(os.environ)
    preload = environment.pop("MANA_PRELOAD", "")
    if preload:
        environment["LD_PRELOAD"] = preload
    environment.setdefault("RUNTIME_DIRECTORY", runtime_folder())
    return environment


# ---- Programs ----

class ConsoleError(AssertionError):
    """The expected output or event did not happen."""


class Console:
    """
    A running program, with a pipe as standard input and a pseudo-terminal as output: on a
    terminal its C library writes line by line, and the pipe causes no echo. stderr goes
    with stdout or to the given file.
    """

    def __init__(self, argv, env=None, own_session=True, stderr=None):
        self.argv = list(argv)
        self._own_session = own_session
        self._text = ""
        self._eof = False
        self._grown = threading.Condition()
        self._stderr = stderr
        master, slave = pty.openpty()
        tty.setraw(slave)
        try:
            self.process = subprocess.Popen(
                self.argv, stdin=subprocess.PIPE, stdout=slave, stderr=stderr or slave,
                env=env or program_environment(), start_new_session=own_session)
        finally:
            os.close(slave)
        self._master = master
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:     # EIO: the last writer has closed
                data = b""
            with self._grown:
                if data:
                    self._text += data.decode("utf-8", "replace").replace("\r", "")
                else:
                    self._eof = True
                self._grown.notify_all()
            if not data:
                return

    @property
    def text(self):
        """All output so far."""
        with self._grown:
            return self._text

    def mark(self):
        """A position for expect()."""
        with self._grown:
            return len(self._text)

    def expect(self, pattern, timeout=60, since=0):
        """Waits for a regular expression in the output; returns the match."""
        regex = re.compile(pattern, re.MULTILINE)
        end = time.monotonic() + timeout * timeout_factor()
        with self._grown:
            while True:
                match = regex.search(self._text, since)
                if match:
                    return match
                left = end - time.monotonic()
                if self._eof:
                    raise ConsoleError(
                        f"the program ended before /{pattern}/ appeared")
                if left <= 0:
                    raise ConsoleError(f"no /{pattern}/ within {timeout} s")
                self._grown.wait(left)

    def send(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def wait(self, timeout=60):
        """Waits for the end; returns the exit status (negative: signal)."""
        try:
            status = self.process.wait(timeout * timeout_factor())
        except subprocess.TimeoutExpired:
            raise ConsoleError(f"did not end within {timeout} s, has the threads "
                               f"{list(session_threads(self.process.pid))}") from None
        self._reader.join(5)
        return status

    def show(self):
        """Prints the command and its output."""
        print("---- command:", " ".join(self.argv))
        print(self.text)
        if self._stderr is not None:
            self._stderr.seek(0)
            print(self._stderr.read())
        print("----")

    def kill(self):
        """Ends the program and its children, if it runs."""
        if self.process.poll() is None:
            # SIGTERM first, so that the launcher ends its program and cleans up.
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
        if self._own_session:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if not self.process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()


@contextlib.contextmanager
def ending(programs):
    """Programs of a list, which may grow, end with the block; a failure shows their output."""
    try:
        yield programs
    except BaseException:
        for program in programs:
            program.show()
        raise
    finally:
        for program in reversed(programs):
            program.kill()


# ---- Machines ----

class Report:
    """A machine's report: counters of the wire, violations, what was left behind."""

    def __init__(self, data):
        self.data = data

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as file:
            return cls(json.load(file))

    @property
    def ports(self):
        """The port with a MAC address."""
        return {port["mac"].lower(): port for port in self.data["ports"]}

    def port(self, number):
        return self.ports[mac(number)]

    def sink(self, number):
        """The counters of the sink at the far end of a port."""
        return self.port(number)["wire"]["sink"]

    @property
    def violations(self):
        return self.data["violations"]

    @property
    def doorbells(self):
        return self.data["doorbells"]

    @property
    def leaks(self):
        return {kind: count for kind, count in self.data["leaks"].items() if count}

    @property
    def objects(self):
        """Kernel objects that exist now, by kind."""
        return self.data["objects"]


def temporary_file(prefix):
    """The path of a file that is removed at the end of this script."""
    handle, path = tempfile.mkstemp(prefix=prefix)
    os.close(handle)
    atexit.register(lambda: os.path.exists(path) and os.unlink(path))
    return path


class Machine:
    """
    One modelled machine with options of mana-model. It exists while its first program runs.
    strict: a violation of a hardware rule ends it.
    """

    STRICT = ("--fatal-violations", "--cq-doorbell=strict")

    def __init__(self, *options, strict=True, name=None):
        self.name = name or f"test-{os.getpid()}"
        self.report_path = temporary_file("mana-report-")
        self.options = list(options) + (list(self.STRICT) if strict else [])

    def command(self, *argv):
        """The command line of the machine's first program."""
        return [MODEL, *self.options, "--name", self.name,
                "--report", self.report_path, "--", *argv]

    def join_command(self, *argv):
        """The command line of another program on the running machine."""
        return [MODEL, "--join", self.name, "--", *argv]

    def start(self, *argv):
        """Starts the machine with its first program, a Console."""
        return Console(self.command(*argv))

    def hold(self):
        """
        Starts the machine with a program that does nothing and ends with its standard
        input. Other programs join.
        """
        program = self.start("cat")
        try:
            self.wait_until(lambda report: True, program)
        except BaseException:
            program.show()
            program.kill()
            raise
        return program

    def ctl(self, *words):
        """Sends a command of mana-model ctl to the running machine; returns the answer."""
        done = subprocess.run([MODEL, "ctl", self.name, *words], check=False,
                              capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise AssertionError(f"ctl {' '.join(words)}: {done.stderr}")
        return done.stdout

    def live_report(self):
        """The report of the machine while it runs."""
        return Report(json.loads(Machine.ctl(self, "report")))

    def wait_until(self, reached, program, timeout=60, pause=0.1):
        """
        Waits until reached(report of the running machine) is true; returns the report.
        program: the machine's first one, a Console.
        """
        report = None

        def is_reached():
            nonlocal report
            try:
                report = self.live_report()
            except AssertionError:      # before the machine's start, and after its end
                if program.process.poll() is not None:
                    raise AssertionError("the program ended before that") from None
                return None
            return report if reached(report) else None
        return wait_until(is_reached, lambda: f"{report and report.ports}", timeout, pause)

    def report(self):
        """The report of a machine that has ended."""
        left = glob.glob(f"/dev/shm/mana-model-*-{self.name}") + glob.glob(
            f"/tmp/mana-model-*-{self.name}")
        if left:
            raise AssertionError(f"the launcher left {left}")
        return Report.load(self.report_path)


def cannot_prepare(*options):
    """
    Makes the images of guests with these options of mana-vm. Returns None, or the reason if
    programs or packages are missing.
    """
    done = subprocess.run([MANA_VM, *options, "--prepare"], check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    if not re.search(r"is missing|reading the package index failed|fetching [\w ]* failed|"
                     "names no Debian mirror", done.stderr):
        raise AssertionError(f"mana-vm --prepare: {done.stderr}")
    return done.stderr.strip().splitlines()[-1]


def prepare_or_skip(*options):
    """
    Prepares guests. A test that cannot run is skipped, with meson's exit status; it fails if
    MANA_VM_REQUIRED is set.
    """
    reason = cannot_prepare(*options)
    if reason:
        print(f"SKIP: no virtual machine: {reason}", flush=True)
        os._exit(1 if os.environ.get("MANA_VM_REQUIRED") else SKIPPED)


# A kernel's complaint about itself or the adapter.
COMPLAINT = re.compile(r"WARNING: |BUG: |Oops|Call Trace|Kernel panic|NETDEV WATCHDOG|"
                       r"rcu: INFO|blocked for more than|Out of memory|"
                       r"mana .*(timed? ?out|[Ff]ailed)")
# PHY_STAT is answered as unsupported, once by each driver instance. An adapter that has
# requested a reset does not answer.
HARMLESS = [r"Failed to query vf counters err -95", r"Send Request 0x2000c",
            r"Failed to fence RQ \d+: -110"]


class Guest(Machine):
    """
    A virtual machine with an unmodified kernel, and options of mana-vm besides those of
    mana-model, which name the adapter.
    """

    # A violation is in the report; the guest needs its adapter until then.
    STRICT = ("--cq-doorbell=strict",)

    def __init__(self, *options, vm=(), strict=True, name=None):
        super().__init__(*options, strict=strict, name=name)
        self.vm = list(vm)
        self.log_path = temporary_file("mana-log-")
        # Patterns of messages of the guest's kernel that this run may cause.
        self.expected_messages = []
        # How often the guest's driver lost its hardware channel without closing it.
        self.expected_cut_off = 0
        self.tolerated_violations = []

    def command(self, *argv):
        return [MANA_VM, *self.vm, "--name", self.name, "--log", self.log_path, "--model",
                shlex.join([*self.options, "--report", self.report_path]), "--", *argv]

    def join_command(self, *argv):
        return [MANA_VM, "exec", self.name, "--", *argv]

    def hold(self):
        program = self.start("cat")
        wait_until(lambda: self.run("true", check=False).returncode == 0 or
                   program.process.poll() is not None, "a guest", timeout=180)
        return program

    def run(self, *argv, check=True, timeout=180):
        """Runs a program in the guest. Returns its result with output and errors."""
        done = subprocess.run(self.join_command(*argv), check=False, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=timeout * timeout_factor())
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(argv)}: exit status {done.returncode}\n"
                                 f"{done.stdout}{done.stderr}")
        return done

    def log(self):
        """The messages of the guest's kernel."""
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def complaints(self):
        """Unexpected error messages of the guest's kernel."""
        expected = [*HARMLESS, *self.expected_messages]
        return [line for line in self.log().splitlines() if COMPLAINT.search(line) and
                not any(re.search(pattern, line) for pattern in expected)]

    def report(self):
        """The report, after checks of the guest's kernel and of the adapter's objects."""
        found = self.complaints()
        if found:
            print(self.log())
            raise AssertionError("messages of the guest's kernel:\n  " + "\n  ".join(found))
        report = super().report()
        # What a driver leaves counts when it closes its hardware channel.
        cut_off = sum(function["cut_off"] for function in report.data["functions"])
        if cut_off != self.expected_cut_off:
            print(self.log())
            raise AssertionError(f"hardware channels that were not closed: {cut_off}, "
                                 f"expected {self.expected_cut_off}")
        report.data["violations"] = [at for at in report.violations
                                     if at["name"] not in self.tolerated_violations]
        return report
