#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause

"""Parts of mana-vm that need no virtual machine: options, archives, the cache, the
finding of libraries and kernels, the host's side of a session, the results of
devtools/kernel-matrix.py.

usage: test_vm_parts.py [unittest arguments]      (see model_test.py)
"""

import contextlib
import fcntl
import importlib.util
import io
import itertools
import os
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import unittest
from unittest import mock

from model_test import BUILD, PATIENCE_S, TOP, main, wait_until

sys.path.insert(0, os.path.join(TOP, "model", "vm"))

# pylint: disable=wrong-import-position
from manavm import (arch, build, cache, command, cpio, elf,  # noqa: E402
                    execute, guest, image, kernel, packages, qemu, run, session)
from manavm.errors import Failure, Hung, NotBooted, Stale  # noqa: E402

AMD64 = arch.find("amd64")
TRIPLET = arch.find(arch.host()).triplet if arch.host() in arch.ARCHES else None


class Folder(unittest.TestCase):
    """Tests with a folder and a cache of their own."""

    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="vm-test-")
        self.addCleanup(shutil.rmtree, self.base)
        patch = mock.patch.dict(os.environ, XDG_CACHE_HOME=self.path("cache"))
        patch.start()
        self.addCleanup(patch.stop)

    def path(self, name):
        return os.path.join(self.base, name)

    def write(self, name, data=b"", mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, mode)
        return path


class Options(unittest.TestCase):
    def refused(self, *arguments):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as end:
            command.parse(arguments)
        self.assertEqual(end.exception.code, 2)
        return errors.getvalue()

    def test_command_keeps_its_options(self):
        for words in (["--cpus", "3", "ls", "--cpus", "4", "--", "-i"],
                      ["--cpus=3", "--", "ls", "--cpus", "4", "--", "-i"]):
            options = command.parse(words)
            self.assertEqual(options.cpus, 3)
            self.assertEqual(options.command, ["ls", "--cpus", "4", "--", "-i"])
            self.assertFalse(options.interactive)

    def test_options_of_the_model_begin_with_dashes(self):
        options = command.parse(["--model", "--rnic", "--model=--wire 'a b'",
                                 "--qemu", "-s", "true"])
        self.assertEqual(options.model, ["--rnic", "--wire", "a b"])
        self.assertEqual(options.qemu, ["-s"])

    def test_wrong_options_are_refused(self):
        self.assertIn("no COMMAND", self.refused())
        self.assertIn("from 1 to 16", self.refused("--cpus", "0", "true"))
        self.assertIn("from 1 to 16", self.refused("--cpus", "x", "true"))
        self.assertIn("NAME=VALUE", self.refused("--env", "HOME", "true"))
        self.assertIn("--timeout", self.refused("--timeout", "-1", "true"))
        self.assertIn("less than --memory", self.refused("--hugepages", "1024", "true"))
        self.assertIn("--model", self.refused("--model", "'", "true"))
        self.assertIn("--userland", self.refused("--userland", "11", "true"))
        with mock.patch("os.isatty", return_value=False):
            self.assertIn("terminal", self.refused("-i"))
        for factor in ("abc", "0", "-1"):
            with mock.patch.dict(os.environ, MANA_TIMEOUT_FACTOR=factor):
                self.assertIn(f"MANA_TIMEOUT_FACTOR={factor}", self.refused("true"))
        with mock.patch("os.getcwd", side_effect=FileNotFoundError):
            self.assertIn("current folder", self.refused("true"))
            self.assertEqual(command.parse(["--share", "/", "true"]).share, "/")
            self.assertIsNone(command.parse(["--share", "none", "true"]).share)

    def test_help_fits_a_terminal(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), self.assertRaises(SystemExit):
            with mock.patch.dict(os.environ, COLUMNS="80"):
                command.parse(["--help"])
        self.assertEqual([line for line in out.getvalue().splitlines()
                          if len(line) > 85], [])


