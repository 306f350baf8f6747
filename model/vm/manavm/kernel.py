# SPDX-License-Identifier: BSD-3-Clause
"""Kernels: their image, and an archive of the modules that the guest loads."""

import glob
import gzip
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

from manavm import cache, packages
from manavm.cpio import Archive
from manavm.errors import Failure, say

# Increase it if this module gives other contents for the same packages.
RECIPE = 1

# Modules that the guest gets if the kernel has them as modules, with all that they
# depend on. The init script loads those that it needs.
MODULES = [
    "mana", "mana_ib", "ib_uverbs",
    "virtio_pci", "virtio_console", "virtiofs", "9p", "9pnet_virtio",
    "af_packet", "tun", "veth", "8021q", "bridge", "pktgen", "sch_netem",
    "uio_pci_generic", "vfio-pci", "vfio_iommu_type1",
]


def module_name(path):
    """The name of a module as lsmod prints it."""
    return os.path.basename(path).partition(".ko")[0].replace("-", "_")


def read_module(path):
    """The contents of a module, not compressed."""
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".xz"):
        return lzma.decompress(data)
    if path.endswith(".gz"):
        return gzip.decompress(data)
    if path.endswith(".zst"):
        return run(["zstd", "-dcq"], data)
    return data


def run(command, data=None):
    """The output of a tool of the host."""
    if shutil.which(command[0], path=SBIN) is None:
        raise Failure(f"{command[0]} is missing: run devtools/install-deps.sh test")
    done = subprocess.run(command, input=data, capture_output=True, check=False,
                          env=dict(os.environ, PATH=SBIN, LC_ALL="C"))
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)} failed: "
                      f"{done.stderr.decode(errors='replace').strip()}")
    return done.stdout


SBIN = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"


# Files of a modules folder that depmod reads, besides the modules.
LISTS = ("modules.builtin", "modules.builtin.modinfo", "modules.order")
RELEASE = "include/config/kernel.release"    # of a build tree


@dataclass(frozen=True)
class Modules:
    """All modules of a kernel: their names below lib/modules/VERSION, and files."""
    version: str
    files: dict

    @classmethod
    def find(cls, root):
        """
        Those of an unpacked root folder, of a folder like lib/modules/VERSION, or of a
        kernel's build tree.
        """
        if os.path.isfile(os.path.join(root, RELEASE)):
            return cls.of_build_tree(root)
        source = modules_folder(root)
        files = {}
        for folder, folders, names in os.walk(source):
            # The links to the kernel's sources.
            folders[:] = [name for name in folders if name not in ("build", "source")]
            for name in names:
                path = os.path.join(folder, name)
                if ".ko" in name or name in LISTS:
                    files[os.path.relpath(path, source)] = path
        return cls(os.path.basename(source), files)

    @classmethod
    def of_build_tree(cls, root):
        """The modules as make modules_install would install them."""
        with open(os.path.join(root, RELEASE), encoding="utf-8") as file:
            version = file.read().strip()
        files = {name: os.path.join(root, name) for name in LISTS
                 if os.path.exists(os.path.join(root, name))}
        if "modules.order" not in files:
            raise Failure(f"{root} has no modules.order: make modules creates it")
        with open(files["modules.order"], encoding="utf-8") as file:
            for line in file.read().split():
                # Its form differs between versions: kernel/fs/x.ko, fs/x.ko, fs/x.o.
                name = os.path.splitext(line)[0].removeprefix("kernel/") + ".ko"
                path = os.path.join(root, name)
                if not os.path.exists(path):
                    raise Failure(f"{path} is missing: make modules creates it")
                files[f"kernel/{name}"] = path
        # With the kernel/ that depmod expects, or not at all.
        return cls(version, {name: path for name, path in files.items()
                             if name != "modules.order"})

    def state(self):
        """What changes if a module changes, as a part of a key."""
        found = []
        for name, path in sorted(self.files.items()):
            info = os.stat(path)
            found.append((name, path, info.st_size, info.st_mtime_ns))
        return self.version, found

    def link(self, target):
        """Creates lib/modules/VERSION below target as symbolic links."""
        top = os.path.join(target, "lib/modules", self.version)
        for name, path in self.files.items():
            inside = os.path.join(top, name)
            os.makedirs(os.path.dirname(inside), exist_ok=True)
            os.symlink(os.path.abspath(path), inside)
        return top


def modules_folder(root):
    """The folder lib/modules/VERSION of a root folder, or the folder itself."""
    if os.path.isdir(os.path.join(root, "kernel")):
        return os.path.realpath(root)
    for parent in ("lib/modules", "usr/lib/modules"):
        folder = os.path.join(root, parent)
        versions = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        if len(versions) == 1:
            return os.path.realpath(os.path.join(folder, versions[0]))
        if versions:
            raise Failure(f"{folder} has modules of several kernels "
                          f"({', '.join(versions)}): name the folder of one")
    raise Failure(f"{root} has no modules (no lib/modules/VERSION, no kernel/): "
                  "make modules_install INSTALL_MOD_PATH=FOLDER creates them")


def index(folder, version):
    """Lets depmod write its files for lib/modules/VERSION below folder."""
    run(["depmod", "-b", folder, version])


