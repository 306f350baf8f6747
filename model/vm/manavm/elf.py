# SPDX-License-Identifier: BSD-3-Clause
"""The shared libraries that programs of an unpacked root folder need.

ldd runs the program's loader, which cannot run files of another architecture or of a
newer C library. So this module reads the ELF files.
"""

import os

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from manavm.errors import Failure


def dynamic(path):
    """(loader or None, names of needed libraries) of a file; None if it is no ELF."""
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
        file.seek(0)
        try:
            elf = ELFFile(file)
            loader, needed = None, []
            for segment in elf.iter_segments():
                if segment.header.p_type == "PT_INTERP":
                    loader = segment.get_interp_name()
                elif segment.header.p_type == "PT_DYNAMIC":
                    needed = [tag.needed for tag in segment.iter_tags()
                              if tag.entry.d_tag == "DT_NEEDED"]
            return loader, needed
        except ELFError as error:
            raise Failure(f"{path} is no valid ELF file: {error}") from None


class Libraries:
    """Finds libraries below root as the loader does without LD_LIBRARY_PATH."""

    def __init__(self, root, triplet):
        self.root = root
        self.folders = [f"usr/lib/{triplet}", "usr/lib"]

    def find(self, name):
        """The path of a library below root, without a leading slash; or None."""
        for folder in self.folders:
            if os.path.lexists(os.path.join(self.root, folder, name)):
                return f"{folder}/{name}"
        return None
