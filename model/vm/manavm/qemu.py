# SPDX-License-Identifier: BSD-3-Clause
"""QEMU: its unpacked packages, its command line, and whether KVM works."""

import json
import os
import subprocess
from dataclasses import dataclass, field

from manavm import arch as arches
from manavm import cache, packages
from manavm.errors import say

# QEMU has vfio-user-pci since 10.1; Debian 12 has 7.2, Debian 13 10.0.
RELEASE, SUITE = "13", "trixie-backports"
# Of a boot that tests KVM.
PROBE_S = 20
# The host may have been too busy for the test, or KVM may have been in use.
RETEST_S = 24 * 3600


@dataclass
class Tools:
    """QEMU and virtiofsd of packages that are newer than the host's C library."""
    root: str
    host: arches.Arch

    def command(self, program):
        """A command that runs a program of the packages with their loader."""
        libraries = os.path.join(self.root, "usr/lib", self.host.triplet)
        loader = {"amd64": "ld-linux-x86-64.so.2",
                  "arm64": "ld-linux-aarch64.so.1"}[self.host.name]
        return [os.path.join(libraries, loader), "--library-path", libraries,
                os.path.join(self.root, program)]


def tools(guest, refresh=False):
    """The tools for guests of an architecture; fetched if not cached."""
    host = arches.find(arches.host())
    index = packages.Index(RELEASE, host.name, refresh)
    found = index.packages([guest.qemu_package, "virtiofsd"], SUITE)
    root = cache.item("tools", cache.key(found),
                      lambda folder: index.unpack(found, folder))
    return Tools(root, host)


@dataclass
class Guest:
    """What QEMU needs to know of a virtual machine."""
    arch: arches.Arch
    kernel: str
    initrd: str                 # None: the kernel panics without a root file system
    cpus: int
    memory_mib: int
    log: str                    # file for the kernel's messages
    accel: str = "tcg"
    append: str = ""            # more options for the kernel
    session: str = None         # socket of the agent's port
    share: str = None           # socket of virtiofsd
    functions: list = field(default_factory=list)    # vfio-user sockets
    more: list = field(default_factory=list)         # more options for QEMU


def command(found, guest):
    """The command line of a virtual machine."""
    arch = guest.arch
    line = found.command(f"usr/bin/{arch.qemu_program}")
    for folder in arch.firmware:
        line += ["-L", os.path.join(found.root, "usr/share", folder)]
    line += ["-name", "mana-vm", "-nodefaults", "-no-user-config", "-no-reboot",
             "-display", "none"]
    if guest.accel == "kvm":
        line += ["-accel", "kvm", "-cpu", "host"]
    else:
        line += ["-accel", "tcg,thread=multi", "-cpu", arch.tcg_cpu]
    line += ["-machine", f"{arch.qemu_machine},memory-backend=ram",
             "-object", f"memory-backend-memfd,id=ram,size={guest.memory_mib}M,share=on",
             "-m", f"{guest.memory_mib}M", "-smp", str(guest.cpus),
             "-kernel", guest.kernel,
             "-append", f"console={arch.console} {arch.append} panic=-1 rdinit=/init "
                        f"{guest.append}".strip(),
             "-chardev", f"file,id=log,path={escape(guest.log)}",
             "-serial", "chardev:log"]
    if guest.initrd:
        line += ["-initrd", guest.initrd]
    if guest.session:
        line += ["-device", "virtio-serial-pci,id=ports,addr=0x1d",
                 "-chardev", f"socket,id=session,path={escape(guest.session)}",
                 "-device", "virtserialport,chardev=session,name=mana-vm"]
    if guest.share:
        line += ["-chardev", f"socket,id=share,path={escape(guest.share)}",
                 "-device", "vhost-user-fs-pci,chardev=share,tag=host,addr=0x1e"]
    for at, path in enumerate(guest.functions):
        # A root port each: the guest sees function N at N+1:00.0, and can reset it.
        line += ["-device", f"pcie-root-port,id=root{at},chassis={at + 1},"
                            f"addr={at + 2:#x}",
                 "-device", '{"driver":"vfio-user-pci","bus":"root%d",'
                            '"socket":{"type":"unix","path":%s}}' % (at, quote(path))]
    return line + guest.more


def escape(path):
    """A path as value of an option of QEMU."""
    return path.replace(",", ",,")


def quote(text):
    return json.dumps(text)


def accelerator(found, guest):
    """
    "kvm" if a guest of this kind runs with it, else "tcg". Hypervisors without VMX
    and SVM may have /dev/kvm, but do not run unmodified kernels.
    """
    if guest.arch.name != found.host.name or not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    if found.host.name == "amd64" and not {"vmx", "svm"} & cpu_flags():
        return "tcg"
    key = cache.key("kvm", os.uname().release, os.uname().version, sorted(cpu_flags()),
                    found.root)
    path = os.path.join(cache.folder(), f"kvm-{key}")
    with cache.locked("kvm"):
        if cache.age_s(path) > RETEST_S:
            say("testing KVM")
            result = "kvm" if probe(found, guest) else "tcg"
            with open(path, "w", encoding="ascii") as file:
                file.write(result)
            return result
    with open(path, encoding="ascii") as file:
        return "kvm" if file.read() == "kvm" else "tcg"


def cpu_flags():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith(("flags", "Features")):
                return set(line.partition(":")[2].split())
    return set()


def probe(found, guest, accel="kvm"):
    """Whether the kernel boots: without a root file system it must panic."""
    with cache.scratch() as work:
        log = os.path.join(work, "log")
        small = Guest(guest.arch, guest.kernel, None, 1, 256, log, accel)
        try:
            subprocess.run(command(found, small), timeout=PROBE_S, check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return False
        with open(log, encoding="utf-8", errors="replace") as file:
            text = file.read()
            return "Unable to mount root fs" in text or "No working init" in text
