#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks whether DPDK can use the ports of a Microsoft Azure Network Adapter (MANA).

Each line of the output is a fact: ok, warn or fail, with its evidence. A line "mend" names the
command that mends it, and a line "CAUTION" says that this command may cut the connection over
which you are logged in. The last lines are the arguments of EAL for the ports that do not carry
that connection. The program changes nothing itself. It opens the RDMA devices for a moment, as
ibv_devinfo does.

With --explain it reads what a DPDK program has printed, and names the causes of its messages,
also of those of EAL that name none. Give the command line, too, which tells more:

  dpdk-testpmd ARGUMENTS 2>&1 | dpdk-mana-doctor --explain - -- dpdk-testpmd ARGUMENTS

Exit status: 0 if no line says fail, 1 if one does, 2 for a wrong argument. With --explain: 0 if
the text has a known cause, 1 if it has none.
"""

import argparse
import ctypes
import errno
import fcntl
import json
import os
import re
import signal
import socket
import struct
import sys
import textwrap
from typing import NamedTuple

OK, WARN, FAIL = "ok", "warn", "fail"
DEVICES = {"0x00ba": "virtual function", "0x00b9": "physical function",
           "0x00c1": "physical function"}
PCI = "/sys/bus/pci/devices"
VMBUS = "/sys/bus/vmbus"
# The class of all network devices of Hyper-V.
NET_UUID = "f8615163-df3e-46c5-913f-f2d2f965ed0e"
CAP_NET_RAW, CAP_IPC_LOCK, CAP_SYS_ADMIN = 13, 14, 21
# Linux proc_ns.h PROC_USER_INIT_INO
INITIAL_USER_NAMESPACE = "user:[4026531837]"
# A program with a few queues and its mempools locks more.
MEMLOCK_BYTES = 256 << 20
# Commands of linux/membarrier.h: the global and the private expedited one, and their
# registrations.
MEMBARRIER_NEEDED = 2 | 4 | 8 | 16
MEMBARRIER_NUMBER = {"x86_64": 324, "aarch64": 283}
MODPROBE = "`modprobe -a mana mana_ib ib_uverbs`"
SIOCGIFADDR = 0x8915
# In the file of this driver, not of DPDK's own; then the version follows.
OURS = rb"driver net_mana of (dpdk-mana .+?) for DPDK"
# PCI device type of the Ethernet function (Linux gdma.h); old kernels report 0.
ETHERNET_PARTS = (0, 2)


class Cause(NamedTuple):
    """
    Why something does not work, and what mends it. {name} stands for a value, and `...` is a
    command.
    """
    id: str
    severity: str
    text: str
    remedy: str
    # The remedy may cut the connection that runs over a netdev that it touches.
    cuts: bool = False
    # The text is (part of) a message of the driver.
    driver: bool = False
    # A pattern of other log lines that have this cause.
    log: str = ""


# The one list of causes: this program's output and its chapter of the guide come from it.
CAUSES = [
    # The function and its kernel driver.
    Cause("no-function", FAIL, "there is no PCI function of the adapter",
          "choose a size of virtual machine with MANA, enable accelerated networking, and see "
          "`lspci -d 1414:`"),
    Cause("no-driver", FAIL, "no kernel driver owns the function, and EAL skips it without a "
          "message", f"{MODPROBE}, or `dpdk-devbind.py -b mana {{pci}}`"),
    Cause("other-driver", FAIL, "the function belongs to the kernel driver {driver} and must "
          "belong to mana", "`modprobe mana` and `dpdk-devbind.py -b mana {pci}`", driver=True),
    # The kernel.
    Cause("kernel-old", FAIL, "Linux {release} has no mana_ib", "install Linux 6.2 or later"),
    Cause("kernel-interrupts", WARN, "Linux {release} has no Rx interrupts",
          "poll, or install Linux 6.8 or later"),
    Cause("kernel-mtu", WARN, "Linux {release} crashes if the MTU or the ring sizes of the netdev "
          "change while a program uses the port",
          "change neither, and see that no rule or service does"),
    Cause("no-module", FAIL, "the module {module} is not loaded", MODPROBE),
    Cause("module-missing", FAIL, "the kernel {release} has no module {module}",
          "install the kernel's further modules, or another kernel (Debian 12: `apt-get install "
          "linux-image-6.12-amd64`, Ubuntu: `apt-get install linux-modules-extra-{release}`)"),
    # The RDMA device and its node.
    Cause("rnic-only", FAIL, "its only RDMA device {device} is the RNIC; mana_ib has not created "
          "the Ethernet device", "see `dmesg`", driver=True),
    Cause("no-rdma", FAIL, "has a netdev but no RDMA device",
          f"{MODPROBE}, kernel 6.2 or later; kernels up to 6.12 also need an adapter with the "
          "RNIC function", driver=True),
    Cause("no-rdma-no-netdev", FAIL, "no RDMA device and no netdev",
          f"{MODPROBE}, and check whether the netdev lives in another network namespace",
          driver=True),
    Cause("no-doorbell-page", FAIL, "cannot use {device} (/dev/infiniband/{node}): {error}",
          "the adapter may have no doorbell page left, close other programs that use it",
          driver=True, log=r"cannot use \S+ \(/dev/infiniband.*no doorbell page left"),
    Cause("node-missing", FAIL, "/dev/infiniband/{node}: {error}",
          "`modprobe ib_uverbs`; start a container with `--device /dev/infiniband/{node}`"),
    Cause("node-permission", FAIL, "cannot use {device} (/dev/infiniband/{node}): {error}",
          "run as root, or give the user the node (`chown`, a udev rule)", driver=True,
          log=r"cannot use \S+ \(/dev/infiniband.*: Permission denied"),
    Cause("node-cgroup", FAIL, "cannot use {device} (/dev/infiniband/{node}): {error}",
          "the device rules of the container (cgroup) forbid it, start it with `--device` and the "
          "node", driver=True,
          log=r"cannot use \S+ \(/dev/infiniband.*: Operation not permitted"),
    # rdma-core.
    Cause("no-libibverbs", FAIL, "there is no libibverbs.so.1",
          "install rdma-core 44 or later (Debian, Ubuntu: `apt-get install libibverbs1 "
          "ibverbs-providers`, RHEL, Azure Linux: `dnf install libibverbs`)"),
    Cause("no-libmana", FAIL, "rdma-core's provider libmana is missing ({file})",
          "install rdma-core 44 or later (Debian, Ubuntu: `apt-get install ibverbs-providers`, "
          "RHEL, Azure Linux: `dnf install libibverbs`)"),
    Cause("rings-256", WARN, "rdma-core {version} makes no ring of more than 256 descriptors",
          "configure at most 256 (testpmd: `--rxd=256 --txd=256`), or install rdma-core 49 or "
          "later"),
    Cause("not-listed", FAIL, "the kernel has an RDMA device, but libibverbs does not list it",
          "check that /dev/infiniband/uverbs* exist here, that rdma-core's provider libmana is "
          "installed (package ibverbs-providers, rdma-core 44 or later), and that the device is "
          "in this network namespace (`rdma system` says `netns shared`)", driver=True),
    # The netdevs.
    Cause("no-netdev", FAIL, "the port has none",
          f"{MODPROBE}, or wait until the kernel has reset the adapter; or it is in another "
          "network namespace", driver=True),
    Cause("netdev-up", FAIL, "netdev {netdev} is up and owns the port",
          "`ip link set dev {netdev} down`", cuts=True, driver=True),
    Cause("port-of-connection", WARN, "netdev {netdev} carries your connection ({why})",
          "leave it to the kernel and use another port; from the serial console: "
          "`ip link set dev {netdev} down`", cuts=True),
    Cause("no-free-port", FAIL, "every port carries your connection, none is left for DPDK",
          "attach another network interface to the virtual machine"),
    # The synthetic device.
    Cause("netvsc-slave", WARN, "netdev {netdev} is a slave of {master} (hv_netvsc): while "
          "{netdev} is down, as DPDK needs it, the host delivers to {master} and this port "
          "receives nothing", "`ip link set dev {master} down`, `ip link set dev {netdev} down`, "
          f"`modprobe uio_hv_generic`, `echo {NET_UUID} > {VMBUS}/drivers/uio_hv_generic/new_id`, "
          f"`echo {{uuid}} > {VMBUS}/drivers/hv_netvsc/unbind`, `echo {{uuid}} > {VMBUS}/drivers/"
          "uio_hv_generic/bind`, and use the port through net_netvsc", cuts=True, driver=True),
    Cause("no-uio-hv-generic", FAIL, "the kernel {release} has no module uio_hv_generic, which "
          "net_netvsc needs", "install the kernel's further modules (Ubuntu: `apt-get install "
          "linux-modules-extra-{release}`)"),
    Cause("netvsc-unbound", WARN, "the synthetic device {uuid} has no kernel driver",
          f"`echo {{uuid}} > {VMBUS}/drivers/uio_hv_generic/bind`, or give it back to the kernel: "
          f"`echo {{uuid}} > {VMBUS}/drivers/hv_netvsc/bind`"),
    Cause("uio-node", FAIL, "/dev/{node} of the synthetic device {uuid}: {error}",
          "run as root, or give the user the node (`chown $USER /dev/{node}`)"),
    Cause("no-netvsc-pmd", FAIL, "DPDK's folder {folder} has no {name}",
          "install DPDK's driver net_netvsc and its bus (Debian: `apt-get install "
          "librte-meta-net librte-meta-bus`)"),
    Cause("vdev-netvsc", WARN, "DPDK's driver net_vdev_netvsc takes interfaces of hv_netvsc by "
          "itself on Hyper-V", "give EAL `--vdev=net_vdev_netvsc,ignore=1`"),
    Cause("netvsc-hugepages", FAIL, "net_netvsc needs huge pages, and none is free",
          "`dpdk-hugepages.py --setup 1G`"),
    Cause("iova-rights", FAIL, "net_netvsc needs physical addresses (IOVA as PA), which the "
          "kernel shows only with CAP_SYS_ADMIN", "run as root"),
    Cause("iova-iommu", WARN, "net_netvsc needs physical addresses, and with an IOMMU EAL chooses "
          "IOVA as VA", "give EAL `--iova-mode=pa`"),
    # Memory.
    Cause("no-hugepages", WARN, "no free huge pages",
          "`dpdk-hugepages.py --setup 1G`, or EAL's `--no-huge -m 1024`",
          log=r"No (free|available) \d+ kB hugepages reported"),
    Cause("no-hugetlbfs", WARN, "huge pages, but no mounted hugetlbfs",
          "`mount -t hugetlbfs none /dev/hugepages`, or EAL's `--in-memory`",
          log=r"hugepages of size \d+ reserved, but no mounted hugetlbfs"),
    Cause("numa", WARN, "no memory on the device's NUMA node {node}, the port uses another "
          "node's, which is slower",
          "use --socket-mem to give each node memory, after `echo 256 > /sys/devices/system/node/"
          "node{node}/hugepages/hugepages-2048kB/nr_hugepages`", driver=True),
    Cause("memlock", FAIL, "RLIMIT_MEMLOCK is {limit} bytes",
          "`ulimit -l unlimited` or give the program CAP_IPC_LOCK", driver=True),
    # Rights.
    Cause("no-net-raw", FAIL, "raw packet queues need CAP_NET_RAW (in the initial user "
          "namespace)", "run as root or `setcap cap_net_raw,cap_ipc_lock+ep <program>`",
          driver=True),
    Cause("membarrier", WARN, "the kernel refuses membarrier(2) (seccomp)",
          "allow membarrier(2) in the filter (Docker: `--security-opt seccomp=FILE`), or stop the "
          "port to change its Rx queues, RSS table or key; it does not recover", driver=True),
    # DPDK and its plug-ins.
    Cause("no-dpdk", WARN, "there is no DPDK of shared libraries",
          "install one (Debian, Ubuntu: `apt-get install dpdk`, RHEL: `dnf install dpdk`), or "
          "name its prefix: `dpdk-mana-doctor --dpdk-prefix DIR`"),
    Cause("several-dpdk", WARN, "several DPDKs are installed ({versions}), and each program loads "
          "the plug-ins of its own", "choose one: `dpdk-mana-doctor --dpdk-prefix DIR`"),
    Cause("no-plugin", FAIL, "EAL loads no net_mana from {folder}",
          "give EAL `-d build/drivers/librte_net_mana.so`, or `ninja -C build install`"),
    Cause("dpdk-own", WARN, "EAL loads DPDK's own net_mana, {file}",
          "for this driver give EAL `-d build/drivers/librte_net_mana.so`"),
    Cause("two-plugins", WARN, "two drivers net_mana are loaded, {first} and {second}: the first "
          "one gets the adapters", "keep one of them: give no -d for the other, or move it out of "
          "EAL's folder of plug-ins (Debian: `dpkg-divert --rename --divert "
          "/var/lib/net-mana/librte_net_mana.so --add {second}`). A program without -d, such as "
          "dpdk-dumpcap, loads the one in that folder", driver=True),
    Cause("plugin-missing", FAIL, "there is no plug-in {file}",
          "build it (`ninja -C build`), and give EAL its path, with `-d`",
          log=r"(?P<file>\S*net_mana\S*): cannot open shared object file"),
    Cause("plugin-abi", FAIL, "{file} is built for another DPDK: it needs librte_eal.so.{needed}, "
          "this DPDK has {abi}", "build the plug-in with the headers of this DPDK (`meson setup "
          "--wipe build && ninja -C build`)",
          log=r"librte_\w+\.so\.(?P<needed>\d+): cannot open shared object|"
              r"version `DPDK_(?P<symbols>\d+)' not found|undefined symbol: rte_"),
    Cause("plugin-folder", FAIL, "directory path {folder} is world-writable and insecure: EAL "
          "loads no plug-in below it", "move the plug-in to another folder",
          log=r"directory path (?P<folder>\S+) is world-writable and insecure"),
    Cause("package-file", WARN, "{file} is this driver, but belongs to the package {package}: its "
          "next update puts DPDK's own driver back", "`mkdir -p /var/lib/net-mana`, `dpkg-divert "
          "--rename --divert /var/lib/net-mana/librte_net_mana.so --add {file}`, and install this "
          "driver again"),
    Cause("fork-support", WARN, "DPDK's driver {name} enables libibverbs' support of fork(), "
          "which without huge pages delays each registration of memory",
          "`dpdk-hugepages.py --setup 1G`"),
    # Rules and services.
    Cause("udev-mtu", WARN, "the udev rule {file} sets the MTU of netdevs",
          "exclude the driver mana in it: Linux 7.2 and 7.3 crash if the MTU changes while a "
          "program uses the port"),
    Cause("service-netdev", WARN, "{service} manages the netdev {netdev} and may take it up",
          "{exclude}, or give net_mana the device argument netdev_down=1"),
    Cause("rule-needs-slave", WARN, "the udev rule {file} keeps services from {netdev} only while "
          "it is a slave, which it is no longer under net_netvsc",
          "add a rule for its MAC address {mac}, or give net_mana the device argument "
          "netdev_down=1"),
    # What only a log tells: EAL.
    Cause("bad-address", FAIL, "EAL cannot parse the address {address}",
          "take it from `lspci -D -d 1414:`",
          log=r"[Uu]nable to parse device '(?P<address>[^']*)'"),
    Cause("wrong-address", FAIL, "this machine has no function {address}, and EAL says nothing "
          "about it", "give EAL `-a {pci}`"),
    Cause("forgotten-plugin", FAIL, "EAL has loaded no net_mana: neither an option -d nor its own "
          "folder names one", "give EAL `-d build/drivers/librte_net_mana.so`"),
    Cause("no-port", FAIL, "EAL has given the driver no function",
          "run `dpdk-mana-doctor`, and compare the address and the kernel driver of the function"),
    # What only a log tells: this driver.
    Cause("no-ib-uverbs", FAIL, "this kernel has no RDMA user access (ib_uverbs)",
          f"{MODPROBE}, kernel 6.2 or later", driver=True),
    Cause("list-permission", FAIL, "no permission; check /dev/infiniband/uverbs*",
          "run as root, or give the user the node (`chown`, a udev rule)", driver=True),
    Cause("port-elsewhere", FAIL, "the port is in use; its netdev {netdev} is in another network "
          "namespace, and owns the port if it is up there",
          "`ip link set dev {netdev} down` there, or another DPDK program has it", driver=True),
    Cause("netdev-elsewhere", FAIL, "it is in another network namespace",
          "run the program there (`ip netns exec <name> <program>`), or move it here: `ip link "
          "set dev <netdev> netns <this one>` there", driver=True),
    Cause("port-in-use", FAIL, "the port of netdev {netdev} is in use",
          "another DPDK program has it, or the netdev is changing its queues, then try again",
          driver=True),
    Cause("ring-memory", FAIL, "out of memory, or its ring cannot be pinned",
          "raise RLIMIT_MEMLOCK (`ulimit -l unlimited`) or give the program CAP_IPC_LOCK",
          driver=True),
    Cause("no-descriptor", FAIL, "no file descriptor left; each Rx interrupt needs several",
          "raise `ulimit -n`", driver=True),
    Cause("cq-id", FAIL, "the kernel refused it; another program that stops its queues may still "
          "have the id of its CQ", "try again", driver=True),
    Cause("device-gone", FAIL, "the device was removed or reset",
          "wait for its return, and see `dmesg`", driver=True),
    Cause("adapter-refused", FAIL, "the adapter refused it; it may have no queue left",
          "use fewer, or smaller ones", driver=True),
    Cause("no-net-admin", FAIL, "no permission, give the program CAP_NET_ADMIN",
          "`setcap cap_net_admin,cap_net_raw,cap_ipc_lock+ep <program>`", driver=True),
    Cause("netdev-not-here", FAIL, "it is not in this program's network namespace",
          "`ip link set dev <netdev> down` there, without netdev_down=1 here", driver=True),
    Cause("netdev-down", FAIL, "netdev_down=1: cannot set netdev {netdev} down: {error}",
          "`ip link set dev {netdev} down` before the probe", driver=True),
    Cause("secondary-memory", FAIL, "no key for {bytes} bytes at {address} of a secondary "
          "process: this process does not have the memory",
          "use DPDK's own memory, or rte_extmem_register() in both", driver=True),
    Cause("register", FAIL, "cannot register {bytes} bytes at {address}: {error}",
          "see `dmesg`", driver=True),
]
BY_ID = {cause.id: cause for cause in CAUSES}


class Values(dict):
    """Values of a text; the name of one that is unknown stands for it."""

    def __missing__(self, name):
        return name.upper()


def pattern_of(cause):
    """Finds a cause in a log: its own pattern, or for a message of the driver its text."""
    if cause.log or not cause.driver:
        return re.compile(cause.log) if cause.log else None
    parts, names = re.split(r"{(\w+)}", cause.text), set()
    for at in range(1, len(parts), 2):
        name = parts[at]
        parts[at] = f"(?P={name})" if name in names else f"(?P<{name}>[^;]+?)"
        names.add(name)
    parts[::2] = [re.escape(part) for part in parts[::2]]
    return re.compile("".join(parts) + (r"(?=;|$)" if parts[-1] == "" else ""))


class Line(NamedTuple):
    """A line of the output."""
    check: str
    status: str
    evidence: str
    cause: str = ""
    remedy: str = ""
    caution: str = ""


# ---- The machine ----

class System:
    """The files of this machine, or of the folder that stands for it."""

    def __init__(self, root="/", live=None):
        self.root = os.path.realpath(root).rstrip("/")
        # What no file says: see look_live().
        self.live = live or {}

    def path(self, path):
        return self.root + path

    def read(self, path):
        """The contents of a file without white space at its end, or ""."""
        try:
            with open(self.path(path), encoding="utf-8", errors="replace") as file:
                return file.read().rstrip()
        except OSError:
            return ""

    def names(self, path):
        """The names in a folder that exist, in order."""
        try:
            return sorted(os.listdir(self.path(path)))
        except OSError:
            return []

    def target(self, path):
        """The last part of a link's target, or ""."""
        try:
            return os.path.basename(os.readlink(self.path(path)))
        except OSError:
            return ""

    def exists(self, path):
        return os.path.exists(self.path(path))

    def open_error(self, path):
        """Opens a device for a moment. Returns 0 or the errno."""
        try:
            os.close(os.open(self.path(path), os.O_RDWR | os.O_CLOEXEC))
        except OSError as error:
            return error.errno
        return 0

    def access_error(self, path):
        """The errno of an open for reading and writing, or 0, without opening."""
        if not self.exists(path):
            return errno.ENOENT
        return 0 if os.access(self.path(path), os.R_OK | os.W_OK) else errno.EACCES

    def file_caps(self, path):
        """The capabilities that setcap has given a program, as a bit mask."""
        try:
            data = os.getxattr(self.path(path), "security.capability")
        except OSError:
            return 0
        flags, permitted = struct.unpack_from("<II", data)
        return permitted if flags & 1 else 0

    def bytes(self, path):
        try:
            with open(self.path(path), "rb") as file:
                return file.read()
        except OSError:
            return b""

    def needed_eal(self, path):
        """The version of EAL's library that a program or plug-in needs, or ""."""
        found = re.search(rb"librte_eal\.so\.(\d+)", self.bytes(path))
        return found.group(1).decode() if found else ""

    def number(self, path, default=0):
        text = self.read(path)
        return int(text) if re.fullmatch(r"-?\d+", text) else default


