# SPDX-License-Identifier: BSD-3-Clause
"""Open vSwitch on a modelled machine, and two hosts behind its ports' TAP interfaces.

The script runs the processes of Open vSwitch in its own folder, without the system's
services and files. The interfaces are in namespaces that end with the script.
"""

import contextlib
import os
import re
import subprocess
import tempfile

import machine
from application import Application
from harness import check, check_equal, check_queues, check_report
from model import PLUGIN, Console, ending, mac, pci, timeout_factor
from testpmd import Testpmd, memory_arguments

VSWITCHD = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
DATAPATH = "netdev@ovs-netdev"
BRIDGE = "br0"
# the maximum of Debian 12's rdma-core
DESCRIPTORS = 256


class Host:
    """A network namespace with the TAP interface of a port."""

    def __init__(self, number):
        self.tap = f"mtap{number}"
        self.address = f"192.0.2.{number + 1}"
        self.holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo && exec sleep infinity"],
            stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        subprocess.run(["ip", "link", "set", self.tap, "netns", str(self.holder.pid)],
                       check=True)
        # interfaces send nothing on their own
        self.run("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6;"
                 f"echo 1 > /proc/sys/net/ipv6/conf/{self.tap}/disable_ipv6")
        self.run("ip", "address", "add", f"{self.address}/24", "dev", self.tap)
        self.run("ip", "link", "set", self.tap, "up")

    def run(self, *words):
        return subprocess.run(["nsenter", "-t", str(self.holder.pid), "-n", *words],
                              check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True).stdout

    def ping(self, other, count, *options):
        """Pings another host, see ping_address."""
        self.ping_address(other.address, count, *options)

    def ping_address(self, address, count, *options):
        """Checks that each ping has exactly one reply, until there are count replies."""
        # Replies that come at once after a wait for a processor must fit into ping's
        # socket, or it loses them: -A limits their number, -S makes its buffers larger.
        # Without -w, ping waits for the last replies only twice as long as for others.
        output = self.run("ping", "-n", "-A", "-S", str(1 << 22), "-c", str(count),
                        "-i", "0.002", "-w", "60", *options, address)
        replies = sorted(int(n) for n in re.findall(r"icmp_seq=(\d+) ttl", output))
        check(len(replies) >= count, f"{len(replies)} replies, expected {count}")
        check_equal("replies", replies, list(range(1, len(replies) + 1)))
        check("errors" not in output, f"ping: {output}")

    def start_flood(self, other):
        """Pings continuously until it is killed."""
        return subprocess.Popen(
            ["nsenter", "-t", str(self.holder.pid), "-n", "ping", "-n", "-q", "-f",
             other.address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start_sink(self, port):
        """Receives the data of one TCP connection and prints its digest."""
        program = ("import hashlib, socket\n"
                   f"server = socket.create_server(('', {port}))\n"
                   "print('ready', flush=True)\n"
                   "taken, digest = server.accept()[0], hashlib.sha256()\n"
                   "while (part := taken.recv(1 << 16)):\n"
                   "    digest.update(part)\n"
                   "print(digest.hexdigest(), flush=True)\n")
        sink = subprocess.Popen(["nsenter", "-t", str(self.holder.pid), "-n",
                                 "/usr/bin/python3", "-c", program],
                                stdout=subprocess.PIPE, text=True)
        check_equal("sink", sink.stdout.readline(), "ready\n")
        return sink

    def end(self):
        self.holder.kill()
        self.holder.wait()


class Switch(Application):
    """ovs-vswitchd with its database; functions 0 and 1 have a port each."""

    MACHINE = ("--functions", "2", "--ports", "1,1", "--wire", "tap")
    ALLOWED = f"-a {pci(0)} -a {pci(1)}"
    NB_PORTS = NB_HOSTS = 2
    process = None      # set by start
    database = None

    def __init__(self, folder, *options, config=()):
        self.folder = folder
        self.hosts = []
        try:
            self._start(*options, config=config)
        except BaseException:
            print(self.text if self.process is not None else "not started")
            self.kill()
            raise

    def _start(self, *options, config):
        self.run("ovsdb-tool", "create", self.file("conf.db"), SCHEMA)
        self.database = Console(
            ["ovsdb-server", self.file("conf.db"), "--remote=punix:" + self.file("db"),
             "--unixctl=" + self.file("ovsdb.ctl"), "--no-chdir"],
            env=self.environment(), own_session=False)
        processor = max(os.sched_getaffinity(0))
        self.vsctl("--no-wait", "init", "--", "set", "Open_vSwitch", ".",
                   "other_config:dpdk-init=true", "other_config:per-port-memory=true",
                   f"other_config:pmd-cpu-mask={1 << processor:#x}",
                   f"other_config:dpdk-extra=-d {PLUGIN} --no-huge --legacy-mem "
                   f"--no-shconf -m 512 --no-telemetry {self.ALLOWED}",
                   *config)
        os.environ.update(self.environment())
        super().__init__([VSWITCHD, "unix:" + self.file("db"), "--no-chdir",
                          "--unixctl=" + self.file("vswitchd.ctl"), "-vconsole:info"],
                         *self.MACHINE, *options)
        self.expect(r"\(Open vSwitch\)")
        for number in range(self.NB_HOSTS):
            self.hosts.append(Host(number))

    def file(self, name):
        return os.path.join(self.folder, name)

    def environment(self):
        places = ("RUNDIR", "LOGDIR", "DBDIR", "SYSCONFDIR")
        return dict(os.environ, **{"OVS_" + place: self.folder for place in places})

    def run(self, *words):
        done = subprocess.run(words, env=self.environment(), check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        check_equal(" ".join(words) + ": " + done.stdout, done.returncode, 0)
        return done.stdout

    def vsctl(self, *words):
        """
        Changes the configuration and waits until the switch has applied it. --retry:
        the socket exists before the database server listens.
        """
        return self.run("ovs-vsctl", "--retry", "--db=unix:" + self.file("db"),
                        f"--timeout={int(30 * timeout_factor())}", *words)

    def appctl(self, *words):
        return self.run("ovs-appctl", "-t", self.file("vswitchd.ctl"), *words)

    def add_bridge(self):
        """Adds one port by its MAC address, the others by the PCI function."""
        self.vsctl("add-br", BRIDGE, "--", "set", "bridge", BRIDGE,
                   "datapath_type=netdev")
        for name, devargs in (("p0", f"class=eth,mac={mac(0)}"),
                              ("p1", pci(1)))[:self.NB_PORTS]:
            self.vsctl("add-port", BRIDGE, name, "--", "set", "Interface", name,
                       "type=dpdk", f'options:dpdk-devargs="{devargs}"',
                       f"options:n_rxq_desc={DESCRIPTORS}",
                       f"options:n_txq_desc={DESCRIPTORS}")

    @contextlib.contextmanager
    def guest(self, name, address):
        """
        Yields a testpmd outside of the machine, whose virtio_user device is the other end
        of a new vhost-user port, and which answers ARP requests and pings to any address.
        """
        socket = self.file(name)
        argv = ["dpdk-testpmd", machine.lcores(), "--no-pci", "--no-telemetry",
                "--log-level=*:error", *memory_arguments("no-huge", 128),
                f"--vdev=net_virtio_user0,path={socket},mac={address},server=1",
                "--", "-i", "--nb-cores=1", "--total-num-mbufs=4096", "--no-mlockall",
                "--forward-mode=icmpecho"]
        with ending([Testpmd(argv)]) as (program,):
            self.vsctl("add-port", BRIDGE, name, "--", "set", "Interface", name,
                       "type=dpdkvhostuserclient", f"options:vhost-server-path={socket}")
            program.start_up()
            program.command("start")
            # The switch configures the port again when the guest is there, and drops what
            # arrives meanwhile.
            self.expect(rf"rx_qid 0 .*'{re.escape(socket)}' changed to 'enabled'")
            self.expect(rf"Core .* assigned port '{name}' rx queue 0")
            self.vsctl("set", "Interface", name, "external_ids:note=1")
            yield program

    def port_line(self, name):
        """The configuration of a port."""
        shown = self.appctl("dpctl/show", DATAPATH)
        return re.search(rf"port \d+: {name} \((.*)\)", shown).group(1)

    def counters(self, name):
        """Packets (received, sent) of a port, as shown by the switch."""
        shown = self.appctl("dpctl/show", "-s", DATAPATH)
        counts = re.search(rf"port \d+: {name} .*\n\s+RX packets:(\d+).*\n"
                           r"\s+TX packets:(\d+)", shown)
        return tuple(int(count) for count in counts.groups())

    def end(self, expected_error="(?!)"):
        """Removes the ports, ends the switch, checks for leaks. Returns the report."""
        self.vsctl("del-br", BRIDGE)
        for function in (0, 1):
            self.appctl("netdev-dpdk/detach", pci(function))
        self.appctl("exit", "--cleanup")
        check_equal("exit status", self.wait(), 0)
        errors = [line for line in re.findall(r"^.*\|(?:ERR|EMER)\|.*$", self.text,
                                              re.MULTILINE)
                  if not re.search(expected_error, line)]
        check(not errors, "unexpected: " + "\n  ".join(errors))
        report = self.model.report()
        check_report(report)
        for port in report.ports.values():
            check_queues(port)
        return report

    def kill(self):
        if self.process is not None:
            super().kill()
        if self.database is not None:
            self.database.kill()
        for host in self.hosts:
            host.end()


@contextlib.contextmanager
def switch(*options, config=()):
    """
    Yields a Switch and ends it; shows its messages on failure. options are for the
    model, config for Open_vSwitch.
    """
    machine.in_private_namespaces()
    for program, package in ((VSWITCHD, "openvswitch-switch-dpdk"),
                             ("ovsdb-server", "openvswitch-switch"),
                             ("ping", "iputils-ping")):
        machine.need_program(program, package)
    with tempfile.TemporaryDirectory(prefix="mana-ovs-") as folder, \
            ending([Switch(folder, *options, config=config)]) as (made,):
        yield made