class Archives(Folder):
    def bytes(self, archive):
        out = io.BytesIO()
        archive.write(out)
        return out.getvalue()

    def example(self, names):
        archive = cpio.Archive()
        for name in names:
            archive.data(name, name.encode() * 3, 0o755)
        archive.link("a/link", "b")
        archive.device("dev/console", 5, 1)
        return archive

    def test_order_of_entries_does_not_matter(self):
        first = self.bytes(self.example(["a/b", "c", "a/d/e"]))
        self.assertEqual(first, self.bytes(self.example(["a/d/e", "c", "a/b"])))
        self.assertEqual(len(first) % 512, 0)

    def test_entries_are_as_the_format_says(self):
        data = self.bytes(self.example(["a/b"]))
        found, at = {}, 0
        while True:
            self.assertEqual(data[at:at + 6], b"070701")
            fields = [int(data[at + 6 + 8 * i:at + 14 + 8 * i], 16) for i in range(13)]
            name = data[at + 110:at + 110 + fields[11] - 1].decode()
            start = -(-(at + 110 + fields[11]) // 4) * 4
            if name == "TRAILER!!!":
                break
            found[name] = (fields[1], data[start:start + fields[6]], fields[9:11])
            self.assertEqual(fields[2:4] + fields[5:6], [0, 0, 0])    # uid, gid, mtime
            at = -(-(start + fields[6]) // 4) * 4
        self.assertEqual(list(found), sorted(found))
        self.assertEqual(found["a"][0], stat.S_IFDIR | 0o755)
        self.assertEqual(found["a/b"][:2], (stat.S_IFREG | 0o755, b"a/ba/ba/b"))
        self.assertEqual(found["a/link"][:2], (stat.S_IFLNK | 0o777, b"b"))
        self.assertEqual(found["dev/console"][2], [5, 1])


class Programs(Folder):
    """Programs with their libraries, from a root folder."""

    def setUp(self):
        super().setUp()
        self.root = self.path("root")
        os.makedirs(os.path.join(self.root, "usr/lib", TRIPLET))
        os.makedirs(os.path.join(self.root, "usr/lib64"))
        os.symlink("usr/lib64", os.path.join(self.root, "lib64"))
        listed = subprocess.run(["ldd", "/bin/ls"], stdout=subprocess.PIPE, text=True,
                                check=True).stdout
        self.libraries = {}
        for line in listed.splitlines():
            path = next((word for word in line.split() if word.startswith("/")), None)
            if path:
                name = os.path.basename(path)
                self.libraries[name] = os.path.realpath(path)
                inside = f"usr/lib/{TRIPLET}/{name}.real"
                shutil.copy(path, os.path.join(self.root, inside))
                os.symlink(f"{name}.real",
                           os.path.join(self.root, f"usr/lib/{TRIPLET}/{name}"))
                if name.startswith("ld-linux"):
                    os.symlink(f"/usr/lib/{TRIPLET}/{name}",
                               os.path.join(self.root, "usr/lib64", name))
        shutil.copy("/bin/ls", os.path.join(self.root, "usr/ls"))

    def copied(self, path):
        archive = cpio.Archive()
        image.Copier(self.root, TRIPLET, archive).copy(path)
        return archive.entries

    def test_program_comes_with_all_that_ldd_lists(self):
        entries = self.copied("usr/ls")
        self.assertGreater(len(self.libraries), 2)
        for name in self.libraries:
            self.assertIn(f"usr/lib/{TRIPLET}/{name}", entries)
            self.assertIn(f"usr/lib/{TRIPLET}/{name}.real", entries)
        self.assertIn("lib64", entries)    # the loader's path, a link

    def test_missing_library_is_named(self):
        os.unlink(os.path.join(self.root, f"usr/lib/{TRIPLET}/libc.so.6"))
        with self.assertRaisesRegex(Failure, "libc.so.6"):
            self.copied("usr/ls")

    def test_bad_files_are_refused(self):
        self.write("root/usr/bad", b"\x7fELF" + b"\xff" * 200)
        with self.assertRaisesRegex(Failure, "no valid ELF"):
            self.copied("usr/bad")
        os.symlink("loop", os.path.join(self.root, "loop"))
        with self.assertRaisesRegex(Failure, "too many links"):
            self.copied("loop")
        with self.assertRaisesRegex(Failure, "/usr/none"):
            self.copied("usr/none")

    def test_a_session_has_what_was_built_for_the_guest(self):
        paths = [self.path(name) for name in ("agent", "mana-first-contact")]
        for path in paths:
            with open(path, "w", encoding="ascii"):
                pass
        found = command.session_archive(paths[0], (None, paths[1]), AMD64, set()).entries
        self.assertIn("usr/bin/mana-first-contact", found)
        found = command.session_archive(paths[0], (None, None), AMD64, set()).entries
        self.assertNotIn("usr/bin/mana-first-contact", found)

    def test_plugin_of_another_release_is_refused(self):
        plugin = os.path.join(BUILD, "drivers", "librte_net_mana.so")
        folder = f"usr/lib/{TRIPLET}/dpdk/pmds-99.0"
        names = {f"{folder}/librte_bus_pci.so.99"}
        with self.assertRaisesRegex(Failure, "another release.*--plugin"):
            image.add_plugin(cpio.Archive(), plugin, TRIPLET, names)
        names |= {f"usr/lib/{TRIPLET}/{name}" for name in elf.dynamic(plugin)[1]}
        archive = cpio.Archive()
        image.add_plugin(archive, plugin, TRIPLET, names)
        self.assertIn(f"{folder}/librte_net_mana.so", archive.entries)
        with self.assertRaisesRegex(Failure, "cannot read"):
            image.add_plugin(archive, self.path("none.so"), TRIPLET, names)


class RunFolders(Folder):
    def test_long_path_is_refused(self):
        with mock.patch.object(run, "folder_path", return_value=self.path("x" * 90)):
            with self.assertRaisesRegex(Failure, "TMPDIR"):
                run.Folder("name")
        self.assertEqual(os.listdir(self.base), [])

    def test_name_is_free_unless_its_guest_runs(self):
        path = self.path("guest")
        with mock.patch.object(run, "folder_path", return_value=path):
            # As a host leaves it that loses its power.
            self.write("guest/pci/function-0")
            folder = run.Folder("name")
            self.assertEqual(os.listdir(path), [])
            self.write("guest/session")
            with self.assertRaisesRegex(Failure, "guest of that name runs"):
                run.Folder("name")
            self.assertEqual(os.listdir(path), ["session"])
            folder.remove()
            self.assertFalse(os.path.exists(path))
            run.Folder("name").remove()

    def test_folder_of_another_user_is_refused(self):
        os.mkdir(self.path("guest"))
        with mock.patch.object(run, "folder_path", return_value=self.path("guest")), \
                mock.patch("os.getuid", return_value=os.getuid() + 1), \
                self.assertRaisesRegex(Failure, "another user"):
            run.Folder("name")


class Runs(Folder):
    """The function main(), without a machine."""

    def main(self, prepare):
        errors = io.StringIO()
        caught = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        handlers = {number: signal.getsignal(number) for number in caught}
        try:
            with mock.patch.object(command.Machine, "_prepare", prepare), \
                    contextlib.redirect_stderr(errors):
                return command.main(["--prepare"]), errors.getvalue()
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def test_index_is_read_again_once(self):
        updates = []

        def prepare(machine):
            updates.append(machine.options.update)
            if len(updates) == 1:
                raise Stale("404")

        self.assertEqual(self.main(prepare)[0], 0)
        self.assertEqual(updates, [False, True])

        def fail(machine):
            updates.append(machine.options.update)
            raise Stale("404, try later")

        updates.clear()
        status, errors = self.main(fail)
        self.assertEqual((status, updates), (125, [False, True]))
        self.assertIn("try later", errors.splitlines()[-1])

    def test_signals_do_not_end_the_clean_up(self):
        done = []

        def prepare(machine):
            def clean_up():
                os.kill(os.getpid(), signal.SIGINT)
                done.append(True)
            machine.stack.callback(clean_up)
            os.kill(os.getpid(), signal.SIGINT)

        self.assertEqual(self.main(prepare)[0], 128 + signal.SIGINT)
        self.assertEqual(done, [True])


class Builds(Folder):
    def test_build_of_the_host_is_for_the_host_only(self):
        with mock.patch.object(arch, "host", return_value="amd64"), \
                mock.patch.object(build, "host_release", return_value="12"):
            self.assertTrue(build.is_for_host("12", arch.find("amd64")))
            self.assertFalse(build.is_for_host("13", arch.find("amd64")))

    def test_links_lead_into_the_folder(self):
        self.write("lib/real", b"x")
        os.makedirs(self.path("usr/lib"))
        os.symlink("/lib/real", self.path("usr/lib/link"))
        os.symlink("link", self.path("usr/lib/other"))
        build.relink(self.base)
        self.assertEqual(os.readlink(self.path("usr/lib/link")), "../../lib/real")
        self.assertEqual(os.readlink(self.path("usr/lib/other")), "link")

    def test_failed_tools_show_their_errors(self):
        with self.assertRaisesRegex(Failure, "building failed: .*error: bad"):
            build.run(["sh", "-c", "echo one; echo error: bad; echo two; exit 1"],
                      "building")
        with self.assertRaisesRegex(Failure, "install-deps"):
            build.run([self.path("no-such-tool")], "building")


class Kernels(Folder):
    def test_names_may_contain_a_plus(self):
        file = self.write("boot/vmlinuz-6+deb12")
        os.makedirs(self.path("lib/modules/6+deb12/kernel"))
        folder = self.path("lib/modules/6+deb12")
        self.assertEqual(kernel.split_files(file, AMD64), (file, None))
        self.assertEqual(kernel.split_files(f"{file}+{folder}", AMD64),
                         (file, folder))
        self.assertEqual(kernel.modules_folder(folder), os.path.realpath(folder))
        self.assertEqual(kernel.modules_folder(self.base), os.path.realpath(folder))
        os.makedirs(self.path("lib/modules/7/kernel"))
        with self.assertRaisesRegex(Failure, "several kernels"):
            kernel.modules_folder(self.base)

    def test_build_tree_has_its_modules(self):
        self.write("include/config/kernel.release", b"6.99-rc1+\n")
        with self.assertRaisesRegex(Failure, "bzImage"):
            kernel.split_files(self.base, AMD64)
        image = self.write("arch/x86/boot/bzImage")
        self.assertEqual(kernel.split_files(self.base, AMD64), (image, self.base))
        with self.assertRaisesRegex(Failure, "modules.order"):
            kernel.Modules.find(self.base)
        self.write("fs/a.ko")
        self.write("fs/b/b.ko")
        self.write("modules.order", b"fs/a.o\nkernel/fs/b/b.ko\n")
        found = kernel.Modules.find(self.base)
        self.assertEqual(found.version, "6.99-rc1+")
        self.assertEqual(set(found.files), {"kernel/fs/a.ko", "kernel/fs/b/b.ko"})
        state = found.state()
        self.write("fs/a.ko", b"changed")
        self.assertNotEqual(kernel.Modules.find(self.base).state(), state)
        os.unlink(self.path("fs/b/b.ko"))
        with self.assertRaisesRegex(Failure, "b.ko is missing"):
            kernel.Modules.find(self.base)

    def test_own_kernels_get_an_rnic(self):
        for name, wanted in (("newest", ()), ("6.12", ("--rnic",)), ("6.1", ()),
                             ("/boot/vmlinuz", ("--rnic",))):
            self.assertEqual(kernel.model_options(name), wanted, name)
        for more, wanted in (([], True), (["--no-rnic"], False)):
            machine = command.Machine(command.parse(
                ["--kernel", "/boot/vmlinuz", *more, "--", "true"]))
            machine.tools = None
            os.makedirs(self.path(f"run{wanted}"))
            with mock.patch.object(qemu, "command", return_value=["qemu"]), \
                    mock.patch.object(command, "build_folder", return_value="build"):
                line = machine._machine(None, self.path(f"run{wanted}"))
            self.assertEqual("--rnic" in line, wanted)

    def test_missing_kernels_are_named(self):
        for name in ("6.13", self.path("none"), self.path("none") + "+" + self.base):
            with self.assertRaisesRegex(Failure, "no kernel"):
                kernel.split_files(name, AMD64)
        with self.assertRaisesRegex(Failure, "modules_install"):
            kernel.modules_folder(self.base)

    @contextlib.contextmanager
    def accelerator(self, flags, works=True):
        """The accelerator on a host with KVM, and the mock of its test."""
        guest = qemu.Guest(AMD64, "k", "i", 1, 256, "l")
        with mock.patch("os.access", return_value=True), \
                mock.patch.object(qemu, "cpu_flags", return_value=flags), \
                mock.patch.object(qemu, "probe", return_value=works) as probe, \
                contextlib.redirect_stderr(io.StringIO()):
            yield lambda: qemu.accelerator(qemu.Tools("/", AMD64), guest), probe

    def test_kvm_is_not_tried_without_processor_support(self):
        with self.accelerator({"sse2"}) as (accelerator, probe):
            self.assertEqual(accelerator(), "tcg")
            probe.assert_not_called()

    def test_kvm_is_tested_once(self):
        for works in (False, True):
            with self.accelerator({"vmx", str(works)}, works) as (accelerator, probe):
                for _ in range(2):
                    self.assertEqual(accelerator(), "kvm" if works else "tcg")
                probe.assert_called_once()
        # A day later, the failure may be gone.
        for name in os.listdir(cache.folder()):
            os.utime(os.path.join(cache.folder(), name), (0, 0))
        with self.accelerator({"vmx", "False"}) as (accelerator, _):
            self.assertEqual(accelerator(), "kvm")


class Cache(Folder):
    def test_parallel_runs_make_an_item_once(self):
        made, inside = [], threading.Event()

        def make(folder):
            made.append(folder)
            inside.set()
            with open(os.path.join(folder, "part"), "w", encoding="ascii") as file:
                file.write("whole")

        # Locks are of open files, so threads exclude each other as processes do.
        paths = []
        threads = [threading.Thread(
            target=lambda: paths.append(cache.item("image", "k", make)))
            for _ in range(8)]
        with contextlib.redirect_stderr(io.StringIO()):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE_S)
        self.assertEqual(len(made), 1)
        self.assertEqual(len(set(paths)), 1)
        self.assertEqual(len(paths), 8)
        self.assertEqual(os.listdir(paths[0]), ["part"])

    def test_failed_item_leaves_nothing(self):
        def make(folder):
            self.write(os.path.join(folder, "part"))
            raise Failure("no network")

        with self.assertRaises(Failure):
            cache.item("image", "k", make)
        self.assertEqual(os.listdir(cache.folder()), ["locks"])

    def test_unused_items_are_removed(self):
        old = cache.item("image", "old", lambda folder: None)
        kept = self.write("cache/mana-vm/apt/file")
        new = os.path.join(cache.folder(), "new.unfinished")
        os.mkdir(new)
        for path in (old, new, os.path.dirname(kept)):
            os.utime(path, (0, 0))
        # Packages give folders old times, too.
        used = cache.item("image", "used", lambda folder: os.utime(folder, (0, 0)))
        self.assertFalse(os.path.exists(old))
        self.assertFalse(os.path.exists(new))
        self.assertTrue(os.path.exists(kept) and os.path.exists(used))

    def test_folder_that_another_run_fills_is_kept(self):
        with cache.scratch() as work:
            os.utime(work, (0, 0))     # unpacked packages
            cache.prune()
            self.assertTrue(os.path.exists(work))
        self.assertEqual(os.listdir(cache.folder()), [])

    def test_interrupted_removal_leaves_no_half_item(self):
        old = cache.item("image", "old", lambda folder: None)
        os.utime(old, (0, 0))
        with mock.patch("shutil.rmtree", side_effect=KeyboardInterrupt), \
                self.assertRaises(KeyboardInterrupt):
            cache.prune()
        self.assertFalse(os.path.exists(old))

    def test_folder_is_absolute(self):
        with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": ""}), \
                mock.patch("os.path.expanduser", return_value="~/.cache"), \
                self.assertRaisesRegex(Failure, "set XDG_CACHE_HOME"):
            cache.folder()

    def test_key_depends_on_each_part(self):
        keys = {cache.key(*parts) for parts in
                [(1, ["a"]), (2, ["a"]), (1, ["b"]), (1, ["a", "b"])]}
        self.assertEqual(len(keys), 4)


class Packages(Folder):
    LISTED = """\
nodistro main https://other.example/node/ Other
bookworm main https://other.example/tools/ Other tools
bookworm main https://mirror.example/debian/ Debian
bookworm-updates main https://mirror.example/debian/ Debian
bookworm-security main https://mirror.example/debian-security/ Debian
"""

    def test_mirror_is_that_of_apt(self):
        with mock.patch.object(packages, "call", return_value=self.LISTED):
            self.assertEqual(packages.mirrors(),
                             ("https://mirror.example/debian",
                              "https://mirror.example/debian-security"))
        with mock.patch.object(packages, "call",
                               return_value=self.LISTED.splitlines()[0]):
            with self.assertRaisesRegex(Failure, "MANA_VM_MIRROR"):
                packages.mirrors()

    def test_user_needs_no_name(self):
        index = packages.Index("12", "amd64")
        os.makedirs(index.folder)
        with mock.patch("pwd.getpwuid", side_effect=KeyError), \
                mock.patch.object(packages, "mirrors", return_value=("a", "b")), \
                mock.patch.object(packages, "KEYRING", self.write("keyring")):
            index._prepare()    # pylint: disable=protected-access

    def test_apt_runs_in_the_lock(self):
        index, held = packages.Index("12", "amd64"), []

        def call(_command, _what, **_more):
            with open(os.path.join(cache.folder(), "locks", index.name), "w",
                      encoding="ascii") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    held.append(False)
                except BlockingIOError:
                    held.append(True)
            raise Failure("E: Failed to fetch http://mirror.example/a.deb 404  Not Found")

        with mock.patch.object(packages, "call", call), \
                mock.patch.object(index, "_update"), \
                contextlib.redirect_stderr(io.StringIO()):
            with self.assertRaises(Failure):
                index.packages(["a"])
            for number, fetch in enumerate((index.unpack, lambda found, target:
                                            index.unpack_source("a", "1", target))):
                target = self.path(f"target{number}")
                with self.assertRaisesRegex(Stale, "404.*MANA_VM_MIRROR"):
                    fetch([("a", "1", "amd64")], target)
        self.assertEqual(held, [True] * 3)

    def test_old_packages_serve_without_network(self):
        index = packages.Index("12", "amd64")
        found = [("a", "1", "amd64")]
        with mock.patch.object(index, "_update"), \
                mock.patch.object(index, "_resolve", return_value=found):
            os.makedirs(index.folder)
            self.assertEqual(index.packages(["a"]), found)
        for name in os.listdir(index.folder):
            os.utime(os.path.join(index.folder, name), (0, 0))
        errors = io.StringIO()
        with mock.patch.object(index, "_update", side_effect=Failure("no network")), \
                contextlib.redirect_stderr(errors):
            self.assertEqual(index.packages(["a"]), found)
            with self.assertRaisesRegex(Failure, "no network"):
                index.packages(["b"])
        self.assertIn("using the packages of", errors.getvalue())


class Sessions(unittest.TestCase):
    """The host's side against an agent that this test plays."""

    def test_messages_may_come_in_parts(self):
        data = session.message(session.STDOUT, b"abc") + session.message(session.CREDIT)
        buffer, found = bytearray(), []
        for at in range(len(data)):
            buffer += data[at:at + 1]
            found += session.read_messages(buffer)
        self.assertEqual(found, [(session.STDOUT, 0, b"abc"),
                                 (session.CREDIT, 0, b"")])
        with self.assertRaisesRegex(Failure, "message of"):
            list(session.read_messages(bytearray(b"\xff" * 12)))

    def test_too_long_command_is_refused(self):
        with self.assertRaisesRegex(Failure, "1 MiB"):
            session.start_message(["x" * (1 << 20)], "/", {}, None)

    def run_agent(self, *messages, guest_ends=False, boot_s=PATIENCE_S,
                  nb_log_bytes=lambda: 0):
        """The result of a session with an agent that sends messages."""
        def play():
            with contextlib.suppress(OSError):      # the session has ended
                agent.sendall(b"".join(messages))
            if guest_ends:
                process.stdin.close()

        with tempfile.TemporaryDirectory() as folder, \
                socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.join(folder, "session"))
            listener.listen(1)
            process = subprocess.Popen(["cat"], stdin=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL)
            talk = guest.GuestSession(listener, process, b"", None, boot_s,
                                      nb_log_bytes=nb_log_bytes)
            with socket.socket(socket.AF_UNIX) as agent:
                agent.connect(listener.getsockname())
                thread = threading.Thread(target=play)
                thread.start()
                try:
                    return talk.run()
                finally:
                    if talk.port is not None:
                        talk.port.close()
                    thread.join(PATIENCE_S)
                    with contextlib.suppress(BrokenPipeError):
                        process.stdin.close()
                    process.wait()

    def test_agent_reports(self):
        ready = session.message(session.READY, session.NUMBER.pack(100))
        self.assertEqual(self.run_agent(ready, session.message(
            session.EXIT, session.NUMBER.pack(42))), 42)
        with self.assertRaisesRegex(Failure, "agent: no fork"):
            self.run_agent(ready, session.message(session.FAILURE, b"no fork"))
        with self.assertRaisesRegex(Failure, "unknown type 99"):
            self.run_agent(ready, session.message(99))

    def test_guest_that_ends_early_is_a_failure(self):
        with self.assertRaisesRegex(NotBooted, "ended before the command.*output may be "
                                               "lost"):
            self.run_agent(guest_ends=True)
        with self.assertRaisesRegex(Failure, "ended before the command") as caught:
            self.run_agent(self.READY, guest_ends=True)
        self.assertNotIsInstance(caught.exception, NotBooted)

    def run_machine(self, log, *results):
        """The status of a machine with this log of the kernel."""
        machine = object.__new__(command.Machine)
        machine.stack = contextlib.ExitStack()
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file, \
                mock.patch.object(machine, "_run", side_effect=results):
            print(log, file=file, flush=True)
            machine.log = file.name
            return machine.run()

    def test_boot_is_repeated_after_a_fault_of_the_emulation(self):
        fault = "[    1.2] int3: 0000 [#1] PREEMPT SMP"
        self.assertEqual(self.run_machine(fault, NotBooted("early"), 5), 5)
        for log, error in ((fault, Failure("later")), ("panic", NotBooted("early"))):
            with self.assertRaises(Failure) as caught:
                self.run_machine(log, error, 5)
            self.assertIs(caught.exception, error)
        with self.assertRaises(NotBooted):
            self.run_machine(fault, NotBooted("early"), NotBooted("again"))

    def test_kernel_that_prints_nothing_hangs(self):
        with self.assertRaisesRegex(Hung, "printed nothing for"):
            self.run_agent(boot_s=0.1)
        # One that prints has the whole time.
        with self.assertRaisesRegex(Failure, "did not boot within 0.1 s") as caught:
            self.run_agent(boot_s=0.1, nb_log_bytes=itertools.count(1).__next__)
        self.assertNotIsInstance(caught.exception, NotBooted)
        self.assertEqual(self.run_machine("", Hung("silent"), 5), 5)
        with self.assertRaisesRegex(Hung, "again"):
            self.run_machine("", Hung("silent"), Hung("again"))

    READY = session.message(session.READY, session.NUMBER.pack(100))

    @contextlib.contextmanager
    def stdout(self, fd):
        """Standard output is that descriptor."""
        sys.stdout.flush()
        saved = os.dup(1)
        os.dup2(fd, 1)
        try:
            yield
        finally:
            os.dup2(saved, 1)
            os.close(saved)

    def test_output_arrives_before_the_end(self):
        """More than a pipe holds: to a file and a pipe, also if the guest ends."""
        output = session.message(session.STDOUT, b"x" * 300_000)
        end = session.message(session.EXIT, session.NUMBER.pack(3))
        with tempfile.TemporaryFile() as file, self.stdout(file.fileno()):
            self.assertEqual(self.run_agent(self.READY, output, end), 3)
            self.assertEqual(os.fstat(file.fileno()).st_size, 300_000)
        with subprocess.Popen(["wc", "-c"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as reader:
            with self.stdout(reader.stdin.fileno()):
                self.assertEqual(self.run_agent(self.READY, output, end), 3)
                with self.assertRaises(Failure):
                    self.run_agent(self.READY, output, guest_ends=True)
            self.assertEqual(int(reader.communicate()[0]), 600_000)

    def test_signals_count_while_output_waits(self):
        """Standard output is a full pipe: the second SIGINT ends the guest."""
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        output = session.message(session.STDOUT, b"x" * 300_000)
        is_done = threading.Event()

        def interrupt():
            wait_until(lambda: struct.unpack("I", fcntl.ioctl(
                read, termios.FIONREAD, bytes(4)))[0] >= select.PIPE_BUF, "output")
            while not is_done.wait(0.05):
                os.kill(os.getpid(), signal.SIGINT)

        old = signal.signal(signal.SIGINT, lambda *_: None)
        self.addCleanup(signal.signal, signal.SIGINT, old)
        thread = threading.Thread(target=interrupt)
        thread.start()
        with self.stdout(write):
            os.close(write)
            with self.assertRaises(session.Ended) as end:
                self.run_agent(self.READY, output)
        is_done.set()
        thread.join(PATIENCE_S)
        self.assertEqual(end.exception.status, 128 + signal.SIGINT)

    def test_agent_does_not_run_on_a_host(self):
        agent = os.path.join(BUILD, "model", "vm", "mana-vm-agent")
        done = subprocess.run([agent], stderr=subprocess.PIPE, text=True, check=False,
                              timeout=PATIENCE_S)
        self.assertEqual((done.returncode, "process 1" in done.stderr), (1, True))

    def test_clients_have_channels(self):
        """Two clients of a guest; one goes away before its command ends."""
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch("tempfile.gettempdir", return_value=folder):
            os.mkdir(run.folder_path("a"))
            listener, commands = socket.socket(socket.AF_UNIX), \
                socket.socket(socket.AF_UNIX)
            listener.bind(os.path.join(folder, "session"))
            commands.bind(os.path.join(run.folder_path("a"), run.COMMANDS))
            process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
            result = []
            with listener, commands, socket.socket(socket.AF_UNIX) as agent:
                listener.listen()
                commands.listen()
                agent.settimeout(PATIENCE_S / 3)    # less than meson's limit
                talk = guest.GuestSession(listener, process, session.message(
                    session.START, b"own"), None, PATIENCE_S, None, commands)
                # signals: only in the main thread
                with mock.patch("signal.set_wakeup_fd"), mock.patch("signal.signal"):
                    thread = threading.Thread(target=lambda: result.append(talk.run()))
                    thread.start()
                    agent.connect(listener.getsockname())
                    self.play_agent(agent)
                    thread.join(PATIENCE_S)
            process.communicate()
            talk.port.close()
        self.assertEqual(result, [5])

    def play_agent(self, agent):
        buffer = bytearray()

        def wanted(number):
            found = []
            while len(found) < number:
                buffer.extend(agent.recv(1 << 16))
                found += session.read_messages(buffer)
            return found

        agent.sendall(session.message(session.READY, session.NUMBER.pack(100)))
        self.assertEqual(wanted(2), [(session.START, 0, b"own"), (session.STDIN, 0, b"")])
        with execute.connect("a") as first, execute.connect("a") as second:
            for at, client in enumerate((first, second), 1):
                client.sendall(session.message(session.START, b"x"))
                self.assertEqual(wanted(1), [(session.START, at, b"x")])
                self.assertEqual(client.recv(100), session.message(
                    session.READY, session.NUMBER.pack(100)))
            agent.sendall(session.message(session.STDOUT, b"to two", 2))
            self.assertEqual(second.recv(100), session.message(session.STDOUT, b"to two"))
            first.close()
            self.assertEqual(wanted(1), [(session.SIGNAL, 1,
                                          session.NUMBER.pack(signal.SIGKILL))])
            agent.sendall(session.message(session.EXIT, session.NUMBER.pack(137), 1))
            agent.sendall(session.message(session.EXIT, session.NUMBER.pack(3), 2))
            self.assertEqual(second.recv(100), session.message(
                session.EXIT, session.NUMBER.pack(3)))
            self.assertEqual(second.recv(100), b"")
        agent.sendall(session.message(session.EXIT, session.NUMBER.pack(5)))
        self.assertEqual(wanted(1), [(session.QUIT, 0, b"")])

    def test_no_such_guest(self):
        with self.assertRaisesRegex(Failure, "no guest absent of this user runs"):
            execute.connect("absent")

    def test_status_after_a_check(self):
        """What mana-model --check has found decides the exit status."""
        self.assertEqual(command.with_model(7, 0), 7)
        self.assertEqual(command.with_model(0, 3), 3)
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(command.with_model(7, 3), 3)
        self.assertIn("the command's exit status was 7", errors.getvalue())
        with self.assertRaisesRegex(Failure, "mana-model: exit status 125"):
            command.with_model(0, 125)

    def test_guest_that_does_not_power_off(self):
        """It is ended; the status of the command is known and stays."""
        for end, wanted in (("exit 0", 0), ("exit 143", 0), ("exit 3", 3)):
            process = subprocess.Popen(
                ["sh", "-c", f"trap '{end}' TERM; echo up; while :; do sleep 0.05; done"],
                stdout=subprocess.PIPE)
            self.assertEqual(process.stdout.readline(), b"up\n")
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                self.assertEqual(command.power_off(process, 0.01), wanted)
            self.assertIn("did not power off within 0.01 s", errors.getvalue())
            self.assertIsNotNone(process.returncode)
            process.stdout.close()
        with subprocess.Popen(["sh", "-c", "exit 125"]) as process:
            self.assertEqual(command.power_off(process, PATIENCE_S), 125)

    def test_statuses_in_words(self):
        self.assertEqual(session.describe(3), "exit status 3")
        self.assertEqual(session.describe(-signal.SIGKILL), "killed by SIGKILL")


class Matrix(Folder):
    """The file of results of devtools/kernel-matrix.py."""

    def results(self):
        spec = importlib.util.spec_from_file_location(
            "kernel_matrix", os.path.join(TOP, "devtools", "kernel-matrix.py"))
        matrix = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(matrix)
        return matrix.Results(self.path("results"))

    def test_an_incomplete_last_line_is_ignored(self):
        self.results().add("vm:6.12:12", "io-queues", "PASS", 9, "")
        with open(self.path("results"), "a", encoding="ascii") as file:
            file.write('["2026-11-24", "0123')
        results = self.results()
        results.add("vm:6.12:12", "csum-forward", "SKIP", 1, "no scapy")
        self.assertEqual([run_[3:5] for run_ in results.runs],
                         [["io-queues", "PASS"], ["csum-forward", "SKIP"]])
        self.assertEqual(self.results().runs, results.runs)


if __name__ == "__main__":
    main()