def look_live():
    """What files of /proc and /sys do not say."""
    parts = look_verbs()
    return {"membarrier": look_membarrier(), "addresses": look_addresses(), "parts": parts or {},
            "listed": parts}


def look_verbs():
    """
    The part id of each MANA device that libibverbs lists, or a negative errno. None without
    libibverbs. The structures are those of <infiniband/verbs.h>.
    """
    try:
        verbs = ctypes.CDLL("libibverbs.so.1", use_errno=True)
    except OSError:
        return None
    pointer, count, parts = ctypes.c_void_p, ctypes.c_int(), {}
    verbs.ibv_get_device_list.restype = ctypes.POINTER(pointer)
    verbs.ibv_get_device_name.restype = ctypes.c_char_p
    verbs.ibv_get_device_name.argtypes = verbs.ibv_open_device.argtypes = [pointer]
    verbs.ibv_open_device.restype = pointer
    verbs.ibv_close_device.argtypes = [pointer]
    verbs.ibv_query_device.argtypes = [pointer, ctypes.c_char_p]
    devices = verbs.ibv_get_device_list(ctypes.byref(count))
    for at in range(count.value if devices else 0):
        name = verbs.ibv_get_device_name(devices[at]).decode()
        if not name.startswith("mana"):
            continue
        context = verbs.ibv_open_device(devices[at])
        parts[name] = -ctypes.get_errno()
        if context:
            attributes = ctypes.create_string_buffer(1024)
            error = verbs.ibv_query_device(context, attributes)
            parts[name] = -error if error else int.from_bytes(attributes.raw[100:104],
                                                              sys.byteorder)
            verbs.ibv_close_device(context)
    if devices:
        verbs.ibv_free_device_list(devices)
    return parts


