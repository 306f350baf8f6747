# SPDX-License-Identifier: BSD-3-Clause
"""The command mana-vm: its options, and one run from them."""

import argparse
import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys

from manavm import arch as arches
from manavm import build, execute
from manavm import guest as guests
from manavm import image, kernel, packages, qemu, run, session, terminal
from manavm.cpio import Archive
from manavm.errors import EXIT_FAILURE, Failure, Hung, NotBooted, Stale, say

BOOT_S = 120
LOG_LINES = 20
BAD_REPORT = 3      # exit status of mana-model --check
REPORT_S = 20       # time for mana-model to end QEMU and write its report
# While Linux starts, it replaces instructions by way of int3. On an emulated processor an
# int3 may still run after that: https://bugzilla.redhat.com/show_bug.cgi?id=2216496.
EMULATION_FAULT = re.compile(r"\bint3: 0000 \[#")
SERIOUS = re.compile(r"Kernel panic|Oops|BUG:|mana-vm-agent:")
VM = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

DESCRIPTION = """\
Boots a virtual machine with MANA ports of the model and an unmodified kernel, runs
COMMAND in it, and ends with COMMAND's exit status. Needs no root rights and no KVM."""

EPILOG = """\
The guest has Debian's testpmd, ibv_devinfo, ip, rdma, ethtool, tcpdump, ping, lspci,
bash and busybox, and mana-first-contact, in memory. Function N of the adapter is
PCI device N+1:00.0, its first port eth0. EAL finds the plug-in of this driver by
itself:

  mana-vm -- ibv_devinfo
  mana-vm --ports 2 --model '--wire pair' -- dpdk-testpmd --no-huge -m 256 -l 0,1 \\
     -a 0000:01:00.0 -- --no-mlockall --total-num-mbufs=16384 --stats-period=1

The host's current folder is the guest's /host, read-only, and COMMAND's current
folder. A program there runs with the guest's libraries. What COMMAND writes to
other folders of the guest is lost at its end. An output stream of COMMAND is a
terminal if that of mana-vm is one.

mana-vm exec runs one more command in the guest NAME, with streams and an exit status
of its own. It is killed if its mana-vm exec is.

A guest that does not power off within 60 s after COMMAND is ended, with a message.
SIGINT and SIGTERM are passed to COMMAND; a second one, or 10 s, ends the guest.
Exit status: COMMAND's; 128 + N if signal N ended it; 3 if --model '--check' has
found something; 124 after --timeout; 125 if mana-vm or the guest failed; 126 or 127
if COMMAND cannot be run.

Debian packages (QEMU, kernels, programs) are fetched once from the mirror that the
host's APT uses, and again when the mirror has newer ones; mana-vm looks once a day,
and when the mirror no longer has one.
They are in ${XDG_CACHE_HOME:-~/.cache}/mana-vm, which may be removed at any time.

Environment: MANA_VM_MIRROR (URI of a Debian mirror, instead of APT's),
MANA_VM_ACCEL (tcg or kvm, instead of a test), MANA_VM_DRIVER_HEADERS (folder of
ethdev_driver.h and others for the driver's build for another release, instead of
those in Debian's source of DPDK), MANA_TIMEOUT_FACTOR (slow hosts)."""


def number(lowest, highest):
    """A type of argparse: an integer in a range."""
    def convert(text):
        if not re.fullmatch(r"\d+", text) or not lowest <= int(text) <= highest:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no number from {lowest} to {highest}")
        return int(text)
    return convert


def split(arguments, with_value):
    """
    The options of mana-vm and the command. argparse alone takes a value that begins
    with "-", as options of mana-model do, for an option of its own.
    """
    own, rest = [], list(arguments)
    while rest:
        if rest[0] == "--":
            return own, rest[1:]
        if not rest[0].startswith("-"):
            break
        name = rest.pop(0)
        if name in with_value and rest:
            name = f"{name}={rest.pop(0)}"
        own.append(name)
    return own, rest


