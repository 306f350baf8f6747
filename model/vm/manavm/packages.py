# SPDX-License-Identifier: BSD-3-Clause
"""Debian packages of a release and architecture, which may differ from the host's.

APT reads the indexes, checks their signatures and fetches the packages, in a folder
of its own and without root: nothing of the host changes. The mirror is the one that
the host's APT uses.
"""

import json
import os
import re
import subprocess
import time

from manavm import cache
from manavm.errors import Failure, Stale, say

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# An index of this age is read again.
INDEX_S = 24 * 3600

# Suites of a release, and whether they are on the mirror of security updates.
SUITES = {
    "12": [("bookworm", False), ("bookworm-updates", False),
           ("bookworm-security", True)],
    "13": [("trixie", False), ("trixie-updates", False),
           ("trixie-backports", False), ("trixie-security", True)],
}
# Parts of packages that nothing here reads, and those that only compilers read.
LEAVE_OUT = ["./usr/share/doc", "./usr/share/man", "./usr/share/locale",
             "./usr/share/info"]
DEVELOPMENT = ["./usr/include", "*.a"]


def call(command, what, **more):
    """The output of a program of the host; its errors if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL,
                              env=dict(os.environ, LC_ALL="C"), **more)
    except FileNotFoundError:
        raise Failure(f"{command[0]} is missing: mana-vm needs Debian's APT and dpkg "
                      "(packages apt, dpkg)") from None
    if done.returncode != 0:
        lines = [line for line in (done.stderr + done.stdout).splitlines()
                 if line.startswith(("E:", "W:", "Err"))] or \
            (done.stderr + done.stdout).splitlines()
        raise Failure(f"{what} failed: " + " ".join(lines[-3:]).strip())
    return done.stdout


def mirrors():
    """The URIs of the Debian mirror and of its security updates."""
    main, security = os.environ.get("MANA_VM_MIRROR"), None
    listed = call(["apt-get", "indextargets", "--format",
                   "$(RELEASE) $(COMPONENT) $(REPO_URI) $(ORIGIN)",
                   "Created-By: Packages"],
                  "reading APT's configuration")
    for line in listed.splitlines():
        suite, _, rest = line.partition(" ")
        component, _, rest = rest.partition(" ")
        uri, _, origin = rest.partition(" ")
        if component != "main" or "/" in suite or uri.startswith("cdrom:"):
            continue
        # Others use the names of Debian's releases, too. APT knows the origin after
        # its first update.
        if origin.strip() not in ("Debian", ""):
            continue
        base, _, kind = suite.partition("-")
        if base not in KNOWN_RELEASES:
            continue
        uri = uri.rstrip("/")
        if kind == "security":
            security = security or uri
        elif kind in ("", "updates", "backports"):
            main = main or uri
    if main is None:
        raise Failure("APT's configuration names no Debian mirror: add one to "
                      "/etc/apt/sources.list.d, or set MANA_VM_MIRROR to its URI")
    return main, security or main + "-security"


KNOWN_RELEASES = {"bookworm", "trixie", "forky", "sid", "stable", "oldstable",
                  "testing", "unstable"}


class Index:
    """The package index of a release for an architecture."""

    def __init__(self, release, arch, refresh=False, sources=False):
        self.release, self.arch, self.refresh = release, arch, refresh
        self.sources = sources    # of source packages instead
        self.name = f"debian-{release}-{'source' if sources else arch}"
        self.folder = os.path.join(cache.folder(), "apt", self.name)
        self.conf = os.path.join(self.folder, "apt.conf")

    def _prepare(self):
        if not os.path.exists(KEYRING):
            raise Failure(f"{KEYRING} is missing, which checks the signatures of "
                          "Debian's packages: install debian-archive-keyring")
        for sub in ("lists/partial", "archives/partial"):
            os.makedirs(os.path.join(self.folder, sub), exist_ok=True)
        main, security = mirrors()
        kind, target = ("deb-src", "Sources") if self.sources else ("deb", "Packages")
        options = f"signed-by={KEYRING} target={target} arch={self.arch}"
        self._write("sources.list", "".join(
            f"{kind} [{options}] {security if updates else main} {suite} main\n"
            for suite, updates in SUITES[self.release]))
        self._write("status", "")
        # "#clear" needs a file, as opposed to -o.
        self._write("apt.conf", f"""