def look_addresses():
    """The netdev of each IPv4 address, which is written as in /proc/net/tcp."""
    found = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _, netdev in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(sock, SIOCGIFADDR, struct.pack("40s", netdev.encode()))
            except OSError:
                continue
            found[f"{int.from_bytes(answer[20:24], sys.byteorder):08X}"] = netdev
    return found


def look_membarrier():
    """The commands of membarrier(2) as a bit mask, None if unknown, -1 if it is refused."""
    number = MEMBARRIER_NUMBER.get(os.uname().machine)
    return None if number is None else ctypes.CDLL(None).syscall(number, 0, 0, 0)


class Port(NamedTuple):
    """A netdev of a function."""
    netdev: str
    mac: str
    is_up: bool
    master: str
    # The driver of the master.
    master_driver: str


class Function(NamedTuple):
    """A PCI function of the adapter."""
    pci: str
    device: str
    driver: str
    rdma: list
    nodes: list
    ports: list


def find_port(system, netdev):
    folder = f"/sys/class/net/{netdev}"
    master = system.target(f"{folder}/master")
    flags = system.read(f"{folder}/flags")
    return Port(netdev, system.read(f"{folder}/address"),
                bool(flags) and int(flags, 16) & 1 == 1, master,
                system.target(f"/sys/class/net/{master}/device/driver") if master else "")


