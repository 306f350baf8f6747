# SPDX-License-Identifier: BSD-3-Clause
"""The programs of the guest: an archive for its initramfs, made of an unpacked root
folder of Debian packages.

It contains the programs listed here, the libraries that they need, and the plug-ins
that those load by name.
"""

import glob
import os
import stat

from manavm import cache, elf, packages
from manavm.cpio import Archive
from manavm.errors import Failure, say

# Increase it if this module gives other contents for the same packages.
RECIPE = 1

# Packages and what the guest gets of them. A path may end in a pattern; a pattern
# that begins with "?" may match nothing.
PACKAGES = {
    "bash": ["usr/bin/bash"],
    "busybox-static": ["usr/bin/busybox"],
    "coreutils": ["usr/bin/timeout"],
    "dash": ["usr/bin/sh", "usr/bin/dash"],
    "dpdk-dev": ["usr/bin/dpdk-testpmd", "?usr/bin/dpdk-proc-info",
                 "?usr/bin/dpdk-pdump", "?usr/bin/dpdk-dumpcap"],
    "ethtool": ["usr/sbin/ethtool"],
    "ibverbs-providers": ["etc/libibverbs.d/mana.driver",
                          "usr/lib/{triplet}/libibverbs/libmana-*.so",
                          "usr/lib/{triplet}/libmana.so.1"],
    "ibverbs-utils": ["usr/bin/ibv_*"],
    "iproute2": ["usr/bin/ip", "usr/bin/ss", "usr/sbin/bridge", "usr/sbin/tc",
                 "usr/bin/rdma", "usr/sbin/devlink", "?usr/sbin/ip", "?usr/sbin/rdma"],
    "iputils-ping": ["usr/bin/ping"],
    "kmod": ["usr/bin/kmod", "usr/bin/lsmod", "usr/sbin/modprobe", "usr/sbin/insmod",
             "usr/sbin/rmmod", "usr/sbin/lsmod", "usr/sbin/modinfo"],
    # Threads that end load it by name.
    "libgcc-s1": ["usr/lib/{triplet}/libgcc_s.so.1"],
    "pciutils": ["usr/bin/lspci"],
    "tcpdump": ["usr/bin/tcpdump"],
    # That of busybox does not change the user.
    "util-linux": ["usr/bin/setpriv"],
}
# Plug-ins of DPDK, which EAL loads from its folder. Those that testpmd is linked to
# come with it.
DPDK_PLUGINS = ["bus_pci", "bus_vdev", "mempool_ring", "net_null", "net_pcap",
                "net_ring", "net_tap"]
FILES = {
    "etc/group": b"root:x:0:\n",
    "etc/hosts": b"127.0.0.1 localhost\n::1 localhost\n",
    "etc/hostname": b"mana-vm\n",
    "etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
    "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n",
}
FOLDERS = ["dev", "proc", "sys", "tmp", "run", "mnt", "host", "root", "var/run",
           "usr/bin", "usr/sbin", "usr/lib", "usr/lib64"]


class Copier:
    """Copies paths of a root folder to an archive, links and libraries included."""

    def __init__(self, root, triplet, archive):
        self.root = root
        self.archive = archive
        self.libraries = elf.Libraries(root, triplet)
        self.done = set()

    def copy(self, path):
        """
        Copies a file, or each link on the way to it and the file. path has no
        leading slash.
        """
        parts, walked = path.split("/"), ""
        for _ in range(1000):
            if not parts:
                break
            part = parts.pop(0)
            if part in ("", "."):
                continue
            if part == "..":
                walked = os.path.dirname(walked)
                continue
            here = f"{walked}/{part}" if walked else part
            mode = self._mode(here, path)
            if stat.S_ISLNK(mode):
                target = os.readlink(os.path.join(self.root, here))
                self.archive.link(here, target)
                parts = target.split("/") + parts
                if target.startswith("/"):
                    walked = ""
                continue
            walked = here
        else:
            raise Failure(f"too many links in /{path} of {self.root}")
        if os.path.isdir(os.path.join(self.root, walked)):
            raise Failure(f"/{path} of {self.root} is a folder")
        self._file(walked)

    def _mode(self, here, path):
        try:
            return os.lstat(os.path.join(self.root, here)).st_mode
        except FileNotFoundError:
            raise Failure(f"the packages have no /{path} (no /{here})") from None

    def _file(self, path):
        if path in self.done:
            return
        self.done.add(path)
        full = os.path.join(self.root, path)
        self.archive.file(path, full)
        found = elf.dynamic(full)
        if found is None:
            return
        loader, needed = found
        if loader:
            self.copy(loader.lstrip("/"))
        for name in needed:
            library = self.libraries.find(name)
            if library is None:
                raise Failure(f"no package has {name}, which /{path} needs")
            self.copy(library)


