# SPDX-License-Identifier: BSD-3-Clause
"""What the tests need from the machine they run on."""

import atexit
import contextlib
import fcntl
import functools
import os
import shutil
import subprocess
import sys
import tempfile

SKIP = 77       # meson's exit status of a skipped test

HUGEPAGES = "/sys/kernel/mm/hugepages/hugepages-2048kB"
HUGEPAGES_LOCK = "/run/mana-test-hugepages"
HUGEPAGES_WANTED = 512


def skip(reason):
    """Ends this script as skipped: explicit, and with its reason."""
    print(f"SKIP: {reason}")
    sys.stdout.flush()
    os._exit(SKIP)


def need_root(what):
    if os.geteuid() != 0:
        skip(f"{what} needs root")


def need_program(name, package):
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if path is None:
        skip(f"{name} is not installed (package {package})")
    return path


def lcores(number=2):
    """EAL threads that float over the processors this test may use."""
    cpus = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))
    return "--lcores=" + ",".join(f"{at}@({cpus})" for at in range(number))


def _read_number(path):
    with open(path, encoding="ascii") as file:
        return int(file.read())


def _write_number(path, number):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(number))


def _give_back(lock):
    """The last user restores the number of pages that the machine had."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    lock.seek(0)
    before = lock.read()
    if before:
        with contextlib.suppress(OSError):
            _write_number(HUGEPAGES + "/nr_hugepages", int(before))
        lock.truncate(0)


@functools.lru_cache(maxsize=None)      # once per script
def reserve_hugepages(wanted=HUGEPAGES_WANTED):
    """Makes 2 MB pages available, for the life of this script; skips if impossible."""
    if not os.path.isdir(HUGEPAGES):
        skip("this kernel has no 2 MB pages")
    if os.geteuid() != 0:
        if _read_number(HUGEPAGES + "/free_hugepages") < wanted:
            skip("no free 2 MB pages, and reserving some needs root")
        return
    lock = open(HUGEPAGES_LOCK, "a+", encoding="ascii")
    fcntl.flock(lock, fcntl.LOCK_EX)
    free = _read_number(HUGEPAGES + "/free_hugepages")
    if free < wanted:
        total = _read_number(HUGEPAGES + "/nr_hugepages")
        lock.seek(0)
        if not lock.read():
            lock.write(str(total))
            lock.flush()
        with contextlib.suppress(OSError):
            _write_number(HUGEPAGES + "/nr_hugepages", total + wanted - free)
        free = _read_number(HUGEPAGES + "/free_hugepages")
    fcntl.flock(lock, fcntl.LOCK_SH)
    atexit.register(_give_back, lock)
    if free < wanted:
        _give_back(lock)
        skip(f"only {free} of {wanted} 2 MB pages can be reserved on this machine")


def in_private_namespaces(marker="MANA_TEST_IN_NAMESPACE"):
    """
    Starts this script again in a network namespace and a mount namespace of
    its own: TAP interfaces, addresses and mounts end with it.
    """
    if os.environ.get(marker):
        # no interface of it says anything on its own account (IPv6 discovery)
        with open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w",
                  encoding="ascii") as file:
            file.write("1")
        return
    need_root("a network namespace")
    need_program("unshare", "util-linux")
    need_program("ip", "iproute2")
    if not os.path.exists("/dev/net/tun"):
        skip("/dev/net/tun is missing")
    if subprocess.run(["unshare", "--net", "--mount", "true"],
                      stderr=subprocess.DEVNULL, check=False).returncode != 0:
        skip("this machine does not let root make a network namespace")
    environment = dict(os.environ, **{marker: "1"})
    # /sys shows the interfaces of the namespace in which it was mounted
    os.execvpe("unshare", ["unshare", "--net", "--mount", "sh", "-c",
                           "mount -t sysfs sysfs /sys && ip link set lo up && "
                           'exec "$@"', "sh", sys.executable] + sys.argv,
               environment)


NOBODY = 65534


def as_ordinary_user():
    """The words that start a program without any privilege; [] when there is none."""
    if os.geteuid() != 0:
        return []
    need_program("setpriv", "util-linux")
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
            "--inh-caps=-all", "--bounding-set=-all"]


def become_ordinary_user():
    """Starts this script again as somebody without any privilege."""
    words = as_ordinary_user()
    if words:
        os.execvp(words[0], words + [sys.executable] + sys.argv)


@functools.lru_cache(maxsize=None)
def scratch_folder():
    """For files of this script: gone with it."""
    folder = tempfile.mkdtemp(prefix="mana-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.lru_cache(maxsize=None)
def runtime_folder():
    """Where EAL of an ordinary user keeps its sockets: gone with this script."""
    folder = tempfile.mkdtemp(prefix="mana-run-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.lru_cache(maxsize=None)      # processes may share it
def mount_hugetlbfs():
    """A hugetlbfs of this script's own, until it ends."""
    need_root("mounting a hugetlbfs")
    folder = tempfile.mkdtemp(prefix="mana-huge-")
    subprocess.run(["mount", "-t", "hugetlbfs", "-o", "pagesize=2M", "none",
                    folder], check=True)
    atexit.register(lambda: (subprocess.run(["umount", "-l", folder], check=False),
                             os.rmdir(folder)))
    return folder


def resident_kb(pid):
    """VmRSS, without what is shared with the device's segment or the driver's pools."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["RssAnon"].split()[0])


def has_sanitizer(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii") as file:
        return "libasan" in file.read()


def nb_descriptors(pid):
    folder = f"/proc/{pid}/fd"
    targets = []
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            targets.append(os.readlink(f"{folder}/{name}"))
    # EAL's interrupt thread makes its epoll set anew, at any time after a change
    return sum(target != "anon_inode:[eventpoll]" for target in targets)


def children(pid):
    """All processes below pid, nearest first."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            found += [int(child) for child in file.read().split()]
    return found + [below for child in found for below in children(child)]


def find_child(pid, name):
    """The process named name below pid."""
    for child in children(pid):
        with open(f"/proc/{child}/comm", encoding="ascii") as file:
            if file.read().strip() == name[:15]:
                return child
    raise AssertionError(f"no {name} below process {pid}")
