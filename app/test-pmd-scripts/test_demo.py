#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What ./demo and ./test do before they build, what they build, and two demos at once.

Most variants run copies of the scripts with stand-ins for apt-get, meson and the others,
which note their calls: nothing is installed or built.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import machine
from harness import check, check_equal, main, named
from model import BUILD, TOP, program_environment

# Exist in the root of an unbuilt checkout, and are no results of earlier commands.
SOURCES = [".clang-format", "LICENSE", "README.md", "VERSION", "app", "doc", "drivers",
           "meson.build", "meson_options.txt", "model", "usertools"]
PROGRAMS = ["apt-get", "dpkg-query", "meson", "ninja"]
STAND_IN = """#!/bin/sh
echo "${0##*/} $*" >>"$CALLS"
case ${0##*/} in
dpkg-query) echo installed ;;
meson) mkdir -p build && : >build/build.ninja ;;
ninja) mkdir building || exit 9
	sleep 0.3
	rmdir building ;;
esac
"""


# A system whose packages and versions are in the environment.
SYSTEM = """#!/bin/sh
case ${0##*/} in
id) echo "$USER_ID" ;;
dpkg-query) [ -z "$INSTALLED" ] || echo installed ;;
rpm) [ -n "$INSTALLED" ] ;;
meson) echo "$MESON" ;;
pkg-config)
	case $2 in
	libdpdk) version=$DPDK ;;
	libmana) version=$LIBMANA ;;
	*) version=1 ;;
	esac
	case $1 in
	--atleast-version=*) printf '%s\\n' "${1#*=}" "$version" | sort -V -C ;;
	--modversion) [ -n "$version" ] && echo "$version" ;;
	--variable=libdir) echo "${0%/*}" ;;
	esac ;;
apt-get | dnf | tdnf) echo "${0##*/} $*" >>"$CALLS" ;;
esac
"""
SYSTEM_PROGRAMS = ["id", "dpkg-query", "rpm", "meson", "pkg-config", "apt-get", "dnf",
                   "tdnf", "dpdk-testpmd", "librte_eal.so"]
OS_RELEASES = {
    "debian": 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"',
    "ubuntu-22.04": 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\n'
                    'PRETTY_NAME="Ubuntu 22.04.5 LTS"',
    "ubuntu-24.04": 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"',
    "rhel": 'ID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.4"',
    "rocky": 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"',
    "centos": 'ID="centos"\nID_LIKE="rhel fedora"\nVERSION_ID="9"',
    "azurelinux": 'ID=azurelinux\nVERSION_ID="3.0"\nPRETTY_NAME="Microsoft Azure Linux 3.0"',
    "alpine": 'ID=alpine\nPRETTY_NAME="Alpine Linux v3.20"',
}