#clear APT::Update;
#clear APT::Architectures;
#clear DPkg;
APT::Architecture "{self.arch}";
APT::Architectures {{ "{self.arch}"; }};
APT::Default-Release "";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::AllowInsecureRepositories "false";
APT::Get::AllowUnauthenticated "false";
Dir::Etc::sourcelist "{self.folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{self.folder}";
Dir::State::lists "{self.folder}/lists";
Dir::State::status "{self.folder}/status";
Dir::Cache "{self.folder}";
Dir::Cache::archives "{self.folder}/archives";
Dir::Log "{self.folder}";
""")

    def _write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def _apt(self, what, *arguments, **more):
        """Within the lock, as another run may read the index again."""
        return call(["apt-get", "-c", self.conf, "-q", "-y", *arguments], what, **more)

    def _fetch(self, what, *arguments, folder):
        try:
            with cache.locked(self.name):
                self._apt(what, *arguments, cwd=folder)
        except Failure as error:
            if " 404 " not in str(error):
                raise
            raise Stale(f"{error}; the mirror does not have all packages of its index: "
                        "try later, or set MANA_VM_MIRROR to another") from None

    def _update(self):
        """Reads the index from the mirror, if it is old."""
        stamp = os.path.join(self.folder, "updated")
        with cache.locked(self.name):
            # The run that held the lock may have done it.
            if cache.age_s(stamp) < (60 if self.refresh else INDEX_S):
                return
            os.makedirs(self.folder, exist_ok=True)
            self._prepare()
            say(f"reading the index of Debian {self.release} ({self.arch})")
            # One unreachable suite of several is an error, not a warning.
            self._apt("reading the package index", "-o",
                      "APT::Update::Error-Mode=any", "update")
            self._write("updated", "")

    def packages(self, names, suite=None):
        """
        (name, version, architecture) of packages and of all that they depend on, of
        the newest versions; in suite if given and it has them. Read once a day.
        """
        path = os.path.join(self.folder, cache.key(names, suite) + ".json")
        if not self.refresh and cache.age_s(path) < INDEX_S:
            return load(path)
        try:
            self._update()
            found = self._resolve(names, suite)
        except Failure as error:
            if not os.path.exists(path):
                raise
            say(f"{error}; using the packages of "
                f"{time.strftime('%F', time.localtime(os.stat(path).st_mtime))}")
            return load(path)
        new = f"{path}.{os.getpid()}"
        with open(new, "w", encoding="utf-8") as file:
            json.dump(found, file)
        os.rename(new, path)
        return found

    def _resolve(self, names, suite):
        target = ["-t", suite] if suite else []
        with cache.locked(self.name):
            listed = self._apt(f"finding packages of Debian {self.release}", "-s",
                               *target, "install", *names)
        found = re.findall(r"^Inst (\S+) \((\S+) .*\[(\w+)\]\)", listed, re.MULTILINE)
        return sorted(found)

    def unpack_source(self, name, version, target):
        """Fetches a source package and unpacks it into a new folder."""
        self._update()
        say(f"fetching the source of {name} {version}")
        with cache.scratch() as work:
            self._fetch(f"fetching the source of {name}", "--download-only", "source",
                        f"{name}={version}", folder=work)
            found = [file for file in os.listdir(work) if file.endswith(".dsc")]
            # APT has checked it.
            call(["dpkg-source", "--no-check", "-x", found[0], target],
                 f"unpacking the source of {name}", cwd=work)

    def unpack(self, packages, target, leave_out=(*LEAVE_OUT, *DEVELOPMENT)):
        """Fetches packages and unpacks them into a folder, as a merged /usr."""
        for folder in ("bin", "sbin", "lib", "lib64"):
            os.makedirs(os.path.join(target, "usr", folder), exist_ok=True)
            os.symlink(f"usr/{folder}", os.path.join(target, folder))
        say(f"fetching {len(packages)} packages of Debian {self.release}")
        wanted = [f"{name}:{arch if arch != 'all' else self.arch}={version}"
                  for name, version, arch in packages]
        with cache.scratch() as work:
            self._fetch("fetching packages", "download", *wanted, folder=work)
            debs = sorted(os.listdir(work))
            if len(debs) != len(packages):
                raise Failure(f"APT fetched {len(debs)} packages instead of "
                              f"{len(packages)}")
            for deb in debs:
                unpack_deb(os.path.join(work, deb), target, leave_out)


def unpack_deb(deb, target, leave_out):
    """
    Unpacks a package. dpkg-deb -x would replace the links of the merged /usr by
    folders.
    """
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb],
                          stdout=subprocess.PIPE) as source:
        done = subprocess.run(
            ["tar", "-x", "-C", target, "--keep-directory-symlink", "--no-same-owner",
             "--no-same-permissions", "--delay-directory-restore"] +
            [f"--exclude={pattern}" for pattern in leave_out],
            stdin=source.stdout, check=False, capture_output=True, text=True)
        source.stdout.close()
    if source.returncode != 0 or done.returncode != 0:
        raise Failure(f"cannot unpack {os.path.basename(deb)}: {done.stderr.strip()}")


def load(path):
    with open(path, encoding="utf-8") as file:
        return [tuple(package) for package in json.load(file)]