def find_functions(system):
    """The functions of the adapter."""
    found = []
    for pci in system.names(PCI):
        folder = f"{PCI}/{pci}"
        device = system.read(f"{folder}/device")
        if system.read(f"{folder}/vendor") == "0x1414" and device in DEVICES:
            found.append(Function(
                pci, device, system.target(f"{folder}/driver"),
                system.names(f"{folder}/infiniband"),
                system.names(f"{folder}/infiniband_verbs"),
                [find_port(system, name) for name in system.names(f"{folder}/net")]))
    return found


def find_ssh(system):
    """The netdevs with a connection to this machine's port of ssh."""
    addresses = dict(system.live.get("addresses", {}))
    for line in system.read("/proc/net/if_inet6").splitlines():
        digits, netdev = line.split()[0].upper(), line.split()[-1]
        # /proc/net/tcp6 has four words in the processor's order of bytes.
        words = [bytes.fromhex(digits[at:at + 8]) for at in range(0, 32, 8)]
        addresses["".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)] = netdev
    for name in ("tcp", "tcp6"):
        for line in system.read(f"/proc/net/{name}").splitlines()[1:]:
            address, _, port = line.split()[1].partition(":")
            if port == "0016" and line.split()[3] == "01":     # 22, established
                address = address[24:] if address.startswith(16 * "0" + "FFFF0000") else address
                yield addresses.get(address, "")