class Checkout:
    """A copy of the scripts, with stand-ins for the programs that they call."""

    def __init__(self, *folders):
        # Not below /tmp.
        self.scratch = tempfile.mkdtemp(prefix="demo-", dir=BUILD)
        os.chmod(self.scratch, 0o755)
        self.top = os.path.join(self.scratch, *folders, "checkout")
        os.makedirs(self.top)
        for name in ("demo", "test"):
            shutil.copy(os.path.join(TOP, name), self.top)
        shutil.copytree(os.path.join(TOP, "devtools"), os.path.join(self.top, "devtools"),
                        ignore=shutil.ignore_patterns("__pycache__"))
        self.bin = os.path.join(self.scratch, "bin")
        os.mkdir(self.bin)

    def replace(self, *programs, script=STAND_IN):
        for name in programs:
            path = os.path.join(self.bin, name)
            with open(path, "w", encoding="ascii") as file:
                file.write(script)
            os.chmod(path, 0o755)

    def start(self, *command, **variables):
        environment = {**program_environment(), "CALLS": self.bin + ".calls",
                       "PATH": self.bin + ":" + os.environ["PATH"], **variables}
        return subprocess.Popen(command, cwd=self.top, env=environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def run(self, *command, **variables):
        """Returns the exit status and the output."""
        process = self.start(*command, **variables)
        output = process.communicate(timeout=300)[0]
        print(f"---- {' '.join(command)}: {process.returncode}", output, sep="\n")
        return process.returncode, output

    def calls(self):
        """The calls of the replaced programs since the last time."""
        lines = []
        with contextlib.suppress(FileNotFoundError):
            with open(self.bin + ".calls", encoding="utf-8") as file:
                lines = file.read().splitlines()
            os.unlink(self.bin + ".calls")
        return lines


@contextlib.contextmanager
def checkout(*folders, programs=tuple(PROGRAMS)):
    made = Checkout(*folders)
    try:
        made.replace(*programs)
        yield made
    finally:
        shutil.rmtree(made.scratch)


def check_refused(made, command, *words, status=1):
    """The command ends with this status and these words, and has called no program."""
    got, output = made.run(*command)
    check_equal(f"programs called by {command}", made.calls(), [])
    check_equal(f"exit status of {command}", got, status)
    for word in words:
        check(word in output, f"{command} does not print: {word}")


def argument():
    """An argument that is no number of seconds."""
    with checkout() as made:
        for words in (["0"], ["-1"], ["1.5"], ["ten"], [""], ["--help"], ["3", "4"]):
            check_refused(made, ["./demo", *words], "usage: ./demo [seconds]", status=2)


def folder():
    """A folder from which EAL loads no plug-in, or the linker preloads no library."""
    for name, cause in (("a b", "blank"), ("a:b", "colon")):
        with checkout(name) as made:
            for command in ("./demo", "./test"):
                check_refused(made, [command], cause, name, "Move the checkout")
    for mode in (0o777, 0o1777):
        with checkout("open") as made:
            above = os.path.dirname(made.top)
            os.chmod(above, mode)
            for command in ("./demo", "./test"):
                check_refused(made, [command], f"{above} is world-writable",
                              "Move the checkout", "chmod o-w")
            link = os.path.join(made.scratch, "link")
            os.symlink(made.top, link)
            check_refused(made, [link + "/demo"], f"{above} is world-writable")


def umask():
    """Files of the build are not world-writable either."""
    with checkout() as made:
        status, _ = made.run("sh", "-c", "umask 0; devtools/build.sh build")
        check_equal("exit status", status, 0)
        mode = os.stat(os.path.join(made.top, "build")).st_mode
        check_equal("world-writable", mode & 0o002, 0)


def builds_at_once():
    """Two commands in one checkout build one after the other."""
    with checkout() as made:
        started = [made.start("devtools/build.sh", what) for what in ("build", "test")]
        for process in started:
            print(process.communicate(timeout=60)[0])
        check_equal("exit status", [process.returncode for process in started], [0, 0])


def install_deps(made, system, *arguments, **variables):
    """
    Exit status, output and calls of install-deps.sh on a system of OS_RELEASES, where it
    finds nothing missing; the variables of SYSTEM change that.
    """
    path = os.path.join(made.scratch, "os-release")
    with open(path, "w", encoding="ascii") as file:
        file.write(OS_RELEASES[system] + "\n")
    values = {"OS_RELEASE": path, "USER_ID": "1000", "INSTALLED": "all", "MESON": "1.0.1",
              "DPDK": "22.11.11", "LIBMANA": "1.0.44.0", **variables}
    status, output = made.run("devtools/install-deps.sh", *arguments, **values)
    return status, output, made.calls()


def package_names():
    """install-deps.sh asks for packages by the names of the distribution."""
    common = {"gcc", "ninja-build", "python3", "python3-pyelftools"}
    debian = common | {"libc6-dev", "pkg-config", "libcapstone-dev", "libjansson-dev",
                       "libnl-3-dev", "libnl-route-3-dev", "libpcap-dev"}
    new = {"meson", "dpdk", "libdpdk-dev", "libibverbs-dev", "ibverbs-providers"}
    rhel = common | {"glibc-devel", "pkgconf-pkg-config", "rdma-core-devel", "libibverbs",
                     "capstone-devel", "jansson-devel", "libnl3-devel", "libpcap-devel"}
    with checkout(programs=()) as made:
        made.replace(*SYSTEM_PROGRAMS, script=SYSTEM)
        for system, manager, present, absent in (
                ("debian", "apt-get", debian | new, rhel - common),
                ("ubuntu-24.04", "apt-get", debian | new, rhel - common),
                ("ubuntu-22.04", "apt-get", debian, new),
                ("rhel", "dnf", rhel | {"dpdk", "dpdk-devel"}, {"meson", "libc6-dev"}),
                ("rocky", "dnf", rhel | {"dpdk", "dpdk-devel"}, {"meson", "libc6-dev"}),
                ("centos", "dnf", rhel | {"dpdk", "dpdk-devel"}, {"meson", "libc6-dev"}),
                ("azurelinux", "tdnf", rhel | {"meson", "kernel-headers"},
                 {"dpdk", "dpdk-devel"})):
            status, output, calls = install_deps(made, system, INSTALLED="")
            check_equal(f"{system}, exit status", status, 1)
            check_equal(f"{system}, calls", calls, [])
            command = output.splitlines()[-1].split(f"{manager} install ")
            check_equal(f"{system}, the command for root", len(command), 2)
            words = set(command[1].split())
            check_equal(f"{system}, not asked for", present - words, set())
            check_equal(f"{system}, asked for", absent & words, set())
        # root
        for system, manager in (("rocky", "dnf"), ("azurelinux", "tdnf")):
            status, output, calls = install_deps(made, system, INSTALLED="", USER_ID="0")
            check_equal(f"{system}, exit status", status, 0)
            check_equal(f"{system}, number of calls", len(calls), 1)
            check(calls[0].startswith(f"{manager} -y install gcc "), calls[0])
            check_equal(f"{system} with all packages", install_deps(made, system), (0, "", []))


def too_old():
    """install-deps.sh names what is missing or too old on a system, and nothing else."""
    guide = "doc/guides/nics/mana-distributions.rst"
    check(os.path.exists(os.path.join(TOP, guide)), f"no {guide}")
    with checkout(programs=()) as made:
        made.replace(*SYSTEM_PROGRAMS, script=SYSTEM)
        status, output, calls = install_deps(made, "ubuntu-22.04", MESON="0.61.2",
                                             DPDK="21.11.9", LIBMANA="")
        check_equal("exit status", (status, calls), (1, []))
        lines = output.splitlines()
        check("Ubuntu 22.04.5 LTS" in lines[0] and "too old" in lines[0], lines[0])
        check(lines[1].startswith("  meson 1.0.0 or later (found: 0.61.2): "), lines[1])
        check_equal("needed", lines[2:4],
                    ["  DPDK 22.11 or later (found: 21.11.9)",
                     "  libmana of rdma-core 44 or later (found: none)"])
        check_equal("lines", len(lines), 5)
        check(guide in lines[4], lines[4])
        check_equal("built from source", install_deps(made, "ubuntu-22.04"), (0, "", []))

        status, output, _ = install_deps(made, "alpine", DPDK="")
        check_equal("exit status of an unknown system", status, 1)
        for words in ("Alpine Linux v3.20: its packages are not known here",
                      "DPDK 22.11 or later (found: none)", guide):
            check(words in output, f"an unknown system is not told: {words}")
        check("libmana" not in output, "libmana is there")
        check_equal("unknown system with all", install_deps(made, "alpine"), (0, "", []))
        check_equal("no os-release", install_deps(
            made, "alpine", OS_RELEASE="/nonexistent", MESON="0.63.3")[0], 1)

        for system in ("ubuntu-24.04", "rocky", "azurelinux", "alpine"):
            status, output, calls = install_deps(made, system, "test", INSTALLED="")
            check_equal(f"{system}, the packages of the tests", (status, calls), (1, []))
            check("known for Debian only" in output, f"{system}: {output}")


def options_and_tests(made):
    folder_name = os.path.join(made.top, "build", "meson-info")
    values = []
    for name in ("buildoptions", "tests"):
        with open(os.path.join(folder_name, f"intro-{name}.json"), encoding="utf-8") as file:
            values.append(json.load(file))
    options = {option["name"]: option["value"] for option in values[0]}
    return options["werror"], len(values[1])


def add_sources(made):
    """meson configures the checkout, and ninja only does so again."""
    for name in SOURCES:
        os.symlink(os.path.join(TOP, name), os.path.join(made.top, name))
    headers = os.path.join(TOP, "dpdk-headers")
    if os.path.isdir(headers):
        os.symlink(headers, os.path.join(made.top, "dpdk-headers"))
    real = shutil.which("ninja")
    with open(os.path.join(made.bin, "ninja"), "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\n[ "$1" = --version ] || set -- -C build build.ninja\n'
                   f'exec {real} "$@"\n')
    os.chmod(file.name, 0o755)


def other_distribution():
    """./demo finds what it needs on a distribution without dpkg."""
    if not os.path.isdir(os.path.join(TOP, "dpdk-headers")):
        machine.skip("there is no dpdk-headers: the headers for drivers come from elsewhere")
    with checkout(programs=()) as made:
        made.replace("rpm", script=SYSTEM)
        add_sources(made)
        for path in os.scandir("/usr/bin"):
            if not path.name.startswith(("dpkg", "apt")) and path.name not in ("rpm", "ninja"):
                os.symlink(path.path, os.path.join(made.bin, path.name))
        release = os.path.join(made.scratch, "os-release")
        with open(release, "w", encoding="ascii") as file:
            file.write(OS_RELEASES["rocky"] + "\n")
        check_equal("build", made.run("devtools/build.sh", "build", OS_RELEASE=release,
                                      INSTALLED="all", PATH=made.bin)[0], 0)


def configuration():
    """
    The demo configures no tests and no -Werror; ./test after it configures both. ninja
    only configures again.
    """
    with checkout(programs=PROGRAMS[:2]) as made:
        add_sources(made)
        check_equal("build", made.run("devtools/build.sh", "build")[0], 0)
        check_equal("-Werror, tests", options_and_tests(made), (False, 0))
        check_equal("test", made.run("devtools/build.sh", "test")[0], 0)
        werror, nb_tests = options_and_tests(made)
        check(werror, "no -Werror after ./test")
        with open(os.path.join(BUILD, "meson-info", "intro-tests.json"),
                  encoding="utf-8") as file:
            check_equal("tests", nb_tests, len(json.load(file)))
        check_equal("build", made.run("devtools/build.sh", "build")[0], 0)
        check_equal("-Werror, tests", options_and_tests(made), (True, nb_tests))


def demos_at_once(prefix=()):
    """Two main jobs run at the same time, and both forward, without huge pages."""
    command = [*prefix, os.path.join(TOP, "devtools", "main-job.sh"), "8", BUILD]
    environment = program_environment()
    # each machine has its own, where an ordinary user may write
    del environment["RUNTIME_DIRECTORY"]
    started = [subprocess.Popen(command, env=environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT) for _ in range(2)]
    outputs = [process.communicate(timeout=300)[0] for process in started]
    print(*outputs, sep="\n----\n")
    check_equal("exit status", [process.returncode for process in started], [0, 0])
    for output in outputs:
        check("violations: none" in output, "no report without violations")
        check("--no-huge" in output, "huge pages, which the other job may take")


VARIANTS = {
    **named(argument, folder, umask, builds_at_once, package_names, too_old, configuration,
            other_distribution),
    "at-once": demos_at_once,
    "at-once-ordinary-user": lambda: demos_at_once(machine.as_ordinary_user()),
}

if __name__ == "__main__":
    sys.exit(main(VARIANTS))
