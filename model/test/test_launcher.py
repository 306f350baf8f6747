#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The behaviour of mana-model as documented for its users.

usage: test_launcher.py [unittest arguments]      (see model_test.py)
"""

import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from model_test import (FOLDER, MODEL, PATIENCE_S, Case, find_child, lives, main, program,
                        wait_until)

MANY = program("many_doorbells")
SIGNAL_THREAD = program("signal_thread")
BAD_DOORBELL = program("bad_doorbell")
NOBODY = 65534


def as_ordinary_user():
    """The command prefix that drops privileges. Skips the test where that cannot work."""
    if os.getuid() != 0:
        raise unittest.SkipTest("needs root, to become somebody else")
    words = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    if subprocess.run([*words, "test", "-x", MODEL], check=False).returncode != 0:
        raise unittest.SkipTest(f"an ordinary user cannot run {MODEL}: move the checkout to a "
                                "folder that all users can enter")
    return words


# Prints the counts of signals, after some time without any.
COUNT_SIGNALS = """
import signal, sys, time
seen = []
for s in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(s, lambda n, f: seen.append(n))
print('ready', flush=True)
end = time.monotonic() + 20
while not seen and time.monotonic() < end: time.sleep(0.02)
time.sleep(0.5)
print(len(seen), flush=True)
"""


class ExitStatus(Case):
    def status(self, *program):
        return self.run_model("--quiet", "--", *program).returncode

    def test_status_of_the_program(self):
        self.assertEqual(self.status("true"), 0)
        self.assertEqual(self.status("sh", "-c", "exit 7"), 7)
        self.assertEqual(self.status("sh", "-c", "kill -9 $$"), 137)
        self.assertEqual(self.status("sh", "-c", "kill -TERM $$"), 143)
        self.assertEqual(self.status("sh", "-c", "kill -SEGV $$"), 139)

    def test_status_of_a_failed_start(self):
        done = self.run_model("--", "/no/such/program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("/no/such/program", done.stderr)
        self.assertEqual(self.status("/etc/passwd"), 126)

    def test_fatal_violation(self):
        for how, name in (("offset", "doorbell_bad_offset"),
                          ("load", "doorbell_read")):
            done = self.run_model("--fatal-violations", "--report",
                                  self.report_path, "--", BAD_DOORBELL, how)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(name, done.stderr)
            report = self.report()
            self.assertTrue(report["fatal"])
            self.assertEqual([v["name"] for v in report["violations"]], [name])
            self.assertRegex(report["violations"][0]["detail"], "^got .*, want ")
        done = self.run_model("--fatal-violations", "--", BAD_DOORBELL, "good")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_check(self):
        """The program runs to its end; then the report decides."""
        bad = ("--", "sh", "-c", f"{BAD_DOORBELL} offset; {BAD_DOORBELL} good; echo end; "
               "exit $STATUS")
        for check in ("--check", "--check=lost,violations"):
            done = self.run_model("--quiet", check, *bad, env={"STATUS": "0"})
            self.assertEqual((done.returncode, done.stdout), (3, "end\n"), done.stderr)
            self.assertIn("\nmana-model: check violations: 1 (doorbell_bad_offset 1)\n",
                          done.stderr)
            self.assertNotIn("exit status", done.stderr)
        done = self.run_model("--quiet", "--check", *bad, env={"STATUS": "7"})
        self.assertEqual(done.returncode, 3)
        self.assertIn("the program's exit status was 7", done.stderr)
        # Nothing is found: the exit status is the program's.
        done = self.run_model("--quiet", "--check=lost", *bad, env={"STATUS": "7"})
        self.assertEqual(done.returncode, 7)
        self.assertNotIn(" check ", done.stderr)
        done = self.run_model("--quiet", "--check", "--", BAD_DOORBELL, "good")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.run_model("--check", "/no/such/program").returncode, 127)


class Options(Case):
    def refused(self, args, *words, nb_lines=1):
        said = self.refusal(*args, "--", "true", nb_lines=nb_lines)
        for word in words:
            self.assertIn(word, said)

    def test_wrong_values(self):
        self.refused(["--functions", "0"], "--functions", "'0'", "1 to 16")
        self.refused(["--functions", "17"], "1 to 16")
        self.refused(["--functions", "-1"], "1 to 16")
        self.refused(["--functions", "2x"], "1 to 16")
        self.refused(["--functions", ""], "1 to 16")
        self.refused(["--device-id", "bb"], "ba, b9, c1")
        self.refused(["--numa-node", "1024"], "--numa-node", "0 to 1023")
        self.refused(["--device-id", "c1", "--kernel", "6.12", "--rnic"], "c1", "6.12")
        self.refused(["--ports", "0"], "1 to 64")
        self.refused(["--ports", "65"], "1 to 64")
        self.refused(["--ports", "1,"], "--ports")
        self.refused(["--ports", "1,2"], "2 numbers for 1 functions")
        self.refused(["--functions", "3", "--ports", "1,2"],
                     "2 numbers for 3 functions")
        self.refused(["--ports", ",".join(["1"] * 17)], "at most 16")
        self.refused(["--mac-base", "00:0d:3a:00:00"], "00:0d:3a:00:00:01")
        self.refused(["--mac-base", "00:0d:3a:00:00:01:02"], "six bytes")
        self.refused(["--mac-base", "01:0d:3a:00:00:01"], "unicast")
        self.refused(["--mac-base", "00:00:00:00:00:00"], "unicast")
        self.refused(["--mac-base", "00:0d:3a:ff:ff:ff"], "--mac-base", "lower")
        self.refused(["--max-mtu", "67"], "68 to 9216")
        self.refused(["--max-mtu", "9217"], "68 to 9216")
        self.refused(["--wire", "ring"], "pair, loop, tap")
        self.refused(["--wire", "3=loop"], "no port 3", "--ports")
        self.refused(["--wire", "0=loop"], "N=KIND")
        self.refused(["--wire", "1=ring"], "pair, loop, tap")
        self.refused(["--wire", "1=link:/tmp/socket"], "pair, loop, tap")
        self.refused(["--wire", "1=loop:x"], "loop takes no")
        self.refused(["--wire", "1=pair"], "needs more")
        self.refused(["--wire", "1=pair:1"], "use loop")
        self.refused(["--wire", "1=pair:x"], "other port")
        self.refused(["--wire", "1=pair:3"], "no port 3")
        self.refused(["--wire", "1=loop", "--wire", "2=pair:1"], "port 1 has another")
        self.refused(["--link", "1"], "--link", "1:delay=20us")
        self.refused(["--link", "3:loss=1%"], "--link", "fewer ports")
        self.refused(["--link", "1:loss=1"], "--link", "0% to 100%")
        self.refused(["--link", "1:loss=101%"], "0% to 100%")
        self.refused(["--link", "1:bandwidth=10X"], "10G")
        self.refused(["--link", "1:delay=20"], "20us")
        self.refused(["--link", "1:speed=20"], "speed")
        self.refused(["--wire", "1=gen:size=59"], "60 to 1514")
        self.refused(["--wire", "1=gen:size=100-99"], "60 to 1514")
        self.refused(["--wire", "1=gen:rate=fast"], "10Gbps")
        self.refused(["--wire", "1=gen:rate=0"], "10Gbps")
        self.refused(["--wire", "1=gen:kinds=runt+odd"], "'odd'")
        self.refused(["--wire", "1=gen:flows=16385"], "1 to 16384")
        self.refused(["--wire", "1=gen:flows=16384", "--wire", "2=gen"], "16384 streams")
        self.refused(["--wire", "1=gen:colour=red"], "colour")
        self.refused(["--mode", "fast"], "sync, thread, step")
        self.refused(["--mode", "thread", "--poll-ms", "5"], "mode sync")
        self.refused(["--enforce", "sa,foo"], "sa, etype, vlan, dmac")
        self.refused(["--enforce", ""], "sa, etype, vlan, dmac")
        self.refused(["--cq-doorbell=loose"], "lax, strict")
        self.refused(["--name", "a/b"], "--name")
        self.refused(["--name", ""], "--name")
        self.refused(["--name", "x" * 64], "--name")
        self.refused(["--name", ".."], "--name")
        self.refused(["--vp-offset", "4096"], "0 to 4095")
        self.refused(["--seed", "x"], "--seed")
        self.refused(["--trace", ""], "--trace")
        self.refused(["--trace", "/no/such/folder/t"], "/no/such/folder/t")
        self.refused(["--report", "/no/such/folder/r"], "/no/such/folder/r",
                     "--report")
        self.refused(["--report", ""], "--report")
        self.refused(["--fault", "nonsense:1"], "--fault", "nonsense")
        self.refused(["--fault", "reg_mr:0"], "--fault")
        self.refused(["--fault", "reg_mr"], "--fault")
        self.refused(["--quirk", "nonsense=1"], "--quirk", "--help")
        self.refused(["--quirk", "runts"], "taken|padded|refused")
        self.refused(["--quirk", "runts="], "taken|padded|refused")
        self.refused(["--check=nothing"], "--check", "violations, left, errors")
        self.refused(["--quirk", "runts=pad"], "taken|padded|refused")
        self.refused(["--quirk", "runts=taken|padded"], "taken|padded|refused")

    def test_wrong_options(self):
        self.refused(["--nonsense"], "--nonsense", "--help", nb_lines=2)
        self.refused(["-x"], "--help", nb_lines=2)
        self.refused(["--coalesce=yes"], "--coalesce", nb_lines=2)
        self.assertIn("'--functions' requires an argument",
                      self.refusal("--functions", nb_lines=2))
        self.assertIn("no program", self.refusal())

    def test_help(self):
        done = self.run_model("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for option in ("functions", "ports", "mac-base", "max-mtu", "device-id", "numa-node",
                       "wire", "mode", "coalesce", "coalesce-ns", "enforce", "cq-doorbell",
                       "fatal-violations", "check", "report", "name", "trace", "vp-offset",
                       "fault", "privileges", "quirk", "seed", "poll-ms", "quiet", "help",
                       "list-violations"):
            self.assertIn(f" --{option}", done.stdout)

    def test_quirks_equal_the_guide(self):
        """The guide names each switch with its values, and no others."""
        guide = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../../doc/guides/model-behaviour.rst")
        with open(guide, encoding="utf-8") as file:
            section = re.search(r"\nOpen questions\n-+\n(.*?)\n\n\n",
                                file.read(), re.DOTALL).group(1)
        documented = re.findall(r"``([a-z][a-z0-9-]*=[a-z0-9|-]+\|[a-z0-9|-]+)``", section)
        printed = ["=".join(quirk) for quirk in
               re.findall(r"^  --quirk=(\S+) +(\S+):", self.run_model("--help").stdout,
                          re.MULTILINE)]
        self.assertGreater(len(printed), 25)
        self.assertEqual(sorted(documented), sorted(printed))

    def test_list_violations(self):
        done = self.run_model("--list-violations")
        lines = done.stdout.splitlines()
        names = [re.fullmatch(r"([a-z0-9_]+) +(\S.*)", line).group(1)
                 for line in lines]
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(set(names)), len(names))
        self.assertIn("doorbell_read", names)

    def test_checklist_equals_the_violations(self):
        """The checklist for driver authors has each violation, its meaning and a cause."""
        guide = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../../doc/guides/model-violations.rst")
        with open(guide, encoding="utf-8") as file:
            rows = re.findall(r"^``(\w+)``\n((?:   .*\n)+)", file.read(), re.MULTILINE)
        rows = {name: " ".join(text.split()) for name, text in rows}
        listed = dict(line.split(maxsplit=1) for line in
                      self.run_model("--list-violations").stdout.splitlines())
        self.assertEqual(set(rows), set(listed))
        for name, meaning in listed.items():
            self.assertRegex(rows[name], rf"^{re.escape(meaning)}\. \*Usual cause:\* .+\.$")

    def test_valid_options(self):
        done = self.run_model(
            "--functions=2", "--ports=1,3", "--mac-base=00:0d:3a:12:34:56",
            "--max-mtu=9000", "--wire=loop", "--mode=thread", "--coalesce",
            "--enforce=sa,etype,vlan,dmac", "--cq-doorbell=strict",
            "--quirk=runts=refused", "--quirk=tx-wqe-offset=zero",
            "--fatal-violations", "--name=all", "--vp-offset=300",
            "--fault=reg_mr:3:ENOMEM", "--fault=any:100+", "--seed=42",
            "--quiet", "--report", self.report_path, "--trace",
            os.path.join(self.base, "trace"), "ibv_devinfo")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = self.report()
        self.assertEqual(report["seed"], 42)
        self.assertEqual(report["quirks"],
                         {"runts": "refused", "tx-wqe-offset": "zero"})
        self.assertEqual(report["name"], "all")
        self.assertEqual([(p["pci"], p["port"], p["mac"]) for p in report["ports"]],
                         [("7870:00:00.0", 1, "00:0d:3a:12:34:56"),
                          ("7871:00:00.0", 1, "00:0d:3a:12:34:57"),
                          ("7871:00:00.0", 2, "00:0d:3a:12:34:58"),
                          ("7871:00:00.0", 3, "00:0d:3a:12:34:59")])

    def test_options_of_the_program(self):
        done = self.run_model("--quiet", "echo", "--functions", "0")
        self.assertEqual((done.returncode, done.stdout), (0, "--functions 0\n"))


class Environment(Case):
    def test_variables(self):
        self.env["LD_PRELOAD"] = "libm.so.6"
        done = self.run_model("--quiet", "--name", "e", "env")
        if "ASan runtime does not come first" in done.stderr:
            self.skipTest("a sanitizer wants to be first in the launcher too")
        variables = dict(line.split("=", 1) for line in done.stdout.splitlines()
                         if "=" in line)
        run = self.machine_folder("e")
        self.assertEqual(variables["MANA_MODEL_DIR"], run)
        self.assertEqual(variables["SYSFS_PATH"], run + "/sys")
        self.assertEqual(variables["SYSFS_PCI_DEVICES"],
                         run + "/sys/bus/pci/devices")
        preloaded = variables["LD_PRELOAD"].split(":")
        if "libasan" in preloaded[0]:
            preloaded.pop(0)
        self.assertEqual(preloaded, ["libm.so.6",
                                     os.path.join(FOLDER, "libmana-model.so")])

    def test_privileges_of_the_process(self):
        """The most frequent mistake of a first deployment: a program without CAP_NET_RAW."""
        without = () if os.getuid() != 0 else ("setpriv", "--bounding-set", "-net_raw")
        for options, words in (([], ()), (["--privileges=all"], without)):
            done = self.run_model("--quiet", *options, "--", *words, MANY, "10", "1", "1")
            self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_model("--quiet", "--privileges=process", "--", *without, MANY,
                              "10", "1", "1")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "no port: Operation not permitted\n"))
        if os.getuid() == 0:
            done = self.run_model("--quiet", "--privileges=process", "--", MANY,
                                  "10", "1", "1")
            self.assertEqual(done.returncode, 0, done.stderr)
            # Memory above the limit needs CAP_IPC_LOCK.
            done = self.run_model("--quiet", "--privileges=process", "--", "setpriv",
                                  "--bounding-set", "-ipc_lock", "prlimit",
                                  "--memlock=4096", MANY, "10", "1", "1")
            self.assertEqual((done.returncode, done.stderr),
                             (1, "no port: Cannot allocate memory\n"))
        self.assertIn("--privileges is for the imitated kernel",
                      self.refusal("--pci", self.path("pci"), "--privileges=process"))

    def test_address_sanitizer(self):
        """A program that gcc links to the sanitizer's run-time needs no setting."""
        name = program("bad_doorbell_asan")
        if not os.path.exists(name):
            self.skipTest("built without it: not by gcc, or with sanitizers of its own")
        self.env.pop("ASAN_OPTIONS")
        folder, file = os.path.split(name)
        for path, more in ((name, {}), (file, {"PATH": f"{folder}:{os.environ['PATH']}"})):
            done = self.run_model("--quiet", "--check", "--", path, "good", env=more)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_model("--quiet", "--check", "--", name, "offset")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("check violations: 1 (doorbell_bad_offset 1)", done.stderr)
        # Other programs do not get it.
        done = self.run_model("--quiet", "--", "sh", "-c", "echo $LD_PRELOAD")
        self.assertNotIn("libasan", done.stdout)

    def test_runtime_folder(self):
        """DPDK's programs do not meet those of other machines, and find those of their own."""
        folders = tempfile.mkdtemp(prefix="m", dir="/tmp")
        self.addCleanup(os.rmdir, folders)
        self.env["MANA_MODEL_RUNDIR"] = folders
        self.env.pop("RUNTIME_DIRECTORY", None)
        show = 'echo "$RUNTIME_DIRECTORY"; test ! -d "$RUNTIME_DIRECTORY" || ' \
               'touch "$RUNTIME_DIRECTORY/file"'
        done = self.run_model("--quiet", "--name", "e", "sh", "-c",
                              f"{show}; {MODEL} --join e -- sh -c '{show}'")
        self.assertEqual(done.stdout.split(),
                         2 * [f"{folders}/mana-model-{os.getuid()}-e/run"], done.stderr)
        self.assertEqual(os.listdir(folders), [])
        # The user's own one stays.
        done = self.run_model("--quiet", "sh", "-c", show,
                              env={"RUNTIME_DIRECTORY": "/no/such"})
        self.assertEqual(done.stdout, "/no/such\n")
        # Sockets in it would have too long a path.
        done = self.run_model("--quiet", "--name", 30 * "e", "sh", "-c", show)
        self.assertEqual(done.stdout, "\n")

    def test_sysfs(self):
        script = r"""
            cd $SYSFS_PATH/class/infiniband/manae_1/device || exit 1
            grep -x PCI_SLOT_NAME=7871:00:00.0 uevent || exit 2
            cat net/*/address vendor device class
            basename $(readlink driver)
            cat net/*/dev_port
            cat $SYSFS_PATH/class/infiniband_verbs/uverbs1/dev
            ls $SYSFS_PCI_DEVICES
            readlink -e $SYSFS_PATH/class/net/*/device | sort -u | wc -l
            wc -l < resource
            find $SYSFS_PATH -xtype l | wc -l
        """
        done = self.run_model("--quiet", "--functions=2", "sh", "-c", script)
        self.assertEqual(done.stdout.split(), [
            "PCI_SLOT_NAME=7871:00:00.0", "00:0d:3a:00:00:03", "00:0d:3a:00:00:04",
            "0x1414", "0x00ba", "0x020000", "mana", "0", "1", "231:193",
            "7870:00:00.0", "7871:00:00.0", "2", "13", "0"])

    def test_numa_node(self):
        for option, node in (([], "0"), (["--numa-node=3"], "3"),
                             (["--numa-node=none"], "-1")):
            done = self.run_model("--quiet", *option, "cat",
                                  "/sys/bus/pci/devices/7870:00:00.0/numa_node")
            self.assertEqual(done.stdout.strip(), node)

    def test_device_ids(self):
        for option, device in (([], "00ba"), (["--device-id=b9"], "00b9"),
                               (["--device-id=c1"], "00c1")):
            done = self.run_model(
                "--quiet", *option, "--report", self.report_path, "sh", "-c",
                "cd /sys/bus/pci/devices/7870:00:00.0 && cat vendor device "
                "subsystem_device modalias && grep PCI uevent && "
                "od -An -tx1 -N4 config && od -An -tx1 -j46 -N2 config")
            low = device[2:]
            self.assertEqual(done.stdout.split(), [
                "0x1414", f"0x{device}", f"0x{device}",
                f"pci:v00001414d000000{low.upper()}sv00001414"
                f"sd000000{low.upper()}bc02sc00i00",
                "PCI_CLASS=20000", f"PCI_ID=1414:{device.upper()}",
                f"PCI_SUBSYS_ID=1414:{device.upper()}",
                "PCI_SLOT_NAME=7870:00:00.0",
                "14", "14", low, "00", low, "00"])
            self.assertEqual(self.report()["pci_id"], f"1414:{device}")

    def test_summary(self):
        done = self.run_model("true")
        self.assertIn("7870:00:00.0 port 2 00:0d:3a:00:00:02", done.stderr)
        self.assertEqual(self.run_model("--quiet", "true").stderr, "")

    def test_input_and_output(self):
        done = self.run_model("--quiet", "cat", input="through\n")
        self.assertEqual(done.stdout, "through\n")


