# SPDX-License-Identifier: BSD-3-Clause
"""The cache: items that are expensive to make, each named by what it is made of.

An item is a folder KIND-KEY below ${XDG_CACHE_HOME:-~/.cache}/mana-vm. It is made in
a temporary folder and renamed when it is complete, under a lock, so that parallel
runs make it once. Items that no run has used for 30 days are removed.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time

from manavm.errors import Failure, say

# Kinds of items.
KINDS = ("image", "kernel", "plugin", "sdk", "tools")
UNUSED_S = 30 * 24 * 3600
UNFINISHED_S = 24 * 3600


def folder():
    """The folder of the cache; created if it does not exist."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not os.path.isabs(base):    # also without HOME, of a user without a name
        raise Failure(f"cannot create the cache in {base}: set XDG_CACHE_HOME to the "
                      "absolute path of a folder that you may write")
    path = os.path.join(base, "mana-vm")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise Failure(f"cannot create the cache {path}: {error.strerror}; set "
                      "XDG_CACHE_HOME to a folder that you may write") from None
    return path


def key(*parts):
    """A name for contents that are made of these parts (anything that JSON knows)."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def file_hash(path):
    """The hash of a file's contents, as a part of a key."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@contextlib.contextmanager
def locked(name):
    """Holds the lock of that name. The kernel releases it if the process ends."""
    locks = os.path.join(folder(), "locks")
    os.makedirs(locks, exist_ok=True)
    with open(os.path.join(locks, name), "w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another run that prepares {name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def scratch():
    """
    A temporary folder in the cache's file system. Packages set its time, and not that of
    the folder around it, by which prune() knows what killed runs left.
    """
    path = tempfile.mkdtemp(prefix="new.", dir=folder())
    try:
        inner = os.path.join(path, "item")
        os.mkdir(inner)
        yield inner
    finally:
        shutil.rmtree(path, ignore_errors=True)


def item(kind, item_key, make):
    """
    The path of an item. If it does not exist, make(path) fills a folder that becomes
    the item.
    """
    path = os.path.join(folder(), f"{kind}-{item_key}")
    if not os.path.isdir(path):
        with locked(f"{kind}-{item_key}"):
            if not os.path.isdir(path):
                with scratch() as new:
                    make(new)
                    os.utime(new)    # packages set the times of folders
                    os.rename(new, path)
                prune()
    os.utime(path)    # the time of its last use
    return path


def age_s(path):
    """The age of a file in seconds; without end if it does not exist."""
    try:
        return time.time() - os.stat(path).st_mtime
    except FileNotFoundError:
        return float("inf")


def prune():
    """
    Removes items that no run has used for long, and what killed runs left. An item is
    renamed first: half of one must not be used.
    """
    now = time.time()
    for entry in list(os.scandir(folder())):
        unfinished = entry.name.startswith("new.")
        if not unfinished and entry.name.partition("-")[0] not in KINDS:
            continue
        limit = UNFINISHED_S if unfinished else UNUSED_S
        with contextlib.suppress(FileNotFoundError):
            if now - entry.stat(follow_symlinks=False).st_mtime <= limit:
                continue
            if unfinished:
                shutil.rmtree(entry.path, ignore_errors=True)
                continue
            with scratch() as work:
                os.rename(entry.path, work)
