# SPDX-License-Identifier: BSD-3-Clause
"""Resources of the machine that the tests need."""

import atexit
import contextlib
import ctypes
import fcntl
import functools
import os
import shutil
import subprocess
import sys
import tempfile

import vm

CLONE_NEWNS = 0x20000   # <sched.h>; os.unshare() came with Python 3.12
HUGEPAGES = "/sys/kernel/mm/hugepages/hugepages-2048kB"
HUGEPAGES_LOCK = "/run/mana-test-hugepages"
HUGEPAGES_WANTED = 512


def skip(reason):
    """Prints the reason and ends this script as skipped."""
    print(f"SKIP: {reason}")
    sys.stdout.flush()
    os._exit(vm.mana_model.SKIPPED)


def need_root(what):
    if os.geteuid() != 0:
        skip(f"{what} needs root")


def need_program(name, package):
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if path is None:
        skip(f"{name} is not installed (package {package})")
    return path


def lcores(number=2, first=0):
    """EAL lcores that may run on all processors of this test."""
    if vm.SPEC:
        cpus = f"0-{vm.NB_CPUS - 1}"
    else:
        cpus = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))
    return "--lcores=" + ",".join(f"{first + at}@({cpus})" for at in range(number))


def _read_number(path):
    with open(path, encoding="ascii") as file:
        return int(file.read())


def _write_number(path, number):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(number))


def _give_back(lock):
    """The last user gives back what was added; others may have changed the number."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    lock.seek(0)
    added = lock.read()
    if added:
        with contextlib.suppress(OSError):
            total = _read_number(HUGEPAGES + "/nr_hugepages")
            _write_number(HUGEPAGES + "/nr_hugepages", total - int(added))
        lock.truncate(0)


@functools.lru_cache(maxsize=None)      # once per script
def reserve_hugepages(wanted=HUGEPAGES_WANTED):
    """Reserves 2 MB pages until this script ends; skips if impossible."""
    if vm.SPEC:
        return      # a guest has some from its start
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
        with contextlib.suppress(OSError):
            _write_number(HUGEPAGES + "/nr_hugepages", total + wanted - free)
        added = _read_number(HUGEPAGES + "/nr_hugepages") - total
        lock.seek(0)
        added += int(lock.read() or 0)
        lock.truncate(0)
        lock.write(str(added))
        lock.flush()
        free = _read_number(HUGEPAGES + "/free_hugepages")
    fcntl.flock(lock, fcntl.LOCK_SH)
    atexit.register(_give_back, lock)
    if free < wanted:
        _give_back(lock)
        skip(f"only {free} of {wanted} 2 MB pages can be reserved on this machine")


def in_private_namespaces():
    """
    Restarts this script in its own network and mount namespaces, which end with it,
    together with TAP interfaces, addresses and mounts.
    """
    if os.environ.get("MANA_TEST_IN_NAMESPACE"):
        # interfaces send nothing on their own (IPv6 discovery)
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
    environment = dict(os.environ, MANA_TEST_IN_NAMESPACE="1")
    # /sys shows the network namespace of its mount
    os.execvpe("unshare", ["unshare", "--net", "--mount", "sh", "-c",
                           "mount -t sysfs sysfs /sys && ip link set lo up && "
                           'exec "$@"', "sh", sys.executable] + sys.argv,
               environment)


NOBODY = 65534


def as_ordinary_user():
    """The command prefix that drops privileges; [] if this script has none."""
    if os.geteuid() != 0:
        return []
    need_program("setpriv", "util-linux")
    words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
             "--inh-caps=-all", "--bounding-set=-all"]
    if subprocess.run([*words, "test", "-r", __file__], check=False).returncode != 0:
        skip(f"an ordinary user cannot read {os.path.abspath(__file__)}: move the checkout to "
             "a folder that all users can enter")
    return words


def become_ordinary_user():
    """Restarts this script without privileges."""
    words = as_ordinary_user()
    if words:
        os.execvp(words[0], words + [sys.executable] + sys.argv)


@functools.lru_cache(maxsize=None)
def scratch_folder():
    """A temporary folder, removed at the end of this script."""
    folder = tempfile.mkdtemp(prefix="mana-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.lru_cache(maxsize=None)      # processes may share it
def mount_hugetlbfs():
    """
    Mounts a hugetlbfs for this script and the programs it starts. Each script has
    its own mounts: EAL fails if a hugetlbfs that it has found in the list of mounts
    is gone when it opens it.
    """
    if vm.SPEC:
        return vm.HUGEPAGES
    need_root("mounting a hugetlbfs")
    folder = tempfile.mkdtemp(prefix="mana-huge-", dir=scratch_folder())
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "hugetlbfs", "-o", "pagesize=2M", "none",
                    folder], check=True)
    atexit.register(subprocess.run, ["umount", "-l", folder], check=False)
    return folder


def resident_kb(model, pid):
    """Resident memory except that of the model and the driver's pools."""
    fields = dict(line.split(":", 1)
                  for line in model.read(f"/proc/{pid}/status").splitlines())
    return int(fields["RssAnon"].split()[0])


def has_sanitizer(model, pid):
    return "libasan" in model.read(f"/proc/{pid}/maps")


def nb_descriptors(model, pid):
    targets = model.links(f"/proc/{pid}/fd")
    # EAL's interrupt thread recreates its epoll set some time after a change
    return sum(target != "anon_inode:[eventpoll]" for target in targets)