def parse(arguments):
    """The options, and the command as options.command."""
    parser = argparse.ArgumentParser(
        prog="mana-vm", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False,
        usage="mana-vm [OPTION...] [--] COMMAND [ARGUMENT...]\n"
              "       mana-vm [OPTION...] -i [-- COMMAND [ARGUMENT...]]\n"
              "       mana-vm exec [-i] NAME [--] COMMAND [ARGUMENT...]",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    with_value = set()

    def add(*names, **more):
        parser.add_argument(*names, **more)
        if "action" not in more or more["action"] == "append":
            with_value.update(names)

    add("--kernel", metavar="KERNEL", default="newest",
        help="6.1 (no RDMA), 6.12, newest (default), of Debian; "
             "a build tree of Linux; or FILE[+FOLDER], a kernel and what make "
             "modules_install has installed")
    add("--userland", choices=list(packages.SUITES), default="12",
        help="Debian release of the guest's programs (default 12)")
    add("--arch", choices=list(arches.ARCHES), default=arches.host(),
        help="architecture of the guest (default: the host's)")
    add("--plugin", metavar="FILE", help="plug-in of the driver in the guest, or none "
        "(default: the one of this build; built again for another release or "
        "architecture)")
    add("--cpus", type=number(1, 16), default=2, metavar="N",
        help="processors (default 2); the kernel gives a port as many queues at most")
    add("--memory", type=number(256, 1 << 20), default=1024, metavar="MIB",
        help="memory in MiB (default 1024)")
    add("--hugepages", type=number(0, 1 << 20), default=0, metavar="MIB",
        help="part of the memory as huge pages of 2 MiB (default 0)")
    add("--functions", type=number(0, 8), default=1, metavar="N",
        help="adapters (default 1); 0: none, without the model")
    add("--ports", type=number(1, 16), default=1, metavar="N",
        help="ports of each adapter (default 1)")
    add("--no-rnic", action="store_true",
        help="adapters without an RNIC. Kernel 6.12 and kernels of your own get one: mana_ib "
             "of 6.12 crashes without it, newer ones show a second RDMA device, mana_N")
    add("--model", action="append", default=[], metavar="'OPTION...'",
        help="options of mana-model; may be repeated")
    add("--append", default="", metavar="'OPTION...'", help="options of the kernel")
    add("--qemu", action="append", default=[], metavar="'OPTION...'",
        help="more options of QEMU; may be repeated")
    add("--share", metavar="FOLDER",
        help="folder of the host that is the guest's /host (default: the current one); "
             "none: /host is empty, and the guest can be suspended")
    add("--name", default=str(os.getpid()),
        help="name of the guest for mana-vm exec NAME, and of the modelled machine for "
             "mana-model ctl NAME (default: the process id)")
    add("--env", action="append", default=[], metavar="NAME=VALUE",
        help="environment variable of COMMAND; may be repeated")
    add("-i", "--interactive", action="store_true",
        help="run COMMAND, or a shell, on this terminal")
    add("--timeout", type=float, metavar="S", help="end the guest after S seconds")
    add("--log", metavar="FILE", help="file for the kernel's messages; without it the "
        "last ones are shown if mana-vm fails")
    add("--update", action="store_true", help="look for newer packages now")
    add("--prepare", action="store_true",
        help="only fetch and make what a run with these options needs")
    own, command = split(arguments, with_value)
    options = parser.parse_args(own)
    options.command = command
    if not options.command:
        if not options.interactive and not options.prepare:
            parser.error("no COMMAND: name one, or use -i for a shell")
        options.command = ["bash"]
    if options.interactive and not os.isatty(0):
        parser.error("-i needs a terminal as standard input")
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,32}", options.name):
        parser.error(f"--name {options.name}: expected up to 32 letters, digits, . _ -")
    if options.share is None:
        try:
            options.share = os.getcwd()
        except FileNotFoundError:
            parser.error("the current folder does not exist any more: change to another, "
                         "or name one with --share")
    if options.share == "none":
        options.share = None
    elif not os.path.isdir(options.share):
        parser.error(f"--share {options.share}: no such folder")
    for text in options.env:
        if not re.match(r"[^=]+=", text):
            parser.error(f"--env {text}: expected NAME=VALUE")
    if options.timeout is not None and not options.timeout > 0:
        parser.error("--timeout: expected a number of seconds above 0")
    factor = os.environ.get("MANA_TIMEOUT_FACTOR") or "1"
    if not re.fullmatch(r"\d+(\.\d+)?", factor) or float(factor) <= 0:
        parser.error(f"MANA_TIMEOUT_FACTOR={factor}: expected a number above 0")
    options.boot_s = BOOT_S * float(factor)
    if options.hugepages >= options.memory:
        parser.error("--hugepages must be less than --memory")
    for name in ("model", "append", "qemu"):
        texts = getattr(options, name)
        try:
            setattr(options, name, [word for text in
                                    ([texts] if isinstance(texts, str) else texts)
                                    for word in shlex.split(text)])
        except ValueError as error:
            parser.error(f"--{name}: {error}")
    return options


def build_folder():
    """The build folder, whose model/mana-vm this is."""
    return os.path.abspath(os.environ["MANA_VM_BUILD"])


