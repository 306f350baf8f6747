# SPDX-License-Identifier: BSD-3-Clause
"""Archives in the format of an initramfs (cpio "newc"), with the same bytes for the
same contents: entries sorted by name, owner root, modification time 0.

Linux Documentation/driver-api/early-userspace/buffer-format.rst describes the format.
"""

import os
import stat

from manavm.errors import Failure

MAGIC = b"070701"
ALIGN = 4
# The kernel finds the next archive of several at a multiple of 4; 512 keeps files
# in the page cache aligned.
ARCHIVE_ALIGN = 512


class Archive:
    """Entries of an archive by name. A name has no leading slash."""

    def __init__(self):
        self.entries = {}    # name -> (mode, content: bytes, or path of a file, device)

    def folder(self, name, mode=0o755):
        parent = os.path.dirname(name)
        if parent and parent not in self.entries:
            self.folder(parent)
        old = self.entries.get(name)
        if old is None or not stat.S_ISDIR(old[0]):
            self.add(name, stat.S_IFDIR | mode, b"")

    def add(self, name, mode, content, device=0):
        if name in self.entries and stat.S_ISLNK(self.entries[name][0]) != \
                stat.S_ISLNK(mode):
            raise Failure(f"two different entries /{name} in an image")
        parent = os.path.dirname(name)
        if parent:
            self.folder(parent)
        self.entries[name] = (mode, content, device)

    def data(self, name, content, mode=0o644):
        self.add(name, stat.S_IFREG | mode, content)

    def file(self, name, path):
        """A copy of a file, executable if it is."""
        mode = 0o755 if os.stat(path).st_mode & stat.S_IXUSR else 0o644
        self.add(name, stat.S_IFREG | mode, path)

    def link(self, name, target):
        self.add(name, stat.S_IFLNK | 0o777, os.fsencode(target))

    def device(self, name, major, minor, mode=0o600):
        self.add(name, stat.S_IFCHR | mode, b"", os.makedev(major, minor))

    def write(self, out):
        """Writes the archive to a binary file."""
        size = 0

        def put(data):
            nonlocal size
            out.write(data)
            size += len(data)

        def pad(align):
            put(b"\0" * (-size % align))

        def entry(name, mode, content, device, inode):
            if not isinstance(content, bytes):
                with open(content, "rb") as file:
                    content = file.read()
            raw = os.fsencode(name) + b"\0"
            fields = (inode, mode, 0, 0, 2 if stat.S_ISDIR(mode) else 1, 0,
                      len(content), 0, 0, os.major(device), os.minor(device),
                      len(raw), 0)
            put(MAGIC + b"".join(b"%08X" % field for field in fields))
            put(raw)
            pad(ALIGN)
            put(content)
            pad(ALIGN)

        for inode, name in enumerate(sorted(self.entries), 1):
            entry(name, *self.entries[name], inode)
        entry("TRAILER!!!", 0, b"", 0, 0)
        pad(ARCHIVE_ALIGN)
