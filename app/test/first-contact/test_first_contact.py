#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mana-first-contact on the model: it finds the behaviour that was set, and no other.

usage: test_first_contact.py [unittest arguments]      (see model_test.py)
"""

import json
import os
import random
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../model/test"))

from model_test import (BUILD, MANA_VM, MODEL, TOP, Case as ModelCase, mac,  # noqa: E402
                        main, pci, prepare_or_skip)

NO_DRIVER = ["--plugin", "none"]
PROGRAM = os.path.join(BUILD, "app/first-contact/mana-first-contact")

# Quirks without an experiment: the adapter never writes such a completion, does not tell
# whether it reads a field, or only the kernel sees it.
NO_EXPERIMENT = {"rx-unknown-type", "rq-wqe-cnt", "shm-answer", "hwc-depth"}
# On other machines.
PF2 = ["--device-id", "c1"]
COALESCE = ["--coalesce"]

# Findings that are no quirks, with the model's defaults.
OBSERVED = {
    "vp-offset": "5", "tx-suppress-error": "completion", "max-frame": "1514",
    "sge-keys": "accepted", "tx-outer": "works", "lso-segments": "standard", "rx-buffer-min": "16", "rx-odd-buffer": "accepted",
    "rx-coalesced": "none", "rx-vlan": "stripped", "rss-hash": "toeplitz",
    "tunnel-hash": "outer", "default-rxq": "last", "empty-rxq": "no",
    "rx-interrupt": "yes", "cq-created-armed": "yes", "cq-doorbell": "lax",
    "max-send-sge": "30", "network-sa": "allowed", "network-etype": "allowed",
    "network-vlan": "allowed", "network-dmac": "delivered", "network-multicast": "delivered",
    "tx-queues": "128", "rx-queues": "64", "rss-table-size": "64", "doorbell-32": "works",
}
# For adapters that do not work inside the doorbell store: on a loaded host.
PATIENCE_MS = "20000"
# What is not the same in two runs.
MEASURED = {"rss-rebuild", "doorbell-cost", "packet-rate"}

LINE = re.compile(r"([a-z0-9-]+)  +(\S+(?: (?:us|ns|kpps))?)  +(\S.*)")


def quirks():
    """The values of each quirk, the default first."""
    done = subprocess.run([MODEL, "--help"], check=True, capture_output=True, text=True)
    found = dict(re.findall(r"^  --quirk=(\S+) +(\S+):", done.stdout, re.MULTILINE))
    assert len(found) > 25
    return {name: values.split("|") for name, values in found.items()}


QUIRKS = quirks()
DEFAULTS = {name: values[0] for name, values in QUIRKS.items()
            if name not in NO_EXPERIMENT | {"pf2-verbs"}} | OBSERVED


class Case(ModelCase):
    asan_options = None

    def run_program(self, *options, args=(), status=None):
        """Runs it on a machine; returns the findings by name, and the process."""
        done = self.run_model("--quiet", *options, "--", PROGRAM, *args)
        *lines, last = done.stdout.splitlines() or [""]
        found = {}
        for line in lines:
            name, value, text = LINE.fullmatch(line).groups()
            self.assertNotIn(name, found)
            self.assertGreater(len(text), 10)
            found[name] = value
        nb_undecided = list(found.values()).count("undecided")
        self.assertEqual(last, f"{len(found)} questions, {nb_undecided} undecided",
                         done.stderr)
        self.assertEqual(done.returncode, 1 if nb_undecided else 0)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout)
        for name in MEASURED & found.keys():
            self.assertRegex(found.pop(name), r"^([0-9]+ (us|ns|kpps)|undecided)$")
        return found

    def check(self, expected, *options, **more):
        """Findings that differ from the defaults: exactly these."""
        found = self.run_program(*options, **more)
        self.assertEqual({name: value for name, value in found.items()
                          if value != DEFAULTS.get(name)}, expected)
        self.assertEqual(found.keys() | expected.keys(), DEFAULTS.keys() | expected.keys())

    def scenario(self, *lines):
        """The options of a machine with this scenario."""
        path = self.path("s.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(line + "\n" for line in lines))
        return ["--scenario", path]

    def argument(self, name, *options):
        """The device argument of a finding; "" if there is none."""
        path = self.path("argument.json")
        self.run_model("--quiet", *options, "--", PROGRAM, "--only", name, "--json", path)
        with open(path, encoding="utf-8") as file:
            findings = json.load(file)["findings"]
        return findings[0]["argument"]


def machine(name, value):
    """The options of a machine with this quirk."""
    more = {"rx-coalesced": COALESCE, "pf2-verbs": PF2}.get(name, [])
    return [*more, "--quirk", f"{name}={value}"]


class Quirks(Case):
    def test_defaults(self):
        self.check({}, status=0)

    def test_each_value(self):
        """One quirk at a time: that one is found, and everything else as by default."""
        for name, values in QUIRKS.items():
            for value in values:
                if name in NO_EXPERIMENT | {"pf2-verbs", "rx-coalesced"}:
                    continue
                with self.subTest(name=name, value=value):
                    expected = {} if value == values[0] else {name: value}
                    self.check(expected, *machine(name, value), status=0)

    def test_coalescing(self):
        for value in QUIRKS["rx-coalesced"]:
            self.check({"rx-coalesced": value}, *machine("rx-coalesced", value), status=0)

    def test_second_physical_function(self):
        self.check({"pf2-verbs": "taken"}, *machine("pf2-verbs", "taken"), status=0)
        found = self.run_program(*machine("pf2-verbs", "refused"), status=1)
        self.assertEqual(found.pop("pf2-verbs"), "refused")
        self.assertEqual(set(found.values()), {"undecided"})

    def test_options(self):
        for options, expected in {
                ("--cq-doorbell", "strict"): {"cq-doorbell": "strict"},
                ("--max-mtu", "9000"): {"max-frame": "9014"},
                ("--max-mtu", "9216"): {"max-frame": "9230"},
                ("--vp-offset", "255"): {"vp-offset": "255"}}.items():
            self.check(expected, *options, status=0)

    def test_smallest_mtu(self):
        """Most frames are too long: nothing wrong is concluded from that."""
        found = self.run_program("--max-mtu", "68", status=1)
        self.assertEqual(found.pop("max-frame"), "82")
        wrong = {name: value for name, value in found.items()
                 if value not in (DEFAULTS[name], "undecided")}
        self.assertEqual(wrong, {})

    def test_large_vport_offset(self):
        """The short form is impossible: those questions are undecided."""
        self.check({"vp-offset": "300", "short-vp-form": "undecided",
                    "long-vp-offset": "undecided"}, "--vp-offset", "300", status=1)

    def test_policy_of_the_network(self):
        """Frames that the network drops decide nothing."""
        self.check({**dict.fromkeys(("trans-off-inserted-tag", "lso-inline-tag", "rx-vlan",
                                     "rx-second-tag"), "undecided"),
                    "network-vlan": "refused"}, "--enforce", "vlan", status=1)
        for word, value in (("sa", "refused"), ("etype", "refused"), ("dmac", "filtered")):
            found = self.run_program("--enforce", word,
                                     args=["--only", ",".join(name for name in OBSERVED
                                                              if name.startswith("network-"))])
            self.assertEqual({name: found[name] for name in found
                              if found[name] != OBSERVED[name]}, {f"network-{word}": value})

    def test_arguments(self):
        for name, value, argument in (
                ("short-vp-form", "refused", "tx_oob=long"),
                ("tx-wqe-offset", "zero", "tx_suppress=0"),
                ("tx-suppress", "ignored", "tx_suppress=0"),
                ("ring-max", "8k", "max_desc=128"),
                ("tx-suppress", "honoured", ""),
                ("long-vp-offset", "short", "")):   # tx_vport=both works
            self.assertEqual(self.argument(name, *machine(name, value)), argument)

    def test_no_events(self):
        self.assertEqual(self.argument("rx-interrupt", "--kernel", "6.2"), "rx_intr=0")


class Combinations(Case):
    def test_random(self):
        """With any combination, a finding is the value that was set, or undecided."""
        choose = random.Random(1)
        nb_undecided = 0
        for run in range(40):
            chosen = {name: choose.choice(values) for name, values in QUIRKS.items()
                      if name not in NO_EXPERIMENT | {"pf2-verbs"}}
            options = [word for name, value in chosen.items()
                       for word in ("--quirk", f"{name}={value}")]
            with self.subTest(run=run, chosen=chosen):
                found = self.run_program(*COALESCE, *options)
                decided = {name: value for name, value in found.items()
                           if value != "undecided" and name in chosen}
                nb_undecided += found.keys() & chosen.keys() - decided.keys() != set()
                self.assertEqual(decided, {name: chosen[name] for name in decided})
        self.assertLess(nb_undecided, 40)


class Card(Case):
    def setUp(self):
        super().setUp()
        self.card = self.path("card.json")

    def returns(self, *options):
        """The model behaves as the card that was found; returns the findings."""
        found = self.run_program(*options, args=["--json", self.card])
        again = self.run_program("--card", self.card)
        self.assertEqual(found, again)
        return found

    def test_each_value(self):
        for name, values in QUIRKS.items():
            for value in values[1:]:
                if name not in NO_EXPERIMENT:
                    with self.subTest(name=name, value=value):
                        self.returns(*machine(name, value))

    def test_options(self):
        found = self.returns("--coalesce", "--cq-doorbell", "strict", "--max-mtu", "4000",
                             "--vp-offset", "17")
        self.assertEqual([found[name] for name in ("rx-coalesced", "cq-doorbell", "max-frame",
                                                   "vp-offset")],
                         ["4", "strict", "4014", "17"])

    def test_policy_of_the_network(self):
        for words in ("dmac", "sa,etype,vlan"):
            self.returns("--enforce", words)
            with open(self.card, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["options"]["enforce"], words)

    def test_what_was_examined(self):
        self.run_program("--rnic", "--device-id", "b9",
                         args=["--only", "runts", "--json", self.card])
        with open(self.card, encoding="utf-8") as file:
            card = json.load(file)
        self.assertRegex(card["date"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        with open(os.path.join(TOP, "VERSION"), encoding="ascii") as file:
            self.assertEqual(card["program"], file.read().strip())
        adapter = card["adapter"]
        self.assertEqual(adapter["pci-id"], "1414:00b9")
        self.assertRegex(adapter["libmana"], r"^libmana\.so\.[0-9.]+$")
        self.assertEqual(adapter["kernel"], os.uname().release)
        self.assertGreater(adapter["limits"]["max_qp_wr"], 0)
        self.assertIn("revision", adapter)
        self.assertIn("speed-mbps", adapter)

    def vm_size(self, *args, before=()):
        self.run_model("--quiet", "--", *before, PROGRAM, *args, "--only", "runts", "--json",
                       self.card)
        with open(self.card, encoding="utf-8") as file:
            return json.load(file)["adapter"]["vm-size"]

    def test_size_of_the_machine(self):
        """That of the option, or of the file of cloud-init, in a namespace of its own."""
        self.assertEqual(self.vm_size("--vm-size", "Standard_D8s_v5"), "Standard_D8s_v5")
        namespace = ["unshare", "--mount", "--map-root-user"]
        if subprocess.run([*namespace, "true"], check=False).returncode != 0:
            self.skipTest("no namespace of mounts")
        for text, size in (('{"ds": {"meta_data": {"imds": {"compute": {"vmSize": '
                            '"Standard_M1"}}}}}', "Standard_M1"),
                           ('{"ds": {"meta_data": {}}}', None), ("[]", None), ("{", None)):
            with open(self.path("data"), "w", encoding="ascii") as file:
                file.write(text)
            script = ('mount -t tmpfs none /run; mkdir /run/cloud-init; '
                      'cp "$0" /run/cloud-init/instance-data.json; exec "$@"')
            before = [*namespace, "sh", "-ec", script, self.path("data")]
            self.assertEqual(self.vm_size(before=before), size, text)

    def test_interrupted(self):
        """The file is there from the beginning, and has what was found until then."""
        process = self.start_model("--quiet", "--", PROGRAM, "--json", self.card)
        for _ in range(3):
            process.stdout.readline()
        process.terminate()
        process.wait()
        with open(self.card, encoding="utf-8") as file:
            findings = json.load(file)["findings"]
        self.assertEqual([finding["name"] for finding in findings[:2]],
                         ["short-vp-form", "vp-offset"])
        self.check({}, "--card", self.card, status=0)

    def test_report_for_people(self):
        path = self.path("report.txt")
        self.run_program(args=["--report", path, "--only", "runts,vp-offset"], status=0)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for pattern in (r"^Date: 20\d\d-", r"^Linux: " + re.escape(os.uname().release),
                        r"^manae_0:1 +mana0p0 +down", r"^runts +taken ", "MAINTAINERS",
                        "^The kernel's log about the adapter$"):
            self.assertRegex(text, re.compile(pattern, re.MULTILINE))
        self.assertNotIn("Incomplete", text)
        # The card in it is that of --json.
        card = json.loads(text[text.index("\n{\n"):])
        self.assertEqual(card["quirks"], {"runts": "taken"})
        self.assertNotRegex(text, r"(?i)([0-9a-f]{2}:){5}[0-9a-f]{2}")
        done = self.run_model("--quiet", "--", PROGRAM, "--report", "/nonexistent/x")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("cannot write /nonexistent/x: No such file", done.stderr)
        # An interrupted run leaves what is known.
        process = self.start_model("--quiet", "--", PROGRAM, "--report", path)
        process.stdout.readline()
        process.terminate()
        process.wait()
        with open(path, encoding="utf-8") as file:
            self.assertIn("Incomplete", file.read())

    def test_report_hides_addresses(self):
        if os.getuid() != 0:
            self.skipTest("needs root, for another /etc/os-release")
        path, release = self.path("report.txt"), self.path("os-release")
        with open(release, "w", encoding="ascii") as file:
            file.write("PRETTY_NAME=System of 00:0D:3a:12:34:56, not 00:0d:3a:12:34\n")
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", f"mount --bind {release} /etc/os-release && "
             f"exec {MODEL} --quiet -- {PROGRAM} --only runts --report {path}"],
            env=self.env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as file:
            self.assertIn("\nSystem: System of 00:0D:3a:xx:xx:xx, not 00:0d:3a:12:34\n",
                          file.read())

    def test_later_version(self):
        """What is known is taken, the rest left out with a warning."""
        with open(self.card, "w", encoding="utf-8") as file:
            json.dump({"format": "mana-card", "version": 2,
                       "options": {"max-mtu": 4000, "colour": "red"},
                       "quirks": {"runts": "padded", "new": "yes", "rx-scatter": "new"}}, file)
        done = self.run_model("--quiet", "--card", self.card, "--report", self.report_path,
                              "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.report()["quirks"], {"runts": "padded"})
        for text in ("has version 2", 'option "colour" is unknown', 'quirk "new=yes" is unknown',
                     'quirk "rx-scatter=new" is unknown'):
            self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 4)

    def test_offset_of_another_port(self):
        """The option is the offset of port 1, and is left out if port 2 has sent."""
        found = self.run_program("--vp-offset", "9", args=["--port", "2", "--json", self.card])
        self.assertNotEqual(found["vp-offset"], "9")
        self.check({}, "--card", self.card, status=0)

    def test_later_options_win(self):
        self.run_program("--quirk", "runts=padded", args=["--json", self.card])
        found = self.run_program("--card", self.card, "--quirk", "runts=refused")
        self.assertEqual(found["runts"], "refused")

    def test_undecided_is_no_quirk(self):
        self.run_program("--enforce", "vlan", args=["--json", self.card])
        with open(self.card, encoding="utf-8") as file:
            card = json.load(file)
        self.assertNotIn("rx-second-tag", card["quirks"])
        self.assertIn({"name": "rx-second-tag", "value": "undecided", "argument": "",
                       "seen": "a frame with two tags: TX_VLAN_TAGGING_VIOLATION",
                       "measured": False,
                       "question": "does the adapter parse behind a second VLAN tag?"},
                      card["findings"])

    def refused(self, text, *messages):
        with open(self.card, "w", encoding="utf-8") as file:
            file.write(text)
        done = self.run_model("--card", self.card, "--", "true")
        self.assertEqual(done.returncode, 125)
        for message in messages:
            self.assertIn(message, done.stderr)

    def test_bad_files(self):
        head = '{"format": "mana-card", "version": 1, '
        self.refused("", "line 1")
        self.refused("{", "line 1")
        self.refused("[]", "no card", "mana-first-contact --json")
        self.refused("{}", "no card")
        self.refused('{"format": 1, "version": 1}', "no card")
        self.refused('{"format": "mana-card", "version": 0}', "its version is not 1 or later")
        self.refused('{"format": "mana-card"}', "its version is not 1 or later")
        self.refused(head + '"quirks": []}', '"quirks" is no object')
        self.refused(head + '"options": 1}', '"options" is no object')
        self.refused(head + '"quirks": {"runts": 1}}', "runts", "give a word")
        self.refused(head + '"quirks": {"runts": "x"}}', "quirk: 'runts=x' is refused",
                     "taken|padded|refused")
        self.refused(head + '"quirks": {"x": "y"}}', "'x=y' is refused")
        self.refused(head + '"quirks": {"' + "x" * 300 + '": "y"}}', "give a word")
        self.refused(head + '"quirks": {"runts": "taken", "runts": "taken"}}', "duplicate")
        self.refused(head + '"options": {"mode": "step"}}', '"mode" is no option of a card')
        self.refused(head + '"options": {"max-mtu": 1}}', "max-mtu: '1' is refused",
                     "from 68 to 9216")
        self.refused(head + '"options": {"max-mtu": [1]}}', "give a number or a word")
        self.refused(head + '"options": {"coalesce": "yes"}}', "give true or false")
        self.refused(head + '"options": {"cq-doorbell": "x"}}', "lax, strict")
        done = self.run_model("--card", self.path("none"), "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("No such file", done.stderr)


class Kernels(Case):
    def test_newest(self):
        self.check({}, "--rnic", status=0)

    def test_6_12(self):
        self.check({}, "--kernel", "6.12", "--rnic", status=0)

    def test_6_2(self):
        """There are no completion events."""
        self.check({"rx-interrupt": "no", "cq-created-armed": "undecided",
                    "cq-index": "undecided"}, "--kernel", "6.2", status=1)

    def test_thread(self):
        for options in ([], ["--quirk", "tx-suppress=ignored"], ["--coalesce"]):
            expected = {"tx-suppress": "ignored"} if "--quirk" in options else {}
            if options == ["--coalesce"]:
                expected = {"rx-coalesced": "4"}
            self.check(expected, "--mode", "thread", *options,
                       args=["--wait", PATIENCE_MS], status=0)

    def test_destination(self):
        """Frames to another address, as of a gateway, arrive if the network says so."""
        self.check({}, args=["--dst", "12:34:56:78:9a:bc", "--ip4", "10.0.0.4,10.0.0.5",
                             "--ip6", "fd00::4,fd00::5"], status=0)
        found = self.run_program("--enforce", "dmac", args=["--dst", "12:34:56:78:9a:bc"])
        self.assertEqual({found[name] for name in ("runts", "rx-vlan", "rss-hash")},
                         {"undecided"})
        self.assertEqual(found["tx-wqe-offset"], "filled")

    def test_two_functions(self):
        self.check({}, "--functions", "2", "--ports", "1", "--wire", "1=pair:2", status=0)

    def test_leaves_nothing(self):
        self.run_program("--report", self.report_path)
        report = self.report()
        self.assertEqual(set(report["leaks"].values()), {0})
        self.assertEqual(set(report["objects"].values()), {0})


class Peer(Case):
    # The peer cannot return what a short buffer has cut off, or what is not for it.
    WITH_PEER = dict.fromkeys(("rx-buffer-min", "network-dmac", "network-multicast"),
                              "undecided")

    def run_with_peer(self, *options):
        """One port, and a peer at the other port that returns the frames."""
        name = f"first-contact-{os.getpid()}"
        peer = self.start_model("--quiet", "--name", name, *options, "--", PROGRAM, "--port",
                                "2", "--reflect")
        self.assertIn(f"returns frames to {mac(1)}", peer.stdout.readline())
        done = self.run_model("--join", name, "--", PROGRAM, "--port", "1", "--peer", mac(1))
        found = {match[1]: match[2] for match in map(LINE.fullmatch, done.stdout.splitlines())
                 if match}
        peer.terminate()
        peer.communicate(timeout=60)
        return {name: value for name, value in found.items()
                if value != DEFAULTS.get(name) and name not in MEASURED}, len(found)

    def test_defaults(self):
        different, nb = self.run_with_peer()
        self.assertEqual(different, self.WITH_PEER)
        self.assertEqual(nb, len(DEFAULTS) + len(MEASURED))

    def test_quirks(self):
        for name, value in (("runts", "padded"), ("rx-scatter", "silent"),
                            ("short-vp-form", "refused"), ("fragment-hash", "none")):
            different, _ = self.run_with_peer(*machine(name, value))
            self.assertEqual(different, {**self.WITH_PEER, name: value})

    def test_loop(self):
        """The peer does not return its own frames."""
        name = f"first-contact-{os.getpid()}"
        peer = self.start_model("--quiet", "--name", name, "--wire", "loop", "--", PROGRAM,
                                "--port", "2", "--reflect")
        self.assertIn("returns frames", peer.stdout.readline())
        # Meanwhile the peer works.
        done = self.run_model("--join", name, "--", PROGRAM, "--port", "1", "--peer", mac(0),
                              "--only", "runts")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        peer.terminate()
        self.assertIn("returned 0 frames", peer.communicate(timeout=60)[0])


class Netvsc(Case):
    """The host delivers to a synthetic device, until --netvsc has it deliver to the VF."""
    UIO = ["--netvsc", "uio"]

    def setUp(self):
        super().setUp()
        self.name = f"netvsc-{os.getpid()}"

    @staticmethod
    def device(port):
        """The name of the VMBus device of a port, from 0."""
        head, tail = f"000d3a00-{port + 1:04x}", f"{port + 1:04x}000d3a00"
        return f"{head}-000d-3a00-{tail}"

    def paths(self):
        """Per port: where the host delivers at the end, and the switches to and fro."""
        report = self.report()
        wrong = [violation["name"] for violation in report["violations"]
                 if violation["name"].startswith(("vmbus_", "nvs_", "rndis_"))]
        self.assertEqual(wrong, [])
        return [(port["synthetic"]["path"], port["synthetic"]["to_vf"],
                 port["synthetic"]["to_synthetic"]) for port in report["ports"]]

    def test_all_decided(self):
        """With the device of the port that receives, and with both."""
        found = self.run_program(*self.UIO, status=1)
        undecided = [name for name in found if found[name] == "undecided"]
        self.assertGreater(len(undecided), 30)
        self.assertIn("rss-hash", undecided)
        for ports, switched in (([1], [0, 1]), ([0, 1], [1, 1])):
            args = [word for port in ports for word in ("--netvsc", self.device(port))]
            self.check({}, *self.UIO, "--report", self.report_path, args=args, status=0)
            self.assertEqual(self.paths(), [("synthetic", n, n) for n in switched])

    def test_other_adapters(self):
        args = ["--netvsc", self.device(1)]
        self.check({"runts": "padded"}, *self.UIO, *machine("runts", "padded"), args=args,
                   status=0)
        self.check({}, *self.UIO, "--mode", "thread", args=["--wait", PATIENCE_MS, *args],
                   status=0)

    def test_peer(self):
        """The peer and the one who asks take their paths, and give them back."""
        peer = self.start_model("--quiet", "--name", self.name, *self.UIO, "--report",
                                self.report_path, "--", PROGRAM, "--port", "2", "--reflect",
                                "--netvsc", self.device(1))
        self.assertIn(f"returns frames to {mac(1)}", peer.stdout.readline())
        done = self.run_model("--join", self.name, "--", PROGRAM, "--port", "1", "--peer",
                              mac(1), "--netvsc", self.device(0), "--only", "runts,max-frame")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        peer.terminate()
        self.assertRegex(peer.communicate(timeout=60)[0], r"returned [1-9]\d* frames")
        self.assertEqual(peer.returncode, 0)
        self.assertEqual(self.paths(), [("synthetic", 1, 1)] * 2)

    def test_signals(self):
        """The path goes back behind the present question; even if the program is killed."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(signal=number.name):
                process = self.start_model("--quiet", *self.UIO, "--report",
                                           self.report_path, "--", "sh", "-c",
                                           f'echo $$; exec {PROGRAM} --netvsc '
                                           f'{self.device(1)}')
                pid = int(process.stdout.readline())
                process.stdout.readline()
                os.kill(pid, number)
                text = process.communicate(timeout=60)[0]
                self.assertEqual(process.returncode, 128 + number)
                self.assertNotIn("questions", text)
                self.assertEqual(self.paths(), [("synthetic", 0, 0), ("synthetic", 1, 1)])

    def test_errors(self):
        """After an error, too."""
        report = ["--report", self.report_path]
        args = ["--netvsc", self.device(1)]
        done = self.run_model("--quiet", *self.UIO, *report, "--", PROGRAM, *args, "--json",
                              "/nonexistent/x")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("cannot write /nonexistent/x", done.stderr)
        self.assertEqual(self.paths(), [("synthetic", 0, 0), ("synthetic", 1, 1)])
        for machine_options, uuid, message in (
                (self.UIO, "../../x", "'../../x' is no device of the VMBus"),
                (self.UIO, self.device(7), "there is no /sys/bus/vmbus/devices/"),
                (["--netvsc=hv"], self.device(1), "does not belong to uio_hv_generic"),
                ([], self.device(1), "there is no /sys/bus/vmbus/devices/"),
                ([*self.UIO, "--ports", "3"], self.device(2),
                 f"has the address {mac(2)}, as none of the ports")):
            done = self.run_model("--quiet", *machine_options, "--", PROGRAM, "--netvsc", uuid)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(message, done.stderr)
        done = self.run_model("--quiet", *self.UIO, "--", PROGRAM, *args, *args)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"--netvsc: {self.device(1)} twice", done.stderr)

    def test_used_by_another_program(self):
        peer = self.start_model("--quiet", "--name", self.name, *self.UIO, "--report",
                                self.report_path, "--", PROGRAM, "--port", "2", "--reflect",
                                "--netvsc", self.device(1))
        peer.stdout.readline()
        done = self.run_model("--join", self.name, "--", PROGRAM, "--port", "1", "--peer",
                              mac(1), "--netvsc", self.device(1))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(f"another program uses {self.device(1)}", done.stderr)
        peer.terminate()
        peer.communicate(timeout=60)
        self.assertEqual(self.paths(), [("synthetic", 0, 0), ("synthetic", 1, 1)])

    def test_host_takes_the_vf(self):
        """It is said once, and the program ends as usual."""
        peer = self.start_model("--quiet", "--name", self.name, *self.UIO, "--", PROGRAM,
                                "--port", "2", "--reflect", "--netvsc", self.device(1),
                                stderr=subprocess.STDOUT)
        self.assertIn("returns frames", peer.stdout.readline())
        done = self.run_model("ctl", self.name, "service", "fn=0", "kind=revoke")
        self.assertEqual(done.returncode, 0, done.stderr)
        line = peer.stdout.readline()
        while "moved the data path" not in line:
            self.assertIn("mana", line)
            line = peer.stdout.readline()
        peer.terminate()
        self.assertNotIn("moved the data path", peer.communicate(timeout=60)[0])


