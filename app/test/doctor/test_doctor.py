#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-mana-doctor on folders that stand for machines: each cause of its list appears on a
machine that has it, and no other cause does.
"""

import contextlib
import errno
import importlib.util
import io
import json
import os
import re
import shutil
import struct
import tempfile
import unittest

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..")
DOCTOR = os.path.join(TOP, "usertools", "dpdk-mana-doctor.py")
SPEC = importlib.util.spec_from_file_location("doctor", DOCTOR)
doctor = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(doctor)

FUNCTION = "/sys/bus/pci/devices/7870:00:00.0"
NODE = "/sys/devices/system/node"
PAGES = "hugepages/hugepages-2048kB/free_hugepages"
VMBUS = "/sys/bus/vmbus"
UUID = "000d3a00-0002-000d-3a00-0002000d3a00"
LIBS = "/usr/lib/x86_64-linux-gnu"
PMDS = f"{LIBS}/dpdk/pmds-25.0"
OURS = f"{PMDS}/librte_net_mana.so.25.0"
PLUGIN = "ELF librte_eal.so.25 driver net_mana of dpdk-mana 1.0 for DPDK"
FIRST, SECOND = "enP30832s1", "enP30832s1d1"
ROUTES = "Iface\tDestination\tGateway\n{}\t00000000\t0100000A\n"
STATUS = "Name:\tpython3\nCapEff:\t{}\nSeccomp:\t0\n"
ALL_CAPS = "000001ffffffffff"
LIMITS = "Limit  Soft Limit  Hard Limit  Units\nMax locked memory         {0}     {0}   bytes\n"


class Machine:
    """A folder with the files of a healthy virtual machine; a test spoils some of them."""

    def __init__(self, folder):
        self.folder = folder
        self.live = {"membarrier": 0x1ff}
        self.open_error = {}
        self.plugin = None
        self.file_caps = {}
        self.function()
        self.libraries()
        self.write("/proc/net/route", ROUTES.format("eth0"))
        self.write("/proc/self/status", STATUS.format(ALL_CAPS))
        self.write("/proc/self/limits", LIMITS.format("unlimited"))
        self.write("/proc/mounts", "none /dev/hugepages hugetlbfs rw 0 0\n")
        self.write("/proc/sys/kernel/osrelease", "6.12.117-cloud-amd64\n")
        self.write("/sys/kernel/mm/" + PAGES, "512\n")
        for node in "01":
            self.write(f"{NODE}/node{node}/{PAGES}", "256\n")

    def function(self):
        for name, value in {"vendor": "0x1414", "device": "0x00ba", "numa_node": "0"}.items():
            self.write(f"{FUNCTION}/{name}", value + "\n")
        self.link(f"{FUNCTION}/driver", "/sys/bus/pci/drivers/mana")
        self.write(f"{FUNCTION}/infiniband/mana_0/node_type", "1: CA\n")
        self.write(f"{FUNCTION}/infiniband_verbs/uverbs0/dev", "231:192\n")
        self.write("/sys/class/infiniband_verbs/uverbs0/ibdev", "mana_0\n")
        self.write("/dev/infiniband/uverbs0", "")
        for number, netdev in enumerate((FIRST, SECOND)):
            self.write(f"{FUNCTION}/net/{netdev}/dev_port", f"{number}\n")
            self.write(f"/sys/class/net/{netdev}/address", f"00:0d:3a:00:00:0{number + 1}\n")
            self.write(f"/sys/class/net/{netdev}/flags", "0x1002\n")

    def libraries(self):
        """rdma-core 56, and DPDK 24.11 with this driver."""
        for name, version in {"libibverbs": "1.14.56.0", "libmana": "1.0.56.0"}.items():
            self.write(f"{LIBS}/{name}.so.{version}", "")
            self.link(f"{LIBS}/{name}.so.1", f"{name}.so.{version}")
        self.link(f"{LIBS}/libibverbs/libmana-rdmav34.so", "../libmana.so.1.0.56.0")
        self.write(f"{LIBS}/librte_eal.so.25.0", "")
        self.write("/usr/bin/dpdk-testpmd", "ELF librte_eal.so.25 ")
        self.write(OURS, PLUGIN)
        self.link(f"{PMDS}/librte_net_mana.so", "librte_net_mana.so.25.0")

    def synthetic(self, driver):
        """The synthetic device of the second port has a driver."""
        self.write(f"{VMBUS}/devices/{UUID}/class_id", "{" + doctor.NET_UUID + "}\n")
        self.write(f"{VMBUS}/devices/{UUID}/device_id", "{" + UUID + "}\n")
        if driver:
            self.link(f"{VMBUS}/devices/{UUID}/driver", f"../../drivers/{driver}")

    def slave(self):
        """The second port is a slave of eth1."""
        self.synthetic("hv_netvsc")
        self.link(f"/sys/class/net/{SECOND}/master", "../eth1")
        self.link("/sys/class/net/eth1/device", f"../../../bus/vmbus/devices/{UUID}")

    def netvsc(self):
        """The synthetic device is DPDK's."""
        self.synthetic("uio_hv_generic")
        self.write(f"{VMBUS}/devices/{UUID}/uio/uio0/name", UUID)
        self.write("/dev/uio0", "")
        for name in ("bus_vmbus", "net_netvsc"):
            self.write(f"{PMDS}/librte_{name}.so.25.0", "")

    def modules(self, *names):
        self.write("/lib/modules/6.12.117-cloud-amd64/modules.dep",
                   "".join(f"kernel/drivers/{name}.ko.xz:\n" for name in names))

    def path(self, path):
        return self.folder + path

    def write(self, path, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(path), mode)

    def link(self, path, target):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        self.remove(path)
        os.symlink(target, self.path(path))

    def remove(self, path):
        if os.path.isdir(self.path(path)) and not os.path.islink(self.path(path)):
            shutil.rmtree(self.path(path))
        elif os.path.lexists(self.path(path)):
            os.unlink(self.path(path))

    def up(self, netdev):
        self.write(f"/sys/class/net/{netdev}/flags", "0x1003\n")

    def release(self, release):
        self.write("/proc/sys/kernel/osrelease", release + "\n")

    def no_rdma(self, keep_net=True):
        """mana_ib has created nothing."""
        for name in ("infiniband", "infiniband_verbs") + (() if keep_net else ("net",)):
            self.remove(f"{FUNCTION}/{name}")
        for module in ("mana", "mana_ib", "ib_uverbs"):
            self.write(f"/sys/module/{module}/initstate", "live\n")

    def rnic(self):
        """Of Linux 7.1, only the RNIC exists."""
        self.release("7.1.0")
        self.live["parts"] = {"mana_0": 3}

    def without_module(self, known):
        self.no_rdma()
        self.remove("/sys/module/mana_ib")
        self.modules("net/ethernet/microsoft/mana/mana",
                     *(["infiniband/hw/mana/mana_ib"] if known else []))

    def route(self, *netdevs):
        self.write("/proc/net/route", "".join(ROUTES.format(netdev) for netdev in netdevs))

    def give(self, path, text):
        """The doctor gets a plug-in."""
        self.write(path, text)
        self.plugin = path

    def managed(self, name, udev):
        """systemd-networkd or NetworkManager runs."""
        self.write(f"/sys/class/net/{SECOND}/ifindex", "4\n")
        self.write("/run/udev/data/n4", udev)
        self.write(f"/run/{name}", "ADMIN_STATE=configured\n")

    def rule(self, text, name="/usr/lib/udev/rules.d/10-azure.rules"):
        self.write(name, text + "\n")

    def doctor(self, plugin=None, prefix=None):
        """The doctor after its visit."""
        system = doctor.System(self.folder, self.live)
        opened = system.open_error
        system.open_error = lambda path: self.open_error.get(path) or opened(path)
        system.file_caps = lambda path: self.file_caps.get(path, 0)
        return doctor.Doctor(system, plugin or self.plugin, prefix).run()