def find_connection(system):
    """The netdevs over which the user may be logged in, with the reason."""
    found = {netdev: "ssh" for netdev in find_ssh(system) if netdev not in ("", "lo")}
    for line in system.read("/proc/net/route").splitlines()[1:]:
        words = line.split()
        if len(words) > 1 and words[1] == "00000000":
            found[words[0]] = "default route"
    for line in system.read("/proc/net/ipv6_route").splitlines():
        words = line.split()
        if words and words[0] == 32 * "0" and words[1] == "00" and words[-1] != "lo":
            found[words[-1]] = "default route"
    # A synthetic interface and its slave share the fate of each other.
    for netdev in system.names("/sys/class/net"):
        master = system.target(f"/sys/class/net/{netdev}/master")
        if master in found:
            found[netdev] = f"{master}: {found[master]}"
    return found


# ---- The checks ----

class Dpdk(NamedTuple):
    """An installed DPDK of shared libraries."""
    folder: str         # of its plug-ins
    abi: str            # as in librte_eal.so.23.0


def library_folders(system, prefix=None):
    """The folders of libraries, without links to others."""
    found = {}
    for base in [prefix] if prefix else ["/usr/local", "/usr", ""]:
        for name in [*(f"lib/{name}" for name in system.names(f"{base}/lib")
                       if "-linux-gnu" in name), "lib64", "lib"]:
            real = os.path.realpath(system.path(f"{base}/{name}"))
            if os.path.isdir(real):
                found.setdefault(real, f"{base}/{name}")
    return list(found.values())


def find_dpdks(system, prefix):
    """The installed DPDKs, first the one of dpdk-testpmd."""
    found = [Dpdk(f"{folder}/dpdk/pmds-{name[14:]}", name[14:])
             for folder in library_folders(system, prefix) for name in system.names(folder)
             if re.fullmatch(r"librte_eal\.so\.\d+\.\d+", name)]
    needed = system.needed_eal(f"{prefix or '/usr'}/bin/dpdk-testpmd")
    return sorted(found, key=lambda dpdk: dpdk.abi.split(".")[0] != needed)