def driver(options, arch):
    """The paths of the plug-in and of mana-first-contact for the guest, or None."""
    plugin = None if options.plugin == "none" else options.plugin
    if build.is_for_host(options.userland, arch):
        folder = build_folder()
    elif options.plugin:
        return plugin, None
    else:
        folder = build.driver(options.userland, arch, options.update)
    if not options.plugin:
        plugin = os.path.join(folder, build.PLUGIN)
    program = os.path.join(folder, build.FIRST_CONTACT)
    return plugin, program if os.path.exists(program) else None


def agent(options, arch):
    """The path of the agent for the guest."""
    if arch.name != arches.host():
        return build.agent(options.userland, arch, options.update)
    path = os.path.join(build_folder(), "model", "vm", "mana-vm-agent")
    if not os.path.exists(path):
        raise Failure(f"{path} is missing: build it with ninja")
    return path


def session_archive(agent_path, driver_paths, arch, names):
    """What differs between builds of this checkout: init script, agent, the driver's."""
    plugin, program = driver_paths
    archive = Archive()
    archive.file("init", os.path.join(VM, "init"))
    archive.file("usr/lib/mana-vm/agent", agent_path)
    if plugin:
        image.add_plugin(archive, plugin, arch.triplet, names)
    if program:
        archive.file(f"usr/bin/{os.path.basename(program)}", program)
    return archive


def initrd(path, parts, archive):
    """Writes the archives one after the other: the kernel unpacks them all."""
    with open(path, "wb") as out:
        for part in parts:
            if part:
                with open(part, "rb") as file:
                    shutil.copyfileobj(file, out, 1 << 20)
        archive.write(out)


def with_model(status, model_status):
    """The exit status of mana-vm, from those of the command and of mana-model."""
    if model_status == BAD_REPORT:
        if status != 0:
            say(f"the command's exit status was {status}")
        return BAD_REPORT
    if model_status != 0:
        raise Failure(f"mana-model: {session.describe(model_status)}")
    return status


def power_off(process, patience_s=session.POWER_OFF_S):
    """
    Waits until the guest has powered off. Returns the exit status of mana-model; of one that
    must be ended, only whether its report is bad: Linux waits up to two minutes for each Tx
    queue with lost completions.
    """
    try:
        return process.wait(patience_s)
    except subprocess.TimeoutExpired:
        say(f"the guest did not power off within {patience_s:g} s: ended it")
        return BAD_REPORT if run.end(process, REPORT_S) == BAD_REPORT else 0