UNMANAGED = ('SUBSYSTEM=="net", DRIVERS=="mana|mlx5_core", ATTR{flags}=="0x?[89ABCDEF]??", \\\n'
             'ENV{NM_UNMANAGED}="1"')

# A machine with each cause, and the causes that come with it.
MACHINES = {
    "no-function": lambda m: m.remove(FUNCTION),
    "no-driver": lambda m: m.remove(f"{FUNCTION}/driver"),
    "other-driver": lambda m: m.link(f"{FUNCTION}/driver", "/sys/bus/pci/drivers/vfio-pci"),
    "kernel-old": lambda m: (m.no_rdma(), m.release("6.1.0-42-amd64")),
    "kernel-interrupts": lambda m: m.release("6.6.9"),
    "kernel-mtu": lambda m: (m.release("7.3.4"), m.live.update(parts={"mana_0": 2})),
    "no-module": lambda m: m.without_module(True),
    "module-missing": lambda m: m.without_module(False),
    "rnic-only": Machine.rnic,
    "no-rdma": Machine.no_rdma,
    "no-rdma-no-netdev": lambda m: m.no_rdma(keep_net=False),
    "no-doorbell-page": lambda m: m.live.update(parts={"mana_0": -errno.EPROTO}),
    "node-missing": lambda m: m.remove("/dev/infiniband/uverbs0"),
    "node-permission": lambda m: m.open_error.update({"/dev/infiniband/uverbs0": errno.EACCES}),
    "node-cgroup": lambda m: m.open_error.update({"/dev/infiniband/uverbs0": errno.EPERM}),
    "no-netdev": lambda m: m.remove(f"{FUNCTION}/net"),
    "netdev-up": lambda m: m.up(SECOND),
    "port-of-connection": lambda m: m.route(FIRST),
    "no-free-port": lambda m: m.route(FIRST, SECOND),
    "no-hugepages": lambda m: m.write("/sys/kernel/mm/" + PAGES, "0\n"),
    "no-hugetlbfs": lambda m: m.write("/proc/mounts", "proc /proc proc rw 0 0\n"),
    "numa": lambda m: m.write(f"{NODE}/node0/{PAGES}", "0\n"),
    "memlock": lambda m: (m.write("/proc/self/status", STATUS.format("0000000000002000")),
                          m.write("/proc/self/limits", LIMITS.format("8388608"))),
    "no-net-raw": lambda m: m.write("/proc/self/status", STATUS.format("0000000000004000")),
    "membarrier": lambda m: m.live.update(membarrier=-1),
    "no-libibverbs": lambda m: m.remove(f"{LIBS}/libibverbs.so.1"),
    "no-libmana": lambda m: m.remove(f"{LIBS}/libibverbs"),
    "rings-256": lambda m: (m.write(f"{LIBS}/libmana.so.1.0.44.0", ""),
                            m.link(f"{LIBS}/libmana.so.1", "libmana.so.1.0.44.0")),
    "not-listed": lambda m: m.live.update(listed={}),
    "netvsc-slave": Machine.slave,
    "no-uio-hv-generic": lambda m: (m.slave(), m.modules("hv/hv_vmbus")),
    "netvsc-unbound": lambda m: m.synthetic(None),
    "uio-node": lambda m: (m.netvsc(), m.remove("/dev/uio0")),
    "no-netvsc-pmd": lambda m: (m.netvsc(), m.remove(f"{PMDS}/librte_bus_vmbus.so.25.0")),
    "vdev-netvsc": lambda m: (m.synthetic("hv_netvsc"),
                              m.write(f"{PMDS}/librte_net_vdev_netvsc.so.25.0", "")),
    "netvsc-hugepages": lambda m: (m.netvsc(), m.write("/sys/kernel/mm/" + PAGES, "0\n")),
    "iova-rights": lambda m: (m.netvsc(),
                              m.write("/proc/self/status", STATUS.format("0000000000006000"))),
    "iova-iommu": lambda m: (m.netvsc(), m.write("/sys/kernel/iommu_groups/0/type", "DMA\n")),
    "no-dpdk": lambda m: m.remove(f"{LIBS}/librte_eal.so.25.0"),
    "several-dpdk": lambda m: m.write("/usr/local/lib/librte_eal.so.23.0", ""),
    "no-plugin": lambda m: m.remove(PMDS),
    "plugin-missing": lambda m: setattr(m, "plugin", "/opt/librte_net_mana.so"),
    "dpdk-own": lambda m: m.write(OURS, "ELF librte_eal.so.25 mac=<mac_addr>"),
    "two-plugins": lambda m: m.give("/opt/librte_net_mana.so", PLUGIN),
    "plugin-abi": lambda m: (m.remove(PMDS),
                             m.give("/opt/librte_net_mana.so", "ELF librte_eal.so.23")),
    "plugin-folder": lambda m: (m.remove(PMDS), os.chmod(m.path("/usr"), 0o777),
                                m.give("/usr/lib/mana.so", PLUGIN)),
    "package-file": lambda m: m.write("/var/lib/dpkg/info/librte-net-mana25:amd64.list",
                                      f"/.\n{OURS}\n"),
    "fork-support": lambda m: (m.write(f"{PMDS}/librte_net_mlx5.so.25.0", ""),
                               m.write("/sys/kernel/mm/" + PAGES, "0\n")),
    "udev-mtu": lambda m: m.rule('SUBSYSTEM=="net", DRIVERS=="mana", ATTR{mtu}="9000"'),
    "service-netdev": lambda m: m.managed("systemd/netif/links/4", "E:ID_BUS=pci\n"),
    "rule-needs-slave": lambda m: (m.slave(), m.rule(UNMANAGED)),
}
TOGETHER = {
    "kernel-old": {"no-rdma"},
    "no-module": {"no-rdma"},
    "module-missing": {"no-rdma"},
    "no-free-port": {"port-of-connection"},
    "no-uio-hv-generic": {"netvsc-slave"},
    "netvsc-hugepages": {"no-hugepages"},
    "fork-support": {"no-hugepages"},
    "plugin-abi": {"dpdk-own"},
    "rule-needs-slave": {"netvsc-slave"},
}