class Doctor:
    """Checks a machine, and collects lines."""

    def __init__(self, system, plugin=None, prefix=None, program=None):
        self.system = system
        self.plugin = plugin
        self.dpdks = find_dpdks(system, prefix)
        self.lines = []
        self.check = ""
        self.functions = find_functions(system)
        self.connection = find_connection(system)
        self.release = system.read("/proc/sys/kernel/osrelease")
        self.kernel = tuple(int(part) for part in re.findall(r"\d+", self.release)[:2])
        own = re.search(r"^CapEff:\s*(\w+)", system.read("/proc/self/status"), re.MULTILINE)
        self.caps = (int(own.group(1), 16) if own else 0) | system.file_caps(
            program or f"{prefix or '/usr'}/bin/dpdk-testpmd")

    def run(self):
        for self.check, check in CHECKS:
            check(self)
        return self

    def ok(self, evidence):
        self.lines.append(Line(self.check, OK, evidence))

    def found(self, cause_id, where="", **values):
        """Adds a line with the cause. The remedy may disturb the netdev and its master."""
        cause = BY_ID[cause_id]
        cut = [f"{netdev}: {self.connection[netdev]}"
               for netdev in (values.get("netdev"), values.get("master"))
               if cause.cuts and netdev in self.connection]
        text = cause.text.format_map(Values(values))
        self.lines.append(Line(
            self.check, cause.severity, f"{where}: {text}" if where else text, cause.id,
            cause.remedy.format_map(Values(values)), ", ".join(cut)))

    def has_cap(self, cap):
        """Whether user or program has a capability in the initial user namespace."""
        return (self.caps >> cap & 1 == 1 and
                self.system.target("/proc/self/ns/user") in ("", INITIAL_USER_NAMESPACE))

    def own_functions(self):
        """The functions that the kernel driver mana owns."""
        return [function for function in self.functions if function.driver == "mana"]

    def free_ports(self):
        """Functions with their ports that do not carry the connection."""
        return [(function, port) for function in self.own_functions()
                for port in function.ports if port.netdev not in self.connection]

    # ---- Function and kernel ----

    def check_function(self):
        if not self.functions:
            self.found("no-function")
        for function in self.functions:
            where = f"{function.pci} (1414:{function.device[2:]}, {DEVICES[function.device]})"
            if not function.driver:
                self.found("no-driver", function.pci, pci=function.pci)
            elif function.driver != "mana":
                self.found("other-driver", function.pci, pci=function.pci,
                           driver=function.driver)
            else:
                self.ok(f"{where}, kernel driver mana")

    def check_kernel(self):
        if not self.kernel:
            self.ok("of unknown release")
        # Distributions add mana_ib to older kernels.
        elif self.kernel < (6, 2) and not any(function.rdma for function in self.functions):
            self.found("kernel-old", release=self.release)
        elif self.kernel < (6, 8):
            self.found("kernel-interrupts", release=self.release)
        elif self.kernel in ((7, 2), (7, 3)):
            self.found("kernel-mtu", release=self.release)
        else:
            self.ok(f"Linux {self.release}")

    def check_modules(self):
        if not self.functions:
            return
        if any(function.rdma for function in self.functions):
            self.ok("mana, mana_ib and ib_uverbs work: there is an RDMA device")
            return
        folder = f"/lib/modules/{self.release}"
        files = self.system.read(f"{folder}/modules.dep") + self.system.read(
            f"{folder}/modules.builtin")
        for module in ("mana", "mana_ib", "ib_uverbs"):
            if self.system.exists(f"/sys/module/{module}") or (
                    module == "mana" and self.own_functions()):
                self.ok(f"{module} is loaded")
            elif files and f"/{module}.ko" not in files:
                self.found("module-missing", module=module, release=self.release)
            else:
                self.found("no-module", module=module)

    # ---- RDMA device ----

    def is_ethernet(self, device):
        """Whether an RDMA device has raw queues; only newer kernels name the RNIC apart."""
        part = self.system.live.get("parts", {}).get(device)
        if part is not None and part >= 0:
            return part in ETHERNET_PARTS
        return device.startswith("manae_") or self.kernel < (6, 13)

    def check_rdma(self):
        for function in self.own_functions():
            ethernet = [device for device in function.rdma if self.is_ethernet(device)]
            if ethernet:
                self.ok(f"{function.pci}: {ethernet[0]} is the Ethernet device")
            elif function.rdma:
                self.found("rnic-only", function.pci, device=function.rdma[0])
            else:
                self.found("no-rdma" if function.ports else "no-rdma-no-netdev", function.pci)
            for device, part in self.system.live.get("parts", {}).items():
                if device in function.rdma and -part in (errno.ENOMEM, errno.EPROTO):
                    self.found("no-doorbell-page", function.pci, device=device,
                               node="".join(function.nodes[:1]), error=os.strerror(-part))

    def check_node(self):
        causes = {errno.EACCES: "node-permission", errno.EPERM: "node-cgroup"}
        for function in self.own_functions():
            for node in function.nodes:
                device = self.system.read(f"/sys/class/infiniband_verbs/{node}/ibdev")
                error = self.system.open_error(f"/dev/infiniband/{node}")
                if error == 0:
                    self.ok(f"/dev/infiniband/{node} can be opened")
                else:
                    self.found(causes.get(error, "node-missing"), function.pci, device=device,
                               node=node, error=os.strerror(error))

    # ---- rdma-core ----

    def check_libraries(self):
        folders = library_folders(self.system)
        # The last two numbers of libibverbs.so.1.14.44.0 are rdma-core's version.
        found = {name: re.search(r"\.(\d+)\.\d+$", os.path.realpath(self.system.path(
            f"{folder}/{name}"))) for folder in reversed(folders)
            for name in ("libibverbs.so.1", "libmana.so.1")
            if self.system.exists(f"{folder}/{name}")}
        providers = [name for folder in folders for name in self.system.names(
            f"{folder}/libibverbs") if name.startswith("libmana-rdmav")]
        version = found.get("libmana.so.1")
        if "libibverbs.so.1" not in found:
            self.found("no-libibverbs")
        elif "libmana.so.1" not in found:
            self.found("no-libmana", file="libmana.so.1")
        elif not providers:
            self.found("no-libmana", file="libibverbs/libmana-rdmav*.so")
        elif version and int(version.group(1)) < 49:
            self.found("rings-256", version=version.group(1))
        else:
            self.ok(f"rdma-core {version.group(1) if version else '?'}, {providers[0]}")
        listed = self.system.live.get("listed")
        for function in self.own_functions():
            if listed is not None and function.rdma and not set(function.rdma) & set(listed):
                self.found("not-listed", function.pci)

    # ---- Netdevs ----

    def check_netdev(self):
        for function in self.own_functions():
            if not function.ports and function.rdma:
                self.found("no-netdev", function.pci)
            for port in function.ports:
                where = f"{function.pci} {port.mac}"
                if port.netdev in self.connection:
                    self.found("port-of-connection", where, netdev=port.netdev,
                               why=self.connection[port.netdev])
                elif port.is_up:
                    self.found("netdev-up", where, netdev=port.netdev)
                else:
                    self.ok(f"{where}: netdev {port.netdev} is down")
        if any(function.ports for function in self.own_functions()) and not self.free_ports():
            self.found("no-free-port")

    # ---- The synthetic device ----

    def synthetic(self):
        """Network devices on the VMBus, with their kernel drivers."""
        folder = f"{VMBUS}/devices"
        return {uuid: self.system.target(f"{folder}/{uuid}/driver")
                for uuid in self.system.names(folder)
                if self.system.read(f"{folder}/{uuid}/class_id").strip("{}") == NET_UUID}

    def under_netvsc(self):
        return "uio_hv_generic" in self.synthetic().values()

    def check_netvsc(self):
        slaves = [port for _, port in self.free_ports() if port.master_driver == "hv_netvsc"]
        for port in slaves:
            self.found("netvsc-slave", netdev=port.netdev, master=port.master,
                       uuid=self.system.target(f"/sys/class/net/{port.master}/device"))
        modules = self.system.read(f"/lib/modules/{self.release}/modules.dep")
        if (slaves and modules and "/uio_hv_generic.ko" not in modules and
                not self.system.exists(f"{VMBUS}/drivers/uio_hv_generic")):
            self.found("no-uio-hv-generic", release=self.release)
        for uuid, driver in self.synthetic().items():
            if not driver:
                self.found("netvsc-unbound", uuid=uuid)
            elif driver == "uio_hv_generic":
                self.check_uio(uuid)
            else:
                self.ok(f"{driver} owns the data path of {uuid}")
        if not self.synthetic():
            self.ok("no synthetic device: net_mana owns the data path")

    def check_uio(self, uuid):
        for node in self.system.names(f"{VMBUS}/devices/{uuid}/uio"):
            # The first open would connect the device to the host.
            error = self.system.access_error(f"/dev/{node}")
            if error:
                self.found("uio-node", node=node, uuid=uuid, error=os.strerror(error))
            else:
                self.ok(f"net_netvsc owns the data path of {uuid} (/dev/{node})")
        for name in ("librte_bus_vmbus.so", "librte_net_netvsc.so"):
            for dpdk in self.dpdks[:1]:
                if not self.has_pmd(name):
                    self.found("no-netvsc-pmd", folder=dpdk.folder, name=name)

    def check_iova(self):
        if not self.under_netvsc():
            self.ok("any, without net_netvsc")
            return
        if self.free_pages("/sys/kernel/mm/hugepages") == 0:
            self.found("netvsc-hugepages")
        if not self.has_cap(CAP_SYS_ADMIN):
            self.found("iova-rights")
        elif self.system.names("/sys/kernel/iommu_groups"):
            self.found("iova-iommu")
        else:
            self.ok("physical addresses")

    # ---- Memory ----

    def free_pages(self, folder):
        return sum(self.system.number(f"{folder}/{name}/free_hugepages")
                   for name in self.system.names(folder))

    def check_hugepages(self):
        mounts = [line.split()[1] for line in self.system.read("/proc/mounts").splitlines()
                  if line.split()[2:3] == ["hugetlbfs"]]
        free = self.free_pages("/sys/kernel/mm/hugepages")
        if free == 0:
            self.found("no-hugepages")
        elif not mounts:
            self.found("no-hugetlbfs")
        else:
            self.ok(f"{free} free huge pages, hugetlbfs on {mounts[0]}")

    def check_numa(self):
        folder = "/sys/devices/system/node"
        free = {name[4:]: self.free_pages(f"{folder}/{name}/hugepages")
                for name in self.system.names(folder) if re.fullmatch(r"node\d+", name)}
        for function in self.own_functions():
            node = self.system.read(f"{PCI}/{function.pci}/numa_node")
            if any(free.values()) and free.get(node) == 0:
                self.found("numa", function.pci, node=node)
            else:
                self.ok(f"{function.pci}: NUMA node {node or 'unknown'}")

    def check_memlock(self):
        limit = re.search(r"^Max locked memory +(\d+)", self.system.read("/proc/self/limits"),
                          re.MULTILINE)
        if self.has_cap(CAP_IPC_LOCK):
            self.ok("CAP_IPC_LOCK, so RLIMIT_MEMLOCK does not count")
        elif limit and int(limit.group(1)) < MEMLOCK_BYTES:
            self.found("memlock", limit=limit.group(1))
        else:
            self.ok("RLIMIT_MEMLOCK is " + (f"{limit.group(1)} bytes" if limit else "unlimited"))

    # ---- Rights ----

    def check_capabilities(self):
        if self.has_cap(CAP_NET_RAW):
            self.ok("CAP_NET_RAW in the initial user namespace")
        else:
            self.found("no-net-raw")

    def check_membarrier(self):
        commands = self.system.live.get("membarrier")
        if commands is not None and (commands < 0 or commands & MEMBARRIER_NEEDED !=
                                     MEMBARRIER_NEEDED):
            self.found("membarrier")
        else:
            self.ok("membarrier(2) is " + ("not tried" if commands is None else "allowed"))

    # ---- DPDK ----

    def has_pmd(self, name):
        return any(file.startswith(name) for dpdk in self.dpdks[:1]
                   for file in self.system.names(dpdk.folder))

    def plugins(self):
        """The files of net_mana in the order in which EAL loads them."""
        files = [self.plugin] if self.plugin else []
        for dpdk in self.dpdks[:1]:
            files += [f"{dpdk.folder}/{name}" for name in self.system.names(dpdk.folder)
                      if name.startswith("librte_net_mana.so")]
        # Links lead to one file.
        return list({os.path.realpath(self.system.path(file)): file
                     for file in reversed(files)}.values())[::-1]

    def check_dpdk(self):
        if not self.dpdks:
            self.found("no-dpdk")
        elif len(self.dpdks) > 1:
            self.found("several-dpdk", versions=", ".join(dpdk.abi for dpdk in self.dpdks))
        else:
            self.ok(f"{self.dpdks[0].folder}, ABI {self.dpdks[0].abi}")
        if self.has_pmd("librte_net_vdev_netvsc.so") and "hv_netvsc" in self.synthetic().values():
            self.found("vdev-netvsc")
        others = [name for name in ("net_mlx4", "net_mlx5") if self.has_pmd(f"librte_{name}.so")]
        if others and self.free_pages("/sys/kernel/mm/hugepages") == 0:
            self.found("fork-support", name=others[0])

    def check_plugin(self):
        files = self.plugins()
        if self.plugin and not self.system.exists(self.plugin):
            self.found("plugin-missing", file=self.plugin)
            return
        if not files:
            if self.dpdks:
                self.found("no-plugin", folder=self.dpdks[0].folder)
            return
        ours = re.search(OURS, self.system.bytes(files[0]))
        if len(files) > 1:
            self.found("two-plugins", first=files[0], second=files[1])
        elif not ours:
            self.found("dpdk-own", file=files[0])
        for dpdk in self.dpdks[:1]:
            needed, abi = self.system.needed_eal(files[0]), dpdk.abi.split(".")[0]
            if needed not in ("", abi):
                self.found("plugin-abi", file=files[0], needed=needed, abi=abi)
        self.check_plugin_file(files[0], bool(ours))
        if ours and not any(line.check == self.check for line in self.lines):
            self.ok(f"EAL loads {files[0]} ({ours.group(1).decode()})")

    def check_plugin_file(self, file, is_ours):
        real = os.path.realpath(self.system.path(file))
        folder = os.path.dirname(real)
        while len(folder) > max(len(self.system.root), 1):
            if os.path.isdir(folder) and os.stat(folder).st_mode & 2:
                self.found("plugin-folder", folder=folder)
            folder = os.path.dirname(folder)
        for name in self.system.names("/var/lib/dpkg/info") if is_ours else []:
            if name.startswith("librte-net-mana") and name.endswith(".list") and \
                    real[len(self.system.root):] in self.system.read(
                        f"/var/lib/dpkg/info/{name}").splitlines():
                self.found("package-file", file=file, package=name[:-5].partition(":")[0])

    # ---- Rules and services ----

    def udev_rules(self):
        """The lines of udev's rules with their files; a file hides others of its name."""
        files = {name: f"{folder}/{name}" for folder in
                 ("/usr/lib/udev/rules.d", "/lib/udev/rules.d", "/run/udev/rules.d",
                  "/etc/udev/rules.d") for name in self.system.names(folder)}
        for path in files.values():
            for line in self.system.read(path).replace("\\\n", " ").splitlines():
                if not line.lstrip().startswith("#"):
                    yield path, line

    def managing_service(self, netdev):
        """The service that manages a netdev, and how to exclude it."""
        index = self.system.read(f"/sys/class/net/{netdev}/ifindex")
        udev = self.system.read(f"/run/udev/data/n{index}")
        link = self.system.read(f"/run/systemd/netif/links/{index}")
        if self.system.exists("/run/NetworkManager") and "E:NM_UNMANAGED=1" not in udev:
            return "NetworkManager", f"`nmcli device set {netdev} managed no`"
        if link and "ADMIN_STATE=unmanaged" not in link:
            return "systemd-networkd", (
                "a file in /etc/systemd/network with [Match] Driver=mana and [Link] Unmanaged=yes")
        return "", ""

    def check_services(self):
        rules = list(self.udev_rules())
        for path, line in rules:
            if re.search(r'ATTR\{mtu\}\s*=\s*"|RUN.*\bmtu\b', line) and (
                    "mana" in line or "DRIVERS==" not in line):
                self.found("udev-mtu", file=path)
        fragile = [path for path, line in rules
                   if "mana" in line and "UNMANAGED" in line and "ATTR{flags}==" in line]
        for _, port in self.free_ports():
            service, exclude = self.managing_service(port.netdev)
            if service:
                self.found("service-netdev", service=service, netdev=port.netdev,
                           exclude=exclude)
            elif fragile and port.master:
                self.found("rule-needs-slave", file=fragile[0], netdev=port.netdev, mac=port.mac)
            else:
                self.ok(f"no service manages {port.netdev}")

    # ---- A log ----

    def explain(self, text):
        """Adds a line for each cause in the output of a DPDK program."""
        self.check = "log"
        patterns = {cause.id: pattern_of(cause) for cause in CAUSES}
        for line in text.splitlines():
            for cause_id, pattern in patterns.items():
                match = pattern.search(line) if pattern else None
                if match:
                    if not any(line.cause == cause_id for line in self.lines):
                        self.found(cause_id, **match.groupdict())
                    break
        if re.search("hn_|netvsc", text) and "IOVA mode 'VA'" in text:
            self.found("iova-rights" if "Physical addresses are unavailable" in text else
                       "iova-iommu")
        has_no_port = re.search("[Nn]o (probed )?[Ee]thernet (devices|ports)", text)
        if has_no_port and worst(self.lines) != FAIL:
            self.explain_no_port(text)
        if not self.lines and "Cannot get hugepage information" in text:
            self.found("no-hugepages")
        return self

    def explain_no_port(self, text):
        """EAL prints the same if it has no driver, and if the function is another one."""
        present = [function.pci for function in self.functions]
        given = re.findall(r"(?:-a|--allow)[= ]*((?:\w{4}:)?\w\w:\w\w\.[0-7])", text)
        wrong = [pci for pci in given
                 if (pci if pci.count(":") == 2 else f"0000:{pci}").lower() not in present]
        if not present:
            self.found("no-function")
        elif wrong:
            self.found("wrong-address", address=wrong[0], pci=present[0])
        elif "net_mana" not in text and not self.plugins():
            self.found("forgotten-plugin")
        else:
            self.found("no-port")

    # ---- The result ----

    def arguments(self):
        """EAL's arguments for the free ports alone, and under net_netvsc."""
        macs = {}
        for function, port in self.free_ports():
            macs.setdefault(function.pci, []).append(f"mac={port.mac}")
        causes = {line.cause for line in self.lines}
        words = [f"-d {self.plugin}"] if self.plugin else []
        words += [f"-a {','.join([pci, *chosen])}" for pci, chosen in macs.items()]
        if "vdev-netvsc" in causes:
            words.append("--vdev=net_vdev_netvsc,ignore=1")
        memory = [words for cause, words in (("no-hugepages", "--no-huge -m 1024"),
                                             ("no-hugetlbfs", "--in-memory")) if cause in causes]
        return {"mana": " ".join(words + memory) if macs else "",
                "netvsc": " ".join(words + ["--iova-mode=pa"]) if macs else ""}


