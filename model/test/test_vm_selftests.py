#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause

"""Linux' own tests of network drivers (tools/testing/selftests/drivers/net), of the
version of the guest's kernel, on the kernel's interfaces of the adapter. Tests with a
peer get the second port, in a network namespace.

selftests.txt lists all of them, with what is expected of each.

MANA_SELFTESTS=all runs all that selftests.txt does not exclude, without it the quick ones.

usage: test_vm_selftests.py [unittest arguments]      (see model_test.py)
"""

import os
import re
import sys
import unittest
from dataclasses import dataclass

from model_test import TOP, timeout_factor
from vm_guest import Guest, run

sys.path.insert(0, os.path.join(TOP, "model", "vm"))

# pylint: disable=wrong-import-position
from manavm import arch, build, cache, kernel, packages  # noqa: E402
from manavm.errors import Failure, say  # noqa: E402

LIST = os.path.join(os.path.dirname(os.path.realpath(__file__)), "selftests.txt")
# Increase it if unpack() gives other contents for the same packages.
RECIPE = 1
RELEASE = "13"
# What the selftests call.
TOOLS = ["bash", "bpftool", "coreutils", "dash", "ethtool", "findutils", "gawk", "grep",
         "iperf3", "iproute2", "iputils-ping", "jq", "kmod", "netsniff-ng", "procps",
         "python3", "python3-yaml", "sed", "socat", "tcpdump", "util-linux"]
# Folders of the sources that the selftests read.
SOURCES = ["tools/testing/selftests", "tools/net/ynl", "Documentation/netlink/specs"]
SELFTESTS = "linux/tools/testing/selftests/drivers/net"
# Those of Python.
MODULES = ["tools/net/ynl", "tools/testing/selftests/net/lib",
           "tools/testing/selftests/drivers/net"]
MOUNTS = "dev proc run sys tmp"
LIMIT_S = 300 * timeout_factor()
SETUP = f"""
for folder in {MOUNTS}; do mount --rbind /$folder /host/$folder; done
ip netns add peer
ip link set eth1 netns peer
ip addr add 192.0.2.1/24 dev eth0
ip addr add 2001:db8::1/64 dev eth0 nodad
ip link set eth0 up
ip -n peer link set lo up
ip -n peer addr add 192.0.2.2/24 dev eth1
ip -n peer addr add 2001:db8::2/64 dev eth1 nodad
ip -n peer link set eth1 up
"""
# See README.rst of the selftests.
ENVIRONMENT = ("PATH=/usr/sbin:/usr/bin PYTHONDONTWRITEBYTECODE=1 NETIF=eth0 "
               "LOCAL_V4=192.0.2.1 REMOTE_V4=192.0.2.2 LOCAL_V6=2001:db8::1 "
               "REMOTE_V6=2001:db8::2 REMOTE_TYPE=netns REMOTE_ARGS=peer")
RESULT = re.compile(r"^(not ok|ok) \d+ ([\w.-]+)(?: # (SKIP|XFAIL)\b.*)?", re.MULTILINE)


@dataclass(frozen=True)
class Line:
    """A line of the list: of a program, or of one of its cases."""
    name: str
    kernels: str
    expected: str
    reason: str


def read_list(name):
    """The lines for a kernel, by name."""
    found = {}
    with open(LIST, encoding="utf-8") as file:
        for text in file:
            if not text.startswith("#") and text.strip():
                line = Line(*(text.split(None, 3) + [""])[:4])
                if line.kernels in ("all", name):
                    found[line.name] = line
    return found


def programs(root):
    """The selftests that the Makefiles name, and folders with Makefiles of their own."""
    top = os.path.join(root, SELFTESTS)
    found = {name + "/" for name in os.listdir(top)
             if name != "hw" and os.path.exists(os.path.join(top, name, "Makefile"))}
    for folder in ("", "hw"):
        with open(os.path.join(top, folder, "Makefile"), encoding="utf-8") as file:
            text = file.read().replace("\\\n", " ")
        for line in re.findall(r"^TEST_PROGS(?:_EXTENDED)?\s*:?=(.*)$", text, re.MULTILINE):
            found |= {os.path.join(folder, name)
                      for name in re.findall(r"[\w-]+\.(?:py|sh)", line)}
    return found