class Watch(Case):
    """What happens to the adapter is printed in its order."""

    def setUp(self):
        super().setUp()
        self.name = f"watch-{os.getpid()}"

    def ctl(self, *words):
        done = self.run_model("ctl", self.name, *words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def await_line(self, pattern):
        """Reads lines up to the one that has the pattern; returns them."""
        seen = []
        for line in self.process.stdout:
            seen.append(line)
            self.assertRegex(line, r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} +[+-]\d+\.\d{6} "
                                   r" (verbs|watch|uevent|link|kernel) +\S")
            if re.search(pattern, line):
                return "".join(seen)
        self.fail(f"no line {pattern} in\n{''.join(seen)}")

    def test_services(self):
        self.process = self.start_model("--quiet", "--name", self.name, "--functions", "2",
                                        "--ports", "1", "--", "sh", "-c",
                                        f"ip link set mana0p0 up; exec {PROGRAM} --watch")
        self.await_line("watch .* RDMA devices now: 2$")
        self.ctl("link", "port=1", "down")
        self.await_line("link .*mana0p0 .*: up, no carrier, master 0$")
        self.ctl("link", "port=1", "up")
        self.await_line("link .*mana0p0 .*: up, has carrier, master 0$")
        for _ in range(2):
            self.ctl("fatal", "fn=0")
            self.await_line(r"verbs +manae_\d: DEVICE_FATAL$")
            self.await_line(r"uevent +remove infiniband manae_\d$")
            self.ctl("return", "fn=0")
            self.await_line(r"verbs +manae_\d: watched$")
        self.ctl("remove", "fn=1")
        self.await_line(f"uevent +remove pci {pci(1)}$")
        self.await_line("link .*: gone$")
        self.ctl("return", "fn=1")
        self.await_line(f"uevent +add pci {pci(1)}$")
        self.await_line(r"verbs +manae_\d: watched$")
        self.process.terminate()
        self.assertEqual(self.process.wait(), 0)

    def test_each_kind_of_service(self):
        """Loss and return of the RDMA device, and of the PCI function if that leaves."""
        self.process = self.start_model("--quiet", "--name", self.name, "--ports", "1",
                                        "--netvsc=hv", "--", PROGRAM, "--watch")
        self.await_line("watch .* RDMA devices now: 1$")
        rdma = [r"uevent +remove infiniband manae_\d$", r"uevent +add infiniband_verbs uverbs"]
        function = [f"uevent +remove pci {pci(0)}$", f"uevent +add pci {pci(0)}$"]
        for kind, patterns in {"reset": rdma, "remove": rdma + function,
                               "move": rdma + function, "reconfigure": rdma + function,
                               "revoke": rdma + function}.items():
            self.ctl("service", "fn=0", f"kind={kind}", "outage=100ms")
            if kind == "revoke":
                self.await_line(f"uevent +remove pci {pci(0)}$")
                self.ctl("return", "fn=0")
                patterns = [rdma[1], function[1]]
            seen = self.await_line(r"verbs +manae_\d: watched$")
            if kind != "revoke":
                patterns = [*patterns, r"verbs +manae_\d: DEVICE_FATAL$"]
            for pattern in patterns:
                self.assertRegex(seen, re.compile(pattern, re.MULTILINE), kind)
            if kind == "reset":
                self.assertNotIn(" pci ", seen)
            else:
                self.assertIn(": down, no carrier, master ", seen)
        self.process.terminate()
        self.assertEqual(self.process.wait(), 0)

    def test_without_adapter(self):
        """It may come later."""
        self.process = self.start_model("--quiet", "--name", self.name, "--", "sh", "-c",
                                        f"echo runs; read go; exec {PROGRAM} --watch",
                                        stdin=subprocess.PIPE)
        self.assertEqual(self.process.stdout.readline(), "runs\n")
        self.ctl("remove", "fn=0")
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.await_line("watch .* RDMA devices now: 0$")
        self.ctl("return", "fn=0")
        self.await_line(r"verbs +manae_\d: watched$")
        self.process.terminate()
        self.assertEqual(self.process.wait(), 0)


