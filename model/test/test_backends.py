#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Wires that end outside of the machine: captures, files.

usage: test_backends.py [unittest arguments]      (see model_test.py)
"""

import logging
import os
import shutil
import signal
import subprocess
import sys
import unittest

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
# pylint: disable=wrong-import-position
from scapy.layers.inet import IP, TCP, UDP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402
from scapy.utils import PcapNgReader, rdpcap, wrpcap  # noqa: E402

from model_test import MODEL, Case as ModelCase, main, program  # noqa: E402

FORWARD = program("forward")


class Case(ModelCase):
    def command(self, *args, report="report"):
        return [MODEL, "--quiet", "--report", self.path(report), *args]

    def run_model(self, *args, status=0, prefix=()):
        done = super().run_model(*self.command(*args)[1:], prefix=prefix)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def start_model(self, *args, report):
        return self.start(*self.command(*args, report=report), stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE)

    def wires(self, report="report"):
        return [port["wire"] for port in self.report(self.path(report))["ports"]]

    def refused(self, *args):
        return self.refusal(*args, "--", "echo", "ran", status=125)


def run(*argv):
    return subprocess.run(argv, check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60).stdout


GENERATE = ("--wire", "1=gen:count=200,flows=4,size=random:60-1514,ip=mix,l4=mix")
SINK = ("--wire", "2=sink")


class Capture(Case):
    def test_one_file(self):
        capture = self.path("all.pcapng")
        self.run_model(*GENERATE, *SINK, "--capture", capture, "--", FORWARD, "1", "2", "200")
        if shutil.which("tshark"):
            rows = run("tshark", "-r", capture, "-T", "fields", "-e", "frame.interface_name",
                       "-e", "frame.packet_flags_direction", "-e", "frame.time_epoch",
                       "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
                       "-o", "tcp.check_checksum:TRUE", "-e", "ip.checksum.status",
                       "-e", "udp.checksum.status", "-e", "tcp.checksum.status").splitlines()
            self.assertEqual(len(rows), 400)
            ways = [tuple(row.split("\t")[:2]) for row in rows]
            self.assertEqual(ways.count(("port1", "0x00000001")), 200)
            self.assertEqual(ways.count(("port2", "0x00000002")), 200)
            times = [float(row.split("\t")[2]) for row in rows]
            self.assertEqual(times, sorted(times))
            self.assertLess(times[-1], 1)      # virtual, since the machine's start
            statuses = {field for row in rows for field in row.split("\t")[3:]}
            self.assertEqual(statuses, {"", "1"})
        with PcapNgReader(capture) as reader:
            frames = [bytes(frame) for frame in reader]
        self.assertEqual(len(frames), 400)
        received = {frame for frame in frames if frames.count(frame) == 2}
        self.assertEqual(len(received), 200)
        for data in received:
            frame = Ether(data)
            for layer in (IP, TCP, UDP):
                if layer in frame:
                    del frame[layer].chksum
            self.assertEqual(bytes(Ether(bytes(frame))), data)
        self.assertTrue(any(IPv6 in Ether(data) for data in received))

    def test_same_seed_same_bytes(self):
        seen = []
        for seed in (7, 7, 8):
            capture = self.path(f"run{len(seen)}")
            self.run_model("--wire=1=gen:flows=4,size=random:60-1514,malformed=10%,vlan=10%",
                           "--link=2:loss=5%,duplicate=5%,corrupt=5%", *SINK, "--seed",
                           str(seed), "--capture", capture, "--", FORWARD, "1", "2", "500")
            with open(capture, "rb") as file:
                seen.append((file.read(), self.wires()))
        self.assertEqual(seen[0], seen[1])
        self.assertNotEqual(seen[0], seen[2])
        self.assertGreater(seen[0][1][1]["out"]["lost"], 0)

    def test_folder(self):
        folder = self.path("new") + "/"
        self.run_model(*GENERATE, *SINK, "--ports=3", "--capture", folder, "--", FORWARD,
                       "1", "2", "200")
        self.assertEqual(sorted(os.listdir(folder)),
                         [f"port{n}.pcapng" for n in (1, 2, 3)])
        for number, wanted in ((1, 200), (2, 200)):
            with PcapNgReader(f"{folder}port{number}.pcapng") as reader:
                self.assertEqual(len(list(reader)), wanted)
        if shutil.which("capinfos"):
            self.assertRegex(run("capinfos", "-c", f"{folder}port3.pcapng"),
                             r"Number of packets: +0")

    def test_refused(self):
        self.assertIn("--capture", self.refused("--capture", "/no/such/folder/file"))
        self.assertIn("no regular file", self.refused("--capture", "/dev/null"))

    def kill_launcher(self, process):
        """Returns when the guardian has ended the program and removed the run folder."""
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        while os.listdir(self.folders):
            pass

    def assert_whole_blocks(self, capture):
        with open(capture, "rb") as file:
            data = file.read()
        begin = 0
        while begin < len(data):
            length = data[begin + 4:begin + 8]
            end = begin + int.from_bytes(length, sys.byteorder)
            self.assertEqual(data[end - 4:end], length, f"block at {begin} of {len(data)}")
            begin = end

    def test_killed(self):
        """The capture has only whole blocks, whichever process is killed, at any time."""
        capture = self.path("all.pcapng")
        process = self.start_model("--wire=1=gen:size=1514", *SINK, "--capture", capture, "--",
                                   FORWARD, "1", "2", "1000000", report="killed")
        while not os.path.exists(capture) or os.path.getsize(capture) < 500_000:
            self.assertIsNone(process.poll())
        self.kill_launcher(process)
        self.assert_whole_blocks(capture)
        with PcapNgReader(capture) as reader:
            self.assertGreater(sum(1 for _ in reader), 300)

    def test_killed_while_writing(self):
        """The guardian cuts off the block that a killed process was writing."""
        capture, sent = self.path("all.pcapng"), self.path("sent")
        process = self.start_model("--wire=1=gen:size=1514", *SINK, "--capture", capture, "--",
                                   "sh", "-c", '"$@" && : >"$0" && exec sleep 1000', sent,
                                   FORWARD, "1", "2", "10", report="killed")
        while not os.path.exists(sent):
            self.assertIsNone(process.poll())
        whole = os.path.getsize(capture)
        with open(capture, "ab") as file:
            file.write(b"part of a block")
        self.kill_launcher(process)
        self.assertEqual(os.path.getsize(capture), whole)
        self.assert_whole_blocks(capture)

    @unittest.skipUnless(os.getuid() == 0, "needs root, to mount")
    def test_full_disk(self):
        small = self.path("small")
        os.mkdir(small)
        done = self.run_model(
            prefix=("unshare", "--mount", "sh", "-c",
                    f'mount -t tmpfs -o size=64k none {small} && "$@" --capture {small}/c '
                    f'{" ".join(GENERATE + SINK)} -- {FORWARD} 1 2 200; status=$?;'
                    f'cp {small}/c {self.base}; exit $status', "sh"))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, "cannot write to the capture .*/small/c: No space")
        wires = self.wires()
        self.assertEqual(wires[1]["sink"]["received"], 200)
        lost = wires[0]["capture_lost"] + wires[1]["capture_lost"]
        self.assertGreater(lost, 100)
        with PcapNgReader(self.path("c")) as reader:
            self.assertEqual(sum(1 for _ in reader), 400 - lost)


class Files(Case):
    def setUp(self):
        super().setUp()
        self.frames = [bytes(Ether(src="02:00:00:00:00:01", dst="00:0d:3a:00:00:01")
                             / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(dport=n)
                             / (bytes([n]) * (n * 17 % 1400))) for n in range(100)]
        self.given = self.path("in.pcap")
        wrpcap(self.given, [Ether(frame) for frame in self.frames])

    def pipe(self, *options, number=100, link=()):
        self.run_model(f"--wire=1=pcap:in={self.given}{''.join(options)}",
                       f"--wire=2=pcap:out={self.path('out.pcap')}", *link, "--", FORWARD,
                       "1", "2", str(number))
        return [bytes(frame) for frame in rdpcap(self.path("out.pcap"))]

    def test_in_and_out(self):
        self.assertEqual(self.pipe(), self.frames)
        self.assertEqual([wire["outlet_lost"] for wire in self.wires()], [0, 0])

    def test_loop(self):
        self.assertEqual(self.pipe(",loop=30", number=3000), self.frames * 30)
        self.assertEqual(self.pipe(",loop=0", number=250)[:250],
                         (self.frames * 3)[:250])

    def test_rate(self):
        # as many as there are WQEs: time advances while the program sleeps
        wrpcap(self.given, [Ether(frame) for frame in self.frames[:40]])
        self.assertEqual(self.pipe(",rate=100k", number=40), self.frames[:40])
        times = [float(frame.time) for frame in rdpcap(self.path("out.pcap"))]
        self.assertGreaterEqual(times[-1] - times[0], 0.00038)

    def test_duplicated(self):
        self.run_model(f"--wire=1=pcap:in={self.given},out={self.path('out.pcap')}",
                       "--link=1:duplicate=100%,bandwidth=1G", "--", FORWARD, "1", "1", "60")
        frames = [bytes(frame) for frame in rdpcap(self.path("out.pcap"))]
        self.assertEqual(frames[:8], [self.frames[0]] * 4 + [self.frames[1]] * 4)

    def test_second_run_is_equal(self):
        outputs = []
        for _ in range(2):
            outputs.append(self.pipe(link=("--link=2:duplicate=10%", "--seed=7")))
        self.assertEqual(outputs[0], outputs[1])
        self.assertGreater(len(outputs[0]), 100)

    @unittest.skipUnless(os.getuid() == 0, "needs root, to mount")
    def test_full_disk(self):
        small = self.path("small")
        os.mkdir(small)
        done = self.run_model(
            prefix=("unshare", "--mount", "sh", "-c",
                    f'mount -t tmpfs -o size=32k none {small} && "$@" '
                    f"--wire=1=pcap:in={self.given},loop=2 --wire=2=pcap:out={small}/o "
                    f"-- {FORWARD} 1 2 200", "sh"))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, "cannot write frames to .*/small/o any more")
        self.assertGreater(self.wires()[1]["outlet_lost"], 100)

    def test_bad_files(self):
        self.assertIn("/no/such", self.refused("--wire=1=pcap:in=/no/such"))
        self.assertIn("cannot read", self.refused("--wire=1=pcap:in=/etc/passwd"))
        self.assertIn("in=FILE", self.refused("--wire=1=pcap:into=x"))
        self.assertIn("in=FILE", self.refused("--wire=1=pcap:rate=full"))
        self.assertIn("10Gbps", self.refused(f"--wire=1=pcap:in={self.given},rate=slow"))
        self.assertIn("cannot write", self.refused("--wire=1=pcap:out=/no/such/file"))
        with open(self.given, "r+b") as file:
            file.truncate(os.path.getsize(self.given) - 5)
        self.assertIn("damaged after frame 99", self.refused(f"--wire=1=pcap:in={self.given}"))
        with open(self.given, "r+b") as file:
            file.truncate(24)
        self.assertIn("no frames", self.refused(f"--wire=1=pcap:in={self.given}"))
        with open(self.given, "r+b") as file:
            file.truncate(10)
        self.assertIn("cannot read", self.refused(f"--wire=1=pcap:in={self.given}"))
        wrpcap(self.given, [IP(src="192.0.2.1", dst="192.0.2.2")], linktype=101)
        self.assertIn("no Ethernet", self.refused(f"--wire=1=pcap:in={self.given}"))


if __name__ == "__main__":
    main()