def precompile(root):
    """Compiles the Python modules: on an emulated processor that takes minutes."""
    library = os.path.join(root, "usr/lib")
    triplet = os.path.join(library, arch.find("amd64").triplet)
    packages.call([os.path.join(triplet, "ld-linux-x86-64.so.2"), "--library-path",
                   triplet, os.path.join(root, "usr/bin/python3"), "-m", "compileall",
                   "-q", "--invalidation-mode", "unchecked-hash", library,
                   *(os.path.join(root, "linux", part) for part in MODULES)],
                  "compiling Python modules")


def unpack(name):
    """A root folder with Debian's programs and a kernel's selftests in /linux."""
    debian = kernel.KERNELS[name]
    image = debian.package.format(arch="amd64")
    index = packages.Index(debian.release, "amd64")
    version = next(entry[1] for entry in index.packages([image], debian.suite)
                   if entry[0] == image)
    source = "linux-source" if name == "newest" else f"linux-source-{name}"
    found = [entry for entry in index.packages([source], debian.suite)
             if re.match(r"linux-source-\d", entry[0])]
    if not version.startswith(found[0][1]):
        raise Failure(f"{found[0][0]} is {found[0][1]}, the kernel {version}")
    tools = packages.Index(RELEASE, "amd64")
    programs = tools.packages(TOOLS)

    def make(folder):
        tools.unpack(programs, folder)
        os.symlink("gawk", os.path.join(folder, "usr/bin/awk"))
        for place in MOUNTS.split() + ["linux"]:
            os.makedirs(os.path.join(folder, place), exist_ok=True)
        with cache.scratch() as work:
            index.unpack(found, work)
            say(f"unpacking the selftests of {found[0][0]}")
            top = found[0][0]
            packages.call(["tar", "-xf", os.path.join(work, f"usr/src/{top}.tar.xz"), "-C",
                           os.path.join(folder, "linux"), "--strip-components=1",
                           *(f"{top}/{part}" for part in SOURCES)],
                          "unpacking the sources")
        precompile(folder)
        helper = os.path.join(folder, "linux/tools/testing/selftests/net/lib/xdp_helper")
        if os.path.exists(helper + ".c"):
            build.run(["gcc", "-O2", "-static", "-I",
                       os.path.join(folder, "linux/tools/testing/selftests"), "-o", helper,
                       helper + ".c"], "building xdp_helper")

    return cache.item("tools", cache.key("selftests", RECIPE, TOOLS, SOURCES, found,
                                         programs), make)


class Selftests:
    """The tests, on each kernel."""

    kernel = None

    def setUp(self):
        self.root = unpack(self.kernel)
        self.lines = read_list(self.kernel)

    def test_list(self):
        """Each selftest of the kernel is in the list, and none that it does not have."""
        listed = {name for name in self.lines if ":" not in name}
        self.assertEqual(listed, programs(self.root))

    def results(self, guest, program):
        """By case: ok, fail, skip or xfail."""
        folder, name = os.path.split(f"/{SELFTESTS}/{program}")
        done = guest.try_sh(f"exec chroot /host /usr/bin/env -i {ENVIRONMENT} sh -c "
                            f"'cd {folder} && exec ./{name} 2>&1'", timeout=LIMIT_S)
        found = {case: (how or "fail" if word == "not ok" else how or "ok").lower()
                 for word, case, how in RESULT.findall(done.stdout)}
        self.assertTrue(found, f"{program}: no results\n{done.stdout}{done.stderr}")
        print(f"{program}: {found}", flush=True)
        return found, done.stdout

    def test_run(self):
        guest = Guest(self.kernel, SETUP, share=self.root, nb_cpus=2)
        self.addCleanup(guest.holder.kill)
        wanted = ("quick", "run") if os.environ.get("MANA_SELFTESTS") == "all" else (
            "quick",)
        for program, line in self.lines.items():
            if line.expected not in wanted or ":" in program:
                continue
            with self.subTest(program):
                found, output = self.results(guest, program)
                cases = {name.partition(":")[2]: case.expected
                         for name, case in self.lines.items()
                         if name.startswith(program + ":")}
                expected = dict.fromkeys(found, cases.pop("*", "ok")) | cases
                self.assertEqual(found, expected, output)
        guest.check_end()


class Selftests612(Selftests, unittest.TestCase):
    kernel = "6.12"


class SelftestsNewest(Selftests, unittest.TestCase):
    kernel = "newest"


if __name__ == "__main__":
    run()