class Machine:
    """One run."""

    def __init__(self, options):
        self.options = options
        self.stack = contextlib.ExitStack()
        self.log = None

    def prepare(self):
        """Everything that the cache holds."""
        try:
            self._prepare()
        except Stale as error:
            if self.options.update:
                raise
            say(f"{error}; reading the index again")
            self.options.update = True
            self._prepare()

    def _prepare(self):
        options = self.options
        self.arch = arches.find(options.arch)
        self.tools = qemu.tools(self.arch, options.update)
        self.kernel, self.modules = kernel.prepare(options.kernel, self.arch,
                                                   options.update)
        self.userland, self.names = image.prepare(options.userland, self.arch,
                                                  options.update)
        self.archive = session_archive(agent(options, self.arch),
                                       driver(options, self.arch), self.arch,
                                       self.names)

    def run(self):
        """The exit status of the command."""
        try:
            return self._run()
        except NotBooted as error:
            # Both are rare, and faults of the emulated processor.
            if isinstance(error, Hung):
                cause = error
            elif self._has_emulation_fault():
                cause = "QEMU's emulation of an int3 failed while the guest booted"
            else:
                raise
        say(f"{cause}: booting again")
        self.stack.close()
        return self._run()

    def _has_emulation_fault(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return EMULATION_FAULT.search(file.read()) is not None

    def _run(self):
        options = self.options
        folder = run.Folder(options.name)
        self.stack.callback(folder.remove)
        self.log = os.path.abspath(options.log) if options.log else \
            os.path.join(folder.path, "log")
        open_log(self.log)
        guest = qemu.Guest(
            self.arch, self.kernel, os.path.join(folder.path, "initrd"),
            options.cpus, options.memory, self.log, append=" ".join(
                ([f"mana_vm.hugepages={options.hugepages}"]
                 if options.hugepages else []) + options.append),
            session=os.path.join(folder.path, "session"),
            share=os.path.join(folder.path, "share") if options.share else None,
            functions=[os.path.join(folder.path, "pci", f"function-{at}")
                       for at in range(options.functions)],
            more=options.qemu)
        guest.accel = os.environ.get("MANA_VM_ACCEL") or \
            qemu.accelerator(self.tools, guest)
        initrd(guest.initrd, [self.userland, self.modules], self.archive)

        listener = self._listen(guest.session)
        commands = self._listen(os.path.join(folder.path, run.COMMANDS))
        if guest.share:
            self._share(guest.share, folder.path)
        process = run.start(self._machine(guest, folder.path),
                            dict(os.environ, MANA_MODEL_END_WITH_PARENT="1"),
                            stdin=subprocess.DEVNULL, stdout=2)
        self.stack.callback(run.end, process)
        status = self._session(listener, process, commands)
        model_status = power_off(process)
        return with_model(status, model_status) if options.functions else status

    def _listen(self, path):
        listener = self.stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(path)
        listener.listen()
        return listener

    def _machine(self, guest, folder):
        """The command line of QEMU, below mana-model if there are adapters."""
        options = self.options
        line = qemu.command(self.tools, guest)
        if options.functions == 0:
            return line
        os.mkdir(os.path.join(folder, "pci"), 0o700)
        return [os.path.join(build_folder(), "model", "mana-model"),
                "--pci", os.path.join(folder, "pci"), "--name", options.name,
                "--functions", str(options.functions), "--ports", str(options.ports),
                *([] if options.no_rnic else kernel.model_options(options.kernel)),
                *options.model, "--", *line]

    def _share(self, path, folder):
        """The host's current folder, for the guest."""
        log = os.path.join(folder, "virtiofsd.log")
        # virtiofsd gets a socket that listens: QEMU may connect at once.
        with contextlib.closing(self._listen(path)) as listener, open(log, "wb") as out:
            process = run.start(
                self.tools.command("usr/libexec/virtiofsd") +
                ["--fd", str(listener.fileno()), "--shared-dir", self.options.share,
                 "--sandbox", "none", "--readonly", "--cache", "auto"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                pass_fds=[listener.fileno()])
        self.stack.callback(self._end_share, process, log)

    @staticmethod
    def _end_share(process, log):
        # It ends by itself, with 0, when QEMU ends.
        if process.poll():
            with open(log, encoding="utf-8", errors="replace") as file:
                say(f"virtiofsd failed: {file.read().strip()}")
        run.end(process)

    def _session(self, listener, process, commands):
        options = self.options
        talk = guests.GuestSession(
            listener, process, terminal.start_message(options.command, options.env,
                                                      options.interactive),
            terminal.standard_input(), options.boot_s, options.timeout, commands,
            lambda: os.stat(self.log).st_size)
        return terminal.run(talk, options.interactive)

    def show_log(self):
        """The end of the kernel's messages, for a failure."""
        if self.log is None or not os.path.exists(self.log):
            return
        with open(self.log, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        if not lines:
            say("the kernel printed no messages")
            return
        say(f"last kernel messages ({len(lines)} are in {self.log}):"
            if self.options.log else
            f"last kernel messages (--log FILE keeps all {len(lines)}):")
        serious = [line for line in lines[:-LOG_LINES] if SERIOUS.search(line)]
        for line in serious[:3]:
            print(f"  {line}\n  ...", file=sys.stderr)
        for line in lines[-LOG_LINES:]:
            print("  " + line, file=sys.stderr)


def open_log(path):
    try:
        with open(path, "wb"):
            pass
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from None


def interrupted(number_, _frame):
    raise session.Ended(128 + number_)


def on_signals(handler):
    for caught in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(caught, handler)


def exec_(arguments):
    try:
        return execute.main(arguments)
    except Failure as error:
        say(error)
        return EXIT_FAILURE
    except session.Ended as error:
        return error.status


def main(arguments):
    """The exit status of mana-vm."""
    is_exec = arguments[:1] == ["exec"]
    options = None if is_exec else parse(arguments)
    if os.environ.get("MANA_MODEL_END_WITH_PARENT"):
        run.end_with_parent(signal.SIGTERM)
    on_signals(interrupted)
    try:
        if is_exec:
            return exec_(arguments[1:])
        machine = Machine(options)
        with machine.stack:
            try:
                machine.prepare()
                return 0 if options.prepare else machine.run()
            except Failure as error:
                on_signals(signal.SIG_IGN)
                say(error)
                machine.show_log()
                return EXIT_FAILURE
            except session.Ended as error:
                on_signals(signal.SIG_IGN)
                if error.args[0]:
                    say(error)
                return error.status
            finally:
                # The clean-up takes seconds.
                on_signals(signal.SIG_IGN)
    except OSError as error:
        say(error)
        return EXIT_FAILURE
