#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-mana-doctor on a modelled machine, and the answers of EAL that name no cause."""

import glob
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

import machine
from harness import check, check_equal, main
from model import BUILD, PLUGIN, TOP, Model, mac, pci, program_environment

DOCTOR = [sys.executable, os.path.join(TOP, "usertools", "dpdk-mana-doctor.py")]
NO_MEMBARRIER = os.path.join(BUILD, "app", "test", "pmd", "no-membarrier")
# What this host lacks is no fault of the modelled machine.
OF_THE_HOST = {"kernel-interrupts", "kernel-mtu", "rings-256", "no-hugepages", "no-hugetlbfs",
               "fork-support", "several-dpdk", "two-plugins", "membarrier", "service-netdev",
               "udev-mtu"}
OF_THE_USER = {"memlock", "no-net-raw"}
# No page in /sys of this mount namespace, or pages and no hugetlbfs.
PAGES = """folder=/sys/kernel/mm/hugepages
mount -t tmpfs none $folder && mkdir $folder/hugepages-2048kB
cd $folder/hugepages-2048kB
echo %s | tee nr_hugepages free_hugepages >nr_overcommit_hugepages
echo 0 | tee surplus_hugepages >resv_hugepages
cd /
umount -a -t hugetlbfs
exec "$@" """


def run(*argv, model=None, before=(), text=None):
    """Runs a program in a modelled machine; returns its exit status and output."""
    command = (model or Model("--ports", "2")).command(*argv)
    done = subprocess.run([*before, *command], env=program_environment(), check=False,
                          input=text or "", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=120)
    return done.returncode, done.stdout


def visit(*words, model=None, before=(), text=None):
    """The doctor's exit status, and its answer."""
    status, output = run(*before, *DOCTOR, "--json", *words, model=model, text=text)
    return status, json.loads(output[output.index("{"):output.rindex("}") + 1])


def causes(answer):
    return {found["cause"] for found in answer["checks"] if found["status"] != "ok"}


def on_model():
    """All is well; testpmd takes the arguments that the doctor prints; other machines."""
    status, answer = visit("--plugin", PLUGIN)
    found = causes(answer) - OF_THE_HOST - (OF_THE_USER if os.geteuid() else set())
    check_equal("causes", found, set())
    check_equal("exit status", status, int(answer["status"] == "fail"))
    words = shlex.split(answer["arguments"]["mana"])
    check_equal("EAL arguments", words[:4], ["-d", PLUGIN, "-a", f"{pci(0)},mac={mac(0)},"
                                             f"mac={mac(1)}"])
    status, output = run("dpdk-testpmd", machine.lcores(), "--no-telemetry", "--no-shconf",
                         *words[:4], "--no-huge", "-m", "256", "--", "--no-mlockall",
                         "--total-num-mbufs=2048")
    check_equal("exit status of testpmd", status, 0)
    for port in range(2):
        check(f"Port {port}: {mac(port).upper()}" in output, output)
    for options, wanted in ((["--kernel", "6.12"], {"no-rdma", "no-module"}),
                            (["--device-id", "c1"], set()), (["--rnic"], set())):
        _, answer = visit("--plugin", PLUGIN, model=Model(*options))
        # The modules of the host decide which one is named.
        found = causes(answer) - OF_THE_HOST - OF_THE_USER - {"module-missing", "kernel-old"}
        check_equal(f"machine {options}", found | wanted & {"no-module"}, wanted)


def rights():
    """The rights of an ordinary user, and a seccomp filter."""
    _, answer = visit("--plugin", PLUGIN, before=[NO_MEMBARRIER])
    check("membarrier" in causes(answer), f"{answer}")
    sys.argv[1:] = ["rights"]       # this variant alone starts again
    machine.become_ordinary_user()
    status, answer = visit("--plugin", PLUGIN)
    check_equal("exit status", status, 1)
    check("no-net-raw" in causes(answer), f"{answer}")


def explained(wanted, *words, pages=None):
    """The doctor finds this cause in the output of testpmd with these EAL arguments."""
    argv = ["dpdk-testpmd", machine.lcores(), "--no-telemetry", "--no-shconf", *words]
    if pages is None:
        argv += ["--no-huge", "-m", "256"]
    before = ["unshare", "--mount", "sh", "-c", PAGES % pages, "sh"] if pages else []
    _, output = run(*argv, "--", "--no-mlockall", "--total-num-mbufs=2048", before=before)
    print("----", *argv, output, sep="\n")
    status, answer = visit("--explain", "-", "--", *argv, text=output)
    check_equal("exit status", status, 0)
    # DPDK's folder may have a driver, too.
    check_equal("causes", causes(answer) | {"two-plugins"}, {wanted, "two-plugins"})
    check(wanted in causes(answer), f"{answer}")


def answers():
    """The doctor names the causes of what EAL answers."""
    plugin = ["-d", PLUGIN]
    explained("plugin-missing", "-d", "/nowhere/librte_net_mana.so")
    explained("wrong-address", *plugin, "-a", "7870:00:00.1")
    explained("bad-address", *plugin, "-a", "7870:00:0x.0")
    if any(glob.glob(f"/usr/{folder}/dpdk/pmds-*/librte_net_mana.so*")
           for folder in ("lib/*", "lib64", "local/lib", "local/lib/*", "local/lib64")):
        print("no forgotten -d: DPDK's folder has a driver")
    else:
        explained("forgotten-plugin", "-a", pci(0))
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        copy = shutil.copy(PLUGIN, os.path.join(folder, "librte_net_mana.so"))
        explained("plugin-folder", "-d", copy)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        copy = shutil.copy(PLUGIN, os.path.join(folder, "librte_net_mana.so"))
        explained("two-plugins", *plugin, "-d", copy, "-a", pci(0))
        with open(PLUGIN, "rb") as source, open(copy, "wb") as target:
            data = source.read()
            name = data[data.index(b"librte_eal.so."):].partition(b"\0")[0]
            target.write(data.replace(name, name[:-2] + b"99"))
        explained("plugin-abi", "-d", copy)
    if os.geteuid() != 0:
        print("nothing about huge pages: an ordinary user has no mount namespace")
        return
    explained("no-hugepages", *plugin, pages="0")
    explained("no-hugetlbfs", *plugin, pages="8")


VARIANTS = {"model": on_model, "answers": answers, "rights": rights}

if __name__ == "__main__":
    main(VARIANTS)