class Reports(Case):
    KINDS = {"pd", "mr", "cq", "wq", "qp", "ind", "fd"}

    def test_fields(self):
        done = self.run_model("--quiet", "--report", self.report_path, "true")
        self.assertEqual(done.returncode, 0)
        report = self.report()
        self.assertEqual(report["violations"], [])
        self.assertEqual(report["doorbells"],
                         {"sq": 0, "rq": 0, "cq": 0, "cq_arm": 0, "traps": 0})
        self.assertEqual(set(report["leaks"]), self.KINDS)
        self.assertEqual(set(report["objects"]), self.KINDS)
        self.assertEqual(report["seed"], 1)
        self.assertEqual(len(report["ports"]), 2)
        for port in report["ports"]:
            for key in ("packets", "bytes", "no_wqe", "truncated"):
                self.assertEqual(port["rx"][key], 0)
            self.assertEqual((port["tx"]["packets"], port["tx"]["bytes"]), (0, 0))
            self.assertEqual((port["tx"]["errors"], port["queues"]), ({}, []))

    def test_output_files(self):
        self.run_model("--quiet", "--report", "/dev/stderr", "true")
        done = self.run_model("--quiet", "--report", "/dev/stdout", "true")
        self.assertIn("ports", json.loads(done.stdout))
        self.write("report.json", "old")
        os.chmod(self.report_path, 0o640)
        self.run_model("--report", self.report_path, "true")
        self.assertIn("ports", self.report())
        self.assertEqual(os.stat(self.report_path).st_mode & 0o777, 0o640)
        self.assertEqual(os.listdir(self.base).count("report.json"), 1)
        self.assertEqual(len(os.listdir(self.base)), 2)

    def test_killed_program(self):
        model = self.start_model("--quiet", "--name", "killed", "--report",
                                 self.report_path, MANY, "1000000000", "1", "2")
        self.await_machine("killed")
        wait_until(lambda: self.live("killed")["doorbells"]["sq"] >= 1000, "doorbells")
        os.kill(find_child(model.pid, "many_doorbells"), signal.SIGKILL)
        model.communicate(timeout=PATIENCE_S)
        self.assertEqual(model.returncode, 137)
        report = self.report()
        self.assertGreaterEqual(report["doorbells"]["sq"], 1000)
        for kind in ("pd", "mr", "cq", "qp"):
            self.assertGreater(report["leaks"][kind], 0, kind)
        self.assertFalse(any(report["objects"].values()), report["objects"])

    def await_machine(self, name):
        wait_until(lambda: self.live(name), f"no report of {name}")

    def test_ctl(self):
        model = self.start_model("--quiet", "--name", "live", "cat",
                                 stdin=subprocess.PIPE)
        self.await_machine("live")
        for _ in range(70):         # more than there are process slots
            self.assertEqual(self.live("live")["name"], "live")
        model.communicate("", timeout=PATIENCE_S)
        for args in (("ctl", "live", "report"), ("ctl", "live"),
                     ("ctl", "live", "explode"), ("ctl", "a/b", "report")):
            self.refusal(*args)

    def test_kernel_version_is_reported(self):
        for options, kernel, rnic in (((), "7.3", False),
                                      (("--kernel", "7.2"), "7.2", False),
                                      (("--kernel", "6.12", "--rnic"), "6.12", True),
                                      (("--kernel=6.2",), "6.2", False)):
            done = self.run_model("--quiet", *options, "--report", self.report_path, "true")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            report = self.report()
            self.assertEqual((report["kernel"], report["rnic"]), (kernel, rnic))
        self.assertIn("give one of 7.3, 7.2, 6.12, 6.2",
                      self.refusal("--kernel", "6.3", "true"))
        done = self.run_model("--quiet", "--kernel", "6.12", "true")
        self.assertIn("add --rnic", done.stderr)

    def test_ctl_commands(self):
        model = self.start_model("--quiet", "--name", "running", "cat",
                                 stdin=subprocess.PIPE)
        self.await_machine("running")
        flags = os.path.join(self.machine_folder("running"), "sys/class/net/mana0p1/flags")
        for words, expected in ((["netdev", "port=2", "up"], "0x1003"),
                                (["netdev", "down", "port=2"], "0x1002")):
            done = self.run_model("ctl", "running", *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(flags) as f:
                self.assertEqual(f.read().strip(), expected)
        for words, message in (
                (["explode"], "no command 'explode'"),
                (["netdev", "up"], "the port is missing"),
                (["netdev", "port=3", "up"], "fewer ports"),
                (["netdev", "port=0", "up"], "from 1 to"),
                (["netdev", "port=1x", "up"], "from 1 to"),
                (["netdev", "port=1"], "up or down"),
                (["netdev", "port=1", "up", "now"], "unknown argument 'now'"),
                (["mtu", "port=1", "mtu=9000"], "largest is 1500"),
                (["mtu", "port=1"], "give mtu=N"),
                (["mtu", "x" * 300], "longer than")):
            self.assertIn(message, self.refusal("ctl", "running", *words))
        model.communicate("", timeout=PATIENCE_S)

    def test_bad_doorbells(self):
        names = {"narrow": ("doorbell_bad_width", 0),
                 "wide": ("doorbell_bad_width", 0),
                 "load": ("doorbell_read", 139),
                 "modify": ("doorbell_read", 139),
                 "string": ("doorbell_undecoded", 134),
                 "offset": ("doorbell_bad_offset", 0)}
        for how, (name, status) in names.items():
            done = self.run_model("--quiet", "--report", self.report_path,
                                  BAD_DOORBELL, how)
            self.assertEqual(done.returncode, status, (how, done.stderr))
            report = self.report()
            self.assertEqual([(v["name"], v["count"]) for v in report["violations"]],
                             [(name, 1)], how)
            self.assertIn(name, done.stderr)


# An ELF64 file for x86-64 with a PT_LOAD only: exit(5).
STATIC_PROGRAM = struct.pack(
    "<4sBBBxQHHIQQQIHHHHHH" "IIQQQQQQ" "10s", b"\x7fELF", 2, 1, 1, 0, 2, 62, 1,
    0x400078, 64, 0, 0, 64, 56, 1, 64, 0, 0,
    1, 5, 0, 0x400000, 0x400000, 130, 130, 4096,
    b"\x6a\x3c\x58\x6a\x05\x5f\x0f\x05\x90\x90")


class NotPreloaded(Case):
    """Programs that cannot load the library: reported, but run."""

    def test_static_program(self):
        path = os.path.join(self.base, "static")
        with open(path, "wb") as file:
            file.write(STATIC_PROGRAM)
        os.chmod(path, 0o755)
        self.env["PATH"] += ":" + self.base
        for name in (path, "static"):
            done = self.run_model("--quiet", name)
            self.assertEqual(done.returncode, 5)
            self.assertIn(f"{name} cannot use the modelled machine: it is "
                          "statically linked", done.stderr)

    def test_privileged_program(self):
        path = os.path.join(self.base, "privileged")
        shutil.copy(shutil.which("true"), path)
        os.chmod(self.base, 0o777)
        for mode, status in ((0o4755, "set-user-ID"), (0o2755, "set-group-ID"), (0o755, "")):
            os.chmod(path, mode)
            done = self.run_model("--quiet", path, prefix=as_ordinary_user())
            self.assertEqual(done.returncode, 0)
            self.assertIn(status, done.stderr)
            self.assertEqual(done.stderr == "", status == "")


@unittest.skipUnless(os.getuid() == 0, "needs root, to mount")
class FullFileSystem(Case):
    def run_in(self, size, *program):
        script = (
            f'mount -t tmpfs -o size={size} none "$MANA_MODEL_RUNDIR" || exit 99\n'
            '"$@"; status=$?; for i in 1 2 3 4 5 6 7 8 9; do'
            ' [ -z "$(ls -A "$MANA_MODEL_RUNDIR")" ] || sleep 0.2; done;'
            ' ls -A "$MANA_MODEL_RUNDIR" >&2; exit $status')
        return self.run_model(
            *program, prefix=("unshare", "--mount", "sh", "-c", script, "sh"))

    def test_full_at_the_start(self):
        for size in ("16k", "64k", "1m", "1300k"):
            done = self.run_in(size, "true")
            if done.returncode == 99:
                self.skipTest("cannot mount")
            self.assertEqual(done.returncode, 125, (size, done.stderr))
            self.assertRegex(done.stderr, "^mana-model: .*No space left on device; free "
                                 "some space there, .*\n$")

    def test_full_during_the_run(self):
        done = self.run_in(
            "3m", "--quiet", "sh", "-c", "cat /dev/zero > $MANA_MODEL_DIR/fill;"
            f"{MANY} 100 2 2")
        if done.returncode == 99:
            self.skipTest("cannot mount")
        self.assertNotEqual(done.returncode, 0)
        # Errors of the program, and maybe of the launcher; nothing is left.
        self.assertRegex(done.stderr, "mana-model: the file system of the run folder is full")
        self.assertNotIn("mana-model-", done.stderr)


class Signals(Case):
    def test_forwarded_once(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            model = self.start_model("--quiet", "--", sys.executable, "-c",
                                     COUNT_SIGNALS, start_new_session=True)
            self.assertEqual(model.stdout.readline(), "ready\n")
            model.send_signal(number)
            out, err = model.communicate(timeout=PATIENCE_S)
            self.assertEqual((out, err, model.returncode), ("1\n", "", 0))

    def test_main_thread_takes_it(self):
        """Also if another thread unblocks signals all the time. It takes it if main blocks it."""
        for blocks, taker in ((), "m"), (("blocks",), "o"):
            model = self.start_model("--quiet", "--", SIGNAL_THREAD, *blocks)
            self.assertEqual(model.stdout.read(1), "r")
            for number in (signal.SIGUSR1, signal.SIGUSR2) * 100:
                model.send_signal(number)
                self.assertEqual(model.stdout.read(1), taker)
            model.terminate()
            model.communicate(timeout=PATIENCE_S)

    def test_timeout_sends_twice(self):
        done = subprocess.run(["timeout", "1", MODEL, "--quiet", "--",
                               sys.executable, "-c", COUNT_SIGNALS],
                              env=self.env, stdout=subprocess.PIPE, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.stdout, "ready\n1\n")

    def test_terminal(self):
        pid, master = pty.fork()
        if pid == 0:
            os.execve(MODEL, [MODEL, "--quiet", "--", sys.executable, "-c",
                              COUNT_SIGNALS], self.env)
        text = b""
        while b"ready" not in text:
            text += os.read(master, 100)
        os.write(master, b"\x03")       # as from the keyboard
        with contextlib.suppress(OSError):      # EIO: all have closed it
            while True:
                text += os.read(master, 100)
        self.assertTrue(text.replace(b"^C", b"").endswith(b"\n1\r\n"), text)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        os.close(master)

    def test_stop_and_continue(self):
        """Under a shell with job control, by ^Z and fg."""
        pid, master = pty.fork()
        if pid == 0:
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"],
                      dict(self.env, PS1="$ ", TERM="dumb"))
        os.write(master, f"{MODEL} --quiet sh -c 'echo read''y; read x; echo got $x'\n".encode())
        self.expect(master, b"ready")
        os.write(master, b"\x1a")
        self.expect(master, b"Stopped")
        os.write(master, b"fg\n")
        self.expect(master, b"mana-model")
        os.write(master, b"word\n")
        self.expect(master, b"got word")
        os.write(master, b"exit\n")
        os.waitpid(pid, 0)
        os.close(master)

    def expect(self, master, what):
        text = b""
        while what not in text:
            self.assertTrue(select.select([master], [], [], PATIENCE_S)[0], text)
            text += os.read(master, 1000)

    def test_terminated(self):
        model = self.start_model("--quiet", "--report", self.report_path,
                                 "sleep", "1000")
        find_child(model.pid, "sleep")
        model.terminate()
        model.communicate(timeout=PATIENCE_S)
        self.assertEqual(model.returncode, 143)
        self.assertIn("ports", self.report())

    def test_terminated_at_once(self):
        for delay in (0, 0.001, 0.003, 0.01, 0.02, 0.03):
            model = self.start_model("--quiet", "sleep", "1000")
            time.sleep(delay)
            model.terminate()
            model.communicate(timeout=PATIENCE_S)
            self.assertIn(model.returncode, (143, -15))


class Leftovers(Case):
    def test_same_name(self):
        model = self.start_model("--quiet", "--name", "same", "cat",
                                 stdin=subprocess.PIPE)
        wait_until(lambda: os.path.exists(self.machine_folder("same") + "/sys/class/net"),
                   "no sysfs")
        self.assertIn("--name", self.refusal("--name", "same", "true"))
        model.communicate("", timeout=PATIENCE_S)
        self.assertEqual(model.returncode, 0)

    def test_killed_launcher(self):
        model = self.start_model("--quiet", "--name", "dead", "sh", "-c",
                                 "setsid sleep 1003 >&2 & echo $!; sleep 1004 >&2 &"
                                 "echo $!; echo $$; wait")
        pids = [int(model.stdout.readline()) for _ in range(3)]
        folder = self.machine_folder("dead")
        self.assertTrue(os.path.exists(folder))
        model.kill()
        model.wait()
        # The same name can be used at once.
        self.assertEqual(self.run_model("--name", "dead", "true").returncode, 0)
        for pid in pids:
            wait_until(lambda pid=pid: not lives(pid), f"{pid} lives on")
        self.assertFalse(os.path.exists(folder))
        model.communicate(timeout=PATIENCE_S)
        self.assertEqual(self.run_model("ctl", "dead", "report").returncode, 125)

    def test_relative_path(self):
        self.env["MANA_MODEL_RUNDIR"] = "machines"
        done = self.run_model("--quiet", "--", "sh", "-c", "cd / && ibv_devinfo -l",
                              cwd=self.base)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("manae_0", done.stdout)

    def test_longest_path(self):
        """libibverbs finds no devices, silently, if the path is too long."""
        for length, status in ((219, 0), (220, 125)):
            rest = length - len(self.folders) - len(f"//mana-model-{os.getuid()}-d")
            self.env["MANA_MODEL_RUNDIR"] = os.path.join(self.folders, "x" * rest)
            os.mkdir(self.env["MANA_MODEL_RUNDIR"])
            done = self.run_model("--quiet", "--functions=16", "--name=d",
                                  "ibv_devinfo", "-l")
            os.rmdir(self.env["MANA_MODEL_RUNDIR"])
            self.assertEqual(done.returncode, status, done.stderr)
            if status == 0:
                self.assertIn("manae_15", done.stdout)
            else:
                self.assertIn("MANA_MODEL_RUNDIR", done.stderr)

    def test_missing_folder(self):
        self.env["MANA_MODEL_RUNDIR"] = "/no/such/folder"
        self.assertIn("MANA_MODEL_RUNDIR", self.refusal("true"))


class Wires(Case):
    def test_kinds_are_reported_per_port(self):
        done = self.run_model(
            "--ports=7", "--wire=1=pair:4", "--wire=2=none", "--wire=7=loop",
            "--link=1:bandwidth=2.5M,loss=0.5%", "--report", self.report_path,
            "--name=wires", "--", "sh", "-c",
            f"{MODEL} ctl wires wire port=5 loss=100% && {MANY} 100 1 1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(p["wire"]["kind"], p["wire"].get("peer"))
                          for p in self.report()["ports"]],
                         [("pair", 4), ("none", None), ("pair", 3), ("pair", 1),
                          ("pair", 6), ("pair", 5), ("loop", None)])

    def test_changes_during_the_run(self):
        done = self.run_model(
            "--wire=none", "--report", self.report_path, "--name=wires", "--", "sh", "-c",
            f"{MANY} 100 1 1 && {MODEL} ctl wires wire port=1 loss=100% && {MANY} 70 1 1 &&"
            f"{MODEL} ctl wires wire port=1 clear && {MANY} 30 1 1")
        self.assertEqual(done.returncode, 0, done.stderr)
        wire = self.report()["ports"][0]["wire"]
        self.assertEqual((wire["vanished"], wire["out"]["lost"]), (130, 70))
        self.assertIn("wire: out lost 70, vanished 130", done.stderr)


