# SPDX-License-Identifier: BSD-3-Clause
"""A machine with an unmodified kernel: a guest of mana-vm, whose adapter is the model.

MANA_MACHINE=vm:KERNEL[:USERLAND[:ARCH]] selects it (vm:6.12:12, vm:newest:12:arm64). The
scripts are the same as for the imitated kernel; vm.txt lists where each variant runs.
MANA_PLUGIN is the driver's plug-in, instead of the one of this build.
"""

import atexit
import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path += [os.path.join(os.path.dirname(os.path.realpath(__file__)),
                          "..", "..", "model", name) for name in ("test", "vm")]

# pylint: disable=wrong-import-position
import model_test  # noqa: E402
from manavm import arch as arches  # noqa: E402
from manavm import build  # noqa: E402
from model_test import BUILD, TOP, wait_until  # noqa: E402

MANA_VM = os.path.join(BUILD, "model", "mana-vm")
TABLE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "vm.txt")
SKIP = 77
NB_CPUS = 2         # on which programs run
NB_CPUS_MIN = 4     # of the guest; a port has as many queues at most
MEMORY_MIB = 3072
HUGEPAGES_MIB = 768
HUGEPAGES = "/dev/hugepages"
# Emulated processors are slower than the host's.
TIMEOUT_FACTOR = "3"
# Programs of this build are below it; the guest sees it as /host.
SHARED = TOP if BUILD.startswith(TOP + "/") else BUILD

# A kernel's complaint about itself or the adapter.
LOG_LINES = 30
LOGS = []       # of the guests' kernels
COMPLAINT = re.compile(r"WARNING: |BUG: |Oops|Call Trace|mana .*timed? ?out|"
                       r"Kernel panic|rcu: INFO|blocked for more than|Out of memory")
# Complaints that scripts tolerate; test_libibverbs.py shows that a program without this
# driver causes each. If the kernel cannot destroy a program's objects:
LEFT_MESSAGES = ["WARNING: .*uverbs_destroy_ufile_hw", "WARNING: .*rdma_restrack_clean",
                 "Call Trace"]
# If this is because the card does not answer:
SILENT_MESSAGES = [*LEFT_MESSAGES, "mana .*timed? ?out"]


class Spec:
    """The value of MANA_MACHINE."""

    def __init__(self, text):
        words = text.split(":")
        if words[0] != "vm" or not 2 <= len(words) <= 4 or not all(words):
            sys.exit(f"MANA_MACHINE={text}: expected vm:KERNEL[:USERLAND[:ARCH]]")
        words += ["12", arches.host()][len(words) - 2:]
        self.kernel, self.userland, self.arch = words[1:]
        if self.arch not in arches.ARCHES:
            sys.exit(f"MANA_MACHINE={text}: expected {' or '.join(arches.ARCHES)} as ARCH")

    @property
    def options(self):
        """Options of mana-vm that also --prepare needs."""
        plugin = os.environ.get("MANA_PLUGIN")
        return ["--kernel", self.kernel, "--userland", self.userland,
                "--arch", self.arch, *(["--plugin", plugin] if plugin else [])]


SPEC = Spec(os.environ["MANA_MACHINE"]) if os.environ.get("MANA_MACHINE") else None
if SPEC:
    os.environ.setdefault("MANA_TIMEOUT_FACTOR", TIMEOUT_FACTOR)


def processor():
    """The processor of the machine's programs, as uname names it."""
    return arches.find(SPEC.arch if SPEC else arches.host()).machine


def pci(function):
    """Each function is behind a port of its own."""
    return f"0000:{function + 1:02x}:00.0"


def netdev(function, port, ports_before=0):
    """The kernel's name: it numbers the ports of all functions."""
    del function
    return f"eth{ports_before + port}"


# ---- Where variants run ----

def table():
    """[(pattern, kernels, userlands, run, reason)] of vm.txt."""
    rows = []
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            words, _, reason = line.partition("#")
            fields = words.split()
            if len(fields) not in (0, 4):
                sys.exit(f"vm.txt: {line.rstrip()}: expected four columns")
            if fields:
                rows.append((*fields, reason.strip()))
    return rows


def runs():
    """[(KERNEL:USERLAND[:ARCH], script, variant, suite)] of meson's tests."""
    found = []
    for name, _, _, run, _ in table():
        script, _, variant = name.partition("-")
        if run == "quick":
            found += [(f"{kernel}:12", script, variant, run)
                      for kernel in ("6.12", "newest")]
        elif run != "-":
            found.append((run, script, variant, "full"))
    return found