CHECKS = [
    ("function", Doctor.check_function),
    ("kernel", Doctor.check_kernel),
    ("modules", Doctor.check_modules),
    ("RDMA device", Doctor.check_rdma),
    ("node", Doctor.check_node),
    ("rdma-core", Doctor.check_libraries),
    ("netdev", Doctor.check_netdev),
    ("netvsc", Doctor.check_netvsc),
    ("IOVA", Doctor.check_iova),
    ("huge pages", Doctor.check_hugepages),
    ("NUMA", Doctor.check_numa),
    ("memlock", Doctor.check_memlock),
    ("capabilities", Doctor.check_capabilities),
    ("membarrier", Doctor.check_membarrier),
    ("DPDK", Doctor.check_dpdk),
    ("plug-in", Doctor.check_plugin),
    ("services", Doctor.check_services),
]


# ---- Output ----

def rst():
    """The chapter of the guide."""
    paragraphs = __doc__.strip().split("\n\n")[1:]
    lines = ["..  SPDX-License-Identifier: BSD-3-Clause",
             "    Generated: usertools/dpdk-mana-doctor.py --rst", "", "dpdk-mana-doctor",
             16 * "=", "", *paragraph(
                 "``dpdk-mana-doctor`` is one file of Python, and needs neither DPDK nor root. "
                 "``--json`` prints the same for programs, ``--plugin`` names the file that EAL "
                 "gets with ``-d``, ``--program`` the one whose capabilities count, "
                 "``--dpdk-prefix`` a DPDK that is not the system's, and ``--root`` a folder with "
                 "the files of another machine.")]
    for text in paragraphs:
        is_command = text.startswith(" ")
        lines += [".. code-block:: console", "", text, ""] if is_command else paragraph(text)
    lines += ["Causes and remedies", 19 * "-", ""]
    for cause in CAUSES:
        text = f"{cause.text}: {cause.remedy}.".format_map(Values()).replace("`", "``")
        lines += [f"``{cause.id}`` ({cause.severity})", *paragraph(text, "   ")]
    return "\n".join(lines[:-1])