def matches(root, pattern):
    """Paths below root that match, sorted."""
    optional = pattern.startswith("?")
    pattern = pattern.lstrip("?")
    found = sorted(os.path.relpath(path, root)
                   for path in glob.glob(os.path.join(glob.escape(root), pattern)))
    if not found and os.path.lexists(os.path.join(root, pattern)):
        found = [pattern]
    if not found and not optional:
        raise Failure(f"the packages have no /{pattern}")
    return found


def userland(root, triplet):
    """The archive of the guest's programs."""
    archive = Archive()
    for folder in FOLDERS:
        archive.folder(folder)
    for folder in ("bin", "sbin", "lib", "lib64"):
        archive.link(folder, f"usr/{folder}")
    for name, content in FILES.items():
        archive.data(name, content)
    # The kernel opens it before any program runs.
    archive.device("dev/console", 5, 1)
    copier = Copier(root, triplet, archive)
    plugins = [f"usr/lib/{triplet}/dpdk/pmds-*/librte_{name}.so.*"
               for name in DPDK_PLUGINS]
    for pattern in plugins + [path.format(triplet=triplet)
                              for paths in PACKAGES.values() for path in paths]:
        for path in matches(root, pattern):
            copier.copy(path)
    return archive


def prepare(release, arch, refresh=False):
    """The path of the cached archive for a release of Debian (12, 13)."""
    index = packages.Index(release, arch.name, refresh)
    found = index.packages(sorted(PACKAGES))
    key = cache.key(RECIPE, PACKAGES, DPDK_PLUGINS,
                    {name: data.decode() for name, data in FILES.items()}, FOLDERS,
                    found)

    def make(folder):
        with cache.scratch() as root:
            index.unpack(found, root)
            say(f"making the image of Debian {release} programs")
            archive = userland(root, arch.triplet)
            with open(os.path.join(folder, "userland.cpio"), "wb") as file:
                archive.write(file)
            # What session archives need to know of this one.
            with open(os.path.join(folder, "names"), "w", encoding="utf-8") as file:
                file.write("".join(name + "\n" for name in sorted(archive.entries)))

    folder = cache.item("image", key, make)
    with open(os.path.join(folder, "names"), encoding="utf-8") as file:
        return os.path.join(folder, "userland.cpio"), set(file.read().splitlines())


def add_plugin(archive, path, triplet, names):
    """
    Adds DPDK's plug-in to EAL's folder in the guest. names are those of the userland.
    """
    top = f"usr/lib/{triplet}"
    folder = next(os.path.dirname(name) for name in sorted(names)
                  if name.startswith(f"{top}/dpdk/pmds-") and ".so" in name)
    try:
        needed = elf.dynamic(path)
    except OSError as error:
        raise Failure(f"cannot read the plug-in {path}: {error.strerror}; build it, "
                      "or use --plugin") from None
    if needed is None:
        raise Failure(f"{path} is no plug-in: it is no ELF file")
    for library in needed[1]:
        if not {f"{top}/{library}", f"{folder}/{library}"} & names:
            raise Failure(f"the plug-in {path} needs {library}, which the guest has "
                          "not: it is built for another release of Debian or DPDK; "
                          "name a fitting one with --plugin, or use --plugin none")
    name = os.path.basename(path)
    archive.file(f"{folder}/{name}", path)
    archive.link(f"{top}/{name}", f"/{folder}/{name}")
