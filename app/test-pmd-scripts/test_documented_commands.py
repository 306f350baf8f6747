#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the command lines of the README and the guides as printed.

A command block is fenced by "sh" in Markdown; in reStructuredText it is a code block of
type "console". All blocks of a variant run in one shell, in order, in a folder that
looks like the checkout, with standard input closed. Each command must succeed. A block
of type "text" after a command block contains its output: the lines must appear in this
order. "..." matches any lines, a number of five digits or more any number.

Also checks names of scripts and tests, and the driver's messages, in the text.
"""

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import machine
import vm
from harness import check, check_equal, check_report, main
from model import BUILD, TOP, Model, mac, plugin_arguments, program_environment
from netvsc import STATES, UUID
from testpmd import memory_arguments

DOCUMENTS = {
    "readme": ["README.md", "CONTRIBUTING.md"],
    "driver": ["doc/guides/nics/mana.rst", "doc/guides/nics/mana-reference.rst",
               "doc/guides/nics/mana-doctor.rst", "doc/guides/nics/mana-recipes.rst",
               "doc/guides/nics/mana-performance.rst",
               "doc/guides/nics/mana-datapath.rst",
               "doc/guides/nics/mana-control.rst", "doc/guides/nics/mana-assumptions.rst",
               "doc/guides/nics/mana-scale.rst", "doc/guides/nics/mana-assurance.rst",
               "doc/guides/nics/mana-distributions.rst",
               "doc/guides/nics/mana-results.rst", "doc/guides/release-notes.rst",
               "doc/guides/glossary.rst", "doc/guides/first-contact.rst",
               "doc/guides/known-problems/linux-mtu-with-raw-queues.rst"],
    "model": ["doc/guides/model.rst", "doc/guides/model-traffic.rst",
              "doc/guides/model-control.rst", "doc/guides/model-trace.rst",
              "doc/guides/model-netvsc.rst", "doc/guides/model-violations.rst",
              "doc/guides/model-behaviour.rst"],
    "vm": ["doc/guides/model-pci.rst"],
}

MESSAGES = "doc/guides/nics/mana-reference.rst"

# First lines of blocks that are not run, and the reasons.
NOT_RUN = {
    "export MANA_WIRE_FRAMES=10000000 MANA_WIRE_BYTES=10000000":
        "takes hours; model-vm-wire runs it with fewer frames",
    "devtools/kernel-matrix.py --arch arm64 --userlands 12 io-no-huge io-queues \\":
        "takes ten minutes; vm-newest-12-arm64-paths-io-vector is one of its runs",
    "./test": "runs this test",
    "devtools/analyze.py": "takes minutes; ./test --full runs it",
    "devtools/coverage.sh driver": "takes minutes; ./test --full runs it",
    "devtools/mutants.py --all": "takes long; ./test --full runs a sample",
    "devtools/run-tsan.sh": "takes a minute; ./test --full runs it",
    "devtools/fault-sweep.sh": "takes half an hour; the test fault runs a part",
    "devtools/soak.sh --packets 1000000000 --seed 1":
        "takes an hour; the test soak sends fewer packets",
    "MANA_MULTI_PROCESS_ROUNDS=100 MANA_BUILD=$PWD/build \\":
        "takes an hour; the tests multi_process have fewer rounds",
    "meson setup build -Dwerror=true": "builds, and this test runs in a build",
    "devtools/build-deb.sh --release 13 --tree ~/dpdk-stable@v24.11.6":
        "takes minutes; devtools/build-deb.sh --check builds and installs the packages",
    "devtools/debian.sh --tree ~/dpdk@v25.11.2 sid some":
        "takes minutes, and needs root; ./test --full runs it",
    "meson setup build -Dtests=false": "builds, and this test runs in a build",
    "apt-get install linux-image-6.12-amd64": "installs a kernel",
    "apt-get install git cmake python3-pip libudev-dev libnuma-dev": "another distribution",
    "dnf config-manager --set-enabled crb": "another distribution",
    "tdnf install azurelinux-repos-extended git libnuma-devel": "another distribution",
    "git clone --depth 1 --branch v50.0 https://github.com/linux-rdma/rdma-core ../rdma-core":
        "another distribution",
    "export PKG_CONFIG_PATH=/opt/mana/lib/pkgconfig LD_LIBRARY_PATH=/opt/mana/lib":
        "another distribution",
    "uname -r": "a machine of Azure",
    "modprobe -a mana mana_ib ib_uverbs": "loads modules of the real kernel",
    "setcap cap_net_raw,cap_ipc_lock+ep /usr/bin/dpdk-testpmd":
        "changes an installed program",
    "dpdk-hugepages.py --setup 1G": "changes the machine's memory",
    "ip link set dev eth1 down": "an interface of the reader's machine",
    "ip link show master eth1": "a machine of Azure: the variant azure runs it",
    "mana-first-contact --reflect                          # on the second machine":
        "two machines with the adapter",
    "mana-first-contact --rx-port $VF --netvsc $DEV_UUID --ip4 10.0.0.4,10.0.0.5":
        "a machine of Azure: first-contact-netvsc tests it",
    "mana-first-contact --watch | tee service.log":
        "runs until it is interrupted: first-contact-watch tests it",
    "mana-first-contact --ip4 10.0.0.4,10.0.0.5 --dst 12:34:56:78:9a:bc":
        "a machine of Azure",
    "SYN=eth1": "a machine of Azure: the variant azure runs it",
    "NET_UUID=f8615163-df3e-46c5-913f-f2d2f965ed0e": "a machine of Azure: the variant azure runs it",
    "dpdk-testpmd -l 0-2 -d .../librte_net_mana.so -a $PCI,mac=$MAC -- -i":
        "a machine of Azure: the variant azure runs it",
    "echo $DEV_UUID > /sys/bus/vmbus/drivers/uio_hv_generic/unbind":
        "a machine of Azure: the variant azure runs it",
    "ovs-vsctl set Open_vSwitch . other_config:dpdk-init=true \\":
        "needs a running switch: testpmd-openvswitch-ping has these options",
    "build/model/mana-model --name m -- dpdk-testpmd --proc-type=primary ...":
        "has a place for the reader's own arguments",
    "dpdk-testpmd ARGUMENTS 2>&1 | dpdk-mana-doctor --explain - -- dpdk-testpmd ARGUMENTS":
        "has a place for the reader's own arguments",
    "build/model/mana-vm --ports 2 -- ibv_devinfo": "a guest: the variant vm runs it",
    "devtools/install-deps.sh": "installs, builds, and opens a shell",
    "ip -br link": "commands for that shell",
    "build/model/mana-model --pci /tmp/mana --ports 2 --name m":
        "runs until it is interrupted: model-pci tests it",
    "qemu-system-x86_64 -machine q35,memory-backend=ram -m 2G -smp 4 \\":
        "has a place for the reader's own disk",
    "mana-vm --kernel ~/linux --ports 2 -i": "a kernel of the reader",
    "build/model/mana-vm --share none --log log -- sh -c 'ip link set eth0 up":
        "takes a minute: model-vm-by-hand suspends a guest",
    "lib=trixie-root/usr/lib/x86_64-linux-gnu":
        "needs the root of Debian 13: model-trixie runs programs of it",
}

# Blocks for a machine with the adapter run on a modelled one with these options, and
# are interrupted after a few seconds if they have no end.
ON_THE_MODEL = {
    "dpdk-testpmd -d build/drivers/librte_net_mana.so -a 7870:00:00.0,"
    "mac=00:0d:3a:00:00:01 -- -i": "--ports=2",
    "dpdk-testpmd -d build/drivers/librte_net_mana.so -a 7870:00:00.0 -- -i": "--ports=2",
    "dpdk-testpmd -l 0,1 -d build/drivers/librte_net_mana.so \\": "--ports=2",
    "dpdk-pmdinfo.py build/drivers/librte_net_mana.so": "--ports=2",
}

# Replacements for blocks that also build.
STAND_INS = {"./demo": "devtools/main-job.sh 3 build"}

# Commands that mark a block as commands.
COMMAND = re.compile(r"^\s*(\$ )?(build/model/mana-model|dpdk-testpmd|dpdk-pmdinfo.py|meson|"
                     r"ninja|modprobe|setcap|ip|ovs-vsctl|\./(demo|test)|devtools/\S+) ")
# Literal blocks that contain such a line but are no shell commands.
SESSIONS = ("Subject: net: mana: NULL dereference",)


class Block:
    """A literal block of a document: kind is "commands", "output" or "other"."""

    def __init__(self, document, kind, lines):
        self.document = document
        self.kind = kind
        self.lines = lines
        self.printed = []       # expected output from the document

    @property
    def first(self):
        return self.lines[0].strip()

    def __repr__(self):
        return f"{self.document}: {self.first}"


def markdown_blocks(name, text):
    for word, body in re.findall(r"^```(\S*)[^\n]*\n(.*?)^```$", text, re.M | re.S):
        kind = {"sh": "commands", "text": "output"}.get(word, "other")
        yield Block(name, kind, body.splitlines())


def indent_of(line):
    return len(line) - len(line.lstrip())


def rst_blocks(name, text):
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        found = re.match(r"^\s*\.\. code-block:: *(\S+)$", line)
        if not found and (not line.endswith("::") or line.lstrip().startswith(".. ")):
            continue
        body = []
        while at < len(lines) and (not lines[at].strip()
                                   or indent_of(lines[at]) > indent_of(line)):
            body.append(lines[at])
            at += 1
        while body and not body[-1].strip():
            body.pop()
        while body and not body[0].strip():
            body.pop(0)
        if not body:
            continue
        margin = min(indent_of(one) for one in body if one.strip())
        kind = {"console": "commands", "text": "output"}.get(
            found.group(1) if found else "", "other")
        yield Block(name, kind, [one[margin:] for one in body])


def text_of(name):
    return Path(TOP, name).read_text(encoding="utf-8")


@functools.lru_cache(maxsize=None)
def blocks_of(name):
    reader = markdown_blocks if name.endswith(".md") else rst_blocks
    return list(reader(name, text_of(name)))


def commands_of(name):
    """The command blocks with their documented output."""
    made = []
    for block in blocks_of(name):
        if block.kind == "commands":
            made.append(block)
        elif block.kind == "output" and made and not made[-1].printed:
            made[-1].printed = block.lines
    return made


def script_of(number, block):
    """The shell commands that run a block while the machines they need run."""
    text = STAND_INS.get(block.first, "\n".join(block.lines))
    if block.first in ON_THE_MODEL:
        path = os.path.join(os.getcwd(), f"block{number}.sh")
        Path(path).write_text(f"trap : INT\n{text}\n", encoding="utf-8")
        return (f"build/model/mana-model --fatal-violations {ON_THE_MODEL[block.first]} -- "
                f"timeout --preserve-status --signal=INT 5 sh -eu {path}")
    machines = set(re.findall(r"mana-model ctl (\w+) ", text))
    for name in machines:
        text = (f"build/model/mana-model --quiet --name {name} -- sleep 600 &\n"
                f"until build/model/mana-model ctl {name} report >/dev/null 2>&1; "
                f"do sleep 0.1; done\n{text}\nkill $!\nwait $! || :")
    return text


def matches(line, printed):
    """Whether the printed line matches the line."""
    words = [r".*" if word in ("...", "...,") else
             re.sub(r"\d{5,}", r"\\d+", re.escape(word).replace(r"\.\.\.", r"\S*"))
             for word in printed.split()]
    return re.search(r"\s+".join(words).replace(r"\s+.*", ".*"), line) is not None


def check_printed(block, output):
    rest = iter(output.splitlines())
    for printed in block.printed:
        if printed.strip() in ("", "..."):
            continue
        check(any(matches(line, printed) for line in rest),
              f"{block}: does not print, or not in this order: {printed.strip()}")


def run_blocks(blocks):
    script = ["set -eu"]
    for number, block in enumerate(blocks):
        script += [f"printf '\\n@@@ {number}\\n'", script_of(number, block)]
    Path("blocks.sh").write_text("\n".join(script) + "\n", encoding="utf-8")
    done = subprocess.run(["sh", "blocks.sh"], env=program_environment(), check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=600, text=True,
                          errors="replace")
    outputs = re.split(r"^@@@ \d+\n", done.stdout, flags=re.M)[1:]
    for block, output in zip(blocks, outputs):
        print(f"---- {block}", output[-8000:], sep="\n")
        check_printed(block, output)
    check_equal(f"exit status of {blocks[len(outputs) - 1]}", done.returncode, 0)


def enter_checkout():
    """Creates a folder that looks like the checkout; removed with all output."""
    folder = tempfile.mkdtemp(prefix="documented-", dir=BUILD)
    for name in os.listdir(TOP):
        if not name.startswith((".", "build")):
            os.symlink(os.path.join(TOP, name), os.path.join(folder, name))
    os.symlink(BUILD, os.path.join(folder, "build"))
    os.chdir(folder)
    return folder


def run_in_guests(names):
    for options in ([], ["--kernel", "6.12"]):
        vm.prepare(options)
    run(names, needs_hugepages=False)


def run(names, needs_hugepages=True):
    machine.need_program("tshark", "tshark")
    machine.need_program("ibv_devinfo", "ibverbs-utils")
    if not {0, 1} <= os.sched_getaffinity(0):
        machine.skip("the commands name processors 0 and 1")
    if needs_hugepages:
        machine.reserve_hugepages()
        machine.need_root("mounting a hugetlbfs")
        machine.mount_hugetlbfs()
        # The commands use EAL's default file prefix, as those of other variants do.
        os.environ["RUNTIME_DIRECTORY"] = machine.scratch_folder()
    os.environ["MANA_MODEL_RUNDIR"] = machine.scratch_folder()
    folder = enter_checkout()
    try:
        run_blocks([block for name in names for block in commands_of(name)
                    if block.first not in NOT_RUN])
    finally:
        os.chdir(TOP)
        shutil.rmtree(folder, ignore_errors=True)


# Programs of the chapter Azure that the modelled machine has in another form: its kernel has all
# modules, and testpmd gets its lcores, memory and plug-in, and commands on standard input.
AZURE_PROGRAMS = {
    "modprobe": "exit 0",
    "dpdk-testpmd": """test "$1 $2 $3 $4 $5" = "-l 0-2 -d .../librte_net_mana.so -a"
        shift 4
        LD_PRELOAD="$LD_PRELOAD $STATES"
        PATH=$PLAIN_PATH
        printf '%s\\n' 'show port summary all' 'start tx_first' stop quit |
            exec dpdk-testpmd $SETTINGS "$@" --total-num-mbufs=8192
        """,
}


def azure():
    """
    The chapter Azure of the driver's guide, on a machine whose synthetic device hv_netvsc owns:
    net_netvsc forwards by the VF, and then the kernel has the interface again.
    """
    chapter = re.search(r"^Azure\n-+\n(.*?)^Packages\n-+\n",
                        text_of("doc/guides/nics/mana.rst"), re.M | re.S)
    blocks = [block for block in rst_blocks("Azure", chapter.group(1))
              if block.kind == "commands"]
    check_equal("first words", [block.first.split()[0] for block in blocks],
                ["ip", "SYN=eth1", "NET_UUID=f8615163-df3e-46c5-913f-f2d2f965ed0e",
                 "dpdk-testpmd", "echo"])
    script = "\n".join(["set -eu", *(line for block in blocks for line in block.lines),
                        "ip link show $SYN"]).replace("eth1", "hv0p0")
    model = Model("--ports", "1", "--netvsc=hv")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in AZURE_PROGRAMS.items():
            path = Path(folder, name)
            path.write_text(f"#!/bin/sh -eu\n{text}\n", encoding="utf-8")
            path.chmod(0o755)
        settings = [machine.lcores(2), *plugin_arguments(), *memory_arguments("no-huge", 256)]
        done = subprocess.run(
            model.command("sh", "-c", script), check=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
            env=program_environment() | {
                "PATH": f"{folder}:{os.environ['PATH']}", "PLAIN_PATH": os.environ["PATH"],
                "STATES": STATES, "SETTINGS": " ".join(settings)})
    print(done.stdout)
    check_equal("exit status", done.returncode, 0)
    check_equal("ports", re.findall(r"^\d +[0-9A-F:]{17} +(\S+) +(\S+) ", done.stdout, re.M),
                [(UUID, "net_netvsc")])
    report = model.report()
    check_report(report)
    port = report.ports[mac(0)]
    check_equal("switches to the VF", port["synthetic"]["to_vf"], 1)
    check(port["tx"]["packets"] >= 32, "no packet went by the VF")


def tables():
    """Each table entry has a block, and each command block is marked as one."""
    documents = sorted(sum(DOCUMENTS.values(), []))
    guides = [os.path.relpath(os.path.join(folder, name), TOP)
              for folder, _, names in os.walk(os.path.join(TOP, "doc", "guides"))
              for name in names if name.endswith(".rst")]
    check_equal("documents", documents, sorted(guides + DOCUMENTS["readme"]))
    blocks = [block for name in documents for block in blocks_of(name)]
    firsts = {block.first for block in blocks if block.kind == "commands"}
    for first in [*NOT_RUN, *ON_THE_MODEL, *STAND_INS]:
        check(first in firsts, f"no document has a block of commands with: {first}")
    for block in blocks:
        hidden = [line for line in block.lines if COMMAND.match(line)]
        check(block.kind == "commands" or not hidden
              or block.first.startswith(SESSIONS),
              f"{block}: not marked as commands: {hidden}")


def inline():
    """Commands in sentences name existing scripts and tests."""
    listed = Path(BUILD, "meson-info", "intro-tests.json").read_text(encoding="utf-8")
    for name in sum(DOCUMENTS.values(), []):
        text = " ".join(text_of(name).split())
        for path in re.findall(r"`((?:devtools|app|model|doc|drivers/net/mana)/[\w./-]+)", text):
            check(os.path.exists(os.path.join(TOP, path)), f"{name}: there is no {path}")
        for words in re.findall(r"`meson test -C build ([^`]+)`", text):
            word = words.split()[-1]
            check(f'"{word}"' in listed or f':{word}"' in listed,
                  f"{name}: there is no test or suite {word}")


def driver_texts():
    """The string literals of the driver, one per line."""
    texts = []
    for path in Path(TOP, "drivers", "net", "mana").rglob("*.[ch]"):
        code = re.sub(r'"\s*"', "", path.read_text(encoding="utf-8"))
        texts += re.findall(r'"((?:[^"\\\n]|\\.)*)"', code)
    return "\n".join(texts)


def messages():
    """The driver has the messages of its guide: "..." stands for any text."""
    section = text_of(MESSAGES).split("\nMessages and remedies\n", 1)[1]
    terms = "\n".join(re.findall(r"^(\*.*\*.*)\n {3}\S", section, re.M))
    texts = driver_texts()
    quoted = re.findall(r"\*([^*]+)\*", terms)
    check(len(quoted) > 50, f"only {len(quoted)} messages")
    for message in quoted:
        for part in message.split("..."):
            check(part.strip(" :;") in texts, f"the driver has no message: {message}")


VARIANTS = {"tables": tables, "inline": inline, "messages": messages, "azure": azure}
VARIANTS.update({name: functools.partial(run, names, needs_hugepages=name != "model")
                 for name, names in DOCUMENTS.items()})
VARIANTS["vm"] = functools.partial(run_in_guests, DOCUMENTS["vm"])

if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main(VARIANTS))