class OrdinaryUser(Case):
    def test_machine_runs(self):
        done = self.run_model("--quiet", "--report", self.report_path, "--", MANY, "100", "2",
                              "2", prefix=as_ordinary_user())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.report()["doorbells"]["sq"], 400)

    def test_tap_is_refused(self):
        self.assertIn("CAP_NET_ADMIN",
                      self.refusal("--wire=tap", "true", prefix=as_ordinary_user()))


@unittest.skipUnless(os.getuid() == 0 and os.path.exists("/dev/net/tun"),
                     "needs root and /dev/net/tun")
class Tap(Case):
    def interfaces(self):
        return [name for name in os.listdir("/sys/class/net")
                if name.startswith("mtap")]

    def test_interfaces_are_created_and_removed(self):
        if self.interfaces():
            self.skipTest("another machine has TAP interfaces")
        done = self.run_model("--quiet", "--wire=tap", "--ports=3", "--max-mtu=4000",
                              "--", "sh", "-c",
                              "cat /sys/class/net/mtap[0-2]/mtu; ls -d /sys/class/net/mtap*")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split(), ["4000"] * 3 + [
            f"/sys/class/net/mtap{k}" for k in range(3)])
        self.assertEqual(self.interfaces(), [])

    def test_frames_arrive(self):
        if self.interfaces():
            self.skipTest("another machine has TAP interfaces")
        received = "/sys/class/net/mtap0/statistics/rx_packets"
        done = self.run_model(
            "--quiet", "--wire=tap", "--", "sh", "-c",
            f"{MANY} 100 1 1 >&2; for i in 1 2 3 4 5 6 7 8 9; do"
            f" [ $(cat {received}) -ge 100 ] || sleep 0.2; done; cat {received}")
        self.assertEqual(done.stdout, "100\n", done.stderr)

    @unittest.skipUnless(shutil.which("ip"), "needs ip(8)")
    def test_down(self):
        if self.interfaces():
            self.skipTest("another machine has TAP interfaces")
        done = self.run_model(
            "--quiet", "--wire=1=tap", "--report", self.report_path, "--", "sh", "-c",
            f"env -u LD_PRELOAD ip link set mtap0 down && {MANY} 100 1 1 >&2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.report()["ports"][0]["wire"]["outlet_lost"], 100)


if __name__ == "__main__":
    main()