def paragraph(text, indent=""):
    return [*textwrap.wrap(text, 90, initial_indent=indent, subsequent_indent=indent,
                           break_long_words=False, break_on_hyphens=False), ""]


def print_lines(lines):
    """The lines for a reader."""
    for line in lines:
        print(f"{line.status:5} {line.check:13} {line.evidence}")
        if line.remedy:
            print(f"{'':19} mend: {line.remedy}")
        if line.caution:
            print(f"{'':19} CAUTION: this may cut your connection ({line.caution})")


def print_arguments(words):
    if words["mana"]:
        print(f"\nEAL arguments for the MANA ports alone:\n  {words['mana']}\n"
              f"EAL arguments for the MANA ports under net_netvsc:\n  {words['netvsc']}")


def print_json(doctor):
    """The same for a program."""
    checks = [dict(line._asdict(), commands=re.findall("`([^`]*)`", line.remedy))
              for line in doctor.lines]
    print(json.dumps({"status": worst(doctor.lines), "checks": checks,
                      "arguments": doctor.arguments()}, indent=2))


def worst(lines):
    statuses = {line.status for line in lines}
    return next((status for status in (FAIL, WARN) if status in statuses), OK)


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--root", metavar="DIR", default="/",
                        help="read /sys, /proc, /dev, /etc and so on below this folder")
    parser.add_argument("--explain", metavar="FILE",
                        help="explain the output of a DPDK program (-: standard input)")
    parser.add_argument("command", nargs="*", help="with --explain: the program's command line")
    parser.add_argument("--rst", action="store_true", help="print the chapter of the guide")
    parser.add_argument("--plugin", metavar="FILE", help="the plug-in that EAL gets with -d")
    parser.add_argument("--dpdk-prefix", metavar="DIR",
                        help="the prefix of a DPDK that is not the system's, such as /opt/dpdk")
    parser.add_argument("--program", metavar="FILE",
                        help="the program whose capabilities count (dpdk-testpmd)")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_arguments(argv)
    if args.rst:
        print(rst())
        return 0
    live = look_live() if args.root == "/" else {}
    doctor = Doctor(System(args.root, live), args.plugin and os.path.abspath(args.plugin),
                    args.dpdk_prefix, args.program)
    if args.explain:
        try:
            with open(0 if args.explain == "-" else args.explain, encoding="utf-8",
                      errors="replace") as file:
                doctor.explain(" ".join(args.command) + "\n" + file.read())
        except OSError as error:
            print(f"dpdk-mana-doctor: {args.explain}: {error.strerror}", file=sys.stderr)
            return 2
    else:
        doctor.run()
    if args.json:
        print_json(doctor)
    else:
        print_lines(doctor.lines)
    if args.explain:
        return 0 if doctor.lines else 1
    if not args.json:
        print_arguments(doctor.arguments())
    return 1 if worst(doctor.lines) == FAIL else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