def dependencies(folder):
    """modules.dep of a folder: name -> paths of the module and what it needs."""
    found = {}
    with open(os.path.join(folder, "modules.dep"), encoding="utf-8") as file:
        for line in file:
            path, _, needed = line.partition(":")
            found[module_name(path)] = [path] + needed.split()
    return found


def modules(found, wanted=None):
    """The archive of the wanted ones of Modules and what they depend on."""
    with tempfile.TemporaryDirectory(prefix="mana-vm-") as work:
        # depmod reads all modules once, for their dependencies, then those of the
        # guest.
        every = found.link(os.path.join(work, "every"))
        index(os.path.join(work, "every"), found.version)
        graph = dependencies(every)
        paths = {path for name in wanted or MODULES
                 for path in graph.get(name.replace("-", "_"), [])}
        some = os.path.join(work, "some", "lib/modules", found.version)
        os.makedirs(some)
        archive = Archive()
        top = f"usr/lib/modules/{found.version}"
        for path in sorted(paths):
            name = path.partition(".ko")[0] + ".ko"
            data = read_module(found.files[path])
            write(os.path.join(some, name), data)
            archive.data(f"{top}/{name}", data)
        for name in LISTS:
            if name in found.files:
                shutil.copyfile(found.files[name], os.path.join(some, name))
        index(os.path.join(work, "some"), found.version)
        for name in sorted(os.listdir(some)):
            if name.startswith("modules."):
                with open(os.path.join(some, name), "rb") as file:
                    archive.data(f"{top}/{name}", file.read())
    return archive


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


# ---- Debian's kernels, and files ----

@dataclass(frozen=True)
class Debian:
    """A kernel of Debian, of the cloud flavour: small, for virtual machines."""
    release: str
    suite: str          # None: the newest version of the release
    package: str
    model: tuple = ()   # options of mana-model without which it does not run


# mana_ib of Linux 6.12 crashes in mana_gd_register_device() if the adapter does not list
# the RNIC device.
WITH_RNIC = ("--rnic",)
KERNELS = {
    "6.1": Debian("12", None, "linux-image-cloud-{arch}"),
    "6.12": Debian("12", None, "linux-image-6.12-cloud-{arch}", WITH_RNIC),
    "newest": Debian("13", "trixie-backports", "linux-image-cloud-{arch}"),
}


def prepare(name, arch, refresh=False):
    """(image, archive of modules or None) of the kernel that --kernel names."""
    if name in KERNELS:
        return of_debian(KERNELS[name], arch, refresh)
    image, folder = split_files(name, arch)
    return image, of_folder(folder) if folder else None


def model_options(name):
    """Options of mana-model that the kernel needs; one of the user may be of any version."""
    return KERNELS[name].model if name in KERNELS else WITH_RNIC


def of_debian(debian, arch, refresh):
    index = packages.Index(debian.release, arch.name, refresh)
    package = debian.package.format(arch=arch.name)
    everything = index.packages([package], debian.suite)
    # Not what the package needs to be installed, as initramfs-tools.
    found = [entry for entry in everything
             if re.match(r"linux-(image|binary|modules|base)-\d", entry[0])]

    def make(folder):
        with cache.scratch() as root:
            index.unpack(found, root)
            say(f"making the image of kernel modules ({found[-1][1]})")
            images = glob.glob(os.path.join(root, "boot/vmlinu[xz]-*")) + \
                glob.glob(os.path.join(root, "usr/lib/modules/*/vmlinu[xz]"))
            if len(images) != 1:
                raise Failure(f"the packages of {package} have {len(images)} kernels")
            shutil.copyfile(images[0], os.path.join(folder, "kernel"))
            write_archive(modules(Modules.find(root)), os.path.join(folder, "modules.cpio"))

    folder = cache.item("kernel", cache.key(RECIPE, MODULES, found), make)
    return os.path.join(folder, "kernel"), os.path.join(folder, "modules.cpio")


def write_archive(archive, path):
    with open(path, "wb") as file:
        archive.write(file)


def split_files(name, arch):
    """
    (kernel, folder of modules or None) of FILE[+FOLDER], or of a build tree. Names may
    contain "+".
    """
    if os.path.isfile(name):
        return name, None
    if os.path.isfile(os.path.join(name, RELEASE)):
        image = os.path.join(name, arch.kernel_image)
        if not os.path.isfile(image):
            raise Failure(f"the build tree {name} has no {arch.kernel_image}: build it "
                          "with make")
        return image, name
    for at, char in enumerate(name):
        if char == "+" and os.path.isfile(name[:at]) and os.path.isdir(name[at + 1:]):
            return name[:at], name[at + 1:]
    raise Failure(f"no kernel {name!r}: it is neither one of {', '.join(KERNELS)}, nor a "
                  "build tree of Linux, nor FILE or FILE+FOLDER of a kernel and a "
                  "folder with its modules")


def of_folder(folder):
    """The archive of the modules in a folder of the user."""
    found = Modules.find(folder)

    def make(new):
        say(f"making the image of kernel modules ({found.version})")
        write_archive(modules(found), os.path.join(new, "modules.cpio"))

    made = cache.item("kernel", cache.key(RECIPE, MODULES, found.state()), make)
    return os.path.join(made, "modules.cpio")
