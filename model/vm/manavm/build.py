# SPDX-License-Identifier: BSD-3-Clause
"""Programs for guests whose release of Debian or architecture is not the host's:
this driver as plug-in of that release's DPDK, mana-first-contact, the agent, and DPDK
programs of tests.

The host's compilers build them with the libraries and headers of that release.
"""

import contextlib
import glob
import os
import platform
import shutil
import subprocess

from manavm import arch as arches
from manavm import cache, packages
from manavm.errors import Failure, say

CHECKOUT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
PACKAGES = ["libc6-dev", "libdpdk-dev", "libibverbs-dev", "libjansson-dev"]
# What the driver and mana-first-contact are built of.
SOURCES = ["meson.build", "meson_options.txt", "VERSION", "drivers", "app/first-contact",
           "devtools/meson.build", "devtools/dpdk-probe.py", "devtools/pmdinfogen.py",
           "devtools/pick-driver-headers.py", "devtools/link-plugin.sh"]
# In a build folder.
PLUGIN = "drivers/librte_net_mana.so"
FIRST_CONTACT = "app/first-contact/mana-first-contact"


def host_release():
    """The Debian release of the host; None if it is no Debian."""
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        return None
    return system.get("VERSION_ID") if system.get("ID") == "debian" else None


def is_for_host(release, arch):
    """Whether programs built for the host run in such a guest."""
    return arch.name == arches.host() and release == host_release()


def run(command, what, environment=None):
    """Runs a tool and returns its output; a failure has its last lines."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False,
                              env=dict(os.environ, **(environment or {})))
    except FileNotFoundError:
        raise Failure(f"{command[0]} is missing: run devtools/install-deps.sh "
                      "test") from None
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if "rror" in line] or \
            done.stdout.splitlines()
        raise Failure(f"{what} failed: " + "\n".join(lines[-5:]))
    return done.stdout


def relink(root):
    """
    Makes absolute links relative to the folder, as of libm.so to /lib, which would
    lead to the host's files.
    """
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path) and os.readlink(path).startswith("/"):
                target = os.path.relpath(root + os.readlink(path), folder)
                os.unlink(path)
                os.symlink(target, path)


class Sdk:
    """Libraries and headers of a release for an architecture."""

    def __init__(self, release, arch, refresh=False):
        if not os.path.isdir(os.path.join(CHECKOUT, "drivers")):
            raise Failure(f"the driver for Debian {release} ({arch.name}) is not on this host, "
                          "and an installed mana-vm has no source to build it from: run the "
                          "mana-vm of a checkout, or name a plug-in with --plugin, or choose "
                          f"--userland {host_release()} and --arch {arches.host()}")
        self.release, self.arch, self.refresh = release, arch, refresh
        index = packages.Index(release, arch.name, refresh)
        found = index.packages(PACKAGES)
        self.key = cache.key(found)
        self.dpdk = next(entry[1] for entry in found if entry[0] == "libdpdk-dev")

        def make(folder):
            index.unpack(found, folder, packages.LEAVE_OUT)
            relink(folder)

        self.root = cache.item("sdk", self.key, make)

    def driver_headers(self):
        """The folder of DPDK's driver headers, of which no package has all."""
        own = os.environ.get("MANA_VM_DRIVER_HEADERS")
        if own:
            return os.path.abspath(own)
        # Those of devtools/fetch-dpdk-headers.sh.
        fetched = os.path.join(CHECKOUT, "dpdk-headers")
        version = self.dpdk.partition("+b")[0]
        with contextlib.suppress(FileNotFoundError):
            with open(os.path.join(fetched, "VERSION"), encoding="ascii") as file:
                if file.read().strip() == version:
                    return fetched

        def make(folder):
            with cache.scratch() as work:
                source = os.path.join(work, "dpdk")
                packages.Index(self.release, self.arch.name, self.refresh,
                               sources=True).unpack_source(
                                   "dpdk", version, source)
                # DPDK's own driver for the adapter: deleted at once, unread.
                shutil.rmtree(os.path.join(source, "drivers/net/mana"),
                              ignore_errors=True)
                run(["/usr/bin/python3",
                     os.path.join(CHECKOUT, "devtools/pick-driver-headers.py"), source,
                     folder, os.path.join(self.root, "usr/include/dpdk"),
                     os.path.join(self.root, "usr/include", self.arch.triplet, "dpdk")],
                    "copying DPDK's driver headers")

        try:
            return cache.item("sdk", cache.key("headers", self.key), make)
        except Failure as error:
            raise type(error)(f"{error}; the driver's build needs ethdev_driver.h and others "
                              f"of DPDK {self.dpdk}: set MANA_VM_DRIVER_HEADERS to a folder "
                              "that has them, or name a plug-in with --plugin, or use "
                              "--plugin none") from None

    def tool(self, name):
        """The name of a compiler's tool on the host."""
        return name if self.arch.name == arches.host() else f"{self.arch.triplet}-{name}"

    def compiler(self):
        """The command of the host's compiler for the architecture."""
        name = self.tool("gcc")
        if shutil.which(name) is None:
            raise Failure(f"{name} is missing: run devtools/install-deps.sh test")
        # The compiler's own folders, which contain the host's C library, come after.
        library = f"{self.root}/usr/lib/{self.arch.triplet}"
        return [name, f"--sysroot={self.root}", f"-B{library}", f"-L{library}"]

    def pkg_config_path(self):
        """Where the release's packages describe their libraries."""
        return (f"{self.root}/usr/lib/{self.arch.triplet}/pkgconfig:"
                f"{self.root}/usr/share/pkgconfig")

    def dpdk_flags(self):
        """The compiler's arguments for a DPDK program."""
        return run(["pkg-config", "--cflags", "--libs", "libdpdk"],
                   "reading the flags of DPDK",
                   {"PKG_CONFIG_SYSROOT_DIR": self.root,
                    "PKG_CONFIG_LIBDIR": self.pkg_config_path()}).split()

    def cross_file(self):
        """The text of a cross file for meson."""
        return f"""\
[binaries]
c = {self.compiler()!r}
ar = '{self.tool("ar")}'
strip = '{self.tool("strip")}'
pkgconfig = 'pkg-config'
[host_machine]
system = 'linux'
cpu_family = '{self.arch.machine}'
cpu = '{self.arch.machine}'
endian = 'little'
[properties]
sys_root = '{self.root}'
needs_exe_wrapper = true
pkg_config_libdir = '{self.pkg_config_path()}'
"""