def refusal(name, spec):
    """
    The reason why SCRIPT-VARIANT does not run on a machine; None: it runs.
    """
    for pattern, kernels, userlands, _, reason in table():
        if fnmatch.fnmatchcase(name, pattern):
            if kernels == "none":
                return reason
            for what, allowed, have in (("kernel", kernels, spec.kernel),
                                        ("userland", userlands, spec.userland)):
                if allowed not in ("all", have):
                    return f"{what} {have}: {reason}"
            return None
    return "vm.txt does not list it"


def prepare(options=None):
    """
    Fetches packages and makes images for a guest with these options of mana-vm
    (default: those of MANA_MACHINE). Without them the script is skipped; it fails if
    MANA_VM_REQUIRED is set.
    """
    if os.environ.get("MANA_TEST_IN_NAMESPACE"):
        return      # done before, outside of the namespace
    options = SPEC.options if options is None else options
    done = subprocess.run([MANA_VM, *options, "--prepare"], check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(done.stdout)
        if os.environ.get("MANA_VM_REQUIRED"):
            sys.exit("mana-vm --prepare failed")
        print("SKIP: no packages for a virtual machine: "
              f"{done.stdout.strip().splitlines()[-1]}")
        sys.exit(SKIP)


# ---- The machine ----

def built_program(name):
    """
    A program of these scripts, built for the machine; it is below SHARED. MANA_PROGRAMS is
    the folder of another build of them.
    """
    folder = os.environ.get("MANA_PROGRAMS", os.path.join(BUILD, "app", "test-pmd-scripts"))
    path = os.path.join(folder, name)
    if not SPEC or build.is_for_host(SPEC.userland, arches.find(SPEC.arch)):
        return path
    source = os.path.join(TOP, "app", "test-pmd-scripts", name + ".c")
    path += f"-{SPEC.userland}-{SPEC.arch}"
    # Another script may run it now.
    shutil.copy(build.program(source, SPEC.userland, arches.find(SPEC.arch)),
                f"{path}.{os.getpid()}")
    os.rename(f"{path}.{os.getpid()}", path)
    return path


def nb_cpus(argv):
    """Enough for the queues of this command line, and for the rings of RSS."""
    return max([NB_CPUS_MIN, *(1 << (int(number) - 1).bit_length() for number in
                               re.findall(r"--[rt]xq=(\d+)", " ".join(argv)))])


def in_guest(word):
    """A path of this build, as the guest names it."""
    return word.replace(SHARED + "/", "/host/") if word.startswith(SHARED + "/") else word


class Model(model_test.Model):
    """A guest, with the operations that scripts use."""

    # Frames per second that arrive alone, also for a sleeping thread.
    LONE_RATE = "300"
    # Linux 7.3 keeps the first speed that the adapter has reported.
    SPEED_CHANGES = False
    # A violation is in the report; the guest needs its adapter until then.
    STRICT = ("--cq-doorbell=strict",)
    # Real time is the only one.
    DROPPED = {"--mode=thread"}

    # What is a command for the imitated kernel happens in the guest.
    IN_GUEST = {
        "netdev": lambda self, port, state: self.run(
            "ip", "link", "set", self.netdev_of(port), state),
        "remove": lambda self, fn: self.write(
            f"/sys/bus/pci/devices/{pci(self.number(fn))}/remove", "1"),
        "return": lambda self, fn: self.write("/sys/bus/pci/rescan", "1"),
    }

    def __init__(self, *options, strict=True, name=None):
        super().__init__(*options, strict=strict, name=name)
        options = " ".join(self.options).replace("--mode thread", "--mode=thread")
        self.options = [word for word in options.split() if word not in self.DROPPED]
        handle, self.log_path = tempfile.mkstemp(prefix="mana-log-")
        os.close(handle)
        LOGS.append(self.log_path)
        atexit.register(lambda: os.path.exists(self.log_path) and
                        os.unlink(self.log_path))
        # Patterns of messages of the guest's kernel that this run may cause.
        self.expected_messages = []
        self.tolerated_violations = []
        # How often the guest's driver lost its hardware channel without closing it.
        self.expected_cut_off = 0
        self.prefix = []            # of the machine's command
        self.expected_lines = []    # error lines of the adapter

    def command(self, *argv):
        words = " ".join(self.options)
        functions = re.search(r"--functions[ =](\d+)", words)
        ports = [] if "--ports" in words else ["--ports", "2"]   # as without mana-vm
        more = ["--rnic"] if SPEC.kernel == "6.12" else []
        return [MANA_VM, *SPEC.options, "--name", self.name, "--share", SHARED,
                "--cpus", str(nb_cpus(argv)), "--memory", str(MEMORY_MIB),
                "--hugepages", str(HUGEPAGES_MIB), "--log", self.log_path,
                "--functions", functions.group(1) if functions else "1",
                "--model", shlex.join([*ports, *self.options, *more,
                                       "--report", self.report_path]),
                "--", *self.prefix, *map(in_guest, argv)]

    def join_command(self, *argv):
        return [MANA_VM, "exec", self.name, "--", *map(in_guest, argv)]

    inside_command = join_command

    def expect_removal(self):
        """
        Linux destroys a program's queues before it takes the doorbell page away
        (uverbs_destroy_ufile_hw()): doorbells between are no fault of the program.
        """
        self.tolerated_violations.append("doorbell_unknown_queue")
        self.expected_lines.append("^mana-model: violation doorbell_unknown_queue")

    def drop_privileges(self, capabilities):
        """The machine's program is an ordinary user's, with these capabilities."""
        held = ",".join(f"+{name}" for name in capabilities)
        self.prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                       f"--inh-caps={held}", f"--ambient-caps={held}",
                       f"--bounding-set=-all,{held}"]

    @staticmethod
    def left_by_killed(_held):
        """What a killed program leaves of its objects: the kernel destroys all."""
        return {}

    @staticmethod
    def options_of(kernel):
        """For scripts of one kernel: this machine must have it (vm.txt)."""
        if kernel != SPEC.kernel:
            raise AssertionError(f"the guest has kernel {SPEC.kernel}, not {kernel}")
        return []

    # ---- In the guest ----

    def run(self, *argv, check=True):
        """Runs a program in the guest. Returns its result with output and errors."""
        done = subprocess.run(self.join_command(*argv), check=False, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE,
                              timeout=60 * model_test.timeout_factor())
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(argv)}: {done.stderr}")
        return done

    def write(self, path, text):
        self.run("sh", "-c", f"echo {text} >{path}")

    def read(self, path):
        """The contents of a file, as of /proc."""
        return self.run("cat", path).stdout

    def links(self, folder):
        """Targets of all links in a folder."""
        return self.run("sh", "-c", f"for a in {folder}/*; do readlink $a; done; true"
                        ).stdout.split("\n")[:-1]

    def pid(self, console, name):
        """The process of that name; if there are several, with that --file-prefix."""
        prefix = next((word for word in console.argv
                       if word.startswith("--file-prefix=")), "")

        def found():
            pids = self.run("pidof", name, check=False).stdout.split()
            return next((int(pid) for pid in pids
                         if prefix in self.read(f"/proc/{pid}/cmdline")), None)
        return wait_until(found, f"a process {name} {prefix}")

    def signal(self, console, name, number):
        self.run("kill", f"-{int(number)}", str(self.pid(console, name)))

    # ---- Commands for the machine ----

    @staticmethod
    def number(word):
        return int(word.partition("=")[2])

    def netdev_of(self, port):
        return f"eth{self.number(port) - 1}"

    def ctl(self, *words):
        if words[0] in self.IN_GUEST:
            self.IN_GUEST[words[0]](self, *words[1:])
        else:
            super().ctl(*words)

    def report(self):
        """The report, after checks of the guest's kernel and of the adapter's objects."""
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            log = file.read()
        found = [line for line in log.splitlines() if COMPLAINT.search(line) and
                 not any(re.search(pattern, line) for pattern in self.expected_messages)]
        if found:
            print(log)
            raise AssertionError("messages of the guest's kernel:\n  " +
                                 "\n  ".join(found))
        report = super().report()
        # What a driver leaves counts when it closes its hardware channel.
        cut_off = sum(function["cut_off"] for function in report.data["functions"])
        if cut_off != self.expected_cut_off:
            print(log)
            raise AssertionError(f"hardware channels that were not closed: {cut_off}, "
                                 f"expected {self.expected_cut_off}")
        report.data["violations"] = [at for at in report.violations
                                     if at["name"] not in self.tolerated_violations]
        return report


def show_logs():
    """Prints the end of each kernel's log."""
    for path in LOGS:
        print(f"---- the last messages of a guest's kernel, {path}:")
        with open(path, encoding="utf-8", errors="replace") as file:
            print("".join(file.readlines()[-LOG_LINES:]))


if __name__ == "__main__":      # for meson
    for row in runs():
        print(*row)