NO_PORT = "testpmd: No probed ethernet devices"
PREFIX = "MANA: 7870:00:00.0_p1: "
OBJECT = PREFIX + "Rx queue 3: "
# Output of a DPDK program with each cause that only a log tells, or that it tells, too.
LOGS = {
    "plugin-missing": "EAL: /x/librte_net_mana.so.23: cannot open shared object file: No such",
    "bad-address": "EAL: failed to parse device \"7870\"\nEAL: Unable to parse device '7870'",
    "wrong-address": f"dpdk-testpmd -d librte_net_mana.so -a 7870:00:00.1\n{NO_PORT}",
    "forgotten-plugin": f"dpdk-testpmd -a 7870:00:00.0\n{NO_PORT}",
    "no-port": f"dpdk-testpmd -d librte_net_mana.so -a 7870:00:00.0\n{NO_PORT}",
    "plugin-abi": "EAL: librte_eal.so.23: cannot open shared object file: No such file",
    "plugin-folder": "EAL: Error, directory path /tmp is world-writable and insecure",
    "no-hugepages": "EAL: FATAL: Cannot get hugepage information.",
    "no-hugetlbfs": "EAL: 384 hugepages of size 2097152 reserved, but no mounted hugetlbfs found "
                    "for that size\nEAL: FATAL: Cannot get hugepage information.",
    "iova-rights": "EAL: Physical addresses are unavailable, selecting IOVA as VA mode.\n"
                   "EAL: Selected IOVA mode 'VA'\nhn_rndis_query(): exec RNDIS failed",
    "iova-iommu": "EAL: Selected IOVA mode 'VA'\nhn_rndis_query(): exec RNDIS failed",
    "netdev-up": OBJECT + "netdev eth1 is up and owns the port; `ip link set dev eth1 down`",
    "netvsc-slave": PREFIX + "netdev eth1 is a slave of eth0 (hv_netvsc): while eth1 is down, as "
                    "DPDK needs it, the host delivers to eth0 and this port receives nothing; b",
    "two-plugins": "MANA: two drivers net_mana are loaded, /a.so and /b.so: the first one gets "
                   "the adapters. Keep one of them",
    "node-permission": PREFIX + "cannot use mana_0 (/dev/infiniband/uverbs0): Permission denied; "
                       "run as root",
}