def source_hash():
    """What the driver is built of, as a part of a key."""
    found = {}
    for name in SOURCES:
        path = os.path.join(CHECKOUT, name)
        files = [path] if os.path.isfile(path) else [
            os.path.join(folder, file) for folder, _, files in os.walk(path)
            for file in files if not file.endswith(".pyc")]
        for file in files:
            found[os.path.relpath(file, CHECKOUT)] = cache.file_hash(file)
    return found


def driver(release, arch, refresh=False):
    """A folder with PLUGIN and FIRST_CONTACT for a release and architecture."""
    sdk = Sdk(release, arch, refresh)

    def make(folder):
        headers = sdk.driver_headers()
        say(f"building the driver for Debian {release} ({arch.name})")
        with cache.scratch() as work:
            cross = os.path.join(work, "cross")
            with open(cross, "w", encoding="utf-8") as file:
                file.write(sdk.cross_file())
            build = os.path.join(work, "build")
            run(["meson", "setup", build, CHECKOUT, "--cross-file", cross,
                 "-Dmodel=disabled", "-Dtests=false",
                 f"-Ddpdk_driver_headers={headers}"],
                "configuring the driver")
            run(["ninja", "-C", build], "building the driver")
            for name in (PLUGIN, FIRST_CONTACT):
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path))
                # Without libjansson there is no mana-first-contact.
                if name == PLUGIN or os.path.exists(os.path.join(build, name)):
                    shutil.copy(os.path.join(build, name), path)

    return cache.item("plugin", cache.key(sdk.key, source_hash()), make)


def agent(release, arch, refresh=False):
    """The path of the agent for an architecture that is not the host's."""
    sources = sorted(glob.glob(os.path.join(CHECKOUT, "model/vm/agent*.[ch]")))
    sdk = Sdk(release, arch, refresh)

    def make(folder):
        run([*sdk.compiler(), "-O2", "-D_GNU_SOURCE", "-static", "-o",
             os.path.join(folder, "mana-vm-agent"),
             *(path for path in sources if path.endswith(".c"))], "building the agent")

    folder = cache.item("plugin", cache.key("agent", sdk.key,
                                            [cache.file_hash(path) for path in sources]),
                        make)
    return os.path.join(folder, "mana-vm-agent")


def program(source, release, arch):
    """The path of a DPDK program of one source file, for a release and architecture."""
    name = os.path.basename(source).removesuffix(".c")
    sdk = Sdk(release, arch)

    def make(folder):
        run([*sdk.compiler(), "-O2", "-D_GNU_SOURCE", "-o", os.path.join(folder, name),
             source, *sdk.dpdk_flags()], f"building {name}")

    folder = cache.item("plugin", cache.key(name, sdk.key, cache.file_hash(source)), make)
    return os.path.join(folder, name)