class VmCase(Case):
    """The same findings on a real kernel, which a virtual machine runs."""
    kernel, model_kernel = "newest", []
    # Options of mana-vm for the guests of these tests.
    guests = []
    program = "./" + os.path.relpath(PROGRAM, BUILD)

    @classmethod
    def setUpClass(cls):
        for guest in cls.guests:
            prepare_or_skip("--kernel", cls.kernel, *guest)

    def compare(self, *options, guest=0):
        expected = self.run_program("--rnic", *self.model_kernel, *options)
        log = self.path("kernel.log")
        done = subprocess.run(
            [MANA_VM, "--kernel", self.kernel, *self.guests[guest],
             "--ports", "2", "--log", log,
             "--model", " ".join(["--rnic", "--quiet", *options]), "--", "sh", "-c",
             "ip link set eth0 down; ip link set eth1 down; exec " + self.program +
             " --wait " + PATIENCE_MS],
            check=False, capture_output=True, text=True, cwd=BUILD, env=self.env)
        found = {match[1]: match[2] for match in map(LINE.fullmatch, done.stdout.splitlines())
                 if match and match[1] not in MEASURED}
        self.assertEqual(found, expected, done.stderr)
        with open(log, encoding="utf-8", errors="replace") as file:
            self.assertNotRegex(file.read(), r"WARNING:|BUG:|Oops")


