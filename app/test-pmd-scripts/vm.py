# SPDX-License-Identifier: BSD-3-Clause
"""A machine with an unmodified kernel: a guest of mana-vm, whose adapter is the model.

MANA_MACHINE=vm:KERNEL[:USERLAND[:ARCH]] selects it (vm:6.12:12, vm:newest:12:arm64). The
scripts are the same as for the imitated kernel; vm.txt lists where each variant runs.
MANA_PLUGIN is the driver's plug-in, instead of the one of this build.
"""

import fnmatch
import os
import re
import shutil
import sys

sys.path += [os.path.join(os.path.dirname(os.path.realpath(__file__)),
                          "..", "..", "model", name) for name in ("python", "vm")]

# pylint: disable=wrong-import-position
import mana_model  # noqa: E402
from manavm import arch as arches  # noqa: E402
from manavm import build  # noqa: E402
from mana_model import BUILD, TOP, wait_until  # noqa: E402

TABLE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "vm.txt")
NB_CPUS = 2         # on which programs run
NB_CPUS_MIN = 4     # of the guest; a port has as many queues at most
MEMORY_MIB = 3072
HUGEPAGES_MIB = 768
HUGEPAGES = "/dev/hugepages"
# Emulated processors are slower than the host's.
TIMEOUT_FACTOR = "3"
# Programs of this build are below it; the guest sees it as /host.
SHARED = TOP if BUILD.startswith(TOP + "/") else BUILD

LOG_LINES = 30
LOGS = []       # of the guests' kernels
# Complaints that scripts tolerate; test_libibverbs.py shows that a program without this
# driver causes each. If the kernel cannot destroy a program's objects:
LEFT_MESSAGES = ["WARNING: .*uverbs_destroy_ufile_hw", "WARNING: .*rdma_restrack_clean",
                 "Call Trace"]
# If this is because the card does not answer (-110: ETIMEDOUT):
SILENT_MESSAGES = [*LEFT_MESSAGES, "mana .*timed? ?out", "mana .*: -110$"]


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


def netdev(port):
    """The kernel's name of a port of the first function."""
    return f"eth{port}"


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
        if run == "full":
            found += [("6.12:12", script, variant, "full"),
                      ("newest:12", script, variant, "full")]
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
    """For a guest with these options of mana-vm; by default, those of MANA_MACHINE."""
    if not os.environ.get("MANA_TEST_IN_NAMESPACE"):    # else done before, outside of it
        mana_model.prepare_or_skip(*(SPEC.options if options is None else options))


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


class Model(mana_model.Guest):
    """A guest, with the operations that scripts use."""

    # Frames per second that arrive alone, also for a sleeping thread.
    LONE_RATE = "300"
    # Linux 7.3 keeps the first speed that the adapter has reported.
    SPEED_CHANGES = False
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
        super().__init__(*options, strict=strict, name=name, vm=[
            *SPEC.options, "--share", SHARED, "--memory", str(MEMORY_MIB),
            "--hugepages", str(HUGEPAGES_MIB)])
        options = " ".join(self.options).replace("--mode thread", "--mode=thread")
        functions = re.search(r"--functions[ =](\d+)", options)
        self.vm += ["--functions", functions.group(1) if functions else "1"]
        self.options = [] if "--ports" in options else ["--ports", "2"]  # as without mana-vm
        self.options += [word for word in options.split() if word not in self.DROPPED]
        self.options += ["--rnic"] if SPEC.kernel == "6.12" else []
        LOGS.append(self.log_path)
        self.prefix = []            # of the machine's command
        self.expected_lines = []    # error lines of the adapter

    def command(self, *argv):
        words = super().command(*self.prefix, *map(in_guest, argv))
        return [words[0], "--cpus", str(nb_cpus(argv)), *words[1:]]

    def join_command(self, *argv):
        return super().join_command(*map(in_guest, argv))

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
            return ""
        return super().ctl(*words)


def show_logs():
    """Prints the end of each kernel's log."""
    for path in LOGS:
        print(f"---- the last messages of a guest's kernel, {path}:")
        with open(path, encoding="utf-8", errors="replace") as file:
            print("".join(file.readlines()[-LOG_LINES:]))


if __name__ == "__main__":      # for meson
    for row in runs():
        print(*row)
