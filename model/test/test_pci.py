# SPDX-License-Identifier: BSD-3-Clause
"""The launcher's option --pci: sockets, programs, signals, and a client that speaks
vfio-user to the real device."""

import contextlib
import os
import signal
import socket
import struct

from model_test import Case, main, wait_until

VERSION, DMA_MAP, READ, WRITE = 1, 2, 9, 10
BAR0, CONFIG = 0, 7
PAGE = 4096


class Client:
    """A client of one function, without a virtual machine."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(30)
        self.socket.connect(path)

    def close(self):
        self.socket.close()

    def call(self, command, payload, *fds):
        """Returns the payload of the reply; None: the connection was closed."""
        header = struct.pack("=HHIII", 1, command, 16 + len(payload), 0, 0)
        with contextlib.suppress(BrokenPipeError):
            socket.send_fds(self.socket, [header + payload], fds)
        head = self._receive(16)
        if head is None:
            return None
        _, _, size, flags, error = struct.unpack("=HHIII", head)
        if flags != 1:
            raise OSError(error, os.strerror(error))
        return self._receive(size - 16)

    def map(self, address, size, memory):
        self.call(DMA_MAP, struct.pack("=IIQQQ", 32, 3, 0, address, size), memory)

    def _receive(self, size):
        data = b""
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except ConnectionResetError:
                part = b""
            if not part:
                return None
            data += part
        return data

    def open(self):
        return self.call(VERSION, struct.pack("=HH", 0, 0) + b"{}\0")

    def read(self, region, offset, size):
        reply = self.call(READ, struct.pack("=QII", offset, region, size))
        return int.from_bytes(reply[16:], "little")

    def write(self, region, offset, value, size):
        self.call(WRITE, struct.pack("=QII", offset, region, size) +
                  value.to_bytes(size, "little"))


class Pci(Case):
    def setUp(self):
        super().setUp()
        self.dir = self.path("pci")

    def socket(self, function=0):
        return os.path.join(self.dir, f"function-{function}")

    def serve(self, *options, functions=1):
        """A machine without a program, whose sockets exist."""
        process = self.start_model("--pci", self.dir, "--functions", str(functions),
                                   *options)
        wait_until(lambda: process.poll() is not None or
                   os.path.exists(self.socket(functions - 1)), "no socket")
        return process

    def end(self, process, signo=signal.SIGTERM):
        process.send_signal(signo)
        return process.wait(60)

    def client(self, function=0):
        client = Client(self.socket(function))
        self.addCleanup(client.close)
        return client

    def assert_refused(self, *args):
        said = self.refusal(*args)
        self.assertFalse(os.path.exists(self.dir))
        return said


class Options(Pci):
    def test_refused_with_pci(self):
        for option in ("--kernel=6.12", "--netvsc", "--numa-node=1", "--poll-ms=2"):
            said = self.assert_refused("--pci", self.dir, option)
            self.assertIn(option.split("=", maxsplit=1)[0], said)
            self.assertIn("omit it", said)
        for mode in ("sync", "step"):
            said = self.assert_refused("--mode", mode, "--pci", self.dir)
            self.assertIn("mode thread", said)
        for device in ("b9", "c1"):
            said = self.assert_refused("--device-id", device, "--pci", self.dir)
            self.assertIn("virtual functions only", said)
        self.assertIn("no other option",
                      self.assert_refused("--pci", self.dir, "--join", "m", "true"))

    def test_folder(self):
        self.assertIn("give a folder", self.assert_refused("--pci", ""))
        self.assertIn("No such file", self.assert_refused("--pci", "/nowhere/pci"))
        long = self.path("d" * 100)
        self.assertIn("shorter path", self.assert_refused("--pci", long))
        self.assertFalse(os.path.exists(long))

    def test_program_is_required_without_it(self):
        self.assertIn("no program", self.assert_refused("--ports", "1"))

    def test_mode_thread(self):
        self.assertEqual(self.end(self.serve("--mode", "thread")), 0)


class Programs(Pci):
    def test_environment(self):
        done = self.run_model("--pci", self.dir, "--functions", "3", "--", "sh", "-c",
                              f"env; ls {self.dir}; exit 7")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("function-0\nfunction-1\nfunction-2\n", done.stdout)
        for line in done.stdout.splitlines():
            self.assertFalse(line.startswith("LD_PRELOAD=") and "mana-model" in line)
            self.assertFalse(line.startswith("SYSFS_PATH="))
        self.assertFalse(os.path.exists(self.dir))

    def test_statically_linked_program(self):
        """A program that could not be preloaded gets no warning."""
        done = self.run_model("--pci", self.dir, "--quiet", "--", "/sbin/ldconfig",
                              "--version")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "")

    def test_missing_program(self):
        done = self.run_model("--pci", self.dir, "--", "/nowhere/program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("/nowhere/program", done.stderr)
        self.assertFalse(os.path.exists(self.dir))

    def test_killed_program(self):
        done = self.run_model("--pci", self.dir, "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(done.returncode, 128 + 9)

    def test_daemon_ends_with_the_machine(self):
        done = self.run_model("--pci", self.dir, "--", "sh", "-c",
                              "setsid sleep 1000 >/dev/null 2>&1 & echo $!")
        pid = int(done.stdout)
        self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_existing_folder_remains(self):
        os.mkdir(self.dir)
        done = self.run_model("--pci", self.dir, "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(self.dir), [])


class WithoutProgram(Pci):
    def test_signals(self):
        for signo in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process = self.serve(functions=2)
            process.send_signal(signal.SIGUSR1)
            self.assertEqual(self.client().open()[:4], bytes(4))
            self.assertIsNone(process.poll())
            self.assertEqual(self.end(process, signo), 0)
            self.assertFalse(os.path.exists(self.dir))

    def test_second_machine(self):
        first = self.serve()
        self.assertIn("another machine", self.refusal("--pci", self.dir, "--", "true"))
        self.assertEqual(self.client().open()[:4], bytes(4))
        self.assertEqual(self.end(first), 0)

    def test_killed_machine_leaves_usable_folder(self):
        first = self.serve()
        self.end(first, signal.SIGKILL)
        self.assertTrue(os.path.exists(self.socket()))
        second = self.start_model("--pci", self.dir)
        self.assertIn("are served on", second.stderr.readline())
        client = self.client()
        client.open()
        self.assertEqual(client.read(CONFIG, 0, 4), 0x00ba1414)
        self.assertEqual(self.end(second), 0)
        os.rmdir(self.dir)
        # The guardian of the killed machine removes its run folder.
        wait_until(lambda: not os.listdir(self.folders), "a run folder remains")

    def test_join(self):
        process = self.serve("--name", "pci")
        self.assertIn("belong to virtual machines", self.refusal("--join", "pci", "true"))
        self.assertEqual(self.end(process), 0)

    def test_report_at_the_end(self):
        process = self.serve("--report", self.report_path, "--quiet")
        client = self.client()
        client.open()
        client.close()
        self.assertEqual(self.end(process), 0)
        self.assertEqual(process.stderr.read(), "")
        self.assertEqual(self.report()["violations"], [])


class Clients(Pci):
    def test_device_id(self):
        process = self.serve("--device-id", "ba", functions=2)
        for function in range(2):
            client = self.client(function)
            client.open()
            self.assertEqual(client.read(CONFIG, 0, 4), 0x00ba1414)
        self.assertEqual(self.end(process), 0)

    def test_one_client_at_a_time(self):
        process = self.serve()
        first, second = self.client(), self.client()
        first.open()
        self.assertIsNone(second.open())
        self.assertEqual(first.read(CONFIG, 0, 2), 0x1414)
        first.write(CONFIG, 4, 6, 2)
        self.assertEqual(first.read(CONFIG, 4, 2), 6)
        first.close()
        # The launcher sees the end a moment later.
        third = None
        while third is None or third.open() is None:
            third = self.client()
        self.assertEqual(third.read(CONFIG, 4, 2), 0)
        self.assertEqual(self.end(process), 0)
        self.assertIn("a second client is refused", process.stderr.read())

    def test_registers(self):
        """BAR0 is the device's: offset and size of doorbell pages."""
        process = self.serve()
        client = self.client()
        client.open()
        self.assertEqual(client.read(BAR0, 0x10, 4) & 0xffff, 4096)
        doorbells = client.read(BAR0, 0x08, 8)
        self.assertEqual(doorbells % 4096, 0)
        self.assertEqual(self.end(process), 0)

    def test_memory_that_vanishes(self):
        """The client truncates its memory before the device writes its event queue."""
        process = self.serve("--report", self.report_path)
        client = self.client()
        client.open()
        memory = os.memfd_create("guest")
        self.addCleanup(os.close, memory)
        os.ftruncate(memory, 16 * PAGE)
        client.map(0, 16 * PAGE, memory)
        client.write(CONFIG, 4, 6, 2)   # memory, bus master
        os.ftruncate(memory, 0)
        # ESTABLISH_HWC: pages of EQ, CQ, RQ and SQ; the last word starts it.
        message = b"".join(page.to_bytes(6, "little") for page in (1, 2, 3, 4))
        message += bytes(4) + (1).to_bytes(4, "little")
        shared = client.read(BAR0, 0x18, 8)
        for at in range(0, 32, 4):
            client.write(BAR0, shared + at, int.from_bytes(message[at:at + 4], "little"), 4)
        self.assertEqual(client.read(CONFIG, 0, 2), 0x1414)
        self.assertEqual(self.end(process), 0)
        self.assertGreater(self.report()["functions"][0]["dma_faults"], 0)

    def test_fatal_violation(self):
        process = self.serve("--fatal-violations", "--report", self.report_path)
        client = self.client()
        client.open()
        # No register there.
        client.write(BAR0, client.read(BAR0, 0x08, 8) + 0x28, 1, 8)
        self.assertEqual(process.wait(60), 3)
        names = [row["name"] for row in self.report()["violations"]]
        self.assertEqual(names, ["doorbell_bad_offset"])


if __name__ == "__main__":
    main()
