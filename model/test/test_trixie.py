#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause

"""The libraries of Debian 13 on the modelled kernels.

The C tests are built with the headers of a trixie root and run there with its
dynamic linker, C library, libibverbs and libmana, which speak newer forms of
the kernel interface and have no limit of 256 entries. devtools/debian-root.sh
creates the root; without one, and without the right to create one, all tests are
skipped.

usage: test_trixie.py [unittest arguments]      (see model_test.py)
environment: TRIXIE_ROOT, an existing root
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from model_test import FOLDER, MODEL, TOP, main

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("TRIXIE_ROOT", os.path.join(TOP, "trixie-root"))
LIB = os.path.join(ROOT, "usr/lib/x86_64-linux-gnu")
LINKER = os.path.join(LIB, "ld-linux-x86-64.so.2")
SKIPPED = 77


def make_root():
    """None, or the reason why there is no root."""
    done = subprocess.run([os.path.join(TOP, "devtools/debian-root.sh"), "trixie", ROOT],
                          stderr=subprocess.PIPE, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="trixie-test-")
        # The one library of the model that trixie has under another name only.
        listed = subprocess.run(["ldd", os.path.join(FOLDER, "libmana-model.so")],
                                stdout=subprocess.PIPE, text=True, check=True).stdout
        for name, path in re.findall(r"(\S+) => (\S+)", listed):
            if not os.path.exists(os.path.join(LIB, name)):
                shutil.copy(path, cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def build(self, name):
        program = os.path.join(self.folder, name)
        if not os.path.exists(program):
            names = [f"test_{name}.c", "verbs_fixture.c"]
            with open(os.path.join(HERE, names[0]), encoding="ascii") as file:
                if "\nmain(" not in file.read():
                    names.append("test_main.c")
            sources = [os.path.join(HERE, name) for name in names]
            subprocess.run(
                [os.environ.get("CC", "cc"), "-D_GNU_SOURCE", "-O1", f"--sysroot={ROOT}",
                 # As meson.build: Debian 13 has cmocka 1.
                 "-Dassert_uint_in_range=assert_in_range",
                 "-o", program, *sources, f"-L{LIB}", f"-Wl,-rpath-link,{LIB}",
                 # The linker itself has no option for another root: give its C library.
                 "-lcmocka", "-libverbs", "-lmana", "-l:libc.so.6"], check=True)
        return program

    def run_there(self, options, program, *args, fatal=True):
        """Standard output of a program of the root, run on the model."""
        strict = ["--fatal-violations"] if fatal else []
        done = subprocess.run(
            [MODEL, "--quiet", *strict, *options, "--",
             LINKER, "--library-path", f"{LIB}:{LIB}/libibverbs:{self.folder}", program, *args],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def version(self):
        """The version of rdma-core, from its library's name: 1.14.<version>."""
        name = os.path.basename(os.path.realpath(os.path.join(LIB, "libibverbs.so.1")))
        return int(name.split(".")[4])


class Trixie(Case):
    def test_libraries_are_newer(self):
        self.assertGreaterEqual(self.version(), 53)

    def test_devices_are_found(self):
        bin_dir = os.path.join(ROOT, "usr/bin")
        out = self.run_there(["--functions", "2"], os.path.join(bin_dir, "ibv_devices"))
        self.assertEqual(re.findall(r"manae?_\d", out), ["manae_0", "manae_1"])
        out = self.run_there(["--ports", "3"], os.path.join(bin_dir, "ibv_devinfo"), "-v")
        for line in ("hca_id: manae_0", "vendor_id: 0x1414", "vendor_part_id: 2",
                     "phys_port_cnt: 3", "max_qp_wr: 2048", "max_sge: 15",
                     "max_pd: 24576", "page_size_cap: 0x3ff000", "max_mr_size: 0xffffffffffffffff",
                     "link_layer: Ethernet", "state: PORT_DOWN (1)"):
            self.assertRegex(out, re.escape(line).replace(r":\ ", r":\s+"))
        out = self.run_there(["--rnic"], os.path.join(bin_dir, "ibv_devinfo"), "-d", "mana_0")
        self.assertRegex(out, r"vendor_part_id:\s+3")

    def test_large_rings_carry_packets(self):
        for mode in ("sync", "thread"):
            out = self.run_there(["--mode", mode], self.build("rings"), "2048")
            for nb in (128, 256, 512, 1024, 2048):
                self.assertIn(f"{nb} entries: {20 * nb} packets each way\n", out)

    def test_older_kernels_have_smaller_rings(self):
        self.run_there(["--kernel", "6.2"], self.build("rings"), "256")

    def test_verbs(self):
        for mode in ("sync", "thread"):
            self.run_there(["--functions", "2", "--mode", mode], self.build("verbs"))

    def test_kernel_versions(self):
        for age in ("7.3", "7.2", "6.12", "6.2"):
            self.run_there(["--functions", "2", "--kernel", age], self.build("kernels"), age)
            self.run_there(["--functions", "2", "--kernel", age, "--rnic"],
                           self.build("kernels"), age, "rnic")

    def test_every_error(self):
        for age in ("7.3", "7.2", "6.12", "6.2"):
            self.run_there(["--functions", "2", "--kernel", age, "--rnic"],
                           self.build("errors"), age)

    def test_netdevs(self):
        # It causes the violation of an MTU change under raw QPs.
        self.run_there(["--functions", "2", "--max-mtu", "9000"], self.build("netdev"),
                       fatal=False)


if __name__ == "__main__":
    why = make_root()
    if why is not None:
        print(f"SKIP: {why}")
        sys.exit(SKIPPED)
    main()