class Vm(VmCase):
    guests = [["--userland", "12", *NO_DRIVER], ["--userland", "13", *NO_DRIVER]]

    def nth_values(self, nth):
        """The n-th value of each quirk, or its last."""
        return [word for name, values in QUIRKS.items()
                if name not in NO_EXPERIMENT | {"pf2-verbs"}
                for word in ("--quirk", f"{name}={values[min(nth, len(values) - 1)]}")]

    def test_defaults(self):
        self.compare()

    def test_newer_libraries(self):
        self.compare(guest=1)

    def test_second_values(self):
        self.compare(*COALESCE, *self.nth_values(1))

    def test_third_values(self):
        self.compare(*self.nth_values(2))


class Vm612(Vm):
    kernel, model_kernel = "6.12", ["--kernel", "6.12"]


class VmArm64(VmCase):
    """The program that mana-vm builds for guests of another architecture."""
    guests = [["--arch", "arm64"]]
    program = "mana-first-contact"

    def test_defaults(self):
        self.compare()


class Errors(Case):
    def refused(self, options, args, *messages):
        done = self.run_model("--quiet", *options, "--", *args)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, re.compile("^mana-first-contact: ", re.MULTILINE))
        for message in messages:
            self.assertIn(message, done.stderr)

    def test_usage(self):
        for args, message in {
                ("x",): "'x' is no option",
                ("--only", "runts,x"): "there is no question 'x'",
                ("--port", "manae_0:x"): "is no port: give DEVICE:PORT",
                ("--port", "0"): "is no port",
                ("--port", "7"): "'7' is neither a MANA port nor the netdev of one",
                ("--port", "none_0"): "'none_0' is neither a MANA port",
                ("--rx-port", "1"): "it is the port that sends",
                ("--peer", "1"): "--peer: '1' is no address: give six bytes",
                ("--dst", "1:2"): "--dst: '1:2' is no address",
                ("--peer", mac(1), "--rx-port", "2"): "neither --rx-port",
                ("--ip4", "1.2.3.4"): "give two addresses",
                ("--ip4", "::1,::2"): "not two addresses",
                ("--ip6", "1.2.3.4,x"): "not two addresses",
                ("--wait", "0"): "1 to 60000"}.items():
            with self.subTest(args=args):
                self.refused([], [PROGRAM, *args], message)

    def test_port_in_use(self):
        for kernel in (["--kernel", "7.2"], ["--kernel", "6.12", "--rnic"]):
            for port in range(2):
                self.refused(kernel, ["sh", "-c", f"ip link set mana0p{port} up; {PROGRAM}"],
                             f"port {port + 1}", f"ip link set mana0p{port} down")

    def test_free_ports(self):
        """By default, the ports whose netdevs are down."""
        path = self.path("card.json")
        done = self.run_model("--quiet", "--ports", "3", "--wire", "2=pair:3", "--", "sh", "-c",
                              f"ip link set mana0p0 up; {PROGRAM} --only runts --json {path}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["adapter"]["port"], 2)

    def test_other_namespace(self):
        for port in (1, 2):
            self.refused(self.scenario(f"netns port={port} away"), [PROGRAM],
                         f"port {port}: its netdev", "namespace", "ip netns exec")

    def test_synthetic_device(self):
        """Without a path, the master of the netdev may be the reason."""
        away = ["--enforce", "dmac"]
        lost = [PROGRAM, "--dst", "12:34:56:78:9a:bc", "--only", "runts"]
        for options, text in ((["--netvsc"], True), ([], False)):
            done = self.run_model("--quiet", *options, *away, "--", *lost)
            self.assertEqual(done.returncode, 1)
            self.assertIn("nothing arrives at the other port", done.stderr)
            self.assertEqual("mana0p1 is a slave of another netdev" in done.stderr, text)

    def test_ports_by_netdev(self):
        done = self.run_model("--quiet", "--", PROGRAM, "--list-ports")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split() for line in done.stdout.splitlines()],
                         [["manae_0:1", "mana0p0", "down", pci(0)],
                          ["manae_0:2", "mana0p1", "down", pci(0)]])
        card = self.path("card.json")
        self.run_program(args=["--port", "mana0p1", "--rx-port", "mana0p0", "--only", "runts",
                               "--json", card], status=0)
        with open(card, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["adapter"]["port"], 2)
        for name in ("lo", "manae_9", "7"):
            self.refused([], [PROGRAM, "--port", name],
                         f"'{name}' is neither a MANA port nor the netdev of one",
                         "--list-ports")
        self.refused([], [PROGRAM, "--port", "x:y"], "is no port", "--list-ports")

    def test_default_route(self):
        """The only way out of the machine is left alone: by its address, as of a master."""
        if os.getuid() != 0 or not os.path.exists("/dev/net/tun"):
            self.skipTest("needs root and /dev/net/tun, for an interface with a default route")
        for route in ("ip route add default via 10.1.1.2", "ip -6 route add default dev d0"):
            # --rx-port would be port 2, the next one.
            script = f"""
                ip tuntap add d0 mode tap && ip link set d0 address {mac(1)} &&
                ip link set d0 up && ip addr add 10.1.1.1/24 dev d0 && {route} || exit 9
                {MODEL} --quiet --ports 3 -- {PROGRAM} --list-ports
                {MODEL} --quiet --ports 3 --wire 1=pair:3 -- {PROGRAM} --only runts
                {MODEL} --quiet --ports 3 -- {PROGRAM} --port 2 --only runts"""
            done = subprocess.run(["unshare", "--net", "sh", "-c", script], env=self.env,
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stdout, r"manae_0:2 .* default route: d0\n"
                                          r"manae_0:3 .*\nrunts +taken .*\n"
                                          r"1 questions, 0 undecided\n$")
            self.assertIn("leads through d0", done.stderr)

    def test_single_port(self):
        self.refused(["--ports", "1"], [PROGRAM], "only one MANA port", "--reflect", "--peer")

    def test_no_device(self):
        self.refused(["--kernel", "6.12"], [PROGRAM], "no MANA port", "modprobe")

    def test_kernel_refuses(self):
        for call, message in {"create_qp:1+:EPERM": "CAP_NET_RAW",
                              "reg_mr:1+:ENOMEM": "ulimit -l",
                              "create_cq:1+:EIO": "completion queue",
                              "alloc_pd:1+:EIO": "protection domain"}.items():
            self.refused(["--fault", call], [PROGRAM], message)

    def test_fails_later(self):
        """A failure in the middle: those questions are undecided, with the reason."""
        found = self.run_program("--fault", "create_wq:5+:EIO", status=1)
        self.assertEqual(found["short-vp-form"], "allowed")
        self.assertEqual(found["rx-scatter"], "undecided")

    def test_adapter_dies(self):
        """A queue that stops answers nothing."""
        done = self.run_model("--quiet", *self.scenario("at packet=200 port=1 remove fn=0"),
                              "--", PROGRAM, "--wait", "50")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("undecided", done.stdout)

    def run_scenario(self, lines, *options, only, wait_ms=50):
        """The finding of one question, when the scenario disturbs it."""
        return self.run_program(*self.scenario(*lines), *options,
                                args=["--only", only, "--wait", str(wait_ms)])[only]

    def test_queue_stops(self):
        """A queue that stops without a completion does not show that one was suppressed."""
        found = {self.run_scenario([f"at packet={nth} port=1 stall port=1 tx"],
                                   "--quirk", "tx-suppress=ignored", only="tx-suppress")
                 for nth in range(1, 8)}
        self.assertEqual(found, {"ignored", "undecided"})

    def test_lost_frames(self):
        """A lost frame is sent again before anything follows from it."""
        for name, frames in (("rx-buffer-min", (3, 6, 9)), ("empty-rxq", (98, 99, 100))):
            for nth in frames:
                with self.subTest(name=name, nth=nth):
                    found = self.run_scenario([f"at packet={nth} port=1 link port=2 down",
                                               f"at packet={nth + 1} port=1 link port=2 up"],
                                              only=name)
                    self.assertEqual(found, DEFAULTS[name])

    def test_lost_for_ever(self):
        """The link goes down in the middle: nothing follows from the lost frames."""
        for name, nth in (("rx-buffer-min", 5), ("empty-rxq", 99)):
            self.assertEqual(self.run_scenario([f"at packet={nth} port=1 link port=2 down"],
                                               only=name), "undecided")

    def test_wrong_completions(self):
        """Completions that a correct adapter never writes do no harm."""
        for kind, port in (("long", "2 rx"), ("type type=63", "2 rx"), ("zero", "2 rx"),
                           ("wrong-queue", "2 rx"), ("wrong-owner", "2 rx"),
                           ("spurious", "2 rx"), ("duplicate", "2 rx"), ("random", "2 rx"),
                           ("wrong-queue", "1 tx"), ("spurious", "1 tx"),
                           ("random", "1 tx")):
            with self.subTest(kind=kind, port=port):
                lines = self.scenario(f"bogus port={port} what={kind} every=3")
                done = self.run_model("--quiet", *lines, "--", PROGRAM, "--wait", "5")
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertRegex(done.stdout, r"\n[0-9]+ questions, [0-9]+ undecided\n$")

    def test_json_cannot_be_written(self):
        done = self.run_model("--quiet", "--", PROGRAM, "--only", "runts", "--json",
                              "/nonexistent/x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write /nonexistent/x: No such file", done.stderr)
        self.assertEqual(done.stdout, "")       # before the first question

    def test_list(self):
        listed = {line.split()[0] for line in subprocess.run(
            [PROGRAM, "--list"], check=True, capture_output=True, text=True).stdout.splitlines()}
        self.assertEqual(listed, DEFAULTS.keys() | MEASURED)

    def test_guide(self):
        """The guide explains each question: here, or as a quirk."""
        with open(os.path.join(TOP, "doc/guides/first-contact.rst"), encoding="utf-8") as file:
            explained = re.findall(r"^   \* - ``([a-z0-9-]+)``$", file.read(), re.MULTILINE)
        self.assertEqual(set(explained), OBSERVED.keys() | MEASURED)


if __name__ == "__main__":
    main()