def driver_messages(file="ctrl/mana_diag.c"):
    """The strings of a file of the driver, with {} for each value."""
    with open(os.path.join(TOP, "drivers/net/mana", file), encoding="utf-8") as source:
        code = re.sub(r'^#include.*', "", source.read(), flags=re.MULTILINE)
    for name, value in re.findall(r'#define (\w+) "(.*)"', code):
        code = re.sub(rf'"\s*\b{name}\b\s*"', value, code)
    code = re.sub(r'"\s*"', "", re.sub(r'"\s*PRI\w+\s*"', "lu", code))
    code = re.sub(r"(0x)?%[-#0-9.]*(z|l|h)*[a-zA-Z]", "{}", code)
    return [text.replace(r'\"', '"') for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code)]


class Case(unittest.TestCase):
    """A test with a machine."""

    def setUp(self):
        # A machine has many files.
        self.base = tempfile.mkdtemp(prefix="doctor-test-",
                                     dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.addCleanup(shutil.rmtree, self.base)
        self.machine = self.new_machine()

    def new_machine(self):
        return Machine(tempfile.mkdtemp(dir=self.base))

    @staticmethod
    def named_in(message):
        """The cause of a log that has a message of the driver."""
        system = doctor.System("/nowhere")
        lines = doctor.Doctor(system).explain("MANA: p1: " + message.replace("{}", "4")).lines
        return {line.cause for line in lines}

    def run_doctor(self, *words):
        """Runs the program on the machine; returns its exit status and output."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = doctor.main(["--root", self.machine.folder, *words])
        return status, output.getvalue()


class Checks(Case):
    """Causes that the checks find."""

    def test_healthy(self):
        lines = self.machine.doctor().lines
        self.assertEqual({line.status for line in lines}, {doctor.OK}, lines)
        self.assertEqual({line.check for line in lines}, {name for name, _ in doctor.CHECKS})

    def test_each_cause(self):
        for name, spoil in MACHINES.items():
            with self.subTest(cause=name):
                machine = self.new_machine()
                spoil(machine)
                lines = [line for line in machine.doctor().lines if line.cause]
                self.assertEqual({line.cause for line in lines},
                                 {name} | TOGETHER.get(name, set()))
                for line in lines:
                    self.assertEqual(line.status, doctor.BY_ID[line.cause].severity)
                    self.assertNotRegex(line.evidence + line.remedy, r"[{}]")

    def test_all_causes(self):
        named = {cause for message in driver_messages() for cause in self.named_in(message)}
        self.assertEqual(sorted(MACHINES.keys() | LOGS.keys() | named), sorted(doctor.BY_ID))

    def test_ids(self):
        self.assertEqual(len(doctor.BY_ID), len(doctor.CAUSES))

    def test_rnic_by_name(self):
        """Without an answer of the device, names tell the RNIC of newer kernels."""
        self.machine.release("7.1.0")
        self.assertIn("rnic-only", {line.cause for line in self.machine.doctor().lines})
        self.machine.write(f"{FUNCTION}/infiniband/manae_0/node_type", "1: CA\n")
        self.assertNotIn("rnic-only", {line.cause for line in self.machine.doctor().lines})

    def test_caution(self):
        """A command is marked if it may cut the connection."""
        self.machine.up(SECOND)
        self.machine.route(FIRST)
        cautions = {line.cause: line.caution for line in self.machine.doctor().lines if line.cause}
        self.assertEqual(cautions, {"netdev-up": "",
                                    "port-of-connection": f"{FIRST}: default route"})
        _, output = self.run_doctor()
        self.assertEqual(output.count("CAUTION: this may cut your connection"), 1)

    def test_connection(self):
        """A slave of the interface with the route, a route of IPv6, and ssh."""
        self.machine.link(f"/sys/class/net/{FIRST}/master", "../eth0")
        found = doctor.find_connection(doctor.System(self.machine.folder))
        self.assertEqual(found, {"eth0": "default route", FIRST: "eth0: default route"})
        self.machine.route()
        zero = "0" * 32
        self.machine.write("/proc/net/ipv6_route", "".join(
            f"{zero} 00 {zero} 00 {zero} 1 1 0 0 {netdev}\n" for netdev in (SECOND, "lo")))
        found = doctor.find_connection(doctor.System(self.machine.folder))
        self.assertEqual(found, {SECOND: "default route"})

    def test_ssh(self):
        """Connections to port 22 over IPv4, IPv4 in IPv6, and IPv6; others do not count."""
        self.machine.route()
        row = " {}: {}:{} 00000000:C000 {} 0 0\n"
        self.machine.write("/proc/net/tcp", "sl\n" + row.format(0, "0400000A", "0016", "01") +
                           row.format(1, "0500000A", "0016", "0A") +
                           row.format(2, "0600000A", "0050", "01"))
        mapped = "0000000000000000FFFF0000"
        self.machine.write("/proc/net/tcp6", "sl\n" +
                           row.format(0, mapped + "0700000A", "0016", "01") +
                           row.format(1, "000080FE000000000D3A00020100FEFF", "0016", "01"))
        self.machine.write("/proc/net/if_inet6",
                           "fe80000000000000" + "02003a0dfffe0001" + " 05 40 20 80 eth6\n")
        live = {"addresses": {f"0{at}00000A": f"eth{at}" for at in (4, 5, 6, 7)}}
        found = doctor.find_connection(doctor.System(self.machine.folder, live))
        self.assertEqual(found, {"eth4": "ssh", "eth7": "ssh", "eth6": "ssh"})

    def test_netvsc(self):
        """The way to bind the synthetic device, and a machine where it is bound."""
        self.machine.slave()
        slave, = (line for line in self.machine.doctor().lines if line.cause)
        self.assertIn(f"`echo {UUID} > {VMBUS}/drivers/hv_netvsc/unbind`", slave.remedy)
        self.machine.remove(f"/sys/class/net/{SECOND}/master")
        self.machine.remove(f"{VMBUS}/devices/{UUID}/driver")
        self.machine.netvsc()
        lines = self.machine.doctor().lines
        self.assertEqual({line.status for line in lines}, {doctor.OK}, lines)
        self.assertIn(f"net_netvsc owns the data path of {UUID} (/dev/uio0)",
                      [line.evidence for line in lines])

    def test_plugin(self):
        """-d comes first; a DPDK elsewhere has its own folder and libraries."""
        self.machine.give("/opt/librte_net_mana.so", PLUGIN)
        found, = (line for line in self.machine.doctor().lines if line.cause)
        self.assertIn(f"/opt/librte_net_mana.so and {PMDS}/librte_net_mana.so", found.evidence)
        self.machine.write("/opt/dpdk/lib64/librte_eal.so.23.0", "")
        visit = self.machine.doctor(prefix="/opt/dpdk")
        self.assertEqual([dpdk.folder for dpdk in visit.dpdks], ["/opt/dpdk/lib64/dpdk/pmds-23.0"])
        self.assertEqual({line.cause for line in visit.lines} - {""}, {"plugin-abi"})

    def test_empty_machine(self):
        """Nothing can be read: no check ends the visit."""
        shutil.rmtree(self.machine.folder)
        self.machine.live.clear()
        causes = {line.cause for line in self.machine.doctor().lines}
        self.assertEqual(causes, {"", "no-function", "no-libibverbs", "no-hugepages",
                                  "no-net-raw", "no-dpdk"})

    def test_file_capabilities(self):
        """The program has what an ordinary user lacks; setcap writes what is read."""
        self.machine.write("/proc/self/status", STATUS.format("0"))
        self.machine.write("/proc/self/limits", LIMITS.format("8388608"))
        self.machine.file_caps["/usr/bin/dpdk-testpmd"] = 1 << 13 | 1 << 14
        lines = self.machine.doctor().lines
        self.assertEqual({line.status for line in lines}, {doctor.OK}, lines)
        path = self.machine.path("/program")
        self.machine.write("/program", "")
        self.assertEqual(doctor.System().file_caps(path), 0)
        if os.geteuid() == 0:       # cap_net_raw,cap_ipc_lock+ep: linux/capability.h
            for flags, caps in ((1, 0x6000), (0, 0)):
                os.setxattr(path, "security.capability",
                            struct.pack("<5I", 0x02000000 | flags, 0x6000, 0, 0, 0))
                self.assertEqual(doctor.System().file_caps(path), caps)

    def test_opens_no_uio(self):
        """The open of a uio node would connect it to the host."""
        self.machine.netvsc()
        self.machine.open_error["/dev/uio0"] = errno.EIO
        self.assertNotIn("uio-node", {line.cause for line in self.machine.doctor().lines})

    def test_services(self):
        """Netdevs that the services leave alone, and a rule that another one hides."""
        for name, udev in (("NetworkManager/devices", "E:NM_UNMANAGED=1\n"),
                           ("systemd/netif/links/4", "")):
            self.machine.managed(name, udev)
        causes = [line.cause for line in self.machine.doctor().lines]
        self.assertEqual(causes.count("service-netdev"), 2)     # both, each netdev
        for name in ("n", "n4"):      # the first port has no number here
            self.machine.write(f"/run/udev/data/{name}", "E:NM_UNMANAGED=1\n")
        self.machine.write("/run/systemd/netif/links/4", "ADMIN_STATE=unmanaged\n")
        self.machine.rule('SUBSYSTEM=="net", ATTR{mtu}="9000"')
        self.machine.rule("# nothing", "/etc/udev/rules.d/10-azure.rules")
        lines = self.machine.doctor().lines
        self.assertEqual({line.status for line in lines}, {doctor.OK}, lines)


class Logs(Case):
    """Causes of what a program has printed."""

    def explain(self, text, *words):
        path = self.machine.path("/log")
        self.machine.write("/log", text)
        return self.run_doctor("--explain", path, *words)

    def test_each_cause(self):
        for name, text in LOGS.items():
            with self.subTest(cause=name):
                self.machine.remove(PMDS)
                status, output = self.explain(text, "--json")
                found = json.loads(output)["checks"]
                self.assertEqual(([check["cause"] for check in found], status), ([name], 0))
                self.assertNotRegex(found[0]["evidence"], "[{}]")

    def test_values(self):
        """A remedy has the values of the message, or their names."""
        _, output = self.explain(LOGS["netdev-up"])
        self.assertIn("`ip link set dev eth1 down`", output)
        self.machine.route("eth1")
        _, output = self.explain(LOGS["netdev-up"])
        self.assertIn("CAUTION: this may cut your connection (eth1: default route)", output)
        _, output = self.explain("MANA: Rx queue 0: the port of netdev eth1 is in use; another")
        self.assertNotIn("CAUTION", output)
        _, output = self.explain(LOGS["plugin-abi"])
        self.assertIn("FILE is built for another DPDK: it needs librte_eal.so.23", output)
        _, output = self.explain(f"{LOGS['two-plugins']}\n{NO_PORT}", "--", "dpdk-testpmd",
                                 "--allow=7870:00:00.1")
        self.assertIn("no function 7870:00:00.1", output)

    def test_no_cause(self):
        for text in ("", "EAL: Detected CPU lcores: 2\nDone\n",
                     f"{NO_PORT}\nMANA: 7870:00:00.0: unknown device argument"):
            self.assertEqual(self.explain(text)[0], 0 if NO_PORT in text else 1, text)

    def test_words_of_the_driver(self):
        """Causes that the driver reports have its words, and its commands as remedies."""
        folder = os.path.join(TOP, "drivers/net/mana")
        every = [message for at, _, names in os.walk(folder) for name in names
                 if name.endswith(".c") for message in driver_messages(os.path.join(at, name))]
        for cause in doctor.CAUSES:
            if not cause.driver:
                continue
            with self.subTest(cause=cause.id):
                text = re.sub(r"{\w+}", "{}", cause.text)
                having = [message for message in every if text in message]
                self.assertTrue(having, text)
                remedy = re.sub(r"{\w+}|<netdev>", "{}", cause.remedy)
                if "infiniband/{}" not in text:     # a part of the message follows
                    for command in re.findall("`[^`]+`", " ".join(having)):
                        self.assertIn(command.replace("<netdev>", "{}"), remedy)

    def test_all_messages_of_the_driver(self):
        """Each message of mana_diag.c has a cause; remedies that follow are in the list."""
        # The reason follows, or both have a command of their own.
        parts = ("{} port {}: cannot find its netdev: {}", "there, without netdev_down=1 here",
                 "cannot use {} (/dev/infiniband/{}): {}{}")
        remedies = [cause.remedy for cause in doctor.CAUSES]
        messages = [message for message in driver_messages() if message.count(" ") > 4]
        self.assertGreater(len(messages), 20)
        for message in messages:
            self.assertTrue(message in parts or message.strip("; ") in remedies or
                            self.named_in(message), message)


class Output(Case):
    """The program's output and exit status."""

    def test_status(self):
        self.assertEqual(self.run_doctor()[0], 0)
        self.machine.remove("/proc/mounts")
        self.assertEqual(self.run_doctor()[0], 0)       # a warning
        self.machine.up(FIRST)
        self.assertEqual(self.run_doctor()[0], 1)
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(self.run_doctor("--explain", "/nowhere")[0], 2)
            with self.assertRaises(SystemExit) as ended:
                self.run_doctor("--no-such-option")
        self.assertEqual(ended.exception.code, 2)

    def test_json(self):
        self.machine.up(FIRST)
        status, output = self.run_doctor("--json")
        data = json.loads(output)
        self.assertEqual((status, data["status"]), (1, "fail"))
        found, = (check for check in data["checks"] if check["status"] != "ok")
        self.assertEqual((found["cause"], found["commands"]),
                         ("netdev-up", [f"ip link set dev {FIRST} down"]))

    def test_guide(self):
        """The chapter of the guide is what --rst prints."""
        with open(os.path.join(TOP, "doc/guides/nics/mana-doctor.rst"), encoding="utf-8") as file:
            self.assertEqual(file.read(), self.run_doctor("--rst")[1])

    def test_arguments(self):
        """The free ports, without huge pages."""
        self.machine.route(FIRST)
        self.machine.write("/sys/kernel/mm/" + PAGES, "0\n")
        _, output = self.run_doctor("--json")
        self.assertEqual(json.loads(output)["arguments"]["mana"],
                         "-a 7870:00:00.0,mac=00:0d:3a:00:00:02 --no-huge -m 1024")


if __name__ == "__main__":
    unittest.main()
